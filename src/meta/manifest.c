/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of metadata files: from the values of records to checked structs. Writing is in manifest_write.c. */
#include "meta/manifest.h"

#include "meta/manifest_rows.h"
#include "meta/manifest_schema.h"

enum {
    MANIFEST_VERSION = 2, /* of manifests and manifest lists */
    INDEX_MANIFEST_VERSION = 1,
    BUCKET_POSTPONE = -2 /* the smallest bucket and bucket count there is */
};

/* One file being decoded. */
typedef struct decoder {
    pml_env *env;
    const char *file;
    uint32_t place;
    pml_avro_reader *reader;
    pml_manifest_rows *rows; /* of a file in ORC or Parquet; then reader is NULL */
    pml_arena *arena; /* where texts and lists go */
    pml_arena scratch;
    pml_buf kept; /* structs kept so far, moved to the caller's arena at the end */
    pml_error *err;
} decoder;

static int decoder_open(decoder *d, pml_arena *arena, pml_bytes bytes, const char *file, uint32_t place,
                        const pml_avro_field *fields, size_t n_fields, pml_error *err)
{
    *d = (decoder){.env = arena->env, .file = file, .place = place, .err = err};
    pml_arena__init(&d->scratch, d->env);
    d->arena = &d->scratch;
    /* Bounded by the reader, which bounds plain bytes by the size of the file. */
    pml_buf__init(&d->kept, d->env, SIZE_MAX / 2);
    if (pml_manifest_rows__format(bytes) != NULL)
        return pml_manifest_rows__open(&d->rows, d->env, bytes, file, fields, n_fields, err);
    return pml_avro_reader__new(&d->reader, d->env, bytes, file, fields, n_fields, err);
}

static int decoder_next(bool *more, pml_avro_value *values, decoder *d)
{
    pml_arena__reset(&d->scratch);
    return d->reader != NULL ? pml_avro_reader__next(more, values, d->reader, d->err)
                             : pml_manifest_rows__next(more, values, d->rows, d->err);
}

static int decoder_close(decoder *d, int rc)
{
    pml_avro_reader__free(d->reader);
    pml_manifest_rows__free(d->rows);
    pml_arena__clear(&d->scratch);
    pml_buf__clear(&d->kept);
    if (rc != PML_OK && d->err != NULL && (d->err->place == PML_PLACE_FILE || d->err->place == PML_PLACE_DATA_FILE))
        d->err->place = d->place; /* the readers of files do not know whose it is */
    return rc;
}

/* Appends the kept elements to an array in the arena, which doubles: a plan appends manifest after manifest. */
static int decoder_publish(void **v, size_t *n, size_t *cap, decoder *d, pml_arena *arena, size_t size)
{
    size_t n_kept = d->kept.len / size;
    if (n_kept == 0)
        return PML_OK;
    uint8_t *all = *v;
    if (*cap < *n || n_kept > *cap - *n) {
        size_t wider = *n == 0 ? n_kept : 2 * *n + n_kept;
        all = pml_arena__array(arena, wider, size);
        if (all == NULL)
            return pml_error__no_memory(d->err);
        if (*n > 0)
            memcpy(all, *v, *n * size);
        *cap = wider;
    }
    memcpy(all + *n * size, d->kept.data, d->kept.len);
    *v = all;
    *n += n_kept;
    return PML_OK;
}

/* ---- checked fields ---- */

static int decode_corrupt(const decoder *d, const char *field, const char *what)
{
    return pml_error__at(d->err, PML_E_CORRUPT, d->place, d->file, "%s is damaged: %s %s", d->file, field, what);
}

static int decode_bad_number(const decoder *d, const char *field, int64_t v)
{
    return pml_error__at(d->err, PML_E_CORRUPT, d->place, d->file, "%s is damaged: %s is %lld", d->file, field,
                         (long long)v);
}

static int decode_version(const decoder *d, int64_t version, int64_t expected)
{
    if (version == expected)
        return PML_OK;
    if (version == 1)
        return pml_error__at(d->err, PML_E_UNSUPPORTED, d->place, d->file,
                             "%s has format version 1, which is too old; rewrite the table with a newer release",
                             d->file);
    return pml_error__at(d->err, PML_E_UNSUPPORTED, d->place, d->file,
                         "%s has format version %lld; only version %lld can be read", d->file, (long long)version,
                         (long long)expected);
}

