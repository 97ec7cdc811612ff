/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index files of one prepare: what goes into them is noted under the assigner's lock, then they are written without it, and then, again
 * with it, the buckets have them. Keys that came meanwhile are in no file yet.
 */
#include <string.h>

#include "storage/file_io.h"
#include "table/bucket_assigner_inner.h"
#include "util/hash.h"

/* Of each partition-bucket of a prepare. */
typedef struct prepared_bucket {
    dynamic_partition *of;
    size_t next; /* the next one of the same partition, plus 1 */
    bool dirty;
    int64_t rows; /* keys that the new file has */
    pml_buf hashes;
    const pml_index_entry *before;
    char *name; /* of the new file; NULL: none */
} prepared_bucket;

typedef struct index_prepare {
    pml_bucket_assigner *a;
    pml_new_files *const *v;
    size_t n;
    prepared_bucket *b; /* of each of the v */
} index_prepare;

static dynamic_bucket *bucket_at(const index_prepare *q, size_t i)
{
    return &q->b[i].of->buckets[q->v[i]->bucket];
}

/* ---- with the lock: what goes into the files ---- */

/* The present index file of the bucket, in the arena of the message; NULL: it has none. */
static int present_file(const pml_index_entry **out, const index_prepare *q, size_t i, pml_error *err)
{
    pml_new_files *f = q->v[i];
    const dynamic_bucket *b = bucket_at(q, i);
    *out = NULL;
    if (b->file.name == NULL)
        return PML_OK;
    pml_index_entry *e = pml_arena__alloc(&f->arena, sizeof *e);
    const char *name = pml_arena__strdup(&f->arena, b->file.name);
    if (e == NULL || name == NULL)
        return pml_error__no_memory(err);
    *e = (pml_index_entry){.kind = PML_ENTRY_DELETE,
                           .partition = f->partition,
                           .bucket = f->bucket,
                           .type = PML_INDEX_HASH,
                           .name = name,
                           .size_bytes = b->file.size_bytes,
                           .row_count = b->file.rows};
    *out = e;
    return PML_OK;
}

static int note_bucket(index_prepare *q, size_t i, uint64_t prepare, pml_error *err)
{
    pml_new_files *f = q->v[i];
    prepared_bucket *b = &q->b[i];
    dynamic_partition *p = pml_map__get(&q->a->partitions, f->partition.ptr, f->partition.len);
    if (p == NULL || (size_t)f->bucket >= p->n)
        return pml_error__set(err, PML_E_INTERNAL, "bucket %d of %s has rows that were not assigned to it", f->bucket, q->a->table->path);
    b->of = p;
    b->next = p->wanted;
    p->wanted = i + 1;
    b->dirty = bucket_at(q, i)->dirty;
    b->rows = bucket_at(q, i)->rows;
    f->has_keys = PML_KEYS_KNOWN;
    f->keys = p->print;
    f->prepare = prepare;
    return present_file(b->dirty ? &b->before : &f->keys_in, q, i, err);
}

/* The keys of one partition's buckets, from one look at all of them; last: the last of its partition-buckets, plus 1. */
static int note_partition(index_prepare *q, size_t last, pml_error *err)
{
    dynamic_partition *p = q->b[last - 1].of;
    pml_env *env = q->a->env;
    size_t n_dirty = 0;
    for (size_t i = last; i > 0; i = q->b[i - 1].next)
        n_dirty += q->b[i - 1].dirty;
    if (n_dirty == 0)
        return PML_OK;
    pml_buf **of_bucket = pml_env__calloc(env, p->n, sizeof *of_bucket);
    pml_key_changes *changes = pml_key_changes__new(env, n_dirty);
    for (size_t i = last; of_bucket != NULL && changes != NULL && i > 0; i = q->b[i - 1].next) {
        pml_key_changes__release(q->v[i - 1]->changes); /* of a prepare that failed */
        pml_key_changes__acquire(changes);
        q->v[i - 1]->changes = changes;
        if (q->b[i - 1].dirty)
            of_bucket[q->v[i - 1]->bucket] = &q->b[i - 1].hashes;
    }
    bool ok = of_bucket != NULL && changes != NULL;
    if (ok)
        pml_key_buckets__files(of_bucket, &p->keys);
    pml_key_changes__release(changes);
    pml_env__free(env, of_bucket);
    return ok ? PML_OK : pml_error__no_memory(err);
}

static int note_all(index_prepare *q, pml_error *err)
{
    const uint64_t prepare = pml_hash__mix64(pml_hash__fnv1a((uint64_t)++q->a->prepares, q->a->uuid));
    for (size_t i = 0; i < q->n; i++)
        PML_RETURN_IF(note_bucket(q, i, prepare, err));
    for (size_t i = 0; i < q->n; i++)
        if (q->b[i].of->wanted == i + 1)
            PML_RETURN_IF(note_partition(q, i + 1, err));
    return PML_OK;
}

