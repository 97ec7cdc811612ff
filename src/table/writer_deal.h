/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch by partition-bucket, without those that the table's options pass over. */
#ifndef PML_TABLE_WRITER_DEAL_H
#define PML_TABLE_WRITER_DEAL_H

#include "table/writer.h"

/* For slice i of the route: rows[i] in the table's columns, kinds[i] one for each (NULL: all +I). */
typedef struct pml_dealt {
    pml_env *env;
    pml_route route;
    struct ArrowArray *rows;
    int8_t **kinds;
    struct ArrowArray back; /* the batch, when it went to one place as a whole: shares its buffers */
} pml_dealt;

/* Routes and deals a checked batch. It may be moved: what pml_dealt__give_back undoes. */
int pml_dealt__make(pml_dealt *out, const pml_writer *w, struct ArrowArray *batch, pml_error *err);
/* On failure of the write: the batch is the caller's again. */
void pml_dealt__give_back(pml_dealt *d, struct ArrowArray *batch);
void pml_dealt__clear(pml_dealt *d);

#endif