static int decode_text(const char **out, const decoder *d, const pml_avro_value *v, const char *field)
{
    *out = NULL;
    if (!v->present)
        return PML_OK;
    if (v->bytes.len > 0 && memchr(v->bytes.ptr, '\0', v->bytes.len) != NULL)
        return decode_corrupt(d, field, "contains a NUL byte");
    *out = pml_arena__strndup(d->arena, (const char *)v->bytes.ptr, v->bytes.len);
    return *out == NULL ? pml_error__no_memory(d->err) : PML_OK;
}

/* A file name goes into paths, so it must not lead anywhere else. */
static int decode_name(const char **out, const decoder *d, const pml_avro_value *v, const char *field)
{
    PML_RETURN_IF(decode_text(out, d, v, field));
    if (**out == '\0' || strchr(*out, '/') != NULL || strcmp(*out, ".") == 0 || strcmp(*out, "..") == 0)
        return pml_error__at(d->err, PML_E_CORRUPT, d->place, d->file,
                             "%s is damaged: %s '%.200s' is not a plain file name", d->file, field, *out);
    return PML_OK;
}

static int decode_count(int64_t *out, const decoder *d, const pml_avro_value *v, const char *field)
{
    *out = v->i;
    return v->i < 0 ? decode_bad_number(d, field, v->i) : PML_OK;
}

static int decode_range(int32_t *out, const decoder *d, const pml_avro_value *v, int32_t first, int32_t last,
                        const char *field)
{
    *out = (int32_t)v->i;
    return v->i < first || v->i > last ? decode_bad_number(d, field, v->i) : PML_OK;
}

static pml_optional_int64 decode_optional(const pml_avro_value *v)
{
    return (pml_optional_int64){v->present, v->present ? v->i : 0};
}

static int decode_optional_count(pml_optional_int64 *out, const decoder *d, const pml_avro_value *v, const char *field)
{
    *out = decode_optional(v);
    return out->present && out->v < 0 ? decode_bad_number(d, field, out->v) : PML_OK;
}

static int decode_list(pml_string_list *out, const decoder *d, const pml_avro_value *v, bool names, const char *field)
{
    *out = (pml_string_list){.present = v->present, .n = v->n};
    if (v->n == 0)
        return PML_OK;
    const char **texts = pml_arena__array(d->arena, v->n, sizeof *texts);
    if (texts == NULL)
        return pml_error__no_memory(d->err);
    for (size_t i = 0; i < v->n; i++)
        PML_RETURN_IF(names ? decode_name(&texts[i], d, &v->items[i], field)
                            : decode_text(&texts[i], d, &v->items[i], field));
    out->v = texts;
    return PML_OK;
}

static int decode_stats(pml_simple_stats *out, const decoder *d, const pml_avro_value *v, const char *field)
{
    const pml_avro_value *counts = &v->items[PML_STATS_NULL_COUNTS];
    *out = (pml_simple_stats){.min = v->items[PML_STATS_MIN_VALUES].bytes,
                              .max = v->items[PML_STATS_MAX_VALUES].bytes,
                              .has_null_counts = counts->present,
                              .n_null_counts = counts->n};
    if (counts->n == 0)
        return PML_OK;
    int64_t *n = pml_arena__array(d->arena, counts->n, sizeof *n);
    if (n == NULL)
        return pml_error__no_memory(d->err);
    for (size_t i = 0; i < counts->n; i++) {
        n[i] = counts->items[i].present ? counts->items[i].i : -1;
        if (counts->items[i].present && n[i] < 0)
            return decode_bad_number(d, field, n[i]);
    }
    out->null_counts = n;
    return PML_OK;
}

/* ---- manifests ---- */

