/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of table flight_status: the life of every flight as upserts, report by report. Of some flights, the watched ones, the
 * row is looked up by its key right after each write call with a report of it, and must be, column by column, what the model says.
 */
#ifndef DEMO_UPSERT_H
#define DEMO_UPSERT_H

#include "live.h"

extern const live_job job_upsert;

#endif
