/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/check.h"

#include "columnar/array_memory.h"
#include "columnar/value.h"
#include "columnar/variant.h"

enum { DAY_MS = 86400000, DECIMAL_DIGITS_MAX = 38, COMPACT_DIGITS_MAX = 18 };

/* Length of the well-formed UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF); 0: wrong. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
    size_t n = p[0] < 0x80                    ? 1
               : p[0] >= 0xC2 && p[0] <= 0xDF ? 2
               : (p[0] & 0xF0) == 0xE0        ? 3
               : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                              : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

bool pml_check__utf8(const uint8_t *p, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (len - i >= 8 && (pml_le64(p + i) & 0x8080808080808080u) == 0) {
            i += 8;
            continue;
        }
        size_t n = utf8_sequence(p + i, len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

static bool ascii_only(const uint8_t *p, int64_t len)
{
    uint64_t high = 0, a = 0, b = 0, c = 0, d = 0; /* four chains: one would wait for itself */
    int64_t i = 0;
    for (; i + 32 <= len; i += 32) {
        a |= pml_le64(p + i);
        b |= pml_le64(p + i + 8);
        c |= pml_le64(p + i + 16);
        d |= pml_le64(p + i + 24);
    }
    high = a | b | c | d;
    for (; i + 8 <= len; i += 8)
        high |= pml_le64(p + i);
    for (; i < len; i++)
        high |= p[i];
    return (high & 0x8080808080808080u) == 0;
}

/* All texts at once: the bytes are one valid text, and none of the texts begins inside of a character. */
static bool texts_are_valid(const uint8_t *offsets, const uint8_t *data, int64_t at, int64_t n)
{
    int32_t first = pml_load_i32(offsets, at), last = pml_load_i32(offsets, at + n);
    bool inside = false;
    for (int64_t i = 1; i < n; i++) {
        int32_t from = pml_load_i32(offsets, at + i);
        inside |= from < last && (data[from] & 0xC0) == 0x80;
    }
    return !inside && pml_check__utf8(data + first, (size_t)(last - first));
}

static int check_texts(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const uint8_t *offsets = a->buffers[1], *data = a->buffers[2];
    int32_t first = pml_load_i32(offsets, a->offset + row), last = pml_load_i32(offsets, a->offset + row + n);
    if (first == last || ascii_only(data + first, last - first))
        return PML_OK; /* the usual case, without looking at rows */
    if (texts_are_valid(offsets, data, a->offset + row, n))
        return PML_OK;
    /* To find the row, unless what is wrong lies under a null. */
    for (int64_t i = row; i < row + n; i++) {
        int32_t from = pml_load_i32(offsets, a->offset + i), to = pml_load_i32(offsets, a->offset + i + 1);
        if (from < to && !pml_array__is_null(a, i) && !pml_check__utf8(data + from, (size_t)(to - from)))
            return pml_check__fail(c, i, "the text is not valid UTF-8");
    }
    return PML_OK;
}

static int check_compact_decimals(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n)
{
    for (int64_t i = row; i < row + n; i++) {
        pml_int128 v;
        memcpy(&v, (const uint8_t *)a->buffers[1] + (a->offset + i) * 16, sizeof v);
        if (v != (int64_t)v && !pml_array__is_null(a, i))
            return pml_check__fail(c, i, "the value has more than 64 bits");
    }
    return PML_OK;
}

static int check_decimals(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    pml_int128 limit = 1, v;
    if (c->level == PML_CHECK_STORED && t->precision <= COMPACT_DIGITS_MAX)
        return check_compact_decimals(c, a, row, n);
    for (int i = 0; i < t->precision && i < DECIMAL_DIGITS_MAX; i++)
        limit *= 10;
    for (int64_t i = row; i < row + n; i++) {
        memcpy(&v, (const uint8_t *)a->buffers[1] + (a->offset + i) * 16, sizeof v);
        if ((v >= limit || v <= -limit) && !pml_array__is_null(a, i))
            return pml_check__fail(c, i, "the value has more than %d digits", t->precision);
    }
    return PML_OK;
}

static int check_times(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n)
{
    for (int64_t i = row; i < row + n; i++) {
        int32_t v = pml_load_i32(a->buffers[1], a->offset + i);
        if ((v < 0 || v >= DAY_MS) && !pml_array__is_null(a, i))
            return pml_check__fail(c, i, "%d is no millisecond of a day", v);
    }
    return PML_OK;
}

static int check_atomic(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    if (c->level < PML_CHECK_FULL)
        return PML_OK;
    if (t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR)
        return check_texts(c, a, row, n);
    if (t->kind == PML_TYPE_DECIMAL)
        return check_decimals(c, t, a, row, n);
    return t->kind == PML_TYPE_TIME ? check_times(c, a, row, n) : PML_OK;
}

