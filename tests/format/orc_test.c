/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ORC files of Java Paimon 1.4.2 (data/java_*.orc), and what Java reads from them: java_ltz_shanghai at +8 h, java_ltz_newyork at -5 h,
 * both with legacy instants; java_ltz_exact at +8 h without. Values lie around changes of the clock, the epoch and 1900.
 */
#include "support/test_bridge.h"
#include "support/test_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <paimonlive/scan.h>

#include "columnar/row_text.h"
#include "format/file_format.h"

#define LTZ(p) "TIMESTAMP(" #p ") WITH LOCAL TIME ZONE"

enum { FIELDS_MAX = 16 };

typedef struct columns {
    pml_field v[FIELDS_MAX];
    size_t n;
} columns;

static test_env *t;

static int setup(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_types_clear();
    test_env_close(t);
    return 0;
}

static void set_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

/* Names and types by turns, NULL ends. */
static columns columns_of(const char *const *words)
{
    columns c = {.n = 0};
    for (; words[2 * c.n] != NULL; c.n++)
        c.v[c.n] = (pml_field){.id = (int32_t)c.n, .name = words[2 * c.n], .type = test_type(words[2 * c.n + 1])};
    return c;
}

/* A column of collections: of `key` and `value` for a MAP, else of `key` alone. The children are static. */
static void add_nested(columns *c, const char *name, pml_type_kind kind, const char *key, const char *value)
{
    static pml_field children[FIELDS_MAX][2];
    pml_field *of = children[c->n];
    of[0] = (pml_field){.id = -1, .name = value == NULL ? "element" : "key", .type = test_type(key)};
    if (value != NULL)
        of[1] = (pml_field){.id = -1, .name = "value", .type = test_type(value)};
    const pml_type type = {.kind = kind, .nullable = true, .n_children = value == NULL ? 1 : 2, .children = of};
    c->v[c->n] = (pml_field){.id = (int32_t)c->n, .name = name, .type = type};
    c->n++;
}

static columns ltz_columns(void)
{
    static const char *const words[] = {"id", "INT", "l0", LTZ(0), "l3", LTZ(3), "l6", LTZ(6), "l9", LTZ(9), "t3", "TIMESTAMP(3)", "t9",
                                        "TIMESTAMP(9)", NULL};
    columns c = columns_of(words);
    add_nested(&c, "a", PML_TYPE_ARRAY, LTZ(3), NULL);
    add_nested(&c, "m", PML_TYPE_MAP, "INT", LTZ(6));
    add_nested(&c, "ms", PML_TYPE_MULTISET, "CHAR(3)", NULL);
    return c;
}

static columns scalar_columns(void)
{
    static const char *const words[] = {"id", "INT", "c", "CHAR(4)", "v", "VARCHAR(6)", "f", "FLOAT", "d", "DOUBLE", NULL};
    static const char *const more[] = {"tm", "TIME(0)", "b", "BINARY(3)", "dd", "DECIMAL(38, 10)", "de", "DECIMAL(4, 2)", "dt", "DATE", NULL};
    columns c = columns_of(words), last = columns_of(more);
    add_nested(&c, "ca", PML_TYPE_ARRAY, "CHAR(5)", NULL);
    add_nested(&c, "cm", PML_TYPE_MAP, "CHAR(3)", "CHAR(2)");
    c.v[c.n++] = last.v[0];
    add_nested(&c, "ta", PML_TYPE_ARRAY, "TIME(0)", NULL);
    for (size_t i = 1; i < last.n; i++)
        c.v[c.n++] = last.v[i];
    for (size_t i = 0; i < c.n; i++)
        c.v[i].id = (int32_t)i;
    return c;
}

static columns stripe_columns(void)
{
    static const char *const words[] = {"id", "INT", "c", "CHAR(3)", "x", "BIGINT", NULL};
    return columns_of(words);
}

static const char *data_path(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/format/data/%s", PML_TEST_SOURCE, name);
    return path;
}

static pml_format_read request_of(const columns *c)
{
    return (pml_format_read){.fields = c->v, .n_fields = c->n, .batch_rows = 7, .check_values = true, .own_schema = true};
}

static void append_row(pml_buf *out, const columns *c, const struct ArrowArray *batch, int64_t row)
{
    for (size_t i = 0; i < c->n; i++) {
        (void)pml_buf__append(out, i == 0 ? "{\"" : ",\"", 2);
        (void)pml_buf__append(out, c->v[i].name, strlen(c->v[i].name));
        (void)pml_buf__append(out, "\":", 2);
        (void)pml_row_text__append(out, &c->v[i].type, batch->children[i], row);
    }
    (void)pml_buf__append(out, "}\n", 2);
}

