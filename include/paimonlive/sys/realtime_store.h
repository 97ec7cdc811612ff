/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin ABI of real-time stores. UNSTABLE (major version 0): it may still change until a store outside this tree has
 * proven it. For authors of stores, ours included; applications do not need it.
 *
 * A store keeps the uncommitted rows of one partition-bucket: it takes batches, seals segments, hands out immutable views and
 * streams, and forgets what is committed. It never assigns offsets or sequence numbers, never compares keys, never filters by
 * committed offset and never writes table files: the host does.
 *
 * A store includes nothing but this header and libc/pthreads.
 *
 * Rules for every struct and call:
 *  - Structs begin with size_t struct_size, set by their maker to its own sizeof (not pml_rt_str, _kv, _range: these never
 *    change). The other side reads only fields below min(struct_size, own sizeof); missing fields mean zero. An unknown tail is
 *    ignored. Fields are only appended.
 *  - Functions return 0 or a negative PML_E_* code and fill the caller's pml_error, which may be NULL. No exception, longjmp or
 *    signal crosses. A plugin never calls the writer, plan or read API.
 *  - Strings are UTF-8 with a length, not necessarily NUL-terminated.
 *  - Input arrays: the callee may take one by copying the struct and setting the source's release to NULL; the caller looks at
 *    release after any return. Input schemas are borrowed for the call. Output arrays and streams: the caller passes a zeroed
 *    struct; on failure release stays NULL. Streams hold what they need: view and segment may be released before, during or
 *    after draining, and arrays outlive their stream. get_schema works before the first get_next and on empty streams.
 *  - Threads: one call of {write, seal, set_schema} at a time per store; advance one at a time per store; commit_streams one at
 *    a time per segment; everything else at any time from any thread. Different stores of one backend run fully in parallel.
 *    The host holds no lock that a host callback needs, so callbacks are always allowed; call `columns`, `share`, `stream` and
 *    the later helpers without the store's own mutex held.
 *  - Release functions may run in any thread, do not block, and call the host only for free, charge and log.
 *  - Order at shutdown: streams, views, segments, then store close, store release, then backend close. close may come while
 *    views, segments and streams exist (they stay usable); release comes only when none is left.
 *
 * P2, P3, P4 mark what later phases add; a P1 store leaves those fields NULL. What each call must do: docs/store.md.
 */
#ifndef PAIMONLIVE_SYS_REALTIME_STORE_H
#define PAIMONLIVE_SYS_REALTIME_STORE_H

#include <paimonlive/arrow_c.h>
#include <paimonlive/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PML_RT_ABI_MAJOR 0u                     /* 0: may still change; 1 once the Fluss store has proven it                      */
#define PML_RT_ABI_MINOR 1u
#define PML_RT_PLUGIN_MAGIC 0x5041494D52543031ull                               /* "PAIMRT01"                                     */

struct pml_rt_expr;

typedef struct pml_rt_str   { const char *ptr; size_t len; } pml_rt_str;
typedef struct pml_rt_kv    { pml_rt_str key, value; }       pml_rt_kv;
typedef struct pml_rt_range { int64_t begin, end; }          pml_rt_range;      /* half-open                                      */

enum { PML_RT_MODE_APPEND = 1, PML_RT_MODE_PRIMARY_KEY = 2 };
enum { PML_RT_STATS_NONE = 0, PML_RT_STATS_KEYS = 1, PML_RT_STATS_FULL = 2 };

/* system columns of the transport schema (11.1), pinned by a test against rt_layout_create */
#define PML_RT_COL_VALUE_KIND   "_VALUE_KIND"         /* field id 2147483645 */
#define PML_RT_COL_SEQUENCE     "_SEQUENCE_NUMBER"    /* field id 2147483646 */
#define PML_RT_COL_OFFSET       "_REALTIME_OFFSET"    /* field id 2147473645 */
#define PML_RT_META_SEGMENT     "paimon.rt.segment"   /* stream schema metadata, 14.4 */

