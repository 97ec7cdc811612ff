/* SPDX-License-Identifier: Apache-2.0 */
/* pml table describe, list, drop. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "commands.h"
#include "output.h"
#include "schema_text.h"

/* ---- describe ---- */

static void describe_columns(const json_t *schema)
{
    static const output_column columns[] = {{"id", true}, {"name", false}, {"type", false}, {"comment", false}};
    const json_t *fields = json_object_get(schema, "fields");
    output *o = output_new(OUTPUT_TABLE, columns, 4);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *f = json_array_get(fields, i);
        const char *comment = json_string_value(json_object_get(f, "description"));
        char *type = schema_type_text(json_object_get(f, "type"));
        output_cell_int(o, json_integer_value(json_object_get(f, "id")));
        output_cell(o, json_string_value(json_object_get(f, "name")));
        output_cell(o, type);
        output_cell(o, comment == NULL ? "" : comment);
        free(type);
    }
    output_end(o);
}

static void describe_list(const char *label, const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    app_puts(label);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        app_puts(i > 0 ? ", " : "");
        app_puts(name == NULL ? "?" : name);
    }
    app_puts("\n");
}

static void describe(const pml_table *table, int64_t snapshot, const json_t *schema)
{
    char line[96];
    const char *key, *comment = json_string_value(json_object_get(schema, "comment"));
    const json_t *v;
    app_puts("path         ");
    app_puts(pml_table_path(table));
    if (snapshot < 0)
        (void)snprintf(line, sizeof line, "\nschema       %lld\nsnapshot     none\n",
                       (long long)pml_table_schema_id(table));
    else
        (void)snprintf(line, sizeof line, "\nschema       %lld\nsnapshot     %lld\n",
                       (long long)pml_table_schema_id(table), (long long)snapshot);
    app_puts(line);
    describe_list("partitions   ", json_object_get(schema, "partitionKeys"));
    describe_list("primary key  ", json_object_get(schema, "primaryKeys"));
    if (comment != NULL && comment[0] != '\0') {
        app_puts("comment      ");
        app_puts(comment);
        app_puts("\n");
    }
    json_object_foreach((json_t *)(uintptr_t)json_object_get(schema, "options"), key, v)
    {
        app_puts("option       ");
        app_puts(key);
        app_puts(" = ");
        app_puts(json_is_string(v) ? json_string_value(v) : "?");
        app_puts("\n");
    }
    app_puts("\n");
    describe_columns(schema);
}

static int run_describe(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *table = NULL;
    pml_text text = {0};
    int64_t snapshot = -1;
    json_t *schema = NULL;
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code != EXIT_OK)
        return code;
    int rc = pml_table_schema_json(&text, table, &err);
    if (rc == PML_OK)
        rc = pml_table_latest_snapshot(&snapshot, table, &err);
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    else if ((schema = json_loadb(text.ptr, text.len, 0, NULL)) == NULL)
        code = app_say(EXIT_ERROR, "the schema of %s is not JSON", pml_table_path(table));
    else
        describe(table, snapshot, schema);
    json_decref(schema);
    pml_text_clear(&text);
    pml_table_release(table);
    return code;
}

static const args_option describe_options[] = {
    {"branch", "NAME", "a branch of the table"}, OPTION_WAREHOUSE, {NULL, NULL, NULL}};

const command command_table_describe = {.name = "table describe",
                                        .operands = "TABLE",
                                        .operands_min = 1,
                                        .operands_max = 1,
                                        .summary = "Show a table's columns, keys, options and latest snapshot.",
                                        .examples = "  pml table describe flights\n"
                                                    "  pml table describe /data/warehouse/default.db/flights\n",
                                        .options = describe_options,
                                        .run = run_describe};

/* ---- list ---- */

