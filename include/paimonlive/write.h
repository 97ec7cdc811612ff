/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: batches become data files (writer), files become a snapshot (commit).
 *
 *     pml_writer *w;  pml_writer_open(&w, table, &err);
 *     pml_writer_write(w, &array, &schema, &err);
 *     pml_messages *m;  pml_writer_prepare(&m, w, &err);      // files closed and durable, nothing visible yet
 *     pml_commit *c;  pml_commit_open(&c, table, "my-job", &err);
 *     pml_commit_result r = PML_COMMIT_RESULT_INIT;
 *     pml_commit_run(&r, c, &m, 1, identifier, NULL, &err); // visible to everybody
 *
 * Idempotence: user and identifier name a commit. Committing the same (user, identifier) again with PML_COMMIT_CHECK, after a
 * crash or an unknown outcome, makes nothing twice. Identifiers of one user must increase. Only that call tells for certain what is
 * committed: a snapshot that a reader sees may be that of a commit whose last sync failed, and a power cut may still take it away; the
 * check makes it durable before it says already_committed.
 *
 * Durability, by the table option commit.durability:
 *   files        (default) each file and each name is synced: data files by prepare, the rest by commit. What a call acknowledged
 *                survives a power cut.
 *   file-system  nothing is synced but, once in a commit and before its snapshot gets its name, the whole file system (syncfs), and the
 *                name afterwards. A commit that was acknowledged survives a power cut; what was only prepared need not: write it
 *                again. For writers and commits on one machine and one file system, which should not be busy with other writers: the
 *                commit waits for their data, too, and a disk error may be told to whoever asks first. Files that were prepared
 *                under another setting of this option are as durable as that one made them.
 *   none         nothing is synced. The end of the process loses nothing, but a power cut or a crash of the system may take the last
 *                commits, or leave snapshots whose files are missing or torn: remove those, or make the table again from its source.
 *
 * A table with a primary key takes changes: the batch may have one more column behind the table's own, `_VALUE_KIND` (int8, never null; as
 * PML_READ_ROW_KIND gives it), with 0 +I, 1 -U, 2 +U or 3 -D for each row. Without it all rows are +I, or what the column of the option
 * rowkind.field says. The rows of a writer wait in memory, at most write-buffer-size bytes of all partition-buckets together, are merged by the
 * table's merge engine, and become files of level 0 at prepare or before. Nothing is compacted: readers merge all files of a bucket until
 * another Paimon compacts them, and of tables with merge-engine first-row or with deletion vectors they show new rows only then. Two
 * writers that write to one bucket at the same time number their rows alike: which row of a key is newer is then open, unless
 * sequence.field says it.
 *
 * A writer and a commit belong to one thread at a time; any number of processes may commit to one table.
 */
#ifndef PAIMONLIVE_WRITE_H
#define PAIMONLIVE_WRITE_H

#include <paimonlive/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_writer pml_writer;
typedef struct pml_messages pml_messages; /* what one prepare made, per partition-bucket */
typedef struct pml_commit pml_commit;

#define PML_COMMIT_IDENTIFIER_BATCH INT64_MAX

/* Refuses by name tables that this version cannot write rightly. Returns owned. */
PML_API int pml_writer_open(pml_writer **out, pml_table *table, pml_error *err);
/* Adds rows. The schema must equal the table's (names, order, types); _VALUE_KIND may come behind it. On success the array is taken
   (array->release is NULL); on failure it is still the caller's, unchanged. Rows are routed to partitions and buckets; those that
   ignore-delete and ignore-update-before name are passed over. PML_E_SCHEMA; PML_E_INVAL (nulls in NOT NULL columns, bad buffers, a
   kind that is none or that the merge engine cannot merge, naming the row); PML_E_UNSUPPORTED (kinds other than +I without a primary key):
   nothing of the batch was added and the writer may go on. PML_E_IO, PML_E_NO_SPACE, PML_E_NOMEM, PML_E_LIMIT: part of it may have been; if
   so, the next call says PML_E_STATE and the writer can only be closed: write again with a new one what no prepare returned. */
PML_API int pml_writer_write(pml_writer *writer, struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err);
/* Merges the rows that wait, ends all open files and makes them durable. The writer may go on; its next prepare holds later rows only. Returns owned. */
PML_API int pml_writer_prepare(pml_messages **out, pml_writer *writer, pml_error *err);
PML_API void pml_writer_close(pml_writer *writer); /* deletes files that no prepare returned; NULL allowed */

PML_API size_t pml_messages_count(const pml_messages *messages); /* partition-buckets */
PML_API int64_t pml_messages_rows(const pml_messages *messages);
PML_API int64_t pml_messages_files(const pml_messages *messages);
PML_API void pml_messages_free(pml_messages *messages);

/* user NULL: a fresh random one. Stable across restarts for jobs that recover. */
PML_API int pml_commit_open(pml_commit **out, pml_table *table, const char *user, pml_error *err);
PML_API void pml_commit_close(pml_commit *commit);
PML_API const char *pml_commit_user(const pml_commit *commit);

typedef struct pml_commit_options {
    size_t struct_size;
    uint32_t flags; /* PML_COMMIT_* */
    uint32_t reserved;
    const int64_t *watermark; /* NULL: none */
    size_t n_properties;
    const pml_option_pair *properties; /* go into the snapshot */
} pml_commit_options;
#define PML_COMMIT_OPTIONS_INIT {sizeof(pml_commit_options), 0, 0, NULL, 0, NULL}
enum {
    PML_COMMIT_CHECK = 1u, /* look first whether this user committed an identifier >= this one: then do nothing */
    PML_COMMIT_EMPTY = 2u  /* make a snapshot even without files */
};

