/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live table in one page: rows are counted before they are committed, then committed, then counted again by a plain reader.
 *
 *     live_table DIRECTORY [STORE.so]       DIRECTORY must not exist yet; STORE.so keeps the rows instead of the memory store
 *
 * Build it against an installed library: cc live_table.c $(pkg-config --cflags --libs paimonlive)
 */
#include <paimonlive/paimonlive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pml_error err = PML_ERROR_INIT;

static void must(int rc, const char *what)
{
    if (rc == PML_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, pml_error_name(rc), err.message);
    exit(1);
}

/* context NULL: what everybody sees; else with the rows that are only in memory. */
static int64_t count(pml_table *table, pml_rt_context *context)
{
    pml_scan *scan;
    pml_plan *plan;
    int64_t rows;
    must(pml_scan_new(&scan, table, &err), "scan");
    must(pml_scan_set_realtime(scan, context, &err), "set_realtime");
    must(pml_scan_plan(&plan, scan, &err), "plan");
    must(pml_plan_count(&rows, plan, &err), "count");
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rows;
}

/* Writes all rows of a file through the live writer. */
static void write_file(pml_rt_writer *writer, pml_table *table, const char *path)
{
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    must(pml_rows_open(&rows, table, path, NULL, &err), "open rows");
    must(pml_table_arrow_schema(&schema, table, &err), "schema");
    for (;;) {
        if (rows.get_next(&rows, &batch) != 0)
            must(pml_stream_error(&rows, &err), "read rows");
        if (batch.release == NULL)
            break;
        must(pml_rt_write(NULL, writer, &batch, &schema, NULL, &err), "write");
    }
    schema.release(&schema);
    rows.release(&rows);
}

int main(int argc, char **argv)
{
    static const char table_schema[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"city\",\"type\":\"STRING\"}],"
        "\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\",\"realtime.enabled\":\"true\"}}";
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: live_table DIRECTORY [STORE.so]\n");
        return 2;
    }
    pml_env *env;
    pml_table *table;
    must(pml_env_new(&env, NULL, &err), "env");
    must(pml_table_create(&table, env, argv[1], table_schema, strlen(table_schema), 0, &err), "create table");

    char path[4096];
    snprintf(path, sizeof path, "%s/input.jsonl", argv[1]);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 1;
    for (int i = 0; i < 1000; i++)
        fprintf(f, "{\"id\":%d,\"city\":\"%s\"}\n", i, i % 3 == 0 ? "Oslo" : "Lima");
    fclose(f);

    pml_rt_context *context;
    pml_rt_writer *writer;
    char store[PML_RT_PLUGIN_NAME_SIZE] = "memory";
    if (argc == 3)
        must(pml_rt_plugin_load(store, env, argv[2], &err), "load the store");
    const pml_option_pair store_option = {"realtime.store", store};
    pml_rt_context_options context_options = PML_RT_CONTEXT_OPTIONS_INIT;
    context_options.options = &store_option;
    context_options.n_options = 1;
    must(pml_rt_context_open(&context, env, &context_options, &err), "context");
    must(pml_rt_writer_open(&writer, table, context, NULL, &err), "writer");
    write_file(writer, table, path);
    printf("written, not committed: %lld rows live, %lld on disk\n", (long long)count(table, context), (long long)count(table, NULL));

    pml_rt_prepared *prepared;
    pml_commit *commit;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    must(pml_rt_prepare(&prepared, writer, 1, NULL, &err), "prepare");
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    must(pml_commit_open(&commit, table, "live-table-example", &err), "commit handle");
    must(pml_rt_commit(&result, commit, entries, n, 1, NULL, &err), "commit");
    printf("committed as snapshot %lld: %lld rows live, %lld on disk\n", (long long)result.snapshot_id,
           (long long)count(table, context), (long long)count(table, NULL));

    pml_rt_prepared_free(prepared);
    must(pml_rt_writer_close(writer, &err), "close writer");
    pml_rt_context_close(context);
    pml_commit_close(commit);
    pml_table_release(table);
    pml_env_release(env);
    return 0;
}
