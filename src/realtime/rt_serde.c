/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_serde.h"

#include "meta/java_bytes.h"
#include "realtime/rt_layout.h"
#include "util/crc32c.h"

enum { CRC_BYTES = 4, KV_BYTES_LEAST = 8, DISK_BYTES_LEAST = 4 };

bool pml_rt_serde__is_split(pml_bytes bytes)
{
    return bytes.len >= 4 && pml_be32(bytes.ptr) == RT_SPLIT_MAGIC;
}

int pml_rt_serde__write_split(pml_buf *out, const rt_split_form *s, pml_error *err)
{
    size_t start = out->len;
    (void)pml_buf__append_be32(out, RT_SPLIT_MAGIC);
    (void)pml_java__put_u16(out, RT_SPLIT_VERSION);
    (void)pml_java__put_u16(out, 0);
    (void)pml_buf__append(out, s->context, sizeof s->context);
    (void)pml_java__put_i64(out, s->snapshot_id);
    (void)pml_java__put_i64(out, s->schema_id);
    (void)pml_buf__append_be32(out, (uint32_t)s->n_partition);
    for (size_t i = 0; i < s->n_partition; i++) {
        (void)pml_java__put_text(out, s->keys[i]);
        (void)pml_java__put_text(out, s->values[i]);
    }
    (void)pml_java__put_i32(out, s->bucket);
    (void)pml_java__put_i32(out, s->total_buckets);
    (void)pml_buf__append_byte(out, s->mode);
    (void)pml_java__put_i64(out, s->committed);
    (void)pml_java__put_i64(out, s->floor);
    (void)pml_java__put_i64(out, s->end);
    (void)pml_java__put_i64(out, s->rows);
    (void)pml_buf__append(out, s->lineage.bytes, sizeof s->lineage.bytes);
    (void)pml_java__put_text(out, s->ticket);
    (void)pml_buf__append_be32(out, s->part);
    (void)pml_buf__append_be32(out, s->n_parts);
    (void)pml_java__put_bytes(out, s->key_first);
    (void)pml_java__put_bytes(out, s->key_end);
    (void)pml_java__put_text(out, s->store);
    (void)pml_java__put_bytes(out, s->descriptor);
    (void)pml_buf__append_be32(out, (uint32_t)s->n_disk);
    for (size_t i = 0; i < s->n_disk; i++)
        (void)pml_java__put_bytes(out, s->disk[i]);
    PML_RETURN_IF(pml_buf__check(out, err));
    (void)pml_buf__append_be32(out, pml_crc32c(0, out->data + start, out->len - start));
    return pml_buf__check(out, err);
}

/* Magic, checksum, version, flags: before anything else is believed. */
static int check_frame(pml_bytes *body, pml_bytes bytes, pml_error *err)
{
    if (bytes.len > RT_SPLIT_BYTES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a live split of %zu bytes is above the limit of %d", bytes.len, RT_SPLIT_BYTES_MAX);
    if (!pml_rt_serde__is_split(bytes) || bytes.len < 8 + CRC_BYTES)
        return pml_error__set(err, PML_E_CORRUPT, "%zu bytes are no live split", bytes.len);
    *body = (pml_bytes){bytes.ptr, bytes.len - CRC_BYTES};
    unsigned version = (unsigned)bytes.ptr[4] << 8 | bytes.ptr[5], flags = (unsigned)bytes.ptr[6] << 8 | bytes.ptr[7];
    if (pml_be32(bytes.ptr + body->len) != pml_crc32c(0, body->ptr, body->len))
        return pml_error__set(err, PML_E_CORRUPT, "a live split of %zu bytes is damaged: its checksum does not fit", bytes.len);
    if (version != RT_SPLIT_VERSION)
        return pml_error__set(err, PML_E_UNSUPPORTED, "a live split has version %u; this library reads %d", version, RT_SPLIT_VERSION);
    if ((flags & RT_SPLIT_FLAGS_REQUIRED) != 0)
        return pml_error__set(err, PML_E_UNSUPPORTED, "a live split has the flags 0x%04x, which this library does not know", flags);
    return PML_OK;
}

static void get_16(uint8_t to[16], pml_java_reader *r)
{
    pml_bytes b = pml_java__get(r, 16);
    if (b.ptr != NULL)
        memcpy(to, b.ptr, 16);
}

static int no_memory(pml_java_reader *r)
{
    r->rc = pml_error__no_memory(r->err);
    return r->rc;
}

static int get_partition(rt_split_form *s, pml_java_reader *r)
{
    size_t n = pml_java__get_count(r, KV_BYTES_LEAST);
    if (r->rc == PML_OK && n > PML_PB_KEYS_MAX)
        (void)pml_java__bad(r, "it has %zu partition keys", n);
    PML_RETURN_IF(r->rc);
    const char **keys = pml_arena__array(r->arena, n, sizeof *keys);
    const char **values = pml_arena__array(r->arena, n, sizeof *values);
    if (keys == NULL || values == NULL)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        keys[i] = pml_java__get_text(r);
        values[i] = pml_java__get_text(r);
        PML_RETURN_IF(r->rc);
    }
    s->n_partition = n;
    s->keys = keys;
    s->values = values;
    return PML_OK;
}

