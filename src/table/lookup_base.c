/* SPDX-License-Identifier: Apache-2.0 */
#include "table/lookup_base.h"

#include <string.h>

#include "meta/partition.h"

enum { EXPIRED_TRIES = 3 }; /* as in planning */

void pml_lookup_base__acquire(pml_lookup_base *b)
{
    (void)atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void pml_lookup_base__release(pml_lookup_base *b)
{
    if (b == NULL || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = b->plan->env;
    if (b->memory != NULL)
        b->plan->memory->release_base(b->memory);
    pml_live_list__clear(&b->list);
    pml_map__clear(&b->buckets, NULL);
    pml_map__clear(&b->partitions, NULL);
    pml_env_acquire(env); /* the plan may be the last to hold it */
    pml_plan_free(b->plan);
    pml_env__free(env, b);
    pml_env_release(env);
}

pml_lookup_partition *pml_lookup_base__partition(const pml_lookup_base *b, pml_bytes partition)
{
    return pml_map__get(&b->partitions, partition.ptr, partition.len);
}

/* ---- columns ---- */

/* The position of a column among those of the plan, where it is put if it is not there yet. */
static int32_t add_column(pml_plan *p, int32_t column)
{
    size_t i = 0;
    while (i < p->n_columns && p->columns[i] != column)
        i++;
    if (i == p->n_columns) {
        p->columns[p->n_columns] = column;
        p->out_fields[p->n_columns++] = p->schema->fields[column];
    }
    return (int32_t)i;
}

static int make_room(pml_lookup_base *b, pml_error *err)
{
    pml_plan *p = b->plan;
    const pml_table_schema *s = p->schema;
    int32_t *columns = pml_arena__array(&p->arena, p->n_columns + s->n_primary_keys, sizeof *columns);
    pml_field *fields = pml_arena__array(&p->arena, p->n_columns + s->n_primary_keys, sizeof *fields);
    b->key_columns = pml_arena__array(&p->arena, s->n_primary_keys, sizeof *b->key_columns);
    b->key_fields = pml_arena__array(&p->arena, s->n_primary_keys, sizeof *b->key_fields);
    b->key_types = pml_arena__array(&p->arena, s->n_primary_keys, sizeof *b->key_types);
    b->key_at = pml_arena__array(&p->arena, s->n_fields, sizeof *b->key_at);
    if (columns == NULL || fields == NULL || b->key_columns == NULL || b->key_fields == NULL || b->key_types == NULL || b->key_at == NULL)
        return pml_error__no_memory(err);
    memcpy(columns, p->columns, p->n_columns * sizeof *columns);
    memcpy(fields, p->out_fields, p->n_columns * sizeof *fields);
    p->columns = columns;
    p->out_fields = fields;
    return PML_OK;
}

static int set_columns(pml_lookup_base *b, pml_error *err)
{
    pml_plan *p = b->plan;
    const pml_table_schema *s = p->schema;
    b->n_wanted = p->n_columns;
    b->n_keys = s->n_primary_keys;
    PML_RETURN_IF(make_room(b, err));
    for (size_t i = 0; i < s->n_fields; i++)
        b->key_at[i] = -1;
    for (size_t i = 0; i < s->n_primary_keys; i++) {
        int32_t column = pml_table_schema__find(s, s->primary_keys[i], strlen(s->primary_keys[i]));
        b->key_at[column] = (int32_t)i;
        b->key_columns[i] = add_column(p, column);
        b->key_fields[i] = s->fields[column];
        b->key_types[i] = &s->fields[column].type;
        b->float_in_key = b->float_in_key || pml_type__is_float(b->key_types[i]);
    }
    b->partition_in_key = true;
    for (size_t i = 0; i < s->n_partition_keys; i++)
        b->partition_in_key =
            b->partition_in_key && b->key_at[s->partition_index[i]] >= 0 && !pml_type__is_float(&s->fields[s->partition_index[i]].type);
    /* As in prune_bucket.c: FLOAT and DOUBLE are compared as numbers and placed by their bits. */
    b->placeable = p->table->options.bucket > 0 && s->n_bucket_keys > 0;
    for (size_t i = 0; i < s->n_bucket_keys; i++) {
        const pml_type *t = &s->fields[s->bucket_index[i]].type;
        b->placeable = b->placeable && b->key_at[s->bucket_index[i]] >= 0 && !pml_type__is_nested(t) && !pml_type__is_float(t);
    }
    return PML_OK;
}

/* ---- files ---- */

static int add_bucket(pml_lookup_bucket **out, pml_lookup_base *b, pml_buf *key, pml_lookup_bucket ***last, const pml_manifest_entry *e)
{
    pml_arena *arena = &b->plan->arena;
    pml_lookup_partition *p = pml_lookup_base__partition(b, e->partition);
    pml_lookup_bucket *made = *out = pml_arena__alloc(arena, sizeof *made);
    if (made == NULL)
        return PML_E_NOMEM;
    if (p == NULL) {
        p = pml_arena__alloc(arena, sizeof *p);
        if (p == NULL || pml_map__put(&b->partitions, e->partition.ptr, e->partition.len, p, NULL) != PML_OK)
            return PML_E_NOMEM;
        p->by_bucket = b->placeable;
    }
    *made = (pml_lookup_bucket){
        .partition = e->partition, .bucket = e->bucket, .total_buckets = e->total_buckets, .max_sequence = INT64_MIN, .next = p->first};
    p->first = made;
    **last = made;
    *last = &made->after;
    return pml_map__put(&b->buckets, key->data, key->len, made, NULL);
}

static int bucket_of(pml_lookup_bucket **out, pml_lookup_base *b, pml_buf *key, pml_lookup_bucket ***last, const pml_manifest_entry *e)
{
    pml_buf__reset(key);
    PML_RETURN_IF(pml_partition__bucket_key(key, e->partition, e->bucket));
    *out = pml_map__get(&b->buckets, key->data, key->len);
    return *out != NULL ? PML_OK : add_bucket(out, b, key, last, e);
}

/* Rows of a key may be in another bucket than its values say now (prune.c says when). */
static bool may_be_elsewhere(const pml_lookup_base *b, const pml_manifest_entry *e)
{
    const pml_table_schema *s = b->plan->schema;
    bool chars = false;
    for (size_t i = 0; i < s->n_bucket_keys; i++)
        chars = chars || s->fields[s->bucket_index[i]].type.kind == PML_TYPE_CHAR;
    return e->total_buckets != b->plan->table->options.bucket || e->file.schema_id != s->id || (chars && pml_path__is_orc(e->file.name));
}

/* Counts the files of each bucket, then gives each its own in one array. */
static int set_files(pml_lookup_base *b, const pml_manifest_entries *live)
{
    pml_plan *p = b->plan;
    pml_lookup_bucket **last = &b->first, *to;
    pml_buf key;
    int rc = PML_OK;
    pml_buf__init(&key, p->env, SIZE_MAX / 2);
    for (size_t i = 0; rc == PML_OK && i < live->n; i++) {
        rc = bucket_of(&to, b, &key, &last, &live->v[i]);
        if (rc == PML_OK)
            to->n++;
    }
    for (to = b->first; rc == PML_OK && to != NULL; to = to->after) {
        to->entries = pml_arena__array(&p->arena, to->n, sizeof *to->entries);
        rc = to->entries == NULL ? PML_E_NOMEM : PML_OK;
        to->n = 0;
    }
    for (size_t i = 0; rc == PML_OK && i < live->n; i++) {
        const pml_manifest_entry *e = &live->v[i];
        rc = bucket_of(&to, b, &key, &last, e);
        if (rc != PML_OK)
            break;
        to->entries[to->n++] = e;
        to->max_sequence = e->file.max_sequence > to->max_sequence ? e->file.max_sequence : to->max_sequence;
        pml_lookup_partition *partition = pml_lookup_base__partition(b, e->partition);
        partition->by_bucket = partition->by_bucket && !may_be_elsewhere(b, e);
    }
    pml_buf__clear(&key);
    return rc;
}

static int load_files(pml_lookup_base *b, const pml_snapshot *s, const pml_lookup_base *known, pml_error *err)
{
    pml_plan *p = b->plan;
    int rc = pml_deletions__load(&p->deletions, &p->arena, p->table, p->schema, s, err);
    if (rc == PML_OK)
        rc = pml_live_list__load(&b->list, &p->arena, p->table, s, known == NULL ? NULL : &known->list, err);
    if (rc == PML_E_SNAPSHOT_GONE)
        rc = pml_table__gone_or_damaged(p->table, s->id, err);
    PML_RETURN_IF(rc);
    rc = set_files(b, &b->list.live);
    return rc == PML_OK ? rc : pml_error__no_memory(err);
}

/* ---- the whole ---- */

static int load_memory(pml_lookup_base *b, const pml_scan *scan, const pml_snapshot *s, pml_error *err)
{
    pml_plan *p = b->plan;
    const pml_memory_base request = {p->table, s, pml_plan__choice(scan), p->out_fields, p->n_columns};
    if (p->memory == NULL)
        return PML_OK;
    b->memory_columns = pml_arena__array(&p->arena, p->n_columns, sizeof *b->memory_columns);
    if (b->memory_columns == NULL)
        return pml_error__no_memory(err);
    return p->memory->open_base(&b->memory, b->memory_columns, scan->memory_ctx, &request, err);
}

static int load_once(pml_lookup_base **out, const pml_scan *scan, const pml_lookup_base *known, pml_error *err)
{
    pml_env *env = scan->table->env;
    pml_snapshot s;
    bool found = false;
    int rc;
    pml_lookup_base *b = pml_env__calloc(env, 1, sizeof *b);
    if (b == NULL)
        return pml_error__no_memory(err);
    atomic_init(&b->refs, 1);
    pml_map__init(&b->buckets, env);
    pml_map__init(&b->partitions, env);
    rc = pml_plan__new(&b->plan, scan, err);
    if (rc != PML_OK && b->plan == NULL) {
        pml_env__free(env, b);
        return rc;
    }
    if (rc != PML_OK)
        goto out;
    pml_plan *p = b->plan;
    int64_t newest = scan->memory == NULL ? -1 : scan->memory->newest(scan->memory_ctx);
    PML_TRY(pml_travel__find(&s, &found, &p->arena, p->table, &scan->travel, newest, err));
    p->snapshot_id = found ? s.id : -1;
    PML_TRY(pml_plan__resolve(p, scan, found ? &s : NULL, err));
    PML_TRY(set_columns(b, err));
    if (found)
        PML_TRY(load_files(b, &s, known, err));
    PML_TRY(load_memory(b, scan, found ? &s : NULL, err));
    *out = b;
    b = NULL;
out:
    pml_lookup_base__release(b);
    return rc;
}

int pml_lookup_base__load(pml_lookup_base **out, const pml_scan *scan, const pml_lookup_base *known, pml_error *err)
{
    int rc = PML_E_SNAPSHOT_GONE;
    *out = NULL;
    for (int i = 0; rc == PML_E_SNAPSHOT_GONE && i < EXPIRED_TRIES; i++) {
        rc = load_once(out, scan, known, err);
        if (scan->travel.by == PML_SCAN_ID || scan->travel.by == PML_SCAN_TAG) /* the same again is gone again */
            break;
    }
    return rc;
}
