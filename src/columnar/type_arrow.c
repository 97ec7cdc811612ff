/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types as Arrow schemas. Every exported node is one block of memory that holds its strings and the structs of its children,
 * and its own reference to the environment: a consumer may move a child out and release the parent first, in any thread.
 *
 * Metadata is the binary form of the Arrow C data interface, in native byte order:
 *   int32 count, then per entry int32 key length, key, int32 value length, value.
 */
#include <stdio.h>
#include <string.h>

#include "columnar/data_type.h"
#include "util/bytes.h"

struct node {
    pml_env *env;
    struct ArrowSchema *child_ptrs[];
};

/* What one node shows: a column, a member, or one of the nodes that only Arrow has (map entries, parts of a variant). */
typedef struct shape {
    const char *name;
    const pml_type *type; /* NULL: map entries */
    int32_t id;
    bool has_id;
    bool not_null;  /* whatever the type says: map keys, entries */
    int32_t column; /* id that the ids of containers below are derived from */
    int depth;      /* containers between that column and this node */
} shape;

static void node_release(struct ArrowSchema *s)
{
    struct node *n = s->private_data;
    pml_env *env = n->env;
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release != NULL)
            s->children[i]->release(s->children[i]);
    s->release = NULL;
    pml_env__free(env, n);
    pml_env_release(env);
}

/* The formats that are constants; NULL: one with numbers in it. Every write compares formats, so most are not even copied. */
static const char *constant_format(const pml_type *t)
{
    static const char *const plain[] = {"tsm:", "tsu:", "tsn:"}, *const local[] = {"tsm:UTC", "tsu:UTC", "tsn:UTC"};
    int unit = t->precision <= 3 ? 0 : t->precision <= 6 ? 1 : 2;
    switch (t->kind) {
    case PML_TYPE_BOOLEAN: return "b";
    case PML_TYPE_TINYINT: return "c";
    case PML_TYPE_SMALLINT: return "s";
    case PML_TYPE_INT: return "i";
    case PML_TYPE_BIGINT: return "l";
    case PML_TYPE_FLOAT: return "f";
    case PML_TYPE_DOUBLE: return "g";
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR: return "u";
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY:
    case PML_TYPE_BLOB: return "z";
    case PML_TYPE_DATE: return "tdD";
    case PML_TYPE_TIME: return "ttm";
    case PML_TYPE_ARRAY: return "+l";
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP: return "+m";
    case PML_TYPE_ROW:
    case PML_TYPE_VARIANT: return "+s";
    case PML_TYPE_TIMESTAMP: return plain[unit];
    case PML_TYPE_TIMESTAMP_LTZ: return local[unit];
    case PML_TYPE_DECIMAL:
    case PML_TYPE_VECTOR: break;
    }
    return NULL;
}

void pml_type__arrow_format(char text[48], const pml_type *t)
{
    const char *constant = constant_format(t);
    if (constant != NULL)
        memcpy(text, constant, strlen(constant) + 1);
    else if (t->kind == PML_TYPE_DECIMAL)
        (void)snprintf(text, 48, "d:%d,%d", t->precision, t->scale);
    else
        (void)snprintf(text, 48, "+w:%d", t->length);
}

static const pml_type count_type = {.kind = PML_TYPE_INT}; /* how often a MULTISET has an element: never null */
static const pml_type bytes_type = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX};
static const pml_type null_type = {.kind = PML_TYPE_ROW}; /* stands for map entries, which have no type of ours */

static size_t child_count(const shape *s)
{
    if (s->type == NULL)
        return 2;
    switch (s->type->kind) {
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: return 1;
    case PML_TYPE_VARIANT: return 2;
    default: return s->type->n_children;
    }
}

