/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures under live rows with keys, for each merge engine: one life of writes, seal, prepare, commit, advance and union reads, in
 * which the n-th allocation or file operation fails, and what failed is asked for again; and in which the process is killed before the
 * n-th change to files, and another one replays the source from the recorded end. In the end the table shows what an undisturbed life
 * shows. Keys repeat within and over batches, so that every row lost or doubled shows in sums. STRIDE=1 tries every n.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paimonlive/rows.h>

#include "support/faulty_fs.h"
#include "support/rt_kit.h"

enum { BATCHES = 6, ROWS = 7, KEYS = 5, COLUMNS = 5, TRIES = 4 };

typedef struct variant {
    const char *name, *options;
    bool deletes; /* what a delete does does not hang on which rows are flushed together */
} variant;

static const variant variants[] = {
    {"deduplicate", "", true},
    {"sequence.field", ",\"sequence.field\":\"s\"", true},
    {"aggregation", ",\"merge-engine\":\"aggregation\",\"fields.a.aggregate-function\":\"sum\",\"fields.b.aggregate-function\":\"listagg\"", false},
    {"partial-update", ",\"merge-engine\":\"partial-update\",\"fields.s.sequence-group\":\"a\",\"fields.a.aggregate-function\":\"sum\"", false},
    {"first-row", ",\"merge-engine\":\"first-row\"", false},
    {"lookup", ",\"merge-engine\":\"aggregation\",\"changelog-producer\":\"lookup\",\"fields.a.aggregate-function\":\"sum\"", false},
    {"deletion vectors", ",\"deletion-vectors.enabled\":\"true\"", true},
};

typedef struct life {
    test_env *t;
    pml_table *table;
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_rt_writer *w;
} life;

static void create(test_env *t, const char *path, const variant *v)
{
    char json[1200];
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"s\",\"type\":\"INT\"},{\"name\":\"a\",\"type\":\"INT\"},"
                     "{\"name\":\"b\",\"type\":\"STRING\"}],\"partitionKeys\":[],\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{"
                     "\"realtime.enabled\":\"true\",\"realtime.offset-mode\":\"external\",\"bucket\":\"1\"%s}}",
                     v->options);
    must_ok(pml_table_create(&table, t->env, path, json, (size_t)n, 0, &err), &err);
    pml_table_release(table);
}

static life start(test_env *t, const char *path)
{
    life l = {.t = t};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table_open(&l.table, t->env, path, NULL, &err), &err);
    must_ok(pml_commit_open(&l.commit, l.table, "life", &err), &err);
    must_ok(pml_rt_context_open(&l.ctx, t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&l.w, l.table, l.ctx, NULL, &err), &err);
    return l;
}

static void end(life *l)
{
    pml_rt_writer_abort(l->w);
    pml_rt_context_close(l->ctx);
    pml_commit_close(l->commit);
    pml_table_release(l->table);
}

/* Row i of the source has offset i; its values follow from i. */
static int write_batch(life *l, int number, const variant *v, pml_error *err)
{
    int64_t offsets[ROWS], ids[ROWS];
    int32_t s[ROWS], a[ROWS];
    int8_t kinds[ROWS];
    const char *b[ROWS];
    for (int i = 0; i < ROWS; i++) {
        int row = number * ROWS + i;
        offsets[i] = row;
        ids[i] = row * 7 % KEYS + row % 2;
        s[i] = row * 13 % 11;
        a[i] = 1 << (row % 20);
        b[i] = row % 3 == 0 ? "x" : "yy";
        kinds[i] = v->deletes && row % 5 == 4 ? 3 : 0;
    }
    struct ArrowArray c[] = {test_fixed_array(8, ROWS, offsets), test_fixed_array(8, ROWS, ids), test_fixed_array(4, ROWS, s),
                             test_fixed_array(4, ROWS, a), test_text_array(ROWS, b)};
    struct ArrowSchema f[] = {test_field("l", "_REALTIME_OFFSET", -1, false, 0, NULL), test_field("l", "id", -1, false, 0, NULL),
                              test_field("i", "s", -1, true, 0, NULL), test_field("i", "a", -1, true, 0, NULL),
                              test_field("u", "b", -1, true, 0, NULL)};
    struct ArrowArray batch = test_struct_array(ROWS, COLUMNS, c);
    struct ArrowSchema schema = test_struct(COLUMNS, f);
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    o.row_kinds = kinds;
    int rc = pml_rt_write(NULL, l->w, &batch, &schema, &o, err);
    if (batch.release != NULL)
        batch.release(&batch);
    schema.release(&schema);
    assert_true(rc == PML_OK || (err->flags & PML_ERRF_NO_EFFECT) != 0);
    return rc;
}

