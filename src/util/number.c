/* SPDX-License-Identifier: Apache-2.0 */
#include "util/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool pml_number__int64(int64_t *out, const char *s, size_t n)
{
    bool negative = n > 0 && s[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t v = 0;
    if (i == n)
        return false;
    for (; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        /* Accumulated as a negative number, which reaches one further than the positive ones. */
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s[i] - '0', &v))
            return false;
    }
    if (!negative && v == INT64_MIN)
        return false;
    *out = negative ? v : -v;
    return true;
}

/* Copies text that may be a number in C's form, so that it ends in NUL; words become HUGE_VAL or NAN at once. */
static bool number_text(char text[400], bool *done, double *word, const char *s, size_t n)
{
    static const struct { const char *text; double sign; bool nan; } words[] = {
        {"NaN", 1, true}, {"Infinity", 1, false}, {"-Infinity", -1, false}};
    *done = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == n && memcmp(words[i].text, s, n) == 0) {
            *word = words[i].nan ? (double)NAN : words[i].sign * (double)INFINITY;
            return *done = true;
        }
    if (n == 0 || n >= 400)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strchr("0123456789+-.eE", s[i]) == NULL || s[i] == '\0')
            return false;
    memcpy(text, s, n);
    text[n] = '\0';
    return true;
}

/* The program's locale may have another decimal point: both parsers are given C's own. False: not all of the text is a number. */
static bool parse_double(double *out, const char *text)
{
    char *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    *out = strtod_l(text, &end, c);
    freelocale(c);
    return *end == '\0';
}

static bool parse_float(float *out, const char *text)
{
    char *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    *out = strtof_l(text, &end, c);
    freelocale(c);
    return *end == '\0';
}

bool pml_number__double(double *out, const char *s, size_t n)
{
    char text[400];
    bool done;
    if (!number_text(text, &done, out, s, n))
        return false;
    return done || parse_double(out, text);
}

bool pml_number__float(float *out, const char *s, size_t n)
{
    char text[400];
    double word = 0;
    bool done;
    if (!number_text(text, &done, &word, s, n))
        return false;
    *out = (float)word;
    return done || parse_float(out, text);
}

static size_t count_digits(const char *s, size_t n, size_t from, bool hex)
{
    size_t i = from;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || (hex && ((s[i] | 32) >= 'a' && (s[i] | 32) <= 'f'))))
        i++;
    return i - from;
}

/* Digits, a point, an exponent; without the sign and the letter behind it. */
static bool is_java_number(const char *s, size_t n)
{
    bool hex = n > 1 && s[0] == '0' && (s[1] | 32) == 'x';
    size_t i = hex ? 2 : 0, digits = count_digits(s, n, i, hex);
    i += digits;
    if (i < n && s[i] == '.') {
        size_t behind = count_digits(s, n, i + 1, hex);
        digits += behind;
        i += 1 + behind;
    }
    if (digits == 0)
        return false;
    bool exponent = i < n && (s[i] | 32) == (hex ? 'p' : 'e');
    if (!exponent)
        return !hex && i == n;
    i++;
    i += i < n && (s[i] == '+' || s[i] == '-');
    digits = count_digits(s, n, i, false);
    return digits > 0 && i + digits == n;
}

/* The text that C's parser reads as Java reads s; false: Java does not. A word becomes a value at once. */
static bool java_text(char text[400], bool *done, double *word, const char *s, size_t n)
{
    *done = false;
    while (n > 0 && (unsigned char)s[0] <= ' ')
        s++, n--;
    while (n > 0 && (unsigned char)s[n - 1] <= ' ')
        n--;
    bool sign = n > 0 && (s[0] == '-' || s[0] == '+'), negative = sign && s[0] == '-';
    s += sign;
    n -= sign;
    if (n == 3 && memcmp(s, "NaN", 3) == 0) {
        *word = (double)NAN;
        return *done = true;
    }
    if (n == 8 && memcmp(s, "Infinity", 8) == 0) {
        *word = negative ? -(double)INFINITY : (double)INFINITY;
        return *done = true;
    }
    /* In hexadecimal, too: the letter is behind the exponent, whose digits are decimal. */
    if (n > 1 && ((s[n - 1] | 32) == 'f' || (s[n - 1] | 32) == 'd'))
        n--;
    if (n >= 398 || !is_java_number(s, n))
        return false;
    text[0] = negative ? '-' : '+';
    memcpy(text + 1, s, n);
    text[n + 1] = '\0';
    return true;
}

bool pml_number__java_double(double *out, const char *s, size_t n)
{
    char text[400];
    bool done;
    if (!java_text(text, &done, out, s, n))
        return false;
    return done || parse_double(out, text);
}

