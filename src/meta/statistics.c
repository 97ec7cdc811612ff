/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/statistics.h"

#include <string.h>

#include "meta/json.h"
#include "storage/file_io.h"

enum { STATISTICS_FILE_MAX = 64 * 1024 * 1024 };

int pml_statistics__inherit(const char **out, pml_arena *arena, pml_env *env, const char *table_path, const char *name,
                            int64_t schema_id)
{
    uint8_t *data = NULL;
    size_t len;
    json_t *json = NULL;
    int64_t made_with = -1;
    *out = NULL;
    if (name == NULL || strchr(name, '/') != NULL)
        return PML_OK;
    char *path = pml_env__format(env, "%s/statistics/%s", table_path, name);
    if (path == NULL)
        return PML_E_NOMEM;
    const pml_json_source src = {path, PML_PLACE_FILE, PML_E_CORRUPT, NULL};
    int rc = pml_file__read_all(&data, &len, env, path, STATISTICS_FILE_MAX, NULL);
    if (rc == PML_OK)
        rc = pml_json__parse(&json, (pml_bytes){data, len}, STATISTICS_FILE_MAX, &src);
    if (rc == PML_OK)
        rc = pml_json__get_int64(&made_with, json, "schemaId", 0, INT64_MAX, &src);
    if (rc == PML_OK && made_with == schema_id) {
        *out = pml_arena__strdup(arena, name);
        rc = *out == NULL ? PML_E_NOMEM : PML_OK;
    }
    json_decref(json);
    pml_env__free(env, data);
    pml_env__free(env, path);
    return rc == PML_E_NOMEM ? rc : PML_OK;
}
