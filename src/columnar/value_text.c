/* SPDX-License-Identifier: Apache-2.0 */
/* Printing values in the canonical row form. Nothing here looks at the program's locale. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "columnar/value.h"
#include "util/number.h"

enum { MS_PER_SECOND = 1000, MS_PER_DAY = 86400000 };

/* printf takes the decimal point from the locale, where it may be several bytes: all that is not part of a number in C's
   form is that point. */
static int append_double(pml_buf *out, double d, int digits)
{
    char text[64];
    bool in_point = false;
    if (isnan(d))
        return pml_buf__append_str(out, "NaN");
    if (isinf(d))
        return pml_buf__append_str(out, d < 0 ? "-Infinity" : "Infinity");
    (void)snprintf(text, sizeof text, "%.*g", digits, d);
    for (const char *p = text; *p != '\0'; p++) {
        bool plain = strchr("0123456789+-e", *p) != NULL;
        if (plain || !in_point)
            (void)pml_buf__append_byte(out, plain ? (uint8_t)*p : '.');
        in_point = !plain;
    }
    return out->rc;
}

static int append_decimal(pml_buf *out, pml_int128 v, int32_t scale)
{
    char digits[48];
    int32_t at = sizeof digits, n = 0;
    unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    /* At least one digit before the point. */
    while ((rest != 0 || n <= scale) && at > 1) {
        if (n == scale && scale > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
        n++;
    }
    if (v < 0)
        (void)pml_buf__append_byte(out, '-');
    return pml_buf__append(out, digits + at, sizeof digits - (size_t)at);
}

static int append_hex(pml_buf *out, pml_bytes bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        (void)pml_buf__append_byte(out, (uint8_t)digits[bytes.ptr[i] >> 4]);
        (void)pml_buf__append_byte(out, (uint8_t)digits[bytes.ptr[i] & 15]);
    }
    return out->rc;
}

static int append_date(pml_buf *out, int64_t days)
{
    int64_t year;
    int month, day;
    pml_number__civil_from_days(days, &year, &month, &day);
    /* As java.time.LocalDate: a sign before more than four digits. */
    const char *sign = year < 0 ? "-" : year > 9999 ? "+" : "";
    return pml_buf__append_format(out, "%s%04lld-%02d-%02d", sign, (long long)(year < 0 ? -year : year), month, day);
}

static int append_clock(pml_buf *out, int64_t second_of_day)
{
    return pml_buf__append_format(out, "%02d:%02d:%02d", (int)(second_of_day / 3600), (int)(second_of_day / 60 % 60),
                                  (int)(second_of_day % 60));
}

/* Quotient rounded down, and the rest, which is never negative. */
static int64_t floor_div(int64_t *rest, int64_t v, int64_t by)
{
    int64_t q = v / by;
    *rest = v % by;
    if (*rest < 0) {
        *rest += by;
        q--;
    }
    return q;
}

static int append_time(pml_buf *out, int64_t ms)
{
    /* A damaged file may hold any number: it is shown as a time of some day, never as a wrong number of digits. */
    int64_t of_day;
    (void)floor_div(&of_day, ms, MS_PER_DAY);
    (void)append_clock(out, of_day / MS_PER_SECOND);
    return pml_buf__append_format(out, ".%03d", (int)(of_day % MS_PER_SECOND));
}

static int append_timestamp(pml_buf *out, const pml_type *t, const pml_value *v)
{
    int64_t of_day;
    int64_t days = floor_div(&of_day, v->ts.ms, MS_PER_DAY);
    (void)append_date(out, days);
    (void)pml_buf__append_byte(out, 'T');
    (void)append_clock(out, of_day / MS_PER_SECOND);
    if (t->precision > 0 && t->precision <= 9) {
        char fraction[24];
        (void)snprintf(fraction, sizeof fraction, ".%03d%06d", (int)(of_day % MS_PER_SECOND), (int)v->ts.nanos);
        (void)pml_buf__append(out, fraction, (size_t)t->precision + 1);
    }
    if (t->kind == PML_TYPE_TIMESTAMP_LTZ)
        (void)pml_buf__append_byte(out, 'Z');
    return out->rc;
}

static int append_int(pml_buf *out, const pml_type *t, int64_t v)
{
    if (t->kind == PML_TYPE_DATE)
        return append_date(out, v);
    if (t->kind == PML_TYPE_TIME)
        return append_time(out, v);
    return pml_buf__append_format(out, "%lld", (long long)v);
}

int pml_value__print(pml_buf *out, const pml_type *t, const pml_value *v)
{
    switch (v->kind) {
    case PML_VALUE_NULL: return pml_buf__append_str(out, "null");
    case PML_VALUE_BOOL: return pml_buf__append_str(out, v->i != 0 ? "true" : "false");
    case PML_VALUE_INT: return append_int(out, t, v->i);
    case PML_VALUE_FLOAT: return append_double(out, (double)v->f, 9);
    case PML_VALUE_DOUBLE: return append_double(out, v->d, 17);
    case PML_VALUE_BYTES:
        if (t->kind == PML_TYPE_CHAR || t->kind == PML_TYPE_VARCHAR)
            return pml_buf__append(out, v->bytes.ptr, v->bytes.len);
        return append_hex(out, v->bytes);
    case PML_VALUE_DECIMAL: return append_decimal(out, v->dec, t->scale);
    case PML_VALUE_TIMESTAMP: return append_timestamp(out, t, v);
    }
    return PML_E_INTERNAL;
}
