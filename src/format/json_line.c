/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json_line.h"

#include <string.h>

#include "columnar/java_text.h"
#include "util/map.h"
#include "util/number.h"

typedef struct resolver {
    pml_arena *arena;
    bool ignore_errors;
    size_t n_values; /* that the columns will hold; a null ROW has one in each of its members */
    pml_error *err;
} resolver;

int pml_json_line__init(pml_json_line *j, pml_arena *arena, const pml_field *fields, const pml_text_rule *rules, size_t n_fields,
                        bool ignore_errors, pml_error *err)
{
    *j = (pml_json_line){.fields = fields, .rules = rules, .n_fields = n_fields, .ignore_errors = ignore_errors};
    j->members = pml_arena__array(arena, n_fields, sizeof *j->members);
    return j->members == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* ---- values ---- */

/* With json.ignore-parse-errors a wrong value is null. */
static int wrong(pml_json_node *node, const resolver *r, const char *what, const char *name)
{
    node->null = true;
    if (r->ignore_errors)
        return PML_OK;
    return pml_error__set(r->err, PML_E_INVAL, "the value '%.*s' of '%s' is no %s", node->text.len > 60 ? 60 : (int)node->text.len,
                          node->text.ptr == NULL ? "" : (const char *)node->text.ptr, name, what);
}

/* A number with a point or an exponent is a double before it is a text. */
static int text_of_real(pml_bytes *out, const pml_json_node *node, const resolver *r)
{
    static const pml_type type = {.kind = PML_TYPE_DOUBLE};
    pml_value v = {.kind = PML_VALUE_DOUBLE};
    pml_buf text;
    if (!pml_number__java_double(&v.d, (const char *)node->text.ptr, node->text.len))
        return pml_error__set(r->err, PML_E_LIMIT, "a number has %zu characters", node->text.len);
    pml_buf__init(&text, r->arena->env, 64);
    int rc = pml_java_text__cast(&text, &type, &v, r->err);
    out->len = text.len;
    out->ptr = rc == PML_OK ? pml_arena__copy(r->arena, text.data, text.len) : NULL;
    pml_buf__clear(&text);
    return rc == PML_OK && out->ptr == NULL ? pml_error__no_memory(r->err) : rc;
}

/* Jackson's asText. */
static int text_of(pml_bytes *out, const pml_json_node *node, const resolver *r)
{
    *out = node->text;
    if (node->kind == PML_JSON_REAL)
        return text_of_real(out, node, r);
    if (node->kind == PML_JSON_ARRAY || node->kind == PML_JSON_OBJECT || node->text.len == 0)
        *out = (pml_bytes){(const uint8_t *)"", 0};
    if (node->kind == PML_JSON_INTEGER && node->text.len == 2 && memcmp(node->text.ptr, "-0", 2) == 0)
        *out = (pml_bytes){(const uint8_t *)"0", 1};
    return PML_OK;
}

static int resolve(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name);

static int resolve_atomic(pml_json_node *node, const pml_text_rule *rule, const resolver *r, const char *name)
{
    pml_bytes text;
    PML_RETURN_IF(text_of(&text, node, r));
    int rc = pml_text_value__parse(&node->value, rule, text, r->arena, r->err);
    if (rc == PML_E_INVAL)
        return wrong(node, r, pml_type__word(rule->type->kind), name);
    node->null = rc == PML_OK && node->value.kind == PML_VALUE_NULL;
    return rc;
}

static int resolve_array(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name)
{
    if (node->kind != PML_JSON_ARRAY)
        return wrong(node, r, "array", name);
    for (pml_json_node *item = node->first; item != NULL; item = item->next)
        PML_RETURN_IF(resolve(item, &rule->children[0], r, name));
    return PML_OK;
}

/* Bytes that are the same for keys that are equal in Java; keys of texts and binaries are as many as there are names. */
static void key_bytes(uint8_t out[16], const pml_value *v)
{
    int64_t parts[2] = {0, 0};
    switch (v->kind) {
    case PML_VALUE_DECIMAL: memcpy(parts, &v->dec, sizeof v->dec); break;
    case PML_VALUE_TIMESTAMP:
        parts[0] = v->ts.ms;
        parts[1] = v->ts.nanos;
        break;
    case PML_VALUE_FLOAT: memcpy(parts, &v->f, sizeof v->f); break;
    default: parts[0] = v->i; break; /* DOUBLE, too: its bits */
    }
    memcpy(out, parts, sizeof parts);
}

/* Entries whose keys are equal as values, though their names are not: the last value in the place of the first. */
static int unite_keys(pml_json_node *node, const resolver *r)
{
    pml_map seen;
    int rc = PML_OK;
    pml_json_node **link = &node->first;
    pml_map__init(&seen, r->arena->env);
    for (pml_json_node *e = node->first; e != NULL && rc == PML_OK; e = e->next) {
        uint8_t key[16];
        key_bytes(key, &e->key);
        pml_json_node *old = pml_map__get(&seen, key, sizeof key);
        if (old == NULL) {
            rc = pml_map__put(&seen, key, sizeof key, e, NULL) == PML_OK ? PML_OK : pml_error__no_memory(r->err);
            link = &e->next;
            continue;
        }
        *link = e->next;
        pml_json_node *next = old->next;
        *old = *e;
        old->next = next;
        node->n--;
    }
    pml_map__clear(&seen, NULL);
    return rc;
}

static int resolve_key(pml_json_node *entry, bool *drop, const pml_text_rule *rule, const resolver *r, const char *name)
{
    int rc = pml_type__is_nested(rule->type) ? PML_E_INVAL : pml_text_value__parse(&entry->key, rule, entry->name, r->arena, r->err);
    *drop = rc == PML_E_INVAL || entry->key.kind == PML_VALUE_NULL;
    if (rc != PML_E_INVAL || r->ignore_errors)
        return rc == PML_E_INVAL ? PML_OK : rc;
    return pml_error__set(r->err, PML_E_INVAL, "the key '%.*s' of '%s' is no %s", entry->name.len > 60 ? 60 : (int)entry->name.len,
                          (const char *)entry->name.ptr, name, pml_type__word(rule->type->kind));
}

static int resolve_map(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name)
{
    const pml_text_rule *key = &rule->children[0];
    pml_json_node **link = &node->first;
    if (node->kind != PML_JSON_OBJECT)
        return wrong(node, r, "object", name);
    for (pml_json_node *e = node->first; e != NULL; e = e->next) {
        bool drop;
        PML_RETURN_IF(resolve_key(e, &drop, key, r, name));
        if (drop) {
            *link = e->next;
            node->n--;
            continue;
        }
        PML_RETURN_IF(resolve(e, &rule->children[1], r, name));
        link = &e->next;
    }
    bool distinct = key->type->kind == PML_TYPE_CHAR || key->type->kind == PML_TYPE_VARCHAR || key->type->kind == PML_TYPE_BINARY ||
                    key->type->kind == PML_TYPE_VARBINARY;
    return distinct ? PML_OK : unite_keys(node, r);
}

static int count_values(resolver *r, size_t n)
{
    if (n > PML_JSON_LINE_VALUES_MAX - r->n_values)
        return pml_error__set(r->err, PML_E_LIMIT, "its values and nulls in the columns are more than %d", PML_JSON_LINE_VALUES_MAX);
    r->n_values += n;
    return PML_OK;
}

static int resolve_members(pml_json_node **out, pml_json_node *object, const pml_field *fields, const pml_text_rule *rules, size_t n,
                           resolver *r)
{
    pml_json_node *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const pml_bytes name = {(const uint8_t *)fields[i].name, strlen(fields[i].name)};
        pml_json_node *m = pml_json_tree__member(object, last, name, r->arena->env);
        out[i] = m;
        if (m == NULL) {
            PML_RETURN_IF(count_values(r, rules[i].n_nulls));
            continue;
        }
        PML_RETURN_IF(resolve(m, &rules[i], r, fields[i].name));
        last = m;
    }
    return PML_OK;
}

