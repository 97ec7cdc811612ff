/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row groups whose statistics exclude the predicate are left out, and of the others the pages:
 *
 *   1. The rows of a group are cut where a page of any column of the predicate begins, so that inside a piece each column has one
 *      page, and its statistics hold for the piece.
 *   2. Each piece is tried like a row group. Neighbours that stay become one range.
 *
 * Java (ColumnIndexFilter) combines ranges per comparison instead; the answer is the same, but here one rule serves files, groups
 * and pages. A null count holds for a page and not for a piece of it, so only "none" and "all" of it are used.
 *
 * Of chosen rows (pml_format_read.rows) long stretches without any are left out in the same way; the others are dropped after decoding.
 *
 * A part of a file ends where a page of the column with the most pages begins: the others usually begin one there, too. A row group
 * with a column that has no pages to choose from (nested, or without an index) is not cut.
 */
#include "format/parquet_prune.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GAP_ROWS = 128 }; /* a stretch of fewer rows is cheaper to decode than to go around */

/* ---- statistics ---- */

/* Two's complement, big-endian, at most 16 bytes. */
static bool decimal_of(pml_value *v, const uint8_t *p, size_t n)
{
    if (n == 0 || n > 16)
        return false;
    unsigned __int128 u = (p[0] & 0x80) != 0 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < n; i++)
        u = (u << 8) | p[i];
    v->kind = PML_VALUE_DECIMAL;
    v->dec = (pml_int128)u;
    return true;
}

static void timestamp_of(pml_value *v, int64_t x, int64_t per_ms)
{
    int64_t ms = x / per_ms, rest = x % per_ms;
    if (rest < 0) {
        ms--;
        rest += per_ms;
    }
    v->kind = PML_VALUE_TIMESTAMP;
    v->ts.ms = ms;
    v->ts.nanos = (int32_t)(rest * (1000000 / per_ms));
}

/* A physical footer value as a value of the column's type; stays null (unknown) when the two do not fit. */
static void stat_value(pml_value *v, const pml_type *t, const char *arrow_format, uint32_t kind, int64_t i, double d,
                       const uint8_t *ptr, size_t len)
{
    *v = (pml_value){.kind = PML_VALUE_NULL};
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
        if (kind == PML_BRIDGE_STAT_INT)
            *v = (pml_value){.kind = t->kind == PML_TYPE_BOOLEAN ? PML_VALUE_BOOL : PML_VALUE_INT, .i = i};
        break;
    case PML_TYPE_FLOAT:
        if (kind == PML_BRIDGE_STAT_FLOAT && !isnan(d))
            *v = (pml_value){.kind = PML_VALUE_FLOAT, .f = (float)d};
        break;
    case PML_TYPE_DOUBLE:
        if (kind == PML_BRIDGE_STAT_DOUBLE && !isnan(d))
            *v = (pml_value){.kind = PML_VALUE_DOUBLE, .d = d};
        break;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
        if (kind == PML_BRIDGE_STAT_BYTES)
            *v = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {ptr, len}};
        break;
    case PML_TYPE_DECIMAL:
        if (kind == PML_BRIDGE_STAT_INT)
            *v = (pml_value){.kind = PML_VALUE_DECIMAL, .dec = i};
        else if (kind == PML_BRIDGE_STAT_BYTES)
            (void)decimal_of(v, ptr, len);
        break;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ:
        if (kind == PML_BRIDGE_STAT_INT && strncmp(arrow_format, "tsm:", 4) == 0)
            timestamp_of(v, i, 1);
        else if (kind == PML_BRIDGE_STAT_INT && strncmp(arrow_format, "tsu:", 4) == 0)
            timestamp_of(v, i, 1000);
        break;
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: break;
    }
}

/* Footers leave NaN out of min and max, but it is the largest value: such a maximum bounds nothing. A writer may also have kept
   either of the two zeros, of which -0.0 is the smaller one. */
