/* SPDX-License-Identifier: Apache-2.0 */
/* Which options make which function, and which are refused. What functions do is in aggregation_test.c and partial_update_test.c.
   */
#include "recorded_merge.h"

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

static void must_say(const char *words)
{
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

/* k INT, a INT, g INT, s STRING, h INT, l ARRAY<ROW>, b BYTES, m MAP<INT,ROW>, v VARIANT. The options are set beside the parser,
   which checks some of them itself. */
static pml_table_schema *schema_with(const pml_option *options, size_t n)
{
    pml_table_schema *s;
    static const char text[] = "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT "
                               "NULL\"},{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"g\",\"type\":\"INT\"},"
                               "{\"name\":\"s\",\"type\":\"STRING\"},{\"name\":\"h\",\"type\":\"INT\"},{\"name\":\"l\","
                               "\"type\":\"ARRAY<ROW<p INT, q MAP<INT, INT>>>\"},"
                               "{\"name\":\"b\",\"type\":\"BYTES\"},{\"name\":\"m\",\"type\":\"MAP<ARRAY<INT>, "
                               "INT>\"},{\"name\":\"w\",\"type\":\"MAP<INT, ROW<x INT, y INT>>\"}],"
                               "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"}}";
    must_ok(pml_table_schema__parse_request(&s, t->env, test_text(text), &err), &err);
    s->n_options = n;
    s->options = pml_arena__copy(&s->arena, options, n * sizeof *options);
    return s;
}

/* The function for a read of the named columns, "" for all. */
static int make(pml_merge_function *f, const pml_option *options, size_t n, const char *columns)
{
    static pml_field fields[16];
    static pml_merge_layout layout;
    static int32_t key;
    size_t n_fields = 0;
    pml_table_schema *s = schema_with(options, n);
    for (size_t i = 0; i < s->n_fields; i++)
        if (columns[0] == '\0' || strstr(columns, s->fields[i].name) != NULL)
            fields[n_fields++] = s->fields[i];
    fields[n_fields] = (pml_field){.name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}};
    fields[n_fields + 1] = (pml_field){.name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}};
    layout = (pml_merge_layout){.fields = fields,
                                .n_fields = n_fields + 2,
                                .keys = &key,
                                .n_keys = 1,
                                .sequence_number = (int32_t)n_fields,
                                .row_kind = (int32_t)n_fields + 1};
    int rc = pml_merge_engine__new(f, t->env, &layout, s, NULL, 0, &err);
    if (rc == PML_OK && f->drop != NULL)
        f->drop(f->self);
    pml_table_schema__release(s);
    return rc;
}

#define refused(code, words, columns, ...)                                                              \
    do {                                                                                                \
        const pml_option options_[] = {__VA_ARGS__};                                                    \
        pml_merge_function f_;                                                                          \
        must_fail_with(code, make(&f_, options_, sizeof options_ / sizeof options_[0], columns), &err); \
        must_say(words);                                                                                \
    } while (0)
#define made(kind_, columns, ...)                                                          \
    do {                                                                                   \
        const pml_option options_[] = {__VA_ARGS__};                                       \
        pml_merge_function f_;                                                             \
        must_ok(make(&f_, options_, sizeof options_ / sizeof options_[0], columns), &err); \
        assert_int_equal(f_.kind, kind_);                                                  \
    } while (0)
#define AGG                           \
    {                                 \
        "merge-engine", "aggregation" \
    }
#define PU                               \
    {                                    \
        "merge-engine", "partial-update" \
    }

static void engines_are_chosen_by_name(void **state)
{
    (void)state;
    made(PML_MERGE_LAST, "", {"merge-engine", "deduplicate"});
    made(PML_MERGE_LAST, "", {"bucket", "1"});
    made(PML_MERGE_FIRST, "", {"merge-engine", "first-row"});
    made(PML_MERGE_COLUMNS, "", {"merge-engine", "PARTIAL-UPDATE"});
    made(PML_MERGE_COLUMNS, "", AGG);
    refused(PML_E_INVAL, "\"last\"", "", {"merge-engine", "last"});
}

