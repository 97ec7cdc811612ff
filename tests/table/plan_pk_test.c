/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and reads of tables with a primary key that Java wrote: what is planned, what of it merges, what a query needs, what fails. */
#include <paimonlive/realtime.h>
#include <paimonlive/rows.h>
#include <paimonlive/split.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"

typedef struct query {
    const char *columns[4]; /* none: all */
    size_t n_columns;
    bool no_columns;
    int64_t snapshot; /* 0: latest */
    /* column OP number; column NULL: no predicate */
    const char *column;
    pml_predicate_op op;
    const char *value;
    int64_t batch_rows;
    uint32_t threads;
    bool kinds;
} query;

static const char *java_table(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PML_JAVA_TABLES, name);
    return path;
}

static pml_table *java_open(test_env *t, const char *name)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    must_ok(pml_table_open(&table, t->env, java_table(name), NULL, &err), &err);
    return table;
}

static int scan_make(pml_scan **scan, pml_table *table, const query *q, pml_error *err)
{
    pml_predicate *p = NULL;
    int rc;
    PML_RETURN_IF(pml_scan_new(scan, table, err));
    if (q->snapshot > 0)
        PML_TRY(pml_scan_set_snapshot(*scan, q->snapshot, err));
    if (q->n_columns > 0 || q->no_columns)
        PML_TRY(pml_scan_set_columns(*scan, q->columns, q->n_columns, err));
    if (q->column != NULL) {
        const pml_literal literal = {q->value, q->value == NULL ? 0 : strlen(q->value)};
        PML_TRY(pml_predicate_leaf(&p, table, q->column, q->op, &literal, 1, err));
        PML_TRY(pml_scan_set_predicate(*scan, p, err));
    }
    rc = PML_OK;
out:
    pml_predicate_free(p);
    return rc;
}

static int plan_make(pml_plan **plan, pml_table *table, const query *q, pml_error *err)
{
    pml_scan *scan = NULL;
    int rc = scan_make(&scan, table, q, err);
    *plan = NULL;
    if (rc == PML_OK)
        rc = pml_scan_plan(plan, scan, err);
    pml_scan_free(scan);
    return rc;
}

static pml_plan *must_plan(pml_table *table, const query *q)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    must_ok(plan_make(&plan, table, q, &err), &err);
    return plan;
}

/* Reads everything; with printer: into text. */
static int read_plan(int64_t *rows, pml_text *text, pml_env *env, pml_plan *plan, const query *q, pml_error *err)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    pml_rows_printer *printer = NULL;
    int rc;
    o.batch_rows = q->batch_rows;
    o.threads = q->threads;
    o.flags = q->kinds ? PML_READ_ROW_KIND : 0;
    *rows = 0;
    PML_TRY(pml_read_open(&stream, plan, &o, err));
    if (stream.get_schema(&stream, &schema) != 0) {
        rc = pml_stream_error(&stream, err);
        goto out;
    }
    if (text != NULL)
        PML_TRY(pml_rows_printer_new(&printer, env, &schema, PML_ROWS_JSON, err));
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            break;
        }
        if (batch.release == NULL)
            break;
        *rows += batch.length;
        assert_int_equal(batch.n_children, schema.n_children);
        if (text != NULL)
            rc = pml_rows_print(text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        if (rc != PML_OK)
            break;
    }
out:
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

