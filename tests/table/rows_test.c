/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text, in and out. The lines of data/rows_*.jsonl were made by the Java implementation (Apache Paimon 1.4.2). */
#include "support/test_env.h"

#include <paimonlive/rows.h>
#include <paimonlive/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "columnar/batch.h"
#include "support/test_bridge.h"
#include "util/error.h"

static const char nested_schema[] =
    "{\"fields\":["
    "{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"n_ints\",\"type\":\"ARRAY<INT>\"},"
    "{\"name\":\"n_strings\",\"type\":\"ARRAY<STRING>\"},{\"name\":\"n_decimals\",\"type\":\"ARRAY<DECIMAL(20, 4)>\"},"
    "{\"name\":\"n_times\",\"type\":\"ARRAY<TIMESTAMP(3)>\"},{\"name\":\"n_matrix\",\"type\":\"ARRAY<ARRAY<BIGINT>>\"},"
    "{\"name\":\"n_map\",\"type\":\"MAP<STRING, INT>\"},{\"name\":\"n_intmap\",\"type\":\"MAP<INT, DOUBLE>\"},"
    "{\"name\":\"n_maprow\",\"type\":\"MAP<STRING, ROW<p INT, q STRING>>\"},"
    "{\"name\":\"n_multiset\",\"type\":\"MULTISET<STRING>\"},"
    "{\"name\":\"n_row\",\"type\":\"ROW<a INT, b STRING, c ROW<d DATE, e ARRAY<DOUBLE>>>\"},"
    "{\"name\":\"n_rows\",\"type\":\"ARRAY<ROW<x BIGINT, y DECIMAL(10, 2)>>\"}]}";

static const char scalar_schema[] =
    "{\"fields\":["
    "{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"c_boolean\",\"type\":\"BOOLEAN\"},"
    "{\"name\":\"c_tinyint\",\"type\":\"TINYINT\"},{\"name\":\"c_smallint\",\"type\":\"SMALLINT\"},"
    "{\"name\":\"c_int\",\"type\":\"INT\"},{\"name\":\"c_bigint\",\"type\":\"BIGINT\"},{\"name\":\"c_float\",\"type\":"
    "\"FLOAT\"},"
    "{\"name\":\"c_double\",\"type\":\"DOUBLE\"},{\"name\":\"c_dec5\",\"type\":\"DECIMAL(5, 2)\"},"
    "{\"name\":\"c_dec18\",\"type\":\"DECIMAL(18, 6)\"},{\"name\":\"c_dec19\",\"type\":\"DECIMAL(19, 0)\"},"
    "{\"name\":\"c_dec38\",\"type\":\"DECIMAL(38, 10)\"},{\"name\":\"c_char\",\"type\":\"CHAR(8)\"},"
    "{\"name\":\"c_varchar\",\"type\":\"VARCHAR(20)\"},{\"name\":\"c_string\",\"type\":\"STRING\"},"
    "{\"name\":\"c_binary\",\"type\":\"BINARY(8)\"},{\"name\":\"c_varbinary\",\"type\":\"VARBINARY(20)\"},"
    "{\"name\":\"c_bytes\",\"type\":\"BYTES\"},{\"name\":\"c_date\",\"type\":\"DATE\"},{\"name\":\"c_time0\",\"type\":"
    "\"TIME(0)\"},"
    "{\"name\":\"c_time3\",\"type\":\"TIME(3)\"},{\"name\":\"c_ts0\",\"type\":\"TIMESTAMP(0)\"},"
    "{\"name\":\"c_ts3\",\"type\":\"TIMESTAMP(3)\"},{\"name\":\"c_ts6\",\"type\":\"TIMESTAMP(6)\"},"
    "{\"name\":\"c_ts9\",\"type\":\"TIMESTAMP(9)\"},{\"name\":\"c_ltz0\",\"type\":\"TIMESTAMP(0) WITH LOCAL TIME "
    "ZONE\"},"
    "{\"name\":\"c_ltz3\",\"type\":\"TIMESTAMP(3) WITH LOCAL TIME ZONE\"},"
    "{\"name\":\"c_ltz6\",\"type\":\"TIMESTAMP(6) WITH LOCAL TIME ZONE\"},"
    "{\"name\":\"c_ltz9\",\"type\":\"TIMESTAMP(9) WITH LOCAL TIME ZONE\"}]}";

