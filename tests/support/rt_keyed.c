/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rt_keyed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test_arrow.h"

enum { G, S, A, B, C };

static const char letters[] = "gsabc";

const rt_variant rt_variants[] = {
    {.name = "deduplicate", .options = "", .kinds = "0023", .sequence = ""},
    {.name = "sequence.field", .options = "\"sequence.field\":\"s\"", .kinds = "0023", .sequence = "s"},
    {.name = "two sequence fields, descending",
     .options = "\"sequence.field\":\"s,a\",\"sequence.field.sort-order\":\"descending\"",
     .kinds = "0023",
     .sequence = "sa",
     .descending = true},
    {.name = "ignore-delete", .options = "\"ignore-delete\":\"true\"", .kinds = "01233", .sequence = "", .ignore_delete = true},
    {.name = "ignore-update-before", .options = "\"ignore-update-before\":\"true\"", .kinds = "0123", .sequence = "", .ignore_before = true},
    {.name = "first-row",
     .options = "\"merge-engine\":\"first-row\",\"ignore-delete\":\"true\"",
     .kinds = "003",
     .engine = RT_FIRST,
     .sequence = "",
     .ignore_delete = true,
     .hides_level_0 = true},
    {.name = "partial-update",
     .options = "\"merge-engine\":\"partial-update\",\"ignore-delete\":\"true\"",
     .kinds = "0023",
     .engine = RT_PARTIAL,
     .sequence = "",
     .ignore_delete = true,
     .functions = "-----"},
    {.name = "sequence groups",
     .options = "\"merge-engine\":\"partial-update\",\"fields.g.sequence-group\":\"a,b\",\"fields.s.sequence-group\":\"c\","
                "\"fields.c.aggregate-function\":\"sum\"",
     .kinds = "0023",
     .engine = RT_PARTIAL,
     .sequence = "",
     .groups = "gsggs",
     .functions = "----s"},
    {.name = "remove-record-on-delete",
     .options = "\"merge-engine\":\"partial-update\",\"partial-update.remove-record-on-delete\":\"true\"",
     .kinds = "0023",
     .engine = RT_PARTIAL,
     .sequence = "",
     .remove_on_delete = true,
     .functions = "-----"},
    {.name = "aggregation",
     .options = "\"merge-engine\":\"aggregation\",\"fields.a.aggregate-function\":\"sum\",\"fields.b.aggregate-function\":\"listagg\","
                "\"fields.c.aggregate-function\":\"max\",\"aggregation.remove-record-on-delete\":\"true\"",
     .kinds = "0023",
     .engine = RT_AGGREGATE,
     .sequence = "",
     .remove_on_delete = true,
     .functions = "nnslm"},
    {.name = "lookup",
     .options = "\"merge-engine\":\"aggregation\",\"changelog-producer\":\"lookup\",\"fields.default-aggregate-function\":\"last_value\","
                "\"sequence.field\":\"s\",\"aggregation.remove-record-on-delete\":\"true\"",
     .kinds = "0023",
     .engine = RT_AGGREGATE,
     .sequence = "s",
     .remove_on_delete = true,
     .functions = "vvvvv"},
    {.name = "deletion vectors",
     .options = "\"deletion-vectors.enabled\":\"true\"",
     .kinds = "0023",
     .sequence = "",
     .hides_level_0 = true},
};
const size_t rt_n_variants = sizeof rt_variants / sizeof rt_variants[0];

/* ---- rows by their numbers ---- */

static uint64_t mix(uint64_t salt, int64_t id, uint64_t what)
{
    uint64_t z = salt * 0x9E3779B97F4A7C15u + (uint64_t)id * 0xD1B54A32D192ED03u + what;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t rt_keyed_key(uint64_t salt, int64_t id)
{
    return (int64_t)(mix(salt, id, 10) % RT_KEYED_KEYS);
}

int8_t rt_keyed_kind(const rt_variant *v, uint64_t salt, int64_t id)
{
    return (int8_t)(v->kinds[mix(salt, id, 11) % strlen(v->kinds)] - '0');
}

bool rt_keyed_is_dropped(const rt_variant *v, int8_t kind)
{
    return (v->ignore_delete && (kind == 1 || kind == 3)) || (v->ignore_before && kind == 1);
}

static int64_t number_of(uint64_t salt, int64_t id, int column)
{
    return (int64_t)(mix(salt, id, (uint64_t)column) % 7);
}

static bool is_null_value(uint64_t salt, int64_t id, int column)
{
    return mix(salt, id, 20 + (uint64_t)column) % 4 == 0;
}

static void text_of(char out[16], uint64_t salt, int64_t id)
{
    (void)snprintf(out, 16, "t%d", (int)(mix(salt, id, B) % 100));
}

static struct ArrowArray with_nulls(struct ArrowArray a, const bool *nulls)
{
    uint8_t *bits = calloc((size_t)a.length / 8 + 1, 1);
    assert_non_null(bits);
    for (int64_t i = 0; i < a.length; i++) {
        a.null_count += nulls[i];
        if (!nulls[i])
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1 << (i % 8));
    }
    a.buffers[0] = bits; /* freed with the others */
    return a;
}

