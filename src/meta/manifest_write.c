/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of manifests and manifest lists, in the field order and with the union branches of Java 1.4.2. */
#include <assert.h>

#include "meta/manifest.h"
#include "meta/manifest_schema.h"

enum { MANIFEST_VERSION = 2, INDEX_MANIFEST_VERSION = 1 };

/* Errors of the buffer are sticky and looked at when the record ends. */
static void put_long(pml_buf *b, int64_t v)
{
    (void)pml_avro__put_long(b, v);
}

static void put_bytes(pml_buf *b, pml_bytes v)
{
    (void)pml_avro__put_bytes(b, v.ptr, v.len);
}

static void put_optional(pml_buf *b, pml_optional_int64 v)
{
    (void)pml_avro__put_branch(b, v.present);
    if (v.present)
        put_long(b, v.v);
}

/* Arrays are one block of all items, or none, and the end mark. */
static void put_texts(pml_buf *b, const pml_string_list *l)
{
    if (l->n > 0)
        put_long(b, (int64_t)l->n);
    for (size_t i = 0; i < l->n; i++)
        (void)pml_avro__put_string(b, l->v[i]);
    put_long(b, 0);
}

static void put_optional_texts(pml_buf *b, const pml_string_list *l)
{
    (void)pml_avro__put_branch(b, l->present);
    if (l->present)
        put_texts(b, l);
}

static void put_stats(pml_buf *b, const pml_simple_stats *s)
{
    put_bytes(b, s->min);
    put_bytes(b, s->max);
    (void)pml_avro__put_branch(b, s->has_null_counts);
    if (!s->has_null_counts)
        return;
    if (s->n_null_counts > 0)
        put_long(b, (int64_t)s->n_null_counts);
    for (size_t i = 0; i < s->n_null_counts; i++)
        put_optional(b, (pml_optional_int64){s->null_counts[i] >= 0, s->null_counts[i]});
    put_long(b, 0);
}

static void put_file(pml_buf *b, const pml_data_file *f)
{
    assert(f->size_bytes >= 0 && f->row_count >= 0 && f->level >= 0 && f->schema_id >= 0);
    (void)pml_avro__put_string(b, f->name);
    put_long(b, f->size_bytes);
    put_long(b, f->row_count);
    put_bytes(b, f->min_key);
    put_bytes(b, f->max_key);
    put_stats(b, &f->key_stats);
    put_stats(b, &f->value_stats);
    put_long(b, f->min_sequence);
    put_long(b, f->max_sequence);
    put_long(b, f->schema_id);
    put_long(b, f->level);
    put_texts(b, &f->extra_files);
    put_optional(b, f->creation_time_ms);
    put_optional(b, f->delete_row_count);
    (void)pml_avro__put_branch(b, f->has_embedded_index);
    if (f->has_embedded_index)
        put_bytes(b, f->embedded_index);
    put_optional(b, (pml_optional_int64){f->file_source != PML_FILE_SOURCE_UNKNOWN, f->file_source});
    put_optional_texts(b, &f->value_stats_cols);
    (void)pml_avro__put_branch(b, f->external_path != NULL);
    if (f->external_path != NULL)
        (void)pml_avro__put_string(b, f->external_path);
    put_optional(b, f->first_row_id);
    put_optional_texts(b, &f->write_cols);
}

static void put_entry(pml_buf *b, const pml_manifest_entry *e)
{
    assert(e->kind == PML_ENTRY_ADD || e->kind == PML_ENTRY_DELETE);
    put_long(b, MANIFEST_VERSION);
    put_long(b, e->kind);
    put_bytes(b, e->partition);
    put_long(b, e->bucket);
    put_long(b, e->total_buckets);
    put_file(b, &e->file);
}

static void put_meta(pml_buf *b, const pml_manifest_meta *m)
{
    assert(m->size_bytes >= 0 && m->n_added >= 0 && m->n_deleted >= 0 && m->schema_id >= 0);
    put_long(b, MANIFEST_VERSION);
    (void)pml_avro__put_string(b, m->name);
    put_long(b, m->size_bytes);
    put_long(b, m->n_added);
    put_long(b, m->n_deleted);
    put_stats(b, &m->partition_stats);
    put_long(b, m->schema_id);
    put_optional(b, m->min_bucket);
    put_optional(b, m->max_bucket);
    put_optional(b, m->min_level);
    put_optional(b, m->max_level);
    put_optional(b, m->min_row_id);
    put_optional(b, m->max_row_id);
}

