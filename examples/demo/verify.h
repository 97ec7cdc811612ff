/* SPDX-License-Identifier: Apache-2.0 */
/* Proof that the table holds the file's rows, each exactly once, every column equal. */
#ifndef DEMO_VERIFY_H
#define DEMO_VERIFY_H

#include <stdint.h>

/* Rows of the file (lines without the header); -1 when it cannot be read, after a message. */
int64_t verify_file_rows(const char *csv);
/* Compares the table's rows, printed as CSV, with the lines of the file. Exit code; prints what it found. */
int verify_run(const char *warehouse, const char *csv);

#endif