static const char floats_schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"f\",\"type\":\"FLOAT\"},"
    "{\"name\":\"d\",\"type\":\"DOUBLE\"}]}";

static const char small_schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"s\",\"type\":\"STRING\"},"
    "{\"name\":\"b\",\"type\":\"BYTES\"},{\"name\":\"l\",\"type\":\"ARRAY<INT>\"},{\"name\":\"d\",\"type\":\"DECIMAL(6,"
    " 2)\"}]}";

static const char floats_and_text_schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"s\",\"type\":\"STRING\"},"
    "{\"name\":\"g\",\"type\":\"DOUBLE\"}]}";

static const char wide_schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"s\",\"type\":\"STRING\"},"
    "{\"name\":\"b\",\"type\":\"BYTES\"},{\"name\":\"l\",\"type\":\"ARRAY<INT>\"},"
    "{\"name\":\"d\",\"type\":\"DECIMAL(6, 2)\"},{\"name\":\"f\",\"type\":\"FLOAT\"},"
    "{\"name\":\"g\",\"type\":\"DOUBLE\"},{\"name\":\"m\",\"type\":\"MAP<STRING, INT>\"},"
    "{\"name\":\"w\",\"type\":\"MAP<DECIMAL(6, 2), INT>\"},{\"name\":\"t\",\"type\":\"TIMESTAMP(9)\"}]}";

/* ---- sentences ---- */

static pml_table *table_of(test_env *t, const char *schema)
{
    static int number;
    char name[32];
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    (void)snprintf(name, sizeof name, "table-%d", number++);
    must_ok(pml_table_create(&table, t->env, test_path(t, name), schema, strlen(schema), 0, &err), &err);
    return table;
}

static const char *file_of(test_env *t, const char *name, const char *text, size_t len)
{
    const char *path = test_path(t, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    (void)fclose(f);
    return path;
}

static const char *lines_of(test_env *t, const char *name, const char *text)
{
    return file_of(t, name, text, strlen(text));
}

static char *fixture(const char *name)
{
    char path[512];
    size_t len;
    (void)snprintf(path, sizeof path, "%s/table/data/%s", PML_TEST_SOURCE, name);
    return (char *)test_read_file(path, &len);
}

/* Reads the file as rows of the table and prints them: the whole text, appended to out (zeroed). */
static int read_and_print(pml_text *out, pml_table *table, const char *path, int64_t batch_rows, int32_t format,
                          pml_error *err)
{
    pml_rows_options options = PML_ROWS_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = {0};
    pml_rows_printer *printer = NULL;
    int rc;
    options.batch_rows = batch_rows;
    rc = pml_rows_open(&stream, table, path, &options, err);
    if (rc != PML_OK)
        return rc;
    if (stream.get_schema(&stream, &schema) != 0) {
        rc = pml_stream_error(&stream, err);
        goto out;
    }
    PML_TRY(pml_rows_printer_new(&printer, pml_table_env(table), &schema, format, err));
    for (;;) {
        struct ArrowArray batch;
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            goto out;
        }
        if (batch.release == NULL)
            break;
        rc = pml_rows_print(out, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        PML_TRY(rc);
    }
out:
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    stream.release(&stream);
    return rc;
}

static void must_come_back(pml_table *table, const char *path, const char *expected, int64_t batch_rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    must_ok(read_and_print(&text, table, path, batch_rows, PML_ROWS_JSON, &err), &err);
    assert_string_equal(text.ptr == NULL ? "" : text.ptr, expected);
    pml_text_clear(&text);
}

static void must_say(pml_table *table, const char *path, int code, const char *said)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    must_fail_with(code, read_and_print(&text, table, path, 0, PML_ROWS_JSON, &err), &err);
    if (strstr(err.message, said) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, said);
    pml_text_clear(&text);
}

