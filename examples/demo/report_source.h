/* SPDX-License-Identifier: Apache-2.0 */
/* The source of table flight_status: the reports of a timetable that are not committed. The offset of a report is its place. */
#ifndef DEMO_REPORT_SOURCE_H
#define DEMO_REPORT_SOURCE_H

#include "replay.h"
#include "timetable.h"

typedef struct report_source {
    timetable timetable;
    replay replay;
    struct ArrowSchema write_schema;
    int64_t batch_rows, at; /* the next report */
    int64_t skipped;        /* reports left out, because they are committed */
    uint8_t *known;         /* by flight: bits of the kinds of all reports so far, left out or given out */
    flight *rows;           /* of one batch */
    int64_t *offsets;
    bool *keep;
} report_source;

int report_source_open(report_source *s, pml_table *table, const char *warehouse, const char *csv, int64_t batch_rows,
                       pml_error *err);
/* Up to batch_rows reports; ends behind a report of a watched flight. *last is the last report. out->release is NULL at the end. */
int report_source_next(struct ArrowArray *out, report *last, report_source *s, pml_error *err);
bool report_source_watched(int64_t row); /* of the file */
void report_source_close(report_source *s);

#endif
