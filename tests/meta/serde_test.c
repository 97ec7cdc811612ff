/* SPDX-License-Identifier: Apache-2.0 */
/* data/protocol/java.txt: splits and commit messages that Java 1.4.2, 1.3.1, 1.1.1 and 0.9.0 made of tables of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/serde_message.h"
#include "meta/serde_split.h"
#include "support/test_env.h"
#include "util/number.h"

enum { GOLDEN_MAX = 64, MUTATIONS = 20000 };

typedef struct golden {
    char java[16], table[32], kind[16];
    uint8_t *bytes;
    size_t len;
} golden;

typedef struct fixture {
    test_env *t;
    pml_arena arena;
    pml_buf buf;
    size_t n;
    golden v[GOLDEN_MAX];
    uint8_t *file;
} fixture;

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
}

static char *next_word(char **at, char end)
{
    char *word = *at, *stop = strchr(word, end);
    assert_non_null(stop);
    *stop = '\0';
    *at = stop + 1;
    return word;
}

static void setup(fixture *f)
{
    size_t len;
    f->t = test_env_open(NULL);
    f->n = 0;
    pml_arena__init(&f->arena, f->t->env);
    pml_buf__init(&f->buf, f->t->env, SIZE_MAX / 2);
    f->file = test_read_file(PML_TEST_SOURCE "/meta/data/protocol/java.txt", &len);
    f->file = realloc(f->file, len + 1);
    assert_non_null(f->file);
    f->file[len] = '\0';
    char *at = (char *)f->file;
    (void)next_word(&at, '\n');
    while (*at != '\0') {
        golden *g = &f->v[f->n++];
        assert_true(f->n <= GOLDEN_MAX);
        (void)snprintf(g->java, sizeof g->java, "%s", next_word(&at, ' '));
        (void)snprintf(g->table, sizeof g->table, "%s", next_word(&at, ' '));
        (void)snprintf(g->kind, sizeof g->kind, "%s", next_word(&at, ' '));
        char *hex = next_word(&at, '\n');
        g->bytes = (uint8_t *)hex; /* in place */
        g->len = strlen(hex) / 2;
        for (size_t i = 0; i < g->len; i++)
            g->bytes[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    }
}

static void teardown(fixture *f)
{
    free(f->file);
    pml_buf__clear(&f->buf);
    pml_arena__clear(&f->arena);
    test_env_close(f->t);
}

static bool is_split(const golden *g)
{
    return strcmp(g->kind, "split") == 0;
}

static int32_t message_version(const golden *g)
{
    int64_t v;
    assert_true(pml_number__int64(&v, g->kind + 8, strlen(g->kind) - 8));
    return (int32_t)v;
}

/* Reads and, when read, writes again into f->buf. */
static int round_trip(fixture *f, const golden *g, pml_bytes bytes, pml_error *err)
{
    pml_data_split s;
    pml_commit_message m;
    pml_arena__reset(&f->arena);
    pml_buf__reset(&f->buf);
    if (is_split(g)) {
        PML_RETURN_IF(pml_serde_split__read(&s, &f->arena, bytes, err));
        return pml_serde_split__write(&f->buf, &s, err);
    }
    PML_RETURN_IF(pml_serde_message__read(&m, &f->arena, message_version(g), bytes, err));
    return pml_serde_message__write(&f->buf, &m, err);
}

static void bytes_of_java_come_back_the_same(void **state)
{
    (void)state;
    fixture f;
    size_t same = 0;
    pml_error err = PML_ERROR_INIT;
    setup(&f);
    for (size_t i = 0; i < f.n; i++) {
        const golden *g = &f.v[i];
        must_ok(round_trip(&f, g, (pml_bytes){g->bytes, g->len}, &err), &err);
        if (strcmp(g->java, "1.4.2") != 0)
            continue;
        assert_int_equal(f.buf.len, g->len);
        assert_memory_equal(f.buf.data, g->bytes, g->len);
        same++;
    }
    assert_int_equal(same, 18);
    assert_int_equal(f.n, 24);
    teardown(&f);
}

static const golden *golden_of(const fixture *f, const char *java, const char *table, const char *kind)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->v[i].java, java) == 0 && strcmp(f->v[i].table, table) == 0 && strcmp(f->v[i].kind, kind) == 0)
            return &f->v[i];
    fail_msg("no %s %s %s", java, table, kind);
    return NULL;
}

static pml_data_split read_split(fixture *f, const char *java, const char *table)
{
    pml_data_split s;
    pml_error err = PML_ERROR_INIT;
    const golden *g = golden_of(f, java, table, "split");
    must_ok(pml_serde_split__read(&s, &f->arena, (pml_bytes){g->bytes, g->len}, &err), &err);
    return s;
}

