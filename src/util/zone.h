/* SPDX-License-Identifier: Apache-2.0 */
/* The time zone of the process (Java: TimeZone.getDefault): the environment's TZ, else the machine's. */
#ifndef PML_UTIL_ZONE_H
#define PML_UTIL_ZONE_H

#include <stdint.h>

/* Seconds that a clock on the wall is ahead of UTC at an instant, as java.util.TimeZone.getOffset has it: before 1900 the standard
   time of today, which is not what the system says (local mean time). 0 where the system has no answer. */
int64_t pml_zone__offset(int64_t utc_seconds);
/* The wall clock at an instant, and an instant at which it shows that time, as milliseconds since 1970-01-01T00:00 of each. Of two
   such instants (clocks were set back) the earlier one; a time that was left out counts on from before the gap (Java:
   LocalDateTime.atZone). */
int64_t pml_zone__local_of_instant(int64_t ms);
int64_t pml_zone__instant_of_local(int64_t ms);

#endif