static int line_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rows as sorted lines against what Java read. */
static void must_be(pml_table *table, const char *expected, const query *q)
{
    enum { LINES_MAX = 4096 };
    static char *lines[LINES_MAX];
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan = must_plan(table, q);
    pml_text text = {0};
    size_t n = 0, len;
    int64_t rows, counted;
    must_ok(read_plan(&rows, &text, table->env, plan, q, &err), &err);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    assert_int_equal(counted, rows);
    pml_plan_free(plan);
    char *want = (char *)test_read_file(java_table(expected), &len), *at = want;
    for (char *p = text.ptr; p != NULL && *p != '\0'; p = strchr(p, '\n') + 1) {
        assert_true(n < LINES_MAX);
        lines[n++] = p;
    }
    for (size_t i = 0; i < n; i++)
        lines[i][strcspn(lines[i], "\n")] = '\0';
    qsort(lines, n, sizeof *lines, line_compare);
    for (size_t i = 0; i < n; i++) {
        size_t l = strlen(lines[i]);
        if ((size_t)(want + len - at) <= l || memcmp(at, lines[i], l) != 0 || at[l] != '\n')
            fail_msg("%s, line %zu of %zu: '%s', Java has '%.*s'", expected, i + 1, n, lines[i], (int)strcspn(at, "\n"), at);
        at += l + 1;
    }
    assert_true(at == want + len);
    free(want);
    pml_text_clear(&text);
}

static size_t merging_splits(const pml_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_splits; i++)
        n += pml_split__merges(plan, &plan->splits[i]);
    return n;
}

static void files_must_be_distinct(const pml_plan *plan)
{
    for (size_t i = 0; i < plan->n_splits; i++)
        for (size_t f = 0; f < plan->splits[i].n_files; f++)
            for (size_t g = 0; g < f; g++)
                assert_string_not_equal(plan->splits[i].paths[f], plan->splits[i].paths[g]);
}

static void plan_must_have(const char *name, const query *q, size_t splits, size_t merging, int64_t files)
{
    test_env *t = test_env_open(NULL);
    pml_table *table = java_open(t, name);
    pml_plan *plan = must_plan(table, q);
    if (plan->n_splits != splits || merging_splits(plan) != merging || kit_plan_files(plan) != files)
        fail_msg("%s: %zu splits, %zu merging, %lld files", name, plan->n_splits, merging_splits(plan), (long long)kit_plan_files(plan));
    files_must_be_distinct(plan);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- what is planned ---- */

static void a_bucket_of_overlapping_files_is_one_split_that_merges(void **state)
{
    (void)state;
    plan_must_have("pk_levels", &(query){0}, 1, 1, 5);
    plan_must_have("pk_ten_runs", &(query){0}, 1, 1, 10);
    plan_must_have("pk_dedup_parquet", &(query){0}, 2, 2, 8);
}

static void files_of_one_level_are_read_as_they_lie(void **state)
{
    (void)state;
    plan_must_have("pk_dedup_compacted_parquet", &(query){.snapshot = 6}, 2, 0, 2);
    plan_must_have("first_row", &(query){0}, 1, 0, 1);
}

static void level_0_of_first_row_and_rows_without_a_bucket_are_not_shown(void **state)
{
    (void)state;
    plan_must_have("pk_postpone", &(query){0}, 0, 0, 0);
    plan_must_have("pk_postpone_compacted", &(query){0}, 2, 2, 4);
    plan_must_have("first_row", &(query){.snapshot = 1}, 0, 0, 0);
}

static void conditions_on_keys_leave_files_out_and_conditions_on_values_whole_buckets(void **state)
{
    (void)state;
    plan_must_have("pk_ten_runs", &(query){.column = "id", .op = PML_OP_LT, .value = "12"}, 1, 1, 3);
    plan_must_have("pk_ten_runs", &(query){.column = "id", .op = PML_OP_GT, .value = "99"}, 1, 0, 1); /* alone it holds each key once */
    plan_must_have("pk_ten_runs", &(query){.column = "id", .op = PML_OP_GT, .value = "200"}, 0, 0, 0);
    plan_must_have("pk_levels", &(query){.column = "id", .op = PML_OP_GT, .value = "300"}, 1, 1, 2);
    /* Few files may hold this name by their statistics, and yet all are needed. */
    plan_must_have("pk_dedup_parquet", &(query){.column = "name", .op = PML_OP_EQ, .value = "updated"}, 2, 2, 8);
    plan_must_have("pk_dedup_parquet", &(query){.column = "name", .op = PML_OP_LT, .value = "!"}, 0, 0, 0);
    plan_must_have("pk_ten_runs", &(query){.column = "n", .op = PML_OP_LT, .value = "-8500000000000000000"}, 1, 1, 10); /* one may match */
    plan_must_have("pk_ten_runs", &(query){.column = "n", .op = PML_OP_LT, .value = "-9000000000000000000"}, 0, 0, 0);
}

static void keys_choose_buckets_also_where_a_partition_has_another_number_of_them(void **state)
{
    (void)state;
    plan_must_have("pk_multi_buckets", &(query){.column = "id", .op = PML_OP_EQ, .value = "7"}, 1, 0, 1);
    plan_must_have("pk_rescaled", &(query){.column = "id", .op = PML_OP_EQ, .value = "1"}, 2, 0, 2);
    plan_must_have("pk_rescaled", &(query){.column = "id", .op = PML_OP_EQ, .value = "3"}, 1, 0, 1);
}

/* ---- what is read ---- */

static void reads_are_those_of_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    for (int64_t batch_rows = 0; batch_rows <= 7; batch_rows += 7)
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            query q = {.batch_rows = batch_rows, .threads = threads, .kinds = true};
            pml_table *table = java_open(t, "pk_levels");
            must_be(table, "pk_levels.expected.jsonl", &q);
            pml_table_release(table);
            table = java_open(t, "pk_dedup_parquet");
            must_be(table, "pk_dedup_parquet.expected.jsonl", &q);
            q.columns[q.n_columns++] = "n";
            must_be(table, "pk_dedup_parquet.project-n.expected.jsonl", &q);
            q.n_columns = 0;
            q.column = "id", q.op = PML_OP_LE, q.value = "5";
            must_be(table, "pk_dedup_parquet.filter-id.expected.jsonl", &q);
            q.column = "name", q.op = PML_OP_EQ, q.value = "updated";
            must_be(table, "pk_dedup_parquet.filter-name.expected.jsonl", &q);
            pml_table_release(table);
        }
    test_env_close(t);
}

