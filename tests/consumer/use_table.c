/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of somebody else: C11 and C++17 alike, nothing but the installed headers. It makes a table, writes and commits a batch,
 * writes another one live, and reads both, before and after the commit of the second.
 *
 *     use_table DIRECTORY [LIBRARY...]      DIRECTORY must not exist; the libraries are opened first, for every later one to see
 *
 * It ends with the line "use_table: 6 rows with VERSION" when all is right.
 */
#include <paimonlive/paimonlive.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3 };

static pml_error err = PML_ERROR_INIT;

static void must(int rc, const char *what)
{
    if (rc == PML_OK)
        return;
    fprintf(stderr, "use_table: %s: %s: %s\n", what, pml_error_name(rc), err.message);
    exit(1);
}

static void expect(int64_t got, int64_t wanted, const char *what)
{
    if (got == wanted)
        return;
    fprintf(stderr, "use_table: %s is %lld, not %lld\n", what, (long long)got, (long long)wanted);
    exit(1);
}

/* ---- a batch (id BIGINT NOT NULL, city STRING) in Arrow's C structs, made by hand ---- */
typedef struct batch {
    int64_t ids[ROWS];
    int32_t ends[ROWS + 1];
    char text[4 * ROWS + 1];
    const void *id_buffers[2], *city_buffers[3], *row_buffers[1];
    struct ArrowArray id, city, *children[2];
} batch;

static void child_release(struct ArrowArray *array)
{
    array->release = NULL; /* its memory is the batch's */
}

static void batch_release(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    free(array->private_data);
    array->release = NULL;
}

static void child_fill(struct ArrowArray *array, const void **buffers, int64_t n_buffers)
{
    memset(array, 0, sizeof *array);
    array->length = ROWS;
    array->n_buffers = n_buffers;
    array->buffers = buffers;
    array->release = child_release;
}

static void batch_make(struct ArrowArray *out, int64_t first_id)
{
    batch *b = (batch *)calloc(1, sizeof *b);
    if (b == NULL)
        exit(1);
    memcpy(b->text, "OsloLimaRoma", sizeof b->text);
    for (int i = 0; i < ROWS; i++) {
        b->ids[i] = first_id + i;
        b->ends[i + 1] = 4 * (i + 1);
    }
    b->id_buffers[1] = b->ids;
    b->city_buffers[1] = b->ends;
    b->city_buffers[2] = b->text;
    child_fill(&b->id, b->id_buffers, 2);
    child_fill(&b->city, b->city_buffers, 3);
    b->children[0] = &b->id;
    b->children[1] = &b->city;
    child_fill(out, b->row_buffers, 1);
    out->n_children = 2;
    out->children = b->children;
    out->release = batch_release;
    out->private_data = b;
}

/* ---- reading ---- */
typedef struct seen {
    int64_t rows, id_sum, in_memory;
} seen;

static void read_all(seen *out, pml_plan *plan)
{
    pml_read_options options = PML_READ_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    out->rows = out->id_sum = 0;
    must(pml_read_open(&stream, plan, &options, &err), "read");
    for (;;) {
        if (stream.get_next(&stream, &array) != 0)
            must(pml_stream_error(&stream, &err), "next batch");
        if (array.release == NULL)
            break;
        const struct ArrowArray *id = array.children[0];
        const int64_t *ids = (const int64_t *)id->buffers[1] + id->offset + array.offset;
        for (int64_t i = 0; i < array.length; i++)
            out->id_sum += ids[i];
        out->rows += array.length;
        array.release(&array);
    }
    stream.release(&stream);
}

/* Rows with this city (NULL: all) that the table shows; context NULL: only those on disk. */
static seen look(pml_table *table, pml_rt_context *context, const char *city)
{
    static const char *const columns[] = {"id"};
    pml_scan *scan;
    pml_plan *plan;
    pml_predicate *predicate = NULL;
    seen out = {0, 0, 0};
    must(pml_scan_new(&scan, table, &err), "scan");
    must(pml_scan_set_columns(scan, columns, 1, &err), "columns");
    must(pml_scan_set_realtime(scan, context, &err), "context of a scan");
    if (city != NULL) {
        const pml_literal literal = {city, strlen(city)};
        must(pml_predicate_leaf(&predicate, table, "city", PML_OP_EQ, &literal, 1, &err), "predicate");
        must(pml_scan_set_predicate(scan, predicate, &err), "predicate of a scan");
    }
    must(pml_scan_plan(&plan, scan, &err), "plan");
    for (size_t i = 0; i < pml_plan_split_count(plan); i++) {
        pml_split_info info = PML_SPLIT_INFO_INIT;
        must(pml_plan_split_get(&info, plan, i, &err), "split");
        out.in_memory += info.rows_in_memory;
    }
    read_all(&out, plan);
    pml_plan_free(plan);
    pml_predicate_free(predicate);
    pml_scan_free(scan);
    return out;
}

