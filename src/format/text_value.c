/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text_value.h"

#include <string.h>
#include <strings.h>

#include "columnar/java_text.h"
#include "util/number.h"

/* ---- characters ---- */

bool pml_text__is_blank(const uint8_t *p, size_t *n)
{
    uint32_t c = pml_java_text__character(p, n);
    if (c < 0x80)
        return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
    return c == 0x1680 || (c >= 0x2000 && c <= 0x200A && c != 0x2007) || c == 0x2028 || c == 0x2029 || c == 0x205F || c == 0x3000;
}

/* ---- parsers ---- */

/* [+-]digits */
static bool parse_integer(int64_t *out, pml_bytes s, int bits)
{
    const uint8_t *p = s.ptr, *end = s.ptr + s.len;
    bool negative = s.len > 0 && p[0] == '-';
    int64_t v = 0; /* below zero, where one more fits */
    p += s.len > 0 && (p[0] == '-' || p[0] == '+');
    if (p == end)
        return false;
    while (p < end) {
        size_t n;
        int digit = pml_java_text__digit(p, &n);
        if (digit < 0 || __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, digit, &v))
            return false;
        p += n;
    }
    if (!negative && v == INT64_MIN)
        return false;
    *out = negative ? v : -v;
    return bits == 64 || *out >> (bits - 1) == *out >> 63;
}

static int sextet(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648 with or without the padding at the end; bits that are left over may be anything. */
static int parse_base64(pml_value *out, pml_bytes s, pml_arena *arena, pml_error *err)
{
    size_t n = s.len, padding = 0, at = 0;
    while (n > 0 && padding < 2 && s.ptr[n - 1] == '=') {
        n--;
        padding++;
    }
    if (n % 4 == 1 || (padding > 0 && (n + padding) % 4 != 0))
        return PML_E_INVAL;
    uint8_t *to = pml_arena__alloc(arena, n / 4 * 3 + 3);
    if (to == NULL)
        return pml_error__no_memory(err);
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        int v = sextet(s.ptr[i]);
        if (v < 0)
            return PML_E_INVAL;
        bits = bits << 6 | (uint32_t)v;
        if (i % 4 == 3)
            for (int shift = 16; shift >= 0; shift -= 8)
                to[at++] = (uint8_t)(bits >> shift);
    }
    if (n % 4 == 2)
        to[at++] = (uint8_t)(bits >> 4);
    if (n % 4 == 3) {
        to[at++] = (uint8_t)(bits >> 10);
        to[at++] = (uint8_t)(bits >> 2);
    }
    *out = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {to, at}};
    return PML_OK;
}

int pml_text_value__parse(pml_value *out, const pml_text_rule *rule, pml_bytes text, pml_arena *arena, pml_error *err)
{
    const pml_value whole = {.kind = PML_VALUE_BYTES, .bytes = text};
    const char *p = (const char *)text.ptr;
    bool ok = false;
    if (rule->cast != NULL)
        return pml_cast__value(out, rule->cast, arena, &whole, err);
    if (rule->base64)
        return parse_base64(out, text, arena, err);
    switch (rule->type->kind) {
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
        out->kind = PML_VALUE_INT;
        ok = parse_integer(&out->i, text, rule->type->kind == PML_TYPE_TINYINT    ? 8
                                          : rule->type->kind == PML_TYPE_SMALLINT ? 16
                                          : rule->type->kind == PML_TYPE_INT      ? 32
                                                                                  : 64);
        break;
    case PML_TYPE_FLOAT:
        out->kind = PML_VALUE_FLOAT;
        ok = pml_number__java_float(&out->f, p, text.len);
        break;
    case PML_TYPE_DOUBLE:
        out->kind = PML_VALUE_DOUBLE;
        ok = pml_number__java_double(&out->d, p, text.len);
        break;
    case PML_TYPE_BOOLEAN:
        *out = (pml_value){.kind = PML_VALUE_BOOL, .i = text.len == 4 && strncasecmp(p, "true", 4) == 0};
        ok = true;
        break;
    default: /* CHAR, VARCHAR */
        *out = whole;
        ok = true;
        break;
    }
    return ok ? PML_OK : PML_E_INVAL;
}

/* ---- rules ---- */

static int rule_children(pml_text_rule *out, pml_arena *arena, const char *column, pml_error *err)
{
    const pml_type *t = out->type;
    out->n_children = t->n_children;
    out->children = pml_arena__array(arena, t->n_children, sizeof *out->children);
    if (out->children == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < t->n_children; i++) {
        PML_RETURN_IF(pml_text_rule__make(&out->children[i], arena, &t->children[i].type, column, err));
        out->n_nulls += t->kind == PML_TYPE_ROW ? out->children[i].n_nulls : 0;
    }
    return PML_OK;
}

static int rule_cast(pml_text_rule *out, pml_arena *arena, const char *column, pml_error *err)
{
    static const pml_type string = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    return pml_cast__new(&out->cast, arena, &string, out->type, column, err);
}

int pml_text_rule__make(pml_text_rule *out, pml_arena *arena, const pml_type *type, const char *column, pml_error *err)
{
    *out = (pml_text_rule){.type = type, .n_nulls = 1};
    switch (type->kind) {
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: return PML_OK;
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY: out->base64 = true; return PML_OK;
    case PML_TYPE_DECIMAL:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ: return rule_cast(out, arena, column, err);
    case PML_TYPE_ARRAY:
    case PML_TYPE_ROW: return rule_children(out, arena, column, err);
    case PML_TYPE_MAP:
        PML_RETURN_IF(rule_children(out, arena, column, err));
        if (!out->children[0].base64)
            return PML_OK;
        out->children[0].base64 = false; /* names of members are cast, whatever values are */
        return rule_cast(&out->children[0], arena, column, err);
    case PML_TYPE_MULTISET:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: break;
    }
    return pml_error__set(err, PML_E_UNSUPPORTED, "needs text-type:%s: column '%s' has a type that CSV and JSON files do not hold",
                          pml_type__word(type->kind), column);
}
