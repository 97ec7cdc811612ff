/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of what changed (Java: IncrementalDeltaStartingScanner, IncrementalDiffStartingScanner, SnapshotReaderImpl; format-metadata.md
 * 14.4, 14.5). They go the way of every plan, with other files in them:
 *
 *   BETWEEN, STREAM    the files that manifests add, each row as it stands there. Rows do not hide each other, so files may be left out
 *                      by all that is known of their values. Nothing was deleted in place: that comes as changes, or not at all
 *   DIFF, REPLACED     two sets of files of which what is in both is taken out, as Java does even where that tears a key's rows apart
 */
#include <string.h>

#include "table/prune.h"
#include "table/scan.h"

/* ---- files ---- */

static int refuse_columns(const pml_plan *p, pml_error *err)
{
    if (!p->table->options.data_evolution)
        return PML_OK;
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, p->table->path,
                         "needs data-evolution: the files that changed %s may hold some of the columns only, which this version does not "
                         "read as changes",
                         p->table->path);
}

static int prune_failed(int rc, const pml_prune *prune, pml_error *err)
{
    if (rc != PML_OK || prune->rc == PML_OK)
        return rc;
    if (err != NULL)
        *err = prune->err;
    return prune->rc;
}

static int list_entries(pml_manifest_entries *out, pml_plan *p, pml_prune *prune, const char *list, pml_error *err)
{
    const pml_live_files_request request = {.keep_manifest = pml_prune__keep_manifest, .keep = pml_prune__keep_entry, .arg = prune};
    return prune_failed(pml_table__list_entries(out, &p->arena, p->table, list, &request, err), prune, err);
}

/* Of entries in place those that a read shows and that may match. */
static int keep_files(pml_manifest_entries *v, pml_plan *p, pml_prune *prune, pml_error *err)
{
    size_t kept = 0;
    if (p->schema->n_keys > 0)
        return pml_plan__keep_keyed_files(v, p, prune, err);
    for (size_t i = 0; i < v->n; i++) {
        bool matches = true;
        const pml_table_schema *written;
        PML_RETURN_IF(pml_plan__refuse_file(p, v->v[i].bucket, &v->v[i].file, err));
        PML_RETURN_IF(pml_table__schema_at(&written, p->table, v->v[i].file.schema_id, err));
        PML_RETURN_IF(pml_prune__file(&matches, prune, written, &v->v[i].file, err));
        if (matches)
            v->v[kept++] = v->v[i];
    }
    v->n = kept;
    return PML_OK;
}

/* Entries of one kind, apart from the others. */
static int take_kind(pml_manifest_entries *out, pml_plan *p, const pml_manifest_entries *all, int32_t kind, pml_error *err)
{
    *out = (pml_manifest_entries){.v = pml_arena__array(&p->arena, all->n, sizeof *out->v)};
    if (out->v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].kind == kind)
            out->v[out->n++] = all->v[i];
    return PML_OK;
}

/* ---- behind one snapshot, up to another ---- */

/* Java leaves out what overwrites; deltas of compactions change no rows. */
static bool tells_changes(const pml_snapshot *s, bool changelog)
{
    if (changelog)
        return s->commit_kind != PML_COMMIT_OVERWRITE && s->changelog_manifest_list != NULL;
    return s->commit_kind == PML_COMMIT_APPEND;
}

static int check_added(const pml_plan *p, const pml_manifest_entries *v, size_t from, int64_t id, pml_error *err)
{
    for (size_t i = from; i < v->n; i++)
        if (v->v[i].kind != PML_ENTRY_ADD)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, v->v[i].file.name,
                                 "snapshot %lld of %s takes %s away, although it only adds rows", (long long)id, p->table->path,
                                 v->v[i].file.name);
    return PML_OK;
}