enum { NUMBERS_MAX = 2048 };

/* The BIGINT column n of the rows. */
static size_t read_numbers(int64_t *out, pml_table *table)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_plan *plan = must_plan(table, &(query){.columns = {"n"}, .n_columns = 1});
    size_t n = 0;
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    pml_plan_free(plan);
    for (; stream.get_next(&stream, &batch) == 0 && batch.release != NULL; batch.release(&batch))
        for (int64_t i = 0; i < batch.length; i++) {
            pml_value v;
            pml_value__get(&v, &(pml_type){.kind = PML_TYPE_BIGINT, .nullable = true}, batch.children[0], i);
            assert_true(n < NUMBERS_MAX);
            if (v.kind != PML_VALUE_NULL)
                out[n++] = v.i;
        }
    stream.release(&stream);
    return n;
}

/* An older version of a key that matches where the newest one does not must not come out. */
static void conditions_on_values_are_asked_of_the_newest_rows_only(void **state)
{
    (void)state;
    static const char *const names[] = {"pk_ten_runs", "pk_levels", "pk_dedup_parquet"}; /* each has a column n */
    static int64_t numbers[NUMBERS_MAX];
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < 3; i++) {
        pml_table *table = java_open(t, names[i]);
        size_t n = read_numbers(numbers, table);
        assert_true(n > 10);
        for (int round = 0; round < 12; round++) {
            char value[32];
            int64_t bound = numbers[test_random(t) % n], rows, matching = 0;
            (void)snprintf(value, sizeof value, "%lld", (long long)bound);
            const query q = {.column = "n", .op = round % 2 == 0 ? PML_OP_LE : PML_OP_EQ, .value = value};
            for (size_t k = 0; k < n; k++)
                matching += q.op == PML_OP_LE ? numbers[k] <= bound : numbers[k] == bound;
            pml_plan *plan = must_plan(table, &q);
            must_ok(read_plan(&rows, NULL, t->env, plan, &q, &err), &err);
            pml_plan_free(plan);
            if (rows != matching)
                fail_msg("%s: %lld rows, %lld match (n against %s)", names[i], (long long)rows, (long long)matching, value);
        }
        pml_table_release(table);
    }
    test_env_close(t);
}

