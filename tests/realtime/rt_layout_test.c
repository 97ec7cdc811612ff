/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_layout.h"

#include <string.h>

#include "support/test_env.h"

static const pml_field columns[] = {
    {.id = 0, .name = "id", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = 4, .name = "name", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}},
};

static void layout_of_an_append_table_is_offset_then_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_rt_layout *l;
    size_t n;
    must_ok(pml_rt_layout__new(&l, t->env, PML_RT_MODE_APPEND, 3, columns, 2, &err), &err);
    assert_int_equal(l->n_fields, 3);
    assert_int_equal(l->n_system, 1);
    assert_int_equal(l->offset_column, 0);
    assert_int_equal(l->schema_id, 3);
    assert_string_equal(l->fields[0].name, "_REALTIME_OFFSET");
    assert_int_equal(l->fields[0].id, 2147473645);
    assert_int_equal(l->fields[0].type.kind, PML_TYPE_BIGINT);
    assert_false(l->fields[0].type.nullable);
    assert_string_equal(l->fields[2].name, "name");
    assert_int_equal(l->fields[2].id, 4);
    assert_ptr_equal(pml_rt_layout__dense_fields(l, &n), &l->fields[1]);
    assert_int_equal(n, 2);
    pml_rt_layout__free(l);
    test_env_close(t);
}

static void layout_of_a_key_table_is_kind_sequence_offset_then_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_rt_layout *l;
    must_ok(pml_rt_layout__new(&l, t->env, PML_RT_MODE_PRIMARY_KEY, 0, columns, 2, &err), &err);
    assert_int_equal(l->n_fields, 5);
    assert_int_equal(l->n_system, 3);
    assert_int_equal(l->offset_column, 2);
    assert_string_equal(l->fields[0].name, "_VALUE_KIND");
    assert_int_equal(l->fields[0].id, 2147483645);
    assert_int_equal(l->fields[0].type.kind, PML_TYPE_TINYINT);
    assert_string_equal(l->fields[1].name, "_SEQUENCE_NUMBER");
    assert_int_equal(l->fields[1].id, 2147483646);
    assert_string_equal(l->fields[2].name, "_REALTIME_OFFSET");
    assert_int_equal(l->fields[2].id, 2147473645);
    for (size_t i = 0; i < 3; i++)
        assert_false(l->fields[i].type.nullable);
    pml_rt_layout__free(l);
    test_env_close(t);
}

static void layout_refuses_system_names_at_the_top_and_takes_them_nested(void **state)
{
    (void)state;
    static const char *const reserved[] = {"_SEQUENCE_NUMBER", "_VALUE_KIND",      "_LEVEL", "rowkind",
                                           "_ROW_ID",          "_REALTIME_OFFSET", "_KEY_",  "_KEY_id"};
    static const char *const free_names[] = {"sequence_number", "_KEY", "ROWKIND", "_value_kind", "", "_ROW_ID2"};
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_rt_layout *l;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        pml_field nested = {.id = 9, .name = reserved[i], .type = {.kind = PML_TYPE_INT}};
        pml_field two[2] = {columns[0], {.id = 8, .name = reserved[i], .type = {.kind = PML_TYPE_INT}}};
        for (uint32_t mode = PML_RT_MODE_APPEND; mode <= PML_RT_MODE_PRIMARY_KEY; mode++) {
            must_fail_with(PML_E_SCHEMA, pml_rt_layout__new(&l, t->env, mode, 0, two, 2, &err), &err);
            assert_null(l);
            assert_non_null(strstr(err.message, reserved[i]));
        }
        two[1] =
            (pml_field){.id = 8, .name = "row", .type = {.kind = PML_TYPE_ROW, .n_children = 1, .children = &nested}};
        must_ok(pml_rt_layout__new(&l, t->env, PML_RT_MODE_APPEND, 0, two, 2, &err), &err);
        pml_rt_layout__free(l);
    }
    for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; i++)
        assert_false(pml_rt_layout__is_system_name(free_names[i]));
    test_env_close(t);
}

static void layout_survives_failing_allocations(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_rt_layout *l = NULL;
    for (long long n = 1; l == NULL; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        int rc = pml_rt_layout__new(&l, t->env, PML_RT_MODE_APPEND, 0, columns, 2, &err);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && l == NULL));
    }
    pml_rt_layout__free(l);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_of_an_append_table_is_offset_then_columns),
        cmocka_unit_test(layout_of_a_key_table_is_kind_sequence_offset_then_columns),
        cmocka_unit_test(layout_refuses_system_names_at_the_top_and_takes_them_nested),
        cmocka_unit_test(layout_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
