/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV, JSON and text side of file_format.h: reading only. */
#ifndef PML_FORMAT_TEXT_DATA_H
#define PML_FORMAT_TEXT_DATA_H

#include "format/file_format.h"

bool pml_text_data__is(const char *format); /* csv, json, text */
int pml_text_data__open(struct ArrowArrayStream *out, pml_env *env, const char *format, const char *path, const pml_format_read *request,
                        pml_error *err);

#endif