static int gather_between(pml_manifest_entries *out, pml_plan *p, pml_prune *prune, const pml_range *r, pml_error *err)
{
    for (int64_t id = r->after + 1; id <= r->upto; id++) {
        pml_snapshot s;
        size_t from = out->n;
        PML_RETURN_IF(pml_travel__id(&s, &p->arena, p->table, id, err));
        if (!tells_changes(&s, r->changelog))
            continue;
        PML_RETURN_IF(list_entries(out, p, prune, r->changelog ? s.changelog_manifest_list : s.delta_manifest_list, err));
        PML_RETURN_IF(check_added(p, out, from, id, err));
    }
    return PML_OK;
}

static int plan_between(pml_plan *p, const pml_range *r, pml_error *err)
{
    pml_prune prune;
    pml_manifest_entries files = {0};
    int rc;
    p->shape = PML_PLAN_BETWEEN;
    p->values_per_file = true;
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    PML_TRY(gather_between(&files, p, &prune, r, err));
    PML_TRY(keep_files(&files, p, &prune, err));
    PML_TRY(pml_plan__make_splits(p, &files, err));
out:
    pml_prune__clear(&prune);
    return rc;
}

/* ---- before and after ---- */

static int identity_of(pml_buf *key, const pml_manifest_entry *e)
{
    pml_buf__reset(key);
    return pml_manifest_entry__identity(key, e);
}

static void drop_marked(pml_manifest_entries *v, const bool *marked)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->n; i++)
        if (!marked[i])
            v->v[kept++] = v->v[i];
    v->n = kept;
}

/* Takes what is in both out of both. */
static int drop_common(pml_manifest_entries *before, pml_manifest_entries *after, pml_plan *p, pml_error *err)
{
    pml_map by_identity;
    pml_buf key;
    int rc = PML_OK;
    bool *gone_before = pml_arena__array(&p->arena, before->n, sizeof *gone_before);
    bool *gone_after = pml_arena__array(&p->arena, after->n, sizeof *gone_after);
    pml_map__init(&by_identity, p->env);
    pml_buf__init(&key, p->env, SIZE_MAX / 2);
    if (gone_before == NULL || gone_after == NULL)
        rc = PML_E_NOMEM;
    for (size_t i = 0; rc == PML_OK && i < after->n; i++) {
        rc = identity_of(&key, &after->v[i]);
        if (rc == PML_OK)
            rc = pml_map__put(&by_identity, key.data, key.len, &gone_after[i], NULL);
    }
    for (size_t i = 0; rc == PML_OK && i < before->n; i++) {
        rc = identity_of(&key, &before->v[i]);
        bool *same = rc == PML_OK ? pml_map__get(&by_identity, key.data, key.len) : NULL;
        if (same != NULL)
            *same = gone_before[i] = true;
    }
    if (rc == PML_OK) {
        drop_marked(before, gone_before);
        drop_marked(after, gone_after);
    }
    pml_buf__clear(&key);
    pml_map__clear(&by_identity, NULL);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}

static int live_files(pml_manifest_entries *out, pml_plan *p, pml_prune *prune, const pml_snapshot *s, pml_error *err)
{
    const pml_live_files_request request = {.keep_manifest = pml_prune__keep_manifest, .keep = pml_prune__keep_entry, .arg = prune};
    return prune_failed(pml_table__live_files(out, &p->arena, p->table, s, &request, err), prune, err);
}

/* A row that matches may replace one that does not: files are only left out by their keys. */
static int plan_diff(pml_plan *p, const pml_range *r, pml_error *err)
{
    pml_prune prune;
    pml_deletions deletions;
    pml_manifest_entries before = {0}, after = {0};
    int rc;
    p->shape = PML_PLAN_DIFF;
    p->values_per_file = false;
    pml_deletions__init(&deletions, p->env);
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    PML_TRY(pml_deletions__load(&p->deletions, &p->arena, p->table, p->schema, &r->end, err));
    PML_TRY(pml_deletions__load(&deletions, &p->arena, p->table, p->schema, &r->start, err));
    PML_TRY(live_files(&after, p, &prune, &r->end, err));
    PML_TRY(live_files(&before, p, &prune, &r->start, err));
    PML_TRY(drop_common(&before, &after, p, err));
    PML_TRY(p->schema->n_keys > 0 ? keep_files(&before, p, &prune, err) : PML_OK);
    PML_TRY(keep_files(&after, p, &prune, err));
    PML_TRY(pml_plan__make_pair_splits(p, &before, &after, &deletions, err));
out:
    pml_prune__clear(&prune);
    pml_deletions__clear(&deletions);
    return rc;
}

