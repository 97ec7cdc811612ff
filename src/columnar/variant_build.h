/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a variant together as Java does (GenericVariantBuilder): keys are numbered in the order in which they come, members stand in
 * Java's order of their keys, numbers of all kinds are as short as they can be.
 */
#ifndef PML_COLUMNAR_VARIANT_BUILD_H
#define PML_COLUMNAR_VARIANT_BUILD_H

#include "columnar/variant.h"
#include "util/map.h"

typedef struct pml_variant_builder {
    pml_env *env;
    pml_buf value, metadata;
    pml_map keys;    /* the n-th that came in is number n */
    pml_buf members; /* of what is open, one behind the other */
    size_t key_bytes;
} pml_variant_builder;

/* An object or array that is open. */
typedef struct pml_variant_mark {
    size_t value, members;
} pml_variant_mark;

void pml_variant_builder__init(pml_variant_builder *b, pml_env *env);
void pml_variant_builder__clear(pml_variant_builder *b);
/* Empties it for the next variant. */
void pml_variant_builder__reset(pml_variant_builder *b);

/* All of these: PML_OK, PML_E_NOMEM, PML_E_LIMIT past the 128 MiB of a variant; sticky where the result does not say it. */
int pml_variant_builder__text(pml_variant_builder *b, pml_bytes text);
int pml_variant_builder__binary(pml_variant_builder *b, pml_bytes bytes);
int pml_variant_builder__boolean(pml_variant_builder *b, bool v);
int pml_variant_builder__integer(pml_variant_builder *b, int64_t v);
/* info: DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ or FLOAT; the low `width` bytes. */
int pml_variant_builder__fixed(pml_variant_builder *b, int info, uint64_t bits, size_t width);
int pml_variant_builder__decimal(pml_variant_builder *b, pml_int128 v, int scale);
/* A value of another variant, whose keys get numbers of this one. PML_E_CORRUPT. */
int pml_variant_builder__copy(pml_variant_builder *b, pml_variant *from, size_t at, int depth);

pml_variant_mark pml_variant_builder__open(const pml_variant_builder *b);
/* The next value is that member, or element (key.ptr NULL). */
int pml_variant_builder__member(pml_variant_builder *b, pml_variant_mark mark, pml_bytes key);
int pml_variant_builder__close_array(pml_variant_builder *b, pml_variant_mark mark);
/* PML_E_CORRUPT: two members of one key. */
int pml_variant_builder__close_object(pml_variant_builder *b, pml_variant_mark mark, pml_error *err);

/* value is whole; makes metadata for it. */
int pml_variant_builder__finish(pml_variant_builder *b, pml_error *err);

#endif
