/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index manifest of one attempt (format-metadata.md 5.5; Java: IndexManifestFileHandler): that of the base, unless dynamic buckets got
 * keys or an overwrite removes some.
 *
 * Java relies on there being one writer: of two that add keys at once the later commit replaces the index files of the earlier one, whose
 * keys then come twice. Here each message says by which index files its buckets were chosen, and the base must have these:
 *   - messages of this process say what stands for all files of the partition (pml_new_files.keys), besides which only files of the
 *     same prepare may be there: its messages may be committed one by one;
 *   - those out of bytes say so, too. Where the partition has other files (messages come in another order, or Java made them and they do not
 *     say), the files are read: none of the keys of a new index file may be in another bucket, and it must follow on the present one, or have
 *     all its keys; of a bucket without new keys the present file must have those of the one that the rows were routed by.
 * Several prepares may be in one commit, in their order.
 */
#include <string.h>

#include "meta/partition.h"
#include "table/commit.h"
#include "table/hash_index.h"

typedef struct partition_keys {
    uint64_t now;            /* what stands for the files */
    uint64_t prepare, keys;  /* whose messages are looked at: where the partition was as they say before the first, it is for the others */
    bool agrees;
    size_t last;             /* of its HASH entries, plus 1 */
    pml_key_buckets buckets; /* all its keys, once somebody asked for them */
} partition_keys;

typedef struct index_change {
    pml_commit_files *f;
    pml_arena *arena;
    size_t n, n_base, cap; /* entries of the base, then new ones */
    pml_index_entry *v;
    bool *gone;
    size_t *before;     /* of each HASH entry: the one of its partition before it, plus 1 */
    pml_map by_bucket;  /* partition-bucket -> number of its HASH entry, plus 1 */
    pml_map partitions; /* partition -> partition_keys */
    pml_map touched;    /* partition-buckets that get files */
    pml_buf key;
} index_change;

static void partition_clear(pml_env *env, void *value)
{
    (void)env;
    pml_key_buckets__clear(&((partition_keys *)value)->buckets);
}

static int bucket_key(index_change *c, pml_bytes partition, int32_t bucket, pml_error *err)
{
    pml_buf__reset(&c->key);
    return pml_partition__bucket_key(&c->key, partition, bucket) == PML_OK ? PML_OK : pml_error__no_memory(err);
}

static int keys_of(partition_keys **out, index_change *c, pml_bytes partition, pml_error *err)
{
    *out = pml_map__get(&c->partitions, partition.ptr, partition.len);
    if (*out != NULL)
        return PML_OK;
    partition_keys *p = pml_arena__alloc(c->arena, sizeof *p);
    if (p == NULL || pml_map__put(&c->partitions, partition.ptr, partition.len, p, NULL) != PML_OK)
        return pml_error__no_memory(err);
    *p = (partition_keys){0};
    *out = p;
    return PML_OK;
}

/* The index file that a bucket has now; NULL: none. *at (NULL: unwanted): its number. */
static int entry_of(const pml_index_entry **out, size_t *at, index_change *c, pml_bytes partition, int32_t bucket, pml_error *err)
{
    PML_RETURN_IF(bucket_key(c, partition, bucket, err));
    size_t found = (size_t)(uintptr_t)pml_map__get(&c->by_bucket, c->key.data, c->key.len);
    *out = found == 0 ? NULL : &c->v[found - 1];
    if (at != NULL)
        *at = found - 1;
    return PML_OK;
}

static int load_base(index_change *c, const pml_snapshot *latest, size_t n_new, pml_error *err)
{
    pml_index_entries base = {0};
    if (latest != NULL && latest->index_manifest != NULL)
        PML_RETURN_IF(pml_table__load_index_manifest(&base, c->arena, c->f->table, latest->index_manifest, err));
    c->n = c->n_base = base.n;
    c->cap = base.n + n_new;
    c->v = pml_arena__array(c->arena, c->cap, sizeof *c->v);
    c->gone = pml_arena__array(c->arena, c->cap, sizeof *c->gone);
    c->before = pml_arena__array(c->arena, c->cap, sizeof *c->before);
    if (c->v == NULL || c->gone == NULL || c->before == NULL)
        return pml_error__no_memory(err);
    memset(c->gone, 0, c->cap * sizeof *c->gone);
    for (size_t i = 0; i < base.n; i++) {
        partition_keys *p;
        c->v[i] = base.v[i];
        if (!pml_hash_index__is(&base.v[i]))
            continue;
        PML_RETURN_IF(bucket_key(c, base.v[i].partition, base.v[i].bucket, err));
        if (pml_map__put(&c->by_bucket, c->key.data, c->key.len, (void *)(uintptr_t)(i + 1), NULL) != PML_OK)
            return pml_error__no_memory(err);
        PML_RETURN_IF(keys_of(&p, c, base.v[i].partition, err));
        p->now += pml_hash_index__print(base.v[i].bucket, base.v[i].name);
        c->before[i] = p->last;
        p->last = i + 1;
    }
    return PML_OK;
}

