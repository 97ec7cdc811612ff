/* SPDX-License-Identifier: Apache-2.0 */
/* Casts among numbers and BOOLEAN, with Java's conversions: whole numbers keep their low bits, floating-point ones saturate. */
#include "columnar/cast_rule.h"

#include <math.h>
#include <stdio.h>

#include "columnar/java_text.h"
#include "util/number.h"

/* ---- Java's conversions ---- */

static inline int64_t java_long(double d)
{
    if (isnan(d))
        return 0;
    return d >= 9223372036854775808.0 ? INT64_MAX : d <= -9223372036854775808.0 ? INT64_MIN : (int64_t)d;
}

/* Also on the way to the smaller types, which take the low bits of it. */
static inline int32_t java_int(double d)
{
    if (isnan(d))
        return 0;
    return d >= 2147483647.0 ? INT32_MAX : d <= -2147483648.0 ? INT32_MIN : (int32_t)d;
}

/* The low bits, with their sign. */
static int64_t narrow(const pml_type *t, int64_t v)
{
    switch (t->kind) {
    case PML_TYPE_TINYINT: return (int8_t)v;
    case PML_TYPE_SMALLINT: return (int16_t)v;
    case PML_TYPE_INT: return (int32_t)v;
    default: return v;
    }
}

static void put_integer(pml_value *out, const pml_type *t, int64_t v)
{
    if (t->kind == PML_TYPE_FLOAT)
        *out = (pml_value){.kind = PML_VALUE_FLOAT, .f = (float)v};
    else if (t->kind == PML_TYPE_DOUBLE)
        *out = (pml_value){.kind = PML_VALUE_DOUBLE, .d = (double)v};
    else if (t->kind == PML_TYPE_DECIMAL)
        pml_cast__decimal(out, t, v, 0);
    else
        *out = (pml_value){.kind = PML_VALUE_INT, .i = narrow(t, v)};
}

/* ---- decimals ---- */

enum { DECIMAL_DIGITS_MAX = 38, COMPACT_DIGITS_MAX = 18, DOUBLE_EXACT_DIGITS = 22 };

static pml_int128 power_of_ten(int32_t n)
{
    pml_int128 v = 1;
    for (; n > 0; n--)
        v *= 10;
    return v;
}

void pml_cast__decimal(pml_value *out, const pml_type *t, pml_int128 unscaled, int32_t scale)
{
    pml_int128 v = unscaled;
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (t->scale >= scale) {
        if (__builtin_mul_overflow(v, power_of_ten(t->scale - scale), &v))
            return;
    } else {
        pml_int128 by = power_of_ten(scale - t->scale), rest = v % by;
        rest = rest < 0 ? -rest : rest;
        v = v / by;
        if (rest >= by - rest)
            v += unscaled < 0 ? -1 : 1;
    }
    pml_int128 end = power_of_ten(t->precision);
    if (v < end && v > -end)
        *out = (pml_value){.kind = PML_VALUE_DECIMAL, .dec = v};
}

/* A decimal text taken apart: sign, digits without leading zeros, and where the point is. */
typedef struct decimal_text {
    bool negative;
    const char *p;   /* first digit that is not 0 */
    const char *end; /* of the digits */
    int64_t before;  /* digits before the point, may be negative */
    bool zero;
} decimal_text;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-]digits as an exponent; as long as it fits an int, which is all that BigDecimal takes. */
static bool exponent_of(int64_t *e, const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (p == end)
        return false;
    for (*e = 0; p < end; p++) {
        if (!is_digit(*p))
            return false;
        *e = *e * 10 + (*p - '0');
        if (*e > INT32_MAX)
            return false;
    }
    *e = negative ? -*e : *e;
    return true;
}

static bool take_apart(decimal_text *d, const char *p, size_t n)
{
    const char *end = p + n, *point = NULL;
    int64_t exponent = 0, digits = 0;
    *d = (decimal_text){.negative = n > 0 && *p == '-', .zero = true};
    p += n > 0 && (*p == '-' || *p == '+');
    for (; p < end && (is_digit(*p) || (*p == '.' && point == NULL)); p++) {
        if (*p == '.') {
            point = p;
            continue;
        }
        digits++;
        if (d->zero && *p == '0' && point != NULL)
            d->before--;
        d->zero = d->zero && *p == '0';
        if (d->p == NULL && *p != '0')
            d->p = p;
        d->before += !d->zero && point == NULL;
    }
    d->end = p;
    if (digits == 0 || (p < end && *p != 'e' && *p != 'E') || (p < end && !exponent_of(&exponent, p + 1, end)))
        return false;
    d->before += exponent;
    return true;
}