static void a_read_of_no_columns_counts_merged_rows(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = java_open(t, "pk_ten_runs");
    int64_t all, rows, counted;
    pml_plan *plan = must_plan(table, &(query){0});
    must_ok(read_plan(&all, NULL, t->env, plan, &(query){0}, &err), &err);
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(counted, all);
    for (int kinds = 0; kinds < 2; kinds++) {
        const query q = {.no_columns = true, .kinds = kinds};
        plan = must_plan(table, &q);
        must_ok(read_plan(&rows, NULL, t->env, plan, &q, &err), &err);
        pml_plan_free(plan);
        assert_int_equal(rows, all);
    }
    pml_table_release(table);
    test_env_close(t);
}

/* Deletes go by a version column there: a read without it shows a row more, in Java as well. */
static void counts_are_those_of_all_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = java_open(t, "pu_remove_on_sequence_group");
    const query questions[] = {{.columns = {NULL}}, {.no_columns = true}, {.columns = {"id"}, .n_columns = 1}, {.column = "id", .op = PML_OP_GT, .value = "0"}};
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        int64_t counted;
        pml_plan *plan = must_plan(table, &questions[i]);
        must_ok(pml_plan_count(&counted, plan, &err), &err);
        pml_plan_free(plan);
        assert_int_equal(counted, 1);
        bool reached = true;
        for (long long n = 1; i == 0 && reached; n++) {
            plan = must_plan(table, &questions[i]);
            test_env_fail_at(t, n);
            int rc = pml_plan_count(&counted, plan, &err);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            pml_plan_free(plan);
            if (rc != PML_OK)
                must_fail_with(PML_E_NOMEM, rc, &err);
        }
    }
    pml_table_release(table);
    test_env_close(t);
}

static void options_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = java_open(t, "pk_ten_runs");
    pml_plan *plan = must_plan(table, &(query){0});
    struct ArrowArrayStream stream;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.flags = 2;
    must_fail_with(PML_E_INVAL, pml_read_open(&stream, plan, &o, &err), &err);
    o.flags = 0;
    o.reserved = 1;
    must_fail_with(PML_E_INVAL, pml_read_open(&stream, plan, &o, &err), &err);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

/* Files of old releases do not say how many deletes they have. */
static void files_that_may_hold_deletes_are_merged(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table = java_open(t, "pk_dedup_compacted_parquet");
    const query q = {.snapshot = 6};
    pml_plan *plan = must_plan(table, &q);
    int64_t raw, merged;
    must_ok(read_plan(&raw, NULL, t->env, plan, &q, &err), &err);
    assert_int_equal(merging_splits(plan), 0);
    plan->splits[1].files[0].delete_row_count.present = false;
    assert_int_equal(merging_splits(plan), 1);
    must_ok(read_plan(&merged, NULL, t->env, plan, &q, &err), &err);
    assert_int_equal(merged, raw);
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

/* ---- splits as bytes ---- */

static void splits_keep_whether_they_merge_as_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"pk_dedup_parquet", "pk_dedup_compacted_parquet", "part_pk_multi"};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pml_table *table = java_open(t, names[i]);
        pml_plan *plan = must_plan(table, &(query){0}), *again;
        pml_scan *scan;
        int64_t rows = 0, all;
        must_ok(scan_make(&scan, table, &(query){0}, &err), &err);
        must_ok(pml_plan_count(&all, plan, &err), &err);
        for (size_t s = 0; s < plan->n_splits; s++) {
            pml_text bytes;
            int64_t n;
            must_ok(pml_plan_split_serialize(&bytes, plan, s, &err), &err);
            const pml_blob blob = {bytes.ptr, bytes.len};
            must_ok(pml_plan_from_splits(&again, scan, &blob, 1, &err), &err);
            assert_int_equal(pml_split__merges(again, &again->splits[0]), pml_split__merges(plan, &plan->splits[s]));
            must_ok(read_plan(&n, NULL, t->env, again, &(query){0}, &err), &err);
            rows += n;
            pml_plan_free(again);
            pml_text_clear(&bytes);
        }
        assert_int_equal(rows, all);
        pml_scan_free(scan);
        pml_plan_free(plan);
        pml_table_release(table);
    }
    test_env_close(t);
}

