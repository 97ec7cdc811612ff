/* SPDX-License-Identifier: Apache-2.0 */
/* Splits of a plan as bytes, and plans of such bytes. */
#include <paimonlive/split.h>
#include <string.h>

#include "meta/serde_split.h"
#include "table/scan.h"

enum { SPLITS_MAX = 1000000, LIVE_MAGIC = 0x50525453 /* "PRTS", told apart for a better message only */ };

/* ---- writing ---- */

/* Java's paths are URIs: a plain local path gets its scheme. */
static const char *uri_of(pml_arena *arena, const char *path)
{
    static const char scheme[] = "file:";
    size_t n = strlen(path) + 1;
    if (path[0] != '/')
        return path;
    char *uri = pml_arena__alloc(arena, n + sizeof scheme - 1);
    if (uri == NULL)
        return NULL;
    memcpy(uri, scheme, sizeof scheme - 1);
    memcpy(uri + sizeof scheme - 1, path, n);
    return uri;
}

static int deletions_of(const pml_split_deletion **out, pml_arena *arena, const pml_split *s, pml_error *err)
{
    bool any = false;
    pml_split_deletion *v = pml_arena__array(arena, s->n_files, sizeof *v);
    *out = NULL;
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_files; i++) {
        v[i] = (pml_split_deletion){0};
        if (s->deletions[i] == NULL)
            continue;
        v[i] = (pml_split_deletion){uri_of(arena, s->deletions[i]->path), s->deletions[i]->at};
        if (v[i].path == NULL)
            return pml_error__no_memory(err);
        any = true;
    }
    *out = any ? v : NULL;
    return PML_OK;
}

static int bucket_uri(const char **out, pml_arena *arena, const pml_plan *p, const pml_split *s, pml_error *err)
{
    char *path;
    *out = NULL;
    PML_RETURN_IF(pml_path__bucket(&path, p->env, p->table->path, p->schema, &p->table->options, s->partition, s->bucket, err));
    const char *own = pml_arena__strdup(arena, path);
    pml_env__free(p->env, path);
    if (own != NULL)
        *out = uri_of(arena, own);
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

int pml_plan__write_split(pml_buf *out, const pml_plan *p, size_t i, pml_error *err)
{
    const pml_split *s = &p->splits[i];
    pml_arena arena;
    int rc;
    pml_data_split d = {.snapshot_id = p->snapshot_id,
                        .partition = s->partition,
                        .bucket = s->bucket,
                        .has_total_buckets = true,
                        .total_buckets = s->total_buckets,
                        .n_files = s->n_files,
                        .files = s->files,
                        .of_stream = s->kind == PML_SPLIT_CHANGES,
                        .raw_convertible = s->raw_convertible};
    if (s->before != NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs incremental-split: split %zu tells a change of %s with the files before it, which these bytes do not hold", i,
                              p->table->path);
    pml_arena__init(&arena, p->env);
    PML_TRY(bucket_uri(&d.bucket_path, &arena, p, s, err));
    PML_TRY(deletions_of(&d.deletions, &arena, s, err));
    PML_TRY(pml_serde_split__write(out, &d, err));
out:
    pml_arena__clear(&arena);
    return rc;
}

int pml_plan_split_serialize(pml_text *out, const pml_plan *p, size_t i, pml_error *err)
{
    pml_buf bytes;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_text){0};
    pml_buf__init(&bytes, p->env, PML_SPLIT_BYTES_MAX);
    if (i >= p->n_splits)
        return pml_error__set(err, PML_E_INVAL, "there is no split %zu: the plan has %zu", i, p->n_splits);
    if (p->other != NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs scan.fallback-branch: splits of %s are of branches %s and %s, which these bytes do not tell apart",
                              p->table->path, p->table->branch, p->other->table->branch);
    if (p->splits[i].memory_part >= 0)
        return pml_error__set(err, PML_E_INVAL,
                              "split %zu shows %lld uncommitted rows, which these bytes cannot hold: use pml_rt_split_serialize", i,
                              (long long)p->splits[i].memory_rows);
    PML_TRY(pml_plan__write_split(&bytes, p, i, err));
    PML_TRY(pml_text__of_buf(out, &bytes, err));
out:
    pml_buf__clear(&bytes);
    return rc;
}

