/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real-time context from inside: the partition-buckets (PBs) of one table branch, their stores, and what is known of their
 * committed progress. Section numbers in the comments are those of docs/design/realtime.md.
 *
 * Lock order (22.1): pb.prepare_mu < pb.write_mu < pb.advance_mu < ctx.progress_mu < ctx.registry < ctx.tickets,
 * ctx.views. A plugin is
 * called only under write_mu (write, seal) and advance_mu (advance), never under progress_mu, registry or tickets (I17).
 */
#ifndef PML_REALTIME_RT_CONTEXT_H
#define PML_REALTIME_RT_CONTEXT_H

#include <paimonlive/realtime.h>
#include <paimonlive/sys/realtime_store.h>
#include <sys/types.h>

#include "realtime/rt_effective.h"
#include "realtime/rt_history.h"
#include "realtime/rt_host.h"
#include "realtime/rt_layout.h"
#include "realtime/rt_metrics.h"
#include "realtime/rt_pb.h"
#include "realtime/rt_sequences.h"
#include "realtime/rt_ticket.h"
#include "table/bucket_assigner.h"
#include "table/row_kinds.h"
#include "table/write_buffer.h"

enum {
    RT_RANK_PREPARE = 20,
    RT_RANK_WRITE = 30,
    RT_RANK_ADVANCE = 40,
    RT_RANK_PROGRESS = 50,
    RT_RANK_REGISTRY = 60,
    RT_RANK_TICKETS = 70,
    RT_RANK_VIEWS = 80,
    /* Taken before a plugin call that is legal under write_mu and advance_mu but under nothing above. */
    RT_RANK_NO_PLUGIN = RT_RANK_PROGRESS
};

/* Before each call of a store (I17): in debug builds aborts when a lock is held that no store may be called under. */
static inline void pml_rt__assert_store_call(void)
{
    pml_thread__assert_below(RT_RANK_NO_PLUGIN);
}

enum { RT_PBS_MAX = 1000000, RT_RANGES_MAX = 1 << 20 };

typedef enum rt_pb_state { RT_PB_ACTIVE = 0, RT_PB_FAILED, RT_PB_RESET_REQUIRED, RT_PB_LOST } rt_pb_state;

/* Segments of the queue are a prefix COMMITTED, then PREPARED (or FLUSHING), then SEALED (4.4). */
typedef enum rt_segment_state { RT_SEGMENT_SEALED = 0, RT_SEGMENT_FLUSHING, RT_SEGMENT_PREPARED, RT_SEGMENT_COMMITTED } rt_segment_state;

/* What the framework knows of the rows of a segment, to verify what the store gives back (9.3). */
typedef struct rt_rows_note {
    int64_t rows;
    size_t n_dense, cap_dense;
    pml_rt_range *dense; /* ranges of implied offsets; neighbours are joined */
    uint64_t explicit_hash; /* sum of mix64 over explicit offsets */
} rt_rows_note;

typedef struct rt_segment {
    void *handle;
    pml_rt_range cover; /* I3: adjacent to its neighbours */
    rt_rows_note note;
    rt_segment_state state;
    int64_t since_ns; /* the write of its first row */
    uint64_t bytes;   /* of its rows */
    int64_t first_sequence, last_sequence; /* of rows with keys; -1: none */
} rt_segment;

typedef struct rt_pb {
    atomic_int refs;
    pml_rt_context *ctx; /* borrowed: entries die with the context */
    pml_pb_key key;
    pml_pb_texts texts;
    pml_arena arena; /* key and texts */
    char name[PML_PB_NAME_BYTES];
    int32_t total_buckets;
    atomic_int state; /* rt_pb_state */
    pml_lineage lineage; /* known from the start: the table's or a fresh one */
    int64_t base_end;    /* the committed end at which its store began */
    const pml_rt_store_vtbl *vt;
    void *store;

    /* The write of the oldest row that is building, or sealed and in no commit of ours; -1: none. Gauges read them without a lock. */
    atomic_llong building_since_ns, sealed_since_ns;

    pml_mutex prepare_mu; /* guards the queue */
    rt_segment *queue;
    size_t n_queue, cap_queue;

    pml_mutex write_mu; /* guards what follows */
    int64_t next_offset, cover_begin;
    rt_rows_note building;
    uint64_t building_bytes;
    atomic_llong building_sequence; /* of the first building row with a key, -1: there is none. Read without the lock too */
    int64_t next_sequence; /* append: of files, only touched by the one flush in flight; primary key: of rows */

    pml_mutex advance_mu; /* guards reclaimed_end */
    int64_t reclaimed_end;

    int64_t committed_id; /* progress_mu: oldest snapshot in which its progress was seen (10.1: from there on absence means removed);
                             -1 none */
    int64_t adopted_end; /* progress_mu: the last committed end adopted, -1 none */
    rt_print seen_user;  /* progress_mu: who moved the entry that was adopted last, */
    rt_print own_user;   /* and whose commits of this context moved it */
} rt_pb;

