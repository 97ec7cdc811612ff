/* SPDX-License-Identifier: Apache-2.0 */
/* The batch writer: rows are routed to partition-buckets, each of which has a rolling file, or a buffer of rows to be merged. */
#include "table/writer.h"

#include <string.h>

#include "table/read_merge.h"
#include "table/writer_deal.h"

int pml_writer__check_table(pml_table *t, pml_error *err)
{
    pml_table_options parsed;
    PML_RETURN_IF(pml_table_options__check_supported(t->schema, t->overrides, t->n_overrides, true, t->path, err));
    return pml_table_options__parse(&parsed, t->schema, t->overrides, t->n_overrides, true, t->path, err);
}

void pml_writer_close(pml_writer *w)
{
    if (w == NULL)
        return;
    pml_env *env = w->env;
    pml_table *t = w->table;
    pml_map__clear(&w->pbs, pml_writer_pb__free);
    pml_restore__clear(&w->restore);
    pml_bucket_assigner__free(w->assigner);
    if (w->function.drop != NULL)
        w->function.drop(w->function.self);
    pml_arena__clear(&w->arena);
    pml_env__free(env, w);
    pml_table_release(t);
}

/* What the columns of input, rows in memory and files are. */
static int writer_shapes(pml_writer *w, pml_error *err)
{
    const pml_table_schema *s = w->table->schema;
    PML_RETURN_IF(pml_file_shape__init(&w->shape, &w->arena, w->table, err));
    w->input = pml_arena__array(&w->arena, s->n_fields + 1, sizeof *w->input);
    if (w->input == NULL)
        return pml_error__no_memory(err);
    memcpy(w->input, s->fields, s->n_fields * sizeof *w->input);
    w->input[s->n_fields] = pml_field_value_kind;
    if (!w->shape.keyed)
        return pml_row_kinds__init(&w->kinds, w->table, NULL, err);
    PML_RETURN_IF(pml_keyed_rows__init(&w->rows, &w->arena, w->table, &w->shape, err));
    PML_RETURN_IF(pml_keyed_rows__function(&w->function, &w->rows, err));
    return pml_row_kinds__init(&w->kinds, w->table, &w->function, err);
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
    pml_arena__init(&w->arena, t->env);
    PML_TRY(writer_shapes(w, err));
    if (pml_table_options__is_dynamic(&t->options, t->schema)) /* before the numbers of rows: a commit between may not hide rows of theirs */
        PML_TRY(pml_bucket_assigner__new(&w->assigner, t, err));
    PML_TRY(pml_restore__load(&w->restore, t, err));
    *out = w;
    w = NULL;
out:
    pml_writer_close(w);
    return rc;
}

static int writer_usable(const pml_writer *w, pml_error *err)
{
    if (w->failed)
        return pml_error__set(err, PML_E_STATE,
                              "an earlier write failed: close this writer and write again with a new one");
    return PML_OK;
}

/* The table's columns, or one more. */
static int check_input(const pml_writer *w, const struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err)
{
    size_t n = w->table->schema->n_fields;
    const struct ArrowSchema *last = schema != NULL && schema->n_children == (int64_t)n + 1 ? schema->children[n] : NULL;
    if (last != NULL && last->name != NULL && strcmp(last->name, pml_field_value_kind.name) == 0)
        n++;
    PML_RETURN_IF(pml_type__check_arrow(schema, w->input, n, err));
    return pml_batch__check(array, w->input, n, PML_CHECK_FULL, err);
}

int pml_writer_write(pml_writer *w, struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err)
{
    pml_dealt d;
    bool written = false;
    int rc;
    PML_RETURN_IF(writer_usable(w, err));
    PML_RETURN_IF(check_input(w, array, schema, err));
    PML_TRY(pml_dealt__make(&d, w, array, err));
    /* All partition-buckets are made before the first row is written: what they may refuse, they refuse for the whole batch. */
    for (size_t i = 0; i < d.route.n; i++) {
        pml_writer_pb *pb;
        PML_TRY(pml_writer_pb__of(&pb, w, &d.route.slices[i], err));
    }
    for (size_t i = 0; i < d.route.n; i++) {
        pml_writer_pb *pb;
        PML_TRY(pml_writer_pb__of(&pb, w, &d.route.slices[i], err));
        written = true;
        PML_TRY(pml_writer_pb__write(w, pb, &d.rows[i], d.kinds[i], err));
    }
    pml_array__release(array);
out:
    if (rc != PML_OK && written)
        w->failed = true; /* part of the batch may be in the files */
    if (rc != PML_OK)
        pml_dealt__give_back(&d, array);
    pml_dealt__clear(&d);
    return rc;
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
static int take_files(pml_messages *m, pml_writer *w, pml_writer_pb *pb, pml_error *err)
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
    for (size_t i = 0; (e = pml_map__next(&w->pbs, &i)) != NULL;) {
        pml_writer_pb *pb = e->value;
        rc = pml_writer_pb__finish(w, pb, err);
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
    rc = w->assigner == NULL ? PML_OK : pml_bucket_assigner__prepare(w->assigner, m->v, m->n, err);
    if (rc != PML_OK) {
        w->failed = true;
        goto out;
    }
    *out = m;
    m = NULL;
out:
    for (size_t i = 0; m != NULL && i < m->n; i++)
        pml_new_files__delete(m->v[i]); /* nobody else knows of them */
    pml_messages_free(m);
    return rc;
}
