/* SPDX-License-Identifier: Apache-2.0 */
#include "table/rows_csv_scan.h"

#include <math.h>
#include <string.h>

#include "util/error.h"
#include "util/number.h"

/* Quotes count at the beginning of a field only, as in the reader. */
enum { FIELD_START = 0, FIELD_PLAIN, FIELD_QUOTED, FIELD_QUOTE_SEEN /* the end, or the first of two */ };

enum { FLOAT_DIGITS = 39 /* what is shorter and has no exponent is less than the largest float */ };

static void field_begin(pml_csv_scan *s)
{
    s->state = FIELD_START;
    s->wanted = s->column < s->n_columns && pml_type__is_float(&s->columns[s->column]->type) ? s->columns[s->column] : NULL;
    s->value_len = 0;
    s->value_long = false;
}

static void value_take(pml_csv_scan *s, const uint8_t *p, size_t n)
{
    size_t room = sizeof s->value - s->value_len;
    if (s->wanted == NULL)
        return;
    s->value_long = s->value_long || n > room;
    n = n < room ? n : room;
    memcpy(s->value + s->value_len, p, n);
    s->value_len += n;
}

/* Whether text is a finite number that the type rounds to infinity. */
static bool is_out_of_range(const pml_type *t, const char *p, size_t n)
{
    float f = 0;
    double d = 0;
    bool word = p[n - 1] == 'y' || p[n - 1] == 'Y' || p[n - 1] == 'f' || p[n - 1] == 'F';
    if (word)
        return false; /* infinity itself */
    return t->kind == PML_TYPE_FLOAT ? pml_number__float(&f, p, n) && isinf(f)
                                     : pml_number__double(&d, p, n) && isinf(d);
}

static int value_check(const pml_csv_scan *s, pml_error *err)
{
    const char *p = s->value;
    size_t n = s->value_len;
    if (s->wanted == NULL || n == 0)
        return PML_OK;
    if (n < FLOAT_DIGITS && memchr(p, 'e', n) == NULL && memchr(p, 'E', n) == NULL)
        return PML_OK;
    if (s->null_text != NULL && strlen(s->null_text) == n && memcmp(s->null_text, p, n) == 0)
        return PML_OK;
    for (; n > 0 && (p[0] == ' ' || p[0] == '\t'); n--)
        p++;
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    if (s->value_long)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, s->file,
                             "%s, line %lld: column \"%s\": a number of more than %d bytes", s->file,
                             (long long)s->lines + 1, s->wanted->name, PML_CSV_NUMBER_MAX);
    if (n == 0 || !is_out_of_range(&s->wanted->type, p, n))
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, s->file,
                         "%s, line %lld: column \"%s\": %.*s%s is outside of the range of %s", s->file,
                         (long long)s->lines + 1, s->wanted->name, n > 40 ? 40 : (int)n, p, n > 40 ? "..." : "",
                         s->wanted->type.kind == PML_TYPE_FLOAT ? "FLOAT" : "DOUBLE");
}

static int row_check(const pml_csv_scan *s, int64_t end, pml_error *err)
{
    if (end - s->row_begin <= s->row_max_bytes)
        return PML_OK;
    return pml_error__at(err, PML_E_LIMIT, PML_PLACE_ROW, s->file,
                         "%s, line %lld: a row of CSV may be at most %lld bytes long; JSON takes longer ones", s->file,
                         (long long)s->lines + 1, (long long)s->row_max_bytes);
}

/* A line end, which may be \r, \n or both. */
static void line_count(pml_csv_scan *s, uint8_t c)
{
    s->lines += c == '\r' || !s->after_cr;
    s->after_cr = c == '\r';
}

/* One byte that is not in the middle of a field. */
static int step(pml_csv_scan *s, uint8_t c, int64_t at, pml_error *err)
{
    bool line_end = c == '\n' || c == '\r';
    if (s->state == FIELD_QUOTE_SEEN && c == (uint8_t)s->quote) {
        value_take(s, &c, 1);
        s->state = FIELD_QUOTED;
    } else if (s->state == FIELD_QUOTED && c == (uint8_t)s->quote) {
        s->state = FIELD_QUOTE_SEEN;
    } else if (s->state == FIELD_QUOTED) {
        line_count(s, c);
        value_take(s, &c, 1);
        return PML_OK;
    } else if (line_end || c == (uint8_t)s->delimiter) {
        PML_RETURN_IF(value_check(s, err));
        if (line_end) {
            PML_RETURN_IF(row_check(s, at + 1, err));
            line_count(s, c);
            s->row_begin = at + 1;
        }
        s->column = line_end ? 0 : s->column + 1;
        field_begin(s);
        if (line_end)
            return PML_OK;
    } else if (s->state == FIELD_START && s->quote != 0 && c == (uint8_t)s->quote) {
        s->state = FIELD_QUOTED;
        s->quote_line = s->lines + 1;
    } else {
        s->state = FIELD_PLAIN;
        value_take(s, &c, 1);
    }
    s->after_cr = false;
    return PML_OK;
}

int pml_csv_scan__feed(pml_csv_scan *s, const uint8_t *p, size_t n, pml_error *err)
{
    size_t i = 0;
    if (s->at == 0) {
        i = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        s->row_begin = (int64_t)i;
        field_begin(s);
    }
    while (i < n) {
        size_t begin = i;
        if (s->state == FIELD_PLAIN)
            while (i < n && p[i] != (uint8_t)s->delimiter && p[i] != '\n' && p[i] != '\r')
                i++;
        else if (s->state == FIELD_QUOTED)
            while (i < n && p[i] != (uint8_t)s->quote && p[i] != '\n' && p[i] != '\r')
                i++;
        if (i > begin) {
            s->after_cr = false;
            value_take(s, p + begin, i - begin);
        }
        if (i < n) {
            PML_RETURN_IF(step(s, p[i], s->at + (int64_t)i, err));
            i++;
        }
    }
    s->at += (int64_t)n;
    return row_check(s, s->at, err);
}

int pml_csv_scan__end(pml_csv_scan *s, pml_error *err)
{
    if (s->state == FIELD_QUOTED)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, s->file,
                             "%s: the file ends inside of the quoted field that begins in line %lld", s->file,
                             (long long)s->quote_line);
    return value_check(s, err);
}
