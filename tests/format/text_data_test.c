/* SPDX-License-Identifier: Apache-2.0 */
/* CSV, JSON and text data files. What lines mean is Java 1.4.2's answer to them (tests/interop compares random tables). */
#include "support/faulty_fs.h"
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "columnar/row_text.h"
#include "format/file_format.h"
#include "format/json_tree.h"
#include "storage/local_fs.h"

typedef struct kit {
    faulty_fs fs;
    test_env *t;
    pml_arena arena;
    pml_type want;
    pml_format_read q;
    pml_text_options o;
    const char *format, *path;
    pml_buf text;
    int64_t rows;
} kit;

static kit *kit_open(const char *format, const char *columns)
{
    kit *k = calloc(1, sizeof *k);
    pml_error err = PML_ERROR_INIT;
    assert_non_null(k);
    faulty_fs_init(&k->fs, &pml_local_file_system);
    k->t = test_env_open(&k->fs.fs);
    pml_arena__init(&k->arena, k->t->env);
    pml_buf__init(&k->text, k->t->env, (size_t)1 << 30);
    k->format = format;
    k->path = "data-1.csv";
    k->o = (pml_text_options){.line_delimiter = "\n", .field_delimiter = ",", .quote = "\"", .escape = "\\", .null_literal = ""};
    k->q = (pml_format_read){.batch_rows = 100, .check_values = true, .text = &k->o};
    char *row = pml_env__format(k->t->env, "ROW<%s>", columns);
    assert_non_null(row);
    must_ok(pml_type__parse(&k->want, &k->arena, row, strlen(row), NULL, &err), &err);
    pml_env__free(k->t->env, row);
    const char **names = pml_arena__array(&k->arena, k->want.n_children, sizeof *names);
    for (size_t i = 0; i < k->want.n_children; i++)
        names[i] = k->want.children[i].name;
    k->q.fields = k->want.children;
    k->q.n_fields = k->want.n_children;
    k->q.file_columns = names;
    k->q.n_file_columns = k->want.n_children;
    return k;
}

static void kit_close(kit *k)
{
    pml_buf__clear(&k->text);
    pml_arena__clear(&k->arena);
    test_env_close(k->t);
    faulty_fs_destroy(&k->fs);
    free(k);
}

static int drain(kit *k, struct ArrowArrayStream *stream, pml_error *err)
{
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0) {
            assert_true(pml_stream__last_error(stream, err));
            return err->code;
        }
        if (batch.release == NULL)
            return PML_OK;
        assert_true(batch.length > 0 && batch.length <= k->q.batch_rows);
        for (int64_t i = 0; i < batch.length; i++) {
            (void)pml_row_text__append(&k->text, &k->want, &batch, i);
            (void)pml_buf__append_str(&k->text, "\n");
        }
        k->rows += batch.length;
        batch.release(&batch);
    }
}

static int kit_read(kit *k, pml_error *err)
{
    struct ArrowArrayStream stream;
    k->rows = 0;
    pml_buf__reset(&k->text);
    int rc = pml_format__open(&stream, k->t->env, k->format, k->path, &k->q, err);
    if (rc != PML_OK)
        return rc;
    rc = drain(k, &stream, err);
    stream.release(&stream);
    return rc;
}

static void kit_put(kit *k, const void *data, size_t len)
{
    k->q.content = (pml_bytes){data, len};
}

static void kit_must_read(kit *k, const char *data, size_t len, const char *rows)
{
    pml_error err = PML_ERROR_INIT;
    kit_put(k, data, len);
    must_ok(kit_read(k, &err), &err);
    must_ok(pml_buf__append(&k->text, "", 1), NULL);
    assert_string_equal((const char *)k->text.data, rows);
}

