/* SPDX-License-Identifier: Apache-2.0 */
/* Types to text, and the rules every type must meet (Java: DataType.asSQLString and the constructors of the subclasses). */
#include <string.h>

#include "columnar/data_type.h"
#include "util/map.h"

const char *pml_type__word(pml_type_kind kind)
{
    switch (kind) {
    case PML_TYPE_BOOLEAN: return "BOOLEAN";
    case PML_TYPE_TINYINT: return "TINYINT";
    case PML_TYPE_SMALLINT: return "SMALLINT";
    case PML_TYPE_INT: return "INT";
    case PML_TYPE_BIGINT: return "BIGINT";
    case PML_TYPE_FLOAT: return "FLOAT";
    case PML_TYPE_DOUBLE: return "DOUBLE";
    case PML_TYPE_CHAR: return "CHAR";
    case PML_TYPE_VARCHAR: return "VARCHAR";
    case PML_TYPE_BINARY: return "BINARY";
    case PML_TYPE_VARBINARY: return "VARBINARY";
    case PML_TYPE_DECIMAL: return "DECIMAL";
    case PML_TYPE_DATE: return "DATE";
    case PML_TYPE_TIME: return "TIME";
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return "TIMESTAMP";
    case PML_TYPE_ARRAY: return "ARRAY";
    case PML_TYPE_MULTISET: return "MULTISET";
    case PML_TYPE_MAP: return "MAP";
    case PML_TYPE_ROW: return "ROW";
    case PML_TYPE_VECTOR: return "VECTOR";
    case PML_TYPE_VARIANT: return "VARIANT";
    case PML_TYPE_BLOB: return "BLOB";
    }
    return "?";
}

static void append_quoted(pml_buf *out, char quote, const char *text)
{
    (void)pml_buf__append_byte(out, (uint8_t)quote);
    for (; *text != '\0'; text++) {
        if (*text == quote)
            (void)pml_buf__append_byte(out, (uint8_t)quote);
        (void)pml_buf__append_byte(out, (uint8_t)*text);
    }
    (void)pml_buf__append_byte(out, (uint8_t)quote);
}

static void print_type(pml_buf *out, const pml_type *t);

static void print_members(pml_buf *out, const pml_type *t)
{
    (void)pml_buf__append_str(out, "ROW<");
    for (size_t i = 0; i < t->n_children; i++) {
        const pml_field *f = &t->children[i];
        if (i > 0)
            (void)pml_buf__append_str(out, ", ");
        append_quoted(out, '`', f->name);
        (void)pml_buf__append_byte(out, ' ');
        print_type(out, &f->type);
        if (f->description != NULL && f->description[0] != '\0') {
            (void)pml_buf__append_str(out, " COMMENT ");
            append_quoted(out, '\'', f->description);
        }
        if (f->default_value != NULL)
            (void)pml_buf__append_format(out, " DEFAULT %s", f->default_value);
    }
    (void)pml_buf__append_byte(out, '>');
}

static void print_container(pml_buf *out, const pml_type *t)
{
    (void)pml_buf__append_format(out, "%s<", pml_type__word(t->kind));
    for (size_t i = 0; i < t->n_children; i++) {
        if (i > 0)
            (void)pml_buf__append_str(out, ", ");
        print_type(out, &t->children[i].type);
    }
    if (t->kind == PML_TYPE_VECTOR)
        (void)pml_buf__append_format(out, ", %d", t->length);
    (void)pml_buf__append_byte(out, '>');
}

static void print_word(pml_buf *out, const pml_type *t)
{
    const char *word = pml_type__word(t->kind);
    switch (t->kind) {
    case PML_TYPE_CHAR:
    case PML_TYPE_BINARY: (void)pml_buf__append_format(out, "%s(%d)", word, t->length); return;
    case PML_TYPE_VARCHAR:
    case PML_TYPE_VARBINARY:
        if (t->length == INT32_MAX)
            (void)pml_buf__append_str(out, t->kind == PML_TYPE_VARCHAR ? "STRING" : "BYTES");
        else
            (void)pml_buf__append_format(out, "%s(%d)", word, t->length);
        return;
    case PML_TYPE_DECIMAL: (void)pml_buf__append_format(out, "%s(%d, %d)", word, t->precision, t->scale); return;
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP: (void)pml_buf__append_format(out, "%s(%d)", word, t->precision); return;
    case PML_TYPE_TIMESTAMP_LTZ:
        (void)pml_buf__append_format(out, "%s(%d) WITH LOCAL TIME ZONE", word, t->precision);
        return;
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_VECTOR: print_container(out, t); return;
    case PML_TYPE_ROW: print_members(out, t); return;
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_DATE:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: (void)pml_buf__append_str(out, word); return;
    }
}

static void print_type(pml_buf *out, const pml_type *t)
{
    print_word(out, t);
    if (!t->nullable)
        (void)pml_buf__append_str(out, " NOT NULL");
}

int pml_type__print(pml_buf *out, const pml_type *t)
{
    print_type(out, t); /* the buffer keeps the first error */
    return pml_buf__check(out, NULL);
}

static int validate_range(const pml_type *t, const char *what, int32_t v, int32_t first, int32_t last, pml_error *err)
{
    if (v >= first && v <= last)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "%s of type %s is %d, it must be between %d and %d", what,
                          pml_type__word(t->kind), v, first, last);
}

static int validate_vector(const pml_type *t, pml_error *err)
{
    switch (t->children[0].type.kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE: return validate_range(t, "length", t->length, 1, INT32_MAX, err);
    default:
        return pml_error__set(err, PML_E_INVAL,
                              "the element of a VECTOR is %s, it must be a number of fixed width or BOOLEAN",
                              pml_type__word(t->children[0].type.kind));
    }
}

static int validate_members(const pml_type *t, pml_env *env, pml_error *err)
{
    pml_map names;
    int rc = PML_OK;
    pml_map__init(&names, env);
    for (size_t i = 0; i < t->n_children; i++) {
        const char *name = t->children[i].name;
        void *old;
        if (name[strspn(name, " \t\r\n")] == '\0') {
            rc = pml_error__set(err, PML_E_INVAL, "column %zu of a row has a blank name", i + 1);
            goto out;
        }
        PML_TRY(pml_map__put(&names, name, strlen(name), (void *)(uintptr_t)(i + 1), &old));
        if (old != NULL) {
            rc = pml_error__set(err, PML_E_INVAL, "column name '%s' occurs twice in one row", name);
            goto out;
        }
    }
out:
    if (rc == PML_E_NOMEM)
        (void)pml_error__no_memory(err);
    pml_map__clear(&names, NULL);
    return rc;
}

int pml_type__validate(const pml_type *t, pml_env *env, pml_error *err)
{
    switch (t->kind) {
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY: return validate_range(t, "length", t->length, 1, INT32_MAX, err);
    case PML_TYPE_DECIMAL:
        PML_RETURN_IF(validate_range(t, "precision", t->precision, 1, 38, err));
        return validate_range(t, "scale", t->scale, 0, t->precision, err);
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return validate_range(t, "precision", t->precision, 0, 9, err);
    case PML_TYPE_VECTOR: return validate_vector(t, err);
    case PML_TYPE_ROW: return validate_members(t, env, err);
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_DATE:
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: return PML_OK;
    }
    return PML_OK;
}
