/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes that Java wrote, asked with predicates at random: no row that matches is left out, and what knows all rows leaves out all others. */
#include <paimonlive/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file_index.h"
#include "storage/file_io.h"
#include "support/test_env.h"
#include "table/scan.h"

enum { ROWS_MAX = 20000, QUESTIONS = 400, LITERALS_MAX = 4 };

static const char *const tables[] = {"index_bloom_embedded",        "index_bloom_file",        "index_bitmap_embedded", "index_bitmap_file",
                                     "index_bitmap_v1",             "index_bsi_embedded",      "index_bsi_file",        "index_map_keys",
                                     "index_range_bitmap_embedded", "index_range_bitmap_file"};

typedef struct world {
    test_env *t;
    pml_table *table;
    pml_plan *plan;
    pml_arena arena;
    struct ArrowArray rows; /* of one file, all columns */
    uint8_t *index;
    size_t index_len;
    const char *path;
    bool exact; /* the indexes of the table name rows */
    long long remain, skip, some;
} world;

static void read_file(world *w, size_t split, size_t file)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    const pml_split_piece piece = {.split = split, .first = file, .end = file + 1};
    pml_read_options options = PML_READ_OPTIONS_INIT;
    options.batch_rows = ROWS_MAX;
    must_ok(pml_split__open_piece(&stream, w->plan, &piece, &options, &err), &err);
    must_ok(stream.get_next(&stream, &w->rows), &err);
    assert_int_equal(w->rows.length, w->plan->splits[split].files[file].row_count);
    stream.release(&stream);
}

static void load_index(world *w, const pml_split *s, size_t file)
{
    pml_error err = PML_ERROR_INIT;
    const pml_data_file *f = &s->files[file];
    if (f->has_embedded_index) {
        w->index = pml_env__alloc(w->t->env, f->embedded_index.len);
        memcpy(w->index, f->embedded_index.ptr, f->embedded_index.len);
        w->index_len = f->embedded_index.len;
        return;
    }
    char path[1024];
    assert_int_equal(f->extra_files.n, 1);
    (void)snprintf(path, sizeof path, "%.*s%s", (int)(strrchr(s->paths[file], '/') + 1 - s->paths[file]), s->paths[file],
                   f->extra_files.v[0]);
    must_ok(pml_file__read_all(&w->index, &w->index_len, w->t->env, path, PML_FILE_INDEX_MAX, &err), &err);
}

/* A value of the column, or one near it. */
static pml_value literal(world *w, const pml_field *f, const struct ArrowArray *column)
{
    pml_value v;
    do {
        pml_value__get(&v, &f->type, column, (int64_t)(test_random(w->t) % (uint64_t)w->rows.length));
    } while (v.kind == PML_VALUE_NULL);
    uint64_t r = test_random(w->t) % 4;
    if (v.kind == PML_VALUE_INT && r < 2)
        v.i += r == 0 ? 1 : -1;
    if (v.kind == PML_VALUE_DECIMAL && r == 0)
        v.dec -= 3;
    if (v.kind == PML_VALUE_TIMESTAMP && r == 0)
        v.ts.nanos = 1;
    if (v.kind == PML_VALUE_TIMESTAMP && r == 1)
        v.ts.ms -= 7;
    if (v.kind == PML_VALUE_BYTES && r == 0 && v.bytes.len > 0)
        v.bytes.len--;
    return v;
}

static bool has_values(const struct ArrowArray *column, const pml_type *t)
{
    pml_value v = {0};
    if (pml_type__is_nested(t))
        return false;
    for (int64_t i = 0; i < column->length && v.kind == PML_VALUE_NULL; i++)
        pml_value__get(&v, t, column, i);
    return v.kind != PML_VALUE_NULL;
}

