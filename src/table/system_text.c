/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the texts of system tables. */
#include <stdlib.h>
#include <string.h>

#include "columnar/java_text.h"
#include "meta/partition.h"
#include "table/system.h"

int pml_system__row_text(pml_buf *out, const pml_field *fields, const int32_t *columns, const pml_value *values,
                         size_t n, pml_error *err)
{
    (void)pml_buf__append_byte(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            (void)pml_buf__append_str(out, ", ");
        if (values[i].kind == PML_VALUE_NULL)
            (void)pml_buf__append_str(out, "null");
        else
            PML_RETURN_IF(pml_java_text__cast(out, &fields[columns[i]].type, &values[i], err));
    }
    return pml_buf__append_byte(out, '}') == PML_OK ? PML_OK : pml_buf__check(out, err);
}

int pml_system__value_text(pml_buf *out, const pml_type *type, const pml_value *v, pml_error *err)
{
    size_t len = out->len;
    if (v->kind == PML_VALUE_NULL)
        return pml_buf__append_str(out, "null") == PML_OK ? PML_OK : pml_buf__check(out, err);
    if (pml_java_text__to_string(out, type, v, NULL) == PML_OK)
        return PML_OK;
    PML_RETURN_IF(pml_buf__check(out, err));
    out->len = len;
    return pml_value__print(out, type, v) == PML_OK ? PML_OK : pml_buf__check(out, err);
}

int pml_system__partition_text(pml_buf *out, const pml_table_schema *s, pml_bytes partition, pml_error *err)
{
    pml_value values[PML_PARTITION_KEYS_MAX];
    PML_RETURN_IF(pml_partition__decode(values, s, partition, err));
    return pml_system__row_text(out, s->fields, s->partition_index, values, s->n_partition_keys, err);
}

/* The number in front of a counted row. */
static bool is_empty_row(pml_bytes counted)
{
    return counted.len >= 4 && memcmp(counted.ptr, "\0\0\0\0", 4) == 0;
}

int pml_system__key_text(pml_buf *out, bool *is_null, const pml_table_schema *s, pml_bytes key, pml_error *err)
{
    pml_arena arena;
    pml_bytes row;
    int rc;
    *is_null = is_empty_row(key);
    if (*is_null)
        return PML_OK;
    pml_arena__init(&arena, out->env);
    const pml_type **types = pml_arena__array(&arena, s->n_keys, sizeof *types);
    pml_value *values = pml_arena__array(&arena, s->n_keys, sizeof *values);
    if (types == NULL || values == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < s->n_keys; i++)
        types[i] = &s->fields[s->key_index[i]].type;
    PML_TRY(pml_binary_row__uncount(&row, key, s->n_keys, err));
    PML_TRY(pml_binary_row__read(values, types, s->n_keys, row, err));
    for (size_t i = 0; i < s->n_keys; i++) {
        (void)pml_buf__append_str(out, i == 0 ? "[" : ", ");
        PML_TRY(pml_system__value_text(out, types[i], &values[i], err));
    }
    (void)pml_buf__append_byte(out, ']');
    rc = pml_buf__check(out, err);
out:
    pml_arena__clear(&arena);
    return rc;
}

typedef struct slot {
    uint32_t number;
    size_t option;
} slot;

static int compare_slots(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->option < y->option ? -1 : x->option > y->option;
}

/* Java's String.hashCode of a UTF-8 text, spread as HashMap does it. */
static uint32_t java_hash(const char *text)
{
    uint32_t h = 0;
    for (const uint8_t *p = (const uint8_t *)text; *p != 0;) {
        int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        uint32_t c = more == 0 ? *p : *p & (0x3fu >> more);
        for (p++; more > 0 && *p != 0; more--)
            c = c << 6 | (*p++ & 0x3f);
        if (c >= 0x10000) { /* two units of UTF-16 */
            h = h * 31 + (0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        h = h * 31 + c;
    }
    return h ^ h >> 16;
}

int pml_system__options_in_order(const pml_option **out, pml_arena *arena, const pml_table_schema *s, pml_error *err)
{
    uint32_t slots = 16;
    pml_option *sorted = pml_arena__array(arena, s->n_options, sizeof *sorted);
    slot *at = pml_arena__array(arena, s->n_options, sizeof *at);
    *out = sorted;
    if (sorted == NULL || at == NULL)
        return pml_error__no_memory(err);
    while (s->n_options > slots / 4 * 3)
        slots *= 2;
    for (size_t i = 0; i < s->n_options; i++)
        at[i] = (slot){java_hash(s->options[i].key) & (slots - 1), i};
    if (s->n_options > 1)
        qsort(at, s->n_options, sizeof *at, compare_slots);
    for (size_t i = 0; i < s->n_options; i++)
        sorted[i] = s->options[at[i].option];
    return PML_OK;
}

void pml_system__flat_json(pml_buf *out, const pml_buf *pretty)
{
    bool in_string = false, escaped = false;
    for (size_t i = 0; i < pretty->len; i++) {
        uint8_t c = pretty->data[i];
        if (in_string || (c != ' ' && c != '\n'))
            (void)pml_buf__append_byte(out, c);
        if (!escaped && c == '"')
            in_string = !in_string;
        escaped = in_string && !escaped && c == '\\';
    }
    if (pretty->rc != PML_OK)
        out->rc = pretty->rc;
}
