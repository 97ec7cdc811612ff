/* SPDX-License-Identifier: Apache-2.0 */
/* What a table holds, as Arrow streams: one row per snapshot, one row per live data file. */
#include <string.h>

#include "columnar/batch.h"
#include "table/table.h"
#include "table/travel.h"

#define COLUMN(n, k)                                                               \
    {                                                                              \
        .name = (n), .type = {.kind = (k), .nullable = true, .length = INT32_MAX } \
    }
#define TIME_COLUMN(n)                                                                       \
    {                                                                                        \
        .name = (n), .type = {.kind = PML_TYPE_TIMESTAMP, .nullable = true, .precision = 3 } \
    }

typedef struct rows {
    pml_env *env;
    const pml_field *fields;
    size_t n_fields;
    pml_builder **columns;
    size_t next; /* column of the cell that comes next */
    int64_t length;
    int rc; /* first error */
} rows;

static int rows_init(rows *r, pml_env *env, const pml_field *fields, size_t n, pml_error *err)
{
    *r = (rows){.env = env, .fields = fields, .n_fields = n};
    r->columns = pml_env__calloc(env, n, sizeof *r->columns);
    if (r->columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(pml_builder__new(&r->columns[i], env, &fields[i].type, err));
    return PML_OK;
}

static void rows_clear(rows *r)
{
    for (size_t i = 0; r->columns != NULL && i < r->n_fields; i++)
        pml_builder__free(r->columns[i]);
    pml_env__free(r->env, r->columns);
}

static void put(rows *r, const pml_value *v)
{
    int rc = pml_builder__append_value(r->columns[r->next], v);
    r->rc = r->rc == PML_OK ? rc : r->rc;
    r->next = (r->next + 1) % r->n_fields;
    r->length += r->next == 0;
}

static void put_int(rows *r, int64_t i)
{
    put(r, &(pml_value){.kind = PML_VALUE_INT, .i = i});
}

static void put_text(rows *r, const char *s) /* NULL: null */
{
    put(r, s == NULL ? &(pml_value){.kind = PML_VALUE_NULL}
                     : &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)s, strlen(s)}});
}

static void put_time(rows *r, bool present, int64_t ms)
{
    put(r, present ? &(pml_value){.kind = PML_VALUE_TIMESTAMP, .ts = {ms, 0}} : &(pml_value){.kind = PML_VALUE_NULL});
}

/* Moves the rows into a stream of one batch. */
static int rows_stream(struct ArrowArrayStream *out, rows *r, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    int rc = r->rc;
    struct ArrowArray *arrays = pml_env__calloc(r->env, r->n_fields, sizeof *arrays);
    if (arrays == NULL || rc == PML_E_NOMEM) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (rc != PML_OK) {
        rc = pml_error__set(err, rc, "a value of the metadata does not fit its column");
        goto out;
    }
    for (size_t i = 0; i < r->n_fields; i++)
        PML_TRY(pml_builder__finish(r->columns[i], &arrays[i], err));
    PML_TRY(pml_batch__from_columns(&batch, r->env, arrays, r->n_fields, r->length, err));
    PML_TRY(pml_type__export(&schema, r->env, r->fields, r->n_fields, err));
    PML_TRY(pml_stream__from_array(out, r->env, &schema, &batch, err));
out:
    for (size_t i = 0; arrays != NULL && i < r->n_fields; i++)
        pml_array__release(&arrays[i]);
    pml_array__release(&batch);
    pml_schema__release(&schema);
    pml_env__free(r->env, arrays);
    return rc;
}

static void snapshot_row(rows *r, const pml_snapshot *s)
{
    put_int(r, s->id);
    put_int(r, s->schema_id);
    put_text(r, s->commit_user);
    put_int(r, s->commit_identifier);
    put_text(r, pml_commit_kind__name(s->commit_kind));
    put_time(r, true, s->time_ms);
    put_int(r, s->total_record_count);
    put_int(r, s->delta_record_count);
    put(r, s->watermark.present ? &(pml_value){.kind = PML_VALUE_INT, .i = s->watermark.v}
                                : &(pml_value){.kind = PML_VALUE_NULL});
    put_text(r, pml_snapshot__property(s, "realtime.offsets"));
}

int pml_table_snapshots(struct ArrowArrayStream *out, pml_table *t, pml_error *err)
{
    static const pml_field fields[] = {
        COLUMN("snapshot_id", PML_TYPE_BIGINT),        COLUMN("schema_id", PML_TYPE_BIGINT),
        COLUMN("commit_user", PML_TYPE_VARCHAR),       COLUMN("commit_identifier", PML_TYPE_BIGINT),
        COLUMN("commit_kind", PML_TYPE_VARCHAR),       TIME_COLUMN("commit_time"),
        COLUMN("total_record_count", PML_TYPE_BIGINT), COLUMN("delta_record_count", PML_TYPE_BIGINT),
        COLUMN("watermark", PML_TYPE_BIGINT),          COLUMN("progress", PML_TYPE_VARCHAR)};
    rows r;
    int64_t *ids = NULL;
    size_t n = 0;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    PML_TRY(rows_init(&r, t->env, fields, sizeof fields / sizeof fields[0], err));
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
    rc = rows_stream(out, &r, err);
out:
    pml_env__free(t->env, ids);
    rows_clear(&r);
    return rc;
}

static int file_row(rows *r, pml_table *t, const pml_manifest_entry *e, pml_error *err)
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
    put_text(r, partition);
    put_int(r, e->bucket);
    put_text(r, path);
    put_text(r, format);
    put_int(r, f->schema_id);
    put_int(r, f->level);
    put_int(r, f->row_count);
    put_int(r, f->size_bytes);
    put_int(r, f->min_sequence);
    put_int(r, f->max_sequence);
    put_time(r, f->creation_time_ms.present, f->creation_time_ms.v);
    put_text(r, f->file_source == PML_FILE_SOURCE_APPEND    ? "APPEND"
                : f->file_source == PML_FILE_SOURCE_COMPACT ? "COMPACT"
                                                            : NULL);
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
    rows r;
    pml_arena arena;
    pml_snapshot s;
    pml_manifest_entries live = {0};
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    pml_arena__init(&arena, t->env);
    PML_TRY(rows_init(&r, t->env, fields, sizeof fields / sizeof fields[0], err));
    if (snapshot_id < 0)
        PML_TRY(pml_table__latest_snapshot(&snapshot_id, t, false, err));
    if (snapshot_id >= 0) {
        PML_TRY(pml_travel__id(&s, &arena, t, snapshot_id, err));
        PML_TRY(pml_table__live_files(&live, &arena, t, &s, NULL, err));
    }
    for (size_t i = 0; i < live.n; i++)
        PML_TRY(file_row(&r, t, &live.v[i], err));
    rc = rows_stream(out, &r, err);
out:
    rows_clear(&r);
    pml_arena__clear(&arena);
    return rc;
}
