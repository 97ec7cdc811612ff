/* SPDX-License-Identifier: Apache-2.0 */
/* System tables of what a snapshot's manifests hold: manifests, index files, partitions, buckets. Data files: system_data_files.c. */
#include <string.h>

#include "columnar/java_text.h"
#include "meta/partition.h"
#include "table/system.h"

int pml_system__find_snapshot(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, pml_error *err)
{
    const pml_travel travel = pml_travel__of_options(&t->options);
    return pml_travel__find(s, found, arena, t, &travel, -1, err);
}

int pml_system__put_partition(pml_meta_rows *r, const pml_table_schema *s, pml_bytes partition, pml_error *err)
{
    PML_RETURN_IF(pml_system__partition_text(pml_meta_rows__begin_text(r), s, partition, err));
    pml_meta_rows__end_text(r);
    return PML_OK;
}

/* ---- manifests ---- */

static const pml_field manifests_fields[] = {PML_META_TEXT("file_name"),
                                             PML_META_LONG("file_size"),
                                             PML_META_LONG("num_added_files"),
                                             PML_META_LONG("num_deleted_files"),
                                             PML_META_LONG("schema_id"),
                                             PML_META_TEXT_OR_NULL("min_partition_stats"),
                                             PML_META_TEXT_OR_NULL("max_partition_stats"),
                                             PML_META_LONG_OR_NULL("min_row_id"),
                                             PML_META_LONG_OR_NULL("max_row_id")};

static int manifest_row(pml_meta_rows *r, const pml_table_schema *s, const pml_manifest_meta *m, pml_error *err)
{
    pml_meta_rows__put_text(r, m->name);
    pml_meta_rows__put_int(r, m->size_bytes);
    pml_meta_rows__put_int(r, m->n_added);
    pml_meta_rows__put_int(r, m->n_deleted);
    pml_meta_rows__put_int(r, m->schema_id);
    PML_RETURN_IF(pml_system__put_partition(r, s, m->partition_stats.min, err));
    PML_RETURN_IF(pml_system__put_partition(r, s, m->partition_stats.max, err));
    pml_meta_rows__put_optional(r, m->min_row_id);
    pml_meta_rows__put_optional(r, m->max_row_id);
    return PML_OK;
}

static int fill_manifests(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    pml_snapshot s;
    pml_arena arena;
    pml_manifest_list list = {0};
    bool found;
    int rc;
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_system__find_snapshot(&s, &found, &arena, t, err));
    if (!found)
        goto out;
    PML_TRY(pml_table__load_manifest_list(&list, &arena, t, s.base_manifest_list, err));
    PML_TRY(pml_table__load_manifest_list(&list, &arena, t, s.delta_manifest_list, err));
    if (s.changelog_manifest_list != NULL)
        PML_TRY(pml_table__load_manifest_list(&list, &arena, t, s.changelog_manifest_list, err));
    for (size_t i = 0; i < list.n; i++)
        PML_TRY(manifest_row(r, t->schema, &list.v[i], err));
out:
    pml_arena__clear(&arena);
    return rc;
}

const pml_system_table pml_system__manifests = PML_SYSTEM_TABLE(manifests, fill_manifests);

/* ---- table_indexes ---- */

static const pml_field range_fields[] = {PML_META_TEXT("f0"), PML_META_INT("f1"), PML_META_INT("f2"),
                                         PML_META_LONG_OR_NULL("_CARDINALITY")};
static const pml_field range_element = {
    .name = "element",
    .type = {.kind = PML_TYPE_ROW, .nullable = true, .n_children = 4, .children = (pml_field *)range_fields}};
static const pml_field table_indexes_fields[] = {
    PML_META_TEXT_OR_NULL("partition"),
    PML_META_INT("bucket"),
    PML_META_TEXT("index_type"),
    PML_META_TEXT("file_name"),
    PML_META_LONG("file_size"),
    PML_META_LONG("row_count"),
    {.name = "dv_ranges",
     .type = {.kind = PML_TYPE_ARRAY, .nullable = true, .n_children = 1, .children = (pml_field *)&range_element}}};

