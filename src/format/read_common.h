/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of data files of all formats do alike. */
#ifndef PML_FORMAT_READ_COMMON_H
#define PML_FORMAT_READ_COMMON_H

#include "format/file_format.h"
#include "storage/stream.h"

/* The file of a request. */
int pml_format__open_input(pml_input **out, pml_env *env, const char *path, const pml_format_read *request, pml_error *err);

/* What a reader keeps of its request, in its arena: the path, and the wanted fields with names and types. */
int pml_format__keep(const char **path_kept, const pml_field **fields, pml_arena *arena, const char *path, const pml_format_read *request,
                     pml_error *err);
/* What a stream gives: the wanted fields, and the position of a row if it is wanted. */
int pml_format__export(struct ArrowSchema *out, pml_env *env, const pml_format_read *request, pml_error *err);
/* Another file under this name, or a shortened one: its rows would be somebody else's. rows < 0: not known yet. */
int pml_format__check_identity(const char *path, const pml_format_read *request, int64_t bytes, int64_t rows, pml_error *err);
/* Values that their columns cannot have: PML_E_CORRUPT naming the file. */
int pml_format__check_values(const char *path, const struct ArrowArray *batch, const pml_field *fields, size_t n, pml_error *err);

#endif
