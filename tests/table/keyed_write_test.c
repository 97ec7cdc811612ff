/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to tables with a primary key is what a plain model says, whichever way it got to the files. */
#include <stdio.h>
#include <stdlib.h>

#include "support/keyed_kit.h"
#include "table/read_merge.h"

static test_env *seeded(void)
{
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    return t;
}

static pml_writer *writer_of(table_kit *k)
{
    pml_writer *w;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    return w;
}

static pml_messages *prepared(pml_writer *w)
{
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    return m;
}

/* ---- against the model ---- */

typedef struct layout {
    const char *options;
    keyed_rule rule;
    bool partitioned;
    size_t files_min; /* of a prepare with 3 * 400 rows in it */
} layout;

static const layout layouts[] = {
    {"\"bucket\":\"1\"", KEYED_LAST, false, 1},
    {"\"bucket\":\"3\"", KEYED_LAST, true, 6},
    {"\"bucket\":\"2\",\"data-file.thin-mode\":\"true\"", KEYED_LAST, true, 4},
    {"\"bucket\":\"2\",\"write-buffer-size\":\"10 kb\"", KEYED_LAST, true, 6},
    {"\"bucket\":\"1\",\"write-buffer-size\":\"1 b\",\"data-file.thin-mode\":\"true\"", KEYED_LAST, false, 3},
    {"\"bucket\":\"2\",\"target-file-row-num\":\"50\"", KEYED_LAST, false, 2},
    {"\"bucket\":\"2\",\"sequence.field\":\"s\"", KEYED_SEQUENCE, true, 4},
    {"\"bucket\":\"1\",\"sequence.field\":\"s\",\"sequence.field.sort-order\":\"descending\"", KEYED_DESCENDING, false, 1},
    {"\"bucket\":\"1\",\"sequence.field\":\"s\",\"write-buffer-size\":\"20 kb\"", KEYED_SEQUENCE, false, 2},
    {"\"bucket\":\"2\",\"bucket-key\":\"id\",\"changelog-producer\":\"full-compaction\"", KEYED_LAST, true, 4},
};

static void upserts_and_deletes_agree_with_the_model(void **state)
{
    (void)state;
    keyed_row *rows = calloc(400, sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        test_env *t = seeded();
        table_kit k;
        const layout *l = &layouts[i];
        keyed_model m = keyed_model_new(l->rule, l->partitioned);
        pml_error err = PML_ERROR_INIT;
        keyed_create(&k, t, test_path(t, "t"), l->partitioned, l->options);
        pml_writer *w = writer_of(&k);
        for (int commit = 0; commit < 4; commit++) {
            for (int batch = 0; batch < 3; batch++) {
                size_t n = commit == 1 ? 1 : 400;
                keyed_random(rows, n, t, 150, 30);
                must_ok(keyed_write(&k, w, rows, n, KEYED_WITH_KINDS, &err), &err);
                keyed_model_apply(&m, rows, n);
            }
            pml_messages *made = prepared(w);
            if (commit != 1)
                assert_true((size_t)pml_messages_files(made) >= l->files_min);
            (void)table_kit_commit(&k, made);
            keyed_must_hold(&k, &m);
            if (commit == 2) { /* another writer goes on where this one ended */
                pml_writer_close(w);
                w = writer_of(&k);
            }
        }
        pml_writer_close(w);
        keyed_model_free(&m);
        table_kit_close(&k);
        test_env_close(t);
    }
    free(rows);
}

