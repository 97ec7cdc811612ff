/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time tables: rows are queryable when the write call returns, before any snapshot contains them, exactly once, and without
 * interruption while they move from memory to a data file to a committed snapshot.
 *
 *     pml_rt_context *ctx;  pml_rt_context_open(&ctx, env, NULL, &err);
 *     pml_rt_writer *w;     pml_rt_writer_open(&w, table, ctx, NULL, &err);
 *     pml_rt_write(NULL, w, &array, &schema, NULL, &err);             // visible from here, in this process
 *
 *     pml_scan_set_realtime(scan, ctx, &err);                         // scans now show files and memory as one
 *
 *     pml_rt_prepared *p;   pml_rt_prepare(&p, w, 1, NULL, &err);     // rows become files; writes go on meanwhile
 *     size_t n;  const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
 *     pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
 *     pml_rt_commit(&r, commit, e, n, 1, NULL, &err);                 // durable, and plain Paimon for everybody
 *
 * WHAT IS DURABLE: only committed rows. With the memory store a visible row is lost when the process dies before its commit.
 * Each snapshot records, per partition-bucket, the offset up to which rows are committed; after a restart the caller reads it
 * (pml_rt_offsets_load) and replays its source from there. A killed process may have left a snapshot that a power cut can still take
 * away: opening a writer, its first write to a partition-bucket, and pml_rt_offsets_load make durable what they read before they
 * rely on it. Memory grows until the caller prepares and commits.
 *
 * KEEPING PROGRESS: other writers' commits do not repeat what the newest commit of this library recorded, and when its snapshot has
 * expired all is lost. So a context that has a writer, but commits nothing for realtime.reanchor-interval (10 minutes), makes an
 * empty commit that repeats it, if the latest snapshot does not say it already. There is no thread behind this: the next write,
 * prepare, commit, advance or plan on the context does it. A program that is idle for longer than its table keeps snapshots must make
 * one of these calls now and then: pml_rt_advance to the latest snapshot is the cheapest.
 *
 * One context serves one table branch. One writer per context; one prepare in flight (prepared, not yet committed or aborted).
 * Threads: a context is thread-safe; a writer is thread-safe for write, seal and prepare; open, close and abort are exclusive.
 * Not usable in a forked child (PML_E_STATE).
 */
#ifndef PAIMONLIVE_REALTIME_H
#define PAIMONLIVE_REALTIME_H

#include <paimonlive/scan.h>
#include <paimonlive/split.h>
#include <paimonlive/write.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_rt_context pml_rt_context;
typedef struct pml_rt_writer pml_rt_writer;
typedef struct pml_rt_prepared pml_rt_prepared;
typedef struct pml_rt_entry pml_rt_entry;
typedef struct pml_rt_offsets pml_rt_offsets;

/* A partition-bucket. Partition values are the texts of the partition path before escaping, in partition-key order; a null or
   blank value is the table's partition.default-name. n_partition is 0 for unpartitioned tables. */
typedef struct pml_rt_pb {
    size_t struct_size;
    size_t n_partition;
    const char *const *partition;
    int32_t bucket;
    int32_t reserved;
} pml_rt_pb;
#define PML_RT_PB_INIT {sizeof(pml_rt_pb), 0, NULL, 0, 0}

/* ---- context ---- */
struct pml_rt_plugin;
typedef struct pml_rt_context_options {
    size_t struct_size;
    const struct pml_rt_plugin *store; /* NULL: the store that the option realtime.store names ("memory") */
    size_t n_options;                  /* realtime.* options that win over the table's; an unknown one is PML_E_INVAL */
    const pml_option_pair *options;
} pml_rt_context_options;
#define PML_RT_CONTEXT_OPTIONS_INIT {sizeof(pml_rt_context_options), NULL, 0, NULL}

/* Returns owned. The table is fixed by the first writer or scan that uses the context. */
PML_API int pml_rt_context_open(pml_rt_context **out, pml_env *env, const pml_rt_context_options *options, pml_error *err);
PML_API void pml_rt_context_acquire(pml_rt_context *context); /* one more owner; each owner closes */
/* Refuses new writers and plans and drops the caller's reference; memory goes when the last plan or stream goes. */
PML_API void pml_rt_context_close(pml_rt_context *context);

