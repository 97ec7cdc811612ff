/* SPDX-License-Identifier: Apache-2.0 */
/* Casts to texts and binaries: of single values, and of ARRAY, MAP and ROW with all that is in them. */
#include "columnar/cast_rule.h"

#include "columnar/check.h"
#include "columnar/java_text.h"
#include "util/zone.h"

static bool continues_code_point(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* A text as CHAR(n) or VARCHAR(n) has it: n code points at most, CHAR filled up with blanks. */
static int fit_text(pml_value *out, const pml_type *t, pml_bytes v, pml_buf *text, pml_error *err)
{
    int64_t points = 0;
    size_t end = 0;
    while (end < v.len && (points < t->length || continues_code_point(v.ptr[end])))
        points += !continues_code_point(v.ptr[end++]);
    *out = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {v.ptr, end}};
    if (t->kind != PML_TYPE_CHAR || points >= t->length)
        return PML_OK;
    if (text->len == 0)
        (void)pml_buf__append(text, v.ptr, end);
    uint8_t *blanks = pml_buf__reserve(text, (size_t)(t->length - points));
    if (blanks != NULL) {
        memset(blanks, ' ', (size_t)(t->length - points));
        text->len += (size_t)(t->length - points);
    }
    out->bytes = (pml_bytes){text->data, text->len};
    return pml_buf__check(text, err);
}

static int text_to_text(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    return fit_text(out, c->to, v->bytes, text, err);
}

/* Most whole numbers are short; printf would cost more than all the rest. */
static int append_integer(pml_buf *text, int64_t v)
{
    char digits[24];
    int at = sizeof digits;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest != 0);
    if (v < 0)
        digits[--at] = '-';
    return pml_buf__append(text, digits + at, sizeof digits - (size_t)at);
}

static int value_to_text(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    pml_value local = *v;
    pml_type type = *c->from;
    if (type.kind == PML_TYPE_TIMESTAMP_LTZ) {
        local.ts.ms = pml_zone__local_of_instant(v->ts.ms);
        type.kind = PML_TYPE_TIMESTAMP;
    }
    if (pml_cast__is_integer(&type))
        (void)append_integer(text, v->i);
    else
        PML_RETURN_IF(pml_java_text__cast(text, &type, &local, err));
    PML_RETURN_IF(pml_buf__check(text, err));
    return fit_text(out, c->to, (pml_bytes){text->data, text->len}, text, err);
}

/* Java keeps the bytes and makes a text of them where they are shown; whoever gets our columns expects UTF-8 in them. */
static int bytes_to_text(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    (void)c;
    *out = *v;
    if (pml_check__utf8(v->bytes.ptr, v->bytes.len))
        return PML_OK;
    if (pml_java_text__decode(text, v->bytes) != PML_OK)
        return pml_buf__check(text, err);
    out->bytes = (pml_bytes){text->data, text->len};
    return PML_OK;
}

/* Cut to the length; BINARY also filled up with zeros. */
static int bytes_to_binary(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    size_t length = c->to->length < 0 ? 0 : (size_t)c->to->length;
    *out = *v;
    if (v->bytes.len > length)
        out->bytes.len = length;
    if (c->to->kind != PML_TYPE_BINARY || v->bytes.len >= length)
        return PML_OK;
    (void)pml_buf__append(text, v->bytes.ptr, v->bytes.len);
    (void)pml_buf__append_zeros(text, length - v->bytes.len);
    out->bytes = (pml_bytes){text->data, text->len};
    return pml_buf__check(text, err);
}

pml_cast_rule pml_cast_rule__text(const pml_type *from, const pml_type *to)
{
    bool binary = from->kind == PML_TYPE_BINARY || from->kind == PML_TYPE_VARBINARY;
    if (to->kind == PML_TYPE_BINARY || to->kind == PML_TYPE_VARBINARY)
        return binary || pml_cast__is_text(from) ? bytes_to_binary : NULL;
    if (!pml_cast__is_text(to))
        return NULL;
    if (pml_cast__is_text(from))
        return text_to_text;
    if (binary)
        return bytes_to_text;
    if (pml_cast__is_integer(from) || pml_type__is_float(from) || from->kind == PML_TYPE_DECIMAL || from->kind == PML_TYPE_BOOLEAN)
        return value_to_text;
    /* Java has these for STRING only. */
    bool time = from->kind == PML_TYPE_DATE || from->kind == PML_TYPE_TIME || pml_cast__is_timestamp(from);
    return time && to->kind == PML_TYPE_VARCHAR && to->length == INT32_MAX ? value_to_text : NULL;
}

/* ---- nested ---- */

static int print_value(pml_buf *out, const pml_cast *c, const struct ArrowArray *a, int64_t row, pml_error *err)
{
    pml_value v, printed = {0};
    pml_buf text;
    pml_value__get(&v, c->from, a, row);
    if (c->kind == PML_CAST_SAME)
        return pml_buf__append(out, v.bytes.ptr, v.bytes.len);
    pml_buf__init(&text, out->env, out->max);
    int rc = c->rule(&printed, c, &v, &text, err);
    if (rc == PML_OK)
        rc = pml_buf__append(out, printed.bytes.ptr, printed.bytes.len);
    pml_buf__clear(&text);
    return rc;
}

static int print_member(pml_buf *out, const pml_cast *c, const struct ArrowArray *a, int64_t row, pml_error *err)
{
    if (pml_array__is_null(a, row))
        return pml_buf__append_str(out, "null");
    return c->kind == PML_CAST_TEXT ? pml_cast__print(out, c, a, row, err) : print_value(out, c, a, row, err);
}

static int print_list(pml_buf *out, const pml_cast *c, const struct ArrowArray *a, int64_t row, pml_error *err)
{
    bool map = c->from->kind == PML_TYPE_MAP;
    const struct ArrowArray *below = a->children[0];
    int64_t first = pml_load_i32(a->buffers[1], a->offset + row), end = pml_load_i32(a->buffers[1], a->offset + row + 1);
    (void)pml_buf__append_byte(out, map ? '{' : '[');
    for (int64_t i = first; i < end; i++) {
        if (i > first)
            (void)pml_buf__append_str(out, ", ");
        if (!map) {
            PML_RETURN_IF(print_member(out, &c->members[0], below, i, err));
            continue;
        }
        PML_RETURN_IF(print_member(out, &c->members[0], below->children[0], below->offset + i, err));
        (void)pml_buf__append_str(out, " -> ");
        PML_RETURN_IF(print_member(out, &c->members[1], below->children[1], below->offset + i, err));
    }
    return pml_buf__append_byte(out, map ? '}' : ']');
}

int pml_cast__print(pml_buf *out, const pml_cast *c, const struct ArrowArray *a, int64_t row, pml_error *err)
{
    if (c->from->kind != PML_TYPE_ROW)
        return print_list(out, c, a, row, err);
    (void)pml_buf__append_byte(out, '{');
    for (size_t i = 0; i < c->n_members; i++) {
        if (i > 0)
            (void)pml_buf__append_str(out, ", ");
        PML_RETURN_IF(print_member(out, &c->members[i], a->children[i], a->offset + row, err));
    }
    return pml_buf__append_byte(out, '}');
}
