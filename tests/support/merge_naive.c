/* SPDX-License-Identifier: Apache-2.0 */
#include "support/merge_naive.h"

#include <stdlib.h>

#include "columnar/array_memory.h"

typedef struct naive_ref {
    const struct ArrowArray *batch; /* NULL: a null */
    int64_t row;
    size_t run;
    int32_t level;
} naive_ref;

typedef struct naive_row {
    naive_ref columns[MERGE_FIELDS_MAX];
    int64_t kind, sequence;
} naive_row;

struct naive_result {
    naive_row *rows;
    int64_t n;
    int rc;
};

/* ---- order ---- */

static int naive_item(const pml_type *t, const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k);

static int naive_items(const pml_type *t, const struct ArrowArray *a, int64_t i, int64_t ni, const struct ArrowArray *b,
                       int64_t k, int64_t nk)
{
    for (int64_t x = 0; x < ni && x < nk; x++) {
        int c = naive_item(t, a, i + x, b, k + x);
        if (c != 0)
            return c;
    }
    return (ni > nk) - (ni < nk);
}

static int naive_nested(const pml_type *t, const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k)
{
    pml_layout layout = pml_layout__of(t);
    int c = 0;
    i += a->offset, k += b->offset;
    if (layout == PML_LAYOUT_STRUCT) {
        for (size_t x = 0; c == 0 && x < t->n_children; x++)
            c = naive_item(&t->children[x].type, a->children[x], i, b->children[x], k);
        return c;
    }
    if (layout == PML_LAYOUT_FIXED_LIST)
        return naive_items(&t->children[0].type, a->children[0], i * t->length, t->length, b->children[0],
                           k * t->length, t->length);
    const int32_t *p = a->buffers[1], *q = b->buffers[1];
    int64_t ni = p[i + 1] - p[i], nk = q[k + 1] - q[k];
    if (layout == PML_LAYOUT_LIST)
        return naive_items(&t->children[0].type, a->children[0], p[i], ni, b->children[0], q[k], nk);
    const struct ArrowArray *x = a->children[0], *y = b->children[0];
    c = (ni > nk) - (ni < nk);
    for (size_t m = 0; c == 0 && m < 2; m++)
        c = naive_items(pml_layout__child(t, m), x->children[m], x->offset + p[i], ni, y->children[m], y->offset + q[k],
                        nk);
    return c;
}

static int naive_item(const pml_type *t, const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k)
{
    pml_value v, w;
    if (pml_array__is_null(a, i) || pml_array__is_null(b, k))
        return pml_array__is_null(b, k) - pml_array__is_null(a, i);
    if (pml_layout__of(t) > PML_LAYOUT_TEXT)
        return naive_nested(t, a, i, b, k);
    pml_value__get(&v, t, a, i);
    pml_value__get(&w, t, b, k);
    return pml_value__compare(&v, &w);
}

/* Columns of two rows of struct arrays that may have offsets. */
static int naive_column(const merge_world *w, int32_t position, const naive_ref *a, const naive_ref *b, bool descending)
{
    const struct ArrowArray *x = a->batch->children[position], *y = b->batch->children[position];
    int64_t i = a->row + a->batch->offset, k = b->row + b->batch->offset;
    int c = naive_item(&w->fields[position].type, x, i, y, k);
    return descending && !pml_array__is_null(x, i) && !pml_array__is_null(y, k) ? -c : c;
}

static int naive_key(const merge_world *w, const naive_ref *a, const naive_ref *b)
{
    int c = 0;
    for (size_t i = 0; c == 0 && i < w->layout.n_keys; i++)
        c = naive_column(w, w->layout.keys[i], a, b, false);
    return c;
}

static int64_t naive_integer(const merge_world *w, const naive_ref *a, int32_t position)
{
    pml_value v;
    pml_value__get(&v, &w->fields[position].type, a->batch->children[position], a->row + a->batch->offset);
    return v.i;
}

static const merge_world *sorted_world; /* qsort passes nothing along */

