/* SPDX-License-Identifier: Apache-2.0 */
#include "util/zone.h"

#include <time.h>

enum { SECONDS_PER_DAY = 86400, MS_PER_SECOND = 1000 };

static const int64_t year_1900 = INT64_C(-2208988800), january_2037 = INT64_C(2114380800), july_2037 = INT64_C(2130019200);

static int64_t floor_seconds(int64_t ms)
{
    return ms / MS_PER_SECOND - (ms % MS_PER_SECOND < 0);
}

/* Seconds east of Greenwich; 0 for times that the calendar does not reach. */
static int64_t offset_at(int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm tm;
    return localtime_r(&t, &tm) == NULL ? 0 : (int64_t)tm.tm_gmtoff;
}

/* Values come from files: what passes 64 bits stays at their end. */
static int64_t shift(int64_t ms, int64_t seconds)
{
    int64_t out;
    if (__builtin_add_overflow(ms, seconds * MS_PER_SECOND, &out))
        return seconds < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

int64_t pml_zone__local_of_instant(int64_t ms)
{
    return shift(ms, offset_at(floor_seconds(ms)));
}

int64_t pml_zone__instant_of_local(int64_t ms)
{
    int64_t seconds = floor_seconds(ms);
    int64_t before = offset_at(seconds - SECONDS_PER_DAY), after = offset_at(seconds + SECONDS_PER_DAY);
    if (before == after || offset_at(seconds - before) == before || offset_at(seconds - after) != after)
        return shift(ms, -before);
    return shift(ms, -after);
}

int64_t pml_zone__offset(int64_t utc_seconds)
{
    if (utc_seconds >= year_1900)
        return offset_at(utc_seconds);
    /* Standard time is the smaller of the two: clocks go forward in summer. */
    int64_t winter = offset_at(january_2037), summer = offset_at(july_2037);
    return winter < summer ? winter : summer;
}
