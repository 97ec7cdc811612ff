/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/cast_rule.h"

/* ---- resolving ---- */

static int32_t member_by_id(const pml_type *row, int32_t id)
{
    for (size_t i = 0; i < row->n_children; i++)
        if (row->children[i].id == id)
            return (int32_t)i;
    return -1;
}

bool pml_cast__nothing_left(const pml_type *from, const pml_type *to)
{
    if (from->kind != to->kind || (to->kind != PML_TYPE_ROW && to->kind != PML_TYPE_ARRAY && to->kind != PML_TYPE_MAP))
        return false;
    for (size_t i = 0; i < to->n_children; i++) {
        int32_t at = to->kind == PML_TYPE_ROW ? member_by_id(from, to->children[i].id) : (int32_t)i;
        bool gone = at < 0 || pml_cast__nothing_left(&from->children[at].type, &to->children[i].type);
        if (gone != (to->kind == PML_TYPE_ROW)) /* one member is enough; of a container both parts must be left */
            return gone;
    }
    return to->kind == PML_TYPE_ROW;
}

bool pml_cast__keeps(const pml_type *t)
{
    if (t->kind == PML_TYPE_ROW && t->n_children == 0)
        return false;
    for (size_t i = 0; i < t->n_children; i++) /* as deep as types are */
        if (!pml_cast__keeps(&t->children[i].type))
            return false;
    return true;
}

/* Every value is what it was, in the same buffers. */
static bool is_same(const pml_type *from, const pml_type *to)
{
    bool text = pml_cast__is_text(from), bytes = text || from->kind == PML_TYPE_BINARY || from->kind == PML_TYPE_VARBINARY;
    if (pml_type__equal(from, to, true))
        return pml_cast__keeps(to);
    if ((text && to->kind == PML_TYPE_VARCHAR) || (bytes && to->kind == PML_TYPE_VARBINARY)) /* of bytes not each is a text */
        return to->length == INT32_MAX;
    if (from->kind != to->kind)
        return false;
    if (to->kind == PML_TYPE_DECIMAL)
        return from->scale == to->scale && from->precision <= to->precision;
    return pml_cast__is_timestamp(to) && from->precision <= to->precision && pml_layout__unit_nanos(from) == pml_layout__unit_nanos(to);
}

static int refuse(const pml_type *from, const pml_type *to, const char *name, pml_error *err)
{
    const char *a = pml_type__word(from->kind), *b = pml_type__word(to->kind);
    return pml_error__set(err, PML_E_UNSUPPORTED, "needs cast:%s->%s: column '%.80s' was written as %s and is read as %s, for which there "
                          "is no rule", a, b, name, a, b);
}

static int resolve(pml_cast *c, pml_arena *arena, const pml_type *from, const pml_type *to, const char *name, pml_error *err);

static int make_members(pml_cast *c, pml_arena *arena, size_t n, pml_error *err)
{
    c->n_members = n;
    c->members = pml_arena__array(arena, n, sizeof *c->members);
    c->source = pml_arena__array(arena, n, sizeof *c->source);
    return c->members == NULL || c->source == NULL ? pml_error__no_memory(err) : PML_OK;
}

static int resolve_row(pml_cast *c, pml_arena *arena, const char *name, pml_error *err)
{
    c->kind = PML_CAST_ROW;
    PML_RETURN_IF(make_members(c, arena, c->to->n_children, err));
    for (size_t i = 0; i < c->n_members; i++) {
        const pml_field *to = &c->to->children[i];
        int32_t at = member_by_id(c->from, to->id);
        if (at >= 0 && pml_cast__nothing_left(&c->from->children[at].type, &to->type))
            at = -1;
        c->source[i] = at;
        c->members[i] = (pml_cast){.kind = PML_CAST_NULL, .to = &to->type};
        if (at >= 0)
            PML_RETURN_IF(resolve(&c->members[i], arena, &c->from->children[at].type, &to->type, name, err));
    }
    return PML_OK;
}

