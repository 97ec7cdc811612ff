/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/snapshot.h"

#include <string.h>

#include "meta/schema_json.h"

static const struct {
    const char *name;
    pml_commit_kind kind;
} kinds[] = {{"APPEND", PML_COMMIT_APPEND},
             {"COMPACT", PML_COMMIT_COMPACT},
             {"OVERWRITE", PML_COMMIT_OVERWRITE},
             {"ANALYZE", PML_COMMIT_ANALYZE}};

const char *pml_commit_kind__name(pml_commit_kind k)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].kind == k)
            return kinds[i].name;
    return "?";
}

const char *pml_snapshot__property(const pml_snapshot *s, const char *key)
{
    for (size_t i = 0; i < s->n_properties; i++)
        if (strcmp(s->properties[i].key, key) == 0)
            return s->properties[i].value;
    return NULL;
}

bool pml_snapshot__same_lists(const pml_snapshot *a, const pml_snapshot *b)
{
    return a->id == b->id && strcmp(a->base_manifest_list, b->base_manifest_list) == 0 &&
           strcmp(a->delta_manifest_list, b->delta_manifest_list) == 0;
}

/* Names of files are joined to a directory: one that leaves it was not written by anybody honest. */
static int get_file_name(const char **out, pml_arena *arena, const json_t *root, const char *member, pml_json_need need,
                         const pml_json_source *src)
{
    PML_RETURN_IF(pml_json__get_string(out, arena, root, member, need, src));
    if (*out == NULL || ((*out)[0] != '\0' && (*out)[0] != '.' && strchr(*out, '/') == NULL))
        return PML_OK;
    return pml_json__fail(src, PML_E_CORRUPT, "member '%s' is '%.120s', not the name of a file", member, *out);
}

static int get_optional(pml_optional_int64 *out, const json_t *root, const char *member, int64_t first,
                        const pml_json_source *src)
{
    return pml_json__find_int64(&out->v, &out->present, root, member, first, INT64_MAX, src);
}

