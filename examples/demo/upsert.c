/* SPDX-License-Identifier: Apache-2.0 */
#include "upsert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "report_source.h"

typedef struct upsert {
    report_source source;
    pml_lookup *lookup;
    pml_rows_printer *printer;
    int64_t story_flight; /* the first watched one that has reports of all kinds */
} upsert;

/* ---- the lookup ---- */

static int lookup_open(upsert *u, live *l, pml_error *err)
{
    pml_scan *scan = NULL;
    struct ArrowSchema schema = {0};
    int rc = pml_scan_new(&scan, l->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, l->context, err);
    if (rc == PML_OK)
        rc = pml_lookup_open(&u->lookup, scan, NULL, err);
    if (rc == PML_OK)
        rc = pml_lookup_schema(&schema, u->lookup, err);
    if (rc == PML_OK)
        rc = pml_rows_printer_new(&u->printer, l->env, &schema, PML_ROWS_CSV, err);
    if (schema.release != NULL)
        schema.release(&schema);
    pml_scan_free(scan);
    return rc;
}

/* The row of a flight, by its key as texts. */
static int lookup_row(struct ArrowArray *out, upsert *u, const flight *f, pml_error *err)
{
    char month[16], day[16], number[16];
    struct ArrowArray keys = {0};
    struct ArrowSchema schema = {0};
    const pml_literal key[] = {{month, (size_t)snprintf(month, sizeof month, "%" PRId32, f->month)},
                               {day, (size_t)snprintf(day, sizeof day, "%" PRId32, f->day)},
                               {number, (size_t)snprintf(number, sizeof number, "%" PRId32, f->flight)},
                               {f->carrier, strlen(f->carrier)},
                               {f->origin, strlen(f->origin)}};
    *out = (struct ArrowArray){0};
    int rc = pml_lookup_key_schema(&schema, u->lookup, err);
    if (rc == PML_OK)
        rc = pml_lookup_keys(&keys, u->lookup, key, sizeof key / sizeof key[0], err);
    if (rc == PML_OK)
        rc = pml_lookup_get(out, u->lookup, &keys, &schema, err);
    if (keys.release != NULL)
        keys.release(&keys);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

/* Every column must be what the model knows. */
static int check_row(upsert *u, const struct ArrowArray *row, const flight *want, report r, pml_error *err)
{
    char wanted[FLIGHT_TEXT_MAX];
    const uint8_t *there = row->buffers[0];
    pml_text text = {0};
    int rc = PML_OK;
    size_t len = flight_print(wanted, want);
    if (there == NULL || (there[row->offset / 8] >> (row->offset % 8) & 1) != 0)
        rc = pml_rows_print(&text, u->printer, row, 0, 1, err);
    bool equal = text.len == len + 1 && memcmp(text.ptr, wanted, len) == 0 && text.ptr[len] == '\n';
    if (rc == PML_OK && !equal)
        rc = error_set(err, PML_E_INTERNAL,
                       "after its report \"%s\" was written, the lookup of a flight gave\n  %.*s\nwanted was\n  %s",
                       report_names[r.kind], text.len == 0 ? 7 : (int)text.len - 1,
                       text.len == 0 ? "no row\n" : text.ptr, wanted);
    pml_text_clear(&text);
    return rc;
}

/* ---- the story of one flight, for the report at the end ---- */

enum { CLOCK_TEXT = 32 };

/* As 09:05 (+4), or a dash. */
static void print_clock(char out[CLOCK_TEXT], int32_t clock, int32_t delay)
{
    int n = snprintf(out, CLOCK_TEXT, "%02d:%02d", clock / 100, clock % 100);
    if (clock == FLIGHT_NO_INT)
        (void)snprintf(out, CLOCK_TEXT, "-");
    else if (delay != FLIGHT_NO_INT)
        (void)snprintf(out + n, CLOCK_TEXT - (size_t)n, " (%+d)", delay);
}

static void tell_story(life *told, const flight *f, report r, int64_t took_ns, int64_t snapshot)
{
    int n = atomic_load(&told->n_story);
    char departure[CLOCK_TEXT], arrival[CLOCK_TEXT], where[24] = "none";
    if (n == STATUS_STORY)
        return;
    print_clock(departure, f->dep_time, f->dep_delay);
    print_clock(arrival, f->arr_time, f->arr_delay);
    if (snapshot > 0)
        (void)snprintf(where, sizeof where, "%" PRId64, snapshot);
    if (n == 0)
        (void)snprintf(told->story_flight, sizeof told->story_flight, "%s %d from %s to %s on %d/%d", f->carrier,
                       f->flight, f->origin, f->dest, f->month, f->day);
    (void)snprintf(told->story[n], sizeof told->story[n], "%-10s %8s   %-12s %-8s %-12s %6.2f ms", report_names[r.kind],
                   where, departure, f->tailnum, arrival, (double)took_ns / 1e6);
    atomic_store(&told->n_story, n + 1);
}

static int look(upsert *u, live *l, report r, int64_t start_ns, pml_error *err)
{
    struct ArrowArray row;
    const timetable *t = &u->source.timetable;
    int rc = lookup_row(&row, u, &t->file.v[r.flight], err);
    int64_t took = live_now_ns() - start_ns;
    if (rc != PML_OK)
        return rc;
    flight want = timetable_model(t, r.flight, u->source.known[r.flight]);
    rc = check_row(u, &row, &want, r, err);
    row.release(&row);
    if (rc != PML_OK)
        return rc;
    latency_add(&l->life->lookup, took);
    if (r.flight == u->story_flight)
        tell_story(l->life, &want, r, took, pml_lookup_snapshot_id(u->lookup));
    return PML_OK;
}

/* ---- the job ---- */

static int upsert_open(live *l, pml_error *err)
{
    upsert *u = l->source = calloc(1, sizeof *u);
    if (u == NULL)
        return error_no_memory(err);
    int rc =
        report_source_open(&u->source, l->table, l->options->warehouse, l->options->csv, l->options->batch_rows, err);
    if (rc == PML_OK)
        rc = lookup_open(u, l, err);
    if (rc != PML_OK)
        return rc;
    const timetable *t = &u->source.timetable;
    /* Not at the beginning: its reports shall come before and behind commits. */
    u->story_flight = t->file.n / 8;
    while (u->story_flight < t->file.n &&
           !(report_source_watched(u->story_flight) && timetable_in_disorder(t, u->story_flight)))
        u->story_flight++;
    atomic_store(&l->life->total, t->n_reports);
    atomic_store(&l->life->partition_buckets, replay_count(&u->source.replay));
    return rc;
}

static void upsert_close(live *l)
{
    upsert *u = l->source;
    if (u == NULL)
        return;
    pml_rows_printer_free(u->printer);
    pml_lookup_close(u->lookup);
    report_source_close(&u->source);
    free(u);
}

/* Reports that were left out are there: they count as recovered, and as committed, when the source comes by. */
static void tell_skipped(life *told, const report_source *s)
{
    int64_t more = s->skipped - atomic_load(&told->skipped);
    atomic_store(&told->skipped, s->skipped);
    (void)atomic_fetch_add(&told->recovered_rows, more);
    (void)atomic_fetch_add(&told->committed, more);
}

static int upsert_stream(live *l, pml_error *err)
{
    upsert *u = l->source;
    report_source *s = &u->source;
    struct ArrowArray batch;
    report last;
    int64_t begin = live_now_ns(), rows = 0, start_ns;
    while (!atomic_load(&l->stop)) {
        int rc = report_source_next(&batch, &last, s, err);
        tell_skipped(l->life, s);
        if (rc != PML_OK || batch.release == NULL)
            return rc;
        rows += batch.length;
        rc = live_write(&start_ns, l, &batch, &s->write_schema, err);
        if (rc == PML_OK && report_source_watched(last.flight))
            rc = look(u, l, last, start_ns, err);
        if (rc != PML_OK)
            return rc;
        live_pace(l, begin, rows);
    }
    return PML_OK;
}

const live_job job_upsert = {.table = &table_flight_status,
                             .open = upsert_open,
                             .stream = upsert_stream,
                             .close = upsert_close,
                             .readers = {NULL}};
