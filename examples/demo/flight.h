/* SPDX-License-Identifier: Apache-2.0 */
/* A row of table flight_status as a struct: what is known of a flight. One list says which column is which member. */
#ifndef DEMO_FLIGHT_H
#define DEMO_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#define FLIGHT_NO_INT  INT32_MIN
#define FLIGHT_NO_TIME INT64_MIN

typedef struct flight {
    int64_t row_number;           /* in the file */
    int64_t dep_as_of, arr_as_of; /* ms since 1970 by the clock of the airport */
    int32_t month, day, flight, distance;
    int32_t sched_dep_time, dep_time, dep_delay; /* times as 1735, delays in minutes */
    int32_t sched_arr_time, arr_time, arr_delay, air_time;
    char carrier[8], origin[8], dest[8], tailnum[8]; /* empty: null */
} flight;

/* What a report tells together. */
typedef enum flight_part { PART_KEY, PART_SCHEDULE, PART_DEPARTURE, PART_ARRIVAL } flight_part;

typedef enum flight_type { TYPE_INT, TYPE_LONG, TYPE_TIME, TYPE_TEXT } flight_type;

enum { FLIGHT_COLUMNS = 18, FLIGHT_TEXT_MAX = 256 };
typedef struct flight_column {
    const char *name;
    flight_type type;
    flight_part part;
    size_t at; /* of the member */
} flight_column;

/* In the order of the table. */
extern const flight_column flight_columns[FLIGHT_COLUMNS];

/* A flight of which nothing is known. */
flight flight_unknown(void);
/* Copies the members of a part. */
void flight_set_part(flight *to, const flight *from, flight_part part);
/* The row as a line of CSV without its end, null as nothing. Returns its length. */
size_t flight_print(char out[FLIGHT_TEXT_MAX], const flight *f);

#endif
