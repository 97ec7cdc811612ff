/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of a table say of its CSV, JSON or text files (Java: CsvOptions, JsonOptions, TextOptions). Borrowed texts. */
#ifndef PML_FORMAT_TEXT_OPTIONS_H
#define PML_FORMAT_TEXT_OPTIONS_H

#include <stdbool.h>

typedef struct pml_text_options {
    const char *line_delimiter;
    /* CSV */
    const char *field_delimiter, *quote, *escape; /* their first characters count */
    const char *null_literal;
    bool header;
    enum { PML_CSV_PERMISSIVE = 0, PML_CSV_DROP_MALFORMED, PML_CSV_FAIL_FAST } mode;
    /* JSON */
    bool ignore_errors;
} pml_text_options;

#endif