bool pml_cast__parse_decimal(pml_value *out, const pml_type *t, const char *p, size_t n)
{
    decimal_text d;
    pml_int128 v = 0;
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (!take_apart(&d, p, n))
        return false;
    int64_t keep = d.zero ? 0 : d.before + t->scale; /* digits of the result */
    if (keep > DECIMAL_DIGITS_MAX)
        return true;
    bool up = false;
    int64_t at = 0;
    for (const char *q = d.p; !d.zero && keep >= 0 && q < d.end && at <= keep; q++) {
        if (*q == '.')
            continue;
        if (at < keep)
            v = v * 10 + (*q - '0');
        else
            up = *q >= '5';
        at++;
    }
    for (; at < keep; at++)
        v *= 10;
    v += up;
    pml_cast__decimal(out, t, d.negative ? -v : v, t->scale);
    return true;
}

/* As Java's DecimalUtils.doubleValue: up to 18 digits are divided as they are, which rounds twice beyond 2^53; longer ones round once. A
   FLOAT is that DOUBLE, rounded again. */
static double decimal_to_double(const pml_type *from, pml_int128 v)
{
    unsigned __int128 size = v < 0 ? 0 - (unsigned __int128)v : (unsigned __int128)v;
    bool exact = size < ((unsigned __int128)1 << 53) && from->scale <= DOUBLE_EXACT_DIGITS; /* both numbers: the quotient is rounded once */
    if (exact || (from->precision <= COMPACT_DIGITS_MAX && size <= INT64_MAX))
        return (double)(int64_t)v / (double)power_of_ten(from->scale);
    char text[48];
    int at = sizeof text;
    for (int32_t e = 0; at > 0 && (size != 0 || e == 0); e++, size /= 10)
        text[--at] = (char)('0' + (int)(size % 10));
    char number[64];
    double d = 0;
    int n = snprintf(number, sizeof number, "%s%.*se-%d", v < 0 ? "-" : "", (int)sizeof text - at, text + at, from->scale);
    (void)pml_number__double(&d, number, (size_t)n);
    return d;
}

/* ---- rules ---- */

static int from_integer(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    (void)text;
    (void)err;
    put_integer(out, c->to, v->i);
    return PML_OK;
}

static int integer_to_boolean(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    (void)c;
    (void)text;
    (void)err;
    *out = (pml_value){.kind = PML_VALUE_BOOL, .i = v->i != 0};
    return PML_OK;
}

static int floating_to_number(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    double d = v->kind == PML_VALUE_FLOAT ? (double)v->f : v->d;
    (void)text;
    (void)err;
    if (c->to->kind == PML_TYPE_FLOAT)
        *out = (pml_value){.kind = PML_VALUE_FLOAT, .f = (float)d};
    else if (c->to->kind == PML_TYPE_DOUBLE)
        *out = (pml_value){.kind = PML_VALUE_DOUBLE, .d = d};
    else
        *out = (pml_value){.kind = PML_VALUE_INT, .i = c->to->kind == PML_TYPE_BIGINT ? java_long(d) : narrow(c->to, java_int(d))};
    return PML_OK;
}

/* By way of the shortest text; a FLOAT is widened first, so that 0.1 has the digits of a DOUBLE. */
static int floating_to_decimal(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    static const pml_type wide = {.kind = PML_TYPE_DOUBLE};
    const pml_value d = {.kind = PML_VALUE_DOUBLE, .d = v->kind == PML_VALUE_FLOAT ? (double)v->f : v->d};
    PML_RETURN_IF(pml_java_text__cast(text, &wide, &d, err));
    bool ok = pml_cast__parse_decimal(out, c->to, (const char *)text->data, text->len);
    return ok ? PML_OK : pml_error__set(err, PML_E_INVAL, "it is not finite");
}

