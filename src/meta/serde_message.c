/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/serde_message.h"

enum { VERSION_TOTAL_BUCKETS = 7, VERSION_INDEX_TWICE = 10, VERSION_KEYS = 11, KEYS_MAGIC = 0x504d4c4b };

static void put_keys(pml_buf *out, const pml_message_keys *k)
{
    (void)pml_java__put_i32(out, KEYS_MAGIC);
    (void)pml_java__put_i64(out, (int64_t)k->keys);
    (void)pml_java__put_i64(out, (int64_t)k->prepare);
    if (out->rc == PML_OK)
        (void)pml_serde_index__write_list(out, k->has_file ? &k->file : NULL);
}

static int get_keys(pml_message_keys *out, pml_java_reader *r)
{
    pml_message_keys k = {.told = true};
    if (pml_java__get_i32(r) != KEYS_MAGIC && r->rc == PML_OK)
        return pml_java__bad(r, "something else than keys of dynamic buckets follows its end");
    k.keys = (uint64_t)pml_java__get_i64(r);
    k.prepare = (uint64_t)pml_java__get_i64(r);
    PML_RETURN_IF(r->rc);
    PML_RETURN_IF(pml_serde_index__read_list(&k.file, &k.has_file, r, PML_MESSAGE_VERSION_WRITTEN));
    *out = k;
    return PML_OK;
}

int pml_serde_message__write(pml_buf *out, const pml_commit_message *m, pml_error *err)
{
    (void)pml_java__put_prow(out, m->partition);
    (void)pml_java__put_i32(out, m->bucket);
    (void)pml_java__put_bool(out, m->has_total_buckets);
    if (m->has_total_buckets)
        (void)pml_java__put_i32(out, m->total_buckets);
    if (out->rc == PML_OK)
        (void)pml_serde_file__write_list(out, m->files, m->n_files);
    (void)pml_java__put_i32(out, 0); /* deleted and changelog files */
    (void)pml_java__put_i32(out, 0);
    if (out->rc == PML_OK)
        (void)pml_serde_index__write_list(out, m->has_index ? &m->index : NULL);
    if (out->rc == PML_OK)
        (void)pml_serde_index__write_list(out, m->has_index && m->has_index_before ? &m->index_before : NULL);
    for (int i = 0; i < 5; i++) /* of a compaction */
        (void)pml_java__put_i32(out, 0);
    if (m->keys.told)
        put_keys(out, &m->keys);
    return pml_buf__check(out, err);
}

static pml_file_generation generation_of(int32_t version)
{
    if (version >= 8)
        return PML_FILE_GENERATION_20;
    if (version >= 6)
        return PML_FILE_GENERATION_12;
    return version >= 4 ? PML_FILE_GENERATION_10 : PML_FILE_GENERATION_09;
}

/* A list that must be empty. */
static int get_none(pml_java_reader *r, const char *needs, const char *what)
{
    size_t n = pml_java__get_count(r, 1);
    if (r->rc == PML_OK && n > 0)
        r->rc = pml_error__set(r->err, PML_E_UNSUPPORTED, "needs %s: a commit message has %zu %s, which this version does not commit",
                               needs, n, what);
    return r->rc;
}

static int get_indexes(pml_commit_message *m, pml_java_reader *r, int32_t version)
{
    PML_RETURN_IF(pml_serde_index__read_list(&m->index, &m->has_index, r, version));
    PML_RETURN_IF(pml_serde_index__read_list(&m->index_before, &m->has_index_before, r, version));
    if (m->has_index_before && !m->has_index)
        r->rc = pml_error__set(r->err, PML_E_UNSUPPORTED, "needs index-files: a commit message deletes an index file and brings none");
    return r->rc;
}

static int get_no_indexes(pml_java_reader *r)
{
    PML_RETURN_IF(get_none(r, "index-files", "new index files of a compaction"));
    return get_none(r, "index-files", "deleted index files of a compaction");
}

static int get_lists(pml_commit_message *m, pml_java_reader *r, int32_t version)
{
    PML_RETURN_IF(pml_serde_file__read_list(&m->files, &m->n_files, r, generation_of(version)));
    PML_RETURN_IF(get_none(r, "file-deletion", "deleted files"));
    PML_RETURN_IF(get_none(r, "changelog-producer", "changelog files"));
    if (version >= VERSION_INDEX_TWICE)
        PML_RETURN_IF(get_indexes(m, r, version));
    PML_RETURN_IF(get_none(r, "compaction", "compacted files"));
    PML_RETURN_IF(get_none(r, "compaction", "files made by compaction"));
    PML_RETURN_IF(get_none(r, "changelog-producer", "changelog files of a compaction"));
    return version >= VERSION_INDEX_TWICE ? get_no_indexes(r) : get_indexes(m, r, version);
}

int pml_serde_message__read(pml_commit_message *out, pml_arena *arena, int32_t version, pml_bytes bytes, pml_error *err)
{
    pml_java_reader r;
    pml_commit_message m = {.total_buckets = -1};
    *out = (pml_commit_message){.total_buckets = -1};
    if (version < PML_MESSAGE_VERSION_OLDEST || version > PML_MESSAGE_VERSION_WRITTEN)
        return pml_error__set(err, PML_E_UNSUPPORTED, "a commit message has version %d; this library reads %d to %d", version,
                              PML_MESSAGE_VERSION_OLDEST, PML_MESSAGE_VERSION_WRITTEN);
    if (bytes.len > PML_MESSAGE_BYTES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a commit message of %zu bytes is above the limit of %d", bytes.len,
                              PML_MESSAGE_BYTES_MAX);
    pml_java__read_init(&r, arena, bytes, "a commit message", err);
    pml_bytes partition = pml_java__get_prow(&r);
    m.bucket = pml_java__get_i32(&r);
    if (version >= VERSION_TOTAL_BUCKETS)
        m.has_total_buckets = pml_java__get_bool(&r);
    if (m.has_total_buckets)
        m.total_buckets = pml_java__get_i32(&r);
    PML_RETURN_IF(r.rc);
    m.partition = (pml_bytes){pml_arena__copy(arena, partition.ptr, partition.len), partition.len};
    if (m.partition.ptr == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(get_lists(&m, &r, version));
    if (version == VERSION_KEYS && r.at < bytes.len)
        PML_RETURN_IF(get_keys(&m.keys, &r));
    PML_RETURN_IF(pml_java__read_end(&r));
    *out = m;
    return PML_OK;
}
