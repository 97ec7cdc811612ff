/* SPDX-License-Identifier: Apache-2.0 */
#include "table/restore.h"

#include <string.h>

#include "meta/partition.h"

void pml_restore__clear(pml_restore *r)
{
    if (r->env == NULL)
        return;
    pml_map__clear(&r->last_sequence, NULL);
    pml_map__clear(&r->total_buckets, NULL);
    pml_arena__clear(&r->arena);
    *r = (pml_restore){0};
}

/* Only what restoring needs is kept of each entry, so that a large table costs little memory. */
static int restore_entry(pml_restore *r, pml_buf *key, const pml_manifest_entry *e)
{
    int32_t *total = pml_map__get(&r->total_buckets, e->partition.ptr, e->partition.len);
    if (total == NULL) {
        total = pml_arena__alloc(&r->arena, sizeof *total);
        if (total == NULL || pml_map__put(&r->total_buckets, e->partition.ptr, e->partition.len, total, NULL) != PML_OK)
            return PML_E_NOMEM;
    }
    *total = e->total_buckets;
    pml_buf__reset(key);
    if (pml_partition__bucket_key(key, e->partition, e->bucket) != PML_OK)
        return PML_E_NOMEM;
    int64_t *last = pml_map__get(&r->last_sequence, key->data, key->len);
    if (last == NULL) {
        last = pml_arena__alloc(&r->arena, sizeof *last);
        if (last == NULL || pml_map__put(&r->last_sequence, key->data, key->len, last, NULL) != PML_OK)
            return PML_E_NOMEM;
        *last = -1;
    }
    if (e->file.max_sequence > *last)
        *last = e->file.max_sequence;
    return PML_OK;
}

/* Rows of the others have no order that their numbers would tell. */
static bool needs_restore(const pml_table *t)
{
    return t->options.bucket >= 1 || pml_table_options__is_dynamic(&t->options, t->schema);
}

int pml_restore__load(pml_restore *out, pml_table *t, pml_error *err)
{
    pml_arena scratch;
    pml_buf key;
    pml_snapshot s;
    pml_manifest_entries live;
    int64_t id;
    int rc = PML_OK;
    *out = (pml_restore){.env = t->env};
    pml_arena__init(&out->arena, t->env);
    pml_map__init(&out->last_sequence, t->env);
    pml_map__init(&out->total_buckets, t->env);
    if (!needs_restore(t))
        return PML_OK;
    pml_arena__init(&scratch, t->env);
    pml_buf__init(&key, t->env, SIZE_MAX / 2);
    PML_TRY(pml_table__latest_snapshot(&id, t, false, err));
    if (id < 0)
        goto out;
    PML_TRY(pml_table__load_snapshot(&s, &scratch, t, id, err));
    PML_TRY(pml_table__live_files(&live, &scratch, t, &s, NULL, err));
    for (size_t i = 0; rc == PML_OK && i < live.n; i++)
        rc = restore_entry(out, &key, &live.v[i]) == PML_OK ? PML_OK : pml_error__no_memory(err);
out:
    pml_buf__clear(&key);
    pml_arena__clear(&scratch);
    if (rc != PML_OK)
        pml_restore__clear(out);
    return rc;
}

int pml_restore__first_sequence(int64_t *first, const pml_restore *r, const pml_table *t, pml_bytes partition, int32_t bucket,
                                pml_error *err)
{
    pml_buf key;
    int rc = PML_OK;
    *first = 0;
    if (!needs_restore(t))
        return PML_OK;
    const int32_t *total = pml_map__get(&r->total_buckets, partition.ptr, partition.len);
    if (total != NULL && *total > 0 && *total != t->options.bucket)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs bucket:rescaled: a partition of %s was written with %d buckets and the table now has %d; "
                              "overwrite the partition with another implementation first",
                              t->path, *total, t->options.bucket);
    pml_buf__init(&key, r->env, SIZE_MAX / 2);
    if (pml_partition__bucket_key(&key, partition, bucket) != PML_OK)
        rc = pml_error__no_memory(err);
    const int64_t *last = rc == PML_OK ? pml_map__get(&r->last_sequence, key.data, key.len) : NULL;
    if (last != NULL && *last == INT64_MAX)
        rc = pml_error__set(err, PML_E_OVERFLOW, "the sequence numbers of bucket %d of %s are used up", bucket, t->path);
    else if (last != NULL)
        *first = *last + 1;
    pml_buf__clear(&key);
    return rc;
}
