/* SPDX-License-Identifier: Apache-2.0 */
/* Commit messages as bytes. What comes back in is checked as far as it would go into manifests. */
#include <paimonlive/split.h>

#include "merge/sections.h"
#include "meta/column_stats.h"
#include "meta/serde_message.h"
#include "table/hash_index.h"
#include "table/writer.h"

_Static_assert(PML_MESSAGE_VERSION == PML_MESSAGE_VERSION_WRITTEN, "the header names what the serialiser writes");

enum { MESSAGES_MAX = 1000000 };
/* Of one file: far above any real one, far below what sums of a table can hold. */
#define FILE_ROWS_MAX (INT64_C(1) << 48)

int pml_messages_serialize(pml_text *out, const pml_messages *m, size_t i, pml_error *err)
{
    pml_buf bytes;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_text){0};
    pml_buf__init(&bytes, m->env, PML_MESSAGE_BYTES_MAX);
    if (i >= m->n)
        return pml_error__set(err, PML_E_INVAL, "there is no message %zu: the prepare made %zu", i, m->n);
    pml_new_files *f = m->v[i];
    f->copied = true;
    pml_commit_message message = {.partition = f->partition,
                                        .bucket = f->bucket,
                                        .has_total_buckets = true,
                                        .total_buckets = f->total_buckets,
                                        .n_files = f->n,
                                        .files = f->files,
                                        .has_index = f->index != NULL,
                                        .has_index_before = f->index_before != NULL,
                                        .index = f->index == NULL ? (pml_index_entry){0} : *f->index,
                                        .index_before = f->index_before == NULL ? (pml_index_entry){0} : *f->index_before};
    if (f->has_keys != PML_KEYS_UNTOLD)
        message.keys = (pml_message_keys){.told = true,
                                          .keys = f->keys,
                                          .prepare = f->prepare,
                                          .has_file = f->keys_in != NULL,
                                          .file = f->keys_in == NULL ? (pml_index_entry){0} : *f->keys_in};
    PML_TRY(pml_serde_message__write(&bytes, &message, err));
    PML_TRY(pml_text__of_buf(out, &bytes, err));
out:
    pml_buf__clear(&bytes);
    return rc;
}

/* ---- reading ---- */

static int check_bucket(const pml_table *t, const pml_commit_message *m, pml_error *err)
{
    int32_t buckets = t->options.bucket;
    bool dynamic = pml_table_options__is_dynamic(&t->options, t->schema);
    pml_bytes row;
    PML_RETURN_IF(pml_binary_row__uncount(&row, m->partition, t->schema->n_partition_keys, err));
    if (m->has_total_buckets && m->total_buckets != buckets)
        return pml_error__set(err, PML_E_CONFLICT, "a commit message was made for %d buckets, %s has %d", m->total_buckets, t->path,
                              buckets);
    if (m->has_index && !dynamic)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs index-files: a commit message has the index file %s, and %s has no dynamic buckets",
                              m->index.name, t->path);
    if (m->bucket < 0 || m->bucket >= (dynamic ? PML_DYNAMIC_BUCKETS_MAX : buckets > 0 ? buckets : 1))
        return pml_error__set(err, PML_E_CORRUPT, "a commit message is of bucket %d, which %s does not have", m->bucket, t->path);
    return PML_OK;
}

/* Append files have no keys. */
static int check_no_keys(const pml_data_file *f, pml_error *err)
{
    pml_bytes row;
    PML_RETURN_IF(pml_binary_row__uncount(&row, f->min_key, 0, err));
    PML_RETURN_IF(pml_binary_row__uncount(&row, f->max_key, 0, err));
    PML_RETURN_IF(pml_binary_row__uncount(&row, f->key_stats.min, 0, err));
    return pml_binary_row__uncount(&row, f->key_stats.max, 0, err);
}

