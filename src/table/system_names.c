/* SPDX-License-Identifier: Apache-2.0 */
/* System tables of small JSON files, and of branches. Files that vanish between listing and reading are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/json.h"
#include "storage/file_io.h"
#include "table/consumer.h"
#include "table/system.h"
#include "util/number.h"
#include "util/zone.h"

enum { NAMES_MAX = 1000000, SMALL_FILE_MAX = 16 * 1024 * 1024, STATISTICS_FILE_MAX = 64 * 1024 * 1024 };

/* ---- what directories list: tags, branches, consumers ---- */

typedef struct name_list {
    pml_arena *arena;
    const char *prefix;
    uint32_t kind; /* of the entries that are wanted */
    size_t n, cap;
    const char **v; /* without the prefix */
    int rc;
} name_list;

static int note_name(void *arg, const char *name, uint32_t kind)
{
    name_list *l = arg;
    size_t n = strlen(l->prefix);
    bool is_directory = kind == PML_FILE_DIRECTORY, directory_wanted = l->kind == PML_FILE_DIRECTORY;
    if (is_directory != directory_wanted || strncmp(name, l->prefix, n) != 0 || name[n] == '\0')
        return 0;
    if (l->n == NAMES_MAX)
        l->rc = PML_E_LIMIT;
    if (l->n == l->cap && l->rc == PML_OK) {
        size_t cap = l->cap == 0 ? 64 : l->cap * 2;
        const char **v = pml_arena__array(l->arena, cap, sizeof *v);
        if (v != NULL && l->n > 0)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
        l->rc = v == NULL ? PML_E_NOMEM : PML_OK;
    }
    if (l->rc == PML_OK && (l->v[l->n++] = pml_arena__strdup(l->arena, name + n)) == NULL)
        l->rc = PML_E_NOMEM;
    return l->rc != PML_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Entries <root>/<dir>/<prefix><name>, sorted. A directory that is not there is empty. */
static int list_names(name_list *l, pml_env *env, const char *root, const char *dir, pml_error *err)
{
    char *path = pml_path__join(env, root, dir);
    if (path == NULL)
        return pml_error__no_memory(err);
    int rc = env->fs.list(env->fs.ctx, path, note_name, l, err);
    if (l->rc == PML_E_NOMEM)
        rc = pml_error__no_memory(err);
    else if (l->rc != PML_OK)
        rc = pml_error__at(err, l->rc, PML_PLACE_FILE, path, "%s lists more than %d names", path, NAMES_MAX);
    else if (rc == PML_E_NOT_FOUND)
        rc = PML_OK;
    if (rc == PML_OK && l->n > 1)
        qsort(l->v, l->n, sizeof *l->v, compare_names);
    pml_env__free(env, path);
    return rc;
}

typedef int (*put_file_fn)(pml_meta_rows *r, pml_arena *arena, const char *name, pml_bytes text,
                           const pml_json_source *src);

/* One row for each file <root>/<dir>/<prefix><name>. */
static int fill_from_files(pml_meta_rows *r, pml_table *t, const char *dir, const char *prefix, put_file_fn put,
                           pml_error *err)
{
    pml_arena arena;
    int rc;
    pml_arena__init(&arena, t->env);
    name_list l = {.arena = &arena, .prefix = prefix};
    PML_TRY(list_names(&l, t->env, t->branch_root, dir, err));
    for (size_t i = 0; i < l.n; i++) {
        uint8_t *data = NULL;
        size_t len = 0;
        char *path = pml_env__format(t->env, "%s/%s/%s%s", t->branch_root, dir, prefix, l.v[i]);
        const pml_json_source src = {path, PML_PLACE_FILE, PML_E_CORRUPT, err};
        rc = path == NULL ? pml_error__no_memory(err)
                          : pml_file__read_all(&data, &len, t->env, path, SMALL_FILE_MAX, err);
        if (rc == PML_OK)
            rc = put(r, &arena, l.v[i], (pml_bytes){data, len}, &src);
        pml_env__free(t->env, data);
        pml_env__free(t->env, path);
        if (rc != PML_OK && rc != PML_E_NOT_FOUND)
            goto out;
    }
    rc = PML_OK;
out:
    pml_arena__clear(&arena);
    return rc;
}

static const pml_field consumers_fields[] = {PML_META_TEXT("consumer_id"), PML_META_LONG("next_snapshot_id")};

static int put_consumer(pml_meta_rows *r, pml_arena *arena, const char *name, pml_bytes text,
                        const pml_json_source *src)
{
    int64_t next;
    (void)arena;
    PML_RETURN_IF(pml_consumer__parse(&next, text, src));
    pml_meta_rows__put_text(r, name);
    pml_meta_rows__put_int(r, next);
    return PML_OK;
}

static int fill_consumers(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    return fill_from_files(r, t, "consumer", "consumer-", put_consumer, err);
}

const pml_system_table pml_system__consumers = PML_SYSTEM_TABLE(consumers, fill_consumers);

static const pml_field branches_fields[] = {PML_META_TEXT("branch_name"), PML_META_TIME("create_time", false)};

/* Java's time of creation is that of the directory's last change. */
static int branch_row(pml_meta_rows *r, pml_table *t, const char *name, pml_error *err)
{
    pml_file_info info = {.struct_size = sizeof info};
    char *path = pml_path__branch(t->env, t->path, name);
    if (path == NULL)
        return pml_error__no_memory(err);
    int rc = t->env->fs.stat(t->env->fs.ctx, &info, path, err);
    pml_env__free(t->env, path);
    if (rc != PML_OK)
        return rc == PML_E_NOT_FOUND ? PML_OK : rc; /* dropped meanwhile */
    pml_meta_rows__put_text(r, name);
    pml_meta_rows__put_time(r, true, pml_zone__local_of_instant(info.mtime_ms));
    return PML_OK;
}

static int fill_branches(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    name_list l = {.arena = &arena, .prefix = "branch-", .kind = PML_FILE_DIRECTORY};
    int rc = list_names(&l, t->env, t->path, "branch", err);
    for (size_t i = 0; rc == PML_OK && i < l.n; i++)
        rc = branch_row(r, t, l.v[i], err);
    pml_arena__clear(&arena);
    return rc;
}

const pml_system_table pml_system__branches = PML_SYSTEM_TABLE(branches, fill_branches);

static const pml_field tags_fields[] = {PML_META_TEXT("tag_name"),
                                        PML_META_LONG("snapshot_id"),
                                        PML_META_LONG("schema_id"),
                                        PML_META_TIME("commit_time", false),
                                        PML_META_LONG_OR_NULL("record_count"),
                                        PML_META_TIME("create_time", true),
                                        PML_META_TEXT_OR_NULL("time_retained")};

/* [year, month, day, hour, minute, second?, nanosecond?], as Jackson writes a LocalDateTime; in milliseconds. */
static bool get_local_time(int64_t *ms, const json_t *v)
{
    static const int64_t last[] = {9999, 12, 31, 23, 59, 59, 999999999};
    int64_t part[7] = {0};
    size_t n = json_is_array(v) ? json_array_size(v) : 0;
    if (n < 5 || n > 7)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(v, i);
        part[i] = json_is_integer(item) ? json_integer_value(item) : -1;
        if (part[i] < 0 || part[i] > last[i] || ((i == 1 || i == 2) && part[i] == 0))
            return false;
    }
    *ms = ((pml_number__days_from_civil(part[0], (int)part[1], (int)part[2]) * 24 + part[3]) * 60 + part[4]) * 60000 +
          part[5] * 1000 + part[6] / 1000000;
    return true;
}