static int get_disk(rt_split_form *s, pml_java_reader *r)
{
    size_t n = pml_java__get_count(r, DISK_BYTES_LEAST);
    PML_RETURN_IF(r->rc);
    pml_bytes *disk = pml_arena__array(r->arena, n, sizeof *disk);
    if (disk == NULL)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        disk[i] = pml_java__get_bytes(r);
        if (r->rc == PML_OK && disk[i].len == 0)
            (void)pml_java__bad(r, "disk split %zu is empty", i);
    }
    s->n_disk = n;
    s->disk = disk;
    return r->rc;
}

static int check_sense(const rt_split_form *s, pml_java_reader *r)
{
    if (s->mode != PML_RT_MODE_APPEND && s->mode != PML_RT_MODE_PRIMARY_KEY)
        return pml_java__bad(r, "the unknown mode %u", s->mode);
    if (s->snapshot_id < -1 || s->schema_id < 0 || s->bucket < 0 || s->rows < 0)
        return pml_java__bad(r, "snapshot %lld, schema %lld, bucket %d, %lld rows", (long long)s->snapshot_id, (long long)s->schema_id,
                             s->bucket, (long long)s->rows);
    if (s->floor < 0 || s->floor > s->committed || s->committed > s->end)
        return pml_java__bad(r, "floor %lld, committed end %lld, end %lld", (long long)s->floor, (long long)s->committed,
                             (long long)s->end);
    if (s->part >= s->n_parts)
        return pml_java__bad(r, "part %u of %u", s->part, s->n_parts);
    return PML_OK;
}

int pml_rt_serde__read_split(rt_split_form *out, pml_arena *arena, pml_bytes bytes, pml_error *err)
{
    pml_java_reader r;
    pml_bytes body;
    rt_split_form s = {.n_partition = 0};
    *out = s;
    PML_RETURN_IF(check_frame(&body, bytes, err));
    pml_java__read_init(&r, arena, body, "a live split", err);
    (void)pml_java__get(&r, 8);
    get_16(s.context, &r);
    s.snapshot_id = pml_java__get_i64(&r);
    s.schema_id = pml_java__get_i64(&r);
    PML_RETURN_IF(get_partition(&s, &r));
    s.bucket = pml_java__get_i32(&r);
    s.total_buckets = pml_java__get_i32(&r);
    s.mode = pml_java__get_u8(&r);
    s.committed = pml_java__get_i64(&r);
    s.floor = pml_java__get_i64(&r);
    s.end = pml_java__get_i64(&r);
    s.rows = pml_java__get_i64(&r);
    get_16(s.lineage.bytes, &r);
    s.lineage.known = true;
    s.ticket = pml_java__get_text(&r);
    s.part = (uint32_t)pml_java__get_i32(&r);
    s.n_parts = (uint32_t)pml_java__get_i32(&r);
    s.key_first = pml_java__get_bytes(&r);
    s.key_end = pml_java__get_bytes(&r);
    s.store = pml_java__get_text(&r);
    s.descriptor = pml_java__get_bytes(&r);
    PML_RETURN_IF(get_disk(&s, &r));
    PML_RETURN_IF(pml_java__read_end(&r));
    PML_RETURN_IF(check_sense(&s, &r));
    *out = s;
    return PML_OK;
}