static void ignore_delete_has_older_names(void **state)
{
    (void)state;
    static const char *const names[] = {"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete",
                                        "partial-update.ignore-delete"};
    for (size_t i = 0; i < 4; i++) {
        pml_merge_function f;
        const pml_option options[] = {{names[i], "TRUE"}};
        must_ok(make(&f, options, 1, ""), &err);
        assert_true(f.ignore_delete);
        const pml_option shadowed[] = {{"ignore-delete", "false"}, {names[i], i == 0 ? "false" : "true"}};
        must_ok(make(&f, shadowed + (i == 0), i == 0 ? 1 : 2, ""), &err);
        assert_false(f.ignore_delete);
    }
    refused(PML_E_INVAL, "ignore-delete", "", {"ignore-delete", "yes"});
}

static void overrides_win(void **state)
{
    (void)state;
    const pml_option options[] = {{"merge-engine", "first-row"}},
                     overrides[] = {{"merge-engine", "x"}, {"merge-engine", "deduplicate"}};
    const pml_merge_layout layout = {.n_fields = 0};
    pml_merge_function f;
    pml_table_schema *s = schema_with(options, 1);
    must_ok(pml_merge_engine__new(&f, t->env, &layout, s, overrides, 2, &err), &err);
    assert_int_equal(f.kind, PML_MERGE_LAST);
    pml_table_schema__release(s);
}

static void wrong_functions_are_refused(void **state)
{
    (void)state;
    refused(PML_E_SCHEMA, "no aggregate function \"avg\"", "", AGG, {"fields.a.aggregate-function", "avg"});
    refused(PML_E_SCHEMA, "wants a numeric column", "", AGG, {"fields.s.aggregate-function", "sum"});
    refused(PML_E_SCHEMA, "wants a BOOLEAN column", "", AGG, {"fields.a.aggregate-function", "bool_or"});
    refused(PML_E_SCHEMA, "wants a STRING column", "", AGG, {"fields.a.aggregate-function", "listagg"});
    refused(PML_E_SCHEMA, "wants an ARRAY column", "", AGG, {"fields.a.aggregate-function", "collect"});
    refused(PML_E_SCHEMA, "wants an ARRAY<ROW> column", "", AGG, {"fields.a.aggregate-function", "nested_update"});
    refused(PML_E_SCHEMA, "wants a MAP column", "", AGG, {"fields.l.aggregate-function", "merge_map"});
    refused(PML_E_SCHEMA, "wants a VARBINARY column", "", AGG, {"fields.s.aggregate-function", "rbm32"});
    refused(PML_E_SCHEMA, "nested-key", "", AGG, {"fields.l.aggregate-function", "nested_partial_update"});
    refused(PML_E_SCHEMA, "no member z", "", AGG, {"fields.l.aggregate-function", "nested_update"},
            {"fields.l.nested-key", "p,z"});
    refused(PML_E_SCHEMA, "wants a time of type STRING", "", AGG,
            {"fields.w.aggregate-function", "merge_map_with_keytime"});
    refused(PML_E_SCHEMA, "no member z", "", AGG, {"fields.w.aggregate-function", "merge_map_with_keytime"},
            {"fields.w.ts-field", "z"});
    refused(PML_E_INVAL, "fields.l.count-limit", "", AGG, {"fields.l.aggregate-function", "nested_update"},
            {"fields.l.count-limit", "many"});
    refused(PML_E_INVAL, "fields.a.ignore-retract", "", AGG, {"fields.a.ignore-retract", "1"});
    refused(PML_E_SCHEMA, "exclude each other", "", AGG, {"aggregation.remove-record-on-delete", "true"},
            {"fields.a.ignore-retract", "true"});
}

