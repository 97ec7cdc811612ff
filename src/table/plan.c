/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning: which files (and memory views) answer a scan.
 *
 *   1. pin the memory views, then choose the snapshot (I8), then let the memory check itself against it
 *   2. refuse by name what the snapshot holds and this version cannot read rightly
 *   3. live files, pruned by partition and by statistics
 *   4. splits: files of one partition-bucket, packed in write order up to the target size; the last one carries the memory
 * Tables with a primary key take 3 and 4 otherwise: plan_pk.c. Tables with data evolution are pruned by statistics in 4.
 */
#include <string.h>

#include "columnar/value_store.h"
#include "format/file_format.h"
#include "meta/partition.h"
#include "table/evolution.h"
#include "table/prune.h"
#include "table/row_tracking.h"
#include "table/scan.h"
#include "table/text_file.h"

enum {
    PLAN_EXPIRED_TRIES = 3
}; /* the latest snapshot can only expire under us when somebody commits faster than we plan */

void pml_plan__acquire(pml_plan *p)
{
    (void)atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void pml_plan_free(pml_plan *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = p->env;
    pml_table *t = p->table;
    if (p->pins != NULL)
        p->memory->release(p->pins);
    pml_plan_free(p->other); /* which has none itself */
    pml_plan_free(p->base);  /* nor has that */
    for (size_t i = 0; i < p->n_splits && p->splits[i].plan == NULL; i++)
        for (pml_split *s = &p->splits[i]; s != NULL; s = s->before)
            for (size_t j = 0; j < s->n_files; j++)
                pml_env__free(env, (char *)s->paths[j]);
    pml_deletions__clear(&p->deletions);
    pml_arena__clear(&p->arena);
    pml_env__free(env, p);
    pml_table_release(t); /* with it the environment may go */
}

/* ---- 1. snapshot and views ---- */

/* Fills *s and p->snapshot_id; *found = false: the table has no snapshot. */
static int choose_snapshot(pml_snapshot *s, bool *found, pml_plan *p, const pml_scan *scan, int64_t min_snapshot,
                           pml_error *err)
{
    PML_RETURN_IF(pml_travel__find(s, found, &p->arena, p->table, &scan->travel, min_snapshot, err));
    p->snapshot_id = *found ? s->id : -1;
    return PML_OK;
}

pml_snapshot_choice pml_plan__choice(const pml_scan *scan)
{
    return scan->travel.by == PML_SCAN_LATEST ? PML_CHOSE_LATEST : scan->travel.by == PML_SCAN_TAG ? PML_CHOSE_TAG : PML_CHOSE_SNAPSHOT;
}

static int pin_and_choose(pml_snapshot *s, bool *found, pml_plan *p, const pml_scan *scan, pml_error *err)
{
    int tries = scan->memory == NULL ? 0 : scan->memory->retries(scan->memory_ctx);
    for (;; tries--) {
        int64_t min_snapshot = -1;
        bool again = false;
        if (scan->memory != NULL)
            PML_RETURN_IF(scan->memory->pin(scan->memory_ctx, &p->pins, &min_snapshot, p->table, scan->predicate, err));
        PML_RETURN_IF(choose_snapshot(s, found, p, scan, min_snapshot, err));
        if (scan->memory == NULL)
            return PML_OK;
        int rc = scan->memory->resolve(p->pins, &again, *found ? s : NULL, pml_plan__choice(scan), err);
        if (rc == PML_OK || !again || tries <= 0)
            return rc;
        scan->memory->release(p->pins);
        p->pins = NULL;
    }
}

/* ---- 2. what is read ---- */

static int resolve_schema(pml_plan *p, const pml_scan *scan, const pml_snapshot *s, pml_error *err)
{
    p->schema = scan->schema != NULL ? scan->schema : p->table->schema;
    if (s != NULL && !scan->streams && pml_travel__has_columns_of_then(&scan->travel)) {
        PML_RETURN_IF(pml_table__schema_at(&p->schema, p->table, s->schema_id, err));
        PML_RETURN_IF(pml_table_options__check_supported(p->schema, p->table->overrides, p->table->n_overrides, false,
                                                         p->table->path, err));
    }
    if (scan->n_extra > 0)
        PML_RETURN_IF(pml_row_tracking__extend(&p->schema, &p->arena, p->schema, scan->extra, scan->n_extra, err));
    p->n_columns = scan->all_columns ? p->schema->n_fields : scan->n_columns;
    p->columns = pml_arena__array(&p->arena, p->n_columns, sizeof *p->columns);
    p->out_fields = pml_arena__array(&p->arena, p->n_columns, sizeof *p->out_fields);
    if (p->columns == NULL || p->out_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < p->n_columns; i++) {
        p->columns[i] = scan->all_columns
                            ? (int32_t)i
                            : pml_table_schema__find(p->schema, scan->columns[i], strlen(scan->columns[i]));
        if (p->columns[i] < 0)
            return pml_error__set(err, PML_E_NOT_FOUND, "there is no column '%s' in %s", scan->columns[i],
                                  p->table->path);
        p->out_fields[i] = p->schema->fields[p->columns[i]];
    }
    return PML_OK;
}

struct missing_column {
    const pml_table_schema *schema;
    int32_t id;
};

static void find_missing(void *arg, int32_t id)
{
    struct missing_column *m = arg;
    if (pml_table_schema__find_id(m->schema, id) < 0)
        m->id = id;
}

/* It may have been made for the columns of another schema. */
static int check_leaves(const pml_plan *p, const pml_pred *q, pml_error *err)
{
    for (size_t i = 0; i < q->n_children; i++) /* as deep as predicates are, PML_PRED_DEPTH_MAX */
        PML_RETURN_IF(check_leaves(p, q->children[i], err));
    if (q->op < PML_PRED_EQ)
        return PML_OK;
    const pml_field *f = &p->schema->fields[pml_table_schema__find_id(p->schema, q->field_id)];
    if (pml_type__is_nested(&f->type) == pml_type__is_nested(q->type) &&
        (pml_type__is_nested(&f->type) || (pml_value__kind_of(&f->type) == pml_value__kind_of(q->type) &&
                                           (f->type.kind != PML_TYPE_DECIMAL || f->type.scale == q->type->scale))))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL,
                          "the predicate was made for another type of column %s than it has at snapshot %lld of %s: make it with the table "
                          "that pml_scan_table gives",
                          f->name, (long long)p->snapshot_id, p->table->path);
}

