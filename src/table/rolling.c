/* SPDX-License-Identifier: Apache-2.0 */
#include "table/rolling.h"

#include <string.h>

#include "columnar/distinct.h"
#include "format/file_format.h"
#include "storage/file_io.h"
#include "table/held.h"
#include "util/zone.h"

/* A batch is cut into pieces, and the size is looked at after each. Long pieces cost less: the writer goes through one column
   at a time, with one dictionary in the caches. Batches that are shorter than a piece wait until HOLD_ROWS are together, and so
   do the first rows of a file, which show what encodings suit it. */
enum { PIECE_ROWS_MIN = 8192, PIECE_ROWS_MAX = 65536, HOLD_ROWS = 32768, HOLD_BYTES = 16 * 1024 * 1024 };

struct pml_rolling {
    pml_env *env;
    pml_table *table;
    pml_new_files *to;
    int64_t next_sequence;
    char uuid[37];
    int64_t counter;
    char *dir;
    const pml_file_shape *shape;
    pml_held held; /* rows of no file yet */
    /* the open file; writer NULL: none */
    pml_format_writer *writer;
    pml_file_notes notes;
    char *name, *path;
};

int pml_new_files__init(pml_new_files *f, pml_env *env, pml_bytes partition, int32_t bucket, int32_t total_buckets)
{
    *f = (pml_new_files){.env = env, .bucket = bucket, .total_buckets = total_buckets};
    pml_arena__init(&f->arena, env);
    f->partition.ptr = pml_arena__copy(&f->arena, partition.ptr, partition.len);
    f->partition.len = partition.len;
    return f->partition.ptr == NULL ? PML_E_NOMEM : PML_OK;
}

void pml_new_files__clear(pml_new_files *f)
{
    pml_key_changes__release(f->changes);
    if (f->env != NULL)
        pml_arena__clear(&f->arena);
    *f = (pml_new_files){0};
}

void pml_new_files__delete(pml_new_files *f)
{
    for (size_t i = 0; i < f->n; i++)
        (void)pml_file__remove(f->env, f->paths[i], NULL);
    if (f->index != NULL)
        (void)pml_file__remove(f->env, f->index_path, NULL);
    f->index = NULL;
    f->n = 0;
    f->rows = 0;
}

static pml_data_file *new_files_add(pml_new_files *f, const char *path)
{
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 4 : f->cap * 2;
        pml_data_file *files = pml_arena__array(&f->arena, cap, sizeof *files);
        const char **paths = pml_arena__array(&f->arena, cap, sizeof *paths);
        if (files == NULL || paths == NULL)
            return NULL;
        if (f->n > 0) {
            memcpy(files, f->files, f->n * sizeof *files);
            memcpy(paths, f->paths, f->n * sizeof *paths);
        }
        f->files = files;
        f->paths = paths;
        f->cap = cap;
    }
    f->paths[f->n] = pml_arena__strdup(&f->arena, path);
    return f->paths[f->n] == NULL ? NULL : &f->files[f->n];
}

