/* SPDX-License-Identifier: Apache-2.0 */
/* System tables of live data files: files and file_key_ranges. */
#include <stdlib.h>
#include <string.h>

#include "columnar/cast.h"
#include "meta/column_stats.h"
#include "table/evolution.h"
#include "table/system.h"

#define COMMON_FIELDS                                                                                         \
    PML_META_TEXT_OR_NULL("partition"), PML_META_INT("bucket"), PML_META_TEXT("file_path"),                   \
        PML_META_TEXT("file_format"), PML_META_LONG("schema_id"), PML_META_INT("level"),                      \
        PML_META_LONG("record_count"), PML_META_LONG("file_size_in_bytes"), PML_META_TEXT_OR_NULL("min_key"), \
        PML_META_TEXT_OR_NULL("max_key")

static const pml_field text_element = {.name = "element",
                                       .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}};
static const pml_field files_fields[] = {
    COMMON_FIELDS,
    PML_META_TEXT("null_value_counts"),
    PML_META_TEXT("min_value_stats"),
    PML_META_TEXT("max_value_stats"),
    PML_META_LONG_OR_NULL("min_sequence_number"),
    PML_META_LONG_OR_NULL("max_sequence_number"),
    PML_META_TIME("creation_time", true),
    PML_META_LONG_OR_NULL("deleteRowCount"),
    PML_META_TEXT_OR_NULL("file_source"),
    PML_META_LONG_OR_NULL("first_row_id"),
    {.name = "write_cols",
     .type = {.kind = PML_TYPE_ARRAY, .nullable = true, .n_children = 1, .children = (pml_field *)&text_element}}};
static const pml_field file_key_ranges_fields[] = {COMMON_FIELDS, PML_META_LONG_OR_NULL("first_row_id")};

/* ---- what both have ---- */

static int put_key(pml_meta_rows *r, const pml_table_schema *written, pml_bytes key, pml_error *err)
{
    bool is_null;
    PML_RETURN_IF(pml_system__key_text(pml_meta_rows__begin_text(r), &is_null, written, key, err));
    if (is_null)
        pml_meta_rows__put_null(r);
    else
        pml_meta_rows__end_text(r);
    return PML_OK;
}

/* t: the branch that the file is of. */
static int put_common(pml_meta_rows *r, pml_table *t, const pml_table_schema *written, const pml_manifest_entry *e,
                      pml_error *err)
{
    const pml_data_file *f = &e->file;
    char *path, format[16];
    PML_RETURN_IF(pml_path__format(format, f->name, err));
    PML_RETURN_IF(pml_system__put_partition(r, t->schema, e->partition, err));
    pml_meta_rows__put_int(r, e->bucket);
    PML_RETURN_IF(pml_path__data_file(&path, t->env, t->path, t->schema, &t->options, e->partition, e->bucket, f, err));
    pml_meta_rows__put_text(r, f->external_path != NULL ? f->external_path : path);
    pml_env__free(t->env, path);
    pml_meta_rows__put_text(r, format);
    pml_meta_rows__put_int(r, f->schema_id);
    pml_meta_rows__put_int(r, f->level);
    pml_meta_rows__put_int(r, f->row_count);
    pml_meta_rows__put_int(r, f->size_bytes);
    PML_RETURN_IF(put_key(r, written, f->min_key, err));
    return put_key(r, written, f->max_key, err);
}

/* ---- statistics, as those of the table's columns of now ---- */

typedef struct column {
    const pml_field *field; /* of the table */
    pml_column_stats stats;
} column;

static int compare_columns(const void *a, const void *b)
{
    return strcmp(((const column *)a)->field->name, ((const column *)b)->field->name);
}

