/* SPDX-License-Identifier: Apache-2.0 */
/* The batch writer: rows are routed to partition-buckets, each of which has a rolling file. */
#include "table/writer.h"

#include <string.h>

#include "meta/partition.h"
#include "table/restore.h"
#include "table/route.h"

enum { OPEN_FILES_MAX = 256 }; /* processes have 1024 descriptors by default, and each file buffers its columns */

typedef struct writer_pb {
    pml_new_files *files;
    pml_rolling *rolling;
} writer_pb;

struct pml_writer {
    pml_env *env;
    pml_table *table;
    pml_restore restore;
    size_t n_open, cursor; /* open files; where to look for the next one to end early */
    pml_map pbs;           /* partition bytes + bucket -> writer_pb */
    bool failed;           /* an I/O error left a file in an unknown state: only close is possible */
};

int pml_writer__check_table(pml_table *t, pml_error *err)
{
    pml_table_options parsed;
    PML_RETURN_IF(pml_table_options__check_supported(t->schema, t->overrides, t->n_overrides, true, t->path, err));
    return pml_table_options__parse(&parsed, t->schema, t->overrides, t->n_overrides, true, t->path, err);
}

static void pb_free(pml_env *env, void *value)
{
    writer_pb *pb = value;
    pml_rolling__free(pb->rolling);
    if (pb->files != NULL) {
        pml_new_files__delete(pb->files);
        pml_new_files__clear(pb->files);
        pml_env__free(env, pb->files);
    }
    pml_env__free(env, pb);
}

void pml_writer_close(pml_writer *w)
{
    if (w == NULL)
        return;
    pml_env *env = w->env;
    pml_table *t = w->table;
    pml_map__clear(&w->pbs, pb_free);
    pml_restore__clear(&w->restore);
    pml_env__free(env, w);
    pml_table_release(t);
}

int pml_writer_open(pml_writer **out, pml_table *t, pml_error *err)
{
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_writer__check_table(t, err));
    pml_writer *w = pml_env__calloc(t->env, 1, sizeof *w);
    if (w == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(t);
    w->env = t->env;
    w->table = t;
    pml_map__init(&w->pbs, t->env);
    PML_TRY(pml_restore__load(&w->restore, t, err));
    *out = w;
    w = NULL;
out:
    pml_writer_close(w);
    return rc;
}

static int pb_new(writer_pb **out, pml_writer *w, const pml_route_slice *s, pml_error *err)
{
    int64_t first;
    int rc = PML_OK;
    *out = NULL;
    PML_RETURN_IF(pml_restore__first_sequence(&first, &w->restore, w->table, s->partition, s->bucket, err));
    writer_pb *pb = pml_env__calloc(w->env, 1, sizeof *pb);
    if (pb == NULL)
        return pml_error__no_memory(err);
    pb->files = pml_env__calloc(w->env, 1, sizeof *pb->files);
    int32_t total = w->table->options.bucket > 0 ? w->table->options.bucket : -1;
    if (pb->files == NULL || pml_new_files__init(pb->files, w->env, s->partition, s->bucket, total) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_rolling__new(&pb->rolling, w->table, pb->files, first, err));
    *out = pb;
    pb = NULL;
out:
    if (pb != NULL)
        pb_free(w->env, pb);
    return rc;
}

static int pb_of(writer_pb **out, pml_writer *w, const pml_route_slice *s, pml_error *err)
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
        pb_free(w->env, *out);
        *out = NULL;
        rc = pml_error__no_memory(err);
    }
out:
    pml_buf__clear(&key);
    return rc;
}

/* The whole batch goes to one place. It is shared, not moved: when writing fails the caller has it back. */
static int whole_batch(struct ArrowArray *out, struct ArrowArray *back, pml_writer *w, struct ArrowArray *batch,
                       pml_error *err)
{
    pml_shared *shared;
    int64_t rows = batch->length;
    size_t n = w->table->schema->n_fields;
    PML_RETURN_IF(pml_shared__new(&shared, w->env, batch, err));
    int rc = pml_shared__slice(back, shared, 0, rows, NULL, n, NULL, err);
    if (rc == PML_OK)
        rc = pml_shared__slice(out, shared, 0, rows, NULL, n, NULL, err);
    if (rc == PML_OK) {
        pml_shared__release(shared);
        return PML_OK;
    }
    pml_array__release(back);
    *back = (struct ArrowArray){0};
    pml_shared__dissolve(batch, shared);
    return rc;
}

/* The rows of each slice as a batch of its own, in rows[i]. */
static int deal_rows(struct ArrowArray *rows, struct ArrowArray *back, pml_writer *w, const pml_route *route,
                     struct ArrowArray *batch, pml_error *err)
{
    const pml_table_schema *s = w->table->schema;
    if (route->n == 1 && route->slices[0].rows == NULL)
        return whole_batch(rows, back, w, batch, err);
    pml_row_list *lists = pml_env__calloc(w->env, route->n, sizeof *lists);
    if (lists == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < route->n; i++)
        lists[i] = (pml_row_list){route->slices[i].rows, route->slices[i].n};
    int rc = pml_batch__deal(rows, w->env, s->fields, s->n_fields, batch, lists, route->n, err);
    pml_env__free(w->env, lists);
    return rc;
}

static int writer_usable(const pml_writer *w, pml_error *err)
{
    if (w->failed)
        return pml_error__set(err, PML_E_STATE,
                              "an earlier write failed: close this writer and write again with a new one");
    return PML_OK;
}