/* All rows as text; returns their number or a negative code. */
static int64_t read_rows(pml_buf *out, const char *path, const columns *c, const pml_format_read *q, pml_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t rows = 0;
    int rc = pml_format__open(&stream, t->env, "orc", path, q, err);
    while (rc == PML_OK) {
        rc = stream.get_next(&stream, &batch) != 0 ? pml_stream_error(&stream, err) : PML_OK;
        if (rc != PML_OK || batch.release == NULL)
            break;
        assert_in_range(batch.length, 1, q->batch_rows);
        for (int64_t i = 0; out != NULL && i < batch.length; i++)
            append_row(out, c, &batch, i);
        rows += batch.length;
        batch.release(&batch);
    }
    if (stream.release != NULL)
        stream.release(&stream);
    return rc == PML_OK ? rows : rc;
}

/* Line by line what Java answered. */
static void must_read_as(const char *file, const columns *c, const pml_format_read *q, const char *answer)
{
    pml_error err = PML_ERROR_INIT;
    pml_buf text;
    size_t len;
    pml_buf__init(&text, t->env, 1 << 20);
    int64_t rows = read_rows(&text, data_path(file), c, q, &err);
    if (rows < 0)
        must_ok((int)rows, &err);
    must_ok(pml_buf__check(&text, &err), &err);
    (void)pml_buf__append(&text, "", 1);
    char *want = (char *)test_read_file(data_path(answer), &len);
    char *got = (char *)text.data;
    for (char *w = want, *g = got; *w != '\0' || *g != '\0';) {
        size_t n = strcspn(w, "\n"), m = strcspn(g, "\n");
        if (n != m || memcmp(w, g, n) != 0)
            fail_msg("%s:\nJava %.*s\nours %.*s", file, (int)n, w, (int)m, g);
        w += n + (w[n] == '\n');
        g += m + (g[m] == '\n');
    }
    free(want);
    pml_buf__clear(&text);
}

static void times_are_those_that_java_reads(void **state)
{
    (void)state;
    static const struct {
        const char *file, *zone, *answer;
        bool exact;
    } cases[] = {{"java_ltz_shanghai.orc", "Asia/Shanghai", "java_ltz_shanghai.at_home.jsonl", false},
                 {"java_ltz_shanghai.orc", "UTC", "java_ltz_shanghai.at_utc.jsonl", false},
                 {"java_ltz_newyork.orc", "America/New_York", "java_ltz_newyork.at_home.jsonl", false},
                 {"java_ltz_exact.orc", "UTC", "java_ltz_exact.jsonl", true},
                 {"java_ltz_exact.orc", "UTC", "java_ltz_exact.jsonl", false},
                 {"java_ltz_exact.orc", "Asia/Shanghai", "java_ltz_exact.jsonl", true}};
    const columns c = ltz_columns();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_format_read q = request_of(&c);
        q.orc_ltz_exact = cases[i].exact;
        set_zone(cases[i].zone);
        must_read_as(cases[i].file, &c, &q, cases[i].answer);
    }
    set_zone("UTC");
}

static void char_loses_its_blanks_and_varchar_does_not(void **state)
{
    (void)state;
    const columns c = scalar_columns();
    pml_format_read q = request_of(&c);
    must_read_as("java_scalars.orc", &c, &q, "java_scalars.jsonl");
    q.batch_rows = 1;
    must_read_as("java_scalars.orc", &c, &q, "java_scalars.jsonl");
}

static void timestamp_beyond_nanoseconds_is_refused_by_column(void **state)
{
    (void)state;
    static const char *const words[] = {"id", "INT", "l3", LTZ(3), "t6", "TIMESTAMP(6)", NULL};
    columns c = columns_of(words);
    pml_error err = PML_ERROR_INIT;
    pml_format_read q = request_of(&c);
    assert_int_equal(read_rows(NULL, data_path("java_far.orc"), &c, &q, &err), PML_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "java_far.orc"));
    assert_non_null(strstr(err.message, "column 't6'")); /* the first in the file */
    q.n_fields = 1;
    assert_int_equal(read_rows(NULL, data_path("java_far.orc"), &c, &q, &err), 9);
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    static const char *const words[] = {"x", "BIGINT", "new", "CHAR(3)", "id", "BIGINT", NULL};
    columns c = columns_of(words);
    pml_error err = PML_ERROR_INIT;
    pml_format_read q = request_of(&c);
    pml_buf text;
    pml_buf__init(&text, t->env, 1 << 20);
    q.own_schema = false;
    assert_int_equal(read_rows(&text, data_path("java_stripes.orc"), &c, &q, &err), 3000);
    assert_int_equal(strncmp((char *)text.data, "{\"x\":", 5), 0);
    assert_non_null(strstr((char *)text.data, ",\"new\":null,\"id\":0}\n"));
    pml_buf__clear(&text);
    q.n_fields = 0;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), 3000);
    q.fields = &c.v[1];
    q.n_fields = 1;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), 3000);
}

