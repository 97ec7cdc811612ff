/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet files through the bridge, three times: all columns as the file has them, fully checked; only the number of rows; and the
 * columns by name as other types, with a predicate for the row groups. Arrow's memory is bounded as the limit below says.
 */
#include "columnar/row_text.h"
#include "format/bridge_load.h"
#include "format/file_format.h"
#include "fuzz.h"

FUZZ_MEMORY(256 * MIB);

enum { BATCHES_MAX = 64, COLUMNS_MAX = 64 };

static const char path[] = "/t/bucket-0/data-1.parquet";

static int read_at(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err)
{
    const pml_bytes *b = ctx;
    FUZZ_CHECK(offset >= 0 && n >= 0 && (uint64_t)offset <= b->len && (uint64_t)n <= b->len - (size_t)offset, "a read outside");
    (void)err;
    if (n > 0)
        memcpy(buf, b->ptr + offset, (size_t)n);
    return PML_OK;
}

static void read_fields(const pml_field *fields, size_t n, const pml_pred *predicate, bool full)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    const pml_format_read q = {.fields = fields, .n_fields = n, .predicate = predicate, .batch_rows = 512,
                               .checksums = full, .check_values = full};
    int rc = pml_format__open(&stream, fuzz_env()->env, "parquet", path, &q, &err);
    fuzz_must_name(rc, &err, path);
    if (rc != PML_OK)
        return;
    rc = fuzz_drain(&stream, full ? PML_CHECK_FULL : PML_CHECK_BASIC, BATCHES_MAX, &rows, &err);
    fuzz_must_be_answer(rc, &err);
}

/* What the file says its columns are: names and types, where we have them. */
static int file_fields(pml_field **fields, size_t *n, pml_arena *arena, pml_bytes file, pml_error *err)
{
    const pml_bridge *bridge;
    pml_bridge_reader *reader;
    struct ArrowSchema schema = {0};
    const pml_bridge_input input = {&file, path, (int64_t)file.len, read_at, NULL};
    const pml_bridge_read_options options = {512, PML_BRIDGE_VALIDATE_FULL, 0};
    must_ok(pml_bridge__get(&bridge, fuzz_env()->env, err), err);
    const pml_bridge_memory memory = pml_bridge__read_memory(fuzz_env()->env);
    PML_RETURN_IF(bridge->parquet_open(&reader, &input, &memory, &options, err));
    int rc = bridge->parquet_schema(&schema, reader, err);
    if (rc == PML_OK)
        rc = pml_row_text__fields(fields, n, arena, &schema, err);
    if (schema.release != NULL)
        schema.release(&schema);
    bridge->parquet_close(reader);
    return rc;
}

/* The same names with types that shift with the length of the file; a comparison on the first column. */
static void read_otherwise(const pml_field *fields, size_t n, size_t len)
{
    pml_field other[COLUMNS_MAX];
    pml_value zero = {.kind = PML_VALUE_INT};
    pml_pred p = {.op = PML_PRED_GT, .n_literals = 1, .literals = &zero};
    n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    for (size_t i = 0; i < n; i++) {
        const uint8_t shape[3] = {(uint8_t)(i + len), (uint8_t)(len / 16), 2};
        fuzz_input in = {shape, sizeof shape};
        other[i] = fields[i];
        if ((i + len) % 3 != 0)
            other[i].type = fuzz_type(&in);
        other[i].id = (int32_t)i;
    }
    p.field_id = 0;
    p.type = &other[0].type;
    p.name = other[0].name;
    bool compares = n > 0 && (p.type->kind == PML_TYPE_INT || p.type->kind == PML_TYPE_BIGINT);
    read_fields(other, n, compares ? &p : NULL, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_error err = PML_ERROR_INIT;
    pml_field *fields = NULL;
    pml_arena arena;
    size_t n = 0;
    fuzz_begin();
    fuzz_fs_put(fuzz_files(), path, data, len);
    pml_arena__init(&arena, fuzz_env()->env);
    int rc = file_fields(&fields, &n, &arena, (pml_bytes){data, len}, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        read_fields(fields, n, NULL, true);
        read_otherwise(fields, n, len);
    }
    read_fields(NULL, 0, NULL, true);
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
