/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller wants to read. */
#include "table/scan.h"

#include <string.h>

int pml_scan_new(pml_scan **out, pml_table *table, pml_error *err)
{
    *out = NULL;
    pml_scan *s = pml_env__calloc(table->env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(table);
    s->table = table;
    s->all_columns = true;
    s->limit = -1;
    s->snapshot_id = table->options.scan_snapshot_id;
    pml_arena__init(&s->predicate_arena, table->env);
    *out = s;
    return PML_OK;
}

static void columns_clear(pml_scan *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        pml_env__free(s->table->env, s->columns[i]);
    pml_env__free(s->table->env, s->columns);
    s->columns = NULL;
    s->n_columns = 0;
}

void pml_scan_free(pml_scan *s)
{
    if (s == NULL)
        return;
    pml_table *t = s->table;
    pml_scan__set_memory(s, NULL, NULL);
    columns_clear(s);
    pml_arena__clear(&s->predicate_arena);
    pml_env__free(t->env, s);
    pml_table_release(t);
}

void pml_scan__set_memory(pml_scan *s, const pml_memory_source *source, void *ctx)
{
    if (source != NULL)
        source->acquire_ctx(ctx);
    if (s->memory != NULL)
        s->memory->release_ctx(s->memory_ctx);
    s->memory = source;
    s->memory_ctx = ctx;
}

pml_table *pml_scan__table(const pml_scan *s)
{
    return s->table;
}

int pml_scan_set_columns(pml_scan *s, const char *const *names, size_t n, pml_error *err)
{
    pml_env *env = s->table->env;
    if (n > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu columns asked for, at most %d are possible", n, PML_TYPE_COLUMNS_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return pml_error__set(err, PML_E_INVAL, "column '%s' is asked for twice", names[i]);
    columns_clear(s);
    s->all_columns = false;
    s->columns = pml_env__calloc(env, n, sizeof *s->columns);
    for (size_t i = 0; s->columns != NULL && i < n; i++) {
        s->columns[i] = pml_env__strdup(env, names[i]);
        if (s->columns[i] == NULL)
            break;
        s->n_columns++;
    }
    if (s->columns == NULL || s->n_columns < n) {
        columns_clear(s);
        s->all_columns = true;
        return pml_error__no_memory(err);
    }
    return PML_OK;
}

int pml_scan_set_predicate(pml_scan *s, const pml_predicate *p, pml_error *err)
{
    pml_arena arena;
    pml_pred *copy = NULL;
    pml_arena__init(&arena, s->table->env);
    if (p != NULL && pml_pred__copy(&copy, &arena, p->tree) != PML_OK) {
        pml_arena__clear(&arena);
        return pml_error__no_memory(err);
    }
    pml_arena__clear(&s->predicate_arena);
    s->predicate_arena = arena;
    s->predicate = copy;
    return PML_OK;
}

int pml_scan_set_limit(pml_scan *s, int64_t n, pml_error *err)
{
    if (n < -1)
        return pml_error__set(err, PML_E_INVAL, "the limit %lld is negative", (long long)n);
    s->limit = n;
    return PML_OK;
}

int pml_scan_set_snapshot(pml_scan *s, int64_t snapshot_id, pml_error *err)
{
    if (snapshot_id < 1 && snapshot_id != -1)
        return pml_error__set(err, PML_E_INVAL, "%lld is no snapshot id", (long long)snapshot_id);
    s->snapshot_id = snapshot_id;
    return PML_OK;
}
