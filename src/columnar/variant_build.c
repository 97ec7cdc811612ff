/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/variant_build.h"

#include <stdlib.h>

#include "columnar/decimal.h"
#include "columnar/java_text.h"

enum { SHORT_TEXT_MAX = 63 };

typedef struct member {
    pml_bytes key;
    uint32_t number;
    uint32_t offset;
} member;

void pml_variant_builder__init(pml_variant_builder *b, pml_env *env)
{
    const size_t members_max = (size_t)PML_VARIANT_BYTES_MAX * sizeof(member); /* a value has at least a byte */
    *b = (pml_variant_builder){.env = env};
    pml_buf__init(&b->value, env, PML_VARIANT_BYTES_MAX);
    pml_buf__init(&b->metadata, env, PML_VARIANT_BYTES_MAX);
    pml_buf__init(&b->members, env, members_max);
    pml_map__init(&b->keys, env);
}

void pml_variant_builder__clear(pml_variant_builder *b)
{
    pml_buf__clear(&b->value);
    pml_buf__clear(&b->metadata);
    pml_buf__clear(&b->members);
    pml_map__clear(&b->keys, NULL);
}

void pml_variant_builder__reset(pml_variant_builder *b)
{
    pml_env *env = b->env;
    pml_buf__reset(&b->value);
    pml_buf__reset(&b->metadata);
    pml_buf__reset(&b->members);
    if (b->keys.n_entries > 0) {
        pml_map__clear(&b->keys, NULL);
        pml_map__init(&b->keys, env);
    }
    b->key_bytes = 0;
}

/* ---- scalars ---- */

static int put_header(pml_variant_builder *b, pml_variant_kind kind, size_t info)
{
    return pml_buf__append_byte(&b->value, (uint8_t)(info << 2 | (size_t)kind));
}

static int put_bytes(pml_variant_builder *b, uint64_t v, size_t width)
{
    uint8_t bytes[8];
    pml_put_le64(bytes, v);
    return pml_buf__append(&b->value, bytes, width);
}

int pml_variant_builder__fixed(pml_variant_builder *b, int info, uint64_t bits, size_t width)
{
    (void)put_header(b, PML_VARIANT_SCALAR, (size_t)info);
    return put_bytes(b, bits, width);
}

static int put_long(pml_variant_builder *b, int info, pml_bytes bytes)
{
    if (bytes.len > PML_VARIANT_BYTES_MAX)
        return b->value.rc = PML_E_LIMIT;
    (void)pml_variant_builder__fixed(b, info, bytes.len, sizeof(uint32_t));
    return pml_buf__append(&b->value, bytes.ptr, bytes.len);
}

int pml_variant_builder__text(pml_variant_builder *b, pml_bytes text)
{
    if (text.len > SHORT_TEXT_MAX)
        return put_long(b, PML_VARIANT_LONG_TEXT, text);
    (void)put_header(b, PML_VARIANT_TEXT, text.len);
    return pml_buf__append(&b->value, text.ptr, text.len);
}

int pml_variant_builder__binary(pml_variant_builder *b, pml_bytes bytes)
{
    return put_long(b, PML_VARIANT_BINARY, bytes);
}

int pml_variant_builder__boolean(pml_variant_builder *b, bool v)
{
    return put_header(b, PML_VARIANT_SCALAR, v ? PML_VARIANT_TRUE : PML_VARIANT_FALSE);
}

int pml_variant_builder__integer(pml_variant_builder *b, int64_t v)
{
    if (v == (int8_t)v)
        return pml_variant_builder__fixed(b, PML_VARIANT_INT1, (uint64_t)v, 1);
    if (v == (int16_t)v)
        return pml_variant_builder__fixed(b, PML_VARIANT_INT2, (uint64_t)v, 2);
    if (v == (int32_t)v)
        return pml_variant_builder__fixed(b, PML_VARIANT_INT4, (uint64_t)v, 4);
    return pml_variant_builder__fixed(b, PML_VARIANT_INT8, (uint64_t)v, 8);
}

int pml_variant_builder__decimal(pml_variant_builder *b, pml_int128 v, int scale)
{
    int info = scale <= 9 && pml_decimal__fits(v, 9)     ? PML_VARIANT_DECIMAL4
               : scale <= 18 && pml_decimal__fits(v, 18) ? PML_VARIANT_DECIMAL8
                                                         : PML_VARIANT_DECIMAL16;
    (void)pml_variant_builder__fixed(b, info, (uint64_t)scale, 1);
    if (info == PML_VARIANT_DECIMAL16)
        return pml_buf__append(&b->value, &v, sizeof v);
    return put_bytes(b, (uint64_t)(int64_t)v, info == PML_VARIANT_DECIMAL4 ? 4 : 8);
}

/* ---- objects and arrays ---- */

static int key_number(pml_variant_builder *b, member *out, pml_bytes key)
{
    uintptr_t after = (uintptr_t)pml_map__get(&b->keys, key.ptr, key.len);
    if (after == 0) {
        after = b->keys.n_entries + 1;
        PML_RETURN_IF(pml_map__put(&b->keys, key.ptr, key.len, (void *)after, NULL));
        b->key_bytes += key.len;
    }
    out->number = (uint32_t)(after - 1);
    out->key = (pml_bytes){b->keys.entries[after - 1].key, key.len};
    return PML_OK;
}

pml_variant_mark pml_variant_builder__open(const pml_variant_builder *b)
{
    return (pml_variant_mark){b->value.len, b->members.len};
}