/* All rows as lines, in order of keys: reads of one bucket come sorted. Malloc'ed. */
static int answer(char **out, life *l, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream s = {0};
    struct ArrowSchema schema = {0};
    pml_rows_printer *p = NULL;
    pml_text text = {0};
    *out = NULL;
    int rc = pml_scan_new(&scan, l->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, l->ctx, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&s, plan, NULL, err);
    if (rc == PML_OK && s.get_schema(&s, &schema) != 0)
        rc = PML_E_NOMEM;
    if (rc == PML_OK)
        rc = pml_rows_printer_new(&p, l->t->env, &schema, PML_ROWS_JSON, err);
    for (bool more = rc == PML_OK; more;) {
        struct ArrowArray batch = {0};
        if (s.get_next(&s, &batch) != 0)
            rc = PML_E_IO;
        more = rc == PML_OK && batch.release != NULL;
        if (more)
            rc = pml_rows_print(&text, p, &batch, 0, batch.length, err);
        if (batch.release != NULL)
            batch.release(&batch);
        more = more && rc == PML_OK;
    }
    if (rc == PML_OK) {
        *out = calloc(1, text.len + 1);
        assert_non_null(*out);
        if (text.len > 0)
            memcpy(*out, text.ptr, text.len);
    }
    pml_text_clear(&text);
    pml_rows_printer_free(p);
    if (schema.release != NULL)
        schema.release(&schema);
    if (s.release != NULL)
        s.release(&s);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

/* ---- a life ---- */

typedef struct story {
    const variant *v;
    int next; /* batch */
    pml_rt_prepared *p;
    int64_t identifier, snapshot;
    char *shown;
} story;

static int step(life *l, story *s, char what, pml_error *err)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    const pml_rt_entry *const *entries;
    size_t n;
    int rc = PML_OK;
    switch (what) {
    case 'w':
        rc = write_batch(l, s->next, s->v, err);
        s->next += rc == PML_OK;
        break;
    case 's': rc = pml_rt_seal(l->w, err); break;
    case 'p': rc = pml_rt_prepare(&s->p, l->w, s->identifier, NULL, err); break;
    case 'c':
        entries = pml_rt_prepared_get(&n, s->p);
        if (n > 0) /* else everything was recorded before */
            rc = pml_rt_commit(&r, l->commit, entries, n, s->identifier, NULL, err);
        if (rc != PML_OK)
            break;
        s->snapshot = n > 0 ? r.snapshot_id : s->snapshot;
        s->identifier++;
        pml_rt_prepared_free(s->p);
        s->p = NULL;
        break;
    case 'a': rc = pml_rt_advance(l->ctx, s->snapshot, err); break;
    default:
        free(s->shown);
        rc = answer(&s->shown, l, err);
        break;
    }
    return rc;
}

/* What fails is asked for again. Returns the last answer; free() it. */
static char *live(life *l, const variant *v, int first)
{
    story s = {.v = v, .next = first, .identifier = 10 + first};
    for (const char *at = "wrwswprwrcarwpwrcar"; *at != '\0'; at++) {
        int rc = PML_E_IO;
        for (int tries = 0; rc != PML_OK && tries < TRIES; tries++) {
            pml_error err = PML_ERROR_INIT;
            if ((*at == 'w' && s.next == BATCHES) || (*at == 'a' && s.snapshot == 0))
                break; /* a life that began later */
            rc = step(l, &s, *at, &err);
            if (rc != PML_OK && rc != PML_E_NOMEM && rc != PML_E_IO && rc != PML_E_UNKNOWN_OUTCOME)
                fail_msg("%s: step '%c' of %s failed with %s: %s", v->name, *at, "its life", pml_error_name(rc), err.message);
        }
    }
    assert_int_equal(s.next, BATCHES);
    return s.shown;
}

static char *undisturbed(const variant *v)
{
    const pml_file_system fast = rt_kit_fs();
    test_env *t = test_env_open(&fast);
    create(t, test_path(t, "t"), v);
    life l = start(t, test_path(t, "t"));
    char *shown = live(&l, v, 0);
    end(&l);
    test_env_close(t);
    assert_non_null(shown);
    return shown;
}

static void must_be(const variant *v, const char *how, int64_t at, const char *shown, const char *wanted)
{
    if (strcmp(shown, wanted) != 0)
        fail_msg("%s: %s %lld failed, and then it showed\n%swhere an undisturbed life shows\n%s", v->name, how, (long long)at, shown, wanted);
}

/* ---- the loops ---- */

