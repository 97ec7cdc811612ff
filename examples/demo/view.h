/* SPDX-License-Identifier: Apache-2.0 */
/* What the demo shows while it runs: redrawn in place on a terminal, else a line each second. */
#ifndef DEMO_VIEW_H
#define DEMO_VIEW_H

#include "status.h"

typedef struct view view;

/* What a part shows. */
typedef struct view_form {
    void (*block)(view *v, const life *l); /* by view_line, always as many lines */
    void (*line)(const life *l);           /* printed, with its end */
} view_form;
extern const view_form view_form_append, view_form_upsert;

struct view {
    const view_form *form;
    bool terminal, colour;
    int lines_drawn; /* of the block that the next drawing replaces */
    int64_t started_ns, last_line_ns;
};

enum { VIEW_NUMBER = 32 };
/* 336776 as "336,776". Returns out. */
const char *view_number(char out[VIEW_NUMBER], int64_t n);

void view_start(view *v, const view_form *form);
/* Called some ten times a second. */
void view_draw(view *v, const life *l);
/* Leaves the last drawing, or a last line, on the screen; text printed from now on comes below. */
void view_end(view *v, const life *l);

/* For forms. */
/* A line of the block; what stood there before goes. */
__attribute__((format(printf, 2, 3))) void view_line(view *v, const char *format, ...);
/* The code of a terminal, or nothing. */
const char *view_paint(const view *v, const char *code);
void view_bar(view *v, const life *l);
/* Two lines: what is committed and what is in memory of rows, as they are called. */
void view_committed(view *v, const life *l, const char *rows);
void view_latency(view *v, const char *what, const latency *l);

#endif
