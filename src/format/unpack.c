/* SPDX-License-Identifier: Apache-2.0 */
#include "format/unpack.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    STEP_MAX = 1 << 30,               /* zlib and libbz2 count in unsigned int */
    XZ_MEMORY_MAX = 80 * 1024 * 1024  /* the largest preset, -9, takes 65 MiB to unpack */
};

struct pml_unpack {
    pml_env *env;
    pml_unpack_kind kind;
    bool ready; /* the library's own state was made */
    z_stream z;
    bz_stream b;
    lzma_stream x;
    lzma_allocator x_memory;
    ZSTD_DCtx *zstd;
};

/* ---- memory of the libraries: the environment's ---- */

static void *z_memory(void *env, unsigned n, unsigned size)
{
    return pml_env__calloc(env, n, size);
}

static void *b_memory(void *env, int n, int size)
{
    return n < 0 || size < 0 ? NULL : pml_env__calloc(env, (size_t)n, (size_t)size);
}

static void *x_memory(void *env, size_t n, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : pml_env__alloc(env, bytes);
}

static void memory_free(void *env, void *p)
{
    pml_env__free(env, p);
}

/* ---- life ---- */

enum { GZIP_BITS = 16 }; /* on top of the window's: zlib wants a gzip header */

static bool state_make(pml_unpack *u)
{
    switch (u->kind) {
    case PML_UNPACK_DEFLATE:
    case PML_UNPACK_ZLIB:
    case PML_UNPACK_GZIP:
        u->z = (z_stream){.zalloc = z_memory, .zfree = memory_free, .opaque = u->env};
        return inflateInit2(&u->z, u->kind == PML_UNPACK_DEFLATE ? -MAX_WBITS : u->kind == PML_UNPACK_ZLIB ? MAX_WBITS : MAX_WBITS + GZIP_BITS) ==
               Z_OK;
    case PML_UNPACK_BZIP2:
        u->b = (bz_stream){.bzalloc = b_memory, .bzfree = memory_free, .opaque = u->env};
        return BZ2_bzDecompressInit(&u->b, 0, 0) == BZ_OK;
    case PML_UNPACK_XZ:
        u->x_memory = (lzma_allocator){x_memory, memory_free, u->env};
        u->x = (lzma_stream)LZMA_STREAM_INIT;
        u->x.allocator = &u->x_memory;
        return lzma_stream_decoder(&u->x, XZ_MEMORY_MAX, 0) == LZMA_OK;
    case PML_UNPACK_ZSTD: u->zstd = ZSTD_createDCtx(); return u->zstd != NULL; /* windows up to its default of 128 MiB */
    }
    return false;
}

int pml_unpack__new(pml_unpack **out, pml_env *env, pml_unpack_kind kind, pml_error *err)
{
    *out = NULL;
    pml_unpack *u = pml_env__calloc(env, 1, sizeof *u);
    if (u == NULL)
        return pml_error__no_memory(err);
    u->env = env;
    u->kind = kind;
    u->ready = state_make(u);
    if (!u->ready) {
        pml_unpack__free(u);
        return pml_error__no_memory(err);
    }
    *out = u;
    return PML_OK;
}

static void state_drop(pml_unpack *u)
{
    if (u->ready && (u->kind == PML_UNPACK_DEFLATE || u->kind == PML_UNPACK_ZLIB || u->kind == PML_UNPACK_GZIP))
        (void)inflateEnd(&u->z);
    if (u->ready && u->kind == PML_UNPACK_BZIP2)
        (void)BZ2_bzDecompressEnd(&u->b);
    if (u->ready && u->kind == PML_UNPACK_XZ)
        lzma_end(&u->x);
    (void)ZSTD_freeDCtx(u->zstd);
    u->zstd = NULL;
    u->ready = false;
}

int pml_unpack__again(pml_unpack *u)
{
    state_drop(u);
    u->ready = state_make(u);
    return u->ready ? PML_OK : PML_E_NOMEM;
}

void pml_unpack__free(pml_unpack *u)
{
    if (u == NULL)
        return;
    state_drop(u);
    pml_env__free(u->env, u);
}

/* ---- steps: *in and *room become what is left of them ---- */

