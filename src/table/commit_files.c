/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests and manifest lists of one commit. */
#include <string.h>

#include "meta/partition.h"
#include "storage/file_io.h"
#include "table/commit.h"

int pml_names__add(pml_names *names, pml_env *env, const char *name)
{
    char **v =
        names->v == NULL ? pml_env__alloc(env, sizeof *v) : pml_env__realloc(env, names->v, (names->n + 1) * sizeof *v);
    if (v == NULL)
        return PML_E_NOMEM;
    names->v = v;
    names->env = env;
    v[names->n] = pml_env__strdup(env, name);
    if (v[names->n] == NULL)
        return PML_E_NOMEM;
    names->n++;
    return PML_OK;
}

int pml_commit_files__init(pml_commit_files *f, pml_table *t, bool delta_per_attempt, pml_error *err)
{
    *f = (pml_commit_files){.env = t->env, .table = t, .delta_per_attempt = delta_per_attempt, .open_id = -1};
    pml_arena__init(&f->arena, t->env);
    return pml_env__uuid(t->env, f->uuid, err);
}

static void forget_attempt(pml_commit_files *f)
{
    pml_env__free(f->env, f->base_list);
    pml_env__free(f->env, f->delta_list);
    pml_env__free(f->env, f->index_manifest);
    f->base_list = f->delta_list = f->index_manifest = NULL;
    pml_names_clear(&f->merged);
}

void pml_commit_files__clear(pml_commit_files *f)
{
    if (f->env == NULL)
        return;
    forget_attempt(f);
    pml_names_clear(&f->delta_lists);
    pml_arena__clear(&f->arena);
    *f = (pml_commit_files){0};
}

static void remove_manifest_file(pml_commit_files *f, const char *name)
{
    char *path = name == NULL ? NULL : pml_path__manifest(f->env, f->table->path, name);
    if (path != NULL)
        (void)pml_file__remove(f->env, path, NULL);
    pml_env__free(f->env, path);
}

static void forget_delta(pml_commit_files *f)
{
    f->delta_written = false;
    f->n_delta = 0;
    pml_arena__reset(&f->arena);
}

void pml_commit_files__keep(pml_commit_files *f)
{
    f->shown = true;
    if (f->delta_per_attempt)
        forget_delta(f);
    forget_attempt(f);
}

void pml_commit_files__undo(pml_commit_files *f, bool delta_too)
{
    delta_too = f->delta_per_attempt || (delta_too && !f->shown);
    remove_manifest_file(f, f->base_list);
    remove_manifest_file(f, f->delta_list);
    remove_manifest_file(f, f->index_manifest);
    for (size_t i = 0; i < f->merged.n; i++)
        remove_manifest_file(f, f->merged.v[i]);
    for (size_t i = 0; delta_too && i < f->n_delta; i++)
        remove_manifest_file(f, f->delta[i].name);
    if (delta_too)
        forget_delta(f);
    forget_attempt(f);
}

/* Whether files are made durable one by one: else the publication sees to all of them, or nobody does. */
static bool syncs_files(const pml_commit_files *f)
{
    return f->table->options.commit_durability == PML_DURABILITY_FILES;
}

/* Writes bytes as manifest/<name>. Only the content is synced: the directory once for all files of the attempt. */
int pml_commit_files__write_file(pml_commit_files *f, const char *name, const uint8_t *bytes, size_t len, pml_error *err)
{
    char *path = pml_path__manifest(f->env, f->table->path, name);
    if (path == NULL)
        return pml_error__no_memory(err);
    uint32_t flags = syncs_files(f) ? PML_WRITE_NO_DIRECTORY_SYNC : PML_WRITE_NO_SYNC;
    int rc = pml_file__write_new(f->env, path, bytes, len, flags, err);
    pml_env__free(f->env, path);
    return rc;
}

/* ---- manifests ---- */

static void widen(pml_optional_int64 *min, pml_optional_int64 *max, int64_t v)
{
    if (!min->present || v < min->v)
        *min = (pml_optional_int64){true, v};
    if (!max->present || v > max->v)
        *max = (pml_optional_int64){true, v};
}

