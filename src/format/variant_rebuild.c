/* SPDX-License-Identifier: Apache-2.0 */
#include "format/variant_rebuild.h"

#include <stdlib.h>

#include "columnar/array_memory.h"
#include "util/number.h"

/* ---- shapes ---- */

static bool decimal_scale(int32_t *scale, const char *format)
{
    const char *comma = strchr(format, ',');
    int64_t v;
    if (comma == NULL || !pml_number__int64(&v, comma + 1, strcspn(comma + 1, ",")) || v < 0 || v > 38)
        return false;
    const char *width = strchr(comma + 1, ',');
    *scale = (int32_t)v;
    return width == NULL || strcmp(width, ",128") == 0;
}

/* The type whose Arrow form a typed_value has, as far as Java shreds into it. */
static bool scalar_of(pml_type *out, const char *format)
{
    static const struct {
        const char *format;
        pml_type type;
    } forms[] = {{"b", {.kind = PML_TYPE_BOOLEAN}}, {"c", {.kind = PML_TYPE_TINYINT}}, {"s", {.kind = PML_TYPE_SMALLINT}},
                 {"i", {.kind = PML_TYPE_INT}},     {"l", {.kind = PML_TYPE_BIGINT}},  {"f", {.kind = PML_TYPE_FLOAT}},
                 {"g", {.kind = PML_TYPE_DOUBLE}},  {"u", {.kind = PML_TYPE_VARCHAR}}, {"z", {.kind = PML_TYPE_VARBINARY}},
                 {"tdD", {.kind = PML_TYPE_DATE}}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(format, forms[i].format) == 0) {
            *out = forms[i].type;
            return true;
        }
    if (strncmp(format, "d:", 2) == 0) {
        *out = (pml_type){.kind = PML_TYPE_DECIMAL, .precision = 38};
        return decimal_scale(&out->scale, format);
    }
    if (strncmp(format, "ts", 2) != 0 || strlen(format) < 4)
        return false;
    *out = (pml_type){.kind = format[4] == '\0' ? PML_TYPE_TIMESTAMP : PML_TYPE_TIMESTAMP_LTZ,
                      .precision = format[2] == 'm' ? 3 : format[2] == 'u' ? 6 : 9};
    return format[2] != 's';
}

static int shape_fill(pml_variant_shape *out, pml_arena *arena, const struct ArrowSchema *group, int depth, pml_error *err);

static int by_name(const void *a, const void *b)
{
    return pml_bytes_compare(*(const pml_bytes *)a, *(const pml_bytes *)b);
}

static int shape_names(pml_variant_shape *out, pml_arena *arena, pml_error *err)
{
    out->names = pml_arena__array(arena, out->n_members, sizeof *out->names);
    if (out->names == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < out->n_members; i++)
        out->names[i] = out->members[i].name;
    if (out->n_members > 0)
        qsort(out->names, out->n_members, sizeof *out->names, by_name);
    return PML_OK;
}

static int shape_members(pml_variant_shape *out, pml_arena *arena, const struct ArrowSchema *typed, int depth, pml_error *err)
{
    out->kind = strcmp(typed->format, "+s") == 0 ? PML_VARIANT_OBJECT : PML_VARIANT_ARRAY;
    out->n_members = (size_t)typed->n_children;
    out->members = pml_arena__array(arena, out->n_members, sizeof *out->members);
    if (out->members == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < out->n_members; i++)
        PML_RETURN_IF(shape_fill(&out->members[i], arena, typed->children[i], depth + 1, err));
    return out->kind == PML_VARIANT_OBJECT ? shape_names(out, arena, err) : PML_OK;
}

