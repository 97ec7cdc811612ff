/* SPDX-License-Identifier: Apache-2.0 */
/* Live rows with keys of every type: in memory, in files and in both they come in the order in which Java 1.4.2 has them in its files. */
#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/lookup_kit.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"

enum { ROWS_MAX = 16, TEXT_MAX = 8192 };

/* Longer than what the sort compares first. */
#define SHARED "a prefix that all keys share, longer than 16 bytes: "

typedef struct key_case {
    const char *types; /* of the columns k0, k1, ... */
    const char *keys[ROWS_MAX]; /* in Java's order, frozen from files that it wrote of the rows in another order */
} key_case;

static const key_case cases[] = {
    {"BOOLEAN",
     {"\"k0\":false", "\"k0\":true"}},
    {"TINYINT",
     {"\"k0\":-128", "\"k0\":-1", "\"k0\":0", "\"k0\":127"}},
    {"SMALLINT",
     {"\"k0\":-32768", "\"k0\":-129", "\"k0\":-1", "\"k0\":0", "\"k0\":256", "\"k0\":32767"}},
    {"INT",
     {"\"k0\":-2147483648", "\"k0\":-65536", "\"k0\":-1", "\"k0\":0", "\"k0\":65536", "\"k0\":2147483647"}},
    {"BIGINT",
     {"\"k0\":-9223372036854775808", "\"k0\":-4294967296", "\"k0\":-1", "\"k0\":0", "\"k0\":4294967296",
      "\"k0\":9223372036854775807"}},
    {"DATE",
     {"\"k0\":\"0001-01-01\"", "\"k0\":\"1969-12-31\"", "\"k0\":\"1970-01-01\"", "\"k0\":\"9999-12-31\""}},
    {"TIME(3)",
     {"\"k0\":\"00:00:00.000\"", "\"k0\":\"00:00:00.001\"", "\"k0\":\"12:30:00.000\"", "\"k0\":\"23:59:59.999\""}},
    {"TIMESTAMP(9)",
     {"\"k0\":\"1700-01-01T00:00:00.000000000\"", "\"k0\":\"1969-12-31T23:59:59.999999998\"",
      "\"k0\":\"1969-12-31T23:59:59.999999999\"", "\"k0\":\"1970-01-01T00:00:00.000000000\"",
      "\"k0\":\"1970-01-01T00:00:00.000000001\"", "\"k0\":\"1970-01-01T00:00:00.001000000\"",
      "\"k0\":\"2200-01-01T00:00:00.000000000\""}},
    {"TIMESTAMP(3)",
     {"\"k0\":\"0001-01-01T00:00:00.000\"", "\"k0\":\"1969-12-31T23:59:59.999\"", "\"k0\":\"1970-01-01T00:00:00.000\"",
      "\"k0\":\"1970-01-01T00:00:00.001\"", "\"k0\":\"9999-12-31T23:59:59.999\""}},
    {"TIMESTAMP(6) WITH LOCAL TIME ZONE",
     {"\"k0\":\"1969-12-31T23:59:59.999999Z\"", "\"k0\":\"1970-01-01T00:00:00.000000Z\"",
      "\"k0\":\"1970-01-01T00:00:00.000001Z\"", "\"k0\":\"2024-02-29T12:00:00.500000Z\""}},
    {"DECIMAL(9, 2)",
     {"\"k0\":\"-9999999.99\"", "\"k0\":\"-1.50\"", "\"k0\":\"-1.49\"", "\"k0\":\"0.00\"", "\"k0\":\"0.01\"",
      "\"k0\":\"9999999.99\""}},
    {"DECIMAL(18, 0)",
     {"\"k0\":\"-999999999999999999\"", "\"k0\":\"-1\"", "\"k0\":\"0\"", "\"k0\":\"7\"", "\"k0\":\"999999999999999999\""}},
    {"DECIMAL(38, 10)",
     {"\"k0\":\"-9999999999999999999999999999.9999999999\"", "\"k0\":\"-18446744073709551616.0000000000\"",
      "\"k0\":\"-0.0000000001\"", "\"k0\":\"0.0000000000\"", "\"k0\":\"0.0000000001\"", "\"k0\":\"1844674407.3709551616\"",
      "\"k0\":\"9999999999999999999999999999.9999999999\""}},
    {"CHAR(4)",
     {"\"k0\":\"\"", "\"k0\":\"A\"", "\"k0\":\"a\"", "\"k0\":\"a b\"", "\"k0\":\"aa\"", "\"k0\":\"ab\"",
      "\"k0\":\"\303\251\""}},
    {"STRING",
     {"\"k0\":\"\"", "\"k0\":\"\\u0001\"", "\"k0\":\"Z\"", "\"k0\":\"a\"", "\"k0\":\"a\\u0001\"", "\"k0\":\"aa\"",
      "\"k0\":\"\177\"", "\"k0\":\"\302\200\"", "\"k0\":\"\303\251\"", "\"k0\":\"\346\227\245\"",
      "\"k0\":\"\357\277\275\"", "\"k0\":\"\360\237\230\200\""}},
    {"STRING",
     {"\"k0\":\"" SHARED "\"", "\"k0\":\"" SHARED "\\u0001\"", "\"k0\":\"" SHARED "a\"",
      "\"k0\":\"" SHARED "aaaaaaaaaaaaaaaaaaaaaaaa\"", "\"k0\":\"" SHARED "aaaaaaaaaaaaaaaaaaaaaaab\"",
      "\"k0\":\"" SHARED "b\"", "\"k0\":\"" SHARED "\303\251\"", "\"k0\":\"b\""}},
    {"BINARY(3)",
     {"\"k0\":\"000000\"", "\"k0\":\"00007f\"", "\"k0\":\"000080\"", "\"k0\":\"7fffff\"", "\"k0\":\"800000\"",
      "\"k0\":\"ffffff\""}},
    {"VARBINARY(20)",
     {"\"k0\":\"\"", "\"k0\":\"00\"", "\"k0\":\"0000\"", "\"k0\":\"01\"", "\"k0\":\"7f\"", "\"k0\":\"80\"",
      "\"k0\":\"8000\"", "\"k0\":\"ff\"", "\"k0\":\"ffffffffffffffffffffffffffffffff00\"",
      "\"k0\":\"ffffffffffffffffffffffffffffffffff\""}},
    {"FLOAT",
     {"\"k0\":\"-Infinity\"", "\"k0\":-3.40282347e+38", "\"k0\":-1.40129846e-45", "\"k0\":0", "\"k0\":1.40129846e-45",
      "\"k0\":1.5", "\"k0\":3.40282347e+38", "\"k0\":\"Infinity\""}},
    {"DOUBLE",
     {"\"k0\":\"-Infinity\"", "\"k0\":-1.7976931348623157e+308", "\"k0\":-4.9406564584124654e-324", "\"k0\":0",
      "\"k0\":4.9406564584124654e-324", "\"k0\":1.5", "\"k0\":\"Infinity\""}},
    {"STRING|DECIMAL(20, 3)|TIMESTAMP(9)|VARBINARY(8)",
     {"\"k0\":\"" SHARED "\",\"k1\":\"-1.500\",\"k2\":\"1969-12-31T23:59:59.999999998\",\"k3\":\"00\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"-1.500\",\"k2\":\"1969-12-31T23:59:59.999999999\",\"k3\":\"00\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"-1.499\",\"k2\":\"1969-12-31T23:59:59.999999998\",\"k3\":\"00\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"12345678901234567.890\",\"k2\":\"1969-12-31T23:59:59.999999998\",\"k3\":\"\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"12345678901234567.890\",\"k2\":\"1969-12-31T23:59:59.999999998\",\"k3\":\"00\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"12345678901234567.890\",\"k2\":\"1969-12-31T23:59:59.999999998\",\"k3\":\"80\"",
      "\"k0\":\"" SHARED "\",\"k1\":\"12345678901234567.890\",\"k2\":\"1970-01-01T00:00:00.000000000\",\"k3\":\"\"",
      "\"k0\":\"" SHARED "a\",\"k1\":\"-1.500\",\"k2\":\"1700-01-01T00:00:00.000000000\",\"k3\":\"00\"",
      "\"k0\":\"" SHARED "\303\251\",\"k1\":\"0.000\",\"k2\":\"1700-01-01T00:00:00.000000000\",\"k3\":\"\""}},
    {"BOOLEAN|TINYINT|DATE|STRING",
     {"\"k0\":false,\"k1\":-1,\"k2\":\"1969-12-31\",\"k3\":\"b\"",
      "\"k0\":false,\"k1\":-1,\"k2\":\"1970-01-01\",\"k3\":\"\"",
      "\"k0\":false,\"k1\":-1,\"k2\":\"1970-01-01\",\"k3\":\"a\"",
      "\"k0\":false,\"k1\":1,\"k2\":\"0001-01-01\",\"k3\":\"a\"",
      "\"k0\":true,\"k1\":-128,\"k2\":\"1970-01-01\",\"k3\":\"x\"",
      "\"k0\":true,\"k1\":0,\"k2\":\"1969-12-31\",\"k3\":\"" SHARED "1\"",
      "\"k0\":true,\"k1\":0,\"k2\":\"1969-12-31\",\"k3\":\"" SHARED "2\""}},
    {"BIGINT|FLOAT|INT",
     {"\"k0\":-1,\"k1\":\"-Infinity\",\"k2\":5", "\"k0\":-1,\"k1\":-0.5,\"k2\":5", "\"k0\":-1,\"k1\":0,\"k2\":-5",
      "\"k0\":-1,\"k1\":0,\"k2\":5", "\"k0\":-1,\"k1\":0.5,\"k2\":-7", "\"k0\":7,\"k1\":-1.5,\"k2\":0",
      "\"k0\":7,\"k1\":\"Infinity\",\"k2\":0"}},
};

