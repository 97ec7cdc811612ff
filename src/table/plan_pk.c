/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning of tables with a primary key (format-data.md 10.4 to 10.6; Java: KeyValueFileStoreScan, MergeTreeSplitGenerator).
 *
 *   1. what a read shows at all: no bucket before a compaction, and no level 0 where that is the rule of the table
 *   2. files by the statistics of their keys: all versions of a key that matters satisfy the same conditions on it
 *   3. files by the statistics of their values only where no file can hide a row of another one; else a bucket as a whole
 *   4. splits: files that hold each key once are packed like those of append tables and read one by one; of all others whole sections
 *      (merge/sections.h), since the versions of a key must meet in one reader
 */
#include <string.h>

#include "merge/sections.h"
#include "table/memory_source.h"
#include "table/prune.h"
#include "table/scan.h"

/* ---- files ---- */

bool pml_plan__is_visible(const pml_plan *p, const pml_manifest_entry *e)
{
    const pml_table_options *o = &p->table->options;
    bool real_buckets = p->shape != PML_PLAN_STREAM || o->changelog_producer != PML_CHANGELOG_NONE;
    if (p->only_level >= 0 && e->file.level != p->only_level)
        return false;
    if (o->bucket == -2 && e->bucket < 0 && real_buckets)
        return false;
    return e->file.level > 0 || !p->hides_level0;
}

static int values_match(bool *matches, pml_plan *p, pml_prune *prune, const pml_data_file *f, pml_error *err)
{
    const pml_table_schema *written;
    PML_RETURN_IF(pml_table__schema_at(&written, p->table, f->schema_id, err));
    return pml_prune__file(matches, prune, written, f, err);
}

static int file_matches(bool *matches, pml_plan *p, pml_prune *prune, const pml_data_file *f, pml_error *err)
{
    *matches = true;
    if (!p->table->options.pk_clustering) /* the keys of their files are those of other columns */
        PML_RETURN_IF(pml_prune__keys(matches, prune, f, err));
    /* Each key is in one visible file, or its other versions are marked as deleted. */
    if (*matches && p->values_per_file)
        PML_RETURN_IF(values_match(matches, p, prune, f, err));
    return PML_OK;
}

int pml_plan__keep_keyed_files(pml_manifest_entries *live, pml_plan *p, pml_prune *prune, pml_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < live->n; i++) {
        bool matches;
        if (!pml_plan__is_visible(p, &live->v[i]))
            continue;
        PML_RETURN_IF(pml_plan__refuse_file(p, live->v[i].bucket, &live->v[i].file, err));
        PML_RETURN_IF(file_matches(&matches, p, prune, &live->v[i].file, err));
        if (matches)
            live->v[kept++] = live->v[i];
    }
    live->n = kept;
    return PML_OK;
}

/* ---- a bucket ---- */

/* No key is in two of the files. */
static bool is_apart(const pml_plan_group *g)
{
    if (g->n <= 1)
        return true;
    for (size_t i = 0; i < g->n; i++)
        if (g->files[i]->level == 0 || g->files[i]->level != g->files[0]->level)
            return false;
    return true;
}

/* Leaves out what cannot match by its values. A file whose own rows do not match may still hide matching rows of another one, so of
   files over the same keys all are kept or none; where merging makes new rows, all. */
static int keep_by_values(pml_plan_group *g, pml_plan *p, pml_prune *prune, pml_error *err)
{
    const pml_table_options *o = &p->table->options;
    bool apart = is_apart(g), any = false;
    size_t kept = 0;
    if (prune->predicate == NULL || p->values_per_file || g->memory_part >= 0)
        return PML_OK;
    if (!apart && (o->merge_engine == PML_MERGE_ENGINE_PARTIAL_UPDATE || o->merge_engine == PML_MERGE_ENGINE_AGGREGATION))
        return PML_OK;
    for (size_t i = 0; i < g->n && (apart || !any); i++) {
        bool matches;
        PML_RETURN_IF(values_match(&matches, p, prune, g->files[i], err));
        any = any || matches;
        if (apart && matches)
            g->files[kept++] = g->files[i];
    }
    g->n = apart ? kept : any ? g->n : 0;
    return PML_OK;
}

/* Files that do not say how many deletes they have count as having none here, as in Java; pml_split__merges minds them. */
static bool has_deletes(const pml_data_file *f)
{
    return f->delete_row_count.present && f->delete_row_count.v != 0;
}

static bool is_raw_group(const pml_plan *p, const pml_plan_group *g)
{
    const pml_table_options *o = &p->table->options;
    bool one_level = true;
    for (size_t i = 0; i < g->n; i++) {
        if (g->files[i]->level == 0 || has_deletes(g->files[i]))
            return false;
        one_level = one_level && g->files[i]->level == g->files[0]->level;
    }
    return one_level || o->deletion_vectors || o->merge_engine == PML_MERGE_ENGINE_FIRST_ROW;
}

int pml_plan__sections(pml_sections *out, pml_arena *arena, const pml_plan *p, const pml_data_file *const *files, size_t n, pml_error *err)
{
    const pml_table_schema *s = p->schema;
    if (p->table->options.pk_clustering)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, files[0]->name,
                             "needs pk-clustering-override: files of %s must be merged by key to see what counts (deletes, or rows shown "
                             "with their kinds), but are not sorted by it, %s among them",
                             p->table->path, files[0]->name);
    const pml_type **types = pml_arena__array(arena, s->n_keys, sizeof *types);
    if (types == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_keys; i++)
        types[i] = &s->fields[s->key_index[i]].type;
    const pml_sections_request q = {.types = types,
                                    .n_keys = s->n_keys,
                                    .files = files,
                                    .n_files = n,
                                    .as_queued = p->shape == PML_PLAN_BETWEEN,
                                    .by_level = p->shape != PML_PLAN_BETWEEN && pml_table_options__is_lookup(&p->table->options)};
    int rc = pml_sections__make(out, arena, &q, err);
    return rc == PML_OK ? rc : pml_error__prefix(err, rc, "%s", p->table->path);
}

