/* SPDX-License-Identifier: Apache-2.0 */
#include "format/avro.h"

#include "format/avro_codec.h"

enum {
    AVRO_SYNC_SIZE = 16,
    AVRO_BLOCK_SIZE = 64000 /* Java's default: a block is closed when its plain bytes reach this */
};

/* A finished file in memory. Manifests roll at 8 MiB; this only stops a runaway caller. */
#define AVRO_FILE_MAX ((size_t)1 << 32)

struct pml_avro_writer {
    pml_env *env;
    pml_avro_codec codec;
    uint8_t sync[AVRO_SYNC_SIZE];
    pml_buf file, block, packed;
    int64_t n_records; /* in the open block */
};

int pml_avro__put_long(pml_buf *b, int64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    uint64_t z = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    while (z >= 0x80) {
        bytes[n++] = (uint8_t)(z | 0x80);
        z >>= 7;
    }
    bytes[n++] = (uint8_t)z;
    return pml_buf__append(b, bytes, n);
}

int pml_avro__put_bytes(pml_buf *b, const void *p, size_t n)
{
    PML_RETURN_IF(pml_avro__put_long(b, (int64_t)n));
    return pml_buf__append(b, p, n);
}

int pml_avro__put_string(pml_buf *b, const char *s)
{
    return pml_avro__put_bytes(b, s, strlen(s));
}

int pml_avro__put_branch(pml_buf *b, bool not_null)
{
    return pml_avro__put_long(b, not_null ? 1 : 0);
}

static void writer_header(pml_avro_writer *w, const char *schema_json, const char *codec)
{
    (void)pml_buf__append(&w->file, "Obj\001", 4);
    (void)pml_avro__put_long(&w->file, 2);
    (void)pml_avro__put_string(&w->file, "avro.schema");
    (void)pml_avro__put_string(&w->file, schema_json);
    (void)pml_avro__put_string(&w->file, "avro.codec");
    (void)pml_avro__put_string(&w->file, codec);
    (void)pml_avro__put_long(&w->file, 0);
    (void)pml_buf__append(&w->file, w->sync, sizeof w->sync);
}

int pml_avro_writer__new(pml_avro_writer **out, pml_env *env, const char *schema_json, const char *codec, int level,
                         pml_error *err)
{
    int rc;
    *out = NULL;
    pml_avro_writer *w = pml_env__calloc(env, 1, sizeof *w);
    if (w == NULL)
        return pml_error__no_memory(err);
    w->env = env;
    pml_buf__init(&w->file, env, AVRO_FILE_MAX);
    pml_buf__init(&w->block, env, PML_AVRO_BLOCK_MAX);
    pml_buf__init(&w->packed, env, 2 * (size_t)PML_AVRO_BLOCK_MAX);
    PML_TRY(pml_avro_codec__init(&w->codec, env, (pml_bytes){(const uint8_t *)codec, strlen(codec)}, level, true,
                                 "the file to write", err));
    PML_TRY(pml_env__random(env, w->sync, sizeof w->sync, err));
    writer_header(w, schema_json, codec);
    PML_TRY(pml_buf__check(&w->file, err));
    *out = w;
    w = NULL;
out:
    pml_avro_writer__free(w);
    return rc;
}

void pml_avro_writer__free(pml_avro_writer *w)
{
    if (w == NULL)
        return;
    pml_avro_codec__clear(&w->codec, true);
    pml_buf__clear(&w->file);
    pml_buf__clear(&w->block);
    pml_buf__clear(&w->packed);
    pml_env__free(w->env, w);
}

pml_buf *pml_avro_writer__record(pml_avro_writer *w)
{
    return &w->block;
}

static int writer_flush(pml_avro_writer *w, pml_error *err)
{
    if (w->n_records == 0)
        return PML_OK;
    pml_buf__reset(&w->packed);
    PML_RETURN_IF(pml_avro_codec__compress(&w->codec, &w->packed, (pml_bytes){w->block.data, w->block.len}, err));
    (void)pml_avro__put_long(&w->file, w->n_records);
    (void)pml_avro__put_bytes(&w->file, w->packed.data, w->packed.len);
    (void)pml_buf__append(&w->file, w->sync, sizeof w->sync);
    PML_RETURN_IF(pml_buf__check(&w->file, err));
    w->n_records = 0;
    pml_buf__reset(&w->block);
    return PML_OK;
}

int pml_avro_writer__end_record(pml_avro_writer *w, pml_error *err)
{
    PML_RETURN_IF(pml_buf__check(&w->block, err));
    w->n_records++;
    return w->block.len >= AVRO_BLOCK_SIZE ? writer_flush(w, err) : PML_OK;
}

int64_t pml_avro_writer__size(const pml_avro_writer *w)
{
    return (int64_t)w->file.len + (int64_t)w->block.len;
}

int pml_avro_writer__finish(pml_avro_writer *w, uint8_t **file, size_t *len, pml_error *err)
{
    *file = NULL;
    *len = 0;
    PML_RETURN_IF(writer_flush(w, err));
    *file = pml_buf__take(&w->file, len);
    return *file == NULL ? pml_error__no_memory(err) : PML_OK;
}
