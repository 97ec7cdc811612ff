/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/column_stats.h"
#include "meta/manifest.h"

#define FIELD(i, n, k)                                                                        \
    {                                                                                         \
        .id = (i), .name = (n), .type = {.kind = (k), .nullable = true, .length = INT32_MAX } \
    }

static const pml_value unknown = {.kind = PML_VALUE_NULL};
static const pml_stats_mode truncate_16 = {PML_STATS_TRUNCATE, 16};

static pml_value text(const char *s)
{
    return (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)s, strlen(s)}};
}

static pml_value number(int64_t i)
{
    return (pml_value){.kind = PML_VALUE_INT, .i = i};
}

static void must_be_text(const pml_value *v, const char *s)
{
    assert_int_equal(v->kind, PML_VALUE_BYTES);
    assert_int_equal(v->bytes.len, strlen(s));
    assert_memory_equal(v->bytes.ptr, s, strlen(s));
}

static void must_be_hex(pml_bytes b, const char *hex)
{
    assert_int_equal(b.len * 2, strlen(hex));
    for (size_t i = 0; i < b.len; i++) {
        char two[3];
        (void)snprintf(two, sizeof two, "%02x", b.ptr[i]);
        assert_memory_equal(two, hex + i * 2, 2);
    }
}

/* ---- writing ---- */

static void stats_of_an_append_file_have_the_bytes_of_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_simple_stats s;
    pml_string_list cols;
    static const pml_field fields[] = {FIELD(0, "a", PML_TYPE_INT), FIELD(1, "b", PML_TYPE_VARCHAR)};
    const pml_stats_mode modes[] = {truncate_16, truncate_16};
    const pml_column_stats stats[] = {{0, number(1), number(1), 1},
                                      {1, text("abcdefghijklmnopqrstuvwxyz"), text("x"), 0}};
    pml_arena__init(&arena, t->env);
    must_ok(pml_column_stats__encode(&s, &cols, &arena, fields, 2, modes, stats, true, &err), &err);
    must_be_hex(s.min, "00000002"
                       "00000000000000000100000000000000"
                       "1000000018000000"
                       "6162636465666768696a6b6c6d6e6f70");
    must_be_hex(s.max, "00000002"
                       "00000000000000000100000000000000"
                       "7800000000000081");
    assert_int_equal(s.n_null_counts, 2);
    assert_int_equal(s.null_counts[0], 1);
    assert_int_equal(s.null_counts[1], 0);
    assert_false(cols.present);
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* Encodes and decodes one STRING column; what a reader sees goes to *out, whose texts live in the arena. */
static void cut(pml_column_stats *out, pml_arena *arena, int32_t length, const char *min, const char *max)
{
    pml_error err = PML_ERROR_INIT;
    pml_simple_stats s;
    pml_string_list cols;
    static const pml_field field = FIELD(5, "c", PML_TYPE_VARCHAR);
    const pml_stats_mode mode = {PML_STATS_TRUNCATE, length};
    const pml_column_stats stats = {5, text(min), text(max), 3};
    must_ok(pml_column_stats__encode(&s, &cols, arena, &field, 1, &mode, &stats, true, &err), &err);
    must_ok(pml_column_stats__decode(out, arena->env, &s, &cols, &field, 1, &err), &err);
    assert_int_equal(out->field_id, 5);
    assert_int_equal(out->null_count, 3);
}

