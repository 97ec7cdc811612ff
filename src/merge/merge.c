/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge.h"

#include "merge/walk.h"

#include <assert.h>

enum { BATCH_ROWS_MAX = 1 << 20 }; /* the lists of references are made for that many */
#define WINDOW_BYTES_DEFAULT ((uint64_t)64 << 20)

static int check_request(const pml_merge_request *r, size_t n, pml_error *err)
{
    assert(r->function->kind != PML_MERGE_COLUMNS || r->function->decide != NULL);
    for (size_t i = 0; i < r->n_columns; i++)
        assert(r->columns[i] >= 0 && (size_t)r->columns[i] < r->layout->n_fields);
    if (r->batch_rows <= 0)
        return pml_error__set(err, PML_E_INVAL, "a merge was asked for batches of %lld rows", (long long)r->batch_rows);
    if (n >= PML_RUN_NONE)
        return pml_error__set(err, PML_E_LIMIT,
                              "%zu runs are to be merged at once, at most %d can be; compact the table", n,
                              PML_RUN_NONE - 1);
    return PML_OK;
}

/* From here on the merge owns the runs. */
static int merge_take_runs(pml_merge *m, const pml_run *runs, size_t n, pml_error *err)
{
    pml_cursor *cursors = pml_arena__array(&m->arena, n, sizeof *cursors);
    pml_key_prefix *keys = pml_arena__array(&m->arena, n * PML_CURSOR_KEYS, sizeof *keys);
    if (n > 0 && (cursors == NULL || keys == NULL))
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        cursors[i].run = runs[i];
        cursors[i].keys = keys + i * PML_CURSOR_KEYS;
        cursors[i].number = (uint16_t)i;
    }
    m->cursors = cursors;
    m->n_runs = n;
    return PML_OK;
}

static int merge_init(pml_merge *m, const pml_merge_request *request, pml_error *err)
{
    const pml_merge_layout *l = request->layout;
    pml_cursor_rules *rules = &m->rules;
    pml_merge_request limited = *request;
    int rc;
    rules->layout = l;
    limited.columns = pml_arena__copy(&m->arena, request->columns, request->n_columns * sizeof *request->columns);
    if (request->n_columns > 0 && limited.columns == NULL)
        return pml_error__no_memory(err);
    limited.batch_rows = request->batch_rows < BATCH_ROWS_MAX ? request->batch_rows : BATCH_ROWS_MAX;
    PML_TRY(pml_prefix_form__init(&rules->form, &m->arena, l, err));
    PML_TRY(pml_row_order__init(&rules->keys, &m->arena, l->fields, l->keys, l->n_keys, false, err));
    PML_TRY(pml_row_order__init(&rules->sequence, &m->arena, l->fields, l->sequence, l->n_sequence,
                                l->sequence_descending, err));
    PML_TRY(pml_merge_output__init(&m->output, m->env, &limited, &rules->window,
                                   request->function->kind == PML_MERGE_COLUMNS, err));
out:
    return rc;
}

int pml_merge__open(pml_merge **out, pml_env *env, const pml_merge_request *request, const pml_run *runs, size_t n,
                    pml_error *err)
{
    int rc;
    *out = NULL;
    pml_merge *m = pml_env__calloc(env, 1, sizeof *m);
    if (m == NULL)
        PML_TRY(pml_error__no_memory(err));
    m->env = env;
    pml_env_acquire(env);
    pml_arena__init(&m->arena, env);
    pml_window__init(&m->rules.window, env, request->layout->fields, request->layout->n_fields);
    m->function = request->function;
    m->lookup = request->lookup;
    m->one_of_run = request->one_of_run;
    m->window_bytes = request->window_bytes == 0 ? WINDOW_BYTES_DEFAULT : request->window_bytes;
    PML_TRY(check_request(request, n, err));
    PML_TRY(merge_take_runs(m, runs, n, err));
    PML_TRY(merge_init(m, request, err));
    *out = m;
out:
    for (size_t i = 0; rc != PML_OK && (m == NULL || m->cursors == NULL) && i < n; i++)
        runs[i].drop(runs[i].ctx);
    if (rc != PML_OK)
        pml_merge__free(m);
    return rc;
}

void pml_merge__free(pml_merge *m)
{
    if (m == NULL)
        return;
    pml_env *env = m->env;
    pml_merge_output__clear(&m->output);
    pml_window__clear(&m->rules.window);
    for (size_t i = 0; i < m->n_runs; i++)
        m->cursors[i].run.drop(m->cursors[i].run.ctx);
    pml_env__free(env, m->group.rows);
    pml_env__free(env, m->group.sorted);
    pml_arena__clear(&m->arena);
    pml_env__free(env, m);
    pml_env_release(env);
}

void pml_merge__play(pml_merge *m)
{
    pml_loser_tree *t = &m->tree;
    pml_key_prefix *least = m->least;
    for (uint32_t i = 0; i < t->leaves; i++) {
        bool standing = i < m->n_runs && m->cursors[i].standing;
        if (standing && m->rules.form.changed)
            pml_cursor__reload(&m->cursors[i], &m->rules);
        least[t->leaves + i] = standing && !m->cursors[i].aside ? pml_cursor__key(&m->cursors[i]) : PML_PREFIX_END;
    }
    m->rules.form.changed = false;
    for (uint32_t i = t->leaves - 1; i > 0; i--) {
        pml_key_prefix a = least[2 * i], b = least[2 * i + 1];
        bool a_less = pml_loser_tree__less(t, a, b, false);
        least[i] = a_less ? a : b;
        t->node[i] = a_less ? b : a;
    }
    t->node[0] = least[1];
}

/* Opens every run. */
static int merge_start(pml_merge *m, pml_error *err)
{
    uint32_t leaves = 1;
    while (leaves < m->n_runs)
        leaves *= 2;
    pml_key_prefix *node = pml_arena__array(&m->arena, leaves, sizeof *node);
    m->least = pml_arena__array(&m->arena, 2 * (size_t)leaves, sizeof *m->least);
    if (node == NULL || m->least == NULL)
        return pml_error__no_memory(err);
    m->tree = (pml_loser_tree){node, leaves, m->cursors, &m->rules};
    for (size_t i = 0; i < m->n_runs; i++) {
        bool ended;
        PML_RETURN_IF(pml_cursor__refill(&m->cursors[i], &m->rules, &ended, err));
    }
    pml_merge__play(m);
    return PML_OK;
}

static int merge_fill(pml_merge *m, pml_error *err)
{
    if (m->output.given > 0)
        return PML_OK;
    if (m->tree.node == NULL)
        PML_RETURN_IF(merge_start(m, err));
    if (!pml_group__put(m))
        return PML_OK;
    while (m->output.n == 0 && !m->ended) {
        PML_RETURN_IF(pml_merge_output__forget(&m->output, err));
        pml_window__settle(&m->rules.window);
        PML_RETURN_IF(pml_merge__walk(m, err));
    }
    return PML_OK;
}

int pml_merge__next(pml_merge *m, struct ArrowArray *out, pml_error *err)
{
    *out = (struct ArrowArray){0};
    int rc =
        m->failed ? pml_error__set(err, PML_E_STATE, "a merge that has failed was asked for more") : merge_fill(m, err);
    if (rc == PML_OK && m->output.n > 0)
        rc = pml_merge_output__finish(out, &m->output, err);
    m->failed = rc != PML_OK;
    return rc;
}
