/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/variant.h"

#include "columnar/check.h"
#include "columnar/decimal.h"

enum { LENGTH_WIDTH = 4, DECIMAL16_DIGITS = 38 };

static int malformed(pml_error *err, const char *what)
{
    return pml_error__set(err, PML_E_CORRUPT, "a VARIANT is malformed: %s", what);
}

static uint64_t load(const uint8_t *p, int width)
{
    uint64_t v = 0;
    for (int i = 0; i < width; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

int pml_variant__open(pml_variant *v, pml_bytes value, pml_bytes metadata, pml_error *err)
{
    *v = (pml_variant){.value = value, .metadata = metadata, .left = value.len, .keys_left = PML_VARIANT_KEYS_MAX, .err = err};
    if (value.len > PML_VARIANT_BYTES_MAX || metadata.len > PML_VARIANT_BYTES_MAX)
        return malformed(err, "it has more than 128 MiB");
    if (metadata.len < 1 || (metadata.ptr[0] & 0x0f) != PML_VARIANT_VERSION)
        return malformed(err, "its metadata is not of version 1");
    v->key_width = (metadata.ptr[0] >> 6) + 1;
    if (metadata.len < 1 + (size_t)v->key_width)
        return PML_OK; /* no keys, which is seen when one is wanted */
    uint64_t n = load(metadata.ptr + 1, v->key_width);
    /* The offsets of all keys must be there. */
    v->n_keys = n < metadata.len && 1 + (n + 2) * (uint64_t)v->key_width <= metadata.len ? (uint32_t)n : 0;
    return PML_OK;
}

static int scalar_bytes(size_t *out, pml_variant_node *node, const uint8_t *p, size_t left, pml_error *err)
{
    static const uint8_t sizes[] = {
        [PML_VARIANT_NULL] = 1,      [PML_VARIANT_TRUE] = 1,      [PML_VARIANT_FALSE] = 1,     [PML_VARIANT_INT1] = 2,
        [PML_VARIANT_INT2] = 3,      [PML_VARIANT_INT4] = 5,      [PML_VARIANT_INT8] = 9,      [PML_VARIANT_DOUBLE] = 9,
        [PML_VARIANT_DECIMAL4] = 6,  [PML_VARIANT_DECIMAL8] = 10, [PML_VARIANT_DECIMAL16] = 18, [PML_VARIANT_DATE] = 5,
        [PML_VARIANT_TIMESTAMP] = 9, [PML_VARIANT_TIMESTAMP_NTZ] = 9, [PML_VARIANT_FLOAT] = 5, [PML_VARIANT_UUID] = 17};
    if (node->info == PML_VARIANT_BINARY || node->info == PML_VARIANT_LONG_TEXT) {
        if (left < 1 + LENGTH_WIDTH)
            return malformed(err, "a length is cut off");
        node->content = (pml_bytes){p + 1 + LENGTH_WIDTH, pml_le32(p + 1)};
        *out = 1 + LENGTH_WIDTH + node->content.len;
        return PML_OK;
    }
    *out = (size_t)node->info < sizeof sizes ? sizes[node->info] : 0;
    return *out > 0 ? PML_OK
                    : pml_error__set(err, PML_E_CORRUPT, "a VARIANT is malformed: %d is no type of a value", node->info);
}

static int container_bytes(size_t *out, pml_variant_node *node, const uint8_t *p, size_t left, pml_error *err)
{
    bool object = node->kind == PML_VARIANT_OBJECT;
    int n_width = (node->info >> (object ? 4 : 2) & 1) != 0 ? 4 : 1;
    if (left < 1 + (size_t)n_width)
        return malformed(err, "a number of members is cut off");
    uint64_t n = load(p + 1, n_width);
    node->id_width = object ? (node->info >> 2 & 3) + 1 : 0;
    node->offset_width = (node->info & 3) + 1;
    uint64_t bytes = 1 + (uint64_t)n_width + n * (uint64_t)node->id_width + (n + 1) * (uint64_t)node->offset_width;
    if (bytes > left)
        return malformed(err, "it has more members than bytes");
    node->n = (uint32_t)n;
    node->ids = 1 + (size_t)n_width;
    node->offsets = node->ids + (size_t)n * (size_t)node->id_width;
    node->data = *out = (size_t)bytes;
    return PML_OK;
}

int pml_variant__node(pml_variant_node *out, pml_variant *v, size_t at, int depth)
{
    size_t bytes = 0;
    *out = (pml_variant_node){0};
    if (depth > PML_VARIANT_DEPTH_MAX)
        return malformed(v->err, "its values lie in each other more than 1000 deep");
    if (at >= v->value.len)
        return malformed(v->err, "an offset points behind its end");
    const uint8_t *p = v->value.ptr + at;
    size_t left = v->value.len - at;
    out->kind = (pml_variant_kind)(p[0] & 3);
    out->info = p[0] >> 2;
    if (out->kind == PML_VARIANT_SCALAR) {
        PML_RETURN_IF(scalar_bytes(&bytes, out, p, left, v->err));
    } else if (out->kind == PML_VARIANT_TEXT) {
        out->content = (pml_bytes){p + 1, (size_t)out->info};
        bytes = 1 + out->content.len;
    } else {
        PML_RETURN_IF(container_bytes(&bytes, out, p, left, v->err));
        out->ids += at;
        out->offsets += at;
        out->data += at;
    }
    if (bytes > left)
        return malformed(v->err, "a value is cut off");
    if (bytes > v->left)
        return malformed(v->err, "values lie over each other");
    v->left -= bytes;
    out->bytes = (pml_bytes){p, bytes};
    return PML_OK;
}

size_t pml_variant__child(const pml_variant *v, const pml_variant_node *node, uint32_t i)
{
    return node->data + (size_t)load(v->value.ptr + node->offsets + (size_t)i * (size_t)node->offset_width, node->offset_width);
}

int pml_variant__key(pml_bytes *out, pml_variant *v, const pml_variant_node *object, uint32_t i)
{
    uint64_t id = load(v->value.ptr + object->ids + (size_t)i * (size_t)object->id_width, object->id_width);
    if (id >= v->n_keys)
        return malformed(v->err, "it has no key of a number that a member names");
    size_t width = (size_t)v->key_width, strings = 1 + ((size_t)v->n_keys + 2) * width;
    const uint8_t *ends = v->metadata.ptr + 1 + ((size_t)id + 1) * width;
    uint64_t from = load(ends, v->key_width), to = load(ends + width, v->key_width);
    if (from > to || to > v->metadata.len - strings)
        return malformed(v->err, "a key lies outside of its metadata");
    if (to - from > v->keys_left)
        return pml_error__set(v->err, PML_E_LIMIT, "the keys of all members of a VARIANT have more than %d bytes", PML_VARIANT_KEYS_MAX);
    v->keys_left -= (size_t)(to - from);
    *out = (pml_bytes){v->metadata.ptr + strings + from, (size_t)(to - from)};
    return PML_OK;
}

int64_t pml_variant__integer(const pml_variant_node *scalar)
{
    int bits = 8 * (int)(scalar->bytes.len - 1);
    return (int64_t)(load(scalar->bytes.ptr + 1, bits / 8) << (64 - bits)) >> (64 - bits);
}

pml_int128 pml_variant__decimal(const pml_variant_node *scalar)
{
    const uint8_t *p = scalar->bytes.ptr + 2;
    pml_int128 v;
    if (scalar->info == PML_VARIANT_DECIMAL4)
        return (int32_t)pml_le32(p);
    if (scalar->info == PML_VARIANT_DECIMAL8)
        return (int64_t)pml_le64(p);
    memcpy(&v, p, sizeof v);
    return v;
}

/* ---- all of it ---- */

static int check_decimal(const pml_variant *v, const pml_variant_node *node)
{
    int digits = node->info == PML_VARIANT_DECIMAL4 ? 9 : node->info == PML_VARIANT_DECIMAL8 ? 18 : DECIMAL16_DIGITS;
    return node->bytes.ptr[1] <= digits && pml_decimal__fits(pml_variant__decimal(node), digits)
               ? PML_OK
               : malformed(v->err, "a decimal has more digits than its form may have");
}

static bool is_decimal(const pml_variant_node *node)
{
    return node->kind == PML_VARIANT_SCALAR && node->info >= PML_VARIANT_DECIMAL4 && node->info <= PML_VARIANT_DECIMAL16;
}

static bool is_text(const pml_variant_node *node)
{
    return node->kind == PML_VARIANT_TEXT || (node->kind == PML_VARIANT_SCALAR && node->info == PML_VARIANT_LONG_TEXT);
}

/* Recursion here and in the other files ends at PML_VARIANT_DEPTH_MAX. */
static int check_value(pml_variant *v, size_t at, int depth)
{
    pml_variant_node node;
    pml_bytes key;
    PML_RETURN_IF(pml_variant__node(&node, v, at, depth));
    if (is_decimal(&node))
        return check_decimal(v, &node);
    if (is_text(&node) && !pml_check__utf8(node.content.ptr, node.content.len))
        return malformed(v->err, "a text is not valid UTF-8");
    for (uint32_t i = 0; i < node.n; i++) {
        if (node.kind == PML_VARIANT_OBJECT) {
            PML_RETURN_IF(pml_variant__key(&key, v, &node, i));
            if (!pml_check__utf8(key.ptr, key.len))
                return malformed(v->err, "a key is not valid UTF-8");
        }
        PML_RETURN_IF(check_value(v, pml_variant__child(v, &node, i), depth + 1));
    }
    return PML_OK;
}

int pml_variant__check(pml_bytes value, pml_bytes metadata, pml_error *err)
{
    pml_variant v;
    PML_RETURN_IF(pml_variant__open(&v, value, metadata, err));
    return check_value(&v, 0, 0);
}