static int resolve_text(pml_cast *c, pml_arena *arena, const char *name, pml_error *err)
{
    static const pml_type string = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX};
    c->kind = PML_CAST_TEXT;
    PML_RETURN_IF(make_members(c, arena, c->from->n_children, err));
    for (size_t i = 0; i < c->n_members; i++)
        PML_RETURN_IF(resolve(&c->members[i], arena, &c->from->children[i].type, &string, name, err));
    return PML_OK;
}

/* The depth of types is bounded where they are parsed. */
static int resolve(pml_cast *c, pml_arena *arena, const pml_type *from, const pml_type *to, const char *name, pml_error *err)
{
    bool nested = from->kind == PML_TYPE_ARRAY || from->kind == PML_TYPE_MAP || from->kind == PML_TYPE_ROW;
    *c = (pml_cast){.kind = PML_CAST_SAME, .from = from, .to = to};
    if (is_same(from, to))
        return PML_OK;
    if (from->kind == PML_TYPE_ROW && to->kind == PML_TYPE_ROW)
        return resolve_row(c, arena, name, err);
    if (nested && pml_cast__is_text(to))
        return resolve_text(c, arena, name, err);
    if (nested && from->kind == to->kind) {
        size_t last = from->n_children - 1;
        if (last > 0 && !pml_type__equal(&from->children[0].type, &to->children[0].type, true))
            return refuse(from, to, name, err);
        c->kind = last > 0 ? PML_CAST_MAP : PML_CAST_LIST;
        PML_RETURN_IF(make_members(c, arena, 1, err));
        return resolve(&c->members[0], arena, &from->children[last].type, &to->children[last].type, name, err);
    }
    c->kind = PML_CAST_VALUE;
    c->rule = pml_cast_rule__number(from, to);
    if (c->rule == NULL)
        c->rule = pml_cast_rule__time(from, to);
    if (c->rule == NULL)
        c->rule = pml_cast_rule__text(from, to);
    if (c->rule == NULL)
        c->rule = pml_cast_rule__parse(from, to);
    return c->rule == NULL ? refuse(from, to, name, err) : PML_OK;
}

int pml_cast__new(const pml_cast **out, pml_arena *arena, const pml_type *from, const pml_type *to, const char *name, pml_error *err)
{
    *out = NULL;
    if (is_same(from, to))
        return PML_OK;
    pml_cast *c = pml_arena__alloc(arena, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(resolve(c, arena, from, to, name, err));
    *out = c;
    return PML_OK;
}

/* ---- single values ---- */

int pml_cast__wrong_value(int rc, const pml_cast *c, const pml_value *v, pml_env *env, pml_error *err)
{
    enum { SHOWN_MAX = 80 };
    pml_buf shown;
    if (rc != PML_E_INVAL)
        return rc;
    pml_buf__init(&shown, env, (size_t)1 << 30);
    (void)pml_value__print(&shown, c->from, v);
    bool cut = shown.len > SHOWN_MAX;
    rc = pml_error__prefix(err, rc, "'%.*s%s' cannot be read as %s", cut ? SHOWN_MAX : (int)shown.len,
                           shown.data == NULL ? "" : (const char *)shown.data, cut ? "..." : "", pml_type__word(c->to->kind));
    pml_buf__clear(&shown);
    return rc;
}

int pml_cast__value(pml_value *out, const pml_cast *c, pml_arena *arena, const pml_value *v, pml_error *err)
{
    pml_buf text;
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (v->kind == PML_VALUE_NULL)
        return PML_OK;
    if (c->kind != PML_CAST_VALUE)
        return pml_error__set(err, PML_E_INVAL, "a cast of nested types has no single values");
    pml_buf__init(&text, arena->env, INT32_MAX);
    int rc = c->rule(out, c, v, &text, err);
    if (rc == PML_OK && out->kind == PML_VALUE_BYTES) {
        const void *p = pml_arena__copy(arena, out->bytes.ptr, out->bytes.len);
        out->bytes.ptr = p;
        rc = p == NULL && out->bytes.len > 0 ? pml_error__no_memory(err) : PML_OK;
    }
    if (rc != PML_OK)
        *out = (pml_value){.kind = PML_VALUE_NULL};
    pml_buf__clear(&text);
    return pml_cast__wrong_value(rc, c, v, arena->env, err);
}
