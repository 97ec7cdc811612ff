/* SPDX-License-Identifier: Apache-2.0 */
/* How many runs, in files and in memory, one merge has at a time, and that the answer is the same however many they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_context.h"
#include "support/rows_kit.h"
#include "support/rt_kit.h"
#include "table/writer.h"

enum { KEYS = 4000, SECTION_KEYS = 100, FILE_ROWS = 5, OPEN_MAX = 512, FILES_MAX = 256 };

/* ---- a file system that counts the data files that are open ---- */

static struct {
    pml_file_system inner;
    void *open[OPEN_MAX];
    size_t n, most;
} files;

static int counting_open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    int rc = files.inner.open_read(ctx, file, path, err);
    if (rc == PML_OK && strstr(path, "/data-") != NULL) {
        assert_true(files.n < OPEN_MAX);
        files.open[files.n++] = *file;
        files.most = files.n > files.most ? files.n : files.most;
    }
    return rc;
}

static void counting_close_read(void *ctx, void *file)
{
    for (size_t i = 0; i < files.n; i++)
        if (files.open[i] == file) {
            files.open[i] = files.open[--files.n];
            break;
        }
    files.inner.close_read(ctx, file);
}

/* ---- a table, and what it must show ---- */

/* v of a key is that of its newest row, or the sum of all. */
typedef enum world_engine { NEWEST, SUM, BY_LEVELS } world_engine;

typedef struct world {
    rt_kit k; /* its table is ours */
    world_engine engine;
    int64_t next_v, values[KEYS];
    bool any[KEYS];
} world;

static world *open_world(world_engine engine, const char *more)
{
    static const char *const options[] = {"", ",\"merge-engine\":\"aggregation\",\"fields.v.aggregate-function\":\"sum\"", ",\"changelog-producer\":\"lookup\""};
    char json[600];
    world *w = calloc(1, sizeof *w);
    pml_file_system fs = rt_kit_fs();
    pml_error err = PML_ERROR_INIT;
    assert_non_null(w);
    files.inner = fs;
    fs.open_read = counting_open_read;
    fs.close_read = counting_close_read;
    w->engine = engine;
    w->next_v = 1;
    w->k.t = test_env_open(&fs);
    w->k.t->random_state = test_seed();
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"BIGINT\"}],\"partitionKeys\":[],"
                     "\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"bucket\":\"1\"%s%s}}",
                     options[engine], more);
    must_ok(pml_table_create(&w->k.table, w->k.t->env, test_path(w->k.t, "t"), json, (size_t)n, 0, &err), &err);
    must_ok(pml_commit_open(&w->k.commit, w->k.table, "fan-in", &err), &err);
    must_ok(pml_rt_context_open(&w->k.ctx, w->k.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->k.w, w->k.table, w->k.ctx, NULL, &err), &err);
    return w;
}

static void close_world(world *w)
{
    rt_kit_close(&w->k);
    assert_int_equal(files.n, 0);
    free(w);
}

/* Rows of these keys with new values. */
static void make_batch(struct ArrowArray *array, struct ArrowSchema *schema, world *w, const int64_t *ids, int64_t n)
{
    int64_t vs[64];
    assert_true(n <= 64);
    for (int64_t i = 0; i < n; i++) {
        int64_t *v = &w->values[ids[i]];
        vs[i] = w->next_v++;
        *v = w->engine == SUM ? *v + vs[i] : vs[i];
        w->any[ids[i]] = true;
    }
    struct ArrowArray c[2] = {test_fixed_array(8, n, ids), test_fixed_array(8, n, vs)};
    struct ArrowSchema f[2] = {test_field("l", "id", -1, false, 0, NULL), test_field("l", "v", -1, true, 0, NULL)};
    *array = test_struct_array(n, 2, c);
    *schema = test_struct(2, f);
}

static void write_live(world *w, const int64_t *ids, int64_t n)
{
    struct ArrowArray array;
    struct ArrowSchema schema;
    pml_error err = PML_ERROR_INIT;
    make_batch(&array, &schema, w, ids, n);
    must_ok(pml_rt_write(NULL, w->k.w, &array, &schema, NULL, &err), &err);
    schema.release(&schema);
}