static void widen_floats(pml_column_stats *c)
{
    if (c->max.kind == PML_VALUE_FLOAT || c->max.kind == PML_VALUE_DOUBLE)
        c->max.kind = PML_VALUE_NULL;
    if (c->min.kind == PML_VALUE_FLOAT && c->min.f == 0)
        c->min.f = -0.0f;
    if (c->min.kind == PML_VALUE_DOUBLE && c->min.d == 0)
        c->min.d = -0.0;
}

/* One column of the predicate that the file can say something about. */
typedef struct column {
    const pml_field *field;
    int32_t index; /* in the file */
    const char *format;
    const pml_bridge_page *pages; /* of the current group */
    size_t n_pages, page;
} column;

typedef struct chooser {
    const pml_parquet_file *f;
    const pml_format_read *q;
    size_t n_columns; /* of the predicate */
    column *columns;
    pml_column_stats *group, *piece; /* statistics of each */
    size_t cap;
    int64_t group_first; /* the first row of the current group, counted from the start of the file */
    pml_parquet_rows *out;
} chooser;

static void stats_of(pml_column_stats *c, const column *from, const pml_bridge_stat *s)
{
    c->field_id = from->field->id;
    c->null_count = s->null_count;
    stat_value(&c->min, &from->field->type, from->format, s->kind, s->min_i, s->min_d, s->min_ptr, s->min_len);
    stat_value(&c->max, &from->field->type, from->format, s->kind, s->max_i, s->max_d, s->max_ptr, s->max_len);
    widen_floats(c);
}

/* ---- the columns ---- */

struct is_used {
    int32_t id;
    bool found;
};

static void look_for(void *arg, int32_t field_id)
{
    struct is_used *u = arg;
    u->found = u->found || u->id == field_id;
}

/* Only stored columns that the file holds in the canonical form are looked at: of others the numbers may mean something else. */
static int columns_find(chooser *c, pml_error *err)
{
    size_t n = c->q->predicate == NULL ? 0 : c->q->n_fields;
    c->columns = pml_arena__array(c->f->arena, n, sizeof *c->columns);
    c->group = pml_arena__array(c->f->arena, n, sizeof *c->group);
    c->piece = pml_arena__array(c->f->arena, n, sizeof *c->piece);
    if (c->columns == NULL || c->group == NULL || c->piece == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const pml_field *field = &c->q->fields[i];
        struct is_used used = {field->id, false};
        char want[48];
        pml_pred__columns(c->q->predicate, look_for, &used);
        if (!used.found || c->f->columns[i] < 0 || pml_type__is_nested(&field->type))
            continue;
        const char *format = c->f->schema->children[c->f->columns[i]]->format;
        pml_type__arrow_format(want, &field->type);
        if (strcmp(format, want) == 0)
            c->columns[c->n_columns++] = (column){.field = field, .index = c->f->columns[i], .format = format};
    }
    return PML_OK;
}

/* ---- ranges ---- */

static int range_append(chooser *c, int32_t group, int64_t first, int64_t end, pml_error *err)
{
    pml_parquet_rows *out = c->out;
    if (__builtin_add_overflow(out->total, end - first, &out->total))
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, c->f->path, "%s is damaged: it has more than 2^63 rows", c->f->path);
    pml_bridge_rows *last = out->n == 0 ? NULL : &out->v[out->n - 1];
    if (last != NULL && last->group == group && last->end == first) {
        last->end = end;
        return PML_OK;
    }
    if (out->n == c->cap) {
        size_t wider = c->cap == 0 ? 8 : c->cap * 2;
        pml_bridge_rows *v = pml_arena__array(c->f->arena, wider, sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        if (out->v != NULL)
            memcpy(v, out->v, out->n * sizeof *v);
        out->v = v;
        c->cap = wider;
    }
    assert(out->v != NULL);
    out->v[out->n++] = (pml_bridge_rows){.group = group, .first = first, .end = end};
    return PML_OK;
}

