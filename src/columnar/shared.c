/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counted arrays and zero-copy views of them. Every node of a view (nested ones too) holds one reference, because a consumer
 * may move any child out and keep it longer than the rest; the buffers go when the last node of the last view is released.
 */
#include "columnar/array_memory.h"
#include "columnar/batch.h"

#include <assert.h>

struct pml_shared {
    atomic_llong refs;
    pml_env *env;
    struct ArrowArray array; /* borrowed ones: a copy of the struct without release */
    void (*drop)(void *owner);
    void *owner;
};

int pml_shared__new(pml_shared **out, pml_env *env, struct ArrowArray *array, pml_error *err)
{
    *out = NULL;
    pml_shared *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    atomic_init(&s->refs, 1);
    s->env = env;
    pml_env_acquire(env);
    s->array = *array;
    array->release = NULL;
    *out = s;
    return PML_OK;
}

int pml_shared__borrow(pml_shared **out, pml_env *env, const struct ArrowArray *array, void (*drop)(void *owner),
                       void *owner, pml_error *err)
{
    struct ArrowArray copy = *array;
    PML_RETURN_IF(pml_shared__new(out, env, &copy, err));
    (*out)->array.release = NULL;
    (*out)->drop = drop;
    (*out)->owner = owner;
    return PML_OK;
}

void pml_shared__acquire(pml_shared *s)
{
    (void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void pml_shared__release(pml_shared *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = s->env;
    pml_array__release(&s->array);
    if (s->drop != NULL)
        s->drop(s->owner);
    pml_env__free(env, s);
    pml_env_release(env);
}

const struct ArrowArray *pml_shared__array(const pml_shared *s)
{
    return &s->array;
}

void pml_shared__dissolve(struct ArrowArray *out, pml_shared *s)
{
    assert(atomic_load(&s->refs) == 1);
    *out = s->array;
    s->array.release = NULL;
    pml_shared__release(s);
}

/* The whole of a node and of everything below it, over the same buffers. */
static int view_node(struct ArrowArray *out, pml_shared *s, const struct ArrowArray *in, pml_error *err)
{
    int rc = PML_OK;
    if (in->n_buffers > 3 || in->dictionary != NULL)
        return pml_error__set(err, PML_E_INVAL, "an array with %lld buffers or a dictionary cannot be shared",
                              (long long)in->n_buffers);
    PML_TRY(pml_array__init(out, s->env, s, in->n_buffers, in->n_children, err));
    for (int64_t i = 0; i < in->n_buffers; i++)
        out->buffers[i] = in->buffers[i];
    out->length = in->length;
    out->offset = in->offset;
    out->null_count = in->null_count;
    for (int64_t i = 0; i < in->n_children; i++)
        PML_TRY(view_node(out->children[i], s, in->children[i], err));
out:
    return rc;
}

static void view_cut(struct ArrowArray *a, int64_t row, int64_t rows)
{
    if (row != 0 || rows != a->length)
        a->null_count = a->null_count == 0 || a->buffers[0] == NULL ? 0 : -1;
    a->offset += row;
    a->length = rows;
}

int pml_shared__slice(struct ArrowArray *out, pml_shared *s, int64_t row, int64_t rows, const int32_t *columns,
                      size_t n_columns, struct ArrowArray *extra, pml_error *err)
{
    int rc = PML_OK;
    const struct ArrowArray *in = &s->array;
    size_t used = 0;
    *out = (struct ArrowArray){0};
    if (row < 0 || rows < 0 || row > in->length || rows > in->length - row)
        return pml_error__set(err, PML_E_INVAL, "%lld rows from row %lld were asked of a batch of %lld",
                              (long long)rows, (long long)row, (long long)in->length);
    /* The top node holds a reference too: a slice of no columns, or of extra ones only, still pins what it was cut from. */
    PML_TRY(pml_array__init(out, s->env, s, 1, (int64_t)n_columns, err));
    for (size_t i = 0; i < n_columns; i++) {
        int64_t c = columns == NULL ? (int64_t)i : columns[i];
        if (c == -1) {
            used++;
            continue;
        }
        if (c < 0 || c >= in->n_children)
            PML_TRY(pml_error__set(err, PML_E_INVAL, "column %lld was asked of a batch of %lld columns", (long long)c,
                                   (long long)in->n_children));
        PML_TRY(view_node(out->children[i], s, in->children[c], err));
        view_cut(out->children[i], in->offset + row, rows);
    }
    for (size_t i = 0; i < used; i++)
        if (extra[i].length != rows)
            PML_TRY(pml_error__set(err, PML_E_INVAL, "an extra column has %lld rows instead of %lld",
                                   (long long)extra[i].length, (long long)rows));
    out->length = rows;
    for (size_t i = 0; i < n_columns && used > 0; i++)
        if (columns != NULL && columns[i] == -1) {
            *out->children[i] = *extra;
            extra->release = NULL;
            extra++;
        }
out:
    if (rc != PML_OK) {
        pml_array__release(out);
        *out = (struct ArrowArray){0};
    }
    return rc;
}

int pml_batch__drop_front(struct ArrowArray *batch, pml_env *env, int64_t *skip, pml_error *err)
{
    pml_shared *s;
    int64_t n = batch->length, from = n < *skip ? n : *skip;
    *skip -= from;
    if (from == 0)
        return PML_OK;
    if (from == n) {
        pml_array__release(batch);
        return PML_OK;
    }
    PML_RETURN_IF(pml_shared__new(&s, env, batch, err));
    int rc = pml_shared__slice(batch, s, from, n - from, NULL, (size_t)pml_shared__array(s)->n_children, NULL, err);
    pml_shared__release(s);
    return rc;
}
