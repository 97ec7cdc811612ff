/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches that a merge holds: those that the runs stand in, and those that they have left but references may point at. After the
 * output was gathered the latter go, and the others get new numbers.
 */
#ifndef PML_MERGE_WINDOW_H
#define PML_MERGE_WINDOW_H

#include "columnar/batch.h"

typedef struct pml_window_slot pml_window_slot;

typedef struct pml_window {
    pml_env *env;
    const pml_field *fields;
    size_t n_fields;
    pml_window_slot **slots;
    const struct ArrowArray **batches; /* what a reference's batch indexes; without offsets of their own */
    uint32_t n, cap;
    uint64_t left_bytes; /* of the batches that their runs have left */
} pml_window;

void pml_window__init(pml_window *w, pml_env *env, const pml_field *fields, size_t n_fields);
void pml_window__clear(pml_window *w);
/* Moves the batch in (also on failure, when it is released). *owner is set to its number now and whenever numbers change, until
   pml_window__leave. */
int pml_window__add(pml_window *w, struct ArrowArray *batch, uint32_t *owner, pml_error *err);
void pml_window__leave(pml_window *w, uint32_t batch);
/* Lets go of what was left: no reference is needed any more. */
void pml_window__settle(pml_window *w);

#endif
