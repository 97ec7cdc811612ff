/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits of a plan, partition-bucket by partition-bucket; those of tables with a primary key: plan_pk.c. Of an append plan (Java:
 * AppendOnlySplitGenerator): the files of one partition-bucket in write order, packed one after
 * the other until the target size. Only the last split of a partition-bucket carries its memory, so that all others stay
 * independent of this process.
 */
#include <stdlib.h>
#include <string.h>

#include "meta/partition.h"
#include "table/prune.h"
#include "table/scan.h"

typedef struct groups {
    pml_map by_key; /* partition bytes + bucket -> pml_plan_group */
    pml_plan_group **v;      /* in order of appearance */
    size_t n, cap;
} groups;

static int group_key(pml_buf *key, pml_bytes partition, int32_t bucket)
{
    pml_buf__reset(key);
    return pml_partition__bucket_key(key, partition, bucket);
}

/* Pointer arrays inside an arena grow by doubling: the old ones stay until the plan goes, at most as much again. */
static int grow(void **v, size_t *cap, size_t n, pml_arena *arena)
{
    if (n < *cap)
        return PML_OK;
    size_t wider = *cap == 0 ? 8 : *cap * 2;
    void **p = pml_arena__array(arena, wider, sizeof *p);
    if (p == NULL)
        return PML_E_NOMEM;
    if (n > 0)
        memcpy(p, *v, n * sizeof *p);
    *v = p;
    *cap = wider;
    return PML_OK;
}

static int group_of(pml_plan_group **out, groups *g, pml_buf *key, pml_plan *p, pml_bytes partition, int32_t bucket,
                    int32_t total_buckets)
{
    PML_RETURN_IF(group_key(key, partition, bucket));
    *out = pml_map__get(&g->by_key, key->data, key->len);
    if (*out != NULL)
        return PML_OK;
    pml_plan_group *made = pml_arena__alloc(&p->arena, sizeof *made);
    void *v = g->v;
    if (made == NULL || grow(&v, &g->cap, g->n, &p->arena) != PML_OK)
        return PML_E_NOMEM;
    g->v = v;
    *made = (pml_plan_group){.bucket = bucket, .total_buckets = total_buckets, .memory_part = -1};
    made->partition.ptr = pml_arena__copy(&p->arena, partition.ptr, partition.len);
    made->partition.len = partition.len;
    if (made->partition.ptr == NULL || pml_map__put(&g->by_key, key->data, key->len, made, NULL) != PML_OK)
        return PML_E_NOMEM;
    g->v[g->n++] = made;
    *out = made;
    return PML_OK;
}

static int group_files(groups *g, pml_buf *key, pml_plan *p, const pml_manifest_entries *live, bool before)
{
    for (size_t i = 0; i < live->n; i++) {
        pml_plan_group *to;
        const pml_manifest_entry *e = &live->v[i];
        PML_RETURN_IF(group_of(&to, g, key, p, e->partition, e->bucket, e->total_buckets));
        void *files = before ? to->before : to->files;
        size_t *n = before ? &to->n_before : &to->n;
        PML_RETURN_IF(grow(&files, before ? &to->cap_before : &to->cap, *n, &p->arena));
        *(before ? &to->before : &to->files) = files;
        ((const pml_data_file **)files)[(*n)++] = &e->file;
    }
    return PML_OK;
}

static int group_memory(groups *g, pml_buf *key, pml_plan *p, pml_prune *prune, pml_error *err)
{
    for (size_t i = 0; p->pins != NULL && i < p->memory->count(p->pins); i++) {
        pml_memory_part part;
        bool matches;
        pml_plan_group *to;
        p->memory->part(p->pins, i, &part);
        PML_RETURN_IF(pml_prune__partition(&matches, prune, part.partition, err));
        if (matches)
            PML_RETURN_IF(pml_prune__bucket(&matches, prune, part.bucket, part.total_buckets, err));
        if (!matches)
            continue;
        if (group_of(&to, g, key, p, part.partition, part.bucket, part.total_buckets) != PML_OK)
            return pml_error__no_memory(err);
        to->memory_part = (int64_t)i;
    }
    return PML_OK;
}

/* Write order of a partition-bucket. Files of several writers of an unaware table all start at 0; their order is then the
   manifest's, which the index keeps (qsort is not stable). */
typedef struct ordered {
    const pml_data_file *file;
    size_t index;
} ordered;

