/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of rows in: the first byte says the form (JSON, CSV, Parquet) and its options, the rest is the file. What comes out is
 * printed and, when it was JSON, read again.
 */
#include <paimonlive/rows.h>
#include <paimonlive/scan.h>

#include "fuzz.h"

FUZZ_MEMORY(64 * MIB);

enum { BATCHES_MAX = 64 };

static const char schema_json[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\",\"type\":\"STRING\"},"
    "{\"name\":\"d\",\"type\":\"DECIMAL(10,2)\"},{\"name\":\"day\",\"type\":\"DATE\"},{\"name\":\"at\",\"type\":\"TIMESTAMP(9)\"},"
    "{\"name\":\"b\",\"type\":\"BOOLEAN\"},{\"name\":\"f\",\"type\":\"FLOAT\"},{\"name\":\"x\",\"type\":\"BYTES\"},"
    "{\"name\":\"t\",\"type\":\"TIME\"},{\"name\":\"z\",\"type\":\"TIMESTAMP(3) WITH LOCAL TIME ZONE\"}%s],"
    "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{}}";

static pml_table *flat, *nested;

static void tables_close(void)
{
    pml_table_release(flat);
    pml_table_release(nested);
}

static pml_table *table_make(const char *path, const char *more)
{
    char json[2048];
    pml_error err = PML_ERROR_INIT;
    pml_table *t;
    int n = snprintf(json, sizeof json, schema_json, more);
    must_ok(pml_table_create(&t, fuzz_env()->env, path, json, (size_t)n, 0, &err), &err);
    return t;
}

static void tables_make(void)
{
    flat = table_make("/flat", "");
    nested = table_make("/nested", ",{\"name\":\"a\",\"type\":\"ARRAY<INT>\"},{\"name\":\"m\",\"type\":\"MAP<STRING, ARRAY<STRING>>\"},"
                                   "{\"name\":\"r\",\"type\":\"ROW<p INT, q ROW<u STRING NOT NULL>>\"}");
    fuzz_fs_mark(fuzz_files());
    (void)atexit(tables_close);
}

/* Prints the batches of a stream (released) one after the other. */
static int print_all(pml_text *text, struct ArrowArrayStream *stream, int32_t format, pml_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    pml_rows_printer *printer;
    int rc = PML_OK;
    FUZZ_CHECK(stream->get_schema(stream, &schema) == 0, "no schema");
    must_ok(pml_rows_printer_new(&printer, fuzz_env()->env, &schema, format, err), err);
    for (int i = 0; rc == PML_OK && i < BATCHES_MAX; i++) {
        if (stream->get_next(stream, &batch) != 0) {
            rc = pml_stream_error(stream, err);
        } else if (batch.release == NULL) {
            break;
        } else {
            must_ok(pml_rows_print(text, printer, &batch, 0, batch.length, err), err);
            batch.release(&batch);
        }
    }
    pml_rows_printer_free(printer);
    schema.release(&schema);
    stream->release(stream);
    return rc;
}

static void print_and_read_again(pml_table *t, const char *path, const pml_rows_options *options)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    pml_text first = {0}, second = {0};
    pml_rows_options json = PML_ROWS_OPTIONS_INIT;
    must_ok(pml_rows_open(&stream, t, path, options, &err), &err);
    must_ok(print_all(&first, &stream, PML_ROWS_JSON, &err), &err);
    json.format = PML_ROWS_JSON;
    fuzz_fs_put(fuzz_files(), "/again.jsonl", first.ptr, first.len);
    must_ok(pml_rows_open(&stream, t, "/again.jsonl", &json, &err), &err);
    must_ok(print_all(&second, &stream, PML_ROWS_JSON, &err), &err);
    FUZZ_CHECK(first.len == second.len && memcmp(first.ptr == NULL ? "" : first.ptr, second.ptr == NULL ? "" : second.ptr, first.len) == 0,
               "rows changed on the way");
    pml_text_clear(&first);
    pml_text_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const paths[] = {"/rows.jsonl", "/rows.csv", "/rows.parquet", "/rows.csv.gz"};
    fuzz_input in = {data, len};
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows = 0;
    if (flat == NULL)
        tables_make();
    fuzz_begin();
    fuzz_fs_rewind(fuzz_files());
    uint8_t head = fuzz_u8(&in);
    const char *path = paths[head % 4];
    pml_rows_options o = PML_ROWS_OPTIONS_INIT;
    pml_table *t = head % 4 == 0 && (head & 4) != 0 ? nested : flat;
    o.csv_no_header = (head & 8) != 0;
    o.csv_delimiter = (head & 16) != 0 ? ';' : 0;
    o.csv_null = (head & 32) != 0 ? "NULL" : NULL;
    o.batch_rows = (head & 64) != 0 ? 3 : 0;
    pml_bytes file = fuzz_rest(&in);
    fuzz_fs_put(fuzz_files(), path, file.ptr, file.len);
    int rc = pml_rows_open(&stream, t, path, &o, &err);
    fuzz_must_name(rc, &err, path);
    if (rc == PML_OK) {
        rc = fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, &err);
        fuzz_must_name(rc, &err, path);
    }
    if (rc == PML_OK && rows < 4096)
        print_and_read_again(t, path, &o);
    fuzz_end();
    return 0;
}
