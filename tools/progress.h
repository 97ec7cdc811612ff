/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal's stderr that says how far a long command is. Silent elsewhere. */
#ifndef PML_TOOLS_PROGRESS_H
#define PML_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool on;
    int64_t rows, done_bytes, total_bytes; /* total -1: unknown */
    int64_t drawn_ns;
} progress;

void progress_start(progress *p);
/* For pml_rows_options: ctx is the progress. */
void progress_bytes(void *ctx, int64_t done, int64_t total);
void progress_rows(progress *p, int64_t rows);
/* Takes the line off the screen. */
void progress_end(progress *p);

#endif
