/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading: say what you want (scan), decide it once (plan), get Arrow batches (read).
 *
 *     pml_scan *scan;  pml_scan_new(&scan, table, &err);
 *     pml_scan_set_columns(scan, (const char *[]){"carrier", "dep_delay"}, 2, &err);
 *     pml_plan *plan;  pml_scan_plan(&plan, scan, &err);
 *     struct ArrowArrayStream stream;
 *     pml_read_open(&stream, plan, NULL, &err);
 *     ... stream.get_next(&stream, &array) ...; stream.release(&stream);
 *     pml_plan_free(plan);  pml_scan_free(scan);
 *
 * A plan names one snapshot; it may be read many times, and its streams stay valid after the plan, scan and table are gone.
 * Columns are matched to data files by name, as in Java. A file whose own schema is not the table's is PML_E_CORRUPT (files of
 * other makers, without field ids, are cast; columns that they lack are null). Rows come without any promised order, except that inside one
 * partition-bucket of a table with fixed buckets they come in write order, and rows in memory come after those on disk in the
 * order of their offsets (in tables without buckets every writer numbers its files from 0, as in Java). Scan and stream belong to one thread at a time; a plan is thread-safe.
 */
#ifndef PAIMONLIVE_SCAN_H
#define PAIMONLIVE_SCAN_H

#include <paimonlive/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_predicate pml_predicate;
typedef struct pml_scan pml_scan;
typedef struct pml_plan pml_plan;

/* ---- predicates: immutable trees ---- */
typedef enum pml_predicate_op {
    PML_OP_EQ = 1,
    PML_OP_NE,
    PML_OP_LT,
    PML_OP_LE,
    PML_OP_GT,
    PML_OP_GE,
    PML_OP_IN,
    PML_OP_NOT_IN,
    PML_OP_IS_NULL,
    PML_OP_IS_NOT_NULL,
    PML_OP_STARTS_WITH,
    PML_OP_ENDS_WITH,
    PML_OP_CONTAINS
} pml_predicate_op;

/* A value as text in the canonical form of the column's type (docs/rows.md): 12, -0.30, 2024-01-02T03:04:05.000, true,
   abc (strings unquoted), 00ff (binaries in hex). text NULL: null. */
typedef struct pml_literal {
    const char *text;
    size_t len;
} pml_literal;

/* column OP literal(s). A comparison with null is false for every row. Errors: PML_E_NOT_FOUND (no such column), PML_E_INVAL
   (text is no value of the type, number of literals, nested column with a comparison). Returns owned. The column stays the same one
   whatever it was called at the snapshot that is read; for the names and types of then take `table` from pml_scan_table. */
PML_API int pml_predicate_leaf(pml_predicate **out, const pml_table *table, const char *column, pml_predicate_op op,
                               const pml_literal *literals, size_t n, pml_error *err);
/* The children are moved in, also on failure. n = 0: true for AND, false for OR. */
PML_API int pml_predicate_and(pml_predicate **out, pml_env *env, pml_predicate **children, size_t n, pml_error *err);
PML_API int pml_predicate_or(pml_predicate **out, pml_env *env, pml_predicate **children, size_t n, pml_error *err);
PML_API void pml_predicate_free(pml_predicate *predicate);

/* ---- scan ---- */
PML_API int pml_scan_new(pml_scan **out, pml_table *table, pml_error *err);
PML_API void pml_scan_free(pml_scan *scan);
/* The table with the columns that the scan sees now: those of the chosen snapshot's schema in a time travel, which is looked for here, else
   the scan's own table. For predicates and names of columns: the scan itself stays what it is. PML_E_NOT_FOUND as when planning. Returns
   owned; free with pml_table_release. */
PML_API int pml_scan_table(pml_table **out, const pml_scan *scan, pml_error *err);
/* Columns in the wanted order; each at most once; n = 0: no columns, only row counts. Default: all. */
PML_API int pml_scan_set_columns(pml_scan *scan, const char *const *names, size_t n, pml_error *err);
/* Rows for which the predicate is not true are left out, exactly. Copied. NULL: none. */
PML_API int pml_scan_set_predicate(pml_scan *scan, const pml_predicate *predicate, pml_error *err);
/* At most n rows, any of them. -1: all. */
PML_API int pml_scan_set_limit(pml_scan *scan, int64_t n, pml_error *err);

/* Which snapshot is read. The last of these calls counts; without any, the option of the table that says so (scan.snapshot-id,
   scan.tag-name, scan.timestamp-millis, scan.watermark), else the latest. The columns are those of the chosen snapshot's schema, for
   the latest those of the table. It is looked for when the plan is made: PML_E_NOT_FOUND then says what there is instead. With a
   real-time context the plan shows the rows in memory on top of the chosen snapshot, or answers PML_E_PROGRESS_GAP when memory has
   already let go of rows that a newer snapshot holds and this one lacks. */