static pml_pred *leaf_at_random(world *w)
{
    pml_pred *p = pml_arena__alloc(&w->arena, sizeof *p);
    size_t i;
    do {
        i = test_random(w->t) % w->plan->schema->n_fields;
    } while (!has_values(w->rows.children[i], &w->plan->schema->fields[i].type));
    const pml_field *f = &w->plan->schema->fields[i];
    *p = (pml_pred){.op = (pml_pred_op)(PML_PRED_EQ + test_random(w->t) % (PML_PRED_IS_NOT_NULL - PML_PRED_EQ + 1)),
                    .field_id = f->id, .type = &f->type, .name = f->name};
    if (p->op < PML_PRED_IS_NULL)
        p->n_literals = p->op >= PML_PRED_IN ? 1 + test_random(w->t) % LITERALS_MAX : 1;
    p->literals = pml_arena__array(&w->arena, p->n_literals, sizeof *p->literals);
    for (size_t k = 0; k < p->n_literals; k++)
        p->literals[k] = literal(w, f, w->rows.children[i]);
    return p;
}

static pml_pred *predicate_at_random(world *w, int depth)
{
    if (depth == 0 || test_random(w->t) % 2 == 0)
        return leaf_at_random(w);
    pml_pred *p = pml_arena__alloc(&w->arena, sizeof *p);
    *p = (pml_pred){.op = test_random(w->t) % 2 == 0 ? PML_PRED_AND : PML_PRED_OR, .n_children = 2};
    p->children = pml_arena__array(&w->arena, 2, sizeof *p->children);
    p->children[0] = predicate_at_random(w, depth - 1);
    p->children[1] = predicate_at_random(w, depth - 1);
    return p;
}

static void ask(world *w, const pml_pred *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_index_answer a;
    int64_t n = w->rows.length;
    uint8_t *keep = pml_env__alloc(w->t->env, (size_t)n);
    must_ok(pml_pred__eval(keep, p, w->t->env, &w->rows, w->plan->schema->fields, w->plan->schema->n_fields, &err), &err);
    must_ok(pml_file_index__ask(&a, w->t->env, (pml_bytes){w->index, w->index_len}, w->path, p, n, &err), &err);
    bool leaf = p->op >= PML_PRED_EQ;
    for (int64_t i = 0; i < n && a.kind != PML_INDEX_REMAIN; i++) {
        bool stays = a.kind == PML_INDEX_ROWS && pml_row_set__has(&a.rows, i);
        assert_true(stays || !keep[i]);
        if (leaf && w->exact)
            assert_int_equal(stays, keep[i]);
    }
    w->remain += a.kind == PML_INDEX_REMAIN;
    w->skip += a.kind == PML_INDEX_SKIP;
    w->some += a.kind == PML_INDEX_ROWS;
    pml_index_answer__clear(&a);
    pml_env__free(w->t->env, keep);
}

/* Each byte of it changed, and each shorter one: an answer or PML_E_CORRUPT, and no memory lost when there is none. */
static void damage(world *w, const pml_pred *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_index_answer a;
    size_t step = w->index_len / 200 + 1;
    for (size_t i = 0; i < w->index_len; i += step) {
        uint8_t old = w->index[i];
        w->index[i] = (uint8_t)(old ^ (1u << test_random(w->t) % 8));
        int rc = pml_file_index__ask(&a, w->t->env, (pml_bytes){w->index, w->index_len}, w->path, p, w->rows.length, &err);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT);
        pml_index_answer__clear(&a);
        w->index[i] = old;
        rc = pml_file_index__ask(&a, w->t->env, (pml_bytes){w->index, i}, w->path, p, w->rows.length, &err);
        assert_true(rc == PML_OK || rc == PML_E_CORRUPT);
        pml_index_answer__clear(&a);
    }
    for (long long n = 1, again = 1; again; n++) {
        test_env_fail_at(w->t, n);
        int rc = pml_file_index__ask(&a, w->t->env, (pml_bytes){w->index, w->index_len}, w->path, p, w->rows.length, &err);
        again = test_env_fail_reached(w->t);
        test_env_fail_at(w->t, 0);
        assert_int_equal(rc, again ? PML_E_NOMEM : PML_OK);
        pml_index_answer__clear(&a);
    }
}