/* What a bound of a written column is today; null when the cast has no answer. */
static int cast_bounds(column *c, pml_arena *arena, const pml_type *from, pml_error *err)
{
    const pml_cast *cast;
    pml_value *const bounds[] = {&c->stats.min, &c->stats.max};
    int rc = pml_cast__new(&cast, arena, from, &c->field->type, c->field->name, err);
    if (rc == PML_OK && cast == NULL)
        return PML_OK;
    for (size_t i = 0; i < 2; i++) {
        pml_value v = {.kind = PML_VALUE_NULL};
        if (rc == PML_OK && bounds[i]->kind != PML_VALUE_NULL &&
            pml_cast__value(&v, cast, arena, bounds[i], NULL) != PML_OK)
            v = (pml_value){.kind = PML_VALUE_NULL};
        *bounds[i] = v;
    }
    return rc == PML_E_NOMEM ? rc : PML_OK;
}

/* The columns that were written: those of the file's schema, or its write columns, in their own order, which is that of the statistics. */
static size_t written_fields(pml_field *out, const pml_table_schema *written, const pml_data_file *f)
{
    size_t n = 0;
    if (!f->write_cols.present) {
        memcpy(out, written->fields, written->n_fields * sizeof *out);
        return written->n_fields;
    }
    for (size_t i = 0; i < f->write_cols.n && n < written->n_fields; i++) {
        int32_t at = pml_table_schema__find(written, f->write_cols.v[i], strlen(f->write_cols.v[i]));
        if (at >= 0)
            out[n++] = written->fields[at];
    }
    return n;
}

/* Whether the table's columns stand at the same places in the schema of the file, so that Java takes its statistics as they are. */
static bool same_places(const pml_table_schema *s, const pml_table_schema *written)
{
    for (size_t i = 0; written != s && i < s->n_fields; i++)
        if (i >= written->n_fields || written->fields[i].id != s->fields[i].id)
            return false;
    return true;
}

/* *n_out: how many there are to show. Of a file with some of the columns all count, the others as unknown, unless its statistics do not
   say whose they are: Java then has as many columns as statistics (and gives them the names of the table's first ones, where they are others). */
static int make_columns(column **out, size_t *n_out, pml_arena *arena, const pml_table_schema *s, const pml_table_schema *written,
                        const pml_data_file *f, pml_error *err)
{
    pml_field *fields = pml_arena__array(arena, written->n_fields, sizeof *fields);
    pml_column_stats *stats = pml_arena__array(arena, written->n_fields, sizeof *stats);
    column *columns = pml_arena__array(arena, s->n_fields, sizeof *columns);
    *out = columns;
    if (fields == NULL || stats == NULL || columns == NULL)
        return pml_error__no_memory(err);
    size_t n = written_fields(fields, written, f);
    PML_RETURN_IF(pml_column_stats__decode(stats, arena->env, &f->value_stats, &f->value_stats_cols, fields, n, err));
    bool only_held = f->write_cols.present && !f->value_stats_cols.present && same_places(s, written);
    size_t shown = 0;
    for (size_t i = 0; i < s->n_fields; i++) {
        size_t from = 0;
        bool was_there = pml_table_schema__find_id(written, s->fields[i].id) >= 0;
        column *c = &columns[shown];
        *c = (column){&s->fields[i], {.null_count = was_there ? -1 : f->row_count}}; /* a column that was not there is null */
        while (from < n && fields[from].id != s->fields[i].id)
            from++;
        if (from == n) {
            shown += !only_held;
            continue;
        }
        shown++;
        c->stats = stats[from];
        if (written != s)
            PML_RETURN_IF(cast_bounds(c, arena, &fields[from].type, err));
    }
    qsort(columns, shown, sizeof *columns, compare_columns);
    *n_out = shown;
    return PML_OK;
}

typedef enum stats_part { PART_NULLS, PART_MIN, PART_MAX } stats_part;

/* "{a=1, b=null}" */
static int put_part(pml_meta_rows *r, const column *columns, size_t n, stats_part part, pml_error *err)
{
    pml_buf *text = pml_meta_rows__begin_text(r);
    (void)pml_buf__append_byte(text, '{');
    for (size_t i = 0; i < n; i++) {
        const column *c = &columns[i];
        (void)pml_buf__append_format(text, "%s%s=", i == 0 ? "" : ", ", c->field->name);
        if (part == PART_NULLS && c->stats.null_count >= 0)
            (void)pml_buf__append_format(text, "%lld", (long long)c->stats.null_count);
        else if (part == PART_NULLS || pml_type__is_nested(&c->field->type))
            (void)pml_buf__append_str(text, "null");
        else
            PML_RETURN_IF(
                pml_system__value_text(text, &c->field->type, part == PART_MIN ? &c->stats.min : &c->stats.max, err));
    }
    (void)pml_buf__append_byte(text, '}');
    pml_meta_rows__end_text(r);
    return PML_OK;
}

