/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the JSON schema of a file and the table of wanted fields to a flat program.
 *
 * The compiler walks the schema once, depth first, in the order in which the bytes lie in the file. It recurses over the
 * schema (never over data), at most PML_AVRO_DEPTH_MAX deep, which also ends recursive types. A reference to a named type
 * compiles that type again in place; PML_AVRO_OPS_MAX bounds what a malicious schema can multiply that way. With every type
 * goes the least number of bytes a value takes: items and records of no bytes are refused, so that every count in a file is
 * bounded by the bytes behind it.
 */
#include "format/avro_schema.h"

#include <assert.h>
#include <jansson.h>

enum { AVRO_STEPS_MAX = 65536 };

typedef struct avro_named {
    const char *space; /* namespace the type was declared in, "" for none; not NUL-terminated */
    size_t space_len;
    const char *name;
    size_t name_len;
    const json_t *type;
} avro_named;

typedef struct avro_compiler {
    pml_env *env;
    const char *file;
    pml_error *err;
    pml_avro_op *ops;
    size_t n_ops, cap_ops;
    avro_named *names;
    size_t n_names;
    uint32_t steps; /* types compiled: records without fields multiply without emitting anything */
} avro_compiler;

/* What a type is compiled for. */
typedef struct avro_place {
    const pml_avro_field *want; /* NULL: skip it */
    uint32_t slot;
    int depth;
    const char *space; /* enclosing namespace */
    size_t space_len;
} avro_place;

static int compile_type(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min);

static int compiler_corrupt(avro_compiler *c, const char *what, const char *name)
{
    return pml_error__at(c->err, PML_E_CORRUPT, PML_PLACE_FILE, c->file, "the Avro schema of %s is not valid: %s%s%s",
                         c->file, what, name == NULL ? "" : " ", name == NULL ? "" : name);
}

static int compiler_unsupported(avro_compiler *c, const char *what, const char *name)
{
    return pml_error__at(c->err, PML_E_UNSUPPORTED, PML_PLACE_FILE, c->file,
                         "the Avro schema of %s has %s%s%s, which is not supported", c->file, what,
                         name == NULL ? "" : " ", name == NULL ? "" : name);
}

static int compiler_emit(avro_compiler *c, pml_avro_op op, size_t *at)
{
    if (c->n_ops == PML_AVRO_OPS_MAX)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s is larger than %d steps", c->file, PML_AVRO_OPS_MAX);
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
    return pml_error__at(c->err, PML_E_UNSUPPORTED, PML_PLACE_FILE, c->file,
                         "field %s of %s has the Avro type %s, which is not the one expected", at->want->name, c->file,
                         type);
}

static int compile_primitive(avro_compiler *c, const avro_primitive *p, const avro_place *at, size_t *size_min)
{
    *size_min = p->size_min;
    pml_avro_op op = place_op(at, p->skip);
    op.n = p->fixed;
    if (at->want != NULL) {
        if ((int)at->want->kind != p->kind)
            return compile_mismatch(c, at, p->name);
        op.code = (uint8_t)p->read;
    }
    return compiler_emit(c, op, NULL);
}

/* ---- named types ---- */

/* Splits a name into namespace and rest: the part before the last dot, else the namespace given. */
static void name_split(avro_named *out, const char *name, const char *space, size_t space_len)
{
    const char *dot = strrchr(name, '.');
    out->name = dot == NULL ? name : dot + 1;
    out->name_len = strlen(out->name);
    out->space = dot == NULL ? space : name;
    out->space_len = dot == NULL ? space_len : (size_t)(dot - name);
}

static bool names_equal(const avro_named *a, const avro_named *b)
{
    return pml_bytes_equal((pml_bytes){(const uint8_t *)a->name, a->name_len},
                           (pml_bytes){(const uint8_t *)b->name, b->name_len}) &&
           pml_bytes_equal((pml_bytes){(const uint8_t *)a->space, a->space_len},
                           (pml_bytes){(const uint8_t *)b->space, b->space_len});
}

static const avro_named *names_find(const avro_compiler *c, const avro_named *key)
{
    for (size_t i = 0; i < c->n_names; i++)
        if (names_equal(&c->names[i], key))
            return &c->names[i];
    return NULL;
}

/* Declares the named type and changes the place's namespace to its own. A type compiled again through a reference is the same
   JSON object and stays declared once. */
