/* SPDX-License-Identifier: Apache-2.0 */
#include "util/zone.h"

#include <time.h>

static const int64_t year_1900 = INT64_C(-2208988800), january_2037 = INT64_C(2114380800), july_2037 = INT64_C(2130019200);

static int64_t system_offset(int64_t utc_seconds)
{
    time_t t = (time_t)utc_seconds;
    struct tm tm = {0};
    return localtime_r(&t, &tm) == NULL ? 0 : (int64_t)tm.tm_gmtoff;
}

int64_t pml_zone__offset(int64_t utc_seconds)
{
    if (utc_seconds >= year_1900)
        return system_offset(utc_seconds);
    /* Standard time is the smaller of the two: clocks go forward in summer. */
    int64_t winter = system_offset(january_2037), summer = system_offset(july_2037);
    return winter < summer ? winter : summer;
}