/* By id. -1: the latest. */
PML_API int pml_scan_set_snapshot(pml_scan *scan, int64_t snapshot_id, pml_error *err);
/* That of a tag, also when the snapshot itself has expired. The name is copied. PML_E_INVAL: no name of a tag. */
PML_API int pml_scan_set_tag(pml_scan *scan, const char *name, pml_error *err);
/* The newest one committed at or before this time, in milliseconds since 1970. None is that old: PML_E_NOT_FOUND. */
PML_API void pml_scan_set_timestamp(pml_scan *scan, int64_t time_ms);
/* The oldest one whose watermark is this or larger. None is so far: PML_E_NOT_FOUND. Of several snapshots with exactly the wanted
   watermark, or time, the one that Java 1.4.2 takes: any of them. */
PML_API void pml_scan_set_watermark(pml_scan *scan, int64_t watermark);

/* What changed, instead of what there is: options incremental-between and its kin, or these calls, of which, and of those above, the last
   counts. Rows come with their kind (PML_READ_ROW_KIND): a row may be there as -D, and several times. Columns are those of the table. Not
   with rows in memory.
     DELTA      what APPEND snapshots added, row by row (of tables with deletion vectors or merge-engine first-row nothing before a
                compaction, as in Java 1.4.2)
     CHANGELOG  what the changelogs of the snapshots hold: tables with a changelog-producer; those of OVERWRITE snapshots are left out
     DIFF       what differs: with a primary key the later row where it is new or other (rows that went away only in audit_log, as -D),
                else the rows of files that only the later snapshot has
     AUTO       CHANGELOG if the table has a changelog-producer, else DELTA */
enum { PML_CHANGES_AUTO = 0, PML_CHANGES_DELTA = 1, PML_CHANGES_CHANGELOG = 2, PML_CHANGES_DIFF = 3 };
/* The snapshots behind `after`, up to and with `upto`. PML_E_INVAL: upto lies before after. What is not there any more is found out when
   the plan is made: PML_E_NOT_FOUND names what there is. */
PML_API int pml_scan_set_changes(pml_scan *scan, int64_t after, int64_t upto, int mode, pml_error *err);
/* DIFF between the snapshots of two tags. The names are copied. */
PML_API int pml_scan_set_changes_of_tags(pml_scan *scan, const char *after, const char *upto, pml_error *err);

/* ---- plan ---- */
/* Decides snapshot, files and (with a real-time context) memory views. Errors: PML_E_NOT_FOUND (snapshot), PML_E_UNSUPPORTED
   (a file or index that this version cannot read rightly), PML_E_CORRUPT, PML_E_SNAPSHOT_GONE. Returns owned. */
PML_API int pml_scan_plan(pml_plan **out, pml_scan *scan, pml_error *err);
PML_API void pml_plan_free(pml_plan *plan);
PML_API int64_t pml_plan_snapshot_id(const pml_plan *plan); /* -1: the table has no snapshot */
PML_API size_t pml_plan_split_count(const pml_plan *plan);
/* Number of rows of the plan (predicate and limit applied). From metadata and memory where that is exact, else by reading. With
   partial-update.remove-record-on-sequence-group, where rows depend on the columns that are read, it is that of all columns. */
PML_API int pml_plan_count(int64_t *rows, pml_plan *plan, pml_error *err);

typedef struct pml_split_info {
    size_t struct_size;
    int64_t files, rows_on_disk; /* rows before any predicate */
    int64_t rows_in_memory;      /* uncommitted rows that this split shows */
    int32_t bucket, reserved;
    const char *partition; /* "k=v/k2=v2", "" when unpartitioned; borrowed from the plan */
} pml_split_info;
#define PML_SPLIT_INFO_INIT {sizeof(pml_split_info), 0, 0, 0, 0, 0, NULL}
PML_API int pml_plan_split_get(pml_split_info *out, const pml_plan *plan, size_t i, pml_error *err);

/* ---- read ---- */
typedef struct pml_read_options {
    size_t struct_size;
    int64_t batch_rows; /* 0: the table's read.batch-size */
    int64_t split;      /* -1: all splits, else one of them */
    uint32_t validate;  /* PML_VALIDATE_*: how much of a data file is believed */
    uint32_t threads;   /* that read at once; 0 and 1: the caller's own and no other. At most PML_READ_THREADS_MAX */
    uint32_t flags;     /* PML_READ_ROW_KIND or 0 */
    uint32_t reserved;  /* 0 */
} pml_read_options;
enum { PML_READ_THREADS_MAX = 64 };
/* One more column behind those of the plan: `_VALUE_KIND`, int8, never null: the kind of the row, 0 +I or 2 +U, in plans of changes also 1 -U
   and 3 -D. It is that of the merged row where the versions of a key were merged; rows that are read as they lie in their file,
   and all rows of tables without a primary key, are +I, as in Java. pml_rows_print shows it as "_kind". */
