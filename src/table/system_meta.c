/* SPDX-License-Identifier: Apache-2.0 */
/* System tables of snapshots and schemas. Files that vanish between listing and reading are left out. */
#include <string.h>

#include "meta/schema_json.h"
#include "storage/file_io.h"
#include "table/system.h"
#include "util/zone.h"

/* ---- snapshots ---- */

static const pml_field snapshots_fields[] = {PML_META_LONG("snapshot_id"),
                                             PML_META_LONG("schema_id"),
                                             PML_META_TEXT("commit_user"),
                                             PML_META_LONG("commit_identifier"),
                                             PML_META_TEXT("commit_kind"),
                                             PML_META_TIME("commit_time", false),
                                             PML_META_TEXT("base_manifest_list"),
                                             PML_META_TEXT("delta_manifest_list"),
                                             PML_META_TEXT_OR_NULL("changelog_manifest_list"),
                                             PML_META_LONG_OR_NULL("total_record_count"),
                                             PML_META_LONG_OR_NULL("delta_record_count"),
                                             PML_META_LONG_OR_NULL("changelog_record_count"),
                                             PML_META_LONG_OR_NULL("watermark"),
                                             PML_META_LONG_OR_NULL("next_row_id")};

static void snapshot_row(pml_meta_rows *r, const pml_snapshot *s)
{
    pml_meta_rows__put_int(r, s->id);
    pml_meta_rows__put_int(r, s->schema_id);
    pml_meta_rows__put_text(r, s->commit_user);
    pml_meta_rows__put_int(r, s->commit_identifier);
    pml_meta_rows__put_text(r, pml_commit_kind__name(s->commit_kind));
    pml_meta_rows__put_time(r, true, pml_zone__local_of_instant(s->time_ms));
    pml_meta_rows__put_text(r, s->base_manifest_list);
    pml_meta_rows__put_text(r, s->delta_manifest_list);
    pml_meta_rows__put_text(r, s->changelog_manifest_list);
    pml_meta_rows__put_int(r, s->total_record_count);
    pml_meta_rows__put_int(r, s->delta_record_count);
    pml_meta_rows__put_optional(r, s->changelog_record_count);
    pml_meta_rows__put_optional(r, s->watermark);
    pml_meta_rows__put_optional(r, s->next_row_id);
}

static int fill_snapshots(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    int rc = pml_table__list_snapshots(&ids, &n, t, err);
    for (size_t i = 0; i < n && rc == PML_OK; i++) {
        pml_arena arena;
        pml_snapshot s;
        pml_arena__init(&arena, t->env);
        rc = pml_table__load_snapshot(&s, &arena, t, ids[i], err);
        if (rc == PML_OK)
            snapshot_row(r, &s);
        pml_arena__clear(&arena);
        rc = rc == PML_E_NOT_FOUND ? PML_OK : rc;
    }
    pml_env__free(t->env, ids);
    return rc;
}

const pml_system_table pml_system__snapshots = PML_SYSTEM_TABLE(snapshots, fill_snapshots);

/* ---- schemas, options, aggregation_fields ---- */

static const pml_field schemas_fields[] = {PML_META_LONG("schema_id"),         PML_META_TEXT("fields"),
                                           PML_META_TEXT("partition_keys"),    PML_META_TEXT("primary_keys"),
                                           PML_META_TEXT("options"),           PML_META_TEXT_OR_NULL("comment"),
                                           PML_META_TIME("update_time", false)};

typedef enum schema_part { PART_FIELDS, PART_PARTITION_KEYS, PART_PRIMARY_KEYS, PART_OPTIONS } schema_part;

static void put_names(pml_json_writer *w, const char **names, size_t n)
{
    pml_json_writer__begin_array(w);
    for (size_t i = 0; i < n; i++)
        pml_json_writer__string(w, names[i]);
    pml_json_writer__end_array(w);
}

static int put_json(pml_meta_rows *r, const pml_table_schema *s, const pml_option *options, schema_part part,
                    pml_error *err)
{
    pml_json_writer w;
    pml_buf pretty;
    pml_buf__init(&pretty, r->env, PML_SCHEMA_FILE_MAX);
    pml_json_writer__init(&w, &pretty);
    if (part == PART_FIELDS) {
        pml_schema_json__put_fields(&w, s->fields, s->n_fields);
    } else if (part == PART_OPTIONS) {
        pml_json_writer__begin_object(&w);
        for (size_t i = 0; i < s->n_options; i++)
            pml_json_writer__put_string(&w, options[i].key, options[i].value);
        pml_json_writer__end_object(&w);
    } else if (part == PART_PARTITION_KEYS) {
        put_names(&w, s->partition_keys, s->n_partition_keys);
    } else {
        put_names(&w, s->primary_keys, s->n_primary_keys);
    }
    int rc = pml_json_writer__finish(&w);
    if (rc == PML_E_NOMEM)
        rc = pml_error__no_memory(err);
    else if (rc != PML_OK)
        rc = pml_error__set(err, rc, "schema %lld is too large to be shown", (long long)s->id);
    pml_system__flat_json(pml_meta_rows__begin_text(r), &pretty);
    pml_meta_rows__end_text(r);
    pml_buf__clear(&pretty);
    return rc;
}

