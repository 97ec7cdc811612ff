/* SPDX-License-Identifier: Apache-2.0 */
/* Scan, plan and split from inside. */
#ifndef PML_TABLE_SCAN_H
#define PML_TABLE_SCAN_H

#include <paimonlive/scan.h>

#include "table/deletions.h"
#include "table/memory_source.h"
#include "table/changes.h"

struct pml_predicate {
    pml_env *env;
    pml_arena arena;
    pml_pred *tree;
};

/* As pml_predicate_leaf, on a field. */
int pml_predicate__leaf(pml_predicate **out, pml_env *env, const pml_field *f, pml_predicate_op op, const pml_literal *literals, size_t n,
                        pml_error *err);

struct pml_scan {
    pml_table *table;
    bool all_columns;
    char **columns; /* names: resolved at plan time against the schema of the read */
    size_t n_columns;
    pml_arena predicate_arena;
    pml_pred *predicate; /* NULL: none */
    int64_t limit;       /* -1: none */
    int32_t only_level;  /* of tables with a primary key; -1: all */
    bool keep_retracts;  /* keys whose last row is -U or -D come out */
    pml_map *partitions;  /* NULL, or where the plan notes the partitions of which something is visible */
    const pml_map *without; /* NULL, or partitions that are left out */
    const pml_field *extra; /* columns that the table has behind its own, such as _ROW_ID; static */
    size_t n_extra;
    bool streams;        /* it is the start of a stream: level 0 hides where its rows come as changes later, and nowhere else */
    pml_travel travel;   /* which snapshot */
    char *tag, *end_tag; /* names, when the caller chose them */
    const pml_table_schema *schema; /* of the rows, whatever is read; borrowed from the table's cache. NULL: as the snapshot says */
    const pml_memory_source *memory; /* NULL: disk only */
    void *memory_ctx;
};

/* What a plan holds. */
typedef enum pml_plan_shape {
    PML_PLAN_SNAPSHOT = 0,
    PML_PLAN_BETWEEN, /* added rows of some snapshots, packed like the files of one */
    PML_PLAN_STREAM,  /* those of one snapshot, a split for each bucket */
    PML_PLAN_DIFF,    /* files that only one of two snapshots has */
    PML_PLAN_REPLACED /* files that a snapshot of a stream took away and added */
} pml_plan_shape;

typedef enum pml_split_kind {
    PML_SPLIT_ROWS = 0,
    PML_SPLIT_CHANGES, /* every row of every file, with the kind that the file gives it */
    PML_SPLIT_DIFF,    /* with a primary key: what differs between the merged rows of `before` and those of the files */
    PML_SPLIT_REPLACED /* with a primary key: the merged rows of `before` taken back, then those of the files */
} pml_split_kind;

typedef struct pml_split {
    pml_split_kind kind;
    struct pml_split *before; /* DIFF, REPLACED: its files were there before; else NULL */
    pml_bytes partition; /* counted row bytes */
    const char *partition_path;
    int32_t bucket, total_buckets;
    bool raw_convertible; /* as Java says of it: its files may be read one by one */
    bool by_columns;      /* files next to each other may hold columns of the same rows: plan_columns.c */
    size_t n_files;
    pml_data_file *files;
    const char **paths;   /* full path of each file */
    const pml_deletion **deletions; /* of each file: rows that are left out; NULL: none */
    int64_t memory_part; /* index into the plan's pins, -1: none */
    int64_t memory_rows;
    struct pml_plan *plan; /* NULL: that which has it; else the plan of another branch, which that plan holds */
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
    const pml_table_schema *castable; /* of the last file whose columns were found to have casts */
    int64_t limit;
    int32_t only_level;    /* as that of the scan */
    bool keep_retracts;
    pml_plan_shape shape;
    bool hides_level0;    /* of tables with a primary key */
    bool values_per_file; /* of those: no row of a file that a plan shows may hide a row of another one */
    pml_deletions deletions; /* of the snapshot */
    size_t n_splits;
    pml_split *splits;
    const pml_memory_source *memory;
    void *pins;
    struct pml_plan *other; /* of another branch; its splits are the last ones. NULL: none */
    struct pml_plan *base;  /* what files and deletions are borrowed from (lookup_read.c). NULL: the plan has its own */
};