static void lives_with_a_failing_allocation(void **state)
{
    (void)state;
    int64_t stride = test_setting("STRIDE", 997, 1, 1000000);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        char *wanted = undisturbed(&variants[i]);
        bool reached = true;
        for (int64_t at = 1 + (int64_t)i * 29; reached; at += stride) {
            const pml_file_system fast = rt_kit_fs();
            test_env *t = test_env_open(&fast);
            create(t, test_path(t, "t"), &variants[i]);
            life l = start(t, test_path(t, "t"));
            test_env_fail_at(t, at);
            char *shown = live(&l, &variants[i], 0);
            reached = test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            must_be(&variants[i], "allocation", at, shown, wanted);
            free(shown);
            end(&l);
            test_env_close(t);
        }
        free(wanted);
    }
}

static void lives_with_a_failing_file_operation(void **state)
{
    (void)state;
    int64_t stride = test_setting("STRIDE", 23, 1, 1000000);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        char *wanted = undisturbed(&variants[i]);
        for (int mode = FAULT_BEFORE; mode <= FAULT_AFTER; mode++) {
            bool reached = true;
            for (int64_t at = 1 + (int64_t)i; reached; at += stride) {
                faulty_fs f;
                const pml_file_system fast = rt_kit_fs();
                faulty_fs_init(&f, &fast);
                test_env *t = test_env_open(&f.fs);
                create(t, test_path(t, "t"), &variants[i]);
                life l = start(t, test_path(t, "t"));
                faulty_fs_reset(&f);
                faulty_fs_fail_at(&f, at, (fault_mode)mode, PML_E_IO, mode == FAULT_BEFORE ? PML_ERRF_NO_EFFECT : 0);
                char *shown = live(&l, &variants[i], 0);
                reached = faulty_fs_failures(&f) > 0;
                faulty_fs_reset(&f);
                must_be(&variants[i], "file operation", at, shown, wanted);
                free(shown);
                end(&l);
                test_env_close(t);
                faulty_fs_destroy(&f);
            }
        }
        free(wanted);
    }
}

enum {
    CHANGES = FS_OP(FS_OP_CREATE) | FS_OP(FS_OP_WRITE) | FS_OP(FS_OP_CLOSE_WRITE) | FS_OP(FS_OP_PUBLISH) | FS_OP(FS_OP_REPLACE) |
              FS_OP(FS_OP_REMOVE_FILE) | FS_OP(FS_OP_MAKE_DIRECTORY)
};

static void die(void *arg, int kind, const char *path)
{
    (void)arg, (void)kind, (void)path;
    (void)kill(getpid(), SIGKILL);
}

static void live_and_die(const char *path, const variant *v, int64_t at)
{
    faulty_fs f;
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&f, &fast);
    test_env *t = test_env_open(&f.fs);
    (void)test_random(t); /* other names than the one who made the table */
    life l = start(t, path);
    faulty_fs_call_at(&f, at, CHANGES, die, NULL);
    free(live(&l, v, 0));
    _exit(0);
}

/* Another process goes on from what is recorded. */
static int recover(const char *path, const variant *v, const char *wanted, int64_t at)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *offsets;
    pml_rt_pb pb = PML_RT_PB_INIT;
    const pml_file_system fast = rt_kit_fs();
    test_env *t = test_env_open(&fast);
    t->random_state = 99;
    life l = start(t, path);
    must_ok(pml_rt_offsets_load(&offsets, l.table, -1, &err), &err);
    int64_t recorded = pml_rt_offsets_find(offsets, &pb);
    pml_rt_offsets_free(offsets);
    recorded = recorded < 0 ? 0 : recorded;
    assert_int_equal(recorded % ROWS, 0);
    char *shown = live(&l, v, (int)(recorded / ROWS));
    must_be(v, "change", at, shown, wanted);
    free(shown);
    end(&l);
    test_env_close(t);
    return (int)(recorded / ROWS);
}

static void killed_lives_are_gone_on_with_from_the_recorded_end(void **state)
{
    (void)state;
    int64_t stride = test_setting("STRIDE", 9, 1, 1000000);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        char *wanted = undisturbed(&variants[i]);
        bool killed = true, begun = false;
        for (int64_t at = 1 + (int64_t)i % stride; killed; at += stride) {
            int status;
            const pml_file_system fast = rt_kit_fs();
            test_env *origin = test_env_open(&fast);
            char path[600];
            (void)snprintf(path, sizeof path, "%s", test_path(origin, "t"));
            create(origin, path, &variants[i]);
            (void)fflush(NULL);
            pid_t pid = fork();
            if (pid == 0)
                live_and_die(path, &variants[i], at);
            assert_int_equal(waitpid(pid, &status, 0), pid);
            killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            assert_true(killed || status == 0);
            int batches = recover(path, &variants[i], wanted, at);
            begun = begun || (batches > 0 && batches < BATCHES);
            test_env_close(origin);
        }
        assert_true(begun); /* it died between the commits, too */
        free(wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_with_a_failing_allocation),
        cmocka_unit_test(lives_with_a_failing_file_operation),
        cmocka_unit_test(killed_lives_are_gone_on_with_from_the_recorded_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
