/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the JSON schema of a file and the table of wanted fields to a flat program.
 *
 * The compiler walks the schema once, depth first, in the order in which the bytes lie in the file. It recurses over the
 * schema (never over data), at most so deep as the limits say, which also ends recursive types. A reference to a named type
 * compiles that type again in place; the limit of ops bounds what a malicious schema can multiply that way. With every type
 * goes the least number of bytes a value takes: items and records of no bytes are refused, so that every count in a file is
 * bounded by the bytes behind it.
 */
#include "format/avro_schema.h"

#include "format/avro_compiler.h"
#include "format/avro_leaf.h"

static const avro_limits manifest_limits = {PML_AVRO_OPS_MAX, PML_AVRO_NAMES_MAX, 65536, PML_AVRO_DEPTH_MAX};
static const avro_limits data_limits = {PML_AVRO_DATA_OPS_MAX, PML_AVRO_DATA_NAMES_MAX, PML_AVRO_DATA_OPS_MAX,
                                        PML_AVRO_DATA_DEPTH_MAX};

static int compile_type(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min);

static int compiler_unsupported(avro_compiler *c, const char *what, const char *name)
{
    return pml_error__at(c->err, PML_E_UNSUPPORTED, PML_PLACE_FILE, c->file,
                         "the Avro schema of %s has %s%s%s, which is not supported", c->file, what,
                         name == NULL ? "" : " ", name == NULL ? "" : name);
}

static int compiler_emit(avro_compiler *c, pml_avro_op op, size_t *at)
{
    if (c->n_ops == c->limits->ops)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s is larger than %zu steps", c->file, c->limits->ops);
    if (c->n_ops == c->cap_ops) {
        size_t cap = c->cap_ops == 0 ? 64 : c->cap_ops * 2;
        pml_avro_op *ops = c->ops == NULL ? pml_env__alloc(c->env, cap * sizeof *ops)
                                          : pml_env__realloc(c->env, c->ops, cap * sizeof *ops);
        if (ops == NULL)
            return pml_error__no_memory(c->err);
        c->ops = ops;
        c->cap_ops = cap;
    }
    if (at != NULL)
        *at = c->n_ops;
    c->ops[c->n_ops++] = op;
    return PML_OK;
}

static pml_avro_op place_op(const avro_place *at, pml_avro_opcode code)
{
    return (pml_avro_op){.code = (uint8_t)code, .slot = at->slot, .name = at->want == NULL ? NULL : at->want->name};
}

/* ---- primitive types ---- */

typedef struct avro_primitive {
    const char *name;
    int kind; /* pml_avro_kind, 0: can only be skipped */
    pml_avro_opcode read, skip;
    uint32_t fixed;
    size_t size_min;
} avro_primitive;

static const avro_primitive primitives[] = {
    {"int", PML_AVRO_INT, PML_AVRO_OP_INT, PML_AVRO_OP_SKIP_VARINT, 0, 1},
    {"long", PML_AVRO_INT, PML_AVRO_OP_LONG, PML_AVRO_OP_SKIP_VARINT, 0, 1},
    {"string", PML_AVRO_BYTES, PML_AVRO_OP_BYTES, PML_AVRO_OP_SKIP_BYTES, 0, 1},
    {"bytes", PML_AVRO_BYTES, PML_AVRO_OP_BYTES, PML_AVRO_OP_SKIP_BYTES, 0, 1},
    {"boolean", PML_AVRO_BOOLEAN, PML_AVRO_OP_BOOLEAN, PML_AVRO_OP_SKIP_FIXED, 1, 1},
    {"float", 0, PML_AVRO_OP_END, PML_AVRO_OP_SKIP_FIXED, 4, 4},
    {"double", 0, PML_AVRO_OP_END, PML_AVRO_OP_SKIP_FIXED, 8, 8},
};