static void split_of_java_tells_its_files(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    pml_data_split s = read_split(&f, "1.4.2", "part_multi");
    assert_int_equal(s.snapshot_id, 2);
    assert_int_equal(s.bucket, 0);
    assert_true(s.has_total_buckets && s.total_buckets == -1 && s.raw_convertible && !s.of_stream);
    assert_string_equal(s.bucket_path, "file:/tmp/t/part_multi/dt=19723/region=us/h=23/bucket-0");
    assert_int_equal(s.n_files, 1);
    assert_string_equal(s.files[0].name, "data-eb35d28d-7ebb-4b05-a840-fcc8b2afe854-0.parquet");
    assert_int_equal(s.files[0].file_source, PML_FILE_SOURCE_APPEND);
    assert_int_equal(s.files[0].schema_id, 0);
    assert_true(s.files[0].delete_row_count.present && s.files[0].delete_row_count.v == 0);
    assert_true(s.files[0].value_stats.has_null_counts);
    s = read_split(&f, "1.4.2", "rowtracking_append");
    assert_true(s.files[0].first_row_id.present && s.files[0].first_row_id.v == 0);
    s = read_split(&f, "1.4.2", "index_bloom_embedded");
    assert_true(s.files[0].has_embedded_index && s.files[0].embedded_index.len > 0);
    s = read_split(&f, "1.4.2", "index_bloom_file");
    assert_int_equal(s.files[0].extra_files.n, 1);
    assert_non_null(strstr(s.files[0].extra_files.v[0], ".index"));
    s = read_split(&f, "1.4.2", "stats_dense_per_field");
    assert_true(s.files[0].value_stats_cols.present && s.files[0].value_stats_cols.n > 0);
    teardown(&f);
}

static void split_of_older_java_has_the_fields_of_its_time(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    pml_data_split s = read_split(&f, "0.9.0", "append_part");
    assert_false(s.has_total_buckets);
    assert_int_equal(s.n_files, 2);
    assert_int_equal(s.files[0].file_source, PML_FILE_SOURCE_APPEND);
    assert_false(s.files[0].value_stats_cols.present);
    s = read_split(&f, "1.1.1", "append_part");
    assert_true(s.has_total_buckets && s.total_buckets == -1);
    assert_int_equal(s.n_files, 2);
    s = read_split(&f, "1.3.1", "append_part");
    assert_int_equal(s.n_files, 2);
    teardown(&f);
}

/* ---- primitives ---- */

static void text_with_supplementary_characters_is_written_as_java_does(void **state)
{
    (void)state;
    fixture f;
    pml_java_reader r;
    pml_error err = PML_ERROR_INIT;
    /* DataOutputStream.writeUTF("a\u00e9\u65e5\ud83d\ude00") of Java 17 */
    static const uint8_t java[] = {0, 12, 'a', 0xc3, 0xa9, 0xe6, 0x97, 0xa5, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80};
    static const char text[] = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80";
    setup(&f);
    assert_int_equal(pml_java__put_utf(&f.buf, text), PML_OK);
    assert_int_equal(f.buf.len, sizeof java);
    assert_memory_equal(f.buf.data, java, sizeof java);
    pml_java__read_init(&r, &f.arena, (pml_bytes){java, sizeof java}, "a text", &err);
    assert_string_equal(pml_java__get_utf(&r), text);
    must_ok(pml_java__read_end(&r), &err);
    teardown(&f);
}

static void text_that_is_too_long_or_not_utf8_is_refused(void **state)
{
    (void)state;
    fixture f;
    char *text = malloc(PML_JAVA_UTF_MAX + 2);
    assert_non_null(text);
    memset(text, 'x', PML_JAVA_UTF_MAX + 1);
    text[PML_JAVA_UTF_MAX + 1] = '\0';
    setup(&f);
    assert_int_equal(pml_java__put_utf(&f.buf, text), PML_E_LIMIT);
    pml_buf__reset(&f.buf);
    text[PML_JAVA_UTF_MAX] = '\0';
    assert_int_equal(pml_java__put_utf(&f.buf, text), PML_OK);
    assert_int_equal(f.buf.len, PML_JAVA_UTF_MAX + 2);
    static const char *const bad[] = {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "a\xe6\x97"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pml_buf__reset(&f.buf);
        assert_int_equal(pml_java__put_utf(&f.buf, bad[i]), PML_E_INVAL);
    }
    free(text);
    teardown(&f);
}

