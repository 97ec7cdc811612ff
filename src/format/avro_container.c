/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing here trusts a number of the file: counts are compared with the bytes that are left (each record and item takes at least one
 * byte, avro_schema.c sees to that), and plain sizes with a budget that grows with the bytes of the file, so that a small file cannot
 * ask for hours or gigabytes.
 */
#include "format/avro_container.h"

#include <assert.h>

#include "format/avro_decode.h"

enum {
    BLOCK_HEAD_MAX = 20, /* two numbers */
    READ_AHEAD = 1024 * 1024,
    WALK_AHEAD = 4096,         /* where only the heads of blocks are looked at */
    HEADER_FIRST = 64 * 1024,  /* bytes in which a header is looked for first */
    /* Plain bytes of a file: 16 MiB and 1024 for each packed byte. Statistics of wide tables pack about 400 to 1. */
    AVRO_PLAIN_FREE = 16 * 1024 * 1024,
    AVRO_PLAIN_RATIO = 1024
};

static int container_corrupt(const pml_avro_container *c, pml_error *err, const char *what)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, c->name, "%s is damaged: %s at byte %llu from the end", c->name, what,
                         (unsigned long long)(c->size - c->next));
}

/* *p: n bytes of the file from `at` on, all inside it. */
static int window_need(pml_avro_container *c, const uint8_t **p, uint64_t at, uint64_t n, uint64_t ahead, pml_error *err)
{
    if (at < c->window_at || at + n > c->window_at + c->window_len) {
        uint64_t len = n > ahead ? n : ahead;
        len = len > c->size - at ? c->size - at : len;
        c->window_len = 0;
        pml_buf__reset(&c->read);
        uint8_t *to = pml_buf__reserve(&c->read, (size_t)len);
        if (to == NULL) {
            int rc = pml_buf__check(&c->read, err);
            assert(rc != PML_OK);
            return rc;
        }
        PML_RETURN_IF(pml_input__read_at(c->in, (int64_t)at, to, (size_t)len, err));
        c->window = to;
        c->window_at = at;
        c->window_len = len;
    }
    *p = c->window + (at - c->window_at);
    return PML_OK;
}

/* ---- header ---- */

typedef struct avro_header {
    pml_bytes schema, codec;
} avro_header;

/* false: it is not complete within [p, end). */
static bool header_parse(pml_avro_container *c, avro_header *h, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p;
    p += 4;
    for (;;) {
        uint64_t count;
        int64_t size;
        if (!pml_avro__get_items(&count, &size, &p, end) || count > (uint64_t)(end - p))
            return false;
        if (count == 0)
            break;
        while (count-- > 0) {
            pml_bytes key, value;
            if (!pml_avro__get_bytes(&key, &p, end) || !pml_avro__get_bytes(&value, &p, end))
                return false;
            if (key.len == 11 && memcmp(key.ptr, "avro.schema", 11) == 0)
                h->schema = value;
            if (key.len == 10 && memcmp(key.ptr, "avro.codec", 10) == 0)
                h->codec = value;
        }
    }
    if (end - p < PML_AVRO_SYNC_SIZE)
        return false;
    memcpy(c->sync, p, PML_AVRO_SYNC_SIZE);
    c->first = c->next = (uint64_t)(p - start) + PML_AVRO_SYNC_SIZE;
    return true;
}

static int header_read(pml_avro_container *c, avro_header *h, size_t header_max, pml_error *err)
{
    static const uint8_t magic[4] = {'O', 'b', 'j', 1};
    uint64_t max = c->size < header_max ? c->size : header_max, len = max < HEADER_FIRST ? max : HEADER_FIRST;
    for (;;) {
        const uint8_t *p;
        *h = (avro_header){.codec = {(const uint8_t *)"null", 4}};
        PML_RETURN_IF(window_need(c, &p, 0, len, READ_AHEAD, err));
        if (len < sizeof magic || memcmp(p, magic, sizeof magic) != 0)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, c->name, "%s is not an Avro file", c->name);
        if (header_parse(c, h, p, p + len))
            break;
        if (len == max)
            return container_corrupt(c, err, "the header is cut, or larger than its limit");
        len = len > max / 4 ? max : len * 4;
    }
    return h->schema.ptr == NULL ? container_corrupt(c, err, "the header has no avro.schema") : PML_OK;
}

