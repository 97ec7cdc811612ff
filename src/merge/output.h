/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output half of a merge: which row gives which value, collected as lists of references and gathered when a batch is full.
 *
 * While whole rows are picked there is one list for all columns. The first value that is picked or computed by itself splits it into one
 * list per column, for the rest of the batch. Computed values lie in a builder per column, which is one more array to gather from.
 */
#ifndef PML_MERGE_OUTPUT_H
#define PML_MERGE_OUTPUT_H

#include "merge/function.h"
#include "merge/window.h"

typedef struct pml_output_column {
    pml_row_ref *refs;    /* split: one per row. NULL: not yet */
    pml_builder *builder; /* NULL: not yet */
    struct ArrowArray built; /* while the batch is given: what was in the builder */
    int64_t rows;         /* for how many rows it has a value: an assertion */
    size_t first;         /* output column; if it is wanted several times, the others are copies */
    bool wanted;
} pml_output_column;

struct pml_merge_output {
    pml_env *env;
    const pml_merge_layout *layout;
    const int32_t *columns; /* of the request */
    size_t n_columns;
    const pml_window *window;
    bool keep_retracts;
    bool split;
    /* Rows of the batch so far, and at most. rows is the shared list; it and the two below have room for one row more, the one that
       is not ended yet. */
    int64_t n, max;
    int64_t given; /* rows of them that went out in batches before, since all of them were too much for one */
    pml_row_ref *rows;
    pml_output_column *by_position; /* n_fields of them */
    /* With computed rows _VALUE_KIND and _SEQUENCE_NUMBER are what end_row said; else NULL, and they are picked like others. */
    int8_t *kinds;
    int64_t *sequences;
    int failure; /* of a computed value; the functions that fail with it have no words of their own */
    int32_t failed_position;
};

/* computed: rows come through end_row. */
int pml_merge_output__init(pml_merge_output *o, pml_env *env, const pml_merge_request *request,
                           const pml_window *window, bool computed, pml_error *err);
void pml_merge_output__clear(pml_merge_output *o);
/* n neighbouring rows of one batch, each the only one of its key; kinds and sequences (unaligned int64) of the batch's first row on.
   The caller sees that they fit. */
int pml_merge_output__pick_rows(pml_merge_output *o, pml_row_ref first, uint32_t n, const int8_t *kinds,
                                const uint8_t *sequences, bool retracts);
/* Lets go of values that were computed for rows that have come to nothing. The output is empty. */
int pml_merge_output__forget(pml_merge_output *o, pml_error *err);
/* Words for a failure of a computed value. */
int pml_merge_output__explain(const pml_merge_output *o, int rc, pml_error *err);
/* The batch, or as much as one array can hold of it: the rest, which given is above 0 for, before any further rows. Else the output is
   empty then. */
int pml_merge_output__finish(struct ArrowArray *out, pml_merge_output *o, pml_error *err);

#endif
