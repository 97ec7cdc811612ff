/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge_options.h"

#include <stdio.h>

#include "util/number.h"

const char *pml_merge_options__get(const pml_merge_options *o, const char *key)
{
    for (size_t i = o->n_overrides; i > 0; i--)
        if (strcmp(o->overrides[i - 1].key, key) == 0)
            return o->overrides[i - 1].value;
    return pml_table_schema__option(o->schema, key);
}

static bool is_field_key(const char *key, const char *field, const char *suffix)
{
    size_t n = strlen(field);
    return strncmp(key, "fields.", 7) == 0 && strncmp(key + 7, field, n) == 0 && key[7 + n] == '.' &&
           strcmp(key + 8 + n, suffix) == 0;
}

const char *pml_merge_options__field(const pml_merge_options *o, const char *field, const char *suffix)
{
    pml_option option;
    for (size_t i = 0; pml_merge_options__next(o, &i, &option);)
        if (is_field_key(option.key, field, suffix))
            return option.value;
    return NULL;
}

static bool overridden(const pml_merge_options *o, const char *key, size_t from)
{
    for (size_t i = from; i < o->n_overrides; i++)
        if (strcmp(o->overrides[i].key, key) == 0)
            return true;
    return false;
}

bool pml_merge_options__next(const pml_merge_options *o, size_t *i, pml_option *out)
{
    size_t n = o->schema->n_options;
    for (; *i < n + o->n_overrides; (*i)++) {
        const pml_option *option = *i < n ? &o->schema->options[*i] : &o->overrides[*i - n];
        if (overridden(o, option->key, *i < n ? 0 : *i - n + 1))
            continue;
        *out = *option;
        (*i)++;
        return true;
    }
    return false;
}

static int parse_bool(bool *out, const char *value, const char *prefix, const char *field, const char *suffix,
                      pml_error *err)
{
    *out = false;
    if (value == NULL || pml_number__bool(out, value, strlen(value)))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "option %s%s%s has the value \"%s\", which is neither true nor false",
                          prefix, field, suffix, value);
}

int pml_merge_options__bool(bool *out, const pml_merge_options *o, const char *key, pml_error *err)
{
    return parse_bool(out, pml_merge_options__get(o, key), "", key, "", err);
}

int pml_merge_options__field_bool(bool *out, const pml_merge_options *o, const char *field, const char *suffix,
                                  pml_error *err)
{
    char tail[64];
    snprintf(tail, sizeof tail, ".%s", suffix);
    return parse_bool(out, pml_merge_options__field(o, field, suffix), "fields.", field, tail, err);
}

int pml_merge_options__field_int(int32_t *out, const pml_merge_options *o, const char *field, const char *suffix,
                                 int32_t otherwise, pml_error *err)
{
    const char *value = pml_merge_options__field(o, field, suffix);
    int64_t v = otherwise;
    *out = otherwise;
    if (value != NULL && (!pml_number__int64(&v, value, strlen(value)) || v < INT32_MIN || v > INT32_MAX))
        return pml_error__set(err, PML_E_INVAL,
                              "option fields.%s.%s has the value \"%s\", which is no whole number of 32 bits", field,
                              suffix, value);
    *out = (int32_t)v;
    return PML_OK;
}

bool pml_merge_options__piece(const char **at, pml_bytes *piece)
{
    if (*at == NULL)
        return false;
    const char *comma = strchr(*at, ',');
    size_t n = comma != NULL ? (size_t)(comma - *at) : strlen(*at);
    *piece = (pml_bytes){(const uint8_t *)*at, n};
    *at = comma != NULL ? comma + 1 : NULL;
    if (*at != NULL && (*at)[strspn(*at, ",")] == '\0')
        *at = NULL;
    return true;
}

pml_bytes pml_merge_options__trim(pml_bytes piece)
{
    while (piece.len > 0 && piece.ptr[0] <= ' ') {
        piece.ptr++;
        piece.len--;
    }
    while (piece.len > 0 && piece.ptr[piece.len - 1] <= ' ')
        piece.len--;
    return piece;
}

int pml_merge_options__ignore_delete(bool *out, const pml_merge_options *o, pml_error *err)
{
    static const char *const names[] = {"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete",
                                        "partial-update.ignore-delete"};
    *out = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pml_merge_options__get(o, names[i]) != NULL)
            return pml_merge_options__bool(out, o, names[i], err);
    return PML_OK;
}

int pml_merge_options__sequence_columns(int32_t *columns, size_t *n, const pml_merge_options *o, const char *where, pml_error *err)
{
    const char *text = pml_merge_options__get(o, "sequence.field"), *at = text;
    *n = 0;
    for (pml_bytes name; pml_merge_options__piece(&at, &name);) {
        name = pml_merge_options__trim(name);
        int32_t column = pml_table_schema__find(o->schema, (const char *)name.ptr, name.len);
        if (column < 0 || *n == o->schema->n_fields)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, where, "option sequence.field of %.200s is '%.200s': %s", where, text,
                                 column < 0 ? "one of the columns does not exist" : "columns are named twice");
        columns[(*n)++] = column;
    }
    return PML_OK;
}
