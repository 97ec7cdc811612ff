/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of real-time stores as a test that runs on any plugin. A broken promise is reported, not failed on the
 * spot, so that the kit itself can be tested on stores that are broken on purpose (broken_stores.h).
 *
 * The fixture `kit` is one store with a model of what was written into it; the cases use it, and so does the concurrent
 * test.
 */
#ifndef PML_TESTS_STORE_KIT_H
#define PML_TESTS_STORE_KIT_H

#include "realtime/rt_host.h"
#include "support/test_env.h"

typedef struct store_kit_result {
    int cases, failed;
    char first[400]; /* "case: what was wrong" of the first failure; "" */
    char names[400]; /* failed cases, separated by blanks */
} store_kit_result;

/* Runs every case on fresh stores of the plugin; the slow ones only when asked. */
void store_kit_run(store_kit_result *r, const pml_rt_plugin *plugin, bool slow_too);

/* ---- fixture ---- */
/* KEYED: a store of a table with a primary key; ORDERED: the same with a sequence field; COLLAPSED: that where rows may stand for others. */
typedef enum kit_columns { KIT_NARROW, KIT_SMALL, KIT_ALL, KIT_KEYED, KIT_ORDERED, KIT_COLLAPSED } kit_columns;

enum { KIT_SLOTS = 64, KIT_WHY_SIZE = 256, KIT_SEALS_MAX = 512 };

typedef struct kit_rows {      /* one written batch */
    struct ArrowArray columns; /* the table's, a copy; with keys those of the transport */
    int64_t *offsets;          /* with keys in the order of the run */
    int64_t first;             /* the lowest */
    int64_t rows;
} kit_rows;

typedef struct kit_view {
    void *view;
    const pml_rt_view_vtbl *vt;
    pml_rt_view_info info;
} kit_view;

typedef struct kit {
    test_env *t;
    const pml_rt_plugin *plugin;
    pml_arena arena;
    pml_field *columns;
    size_t n_columns;
    pml_rt_host_ctx *host;
    pml_rt_host services; /* what the plugin gets; cases may change it before kit_reopen */
    const pml_rt_layout *layout;
    struct ArrowSchema transport;
    void *backend, *store;
    const pml_rt_store_vtbl *vt;
    bool closed;
    uint32_t stats_mode;
    pml_rt_kv option; /* key NULL: none */
    kit_columns kind;
    bool keyed;
    int64_t next_sequence;
    int64_t seals[KIT_SEALS_MAX]; /* offsets at which segments end */
    size_t n_seals;
    int64_t missing; /* rows of the last drain that others stood for, and their hash */
    uint64_t missing_hash;
    /* model */
    kit_rows *batches;
    size_t n_batches;
    int64_t next, advanced;
    /* what is open; 0 or NULL: free slot */
    kit_view views[KIT_SLOTS];
    void *segments[KIT_SLOTS];
    pml_rt_streams streams[KIT_SLOTS];
    /* verdict */
    bool failed;
    char why[KIT_WHY_SIZE];
} kit;

/* Both report instead of failing; the rest of the fixture stays usable. */
bool store_kit_open(kit *k, const pml_rt_plugin *plugin, kit_columns columns);
/* The same with a mode of statistics, and one option of the table (key NULL: none). */
bool store_kit_open_with(kit *k, const pml_rt_plugin *plugin, kit_columns columns, uint32_t stats_mode, const char *key,
                         const char *value);
/* Releases what is still open, in an allowed order, and checks that no memory is left with the host. */
void kit_close(kit *k);
/* Another store of the same plugin and host. */
bool kit_store_open(kit *k, void **store, const pml_rt_store_vtbl **vt, int64_t committed_end);

/* Records the first failure; returns ok. */
bool kit_ok(kit *k, bool ok, const char *format, ...) PML_PRINTF(3, 4);
bool kit_rc(kit *k, int rc, const pml_error *err, const char *call);