static struct ArrowArray texts_column(uint64_t salt, int64_t n, const int64_t *ids, const rt_keyed_row *rows)
{
    char(*made)[16] = calloc((size_t)n + 1, sizeof *made);
    const char **v = calloc((size_t)n + 1, sizeof *v);
    assert_true(made != NULL && v != NULL);
    for (int64_t i = 0; i < n; i++) {
        if (ids != NULL)
            text_of(made[i], salt, ids[i]);
        bool null = ids != NULL ? is_null_value(salt, ids[i], B) : rows[i].nulls[B];
        v[i] = null ? NULL : ids != NULL ? made[i] : rows[i].text;
    }
    struct ArrowArray a = test_text_array(n, v);
    free(v);
    free(made);
    return a;
}

struct ArrowArray rt_keyed_column(char letter, uint64_t salt, int64_t n, const int64_t *ids, const rt_keyed_row *rows)
{
    if (letter == 'b')
        return texts_column(salt, n, ids, rows);
    const char *found = strchr(letters, letter);
    int column = letter == 'i' || found == NULL ? -1 : (int)(found - letters);
    bool wide = column < 0 || column == C, *nulls = calloc((size_t)n + 1, sizeof *nulls);
    int64_t *longs = calloc((size_t)n + 1, sizeof *longs);
    int32_t *ints = calloc((size_t)n + 1, sizeof *ints);
    assert_true(nulls != NULL && longs != NULL && ints != NULL);
    for (int64_t i = 0; i < n; i++) {
        if (column < 0)
            longs[i] = ids != NULL ? rt_keyed_key(salt, ids[i]) : rows[i].key;
        else
            longs[i] = ids != NULL ? number_of(salt, ids[i], column) : rows[i].numbers[column];
        nulls[i] = column >= 0 && (ids != NULL ? is_null_value(salt, ids[i], column) : rows[i].nulls[column]);
        ints[i] = (int32_t)longs[i];
    }
    struct ArrowArray a = wide ? test_fixed_array(8, n, longs) : test_fixed_array(4, n, ints);
    if (column >= 0)
        a = with_nulls(a, nulls);
    free(nulls);
    free(longs);
    free(ints);
    return a;
}

/* ---- the reference ---- */

void rt_reference_init(rt_reference *r, const rt_variant *v, uint64_t salt)
{
    *r = (rt_reference){.v = v, .salt = salt};
}

void rt_reference_clear(rt_reference *r)
{
    for (size_t i = 0; i < r->n_texts; i++)
        free(r->texts[i]);
    free(r->texts);
    free(r->rows);
    *r = (rt_reference){0};
}

static const char *keep_text(rt_reference *r, const char *a, const char *b)
{
    size_t n = strlen(a), k = b == NULL ? 0 : strlen(b) + 1;
    char *text = malloc(n + k + 1);
    if (r->n_texts == r->cap_texts) {
        r->cap_texts = r->cap_texts == 0 ? 64 : r->cap_texts * 2;
        r->texts = realloc(r->texts, r->cap_texts * sizeof *r->texts);
    }
    assert_true(text != NULL && r->texts != NULL);
    memcpy(text, a, n + 1);
    if (b != NULL) {
        text[n] = ',';
        memcpy(text + n + 1, b, k);
    }
    r->texts[r->n_texts++] = text;
    return text;
}