typedef struct pml_commit_result {
    size_t struct_size;
    int64_t snapshot_id; /* -1: nothing to commit */
    int64_t attempts;
    uint32_t already_committed; /* found by PML_COMMIT_CHECK or after an unknown outcome */
    uint32_t reserved;
} pml_commit_result;
#define PML_COMMIT_RESULT_INIT {sizeof(pml_commit_result), 0, 0, 0, 0}

/* Publishes one APPEND snapshot with all files. Messages are borrowed and may be committed again after an error. Errors:
   PML_E_CONFLICT (these messages were committed before: fails at once. Those that another process committed, or that came as bytes,
   are only found with PML_COMMIT_CHECK), PML_E_UNKNOWN_OUTCOME (call again with PML_COMMIT_CHECK; delete nothing), PML_E_TIMEOUT or
   PML_E_CONFLICT after the retries that the table's commit.* options allow, PML_E_IO. */
PML_API int pml_commit_run(pml_commit_result *out, pml_commit *commit, pml_messages *const *messages, size_t n, int64_t identifier,
                           const pml_commit_options *options, pml_error *err);
/* Deletes the files of messages that were certainly not committed. PML_E_CONFLICT, and nothing deleted, when a file is in the table, or
   after PML_OK or PML_E_UNKNOWN_OUTCOME of a commit of them in this process. */
PML_API int pml_commit_abort(pml_commit *commit, pml_messages *const *messages, size_t n, pml_error *err);

/* ---- replacing and removing rows ---- */
/* Partitions whose values equal all the given ones; keys that are not named may have any value, so n = 0 means every partition, or
   all of a table without partitions. Values are texts in the canonical form of the column's type (docs/rows.md), DATE and TIME also
   as the number that stands in directory names; NULL and partition.default-name mean null. */
typedef struct pml_partition_spec {
    size_t n;
    const pml_option_pair *values;
} pml_partition_spec;

/* Publishes one OVERWRITE snapshot in which the files of the messages stand instead of the rows that the partitions held: of those
   that spec names, or with spec NULL, as the option dynamic-partition-overwrite (default true) says for a table with partitions, of
   those that the messages bring rows for; else all rows. Every attempt looks at the newest snapshot: rows that others commit
   meanwhile go as well. With a spec a snapshot is made also without messages; without one, no messages change nothing (snapshot_id
   -1) where the option decides by partition. Real-time progress of what is removed begins anew (docs/realtime.md): uncommitted rows
   of a partition-bucket that had progress are dead, and live writers of it are told by PML_E_RECREATE or PML_E_CONFLICT. Options,
   idempotence and other errors as for pml_commit_run. PML_E_NOT_FOUND (no such partition key), PML_E_INVAL (a value that is none of
   its type, a file outside of the spec), PML_E_CONFLICT (a file is in the table already), PML_E_UNSUPPORTED (index files; reads of the table leave out level 0). */
PML_API int pml_commit_overwrite(pml_commit_result *out, pml_commit *commit, const pml_partition_spec *spec,
                                 pml_messages *const *messages, size_t n, int64_t identifier, const pml_commit_options *options,
                                 pml_error *err);
/* Removes all rows, or those of every partition that one of the n specs names (n at least 1), as one OVERWRITE snapshot under a fresh
   user; a snapshot is made also when there was nothing. Files stay until the older snapshots expire. After PML_E_UNKNOWN_OUTCOME the
   call may be repeated; it then also removes what came in between (pml_commit_overwrite with PML_COMMIT_CHECK does not). */
PML_API int pml_table_truncate(pml_commit_result *out, pml_table *table, pml_error *err);
PML_API int pml_table_drop_partitions(pml_commit_result *out, pml_table *table, const pml_partition_spec *specs, size_t n,
                                      pml_error *err);

/* ---- where rows go ---- */
typedef struct pml_routes pml_routes;

/* The rows of a batch that belong to one partition-bucket. */
typedef struct pml_route_info {
    size_t struct_size;
    size_t n_partition;           /* partition keys of the table */
    const char *const *partition; /* texts of the values as in paths, before escaping; null and blank: partition.default-name */
    int32_t bucket, reserved;     /* 0 in tables without buckets */
    int64_t n_rows;
    const int64_t *rows; /* row numbers in the batch, ascending */
} pml_route_info;
#define PML_ROUTE_INFO_INIT {sizeof(pml_route_info), 0, NULL, 0, 0, 0, NULL}

/* Tells which partition-bucket each row of a batch belongs to, by the same rule as the writers: for a source that replays after
   a crash and must leave out, per partition-bucket, what is committed already (pml_rt_offsets_find), and for one that deals rows
   out to several writers. The batch is in the table's columns, without _REALTIME_OFFSET; it is only looked at. Every row is in
   exactly one route; routes come in no promised order. In dynamic buckets (a primary key, bucket=-1) keys of the latest snapshot are
   where they are, and new ones where a writer that opens now would put them; each call reads the index files of their partitions.
   Returns owned (pml_routes_free). Thread-safe. PML_E_SCHEMA, PML_E_INVAL (nulls in NOT NULL columns, bad buffers), PML_E_UNSUPPORTED
   (bucket mode, type of a partition column); with dynamic buckets also what reading files may give. */
PML_API int pml_table_route(pml_routes **out, pml_table *table, const struct ArrowArray *array, const struct ArrowSchema *schema,
                            pml_error *err);
PML_API size_t pml_routes_count(const pml_routes *routes);
/* What out points to is borrowed from routes. PML_E_INVAL: no route i. */
PML_API int pml_routes_get(pml_route_info *out, const pml_routes *routes, size_t i, pml_error *err);
PML_API void pml_routes_free(pml_routes *routes); /* NULL allowed */

#ifdef __cplusplus
}
#endif

#endif
