/* SPDX-License-Identifier: Apache-2.0 */
/* Avro data files into columns: types, names, parts, limits, damage. Tables that Java wrote are read in tests/tables. */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/batch.h"
#include "columnar/row_text.h"
#include "format/avro.h"
#include "format/file_format.h"
#include "storage/local_fs.h"
#include "support/faulty_fs.h"

#define PAIMON         "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":["
#define RECORD(fields) PAIMON fields "]}"
#define OTHER(fields)  "{\"type\":\"record\",\"name\":\"other\",\"fields\":[" fields "]}"
#define F(name, type)  "{\"name\":\"" name "\",\"type\":" type "}"
#define INT            "\"int\""
#define NULLABLE(type) "[\"null\"," type "]"
#define LOGICAL(type, logical) "{\"type\":\"" type "\",\"logicalType\":\"" logical "\"}"
#define DECIMAL(p, s)  "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":" p ",\"scale\":" s "}"
#define LIST(items)    "{\"type\":\"array\",\"items\":" items "}"
#define MAP(values)    "{\"type\":\"map\",\"values\":" values "}"
#define NESTED(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"

/* One test: a file, and the columns that are wanted of it. */
typedef struct kit {
    faulty_fs fs;
    test_env *t;
    pml_arena arena;
    pml_type want;
    pml_format_read q;
    const char *path;
    pml_buf text;      /* rows of the last read, a line each */
    int batches;
    int64_t rows;
} kit;

static void kit_open(kit *k)
{
    memset(k, 0, sizeof *k);
    faulty_fs_init(&k->fs, &pml_local_file_system);
    k->t = test_env_open(&k->fs.fs);
    pml_arena__init(&k->arena, k->t->env);
    pml_buf__init(&k->text, k->t->env, (size_t)1 << 30);
    k->path = test_path(k->t, "data-1.avro");
    k->q = (pml_format_read){.batch_rows = 100, .check_values = true, .own_schema = true};
}

static void kit_close(kit *k)
{
    pml_buf__clear(&k->text);
    pml_arena__clear(&k->arena);
    test_env_close(k->t);
    faulty_fs_destroy(&k->fs);
}

static void kit_want(kit *k, const char *columns)
{
    pml_error err = PML_ERROR_INIT;
    char *row = malloc(strlen(columns) + 8);
    (void)sprintf(row, "ROW<%s>", columns);
    must_ok(pml_type__parse(&k->want, &k->arena, row, strlen(row), NULL, &err), &err);
    free(row);
    k->q.fields = k->want.children;
    k->q.n_fields = k->want.n_children;
}

static void kit_put(kit *k, const void *data, size_t len)
{
    FILE *f = fopen(k->path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Records that are all the same bytes. */
static void kit_file(kit *k, const char *codec, const char *schema, const void *record, size_t len, int repeat)
{
    pml_error err = PML_ERROR_INIT;
    pml_avro_writer *w;
    uint8_t *data;
    size_t n;
    must_ok(pml_avro_writer__new(&w, k->t->env, schema, codec, 1, &err), &err);
    for (int i = 0; i < repeat; i++) {
        must_ok(pml_buf__append(pml_avro_writer__record(w), record, len), NULL);
        must_ok(pml_avro_writer__end_record(w, &err), &err);
    }
    must_ok(pml_avro_writer__finish(w, &data, &n, &err), &err);
    pml_avro_writer__free(w);
    kit_put(k, data, n);
    pml_env__free(k->t->env, data);
}

#define FILE_OF(k, schema, record) kit_file(k, "null", schema, record, sizeof(record) - 1, 1)

static int kit_drain(kit *k, struct ArrowArrayStream *stream, pml_error *err)
{
    int rc = PML_OK;
    while (rc == PML_OK) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0) {
            assert_true(pml_stream__last_error(stream, err));
            return err->code;
        }
        if (batch.release == NULL)
            return PML_OK;
        assert_true(batch.length > 0 && batch.length <= k->q.batch_rows);
        rc = pml_batch__check(&batch, k->q.fields, k->q.n_fields, PML_CHECK_BASIC, err);
        for (int64_t i = 0; rc == PML_OK && i < batch.length; i++) {
            (void)pml_row_text__append(&k->text, &k->want, &batch, i);
            (void)pml_buf__append_str(&k->text, "\n");
        }
        k->rows += batch.length;
        k->batches++;
        batch.release(&batch);
    }
    return rc;
}

static int kit_read(kit *k, pml_error *err)
{
    struct ArrowArrayStream stream;
    k->rows = k->batches = 0;
    pml_buf__reset(&k->text);
    int rc = pml_format__open(&stream, k->t->env, "avro", k->path, &k->q, err);
    if (rc != PML_OK)
        return rc;
    rc = kit_drain(k, &stream, err);
    stream.release(&stream);
    return rc;
}

static void kit_must_read(kit *k, const char *lines)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(kit_read(k, &err), &err);
    must_ok(pml_buf__append(&k->text, "", 1), NULL);
    assert_string_equal((const char *)k->text.data, lines);
}