static int step_deflate(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t *room, bool *ended, const char **why)
{
    uInt take = in->len > STEP_MAX ? STEP_MAX : (uInt)in->len, give = *room > STEP_MAX ? STEP_MAX : (uInt)*room;
    u->z.next_in = (Bytef *)(uintptr_t)in->ptr; /* zlib only reads it */
    u->z.avail_in = take;
    u->z.next_out = to;
    u->z.avail_out = give;
    int status = inflate(&u->z, Z_NO_FLUSH);
    *in = (pml_bytes){in->ptr + (take - u->z.avail_in), in->len - (take - u->z.avail_in)};
    *room -= give - u->z.avail_out;
    *ended = status == Z_STREAM_END;
    if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR)
        return PML_OK;
    *why = u->z.msg == NULL ? "not deflate data" : u->z.msg;
    return status == Z_MEM_ERROR ? PML_E_NOMEM : PML_E_CORRUPT;
}

static int step_bzip2(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t *room, bool *ended, const char **why)
{
    unsigned take = in->len > STEP_MAX ? STEP_MAX : (unsigned)in->len, give = *room > STEP_MAX ? STEP_MAX : (unsigned)*room;
    u->b.next_in = (char *)(uintptr_t)in->ptr; /* libbz2 only reads it */
    u->b.avail_in = take;
    u->b.next_out = (char *)to;
    u->b.avail_out = give;
    int status = BZ2_bzDecompress(&u->b);
    *in = (pml_bytes){in->ptr + (take - u->b.avail_in), in->len - (take - u->b.avail_in)};
    *room -= give - u->b.avail_out;
    *ended = status == BZ_STREAM_END;
    if (status == BZ_OK || status == BZ_STREAM_END)
        return PML_OK;
    *why = status == BZ_DATA_ERROR_MAGIC ? "not bzip2 data" : "the bzip2 data is damaged";
    return status == BZ_MEM_ERROR ? PML_E_NOMEM : PML_E_CORRUPT;
}

static int step_xz(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t *room, bool *ended, const char **why)
{
    u->x.next_in = in->ptr;
    u->x.avail_in = in->len;
    u->x.next_out = to;
    u->x.avail_out = *room;
    lzma_ret status = lzma_code(&u->x, LZMA_RUN);
    *in = (pml_bytes){u->x.next_in, u->x.avail_in};
    *room = u->x.avail_out;
    *ended = status == LZMA_STREAM_END;
    if (status == LZMA_OK || status == LZMA_STREAM_END || status == LZMA_BUF_ERROR)
        return PML_OK;
    *why = status == LZMA_MEMLIMIT_ERROR ? "its dictionary is larger than 64 MiB"
           : status == LZMA_FORMAT_ERROR ? "not xz data"
                                         : "the xz data is damaged";
    return status == LZMA_MEM_ERROR ? PML_E_NOMEM : status == LZMA_MEMLIMIT_ERROR ? PML_E_LIMIT : PML_E_CORRUPT;
}

static int step_zstd(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t *room, bool *ended, const char **why)
{
    ZSTD_inBuffer from = {in->ptr, in->len, 0};
    ZSTD_outBuffer into = {to, *room, 0};
    size_t left = ZSTD_decompressStream(u->zstd, &into, &from);
    *in = (pml_bytes){in->ptr + from.pos, in->len - from.pos};
    *room -= into.pos;
    *ended = left == 0;
    if (!ZSTD_isError(left))
        return PML_OK;
    *why = ZSTD_getErrorName(left);
    return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation           ? PML_E_NOMEM
           : ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge ? PML_E_LIMIT
                                                                                  : PML_E_CORRUPT;
}

int pml_unpack__step(pml_unpack *u, pml_bytes *in, uint8_t *to, size_t room, size_t *n, bool *ended, const char **why)
{
    int rc = PML_E_INTERNAL;
    size_t left = room;
    *why = "";
    *ended = false;
    switch (u->kind) {
    case PML_UNPACK_DEFLATE:
    case PML_UNPACK_ZLIB:
    case PML_UNPACK_GZIP: rc = step_deflate(u, in, to, &left, ended, why); break;
    case PML_UNPACK_BZIP2: rc = step_bzip2(u, in, to, &left, ended, why); break;
    case PML_UNPACK_XZ: rc = step_xz(u, in, to, &left, ended, why); break;
    case PML_UNPACK_ZSTD: rc = step_zstd(u, in, to, &left, ended, why); break;
    }
    *n = room - left;
    return rc;
}