static int shape_fill(pml_variant_shape *out, pml_arena *arena, const struct ArrowSchema *group, int depth, pml_error *err)
{
    const char *name = pml_arena__strdup(arena, group->name == NULL ? "" : group->name);
    if (name == NULL)
        return pml_error__no_memory(err);
    *out = (pml_variant_shape){.name = {(const uint8_t *)name, strlen(name)}, .value = -1, .typed = -1, .metadata = -1};
    if (depth > PML_VARIANT_SHAPE_DEPTH_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a shredded VARIANT has more than %d levels of typed_value", PML_VARIANT_SHAPE_DEPTH_MAX);
    for (int64_t i = 0; i < group->n_children && strcmp(group->format, "+s") == 0; i++) {
        const char *child = group->children[i]->name;
        int64_t *at = strcmp(child, "value") == 0 ? &out->value : strcmp(child, "typed_value") == 0 ? &out->typed : &out->metadata;
        if (*at >= 0 || (at == &out->metadata && (depth > 0 || strcmp(child, "metadata") != 0)) ||
            (at != &out->typed && strcmp(group->children[i]->format, "z") != 0))
            return pml_error__set(err, PML_E_CORRUPT, "a shredded VARIANT has a column '%.80s' in '%.80s' that does not belong there", child, name);
        *at = i;
    }
    if (out->value < 0 && out->typed < 0)
        return pml_error__set(err, PML_E_CORRUPT, "a shredded VARIANT has a group '%.80s' without value and typed_value", name);
    const struct ArrowSchema *typed = out->typed < 0 ? NULL : group->children[out->typed];
    if (typed == NULL || scalar_of(&out->scalar, typed->format))
        return PML_OK;
    if (strcmp(typed->format, "+s") == 0 || (strcmp(typed->format, "+l") == 0 && typed->n_children == 1))
        return shape_members(out, arena, typed, depth, err);
    return pml_error__set(err, PML_E_UNSUPPORTED, "needs variant-typed-value:%.40s: '%.80s' of a shredded VARIANT has this Arrow type",
                          typed->format, name);
}

int pml_variant_shape__make(const pml_variant_shape **out, pml_arena *arena, const struct ArrowSchema *group, int depth, pml_error *err)
{
    pml_variant_shape *shape = pml_arena__array(arena, 1, sizeof *shape);
    *out = shape;
    return shape == NULL ? pml_error__no_memory(err) : shape_fill(shape, arena, group, depth, err);
}

/* ---- rows ---- */

void pml_variant_rebuild__init(pml_variant_rebuild *r, pml_env *env)
{
    r->env = env;
    pml_variant_builder__init(&r->builder, env);
}

void pml_variant_rebuild__clear(pml_variant_rebuild *r)
{
    pml_variant_builder__clear(&r->builder);
}

typedef struct row_of {
    pml_variant_builder *b;
    pml_bytes metadata;
    size_t keys_left; /* bytes of keys that all its values together may still ask for */
    pml_error *err;
} row_of;

static int malformed(pml_error *err, const char *what)
{
    return pml_error__set(err, PML_E_CORRUPT, "a shredded VARIANT is malformed: %s", what);
}

/* Child `i` of a group at a row; NULL: there is none, or it is null. */
static const struct ArrowArray *present(const struct ArrowArray *group, int64_t i, int64_t row)
{
    return i < 0 || pml_array__is_null(group->children[i], group->offset + row) ? NULL : group->children[i];
}

static pml_bytes bytes_at(const struct ArrowArray *a, int64_t row)
{
    static const pml_type bytes = {.kind = PML_TYPE_VARBINARY};
    pml_value v;
    pml_value__get(&v, &bytes, a, row);
    return v.bytes;
}

static uint64_t micros_of(const pml_value *v)
{
    return (uint64_t)v->ts.ms * 1000 + (uint64_t)(v->ts.nanos / 1000);
}

static int rebuild_scalar(const row_of *r, const pml_type *t, const struct ArrowArray *a, int64_t row)
{
    pml_value v;
    uint64_t bits = 0;
    pml_value__get(&v, t, a, row);
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: return pml_variant_builder__boolean(r->b, v.i != 0);
    case PML_TYPE_FLOAT: memcpy(&bits, &v.f, sizeof v.f); return pml_variant_builder__fixed(r->b, PML_VARIANT_FLOAT, bits, 4);
    case PML_TYPE_DOUBLE: memcpy(&bits, &v.d, sizeof v.d); return pml_variant_builder__fixed(r->b, PML_VARIANT_DOUBLE, bits, 8);
    case PML_TYPE_VARCHAR: return pml_variant_builder__text(r->b, v.bytes);
    case PML_TYPE_VARBINARY: return pml_variant_builder__binary(r->b, v.bytes);
    case PML_TYPE_DATE: return pml_variant_builder__fixed(r->b, PML_VARIANT_DATE, (uint64_t)v.i, 4);
    case PML_TYPE_DECIMAL: return pml_variant_builder__decimal(r->b, v.dec, t->scale);
    case PML_TYPE_TIMESTAMP: return pml_variant_builder__fixed(r->b, PML_VARIANT_TIMESTAMP_NTZ, micros_of(&v), 8);
    case PML_TYPE_TIMESTAMP_LTZ: return pml_variant_builder__fixed(r->b, PML_VARIANT_TIMESTAMP, micros_of(&v), 8);
    default: return pml_variant_builder__integer(r->b, v.i);
    }
}