/* What the read shows; most: data files that are open at once. */
static void must_show(world *w, pml_rt_context *ctx, size_t most)
{
    int64_t rows = 0, wanted = 0, last = -1;
    struct ArrowArray a = {0};
    pml_plan *plan = rows_plan(w->k.table, ctx, NULL);
    files.most = files.n;
    struct ArrowArrayStream s = rows_open(plan);
    while (rows_next(&s, &a)) {
        for (int64_t i = 0; i < a.length; i++, rows++) {
            int64_t id = ((const int64_t *)a.children[0]->buffers[1])[a.offset + a.children[0]->offset + i];
            int64_t v = ((const int64_t *)a.children[1]->buffers[1])[a.offset + a.children[1]->offset + i];
            if (id <= last || id >= KEYS || !w->any[id] || v != w->values[id])
                fail_msg("behind key %lld key %lld shows %lld, where %lld counts", (long long)last, (long long)id, (long long)v,
                         (long long)(id < KEYS ? w->values[id] : -1));
            last = id;
        }
    }
    for (size_t i = 0; i < KEYS; i++)
        wanted += w->any[i];
    assert_int_equal(rows, wanted);
    if (files.most > most)
        fail_msg("%zu data files were open at once, at most %zu may be", files.most, most);
}

/* The same under several bounds. */
static void must_show_by_steps(world *w, size_t inputs, size_t most)
{
    static const int32_t bounds[] = {2, 7, 128};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        int64_t before = rt_kit_metrics(&w->k).fanin_exceeded;
        w->k.ctx->options.rt_read_max_fanin = bounds[i];
        must_show(w, w->k.ctx, most);
        assert_int_equal(rt_kit_metrics(&w->k).fanin_exceeded > before, inputs > (size_t)bounds[i]);
    }
}

/* ---- files of any level ---- */

/* sections * runs files, those of one section over the same keys, one commit. The first are the oldest and of the highest levels, none of
   which is twice in a section; the others are of level 0. */
static void load(world *w, size_t sections, size_t runs)
{
    pml_messages *m[FILES_MAX];
    size_t n = sections * runs;
    pml_writer *writer;
    pml_error err = PML_ERROR_INIT;
    assert_true(n <= FILES_MAX && sections * SECTION_KEYS <= KEYS);
    must_ok(pml_writer_open(&writer, w->k.table, &err), &err);
    for (size_t i = 0; i < n; i++) {
        size_t section = i / runs, run = i % runs;
        int64_t first = (int64_t)section * SECTION_KEYS, ids[FILE_ROWS] = {first + 1, 0, 0, 0, first + SECTION_KEYS - 2};
        struct ArrowArray array;
        struct ArrowSchema schema;
        for (size_t k = 1; k + 1 < FILE_ROWS; k++)
            ids[k] = first + 2 + (int64_t)(test_random(w->k.t) % 20);
        make_batch(&array, &schema, w, ids, FILE_ROWS);
        must_ok(pml_writer_write(writer, &array, &schema, &err), &err);
        must_ok(pml_writer_prepare(&m[i], writer, &err), &err);
        schema.release(&schema);
        assert_int_equal(m[i]->n, 1);
        assert_int_equal(m[i]->v[0]->n, 1);
        int32_t highest = 5 - (int32_t)(section % 2);
        m[i]->v[0]->files[0].level = run < 3 && (run == 0 || run < runs / 2) ? highest - (int32_t)run : 0;
    }
    must_ok(pml_commit_run(NULL, w->k.commit, (pml_messages *const *)m, n, 1, NULL, &err), &err);
    for (size_t i = 0; i < n; i++)
        pml_messages_free(m[i]);
    pml_writer_close(writer);
}

/* Each a segment. */
static void write_memory_runs(world *w, int n)
{
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < n; i++) {
        int64_t ids[8];
        for (size_t k = 0; k < 8; k++)
            ids[k] = (int64_t)(test_random(w->k.t) % KEYS);
        write_live(w, ids, 8);
        must_ok(pml_rt_seal(w->k.w, &err), &err);
    }
}