static void functions_that_are_not_built_are_refused_by_name(void **state)
{
    (void)state;
    refused(PML_E_UNSUPPORTED, "needs aggregator:hll_sketch", "", AGG, {"fields.b.aggregate-function", "hll_sketch"});
    refused(PML_E_UNSUPPORTED, "needs aggregator:hll_sketch", "", AGG, {"fields.b.aggregate-function", "hll_sketch"});
    refused(PML_E_UNSUPPORTED, "needs aggregator:theta_sketch", "", AGG,
            {"fields.b.aggregate-function", "theta_sketch"});
    refused(PML_E_UNSUPPORTED, "needs aggregator:collect with distinct", "", AGG,
            {"fields.l.aggregate-function", "collect"}, {"fields.l.distinct", "true"});
    refused(PML_E_UNSUPPORTED, "needs aggregator:merge_map over keys", "", AGG,
            {"fields.m.aggregate-function", "merge_map"});
    refused(PML_E_UNSUPPORTED, "nested-sequence-field", "", AGG, {"fields.l.aggregate-function", "nested_update"},
            {"fields.l.nested-sequence-field", "p"});
    made(PML_MERGE_COLUMNS, "k,a", AGG, {"fields.b.aggregate-function", "hll_sketch"}); /* b is not read */
}

static void groups_that_java_refuses_are_refused(void **state)
{
    (void)state;
    refused(PML_E_SCHEMA, "names the column \" s\"", "", PU, {"fields.g.sequence-group", "a, s"});
    refused(PML_E_SCHEMA, "names the column \"x\"", "", PU, {"fields.x.sequence-group", "a"});
    refused(PML_E_SCHEMA, "names the column \"\"", "", PU, {"fields.g.sequence-group", ""});
    refused(PML_E_SCHEMA, "names no column", "", PU, {"fields.sequence-group", "a"});
    refused(PML_E_SCHEMA, "named twice", "", PU, {"fields.g.sequence-group", "a,a"});
    refused(PML_E_SCHEMA, "named twice", "", PU, {"fields.g.sequence-group", "a"}, {"fields.h.sequence-group", "s,a"});
    refused(PML_E_UNSUPPORTED, "needs sequence-group: column g", "", PU, {"fields.g.sequence-group", "a"},
            {"fields.g,h.sequence-group", "s"});
    refused(PML_E_UNSUPPORTED, "needs sequence-group: column a", "", PU, {"fields.g.sequence-group", "a"},
            {"fields.a.sequence-group", "s"});
    refused(PML_E_UNSUPPORTED, "needs sequence-group: column g", "", PU, {"fields.g.sequence-group", "a"},
            {"fields.h.sequence-group", "g"});
    refused(PML_E_UNSUPPORTED, "version of type MAP", "", PU, {"fields.m.sequence-group", "a"});
    refused(PML_E_SCHEMA, "remove-record-on-sequence-group", "", PU, {"fields.g.sequence-group", "a"},
            {"partial-update.remove-record-on-sequence-group", "g,a"});
    refused(PML_E_SCHEMA, "wants a sequence-group", "", PU, {"fields.a.aggregate-function", "sum"});
    refused(PML_E_SCHEMA, "wants a sequence-group", "k,g", PU, {"fields.default-aggregate-function", "max"},
            {"fields.g.sequence-group", "a"});
    made(PML_MERGE_COLUMNS, "", PU, {"fields.default-aggregate-function", "last_non_null_value"});
    made(PML_MERGE_COLUMNS, "", PU, {"fields.g.sequence-group", "g,a,,"}, {"fields.h.sequence-group", "s"});
    refused(PML_E_SCHEMA, "exclude each other", "", PU, {"ignore-delete", "true"},
            {"partial-update.remove-record-on-delete", "true"});
    refused(PML_E_SCHEMA, "remove-record-on-sequence-group exclude", "", PU, {"ignore-delete", "true"},
            {"fields.g.sequence-group", "a"}, {"partial-update.remove-record-on-sequence-group", "g"});
    refused(PML_E_SCHEMA, "does not go with sequence groups", "", PU,
            {"partial-update.remove-record-on-delete", "true"}, {"fields.g.sequence-group", "a"});
    refused(PML_E_INTERNAL, "lacks a version column", "k,a", PU, {"fields.g.sequence-group", "a"});
}

