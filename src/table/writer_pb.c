/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partition-buckets of a batch writer. Without a primary key each has a file that grows; with one, a buffer of rows, of which the
 * largest becomes files of level 0 when all together have outgrown write-buffer-size.
 */
#include "table/writer.h"

#include "meta/partition.h"

enum { OPEN_FILES_MAX = 256 }; /* processes have 1024 descriptors by default, and each file buffers its columns */

void pml_writer_pb__free(pml_env *env, void *value)
{
    pml_writer_pb *pb = value;
    pml_rolling__free(pb->rolling);
    pml_write_buffer__clear(&pb->buffer);
    if (pb->files != NULL) {
        pml_new_files__delete(pb->files);
        pml_new_files__clear(pb->files);
        pml_env__free(env, pb->files);
    }
    pml_env__free(env, pb);
}

static int pb_new(pml_writer_pb **out, pml_writer *w, const pml_route_slice *s, pml_error *err)
{
    int64_t first;
    int rc = PML_OK;
    *out = NULL;
    PML_RETURN_IF(pml_restore__first_sequence(&first, &w->restore, w->table, s->partition, s->bucket, err));
    pml_writer_pb *pb = pml_env__calloc(w->env, 1, sizeof *pb);
    if (pb == NULL)
        return pml_error__no_memory(err);
    pb->files = pml_env__calloc(w->env, 1, sizeof *pb->files);
    int32_t total = w->table->options.bucket > 0 ? w->table->options.bucket : -1;
    if (pb->files == NULL || pml_new_files__init(pb->files, w->env, s->partition, s->bucket, total) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_rolling__new(&pb->rolling, w->table, &w->shape, pb->files, first, err));
    if (w->shape.keyed)
        pml_write_buffer__init(&pb->buffer, w->env, &w->rows, first);
    *out = pb;
    pb = NULL;
out:
    if (pb != NULL)
        pml_writer_pb__free(w->env, pb);
    return rc;
}

int pml_writer_pb__of(pml_writer_pb **out, pml_writer *w, const pml_route_slice *s, pml_error *err)
{
    pml_buf key;
    int rc = PML_OK;
    *out = NULL;
    pml_buf__init(&key, w->env, SIZE_MAX / 2);
    if (pml_partition__bucket_key(&key, s->partition, s->bucket) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    *out = pml_map__get(&w->pbs, key.data, key.len);
    if (*out != NULL)
        goto out;
    PML_TRY(pb_new(out, w, s, err));
    if (pml_map__put(&w->pbs, key.data, key.len, *out, NULL) != PML_OK) {
        pml_writer_pb__free(w->env, *out);
        *out = NULL;
        rc = pml_error__no_memory(err);
    }
out:
    pml_buf__clear(&key);
    return rc;
}

int pml_writer_pb__finish(pml_writer *w, pml_writer_pb *pb, pml_error *err)
{
    if (w->shape.keyed) {
        w->buffered -= pml_write_buffer__bytes(&pb->buffer);
        PML_RETURN_IF(pml_write_buffer__flush(&pb->buffer, pb->rolling, err));
    }
    w->n_open -= pml_rolling__is_open(pb->rolling) && !w->shape.keyed;
    return pml_rolling__finish(pb->rolling, err); /* keys of a later flush begin anew, so the file ends here */
}

/* Ends the file of some other partition-bucket: rows that come for it later begin a new one. */
static int end_one_file(pml_writer *w, const pml_writer_pb *keep, pml_error *err)
{
    for (size_t i = 0; i <= w->pbs.live + 1; i++) {
        const pml_map_entry *e = pml_map__next(&w->pbs, &w->cursor);
        if (e == NULL) {
            w->cursor = 0;
            continue;
        }
        pml_writer_pb *pb = e->value;
        if (pb != keep && pml_rolling__is_open(pb->rolling))
            return pml_writer_pb__finish(w, pb, err);
    }
    return PML_OK;
}

static int append_write(pml_writer *w, pml_writer_pb *pb, struct ArrowArray *rows, pml_error *err)
{
    w->n_open -= pml_rolling__is_open(pb->rolling);
    PML_RETURN_IF(pml_rolling__write(pb->rolling, rows, err));
    w->n_open += pml_rolling__is_open(pb->rolling);
    return w->n_open > OPEN_FILES_MAX ? end_one_file(w, pb, err) : PML_OK;
}

static pml_writer_pb *largest_buffer(pml_writer *w)
{
    const pml_map_entry *e;
    pml_writer_pb *largest = NULL;
    for (size_t i = 0; (e = pml_map__next(&w->pbs, &i)) != NULL;) {
        pml_writer_pb *pb = e->value;
        if (largest == NULL || pml_write_buffer__bytes(&pb->buffer) > pml_write_buffer__bytes(&largest->buffer))
            largest = pb;
    }
    return largest;
}

int pml_writer_pb__write(pml_writer *w, pml_writer_pb *pb, struct ArrowArray *rows, const int8_t *kinds, pml_error *err)
{
    if (!w->shape.keyed)
        return append_write(w, pb, rows, err);
    w->buffered -= pml_write_buffer__bytes(&pb->buffer);
    int rc = pml_write_buffer__add(&pb->buffer, rows, kinds, err);
    w->buffered += pml_write_buffer__bytes(&pb->buffer);
    while (rc == PML_OK && w->buffered > (uint64_t)w->table->options.write_buffer_size)
        rc = pml_writer_pb__finish(w, largest_buffer(w), err);
    return rc;
}
