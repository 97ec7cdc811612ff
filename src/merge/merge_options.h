/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of merge engines, read from a schema and the overrides of a session. Their names contain column names
 * (`fields.<c>.aggregate-function`), so they are looked up here and not in the table of meta/options_table.c.
 */
#ifndef PML_MERGE_MERGE_OPTIONS_H
#define PML_MERGE_MERGE_OPTIONS_H

#include "meta/table_schema.h"

/* Borrows everything. */
typedef struct pml_merge_options {
    const pml_table_schema *schema;
    const pml_option *overrides; /* win; of two with one key the last */
    size_t n_overrides;
} pml_merge_options;

/* NULL: not set. */
const char *pml_merge_options__get(const pml_merge_options *o, const char *key);
/* The option fields.<field>.<suffix>. */
const char *pml_merge_options__field(const pml_merge_options *o, const char *field, const char *suffix);
/* Booleans; false when not set. PML_E_INVAL names option and value. */
int pml_merge_options__bool(bool *out, const pml_merge_options *o, const char *key, pml_error *err);
int pml_merge_options__field_bool(bool *out, const pml_merge_options *o, const char *field, const char *suffix,
                                  pml_error *err);
int pml_merge_options__field_int(int32_t *out, const pml_merge_options *o, const char *field, const char *suffix,
                                 int32_t otherwise, pml_error *err);
/* The n-th option in force, shadowed ones left out; false behind the last. */
bool pml_merge_options__next(const pml_merge_options *o, size_t *i, pml_option *out);

/* The next piece of a text with commas, as Java's String.split(",") gives them: empty ones at the end are left out. *at starts as
   the text and is NULL behind the last piece. */
bool pml_merge_options__piece(const char **at, pml_bytes *piece);
/* Without the blanks around it: String.trim(). */
pml_bytes pml_merge_options__trim(pml_bytes piece);

/* Columns of the schema that sequence.field names, in its order, into columns (room for all of the schema's). PML_E_INVAL naming the
   table (`where`): one does not exist, or too many. */
int pml_merge_options__sequence_columns(int32_t *columns, size_t *n, const pml_merge_options *o, const char *where, pml_error *err);
/* Option ignore-delete and its older names. */
int pml_merge_options__ignore_delete(bool *out, const pml_merge_options *o, pml_error *err);

#endif
