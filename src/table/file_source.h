/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One data file of a split as a stream of table columns: those of the partition come from its row, all others from the file, as what
 * they are now when it was written with another schema. What reads files one after the other (read.c) and what merges them open them
 * alike.
 */
#ifndef PML_TABLE_FILE_SOURCE_H
#define PML_TABLE_FILE_SOURCE_H

#include "table/scan.h"

typedef struct pml_file_source {
    pml_plan *plan;
    const pml_split *split; /* of the plan */
    size_t file;            /* index into the split's files */
    /* Columns of the plan's schema, in the order of the stream. Also _SEQUENCE_NUMBER (BIGINT, PML_ID_SEQUENCE) and _VALUE_KIND
       (TINYINT, PML_ID_VALUE_KIND), which files of tables with a primary key store. What the fields point to must outlive the
       stream. */
    const pml_field *fields;
    size_t n_fields;
    const pml_pred *predicate; /* over columns of the plan's schema; for leaving parts of the file out, never exact. NULL: none */
    bool indexes; /* rows that file indexes exclude may be left out: below a merge, which would miss newer rows of a key, only by its key */
    int64_t batch_rows;
    bool validate_full;
    int32_t part, parts; /* as pml_format_read has them */
    pml_shared_rows *rows; /* of all parts of the file; NULL: none has looked for them */
} pml_file_source;

/* Returns owned: the stream holds the plan. Its errors name the file. No column that is NOT NULL holds a null, unless the file is of
   another schema: what was added or made NOT NULL since, or has no counterpart in the type of now, reads as null. */
int pml_file_source__open(struct ArrowArrayStream *out, const pml_file_source *request, pml_error *err);

/* Takes over the error of a failed get_next of a source (a file or memory); code is what get_next returned. */
int pml_source__error(struct ArrowArrayStream *source, int code, pml_error *err);

#endif