static void kit_must_fail(kit *k, const char *data, size_t len, int code, const char *words)
{
    pml_error err = PML_ERROR_INIT;
    kit_put(k, data, len);
    must_fail_with(code, kit_read(k, &err), &err);
    if (strstr(err.message, words) == NULL || strstr(err.message, k->path) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

#define READS(k, data, rows) kit_must_read(k, data, sizeof(data) - 1, rows)
#define FAILS(k, data, code, words) kit_must_fail(k, data, sizeof(data) - 1, code, words)

/* ---- CSV ---- */

static void csv_columns_are_found_by_their_place(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a INT, b STRING, c DOUBLE");
    READS(k, "1,x,1.5\n-2,,\n", "{\"a\":1,\"b\":\"x\",\"c\":1.5}\n{\"a\":-2,\"b\":null,\"c\":null}\n");
    READS(k, "1\n1,x,2,more\n", "{\"a\":1,\"b\":null,\"c\":null}\n{\"a\":1,\"b\":\"x\",\"c\":2}\n");
    READS(k, "", "");
    k->q.fields = &k->want.children[1];
    k->q.n_fields = 1;
    k->want.children++;
    k->want.n_children = 1;
    READS(k, "no number,x,neither\n", "{\"b\":\"x\"}\n");
    k->q.n_fields = k->want.n_children = 0;
    READS(k, "1,2,3\n\n4", "{}\n{}\n{}\n");
    kit_close(k);
}

static void csv_values_are_those_of_java(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "t TINYINT, b BOOLEAN, d DECIMAL(5, 2), y BYTES, h DATE, m TIMESTAMP(3), f FLOAT, i INT");
    READS(k, "127,TRUE,1.005,AP8,2024-01-02,2024-01-02 03:04:05.678,NaN,+7\n",
          "{\"t\":127,\"b\":true,\"d\":\"1.01\",\"y\":\"00ff\",\"h\":\"2024-01-02\",\"m\":\"2024-01-02T03:04:05.678\",\"f\":\"NaN\",\"i\":7}\n");
    READS(k, "-128,yes,99999,AA==,19724,0, 1d ,\xEF\xBC\x91\n",
          "{\"t\":-128,\"b\":false,\"d\":null,\"y\":\"00\",\"h\":\"2024-01-02\",\"m\":\"1970-01-01T00:00:00.000\",\"f\":1,\"i\":1}\n");
    kit_close(k);
}

static void csv_quotes_and_escapes_have_the_habits_of_java(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a STRING, b STRING");
    READS(k, "\"x,y\",\"a\\\"b\"\n", "{\"a\":\"x,y\",\"b\":\"a\\\"b\"}\n");
    READS(k, "\"\"\"q\"\"\",z\n", "{\"a\":\"\\\"q\\\"\",\"b\":\"z\"}\n");
    READS(k, "a,bc\"d\"ef\n", "{\"a\":\"a\",\"b\":\"bc\\\"d\\\"ef\"}\n");
    READS(k, "abc,  \"d\"\n", "{\"a\":\"abc\",\"b\":\"d\"}\n");
    READS(k, "a,\"never ends\n", "{\"a\":\"a\",\"b\":null}\n");
    READS(k, "back\\slash,\"a\\\\b\"\n", "{\"a\":\"backslash\",\"b\":\"a\\\\b\"}\n");
    k->o.quote = "'";
    k->o.field_delimiter = ";";
    k->o.null_literal = "NULL";
    READS(k, "'x;y';NULL\n;\"\n", "{\"a\":\"x;y\",\"b\":null}\n{\"a\":\"\",\"b\":\"\\\"\"}\n");
    kit_close(k);
}

static void csv_value_that_is_none_ends_its_row(void **state)
{
    (void)state;
    static const char lines[] = "1,2,3\nx,2,3\n1,x,3\n \t\n";
    kit *k = kit_open("csv", "a INT, b INT, c INT");
    READS(k, lines,
          "{\"a\":1,\"b\":2,\"c\":3}\n{\"a\":null,\"b\":null,\"c\":null}\n{\"a\":1,\"b\":null,\"c\":null}\n{\"a\":null,\"b\":null,\"c\":null}\n");
    k->o.mode = PML_CSV_DROP_MALFORMED;
    READS(k, lines, "{\"a\":1,\"b\":2,\"c\":3}\n{\"a\":null,\"b\":null,\"c\":null}\n");
    k->o.mode = PML_CSV_FAIL_FAST;
    FAILS(k, lines, PML_E_CORRUPT, "line 2");
    kit_close(k);
}

static void csv_columns_are_read_in_the_order_of_the_file(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "b INT, a INT");
    static const char *const names[] = {"a", "b"};
    k->q.file_columns = names;
    READS(k, "x,2\n1,x\n", "{\"b\":null,\"a\":null}\n{\"b\":null,\"a\":1}\n");
    k->q.n_file_columns = 1;
    FAILS(k, "1\n", PML_E_UNSUPPORTED, "needs csv-columns");
    kit_close(k);
}

