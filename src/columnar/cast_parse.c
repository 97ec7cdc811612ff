/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts of texts to everything else. Each parser takes what Java's takes and nothing more, which is another set of texts for each
 * type: whole numbers know no blanks, floating-point ones do, dates know them in places.
 */
#include "columnar/cast_rule.h"

#include "columnar/check.h"
#include "columnar/java_text.h"
#include "util/number.h"
#include "util/zone.h"

enum { MS_PER_DAY = 86400000, MS_PER_HOUR = 3600000, MS_PER_MINUTE = 60000, MS_PER_SECOND = 1000, NANOS_PER_MS = 1000000 };

typedef struct text {
    const char *p;
    size_t n;
} text;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static text text_of(const pml_value *v)
{
    return (text){(const char *)v->bytes.ptr, v->bytes.len};
}

static int refuse(const char *what, pml_error *err)
{
    return pml_error__set(err, PML_E_INVAL, "it is no %s", what);
}

/* ---- numbers ---- */

/* [+-]digits[.digits]: what is behind the point is looked at and dropped. Digits may be missing on either side, or both. */
static bool parse_integer(int64_t *out, text s)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    size_t i = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+');
    int64_t v = 0;
    if (i == s.n)
        return false;
    for (; i < s.n && s.p[i] != '.'; i++)
        if (!is_digit(s.p[i]) || __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s.p[i] - '0', &v))
            return false;
    for (i++; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    if (!negative && v == INT64_MIN)
        return false;
    *out = negative ? v : -v;
    return true;
}

static int to_integer(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    int bits = (int)pml_layout__width(c->to) * 8;
    (void)scratch;
    out->kind = PML_VALUE_INT;
    bool ok = parse_integer(&out->i, text_of(v)) && (bits == 64 || out->i >> (bits - 1) == out->i >> 63);
    return ok ? PML_OK : refuse(pml_type__word(c->to->kind), err);
}

static int to_floating(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    text s = text_of(v);
    bool single = c->to->kind == PML_TYPE_FLOAT;
    (void)scratch;
    out->kind = single ? PML_VALUE_FLOAT : PML_VALUE_DOUBLE;
    bool ok = single ? pml_number__java_float(&out->f, s.p, s.n) : pml_number__java_double(&out->d, s.p, s.n);
    return ok ? PML_OK : refuse(pml_type__word(c->to->kind), err);
}

/* BigDecimal takes the digits of every script. */
static int latin_digits(text *s, pml_buf *scratch, pml_error *err)
{
    const uint8_t *p = (const uint8_t *)s->p, *end = p + s->n;
    size_t n;
    while (p < end && *p < 0x80)
        p++;
    if (p == end || !pml_check__utf8((const uint8_t *)s->p, s->n))
        return PML_OK;
    for (p = (const uint8_t *)s->p; p < end; p += n) {
        int digit = pml_java_text__digit(p, &n);
        if (digit < 0)
            (void)pml_buf__append(scratch, p, n);
        else
            (void)pml_buf__append_byte(scratch, (uint8_t)('0' + digit));
    }
    *s = (text){(const char *)scratch->data, scratch->len};
    return pml_buf__check(scratch, err);
}

static int to_decimal(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    text s = text_of(v);
    PML_RETURN_IF(latin_digits(&s, scratch, err));
    return pml_cast__parse_decimal(out, c->to, s.p, s.n) ? PML_OK : refuse("DECIMAL", err);
}

static bool is_word(text s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < n && n == s.n; i++)
        if ((s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]) != word[i])
            return false;
    return n == s.n;
}

static int to_boolean(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    static const char *const words[] = {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"};
    (void)c;
    (void)scratch;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(text_of(v), words[i])) {
            *out = (pml_value){.kind = PML_VALUE_BOOL, .i = i < 5};
            return PML_OK;
        }
    return refuse("BOOLEAN", err);
}

/* ---- dates and times ---- */