/* Seconds as Java's Duration.toString writes them: PT1H2M3.5S. */
static void append_duration(pml_buf *out, double seconds)
{
    int64_t whole = (int64_t)seconds, ms = (int64_t)((seconds - (double)whole) * 1000 + 0.5);
    int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
    if (whole == 0 && ms == 0) {
        (void)pml_buf__append_str(out, "PT0S");
        return;
    }
    (void)pml_buf__append_str(out, "PT");
    if (hours != 0)
        (void)pml_buf__append_format(out, "%lldH", (long long)hours);
    if (minutes != 0)
        (void)pml_buf__append_format(out, "%lldM", (long long)minutes);
    if (ms != 0) {
        char fraction[8];
        (void)snprintf(fraction, sizeof fraction, "%03d", (int)ms);
        for (size_t n = 3; n > 1 && fraction[n - 1] == '0'; n--)
            fraction[n - 1] = '\0';
        (void)pml_buf__append_format(out, "%lld.%sS", (long long)rest, fraction);
    } else if (rest != 0) {
        (void)pml_buf__append_format(out, "%lldS", (long long)rest);
    }
}

static int put_tag_times(pml_meta_rows *r, const json_t *json, const pml_json_source *src)
{
    enum { SECONDS_MAX = 1000000000 }; /* times a thousand: 30000 years */
    const json_t *created = json_object_get(json, "tagCreateTime"),
                 *retained = json_object_get(json, "tagTimeRetained");
    int64_t ms = 0;
    bool has_created = created != NULL && !json_is_null(created),
         has_retained = retained != NULL && !json_is_null(retained);
    if (has_created && !get_local_time(&ms, created))
        return pml_json__fail(src, PML_E_CORRUPT, "member 'tagCreateTime' is no time");
    double seconds = has_retained && json_is_number(retained) ? json_number_value(retained) : -1;
    if (has_retained && !(seconds >= 0 && seconds <= 1e3 * SECONDS_MAX))
        return pml_json__fail(src, PML_E_CORRUPT, "member 'tagTimeRetained' is no duration");
    pml_meta_rows__put_time(r, has_created, ms);
    if (has_retained) {
        append_duration(pml_meta_rows__begin_text(r), seconds);
        pml_meta_rows__end_text(r);
    } else {
        pml_meta_rows__put_null(r);
    }
    return PML_OK;
}

