/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text_source.h"

#include <snappy-c.h>
#include <string.h>

#include "format/lz4.h"
#include "format/unpack.h"
#include "util/buf.h"

enum {
    PACKED_CHUNK = 256 * 1024,
    BLOCK_MAX = 256 * 1024 * 1024 /* plain bytes of a block; Hadoop's writers make 256 KiB */
};

typedef enum source_kind { SOURCE_PLAIN, SOURCE_STREAM, SOURCE_SNAPPY, SOURCE_LZ4 } source_kind;

struct pml_text_source {
    pml_env *env;
    pml_input *in;
    const char *path;
    int64_t at, size; /* of the file */
    source_kind kind;
    pml_unpack *unpack; /* STREAM */
    bool between;       /* STREAM: no stream is open; the next one may begin */
    pml_bytes packed;   /* of `chunk`, not yet unpacked */
    pml_buf chunk, block;
    size_t block_at;    /* given of block */
    uint32_t block_left; /* plain bytes that the block still wants */
};

static const struct {
    const char *extension;
    source_kind kind;
    pml_unpack_kind unpack;
} codecs[] = {{".gz", SOURCE_STREAM, PML_UNPACK_GZIP},   {".bz2", SOURCE_STREAM, PML_UNPACK_BZIP2}, {".deflate", SOURCE_STREAM, PML_UNPACK_ZLIB},
              {".zst", SOURCE_STREAM, PML_UNPACK_ZSTD},  {".snappy", SOURCE_SNAPPY, 0},             {".lz4", SOURCE_LZ4, 0}};

int pml_text_source__open(pml_text_source **out, pml_env *env, pml_input *in, pml_error *err)
{
    const char *path = pml_input__path(in), *dot = strrchr(path, '.');
    *out = NULL;
    pml_text_source *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    s->env = env;
    s->in = in;
    s->path = path;
    s->size = pml_input__size(in);
    s->between = true;
    pml_buf__init(&s->chunk, env, INT32_MAX);
    pml_buf__init(&s->block, env, BLOCK_MAX);
    for (size_t i = 0; dot != NULL && i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strcmp(dot, codecs[i].extension) != 0)
            continue;
        s->kind = codecs[i].kind;
        int rc = s->kind == SOURCE_STREAM ? pml_unpack__new(&s->unpack, env, codecs[i].unpack, err) : PML_OK;
        if (rc != PML_OK) {
            pml_text_source__close(s);
            return rc;
        }
    }
    *out = s;
    return PML_OK;
}

void pml_text_source__close(pml_text_source *s)
{
    if (s == NULL)
        return;
    pml_unpack__free(s->unpack);
    pml_buf__clear(&s->chunk);
    pml_buf__clear(&s->block);
    pml_env__free(s->env, s);
}

static int damaged(const pml_text_source *s, const char *why, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, s->path, "%s cannot be decompressed: %s", s->path, why);
}

static int take(pml_text_source *s, void *to, size_t n, pml_error *err)
{
    PML_RETURN_IF(pml_input__read_at(s->in, s->at, to, n, err));
    s->at += (int64_t)n;
    return PML_OK;
}

static size_t left_of_file(const pml_text_source *s, size_t most)
{
    return s->size - s->at < (int64_t)most ? (size_t)(s->size - s->at) : most;
}

/* ---- streams ---- */

static int fill_chunk(pml_text_source *s, pml_error *err)
{
    size_t n = left_of_file(s, PACKED_CHUNK);
    pml_buf__reset(&s->chunk);
    uint8_t *to = pml_buf__reserve(&s->chunk, PACKED_CHUNK);
    if (to == NULL)
        return pml_buf__check(&s->chunk, err);
    PML_RETURN_IF(take(s, to, n, err));
    s->packed = (pml_bytes){to, n};
    return PML_OK;
}

