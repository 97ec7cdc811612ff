/* SPDX-License-Identifier: Apache-2.0 */
#include "table/rows_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/map.h"

/* The builder fails only for memory and for its own limits. */
static int builder_result(int rc, const char *name, pml_error *err)
{
    if (rc == PML_OK)
        return PML_OK;
    if (rc == PML_E_NOMEM)
        return pml_error__no_memory(err);
    if (rc == PML_E_LIMIT)
        return pml_error__set(err, rc, "column \"%s\": the values of one batch pass 2 GiB: use smaller batches", name);
    return pml_error__set(err, rc, "column \"%s\": the value does not fit the column", name);
}

static const char *json_kind(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: break;
    }
    return "null";
}

static int value_wrong(const char *name, const json_t *v, const char *wanted, pml_error *err)
{
    return pml_error__set(err, PML_E_INVAL, "column \"%s\" wants %s, the row has %s", name, wanted, json_kind(v));
}

static int value_int(pml_value *out, const pml_type *t, const char *name, const json_t *v, pml_error *err)
{
    int64_t i, low = INT64_MIN, high = INT64_MAX;
    if (json_is_integer(v))
        i = json_integer_value(v);
    else if (json_is_real(v) && json_real_value(v) == 0.0 && signbit(json_real_value(v)))
        i = 0; /* -0, see rows_json.c */
    else
        return value_wrong(name, v, "an integer", err);
    if (t->kind == PML_TYPE_TINYINT) {
        low = INT8_MIN;
        high = INT8_MAX;
    } else if (t->kind == PML_TYPE_SMALLINT) {
        low = INT16_MIN;
        high = INT16_MAX;
    } else if (t->kind == PML_TYPE_INT) {
        low = INT32_MIN;
        high = INT32_MAX;
    }
    if (i < low || i > high)
        return pml_error__set(err, PML_E_INVAL, "column \"%s\": %lld is outside of its type's range", name,
                              (long long)i);
    out->kind = PML_VALUE_INT;
    out->i = i;
    return PML_OK;
}

static int value_real(pml_value *out, const pml_type *t, const char *name, const json_t *v, pml_error *err)
{
    double d;
    if (json_is_real(v)) {
        d = json_real_value(v);
    } else if (json_is_integer(v)) {
        d = (double)json_integer_value(v);
    } else if (json_is_string(v)) {
        const char *s = json_string_value(v);
        if (strcmp(s, "NaN") == 0)
            d = (double)NAN;
        else if (strcmp(s, "Infinity") == 0)
            d = (double)INFINITY;
        else if (strcmp(s, "-Infinity") == 0)
            d = (double)-INFINITY;
        else
            return value_wrong(name, v, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"", err);
    } else {
        return value_wrong(name, v, "a number", err);
    }
    out->kind = t->kind == PML_TYPE_FLOAT ? PML_VALUE_FLOAT : PML_VALUE_DOUBLE;
    /* Nine digits name a float even after the rounding to double, so the second rounding gives it back. */
    if (t->kind == PML_TYPE_FLOAT)
        out->f = (float)d;
    else
        out->d = d;
    if (t->kind == PML_TYPE_FLOAT && isinf(out->f) && !isinf(d))
        return pml_error__set(err, PML_E_INVAL, "column \"%s\": %.9g is outside of the range of FLOAT", name, d);
    return PML_OK;
}

/* Everything whose canonical form is a string. */
static int value_text(pml_value *out, pml_arena *arena, const pml_type *t, const char *name, const json_t *v,
                      pml_error *err)
{
    char digits[32];
    const char *text = digits;
    size_t len;
    if (json_is_string(v)) {
        text = json_string_value(v);
        len = json_string_length(v);
    } else if (json_is_integer(v) && t->kind == PML_TYPE_DECIMAL) {
        len = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(v));
    } else if (json_is_real(v) && t->kind == PML_TYPE_DECIMAL) {
        return value_wrong(name, v, "a decimal as a string (\"12.50\"), so that no digit is lost", err);
    } else {
        return value_wrong(name, v, "a string", err);
    }
    if (t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR) {
        out->kind = PML_VALUE_BYTES;
        out->bytes = (pml_bytes){(const uint8_t *)text, len};
        return PML_OK;
    }
    int rc = pml_value__parse(out, arena, t, text, len, err);
    return rc == PML_OK ? PML_OK : pml_error__prefix(err, rc, "column \"%s\"", name);
}

