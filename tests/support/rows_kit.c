/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rows_kit.h"

#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"

void rows_commit(test_env *t, pml_table *table, const char *rows, void (*change)(pml_messages *m, void *arg), void *arg)
{
    static int number;
    char path[600];
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    pml_writer *writer;
    pml_messages *m;
    pml_commit *commit;
    (void)snprintf(path, sizeof path, "%s.rows-%d.jsonl", table->path, number++);
    must_ok(pml_file__publish(t->env, path, (const uint8_t *)rows, strlen(rows), 0, &err), &err);
    must_ok(pml_rows_open(&stream, table, path, NULL, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    must_ok(pml_writer_open(&writer, table, &err), &err);
    must_ok(pml_writer_write(writer, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    if (change != NULL)
        change(m, arg);
    must_ok(pml_commit_open(&commit, table, NULL, &err), &err);
    must_ok(pml_commit_run(NULL, commit, (pml_messages *const *)&m, 1, 1, NULL, &err), &err);
    pml_commit_close(commit);
    pml_messages_free(m);
    pml_writer_close(writer);
    schema.release(&schema);
    stream.release(&stream);
}

pml_plan *rows_plan(pml_table *table, pml_rt_context *ctx, const pml_predicate *condition)
{
    pml_scan *scan;
    pml_plan *plan;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, table, &err), &err);
    if (ctx != NULL)
        must_ok(pml_scan_set_realtime(scan, ctx, &err), &err);
    must_ok(pml_scan_set_predicate(scan, condition, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    return plan;
}

struct ArrowArrayStream rows_open(pml_plan *plan)
{
    struct ArrowArrayStream stream;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    pml_plan_free(plan); /* the stream goes on without it */
    return stream;
}

bool rows_next(struct ArrowArrayStream *stream, struct ArrowArray *batch)
{
    if (batch->release != NULL)
        batch->release(batch);
    if (stream->get_next(stream, batch) != 0)
        fail_msg("reading failed: %s", stream->get_last_error(stream));
    if (batch->release != NULL)
        return true;
    stream->release(stream);
    return false;
}

static int print_stream(pml_text *text, int64_t *n, pml_env *env, struct ArrowArrayStream *stream, int format, pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_rows_printer *printer = NULL;
    int64_t rows = 0;
    int rc;
    if (stream->get_schema(stream, &schema) != 0)
        PML_TRY(pml_stream_error(stream, err));
    PML_TRY(pml_rows_printer_new(&printer, env, &schema, format, err));
    for (;;) {
        struct ArrowArray batch;
        if (stream->get_next(stream, &batch) != 0)
            PML_TRY(pml_stream_error(stream, err));
        if (batch.release == NULL)
            break;
        rows += batch.length;
        rc = text == NULL ? PML_OK : pml_rows_print(text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        PML_TRY(rc);
    }
    if (n != NULL)
        *n += rows;
out:
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    stream->release(stream);
    return rc;
}

int rows_read(pml_text *text, int64_t *n, pml_plan *plan, const pml_read_options *options, int format, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    PML_RETURN_IF(pml_read_open(&stream, plan, options, err));
    return print_stream(text, n, plan->env, &stream, format, err);
}

int rows_show_stream(char *shown, size_t size, pml_env *env, struct ArrowArrayStream *stream, int format, pml_error *err)
{
    pml_text text = {0};
    int rc = print_stream(&text, NULL, env, stream, format, err);
    if (rc == PML_OK) {
        assert_true(text.len < size);
        (void)snprintf(shown, size, "%s", text.ptr == NULL ? "" : text.ptr);
    }
    pml_text_clear(&text);
    return rc;
}

int rows_show(char *shown, size_t size, pml_plan *plan, const pml_read_options *options, int format, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    PML_RETURN_IF(pml_read_open(&stream, plan, options, err));
    return rows_show_stream(shown, size, plan->env, &stream, format, err);
}