void rt_reference_add(rt_reference *r, int64_t id)
{
    int8_t kind = rt_keyed_kind(r->v, r->salt, id);
    char text[16];
    if (rt_keyed_is_dropped(r->v, kind))
        return;
    if (r->n == r->cap) {
        r->cap = r->cap == 0 ? 64 : r->cap * 2;
        r->rows = realloc(r->rows, r->cap * sizeof *r->rows);
        assert_non_null(r->rows);
    }
    rt_keyed_row *row = &r->rows[r->n++];
    *row = (rt_keyed_row){.key = rt_keyed_key(r->salt, id), .kind = kind, .at = r->next_at++};
    for (int c = 0; c < RT_KEYED_VALUES; c++) {
        row->numbers[c] = number_of(r->salt, id, c);
        row->nulls[c] = is_null_value(r->salt, id, c);
    }
    text_of(text, r->salt, id);
    row->text = row->nulls[B] ? NULL : keep_text(r, text, NULL);
}

/* Null is the lowest, in both directions. */
static int compare_values(const rt_keyed_row *a, const rt_keyed_row *b, int c, bool descending)
{
    if (a->nulls[c] || b->nulls[c])
        return b->nulls[c] - a->nulls[c];
    int way = (a->numbers[c] > b->numbers[c]) - (a->numbers[c] < b->numbers[c]);
    return descending ? -way : way;
}

static _Thread_local const rt_variant *sorted_by; /* qsort passes nothing along */

static int by_key_and_age(const void *pa, const void *pb)
{
    const rt_keyed_row *a = pa, *b = pb;
    int c = (a->key > b->key) - (a->key < b->key);
    for (const char *l = sorted_by->sequence; c == 0 && *l != '\0'; l++)
        c = compare_values(a, b, (int)(strchr(letters, *l) - letters), sorted_by->descending);
    return c != 0 ? c : (a->at > b->at) - (a->at < b->at);
}

static bool is_retract(const rt_keyed_row *row)
{
    return row->kind == 1 || row->kind == 3;
}

static void take(rt_keyed_row *to, const rt_keyed_row *from, int c)
{
    to->numbers[c] = from->numbers[c];
    to->nulls[c] = from->nulls[c];
    if (c == B)
        to->text = from->text;
}

static void set_null(rt_keyed_row *to, int c)
{
    to->nulls[c] = true;
    if (c == B)
        to->text = NULL;
}

static void take_all(rt_keyed_row *to, const rt_keyed_row *from)
{
    for (int c = 0; c < RT_KEYED_VALUES; c++)
        take(to, from, c);
}

static void add_value(rt_reference *r, rt_keyed_row *to, const rt_keyed_row *from, int c, char function)
{
    if (function == 'v') {
        take(to, from, c);
    } else if (from->nulls[c]) {
    } else if (to->nulls[c] || function == 'n' || function == '-') {
        take(to, from, c);
    } else if (function == 's') {
        to->numbers[c] += from->numbers[c];
    } else if (function == 'm') {
        to->numbers[c] = from->numbers[c] > to->numbers[c] ? from->numbers[c] : to->numbers[c];
    } else {
        to->text = keep_text(r, to->text, from->text);
    }
}

/* Of sums only. */
static void retract_value(rt_keyed_row *to, const rt_keyed_row *from, int c)
{
    if (from->nulls[c])
        return;
    to->numbers[c] = to->nulls[c] ? -from->numbers[c] : to->numbers[c] - from->numbers[c];
    to->nulls[c] = false;
}

/* A column of a group whose version is in column g of the row as it was before. */
static void follow_group(rt_reference *r, rt_keyed_row *to, const rt_keyed_row *from, const rt_keyed_row *before, int c, int g)
{
    char function = r->v->functions[c];
    bool retract = is_retract(from), newer = compare_values(from, before, g, false) >= 0;
    if (from->nulls[g])
        return;
    if (c == g && newer)
        take(to, from, c);
    else if (c != g && function != '-' && retract)
        retract_value(to, from, c);
    else if (c != g && function != '-')
        add_value(r, to, from, c, function); /* the sum, which is the same in both orders */
    else if (c != g && newer && retract)
        set_null(to, c);
    else if (c != g && newer)
        take(to, from, c);
}

