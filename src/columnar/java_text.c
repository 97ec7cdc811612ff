/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/java_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "util/number.h"

/* ---- floating point ---- */

enum { DIGITS_MIN = 2, DIGITS_MAX = 17 };

/* A normal number of so many digits comes back from its nearest neighbour: rounding to them finds every shorter text, too, with zeros
   behind it. */
static int digits_first(double d, bool single)
{
    if (fabs(d) < (single ? (double)FLT_MIN : DBL_MIN))
        return DIGITS_MIN;
    return single ? FLT_DIG : DBL_DIG;
}

/* The digits of |d| rounded to n of them, and the exponent of the first: d = 0.d1d2d3... * 10^(exponent + 1). Skips what is
   not a digit, as printf takes the decimal point from the locale. */
static void decimal_digits(char digits[DIGITS_MAX + 1], int64_t *exponent, double d, int n)
{
    char text[64];
    const char *p = text;
    int at = 0;
    (void)snprintf(text, sizeof text, "%.*e", n - 1, fabs(d));
    for (; *p != '\0' && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && at < DIGITS_MAX)
            digits[at++] = *p;
    digits[at] = '\0';
    p += *p == 'e';
    p += *p == '+';
    (void)pml_number__int64(exponent, p, strlen(p));
}

/* True if these digits are read as the very same number. */
static bool reads_back(const char *digits, int64_t exponent, double d, bool single)
{
    char text[64];
    double back;
    float back_single;
    int n = snprintf(text, sizeof text, "%se%lld", digits, (long long)exponent - (long long)strlen(digits) + 1);
    if (single)
        return pml_number__float(&back_single, text, (size_t)n) && back_single == (float)fabs(d);
    return pml_number__double(&back, text, (size_t)n) && back == fabs(d);
}

/*
 * Float.toString and Double.toString: the shortest digits, but at least two, that are read as the same number; plain from
 * 10^-3 to 10^7, else one digit before the point and an exponent. That is what JDK 19 and later print. Older ones sometimes
 * print a digit more than needed (JDK-4511638): a directory that such a Java named after such a number is not found here.
 */
static int append_floating(pml_buf *out, double d, bool single)
{
    char digits[DIGITS_MAX + 1];
    int64_t exponent = 0;
    if (isnan(d))
        return pml_buf__append_str(out, "NaN");
    if (signbit(d))
        (void)pml_buf__append_byte(out, '-');
    if (isinf(d))
        return pml_buf__append_str(out, "Infinity");
    if (d == 0.0)
        return pml_buf__append_str(out, "0.0");
    for (int n = digits_first(d, single); n <= DIGITS_MAX; n++) {
        decimal_digits(digits, &exponent, d, n);
        if (reads_back(digits, exponent, d, single))
            break;
    }
    int64_t len = (int64_t)strlen(digits);
    while (len > 1 && digits[len - 1] == '0')
        digits[--len] = '\0';
    bool plain = exponent >= -3 && exponent < 7;
    int64_t before = !plain ? 1 : exponent + 1; /* digits before the point; not positive: zeros follow the point */
    if (before <= 0)
        (void)pml_buf__append_str(out, "0.");
    for (int64_t i = before; i < 0; i++)
        (void)pml_buf__append_byte(out, '0');
    /* At least one digit behind the point. */
    for (int64_t i = 0; i < len || i <= before; i++) {
        if (i == before && i > 0)
            (void)pml_buf__append_byte(out, '.');
        (void)pml_buf__append_byte(out, i < len ? (uint8_t)digits[i] : '0');
    }
    return plain ? out->rc : pml_buf__append_format(out, "E%lld", (long long)exponent);
}

/* ---- times ---- */

enum { STAMP_TAIL = 10, SECONDS = 3 }; /* ".123456789" and ":59" */

/* "2024-01-02T03:04:05.123456789" at the end of out. */
static int append_nanos(pml_buf *out, const pml_value *v)
{
    static const pml_type nanos = {.kind = PML_TYPE_TIMESTAMP, .precision = 9};
    return pml_value__print(out, &nanos, v);
}

static size_t trailing_zeros(const pml_buf *out, size_t max)
{
    size_t n = 0;
    while (n < max && out->data[out->len - 1 - n] == '0')
        n++;
    return n;
}

/* LocalDateTime.toString: fraction of 0, 3, 6 or 9 digits, and no seconds when all of them is zero. */
static int append_local_date_time(pml_buf *out, const pml_value *v)
{
    if (append_nanos(out, v) != PML_OK)
        return out->rc;
    size_t zeros = trailing_zeros(out, 9) / 3 * 3;
    out->len -= zeros == 9 ? STAMP_TAIL : zeros;
    if (zeros == 9 && memcmp(out->data + out->len - SECONDS, ":00", SECONDS) == 0)
        out->len -= SECONDS;
    return PML_OK;
}

/* A blank between date and time, exactly p digits of a fraction, more only if they are not zero. */
static int append_sql_timestamp(pml_buf *out, const pml_type *t, const pml_value *v)
{
    size_t from = out->len, precision = t->precision > 9 ? 9 : (size_t)t->precision;
    if (append_nanos(out, v) != PML_OK)
        return out->rc;
    uint8_t *separator = memchr(out->data + from, 'T', out->len - from);
    if (separator != NULL)
        *separator = ' ';
    size_t zeros = trailing_zeros(out, 9 - precision);
    out->len -= zeros == 9 ? STAMP_TAIL : zeros;
    return PML_OK;
}