static void csv_options_that_contradict_are_refused(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a INT");
    pml_error err = PML_ERROR_INIT;
    kit_put(k, "1\n", 2);
    k->o.quote = ",";
    must_fail_with(PML_E_INVAL, kit_read(k, &err), &err);
    k->o.quote = "";
    must_fail_with(PML_E_INVAL, kit_read(k, &err), &err);
    k->o.quote = "\xC3\xA9";
    must_fail_with(PML_E_UNSUPPORTED, kit_read(k, &err), &err);
    kit_close(k);
    k = kit_open("csv", "a ARRAY<INT>");
    FAILS(k, "1\n", PML_E_UNSUPPORTED, "needs text-type:ARRAY");
    kit_close(k);
}

/* ---- lines ---- */

static void lines_end_as_in_java(void **state)
{
    (void)state;
    kit *k = kit_open("text", "s STRING");
    READS(k, "\xEF\xBB\xBF"
             "a\rb\r\nc\n\nd",
          "{\"s\":\"a\"}\n{\"s\":\"b\"}\n{\"s\":\"c\"}\n{\"s\":\"\"}\n{\"s\":\"d\"}\n");
    READS(k, "a\r", "{\"s\":\"a\"}\n");
    k->o.line_delimiter = "|~";
    READS(k, "a|b||~\n|~|", "{\"s\":\"a|b|\"}\n{\"s\":\"\\u000a\"}\n{\"s\":\"|\"}\n");
    k->o.line_delimiter = "aab";
    READS(k, "1aab2aaab3", "{\"s\":\"1\"}\n{\"s\":\"2aaab3\"}\n"); /* an end that begins inside of half of one is passed over */
    kit_close(k);
    k = kit_open("text", "s STRING, n INT");
    FAILS(k, "a", PML_E_UNSUPPORTED, "needs text-columns");
    kit_close(k);
}

/* What is no UTF-8 is what Java's String makes of it. */
static void bytes_that_are_no_text_are_replaced(void **state)
{
    (void)state;
    kit *k = kit_open("text", "s STRING");
    READS(k, "\xFFx\ny\xC3\n\xC3\xA9", "{\"s\":\"\xEF\xBF\xBDx\"}\n{\"s\":\"y\xEF\xBF\xBD\"}\n{\"s\":\"\xC3\xA9\"}\n");
    kit_close(k);
    k = kit_open("csv", "s STRING, n INT");
    READS(k, "a\xE2\x82,1\n", "{\"s\":\"a\xEF\xBF\xBD\",\"n\":1}\n");
    kit_close(k);
    k = kit_open("json", "s STRING");
    READS(k, "{\"s\":\"\xED\xA0\x80.\"}\n", "{\"s\":\"\xEF\xBF\xBD.\"}\n");
    kit_close(k);
}

static void csv_header_is_no_row(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a INT");
    k->o.header = true;
    READS(k, "a\n1\n", "{\"a\":1}\n");
    READS(k, "", "");
    kit_close(k);
}

/* ---- JSON ---- */

