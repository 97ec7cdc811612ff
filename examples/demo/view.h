/* SPDX-License-Identifier: Apache-2.0 */
/* What the demo shows while it runs: redrawn in place on a terminal, else a line each second. */
#ifndef DEMO_VIEW_H
#define DEMO_VIEW_H

#include "status.h"

typedef struct view {
    bool terminal, colour;
    int lines_drawn; /* of the block that the next drawing replaces */
    int64_t total;   /* rows of the file */
    int64_t started_ns, last_line_ns;
} view;

enum { VIEW_NUMBER = 32 };
/* 336776 as "336,776". Returns out. */
const char *view_number(char out[VIEW_NUMBER], int64_t n);

void view_start(view *v, int64_t total);
/* Called some ten times a second. */
void view_draw(view *v, const life *l);
/* Leaves the last drawing, or a last line, on the screen; text printed from now on comes below. */
void view_end(view *v, const life *l);

#endif
