/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller wants to read. */
#include "table/scan.h"

#include <string.h>

int pml_scan_new(pml_scan **out, pml_table *table, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    pml_scan *s = pml_env__calloc(table->env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(table);
    s->table = table;
    s->all_columns = true;
    s->limit = -1;
    s->only_level = -1;
    s->travel = pml_travel__of_options(&table->options);
    pml_arena__init(&s->predicate_arena, table->env);
    *out = s;
    return PML_OK;
}

static void columns_free(pml_env *env, char **columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pml_env__free(env, columns[i]);
    pml_env__free(env, columns);
}

void pml_scan_free(pml_scan *s)
{
    if (s == NULL)
        return;
    pml_table *t = s->table;
    pml_scan__set_memory(s, NULL, NULL);
    columns_free(t->env, s->columns, s->n_columns);
    pml_arena__clear(&s->predicate_arena);
    pml_env__free(t->env, s->tag);
    pml_env__free(t->env, s->end_tag);
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

int pml_scan_table(pml_table **out, const pml_scan *s, pml_error *err)
{
    pml_snapshot snapshot;
    pml_arena arena;
    bool found;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (!pml_travel__has_columns_of_then(&s->travel)) {
        pml_table_acquire(s->table);
        *out = s->table;
        return PML_OK;
    }
    pml_arena__init(&arena, s->table->env);
    int rc = pml_travel__find(&snapshot, &found, &arena, s->table, &s->travel, -1, err);
    if (rc == PML_OK)
        rc = pml_table__at_schema(out, s->table, snapshot.schema_id, err);
    pml_arena__clear(&arena);
    return rc;
}

static int check_distinct(pml_env *env, const char *const *names, size_t n, pml_error *err)
{
    pml_map seen;
    int rc = PML_OK;
    pml_map__init(&seen, env);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        size_t len = strlen(names[i]);
        if (pml_map__has(&seen, names[i], len))
            rc = pml_error__set(err, PML_E_INVAL, "column '%s' is asked for twice", names[i]);
        else if (pml_map__put(&seen, names[i], len, &seen, NULL) != PML_OK)
            rc = pml_error__no_memory(err);
    }
    pml_map__clear(&seen, NULL);
    return rc;
}

int pml_scan_set_columns(pml_scan *s, const char *const *names, size_t n, pml_error *err)
{
    pml_env *env = s->table->env;
    if (n > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu columns asked for, at most %d are possible", n,
                              PML_TYPE_COLUMNS_MAX);
    PML_RETURN_IF(pml_error__need_pointers((const void *const *)names, n, "names", err));
    PML_RETURN_IF(check_distinct(env, names, n, err));
    char **columns = pml_env__calloc(env, n, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        columns[i] = pml_env__strdup(env, names[i]);
        if (columns[i] == NULL) { /* the scan stays as it was */
            columns_free(env, columns, n);
            return pml_error__no_memory(err);
        }
    }
    columns_free(env, s->columns, s->n_columns);
    s->all_columns = false;
    s->columns = columns;
    s->n_columns = n;
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

/* ---- which snapshot ---- */

int pml_scan_set_snapshot(pml_scan *s, int64_t snapshot_id, pml_error *err)
{
    if (snapshot_id < 1 && snapshot_id != -1)
        return pml_error__set(err, PML_E_INVAL, "%lld is no snapshot id", (long long)snapshot_id);
    s->travel = (pml_travel){.by = snapshot_id < 0 ? PML_SCAN_LATEST : PML_SCAN_ID, .value = snapshot_id};
    return PML_OK;
}

int pml_scan_set_tag(pml_scan *s, const char *name, pml_error *err)
{
    PML_RETURN_IF(pml_travel__check_tag(name, err));
    char *copy = pml_env__strdup(s->table->env, name);
    if (copy == NULL)
        return pml_error__no_memory(err);
    pml_env__free(s->table->env, s->tag);
    s->tag = copy;
    s->travel = (pml_travel){.by = PML_SCAN_TAG, .tag = copy};
    return PML_OK;
}

int pml_scan_set_changes(pml_scan *s, int64_t after, int64_t upto, int mode, pml_error *err)
{
    if (mode < PML_CHANGES_AUTO || mode > PML_CHANGES_DIFF)
        return pml_error__set(err, PML_E_INVAL, "%d is no way to look at changes", mode);
    if (after < 0 || upto < after)
        return pml_error__set(err, PML_E_INVAL, "changes behind snapshot %lld up to %lld: there are none such", (long long)after,
                              (long long)upto);
    s->travel = (pml_travel){.by = PML_SCAN_BETWEEN_IDS, .value = after, .end = upto, .mode = mode};
    return PML_OK;
}

int pml_scan_set_changes_of_tags(pml_scan *s, const char *after, const char *upto, pml_error *err)
{
    PML_RETURN_IF(pml_travel__check_tag(after, err));
    PML_RETURN_IF(pml_travel__check_tag(upto, err));
    char *first = pml_env__strdup(s->table->env, after), *last = pml_env__strdup(s->table->env, upto);
    if (first == NULL || last == NULL) {
        pml_env__free(s->table->env, first);
        pml_env__free(s->table->env, last);
        return pml_error__no_memory(err);
    }
    pml_env__free(s->table->env, s->tag);
    pml_env__free(s->table->env, s->end_tag);
    s->tag = first;
    s->end_tag = last;
    s->travel = (pml_travel){.by = PML_SCAN_BETWEEN_TAGS, .tag = first, .end_tag = last, .mode = PML_CHANGES_DIFF};
    return PML_OK;
}

void pml_scan_set_timestamp(pml_scan *s, int64_t time_ms)
{
    s->travel = (pml_travel){.by = PML_SCAN_TIME, .value = time_ms};
}

void pml_scan_set_watermark(pml_scan *s, int64_t watermark)
{
    s->travel = (pml_travel){.by = PML_SCAN_WATERMARK, .value = watermark};
}