/* Child i of a node. of_map: the MAP or MULTISET type when s is its entries. */
static shape child_shape(const shape *s, const pml_type *of_map, size_t i)
{
    if (s->type == NULL) {
        const pml_type *value = of_map->kind == PML_TYPE_MAP ? &of_map->children[1].type : &count_type;
        int32_t id = i == 0 ? pml_type__map_key_id(s->column, s->depth) : pml_type__element_id(s->column, s->depth);
        return (shape){i == 0 ? "key" : "value",
                       i == 0 ? &of_map->children[0].type : value,
                       id,
                       true,
                       i == 0,
                       s->column,
                       s->depth};
    }
    switch (s->type->kind) {
    case PML_TYPE_MAP:
    case PML_TYPE_MULTISET: return (shape){"key_value", NULL, 0, false, true, s->column, s->depth + 1};
    case PML_TYPE_VARIANT: return (shape){i == 0 ? "value" : "metadata", &bytes_type, (int32_t)i, true, false, 0, 0};
    case PML_TYPE_ROW: {
        const pml_field *f = &s->type->children[i];
        return (shape){f->name, &f->type, f->id, true, false, f->id, 0};
    }
    default:
        return (shape){"element",
                       &s->type->children[0].type,
                       pml_type__element_id(s->column, s->depth + 1),
                       true,
                       false,
                       s->column,
                       s->depth + 1};
    }
}

static void append_native32(pml_buf *b, size_t v)
{
    int32_t n = (int32_t)v;
    (void)pml_buf__append(b, &n, sizeof n);
}

static void append_pair(pml_buf *b, const char *key, const void *value, size_t len)
{
    append_native32(b, strlen(key));
    (void)pml_buf__append_str(b, key);
    append_native32(b, len);
    (void)pml_buf__append(b, value, len);
}

static int make_metadata(pml_buf *b, pml_buf *scratch, const shape *s)
{
    char id[16];
    int n = snprintf(id, sizeof id, "%d", s->id);
    pml_buf__reset(scratch);
    switch (s->type->kind) {
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_ROW:
    case PML_TYPE_VECTOR:
        (void)pml_buf__append_str(scratch, pml_type__word(s->type->kind));
        if (!s->type->nullable)
            (void)pml_buf__append_str(scratch, " NOT NULL");
        break;
    default: (void)pml_type__print(scratch, s->type); break;
    }
    PML_RETURN_IF(pml_buf__check(scratch, NULL));
    append_native32(b, 3);
    append_pair(b, "paimon.id", id, (size_t)n);
    append_pair(b, "paimon.type", scratch->data, scratch->len);
    append_pair(b, "PARQUET:field_id", id, (size_t)n);
    return pml_buf__check(b, NULL);
}

enum { METADATA_MAX = 4096 }; /* three pairs of short texts */

/* One block: node, child pointers, child structs, format, name, metadata. */
static int node_fill(struct ArrowSchema *out, pml_env *env, const shape *s, const pml_buf *metadata)
{
    char format[48];
    size_t n = child_count(s), name_len = strlen(s->name) + 1, structs, total;
    pml_type__arrow_format(format, s->type == NULL ? &null_type : s->type);
    size_t format_len = strlen(format) + 1;
    structs = sizeof(struct node) + n * sizeof(struct ArrowSchema *);
    total = structs + n * sizeof(struct ArrowSchema) + format_len + name_len + metadata->len;
    struct node *node = pml_env__calloc(env, 1, total);
    if (node == NULL)
        return PML_E_NOMEM;
    char *text = (char *)node + structs + n * sizeof(struct ArrowSchema);
    node->env = env;
    pml_env_acquire(env);
    for (size_t i = 0; i < n; i++)
        node->child_ptrs[i] = (struct ArrowSchema *)(void *)((char *)node + structs) + i;
    memcpy(text, format, format_len);
    memcpy(text + format_len, s->name, name_len);
    if (metadata->len > 0)
        memcpy(text + format_len + name_len, metadata->data, metadata->len);
    *out = (struct ArrowSchema){.format = text,
                                .name = text + format_len,
                                .metadata = metadata->len > 0 ? text + format_len + name_len : NULL,
                                .flags = s->not_null || s->type == NULL || !s->type->nullable ? 0 : ARROW_FLAG_NULLABLE,
                                .n_children = (int64_t)n,
                                .children = n > 0 ? node->child_ptrs : NULL,
                                .release = node_release,
                                .private_data = node};
    return PML_OK;
}

