/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counted things the memory store is made of.
 *
 *   account   one per store: the host's services and the bytes of all living chunks. Held by the store and by everything below,
 *             so that the last array of a stream can be given back when store and context are long gone.
 *   chunk     rows of one or several written batches, immutable but for the open chunk (memory_write.c), whose rows beyond the
 *             length that a view noted are written while the view reads. Held by lists, and by arrays that a stream gave away.
 *   list      an array of chunks, or of segments. Published by its length: whoever takes a reference notes the length with it
 *             under the store's mutex and never looks beyond. So the store may append in place behind all noted lengths; when
 *             the list is full it is replaced by a larger one, and the old one lives as long as somebody holds it. Its tail is
 *             changed in place only while the store alone holds it. A holder pins what was appended after its length too: at
 *             most as much again as the list had, and only until it lets go.
 *   segment   a sealed list of chunks. Held by the host until segment_release, by lists of segments, and by streams.
 */
#ifndef PML_STORES_MEMORY_CHUNK_H
#define PML_STORES_MEMORY_CHUNK_H

#include "stores/abi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct mem_account {
    atomic_int refs;
    const pml_rt_host *host;
    atomic_llong live_bytes;
    bool can_copy;       /* the host has the services of phase P1b */
    bool keyed;          /* chunks are sorted runs */
    bool collapse;       /* of the rows of a key that meet in a merge only the newest stays */
    uint32_t stats_mode; /* PML_RT_STATS_*; NONE without them */
    int64_t schema_id;
    size_t n_columns; /* of the transport schema */
    pthread_mutex_t sorted_m; /* guards `sorted` of all chunks and what follows; nothing else is done under it */
    bool merging;             /* the host's thread makes one run of small ones, for readers */
    bool rereads;             /* what it made last was read, as far as known */
} mem_account;

int pml_mem_account__new(mem_account **out, const pml_rt_host *host, pml_error *err);
void pml_mem_account__release(mem_account *account);
void *pml_mem_account__alloc(mem_account *account, size_t bytes); /* zeroed; NULL: no memory */
void pml_mem_account__free(mem_account *account, void *p, size_t bytes);

/* The head of chunks, lists, segments and views. */
typedef struct mem_counted {
    atomic_int refs;
    mem_account *account;
    size_t bytes; /* of the allocation */
    void (*destroy)(struct mem_counted *self); /* gives back what it holds, not its own memory; NULL: nothing */
} mem_counted;

/* One reference. NULL: no memory. */
void *pml_mem_counted__new(mem_account *account, size_t bytes, void (*destroy)(mem_counted *self));
void pml_mem_counted__acquire(mem_counted *c);
void pml_mem_counted__release(mem_counted *c); /* NULL allowed */

typedef struct mem_stats {
    struct ArrowArray min, max; /* as host->stats makes them */
    int64_t null_counts[];
} mem_stats;

typedef struct mem_chunk {
    mem_counted counted;
    struct ArrowArray array; /* released: empty */
    void *open;              /* the host's chunk; array is filled when it is closed */
    bool dense;              /* array lacks the offset column; offset of row i is range.begin + i */
    int tier;                /* joins that it went through */
    pml_rt_range range;      /* of an open chunk: the writer's, as rows; a view noted its own */
    int64_t rows;
    int64_t collapsed_rows; /* that stood here, and were replaced by others */
    uint64_t collapsed_hash;
    uint64_t bytes;      /* charged to the host */
    uint64_t data_bytes; /* of the rows in an open chunk, without free room */
    _Atomic(mem_stats *) stats; /* made by the first query that can use them */
    struct mem_chunk *sorted;   /* of an open chunk of rows with keys: those that a query saw, as a run (memory_tail.c); a reference. NULL: none */
    int64_t sorted_rows;        /* of this chunk in it */
    bool unread;                /* a run that was merged for readers, of whom none has come yet; guarded by sorted_m */
} mem_chunk;

/* A chunk still without its array. Charges the bytes. */
int pml_mem_chunk__new(mem_chunk **out, mem_account *account, const pml_rt_batch *batch, pml_error *err);
/* The run with the first `rows` rows of an open chunk, a reference; NULL: nobody has made it. */
mem_chunk *pml_mem_chunk__sorted(mem_chunk *open, int64_t rows);
/* Keeps a run with so many rows of the chunk for queries to come, instead of that of fewer, or of as many with fewer of chunks before it;
   false: there is a better one. NULL and INT64_MAX: none, for good, since the chunk is closed. */
bool pml_mem_chunk__keep_sorted(mem_chunk *open, mem_chunk *run, int64_t rows);
/* Whether the caller may have small runs merged for readers: nobody else does, and somebody reads the same rows again (`again`) or read what
   was merged last. He says when that is over. */
bool pml_mem_account__begin_merge(mem_account *account, bool again);
void pml_mem_account__end_merge(mem_account *account, bool wasted);
/* Whether a row of a closed chunk may match. Makes its statistics when they are missing; without memory for them: true. */
bool pml_mem_chunk__may_match(mem_chunk *c, const void *predicate);

typedef struct mem_list {
    mem_counted counted;
    size_t cap;
    size_t n; /* changed by the store only; shrinks only while nobody else holds the list */
    mem_counted *items[];
} mem_list;

/* *out: list itself when it has room for one more, else a new list with references of the same items and more room. list may
   be NULL. */
int pml_mem_list__with_room(mem_list **out, mem_account *account, mem_list *list, pml_error *err);
/* A new list of the items from `first` on. */
int pml_mem_list__tail(mem_list **out, mem_account *account, const mem_list *list, size_t first, pml_error *err);
/* A new list of the first n items, with room for as many as list had. NULL: no memory. */
mem_list *pml_mem_list__head(mem_account *account, const mem_list *list, size_t n);

typedef struct mem_segment {
    mem_counted counted;
    mem_list *chunks;
    size_t n;
    pml_rt_range range;
    int64_t rows, collapsed_rows;
    uint64_t collapsed_hash;
    uint64_t bytes;
    int64_t schema_id;
    struct mem_segment *dropped; /* chains segments that an advance took out of the store's own list */
} mem_segment;

mem_segment *pml_mem_segment__new(mem_account *account); /* empty; NULL: no memory */

#endif
