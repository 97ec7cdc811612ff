/* SPDX-License-Identifier: Apache-2.0 */
#include "format/avro_codec.h"

#include <snappy-c.h>
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "format/unpack.h"

enum {
    CODEC_FIRST_SIZE = 128 * 1024, /* writers close blocks at about 64 KB */
    SNAPPY_CRC_SIZE = 4
};

/* ---- zstd contexts ---- */

/* Making a context takes longer than unpacking a small manifest with it (zstd asks the processor what it can do, which a virtual
   machine answers slowly). So an environment keeps a few that are not in use. */
enum { SPARE_CONTEXTS = 4 };

typedef struct spare_contexts {
    _Atomic(ZSTD_DCtx *) v[SPARE_CONTEXTS];
} spare_contexts;

static int spare_make(pml_env *env, void **out, pml_error *err)
{
    *out = pml_env__calloc(env, 1, sizeof(spare_contexts));
    return *out == NULL ? pml_error__no_memory(err) : PML_OK;
}

static void spare_free(pml_env *env, void *slot)
{
    spare_contexts *s = slot;
    for (size_t i = 0; i < SPARE_CONTEXTS; i++)
        (void)ZSTD_freeDCtx(atomic_load(&s->v[i]));
    pml_env__free(env, s);
}

static ZSTD_DCtx *reading_context(pml_env *env)
{
    void *slot;
    ZSTD_DCtx *found = NULL;
    if (pml_env__slot(env, PML_ENV_SLOT_CODECS, &slot, spare_make, spare_free, NULL) == PML_OK)
        for (size_t i = 0; i < SPARE_CONTEXTS && found == NULL; i++)
            found = atomic_exchange(&((spare_contexts *)slot)->v[i], NULL);
    return found != NULL ? found : ZSTD_createDCtx();
}

static void reading_context_give_back(pml_env *env, ZSTD_DCtx *context)
{
    void *slot;
    if (context != NULL && pml_env__slot(env, PML_ENV_SLOT_CODECS, &slot, spare_make, spare_free, NULL) == PML_OK)
        for (size_t i = 0; i < SPARE_CONTEXTS; i++) {
            ZSTD_DCtx *none = NULL;
            if (atomic_compare_exchange_strong(&((spare_contexts *)slot)->v[i], &none, context))
                return;
        }
    (void)ZSTD_freeDCtx(context);
}

/* ---- life ---- */

int pml_avro_codec__init(pml_avro_codec *c, pml_env *env, pml_bytes name, int level, bool writing, const char *file,
                         pml_error *err)
{
    static const struct {
        const char *name;
        pml_avro_codec_kind kind;
    } known[] = {{"null", PML_AVRO_CODEC_NULL},
                 {"deflate", PML_AVRO_CODEC_DEFLATE},
                 {"snappy", PML_AVRO_CODEC_SNAPPY},
                 {"bzip2", PML_AVRO_CODEC_BZIP2},
                 {"xz", PML_AVRO_CODEC_XZ},
                 {"zstandard", PML_AVRO_CODEC_ZSTANDARD}};
    *c = (pml_avro_codec){.env = env, .level = level};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (name.len == strlen(known[i].name) && memcmp(name.ptr, known[i].name, name.len) == 0)
            c->kind = known[i].kind;
    bool read_only = c->kind == PML_AVRO_CODEC_BZIP2 || c->kind == PML_AVRO_CODEC_XZ;
    if (c->kind == 0 || (writing && read_only))
        return pml_error__at(
            err, PML_E_UNSUPPORTED, PML_PLACE_FILE, file,
            "needs avro-codec:%.*s: %s is packed with it; known are null, deflate, snappy and zstandard, and bzip2 and xz for reading "
            "(options file.compression and manifest.compression)",
            (int)(name.len > 32 ? 32 : name.len), (const char *)name.ptr, file);
    if (c->kind == PML_AVRO_CODEC_ZSTANDARD) {
        c->context = writing ? (void *)ZSTD_createCCtx() : (void *)reading_context(env);
        if (c->context == NULL)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

void pml_avro_codec__clear(pml_avro_codec *c, bool writing)
{
    if (writing)
        (void)ZSTD_freeCCtx(c->context);
    else if (c->context != NULL)
        reading_context_give_back(c->env, c->context);
    *c = (pml_avro_codec){0};
}

/* ---- reading ---- */

static int codec_corrupt(pml_error *err, const char *file, const char *what)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, file, "a block of %s cannot be decompressed: %s", file,
                         what);
}

static int codec_too_large(pml_error *err, const char *file, size_t max)
{
    return pml_error__at(err, PML_E_LIMIT, PML_PLACE_FILE, file, "a block of %s decompresses to more than %zu bytes",
                         file, max);
}