static int run_list(struct app *app, const args *a)
{
    static const output_column columns[] = {{"table", false}};
    pml_error err = PML_ERROR_INIT;
    pml_catalog *catalog = NULL;
    pml_names names = {0};
    output_format format;
    int code = output_format_get(&format, a);
    if (code != EXIT_OK)
        return code;
    int rc = pml_catalog_open(&catalog, app->env, app_warehouse(a), &err);
    if (rc == PML_OK)
        rc = pml_catalog_tables(&names, catalog, &err);
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    else if (format == OUTPUT_TABLE) { /* one name a line, for people and for xargs */
        for (size_t i = 0; i < names.n; i++) {
            app_puts(names.v[i]);
            app_puts("\n");
        }
    } else {
        output *o = output_new(format, columns, 1);
        for (size_t i = 0; i < names.n; i++)
            output_cell(o, names.v[i]);
        output_end(o);
    }
    pml_names_clear(&names);
    if (catalog != NULL)
        pml_catalog_release(catalog);
    return code;
}

static const args_option list_options[] = {OPTION_WAREHOUSE, OPTION_FORMAT, {NULL, NULL, NULL}};

const command command_table_list = {.name = "table list",
                                    .operands = "",
                                    .summary = "List the tables of a warehouse.",
                                    .examples = "  pml table list\n"
                                                "  pml table list --warehouse /data/warehouse --format json\n",
                                    .options = list_options,
                                    .run = run_list};

/* ---- drop ---- */

/* From a path <warehouse>/<db>.db/<table> the two that the catalog wants; false for other paths. */
static bool path_to_name(const char *path, char **warehouse, char **name)
{
    char *real = realpath(path, NULL), *table, *database, *suffix;
    if (real == NULL)
        return false;
    bool good = (table = strrchr(real, '/')) != NULL && table != real;
    if (good) {
        *table++ = '\0';
        database = strrchr(real, '/');
        suffix = database == NULL ? NULL : strrchr(database, '.');
        good = suffix != NULL && strcmp(suffix, ".db") == 0 && suffix > database + 1;
    }
    if (good) {
        *database++ = '\0';
        *suffix = '\0';
        size_t n = strlen(database) + strlen(table) + 2;
        *name = app_alloc(n);
        (void)snprintf(*name, n, "%s.%s", database, table);
        *warehouse = app_strndup(real[0] == '\0' ? "/" : real, strlen(real[0] == '\0' ? "/" : real));
    }
    free(real);
    return good;
}

static int drop(struct app *app, const char *warehouse, const char *name)
{
    pml_error err = PML_ERROR_INIT;
    pml_catalog *catalog = NULL;
    int rc = pml_catalog_open(&catalog, app->env, warehouse, &err);
    if (rc == PML_OK)
        rc = pml_catalog_drop_table(catalog, name, &err);
    if (catalog != NULL)
        pml_catalog_release(catalog);
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}

static int run_drop(struct app *app, const args *a)
{
    const char *word = a->operand[0];
    char *path = NULL, *warehouse = NULL, *name = NULL;
    int code = app_table_path(&path, app, a, word);
    if (code == EXIT_OK && !app_is_table(path)) /* nothing but a table is ever removed */
        code = app_say(EXIT_NOT_FOUND, "there is no table in %s", path);
    if (code == EXIT_OK && !path_to_name(path, &warehouse, &name))
        code = app_say(EXIT_USAGE, "%s is not <warehouse>/<database>.db/<table>: remove the directory by hand", path);
    if (code == EXIT_OK)
        code = app_confirm(a, "%s and everything in it", path);
    if (code == EXIT_OK)
        code = drop(app, warehouse, name);
    free(name);
    free(warehouse);
    free(path);
    return code;
}

static const args_option drop_options[] = {OPTION_YES, OPTION_WAREHOUSE, {NULL, NULL, NULL}};

const command command_table_drop = {.name = "table drop",
                                    .operands = "TABLE",
                                    .operands_min = 1,
                                    .operands_max = 1,
                                    .summary = "Remove a table with all its data.",
                                    .examples = "  pml table drop flights\n"
                                                "  pml table drop staging.events --warehouse /data/warehouse --yes\n",
                                    .options = drop_options,
                                    .run = run_drop};
