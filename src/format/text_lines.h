/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a text data file (Java: TextLineReader): ended by \n, \r or \r\n, or by a delimiter of the table's own. */
#ifndef PML_FORMAT_TEXT_LINES_H
#define PML_FORMAT_TEXT_LINES_H

#include "format/text_source.h"
#include "util/buf.h"

enum { PML_TEXT_LINE_MAX = 256 * 1024 * 1024 };

typedef struct pml_text_lines {
    pml_text_source *source;
    const char *path; /* for messages */
    const char *delimiter;
    size_t delimiter_len; /* 0: \n, \r and \r\n, and a byte order mark at the beginning is no part of the first line */
    pml_buf text;         /* what was read and not given yet: [at, text.len) */
    size_t at;
    size_t scanned, matched; /* bytes behind `at` in which no end is; how much of a delimiter they end with */
    bool begun, ended;
    int64_t number; /* of the line given last, from 1 */
} pml_text_lines;

/* in and the delimiter are borrowed. Must be closed whatever is returned. */
int pml_text_lines__open(pml_text_lines *l, pml_env *env, pml_input *in, const char *delimiter, pml_error *err);
void pml_text_lines__close(pml_text_lines *l);
/* The next line without its end, valid until the next call. ptr NULL: there is none; an empty piece at the end of the file is none. */
int pml_text_lines__next(pml_bytes *line, pml_text_lines *l, pml_error *err);

#endif