enum { PML_READ_ROW_KIND = 1 };
/* A data file may be damaged, or the work of a program that breaks the rules, and nothing in it proves who wrote it, so the rules are
   the same for all files. DEFAULT is what the table's option read.validate says: full (the default) or basic.
     BASIC: what keeps memory safe, and the file's identity (its length and number of rows are those of the manifest; the footer
            agrees with itself; every array has the lengths and offsets that its type needs).
     FULL:  also the values: page checksums where the file has them, text is UTF-8, a DECIMAL has no more digits than its type, a TIME
            is inside a day, a VARIANT is well-formed, no null in a NOT NULL column.
   What a check finds is PML_E_CORRUPT with the file and the column. Under BASIC such values come out as they are. */
enum { PML_VALIDATE_DEFAULT = 0, PML_VALIDATE_BASIC = 1, PML_VALIDATE_FULL = 2 };
#define PML_READ_OPTIONS_INIT {sizeof(pml_read_options), 0, -1, 0, 0, 0, 0}

/* With threads > 1 the stream has as many threads of its own until it is released, which stops and joins them; it still belongs to
   one thread at a time, and gives the same rows in the same order, batches cut elsewhere. Files are read ahead, large ones in parts
   that begin where their pages do: per thread at most two parts, each up to 16 MiB of batches (one batch, if that is larger);
   and of runs that are merged 32 MiB for all threads. With an allocator, file system or store of your own, expect calls from these threads.
   Not to be used in a child process made by fork. */
/* Batches of the plan as struct arrays in the plan's columns; the Arrow formats of types whose form is not their own name: CHAR, VARCHAR
   u; BINARY, VARBINARY, BLOB z; TIME ttm; TIMESTAMP(p) tsm: to 3, tsu: to 6, tsn: beyond, with LOCAL TIME ZONE tsm:UTC and so on; ARRAY
   +l; MAP +m; MULTISET +m to int32; VECTOR<T, n> +w:n; VARIANT +s of "value" z and "metadata" z, the Variant encoding of Parquet (what is
   shredded in files comes whole, of at most 128 MiB). A BLOB of 2 GiB or more is PML_E_LIMIT, and only when it is read. Each field says its type in the metadata "paimon.type". Returns owned (release the stream). A read error comes out of
   get_next as an errno value with get_last_error text; pml_stream_error gives the full error. A stream that failed stays failed. */
PML_API int pml_read_open(struct ArrowArrayStream *out, pml_plan *plan, const pml_read_options *options, pml_error *err);
/* Copies the error of the last failed call on one of our streams into err and returns its code; PML_E_INVAL for a stream that is
   not ours. */
PML_API int pml_stream_error(struct ArrowArrayStream *stream, pml_error *err);

/* ---- streams: the table snapshot by snapshot ----
 *
 *     pml_stream_scan *s;  pml_stream_scan_new(&s, scan, NULL, &err);
 *     for (pml_plan *plan; pml_stream_scan_next(&plan, s, &err) == PML_OK; )
 *         if (plan == NULL) { ... nothing new yet: wait, or end ... }
 *         else { ... pml_read_open with PML_READ_ROW_KIND ...; pml_plan_free(plan);
 *                int64_t next = pml_stream_scan_checkpoint(s);    // keep it with what was done with the rows,
 *                pml_stream_scan_notify(s, next, &err); }         // then tell the table, if it knows this consumer
 *
 * A plan holds what one snapshot changed: the rows that it added, or its changelog if the table has a changelog-producer; at the start
 * perhaps the whole table. Snapshots that change no rows are passed over. Changelogs that outlive their snapshots are read, too. One thread at a time. */
typedef struct pml_stream_scan pml_stream_scan;

enum {
    PML_STREAM_OPTIONS = 0,      /* what the table's options scan.mode and scan.* say; without them LATEST_FULL */
    PML_STREAM_LATEST_FULL,      /* the latest snapshot as a whole, then changes */
    PML_STREAM_LATEST,           /* changes behind the latest snapshot */
    PML_STREAM_SNAPSHOT,         /* changes from snapshot `value` on; from the first that is left, if that is a later one */
    PML_STREAM_SNAPSHOT_FULL,    /* snapshot `value` as a whole, then changes */
    PML_STREAM_TIMESTAMP,        /* changes of snapshots that are not older than `value`, milliseconds since 1970 */
    PML_STREAM_COMPACTED_FULL    /* the newest compacted snapshot as a whole (else the latest), then changes */
};
enum { PML_STREAM_IGNORE_PROGRESS = 1 }; /* the consumer begins anew; also option consumer.ignore-progress */
typedef struct pml_stream_options {
    size_t struct_size;
    int32_t start;  /* PML_STREAM_* */
    uint32_t flags; /* PML_STREAM_IGNORE_PROGRESS or 0 */
    int64_t value;
    /* The stream goes on where this consumer of the table is, if it has been somewhere (file consumer/consumer-<name>), and Java's expiry keeps the
       snapshots that it has not seen. NULL: option consumer-id; without that none. Copied. */
    const char *consumer;
} pml_stream_options;
#define PML_STREAM_OPTIONS_INIT {sizeof(pml_stream_options), 0, 0, 0, NULL}