struct pml_rt_context {
    atomic_int refs;   /* handles of callers, writer, entries, scans, pins, streams */
    atomic_int owners; /* handles of callers only: the last one closes */
    pml_env *env;
    unsigned forks; /* pml_process__forks at open */
    pml_arena arena; /* options */
    size_t n_overrides;
    pml_option_pair *overrides;
    const pml_rt_plugin *plugin; /* chosen at bind */
    void *backend;
    pml_rt_host_ctx *host;
    pml_effective_cache effective_cache; /* has its own lock */
    rt_sequences sequences;              /* of tables with a primary key; has its own lock */

    atomic_bool closed, poisoned, poisoning;
    atomic_bool dropped_rows; /* an aborted writer dropped rows: no further writer on this context */
    char poison_reason[256]; /* written once, before poisoned is set */
    _Atomic(pml_rt_writer *) writer;
    pml_mutex flight_mu;      /* guards flight; nothing is called under it */
    struct rt_flight *flight; /* the prepare in flight, NULL: none */

    rt_tickets tickets; /* has its own lock */

    pml_rwlock registry; /* guards table (once set it stays), pbs */
    pml_table *table;
    pml_table_options options; /* with the context's overrides */
    pml_option *all_options;   /* table options and overrides, for stores */
    size_t n_all_options;
    pml_map pbs; /* encoded key -> rt_pb */
    pml_map pbs_by_texts; /* encoded texts -> rt_pb: a progress entry belongs to one of them */
    const pml_rt_layout *layout; /* the host's */
    size_t n_transport; /* the transport schema (11.1): system columns, then the table's */
    const pml_field *transport;
    size_t n_stream_fields; /* what is asked of stores for files: the offset, then what files are made of */
    const pml_field *stream_fields;
    pml_file_shape shape;
    /* tables with a primary key */
    pml_keyed_rows rows;
    pml_merge_function function; /* asked about kinds of rows only */
    pml_row_kinds kinds;
    pml_bucket_assigner *assigner; /* dynamic buckets (rt_buckets.c), from the first writer on; else NULL */

    pml_mutex progress_mu; /* guards what follows */
    rt_point advanced;     /* the last snapshot that was advanced to */
    rt_point opened;       /* the newest one, if above it, at whose progress a PB began */
    int64_t planned_id;    /* highest id planned, -1: none */
    rt_point durable;      /* the last snapshot whose name is known to be synced */

    atomic_llong reanchor_at_ns; /* when to look next whether the progress needs an anchor; INT64_MAX: never (rt_reanchor.c) */

    /* metrics (21) */
    rt_counts counts;
    atomic_llong open_views, write_rows, write_batches, rejected_batches, seals, prepares, prepare_failures, commits,
        commit_retries, commit_idempotent_hits, advances, reclaimed_rows, plans, plan_retries, dropped_views,
        uncommitted_rows, reanchors;
    atomic_llong write_ns_sum, write_ns_max, prepare_ns_sum, prepare_ns_max, plan_ns_sum, plan_ns_max;
};

void pml_rt_context__acquire(pml_rt_context *c);
void pml_rt_context__release(pml_rt_context *c); /* of references that are not callers' handles */
/* Whether of the rows of a key the newest alone counts, whatever others there are, so that stores may drop them (realtime-pk.md 14.6). */
bool pml_rt_context__may_collapse(const pml_rt_context *c);
/* Inputs of one merge, where n want to be; counts where those are more. */
size_t pml_rt_context__fan_in(pml_rt_context *c, size_t n);
int pml_rt_context__check_process(const pml_rt_context *c, pml_error *err);
/* Every entry point: same process, not poisoned; open unless `closing` is fine. */
int pml_rt_context__check(pml_rt_context *c, pml_error *err);
/* Binds the context to the table at first use; another table, or a table that does not allow real-time: an error by name. */
int pml_rt_context__bind(pml_rt_context *c, pml_table *t, pml_error *err);
bool pml_rt_context__is_bound(pml_rt_context *c);
/* Whether rows of this table, which has a primary key, can be live (rt_refused.c). PML_E_UNSUPPORTED by name. */
int pml_rt_context__check_keyed(const pml_table *t, const pml_table_options *options, pml_error *err);
/* A broken invariant or a failed PB: everything but existing readers must be made anew. Returns PML_E_RECREATE. */
int pml_rt_context__poison(pml_rt_context *c, pml_error *err, const char *format, ...) PML_PRINTF(3, 4);
/* Effective progress of a snapshot (NULL: the latest) under this context's options. Returns owned. */
int pml_rt_context__effective(pml_effective **out, pml_rt_context *c, const pml_snapshot *snapshot, pml_error *err);
int pml_rt_context__effective_of_tag(pml_effective **out, pml_rt_context *c, const pml_snapshot *snapshot, pml_error *err);
/* The highest snapshot this context knows of: a latest one below it is a stale hint or a rollback. -1: none. */
int64_t pml_rt_context__newest_id(pml_rt_context *c);
/* The latest snapshot was shown: later plans of the latest one must not choose an older one (I11). */
void pml_rt_context__note_planned(pml_rt_context *c, int64_t snapshot_id);
/* Progress of the latest snapshot, with the directory listed when the hint is older than what is known; for callers that begin there: it
   is made durable first, unless the context knows that it is. Returns owned. */
