/* SPDX-License-Identifier: Apache-2.0 */
#include "schema_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"

static json_t *columns_wrong(json_t *fields, const char *what, const char *at, size_t len)
{
    json_decref(fields);
    (void)app_say(EXIT_USAGE, "--columns: %s: \"%.*s\"", what, len > 60 ? 60 : (int)len, at);
    return NULL;
}

/* The end of one column: the next comma outside of brackets and backticks. */
static const char *column_end(const char *p)
{
    int depth = 0;
    bool quoted = false;
    for (; *p != '\0'; p++) {
        if (*p == '`')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (*p == '(' || *p == '<')
            depth++;
        else if (*p == ')' || *p == '>')
            depth--;
        else if (*p == ',' && depth == 0)
            break;
    }
    return p;
}

json_t *schema_columns_parse(const char *text)
{
    json_t *fields = json_array();
    for (const char *p = text;; p++) {
        p += strspn(p, " \t\r\n");
        const char *end = column_end(p), *name = p, *name_end, *type;
        if (*p == '`') {
            name = p + 1;
            name_end = memchr(name, '`', (size_t)(end - name));
            type = name_end == NULL ? NULL : name_end + 1;
        } else {
            name_end = p + strcspn(p, " \t\r\n,");
            type = name_end > end ? NULL : name_end;
        }
        if (type == NULL || name_end == name)
            return columns_wrong(fields, "a column is a name and a type", p, (size_t)(end - p));
        type += strspn(type, " \t\r\n");
        while (end > type && strchr(" \t\r\n", end[-1]) != NULL)
            end--;
        if (type >= end)
            return columns_wrong(fields, "the type of a column is missing", p, (size_t)(end - p));
        json_t *field =
            json_pack("{s:s%,s:s%}", "name", name, (size_t)(name_end - name), "type", type, (size_t)(end - type));
        if (field == NULL || json_array_append_new(fields, field) != 0)
            return columns_wrong(fields, "this is no UTF-8", p, (size_t)(end - p));
        p = column_end(p);
        if (*p == '\0')
            return fields;
    }
}

/* ---- types as text ---- */

static void add(char **text, const char *more)
{
    size_t n = *text == NULL ? 0 : strlen(*text), m = strlen(more);
    *text = app_realloc(*text, n + m + 1);
    memcpy(*text + n, more, m + 1);
}

static void add_type(char **out, const json_t *type, int depth);

static void add_row(char **out, const json_t *fields, int depth)
{
    add(out, "ROW<");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *f = json_array_get(fields, i);
        const char *name = json_string_value(json_object_get(f, "name"));
        add(out, i > 0 ? ", " : "");
        add(out, name == NULL ? "?" : name);
        add(out, " ");
        add_type(out, json_object_get(f, "type"), depth + 1);
    }
    add(out, ">");
}

static void add_type(char **out, const json_t *type, int depth)
{
    char length[32] = "";
    if (json_is_string(type)) {
        add(out, json_string_value(type));
        return;
    }
    const char *word = json_string_value(json_object_get(type, "type"));
    if (word == NULL || depth > 64) {
        add(out, "?");
        return;
    }
    size_t n = strcspn(word, " ");
    char *kind = app_strndup(word, n);
    if (strcmp(kind, "ROW") == 0) {
        add_row(out, json_object_get(type, "fields"), depth);
    } else {
        add(out, kind);
        add(out, "<");
        if (strcmp(kind, "MAP") == 0) {
            add_type(out, json_object_get(type, "key"), depth + 1);
            add(out, ", ");
            add_type(out, json_object_get(type, "value"), depth + 1);
        } else {
            add_type(out, json_object_get(type, "element"), depth + 1);
        }
        if (json_is_integer(json_object_get(type, "length")))
            (void)snprintf(length, sizeof length, ", %lld",
                           (long long)json_integer_value(json_object_get(type, "length")));
        add(out, length);
        add(out, ">");
    }
    add(out, word + n); /* " NOT NULL" */
    free(kind);
}

char *schema_type_text(const json_t *type)
{
    char *out = NULL;
    add(&out, "");
    add_type(&out, type, 0);
    return out;
}
