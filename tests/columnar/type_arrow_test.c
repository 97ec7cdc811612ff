/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/data_type.h"

static test_env *t;
static pml_arena arena;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_arena__init(&arena, t->env);
    pml_error__clear(&err);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    pml_arena__clear(&arena);
    test_env_close(t);
    return 0;
}

/* The members of "ROW<...>" become the columns. */
static pml_type columns(const char *text)
{
    pml_type type;
    int32_t next = 0;
    must_ok(pml_type__parse(&type, &arena, text, strlen(text), &next, &err), &err);
    return type;
}

static const char all_types[] = "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h "
                                "DECIMAL(20, 3), i CHAR(2), j STRING, k BINARY(2),"
                                " l BYTES, m DATE, n TIME(3), o TIMESTAMP(3), p TIMESTAMP(6), q TIMESTAMP(9), r "
                                "TIMESTAMP_LTZ(0), s TIMESTAMP_LTZ(4),"
                                " u ARRAY<ARRAY<INT NOT NULL>>, v MAP<STRING, ROW<x INT, y BYTES>>, w "
                                "MULTISET<STRING>, x VECTOR<FLOAT, 3>, y VARIANT,"
                                " z ROW<p INT, q ARRAY<INT>> NOT NULL, blob BLOB>";

static const char *const all_formats[] = {"b",       "c",  "s",  "i",   "l",    "f",    "g",    "d:20,3", "u",
                                          "u",       "z",  "z",  "tdD", "ttm",  "tsm:", "tsu:", "tsn:",   "tsm:UTC",
                                          "tsu:UTC", "+l", "+m", "+m",  "+w:3", "+s",   "+s",   "z"};

/* The value of a metadata key, as a string in a static buffer; "" when absent. */
static const char *metadata_of(const struct ArrowSchema *s, const char *key)
{
    static char value[256];
    const char *p = s->metadata;
    int32_t n = 0, len;
    value[0] = '\0';
    if (p == NULL)
        return value;
    memcpy(&n, p, 4);
    p += 4;
    for (int32_t i = 0; i < n; i++) {
        memcpy(&len, p, 4);
        bool found = (size_t)len == strlen(key) && memcmp(p + 4, key, (size_t)len) == 0;
        p += 4 + len;
        memcpy(&len, p, 4);
        if (found) {
            memcpy(value, p + 4, (size_t)len);
            value[len] = '\0';
        }
        p += 4 + len;
    }
    return value;
}

static void must_have_id(const struct ArrowSchema *s, int32_t id)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", id);
    assert_string_equal(metadata_of(s, "paimon.id"), text);
    assert_string_equal(metadata_of(s, "PARQUET:field_id"), text);
}

static void export_every_type_has_its_arrow_format(void **state)
{
    (void)state;
    pml_type row = columns(all_types);
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, t->env, row.children, row.n_children, &err), &err);
    assert_string_equal(s.format, "+s");
    assert_int_equal(s.n_children, row.n_children);
    for (size_t i = 0; i < row.n_children; i++) {
        assert_string_equal(s.children[i]->format, all_formats[i]);
        assert_string_equal(s.children[i]->name, row.children[i].name);
        must_have_id(s.children[i], row.children[i].id);
    }
    assert_string_equal(metadata_of(s.children[7], "paimon.type"), "DECIMAL(20, 3)");
    assert_string_equal(metadata_of(s.children[19], "paimon.type"), "ARRAY");
    assert_string_equal(metadata_of(s.children[24], "paimon.type"), "ROW NOT NULL");
    assert_int_equal(s.children[24]->flags, 0);
    assert_int_equal(s.children[0]->flags, ARROW_FLAG_NULLABLE);
    must_ok(pml_type__check_arrow(&s, row.children, row.n_children, &err), &err);
    s.release(&s);
    assert_null(s.release);
}

static void export_containers_have_derived_ids(void **state)
{
    (void)state;
    pml_type row = columns("ROW<a ARRAY<ARRAY<INT>>, m MAP<STRING, ROW<x INT, y ARRAY<INT>>>, s MULTISET<INT>, v "
                           "VARIANT, w VECTOR<INT,2>>");
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, t->env, row.children, row.n_children, &err), &err);
    must_have_id(s.children[0]->children[0], pml_type__element_id(0, 1));
    must_have_id(s.children[0]->children[0]->children[0], pml_type__element_id(0, 2));
    const struct ArrowSchema *entries = s.children[1]->children[0];
    assert_string_equal(entries->name, "key_value");
    assert_null(entries->metadata);
    assert_int_equal(entries->flags, 0);
    assert_int_equal(entries->children[0]->flags, 0);
    must_have_id(entries->children[0], pml_type__map_key_id(1, 1));
    must_have_id(entries->children[1], pml_type__element_id(1, 1));
    must_have_id(entries->children[1]->children[0], 2);
    must_have_id(entries->children[1]->children[1], 3);
    must_have_id(entries->children[1]->children[1]->children[0], pml_type__element_id(3, 1));
    const struct ArrowSchema *counts = s.children[2]->children[0];
    assert_string_equal(counts->children[1]->format, "i");
    assert_int_equal(counts->children[1]->flags, 0);
    assert_string_equal(s.children[3]->children[0]->name, "value");
    assert_string_equal(s.children[3]->children[1]->name, "metadata");
    must_have_id(s.children[3]->children[1], 1);
    assert_string_equal(s.children[4]->children[0]->name, "element");
    s.release(&s);
}

static void export_of_no_columns_is_an_empty_struct(void **state)
{
    (void)state;
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, t->env, NULL, 0, &err), &err);
    assert_int_equal(s.n_children, 0);
    must_ok(pml_type__check_arrow(&s, NULL, 0, &err), &err);
    s.release(&s);
}

