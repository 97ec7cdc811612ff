/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live rows over the tables that Java wrote, whatever their files are (Parquet, ORC, Avro), engines, keys, deletion vectors and schema
 * changes: every row of the table is written once more. The answer must then stay the same from memory to the snapshot and after a
 * restart; it is known where the engine says so: append tables have each row twice, engines that take the newest value change nothing.
 * A table that cannot be written live is refused when the writer opens or at the first write, by name. Tests 57, 72.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meta/options.h"
#include "realtime/rt_context.h"
#include "support/changes_kit.h"
#include "support/rt_kit.h"

enum { LINES_MAX = 100000, FORMATS = 3 };

static const char *const format_names[FORMATS] = {"parquet", "orc", "avro"};

typedef struct world {
    test_env *t;
    const char *name;
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_commit *commit;
    char *before; /* what a context shows before anything is written; NULL: the table was refused */
} world;

/* ---- answers ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in order, each so many times; malloc'ed. */
static char *in_order(const pml_text *text, int times)
{
    size_t n = 0, len = text->len;
    char *copy = malloc(len + 1), *out = malloc(len * (size_t)times + 1), *to = out;
    static const char kind[] = "{\"_kind\":\"+";
    char **lines = malloc(LINES_MAX * sizeof *lines);
    assert_true(copy != NULL && out != NULL && lines != NULL);
    if (len > 0)
        memcpy(copy, text->ptr, len);
    copy[len] = '\0';
    for (char *at = copy, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        assert_true(n < LINES_MAX && strncmp(at, kind, sizeof kind - 1) == 0);
        at[sizeof kind - 1] = 'I'; /* a row that is written again is an insert */
        lines[n++] = at;
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < times; k++) {
            size_t l = strlen(lines[i]);
            memcpy(to, lines[i], l);
            to[l] = '\n';
            to += l + 1;
        }
    *to = '\0';
    free(copy);
    free(lines);
    return out;
}

static char *answer_where(pml_table *table, pml_rt_context *ctx, const pml_predicate *condition, int times)
{
    pml_plan *plan = rows_plan(table, ctx, condition);
    pml_text text = {0};
    int64_t rows;
    pml_error err = PML_ERROR_INIT;
    must_ok(changes_read(&text, &rows, plan, 1, &err), &err);
    pml_plan_free(plan);
    char *out = in_order(&text, times);
    pml_text_clear(&text);
    return out;
}

static char *answer(pml_table *table, pml_rt_context *ctx, int times)
{
    return answer_where(table, ctx, NULL, times);
}

static void must_show(const world *w, const char *wanted, const char *when)
{
    char *got = answer(w->table, w->ctx, 1);
    if (strcmp(got, wanted) != 0) {
        size_t same = 0;
        while (got[same] == wanted[same])
            same++;
        while (same > 0 && got[same - 1] != '\n')
            same--;
        fail_msg("%s: %s the answer is\n%.600s\nnot\n%.600s", w->name, when, got + same, wanted + same);
    }
    free(got);
}

/* ---- one table ---- */

static const char *const options[] = {"realtime.enabled", "true", "file.format", "parquet", "file.compression", "zstd", NULL};

static int try_start(world *w, const char *path, pml_error *err)
{
    PML_RETURN_IF(changes_try_open(&w->table, w->t, path, options, err));
    PML_RETURN_IF(pml_rt_context_open(&w->ctx, w->t->env, NULL, err));
    PML_RETURN_IF(pml_rt_writer_open(&w->w, w->table, w->ctx, NULL, err));
    return pml_commit_open(&w->commit, w->table, "again", err);
}

static void stop(world *w)
{
    if (w->w != NULL)
        pml_rt_writer_abort(w->w);
    pml_commit_close(w->commit);
    if (w->ctx != NULL)
        pml_rt_context_close(w->ctx);
    pml_table_release(w->table);
    w->w = NULL;
    w->commit = NULL;
    w->ctx = NULL;
    w->table = NULL;
}

/* The first half of its rows, each with the values of the row behind it. */
static void shift_values(struct ArrowArray *batch, const pml_table *table)
{
    batch->length /= 2;
    for (int64_t i = 0; i < batch->n_children; i++) {
        struct ArrowArray *c = batch->children[i];
        bool key = false;
        for (size_t k = 0; k < table->schema->n_keys; k++)
            key = key || table->schema->key_index[k] == i;
        c->length--;
        c->offset += key ? 0 : 1;
        c->null_count = c->null_count == 0 ? 0 : -1;
    }
}

