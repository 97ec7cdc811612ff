/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_arrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits at the start of p, as in "w:12" behind its colon. */
static int64_t leading_number(const char *p)
{
    int64_t n = 0;
    for (; *p >= '0' && *p <= '9' && n < 1000000000; p++)
        n = n * 10 + (*p - '0');
    return n;
}

static void *must_alloc(size_t n)
{
    void *p = calloc(1, n == 0 ? 1 : n);
    assert_non_null(p);
    return p;
}

static void schema_release(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release != NULL)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free(s->children);
    free(s->private_data);
    s->release = NULL;
}

static char *metadata_field_id(int id)
{
    static const char key[] = "PARQUET:field_id";
    char value[16];
    int32_t n = 1, key_len = (int32_t)sizeof key - 1, value_len = snprintf(value, sizeof value, "%d", id);
    char *p = must_alloc(64), *q = p;
    memcpy(q, &n, 4), memcpy(q + 4, &key_len, 4), memcpy(q + 8, key, (size_t)key_len);
    q += 8 + key_len;
    memcpy(q, &value_len, 4), memcpy(q + 4, value, (size_t)value_len);
    return p;
}

struct ArrowSchema test_field(const char *format, const char *name, int id, bool nullable, size_t n,
                              struct ArrowSchema *children)
{
    struct ArrowSchema s = {.format = format, .name = name, .flags = nullable ? ARROW_FLAG_NULLABLE : 0};
    s.n_children = (int64_t)n;
    s.children = n == 0 ? NULL : must_alloc(n * sizeof *s.children);
    for (size_t i = 0; i < n; i++) {
        s.children[i] = must_alloc(sizeof **s.children);
        *s.children[i] = children[i];
    }
    s.private_data = id < 0 ? NULL : metadata_field_id(id);
    s.metadata = s.private_data;
    s.release = schema_release;
    return s;
}

struct ArrowSchema test_struct(size_t n, struct ArrowSchema *fields)
{
    return test_field("+s", "", -1, false, n, fields);
}

int test_field_id(const struct ArrowSchema *schema)
{
    int32_t n, len;
    const char *p = schema->metadata;
    if (p == NULL)
        return -1;
    memcpy(&n, p, 4), p += 4;
    for (int32_t i = 0; i < n; i++) {
        memcpy(&len, p, 4);
        bool is_id = len == 16 && memcmp(p + 4, "PARQUET:field_id", 16) == 0;
        p += 4 + len;
        memcpy(&len, p, 4);
        if (is_id)
            return (int)leading_number(p + 4);
        p += 4 + len;
    }
    return -1;
}

/* ---- arrays ---- */

static void array_release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)(uintptr_t)a->buffers[i]);
    free(a->children);
    free(a->buffers);
    a->release = NULL;
}

static struct ArrowArray array_new(int64_t n, int64_t n_buffers, size_t n_children)
{
    struct ArrowArray a = {.length = n, .n_buffers = n_buffers, .n_children = (int64_t)n_children, .release = array_release};
    a.buffers = must_alloc((size_t)n_buffers * sizeof *a.buffers);
    a.children = must_alloc(n_children * sizeof *a.children);
    for (size_t i = 0; i < n_children; i++)
        a.children[i] = must_alloc(sizeof **a.children);
    return a;
}

static bool bit_get(const void *bits, int64_t i)
{
    return bits == NULL || (((const uint8_t *)bits)[i / 8] >> (i % 8) & 1) != 0;
}

static void *buffer_new(struct ArrowArray *a, int64_t i, size_t n)
{
    void *p = must_alloc(n);
    a->buffers[i] = p;
    return p;
}

static void random_nulls(test_env *t, struct ArrowArray *a)
{
    uint8_t *bits = buffer_new(a, 0, (size_t)a->length / 8 + 1);
    for (int64_t i = 0; i < a->length; i++) {
        bool valid = test_random(t) % 5 != 0;
        bits[i / 8] = (uint8_t)(bits[i / 8] | (valid ? 1 << (i % 8) : 0));
        a->null_count += valid ? 0 : 1;
    }
}

