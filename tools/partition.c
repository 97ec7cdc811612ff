/* SPDX-License-Identifier: Apache-2.0 */
#include "partition.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int partition_keys_get(partition_keys *out, const pml_table *table)
{
    pml_error err = PML_ERROR_INIT;
    pml_text text = {0};
    *out = (partition_keys){0};
    int rc = pml_table_schema_json(&text, table, &err);
    if (rc != PML_OK)
        return app_fail(rc, &err);
    json_t *schema = json_loadb(text.ptr, text.len, 0, NULL);
    const json_t *keys = json_object_get(schema, "partitionKeys");
    size_t n = json_array_size(keys);
    out->names = app_alloc(n * sizeof *out->names);
    for (; out->n < n; out->n++) {
        const json_t *name = json_array_get(keys, out->n);
        out->names[out->n] = app_strndup(json_string_value(name), json_string_length(name));
    }
    json_decref(schema);
    pml_text_clear(&text);
    return EXIT_OK;
}

void partition_keys_free(partition_keys *k)
{
    app_list_free(k->names, k->n);
    *k = (partition_keys){0};
}

/* ---- the form of directory names ---- */

/* The same bytes as Paimon escapes; three for one at most. */
static char *escape(char *to, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20 || c == 0x7f || strchr("\"#%'*/:=?\\{[]}^", c) != NULL)
            to += snprintf(to, 4, "%%%02X", c);
        else
            *to++ = *p;
    }
    return to;
}

char *partition_path(const partition_keys *k, const char *const *values)
{
    size_t n = 1;
    for (size_t i = 0; i < k->n; i++)
        n += 3 * (strlen(k->names[i]) + strlen(values[i])) + 2;
    char *text = app_alloc(n), *to = text;
    for (size_t i = 0; i < k->n; i++) {
        if (i > 0)
            *to++ = '/';
        to = escape(to, k->names[i]);
        *to++ = '=';
        to = escape(to, values[i]);
    }
    *to = '\0';
    return text;
}

char *partition_json(const partition_keys *k, const char *const *values)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t i = 0; i < k->n && good; i++)
        good = json_object_set_new(object, k->names[i], json_string(values[i])) == 0;
    char *text = good ? json_dumps(object, JSON_COMPACT) : NULL;
    char *copy = text == NULL ? app_strndup("null", 4) : app_strndup(text, strlen(text)); /* bytes that are no UTF-8 */
    free(text);
    json_decref(object);
    return copy;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool partition_unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
            *to++ = (char)(hex(p[1]) * 16 + hex(p[2]));
            if (to[-1] == '\0')
                return false;
            p += 2;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return true;
}

/* ---- words ---- */

int partition_words_get(partition_words *out, const command *c, size_t n, const char *const *words)
{
    *out = (partition_words){0, app_alloc(n * sizeof *out->texts), app_alloc(n * sizeof *out->pairs)};
    for (size_t i = 0; i < n; i++) {
        out->texts[i] = app_strndup(words[i], strlen(words[i]));
        out->n++;
        if (!app_split_pair(out->texts[i], &out->pairs[i]))
            return args_wrong(c, "a partition is named by KEY=VALUE, not \"%s\"", words[i]);
        if (!partition_unescape(strchr(out->texts[i], '\0') + 1))
            return args_wrong(c, "%%00 in \"%s\": no partition has that byte in its value", words[i]);
    }
    return EXIT_OK;
}

void partition_words_free(partition_words *p)
{
    app_list_free(p->texts, p->n);
    free(p->pairs);
    *p = (partition_words){0};
}