/* All rows of the table as they are now, live. */
static int write_all(world *w, bool shifted, pml_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray batch = {0};
    int rc = PML_OK;
    struct ArrowArrayStream stream = rows_open(rows_plan(w->table, w->ctx, NULL)); /* shows the same while they are written */
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    while (rc == PML_OK && stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        if (shifted)
            shift_values(&batch, w->table);
        rc = pml_rt_write(NULL, w->w, &batch, &schema, NULL, err);
        if (batch.release != NULL)
            batch.release(&batch);
    }
    schema.release(&schema);
    stream.release(&stream);
    return rc;
}

/* Whether writing the rows of an answer again changes nothing. */
static bool newest_wins(const pml_table *table)
{
    const pml_table_options *o = &table->options;
    if (o->merge_engine != PML_MERGE_ENGINE_DEDUPLICATE && o->merge_engine != PML_MERGE_ENGINE_FIRST_ROW)
        return false;
    return true;
}

static void commit_all(world *w, const char *wanted)
{
    pml_rt_prepared *p;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_prepare(&p, w->w, 1, NULL, &err), &err);
    must_show(w, wanted, "after the prepare");
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    if (n > 0)
        must_ok(pml_rt_commit(&r, w->commit, entries, n, 1, NULL, &err), &err);
    pml_rt_prepared_free(p);
    must_show(w, wanted, "after the commit");
}

/* PML_OK, or why the table is not written live. */
static int live_again(world *w, const char *path, pml_error *err)
{
    PML_RETURN_IF(try_start(w, path, err));
    char *before = answer(w->table, w->ctx, 1);
    int rc = write_all(w, false, err);
    if (rc != PML_OK) {
        free(before);
        return rc;
    }
    char *live = answer(w->table, w->ctx, 1);
    if (w->table->schema->n_keys == 0) {
        char *plain = answer(w->table, NULL, 2);
        must_show(w, plain, "with each row twice");
        free(plain);
    } else if (newest_wins(w->table)) {
        must_show(w, before, "with the same rows again");
    }
    free(before);
    commit_all(w, live);
    stop(w);
    must_ok(try_start(w, path, err), err);
    must_show(w, live, "after a restart");
    free(live);
    return PML_OK;
}

/* The format of the table's files by its own schema. */
static int format_of(test_env *t, const char *name)
{
    pml_table *table = changes_open(t, name, NULL);
    const char *value = pml_table_option(table, "file.format");
    int found = 0;
    for (int i = 0; value != NULL && i < FORMATS; i++)
        if (strcmp(value, format_names[i]) == 0)
            found = i;
    pml_table_release(table);
    return found;
}

/* Those that differ from others in nothing that live rows see are left out. */
static bool is_table(const char *name)
{
    static const char *const alike[] = {"compression_", "index_", "history_", "stats_", "manifest_"};
    char path[600];
    struct stat st;
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (strncmp(name, alike[i], strlen(alike[i])) == 0)
            return false;
    (void)snprintf(path, sizeof path, "%s/%s/schema", PML_JAVA_TABLES, name);
    return name[0] != '.' && stat(path, &st) == 0;
}

static void rows_written_again_stay_the_same_until_they_are_committed(void **state)
{
    (void)state;
    const char *only = getenv("ONLY");
    const pml_file_system fast = rt_kit_fs();
    int append[FORMATS] = {0}, keyed[FORMATS] = {0}, refused = 0;
    DIR *dir = opendir(PML_JAVA_TABLES);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        pml_error err = PML_ERROR_INIT;
        if (!is_table(e->d_name) || (only != NULL && strstr(e->d_name, only) == NULL))
            continue;
        world w = {.t = test_env_open(&fast), .name = e->d_name};
        int rc = live_again(&w, changes_copy(w.t, e->d_name), &err);
        if (rc == PML_OK) {
            bool keys = w.table->schema->n_keys > 0;
            (keys ? keyed : append)[format_of(w.t, e->d_name)]++;
        } else {
            refused++;
            (void)fprintf(stderr, "%s: %s: %s\n", e->d_name, pml_error_name(rc), err.message);
            assert_true(rc == PML_E_UNSUPPORTED || rc == PML_E_INVAL);
        }
        stop(&w);
        test_env_close(w.t);
    }
    (void)closedir(dir);
    (void)fprintf(stderr, "append tables of parquet, orc, avro: %d %d %d; with a key: %d %d %d; refused: %d\n", append[0], append[1], append[2], keyed[0],
           keyed[1], keyed[2], refused);
    assert_true(refused < 50);
    for (int i = 0; only == NULL && i < FORMATS; i++)
        assert_true(append[i] > 0 && keyed[i] > 0);
}

/* ---- conditions on values ---- */