/* Recursion here ends at PML_VARIANT_SHAPE_DEPTH_MAX. */
static int rebuild_group(row_of *r, const pml_variant_shape *shape, const struct ArrowArray *group, int64_t row);

static int rebuild_array(row_of *r, const pml_variant_shape *shape, const struct ArrowArray *list, int64_t row)
{
    pml_variant_mark mark = pml_variant_builder__open(r->b);
    int64_t first = pml_load_i32(list->buffers[1], list->offset + row), end = pml_load_i32(list->buffers[1], list->offset + row + 1);
    for (int64_t i = first; i < end; i++) {
        if (pml_array__is_null(list->children[0], i))
            return malformed(r->err, "an element is missing");
        PML_RETURN_IF(pml_variant_builder__member(r->b, mark, (pml_bytes){NULL, 0}));
        PML_RETURN_IF(rebuild_group(r, &shape->members[0], list->children[0], i));
    }
    return pml_variant_builder__close_array(r->b, mark);
}

static int copy_value(row_of *r, pml_bytes value)
{
    pml_variant v;
    PML_RETURN_IF(pml_variant__open(&v, value, r->metadata, r->err));
    v.keys_left = r->keys_left;
    int rc = pml_variant_builder__copy(r->b, &v, 0, 0);
    r->keys_left = v.keys_left;
    return rc;
}

static int copy_members(row_of *r, const pml_variant_shape *shape, pml_variant_mark mark, pml_variant *v)
{
    pml_variant_node object;
    pml_bytes key;
    PML_RETURN_IF(pml_variant__node(&object, v, 0, 0));
    if (object.kind != PML_VARIANT_OBJECT)
        return malformed(r->err, "the value beside an object is none");
    for (uint32_t i = 0; i < object.n; i++) {
        PML_RETURN_IF(pml_variant__key(&key, v, &object, i));
        if (shape->n_members > 0 && bsearch(&key, shape->names, shape->n_members, sizeof key, by_name) != NULL)
            return malformed(r->err, "a member of typed_value stands in value");
        PML_RETURN_IF(pml_variant_builder__member(r->b, mark, key));
        PML_RETURN_IF(pml_variant_builder__copy(r->b, v, pml_variant__child(v, &object, i), 1));
    }
    return PML_OK;
}

/* The members that typed_value has no place for. */
static int rebuild_rest(row_of *r, const pml_variant_shape *shape, pml_variant_mark mark, pml_bytes value)
{
    pml_variant v;
    PML_RETURN_IF(pml_variant__open(&v, value, r->metadata, r->err));
    v.keys_left = r->keys_left;
    int rc = copy_members(r, shape, mark, &v);
    r->keys_left = v.keys_left;
    return rc;
}

