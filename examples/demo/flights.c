/* SPDX-License-Identifier: Apache-2.0 */
#include "flights.h"

#include <string.h>

static const char schema_json[] =
    "{\"fields\":["
    "{\"name\":\"year\",\"type\":\"INT\"},{\"name\":\"month\",\"type\":\"INT\"},{\"name\":\"day\",\"type\":\"INT\"},"
    "{\"name\":\"dep_time\",\"type\":\"INT\"},{\"name\":\"sched_dep_time\",\"type\":\"INT\"},"
    "{\"name\":\"dep_delay\",\"type\":\"INT\"},{\"name\":\"arr_time\",\"type\":\"INT\"},"
    "{\"name\":\"sched_arr_time\",\"type\":\"INT\"},{\"name\":\"arr_delay\",\"type\":\"INT\"},"
    "{\"name\":\"carrier\",\"type\":\"STRING\"},{\"name\":\"flight\",\"type\":\"INT\"},"
    "{\"name\":\"tailnum\",\"type\":\"STRING\"},{\"name\":\"origin\",\"type\":\"STRING\"},"
    "{\"name\":\"dest\",\"type\":\"STRING\"},{\"name\":\"air_time\",\"type\":\"INT\"},"
    "{\"name\":\"distance\",\"type\":\"INT\"},{\"name\":\"hour\",\"type\":\"INT\"},"
    "{\"name\":\"minute\",\"type\":\"INT\"},"
    "{\"name\":\"time_hour\",\"type\":\"TIMESTAMP(0) WITH LOCAL TIME ZONE\"},"
    "{\"name\":\"row_number\",\"type\":\"BIGINT\"}],"
    "\"partitionKeys\":[\"month\"],\"primaryKeys\":[],"
    "\"options\":{\"bucket\":\"4\",\"bucket-key\":\"flight\",\"realtime.enabled\":\"true\","
    "\"realtime.offset-mode\":\"external\"},"
    "\"comment\":\"flights from New York in 2013\"}";

static int table_path(pml_text *out, pml_env *env, const char *warehouse, pml_error *err)
{
    pml_catalog *catalog;
    int rc = pml_catalog_open(&catalog, env, warehouse, err);
    if (rc != PML_OK)
        return rc;
    rc = pml_catalog_table_path(out, catalog, "flights", err);
    pml_catalog_release(catalog);
    return rc;
}

int flights_create(pml_env *env, const char *warehouse, pml_error *err)
{
    pml_catalog *catalog;
    pml_table *table = NULL;
    pml_text path = {0};
    int rc = pml_catalog_open(&catalog, env, warehouse, err);
    if (rc != PML_OK)
        return rc;
    rc = pml_catalog_drop_table(catalog, "flights", err);
    pml_catalog_release(catalog);
    if (rc == PML_OK || rc == PML_E_NOT_FOUND)
        rc = table_path(&path, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_table_create(&table, env, path.ptr, schema_json, strlen(schema_json), 0, err);
    pml_text_clear(&path);
    pml_table_release(table);
    return rc;
}

int flights_open(pml_table **out, pml_env *env, const char *warehouse, pml_error *err)
{
    pml_text path = {0};
    *out = NULL;
    int rc = table_path(&path, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_table_open(out, env, path.ptr, NULL, err);
    pml_text_clear(&path);
    return rc;
}

int flights_count(int64_t *rows, pml_table *table, pml_error *err)
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
