/* SPDX-License-Identifier: Apache-2.0 */
/* The ORC side of file_format.h: reading only. */
#ifndef PML_FORMAT_ORC_H
#define PML_FORMAT_ORC_H

#include "format/file_format.h"

int pml_orc__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *request, pml_error *err);

#endif
