/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV, JSON and text data files. The first byte of the input says which, how it is packed and with which options; the rest is the file,
 * read with all columns, with none, and with those of the lines that a set names.
 */
#include "columnar/data_type.h"
#include "format/file_format.h"
#include "fuzz.h"

/* A line of 256 MiB, twice while it grows, and its values. */
FUZZ_MEMORY((size_t)1 << 30);

enum { BATCHES_MAX = 1000, ROWS = 64, CHOSEN = 1000 };

static const char *const columns[] = {
    "a INT, s STRING, d DECIMAL(20, 4), f DOUBLE, b BYTES, day DATE, t TIME(3), at TIMESTAMP(6), z TIMESTAMP_LTZ(3), o BOOLEAN, y TINYINT, g FLOAT",
    "a BIGINT, l ARRAY<INT>, m MAP<INT, STRING>, k MAP<BYTES, ARRAY<STRING>>, r ROW<x INT, y ROW<z STRING, w ARRAY<DATE>>>, s VARCHAR(3)",
    "s STRING"};
static const char *const formats[] = {"csv", "json", "text"};
static const char *const ends[] = {"", ".gz", ".bz2", ".deflate", ".zst", ".snappy", ".lz4", ".other"};

static struct {
    pml_arena arena;
    pml_type rows[3];
} world;

static void world_drop(void)
{
    pml_arena__clear(&world.arena);
}

static void world_make(void)
{
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&world.arena, fuzz_env()->env);
    for (size_t i = 0; i < 3; i++) {
        char text[1024];
        int n = snprintf(text, sizeof text, "ROW<%s>", columns[i]);
        must_ok(pml_type__parse(&world.rows[i], &world.arena, text, (size_t)n, NULL, &err), &err);
    }
    (void)atexit(world_drop);
}

/* Rows, or a negative code. */
static int64_t read_file(const char *format, const char *path, pml_format_read q)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    int rc = pml_format__open(&stream, fuzz_env()->env, format, path, &q, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK)
        return rc;
    rc = fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, &err);
    fuzz_must_be_answer(rc, &err);
    return rc == PML_OK ? rows : rc;
}

static void read_all(const char *format, const char *path, const pml_type *row, uint8_t how, pml_bytes file)
{
    const char *names[16];
    pml_error err = PML_ERROR_INIT;
    pml_row_set wanted;
    const pml_text_options o = {.line_delimiter = how & 1 ? "|~" : "\n",
                                .field_delimiter = how & 2 ? ";" : ",",
                                .quote = "\"",
                                .escape = "\\",
                                .null_literal = how & 4 ? "NULL" : "",
                                .header = (how & 8) != 0,
                                .mode = how % 3,
                                .ignore_errors = (how & 16) != 0};
    pml_format_read q = {.fields = row->children, .n_fields = row->n_children, .batch_rows = ROWS, .check_values = true, .text = &o,
                         .file_columns = names, .n_file_columns = row->n_children, .content = file};
    for (size_t i = 0; i < row->n_children; i++)
        names[i] = row->children[i].name;
    int64_t all = read_file(format, path, q);
    q.n_fields = 0;
    int64_t counted = read_file(format, path, q);
    FUZZ_CHECK(all < 0 || all >= BATCHES_MAX || counted >= all, "%lld rows, %lld without columns", (long long)all, (long long)counted);
    q.n_fields = row->n_children;
    must_ok(pml_row_set__init(&wanted, fuzz_env()->env, CHOSEN, false, &err), &err);
    for (int64_t i = 0; i < CHOSEN; i += 3)
        pml_row_set__add(&wanted, i);
    q.rows = &wanted;
    int64_t chosen = read_file(format, path, q);
    FUZZ_CHECK(all < 0 || all >= BATCHES_MAX || chosen <= all, "%lld rows, %lld of them chosen", (long long)all, (long long)chosen);
    pml_row_set__clear(&wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char path[64];
    fuzz_input in = {data, len};
    if (world.rows[0].kind == 0)
        world_make();
    fuzz_begin();
    uint8_t kind = fuzz_u8(&in), how = fuzz_u8(&in);
    const char *format = formats[kind % 3];
    (void)snprintf(path, sizeof path, "data-1.%s%s", format, ends[kind / 3 % 8]);
    pml_bytes file = fuzz_rest(&in);
    if (file.ptr == NULL)
        file.ptr = (const uint8_t *)"";
    read_all(format, path, &world.rows[kind % 3 == 1 ? kind / 24 % 2 : kind % 3], how, file);
    fuzz_end();
    return 0;
}