static int decimal_to_number(pml_value *out, const pml_cast *c, const pml_value *v, pml_buf *text, pml_error *err)
{
    (void)text;
    (void)err;
    if (c->to->kind == PML_TYPE_DECIMAL)
        pml_cast__decimal(out, c->to, v->dec, c->from->scale);
    else if (c->to->kind == PML_TYPE_FLOAT)
        *out = (pml_value){.kind = PML_VALUE_FLOAT, .f = (float)decimal_to_double(c->from, v->dec)};
    else if (c->to->kind == PML_TYPE_DOUBLE)
        *out = (pml_value){.kind = PML_VALUE_DOUBLE, .d = decimal_to_double(c->from, v->dec)};
    else
        put_integer(out, c->to, (int64_t)(v->dec / power_of_ten(c->from->scale)));
    return PML_OK;
}

pml_cast_rule pml_cast_rule__number(const pml_type *from, const pml_type *to)
{
    bool number = pml_cast__is_integer(to) || pml_type__is_float(to) || to->kind == PML_TYPE_DECIMAL;
    if (pml_cast__is_integer(from) && to->kind == PML_TYPE_BOOLEAN)
        return integer_to_boolean;
    if (!number)
        return NULL;
    if (pml_cast__is_integer(from) || from->kind == PML_TYPE_BOOLEAN)
        return from_integer;
    if (pml_type__is_float(from))
        return to->kind == PML_TYPE_DECIMAL ? floating_to_decimal : floating_to_number;
    return from->kind == PML_TYPE_DECIMAL ? decimal_to_number : NULL;
}

/* ---- loops ---- */

#define CAST_LOOP(D, EXPRESSION)            \
    do {                                    \
        D *d = dst;                         \
        for (int64_t i = 0; i < n; i++)     \
            d[i] = (D)(EXPRESSION);         \
        return true;                        \
    } while (0)

#define CAST_FROM(S, NAME, AS_INT, AS_LONG)                                        \
    static bool NAME(void *dst, pml_type_kind to, const S *s, int64_t n)           \
    {                                                                              \
        switch (to) {                                                              \
        case PML_TYPE_TINYINT: CAST_LOOP(int8_t, AS_INT(s[i]));                    \
        case PML_TYPE_SMALLINT: CAST_LOOP(int16_t, AS_INT(s[i]));                  \
        case PML_TYPE_INT: CAST_LOOP(int32_t, AS_INT(s[i]));                       \
        case PML_TYPE_BIGINT: CAST_LOOP(int64_t, AS_LONG(s[i]));                   \
        case PML_TYPE_FLOAT: CAST_LOOP(float, s[i]);                               \
        case PML_TYPE_DOUBLE: CAST_LOOP(double, s[i]);                             \
        default: return false;                                                     \
        }                                                                          \
    }

#define CAST_AS_IS(x)      (x)
#define CAST_JAVA_INT(x)  (java_int((double)(x)))
#define CAST_JAVA_LONG(x) (java_long((double)(x)))
CAST_FROM(int8_t, from_tinyint, CAST_AS_IS, CAST_AS_IS)
CAST_FROM(int16_t, from_smallint, CAST_AS_IS, CAST_AS_IS)
CAST_FROM(int32_t, from_int, CAST_AS_IS, CAST_AS_IS)
CAST_FROM(int64_t, from_bigint, CAST_AS_IS, CAST_AS_IS)
CAST_FROM(float, from_float, CAST_JAVA_INT, CAST_JAVA_LONG)
CAST_FROM(double, from_double, CAST_JAVA_INT, CAST_JAVA_LONG)

bool pml_cast__numbers(void *dst, const pml_cast *c, const void *src, int64_t n)
{
    switch (c->from->kind) {
    case PML_TYPE_TINYINT: return from_tinyint(dst, c->to->kind, src, n);
    case PML_TYPE_SMALLINT: return from_smallint(dst, c->to->kind, src, n);
    case PML_TYPE_INT: return from_int(dst, c->to->kind, src, n);
    case PML_TYPE_BIGINT: return from_bigint(dst, c->to->kind, src, n);
    case PML_TYPE_FLOAT: return from_float(dst, c->to->kind, src, n);
    case PML_TYPE_DOUBLE: return from_double(dst, c->to->kind, src, n);
    default: return false;
    }
}
