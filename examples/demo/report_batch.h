/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of table flight_status as an Arrow batch, in the columns of table_write_schema. */
#ifndef DEMO_REPORT_BATCH_H
#define DEMO_REPORT_BATCH_H

#include <paimonlive/paimonlive.h>

#include "flight.h"

/* n rows with their offsets. Returns owned. */
int report_batch_new(struct ArrowArray *out, const flight *rows, const int64_t *offsets, int64_t n, pml_error *err);

#endif