/* The error names the file, and has the words. */
static void kit_must_fail(kit *k, int code, const char *words)
{
    pml_error err = PML_ERROR_INIT;
    must_fail_with(code, kit_read(k, &err), &err);
    if (strstr(err.message, words) == NULL || strstr(err.message, "data-1.avro") == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    assert_int_equal(err.place, PML_PLACE_DATA_FILE);
}

/* A file of one record gives the line, or fails. */
#define READS(columns, schema, record, line) \
    do {                                     \
        kit k_;                              \
        kit_open(&k_);                       \
        kit_want(&k_, columns);              \
        FILE_OF(&k_, schema, record);        \
        kit_must_read(&k_, line "\n");       \
        kit_close(&k_);                      \
    } while (0)

#define FAILS(code, columns, schema, record, words) \
    do {                                            \
        kit k_;                                     \
        kit_open(&k_);                              \
        kit_want(&k_, columns);                     \
        FILE_OF(&k_, schema, record);               \
        kit_must_fail(&k_, code, words);            \
        kit_close(&k_);                             \
    } while (0)

/* ---- types ---- */

static void avro_data_gives_every_atomic_type(void **state)
{
    (void)state;
    READS("a BOOLEAN, b BOOLEAN", RECORD(F("a", "\"boolean\"") "," F("b", "\"boolean\"")), "\x01\x00", "{\"a\":true,\"b\":false}");
    READS("a TINYINT, b SMALLINT, c INT, d BIGINT",
          RECORD(F("a", INT) "," F("b", INT) "," F("c", INT) "," F("d", "\"long\"")),
          "\xff\x01\xfe\xff\x03\xff\xff\xff\xff\x0f\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          "{\"a\":-128,\"b\":32767,\"c\":-2147483648,\"d\":9223372036854775807}");
    READS("a FLOAT, b DOUBLE", RECORD(F("a", "\"float\"") "," F("b", "\"double\"")),
          "\x00\x00\xc0\x3f\x00\x00\x00\x00\x00\x00\x04\xc0", "{\"a\":1.5,\"b\":-2.5}");
    READS("a CHAR(2), b VARCHAR(9), c STRING, d BINARY(2), e BYTES",
          RECORD(F("a", "\"string\"") "," F("b", "\"string\"") "," F("c", "\"string\"") "," F("d", "\"bytes\"") "," F("e", "\"bytes\"")),
          "\x04"
          "ab\x00\x2a"
          "twenty-one characters\x04\x01\x02\x00",
          "{\"a\":\"ab\",\"b\":\"\",\"c\":\"twenty-one characters\",\"d\":\"0102\",\"e\":\"\"}");
    READS("a DATE, b TIME(3), c TIME(0)",
          RECORD(F("a", LOGICAL("int", "date")) "," F("b", LOGICAL("int", "time-millis")) "," F("c", LOGICAL("int", "time-millis"))),
          "\x02\x02\xd0\x0f", "{\"a\":\"1970-01-02\",\"b\":\"00:00:00.001\",\"c\":\"00:00:01.000\"}");
    READS("a DECIMAL(5, 2), b DECIMAL(38, 0), c DECIMAL(5, 2)",
          RECORD(F("a", DECIMAL("5", "2")) "," F("b", DECIMAL("38", "0")) "," F("c", DECIMAL("5", "2"))),
          "\x02\xff\x22\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x80",
          "{\"a\":\"-0.01\",\"b\":\"1329227995784915872903807060280344576\",\"c\":\"1.28\"}");
}

static void avro_data_turns_timestamps_into_the_unit_of_the_column(void **state)
{
    (void)state;
#define TIMES                                                                                                                         \
    RECORD(F("a", LOGICAL("long", "timestamp-millis")) "," F("b", LOGICAL("long", "timestamp-micros")) "," F(                        \
        "c", LOGICAL("long", "local-timestamp-millis")) "," F("d", LOGICAL("long", "local-timestamp-micros")))
    READS("a TIMESTAMP(3), b TIMESTAMP(6), c TIMESTAMP_LTZ(0), d TIMESTAMP_LTZ(6)", TIMES, "\x02\x02\x01\x01",
          "{\"a\":\"1970-01-01T00:00:00.001\",\"b\":\"1970-01-01T00:00:00.000001\",\"c\":\"1969-12-31T23:59:59Z\",\"d\":\"1969-12-31T23:"
          "59:59.999999Z\"}");
    /* either name for either type, and the other unit: whole digits down, as many digits up */
    READS("a TIMESTAMP_LTZ(6), b TIMESTAMP_LTZ(3), c TIMESTAMP(9), d TIMESTAMP(3)", TIMES, "\x02\x01\x01\xd0\x0f",
          "{\"a\":\"1970-01-01T00:00:00.001000Z\",\"b\":\"1969-12-31T23:59:59.999Z\",\"c\":\"1969-12-31T23:59:59.999000000\",\"d\":\"1970-"
          "01-01T00:00:00.001\"}");
    FAILS(PML_E_CORRUPT, "a TIMESTAMP(6)", RECORD(F("a", LOGICAL("long", "timestamp-millis"))),
          "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field a");
    FAILS(PML_E_CORRUPT, "a TIMESTAMP(3)", RECORD(F("a", "\"long\"")), "\x02", "field a");
    FAILS(PML_E_CORRUPT, "a BIGINT", RECORD(F("a", LOGICAL("long", "timestamp-millis"))), "\x02", "field a");
}

static void avro_data_gives_nested_types(void **state)
{
    (void)state;
    READS("a ARRAY<INT>, b ARRAY<ARRAY<STRING>>, c INT",
          RECORD(F("a", NULLABLE(LIST(NULLABLE(INT)))) "," F("b", LIST(LIST("\"string\""))) "," F("c", INT)),
          "\x02\x04\x02\x0e\x00\x02\x02\x01\x00" /* 7, null; then one item, -1 */
          "\x03\x0a\x02\x02x\x00\x00\x00"        /* -2 items of 5 bytes: ["x"], [] */
          "\x06",
          "{\"a\":[7,null,-1],\"b\":[[\"x\"],[]],\"c\":3}");
    READS("m MAP<STRING, INT>, n MAP<INT, DOUBLE>, s MULTISET<STRING>, t MULTISET<INT>",
          RECORD(F("m", MAP(NULLABLE(INT))) "," F("n", LIST(NESTED("e", F("key", NULLABLE(INT)) "," F("value", "\"double\"")))) "," F(
              "s", MAP(NULLABLE(INT))) "," F("t", NULLABLE(LIST(NESTED("g", F("value", NULLABLE(INT)) "," F("key", INT)))))),
          "\x04\x02k\x02\x02\x00\x00\x00" /* k 1, "" null */
          "\x02\x02\x0a\x00\x00\x00\x00\x00\x00\xf8\x3f\x00"
          "\x02\x02z\x02\x06\x00"
          "\x02\x02\x02\x04\x06\x00",
          "{\"m\":[[\"\",null],[\"k\",1]],\"n\":[[5,1.5]],\"s\":[[\"z\",3]],\"t\":[[3,2]]}");
    READS("r ROW<x INT, y ROW<z STRING, w ARRAY<BIGINT>>>, v VECTOR<FLOAT, 2>, u VECTOR<INT, 3>",
          RECORD(F("r", NULLABLE(NESTED("r", F("x", INT) "," F("y", NULLABLE(NESTED("y", F("z", "\"string\"") "," F("w", LIST("\"long\"")))))))) ","
                 F("v", LIST("\"float\"")) "," F("u", NULLABLE(LIST(INT)))),
          "\x02\x02\x02\x02q\x00"
          "\x04\x00\x00\x80\x3f\x00\x00\x00\x40\x00"
          "\x00",
          "{\"r\":{\"x\":1,\"y\":{\"z\":\"q\",\"w\":[]}},\"v\":[1,2],\"u\":null}");
    FAILS(PML_E_CORRUPT, "v VECTOR<INT, 3>", RECORD(F("v", LIST(INT))), "\x04\x02\x02\x00", "field v");
    FAILS(PML_E_CORRUPT, "m MAP<INT, INT>", RECORD(F("m", LIST(NESTED("e", F("key", NULLABLE(INT)) "," F("value", INT))))),
          "\x02\x00\x02\x00", "field key");
    FAILS(PML_E_CORRUPT, "m MAP<INT, INT>", RECORD(F("m", LIST(NESTED("e", F("keys", INT) "," F("value", INT))))), "\x02\x02\x02\x00",
          "lacks the field key");
    FAILS(PML_E_CORRUPT, "m MULTISET<STRING>", RECORD(F("m", MAP(NULLABLE(INT)))), "\x02\x02k\x00\x00", "NOT NULL");
    FAILS(PML_E_CORRUPT, "m MAP<INT, INT>", RECORD(F("m", MAP(INT))), "\x00", "field m");
}

/* Rows of a parent that is null need something in every child. */
static void avro_data_keeps_children_in_step_below_nulls(void **state)
{
    (void)state;
    kit k;
    kit_open(&k);
    kit_want(&k, "r ROW<a INT NOT NULL, b STRING, c ARRAY<INT>, d ROW<e BIGINT>, v VECTOR<INT, 2>, gone INT>, x INT");
    k.q.own_schema = false;
#define STEPS                                                                                                                        \
    RECORD(F("r", "[" NESTED("r", F("v", LIST(INT)) "," F("a", INT) "," F("b", "\"string\"") "," F("c", LIST(INT)) "," F(            \
                      "d", NULLABLE(NESTED("d", F("e", "\"long\""))))) ",\"null\"]") "," F("x", INT))
    static const char records[] = "\x02\x02"
                                  "\x00\x04\x02\x04\x00\x06\x02t\x02\x08\x00\x02\x0a\x0c"
                                  "\x02\x04";
    kit_file(&k, "null", STEPS, records, sizeof records - 1, 1);
    /* the writer counts one record where there are three: the count is the first byte of the block */
    size_t len;
    uint8_t *data = test_read_file(k.path, &len);
    uint8_t *block = data + len - 16 - (sizeof records - 1) - 2;
    assert_int_equal(*block, 2);
    *block = 6;
    kit_put(&k, data, len);
    free(data);
    kit_must_read(&k, "{\"r\":null,\"x\":1}\n"
                      "{\"r\":{\"a\":3,\"b\":\"t\",\"c\":[4],\"d\":{\"e\":5},\"v\":[1,2],\"gone\":null},\"x\":6}\n"
                      "{\"r\":null,\"x\":2}\n");
    kit_close(&k);
}

static void avro_data_takes_unions_in_either_order_and_around_the_row(void **state)
{
    (void)state;
    READS("a INT, b INT", RECORD(F("a", "[\"int\",\"null\"]") "," F("b", "[\"int\",\"null\"]")), "\x00\x0e\x02", "{\"a\":7,\"b\":null}");
    READS("a INT, b INT", RECORD(F("a", "[\"null\"]") "," F("b", "[\"int\"]")), "\x00\x00\x0e", "{\"a\":null,\"b\":7}");
    READS("a INT", "[\"null\"," RECORD(F("a", INT)) "]", "\x02\x0e", "{\"a\":7}");
    READS("a INT", "[" RECORD(F("a", INT)) ",\"null\"]", "\x00\x0e", "{\"a\":7}");
    FAILS(PML_E_CORRUPT, "a INT", "[\"null\"," RECORD(F("a", INT)) "]", "\x00\x0e", "the row");
    FAILS(PML_E_CORRUPT, "a INT", "[\"null\",\"int\"]", "\x02\x0e", "not a record");
    FAILS(PML_E_UNSUPPORTED, "a INT", RECORD(F("a", "[\"null\",\"int\",\"long\"]")), "\x02\x0e", "union");
}

/* ---- names ---- */

static void avro_data_finds_fields_by_name_and_skips_the_others(void **state)
{
    (void)state;
    READS("last STRING, first INT",
          RECORD(F("first", INT) "," F("f", "{\"type\":\"fixed\",\"name\":\"f\",\"size\":2}") "," F(
              "e", "{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\"]}") "," F("m", MAP(LIST("\"double\""))) "," F(
              "n", NESTED("n", F("first", "\"boolean\""))) "," F("z", "{\"type\":\"fixed\",\"name\":\"z\",\"size\":0}") "," F("last", "\"string\"")),
          "\x0e..\x00\x02\x02k\x02........\x00\x00\x01\x02z", "{\"last\":\"z\",\"first\":7}");
}

static void avro_data_is_damaged_when_paimon_wrote_it_without_a_column(void **state)
{
    (void)state;
    FAILS(PML_E_CORRUPT, "a INT, b INT", RECORD(F("a", INT)), "\x02", "lacks the field b");
    FAILS(PML_E_CORRUPT, "a ROW<x INT, y INT>", RECORD(F("a", NESTED("a", F("x", INT)))), "\x02", "lacks the field y");
    FAILS(PML_E_CORRUPT, "a BIGINT", RECORD(F("a", INT)), "\x02", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(5, 2)", RECORD(F("a", DECIMAL("5", "1"))), "\x02\x01", "field a");
    FAILS(PML_E_CORRUPT, "a INT", RECORD(F("a", INT) "," F("a", INT)), "\x02\x02", "two fields a");
    /* of another maker */
    READS("a INT, b INT, c ARRAY<INT>", OTHER(F("a", INT)), "\x02", "{\"a\":1,\"b\":null,\"c\":null}");
    FAILS(PML_E_UNSUPPORTED, "a BIGINT", OTHER(F("a", INT)), "\x02", "field a");
    FAILS(PML_E_CORRUPT, "a INT NOT NULL", OTHER(F("b", INT)), "\x02", "NOT NULL");
}

static void avro_data_of_a_very_wide_table_is_read_in_any_order(void **state)
{
    (void)state;
    enum { WIDE = 3000 };
    kit k;
    pml_buf schema, record, want, line;
    kit_open(&k);
    pml_buf *const bufs[] = {&schema, &record, &want, &line};
    for (size_t i = 0; i < 4; i++)
        pml_buf__init(bufs[i], k.t->env, 1 << 20);
    (void)pml_buf__append_str(&schema, PAIMON);
    (void)pml_buf__append_str(&line, "{");
    for (int i = 0; i < WIDE; i++) {
        (void)pml_buf__append_format(&schema, "%s{\"name\":\"column_%d\",\"type\":[\"null\",\"int\"],\"default\":null}", i == 0 ? "" : ",",
                                     i * 7 % WIDE);
        (void)pml_avro__put_branch(&record, i % 3 != 0);
        if (i % 3 != 0)
            (void)pml_avro__put_long(&record, i * 7 % WIDE);
    }
    for (int i = 0; i < WIDE; i++) {
        /* the field of the file that is column i: 7 x = i modulo 3000, and 7 * 1543 = 1 */
        int at = i * 1543 % WIDE;
        (void)pml_buf__append_format(&want, "%scolumn_%d INT", i == 0 ? "" : ", ", i);
        (void)pml_buf__append_format(&line, "%s\"column_%d\":", i == 0 ? "" : ",", i);
        (void)(at % 3 == 0 ? pml_buf__append_str(&line, "null") : pml_buf__append_format(&line, "%d", i));
    }
    (void)pml_buf__append_str(&schema, "]}");
    (void)pml_buf__append_str(&line, "}\n");
    for (size_t i = 0; i < 4; i++)
        must_ok(pml_buf__append(bufs[i], "", 1), NULL);
    kit_want(&k, (const char *)want.data);
    kit_file(&k, "zstandard", (const char *)schema.data, record.data, record.len - 1, 1);
    kit_must_read(&k, (const char *)line.data);
    kit_want(&k, "column_2999 INT, column_1 INT");
    kit_must_read(&k, "{\"column_2999\":2999,\"column_1\":1}\n");
    for (size_t i = 0; i < 4; i++)
        pml_buf__clear(bufs[i]);
    kit_close(&k);
}

static void avro_data_is_read_as_deep_as_types_go(void **state)
{
    (void)state;
    kit k;
    pml_buf schema, record, want;
    kit_open(&k);
    pml_buf *const bufs[] = {&schema, &record, &want};
    for (size_t i = 0; i < 3; i++)
        pml_buf__init(bufs[i], k.t->env, 1 << 20);
    enum { DEEP = 29 };
    (void)pml_buf__append_str(&schema, PAIMON "{\"name\":\"a\",\"type\":");
    (void)pml_buf__append_str(&want, "a ");
    for (int i = 0; i < DEEP; i++) {
        (void)pml_buf__append_str(&schema, "[\"null\",{\"type\":\"array\",\"logicalType\":\"map\",\"items\":{\"type\":\"record\",\"name\":\"");
        (void)pml_buf__append_format(&schema, "e%d\",\"fields\":[{\"name\":\"key\",\"type\":\"int\"},{\"name\":\"value\",\"type\":", i);
        (void)pml_buf__append_str(&want, "MAP<INT, ");
        (void)pml_buf__append(&record, "\x02\x02\x02", 3); /* not null, one entry, key 1 */
    }
    (void)pml_buf__append_str(&schema, "[\"null\",\"int\"]");
    (void)pml_buf__append_str(&want, "INT");
    (void)pml_buf__append(&record, "\x02\x0e", 2);
    for (int i = 0; i < DEEP; i++) {
        (void)pml_buf__append_str(&schema, "}]}}]");
        (void)pml_buf__append_str(&want, ">");
        (void)pml_buf__append_byte(&record, 0);
    }
    (void)pml_buf__append_str(&schema, "}]}");
    for (size_t i = 0; i < 3; i++)
        must_ok(pml_buf__append(bufs[i], "", 1), NULL);
    kit_want(&k, (const char *)want.data);
    kit_file(&k, "null", (const char *)schema.data, record.data, record.len - 1, 1);
    pml_error err = PML_ERROR_INIT;
    must_ok(kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 1);
    assert_non_null(memmem(k.text.data, k.text.len, "[1,7]", 5));
    for (size_t i = 0; i < 3; i++)
        pml_buf__clear(bufs[i]);
    kit_close(&k);
}

/* ---- many rows ---- */

static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};
static const char row_schema[] = RECORD(F("id", INT) "," F("name", NULLABLE("\"string\"")) "," F("l", LIST(NULLABLE("\"long\""))));
static const char row_columns[] = "id INT, name STRING, l ARRAY<BIGINT>";

static void row_put(pml_buf *b, int64_t i)
{
    (void)pml_avro__put_long(b, i);
    (void)pml_avro__put_branch(b, i % 3 != 0);
    if (i % 3 != 0)
        (void)pml_avro__put_string(b, i % 2 == 0 ? "even" : "odd, and longer than sixteen bytes");
    if (i % 4 != 0)
        (void)pml_avro__put_long(b, i % 4);
    for (int64_t k = 0; k < i % 4; k++) {
        (void)pml_avro__put_branch(b, k != 1);
        if (k != 1)
            (void)pml_avro__put_long(b, i * i);
    }
    (void)pml_avro__put_long(b, 0);
}

static void row_print(pml_buf *b, int64_t i)
{
    (void)pml_buf__append_format(b, "{\"id\":%lld,\"name\":%s,\"l\":[", (long long)i,
                                 i % 3 == 0   ? "null"
                                 : i % 2 == 0 ? "\"even\""
                                              : "\"odd, and longer than sixteen bytes\"");
    for (int64_t k = 0; k < i % 4; k++)
        (void)(k == 1 ? pml_buf__append_str(b, ",null") : pml_buf__append_format(b, "%s%lld", k == 0 ? "" : ",", (long long)(i * i)));
    (void)pml_buf__append_str(b, "]}\n");
}

static void rows_file(kit *k, const char *codec, int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    pml_avro_writer *w;
    uint8_t *data;
    size_t len;
    kit_want(k, row_columns);
    must_ok(pml_avro_writer__new(&w, k->t->env, row_schema, codec, 1, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        row_put(pml_avro_writer__record(w), i);
        must_ok(pml_avro_writer__end_record(w, &err), &err);
    }
    must_ok(pml_avro_writer__finish(w, &data, &len, &err), &err);
    pml_avro_writer__free(w);
    kit_put(k, data, len);
    pml_env__free(k->t->env, data);
}

static void rows_must_be_there(kit *k, int64_t n)
{
    pml_buf want;
    pml_buf__init(&want, k->t->env, (size_t)1 << 30);
    for (int64_t i = 0; i < n; i++)
        row_print(&want, i);
    must_ok(pml_buf__check(&want, NULL), NULL);
    assert_int_equal(want.len, k->text.len);
    assert_true(n == 0 || memcmp(want.data, k->text.data, want.len) == 0);
    pml_buf__clear(&want);
}

static void avro_data_of_many_blocks_comes_in_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        kit k;
        pml_error err = PML_ERROR_INIT;
        kit_open(&k);
        rows_file(&k, codecs[c], 20000);
        k.q.expect_rows = 20000;
        for (int64_t rows = 1000; rows <= 100000; rows *= 10) {
            k.q.batch_rows = rows;
            must_ok(kit_read(&k, &err), &err);
            assert_int_equal(k.batches, (20000 + rows - 1) / rows);
            rows_must_be_there(&k, 20000);
        }
        kit_close(&k);
    }
}

static void avro_data_without_wanted_columns_gives_the_number_of_rows(void **state)
{
    (void)state;
    kit k;
    pml_error err = PML_ERROR_INIT;
    kit_open(&k);
    rows_file(&k, "zstandard", 5000);
    k.q.n_fields = 0;
    k.want.n_children = 0;
    k.q.batch_rows = 700;
    must_ok(kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 5000);
    assert_int_equal(k.batches, 8);
    rows_file(&k, "null", 0);
    must_ok(kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 0);
    k.q.own_schema = false;
    rows_file(&k, "null", 3);
    kit_want(&k, "gone INT");
    kit_must_read(&k, "{\"gone\":null}\n{\"gone\":null}\n{\"gone\":null}\n");
    kit_close(&k);
}

static void avro_data_in_parts_is_the_file_in_order(void **state)
{
    (void)state;
    /* below and above what is read in one piece */
    for (int64_t rows = 5000; rows <= 80000; rows *= 16) {
        kit k;
        kit_open(&k);
        rows_file(&k, "null", rows);
        for (int32_t parts = 0; parts <= 40; parts = parts * 2 + 1) {
            pml_error err = PML_ERROR_INIT;
            pml_buf all;
            int with_rows = 0;
            pml_buf__init(&all, k.t->env, (size_t)1 << 30);
            k.q.parts = parts;
            for (k.q.part = 0; k.q.part < (parts == 0 ? 1 : parts); k.q.part++) {
                must_ok(kit_read(&k, &err), &err);
                (void)(k.text.len > 0 ? pml_buf__append(&all, k.text.data, k.text.len) : PML_OK);
                with_rows += k.rows > 0;
            }
            assert_true(with_rows <= 8 && (rows < 80000 || with_rows >= (parts < 3 ? 1 : 3)));
            pml_buf kept = k.text;
            k.text = all;
            rows_must_be_there(&k, rows);
            k.text = kept;
            pml_buf__clear(&all);
        }
        kit_close(&k);
    }
}

static void avro_data_file_must_be_the_one_that_the_manifest_says(void **state)
{
    (void)state;
    kit k;
    pml_error err = PML_ERROR_INIT;
    size_t len;
    kit_open(&k);
    rows_file(&k, "snappy", 5000);
    free(test_read_file(k.path, &len));
    k.q.expect_rows = 4999;
    kit_must_fail(&k, PML_E_CORRUPT, "5000 rows");
    k.q.expect_rows = 5000;
    k.q.expect_bytes = (int64_t)len + 1;
    kit_must_fail(&k, PML_E_CORRUPT, "bytes");
    k.q.expect_bytes--;
    must_ok(kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 5000);
    kit_close(&k);
}

/* ---- values, limits, damage ---- */

static void avro_data_with_values_that_the_type_cannot_have_is_damaged(void **state)
{
    (void)state;
    kit k;
    FAILS(PML_E_CORRUPT, "a STRING", RECORD(F("a", "\"string\"")), "\x02\xff", "UTF-8");
    FAILS(PML_E_CORRUPT, "a DECIMAL(2, 0)", RECORD(F("a", DECIMAL("2", "0"))), "\x02\x64", "2 digits");
    FAILS(PML_E_CORRUPT, "a TIME(3)", RECORD(F("a", LOGICAL("int", "time-millis"))), "\x01", "millisecond");
    FAILS(PML_E_CORRUPT, "a INT NOT NULL", RECORD(F("a", NULLABLE(INT))), "\x00", "NOT NULL");
    /* these do not fit the column's buffers, so nobody is asked */
    FAILS(PML_E_CORRUPT, "a TINYINT", RECORD(F("a", INT)), "\x80\x02", "field a");
    FAILS(PML_E_CORRUPT, "a SMALLINT", RECORD(F("a", INT)), "\x80\x80\x04", "field a");
    FAILS(PML_E_CORRUPT, "a INT", RECORD(F("a", INT)), "\x80\x80\x80\x80\x10", "field a");
    FAILS(PML_E_CORRUPT, "a BOOLEAN", RECORD(F("a", "\"boolean\"")), "\x02", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(38, 0)", RECORD(F("a", DECIMAL("38", "0"))), "\x00", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(38, 0)", RECORD(F("a", DECIMAL("38", "0"))), "\x22\x00\x80zzzzzzzzzzzzzzz", "field a");
    FAILS(PML_E_CORRUPT, "a DECIMAL(38, 0)", RECORD(F("a", DECIMAL("38", "0"))), "\x22\xff\x7fzzzzzzzzzzzzzzz", "field a");
    kit_open(&k);
    k.q.check_values = false;
    kit_want(&k, "a TIME(3)");
    FILE_OF(&k, RECORD(F("a", LOGICAL("int", "time-millis"))), "\x01");
    pml_error err = PML_ERROR_INIT;
    must_ok(kit_read(&k, &err), &err);
    kit_close(&k);
}

static void avro_data_with_numbers_larger_than_the_bytes_behind_them_is_damaged(void **state)
{
    (void)state;
#define LISTS RECORD(F("l", LIST(NULLABLE(INT))) "," F("s", "\"string\""))
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field l");     /* 2^63 - 1 items */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "field l"); /* -2^63 of them in one byte */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x01\x01\x00\x00\x00", "field l");                         /* -1 bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\xfe\xff\xff\xff\x0f", "field s");                     /* a text of 2 GiB */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\x01", "field s");                                     /* of -1 bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x02\x04\x02\x00\x00", "field l");                         /* branch 2 of 2 */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "field l"); /* a number of eleven bytes */
    FAILS(PML_E_CORRUPT, "l ARRAY<INT>, s STRING", LISTS, "\x00\x00\x00", "behind its records");
    FAILS(PML_E_CORRUPT, "s STRING", RECORD(F("l", LIST(NULLABLE(INT))) "," F("s", "\"string\"")), "\x0c\x00\x00\x00\x00\x00", "skipped");
    FAILS(PML_E_UNSUPPORTED, "l ARRAY<ROW<x INT>>", OTHER(F("l", LIST(NESTED("e", "")))), "\xfe\xff\x03\x00", "no bytes");
    FAILS(PML_E_UNSUPPORTED, "a INT", OTHER(""), "", "no bytes");
}

