/* SPDX-License-Identifier: Apache-2.0 */
/* The flights of a CSV file in memory: everything that will ever be known of each. */
#ifndef DEMO_FLIGHT_FILE_H
#define DEMO_FLIGHT_FILE_H

#include <paimonlive/paimonlive.h>

#include "flight.h"

typedef struct flight_file {
    flight *v; /* free it, also after a failure */
    int64_t n;
} flight_file;

/* Its columns are those of table flights, which must be in the warehouse. */
int flight_file_load(flight_file *to, pml_env *env, const char *warehouse, const char *csv, pml_error *err);

#endif
