/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a live split, changed as the input says (fuzz_edit.c) and with the right checksum again: opening it shows the rows it
 * stood for, or is an error; its ticket lives on after the error. Then they are given up with their ticket.
 */
#include <paimonlive/realtime.h>

#include "fuzz.h"
#include "support/random_batch.h"
#include "table/table.h"
#include "util/crc32c.h"

FUZZ_MEMORY(256 * MIB);

enum { ROWS = 10 };

static struct {
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    pml_scan *scan;
    pml_plan *plan;
} world;

static void world_close(void)
{
    pml_plan_free(world.plan);
    pml_scan_free(world.scan);
    pml_rt_writer_abort(world.w);
    pml_rt_context_close(world.ctx);
    pml_table_release(world.table);
}

static void write_rows(void)
{
    size_t n;
    pml_error err = PML_ERROR_INIT;
    const pml_field *fields = pml_table__fields(world.table, &n);
    struct ArrowSchema schema;
    struct ArrowArray batch;
    must_ok(pml_table_arrow_schema(&schema, world.table, &err), &err);
    random_batch(&batch, fuzz_env(), fields, n, ROWS);
    must_ok(pml_rt_write(NULL, world.w, &batch, &schema, NULL, &err), &err);
    schema.release(&schema);
    if (batch.release != NULL)
        batch.release(&batch);
}

static void world_make(void)
{
    static const char json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"STRING\"}],"
                               "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{\"realtime.enabled\":\"true\"}}";
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    pml_commit *c;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    fuzz_env()->random_state = 3;
    must_ok(pml_table_create(&world.table, env, "/t", json, sizeof json - 1, 0, &err), &err);
    must_ok(pml_rt_context_open(&world.ctx, env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&world.w, world.table, world.ctx, NULL, &err), &err);
    write_rows();
    must_ok(pml_rt_prepare(&p, world.w, 1, NULL, &err), &err);
    must_ok(pml_commit_open(&c, world.table, "fuzz", &err), &err);
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_commit(&r, c, entries, n, 1, NULL, &err), &err);
    pml_rt_prepared_free(p);
    pml_commit_close(c);
    write_rows();
    must_ok(pml_scan_new(&world.scan, world.table, &err), &err);
    must_ok(pml_scan_set_realtime(world.scan, world.ctx, &err), &err);
    must_ok(pml_scan_plan(&world.plan, world.scan, &err), &err);
    (void)atexit(world_close);
}

static void open_split(const uint8_t *bytes, size_t len)
{
    const pml_blob blob = {bytes, len};
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    pml_plan *plan;
    int64_t rows;
    int rc = pml_rt_split_deserialize(&plan, world.scan, &blob, 1, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK)
        return;
    rc = pml_read_open(&stream, plan, NULL, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        fuzz_must_be_answer(fuzz_drain(&stream, PML_CHECK_FULL, 64, &rows, &err), &err);
    pml_plan_free(plan);
}

/* The table of tickets keeps its memory from the first one on. */
static void draw_one(void)
{
    pml_error err = PML_ERROR_INIT;
    pml_text split = {0};
    must_ok(pml_rt_split_serialize(&split, world.plan, pml_plan_split_count(world.plan) - 1, &err), &err);
    const pml_blob blob = {split.ptr, split.len};
    must_ok(pml_rt_split_release_ticket(world.ctx, &blob, &err), &err);
    pml_text_clear(&split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_error err = PML_ERROR_INIT;
    pml_text split = {0};
    size_t changed_len;
    if (world.table == NULL) {
        world_make();
        draw_one();
    }
    fuzz_begin();
    must_ok(pml_rt_split_serialize(&split, world.plan, pml_plan_split_count(world.plan) - 1, &err), &err);
    uint8_t *changed = fuzz_edit(&changed_len, &in, (const uint8_t *)split.ptr, split.len);
    if (changed_len >= 4)
        pml_put_be32(changed + changed_len - 4, pml_crc32c(0, changed, changed_len - 4));
    open_split(changed, changed_len);
    const pml_blob blob = {changed, changed_len}, good = {split.ptr, split.len};
    fuzz_must_be_answer(pml_rt_split_release_ticket(world.ctx, &blob, &err), &err);
    must_ok(pml_rt_split_release_ticket(world.ctx, &good, &err), &err);
    pml_text_clear(&split);
    free(changed);
    fuzz_end();
    return 0;
}