/* Smallest, largest and null count of each partition column over the entries. */
static int partition_stats(pml_simple_stats *out, pml_arena *arena, const pml_table_schema *s,
                           const pml_manifest_entry *v, size_t n, pml_error *err)
{
    size_t keys = s->n_partition_keys;
    pml_value min[PML_PARTITION_KEYS_MAX] = {{0}}, max[PML_PARTITION_KEYS_MAX] = {{0}}, row[PML_PARTITION_KEYS_MAX];
    int64_t *nulls = pml_arena__array(arena, keys, sizeof *nulls);
    pml_buf text;
    int rc = PML_OK;
    if (nulls == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        PML_RETURN_IF(pml_partition__decode(row, s, v[i].partition, err));
        for (size_t k = 0; k < keys; k++) {
            if (row[k].kind == PML_VALUE_NULL) {
                nulls[k]++;
                continue;
            }
            if (min[k].kind == PML_VALUE_NULL || pml_value__compare(&row[k], &min[k]) < 0)
                min[k] = row[k];
            if (max[k].kind == PML_VALUE_NULL || pml_value__compare(&row[k], &max[k]) > 0)
                max[k] = row[k];
        }
    }
    pml_buf__init(&text, arena->env, PML_BINARY_ROW_MAX);
    (void)pml_partition__encode(&text, s, min);
    size_t min_len = text.len;
    (void)pml_partition__encode(&text, s, max);
    if (pml_buf__check(&text, err) != PML_OK) {
        rc = text.rc;
    } else {
        const uint8_t *bytes = pml_arena__copy(arena, text.data, text.len);
        rc = bytes == NULL ? pml_error__no_memory(err) : PML_OK;
        *out = (pml_simple_stats){{bytes, min_len}, {bytes + min_len, text.len - min_len}, true, keys, nulls};
    }
    pml_buf__clear(&text);
    return rc;
}

static int describe(pml_manifest_meta *m, pml_arena *arena, pml_commit_files *f, const pml_manifest_entry *v, size_t n,
                    pml_error *err)
{
    bool all_row_ids = n > 0;
    m->schema_id = f->table->schema->id;
    for (size_t i = 0; i < n; i++) {
        const pml_data_file *file = &v[i].file;
        m->n_added += v[i].kind == PML_ENTRY_ADD;
        m->n_deleted += v[i].kind == PML_ENTRY_DELETE;
        m->schema_id = i == 0 || file->schema_id > m->schema_id ? file->schema_id : m->schema_id;
        widen(&m->min_bucket, &m->max_bucket, v[i].bucket);
        widen(&m->min_level, &m->max_level, file->level);
        all_row_ids = all_row_ids && file->first_row_id.present;
        if (file->first_row_id.present) {
            int64_t last;
            if (__builtin_add_overflow(file->first_row_id.v, file->row_count - 1, &last))
                last = INT64_MAX;
            widen(&m->min_row_id, &m->max_row_id, file->first_row_id.v);
            widen(&m->min_row_id, &m->max_row_id, last);
        }
    }
    if (!all_row_ids)
        m->min_row_id = m->max_row_id = (pml_optional_int64){0};
    return partition_stats(&m->partition_stats, arena, f->table->schema, v, n, err);
}

