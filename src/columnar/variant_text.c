/* SPDX-License-Identifier: Apache-2.0 */
/* Variants as JSON, letter by letter as GenericVariant.toJson prints them. */
#include <math.h>

#include "columnar/java_text.h"
#include "columnar/variant.h"

static int print_base64(pml_buf *out, pml_bytes bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len && out->rc == PML_OK; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t v = (uint32_t)bytes.ptr[i] << 16 | (n > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0) | (n > 2 ? bytes.ptr[i + 2] : 0);
        char four[4] = {letters[v >> 18], letters[v >> 12 & 63], n > 1 ? letters[v >> 6 & 63] : '=', n > 2 ? letters[v & 63] : '='};
        (void)pml_buf__append(out, four, sizeof four);
    }
    return out->rc;
}

static int print_uuid(pml_buf *out, const uint8_t *p)
{
    for (int i = 0; i < 16; i++)
        (void)pml_buf__append_format(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", p[i]);
    return out->rc;
}

/* As Jackson writes a text: the short escapes where there are, else upper-case digits. */
static int print_text(pml_buf *out, pml_bytes text)
{
    static const char short_forms[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    size_t plain = 0; /* start of what needs no escape and is not yet copied */
    (void)pml_buf__append_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.ptr[i];
        char form = c < sizeof short_forms ? short_forms[c] : 0;
        if (c >= 0x20 && form == 0)
            continue;
        (void)pml_buf__append(out, text.ptr + plain, i - plain);
        plain = i + 1;
        if (form != 0)
            (void)pml_buf__append_format(out, "\\%c", form);
        else
            (void)pml_buf__append_format(out, "\\u%04X", c);
    }
    (void)pml_buf__append(out, text.ptr + plain, text.len - plain);
    return pml_buf__append_byte(out, '"');
}

static void drop_zeros(pml_buf *out)
{
    while (out->rc == PML_OK && out->data[out->len - 1] == '0')
        out->len--;
    if (out->rc == PML_OK && out->data[out->len - 1] == '.')
        out->len--;
}

static int print_timestamp(pml_buf *out, int64_t micros, const char *zone)
{
    static const pml_type type = {.kind = PML_TYPE_TIMESTAMP, .precision = 6};
    int64_t ms = micros / 1000 - (micros % 1000 < 0);
    const pml_value v = {.kind = PML_VALUE_TIMESTAMP, .ts = {.ms = ms, .nanos = (int32_t)(micros - ms * 1000) * 1000}};
    (void)pml_buf__append_byte(out, '"');
    size_t from = out->len;
    if (pml_value__print(out, &type, &v) != PML_OK)
        return out->rc;
    uint8_t *separator = memchr(out->data + from, 'T', out->len - from);
    if (separator != NULL)
        *separator = ' ';
    drop_zeros(out);
    (void)pml_buf__append_str(out, zone);
    return pml_buf__append_byte(out, '"');
}

static int print_floating(pml_buf *out, const pml_variant_node *node, pml_error *err)
{
    bool single = node->info == PML_VARIANT_FLOAT;
    const pml_type type = {.kind = single ? PML_TYPE_FLOAT : PML_TYPE_DOUBLE};
    pml_value v = {.kind = single ? PML_VALUE_FLOAT : PML_VALUE_DOUBLE};
    memcpy(single ? (void *)&v.f : (void *)&v.d, node->bytes.ptr + 1, single ? sizeof v.f : sizeof v.d);
    bool bare = single ? isfinite(v.f) : isfinite(v.d);
    if (!bare)
        (void)pml_buf__append_byte(out, '"');
    PML_RETURN_IF(pml_java_text__cast(out, &type, &v, err));
    return bare ? PML_OK : pml_buf__append_byte(out, '"');
}

static int print_decimal(pml_buf *out, const pml_variant_node *node)
{
    const pml_type type = {.kind = PML_TYPE_DECIMAL, .scale = node->bytes.ptr[1]};
    const pml_value v = {.kind = PML_VALUE_DECIMAL, .dec = pml_variant__decimal(node)};
    if (pml_value__print(out, &type, &v) == PML_OK && type.scale > 0)
        drop_zeros(out);
    return out->rc;
}

static int print_scalar(pml_buf *out, const pml_variant_node *node, pml_error *err)
{
    static const pml_type date = {.kind = PML_TYPE_DATE};
    pml_value v = {.kind = PML_VALUE_INT};
    switch (node->info) {
    case PML_VARIANT_NULL: return pml_buf__append_str(out, "null");
    case PML_VARIANT_TRUE: return pml_buf__append_str(out, "true");
    case PML_VARIANT_FALSE: return pml_buf__append_str(out, "false");
    case PML_VARIANT_DOUBLE:
    case PML_VARIANT_FLOAT: return print_floating(out, node, err);
    case PML_VARIANT_DECIMAL4:
    case PML_VARIANT_DECIMAL8:
    case PML_VARIANT_DECIMAL16: return print_decimal(out, node);
    case PML_VARIANT_TIMESTAMP: return print_timestamp(out, pml_variant__integer(node), "+00:00");
    case PML_VARIANT_TIMESTAMP_NTZ: return print_timestamp(out, pml_variant__integer(node), "");
    case PML_VARIANT_LONG_TEXT: return print_text(out, node->content);
    case PML_VARIANT_DATE:
    case PML_VARIANT_BINARY:
    case PML_VARIANT_UUID: break;
    default: return pml_buf__append_format(out, "%lld", (long long)pml_variant__integer(node)); /* INT1 to INT8 */
    }
    (void)pml_buf__append_byte(out, '"');
    if (node->info == PML_VARIANT_BINARY)
        (void)print_base64(out, node->content);
    else if (node->info == PML_VARIANT_UUID)
        (void)print_uuid(out, node->bytes.ptr + 1);
    else {
        v.i = pml_variant__integer(node);
        (void)pml_value__print(out, &date, &v);
    }
    return pml_buf__append_byte(out, '"');
}

static int print_node(pml_buf *out, pml_variant *v, size_t at, int depth)
{
    pml_variant_node node;
    pml_bytes key;
    PML_RETURN_IF(pml_variant__node(&node, v, at, depth));
    if (node.kind == PML_VARIANT_SCALAR)
        return print_scalar(out, &node, v->err);
    if (node.kind == PML_VARIANT_TEXT)
        return print_text(out, node.content);
    bool object = node.kind == PML_VARIANT_OBJECT;
    (void)pml_buf__append_byte(out, object ? '{' : '[');
    for (uint32_t i = 0; i < node.n; i++) {
        if (i > 0)
            (void)pml_buf__append_byte(out, ',');
        if (object) {
            PML_RETURN_IF(pml_variant__key(&key, v, &node, i));
            (void)print_text(out, key);
            (void)pml_buf__append_byte(out, ':');
        }
        PML_RETURN_IF(print_node(out, v, pml_variant__child(v, &node, i), depth + 1));
    }
    return pml_buf__append_byte(out, object ? '}' : ']');
}

int pml_variant__print(pml_buf *out, pml_bytes value, pml_bytes metadata, pml_error *err)
{
    pml_variant v;
    PML_RETURN_IF(pml_variant__check(value, metadata, err)); /* so that nothing of a bad one is printed, and printing can trust it */
    PML_RETURN_IF(pml_variant__open(&v, value, metadata, err));
    PML_RETURN_IF(print_node(out, &v, 0, 0));
    return pml_buf__check(out, err);
}
