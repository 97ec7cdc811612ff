/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 99: many partitions cost in proportion to their number. Ten times the partitions may take up to thirty times the CPU before
 * this fails: a square would take a hundred times, and a busy machine does not make CPU time three times as dear. PARTITIONS=n
 * in the environment sets the larger number (the specification's is 100000; the smaller is a tenth).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "realtime/rt_progress_build.h"
#include "support/rt_kit.h"

enum { LARGE = 4000, NAME = 24, FACTOR = 10, ALLOWED = 30, ROUNDS = 3 };

static int64_t larger(void)
{
    return test_setting("PARTITIONS", LARGE, FACTOR, 1000000);
}

static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void must_be_linear(const char *what, double small, double large)
{
    print_message("%s: %.2f ms, of %d times as many %.2f ms\n", what, small, FACTOR, large);
    assert_true(large <= small * ALLOWED + 1);
}

/* ---- the progress file ---- */

static void fill(pml_progress *p, test_env *t, int64_t n)
{
    static const char *const keys[] = {"p"};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_progress__init(p, t->env, 1, keys, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        char name[NAME];
        const char *partition = name;
        const pml_pb_texts pb = {.n = 1, .partition = &partition};
        pml_progress_entry *e;
        (void)snprintf(name, sizeof name, "p%lld", (long long)i);
        must_ok(pml_progress__add(&e, p, &pb, &err), &err);
        e->end = i + 1;
    }
}

/* A commit that moves one partition: builds the next map, writes its text and parses it again. */
static double progress_cost(test_env *t, int64_t n)
{
    static const char *const keys[] = {"p"};
    static const char *partition = "p7";
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        pml_effective base = {.env = t->env, .snapshot_id = 3};
        pml_progress_result result;
        pml_progress back;
        pml_buf text;
        pml_error err = PML_ERROR_INIT;
        const pml_progress_range range = {.pb = {.n = 1, .partition = &partition}, .begin = 8, .end = 9, .rows = 1};
        const pml_progress_build build = {.base = &base, .n_keys = 1, .keys = keys, .snapshot_id = 4, .earliest_id = 1,
                                          .commit_user = "us", .commit_identifier = 1, .n_ranges = 1, .ranges = &range};
        fill(&base.progress, t, n);
        double from = cpu_ms();
        must_ok(pml_progress__build(&result, t->env, &build, &err), &err);
        pml_buf__init(&text, t->env, PML_PROGRESS_FILE_MAX);
        must_ok(pml_progress__write(&text, &result.next, &err), &err);
        must_ok(pml_progress__init(&back, t->env, 1, keys, &err), &err);
        must_ok(pml_progress__parse(&back, (pml_bytes){text.data, text.len}, "x.offsets", &err), &err);
        double cost = cpu_ms() - from;
        best = cost < best ? cost : best;
        assert_int_equal(back.n, n);
        assert_int_equal(pml_progress__find(&back, &range.pb)->end, 9);
        pml_progress__clear(&back);
        pml_buf__clear(&text);
        pml_progress_result__clear(&result);
        pml_progress__clear(&base.progress);
    }
    return best;
}

static void progress_of_many_partitions_is_linear(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    double small = progress_cost(t, larger() / FACTOR);
    must_be_linear("progress", small, progress_cost(t, larger()));
    test_env_close(t);
}

/* ---- write, plan, read ---- */

typedef struct costs {
    double write, plan, read;
} costs;

/* One row for each partition, in one batch. */
static struct ArrowArray batch_of(int64_t n)
{
    int64_t *ids = calloc((size_t)n, sizeof *ids);
    const char **texts = calloc((size_t)n, sizeof *texts);
    char(*names)[NAME] = calloc((size_t)n, sizeof *names);
    assert_true(ids != NULL && texts != NULL && names != NULL);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = i;
        (void)snprintf(names[i], sizeof names[i], "p%lld", (long long)i);
        texts[i] = names[i];
    }
    struct ArrowArray c[] = {test_fixed_array(8, n, ids), test_text_array(n, texts), test_text_array(n, texts)};
    free(ids);
    free(texts);
    free(names);
    return test_struct_array(n, 3, c);
}

static costs live_costs(int64_t n)
{
    rt_kit k;
    costs best = {1e9, 1e9, 1e9};
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    struct ArrowSchema schema = rt_kit_schema(&k);
    for (int round = 0; round < ROUNDS; round++) {
        struct ArrowArray batch = batch_of(n);
        struct ArrowArrayStream s;
        double t0 = cpu_ms();
        must_ok(pml_rt_write(NULL, k.w, &batch, &schema, NULL, &err), &err);
        double t1 = cpu_ms();
        pml_plan *plan = rt_kit_plan(&k);
        double t2 = cpu_ms();
        int64_t rows = 0;
        must_ok(pml_read_open(&s, plan, NULL, &err), &err);
        for (;;) {
            struct ArrowArray out = {0};
            assert_int_equal(s.get_next(&s, &out), 0);
            if (out.release == NULL)
                break;
            rows += out.length;
            out.release(&out);
        }
        s.release(&s);
        double t3 = cpu_ms();
        pml_plan_free(plan);
        assert_int_equal(rows, n * (round + 1));
        if (round > 0) /* the first one opens the stores */
            best.write = t1 - t0 < best.write ? t1 - t0 : best.write;
        best.plan = t2 - t1 < best.plan ? t2 - t1 : best.plan;
        best.read = t3 - t2 < best.read ? t3 - t2 : best.read;
    }
    schema.release(&schema);
    rt_kit_close(&k);
    return best;
}

static void plans_of_many_partitions_are_linear(void **state)
{
    (void)state;
    costs small = live_costs(larger() / FACTOR), large = live_costs(larger());
    must_be_linear("write", small.write, large.write);
    must_be_linear("plan", small.plan, large.plan);
    must_be_linear("read", small.read, large.read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(progress_of_many_partitions_is_linear),
                                       cmocka_unit_test(plans_of_many_partitions_are_linear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