void pml_plan__acquire(pml_plan *plan);
/* Packs live files and memory parts into splits (splits.c). */
int pml_plan__make_splits(pml_plan *plan, const pml_manifest_entries *live, pml_error *err);
/* The same of files that were there before and are there after; deletions are those of before. */
int pml_plan__make_pair_splits(pml_plan *plan, const pml_manifest_entries *before, const pml_manifest_entries *after,
                               const pml_deletions *deletions, pml_error *err);
/* The files and memory of one partition-bucket, on their way into splits. */
typedef struct pml_plan_group {
    pml_bytes partition;
    int32_t bucket, total_buckets;
    size_t n, cap;
    const pml_data_file **files;
    size_t n_before, cap_before;
    const pml_data_file **before;
    int64_t memory_part;
} pml_plan_group;
/* *out: the new split, until the next one is made. */
int pml_plan__add_group_split(pml_split **out, pml_plan *p, size_t *cap, const pml_plan_group *g, const char *path,
                              const pml_data_file *const *files, size_t n, pml_error *err);

/* ---- tables with a primary key (plan_pk.c) ---- */
struct pml_prune;
struct pml_sections;
/* Of the live files those that a read shows and that may match. */
int pml_plan__keep_keyed_files(pml_manifest_entries *live, pml_plan *p, struct pml_prune *prune, pml_error *err);
int pml_plan__pack_keyed(pml_plan *p, size_t *cap, pml_plan_group *g, struct pml_prune *prune, pml_error *err);
/* Which files of a split, or of a bucket, must be merged with each other. */
int pml_plan__sections(struct pml_sections *out, pml_arena *arena, const pml_plan *p, const pml_data_file *const *files, size_t n,
                       pml_error *err);
/* Whether several rows of a key meet in the split, or rows that are deletes. If not, its files are read one by one, each row as +I, of
   CHANGES as its file says. */
bool pml_split__merges(const pml_plan *p, const pml_split *s);

/* ---- data evolution (plan_columns.c) ---- */
/* What pml_plan__refuse_file says of a file of such a table only. */
int pml_plan__refuse_columns_file(pml_plan *p, const pml_data_file *f, pml_error *err);
/* Whether a file holds a column, or some, of a part of the rows of others: those of BLOBs, and vectors in files of their own. */
bool pml_plan__is_companion(const pml_data_file *f);
/* Brings files into the order of reading: by row id, of the same rows the newest first, then their companions. Those without rows are
   taken out. PML_E_CORRUPT naming two files with some rows in common. */
int pml_plan__order_columns(const pml_data_file **files, size_t *n, const pml_plan *p, pml_error *err);
/* Takes ordered files out none of whose rows can match. */
int pml_plan__prune_columns(const pml_data_file **files, size_t *n, pml_plan *p, struct pml_prune *prune, pml_error *err);
/* Behind the ordered files that have the rows of file `first`; in a split of another table behind `first`. */
size_t pml_plan__rows_end(const pml_data_file *const *files, size_t n, size_t first);
size_t pml_split__rows_end(const pml_split *s, size_t first);

/* Rows of the files of a split by the metadata, at most INT64_MAX. */
int64_t pml_split__rows_on_disk(const pml_split *s);
/* The pieces of that: a split with room for n_files, a file into it (its partition and bucket are set), and the partition's
   directory as it is shown. *cap is the caller's count of room in p->splits, 0 at first. */
int pml_plan__add_split(pml_split **out, pml_plan *p, size_t *cap, size_t n_files, pml_error *err);
int pml_plan__add_file(pml_plan *p, pml_split *s, const pml_data_file *file, const pml_deletion *deletion, pml_error *err);
int pml_plan__partition_path(const char **out, pml_plan *p, pml_bytes partition, pml_error *err);

/* A plan of what changed: scan->travel is a range (plan_changes.c). */
int pml_plan__of_range(pml_plan **out, const pml_scan *scan, pml_error *err);
/* What a stream reads of one snapshot: the files that it added, or those of its changelog; REPLACED: also those that it took away. The plan
   may have no splits. */
int pml_plan__of_snapshot(pml_plan **out, const pml_scan *scan, const pml_snapshot *s, pml_plan_shape shape, bool changelog, pml_error *err);

/* The pieces of planning that plans from serialised splits share: an empty plan; what is read of it (snapshot NULL: none); and the
   refusal of a file that this version would read wrongly. */
