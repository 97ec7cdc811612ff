/* SPDX-License-Identifier: Apache-2.0 */
#include "input_lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

bool input_lines_take(input_lines *in, const char **line, size_t *len)
{
    const char *end = in->scanned == in->len ? NULL : memchr(in->text + in->scanned, '\n', in->len - in->scanned);
    in->scanned = in->len;
    if (end == NULL && (!in->no_more || in->at == in->len))
        return false;
    *line = in->text + in->at;
    *len = (end == NULL ? in->len : (size_t)(end - in->text)) - in->at;
    in->at += *len + (end != NULL);
    in->scanned = in->at;
    in->number++;
    while (*len > 0 && (*line)[*len - 1] == '\r')
        --*len;
    return true;
}

bool input_lines_ended(const input_lines *in)
{
    return in->no_more && in->at == in->len;
}

bool input_lines_ready(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, 0) != 0; /* what is wrong with it the read says */
}

int input_lines_read(input_lines *in)
{
    ssize_t n;
    if (in->at > 0)
        memmove(in->text, in->text + in->at, in->len - in->at);
    in->len -= in->at;
    in->scanned -= in->at;
    in->at = 0;
    if (in->len > INPUT_LINE_MAX_BYTES)
        return app_say(EXIT_ERROR, "standard input, line %lld: longer than %d bytes", (long long)in->number + 1, INPUT_LINE_MAX_BYTES);
    if (in->room - in->len < READ_BYTES) {
        in->room = in->room * 2 + READ_BYTES;
        in->text = app_realloc(in->text, in->room);
    }
    do
        n = read(STDIN_FILENO, in->text + in->len, in->room - in->len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return app_say(EXIT_ERROR, "standard input could not be read: %m");
    in->no_more = n == 0;
    in->len += (size_t)n;
    return EXIT_OK;
}

void input_lines_free(input_lines *in)
{
    free(in->text);
    *in = (input_lines){0};
}
