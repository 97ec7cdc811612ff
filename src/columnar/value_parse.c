/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing the canonical row form, strictly: no blanks, no other spellings, every range checked. Fractions may have fewer
 * digits than the type allows, never more; a decimal likewise.
 */
#include <math.h>

#include "columnar/value.h"
#include "util/number.h"

enum { MS_PER_DAY = 86400000, YEAR_DIGITS_MAX = 9, SHOWN_MAX = 80, DECIMAL_PRECISION_MAX = 38 };

typedef struct text {
    const char *p, *end;
} text;

static bool take(text *s, char c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* Between min and max digits as a number. Returns how many there were, 0 on failure. max <= 9. */
static int take_digits(text *s, int min, int max, int32_t *v)
{
    int n = 0;
    *v = 0;
    while (n < max && s->p < s->end && *s->p >= '0' && *s->p <= '9') {
        *v = *v * 10 + (*s->p++ - '0');
        n++;
    }
    return n >= min ? n : 0;
}

static int days_in_month(int32_t year, int32_t month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* As java.time: four digits; with a sign also more. */
static bool take_date(text *s, int64_t *days)
{
    int32_t year, month, day;
    bool minus = take(s, '-');
    bool signed_year = minus || take(s, '+');
    if (!take_digits(s, 4, signed_year ? YEAR_DIGITS_MAX : 4, &year) || !take(s, '-') ||
        !take_digits(s, 2, 2, &month) || !take(s, '-') || !take_digits(s, 2, 2, &day))
        return false;
    year = minus ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *days = pml_number__days_from_civil(year, month, day);
    return true;
}

/* hh:mm:ss and an optional fraction of up to `digits` digits, as nanoseconds. */
static bool take_clock(text *s, int digits, int64_t *ms_of_day, int32_t *nanos)
{
    int32_t h, m, sec, fraction = 0;
    int n = 0;
    if (!take_digits(s, 2, 2, &h) || !take(s, ':') || !take_digits(s, 2, 2, &m) || !take(s, ':') ||
        !take_digits(s, 2, 2, &sec))
        return false;
    if (h > 23 || m > 59 || sec > 59)
        return false;
    if (digits > 0 && take(s, '.')) {
        n = take_digits(s, 1, digits, &fraction);
        if (n == 0)
            return false;
    }
    for (; n < 9; n++)
        fraction *= 10;
    *ms_of_day = ((int64_t)h * 3600 + m * 60 + sec) * 1000 + fraction / 1000000;
    *nanos = fraction % 1000000;
    return true;
}

static bool parse_date(pml_value *out, text s)
{
    out->kind = PML_VALUE_INT;
    return take_date(&s, &out->i) && s.p == s.end && out->i >= INT32_MIN && out->i <= INT32_MAX;
}

static bool parse_time(pml_value *out, text s)
{
    int32_t nanos;
    out->kind = PML_VALUE_INT;
    return take_clock(&s, 3, &out->i, &nanos) && s.p == s.end;
}

static bool parse_timestamp(pml_value *out, const pml_type *t, text s)
{
    int64_t days, ms;
    int digits = t->precision > 9 ? 9 : t->precision;
    out->kind = PML_VALUE_TIMESTAMP;
    /* Nine digits of a year times the milliseconds of a day can pass 64 bits. */
    if (!take_date(&s, &days) || !take(&s, 'T') || !take_clock(&s, digits, &ms, &out->ts.nanos) ||
        __builtin_mul_overflow(days, (int64_t)MS_PER_DAY, &days) || __builtin_add_overflow(days, ms, &out->ts.ms))
        return false;
    return (t->kind != PML_TYPE_TIMESTAMP_LTZ || take(&s, 'Z')) && s.p == s.end;
}

static bool parse_decimal(pml_value *out, const pml_type *t, text s)
{
    bool negative = take(&s, '-');
    pml_int128 v = 0;
    int32_t whole = 0, fraction = 0, significant = 0;
    bool point = false;
    for (; s.p < s.end; s.p++) {
        if (*s.p == '.' && !point && whole > 0) {
            point = true;
            continue;
        }
        if (*s.p < '0' || *s.p > '9' || significant >= DECIMAL_PRECISION_MAX || (point && fraction == t->scale))
            return false;
        v = v * 10 + (*s.p - '0');
        significant += v != 0;
        whole += point || whole > 0 ? 0 : 1;
        fraction += point ? 1 : 0;
    }
    if (whole == 0 || (point && fraction == 0))
        return false;
    for (; fraction < t->scale; fraction++) {
        significant += v != 0;
        if (significant > DECIMAL_PRECISION_MAX)
            return false;
        v *= 10;
    }
    out->kind = PML_VALUE_DECIMAL;
    out->dec = negative ? -v : v;
    return significant <= t->precision;
}

static bool parse_int(pml_value *out, int bits, text s)
{
    out->kind = PML_VALUE_INT;
    return pml_number__int64(&out->i, s.p, (size_t)(s.end - s.p)) &&
           (bits == 64 || out->i >> (bits - 1) == out->i >> 63);
}

static bool parse_bool(pml_value *out, text s)
{
    size_t n = (size_t)(s.end - s.p);
    out->kind = PML_VALUE_BOOL;
    out->i = n == 4;
    return (n == 4 && memcmp(s.p, "true", 4) == 0) || (n == 5 && memcmp(s.p, "false", 5) == 0);
}

/* A finite text that is too large for the type is an error, not infinity. */
static bool parse_float(pml_value *out, text s)
{
    out->kind = PML_VALUE_FLOAT;
    return pml_number__float(&out->f, s.p, (size_t)(s.end - s.p)) && (!isinf(out->f) || s.end[-1] == 'y');
}

static bool parse_double(pml_value *out, text s)
{
    out->kind = PML_VALUE_DOUBLE;
    return pml_number__double(&out->d, s.p, (size_t)(s.end - s.p)) && (!isinf(out->d) || s.end[-1] == 'y');
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex_is_valid(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (hex_digit(p[i]) < 0)
            return false;
    return len % 2 == 0;
}

static int parse_bytes(pml_value *out, pml_arena *arena, bool hex, const char *p, size_t len, pml_error *err)
{
    uint8_t *bytes = NULL;
    size_t n = hex ? len / 2 : len;
    if (n > 0) {
        bytes = pml_arena__alloc(arena, n);
        if (bytes == NULL)
            return pml_error__no_memory(err);
    }
    if (!hex && n > 0)
        memcpy(bytes, p, n);
    for (size_t i = 0; hex && i < n; i++)
        bytes[i] = (uint8_t)(hex_digit(p[2 * i]) << 4 | hex_digit(p[2 * i + 1]));
    out->kind = PML_VALUE_BYTES;
    out->bytes = (pml_bytes){bytes, n};
    return PML_OK;
}

/* All types that need no memory. *word is what the message calls the type. */
static bool parse_plain(pml_value *out, const pml_type *t, text s, const char **word)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: *word = "BOOLEAN"; return parse_bool(out, s);
    case PML_TYPE_TINYINT: *word = "TINYINT"; return parse_int(out, 8, s);
    case PML_TYPE_SMALLINT: *word = "SMALLINT"; return parse_int(out, 16, s);
    case PML_TYPE_INT: *word = "INT"; return parse_int(out, 32, s);
    case PML_TYPE_BIGINT: *word = "BIGINT"; return parse_int(out, 64, s);
    case PML_TYPE_FLOAT: *word = "FLOAT"; return parse_float(out, s);
    case PML_TYPE_DOUBLE: *word = "DOUBLE"; return parse_double(out, s);
    case PML_TYPE_DECIMAL: *word = "DECIMAL"; return parse_decimal(out, t, s);
    case PML_TYPE_DATE: *word = "DATE"; return parse_date(out, s);
    case PML_TYPE_TIME: *word = "TIME"; return parse_time(out, s);
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ:
        *word = t->kind == PML_TYPE_TIMESTAMP ? "TIMESTAMP" : "TIMESTAMP WITH LOCAL TIME ZONE";
        return parse_timestamp(out, t, s);
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: *word = "STRING"; return true;
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: *word = "hexadecimal BINARY"; return hex_is_valid(s.p, (size_t)(s.end - s.p));
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: break;
    }
    *word = "atomic";
    return false;
}

static int refuse(const pml_type *t, const char *word, const char *p, size_t len, pml_error *err)
{
    int shown = len > SHOWN_MAX ? SHOWN_MAX : (int)len;
    const char *more = len > SHOWN_MAX ? "..." : "";
    if (t->kind == PML_TYPE_DECIMAL)
        return pml_error__set(err, PML_E_INVAL, "'%.*s%s' is no DECIMAL(%d, %d) value", shown, p, more, t->precision,
                              t->scale);
    if (t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ)
        return pml_error__set(err, PML_E_INVAL, "'%.*s%s' is no %s value of precision %d", shown, p, more, word,
                              t->precision);
    return pml_error__set(err, PML_E_INVAL, "'%.*s%s' is no %s value", shown, p, more, word);
}

int pml_value__parse(pml_value *out, pml_arena *arena, const pml_type *t, const char *p, size_t len, pml_error *err)
{
    const char *word = "";
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (!parse_plain(out, t, (text){p, p + len}, &word)) {
        *out = (pml_value){.kind = PML_VALUE_NULL};
        return refuse(t, word, p, len, err);
    }
    if (t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR)
        return parse_bytes(out, arena, false, p, len, err);
    if (t->kind == PML_TYPE_BINARY || t->kind == PML_TYPE_VARBINARY || t->kind == PML_TYPE_BLOB)
        return parse_bytes(out, arena, true, p, len, err);
    return PML_OK;
}