static int put_tag(pml_meta_rows *r, pml_arena *arena, const char *name, pml_bytes text, const pml_json_source *src)
{
    pml_snapshot s;
    json_t *json;
    PML_RETURN_IF(pml_snapshot__parse(&s, arena, text, src->file, src->err));
    PML_RETURN_IF(pml_json__parse(&json, text, SMALL_FILE_MAX, src));
    pml_meta_rows__put_text(r, name);
    pml_meta_rows__put_int(r, s.id);
    pml_meta_rows__put_int(r, s.schema_id);
    pml_meta_rows__put_time(r, true, pml_zone__local_of_instant(s.time_ms));
    pml_meta_rows__put_int(r, s.total_record_count);
    int rc = put_tag_times(r, json, src);
    json_decref(json);
    return rc;
}

static int fill_tags(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    return fill_from_files(r, t, "tag", "tag-", put_tag, err);
}

const pml_system_table pml_system__tags = PML_SYSTEM_TABLE(tags, fill_tags);

/* ---- statistics ---- */

static const pml_field statistics_fields[] = {
    PML_META_LONG("snapshot_id"), PML_META_LONG("schema_id"), PML_META_LONG_OR_NULL("mergedRecordCount"),
    PML_META_LONG_OR_NULL("mergedRecordSize"), PML_META_TEXT_OR_NULL("colstat")};

/* The statistics of one column: whole numbers and texts. */
static void put_column_statistics(pml_json_writer *w, json_t *column)
{
    const char *key;
    json_t *v;
    pml_json_writer__begin_object(w);
    json_object_foreach(column, key, v)
    {
        if (json_is_integer(v))
            pml_json_writer__put_int64(w, key, json_integer_value(v));
        else if (json_is_string(v))
            pml_json_writer__put_string(w, key, json_string_value(v));
    }
    pml_json_writer__end_object(w);
}

static int put_statistics(pml_meta_rows *r, json_t *json, const pml_json_source *src)
{
    static const char *const numbers[] = {"snapshotId", "schemaId", "mergedRecordCount", "mergedRecordSize"};
    pml_json_writer w;
    const char *key;
    json_t *v, *columns = json_object_get(json, "colStats");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        pml_optional_int64 n;
        PML_RETURN_IF(pml_json__find_int64(&n.v, &n.present, json, numbers[i], INT64_MIN, INT64_MAX, src));
        if (!n.present && i < 2)
            return pml_json__fail(src, PML_E_CORRUPT, "member '%s' is missing", numbers[i]);
        pml_meta_rows__put_optional(r, n);
    }
    if (columns != NULL && !json_is_object(columns) && !json_is_null(columns))
        return pml_json__fail(src, PML_E_CORRUPT, "member 'colStats' is no object");
    pml_json_writer__init(&w, pml_meta_rows__begin_text(r));
    pml_json_writer__begin_object(&w);
    json_object_foreach(columns, key, v)
    {
        if (!json_is_object(v))
            return pml_json__fail(src, PML_E_CORRUPT, "member '%.120s' of 'colStats' is no object", key);
        pml_json_writer__key(&w, key);
        put_column_statistics(&w, v);
    }
    pml_json_writer__end_object(&w);
    (void)pml_json_writer__finish(&w); /* the buffer keeps the error */
    pml_meta_rows__end_text(r);
    return PML_OK;
}

/* Of the snapshot that the table's options choose, else the latest. */
static int fill_statistics(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    pml_snapshot s;
    pml_arena arena;
    bool found;
    uint8_t *data = NULL;
    size_t len = 0;
    json_t *json = NULL;
    char *path = NULL;
    int rc;
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_system__find_snapshot(&s, &found, &arena, t, err));
    if (!found || s.statistics == NULL)
        goto out;
    path = pml_env__format(t->env, "%s/statistics/%s", t->path, s.statistics);
    if (path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    const pml_json_source src = {path, PML_PLACE_FILE, PML_E_CORRUPT, err};
    PML_TRY(pml_file__read_all(&data, &len, t->env, path, STATISTICS_FILE_MAX, err));
    PML_TRY(pml_json__parse(&json, (pml_bytes){data, len}, STATISTICS_FILE_MAX, &src));
    PML_TRY(put_statistics(r, json, &src));
out:
    json_decref(json);
    pml_env__free(t->env, data);
    pml_env__free(t->env, path);
    pml_arena__clear(&arena);
    return rc;
}

const pml_system_table pml_system__statistics = PML_SYSTEM_TABLE(statistics, fill_statistics);
