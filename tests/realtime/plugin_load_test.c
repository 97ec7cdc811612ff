/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in shared objects: what is loaded, and what is refused (realtime-store.md 14.3). */
#include <stdio.h>
#include <string.h>

#include "realtime/rt_registry.h"
#include "support/rt_kit.h"

#define PLUGIN(name) PML_TEST_PLUGINS "/" name ".so"
#define PATH_KEY     "realtime.store.plugin-path"

static void must_be_refused(const char *path, int code, const char *word)
{
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    char name[PML_RT_PLUGIN_NAME_SIZE] = "x";
    must_fail_with(code, pml_rt_plugin_load(name, t->env, path, &err), &err);
    assert_string_equal(name, "");
    if (strstr(err.message, word) == NULL)
        fail_msg("'%s' does not name '%s'", err.message, word);
    test_env_close(t);
}

static void plugin_file_that_cannot_be_loaded_is_refused_by_name(void **state)
{
    (void)state;
    must_be_refused(NULL, PML_E_INVAL, "path");
    must_be_refused("", PML_E_INVAL, "path");
    must_be_refused("store.so", PML_E_INVAL, "./store.so");
    must_be_refused("/nowhere/store.so", PML_E_NOT_FOUND, "/nowhere/store.so");
    must_be_refused(PML_TEST_SOURCE "/CMakeLists.txt", PML_E_PLUGIN, "CMakeLists.txt");
    must_be_refused(PML_TEST_SOURCE "/realtime", PML_E_PLUGIN, "realtime");
    must_be_refused(PLUGIN("refused_no_symbol"), PML_E_INVAL, "pml_rt_plugin_entry_v1");
}

static void plugin_that_is_none_is_refused_by_name(void **state)
{
    (void)state;
    must_be_refused(PLUGIN("refused_magic"), PML_E_INVAL, "refused_magic.so");
    must_be_refused(PLUGIN("refused_magic"), PML_E_INVAL, "magic");
    must_be_refused(PLUGIN("refused_abi"), PML_E_UNSUPPORTED, "rebuild");
    must_be_refused(PLUGIN("refused_size"), PML_E_INVAL, "struct_size");
    must_be_refused(PLUGIN("refused_null"), PML_E_INVAL, "NULL");
    must_be_refused(PLUGIN("refused_name"), PML_E_INVAL, "'memory' already");
}

static void plugin_loaded_twice_is_the_same_store(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL), *other = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    char name[PML_RT_PLUGIN_NAME_SIZE];
    const pml_rt_plugin *p, *q;
    must_ok(pml_rt_plugin_load(name, t->env, PLUGIN("list_store"), &err), &err);
    assert_string_equal(name, "list");
    must_ok(pml_rt_plugin__find(&p, t->env, "list", &err), &err);
    must_ok(pml_rt_plugin_load(NULL, t->env, PLUGIN("list_store"), &err), &err);
    must_ok(pml_rt_plugin__find(&q, t->env, "list", &err), &err);
    assert_ptr_equal(p, q);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_plugin__find(&q, other->env, "list", &err),
                   &err); /* of its environment only */
    test_env_close(other);
    test_env_close(t);
}

static void plugin_load_survives_failing_allocations(void **state)
{
    (void)state;
    int rc = PML_E_NOMEM;
    for (long long n = 1; n < 100 && rc != PML_OK; n++) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        rc = pml_rt_plugin_load(NULL, t->env, PLUGIN("list_store"), &err);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        test_env_close(t);
    }
    assert_int_equal(rc, PML_OK);
}

static void context_loads_the_store_that_its_options_name(void **state)
{
    (void)state;
    static const char *const option[2] = {PATH_KEY, PLUGIN("list_store")};
    rt_kit k;
    rt_kit_create(&k, NULL, "", "\"realtime.store\":\"list\"");
    rt_kit_start(&k, NULL, option);
    rt_kit_write(&k, 10, NULL);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, NULL);
    rt_kit_must_show(&k, 0, 15);
    rt_kit_must_store(&k, 0, 10);
    rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 15);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL); /* known to the environment by now */
    rt_kit_write(&k, 1, NULL);
    rt_kit_must_show(&k, 0, 16);
    rt_kit_close(&k);
}

/* Opens a writer on a context with this path (NULL: none). */
static void writer_must_fail(rt_kit *k, const char *path, int code, const char *word)
{
    const pml_option_pair pair = {PATH_KEY, path};
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    o.n_options = path == NULL ? 0 : 1;
    o.options = &pair;
    must_ok(pml_rt_context_open(&ctx, k->t->env, &o, &err), &err);
    must_fail_with(code, pml_rt_writer_open(&w, k->table, ctx, NULL, &err), &err);
    if (strstr(err.message, word) == NULL)
        fail_msg("'%s' does not name '%s'", err.message, word);
    pml_rt_context_close(ctx);
}

static void context_refuses_a_store_that_its_path_does_not_hold(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "\"realtime.store\":\"other\"");
    writer_must_fail(&k, NULL, PML_E_UNSUPPORTED, "'other'");
    writer_must_fail(&k, PLUGIN("list_store"), PML_E_INVAL, "holds the store 'list'");
    writer_must_fail(&k, PLUGIN("missing"), PML_E_NOT_FOUND, "missing.so");
    writer_must_fail(&k, PLUGIN("refused_magic"), PML_E_INVAL, "magic");
    const pml_rt_plugin *p;
    assert_int_equal(pml_rt_plugin__find(&p, k.t->env, "list", NULL),
                     PML_E_UNSUPPORTED); /* not registered on the way */
    rt_kit_close(&k);
}

static void context_does_not_follow_a_path_that_the_table_stores(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "\"realtime.store\":\"list\",\"" PATH_KEY "\":\"" PLUGIN("list_store") "\"");
    writer_must_fail(&k, NULL, PML_E_UNSUPPORTED, "needs " PATH_KEY);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugin_file_that_cannot_be_loaded_is_refused_by_name),
        cmocka_unit_test(plugin_that_is_none_is_refused_by_name),
        cmocka_unit_test(plugin_loaded_twice_is_the_same_store),
        cmocka_unit_test(plugin_load_survives_failing_allocations),
        cmocka_unit_test(context_loads_the_store_that_its_options_name),
        cmocka_unit_test(context_refuses_a_store_that_its_path_does_not_hold),
        cmocka_unit_test(context_does_not_follow_a_path_that_the_table_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
