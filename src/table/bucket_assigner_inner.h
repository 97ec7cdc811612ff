/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the bucket assigner share: assigning (bucket_assigner.c) and the index files of prepares (bucket_index.c). */
#ifndef PML_TABLE_BUCKET_ASSIGNER_INNER_H
#define PML_TABLE_BUCKET_ASSIGNER_INNER_H

#include "table/bucket_assigner.h"
#include "util/thread.h"

/* An index file of a bucket; name NULL: none. */
typedef struct index_file {
    char *name;
    int64_t size_bytes, rows;
} index_file;

typedef struct dynamic_bucket {
    bool exists, dirty; /* dirty: has keys that its index file does not have */
    int64_t rows;
    index_file file, before; /* before: the one that the last prepare replaced */
} dynamic_bucket;

typedef struct dynamic_partition {
    pml_key_buckets keys;
    size_t n, cap; /* buckets by number; some may not exist */
    dynamic_bucket *buckets;
    int32_t n_existing;
    int32_t first_open, first_free; /* no bucket below is open, no number below is free */
    uint64_t print;                 /* of all index files */
    size_t wanted;                  /* of one prepare: the last of its partition-buckets, plus 1 */
} dynamic_partition;

struct pml_bucket_assigner {
    pml_env *env;
    pml_table *table;
    pml_arena arena; /* of the entries */
    pml_index_entries entries;
    size_t *next;  /* of each entry: the next one of its partition, plus 1 */
    pml_map first; /* partition bytes -> the first entry, plus 1 */
    int32_t buckets_max;
    char uuid[37];
    int64_t counter, prepares; /* one prepare at a time */
    const pml_type **key_types;
    int32_t *key_columns[2]; /* without and with one column in front */
    pml_mutex mu;       /* guards what follows, with all that the partitions have; no file is read or written under it */
    pml_map partitions; /* partition bytes -> dynamic_partition; none is ever removed */
};

void pml_index_file__clear(index_file *f, pml_env *env);

#endif