static void avro_data_packed_otherwise_is_refused_by_name(void **state)
{
    (void)state;
    static const char head[] = "Obj\x01\x04\x14" "avro.codec\x0a" "bzip2\x16" "avro.schema\x04" "{}\x00" "0123456789abcdef";
    kit k;
    kit_open(&k);
    kit_want(&k, "a INT");
    kit_put(&k, head, sizeof head - 1);
    kit_must_fail(&k, PML_E_UNSUPPORTED, "needs avro-codec:bzip2");
    kit_put(&k, "Obk\x01", 4);
    kit_must_fail(&k, PML_E_CORRUPT, "not an Avro file");
    kit_put(&k, "", 0);
    kit_must_fail(&k, PML_E_CORRUPT, "not an Avro file");
    kit_close(&k);
}

/* Heads of blocks alone, as a count of rows is taken from them. */
static void avro_data_cannot_claim_rows_without_bytes(void **state)
{
    (void)state;
    kit k;
    size_t len;
    kit_open(&k);
    rows_file(&k, "deflate", 0);
    uint8_t *data = test_read_file(k.path, &len);
    uint8_t *more = malloc(len + 64);
    static const uint8_t head[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00};
    memcpy(more, data, len);
    memcpy(more + len, head, sizeof head);
    memcpy(more + len + sizeof head, data + len - 16, 16);
    kit_put(&k, more, len + sizeof head + 16);
    k.q.n_fields = 0;
    k.want.n_children = 0;
    kit_must_fail(&k, PML_E_CORRUPT, "fewer bytes");
    free(more);
    free(data);
    kit_close(&k);
}