int pml_manifest_list__encode(uint8_t **file, size_t *len, pml_env *env, const pml_manifest_meta *v, size_t n,
                              const char *codec, int level, pml_error *err)
{
    int rc;
    pml_avro_writer *w = NULL;
    *file = NULL;
    *len = 0;
    PML_TRY(pml_avro_writer__new(&w, env, pml_manifest_list__schema, codec, level, err));
    for (size_t i = 0; i < n; i++) {
        put_meta(pml_avro_writer__record(w), &v[i]);
        PML_TRY(pml_avro_writer__end_record(w, err));
    }
    rc = pml_avro_writer__finish(w, file, len, err);
out:
    pml_avro_writer__free(w);
    return rc;
}

int pml_manifest__encode(uint8_t **file, size_t *len, pml_env *env, const pml_manifest_entry *v, size_t n,
                         const char *codec, int level, pml_error *err)
{
    int rc;
    pml_avro_writer *w = NULL;
    *file = NULL;
    *len = 0;
    PML_TRY(pml_avro_writer__new(&w, env, pml_manifest__schema, codec, level, err));
    for (size_t i = 0; i < n; i++) {
        put_entry(pml_avro_writer__record(w), &v[i]);
        PML_TRY(pml_avro_writer__end_record(w, err));
    }
    rc = pml_avro_writer__finish(w, file, len, err);
out:
    pml_avro_writer__free(w);
    return rc;
}

/* ---- index manifests ---- */

static void put_ranges(pml_buf *b, const pml_index_entry *e)
{
    (void)pml_avro__put_branch(b, e->n_ranges > 0);
    if (e->n_ranges == 0)
        return;
    put_long(b, (int64_t)e->n_ranges);
    for (size_t i = 0; i < e->n_ranges; i++) {
        const pml_deletion_range *at = &e->ranges[i].at;
        (void)pml_avro__put_branch(b, true);
        (void)pml_avro__put_string(b, e->ranges[i].data_file);
        put_long(b, at->offset);
        put_long(b, at->length);
        put_optional(b, (pml_optional_int64){at->cardinality >= 0, at->cardinality});
    }
    put_long(b, 0);
}

static void put_index(pml_buf *b, const pml_index_entry *e)
{
    put_long(b, INDEX_MANIFEST_VERSION);
    put_long(b, e->kind);
    put_bytes(b, e->partition);
    put_long(b, e->bucket);
    (void)pml_avro__put_string(b, e->type);
    (void)pml_avro__put_string(b, e->name);
    put_long(b, e->size_bytes);
    put_long(b, e->row_count);
    put_ranges(b, e);
    (void)pml_avro__put_branch(b, e->external_path != NULL);
    if (e->external_path != NULL)
        (void)pml_avro__put_string(b, e->external_path);
    (void)pml_avro__put_branch(b, false); /* no global index */
}

int pml_index_manifest__encode(uint8_t **file, size_t *len, pml_env *env, const pml_index_entry *v, size_t n, const char *codec,
                               int level, pml_error *err)
{
    int rc;
    pml_avro_writer *w = NULL;
    *file = NULL;
    *len = 0;
    PML_TRY(pml_avro_writer__new(&w, env, pml_index_manifest__schema, codec, level, err));
    for (size_t i = 0; i < n; i++) {
        if (v[i].has_global_index)
            PML_TRY(pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_INDEX, v[i].name,
                                  "needs global-index: %s is a global index, which this version does not carry into another index manifest",
                                  v[i].name));
        put_index(pml_avro_writer__record(w), &v[i]);
        PML_TRY(pml_avro_writer__end_record(w, err));
    }
    rc = pml_avro_writer__finish(w, file, len, err);
out:
    pml_avro_writer__free(w);
    return rc;
}