int pml_commit_files__write_manifest(pml_manifest_meta *meta, pml_arena *arena, pml_commit_files *f,
                                     const pml_manifest_entry *v, size_t n, pml_error *err)
{
    uint8_t *bytes = NULL;
    size_t len;
    char *name = NULL;
    int rc;
    *meta = (pml_manifest_meta){0};
    PML_TRY(pml_manifest__encode(&bytes, &len, f->env, v, n, f->table->options.manifest_compression,
                                 f->table->options.zstd_level, err));
    name = pml_env__format(f->env, "manifest-%s-%lld", f->uuid, (long long)f->manifest_counter++);
    meta->name = name == NULL ? NULL : pml_arena__strdup(arena, name);
    if (meta->name == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    meta->size_bytes = (int64_t)len;
    PML_TRY(describe(meta, arena, f, v, n, err));
    PML_TRY(pml_commit_files__write_file(f, name, bytes, len, err));
out:
    pml_env__free(f->env, bytes);
    pml_env__free(f->env, name);
    return rc;
}

static int delta_entries(pml_manifest_entry **out, size_t *n, pml_commit_files *f, const pml_commit_decision *d,
                         pml_error *err)
{
    size_t total = d->n_removed, at = d->n_removed;
    bool overflow = false;
    for (size_t i = 0; i < d->n_files; i++)
        total += d->files[i]->n;
    pml_manifest_entry *v = pml_arena__array(&f->arena, total, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    f->delta_rows = 0;
    for (size_t i = 0; i < d->n_removed; i++) {
        v[i] = d->removed[i];
        v[i].kind = PML_ENTRY_DELETE;
        overflow = __builtin_sub_overflow(f->delta_rows, v[i].file.row_count, &f->delta_rows) || overflow;
    }
    for (size_t i = 0; i < d->n_files; i++) {
        const pml_new_files *from = d->files[i];
        for (size_t j = 0; j < from->n; j++) {
            v[at++] =
                (pml_manifest_entry){PML_ENTRY_ADD, from->partition, from->bucket, from->total_buckets, from->files[j]};
            overflow = __builtin_add_overflow(f->delta_rows, from->files[j].row_count, &f->delta_rows) || overflow;
        }
    }
    if (overflow)
        return pml_error__set(err, PML_E_OVERFLOW, "the rows of one commit to %s pass 2^63", f->table->path);
    *out = v;
    *n = total;
    return PML_OK;
}

static int write_delta(pml_commit_files *f, const pml_commit_decision *d, pml_error *err)
{
    pml_manifest_entry *v = NULL;
    size_t n = 0;
    PML_RETURN_IF(delta_entries(&v, &n, f, d, err));
    f->n_delta = 0;
    f->delta = pml_arena__alloc(&f->arena, sizeof *f->delta);
    if (f->delta == NULL)
        return pml_error__no_memory(err);
    if (n > 0) {
        PML_RETURN_IF(pml_commit_files__write_manifest(f->delta, &f->arena, f, v, n, err));
        f->n_delta = 1;
    }
    f->delta_written = true;
    return PML_OK;
}

/* ---- lists ---- */

static int write_list(char **name, int64_t *size, pml_commit_files *f, const pml_manifest_meta *v, size_t n,
                      pml_error *err)
{
    uint8_t *bytes = NULL;
    size_t len;
    int rc;
    *name = pml_env__format(f->env, "manifest-list-%s-%lld", f->uuid, (long long)f->list_counter++);
    if (*name == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_manifest_list__encode(&bytes, &len, f->env, v, n, f->table->options.manifest_compression,
                                      f->table->options.zstd_level, err));
    *size = (int64_t)len;
    PML_TRY(pml_commit_files__write_file(f, *name, bytes, len, err));
out:
    pml_env__free(f->env, bytes);
    return rc;
}

static int base_manifests(pml_manifest_list *out, pml_arena *arena, pml_commit_files *f, const pml_snapshot *latest,
                          pml_error *err)
{
    pml_manifest_list in = {0};
    *out = (pml_manifest_list){0};
    if (latest == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_manifest_list(&in, arena, f->table, latest->base_manifest_list, err));
    PML_RETURN_IF(pml_table__load_manifest_list(&in, arena, f->table, latest->delta_manifest_list, err));
    return pml_manifest_merge__run(out, arena, f, &in, err);
}

int pml_commit_files__write(pml_commit_files *f, const pml_snapshot *latest, const pml_commit_decision *d,
                            pml_error *err)
{
    pml_arena arena;
    pml_manifest_list base;
    char *dir = NULL;
    int rc;
    pml_arena__init(&arena, f->env);
    forget_attempt(f);
    PML_TRY(pml_commit_index__write(f, &arena, latest, d, err));
    if (!f->delta_written)
        PML_TRY(write_delta(f, d, err));
    PML_TRY(base_manifests(&base, &arena, f, latest, err));
    PML_TRY(write_list(&f->base_list, &f->base_list_size, f, base.v, base.n, err));
    PML_TRY(write_list(&f->delta_list, &f->delta_list_size, f, f->delta, f->n_delta, err));
    if (pml_names__add(&f->delta_lists, f->env, f->delta_list) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (!syncs_files(f))
        goto out;
    dir = pml_path__join(f->env, f->table->path, "manifest");
    if (dir == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_file__sync_directory(f->env, dir, err));
out:
    pml_env__free(f->env, dir);
    pml_arena__clear(&arena);
    return rc;
}

bool pml_commit_files__is_ours(const pml_commit_files *f, const pml_snapshot *s)
{
    for (size_t i = 0; i < f->delta_lists.n; i++)
        if (strcmp(f->delta_lists.v[i], s->delta_manifest_list) == 0)
            return true;
    return false;
}
