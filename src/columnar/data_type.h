/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logical types of the table format (Java: org.apache.paimon.types.DataType and its subclasses) and their Arrow form.
 *
 * A type tree lives in the arena of whoever made it (a table schema, usually) and is immutable afterwards; nobody frees one.
 *
 * Arrow form, used for everything that enters or leaves the library (format strings of the Arrow C data interface):
 *
 *   BOOLEAN b · TINYINT c · SMALLINT s · INT i · BIGINT l · FLOAT f · DOUBLE g · DECIMAL d:p,s (128 bit)
 *   CHAR, VARCHAR (STRING) u · BINARY, VARBINARY (BYTES), BLOB z · DATE tdD · TIME ttm
 *   TIMESTAMP(p) tsm: (p <= 3) tsu: (p <= 6) tsn: (p > 6) · TIMESTAMP_LTZ(p) the same with UTC, e.g. tsu:UTC
 *   ARRAY +l (child "element") · MAP +m (entries "key_value" of "key", "value") · MULTISET +m with an int32 value, not null
 *   VECTOR(n) +w:n (child "element") · ROW +s · VARIANT +s of "value" z, "metadata" z (both not null)
 *
 * Every exported field carries metadata "paimon.id" (decimal field id) and "paimon.type" (the type text, for constructed
 * types their outermost word), and "PARQUET:field_id" with the same id.
 */
#ifndef PML_COLUMNAR_DATA_TYPE_H
#define PML_COLUMNAR_DATA_TYPE_H

#include <paimonlive/arrow_c.h>

#include "util/arena.h"
#include "util/buf.h"

typedef enum pml_type_kind {
    PML_TYPE_BOOLEAN = 1,
    PML_TYPE_TINYINT,
    PML_TYPE_SMALLINT,
    PML_TYPE_INT,
    PML_TYPE_BIGINT,
    PML_TYPE_FLOAT,
    PML_TYPE_DOUBLE,
    PML_TYPE_CHAR,
    PML_TYPE_VARCHAR,
    PML_TYPE_BINARY,
    PML_TYPE_VARBINARY,
    PML_TYPE_DECIMAL,
    PML_TYPE_DATE,
    PML_TYPE_TIME,
    PML_TYPE_TIMESTAMP,
    PML_TYPE_TIMESTAMP_LTZ,
    PML_TYPE_ARRAY,
    PML_TYPE_MULTISET,
    PML_TYPE_MAP,
    PML_TYPE_ROW,
    PML_TYPE_VECTOR,
    PML_TYPE_VARIANT,
    PML_TYPE_BLOB
} pml_type_kind;

struct pml_field;

typedef struct pml_type {
    pml_type_kind kind;
    bool nullable;
    int32_t length;    /* CHAR, VARCHAR, BINARY, VARBINARY (INT32_MAX: STRING, BYTES); VECTOR: element count */
    int32_t precision; /* DECIMAL, TIME, TIMESTAMP, TIMESTAMP_LTZ */
    int32_t scale;     /* DECIMAL */
    /* ROW: its fields. ARRAY, MULTISET, VECTOR: one, named "element". MAP: two, "key" and "value". The ids of the children
       of containers are unset (-1): the format derives them from the column's id (pml_type__element_id). */
    size_t n_children;
    struct pml_field *children;
} pml_type;

typedef struct pml_field {
    int32_t id;
    const char *name;
    pml_type type;
    const char *description;   /* NULL: none */
    const char *default_value; /* NULL: none; a SQL literal as text */
} pml_field;

enum {
    PML_TYPE_DEPTH_MAX = 32,       /* nesting of constructed types that we accept */
    PML_TYPE_COLUMNS_MAX = 16384,  /* columns of one row type */
    PML_ID_KEY_BASE = 1073741823,  /* _KEY_<c> has this plus the id of c */
    PML_ID_SEQUENCE = 2147483646,
    PML_ID_VALUE_KIND = 2147483645,
    PML_ID_LEVEL = 2147483644,
    PML_ID_ROWKIND = 2147483643,
    PML_ID_ROW_ID = 2147483642,
    PML_ID_REALTIME_OFFSET = 2147473645
};

/* Ids of container children inside files (Java: SpecialFields.getArrayElementFieldId and relatives): column id (or the id of
   the innermost ROW member around), depth 1 for the first container and one more for each further one. 32-bit wrap as Java. */
int32_t pml_type__element_id(int32_t field_id, int depth);
int32_t pml_type__map_key_id(int32_t field_id, int depth);

/* FLOAT DOUBLE: as keys other ones for those who compare numbers than for those who look at bits (-0.0, NaN). */
static inline bool pml_type__is_float(const pml_type *t)
{
    return t->kind == PML_TYPE_FLOAT || t->kind == PML_TYPE_DOUBLE;
}
bool pml_type__is_nested(const pml_type *t); /* ARRAY MULTISET MAP ROW VECTOR VARIANT */
/* Deep equality; ids, names, descriptions and defaults of ROW members count. ignore_nullable: NOT NULL does not. */
bool pml_type__equal(const pml_type *a, const pml_type *b, bool ignore_nullable);

/* The word a type begins with ("DECIMAL", "ARRAY"; STRING and BYTES are VARCHAR and VARBINARY). Static. */
const char *pml_type__word(pml_type_kind kind);
/* Canonical text of an atomic type ("DECIMAL(10, 2) NOT NULL"), or the SQL form of a constructed one ("ARRAY<INT>"). */
int pml_type__print(pml_buf *out, const pml_type *t);
/* Parses both forms, with the tolerance of Java's DataTypeJsonParser/LogicalTypeParser. ROW members get ids from *next_id
   (depth-first, a field before its children) when next_id is not NULL, else -1. PML_E_INVAL with the position on failure;
   PML_E_UNSUPPORTED for types of newer versions; PML_E_LIMIT. */
int pml_type__parse(pml_type *out, pml_arena *arena, const char *text, size_t len, int32_t *next_id, pml_error *err);
int pml_type__copy(pml_type *out, pml_arena *arena, const pml_type *t);
/* What Java's constructors demand: lengths, precision, scale, the element of a VECTOR, distinct member names of a ROW.
   PML_E_INVAL. The parser calls it for each type; who builds types by hand calls it too. Looks at one level only. */
int pml_type__validate(const pml_type *t, pml_env *env, pml_error *err);

/* The Arrow schema of a row type: a struct whose children are the fields. Returns owned (release). n may be 0. */
int pml_type__export(struct ArrowSchema *out, pml_env *env, const pml_field *fields, size_t n, pml_error *err);
/* Compares an incoming Arrow schema (a struct) with the expected fields: names, order, Arrow formats; nullability is not
   compared (data is checked instead). PML_E_SCHEMA names the first difference. Metadata is ignored. */
int pml_type__check_arrow(const struct ArrowSchema *schema, const pml_field *fields, size_t n, pml_error *err);
/* The same for one column as a file has it: a timestamp's zone is a label there that its form may not keep (INT96 has none), a VECTOR a
   list, a VARIANT perhaps shredded (format/variant_shred.h). */
int pml_type__check_arrow_stored(const struct ArrowSchema *column, const pml_field *field, pml_error *err);
/* The Arrow format string of a type, e.g. "d:10,2", into text[48]. */
void pml_type__arrow_format(char text[48], const pml_type *t);

#endif
