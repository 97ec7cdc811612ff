/* SPDX-License-Identifier: Apache-2.0 */
/* The Avro side of file_format.h. */
#ifndef PML_FORMAT_AVRO_DATA_H
#define PML_FORMAT_AVRO_DATA_H

#include "format/file_format.h"

enum { PML_AVRO_BATCH_ROWS = 8192 };

int pml_avro_data__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *request,
                        pml_error *err);

#endif
