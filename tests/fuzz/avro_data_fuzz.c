/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Avro data files, read as the tables of the corpus, and as what they are not: all columns, fully checked; some columns of other types
 * and names; only the number of rows; in parts, which together have the rows of the whole.
 */
#include "columnar/data_type.h"
#include "format/file_format.h"
#include "fuzz.h"

FUZZ_MEMORY(512 * MIB);

enum { BATCHES_MAX = 1000, ROWS = 64 };

static const char path[] = "/t/bucket-0/data-1.avro";

static const char *const tables[] = {
    "id INT NOT NULL, c_boolean BOOLEAN, c_tinyint TINYINT, c_smallint SMALLINT, c_int INT, c_bigint BIGINT, c_float FLOAT, c_double DOUBLE, "
    "c_dec5 DECIMAL(5, 2), c_dec18 DECIMAL(18, 6), c_dec19 DECIMAL(19, 0), c_dec38 DECIMAL(38, 10), c_char CHAR(8), c_varchar VARCHAR(20), "
    "c_string STRING, c_binary BINARY(8), c_varbinary VARBINARY(20), c_bytes BYTES, c_date DATE, c_time0 TIME(0), c_time3 TIME(3), "
    "c_ts0 TIMESTAMP(0), c_ts3 TIMESTAMP(3), c_ts6 TIMESTAMP(6), c_ltz0 TIMESTAMP_LTZ(0), c_ltz3 TIMESTAMP_LTZ(3), c_ltz6 TIMESTAMP_LTZ(6)",
    "id INT NOT NULL, n_ints ARRAY<INT>, n_strings ARRAY<STRING>, n_decimals ARRAY<DECIMAL(20, 4)>, n_times ARRAY<TIMESTAMP(3)>, "
    "n_matrix ARRAY<ARRAY<BIGINT>>, n_map MAP<STRING, INT>, n_intmap MAP<INT, DOUBLE>, n_maprow MAP<STRING, ROW<p INT, q STRING>>, "
    "n_multiset MULTISET<STRING>, n_row ROW<a INT, b STRING, c ROW<d DATE, e ARRAY<DOUBLE>>>, n_rows ARRAY<ROW<x BIGINT, y DECIMAL(10, 2)>>",
    "id INT NOT NULL, name STRING, amount DECIMAL(12, 2), day DATE, at TIMESTAMP(3), ratio DOUBLE, tags ARRAY<STRING>",
    "id INT NOT NULL, e VECTOR<FLOAT, 4>, i VECTOR<INT, 3>",
    /* other units, orders and columns, and what no file has */
    "c_ltz6 TIMESTAMP(9), c_ts3 TIMESTAMP_LTZ(6), c_ts6 TIMESTAMP(0), c_int DATE, gone STRING, at TIMESTAMP(9), n_row ROW<c ROW<e ARRAY<DOUBLE>, "
    "g INT>, a INT>, n_rows ARRAY<ROW<y DECIMAL(10, 2), z ROW<w INT>>>, n_maprow MAP<STRING, ROW<q STRING>>, e ARRAY<FLOAT>, tags ARRAY<STRING>",
    "c_int BIGINT, n_map MAP<INT, INT>",
    ""};
enum { TABLES = sizeof tables / sizeof tables[0] };

static struct {
    pml_arena arena;
    pml_type rows[TABLES];
} world;

static void world_drop(void)
{
    pml_arena__clear(&world.arena);
}

static void world_make(void)
{
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&world.arena, fuzz_env()->env);
    for (size_t i = 0; i < TABLES; i++) {
        char text[2048];
        int n = snprintf(text, sizeof text, "ROW<%s>", tables[i]);
        world.rows[i] = (pml_type){.kind = PML_TYPE_ROW};
        if (tables[i][0] != '\0')
            must_ok(pml_type__parse(&world.rows[i], &world.arena, text, (size_t)n, NULL, &err), &err);
    }
    (void)atexit(world_drop);
}

/* Rows, or a negative code. */
static int64_t read_file(const pml_type *row, pml_format_read q)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    q.fields = row->children;
    q.n_fields = row->n_children;
    q.batch_rows = ROWS;
    int rc = pml_format__open(&stream, fuzz_env()->env, "avro", path, &q, &err);
    fuzz_must_name(rc, &err, path);
    if (rc != PML_OK)
        return rc;
    rc = fuzz_drain(&stream, q.check_values ? PML_CHECK_FULL : PML_CHECK_TRUSTED, BATCHES_MAX, &rows, &err);
    fuzz_must_be_answer(rc, &err);
    return rc == PML_OK ? rows : rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (world.rows[0].kind == 0)
        world_make();
    fuzz_begin();
    fuzz_fs_put(fuzz_files(), path, data, len);
    for (size_t i = 0; i < TABLES; i++) {
        int64_t whole = read_file(&world.rows[i], (pml_format_read){.check_values = true, .own_schema = i < 4}), sum = 0;
        for (int32_t part = 0; whole >= 0 && whole < BATCHES_MAX && part < 3; part++) {
            int64_t n = read_file(&world.rows[i], (pml_format_read){.part = part, .parts = 3});
            FUZZ_CHECK(n >= 0, "part %d fails with %lld, the whole does not", (int)part, (long long)n);
            sum += n;
        }
        FUZZ_CHECK(whole < 0 || whole >= BATCHES_MAX || whole == sum, "%lld rows, %lld in parts", (long long)whole, (long long)sum);
    }
    fuzz_end();
    return 0;
}
