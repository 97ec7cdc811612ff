/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/java_bytes.h"

#include <stdio.h>

enum { ROW_COUNT_BYTES = 4, SURROGATE_HIGH = 0xd800, SURROGATE_LOW = 0xdc00, SURROGATE_END = 0xe000, SUPPLEMENT = 0x10000 };

/* ---- writing ---- */

int pml_java__put_u16(pml_buf *out, uint16_t v)
{
    (void)pml_buf__append_byte(out, (uint8_t)(v >> 8));
    return pml_buf__append_byte(out, (uint8_t)v);
}

int pml_java__put_i32(pml_buf *out, int32_t v)
{
    return pml_buf__append_be32(out, (uint32_t)v);
}

int pml_java__put_i64(pml_buf *out, int64_t v)
{
    return pml_buf__append_be64(out, (uint64_t)v);
}

int pml_java__put_bool(pml_buf *out, bool v)
{
    return pml_buf__append_byte(out, v ? 1 : 0);
}

/* The character at s and its length; 0: not UTF-8 (surrogates and overlong forms included). */
static size_t utf8_char(uint32_t *c, const uint8_t *s, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, SUPPLEMENT};
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (n == 0 || n > left || s[0] >= 0xf8)
        return 0;
    *c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    bool surrogate = *c >= SURROGATE_HIGH && *c < SURROGATE_END;
    return *c < least[n] || *c > 0x10ffff || surrogate ? 0 : n;
}

/* One UTF-16 unit in Java's form. */
static void put_unit(pml_buf *out, uint32_t c)
{
    if (c != 0 && c < 0x80) {
        (void)pml_buf__append_byte(out, (uint8_t)c);
    } else if (c < 0x800) {
        (void)pml_buf__append_byte(out, (uint8_t)(0xc0 | c >> 6));
        (void)pml_buf__append_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        (void)pml_buf__append_byte(out, (uint8_t)(0xe0 | c >> 12));
        (void)pml_buf__append_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        (void)pml_buf__append_byte(out, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

int pml_java__put_utf(pml_buf *out, const char *utf8)
{
    const uint8_t *s = (const uint8_t *)utf8;
    size_t n = strlen(utf8), start = out->len;
    PML_RETURN_IF(pml_java__put_u16(out, 0));
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        size_t len = utf8_char(&c, s + i, n - i);
        if (len == 0) {
            out->rc = PML_E_INVAL;
            return out->rc;
        }
        if (c >= SUPPLEMENT) {
            put_unit(out, SURROGATE_HIGH + ((c - SUPPLEMENT) >> 10));
            put_unit(out, SURROGATE_LOW + ((c - SUPPLEMENT) & 0x3ff));
        } else {
            put_unit(out, c);
        }
        i += len;
    }
    if (out->rc == PML_OK && out->len - start - 2 > PML_JAVA_UTF_MAX)
        out->rc = PML_E_LIMIT;
    if (out->rc != PML_OK)
        return out->rc;
    size_t bytes = out->len - start - 2;
    out->data[start] = (uint8_t)(bytes >> 8);
    out->data[start + 1] = (uint8_t)bytes;
    return PML_OK;
}

int pml_java__put_prow(pml_buf *out, pml_bytes counted)
{
    (void)pml_buf__append_be32(out, (uint32_t)counted.len);
    return pml_buf__append(out, counted.ptr, counted.len);
}

int pml_java__put_bytes(pml_buf *out, pml_bytes bytes)
{
    if (bytes.len > INT32_MAX) {
        out->rc = PML_E_LIMIT;
        return out->rc;
    }
    (void)pml_buf__append_be32(out, (uint32_t)bytes.len);
    return pml_buf__append(out, bytes.ptr, bytes.len);
}

int pml_java__put_text(pml_buf *out, const char *s)
{
    return pml_java__put_bytes(out, (pml_bytes){(const uint8_t *)s, strlen(s)});
}

/* ---- reading ---- */

void pml_java__read_init(pml_java_reader *r, pml_arena *arena, pml_bytes bytes, const char *what, pml_error *err)
{
    *r = (pml_java_reader){.bytes = bytes, .what = what, .arena = arena, .err = err, .rc = PML_OK};
}

int pml_java__bad(pml_java_reader *r, const char *format, ...)
{
    char text[256];
    va_list args;
    if (r->rc != PML_OK)
        return r->rc;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->rc = pml_error__set(r->err, PML_E_CORRUPT, "%s of %zu bytes is damaged at byte %zu: %s", r->what, r->bytes.len, r->at, text);
    return r->rc;
}

pml_bytes pml_java__get(pml_java_reader *r, size_t n)
{
    const pml_bytes none = {NULL, 0};
    if (r->rc != PML_OK)
        return none;
    if (n > r->bytes.len - r->at) {
        (void)pml_java__bad(r, "%zu bytes were expected, %zu are left", n, r->bytes.len - r->at);
        return none;
    }
    pml_bytes got = {r->bytes.ptr + r->at, n};
    r->at += n;
    return got;
}

uint8_t pml_java__get_u8(pml_java_reader *r)
{
    pml_bytes b = pml_java__get(r, 1);
    return b.ptr == NULL ? 0 : b.ptr[0];
}

uint16_t pml_java__get_u16(pml_java_reader *r)
{
    pml_bytes b = pml_java__get(r, 2);
    return b.ptr == NULL ? 0 : (uint16_t)((unsigned)b.ptr[0] << 8 | b.ptr[1]);
}

int32_t pml_java__get_i32(pml_java_reader *r)
{
    pml_bytes b = pml_java__get(r, 4);
    return b.ptr == NULL ? 0 : (int32_t)pml_be32(b.ptr);
}

int64_t pml_java__get_i64(pml_java_reader *r)
{
    pml_bytes b = pml_java__get(r, 8);
    return b.ptr == NULL ? 0 : (int64_t)pml_be64(b.ptr);
}

bool pml_java__get_bool(pml_java_reader *r)
{
    uint8_t v = pml_java__get_u8(r);
    if (v > 1)
        (void)pml_java__bad(r, "%u is neither true nor false", v);
    return v == 1;
}

size_t pml_java__get_count(pml_java_reader *r, size_t item_bytes)
{
    int32_t n = pml_java__get_i32(r);
    if (r->rc != PML_OK)
        return 0;
    if (n < 0 || (size_t)n > (r->bytes.len - r->at) / item_bytes) {
        (void)pml_java__bad(r, "%d items cannot be in the %zu bytes that are left", n, r->bytes.len - r->at);
        return 0;
    }
    return (size_t)n;
}

/* One UTF-16 unit of modified UTF-8; 0 bytes: damaged. The form 0x00 for NUL is refused with all NULs. */
static size_t utf_unit(uint32_t *c, const uint8_t *s, size_t left)
{
    if (s[0] < 0x80) {
        *c = s[0];
        return 1;
    }
    if ((s[0] & 0xe0) == 0xc0 && left >= 2 && (s[1] & 0xc0) == 0x80) {
        *c = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
        return 2;
    }
    if ((s[0] & 0xf0) == 0xe0 && left >= 3 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80) {
        *c = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
        return 3;
    }
    return 0;
}

/* A character from one or two units. 0: damaged, a lone surrogate, or NUL. */
static size_t utf_char(uint32_t *c, const uint8_t *s, size_t left)
{
    uint32_t low = 0;
    size_t n = utf_unit(c, s, left);
    if (n == 0 || *c == 0)
        return 0;
    if (*c < SURROGATE_HIGH || *c >= SURROGATE_END)
        return n;
    size_t m = *c < SURROGATE_LOW && left > n ? utf_unit(&low, s + n, left - n) : 0;
    if (m == 0 || low < SURROGATE_LOW || low >= SURROGATE_END)
        return 0;
    *c = SUPPLEMENT + ((*c - SURROGATE_HIGH) << 10) + (low - SURROGATE_LOW);
    return n + m;
}

/* Never longer than what Java wrote: surrogate pairs shrink from six bytes to four. */
static size_t put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < SUPPLEMENT ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (uint8_t)(0x80 | (c & 0x3f));
    to[0] = (uint8_t)((0xf00u >> n) | c);
    return n;
}

const char *pml_java__get_utf(pml_java_reader *r)
{
    size_t len = pml_java__get_u16(r), used = 0;
    pml_bytes b = pml_java__get(r, len);
    if (r->rc != PML_OK)
        return NULL;
    uint8_t *text = pml_arena__alloc(r->arena, len + 1);
    if (text == NULL) {
        r->rc = pml_error__no_memory(r->err);
        return NULL;
    }
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t n = utf_char(&c, b.ptr + i, len - i);
        if (n == 0) {
            (void)pml_java__bad(r, "a text is not in Java's form of UTF-8");
            return NULL;
        }
        used += put_utf8(text + used, c);
        i += n;
    }
    return (const char *)text;
}

