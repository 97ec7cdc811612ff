/* SPDX-License-Identifier: Apache-2.0 */
/* The time zone of the process: TZ, else what the system says. */
#ifndef PML_UTIL_ZONE_H
#define PML_UTIL_ZONE_H

#include <stdint.h>

/* Seconds that a clock on the wall is ahead of UTC at an instant, as java.util.TimeZone.getOffset has it: before 1900 the standard
   time of today, which is not what the system says (local mean time). 0 where the system has no answer. */
int64_t pml_zone__offset(int64_t utc_seconds);

#endif