/* ---- without it: the files ---- */

static int write_index(index_prepare *q, size_t i, pml_error *err)
{
    pml_new_files *f = q->v[i];
    prepared_bucket *b = &q->b[i];
    pml_index_entry *made = pml_arena__alloc(&f->arena, sizeof *made);
    if (made == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_hash_index__write(made, &f->index_path, &f->arena, q->a->table, f->partition, f->bucket, &b->hashes, q->a->uuid,
                                        q->a->counter++, err));
    f->changes->v[f->changes->n++] = (pml_key_change){
        f->bucket, b->before == NULL ? 0 : pml_hash_index__print(f->bucket, b->before->name), pml_hash_index__print(f->bucket, made->name)};
    f->index = made; /* it exists: deleted with the others from now on */
    f->index_before = b->before;
    b->name = pml_env__strdup(q->a->env, made->name);
    return b->name == NULL ? pml_error__no_memory(err) : PML_OK;
}

static int write_all(index_prepare *q, pml_error *err)
{
    for (size_t i = 0; i < q->n; i++) {
        if (q->b[i].dirty)
            PML_RETURN_IF(write_index(q, i, err));
        pml_buf__clear(&q->b[i].hashes);
    }
    return PML_OK;
}

/* ---- with it: the buckets have them ---- */

static void take_over(index_prepare *q, size_t i)
{
    dynamic_bucket *b = bucket_at(q, i);
    prepared_bucket *made = &q->b[i];
    const pml_index_entry *e = q->v[i]->index;
    pml_index_file__clear(&b->before, q->a->env);
    if (made->name == NULL)
        return;
    if (b->file.name != NULL)
        made->of->print -= pml_hash_index__print(e->bucket, b->file.name);
    made->of->print += pml_hash_index__print(e->bucket, e->name);
    b->before = b->file;
    b->file = (index_file){made->name, e->size_bytes, e->row_count};
    b->dirty = b->rows > made->rows;
    made->name = NULL;
}

static void finish(index_prepare *q, bool ok)
{
    for (size_t i = 0; i < q->n; i++) {
        pml_new_files *f = q->v[i];
        if (ok) {
            take_over(q, i);
        } else if (f->index != NULL) {
            f->index = f->index_before = NULL;
        }
        if (q->b[i].of != NULL)
            q->b[i].of->wanted = 0;
    }
}

int pml_bucket_assigner__prepare(pml_bucket_assigner *a, pml_new_files *const *v, size_t n, pml_error *err)
{
    index_prepare q = {.a = a, .v = v, .n = n};
    q.b = pml_env__calloc(a->env, n, sizeof *q.b);
    if (q.b == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        pml_buf__init(&q.b[i].hashes, a->env, SIZE_MAX / 2);
    pml_mutex__lock(&a->mu);
    int rc = note_all(&q, err);
    pml_mutex__unlock(&a->mu);
    if (rc == PML_OK)
        rc = write_all(&q, err);
    for (size_t i = 0; i < n && rc != PML_OK; i++)
        if (v[i]->index != NULL)
            (void)pml_file__remove(a->env, v[i]->index_path, NULL);
    pml_mutex__lock(&a->mu);
    finish(&q, rc == PML_OK);
    pml_mutex__unlock(&a->mu);
    for (size_t i = 0; i < n; i++) {
        pml_buf__clear(&q.b[i].hashes);
        pml_env__free(a->env, q.b[i].name);
    }
    pml_env__free(a->env, q.b);
    return rc;
}

static void revert(pml_bucket_assigner *a, const pml_new_files *f)
{
    dynamic_partition *p = f->index == NULL ? NULL : pml_map__get(&a->partitions, f->partition.ptr, f->partition.len);
    dynamic_bucket *b = p == NULL || (size_t)f->bucket >= p->n ? NULL : &p->buckets[f->bucket];
    if (b == NULL || b->file.name == NULL || strcmp(b->file.name, f->index->name) != 0)
        return;
    p->print -= pml_hash_index__print(f->bucket, b->file.name);
    pml_index_file__clear(&b->file, a->env);
    b->file = b->before;
    b->before = (index_file){0};
    b->dirty = true;
    if (b->file.name != NULL)
        p->print += pml_hash_index__print(f->bucket, b->file.name);
}

void pml_bucket_assigner__revert(pml_bucket_assigner *a, const pml_new_files *f)
{
    pml_mutex__lock(&a->mu);
    revert(a, f);
    pml_mutex__unlock(&a->mu);
}
