/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that say how a file is changed instead of holding it: up to eight edits of
 *
 *   u8   what; the rest as it needs
 *   u32  offset, of the length
 */
#include "fuzz.h"

#include "mutate.h"

enum { EDITS_MAX = 8, FRESH_MAX = 255 };

typedef struct edited {
    uint8_t *p;
    size_t len;
} edited;

static void put_number(edited *e, fuzz_input *in, size_t at, size_t width, bool big)
{
    uint64_t v = fuzz_u64(in);
    for (size_t i = 0; i < width && at + i < e->len; i++)
        e->p[at + i] = (uint8_t)(v >> (8 * (big ? width - 1 - i : i)));
}

static void insert(edited *e, size_t at, pml_bytes fresh)
{
    memmove(e->p + at + fresh.len, e->p + at, e->len - at);
    if (fresh.len > 0)
        memcpy(e->p + at, fresh.ptr, fresh.len);
    e->len += fresh.len;
}

static void edit_one(edited *e, fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    size_t at = e->len == 0 ? 0 : fuzz_u32(in) % e->len, n;
    switch (what % 10) {
    case 0:
        if (e->len > 0)
            e->p[at] = fuzz_u8(in);
        break;
    case 1:
        if (e->len > 0)
            e->p[at] = (uint8_t)(e->p[at] ^ (1u << (fuzz_u8(in) % 8)));
        break;
    case 2: e->len = at; break;
    case 3: put_number(e, in, at, 4, false); break;
    case 4: put_number(e, in, at, 4, true); break;
    case 5: put_number(e, in, at, 8, false); break;
    case 6: put_number(e, in, at, 8, true); break;
    case 7:
        n = fuzz_u8(in);
        n = n < e->len - at ? n : e->len - at;
        memmove(e->p + at, e->p + at + n, e->len - at - n);
        e->len -= n;
        break;
    case 8: insert(e, at, fuzz_bytes(in)); break;
    default: e->len = 0, insert(e, 0, fuzz_bytes(in)); break;
    }
}

uint8_t *fuzz_edit(size_t *len, fuzz_input *in, const uint8_t *data, size_t data_len)
{
    edited e = {malloc(data_len + EDITS_MAX * FRESH_MAX + 1), data_len};
    FUZZ_CHECK(e.p != NULL, "no memory");
    if (data_len > 0)
        memcpy(e.p, data, data_len);
    /* An even first byte: a seed of the mutator takes the place of the edits. */
    if (fuzz_u8(in) % 2 == 0) {
        mutate_random random = {fuzz_u64(in)};
        const mutate_piece piece = {e.p, e.len};
        uint8_t *mutant = mutate(len, &random, &piece, 1, 0);
        free(e.p);
        return mutant;
    }
    for (int i = 0; i < EDITS_MAX && in->left > 0; i++)
        edit_one(&e, in);
    uint8_t *exact = realloc(e.p, e.len == 0 ? 1 : e.len);
    FUZZ_CHECK(exact != NULL, "no memory");
    *len = e.len;
    return exact;
}

pml_type fuzz_type(fuzz_input *in)
{
    pml_type t = {.kind = (pml_type_kind)(PML_TYPE_BOOLEAN + fuzz_u8(in) % (PML_TYPE_TIMESTAMP_LTZ - PML_TYPE_BOOLEAN + 1)), .nullable = true};
    uint8_t n = fuzz_u8(in);
    switch (t.kind) {
    case PML_TYPE_CHAR:
    case PML_TYPE_BINARY: t.length = 1 + n % 40; break;
    case PML_TYPE_VARCHAR:
    case PML_TYPE_VARBINARY: t.length = n % 2 == 0 ? INT32_MAX : 1 + n; break;
    case PML_TYPE_DECIMAL:
        t.precision = 1 + n % 38;
        t.scale = fuzz_u8(in) % (t.precision + 1);
        break;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: t.precision = n % 10; break;
    case PML_TYPE_TIME: t.precision = n % 4; break;
    default: break;
    }
    return t;
}