static void avro_data_row_that_becomes_far_larger_hits_a_limit(void **state)
{
    (void)state;
    kit k;
    pml_buf want, record;
    kit_open(&k);
    pml_buf__init(&want, k.t->env, 1 << 20);
    pml_buf__init(&record, k.t->env, 16 << 20);
    /* a null of a wide row takes a byte in the file, and thousands in the columns */
    (void)pml_buf__append_str(&want, "l ARRAY<ROW<c0 BIGINT");
    for (int i = 1; i < 2000; i++)
        (void)pml_buf__append_format(&want, ", c%d BIGINT", i);
    (void)pml_buf__append_str(&want, ">>");
    must_ok(pml_buf__append(&want, "", 1), NULL);
    (void)pml_avro__put_long(&record, 4 << 20);
    (void)pml_buf__append_zeros(&record, 4 << 20);
    (void)pml_avro__put_long(&record, 0);
    kit_want(&k, (const char *)want.data);
    k.q.own_schema = false;
    k.t->env->bridge_bytes_max = 96 << 20;
    kit_file(&k, "zstandard", OTHER(F("l", LIST(NULLABLE(NESTED("r", F("c7", "\"long\"")))))), record.data, record.len, 1);
    kit_must_fail(&k, PML_E_LIMIT, "field l");
    pml_buf__clear(&want);
    pml_buf__clear(&record);
    kit_close(&k);
}

