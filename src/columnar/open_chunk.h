/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct array under construction that is read while it grows: column buffers of fixed capacity, never moved, published by a
 * row count that the owner keeps.
 *
 *   writer   one at a time: appends rows behind everything that was ever published, then its owner publishes the new count
 *   readers  any thread, beside the writer: view the first n rows, n a published count; they never look beyond
 *
 * Whoever publishes and reads the count makes the order (release and acquire, or a mutex). So that no byte is shared between a
 * row that is read and one that is written, validity and booleans take one byte a row inside; a view turns them into bits.
 * Any type: lists and texts get a fixed share of the memory for their elements.
 */
#ifndef PML_COLUMNAR_OPEN_CHUNK_H
#define PML_COLUMNAR_OPEN_CHUNK_H

#include "columnar/batch.h"

typedef struct pml_open_chunk pml_open_chunk;

enum {
    PML_OPEN_CHUNK_ROWS_MAX = 1 << 20,
    PML_OPEN_CHUNK_BYTES_MAX = 1 << 28
};

/* Room for at most rows_max rows and bytes_max bytes; when a row of the type alone takes more, the chunk has room for none.
   fields are borrowed until drop(owner) (NULL allowed) runs, once, in any thread, with the last reference. On failure drop does
   not run. */
int pml_open_chunk__new(pml_open_chunk **out, pml_env *env, const pml_field *fields, size_t n, int64_t rows_max,
                        int64_t bytes_max, void (*drop)(void *owner), void *owner, pml_error *err);
void pml_open_chunk__acquire(pml_open_chunk *c);
void pml_open_chunk__release(pml_open_chunk *c); /* NULL allowed */
/* Copies all rows of the batch; false and nothing done: they do not fit, a column that is NOT NULL has a null, or offsets go
   backwards. */
bool pml_open_chunk__append(pml_open_chunk *c, const struct ArrowArray *batch);
/* The first `rows` rows as an array over the same buffers, which holds a reference. */
int pml_open_chunk__view(struct ArrowArray *out, pml_open_chunk *c, int64_t rows, pml_error *err);
size_t pml_open_chunk__bytes(const pml_open_chunk *c); /* of its buffers */

#endif
