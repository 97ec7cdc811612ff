/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

const demo_table table_flights = {
    "flights", "{\"fields\":["
               "{\"name\":\"year\",\"type\":\"INT\"},{\"name\":\"month\",\"type\":\"INT\"},"
               "{\"name\":\"day\",\"type\":\"INT\"},{\"name\":\"dep_time\",\"type\":\"INT\"},"
               "{\"name\":\"sched_dep_time\",\"type\":\"INT\"},{\"name\":\"dep_delay\",\"type\":\"INT\"},"
               "{\"name\":\"arr_time\",\"type\":\"INT\"},{\"name\":\"sched_arr_time\",\"type\":\"INT\"},"
               "{\"name\":\"arr_delay\",\"type\":\"INT\"},{\"name\":\"carrier\",\"type\":\"STRING\"},"
               "{\"name\":\"flight\",\"type\":\"INT\"},{\"name\":\"tailnum\",\"type\":\"STRING\"},"
               "{\"name\":\"origin\",\"type\":\"STRING\"},{\"name\":\"dest\",\"type\":\"STRING\"},"
               "{\"name\":\"air_time\",\"type\":\"INT\"},{\"name\":\"distance\",\"type\":\"INT\"},"
               "{\"name\":\"hour\",\"type\":\"INT\"},{\"name\":\"minute\",\"type\":\"INT\"},"
               "{\"name\":\"time_hour\",\"type\":\"TIMESTAMP(0) WITH LOCAL TIME ZONE\"},"
               "{\"name\":\"row_number\",\"type\":\"BIGINT\"}],"
               "\"partitionKeys\":[\"month\"],\"primaryKeys\":[],"
               "\"options\":{\"bucket\":\"4\",\"bucket-key\":\"flight\",\"realtime.enabled\":\"true\","
               "\"realtime.offset-mode\":\"external\"},"
               "\"comment\":\"flights from New York in 2013\"}"};

/* A report of a departure says as of when it is (dep_as_of), one of an arrival likewise. Of each group of columns the newest report
   counts, whenever it comes in. */
const demo_table table_flight_status = {
    "flight_status",
    "{\"fields\":["
    "{\"name\":\"month\",\"type\":\"INT NOT NULL\"},{\"name\":\"day\",\"type\":\"INT NOT NULL\"},"
    "{\"name\":\"carrier\",\"type\":\"STRING NOT NULL\"},{\"name\":\"flight\",\"type\":\"INT NOT NULL\"},"
    "{\"name\":\"origin\",\"type\":\"STRING NOT NULL\"},{\"name\":\"dest\",\"type\":\"STRING\"},"
    "{\"name\":\"sched_dep_time\",\"type\":\"INT\"},{\"name\":\"sched_arr_time\",\"type\":\"INT\"},"
    "{\"name\":\"distance\",\"type\":\"INT\"},{\"name\":\"dep_as_of\",\"type\":\"TIMESTAMP(0)\"},"
    "{\"name\":\"dep_time\",\"type\":\"INT\"},{\"name\":\"dep_delay\",\"type\":\"INT\"},"
    "{\"name\":\"tailnum\",\"type\":\"STRING\"},{\"name\":\"arr_as_of\",\"type\":\"TIMESTAMP(0)\"},"
    "{\"name\":\"arr_time\",\"type\":\"INT\"},{\"name\":\"arr_delay\",\"type\":\"INT\"},"
    "{\"name\":\"air_time\",\"type\":\"INT\"},{\"name\":\"row_number\",\"type\":\"BIGINT\"}],"
    "\"partitionKeys\":[\"month\"],"
    "\"primaryKeys\":[\"month\",\"day\",\"flight\",\"carrier\",\"origin\"],"
    "\"options\":{\"bucket\":\"2\",\"bucket-key\":\"flight\",\"merge-engine\":\"partial-update\","
    "\"fields.dep_as_of.sequence-group\":\"dep_time,dep_delay,tailnum\","
    "\"fields.arr_as_of.sequence-group\":\"arr_time,arr_delay,air_time\","
    "\"realtime.enabled\":\"true\",\"realtime.offset-mode\":\"external\"},"
    "\"comment\":\"flights from New York in 2013, as far as they are known\"}"};

static int table_path(pml_text *out, const demo_table *t, pml_env *env, const char *warehouse, pml_error *err)
{
    pml_catalog *catalog;
    int rc = pml_catalog_open(&catalog, env, warehouse, err);
    if (rc != PML_OK)
        return rc;
    rc = pml_catalog_table_path(out, catalog, t->name, err);
    pml_catalog_release(catalog);
    return rc;
}

int table_create(const demo_table *t, pml_env *env, const char *warehouse, pml_error *err)
{
    pml_catalog *catalog;
    pml_table *table = NULL;
    pml_text path = {0};
    int rc = pml_catalog_open(&catalog, env, warehouse, err);
    if (rc != PML_OK)
        return rc;
    rc = pml_catalog_drop_table(catalog, t->name, err);
    pml_catalog_release(catalog);
    if (rc == PML_OK || rc == PML_E_NOT_FOUND)
        rc = table_path(&path, t, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_table_create(&table, env, path.ptr, t->schema_json, strlen(t->schema_json), 0, err);
    pml_text_clear(&path);
    pml_table_release(table);
    return rc;
}

int table_open(pml_table **out, const demo_table *t, pml_env *env, const char *warehouse, pml_error *err)
{
    pml_text path = {0};
    *out = NULL;
    int rc = table_path(&path, t, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_table_open(out, env, path.ptr, NULL, err);
    pml_text_clear(&path);
    return rc;
}

int table_count(int64_t *rows, pml_table *table, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    *rows = 0;
    int rc = pml_scan_new(&scan, table, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_plan_count(rows, plan, err);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

/* ---- what a write wants ---- */

static void schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
}

static void field_release(struct ArrowSchema *field)
{
    field->release = NULL;
}

int table_write_schema(struct ArrowSchema *out, pml_table *table, pml_error *err)
{
    struct ArrowSchema of_table;
    *out = (struct ArrowSchema){0};
    int rc = pml_table_arrow_schema(&of_table, table, err);
    if (rc != PML_OK)
        return rc;
    int64_t n = of_table.n_children + 1;
    *out = (struct ArrowSchema){
        .format = "+s", .children = calloc((size_t)n, sizeof(struct ArrowSchema *)), .release = schema_release};
    for (int64_t i = 0; out->children != NULL && i < n; i++) {
        struct ArrowSchema *field = calloc(1, sizeof *field);
        if (field == NULL)
            break;
        if (i == 0) {
            *field = (struct ArrowSchema){.format = "l", .name = "_REALTIME_OFFSET", .release = field_release};
        } else {
            *field = *of_table.children[i - 1];
            of_table.children[i - 1]->release = NULL;
        }
        out->children[out->n_children++] = field;
    }
    of_table.release(&of_table);
    return out->n_children == n ? PML_OK : error_no_memory(err);
}
