/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of arrays, which concatenation puts one after the other. */
#ifndef PML_COLUMNAR_PIECES_H
#define PML_COLUMNAR_PIECES_H

#include "columnar/batch.h"

typedef struct pml_piece {
    const struct ArrowArray *a; /* NULL: n nulls */
    int64_t row, n;             /* row without the array's own offset */
} pml_piece;

/* PML_E_LIMIT: more text or elements than 32-bit offsets reach; PML_E_INVAL: offsets go backwards. */
int pml_pieces__concat(struct ArrowArray *out, pml_env *env, const pml_type *type, const pml_piece *pieces, size_t n,
                       pml_error *err);

#endif
