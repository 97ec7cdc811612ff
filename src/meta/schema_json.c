/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/schema_json.h"

#include <stdio.h>
#include <string.h>

static int parse_type(pml_type *out, pml_arena *arena, const json_t *v, pml_schema_ids ids, int depth,
                      const pml_json_source *src);

static int parse_field(pml_field *out, pml_arena *arena, const json_t *v, pml_schema_ids ids, int depth,
                       const pml_json_source *src)
{
    int64_t id = -1;
    if (!json_is_object(v))
        return pml_json__fail(src, src->code, "an element of 'fields' is not an object");
    PML_RETURN_IF(pml_json__get_string(&out->name, arena, v, "name", PML_JSON_REQUIRED, src));
    if (ids == PML_SCHEMA_IDS_GIVEN)
        PML_RETURN_IF(pml_json__get_int64(&id, v, "id", 0, PML_ID_KEY_BASE - 1, src));
    out->id = (int32_t)id;
    const json_t *type = json_object_get(v, "type");
    if (type == NULL)
        return pml_json__fail(src, src->code, "column '%s' has no type", out->name);
    PML_RETURN_IF(parse_type(&out->type, arena, type, ids, depth, src));
    PML_RETURN_IF(pml_json__get_string(&out->description, arena, v, "description", PML_JSON_OPTIONAL, src));
    return pml_json__get_string(&out->default_value, arena, v, "defaultValue", PML_JSON_OPTIONAL, src);
}

static int get_fields(pml_field **out, size_t *n, pml_arena *arena, const json_t *object, pml_schema_ids ids, int depth,
                      const pml_json_source *src)
{
    const json_t *array;
    *out = NULL;
    *n = 0;
    PML_RETURN_IF(pml_json__get_array(&array, object, "fields", PML_JSON_REQUIRED, src));
    size_t count = json_array_size(array);
    if (count > PML_TYPE_COLUMNS_MAX)
        return pml_json__fail(src, PML_E_LIMIT, "%zu columns in one row, more than the limit of %d", count,
                              PML_TYPE_COLUMNS_MAX);
    pml_field *fields = pml_arena__array(arena, count, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < count; i++)
        PML_RETURN_IF(parse_field(&fields[i], arena, json_array_get(array, i), ids, depth, src));
    *out = fields;
    *n = count;
    return PML_OK;
}

int pml_schema_json__get_fields(pml_field **out, size_t *n, pml_arena *arena, const json_t *object, pml_schema_ids ids,
                                const pml_json_source *src)
{
    return get_fields(out, n, arena, object, ids, 0, src);
}

static const struct object_word {
    const char *word;
    pml_type_kind kind;
    const char *children[2]; /* members that hold types; NULL: ROW */
} object_words[] = {{"ARRAY", PML_TYPE_ARRAY, {"element", NULL}},
                    {"MULTISET", PML_TYPE_MULTISET, {"element", NULL}},
                    {"MAP", PML_TYPE_MAP, {"key", "value"}},
                    {"ROW", PML_TYPE_ROW, {NULL, NULL}},
                    {"VECTOR", PML_TYPE_VECTOR, {"element", NULL}}};

/* "ARRAY" or "ARRAY NOT NULL". */
static const struct object_word *find_object_word(const char *text, bool *nullable)
{
    for (size_t i = 0; i < sizeof object_words / sizeof object_words[0]; i++) {
        size_t n = strlen(object_words[i].word);
        if (strncmp(text, object_words[i].word, n) != 0)
            continue;
        *nullable = text[n] == '\0';
        if (*nullable || strcmp(text + n, " NOT NULL") == 0)
            return &object_words[i];
    }
    return NULL;
}

static int parse_children(pml_type *out, pml_arena *arena, const json_t *v, const struct object_word *w,
                          pml_schema_ids ids, int depth, const pml_json_source *src)
{
    out->n_children = w->children[1] == NULL ? 1 : 2;
    out->children = pml_arena__array(arena, out->n_children, sizeof *out->children);
    if (out->children == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < out->n_children; i++) {
        const json_t *child = json_object_get(v, w->children[i]);
        if (child == NULL)
            return pml_json__fail(src, src->code, "type %s has no '%s'", w->word, w->children[i]);
        out->children[i].id = -1;
        out->children[i].name = w->children[i];
        PML_RETURN_IF(parse_type(&out->children[i].type, arena, child, ids, depth + 1, src));
    }
    return PML_OK;
}

static int parse_object(pml_type *out, pml_arena *arena, const json_t *v, pml_schema_ids ids, int depth,
                        const pml_json_source *src)
{
    const char *text = json_string_value(json_object_get(v, "type"));
    const struct object_word *w = text == NULL ? NULL : find_object_word(text, &out->nullable);
    if (w == NULL)
        return pml_json__fail(src, src->code, "a type object has the unknown type '%.80s'", text == NULL ? "" : text);
    out->kind = w->kind;
    if (w->kind == PML_TYPE_ROW) {
        PML_RETURN_IF(get_fields(&out->children, &out->n_children, arena, v, ids, depth + 1, src));
    } else {
        PML_RETURN_IF(parse_children(out, arena, v, w, ids, depth, src));
    }
    if (w->kind == PML_TYPE_VECTOR) {
        int64_t length;
        PML_RETURN_IF(pml_json__get_int64(&length, v, "length", 1, INT32_MAX, src));
        out->length = (int32_t)length;
    }
    return pml_json__adopt(src, pml_type__validate(out, arena->env, src->err));
}