/* ---- messages ---- */

static int conflict(const index_change *c, const pml_new_files *f, const char *why, pml_error *err)
{
    const char *path = c->f->table->path;
    return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_INDEX, path,
                         "rows for bucket %d of %s cannot be committed: %s. Another writer added keys to the partition, or it was overwritten, "
                         "since this one looked; write the rows again with a new writer (dynamic buckets have one writer at a time)",
                         f->bucket, path, why);
}

/* Whether the present file has all keys of another one, which may be gone by now. */
static int has_keys_of(bool *out, index_change *c, const pml_index_entry *now, const pml_index_entry *other, pml_error *err)
{
    *out = strcmp(now->name, other->name) == 0;
    if (*out)
        return PML_OK;
    int rc = pml_hash_index__covers(out, c->f->table, now, other, err);
    if (rc != PML_E_SNAPSHOT_GONE)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

/* A message that came out of bytes; now: the index file that its bucket has, NULL: none. */
static int check_told(index_change *c, const pml_new_files *f, const pml_index_entry *now, const partition_keys *p, pml_error *err)
{
    bool ok = true;
    if (f->index == NULL) {
        if (now == NULL)
            return conflict(c, f, "they bring no keys, and the bucket has none", err);
        if (!p->agrees && f->keys_in != NULL)
            PML_RETURN_IF(has_keys_of(&ok, c, now, f->keys_in, err));
        return ok ? PML_OK : conflict(c, f, "the bucket does not have the keys that it had for them", err);
    }
    if (f->index_before != NULL) {
        bool same = now != NULL && strcmp(now->name, f->index_before->name) == 0;
        return same ? PML_OK : conflict(c, f, "the bucket has another index file than they replace", err);
    }
    if (now == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_hash_index__covers(&ok, c->f->table, f->index, now, err));
    return ok ? PML_OK : conflict(c, f, "the bucket has keys that their index file does not have", err);
}

static int read_buckets(index_change *c, partition_keys *p, pml_error *err)
{
    PML_RETURN_IF(pml_key_buckets__init(&p->buckets, c->f->env, err));
    for (size_t i = p->last; i > 0; i = c->before[i - 1])
        if (!c->gone[i - 1])
            PML_RETURN_IF(pml_hash_index__load(&p->buckets, c->f->table, &c->v[i - 1], err));
    return PML_OK;
}

/* None of the keys of the new index file may be in another bucket. */
static int check_buckets(index_change *c, const pml_new_files *f, partition_keys *p, pml_error *err)
{
    pml_key_buckets mine;
    bool elsewhere = false;
    int rc;
    if (p->buckets.env == NULL)
        PML_RETURN_IF(read_buckets(c, p, err));
    PML_TRY(pml_key_buckets__init(&mine, c->f->env, err));
    PML_TRY(pml_hash_index__load(&mine, c->f->table, f->index, err));
    PML_TRY(pml_key_buckets__merge(&elsewhere, &p->buckets, &mine, err));
    if (elsewhere)
        rc = conflict(c, f, "others of the partition's buckets have keys that their index file brings", err);
out:
    pml_key_buckets__clear(&mine);
    return rc;
}

/* The new index file of a bucket must follow on the one that it has: messages of two writers that began alike may be in one commit. */
static bool follows(const pml_new_files *f, const pml_index_entry *now)
{
    if (f->index == NULL)
        return true;
    return now == NULL ? f->index_before == NULL : f->index_before != NULL && strcmp(now->name, f->index_before->name) == 0;
}

/* What stands for the files when the table has but those that the bucket was chosen by and those of the same prepare that are there. */
static int expected(uint64_t *out, index_change *c, const pml_new_files *f, pml_error *err)
{
    *out = f->keys;
    for (size_t i = 0; f->changes != NULL && i < f->changes->n; i++) {
        const pml_key_change *k = &f->changes->v[i];
        const pml_index_entry *now;
        PML_RETURN_IF(entry_of(&now, NULL, c, f->partition, k->bucket, err));
        if (now != NULL && pml_hash_index__print(k->bucket, now->name) == k->after)
            *out += k->after - k->before;
    }
    return PML_OK;
}

static int check_known(index_change *c, const pml_new_files *f, const pml_index_entry *now, partition_keys *p, pml_error *err)
{
    uint64_t keys = f->keys;
    if (!p->agrees && keys != p->now)
        PML_RETURN_IF(expected(&keys, c, f, err));
    p->agrees = p->agrees || keys == p->now;
    if (!p->agrees)
        return conflict(c, f, "their bucket was chosen by other index files than the partition has", err);
    return follows(f, now) ? PML_OK : conflict(c, f, "others in this commit add keys to the bucket, too", err);
}

static int add_message(index_change *c, const pml_new_files *f, pml_error *err)
{
    partition_keys *p;
    const pml_index_entry *now;
    size_t at;
    PML_RETURN_IF(entry_of(&now, &at, c, f->partition, f->bucket, err));
    PML_RETURN_IF(keys_of(&p, c, f->partition, err));
    if (f->has_keys == PML_KEYS_UNTOLD || f->prepare != p->prepare || f->keys != p->keys)
        p->agrees = f->has_keys != PML_KEYS_UNTOLD && f->keys == p->now;
    p->prepare = f->prepare;
    p->keys = f->keys;
    PML_RETURN_IF(f->has_keys == PML_KEYS_KNOWN ? check_known(c, f, now, p, err) : check_told(c, f, now, p, err));
    if (f->index != NULL && (p->buckets.env != NULL || (f->has_keys != PML_KEYS_KNOWN && !p->agrees)))
        PML_RETURN_IF(check_buckets(c, f, p, err));
    PML_RETURN_IF(bucket_key(c, f->partition, f->bucket, err));
    if (pml_map__put(&c->touched, c->key.data, c->key.len, c, NULL) != PML_OK)
        return pml_error__no_memory(err);
    if (f->index == NULL)
        return PML_OK;
    if (now != NULL) {
        c->gone[at] = true;
        p->now -= pml_hash_index__print(now->bucket, now->name);
    }
    c->v[c->n] = *f->index;
    c->before[c->n] = p->last;
    p->last = c->n + 1;
    p->now += pml_hash_index__print(f->bucket, f->index->name);
    if (pml_map__put(&c->by_bucket, c->key.data, c->key.len, (void *)(uintptr_t)++c->n, NULL) != PML_OK)
        return pml_error__no_memory(err);
    return PML_OK;
}

/* ---- overwrites ---- */

static bool same_file(const pml_index_entry *a, const pml_index_entry *b)
{
    return a->bucket == b->bucket && strcmp(a->name, b->name) == 0 && pml_bytes_compare(a->partition, b->partition) == 0;
}

/* removed: entries of the base in its order. The keys of a bucket that gets rows stay: they may be keys of these rows. */
static int remove_entries(index_change *c, const pml_commit_decision *d, pml_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < d->n_removed_index; i++) {
        const pml_index_entry *e = &d->removed_index[i];
        while (at < c->n_base && !same_file(&c->v[at], e))
            at++;
        if (at == c->n_base)
            return pml_error__set(err, PML_E_INTERNAL, "the index file %s is not in the index manifest that it came from", e->name);
        PML_RETURN_IF(bucket_key(c, e->partition, e->bucket, err));
        if (!pml_hash_index__is(e) || !pml_map__has(&c->touched, c->key.data, c->key.len))
            c->gone[at] = true;
    }
    return PML_OK;
}