static int put_statistics(pml_meta_rows *r, const pml_table_schema *s, const pml_table_schema *written, const pml_data_file *f,
                          pml_error *err)
{
    pml_arena arena;
    column *columns;
    size_t n = 0;
    pml_arena__init(&arena, r->env);
    int rc = make_columns(&columns, &n, &arena, s, written, f, err);
    for (stats_part part = PART_NULLS; rc == PML_OK && part <= PART_MAX; part++)
        rc = put_part(r, columns, n, part, err);
    pml_arena__clear(&arena);
    return rc == PML_OK ? rc : pml_error__prefix(err, rc, "statistics of %s", f->name);
}

/* ---- the rows ---- */

static void put_write_columns(pml_meta_rows *r, const pml_string_list *list)
{
    int rc = PML_OK;
    if (!list->present) {
        pml_meta_rows__put_null(r);
        return;
    }
    pml_builder *b = pml_meta_rows__begin_nested(r);
    for (size_t i = 0; rc == PML_OK && i < list->n; i++) {
        const pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)list->v[i], strlen(list->v[i])}};
        rc = pml_builder__append_value(pml_builder__child(b, 0), &v);
    }
    pml_meta_rows__end_nested(r, rc == PML_OK ? pml_builder__close_item(b) : rc);
}

/* What the rows are of; source: the branch whose files they are. */
typedef struct files_request {
    pml_meta_rows *r;
    pml_table *table, *source;
    const pml_table_schema *schema; /* of the columns that have statistics */
    bool with_statistics;
} files_request;

static int file_row(const files_request *q, const pml_manifest_entry *e, pml_error *err)
{
    pml_meta_rows *r = q->r;
    const pml_data_file *f = &e->file;
    const pml_table_schema *written;
    if (q->source->options.bucket == -2 && e->bucket < 0) /* Java shows no files that wait for their bucket */
        return PML_OK;
    PML_RETURN_IF(pml_table__schema_at(&written, q->source, f->schema_id, err));
    PML_RETURN_IF(put_common(r, q->source, written, e, err));
    if (!q->with_statistics) {
        pml_meta_rows__put_optional(r, f->first_row_id);
        return PML_OK;
    }
    PML_RETURN_IF(put_statistics(r, q->schema, written, f, err));
    pml_meta_rows__put_int(r, f->min_sequence);
    pml_meta_rows__put_int(r, f->max_sequence);
    pml_meta_rows__put_time(r, f->creation_time_ms.present, f->creation_time_ms.v);
    pml_meta_rows__put_optional(r, f->delete_row_count);
    pml_meta_rows__put_text(r, pml_data_file__source(f));
    pml_meta_rows__put_optional(r, f->first_row_id);
    put_write_columns(r, &f->write_cols);
    return PML_OK;
}

/* ---- of two branches ---- */

static bool has(const pml_map *partitions, const pml_manifest_entry *e)
{
    return pml_map__has(partitions, e->partition.ptr, e->partition.len);
}

