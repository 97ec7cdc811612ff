/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the place of the merge's output until the merge is there; each is replaced by the function of its name. */
#include "merge/function.h"

__attribute__((weak)) bool pml_merge_output__wanted(const pml_merge_output *o, int32_t position)
{
    (void)o;
    (void)position;
    return false;
}

__attribute__((weak)) int pml_merge_output__pick_row(pml_merge_output *o, pml_row_ref ref)
{
    (void)o;
    (void)ref;
    return PML_E_INTERNAL;
}

__attribute__((weak)) int pml_merge_output__pick(pml_merge_output *o, int32_t position, pml_row_ref ref)
{
    (void)o;
    (void)position;
    (void)ref;
    return PML_E_INTERNAL;
}

__attribute__((weak)) int pml_merge_output__value(pml_merge_output *o, int32_t position, const pml_value *v)
{
    (void)o;
    (void)position;
    (void)v;
    return PML_E_INTERNAL;
}

__attribute__((weak)) pml_builder *pml_merge_output__builder(pml_merge_output *o, int32_t position)
{
    (void)o;
    (void)position;
    return NULL;
}

__attribute__((weak)) int pml_merge_output__built(pml_merge_output *o, int32_t position)
{
    (void)o;
    (void)position;
    return PML_E_INTERNAL;
}

__attribute__((weak)) int pml_merge_output__end_row(pml_merge_output *o, int8_t kind, int64_t sequence)
{
    (void)o;
    (void)kind;
    (void)sequence;
    return PML_E_INTERNAL;
}
