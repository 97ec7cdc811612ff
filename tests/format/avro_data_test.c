/* SPDX-License-Identifier: Apache-2.0 */
/* Avro data files into columns: types and names. Tables that Java wrote are read in tests/tables. */
#include "support/avro_kit.h"

#include <stdlib.h>
#include <string.h>

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

/* Java's sums of up to 18 digits may have more digits than their type; its reader of Avro gives null for them. */
static void avro_data_reads_decimals_of_too_many_digits_as_null(void **state)
{
    (void)state;
    READS("a DECIMAL(9, 3), b DECIMAL(9, 3)", RECORD(F("a", DECIMAL("9", "3")) "," F("b", DECIMAL("9", "3"))),
          "\x08\xc4\x65\x36\x01\x08\x3b\x9a\xc9\xff", "{\"a\":\"-999999.999\",\"b\":\"999999.999\"}");
    READS("a DECIMAL(9, 3), b DECIMAL(9, 3), c DECIMAL(1, 0)",
          RECORD(F("a", DECIMAL("9", "3")) "," F("b", DECIMAL("9", "3")) "," F("c", DECIMAL("1", "0"))),
          "\x08\xc4\x65\x36\x00\x08\x3b\x9a\xca\x00\x02\x0a", "{\"a\":null,\"b\":null,\"c\":null}");
    READS("a DECIMAL(19, 0), b DECIMAL(38, 0), c DECIMAL(38, 0)",
          RECORD(F("a", DECIMAL("19", "0")) "," F("b", DECIMAL("38", "0")) "," F("c", DECIMAL("38", "0"))),
          "\x12\x00\x8a\xc7\x23\x04\x89\xe8\x00\x00"
          "\x22\x00\x80zzzzzzzzzzzzzzz"
          "\x22\xff\x7fzzzzzzzzzzzzzzz",
          "{\"a\":null,\"b\":null,\"c\":null}");
    FAILS(PML_E_CORRUPT, "a DECIMAL(1, 0) NOT NULL", RECORD(F("a", DECIMAL("1", "0"))), "\x02\x0a", "field a");
}

/* Java shows a key null then; in Arrow a map has none. */
static void avro_data_refuses_keys_of_too_many_digits(void **state)
{
    (void)state;
#define ENTRIES LIST(NESTED("e", F("key", DECIMAL("1", "0")) "," F("value", NULLABLE(DECIMAL("1", "0")))))
    READS("m MAP<DECIMAL(1, 0), DECIMAL(1, 0)>", RECORD(F("m", ENTRIES)), "\x02\x02\x09\x02\x02\x0a\x00", "{\"m\":[[\"9\",null]]}");
    FAILS(PML_E_CORRUPT, "m MAP<DECIMAL(1, 0), DECIMAL(1, 0)>", RECORD(F("m", ENTRIES)), "\x02\x02\x0a\x02\x02\x09\x00", "field key");
#undef ENTRIES
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
    avro_kit k;
    avro_kit_open(&k);
    avro_kit_want(&k, "r ROW<a INT NOT NULL, b STRING, c ARRAY<INT>, d ROW<e BIGINT>, v VECTOR<INT, 2>, gone INT>, x INT");
    k.q.own_schema = false;
#define STEPS                                                                                                                        \
    RECORD(F("r", "[" NESTED("r", F("v", LIST(INT)) "," F("a", INT) "," F("b", "\"string\"") "," F("c", LIST(INT)) "," F(            \
                      "d", NULLABLE(NESTED("d", F("e", "\"long\""))))) ",\"null\"]") "," F("x", INT))
    static const char records[] = "\x02\x02"
                                  "\x00\x04\x02\x04\x00\x06\x02t\x02\x08\x00\x02\x0a\x0c"
                                  "\x02\x04";
    avro_kit_file(&k, "null", STEPS, records, sizeof records - 1, 1);
    /* the writer counts one record where there are three: the count is the first byte of the block */
    size_t len;
    uint8_t *data = test_read_file(k.path, &len);
    uint8_t *block = data + len - 16 - (sizeof records - 1) - 2;
    assert_int_equal(*block, 2);
    *block = 6;
    avro_kit_put(&k, data, len);
    free(data);
    avro_kit_must_read(&k, "{\"r\":null,\"x\":1}\n"
                      "{\"r\":{\"a\":3,\"b\":\"t\",\"c\":[4],\"d\":{\"e\":5},\"v\":[1,2],\"gone\":null},\"x\":6}\n"
                      "{\"r\":null,\"x\":2}\n");
    avro_kit_close(&k);
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
    avro_kit k;
    pml_buf schema, record, want, line;
    avro_kit_open(&k);
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
    avro_kit_want(&k, (const char *)want.data);
    avro_kit_file(&k, "zstandard", (const char *)schema.data, record.data, record.len - 1, 1);
    avro_kit_must_read(&k, (const char *)line.data);
    avro_kit_want(&k, "column_2999 INT, column_1 INT");
    avro_kit_must_read(&k, "{\"column_2999\":2999,\"column_1\":1}\n");
    for (size_t i = 0; i < 4; i++)
        pml_buf__clear(bufs[i]);
    avro_kit_close(&k);
}

static void avro_data_is_read_as_deep_as_types_go(void **state)
{
    (void)state;
    avro_kit k;
    pml_buf schema, record, want;
    avro_kit_open(&k);
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
    avro_kit_want(&k, (const char *)want.data);
    avro_kit_file(&k, "null", (const char *)schema.data, record.data, record.len - 1, 1);
    pml_error err = PML_ERROR_INIT;
    must_ok(avro_kit_read(&k, &err), &err);
    assert_int_equal(k.rows, 1);
    assert_non_null(memmem(k.text.data, k.text.len, "[1,7]", 5));
    for (size_t i = 0; i < 3; i++)
        pml_buf__clear(bufs[i]);
    avro_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avro_data_gives_every_atomic_type),
        cmocka_unit_test(avro_data_reads_decimals_of_too_many_digits_as_null),
        cmocka_unit_test(avro_data_refuses_keys_of_too_many_digits),
        cmocka_unit_test(avro_data_turns_timestamps_into_the_unit_of_the_column),
        cmocka_unit_test(avro_data_gives_nested_types),
        cmocka_unit_test(avro_data_keeps_children_in_step_below_nulls),
        cmocka_unit_test(avro_data_takes_unions_in_either_order_and_around_the_row),
        cmocka_unit_test(avro_data_finds_fields_by_name_and_skips_the_others),
        cmocka_unit_test(avro_data_is_damaged_when_paimon_wrote_it_without_a_column),
        cmocka_unit_test(avro_data_of_a_very_wide_table_is_read_in_any_order),
        cmocka_unit_test(avro_data_is_read_as_deep_as_types_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
