/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds of indexes share: bounded reading, keys, and the question that is put to each. Internal to format/file_index*. */
#ifndef PML_FORMAT_FILE_INDEX_READ_H
#define PML_FORMAT_FILE_INDEX_READ_H

#include "format/file_index.h"

/* One leaf of a predicate for one index. */
typedef struct pml_index_question {
    pml_env *env;
    const pml_pred *leaf; /* a comparison, IN, IS [NOT] NULL, or of text */
    pml_bytes body;       /* the whole index */
    int64_t n_rows;
    const char *path;
    pml_error *err;
} pml_index_question;

/* Each sets *out, which is REMAIN before. */
int pml_index__bloom(pml_index_answer *out, const pml_index_question *q);
int pml_index__bitmap(pml_index_answer *out, const pml_index_question *q);
int pml_index__bsi(pml_index_answer *out, const pml_index_question *q);
int pml_index__range(pml_index_answer *out, const pml_index_question *q);

/* Each literal is looked for in the whole index: of more than these reading the rows is cheaper. */
enum { PML_INDEX_LITERALS_MAX = 16 };

int pml_index__corrupt(const pml_index_question *q, const char *why);
/* Takes *rows over; nothing in it: SKIP. */
void pml_index_answer__of_rows(pml_index_answer *out, pml_row_set *rows);
/* Adds the Roaring bitmap that fills `bytes`. */
int pml_index__add_roaring(pml_row_set *rows, const pml_index_question *q, pml_bytes bytes);

/* Reads from the front; after the first that is too short `bad` stays set and everything gives 0. */
typedef struct pml_index_cursor {
    const uint8_t *p, *end;
    bool bad;
} pml_index_cursor;

static inline pml_index_cursor pml_index_cursor__of(pml_bytes b) { return (pml_index_cursor){b.ptr, b.ptr + b.len, false}; }
static inline pml_bytes pml_index_cursor__take(pml_index_cursor *c, int64_t n)
{
    if (c->bad || n < 0 || n > c->end - c->p) {
        c->bad = true;
        return (pml_bytes){0};
    }
    pml_bytes b = {c->p, (size_t)n};
    c->p += n;
    return b;
}
static inline pml_bytes pml_index_cursor__rest(const pml_index_cursor *c) { return (pml_bytes){c->p, (size_t)(c->end - c->p)}; }
static inline int32_t pml_index_cursor__u8(pml_index_cursor *c)
{
    pml_bytes b = pml_index_cursor__take(c, 1);
    return b.ptr == NULL ? 0 : b.ptr[0];
}
static inline int32_t pml_index_cursor__i32(pml_index_cursor *c)
{
    pml_bytes b = pml_index_cursor__take(c, 4);
    return b.ptr == NULL ? 0 : (int32_t)pml_be32(b.ptr);
}
static inline int64_t pml_index_cursor__i64(pml_index_cursor *c)
{
    pml_bytes b = pml_index_cursor__take(c, 8);
    return b.ptr == NULL ? 0 : (int64_t)pml_be64(b.ptr);
}

/* Keys: how indexes keep the values of a column. Timestamps are whole milliseconds up to precision 3, else microseconds; decimals their
   unscaled value. pml_value__compare orders keys of one type. */
bool pml_index_key__fits(const pml_type *t);
/* The key of a literal; false: between two keys, or not kept by indexes (null, precision above 6, decimals above 18 digits). */
bool pml_index_key__of(pml_value *key, const pml_type *t, const pml_value *literal);
void pml_index_key__read(pml_value *key, const pml_type *t, pml_index_cursor *c);

#endif
