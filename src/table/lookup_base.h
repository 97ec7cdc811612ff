/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lookup keeps of a snapshot: its files by partition-bucket, its deletion vectors, the columns that are read, and what memory knows
 * of it. Immutable and counted: calls hold the one that they began with.
 */
#ifndef PML_TABLE_LOOKUP_BASE_H
#define PML_TABLE_LOOKUP_BASE_H

#include "table/lookup_files.h"
#include "table/scan.h"

typedef struct pml_lookup_bucket {
    pml_bytes partition; /* counted row bytes */
    int32_t bucket, total_buckets;
    int64_t max_sequence; /* of its files; INT64_MIN: it has none */
    size_t n;
    const pml_manifest_entry **entries; /* in the order of the manifests */
    struct pml_lookup_bucket *next; /* of its partition */
    struct pml_lookup_bucket *after; /* of all */
} pml_lookup_bucket;

typedef struct pml_lookup_partition {
    pml_lookup_bucket *first;
    /* The bucket that the table gives a key is the only one in which it can be; else all must be asked (Java and plan: prune.c). */
    bool by_bucket;
    struct pml_lookup_partition *after;
} pml_lookup_partition;

typedef struct pml_lookup_base {
    atomic_int refs;
    pml_plan *plan; /* without splits: snapshot, schema, deletions; columns are the wanted ones, then those of the key */
    size_t n_wanted;
    size_t n_keys;            /* of the whole primary key */
    int32_t *key_columns;     /* among the plan's, in the order of the primary key */
    pml_field *key_fields;    /* the same */
    const pml_type **key_types;
    int32_t *key_at;          /* of each column of the table: its place in the key, -1: none */
    bool float_in_key;        /* FLOAT or DOUBLE: equal keys may have other bits */
    bool partition_in_key;    /* a key tells its partition; one with a FLOAT or DOUBLE does not, since partitions are told by their bits */
    bool placeable;           /* and its bucket, where the number of buckets is fixed */
    pml_live_list list;       /* the files */
    pml_map buckets;          /* pml_partition__bucket_key -> pml_lookup_bucket */
    pml_map partitions;       /* partition -> pml_lookup_partition */
    pml_lookup_bucket *first; /* of all */
    void *memory;             /* of the scan's memory source; NULL: there is none */
    int32_t *memory_columns;  /* of each of the plan's columns: where rows in memory have it */
} pml_lookup_base;

/* Of the snapshot that the scan chooses now. known: an older one of the same scan, of which what still holds is not read again; NULL: none. */
int pml_lookup_base__load(pml_lookup_base **out, const pml_scan *scan, const pml_lookup_base *known, pml_error *err);
void pml_lookup_base__acquire(pml_lookup_base *base);
void pml_lookup_base__release(pml_lookup_base *base); /* NULL allowed */

/* NULL: no file. */
pml_lookup_partition *pml_lookup_base__partition(const pml_lookup_base *base, pml_bytes partition);

#endif
