/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking arrays that come from outside. Two passes without any allocation:
 *
 * 1. Structure: every node has the buffers, children and lengths that its type and its parent need; offsets of the visible
 *    rows stay inside the child. After this pass (at BASIC) gather, predicates and statistics cannot read out of bounds of
 *    what the array claims to hold. At TRUSTED only the first and last offset are read: O(columns).
 * 2. Values, at BASIC and FULL: only rows whose parents are not null count. Ranges of rows are split into runs of valid rows
 *    and go down as runs, so a child below a nullable parent needs no mask.
 *
 * Text buffers carry no size in the C interface, so their length has to be believed.
 */
#include "columnar/check.h"

#include "columnar/array_memory.h"

#include <stdio.h>

/* Rows or elements of one array: more than 32-bit offsets reach, small enough that no product of a width overflows. */
#define CHECK_LENGTH_MAX ((int64_t)1 << 40)

/* The path and the words are written when they mean something. */
static void check_start(pml_check *c, pml_check_level level)
{
    c->level = level;
    c->path[0] = "";
    c->depth = c->failed_depth = 0;
    c->row = -1;
}

int pml_check__fail(pml_check *c, int64_t row, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(c->what, sizeof c->what, format, ap);
    va_end(ap);
    c->row = row;
    c->failed_depth = c->depth;
    return PML_E_INVAL;
}

int64_t pml_check__list_row(const struct ArrowArray *a, int64_t row, int64_t n, int64_t e)
{
    for (int64_t i = row; e >= 0 && i < row + n; i++)
        if (pml_load_i32(a->buffers[1], a->offset + i + 1) > e)
            return i;
    return e < 0 ? -1 : row;
}

static int check_counts(pml_check *c, const pml_type *t, pml_layout layout, const struct ArrowArray *a, int64_t need)
{
    int64_t kids = layout == PML_LAYOUT_MAP ? 1 : (int64_t)pml_layout__children(t);
    if (a == NULL || a->release == NULL)
        return pml_check__fail(c, -1, "the array is missing or was released");
    if (a->length < 0 || a->offset < 0 || a->length > CHECK_LENGTH_MAX || a->offset > CHECK_LENGTH_MAX)
        return pml_check__fail(c, -1, "length %lld and offset %lld are not possible", (long long)a->length,
                               (long long)a->offset);
    if (a->length < need)
        return pml_check__fail(c, -1, "it has %lld rows, %lld are needed", (long long)a->length, (long long)need);
    if (a->null_count < -1 || a->null_count > a->length)
        return pml_check__fail(c, -1, "null count %lld of %lld rows", (long long)a->null_count, (long long)a->length);
    if (a->dictionary != NULL)
        return pml_check__fail(c, -1, "dictionary arrays are not supported, decode them first");
    if (a->n_buffers != pml_layout__buffers(layout) || a->buffers == NULL)
        return pml_check__fail(c, -1, "it has %lld buffers instead of %lld", (long long)a->n_buffers,
                               (long long)pml_layout__buffers(layout));
    if (a->n_children != kids || (kids > 0 && a->children == NULL))
        return pml_check__fail(c, -1, "it has %lld children instead of %lld", (long long)a->n_children,
                               (long long)kids);
    if (a->null_count > 0 && a->buffers[0] == NULL)
        return pml_check__fail(c, -1, "%lld nulls but no validity buffer", (long long)a->null_count);
    return PML_OK;
}

static int check_buffers(pml_check *c, const pml_type *t, pml_layout layout, const struct ArrowArray *a)
{
    if (a->n_buffers < 2 || a->length == 0)
        return PML_OK; /* without rows nobody reads a buffer */
    if (a->buffers[1] == NULL)
        return pml_check__fail(c, -1, "the %s buffer is missing", layout >= PML_LAYOUT_TEXT ? "offset" : "value");
    size_t align = layout == PML_LAYOUT_BITS ? 1 : layout == PML_LAYOUT_FIXED ? pml_layout__width(t) : 4;
    align = align == 16 ? 8 : align; /* what Arrow asks for; decimals are loaded as two halves */
    if ((uintptr_t)a->buffers[1] % align != 0)
        return pml_check__fail(c, -1, "a buffer is not aligned to %zu bytes, copy the array first", align);
    return PML_OK;
}