typedef struct world {
    rt_kit k; /* its table is ours */
    const key_case *c;
    size_t n_rows, n_keys;
    int values[ROWS_MAX];
    int files;
} world;

static void open_world(world *w, const key_case *c)
{
    char json[1600], fields[600] = "", keys[100] = "";
    const pml_file_system fast = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    *w = (world){.c = c};
    while (c->keys[w->n_rows] != NULL)
        w->n_rows++;
    for (const char *t = c->types; *t != '\0'; w->n_keys++) {
        size_t len = strcspn(t, "|"), f = strlen(fields), k = strlen(keys);
        (void)snprintf(fields + f, sizeof fields - f, "{\"name\":\"k%zu\",\"type\":\"%.*s NOT NULL\"},", w->n_keys, (int)len, t);
        (void)snprintf(keys + k, sizeof keys - k, "%s\"k%zu\"", k == 0 ? "" : ",", w->n_keys);
        t += len + (t[len] == '|');
    }
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[%s{\"name\":\"v\",\"type\":\"INT\"}],\"partitionKeys\":[],\"primaryKeys\":[%s],\"comment\":\"\","
                     "\"options\":{\"realtime.enabled\":\"true\",\"realtime.allow-float-key\":\"true\",\"bucket\":\"1\"}}",
                     fields, keys);
    w->k.t = test_env_open(&fast);
    must_ok(pml_table_create(&w->k.table, w->k.t->env, test_path(w->k.t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w->k.commit, w->k.table, "order", &err), &err);
    must_ok(pml_rt_context_open(&w->k.ctx, w->k.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->k.w, w->k.table, w->k.ctx, NULL, &err), &err);
}

static void close_world(world *w)
{
    rt_kit_close(&w->k);
}

static int write_text(world *w, const char *text, pml_error *err)
{
    char name[24];
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    (void)snprintf(name, sizeof name, "rows-%d.jsonl", w->files++);
    must_ok(pml_file__publish(w->k.t->env, test_path(w->k.t, name), (const uint8_t *)text, strlen(text), 0, err), err);
    must_ok(pml_rows_open(&stream, w->k.table, test_path(w->k.t, name), NULL, err), err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    int rc = pml_rt_write(NULL, w->k.w, &batch, &schema, NULL, err);
    if (batch.release != NULL)
        batch.release(&batch);
    schema.release(&schema);
    stream.release(&stream);
    return rc;
}

/* Every step-th row, from the last one on; their values are new. */
static void write_some(world *w, size_t step, int value)
{
    char text[TEXT_MAX] = "";
    size_t at = 0;
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < w->n_rows; i += step) {
        size_t row = w->n_rows - 1 - (i * 5 + 3) % w->n_rows; /* in no order; a row may come twice */
        w->values[row] = value++;
        at += (size_t)snprintf(text + at, sizeof text - at, "{%s,\"v\":%d}\n", w->c->keys[row], w->values[row]);
    }
    for (size_t row = 0; step == 1 && row < w->n_rows; row++) {
        w->values[row] = value++;
        at += (size_t)snprintf(text + at, sizeof text - at, "{%s,\"v\":%d}\n", w->c->keys[row], w->values[row]);
    }
    must_ok(write_text(w, text, &err), &err);
}

static void must_be_in_order(world *w, pml_rt_context *ctx)
{
    char want[TEXT_MAX], shown[TEXT_MAX];
    size_t at = 0;
    pml_plan *plan;
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < w->n_rows; i++)
        at += (size_t)snprintf(want + at, sizeof want - at, "{%s,\"v\":%d}\n", w->c->keys[i], w->values[i]);
    must_ok(rt_kit_try_plan(&plan, &w->k, ctx, -1, &err), &err);
    must_ok(rows_show(shown, sizeof shown, plan, NULL, PML_ROWS_JSON | PML_ROWS_NO_KIND, &err), &err);
    pml_plan_free(plan);
    if (strcmp(shown, want) != 0)
        fail_msg("%s: shown are\n%swanted\n%s", w->c->types, shown, want);
}

/* The keys are those of a scan. */
static void must_be_found(world *w)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3"};
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray keys, rows;
    pml_error err = PML_ERROR_INIT;
    pml_lookup *l = lookup_kit_open(w->k.table, w->k.ctx, NULL, 0);
    must_ok(pml_scan_new(&scan, w->k.table, &err), &err);
    must_ok(pml_scan_set_columns(scan, names, w->n_keys, &err), &err);
    must_ok(pml_scan_set_realtime(scan, w->k.ctx, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &keys), 0);
    assert_int_equal(keys.length, w->n_rows);
    must_ok(pml_lookup_get(&rows, l, &keys, &schema, &err), &err);
    const struct ArrowArray *v = rows.children[w->n_keys];
    for (int64_t i = 0; i < rows.length; i++)
        if (!lookup_kit_is_found(&rows, i) || ((const int32_t *)v->buffers[1])[v->offset + i] != w->values[i])
            fail_msg("%s: a lookup of {%s} did not give %d", w->c->types, w->c->keys[i], w->values[i]);
    rows.release(&rows);
    if (keys.release != NULL)
        keys.release(&keys);
    schema.release(&schema);
    stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_lookup_close(l);
}