/* More than a run, and more than a file: 70,000 rows over 30,000 keys, in an order and in none. */
static void many_rows_become_several_runs_and_files(void **state)
{
    (void)state;
    enum { N = 70000, KEYS = 30000, BATCH = 10000 };
    test_env *t = seeded();
    keyed_row *rows = calloc(N, sizeof *rows), *found;
    int64_t *last = calloc(KEYS, sizeof *last);
    pml_error err = PML_ERROR_INIT;
    table_kit k;
    assert_non_null(rows);
    assert_non_null(last);
    keyed_create(&k, t, test_path(t, "t"), false, "\"bucket\":\"1\",\"target-file-row-num\":\"9000\"");
    for (int64_t i = 0; i < N; i++) {
        rows[i] = (keyed_row){.id = i < 20000 ? i : (int64_t)(test_random(t) % KEYS), .p = 7, .n = KEYED_NULL, .s = 1, .v = i};
        last[rows[i].id] = i + 1;
    }
    pml_writer *w = writer_of(&k);
    for (size_t at = 0; at < N; at += BATCH)
        must_ok(keyed_write(&k, w, rows + at, BATCH, KEYED_ALL_INSERTS, &err), &err);
    pml_messages *made = prepared(w);
    pml_writer_close(w);
    assert_in_range(pml_messages_files(made), 2, 4);
    (void)table_kit_commit(&k, made);
    size_t n = keyed_read(&found, &k), at = 0;
    for (int64_t id = 0; id < KEYS; id++)
        if (last[id] > 0) {
            assert_int_equal(found[at].id, id);
            assert_int_equal(found[at++].v, last[id] - 1);
        }
    assert_int_equal(n, at);
    free(found);
    free(last);
    free(rows);
    table_kit_close(&k);
    test_env_close(t);
}

/* ---- other engines ---- */

/* parts: also when some rows are merged before others. With last_non_null_value out of order that is another result, in Java too: what
   older rows have is then not older than a merged row of which only the sequence field is new. */
static const struct {
    const char *options;
    bool parts, deletes;
} engines[] = {
    {"\"merge-engine\":\"partial-update\"", true, false},
    {"\"merge-engine\":\"partial-update\",\"fields.s.sequence-group\":\"n,v\"", true, false},
    {"\"merge-engine\":\"partial-update\",\"fields.s.sequence-group\":\"n,v\",\"fields.n.aggregate-function\":\"sum\","
     "\"fields.v.aggregate-function\":\"last_non_null_value\"",
     false, false},
    {"\"merge-engine\":\"partial-update\",\"ignore-delete\":\"true\"", true, true},
    {"\"merge-engine\":\"aggregation\",\"fields.n.aggregate-function\":\"sum\",\"fields.s.aggregate-function\":\"max\","
     "\"fields.v.aggregate-function\":\"first_non_null_value\"",
     true, false},
    {"\"merge-engine\":\"aggregation\",\"fields.n.aggregate-function\":\"sum\",\"fields.default-aggregate-function\":"
     "\"last_non_null_value\",\"sequence.field\":\"s\"",
     false, false},
    {"\"merge-engine\":\"deduplicate\",\"sequence.field\":\"n,s\"", true, true},
};

/* Rows that are merged on their way to a file, some of them in several flushes, are those that a read merges from one file each. */
static void flush_must_agree_with_read(const char *engine, bool parts, bool deletes, uint64_t round)
{
    enum { N = 24 };
    test_env *t = seeded();
    table_kit at_once, one_by_one;
    keyed_row rows[N], *a, *b;
    char options[500];
    pml_error err = PML_ERROR_INIT;
    t->random_state += round;
    (void)snprintf(options, sizeof options, "\"bucket\":\"1\",%s%s", engine, parts ? ",\"write-buffer-size\":\"300 b\"" : "");
    keyed_create(&at_once, t, test_path(t, "a"), false, options);
    keyed_create(&one_by_one, t, test_path(t, "b"), false, options);
    keyed_random(rows, N, t, 6, deletes ? 30 : 0);
    for (size_t r = 0; r < N; r++)
        keyed_upsert(&one_by_one, &rows[r], 1);
    pml_writer *w = writer_of(&at_once);
    for (size_t r = 0; r < N; r += 6)
        must_ok(keyed_write(&at_once, w, rows + r, 6, KEYED_WITH_KINDS, &err), &err);
    (void)table_kit_commit(&at_once, prepared(w));
    pml_writer_close(w);
    size_t n = keyed_read(&a, &at_once);
    assert_int_equal(n, keyed_read(&b, &one_by_one));
    if (n > 0 && memcmp(a, b, n * sizeof *a) != 0)
        fail_msg("%s", options);
    free(a);
    free(b);
    table_kit_close(&at_once);
    table_kit_close(&one_by_one);
    test_env_close(t);
}