static void json_and_csv_come_back(const char *schema, const char *name)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_text csv = {0};
    char *lines = fixture(name), names[4096] = "";
    pml_table *table = table_of(t, schema);
    struct ArrowSchema s;
    must_come_back(table, lines_of(t, "rows.jsonl", lines), lines, 0);
    must_come_back(table, lines_of(t, "rows.jsonl", lines), lines, 3);

    must_ok(pml_table_arrow_schema(&s, table, &err), &err);
    for (int64_t i = 0; i < s.n_children; i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? "," : "",
                       s.children[i]->name);
    (void)snprintf(names + strlen(names), sizeof names - strlen(names), "\n");
    s.release(&s);
    must_ok(read_and_print(&csv, table, test_path(t, "rows.jsonl"), 0, PML_ROWS_CSV, &err), &err);
    char *whole = malloc(strlen(names) + csv.len + 1);
    assert_non_null(whole);
    (void)snprintf(whole, strlen(names) + csv.len + 1, "%s%s", names, csv.ptr);
    must_come_back(table, lines_of(t, "rows.csv", whole), lines, 0);

    free(whole);
    free(lines);
    pml_text_clear(&csv);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- tests ---- */

static void rows_of_nested_types_come_back_as_java_wrote_them(void **state)
{
    (void)state;
    json_and_csv_come_back(nested_schema, "rows_nested.jsonl");
}

static void rows_of_scalar_types_come_back_as_java_wrote_them(void **state)
{
    (void)state;
    json_and_csv_come_back(scalar_schema, "rows_scalar.jsonl");
}

static void rows_of_special_floats_come_back_as_java_wrote_them(void **state)
{
    (void)state;
    json_and_csv_come_back(floats_schema, "rows_floats.jsonl");
}

static void json_lines_of_any_layout_are_read(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, small_schema);
    must_come_back(table,
                   lines_of(t, "a.json", "\xef\xbb\xbf{\"id\": -0 , \"s\":\"-0\\\"-0\"}\r\n\n  \n{\"d\":7,\"id\":2}"),
                   "{\"_kind\":\"+I\",\"id\":0,\"s\":\"-0\\\"-0\",\"b\":null,\"l\":null,\"d\":null}\n"
                   "{\"_kind\":\"+I\",\"id\":2,\"s\":null,\"b\":null,\"l\":null,\"d\":\"7.00\"}\n",
                   0);
    must_come_back(table, lines_of(t, "b.ndjson", ""), "", 0);
    must_come_back(
        table, lines_of(t, "c.jsonl", "{\"id\":1,\"s\":\"a\\u0000\\n\\u001f\\/\",\"b\":\"00FF\"}"),
        "{\"_kind\":\"+I\",\"id\":1,\"s\":\"a\\u0000\\u000a\\u001f/\",\"b\":\"00ff\",\"l\":null,\"d\":null}\n", 0);
    pml_table_release(table);
    test_env_close(t);
}

static void json_line_longer_than_the_read_block_is_one_row(void **state)
{
    (void)state;
    enum { LONG = 700 * 1000 };
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_schema);
    char *line = malloc(LONG + 64);
    assert_non_null(line);
    int n = snprintf(line, LONG, "{\"id\":1,\"f\":null,");
    memset(line + n, ' ', LONG);
    (void)snprintf(line + n + LONG, 32, "\"d\":1.5}\n{\"id\":2}\n");
    must_come_back(
        table, lines_of(t, "a.jsonl", line),
        "{\"_kind\":\"+I\",\"id\":1,\"f\":null,\"d\":1.5}\n{\"_kind\":\"+I\",\"id\":2,\"f\":null,\"d\":null}\n", 0);
    free(line);
    pml_table_release(table);
    test_env_close(t);
}