static void merge_partial(rt_reference *r, rt_keyed_row *out, const rt_keyed_row *v, size_t n)
{
    const rt_variant *o = r->v;
    bool filled = false, added = false, removed = false;
    for (size_t i = 0; i < n; i++) {
        bool retract = is_retract(&v[i]);
        if (retract && !filled)
            take_all(out, &v[i]);
        filled = true;
        if (retract && o->ignore_delete)
            continue;
        removed = retract && o->remove_on_delete;
        added = added || !retract;
        const rt_keyed_row before = *out;
        for (int c = 0; c < RT_KEYED_VALUES; c++) {
            if (o->groups != NULL)
                follow_group(r, out, &v[i], &before, c, (int)(strchr(letters, o->groups[c]) - letters));
            else if (removed)
                take(out, &v[i], c);
            else
                add_value(r, out, &v[i], c, 'n');
        }
    }
    out->kind = removed || !added ? 3 : 0;
}

static void merge_aggregate(rt_reference *r, rt_keyed_row *out, const rt_keyed_row *v, size_t n)
{
    bool removed = false;
    for (size_t i = 0; i < n; i++) {
        removed = v[i].kind == 3 && r->v->remove_on_delete;
        for (int c = 0; c < RT_KEYED_VALUES; c++)
            if (removed)
                take(out, &v[i], c);
            else
                add_value(r, out, &v[i], c, r->v->functions[c]);
    }
    out->kind = removed ? 3 : 0;
}

/* All rows of a key in order; false: nothing comes of them. A row alone stays what it is. */
static bool merge_key(rt_reference *r, rt_keyed_row *out, const rt_keyed_row *v, size_t n)
{
    *out = v[n - 1];
    if (n == 1)
        return true;
    for (size_t i = 0; i < n && (r->v->engine == RT_LAST || r->v->engine == RT_FIRST); i++) {
        const rt_keyed_row *row = &v[r->v->engine == RT_FIRST ? i : n - 1 - i];
        *out = *row;
        if (!r->v->ignore_delete || !is_retract(row))
            return true;
        if (i + 1 == n)
            return false;
    }
    for (int c = 0; c < RT_KEYED_VALUES; c++)
        set_null(out, c);
    if (r->v->engine == RT_PARTIAL)
        merge_partial(r, out, v, n);
    else
        merge_aggregate(r, out, v, n);
    return true;
}

/* The rows from this one on become one of each key. */
static void merge_rows(rt_reference *r, size_t from, bool keep_deletes, int32_t level)
{
    size_t kept = from;
    sorted_by = r->v;
    if (r->n > from)
        qsort(r->rows + from, r->n - from, sizeof *r->rows, by_key_and_age);
    for (size_t at = from, end; at < r->n; at = end) {
        rt_keyed_row row;
        for (end = at + 1; end < r->n && r->rows[end].key == r->rows[at].key; end++) {
        }
        if (!merge_key(r, &row, r->rows + at, end - at) || (!keep_deletes && is_retract(&row)))
            continue;
        row.level = level;
        row.run = r->next_run;
        r->rows[kept++] = row;
    }
    r->next_run++;
    r->n = r->open = kept;
}

void rt_reference_close(rt_reference *r)
{
    merge_rows(r, r->open, true, 0);
}

void rt_reference_compact(rt_reference *r)
{
    rt_reference_close(r);
    merge_rows(r, 0, false, 5);
}

/* The row behind the oldest n runs. */
static size_t end_of_runs(const rt_reference *r, size_t n)
{
    size_t at = 0;
    for (; n > 0; n--)
        for (size_t first = at; at < r->n && r->rows[at].run == r->rows[first].run;)
            at++;
    return at;
}

size_t rt_reference_runs(const rt_reference *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += i == 0 || r->rows[i].run != r->rows[i - 1].run;
    return n;
}

const rt_keyed_row *rt_reference_compact_some(size_t *n_rows, rt_reference *r, size_t skip, size_t n)
{
    rt_reference_close(r);
    const size_t from = end_of_runs(r, skip), to = end_of_runs(r, skip + n), newer = r->n - to;
    rt_keyed_row *kept = calloc(newer + 1, sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, r->rows + to, newer * sizeof *kept);
    r->n = to;
    merge_rows(r, from, skip > 0, 1);
    *n_rows = r->n - from;
    memcpy(r->rows + r->n, kept, newer * sizeof *kept);
    r->n = r->open = r->n + newer;
    free(kept);
    return r->rows + from;
}

void rt_reference_drop_level_0(rt_reference *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].level > 0)
            r->rows[kept++] = r->rows[i];
    r->n = r->open = kept;
}

void rt_reference_answer(rt_reference *r)
{
    rt_reference_close(r);
    merge_rows(r, 0, false, 0);
}

