/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/row_set.h"

#include "util/error.h"

enum { WORD_BITS = 64 };

static size_t words_of(int64_t n_rows)
{
    return ((size_t)n_rows + WORD_BITS - 1) / WORD_BITS;
}

int pml_row_set__init(pml_row_set *s, pml_env *env, int64_t n_rows, bool full, pml_error *err)
{
    *s = (pml_row_set){.env = env, .n_rows = n_rows};
    if (n_rows < 0 || n_rows > PML_ROW_SET_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a file of %lld rows cannot have a set of its rows: at most %lld are supported",
                              (long long)n_rows, (long long)PML_ROW_SET_MAX);
    s->words = pml_env__calloc(env, words_of(n_rows) + 1, sizeof *s->words); /* one more: [n_rows, n_rows) may be asked for */
    if (s->words == NULL)
        return pml_error__no_memory(err);
    if (full)
        pml_row_set__add_range(s, 0, n_rows);
    return PML_OK;
}

void pml_row_set__clear(pml_row_set *s)
{
    if (s->words != NULL)
        pml_env__free(s->env, s->words);
    *s = (pml_row_set){0};
}

/* The bits of the word with index w that stand for rows of [first, end). */
static uint64_t mask_of(int64_t w, int64_t first, int64_t end)
{
    uint64_t mask = ~UINT64_C(0);
    if (w == first / WORD_BITS)
        mask <<= first % WORD_BITS;
    if (w == end / WORD_BITS)
        mask &= (UINT64_C(1) << (end % WORD_BITS)) - 1;
    return mask;
}

void pml_row_set__add_range(pml_row_set *s, int64_t first, int64_t end)
{
    for (int64_t w = first / WORD_BITS; first < end && w <= end / WORD_BITS; w++)
        s->words[w] |= mask_of(w, first, end);
}

int64_t pml_row_set__count(const pml_row_set *s, int64_t first, int64_t end)
{
    int64_t n = 0;
    for (int64_t w = first / WORD_BITS; first < end && w <= end / WORD_BITS; w++)
        n += __builtin_popcountll(s->words[w] & mask_of(w, first, end));
    return n;
}

bool pml_row_set__any(const pml_row_set *s, int64_t first, int64_t end)
{
    for (int64_t w = first / WORD_BITS; first < end && w <= end / WORD_BITS; w++)
        if ((s->words[w] & mask_of(w, first, end)) != 0)
            return true;
    return false;
}

int64_t pml_row_set__next(const pml_row_set *s, int64_t from, bool present)
{
    const uint64_t flip = present ? 0 : ~UINT64_C(0);
    for (int64_t w = from / WORD_BITS; from < s->n_rows; from = ++w * WORD_BITS) {
        uint64_t word = (s->words[w] ^ flip) >> (from % WORD_BITS);
        if (word == 0)
            continue;
        from += __builtin_ctzll(word);
        return from < s->n_rows ? from : s->n_rows;
    }
    return s->n_rows;
}

void pml_row_set__and(pml_row_set *s, const pml_row_set *other)
{
    for (size_t i = 0; i < words_of(s->n_rows); i++)
        s->words[i] &= other->words[i];
}

void pml_row_set__or(pml_row_set *s, const pml_row_set *other)
{
    for (size_t i = 0; i < words_of(s->n_rows); i++)
        s->words[i] |= other->words[i];
}

void pml_row_set__and_not(pml_row_set *s, const pml_row_set *other)
{
    for (size_t i = 0; i < words_of(s->n_rows); i++)
        s->words[i] &= ~other->words[i];
}

void pml_row_set__invert(pml_row_set *s)
{
    for (size_t i = 0; i < words_of(s->n_rows); i++)
        s->words[i] = ~s->words[i];
    if (s->n_rows % WORD_BITS != 0)
        s->words[s->n_rows / WORD_BITS] &= (UINT64_C(1) << (s->n_rows % WORD_BITS)) - 1;
}