static int get_lists(pml_snapshot *s, pml_arena *arena, const json_t *root, const pml_json_source *src)
{
    PML_RETURN_IF(get_file_name(&s->base_manifest_list, arena, root, "baseManifestList", PML_JSON_REQUIRED, src));
    PML_RETURN_IF(get_optional(&s->base_manifest_list_size, root, "baseManifestListSize", 0, src));
    PML_RETURN_IF(get_file_name(&s->delta_manifest_list, arena, root, "deltaManifestList", PML_JSON_REQUIRED, src));
    PML_RETURN_IF(get_optional(&s->delta_manifest_list_size, root, "deltaManifestListSize", 0, src));
    PML_RETURN_IF(
        get_file_name(&s->changelog_manifest_list, arena, root, "changelogManifestList", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(get_optional(&s->changelog_manifest_list_size, root, "changelogManifestListSize", 0, src));
    PML_RETURN_IF(get_file_name(&s->index_manifest, arena, root, "indexManifest", PML_JSON_OPTIONAL, src));
    return get_file_name(&s->statistics, arena, root, "statistics", PML_JSON_OPTIONAL, src);
}

static int get_commit(pml_snapshot *s, pml_arena *arena, const json_t *root, const pml_json_source *src)
{
    const char *kind;
    PML_RETURN_IF(pml_json__get_string(&s->commit_user, arena, root, "commitUser", PML_JSON_REQUIRED, src));
    PML_RETURN_IF(pml_json__get_int64(&s->commit_identifier, root, "commitIdentifier", INT64_MIN, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_string(&kind, arena, root, "commitKind", PML_JSON_REQUIRED, src));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            s->commit_kind = kinds[i].kind;
    if (s->commit_kind == 0)
        return pml_json__fail(src, PML_E_CORRUPT,
                              "commitKind is '%.80s', expected APPEND, COMPACT, OVERWRITE or ANALYZE", kind);
    return pml_json__get_int64(&s->time_ms, root, "timeMillis", INT64_MIN, INT64_MAX, src);
}

static int get_counts(pml_snapshot *s, const json_t *root, const pml_json_source *src)
{
    PML_RETURN_IF(pml_json__get_int64(&s->total_record_count, root, "totalRecordCount", 0, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_int64(&s->delta_record_count, root, "deltaRecordCount", INT64_MIN, INT64_MAX, src));
    PML_RETURN_IF(get_optional(&s->changelog_record_count, root, "changelogRecordCount", 0, src));
    PML_RETURN_IF(get_optional(&s->watermark, root, "watermark", INT64_MIN, src));
    if (s->watermark.v == INT64_MIN) /* how some jobs say that they have none */
        s->watermark = (pml_optional_int64){0};
    return get_optional(&s->next_row_id, root, "nextRowId", 0, src);
}

static int fill(pml_snapshot *s, pml_arena *arena, const json_t *root, const pml_json_source *src)
{
    int64_t version;
    bool present;
    PML_RETURN_IF(pml_json__find_int64(&version, &present, root, "version", 0, INT32_MAX, src));
    if (version != PML_SNAPSHOT_VERSION)
        return pml_json__fail(src, PML_E_UNSUPPORTED, "snapshot version %lld%s, this version reads %d only",
                              (long long)version, present ? "" : " (none given)", PML_SNAPSHOT_VERSION);
    s->version = (int32_t)version;
    PML_RETURN_IF(pml_json__get_string(&s->uuid, arena, root, "uuid", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(pml_json__get_int64(&s->id, root, "id", 1, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_int64(&s->schema_id, root, "schemaId", 0, INT64_MAX, src));
    PML_RETURN_IF(get_lists(s, arena, root, src));
    PML_RETURN_IF(get_commit(s, arena, root, src));
    PML_RETURN_IF(get_counts(s, root, src));
    PML_RETURN_IF(pml_schema_json__get_options(&s->properties, &s->n_properties, arena, root, "properties",
                                               PML_JSON_OPTIONAL, src));
    return pml_json__get_string(&s->operation, arena, root, "operation", PML_JSON_OPTIONAL, src);
}

int pml_snapshot__parse(pml_snapshot *out, pml_arena *arena, pml_bytes json, const char *name, pml_error *err)
{
    const pml_json_source src = {name, PML_PLACE_SNAPSHOT, PML_E_CORRUPT, err};
    pml_snapshot s = {0};
    json_t *root;
    *out = (pml_snapshot){0};
    PML_RETURN_IF(pml_json__parse(&root, json, PML_SNAPSHOT_FILE_MAX, &src));
    int rc = fill(&s, arena, root, &src);
    json_decref(root);
    if (rc == PML_OK)
        *out = s;
    return rc;
}

static void put_optional(pml_json_writer *w, const char *key, pml_optional_int64 v)
{
    if (v.present)
        pml_json_writer__put_int64(w, key, v.v);
}

static void put_properties(pml_json_writer *w, const pml_snapshot *s)
{
    if (s->n_properties == 0)
        return;
    pml_json_writer__key(w, "properties");
    pml_json_writer__begin_object(w);
    for (size_t i = 0; i < s->n_properties; i++)
        pml_json_writer__put_string(w, s->properties[i].key, s->properties[i].value);
    pml_json_writer__end_object(w);
}

int pml_snapshot__write(pml_buf *out, const pml_snapshot *s)
{
    pml_json_writer w;
    pml_json_writer__init(&w, out);
    pml_json_writer__begin_object(&w);
    pml_json_writer__put_int64(&w, "version", s->version);
    pml_json_writer__put_string(&w, "uuid", s->uuid);
    pml_json_writer__put_int64(&w, "id", s->id);
    pml_json_writer__put_int64(&w, "schemaId", s->schema_id);
    pml_json_writer__put_string(&w, "baseManifestList", s->base_manifest_list);
    put_optional(&w, "baseManifestListSize", s->base_manifest_list_size);
    pml_json_writer__put_string(&w, "deltaManifestList", s->delta_manifest_list);
    put_optional(&w, "deltaManifestListSize", s->delta_manifest_list_size);
    pml_json_writer__put_string(&w, "changelogManifestList", s->changelog_manifest_list);
    put_optional(&w, "changelogManifestListSize", s->changelog_manifest_list_size);
    pml_json_writer__put_string(&w, "indexManifest", s->index_manifest);
    pml_json_writer__put_string(&w, "commitUser", s->commit_user);
    pml_json_writer__put_int64(&w, "commitIdentifier", s->commit_identifier);
    pml_json_writer__put_string(&w, "commitKind", pml_commit_kind__name(s->commit_kind));
    pml_json_writer__put_int64(&w, "timeMillis", s->time_ms);
    pml_json_writer__put_int64(&w, "totalRecordCount", s->total_record_count);
    pml_json_writer__put_int64(&w, "deltaRecordCount", s->delta_record_count);
    put_optional(&w, "changelogRecordCount", s->changelog_record_count);
    put_optional(&w, "watermark", s->watermark);
    pml_json_writer__put_string(&w, "statistics", s->statistics);
    put_properties(&w, s);
    put_optional(&w, "nextRowId", s->next_row_id);
    pml_json_writer__put_string(&w, "operation", s->operation);
    pml_json_writer__end_object(&w);
    return pml_json_writer__finish(&w);
}
