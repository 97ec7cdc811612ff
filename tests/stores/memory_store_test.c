/* SPDX-License-Identifier: Apache-2.0 */
/* The contract kit on the memory store, and what only this store promises. */
#include "support/store_kit.h"

#include "stores/memory.h"

static void memory_store_keeps_the_contract(void **state)
{
    (void)state;
    store_kit_result r;
    store_kit_run(&r, pml_memory_store_plugin(), true);
    if (r.failed > 0)
        fail_msg("%d of %d cases failed (%s); first: %s", r.failed, r.cases, r.names, r.first);
    assert_int_equal(r.cases, n_kit_cases);
}

static void must_hold(kit *k, bool ok)
{
    if (!ok)
        print_error("%s\n", k->why);
    assert_true(ok);
}

static void memory_store_moves_arrays_and_copies_nothing_but_made_offsets(void **state)
{
    (void)state;
    kit k;
    struct ArrowArray array, out = {0};
    pml_rt_batch batch;
    kit_rows rows;
    pml_error err = PML_ERROR_INIT;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_SMALL));
    kit_make_batch(&k, &array, &batch, &rows, 100, true, 0);
    const void *ids = array.children[0]->buffers[1], *texts = array.children[2]->buffers[2];
    must_ok(k.vt->write(k.store, &batch, &err), &err);
    kit_accept(&k, &batch, &rows);
    must_hold(&k, kit_view_acquire(&k, 0));
    must_hold(&k, kit_query(&k, 0, &k.views[0], NULL, k.layout->n_fields, 0));
    assert_int_equal(k.streams[0].v[0].get_next(&k.streams[0].v[0], &out), 0);
    assert_ptr_equal(out.children[1]->buffers[1], ids);
    assert_ptr_equal(out.children[3]->buffers[2], texts);
    pml_array__release(&out);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_view_costs_the_same_for_any_number_of_rows(void **state)
{
    (void)state;
    kit k;
    long long cost[2];
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    for (int i = 0; i < 400; i++) {
        must_hold(&k, kit_write(&k, 1, true, 0));
        if (i != 0 && i != 399)
            continue;
        long long before = atomic_load(&k.t->count);
        must_hold(&k, kit_view_acquire(&k, i == 0 ? 0 : 1));
        cost[i == 0 ? 0 : 1] = atomic_load(&k.t->count) - before;
    }
    assert_int_equal(cost[0], 1);
    assert_int_equal(cost[1], 1);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_advance_without_views_needs_no_memory(void **state)
{
    (void)state;
    kit k;
    pml_rt_usage u;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    for (int i = 0; i < 20; i++)
        must_hold(&k, kit_write(&k, 2, true, 0) && kit_seal(&k, i));
    test_env_fail_at(k.t, 1);
    must_hold(&k, kit_advance(&k, 20));
    test_env_fail_at(k.t, 0);
    must_hold(&k, kit_usage(&k, &u));
    assert_int_equal(u.sealed_rows, 20);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_query_leaves_out_chunks_outside_the_visible_range(void **state)
{
    (void)state;
    kit k;
    pml_error err = PML_ERROR_INIT;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    for (int i = 0; i < 3; i++)
        must_hold(&k, kit_write(&k, 100, true, 0));
    must_hold(&k, kit_view_acquire(&k, 0));
    pml_rt_query q = {.struct_size = sizeof q, .read_schema = &k.transport, .limit = -1, .visible = {135, 160}};
    k.streams[0] = (pml_rt_streams){.struct_size = sizeof(pml_rt_streams)};
    must_ok(k.views[0].vt->query_streams(k.views[0].view, &k.streams[0], &q, &err), &err);
    int64_t rows = 0;
    struct ArrowArrayStream *s = &k.streams[0].v[0];
    for (bool more = true; more;) {
        struct ArrowArray a = {0};
        assert_int_equal(s->get_next(s, &a), 0);
        more = a.release != NULL;
        if (more)
            must_hold(&k, kit_array_check(&k, &a, 100 + rows));
        rows += a.length;
        pml_array__release(&a);
    }
    assert_int_equal(rows, 100);
    kit_close(&k);
    assert_false(k.failed);
}

static void memory_store_refuses_keys_old_hosts_and_calls_after_close(void **state)
{
    (void)state;
    kit k;
    void *store = NULL, *view = NULL, *segment = NULL;
    const pml_rt_store_vtbl *vt = NULL;
    const pml_rt_view_vtbl *view_vt = NULL;
    pml_error err = PML_ERROR_INIT;
    must_hold(&k, store_kit_open(&k, pml_memory_store_plugin(), KIT_NARROW));
    pml_rt_store_params p = {.struct_size = sizeof p,
                             .mode = PML_RT_MODE_PRIMARY_KEY + 1,
                             .host = &k.services,
                             .schema = &k.transport,
                             .schema_id = 7};
    must_fail_with(PML_E_UNSUPPORTED, k.plugin->store_open(k.backend, &store, &vt, &p, &err), &err);
    pml_rt_host before_keys = k.services;
    before_keys.struct_size = offsetof(pml_rt_host, merge_sorted);
    p.mode = PML_RT_MODE_PRIMARY_KEY;
    p.host = &before_keys;
    must_fail_with(PML_E_UNSUPPORTED, k.plugin->store_open(k.backend, &store, &vt, &p, &err), &err);
    p.host = &k.services;
    p.mode = PML_RT_MODE_APPEND;
    p.committed_end = -1;
    must_fail_with(PML_E_INVAL, k.plugin->store_open(k.backend, &store, &vt, &p, &err), &err);
    pml_rt_host old = k.services;
    old.struct_size = offsetof(pml_rt_host, stream);
    must_fail_with(PML_E_UNSUPPORTED, k.plugin->open(&store, &old, 0, NULL, NULL), &err);
    assert_null(store);
    must_hold(&k, kit_write(&k, 3, true, 0));
    must_ok(k.vt->close(k.store, 0, &err), &err);
    k.closed = true;
    must_fail_with(PML_E_STATE, k.vt->seal(k.store, &segment, &err), &err);
    must_fail_with(PML_E_STATE, k.vt->acquire_view(k.store, &view, &view_vt, &err), &err);
    assert_false(kit_write(&k, 3, true, 0));
    assert_non_null(strstr(k.why, "PML_E_STATE"));
    k.failed = false;
    kit_close(&k);
    assert_false(k.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_store_keeps_the_contract),
        cmocka_unit_test(memory_store_moves_arrays_and_copies_nothing_but_made_offsets),
        cmocka_unit_test(memory_store_view_costs_the_same_for_any_number_of_rows),
        cmocka_unit_test(memory_store_advance_without_views_needs_no_memory),
        cmocka_unit_test(memory_store_query_leaves_out_chunks_outside_the_visible_range),
        cmocka_unit_test(memory_store_refuses_keys_old_hosts_and_calls_after_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
