/* SPDX-License-Identifier: Apache-2.0 */
/* Rows made of metadata, cell by cell, as an Arrow stream of one batch. */
#ifndef PML_TABLE_METADATA_ROWS_H
#define PML_TABLE_METADATA_ROWS_H

#include "columnar/batch.h"
#include "meta/data_file.h"

#define PML_META_COLUMN(n, k, may_be_null)                                                  \
    {                                                                                       \
        .name = (n), .type = {.kind = (k), .nullable = (may_be_null), .length = INT32_MAX } \
    }
#define PML_META_TEXT(n)         PML_META_COLUMN(n, PML_TYPE_VARCHAR, false)
#define PML_META_TEXT_OR_NULL(n) PML_META_COLUMN(n, PML_TYPE_VARCHAR, true)
#define PML_META_LONG(n)         PML_META_COLUMN(n, PML_TYPE_BIGINT, false)
#define PML_META_LONG_OR_NULL(n) PML_META_COLUMN(n, PML_TYPE_BIGINT, true)
#define PML_META_INT(n)          PML_META_COLUMN(n, PML_TYPE_INT, false)
#define PML_META_TIME(n, may_be_null)                                                                 \
    {                                                                                                 \
        .name = (n), .type = {.kind = PML_TYPE_TIMESTAMP, .nullable = (may_be_null), .precision = 3 } \
    }

typedef struct pml_meta_rows {
    pml_env *env;
    const pml_field *fields; /* borrowed */
    size_t n_fields;
    pml_builder **columns;
    size_t next; /* column of the cell that comes next */
    int64_t length;
    pml_buf text; /* of a cell in the making: pml_meta_rows__begin_text */
    int rc;       /* first error */
} pml_meta_rows;

int pml_meta_rows__init(pml_meta_rows *r, pml_env *env, const pml_field *fields, size_t n, pml_error *err);
void pml_meta_rows__clear(pml_meta_rows *r); /* zeroed: nothing to do */

/* One cell each, in the order of the columns. Errors are kept until the stream is asked for. */
void pml_meta_rows__put(pml_meta_rows *r, const pml_value *v);
void pml_meta_rows__put_null(pml_meta_rows *r);
void pml_meta_rows__put_int(pml_meta_rows *r, int64_t i);
void pml_meta_rows__put_optional(pml_meta_rows *r, pml_optional_int64 v);
void pml_meta_rows__put_text(pml_meta_rows *r, const char *s); /* NULL: null */
void pml_meta_rows__put_time(pml_meta_rows *r, bool present, int64_t ms);
/* A text in pieces: an empty buffer, and what was put into it as the cell. */
pml_buf *pml_meta_rows__begin_text(pml_meta_rows *r);
void pml_meta_rows__end_text(pml_meta_rows *r);
/* The builder of a nested cell; the cell is done when the caller has closed an item of it, and says with what result. */
pml_builder *pml_meta_rows__begin_nested(pml_meta_rows *r);
void pml_meta_rows__end_nested(pml_meta_rows *r, int rc);

/* Moves the rows for which the predicate (NULL: none) is true into a stream of one batch of the first n_shown of these n columns
   (columns NULL: of all). Conditions name columns by their places. */
int pml_meta_rows__stream(struct ArrowArrayStream *out, pml_meta_rows *r, const int32_t *columns, size_t n, size_t n_shown,
                          const pml_pred *predicate, pml_error *err);

#endif