/* ---- the whole of a range ---- */

int pml_plan__of_range(pml_plan **out, const pml_scan *scan, pml_error *err)
{
    pml_plan *p = NULL;
    pml_range range;
    int rc;
    if (scan->memory != NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, scan->table->path,
                             "needs incremental-between: a plan with rows in memory shows a snapshot of %s, not what changed between two",
                             scan->table->path);
    PML_RETURN_IF(pml_plan__new(&p, scan, err));
    p->snapshot_id = -1;
    PML_TRY(refuse_columns(p, err));
    PML_TRY(pml_range__find(&range, &p->arena, p->table, &scan->travel, err));
    PML_TRY(pml_plan__resolve(p, scan, NULL, err));
    if (range.kind != PML_RANGE_EMPTY) {
        p->snapshot_id = range.kind == PML_RANGE_DIFF ? range.end.id : range.upto;
        PML_TRY(range.kind == PML_RANGE_DIFF ? plan_diff(p, &range, err) : plan_between(p, &range, err));
    }
    *out = p;
    p = NULL;
out:
    pml_plan_free(p);
    return rc;
}

/* ---- one snapshot of a stream ---- */

static int plan_added(pml_plan *p, pml_prune *prune, const pml_manifest_entries *all, pml_error *err)
{
    pml_manifest_entries added;
    p->values_per_file = true;
    PML_RETURN_IF(take_kind(&added, p, all, PML_ENTRY_ADD, err));
    PML_RETURN_IF(keep_files(&added, p, prune, err));
    return pml_plan__make_splits(p, &added, err);
}

static int plan_replaced(pml_plan *p, pml_prune *prune, const pml_manifest_entries *all, pml_error *err)
{
    pml_manifest_entries before, after;
    pml_deletions none;
    int rc;
    pml_deletions__init(&none, p->env);
    p->values_per_file = false;
    PML_TRY(take_kind(&before, p, all, PML_ENTRY_DELETE, err));
    PML_TRY(take_kind(&after, p, all, PML_ENTRY_ADD, err));
    PML_TRY(drop_common(&before, &after, p, err));
    PML_TRY(keep_files(&before, p, prune, err));
    PML_TRY(keep_files(&after, p, prune, err));
    PML_TRY(pml_plan__make_pair_splits(p, &before, &after, &none, err));
out:
    pml_deletions__clear(&none);
    return rc;
}

static int plan_snapshot(pml_plan *p, const char *list, pml_error *err)
{
    pml_prune prune;
    pml_manifest_entries all = {0};
    int rc;
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    PML_TRY(list_entries(&all, p, &prune, list, err));
    PML_TRY(p->shape == PML_PLAN_REPLACED ? plan_replaced(p, &prune, &all, err) : plan_added(p, &prune, &all, err));
out:
    pml_prune__clear(&prune);
    return rc;
}

int pml_plan__of_snapshot(pml_plan **out, const pml_scan *scan, const pml_snapshot *s, pml_plan_shape shape, bool changelog, pml_error *err)
{
    pml_plan *p = NULL;
    int rc;
    *out = NULL;
    PML_RETURN_IF(pml_plan__new(&p, scan, err));
    p->snapshot_id = s->id;
    p->shape = shape;
    p->hides_level0 = false;
    PML_TRY(refuse_columns(p, err));
    PML_TRY(pml_plan__resolve(p, scan, NULL, err));
    PML_TRY(plan_snapshot(p, changelog ? s->changelog_manifest_list : s->delta_manifest_list, err));
    *out = p;
    p = NULL;
out:
    pml_plan_free(p);
    return rc;
}