/* Ends the file of some other partition-bucket: rows that come for it later begin a new one. */
static int end_one_file(pml_writer *w, const writer_pb *keep, pml_error *err)
{
    for (size_t i = 0; i <= w->pbs.live + 1; i++) {
        const pml_map_entry *e = pml_map__next(&w->pbs, &w->cursor);
        if (e == NULL) {
            w->cursor = 0;
            continue;
        }
        writer_pb *pb = e->value;
        if (pb == keep || !pml_rolling__is_open(pb->rolling))
            continue;
        w->n_open--;
        return pml_rolling__finish(pb->rolling, err);
    }
    return PML_OK;
}

static int pb_write(pml_writer *w, writer_pb *pb, struct ArrowArray *rows, pml_error *err)
{
    w->n_open -= pml_rolling__is_open(pb->rolling);
    PML_RETURN_IF(pml_rolling__write(pb->rolling, rows, err));
    w->n_open += pml_rolling__is_open(pb->rolling);
    return w->n_open > OPEN_FILES_MAX ? end_one_file(w, pb, err) : PML_OK;
}

int pml_writer_write(pml_writer *w, struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err)
{
    pml_route route = {0};
    struct ArrowArray back = {0}, *rows = NULL;
    const pml_table_schema *s = w->table->schema;
    bool written = false;
    int rc = PML_OK;
    PML_RETURN_IF(writer_usable(w, err));
    PML_RETURN_IF(pml_type__check_arrow(schema, s->fields, s->n_fields, err));
    PML_RETURN_IF(pml_batch__check(array, s->fields, s->n_fields, PML_CHECK_FULL, err));
    PML_RETURN_IF(pml_route__batch(&route, w->table, array, 0, err));
    /* All partition-buckets are made before the first row is written: what they may refuse, they refuse for the whole batch. */
    for (size_t i = 0; i < route.n; i++) {
        writer_pb *pb;
        PML_TRY(pb_of(&pb, w, &route.slices[i], err));
    }
    rows = pml_env__calloc(w->env, route.n, sizeof *rows);
    if (rows == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    if (route.n > 0)
        PML_TRY(deal_rows(rows, &back, w, &route, array, err));
    for (size_t i = 0; i < route.n; i++) {
        writer_pb *pb;
        PML_TRY(pb_of(&pb, w, &route.slices[i], err));
        written = true;
        PML_TRY(pb_write(w, pb, &rows[i], err));
    }
    pml_array__release(array);
out:
    for (size_t i = 0; rows != NULL && i < route.n; i++)
        pml_array__release(&rows[i]);
    pml_env__free(w->env, rows);
    if (rc != PML_OK && written)
        w->failed = true; /* part of the batch may be in the files */
    if (rc != PML_OK && back.release != NULL)
        *array = back;
    else
        pml_array__release(&back);
    pml_route__clear(&route);
    return rc;
}

/* ---- messages ---- */

size_t pml_messages_count(const pml_messages *m)
{
    return m->n;
}

int64_t pml_messages_rows(const pml_messages *m)
{
    int64_t rows = 0;
    for (size_t i = 0; i < m->n; i++)
        rows += m->v[i]->rows;
    return rows;
}

int64_t pml_messages_files(const pml_messages *m)
{
    int64_t files = 0;
    for (size_t i = 0; i < m->n; i++)
        files += (int64_t)m->v[i]->n;
    return files;
}

void pml_messages_free(pml_messages *m)
{
    if (m == NULL)
        return;
    pml_env *env = m->env;
    pml_table *t = m->table;
    for (size_t i = 0; i < m->n; i++) {
        pml_new_files__clear(m->v[i]);
        pml_env__free(env, m->v[i]);
    }
    pml_env__free(env, m->v);
    pml_env__free(env, m);
    pml_table_release(t);
}

static int messages_new(pml_messages **out, pml_writer *w, pml_error *err)
{
    pml_messages *m = pml_env__calloc(w->env, 1, sizeof *m);
    *out = m;
    if (m == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(w->table);
    m->table = w->table;
    m->env = w->env;
    m->v = pml_env__calloc(w->env, w->pbs.live, sizeof *m->v);
    return m->v == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* The partition-bucket's finished files move to the message; the writer goes on with an empty collection. */
static int take_files(pml_messages *m, pml_writer *w, writer_pb *pb, pml_error *err)
{
    if (pb->files->n == 0)
        return PML_OK;
    pml_new_files *fresh = pml_env__calloc(w->env, 1, sizeof *fresh);
    if (fresh == NULL || pml_new_files__init(fresh, w->env, pb->files->partition, pb->files->bucket,
                                             pb->files->total_buckets) != PML_OK) {
        pml_env__free(w->env, fresh);
        return pml_error__no_memory(err);
    }
    pml_new_files swap = *pb->files;
    *pb->files = *fresh; /* the rolling writer keeps its pointer */
    *fresh = swap;
    m->v[m->n++] = fresh;
    return PML_OK;
}

int pml_writer_prepare(pml_messages **out, pml_writer *w, pml_error *err)
{
    pml_messages *m = NULL;
    const pml_map_entry *e;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(writer_usable(w, err));
    PML_TRY(messages_new(&m, w, err));
    w->n_open = 0;
    for (size_t i = 0; (e = pml_map__next(&w->pbs, &i)) != NULL;) {
        writer_pb *pb = e->value;
        rc = pml_rolling__finish(pb->rolling, err);
        if (rc != PML_OK) {
            w->failed = true;
            goto out;
        }
    }
    for (size_t i = 0; (e = pml_map__next(&w->pbs, &i)) != NULL;) {
        rc = take_files(m, w, e->value, err);
        if (rc != PML_OK) {
            w->failed = true;
            goto out;
        }
    }
    *out = m;
    m = NULL;
out:
    for (size_t i = 0; m != NULL && i < m->n; i++)
        pml_new_files__delete(m->v[i]); /* nobody else knows of them */
    pml_messages_free(m);
    return rc;
}
