/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java writes TIMESTAMP as timestamp-*, TIMESTAMP_LTZ as local-timestamp-*, the other way round than Avro means them, and takes either
 * name for either type. Only the unit counts, and it may be another than the column's.
 */
#include "format/avro_leaf.h"

#include <string.h>

#include "columnar/array_memory.h"

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Nanoseconds of a unit of the timestamps with this logical type; 0: it is none. */
static int64_t timestamp_unit(const char *logical)
{
    if (is(logical, "timestamp-millis") || is(logical, "local-timestamp-millis"))
        return 1000000;
    if (is(logical, "timestamp-micros") || is(logical, "local-timestamp-micros"))
        return 1000;
    return is(logical, "timestamp-nanos") || is(logical, "local-timestamp-nanos") ? 1 : 0;
}

static bool timestamp_op(pml_avro_op *op, const pml_type *column, const char *logical)
{
    int64_t from = timestamp_unit(logical), to = pml_layout__unit_nanos(column);
    op->code = from == to ? PML_AVRO_OP_LONG : from > to ? PML_AVRO_OP_TIMES : PML_AVRO_OP_DIVIDED;
    op->n = from == 0 ? 0 : (uint32_t)(from > to ? from / to : to / from);
    return from != 0;
}

static bool decimal_fits(const pml_type *column, const json_t *declared)
{
    const json_t *precision = json_object_get(declared, "precision"), *scale = json_object_get(declared, "scale");
    return json_integer_value(precision) == column->precision && json_integer_value(scale) == column->scale &&
           (scale == NULL || json_is_integer(scale)); /* a scale of 0 may be left out */
}

bool pml_avro__column_op(pml_avro_op *op, const pml_type *column, const char *primitive, const json_t *declared)
{
    const char *given = json_string_value(json_object_get(declared, "logicalType")), *logical = given == NULL ? "" : given;
    switch (column->kind) {
    case PML_TYPE_BOOLEAN: op->code = PML_AVRO_OP_BOOLEAN; return is(primitive, "boolean");
    case PML_TYPE_TINYINT: op->code = PML_AVRO_OP_INT8; return is(primitive, "int");
    case PML_TYPE_SMALLINT: op->code = PML_AVRO_OP_INT16; return is(primitive, "int");
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME: op->code = PML_AVRO_OP_INT; return is(primitive, "int");
    case PML_TYPE_BIGINT:
        op->code = PML_AVRO_OP_LONG;
        return is(primitive, "long") && timestamp_unit(logical) == 0 && !is(logical, "time-micros");
    case PML_TYPE_FLOAT: op->code = PML_AVRO_OP_FLOAT; return is(primitive, "float");
    case PML_TYPE_DOUBLE: op->code = PML_AVRO_OP_DOUBLE; return is(primitive, "double");
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: op->code = PML_AVRO_OP_BYTES; return is(primitive, "string");
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: op->code = PML_AVRO_OP_BYTES; return is(primitive, "bytes") && !is(logical, "decimal");
    case PML_TYPE_DECIMAL:
        op->code = PML_AVRO_OP_DECIMAL;
        return is(primitive, "bytes") && is(logical, "decimal") && decimal_fits(column, declared);
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return is(primitive, "long") && timestamp_op(op, column, logical);
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: break;
    }
    return false;
}