static void what_a_flush_merges_is_what_a_read_merges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        for (int parts = 0; parts <= engines[i].parts; parts++)
            flush_must_agree_with_read(engines[i].options, parts == 1, engines[i].deletes, 2 * i + (uint64_t)parts);
}

/* Opens the table again, with other words in its schema. */
static void reopen_with(table_kit *k, const char *from, const char *to)
{
    char path[300], schema[340];
    (void)snprintf(path, sizeof path, "%s", k->table->path);
    (void)snprintf(schema, sizeof schema, "%s/schema/schema-0", path);
    kit_replace_in_file(schema, from, to);
    pml_table_release(k->table);
    table_kit_init(k, k->t, kit_open(k->t, path));
}

/* Readers see nothing of level 0 in these tables until somebody compacts them. */
static void rows_wait_for_a_compaction_with_first_row_and_deletion_vectors(void **state)
{
    (void)state;
    enum { N = 300 };
    static const struct {
        const char *options, *from, *to;
        keyed_rule rule;
    } cases[] = {
        {"\"bucket\":\"2\",\"merge-engine\":\"first-row\"", "first-row", "deduplicate", KEYED_FIRST},
        {"\"bucket\":\"2\",\"deletion-vectors.enabled\":\"true\"", "deletion-vectors.enabled\" : \"true", "deletion-vectors.enabled\" : \"false",
         KEYED_LAST},
    };
    for (size_t i = 0; i < 2; i++) {
        test_env *t = seeded();
        table_kit k;
        keyed_row rows[N], *found;
        keyed_model m = keyed_model_new(cases[i].rule, false);
        keyed_create(&k, t, test_path(t, "t"), false, cases[i].options);
        keyed_random(rows, N, t, 90, i == 0 ? 0 : 30);
        keyed_upsert(&k, rows, N);
        keyed_model_apply(&m, rows, N);
        assert_int_equal(keyed_read(&found, &k), 0);
        free(found);
        reopen_with(&k, cases[i].from, cases[i].to); /* to look into the files */
        keyed_must_hold(&k, &m);
        keyed_model_free(&m);
        table_kit_close(&k);
        test_env_close(t);
    }
}

/* ---- kinds of rows ---- */

/* What these options make of +I, -D, +U and -U, of a key each. */
static void options_must_leave(const char *options, int with_kinds, int64_t n_visible, int64_t n_written)
{
    static const keyed_row inserts[] = {{1, 1, 1, 1, 1, 0}, {2, 1, 1, 1, 1, 0}, {3, 1, 1, 1, 1, 0}, {4, 1, 1, 1, 1, 0}};
    static const keyed_row changes[] = {{1, 1, 2, 1, 2, 0}, {2, 1, 2, 1, 2, 1}, {3, 1, 2, 1, 2, 2}, {4, 1, 2, 1, 2, 3}};
    test_env *t = seeded();
    table_kit k;
    keyed_row *found;
    pml_error err = PML_ERROR_INIT;
    keyed_create(&k, t, test_path(t, "t"), true, options);
    keyed_upsert(&k, inserts, 4);
    pml_writer *w = writer_of(&k);
    must_ok(keyed_write(&k, w, changes, 4, with_kinds, &err), &err);
    pml_messages *m = prepared(w);
    assert_int_equal(pml_messages_rows(m), n_written);
    (void)table_kit_commit(&k, m);
    pml_writer_close(w);
    assert_int_equal(keyed_read(&found, &k), n_visible);
    free(found);
    table_kit_close(&k);
    test_env_close(t);
}

