/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the demo itself, in the form of the library's. */
#ifndef DEMO_ERROR_H
#define DEMO_ERROR_H

#include <paimonlive/error.h>

/* Each returns its code. */
__attribute__((format(printf, 3, 4))) int error_set(pml_error *err, int code, const char *format, ...);
int error_no_memory(pml_error *err);

#endif