static int rebuild_object(row_of *r, const pml_variant_shape *shape, const struct ArrowArray *object, int64_t row,
                          const struct ArrowArray *rest, int64_t rest_row)
{
    pml_variant_mark mark = pml_variant_builder__open(r->b);
    int64_t at = object->offset + row;
    for (size_t i = 0; i < shape->n_members; i++) {
        const pml_variant_shape *m = &shape->members[i];
        const struct ArrowArray *child = object->children[i];
        if (pml_array__is_null(child, at))
            return malformed(r->err, "a member of typed_value is null");
        if (present(child, m->value, at) == NULL && present(child, m->typed, at) == NULL)
            continue;
        if (m->name.len > r->keys_left)
            return pml_error__set(r->err, PML_E_LIMIT, "the keys of all members of a VARIANT have more than %d bytes", PML_VARIANT_KEYS_MAX);
        r->keys_left -= m->name.len;
        PML_RETURN_IF(pml_variant_builder__member(r->b, mark, m->name));
        PML_RETURN_IF(rebuild_group(r, m, child, at));
    }
    if (rest != NULL)
        PML_RETURN_IF(rebuild_rest(r, shape, mark, bytes_at(rest, rest_row)));
    return pml_variant_builder__close_object(r->b, mark, r->err);
}

static int rebuild_group(row_of *r, const pml_variant_shape *shape, const struct ArrowArray *group, int64_t row)
{
    const struct ArrowArray *typed = present(group, shape->typed, row), *value = present(group, shape->value, row);
    int64_t at = group->offset + row;
    if (typed == NULL && value == NULL)
        return malformed(r->err, "a value is missing");
    if (typed == NULL)
        return copy_value(r, bytes_at(value, at));
    if (shape->kind == PML_VARIANT_OBJECT)
        return rebuild_object(r, shape, typed, at, value, at);
    return shape->kind == PML_VARIANT_ARRAY ? rebuild_array(r, shape, typed, at) : rebuild_scalar(r, &shape->scalar, typed, at);
}

static int rebuild_row(pml_variant_rebuild *r, pml_builder *out, const pml_variant_shape *shape, const struct ArrowArray *group,
                       int64_t row, pml_error *err)
{
    const struct ArrowArray *metadata = present(group, shape->metadata, row);
    if (pml_array__is_null(group, row))
        return pml_builder__append_null(out);
    if (metadata == NULL)
        return malformed(err, "its metadata is missing");
    row_of one = {&r->builder, bytes_at(metadata, group->offset + row), PML_VARIANT_KEYS_MAX, err};
    pml_variant_builder__reset(&r->builder);
    PML_RETURN_IF(rebuild_group(&one, shape, group, row));
    PML_RETURN_IF(pml_variant_builder__finish(&r->builder, err));
    const pml_value parts[] = {{.kind = PML_VALUE_BYTES, .bytes = {r->builder.value.data, r->builder.value.len}},
                               {.kind = PML_VALUE_BYTES, .bytes = {r->builder.metadata.data, r->builder.metadata.len}}};
    for (size_t i = 0; i < 2; i++)
        PML_RETURN_IF(pml_builder__append_value(pml_builder__child(out, i), &parts[i]));
    return pml_builder__close_item(out);
}

/* Row `row` of an array in ROWs is none of theirs, or one of them is null. */
static bool is_hidden(const pml_variant_above *above, int64_t row)
{
    for (; above != NULL; above = above->above) {
        row -= above->row->offset;
        if (row < 0 || row >= above->row->length || pml_array__is_null(above->row, row))
            return true;
    }
    return false;
}

int pml_variant_rebuild__array(struct ArrowArray *out, pml_variant_rebuild *r, const pml_variant_shape *shape,
                               const struct ArrowArray *group, const pml_variant_above *above, pml_error *err)
{
    static const pml_type type = {.kind = PML_TYPE_VARIANT, .nullable = true};
    pml_builder *builder;
    pml_error why = PML_ERROR_INIT;
    int rc;
    PML_RETURN_IF(pml_builder__new(&builder, r->env, &type, err));
    for (int64_t row = 0; row < group->length; row++)
        PML_TRY(is_hidden(above, row) ? pml_builder__append_null(builder) : rebuild_row(r, builder, shape, group, row, &why));
    PML_TRY(pml_builder__finish(builder, out, &why));
out:
    pml_builder__free(builder);
    if (rc == PML_OK)
        return PML_OK;
    if (why.code == rc && err != NULL)
        *err = why;
    else
        (void)pml_error__set(err, rc, rc == PML_E_LIMIT ? "variants of one batch, or one of them, are too large" : "no memory");
    return rc;
}
