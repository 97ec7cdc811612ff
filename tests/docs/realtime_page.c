/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the code of docs/realtime.md: a writer that is killed, one that comes after it and needs a new context on its way, one whose
 * rows are in a store of its own.
 *
 *     realtime_page TABLE STORE.so
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "page.h"

#include "durable.inc"
#include "read.inc"
#include "replay.inc"

enum { ROWS = 1000, ROWS_BEFORE_KILL = 700 };
static const int64_t memory_bytes_wanted = 5000;

/* Comes as far as it may, and dies with rows that no commit covers. */
static void first_life(const char *path)
{
    source_t numbers = {0, ROWS_BEFORE_KILL}, *source = &numbers;
    int64_t identifier = 1;
#include "open.inc"
    expect(committed_end(table), 0);
#include "write.inc"
    expect(count_rows(table, context), ROWS_BEFORE_KILL);
    expect(count_rows(table, NULL) < ROWS_BEFORE_KILL, true);
    (void)raise(SIGKILL);
}

/* Takes up where the table is; loses its context once. */
static void second_life(const char *path, source_t *source)
{
    int64_t identifier = 1000;
    struct ArrowArray lost;
#include "open.inc"
    const int64_t end = committed_end(table);
    expect(end > 0 && end < ROWS_BEFORE_KILL, true);
    expect(count_rows(table, NULL), end);
    /* Rows are written, and the writer goes away with them: the context must be made anew. */
    source_seek(source, end);
    expect(source_next(source, &lost), true);
    must(pml_rt_write(NULL, writer, &lost, &schema, NULL, &err));
    pml_rt_writer_abort(writer);
    writer = NULL;
    int rc = pml_rt_writer_open(&writer, table, context, NULL, &err);
    expect(rc, PML_E_RECREATE);
#include "recreate.inc"
    expect(source->next, end);
    {
        struct ArrowArray rows;
        while (source_next(source, &rows))
            must(pml_rt_write(NULL, writer, &rows, &schema, NULL, &err));
    }
    expect(count_rows(table, context), ROWS);
#include "close.inc"
}

static void with_a_store(const char *path, const char *store_path)
{
    source_t more = {0, 16};
    struct ArrowArray rows;
    struct ArrowSchema schema;
    pml_env *env;
    pml_table *table;
    pml_rt_context *context;
    pml_rt_writer *writer;
    must(pml_env_new(&env, NULL, &err));
    must(pml_table_open(&table, env, path, NULL, &err));
    must(pml_table_arrow_schema(&schema, table, &err));
    expect(count_rows(table, NULL), ROWS);
#include "plugin.inc"
    must(pml_rt_writer_open(&writer, table, context, NULL, &err));
    expect(source_next(&more, &rows), true);
    must(pml_rt_write(NULL, writer, &rows, &schema, NULL, &err));
    expect(count_rows(table, context), ROWS + 16);
    pml_rt_writer_abort(writer);
    pml_rt_context_close(context);
    schema.release(&schema);
    pml_table_release(table);
    pml_env_release(env);
}

int main(int argc, char **argv)
{
    source_t source = {0, ROWS};
    pml_env *env;
    pml_table *table;
    int status;
    if (argc != 3)
        return 2;
    must(pml_env_new(&env, NULL, &err));
    page_table_create(&table, env, argv[1]);
    pml_table_release(table);
    pml_env_release(env);
    const pid_t child = fork();
    if (child == 0)
        first_life(argv[1]);
    expect(waitpid(child, &status, 0), child);
    expect(WIFSIGNALED(status), true);
    second_life(argv[1], &source);
    with_a_store(argv[1], argv[2]);
    puts("docs/realtime.md: every block was run");
    return 0;
}