static int put_range(pml_builder *row, const pml_index_range *range)
{
    const pml_bytes name = {(const uint8_t *)range->data_file, strlen(range->data_file)};
    const pml_value values[] = {
        {.kind = PML_VALUE_BYTES, .bytes = name},
        {.kind = PML_VALUE_INT, .i = range->at.offset},
        {.kind = PML_VALUE_INT, .i = range->at.length},
        {.kind = range->at.cardinality < 0 ? PML_VALUE_NULL : PML_VALUE_INT, .i = range->at.cardinality}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        PML_RETURN_IF(pml_builder__append_value(pml_builder__child(row, i), &values[i]));
    return pml_builder__close_item(row);
}

static void put_ranges(pml_meta_rows *r, const pml_index_entry *e)
{
    int rc = PML_OK;
    if (e->n_ranges == 0 && strcmp(e->type, "DELETION_VECTORS") != 0) {
        pml_meta_rows__put_null(r);
        return;
    }
    pml_builder *list = pml_meta_rows__begin_nested(r);
    for (size_t i = 0; rc == PML_OK && i < e->n_ranges; i++)
        rc = put_range(pml_builder__child(list, 0), &e->ranges[i]);
    pml_meta_rows__end_nested(r, rc == PML_OK ? pml_builder__close_item(list) : rc);
}

static int fill_table_indexes(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    pml_snapshot s;
    pml_arena arena;
    pml_index_entries entries = {0};
    bool found;
    int rc;
    pml_arena__init(&arena, t->env);
    PML_TRY(pml_system__find_snapshot(&s, &found, &arena, t, err));
    if (!found || s.index_manifest == NULL)
        goto out;
    PML_TRY(pml_table__load_index_manifest(&entries, &arena, t, s.index_manifest, err));
    for (size_t i = 0; i < entries.n; i++) {
        const pml_index_entry *e = &entries.v[i];
        PML_TRY(pml_system__put_partition(r, t->schema, e->partition, err));
        pml_meta_rows__put_int(r, e->bucket);
        pml_meta_rows__put_text(r, e->type);
        pml_meta_rows__put_text(r, e->name);
        pml_meta_rows__put_int(r, e->size_bytes);
        pml_meta_rows__put_int(r, e->row_count);
        put_ranges(r, e);
    }
out:
    pml_arena__clear(&arena);
    return rc;
}

const pml_system_table pml_system__table_indexes = PML_SYSTEM_TABLE(table_indexes, fill_table_indexes);

/* ---- partitions, buckets: sums over the entries of the manifests; the newest file may be one that is deleted, as in Java ---- */

typedef struct sum {
    pml_bytes partition;
    int32_t bucket;
    int64_t records, bytes, files;
    pml_optional_int64 newest; /* creation time */
} sum;

static int add_file(pml_map *sums, pml_arena *arena, pml_buf *key, const pml_manifest_entry *e, bool by_bucket)
{
    const pml_data_file *f = &e->file;
    pml_buf__reset(key);
    PML_RETURN_IF(pml_partition__bucket_key(key, e->partition, by_bucket ? e->bucket : 0));
    sum *s = pml_map__get(sums, key->data, key->len);
    if (s == NULL) {
        s = pml_arena__alloc(arena, sizeof *s);
        if (s == NULL || pml_map__put(sums, key->data, key->len, s, NULL) != PML_OK)
            return PML_E_NOMEM;
        s->partition = e->partition;
        s->bucket = e->bucket;
    }
    bool added = e->kind == PML_ENTRY_ADD;
    s->files += added ? 1 : -1;
    if (__builtin_add_overflow(s->records, added ? f->row_count : -f->row_count, &s->records) ||
        __builtin_add_overflow(s->bytes, added ? f->size_bytes : -f->size_bytes, &s->bytes))
        return PML_E_LIMIT;
    if (f->creation_time_ms.present && (!s->newest.present || s->newest.v < f->creation_time_ms.v))
        s->newest = f->creation_time_ms;
    return PML_OK;
}

static int load_entries(pml_manifest_entries *out, pml_arena *arena, pml_table *t, const pml_travel *travel, pml_error *err)
{
    pml_manifest_list list = {0};
    pml_snapshot s;
    bool found;
    PML_RETURN_IF(pml_travel__find(&s, &found, arena, t, travel, -1, err));
    if (!found)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_manifest_list(&list, arena, t, s.base_manifest_list, err));
    PML_RETURN_IF(pml_table__load_manifest_list(&list, arena, t, s.delta_manifest_list, err));
    for (size_t i = 0; i < list.n; i++)
        PML_RETURN_IF(pml_table__load_manifest(out, arena, t, list.v[i].name, NULL, NULL, err));
    return PML_OK;
}