static int schema_row(pml_meta_rows *r, const pml_table_schema *s, pml_error *err)
{
    const pml_option *options;
    pml_arena arena;
    pml_arena__init(&arena, r->env);
    int rc = pml_system__options_in_order(&options, &arena, s, err);
    if (rc == PML_OK)
        pml_meta_rows__put_int(r, s->id);
    for (schema_part part = PART_FIELDS; rc == PML_OK && part <= PART_OPTIONS; part++)
        rc = put_json(r, s, options, part, err);
    pml_arena__clear(&arena);
    if (rc != PML_OK)
        return rc;
    pml_meta_rows__put_text(r, s->comment);
    pml_meta_rows__put_time(r, true, pml_zone__local_of_instant(s->time_ms));
    return PML_OK;
}

static int fill_schemas(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    int rc = PML_OK;
    char *dir = pml_path__join(t->env, t->branch_root, "schema");
    if (dir == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_file__list_ids(&ids, &n, t->env, dir, "schema-", err));
    for (size_t i = 0; i < n; i++) {
        const pml_table_schema *s;
        PML_TRY(pml_table__schema_at(&s, t, ids[i], err));
        PML_TRY(schema_row(r, s, err));
    }
out:
    pml_env__free(t->env, ids);
    pml_env__free(t->env, dir);
    return rc;
}

const pml_system_table pml_system__schemas = PML_SYSTEM_TABLE(schemas, fill_schemas);

static const pml_field options_fields[] = {PML_META_TEXT("key"), PML_META_TEXT("value")};

static int fill_options(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    (void)err;
    for (size_t i = 0; i < t->schema->n_options; i++) {
        pml_meta_rows__put_text(r, t->schema->options[i].key);
        pml_meta_rows__put_text(r, t->schema->options[i].value);
    }
    return PML_OK;
}

const pml_system_table pml_system__options = PML_SYSTEM_TABLE(options, fill_options);

static const pml_field aggregation_fields_fields[] = {
    PML_META_TEXT("field_name"), PML_META_TEXT("field_type"), PML_META_TEXT_OR_NULL("function"),
    PML_META_TEXT_OR_NULL("function_options"), PML_META_TEXT_OR_NULL("comment")};

/* Whether the key is fields.<name>.<more>, where <name> has no dot: Java splits at dots. */
static bool is_option_of(const char *key, const char *name)
{
    size_t n = strlen(name);
    return strncmp(key, "fields.", 7) == 0 && strchr(name, '.') == NULL && strncmp(key + 7, name, n) == 0 &&
           key[7 + n] == '.' && key[8 + n] != '\0';
}

static void put_options_of(pml_meta_rows *r, const pml_option *options, size_t n, const char *name, bool keys)
{
    const char *sep = "";
    pml_buf *text = pml_meta_rows__begin_text(r);
    (void)pml_buf__append_byte(text, '[');
    for (size_t i = 0; i < n; i++) {
        if (!is_option_of(options[i].key, name))
            continue;
        (void)pml_buf__append_str(text, sep);
        (void)pml_buf__append_str(text, keys ? options[i].key : options[i].value);
        sep = ", ";
    }
    (void)pml_buf__append_byte(text, ']');
    pml_meta_rows__end_text(r);
}

static int fill_aggregation_fields(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    const pml_option *options;
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    int rc = pml_system__options_in_order(&options, &arena, s, err);
    for (size_t i = 0; rc == PML_OK && i < s->n_fields; i++) {
        const pml_field *f = &s->fields[i];
        pml_meta_rows__put_text(r, f->name);
        (void)pml_type__print(pml_meta_rows__begin_text(r), &f->type);
        pml_meta_rows__end_text(r);
        put_options_of(r, options, s->n_options, f->name, false);
        put_options_of(r, options, s->n_options, f->name, true);
        pml_meta_rows__put_text(r, f->description);
    }
    pml_arena__clear(&arena);
    return rc;
}

const pml_system_table pml_system__aggregation_fields = PML_SYSTEM_TABLE(aggregation_fields, fill_aggregation_fields);
