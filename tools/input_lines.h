/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of standard input for who answers them one by one: what is there is taken without waiting, and before a read that waits the caller
 * can give his answers.
 *
 *     while (!input_lines_ended(&in))
 *         if (input_lines_take(&in, &line, &len)) ...
 *         else { if (!input_lines_ready()) answer(); input_lines_read(&in); }
 */
#ifndef PML_TOOLS_INPUT_LINES_H
#define PML_TOOLS_INPUT_LINES_H

#include "app.h"

enum { INPUT_LINE_MAX_BYTES = 16 * 1024 * 1024 };

typedef struct input_lines {
    char *text; /* [at, len) was read and not yet taken; up to `scanned` there is no end of a line */
    size_t at, scanned, len, room;
    int64_t number; /* of the last line taken */
    bool no_more;   /* the end of the input was read */
} input_lines;

/* The next line without its end, in memory of the input's until the next call; false: more must be read, or all is taken. */
bool input_lines_take(input_lines *in, const char **line, size_t *len);
bool input_lines_ended(const input_lines *in); /* all is taken */
bool input_lines_ready(void);                  /* reading does not wait */
/* Reads some more. EXIT_OK, or an exit code, said already. */
int input_lines_read(input_lines *in);
void input_lines_free(input_lines *in);

#endif