static int compare_order(const void *pa, const void *pb)
{
    const ordered *a = pa, *b = pb;
    if (a->file->min_sequence != b->file->min_sequence)
        return a->file->min_sequence < b->file->min_sequence ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static bool split_room(pml_split *s, pml_plan *p, size_t n_files)
{
    s->files = pml_arena__array(&p->arena, n_files, sizeof *s->files);
    s->paths = pml_arena__array(&p->arena, n_files, sizeof *s->paths);
    s->deletions = pml_arena__array(&p->arena, n_files, sizeof *s->deletions);
    return s->files != NULL && s->paths != NULL && s->deletions != NULL;
}

int pml_plan__add_split(pml_split **out, pml_plan *p, size_t *cap, size_t n_files, pml_error *err)
{
    *out = NULL;
    if (p->n_splits == *cap) {
        size_t wider = *cap == 0 ? 16 : *cap * 2;
        pml_split *v = pml_arena__array(&p->arena, wider, sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        if (p->n_splits > 0)
            memcpy(v, p->splits, p->n_splits * sizeof *v);
        p->splits = v;
        *cap = wider;
    }
    pml_split *s = &p->splits[p->n_splits];
    *s = (pml_split){.memory_part = -1, .by_columns = p->table->options.data_evolution};
    if (!split_room(s, p, n_files))
        return pml_error__no_memory(err);
    p->n_splits++;
    *out = s;
    return PML_OK;
}

int pml_plan__add_file(pml_plan *p, pml_split *s, const pml_data_file *file, const pml_deletion *deletion, pml_error *err)
{
    char *path;
    if (deletion != NULL && s->by_columns) /* Java 1.4.2 has no such tables either */
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, file->name,
                             "needs data-evolution: rows of %s of %s were deleted, which this version does not read together with it",
                             file->name, p->table->path);
    s->files[s->n_files] = *file;
    s->deletions[s->n_files] = deletion;
    PML_RETURN_IF(pml_path__data_file(&path, p->env, p->table->path, p->schema, &p->table->options, s->partition, s->bucket, file,
                                      err));
    s->paths[s->n_files++] = path;
    return PML_OK;
}

int pml_plan__partition_path(const char **out, pml_plan *p, pml_bytes partition, pml_error *err)
{
    char *path;
    PML_RETURN_IF(pml_path__partition(&path, p->env, p->schema, &p->table->options, partition, err));
    size_t len = strlen(path);
    *out = pml_arena__strndup(&p->arena, path, len > 0 ? len - 1 : 0); /* without the last '/' */
    pml_env__free(p->env, path);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* Files of a group into a split that has room for them. */
static int fill_split(pml_split *s, pml_plan *p, const pml_plan_group *g, const char *path, const pml_data_file *const *files, size_t n,
                      const pml_deletions *deletions, pml_error *err)
{
    s->partition = g->partition;
    s->partition_path = path;
    s->bucket = g->bucket;
    s->total_buckets = g->total_buckets;
    for (size_t i = 0; i < n; i++) {
        const pml_deletion *deletion;
        PML_RETURN_IF(pml_deletions__find(&deletion, deletions, g->partition, g->bucket, files[i]->name, err));
        PML_RETURN_IF(pml_plan__add_file(p, s, files[i], deletion, err));
    }
    return PML_OK;
}

int pml_plan__add_group_split(pml_split **out, pml_plan *p, size_t *cap, const pml_plan_group *g, const char *path,
                              const pml_data_file *const *files, size_t n, pml_error *err)
{
    pml_split *s;
    PML_RETURN_IF(pml_plan__add_split(&s, p, cap, n, err));
    *out = s;
    s->kind = p->shape == PML_PLAN_BETWEEN || p->shape == PML_PLAN_STREAM ? PML_SPLIT_CHANGES : PML_SPLIT_ROWS;
    return fill_split(s, p, g, path, files, n, p->base != NULL ? &p->base->deletions : &p->deletions, err);
}

static int order_group(const pml_plan *p, pml_plan_group *g, pml_error *err)
{
    ordered *files = pml_env__calloc(p->env, g->n, sizeof *files);
    if (files == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < g->n; i++)
        files[i] = (ordered){g->files[i], i};
    if (g->n > 1)
        qsort(files, g->n, sizeof *files, compare_order);
    for (size_t i = 0; i < g->n; i++)
        g->files[i] = files[i].file;
    pml_env__free(p->env, files);
    return PML_OK;
}

/* Files [from, end) of the group as a split. */
static int cut_split(pml_plan *p, size_t *cap, const pml_plan_group *g, const char *shown, size_t from, size_t end, pml_error *err)
{
    pml_split *s;
    PML_RETURN_IF(pml_plan__add_group_split(&s, p, cap, g, shown, g->files + from, end - from, err));
    s->raw_convertible = true;
    for (size_t i = 0; i < s->n_files; i++)
        s->raw_convertible = s->raw_convertible && pml_split__rows_end(s, i) == i + 1;
    return PML_OK;
}

/* What files [first, end), which stay together, count for. Sizes come from files: no sum that may overflow. */
static int64_t weight_of(const pml_plan_group *g, size_t first, size_t end, int64_t least)
{
    int64_t sum = 0;
    for (size_t i = first; i < end; i++)
        if (__builtin_add_overflow(sum, g->files[i]->size_bytes, &sum))
            sum = INT64_MAX;
    return sum > least ? sum : least;
}

static int pack_group(pml_plan *p, size_t *cap, pml_plan_group *g, pml_prune *prune, pml_error *err)
{
    const pml_table_options *o = &p->table->options;
    const char *shown = NULL;
    size_t from = 0;
    int64_t weight = 0;
    PML_RETURN_IF(pml_plan__partition_path(&shown, p, g->partition, err));
    if (o->data_evolution) {
        PML_RETURN_IF(pml_plan__order_columns(g->files, &g->n, p, err));
        PML_RETURN_IF(pml_plan__prune_columns(g->files, &g->n, p, prune, err));
    } else if (p->shape == PML_PLAN_STREAM && o->bucket != -1) { /* as the manifests have them, and all together */
        return cut_split(p, cap, g, shown, 0, g->n, err);
    } else {
        PML_RETURN_IF(order_group(p, g, err));
    }
    for (size_t i = 0, end; i < g->n; i = end) {
        end = o->data_evolution ? pml_plan__rows_end(g->files, g->n, i) : i + 1;
        int64_t w = weight_of(g, i, end, o->split_open_cost);
        if (i > from && w > o->split_target_size - weight) {
            PML_RETURN_IF(cut_split(p, cap, g, shown, from, i, err));
            from = i;
            weight = 0;
        }
        weight += w;
    }
    if (g->n > from || g->memory_part >= 0)
        PML_RETURN_IF(cut_split(p, cap, g, shown, from, g->n, err));
    if (g->memory_part >= 0) {
        pml_memory_part part;
        p->memory->part(p->pins, (size_t)g->memory_part, &part);
        p->splits[p->n_splits - 1].memory_part = g->memory_part;
        p->splits[p->n_splits - 1].memory_rows = part.rows;
    }
    return PML_OK;
}

int64_t pml_split__rows_on_disk(const pml_split *s)
{
    int64_t rows = 0;
    for (size_t i = 0; i < s->n_files; i = pml_split__rows_end(s, i))
        if (__builtin_add_overflow(rows, s->files[i].row_count, &rows))
            return INT64_MAX;
    return rows;
}

int pml_plan__make_splits(pml_plan *p, const pml_manifest_entries *live, pml_error *err)
{
    groups g = {0};
    pml_buf key;
    pml_prune prune;
    size_t cap = 0;
    int rc;
    pml_map__init(&g.by_key, p->env);
    pml_buf__init(&key, p->env, SIZE_MAX / 2);
    PML_TRY(pml_prune__init(&prune, p->env, p->schema, &p->table->options, p->predicate, err));
    if (group_files(&g, &key, p, live, false) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(group_memory(&g, &key, p, &prune, err));
    for (size_t i = 0; i < g.n; i++)
        PML_TRY(p->schema->n_keys > 0 ? pml_plan__pack_keyed(p, &cap, g.v[i], &prune, err) : pack_group(p, &cap, g.v[i], &prune, err));
out:
    pml_prune__clear(&prune);
    pml_buf__clear(&key);
    pml_map__clear(&g.by_key, NULL);
    return rc;
}

/* ---- before and after ---- */

/* With a primary key the rows before are merged, too; without one a file that went away tells nothing (Java ignores it). */
static int add_pair(pml_plan *p, size_t *cap, const pml_plan_group *g, const pml_deletions *deletions, pml_error *err)
{
    pml_split *s;
    const char *path;
    bool keyed = p->schema->n_keys > 0;
    if (g->n == 0 && (!keyed || g->n_before == 0))
        return PML_OK;
    PML_RETURN_IF(pml_plan__partition_path(&path, p, g->partition, err));
    PML_RETURN_IF(pml_plan__add_group_split(&s, p, cap, g, path, g->files, g->n, err));
    s->raw_convertible = !keyed;
    if (!keyed)
        return PML_OK;
    s->kind = p->shape == PML_PLAN_DIFF ? PML_SPLIT_DIFF : PML_SPLIT_REPLACED;
    s->before = pml_arena__alloc(&p->arena, sizeof *s->before);
    if (s->before == NULL)
        return pml_error__no_memory(err);
    *s->before = (pml_split){.memory_part = -1};
    if (!split_room(s->before, p, g->n_before))
        return pml_error__no_memory(err);
    return fill_split(s->before, p, g, path, g->before, g->n_before, deletions, err);
}

int pml_plan__make_pair_splits(pml_plan *p, const pml_manifest_entries *before, const pml_manifest_entries *after,
                               const pml_deletions *deletions, pml_error *err)
{
    groups g = {0};
    pml_buf key;
    size_t cap = 0;
    int rc = PML_OK;
    pml_map__init(&g.by_key, p->env);
    pml_buf__init(&key, p->env, SIZE_MAX / 2);
    if (group_files(&g, &key, p, before, true) != PML_OK || group_files(&g, &key, p, after, false) != PML_OK)
        rc = pml_error__no_memory(err);
    for (size_t i = 0; rc == PML_OK && i < g.n; i++)
        rc = add_pair(p, &cap, g.v[i], deletions, err);
    pml_buf__clear(&key);
    pml_map__clear(&g.by_key, NULL);
    return rc;
}
