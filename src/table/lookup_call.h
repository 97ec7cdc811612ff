/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a lookup:
 *
 *   1. keys to the places, partition-buckets mostly, in which they may be; of equal ones only the first is looked for
 *      then views of their memory are taken, and after that the base is chosen (I8)
 *   2. memory is asked first; what it knows for certain is not looked for in files
 *   3. for all others a plan of the kept files, with a condition on the key: read as any plan is, so that each answer is that of a scan.
 *      Keys with rows in memory and keys without are read apart: files alone are asked the newest run first
 *   4. the rows, which lie in memory or in batches that were read, are gathered in the order of the keys
 */
#ifndef PML_TABLE_LOOKUP_CALL_H
#define PML_TABLE_LOOKUP_CALL_H

#include "columnar/batch.h"
#include "table/lookup_base.h"
#include "table/route.h"

/* Where rows of the answer lie. */
typedef struct pml_lookup_rows {
    struct ArrowArray owned;       /* what was read; else released */
    const struct ArrowArray *rows; /* NULL: owned */
    const int32_t *columns;        /* where rows have each of the plan's columns; NULL: in order */
} pml_lookup_rows;

/* A partition-bucket, or several where nobody knows better. */
typedef struct pml_lookup_place {
    pml_bytes partition; /* ptr NULL: any */
    int32_t bucket;      /* -1: any */
    int64_t *rows;       /* the keys, each but once */
    int64_t n;
    void *pins;          /* of memory; NULL: none */
    size_t n_buckets;    /* that have files */
    pml_lookup_bucket **buckets;
} pml_lookup_place;

typedef struct pml_lookup_call {
    pml_env *env;
    const pml_scan *scan;
    const pml_lookup_base *base; /* while keys are routed any base of the scan; then that of the answer */
    uint32_t validate;
    const struct ArrowArray *keys;   /* without an offset of its own */
    struct ArrowArray by_table;      /* the same columns at their places in the table, for routing */
    struct ArrowArray trimmed;       /* those of the trimmed key, for memory */
    pml_row_ref *refs;               /* of each key: the row that answers it */
    int64_t *first_of;               /* of each key: the first that is equal to it; NULL: one key only */
    pml_map by_key;                  /* bytes of a key -> its number + 1; empty where there is one only */
    pml_buf key;                     /* bytes of the only key */
    size_t n_sources, cap_sources;
    pml_lookup_rows *sources;
    pml_route route; /* has the partitions of places */
    size_t n_places;
    pml_lookup_place *places;
    pml_arena arena;
} pml_lookup_call;

/* keys was checked. Everything is borrowed. After a failure, too: clear. */
int pml_lookup_call__init(pml_lookup_call *c, const pml_scan *scan, const pml_lookup_base *base, const struct ArrowArray *keys, pml_error *err);
void pml_lookup_call__clear(pml_lookup_call *c);
/* Takes the views of memory. */
int pml_lookup_call__pin(pml_lookup_call *c, pml_error *err);
/* Borrows base until clear. *again: memory has let go of rows that the base lacks; with new views and a newer base it may go well. */
int pml_lookup_call__answer(struct ArrowArray *out, bool *again, pml_lookup_call *c, const pml_lookup_base *base, pml_error *err);

/* Reads keys (n of them, by number) out of the files of some buckets, and of what the pins hold (NULL: files alone): lookup_read.c. */
int pml_lookup_call__read(pml_lookup_call *c, pml_lookup_bucket *const *buckets, size_t n_buckets, void *pins, const int64_t *rows, int64_t n,
                          pml_error *err);
/* Room for one more. */
int pml_lookup_call__source(pml_lookup_rows **out, pml_lookup_call *c, pml_error *err);
/* The number of the key that row `row` of a batch of the plan's columns has; -1: it was not asked for. */
int pml_lookup_call__key_of(int64_t *out, pml_lookup_call *c, pml_buf *scratch, const struct ArrowArray *batch, int64_t row, pml_error *err);

#endif
