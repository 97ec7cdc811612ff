/* SPDX-License-Identifier: Apache-2.0 */
#include "format/variant_shred.h"

#include "format/variant_rebuild.h"

/* What lies on the way from a column to the variants in it. */
typedef struct plan {
    int64_t at; /* which child of the one above (of the entries, for maps) */
    bool entries;
    const pml_variant_shape *shape; /* not NULL: it is a variant */
    size_t n_children;
    struct plan *children;
} plan;

struct pml_variant_shred {
    pml_env *env;
    pml_arena arena;
    pml_variant_rebuild rebuild;
    plan top;
};

/* Most often it stands where it is looked for first. */
static int64_t child_by_name(const struct ArrowSchema *s, const char *name, int64_t first)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        int64_t at = (first + i) % s->n_children;
        if (s->children[at]->name != NULL && strcmp(s->children[at]->name, name) == 0)
            return at;
    }
    return -1;
}

/* ---- plans ---- */

/* The schema node whose children correspond to those of the type; NULL: it has another form, which the cast will say. */
static const struct ArrowSchema *node_of(const pml_type *t, const struct ArrowSchema *s)
{
    switch (t->kind) {
    case PML_TYPE_ROW: return strcmp(s->format, "+s") == 0 ? s : NULL;
    case PML_TYPE_ARRAY: return strcmp(s->format, "+l") == 0 && s->n_children == 1 ? s : NULL;
    case PML_TYPE_MAP: return strcmp(s->format, "+m") == 0 && s->n_children == 1 && s->children[0]->n_children == 2 ? s->children[0] : NULL;
    default: return NULL;
    }
}

static int plan_children(plan *out, bool *any, pml_arena *arena, const pml_field *fields, size_t n, const struct ArrowSchema *s,
                         bool by_name, pml_error *err);

static int plan_make(plan *out, bool *any, pml_arena *arena, const pml_type *t, const struct ArrowSchema *s, pml_error *err)
{
    if (t->kind == PML_TYPE_VARIANT) {
        *any = strcmp(s->format, "+s") == 0 && child_by_name(s, "typed_value", 0) >= 0;
        return *any ? pml_variant_shape__make(&out->shape, arena, s, 0, err) : PML_OK;
    }
    const struct ArrowSchema *node = node_of(t, s);
    if (node == NULL)
        return PML_OK;
    out->entries = node != s;
    return plan_children(out, any, arena, t->children, t->n_children, node, t->kind == PML_TYPE_ROW, err);
}

/* Recursion goes as deep as the type of the table, which the parser bounds. */
static int plan_children(plan *out, bool *any, pml_arena *arena, const pml_field *fields, size_t n, const struct ArrowSchema *s,
                         bool by_name, pml_error *err)
{
    out->children = pml_arena__array(arena, n, sizeof *out->children);
    if (out->children == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        plan child = {.at = by_name ? child_by_name(s, fields[i].name, (int64_t)i) : (int64_t)i};
        bool found = false;
        if (child.at >= 0 && child.at < s->n_children)
            PML_RETURN_IF(plan_make(&child, &found, arena, &fields[i].type, s->children[child.at], err));
        if (found)
            out->children[out->n_children++] = child;
    }
    *any = out->n_children > 0;
    return PML_OK;
}

/* ---- schemas and batches ---- */

static const pml_type variant_type = {.kind = PML_TYPE_VARIANT, .nullable = true};

static int schema_apply(const plan *p, struct ArrowSchema *s, pml_env *env, pml_error *err)
{
    struct ArrowSchema fresh;
    struct ArrowSchema *node = p->entries ? s->children[0] : s;
    for (size_t i = 0; i < p->n_children; i++)
        PML_RETURN_IF(schema_apply(&p->children[i], node->children[p->children[i].at], env, err));
    if (p->shape == NULL)
        return PML_OK;
    const pml_field field = {.name = s->name, .type = variant_type};
    PML_RETURN_IF(pml_type__export(&fresh, env, &field, 1, err));
    pml_schema__release(s);
    *s = *fresh.children[0];
    fresh.children[0]->release = NULL;
    pml_schema__release(&fresh);
    return PML_OK;
}

static int array_apply(const plan *p, pml_variant_rebuild *rebuild, struct ArrowArray *a, const pml_variant_above *above, pml_error *err)
{
    struct ArrowArray fresh;
    struct ArrowArray *node = p->entries ? a->children[0] : a;
    const pml_variant_above row = {a, above};
    bool is_row = !p->entries && a->n_buffers == 1; /* a list or a map that is null has no elements */
    for (size_t i = 0; i < p->n_children; i++)
        PML_RETURN_IF(array_apply(&p->children[i], rebuild, node->children[p->children[i].at], is_row ? &row : NULL, err));
    if (p->shape == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_variant_rebuild__array(&fresh, rebuild, p->shape, a, above, err));
    pml_array__release(a);
    *a = fresh;
    return PML_OK;
}

int pml_variant_shred__batch(pml_variant_shred *s, struct ArrowArray *batch, pml_error *err)
{
    return array_apply(&s->top, &s->rebuild, batch, NULL, err);
}

int pml_variant_shred__new(pml_variant_shred **out, pml_env *env, struct ArrowSchema *file, const pml_field *fields, size_t n,
                           pml_error *err)
{
    struct ArrowSchema plain = {0};
    bool any = false;
    int rc;
    *out = NULL;
    pml_variant_shred *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    s->env = env;
    pml_arena__init(&s->arena, env);
    pml_variant_rebuild__init(&s->rebuild, env);
    PML_TRY(plan_children(&s->top, &any, &s->arena, fields, n, file, true, err));
    if (!any)
        goto out;
    PML_TRY(pml_schema__copy(&plain, env, file, err));
    PML_TRY(schema_apply(&s->top, &plain, env, err));
    pml_schema__release(file);
    *file = plain;
    plain.release = NULL;
    *out = s;
    s = NULL;
out:
    pml_schema__release(&plain);
    pml_variant_shred__free(s);
    return rc;
}

void pml_variant_shred__free(pml_variant_shred *s)
{
    if (s == NULL)
        return;
    pml_env *env = s->env;
    pml_variant_rebuild__clear(&s->rebuild);
    pml_arena__clear(&s->arena);
    pml_env__free(env, s);
    pml_env_release(env);
}
