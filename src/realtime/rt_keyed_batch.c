/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_keyed_batch.h"

#include <stdatomic.h>
#include <string.h>

enum { BYTES_OF_SYSTEM = 2 * sizeof(int64_t) + 1 /* a row */ };

/* The system columns and their values. It goes with the last of these arrays and of the struct array: a consumer may take them out one by
   one. */
typedef struct batch_block {
    atomic_int refs;
    pml_env *env;
    struct ArrowArray from; /* what has the columns of the table */
    struct ArrowArray system[PML_RT_KEYED_SYSTEM];
    const void *own[1], *buffers[PML_RT_KEYED_SYSTEM][2];
    struct ArrowArray *children[]; /* then sequence numbers, offsets and kinds */
} batch_block;

static void block_drop(batch_block *k, int arrays)
{
    pml_env *env = k->env;
    if (atomic_fetch_sub_explicit(&k->refs, arrays, memory_order_acq_rel) != arrays)
        return;
    pml_env__free(env, k);
    pml_env_release(env);
}

static void release_column(struct ArrowArray *a)
{
    a->release = NULL;
    block_drop(a->private_data, 1);
}

static void release_batch(struct ArrowArray *a)
{
    batch_block *k = a->private_data;
    int arrays = 1;
    for (size_t i = 0; i < PML_RT_KEYED_SYSTEM; i++) {
        arrays += k->system[i].release != NULL;
        k->system[i].release = NULL;
    }
    pml_array__release(&k->from); /* all columns of a batch in one call */
    a->release = NULL;
    block_drop(k, arrays);
}

static int block_new(batch_block **out, pml_env *env, size_t n_fields, size_t rows, pml_error *err)
{
    size_t head = sizeof **out + n_fields * sizeof(struct ArrowArray *), bytes;
    if (__builtin_mul_overflow(rows, (size_t)BYTES_OF_SYSTEM, &bytes) || __builtin_add_overflow(bytes, head, &bytes))
        return pml_error__no_memory(err);
    *out = pml_env__alloc(env, bytes);
    if (*out == NULL)
        return pml_error__no_memory(err);
    (*out)->env = env;
    atomic_init(&(*out)->refs, 1 + PML_RT_KEYED_SYSTEM);
    pml_env_acquire(env);
    return PML_OK;
}

static void take_out(struct ArrowArray *to, struct ArrowArray *from)
{
    *to = *from;
    from->release = NULL;
}

int pml_rt_keyed_batch__new(rt_keyed_batch *out, pml_env *env, size_t n_fields, int64_t rows, struct ArrowArray *from, size_t first,
                            pml_error *err)
{
    batch_block *k;
    const size_t end = first + n_fields - PML_RT_KEYED_SYSTEM;
    *out = (rt_keyed_batch){0};
    PML_RETURN_IF(block_new(&k, env, n_fields, (size_t)rows, err));
    out->sequences = (int64_t *)(k->children + n_fields);
    out->offsets = out->sequences + rows;
    out->kinds = (int8_t *)(out->offsets + rows);
    const void *values[PML_RT_KEYED_SYSTEM] = {out->kinds, out->sequences, out->offsets};
    for (size_t i = 0; i < PML_RT_KEYED_SYSTEM; i++) {
        k->buffers[i][0] = NULL;
        k->buffers[i][1] = values[i];
        k->system[i] = (struct ArrowArray){
            .length = rows, .n_buffers = 2, .buffers = k->buffers[i], .release = release_column, .private_data = k};
        k->children[i] = &k->system[i];
    }
    memcpy(k->children + PML_RT_KEYED_SYSTEM, from->children + first, (end - first) * sizeof(struct ArrowArray *));
    if (first > 0)
        take_out(&out->given_offsets, from->children[0]);
    if (from->n_children > (int64_t)end)
        take_out(&out->given_kinds, from->children[end]);
    take_out(&k->from, from);
    k->own[0] = NULL;
    out->array = (struct ArrowArray){.length = rows,
                                     .n_buffers = 1,
                                     .n_children = (int64_t)n_fields,
                                     .buffers = k->own,
                                     .children = k->children,
                                     .release = release_batch,
                                     .private_data = k};
    return PML_OK;
}

void pml_rt_keyed_batch__give_back(rt_keyed_batch *b, struct ArrowArray *to)
{
    batch_block *k = b->array.private_data;
    take_out(to, &k->from);
    if (b->given_offsets.release != NULL)
        take_out(to->children[0], &b->given_offsets);
    if (b->given_kinds.release != NULL)
        take_out(to->children[to->n_children - 1], &b->given_kinds);
}

void pml_rt_keyed_batch__clear(rt_keyed_batch *b)
{
    pml_array__release(&b->array);
    pml_array__release(&b->given_offsets);
    pml_array__release(&b->given_kinds);
}

uint64_t pml_rt_keyed_batch__bytes(const rt_keyed_batch *b, const pml_rt_layout *l)
{
    struct ArrowArray table = b->array;
    table.children += PML_RT_KEYED_SYSTEM;
    table.n_children -= PML_RT_KEYED_SYSTEM;
    return (uint64_t)table.length * BYTES_OF_SYSTEM + pml_batch__bytes(&table, l->fields + PML_RT_KEYED_SYSTEM, l->n_fields - PML_RT_KEYED_SYSTEM);
}