static int decode_file_numbers(pml_data_file *f, const decoder *d, const pml_avro_value *v)
{
    PML_RETURN_IF(decode_count(&f->size_bytes, d, &v[PML_FILE_SIZE], "_FILE_SIZE"));
    PML_RETURN_IF(decode_count(&f->row_count, d, &v[PML_FILE_ROW_COUNT], "_ROW_COUNT"));
    f->min_sequence = v[PML_FILE_MIN_SEQUENCE].i; /* negative ones are legal in Java, too */
    f->max_sequence = v[PML_FILE_MAX_SEQUENCE].i;
    PML_RETURN_IF(decode_count(&f->schema_id, d, &v[PML_FILE_SCHEMA_ID], "_SCHEMA_ID"));
    PML_RETURN_IF(decode_range(&f->level, d, &v[PML_FILE_LEVEL], 0, INT32_MAX, "_LEVEL"));
    f->creation_time_ms = decode_optional(&v[PML_FILE_CREATION_TIME]);
    PML_RETURN_IF(decode_optional_count(&f->delete_row_count, d, &v[PML_FILE_DELETE_ROW_COUNT], "_DELETE_ROW_COUNT"));
    f->file_source = PML_FILE_SOURCE_UNKNOWN;
    if (v[PML_FILE_SOURCE].present)
        PML_RETURN_IF(decode_range(&f->file_source, d, &v[PML_FILE_SOURCE], PML_FILE_SOURCE_APPEND,
                                   PML_FILE_SOURCE_COMPACT, "_FILE_SOURCE"));
    return decode_optional_count(&f->first_row_id, d, &v[PML_FILE_FIRST_ROW_ID], "_FIRST_ROW_ID");
}

static int decode_file(pml_data_file *f, const decoder *d, const pml_avro_value *v)
{
    PML_RETURN_IF(decode_file_numbers(f, d, v));
    PML_RETURN_IF(decode_name(&f->name, d, &v[PML_FILE_NAME], "_FILE_NAME"));
    f->min_key = v[PML_FILE_MIN_KEY].bytes;
    f->max_key = v[PML_FILE_MAX_KEY].bytes;
    PML_RETURN_IF(decode_stats(&f->key_stats, d, &v[PML_FILE_KEY_STATS], "a null count of _KEY_STATS"));
    PML_RETURN_IF(decode_stats(&f->value_stats, d, &v[PML_FILE_VALUE_STATS], "a null count of _VALUE_STATS"));
    PML_RETURN_IF(decode_list(&f->extra_files, d, &v[PML_FILE_EXTRA_FILES], true, "_EXTRA_FILES"));
    f->has_embedded_index = v[PML_FILE_EMBEDDED_INDEX].present;
    f->embedded_index = v[PML_FILE_EMBEDDED_INDEX].bytes;
    PML_RETURN_IF(decode_list(&f->value_stats_cols, d, &v[PML_FILE_VALUE_STATS_COLS], false, "_VALUE_STATS_COLS"));
    PML_RETURN_IF(decode_text(&f->external_path, d, &v[PML_FILE_EXTERNAL_PATH], "_EXTERNAL_PATH"));
    if (f->external_path != NULL && f->external_path[0] == '\0')
        return decode_corrupt(d, "_EXTERNAL_PATH", "is empty");
    return decode_list(&f->write_cols, d, &v[PML_FILE_WRITE_COLS], false, "_WRITE_COLS");
}

static int decode_entry(pml_manifest_entry *e, const decoder *d, const pml_avro_value *v)
{
    *e = (pml_manifest_entry){0};
    PML_RETURN_IF(decode_version(d, v[PML_ENTRY_F_VERSION].i, MANIFEST_VERSION));
    PML_RETURN_IF(decode_range(&e->kind, d, &v[PML_ENTRY_F_KIND], PML_ENTRY_ADD, PML_ENTRY_DELETE, "_KIND"));
    e->partition = v[PML_ENTRY_F_PARTITION].bytes;
    PML_RETURN_IF(decode_range(&e->bucket, d, &v[PML_ENTRY_F_BUCKET], BUCKET_POSTPONE, INT32_MAX, "_BUCKET"));
    PML_RETURN_IF(decode_range(&e->total_buckets, d, &v[PML_ENTRY_F_TOTAL_BUCKETS], BUCKET_POSTPONE, INT32_MAX,
                               "_TOTAL_BUCKETS"));
    return decode_file(&e->file, d, v[PML_ENTRY_F_FILE].items);
}