static void json_rows_that_do_not_fit_are_refused_by_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int code;
        const char *said;
    } cases[] = {
        {"{\"id\":1.0}", PML_E_INVAL, "line 2: column \"id\" wants an integer, the row has a fraction"},
        {"{\"id\":2147483648}", PML_E_INVAL, "2147483648 is outside"},
        {"{\"id\":null}", PML_E_INVAL, "\"id\" is NOT NULL, the row has null"},
        {"{\"s\":\"x\"}", PML_E_INVAL, "\"id\" is NOT NULL, the row has no value"},
        {"{\"id\":1,\"x\":1}", PML_E_INVAL, "there is no column \"x\""},
        {"{\"id\":1,\"id\":2}", PML_E_INVAL, "duplicate"},
        {"{\"id\":1,\"s\":5}", PML_E_INVAL, "wants a string, the row has an integer"},
        {"{\"id\":1,\"b\":\"0\"}", PML_E_INVAL, "\"b\""},
        {"{\"id\":1,\"l\":{}}", PML_E_INVAL, "wants an array"},
        {"{\"id\":1,\"l\":[1,\"x\"]}", PML_E_INVAL, "wants an integer"},
        {"{\"id\":1,\"d\":1.25}", PML_E_INVAL, "a decimal as a string"},
        {"{\"id\":1,\"d\":\"1.255\"}", PML_E_INVAL, "DECIMAL(6, 2)"},
        {"{\"id\":1,\"_kind\":\"-D\"}", PML_E_UNSUPPORTED, "-D"},
        {"{\"id\":1,\"_kind\":\"x\"}", PML_E_INVAL, "_kind"},
        {"[1]", PML_E_INVAL, "a row is a JSON object"},
        {"{\"id\":1", PML_E_INVAL, "line 2: not a JSON object"},
        {"{\"id\":99999999999999999999}", PML_E_INVAL, "too big"},
        {"{\"id\":1,\"s\":\"\xff\"}", PML_E_INVAL, "line 2"},
        {"{\"id\":1,\"f\":1e300}", PML_E_INVAL, "line 2: column \"f\": 1e+300 is outside of the range of FLOAT"},
        {"{\"id\":1,\"f\":1e999}", PML_E_INVAL, "overflow"},
        {"{\"id\":1,\"m\":[[\"a\",1],[\"b\",1],[\"a\",2]]}", PML_E_INVAL,
         "line 2: column \"m\": the key a stands twice"},
        {"{\"id\":1,\"w\":[[\"1.5\",1],[\"1.50\",2]]}", PML_E_INVAL, "the key 1.50 stands twice"},
        {"{\"id\":1,\"t\":\"1600-01-01T00:00:00.000000000\"}", PML_E_INVAL, "1677-09-21..2262-04-11"},
    };
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, wide_schema);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{\"id\":7}\n%s\n{\"id\":8}\n", cases[i].row);
        must_say(table, lines_of(t, "bad.jsonl", text), cases[i].code, cases[i].said);
    }
    pml_table_release(table);
    test_env_close(t);
}

static void csv_takes_the_columns_of_its_header(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, small_schema);
    must_come_back(table, lines_of(t, "a.csv", "\xef\xbb\xbfl,id,\"s\"\n\"[1,null]\",1,\"a \"\"b\"\", c\"\n,2,\"\"\n"),
                   "{\"_kind\":\"+I\",\"id\":1,\"s\":\"a \\\"b\\\", c\",\"b\":null,\"l\":[1,null],\"d\":null}\n"
                   "{\"_kind\":\"+I\",\"id\":2,\"s\":\"\",\"b\":null,\"l\":null,\"d\":null}\n",
                   0);
    must_say(table, lines_of(t, "a.csv", "id,x\n1,2\n"), PML_E_INVAL, "a column \"x\" that the table");
    must_say(table, lines_of(t, "a.csv", "s\nx\n"), PML_E_INVAL, "lacks the column \"id\"");
    must_say(table, lines_of(t, "a.csv", "id\nx\n"), PML_E_INVAL, "a.csv");
    must_say(table, lines_of(t, "a.csv", "id,l\n1,[2\n"), PML_E_INVAL, "row 1: column \"l\" wants JSON");
    must_say(table, lines_of(t, "a.csv", "id,b\n1,zz\n"), PML_E_INVAL, "column \"b\"");
    pml_table_release(table);
    test_env_close(t);
}

static void csv_that_is_not_whole_or_does_not_fit_is_refused_by_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"id,s,s\n1,a,b\n", "a.csv has two columns \"s\""},
        {"id,s\n1,\"open\n2,b\n3,c", "a.csv: the file ends inside of the quoted field that begins in line 2"},
        {"id,s\r\n1,\"a\r\nb\"\r\n2,\"open \"\"\r\n", "begins in line 4"},
        {"id,g\n1,1e300\n2,1e999\n", "a.csv, line 3: column \"g\": 1e999 is outside of the range of DOUBLE"},
        {"id,f\n1,\"-1e39\"\n", "line 2: column \"f\": -1e39 is outside of the range of FLOAT"},
        {"f,id\n1111111111111111111111111111111111111111,1\n", "outside of the range of FLOAT"},
        {"id,t\n1,1600-01-01 00:00:00.000000000\n", "column \"t\""},
        {"id,t\n1,2300-01-01 00:00:00\n", "1677-09-21..2262-04-11"},
        {"", "a.csv is empty"},
        {"s,id\na,1\nb,x\n", "a.csv: column \"id\", row 2: CSV conversion error"},
        {"s,id\na,1\nb,\n", "a.csv, row 2: column \"id\" is NOT NULL, the row has null"},
    };
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, wide_schema);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_say(table, lines_of(t, "a.csv", cases[i].text), PML_E_INVAL, cases[i].said);
    pml_table_release(table);
    test_env_close(t);
}

