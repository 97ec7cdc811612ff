/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Avro containers and Parquet files: the input as a manifest, as a manifest list and as an index manifest; statistics and partitions of what comes
 * out. What was read can be written, and reads again as the same number of entries.
 */
#include "fuzz.h"
#include "meta/column_stats.h"
#include "meta/manifest.h"
#include "meta/partition.h"

/* One block decompressed, its records in the arena and in the reader. */
FUZZ_MEMORY(2 * (size_t)256 * MIB);

static pml_table_schema *schema;

/* A table that fits the manifests of the corpus more or less. */
static const pml_table_schema *the_schema(void)
{
    static const char json[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"name\",\"type\":\"STRING\"},"
        "{\"name\":\"amount\",\"type\":\"DECIMAL(12,2)\"},{\"name\":\"day\",\"type\":\"DATE\"},"
        "{\"name\":\"at\",\"type\":\"TIMESTAMP(6)\"},{\"name\":\"ratio\",\"type\":\"DOUBLE\"},{\"name\":\"p\",\"type\":\"INT\"}],"
        "\"partitionKeys\":[\"p\"],\"primaryKeys\":[],\"options\":{}}";
    pml_error err = PML_ERROR_INIT;
    if (schema == NULL)
        must_ok(pml_table_schema__parse_request(&schema, fuzz_env()->env, (pml_bytes){(const uint8_t *)json, sizeof json - 1}, &err),
                &err);
    return schema;
}

static void drop_schema(void)
{
    pml_table_schema__release(schema);
}

static void ask_entry(const pml_manifest_entry *e)
{
    pml_env *env = fuzz_env()->env;
    const pml_table_schema *s = the_schema();
    pml_error err = PML_ERROR_INIT;
    pml_value partition[1];
    pml_column_stats stats[8];
    pml_buf identity;
    FUZZ_CHECK(e->file.name != NULL, "a file without a name");
    fuzz_must_be_answer(pml_partition__decode(partition, s, e->partition, &err), &err);
    fuzz_must_be_answer(
        pml_column_stats__decode(stats, env, &e->file.value_stats, &e->file.value_stats_cols, s->fields, s->n_fields, &err), &err);
    pml_buf__init(&identity, env, 16 * MIB);
    (void)pml_manifest_entry__identity(&identity, e);
    pml_buf__clear(&identity);
}

static void read_manifest(pml_bytes file)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_manifest_entries entries = {0}, again = {0};
    pml_arena arena;
    uint8_t *bytes = NULL;
    size_t len;
    pml_arena__init(&arena, env);
    int rc = pml_manifest__decode(&entries, &arena, file, "manifest-x", NULL, NULL, &err);
    fuzz_must_name(rc, &err, "manifest-x");
    for (size_t i = 0; rc == PML_OK && i < entries.n; i++)
        ask_entry(&entries.v[i]);
    if (rc == PML_OK && entries.n < 1000) {
        rc = pml_manifest__encode(&bytes, &len, env, entries.v, entries.n, "null", 1, &err);
        fuzz_must_be_answer(rc, &err);
    }
    if (bytes != NULL) {
        must_ok(pml_manifest__decode(&again, &arena, (pml_bytes){bytes, len}, "manifest-y", NULL, NULL, &err), &err);
        FUZZ_CHECK(again.n == entries.n, "%zu entries became %zu", entries.n, again.n);
        pml_env__free(env, bytes);
    }
    pml_arena__clear(&arena);
}

static void read_list(pml_bytes file)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_manifest_list list = {0};
    pml_arena arena;
    uint8_t *bytes = NULL;
    size_t len;
    pml_arena__init(&arena, env);
    int rc = pml_manifest_list__decode(&list, &arena, file, "manifest-list-x", &err);
    fuzz_must_name(rc, &err, "manifest-list-x");
    if (rc == PML_OK && list.n < 1000) {
        fuzz_must_be_answer(pml_manifest_list__encode(&bytes, &len, env, list.v, list.n, "zstandard", 1, &err), &err);
        pml_env__free(env, bytes);
    }
    pml_arena__clear(&arena);
}

static void read_index(pml_bytes file)
{
    pml_error err = PML_ERROR_INIT;
    pml_index_entries index = {0};
    pml_arena arena;
    pml_arena__init(&arena, fuzz_env()->env);
    fuzz_must_name(pml_index_manifest__decode(&index, &arena, file, "index-manifest-x", &err), &err, "index-manifest-x");
    pml_arena__clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (schema == NULL) {
        (void)the_schema();
        (void)atexit(drop_schema);
    }
    if (len >= 3 && memcmp(data, "ORC", 3) == 0)
        return 0; /* its reader cannot stand forged files, and read.untrusted refuses them */
    fuzz_begin();
    read_manifest((pml_bytes){data, len});
    read_list((pml_bytes){data, len});
    read_index((pml_bytes){data, len});
    fuzz_end();
    return 0;
}