static void stats_texts_are_cut_by_code_points_and_the_maximum_is_raised(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    static const struct {
        const char *in, *min, *max; /* max NULL: neither can be kept */
    } cases[] = {
        {"ab", "ab", "ab"}, /* as long as allowed */
        {"", "", ""},
        {"abc", "ab", "ac"},
        {"\xC3\xA9\xC3\xA9x", "\xC3\xA9\xC3\xA9", "\xC3\xA9\xC3\xAA"}, /* two code points of two bytes */
        {"a\x7F"
         "b",
         "a\x7F", "a\xC2\x80"},                                   /* one byte becomes two */
        {"a\xDF\xBFx", "a\xDF\xBF", "a\xE0\xA0\x80"},             /* two become three */
        {"a\xEF\xBF\xBFx", "a\xEF\xBF\xBF", "a\xF0\x90\x80\x80"}, /* three become four */
        {"a\xED\x9F\xBFx", "a\xED\x9F\xBF", "a\xEE\x80\x80"},     /* U+D7FF: over the surrogates */
        {"a\xF4\x8F\xBF\xBFx", "a\xF4\x8F\xBF\xBF", "b"},         /* U+10FFFF cannot be raised: its left neighbour */
        {"\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBFx", NULL, NULL},        /* none can */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pml_column_stats c;
        cut(&c, &arena, 2, cases[i].in, cases[i].in);
        if (cases[i].max == NULL) {
            assert_int_equal(c.min.kind, PML_VALUE_NULL);
            assert_int_equal(c.max.kind, PML_VALUE_NULL);
            continue;
        }
        must_be_text(&c.min, cases[i].min);
        must_be_text(&c.max, cases[i].max);
    }
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* Every column of the table below has the same values and another reason to keep or lose them. */
static const pml_field mixed[] = {
    FIELD(0, "none", PML_TYPE_INT),
    FIELD(1, "counts", PML_TYPE_INT),
    FIELD(2, "full", PML_TYPE_VARCHAR),
    FIELD(3, "bytes", PML_TYPE_VARBINARY),
    FIELD(4, "list", PML_TYPE_ARRAY),
    {.id = 5, .name = "fine", .type = {.kind = PML_TYPE_TIMESTAMP, .nullable = true, .precision = 9}},
};
enum { MIXED = 6 };

static void encode_mixed(pml_simple_stats *s, pml_string_list *cols, pml_arena *arena, bool dense)
{
    pml_error err = PML_ERROR_INIT;
    const pml_stats_mode modes[MIXED] = {{PML_STATS_NONE, 0}, {PML_STATS_COUNTS, 0}, {PML_STATS_FULL, 0},
                                         truncate_16,         truncate_16,           truncate_16};
    const pml_value ts = {.kind = PML_VALUE_TIMESTAMP, .ts = {5, 7}};
    const char *const longer = "a text of more than sixteen";
    const pml_column_stats stats[MIXED] = {{0, number(1), number(2), 4},       {1, number(1), number(2), 4},
                                           {2, text(longer), text(longer), 4}, {3, text(longer), text(longer), 4},
                                           {4, unknown, unknown, 4},           {5, ts, ts, 4}};
    must_ok(pml_column_stats__encode(s, cols, arena, mixed, MIXED, modes, stats, dense, &err), &err);
}

static void must_be_mixed(const pml_column_stats out[MIXED])
{
    static const int64_t counts[MIXED] = {-1, 4, 4, 4, -1, 4};
    for (size_t i = 0; i < MIXED; i++) {
        assert_int_equal(out[i].field_id, i);
        assert_int_equal(out[i].null_count, counts[i]);
        assert_int_equal(out[i].min.kind, i == 2 ? PML_VALUE_BYTES : PML_VALUE_NULL);
        assert_int_equal(out[i].max.kind, i == 2 ? PML_VALUE_BYTES : PML_VALUE_NULL);
    }
    must_be_text(&out[2].max, "a text of more than sixteen");
}

static void stats_that_say_nothing_are_left_out_of_a_dense_store(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_simple_stats s;
    pml_string_list cols;
    pml_column_stats out[MIXED];
    static const char *const names[] = {"counts", "full", "bytes", "fine"};
    pml_arena__init(&arena, t->env);
    encode_mixed(&s, &cols, &arena, true);
    assert_true(cols.present);
    assert_int_equal(cols.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(cols.v[i], names[i]);
    must_ok(pml_column_stats__decode(out, t->env, &s, &cols, mixed, MIXED, &err), &err);
    must_be_mixed(out);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_that_say_nothing_are_stored_when_the_store_is_not_dense(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_simple_stats s;
    pml_string_list cols;
    pml_column_stats out[MIXED];
    pml_arena__init(&arena, t->env);
    encode_mixed(&s, &cols, &arena, false);
    assert_false(cols.present);
    assert_int_equal(s.n_null_counts, MIXED);
    must_ok(pml_column_stats__decode(out, t->env, &s, &cols, mixed, MIXED, &err), &err);
    must_be_mixed(out);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_of_no_column_are_an_empty_list_and_empty_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_simple_stats s;
    pml_string_list cols;
    pml_column_stats out;
    const pml_stats_mode mode = {PML_STATS_NONE, 0};
    const pml_column_stats stats = {0, number(1), number(2), 4};
    pml_arena__init(&arena, t->env);
    must_ok(pml_column_stats__encode(&s, &cols, &arena, mixed, 1, &mode, &stats, true, &err), &err);
    must_be_hex(s.min, "000000000000000000000000");
    must_be_hex(s.max, "000000000000000000000000");
    assert_true(s.has_null_counts && s.n_null_counts == 0);
    assert_true(cols.present && cols.n == 0);
    must_ok(pml_column_stats__decode(&out, t->env, &s, &cols, mixed, 1, &err), &err);
    assert_int_equal(out.null_count, -1);
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* ---- reading ---- */

static pml_manifest_entry java_entry(test_env *t, pml_arena *arena, const char *name)
{
    char path[512];
    size_t len;
    pml_error err = PML_ERROR_INIT;
    pml_manifest_entries entries = {0};
    (void)snprintf(path, sizeof path, "%s/meta/data/%s", PML_TEST_SOURCE, name);
    uint8_t *data = test_read_file(path, &len);
    pml_arena__init(arena, t->env);
    must_ok(pml_manifest__decode(&entries, arena, (pml_bytes){data, len}, name, NULL, NULL, &err), &err);
    free(data);
    assert_int_equal(entries.n, 1);
    return entries.v[0];
}

/* Table of manifest-null: 1.4.2, dense, the array column is left out. */
static const pml_field orders[] = {
    FIELD(0, "id", PML_TYPE_INT),
    FIELD(1, "name", PML_TYPE_VARCHAR),
    {.id = 2, .name = "amount", .type = {.kind = PML_TYPE_DECIMAL, .nullable = true, .precision = 12, .scale = 2}},
    FIELD(3, "day", PML_TYPE_DATE),
    {.id = 4, .name = "at", .type = {.kind = PML_TYPE_TIMESTAMP, .nullable = true, .precision = 3}},
    FIELD(5, "ratio", PML_TYPE_DOUBLE),
    FIELD(6, "tags", PML_TYPE_ARRAY),
};

static void must_be_orders(const pml_column_stats *s)
{
    assert_int_equal(s[0].min.i, 0);
    assert_int_equal(s[0].max.i, 9);
    must_be_text(&s[1].min, "a-676");
    must_be_text(&s[1].max, "\xE9\x9B\xB6");
    assert_int_equal(s[2].min.kind, PML_VALUE_DECIMAL);
    assert_true(s[2].min.dec == -150669547825 && s[2].max.dec == 255482539112);
    assert_int_equal(s[3].min.i, -4212); /* 1958-06-21 */
    assert_int_equal(s[3].max.i, 28568); /* 2048-03-20 */
    assert_int_equal(s[4].max.kind, PML_VALUE_TIMESTAMP);
    assert_true(s[4].max.ts.ms == 1684674643730 && s[4].max.ts.nanos == 0); /* 2023-05-21T13:10:43.730 */
    assert_true(s[5].min.d == -2019658549552.4502 && s[5].max.d == 2076493013878.5566);
    assert_int_equal(s[6].min.kind, PML_VALUE_NULL);
    assert_int_equal(s[6].null_count, -1);
    assert_int_equal(s[1].null_count, 1);
    assert_int_equal(s[2].null_count, 1);
    assert_int_equal(s[5].null_count, 0);
}

static void stats_of_java_are_found_by_column_name(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_column_stats out[7];
    const pml_manifest_entry e = java_entry(t, &arena, "manifest-null");
    must_ok(pml_column_stats__decode(out, t->env, &e.file.value_stats, &e.file.value_stats_cols, orders, 7, &err),
            &err);
    must_be_orders(out);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_do_not_depend_on_the_order_of_the_fields(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_field reversed[7];
    pml_column_stats out[7], straight[7];
    const pml_manifest_entry e = java_entry(t, &arena, "manifest-null");
    for (size_t i = 0; i < 7; i++)
        reversed[i] = orders[6 - i];
    must_ok(pml_column_stats__decode(out, t->env, &e.file.value_stats, &e.file.value_stats_cols, reversed, 7, &err),
            &err);
    for (size_t i = 0; i < 7; i++)
        straight[i] = out[6 - i];
    must_be_orders(straight);
    /* A column that the fields lack is passed over. */
    must_ok(pml_column_stats__decode(out, t->env, &e.file.value_stats, &e.file.value_stats_cols, &orders[5], 2, &err),
            &err);
    assert_true(out[0].max.d == 2076493013878.5566);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_of_an_old_release_cover_all_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_column_stats out[6];
    static const pml_field fields[] = {
        FIELD(0, "id", PML_TYPE_INT),
        FIELD(1, "name", PML_TYPE_VARCHAR),
        {.id = 2, .name = "amount", .type = {.kind = PML_TYPE_DECIMAL, .nullable = true, .precision = 12, .scale = 2}},
        {.id = 3, .name = "at", .type = {.kind = PML_TYPE_TIMESTAMP, .nullable = true, .precision = 3}},
        FIELD(4, "day", PML_TYPE_DATE),
        FIELD(5, "tags", PML_TYPE_ARRAY),
    };
    const pml_manifest_entry e = java_entry(t, &arena, "manifest-old-090");
    must_ok(pml_column_stats__decode(out, t->env, &e.file.value_stats, &e.file.value_stats_cols, fields, 6, &err),
            &err);
    must_be_text(&out[1].min, "a1");
    must_be_text(&out[1].max, "a9");
    assert_true(out[2].min.dec == 1001 && out[2].max.dec == 9009);
    assert_true(out[3].min.ts.ms == 1700000000000 && out[3].max.ts.ms == 1700011111103);
    assert_int_equal(out[4].min.i, 19000);
    assert_int_equal(out[1].null_count, 2);
    assert_int_equal(out[5].null_count, -1);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_of_columns_without_values_have_null_counts_only(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_column_stats out[2];
    static const pml_field fields[] = {FIELD(0, "id", PML_TYPE_INT), FIELD(14, "c_string", PML_TYPE_VARCHAR)};
    pml_manifest_entry e = java_entry(t, &arena, "manifest-all-null");
    /* Twenty-five other columns: more than a schema of two may explain away. */
    must_fail_with(
        PML_E_CORRUPT,
        pml_column_stats__decode(out, t->env, &e.file.value_stats, &e.file.value_stats_cols, fields, 2, &err), &err);
    pml_field all[27];
    pml_column_stats many[27];
    for (size_t i = 0; i < 27; i++)
        all[i] =
            (pml_field){.id = (int32_t)i, .name = e.file.value_stats_cols.v[i], .type = fields[i == 0 ? 0 : 1].type};
    must_ok(pml_column_stats__decode(many, t->env, &e.file.value_stats, &e.file.value_stats_cols, all, 27, &err), &err);
    assert_int_equal(many[0].max.i, 9);
    for (size_t i = 1; i < 27; i++) {
        assert_int_equal(many[i].null_count, 10);
        assert_int_equal(many[i].min.kind, PML_VALUE_NULL);
    }
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_that_do_not_fit_their_columns_are_corrupt(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_column_stats out[7];
    const pml_manifest_entry e = java_entry(t, &arena, "manifest-null");
    pml_simple_stats s = e.file.value_stats;
    const pml_string_list all = {0};
    /* six stored columns, seven fields and no list */
    must_fail_with(PML_E_CORRUPT, pml_column_stats__decode(out, t->env, &s, &all, orders, 7, &err), &err);
    s.n_null_counts--;
    must_fail_with(PML_E_CORRUPT, pml_column_stats__decode(out, t->env, &s, &e.file.value_stats_cols, orders, 7, &err),
                   &err);
    s = e.file.value_stats;
    s.max.len -= 8;
    must_fail_with(PML_E_CORRUPT, pml_column_stats__decode(out, t->env, &s, &e.file.value_stats_cols, orders, 7, &err),
                   &err);
    pml_arena__clear(&arena);
    test_env_close(t);
}

static void stats_calls_survive_failing_memory(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_simple_stats s;
    pml_string_list cols;
    pml_column_stats out[2];
    static const pml_field fields[] = {FIELD(0, "a", PML_TYPE_INT), FIELD(1, "b", PML_TYPE_VARCHAR)};
    const pml_stats_mode modes[] = {truncate_16, truncate_16};
    const pml_column_stats stats[] = {{0, number(1), number(1), 1},
                                      {1, text("a"), text("a text of more than sixteen"), 0}};
    pml_arena__init(&arena, t->env);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_arena__clear(&arena);
        test_env_fail_at(t, n);
        rc = pml_column_stats__encode(&s, &cols, &arena, fields, 2, modes, stats, true, &err);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_column_stats__decode(out, t->env, &s, &cols, fields, 2, &err);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    test_env_fail_at(t, 0);
    must_be_text(&out[1].max, "a text of more u");
    pml_arena__clear(&arena);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_of_an_append_file_have_the_bytes_of_java),
        cmocka_unit_test(stats_texts_are_cut_by_code_points_and_the_maximum_is_raised),
        cmocka_unit_test(stats_that_say_nothing_are_left_out_of_a_dense_store),
        cmocka_unit_test(stats_that_say_nothing_are_stored_when_the_store_is_not_dense),
        cmocka_unit_test(stats_of_no_column_are_an_empty_list_and_empty_rows),
        cmocka_unit_test(stats_of_java_are_found_by_column_name),
        cmocka_unit_test(stats_do_not_depend_on_the_order_of_the_fields),
        cmocka_unit_test(stats_of_an_old_release_cover_all_columns),
        cmocka_unit_test(stats_of_columns_without_values_have_null_counts_only),
        cmocka_unit_test(stats_that_do_not_fit_their_columns_are_corrupt),
        cmocka_unit_test(stats_calls_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