pml_bytes pml_java__get_bytes(pml_java_reader *r)
{
    return pml_java__get(r, pml_java__get_count(r, 1));
}

const char *pml_java__get_text(pml_java_reader *r)
{
    pml_bytes b = pml_java__get_bytes(r);
    uint32_t c;
    if (r->rc != PML_OK)
        return NULL;
    for (size_t i = 0, n; i < b.len; i += n) {
        n = utf8_char(&c, b.ptr + i, b.len - i);
        if (n == 0 || c == 0) {
            (void)pml_java__bad(r, "a text is not UTF-8, or has a NUL in it");
            return NULL;
        }
    }
    const char *text = pml_arena__strndup(r->arena, (const char *)b.ptr, b.len);
    if (text == NULL)
        r->rc = pml_error__no_memory(r->err);
    return text;
}

pml_bytes pml_java__get_row(pml_java_reader *r)
{
    return pml_java__get_bytes(r);
}

pml_bytes pml_java__get_prow(pml_java_reader *r)
{
    pml_bytes b = pml_java__get_bytes(r);
    if (r->rc == PML_OK && b.len < ROW_COUNT_BYTES)
        (void)pml_java__bad(r, "a row of %zu bytes has no field count", b.len);
    return b;
}

int pml_java__read_end(pml_java_reader *r)
{
    if (r->rc == PML_OK && r->at != r->bytes.len)
        (void)pml_java__bad(r, "%zu bytes follow its end", r->bytes.len - r->at);
    return r->rc;
}