static void csv_quotes_inside_of_plain_fields_are_text(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_and_text_schema);
    must_come_back(table, lines_of(t, "a.csv", "\xef\xbb\xbf\"id\",s,g\n1,5\" pipe,Infinity\n\n2,\"a\"\"\",-1e308"),
                   "{\"_kind\":\"+I\",\"id\":1,\"s\":\"5\\\" pipe\",\"g\":\"Infinity\"}\n"
                   "{\"_kind\":\"+I\",\"id\":2,\"s\":\"a\\\"\",\"g\":-1e+308}\n",
                   0);
    pml_table_release(table);
    test_env_close(t);
}

/* Wherever the reader's blocks end, a row of the limit is read and a longer one is refused by name. */
static void csv_rows_are_read_up_to_the_limit(void **state)
{
    (void)state;
    enum { LIMIT = 2 * 1024 * 1024 };
    static const size_t fronts[] = {0, 1, LIMIT / 2, LIMIT - 20};
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_and_text_schema);
    char *text = malloc(3 * (size_t)LIMIT);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
        for (size_t over = 0; over < 2; over++) {
            pml_text out = {0};
            pml_error err = PML_ERROR_INIT;
            size_t n = (size_t)snprintf(text, 32, "id,s\n1,");
            memset(text + n, 'x', fronts[i]);
            n += fronts[i];
            text[n++] = '\n';
            size_t begin = n;
            n += (size_t)snprintf(text + n, 32, "2,\"");
            memset(text + n, 'y', LIMIT);
            n = begin + LIMIT + over;
            memcpy(text + n - 2, "\"\n", 2);
            n += (size_t)snprintf(text + n, 32, "3,z\n");
            const char *path = file_of(t, "a.csv", text, n);
            if (over != 0) {
                must_say(table, path, PML_E_LIMIT, "line 3: a row of CSV may be at most 2097152 bytes long");
                continue;
            }
            must_ok(read_and_print(&out, table, path, 0, PML_ROWS_CSV, &err), &err);
            assert_true(out.len > LIMIT);
            pml_text_clear(&out);
        }
    free(text);
    pml_table_release(table);
    test_env_close(t);
}

static const char *parquet_of(test_env *t, const pml_field *fields, size_t n, const pml_value *values)
{
    const pml_bridge *b;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray columns[4], batch;
    struct ArrowSchema schema;
    test_file f = {0};
    must_ok(pml_bridge__get(&b, t->env, &err), &err);
    for (size_t i = 0; i < n; i++)
        must_ok(pml_batch__constant(&columns[i], t->env, &fields[i].type, &values[i], 3, &err), &err);
    must_ok(pml_batch__from_columns(&batch, t->env, columns, n, 3, &err), &err);
    must_ok(pml_type__export(&schema, t->env, fields, n, &err), &err);
    must_ok(test_parquet_write(&f, b, &schema, &batch, &test_write_options, &err), &err);
    const char *path = file_of(t, "a.parquet", (const char *)f.data, f.len);
    test_file_free(&f);
    schema.release(&schema);
    return path;
}

static void parquet_that_does_not_fit_is_refused_by_file_and_column(void **state)
{
    (void)state;
    static const pml_field fields[] = {
        {.name = "id", .type = {.kind = PML_TYPE_BIGINT, .nullable = true}},
        {.name = "g", .type = {.kind = PML_TYPE_DOUBLE, .nullable = true}},
        {.name = "g", .type = {.kind = PML_TYPE_DOUBLE, .nullable = true}},
    };
    static const pml_value one = {.kind = PML_VALUE_INT, .i = 1}, null = {.kind = PML_VALUE_NULL},
                           large = {.kind = PML_VALUE_INT, .i = 3000000000};
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_and_text_schema);
    must_say(table, parquet_of(t, fields, 3, (pml_value[]){one, null, null}), PML_E_INVAL,
             "a.parquet has two columns \"g\"");
    must_say(table, parquet_of(t, fields, 2, (pml_value[]){null, null}), PML_E_INVAL,
             "a.parquet, row 1: column \"id\" is NOT NULL, the row has null");
    must_say(table, parquet_of(t, fields, 2, (pml_value[]){large, null}), PML_E_INVAL, "a.parquet: ");
    pml_table_release(table);
    test_env_close(t);
}