typedef int (*put_sum_fn)(pml_meta_rows *r, pml_table *t, const sum *s, pml_error *err);

typedef struct sums_request {
    pml_table *t;
    pml_travel travel;
    bool by_bucket;
    put_sum_fn put;
    pml_map *seen; /* partitions of two branches: those that are here already are left out, others noted. NULL: of one branch */
} sums_request;

/* Files that wait for their bucket are in no partition yet; where two branches are shown, those that reads do not see are neither. */
static bool counts(const sums_request *q, const pml_manifest_entry *e)
{
    if (!q->by_bucket && q->t->options.bucket == -2 && e->bucket < 0)
        return false;
    return q->seen == NULL || q->t->schema->n_keys == 0 || e->file.level > 0 || !pml_table_options__skips_level0(&q->t->options);
}

static int put_sum(pml_meta_rows *r, const sums_request *q, const sum *s, pml_error *err)
{
    if (s->files <= 0 || (q->seen != NULL && pml_map__has(q->seen, s->partition.ptr, s->partition.len)))
        return PML_OK;
    if (q->seen != NULL && pml_map__put(q->seen, s->partition.ptr, s->partition.len, q->seen, NULL) != PML_OK)
        return pml_error__no_memory(err);
    return q->put(r, q->t, s, err);
}

static int fill_sums(pml_meta_rows *r, const sums_request *q, pml_error *err)
{
    pml_table *t = q->t;
    pml_manifest_entries entries = {0};
    const pml_map_entry *e;
    pml_arena arena;
    pml_map sums;
    pml_buf key;
    int rc;
    pml_arena__init(&arena, t->env);
    pml_map__init(&sums, t->env);
    pml_buf__init(&key, t->env, SIZE_MAX / 2);
    PML_TRY(load_entries(&entries, &arena, t, &q->travel, err));
    for (size_t i = 0; i < entries.n; i++) {
        if (!counts(q, &entries.v[i]))
            continue;
        rc = add_file(&sums, &arena, &key, &entries.v[i], q->by_bucket);
        if (rc == PML_E_NOMEM)
            (void)pml_error__no_memory(err);
        else if (rc != PML_OK)
            (void)pml_error__set(err, rc, "the files of a partition of %s have more than 2^63 rows or bytes", t->path);
        if (rc != PML_OK)
            goto out;
    }
    for (size_t i = 0; (e = pml_map__next(&sums, &i)) != NULL;)
        PML_TRY(put_sum(r, q, e->value, err));
out:
    pml_buf__clear(&key);
    pml_map__clear(&sums, NULL);
    pml_arena__clear(&arena);
    return rc;
}

static const pml_field partitions_fields[] = {
    PML_META_TEXT_OR_NULL("partition"),  PML_META_LONG("record_count"),           PML_META_LONG("file_size_in_bytes"),
    PML_META_LONG("file_count"),         PML_META_TIME("last_update_time", true), PML_META_TIME("created_at", true),
    PML_META_TEXT_OR_NULL("created_by"), PML_META_TEXT_OR_NULL("updated_by"),     PML_META_TEXT_OR_NULL("options")};

