/* SPDX-License-Identifier: Apache-2.0 */
/* All rows of a key: sorting them by age, the lookup rule, and what the merge function makes of them. */
#include "merge/walk.h"

enum { GROUP_FIRST_CAP = 64, GROUP_INSERTION_MAX = 16 };

int pml_merge__refuse_retract(const pml_merge *m, pml_error *err)
{
    (void)m;
    return pml_error__set(
        err, PML_E_INVAL,
        "a first-row table has a -D or -U row for a key that has others; set ignore-delete to skip such rows");
}

static int group_grow(pml_merge *m, pml_error *err)
{
    pml_group_rows *g = &m->group;
    size_t cap = g->cap == 0 ? GROUP_FIRST_CAP : g->cap * 2;
    pml_merge_row *rows =
        cap > SIZE_MAX / (2 * sizeof *rows) ? NULL : pml_env__realloc(m->env, g->rows, cap * sizeof *rows);
    if (rows == NULL)
        return pml_error__no_memory(err);
    g->rows = rows;
    pml_env__free(m->env, g->sorted);
    g->sorted = pml_env__alloc(m->env, cap * sizeof *rows);
    if (g->sorted == NULL)
        return pml_error__no_memory(err);
    g->cap = cap;
    return PML_OK;
}

int pml_group__add(pml_merge *m, const pml_cursor *c, pml_error *err)
{
    pml_group_rows *g = &m->group;
    if (g->n == g->cap)
        PML_RETURN_IF(group_grow(m, err));
    g->rows[g->n++] =
        (pml_merge_row){{c->batch, c->row}, pml_cursor__sequence(c, c->row), c->kinds[c->row], c->run.level};
    return PML_OK;
}

int pml_group__take_back(pml_merge *m, size_t n, pml_error *err)
{
    const pml_merge_layout *l = m->rules.layout;
    pml_merge_output *o = &m->output;
    pml_group_rows *g = &m->group;
    while (g->cap < n)
        PML_RETURN_IF(group_grow(m, err));
    o->n -= (int64_t)n;
    for (; g->n < n; g->n++) {
        pml_row_ref ref = o->rows[o->n + (int64_t)g->n];
        const struct ArrowArray *batch = m->rules.window.batches[ref.batch];
        const struct ArrowArray *sequence = batch->children[l->sequence_number], *kind = batch->children[l->row_kind];
        int64_t number = (int64_t)pml_le64((const uint8_t *)sequence->buffers[1] + (size_t)(sequence->offset + ref.row) * 8);
        g->rows[g->n] = (pml_merge_row){ref, number, ((const int8_t *)kind->buffers[1])[kind->offset + ref.row], -1};
    }
    return PML_OK;
}

/* Whether b is at least as new as a. */
static bool in_order(const pml_merge *m, const pml_merge_row *a, const pml_merge_row *b)
{
    const struct ArrowArray *const *batches = m->rules.window.batches;
    int c = m->rules.sequence.n == 0 ? 0
                                     : pml_row_order__compare(&m->rules.sequence, batches[a->ref.batch], a->ref.row,
                                                              batches[b->ref.batch], b->ref.row);
    if (c != 0)
        return c < 0;
    return pml_row__at_least(b->sequence, pml_row_kind__is_retract(b->kind), a->sequence,
                             pml_row_kind__is_retract(a->kind));
}

static void insertion_sort(const pml_merge *m, pml_merge_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        pml_merge_row row = rows[i];
        size_t k = i;
        for (; k > 0 && !in_order(m, &rows[k - 1], &row); k--)
            rows[k] = rows[k - 1];
        rows[k] = row;
    }
}

static void merge_halves(const pml_merge *m, pml_merge_row *to, const pml_merge_row *from, size_t half, size_t n)
{
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++)
        to[i] = b == n || (a < half && in_order(m, &from[a], &from[b])) ? from[a++] : from[b++];
}

/* Stable. Rows come run by run, the oldest first, so they almost always are in order already; a key of very many rows in no order
   still costs no more than n log n. */