static void gzip_files_are_inflated_and_damage_is_found(void **state)
{
    (void)state;
    static const char row[] = "{\"_kind\":\"+I\",\"id\":1,\"f\":null,\"d\":1.5}\n";
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_schema);
    const char *path = test_path(t, "a.jsonl.gz");
    for (int member = 0; member < 2; member++) { /* two members behind each other are one text */
        gzFile f = gzopen(path, member == 0 ? "wb" : "ab");
        assert_non_null(f);
        assert_int_equal(gzwrite(f, row, sizeof row - 1), sizeof row - 1);
        assert_int_equal(gzclose(f), Z_OK);
    }
    char twice[2 * sizeof row];
    (void)snprintf(twice, sizeof twice, "%s%s", row, row);
    must_come_back(table, path, twice, 0);

    size_t len;
    uint8_t *bytes = test_read_file(path, &len);
    for (size_t cut = 0; cut < len; cut++)
        if (cut != len / 2) /* there the second member has not begun */
            must_say(table, file_of(t, "cut.jsonl.gz", (const char *)bytes, cut), PML_E_CORRUPT, "gzip");
    for (size_t i = 0; i < len; i++) {
        pml_text text = {0};
        bytes[i] ^= 0x55;
        (void)read_and_print(&text, table, file_of(t, "bad.jsonl.gz", (const char *)bytes, len), 0, PML_ROWS_JSON,
                             NULL);
        bytes[i] ^= 0x55;
        pml_text_clear(&text);
    }
    free(bytes);
    pml_table_release(table);
    test_env_close(t);
}

static void formats_are_told_by_the_name(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, floats_schema);
    must_say(table, lines_of(t, "a.txt", ""), PML_E_INVAL, "name the format");
    must_say(table, test_path(t, "absent.jsonl"), PML_E_NOT_FOUND, "absent.jsonl");
    must_say(table, test_path(t, "absent.CSV.GZ"), PML_E_NOT_FOUND, "absent.CSV.GZ");
    must_say(table, lines_of(t, "a.parquet", "no"), PML_E_CORRUPT, "a.parquet");
    pml_table_release(table);
    test_env_close(t);
}

