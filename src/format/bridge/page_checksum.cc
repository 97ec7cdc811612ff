/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bridge/page_checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pml_bridge_ns {

namespace {

constexpr uint32_t polynomial = 0xEDB88320; /* bits reversed, as all of this is */

constexpr std::array<uint32_t, 256> table_make()
{
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ ((c & 1) != 0 ? polynomial : 0);
        table[i] = c;
    }
    return table;
}
constexpr std::array<uint32_t, 256> table = table_make();

uint32_t by_bytes(uint32_t crc, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 255];
    return crc;
}

#if defined(__x86_64__)

/* x^n mod the polynomial; with its bits reversed and one place higher, as a carry-less product of reversed numbers wants it. */
constexpr int64_t power(int n)
{
    uint32_t p = 0x80000000; /* x^0 */
    for (int i = 0; i < n; i++)
        p = p >> 1 ^ ((p & 1) != 0 ? polynomial : 0);
    return static_cast<int64_t>(p) << 1;
}

__attribute__((target("pclmul"))) inline __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
}

/* What 128 bits come to as many bits later as `by` says, and what stands there. */
__attribute__((target("pclmul"))) inline __m128i fold(__m128i x, __m128i by, __m128i there)
{
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11)), there);
}

/* n >= 64. Four lanes of 16 bytes each are moved on by 64 bytes until the rest is short; then they are one, which has the checksum that
   everything before it has. */
__attribute__((target("pclmul"))) uint32_t by_products(const uint8_t *p, size_t n)
{
    const __m128i by_64 = _mm_set_epi64x(power(512 - 32), power(512 + 32)), by_16 = _mm_set_epi64x(power(128 - 32), power(128 + 32));
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(-1)), b = load(p + 16), c = load(p + 32), d = load(p + 48);
    uint8_t rest[16];
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
        a = fold(a, by_64, load(p));
        b = fold(b, by_64, load(p + 16));
        c = fold(c, by_64, load(p + 32));
        d = fold(d, by_64, load(p + 48));
    }
    a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
    for (; n >= 16; p += 16, n -= 16)
        a = fold(a, by_16, load(p));
    std::memcpy(rest, &a, sizeof rest);
    return by_bytes(by_bytes(0, rest, sizeof rest), p, n);
}

#endif

} // namespace

bool crc32_is_fast()
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("pclmul") != 0;
#else
    return false;
#endif
}

uint32_t crc32(const uint8_t *p, size_t n)
{
#if defined(__x86_64__)
    if (n >= 64)
        return ~by_products(p, n);
#endif
    return ~by_bytes(~uint32_t{0}, p, n);
}

/* ---- the head of a page ---- */

namespace {

/* Types of the compact protocol. */
enum : uint8_t { STOP, YES, NO, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT };
constexpr int depth_max = 8; /* Parquet has three */

class Bytes {
public:
    Bytes(const uint8_t *p, size_t n) : p_(p), end_(p + n) {}
    bool byte(uint8_t *out)
    {
        if (p_ == end_)
            return false;
        *out = *p_++;
        return true;
    }
    bool number(uint64_t *out)
    {
        uint8_t b = 0;
        *out = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (!byte(&b))
                return false;
            *out |= static_cast<uint64_t>(b & 127) << shift;
            if (b < 128)
                return true;
        }
        return false;
    }
    bool pass(uint64_t n)
    {
        if (n > static_cast<uint64_t>(end_ - p_))
            return false;
        p_ += n;
        return true;
    }
    bool pass_value(uint8_t type, int depth);
    bool pass_struct(int depth);

private:
    bool pass_list(int depth);
    bool pass_map(int depth);

    const uint8_t *p_, *end_;
};

/* Type and id of a field; type STOP: the end of the struct. */
bool field_next(Bytes *in, uint8_t *type, int64_t *id)
{
    uint8_t head;
    uint64_t number;
    if (!in->byte(&head))
        return false;
    *type = head & 15;
    if (*type == STOP || head >> 4 != 0) {
        *id += head >> 4;
        return true;
    }
    if (!in->number(&number))
        return false;
    *id = static_cast<int64_t>(number >> 1 ^ (~(number & 1) + 1));
    return true;
}

bool Bytes::pass_struct(int depth)
{
    uint8_t type = STOP;
    int64_t id = 0;
    for (;;) {
        if (depth > depth_max || !field_next(this, &type, &id))
            return false;
        if (type == STOP)
            return true;
        if (!pass_value(type, depth + 1))
            return false;
    }
}

/* Each element has a byte, so that their number is bounded. */
bool Bytes::pass_list(int depth)
{
    uint8_t head;
    uint64_t n;
    if (!byte(&head))
        return false;
    n = head >> 4;
    if (n == 15 && !number(&n))
        return false;
    uint8_t type = head & 15;
    for (; n > 0; n--)
        if (!(type == YES || type == NO ? pass(1) : pass_value(type, depth + 1)))
            return false;
    return true;
}

bool Bytes::pass_map(int depth)
{
    uint8_t types = 0;
    uint64_t n;
    if (!number(&n) || (n > 0 && !byte(&types)))
        return false;
    for (; n > 0; n--)
        for (uint8_t type : {static_cast<uint8_t>(types >> 4), static_cast<uint8_t>(types & 15)})
            if (!(type == YES || type == NO ? pass(1) : pass_value(type, depth + 1)))
                return false;
    return true;
}

bool Bytes::pass_value(uint8_t type, int depth)
{
    uint64_t n;
    if (depth > depth_max)
        return false;
    switch (type) {
    case YES:
    case NO: return true; /* the type is the value */
    case BYTE: return pass(1);
    case I16:
    case I32:
    case I64: return number(&n);
    case DOUBLE: return pass(8);
    case BINARY: return number(&n) && pass(n);
    case LIST:
    case SET: return pass_list(depth);
    case MAP: return pass_map(depth);
    case STRUCT: return pass_struct(depth);
    default: return false;
    }
}

} // namespace

bool page_head_parse(PageHead *out, const uint8_t *p, size_t n)
{
    Bytes in(p, n);
    uint8_t type = STOP;
    int64_t id = 0;
    *out = {};
    for (;;) {
        uint64_t number;
        if (!field_next(&in, &type, &id))
            return false;
        if (type == STOP)
            return out->type >= 0 && out->bytes >= 0;
        if (type != I32 || (id != 1 && id != 3 && id != 4)) {
            if (!in.pass_value(type, 0))
                return false;
            continue;
        }
        if (!in.number(&number))
            return false;
        auto value = static_cast<int32_t>(static_cast<uint32_t>(number) >> 1 ^ (~(static_cast<uint32_t>(number) & 1) + 1));
        if (id == 1)
            out->type = value;
        else if (id == 3)
            out->bytes = value;
        else
            out->crc = value;
        out->has_crc = out->has_crc || id == 4;
    }
}

} // namespace pml_bridge_ns