static int check_nanos(const pml_type *t, const char *name, const pml_value *v, pml_error *err)
{
    int64_t ns;
    if (v->kind != PML_VALUE_TIMESTAMP || t->precision <= 6)
        return PML_OK;
    if (!__builtin_mul_overflow(v->ts.ms, (int64_t)1000000, &ns) && !__builtin_add_overflow(ns, v->ts.nanos, &ns))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "column \"%s\": the value lies outside: " PML_ROWS_NANOS_RANGE, name);
}

static int atom_value(pml_value *out, pml_arena *arena, const pml_type *t, const char *name, const json_t *v,
                      pml_error *err)
{
    *out = (pml_value){.kind = PML_VALUE_NULL};
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
        if (!json_is_boolean(v))
            return value_wrong(name, v, "true or false", err);
        out->kind = PML_VALUE_BOOL;
        out->i = json_is_true(v);
        return PML_OK;
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT: return value_int(out, t, name, v, err);
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE: return value_real(out, t, name, v, err);
    default: break;
    }
    PML_RETURN_IF(value_text(out, arena, t, name, v, err));
    return check_nanos(t, name, out, err);
}

static int append_atom(pml_builder *b, pml_arena *arena, const pml_type *t, const char *name, const json_t *v,
                       pml_error *err)
{
    pml_value value;
    int rc = atom_value(&value, arena, t, name, v, err);
    return rc != PML_OK ? rc : builder_result(pml_builder__append_value(b, &value), name, err);
}

static int append_elements(pml_builder *b, pml_arena *arena, const pml_type *t, const char *name, json_t *v,
                           pml_error *err)
{
    if (!json_is_array(v))
        return value_wrong(name, v, "an array", err);
    size_t n = json_array_size(v);
    if (t->kind == PML_TYPE_VECTOR && n != (size_t)t->length)
        return pml_error__set(err, PML_E_INVAL, "column \"%s\" wants an array of %d elements, the row has %zu", name,
                              t->length, n);
    pml_builder *child = pml_builder__child(b, 0);
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(pml_rows_value__append(child, arena, &t->children[0].type, name, json_array_get(v, i), err));
    return builder_result(pml_builder__close_item(b), name, err);
}

/* The text that two equal keys have in common: for atoms the canonical one, "1.5" and "1.50" are one DECIMAL. */
static int key_text(pml_buf *out, pml_arena *arena, const pml_type *t, const char *name, const json_t *key,
                    pml_error *err)
{
    pml_value value;
    pml_buf__reset(out);
    if (json_is_null(key))
        return PML_OK;
    if (!pml_type__is_nested(t)) {
        PML_RETURN_IF(atom_value(&value, arena, t, name, key, err));
        (void)pml_buf__append_byte(out, 'v'); /* so that no key has the text of null */
        (void)pml_value__print(out, t, &value);
        return pml_buf__check(out, err);
    }
    char *text = json_dumps(key, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL)
        return pml_error__no_memory(err);
    (void)pml_buf__append_byte(out, 'v');
    (void)pml_buf__append_str(out, text);
    free(text);
    return pml_buf__check(out, err);
}

/* A map has each key once; in an array of pairs it could stand twice. */
static int check_keys(pml_arena *arena, const pml_type *t, const char *name, const json_t *pairs, pml_error *err)
{
    pml_map seen;
    pml_buf text;
    int rc = PML_OK;
    pml_map__init(&seen, arena->env);
    pml_buf__init(&text, arena->env, SIZE_MAX / 2);
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        PML_TRY(key_text(&text, arena, &t->children[0].type, name, json_array_get(json_array_get(pairs, i), 0), err));
        if (pml_map__has(&seen, text.data, text.len)) {
            rc = pml_error__set(err, PML_E_INVAL, "column \"%s\": the key %.*s stands twice in a %s", name,
                                text.len > 41  ? 40
                                : text.len > 0 ? (int)text.len - 1
                                               : 4,
                                text.len > 0 ? (const char *)text.data + 1 : "null",
                                t->kind == PML_TYPE_MAP ? "map" : "multiset");
            goto out;
        }
        if (pml_map__put(&seen, text.data, text.len, arena, NULL) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
    }
out:
    pml_buf__clear(&text);
    pml_map__clear(&seen, NULL);
    return rc;
}

