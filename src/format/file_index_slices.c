/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file_index_slices.h"

enum { NUMBER_BITS = 64 };

int pml_slices__init(pml_slices *s, const pml_index_question *q, uint64_t number)
{
    *s = (pml_slices){.number = number};
    int rc = pml_row_set__init(&s->exists, q->env, q->n_rows, false, q->err);
    if (rc == PML_OK)
        rc = pml_row_set__init(&s->below, q->env, q->n_rows, false, q->err);
    if (rc == PML_OK)
        rc = pml_row_set__init(&s->equal, q->env, q->n_rows, false, q->err);
    if (rc != PML_OK)
        pml_slices__clear(s);
    return rc;
}

void pml_slices__clear(pml_slices *s)
{
    pml_row_set__clear(&s->exists);
    pml_row_set__clear(&s->below);
    pml_row_set__clear(&s->equal);
}

void pml_slices__begin(pml_slices *s)
{
    pml_row_set__or(&s->equal, &s->exists);
}

/* A higher bit decides over all lower ones: where the number has it, rows without it are below; where not, rows with it are not. */
void pml_slices__add(pml_slices *s, int i, const pml_row_set *slice)
{
    if ((s->number >> i & 1) != 0) {
        pml_row_set__and(&s->equal, slice);
        pml_row_set__invert(&s->below); /* below or not in the slice = not (not below and in the slice) */
        pml_row_set__and(&s->below, slice);
        pml_row_set__invert(&s->below);
        pml_row_set__and(&s->below, &s->exists);
    } else {
        pml_row_set__and_not(&s->equal, slice);
        pml_row_set__and_not(&s->below, slice);
    }
}

void pml_slices__end(pml_slices *s, int n)
{
    if (n < NUMBER_BITS && s->number >> n != 0) {
        pml_row_set__or(&s->below, &s->exists);
        pml_row_set__and_not(&s->equal, &s->exists);
    }
}