int pml_rt_context__latest_progress(pml_effective **out, pml_rt_context *c, pml_error *err);
/* Whoever begins at the progress of a snapshot tells the caller not to send the rows below it again, so no power cut may take it away
   (rt_history.c). Costs a sync once for each snapshot that others made, and nothing for those of this context's commits. */
int pml_rt_context__make_durable(pml_rt_context *c, const pml_snapshot *s, pml_error *err);
void pml_rt_context__note_durable(pml_rt_context *c, const pml_snapshot *s);
void pml_rt_context__metric_time(atomic_llong *sum, atomic_llong *max, int64_t ns);

/* ---- PBs (rt_pbs.c) ---- */
/* Existing entry or NULL; a reference is taken. */
int pml_rt_pb__find(rt_pb **out, pml_rt_context *c, const pml_pb_key *key, pml_error *err);
/* The entry, made when absent: opens the store at the committed end of `progress`. A reference is taken. */
int pml_rt_pb__get(rt_pb **out, pml_rt_context *c, const pml_pb_key *key, const pml_effective *progress, int64_t first_sequence,
                   pml_error *err);
void pml_rt_pb__acquire(rt_pb *pb);
void pml_rt_pb__release(rt_pb *pb);
/* All entries, ordered by key; a reference is taken of each. Free the array with pml_env__free. */
int pml_rt_pb__list(rt_pb ***out, size_t *n, pml_rt_context *c, pml_error *err);
void pml_rt_pb__release_list(pml_env *env, rt_pb **v, size_t n);
/* A store call failed: NO_EFFECT passes through, anything else fails the PB and so (P1) the context. `what` names the call. */
int pml_rt_pb__store_failed(rt_pb *pb, int code, pml_error *err, const char *what);
int pml_rt_pb__check_state(const rt_pb *pb, pml_error *err);
/* From now on the PB refuses work, unless it does so already for a graver reason. Logs the first time. Lost to reset: it may be repaired
   with another history. Any thread, under any lock. */
void pml_rt_pb__refuse(rt_pb *pb, rt_pb_state to, const char *why);
/* The progress of the PB stands in this snapshot. progress_mu is held. */
void pml_rt_pb__saw_committed_locked(rt_pb *pb, int64_t snapshot_id);

/* ---- notes (rt_notes.c) ---- */
/* Room for one more range, so that add_dense cannot fail once the store has the rows. PML_E_NOMEM, PML_E_LIMIT. */
int pml_rt_note__reserve(rt_rows_note *n, pml_env *env);
void pml_rt_note__add_dense(rt_rows_note *n, pml_rt_range r);
void pml_rt_note__add_explicit(rt_rows_note *n, int64_t rows, uint64_t hash);
void pml_rt_note__clear(rt_rows_note *n, pml_env *env);
uint64_t pml_rt_note__hash(const rt_rows_note *n); /* of all rows, dense ranges included: O(rows) */

/* ---- segments and flush (rt_segment.c, rt_flush.c) ---- */
/* Seals the building rows, if any. Takes prepare_mu, then write_mu. */
int pml_rt_pb__seal(rt_pb *pb, pml_error *err);
/* Writes the SEALED segments of the PB to files; they become PREPARED. *end: the coverage end they reach, *n segments. */
typedef struct rt_flush_result {
    pml_rt_range cover;
    int64_t rows;
    size_t n_segments;
    int64_t first_sequence, last_sequence; /* of rows with keys; -1: none */
    pml_new_files files;
} rt_flush_result;
int pml_rt_pb__flush(rt_flush_result *out, bool *anything, rt_pb *pb, pml_error *err);
/* PREPARED segments inside the range become SEALED again (after an abort) or COMMITTED. */
void pml_rt_pb__mark(rt_pb *pb, pml_rt_range cover, rt_segment_state state);

/* ---- prepare in flight (rt_prepare.c) ---- */
struct pml_rt_entry {
    atomic_int refs; /* the prepared object, and a commit while it runs */
    pml_rt_context *ctx; /* holds a reference */
    rt_pb *pb;           /* holds a reference */
    int64_t identifier;
    pml_rt_range cover;
    int64_t rows;
    int64_t first_sequence, last_sequence; /* of rows with keys; -1: none */
    pml_new_files files;
    atomic_int resolved; /* 0, or 1 committed, 2 aborted */
    atomic_int unknown;  /* a commit of it has an unknown outcome: must not be aborted */
    pml_rt_pb public_pb;
};

typedef struct rt_flight {
    size_t n;
    pml_rt_entry **entries;
} rt_flight;

/* Marks entries; the flight ends when all of its entries are resolved. */
void pml_rt_entry__resolve(pml_rt_entry *e, bool committed);
void pml_rt_entry__release(pml_rt_entry *e);
/* The last caller's handle is gone: nobody will resolve the flight, which would keep the context alive for ever. */
void pml_rt_context__drop_flight(pml_rt_context *c);

#endif