/* capability bits, in pml_rt_plugin.caps */
#define PML_RT_CAP_DURABLE      (1ull << 0)     /* P4 sync, durable_end, recover are real                                         */
#define PML_RT_CAP_REMOTE_OPEN  (1ull << 1)     /* P4 view_open_remote works in another process                                   */
#define PML_RT_CAP_LOOKUP       (1ull << 2)     /* P2 */
#define PML_RT_CAP_SPILL        (1ull << 3)     /* P3 */
#define PML_RT_CAP_SET_SCHEMA   (1ull << 4)     /* P3 */
#define PML_RT_CAP_COLLAPSE     (1ull << 5)     /* P2 14.6 */
#define PML_RT_CAP_MODE_APPEND  (1ull << 7)     /* tables this plugin serves: refused when the writer opens, not at the first row   */
#define PML_RT_CAP_MODE_KEY     (1ull << 8)
#define PML_RT_CAP_OWN_OFFSETS  (1ull << 6)     /* P4 backend assigns offsets itself (Fluss), 14.8                                */

typedef struct pml_rt_merge {                   /* P2: all inputs sorted in run order, same transport schema                      */
  size_t struct_size; uint32_t flags, reserved; /* bit0 collapse: keep only the last version of each key                          */
  int64_t schema_id; size_t n; const struct ArrowArray *const *inputs;          /* borrowed                                       */
} pml_rt_merge;
typedef struct pml_rt_merged {
  size_t struct_size; struct ArrowArray array;  /* owned by the caller on success                                                 */
  int64_t collapsed_rows; uint64_t collapsed_hash;
} pml_rt_merged;

struct pml_rt_query;
typedef struct pml_rt_host {
  size_t struct_size; uint32_t abi_minor, reserved; void *ctx;
  void   *(*alloc)(void *ctx, size_t bytes, size_t align);
  void    (*free)(void *ctx, void *p, size_t bytes, size_t align);
  int     (*charge)(void *ctx, int64_t delta_bytes);            /* 0, or PML_E_BUDGET when over limit (P1, P2: counts only)       */
  void    (*log)(void *ctx, int32_t level, const char *component, const char *message);
  int64_t (*mono_ms)(void *ctx);
  /* Helpers, so that a store needs no Arrow code of its own. Columns are indexes in the transport schema of schema_id; arrays have that
     schema, with or without the leading offset column (DENSE). */
  int     (*columns)(void *ctx, uint32_t *cols, size_t cap, size_t *n, int64_t schema_id, const struct pml_rt_query *query, pml_error *err);
                  /* what the query wants of this schema, matched by field id (query NULL: every column); cap too small: only n is set */
  int     (*share)(void *ctx, struct ArrowArray *out, int64_t schema_id, const struct ArrowArray *array, int64_t row, int64_t rows,
                   size_t n_cols, const uint32_t *cols, int64_t first_offset, void (*drop)(void *owner), void *owner, pml_error *err);
                  /* rows [row, row + rows) of cols over the same buffers, nothing copied; of a dense array the offset column is made:
                     first_offset + i. drop(owner) runs once, in any thread, when the last part of out is released; never on error */
  int     (*stream)(void *ctx, struct ArrowArrayStream *out, int64_t schema_id, size_t n_cols, const uint32_t *cols, int64_t segment,
                    int (*next)(void *owner, struct ArrowArray *out, pml_error *err), void (*drop)(void *owner), void *owner,
                    pml_error *err);
                  /* next leaves out empty at the end; drop(owner) at release of the stream; segment >= 0: "paimon.rt.segment"    */
  /* P1b */
  int     (*concat)(void *ctx, struct ArrowArray *out, int64_t schema_id, size_t n, const struct ArrowArray *const *inputs,
                    pml_error *err);            /* any Arrow type, nested too; inputs borrowed, all dense or none                 */
  int     (*stats)(void *ctx, struct ArrowArray *min, struct ArrowArray *max, int64_t *null_counts, int64_t schema_id, uint32_t mode,
                   const struct ArrowArray *array, pml_error *err);
                  /* one-row structs, a null = unknown (no order, NaN, not asked by mode); null_counts: caller's, one a child, -1 unknown */
  int     (*may_match)(void *ctx, const void *predicate, int64_t schema_id, int64_t rows, const struct ArrowArray *min,
                       const struct ArrowArray *max, const int64_t *null_counts);   /* 1 may, 0 cannot, <0 unknown: treat as may  */
  int     (*chunk_new)(void *ctx, void **chunk, int64_t schema_id, uint32_t dense, int64_t rows_max, int64_t bytes_max, pml_error *err);
  int     (*chunk_append)(void *ctx, int64_t *rows_taken, void *chunk, const struct ArrowArray *array, pml_error *err);
                  /* one thread at a time; copies all rows, or takes 0 rows when they do not fit                                  */
  int     (*chunk_view)(void *ctx, struct ArrowArray *out, void *chunk, int64_t rows, pml_error *err);
                  /* any thread, beside chunk_append: the first rows rows, immutable; out keeps the chunk alive                   */
  void    (*chunk_release)(void *ctx, void *chunk);
  /* P2 */
  int     (*submit)(void *ctx, void (*fn)(void *arg), void *arg);               /* background work; 0 = accepted                  */
  int     (*merge_sorted)(void *ctx, pml_rt_merged *out, const pml_rt_merge *req, pml_error *err);
  int     (*sort_run)(void *ctx, struct ArrowArray *out, int64_t schema_id, const struct ArrowArray *array, pml_error *err);
                  /* the rows of array in run order (11.2), stable                                                                */
  int     (*key_bounds)(void *ctx, int64_t *lo, int64_t *hi, int64_t schema_id, const struct ArrowArray *run,
                        const struct ArrowArray *keys, int64_t key_row, pml_error *err);
                  /* rows of run equal to the key, which may have the first key columns only; lo: of none, where they would be    */
  int     (*find_key)(void *ctx, int64_t *row, int64_t schema_id, const struct ArrowArray *array, int64_t before,
                      const struct ArrowArray *keys, int64_t key_row, pml_error *err);
                  /* the last of the first `before` rows, in any order, that is of the key; -1: none                              */
} pml_rt_host;