static void sequence_fields_that_java_refuses_are_refused(void **state)
{
    (void)state;
    refused(PML_E_SCHEMA, "first-row", "", {"merge-engine", "first-row"}, {"sequence.field", "g"});
    refused(PML_E_SCHEMA, "\"x\"", "", AGG, {"sequence.field", "g, x"});
    refused(PML_E_SCHEMA, "has an aggregate function", "", AGG, {"sequence.field", "g"},
            {"fields.g.aggregate-function", "sum"});
}

static const char *needs(const pml_option *options, size_t n, const char *wanted)
{
    static char names[64];
    bool columns[16];
    pml_table_schema *s = schema_with(options, n);
    for (size_t i = 0; i < s->n_fields; i++)
        columns[i] = strstr(wanted, s->fields[i].name) != NULL;
    must_ok(pml_merge_engine__needs(columns, t->env, s, NULL, 0, &err), &err);
    names[0] = '\0';
    for (size_t i = 0, at = 0; i < s->n_fields; i++)
        if (columns[i])
            at += (size_t)snprintf(names + at, sizeof names - at, "%s", s->fields[i].name);
    pml_table_schema__release(s);
    return names;
}

static void a_projection_needs_keys_sequence_fields_and_versions(void **state)
{
    (void)state;
    const pml_option groups[] = {PU, {"fields.g,h.sequence-group", "a"}, {"sequence.field", "s"}},
                     plain[] = {AGG, {"sequence.field", "s, h"}};
    const pml_option chained[] = {PU, {"fields.g.sequence-group", "s"}, {"sequence.field", "s"}};
    assert_string_equal(needs(groups, 3, "a"), "kagsh");
    assert_string_equal(needs(groups, 3, "b"), "ksb");
    assert_string_equal(needs(groups, 3, "h"), "kgsh");
    assert_string_equal(needs(plain, 2, "a"), "kash");
    assert_string_equal(needs(plain, 1, "a"), "ka");
    assert_string_equal(needs(chained, 3, "a"), "kags"); /* a group around a sequence field, as in Java */
}

static void no_memory_is_said_and_nothing_stays(void **state)
{
    (void)state;
    const pml_option options[] = {PU,
                                  {"fields.g,h.sequence-group", "a,s,l,b,w"},
                                  {"fields.a.aggregate-function", "sum"},
                                  {"fields.s.aggregate-function", "listagg"},
                                  {"fields.l.aggregate-function", "nested_update"},
                                  {"fields.l.nested-key", "p"},
                                  {"fields.b.aggregate-function", "rbm32"},
                                  {"fields.w.aggregate-function", "merge_map"}};
    pml_table_schema *s = schema_with(options, sizeof options / sizeof options[0]);
    const pml_merge_layout layout = {
        .fields = s->fields, .n_fields = s->n_fields, .sequence_number = -1, .row_kind = -1};
    bool reached = true;
    for (long long i = 1; reached; i++) {
        pml_merge_function f = {.drop = NULL};
        test_env_fail_at(t, i);
        int rc = pml_merge_engine__new(&f, t->env, &layout, s, NULL, 0, &err);
        reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_int_equal(rc, reached ? PML_E_NOMEM : PML_OK);
        if (f.drop != NULL)
            f.drop(f.self);
    }
    pml_table_schema__release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(engines_are_chosen_by_name, given, closed),
        cmocka_unit_test_setup_teardown(ignore_delete_has_older_names, given, closed),
        cmocka_unit_test_setup_teardown(overrides_win, given, closed),
        cmocka_unit_test_setup_teardown(wrong_functions_are_refused, given, closed),
        cmocka_unit_test_setup_teardown(functions_that_are_not_built_are_refused_by_name, given, closed),
        cmocka_unit_test_setup_teardown(groups_that_java_refuses_are_refused, given, closed),
        cmocka_unit_test_setup_teardown(sequence_fields_that_java_refuses_are_refused, given, closed),
        cmocka_unit_test_setup_teardown(a_projection_needs_keys_sequence_fields_and_versions, given, closed),
        cmocka_unit_test_setup_teardown(no_memory_is_said_and_nothing_stays, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