static int read_stream(pml_text_source *s, uint8_t *to, size_t room, size_t *got, pml_error *err)
{
    *got = 0;
    while (*got == 0) {
        bool ended, last = s->at == s->size;
        const char *why;
        size_t before = s->packed.len;
        if (before == 0 && !last) {
            PML_RETURN_IF(fill_chunk(s, err));
            continue;
        }
        if (before == 0 && s->between)
            return PML_OK;
        s->between = false;
        int rc = pml_unpack__step(s->unpack, &s->packed, to, room, got, &ended, &why);
        if (rc == PML_E_NOMEM)
            return pml_error__no_memory(err);
        if (rc == PML_E_LIMIT)
            return pml_error__at(err, rc, PML_PLACE_DATA_FILE, s->path, "%s cannot be decompressed: %s", s->path, why);
        if (rc != PML_OK || (*got == 0 && !ended && s->packed.len == before && last))
            return damaged(s, rc != PML_OK ? why : "it ends too early", err);
        if (ended && pml_unpack__again(s->unpack) != PML_OK)
            return pml_error__no_memory(err);
        s->between = ended;
    }
    return PML_OK;
}

/* ---- blocks ---- */

static int unpack_piece(const pml_text_source *s, pml_bytes packed, uint8_t *to, size_t *n)
{
    size_t plain;
    if (s->kind == SOURCE_LZ4)
        return pml_lz4__unpack(to, n, packed) ? PML_OK : PML_E_CORRUPT;
    if (snappy_uncompressed_length((const char *)packed.ptr, packed.len, &plain) != SNAPPY_OK || plain > *n)
        return PML_E_CORRUPT;
    *n = plain;
    return snappy_uncompress((const char *)packed.ptr, packed.len, (char *)to, n) == SNAPPY_OK ? PML_OK : PML_E_CORRUPT;
}

/* The next piece of a block in `block`; nothing of it at the end of the file. */
static int next_piece(pml_text_source *s, pml_error *err)
{
    uint8_t head[4];
    pml_buf__reset(&s->block);
    s->block_at = 0;
    while (s->block_left == 0) {
        if (s->at == s->size)
            return PML_OK;
        PML_RETURN_IF(take(s, head, sizeof head, err));
        s->block_left = pml_be32(head);
    }
    PML_RETURN_IF(take(s, head, sizeof head, err));
    size_t packed = pml_be32(head), n = s->block_left;
    if (packed > left_of_file(s, packed))
        return damaged(s, "a block is cut", err);
    /* Neither format packs better than 1 to 255, so the room is bounded by the file. */
    if (n > BLOCK_MAX || n / 256 > (size_t)s->size)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_DATA_FILE, s->path, "a block of %s says that it has %zu bytes", s->path, n);
    pml_buf__reset(&s->chunk);
    uint8_t *from = pml_buf__reserve(&s->chunk, packed + 1), *to = pml_buf__reserve(&s->block, n);
    if (from == NULL || to == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(take(s, from, packed, err));
    if (unpack_piece(s, (pml_bytes){from, packed}, to, &n) != PML_OK)
        return damaged(s, s->kind == SOURCE_LZ4 ? "not LZ4 data" : "not Snappy data", err);
    s->block_left -= (uint32_t)n;
    s->block.len = n;
    return PML_OK;
}

static int read_blocks(pml_text_source *s, uint8_t *to, size_t room, size_t *got, pml_error *err)
{
    while (s->block_at == s->block.len) {
        PML_RETURN_IF(next_piece(s, err));
        if (s->block.len == 0 && s->block_left == 0 && s->at == s->size)
            return PML_OK;
    }
    *got = s->block.len - s->block_at < room ? s->block.len - s->block_at : room;
    memcpy(to, s->block.data + s->block_at, *got);
    s->block_at += *got;
    return PML_OK;
}

int pml_text_source__read(pml_text_source *s, uint8_t *to, size_t room, size_t *got, pml_error *err)
{
    *got = 0;
    switch (s->kind) {
    case SOURCE_PLAIN:
        *got = left_of_file(s, room);
        return take(s, to, *got, err);
    case SOURCE_STREAM: return read_stream(s, to, room, got, err);
    case SOURCE_SNAPPY:
    case SOURCE_LZ4: return read_blocks(s, to, room, got, err);
    }
    return PML_OK;
}
