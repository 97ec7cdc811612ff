/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one partition-bucket become data files that roll at the target size (Java: RollingFileWriter, RowDataFileWriter), and
 * their descriptions. Used by the batch writer and by the flush of real-time segments alike.
 */
#ifndef PML_TABLE_ROLLING_H
#define PML_TABLE_ROLLING_H

#include "table/file_shape.h"
#include "table/key_changes.h"

/* The files of one partition-bucket that wait for a commit, and where they lie. Owns an arena. */
typedef struct pml_new_files {
    pml_env *env;
    pml_arena arena;
    pml_bytes partition; /* counted row bytes, in the arena */
    int32_t bucket, total_buckets;
    int64_t rows;
    size_t n, cap;
    pml_data_file *files;
    const char **paths;
    /* What commits of this process made of them. Guarded by nothing: a commit belongs to one thread at a time, and so do its messages. */
    enum { PML_FILES_NEW = 0, PML_FILES_UNKNOWN, PML_FILES_COMMITTED } fate;
    /* Dynamic buckets (table/bucket_assigner.h). keys: what stands for the index files of the partition that the bucket was chosen by.
       Messages of this process know, those out of bytes were told, and those of Java were not. */
    enum { PML_KEYS_UNTOLD = 0, PML_KEYS_TOLD, PML_KEYS_KNOWN } has_keys;
    uint64_t keys, prepare;          /* prepare: a random number of it */
    const pml_index_entry *keys_in;  /* the bucket's index file when all its rows had their keys in it already; NULL: it had none, the rows
                                        bring new keys (index_before), or nothing is told */
    pml_key_changes *changes; /* those of all messages of the prepare for the partition, a reference; NULL: none of them has new keys */
    const pml_index_entry *index, *index_before; /* the new index file and the one that it replaces; NULL: none */
    const char *index_path;
    bool copied; /* came from bytes, or went into some: others may have committed them */
} pml_new_files;

int pml_new_files__init(pml_new_files *f, pml_env *env, pml_bytes partition, int32_t bucket, int32_t total_buckets);
void pml_new_files__clear(pml_new_files *f);
/* Deletes the files, that of the index too. The caller knows that no snapshot names them. Errors are ignored: orphans are cleaned later. */
void pml_new_files__delete(pml_new_files *f);

/* Names of data files: one random uuid and one counter per writer and partition-bucket. */
typedef struct pml_rolling pml_rolling;

/* first_sequence: number of the first row, counted on here; rows of a table with a primary key bring theirs. `to` collects finished
   files; it and shape outlive the writer. */
int pml_rolling__new(pml_rolling **out, pml_table *t, const pml_file_shape *shape, pml_new_files *to, int64_t first_sequence,
                     pml_error *err);
/* The batch (a struct of the shape's columns, in the order of keys where there are some) is moved on any return. Short ones may wait
   for more: what is wrong with their file then shows in a later call. */
int pml_rolling__write(pml_rolling *r, struct ArrowArray *batch, pml_error *err);
/* Writes what waits and ends the open file; all files are durable then. More rows may follow; they go to a new file. */
int pml_rolling__finish(pml_rolling *r, pml_error *err);
/* Whether a file is open or rows wait for one: a descriptor and the buffers of its columns, or the rows. */
bool pml_rolling__is_open(const pml_rolling *r);
/* Number of the next row, when none wait. */
int64_t pml_rolling__next_sequence(const pml_rolling *r);
/* Removes the open file; finished ones stay in `to`. NULL allowed. */
void pml_rolling__free(pml_rolling *r);

#endif
