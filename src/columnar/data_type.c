/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/data_type.h"

#include <string.h>

/* Java adds and multiplies ints and lets them wrap; the same here in unsigned arithmetic. */
static int32_t nested_id(uint32_t base, uint32_t distance, bool below)
{
    return (int32_t)(below ? base - distance : base + distance);
}

enum { NESTED_ID_BASE = INT32_MAX / 4, NESTED_ID_SPAN = 1024 };

int32_t pml_type__element_id(int32_t field_id, int depth)
{
    return nested_id(NESTED_ID_BASE, (uint32_t)field_id * NESTED_ID_SPAN + (uint32_t)depth, false);
}

int32_t pml_type__map_key_id(int32_t field_id, int depth)
{
    return nested_id(NESTED_ID_BASE, (uint32_t)field_id * NESTED_ID_SPAN + (uint32_t)depth, true);
}

bool pml_type__is_nested(const pml_type *t)
{
    switch (t->kind) {
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
    case PML_TYPE_VARIANT: return true;
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DOUBLE:
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_DECIMAL:
    case PML_TYPE_DATE:
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP:
    case PML_TYPE_TIMESTAMP_LTZ:
    case PML_TYPE_BLOB: return false;
    }
    return false;
}

static bool text_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Recursion here and below goes at most PML_TYPE_DEPTH_MAX deep: the parser makes no deeper tree. */
bool pml_type__equal(const pml_type *a, const pml_type *b, bool ignore_nullable)
{
    if (a->kind != b->kind || a->length != b->length || a->precision != b->precision || a->scale != b->scale)
        return false;
    if ((!ignore_nullable && a->nullable != b->nullable) || a->n_children != b->n_children)
        return false;
    for (size_t i = 0; i < a->n_children; i++) {
        const pml_field *x = &a->children[i], *y = &b->children[i];
        if (a->kind == PML_TYPE_ROW &&
            (x->id != y->id || !text_equal(x->name, y->name) || !text_equal(x->description, y->description) ||
             !text_equal(x->default_value, y->default_value)))
            return false;
        if (!pml_type__equal(&x->type, &y->type, ignore_nullable))
            return false;
    }
    return true;
}

static bool copy_text(const char **out, pml_arena *arena, const char *text)
{
    *out = text == NULL ? NULL : pml_arena__strdup(arena, text);
    return text == NULL || *out != NULL;
}

static int copy_children(pml_field *out, pml_arena *arena, const pml_field *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i].id = from[i].id;
        if (!copy_text(&out[i].name, arena, from[i].name) ||
            !copy_text(&out[i].description, arena, from[i].description) ||
            !copy_text(&out[i].default_value, arena, from[i].default_value))
            return PML_E_NOMEM;
        PML_RETURN_IF(pml_type__copy(&out[i].type, arena, &from[i].type));
    }
    return PML_OK;
}

int pml_type__copy(pml_type *out, pml_arena *arena, const pml_type *t)
{
    pml_type copy = *t;
    *out = (pml_type){0};
    copy.children = NULL;
    if (t->n_children > 0) {
        copy.children = pml_arena__array(arena, t->n_children, sizeof *copy.children);
        if (copy.children == NULL)
            return PML_E_NOMEM;
        PML_RETURN_IF(copy_children(copy.children, arena, t->children, t->n_children));
    }
    *out = copy;
    return PML_OK;
}