static void json_members_are_found_by_name_and_read_as_texts(void **state)
{
    (void)state;
    kit *k = kit_open("json", "a INT, b STRING, c DECIMAL(12, 4), d BOOLEAN");
    READS(k, "{\"b\":\"x\\u00e9\\n\",\"a\":\"1\",\"zz\":[{}]}\n{\"a\":2,\"b\":1.50,\"c\":1e2,\"d\":true} and what follows\nnull\n",
          "{\"a\":1,\"b\":\"x\xC3\xA9\\u000a\",\"c\":null,\"d\":null}\n{\"a\":2,\"b\":\"1.5\",\"c\":\"100.0000\",\"d\":true}\n");
    READS(k, "{\"a\":1,\"a\":2,\"b\":{\"x\":1},\"d\":\"TRUE\"}\n", "{\"a\":2,\"b\":\"\",\"c\":null,\"d\":true}\n");
    READS(k, "{\"b\":\"\\ud83d\\ude00\\ud800\",\"a\":-0}\n", "{\"a\":0,\"b\":\"\xF0\x9F\x98\x80?\",\"c\":null,\"d\":null}\n");
    kit_close(k);
}

static void json_nests(void **state)
{
    (void)state;
    kit *k = kit_open("json", "a ARRAY<INT>, m MAP<INT, STRING>, r ROW<x DATE, y ARRAY<BYTES>>, k MAP<BYTES, INT>");
    READS(k,
          "{\"a\":[\"1\",null,3],\"m\":{\"1\":\"a\",\"01\":\"b\",\"2\":null},\"r\":{\"y\":[\"AA==\"],\"x\":\"2024-01-02\"},\"k\":{\"ab\":\"1\"}}\n"
          "{\"a\":[],\"m\":{},\"r\":{}}\n",
          "{\"a\":[1,null,3],\"m\":[[1,\"b\"],[2,null]],\"r\":{\"x\":\"2024-01-02\",\"y\":[\"00\"]},\"k\":[[\"6162\",1]]}\n"
          "{\"a\":[],\"m\":[],\"r\":{\"x\":null,\"y\":null},\"k\":null}\n");
    kit_close(k);
    k = kit_open("json", "s MULTISET<INT>");
    FAILS(k, "{}", PML_E_UNSUPPORTED, "needs text-type:MULTISET");
    kit_close(k);
}

static void json_mistakes_are_errors_or_null(void **state)
{
    (void)state;
    static const char *const lines[] = {"{\"a\":\"x\"}", "{\"a\":[1]}", "{\"m\":[]}", "{\"m\":{\"x\":1}}", "{\"m\":{\"1\":{}}}", "{\"a\":01}",
                                        "{\"a\":1,}", "[]",           "\"t\"",     "{\"a\":1",           "",                  "{'a':1}",
                                        "{\"a\":NaN}", "{\"s\":\"a\tb\"}", "{\"s\":\"\\x\"}", "{\"a\":1.}", "nullx", "{\"a\":300}"};
    static const int kept[] = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        kit *k = kit_open("json", "a TINYINT, m MAP<INT, INT>, s STRING");
        char file[200];
        size_t len = (size_t)snprintf(file, sizeof file, "{\"a\":7}\n%s\n{\"a\":8}\n", lines[i]);
        kit_must_fail(k, file, len, PML_E_CORRUPT, "line 2");
        k->o.ignore_errors = true;
        pml_error err = PML_ERROR_INIT;
        must_ok(kit_read(k, &err), &err);
        assert_int_equal(k->rows, 2 + kept[i]);
        kit_close(k);
    }
}

static void json_that_nests_without_end_hits_a_limit(void **state)
{
    (void)state;
    kit *k = kit_open("json", "a INT");
    char *deep = malloc(100000);
    assert_non_null(deep);
    memset(deep, '[', 100000);
    memcpy(deep, "{\"b\":", 5);
    kit_must_fail(k, deep, 100000, PML_E_LIMIT, "deeper");
    free(deep);
    kit_close(k);
}

