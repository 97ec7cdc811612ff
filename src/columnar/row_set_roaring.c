/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/roaring_container.h"
#include "columnar/row_set.h"
#include "util/error.h"

static int bad(const char *why, pml_error *err)
{
    return why == NULL ? PML_OK : pml_error__set(err, PML_E_CORRUPT, "a Roaring bitmap is damaged: %s", why);
}

/* A container of rows [at, at + 65536), not all of which are in the set. */
static const char *add_at_end(pml_row_set *s, uint64_t at, const pml_roaring_container *c)
{
    uint64_t words[PML_ROARING_WORDS] = {0}, n_rows = (uint64_t)s->n_rows, left = at < n_rows ? n_rows - at : 0;
    const char *why = pml_roaring_container__lay(words, c);
    for (uint64_t i = 0; i < PML_ROARING_WORDS && why == NULL; i++) {
        uint64_t inside = left >= (i + 1) * 64 ? UINT64_MAX : left <= i * 64 ? 0 : UINT64_MAX >> (64 - (left - i * 64));
        if ((words[i] & ~inside) != 0)
            return "it has a row beyond the end of the file";
        if (words[i] != 0)
            s->words[at / 64 + i] |= words[i];
    }
    return why;
}

int pml_row_set__add_roaring(pml_row_set *s, uint64_t base, pml_bytes in, size_t *used, int64_t *cardinality, pml_error *err)
{
    pml_roaring_reader r;
    pml_roaring_container c;
    int64_t sum = 0;
    bool more = true;
    PML_RETURN_IF(bad(pml_roaring_reader__open(&r, in), err));
    for (;;) {
        PML_RETURN_IF(bad(pml_roaring_reader__next(&c, &more, &r), err));
        if (!more)
            break;
        uint64_t at = base + ((uint64_t)c.key << 16);
        /* A base is a multiple of 2^32, so containers begin with a word; inside of the set they need no copy. */
        bool inside = (uint64_t)s->n_rows >= PML_ROARING_VALUES && at <= (uint64_t)s->n_rows - PML_ROARING_VALUES;
        if (at >= (uint64_t)s->n_rows || at % 64 != 0)
            return bad("it has a row beyond the end of the file", err);
        PML_RETURN_IF(bad(inside ? pml_roaring_container__lay(s->words + at / 64, &c) : add_at_end(s, at, &c), err));
        sum += c.cardinality;
    }
    if (used != NULL)
        *used = r.at;
    if (cardinality != NULL)
        *cardinality = sum;
    return PML_OK;
}
