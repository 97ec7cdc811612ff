/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/row_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/value.h"
#include "columnar/variant.h"

bool pml_row_text__is_null(const struct ArrowArray *array, int64_t row)
{
    if (array->null_count == 0 || array->n_buffers < 1 || array->buffers[0] == NULL)
        return false;
    return !pml_bit_get(array->buffers[0], array->offset + row);
}

int pml_row_text__append_string(pml_buf *out, const void *text, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    const uint8_t *p = text;
    size_t plain = 0; /* start of the bytes that need no escape and are not yet copied */
    pml_buf__append_byte(out, '"');
    for (size_t i = 0; i < len; i++) {
        uint8_t c = p[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        pml_buf__append(out, p + plain, i - plain);
        plain = i + 1;
        if (c >= 0x20) {
            pml_buf__append_byte(out, '\\');
            pml_buf__append_byte(out, c);
        } else {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            pml_buf__append(out, escape, sizeof escape);
        }
    }
    if (len > plain)
        pml_buf__append(out, p + plain, len - plain);
    return pml_buf__append_byte(out, '"');
}

/* Printing integers is most of the work of most tables, so it does not go through printf. */
static int append_int(pml_buf *out, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (v < 0)
        digits[--at] = '-';
    return pml_buf__append(out, digits + at, sizeof digits - at);
}

/* 1: the text of the value stands bare in JSON. */
static bool value_is_bare(const pml_value *v)
{
    if (v->kind == PML_VALUE_FLOAT)
        return isfinite(v->f);
    if (v->kind == PML_VALUE_DOUBLE)
        return isfinite(v->d);
    return true;
}

static int append_atom(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row)
{
    pml_value v;
    bool quoted;
    pml_value__get(&v, t, array, row);
    switch (t->kind) {
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT: return append_int(out, v.i);
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: return pml_row_text__append_string(out, v.bytes.ptr, v.bytes.len);
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE: quoted = !value_is_bare(&v); break;
    default:
        quoted = true; /* dates, times, decimals, hex */
        break;
    }
    if (quoted)
        pml_buf__append_byte(out, '"');
    pml_value__print(out, t, &v);
    if (quoted)
        pml_buf__append_byte(out, '"');
    return out->rc;
}

static int append_elements(pml_buf *out, const pml_type *t, const struct ArrowArray *child, int64_t begin, int64_t end)
{
    pml_buf__append_byte(out, '[');
    for (int64_t i = begin; i < end && out->rc == PML_OK; i++) {
        if (i > begin)
            pml_buf__append_byte(out, ',');
        pml_row_text__append(out, t, child, i);
    }
    return pml_buf__append_byte(out, ']');
}

static int span_compare(const void *a, const void *b)
{
    return pml_bytes_compare(*(const pml_bytes *)a, *(const pml_bytes *)b);
}

/* The entries stand behind each other in out from `start`; starts[i] is where entry i begins. Puts them in byte order with
   commas between. */
static int sort_entries(pml_buf *out, size_t start, const size_t *starts, size_t n)
{
    size_t len = out->len - start;
    int rc = PML_OK;
    uint8_t *copy = pml_env__alloc(out->env, len);
    pml_bytes *spans = pml_env__calloc(out->env, n, sizeof *spans);
    if (copy == NULL || spans == NULL) {
        rc = out->rc = PML_E_NOMEM;
        goto out;
    }
    memcpy(copy, out->data + start, len);
    for (size_t i = 0; i < n; i++) {
        size_t end = i + 1 < n ? starts[i + 1] : start + len;
        spans[i] = (pml_bytes){copy + (starts[i] - start), end - starts[i]};
    }
    qsort(spans, n, sizeof *spans, span_compare);
    out->len = start;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            pml_buf__append_byte(out, ',');
        rc = pml_buf__append(out, spans[i].ptr, spans[i].len);
    }
out:
    pml_env__free(out->env, spans);
    pml_env__free(out->env, copy);
    return rc;
}

