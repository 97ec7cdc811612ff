/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan needs of uncommitted rows. The real-time layer stands above the table layer, so it comes in through this table of
 * functions: plan.c calls it at the right moments and knows nothing of contexts, stores or offsets.
 *
 *   pin      before the snapshot is chosen (I8): takes an immutable view of every matching partition-bucket
 *   resolve  with the chosen snapshot: drops views that are dead or all on disk, checks that none leaves a gap
 *   part     what is left: one memory part per partition-bucket
 *   open     rows of one part, in the stored columns of the request; of a table with a primary key
 *   open_runs  its sorted runs, for a merge with those of files
 *
 * Of point lookups (lookup_base.h), which keep a snapshot and look at memory anew each time:
 *
 *   open_base  what memory knows of the snapshot: its progress
 *   pin_some   views of the partition-buckets in which keys may be; then base_is_old, after which a newer snapshot must be taken (I8)
 *   check      the views against the base, as resolve
 *   find       their rows of these keys; open_runs of a part that was searched gives no others
 */
#ifndef PML_TABLE_MEMORY_SOURCE_H
#define PML_TABLE_MEMORY_SOURCE_H

#include "merge/merge.h"
#include "table/table.h"

typedef struct pml_memory_part {
    pml_bytes partition; /* counted row bytes, borrowed from the pins */
    int32_t bucket, total_buckets;
    int64_t rows; /* visible ones */
} pml_memory_part;

typedef struct pml_memory_read {
    const pml_field *fields; /* wanted columns */
    size_t n_fields;
    const pml_pred *predicate; /* for pruning only */
    int64_t batch_rows;
} pml_memory_read;

/* Runs of one group, a segment of the writer, become one before they meet others: as they do when they are written to files. */
typedef struct pml_memory_run {
    pml_run run;
    int64_t group; /* grows with age */
} pml_memory_run;

/* How the snapshot of a plan was chosen. That of a tag need not be a snapshot of the table any more. */
typedef enum pml_snapshot_choice { PML_CHOSE_LATEST, PML_CHOSE_SNAPSHOT, PML_CHOSE_TAG } pml_snapshot_choice;

typedef struct pml_memory_base {
    pml_table *table;
    const pml_snapshot *snapshot; /* NULL: the table has none */
    pml_snapshot_choice choice;
    const pml_field *fields; /* what will be read */
    size_t n_fields;
} pml_memory_base;

typedef struct pml_memory_find {
    const struct ArrowArray *keys; /* of the trimmed primary key, each but once */
    const int64_t *rows; /* of keys: those to look for */
    size_t n;
    int64_t disk_sequence; /* the highest sequence number of the files in which the keys may be */
    bool any_partition;    /* of which a trimmed key says nothing: what memory has of it may be another key's */
} pml_memory_find;

typedef enum pml_memory_answer {
    PML_MEMORY_NONE, /* no row of the key */
    PML_MEMORY_SOME, /* rows of the key, or nobody knows: they must be merged with those of files */
    PML_MEMORY_ROW,  /* this row is what there is, whatever files hold */
    PML_MEMORY_GONE  /* the key is deleted, whatever files hold */
} pml_memory_answer;

typedef struct pml_memory_found {
    pml_memory_answer answer;
    const struct ArrowArray *rows; /* ROW: borrowed from the pins; its columns are those that open_base numbered */
    int64_t row;
} pml_memory_found;

typedef struct pml_memory_source {
    /* The snapshot chosen must not be older than *min_snapshot (-1: any). */
    int (*pin)(void *ctx, void **pins, int64_t *min_snapshot, pml_table *t, const pml_pred *predicate, pml_error *err);
    /* snapshot NULL: the table has none. *again: the snapshot is too old for what memory holds; pin anew (latest plans only). */
    int (*resolve)(void *pins, bool *again, const pml_snapshot *snapshot, pml_snapshot_choice choice, pml_error *err);
    /* How often a plan may start again before it gives up. */
    int (*retries)(void *ctx);
    size_t (*count)(const void *pins);
    void (*part)(const void *pins, size_t i, pml_memory_part *out);
    int (*open)(struct ArrowArrayStream *out, void *pins, size_t i, const pml_memory_read *request, pml_error *err);
    /* The oldest first. *runs by pml_env__free; the caller drops each run. The fields may be those of _SEQUENCE_NUMBER and _VALUE_KIND,
       too; the predicate is over the key only. */
    int (*open_runs)(pml_memory_run **runs, size_t *n, void *pins, size_t i, const pml_memory_read *request, pml_error *err);
    /* How many inputs one merge may have, at least 2, where n want to be. */
    size_t (*fan_in)(void *pins, size_t n);
    void (*acquire)(void *pins);
    void (*release)(void *pins); /* streams stay valid */
    /* The highest id of a snapshot that is known. -1: none. */
    int64_t (*newest)(void *ctx);
    /* columns[i]: where rows have field i. PML_E_UNSUPPORTED: they do not have it. */
    int (*open_base)(void **base, int32_t *columns, void *ctx, const pml_memory_base *request, pml_error *err);
    void (*release_base)(void *base);
    /* Whether there may be a snapshot since that must be gone by (of the latest one only). */
    bool (*base_is_old)(const void *base);
    /* partition.ptr NULL, bucket -1: all. *pins NULL: nothing is in memory there. */
    int (*pin_some)(void **pins, void *ctx, pml_bytes partition, int32_t bucket, pml_error *err);
    /* Parts that add nothing to the snapshot go. *again: with new pins and a newer base it may go well. */
    int (*check)(void *pins, bool *again, const void *base, pml_error *err);
    /* found[i] of request->rows[i]. */
    int (*find)(pml_memory_found *found, void *pins, const pml_memory_find *request, pml_error *err);
    /* Of ctx: the scan holds one reference. */
    void (*acquire_ctx)(void *ctx);
    void (*release_ctx)(void *ctx);
} pml_memory_source;

struct pml_scan;
/* Takes a reference of ctx. source NULL: takes the memory off again. */
void pml_scan__set_memory(struct pml_scan *scan, const pml_memory_source *source, void *ctx);
pml_table *pml_scan__table(const struct pml_scan *scan);

#endif