/* 55: keys of every type and of several columns, long equal prefixes, decimals, timestamps of nine digits */
static void keys_of_every_type_are_in_the_order_of_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        open_world(&w, &cases[i]);
        write_some(&w, 1, 100);
        write_some(&w, 2, 200);
        must_be_in_order(&w, w.k.ctx);
        must_be_found(&w);
        (void)rt_kit_cycle(&w.k, 1);
        must_be_in_order(&w, NULL);
        must_be_found(&w);
        write_some(&w, 3, 300);
        must_be_in_order(&w, w.k.ctx);
        must_be_found(&w);
        close_world(&w);
    }
}

/* 55: NaN and -0.0 are no keys, where FLOAT and DOUBLE keys are allowed; conditions on such keys are those of a full read */
static void keys_without_a_place_in_the_order_are_refused(void **state)
{
    (void)state;
    static const key_case floats = {"INT|FLOAT", {"\"k0\":1,\"k1\":-1.5", "\"k0\":1,\"k1\":0", "\"k0\":1,\"k1\":2"}};
    static const key_case doubles = {"DOUBLE", {"\"k0\":-1.5", "\"k0\":0", "\"k0\":2"}};
    static const char *const values[] = {"\"NaN\"", "-0", "-0.0"};
    for (size_t i = 0; i < 6; i++) {
        const char *column = i < 3 ? "k1" : "k0";
        char text[200], zero[60];
        world w;
        pml_error err = PML_ERROR_INIT;
        open_world(&w, i < 3 ? &floats : &doubles);
        write_some(&w, 1, 100);
        (void)snprintf(text, sizeof text, "{%s,\"v\":1}\n{%s\"%s\":%s,\"v\":2}\n", w.c->keys[0], i < 3 ? "\"k0\":1," : "", column, values[i % 3]);
        must_fail_with(PML_E_INVAL, write_text(&w, text, &err), &err);
        (void)snprintf(zero, sizeof zero, "row 1: the key column %s is NaN or -0.0", column);
        assert_non_null(strstr(err.message, zero));
        must_be_in_order(&w, w.k.ctx);
        close_world(&w);
    }
}

