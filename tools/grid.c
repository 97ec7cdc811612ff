/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app.h"

enum {
    GRID_LOOKAHEAD_ROWS = 1000,
    GRID_CELL_MAX = 64 * 1024, /* bytes shown of one cell; nobody reads more in a table */
    GRID_COLUMN_MIN = 6        /* a squeezed column keeps this width */
};

typedef struct grid_text {
    char *text;
    size_t len;
} grid_text;

struct grid {
    size_t n;
    grid_text *names;
    bool *right;
    size_t *width;
    grid_text *cells; /* kept rows, then the row under way */
    size_t n_cells, cap;
    bool started;  /* header printed, widths fixed */
    size_t screen; /* 0: no terminal */
};

/* One code point; *len bytes taken. 0xfffd for bytes that are no UTF-8. */
static uint32_t code_point(const uint8_t *p, size_t n, size_t *len)
{
    size_t want = p[0] < 0x80 ? 1 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    *len = 1;
    if (want == 1)
        return p[0];
    if (p[0] < 0xc2 || p[0] >= 0xf5 || want > n)
        return 0xfffd;
    uint32_t c = p[0] & (0xffu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0xfffd;
        c = c << 6 | (p[i] & 0x3fu);
    }
    *len = want;
    return c;
}

static size_t code_point_width(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        uint8_t width;
    } ranges[] = {{0x300, 0x36f, 0},     {0x200b, 0x200f, 0},  {0x20d0, 0x20ff, 0}, {0xfe00, 0xfe0f, 0},
                  {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},  {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2},
                  {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},  {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2},
                  {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

size_t text_width(const char *text, size_t len)
{
    size_t width = 0, step;
    for (size_t i = 0; i < len; i += step)
        width += code_point_width(code_point((const uint8_t *)text + i, len - i, &step));
    return width;
}

/* A copy in which nothing can move the cursor or colour the screen. */
static grid_text text_visible(const char *text, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t take = len > GRID_CELL_MAX ? GRID_CELL_MAX : len, n = 0, step;
    char *out = app_alloc(take * 4 + 1);
    for (size_t i = 0; i < take; i += step) {
        uint32_t c = code_point((const uint8_t *)text + i, take - i, &step);
        if (c == '\n' || c == '\t' || c == '\r') {
            out[n++] = '\\';
            out[n++] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
        } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c == 0xfffd && step == 1)) {
            uint8_t byte = step == 1 ? (uint8_t)text[i] : (uint8_t)c;
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[byte >> 4];
            out[n++] = hex[byte & 15];
        } else {
            memcpy(out + n, text + i, step);
            n += step;
        }
    }
    out[n] = '\0';
    return (grid_text){out, n};
}

static size_t screen_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

grid *grid_new(size_t n_columns)
{
    grid *g = app_alloc(sizeof *g);
    memset(g, 0, sizeof *g);
    g->n = n_columns;
    g->names = app_alloc(n_columns * sizeof *g->names);
    g->right = app_alloc(n_columns * sizeof *g->right);
    g->width = app_alloc(n_columns * sizeof *g->width);
    g->screen = screen_width();
    for (size_t i = 0; i < n_columns; i++) {
        g->names[i].text = NULL;
        grid_set_column(g, i, "", false);
    }
    return g;
}

void grid_set_column(grid *g, size_t i, const char *name, bool right)
{
    free(g->names[i].text);
    g->names[i] = text_visible(name, strlen(name));
    g->right[i] = right;
    g->width[i] = text_width(g->names[i].text, g->names[i].len);
}

static void put_blanks(size_t n)
{
    static const char blanks[] = "                                ";
    while (n > 0) {
        size_t step = n < sizeof blanks - 1 ? n : sizeof blanks - 1;
        app_write(blanks, step);
        n -= step;
    }
}

static void put_cell(const grid *g, size_t column, const grid_text *t)
{
    size_t width = text_width(t->text, t->len), room = g->width[column], len = t->len;
    bool cut = g->screen != 0 && width > room;
    if (cut) { /* as many code points as fit before the ellipsis */
        size_t step, w = 0, at = 0;
        while (at < t->len) {
            size_t cw = code_point_width(code_point((const uint8_t *)t->text + at, t->len - at, &step));
            if (w + cw > room - 1)
                break;
            w += cw;
            at += step;
        }
        len = at;
        width = w + 1;
    }
    size_t pad = room > width ? room - width : 0;
    if (column > 0)
        put_blanks(2);
    if (g->right[column])
        put_blanks(pad);
    app_write(t->text, len);
    if (cut)
        app_puts("\u2026");
    if (!g->right[column] && column + 1 < g->n)
        put_blanks(pad);
    if (column + 1 == g->n)
        app_puts("\n");
}

/* Takes from the widest column until the rows, `total` wide, fit the screen. Returns how wide they are then. */
static size_t squeeze(grid *g, size_t total, bool keep_names)
{
    while (total > g->screen) {
        size_t widest = g->n;
        for (size_t i = 0; i < g->n; i++) {
            size_t least = keep_names ? text_width(g->names[i].text, g->names[i].len) : 0;
            if (least < GRID_COLUMN_MIN)
                least = GRID_COLUMN_MIN;
            if (g->width[i] > least && (widest == g->n || g->width[i] > g->width[widest]))
                widest = i;
        }
        if (widest == g->n)
            break; /* too many columns: in the end the terminal wraps */
        g->width[widest]--;
        total--;
    }
    return total;
}

static void start(grid *g)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        size_t w = text_width(g->cells[i].text, g->cells[i].len);
        if (w > g->width[i % g->n])
            g->width[i % g->n] = w;
    }
    if (g->screen != 0) {
        size_t total = 2 * (g->n - 1);
        for (size_t i = 0; i < g->n; i++)
            total += g->width[i];
        (void)squeeze(g, squeeze(g, total, true), false);
    }
    for (size_t i = 0; i < g->n; i++)
        put_cell(g, i, &g->names[i]);
    for (size_t i = 0; i < g->n; i++) {
        if (i > 0)
            put_blanks(2);
        for (size_t k = 0; k < g->width[i]; k++)
            app_puts("-");
    }
    app_puts("\n");
    g->started = true;
}

static void flush_cells(grid *g)
{
    for (size_t i = 0; i < g->n_cells; i++) {
        put_cell(g, i % g->n, &g->cells[i]);
        free(g->cells[i].text);
    }
    g->n_cells = 0;
}

void grid_cell(grid *g, const char *text, size_t len)
{
    if (g->n_cells == g->cap) {
        g->cap = g->cap == 0 ? 64 : g->cap * 2;
        g->cells = app_realloc(g->cells, g->cap * sizeof *g->cells);
    }
    g->cells[g->n_cells++] = text_visible(text, len);
    if (g->n_cells % g->n != 0)
        return;
    if (!g->started && g->n_cells / g->n < GRID_LOOKAHEAD_ROWS)
        return;
    if (!g->started)
        start(g);
    flush_cells(g);
}

void grid_flush(grid *g)
{
    if (!g->started && g->n > 0)
        start(g);
    flush_cells(g);
}

void grid_end(grid *g)
{
    grid_flush(g);
    for (size_t i = 0; i < g->n; i++)
        free(g->names[i].text);
    free(g->names);
    free(g->right);
    free(g->width);
    free(g->cells);
    free(g);
}
