/* SPDX-License-Identifier: Apache-2.0 */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/bytes.h"

void pml_buf__init(pml_buf *b, pml_env *env, size_t max)
{
    *b = (pml_buf){.env = env, .max = max};
}

void pml_buf__clear(pml_buf *b)
{
    if (b->env == NULL)
        return;
    pml_env__free(b->env, b->data);
    pml_buf__init(b, b->env, b->max);
}

void pml_buf__reset(pml_buf *b)
{
    b->len = 0;
    b->rc = PML_OK;
}

int pml_buf__check(const pml_buf *b, pml_error *err)
{
    if (b->rc == PML_E_LIMIT)
        return pml_error__set(err, PML_E_LIMIT, "a buffer would grow past its limit of %zu bytes", b->max);
    if (b->rc == PML_E_CORRUPT)
        return pml_error__set(err, PML_E_CORRUPT, "a value has no text, since its bytes are malformed");
    if (b->rc != PML_OK)
        return pml_error__no_memory(err);
    return PML_OK;
}

static int buf_grow(pml_buf *b, size_t need)
{
    size_t cap = b->cap < 64 ? 64 : b->cap;
    while (cap < need)
        cap = cap > b->max / 2 ? b->max : cap * 2;
    uint8_t *p = b->data == NULL ? pml_env__alloc(b->env, cap) : pml_env__realloc(b->env, b->data, cap);
    if (p == NULL)
        return b->rc = PML_E_NOMEM;
    b->data = p;
    b->cap = cap;
    return PML_OK;
}

uint8_t *pml_buf__reserve(pml_buf *b, size_t n)
{
    size_t need;
    if (b->rc != PML_OK)
        return NULL;
    if (__builtin_add_overflow(b->len, n, &need) || need > b->max) {
        b->rc = PML_E_LIMIT;
        return NULL;
    }
    if ((need > b->cap || b->data == NULL) && buf_grow(b, need) != PML_OK)
        return NULL;
    return b->data + b->len;
}

int pml_buf__append(pml_buf *b, const void *p, size_t n)
{
    uint8_t *to = pml_buf__reserve(b, n);
    if (to == NULL)
        return b->rc;
    if (n > 0)
        memcpy(to, p, n);
    b->len += n;
    return PML_OK;
}

int pml_buf__append_zeros(pml_buf *b, size_t n)
{
    uint8_t *to = pml_buf__reserve(b, n);
    if (to == NULL)
        return b->rc;
    memset(to, 0, n);
    b->len += n;
    return PML_OK;
}

int pml_buf__append_byte(pml_buf *b, uint8_t byte)
{
    return pml_buf__append(b, &byte, 1);
}

int pml_buf__append_str(pml_buf *b, const char *s)
{
    return pml_buf__append(b, s, strlen(s));
}

int pml_buf__append_format(pml_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return b->rc = PML_E_LIMIT;
    /* vsnprintf writes a NUL behind the text; it is not counted in len. */
    uint8_t *to = pml_buf__reserve(b, (size_t)n + 1);
    if (to == NULL)
        return b->rc;
    va_start(args, format);
    (void)vsnprintf((char *)to, (size_t)n + 1, format, args);
    va_end(args);
    b->len += (size_t)n;
    return PML_OK;
}

int pml_buf__append_be32(pml_buf *b, uint32_t v)
{
    uint8_t bytes[4];
    pml_put_be32(bytes, v);
    return pml_buf__append(b, bytes, sizeof bytes);
}

int pml_buf__append_be64(pml_buf *b, uint64_t v)
{
    uint8_t bytes[8];
    pml_put_be64(bytes, v);
    return pml_buf__append(b, bytes, sizeof bytes);
}

uint8_t *pml_buf__take(pml_buf *b, size_t *len)
{
    uint8_t *p = NULL;
    if (b->rc == PML_OK && b->max < SIZE_MAX) {
        size_t max = b->max++; /* the NUL does not count against the maximum */
        p = pml_buf__reserve(b, 1);
        b->max = max;
    }
    if (p == NULL)
        return NULL;
    p = b->data;
    p[b->len] = '\0';
    *len = b->len;
    pml_buf__init(b, b->env, b->max);
    return p;
}
