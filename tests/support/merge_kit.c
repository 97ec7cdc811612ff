/* SPDX-License-Identifier: Apache-2.0 */
#include "support/merge_kit.h"

#include <stdio.h>
#include <stdlib.h>

#include "columnar/array_memory.h"
#include "merge/fold.h"
#include "support/merge_naive.h"

static int64_t below(test_env *t, int64_t n)
{
    return n <= 0 ? 0 : (int64_t)(test_random(t) % (uint64_t)n);
}

/* ---- worlds ---- */

/* NaN is equal to everything, so nothing naive can sort floating-point numbers; merge_test.c has their order. */
static bool can_order(const pml_type *t)
{
    bool ok = t->kind != PML_TYPE_VARIANT && t->kind != PML_TYPE_BLOB && t->kind != PML_TYPE_FLOAT && t->kind != PML_TYPE_DOUBLE;
    for (size_t i = 0; ok && i < pml_layout__children(t); i++)
        ok = can_order(pml_layout__child(t, i));
    return ok;
}

static pml_type type_with_order(merge_world *w, test_env *t, int depth)
{
    pml_type type = random_type(t, &w->arena, depth);
    while (!can_order(&type))
        type = random_type(t, &w->arena, depth);
    return type;
}

static void world_fields(merge_world *w, test_env *t)
{
    size_t n_keys = 1 + (size_t)below(t, 3), n_sequence = (size_t)below(t, 3),
           n = n_keys + n_sequence + (size_t)below(t, 6) + 2;
    int32_t place[MERGE_FIELDS_MAX];
    w->fields = random_fields(t, &w->arena, n, 2, false);
    for (size_t i = 0; i < n; i++)
        place[i] = (int32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t k = (size_t)below(t, (int64_t)i + 1);
        int32_t swap = place[i];
        place[i] = place[k];
        place[k] = swap;
    }
    for (size_t i = 0; i < n_keys; i++) {
        w->keys[i] = place[2 + i];
        w->fields[w->keys[i]].type = type_with_order(w, t, 0);
        w->fields[w->keys[i]].type.nullable = false;
    }
    for (size_t i = 0; i < n_sequence; i++) {
        w->sequence[i] = place[2 + n_keys + i];
        w->fields[w->sequence[i]].type = type_with_order(w, t, (int)below(t, 3));
    }
    w->fields[place[0]].type = (pml_type){.kind = PML_TYPE_BIGINT};
    w->fields[place[1]].type = (pml_type){.kind = PML_TYPE_TINYINT};
    w->layout = (pml_merge_layout){.fields = w->fields,
                                   .n_fields = n,
                                   .keys = w->keys,
                                   .n_keys = n_keys,
                                   .sequence = w->sequence,
                                   .n_sequence = n_sequence,
                                   .sequence_descending = below(t, 2) == 0,
                                   .sequence_number = place[0],
                                   .row_kind = place[1]};
}

/* Takes rows in any order. */
static void source_sort(merge_source *s, merge_world *w, test_env *t, struct ArrowArray *in, bool distinct)
{
    pml_error err = PML_ERROR_INIT;
    int64_t *order = naive_sort(w, in, distinct), n = 0;
    while (order[n] >= 0)
        n++;
    must_ok(pml_batch__gather_rows(&s->rows, t->env, w->fields, w->layout.n_fields, in, order, n, &err), &err);
    free(order);
    pml_array__release(in);
    s->world = w;
    s->t = t;
    s->level = (int32_t)below(t, 6) - 1;
    must_ok(pml_shared__borrow(&s->shared, t->env, &s->rows, NULL, NULL, &err), &err);
}

void merge_world_make(merge_world *w, test_env *t, size_t n_runs, int64_t rows_max)
{
    memset(w, 0, sizeof *w);
    pml_arena__init(&w->arena, t->env);
    world_fields(w, t);
    w->n_runs = n_runs;
    w->piece_rows = 1 + below(t, 2) * below(t, rows_max);
    for (size_t i = 0; i < n_runs; i++) {
        struct ArrowArray in;
        random_batch(&in, t, w->fields, w->layout.n_fields, below(t, rows_max + 1));
        struct ArrowArray *kind = in.children[w->layout.row_kind];
        int8_t *kinds = (int8_t *)(uintptr_t)kind->buffers[1];
        bool retracts = below(t, 3) != 0;
        for (int64_t k = 0; k < kind->offset + in.offset + in.length; k++)
            kinds[k] = (int8_t)(retracts ? kinds[k] & 3 : kinds[k] & 2);
        source_sort(&w->runs[i], w, t, &in, below(t, 2) == 0);
    }
}