/* MAP and MULTISET: [key,value] pairs in the byte order of their text, because neither has an order of its own. */
static int append_map(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t begin, int64_t end)
{
    static const pml_type count_type = {.kind = PML_TYPE_INT};
    const struct ArrowArray *entries = array->children[0];
    const pml_type *value_type = t->kind == PML_TYPE_MAP ? &t->children[1].type : &count_type;
    size_t n = end > begin ? (size_t)(end - begin) : 0, start;
    size_t *starts = pml_env__calloc(out->env, n, sizeof *starts);
    if (starts == NULL)
        return out->rc = PML_E_NOMEM;
    pml_buf__append_byte(out, '[');
    start = out->len;
    for (size_t i = 0; i < n && out->rc == PML_OK; i++) {
        int64_t at = entries->offset + begin + (int64_t)i;
        starts[i] = out->len;
        pml_buf__append_byte(out, '[');
        pml_row_text__append(out, &t->children[0].type, entries->children[0], at);
        pml_buf__append_byte(out, ',');
        pml_row_text__append(out, value_type, entries->children[1], at);
        pml_buf__append_byte(out, ']');
    }
    if (n > 1 && out->rc == PML_OK)
        sort_entries(out, start, starts, n);
    pml_env__free(out->env, starts);
    return pml_buf__append_byte(out, ']');
}

static int append_row(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row)
{
    pml_buf__append_byte(out, '{');
    for (size_t i = 0; i < t->n_children && out->rc == PML_OK; i++) {
        const pml_field *f = &t->children[i];
        if (i > 0)
            pml_buf__append_byte(out, ',');
        pml_row_text__append_string(out, f->name, strlen(f->name));
        pml_buf__append_byte(out, ':');
        pml_row_text__append(out, &f->type, array->children[i], array->offset + row);
    }
    return pml_buf__append_byte(out, '}');
}

static pml_bytes bytes_at(const struct ArrowArray *array, int64_t row)
{
    static const pml_type bytes = {.kind = PML_TYPE_VARBINARY};
    pml_value v;
    pml_value__get(&v, &bytes, array, row);
    return v.kind == PML_VALUE_NULL ? (pml_bytes){NULL, 0} : v.bytes;
}

int pml_row_text__append_variant(pml_buf *out, const struct ArrowArray *array, int64_t row)
{
    pml_bytes value = bytes_at(array->children[0], array->offset + row), metadata = bytes_at(array->children[1], array->offset + row);
    int rc = out->rc == PML_OK ? pml_variant__print(out, value, metadata, NULL) : out->rc;
    if (out->rc == PML_OK)
        out->rc = rc; /* its bytes are malformed */
    return out->rc;
}

/* The JSON of a variant is a text in the JSON of the row. */
static int append_variant(pml_buf *out, const struct ArrowArray *array, int64_t row)
{
    pml_buf text;
    pml_buf__init(&text, out->env, out->max);
    int rc = pml_row_text__append_variant(&text, array, row);
    if (rc == PML_OK)
        rc = pml_row_text__append_string(out, text.data, text.len);
    if (out->rc == PML_OK)
        out->rc = rc;
    pml_buf__clear(&text);
    return out->rc;
}

int pml_row_text__append(pml_buf *out, const pml_type *t, const struct ArrowArray *array, int64_t row)
{
    int64_t at = array->offset + row;
    const int32_t *offsets;
    if (pml_row_text__is_null(array, row))
        return pml_buf__append(out, "null", 4);
    switch (t->kind) {
    case PML_TYPE_ARRAY:
        offsets = array->buffers[1];
        return append_elements(out, &t->children[0].type, array->children[0], offsets[at], offsets[at + 1]);
    case PML_TYPE_VECTOR:
        return append_elements(out, &t->children[0].type, array->children[0], at * t->length, (at + 1) * t->length);
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: offsets = array->buffers[1]; return append_map(out, t, array, offsets[at], offsets[at + 1]);
    case PML_TYPE_ROW: return append_row(out, t, array, row);
    case PML_TYPE_VARIANT: return append_variant(out, array, row);
    default: return append_atom(out, t, array, row);
    }
}
