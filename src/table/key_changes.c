/* SPDX-License-Identifier: Apache-2.0 */
#include "table/key_changes.h"

pml_key_changes *pml_key_changes__new(pml_env *env, size_t n)
{
    if (n > (SIZE_MAX - sizeof(pml_key_changes)) / sizeof(pml_key_change))
        return NULL;
    pml_key_changes *c = pml_env__calloc(env, 1, sizeof *c + n * sizeof c->v[0]);
    if (c == NULL)
        return NULL;
    c->env = env;
    atomic_init(&c->refs, 1);
    return c;
}

void pml_key_changes__acquire(pml_key_changes *c)
{
    (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void pml_key_changes__release(pml_key_changes *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        pml_env__free(c->env, c);
}