static void kinds_come_from_a_column_an_option_or_are_inserts(void **state)
{
    (void)state;
    options_must_leave("\"bucket\":\"1\"", KEYED_WITH_KINDS, 2, 4);
    options_must_leave("\"bucket\":\"1\"", KEYED_ALL_INSERTS, 4, 4);
    options_must_leave("\"bucket\":\"1\",\"rowkind.field\":\"k\"", KEYED_ALL_INSERTS, 2, 4);
    options_must_leave("\"bucket\":\"1\",\"ignore-delete\":\"true\"", KEYED_WITH_KINDS, 4, 2);
    options_must_leave("\"bucket\":\"3\",\"ignore-delete\":\"true\"", KEYED_WITH_KINDS, 4, 2);
    options_must_leave("\"bucket\":\"1\",\"ignore-update-before\":\"true\"", KEYED_WITH_KINDS, 3, 3);
    options_must_leave("\"bucket\":\"2\",\"ignore-update-before\":\"true\",\"rowkind.field\":\"k\"", KEYED_ALL_INSERTS, 3, 3);
    options_must_leave("\"bucket\":\"1\",\"merge-engine\":\"first-row\",\"ignore-delete\":\"true\"", KEYED_WITH_KINDS, 0, 2);
}

/* The writer goes on as if nothing had been, and the batch is whole. */
static void write_must_refuse(const char *options, int8_t kind, int code, const char *words)
{
    test_env *t = seeded();
    table_kit k;
    keyed_row rows[40], *found;
    pml_error err = PML_ERROR_INIT;
    keyed_create(&k, t, test_path(t, "t"), true, options);
    keyed_random(rows, 40, t, 1000, 0);
    pml_writer *w = writer_of(&k);
    must_ok(keyed_write(&k, w, rows, 40, KEYED_WITH_KINDS, &err), &err);
    rows[31].kind = kind;
    for (size_t n = 32; n <= 40; n += 8) {
        must_fail_with(code, keyed_write(&k, w, rows, n, KEYED_WITH_KINDS, &err), &err);
        if (strstr(err.message, words) == NULL || strstr(err.message, "row 31") == NULL)
            fail_msg("'%s' does not say '%s'", err.message, words);
    }
    must_fail_with(code, keyed_write(&k, w, rows + 31, 1, KEYED_WITH_KINDS, &err), &err);
    (void)table_kit_commit(&k, prepared(w));
    pml_writer_close(w);
    if (strstr(options, "first-row") == NULL) {
        assert_in_range(keyed_read(&found, &k), 1, 40);
        free(found);
    }
    table_kit_close(&k);
    test_env_close(t);
}

static void rows_that_cannot_be_merged_are_refused_by_the_write(void **state)
{
    (void)state;
#define PARTIAL   "\"bucket\":\"2\",\"merge-engine\":\"partial-update\""
#define AGGREGATE "\"bucket\":\"2\",\"merge-engine\":\"aggregation\",\"fields.n.aggregate-function\":\"sum\""
    write_must_refuse("\"bucket\":\"1\"", 4, PML_E_INVAL, "_VALUE_KIND is 4");
    write_must_refuse("\"bucket\":\"1\"", -1, PML_E_INVAL, "_VALUE_KIND is -1");
    write_must_refuse("\"bucket\":\"2\",\"merge-engine\":\"first-row\"", 3, PML_E_INVAL, "first-row takes no rows of kind -D");
    write_must_refuse("\"bucket\":\"2\",\"merge-engine\":\"first-row\"", 1, PML_E_INVAL, "first-row takes no rows of kind -U");
    write_must_refuse(PARTIAL, 3, PML_E_INVAL, "partial-update takes no rows of kind -D");
    write_must_refuse(PARTIAL, 1, PML_E_INVAL, "partial-update takes no rows of kind -U");
    write_must_refuse(AGGREGATE ",\"fields.s.aggregate-function\":\"max\"", 3, PML_E_INVAL, "fields.s.ignore-retract");
}

