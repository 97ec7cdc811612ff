/* SPDX-License-Identifier: Apache-2.0 */
/* Scan, plan and split from inside. */
#ifndef PML_TABLE_SCAN_H
#define PML_TABLE_SCAN_H

#include <paimonlive/scan.h>

#include "table/memory_source.h"

struct pml_predicate {
    pml_env *env;
    pml_arena arena;
    pml_pred *tree;
};

struct pml_scan {
    pml_table *table;
    bool all_columns;
    char **columns; /* names: resolved at plan time against the schema of the read */
    size_t n_columns;
    pml_arena predicate_arena;
    pml_pred *predicate; /* NULL: none */
    int64_t limit;       /* -1: none */
    int64_t snapshot_id; /* -1: latest */
    const pml_memory_source *memory; /* NULL: disk only */
    void *memory_ctx;
};

typedef struct pml_split {
    pml_bytes partition; /* counted row bytes */
    const char *partition_path;
    int32_t bucket, total_buckets;
    size_t n_files;
    const pml_data_file *files;
    const char **paths;   /* full path of each file */
    int64_t memory_part; /* index into the plan's pins, -1: none */
    int64_t memory_rows;
} pml_split;

struct pml_plan {
    atomic_int refs; /* streams hold it */
    pml_env *env;
    pml_table *table;
    pml_arena arena;
    int64_t snapshot_id;
    const pml_table_schema *schema; /* of the read; borrowed from the table's cache */
    size_t n_columns;
    int32_t *columns; /* indexes into schema->fields, in output order */
    pml_field *out_fields;
    pml_pred *predicate;
    int64_t limit;
    size_t n_splits;
    pml_split *splits;
    const pml_memory_source *memory;
    void *pins;
};

void pml_plan__acquire(pml_plan *plan);
/* Packs live files and memory parts into splits (splits.c). */
int pml_plan__make_splits(pml_plan *plan, const pml_manifest_entries *live, pml_error *err);
/* Rows of the files of a split by the metadata, at most INT64_MAX. */
int64_t pml_split__rows_on_disk(const pml_split *s);
/* One split as a stream in the plan's output columns; predicate applied, limit not. */
int pml_split__open(struct ArrowArrayStream *out, pml_plan *plan, size_t split, const pml_read_options *options, pml_error *err);

#endif