static void json_object_of_many_members_keeps_the_last_of_a_name(void **state)
{
    (void)state;
    kit *k = kit_open("json", "m MAP<STRING, INT>, n999 INT");
    pml_buf line;
    pml_buf__init(&line, k->t->env, 1 << 20);
    (void)pml_buf__append_str(&line, "{");
    for (int i = 0; i < 3000; i++)
        (void)pml_buf__append_format(&line, "\"n%d\":%d,", i % 1000, i);
    (void)pml_buf__append_str(&line, "\"m\":{\"a\":1,\"a\":2}}\n");
    kit_must_read(k, (const char *)line.data, line.len, "{\"m\":[[\"a\",2]],\"n999\":2999}\n");
    pml_buf__clear(&line);
    kit_close(k);
}

/* "name":value, so often */
static void put_many(pml_buf *line, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)pml_buf__append_str(line, text);
}

static void json_line_of_very_many_values_hits_a_limit(void **state)
{
    (void)state;
    kit *k = kit_open("json", "a INT");
    pml_buf line;
    pml_buf__init(&line, k->t->env, 64 << 20);
    for (int over = 0; over < 2; over++) { /* the object, a, and the array with its elements */
        pml_buf__reset(&line);
        (void)pml_buf__append_str(&line, "{\"a\":7}\n{\"a\":8,\"zz\":[");
        put_many(&line, "0,", (size_t)PML_JSON_LINE_VALUES_MAX - 4 + (size_t)over);
        (void)pml_buf__append_str(&line, "0]}\n");
        if (over == 0)
            kit_must_read(k, (const char *)line.data, line.len, "{\"a\":7}\n{\"a\":8}\n");
        else
            kit_must_fail(k, (const char *)line.data, line.len, PML_E_LIMIT, "line 2 of data-1.csv cannot be read: it has more than 4194304 values");
    }
    pml_buf__clear(&line);
    kit_close(k);
}

/* ROWs that are not there cost a null in each column all the same. */
static void json_nulls_of_wide_rows_hit_the_limit(void **state)
{
    (void)state;
    enum { MEMBERS = 1023, ROWS = PML_JSON_LINE_VALUES_MAX / (2 * (MEMBERS + 1)) };
    static const char *const elements[] = {"null,", "{},", "{\"r\":{}},"};
    size_t cap = 64 + MEMBERS * 32, at = 0;
    char *row = malloc(cap);
    assert_non_null(row);
    at += (size_t)snprintf(row + at, cap - at, "a ARRAY<ROW<r ROW<");
    for (int i = 0; i < MEMBERS; i++)
        at += (size_t)snprintf(row + at, cap - at, "%sn%d INT", i == 0 ? "" : ", ", i);
    (void)snprintf(row + at, cap - at, ">, s ROW<x ROW<y INT>>>>");
    kit *k = kit_open("json", row);
    free(row);
    pml_buf line;
    pml_buf__init(&line, k->t->env, 1 << 20);
    k->o.ignore_errors = true; /* does not lift it */
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        pml_buf__reset(&line);
        (void)pml_buf__append_str(&line, "{\"a\":[");
        put_many(&line, elements[i], (size_t)2 * ROWS);
        (void)pml_buf__append_str(&line, "null]}\n");
        kit_must_fail(k, (const char *)line.data, line.len, PML_E_LIMIT, "line 1 of data-1.csv cannot be read: its values and nulls");
    }
    pml_buf__clear(&line);
    kit_close(k);
}

/* ---- files ---- */