static int names_declare(avro_compiler *c, const json_t *type, avro_place *at)
{
    const char *name = json_string_value(json_object_get(type, "name"));
    const char *space = json_string_value(json_object_get(type, "namespace"));
    if (name == NULL || name[0] == '\0')
        return compiler_corrupt(c, "a named type has no name", NULL);
    avro_named key = {.type = type};
    name_split(&key, name, space != NULL ? space : at->space, space != NULL ? strlen(space) : at->space_len);
    const avro_named *old = names_find(c, &key);
    if (old != NULL && old->type != type)
        return compiler_corrupt(c, "a type is declared twice:", name);
    at->space = key.space;
    at->space_len = key.space_len;
    if (old != NULL)
        return PML_OK;
    if (c->n_names == PML_AVRO_NAMES_MAX)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s names more than %d types", c->file, PML_AVRO_NAMES_MAX);
    if (c->names == NULL) {
        c->names = pml_env__alloc(c->env, PML_AVRO_NAMES_MAX * sizeof *c->names);
        if (c->names == NULL)
            return pml_error__no_memory(c->err);
    }
    c->names[c->n_names++] = key;
    return PML_OK;
}

static int compile_reference(avro_compiler *c, const char *name, avro_place at, size_t *size_min)
{
    if (strcmp(name, "null") == 0) {
        *size_min = 0;
        if (at.want != NULL && !at.want->nullable)
            return compile_mismatch(c, &at, "null");
        return PML_OK;
    }
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (strcmp(name, primitives[i].name) == 0)
            return compile_primitive(c, &primitives[i], &at, size_min);
    avro_named key = {0};
    name_split(&key, name, at.space, at.space_len);
    const avro_named *found = names_find(c, &key);
    if (found == NULL)
        return compiler_corrupt(c, "it refers to an unknown type", name);
    at.space = found->space;
    at.space_len = found->space_len;
    at.depth++;
    return compile_type(c, found->type, at, size_min);
}

/* ---- constructed types ---- */

static const pml_avro_field *wanted_find(const pml_avro_field *fields, size_t n, const char *name, uint32_t *slot)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            *slot = (uint32_t)i;
            return &fields[i];
        }
    }
    return NULL;
}

static int compile_fields(avro_compiler *c, const json_t *record, avro_place at, const pml_avro_field *want,
                          size_t n_want, size_t *size_min)
{
    const json_t *fields = json_object_get(record, "fields");
    bool seen[64] = {false};
    *size_min = 0;
    assert(n_want <= sizeof seen);
    if (!json_is_array(fields))
        return compiler_corrupt(c, "a record has no fields", NULL);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        const char *name = json_string_value(json_object_get(field, "name"));
        if (name == NULL)
            return compiler_corrupt(c, "a field has no name", NULL);
        avro_place inner = at;
        inner.slot = 0;
        inner.want = wanted_find(want, n_want, name, &inner.slot);
        if (inner.want != NULL) {
            if (seen[inner.slot])
                return compiler_corrupt(c, "a record has two fields", name);
            seen[inner.slot] = true;
        }
        size_t size;
        PML_RETURN_IF(compile_type(c, json_object_get(field, "type"), inner, &size));
        *size_min += size; /* at most PML_AVRO_OPS_MAX fixed types of PML_AVRO_FIXED_MAX bytes: far below SIZE_MAX */
    }
    for (size_t i = 0; i < n_want; i++)
        if (!seen[i] && !want[i].nullable)
            return compiler_corrupt(c, "it lacks the field", want[i].name);
    return PML_OK;
}