/* ---- reading ---- */

static int refuse_split(const pml_data_split *d, pml_error *err)
{
    if (d->has_before_files)
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "needs incremental-split: a split tells a change with the files before it, which this version does not read");
    return PML_OK;
}

static int check_snapshot(int64_t *planned, int64_t id, pml_error *err)
{
    if (*planned == PML_PLAN_SNAPSHOT_OF_PARTS)
        *planned = id;
    if (id == *planned)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "a split is of snapshot %lld, another of %lld: a plan has one snapshot", (long long)id,
                          (long long)*planned);
}

/* Decoded disk parts and what the plan needs to know before the first split is made: its snapshot and schema. */
static int read_parts(pml_data_split **out, pml_plan *p, const pml_plan_part *v, size_t n, pml_error *err)
{
    pml_data_split *d = pml_arena__array(&p->arena, n, sizeof *d);
    *out = d;
    if (d == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (v[i].bytes.ptr == NULL)
            continue;
        PML_RETURN_IF(pml_serde_split__read(&d[i], &p->arena, v[i].bytes, err));
        PML_RETURN_IF(refuse_split(&d[i], err));
        PML_RETURN_IF(check_snapshot(&p->snapshot_id, d[i].snapshot_id, err));
    }
    return PML_OK;
}

/* The snapshot that the splits name must be the scan's, where that is a fixed one; by time or watermark the same question may have
   another answer by now, and the splits hold the old one. */
static int resolve(pml_plan *p, const pml_scan *scan, pml_error *err)
{
    pml_snapshot s;
    bool found;
    pml_travel travel = scan->travel;
    if (travel.by == PML_SCAN_LATEST || travel.by == PML_SCAN_COMPACTED || pml_travel__is_range(&travel))
        return pml_plan__resolve(p, scan, NULL, err);
    if (travel.by != PML_SCAN_ID && travel.by != PML_SCAN_TAG)
        travel = (pml_travel){.by = PML_SCAN_ID, .value = p->snapshot_id};
    PML_RETURN_IF(pml_travel__find(&s, &found, &p->arena, p->table, &travel, -1, err));
    if (s.id != p->snapshot_id)
        return pml_error__set(err, PML_E_INVAL, "the scan is of snapshot %lld, the splits are of %lld", (long long)s.id,
                              (long long)p->snapshot_id);
    return pml_plan__resolve(p, scan, &s, err);
}

/* Counts of a plan are sums of these, so the sum must not run over. */
static int count_rows(int64_t *rows, const pml_plan_part *part, const pml_data_split *d, pml_error *err)
{
    bool over = __builtin_add_overflow(*rows, part->memory_rows, rows);
    for (size_t i = 0; i < d->n_files; i++)
        over = over || __builtin_add_overflow(*rows, d->files[i].row_count, rows);
    return over ? pml_error__set(err, PML_E_CORRUPT, "the files of the splits have more than 2^63 rows") : PML_OK;
}

static int deletion_of(const pml_deletion **out, pml_plan *p, const pml_data_split *d, size_t i, pml_error *err)
{
    *out = NULL;
    if (d->deletions == NULL || d->deletions[i].path == NULL)
        return PML_OK;
    pml_deletion *made = pml_arena__alloc(&p->arena, sizeof *made);
    if (made == NULL)
        return pml_error__no_memory(err);
    *made = (pml_deletion){pml_path__without_scheme(d->deletions[i].path), d->deletions[i].at};
    *out = made;
    return PML_OK;
}

/* The files of a split as they are read. */
static int order_files(const pml_data_file ***out, size_t *n, pml_plan *p, int32_t bucket, const pml_data_split *d, pml_error *err)
{
    const pml_data_file **files = pml_arena__array(&p->arena, d->n_files, sizeof *files);
    *out = files;
    *n = d->n_files;
    if (files == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < *n; i++) {
        PML_RETURN_IF(pml_plan__refuse_file(p, bucket, &d->files[i], err));
        files[i] = &d->files[i];
    }
    return p->table->options.data_evolution ? pml_plan__order_columns(files, n, p, err) : PML_OK;
}