/* ---- the file ---- */

static int write_manifest(index_change *c, pml_error *err)
{
    pml_commit_files *f = c->f;
    const pml_table_options *o = &f->table->options;
    uint8_t *bytes = NULL;
    size_t len, kept = 0;
    int rc;
    for (size_t i = 0; i < c->n; i++)
        if (!c->gone[i])
            c->v[kept++] = c->v[i];
    PML_TRY(pml_index_manifest__encode(&bytes, &len, f->env, c->v, kept, o->manifest_compression, o->zstd_level, err));
    f->index_manifest = pml_env__format(f->env, "index-manifest-%s-%lld", f->uuid, (long long)f->index_counter++);
    if (f->index_manifest == NULL)
        PML_TRY(pml_error__no_memory(err));
    PML_TRY(pml_commit_files__write_file(f, f->index_manifest, bytes, len, err));
out:
    pml_env__free(f->env, bytes);
    return rc;
}

static int change(index_change *c, const pml_snapshot *latest, const pml_commit_decision *d, bool dynamic, pml_error *err)
{
    bool changed;
    PML_RETURN_IF(load_base(c, latest, d->n_files, err));
    for (size_t i = 0; dynamic && i < d->n_files; i++)
        PML_RETURN_IF(add_message(c, d->files[i], err));
    PML_RETURN_IF(remove_entries(c, d, err));
    changed = c->n > c->n_base;
    for (size_t i = 0; i < c->n_base; i++)
        changed = changed || c->gone[i];
    return changed ? write_manifest(c, err) : PML_OK;
}

int pml_commit_index__write(pml_commit_files *f, pml_arena *arena, const pml_snapshot *latest, const pml_commit_decision *d, pml_error *err)
{
    bool dynamic = pml_table_options__is_dynamic(&f->table->options, f->table->schema) && d->n_files > 0;
    index_change c = {.f = f, .arena = arena};
    if (!dynamic && d->n_removed_index == 0)
        return PML_OK;
    pml_map__init(&c.by_bucket, f->env);
    pml_map__init(&c.partitions, f->env);
    pml_map__init(&c.touched, f->env);
    pml_buf__init(&c.key, f->env, SIZE_MAX / 2);
    int rc = change(&c, latest, d, dynamic, err);
    pml_buf__clear(&c.key);
    pml_map__clear(&c.touched, NULL);
    pml_map__clear(&c.partitions, partition_clear);
    pml_map__clear(&c.by_bucket, NULL);
    return rc;
}
