/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A year of flights as reports, in the order in which they come in. A report says a part of what is known of a flight:
 *
 *   scheduled   where from, where to, when: a month ahead
 *   estimated   of some flights, before they depart: that they will be on time. Half of these reports come in a week late
 *   departed    when, how late, which aircraft. Of every seventh flight it comes in after the report of its arrival
 *   arrived     when, how late, how long it flew
 *
 * Flights that were cancelled never depart. The order is the same at every reading of the file, so a report's place in it is its
 * offset, and a reading from the start can go on behind what is committed.
 *
 * timetable_model says what must be known of a flight after some reports, whatever their order was.
 */
#ifndef DEMO_TIMETABLE_H
#define DEMO_TIMETABLE_H

#include <stdbool.h>

#include "flight_file.h"

typedef enum report_kind {
    REPORT_SCHEDULED,
    REPORT_ESTIMATED,
    REPORT_DEPARTED,
    REPORT_ARRIVED,
    REPORT_KINDS
} report_kind;
extern const char *const report_names[REPORT_KINDS];

typedef struct report {
    uint32_t flight; /* its row in the file */
    report_kind kind;
} report;

typedef struct timetable {
    flight_file file;
    report *reports;
    int64_t n_reports;
} timetable;

/* The table flights must be in the warehouse. Free it also after a failure. */
int timetable_load(timetable *t, pml_env *env, const char *warehouse, const char *csv, pml_error *err);
void timetable_free(timetable *t);
/* What a report says: the flight's key and one part. */
flight timetable_report(const timetable *t, report r);
/* What is known of the flight in a row of the file after reports of the kinds whose bits are set. */
flight timetable_model(const timetable *t, int64_t row, unsigned kinds);
/* The bits of all reports of a flight. */
unsigned timetable_kinds(const timetable *t, int64_t row);
/* Its departure is reported after its arrival, and then an estimate comes in. */
bool timetable_in_disorder(const timetable *t, int64_t row);

#endif