int pml_rolling__new(pml_rolling **out, pml_table *t, const pml_file_shape *shape, pml_new_files *to, int64_t first_sequence,
                     pml_error *err)
{
    int rc;
    *out = NULL;
    pml_rolling *r = pml_env__calloc(t->env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(t);
    r->env = t->env;
    r->table = t;
    r->to = to;
    r->next_sequence = first_sequence;
    r->shape = shape;
    r->held = (pml_held){.env = t->env, .fields = shape->fields, .n_fields = shape->n_fields};
    PML_TRY(pml_env__uuid(r->env, r->uuid, err));
    PML_TRY(pml_path__bucket(&r->dir, r->env, t->path, t->schema, &t->options, to->partition, to->bucket, err));
    *out = r;
    r = NULL;
out:
    pml_rolling__free(r);
    return rc;
}

static void file_forget(pml_rolling *r)
{
    pml_format_writer__free(r->writer); /* removes the file unless it was finished */
    pml_file_notes__clear(&r->notes);
    pml_env__free(r->env, r->name);
    pml_env__free(r->env, r->path);
    r->writer = NULL;
    r->name = r->path = NULL;
}

void pml_rolling__free(pml_rolling *r)
{
    if (r == NULL)
        return;
    pml_env *env = r->env;
    pml_table *t = r->table;
    file_forget(r);
    pml_held__clear(&r->held);
    pml_env__free(env, r->dir);
    pml_env__free(env, r);
    pml_table_release(t);
}

/* batches: rows at hand, where the file begins. Java starts a dictionary of every column and gives up those that
   outgrow a page; which these are shows in the first rows, mostly. */
static int file_open(pml_rolling *r, const struct ArrowArray *batches, size_t n_batches, pml_error *err)
{
    const pml_table_options *o = &r->table->options;
    const pml_file_shape *s = r->shape;
    uint8_t *plain = NULL;
    int rc;
    pml_format_write_options options = {.compression = o->file_compression,
                                        .zstd_level = o->zstd_level,
                                        .dictionary = o->parquet_dictionary,
                                        .delta = o->parquet_delta,
                                        .block_bytes = o->file_block_size,
                                        .page_bytes = o->parquet_page_size};
    r->name = pml_path__data_file_name(r->env, o, r->uuid, r->counter++);
    r->path = r->name == NULL ? NULL : pml_path__join(r->env, r->dir, r->name);
    if (r->path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_file_notes__init(&r->notes, r->env, s, err));
    plain = pml_env__alloc(r->env, s->n_fields);
    if (plain == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (o->parquet_dictionary) {
        PML_TRY(pml_distinct__outgrows(plain, r->env, s->fields, s->n_fields, batches, n_batches,
                                       PML_FORMAT_DICTIONARY_BYTES, err));
        options.plain = plain;
    }
    PML_TRY(pml_format__create(&r->writer, r->env, o->file_format, r->path, s->fields, s->n_fields, &options, err));
out:
    pml_env__free(r->env, plain);
    if (rc != PML_OK)
        file_forget(r);
    return rc;
}

/* The description of the file that was just finished. */
static int file_describe(pml_rolling *r, int64_t size_bytes, pml_error *err)
{
    pml_arena *arena = &r->to->arena;
    pml_data_file *f = new_files_add(r->to, r->path);
    if (f == NULL)
        return pml_error__no_memory(err);
    *f = (pml_data_file){.size_bytes = size_bytes,
                         .min_sequence = r->next_sequence - r->notes.rows,
                         .max_sequence = r->next_sequence - 1,
                         .schema_id = r->table->schema->id,
                         .extra_files = {.present = true},
                         .file_source = PML_FILE_SOURCE_APPEND};
    f->name = pml_arena__strdup(arena, r->name);
    /* Java's LocalDateTime.now(): what a clock on the wall shows here, as if it were UTC. */
    f->creation_time_ms = (pml_optional_int64){true, pml_zone__local_of_instant(pml_env__wall_ms(r->env))};
    if (f->name == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_file_notes__describe(f, arena, &r->notes, r->table->options.stats_dense, err));
    r->to->rows += r->notes.rows;
    r->to->n++;
    return PML_OK;
}

static int file_close(pml_rolling *r, pml_error *err)
{
    int64_t size_bytes;
    if (r->writer == NULL)
        return PML_OK;
    bool sync = r->table->options.commit_durability == PML_DURABILITY_FILES;
    int rc = pml_format_writer__finish(r->writer, sync, &size_bytes, err);
    if (rc == PML_OK) {
        rc = file_describe(r, size_bytes, err);
        if (rc != PML_OK)
            (void)pml_file__remove(r->env, r->path, NULL);
    }
    file_forget(r);
    return rc;
}

/* Rows of the next piece: many while the open file is far from its target, the fewest in a new one and close to the end. */
static int64_t piece_rows(const pml_rolling *r)
{
    const pml_table_options *o = &r->table->options;
    if (r->writer == NULL || r->notes.rows == 0)
        return PIECE_ROWS_MIN;
    int64_t size = pml_format_writer__size(r->writer), rows = o->target_file_rows - r->notes.rows;
    int64_t fit = (o->target_file_size - size) / (size / r->notes.rows + 1);
    rows = fit < rows ? fit : rows;
    return rows < PIECE_ROWS_MIN ? PIECE_ROWS_MIN : rows > PIECE_ROWS_MAX ? PIECE_ROWS_MAX : rows;
}

/* A piece of a batch, or all of it; moved. The file is open. */
static int write_piece(pml_rolling *r, struct ArrowArray *piece, pml_error *err)
{
    int64_t rows = piece->length;
    int rc = pml_file_notes__update(&r->notes, piece, err);
    if (rc != PML_OK) {
        piece->release(piece);
        return rc;
    }
    PML_RETURN_IF(pml_format_writer__write(r->writer, piece, err));
    r->next_sequence += rows;
    const pml_table_options *o = &r->table->options;
    if (pml_format_writer__size(r->writer) >= o->target_file_size || r->notes.rows >= o->target_file_rows)
        return file_close(r, err);
    return PML_OK;
}

/* Cuts a long batch; moved. Batches behind it, of n in all, help to judge what a new file needs. */
static int write_batch(pml_rolling *r, struct ArrowArray *batch, size_t n_batches, pml_error *err)
{
    int64_t length = batch->length;
    pml_shared *shared = NULL;
    int rc = r->writer == NULL ? file_open(r, batch, n_batches, err) : PML_OK;
    if (rc == PML_OK && length <= piece_rows(r))
        return write_piece(r, batch, err);
    size_t n = r->shape->n_fields;
    int32_t *columns = rc == PML_OK ? pml_env__calloc(r->env, n, sizeof *columns) : NULL;
    if (columns == NULL) {
        batch->release(batch);
        return rc != PML_OK ? rc : pml_error__no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        columns[i] = (int32_t)i;
    PML_TRY(pml_shared__new(&shared, r->env, batch, err));
    for (int64_t at = 0, rows; at < length; at += rows) {
        struct ArrowArray piece = {0};
        if (r->writer == NULL)
            PML_TRY(file_open(r, pml_shared__array(shared), 1, err));
        rows = piece_rows(r);
        rows = length - at < rows ? length - at : rows;
        PML_TRY(pml_shared__slice(&piece, shared, at, rows, columns, n, NULL, err));
        PML_TRY(write_piece(r, &piece, err));
    }
out:
    pml_array__release(batch); /* still ours when it could not be shared */
    if (shared != NULL)
        pml_shared__release(shared);
    pml_env__free(r->env, columns);
    return rc;
}

static int write_held(pml_rolling *r, pml_error *err)
{
    pml_held *h = &r->held;
    int rc = pml_held__join(h, PIECE_ROWS_MIN, err);
    for (size_t i = 0; rc == PML_OK && i < h->n; i++)
        rc = write_batch(r, &h->v[i], h->n - i, err);
    pml_held__clear(h);
    return rc;
}

/* Whether rows that are held may wait for more. Not past the end of a file: targets are looked at when rows are written. */
static bool may_wait(const pml_rolling *r, int64_t rows, uint64_t bytes)
{
    const pml_table_options *o = &r->table->options;
    int64_t target = o->target_file_size / 16; /* so that a file does not grow much past it */
    return rows < HOLD_ROWS && rows < o->target_file_rows - (r->writer == NULL ? 0 : r->notes.rows) && bytes < HOLD_BYTES && bytes < (uint64_t)target;
}

int pml_rolling__write(pml_rolling *r, struct ArrowArray *batch, pml_error *err)
{
    pml_held *h = &r->held;
    if (batch->length == 0) {
        batch->release(batch);
        return PML_OK;
    }
    bool waits = batch->length < (r->writer == NULL ? HOLD_ROWS : PIECE_ROWS_MIN);
    if (h->n == 0 && (!waits || !may_wait(r, batch->length, pml_batch__bytes(batch, h->fields, h->n_fields))))
        return write_batch(r, batch, 1, err);
    int rc = pml_held__add(h, batch, err);
    if (rc != PML_OK)
        batch->release(batch);
    else if (!waits || !may_wait(r, h->rows, h->bytes))
        rc = write_held(r, err);
    return rc;
}

int pml_rolling__finish(pml_rolling *r, pml_error *err)
{
    PML_RETURN_IF(write_held(r, err));
    return file_close(r, err);
}

int64_t pml_rolling__next_sequence(const pml_rolling *r)
{
    return r->next_sequence;
}

bool pml_rolling__is_open(const pml_rolling *r)
{
    return r->writer != NULL || r->held.n > 0;
}