/* ---- hostile metadata ---- */

/* Writes every manifest of the newest snapshot anew with the first live file changed. */
static void change_manifests(pml_table *table, void (*change)(pml_data_file *f, pml_arena *arena))
{
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_snapshot s;
    int64_t latest;
    bool changed = false;
    pml_arena__init(&arena, table->env);
    must_ok(pml_table__latest_snapshot(&latest, table, false, &err), &err);
    must_ok(pml_table__load_snapshot(&s, &arena, table, latest, &err), &err);
    for (int l = 0; l < 2; l++) {
        pml_manifest_list list = {0};
        must_ok(pml_table__load_manifest_list(&list, &arena, table, l == 0 ? s.base_manifest_list : s.delta_manifest_list, &err), &err);
        for (size_t i = 0; i < list.n && !changed; i++) {
            pml_manifest_entries entries = {0};
            char path[1024];
            uint8_t *bytes;
            size_t len;
            must_ok(pml_table__load_manifest(&entries, &arena, table, list.v[i].name, NULL, NULL, &err), &err);
            change(&entries.v[0].file, &arena);
            must_ok(pml_manifest__encode(&bytes, &len, table->env, entries.v, entries.n, "null", 0, &err), &err);
            (void)snprintf(path, sizeof path, "%s/manifest/%s", table->path, list.v[i].name);
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            assert_int_equal(fwrite(bytes, 1, len, f), len);
            assert_int_equal(fclose(f), 0);
            pml_env__free(table->env, bytes);
            changed = true;
        }
    }
    assert_true(changed);
    pml_arena__clear(&arena);
}

static void level_huge(pml_data_file *f, pml_arena *arena)
{
    (void)arena;
    f->level = INT32_MAX;
}

static void keys_swapped(pml_data_file *f, pml_arena *arena)
{
    (void)arena;
    pml_bytes b = f->min_key;
    f->min_key = f->max_key;
    f->max_key = b;
}

static void keys_empty(pml_data_file *f, pml_arena *arena)
{
    f->min_key = f->max_key = (pml_bytes){pml_arena__alloc(arena, 12), 12};
}

static void keys_missing(pml_data_file *f, pml_arena *arena)
{
    (void)arena;
    f->max_key = (pml_bytes){f->max_key.ptr, 0};
}

static void key_null(pml_data_file *f, pml_arena *arena)
{
    uint8_t *p = pml_arena__copy(arena, f->min_key.ptr, f->min_key.len);
    p[4 + 1] = 1;
    f->min_key.ptr = p;
}

static void size_huge(pml_data_file *f, pml_arena *arena)
{
    (void)arena;
    f->size_bytes = INT64_MAX;
}

static void deletes_unknown(pml_data_file *f, pml_arena *arena)
{
    (void)arena;
    f->delete_row_count.present = false;
}

