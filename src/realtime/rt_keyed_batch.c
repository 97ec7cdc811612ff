/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_keyed_batch.h"

#include <stdatomic.h>
#include <string.h>

enum { BYTES_OF_SYSTEM = 2 * sizeof(int64_t) + 1 /* a row */ };

/* The struct array, its system columns and their values. It goes with the last of these arrays: a consumer may take them out one by one. */
typedef struct batch_block {
    atomic_int refs;
    pml_env *env;
    const void *own[1], *system[PML_RT_KEYED_SYSTEM][2]; /* buffers */
    struct ArrowArray *children[]; /* then the columns, sequence numbers, offsets and kinds */
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
    int arrays = 1;
    for (int64_t i = 0; i < PML_RT_KEYED_SYSTEM; i++) {
        arrays += a->children[i]->release != NULL;
        a->children[i]->release = NULL;
    }
    for (int64_t i = PML_RT_KEYED_SYSTEM; i < a->n_children; i++)
        pml_array__release(a->children[i]);
    a->release = NULL;
    block_drop(a->private_data, arrays);
}

static int block_new(batch_block **out, pml_env *env, size_t n_fields, size_t rows, pml_error *err)
{
    size_t head = sizeof **out + n_fields * (sizeof(struct ArrowArray *) + sizeof(struct ArrowArray)), bytes;
    if (__builtin_mul_overflow(rows, (size_t)BYTES_OF_SYSTEM, &bytes) || __builtin_add_overflow(bytes, head, &bytes))
        return pml_error__no_memory(err);
    *out = pml_env__alloc(env, bytes);
    if (*out == NULL)
        return pml_error__no_memory(err);
    **out = (batch_block){.env = env};
    atomic_init(&(*out)->refs, 1 + PML_RT_KEYED_SYSTEM);
    pml_env_acquire(env);
    return PML_OK;
}

int pml_rt_keyed_batch__new(rt_keyed_batch *out, pml_env *env, size_t n_fields, int64_t rows, struct ArrowArray *from, size_t first,
                            pml_error *err)
{
    batch_block *k;
    *out = (rt_keyed_batch){0};
    PML_RETURN_IF(block_new(&k, env, n_fields, (size_t)rows, err));
    struct ArrowArray *columns = (struct ArrowArray *)(k->children + n_fields);
    out->sequences = (int64_t *)(columns + n_fields);
    out->offsets = out->sequences + rows;
    out->kinds = (int8_t *)(out->offsets + rows);
    const void *values[PML_RT_KEYED_SYSTEM] = {out->kinds, out->sequences, out->offsets};
    for (size_t i = 0; i < PML_RT_KEYED_SYSTEM; i++) {
        k->system[i][1] = values[i];
        k->children[i] = &columns[i];
        columns[i] = (struct ArrowArray){
            .length = rows, .n_buffers = 2, .buffers = k->system[i], .release = release_column, .private_data = k};
    }
    for (size_t i = PML_RT_KEYED_SYSTEM; i < n_fields; i++, first++) {
        k->children[i] = &columns[i];
        columns[i] = *from->children[first];
        from->children[first]->release = NULL;
    }
    out->array = (struct ArrowArray){.length = rows,
                                     .n_buffers = 1,
                                     .n_children = (int64_t)n_fields,
                                     .buffers = k->own,
                                     .children = k->children,
                                     .release = release_batch,
                                     .private_data = k};
    return PML_OK;
}

void pml_rt_keyed_batch__give_back(rt_keyed_batch *b, struct ArrowArray *to, size_t first)
{
    for (int64_t i = PML_RT_KEYED_SYSTEM; i < b->array.n_children; i++, first++) {
        *to->children[first] = *b->array.children[i];
        b->array.children[i]->release = NULL;
    }
}

uint64_t pml_rt_keyed_batch__bytes(const rt_keyed_batch *b, const pml_rt_layout *l)
{
    struct ArrowArray table = b->array;
    table.children += PML_RT_KEYED_SYSTEM;
    table.n_children -= PML_RT_KEYED_SYSTEM;
    return (uint64_t)table.length * BYTES_OF_SYSTEM + pml_batch__bytes(&table, l->fields + PML_RT_KEYED_SYSTEM, l->n_fields - PML_RT_KEYED_SYSTEM);
}