int pml_manifest__decode(pml_manifest_entries *out, pml_arena *arena, pml_bytes file_bytes, const char *name,
                         pml_manifest_keep_fn keep, void *arg, pml_error *err)
{
    int rc;
    decoder d;
    bool more = false;
    pml_avro_value values[PML_ENTRY_FIELDS];
    PML_TRY(decoder_open(&d, arena, file_bytes, name, PML_PLACE_MANIFEST, pml_manifest__fields, PML_ENTRY_FIELDS, err));
    PML_TRY(decoder_next(&more, values, &d));
    while (more) {
        pml_manifest_entry e, copy;
        PML_TRY(decode_entry(&e, &d, values));
        if (keep == NULL || keep(arg, &e)) {
            if (pml_manifest_entry__copy(&copy, arena, &e) != PML_OK ||
                pml_buf__append(&d.kept, &copy, sizeof copy) != PML_OK) {
                rc = pml_error__no_memory(err);
                goto out;
            }
        }
        PML_TRY(decoder_next(&more, values, &d));
    }
    void *all = out->v;
    PML_TRY(decoder_publish(&all, &out->n, &out->cap, &d, arena, sizeof *out->v));
    out->v = all;
out:
    return decoder_close(&d, rc);
}

/* ---- manifest lists ---- */

static int decode_meta(pml_manifest_meta *m, const decoder *d, const pml_avro_value *v)
{
    *m = (pml_manifest_meta){0};
    PML_RETURN_IF(decode_version(d, v[PML_META_VERSION].i, MANIFEST_VERSION));
    PML_RETURN_IF(decode_name(&m->name, d, &v[PML_META_NAME], "_FILE_NAME"));
    PML_RETURN_IF(decode_count(&m->size_bytes, d, &v[PML_META_SIZE], "_FILE_SIZE"));
    PML_RETURN_IF(decode_count(&m->n_added, d, &v[PML_META_N_ADDED], "_NUM_ADDED_FILES"));
    PML_RETURN_IF(decode_count(&m->n_deleted, d, &v[PML_META_N_DELETED], "_NUM_DELETED_FILES"));
    pml_simple_stats stats;
    PML_RETURN_IF(decode_stats(&stats, d, &v[PML_META_PARTITION_STATS], "a null count of _PARTITION_STATS"));
    m->partition_stats = stats;
    PML_RETURN_IF(decode_count(&m->schema_id, d, &v[PML_META_SCHEMA_ID], "_SCHEMA_ID"));
    m->min_bucket = decode_optional(&v[PML_META_MIN_BUCKET]);
    m->max_bucket = decode_optional(&v[PML_META_MAX_BUCKET]);
    m->min_level = decode_optional(&v[PML_META_MIN_LEVEL]);
    m->max_level = decode_optional(&v[PML_META_MAX_LEVEL]);
    PML_RETURN_IF(decode_optional_count(&m->min_row_id, d, &v[PML_META_MIN_ROW_ID], "_MIN_ROW_ID"));
    return decode_optional_count(&m->max_row_id, d, &v[PML_META_MAX_ROW_ID], "_MAX_ROW_ID");
}

/* Texts and lists are made in the caller's arena already; only the row bytes still borrow from the reader. */
static int meta_keep(decoder *d, pml_arena *arena, pml_manifest_meta *m)
{
    pml_simple_stats *s = &m->partition_stats;
    s->min.ptr = pml_arena__copy(arena, s->min.ptr, s->min.len);
    s->max.ptr = pml_arena__copy(arena, s->max.ptr, s->max.len);
    if (s->min.ptr == NULL || s->max.ptr == NULL || pml_buf__append(&d->kept, m, sizeof *m) != PML_OK)
        return pml_error__no_memory(d->err);
    return PML_OK;
}

int pml_manifest_list__decode(pml_manifest_list *out, pml_arena *arena, pml_bytes file_bytes, const char *name,
                              pml_error *err)
{
    int rc;
    decoder d;
    bool more = false;
    pml_avro_value values[PML_META_FIELDS];
    PML_TRY(decoder_open(&d, arena, file_bytes, name, PML_PLACE_MANIFEST_LIST, pml_manifest_list__fields,
                         PML_META_FIELDS, err));
    d.arena = arena;
    PML_TRY(decoder_next(&more, values, &d));
    while (more) {
        pml_manifest_meta m;
        PML_TRY(decode_meta(&m, &d, values));
        PML_TRY(meta_keep(&d, arena, &m));
        PML_TRY(decoder_next(&more, values, &d));
    }
    void *all = out->v;
    PML_TRY(decoder_publish(&all, &out->n, &out->cap, &d, arena, sizeof *out->v));
    out->v = all;
out:
    return decoder_close(&d, rc);
}

/* ---- index manifests ---- */

