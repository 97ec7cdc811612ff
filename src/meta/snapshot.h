/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot files (Java: org.apache.paimon.Snapshot). A snapshot lives in the arena given to parse. */
#ifndef PML_META_SNAPSHOT_H
#define PML_META_SNAPSHOT_H

#include "meta/data_file.h"
#include "meta/table_schema.h"

typedef enum pml_commit_kind {
    PML_COMMIT_APPEND = 1,
    PML_COMMIT_COMPACT,
    PML_COMMIT_OVERWRITE,
    PML_COMMIT_ANALYZE
} pml_commit_kind;

typedef struct pml_snapshot {
    int32_t version;
    const char *uuid; /* NULL: absent */
    int64_t id, schema_id;
    const char *base_manifest_list;
    pml_optional_int64 base_manifest_list_size;
    const char *delta_manifest_list;
    pml_optional_int64 delta_manifest_list_size;
    const char *changelog_manifest_list; /* NULL: none */
    pml_optional_int64 changelog_manifest_list_size;
    const char *index_manifest; /* NULL: none */
    const char *commit_user;
    int64_t commit_identifier;
    pml_commit_kind commit_kind;
    int64_t time_ms, total_record_count, delta_record_count;
    pml_optional_int64 changelog_record_count, watermark; /* INT64_MIN counts as absent */
    const char *statistics; /* NULL: none */
    size_t n_properties;
    pml_option *properties;
    pml_optional_int64 next_row_id;
    const char *operation; /* NULL: absent */
} pml_snapshot;

enum { PML_SNAPSHOT_FILE_MAX = 16 * 1024 * 1024, PML_SNAPSHOT_VERSION = 3 };

int pml_snapshot__parse(pml_snapshot *out, pml_arena *arena, pml_bytes json, const char *name, pml_error *err);
/* As Java 1.4.2 writes it: pretty-printed, fields in Java's order, absent ones left out. */
int pml_snapshot__write(pml_buf *out, const pml_snapshot *s);
const char *pml_snapshot__property(const pml_snapshot *s, const char *key); /* NULL: absent */
/* The same id and the same lists, whose names are given only once. */
bool pml_snapshot__same_lists(const pml_snapshot *a, const pml_snapshot *b);
const char *pml_commit_kind__name(pml_commit_kind k);

#endif
