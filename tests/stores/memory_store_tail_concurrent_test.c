/* SPDX-License-Identifier: Apache-2.0 */
/* Small runs in memory that a thread of the host merges for readers. */
#include "support/store_kit.h"

#include "stores/memory.h"

static void must_hold(kit *k, bool ok)
{
    if (!ok)
        print_error("%s\n", k->why);
    assert_true(ok);
}

/* How many streams a query of all rows gets, whose rows are those of the view. */
static size_t count_runs(kit *k, const kit_view *view)
{
    must_hold(k, kit_query(k, 0, view, NULL, 0, 100));
    size_t n = k->streams[0].n;
    must_hold(k, kit_drain_keyed(k, 0, 0, view->info.end, false, NULL, 0));
    return n;
}

/* The same where the n-th allocation fails: an error, or streams. A merge that fails leaves the runs as they are. */
static void query_without_memory(kit *k, const kit_view *view)
{
    for (long long n = 1; n < 200; n++) {
        pml_error err = PML_ERROR_INIT;
        pml_rt_streams s = {.struct_size = sizeof s};
        const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &k->transport, .limit = -1};
        test_env_fail_at(k->t, n);
        int rc = view->vt->query_streams(view->view, &s, &q, &err);
        test_env_fail_at(k->t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && s.n == 0));
        for (size_t i = 0; i < s.n; i++)
            s.v[i].release(&s.v[i]);
        if (rc == PML_OK)
            s.free(&s);
    }
}

/* A thread of the host makes it so many, after a while. */
static void wait_for_runs(kit *k, const kit_view *view, size_t wanted)
{
    size_t n = count_runs(k, view);
    for (int i = 0; n != wanted && i < TEST_PATIENCE_MS; i++) {
        test_sleep_a_millisecond();
        n = count_runs(k, view);
    }
    assert_int_equal(n, wanted);
}

static void write_rows(kit *k, int n)
{
    for (int i = 0; i < n; i++)
        must_hold(k, kit_write(k, 1, true, 0));
}

static void memory_store_merges_small_runs_for_readers(void **state)
{
    (void)state;
    kit k;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_KEYED));
    write_rows(&k, 400); /* chunks of 64 and 256 rows, and an open one */
    must_hold(&k, kit_view_acquire(&k, 0));
    assert_int_equal(count_runs(&k, &k.views[0]), 3);
    query_without_memory(&k, &k.views[0]);
    wait_for_runs(&k, &k.views[0], 1);
    write_rows(&k, 1);
    must_hold(&k, kit_view_acquire(&k, 1));
    assert_int_equal(count_runs(&k, &k.views[1]), 3); /* other rows */
    wait_for_runs(&k, &k.views[1], 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[0]), 3); /* what is kept has a row more than this view */
    write_rows(&k, 2000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[i % 2]), 3); /* nothing is kept with a chunk that is closed */
    must_hold(&k, kit_write(&k, 20000, true, 0)); /* so many are never merged for readers */
    write_rows(&k, 1);
    must_hold(&k, kit_view_acquire(&k, 2));
    size_t all = count_runs(&k, &k.views[2]);
    assert_true(all > 2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(count_runs(&k, &k.views[2]), all);
    kit_close(&k);
    assert_false(k.failed);
}

/* What is merged for readers is counted; where it is never read it is not made again, until somebody reads the same rows twice. */
static void memory_store_does_not_merge_for_nobody(void **state)
{
    (void)state;
    kit k;
    kit_view *v = &k.views[0];
    pml_rt_usage before, after = {0};
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_KEYED));
    write_rows(&k, 400);
    must_hold(&k, kit_usage(&k, &before));
    must_hold(&k, kit_view_acquire(&k, 0));
    assert_int_equal(count_runs(&k, v), 3);
    for (int i = 0; after.pinned_only_bytes <= before.pinned_only_bytes && i < TEST_PATIENCE_MS; i++) {
        test_sleep_a_millisecond();
        must_hold(&k, kit_usage(&k, &after)); /* it is being merged */
    }
    assert_true(after.pinned_only_bytes > before.pinned_only_bytes);
    must_hold(&k, kit_settle(&k)); /* else the rows of the next write come before it is kept, and it is counted until it is let go */
    for (int i = 0; i < 20; i++) { /* a writer and a reader in turns */
        kit_view_release(&k, 0);
        write_rows(&k, 1);
        must_hold(&k, kit_view_acquire(&k, 0));
        assert_int_equal(count_runs(&k, v), 3);
        must_hold(&k, kit_settle(&k));
        must_hold(&k, kit_usage(&k, &after));
        assert_int_equal(after.pinned_only_bytes, before.pinned_only_bytes);
    }
    assert_int_equal(count_runs(&k, v), 3);
    wait_for_runs(&k, v, 1);
    kit_view_release(&k, 0);
    kit_close(&k);
    assert_false(k.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_store_merges_small_runs_for_readers),
        cmocka_unit_test(memory_store_does_not_merge_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
