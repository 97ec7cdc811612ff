/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[4096];
static size_t n_kept;

static void *keep(size_t n)
{
    void *p = calloc(1, n == 0 ? 1 : n);
    assert_non_null(p);
    assert_true(n_kept < sizeof kept / sizeof kept[0]);
    return kept[n_kept++] = p;
}

void test_types_clear(void)
{
    while (n_kept > 0)
        free(kept[--n_kept]);
}

static const struct {
    const char *word;
    pml_type_kind kind;
} words[] = {{"BOOLEAN", PML_TYPE_BOOLEAN}, {"TINYINT", PML_TYPE_TINYINT},    {"SMALLINT", PML_TYPE_SMALLINT},
             {"INT", PML_TYPE_INT},         {"BIGINT", PML_TYPE_BIGINT},      {"FLOAT", PML_TYPE_FLOAT},
             {"DOUBLE", PML_TYPE_DOUBLE},   {"CHAR", PML_TYPE_CHAR},          {"VARCHAR", PML_TYPE_VARCHAR},
             {"STRING", PML_TYPE_VARCHAR},  {"BINARY", PML_TYPE_BINARY},      {"VARBINARY", PML_TYPE_VARBINARY},
             {"BYTES", PML_TYPE_VARBINARY}, {"DECIMAL", PML_TYPE_DECIMAL},    {"DATE", PML_TYPE_DATE},
             {"TIME", PML_TYPE_TIME},       {"TIMESTAMP", PML_TYPE_TIMESTAMP}};

