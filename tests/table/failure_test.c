/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation and every file operation of every step of a table fails once: no leak, no crash, a truthful answer, and a
   table that is whole afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/sim_fs.h"
#include "support/table_kit.h"

typedef struct world {
    sim_fs *sim;
    faulty_fs f;
    test_env *t;
    table_kit k;
    pml_messages *m;   /* of the step under test */
    bool acknowledged; /* the step said PML_OK */
} world;

#define COLUMNS                                                                                      \
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"q\",\"type\":\"INT\"}," \
    "{\"name\":\"v\",\"type\":\"STRING\"}],\"primaryKeys\":[],\"comment\":\"\","
#define OPTIONS(more) "\"options\":{\"file.compression\":\"none\",\"manifest.merge-min-count\":\"2\"" more "}}"

static const char partitioned[] =
    COLUMNS "\"partitionKeys\":[\"q\"]," OPTIONS(",\"bucket\":\"2\",\"bucket-key\":\"id\"");
static const char plain[] = COLUMNS "\"partitionKeys\":[]," OPTIONS("");

static void world_open(world *w, const char *json)
{
    memset(w, 0, sizeof *w);
    w->sim = sim_fs_new();
    faulty_fs_init(&w->f, sim_fs_system(w->sim));
    w->t = test_env_open(&w->f.fs);
    table_kit_create(&w->k, w->t, "/t", json);
    (void)table_kit_append(&w->k, 8);
    (void)table_kit_append(&w->k, 8);
}

static void world_close(world *w)
{
    table_kit_must_read(&w->k, &(kit_read){0});
    table_kit_close(&w->k);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
    sim_fs_free(w->sim);
}

/* A step runs from the same start again and again; returns its code. */
typedef int (*step_fn)(world *w, pml_error *err);
/* Puts things right after a run, failed or not. */
typedef void (*after_fn)(world *w, int rc, const pml_error *err);

static bool is_known_code(int rc)
{
    return rc == PML_E_NOMEM || rc == PML_E_IO || rc == PML_E_UNKNOWN_OUTCOME || rc == PML_E_NO_SPACE ||
           rc == PML_E_SNAPSHOT_GONE;
}

static void check_failure(int rc, const pml_error *err)
{
    if (rc == PML_OK)
        return;
    if (!is_known_code(rc) || err->message[0] == '\0' || err->code != rc)
        fail_msg("code %d, in the error %d: '%s'", rc, err->code, err->message);
}

static long long fail_allocations(world *w, step_fn step, after_fn after, long long stride)
{
    long long n = 1;
    for (;;) {
        pml_error err = PML_ERROR_INIT;
        long long before = atomic_load(&w->t->count);
        test_env_fail_at(w->t, n);
        int rc = step(w, &err);
        bool reached = atomic_load(&w->t->count) - before >= n;
        test_env_fail_at(w->t, 0);
        check_failure(rc, &err);
        after(w, rc, &err);
        if (!reached)
            return n;
        n += n < 60 ? 1 : 1 + (long long)(test_random(w->t) % (uint64_t)stride);
    }
}

static void fail_operations(world *w, step_fn step, after_fn after, long long stride)
{
    static const struct {
        fault_mode mode;
        uint32_t flags;
    } modes[] = {{FAULT_BEFORE, PML_ERRF_NO_EFFECT}, {FAULT_BEFORE, 0}, {FAULT_AFTER, 0}};
    for (int i = 0; i < 3; i++)
        for (long long n = 1;; n += 1 + (long long)(test_random(w->t) % (uint64_t)stride)) {
            pml_error err = PML_ERROR_INIT;
            faulty_fs_reset(&w->f);
            faulty_fs_fail_at(&w->f, n, modes[i].mode, PML_E_IO, modes[i].flags);
            int rc = step(w, &err);
            bool failed = faulty_fs_failures(&w->f) > 0;
            faulty_fs_reset(&w->f);
            check_failure(rc, &err);
            after(w, rc, &err);
            if (!failed)
                break;
        }
}

/* ---- reading ---- */

static int step_open(world *w, pml_error *err)
{
    pml_table *t = NULL;
    int rc = pml_table_open(&t, w->t->env, "/t", NULL, err);
    assert_true((rc == PML_OK) == (t != NULL));
    pml_table_release(t);
    return rc;
}

