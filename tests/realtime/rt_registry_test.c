/* SPDX-License-Identifier: Apache-2.0 */
/* Registering stores (realtime-tests.md 1). */
#include "realtime/rt_registry.h"

#include <stdio.h>
#include <string.h>

#include "stores/memory.h"
#include "support/test_env.h"

static int no_open(void **backend, const pml_rt_host *host, size_t n, const pml_rt_kv *options, pml_error *err)
{
    (void)backend, (void)host, (void)n, (void)options, (void)err;
    return PML_E_INTERNAL;
}

static int no_store(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *p,
                    pml_error *err)
{
    (void)backend, (void)store, (void)vtbl, (void)p, (void)err;
    return PML_E_INTERNAL;
}

static void no_close(void *backend)
{
    (void)backend;
}

static const pml_rt_plugin good = {.struct_size = sizeof good,
                                   .magic = PML_RT_PLUGIN_MAGIC,
                                   .abi_major = PML_RT_ABI_MAJOR,
                                   .name = "good",
                                   .open = no_open,
                                   .store_open = no_store,
                                   .close = no_close};

static void registry_knows_the_memory_store_and_nothing_else(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const pml_rt_plugin *p;
    must_ok(pml_rt_plugin__find(&p, t->env, "memory", &err), &err);
    assert_ptr_equal(p, pml_memory_store_plugin());
    must_ok(pml_rt_plugin__check(p, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_plugin__find(&p, t->env, "fluss", &err), &err);
    assert_null(p);
    assert_non_null(strstr(err.message, "'fluss'"));
    assert_non_null(strstr(err.message, "realtime.store"));
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_plugin__find(&p, t->env, "", &err), &err);
    test_env_close(t);
}

static void registry_finds_a_registered_store_in_its_environment_only(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL), *other = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const pml_rt_plugin *p;
    must_ok(pml_rt_plugin_register(t->env, &good, &err), &err);
    must_ok(pml_rt_plugin_register(t->env, &good, &err), &err); /* the same again */
    must_ok(pml_rt_plugin__find(&p, t->env, "good", &err), &err);
    assert_ptr_equal(p, &good);
    must_fail_with(PML_E_UNSUPPORTED, pml_rt_plugin__find(&p, other->env, "good", &err), &err);
    test_env_close(other);
    test_env_close(t);
}

static void must_be_refused(test_env *t, int code, const pml_rt_plugin *p, const char *word)
{
    pml_error err = PML_ERROR_INIT;
    must_fail_with(code, pml_rt_plugin_register(t->env, p, &err), &err);
    if (strstr(err.message, word) == NULL)
        fail_msg("'%s' does not name '%s'", err.message, word);
}

static void registry_refuses_what_is_no_plugin_by_name(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_rt_plugin p = good;
    must_be_refused(t, PML_E_INVAL, NULL, "NULL");
    p.magic++;
    must_be_refused(t, PML_E_INVAL, &p, "magic");
    p = good;
    p.abi_major = PML_RT_ABI_MAJOR + 1;
    must_be_refused(t, PML_E_UNSUPPORTED, &p, "'good'");
    p = good;
    p.struct_size = 8;
    must_be_refused(t, PML_E_INVAL, &p, "magic");
    p.struct_size = offsetof(pml_rt_plugin, view_open_remote) - 1;
    must_be_refused(t, PML_E_INVAL, &p, "struct_size");
    p = good;
    p.open = NULL;
    must_be_refused(t, PML_E_INVAL, &p, "'good'");
    p = good;
    p.store_open = NULL;
    must_be_refused(t, PML_E_INVAL, &p, "store_open");
    p = good;
    p.close = NULL;
    must_be_refused(t, PML_E_INVAL, &p, "close");
    static const char *const names[] = {
        NULL, "", "a b", "a.b", "\xC3\xA9", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        p = good;
        p.name = names[i];
        must_be_refused(t, PML_E_INVAL, &p, "name");
    }
    test_env_close(t);
}

static void registry_refuses_a_name_that_is_taken(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_rt_plugin p = good;
    const pml_rt_plugin *found;
    must_ok(pml_rt_plugin_register(t->env, &good, &err), &err);
    must_be_refused(t, PML_E_INVAL, &p, "'good'");
    p.name = "memory";
    must_be_refused(t, PML_E_INVAL, &p, "'memory'");
    must_ok(pml_rt_plugin__find(&found, t->env, "good", &err), &err);
    assert_ptr_equal(found, &good);
    test_env_close(t);
}

/* A plugin of another version of the header: longer, or without what P1 does not need. */
static void registry_takes_longer_and_shorter_plugins(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    struct {
        pml_rt_plugin p;
        void *tail[4];
    } longer = {.p = good};
    pml_rt_plugin shorter = good;
    memset(longer.tail, 0xA5, sizeof longer.tail);
    longer.p.struct_size = sizeof longer;
    longer.p.name = "longer";
    longer.p.abi_minor = 99;
    shorter.struct_size = offsetof(pml_rt_plugin, view_open_remote);
    shorter.name = "shorter";
    must_ok(pml_rt_plugin_register(t->env, &longer.p, &err), &err);
    must_ok(pml_rt_plugin_register(t->env, &shorter, &err), &err);
    test_env_close(t);
}

static void registry_is_full_at_its_limit(void **state)
{
    (void)state;
    static pml_rt_plugin many[65];
    static char names[65][16];
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "store-%zu", i);
        many[i] = good;
        many[i].name = names[i];
        must_fail_with(i < 64 ? PML_OK : PML_E_LIMIT, pml_rt_plugin_register(t->env, &many[i], &err), &err);
    }
    test_env_close(t);
}

static void plugin_tables_with_gaps_break_the_contract(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    int handle = 0;
    pml_rt_store_vtbl store = {.struct_size = sizeof store};
    pml_rt_view_vtbl view = {.struct_size = sizeof view};
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_store(&good, NULL, &store, &err), &err);
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_store(&good, &handle, NULL, &err), &err);
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_store(&good, &handle, &store, &err), &err);
    assert_non_null(strstr(err.message, "'good'"));
    store.struct_size = 8;
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_store(&good, &handle, &store, &err), &err);
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_view(&good, NULL, &view, &err), &err);
    must_fail_with(PML_E_PLUGIN_CONTRACT, pml_rt_plugin__check_view(&good, &handle, &view, &err), &err);
    test_env_close(t);
}

static void registry_survives_failing_allocations(void **state)
{
    (void)state;
    int rc = PML_E_NOMEM;
    test_env *t = test_env_open(NULL);
    for (long long n = 1; rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        rc = pml_rt_plugin_register(t->env, &good, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(t));
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_knows_the_memory_store_and_nothing_else),
        cmocka_unit_test(registry_finds_a_registered_store_in_its_environment_only),
        cmocka_unit_test(registry_refuses_what_is_no_plugin_by_name),
        cmocka_unit_test(registry_refuses_a_name_that_is_taken),
        cmocka_unit_test(registry_takes_longer_and_shorter_plugins),
        cmocka_unit_test(registry_is_full_at_its_limit),
        cmocka_unit_test(plugin_tables_with_gaps_break_the_contract),
        cmocka_unit_test(registry_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
