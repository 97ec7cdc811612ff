/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys as 128-bit integers that order like the keys do:
 *
 *   bits 127..16   the key columns one after the other, most significant first, as much of them as there is room for
 *   bits 15..0     the run, so that one comparison also settles which of two equal keys is older
 *
 * Fixed-width columns are their column keys (columnar/column_keys.h) with the sign bit turned, -0.0 as 0.0. A text fills the rest: its
 * first bytes, padded with zeros, then one byte: its length, or one more than there was room for. So short texts are settled by their
 * prefix, too.
 *
 * Long texts often begin alike in the whole table. What all keys met so far have in common at their beginning is left out of their
 * prefixes: it only ever gets shorter, when a batch comes whose first or last key (those between lie in between) begins otherwise. Then
 * all prefixes are made anew.
 */
#ifndef PML_MERGE_KEY_PREFIX_H
#define PML_MERGE_KEY_PREFIX_H

#include "columnar/column_keys.h"
#include "merge/merge.h"

typedef unsigned __int128 pml_key_prefix;

enum { PML_PREFIX_RUN_BITS = 16, PML_PREFIX_BITS = 112, PML_PREFIX_COMMON_MAX = 64, PML_RUN_NONE = 0xFFFF };
/* Of a run that has ended: behind everything. */
#define PML_PREFIX_END (~(pml_key_prefix)0)

typedef struct pml_prefix_column {
    const pml_type *type;
    int32_t position;
    int bits;  /* its room */
    int shift; /* of its last bit */
} pml_prefix_column;

typedef struct pml_prefix_form {
    pml_prefix_column *columns; /* those that have some room */
    size_t n;
    /* What all texts of the first column begin with. */
    uint8_t common[PML_PREFIX_COMMON_MAX];
    size_t n_common;
    bool met;     /* a batch */
    bool changed; /* common got shorter: prefixes made before cannot be compared with those to come */
    /* Equal prefixes mean equal keys while their last byte is not above it: 255 always, -1 never. */
    int settled_max;
} pml_prefix_form;

int pml_prefix_form__init(pml_prefix_form *out, pml_arena *arena, const pml_merge_layout *layout, pml_error *err);
/* Before the prefixes of a batch that is not empty are made. May set form->changed. */
void pml_prefix_form__meet(pml_prefix_form *form, const struct ArrowArray *batch);
/* The same for a batch in no order: every key is looked at. */
void pml_prefix_form__meet_all(pml_prefix_form *form, const struct ArrowArray *batch);
/* Of rows [row, row + n) of a batch, n <= PML_KEYS_CHUNK. Returns n, or the first row (from `row` on) that does not begin as the
   others: it cannot lie between the first and the last. */
int64_t pml_prefix_form__load(pml_key_prefix *out, const pml_prefix_form *form, const struct ArrowArray *batch,
                           int64_t row, int64_t n, uint16_t run);

static inline uint16_t pml_prefix__run(pml_key_prefix p)
{
    return (uint16_t)p;
}

static inline bool pml_prefix__same(pml_key_prefix a, pml_key_prefix b)
{
    return (a ^ b) >> PML_PREFIX_RUN_BITS == 0;
}

/* Of prefixes that are the same: whether the keys may differ all the same. */
static inline bool pml_prefix__unsettled(const pml_prefix_form *form, pml_key_prefix p)
{
    return (int)(uint8_t)(p >> PML_PREFIX_RUN_BITS) > form->settled_max;
}

#endif