/* Rows [first, end) of the group without the long stretches in which no row is wanted. */
static int range_add(chooser *c, int32_t group, int64_t first, int64_t end, pml_error *err)
{
    const pml_row_set *rows = c->q->rows;
    if (rows == NULL)
        return range_append(c, group, first, end, err);
    const int64_t base = c->group_first, last = base + end;
    for (int64_t at = pml_row_set__next(rows, base + first, true); at < last;) {
        int64_t stop = pml_row_set__next(rows, at, false), next = pml_row_set__next(rows, stop, true);
        while (next < last && next - stop < GAP_ROWS) {
            stop = pml_row_set__next(rows, next, false);
            next = pml_row_set__next(rows, stop, true);
        }
        PML_RETURN_IF(range_append(c, group, at - base, (stop < last ? stop : last) - base, err));
        at = next;
    }
    return PML_OK;
}

/* ---- predicate ---- */

static int group_may_match(bool *out, chooser *c, int32_t group, int64_t rows, pml_error *err)
{
    for (size_t i = 0; i < c->n_columns; i++) {
        pml_bridge_stat s = {0};
        PML_RETURN_IF(c->f->bridge->parquet_stat(&s, c->f->reader, group, c->columns[i].index, err));
        stats_of(&c->group[i], &c->columns[i], &s);
    }
    *out = pml_pred__may_match(c->q->predicate, c->group, c->n_columns, rows);
    return PML_OK;
}

/* The piece that begins at row `first`, which ends where any column goes on to its next page; its statistics are in c->piece. */
static int64_t piece_at(chooser *c, int64_t first, int64_t end)
{
    for (size_t i = 0; i < c->n_columns; i++) {
        column *col = &c->columns[i];
        while (col->page < col->n_pages && col->pages[col->page].first_row + col->pages[col->page].rows <= first)
            col->page++;
        if (col->page == col->n_pages)
            continue;
        const pml_bridge_page *page = &col->pages[col->page];
        end = page->first_row + page->rows < end ? page->first_row + page->rows : end;
    }
    for (size_t i = 0; i < c->n_columns; i++) {
        const column *col = &c->columns[i];
        bool paged = col->page < col->n_pages;
        int64_t nulls = paged ? col->pages[col->page].stat.null_count : -1;
        c->piece[i] = c->group[i];
        if (paged)
            stats_of(&c->piece[i], col, &col->pages[col->page].stat);
        c->piece[i].null_count = nulls == 0 ? 0 : paged && nulls == col->pages[col->page].rows ? end - first : -1;
    }
    return end;
}

static int rows_that_may_match(chooser *c, int32_t group, int64_t first, int64_t end, pml_error *err)
{
    bool paged = false;
    for (size_t i = 0; i < c->n_columns; i++) {
        column *col = &c->columns[i];
        col->page = 0;
        PML_RETURN_IF(c->f->bridge->parquet_pages(&col->pages, &col->n_pages, c->f->reader, group, col->index, 1, err));
        paged = paged || col->n_pages > 1;
    }
    if (!paged)
        return range_add(c, group, first, end, err);
    while (first < end) {
        int64_t next = piece_at(c, first, end);
        if (pml_pred__may_match(c->q->predicate, c->piece, c->n_columns, next - first))
            PML_RETURN_IF(range_add(c, group, first, next, err));
        first = next;
    }
    return PML_OK;
}

/* ---- parts ---- */

