/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes that write live tell others how they are: each keeps one file with the JSON form of its pml_rt_status in a folder of
 * the user's, named <hash of the table's path>-<process>.json and replaced as a whole. The folder is $PML_RUNTIME_DIR, else paimonlive
 * in $XDG_RUNTIME_DIR, else paimonlive-<user id> in the folder for temporary files. A file whose process is gone is nobody's.
 */
#ifndef PML_TOOLS_STATUS_FILE_H
#define PML_TOOLS_STATUS_FILE_H

#include "app.h"

typedef struct status_file {
    char path[1280];   /* "": nothing is written */
    int64_t next_ns;   /* of the monotonic clock: when it is due again */
} status_file;

/* Which file this process writes. A status is a courtesy: what fails is said once and does not stop the work. */
void status_file_open(status_file *f, const pml_table *table);
/* Writes when a second has passed since the last time. */
void status_file_tick(status_file *f, pml_rt_context *context);
void status_file_remove(status_file *f);

/* All statuses of living processes, of one table or (path NULL) of all; malloc'ed. Files of dead ones are removed. */
pml_rt_status *status_files_read(size_t *n, const char *path);

#endif
