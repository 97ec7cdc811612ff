/* SPDX-License-Identifier: Apache-2.0 */
/* Reset marks and the rule that nothing lost comes back by itself (I22). */
#include "realtime/rt_progress_build.h"
#include "support/test_env.h"

static const char *const keys[] = {"d"};

static pml_pb_texts texts_of(const char *const *partition)
{
    return (pml_pb_texts){.n = 1, .partition = partition, .bucket = 0};
}

static pml_progress_entry *add(pml_progress *p, const char *const *partition)
{
    pml_progress_entry *e;
    const pml_pb_texts pb = texts_of(partition);
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_progress__add(&e, p, &pb, &err), &err);
    return e;
}

/* A partition was truncated in snapshot 3, overwritten by a writer that says nothing in a later one, and 3 has expired. */
static void reset_mark_that_got_lost_outlives_its_reset(void **state)
{
    static const char *const lost[] = {"lost"}, *const plain[] = {"plain"}, *const live[] = {"live"};
    test_env *t = test_env_open(NULL);
    pml_effective base = {.env = t->env, .snapshot_id = 9};
    pml_progress_result result;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    must_ok(pml_progress__init(&base.progress, t->env, 1, keys, &err), &err);
    pml_progress_entry *e = add(&base.progress, lost);
    e->reset = (pml_optional_int64){true, 3};
    e->lost = true;
    e = add(&base.progress, plain);
    e->reset = (pml_optional_int64){true, 3};
    e = add(&base.progress, live);
    e->end = 5;
    const pml_progress_range range = {.pb = texts_of(live), .begin = 5, .end = 8, .rows = 3};
    const pml_progress_build build = {.base = &base, .n_keys = 1, .keys = keys, .snapshot_id = 10, .earliest_id = 6,
                                      .commit_user = "us", .commit_identifier = 1, .n_ranges = 1, .ranges = &range};
    must_ok(pml_progress__build(&result, t->env, &build, &err), &err);
    assert_int_equal(result.action, PML_PROGRESS_WRITE);
    const pml_pb_texts lost_pb = texts_of(lost), plain_pb = texts_of(plain);
    assert_null(pml_progress__find(&result.next, &plain_pb)); /* nobody can have seen its rows */
    e = pml_progress__find(&result.next, &lost_pb);
    assert_non_null(e);
    assert_true(e->lost);
    pml_progress_result__clear(&result);
    pml_progress__clear(&base.progress);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reset_mark_that_got_lost_outlives_its_reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