static int add_part(pml_plan *p, size_t *cap, const pml_plan_part *part, const pml_data_split *d, pml_error *err)
{
    bool disk = part->bytes.ptr != NULL;
    pml_split *s;
    pml_bytes row;
    const pml_data_file **files = NULL;
    size_t n = 0;
    pml_bytes partition = disk ? d->partition : part->partition;
    PML_RETURN_IF(pml_binary_row__uncount(&row, partition, p->schema->n_partition_keys, err));
    PML_RETURN_IF(pml_plan__add_split(&s, p, cap, disk ? d->n_files : 0, err));
    s->partition.ptr = pml_arena__copy(&p->arena, partition.ptr, partition.len);
    s->partition.len = partition.len;
    if (s->partition.ptr == NULL)
        return pml_error__no_memory(err);
    s->bucket = disk ? d->bucket : part->bucket;
    s->total_buckets = disk ? d->total_buckets : part->total_buckets;
    s->kind = disk && d->of_stream ? PML_SPLIT_CHANGES : PML_SPLIT_ROWS;
    s->raw_convertible = p->schema->n_keys == 0 || (disk && d->raw_convertible && part->memory_part < 0); /* memory is always merged */
    s->memory_part = part->memory_part;
    s->memory_rows = part->memory_rows;
    PML_RETURN_IF(pml_plan__partition_path(&s->partition_path, p, s->partition, err));
    PML_RETURN_IF(disk ? order_files(&files, &n, p, s->bucket, d, err) : PML_OK);
    for (size_t i = 0; i < n; i++) {
        const pml_deletion *deletion;
        PML_RETURN_IF(deletion_of(&deletion, p, d, (size_t)(files[i] - d->files), err));
        PML_RETURN_IF(pml_plan__add_file(p, s, files[i], deletion, err));
    }
    return PML_OK;
}

int pml_plan__from_parts(pml_plan **out, const pml_scan *scan, int64_t snapshot_id, const pml_plan_part *v, size_t n, pml_error *err)
{
    pml_plan *p = NULL;
    pml_data_split *d;
    size_t cap = 0;
    int64_t rows = 0;
    int rc;
    *out = NULL;
    if (n == 0 || n > SPLITS_MAX)
        return pml_error__set(err, PML_E_INVAL, "a plan of %zu splits was asked for; it takes 1 to %d", n, SPLITS_MAX);
    PML_RETURN_IF(pml_plan__new(&p, scan, err));
    p->snapshot_id = snapshot_id;
    PML_TRY(read_parts(&d, p, v, n, err));
    PML_TRY(resolve(p, scan, err));
    for (size_t i = 0; i < n; i++) {
        PML_TRY(count_rows(&rows, &v[i], &d[i], err));
        PML_TRY(add_part(p, &cap, &v[i], &d[i], err));
    }
    *out = p;
    p = NULL;
out:
    pml_plan_free(p);
    return rc;
}

int pml_plan_from_splits(pml_plan **out, const pml_scan *scan, const pml_blob *splits, size_t n, pml_error *err)
{
    pml_env *env = scan->table->env;
    int rc = PML_OK;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_error__need_array(splits, n, "splits", err));
    pml_plan_part *v = pml_env__calloc(env, n, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (splits[i].ptr == NULL || splits[i].len == 0) {
            rc = pml_error__set(err, PML_E_INVAL, "split %zu of %zu is empty", i, n);
            goto out;
        }
        if (splits[i].len >= 4 && pml_be32(splits[i].ptr) == LIVE_MAGIC) {
            rc = pml_error__set(err, PML_E_INVAL, "split %zu of %zu shows uncommitted rows: use pml_rt_split_deserialize", i, n);
            goto out;
        }
        v[i] = (pml_plan_part){.bytes = {splits[i].ptr, splits[i].len}, .memory_part = -1};
    }
    rc = pml_plan__from_parts(out, scan, PML_PLAN_SNAPSHOT_OF_PARTS, v, n, err);
out:
    pml_env__free(env, v);
    return rc;
}