static int export_node(struct ArrowSchema *out, pml_env *env, const shape *s, const pml_type *of_map, pml_buf bufs[2])
{
    pml_buf__reset(&bufs[0]);
    if (s->has_id)
        PML_RETURN_IF(make_metadata(&bufs[0], &bufs[1], s));
    PML_RETURN_IF(node_fill(out, env, s, &bufs[0]));
    for (size_t i = 0; i < (size_t)out->n_children; i++) {
        shape c = child_shape(s, of_map, i);
        PML_RETURN_IF(export_node(out->children[i], env, &c, s->type, bufs));
    }
    return PML_OK;
}

int pml_type__export(struct ArrowSchema *out, pml_env *env, const pml_field *fields, size_t n, pml_error *err)
{
    pml_type row = {.kind = PML_TYPE_ROW, .n_children = n};
    shape top = {.name = "", .type = &row};
    pml_buf bufs[2], none;
    int rc;
    *out = (struct ArrowSchema){0};
    pml_buf__init(&bufs[0], env, METADATA_MAX);
    pml_buf__init(&bufs[1], env, METADATA_MAX);
    pml_buf__init(&none, env, 0);
    PML_TRY(node_fill(out, env, &top, &none));
    for (size_t i = 0; i < n; i++) {
        shape c = {fields[i].name, &fields[i].type, fields[i].id, true, false, fields[i].id, 0};
        PML_TRY(export_node(out->children[i], env, &c, NULL, bufs));
    }
out:
    pml_buf__clear(&bufs[0]);
    pml_buf__clear(&bufs[1]);
    if (rc == PML_OK)
        return PML_OK;
    if (out->release != NULL)
        out->release(out);
    *out = (struct ArrowSchema){0};
    return rc == PML_E_NOMEM ? pml_error__no_memory(err) : pml_error__set(err, rc, "a type text is too long to export");
}

static int check_node(const struct ArrowSchema *a, const shape *s, const pml_type *of_map, bool stored, const char *column,
                      pml_error *err);

/* As files have it: value and metadata in any order, and where typed_value keeps parts of it (format/variant_shred.h) perhaps no value. */
static int check_stored_variant(const struct ArrowSchema *a, const char *column, pml_error *err)
{
    bool metadata = false, value = false;
    for (int64_t i = 0; i < a->n_children && a->children != NULL; i++) {
        const struct ArrowSchema *x = a->children[i];
        bool bytes = x != NULL && x->name != NULL && x->format != NULL && strcmp(x->format, "z") == 0;
        metadata = metadata || (bytes && strcmp(x->name, "metadata") == 0);
        value = value || (bytes && strcmp(x->name, "value") == 0) || (x != NULL && x->name != NULL && strcmp(x->name, "typed_value") == 0);
    }
    return metadata && value ? PML_OK : pml_error__set(err, PML_E_SCHEMA, "column '%s': the group is no VARIANT", column);
}

static int check_children(const struct ArrowSchema *a, const shape *s, const pml_type *of_map, bool stored, const char *column,
                          pml_error *err)
{
    size_t n = child_count(s);
    bool by_name = s->type != NULL && (s->type->kind == PML_TYPE_ROW || s->type->kind == PML_TYPE_VARIANT);
    if (a->n_children != (int64_t)n || (n > 0 && a->children == NULL))
        return pml_error__set(err, PML_E_SCHEMA, "column '%s': %lld children came where %zu are expected", column,
                              (long long)a->n_children, n);
    for (size_t i = 0; i < n; i++) {
        shape c = child_shape(s, of_map, i);
        const struct ArrowSchema *x = a->children[i];
        if (x == NULL)
            return pml_error__set(err, PML_E_SCHEMA, "column '%s': child %zu is missing", column, i);
        if (by_name && (x->name == NULL || strcmp(x->name, c.name) != 0))
            return pml_error__set(err, PML_E_SCHEMA, "column '%s': member %zu is named '%s', expected '%s'", column, i,
                                  x->name == NULL ? "" : x->name, c.name);
        PML_RETURN_IF(check_node(x, &c, s->type, stored, column, err));
    }
    return PML_OK;
}

