/* SPDX-License-Identifier: Apache-2.0 */
#include "table/key_buckets.h"

#include <string.h>

enum { CAP_MIN = 1024, HASH_BYTES = 4 };
#define KEYS_MAX ((size_t)1 << 30)

int pml_key_buckets__init(pml_key_buckets *m, pml_env *env, pml_error *err)
{
    *m = (pml_key_buckets){.env = env};
    return pml_env__random(env, &m->seed, sizeof m->seed, err);
}

void pml_key_buckets__clear(pml_key_buckets *m)
{
    if (m->env == NULL)
        return;
    pml_env__free(m->env, m->hashes);
    pml_env__free(m->env, m->buckets);
    *m = (pml_key_buckets){0};
}

/* The place of the hash, or the empty one where it belongs. The map is never full. */
static size_t place_of(const pml_key_buckets *m, int32_t hash)
{
    uint32_t h = (uint32_t)hash ^ m->seed; /* then the last steps of Murmur3 */
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    size_t at = h & (m->cap - 1);
    while (m->buckets[at] >= 0 && m->hashes[at] != hash)
        at = (at + 1) & (m->cap - 1);
    return at;
}

int32_t pml_key_buckets__get(const pml_key_buckets *m, int32_t hash)
{
    return m->n == 0 ? -1 : m->buckets[place_of(m, hash)];
}

static int grow(pml_key_buckets *m, size_t cap, pml_error *err)
{
    pml_key_buckets wider = {.env = m->env, .seed = m->seed, .n = m->n, .cap = cap};
    wider.hashes = pml_env__alloc(m->env, cap * sizeof *wider.hashes);
    wider.buckets = pml_env__alloc(m->env, cap * sizeof *wider.buckets);
    if (wider.hashes == NULL || wider.buckets == NULL) {
        pml_key_buckets__clear(&wider);
        return pml_error__no_memory(err);
    }
    memset(wider.buckets, 0xff, cap * sizeof *wider.buckets);
    for (size_t i = 0; i < m->cap; i++)
        if (m->buckets[i] >= 0) {
            size_t at = place_of(&wider, m->hashes[i]);
            wider.hashes[at] = m->hashes[i];
            wider.buckets[at] = m->buckets[i];
        }
    pml_key_buckets__clear(m);
    *m = wider;
    return PML_OK;
}

/* Room for so many hashes in all. */
static int reserve(pml_key_buckets *m, size_t n, pml_error *err)
{
    size_t cap = m->cap == 0 ? CAP_MIN : m->cap;
    if (n > KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "one partition has more than %zu keys in dynamic buckets", KEYS_MAX);
    while (n > cap / 4 * 3)
        cap *= 2;
    return cap == m->cap ? PML_OK : grow(m, cap, err);
}

int pml_key_buckets__put(pml_key_buckets *m, int32_t hash, int32_t bucket, pml_error *err)
{
    PML_RETURN_IF(reserve(m, m->n + 1, err));
    size_t at = place_of(m, hash);
    m->hashes[at] = hash;
    m->buckets[at] = (int16_t)bucket;
    m->n++;
    return PML_OK;
}

int pml_key_buckets__load(pml_key_buckets *m, pml_bytes file, int64_t rows, int32_t bucket, const char *name, pml_error *err)
{
    size_t n = file.len / HASH_BYTES;
    if (file.len % HASH_BYTES != 0 || (int64_t)n != rows)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, name, "%s is damaged: it has %zu bytes, and the index manifest says %lld hashes",
                             name, file.len, (long long)rows);
    PML_RETURN_IF(reserve(m, m->n + n, err));
    for (size_t i = 0; i < n; i++) {
        int32_t hash = (int32_t)pml_be32(file.ptr + i * HASH_BYTES);
        size_t at = place_of(m, hash);
        if (m->buckets[at] >= 0 && m->buckets[at] != bucket)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, name,
                                 "%s has the key hash %d, which bucket %d has, too: several writers added the same keys at once; overwrite the partition",
                                 name, hash, m->buckets[at]);
        m->n += m->buckets[at] < 0;
        m->hashes[at] = hash;
        m->buckets[at] = (int16_t)bucket;
    }
    return PML_OK;
}

int pml_key_buckets__merge(bool *elsewhere, pml_key_buckets *m, const pml_key_buckets *from, pml_error *err)
{
    *elsewhere = false;
    PML_RETURN_IF(reserve(m, m->n + from->n, err));
    for (size_t i = 0; i < from->cap; i++) {
        if (from->buckets[i] < 0)
            continue;
        size_t at = place_of(m, from->hashes[i]);
        if (m->buckets[at] >= 0 && m->buckets[at] != from->buckets[i]) {
            *elsewhere = true;
            return PML_OK;
        }
        m->n += m->buckets[at] < 0;
        m->hashes[at] = from->hashes[i];
        m->buckets[at] = from->buckets[i];
    }
    return PML_OK;
}

void pml_key_buckets__files(pml_buf *const *out, const pml_key_buckets *m)
{
    for (size_t i = 0; i < m->cap; i++)
        if (m->buckets[i] >= 0 && out[m->buckets[i]] != NULL)
            (void)pml_buf__append_be32(out[m->buckets[i]], (uint32_t)m->hashes[i]);
}