static int resolve_predicate(pml_plan *p, const pml_scan *scan, pml_error *err)
{
    struct missing_column m = {p->schema, -1};
    if (scan->predicate == NULL)
        return PML_OK;
    if (pml_pred__copy(&p->predicate, &p->arena, scan->predicate) != PML_OK)
        return pml_error__no_memory(err);
    pml_pred__columns(p->predicate, find_missing, &m);
    if (m.id >= 0)
        return pml_error__set(err, PML_E_NOT_FOUND,
                              "the predicate uses a column (id %d) that snapshot %lld of %s does not have", m.id,
                              (long long)p->snapshot_id, p->table->path);
    return check_leaves(p, p->predicate, err);
}

int pml_plan__resolve(pml_plan *p, const pml_scan *scan, const pml_snapshot *s, pml_error *err)
{
    PML_RETURN_IF(resolve_schema(p, scan, s, err));
    return resolve_predicate(p, scan, err);
}

struct read_column_walk {
    const pml_table_schema *schema;
    pml_field *fields;
    size_t n;
};

static void add_read_column(void *arg, int32_t id)
{
    struct read_column_walk *w = arg;
    w->fields[w->n++] = w->schema->fields[pml_table_schema__find_id(w->schema, id)];
}

/* Whether every column that will be read of a file of this schema is there as what it is now. */
static int check_casts(pml_plan *p, const pml_table_schema *written, const pml_data_file *f, pml_error *err)
{
    const pml_written w = {written, &f->write_cols};
    const pml_value none[PML_PARTITION_KEYS_MAX] = {{0}};
    struct read_column_walk walk = {p->schema, NULL, p->n_columns};
    pml_assembly assembly;
    pml_arena arena;
    int rc = PML_OK;
    pml_arena__init(&arena, p->env);
    walk.fields = pml_arena__array(&arena, p->n_columns + p->schema->n_fields, sizeof *walk.fields);
    if (walk.fields == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < p->n_columns; i++)
        walk.fields[i] = p->out_fields[i];
    if (p->predicate != NULL)
        pml_pred__columns(p->predicate, add_read_column, &walk);
    rc = pml_evolution__assembly(&assembly, &arena, p->schema, &w, walk.fields, walk.n, none, err);
    if (rc == PML_E_UNSUPPORTED)
        rc = pml_error__prefix(err, rc, "%s of %s (schema %lld)", f->name, p->table->path, (long long)written->id);
    if (rc == PML_OK && !f->write_cols.present)
        p->castable = written;
out:
    pml_arena__clear(&arena);
    return rc;
}

