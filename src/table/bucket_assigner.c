/* SPDX-License-Identifier: Apache-2.0 */
#include "table/bucket_assigner_inner.h"

#include <string.h>

#include "columnar/bucket.h"
#include "meta/partition.h"
#include "storage/file_io.h"

/* ---- life ---- */

void pml_index_file__clear(index_file *f, pml_env *env)
{
    pml_env__free(env, f->name);
    *f = (index_file){0};
}

static void partition_free(pml_env *env, void *value)
{
    dynamic_partition *p = value;
    for (size_t i = 0; i < p->n; i++) {
        pml_index_file__clear(&p->buckets[i].file, env);
        pml_index_file__clear(&p->buckets[i].before, env);
    }
    pml_env__free(env, p->buckets);
    pml_key_buckets__clear(&p->keys);
    pml_env__free(env, p);
}

void pml_bucket_assigner__free(pml_bucket_assigner *a)
{
    if (a == NULL)
        return;
    pml_env *env = a->env;
    pml_map__clear(&a->partitions, partition_free);
    pml_map__clear(&a->first, NULL);
    pml_mutex__destroy(&a->mu);
    pml_arena__clear(&a->arena);
    pml_env__free(env, a);
}

static int check_entry(const pml_index_entry *e, const char *where, pml_error *err)
{
    if (e->kind == PML_ENTRY_ADD)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, where, "%s is damaged: it deletes %s, and index manifests only add", where, e->name);
}

/* Entries of one partition become a list. */
static int sort_entries(pml_bucket_assigner *a, const char *where, pml_error *err)
{
    a->next = pml_arena__array(&a->arena, a->entries.n, sizeof *a->next);
    if (a->next == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < a->entries.n; i++) {
        const pml_index_entry *e = &a->entries.v[i];
        void *old = NULL;
        PML_RETURN_IF(check_entry(e, where, err));
        a->next[i] = 0;
        if (!pml_hash_index__is(e))
            continue;
        if (pml_map__put(&a->first, e->partition.ptr, e->partition.len, (void *)(uintptr_t)(i + 1), &old) != PML_OK)
            return pml_error__no_memory(err);
        a->next[i] = (size_t)(uintptr_t)old;
    }
    return PML_OK;
}

static int load_entries(pml_bucket_assigner *a, pml_error *err)
{
    pml_snapshot s;
    int64_t id;
    PML_RETURN_IF(pml_table__latest_snapshot(&id, a->table, false, err));
    if (id < 0)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_snapshot(&s, &a->arena, a->table, id, err));
    if (s.index_manifest == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_index_manifest(&a->entries, &a->arena, a->table, s.index_manifest, err));
    return sort_entries(a, s.index_manifest, err);
}

static int set_up(pml_bucket_assigner *a, pml_error *err)
{
    const pml_table_schema *s = a->table->schema;
    int32_t max = a->table->options.dynamic_buckets_max;
    if (max == 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, a->table->path,
                             "option dynamic-bucket.max-buckets of %s is 0: rows would have no bucket; set 1 or more, or -1", a->table->path);
    a->buckets_max = max < 0 || max > PML_DYNAMIC_BUCKETS_MAX ? PML_DYNAMIC_BUCKETS_MAX : max;
    a->key_types = pml_arena__array(&a->arena, s->n_keys, sizeof *a->key_types);
    for (int first = 0; first < 2; first++) {
        a->key_columns[first] = pml_arena__array(&a->arena, s->n_keys, sizeof *a->key_columns[first]);
        if (a->key_types == NULL || a->key_columns[first] == NULL)
            return pml_error__no_memory(err);
        for (size_t i = 0; i < s->n_keys; i++)
            a->key_columns[first][i] = s->key_index[i] + first;
    }
    for (size_t i = 0; i < s->n_keys; i++)
        a->key_types[i] = &s->fields[s->key_index[i]].type;
    PML_RETURN_IF(pml_env__uuid(a->env, a->uuid, err));
    return load_entries(a, err);
}

int pml_bucket_assigner__new(pml_bucket_assigner **out, pml_table *t, pml_error *err)
{
    *out = NULL;
    pml_bucket_assigner *a = pml_env__calloc(t->env, 1, sizeof *a);
    if (a == NULL)
        return pml_error__no_memory(err);
    a->env = t->env;
    a->table = t;
    pml_arena__init(&a->arena, t->env);
    pml_map__init(&a->first, t->env);
    pml_map__init(&a->partitions, t->env);
    pml_mutex__init(&a->mu, "bucket_assigner", 0);
    int rc = set_up(a, err);
    if (rc != PML_OK)
        pml_bucket_assigner__free(a);
    else
        *out = a;
    return rc;
}

