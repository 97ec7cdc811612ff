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

enum { TOP_CARRIERS = 5, BAR_CELLS = 40, WIDTH_MIN = 80, HEIGHT_MIN = 14 /* for the block to stay in one piece */ };

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

void view_start(view *v, int64_t total)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    *v = (view){.total = total, .started_ns = live_now_ns()};
    v->terminal = isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && has_room();
    v->colour = v->terminal && (no_color == NULL || no_color[0] == '\0');
}

/* A line of the block; what stood there before goes. */
__attribute__((format(printf, 2, 3))) static void put_line(view *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)printf("\x1b[K\n");
    v->lines_drawn++;
}

static const char *paint(const view *v, const char *code)
{
    return v->colour ? code : "";
}

static void put_bar(view *v, int64_t committed, int64_t visible)
{
    char bar[BAR_CELLS + 1];
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i * v->total < committed * BAR_CELLS ? '#' : i * v->total < visible * BAR_CELLS ? '+' : '.';
    bar[BAR_CELLS] = '\0';
    put_line(v, "  [%s%s%s] %3d %%   # committed  + in memory", paint(v, "\x1b[36m"), bar, paint(v, "\x1b[0m"),
             v->total == 0 ? 100 : (int)(visible * 100 / v->total));
}

static int by_flights(const void *pa, const void *pb)
{
    const carrier *const *a = pa, *const *b = pb;
    long long na = atomic_load(&(*a)->flights), nb = atomic_load(&(*b)->flights);
    return (na < nb) - (na > nb);
}

static void put_carriers(view *v, const life *l)
{
    const carrier *top[STATUS_CARRIERS];
    int n = atomic_load(&l->n_carriers);
    for (int i = 0; i < n; i++)
        top[i] = &l->carriers[i];
    qsort(top, (size_t)n, sizeof top[0], by_flights);
    put_line(v, "  carrier      flights   minutes late on arrival");
    for (int i = 0; i < TOP_CARRIERS; i++) {
        char number[VIEW_NUMBER];
        if (i >= n) {
            put_line(v, " ");
            continue;
        }
        long long delayed = atomic_load(&top[i]->delayed);
        put_line(v, "  %-7.7s %12s %10.1f", top[i]->name, view_number(number, atomic_load(&top[i]->flights)),
                 delayed == 0 ? 0.0 : (double)atomic_load(&top[i]->delay_minutes) / (double)delayed);
    }
}

static void put_freshness(view *v, const char *what, const latency *l)
{
    if (latency_count(l) == 0)
        put_line(v, "  %-26s -", what);
    else
        put_line(v, "  %-26s p50 %7.2f ms   p99 %7.2f ms", what, latency_percentile(l, 0.5),
                 latency_percentile(l, 0.99));
}

static int64_t rows_written(const life *l)
{
    return atomic_load(&l->recovered_rows) + atomic_load(&l->written);
}

static void draw_block(view *v, const life *l)
{
    char number[4][VIEW_NUMBER];
    if (v->lines_drawn > 0)
        (void)printf("\x1b[%dA", v->lines_drawn);
    v->lines_drawn = 0;
    put_bar(v, atomic_load(&l->committed), rows_written(l));
    put_line(v, "  %svisible%s   %10s rows, after %s queries", paint(v, "\x1b[1m"), paint(v, "\x1b[0m"),
             view_number(number[0], atomic_load(&l->visible)), view_number(number[1], atomic_load(&l->queries)));
    put_line(v, "  %scommitted%s %10s rows in %s snapshots: what every Paimon reader sees", paint(v, "\x1b[1m"),
             paint(v, "\x1b[0m"), view_number(number[0], atomic_load(&l->committed)),
             view_number(number[1], atomic_load(&l->snapshot_id)));
    put_line(v, "  %sin memory%s %10s rows, %.1f MB", paint(v, "\x1b[1m"), paint(v, "\x1b[0m"),
             view_number(number[0], atomic_load(&l->in_memory)), (double)atomic_load(&l->memory_bytes) / 1e6);
    put_freshness(v, "freshness, queries running", &l->busy);
    put_freshness(v, "freshness, no queries", &l->quiet);
    put_carriers(v, l);
    (void)fflush(stdout);
}

static void put_plain(view *v, const life *l, int64_t now)
{
    char number[3][VIEW_NUMBER];
    latency *all = calloc(1, sizeof *all);
    if (all == NULL)
        return;
    latency_merge(all, &l->busy);
    latency_merge(all, &l->quiet);
    (void)printf("%5.1f s  visible %s  committed %s  in memory %s  freshness p50 %.2f ms p99 %.2f ms  queries %lld\n",
                 (double)(now - v->started_ns) / 1e9, view_number(number[0], atomic_load(&l->visible)),
                 view_number(number[1], atomic_load(&l->committed)), view_number(number[2], atomic_load(&l->in_memory)),
                 latency_percentile(all, 0.5), latency_percentile(all, 0.99), (long long)atomic_load(&l->queries));
    (void)fflush(stdout);
    free(all);
}

void view_draw(view *v, const life *l)
{
    int64_t now = live_now_ns();
    if (v->terminal) {
        draw_block(v, l);
    } else if (now - v->last_line_ns >= 1000000000) {
        v->last_line_ns = now;
        put_plain(v, l, now);
    }
}

void view_end(view *v, const life *l)
{
    v->last_line_ns = 0;
    view_draw(v, l);
    v->lines_drawn = 0;
}
