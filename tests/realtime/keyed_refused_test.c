/* SPDX-License-Identifier: Apache-2.0 */
/* 14g for tables with a primary key: what live rows of them do not have is refused by name, by the writer and by a scan with a context. */
#include <stdio.h>
#include <string.h>

#include "support/rt_kit.h"

typedef struct refused {
    const char *partition, *key, *options; /* JSON */
    const char *needs;
    bool read; /* a scan with a context is fine, since nothing can be written: there are never rows in memory */
} refused;

static const refused cases[] = {
    {"", "\"id\"", ",\"bucket\":\"-2\"", "needs bucket:postpone", true},
    {"\"p\"", "\"id\"", ",\"bucket\":\"-1\"", "needs cross-partition", false},
    {"", "\"f\"", ",\"bucket\":\"1\"", "needs key-of-type", false},
    {"", "\"id\",\"d\"", ",\"bucket\":\"1\"", "needs key-of-type", false},
    {"", "\"id\"", ",\"bucket\":\"1\",\"changelog-producer\":\"input\"", "needs changelog-producer:input", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"file.format\":\"orc\"", "needs format:orc", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"file.format\":\"avro\"", "needs format:avro", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"file.format.per.level\":\"0:avro\"", "needs file.format.per.level", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"file.compression.per.level\":\"0:lz4\"", "needs file.compression.per.level", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"deletion-vectors.enabled\":\"true\",\"pk-clustering-override\":\"true\",\"clustering.columns\":\"p\"",
     "needs pk-clustering-override", true},
    {"", "\"id\"", ",\"bucket\":\"1\",\"sequence.snapshot-ordering\":\"true\"", "needs sequence.snapshot-ordering", false},
    {"", "\"id\"", ",\"bucket\":\"1\",\"bucket-function.type\":\"hive\"", "needs bucket-function:hive", false},
    {"", "\"id\"", ",\"bucket\":\"1\",\"merge-engine\":\"aggregation\",\"fields.b.aggregate-function\":\"theta_sketch\"",
     "needs aggregator:theta_sketch", false},
};

static void create_and_ask(const refused *c, test_env *t, const char *name)
{
    char json[1400];
    pml_table *table;
    pml_scan *scan;
    pml_rt_context *ctx;
    pml_rt_writer *w = NULL;
    pml_error err = PML_ERROR_INIT;
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"INT NOT NULL\"},"
                     "{\"name\":\"f\",\"type\":\"FLOAT NOT NULL\"},{\"name\":\"d\",\"type\":\"DOUBLE NOT NULL\"},{\"name\":\"b\",\"type\":\"BYTES\"}],"
                     "\"partitionKeys\":[%s],\"primaryKeys\":[%s],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\"%s}}",
                     c->partition, c->key, c->options);
    int rc = pml_table_create(&table, t->env, test_path(t, name), json, (size_t)n, 0, &err);
    if (rc == PML_OK) {
        must_ok(pml_rt_context_open(&ctx, t->env, NULL, &err), &err);
        rc = pml_rt_writer_open(&w, table, ctx, NULL, &err);
        pml_rt_context_close(ctx);
    } else {
        table = NULL; /* not even made */
    }
    if (rc != PML_E_UNSUPPORTED || strstr(err.message, c->needs) == NULL)
        fail_msg("%s%s: expected '%s', got %s: %s", c->key, c->options, c->needs, pml_error_name(rc), err.message);
    if (table != NULL) {
        must_ok(pml_rt_context_open(&ctx, t->env, NULL, &err), &err);
        must_ok(pml_scan_new(&scan, table, &err), &err);
        rc = pml_scan_set_realtime(scan, ctx, &err);
        if (rc != (c->read ? PML_OK : PML_E_UNSUPPORTED) && strstr(err.message, c->needs) == NULL)
            fail_msg("a scan of %s%s with a context: %s: %s", c->key, c->options, pml_error_name(rc), err.message);
        pml_scan_free(scan);
        pml_rt_context_close(ctx);
    }
    pml_table_release(table);
}

static void tables_that_have_no_live_rows_with_keys_are_refused_by_name(void **state)
{
    (void)state;
    const pml_file_system fast = rt_kit_fs();
    test_env *t = test_env_open(&fast);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "t%zu", i);
        create_and_ask(&cases[i], t, name);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_have_no_live_rows_with_keys_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