typedef struct pml_rt_store_params {
  size_t struct_size; uint32_t mode, reserved; const pml_rt_host *host;
  const struct ArrowSchema *schema;             /* transport schema (11.1), borrowed                                              */
  int64_t schema_id;
  pml_rt_str table_path, table_uuid, branch;    /* identity, for durable stores and messages only                                 */
  size_t n_partition; const pml_rt_kv *partition; int32_t bucket, total_buckets;
  size_t n_options; const pml_rt_kv *options;   /* table options merged with context options                                      */
  int64_t committed_end;                        /* progress at open                                                               */
  uint32_t n_key_columns, stats_mode; const uint32_t *key_columns;              /* indexes in schema; PK mode                     */
  uint32_t flags, reserved2;                    /* bit0 collapse allowed (14.6), bit1 offsets dense: every batch is DENSE (append) */
  pml_rt_str temp_dir;                          /* empty: no spill                                                                */
  uint8_t lineage[16];
} pml_rt_store_params;

#define PML_RT_BATCH_DENSE 1u                   /* no offset column; offset of row i = range.begin + i                            */
typedef struct pml_rt_batch {
  size_t struct_size; uint32_t flags, reserved; struct ArrowArray *array;       /* struct array, transport schema                 */
  int64_t schema_id; pml_rt_range range;        /* [first offset, last offset + 1)                                                */
  int64_t rows, first_sequence, last_sequence;  /* -1, -1 in append mode                                                          */
  const uint8_t *source_position; size_t source_position_len;
  uint64_t bytes;                               /* memory of the rows as the host counts it, for charge and usage; 0: unknown     */
} pml_rt_batch;

typedef struct pml_rt_segment_info {
  size_t struct_size; pml_rt_range range; int64_t rows;                         /* rows written                                   */
  int64_t collapsed_rows; uint64_t collapsed_hash; int64_t schema_id; uint64_t memory_bytes, disk_bytes;
} pml_rt_segment_info;

typedef struct pml_rt_view_info {
  size_t struct_size;
  int64_t floor, end;                           /* complete for offsets in [floor, end); empty: floor == end                      */
  int64_t first;                                /* lowest offset of any row in it, end when empty                                 */
  int64_t rows; uint64_t memory_bytes; uint32_t streams_hint, reserved;
} pml_rt_view_info;

typedef struct pml_rt_query {
  size_t struct_size; uint32_t flags, reserved; /* bit0: order not needed (count)                                                 */
  const struct ArrowSchema *read_schema;        /* system columns the host wants + projected fields, by id                        */
  const void *predicate;                        /* pass to host->may_match; NULL: none                                            */
  const struct pml_rt_expr *expr;               /* the same as a tree, for own indexes; may be NULL                               */
  pml_rt_range visible;                         /* hint; the host filters exactly                                                 */
  int64_t batch_rows;                           /* preferred batch size, 0 = any                                                  */
  int64_t limit;                                /* hint, -1 = none; append only                                                   */
  const struct ArrowArray *key_lo, *key_hi;     /* P2: optional key range [lo, hi), single-row structs of the first key columns   */
} pml_rt_query;

