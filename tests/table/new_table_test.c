/* SPDX-License-Identifier: Apache-2.0 */
/* New tables that nobody could open or merge are not made: what Java's SchemaValidation refuses, and merge options of which no function comes. */
#include <stdio.h>
#include <string.h>

#include "support/table_kit.h"

typedef struct wanted {
    const char *keys, *options; /* JSON: primary keys, options */
    const char *words;          /* of the refusal; NULL: it is made */
} wanted;

static int create(pml_table **out, test_env *t, const char *path, const wanted *w, pml_error *err)
{
    char text[1200];
    (void)snprintf(text, sizeof text,
                   "{\"fields\":[{\"name\":\"k\",\"type\":\"INT NOT NULL\"},{\"name\":\"v\",\"type\":\"INT\"},{\"name\":\"s\",\"type\":\"STRING\"},"
                   "{\"name\":\"p\",\"type\":\"STRING NOT NULL\"},{\"name\":\"t\",\"type\":\"TIMESTAMP(3)\"},{\"name\":\"m\",\"type\":\"MAP<INT, INT>\"}],"
                   "\"partitionKeys\":[%s],\"primaryKeys\":[%s],\"options\":{%s}}",
                   strstr(w->options, "\"parted\"") != NULL ? "\"p\"" : "", w->keys, w->options);
    return pml_table_create(out, t->env, path, text, strlen(text), 0, err);
}

static void each_is(const wanted *cases, size_t n)
{
    test_env *t = test_env_open(NULL);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        pml_error err = PML_ERROR_INIT;
        pml_table *table;
        (void)snprintf(name, sizeof name, "t%zu", i);
        int rc = create(&table, t, test_path(t, name), &cases[i], &err);
        if ((rc == PML_OK) != (cases[i].words == NULL) || (rc != PML_OK && strstr(err.message, cases[i].words) == NULL))
            fail_msg("%s: code %d, '%s'", cases[i].options, rc, err.message);
        if (rc != PML_OK)
            assert_true(rc == PML_E_INVAL || rc == PML_E_UNSUPPORTED);
        pml_table_release(table);
    }
    test_env_close(t);
}

#define EACH_IS(cases) each_is(cases, sizeof(cases) / sizeof(cases)[0])
#define KEY     "\"k\""
#define B       "\"bucket\":\"2\""
#define SUMS    B ",\"merge-engine\":\"aggregation\""
#define PARTS   B ",\"merge-engine\":\"partial-update\""

static void columns_that_options_name_exist(void **state)
{
    static const wanted cases[] = {{KEY, B ",\"sequence.field\":\"v, s\"", NULL},
                                   {KEY, B ",\"sequence.field\":\"v,\"", NULL},
                                   {KEY, B ",\"sequence.field\":\"nope\"", "sequence.field names the column 'nope'"},
                                   {KEY, B ",\"sequence.field\":\"\"", "sequence.field names the column ''"},
                                   {KEY, B ",\"sequence.field\":\"v,k, v\"", "sequence.field names the column 'v' twice"},
                                   {"", "\"sequence.field\":\"nope\"", "sequence.field"},
                                   {KEY, B ",\"sequence.field\":\"v\",\"merge-engine\":\"first-row\"", "does not go with merge-engine = first-row"},
                                   {KEY, B ",\"sequence.field\":\"v\",\"parted\":\"1\"", "all partition columns in the primary key"},
                                   {KEY ",\"p\"", B ",\"sequence.field\":\"v\",\"parted\":\"1\"", NULL},
                                   {"", "\"upsert-key\":\"k\"", NULL},
                                   {"", "\"upsert-key\":\"nope\"", "upsert-key names"},
                                   {"", "\"upsert-key\":\"m\"", "cannot be a key"},
                                   {KEY, B ",\"upsert-key\":\"v\"", "does not go with a primary key"},
                                   {"", "\"rowkind.field\":\"nope\"", "rowkind.field names"},
                                   {KEY, B ",\"rowkind.field\":\"s\"", NULL},
                                   {KEY, B ",\"record-level.time-field\":\"nope\"", "record-level.time-field names"},
                                   {KEY, B ",\"record-level.time-field\":\"s\"", "must be INT, BIGINT or TIMESTAMP"},
                                   {KEY, B ",\"record-level.time-field\":\"t\"", NULL},
                                   {"", "\"vector-field\":\"v\"", "no VECTOR"},
                                   {"", "\"fields.zz\":\"a\"", "fields.zz names the column 'zz'"}};
    (void)state;
    EACH_IS(cases);
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    static const wanted cases[] = {{KEY, B ",\"changelog-producer\":\"lookup\",\"streaming-read-overwrite\":\"true\"", "read twice"},
                                   {KEY, B ",\"streaming-read-overwrite\":\"true\"", NULL},
                                   {"", "\"streaming-read-overwrite\":\"true\"", "streaming-read-append-overwrite"},
                                   {"", "\"changelog-producer\":\"lookup\"", "needs a primary key"},
                                   {"", "\"snapshot.num-retained.min\":\"0\"", "snapshot.num-retained.min 0"},
                                   {"", "\"changelog.num-retained.max\":\"5\"", "changelog.num-retained.min 10 and .max 5"},
                                   {"", "\"changelog.num-retained.max\":\"5\",\"snapshot.num-retained.min\":\"5\"", NULL},
                                   {"", "\"partition.expiration-time\":\"1 d\"", "needs partition columns"},
                                   {"", "\"partition.expiration-time\":\"1 d\",\"parted\":\"1\"", NULL},
                                   {KEY, B ",\"merge-engine\":\"first-row\",\"changelog-producer\":\"full-compaction\"", "none and lookup only"},
                                   {KEY, B ",\"deletion-vectors.enabled\":\"true\",\"merge-engine\":\"first-row\"", "deletes no old rows"},
                                   {KEY, B ",\"deletion-vectors.enabled\":\"true\",\"changelog-producer\":\"full-compaction\"", "deletion-vectors"},
                                   {KEY, B ",\"clustering.incremental\":\"true\"", "does not go with a primary key"},
                                   {"", B ",\"bucket-key\":\"k\",\"clustering.incremental\":\"true\"", "bucket-append-ordered = false"},
                                   {"", "\"table-read.sequence-number.enabled\":\"true\"", "needs a primary key"},
                                   {"", "\"full-compaction.delta-commits\":\"3\"", "number of buckets"},
                                   {"", B ",\"bucket-key\":\"k\",\"full-compaction.delta-commits\":\"3\"", NULL},
                                   {"", "\"scan.primary-branch\":\"b\"", "a new table has no branch"},
                                   {"", "\"scan.fallback-branch\":\" \"", NULL}};
    (void)state;
    EACH_IS(cases);
}

