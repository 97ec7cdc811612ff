/* SPDX-License-Identifier: Apache-2.0 */
/* The Parquet side of file_format.h. */
#ifndef PML_FORMAT_PARQUET_H
#define PML_FORMAT_PARQUET_H

#include "format/file_format.h"

enum { PML_PARQUET_BATCH_ROWS = 8192 };

int pml_parquet__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *request,
                      pml_error *err);

#endif