/* The specification lets a producer write the width of a decimal: "d:10,2,128" is "d:10,2". */
static bool format_is(const char *got, const pml_type *t, bool stored)
{
    const char *constant = constant_format(t);
    char expected[48];
    if (stored && (t->kind == PML_TYPE_TIMESTAMP || t->kind == PML_TYPE_TIMESTAMP_LTZ))
        return strncmp(got, constant, strlen("tsn:")) == 0;
    if (constant != NULL)
        return strcmp(got, constant) == 0;
    pml_type__arrow_format(expected, t);
    size_t n = strlen(expected);
    if (strcmp(got, expected) == 0)
        return true;
    return t->kind == PML_TYPE_DECIMAL && strncmp(got, expected, n) == 0 && strcmp(got + n, ",128") == 0;
}

static int check_node(const struct ArrowSchema *a, const shape *s, const pml_type *of_map, bool stored, const char *column,
                      pml_error *err)
{
    const pml_type *t = s->type == NULL ? &null_type : s->type;
    char format[48];
    if (a->release == NULL || a->format == NULL)
        return pml_error__set(err, PML_E_SCHEMA, "column '%s': the Arrow schema is released or has no format", column);
    if (a->dictionary != NULL)
        return pml_error__set(err, PML_E_SCHEMA, "column '%s' is dictionary-encoded; decode it first", column);
    bool list = stored && t->kind == PML_TYPE_VECTOR && strcmp(a->format, "+l") == 0; /* which a vector is in files */
    if (!format_is(a->format, t, stored) && !list) {
        pml_type__arrow_format(format, t);
        return pml_error__set(err, PML_E_SCHEMA, "column '%s' has Arrow format '%.40s', expected '%s' (%s)", column,
                              a->format, format, pml_type__word(t->kind));
    }
    if (stored && t->kind == PML_TYPE_VARIANT)
        return check_stored_variant(a, column, err);
    return check_children(a, s, of_map, stored, column, err);
}

/* Formats are a few letters, which cost less than a call. */
static bool same_format(const char *a, const char *b)
{
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    return *a == *b;
}

/* Whether it is certainly right: most columns have no children, and every write asks for each. What is not goes to check_node. */
static bool is_plain_column(const struct ArrowSchema *a, const pml_type *t)
{
    const char *constant = t->n_children > 0 ? NULL : constant_format(t);
    return constant != NULL && *constant != '+' && a->release != NULL && a->format != NULL && a->dictionary == NULL && a->n_children == 0 &&
           same_format(a->format, constant);
}

int pml_type__check_arrow(const struct ArrowSchema *schema, const pml_field *fields, size_t n, pml_error *err)
{
    if (schema == NULL || schema->release == NULL || schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return pml_error__set(err, PML_E_SCHEMA, "the Arrow schema of a batch must be a struct");
    if (schema->n_children < 0 || (schema->n_children > 0 && schema->children == NULL))
        return pml_error__set(err, PML_E_SCHEMA, "the Arrow schema of a batch has a bad child list");
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *x = (int64_t)i < schema->n_children ? schema->children[i] : NULL;
        if (x == NULL)
            return pml_error__set(err, PML_E_SCHEMA, "column %zu, '%s', is missing", i + 1, fields[i].name);
        if (x->name == NULL || strcmp(x->name, fields[i].name) != 0)
            return pml_error__set(err, PML_E_SCHEMA, "column %zu is named '%s', expected '%s'", i + 1,
                                  x->name == NULL ? "" : x->name, fields[i].name);
        if (is_plain_column(x, &fields[i].type))
            continue;
        shape s = {fields[i].name, &fields[i].type, fields[i].id, true, false, fields[i].id, 0};
        PML_RETURN_IF(check_node(x, &s, NULL, false, fields[i].name, err));
    }
    if (schema->n_children != (int64_t)n)
        return pml_error__set(err, PML_E_SCHEMA, "%lld columns came where %zu are expected",
                              (long long)schema->n_children, n);
    return PML_OK;
}

int pml_type__check_arrow_stored(const struct ArrowSchema *column, const pml_field *field, pml_error *err)
{
    shape s = {field->name, &field->type, field->id, true, false, field->id, 0};
    return check_node(column, &s, NULL, true, field->name, err);
}