static void append_int(pml_builder *b, int64_t v)
{
    must_ok(pml_builder__append_value(b, &(pml_value){.kind = PML_VALUE_INT, .i = v}), NULL);
}

static void append_text(pml_builder *b, const char *format, int64_t v)
{
    char text[64];
    int n = snprintf(text, sizeof text, format, (long long)v);
    must_ok(pml_builder__append_value(b, &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {(uint8_t *)text, (size_t)n}}),
            NULL);
}

static void append_long_key(pml_builder *row, merge_key_kind kind, int64_t key)
{
    pml_builder *b = pml_builder__child(row, 0);
    const pml_value decimal = {.kind = PML_VALUE_DECIMAL, .dec = key - 1000};
    const char *const begins[] = {"a beginning of 25 letters%05lld", "a beginning of 26 letters%05lld", "a beginning that ends%05lld",
                                  "b"};
    if (kind == MERGE_KEY_CHANGING)
        append_text(b, begins[key < 900 ? 0 : key < 2400 ? 1 : key < 3000 ? 2 : 3], key);
    else if (kind == MERGE_KEY_DECIMAL)
        must_ok(pml_builder__append_value(b, &decimal), NULL);
    else if (kind == MERGE_KEY_TEXT || kind == MERGE_KEY_LONG_TEXT)
        append_text(b, kind == MERGE_KEY_TEXT ? "%05lld" : "the same for all keys %05lld", key);
    else
        append_int(b, kind == MERGE_KEY_TWO ? key / 100 : key);
    if (kind == MERGE_KEY_TWO)
        must_ok(pml_builder__append_value(pml_builder__child(row, 4), &decimal), NULL);
    else
        must_ok(pml_builder__append_null(pml_builder__child(row, 4)), NULL);
}

void merge_world_make_long(merge_world *w, test_env *t, size_t n_runs, int64_t rows_max, merge_key_kind kind)
{
    static const pml_type text = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
    memset(w, 0, sizeof *w);
    pml_arena__init(&w->arena, t->env);
    w->fields = random_fields(t, &w->arena, 5, 0, false);
    w->fields[0].type = kind == MERGE_KEY_DECIMAL ? (pml_type){.kind = PML_TYPE_DECIMAL, .precision = 38}
                        : kind == MERGE_KEY_BIGINT || kind == MERGE_KEY_TWO ? (pml_type){.kind = PML_TYPE_BIGINT}
                                                                            : text;
    w->fields[1].type = (pml_type){.kind = PML_TYPE_BIGINT};
    w->fields[2].type = (pml_type){.kind = PML_TYPE_TINYINT};
    w->fields[3].type = text;
    w->fields[4].type = (pml_type){.kind = PML_TYPE_DECIMAL, .precision = 10, .nullable = kind != MERGE_KEY_TWO};
    w->keys[1] = 4;
    w->layout = (pml_merge_layout){.fields = w->fields,
                                   .n_fields = 5,
                                   .keys = w->keys,
                                   .n_keys = kind == MERGE_KEY_TWO ? 2 : 1,
                                   .sequence_number = 1,
                                   .row_kind = 2};
    w->n_runs = n_runs;
    w->piece_rows = 1 + below(t, 2 * rows_max);
    const pml_type row = pml_layout__row(w->fields, 5);
    for (size_t i = 0; i < n_runs; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_builder *b = NULL;
        struct ArrowArray in;
        must_ok(pml_builder__new(&b, t->env, &row, &err), &err);
        int64_t key = below(t, 2000), rows = below(t, rows_max);
        for (int64_t k = 0; k < rows; k++, key += below(t, 10) == 0 ? below(t, 60) : 1) {
            append_long_key(b, kind, key);
            append_int(pml_builder__child(b, 1), below(t, 8));
            append_int(pml_builder__child(b, 2), below(t, 50) == 0 ? PML_ROW_DELETE : PML_ROW_INSERT);
            append_text(pml_builder__child(b, 3), "%lld", (int64_t)i * 10000 + k);
            must_ok(pml_builder__close_item(b), NULL);
        }
        must_ok(pml_builder__finish(b, &in, &err), &err);
        pml_builder__free(b);
        source_sort(&w->runs[i], w, t, &in, below(t, 2) == 0);
    }
}

void merge_world_clear(merge_world *w)
{
    for (size_t i = 0; i < w->n_runs; i++) {
        pml_shared__release(w->runs[i].shared);
        pml_array__release(&w->runs[i].rows);
    }
    pml_arena__clear(&w->arena);
}