static int compile_mismatch(avro_compiler *c, const avro_place *at, const char *type)
{
    return pml_error__at(c->err, c->own ? PML_E_CORRUPT : PML_E_UNSUPPORTED, PML_PLACE_FILE, c->file,
                         "field %s of %s has the Avro type %s, which is not the one expected", at->want->name, c->file,
                         type);
}

static int compile_primitive(avro_compiler *c, const avro_primitive *p, const json_t *declared, const avro_place *at,
                             size_t *size_min)
{
    *size_min = p->size_min;
    pml_avro_op op = place_op(at, p->skip);
    op.n = p->fixed;
    if (at->want != NULL && at->want->kind == PML_AVRO_COLUMN) {
        op.null_allowed = at->want->nullable && at->want->type->nullable;
        if (!pml_avro__column_op(&op, at->want->type, p->name, declared))
            return compile_mismatch(c, at, p->name);
    } else if (at->want != NULL) {
        if ((int)at->want->kind != p->kind)
            return compile_mismatch(c, at, p->name);
        op.code = (uint8_t)p->read;
    }
    return compiler_emit(c, op, NULL);
}

/* ---- references ---- */

/* declared: the object that says `name`, NULL when there is none around it. */
static int compile_reference(avro_compiler *c, const char *name, const json_t *declared, avro_place at, size_t *size_min)
{
    if (strcmp(name, "null") == 0) {
        *size_min = 0;
        if (at.want != NULL && (!at.want->nullable || c->found != NULL))
            return compile_mismatch(c, &at, "null");
        return PML_OK;
    }
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (strcmp(name, primitives[i].name) == 0)
            return compile_primitive(c, &primitives[i], declared, &at, size_min);
    avro_named key = {0};
    pml_avro_names__split(&key, name, at.space, at.space_len);
    const avro_named *found = pml_avro_names__find(c, &key);
    if (found == NULL)
        return pml_avro_compiler__corrupt(c, "it refers to an unknown type", name);
    at.space = found->space;
    at.space_len = found->space_len;
    at.depth++;
    return compile_type(c, found->type, at, size_min);
}

/* ---- constructed types ---- */

static int compile_field(avro_compiler *c, const json_t *field, avro_place at, avro_wanted *w, size_t *size_min)
{
    const char *name = json_string_value(json_object_get(field, "name"));
    if (name == NULL)
        return pml_avro_compiler__corrupt(c, "a field has no name", NULL);
    at.want = pml_avro_wanted__find(w, name);
    at.slot = 0;
    if (at.want != NULL) {
        bool *seen = pml_avro_wanted__seen(c, w, at.want);
        if (*seen)
            return pml_avro_compiler__corrupt(c, "a record has two fields", name);
        *seen = true;
        at.slot = c->found != NULL ? at.want->slot : (uint32_t)(at.want - w->fields);
    }
    return compile_type(c, json_object_get(field, "type"), at, size_min);
}

static int compile_fields(avro_compiler *c, const json_t *record, avro_place at, const pml_avro_field *want,
                          size_t n_want, size_t *size_min)
{
    const json_t *fields = json_object_get(record, "fields");
    avro_wanted w;
    int rc;
    *size_min = 0;
    if (!json_is_array(fields))
        return pml_avro_compiler__corrupt(c, "a record has no fields", NULL);
    PML_TRY(pml_avro_wanted__init(&w, c, want, n_want));
    for (size_t i = 0; i < json_array_size(fields); i++) {
        size_t size = 0;
        PML_TRY(compile_field(c, json_array_get(fields, i), at, &w, &size));
        *size_min += size; /* as many fixed types of PML_AVRO_FIXED_MAX bytes as the limit has ops: far below SIZE_MAX */
    }
    for (size_t i = 0; i < n_want; i++)
        if (!*pml_avro_wanted__seen(c, &w, &want[i]) && (!want[i].nullable || (c->own && !want[i].optional)))
            PML_TRY(pml_avro_compiler__corrupt(c, "it lacks the field", want[i].name));
out:
    pml_avro_wanted__clear(&w);
    return rc;
}

