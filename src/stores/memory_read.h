/* SPDX-License-Identifier: Apache-2.0 */
/* Views and streams of the memory store. */
#ifndef PML_STORES_MEMORY_READ_H
#define PML_STORES_MEMORY_READ_H

#include "stores/memory_chunk.h"

/* Immutable. Held by the host until the view's release, and by its streams. */
typedef struct mem_view {
    mem_counted counted;
    mem_list *sealed, *building; /* of segments, of chunks; NULL: none */
    size_t n_sealed, n_building; /* the lengths when the view was taken */
    int64_t open_rows;           /* the last building chunk was open and had these rows; 0: it was closed */
    int64_t schema_id;
    int64_t floor, end, first, rows;
    uint64_t bytes;
    _Atomic(mem_chunk *) open_chunk; /* those rows, unsorted; made by the first lookup */
} mem_view;

mem_view *pml_mem_view__new(mem_account *account); /* empty; NULL: no memory */
extern const pml_rt_view_vtbl pml_mem_view_vtbl;

/* The chunks of a building list, the last of which was open, as a view saw them. */
typedef struct mem_tail {
    mem_account *account;
    const mem_list *chunks;
    size_t n;
    int64_t open_rows, open_end; /* of the open one */
    bool all_keys;               /* who asks wants them all: then it pays to have few runs */
} mem_tail;

/* *out: a chunk, a reference, with the rows of the open one; of rows with keys a sorted run, which may have those of chunks before it too,
   from *first on. */
int pml_mem_tail__run(mem_chunk **out, size_t *first, const mem_tail *q, pml_error *err);

/* pml_rt_view_vtbl.lookup */
int pml_mem_view__lookup(void *view, const struct ArrowArray *keys, const int64_t *key_rows, size_t n, pml_rt_found_fn found, void *sink,
                         pml_error *err);

/* Streams of all columns of a segment: one in offset order; of rows with keys one for each run, the oldest first. */
int pml_mem_segment__stream(pml_rt_streams *out, mem_segment *segment, pml_error *err);

#endif