/* Up to min(p, 3) digits without trailing zeros, but at least one when p > 0. */
static int append_sql_time(pml_buf *out, const pml_type *t, const pml_value *v)
{
    size_t digits = t->precision > 3 ? 3 : (size_t)t->precision;
    if (pml_value__print(out, t, v) != PML_OK)
        return out->rc;
    out->len -= digits == 0 ? 4 : 3 - digits;
    if (digits > 1)
        out->len -= trailing_zeros(out, digits - 1);
    return PML_OK;
}

/* ---- the two forms ---- */

static int refuse(const char *what, pml_error *err)
{
    return pml_error__set(err, PML_E_UNSUPPORTED, "Java's text of %s values cannot be made", what);
}

/* What both forms agree on. */
static int append_common(pml_buf *out, const pml_type *t, const pml_value *v, pml_error *err)
{
    switch (t->kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return pml_value__print(out, t, v);
    case PML_TYPE_FLOAT: return append_floating(out, (double)v->f, true);
    case PML_TYPE_DOUBLE: return append_floating(out, v->d, false);
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: return refuse("BINARY", err);
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: break;
    }
    return refuse("nested", err);
}

int pml_java_text__cast(pml_buf *out, const pml_type *t, const pml_value *v, pml_error *err)
{
    if (t->kind == PML_TYPE_TIMESTAMP_LTZ)
        return refuse("TIMESTAMP WITH LOCAL TIME ZONE", err);
    int rc = t->kind == PML_TYPE_TIMESTAMP ? append_sql_timestamp(out, t, v)
             : t->kind == PML_TYPE_TIME    ? append_sql_time(out, t, v)
                                           : append_common(out, t, v, err);
    return rc == PML_E_UNSUPPORTED ? rc : pml_buf__check(out, err);
}

int pml_java_text__to_string(pml_buf *out, const pml_type *t, const pml_value *v, pml_error *err)
{
    int rc;
    if (t->kind == PML_TYPE_DATE || t->kind == PML_TYPE_TIME)
        rc = pml_buf__append_format(out, "%lld", (long long)v->i);
    else if (t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ)
        rc = append_local_date_time(out, v);
    else
        rc = append_common(out, t, v, err);
    return rc == PML_E_UNSUPPORTED ? rc : pml_buf__check(out, err);
}

/* Characters beyond U+FFFF, which begin with F0 and more here, come before U+E000 to U+FFFF. */
int pml_java_text__compare(pml_bytes x, pml_bytes y)
{
    size_t i = 0, n = x.len < y.len ? x.len : y.len;
    while (i < n && x.ptr[i] == y.ptr[i])
        i++;
    if (i == n)
        return pml_bytes_compare(x, y);
    /* The first byte that differs may be inside a character: then both are of the same kind. */
    bool high_x = x.ptr[i] >= 0xf0, high_y = y.ptr[i] >= 0xf0, private_x = x.ptr[i] >= 0xee,
         private_y = y.ptr[i] >= 0xee;
    if (high_x != high_y && private_x && private_y)
        return high_x ? -1 : 1;
    return x.ptr[i] < y.ptr[i] ? -1 : 1;
}

/* ---- characters ---- */

uint32_t pml_java_text__character(const uint8_t *p, size_t *n)
{
    uint32_t c = p[0];
    *n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    c &= *n == 1 ? 0x7F : 0xFFu >> (*n + 1);
    for (size_t i = 1; i < *n; i++)
        c = c << 6 | (p[i] & 0x3F);
    return c;
}

int pml_java_text__digit(const uint8_t *p, size_t *n)
{
    /* They come in rows of ten; beyond 16 bits Java's char is half of a character. */
    static const uint16_t zeros[] = {0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
                                     0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
                                     0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10};
    uint32_t c = pml_java_text__character(p, n);
    if (c < 0x80)
        return c >= '0' && c <= '9' ? (int)(c - '0') : -1;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        if (c >= zeros[i] && c < zeros[i] + 10u)
            return (int)(c - zeros[i]);
    return -1;
}

/* ---- bytes that may be no text ---- */

static bool continues(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Whether no character begins with these two bytes; half a surrogate pair is found out at its third. */
static bool never_begins(uint8_t first, uint8_t second)
{
    if (!continues(second))
        return true;
    switch (first) {
    case 0xE0: return second < 0xA0;
    case 0xF0: return second < 0x90;
    case 0xF4: return second > 0x8F;
    default: return first > 0xF4;
    }
}

/* How many of the n > 0 bytes at p make one character, or one U+FFFD: the longest beginning of a character, as the Unicode standard
   recommends, but all three bytes of half a surrogate pair. */
static size_t piece(const uint8_t *p, size_t n, bool *good)
{
    size_t wanted = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0, have = 1;
    *good = wanted == 1;
    if (wanted <= 1 || n == 1 || never_begins(p[0], p[1]))
        return 1;
    while (have < wanted && have < n && continues(p[have]))
        have++;
    *good = have == wanted && !(p[0] == 0xED && p[1] >= 0xA0);
    return have;
}

int pml_java_text__decode(pml_buf *out, pml_bytes bytes)
{
    static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};
    for (size_t i = 0, n; i < bytes.len; i += n) {
        bool good;
        n = piece(bytes.ptr + i, bytes.len - i, &good);
        PML_RETURN_IF(pml_buf__append(out, good ? bytes.ptr + i : replacement, good ? n : sizeof replacement));
    }
    return PML_OK;
}