static void avro_data_batch_ends_early_when_rows_are_large(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20, ROWS = 40 };
    kit k;
    pml_error err = PML_ERROR_INIT;
    pml_buf record;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t rows = 0;
    int batches = 0;
    kit_open(&k);
    pml_buf__init(&record, k.t->env, 16 << 20);
    (void)pml_avro__put_long(&record, LARGE);
    (void)pml_buf__append_zeros(&record, LARGE);
    kit_want(&k, "b BYTES");
    kit_file(&k, "snappy", RECORD(F("b", "\"bytes\"")), record.data, record.len, ROWS);
    must_ok(pml_format__open(&stream, k.t->env, "avro", k.path, &k.q, &err), &err);
    for (;;) {
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        rows += batch.length;
        batches++;
        batch.release(&batch);
    }
    assert_int_equal(rows, ROWS);
    assert_true(batches >= 3 && batches <= 10);
    stream.release(&stream);
    pml_buf__clear(&record);
    kit_close(&k);
}

/* A cut file must fail, except where the cut leaves whole blocks; then its rows are fewer than the manifest says. */
static void avro_data_file_cut_at_any_byte_fails(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        kit k;
        pml_error err = PML_ERROR_INIT;
        size_t len;
        kit_open(&k);
        rows_file(&k, codecs[c], 40);
        uint8_t *data = test_read_file(k.path, &len);
        k.q.expect_rows = 40;
        for (size_t cut = 0; cut < len; cut++) {
            kit_put(&k, data, cut);
            must_fail_with(PML_E_CORRUPT, kit_read(&k, &err), &err);
        }
        /* and no other byte makes it crash, or give more rows than there are */
        for (size_t at = 0; at < len; at++) {
            data[at] ^= (uint8_t)(1u << (at % 8));
            kit_put(&k, data, len);
            int rc = kit_read(&k, &err);
            assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED || rc == PML_E_LIMIT);
            assert_true(rc != PML_OK || k.rows == 40);
            data[at] ^= (uint8_t)(1u << (at % 8));
        }
        free(data);
        kit_close(&k);
    }
}