/* 59a: 200 files in 20 key sections, levels mixed, and 10 runs in memory; one file a section; one section for all */
static void open_files_are_those_of_the_largest_section(void **state)
{
    (void)state;
    static const struct {
        size_t sections, runs, most;
        world_engine engine;
    } cases[] = {{20, 10, 10, NEWEST}, {20, 1, 1, NEWEST}, {1, 50, 50, NEWEST}, {20, 3, 3, SUM}, {1, 20, 20, SUM},
                 /* Levels above 0 are inputs of their own: a section may have one that the largest lacks. */
                 {8, 6, 7, BY_LEVELS}, {1, 20, 20, BY_LEVELS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world *w = open_world(cases[i].engine, "");
        load(w, cases[i].sections, cases[i].runs);
        must_show(w, NULL, cases[i].most);
        write_memory_runs(w, 10);
        must_show_by_steps(w, cases[i].most + 10, cases[i].most);
        close_world(w);
    }
}

/* 67: ten thousand writes of one row are few runs; then there are more segments than a merge may have inputs */
static void many_writes_of_one_row_are_few_runs(void **state)
{
    (void)state;
    for (int engine = NEWEST; engine <= SUM; engine++) {
        world *w = open_world((world_engine)engine, "");
        for (int i = 0; i < (engine == NEWEST ? 10000 : 1000); i++) {
            int64_t id = (int64_t)(test_random(w->k.t) % KEYS);
            write_live(w, &id, 1);
        }
        assert_in_range(rt_kit_metrics(&w->k).run_count, 2, 21);
        must_show(w, w->k.ctx, 0);
        assert_int_equal(rt_kit_metrics(&w->k).fanin_exceeded, 0);
        w->k.ctx->options.rt_read_max_fanin = 2;
        must_show(w, w->k.ctx, 0);
        write_memory_runs(w, 10); /* the first seal is that of all rows so far, too */
        assert_int_equal(rt_kit_metrics(&w->k).run_count, 10);
        must_show_by_steps(w, 10, 0);
        close_world(w);
    }
}

/* 67: a prepare of a segment with more runs than a merge may have inputs */
static void segments_of_many_runs_are_written_in_steps(void **state)
{
    (void)state;
    for (int engine = NEWEST; engine <= SUM; engine++) {
        world *w = open_world((world_engine)engine, ",\"realtime.memory.inline-merge-rows\":\"1\"");
        for (int i = 0; i < 12; i++) {
            int64_t ids[64];
            for (size_t k = 0; k < 64; k++)
                ids[k] = (int64_t)(test_random(w->k.t) % SECTION_KEYS);
            write_live(w, ids, 64);
        }
        assert_int_equal(rt_kit_metrics(&w->k).run_count, 12);
        must_show_by_steps(w, 12, 0);
        w->k.ctx->options.rt_read_max_fanin = 3;
        int64_t before = rt_kit_metrics(&w->k).fanin_exceeded;
        (void)rt_kit_cycle(&w->k, 1);
        assert_int_equal(rt_kit_metrics(&w->k).fanin_exceeded, before + 1);
        must_show(w, NULL, 1);
        close_world(w);
    }
}

/* Reads and prepares in steps of two, the n-th allocation failing: the rows stay, and the next try has them. */
static void steps_without_memory_leave_everything_as_it_was(void **state)
{
    (void)state;
    for (int engine = NEWEST; engine <= SUM; engine++) {
        world *w = open_world((world_engine)engine, ",\"realtime.memory.inline-merge-rows\":\"1\"");
        pml_rt_prepared *p = NULL;
        int rc = PML_E_NOMEM;
        for (int i = 0; i < 6; i++) {
            int64_t ids[64];
            for (size_t k = 0; k < 64; k++)
                ids[k] = (int64_t)(test_random(w->k.t) % SECTION_KEYS);
            write_live(w, ids, 64);
        }
        w->k.ctx->options.rt_read_max_fanin = 2;
        for (long long n = 1; rc != PML_OK; n += 1 + n / 16) {
            struct ArrowArrayStream s = {0};
            pml_plan *plan = NULL;
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(w->k.t, n);
            rc = rt_kit_try_plan(&plan, &w->k, w->k.ctx, -1, &err);
            if (rc == PML_OK)
                rc = pml_read_open(&s, plan, NULL, &err);
            for (bool more = rc == PML_OK; more;) {
                struct ArrowArray a = {0};
                rc = s.get_next(&s, &a) == 0 ? PML_OK : PML_E_NOMEM;
                more = a.release != NULL;
                if (more)
                    a.release(&a);
            }
            if (s.release != NULL)
                s.release(&s);
            pml_plan_free(plan);
            test_env_fail_at(w->k.t, 0);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        rc = PML_E_NOMEM;
        for (long long n = 1; rc != PML_OK; n += 1 + n / 8) {
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(w->k.t, n);
            rc = pml_rt_prepare(&p, w->k.w, 1, NULL, &err);
            test_env_fail_at(w->k.t, 0);
            assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        }
        (void)rt_kit_commit(&w->k, p);
        pml_rt_prepared_free(p);
        must_show(w, NULL, 1);
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_files_are_those_of_the_largest_section),
        cmocka_unit_test(many_writes_of_one_row_are_few_runs),
        cmocka_unit_test(segments_of_many_runs_are_written_in_steps),
        cmocka_unit_test(steps_without_memory_leave_everything_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