/* Such a text is the number that the type has inside. */
static bool is_numeric(text s)
{
    size_t i = s.n > 0 && s.p[0] == '-';
    if (i == s.n)
        return false;
    for (; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return true;
}

static int internal_number(int64_t *out, text s, bool wide, const char *what, pml_error *err)
{
    bool ok = parse_integer(out, s) && (wide || (*out >= INT32_MIN && *out <= INT32_MAX));
    return ok ? PML_OK : refuse(what, err);
}

/* Where c is from `from` on; s.n: nowhere. */
static size_t find(text s, char c, size_t from)
{
    while (from < s.n && s.p[from] != c)
        from++;
    return from < s.n ? from : s.n;
}

/* The bytes [from, end), without blanks around, as a number of digits only. */
static bool number_between(int32_t *out, text s, size_t from, size_t end)
{
    int64_t v;
    while (from < end && (unsigned char)s.p[from] <= ' ')
        from++;
    while (end > from && (unsigned char)s.p[end - 1] <= ' ')
        end--;
    if (from >= end || s.p[from] == '-' || !pml_number__int64(&v, s.p + from, end - from) || v > INT32_MAX)
        return false;
    *out = (int32_t)v;
    return true;
}

static int32_t days_of_month(int32_t year, int32_t month)
{
    bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    return month == 2 ? (leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* y[-m[-d]] and anything behind a blank, unless the text begins with it. */
static bool parse_date(int64_t *days, text s)
{
    int32_t year, month = 1, day = 1;
    size_t blank = find(s, ' ', 0);
    s.n = blank > 0 ? blank : s.n;
    size_t first = find(s, '-', 0), second = first == s.n ? s.n : find(s, '-', first + 1);
    if (!number_between(&year, s, 0, first) || (first < s.n && !number_between(&month, s, first + 1, second)) ||
        (second < s.n && !number_between(&day, s, second + 1, s.n)))
        return false;
    if (year > 9999 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *days = pml_number__days_from_civil(year, month, day);
    return true;
}

static int to_date(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    text s = text_of(v);
    (void)c;
    (void)scratch;
    out->kind = PML_VALUE_INT;
    if (is_numeric(s))
        return internal_number(&out->i, s, false, "DATE", err);
    return parse_date(&out->i, s) ? PML_OK : refuse("DATE", err);
}

/* Three digits; what is no digit counts as 0, and the fourth rounds. */
static int32_t milliseconds(text s, size_t from, size_t end)
{
    int32_t v = 0, worth = 100;
    while (from < end && (unsigned char)s.p[from] <= ' ')
        from++;
    while (end > from && (unsigned char)s.p[end - 1] <= ' ')
        end--;
    for (; from < end && worth > 0; from++, worth /= 10) {
        v += is_digit(s.p[from]) ? worth * (s.p[from] - '0') : 0;
        v += worth == 1 && from + 1 < end && (unsigned char)s.p[from + 1] >= '5';
    }
    return v;
}

/* h[:m[:s[.f]]] and an offset, which Java takes off for '-' and adds for '+'. Nothing has a range; the sum wraps. */
static bool parse_time(int64_t *ms, text s)
{
    int32_t hour, minute = 0, second = 0, zone_hour = 0, zone_minute = 0, fraction = 0;
    size_t zone = find(s, '-', 0), end;
    uint32_t sign = zone < s.n ? (uint32_t)-1 : 1;
    zone = zone < s.n ? zone : find(s, '+', 0);
    end = zone;
    if (zone < s.n) {
        size_t colon = find(s, ':', zone);
        if (!number_between(&zone_hour, s, zone + 1, colon) || (colon < s.n && !number_between(&zone_minute, s, colon + 1, s.n)))
            return false;
    }
    size_t first = find(s, ':', 0), second_colon = first == s.n ? s.n : find(s, ':', first + 1);
    size_t dot = second_colon == s.n ? s.n : find(s, '.', second_colon);
    if (first == s.n) {
        if (!number_between(&hour, s, 0, end))
            return false;
    } else if (!number_between(&hour, s, 0, first) || !number_between(&minute, s, first + 1, second_colon == s.n ? end : second_colon)) {
        return false;
    } else if (second_colon < s.n) {
        if (!number_between(&second, s, second_colon + 1, dot == s.n ? end : dot) || (dot < s.n && dot + 1 > end))
            return false;
        fraction = dot < s.n ? milliseconds(s, dot + 1, end) : 0;
    }
    uint32_t hours = (uint32_t)hour + sign * (uint32_t)zone_hour, minutes = (uint32_t)minute + sign * (uint32_t)zone_minute;
    *ms = (int32_t)(hours * MS_PER_HOUR + minutes * MS_PER_MINUTE + (uint32_t)second * MS_PER_SECOND + (uint32_t)fraction);
    return true;
}

static int to_time(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    text s = text_of(v);
    (void)c;
    (void)scratch;
    out->kind = PML_VALUE_INT;
    if (is_numeric(s))
        return internal_number(&out->i, s, false, "TIME", err);
    return parse_time(&out->i, s) ? PML_OK : refuse("TIME", err);
}

/* One or two digits. */
static bool take_two(text *s, int32_t *v)
{
    size_t n = 0;
    *v = 0;
    while (n < 2 && n < s->n && is_digit(s->p[n]))
        *v = *v * 10 + (s->p[n++] - '0');
    s->p += n;
    s->n -= n;
    return n > 0;
}

static bool take(text *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

/* Four digits, or more behind a '+'. */
static bool take_year(text *s, int32_t *year)
{
    bool sign = take(s, '+');
    size_t n = 0;
    int32_t v = 0;
    while (n < 9 && n < s->n && is_digit(s->p[n]))
        v = v * 10 + (s->p[n++] - '0');
    *year = v;
    s->p += n;
    s->n -= n;
    return v > 0 && (sign ? n > 4 : n == 4);
}

/* " h:m:s[.f]" */
static bool take_clock(text *s, int64_t *ms, int32_t *nanos)
{
    int32_t hour, minute, second, fraction = 0, digits = 0;
    if (!take(s, ' ') || !take_two(s, &hour) || !take(s, ':') || !take_two(s, &minute) || !take(s, ':') || !take_two(s, &second))
        return false;
    for (bool point = take(s, '.'); point && digits < 9 && s->n > 0 && is_digit(s->p[0]); digits++, s->p++, s->n--)
        fraction = fraction * 10 + (s->p[0] - '0');
    for (; digits < 9; digits++)
        fraction *= 10;
    *ms = (int64_t)hour * MS_PER_HOUR + minute * MS_PER_MINUTE + second * MS_PER_SECOND + fraction / NANOS_PER_MS;
    *nanos = fraction % NANOS_PER_MS;
    bool midnight = hour == 24 && minute == 0 && second == 0 && fraction == 0; /* of the next day */
    return (hour <= 23 && minute <= 59 && second <= 59) || midnight;
}

/* y-m-d or y-m-d h:m:s[.f]. A day that a month does not have is its last one, up to the 31st. */
static bool parse_timestamp(pml_value *out, text s)
{
    int32_t year, month, day;
    int64_t ms = 0;
    out->ts.nanos = 0;
    if (!take_year(&s, &year) || !take(&s, '-') || !take_two(&s, &month) || !take(&s, '-') || !take_two(&s, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > 31 || (s.n > 0 && !take_clock(&s, &ms, &out->ts.nanos)) || s.n > 0)
        return false;
    day = day > days_of_month(year, month) ? days_of_month(year, month) : day;
    out->ts.ms = pml_number__days_from_civil(year, month, day) * MS_PER_DAY + ms;
    return true;
}

/* Digits below the precision are dropped, downwards. */
static void cut_fraction(pml_value *v, int32_t precision)
{
    int64_t step = 1;
    for (int32_t p = precision > 3 ? precision : 3; p < 9; p++)
        step *= 10;
    v->ts.nanos -= (int32_t)(v->ts.nanos % step);
    if (precision >= 3)
        return;
    for (step = 1; precision < 3; precision++)
        step *= 10;
    int64_t rest = v->ts.ms % step;
    v->ts.ms -= rest < 0 ? rest + step : rest;
}

/* Seconds, milliseconds, microseconds or nanoseconds, as the precision says; of others Java has none. */
static bool timestamp_of_number(pml_value *out, int64_t v, int32_t precision)
{
    if (precision != 0 && precision != 3 && precision != 6 && precision != 9)
        return false;
    if (precision == 0) {
        out->ts.ms = (int64_t)((uint64_t)v * MS_PER_SECOND);
        return true;
    }
    int64_t per_ms = precision == 3 ? 1 : precision == 6 ? 1000 : NANOS_PER_MS, rest = v % per_ms;
    out->ts.ms = v / per_ms - (rest < 0);
    out->ts.nanos = (int32_t)((rest < 0 ? rest + per_ms : rest) * (NANOS_PER_MS / per_ms));
    return true;
}

static int to_timestamp(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *scratch, pml_error *err)
{
    text s = text_of(v);
    bool zoned = c->to->kind == PML_TYPE_TIMESTAMP_LTZ;
    int64_t number;
    (void)scratch;
    *out = (pml_value){.kind = PML_VALUE_TIMESTAMP};
    if (!zoned && is_numeric(s)) {
        PML_RETURN_IF(internal_number(&number, s, true, "TIMESTAMP", err));
        return timestamp_of_number(out, number, c->to->precision) ? PML_OK : refuse("TIMESTAMP of this precision", err);
    }
    if (!parse_timestamp(out, s))
        return refuse("TIMESTAMP", err);
    cut_fraction(out, c->to->precision);
    if (zoned)
        out->ts.ms = pml_zone__instant_of_local(out->ts.ms);
    return PML_OK;
}

pml_cast_rule pml_cast_rule__parse(const pml_type *from, const pml_type *to)
{
    if (!pml_cast__is_text(from))
        return NULL;
    switch (to->kind) {
    case PML_TYPE_BOOLEAN: return to_boolean;
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT: return to_integer;
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE: return to_floating;
    case PML_TYPE_DECIMAL: return to_decimal;
    case PML_TYPE_DATE: return to_date;
    case PML_TYPE_TIME: return to_time;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return to_timestamp;
    default: return NULL;
    }
}