void merge_world_request(merge_world *w, test_env *t)
{
    size_t n = (size_t)below(t, MERGE_COLUMNS_MAX);
    for (size_t i = 0; i < n; i++)
        w->columns[i] = (int32_t)below(t, (int64_t)w->layout.n_fields);
    w->function = (pml_merge_function){.kind = (pml_merge_kind)below(t, 4),
                                       .ignore_delete = below(t, 2) == 0,
                                       .always = below(t, 5) == 0,
                                       .decide = naive_decide};
    w->request = (pml_merge_request){.layout = &w->layout,
                                     .function = &w->function,
                                     .columns = w->columns,
                                     .n_columns = n,
                                     .keep_retracts = below(t, 2) == 0,
                                     .lookup = below(t, 3) == 0,
                                     .batch_rows = below(t, 2) == 0 ? 1 + below(t, 20) : 1 + below(t, 2000),
                                     .window_bytes = below(t, 2) == 0 ? 0 : 1 + (uint64_t)below(t, 3000)};
    w->fold_max = below(t, 2) == 0 ? 0 : 2 + (size_t)below(t, 3);
}

/* ---- runs as the merge sees them ---- */

/* The rows as a struct array that has an offset itself. */
static int piece_with_offset(struct ArrowArray *out, merge_source *s, int64_t row, int64_t n, pml_error *err)
{
    int64_t rows[2048], lead = 1 + below(s->t, 9);
    if (n > 2000)
        return pml_shared__slice(out, s->shared, row, n, NULL, s->world->layout.n_fields, NULL, err);
    for (int64_t i = 0; i < lead + n; i++)
        rows[i] = i < lead ? below(s->t, s->rows.length) : row + i - lead;
    PML_RETURN_IF(pml_batch__gather_rows(out, s->t->env, s->world->fields, s->world->layout.n_fields, &s->rows, rows,
                                         lead + n, err));
    out->offset = lead;
    out->length = n;
    return PML_OK;
}

static int source_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    merge_source *s = ctx;
    *out = (struct ArrowArray){0};
    int64_t left = s->rows.length - s->next, n = below(s->t, s->world->piece_rows + 1), row = s->next;
    if (left == 0)
        return PML_OK;
    n = n < left ? n : left;
    s->next += n;
    if (n > 0 && below(s->t, 2) == 0)
        return piece_with_offset(out, s, row, n, err);
    return pml_shared__slice(out, s->shared, row, n, NULL, s->world->layout.n_fields, NULL, err);
}

static void source_drop(void *ctx)
{
    ((merge_source *)ctx)->drops++;
}

static int merge_drain(pml_merge *m, const merge_world *w, const naive_result *expected, pml_error *err)
{
    int rc;
    int64_t at = 0;
    for (;;) {
        struct ArrowArray out;
        rc = pml_merge__next(m, &out, err);
        if (rc != PML_OK || out.release == NULL)
            break;
        assert_true(out.length > 0 && out.length <= w->request.batch_rows);
        if (expected != NULL)
            naive_compare_batch(expected, w, at, &out);
        at += out.length;
        pml_array__release(&out);
    }
    if (rc == PML_OK && expected != NULL)
        assert_int_equal(at, naive_rows(expected));
    return rc;
}

int merge_run(merge_world *w, test_env *t, const naive_result *expected, pml_error *err)
{
    pml_run runs[MERGE_RUNS_MAX];
    pml_merge *m = NULL;
    for (size_t i = 0; i < w->n_runs; i++) {
        w->runs[i].next = w->runs[i].drops = 0;
        runs[i] = (pml_run){source_next, source_drop, &w->runs[i], "a run", w->runs[i].level};
    }
    size_t n = w->n_runs;
    const pml_fold fold = {&w->layout, w->fold_max, w->request.lookup, w->request.batch_rows};
    int rc = w->fold_max == 0 ? PML_OK : pml_runs__fold(runs, &n, t->env, &fold, err);
    for (size_t i = 0; rc != PML_OK && i < n; i++)
        runs[i].drop(runs[i].ctx);
    assert_true(rc != PML_OK || w->fold_max == 0 || w->request.lookup || n <= w->fold_max);
    if (rc == PML_OK)
        rc = pml_merge__open(&m, t->env, &w->request, runs, n, err);
    if (rc == PML_OK)
        rc = merge_drain(m, w, expected, err);
    pml_merge__free(m);
    for (size_t i = 0; i < w->n_runs; i++)
        assert_int_equal(w->runs[i].drops, 1);
    return rc;
}

