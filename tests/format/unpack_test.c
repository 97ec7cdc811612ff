/* SPDX-License-Identifier: Apache-2.0 */
/* bzip2 and xz, which are read but not written: packed here by the libraries themselves. */
#include "support/test_env.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "format/avro_codec.h"

enum { TEXT = 300000, MAX = 1 << 20 };

typedef struct world {
    test_env *t;
    pml_error err;
    pml_avro_codec codec;
    pml_buf plain, out;
    uint8_t *packed;
    size_t len;
} world;

static world world_open(const char *codec)
{
    world w = {.t = test_env_open(NULL), .err = PML_ERROR_INIT};
    pml_buf__init(&w.plain, w.t->env, MAX);
    pml_buf__init(&w.out, w.t->env, 2 * MAX);
    for (int i = 0; w.plain.len < TEXT; i++)
        must_ok(pml_buf__append_format(&w.plain, "line %d of %d, ", i, i * i % 77), NULL);
    w.packed = malloc(MAX);
    assert_non_null(w.packed);
    if (strcmp(codec, "bzip2") == 0) {
        unsigned n = MAX;
        assert_int_equal(BZ2_bzBuffToBuffCompress((char *)w.packed, &n, (char *)w.plain.data, (unsigned)w.plain.len, 9, 0, 0), BZ_OK);
        w.len = n;
    } else {
        assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, w.plain.data, w.plain.len, w.packed, &w.len, MAX), LZMA_OK);
    }
    const pml_bytes name = {(const uint8_t *)codec, strlen(codec)};
    must_ok(pml_avro_codec__init(&w.codec, w.t->env, name, 1, false, "the-file", &w.err), &w.err);
    return w;
}

static int unpack(world *w, const uint8_t *p, size_t n, size_t max)
{
    return pml_avro_codec__decompress(&w->codec, &w->out, (pml_bytes){p, n}, max, "the-file", &w->err);
}

static void world_close(world *w)
{
    pml_avro_codec__clear(&w->codec, false);
    pml_buf__clear(&w->plain);
    pml_buf__clear(&w->out);
    free(w->packed);
    test_env_close(w->t);
}

static const char *const codecs[] = {"bzip2", "xz"};

static void block_comes_back_up_to_exactly_the_bytes_that_are_allowed(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        world w = world_open(codecs[c]);
        must_ok(unpack(&w, w.packed, w.len, w.plain.len), &w.err);
        assert_int_equal(w.out.len, w.plain.len);
        assert_memory_equal(w.out.data, w.plain.data, w.plain.len);
        must_fail_with(PML_E_LIMIT, unpack(&w, w.packed, w.len, w.plain.len - 1), &w.err);
        assert_string_equal(w.err.file, "the-file");
        world_close(&w);
    }
}

static void block_cut_anywhere_or_with_more_behind_it_is_corrupt(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        world w = world_open(codecs[c]);
        for (size_t n = 0; n < w.len; n += n < 64 || n + 64 > w.len ? 1 : 97) {
            uint8_t *exact = malloc(n + 1); /* no byte to spare, so that one too many is seen */
            assert_non_null(exact);
            memcpy(exact + 1, w.packed, n);
            must_fail_with(PML_E_CORRUPT, unpack(&w, exact + 1, n, MAX), &w.err);
            free(exact);
        }
        w.packed[w.len] = 0;
        must_fail_with(PML_E_CORRUPT, unpack(&w, w.packed, w.len + 1, MAX), &w.err);
        world_close(&w);
    }
}

static void block_with_changed_bytes_is_corrupt_or_equal(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        world w = world_open(codecs[c]);
        w.t->random_state = test_seed();
        for (int i = 0; i < 300; i++) {
            size_t at = test_random(w.t) % w.len;
            uint8_t was = w.packed[at];
            w.packed[at] ^= (uint8_t)(1u << test_random(w.t) % 8);
            int rc = unpack(&w, w.packed, w.len, MAX);
            assert_true(rc == PML_E_CORRUPT || rc == PML_E_LIMIT || (rc == PML_OK && w.out.len == w.plain.len));
            w.packed[at] = was;
        }
        world_close(&w);
    }
}

static void xz_block_that_wants_a_dictionary_of_gigabytes_hits_a_limit(void **state)
{
    (void)state;
    world w = world_open("xz");
    lzma_options_lzma o;
    assert_false(lzma_lzma_preset(&o, 0));
    o.dict_size = 1u << 30;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &o}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t n = 0;
    uint8_t *packed = malloc(MAX);
    assert_non_null(packed);
    /* The encoder would allocate the dictionary, too: only the header of the block is rewritten, with its checksum. */
    lzma_block block = {.version = 0, .check = LZMA_CHECK_CRC32, .filters = filters, .compressed_size = LZMA_VLI_UNKNOWN,
                        .uncompressed_size = LZMA_VLI_UNKNOWN};
    assert_int_equal(lzma_block_header_size(&block), LZMA_OK);
    memcpy(packed, w.packed, LZMA_STREAM_HEADER_SIZE);
    assert_int_equal(lzma_block_header_encode(&block, packed + LZMA_STREAM_HEADER_SIZE), LZMA_OK);
    n = LZMA_STREAM_HEADER_SIZE + block.header_size;
    memcpy(packed + n, w.packed + n, w.len - n);
    must_fail_with(PML_E_LIMIT, unpack(&w, packed, w.len, MAX), &w.err);
    assert_non_null(strstr(w.err.message, "dictionary"));
    free(packed);
    world_close(&w);
}

static void unpacking_survives_failing_memory(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        world w = world_open(codecs[c]);
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n++) {
            pml_buf__clear(&w.out);
            test_env_fail_at(w.t, n);
            rc = unpack(&w, w.packed, w.len, MAX);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        test_env_fail_at(w.t, 0);
        assert_memory_equal(w.out.data, w.plain.data, w.plain.len);
        world_close(&w);
    }
}

static void bzip2_and_xz_are_not_written(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        world w = world_open(codecs[c]);
        pml_avro_codec out;
        const pml_bytes name = {(const uint8_t *)codecs[c], strlen(codecs[c])};
        must_fail_with(PML_E_UNSUPPORTED, pml_avro_codec__init(&out, w.t->env, name, 1, true, "the-file", &w.err), &w.err);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_comes_back_up_to_exactly_the_bytes_that_are_allowed),
        cmocka_unit_test(block_cut_anywhere_or_with_more_behind_it_is_corrupt),
        cmocka_unit_test(block_with_changed_bytes_is_corrupt_or_equal),
        cmocka_unit_test(xz_block_that_wants_a_dictionary_of_gigabytes_hits_a_limit),
        cmocka_unit_test(unpacking_survives_failing_memory),
        cmocka_unit_test(bzip2_and_xz_are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
