/* SPDX-License-Identifier: Apache-2.0 */
#include "table/deletions.h"

#include <string.h>

#include "meta/manifest.h"
#include "meta/partition.h"
#include "table/hash_index.h"

void pml_deletions__init(pml_deletions *d, pml_env *env)
{
    pml_map__init(&d->by_file, env);
}

void pml_deletions__clear(pml_deletions *d)
{
    pml_map__clear(&d->by_file, NULL);
}

static int key_of(pml_buf *key, pml_bytes partition, int32_t bucket, const char *data_file)
{
    pml_buf__reset(key);
    PML_RETURN_IF(pml_partition__bucket_key(key, partition, bucket));
    return pml_buf__append(key, data_file, strlen(data_file));
}

static int index_path(const char **out, pml_arena *arena, pml_table *t, const pml_table_schema *schema, const pml_index_entry *e,
                      pml_error *err)
{
    char *path;
    *out = NULL;
    PML_RETURN_IF(pml_index_file__path(&path, t, schema, e, err));
    *out = pml_arena__strdup(arena, path);
    pml_env__free(t->env, path);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

static int add_ranges(pml_deletions *d, pml_arena *arena, pml_buf *key, const pml_index_entry *e, const char *path, pml_error *err)
{
    for (size_t i = 0; i < e->n_ranges; i++) {
        const pml_index_range *r = &e->ranges[i];
        pml_deletion *made = pml_arena__alloc(arena, sizeof *made);
        void *old = NULL;
        if (made == NULL || key_of(key, e->partition, e->bucket, r->data_file) != PML_OK)
            return pml_error__no_memory(err);
        *made = (pml_deletion){path, r->at};
        if (pml_map__put(&d->by_file, key->data, key->len, made, &old) != PML_OK)
            return pml_error__no_memory(err);
        if (old != NULL)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, path, "two deletion vectors for the data file %.200s, one of them in %s",
                                 r->data_file, path);
    }
    return PML_OK;
}

/* HASH: which bucket a key is in, for those who write. Global indexes only speed up. */
static bool says_nothing_of_rows(const pml_index_entry *e)
{
    return e->has_global_index || pml_hash_index__is(e);
}

static int add_entry(pml_deletions *d, pml_arena *arena, pml_buf *key, pml_table *t, const pml_table_schema *schema, const pml_snapshot *s,
                     const pml_index_entry *e, pml_error *err)
{
    const char *path;
    pml_bytes row;
    if (says_nothing_of_rows(e))
        return PML_OK;
    if (strcmp(e->type, "DELETION_VECTORS") != 0)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_INDEX, s->index_manifest,
                             "needs %s: snapshot %lld of %s has index files of type %s, which this version does not read", e->type,
                             (long long)s->id, t->path, e->type);
    /* The vectors of a table that has switched them off count no more; Java wants deletion-vectors.modifiable set for that change. */
    if (!t->options.deletion_vectors)
        return PML_OK;
    PML_RETURN_IF(pml_binary_row__uncount(&row, e->partition, schema->n_partition_keys, err));
    PML_RETURN_IF(index_path(&path, arena, t, schema, e, err));
    return add_ranges(d, arena, key, e, path, err);
}

int pml_deletions__load(pml_deletions *d, pml_arena *arena, pml_table *t, const pml_table_schema *schema, const pml_snapshot *s,
                        pml_error *err)
{
    pml_index_entries entries = {0};
    pml_buf key;
    int rc = PML_OK;
    if (s->index_manifest == NULL)
        return PML_OK;
    pml_buf__init(&key, t->env, SIZE_MAX / 2);
    PML_TRY(pml_table__load_index_manifest(&entries, arena, t, s->index_manifest, err));
    for (size_t i = 0; i < entries.n; i++)
        PML_TRY(add_entry(d, arena, &key, t, schema, s, &entries.v[i], err));
out:
    pml_buf__clear(&key);
    return rc;
}

int pml_deletions__find(const pml_deletion **out, const pml_deletions *d, pml_bytes partition, int32_t bucket, const char *data_file,
                        pml_error *err)
{
    pml_buf key;
    *out = NULL;
    if (d->by_file.live == 0)
        return PML_OK;
    pml_buf__init(&key, d->by_file.env, SIZE_MAX / 2);
    int rc = key_of(&key, partition, bucket, data_file);
    if (rc == PML_OK)
        *out = pml_map__get(&d->by_file, key.data, key.len);
    pml_buf__clear(&key);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}
