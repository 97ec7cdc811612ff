/* SPDX-License-Identifier: Apache-2.0 */
#include "table/consumer.h"

#include <string.h>

#include "storage/file_io.h"

enum {
    CONSUMER_FILE_MAX = 16 * 1024 * 1024,
    CONSUMER_NAME_MAX = 255 - 9, /* "consumer-" in front of it */
    CONSUMER_TRIES = 10,         /* as often as Java */
    CONSUMER_WAIT_MS = 200
};

int pml_consumer__check_name(const char *name, pml_error *err)
{
    size_t n = strlen(name);
    if (n > 0 && n <= CONSUMER_NAME_MAX && strchr(name, '/') == NULL)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "'%.300s' is no name of a consumer: it has 1 to %d bytes and no '/'", name, CONSUMER_NAME_MAX);
}

int pml_consumer__parse(int64_t *next, pml_bytes text, const pml_json_source *src)
{
    json_t *json;
    PML_RETURN_IF(pml_json__parse(&json, text, CONSUMER_FILE_MAX, src));
    int rc = pml_json__get_int64(next, json, "nextSnapshot", INT64_MIN, INT64_MAX, src);
    json_decref(json);
    return rc;
}

static char *consumer_path(const pml_table *t, const char *name)
{
    return pml_env__format(t->env, "%s/consumer/consumer-%s", t->branch_root, name);
}

static int load_once(int64_t *next, pml_table *t, const char *path, pml_error *err)
{
    const pml_json_source src = {path, PML_PLACE_FILE, PML_E_CORRUPT, err};
    uint8_t *data = NULL;
    size_t len;
    int rc = pml_file__read_all(&data, &len, t->env, path, CONSUMER_FILE_MAX, err);
    if (rc == PML_OK)
        rc = pml_consumer__parse(next, (pml_bytes){data, len}, &src);
    pml_env__free(t->env, data);
    return rc;
}

int pml_consumer__load(int64_t *next, pml_table *t, const char *name, pml_error *err)
{
    int rc = PML_E_CORRUPT;
    char *path = consumer_path(t, name);
    if (path == NULL)
        return pml_error__no_memory(err);
    for (int i = 0; rc == PML_E_CORRUPT && i < CONSUMER_TRIES; i++) {
        if (i > 0)
            pml_env__sleep_ms(t->env, CONSUMER_WAIT_MS);
        *next = -1;
        rc = load_once(next, t, path, err);
    }
    pml_env__free(t->env, path);
    if (rc != PML_OK && rc != PML_E_NOT_FOUND)
        return rc;
    pml_error__clear(err); /* of the times before, too */
    return PML_OK;
}

int pml_consumer__store(pml_table *t, const char *name, int64_t next, pml_error *err)
{
    pml_buf text;
    pml_json_writer w;
    int rc;
    pml_buf__init(&text, t->env, CONSUMER_FILE_MAX);
    char *path = consumer_path(t, name);
    if (path == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    pml_json_writer__init(&w, &text);
    pml_json_writer__begin_object(&w);
    pml_json_writer__key(&w, "nextSnapshot");
    pml_json_writer__int64(&w, next);
    pml_json_writer__end_object(&w);
    if (text.rc != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    rc = pml_file__replace(t->env, path, text.data, text.len, err);
out:
    pml_buf__clear(&text);
    pml_env__free(t->env, path);
    return rc;
}
