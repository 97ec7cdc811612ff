/* SPDX-License-Identifier: Apache-2.0 */
#include "timetable.h"

#include <stdlib.h>

#include "error.h"

const char *const report_names[REPORT_KINDS] = {"scheduled", "estimated", "departed", "arrived"};

enum { HOUR_MS = 60 * 60 * 1000 };

/* ---- the order ---- */

/* A report comes in when the reading is so many rows behind the flight's own row. The file is ordered by departure, and has some
   thousand flights a day. */
enum {
    SCHEDULED = 0,
    ESTIMATED = 29900,
    DEPARTED = 30000,
    ARRIVED = 30200,
    DEPARTED_LATE = 32000,
    ESTIMATED_LATE = 38000
};

static int64_t lag_of(report_kind kind, int64_t row)
{
    switch (kind) {
    case REPORT_ESTIMATED: return row % 10 == 0 ? ESTIMATED_LATE : ESTIMATED;
    case REPORT_DEPARTED: return row % 7 == 3 ? DEPARTED_LATE : DEPARTED;
    case REPORT_ARRIVED: return ARRIVED;
    default: return SCHEDULED;
    }
}

unsigned timetable_kinds(const timetable *t, int64_t row)
{
    bool departs = t->file.v[row].dep_as_of != FLIGHT_NO_TIME;
    bool arrives = t->file.v[row].arr_as_of != FLIGHT_NO_TIME;
    return 1u << REPORT_SCHEDULED | (departs && row % 5 == 0 ? 1u << REPORT_ESTIMATED : 0) |
           (departs ? 1u << REPORT_DEPARTED : 0) | (arrives ? 1u << REPORT_ARRIVED : 0);
}

bool timetable_in_disorder(const timetable *t, int64_t row)
{
    return timetable_kinds(t, row) == (1u << REPORT_KINDS) - 1 && lag_of(REPORT_DEPARTED, row) == DEPARTED_LATE &&
           lag_of(REPORT_ESTIMATED, row) == ESTIMATED_LATE;
}

static void order_reports(timetable *t)
{
    static const struct {
        report_kind kind;
        int64_t lag;
    } coming_in[] = {{REPORT_SCHEDULED, SCHEDULED},    {REPORT_ESTIMATED, ESTIMATED},
                     {REPORT_DEPARTED, DEPARTED},      {REPORT_ARRIVED, ARRIVED},
                     {REPORT_DEPARTED, DEPARTED_LATE}, {REPORT_ESTIMATED, ESTIMATED_LATE}};
    for (int64_t now = 0; now < t->file.n + ESTIMATED_LATE; now++)
        for (size_t i = 0; i < sizeof coming_in / sizeof coming_in[0]; i++) {
            report_kind kind = coming_in[i].kind;
            int64_t of = now - coming_in[i].lag;
            if (of >= 0 && of < t->file.n && (timetable_kinds(t, of) >> kind & 1) != 0 &&
                lag_of(kind, of) == coming_in[i].lag)
                t->reports[t->n_reports++] = (report){(uint32_t)of, kind};
        }
}

int timetable_load(timetable *t, pml_env *env, const char *warehouse, const char *csv, pml_error *err)
{
    *t = (timetable){0};
    int rc = flight_file_load(&t->file, env, warehouse, csv, err);
    if (rc == PML_OK && t->file.n >= UINT32_MAX)
        rc = error_set(err, PML_E_LIMIT, "the file has more flights than the demo has room for");
    if (rc != PML_OK)
        return rc;
    t->reports = malloc(sizeof *t->reports * (size_t)(t->file.n * REPORT_KINDS + 1));
    if (t->reports == NULL)
        return error_no_memory(err);
    order_reports(t);
    return PML_OK;
}

void timetable_free(timetable *t)
{
    free(t->file.v);
    free(t->reports);
    *t = (timetable){0};
}

/* ---- what is said, and what is known then ---- */

/* On time, in whichever aircraft: said an hour before it departed. */
static flight estimate_of(const flight *f)
{
    flight e = *f;
    e.dep_as_of = f->dep_as_of - HOUR_MS;
    e.dep_time = f->sched_dep_time;
    e.dep_delay = 0;
    e.tailnum[0] = '\0';
    return e;
}

flight timetable_report(const timetable *t, report r)
{
    static const flight_part said[REPORT_KINDS] = {PART_SCHEDULE, PART_DEPARTURE, PART_DEPARTURE, PART_ARRIVAL};
    const flight *f = &t->file.v[r.flight];
    flight all = r.kind == REPORT_ESTIMATED ? estimate_of(f) : *f, row = flight_unknown();
    flight_set_part(&row, f, PART_KEY);
    flight_set_part(&row, &all, said[r.kind]);
    return row;
}

flight timetable_model(const timetable *t, int64_t row, unsigned kinds)
{
    const flight *f = &t->file.v[row];
    flight known = flight_unknown();
    flight_set_part(&known, f, PART_KEY);
    if ((kinds >> REPORT_SCHEDULED & 1) != 0)
        flight_set_part(&known, f, PART_SCHEDULE);
    if ((kinds >> REPORT_DEPARTED & 1) != 0) { /* an estimate is older than it, and says nothing any more */
        flight_set_part(&known, f, PART_DEPARTURE);
    } else if ((kinds >> REPORT_ESTIMATED & 1) != 0) {
        flight estimate = estimate_of(f);
        flight_set_part(&known, &estimate, PART_DEPARTURE);
    }
    if ((kinds >> REPORT_ARRIVED & 1) != 0)
        flight_set_part(&known, f, PART_ARRIVAL);
    return known;
}