static int step_plan(world *w, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    int rc;
    pml_predicate *leaf = NULL, *both = NULL;
    PML_TRY(pml_predicate_leaf(&leaf, w->k.table, "id", PML_OP_LT, &(pml_literal){"12", 2}, 1, err));
    rc = pml_predicate_and(&both, w->t->env, &leaf, 1, err);
    leaf = NULL;
    if (rc != PML_OK)
        goto out;
    PML_TRY(pml_scan_new(&scan, w->k.table, err));
    PML_TRY(pml_scan_set_columns(scan, (const char *[]){"v", "q"}, 2, err));
    PML_TRY(pml_scan_set_predicate(scan, both, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
out:
    pml_predicate_free(leaf);
    pml_predicate_free(both);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static int step_read(world *w, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch;
    const pml_value v = {.kind = PML_VALUE_INT, .i = 10};
    pml_value literals[] = {v};
    const pml_field *f = &w->k.fields[0];
    pml_pred leaf = {
        .op = PML_PRED_LT, .field_id = f->id, .type = &f->type, .name = f->name, .n_literals = 1, .literals = literals};
    const pml_predicate p = {.tree = &leaf};
    int64_t rows = 0;
    int rc;
    PML_TRY(pml_scan_new(&scan, w->k.table, err));
    PML_TRY(pml_scan_set_predicate(scan, &p, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(pml_plan_count(&rows, plan, err));
    assert_int_equal(rows, 10);
    PML_TRY(pml_read_open(&stream, plan, NULL, err));
    for (rows = 0;; rows += batch.length, batch.release(&batch)) {
        if (stream.get_next(&stream, &batch) != 0) {
            rc = pml_stream_error(&stream, err);
            goto out;
        }
        if (batch.release == NULL)
            break;
    }
    assert_int_equal(rows, 10);
out:
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static int step_inspect(world *w, pml_error *err)
{
    struct ArrowArrayStream a = {0}, b = {0};
    pml_text text = {0};
    int rc;
    PML_TRY(pml_table_snapshots(&a, w->k.table, err));
    PML_TRY(pml_table_files(&b, w->k.table, -1, err));
    PML_TRY(pml_table_schema_json(&text, w->k.table, err));
out:
    if (a.release != NULL)
        a.release(&a);
    if (b.release != NULL)
        b.release(&b);
    pml_text_clear(&text);
    return rc;
}

static void nothing(world *w, int rc, const pml_error *err)
{
    (void)w, (void)rc, (void)err;
}

static void steps_that_only_read_survive_every_failure(void **state)
{
    (void)state;
    static const step_fn steps[] = {step_open, step_plan, step_read, step_inspect};
    world w;
    world_open(&w, partitioned);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        assert_true(fail_allocations(&w, steps[i], nothing, 7) > 10);
        fail_operations(&w, steps[i], nothing, 1);
    }
    world_close(&w);
}

/* ---- creating ---- */

static int step_create(world *w, pml_error *err)
{
    pml_table *t = NULL;
    int rc = pml_table_create(&t, w->t->env, "/new/t", partitioned, strlen(partitioned), 0, err);
    assert_true((rc == PML_OK) == (t != NULL));
    pml_table_release(t);
    return rc;
}

static void after_create(world *w, int rc, const pml_error *err)
{
    pml_table *t = NULL;
    (void)err;
    int rc_open = pml_table_open(&t, w->t->env, "/new/t", NULL, NULL);
    pml_table_release(t);
    assert_true(rc != PML_OK || rc_open == PML_OK);
    assert_true(rc_open == PML_OK || rc_open == PML_E_NOT_FOUND);
    must_ok(pml_file__remove_tree(w->t->env, "/new", NULL), NULL);
}

static void create_survives_every_failure(void **state)
{
    (void)state;
    world w;
    world_open(&w, partitioned);
    assert_true(fail_allocations(&w, step_create, after_create, 3) > 10);
    fail_operations(&w, step_create, after_create, 1);
    world_close(&w);
}

/* ---- writing ---- */

static int step_write(world *w, pml_error *err)
{
    struct ArrowArray batch;
    const struct ArrowArray *from = &w->k.batches[w->k.n_batches - 1];
    long long fail_at = w->t->fail_at, count = atomic_load(&w->t->count);
    w->t->fail_at = 0; /* not while the input is made */
    must_ok(pml_batch__gather_rows(&batch, w->t->env, w->k.fields, w->k.n_fields, from, NULL, from->length, NULL),
            NULL);
    atomic_store(&w->t->count, count);
    w->t->fail_at = fail_at;
    return table_kit_try_prepare(&w->m, &w->k, &batch, err);
}

static int count_file(void *arg, const char *name, uint32_t kind)
{
    (void)name;
    if (kind == PML_FILE_REGULAR)
        ++*(int *)arg;
    return PML_OK;
}

static int data_files(world *w)
{
    static const char *const dirs[] = {"", "/q=-50", "/q=50", "/q=150", "/q=250", "/q=__DEFAULT_PARTITION__"};
    int n = 0;
    for (size_t i = 0; i < 6; i++)
        for (int b = 0; b < 2; b++) {
            char path[100];
            (void)snprintf(path, sizeof path, "/t%s/bucket-%d", dirs[i], b);
            (void)w->f.inner.list(w->f.inner.ctx, path, count_file, &n, NULL);
        }
    return n;
}

static int files_at_start;

static void after_write(world *w, int rc, const pml_error *err)
{
    pml_commit *c;
    (void)err;
    assert_true((rc == PML_OK) == (w->m != NULL));
    if (rc == PML_OK) {
        assert_int_equal(pml_messages_rows(w->m), w->k.batches[w->k.n_batches - 1].length);
        must_ok(pml_commit_open(&c, w->k.table, NULL, NULL), NULL);
        must_ok(pml_commit_abort(c, &w->m, 1, NULL), NULL);
        pml_commit_close(c);
    }
    pml_messages_free(w->m);
    w->m = NULL;
    /* A failed removal may leave a file behind; with honest failures of something else nothing stays. */
    assert_true(data_files(w) <= files_at_start + 1);
    files_at_start = data_files(w);
}

static void write_and_prepare_survive_every_failure(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        world w;
        struct ArrowArray batch;
        world_open(&w, i == 0 ? partitioned : plain);
        table_kit_batch(&batch, &w.k, 6);
        batch.release(&batch);
        w.k.absent[w.k.n_batches - 1] = true;
        files_at_start = data_files(&w);
        assert_true(fail_allocations(&w, step_write, after_write, 40) > 10);
        fail_operations(&w, step_write, after_write, 2);
        world_close(&w);
    }
}

/* ---- committing ---- */

static int64_t identifier;

static int64_t rows_now(world *w)
{
    pml_plan *plan;
    int64_t n;
    kit_plan(&plan, &w->k, &(kit_read){0});
    must_ok(pml_plan_count(&n, plan, NULL), NULL);
    pml_plan_free(plan);
    return n;
}

static int step_commit(world *w, pml_error *err)
{
    pml_commit *c = NULL;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    int rc;
    o.flags = identifier % 2 == 0 ? PML_COMMIT_CHECK : 0;
    PML_TRY(pml_commit_open(&c, w->k.table, "job", err));
    PML_TRY(pml_commit_run(&r, c, &w->m, 1, identifier, &o, err));
out:
    pml_commit_close(c);
    return rc;
}

static void after_commit(world *w, int rc, const pml_error *err)
{
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    pml_error own = PML_ERROR_INIT;
    size_t b = w->k.n_batches - 1;
    int64_t before = kit_expected_rows(&w->k, NULL, b), rows = rows_now(w);
    bool has = rows > before;
    assert_true(rows == before || rows == before + w->k.batches[b].length);
    assert_true(rc != PML_OK || has);
    assert_true(rc == PML_OK || rc == PML_E_UNKNOWN_OUTCOME || !has);
    (void)err;
    /* Called again it is committed exactly once. */
    o.flags = PML_COMMIT_CHECK;
    must_ok(pml_commit_open(&c, w->k.table, "job", &own), &own);
    must_ok(pml_commit_run(&r, c, &w->m, 1, identifier, &o, &own), &own);
    assert_int_equal(r.already_committed, has);
    pml_commit_close(c);
    pml_messages_free(w->m);
    assert_int_equal(rows_now(w), before + w->k.batches[b].length);
    w->m = table_kit_prepare(&w->k, 2);
    identifier++;
}

static void commit_survives_every_failure(void **state)
{
    (void)state;
    world w;
    identifier = 1;
    world_open(&w, plain);
    w.m = table_kit_prepare(&w.k, 2);
    assert_true(fail_allocations(&w, step_commit, after_commit, 60) > 10);
    fail_operations(&w, step_commit, after_commit, 4);
    pml_messages_free(w.m);
    w.k.absent[w.k.n_batches - 1] = true;
    world_close(&w);
}

/* ---- overwriting ---- */

static const pml_partition_spec everything = {0, NULL};

static int overwrite(pml_commit_result *r, world *w, uint32_t flags, pml_error *err)
{
    pml_commit *c = NULL;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    int rc;
    *r = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    o.flags = flags;
    PML_TRY(pml_commit_open(&c, w->k.table, "job", err));
    PML_TRY(pml_commit_overwrite(r, c, &everything, &w->m, 1, identifier, &o, err));
out:
    pml_commit_close(c);
    return rc;
}

static int step_overwrite(world *w, pml_error *err)
{
    pml_commit_result r;
    return overwrite(&r, w, 0, err);
}

static void after_overwrite(world *w, int rc, const pml_error *err)
{
    pml_commit_result r;
    pml_error own = PML_ERROR_INIT;
    size_t b = w->k.n_batches - 1;
    int64_t before = kit_expected_rows(&w->k, NULL, b), now = w->k.batches[b].length, rows = rows_now(w);
    bool has = rows == now;
    (void)err;
    assert_true(before != now && (rows == before || has)); /* all of the old rows or all of the new ones */
    assert_true(rc != PML_OK || has);
    assert_true(rc == PML_OK || rc == PML_E_UNKNOWN_OUTCOME || !has);
    must_ok(overwrite(&r, w, PML_COMMIT_CHECK, &own), &own);
    assert_int_equal(r.already_committed, has);
    pml_messages_free(w->m);
    for (size_t i = 0; i < b; i++)
        w->k.absent[i] = true;
    assert_int_equal(rows_now(w), now);
    (void)table_kit_append(&w->k, 3);
    w->m = table_kit_prepare(&w->k, 2);
    identifier++;
}

static void overwrite_survives_every_failure(void **state)
{
    (void)state;
    world w;
    identifier = 1;
    world_open(&w, partitioned);
    w.m = table_kit_prepare(&w.k, 2);
    assert_true(fail_allocations(&w, step_overwrite, after_overwrite, 90) > 10);
    fail_operations(&w, step_overwrite, after_overwrite, 6);
    pml_messages_free(w.m);
    w.k.absent[w.k.n_batches - 1] = true;
    world_close(&w);
}

static int step_drop(world *w, pml_error *err)
{
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    const pml_option_pair values[] = {{"q", "50"}};
    const pml_partition_spec spec = {1, values};
    int rc = pml_table_drop_partitions(&r, w->k.table, &spec, 1, err);
    return rc;
}

static void after_drop(world *w, int rc, const pml_error *err)
{
    int64_t rows = rows_now(w); /* the table can be read */
    (void)err;
    assert_true(rows > 0 && rows <= 16);
    assert_true(rc == PML_OK || rows > 0);
}

static void drop_of_a_partition_survives_every_failure(void **state)
{
    (void)state;
    world w;
    pml_arena arena;
    world_open(&w, partitioned);
    assert_true(fail_allocations(&w, step_drop, after_drop, 60) > 10);
    fail_operations(&w, step_drop, after_drop, 4);
    must_ok(step_drop(&w, NULL), NULL);
    pml_arena__init(&arena, w.t->env);
    const pml_value fifty = {.kind = PML_VALUE_INT, .i = 50};
    kit_read r = {.predicate = kit_leaf(&w.k, &arena, 1, PML_PRED_NE, &fifty, 1)};
    table_kit_must_read(&w.k, &r);
    r.predicate = kit_leaf(&w.k, &arena, 1, PML_PRED_IS_NULL, NULL, 0);
    table_kit_must_read(&w.k, &r);
    pml_messages *m = table_kit_prepare(&w.k, 1); /* so that the end of the world finds what it expects */
    pml_commit_result result;
    w.m = m;
    must_ok(overwrite(&result, &w, 0, NULL), NULL);
    pml_messages_free(m);
    for (size_t i = 0; i + 1 < w.k.n_batches; i++)
        w.k.absent[i] = true;
    pml_arena__clear(&arena);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_only_read_survive_every_failure),
        cmocka_unit_test(create_survives_every_failure),
        cmocka_unit_test(write_and_prepare_survive_every_failure),
        cmocka_unit_test(commit_survives_every_failure),
        cmocka_unit_test(overwrite_survives_every_failure),
        cmocka_unit_test(drop_of_a_partition_survives_every_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