static size_t width_of(const char *format)
{
    switch (format[0]) {
    case 'c': return 1;
    case 's': return 2;
    case 'i':
    case 'f': return 4;
    case 'd': return 16;
    case 't': return format[1] == 'd' || format[1] == 't' ? 4 : 8;
    default: return 8;
    }
}

static int64_t decimal_limit(const char *format)
{
    int64_t limit = 1;
    for (int64_t p = leading_number(format + 2); p > 0 && limit < 100000000000000000; p--)
        limit *= 10;
    return limit;
}

static void random_value(test_env *t, const char *format, uint8_t *p)
{
    uint64_t raw = test_random(t);
    if (format[0] == 'd') {
        int64_t low = (int64_t)(raw % (uint64_t)decimal_limit(format)) * (raw >> 63 ? -1 : 1);
        int64_t high = low < 0 ? -1 : 0;
        memcpy(p, &low, 8), memcpy(p + 8, &high, 8);
    } else if (strcmp(format, "ttm") == 0) {
        int32_t ms = (int32_t)(raw % 86400000);
        memcpy(p, &ms, 4);
    } else if (format[0] == 'f') {
        float f = (float)(int32_t)raw / 16;
        memcpy(p, &f, 4);
    } else if (format[0] == 'g') {
        double d = (double)(int64_t)raw / 16;
        memcpy(p, &d, 8);
    } else {
        memcpy(p, &raw, width_of(format));
    }
}

static struct ArrowArray random_text(test_env *t, int64_t n)
{
    struct ArrowArray a = array_new(n, 3, 0);
    int32_t *offsets = buffer_new(&a, 1, ((size_t)n + 1) * 4);
    char *text = buffer_new(&a, 2, (size_t)n * 12 + 1);
    for (int64_t i = 0; i < n; i++) {
        int32_t len = (int32_t)(test_random(t) % 12);
        for (int32_t k = 0; k < len; k++)
            text[offsets[i] + k] = (char)('a' + test_random(t) % 26);
        offsets[i + 1] = offsets[i] + len;
    }
    return a;
}

