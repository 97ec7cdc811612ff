/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of pml_batch__check: structure (check.c), then values (check_values.c). */
#ifndef PML_COLUMNAR_CHECK_H
#define PML_COLUMNAR_CHECK_H

#include "columnar/batch.h"

enum { PML_CHECK_PATH_MAX = 2 * PML_TYPE_DEPTH_MAX + 4 };

/* One check in progress. The first failure fills `what` and row; each level on the way out turns row into its own rows. */
typedef struct pml_check {
    pml_check_level level;
    const char *path[PML_CHECK_PATH_MAX]; /* names from the column down, path[0] is the batch itself */
    int depth;
    int failed_depth;
    int64_t row; /* -1: the column as a whole */
    char what[160];
} pml_check;

/* Returns PML_E_INVAL. */
int pml_check__fail(pml_check *c, int64_t row, const char *format, ...) PML_PRINTF(3, 4);
/* PML_E_LIMIT-free step down; false when the type is nested too deeply. */
static inline bool pml_check__enter(pml_check *c, const char *name)
{
    if (c->depth + 1 >= PML_CHECK_PATH_MAX)
        return false;
    c->path[++c->depth] = name == NULL ? "?" : name;
    return true;
}

static inline void pml_check__leave(pml_check *c)
{
    c->depth--;
}

/* The row of a list array whose elements contain element e (an index into the child without the child's offset). */
int64_t pml_check__list_row(const struct ArrowArray *a, int64_t row, int64_t n, int64_t e);

/* Values of rows [row, row + n), which are live (no parent is null). Structure was checked before. */
int pml_check__values(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n);
/* Well-formed UTF-8 (RFC 3629). */
bool pml_check__utf8(const uint8_t *p, size_t len);

#endif