static int compile_record(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    PML_RETURN_IF(pml_avro_names__declare(c, type, &at));
    at.depth++;
    if (at.want == NULL)
        return compile_fields(c, type, at, NULL, 0, size_min);
    if (at.want->kind != PML_AVRO_RECORD)
        return compile_mismatch(c, &at, "record");
    pml_avro_op op = place_op(&at, PML_AVRO_OP_RECORD);
    op.n = (uint32_t)at.want->n_children;
    PML_RETURN_IF(compiler_emit(c, op, NULL));
    PML_RETURN_IF(compile_fields(c, type, at, at.want->children, at.want->n_children, size_min));
    return compiler_emit(c, place_op(&at, PML_AVRO_OP_RECORD_END), NULL);
}

/* What the items of an array or map are wanted for; false: the column is of another kind. Of a map's entries: the value. */
static bool items_wanted(const pml_avro_field **want, const avro_place *at, bool map)
{
    const pml_avro_field *outer = at->want;
    *want = NULL;
    if (outer == NULL)
        return true;
    if (outer->n_children != 1 || (outer->kind != PML_AVRO_MAP && (map || outer->kind != PML_AVRO_ARRAY)))
        return false;
    *want = outer->children;
    if (!map)
        return true;
    const pml_avro_field *key = &outer->children->children[0];
    *want = key + 1;
    return key->type != NULL && (key->type->kind == PML_TYPE_CHAR || key->type->kind == PML_TYPE_VARCHAR);
}

/* The part of a wanted map's entries that lies before the value. */
static int compile_entry(avro_compiler *c, const pml_avro_field *map)
{
    const pml_avro_field *entries = map->children, *key = entries->children;
    c->found[entries->slot] = c->found[key[0].slot] = c->found[key[1].slot] = true;
    PML_RETURN_IF(compiler_emit(c, (pml_avro_op){.code = PML_AVRO_OP_RECORD, .slot = entries->slot, .name = map->name}, NULL));
    return compiler_emit(c, (pml_avro_op){.code = PML_AVRO_OP_BYTES, .slot = key->slot, .name = map->name}, NULL);
}

static int compile_items(avro_compiler *c, const json_t *type, bool map, avro_place at, size_t *size_min)
{
    size_t begin = 0, item_min = 0;
    bool skip = at.want == NULL;
    avro_place inner = at;
    if (!items_wanted(&inner.want, &at, map))
        return compile_mismatch(c, &at, map ? "map" : "array");
    PML_RETURN_IF(compiler_emit(c, place_op(&at, skip ? PML_AVRO_OP_SKIP_ITEMS : PML_AVRO_OP_ARRAY), &begin));
    if (map && skip)
        PML_RETURN_IF(compiler_emit(c, place_op(&at, PML_AVRO_OP_SKIP_BYTES), NULL));
    else if (map)
        PML_RETURN_IF(compile_entry(c, at.want));
    inner.depth++;
    inner.slot = 0; /* the base moves from item to item */
    if (c->found != NULL && !skip) {
        inner.slot = inner.want->slot;
        c->found[inner.slot] = true;
    }
    PML_RETURN_IF(compile_type(c, json_object_get(type, map ? "values" : "items"), inner, &item_min));
    item_min += map ? 1 : 0;
    if (item_min == 0)
        return compiler_unsupported(c, "an array of items that take no bytes", NULL);
    pml_avro_op next = place_op(&at, skip ? PML_AVRO_OP_SKIP_NEXT : PML_AVRO_OP_ARRAY_NEXT);
    next.target = (uint32_t)begin + 1;
    PML_RETURN_IF(compiler_emit(c, next, NULL));
    c->ops[begin].n = (uint32_t)(item_min > UINT32_MAX ? UINT32_MAX : item_min);
    c->ops[begin].target = (uint32_t)c->n_ops;
    *size_min = 1;
    return PML_OK;
}

