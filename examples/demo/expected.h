/* SPDX-License-Identifier: Apache-2.0 */
/* What rows a table must have: one hash a row, by its row number, so that rows are compared wherever they come. */
#ifndef DEMO_EXPECTED_H
#define DEMO_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct expected {
    uint64_t *hashes; /* of the row as CSV, without its row number, null as nothing */
    bool *seen;
    int64_t n;
} expected;

uint64_t expected_hash(const char *text, size_t len);
/* Rows of the file (lines without the header); -1 when it cannot be read, after a message. */
int64_t expected_file_rows(const char *csv);

/* Each prints a message and returns false when it fails. expected_free in any case. */
/* Table flights: the lines of the file. */
bool expected_flights(expected *e, const char *warehouse, const char *csv);
/* Table flight_status: what the model knows of each flight after all of its reports. */
bool expected_flight_status(expected *e, const char *warehouse, const char *csv);
void expected_free(expected *e);

#endif