typedef struct pml_rt_streams {
  size_t struct_size, n; struct ArrowArrayStream *v;
  void (*free)(struct pml_rt_streams *self); void *priv;                        /* frees the vector, not the streams              */
} pml_rt_streams;

typedef struct pml_rt_usage {
  size_t struct_size; uint64_t building_bytes, sealed_bytes, pinned_only_bytes, disk_bytes;
  int64_t building_rows, sealed_rows; uint32_t runs, reserved;
} pml_rt_usage;

typedef struct pml_rt_recovered {               /* P4 */
  size_t struct_size; int64_t end;              /* next writable offset >= committed_end                                          */
  int64_t last_sequence, rows, schema_id; uint32_t sealed, reserved;            /* sealed: segments below, see 14.4 recover       */
  const uint8_t *source_position; size_t source_position_len;                   /* valid until the next store call                */
} pml_rt_recovered;

/* For each key the store found rows of: rows [first, first + n) of an array with all columns of the transport schema (offset 0), in run
   order, that lives as long as the view. 0: go on; 1: no further rows of this key are wanted; negative: give up, with that code.        */
typedef int (*pml_rt_found_fn)(void *sink, size_t key, int64_t segment, const struct ArrowArray *rows, int64_t first, int64_t n,
                               pml_error *err);

typedef struct pml_rt_view_vtbl {
  size_t struct_size;
  int  (*info)(void *view, pml_rt_view_info *out, pml_error *err);
  int  (*query_streams)(void *view, pml_rt_streams *out, const pml_rt_query *query, pml_error *err);
  void (*release)(void *view);
  /* may be NULL: lookup P2, describe P4 */
  int  (*lookup)(void *view, const struct ArrowArray *keys, const int64_t *key_rows, size_t n, pml_rt_found_fn found, void *sink,
                 pml_error *err);
                  /* all rows of the keys keys[key_rows[i]], i < n, of the key columns; found gets i. The newest rows of a key first: run
                     after run, from the last written to the first. Any number of threads at once                                 */
  int  (*describe)(void *view, uint8_t *buf, size_t cap, size_t *len, pml_error *err);
} pml_rt_view_vtbl;

typedef struct pml_rt_store_vtbl {
  size_t struct_size;
  int  (*write)(void *store, pml_rt_batch *batch, pml_error *err);
  int  (*seal)(void *store, void **segment, pml_error *err);                    /* *segment NULL: empty                           */
  int  (*segment_info)(void *segment, pml_rt_segment_info *out, pml_error *err);
  int  (*commit_streams)(void *store, pml_rt_streams *out, void *segment, pml_error *err);
  void (*segment_release)(void *segment);
  int  (*acquire_view)(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err);
  int  (*advance)(void *store, int64_t committed_end, int64_t snapshot_id, pml_error *err);
  int  (*usage)(void *store, pml_rt_usage *out, pml_error *err);
  int  (*close)(void *store, uint32_t flags, pml_error *err);                   /* bit0: discard data                             */
  void (*release)(void *store);
  int  (*set_schema)(void *store, const struct ArrowSchema *schema, int64_t schema_id, pml_error *err);        /* P3              */
  int  (*spill)(void *store, uint64_t *freed, uint64_t want_bytes, pml_error *err);                             /* P3              */
  int  (*sync)(void *store, int64_t upto_end, int64_t timeout_ms, pml_error *err);                              /* P4              */
  int  (*durable_end)(void *store, int64_t *end, pml_error *err);                                               /* P4              */
  int  (*recover)(void *store, pml_rt_recovered *out, pml_error *err);                                          /* P4              */
} pml_rt_store_vtbl;

typedef struct pml_rt_plugin {
  size_t struct_size; uint64_t magic; uint32_t abi_major, abi_minor;
  const char *name, *version; uint64_t caps;
  int  (*open)(void **backend, const pml_rt_host *host, size_t n_options, const pml_rt_kv *options, pml_error *err);
  int  (*store_open)(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params, pml_error *err);
  void (*close)(void *backend);                 /* one backend serves all its stores                                              */
  int  (*view_open_remote)(void *backend, void **view, const pml_rt_view_vtbl **vtbl, const uint8_t *desc, size_t len,
                           pml_rt_range wanted, const struct ArrowSchema *transport, pml_error *err);           /* P4              */
} pml_rt_plugin;

PML_API const pml_rt_plugin *pml_rt_plugin_entry_v1(void);                      /* the one exported symbol                        */

#ifdef __cplusplus
}
#endif

#endif