static void must_be_damaged(const char *name, const char *type, const char *word)
{
    const columns c = {{{.id = 0, .name = name, .type = test_type(type)}}, 1};
    pml_error err = PML_ERROR_INIT;
    const pml_format_read q = request_of(&c);
    assert_int_equal(read_rows(NULL, data_path("java_scalars.orc"), &c, &q, &err), PML_E_CORRUPT);
    assert_non_null(strstr(err.message, "java_scalars.orc"));
    assert_non_null(strstr(err.message, word));
    assert_non_null(strstr(err.message, name));
}

static void own_file_with_other_columns_is_damage(void **state)
{
    (void)state;
    must_be_damaged("no", "INT", "it has no column");
    must_be_damaged("id", "BIGINT", "expected int64");
    must_be_damaged("c", "BYTES", "expected binary");
    must_be_damaged("de", "DECIMAL(5, 2)", "expected decimal128(5, 2)");
    must_be_damaged("ca", "STRING", "expected string");
    must_be_damaged("tm", "TIMESTAMP(3)", "expected timestamp");
}

static void parts_are_the_file(void **state)
{
    (void)state;
    const columns c = stripe_columns();
    pml_error err = PML_ERROR_INIT;
    pml_buf whole, parts;
    for (int32_t n = 1; n <= 9; n += 2) {
        pml_format_read q = request_of(&c);
        int32_t filled = 0;
        pml_buf__init(&whole, t->env, 1 << 20);
        pml_buf__init(&parts, t->env, 1 << 20);
        assert_int_equal(read_rows(&whole, data_path("java_stripes.orc"), &c, &q, &err), 3000);
        q.parts = n;
        for (q.part = 0; q.part < n; q.part++)
            filled += read_rows(&parts, data_path("java_stripes.orc"), &c, &q, &err) > 0;
        assert_int_equal(whole.len, parts.len);
        assert_memory_equal(whole.data, parts.data, whole.len);
        assert_true(n == 1 || filled > 1);
        pml_buf__clear(&whole);
        pml_buf__clear(&parts);
    }
}

/* Rows that match p among those that q reads, of which there are *rows. */
static int64_t matching_rows(const char *file, const columns *c, const pml_format_read *q, const pml_pred *p, int64_t *rows)
{
    struct ArrowArrayStream stream;
    int64_t matching = 0;
    pml_error err = PML_ERROR_INIT;
    *rows = 0;
    must_ok(pml_format__open(&stream, t->env, "orc", data_path(file), q, &err), &err);
    for (;;) {
        struct ArrowArray batch;
        uint8_t keep[512];
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        must_ok(pml_pred__eval(keep, p, t->env, &batch, c->v, c->n, &err), &err);
        for (int64_t i = 0; i < batch.length; i++)
            matching += keep[i];
        *rows += batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return matching;
}

/* Whatever is left out, all that match are there: read whole, in parts, and of every third row. *rows: of the read of the whole. */
static void must_hold_all(int64_t *rows, const char *file, const columns *c, const pml_pred *p)
{
    pml_row_set third;
    pml_format_read all = request_of(c), q;
    pml_error err = PML_ERROR_INIT;
    int64_t n, some, in_parts = 0, total;
    all.batch_rows = 512;
    q = all;
    q.predicate = p;
    const int64_t wanted = matching_rows(file, c, &all, p, &total);
    assert_int_equal(matching_rows(file, c, &q, p, rows), wanted);
    q.parts = 2;
    for (q.part = 0; q.part < 2; q.part++)
        in_parts += matching_rows(file, c, &q, p, &n);
    assert_int_equal(in_parts, wanted);
    must_ok(pml_row_set__init(&third, t->env, total, false, &err), &err);
    for (int64_t at = 0; at < total; at += 3)
        pml_row_set__add(&third, at);
    all.rows = q.rows = &third;
    q.parts = 0;
    const int64_t wanted_third = matching_rows(file, c, &all, p, &n);
    assert_int_equal(n, (total + 2) / 3);
    assert_int_equal(matching_rows(file, c, &q, p, &some), wanted_third);
    in_parts = 0;
    q.parts = 3;
    for (q.part = 0; q.part < 3; q.part++)
        in_parts += matching_rows(file, c, &q, p, &n);
    assert_int_equal(in_parts, wanted_third);
    pml_row_set__clear(&third);
}

static int64_t rows_where(const char *file, const columns *c, pml_pred_op op, size_t column, pml_value literal)
{
    int64_t rows;
    const pml_pred p = {.op = op, .field_id = c->v[column].id, .type = &c->v[column].type, .name = c->v[column].name, .n_literals = 1, .literals = &literal};
    must_hold_all(&rows, file, c, &p);
    return rows;
}

static void stripes_without_a_matching_row_are_left_out(void **state)
{
    (void)state;
    static const pml_pred_op ops[] = {PML_PRED_EQ, PML_PRED_NE, PML_PRED_LT, PML_PRED_LE, PML_PRED_GT, PML_PRED_GE};
    static const int64_t numbers[] = {-1, 0, 1023, 1024, 2048, 3000};
    const columns c = stripe_columns();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = numbers[i]};
        const int64_t rows = rows_where("java_stripes.orc", &c, PML_PRED_EQ, 0, v);
        assert_int_equal(rows, v.i < 0 || v.i == 3000 ? 0 : v.i >= 2048 ? 952 : 1024);
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
            for (size_t column = 0; column < 3; column += 2)
                (void)rows_where("java_stripes.orc", &c, ops[k], column, v);
    }
}