/* The offsets of rows [row, row + n), n > 0: inside [0, limit]; at BASIC they never go backwards. */
static int check_offsets(pml_check *c, const struct ArrowArray *a, int64_t row, int64_t n, int64_t limit)
{
    const uint8_t *offsets = a->buffers[1];
    int64_t at = a->offset + row;
    int32_t first = pml_load_i32(offsets, at), last = pml_load_i32(offsets, at + n), bad = 0;
    if (first < 0 || last < first || last > limit)
        return pml_check__fail(c, row, "offsets run from %d to %d, the limit is %lld", first, last, (long long)limit);
    if (c->level == PML_CHECK_TRUSTED)
        return PML_OK;
    for (int64_t i = 0; i < n; i++)
        bad |= pml_load_i32(offsets, at + i + 1) < pml_load_i32(offsets, at + i);
    for (int64_t i = 0; bad != 0 && i < n; i++)
        if (pml_load_i32(offsets, at + i + 1) < pml_load_i32(offsets, at + i))
            return pml_check__fail(c, row + i, "the offsets go backwards, from %d to %d", pml_load_i32(offsets, at + i),
                                   pml_load_i32(offsets, at + i + 1));
    return PML_OK;
}

/* Whether the rows [row, row + n) of a column without children are certainly right: those of most are, and every write asks for each. What
   is not is told by check_structure. */
static inline bool is_right(const pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const pml_layout layout = pml_layout__of(t);
    if (layout > PML_LAYOUT_TEXT || a == NULL || a->release == NULL || a->buffers == NULL)
        return false;
    const size_t width = layout == PML_LAYOUT_BITS ? 1 : layout == PML_LAYOUT_TEXT ? 4 : pml_layout__width(t), align = width < 8 ? width : 8;
    if (a->length < row + n || a->length > CHECK_LENGTH_MAX || a->offset < 0 || a->offset > CHECK_LENGTH_MAX || a->dictionary != NULL ||
        a->n_buffers != pml_layout__buffers(layout) || a->n_children != 0 || a->null_count < 0 || a->null_count > a->length ||
        (a->null_count > 0 && a->buffers[0] == NULL) || a->buffers[1] == NULL || ((uintptr_t)a->buffers[1] & (align - 1)) != 0)
        return false;
    if (layout < PML_LAYOUT_TEXT || n == 0)
        return true;
    int32_t first = pml_load_i32(a->buffers[1], a->offset + row), last = pml_load_i32(a->buffers[1], a->offset + row + n);
    return first >= 0 && last >= first && (n == 1 || c->level == PML_CHECK_TRUSTED) && (last == first || a->buffers[2] != NULL);
}

static int check_structure(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n);

/* Children of a struct, list or fixed-size list for which the elements [row, row + n) of the child are visible. */
static int check_children(pml_check *c, const pml_type *t, const struct ArrowArray *parent, int64_t row, int64_t n)
{
    int rc = PML_OK;
    for (size_t i = 0, kids = pml_layout__children(t); i < kids; i++) {
        const pml_type *child = pml_layout__child(t, i);
        if (is_right(c, child, parent->children[i], row, n))
            continue;
        if (!pml_check__enter(c, pml_layout__child_name(t, i)))
            return pml_check__fail(c, -1, "the type is nested too deeply");
        PML_TRY(check_structure(c, child, parent->children[i], row, n));
        pml_check__leave(c);
    }
out:
    return rc;
}

static int check_entries(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    /* The entries look like a ROW of two for the structure rules. */
    const pml_field members[2] = {{.type = *pml_layout__child(t, 0)}, {.type = *pml_layout__child(t, 1)}};
    const pml_type entry = pml_layout__row(members, 2);
    const struct ArrowArray *entries = a->children[0];
    PML_RETURN_IF(check_counts(c, &entry, PML_LAYOUT_STRUCT, entries, row + n));
    const uint8_t *bits = pml_array__validity(entries);
    if (bits != NULL && c->level >= PML_CHECK_BASIC && pml_bits__count(bits, entries->offset + row, n) != n)
        return pml_check__fail(c, row, "an entry of a map is null");
    int rc = check_children(c, t, entries, entries->offset + row, n);
    if (rc != PML_OK && c->row >= 0)
        c->row -= entries->offset;
    return rc;
}

static int check_list(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const struct ArrowArray *child = a->children[0];
    int64_t first = 0, last = 0, limit = child == NULL || child->release == NULL ? 0 : child->length;
    if (n > 0) {
        PML_RETURN_IF(check_offsets(c, a, row, n, limit));
        first = pml_load_i32(a->buffers[1], a->offset + row);
        last = pml_load_i32(a->buffers[1], a->offset + row + n);
    }
    int rc = pml_layout__of(t) == PML_LAYOUT_MAP ? check_entries(c, t, a, first, last - first)
                                                 : check_children(c, t, a, first, last - first);
    if (rc != PML_OK)
        c->row = pml_check__list_row(a, row, n, c->row);
    return rc;
}

