/* SPDX-License-Identifier: Apache-2.0 */
/* From an Arrow schema back to logical types. Our own schemas say the type in metadata; for others, and for the inner nodes
   of constructed types, the Arrow format says it. */
#include <string.h>

#include "columnar/row_text.h"
#include "util/bytes.h"
#include "util/number.h"

/* The value of one metadata key: int32 count, then (int32 length, bytes) twice per pair. false when absent. */
static bool metadata_find(const char *metadata, const char *key, const char **value, size_t *len)
{
    const char *p = metadata;
    int32_t pairs, n;
    if (metadata == NULL)
        return false;
    memcpy(&pairs, p, 4);
    p += 4;
    for (int32_t i = 0; i < pairs; i++) {
        memcpy(&n, p, 4);
        bool same = n >= 0 && (size_t)n == strlen(key) && memcmp(p + 4, key, (size_t)n) == 0;
        p += 4 + n;
        memcpy(&n, p, 4);
        if (same && n >= 0) {
            *value = p + 4;
            *len = (size_t)n;
            return true;
        }
        p += 4 + n;
    }
    return false;
}

static const struct {
    const char *format;
    pml_type type;
} atoms[] = {
    {"b", {.kind = PML_TYPE_BOOLEAN}},
    {"c", {.kind = PML_TYPE_TINYINT}},
    {"s", {.kind = PML_TYPE_SMALLINT}},
    {"i", {.kind = PML_TYPE_INT}},
    {"l", {.kind = PML_TYPE_BIGINT}},
    {"f", {.kind = PML_TYPE_FLOAT}},
    {"g", {.kind = PML_TYPE_DOUBLE}},
    {"u", {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX}},
    {"z", {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX}},
    {"tdD", {.kind = PML_TYPE_DATE}},
    {"ttm", {.kind = PML_TYPE_TIME, .precision = 3}},
    {"tsm:", {.kind = PML_TYPE_TIMESTAMP, .precision = 3}},
    {"tsu:", {.kind = PML_TYPE_TIMESTAMP, .precision = 6}},
    {"tsn:", {.kind = PML_TYPE_TIMESTAMP, .precision = 9}},
    {"tsm:UTC", {.kind = PML_TYPE_TIMESTAMP_LTZ, .precision = 3}},
    {"tsu:UTC", {.kind = PML_TYPE_TIMESTAMP_LTZ, .precision = 6}},
    {"tsn:UTC", {.kind = PML_TYPE_TIMESTAMP_LTZ, .precision = 9}},
};

static int schema_unknown(const struct ArrowSchema *s, pml_error *err)
{
    return pml_error__set(err, PML_E_SCHEMA, "column \"%s\" has the Arrow format \"%s\", which no column type has",
                          s->name == NULL ? "" : s->name, s->format == NULL ? "" : s->format);
}

static int type_from_format(pml_type *out, const struct ArrowSchema *s, pml_error *err)
{
    const char *f = s->format, *comma;
    int64_t precision, scale;
    for (size_t i = 0; i < sizeof atoms / sizeof *atoms; i++)
        if (strcmp(atoms[i].format, f) == 0) {
            *out = atoms[i].type;
            return PML_OK;
        }
    comma = strncmp(f, "d:", 2) == 0 ? strchr(f, ',') : NULL;
    if (comma == NULL || !pml_number__int64(&precision, f + 2, (size_t)(comma - f) - 2) ||
        !pml_number__int64(&scale, comma + 1, strlen(comma + 1)) || precision < 1 || precision > 38 || scale < 0 ||
        scale > precision)
        return schema_unknown(s, err);
    *out = (pml_type){.kind = PML_TYPE_DECIMAL, .precision = (int32_t)precision, .scale = (int32_t)scale};
    return PML_OK;
}

/* The metadata may lie about foreign arrays; the buffers follow the format. */
static int type_from_text(pml_type *out, pml_arena *arena, const struct ArrowSchema *s, const char *text, size_t len,
                          pml_error *err)
{
    char format[48];
    PML_RETURN_IF(pml_type__parse(out, arena, text, len, NULL, err));
    pml_type__arrow_format(format, out);
    if (strcmp(format, s->format) != 0)
        return pml_error__set(err, PML_E_SCHEMA,
                              "column \"%s\" has the Arrow format \"%s\", but its type %.*s has \"%s\"",
                              s->name == NULL ? "" : s->name, s->format, len > 100 ? 100 : (int)len, text, format);
    return PML_OK;
}

static int schema_fields(pml_field *fields, pml_arena *arena, struct ArrowSchema *const *children, size_t n, int depth,
                         pml_error *err);