/* MAP and MULTISET: an array of pairs. */
static int append_pairs(pml_builder *b, pml_arena *arena, const pml_type *t, const char *name, json_t *v,
                        pml_error *err)
{
    static const pml_type count_type = {.kind = PML_TYPE_INT};
    const pml_type *second = t->kind == PML_TYPE_MAP ? &t->children[1].type : &count_type;
    if (!json_is_array(v))
        return value_wrong(name, v, "an array of [key,value] pairs", err);
    for (size_t i = 0; i < json_array_size(v); i++) {
        json_t *pair = json_array_get(v, i);
        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return value_wrong(name, pair, "[key,value] pairs in its array", err);
        json_t *key = json_array_get(pair, 0);
        if (json_is_null(key) && t->kind == PML_TYPE_MAP)
            return pml_error__set(err, PML_E_INVAL, "column \"%s\": a key of a map is null", name);
        PML_RETURN_IF(pml_rows_value__append(pml_builder__child(b, 0), arena, &t->children[0].type, name, key, err));
        PML_RETURN_IF(
            pml_rows_value__append(pml_builder__child(b, 1), arena, second, name, json_array_get(pair, 1), err));
    }
    if (json_array_size(v) > 1)
        PML_RETURN_IF(check_keys(arena, t, name, v, err));
    return builder_result(pml_builder__close_item(b), name, err);
}

int pml_rows_value__append(pml_builder *b, pml_arena *arena, const pml_type *t, const char *name, json_t *v,
                           pml_error *err)
{
    if (v == NULL || json_is_null(v)) {
        if (!t->nullable)
            return pml_error__set(err, PML_E_INVAL, "column \"%s\" is NOT NULL, the row has %s", name,
                                  v == NULL ? "no value for it" : "null");
        return builder_result(pml_builder__append_null(b), name, err);
    }
    switch (t->kind) {
    case PML_TYPE_ARRAY:
    case PML_TYPE_VECTOR: return append_elements(b, arena, t, name, v, err);
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: return append_pairs(b, arena, t, name, v, err);
    case PML_TYPE_ROW:
        if (!json_is_object(v))
            return value_wrong(name, v, "an object", err);
        return pml_rows_value__append_row(b, arena, t->children, t->n_children, v, false, err);
    case PML_TYPE_VARIANT:
        return pml_error__set(err, PML_E_UNSUPPORTED,
                              "column \"%s\": reading rows needs type:variant, which this version lacks", name);
    default: return append_atom(b, arena, t, name, v, err);
    }
}

/* Some key of the object is not a field: name it. */
static int row_unknown_key(const pml_field *fields, size_t n, json_t *object, bool skip_kind, pml_error *err)
{
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        size_t i = 0;
        while (i < n && strcmp(fields[i].name, key) != 0)
            i++;
        if (i == n && !(skip_kind && strcmp(key, "_kind") == 0))
            return pml_error__set(err, PML_E_INVAL, "there is no column \"%.100s\"", key);
    }
    return pml_error__set(err, PML_E_INTERNAL, "a row has more keys than columns");
}

int pml_rows_value__append_row(pml_builder *b, pml_arena *arena, const pml_field *fields, size_t n, json_t *object,
                               bool skip_kind, pml_error *err)
{
    size_t known = 0;
    bool kind_is_column = false;
    for (size_t i = 0; i < n; i++) {
        json_t *v = json_object_get(object, fields[i].name);
        known += v != NULL;
        kind_is_column = kind_is_column || strcmp(fields[i].name, "_kind") == 0;
        PML_RETURN_IF(pml_rows_value__append(pml_builder__child(b, i), arena, &fields[i].type, fields[i].name, v, err));
    }
    if (skip_kind && !kind_is_column && json_object_get(object, "_kind") != NULL)
        known++;
    if (known != json_object_size(object))
        return row_unknown_key(fields, n, object, skip_kind, err);
    return builder_result(pml_builder__close_item(b), "", err);
}