static void cells_are_bare_text(void **state)
{
    (void)state;
    static const char *const expected[] = {"1", "a \"b\"", "00ff", "[1,null]", "null"};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = table_of(t, small_schema);
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct ArrowSchema schema;
    pml_rows_printer *printer;
    const char *path = lines_of(t, "a.jsonl", "{\"id\":1,\"s\":\"a \\\"b\\\"\",\"b\":\"00ff\",\"l\":[1,null]}\n");
    must_ok(pml_rows_open(&stream, table, path, NULL, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    stream.release(&stream);
    must_ok(pml_rows_printer_new(&printer, t->env, &schema, PML_ROWS_JSON, &err), &err);
    for (int64_t i = 0; i < 5; i++) {
        pml_text text = {0};
        must_ok(pml_rows_print_cell(&text, printer, &batch, 0, i, &err), &err);
        assert_string_equal(text.ptr, expected[i]);
        pml_text_clear(&text);
    }
    must_fail_with(PML_E_INVAL, pml_rows_print_cell(&(pml_text){0}, printer, &batch, 1, 0, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rows_print_cell(&(pml_text){0}, printer, &batch, 0, 5, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rows_print(&(pml_text){0}, printer, &batch, 0, 2, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rows_print(&(pml_text){0}, printer, &batch, -1, 1, &err), &err);
    pml_rows_printer_free(printer);
    must_fail_with(PML_E_INVAL, pml_rows_printer_new(&printer, t->env, &schema, PML_ROWS_PARQUET, &err), &err);
    schema.release(&schema);
    batch.release(&batch);
    pml_table_release(table);
    test_env_close(t);
}

static void print_kinds(pml_text *text, test_env *t, int32_t format, const int8_t *kinds, int64_t n, int code)
{
    static const pml_field fields[] = {{.id = 0, .name = "id", .type = {.kind = PML_TYPE_INT}},
                                       {.id = PML_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}}};
    static const pml_value seven = {.kind = PML_VALUE_INT, .i = 7};
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray columns[2], batch;
    struct ArrowSchema schema;
    pml_rows_printer *printer;
    pml_builder *b;
    *text = (pml_text){0};
    must_ok(pml_builder__new(&b, t->env, &fields[1].type, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = kinds[i]};
        assert_int_equal(pml_builder__append_value(b, &v), PML_OK);
    }
    must_ok(pml_builder__finish(b, &columns[1], &err), &err);
    pml_builder__free(b);
    must_ok(pml_batch__constant(&columns[0], t->env, &fields[0].type, &seven, n, &err), &err);
    must_ok(pml_batch__from_columns(&batch, t->env, columns, 2, n, &err), &err);
    must_ok(pml_type__export(&schema, t->env, fields, 2, &err), &err);
    must_ok(pml_rows_printer_new(&printer, t->env, &schema, format, &err), &err);
    assert_int_equal(pml_rows_print(text, printer, &batch, 0, n, &err), code);
    assert_true(code == PML_OK || strstr(err.message, "_VALUE_KIND") != NULL);
    pml_rows_printer_free(printer);
    schema.release(&schema);
    batch.release(&batch);
}

static void the_kind_column_is_printed_as_the_kind(void **state)
{
    (void)state;
    static const int8_t kinds[] = {0, 1, 2, 3}, none[] = {0, 4}, below[] = {-1};
    test_env *t = test_env_open(NULL);
    pml_text text;
    print_kinds(&text, t, PML_ROWS_JSON, kinds, 4, PML_OK);
    assert_string_equal(text.ptr, "{\"_kind\":\"+I\",\"id\":7}\n{\"_kind\":\"-U\",\"id\":7}\n"
                                  "{\"_kind\":\"+U\",\"id\":7}\n{\"_kind\":\"-D\",\"id\":7}\n");
    pml_text_clear(&text);
    print_kinds(&text, t, PML_ROWS_JSON | PML_ROWS_NO_KIND, kinds, 1, PML_OK);
    assert_string_equal(text.ptr, "{\"id\":7,\"_VALUE_KIND\":0}\n");
    pml_text_clear(&text);
    print_kinds(&text, t, PML_ROWS_CSV, kinds, 1, PML_OK);
    assert_string_equal(text.ptr, "7,0\n");
    pml_text_clear(&text);
    print_kinds(&text, t, PML_ROWS_JSON, none, 2, PML_E_INVAL);
    print_kinds(&text, t, PML_ROWS_JSON, below, 1, PML_E_INVAL);
    test_env_close(t);
}

/* Damage of any kind is an error or another value, never a crash; the sanitizers watch. */
static void mutated_input_is_read_or_refused(void **state)
{
    (void)state;
    static const char json[] = "{\"_kind\":\"+I\",\"id\":1,\"s\":\"a\\u00e9\\n\",\"b\":\"00ff\",\"l\":[1,null,-0],"
                               "\"d\":\"1.50\"}\n{\"id\":2}\n";
    static const char csv[] = "id,s,b,l,d\n1,\"a \"\"b\"\"\",00ff,\"[1,null]\",1.50\n2,,,,\n";
    static const char alphabet[] = "{}[]:,\"\\-+0e.n\n\r\t \xff\x80";
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, small_schema);
    t->random_state = test_seed();
    for (int i = 0; i < 1500; i++) {
        char text[sizeof json + sizeof csv];
        const char *from = i % 2 == 0 ? json : csv;
        size_t len = strlen(from);
        memcpy(text, from, len);
        for (uint64_t changes = 1 + test_random(t) % 3; changes > 0; changes--)
            text[test_random(t) % len] = alphabet[test_random(t) % (sizeof alphabet - 1)];
        len -= test_random(t) % 4 == 0 ? test_random(t) % len : 0;
        pml_text out = {0};
        pml_error err = PML_ERROR_INIT;
        int rc = read_and_print(&out, table, file_of(t, i % 2 == 0 ? "m.jsonl" : "m.csv", text, len), 0, PML_ROWS_JSON,
                                &err);
        assert_true(rc == PML_OK || rc == PML_E_INVAL || rc == PML_E_UNSUPPORTED);
        pml_text_clear(&out);
    }
    pml_table_release(table);
    test_env_close(t);
}

static void every_failed_allocation(test_env *t, pml_table *table, const char *path)
{
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_text out = {0};
        test_env_fail_at(t, n);
        rc = read_and_print(&out, table, path, 0, PML_ROWS_JSON, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(t));
        test_env_fail_at(t, 0);
        pml_text_clear(&out);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        assert_true(n < 2000);
    }
}

static void rows_survive_every_failed_allocation(const char *name, const char *text)
{
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, wide_schema);
    every_failed_allocation(t, table, lines_of(t, name, text));
    pml_table_release(table);
    test_env_close(t);
}

static void parquet_rows_survive_every_failed_allocation(void **state)
{
    (void)state;
    static const pml_field id = {.name = "id", .type = {.kind = PML_TYPE_INT, .nullable = true}};
    static const pml_value one = {.kind = PML_VALUE_INT, .i = 1};
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, small_schema);
    const char *path = parquet_of(t, &id, 1, &one);
    every_failed_allocation(t, table, path);
    pml_table_release(table);
    test_env_close(t);
}