/* row and n: the visible rows, without the array's own offset. */
static int check_structure(pml_check *c, const pml_type *t, const struct ArrowArray *a, int64_t row, int64_t n)
{
    const pml_layout layout = pml_layout__of(t);
    int rc = PML_OK;
    int64_t at;
    PML_TRY(check_counts(c, t, layout, a, row + n));
    PML_TRY(check_buffers(c, t, layout, a));
    switch (layout) {
    case PML_LAYOUT_BITS:
    case PML_LAYOUT_FIXED: break;
    case PML_LAYOUT_TEXT:
        if (n > 0)
            PML_TRY(check_offsets(c, a, row, n, INT32_MAX));
        if (n > 0 && a->buffers[2] == NULL &&
            pml_load_i32(a->buffers[1], a->offset + row + n) != pml_load_i32(a->buffers[1], a->offset + row))
            PML_TRY(pml_check__fail(c, -1, "the data buffer is missing"));
        break;
    case PML_LAYOUT_LIST:
    case PML_LAYOUT_MAP: PML_TRY(check_list(c, t, a, row, n)); break;
    case PML_LAYOUT_FIXED_LIST:
        if (t->length <= 0 || __builtin_mul_overflow(a->offset + row + n, (int64_t)t->length, &at) ||
            at > CHECK_LENGTH_MAX)
            PML_TRY(pml_check__fail(c, -1, "%lld vectors of %d are too many", (long long)(row + n), t->length));
        rc = check_children(c, t, a, (a->offset + row) * t->length, n * t->length);
        if (rc != PML_OK && c->row >= 0)
            c->row = c->row / t->length - a->offset;
        break;
    case PML_LAYOUT_STRUCT:
        rc = check_children(c, t, a, a->offset + row, n);
        if (rc != PML_OK && c->row >= 0)
            c->row -= a->offset;
        break;
    }
out:
    return rc;
}

/* At TRUSTED a wrong null count is all that can be seen of nulls. */
static int check_known_nulls(pml_check *c, const struct ArrowArray *batch, const pml_type *row)
{
    for (size_t i = 0; i < row->n_children; i++) {
        const struct ArrowArray *a = batch->children[i];
        bool whole = a->length == batch->length && batch->offset == 0;
        if (row->children[i].type.nullable || a->null_count <= 0 || !whole)
            continue;
        (void)pml_check__enter(c, row->children[i].name);
        return pml_check__fail(c, -1, "it is NOT NULL but has %lld nulls", (long long)a->null_count);
    }
    return PML_OK;
}

static int check_report(const pml_check *c, int rc, pml_error *err)
{
    char path[200];
    size_t at = 0;
    path[0] = '\0';
    for (int i = 1; i <= c->failed_depth && at < sizeof path; i++) {
        int w = snprintf(path + at, sizeof path - at, "%s%s", i == 1 ? "" : ".", c->path[i]);
        at += w < 0 ? 0 : (size_t)w;
    }
    if (c->failed_depth == 0)
        return pml_error__at(err, rc, PML_PLACE_ARGUMENT, NULL, "the batch is invalid: %s", c->what);
    if (c->row < 0)
        return pml_error__at(err, rc, PML_PLACE_ARGUMENT, NULL, "column %s is invalid: %s", path, c->what);
    return pml_error__at(err, rc, PML_PLACE_ROW, NULL, "column %s is invalid at row %lld: %s", path, (long long)c->row,
                         c->what);
}

int pml_batch__check(const struct ArrowArray *batch, const pml_field *fields, size_t n, pml_check_level level,
                     pml_error *err)
{
    int rc = PML_OK;
    pml_check c;
    const pml_type row = pml_layout__row(fields, n);
    int64_t rows = batch == NULL || batch->release == NULL || batch->length < 0 ? 0 : batch->length;
    check_start(&c, level);
    PML_TRY(check_structure(&c, &row, batch, 0, rows));
    const uint8_t *bits = pml_array__validity(batch);
    if (batch->null_count > 0 ||
        (bits != NULL && level >= PML_CHECK_BASIC && pml_bits__count(bits, batch->offset, rows) != rows))
        PML_TRY(pml_check__fail(&c, -1, "whole rows are null"));
    PML_TRY(check_known_nulls(&c, batch, &row));
    if (level >= PML_CHECK_BASIC)
        PML_TRY(pml_check__values(&c, &row, batch, 0, rows));
out:
    return rc == PML_OK ? PML_OK : check_report(&c, rc, err);
}