static int compile_fixed(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    PML_RETURN_IF(pml_avro_names__declare(c, type, &at));
    const json_t *size = json_object_get(type, "size");
    json_int_t n = json_integer_value(size);
    if (!json_is_integer(size) || n < 0 || n > PML_AVRO_FIXED_MAX)
        return pml_avro_compiler__corrupt(c, "a fixed type has no size within its limit", NULL);
    if (at.want != NULL)
        return compile_mismatch(c, &at, "fixed");
    *size_min = (size_t)n;
    if (n == 0)
        return PML_OK; /* else a record of one byte could have as many steps as the schema */
    pml_avro_op op = place_op(&at, PML_AVRO_OP_SKIP_FIXED);
    op.n = (uint32_t)n;
    return compiler_emit(c, op, NULL);
}

static int compile_enum(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    PML_RETURN_IF(pml_avro_names__declare(c, type, &at));
    if (at.want != NULL)
        return compile_mismatch(c, &at, "enum");
    *size_min = 1;
    return compiler_emit(c, place_op(&at, PML_AVRO_OP_SKIP_VARINT), NULL);
}

static bool is_null_type(const json_t *type)
{
    const char *name = json_string_value(json_is_object(type) ? json_object_get(type, "type") : type);
    return name != NULL && strcmp(name, "null") == 0;
}

static int compile_union(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    size_t n = json_array_size(type), begin = 0, branch_min;
    int null_branch = -1;
    if (n == 1 && is_null_type(json_array_get(type, 0)))
        null_branch = 0;
    else if (n == 2)
        null_branch = is_null_type(json_array_get(type, 0)) ? 0 : is_null_type(json_array_get(type, 1)) ? 1 : -1;
    if (n == 0 || n > 2 || (n == 2 && null_branch < 0))
        return compiler_unsupported(c, "a union of more than null and one type",
                                    at.want == NULL ? NULL : at.want->name);
    pml_avro_op op = place_op(&at, PML_AVRO_OP_UNION);
    op.n = (uint32_t)n;
    op.null_branch = (int8_t)null_branch;
    op.null_allowed = at.want == NULL || at.want->nullable;
    PML_RETURN_IF(compiler_emit(c, op, &begin));
    at.depth++;
    const json_t *branch = json_array_get(type, n == 2 ? (size_t)(1 - null_branch) : 0);
    if (json_is_array(branch))
        return pml_avro_compiler__corrupt(c, "a union directly inside a union", NULL);
    if (n == 2 || null_branch < 0)
        PML_RETURN_IF(compile_type(c, branch, at, &branch_min));
    c->ops[begin].target = (uint32_t)c->n_ops;
    *size_min = 1;
    return PML_OK;
}

static int compile_type(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    *size_min = 0;
    if (++c->steps > c->limits->steps)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s repeats its types too often", c->file);
    if (at.depth > c->limits->depth)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s is nested deeper than %d", c->file, c->limits->depth);
    if (json_is_string(type))
        return compile_reference(c, json_string_value(type), NULL, at, size_min);
    if (json_is_array(type))
        return compile_union(c, type, at, size_min);
    const json_t *inner = json_object_get(type, "type"); /* NULL unless type is an object */
    const char *name = json_string_value(inner);
    if (name == NULL) {
        /* {"type": {...}} and {"type": [...]} are tolerated as Java's parser does. */
        at.depth++;
        return inner != NULL ? compile_type(c, inner, at, size_min) : pml_avro_compiler__corrupt(c, "a type is missing", NULL);
    }
    if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0)
        return compile_record(c, type, at, size_min);
    if (strcmp(name, "array") == 0 || strcmp(name, "map") == 0)
        return compile_items(c, type, name[0] == 'm', at, size_min);
    if (strcmp(name, "fixed") == 0)
        return compile_fixed(c, type, at, size_min);
    if (strcmp(name, "enum") == 0)
        return compile_enum(c, type, at, size_min);
    return compile_reference(c, name, type, at, size_min); /* {"type":"long","logicalType":...} */
}

