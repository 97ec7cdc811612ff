/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/window.h"

#include "columnar/array_memory.h"

struct pml_window_slot {
    struct ArrowArray batch;
    struct ArrowArray view; /* the batch, its offset moved into its columns */
    struct ArrowArray *columns;
    uint32_t *owner; /* NULL: the run has left it */
    uint64_t bytes;
};

void pml_window__init(pml_window *w, pml_env *env, const pml_field *fields, size_t n_fields)
{
    *w = (pml_window){.env = env, .fields = fields, .n_fields = n_fields};
}

static void slot_free(pml_env *env, pml_window_slot *s)
{
    pml_array__release(&s->batch);
    pml_env__free(env, s->columns);
    pml_env__free(env, s);
}

void pml_window__clear(pml_window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        slot_free(w->env, w->slots[i]);
    pml_env__free(w->env, w->slots);
    pml_env__free(w->env, w->batches);
    w->slots = NULL;
    w->batches = NULL;
    w->n = w->cap = 0;
}

static int window_grow(pml_window *w, pml_error *err)
{
    if (w->n < w->cap)
        return PML_OK;
    if (w->cap >= PML_REF_NULL / 4)
        return pml_error__set(err, PML_E_LIMIT, "one merge cannot hold more than %u batches at a time", w->cap);
    uint32_t cap = w->cap == 0 ? 32 : w->cap * 2;
    pml_window_slot **slots = pml_env__realloc(w->env, w->slots, cap * sizeof *slots);
    if (slots == NULL)
        return pml_error__no_memory(err);
    w->slots = slots;
    const struct ArrowArray **batches = pml_env__realloc(w->env, w->batches, cap * sizeof *batches);
    if (batches == NULL)
        return pml_error__no_memory(err);
    w->batches = batches;
    w->cap = cap;
    return PML_OK;
}

/* Slices are the exception: only they need a view with columns of its own. */
static int slot_view(pml_window_slot *s, pml_env *env, size_t n_fields, pml_error *err)
{
    const struct ArrowArray *b = &s->batch;
    s->view = *b;
    s->view.release = NULL;
    if (b->offset == 0)
        return PML_OK;
    size_t per_column = sizeof(struct ArrowArray) + sizeof(struct ArrowArray *);
    s->columns = pml_env__calloc(env, n_fields, per_column);
    if (s->columns == NULL)
        return pml_error__no_memory(err);
    s->view.children = (struct ArrowArray **)(s->columns + n_fields);
    for (size_t i = 0; i < n_fields; i++) {
        struct ArrowArray *c = &s->columns[i];
        *c = *b->children[i];
        c->offset += b->offset;
        c->length = b->length;
        c->null_count = c->null_count == 0 ? 0 : -1;
        s->view.children[i] = c;
    }
    s->view.offset = 0;
    return PML_OK;
}

int pml_window__add(pml_window *w, struct ArrowArray *batch, uint32_t *owner, pml_error *err)
{
    int rc;
    pml_window_slot *s = pml_env__calloc(w->env, 1, sizeof *s);
    if (s == NULL) {
        pml_array__release(batch);
        return pml_error__no_memory(err);
    }
    s->batch = *batch;
    batch->release = NULL;
    PML_TRY(window_grow(w, err));
    PML_TRY(slot_view(s, w->env, w->n_fields, err));
    s->owner = owner;
    s->bytes = pml_batch__bytes(&s->batch, w->fields, w->n_fields);
    *owner = w->n;
    w->batches[w->n] = &s->view;
    w->slots[w->n++] = s;
    s = NULL;
out:
    if (s != NULL)
        slot_free(w->env, s);
    return rc;
}

void pml_window__leave(pml_window *w, uint32_t batch)
{
    w->slots[batch]->owner = NULL;
    w->left_bytes += w->slots[batch]->bytes;
}

void pml_window__settle(pml_window *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        pml_window_slot *s = w->slots[i];
        if (s->owner == NULL) {
            slot_free(w->env, s);
            continue;
        }
        *s->owner = kept;
        w->batches[kept] = &s->view;
        w->slots[kept++] = s;
    }
    w->n = kept;
    w->left_bytes = 0;
}
