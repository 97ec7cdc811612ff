/* SPDX-License-Identifier: Apache-2.0 */
/* One memory store from inside: shared by memory.c (life, views, segments), memory_write.c (how rows come in) and
   memory_join.c (how they stay together). */
#ifndef PML_STORES_MEMORY_STORE_H
#define PML_STORES_MEMORY_STORE_H

#include <pthread.h>

#include "stores/memory_chunk.h"

enum {
    MEM_OPEN_ROWS_FIRST = 64, /* of an open chunk; four times more each time one fills up */
    MEM_MERGE_RUNS_MAX = 32   /* runs that are merged at once */
};

typedef struct mem_job mem_job;

typedef struct mem_store {
    mem_account *account;
    int64_t schema_id, n_columns; /* of the transport schema */
    bool keyed;                   /* rows have keys: a chunk is a sorted run, chunks are merged and not joined end to end */
    uint64_t join_bytes;          /* chunks are joined up to this size */
    int64_t inline_rows;          /* runs are merged within a write up to so many rows */
    uint64_t run_bytes;           /* and up to this size at all */
    size_t merge_runs;            /* so many of one tier become one */
    /* of the writer: write and seal, which come one at a time */
    mem_chunk *open;   /* the last of `building`, which holds it; NULL: none */
    int64_t open_room; /* rows asked for when it was opened */
    int64_t next_room; /* rows to ask for next */
    mem_job *job;      /* runs that the host's thread merges; NULL: none */
    bool woken;        /* that thread */
    pthread_mutex_t m; /* guards what follows; write and seal are the only ones to change `building` and `end` */
    bool closed;
    mem_list *building; /* chunks; NULL: none */
    mem_list *sealed;   /* segments, oldest first; NULL: none yet */
    int64_t building_rows, sealed_rows;
    int64_t open_rows; /* of the open chunk; 0: none is open */
    uint64_t building_bytes, sealed_bytes;
    int64_t floor; /* rows below it are committed */
    int64_t end;   /* of the newest batch ever written, or where the store was opened */
} mem_store;

int pml_mem_store__closed_error(pml_error *err);
/* A checked batch. The array was taken when its release is NULL. */
int pml_mem_store__write(mem_store *s, pml_rt_batch *b, pml_error *err);
/* Makes the open chunk, if any, an ordinary one. An error has changed nothing. */
int pml_mem_store__close_chunk(mem_store *s, pml_error *err);

/* Makes few chunks of many, as far as that can be done now. No chunk is open. */
void pml_mem_store__join(mem_store *s);
/* The newest chunk, which has just been closed, gives its free room back. */
void pml_mem_store__copy_last(mem_store *s);
/* Before a seal: as few runs as can be within a call, and what is merged meanwhile is not wanted any more. No chunk is open. */
void pml_mem_store__join_all(mem_store *s);
/* What is merged meanwhile is not wanted any more. */
void pml_mem_store__forget_job(mem_store *s);

static inline void pml_mem_list__release(mem_list *list)
{
    if (list != NULL)
        pml_mem_counted__release(&list->counted);
}

#endif