static const wanted merges[] = {{KEY, SUMS ",\"fields.v.aggregate-function\":\"sum\",\"fields.s.aggregate-function\":\"listagg\"", NULL},
                                {KEY, PARTS ",\"fields.v.sequence-group\":\"s\",\"fields.s.aggregate-function\":\"listagg\"", NULL},
                                {KEY, SUMS ",\"fields.v.aggregate-function\":\"bogus\"", "'bogus', which does not exist"},
                                {KEY, SUMS ",\"fields.k.aggregate-function\":\"bogus\"", "'bogus', which does not exist"},
                                {KEY, SUMS ",\"fields.default-aggregate-function\":\"bogus\"", "'bogus', which does not exist"},
                                {KEY, SUMS ",\"fields.s.aggregate-function\":\"sum\"", "wants a numeric column"},
                                {KEY, SUMS ",\"sequence.field\":\"v\",\"fields.v.aggregate-function\":\"max\"", "has an aggregate function"},
                                {KEY, PARTS ",\"fields.v.sequence-group\":\"nope\"", "nope"},
                                {KEY, PARTS ",\"fields.v.sequence-group\":\"s\",\"fields.t.sequence-group\":\"s\"", "column s"},
                                {KEY, PARTS ",\"fields.s.aggregate-function\":\"listagg\"", "sequence-group"},
                                {KEY, PARTS ",\"partial-update.remove-record-on-delete\":\"true\",\"ignore-delete\":\"true\"", "ignore-delete"},
                                {KEY, B ",\"fields.v.aggregate-function\":\"bogus\"", NULL} /* never asked for */};

static void rows_can_be_merged(void **state)
{
    (void)state;
    EACH_IS(merges);
}

static void no_failure_of_memory_makes_a_table_that_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        test_env *t = test_env_open(NULL);
        bool reached = true;
        for (long long n = 1; reached; n++) {
            char name[32];
            pml_error err = PML_ERROR_INIT;
            pml_table *table;
            (void)snprintf(name, sizeof name, "t%lld", n);
            test_env_fail_at(t, n);
            int rc = create(&table, t, test_path(t, name), &merges[i], &err);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            if (rc == PML_OK)
                assert_null(merges[i].words);
            else if (rc != PML_E_NOMEM)
                must_fail_with(merges[i].words == NULL ? PML_E_NOMEM : PML_E_INVAL, rc, &err);
            pml_table_release(table);
        }
        test_env_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_that_options_name_exist), cmocka_unit_test(options_that_contradict_each_other_are_refused),
                                       cmocka_unit_test(rows_can_be_merged), cmocka_unit_test(no_failure_of_memory_makes_a_table_that_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
