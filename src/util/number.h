/* SPDX-License-Identifier: Apache-2.0 */
/* Text to numbers, sizes and durations, and numbers to text. The only place that calls the C library's parsers. */
#ifndef PML_UTIL_NUMBER_H
#define PML_UTIL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole text must be a decimal integer with an optional '-' (no blanks, no '+'); false when not, or out of range. */
bool pml_number__int64(int64_t *out, const char *s, size_t n);
/* Whole text must be a number of C's form, or NaN, Infinity, -Infinity. */
bool pml_number__double(double *out, const char *s, size_t n);
/* The same, rounded once to single precision. */
bool pml_number__float(float *out, const char *s, size_t n);
/* What Java's parseDouble and parseFloat take: blanks around, a sign, digits with a point and an exponent, a letter f or d behind them,
   hexadecimal 0x1.8p1, NaN, Infinity. Numbers that are too large are infinite. At most 399 characters. */
bool pml_number__java_double(double *out, const char *s, size_t n);
bool pml_number__java_float(float *out, const char *s, size_t n);
/* "8 mb", "256MB", "1024", "10 kb": bytes. Units b kb mb gb tb (also k m g t), 1024-based, any case. */
bool pml_number__size(int64_t *bytes, const char *s, size_t n);
/* "10 ms", "1 h", "7 d", "5 min", "30s"; a bare number is milliseconds. Also the ISO form PT1H30M. */
bool pml_number__duration_ms(int64_t *ms, const char *s, size_t n);
/* "true" or "false", any case. */
bool pml_number__bool(bool *out, const char *s, size_t n);

/* Days since 1970-01-01 from a proleptic Gregorian date, and back. Valid for years -9999 to 9999. */
int64_t pml_number__days_from_civil(int64_t year, int month, int day);
void pml_number__civil_from_days(int64_t days, int64_t *year, int *month, int *day);

#endif
