/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point lookup: the rows of keys, of tables with a primary key. It answers as a scan with a condition on the key would, from rows in
 * memory (with a real-time context) and on disk, without planning again for each call.
 *
 *     pml_scan *scan;      pml_scan_new(&scan, table, &err);
 *     pml_scan_set_columns(scan, (const char *[]){"name"}, 1, &err);  // what is wanted of each row
 *     pml_scan_set_realtime(scan, context, &err);                     // if rows in memory count, too
 *     pml_lookup *lookup;  pml_lookup_open(&lookup, scan, NULL, &err);
 *     pml_scan_free(scan);
 *     struct ArrowArray rows;
 *     pml_lookup_get(&rows, lookup, &keys, &key_schema, &err);        // row i belongs to key i, null: there is none
 *     ... rows.release(&rows) ...
 *     pml_lookup_close(lookup);
 *
 * WHICH SNAPSHOT: a lookup keeps the list of files of one snapshot, that which the scan chooses. Without a context it stays at it until
 * pml_lookup_refresh. With one every call sees all rows written before it, and the lookup goes to the latest snapshot by itself whenever
 * its context does (an advance, thus a commit; a plan): the answer is that of a plan made then. What others commit is seen from the next
 * such moment, or pml_lookup_refresh, on. A lookup of a chosen snapshot stays there.
 *
 * Threads: a lookup is thread-safe. It may outlive scan, table handle and context handle. Not to be used in a child made by fork.
 */
#ifndef PAIMONLIVE_LOOKUP_H
#define PAIMONLIVE_LOOKUP_H

#include <paimonlive/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pml_lookup pml_lookup;

typedef struct pml_lookup_options {
    size_t struct_size;
    uint32_t validate; /* PML_VALIDATE_*: how much of a data file is believed */
    uint32_t flags;    /* 0 */
} pml_lookup_options;
#define PML_LOOKUP_OPTIONS_INIT {sizeof(pml_lookup_options), PML_VALIDATE_DEFAULT, 0}

/* Table, columns, snapshot and context are those of the scan now, which may be freed. options NULL: the table's. Reads the list of
   files. Errors: PML_E_INVAL (no primary key; a scan with a predicate, a limit, or of changes), PML_E_UNSUPPORTED (a table that reads
   put together from two branches), those of planning. Returns owned. */
PML_API int pml_lookup_open(pml_lookup **out, const pml_scan *scan, const pml_lookup_options *options, pml_error *err);
/* NULL allowed. No call may be under way. */
PML_API void pml_lookup_close(pml_lookup *lookup);
/* What keys look like: the columns of the primary key, in its order, partition columns too where they are part of it. Returns owned
   (release it). */
PML_API int pml_lookup_key_schema(struct ArrowSchema *out, pml_lookup *lookup, pml_error *err);
/* What rows look like: the columns of the scan. Returns owned (release it). */
PML_API int pml_lookup_schema(struct ArrowSchema *out, pml_lookup *lookup, pml_error *err);
/* Keys out of texts, key after key, as in pml_predicate_leaf: n values are n / (columns of the key) keys. Returns owned (release it).
   PML_E_INVAL: no value of its column's type, or no whole keys. */
PML_API int pml_lookup_keys(struct ArrowArray *out, pml_lookup *lookup, const pml_literal *values, size_t n, pml_error *err);
/* The snapshot that it is at; -1: the table has none. */
PML_API int64_t pml_lookup_snapshot_id(pml_lookup *lookup);
/* To the latest snapshot; nothing where the scan chose one. After an error it stays where it was. */
PML_API int pml_lookup_refresh(pml_lookup *lookup, pml_error *err);
/* The rows of keys, a struct array of any number of rows (borrowed): out has as many rows, and row i is null where key i is not in the
   table. A key may be asked for several times. Errors: PML_E_SCHEMA (other columns than pml_lookup_key_schema's), PML_E_INVAL (a null in
   a key, or values that are none of their type), PML_E_LIMIT (more than 2^31-2 keys, or more than 2 GiB of text in a column of the
   answer), PML_E_SNAPSHOT_GONE (files of its snapshot expired: refresh; at the latest one it has tried that), PML_E_PROGRESS_GAP and others
   of planning with a context, those of reading. Returns owned (release it); it needs nothing of the lookup. */
PML_API int pml_lookup_get(struct ArrowArray *out, pml_lookup *lookup, const struct ArrowArray *keys, const struct ArrowSchema *schema,
                           pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
