/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/serde_split.h"

enum { VERSION_CARDINALITY = 4, VERSION_TOTAL_BUCKETS = 6, DELETION_BYTES_LEAST = 1 };

static int write_error(pml_buf *out, pml_error *err)
{
    if (out->rc == PML_E_INVAL)
        return pml_error__set(err, PML_E_INVAL, "the bucket's path is not UTF-8, so it cannot go into a serialised split");
    return pml_buf__check(out, err);
}

static void put_deletions(pml_buf *out, const pml_data_split *s)
{
    (void)pml_java__put_bool(out, s->deletions != NULL);
    if (s->deletions == NULL)
        return;
    (void)pml_java__put_i32(out, (int32_t)s->n_files); /* bounded by the list of files before it */
    for (size_t i = 0; i < s->n_files; i++) {
        const pml_split_deletion *d = &s->deletions[i];
        (void)pml_java__put_bool(out, d->path != NULL);
        if (d->path == NULL)
            continue;
        (void)pml_java__put_utf(out, d->path);
        (void)pml_java__put_i64(out, d->at.offset);
        (void)pml_java__put_i64(out, d->at.length);
        (void)pml_java__put_i64(out, d->at.cardinality);
    }
}

int pml_serde_split__write(pml_buf *out, const pml_data_split *s, pml_error *err)
{
    (void)pml_java__put_i64(out, PML_SPLIT_MAGIC);
    (void)pml_java__put_i32(out, PML_SPLIT_VERSION);
    (void)pml_java__put_i64(out, s->snapshot_id);
    (void)pml_java__put_prow(out, s->partition);
    (void)pml_java__put_i32(out, s->bucket);
    (void)pml_java__put_utf(out, s->bucket_path);
    (void)pml_java__put_bool(out, s->has_total_buckets);
    if (s->has_total_buckets)
        (void)pml_java__put_i32(out, s->total_buckets);
    (void)pml_java__put_i32(out, 0);
    (void)pml_java__put_bool(out, false);
    if (out->rc == PML_OK)
        (void)pml_serde_file__write_list(out, s->files, s->n_files);
    put_deletions(out, s);
    (void)pml_java__put_bool(out, s->of_stream);
    (void)pml_java__put_bool(out, s->raw_convertible);
    return write_error(out, err);
}

static pml_file_generation generation_of(int32_t version)
{
    if (version >= 7)
        return PML_FILE_GENERATION_20;
    if (version >= 5)
        return PML_FILE_GENERATION_12;
    return version >= 3 ? PML_FILE_GENERATION_10 : PML_FILE_GENERATION_09;
}

static void get_deletion(pml_split_deletion *d, pml_java_reader *r, int32_t version)
{
    *d = (pml_split_deletion){.at.cardinality = -1};
    if (!pml_java__get_bool(r))
        return;
    d->path = pml_java__get_utf(r);
    d->at.offset = pml_java__get_i64(r);
    d->at.length = pml_java__get_i64(r);
    if (version >= VERSION_CARDINALITY)
        d->at.cardinality = pml_java__get_i64(r);
}

/* The deletion vectors of n files; *out stays NULL when none has any. */
static int get_deletions(const pml_split_deletion **out, pml_java_reader *r, int32_t version, size_t n_files)
{
    *out = NULL;
    if (!pml_java__get_bool(r))
        return r->rc;
    size_t n = pml_java__get_count(r, DELETION_BYTES_LEAST);
    if (r->rc == PML_OK && n != n_files)
        return pml_java__bad(r, "its deletion vectors are not as many as its files");
    pml_split_deletion *v = pml_arena__array(r->arena, n, sizeof *v);
    if (v == NULL && r->rc == PML_OK)
        r->rc = pml_error__no_memory(r->err);
    for (size_t i = 0; i < n && r->rc == PML_OK; i++) {
        get_deletion(&v[i], r, version);
        if (v[i].path != NULL)
            *out = v;
    }
    return r->rc;
}

static int get_head(int32_t *version, pml_java_reader *r)
{
    int64_t magic = pml_java__get_i64(r);
    *version = 0;
    if (r->rc == PML_OK && magic != PML_SPLIT_MAGIC)
        return pml_java__bad(r, "it does not begin with the magic of a split");
    *version = pml_java__get_i32(r);
    if (r->rc == PML_OK && (*version < PML_SPLIT_VERSION_OLDEST || *version > PML_SPLIT_VERSION))
        r->rc = pml_error__set(r->err, PML_E_UNSUPPORTED, "a split has version %d; this library reads %d to %d", *version,
                               PML_SPLIT_VERSION_OLDEST, PML_SPLIT_VERSION);
    return r->rc;
}

/* The bytes belong to the caller, so the partition moves to the arena like everything else. */
static int get_partition(pml_bytes *out, pml_java_reader *r)
{
    pml_bytes row = pml_java__get_prow(r);
    if (r->rc != PML_OK)
        return r->rc;
    *out = (pml_bytes){pml_arena__copy(r->arena, row.ptr, row.len), row.len};
    if (out->ptr == NULL)
        r->rc = pml_error__no_memory(r->err);
    return r->rc;
}

int pml_serde_split__read(pml_data_split *out, pml_arena *arena, pml_bytes bytes, pml_error *err)
{
    pml_java_reader r;
    pml_data_split s = {0};
    pml_data_file *files, *before;
    size_t n_before;
    int32_t version;
    *out = s;
    if (bytes.len > PML_SPLIT_BYTES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a split of %zu bytes is above the limit of %d", bytes.len, PML_SPLIT_BYTES_MAX);
    pml_java__read_init(&r, arena, bytes, "a split", err);
    PML_RETURN_IF(get_head(&version, &r));
    s.snapshot_id = pml_java__get_i64(&r);
    PML_RETURN_IF(get_partition(&s.partition, &r));
    s.bucket = pml_java__get_i32(&r);
    s.bucket_path = pml_java__get_utf(&r);
    s.total_buckets = -1;
    if (version >= VERSION_TOTAL_BUCKETS)
        s.has_total_buckets = pml_java__get_bool(&r);
    if (s.has_total_buckets)
        s.total_buckets = pml_java__get_i32(&r);
    (void)pml_serde_file__read_list(&before, &n_before, &r, generation_of(version));
    (void)get_deletions(&s.deletions, &r, version, n_before);
    s.has_before_files = s.deletions != NULL || n_before > 0;
    PML_RETURN_IF(pml_serde_file__read_list(&files, &s.n_files, &r, generation_of(version)));
    s.files = files;
    (void)get_deletions(&s.deletions, &r, version, s.n_files);
    s.of_stream = pml_java__get_bool(&r);
    s.raw_convertible = pml_java__get_bool(&r);
    PML_RETURN_IF(pml_java__read_end(&r));
    *out = s;
    return PML_OK;
}