static int check_not_null(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n, const char *why)
{
    const uint8_t *bits = pml_array__validity(a);
    if (bits == NULL || pml_bits__count(bits, a->offset + row, n) == n)
        return PML_OK;
    for (int64_t i = row; i < row + n; i++)
        if (!pml_bit_get(bits, a->offset + i))
            return pml_check__fail(c, i, "%s", why);
    return PML_OK;
}

/* Rows [row, row + n), none of them null. */
static int check_variants(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n)
{
    static const pml_type bytes = {.kind = PML_TYPE_VARBINARY};
    pml_error why = PML_ERROR_INIT;
    pml_value value, metadata;
    for (int64_t i = row; i < row + n && c->level >= PML_CHECK_FULL; i++) {
        pml_value__get(&value, &bytes, a->children[0], a->offset + i);
        pml_value__get(&metadata, &bytes, a->children[1], a->offset + i);
        if (pml_variant__check(value.bytes, metadata.bytes, &why) != PML_OK)
            return pml_check__fail(c, i, "%.150s", why.message);
    }
    return PML_OK;
}

static bool has_checked_values(pml_type_kind kind)
{
    return kind == PML_TYPE_CHAR || kind == PML_TYPE_VARCHAR || kind == PML_TYPE_DECIMAL || kind == PML_TYPE_TIME;
}

/* Whether values of a column can be wrong in a way that is looked for: those of most columns cannot. */
static inline bool has_to_look(const pml_check *c, const pml_type *t, const struct ArrowArray *a)
{
    return (c->level >= PML_CHECK_FULL && has_checked_values(t->kind)) || (!t->nullable && pml_array__validity(a) != NULL) ||
           pml_layout__of(t) > PML_LAYOUT_TEXT;
}

static int values_of_children(pml_check *c, const pml_type *t, const struct ArrowArray *parent, int64_t row, int64_t n)
{
    int rc = PML_OK;
    for (size_t i = 0, kids = pml_layout__children(t); i < kids; i++) {
        const pml_type *child = pml_layout__child(t, i);
        bool is_key = i == 0 && pml_layout__of(t) == PML_LAYOUT_MAP;
        if (!is_key && !has_to_look(c, child, parent->children[i]))
            continue;
        (void)pml_check__enter(c, pml_layout__child_name(t, i)); /* the depth was tested by the first pass */
        if (is_key)
            PML_TRY(check_not_null(c, parent->children[i], row, n, "a map key is null"));
        PML_TRY(pml_check__values(c, child, parent->children[i], row, n));
        pml_check__leave(c);
    }
out:
    return rc;
}

/* What lies below rows [row, row + n), all of them valid. */
static int values_below(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    int rc = PML_OK;
    int64_t at = a->offset + row;
    pml_layout layout = pml_layout__of(t);
    if (layout == PML_LAYOUT_STRUCT) {
        rc = values_of_children(c, t, a, at, n);
        c->row -= rc != PML_OK ? a->offset : 0;
        if (rc == PML_OK && t->kind == PML_TYPE_VARIANT)
            rc = check_variants(c, a, row, n); /* whose members are not null by now */
    } else if (layout == PML_LAYOUT_FIXED_LIST) {
        rc = values_of_children(c, t, a, at * t->length, n * t->length);
        c->row = rc != PML_OK ? c->row / t->length - a->offset : c->row;
    } else {
        int64_t first = pml_load_i32(a->buffers[1], at), count = pml_load_i32(a->buffers[1], at + n) - first;
        const struct ArrowArray *entries = layout == PML_LAYOUT_MAP ? a->children[0] : a;
        int64_t shift = layout == PML_LAYOUT_MAP ? entries->offset : 0;
        rc = values_of_children(c, t, entries, first + shift, count);
        if (rc != PML_OK)
            c->row = pml_check__list_row(a, row, n, c->row - shift);
    }
    return rc;
}

int pml_check__values(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    if (n == 0)
        return PML_OK;
    if (!t->nullable && c->depth > 0)
        PML_RETURN_IF(check_not_null(c, a, row, n, "it is NOT NULL but has a null"));
    if (pml_layout__of(t) <= PML_LAYOUT_TEXT)
        return check_atomic(c, t, a, row, n);
    const uint8_t *bits = pml_array__validity(a);
    if (bits == NULL)
        return values_below(c, t, a, row, n);
    for (int64_t i = row; i < row + n;) {
        int64_t end = i;
        while (end < row + n && pml_bit_get(bits, a->offset + end))
            end++;
        if (end > i)
            PML_RETURN_IF(values_below(c, t, a, i, end - i));
        i = end + 1;
    }
    return PML_OK;
}