/* What planning and merging will believe: the first and the last key, numbers, what is said of the key columns. */
static int check_keys(pml_table *t, const pml_data_file *f, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    pml_sections sections;
    pml_arena arena;
    int rc;
    pml_arena__init(&arena, t->env);
    const pml_type **types = pml_arena__array(&arena, s->n_keys, sizeof *types);
    pml_field *fields = pml_arena__array(&arena, s->n_keys, sizeof *fields);
    pml_column_stats *stats = pml_arena__array(&arena, s->n_keys, sizeof *stats);
    if (types == NULL || fields == NULL || stats == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < s->n_keys; i++) {
        fields[i] = s->fields[s->key_index[i]];
        types[i] = &fields[i].type;
    }
    const pml_sections_request q = {.types = types, .n_keys = s->n_keys, .files = &f, .n_files = 1};
    PML_TRY(pml_sections__make(&sections, &arena, &q, err));
    PML_TRY(pml_column_stats__decode(stats, t->env, &f->key_stats, &(pml_string_list){0}, fields, s->n_keys, err));
    if (f->min_sequence < 0 || f->min_sequence > f->max_sequence || f->max_sequence == INT64_MAX)
        PML_TRY(pml_error__set(err, PML_E_CORRUPT, "its sequence numbers are %lld to %lld", (long long)f->min_sequence,
                               (long long)f->max_sequence));
    if (f->delete_row_count.present && (f->delete_row_count.v < 0 || f->delete_row_count.v > f->row_count))
        PML_TRY(pml_error__set(err, PML_E_CORRUPT, "it says that %lld of its %lld rows are deletes", (long long)f->delete_row_count.v,
                               (long long)f->row_count));
out:
    pml_arena__clear(&arena);
    return rc;
}

/* Statistics that do not fit the columns would make the table unreadable. */
static int check_stats(pml_table *t, const pml_data_file *f, pml_error *err)
{
    const pml_table_schema *s;
    PML_RETURN_IF(pml_table__schema_at(&s, t, f->schema_id, err));
    pml_column_stats *stats = pml_env__calloc(t->env, s->n_fields, sizeof *stats);
    if (stats == NULL)
        return pml_error__no_memory(err);
    int rc = pml_column_stats__decode(stats, t->env, &f->value_stats, &f->value_stats_cols, s->fields, s->n_fields, err);
    pml_env__free(t->env, stats);
    return rc;
}

static int check_file(pml_table *t, const pml_data_file *f, pml_error *err)
{
    char format[16];
    PML_RETURN_IF(pml_path__format(format, f->name, err));
    if (strcmp(format, "parquet") != 0)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs format:%s: it is not a Parquet file, which is all this version commits",
                              format);
    if (f->row_count > FILE_ROWS_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "it says that it has %lld rows", (long long)f->row_count);
    if (f->level != 0)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs compaction: it is at level %d, and new files are at 0", f->level);
    if (f->external_path != NULL)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs external-paths: it lies at %.200s, outside of the table", f->external_path);
    if (f->write_cols.present)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs data-evolution: it holds some of the columns only");
    if (f->first_row_id.present)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs row-tracking: it has row ids");
    PML_RETURN_IF(t->schema->n_keys == 0 ? check_no_keys(f, err) : check_keys(t, f, err));
    return check_stats(t, f, err);
}