static void one_table(const char *name)
{
    pml_error err = PML_ERROR_INIT;
    world w = {.t = test_env_open(NULL), .exact = strstr(name, "bloom") == NULL && strstr(name, "map_keys") == NULL};
    pml_scan *scan;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PML_FUZZ_TABLES, name);
    must_ok(pml_table_open(&w.table, w.t->env, path, NULL, &err), &err);
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_plan(&w.plan, scan, &err), &err);
    for (size_t s = 0; s < w.plan->n_splits; s++) {
        for (size_t f = 0; f < w.plan->splits[s].n_files; f++) {
            pml_arena__init(&w.arena, w.t->env);
            read_file(&w, s, f);
            load_index(&w, &w.plan->splits[s], f);
            w.path = w.plan->splits[s].paths[f];
            for (int i = 0; i < QUESTIONS; i++)
                ask(&w, predicate_at_random(&w, i % 3));
            for (int i = 0; i < 6; i++)
                damage(&w, predicate_at_random(&w, 2));
            pml_env__free(w.t->env, w.index);
            w.rows.release(&w.rows);
            pml_arena__clear(&w.arena);
        }
    }
    print_message("%s: nothing known %lld times, no row %lld, some rows %lld\n", name, w.remain, w.skip, w.some);
    assert_true(strstr(name, "map_keys") != NULL || w.skip > 0);
    assert_true(!w.exact || w.some > 0);
    pml_plan_free(w.plan);
    pml_scan_free(scan);
    pml_table_release(w.table);
    test_env_close(w.t);
}

static void file_index_leaves_out_no_row_that_matches(void **state)
{
    (void)state;
    (void)test_seed();
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        one_table(tables[i]);
}

/* IN over n values of the file or near them: bounded work, so nothing is known beyond 16 of them. */
static pml_index_kind kind_of_a_list(world *w, const pml_field *f, const struct ArrowArray *column, size_t n)
{
    pml_index_answer a;
    pml_error err = PML_ERROR_INIT;
    pml_pred p = {.op = PML_PRED_IN, .field_id = f->id, .type = &f->type, .name = f->name, .n_literals = n};
    p.literals = pml_arena__array(&w->arena, n, sizeof *p.literals);
    for (size_t i = 0; i < n; i++)
        p.literals[i] = literal(w, f, column);
    must_ok(pml_file_index__ask(&a, w->t->env, (pml_bytes){w->index, w->index_len}, w->path, &p, w->rows.length, &err), &err);
    pml_index_kind kind = a.kind;
    pml_index_answer__clear(&a);
    return kind;
}

static void long_lists(const char *name)
{
    pml_error err = PML_ERROR_INIT;
    world w = {.t = test_env_open(NULL)};
    pml_scan *scan;
    char path[512];
    size_t answered = 0;
    (void)snprintf(path, sizeof path, "%s/%s", PML_FUZZ_TABLES, name);
    must_ok(pml_table_open(&w.table, w.t->env, path, NULL, &err), &err);
    must_ok(pml_scan_new(&scan, w.table, &err), &err);
    must_ok(pml_scan_plan(&w.plan, scan, &err), &err);
    pml_arena__init(&w.arena, w.t->env);
    read_file(&w, 0, 0);
    load_index(&w, &w.plan->splits[0], 0);
    w.path = w.plan->splits[0].paths[0];
    for (size_t i = 0; i < w.plan->schema->n_fields; i++) {
        const pml_field *f = &w.plan->schema->fields[i];
        if (!has_values(w.rows.children[i], &f->type))
            continue;
        answered += kind_of_a_list(&w, f, w.rows.children[i], 16) != PML_INDEX_REMAIN;
        assert_int_equal(kind_of_a_list(&w, f, w.rows.children[i], 17), PML_INDEX_REMAIN);
    }
    assert_true(answered > 0);
    pml_env__free(w.t->env, w.index);
    w.rows.release(&w.rows);
    pml_arena__clear(&w.arena);
    pml_plan_free(w.plan);
    pml_scan_free(scan);
    pml_table_release(w.table);
    test_env_close(w.t);
}

static void more_than_16_values_are_not_looked_for(void **state)
{
    (void)state;
    long_lists("index_bitmap_v1");
    long_lists("index_bsi_file");
    long_lists("index_range_bitmap_embedded");
}

int main(void)
{
    const struct CMUnitTest tests_of_indexes[] = {
        cmocka_unit_test(file_index_leaves_out_no_row_that_matches),
        cmocka_unit_test(more_than_16_values_are_not_looked_for),
    };
    return cmocka_run_group_tests(tests_of_indexes, NULL, NULL);
}