/* ---- loading a partition ---- */

static int need_bucket(dynamic_bucket **out, pml_env *env, dynamic_partition *p, int32_t bucket, pml_error *err)
{
    size_t wanted = (size_t)bucket + 1;
    if (wanted > p->cap) {
        size_t cap = wanted > 2 * p->cap ? wanted : 2 * p->cap;
        dynamic_bucket *v = pml_env__calloc(env, cap, sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        if (p->n > 0)
            memcpy(v, p->buckets, p->n * sizeof *v);
        pml_env__free(env, p->buckets);
        p->buckets = v;
        p->cap = cap;
    }
    if (wanted > p->n)
        p->n = wanted;
    *out = &p->buckets[bucket];
    return PML_OK;
}

static int load_bucket(pml_bucket_assigner *a, dynamic_partition *p, const pml_index_entry *e, pml_error *err)
{
    dynamic_bucket *b;
    size_t before = p->keys.n;
    PML_RETURN_IF(pml_hash_index__load(&p->keys, a->table, e, err));
    PML_RETURN_IF(need_bucket(&b, a->env, p, e->bucket, err));
    if (b->file.name != NULL)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, e->name, "bucket %d of one partition has two index files, %s and %s", e->bucket,
                             b->file.name, e->name);
    b->file = (index_file){pml_env__strdup(a->env, e->name), e->size_bytes, e->row_count};
    if (b->file.name == NULL)
        return pml_error__no_memory(err);
    b->rows = (int64_t)(p->keys.n - before);
    b->exists = b->rows > 0; /* as in Java, one without keys may be made anew */
    p->n_existing += b->exists;
    p->print += pml_hash_index__print(e->bucket, e->name);
    return PML_OK;
}

/* Without the lock: what it reads of the assigner never changes. */
static int partition_load(dynamic_partition **out, pml_bucket_assigner *a, pml_bytes key, pml_error *err)
{
    int rc = PML_OK;
    *out = NULL;
    dynamic_partition *p = pml_env__calloc(a->env, 1, sizeof *p);
    if (p == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_key_buckets__init(&p->keys, a->env, err));
    for (size_t i = (size_t)(uintptr_t)pml_map__get(&a->first, key.ptr, key.len); i > 0; i = a->next[i - 1])
        PML_TRY(load_bucket(a, p, &a->entries.v[i - 1], err));
    *out = p;
    p = NULL;
out:
    if (p != NULL)
        partition_free(a->env, p);
    return rc;
}

/* With the lock, which is let go of while files are read: of several that do so at once the first one's partition counts. */
static int partition_of(dynamic_partition **out, pml_bucket_assigner *a, pml_bytes key, pml_error *err)
{
    dynamic_partition *loaded;
    *out = pml_map__get(&a->partitions, key.ptr, key.len);
    if (*out != NULL)
        return PML_OK;
    pml_mutex__unlock(&a->mu);
    int rc = partition_load(&loaded, a, key, err);
    pml_mutex__lock(&a->mu);
    if (rc != PML_OK)
        return rc;
    *out = pml_map__get(&a->partitions, key.ptr, key.len);
    if (*out == NULL && pml_map__put(&a->partitions, key.ptr, key.len, loaded, NULL) == PML_OK) {
        *out = loaded;
        return PML_OK;
    }
    partition_free(a->env, loaded);
    return *out != NULL ? PML_OK : pml_error__no_memory(err);
}

/* ---- assigning ---- */

/* The first bucket with room; -1: none. */
static int32_t open_bucket(dynamic_partition *p, int64_t target)
{
    while ((size_t)p->first_open < p->n) {
        const dynamic_bucket *b = &p->buckets[p->first_open];
        if (b->exists && b->rows < target)
            return p->first_open;
        p->first_open++;
    }
    return -1;
}

