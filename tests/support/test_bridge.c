/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_bridge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(format, name, id, nullable) test_field(format, name, id, nullable, 0, NULL)

const pml_bridge_read_options test_read_options = {.batch_rows = 1000, .validate = PML_BRIDGE_VALIDATE_FULL};
const pml_bridge_write_options test_write_options = {.compression = "zstd", .compression_level = INT32_MIN, .dictionary = 1};

void test_file_free(test_file *f)
{
    free(f->data);
    f->data = NULL;
}

test_file test_file_load(const char *name)
{
    char path[512];
    test_file f = {0};
    (void)snprintf(path, sizeof path, "%s/format/data/%s", PML_TEST_SOURCE, name);
    f.data = test_read_file(path, &f.len);
    return f;
}

static int file_fails(test_file *f, pml_error *err)
{
    f->calls++;
    if (f->thread != 0 && f->thread != (uint64_t)pthread_self())
        return pml_error__set(err, PML_E_STATE, "a call from another thread");
    if (f->fail_at != 0 && f->calls == f->fail_at)
        return pml_error__set(err, PML_E_NO_SPACE, "call %d fails on command", f->calls);
    return PML_OK;
}

static int file_read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    test_file *f = ctx;
    PML_RETURN_IF(file_fails(f, err));
    if (offset < 0 || n <= 0 || offset > (int64_t)f->len || n > (int64_t)f->len - offset)
        return pml_error__set(err, PML_E_STATE, "a read outside of the file");
    memcpy(buf, f->data + offset, (size_t)n);
    return PML_OK;
}

static void file_close(void *ctx)
{
    ((test_file *)ctx)->closed++;
}

static int file_write(void *ctx, const void *buf, int64_t n, pml_error *err)
{
    test_file *f = ctx;
    PML_RETURN_IF(file_fails(f, err));
    if (f->len + (size_t)n > f->cap) {
        f->cap = (f->len + (size_t)n) * 2;
        f->data = realloc(f->data, f->cap);
        assert_non_null(f->data);
    }
    memcpy(f->data + f->len, buf, (size_t)n);
    f->len += (size_t)n;
    return PML_OK;
}

static void file_charge(void *ctx, int64_t delta)
{
    test_file *f = ctx;
    f->charged += delta;
    f->charged_max = f->charged > f->charged_max ? f->charged : f->charged_max;
}

static void file_drop(void *ctx)
{
    ((test_file *)ctx)->dropped++;
}

pml_bridge_input test_input(test_file *f)
{
    return (pml_bridge_input){f, "data-0.parquet", (int64_t)f->len, file_read_at, file_close};
}

pml_bridge_output test_output(test_file *f)
{
    return (pml_bridge_output){f, "data-0.parquet", file_write};
}

pml_bridge_memory test_memory(test_file *f)
{
    return (pml_bridge_memory){f, file_charge, file_drop, f->bytes_max};
}

int test_parquet_write(test_file *f, const pml_bridge *b, const struct ArrowSchema *schema, struct ArrowArray *array,
                       const pml_bridge_write_options *options, pml_error *err)
{
    pml_bridge_output output = test_output(f);
    pml_bridge_memory memory = test_memory(f);
    pml_bridge_writer *w = NULL;
    int rc = b->parquet_create(&w, &output, &memory, schema, options, err);
    if (rc != PML_OK) {
        array->release(array);
        return rc;
    }
    rc = b->parquet_write(w, array, err);
    assert_null(array->release);
    if (rc == PML_OK)
        rc = b->parquet_finish(w, err);
    if (rc == PML_OK)
        assert_int_equal(b->parquet_size(w), f->len);
    b->parquet_free(w);
    assert_int_equal(f->charged, 0);
    return rc;
}

int test_parquet_stream(struct ArrowArrayStream *out, const pml_bridge *b, test_file *f, const int32_t *columns,
                        size_t n_columns, const pml_bridge_read_options *options, pml_error *err)
{
    enum { MANY = 4096 };
    static int32_t count[MANY];
    pml_bridge_input input = test_input(f);
    pml_bridge_memory memory = test_memory(f);
    pml_bridge_reader *r = NULL;
    struct ArrowSchema schema = {0};
    memset(out, 0, sizeof *out);
    int rc = b->parquet_open(&r, &input, &memory, options, err);
    if (rc != PML_OK)
        return rc;
    for (int32_t i = 0; i < MANY; i++)
        count[i] = i;
    rc = b->parquet_schema(&schema, r, err);
    if (rc == PML_OK && columns == NULL) {
        columns = count;
        n_columns = (size_t)schema.n_children;
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (rc == PML_OK)
        rc = b->parquet_stream(out, r, count, (size_t)b->parquet_row_groups(r), columns, n_columns, err);
    b->parquet_close(r);
    return rc;
}

int64_t test_drain(const pml_bridge *b, struct ArrowArrayStream *stream, pml_error *err)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray array;
        if (stream->get_next(stream, &array) != 0) {
            assert_null(array.release);
            assert_non_null(stream->get_last_error(stream));
            return b->stream_error(stream, err);
        }
        if (array.release == NULL)
            return rows;
        rows += array.length;
        array.release(&array);
    }
}