/* How often a call took how long, in the unit of its name. bucket[0] counts 0, bucket[i] values from 2^(i-1) up to below 2^i, the last
   one everything above. Since the context was opened: differences of two looks are of the time between. */
enum { PML_RT_HISTOGRAM_BUCKETS = 40 };
typedef struct pml_rt_histogram {
    int64_t count, sum, max;
    int64_t bucket[PML_RT_HISTOGRAM_BUCKETS];
} pml_rt_histogram;
#define PML_RT_HISTOGRAM_INIT {0, 0, 0, {0}}

typedef struct pml_rt_metrics {
    size_t struct_size;
    /* gauges, names as in other implementations: realtimeBuildingMemoryBytes, ... */
    int64_t building_memory_bytes, sealed_memory_bytes, total_memory_bytes;
    int64_t building_row_count, sealed_row_count, total_row_count;
    int64_t pb_active, open_views, uncommitted_rows;
    /* counters */
    int64_t write_rows, write_batches, rejected_batches, seals, prepares, prepare_failures, commits, commit_retries,
        commit_idempotent_hits, advances, reclaimed_rows, plans, plan_retries, dropped_views;
    /* calls: sum and maximum in nanoseconds */
    int64_t write_ns_sum, write_ns_max, prepare_ns_sum, prepare_ns_max, plan_ns_sum, plan_ns_max;
    int64_t reanchors; /* empty commits that only carried the progress on */
    /* further gauges */
    int64_t pb_failed, pb_reset, pb_lost; /* partition-buckets that refuse work, and why */
    int64_t run_count;                    /* chunks of rows that the stores hold */
    int64_t pinned_bytes;                 /* committed or dropped, and held by open views only */
    int64_t open_tickets, prepares_in_flight;
    int64_t oldest_view_ms;     /* age of the oldest open view; 0: none */
    int64_t uncommitted_age_ms; /* since the oldest row that no commit of this context covers was written; 0: none */
    /* further counters */
    int64_t tickets_expired, pruned_runs; /* pruned: left out of a query by their statistics */
    /* histograms; visible to committed: from the write of the first row of a segment to its commit, one value a segment */
    pml_rt_histogram write_micros, seal_micros, prepare_millis, plan_micros, visible_to_committed_millis;
    int64_t fanin_exceeded; /* a further counter: merges of more runs than realtime.read.max-fanin, which were done in steps */
} pml_rt_metrics;
#define PML_RT_METRICS_INIT \
    {sizeof(pml_rt_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, PML_RT_HISTOGRAM_INIT, PML_RT_HISTOGRAM_INIT, PML_RT_HISTOGRAM_INIT,         \
     PML_RT_HISTOGRAM_INIT, PML_RT_HISTOGRAM_INIT, 0}
/* Takes no write lock. */
PML_API int pml_rt_context_metrics(pml_rt_metrics *out, pml_rt_context *context, pml_error *err);
/* The smallest value known to be at or above that many percent (0 to 100) of the counted ones: the end of a bucket, at most twice the
   true one, and never above max. 0 of an empty histogram. */
PML_API int64_t pml_rt_histogram_percentile(const pml_rt_histogram *histogram, int percent);

/* What a process says of a context to people and to monitoring. `pml ingest --live` keeps it in a file while it runs, `pml realtime status`
   shows it; a program of its own can do the same, or answer a scraper with the text. */
typedef struct pml_rt_status {
    size_t struct_size;
    int64_t process;    /* its id; 0: not said */
    int64_t written_ms; /* of the epoch: when the metrics were looked at */
    char table[1024];   /* the table's path, longer ones cut; empty before the first writer or scan */
    pml_rt_metrics metrics;
} pml_rt_status;
#define PML_RT_STATUS_INIT {sizeof(pml_rt_status), 0, 0, {0}, PML_RT_METRICS_INIT}

/* TEXT: for people, JSON: an object a line, histograms as arrays of 40 counts, OPENMETRICS: the exposition format 1.0 of that name,
   one for all statuses, labels table and process, times in seconds. */
enum { PML_RT_STATUS_TEXT = 1, PML_RT_STATUS_JSON = 2, PML_RT_STATUS_OPENMETRICS = 3 };

/* Of this process, now. Takes no write lock. */
PML_API int pml_rt_status_get(pml_rt_status *out, pml_rt_context *context, pml_error *err);
/* A text that ends in NUL into a buffer of so many bytes. *length: bytes that it has without the NUL, also with PML_E_LIMIT: then the
   buffer is too small and holds the beginning. buffer NULL with a capacity of 0 asks for the length. */
PML_API int pml_rt_status_print(char *buffer, size_t capacity, size_t *length, const pml_rt_status *statuses, size_t n, int32_t format,
                                pml_error *err);
/* One object of the JSON form. Members that it lacks are 0, unknown ones are ignored; what is no such object: PML_E_INVAL. */
PML_API int pml_rt_status_parse(pml_rt_status *out, const char *json, size_t length, pml_error *err);

/* ---- writer ---- */
typedef struct pml_rt_writer_options {
    size_t struct_size;
} pml_rt_writer_options;
#define PML_RT_WRITER_OPTIONS_INIT {sizeof(pml_rt_writer_options)}

/* Refuses by name tables without realtime.enabled=true and table features that live writes do not support. PML_E_BUSY when the
   context, or another context of this environment, has a writer on the table; PML_E_RECREATE on a poisoned context. Makes the
   snapshots that are there durable, one sync of their folder (commit.durability=none: not); PML_E_IO when that fails: open again. */
PML_API int pml_rt_writer_open(pml_rt_writer **out, pml_table *table, pml_rt_context *context,
                               const pml_rt_writer_options *options, pml_error *err);

typedef struct pml_rt_write_options {
    size_t struct_size;
    const pml_rt_pb *pb;       /* all rows belong to it; NULL: the library routes rows */
    int64_t first_offset;      /* external offsets, consecutive: offset of row 0; -1: none (needs pb or an unrouted table) */
    const int8_t *row_kinds;   /* one per row, NULL: all +I. 0 +I, 1 -U, 2 +U, 3 -D */
} pml_rt_write_options;
#define PML_RT_WRITE_OPTIONS_INIT {sizeof(pml_rt_write_options), NULL, -1, NULL}

enum { PML_RT_WRITE_RESULT_PBS = 64 };
typedef struct pml_rt_write_result {
    size_t struct_size;
    size_t n_pbs;      /* slices applied, in partition-bucket order; may exceed what the arrays hold */
    int64_t rows;      /* rows applied */
    int32_t bucket[PML_RT_WRITE_RESULT_PBS];
    int64_t first_offset[PML_RT_WRITE_RESULT_PBS], end_offset[PML_RT_WRITE_RESULT_PBS];
} pml_rt_write_result;
#define PML_RT_WRITE_RESULT_INIT {sizeof(pml_rt_write_result), 0, 0, {0}, {0}, {0}}

/* Adds rows; when it returns PML_OK every later plan on this context shows them, unless their partition-bucket is reset by an overwrite,
   truncate, drop or rollback. Of a reset by others, also of one before the write, the context hears by its own commits and advances and
   by plans of the latest snapshot with it (of a rollback: by an advance). Until then it accepts rows that no plan and no commit will show;
   from then on writes to that partition-bucket, seals and prepares are PML_E_RECREATE: replay from the recorded end.
   The schema must equal the table's columns; with realtime.offset-mode=external a first column _REALTIME_OFFSET (int64, not null,
   strictly increasing) or first_offset gives the offsets, else the library numbers rows 0, 1, 2, ... per partition-bucket. out may be
   NULL. After any return the caller looks at array->release: NULL means taken. A failure with PML_ERRF_NO_EFFECT changed nothing and may
   be repeated; a batch over several partition-buckets is applied in their order and `out` lists what was applied. PML_E_SCHEMA,
   PML_E_INVAL, PML_E_OFFSET_ORDER, PML_E_OVERFLOW, PML_E_RECREATE, PML_E_PROGRESS_LOST. */
PML_API int pml_rt_write(pml_rt_write_result *out, pml_rt_writer *writer, struct ArrowArray *array,
                         const struct ArrowSchema *schema, const pml_rt_write_options *options, pml_error *err);
/* Ends the building segment of every partition-bucket, without writing files. */
PML_API int pml_rt_seal(pml_rt_writer *writer, pml_error *err);

typedef struct pml_rt_prepare_options {
    size_t struct_size;
} pml_rt_prepare_options;
#define PML_RT_PREPARE_OPTIONS_INIT {sizeof(pml_rt_prepare_options)}
/* Seals, writes the sealed rows to data files and returns one entry per partition-bucket with new rows (n may be 0). Writes go
   on. PML_E_BUSY while another prepare is neither committed nor aborted. On failure everything is as before. Returns owned. */
PML_API int pml_rt_prepare(pml_rt_prepared **out, pml_rt_writer *writer, int64_t identifier,
                           const pml_rt_prepare_options *options, pml_error *err);
/* Borrowed, valid until free. */
PML_API const pml_rt_entry *const *pml_rt_prepared_get(size_t *n, const pml_rt_prepared *prepared);
PML_API void pml_rt_prepared_free(pml_rt_prepared *prepared);

typedef struct pml_rt_entry_info {
    size_t struct_size;
    const pml_rt_pb *pb; /* borrowed from the entry */
    int64_t begin, end;  /* half-open range of offsets this entry accounts for */
    int64_t rows, files;
} pml_rt_entry_info;
#define PML_RT_ENTRY_INFO_INIT {sizeof(pml_rt_entry_info), NULL, 0, 0, 0, 0}
PML_API int pml_rt_entry_get(pml_rt_entry_info *out, const pml_rt_entry *entry, pml_error *err);

/* PML_E_STATE, naming partition-buckets, while accepted rows are not covered by a prepare; the writer stays open then. */
PML_API int pml_rt_writer_close(pml_rt_writer *writer, pml_error *err);
/* Closes and drops uncovered rows; if any were dropped the context must be recreated (PML_E_RECREATE). NULL allowed. */
PML_API void pml_rt_writer_abort(pml_rt_writer *writer);

/* ---- commit ---- */
typedef struct pml_rt_commit_result {
    size_t struct_size;
    int64_t snapshot_id, latest_id, attempts;
    uint32_t already_committed, reserved;
} pml_rt_commit_result;
#define PML_RT_COMMIT_RESULT_INIT {sizeof(pml_rt_commit_result), 0, 0, 0, 0, 0}

/* Publishes files and progress of the entries in one snapshot. May be repeated with the same entries: nothing happens twice.
   Unless realtime.auto-advance=false the entries' context is advanced. PML_E_INVAL (empty, gap or overlap among the entries),
   PML_E_CONFLICT (an earlier prepare is missing, partial overlap, covered by another writer, reset meanwhile),
   PML_E_PROGRESS_LOST, PML_E_UNKNOWN_OUTCOME (call again with the same entries; never abort them). watermark NULL: none.
   Entries carry the identifier of their prepare, which is the one that counts; `identifier` is for entries that will come from
   bytes of another process, and is not used for those of this one. */
PML_API int pml_rt_commit(pml_rt_commit_result *out, pml_commit *commit, const pml_rt_entry *const *entries, size_t n,
                          int64_t identifier, const int64_t *watermark, pml_error *err);
/* Gives entries up: deletes their files, their rows stay in memory for the next prepare. PML_E_CONFLICT for committed ones. */
PML_API int pml_rt_progress_abort(pml_commit *commit, const pml_rt_entry *const *entries, size_t n, pml_error *err);
/* Lets go of memory below the progress of a committed snapshot. Idempotent; pinned plans and streams are not touched. An id older
   than what the context knows does nothing. But when the newest snapshot that the context saw is gone with all above it, or is
   another one of the same id, the table was rolled back: then the latest snapshot counts, partition-buckets whose progress went back
   or was moved by another writer since want a new context (PML_E_RECREATE from writes, seals and prepares; plans leave their memory
   out), and the others go on. Roll back only while no writer is active, then advance or open a new context. A plugin's error
   is returned after all other stores were told; call again. PML_E_INVAL, PML_E_NOT_FOUND, PML_E_RECREATE, PML_E_BUSY (other
   advances came first a hundred times). */
PML_API int pml_rt_advance(pml_rt_context *context, int64_t snapshot_id, pml_error *err);

/* ---- recovery ---- */
/* Effective progress of a snapshot (-1: latest): survives commits by writers that do not know it. Returns owned.
   A source may let go of what lies below these ends: the snapshots that are there are made durable before the call returns, by one
   sync of their folder (commit.durability=none: not). PML_E_INVAL for an id below 1. PML_E_NOT_FOUND. PML_E_PROGRESS_LOST is not
   returned here: see lost below. PML_E_IO also when that sync fails, or the progress file that a snapshot names was taken away. */
PML_API int pml_rt_offsets_load(pml_rt_offsets **out, pml_table *table, int64_t snapshot_id, pml_error *err);
PML_API void pml_rt_offsets_free(pml_rt_offsets *offsets);
PML_API int64_t pml_rt_offsets_find(const pml_rt_offsets *offsets, const pml_rt_pb *pb); /* -1: none recorded, or lost */
PML_API size_t pml_rt_offsets_count(const pml_rt_offsets *offsets);
/* 1: there was progress, but the snapshot that recorded it has expired. Nothing is known of any partition-bucket, count is 0,
   and replaying everything would write rows twice. */
PML_API int pml_rt_offsets_all_lost(const pml_rt_offsets *offsets);

typedef struct pml_rt_offset_info {
    size_t struct_size;
    const pml_rt_pb *pb; /* borrowed */
    int64_t tiered;      /* exclusive committed end */
    uint32_t lost, reset;
    char lineage[33];    /* hex, "" when unknown */
} pml_rt_offset_info;
#define PML_RT_OFFSET_INFO_INIT {sizeof(pml_rt_offset_info), NULL, 0, 0, 0, {0}}
PML_API int pml_rt_offsets_get(pml_rt_offset_info *out, const pml_rt_offsets *offsets, size_t i, pml_error *err);

/* Up to where a partition-bucket is in the table, said by somebody who knows. */
typedef struct pml_rt_statement {
    const pml_rt_pb *pb;
    int64_t end; /* exclusive; 0: nothing of it, replay it from the start */
} pml_rt_statement;

/* Ends the loss of progress (PML_E_PROGRESS_LOST), also of a progress file that a snapshot names and somebody took away (PML_E_IO that
   names it): publishes a snapshot without files that records the stated ends. The last known end (tiered of the lost entry) leaves the
   entry as it was, so that live contexts of its history go on after the next advance; another value begins a new history. Lost entries
   that are not stated stay lost. When nothing is known of any (pml_rt_offsets_all_lost, or the file is missing) every partition-bucket
   that has files must be stated. To state an end that is not lost is PML_E_INVAL unless it is that end; nothing to repair makes no
   snapshot (already_committed), so the call may be repeated after PML_E_UNKNOWN_OUTCOME. Look at the rows before you state an end: too
   low a value writes rows twice, too high a one leaves rows out. */
PML_API int pml_rt_progress_repair(pml_rt_commit_result *out, pml_table *table, const pml_rt_statement *statements, size_t n,
                                   pml_error *err);

enum { PML_RT_CLEAN_DRY_RUN = 1u };
#define PML_RT_CLEAN_OLDER_THAN_MS (INT64_C(24) * 3600 * 1000)
typedef struct pml_rt_clean_options {
    size_t struct_size;
    uint32_t flags, reserved;
    int64_t older_than_ms; /* younger files stay. Less than the longest commit takes away the progress of commits under way */
    /* Told of each file that goes, or in a dry run would go; NULL: nobody. path is borrowed for the call. */
    void (*orphan)(void *ctx, const char *path, int64_t size_bytes, int64_t mtime_ms);
    void *ctx;
} pml_rt_clean_options;
#define PML_RT_CLEAN_OPTIONS_INIT {sizeof(pml_rt_clean_options), 0, 0, PML_RT_CLEAN_OLDER_THAN_MS, NULL, NULL}

typedef struct pml_rt_clean_result {
    size_t struct_size;
    int64_t orphans, orphan_bytes; /* removed, or in a dry run to be removed */
    int64_t referenced;            /* named by a snapshot, tag or changelog of some branch */
    int64_t young, newest;         /* not named, but too young, or the newest of its branch, which always stays */
} pml_rt_clean_result;
#define PML_RT_CLEAN_RESULT_INIT {sizeof(pml_rt_clean_result), 0, 0, 0, 0, 0}

/* Removes progress files (*.offsets) that no snapshot, tag or changelog of any branch of the table names any more: expiry by others
   leaves them behind. The newest file of a branch always stays: it is the sign that there was progress once. Files that were there at
   the start are judged by what refers to them afterwards, so commits may go on beside it. Reads the whole before it removes anything:
   a snapshot or tag that cannot be read is an error (PML_E_CORRUPT, PML_E_IO) and nothing goes; the same when the folders of
   snapshots, changelogs and tags cannot be synced, which is done before the first removal: a snapshot that somebody removed must not
   be back after a power cut without its file. When a removal fails the others are tried and the first error is returned. options NULL: defaults. out may be NULL. */
PML_API int pml_rt_offsets_clean(pml_rt_clean_result *out, pml_table *table, const pml_rt_clean_options *options, pml_error *err);

/* ---- read ---- */
/* Plans of this scan show the context's uncommitted rows, merged with the snapshot. NULL takes it off again. */
PML_API int pml_scan_set_realtime(pml_scan *scan, pml_rt_context *context, pml_error *err);

/* ---- live splits as bytes ---- */
/* Split i of a plan: one without uncommitted rows as pml_plan_split_serialize makes it; else a live split (docs/protocol.md), which
   names the disk part and carries a ticket for the memory. A ticket pins its view, independently of the plan, until the split is
   opened or released, the time realtime.read-view-ttl (5 minutes; monotonic clock) is over, or the context is closed; each call
   draws another one. Who has the bytes can read the rows: treat them as secret. Returns owned (pml_text_clear). PML_E_INVAL,
   PML_E_STATE, PML_E_RECREATE. */
PML_API int pml_rt_split_serialize(pml_text *out, const pml_plan *plan, size_t i, pml_error *err);
/* As pml_plan_from_splits, of live and ordinary splits, in the process and context that planned the live ones, which the scan must
   have (pml_scan_set_realtime). All tickets are used up, or none: after a failure the same bytes may be given again. The plan may be
   read many times. PML_E_TICKET: used, released, expired, or of another context: plan again. PML_E_SCHEMA: the scan's table is open
   at another schema. Returns owned. */
PML_API int pml_rt_split_deserialize(pml_plan **out, const pml_scan *scan, const pml_blob *splits, size_t n, pml_error *err);
/* Lets go of what the split holds. Idempotent, also for opened and expired ones. PML_E_TICKET: of another context. */
PML_API int pml_rt_split_release_ticket(pml_rt_context *context, const pml_blob *split, pml_error *err);

/* ---- stores ---- */
/* Makes a store known to the environment by its name; the plugin must outlive it. PML_E_INVAL (no plugin, or the name is taken),
   PML_E_UNSUPPORTED (another plugin ABI), PML_E_LIMIT. Thread-safe. */
PML_API int pml_rt_plugin_register(pml_env *env, const struct pml_rt_plugin *plugin, pml_error *err);
enum { PML_RT_PLUGIN_NAME_SIZE = 64 };
/* Registers the store of a shared object, given with its folder (./x.so), and writes its name to name_out (may be NULL). The object
   is never unloaded, and its code runs with all rights of this process: load what you trust. The same path may be loaded again.
   PML_E_NOT_FOUND: no such file. PML_E_PLUGIN: the system cannot load it. PML_E_INVAL: no store plugin, or its name is taken.
   PML_E_UNSUPPORTED: another plugin ABI. PML_E_LIMIT. Thread-safe. */
PML_API int pml_rt_plugin_load(char name_out[PML_RT_PLUGIN_NAME_SIZE], pml_env *env, const char *path, pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