/* Room for `size` bytes, at most max, in the emptied buffer. */
static uint8_t *codec_room(pml_buf *out, size_t size)
{
    pml_buf__reset(out);
    return pml_buf__reserve(out, size);
}

/* One call into the whole destination needs no window buffer. The plain size may be missing from the frame, so the room grows
   until it is enough: at most twice the work. */
static int zstd_decompress(pml_avro_codec *c, pml_buf *out, pml_bytes in, size_t max, const char *file, pml_error *err)
{
    unsigned long long said = ZSTD_getFrameContentSize(in.ptr, in.len);
    size_t room = out->cap > CODEC_FIRST_SIZE ? out->cap : CODEC_FIRST_SIZE;
    if (said == ZSTD_CONTENTSIZE_ERROR)
        return codec_corrupt(err, file, "not a zstd frame");
    if (said != ZSTD_CONTENTSIZE_UNKNOWN && said > max)
        return codec_too_large(err, file, max);
    if (said != ZSTD_CONTENTSIZE_UNKNOWN && said > room)
        room = (size_t)said;
    for (;;) {
        if (room > max)
            room = max;
        uint8_t *to = codec_room(out, room);
        if (to == NULL)
            return pml_buf__check(out, err);
        size_t n = ZSTD_decompressDCtx(c->context, to, room, in.ptr, in.len);
        if (!ZSTD_isError(n)) {
            out->len = n;
            return PML_OK;
        }
        if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall)
            return codec_corrupt(err, file, ZSTD_getErrorName(n));
        if (room == max)
            return codec_too_large(err, file, max);
        room = room > max / 4 ? max : room * 4;
    }
}

enum { ZLIB_TRAILER_BYTES = 4 };

static int unpack_all(pml_unpack *u, pml_buf *out, pml_bytes *in, size_t max, const char *file, pml_error *err)
{
    bool ended = false;
    while (!ended) {
        size_t n, before = in->len, room = CODEC_FIRST_SIZE;
        const char *why;
        if (out->len == max)
            return codec_too_large(err, file, max);
        room = room > max - out->len ? max - out->len : room;
        uint8_t *to = pml_buf__reserve(out, room);
        if (to == NULL)
            return pml_buf__check(out, err);
        int rc = pml_unpack__step(u, in, to, room, &n, &ended, &why);
        out->len += n;
        if (rc == PML_E_NOMEM)
            return pml_error__no_memory(err);
        if (rc == PML_E_LIMIT)
            return pml_error__at(err, rc, PML_PLACE_FILE, file, "a block of %s cannot be decompressed: %s", file, why);
        if (rc != PML_OK || (n == 0 && !ended && in->len == before))
            return codec_corrupt(err, file, rc != PML_OK ? why : "its packed data ends too early");
    }
    return PML_OK;
}

/* What a stream library unpacks. At most tail_max bytes may follow. */
static int stream_decompress(pml_avro_codec *c, pml_unpack_kind kind, pml_buf *out, pml_bytes in, size_t max, size_t tail_max,
                             const char *file, pml_error *err)
{
    pml_unpack *u;
    PML_RETURN_IF(pml_unpack__new(&u, c->env, kind, err));
    pml_buf__reset(out);
    /* One byte more than allowed, so that a block of exactly max bytes reaches its end mark. */
    int rc = unpack_all(u, out, &in, max + 1, file, err);
    pml_unpack__free(u);
    if (rc == PML_OK && out->len > max)
        return codec_too_large(err, file, max);
    return rc == PML_OK && in.len > tail_max ? codec_corrupt(err, file, "bytes behind the packed data") : rc;
}

static int snappy_decompress(pml_buf *out, pml_bytes in, size_t max, const char *file, pml_error *err)
{
    size_t size = 0;
    if (in.len < SNAPPY_CRC_SIZE)
        return codec_corrupt(err, file, "no room for the checksum");
    const char *data = (const char *)in.ptr;
    size_t len = in.len - SNAPPY_CRC_SIZE;
    if (snappy_uncompressed_length(data, len, &size) != SNAPPY_OK)
        return codec_corrupt(err, file, "not snappy data");
    if (size > max)
        return codec_too_large(err, file, max);
    uint8_t *to = codec_room(out, size);
    if (to == NULL)
        return pml_buf__check(out, err);
    if (snappy_uncompress(data, len, (char *)to, &size) != SNAPPY_OK)
        return codec_corrupt(err, file, "not snappy data");
    out->len = size;
    if (crc32_z(0, to, size) != pml_be32(in.ptr + len))
        return codec_corrupt(err, file, "the checksum is wrong");
    return PML_OK;
}