static bool is_variant(const struct ArrowSchema *s)
{
    static const char *const members[] = {"value", "metadata"};
    bool so = strcmp(s->format, "+s") == 0 && s->n_children == 2;
    for (int i = 0; i < 2 && so; i++) {
        const struct ArrowSchema *c = s->children[i];
        so = c->name != NULL && strcmp(c->name, members[i]) == 0 && c->format != NULL && strcmp(c->format, "z") == 0;
    }
    return so;
}

/* Constructed types: the format gives the shape, the first word of the metadata tells MULTISET from MAP and VARIANT from ROW. */
static int type_constructed(pml_type *out, pml_arena *arena, const struct ArrowSchema *s, const char *word,
                            size_t word_len, int depth, pml_error *err)
{
    const char *f = s->format;
    struct ArrowSchema *const *children = s->children;
    size_t n = (size_t)s->n_children;
    int64_t length;
    if (word_len >= 7 && memcmp(word, "VARIANT", 7) == 0 && is_variant(s)) {
        out->kind = PML_TYPE_VARIANT;
        return PML_OK;
    }
    if (strcmp(f, "+l") == 0 && n == 1) {
        out->kind = PML_TYPE_ARRAY;
    } else if (strncmp(f, "+w:", 3) == 0 && n == 1 && pml_number__int64(&length, f + 3, strlen(f + 3)) && length > 0 &&
               length <= INT32_MAX) {
        out->kind = PML_TYPE_VECTOR;
        out->length = (int32_t)length;
    } else if (strcmp(f, "+m") == 0 && n == 1 && s->children[0]->n_children == 2) {
        out->kind = word_len >= 8 && memcmp(word, "MULTISET", 8) == 0 ? PML_TYPE_MULTISET : PML_TYPE_MAP;
        children = s->children[0]->children;
        n = out->kind == PML_TYPE_MAP ? 2 : 1;
    } else if (strcmp(f, "+s") == 0) {
        out->kind = PML_TYPE_ROW;
    } else {
        return schema_unknown(s, err);
    }
    out->n_children = n;
    out->children = pml_arena__array(arena, n == 0 ? 1 : n, sizeof *out->children);
    if (out->children == NULL)
        return pml_error__no_memory(err);
    return schema_fields(out->children, arena, children, n, depth + 1, err);
}

static int type_from_schema(pml_type *out, pml_arena *arena, const struct ArrowSchema *s, int depth, pml_error *err)
{
    const char *text = "";
    size_t len = 0;
    *out = (pml_type){0};
    if (s->format == NULL)
        return schema_unknown(s, err);
    if (depth > PML_TYPE_DEPTH_MAX)
        return pml_error__set(err, PML_E_LIMIT, "column types nest deeper than %d", PML_TYPE_DEPTH_MAX);
    bool said = metadata_find(s->metadata, "paimon.type", &text, &len);
    if (s->format[0] == '+')
        PML_RETURN_IF(type_constructed(out, arena, s, text, len, depth, err));
    else if (said)
        PML_RETURN_IF(type_from_text(out, arena, s, text, len, err));
    else
        PML_RETURN_IF(type_from_format(out, s, err));
    out->nullable = (s->flags & ARROW_FLAG_NULLABLE) != 0;
    return PML_OK;
}

static int schema_fields(pml_field *fields, pml_arena *arena, struct ArrowSchema *const *children, size_t n, int depth,
                         pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *c = children[i];
        const char *id_text;
        size_t id_len;
        int64_t id = -1;
        if (metadata_find(c->metadata, "paimon.id", &id_text, &id_len) &&
            (!pml_number__int64(&id, id_text, id_len) || id < INT32_MIN || id > INT32_MAX))
            id = -1;
        fields[i].id = (int32_t)id;
        fields[i].name = pml_arena__strdup(arena, c->name == NULL ? "" : c->name);
        if (fields[i].name == NULL)
            return pml_error__no_memory(err);
        PML_RETURN_IF(type_from_schema(&fields[i].type, arena, c, depth, err));
    }
    return PML_OK;
}

int pml_row_text__fields(pml_field **out, size_t *n, pml_arena *arena, const struct ArrowSchema *schema, pml_error *err)
{
    *out = NULL;
    *n = 0;
    if (schema == NULL || schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return pml_error__set(err, PML_E_INVAL, "rows have a text form only as Arrow structs (format \"+s\")");
    if (schema->n_children < 0 || schema->n_children > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a schema of %lld columns is over the limit of %d",
                              (long long)schema->n_children, PML_TYPE_COLUMNS_MAX);
    size_t count = (size_t)schema->n_children;
    pml_field *fields = pml_arena__array(arena, count == 0 ? 1 : count, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(schema_fields(fields, arena, schema->children, count, 1, err));
    *out = fields;
    *n = count;
    return PML_OK;
}
