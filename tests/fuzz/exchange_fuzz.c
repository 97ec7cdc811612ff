/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that travel between processes, changed as the input says (first byte: a split or a commit message, of a table with or without
 * a primary key; then fuzz_edit.c): a split is read over its table, messages are committed to it. They name data files, so an error
 * or another file's rows come out.
 */
#include <paimonlive/split.h>

#include "fuzz.h"
#include "support/random_batch.h"
#include "table/table.h"

FUZZ_MEMORY(256 * MIB);

enum { ROWS = 30, BATCHES_MAX = 64 };

static struct world {
    pml_table *table;
    pml_text split, message;
} worlds[2]; /* without a primary key, and with one */
static struct world *world; /* that of the input */

static void worlds_close(void)
{
    for (world = worlds; world < worlds + 2; world++) {
        pml_text_clear(&world->split);
        pml_text_clear(&world->message);
        pml_table_release(world->table);
    }
}

static pml_messages *write_rows(void)
{
    size_t n;
    pml_error err = PML_ERROR_INIT;
    const pml_field *fields = pml_table__fields(world->table, &n);
    struct ArrowSchema schema;
    struct ArrowArray batch;
    pml_writer *w;
    pml_messages *m;
    must_ok(pml_table_arrow_schema(&schema, world->table, &err), &err);
    random_batch(&batch, fuzz_env(), fields, n, ROWS);
    must_ok(pml_writer_open(&w, world->table, &err), &err);
    must_ok(pml_writer_write(w, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    schema.release(&schema);
    return m;
}

static int commit(pml_messages *m, int64_t identifier, uint32_t flags, pml_error *err)
{
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    o.flags = flags;
    must_ok(pml_commit_open(&c, world->table, "fuzz", err), err);
    int rc = pml_commit_run(&r, c, &m, 1, identifier, &o, err);
    pml_commit_close(c);
    return rc;
}

static int plan_new(pml_plan **plan, const pml_blob *split, pml_error *err)
{
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, world->table, err), err);
    int rc = split == NULL ? pml_scan_plan(plan, scan, err) : pml_plan_from_splits(plan, scan, split, 1, err);
    pml_scan_free(scan);
    return rc;
}

static void world_make(const char *path, const char *keys)
{
    char json[512];
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT%s},{\"name\":\"p\",\"type\":\"BOOLEAN%s},"
                     "{\"name\":\"s\",\"type\":\"STRING\"}],\"partitionKeys\":[\"p\"],\"primaryKeys\":[%s],"
                     "\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\"}}",
                     keys[0] == '\0' ? "\"" : " NOT NULL\"", keys[0] == '\0' ? "\"" : " NOT NULL\"", keys);
    must_ok(pml_table_create(&world->table, fuzz_env()->env, path, json, (size_t)n, 0, &err), &err);
    pml_messages *m = write_rows();
    must_ok(commit(m, 1, 0, &err), &err);
    pml_messages_free(m);
    must_ok(plan_new(&plan, NULL, &err), &err);
    must_ok(pml_plan_split_serialize(&world->split, plan, 0, &err), &err);
    pml_plan_free(plan);
    m = write_rows();
    must_ok(pml_messages_serialize(&world->message, m, 0, &err), &err);
    pml_messages_free(m);
}

static void worlds_make(void)
{
    fuzz_env()->random_state = 5;
    world = &worlds[0];
    world_make("/t", "");
    world = &worlds[1];
    world_make("/keyed", "\"p\",\"id\"");
    fuzz_fs_mark(fuzz_files());
    (void)atexit(worlds_close);
}

static void read_plan(pml_plan *plan)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    fuzz_must_be_answer(pml_plan_count(&rows, plan, &err), &err);
    int rc = pml_read_open(&stream, plan, NULL, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        fuzz_must_be_answer(fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, &err), &err);
}

static void use_split(pml_blob bytes)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    int rc = plan_new(&plan, &bytes, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK)
        return;
    read_plan(plan);
    pml_plan_free(plan);
}

static void use_message(int32_t version, pml_blob bytes)
{
    pml_error err = PML_ERROR_INIT;
    pml_messages *m;
    pml_plan *plan;
    int rc = pml_messages_deserialize(&m, world->table, version, &bytes, 1, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK)
        return;
    rc = commit(m, 2, PML_COMMIT_CHECK, &err);
    fuzz_must_be_answer(rc, &err);
    pml_messages_free(m);
    rc = plan_new(&plan, NULL, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK)
        return;
    read_plan(plan);
    pml_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    size_t changed_len;
    if (world == NULL)
        worlds_make();
    fuzz_begin();
    fuzz_fs_rewind(fuzz_files());
    fuzz_env()->random_state = 6;
    uint8_t head = fuzz_u8(&in);
    world = &worlds[head / 2 % 2];
    const pml_text *text = head % 2 == 0 ? &world->split : &world->message;
    uint8_t *changed = fuzz_edit(&changed_len, &in, (const uint8_t *)text->ptr, text->len);
    if (head % 2 == 0)
        use_split((pml_blob){changed, changed_len});
    else
        use_message(head < 240 ? PML_MESSAGE_VERSION : head % 16, (pml_blob){changed, changed_len});
    free(changed);
    fuzz_fs_rewind(fuzz_files());
    fuzz_end();
    return 0;
}
