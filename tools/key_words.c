/* SPDX-License-Identifier: Apache-2.0 */
#include "key_words.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_text.h"
#include "where.h"

int key_words_init(key_words *k, pml_lookup *lookup, pml_error *err)
{
    *k = (key_words){0};
    return pml_lookup_key_schema(&k->schema, lookup, err);
}

static size_t width(const key_words *k)
{
    return (size_t)k->schema.n_children;
}

size_t key_words_count(const key_words *k)
{
    return k->n / width(k);
}

void key_words_reset(key_words *k)
{
    for (size_t i = 0; i < k->n; i++)
        free((char *)(uintptr_t)k->values[i].text);
    k->n = 0;
}

void key_words_free(key_words *k)
{
    key_words_reset(k);
    free(k->values);
    free(k->lines);
    if (k->schema.release != NULL)
        k->schema.release(&k->schema);
}

static void add_value(key_words *k, const char *text, size_t len)
{
    if (k->n == k->cap) {
        k->cap = k->cap == 0 ? 64 : k->cap * 2;
        k->values = app_realloc(k->values, k->cap * sizeof *k->values);
    }
    const char *type = arrow_type_text(k->schema.children[k->n % width(k)]);
    char *canonical = memchr(text, '\0', len) == NULL ? where_canonical(type, text, len) : app_strndup(text, len);
    k->values[k->n++] = (pml_literal){canonical, memchr(text, '\0', len) == NULL ? strlen(canonical) : len};
}

static int wrong(const key_words *k, const char *word, size_t len, const char *why)
{
    char names[512] = "", where[64] = "";
    size_t at = 0;
    for (int64_t i = 0; i < k->schema.n_children && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s=...", i == 0 ? "" : ",", k->schema.children[i]->name);
    if (k->line > 0)
        (void)snprintf(where, sizeof where, "standard input, line %lld: ", (long long)k->line);
    return app_say(k->line > 0 ? EXIT_ERROR : EXIT_USAGE, "%s\"%.*s%s\" is no key: %s. A key is %s, or the same as JSON", where,
                   len > 200 ? 200 : (int)len, word, len > 200 ? "..." : "", why, names);
}

/* ---- JSON ---- */

static bool add_json(key_words *k, const json_t *v)
{
    char text[64];
    int n = 0;
    switch (json_typeof(v)) {
    case JSON_STRING: add_value(k, json_string_value(v), json_string_length(v)); return true;
    case JSON_TRUE:
    case JSON_FALSE: n = snprintf(text, sizeof text, "%s", json_is_true(v) ? "true" : "false"); break;
    case JSON_INTEGER: n = snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v)); break;
    case JSON_REAL: n = snprintf(text, sizeof text, "%.17g", json_real_value(v)); break;
    case JSON_NULL:
    case JSON_OBJECT:
    case JSON_ARRAY:
    default: return false;
    }
    add_value(k, text, (size_t)n);
    return true;
}

static int add_object(key_words *k, const char *word, size_t len)
{
    json_error_t e;
    size_t before = k->n;
    json_t *object = json_loadb(word, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    const char *why = object == NULL ? "it is no JSON" : !json_is_object(object) ? "it is no object" : NULL;
    for (int64_t i = 0; why == NULL && i < k->schema.n_children; i++) {
        const json_t *v = json_object_get(object, k->schema.children[i]->name);
        if (v == NULL)
            why = "a column is missing";
        else if (!add_json(k, v))
            why = "a value is null, a list or an object";
    }
    json_decref(object);
    if (why == NULL)
        return EXIT_OK;
    while (k->n > before)
        free((char *)(uintptr_t)k->values[--k->n].text);
    return wrong(k, word, len, why);
}

/* ---- column=value ---- */

/* The column that a pair begins with, -1: none. */
static int64_t column_at(const key_words *k, const char *text, const char *end)
{
    for (int64_t i = 0; i < k->schema.n_children; i++) {
        size_t n = strlen(k->schema.children[i]->name);
        if ((size_t)(end - text) > n && memcmp(text, k->schema.children[i]->name, n) == 0 && text[n] == '=')
            return i;
    }
    return -1;
}

static const char *pair_end(const key_words *k, const char *text, const char *end)
{
    for (const char *p = text; p < end; p++)
        if (*p == ',' && column_at(k, p + 1, end) >= 0)
            return p;
    return end;
}

static int add_pairs(key_words *k, const char *word, size_t len)
{
    const char *end = word + len, **texts = app_alloc(width(k) * sizeof *texts);
    size_t *lens = app_alloc(width(k) * sizeof *lens);
    const char *why = NULL;
    for (size_t i = 0; i < width(k); i++)
        texts[i] = NULL;
    for (const char *p = word; why == NULL && p <= end;) {
        int64_t column = column_at(k, p, end);
        const char *stop = pair_end(k, p, end);
        if (column < 0 || texts[column] != NULL) {
            why = column < 0 ? "it does not begin with a column of the primary key" : "a column is there twice";
            break;
        }
        texts[column] = p + strlen(k->schema.children[column]->name) + 1;
        lens[column] = (size_t)(stop - texts[column]);
        p = stop + 1;
    }
    for (size_t i = 0; why == NULL && i < width(k); i++)
        why = texts[i] == NULL ? "a column is missing" : NULL;
    for (size_t i = 0; why == NULL && i < width(k); i++)
        add_value(k, texts[i], lens[i]);
    free(texts);
    free(lens);
    return why == NULL ? EXIT_OK : wrong(k, word, len, why);
}

int key_words_add(key_words *k, const char *word, size_t len)
{
    size_t blanks = 0, n = key_words_count(k);
    while (blanks < len && (word[blanks] == ' ' || word[blanks] == '\t'))
        blanks++;
    if (n == k->lines_cap) {
        k->lines_cap = k->lines_cap * 2 + 64;
        k->lines = app_realloc(k->lines, k->lines_cap * sizeof *k->lines);
    }
    k->lines[n] = k->line;
    return blanks < len && word[blanks] == '{' ? add_object(k, word, len) : add_pairs(k, word, len);
}

char *key_words_text(const key_words *k, size_t key)
{
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < width(k); i++) {
        const pml_literal *v = &k->values[key * width(k) + i];
        (void)json_object_set_new(object, k->schema.children[i]->name, json_stringn(v->text, v->len));
    }
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    char *copy = text == NULL ? app_strndup("?", 1) : app_strndup(text, strlen(text));
    free(text);
    json_decref(object);
    return copy;
}