static int type_height(const pml_type *t)
{
    int height = 0;
    for (size_t i = 0; i < t->n_children; i++) {
        int below = type_height(&t->children[i].type) + 1;
        height = below > height ? below : height;
    }
    return height;
}

static int parse_type(pml_type *out, pml_arena *arena, const json_t *v, pml_schema_ids ids, int depth,
                      const pml_json_source *src)
{
    if (depth > PML_TYPE_DEPTH_MAX)
        return pml_json__fail(src, PML_E_LIMIT, "types are nested deeper than %d", PML_TYPE_DEPTH_MAX);
    if (json_is_object(v))
        return parse_object(out, arena, v, ids, depth, src);
    if (!json_is_string(v))
        return pml_json__fail(src, src->code, "a type is neither text nor an object");
    int rc = pml_type__parse(out, arena, json_string_value(v), json_string_length(v), NULL, src->err);
    if (rc != PML_OK)
        return pml_json__adopt(src, rc);
    if (depth + type_height(out) > PML_TYPE_DEPTH_MAX)
        return pml_json__fail(src, PML_E_LIMIT, "types are nested deeper than %d", PML_TYPE_DEPTH_MAX);
    return PML_OK;
}

int pml_schema_json__get_options(pml_option **out, size_t *n, pml_arena *arena, const json_t *object,
                                 const char *member, pml_json_need need, const pml_json_source *src)
{
    const json_t *map;
    json_t *v;
    const char *key;
    *out = NULL;
    *n = 0;
    PML_RETURN_IF(pml_json__get_object(&map, object, member, need, src));
    if (map == NULL)
        return PML_OK;
    pml_option *options = pml_arena__array(arena, json_object_size(map), sizeof *options);
    if (options == NULL)
        return pml_error__no_memory(src->err);
    json_object_foreach((json_t *)(uintptr_t)map, key, v) /* jansson's iterator wants no const; it changes nothing */
    {
        if (!json_is_string(v))
            return pml_json__fail(src, src->code, "'%.80s' in '%s' must be a string", key, member);
        options[*n].key = pml_arena__strdup(arena, key);
        options[*n].value = pml_arena__strdup(arena, json_string_value(v));
        if (options[*n].key == NULL || options[*n].value == NULL)
            return pml_error__no_memory(src->err);
        *n += 1;
    }
    *out = options;
    return PML_OK;
}

/* ---- writing ---- */

static void put_type(pml_json_writer *w, const pml_type *t);

static void put_object(pml_json_writer *w, const struct object_word *word, const pml_type *t)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%s", word->word, t->nullable ? "" : " NOT NULL");
    pml_json_writer__begin_object(w);
    pml_json_writer__put_string(w, "type", text);
    if (t->kind == PML_TYPE_ROW) {
        pml_json_writer__key(w, "fields");
        pml_schema_json__put_fields(w, t->children, t->n_children);
    }
    for (size_t i = 0; i < 2 && word->children[i] != NULL; i++) {
        pml_json_writer__key(w, word->children[i]);
        put_type(w, &t->children[i].type);
    }
    if (t->kind == PML_TYPE_VECTOR)
        pml_json_writer__put_int64(w, "length", t->length);
    pml_json_writer__end_object(w);
}

static void put_type(pml_json_writer *w, const pml_type *t)
{
    pml_buf text;
    for (size_t i = 0; i < sizeof object_words / sizeof object_words[0]; i++)
        if (object_words[i].kind == t->kind) {
            put_object(w, &object_words[i], t);
            return;
        }
    pml_buf__init(&text, w->out->env, 256); /* atomic types only: far shorter */
    (void)pml_type__print(&text, t);
    (void)pml_buf__append_byte(&text, 0);
    if (text.rc != PML_OK)
        w->out->rc = text.rc;
    pml_json_writer__string(w, text.rc == PML_OK ? (const char *)text.data : "");
    pml_buf__clear(&text);
}

void pml_schema_json__put_fields(pml_json_writer *w, const pml_field *fields, size_t n)
{
    pml_json_writer__begin_array(w);
    for (size_t i = 0; i < n; i++) {
        pml_json_writer__begin_object(w);
        pml_json_writer__put_int64(w, "id", fields[i].id);
        pml_json_writer__put_string(w, "name", fields[i].name);
        pml_json_writer__key(w, "type");
        put_type(w, &fields[i].type);
        pml_json_writer__put_string(w, "description", fields[i].description);
        pml_json_writer__put_string(w, "defaultValue", fields[i].default_value);
        pml_json_writer__end_object(w);
    }
    pml_json_writer__end_array(w);
}
