/* SPDX-License-Identifier: Apache-2.0 */
#include "table/hash_index.h"

#include <string.h>

#include "storage/file_io.h"
#include "util/hash.h"

enum { FILE_BYTES_MAX = 1 << 30 }; /* 268 million keys of one bucket */

bool pml_hash_index__is(const pml_index_entry *e)
{
    return strcmp(e->type, PML_INDEX_HASH) == 0;
}

int pml_index_file__path(char **out, pml_table *t, const pml_table_schema *s, const pml_index_entry *e, pml_error *err)
{
    int rc = PML_OK;
    *out = NULL;
    if (e->external_path != NULL)
        *out = pml_env__strdup(t->env, pml_path__without_scheme(e->external_path));
    else if (t->options.index_in_data_dir)
        rc = pml_path__in_bucket(out, t->env, t->path, s, &t->options, e->partition, e->bucket, e->name, err);
    else
        *out = pml_path__index(t->env, t->path, e->name);
    return rc != PML_OK || *out != NULL ? rc : pml_error__no_memory(err);
}

int pml_hash_index__load(pml_key_buckets *m, pml_table *t, const pml_index_entry *e, pml_error *err)
{
    char *path;
    uint8_t *data = NULL;
    size_t len = 0;
    int rc;
    if (e->bucket < 0 || e->bucket >= PML_DYNAMIC_BUCKETS_MAX)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, e->name, "the index file %s is of bucket %d; dynamic buckets are 0 to %d", e->name,
                             e->bucket, PML_DYNAMIC_BUCKETS_MAX - 1);
    PML_RETURN_IF(pml_index_file__path(&path, t, t->schema, e, err));
    rc = pml_file__read_all(&data, &len, t->env, path, FILE_BYTES_MAX, err);
    if (rc == PML_E_NOT_FOUND)
        rc = pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_INDEX, path, "the index file %s is gone: another writer replaced it, or it was removed",
                           path);
    if (rc == PML_OK)
        rc = pml_key_buckets__load(m, (pml_bytes){data, len}, e->row_count, e->bucket, path, err);
    pml_env__free(t->env, data);
    pml_env__free(t->env, path);
    return rc;
}

int pml_hash_index__write(pml_index_entry *out, const char **path, pml_arena *arena, pml_table *t, pml_bytes partition, int32_t bucket,
                          const pml_buf *hashes, const char *uuid, int64_t counter, pml_error *err)
{
    char *name = NULL, *full = NULL;
    bool sync = t->options.commit_durability == PML_DURABILITY_FILES;
    int rc;
    *out = (pml_index_entry){.kind = PML_ENTRY_ADD,
                             .partition = partition,
                             .bucket = bucket,
                             .type = PML_INDEX_HASH,
                             .size_bytes = (int64_t)hashes->len,
                             .row_count = (int64_t)(hashes->len / sizeof(int32_t))};
    PML_TRY(pml_buf__check(hashes, err));
    name = pml_env__format(t->env, "index-%s-%lld", uuid, (long long)counter);
    out->name = name == NULL ? NULL : pml_arena__strdup(arena, name);
    if (out->name == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_index_file__path(&full, t, t->schema, out, err));
    *path = pml_arena__strdup(arena, full);
    if (*path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_file__write_new(t->env, full, hashes->data, hashes->len, sync ? 0 : PML_WRITE_NO_SYNC, err));
out:
    pml_env__free(t->env, full);
    pml_env__free(t->env, name);
    return rc;
}

int pml_hash_index__covers(bool *out, pml_table *t, const pml_index_entry *newer, const pml_index_entry *older, pml_error *err)
{
    pml_key_buckets m;
    int rc;
    *out = false;
    PML_TRY(pml_key_buckets__init(&m, t->env, err));
    PML_TRY(pml_hash_index__load(&m, t, newer, err));
    size_t n = m.n;
    PML_TRY(pml_hash_index__load(&m, t, older, err));
    *out = m.n == n;
out:
    pml_key_buckets__clear(&m);
    return rc;
}

uint64_t pml_hash_index__print(int32_t bucket, const char *name)
{
    return pml_hash__mix64(pml_hash__fnv1a((uint32_t)bucket, name));
}