pml_type test_type(const char *text)
{
    pml_type t = {.nullable = true, .length = INT32_MAX};
    char word[32];
    int a = 0, b = 0, used = 0;
    assert_true(sscanf(text, "%31[A-Z]%n", word, &used) == 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            t.kind = words[i].kind;
    assert_true(t.kind != 0);
    int n = sscanf(text + used, "(%d, %d)", &a, &b);
    if (n >= 1 && t.kind >= PML_TYPE_CHAR && t.kind <= PML_TYPE_VARBINARY)
        t.length = a;
    else if (n >= 1)
        t.precision = a;
    if (n == 2)
        t.scale = b;
    if (strstr(text, "WITH LOCAL TIME ZONE") != NULL)
        t.kind = PML_TYPE_TIMESTAMP_LTZ;
    return t;
}

pml_value test_int(int64_t v)
{
    pml_value r = {.kind = PML_VALUE_INT};
    r.i = v;
    return r;
}

pml_value test_bytes(const char *text)
{
    pml_value r = {.kind = PML_VALUE_BYTES};
    r.bytes = (pml_bytes){(const uint8_t *)text, strlen(text)};
    return r;
}

pml_value test_decimal(int64_t unscaled)
{
    pml_value r = {.kind = PML_VALUE_DECIMAL};
    r.dec = unscaled;
    return r;
}

pml_value test_timestamp(int64_t ms, int32_t nanos)
{
    pml_value r = {.kind = PML_VALUE_TIMESTAMP};
    r.ts.ms = ms;
    r.ts.nanos = nanos;
    return r;
}

static int64_t random_int(test_env *t, int bits)
{
    int64_t v = (int64_t)test_random(t);
    switch (test_random(t) % 4) {
    case 0: v %= 10; break;
    case 1: v = test_random(t) % 2 == 0 ? INT64_MAX : INT64_MIN; break;
    default: break;
    }
    return v >> (64 - bits);
}

static pml_int128 random_decimal(test_env *t, int32_t precision)
{
    pml_int128 limit = 1;
    for (int32_t i = 0; i < precision; i++)
        limit *= 10;
    unsigned __int128 v = (unsigned __int128)test_random(t) << 64 | test_random(t);
    v >>= test_random(t) % 127;
    pml_int128 r = (pml_int128)(v % (unsigned __int128)limit);
    return test_random(t) % 2 == 0 ? r : -r;
}

static pml_value random_timestamp(test_env *t, int32_t precision)
{
    static const int32_t step[10] = {0, 0, 0, 0, 100000, 10000, 1000, 100, 10, 1};
    int64_t span =
        precision > 6 ? INT64_C(9000000000000) : INT64_C(62000000000000); /* what ns and the years 1..9999 hold */
    int64_t ms = (int64_t)(test_random(t) % (uint64_t)(2 * span)) - span;
    int64_t cut = precision == 0 ? 1000 : precision == 1 ? 100 : precision == 2 ? 10 : 1;
    int32_t nanos =
        step[precision] == 0 ? 0 : (int32_t)(test_random(t) % (uint64_t)(1000000 / step[precision])) * step[precision];
    return test_timestamp(ms / cut * cut, nanos);
}

static pml_value random_bytes(test_env *t, bool text)
{
    size_t n = test_random(t) % (test_random(t) % 8 == 0 ? 300 : 20);
    char *p = keep(n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(text ? 'a' + (int)(test_random(t) % 26) : (int)(test_random(t) % 256));
    pml_value v = test_bytes("");
    v.bytes = (pml_bytes){(const uint8_t *)p, n};
    return v;
}

static pml_value random_float(test_env *t, bool is_double)
{
    pml_value v = {.kind = is_double ? PML_VALUE_DOUBLE : PML_VALUE_FLOAT};
    uint64_t bits = test_random(t);
    if (is_double)
        memcpy(&v.d, &bits, 8);
    else
        memcpy(&v.f, &bits, 4);
    return v;
}

pml_value test_value(test_env *t, const pml_type *type)
{
    pml_value v = {.kind = PML_VALUE_NULL};
    if (test_random(t) % 6 == 0)
        return v;
    switch ((int)type->kind) {
    case PML_TYPE_BOOLEAN:
        v = test_int((int64_t)(test_random(t) % 2));
        v.kind = PML_VALUE_BOOL;
        return v;
    case PML_TYPE_TINYINT: return test_int(random_int(t, 8));
    case PML_TYPE_SMALLINT: return test_int(random_int(t, 16));
    case PML_TYPE_INT: return test_int(random_int(t, 32));
    case PML_TYPE_DATE: return test_int((int64_t)(test_random(t) % 3000000) - 700000);
    case PML_TYPE_TIME: return test_int((int64_t)(test_random(t) % 86400000));
    case PML_TYPE_BIGINT: return test_int(random_int(t, 64));
    case PML_TYPE_FLOAT: return random_float(t, false);
    case PML_TYPE_DOUBLE: return random_float(t, true);
    case PML_TYPE_DECIMAL:
        v = test_decimal(0);
        v.dec = random_decimal(t, type->precision);
        return v;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return random_timestamp(t, type->precision);
    default: return random_bytes(t, type->kind <= PML_TYPE_VARCHAR);
    }
}

static void set_fixed(uint8_t *data, const pml_type *type, const pml_value *v, int64_t at)
{
    int64_t unit;
    switch ((int)type->kind) {
    case PML_TYPE_BOOLEAN:
        if (v->i != 0)
            pml_bit_set(data, at);
        break;
    case PML_TYPE_TINYINT: memcpy(data + at, &v->i, 1); break;
    case PML_TYPE_SMALLINT: memcpy(data + at * 2, &v->i, 2); break;
    case PML_TYPE_INT:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_FLOAT: memcpy(data + at * 4, &v->i, 4); break;
    case PML_TYPE_DECIMAL: memcpy(data + at * 16, &v->dec, 16); break;
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ:
        unit = type->precision <= 3   ? v->ts.ms
               : type->precision <= 6 ? v->ts.ms * 1000 + v->ts.nanos / 1000
                                      : v->ts.ms * 1000000 + v->ts.nanos;
        memcpy(data + at * 8, &unit, 8);
        break;
    default: /* BIGINT, DOUBLE */ memcpy(data + at * 8, &v->i, 8); break;
    }
}

struct ArrowArray *test_column(const pml_type *type, const pml_value *values, int64_t n, int64_t lead)
{
    struct ArrowArray *a = keep(sizeof *a);
    size_t rows = (size_t)(n + lead);
    bool text = type->kind >= PML_TYPE_CHAR && type->kind <= PML_TYPE_VARBINARY;
    uint8_t *validity = keep(rows / 8 + 1), *data = NULL;
    int32_t *offsets = keep((rows + 1) * 16);
    size_t bytes = 0;
    for (int64_t i = 0; i < n; i++)
        bytes += text && values[i].kind != PML_VALUE_NULL ? values[i].bytes.len : 0;
    data = text ? keep(bytes) : (uint8_t *)offsets;
    a->length = n;
    a->offset = lead;
    a->n_buffers = text ? 3 : 2;
    a->buffers = keep(3 * sizeof(void *));
    a->buffers[0] = validity;
    a->buffers[1] = offsets;
    a->buffers[2] = text ? data : NULL;
    for (int64_t i = 0; i < n; i++) {
        bool null = values[i].kind == PML_VALUE_NULL;
        int64_t at = lead + i;
        a->null_count += null;
        if (!null)
            pml_bit_set(validity, at);
        if (!null && !text)
            set_fixed(data, type, &values[i], at);
        if (!text)
            continue;
        size_t len = null ? 0 : values[i].bytes.len;
        if (len > 0)
            memcpy(data + offsets[at], values[i].bytes.ptr, len);
        offsets[at + 1] = offsets[at] + (int32_t)len;
    }
    return a;
}

struct ArrowArray *test_batch(struct ArrowArray **columns, int64_t n_columns, int64_t n)
{
    struct ArrowArray *a = keep(sizeof *a);
    a->length = n;
    a->n_buffers = 1;
    a->buffers = keep(sizeof(void *));
    a->n_children = n_columns;
    a->children = keep((size_t)n_columns * sizeof(void *));
    for (int64_t i = 0; i < n_columns; i++)
        a->children[i] = columns[i];
    return a;
}

void test_bytes_are(const uint8_t *p, size_t n, const char *hex)
{
    char *text = keep(2 * n + 1);
    for (size_t i = 0; i < n; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", p[i]);
    assert_string_equal(text, hex);
}