static void wrong_kinds_in_other_forms_are_refused(void **state)
{
    (void)state;
    test_env *t = seeded();
    table_kit k;
    const keyed_row row = {1, 1, 1, 1, 1, 0};
    struct ArrowArray batch;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    keyed_create(&k, t, test_path(t, "t"), false, "\"bucket\":\"1\",\"rowkind.field\":\"k\"");
    pml_writer *w = writer_of(&k);
    for (int i = 0; i < 2; i++) { /* k is '+X', then null */
        const pml_value x = {.kind = i == 0 ? PML_VALUE_BYTES : PML_VALUE_NULL, .bytes = {(const uint8_t *)"+X", 2}};
        pml_shared *shared;
        struct ArrowArray other, extra;
        const int32_t columns[] = {0, 1, 2, 3, 4, -1};
        keyed_batch(&batch, &k, &row, 1, KEYED_ALL_INSERTS);
        must_ok(pml_batch__constant(&extra, t->env, &k.fields[5].type, &x, 1, NULL), NULL);
        must_ok(pml_shared__new(&shared, t->env, &batch, NULL), NULL);
        must_ok(pml_shared__slice(&other, shared, 0, 1, columns, 6, &extra, NULL), NULL);
        pml_shared__release(shared);
        must_ok(pml_table_arrow_schema(&schema, k.table, NULL), NULL);
        must_fail_with(PML_E_INVAL, pml_writer_write(w, &other, &schema, &err), &err);
        assert_non_null(strstr(err.message, i == 0 ? "column k, which gives the kind of a row, is +X" : "is null"));
        assert_non_null(other.release);
        pml_array__release(&other);
        pml_schema__release(&schema);
    }
    pml_writer_close(w);
    table_kit_close(&k);
    /* The option must name a text column. */
    keyed_create(&k, t, test_path(t, "u"), false, "\"bucket\":\"1\",\"rowkind.field\":\"n\"");
    must_fail_with(PML_E_SCHEMA, pml_writer_open(&w, k.table, &err), &err);
    assert_non_null(strstr(err.message, "is no STRING"));
    table_kit_close(&k);
    test_env_close(t);
}

static void tables_without_a_key_take_inserts_only(void **state)
{
    (void)state;
    test_env *t = seeded();
    table_kit k;
    struct ArrowArray batch, whole;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    char *json = kit_schema_json("", "");
    table_kit_create(&k, t, test_path(t, "t"), json);
    free(json);
    pml_field *fields = calloc(k.n_fields + 1, sizeof *fields);
    assert_non_null(fields);
    memcpy(fields, k.fields, k.n_fields * sizeof *fields);
    fields[k.n_fields] = pml_field_value_kind;
    pml_writer *w = writer_of(&k);
    for (int kind = 0; kind < 4; kind++) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = kind};
        struct ArrowArray extra;
        pml_shared *shared;
        int32_t columns[32];
        table_kit_batch(&batch, &k, 5);
        k.absent[k.n_batches - 1] = kind != 0;
        must_ok(pml_batch__constant(&extra, t->env, &pml_field_value_kind.type, &v, 5, NULL), NULL);
        must_ok(pml_shared__new(&shared, t->env, &batch, NULL), NULL);
        for (size_t i = 0; i <= k.n_fields; i++)
            columns[i] = i == k.n_fields ? -1 : (int32_t)i;
        must_ok(pml_shared__slice(&whole, shared, 0, 5, columns, k.n_fields + 1, &extra, NULL), NULL);
        pml_shared__release(shared);
        must_ok(pml_type__export(&schema, t->env, fields, k.n_fields + 1, NULL), NULL);
        if (kind == 0) {
            must_ok(pml_writer_write(w, &whole, &schema, &err), &err);
        } else {
            must_fail_with(PML_E_UNSUPPORTED, pml_writer_write(w, &whole, &schema, &err), &err);
            assert_non_null(strstr(err.message, "needs primary-key: row 0 is of kind"));
        }
        pml_array__release(&whole);
        pml_schema__release(&schema);
    }
    (void)table_kit_commit(&k, prepared(w));
    pml_writer_close(w);
    table_kit_must_read(&k, &(kit_read){0});
    free(fields);
    table_kit_close(&k);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upserts_and_deletes_agree_with_the_model),
        cmocka_unit_test(many_rows_become_several_runs_and_files),
        cmocka_unit_test(what_a_flush_merges_is_what_a_read_merges),
        cmocka_unit_test(rows_wait_for_a_compaction_with_first_row_and_deletion_vectors),
        cmocka_unit_test(kinds_come_from_a_column_an_option_or_are_inserts),
        cmocka_unit_test(rows_that_cannot_be_merged_are_refused_by_the_write),
        cmocka_unit_test(wrong_kinds_in_other_forms_are_refused),
        cmocka_unit_test(tables_without_a_key_take_inserts_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