/* The value of a column in a line as it stands there; false: none, or none that is looked for. */
static bool value_in(char out[64], const char *line, const char *column)
{
    char name[64];
    const char *end = line + strcspn(line, "\n");
    int n = snprintf(name, sizeof name, "\"%.50s\":", column);
    const char *at = strstr(line, name);
    if (at == NULL || at >= end || strchr("{,", at[-1]) == NULL)
        return false;
    at += n;
    size_t len = *at == '"' ? strcspn(at + 1, "\"\\") + 2 : strcspn(at, ",}");
    if (strchr("[{n", *at) != NULL || len >= 64 || (*at == '"' && at[len - 1] != '"'))
        return false;
    (void)snprintf(out, 64, "%.*s", (int)len, at);
    return true;
}

/* The lines of an answer that have the value. */
static char *lines_with(const char *lines, const char *column, const char *value)
{
    char *out = calloc(strlen(lines) + 1, 1), now[64];
    size_t n = 0;
    assert_non_null(out);
    for (const char *line = lines; *line != '\0';) {
        size_t len = strcspn(line, "\n") + 1;
        if (value_in(now, line, column) && strcmp(now, value) == 0) {
            memcpy(out + n, line, len);
            n += len;
        }
        line += len;
    }
    return out;
}

static void must_find(const world *w, const char *column, const char *value, const char *live, int counts[2])
{
    const bool quoted = value[0] == '"';
    const pml_literal literal = {value + quoted, strlen(value) - 2 * (size_t)quoted};
    pml_predicate *condition;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_predicate_leaf(&condition, w->table, column, PML_OP_EQ, &literal, 1, &err), &err);
    char *got = answer_where(w->table, w->ctx, condition, 1), *want = lines_with(live, column, value);
    pml_predicate_free(condition);
    if (strcmp(got, want) != 0)
        fail_msg("%s: where %s is %s there is\n%.600s\ninstead of\n%.600s", w->name, column, value, got, want);
    counts[want[0] != '\0']++;
    free(got);
    free(want);
}

/* Of some lines the values of each column that is asked for. */
static void ask_for_values(const world *w, const char *lines, const char *live, int counts[2])
{
    char value[64];
    for (size_t i = 0; i < w->table->schema->n_fields; i++) {
        const pml_field *f = &w->table->schema->fields[i];
        const char *line = lines;
        if (f->type.kind != PML_TYPE_INT && f->type.kind != PML_TYPE_BIGINT && f->type.kind != PML_TYPE_VARCHAR)
            continue;
        for (int n = 0; n < 3 && *line != '\0'; n++) {
            if (value_in(value, line, f->name))
                must_find(w, f->name, value, live, counts);
            for (int k = 0; k < 3 && *line != '\0'; k++)
                line += strcspn(line, "\n") + 1;
        }
    }
}

/* Half of the keys get other values, live; what is asked for is what files have or had. */
static void ask_for_stale_values(world *w, const char *path, int counts[2])
{
    pml_error err = PML_ERROR_INIT;
    must_ok(try_start(w, path, &err), &err);
    char *before = answer(w->table, w->ctx, 1);
    must_ok(write_all(w, true, &err), &err);
    char *live = answer(w->table, w->ctx, 1);
    ask_for_values(w, before, live, counts);
    for (int snapshot = 1; snapshot <= 2; snapshot++) {
        char name[200];
        size_t len;
        (void)snprintf(name, sizeof name, "%s/%s.snapshot-%d.expected.jsonl", PML_JAVA_TABLES, w->name, snapshot);
        if (access(name, R_OK) != 0)
            continue;
        uint8_t *bytes = test_read_file(name, &len);
        char *text = strndup((const char *)bytes, len);
        assert_non_null(text);
        ask_for_values(w, text, live, counts);
        free(text);
        free(bytes);
    }
    free(before);
    free(live);
    stop(w);
}

/* 58: files of high levels with deletion vectors, level 0 and memory: rows that match in a stale version only do not come. The same of engines
   where no condition on values may go down (60). */
static void conditions_on_values_see_the_newest_versions_only(void **state)
{
    (void)state;
    static const char *const names[] = {"dv_pk_aggregation", "dv_pk_compacted", "dv_pk_level0", "dv_pk_orc", "dv_pk_parquet_bitmap64",
                                        "dv_pk_part", "dv_pk_partial_update", "pk_levels", "pk_sequence_one"};
    const pml_file_system fast = rt_kit_fs();
    int counts[2] = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        world w = {.t = test_env_open(&fast), .name = names[i]};
        ask_for_stale_values(&w, changes_copy(w.t, names[i]), counts);
        test_env_close(w.t);
    }
    print_message("%d conditions find rows, %d none\n", counts[1], counts[0]);
    assert_true(counts[0] > 5 && counts[1] > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_written_again_stay_the_same_until_they_are_committed),
        cmocka_unit_test(conditions_on_values_see_the_newest_versions_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
