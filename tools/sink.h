/* SPDX-License-Identifier: Apache-2.0 */
/* Where ingested rows go: the plain writer, or the real-time writer. Both commit what came since the last commit. */
#ifndef PML_TOOLS_SINK_H
#define PML_TOOLS_SINK_H

#include "overwrite.h"
#include "status_file.h"

typedef struct sink {
    pml_table *table; /* borrowed */
    pml_commit *commit;
    int64_t identifier;  /* of the next commit */
    int64_t snapshot_id; /* of the last commit, -1: none yet */
    int64_t commits;
    pml_writer *writer;      /* plain */
    bool overwrite;          /* plain: the first commit replaces rows, */
    const pml_partition_spec *spec; /* of these partitions; NULL: as the table's options say */
    overwrite_removed replaced;     /* by it */
    pml_rt_context *context; /* real-time */
    pml_rt_writer *live;
    status_file status; /* what others see of it */
} sink;

/* user NULL: a fresh one. Identifiers go on behind the last one that this user committed. */
int sink_open(sink *s, struct app *app, pml_table *table, const char *user, bool live, pml_error *err);
/* The array is taken when it goes well. */
int sink_write(sink *s, struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err);
int sink_commit(sink *s, pml_error *err);
void sink_close(sink *s);

#endif
