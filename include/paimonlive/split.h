/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits and commit messages as bytes, to plan in one process and read in others, to write in many and commit in one.
 *
 *     pml_text bytes;
 *     pml_plan_split_serialize(&bytes, plan, i, &err);            // planner
 *     ... the bytes travel ...
 *     pml_blob in = {bytes.ptr, bytes.len};
 *     pml_plan *part;
 *     pml_plan_from_splits(&part, scan, &in, 1, &err);            // worker: the same table, opened there
 *     pml_read_open(&stream, part, NULL, &err);
 *
 * The bytes are those of Java Paimon (DataSplit version 8, CommitMessage version 11: what 1.4.2 and newer read), so either side
 * may be Java. docs/protocol.md describes them. They are binary: a pml_text of them has NULs inside. Bytes of others are checked
 * in full; damaged ones are PML_E_CORRUPT. They name data files, so they are as trusted as the table itself.
 *
 * Columns, predicate and limit are not part of a split: the scan of the reading side says them. Splits that show uncommitted rows
 * are in <paimonlive/realtime.h>.
 */
#ifndef PAIMONLIVE_SPLIT_H
#define PAIMONLIVE_SPLIT_H

#include <paimonlive/scan.h>
#include <paimonlive/write.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the caller owns. */
typedef struct pml_blob {
    const void *ptr;
    size_t len;
} pml_blob;

/* Split i of a plan. PML_E_INVAL: no such split, or one that shows uncommitted rows (pml_rt_split_serialize). Returns owned
   (pml_text_clear). */
PML_API int pml_plan_split_serialize(pml_text *out, const pml_plan *plan, size_t i, pml_error *err);
/* A plan of n splits (at least one), to be read and counted like any other. All must be of one snapshot; the same split given
   twice shows its rows twice. The scan is borrowed: its columns, predicate and limit count, and its snapshot, when set, must be
   that of the splits and makes the columns those of then. Files are looked for where the scan's table lies. PML_E_UNSUPPORTED
   (deletion vectors, changes, files this version cannot read), PML_E_CORRUPT, PML_E_INVAL, PML_E_NOT_FOUND. Returns owned. */
PML_API int pml_plan_from_splits(pml_plan **out, const pml_scan *scan, const pml_blob *splits, size_t n, pml_error *err);

/* Version of what pml_messages_serialize makes; it is not in the bytes and must be kept beside them. */
#define PML_MESSAGE_VERSION 11
/* Message i of pml_messages_count: the new files of one partition-bucket. Returns owned (pml_text_clear). */
PML_API int pml_messages_serialize(pml_text *out, const pml_messages *messages, size_t i, pml_error *err);
/* Messages of one version (3 to 11) for a commit to the table. PML_E_UNSUPPORTED for messages with more than new files of level
   0, PML_E_CONFLICT when the table has another number of buckets by now, PML_E_CORRUPT. Whether the files exist is looked at
   by a commit with PML_COMMIT_CHECK. Returns owned. */
PML_API int pml_messages_deserialize(pml_messages **out, pml_table *table, int32_t version, const pml_blob *messages, size_t n,
                                     pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