/* Where part k begins, as a row of the row group in which that is: [group_first, group_first + rows). */
static int cut_in_group(int64_t *cut, chooser *c, int32_t group, int64_t rows, int64_t all, int32_t k, pml_error *err)
{
    int64_t at = (int64_t)((__int128)all * k / c->q->parts) - c->group_first;
    const pml_bridge_page *finest = NULL;
    size_t n_finest = 0;
    *cut = at < 0 ? 0 : at > rows ? rows : at;
    if (*cut == 0 || *cut == rows)
        return PML_OK;
    for (size_t i = 0; i < c->q->n_fields; i++) {
        const pml_bridge_page *pages;
        size_t n;
        if (c->f->columns[i] < 0)
            continue;
        PML_RETURN_IF(c->f->bridge->parquet_pages(&pages, &n, c->f->reader, group, c->f->columns[i], 0, err));
        if (n == 0) { /* each part would decode this column from the start of the group */
            *cut = 0;
            return PML_OK;
        }
        if (n > n_finest) {
            finest = pages;
            n_finest = n;
        }
    }
    size_t lo = 0, hi = n_finest; /* the last page that begins at or before the cut */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (finest[mid].first_row <= *cut)
            lo = mid;
        else
            hi = mid;
    }
    if (n_finest > 0 || c->q->n_fields > 0)
        *cut = n_finest == 0 ? 0 : finest[lo].first_row;
    return PML_OK;
}

/* Rows [*first, *end) of the group are of this part. */
static int part_of_group(int64_t *first, int64_t *end, chooser *c, int32_t group, int64_t rows, int64_t all, pml_error *err)
{
    *first = 0;
    *end = rows;
    if (c->q->parts <= 1)
        return PML_OK;
    PML_RETURN_IF(cut_in_group(first, c, group, rows, all, c->q->part, err));
    return cut_in_group(end, c, group, rows, all, c->q->part + 1, err);
}

/* ---- the whole ---- */

static int groups_if_whole(pml_parquet_rows *out, const pml_parquet_file *f, pml_error *err)
{
    int32_t *groups = pml_arena__array(f->arena, out->n, sizeof *groups);
    if (groups == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < out->n; i++) {
        groups[i] = out->v[i].group;
        if (out->v[i].first > 0 || out->v[i].end < f->bridge->parquet_row_group_rows(f->reader, out->v[i].group))
            return PML_OK;
    }
    out->groups = groups;
    return PML_OK;
}

int pml_parquet__choose_rows(pml_parquet_rows *out, const pml_parquet_file *f, const pml_format_read *q, pml_error *err)
{
    chooser c = {.f = f, .q = q, .out = out};
    int32_t n = f->bridge->parquet_row_groups(f->reader);
    int64_t all = f->bridge->parquet_rows(f->reader), next_first = 0;
    *out = (pml_parquet_rows){0};
    PML_RETURN_IF(columns_find(&c, err));
    for (int32_t g = 0; g < n; g++) {
        int64_t rows = f->bridge->parquet_row_group_rows(f->reader, g), first, end;
        bool may = true;
        c.group_first = next_first;
        if (rows < 0 || rows > all - next_first)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->path, "%s is damaged: row group %d has %lld rows", f->path, g,
                                 (long long)rows);
        PML_RETURN_IF(part_of_group(&first, &end, &c, g, rows, all, err));
        next_first += rows;
        if (first < end && q->predicate != NULL)
            PML_RETURN_IF(group_may_match(&may, &c, g, rows, err));
        if (first >= end || !may)
            continue;
        /* One batch of rows is not worth a look at the index. */
        if (c.n_columns > 0 && end - first > q->batch_rows)
            PML_RETURN_IF(rows_that_may_match(&c, g, first, end, err));
        else
            PML_RETURN_IF(range_add(&c, g, first, end, err));
    }
    return groups_if_whole(out, f, err);
}

int pml_parquet__row_ranges(pml_row_range **out, const pml_parquet_rows *rows, const pml_parquet_file *f, pml_error *err)
{
    int64_t group_first = 0;
    int32_t group = 0;
    *out = pml_arena__array(f->arena, rows->n, sizeof **out);
    if (*out == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < rows->n; i++) {
        for (; group < rows->v[i].group; group++)
            group_first += f->bridge->parquet_row_group_rows(f->reader, group);
        (*out)[i] = (pml_row_range){group_first + rows->v[i].first, group_first + rows->v[i].end};
    }
    return PML_OK;
}
