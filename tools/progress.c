/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_CELLS = 24, DRAW_EVERY_NS = 100 * 1000 * 1000 };

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void progress_start(progress *p)
{
    const char *term = getenv("TERM");
    *p = (progress){.total_bytes = -1};
    p->on = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

static void draw(progress *p)
{
    int64_t now = p->on ? now_ns() : 0;
    if (!p->on || now - p->drawn_ns < DRAW_EVERY_NS)
        return;
    p->drawn_ns = now;
    if (p->total_bytes > 0) {
        int64_t done = p->done_bytes > p->total_bytes ? p->total_bytes : p->done_bytes;
        int percent = (int)((double)done * 100.0 / (double)p->total_bytes);
        int full = percent * BAR_CELLS / 100;
        char bar[BAR_CELLS + 1];
        memset(bar, '.', BAR_CELLS);
        memset(bar, '#', (size_t)full);
        bar[BAR_CELLS] = '\0';
        (void)fprintf(stderr, "\r[%s] %3d %%  %" PRId64 " rows\x1b[K", bar, percent, p->rows);
    } else {
        (void)fprintf(stderr, "\r%.1f MB  %" PRId64 " rows\x1b[K", (double)p->done_bytes / 1e6, p->rows);
    }
    (void)fflush(stderr);
}

void progress_bytes(void *ctx, int64_t done, int64_t total)
{
    progress *p = ctx;
    p->done_bytes = done;
    p->total_bytes = total;
    draw(p);
}

void progress_rows(progress *p, int64_t rows)
{
    p->rows += rows;
    draw(p);
}

void progress_end(progress *p)
{
    if (p->on && p->drawn_ns != 0)
        (void)fputs("\r\x1b[K", stderr);
    p->on = false;
}
