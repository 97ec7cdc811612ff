/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/value_store.h"

#include "columnar/array_memory.h"

pml_value_kind pml_value__kind_of(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: return PML_VALUE_BOOL;
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: return PML_VALUE_INT;
    case PML_TYPE_FLOAT: return PML_VALUE_FLOAT;
    case PML_TYPE_DOUBLE: return PML_VALUE_DOUBLE;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: return PML_VALUE_BYTES;
    case PML_TYPE_DECIMAL: return PML_VALUE_DECIMAL;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return PML_VALUE_TIMESTAMP;
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: break;
    }
    return PML_VALUE_NULL;
}

bool pml_value__fits(const pml_type *t, const pml_value *v)
{
    if (v->kind == PML_VALUE_NULL || v->kind != pml_value__kind_of(t))
        return false;
    if (v->kind != PML_VALUE_INT)
        return true;
    int bits = (int)pml_layout__width(t) * 8;
    return bits == 64 || (v->i >= -((int64_t)1 << (bits - 1)) && v->i < (int64_t)1 << (bits - 1));
}

int pml_value__store(uint8_t slot[16], const pml_type *t, const pml_value *v)
{
    if (v->kind == PML_VALUE_FLOAT) {
        memcpy(slot, &v->f, sizeof v->f);
    } else if (v->kind == PML_VALUE_DOUBLE) {
        memcpy(slot, &v->d, sizeof v->d);
    } else if (v->kind == PML_VALUE_DECIMAL) {
        memcpy(slot, &v->dec, sizeof v->dec);
    } else if (v->kind == PML_VALUE_TIMESTAMP) {
        int64_t per_ms = 1000000 / pml_layout__unit_nanos(t), units;
        if (__builtin_mul_overflow(v->ts.ms, per_ms, &units) ||
            __builtin_add_overflow(units, v->ts.nanos / pml_layout__unit_nanos(t), &units))
            return PML_E_LIMIT;
        memcpy(slot, &units, sizeof units);
    } else {
        memcpy(slot, &v->i, pml_layout__width(t)); /* little-endian: the low bytes */
    }
    return PML_OK;
}
