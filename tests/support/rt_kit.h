/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time tables for tests. Column 0 is "id BIGINT NOT NULL", numbered by the kit from 0 on; column 1 is "p STRING", the
 * partition key where the table has one; column 2 is "v STRING", a text made from the id.
 *
 *     rt_kit k;
 *     rt_kit_create(&k, NULL, "", "");
 *     rt_kit_start(&k, NULL, NULL);
 *     rt_kit_write(&k, 10, "a");
 *     rt_kit_must_show(&k, 0, 10);
 *     rt_kit_cycle(&k, 1);                  // prepare, commit, advance
 *     rt_kit_close(&k);
 */
#ifndef PML_TESTS_RT_KIT_H
#define PML_TESTS_RT_KIT_H

#include <paimonlive/realtime.h>
#include <paimonlive/sys/file_system.h>
#include <paimonlive/sys/realtime_store.h>

#include "meta/snapshot.h"
#include "support/test_arrow.h"
#include "support/test_env.h"

enum { RT_KIT_ROWS_MAX = 100000 };

typedef struct rt_kit {
    test_env *t;
    char path[512];
    pml_table *table;
    pml_commit *commit; /* user "kit" */
    pml_rt_context *ctx;
    pml_rt_writer *w;
    int64_t next_id;
    bool no_nulls; /* in partition columns that are keys: those of null are those of '' then, which have the same name */
    bool external; /* batches get an offset column */
    int64_t next_offset, offset_step; /* of it */
    const char *foreign_progress; /* text of the progress file of rt_kit_foreign; NULL: it has none */
    const char *foreign_operation; /* of its snapshots; NULL: they say none */
    size_t foreign_removes;        /* at most so many files; 0: all of the partition */
    uint8_t seen[RT_KIT_ROWS_MAX];
} rt_kit;

/* The local file system without waiting for disks: nobody pulls the plug here. */
pml_file_system rt_kit_fs(void);

/* fs NULL: that one. partition_keys: "" or "\"p\""; options: further JSON members, e.g. "\"bucket\":\"2\",\"bucket-key\":\"id\"". */
void rt_kit_create(rt_kit *k, const pml_file_system *fs, const char *partition_keys, const char *options);
/* The same with the primary key id, or (id, p), and one bucket unless the options say otherwise. With KEYED=1 in the environment
   rt_kit_create makes such tables: many tests hold for them as they are. Those that do not ask rt_kit_with_keys and skip(). */
void rt_kit_create_keyed(rt_kit *k, const pml_file_system *fs, const char *partition_keys, const char *options);
bool rt_kit_with_keys(void);
/* A second handle on the table of another kit, in an environment of its own. */
void rt_kit_share(rt_kit *k, rt_kit *other, const pml_file_system *fs);
/* Opens a context (store NULL: memory; option NULL: none, else key and value) and a writer. */
void rt_kit_start(rt_kit *k, const pml_rt_plugin *store, const char *const option[2]);
/* Aborts the writer and closes the context. */
void rt_kit_stop(rt_kit *k);
void rt_kit_close(rt_kit *k);

struct ArrowArray rt_kit_batch(rt_kit *k, int64_t n, const char *p); /* takes no ids */
struct ArrowSchema rt_kit_schema(const rt_kit *k);
/* Writes the next n ids; on failure none are taken and the array is released. */
int rt_kit_try_write(rt_kit *k, int64_t n, const char *p, const pml_rt_write_options *o, pml_rt_write_result *r, pml_error *err);
void rt_kit_write(rt_kit *k, int64_t n, const char *p);
pml_rt_prepared *rt_kit_prepare(rt_kit *k, int64_t identifier);
int rt_kit_try_commit(rt_kit *k, pml_rt_commit_result *r, const pml_rt_prepared *p, pml_error *err);
/* Returns the snapshot id. */
int64_t rt_kit_commit(rt_kit *k, const pml_rt_prepared *p);
int64_t rt_kit_cycle(rt_kit *k, int64_t identifier);
/* An ordinary batch commit of the next n ids. */
int64_t rt_kit_append(rt_kit *k, int64_t n, const char *p);

/* snapshot -1: the latest. ctx NULL: disk only. */
int rt_kit_try_plan(pml_plan **out, rt_kit *k, pml_rt_context *ctx, int64_t snapshot, pml_error *err);
pml_plan *rt_kit_plan(rt_kit *k);
/* The plan shows each id of [from, to) once and nothing else; it is also counted. */
void rt_kit_must_be(rt_kit *k, pml_plan *plan, int64_t from, int64_t to);
/* Reads a stream (released) and checks the same. */
void rt_kit_must_stream(rt_kit *k, struct ArrowArrayStream *s, int64_t from, int64_t to);
/* Number of distinct ids; fails on doubled ones. Marks them in k->seen. */
int64_t rt_kit_read(rt_kit *k, struct ArrowArrayStream *s);
/* Plans with the context and checks. */
void rt_kit_must_show(rt_kit *k, int64_t from, int64_t to);
void rt_kit_must_store(rt_kit *k, int64_t from, int64_t to); /* disk only */
pml_rt_metrics rt_kit_metrics(rt_kit *k);
/* Committed end of a partition-bucket in a snapshot (-1: latest); -1: none. partition NULL: unpartitioned. */
int64_t rt_kit_end(rt_kit *k, int64_t snapshot, const char *partition, int32_t bucket);
int64_t rt_kit_latest(rt_kit *k);

/* Files below the table whose name has this part. */
int64_t rt_kit_files(const rt_kit *k, const char *part);

/* A snapshot by somebody who does not know progress: partition NULL: all. remove: its delta deletes all live files of the
   partition; else it is empty. */
int64_t rt_kit_foreign(rt_kit *k, pml_commit_kind kind, bool remove, const char *partition);
/* pml_table_truncate, and pml_table_drop_partitions of p=value (NULL: null). Return the snapshot. */
int64_t rt_kit_truncate(rt_kit *k);
int64_t rt_kit_drop(rt_kit *k, const char *value);
/* What stands in the progress of a partition-bucket of the latest snapshot. False: it has no entry. */
bool rt_kit_entry(pml_rt_offset_info *out, rt_kit *k, const char *partition, int32_t bucket);

/* Removes the snapshots above id and points the hint at it, as a roll-back does. */
void rt_kit_roll_back(rt_kit *k, int64_t id);
void rt_kit_write_hint(rt_kit *k, int64_t id);

#endif