void test_stream_equals(const pml_bridge *b, struct ArrowArrayStream *stream, const struct ArrowSchema *schema,
                        const struct ArrowArray *array)
{
    struct ArrowSchema got;
    int64_t row = 0;
    assert_int_equal(stream->get_schema(stream, &got), 0);
    for (;;) {
        struct ArrowArray batch;
        pml_error err = PML_ERROR_INIT;
        if (stream->get_next(stream, &batch) != 0)
            must_ok(b->stream_error(stream, &err), &err);
        if (batch.release == NULL)
            break;
        for (int64_t i = 0; i < batch.length; i++, row++)
            for (int64_t c = 0; c < got.n_children; c++)
                if (!test_item_equal(schema->children[c], array->children[c], row, got.children[c], batch.children[c], i))
                    fail_msg("row %lld of column %s differs", (long long)row, got.children[c]->name);
        batch.release(&batch);
    }
    assert_int_equal(row, array->length);
    got.release(&got);
    stream->release(stream);
}

test_file test_file_of(const pml_bridge *b, struct ArrowSchema *schema, int64_t rows, const pml_bridge_write_options *options)
{
    pml_error err = PML_ERROR_INIT;
    test_file f = {0};
    test_env seed = {.random_state = test_seed()};
    struct ArrowArray array = test_random_array(&seed, schema, rows);
    must_ok(test_parquet_write(&f, b, schema, &array, options, &err), &err);
    f.dropped = f.calls = 0;
    return f;
}

/* ---- schemas ---- */

static struct ArrowSchema list_of(const char *format, const char *name, int id, struct ArrowSchema element)
{
    return test_field(format, name, id, true, 1, &element);
}

static struct ArrowSchema map_of(const char *name, int id, struct ArrowSchema key, struct ArrowSchema value)
{
    struct ArrowSchema pair[2] = {key, value};
    struct ArrowSchema entries = test_field("+s", "key_value", -1, false, 2, pair);
    return test_field("+m", name, id, true, 1, &entries);
}

struct ArrowSchema test_scalar_schema(void)
{
    struct ArrowSchema f[] = {
        FIELD("b", "c_boolean", 0, true),      FIELD("c", "c_tinyint", 1, true),      FIELD("s", "c_smallint", 2, true),
        FIELD("i", "c_int", 3, false),         FIELD("l", "c_bigint", 4, true),       FIELD("f", "c_float", 5, true),
        FIELD("g", "c_double", 6, true),       FIELD("d:5,2", "c_dec5", 7, true),     FIELD("d:18,6", "c_dec18", 8, true),
        FIELD("d:19,0", "c_dec19", 9, true),   FIELD("d:38,10", "c_dec38", 10, true), FIELD("u", "c_string", 11, true),
        FIELD("z", "c_bytes", 12, true),       FIELD("tdD", "c_date", 13, true),      FIELD("ttm", "c_time", 14, true),
        FIELD("tsm:", "c_ts3", 15, true),      FIELD("tsu:", "c_ts6", 16, true),      FIELD("tsn:", "c_ts9", 17, true),
        FIELD("tsm:UTC", "c_ltz3", 18, true),  FIELD("tsu:UTC", "c_ltz6", 19, true),  FIELD("tsn:UTC", "c_ltz9", 20, true),
        FIELD("u", "_text_not_null", 21, false),
    };
    return test_struct(sizeof f / sizeof f[0], f);
}

struct ArrowSchema test_nested_schema(void)
{
    struct ArrowSchema row[] = {FIELD("i", "a", 31, true), FIELD("tsn:", "b", 32, true), FIELD("u", "c", 33, false)};
    struct ArrowSchema variant[] = {FIELD("z", "value", 0, false), FIELD("z", "metadata", 1, false)};
    struct ArrowSchema inner_vector = list_of("+w:2", "element", 901, FIELD("g", "element", 902, true));
    struct ArrowSchema f[] = {
        FIELD("l", "id", 0, false),
        list_of("+l", "n_array", 1, FIELD("i", "element", 536871936, true)),
        list_of("+l", "n_array2", 2, list_of("+l", "element", 700, FIELD("tsn:", "element", 701, true))),
        map_of("n_map", 3, FIELD("u", "key", 536867837, false), FIELD("d:9,3", "value", 536873985, true)),
        map_of("n_multiset", 4, FIELD("tsu:", "key", 800, false), FIELD("i", "value", 801, false)),
        test_field("+s", "n_row", 5, true, 3, row),
        test_field("+s", "n_variant", 6, true, 2, variant),
        list_of("+w:3", "n_vector", 7, FIELD("f", "element", 900, true)),
        list_of("+l", "n_vectors", 8, inner_vector),
    };
    return test_struct(sizeof f / sizeof f[0], f);
}
