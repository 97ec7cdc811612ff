/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items: one value of any type where it stands in an array, nested ones too. Walking, comparing, and keys for looking equal
 * ones up, each as the code that Java generates or calls for it does.
 */
#ifndef PML_COLUMNAR_ITEM_H
#define PML_COLUMNAR_ITEM_H

#include "columnar/array_memory.h"
#include "columnar/value.h"

/* row counts beyond the array's own offset. array NULL: a null that stands nowhere. */
typedef struct pml_item {
    const struct ArrowArray *array;
    int64_t row;
} pml_item;

static inline bool pml_item__is_null(pml_item i)
{
    return i.array == NULL || pml_array__is_null(i.array, i.row);
}

/* Member i of a ROW, or of an entry of a MAP (0 key, 1 value). Not for a null. */
static inline pml_item pml_item__member(pml_item row, size_t i)
{
    return (pml_item){row.array->children[i], row.array->offset + row.row};
}

/* The elements of an ARRAY, MULTISET, MAP (its entries) or VECTOR that is not null: n of them from `first` on. */
typedef struct pml_item_range {
    const struct ArrowArray *array;
    int64_t first, n;
} pml_item_range;
pml_item_range pml_item__elements(const pml_type *t, pml_item item);

/* Order of Java's generated comparators (RecordComparator), null first; -1, 0, 1. In FLOAT and DOUBLE a NaN equals
   everything and -0.0 equals 0.0: they use < and >, unlike pml_value__compare. PML_TYPE_MAP, MULTISET, VARIANT and BLOB have no
   order here: pml_item__has_order. */
int pml_item__compare(const pml_type *t, pml_item a, pml_item b);
bool pml_item__has_order(const pml_type *t);

/* Which of Java's equalities. */
typedef enum pml_item_rule {
    PML_ITEM_BOXED, /* equals() of the objects in a hash table: NaN equals itself, 0.0 is not -0.0, no binary equals any other */
    PML_ITEM_GENERATED, /* RecordEqualiser: NaN equals nothing, 0.0 equals -0.0, an array with a null in it equals nothing */
    PML_ITEM_BITS       /* the bytes of binary rows */
} pml_item_rule;
/* Whether the rule says anything of items of the type; if not, Java fails or its answer hangs on its internal classes. */
bool pml_item__has_key(const pml_type *t, pml_item_rule rule);
/* Appends bytes that are the same for two items exactly when they are equal. *never: the item equals none, not even itself. The
   result is that of the buffer. */
int pml_item__append_key(pml_buf *out, bool *never, const pml_type *t, pml_item item, pml_item_rule rule);

#endif