static int naive_order(const void *pa, const void *pb)
{
    const merge_world *w = sorted_world;
    const naive_ref *a = pa, *b = pb;
    int c = naive_key(w, a, b);
    for (size_t i = 0; c == 0 && i < w->layout.n_sequence; i++)
        c = naive_column(w, w->layout.sequence[i], a, b, w->layout.sequence_descending);
    if (c != 0)
        return c;
    int64_t sa = naive_integer(w, a, w->layout.sequence_number), sb = naive_integer(w, b, w->layout.sequence_number);
    int64_t ra = naive_integer(w, a, w->layout.row_kind) & 1, rb = naive_integer(w, b, w->layout.row_kind) & 1;
    if (sa != sb)
        return sa < sb ? -1 : 1;
    if (ra != rb)
        return ra > rb ? -1 : 1;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void naive_sort_refs(const merge_world *w, naive_ref *refs, size_t n)
{
    sorted_world = w;
    qsort(refs, n, sizeof *refs, naive_order);
}

int64_t *naive_sort(const merge_world *w, const struct ArrowArray *batch, bool distinct)
{
    naive_ref *refs = calloc((size_t)batch->length + 1, sizeof *refs);
    int64_t *order = calloc((size_t)batch->length + 1, sizeof *order), n = 0;
    assert_true(refs != NULL && order != NULL);
    for (int64_t i = 0; i < batch->length; i++)
        refs[i] = (naive_ref){batch, i, 0, 0};
    naive_sort_refs(w, refs, (size_t)batch->length);
    for (int64_t i = 0; i < batch->length; i++)
        if (!distinct || i == 0 || naive_key(w, &refs[i - 1], &refs[i]) != 0)
            order[n++] = refs[i].row;
    order[n] = -1;
    free(refs);
    return order;
}

/* ---- the fold ---- */

typedef enum column_rule { RULE_NEWEST, RULE_OLDEST, RULE_NULL, RULE_VALUE, RULE_BUILT, RULE_MIDDLE } column_rule;

static bool rule_whole(size_t n)
{
    return n % 3 == 2;
}

static bool rule_nothing(size_t n)
{
    return n % 5 == 4;
}

static column_rule rule_of(const pml_field *f, size_t position, size_t n)
{
    bool atomic = pml_layout__of(&f->type) <= PML_LAYOUT_TEXT;
    switch ((position + n) % 5) {
    case 0: return RULE_NEWEST;
    case 1: return RULE_OLDEST;
    case 2: return f->type.nullable ? RULE_NULL : RULE_MIDDLE;
    case 3: return atomic ? RULE_VALUE : RULE_MIDDLE;
    default: return atomic ? RULE_BUILT : RULE_NEWEST;
    }
}

int naive_decide(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err)
{
    int rc = PML_OK;
    const pml_merge_row *newest = &g->rows[g->n - 1], *oldest = &g->rows[0], *middle = &g->rows[g->n / 2];
    (void)self, (void)err;
    for (size_t i = 0; !rule_whole(g->n) && i < g->layout->n_fields; i++) {
        const pml_field *f = &g->layout->fields[i];
        int32_t p = (int32_t)i;
        pml_value v;
        pml_builder *b = NULL;
        if (i % 2 == 0 && !pml_merge_output__wanted(out, p))
            continue;
        switch (rule_of(f, i, g->n)) {
        case RULE_NEWEST: PML_TRY(pml_merge_output__pick(out, p, newest->ref)); break;
        case RULE_OLDEST: PML_TRY(pml_merge_output__pick(out, p, oldest->ref)); break;
        case RULE_MIDDLE: PML_TRY(pml_merge_output__pick(out, p, middle->ref)); break;
        case RULE_NULL: PML_TRY(pml_merge_output__pick(out, p, (pml_row_ref){PML_REF_NULL, 0})); break;
        case RULE_VALUE:
            pml_value__get(&v, &f->type, pml_merge_group__column(g, newest->ref, p), newest->ref.row);
            PML_TRY(pml_merge_output__value(out, p, &v));
            break;
        case RULE_BUILT:
            pml_value__get(&v, &f->type, pml_merge_group__column(g, oldest->ref, p), oldest->ref.row);
            b = pml_merge_output__builder(out, p);
            PML_TRY(b == NULL ? PML_E_NOMEM : PML_OK);
            PML_TRY(v.kind == PML_VALUE_NULL ? pml_builder__append_null(b) : pml_builder__append_value(b, &v));
            PML_TRY(pml_merge_output__built(out, p));
            break;
        }
    }
    if (rule_nothing(g->n))
        return PML_OK;
    if (rule_whole(g->n))
        PML_TRY(pml_merge_output__pick_row(out, middle->ref));
    PML_TRY(pml_merge_output__end_row(out, oldest->kind, newest->sequence ^ (int64_t)g->n));
out:
    return rc;
}

static void result_add(naive_result *r, const merge_world *w, const naive_ref *ref)
{
    naive_row *row = &r->rows[r->n];
    for (size_t i = 0; i < w->layout.n_fields; i++)
        row->columns[i] = *ref;
    row->kind = naive_integer(w, ref, w->layout.row_kind);
    row->sequence = naive_integer(w, ref, w->layout.sequence_number);
    r->n += w->request.keep_retracts || (row->kind & 1) == 0;
}

static void naive_columns(naive_result *r, const merge_world *w, const naive_ref *rows, size_t n)
{
    naive_row *row = &r->rows[r->n];
    for (size_t i = 0; i < w->layout.n_fields; i++) {
        row->columns[i] = rows[n / 2];
        if (rule_whole(n))
            continue;
        switch (rule_of(&w->fields[i], i, n)) {
        case RULE_NEWEST:
        case RULE_VALUE: row->columns[i] = rows[n - 1]; break;
        case RULE_OLDEST:
        case RULE_BUILT: row->columns[i] = rows[0]; break;
        case RULE_NULL: row->columns[i].batch = NULL; break;
        case RULE_MIDDLE: break;
        }
    }
    row->kind = naive_integer(w, &rows[0], w->layout.row_kind);
    row->sequence = naive_integer(w, &rows[n - 1], w->layout.sequence_number) ^ (int64_t)n;
    r->n += !rule_nothing(n) && (w->request.keep_retracts || (row->kind & 1) == 0);
}

static size_t naive_lookup(naive_ref *rows, size_t n)
{
    int32_t lowest = INT32_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].level >= 1 && rows[i].level < lowest)
            lowest = rows[i].level;
    bool taken = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].level >= 1 && (rows[i].level != lowest || taken))
            continue;
        taken = taken || rows[i].level >= 1;
        rows[kept++] = rows[i];
    }
    return kept;
}

