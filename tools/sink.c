/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"

#include <string.h>

#include "arrow_text.h"
#include "output.h"

/* An unknown outcome is asked again: the same call tells what happened, or does the work. */
enum { COMMIT_TRIES = 5 };

/* Identifiers of one user must increase. */
static int next_identifier(int64_t *out, pml_table *table, const char *user, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int64_t last = 0, user_column = -1, identifier_column = -1;
    int rc = pml_table_snapshots(&stream, table, err);
    if (rc == PML_OK && stream.get_schema(&stream, &schema) != 0)
        rc = pml_stream_error(&stream, err);
    if (rc == PML_OK) {
        user_column = arrow_find(&schema, "commit_user");
        identifier_column = arrow_find(&schema, "commit_identifier");
    }
    while (rc == PML_OK && user_column >= 0 && identifier_column >= 0 &&
           (rc = output_next(&stream, &array, err)) == PML_OK && array.release != NULL) {
        for (int64_t row = 0; row < array.length; row++) {
            if (!arrow_string_equals(array.children[user_column], array.offset + row, user))
                continue;
            int64_t id = arrow_int64(array.children[identifier_column], array.offset + row);
            if (id > last && id != PML_COMMIT_IDENTIFIER_BATCH)
                last = id;
        }
        array.release(&array);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    *out = last + 1;
    return rc;
}

static int open_live(sink *s, struct app *app, pml_error *err)
{
    int rc = pml_rt_context_open(&s->context, app->env, NULL, err);
    if (rc == PML_OK)
        rc = pml_rt_writer_open(&s->live, s->table, s->context, NULL, err);
    if (rc == PML_OK) {
        status_file_open(&s->status, s->table);
        status_file_tick(&s->status, s->context);
    }
    return rc;
}

int sink_open(sink *s, struct app *app, pml_table *table, const char *user, bool live, pml_error *err)
{
    memset(s, 0, sizeof *s);
    s->table = table;
    s->identifier = 1;
    s->snapshot_id = -1;
    int rc = user == NULL ? PML_OK : next_identifier(&s->identifier, table, user, err);
    if (rc == PML_OK)
        rc = live ? open_live(s, app, err) : pml_writer_open(&s->writer, table, err);
    if (rc == PML_OK)
        rc = pml_commit_open(&s->commit, table, user, err);
    if (rc != PML_OK)
        sink_close(s);
    return rc;
}

int sink_write(sink *s, struct ArrowArray *array, const struct ArrowSchema *schema, pml_error *err)
{
    if (s->live == NULL)
        return pml_writer_write(s->writer, array, schema, err);
    int rc = pml_rt_write(NULL, s->live, array, schema, NULL, err);
    status_file_tick(&s->status, s->context);
    return rc;
}

static int commit_messages(pml_commit_result *r, sink *s, pml_messages **m, uint32_t flags, pml_error *err)
{
    pml_commit_options options = PML_COMMIT_OPTIONS_INIT;
    options.flags = flags;
    return s->overwrite ? pml_commit_overwrite(r, s->commit, s->spec, m, 1, s->identifier, &options, err)
                        : pml_commit_run(r, s->commit, m, 1, s->identifier, &options, err);
}

static int commit_plain(sink *s, pml_error *err)
{
    pml_messages *m = NULL;
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    int rc = pml_writer_prepare(&m, s->writer, err);
    if (rc == PML_OK && (pml_messages_rows(m) > 0 || s->overwrite)) {
        rc = commit_messages(&result, s, &m, 0, err);
        for (int i = 1; rc == PML_E_UNKNOWN_OUTCOME && i < COMMIT_TRIES; i++)
            rc = commit_messages(&result, s, &m, PML_COMMIT_CHECK, err);
        if (rc == PML_OK) {
            s->snapshot_id = result.snapshot_id;
            s->commits += result.snapshot_id >= 0;
            s->identifier++;
            if (s->overwrite && result.snapshot_id >= 0)
                overwrite_removed_get(&s->replaced, s->table, result.snapshot_id, pml_messages_rows(m), pml_messages_files(m));
            s->overwrite = false; /* later rows of the same run are added */
        } else if (rc != PML_E_UNKNOWN_OUTCOME) {
            (void)pml_commit_abort(s->commit, &m, 1, NULL); /* err keeps what went wrong first */
        }
    }
    pml_messages_free(m);
    return rc;
}

static int commit_live(sink *s, pml_error *err)
{
    pml_rt_prepared *p = NULL;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    size_t n = 0;
    int rc = pml_rt_prepare(&p, s->live, s->identifier, NULL, err);
    const pml_rt_entry *const *entries = rc == PML_OK ? pml_rt_prepared_get(&n, p) : NULL;
    if (rc == PML_OK && n > 0) {
        rc = pml_rt_commit(&result, s->commit, entries, n, s->identifier, NULL, err);
        for (int i = 1; rc == PML_E_UNKNOWN_OUTCOME && i < COMMIT_TRIES; i++)
            rc = pml_rt_commit(&result, s->commit, entries, n, s->identifier, NULL, err);
        if (rc == PML_OK) {
            s->snapshot_id = result.snapshot_id;
            s->commits++;
            s->identifier++;
        } else if (rc != PML_E_UNKNOWN_OUTCOME) {
            (void)pml_rt_progress_abort(s->commit, entries, n, NULL);
        }
    }
    pml_rt_prepared_free(p);
    status_file_tick(&s->status, s->context);
    return rc;
}

int sink_commit(sink *s, pml_error *err)
{
    return s->live != NULL ? commit_live(s, err) : commit_plain(s, err);
}

void sink_close(sink *s)
{
    if (s->live != NULL && pml_rt_writer_close(s->live, NULL) != PML_OK)
        pml_rt_writer_abort(s->live); /* rows of a failed ingest: they were never committed */
    s->live = NULL;
    status_file_remove(&s->status);
    if (s->writer != NULL)
        pml_writer_close(s->writer);
    s->writer = NULL;
    if (s->commit != NULL)
        pml_commit_close(s->commit);
    s->commit = NULL;
    if (s->context != NULL)
        pml_rt_context_close(s->context);
    s->context = NULL;
}
