/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roaring's portable format, little-endian:
 *
 *   u32 12346, u32 n | u32 12347 + ((n - 1) << 16), n bits rounded up to bytes: which containers are runs
 *   n x (u16 high half of the values, u16 values - 1)            high halves ascending
 *   n x u32 place of the container                               not with 12347 and n < 4; the containers follow each other anyway
 *   n containers: runs: u16 n, n x (u16 first, u16 more)  |  at most 4096 values: u16 each, ascending  |  8192 bytes of bits
 */
#include "columnar/row_set.h"
#include "util/error.h"

enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    RUNS_WITHOUT_PLACES = 4,
    CONTAINERS_MAX = 65536,
    CONTAINER_VALUES = 65536,
    ARRAY_VALUES_MAX = 4096,
    BITMAP_BYTES = 8192
};

typedef struct roaring {
    pml_row_set *set;
    uint64_t base;
    pml_bytes left; /* what was not read yet */
    uint32_t n;
    const uint8_t *heads;    /* n x (u16, u16) */
    const uint8_t *run_bits; /* NULL: no container is runs */
    int64_t cardinality;
    pml_error *err;
} roaring;

static int bad(const roaring *r, const char *why)
{
    return pml_error__set(r->err, PML_E_CORRUPT, "a Roaring bitmap is damaged: %s", why);
}

/* The next n bytes; NULL: there are fewer. */
static const uint8_t *take(roaring *r, size_t n)
{
    const uint8_t *p = r->left.ptr;
    if (r->left.len < n)
        return NULL;
    r->left.ptr += n;
    r->left.len -= n;
    return p;
}

static int read_heads(roaring *r)
{
    const uint8_t *p = take(r, 4);
    bool places = true;
    if (p == NULL)
        return bad(r, "it is too short");
    uint32_t cookie = pml_le32(p);
    if (cookie == COOKIE_PLAIN) {
        p = take(r, 4);
        if (p == NULL)
            return bad(r, "it is too short");
        r->n = pml_le32(p);
        if (r->n > CONTAINERS_MAX)
            return bad(r, "it counts more than 65536 containers");
    } else if ((cookie & 0xFFFF) == COOKIE_RUNS) {
        r->n = (cookie >> 16) + 1;
        r->run_bits = take(r, ((size_t)r->n + 7) / 8);
        if (r->run_bits == NULL)
            return bad(r, "it is too short");
        places = r->n >= RUNS_WITHOUT_PLACES;
    } else {
        return bad(r, "it begins with an unknown cookie");
    }
    r->heads = take(r, (size_t)r->n * 4);
    if (r->heads == NULL || (places && take(r, (size_t)r->n * 4) == NULL))
        return bad(r, "it is too short for its containers");
    return PML_OK;
}

/* Values [first, last] of the container at `at`. */
static int add_values(roaring *r, uint64_t at, uint32_t first, uint32_t last)
{
    uint64_t rows = (uint64_t)r->set->n_rows;
    if (at > rows || last >= rows - at)
        return bad(r, "it has a row beyond the end of the file");
    pml_row_set__add_range(r->set, (int64_t)(at + first), (int64_t)(at + last) + 1);
    return PML_OK;
}

static int add_runs(roaring *r, uint64_t at, uint32_t *n_values)
{
    const uint8_t *p = take(r, 2);
    uint32_t next = 0;
    if (p == NULL)
        return bad(r, "it is too short for its runs");
    uint32_t n = pml_le16(p);
    p = take(r, (size_t)n * 4);
    if (p == NULL)
        return bad(r, "it is too short for its runs");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = pml_le16(p + (size_t)i * 4), last = first + pml_le16(p + (size_t)i * 4 + 2);
        if (first < next || last >= CONTAINER_VALUES)
            return bad(r, "its runs overlap");
        PML_RETURN_IF(add_values(r, at, first, last));
        *n_values += last - first + 1;
        next = last + 1;
    }
    return PML_OK;
}

static int add_array(roaring *r, uint64_t at, uint32_t n)
{
    const uint8_t *p = take(r, (size_t)n * 2);
    if (p == NULL)
        return bad(r, "it is too short for its values");
    for (uint32_t i = 0; i < n; i++)
        if (i > 0 && pml_le16(p + (size_t)i * 2) <= pml_le16(p + (size_t)i * 2 - 2))
            return bad(r, "its values do not ascend");
    uint32_t last = pml_le16(p + (size_t)n * 2 - 2);
    if (at > (uint64_t)r->set->n_rows || last >= (uint64_t)r->set->n_rows - at)
        return bad(r, "it has a row beyond the end of the file");
    for (uint32_t i = 0; i < n; i++)
        pml_row_set__add(r->set, (int64_t)(at + pml_le16(p + (size_t)i * 2)));
    return PML_OK;
}

static int add_bits(roaring *r, uint64_t at, uint32_t *n_values)
{
    const uint8_t *p = take(r, BITMAP_BYTES);
    if (p == NULL)
        return bad(r, "it is too short for its bits");
    for (uint32_t i = 0; i < BITMAP_BYTES; i += 8) {
        uint64_t word = pml_le64(p + i);
        *n_values += (uint32_t)__builtin_popcountll(word);
        while (word != 0) { /* runs of ones at a time */
            uint32_t first = (uint32_t)__builtin_ctzll(word);
            uint64_t rest = ~(word >> first);
            uint32_t len = rest == 0 ? 64 - first : (uint32_t)__builtin_ctzll(rest);
            len = len > 64 - first ? 64 - first : len;
            PML_RETURN_IF(add_values(r, at, i * 8 + first, i * 8 + first + len - 1));
            word = first + len == 64 ? 0 : word & (~UINT64_C(0) << (first + len));
        }
    }
    return PML_OK;
}

static int add_container(roaring *r, uint32_t i)
{
    const uint8_t *head = r->heads + (size_t)i * 4;
    uint64_t at = r->base + ((uint64_t)pml_le16(head) << 16);
    uint32_t announced = (uint32_t)pml_le16(head + 2) + 1, n = announced;
    if (i > 0 && pml_le16(head) <= pml_le16(head - 4))
        return bad(r, "its containers do not ascend");
    if (r->run_bits != NULL && pml_bit_get(r->run_bits, i)) {
        n = 0;
        PML_RETURN_IF(add_runs(r, at, &n));
    } else if (announced <= ARRAY_VALUES_MAX) {
        PML_RETURN_IF(add_array(r, at, announced));
    } else {
        n = 0;
        PML_RETURN_IF(add_bits(r, at, &n));
    }
    if (n != announced)
        return bad(r, "a container has another number of values than it says");
    r->cardinality += n;
    return PML_OK;
}

int pml_row_set__add_roaring(pml_row_set *s, uint64_t base, pml_bytes in, size_t *used, int64_t *cardinality, pml_error *err)
{
    roaring r = {.set = s, .base = base, .left = in, .err = err};
    PML_RETURN_IF(read_heads(&r));
    for (uint32_t i = 0; i < r.n; i++)
        PML_RETURN_IF(add_container(&r, i));
    if (used != NULL)
        *used = in.len - r.left.len;
    if (cardinality != NULL)
        *cardinality = r.cardinality;
    return PML_OK;
}
