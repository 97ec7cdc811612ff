/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of all formats ask of a data file and its batches. Errors name the file. */
#ifndef PML_FORMAT_FILE_CHECKS_H
#define PML_FORMAT_FILE_CHECKS_H

#include "format/file_format.h"

/* Another file under this name, or a shortened one: its rows would be somebody else's. */
int pml_file__check_bytes(int64_t bytes, const char *path, const pml_format_read *request, pml_error *err);
int pml_file__check_rows(int64_t rows, const char *path, const pml_format_read *request, pml_error *err);
/* Values that a column's type cannot have. The batch stays the caller's. */
int pml_file__check_batch(const struct ArrowArray *batch, const char *path, const pml_field *fields, size_t n_fields, pml_error *err);
/* The wanted fields for as long as the arena lives; NULL without memory. */
const pml_field *pml_file__copy_fields(pml_arena *arena, const pml_format_read *request);

#endif
