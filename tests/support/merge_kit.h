/* SPDX-License-Identifier: Apache-2.0 */
/* Random sorted runs, requests for their merge, and the naive merge that says what must come out. And runs by hand. */
#ifndef PML_TESTS_MERGE_KIT_H
#define PML_TESTS_MERGE_KIT_H

#include "merge/function.h"
#include "support/random_batch.h"

enum { MERGE_RUNS_MAX = 8, MERGE_FIELDS_MAX = 16, MERGE_COLUMNS_MAX = 20 };

typedef enum merge_key_kind {
    MERGE_KEY_BIGINT,
    MERGE_KEY_TEXT,      /* shorter than a prefix */
    MERGE_KEY_LONG_TEXT, /* the same for longer than a prefix */
    MERGE_KEY_CHANGING,  /* long text that begins otherwise from some key on */
    MERGE_KEY_DECIMAL,
    MERGE_KEY_TWO, /* BIGINT, which is mostly the same, and DECIMAL(10, 0) */
    MERGE_KEY_KINDS
} merge_key_kind;

typedef struct merge_source {
    struct ArrowArray rows; /* all, sorted; no offset */
    pml_shared *shared;
    int32_t level;
    int64_t next;
    int drops;
    test_env *t;
    struct merge_world *world;
} merge_source;

typedef struct merge_world {
    pml_arena arena;
    pml_field *fields;
    int32_t keys[3], sequence[2], columns[MERGE_COLUMNS_MAX];
    pml_merge_layout layout;
    merge_source runs[MERGE_RUNS_MAX];
    size_t n_runs;
    int64_t piece_rows; /* of the batches of runs, at most */
    pml_merge_function function;
    pml_merge_request request;
    size_t fold_max; /* inputs of a merge, at most (merge/fold.h); 0: all */
} merge_world;

/* Columns of every kind, keys and sequence fields from small domains, up to rows_max rows in each run. */
void merge_world_make(merge_world *w, test_env *t, size_t n_runs, int64_t rows_max);
/* Four columns; runs that share keys here and are alone there. */
void merge_world_make_long(merge_world *w, test_env *t, size_t n_runs, int64_t rows_max, merge_key_kind kind);
void merge_world_clear(merge_world *w);
/* A function and what else is asked, at random. */
void merge_world_request(merge_world *w, test_env *t);
/* Runs the merge, and fails the test where it does other than the naive one. */
void merge_agrees(merge_world *w, test_env *t);

typedef struct naive_result naive_result;
/* The merge alone. expected NULL: whatever comes. Asserts that each run was dropped once. */
int merge_run(merge_world *w, test_env *t, const naive_result *expected, pml_error *err);

/* ---- rows by hand: {key, sequence number, kind} ---- */
enum { SIMPLE_RUNS_MAX = 4, SIMPLE_RESULT_MAX = 4096 };
#define SIMPLE_NULL INT64_MIN

typedef struct simple_source {
    struct simple_world *world;
    const char *name;
    const int64_t (*rows)[3];
    int64_t n, batch_rows, next;
    int32_t level;
} simple_source;

typedef struct simple_world {
    test_env *t;
    pml_field fields[3];
    pml_merge_layout layout;
    simple_source runs[SIMPLE_RUNS_MAX];
    size_t n_runs;
    bool keep_retracts, ignore_delete, lookup;
    int (*decide)(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err);
    int64_t fail_after;             /* rows of a run, after which it fails; 0: never */
    char result[SIMPLE_RESULT_MAX]; /* "key/sequence/kind " for each row; of texts 0 as the key */
} simple_world;

/* form 0: BIGINT keys, 1: short texts, 2: texts that only differ behind the prefix. */
void simple_world_make(simple_world *w, test_env *t, int form);
void simple_run(simple_world *w, const char *name, const int64_t (*rows)[3], int64_t n, int64_t batch_rows,
                int32_t level);
int simple_merge(simple_world *w, pml_merge_kind kind, pml_error *err);
void simple_world_clear(simple_world *w);

#endif