static void naive_fold(naive_result *r, const merge_world *w, naive_ref *rows, size_t n)
{
    const pml_merge_function *f = &w->function;
    bool alone = n == 1 && !f->always, first = f->kind == PML_MERGE_FIRST;
    if (w->request.lookup)
        n = naive_lookup(rows, n);
    if (f->kind == PML_MERGE_ALL || alone) {
        for (size_t i = 0; i < n; i++)
            result_add(r, w, &rows[i]);
        return;
    }
    if (f->kind == PML_MERGE_COLUMNS) {
        naive_columns(r, w, rows, n);
        return;
    }
    const naive_ref *picked = NULL;
    for (size_t i = 0; i < n; i++) {
        bool retract = (naive_integer(w, &rows[i], w->layout.row_kind) & 1) != 0;
        if (retract && first && !f->ignore_delete)
            r->rc = PML_E_INVAL;
        if (retract && f->ignore_delete)
            continue;
        if (picked == NULL || !first)
            picked = &rows[i];
    }
    if (picked != NULL)
        result_add(r, w, picked);
}

naive_result *naive_merge(const merge_world *w)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < w->n_runs; i++)
        n += (size_t)w->runs[i].rows.length;
    naive_result *r = calloc(1, sizeof *r);
    naive_ref *refs = calloc(n + 1, sizeof *refs);
    assert_true(r != NULL && refs != NULL);
    r->rows = calloc(n + 1, sizeof *r->rows);
    assert_non_null(r->rows);
    for (size_t i = 0; i < w->n_runs; i++)
        for (int64_t k = 0; k < w->runs[i].rows.length; k++)
            refs[at++] = (naive_ref){&w->runs[i].rows, k, i, w->runs[i].level};
    naive_sort_refs(w, refs, n);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && naive_key(w, &refs[from], &refs[to]) == 0;)
            to++;
        naive_fold(r, w, refs + from, to - from);
    }
    free(refs);
    return r;
}

void naive_free(naive_result *r)
{
    free(r->rows);
    free(r);
}

int naive_code(const naive_result *r)
{
    return r->rc;
}

int64_t naive_rows(const naive_result *r)
{
    return r->n;
}

void naive_compare_batch(const naive_result *r, const merge_world *w, int64_t at, const struct ArrowArray *out)
{
    bool computed = w->function.kind == PML_MERGE_COLUMNS;
    assert_true(at + out->length <= r->n);
    assert_int_equal(out->n_children, w->request.n_columns);
    for (size_t c = 0; c < w->request.n_columns; c++)
        for (int64_t i = 0; i < out->length; i++) {
            const naive_row *row = &r->rows[at + i];
            int32_t p = w->request.columns[c];
            const naive_ref *ref = &row->columns[p];
            const struct ArrowArray *column = out->children[c];
            pml_value v;
            if (computed && (p == w->layout.row_kind || p == w->layout.sequence_number)) {
                pml_value__get(&v, &w->fields[p].type, column, i);
                assert_int_equal(v.i, p == w->layout.row_kind ? row->kind : row->sequence);
            } else if (ref->batch == NULL) {
                assert_true(pml_array__is_null(column, i));
            } else {
                assert_true(array_rows_equal(ref->batch->children[p], ref->row, column, i, &w->fields[p].type));
            }
        }
}
