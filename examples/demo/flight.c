/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <stdbool.h>
#include <string.h>

#define MEMBER(name, type, part)                  \
    {                                             \
#name, type, part, offsetof(flight, name) \
    }

const flight_column flight_columns[FLIGHT_COLUMNS] = {
    MEMBER(month, TYPE_INT, PART_KEY),
    MEMBER(day, TYPE_INT, PART_KEY),
    MEMBER(carrier, TYPE_TEXT, PART_KEY),
    MEMBER(flight, TYPE_INT, PART_KEY),
    MEMBER(origin, TYPE_TEXT, PART_KEY),
    MEMBER(dest, TYPE_TEXT, PART_SCHEDULE),
    MEMBER(sched_dep_time, TYPE_INT, PART_SCHEDULE),
    MEMBER(sched_arr_time, TYPE_INT, PART_SCHEDULE),
    MEMBER(distance, TYPE_INT, PART_SCHEDULE),
    MEMBER(dep_as_of, TYPE_TIME, PART_DEPARTURE),
    MEMBER(dep_time, TYPE_INT, PART_DEPARTURE),
    MEMBER(dep_delay, TYPE_INT, PART_DEPARTURE),
    MEMBER(tailnum, TYPE_TEXT, PART_DEPARTURE),
    MEMBER(arr_as_of, TYPE_TIME, PART_ARRIVAL),
    MEMBER(arr_time, TYPE_INT, PART_ARRIVAL),
    MEMBER(arr_delay, TYPE_INT, PART_ARRIVAL),
    MEMBER(air_time, TYPE_INT, PART_ARRIVAL),
    MEMBER(row_number, TYPE_LONG, PART_SCHEDULE),
};

flight flight_unknown(void)
{
    return (flight){FLIGHT_NO_TIME,
                    FLIGHT_NO_TIME,
                    FLIGHT_NO_TIME,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    FLIGHT_NO_INT,
                    "",
                    "",
                    "",
                    ""};
}

static size_t type_size(flight_type type)
{
    return type == TYPE_INT ? sizeof(int32_t) : 8;
}

void flight_set_part(flight *to, const flight *from, flight_part part)
{
    for (size_t c = 0; c < FLIGHT_COLUMNS; c++)
        if (flight_columns[c].part == part)
            memcpy((char *)to + flight_columns[c].at, (const char *)from + flight_columns[c].at,
                   type_size(flight_columns[c].type));
}

/* ---- as text ---- */

typedef struct line {
    char *text;
    size_t len;
} line;

static void put(line *l, const char *text)
{
    while (*text != '\0' && l->len + 1 < FLIGHT_TEXT_MAX)
        l->text[l->len++] = *text++;
}

/* With zeros in front up to so many digits. A million of these lines are printed: snprintf would take most of the time. */
static void put_number(line *l, int64_t number, int digits)
{
    char reversed[24], text[24];
    int n = 0, to = 0;
    for (uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number; rest > 0 || n < digits; rest /= 10)
        reversed[n++] = (char)('0' + rest % 10);
    if (number < 0)
        text[to++] = '-';
    while (n > 0)
        text[to++] = reversed[--n];
    text[to] = '\0';
    put(l, text);
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The calendar from 1970 on. */
static void put_time(line *l, int64_t ms)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t minutes = ms / 60000, days = minutes / (24 * 60), year = 1970;
    int month = 0;
    for (; days >= 365 + is_leap(year); year++)
        days -= 365 + is_leap(year);
    for (; days >= month_days[month] + (month == 1 && is_leap(year)); month++)
        days -= month_days[month] + (month == 1 && is_leap(year));
    const int64_t parts[] = {year, month + 1, days + 1, minutes / 60 % 24, minutes % 60};
    static const char *const behind[] = {"-", "-", "T", ":", ":00"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        put_number(l, parts[i], i == 0 ? 4 : 2);
        put(l, behind[i]);
    }
}

static void put_value(line *l, const void *member, flight_type type)
{
    int64_t number = 0;
    int32_t small = 0;
    if (type == TYPE_TEXT) {
        put(l, member);
        return;
    }
    if (type == TYPE_INT) {
        memcpy(&small, member, sizeof small);
        number = small == FLIGHT_NO_INT ? FLIGHT_NO_TIME : small;
    } else {
        memcpy(&number, member, sizeof number);
    }
    if (number == FLIGHT_NO_TIME)
        return;
    if (type == TYPE_TIME)
        put_time(l, number);
    else
        put_number(l, number, 1);
}

size_t flight_print(char out[FLIGHT_TEXT_MAX], const flight *f)
{
    line l = {out, 0};
    for (size_t c = 0; c < FLIGHT_COLUMNS; c++) {
        if (c > 0)
            put(&l, ",");
        put_value(&l, (const char *)f + flight_columns[c].at, flight_columns[c].type);
    }
    out[l.len] = '\0';
    return l.len;
}
