/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of table flights: reads the file and writes its rows. Beside it
 *
 *   query    counts flights and averages delays by carrier, over memory and files, again and again
 *   probe    measures freshness: from the start of a write call to the row in this thread's hands
 */
#ifndef DEMO_APPEND_H
#define DEMO_APPEND_H

#include "live.h"

extern const live_job job_append;

void *append_query_thread(void *arg);
void *append_probe_thread(void *arg);

#endif
