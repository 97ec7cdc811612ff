/* SPDX-License-Identifier: Apache-2.0 */
#include "report_source.h"

#include <stdlib.h>

#include "error.h"
#include "report_batch.h"
#include "tables.h"

enum { WATCHED_EVERY = 997, WATCHED_FIRST = 10 };

bool report_source_watched(int64_t row)
{
    return row % WATCHED_EVERY == WATCHED_FIRST;
}

int report_source_open(report_source *s, pml_table *table, const char *warehouse, const char *csv, int64_t batch_rows,
                       pml_error *err)
{
    *s = (report_source){.batch_rows = batch_rows};
    int rc = table_write_schema(&s->write_schema, table, err);
    if (rc == PML_OK)
        rc = replay_load(&s->replay, table, err);
    if (rc == PML_OK)
        rc = timetable_load(&s->timetable, pml_table_env(table), warehouse, csv, err);
    if (rc != PML_OK)
        return rc;
    s->known = calloc((size_t)s->timetable.file.n + 1, sizeof *s->known);
    s->rows = calloc((size_t)batch_rows, sizeof *s->rows);
    s->offsets = calloc((size_t)batch_rows, sizeof *s->offsets);
    s->keep = calloc((size_t)batch_rows, sizeof *s->keep);
    return s->known == NULL || s->rows == NULL || s->offsets == NULL || s->keep == NULL ? error_no_memory(err) : PML_OK;
}

void report_source_close(report_source *s)
{
    free(s->known);
    free(s->rows);
    free(s->offsets);
    free(s->keep);
    timetable_free(&s->timetable);
    replay_free(&s->replay);
    if (s->write_schema.release != NULL)
        s->write_schema.release(&s->write_schema);
    *s = (report_source){0};
}

/* The next reports into rows and offsets; returns how many. */
static int64_t read_reports(report_source *s)
{
    int64_t n = 0;
    while (n < s->batch_rows && s->at < s->timetable.n_reports) {
        report r = s->timetable.reports[s->at];
        s->rows[n] = timetable_report(&s->timetable, r);
        s->offsets[n++] = s->at++;
        s->known[r.flight] |= (uint8_t)(1u << r.kind);
        if (report_source_watched(r.flight))
            break;
    }
    return n;
}

/* Takes out of *n rows those that are committed. */
static int leave_out_committed(report_source *s, int64_t *n, pml_error *err)
{
    struct ArrowArray batch;
    int64_t kept = 0;
    int rc = report_batch_new(&batch, s->rows, s->offsets, *n, err);
    if (rc != PML_OK)
        return rc;
    struct ArrowArray rows = batch; /* the table's columns, which come behind the offset */
    rows.children++;
    rows.n_children--;
    rc = replay_mark(s->keep, &s->replay, &rows, s->offsets, err);
    batch.release(&batch);
    for (int64_t i = 0; rc == PML_OK && i < *n; i++)
        if (s->keep[i]) {
            s->rows[kept] = s->rows[i];
            s->offsets[kept++] = s->offsets[i];
        }
    s->skipped += *n - kept;
    *n = kept;
    return rc;
}

int report_source_next(struct ArrowArray *out, report *last, report_source *s, pml_error *err)
{
    int64_t n = 0;
    *out = (struct ArrowArray){0};
    while (n == 0) {
        bool replayed = s->at < s->replay.end;
        n = read_reports(s);
        if (n == 0)
            return PML_OK;
        int rc = replayed ? leave_out_committed(s, &n, err) : PML_OK;
        if (rc != PML_OK)
            return rc;
    }
    *last = s->timetable.reports[s->offsets[n - 1]];
    return report_batch_new(out, s->rows, s->offsets, n, err);
}