/* ---- writing ---- */
static void write_and_commit(pml_table *table, const struct ArrowSchema *schema)
{
    struct ArrowArray array;
    pml_writer *writer;
    pml_messages *messages;
    pml_commit *commit;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    batch_make(&array, 1);
    must(pml_writer_open(&writer, table, &err), "writer");
    must(pml_writer_write(writer, &array, schema, &err), "write");
    must(pml_writer_prepare(&messages, writer, &err), "prepare");
    must(pml_commit_open(&commit, table, "use-table", &err), "commit handle");
    must(pml_commit_run(&result, commit, &messages, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, &err), "commit");
    expect(result.snapshot_id, 1, "the first snapshot");
    pml_commit_close(commit);
    pml_messages_free(messages);
    pml_writer_close(writer);
}

static void write_live(pml_env *env, pml_table *table, const struct ArrowSchema *schema)
{
    struct ArrowArray array;
    pml_rt_context *context;
    pml_rt_writer *writer;
    pml_rt_prepared *prepared;
    pml_commit *commit;
    pml_rt_write_result written = PML_RT_WRITE_RESULT_INIT;
    pml_rt_commit_result committed = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    batch_make(&array, 11);
    must(pml_rt_context_open(&context, env, NULL, &err), "context");
    must(pml_rt_writer_open(&writer, table, context, NULL, &err), "live writer");
    must(pml_rt_write(&written, writer, &array, schema, NULL, &err), "live write");
    expect(written.rows, ROWS, "the number of rows written live");
    expect(look(table, context, NULL).rows, 2 * ROWS, "the number of rows, live");
    expect(look(table, context, NULL).in_memory, ROWS, "the number of rows in memory");
    expect(look(table, context, "Lima").id_sum, 2 + 12, "the sum of ids, live, in Lima");
    expect(look(table, NULL, NULL).rows, ROWS, "the number of rows on disk");
    must(pml_rt_prepare(&prepared, writer, 1, NULL, &err), "live prepare");
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    must(pml_commit_open(&commit, table, "use-table-live", &err), "commit handle");
    must(pml_rt_commit(&committed, commit, entries, n, 1, NULL, &err), "live commit");
    expect(committed.snapshot_id, 2, "the second snapshot");
    expect(look(table, context, NULL).in_memory, 0, "the number of rows in memory after the commit");
    pml_rt_prepared_free(prepared);
    must(pml_rt_writer_close(writer, &err), "close the live writer");
    pml_commit_close(commit);
    pml_rt_context_close(context);
}

int main(int argc, char **argv)
{
    static const char text[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"city\",\"type\":\"STRING\"}],"
        "\"options\":{\"realtime.enabled\":\"true\"}}";
    if (argc < 2) {
        fprintf(stderr, "usage: use_table DIRECTORY [LIBRARY...]\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) == NULL) {
            fprintf(stderr, "use_table: %s\n", dlerror());
            return 1;
        }
    pml_env_options options = PML_ENV_OPTIONS_INIT;
    struct ArrowSchema schema;
    pml_env *env;
    pml_table *table;
    must(pml_env_new(&env, &options, &err), "environment");
    must(pml_table_create(&table, env, argv[1], text, strlen(text), 0, &err), "create table");
    must(pml_table_arrow_schema(&schema, table, &err), "schema");
    write_and_commit(table, &schema);
    write_live(env, table, &schema);
    const seen all = look(table, NULL, NULL);
    expect(all.id_sum, 1 + 2 + 3 + 11 + 12 + 13, "the sum of ids");
    schema.release(&schema);
    pml_table_release(table);
    pml_env_release(env);
    printf("use_table: %lld rows with %s\n", (long long)all.rows, pml_version());
    return 0;
}
