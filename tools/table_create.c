/* SPDX-License-Identifier: Apache-2.0 */
/* pml table create: a schema from a file, from the word itself, or from the short form of options. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "commands.h"
#include "schema_text.h"

enum { SCHEMA_MAX_BYTES = 16 * 1024 * 1024 };

static json_t *schema_wrong(json_t *schema, const char *what)
{
    json_decref(schema);
    (void)app_say(EXIT_USAGE, "%s", what);
    return NULL;
}

/* SCHEMA is JSON itself, a file, or "-". */
static json_t *schema_load(const char *word)
{
    json_error_t e;
    json_t *schema;
    if (word[strspn(word, " \t\r\n")] == '{')
        schema = json_loads(word, JSON_REJECT_DUPLICATES, &e);
    else if (strcmp(word, "-") == 0)
        schema = json_loadf(stdin, JSON_REJECT_DUPLICATES, &e);
    else {
        FILE *f = fopen(word, "rb");
        if (f == NULL) {
            (void)app_say(EXIT_NOT_FOUND, "the schema file %s cannot be opened%s", word,
                          errno == ENOENT ? ": it does not exist" : "");
            return NULL;
        }
        schema = json_loadf(f, JSON_REJECT_DUPLICATES, &e);
        (void)fclose(f);
    }
    if (schema == NULL) {
        (void)app_say(EXIT_USAGE, "the schema is not JSON: %s (line %d, column %d)", e.text, e.line, e.column);
        return NULL;
    }
    return json_is_object(schema) ? schema : schema_wrong(schema, "the schema is not a JSON object");
}

static json_t *name_list(const char *text)
{
    char **names;
    json_t *list = json_array();
    size_t n = text == NULL ? 0 : app_split_list(&names, text);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_string(names[i]));
    if (text != NULL)
        app_list_free(names, n);
    return list;
}

/* An empty list is left out when the schema says something already. */
static void schema_set_list(json_t *schema, const char *key, const char *text)
{
    if (text != NULL || json_object_get(schema, key) == NULL)
        (void)json_object_set_new(schema, key, name_list(text));
}

/* 0 when all options are well formed. */
static int schema_set_options(json_t *schema, const args *a)
{
    static const char *const own[] = {"bucket", "bucket-key"};
    json_t *options = json_object_get(schema, "options");
    const char *text;
    if (!json_is_object(options)) {
        options = json_object();
        (void)json_object_set_new(schema, "options", options);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (args_value(a, own[i]) != NULL)
            (void)json_object_set_new(options, own[i], json_string(args_value(a, own[i])));
    if (args_has(a, "live"))
        (void)json_object_set_new(options, "realtime.enabled", json_string("true"));
    for (size_t i = 0; (text = args_nth(a, "option", i)) != NULL; i++) {
        pml_option_pair pair;
        char *copy = app_strndup(text, strlen(text));
        bool good = app_split_pair(copy, &pair);
        if (good)
            (void)json_object_set_new(options, pair.key, json_string(pair.value));
        free(copy);
        if (!good)
            return args_wrong(a->command, "--option wants KEY=VALUE, not \"%s\"", text);
    }
    return EXIT_OK;
}

static int schema_make(json_t **out, const args *a)
{
    const char *columns = args_value(a, "columns");
    *out = NULL;
    if ((columns == NULL) == (a->n_operands < 2))
        return args_wrong(a->command, "say the columns once: SCHEMA or --columns \"id INT NOT NULL, name STRING\"");
    json_t *schema = NULL;
    if (columns != NULL) {
        json_t *fields = schema_columns_parse(columns);
        if (fields != NULL)
            schema = json_pack("{s:o}", "fields", fields);
    } else {
        schema = schema_load(a->operand[1]);
    }
    if (schema == NULL)
        return EXIT_USAGE;
    schema_set_list(schema, "partitionKeys", args_value(a, "partition-by"));
    schema_set_list(schema, "primaryKeys", args_value(a, "primary-key"));
    if (args_value(a, "comment") != NULL)
        (void)json_object_set_new(schema, "comment", json_string(args_value(a, "comment")));
    int code = schema_set_options(schema, a);
    if (code != EXIT_OK) {
        json_decref(schema);
        return code;
    }
    *out = schema;
    return EXIT_OK;
}

/* Other engines could not name such tables. */
static int check_name(const char *table)
{
    size_t n = strlen(table), begin;
    while (n > 1 && table[n - 1] == '/')
        n--;
    for (begin = n; begin > 0 && table[begin - 1] != '/';)
        begin--;
    if (memchr(table + begin, '$', n - begin) != NULL)
        return app_say(EXIT_USAGE, "a table's name has no '$', which is for system tables: not \"%s\"", table);
    if (begin == 0 && strncmp(table, "sys.", 4) == 0)
        return app_say(EXIT_USAGE, "the database sys is that of the system tables: not \"%s\"", table);
    return EXIT_OK;
}

static int run_create(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    json_t *schema = NULL;
    pml_table *table = NULL;
    char *path = NULL, *text = NULL;
    int code = schema_make(&schema, a);
    if (code == EXIT_OK)
        code = check_name(a->operand[0]);
    if (code == EXIT_OK)
        code = app_table_path(&path, app, a, a->operand[0]);
    if (code == EXIT_OK) {
        text = json_dumps(schema, JSON_COMPACT);
        size_t len = text == NULL ? 0 : strlen(text);
        int rc = text == NULL || len > SCHEMA_MAX_BYTES
                     ? PML_E_LIMIT
                     : pml_table_create(&table, app->env, path, text, len,
                                        args_has(a, "if-not-exists") ? PML_TABLE_IF_NOT_EXISTS : 0, &err);
        if (rc != PML_OK)
            code = app_fail(rc, &err);
        else
            (void)fprintf(stderr, "table %s\n", pml_table_path(table));
    }
    if (table != NULL)
        pml_table_release(table);
    free(text);
    free(path);
    json_decref(schema);
    return code;
}

static const args_option create_options[] = {
    {"columns", "COLUMNS", "columns in short form: \"id INT NOT NULL, name STRING\""},
    {"partition-by", "a,b", "partition columns"},
    {"primary-key", "a,b", "primary key"},
    {"bucket", "N", "number of buckets (default -1: append tables have no buckets, with a primary key they are dynamic)"},
    {"bucket-key", "a,b", "columns whose hash decides the bucket"},
    {"live", NULL, "allow real-time writes: sets realtime.enabled=true"},
    {"option", "KEY=VALUE", "a table option; may be repeated"},
    {"comment", "TEXT", "comment of the table"},
    {"if-not-exists", NULL, "no error when the table is there already"},
    OPTION_WAREHOUSE,
    {NULL, NULL, NULL}};

const command command_table_create = {
    .name = "table create",
    .operands = "TABLE [SCHEMA]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "Make a table.",
    .details = "TABLE is a directory (with a '/') or a name, \"table\" or \"database.table\", in the warehouse.\n"
               "SCHEMA is a JSON file, - for standard input, or the JSON itself:\n"
               "{\"fields\":[{\"name\":\"id\",\"type\":\"INT NOT NULL\"}],\"partitionKeys\":[],\"options\":{}}\n",
    .examples =
        "  pml table create flights --columns \"id BIGINT NOT NULL, origin STRING, day DATE\" --partition-by day\n"
        "  pml table create users --columns \"id BIGINT NOT NULL, name STRING\" --primary-key id --live\n"
        "  pml table create /data/db/events schema.json --live --bucket 4 --bucket-key id\n",
    .options = create_options,
    .run = run_create};