int pml_avro_container__open(pml_avro_container *c, pml_env *env, pml_bytes data, pml_input *in, const char *name, size_t header_max,
                             pml_bytes *schema, pml_error *err)
{
    avro_header h;
    *c = (pml_avro_container){.env = env, .name = name, .in = in, .window = data.ptr, .window_len = data.len, .size = data.len};
    if (in != NULL)
        c->size = (uint64_t)pml_input__size(in);
    c->stop = c->size;
    pml_buf__init(&c->read, env, (size_t)PML_AVRO_BLOCK_MAX + READ_AHEAD);
    /* deflate looks one byte past its limit */
    pml_buf__init(&c->block, env, (size_t)PML_AVRO_BLOCK_MAX + 1);
    PML_RETURN_IF(header_read(c, &h, header_max, err));
    *schema = h.schema;
    return pml_avro_codec__init(&c->codec, env, h.codec, 0, false, name, err);
}

void pml_avro_container__close(pml_avro_container *c)
{
    pml_avro_codec__clear(&c->codec, false);
    pml_buf__clear(&c->read);
    pml_buf__clear(&c->block);
}

/* ---- blocks ---- */

typedef struct block_head {
    uint64_t count, size, data; /* records, packed bytes, and where these begin */
} block_head;

/* The head of the block at c->next; its bytes and the marker behind them are inside the file. */
static int head_read(pml_avro_container *c, block_head *h, uint64_t ahead, pml_error *err)
{
    const uint8_t *p, *start;
    int64_t count, size;
    uint64_t left = c->size - c->next, n = left < BLOCK_HEAD_MAX ? left : BLOCK_HEAD_MAX;
    PML_RETURN_IF(window_need(c, &p, c->next, n, ahead, err));
    start = p;
    if (!pml_avro__get_long(&count, &p, start + n) || !pml_avro__get_long(&size, &p, start + n) || count < 0 || size < 0)
        return container_corrupt(c, err, "a block has no valid count and size");
    left -= (uint64_t)(p - start);
    if (left < PML_AVRO_SYNC_SIZE || (uint64_t)size > left - PML_AVRO_SYNC_SIZE)
        return container_corrupt(c, err, "a block is cut");
    *h = (block_head){(uint64_t)count, (uint64_t)size, c->next + (uint64_t)(p - start)};
    return PML_OK;
}

static int block_unpack(pml_avro_container *c, pml_bytes packed, pml_error *err)
{
    if (c->codec.kind == PML_AVRO_CODEC_NULL) {
        c->p = packed.ptr;
        c->p_end = packed.ptr + packed.len;
        return PML_OK;
    }
    c->packed_total += packed.len;
    uint64_t budget = AVRO_PLAIN_FREE + AVRO_PLAIN_RATIO * c->packed_total - c->plain_total;
    size_t max = budget < PML_AVRO_BLOCK_MAX ? (size_t)budget : PML_AVRO_BLOCK_MAX;
    PML_RETURN_IF(pml_avro_codec__decompress(&c->codec, &c->block, packed, max, c->name, err));
    c->plain_total += c->block.len;
    c->p = c->block.data;
    c->p_end = c->block.data + c->block.len;
    return PML_OK;
}

