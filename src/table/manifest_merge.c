/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minor manifest merging (Java: ManifestFileMerger.tryMinorCompaction): walk the manifests in order and collect candidates; when
 * a batch reaches the target size it becomes one manifest; what is left at the end is merged only when there are enough of them.
 * Matched ADD/DELETE pairs inside a batch vanish, unmatched DELETEs stay: their ADD lies in an earlier manifest.
 *
 * The cost is spread: with N = 30, every 30th small commit rewrites 30 manifests. Full compaction (dropping DELETEs everywhere)
 * is left to maintenance; not doing it is always legal.
 */
#include <string.h>

#include "table/commit.h"

/* Appends the entries of a manifest to v, cancelling pairs. live: identity -> index + 1 in v. */
static int merge_entries(pml_manifest_entries *v, pml_map *live, pml_buf *key, const pml_manifest_entries *from)
{
    for (size_t i = 0; i < from->n; i++) {
        const pml_manifest_entry *e = &from->v[i];
        pml_buf__reset(key);
        PML_RETURN_IF(pml_manifest_entry__identity(key, e));
        uintptr_t at = (uintptr_t)pml_map__get(live, key->data, key->len);
        if (e->kind == PML_ENTRY_DELETE && at != 0) {
            v->v[at - 1].kind = -1; /* cancelled */
            (void)pml_map__remove(live, key->data, key->len);
            continue;
        }
        v->v[v->n++] = *e;
        if (e->kind == PML_ENTRY_ADD)
            PML_RETURN_IF(pml_map__put(live, key->data, key->len, (void *)(uintptr_t)v->n, NULL));
    }
    return PML_OK;
}

static int load_batch(pml_manifest_entries *out, pml_arena *arena, pml_commit_files *f, const pml_manifest_meta *v,
                      size_t n, pml_error *err)
{
    pml_map live;
    pml_buf key;
    pml_manifest_entries all = {0};
    int rc = PML_OK;
    size_t kept = 0;
    pml_map__init(&live, f->env);
    pml_buf__init(&key, f->env, SIZE_MAX / 2);
    for (size_t i = 0; i < n; i++)
        PML_TRY(pml_table__load_manifest(&all, arena, f->table, v[i].name, NULL, NULL, err));
    out->v = pml_arena__array(arena, all.n, sizeof *out->v);
    out->n = 0;
    if (out->v == NULL || merge_entries(out, &live, &key, &all) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->v[i].kind >= 0)
            out->v[kept++] = out->v[i];
    out->n = kept;
out:
    pml_buf__clear(&key);
    pml_map__clear(&live, NULL);
    return rc;
}

static int merge_batch(pml_manifest_list *out, pml_arena *arena, pml_commit_files *f, const pml_manifest_meta *v,
                       size_t n, pml_error *err)
{
    pml_arena scratch;
    pml_manifest_entries entries;
    pml_manifest_meta made;
    int rc;
    if (n == 1) {
        out->v[out->n++] = v[0];
        return PML_OK;
    }
    pml_arena__init(&scratch, f->env);
    PML_TRY(load_batch(&entries, &scratch, f, v, n, err));
    if (entries.n == 0)
        goto out;
    PML_TRY(pml_commit_files__write_manifest(&made, arena, f, entries.v, entries.n, err));
    if (pml_names__add(&f->merged, f->env, made.name) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    out->v[out->n++] = made;
out:
    pml_arena__clear(&scratch);
    return rc;
}

int pml_manifest_merge__run(pml_manifest_list *out, pml_arena *arena, pml_commit_files *f, const pml_manifest_list *in,
                            pml_error *err)
{
    const pml_table_options *o = &f->table->options;
    size_t from = 0;
    int64_t size = 0;
    out->n = 0;
    out->v = pml_arena__array(arena, in->n, sizeof *out->v);
    if (out->v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < in->n; i++) {
        if (in->v[i].size_bytes < o->manifest_target_size - size) {
            size += in->v[i].size_bytes;
            continue;
        }
        PML_RETURN_IF(merge_batch(out, arena, f, in->v + from, i + 1 - from, err));
        from = i + 1;
        size = 0;
    }
    if (in->n - from >= (size_t)o->manifest_merge_min_count)
        return merge_batch(out, arena, f, in->v + from, in->n - from, err);
    for (size_t i = from; i < in->n; i++)
        out->v[out->n++] = in->v[i];
    return PML_OK;
}