int pml_plan__refuse_file(pml_plan *p, int32_t bucket, const pml_data_file *f, pml_error *err)
{
    char format[16];
    const pml_table_schema *written;
    if (p->table->options.data_evolution)
        PML_RETURN_IF(pml_plan__refuse_columns_file(p, f, err));
    PML_RETURN_IF(pml_path__format(format, f->name, err));
    PML_RETURN_IF(pml_format__check_readable(format, f->name, p->table->options.read_untrusted, err));
    PML_RETURN_IF(pml_text_file__refuse(p->schema, format, f->name, err));
    PML_RETURN_IF(pml_table__schema_at(&written, p->table, f->schema_id, err));
    if (!p->table->options.data_evolution && !pml_evolution__holds_all(written, f))
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, f->name,
                             "needs data-evolution: %s of %s holds some of the columns only", f->name, p->table->path);
    if (bucket < 0 && p->shape != PML_PLAN_STREAM) /* there each file is read by itself, whatever becomes of its rows */
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, f->name, "needs bucket:postpone: %s of %s is in bucket %d",
                             f->name, p->table->path, bucket);
    if (written == p->schema || written == p->castable)
        return PML_OK;
    return check_casts(p, written, f, err);
}

/* ---- 3. files ---- */

static int plan_files(pml_manifest_entries *live, pml_plan *p, const pml_scan *scan, const pml_snapshot *s, pml_error *err)
{
    pml_prune prune;
    int rc;
    size_t kept = 0;
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    const pml_live_files_request request = {
        .keep_manifest = pml_prune__keep_manifest, .keep = pml_prune__keep_entry, .arg = &prune};
    PML_TRY(pml_table__live_files(live, &p->arena, p->table, s, &request, err));
    if (scan->without != NULL)
        pml_plan__leave_out(live, scan->without);
    if (prune.rc != PML_OK) {
        rc = prune.rc;
        if (err != NULL)
            *err = prune.err;
        goto out;
    }
    if (p->schema->n_keys > 0) {
        rc = pml_plan__keep_keyed_files(live, p, &prune, err);
        goto out;
    }
    for (size_t i = 0; i < live->n; i++) {
        bool matches = true;
        const pml_table_schema *written;
        PML_TRY(pml_plan__refuse_file(p, live->v[i].bucket, &live->v[i].file, err));
        PML_TRY(pml_table__schema_at(&written, p->table, live->v[i].file.schema_id, err));
        if (!p->table->options.data_evolution) /* there it takes all files of the same rows: plan_columns.c */
            PML_TRY(pml_prune__file(&matches, &prune, written, &live->v[i].file, err));
        if (matches)
            live->v[kept++] = live->v[i];
    }
    live->n = kept;
out:
    pml_prune__clear(&prune);
    return rc;
}

/* ---- the whole ---- */