/* ---- lines ---- */

void rt_lines_add(rt_lines *lines, char *line)
{
    if (lines->n == lines->cap) {
        lines->cap = lines->cap == 0 ? 16 : lines->cap * 2;
        lines->v = realloc(lines->v, lines->cap * sizeof *lines->v);
    }
    assert_true(lines->v != NULL && line != NULL);
    lines->v[lines->n++] = line;
}

void rt_lines_copy(rt_lines *to, const rt_lines *from)
{
    for (size_t i = 0; i < from->n; i++)
        rt_lines_add(to, strdup(from->v[i]));
}

void rt_lines_clear(rt_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        free(lines->v[i]);
    free(lines->v);
    *lines = (rt_lines){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool rt_lines_equal(rt_lines *got, rt_lines *want, int64_t limit, char *wrong, size_t size)
{
    size_t n = limit >= 0 && (size_t)limit < want->n ? (size_t)limit : want->n, i = 0, k = 0;
    if (got->n > 0)
        qsort(got->v, got->n, sizeof *got->v, by_text);
    if (want->n > 0)
        qsort(want->v, want->n, sizeof *want->v, by_text);
    while (i < got->n || (k < want->n && limit < 0)) {
        int c = i == got->n ? 1 : k == want->n ? -1 : strcmp(got->v[i], want->v[k]);
        if (c < 0 || (c > 0 && limit < 0)) {
            const char *other = c < 0 ? k < want->n ? want->v[k] : "the end" : i < got->n ? got->v[i] : "the end";
            (void)snprintf(wrong, size, "%s %s (before: %s)", c < 0 ? got->v[i] : want->v[k], c < 0 ? "must not appear" : "is missing", other);
            return false;
        }
        i += c == 0;
        k++;
    }
    if (got->n == n)
        return true;
    (void)snprintf(wrong, size, "%zu rows instead of %zu", got->n, n);
    return false;
}

typedef struct line {
    char *text;
    size_t n, cap;
} line;

static void put(line *l, char letter, const char *value, size_t len)
{
    if (l->n + len + 4 > l->cap) {
        l->cap = (l->n + len + 4) * 2;
        l->text = realloc(l->text, l->cap);
        assert_non_null(l->text);
    }
    l->text[l->n++] = letter;
    if (len > 0)
        memcpy(l->text + l->n, value, len);
    l->n += len;
    l->text[l->n++] = ' ';
    l->text[l->n] = '\0';
}

static void put_number(line *l, char letter, int64_t v)
{
    char text[24];
    put(l, letter, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)v));
}

static void put_text(line *l, char letter, const char *text)
{
    put(l, letter, text == NULL ? "null" : text, text == NULL ? 4 : strlen(text));
}

char *rt_keyed_line(const rt_keyed_row *row, const char *columns, const char *partition)
{
    line l = {0};
    for (const char *c = columns; *c != '\0'; c++) {
        const char *found = strchr(letters, *c);
        int column = found == NULL ? -1 : (int)(found - letters);
        if (*c == 'i')
            put_number(&l, 'i', row->key);
        else if (*c == 'd')
            put_text(&l, 'd', partition);
        else if (row->nulls[column])
            put_text(&l, *c, NULL);
        else if (*c == 'b')
            put_text(&l, 'b', row->text);
        else
            put_number(&l, *c, row->numbers[column]);
    }
    return l.text;
}

char *rt_keyed_line_of(const struct ArrowArray *batch, int64_t row, const char *columns)
{
    line l = {0};
    for (size_t i = 0; columns[i] != '\0'; i++) {
        const struct ArrowArray *a = batch->children[i];
        int64_t at = row + batch->offset + a->offset;
        const uint8_t *bits = a->buffers[0];
        char c = columns[i];
        if (bits != NULL && (bits[at / 8] >> (at % 8) & 1) == 0) {
            put_text(&l, c, NULL);
        } else if (c == 'b' || c == 'd') {
            const int32_t *o = a->buffers[1];
            put(&l, c, (const char *)a->buffers[2] + o[at], (size_t)(o[at + 1] - o[at]));
        } else {
            put_number(&l, c, c == 'i' || c == 'c' ? ((const int64_t *)a->buffers[1])[at] : ((const int32_t *)a->buffers[1])[at]);
        }
    }
    return l.text;
}