int pml_avro_container__next(pml_avro_container *c, size_t record_size_min, pml_error *err)
{
    while (c->records_left == 0 && c->next < c->stop) {
        block_head h;
        const uint8_t *data;
        PML_RETURN_IF(head_read(c, &h, READ_AHEAD, err));
        if (c->in != NULL && h.size > PML_AVRO_BLOCK_MAX)
            return pml_error__at(err, PML_E_LIMIT, PML_PLACE_FILE, c->name, "a block of %s has more than %d bytes", c->name,
                                 PML_AVRO_BLOCK_MAX);
        PML_RETURN_IF(window_need(c, &data, h.data, h.size + PML_AVRO_SYNC_SIZE, READ_AHEAD, err));
        if (memcmp(data + h.size, c->sync, PML_AVRO_SYNC_SIZE) != 0)
            return container_corrupt(c, err, "the sync marker behind a block is wrong");
        PML_RETURN_IF(block_unpack(c, (pml_bytes){data, (size_t)h.size}, err));
        c->next = h.data + h.size + PML_AVRO_SYNC_SIZE;
        if (h.count > (uint64_t)(c->p_end - c->p) / record_size_min)
            return container_corrupt(c, err, "a block has fewer bytes than its records need");
        if (h.count == 0 && c->p != c->p_end)
            return container_corrupt(c, err, "a block has bytes behind its records");
        c->records_left = h.count;
    }
    return PML_OK;
}

int pml_avro_container__end_records(pml_avro_container *c, uint64_t n, pml_error *err)
{
    c->records_left -= n;
    if (c->records_left == 0 && c->p != c->p_end)
        return container_corrupt(c, err, "a block has bytes behind its records");
    return PML_OK;
}

/* ---- parts ---- */

/* Every part that is read looks at the head of every block, so these are few: the first of `step` parts stands for all of them. */
enum { PARTS_READ_MAX = 8 };

static int32_t part_step(int32_t parts)
{
    return parts <= PARTS_READ_MAX ? 1 : (parts - 1) / PARTS_READ_MAX + 1;
}

bool pml_avro_container__part_is_empty(int32_t part, int32_t parts)
{
    return part % part_step(parts) != 0;
}

/* Where part `part` begins in the bytes of the blocks. */
static uint64_t part_begin(const pml_avro_container *c, int32_t part, int32_t parts)
{
    return part >= parts ? c->size : c->first + (uint64_t)((double)(c->size - c->first) * ((double)part / (double)parts));
}

int pml_avro_container__choose(pml_avro_container *c, int64_t *total, int64_t *first, int64_t *here, size_t record_size_min, int32_t part,
                               int32_t parts, pml_error *err)
{
    uint64_t from = part_begin(c, part, parts < 1 ? 1 : parts), to = part_begin(c, part + part_step(parts), parts);
    uint64_t begin = 0, end = 0, ahead = c->size <= READ_AHEAD ? READ_AHEAD : WALK_AHEAD;
    *total = *first = *here = 0;
    while (c->next < c->size) {
        block_head h;
        const uint8_t *sync;
        uint64_t at = c->next;
        PML_RETURN_IF(head_read(c, &h, ahead, err));
        if (h.count > (AVRO_PLAIN_FREE + AVRO_PLAIN_RATIO * h.size) / record_size_min || h.count > (uint64_t)(INT64_MAX - *total))
            return container_corrupt(c, err, "a block has fewer bytes than its records need");
        uint64_t marker = h.data + h.size, left = c->size - marker, with_head = PML_AVRO_SYNC_SIZE + BLOCK_HEAD_MAX;
        PML_RETURN_IF(window_need(c, &sync, marker, left < with_head ? left : with_head, ahead, err));
        if (memcmp(sync, c->sync, PML_AVRO_SYNC_SIZE) != 0)
            return container_corrupt(c, err, "the sync marker behind a block is wrong");
        c->next = marker + PML_AVRO_SYNC_SIZE;
        *total += (int64_t)h.count;
        if (at < from)
            *first = *total;
        if (at < from || at >= to)
            continue;
        begin = end == 0 ? at : begin;
        end = c->next;
        *here += (int64_t)h.count;
    }
    c->next = begin;
    c->stop = end;
    return PML_OK;
}