static void group_sort(pml_merge *m)
{
    pml_group_rows *g = &m->group;
    size_t n = g->n, i = 1;
    while (i < n && in_order(m, &g->rows[i - 1], &g->rows[i]))
        i++;
    if (i >= n)
        return;
    for (size_t at = 0; at < n; at += GROUP_INSERTION_MAX)
        insertion_sort(m, g->rows + at, n - at < GROUP_INSERTION_MAX ? n - at : GROUP_INSERTION_MAX);
    for (size_t width = GROUP_INSERTION_MAX; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t left = n - at, whole = left < 2 * width ? left : 2 * width;
            merge_halves(m, g->sorted + at, g->rows + at, whole < width ? whole : width, whole);
        }
        pml_merge_row *sorted = g->sorted;
        g->sorted = g->rows;
        g->rows = sorted;
    }
}

/* Lookup-style tables: every row of a level >= 1 holds what lies below it, so of those only the one of the lowest level counts. */
static void group_lookup(pml_group_rows *g)
{
    size_t kept = 0, lowest = SIZE_MAX;
    for (size_t i = 0; i < g->n; i++)
        if (g->rows[i].level > 0 && (lowest == SIZE_MAX || g->rows[i].level < g->rows[lowest].level))
            lowest = i;
    for (size_t i = 0; i < g->n; i++)
        if (g->rows[i].level <= 0 || i == lowest)
            g->rows[kept++] = g->rows[i];
    g->n = kept;
}

/* A row as it is. */
static void output_row(pml_merge_output *o, const pml_merge_row *row)
{
    (void)pml_merge_output__pick_row(o, row->ref);
    if (o->kinds != NULL)
        (void)pml_merge_output__end_row(o, row->kind, row->sequence);
    else
        o->n += o->keep_retracts || !pml_row_kind__is_retract(row->kind);
}

/* LAST and FIRST, where a fold does not do. */
static int group_pick(pml_merge *m, pml_error *err)
{
    const pml_merge_function *f = m->function;
    const pml_group_rows *g = &m->group;
    const pml_merge_row *picked = NULL;
    bool first = f->kind == PML_MERGE_FIRST, skip = f->ignore_delete || first;
    for (size_t i = 0; i < g->n; i++) {
        const pml_merge_row *row = &g->rows[first ? i : g->n - 1 - i];
        bool retract = pml_row_kind__is_retract(row->kind);
        if (retract && first && !f->ignore_delete)
            return pml_merge__refuse_retract(m, err);
        if (picked == NULL && !(retract && skip))
            picked = row;
        if (picked != NULL && !first)
            break;
    }
    if (picked != NULL)
        output_row(&m->output, picked);
    return PML_OK;
}

static int group_decide(pml_merge *m, pml_error *err)
{
    const pml_merge_group g = {m->group.rows, m->group.n, m->rules.window.batches, m->rules.layout};
    return pml_merge_output__explain(&m->output, m->function->decide(m->function->self, &g, &m->output, err), err);
}

bool pml_group__put(pml_merge *m)
{
    pml_group_rows *g = &m->group;
    while (g->out < g->n && m->output.n < m->output.max)
        output_row(&m->output, &g->rows[g->out++]);
    if (g->out < g->n)
        return false;
    g->n = g->out = 0;
    return true;
}

int pml_group__close(pml_merge *m, pml_error *err)
{
    int rc = PML_OK;
    pml_group_rows *g = &m->group;
    /* Counted before the lookup rule: Java's reducer stands outside of its LookupMergeFunction, which gets both of two rows. */
    bool alone = g->n == 1 && !m->function->always;
    group_sort(m);
    if (m->lookup)
        group_lookup(g);
    if (m->function->kind == PML_MERGE_ALL || alone) {
        (void)pml_group__put(m);
        return PML_OK;
    }
    rc = m->function->kind == PML_MERGE_COLUMNS ? group_decide(m, err) : group_pick(m, err);
    g->n = 0;
    return rc;
}
