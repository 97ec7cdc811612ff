/* SPDX-License-Identifier: Apache-2.0 */
/* Values into Arrow buffers: the other direction of pml_value__get. */
#ifndef PML_COLUMNAR_VALUE_STORE_H
#define PML_COLUMNAR_VALUE_STORE_H

#include "columnar/value.h"

/* The kind that values of an atomic type have; PML_VALUE_NULL for nested types. */
pml_value_kind pml_value__kind_of(const pml_type *t);
/* Whether a value that is not null has the kind of t and, for integers, its range. */
bool pml_value__fits(const pml_type *t, const pml_value *v);
/* The Arrow bytes of a value of a fixed-width type (pml_layout__width of them) that fits. PML_E_LIMIT: a timestamp outside
   the range of its unit. Digits below the unit are cut off. */
int pml_value__store(uint8_t slot[16], const pml_type *t, const pml_value *v);

#endif