int pml_plan__new(pml_plan **out, const pml_scan *scan, pml_error *err);
pml_snapshot_choice pml_plan__choice(const pml_scan *scan);
int pml_plan__resolve(pml_plan *p, const pml_scan *scan, const pml_snapshot *s, pml_error *err);
int pml_plan__refuse_file(pml_plan *p, int32_t bucket, const pml_data_file *f, pml_error *err);

/* ---- branches (plan_fallback.c) ---- */
/* The plan of a table with another branch: two plans in one. plan_one makes a plan of the scan's own table. */
int pml_plan__both(pml_plan **out, const pml_scan *scan, int (*plan_one)(pml_plan **out, const pml_scan *scan, pml_error *err),
                   pml_error *err);
/* Where the other branch of the table is read when the table is read there. *alone: the other one is not read at all. */
int pml_plan__travel_beside(pml_travel *out, bool *alone, pml_table *t, const pml_travel *travel, pml_error *err);
/* Notes partitions for `both`, each by its counted row; and leaves the noted ones out of the live files. */
int pml_plan__note_partitions(pml_map *partitions, pml_plan *p, const pml_snapshot *s, pml_error *err);
void pml_plan__leave_out(pml_manifest_entries *live, const pml_map *partitions);
/* Whether a read shows a file of this level and bucket at all (plan_pk.c). */
bool pml_plan__is_visible(const pml_plan *p, const pml_manifest_entry *e);

/* ---- serialised splits (plan_splits.c) ---- */
/* The disk part of a split as Java's bytes. */
int pml_plan__write_split(pml_buf *out, const pml_plan *p, size_t i, pml_error *err);
/* One split of a plan that is put together. */
typedef struct pml_plan_part {
    pml_bytes bytes;     /* a DataSplit; ptr NULL: memory only, of the following partition-bucket */
    pml_bytes partition; /* counted row bytes */
    int32_t bucket, total_buckets;
    int64_t memory_part, memory_rows; /* -1, 0: none */
} pml_plan_part;
/* A plan of these parts at one snapshot (-1: none; -2: that of the first part). The caller puts its pins in. */
enum { PML_PLAN_SNAPSHOT_OF_PARTS = -2 };
int pml_plan__from_parts(pml_plan **out, const pml_scan *scan, int64_t snapshot_id, const pml_plan_part *v, size_t n,
                         pml_error *err);

/* Which rows of a file are read (file_rows.h), for all its parts. Counted: the parts that are read, and who deals them out. */
typedef struct pml_shared_rows pml_shared_rows;
pml_shared_rows *pml_shared_rows__new(pml_env *env); /* NULL: no memory */
pml_shared_rows *pml_shared_rows__acquire(pml_shared_rows *s); /* the same; NULL is fine */
void pml_shared_rows__release(pml_shared_rows *s);             /* NULL is fine */

/* A piece of a split: its files [first, end), where the number behind the last file stands for its memory; of a single file, part
   `part` of `parts` (0: whole). */
struct pml_ahead_merge;
typedef struct pml_split_piece {
    size_t split, first, end;
    int32_t part, parts;
    pml_shared_rows *rows; /* of all parts; NULL: the piece finds its own */
    struct pml_ahead_merge *ahead; /* of a split that merges: read_ahead.h. NULL: nobody reads ahead */
} pml_split_piece;
static inline size_t pml_split__end(const pml_split *s)
{
    return s->before != NULL ? 1 : s->n_files + (s->memory_part >= 0);
}
int pml_split__open_piece(struct ArrowArrayStream *out, pml_plan *plan, const pml_split_piece *piece, const pml_read_options *options,
                          pml_error *err);
/* What a read of the plan gives: its columns, and the kind of rows if the options ask for it. */
int pml_read__schema(struct ArrowSchema *out, const pml_plan *plan, const pml_read_options *options, pml_error *err);
/* A plan by several threads (read_parallel.c). options were checked. */
int pml_read__open_parallel(struct ArrowArrayStream *out, pml_plan *plan, const pml_read_options *options, pml_error *err);
/* Cuts the batch to the rows still wanted, and counts them off. */
void pml_read__cut(struct ArrowArray *batch, int64_t *left);

/* One split as a stream in the plan's output columns; predicate applied, limit not. */
int pml_split__open(struct ArrowArrayStream *out, pml_plan *plan, size_t split, const pml_read_options *options, pml_error *err);

#endif