static void *release_in_thread(void *arg)
{
    struct ArrowSchema *s = arg;
    s->release(s);
    return NULL;
}

static void export_child_moved_out_outlives_its_parent(void **state)
{
    (void)state;
    pml_type row = columns("ROW<a ARRAY<INT>, b INT>");
    struct ArrowSchema s, child;
    pthread_t thread;
    must_ok(pml_type__export(&s, t->env, row.children, row.n_children, &err), &err);
    child = *s.children[0];
    s.children[0]->release = NULL;
    assert_int_equal(pthread_create(&thread, NULL, release_in_thread, &s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(child.format, "+l");
    assert_string_equal(child.children[0]->name, "element");
    child.release(&child);
}

static void export_outlives_the_environment_of_the_caller(void **state)
{
    (void)state;
    test_env *other = test_env_open(NULL);
    pml_type row = columns("ROW<a INT>");
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, other->env, row.children, 1, &err), &err);
    pml_env *env = other->env;
    assert_true(atomic_load(&env->refs) > 1);
    pml_env_acquire(env);
    pml_env_release(env);
    s.release(&s);
    assert_int_equal(atomic_load(&env->refs), 1);
    test_env_close(other);
}

static void export_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    pml_type row = columns(all_types);
    struct ArrowSchema s;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc == PML_E_NOMEM; n++) {
        test_env_fail_at(t, n);
        rc = pml_type__export(&s, t->env, row.children, row.n_children, &err);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || s.release == NULL);
    }
    must_ok(rc, &err);
    s.release(&s);
}

static void parse_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc == PML_E_NOMEM; n++) {
        pml_type type;
        pml_arena fresh;
        pml_arena__init(&fresh, t->env);
        test_env_fail_at(t, n);
        rc = pml_type__parse(&type, &fresh, all_types, strlen(all_types), NULL, &err);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || type.kind == 0);
        pml_arena__clear(&fresh);
    }
    must_ok(rc, &err);
}

static void must_refuse(const char *given_text, const char *expected_text, const char *words)
{
    pml_type got = columns(given_text), want = columns(expected_text);
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, t->env, got.children, got.n_children, &err), &err);
    must_fail_with(PML_E_SCHEMA, pml_type__check_arrow(&s, want.children, want.n_children, &err), &err);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    s.release(&s);
}

static void check_names_the_first_difference(void **state)
{
    (void)state;
    must_refuse("ROW<a INT>", "ROW<a BIGINT>", "column 'a' has Arrow format 'i', expected 'l' (BIGINT)");
    must_refuse("ROW<a INT>", "ROW<b INT>", "column 1 is named 'a', expected 'b'");
    must_refuse("ROW<a INT>", "ROW<a INT, b INT>", "column 2, 'b', is missing");
    must_refuse("ROW<a INT, b INT>", "ROW<a INT>", "2 columns came where 1");
    must_refuse("ROW<a ROW<x INT>>", "ROW<a ROW<y INT>>", "named 'x', expected 'y'");
    must_refuse("ROW<a ROW<x INT>>", "ROW<a ROW<x INT, y INT>>", "1 children came where 2");
    must_refuse("ROW<a ARRAY<INT>>", "ROW<a ARRAY<STRING>>", "column 'a'");
    must_refuse("ROW<a TIMESTAMP(3)>", "ROW<a TIMESTAMP_LTZ(3)>", "column 'a'");
    must_refuse("ROW<a DECIMAL(10,2)>", "ROW<a DECIMAL(10,3)>", "column 'a'");
    must_refuse("ROW<a VECTOR<INT,2>>", "ROW<a VECTOR<INT,3>>", "column 'a'");
}

static void check_takes_other_nullability_and_the_long_decimal_form(void **state)
{
    (void)state;
    pml_type got = columns("ROW<a DECIMAL(10,2) NOT NULL>"), want = columns("ROW<a DECIMAL(10,2)>");
    struct ArrowSchema s;
    must_ok(pml_type__export(&s, t->env, got.children, 1, &err), &err);
    must_ok(pml_type__check_arrow(&s, want.children, 1, &err), &err);
    const char *format = s.children[0]->format;
    s.children[0]->format = "d:10,2,128";
    must_ok(pml_type__check_arrow(&s, want.children, 1, &err), &err);
    s.children[0]->format = "d:10,2,256";
    must_fail_with(PML_E_SCHEMA, pml_type__check_arrow(&s, want.children, 1, &err), &err);
    s.children[0]->format = format;
    s.children[0]->dictionary = s.children[0];
    must_fail_with(PML_E_SCHEMA, pml_type__check_arrow(&s, want.children, 1, &err), &err);
    s.children[0]->dictionary = NULL;
    s.release(&s);
    must_fail_with(PML_E_SCHEMA, pml_type__check_arrow(&s, want.children, 1, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(export_every_type_has_its_arrow_format, given, closed),
        cmocka_unit_test_setup_teardown(export_containers_have_derived_ids, given, closed),
        cmocka_unit_test_setup_teardown(export_of_no_columns_is_an_empty_struct, given, closed),
        cmocka_unit_test_setup_teardown(export_child_moved_out_outlives_its_parent, given, closed),
        cmocka_unit_test_setup_teardown(export_outlives_the_environment_of_the_caller, given, closed),
        cmocka_unit_test_setup_teardown(export_without_memory_leaves_nothing_behind, given, closed),
        cmocka_unit_test_setup_teardown(parse_without_memory_leaves_nothing_behind, given, closed),
        cmocka_unit_test_setup_teardown(check_names_the_first_difference, given, closed),
        cmocka_unit_test_setup_teardown(check_takes_other_nullability_and_the_long_decimal_form, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