static int decode_deletions(pml_index_entry *e, const decoder *d, const pml_avro_value *v)
{
    if (v->n == 0)
        return PML_OK;
    pml_index_range *ranges = pml_arena__array(d->arena, v->n, sizeof *ranges);
    if (ranges == NULL)
        return pml_error__no_memory(d->err);
    for (size_t i = 0; i < v->n; i++) {
        const pml_avro_value *parts = v->items[i].items;
        pml_index_range *r = &ranges[e->n_ranges];
        if (!v->items[i].present)
            continue;
        PML_RETURN_IF(decode_name(&r->data_file, d, &parts[PML_RANGE_DATA_FILE], "a data file of _DELETIONS_VECTORS_RANGES"));
        PML_RETURN_IF(decode_count(&r->at.offset, d, &parts[PML_RANGE_OFFSET], "an offset of _DELETIONS_VECTORS_RANGES"));
        PML_RETURN_IF(decode_count(&r->at.length, d, &parts[PML_RANGE_LENGTH], "a length of _DELETIONS_VECTORS_RANGES"));
        const pml_avro_value *cardinality = &parts[PML_RANGE_CARDINALITY];
        r->at.cardinality = -1;
        if (cardinality->present)
            PML_RETURN_IF(decode_count(&r->at.cardinality, d, cardinality, "a cardinality of _DELETIONS_VECTORS_RANGES"));
        e->n_ranges++;
    }
    e->ranges = ranges;
    return PML_OK;
}

static int decode_index(pml_index_entry *e, const decoder *d, const pml_avro_value *v)
{
    *e = (pml_index_entry){0};
    PML_RETURN_IF(decode_version(d, v[PML_INDEX_VERSION].i, INDEX_MANIFEST_VERSION));
    PML_RETURN_IF(decode_range(&e->kind, d, &v[PML_INDEX_KIND], PML_ENTRY_ADD, PML_ENTRY_DELETE, "_KIND"));
    PML_RETURN_IF(decode_range(&e->bucket, d, &v[PML_INDEX_BUCKET], BUCKET_POSTPONE, INT32_MAX, "_BUCKET"));
    PML_RETURN_IF(decode_text(&e->type, d, &v[PML_INDEX_TYPE], "_INDEX_TYPE"));
    PML_RETURN_IF(decode_name(&e->name, d, &v[PML_INDEX_NAME], "_FILE_NAME"));
    PML_RETURN_IF(decode_count(&e->size_bytes, d, &v[PML_INDEX_SIZE], "_FILE_SIZE"));
    PML_RETURN_IF(decode_count(&e->row_count, d, &v[PML_INDEX_ROW_COUNT], "_ROW_COUNT"));
    PML_RETURN_IF(decode_deletions(e, d, &v[PML_INDEX_RANGES]));
    PML_RETURN_IF(decode_text(&e->external_path, d, &v[PML_INDEX_EXTERNAL_PATH], "_EXTERNAL_PATH"));
    e->has_global_index = v[PML_INDEX_GLOBAL].present;
    const pml_bytes partition = v[PML_INDEX_PARTITION].bytes;
    e->partition = (pml_bytes){pml_arena__copy(d->arena, partition.ptr, partition.len), partition.len};
    return e->partition.ptr == NULL ? pml_error__no_memory(d->err) : PML_OK;
}

int pml_index_manifest__decode(pml_index_entries *out, pml_arena *arena, pml_bytes file_bytes, const char *name,
                               pml_error *err)
{
    int rc;
    decoder d;
    bool more = false;
    pml_avro_value values[PML_INDEX_FIELDS];
    PML_TRY(
        decoder_open(&d, arena, file_bytes, name, PML_PLACE_INDEX, pml_index_manifest__fields, PML_INDEX_FIELDS, err));
    d.arena = arena;
    PML_TRY(decoder_next(&more, values, &d));
    while (more) {
        pml_index_entry e;
        PML_TRY(decode_index(&e, &d, values));
        PML_TRY(pml_buf__append(&d.kept, &e, sizeof e) == PML_OK ? PML_OK : pml_error__no_memory(err));
        PML_TRY(decoder_next(&more, values, &d));
    }
    void *all = out->v;
    PML_TRY(decoder_publish(&all, &out->n, &out->cap, &d, arena, sizeof *out->v));
    out->v = all;
out:
    return decoder_close(&d, rc);
}