/* ---- splits ---- */

/* Units (files or sections) are packed in order until the target size; sizes come from files, so no sum that may run over. */
typedef struct packing {
    pml_plan *plan;
    size_t *cap;
    const pml_plan_group *group;
    const char *path;
    const pml_data_file **files; /* of the split in the making */
    size_t n;
    int64_t weight;
    bool raw;
} packing;

static int split_end(packing *k, pml_error *err)
{
    pml_split *s;
    if (k->n == 0)
        return PML_OK;
    PML_RETURN_IF(pml_plan__add_group_split(&s, k->plan, k->cap, k->group, k->path, k->files, k->n, err));
    s->raw_convertible = k->raw || (k->n == 1 && !has_deletes(k->files[0]));
    k->n = 0;
    k->weight = 0;
    return PML_OK;
}

/* Room for one more unit of `bytes`; the caller then puts its files in. */
static int unit_begin(packing *k, int64_t bytes, pml_error *err)
{
    const pml_table_options *o = &k->plan->table->options;
    int64_t w = bytes > o->split_open_cost ? bytes : o->split_open_cost;
    if (k->n > 0 && w > o->split_target_size - k->weight)
        PML_RETURN_IF(split_end(k, err));
    if (__builtin_add_overflow(k->weight, w, &k->weight))
        k->weight = INT64_MAX;
    return PML_OK;
}

static int pack_files(packing *k, pml_error *err)
{
    for (size_t i = 0; i < k->group->n; i++) {
        PML_RETURN_IF(unit_begin(k, k->group->files[i]->size_bytes, err));
        k->files[k->n++] = k->group->files[i];
    }
    return split_end(k, err);
}

static int64_t section_bytes(const pml_section *s, const pml_data_file *const *files)
{
    int64_t bytes = 0;
    for (size_t r = 0; r < s->n_runs; r++)
        for (size_t i = 0; i < s->runs[r].n; i++)
            if (__builtin_add_overflow(bytes, files[s->runs[r].files[i]]->size_bytes, &bytes))
                return INT64_MAX;
    return bytes;
}

static int pack_sections(packing *k, const pml_sections *sections, pml_error *err)
{
    for (size_t i = 0; i < sections->n; i++) {
        const pml_section *s = &sections->v[i];
        PML_RETURN_IF(unit_begin(k, section_bytes(s, k->group->files), err));
        for (size_t r = 0; r < s->n_runs; r++)
            for (size_t f = 0; f < s->runs[r].n; f++)
                k->files[k->n++] = k->group->files[s->runs[r].files[f]];
    }
    return split_end(k, err);
}

/* Any row of a file may have a newer version in memory, so all files are in the split of the memory. */
static int pack_with_memory(packing *k, pml_error *err)
{
    pml_plan *p = k->plan;
    const pml_plan_group *g = k->group;
    pml_memory_part part;
    pml_split *s;
    PML_RETURN_IF(pml_plan__add_group_split(&s, p, k->cap, g, k->path, g->files, g->n, err));
    p->memory->part(p->pins, (size_t)g->memory_part, &part);
    s->memory_part = g->memory_part;
    s->memory_rows = part.rows;
    return PML_OK;
}

int pml_plan__pack_keyed(pml_plan *p, size_t *cap, pml_plan_group *g, pml_prune *prune, pml_error *err)
{
    packing k = {.plan = p, .cap = cap, .group = g};
    pml_sections sections;
    pml_split *s;
    pml_arena scratch; /* keys and sections are needed here only */
    int rc;
    PML_RETURN_IF(keep_by_values(g, p, prune, err));
    if (g->n == 0 && g->memory_part < 0)
        return PML_OK;
    pml_arena__init(&scratch, p->env);
    k.files = pml_arena__array(&scratch, g->n, sizeof *k.files);
    if (k.files == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_plan__partition_path(&k.path, p, g->partition, err));
    if (g->memory_part >= 0) {
        rc = pack_with_memory(&k, err);
        goto out;
    }
    k.raw = p->shape == PML_PLAN_STREAM || is_raw_group(p, g);
    if (p->shape == PML_PLAN_STREAM) {
        PML_TRY(pml_plan__add_group_split(&s, p, cap, g, k.path, g->files, g->n, err));
        s->raw_convertible = true;
    } else if (k.raw) {
        PML_TRY(pack_files(&k, err));
    } else {
        PML_TRY(pml_plan__sections(&sections, &scratch, p, g->files, g->n, err));
        PML_TRY(pack_sections(&k, &sections, err));
    }
out:
    pml_arena__clear(&scratch);
    return rc;
}

bool pml_split__merges(const pml_plan *p, const pml_split *s)
{
    if (s->plan != NULL)
        p = s->plan;
    if (p->schema->n_keys == 0 || s->kind == PML_SPLIT_CHANGES)
        return false;
    if (s->before != NULL)
        return true;
    if (!s->raw_convertible || p->keep_retracts)
        return true;
    /* Old releases did not count deletes. Java merges what it planned as free of them. */
    for (size_t i = 0; i < s->n_files; i++)
        if (!s->files[i].delete_row_count.present)
            return true;
    return false;
}