static void packed_files_are_unpacked_by_their_names(void **state)
{
    (void)state;
    /* "1\n" twice in streams, "12\n34\n" in a block of two pieces */
    static const uint8_t lz4[] = {0, 0, 0, 6, 0, 0, 0, 4, 0x30, '1', '2', '\n', 0, 0, 0, 4, 0x30, '3', '4', '\n'};
    static const uint8_t snappy[] = {0, 0, 0, 6, 0, 0, 0, 5, 3, 8, '1', '2', '\n', 0, 0, 0, 5, 3, 8, '3', '4', '\n'};
    kit *k = kit_open("csv", "a INT");
    k->path = "data-1.csv.lz4";
    kit_must_read(k, (const char *)lz4, sizeof lz4, "{\"a\":12}\n{\"a\":34}\n");
    kit_must_fail(k, (const char *)lz4, sizeof lz4 - 1, PML_E_CORRUPT, "");
    k->path = "data-1.csv.snappy";
    kit_must_read(k, (const char *)snappy, sizeof snappy, "{\"a\":12}\n{\"a\":34}\n");
    kit_must_fail(k, (const char *)snappy, sizeof snappy - 1, PML_E_CORRUPT, "");
    uint8_t packed[256];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        z_stream z = {0};
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)(uintptr_t) "1\n";
        z.avail_in = 2;
        z.next_out = packed + n;
        z.avail_out = (uInt)(sizeof packed - n);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        n = sizeof packed - z.avail_out;
        (void)deflateEnd(&z);
    }
    k->path = "data-1.csv.gz";
    kit_must_read(k, (const char *)packed, n, "{\"a\":1}\n{\"a\":1}\n");
    kit_must_fail(k, (const char *)packed, n - 1, PML_E_CORRUPT, "decompressed");
    static const char *const names[] = {"data-1.csv.bz2", "data-1.csv.deflate", "data-1.csv.zst"};
    for (size_t i = 0; i < 3; i++) {
        k->path = names[i];
        FAILS(k, "not packed at all", PML_E_CORRUPT, "decompressed");
    }
    kit_close(k);
}

static void rows_are_chosen_by_their_lines(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a INT");
    pml_error err = PML_ERROR_INIT;
    pml_row_set rows = {0};
    k->o.header = true;
    must_ok(pml_row_set__init(&rows, k->t->env, 3, true, &err), &err);
    pml_row_set__invert(&rows);
    pml_row_set__add(&rows, 1);
    k->q.rows = &rows;
    READS(k, "a\n5\n6\n7\n", "{\"a\":6}\n");
    FAILS(k, "a\n5\n6\n7\n8\n", PML_E_CORRUPT, "more than the 3 rows");
    k->q.rows = NULL;
    k->q.parts = 2;
    READS(k, "a\n5\n6\n", "{\"a\":5}\n{\"a\":6}\n");
    k->q.part = 1;
    READS(k, "a\n5\n6\n", "");
    pml_row_set__clear(&rows);
    kit_close(k);
}

static void null_where_there_must_be_none_is_corrupt(void **state)
{
    (void)state;
    kit *k = kit_open("json", "a INT NOT NULL");
    FAILS(k, "{}\n", PML_E_CORRUPT, "NOT NULL");
    kit_close(k);
}

static void long_lines_and_many_rows_come_in_batches(void **state)
{
    (void)state;
    kit *k = kit_open("csv", "a INT, s STRING");
    pml_buf file;
    pml_error err = PML_ERROR_INIT;
    pml_buf__init(&file, k->t->env, 64 << 20);
    for (int i = 0; i < 5000; i++)
        (void)pml_buf__append_format(&file, "%d,%0*d%s", i, i % 700 + 1, i, i % 3 == 0 ? "\r\n" : i % 3 == 1 ? "\r" : "\n");
    k->q.batch_rows = 64;
    kit_put(k, file.data, file.len);
    must_ok(kit_read(k, &err), &err);
    assert_int_equal(k->rows, 5000);
    pml_buf__clear(&file);
    kit_close(k);
}

static const char *const formats[] = {"csv", "json", "text"};
static const char *const contents[] = {"1,x\n2,y\n", "{\"a\":1,\"b\":\"x\\n\",\"m\":{\"1\":[2.5]}}\n{\"a\":2}\n", "x\ny\n"};
static const char *const columns[] = {"a INT, b STRING", "a INT, b STRING, m MAP<INT, ARRAY<STRING>>", "b STRING"};

static void reading_survives_failing_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kit *k = kit_open(formats[i], columns[i]);
        pml_error err = PML_ERROR_INIT;
        bool reached = true;
        kit_put(k, contents[i], strlen(contents[i]));
        for (long long n = 1; reached; n++) {
            pml_buf__clear(&k->text);
            test_env_fail_at(k->t, n);
            int rc = kit_read(k, &err);
            reached = test_env_fail_reached(k->t);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        test_env_fail_at(k->t, 0);
        assert_int_equal(k->rows, 2);
        kit_close(k);
    }
}