/* Of a larger file only pieces are in memory: damage in the middle is found where it lies. */
static void avro_data_block_without_its_marker_is_damaged(void **state)
{
    (void)state;
    kit k;
    size_t len;
    kit_open(&k);
    rows_file(&k, "null", 80000);
    uint8_t *data = test_read_file(k.path, &len);
    const uint8_t *sync = data + len - 16;
    uint8_t *middle = memmem(data + len / 2, len / 2, sync, 16);
    assert_non_null(middle);
    middle[3] ^= 1;
    kit_put(&k, data, len);
    kit_must_fail(&k, PML_E_CORRUPT, "sync marker");
    free(data);
    kit_close(&k);
}

static void avro_data_reading_survives_failing_memory_and_files(void **state)
{
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        kit k;
        pml_error err = PML_ERROR_INIT;
        int rc;
        kit_open(&k);
        rows_file(&k, codecs[c], 6000);
        must_ok(pml_buf__reserve(&k.text, 1 << 20) == NULL ? PML_E_NOMEM : PML_OK, NULL);
        k.q.batch_rows = 1000;
        for (long long n = 1;; n++) {
            test_env_fail_at(k.t, n);
            rc = kit_read(&k, &err);
            if (!test_env_fail_reached(k.t))
                break;
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        test_env_fail_at(k.t, 0);
        must_ok(rc, &err);
        rows_must_be_there(&k, 6000);
        rc = PML_E_IO;
        for (long long n = 1; rc != PML_OK; n++) {
            faulty_fs_reset(&k.fs);
            faulty_fs_fail_at(&k.fs, n, FAULT_BEFORE, PML_E_IO, 0);
            rc = kit_read(&k, &err);
            assert_true(rc == PML_E_IO || (rc == PML_OK && faulty_fs_failures(&k.fs) == 0));
        }
        kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avro_data_gives_every_atomic_type),
        cmocka_unit_test(avro_data_turns_timestamps_into_the_unit_of_the_column),
        cmocka_unit_test(avro_data_gives_nested_types),
        cmocka_unit_test(avro_data_keeps_children_in_step_below_nulls),
        cmocka_unit_test(avro_data_takes_unions_in_either_order_and_around_the_row),
        cmocka_unit_test(avro_data_finds_fields_by_name_and_skips_the_others),
        cmocka_unit_test(avro_data_is_damaged_when_paimon_wrote_it_without_a_column),
        cmocka_unit_test(avro_data_of_a_very_wide_table_is_read_in_any_order),
        cmocka_unit_test(avro_data_is_read_as_deep_as_types_go),
        cmocka_unit_test(avro_data_of_many_blocks_comes_in_batches),
        cmocka_unit_test(avro_data_without_wanted_columns_gives_the_number_of_rows),
        cmocka_unit_test(avro_data_in_parts_is_the_file_in_order),
        cmocka_unit_test(avro_data_file_must_be_the_one_that_the_manifest_says),
        cmocka_unit_test(avro_data_with_values_that_the_type_cannot_have_is_damaged),
        cmocka_unit_test(avro_data_with_numbers_larger_than_the_bytes_behind_them_is_damaged),
        cmocka_unit_test(avro_data_packed_otherwise_is_refused_by_name),
        cmocka_unit_test(avro_data_cannot_claim_rows_without_bytes),
        cmocka_unit_test(avro_data_row_that_becomes_far_larger_hits_a_limit),
        cmocka_unit_test(avro_data_batch_ends_early_when_rows_are_large),
        cmocka_unit_test(avro_data_file_cut_at_any_byte_fails),
        cmocka_unit_test(avro_data_block_without_its_marker_is_damaged),
        cmocka_unit_test(avro_data_reading_survives_failing_memory_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