int pml_variant_builder__member(pml_variant_builder *b, pml_variant_mark mark, pml_bytes key)
{
    member m = {.offset = (uint32_t)(b->value.len - mark.value)};
    if (key.ptr != NULL)
        PML_RETURN_IF(key_number(b, &m, key));
    return pml_buf__append(&b->members, &m, sizeof m);
}

static size_t width_of(size_t v)
{
    return v <= 0xff ? 1 : v <= 0xffff ? 2 : v <= 0xffffff ? 3 : 4;
}

/* Makes room before the values, which stand there already, and writes what belongs there. id_width 0: an array. */
static int close_with(pml_variant_builder *b, pml_variant_mark mark, const member *members, size_t n, size_t id_width)
{
    size_t data = b->value.len - mark.value, offset_width = width_of(data), n_width = n > 0xff ? 4 : 1;
    size_t head = 1 + n_width + n * id_width + (n + 1) * offset_width, info = offset_width - 1;
    info |= id_width > 0 ? (id_width - 1) << 2 | (n > 0xff ? 16u : 0) : (n > 0xff ? 4u : 0);
    if (b->value.rc != PML_OK || pml_buf__reserve(&b->value, head) == NULL)
        return b->value.rc;
    memmove(b->value.data + mark.value + head, b->value.data + mark.value, data);
    b->value.len = mark.value;
    (void)put_header(b, id_width > 0 ? PML_VARIANT_OBJECT : PML_VARIANT_ARRAY, info);
    (void)put_bytes(b, n, n_width);
    for (size_t i = 0; i < n && id_width > 0; i++)
        (void)put_bytes(b, members[i].number, id_width);
    for (size_t i = 0; i < n; i++)
        (void)put_bytes(b, members[i].offset, offset_width);
    (void)put_bytes(b, data, offset_width);
    b->value.len += data;
    b->members.len = mark.members;
    return b->value.rc;
}

/* The entries of what is open, where they may be sorted. */
static member *members_of(pml_variant_builder *b, pml_variant_mark mark, size_t *n)
{
    *n = (b->members.len - mark.members) / sizeof(member);
    return *n == 0 ? NULL : (member *)(void *)(b->members.data + mark.members);
}

int pml_variant_builder__close_array(pml_variant_builder *b, pml_variant_mark mark)
{
    size_t n;
    const member *members = members_of(b, mark, &n);
    return close_with(b, mark, members, n, 0);
}

static int by_key(const void *a, const void *b)
{
    return pml_java_text__compare(((const member *)a)->key, ((const member *)b)->key);
}

int pml_variant_builder__close_object(pml_variant_builder *b, pml_variant_mark mark, pml_error *err)
{
    size_t n;
    uint32_t number_max = 0;
    member *members = members_of(b, mark, &n);
    if (n > 1)
        qsort(members, n, sizeof *members, by_key);
    for (size_t i = 0; i < n; i++) {
        number_max = members[i].number > number_max ? members[i].number : number_max;
        if (i > 0 && members[i].number == members[i - 1].number)
            return pml_error__set(err, PML_E_CORRUPT, "a VARIANT is malformed: an object has the key '%.*s' twice",
                                  members[i].key.len > 80 ? 80 : (int)members[i].key.len, (const char *)members[i].key.ptr);
    }
    return close_with(b, mark, members, n, width_of(number_max));
}

int pml_variant_builder__copy(pml_variant_builder *b, pml_variant *from, size_t at, int depth)
{
    pml_variant_node node;
    pml_bytes key = {NULL, 0};
    PML_RETURN_IF(pml_variant__node(&node, from, at, depth));
    if (node.kind == PML_VARIANT_SCALAR || node.kind == PML_VARIANT_TEXT)
        return pml_buf__append(&b->value, node.bytes.ptr, node.bytes.len);
    pml_variant_mark mark = pml_variant_builder__open(b);
    for (uint32_t i = 0; i < node.n; i++) {
        if (node.kind == PML_VARIANT_OBJECT)
            PML_RETURN_IF(pml_variant__key(&key, from, &node, i));
        PML_RETURN_IF(pml_variant_builder__member(b, mark, key));
        PML_RETURN_IF(pml_variant_builder__copy(b, from, pml_variant__child(from, &node, i), depth + 1));
    }
    return node.kind == PML_VARIANT_OBJECT ? pml_variant_builder__close_object(b, mark, from->err)
                                           : pml_variant_builder__close_array(b, mark);
}

int pml_variant_builder__finish(pml_variant_builder *b, pml_error *err)
{
    size_t n = b->keys.n_entries, width = width_of(b->key_bytes > n ? b->key_bytes : n), end = 0;
    uint8_t bytes[4];
    PML_RETURN_IF(pml_buf__check(&b->value, err));
    PML_RETURN_IF(pml_buf__check(&b->members, err));
    pml_buf__reset(&b->metadata);
    (void)pml_buf__append_byte(&b->metadata, (uint8_t)(PML_VARIANT_VERSION | (width - 1) << 6));
    pml_put_le32(bytes, (uint32_t)n);
    (void)pml_buf__append(&b->metadata, bytes, width);
    for (size_t i = 0; i <= n; i++) {
        pml_put_le32(bytes, (uint32_t)end);
        (void)pml_buf__append(&b->metadata, bytes, width);
        end += i < n ? b->keys.entries[i].key_len : 0;
    }
    for (size_t i = 0; i < n; i++)
        (void)pml_buf__append(&b->metadata, b->keys.entries[i].key, b->keys.entries[i].key_len);
    return pml_buf__check(&b->metadata, err);
}