void merge_agrees(merge_world *w, test_env *t)
{
    pml_error err = PML_ERROR_INIT;
    naive_result *expected = naive_merge(w);
    int rc = naive_code(expected);
    if (rc == PML_OK)
        must_ok(merge_run(w, t, expected, &err), &err);
    else
        must_fail_with(rc, merge_run(w, t, NULL, &err), &err);
    naive_free(expected);
}

/* ---- rows by hand ---- */

void simple_world_make(simple_world *w, test_env *t, int form)
{
    static const char *const formats[] = {NULL, "%lld", "a prefix that is longer than any %lld"};
    *w = (simple_world){
        .t = t,
        .fields = {{.id = 0, .name = "k", .type = {.kind = PML_TYPE_BIGINT}, .description = formats[form]},
                   {.id = 1, .name = "s", .type = {.kind = PML_TYPE_BIGINT}},
                   {.id = 2, .name = "v", .type = {.kind = PML_TYPE_TINYINT}}}};
    if (form > 0)
        w->fields[0].type = (pml_type){.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
    static const int32_t key = 0;
    w->layout = (pml_merge_layout){.n_fields = 3, .keys = &key, .n_keys = 1, .sequence_number = 1, .row_kind = 2};
}

void simple_run(simple_world *w, const char *name, const int64_t (*rows)[3], int64_t n, int64_t batch_rows,
                int32_t level)
{
    w->runs[w->n_runs++] = (simple_source){NULL, name, rows, n, batch_rows, 0, level};
}

static int simple_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    simple_source *s = ctx;
    simple_world *w = s->world;
    pml_builder *b = NULL;
    *out = (struct ArrowArray){0};
    if (w->fail_after > 0 && s->next >= w->fail_after)
        return pml_error__set(err, PML_E_IO, "the disk is gone");
    if (s->next == s->n)
        return PML_OK;
    const pml_type row = pml_layout__row(w->fields, 3);
    PML_RETURN_IF(pml_builder__new(&b, w->t->env, &row, err));
    for (int64_t i = 0; i < s->batch_rows && s->next < s->n; i++) {
        const int64_t *v = s->rows[s->next++];
        if (v[0] == SIMPLE_NULL)
            must_ok(pml_builder__append_null(pml_builder__child(b, 0)), NULL);
        else if (w->fields[0].description != NULL)
            append_text(pml_builder__child(b, 0), w->fields[0].description, v[0]);
        else
            append_int(pml_builder__child(b, 0), v[0]);
        append_int(pml_builder__child(b, 1), v[1]);
        append_int(pml_builder__child(b, 2), v[2]);
        must_ok(pml_builder__close_item(b), NULL);
    }
    int rc = pml_builder__finish(b, out, err);
    pml_builder__free(b);
    return rc;
}

static void simple_drop(void *ctx)
{
    ((simple_source *)ctx)->next = 0;
}

int simple_merge(simple_world *w, pml_merge_kind kind, pml_error *err)
{
    static const int32_t columns[3] = {0, 1, 2};
    pml_run runs[SIMPLE_RUNS_MAX];
    const pml_merge_function function = {.kind = kind, .ignore_delete = w->ignore_delete, .decide = w->decide};
    const pml_merge_request request = {.layout = &w->layout,
                                       .function = &function,
                                       .columns = columns,
                                       .n_columns = 3,
                                       .keep_retracts = w->keep_retracts,
                                       .lookup = w->lookup,
                                       .batch_rows = 2};
    struct ArrowArray out;
    pml_merge *m = NULL;
    size_t at = 0;
    w->layout.fields = w->fields;
    w->result[0] = '\0';
    for (size_t i = 0; i < w->n_runs; i++) {
        w->runs[i].world = w;
        runs[i] = (pml_run){simple_next, simple_drop, &w->runs[i], w->runs[i].name, w->runs[i].level};
    }
    int rc = pml_merge__open(&m, w->t->env, &request, runs, w->n_runs, err);
    while (rc == PML_OK && (rc = pml_merge__next(m, &out, err)) == PML_OK && out.release != NULL) {
        for (int64_t i = 0; i < out.length; i++) {
            pml_value v[3];
            for (size_t k = 0; k < 3; k++)
                pml_value__get(&v[k], &w->fields[k].type, out.children[k], i);
            int64_t key = v[0].kind == PML_VALUE_INT ? v[0].i : 0;
            at += (size_t)snprintf(w->result + at, sizeof w->result - at, "%lld/%lld/%lld ", (long long)key, (long long)v[1].i,
                                   (long long)v[2].i);
        }
        pml_array__release(&out);
    }
    pml_merge__free(m);
    return rc;
}

void simple_world_clear(simple_world *w)
{
    w->n_runs = 0;
}