static int compile_record(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    PML_RETURN_IF(names_declare(c, type, &at));
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

static int compile_items(avro_compiler *c, const json_t *type, bool map, avro_place at, size_t *size_min)
{
    size_t begin = 0, item_min = 0;
    if (at.want != NULL && (map || at.want->kind != PML_AVRO_ARRAY || at.want->n_children != 1))
        return compile_mismatch(c, &at, map ? "map" : "array");
    bool skip = at.want == NULL;
    PML_RETURN_IF(compiler_emit(c, place_op(&at, skip ? PML_AVRO_OP_SKIP_ITEMS : PML_AVRO_OP_ARRAY), &begin));
    if (map)
        PML_RETURN_IF(compiler_emit(c, place_op(&at, PML_AVRO_OP_SKIP_BYTES), NULL));
    avro_place inner = at;
    inner.depth++;
    inner.slot = 0; /* the base moves from item to item */
    inner.want = skip ? NULL : &at.want->children[0];
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
    PML_RETURN_IF(names_declare(c, type, &at));
    const json_t *size = json_object_get(type, "size");
    json_int_t n = json_integer_value(size);
    if (!json_is_integer(size) || n < 0 || n > PML_AVRO_FIXED_MAX)
        return compiler_corrupt(c, "a fixed type has no size within its limit", NULL);
    if (at.want != NULL)
        return compile_mismatch(c, &at, "fixed");
    *size_min = (size_t)n;
    pml_avro_op op = place_op(&at, PML_AVRO_OP_SKIP_FIXED);
    op.n = (uint32_t)n;
    return compiler_emit(c, op, NULL);
}

static int compile_enum(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    PML_RETURN_IF(names_declare(c, type, &at));
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
        return compiler_corrupt(c, "a union directly inside a union", NULL);
    if (n == 2 || null_branch < 0)
        PML_RETURN_IF(compile_type(c, branch, at, &branch_min));
    c->ops[begin].target = (uint32_t)c->n_ops;
    *size_min = 1;
    return PML_OK;
}

static int compile_type(avro_compiler *c, const json_t *type, avro_place at, size_t *size_min)
{
    *size_min = 0;
    if (++c->steps > AVRO_STEPS_MAX)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s repeats its types too often", c->file);
    if (at.depth > PML_AVRO_DEPTH_MAX)
        return pml_error__at(c->err, PML_E_LIMIT, PML_PLACE_FILE, c->file,
                             "the Avro schema of %s is nested deeper than %d", c->file, PML_AVRO_DEPTH_MAX);
    if (json_is_string(type))
        return compile_reference(c, json_string_value(type), at, size_min);
    if (json_is_array(type))
        return compile_union(c, type, at, size_min);
    const json_t *inner = json_object_get(type, "type"); /* NULL unless type is an object */
    const char *name = json_string_value(inner);
    if (name == NULL) {
        /* {"type": {...}} and {"type": [...]} are tolerated as Java's parser does. */
        at.depth++;
        return inner != NULL ? compile_type(c, inner, at, size_min) : compiler_corrupt(c, "a type is missing", NULL);
    }
    if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0)
        return compile_record(c, type, at, size_min);
    if (strcmp(name, "array") == 0 || strcmp(name, "map") == 0)
        return compile_items(c, type, name[0] == 'm', at, size_min);
    if (strcmp(name, "fixed") == 0)
        return compile_fixed(c, type, at, size_min);
    if (strcmp(name, "enum") == 0)
        return compile_enum(c, type, at, size_min);
    return compile_reference(c, name, at, size_min); /* {"type":"long","logicalType":...} */
}

static int compile_top(avro_compiler *c, const json_t *schema, const pml_avro_field *fields, size_t n, size_t *size_min)
{
    const char *name = json_string_value(json_object_get(schema, "type"));
    avro_place top = {.space = "", .depth = 1};
    if (name == NULL || strcmp(name, "record") != 0)
        return compiler_corrupt(c, "the top type is not a record", NULL);
    PML_RETURN_IF(names_declare(c, schema, &top));
    PML_RETURN_IF(compile_fields(c, schema, top, fields, n, size_min));
    if (*size_min == 0)
        return compiler_unsupported(c, "records that take no bytes", NULL);
    return compiler_emit(c, (pml_avro_op){.code = PML_AVRO_OP_END}, NULL);
}

int pml_avro_program__compile(pml_avro_program *out, pml_arena *arena, pml_bytes schema_json, const char *file,
                              const pml_avro_field *fields, size_t n_fields, pml_error *err)
{
    int rc;
    avro_compiler c = {.env = arena->env, .file = file, .err = err};
    json_error_t where;
    *out = (pml_avro_program){0};
    json_t *schema = json_loadb((const char *)schema_json.ptr, schema_json.len, JSON_REJECT_DUPLICATES, &where);
    if (schema == NULL) {
        rc = json_error_code(&where) == json_error_out_of_memory ? pml_error__no_memory(err)
                                                                 : compiler_corrupt(&c, where.text, NULL);
        goto out;
    }
    PML_TRY(compile_top(&c, schema, fields, n_fields, &out->record_size_min));
    out->ops = pml_arena__copy(arena, c.ops, c.n_ops * sizeof *c.ops);
    out->n = c.n_ops;
    rc = out->ops == NULL ? pml_error__no_memory(err) : PML_OK;
out:
    pml_env__free(c.env, c.ops);
    pml_env__free(c.env, c.names);
    json_decref(schema);
    return rc;
}