static void conditions_on_floating_point_keys_are_those_of_a_full_read(void **state)
{
    (void)state;
    static const key_case floats = {"FLOAT", {"\"k0\":-1.5", "\"k0\":0", "\"k0\":2"}};
    static const struct {
        int32_t op;
        const char *literal, *shown;
    } asked[] = {{PML_OP_EQ, "2", "{\"k0\":2,\"v\":9}\n"}, {PML_OP_GE, "0", "{\"k0\":0,\"v\":8}\n{\"k0\":2,\"v\":9}\n"}, {PML_OP_LT, "0", "{\"k0\":-1.5,\"v\":7}\n"},
                 {PML_OP_EQ, "-0.0", ""}, {PML_OP_GT, "2", ""}};
    world w;
    pml_error err = PML_ERROR_INIT;
    open_world(&w, &floats);
    for (int round = 0; round < 3; round++) {
        if (round != 1) /* in memory; in a file; in both */
            must_ok(write_text(&w, "{\"k0\":2,\"v\":9}\n{\"k0\":-1.5,\"v\":7}\n{\"k0\":0,\"v\":8}\n", &err), &err);
        else
            (void)rt_kit_cycle(&w.k, 1);
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            char shown[400];
            pml_scan *scan;
            pml_plan *plan;
            pml_predicate *p;
            const pml_literal literal = {asked[i].literal, strlen(asked[i].literal)};
            must_ok(pml_predicate_leaf(&p, w.k.table, "k0", asked[i].op, &literal, 1, &err), &err);
            must_ok(pml_scan_new(&scan, w.k.table, &err), &err);
            must_ok(pml_scan_set_predicate(scan, p, &err), &err);
            must_ok(pml_scan_set_realtime(scan, w.k.ctx, &err), &err);
            must_ok(pml_scan_plan(&plan, scan, &err), &err);
            must_ok(rows_show(shown, sizeof shown, plan, NULL, PML_ROWS_JSON | PML_ROWS_NO_KIND, &err), &err);
            assert_string_equal(shown, asked[i].shown);
            pml_plan_free(plan);
            pml_scan_free(scan);
            pml_predicate_free(p);
        }
    }
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_every_type_are_in_the_order_of_java),
        cmocka_unit_test(keys_without_a_place_in_the_order_are_refused),
        cmocka_unit_test(conditions_on_floating_point_keys_are_those_of_a_full_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