/* "k=v/k2=v2", not escaped; nulls and blank texts have the default name. */
static int partition_name(pml_buf *out, pml_table *t, pml_bytes partition, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    pml_value values[PML_PARTITION_KEYS_MAX];
    PML_RETURN_IF(pml_partition__decode(values, s, partition, err));
    for (size_t i = 0; i < s->n_partition_keys; i++) {
        (void)pml_buf__append_format(out, "%s%s=", i == 0 ? "" : "/", s->partition_keys[i]);
        size_t at = out->len;
        if (values[i].kind != PML_VALUE_NULL)
            PML_RETURN_IF(pml_java_text__cast(out, &s->fields[s->partition_index[i]].type, &values[i], err));
        PML_RETURN_IF(pml_buf__check(out, err));
        if (values[i].kind != PML_VALUE_NULL && !pml_path__is_blank((const char *)out->data + at, out->len - at))
            continue;
        out->len = at;
        (void)pml_buf__append_str(out, t->options.partition_default_name);
    }
    return pml_buf__check(out, err);
}

static int put_partition_sum(pml_meta_rows *r, pml_table *t, const sum *s, pml_error *err)
{
    PML_RETURN_IF(partition_name(pml_meta_rows__begin_text(r), t, s->partition, err));
    pml_meta_rows__end_text(r);
    pml_meta_rows__put_int(r, s->records);
    pml_meta_rows__put_int(r, s->bytes);
    pml_meta_rows__put_int(r, s->files);
    pml_meta_rows__put_time(r, s->newest.present, s->newest.v);
    for (int i = 0; i < 4; i++)
        pml_meta_rows__put_null(r); /* known to catalogs that keep partitions */
    return PML_OK;
}

static int fill_partitions(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    const pml_travel travel = pml_travel__of_options(&t->options);
    sums_request own = {.t = t, .travel = travel, .put = put_partition_sum}, other = own;
    pml_map seen;
    bool alone;
    int rc;
    if (t->other == NULL)
        return fill_sums(r, &own, err);
    PML_RETURN_IF(pml_plan__travel_beside(&other.travel, &alone, t, &travel, err));
    if (alone)
        return fill_sums(r, &own, err);
    pml_map__init(&seen, t->env);
    other.t = t->other;
    own.seen = other.seen = &seen;
    PML_TRY(fill_sums(r, t->other_first ? &other : &own, err));
    PML_TRY(fill_sums(r, t->other_first ? &own : &other, err));
out:
    pml_map__clear(&seen, NULL);
    return rc;
}

const pml_system_table pml_system__partitions = PML_SYSTEM_TABLE(partitions, fill_partitions);

static const pml_field buckets_fields[] = {PML_META_TEXT_OR_NULL("partition"), PML_META_INT("bucket"),
                                           PML_META_LONG("record_count"),      PML_META_LONG("file_size_in_bytes"),
                                           PML_META_LONG("file_count"),        PML_META_TIME("last_update_time", true)};

static int put_bucket_sum(pml_meta_rows *r, pml_table *t, const sum *s, pml_error *err)
{
    PML_RETURN_IF(pml_system__put_partition(r, t->schema, s->partition, err));
    pml_meta_rows__put_int(r, s->bucket);
    pml_meta_rows__put_int(r, s->records);
    pml_meta_rows__put_int(r, s->bytes);
    pml_meta_rows__put_int(r, s->files);
    pml_meta_rows__put_time(r, s->newest.present, s->newest.v);
    return PML_OK;
}

static int fill_buckets(pml_meta_rows *r, pml_table *t, pml_error *err)
{
    return fill_sums(r, &(sums_request){.t = t, .travel = pml_travel__of_options(&t->options), .by_bucket = true, .put = put_bucket_sum}, err);
}

const pml_system_table pml_system__buckets = PML_SYSTEM_TABLE(buckets, fill_buckets);
