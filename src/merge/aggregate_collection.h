/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the functions over ARRAY and MAP share: a collection that is null, the value of a row, or a list of items that stand in
 * rows. Elements are never copied before the result is built. An index finds elements by a key; it is kept while elements are only
 * added.
 */
#ifndef PML_MERGE_AGGREGATE_COLLECTION_H
#define PML_MERGE_AGGREGATE_COLLECTION_H

#include "merge/aggregate.h"

typedef struct pml_collection {
    enum { PML_COLLECTION_NULL, PML_COLLECTION_PICKED, PML_COLLECTION_LISTED } form;
    pml_row_ref ref; /* PICKED */
    size_t stride;   /* items of an element: 1, or its members where those come from several rows */
    pml_item *items; /* LISTED: n * stride of them */
    size_t n, cap;
    pml_map index; /* key -> element number + 1 */
    bool indexed;  /* index is that of the list */
} pml_collection;

/* What a kind over collections is made of; its state begins with this. */
typedef struct pml_collector {
    const pml_fold *fold;
    pml_collection acc, other; /* other: the accumulator of a reversed aggregation */
    pml_buf key, key_2;
    /* acc op= in; neither is null unless it normalizes. Codes without a text: PML_E_NOMEM and PML_E_LIMIT. */
    int (*combine)(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err);
    /* acc and in not null; NULL: the function takes nothing back. */
    int (*retract)(pml_aggregator *a, pml_collection *acc, pml_collection *in, pml_error *err);
    bool normalizes;     /* combine is asked even when one side is null (collect with distinct) */
    bool keeps_order;    /* the newer elements stay behind even in a reversed aggregation */
    bool listed_members; /* the list holds members: the result's elements are rows made of them */
} pml_collector;

int pml_collector__open(pml_aggregator *a, size_t stride);
void pml_collector__drop(pml_aggregator *a);
void pml_collector__begin(pml_aggregator *a, const pml_fold *f);
int pml_collector__step(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err);
int pml_collector__end(pml_aggregator *a, pml_merge_output *out, pml_error *err);

/* The elements of a collection, 0 of a null. Of MAPs: entries. */
typedef struct pml_elements {
    pml_item_range range; /* PICKED */
    const pml_collection *listed;
    size_t n;
} pml_elements;
pml_elements pml_collection__elements(const pml_aggregator *a, const pml_collection *c);
static inline pml_item pml_elements__at(const pml_elements *e, size_t i)
{
    return e->listed != NULL ? e->listed->items[i * e->listed->stride]
                             : (pml_item){e->range.array, e->range.first + (int64_t)i};
}

/* Appends an element of `stride` items. PML_OK or PML_E_NOMEM, PML_E_LIMIT. */
int pml_collection__append(const pml_aggregator *a, pml_collection *c, const pml_item *items);
/* Makes the list empty, LISTED, without an index. */
void pml_collection__clear(pml_aggregator *a, pml_collection *c);
/* The same, while the old elements go on as *from, whose items the caller frees. */
void pml_collection__rebuild(pml_aggregator *a, pml_collection *c, pml_collection *from);
void pml_collection__forget_index(pml_aggregator *a, pml_collection *c);
/* The number of the element with a key + 1; 0: none. */
size_t pml_collection__find(const pml_collection *c, pml_bytes key);
int pml_collection__note(pml_collection *c, pml_bytes key, size_t number);

#endif