static struct ArrowArray random_list(test_env *t, const struct ArrowSchema *s, int64_t n)
{
    struct ArrowArray a = array_new(n, 2, 1);
    int32_t *offsets = buffer_new(&a, 1, ((size_t)n + 1) * 4);
    if (s->flags & ARROW_FLAG_NULLABLE)
        random_nulls(t, &a);
    for (int64_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (bit_get(a.buffers[0], i) ? (int32_t)(test_random(t) % 4) : 0);
    *a.children[0] = test_random_array(t, s->children[0], offsets[n]);
    return a;
}

struct ArrowArray test_random_array(test_env *t, const struct ArrowSchema *s, int64_t n)
{
    const char *f = s->format;
    struct ArrowArray a;
    if (strcmp(f, "+l") == 0 || strcmp(f, "+m") == 0)
        return random_list(t, s, n);
    if (f[0] == '+') {
        int64_t per_item = f[1] == 'w' ? leading_number(f + 3) : 1;
        a = array_new(n, 1, (size_t)s->n_children);
        for (int64_t i = 0; i < s->n_children; i++)
            *a.children[i] = test_random_array(t, s->children[i], n * per_item);
    } else if (f[0] == 'u' || f[0] == 'z') {
        a = random_text(t, n);
    } else {
        size_t width = width_of(f);
        a = array_new(n, 2, 0);
        uint8_t *p = buffer_new(&a, 1, f[0] == 'b' ? (size_t)n / 8 + 8 : (size_t)n * width);
        for (int64_t i = 0; i < (f[0] == 'b' ? n / 8 + 1 : n); i++)
            if (f[0] == 'b')
                p[i] = (uint8_t)test_random(t);
            else
                random_value(t, f, p + (size_t)i * width);
    }
    if (s->flags & ARROW_FLAG_NULLABLE)
        random_nulls(t, &a);
    return a;
}

struct ArrowArray test_fixed_array(size_t width, int64_t n, const void *values)
{
    struct ArrowArray a = array_new(n, 2, 0);
    memcpy(buffer_new(&a, 1, (size_t)n * width), values, (size_t)n * width);
    return a;
}

struct ArrowArray test_text_array(int64_t n, const char *const *values)
{
    struct ArrowArray a = array_new(n, 3, 0);
    uint8_t *bits = buffer_new(&a, 0, (size_t)n / 8 + 1);
    int32_t *offsets = buffer_new(&a, 1, ((size_t)n + 1) * 4);
    size_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += values[i] == NULL ? 0 : strlen(values[i]);
    char *text = buffer_new(&a, 2, total);
    for (int64_t i = 0; i < n; i++) {
        size_t len = values[i] == NULL ? 0 : strlen(values[i]);
        if (len > 0)
            memcpy(text + offsets[i], values[i], len);
        offsets[i + 1] = offsets[i] + (int32_t)len;
        bits[i / 8] = (uint8_t)(bits[i / 8] | (values[i] == NULL ? 0 : 1 << (i % 8)));
        a.null_count += values[i] == NULL ? 1 : 0;
    }
    return a;
}

struct ArrowArray test_struct_array(int64_t n, size_t n_children, struct ArrowArray *children)
{
    struct ArrowArray a = array_new(n, 1, n_children);
    for (size_t i = 0; i < n_children; i++)
        *a.children[i] = children[i];
    return a;
}

/* ---- comparison ---- */

static void list_range(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i, int64_t *first, int64_t *count)
{
    if (s->format[1] == 'w') {
        *count = leading_number(s->format + 3);
        *first = i * *count;
        return;
    }
    const int32_t *offsets = a->buffers[1];
    *first = offsets[i];
    *count = offsets[i + 1] - offsets[i];
}

static bool list_equal(const struct ArrowSchema *sa, const struct ArrowArray *a, int64_t ia, const struct ArrowSchema *sb,
                       const struct ArrowArray *b, int64_t ib)
{
    int64_t first_a, first_b, n_a, n_b;
    list_range(sa, a, ia, &first_a, &n_a);
    list_range(sb, b, ib, &first_b, &n_b);
    bool equal = n_a == n_b;
    for (int64_t i = 0; equal && i < n_a; i++)
        equal = test_item_equal(sa->children[0], a->children[0], first_a + i, sb->children[0], b->children[0], first_b + i);
    return equal;
}

bool test_item_equal(const struct ArrowSchema *sa, const struct ArrowArray *a, int64_t ia, const struct ArrowSchema *sb,
                     const struct ArrowArray *b, int64_t ib)
{
    ia += a->offset, ib += b->offset;
    bool valid = bit_get(a->buffers[0], ia);
    if (valid != bit_get(b->buffers[0], ib))
        return false;
    if (!valid)
        return true;
    switch (sa->format[0]) {
    case '+': break;
    case 'b': return bit_get(a->buffers[1], ia) == bit_get(b->buffers[1], ib);
    case 'u':
    case 'z': {
        const int32_t *oa = a->buffers[1], *ob = b->buffers[1];
        int32_t n = oa[ia + 1] - oa[ia];
        return n == ob[ib + 1] - ob[ib] &&
               (n == 0 || memcmp((const char *)a->buffers[2] + oa[ia], (const char *)b->buffers[2] + ob[ib], (size_t)n) == 0);
    }
    default: {
        size_t w = width_of(sa->format);
        return w == width_of(sb->format) &&
               memcmp((const char *)a->buffers[1] + (size_t)ia * w, (const char *)b->buffers[1] + (size_t)ib * w, w) == 0;
    }
    }
    if (sa->format[1] != 's')
        return list_equal(sa, a, ia, sb, b, ib);
    bool equal = sa->n_children == sb->n_children;
    for (int64_t i = 0; equal && i < sa->n_children; i++)
        equal = test_item_equal(sa->children[i], a->children[i], ia, sb->children[i], b->children[i], ib);
    return equal;
}