/* The lowest free number, which is a bucket from now on; -1: there is none below max. */
static int new_bucket(int32_t *out, pml_bucket_assigner *a, dynamic_partition *p, pml_error *err)
{
    dynamic_bucket *b;
    *out = -1;
    while ((size_t)p->first_free < p->n && p->buckets[p->first_free].exists)
        p->first_free++;
    if (p->first_free >= a->buckets_max)
        return PML_OK;
    PML_RETURN_IF(need_bucket(&b, a->env, p, p->first_free, err));
    b->exists = true;
    p->n_existing++;
    if (p->first_free < p->first_open)
        p->first_open = p->first_free;
    *out = p->first_free;
    return PML_OK;
}

static int32_t bucket_by_hash(const dynamic_partition *p, int32_t hash)
{
    int32_t at = 0, skip = pml_bucket__default(hash, p->n_existing);
    if ((size_t)p->n_existing == p->n)
        return skip;
    for (;; at++)
        if (p->buckets[at].exists && skip-- == 0)
            return at;
}

static int assign_new(int32_t *bucket, pml_bucket_assigner *a, dynamic_partition *p, int32_t hash, pml_error *err)
{
    const pml_table_options *o = &a->table->options;
    *bucket = open_bucket(p, o->dynamic_target_rows);
    if (*bucket < 0)
        PML_RETURN_IF(new_bucket(bucket, a, p, err));
    if (*bucket < 0 && o->dynamic_buckets_max < 0)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_OPTION, a->table->path,
                             "all %d buckets of a partition of %s have %lld keys: raise dynamic-bucket.target-row-num", PML_DYNAMIC_BUCKETS_MAX,
                             a->table->path, (long long)o->dynamic_target_rows);
    if (*bucket < 0)
        *bucket = bucket_by_hash(p, hash);
    PML_RETURN_IF(pml_key_buckets__put(&p->keys, hash, *bucket, err));
    p->buckets[*bucket].rows++;
    p->buckets[*bucket].dirty = true;
    return PML_OK;
}

static int assign(int32_t *bucket, pml_bucket_assigner *a, dynamic_partition *p, int32_t hash, pml_error *err)
{
    *bucket = pml_key_buckets__get(&p->keys, hash);
    return *bucket >= 0 ? PML_OK : assign_new(bucket, a, p, hash, err);
}

/* The hashes stand in buckets, and become them. With the lock. */
static int assign_rows(int32_t *buckets, pml_bucket_assigner *a, const struct ArrowArray *batch, int32_t first_column, pml_error *err)
{
    const pml_table_schema *s = a->table->schema;
    const pml_type *types[PML_PARTITION_KEYS_MAX];
    int32_t columns[PML_PARTITION_KEYS_MAX];
    size_t n = s->n_partition_keys;
    dynamic_partition *p = NULL;
    pml_buf key, last;
    int rc = PML_OK;
    for (size_t i = 0; i < n; i++) {
        types[i] = &s->fields[s->partition_index[i]].type;
        columns[i] = s->partition_index[i] + first_column;
    }
    pml_buf__init(&key, a->env, PML_BINARY_ROW_MAX);
    pml_buf__init(&last, a->env, PML_BINARY_ROW_MAX);
    for (int64_t row = 0; row < batch->length; row++) {
        if (p == NULL || n > 0) {
            pml_buf__reset(&key);
            (void)pml_buf__append_be32(&key, (uint32_t)n);
            PML_TRY(pml_binary_row__write_from_arrow(&key, types, batch, columns, n, row, err));
            if (p == NULL || key.len != last.len || memcmp(key.data, last.data, key.len) != 0) {
                pml_buf swap = key; /* neighbours mostly have one partition */
                PML_TRY(partition_of(&p, a, (pml_bytes){key.data, key.len}, err));
                key = last;
                last = swap;
            }
        }
        PML_TRY(assign(&buckets[row], a, p, buckets[row], err));
    }
out:
    pml_buf__clear(&key);
    pml_buf__clear(&last);
    return rc;
}

int pml_bucket_assigner__assign(int32_t *buckets, pml_bucket_assigner *a, const struct ArrowArray *batch, int32_t first_column,
                                pml_error *err)
{
    const pml_table_schema *s = a->table->schema;
    if (s->n_partition_keys > PML_PARTITION_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%s has more than %d partition keys", a->table->path, PML_PARTITION_KEYS_MAX);
    PML_RETURN_IF(pml_bucket__hashes(buckets, a->env, a->key_types, batch, a->key_columns[first_column], s->n_keys, err));
    pml_mutex__lock(&a->mu);
    int rc = assign_rows(buckets, a, batch, first_column, err);
    pml_mutex__unlock(&a->mu);
    return rc;
}