static void text_with_a_nul_or_half_a_pair_is_refused_by_the_reader(void **state)
{
    (void)state;
    fixture f;
    static const uint8_t bad[][8] = {{0, 2, 0xc0, 0x80}, {0, 1, 0}, {0, 3, 0xed, 0xa0, 0xbd}, {0, 3, 0xed, 0xb8, 0x80},
                                     {0, 4, 0xf0, 0x9f, 0x98, 0x80}, {0, 1, 0xc3}, {0, 9, 'x'}};
    setup(&f);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_java_reader r;
        pml_java__read_init(&r, &f.arena, (pml_bytes){bad[i], sizeof bad[i] - 1}, "a text", &err);
        assert_null(pml_java__get_utf(&r));
        must_fail_with(PML_E_CORRUPT, r.rc, &err);
    }
    teardown(&f);
}

/* ---- refusals ---- */

static uint8_t *copy_of(const golden *g)
{
    uint8_t *b = malloc(g->len);
    assert_non_null(b);
    memcpy(b, g->bytes, g->len);
    return b;
}

static void split_of_a_newer_version_is_refused(void **state)
{
    (void)state;
    fixture f;
    pml_error err = PML_ERROR_INIT;
    pml_data_split s;
    setup(&f);
    const golden *g = golden_of(&f, "1.4.2", "append_defaults", "split");
    uint8_t *b = copy_of(g);
    b[11] = 9;
    must_fail_with(PML_E_UNSUPPORTED, pml_serde_split__read(&s, &f.arena, (pml_bytes){b, g->len}, &err), &err);
    assert_non_null(strstr(err.message, "version 9"));
    b[11] = 1;
    must_fail_with(PML_E_UNSUPPORTED, pml_serde_split__read(&s, &f.arena, (pml_bytes){b, g->len}, &err), &err);
    b[0] = 0;
    must_fail_with(PML_E_CORRUPT, pml_serde_split__read(&s, &f.arena, (pml_bytes){b, g->len}, &err), &err);
    free(b);
    teardown(&f);
}

/* Of a bucket that got keys. */
static void message_of_a_dynamic_bucket_tells_its_index_file(void **state)
{
    (void)state;
    fixture f;
    pml_error err = PML_ERROR_INIT;
    pml_commit_message m;
    setup(&f);
    const golden *g = golden_of(&f, "1.4.2", "dynamic_replaced", "message-11");
    must_ok(pml_serde_message__read(&m, &f.arena, 11, (pml_bytes){g->bytes, g->len}, &err), &err);
    assert_true(m.bucket == 3 && m.has_total_buckets && m.total_buckets == -1 && m.has_index && m.has_index_before);
    assert_string_equal(m.index.type, "HASH");
    assert_string_equal(m.index.name, "index-12d03a9e-2ed7-4ee8-abeb-c49949be626b-1");
    assert_true(m.index.size_bytes == 12 && m.index.row_count == 3);
    assert_string_equal(m.index_before.name, "index-46c70a5e-f8ae-4898-b338-a350661acb4b-0");
    g = golden_of(&f, "1.4.2", "dynamic_new", "message-11");
    must_ok(pml_serde_message__read(&m, &f.arena, 11, (pml_bytes){g->bytes, g->len}, &err), &err);
    assert_true(m.has_index && !m.has_index_before);
    /* Another type, a path, a count that is no count: "HASH" lies inline in its slot, the name behind all slots. */
    for (size_t i = 0; i + 5 < g->len; i++) {
        uint8_t *b = copy_of(g);
        bool type = memcmp(b + i, "HASH", 4) == 0, name = memcmp(b + i, "index-", 6) == 0;
        b[i] = type ? 'h' : '/';
        if (type || name)
            must_fail_with(type ? PML_E_UNSUPPORTED : PML_E_CORRUPT, pml_serde_message__read(&m, &f.arena, 11, (pml_bytes){b, g->len}, &err), &err);
        free(b);
    }
    teardown(&f);
}

static void message_with_compacted_or_index_files_is_refused_by_name(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    const golden *g = golden_of(&f, "1.4.2", "append_defaults", "message-11");
    static const char *const needs[] = {"index-files", "index-files", "changelog-producer", "compaction", "compaction",
                                        NULL, NULL, "changelog-producer", "file-deletion"}; /* NULL: an index file may be there */
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) { /* lists from the last one on */
        pml_error err = PML_ERROR_INIT;
        pml_commit_message m;
        uint8_t *b = copy_of(g);
        b[g->len - 1 - 4 * i] = 1;
        int rc = pml_serde_message__read(&m, &f.arena, 11, (pml_bytes){b, g->len}, &err);
        if (i == 0 || needs[i] == NULL) /* there is no item behind the last list: damaged before anything else */
            must_fail_with(PML_E_CORRUPT, rc, &err);
        else
            must_fail_with(PML_E_UNSUPPORTED, rc, &err);
        if (i > 0 && needs[i] != NULL)
            assert_non_null(strstr(err.message, needs[i]));
        free(b);
    }
    pml_error err = PML_ERROR_INIT;
    pml_commit_message m;
    must_fail_with(PML_E_UNSUPPORTED, pml_serde_message__read(&m, &f.arena, 12, (pml_bytes){g->bytes, g->len}, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_serde_message__read(&m, &f.arena, 2, (pml_bytes){g->bytes, g->len}, &err), &err);
    teardown(&f);
}