/* Columns and predicate are those of the scan now; which snapshot it names and its limit do not matter, and it may be freed. options NULL:
   the table's. Of the table's options also scan.bounded.watermark, streaming.read.snapshot.delay, streaming-read-overwrite and
   streaming-read-append-overwrite count; consumer.expiration-time is for those who commit. Returns owned. Errors: PML_E_INVAL (a start that is none,
   or at a tag, a watermark or between snapshots; a name that no file can have), PML_E_UNSUPPORTED (a scan with rows in memory). */
PML_API int pml_stream_scan_new(pml_stream_scan **out, const pml_scan *scan, const pml_stream_options *options, pml_error *err);
PML_API void pml_stream_scan_free(pml_stream_scan *stream);
/* What comes next; owned. *out NULL: nothing new yet, ask again later; or the stream has ended. Errors: PML_E_SNAPSHOT_GONE (what
   comes next has expired: the message says what is left), PML_E_NOT_FOUND (the start is not there; or the table was made anew), those of planning.
   After an error the stream stands where it stood. */
PML_API int pml_stream_scan_next(pml_plan **out, pml_stream_scan *stream, pml_error *err);
/* Whether it ended: a snapshot with a watermark beyond scan.bounded.watermark was met. */
PML_API int pml_stream_scan_ended(const pml_stream_scan *stream);
/* The snapshot that comes next; -1 before the first call of pml_stream_scan_next that found one. */
PML_API int64_t pml_stream_scan_checkpoint(const pml_stream_scan *stream);
/* Goes on with the changes of this snapshot; -1: starts anew. */
PML_API int pml_stream_scan_restore(pml_stream_scan *stream, int64_t next, pml_error *err);
/* Everything before snapshot `next` is done with: written down for the consumer. Nothing without a consumer, or with -1. */
PML_API int pml_stream_scan_notify(pml_stream_scan *stream, int64_t next, pml_error *err);

/* ---- system tables ---- */
typedef struct pml_system_options {
    size_t struct_size;
    const char *const *columns; /* in the wanted order, each at most once; NULL: all */
    size_t n_columns;
    const pml_predicate *predicate; /* rows for which it is true; of pml_system_predicate_leaf. NULL: none */
    uint32_t flags;    /* PML_READ_ROW_KIND, for the tables whose rows are those of the table, ro and row_tracking, or 0 */
    uint32_t reserved; /* 0 */
} pml_system_options;
#define PML_SYSTEM_OPTIONS_INIT {sizeof(pml_system_options), NULL, 0, NULL, 0, 0}

/* What Java's TABLE$name shows (docs/system-tables.md has the columns): snapshots, schemas, options, tags, branches, consumers,
   statistics, aggregation_fields; of one snapshot files, file_key_ranges, manifests, partitions, buckets, table_indexes; and the table's
   own rows: row_tracking (its columns, _ROW_ID and _SEQUENCE_NUMBER), ro (of a table with a primary key only the files of the highest
   level, unmerged with newer ones), audit_log ("rowkind" STRING +I -U +U -D, then the table's columns; keys whose last row is a delete
   are there, too) and binlog (the same, each column an array of one value). The snapshot is that of the table's scan.* options, else the
   latest; rows in memory are never shown. Times are the wall clock of the process. options NULL: all columns.
   Returns owned (release the stream). Errors: PML_E_NOT_FOUND (no such system table or column; the message has the known names),
   PML_E_UNSUPPORTED ("needs system-table:<name>"), and those of planning and reading. */
PML_API int pml_system_table_open(struct ArrowArrayStream *out, pml_table *table, const char *name, const pml_system_options *options,
                                  pml_error *err);
/* The columns of a system table, in the form of pml_table_arrow_schema. Returns owned (release it). Errors as above. */
PML_API int pml_system_table_schema(struct ArrowSchema *out, pml_table *table, const char *name, pml_error *err);
/* As pml_predicate_leaf, on a column of the system table `name`, for a read of just that one. Returns owned. */
PML_API int pml_system_predicate_leaf(pml_predicate **out, pml_table *table, const char *name, const char *column, pml_predicate_op op,
                                      const pml_literal *literals, size_t n, pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
