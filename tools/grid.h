/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns on standard output. Widths come from the first rows, which are kept until there are enough of them; later
 * rows that are wider simply stick out. On a terminal nothing is wider than the screen: long cells are cut with an ellipsis.
 */
#ifndef PML_TOOLS_GRID_H
#define PML_TOOLS_GRID_H

#include <stdbool.h>
#include <stddef.h>

typedef struct grid grid;

grid *grid_new(size_t n_columns);
void grid_set_column(grid *g, size_t i, const char *name, bool right);
/* Cells come row by row. Control characters are shown as escapes. */
void grid_cell(grid *g, const char *text, size_t len);
/* Prints what there is, whole rows, before there are enough. */
void grid_flush(grid *g);
/* Prints what is left and frees. */
void grid_end(grid *g);

/* Columns of a terminal that the text takes: combining marks none, CJK and emoji two, roughly. */
size_t text_width(const char *text, size_t len);

#endif