static void hostile_manifests_are_corrupt_or_harmless(void **state)
{
    (void)state;
    static const struct {
        void (*change)(pml_data_file *f, pml_arena *arena);
        int plan, read;
        const char *words;
    } cases[] = {
        {level_huge, PML_OK, PML_OK, ""},
        {keys_swapped, PML_E_CORRUPT, 0, "smallest key"},
        {keys_empty, PML_E_CORRUPT, 0, "smallest key"},
        {keys_missing, PML_E_CORRUPT, 0, "largest key"},
        {key_null, PML_E_CORRUPT, 0, "null"},
        {size_huge, PML_OK, PML_E_CORRUPT, ""},
        {deletes_unknown, PML_OK, PML_OK, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        pml_table *table;
        pml_plan *plan;
        int64_t rows;
        kit_copy_tree(test_path(t, "t"), java_table("pk_ten_runs"));
        must_ok(pml_table_open(&table, t->env, test_path(t, "t"), NULL, &err), &err);
        change_manifests(table, cases[i].change);
        int rc = plan_make(&plan, table, &(query){0}, &err);
        if (rc != cases[i].plan || strstr(err.message, cases[i].words) == NULL)
            fail_msg("case %zu: code %d: %s", i, rc, err.message);
        if (rc == PML_OK) {
            rc = read_plan(&rows, NULL, t->env, plan, &(query){0}, &err);
            if (rc != cases[i].read)
                fail_msg("case %zu: code %d: %s", i, rc, err.message);
            assert_true(rc != PML_OK || rows == 105);
        }
        pml_plan_free(plan);
        pml_table_release(table);
        test_env_close(t);
    }
}

/* ---- failures ---- */

static bool is_known_code(int rc)
{
    return rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_SNAPSHOT_GONE;
}

static int plan_and_read(test_env *t, pml_table *table, const query *q, pml_error *err)
{
    pml_plan *plan;
    int64_t rows = 0;
    int rc = plan_make(&plan, table, q, err);
    if (rc == PML_OK)
        rc = read_plan(&rows, NULL, t->env, plan, q, err);
    pml_plan_free(plan);
    assert_true(rc != PML_OK || rows > 0);
    return rc;
}

static void any_allocation_of_a_merging_read_may_fail(void **state)
{
    (void)state;
    static const query q = {.column = "id", .op = PML_OP_LT, .value = "17", .columns = {"n"}, .n_columns = 1, .kinds = true};
    test_env *t = test_env_open(NULL);
    pml_table *table = java_open(t, "pk_dedup_parquet");
    for (long long n = 1;; n += n < 100 ? 1 : 1 + (long long)(test_random(t) % 7)) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        int rc = plan_and_read(t, table, &q, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        if (rc != PML_OK && (!is_known_code(rc) || err.message[0] == '\0'))
            fail_msg("allocation %lld: code %d: '%s'", n, rc, err.message);
        if (!reached)
            break;
    }
    pml_table_release(table);
    test_env_close(t);
}

static void any_file_operation_of_a_merging_read_may_fail(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_table *table = java_open(t, "pk_dedup_parquet");
    for (long long n = 1;; n++) {
        pml_error err = PML_ERROR_INIT;
        faulty_fs_reset(&f);
        faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
        int rc = plan_and_read(t, table, &(query){0}, &err);
        bool failed = faulty_fs_failures(&f) > 0;
        faulty_fs_reset(&f);
        if (rc != PML_OK && (!is_known_code(rc) || err.message[0] == '\0'))
            fail_msg("operation %lld: code %d: '%s'", n, rc, err.message);
        if (!failed)
            break;
    }
    pml_table_release(table);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_of_overlapping_files_is_one_split_that_merges),
        cmocka_unit_test(files_of_one_level_are_read_as_they_lie),
        cmocka_unit_test(level_0_of_first_row_and_rows_without_a_bucket_are_not_shown),
        cmocka_unit_test(conditions_on_keys_leave_files_out_and_conditions_on_values_whole_buckets),
        cmocka_unit_test(keys_choose_buckets_also_where_a_partition_has_another_number_of_them),
        cmocka_unit_test(reads_are_those_of_java),
        cmocka_unit_test(conditions_on_values_are_asked_of_the_newest_rows_only),
        cmocka_unit_test(a_read_of_no_columns_counts_merged_rows),
        cmocka_unit_test(counts_are_those_of_all_columns),
        cmocka_unit_test(options_that_do_not_exist_are_refused),
        cmocka_unit_test(files_that_may_hold_deletes_are_merged),
        cmocka_unit_test(splits_keep_whether_they_merge_as_bytes),
        cmocka_unit_test(hostile_manifests_are_corrupt_or_harmless),
        cmocka_unit_test(any_allocation_of_a_merging_read_may_fail),
        cmocka_unit_test(any_file_operation_of_a_merging_read_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
