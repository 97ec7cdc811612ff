/* SPDX-License-Identifier: Apache-2.0 */
/* What a table holds, as Arrow streams: one row per snapshot, one row per live data file. */
#include <string.h>

#include "table/metadata_rows.h"
#include "table/travel.h"

#define COLUMN(n, k) PML_META_COLUMN(n, k, true)
#define TIME_COLUMN(n) PML_META_TIME(n, true)

static void snapshot_row(pml_meta_rows *r, const pml_snapshot *s)
{
    pml_meta_rows__put_int(r, s->id);
    pml_meta_rows__put_int(r, s->schema_id);
    pml_meta_rows__put_text(r, s->commit_user);
    pml_meta_rows__put_int(r, s->commit_identifier);
    pml_meta_rows__put_text(r, pml_commit_kind__name(s->commit_kind));
    pml_meta_rows__put_time(r, true, s->time_ms);
    pml_meta_rows__put_int(r, s->total_record_count);
    pml_meta_rows__put_int(r, s->delta_record_count);
    pml_meta_rows__put_optional(r, s->watermark);
    pml_meta_rows__put_text(r, pml_snapshot__property(s, "realtime.offsets"));
}

int pml_table_snapshots(struct ArrowArrayStream *out, pml_table *t, pml_error *err)
{
    static const pml_field fields[] = {
        COLUMN("snapshot_id", PML_TYPE_BIGINT),        COLUMN("schema_id", PML_TYPE_BIGINT),
        COLUMN("commit_user", PML_TYPE_VARCHAR),       COLUMN("commit_identifier", PML_TYPE_BIGINT),
        COLUMN("commit_kind", PML_TYPE_VARCHAR),       TIME_COLUMN("commit_time"),
        COLUMN("total_record_count", PML_TYPE_BIGINT), COLUMN("delta_record_count", PML_TYPE_BIGINT),
        COLUMN("watermark", PML_TYPE_BIGINT),          COLUMN("progress", PML_TYPE_VARCHAR)};
    pml_meta_rows r = {0};
    int64_t *ids = NULL;
    size_t n = 0;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    PML_TRY(pml_meta_rows__init(&r, t->env, fields, sizeof fields / sizeof fields[0], err));
    PML_TRY(pml_table__list_snapshots(&ids, &n, t, err)); /* ids may have gaps of any size */
    for (size_t i = 0; i < n; i++) {
        pml_arena arena;
        pml_snapshot s;
        pml_arena__init(&arena, t->env);
        rc = pml_table__load_snapshot(&s, &arena, t, ids[i], err);
        if (rc == PML_OK)
            snapshot_row(&r, &s);
        pml_arena__clear(&arena);
        if (rc != PML_OK && rc != PML_E_NOT_FOUND) /* expired meanwhile */
            goto out;
    }
    rc = pml_meta_rows__stream(out, &r, NULL, 0, 0, NULL, err);
out:
    pml_env__free(t->env, ids);
    pml_meta_rows__clear(&r);
    return rc;
}

static int file_row(pml_meta_rows *r, pml_table *t, const pml_manifest_entry *e, pml_error *err)
{
    char *partition = NULL, *path = NULL, format[16];
    const pml_data_file *f = &e->file;
    int rc;
    PML_TRY(pml_path__partition(&partition, t->env, t->schema, &t->options, e->partition, err));
    PML_TRY(pml_path__data_file(&path, t->env, t->path, t->schema, &t->options, e->partition, e->bucket, f, err));
    PML_TRY(pml_path__format(format, f->name, err));
    size_t n = strlen(partition);
    if (n > 0)
        partition[n - 1] = '\0'; /* the last '/' */
    pml_meta_rows__put_text(r, partition);
    pml_meta_rows__put_int(r, e->bucket);
    pml_meta_rows__put_text(r, path);
    pml_meta_rows__put_text(r, format);
    pml_meta_rows__put_int(r, f->schema_id);
    pml_meta_rows__put_int(r, f->level);
    pml_meta_rows__put_int(r, f->row_count);
    pml_meta_rows__put_int(r, f->size_bytes);
    pml_meta_rows__put_int(r, f->min_sequence);
    pml_meta_rows__put_int(r, f->max_sequence);
    pml_meta_rows__put_time(r, f->creation_time_ms.present, f->creation_time_ms.v);
    pml_meta_rows__put_text(r, pml_data_file__source(f));
out:
    pml_env__free(t->env, partition);
    pml_env__free(t->env, path);
    return rc;
}

int pml_table_files(struct ArrowArrayStream *out, pml_table *t, int64_t snapshot_id, pml_error *err)
{
    static const pml_field fields[] = {COLUMN("partition", PML_TYPE_VARCHAR),
                                       COLUMN("bucket", PML_TYPE_INT),
                                       COLUMN("file_path", PML_TYPE_VARCHAR),
                                       COLUMN("file_format", PML_TYPE_VARCHAR),
                                       COLUMN("schema_id", PML_TYPE_BIGINT),
                                       COLUMN("level", PML_TYPE_INT),
                                       COLUMN("record_count", PML_TYPE_BIGINT),
                                       COLUMN("file_size_in_bytes", PML_TYPE_BIGINT),
                                       COLUMN("min_sequence_number", PML_TYPE_BIGINT),
                                       COLUMN("max_sequence_number", PML_TYPE_BIGINT),
                                       TIME_COLUMN("creation_time"),
                                       COLUMN("file_source", PML_TYPE_VARCHAR)};
    pml_meta_rows r = {0};
    pml_arena arena;
    pml_snapshot s;
    pml_manifest_entries live = {0};
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_meta_rows__init(&r, t->env, fields, sizeof fields / sizeof fields[0], err));
    if (snapshot_id < 0)
        PML_TRY(pml_table__latest_snapshot(&snapshot_id, t, false, err));
    if (snapshot_id >= 0) {
        PML_TRY(pml_travel__id(&s, &arena, t, snapshot_id, err));
        PML_TRY(pml_table__live_files(&live, &arena, t, &s, NULL, err));
    }
    for (size_t i = 0; i < live.n; i++)
        PML_TRY(file_row(&r, t, &live.v[i], err));
    rc = pml_meta_rows__stream(out, &r, NULL, 0, 0, NULL, err);
out:
    pml_meta_rows__clear(&r);
    pml_arena__clear(&arena);
    return rc;
}