bool pml_number__java_float(float *out, const char *s, size_t n)
{
    char text[400];
    double word = 0;
    bool done;
    if (!java_text(text, &done, &word, s, n))
        return false;
    *out = (float)word;
    return done || parse_float(out, text);
}

static size_t skip_blanks(const char *s, size_t n, size_t i)
{
    while (i < n && s[i] == ' ')
        i++;
    return i;
}

static bool split_unit(int64_t *v, const char **unit, size_t *unit_len, const char *s, size_t n)
{
    size_t from = skip_blanks(s, n, 0), to = from;
    while (n > from && s[n - 1] == ' ')
        n--;
    while (to < n && s[to] >= '0' && s[to] <= '9')
        to++;
    if (!pml_number__int64(v, s + from, to - from))
        return false;
    to = skip_blanks(s, n, to);
    *unit = s + to;
    *unit_len = n - to;
    return true;
}

struct unit {
    const char *name;
    int64_t factor;
};

static bool scale(int64_t *out, int64_t v, const char *unit, size_t len, const struct unit *units, size_t n_units)
{
    for (size_t i = 0; i < n_units; i++)
        if (strlen(units[i].name) == len && strncasecmp(units[i].name, unit, len) == 0)
            return !__builtin_mul_overflow(v, units[i].factor, out);
    return false;
}

bool pml_number__size(int64_t *bytes, const char *s, size_t n)
{
    static const struct unit units[] = {
        {"", 1},           {"b", 1},          {"bytes", 1},      {"k", 1LL << 10},  {"kb", 1LL << 10},
        {"kibibytes", 1LL << 10}, {"m", 1LL << 20}, {"mb", 1LL << 20}, {"mebibytes", 1LL << 20}, {"g", 1LL << 30},
        {"gb", 1LL << 30}, {"gibibytes", 1LL << 30}, {"t", 1LL << 40}, {"tb", 1LL << 40}, {"tebibytes", 1LL << 40}};
    const char *unit;
    size_t len;
    int64_t v;
    return split_unit(&v, &unit, &len, s, n) && scale(bytes, v, unit, len, units, sizeof units / sizeof units[0]);
}

/* PnDTnHnMnS with whole numbers: what Java's Duration.parse takes, without fractions. */
static bool duration_iso(int64_t *ms, const char *s, size_t n)
{
    bool time = false;
    int64_t sum = 0;
    size_t i = 1;
    while (i < n) {
        if ((s[i] == 'T' || s[i] == 't') && !time) {
            time = true;
            i++;
            continue;
        }
        size_t from = i;
        int64_t v, part;
        while (i < n && s[i] >= '0' && s[i] <= '9')
            i++;
        if (i == n || !pml_number__int64(&v, s + from, i - from))
            return false;
        char u = (char)(s[i] & ~0x20);
        int64_t factor = u == 'D' && !time ? 86400000 : u == 'H' && time ? 3600000 : u == 'M' && time ? 60000 : u == 'S' && time ? 1000 : 0;
        if (factor == 0 || __builtin_mul_overflow(v, factor, &part) || __builtin_add_overflow(sum, part, &sum))
            return false;
        i++;
    }
    *ms = sum;
    return n > 2;
}

bool pml_number__duration_ms(int64_t *ms, const char *s, size_t n)
{
    static const struct unit units[] = {
        {"", 1},          {"ms", 1},        {"milli", 1},        {"millis", 1},      {"millisecond", 1},  {"milliseconds", 1},
        {"s", 1000},      {"sec", 1000},    {"secs", 1000},      {"second", 1000},   {"seconds", 1000},   {"m", 60000},
        {"min", 60000},   {"minute", 60000}, {"minutes", 60000}, {"h", 3600000},     {"hour", 3600000},   {"hours", 3600000},
        {"d", 86400000},  {"day", 86400000}, {"days", 86400000}};
    const char *unit;
    size_t len;
    int64_t v;
    if (n > 0 && (s[0] == 'P' || s[0] == 'p'))
        return duration_iso(ms, s, n);
    return split_unit(&v, &unit, &len, s, n) && scale(ms, v, unit, len, units, sizeof units / sizeof units[0]);
}

bool pml_number__bool(bool *out, const char *s, size_t n)
{
    if (n == 4 && strncasecmp(s, "true", 4) == 0)
        *out = true;
    else if (n == 5 && strncasecmp(s, "false", 5) == 0)
        *out = false;
    else
        return false;
    return true;
}

/* Both directions count in eras of 400 years that begin in March, so that the leap day is the last day of a year. */
int64_t pml_number__days_from_civil(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

void pml_number__civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + era * 400 + (*month <= 2 ? 1 : 0);
}