static bool is_paimons(const avro_named *top)
{
    static const char name[] = "record", space[] = "org.apache.paimon.avro.generated";
    const avro_named paimons = {.space = space, .space_len = sizeof space - 1, .name = name, .name_len = sizeof name - 1};
    return pml_avro_names__equal(top, &paimons);
}

/* Java writes the rows of a data file as the second branch of a union when the row type is nullable. */
static int compile_top_union(avro_compiler *c, const json_t **schema)
{
    const json_t *first = json_array_get(*schema, 0), *second = json_array_get(*schema, 1);
    bool null_first = is_null_type(first);
    if (json_array_size(*schema) != 2 || null_first == is_null_type(second))
        return pml_avro_compiler__corrupt(c, "the top type is not a record", NULL);
    *schema = null_first ? second : first;
    pml_avro_op op = {.code = PML_AVRO_OP_UNION, .null_branch = null_first ? 0 : 1, .n = 2, .name = "(the row)"};
    return compiler_emit(c, op, NULL);
}

static int compile_top(avro_compiler *c, const json_t *schema, const pml_avro_field *fields, size_t n, size_t *size_min)
{
    avro_place top = {.space = "", .depth = 1};
    if (c->found != NULL && json_is_array(schema))
        PML_RETURN_IF(compile_top_union(c, &schema));
    const char *name = json_string_value(json_object_get(schema, "type"));
    if (name == NULL || strcmp(name, "record") != 0)
        return pml_avro_compiler__corrupt(c, "the top type is not a record", NULL);
    PML_RETURN_IF(pml_avro_names__declare(c, schema, &top));
    c->own = c->own && is_paimons(&c->names[0]);
    bool is_union = c->n_ops > 0;
    PML_RETURN_IF(compile_fields(c, schema, top, fields, n, size_min));
    *size_min += is_union ? 1 : 0;
    if (*size_min == 0)
        return compiler_unsupported(c, "records that take no bytes", NULL);
    return compiler_emit(c, (pml_avro_op){.code = PML_AVRO_OP_END}, NULL);
}

static int compile_json(avro_compiler *c, pml_avro_program *out, pml_arena *arena, pml_bytes schema_json,
                        const pml_avro_field *fields, size_t n_fields)
{
    int rc;
    json_error_t where;
    *out = (pml_avro_program){0};
    json_t *schema = json_loadb((const char *)schema_json.ptr, schema_json.len, JSON_REJECT_DUPLICATES, &where);
    if (schema == NULL) {
        rc = json_error_code(&where) == json_error_out_of_memory ? pml_error__no_memory(c->err)
                                                                 : pml_avro_compiler__corrupt(c, where.text, NULL);
        goto out;
    }
    PML_TRY(compile_top(c, schema, fields, n_fields, &out->record_size_min));
    out->ops = pml_arena__copy(arena, c->ops, c->n_ops * sizeof *c->ops);
    out->n = c->n_ops;
    rc = out->ops == NULL ? pml_error__no_memory(c->err) : PML_OK;
out:
    pml_env__free(c->env, c->ops);
    pml_env__free(c->env, c->names);
    json_decref(schema);
    return rc;
}

int pml_avro_program__compile(pml_avro_program *out, pml_arena *arena, pml_bytes schema_json, const char *file,
                              const pml_avro_field *fields, size_t n_fields, pml_error *err)
{
    avro_compiler c = {.env = arena->env, .file = file, .err = err, .limits = &manifest_limits};
    return compile_json(&c, out, arena, schema_json, fields, n_fields);
}

int pml_avro_program__compile_columns(pml_avro_program *out, pml_arena *arena, pml_bytes schema_json, const char *file,
                                      const pml_avro_field *fields, size_t n_fields, bool *found, bool own, pml_error *err)
{
    avro_compiler c = {.env = arena->env, .file = file, .err = err, .limits = &data_limits, .found = found, .own = own};
    return compile_json(&c, out, arena, schema_json, fields, n_fields);
}
