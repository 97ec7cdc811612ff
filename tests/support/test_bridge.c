/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_bridge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    ((test_file *)ctx)->charged += delta;
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
    return (pml_bridge_memory){f, file_charge, file_drop};
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