int pml_plan__new(pml_plan **out, const pml_scan *scan, pml_error *err)
{
    pml_env *env = scan->table->env;
    pml_plan *p = pml_env__calloc(env, 1, sizeof *p);
    *out = p;
    if (p == NULL)
        return pml_error__no_memory(err);
    atomic_init(&p->refs, 1);
    p->env = env;
    pml_table_acquire(scan->table);
    p->table = scan->table;
    pml_arena__init(&p->arena, env);
    pml_deletions__init(&p->deletions, env);
    p->limit = scan->limit;
    p->only_level = scan->only_level;
    p->keep_retracts = scan->keep_retracts;
    /* With memory every row that is committed is shown, or it would vanish between its commit and the next compaction (I11). */
    p->values_per_file = !scan->streams && scan->memory == NULL && pml_table_options__skips_level0(&p->table->options);
    p->hides_level0 = scan->streams ? p->table->options.changelog_producer == PML_CHANGELOG_LOOKUP : p->values_per_file;
    p->memory = scan->memory;
    return PML_OK;
}

static int plan_once(pml_plan **out, const pml_scan *scan, pml_error *err)
{
    pml_plan *p = NULL;
    pml_snapshot s;
    bool found = false;
    pml_manifest_entries live = {0};
    int rc;
    PML_RETURN_IF(pml_plan__new(&p, scan, err));
    PML_TRY(pin_and_choose(&s, &found, p, scan, err));
    PML_TRY(pml_plan__resolve(p, scan, found ? &s : NULL, err));
    if (found) {
        PML_TRY(pml_deletions__load(&p->deletions, &p->arena, p->table, p->schema, &s, err));
        PML_TRY(scan->partitions == NULL ? PML_OK : pml_plan__note_partitions(scan->partitions, p, &s, err));
        PML_TRY(plan_files(&live, p, scan, &s, err));
    }
    PML_TRY(pml_plan__make_splits(p, &live, err));
    *out = p;
    p = NULL;
out:
    if (rc == PML_E_SNAPSHOT_GONE && found)
        rc = pml_table__gone_or_damaged(p->table, s.id, err);
    pml_plan_free(p);
    return rc;
}

static int plan_one(pml_plan **out, const pml_scan *scan, pml_error *err)
{
    int rc = PML_E_SNAPSHOT_GONE;
    *out = NULL;
    for (int i = 0; rc == PML_E_SNAPSHOT_GONE && i < PLAN_EXPIRED_TRIES; i++) {
        if (i > 0 && scan->partitions != NULL) { /* those of a snapshot that is gone may be gone, too */
            pml_map__clear(scan->partitions, NULL);
            pml_map__init(scan->partitions, scan->table->env);
        }
        rc = pml_travel__is_range(&scan->travel) ? pml_plan__of_range(out, scan, err) : plan_once(out, scan, err);
        if (scan->travel.by == PML_SCAN_ID || scan->travel.by == PML_SCAN_TAG) /* the same again is gone again */
            break;
    }
    return rc;
}

int pml_scan_plan(pml_plan **out, pml_scan *scan, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    /* A stream shows what changes in its own branch, as in Java. */
    return scan->table->other == NULL || scan->streams ? plan_one(out, scan, err) : pml_plan__both(out, scan, plan_one, err);
}

int64_t pml_plan_snapshot_id(const pml_plan *p)
{
    return p->snapshot_id;
}

size_t pml_plan_split_count(const pml_plan *p)
{
    return p->n_splits;
}

int pml_plan_split_get(pml_split_info *out, const pml_plan *p, size_t i, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_split_info.struct_size is %zu, this library knows %zu",
                              out->struct_size, sizeof *out);
    if (i >= p->n_splits)
        return pml_error__set(err, PML_E_INVAL, "there is no split %zu: the plan has %zu", i, p->n_splits);
    const pml_split *s = &p->splits[i];
    *out = (pml_split_info)PML_SPLIT_INFO_INIT;
    out->files = (int64_t)s->n_files;
    out->rows_on_disk = pml_split__rows_on_disk(s);
    out->rows_in_memory = s->memory_rows;
    out->bucket = s->bucket;
    out->partition = s->partition_path;
    return PML_OK;
}