/* A batch of random rows that begins `gap` offsets after the last one: dense, or with offsets that have gaps. Not yet part
   of the model: kit_accept makes it so, kit_drop_rows frees it. */
void kit_make_batch(kit *k, struct ArrowArray *array, pml_rt_batch *batch, kit_rows *rows, int64_t n, bool dense,
                    int64_t gap);
void kit_accept(kit *k, const pml_rt_batch *batch, kit_rows *rows);
void kit_drop_rows(kit_rows *rows);
bool kit_write(kit *k, int64_t n, bool dense, int64_t gap);
void kit_note_seal(kit *k);      /* what is written from now on is of another segment */
bool kit_seal(kit *k, int slot); /* PML_OK and a segment, or failure */
void kit_segment_release(kit *k, int slot);
bool kit_advance(kit *k, int64_t end);
bool kit_settle(kit *k); /* waits until what the store had the host's thread do is over */
bool kit_usage(kit *k, pml_rt_usage *u);

/* Acquires and checks the info against the model. */
bool kit_view_acquire(kit *k, int slot);
void kit_view_release(kit *k, int slot);
/* Opens streams over a view, asking for columns of the transport schema (NULL: all), or over a segment. */
bool kit_query(kit *k, int slot, const kit_view *view, const uint32_t *cols, size_t n_cols, int64_t batch_rows);
bool kit_commit_streams(kit *k, int slot, void *segment);
void kit_streams_release(kit *k, int slot);
/* Reads all streams of a slot to their end and releases them: they must give exactly the model's rows with offsets in
   [lo, hi), in order; rows before lo may come when earlier_ok. */
bool kit_drain(kit *k, int slot, int64_t lo, int64_t hi, bool earlier_ok, const uint32_t *cols, size_t n_cols);
/* The view shows what it showed when it was acquired. */
bool kit_view_check(kit *k, const kit_view *view);
bool kit_segment_check(kit *k, void *segment);
/* The rows of one array against the model from offset `lo` on. */
bool kit_array_check(kit *k, const struct ArrowArray *array, int64_t lo);
/* The batch is not taken, and nothing happens; nor is what is a good one but for one thing (store_kit_cases.c). */
bool kit_refuses(kit *k, pml_rt_batch *batch, const char *what);
bool kit_refuses_all_but(kit *k, const pml_rt_batch *good);

/* ---- rows with keys: store_kit_keyed.c ---- */
void kit_make_keyed_batch(kit *k, struct ArrowArray *array, pml_rt_batch *batch, kit_rows *rows, int64_t n, bool dense, int64_t gap);
/* The same as kit_drain: each stream is a sorted run of one segment, and together they give the rows. Where rows may stand for others,
   those of their key in their segment may be missing. */
bool kit_drain_keyed(kit *k, int slot, int64_t lo, int64_t hi, bool earlier_ok, const uint32_t *cols, size_t n_cols);
bool kit_keyed_array_check(kit *k, const struct ArrowArray *array);
bool kit_case_keyed_refuses(kit *k);
bool kit_case_keyed_columns(kit *k);
bool kit_case_keyed_versions(kit *k);

/* ---- cases: store_kit_cases.c ---- */
typedef struct kit_case {
    const char *name;
    kit_columns columns;
    bool (*run)(kit *k);
    bool slow;
} kit_case;
extern const kit_case kit_cases[];
extern const size_t n_kit_cases;
/* Whether the plugin says that it serves such tables. */
bool store_kit_case_applies(const pml_rt_plugin *plugin, const kit_case *c);
/* Runs one case on a fresh store; why: what was broken. */
bool store_kit_run_case(char why[KIT_WHY_SIZE], const pml_rt_plugin *plugin, const kit_case *c);
bool kit_case_open_chunk(kit *k); /* store_kit_small.c */
bool kit_case_every_type(kit *k);
bool kit_case_pruning(kit *k);
bool kit_case_allocation_failures(kit *k); /* store_kit_faults.c */
bool kit_case_struct_sizes(kit *k);

#endif