/* Of CHAR the file has blanks, of FLOAT perhaps a NaN: nothing is left out by those. */
static void stripes_are_left_out_by_statistics_that_hold(void **state)
{
    (void)state;
    static const char *const file = "java_scalars.orc";
    const columns c = scalar_columns();
    const pml_value none = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"\xf4\x8f", 2}}, number = {.kind = PML_VALUE_INT, .i = 3000000},
                    wide = {.kind = PML_VALUE_FLOAT, .f = 1e38f};
    for (size_t i = 0; i < c.n; i++) {
        const pml_type_kind k = c.v[i].type.kind;
        if (k == PML_TYPE_VARCHAR || k == PML_TYPE_CHAR)
            assert_int_equal(rows_where(file, &c, PML_PRED_GE, i, none), k == PML_TYPE_CHAR ? 9 : 0);
        if (k == PML_TYPE_DATE || k == PML_TYPE_INT)
            assert_int_equal(rows_where(file, &c, PML_PRED_EQ, i, number), 0);
        for (int64_t day = -719165; k == PML_TYPE_DATE && day <= -719159; day++) /* about 0001-01-01, where calendars differ */
            (void)rows_where(file, &c, PML_PRED_LE, i, (pml_value){.kind = PML_VALUE_INT, .i = day});
        if (k == PML_TYPE_FLOAT)
            assert_int_equal(rows_where(file, &c, PML_PRED_EQ, i, wide), 9);
    }
}

/* What cannot be read of statistics is unknown. Damage that makes other statistics of them may hide rows, as in other formats. */
static void damaged_statistics_leave_nothing_but_rows_out(void **state)
{
    (void)state;
    enum { BEGIN = 10476, END = 10687 }; /* of the metadata in the file */
    const columns c = stripe_columns();
    pml_value literal = {.kind = PML_VALUE_INT, .i = 1500};
    const pml_pred p = {.op = PML_PRED_EQ, .field_id = 0, .type = &c.v[0].type, .name = "id", .n_literals = 1, .literals = &literal};
    pml_format_read q = request_of(&c);
    size_t len, all = 0;
    uint8_t *bytes = test_read_file(data_path("java_stripes.orc"), &len);
    q.batch_rows = 512;
    q.predicate = &p;
    q.content = (pml_bytes){bytes, len};
    for (size_t at = BEGIN; at < END; at++)
        for (int flip = 1; flip < 256; flip *= 16) {
            int64_t rows;
            bytes[at] ^= (uint8_t)flip;
            const int64_t matching = matching_rows("java_stripes.orc", &c, &q, &p, &rows);
            bytes[at] ^= (uint8_t)flip;
            assert_true(matching == 1 || rows < 3000);
            all += rows == 3000;
        }
    assert_true(all > (END - BEGIN) / 2);
    free(bytes);
}