/* Notes the partitions of the files; visible: only of those that a read of the table sees. */
static int note(pml_map *partitions, const pml_manifest_entries *live, const pml_table *t, bool visible, pml_error *err)
{
    bool level0 = t->schema->n_keys == 0 || !pml_table_options__skips_level0(&t->options);
    for (size_t i = 0; i < live->n; i++) {
        const pml_manifest_entry *e = &live->v[i];
        bool is_read = (level0 || e->file.level > 0) && (t->options.bucket != -2 || e->bucket >= 0);
        if ((!visible || is_read) && !has(partitions, e) &&
            pml_map__put(partitions, e->partition.ptr, e->partition.len, partitions, NULL) != PML_OK)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

/* A branch at a moment: its live files, and the partitions of which reads see something. */
typedef struct branch_files {
    pml_table *table;
    pml_travel travel;
    pml_manifest_entries live;
    pml_map shown;
} branch_files;

/* *schema: that of the table at the moment, if columns of then count there; may be NULL. */
static int load_live(branch_files *b, const pml_table_schema **schema, pml_arena *arena, pml_error *err)
{
    pml_snapshot s;
    bool found;
    PML_RETURN_IF(pml_travel__find(&s, &found, arena, b->table, &b->travel, -1, err));
    if (!found)
        return PML_OK;
    if (schema != NULL && pml_travel__has_columns_of_then(&b->travel))
        PML_RETURN_IF(pml_table__schema_at(schema, b->table, s.schema_id, err));
    return pml_table__live_files(&b->live, arena, b->table, &s, NULL, err);
}

/* As Java's FilesTable over FallbackReadFileStoreTable: of each partition that the table's own latest snapshot has the files of that branch
   which comes first if it shows the partition, else those of the other one. */
static int fill_both(files_request *q, pml_arena *arena, branch_files *own, branch_files *other, pml_error *err)
{
    branch_files *first = q->table->other_first ? other : own, *second = q->table->other_first ? own : other;
    branch_files now = {.table = q->table, .travel = {.by = PML_SCAN_LATEST}};
    int rc;
    pml_map__init(&now.shown, q->table->env);
    PML_TRY(load_live(&now, NULL, arena, err));
    PML_TRY(load_live(other, NULL, arena, err));
    PML_TRY(note(&now.shown, &now.live, now.table, false, err));
    PML_TRY(note(&first->shown, &first->live, first->table, true, err));
    PML_TRY(note(&second->shown, &second->live, second->table, true, err));
    q->source = first->table;
    for (size_t i = 0; i < first->live.n; i++)
        if (has(&now.shown, &first->live.v[i]))
            PML_TRY(file_row(q, &first->live.v[i], err));
    q->source = second->table;
    for (size_t i = 0; i < second->live.n; i++) {
        const pml_manifest_entry *e = &second->live.v[i];
        if (has(&now.shown, e) && has(&second->shown, e) && !has(&first->shown, e))
            PML_TRY(file_row(q, e, err));
    }
    rc = PML_OK;
out:
    pml_map__clear(&now.shown, NULL);
    return rc;
}

/* ---- all ---- */

static int fill_rows(pml_meta_rows *r, pml_table *t, bool with_statistics, pml_error *err)
{
    files_request q = {r, t, t, t->schema, with_statistics};
    branch_files own = {.table = t, .travel = pml_travel__of_options(&t->options)}, other = {.table = t->other};
    pml_arena arena;
    bool alone = true;
    int rc;
    pml_arena__init(&arena, t->env);
    pml_map__init(&own.shown, t->env);
    pml_map__init(&other.shown, t->env);
    PML_TRY(load_live(&own, &q.schema, &arena, err));
    if (t->other != NULL)
        PML_TRY(pml_plan__travel_beside(&other.travel, &alone, t, &own.travel, err));
    if (!alone) {
        rc = fill_both(&q, &arena, &own, &other, err);
        goto out;
    }
    for (size_t i = 0; i < own.live.n; i++)
        PML_TRY(file_row(&q, &own.live.v[i], err));
    rc = PML_OK;
out:
    pml_map__clear(&own.shown, NULL);
    pml_map__clear(&other.shown, NULL);
    pml_arena__clear(&arena);
    return rc;
}

static int fill_files(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    return fill_rows(r, t, true, err);
}

static int fill_file_key_ranges(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    return fill_rows(r, t, false, err);
}

const pml_system_table pml_system__files = PML_SYSTEM_TABLE(files, fill_files);
const pml_system_table pml_system__file_key_ranges = PML_SYSTEM_TABLE(file_key_ranges, fill_file_key_ranges);
