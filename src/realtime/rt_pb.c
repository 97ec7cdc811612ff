/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_pb.h"

#include <stdio.h>
#include <string.h>

#include "meta/partition.h"

int pml_pb_key__compare(const pml_pb_key *a, const pml_pb_key *b)
{
    int c = pml_bytes_compare(a->partition, b->partition);
    if (c != 0)
        return c;
    return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

int pml_pb_key__encode(pml_buf *out, const pml_pb_key *key)
{
    return pml_partition__bucket_key(out, key->partition, key->bucket);
}

/* Each text with its NUL: no text holds one, so that the parts cannot run into each other. */
int pml_pb_texts__encode_partition(pml_buf *out, const pml_pb_texts *pb)
{
    for (size_t i = 0; i < pb->n; i++)
        (void)pml_buf__append(out, pb->partition[i], strlen(pb->partition[i]) + 1);
    return out->rc;
}

int pml_pb_texts__encode(pml_buf *out, const pml_pb_texts *pb)
{
    (void)pml_buf__append_be32(out, (uint32_t)pb->bucket);
    return pml_pb_texts__encode_partition(out, pb);
}

bool pml_pb_texts__equal(const pml_pb_texts *a, const pml_pb_texts *b)
{
    bool equal = a->n == b->n && a->bucket == b->bucket;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = strcmp(a->partition[i], b->partition[i]) == 0;
    return equal;
}

int pml_pb_texts__of_key(pml_pb_texts *out, pml_arena *arena, const pml_table_schema *s, const pml_table_options *o,
                         const pml_pb_key *key, pml_error *err)
{
    size_t n = s->n_partition_keys;
    char **made = pml_arena__array(arena, n, sizeof *made);
    const char **texts = pml_arena__array(arena, n, sizeof *texts);
    *out = (pml_pb_texts){0};
    if (made == NULL || texts == NULL)
        return pml_error__no_memory(err);
    int rc = pml_path__partition_texts(made, arena->env, s, o, key->partition, err);
    for (size_t i = 0; i < n; i++) {
        texts[i] = rc == PML_OK ? pml_arena__strdup(arena, made[i]) : NULL;
        if (rc == PML_OK && texts[i] == NULL)
            rc = pml_error__no_memory(err);
        pml_env__free(arena->env, made[i]);
    }
    if (rc == PML_OK)
        *out = (pml_pb_texts){n, texts, key->bucket};
    return rc;
}

int pml_pb_texts__of_public(pml_pb_texts *out, const char **texts, size_t n_keys, const char *default_name, const pml_rt_pb *pb,
                            pml_error *err)
{
    *out = (pml_pb_texts){0};
    if (pb == NULL || pb->struct_size != sizeof *pb)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_pb.struct_size is %zu, this library knows %zu",
                              pb == NULL ? 0 : pb->struct_size, sizeof *pb);
    if (pb->n_partition != n_keys || (n_keys > 0 && pb->partition == NULL))
        return pml_error__set(err, PML_E_INVAL, "a partition-bucket has %zu partition values, the table has %zu partition keys",
                              pb->n_partition, n_keys);
    if (pb->bucket < 0 || pb->reserved != 0)
        return pml_error__set(err, PML_E_INVAL, "bucket %d of a partition-bucket (reserved %d): buckets are 0 and up, reserved is 0",
                              pb->bucket, pb->reserved);
    for (size_t i = 0; i < n_keys; i++) {
        const char *text = pb->partition[i];
        texts[i] = text == NULL || pml_path__is_blank(text, strlen(text)) ? default_name : text;
    }
    *out = (pml_pb_texts){n_keys, texts, pb->bucket};
    return PML_OK;
}

int pml_pb_texts__print(pml_buf *out, const char *const *keys, const pml_pb_texts *pb)
{
    for (size_t i = 0; i < pb->n; i++)
        (void)pml_buf__append_format(out, "%s=%s/", keys[i], pb->partition[i]);
    return pml_buf__append_format(out, "bucket-%d", pb->bucket);
}

void pml_pb_texts__name(char out[PML_PB_NAME_BYTES], const char *const *keys, const pml_pb_texts *pb)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < pb->n && at < PML_PB_NAME_BYTES; i++) {
        int n = snprintf(out + at, PML_PB_NAME_BYTES - at, "%s=%s/", keys[i], pb->partition[i]);
        at = n < 0 ? PML_PB_NAME_BYTES : at + (size_t)n;
    }
    if (at < PML_PB_NAME_BYTES)
        (void)snprintf(out + at, PML_PB_NAME_BYTES - at, "bucket-%d", pb->bucket);
}