static void reading_survives_failing_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kit *k = kit_open(formats[i], columns[i]);
        pml_error err = PML_ERROR_INIT;
        k->path = test_path(k->t, "data-1");
        FILE *f = fopen(k->path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(contents[i], 1, strlen(contents[i]), f), strlen(contents[i]));
        assert_int_equal(fclose(f), 0);
        int rc = PML_E_IO;
        for (int n = 1; rc != PML_OK; n++) {
            faulty_fs_reset(&k->fs);
            faulty_fs_fail_at(&k->fs, n, FAULT_BEFORE, PML_E_IO, 0);
            rc = kit_read(k, &err);
            assert_true(rc == PML_OK || rc == PML_E_IO);
        }
        assert_int_equal(k->rows, 2);
        kit_close(k);
    }
}

/* Looking for ends and for blanks must not begin anew where they were looked for already: these would take minutes. */
static void long_files_of_short_ends_take_no_longer(void **state)
{
    (void)state;
    enum { LINES = 4 * 1024 * 1024, BLANKS = 1024 * 1024, QUOTES = 256 * 1024, SECONDS = 20 };
    kit *k = kit_open("text", "s STRING");
    pml_error err = PML_ERROR_INIT;
    uint8_t *data = malloc(2 * (size_t)LINES);
    assert_non_null(data);
    k->q.batch_rows = 65536;
    k->q.fields = NULL;
    k->q.n_fields = k->want.n_children = 0;
    for (size_t i = 0; i < LINES; i++)
        memcpy(data + 2 * i, "a\r", 2);
    clock_t begin = clock();
    kit_put(k, data, 2 * (size_t)LINES);
    must_ok(kit_read(k, &err), &err);
    assert_int_equal(k->rows, LINES);
    kit_close(k);
    k = kit_open("csv", "s STRING");
    memset(data, ' ', BLANKS);
    memcpy(data, "\v\v", 2);
    for (size_t i = BLANKS; i < BLANKS + 3 * (size_t)QUOTES; i += 3)
        memcpy(data + i, "a\"b", 3);
    kit_put(k, data, BLANKS + 3 * (size_t)QUOTES);
    must_ok(kit_read(k, &err), &err);
    assert_int_equal(k->rows, 1);
    kit_close(k);
    free(data);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_columns_are_found_by_their_place),
        cmocka_unit_test(csv_values_are_those_of_java),
        cmocka_unit_test(csv_quotes_and_escapes_have_the_habits_of_java),
        cmocka_unit_test(csv_value_that_is_none_ends_its_row),
        cmocka_unit_test(csv_columns_are_read_in_the_order_of_the_file),
        cmocka_unit_test(csv_options_that_contradict_are_refused),
        cmocka_unit_test(lines_end_as_in_java),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
                                       cmocka_unit_test(csv_header_is_no_row),
        cmocka_unit_test(json_members_are_found_by_name_and_read_as_texts),
        cmocka_unit_test(json_nests),
        cmocka_unit_test(json_mistakes_are_errors_or_null),
        cmocka_unit_test(json_that_nests_without_end_hits_a_limit),
        cmocka_unit_test(json_object_of_many_members_keeps_the_last_of_a_name),
        cmocka_unit_test(json_line_of_very_many_values_hits_a_limit),
        cmocka_unit_test(json_nulls_of_wide_rows_hit_the_limit),
        cmocka_unit_test(packed_files_are_unpacked_by_their_names),
        cmocka_unit_test(rows_are_chosen_by_their_lines),
        cmocka_unit_test(null_where_there_must_be_none_is_corrupt),
        cmocka_unit_test(long_lines_and_many_rows_come_in_batches),
        cmocka_unit_test(reading_survives_failing_memory),
        cmocka_unit_test(reading_survives_failing_files),
        cmocka_unit_test(long_files_of_short_ends_take_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