/* Its index file, the one that it replaces, and the one that has its keys are of the message's partition-bucket. */
static int take_index(pml_new_files *f, pml_table *t, const pml_commit_message *m, pml_error *err)
{
    char *path;
    f->has_keys = m->keys.told ? PML_KEYS_TOLD : PML_KEYS_UNTOLD;
    f->keys = m->keys.keys;
    f->prepare = m->keys.prepare;
    if (!m->has_index && !m->keys.has_file)
        return PML_OK;
    pml_index_entry *e = pml_arena__array(&f->arena, 3, sizeof *e);
    if (e == NULL)
        return pml_error__no_memory(err);
    e[0] = m->index;
    e[1] = m->index_before;
    e[2] = m->keys.file;
    for (int i = 0; i < 3; i++) {
        e[i].kind = i == 0 ? PML_ENTRY_ADD : PML_ENTRY_DELETE;
        e[i].partition = f->partition;
        e[i].bucket = f->bucket;
    }
    f->keys_in = m->keys.has_file ? &e[2] : NULL;
    if (!m->has_index)
        return PML_OK;
    PML_RETURN_IF(pml_index_file__path(&path, t, t->schema, &e[0], err));
    f->index_path = pml_arena__strdup(&f->arena, path);
    pml_env__free(t->env, path);
    if (f->index_path == NULL)
        return pml_error__no_memory(err);
    f->index = &e[0];
    f->index_before = m->has_index_before ? &e[1] : NULL;
    return PML_OK;
}

static int read_message(pml_new_files **out, pml_table *t, int32_t version, const pml_blob *bytes, pml_error *err)
{
    pml_commit_message m;
    int rc;
    pml_new_files *f = pml_env__calloc(t->env, 1, sizeof *f);
    *out = f;
    if (f == NULL)
        return pml_error__no_memory(err);
    f->env = t->env;
    f->copied = true;
    pml_arena__init(&f->arena, t->env);
    PML_TRY(pml_serde_message__read(&m, &f->arena, version, (pml_bytes){bytes->ptr, bytes->len}, err));
    PML_TRY(check_bucket(t, &m, err));
    f->partition = m.partition;
    f->bucket = m.bucket;
    f->total_buckets = t->options.bucket;
    f->paths = pml_arena__array(&f->arena, m.n_files, sizeof *f->paths);
    if (f->paths == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(take_index(f, t, &m, err));
    f->files = m.files;
    f->cap = m.n_files;
    for (size_t i = 0; i < m.n_files; i++) {
        char *path;
        rc = check_file(t, &m.files[i], err);
        if (rc != PML_OK) {
            rc = pml_error__prefix(err, rc, "file %s of a commit message", m.files[i].name);
            goto out;
        }
        PML_TRY(pml_path__data_file(&path, t->env, t->path, t->schema, &t->options, m.partition, m.bucket, &m.files[i], err));
        f->paths[i] = pml_arena__strdup(&f->arena, path);
        pml_env__free(t->env, path);
        if (f->paths[i] == NULL) {
            rc = pml_error__no_memory(err);
            goto out;
        }
        f->n++;
        if (__builtin_add_overflow(f->rows, m.files[i].row_count, &f->rows))
            PML_TRY(pml_error__set(err, PML_E_CORRUPT, "the files of a commit message have more than 2^63 rows"));
    }
out:
    return rc;
}

int pml_messages_deserialize(pml_messages **out, pml_table *table, int32_t version, const pml_blob *messages, size_t n,
                             pml_error *err)
{
    int64_t rows = 0;
    int rc = PML_OK;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (n > MESSAGES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu messages at once; the limit is %d", n, MESSAGES_MAX);
    PML_RETURN_IF(pml_error__need_array(messages, n, "messages", err));
    PML_RETURN_IF(pml_writer__check_table(table, err));
    pml_messages *m = pml_env__calloc(table->env, 1, sizeof *m);
    if (m == NULL)
        return pml_error__no_memory(err);
    m->env = table->env;
    pml_table_acquire(table);
    m->table = table;
    m->v = pml_env__calloc(table->env, n, sizeof *m->v);
    if (m->v == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        rc = read_message(&m->v[i], table, version, &messages[i], err);
        m->n += m->v[i] != NULL;
        if (rc == PML_OK && __builtin_add_overflow(rows, m->v[i]->rows, &rows))
            rc = pml_error__set(err, PML_E_CORRUPT, "the files of %zu commit messages have more than 2^63 rows", n);
        if (rc != PML_OK)
            goto out;
    }
    *out = m;
    m = NULL;
out:
    pml_messages_free(m);
    return rc;
}
