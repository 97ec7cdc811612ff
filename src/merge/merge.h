/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted merge: one loser tree over run cursors that emits row references grouped by key, a merge function that decides which
 * reference gives each value, a gather that moves the chosen values. Reads, flushes and compactions are this one pipeline with other
 * sources and sinks.
 *
 *   run -> batches, sorted by (key, sequence fields, sequence number, retract before add); files of a section and memory alike
 *   merge -> per key its rows, oldest first -> merge function (merge/function.h) -> per output column a list of references
 *   gather -> one batch of the wanted columns
 *
 * Order (D 7): keys as Java compares them; in sequence fields null is lowest, also when they are descending; then _SEQUENCE_NUMBER; then
 * retract before add; what still ties follows the order in which the runs were given, the first being the oldest. The rows of one key of
 * a run may come in any order (they are sorted with those of the other runs), the keys of a run may not: that is checked.
 *
 * Memory: the batches in which the runs stand, one each; window_bytes of batches that runs have left, and beyond that those in which the
 * rows of one key lie; 16 bytes for each of 512 rows of a run, 8 for each row of an output batch (per column, where columns are picked by
 * themselves), and 48 for each row of one key, unless the function is LAST or FIRST.
 */
#ifndef PML_MERGE_MERGE_H
#define PML_MERGE_MERGE_H

#include "columnar/batch.h"

struct pml_merge_function;

enum { PML_ROW_INSERT = 0, PML_ROW_UPDATE_BEFORE = 1, PML_ROW_UPDATE_AFTER = 2, PML_ROW_DELETE = 3 };
static inline bool pml_row_kind__is_retract(int8_t kind)
{
    return kind == PML_ROW_UPDATE_BEFORE || kind == PML_ROW_DELETE;
}

/* The columns of every batch of every run. Positions index fields. */
typedef struct pml_merge_layout {
    const pml_field *fields;
    size_t n_fields;
    const int32_t *keys; /* trimmed primary key, in its order; never null in the data (checked) */
    size_t n_keys;
    const int32_t *sequence; /* user sequence fields; n 0: none */
    size_t n_sequence;
    bool sequence_descending;
    int32_t sequence_number; /* BIGINT NOT NULL */
    int32_t row_kind;        /* TINYINT NOT NULL, PML_ROW_* (checked) */
} pml_merge_layout;

/* A sorted run. next: out->release NULL at the end; batches have layout's columns. drop runs once. */
typedef struct pml_run {
    int (*next)(void *ctx, struct ArrowArray *out, pml_error *err);
    void (*drop)(void *ctx);
    void *ctx;
    const char *name; /* for messages: file or memory; borrowed until drop */
    int32_t level;    /* -1: memory */
} pml_run;

typedef struct pml_merge_request {
    const pml_merge_layout *layout; /* borrowed while the merge lives, with what it points at */
    const struct pml_merge_function *function; /* borrowed too */
    const int32_t *columns; /* of layout->fields, in output order; may name system columns */
    size_t n_columns;
    bool keep_retracts; /* false: results of kind -U and -D are left out */
    /* Lookup-style tables (D 10.2), not those of first-row: of a key's rows with level >= 1 only the one of the lowest level counts, with
       all of level <= 0. A key has one row only if it has one before this rule. */
    bool lookup;
    /* Of rows of a key that one run has several of, each round of the merge takes one of each run, as Java's does, and gives a row for each
       round. Else they all meet. ORC files have such rows where CHAR keys were written with blanks of another number. */
    bool one_of_run;
    int64_t batch_rows; /* rows of an output batch, at most; more than 1048576 are taken for that many */
    /* Batches of the runs are held until what was picked of them is gathered; past this an output batch ends early. 0: a default. */
    uint64_t window_bytes;
} pml_merge_request;

typedef struct pml_merge pml_merge;
/* Moves the runs (also on failure: each is dropped exactly once). n may be 0, and at most 65534 (PML_E_LIMIT). Nothing is read yet.
   PML_E_UNSUPPORTED: a key or sequence field of a type without order. */
int pml_merge__open(pml_merge **out, pml_env *env, const pml_merge_request *request, const pml_run *runs, size_t n, pml_error *err);
/* The next batch of the wanted columns, at least one row; out->release NULL at the end. PML_E_CORRUPT naming the run: its keys go
   backwards, a key, sequence number or kind is null, the kind is none. A batch ends early where its texts would be more than 2 GiB.
   What runs and functions fail with is passed on. After a failure it can only be freed. */
int pml_merge__next(pml_merge *m, struct ArrowArray *out, pml_error *err);
void pml_merge__free(pml_merge *m);

#endif
