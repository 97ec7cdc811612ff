/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loser tree over key prefixes, in a flat array: node[0] is the least, node[i] the loser of what lies below i. The leaves of the runs
 * are 2^k or more places that only exist as numbers, so every way up has the same length and its loop is foreseen by the processor.
 * The step is free of branches where prefixes decide: which run comes next is what nobody foresees.
 */
#ifndef PML_MERGE_LOSER_TREE_H
#define PML_MERGE_LOSER_TREE_H

#include "merge/cursor.h"

typedef struct pml_loser_tree {
    pml_key_prefix *node;
    uint32_t leaves; /* a power of two */
    const pml_cursor *cursors;
    const pml_cursor_rules *rules;
} pml_loser_tree;

/* What prefixes leave open. */
static inline bool pml_loser_tree__less_unsettled(const pml_loser_tree *t, pml_key_prefix a, pml_key_prefix b)
{
    uint16_t run_a = pml_prefix__run(a), run_b = pml_prefix__run(b);
    if (run_a == PML_RUN_NONE || run_b == PML_RUN_NONE)
        return run_a < run_b;
    const pml_cursor *ca = &t->cursors[run_a], *cb = &t->cursors[run_b];
    const struct ArrowArray *const *batches = t->rules->window.batches;
    int order = pml_row_order__compare(&t->rules->keys, batches[ca->batch], ca->row, batches[cb->batch], cb->row);
    return order != 0 ? order < 0 : run_a < run_b;
}

static inline bool pml_loser_tree__less(const pml_loser_tree *t, pml_key_prefix a, pml_key_prefix b, bool settled)
{
    /* One branch, seldom taken: equal keys are as frequent as not, and nobody foresees them. */
    if (!settled && (pml_prefix__same(a, b) & pml_prefix__unsettled(&t->rules->form, a)))
        return pml_loser_tree__less_unsettled(t, a, b);
    return a < b;
}

/* The run of the least key has a new one, or PML_PREFIX_END. settled: prefixes always decide. The exchange is written in halves: gcc
   makes a poor one of whole 128-bit masks. */
__attribute__((always_inline)) static inline void pml_loser_tree__replace(pml_loser_tree *t, uint16_t run, pml_key_prefix key,
                                                                          bool settled)
{
    uint64_t high = (uint64_t)(key >> 64), low = (uint64_t)key;
    for (uint32_t i = (run + t->leaves) >> 1; i > 0; i >>= 1) {
        pml_key_prefix other = t->node[i], mine = (pml_key_prefix)high << 64 | low;
        uint64_t other_high = (uint64_t)(other >> 64), other_low = (uint64_t)other;
        uint64_t swap = -(uint64_t)pml_loser_tree__less(t, other, mine, settled);
        uint64_t swap_high = swap & (other_high ^ high), swap_low = swap & (other_low ^ low);
        t->node[i] = (pml_key_prefix)(other_high ^ swap_high) << 64 | (other_low ^ swap_low);
        high ^= swap_high;
        low ^= swap_low;
    }
    t->node[0] = (pml_key_prefix)high << 64 | low;
}

/* The least key of all other runs, as far as prefixes tell. */
static inline pml_key_prefix pml_loser_tree__second(const pml_loser_tree *t, uint16_t run)
{
    pml_key_prefix least = PML_PREFIX_END;
    for (uint32_t i = (run + t->leaves) >> 1; i > 0; i >>= 1)
        least = t->node[i] < least ? t->node[i] : least;
    return least;
}

#endif