static int resolve_row(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name)
{
    if (node->kind != PML_JSON_OBJECT)
        return wrong(node, r, "object", name);
    node->members = pml_arena__array(r->arena, rule->n_children, sizeof(pml_json_node *));
    if (node->members == NULL)
        return pml_error__no_memory(r->err);
    return resolve_members(node->members, node, rule->type->children, rule->children, rule->n_children, r);
}

static int resolve_value(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name)
{
    switch (rule->type->kind) {
    case PML_TYPE_ARRAY: return resolve_array(node, rule, r, name);
    case PML_TYPE_MAP: return resolve_map(node, rule, r, name);
    case PML_TYPE_ROW: return resolve_row(node, rule, r, name);
    default: return resolve_atomic(node, rule, r, name);
    }
}

/* As deep as the wanted type is. */
static int resolve(pml_json_node *node, const pml_text_rule *rule, resolver *r, const char *name)
{
    node->null = node->kind == PML_JSON_NULL;
    if (!node->null)
        PML_RETURN_IF(resolve_value(node, rule, r, name));
    return count_values(r, node->null ? rule->n_nulls : 1);
}

int pml_json_line__parse(pml_json_line *j, bool *keep, pml_bytes line, pml_arena *arena, pml_error *err)
{
    resolver r = {arena, j->ignore_errors, 0, err};
    pml_json_node *root;
    *keep = false;
    int rc = pml_json_tree__parse(&root, line, arena, err);
    if (rc == PML_E_INVAL && j->ignore_errors)
        return PML_OK;
    PML_RETURN_IF(rc);
    if (root != NULL && root->kind == PML_JSON_NULL) /* Java gives no row for it, whatever the option */
        return PML_OK;
    if (root == NULL || root->kind != PML_JSON_OBJECT)
        return j->ignore_errors ? PML_OK : pml_error__set(err, PML_E_INVAL, "it is no object");
    *keep = true;
    return resolve_members(j->members, root, j->fields, j->rules, j->n_fields, &r);
}

/* ---- rows ---- */

static int append(pml_builder *b, const pml_json_node *node, const pml_text_rule *rule);

static int append_children(pml_builder *b, const pml_json_node *node, const pml_text_rule *rule)
{
    const pml_json_node *item = node->first;
    switch (rule->type->kind) {
    case PML_TYPE_ROW:
        for (size_t i = 0; i < rule->n_children; i++)
            PML_RETURN_IF(append(pml_builder__child(b, i), node->members[i], &rule->children[i]));
        break;
    case PML_TYPE_MAP:
        for (; item != NULL; item = item->next) {
            PML_RETURN_IF(pml_builder__append_value(pml_builder__child(b, 0), &item->key));
            PML_RETURN_IF(append(pml_builder__child(b, 1), item, &rule->children[1]));
        }
        break;
    default:
        for (; item != NULL; item = item->next)
            PML_RETURN_IF(append(pml_builder__child(b, 0), item, &rule->children[0]));
        break;
    }
    return pml_builder__close_item(b);
}

static int append(pml_builder *b, const pml_json_node *node, const pml_text_rule *rule)
{
    if (node == NULL || node->null)
        return pml_builder__append_null(b);
    return rule->n_children > 0 ? append_children(b, node, rule) : pml_builder__append_value(b, &node->value);
}

int pml_json_line__append(pml_builder *b, const pml_json_line *j, size_t i)
{
    return append(b, j->members[i], &j->rules[i]);
}
