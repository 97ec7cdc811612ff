/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/decimal.h"

typedef unsigned __int128 uint128;

typedef struct uint256 {
    uint128 high, low;
} uint256;

static uint128 power_of_ten(int32_t n)
{
    uint128 p = 1;
    for (int32_t i = 0; i < n; i++)
        p *= 10;
    return p;
}

static uint128 magnitude(pml_int128 v)
{
    return v < 0 ? -(uint128)v : (uint128)v;
}

bool pml_decimal__fits(pml_int128 v, int32_t precision)
{
    return magnitude(v) < power_of_ten(precision);
}

static uint256 multiply(uint128 a, uint128 b)
{
    uint128 a0 = (uint64_t)a, a1 = a >> 64, b0 = (uint64_t)b, b1 = b >> 64;
    uint128 low = a0 * b0, middle = a1 * b0 + (low >> 64), other = a0 * b1 + (uint64_t)middle;
    return (uint256){.high = a1 * b1 + (middle >> 64) + (other >> 64), .low = (other << 64) | (uint64_t)low};
}

/* n / d, half up. d is not 0 and below 2^127, so that a remainder can be doubled. false: the quotient has more than 127 bits. */
static bool divide_rounded(uint128 *out, uint256 n, uint128 d)
{
    uint128 q = 0, r = n.high % d;
    if (n.high / d != 0)
        return false;
    if (n.high == 0) {
        q = n.low / d;
        r = n.low % d;
    } else {
        for (int bit = 127; bit >= 0; bit--) {
            r = (r << 1) | ((n.low >> bit) & 1);
            q <<= 1;
            if (r >= d) {
                r -= d;
                q |= 1;
            }
        }
    }
    q += r >= d - r ? 1 : 0;
    *out = q;
    return q >> 127 == 0;
}

static bool scaled(pml_int128 *out, uint256 n, uint128 d, bool negative, int32_t precision)
{
    uint128 q;
    if (!divide_rounded(&q, n, d) || !pml_decimal__fits((pml_int128)q, precision))
        return false;
    *out = negative ? -(pml_int128)q : (pml_int128)q;
    return true;
}

bool pml_decimal__multiply(pml_int128 *out, pml_int128 a, pml_int128 b, int32_t precision, int32_t scale)
{
    return scaled(out, multiply(magnitude(a), magnitude(b)), power_of_ten(scale), (a < 0) != (b < 0), precision);
}

/* Whether n / d ends as a decimal fraction: d without what it shares with n has no factor but 2 and 5. */
static bool ends(uint128 n, uint128 d)
{
    uint128 x = n, y = d;
    while (y != 0) {
        uint128 rest = x % y;
        x = y;
        y = rest;
    }
    d /= x;
    while (d % 2 == 0)
        d /= 2;
    while (d % 5 == 0)
        d /= 5;
    return d == 1;
}

pml_decimal_result pml_decimal__divide(pml_int128 *out, pml_int128 a, pml_int128 b, int32_t precision, int32_t scale)
{
    uint128 n = magnitude(a), d = magnitude(b);
    if (d == 0)
        return PML_DECIMAL_BY_ZERO;
    if (!ends(n, d))
        return PML_DECIMAL_ENDLESS;
    if (d >> 127 != 0)
        return PML_DECIMAL_TOO_LONG; /* no decimal of 38 digits is that long */
    return scaled(out, multiply(n, power_of_ten(scale)), d, (a < 0) != (b < 0), precision) ? PML_DECIMAL_OK
                                                                                           : PML_DECIMAL_TOO_LONG;
}
