/* SPDX-License-Identifier: Apache-2.0 */
/* Batch writer and its messages from inside. */
#ifndef PML_TABLE_WRITER_H
#define PML_TABLE_WRITER_H

#include <paimonlive/write.h>

#include "table/bucket_assigner.h"
#include "table/restore.h"
#include "table/route.h"
#include "table/row_kinds.h"
#include "table/write_buffer.h"

/* One partition-bucket of a writer. */
typedef struct pml_writer_pb {
    pml_new_files *files;
    pml_rolling *rolling;
    pml_write_buffer buffer; /* tables with a primary key */
} pml_writer_pb;

struct pml_writer {
    pml_env *env;
    pml_table *table;
    pml_arena arena; /* of shape and rows */
    pml_bucket_assigner *assigner; /* dynamic buckets; NULL: the options say the bucket */
    pml_restore restore;
    pml_file_shape shape;
    pml_keyed_rows rows; /* tables with a primary key, as the function: */
    pml_merge_function function; /* asked about kinds of rows only */
    pml_row_kinds kinds;
    pml_field *input; /* the table's columns, and _VALUE_KIND behind them */
    pml_map pbs;      /* partition bytes + bucket -> pml_writer_pb */
    size_t n_open, cursor; /* open files; where to look for the next one to end early */
    uint64_t buffered;     /* bytes in write buffers */
    bool failed;           /* an I/O error left a file in an unknown state: only close is possible */
};

struct pml_messages {
    pml_env *env;
    pml_table *table;
    size_t n;
    pml_new_files **v; /* owned, one per partition-bucket that got files */
};

/* Refuses by name what this version cannot write rightly; checks a batch's schema. Shared with the real-time writer. */
int pml_writer__check_table(pml_table *t, pml_error *err);

/* ---- partition-buckets ---- */
/* That of a slice, made when it is new. */
int pml_writer_pb__of(pml_writer_pb **out, pml_writer *w, const pml_route_slice *s, pml_error *err);
/* Rows in the table's columns, moved on any return; kinds: one for each, NULL: all +I. Other partition-buckets may have to write files
   so that memory and open files stay within bounds. */
int pml_writer_pb__write(pml_writer *w, pml_writer_pb *pb, struct ArrowArray *rows, const int8_t *kinds, pml_error *err);
/* Everything it has lies in finished files then. */
int pml_writer_pb__finish(pml_writer *w, pml_writer_pb *pb, pml_error *err);
void pml_writer_pb__free(pml_env *env, void *pb);

#endif