static void json_rows_survive_every_failed_allocation(void **state)
{
    (void)state;
    rows_survive_every_failed_allocation(
        "a.jsonl",
        "{\"id\":1,\"s\":\"x\",\"b\":\"00\",\"l\":[1],\"d\":\"1\",\"m\":[[\"a\",1],[\"b\",2]]}\n{\"id\":-0}\n");
}

/* Of a table that asks its merge function whether it takes the kinds of the rows. */
static void keyed_rows_survive_every_failed_allocation(void **state)
{
    static const char schema[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"name\":\"k\",\"type\":\"STRING\"},{\"name\":\"v\",\"type\":"
                                 "\"INT\"}],\"primaryKeys\":[\"id\"],\"options\":{\"bucket\":\"1\",\"rowkind.field\":\"k\",\"merge-engine\":"
                                 "\"aggregation\",\"fields.v.aggregate-function\":\"min\"}}";
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_table *table = table_of(t, schema);
    every_failed_allocation(t, table, lines_of(t, "a.jsonl", "{\"id\":1,\"k\":\"+U\"}\n"));
    every_failed_allocation(t, table, lines_of(t, "a.csv", "id,k\n1,+I\n"));
    must_say(table, lines_of(t, "b.jsonl", "\n{\"id\":1,\"k\":\"+U\"}\n\n{\"id\":1,\"k\":\"-D\"}\n"), PML_E_INVAL, "b.jsonl, line 4: ");
    must_say(table, lines_of(t, "b.csv", "id,k\n1,+I\n2,-U\n"), PML_E_INVAL, "b.csv, row 2: ");
    pml_table_release(table);
    test_env_close(t);
}

static void csv_rows_survive_every_failed_allocation(void **state)
{
    (void)state;
    rows_survive_every_failed_allocation("a.csv", "id,s,b,l\n1,x,00,[1]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_nested_types_come_back_as_java_wrote_them),
        cmocka_unit_test(rows_of_scalar_types_come_back_as_java_wrote_them),
        cmocka_unit_test(rows_of_special_floats_come_back_as_java_wrote_them),
        cmocka_unit_test(json_lines_of_any_layout_are_read),
        cmocka_unit_test(json_line_longer_than_the_read_block_is_one_row),
        cmocka_unit_test(json_rows_that_do_not_fit_are_refused_by_line_and_column),
        cmocka_unit_test(csv_takes_the_columns_of_its_header),
        cmocka_unit_test(csv_that_is_not_whole_or_does_not_fit_is_refused_by_line_and_column),
        cmocka_unit_test(csv_quotes_inside_of_plain_fields_are_text),
        cmocka_unit_test(csv_rows_are_read_up_to_the_limit),
        cmocka_unit_test(parquet_that_does_not_fit_is_refused_by_file_and_column),
        cmocka_unit_test(gzip_files_are_inflated_and_damage_is_found),
        cmocka_unit_test(formats_are_told_by_the_name),
        cmocka_unit_test(cells_are_bare_text),
        cmocka_unit_test(the_kind_column_is_printed_as_the_kind),
        cmocka_unit_test(mutated_input_is_read_or_refused),
        cmocka_unit_test(json_rows_survive_every_failed_allocation),
        cmocka_unit_test(parquet_rows_survive_every_failed_allocation),
        cmocka_unit_test(csv_rows_survive_every_failed_allocation),
        cmocka_unit_test(keyed_rows_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
