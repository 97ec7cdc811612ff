/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "live.h"

enum { BAR_CELLS = 40, WIDTH_MIN = 80, HEIGHT_MIN = 14 /* for the block to stay in one piece */ };

const char *view_number(char out[VIEW_NUMBER], int64_t n)
{
    char digits[VIEW_NUMBER];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n), to = 0;
    for (int i = 0; i < len && to < VIEW_NUMBER - 2; i++) {
        out[to++] = digits[i];
        if ((len - i - 1) % 3 == 0 && i + 1 < len && digits[i] != '-')
            out[to++] = ',';
    }
    out[to] = '\0';
    return out;
}

static bool has_room(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return true; /* not known */
    return size.ws_col >= WIDTH_MIN && size.ws_row >= HEIGHT_MIN;
}

void view_start(view *v, const view_form *form)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    *v = (view){.form = form, .started_ns = live_now_ns()};
    v->terminal = isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && has_room();
    v->colour = v->terminal && (no_color == NULL || no_color[0] == '\0');
}

void view_line(view *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)printf("\x1b[K\n");
    v->lines_drawn++;
}

const char *view_paint(const view *v, const char *code)
{
    return v->colour ? code : "";
}

void view_bar(view *v, const life *l)
{
    int64_t committed = atomic_load(&l->committed), visible = life_rows(l), total = atomic_load(&l->total);
    char bar[BAR_CELLS + 1];
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i * total < committed * BAR_CELLS ? '#' : i * total < visible * BAR_CELLS ? '+' : '.';
    bar[BAR_CELLS] = '\0';
    view_line(v, "  [%s%s%s] %3d %%   # committed  + in memory", view_paint(v, "\x1b[36m"), bar,
              view_paint(v, "\x1b[0m"), total == 0 ? 0 : (int)(visible * 100 / total));
}

void view_latency(view *v, const char *what, const latency *l)
{
    if (latency_count(l) == 0)
        view_line(v, "  %-26s -", what);
    else
        view_line(v, "  %-26s p50 %7.2f ms   p99 %7.2f ms", what, latency_percentile(l, 0.5),
                  latency_percentile(l, 0.99));
}

void view_committed(view *v, const life *l, const char *rows)
{
    char number[2][VIEW_NUMBER];
    view_line(v, "  %scommitted%s %10s %s in %s snapshots: what every Paimon reader sees", view_paint(v, "\x1b[1m"),
              view_paint(v, "\x1b[0m"), view_number(number[0], atomic_load(&l->committed)), rows,
              view_number(number[1], atomic_load(&l->snapshot_id)));
    view_line(v, "  %sin memory%s %10s %s, %.1f MB", view_paint(v, "\x1b[1m"), view_paint(v, "\x1b[0m"),
              view_number(number[0], atomic_load(&l->in_memory)), rows, (double)atomic_load(&l->memory_bytes) / 1e6);
}

void view_draw(view *v, const life *l)
{
    int64_t now = live_now_ns();
    if (v->terminal) {
        if (v->lines_drawn > 0)
            (void)printf("\x1b[%dA", v->lines_drawn);
        v->lines_drawn = 0;
        v->form->block(v, l);
    } else if (now - v->last_line_ns >= 1000000000) {
        v->last_line_ns = now;
        (void)printf("%5.1f s  ", (double)(now - v->started_ns) / 1e9);
        v->form->line(l);
    }
    (void)fflush(stdout);
}

void view_end(view *v, const life *l)
{
    v->last_line_ns = 0;
    view_draw(v, l);
    v->lines_drawn = 0;
}