static void bytes_that_are_cut_or_continued_are_refused(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    for (size_t i = 0; i < f.n; i++) {
        const golden *g = &f.v[i];
        pml_error err = PML_ERROR_INIT;
        for (size_t len = 0; len < g->len; len++) {
            /* A copy of its own size, so that the sanitizer sees every byte too far. */
            uint8_t *b = malloc(len + 1);
            assert_non_null(b);
            memcpy(b, g->bytes, len);
            assert_int_not_equal(round_trip(&f, g, (pml_bytes){b, len}, &err), PML_OK);
            free(b);
        }
        uint8_t *b = malloc(g->len + 1);
        assert_non_null(b);
        memcpy(b, g->bytes, g->len);
        b[g->len] = 0;
        must_fail_with(PML_E_CORRUPT, round_trip(&f, g, (pml_bytes){b, g->len + 1}, &err), &err);
        free(b);
    }
    teardown(&f);
}

/* 97 */
static void mutated_bytes_are_refused_or_well_formed(void **state)
{
    (void)state;
    fixture f;
    size_t read = 0;
    setup(&f);
    f.t->random_state = test_seed();
    for (int i = 0; i < MUTATIONS; i++) {
        const golden *g = &f.v[test_random(f.t) % f.n];
        pml_error err = PML_ERROR_INIT;
        uint8_t *b = copy_of(g);
        size_t changes = 1 + test_random(f.t) % 4;
        for (size_t k = 0; k < changes; k++) {
            static const uint8_t edge[] = {0, 1, 0x7f, 0x80, 0xff};
            uint64_t x = test_random(f.t);
            b[x % g->len] = (x >> 40) % 3 == 0 ? edge[(x >> 32) % sizeof edge] : (uint8_t)(x >> 56);
        }
        int rc = round_trip(&f, g, (pml_bytes){b, g->len}, &err);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED || rc == PML_E_LIMIT);
        if (rc == PML_OK) {
            /* What was read and written is read again to the same bytes. */
            uint8_t *again = malloc(f.buf.len);
            size_t len = f.buf.len;
            golden self = *g;
            assert_non_null(again);
            memcpy(again, f.buf.data, len);
            if (!is_split(g))
                memcpy(self.kind, "message-11", 11);
            must_ok(round_trip(&f, &self, (pml_bytes){again, len}, &err), &err);
            assert_int_equal(f.buf.len, len);
            assert_memory_equal(f.buf.data, again, len);
            free(again);
            read++;
        }
        free(b);
    }
    assert_true(read > 0);
    teardown(&f);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    for (size_t i = 0; i < 2; i++) {
        const golden *g = &f.v[i];
        int rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n++) {
            pml_error err = PML_ERROR_INIT;
            pml_arena__clear(&f.arena);
            pml_buf__clear(&f.buf);
            test_env_fail_at(f.t, n);
            rc = round_trip(&f, g, (pml_bytes){g->bytes, g->len}, &err);
            test_env_fail_at(f.t, 0);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
            assert_true(n < 1000);
        }
    }
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_java_come_back_the_same),
        cmocka_unit_test(split_of_java_tells_its_files),
        cmocka_unit_test(split_of_older_java_has_the_fields_of_its_time),
        cmocka_unit_test(text_with_supplementary_characters_is_written_as_java_does),
        cmocka_unit_test(text_that_is_too_long_or_not_utf8_is_refused),
        cmocka_unit_test(text_with_a_nul_or_half_a_pair_is_refused_by_the_reader),
        cmocka_unit_test(split_of_a_newer_version_is_refused),
        cmocka_unit_test(message_of_a_dynamic_bucket_tells_its_index_file),
        cmocka_unit_test(message_with_compacted_or_index_files_is_refused_by_name),
        cmocka_unit_test(bytes_that_are_cut_or_continued_are_refused),
        cmocka_unit_test(mutated_bytes_are_refused_or_well_formed),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