int pml_avro_codec__decompress(pml_avro_codec *c, pml_buf *out, pml_bytes in, size_t max, const char *file,
                               pml_error *err)
{
    switch (c->kind) {
    case PML_AVRO_CODEC_NULL:
        if (in.len > max)
            return codec_too_large(err, file, max);
        pml_buf__reset(out);
        (void)pml_buf__append(out, in.ptr, in.len);
        return pml_buf__check(out, err);
    case PML_AVRO_CODEC_DEFLATE:
        /* Python's fastavro, and so pypaimon, leaves three bytes of zlib's checksum there; Avro's own reader ignores what follows. */
        return stream_decompress(c, PML_UNPACK_DEFLATE, out, in, max, ZLIB_TRAILER_BYTES, file, err);
    case PML_AVRO_CODEC_BZIP2: return stream_decompress(c, PML_UNPACK_BZIP2, out, in, max, 0, file, err);
    case PML_AVRO_CODEC_XZ: return stream_decompress(c, PML_UNPACK_XZ, out, in, max, 0, file, err);
    case PML_AVRO_CODEC_SNAPPY: return snappy_decompress(out, in, max, file, err);
    case PML_AVRO_CODEC_ZSTANDARD: return zstd_decompress(c, out, in, max, file, err);
    }
    return pml_error__set(err, PML_E_INTERNAL, "unknown Avro codec %d", (int)c->kind);
}

/* ---- writing ---- */

static int zstd_compress(pml_avro_codec *c, pml_buf *out, pml_bytes in, pml_error *err)
{
    size_t room = ZSTD_compressBound(in.len);
    uint8_t *to = pml_buf__reserve(out, room);
    if (to == NULL)
        return pml_buf__check(out, err);
    size_t n = ZSTD_compressCCtx(c->context, to, room, in.ptr, in.len, c->level);
    if (ZSTD_isError(n))
        return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation
                   ? pml_error__no_memory(err)
                   : pml_error__set(err, PML_E_INTERNAL, "zstd could not compress a block: %s", ZSTD_getErrorName(n));
    out->len += n;
    return PML_OK;
}

static int deflate_compress(pml_buf *out, pml_bytes in, pml_error *err)
{
    z_stream z = {0};
    if (in.len > UINT32_MAX / 2)
        return pml_error__set(err, PML_E_LIMIT, "a block of %zu bytes is too large for deflate", in.len);
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return pml_error__no_memory(err);
    size_t room = deflateBound(&z, (uLong)in.len);
    uint8_t *to = pml_buf__reserve(out, room);
    z.next_in = (Bytef *)(uintptr_t)in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = to;
    z.avail_out = (uInt)room;
    int status = to == NULL ? Z_OK : deflate(&z, Z_FINISH);
    if (to != NULL)
        out->len += room - z.avail_out;
    (void)deflateEnd(&z);
    PML_RETURN_IF(pml_buf__check(out, err));
    return status == Z_STREAM_END ? PML_OK
                                  : pml_error__set(err, PML_E_INTERNAL, "deflate did not finish a block: %d", status);
}

static int snappy_pack(pml_buf *out, pml_bytes in, pml_error *err)
{
    size_t n = snappy_max_compressed_length(in.len);
    uint8_t *to = pml_buf__reserve(out, n + SNAPPY_CRC_SIZE);
    if (to == NULL)
        return pml_buf__check(out, err);
    if (snappy_compress((const char *)in.ptr, in.len, (char *)to, &n) != SNAPPY_OK)
        return pml_error__set(err, PML_E_INTERNAL, "snappy could not compress a block");
    pml_put_be32(to + n, (uint32_t)crc32_z(0, in.ptr, in.len));
    out->len += n + SNAPPY_CRC_SIZE;
    return PML_OK;
}

int pml_avro_codec__compress(pml_avro_codec *c, pml_buf *out, pml_bytes in, pml_error *err)
{
    switch (c->kind) {
    case PML_AVRO_CODEC_NULL: (void)pml_buf__append(out, in.ptr, in.len); return pml_buf__check(out, err);
    case PML_AVRO_CODEC_DEFLATE: return deflate_compress(out, in, err);
    case PML_AVRO_CODEC_SNAPPY: return snappy_pack(out, in, err);
    case PML_AVRO_CODEC_ZSTANDARD: return zstd_compress(c, out, in, err);
    case PML_AVRO_CODEC_BZIP2:
    case PML_AVRO_CODEC_XZ: break; /* refused by init */
    }
    return pml_error__set(err, PML_E_INTERNAL, "unknown Avro codec %d", (int)c->kind);
}