static void file_that_is_another_than_expected_is_refused(void **state)
{
    (void)state;
    const columns c = stripe_columns();
    pml_error err = PML_ERROR_INIT;
    pml_format_read q = request_of(&c);
    q.expect_rows = 3001;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), PML_E_CORRUPT);
    assert_non_null(strstr(err.message, "3001"));
    q.expect_rows = 3000;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), 3000);
    q.expect_bytes = 5;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), PML_E_CORRUPT);
    q.expect_bytes = 0;
    assert_int_equal(read_rows(NULL, data_path("java_scalar.parquet"), &c, &q, &err), PML_E_CORRUPT);
    assert_int_equal(read_rows(NULL, data_path("no.orc"), &c, &q, &err), PML_E_NOT_FOUND);
    q.untrusted = true;
    assert_int_equal(read_rows(NULL, data_path("java_stripes.orc"), &c, &q, &err), PML_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "needs trusted-input"));
}

static void orc_files_are_not_written(void **state)
{
    (void)state;
    const columns c = stripe_columns();
    const pml_format_write_options o = {.compression = "zstd", .block_bytes = 1 << 20, .page_bytes = 1 << 16};
    pml_error err = PML_ERROR_INIT;
    pml_format_writer *w;
    must_fail_with(PML_E_UNSUPPORTED, pml_format__create(&w, t->env, "orc", test_path(t, "x.orc"), c.v, c.n, &o, &err), &err);
    assert_non_null(strstr(err.message, "needs format:orc"));
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    const columns c = scalar_columns();
    pml_value literal = {.kind = PML_VALUE_INT};
    const pml_pred p = {.op = PML_PRED_GE, .field_id = 0, .type = &c.v[0].type, .name = "id", .n_literals = 1, .literals = &literal};
    pml_format_read q = request_of(&c);
    q.predicate = &p;
    for (long long n = 1;; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        int64_t rows = read_rows(NULL, data_path("java_scalars.orc"), &c, &q, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        if (!reached)
            break;
        assert_true(rows == 9 || rows == PML_E_NOMEM);
    }
}

/* Each read of the file fails once; and what was charged is given back. */
static void failing_reads_are_reported_and_memory_is_given_back(void **state)
{
    (void)state;
    const columns c = ltz_columns();
    const pml_bridge *b;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_bridge__get(&b, t->env, &err), &err);
    must_ok(pml_type__export(&schema, t->env, c.v, c.n, &err), &err);
    int64_t rows = 0;
    for (int n = 1; rows != 20; n++) {
        test_file f = test_file_load("java_ltz_shanghai.orc");
        const pml_bridge_input input = test_input(&f);
        const pml_bridge_memory memory = test_memory(&f);
        const pml_bridge_orc_request request = {.first_stripe = 0, .end_stripe = 1, .schema = &schema};
        struct ArrowArrayStream stream;
        pml_bridge_orc *reader;
        f.fail_at = n;
        rows = b->orc_open(&reader, &input, &memory, &test_read_options, &err);
        if (rows == PML_OK) {
            pml_bridge_stat stat;
            rows = b->orc_stripe_stat(&stat, reader, 0, "id", &err);
            assert_int_equal(stat.kind, rows == PML_OK ? PML_BRIDGE_STAT_INT : PML_BRIDGE_STAT_NONE);
            must_ok(b->orc_stream(&stream, reader, &request, &err), &err);
            rows = rows == PML_OK ? test_drain(b, &stream, &err) : rows;
            stream.release(&stream);
            b->orc_close(reader);
        }
        assert_true(rows == 20 || rows == PML_E_NO_SPACE);
        assert_true(rows != 20 || f.charged_max > 0);
        assert_int_equal(f.charged, 0);
        assert_int_equal(f.closed, 1);
        assert_int_equal(f.dropped, 1);
        test_file_free(&f);
        assert_in_range(n, 1, 100);
    }
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times_are_those_that_java_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(char_loses_its_blanks_and_varchar_does_not, setup, teardown),
        cmocka_unit_test_setup_teardown(timestamp_beyond_nanoseconds_is_refused_by_column, setup, teardown),
        cmocka_unit_test_setup_teardown(columns_are_found_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(own_file_with_other_columns_is_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_are_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(stripes_without_a_matching_row_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(stripes_are_left_out_by_statistics_that_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_statistics_leave_nothing_but_rows_out, setup, teardown),
        cmocka_unit_test_setup_teardown(file_that_is_another_than_expected_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(orc_files_are_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_allocations_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_reads_are_reported_and_memory_is_given_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
