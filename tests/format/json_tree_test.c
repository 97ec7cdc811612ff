/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of many members; what JSON lines mean is in text_data_test.c. */
#include "support/test_env.h"

#include <stdio.h>
#include <string.h>

#include "format/json_tree.h"
#include "util/buf.h"

enum { MANY = 1000 };

static pml_bytes bytes_of(const char *text)
{
    return (pml_bytes){(const uint8_t *)text, strlen(text)};
}

/* {"n0":0,"n1":1, ...}, every name again with a number more, backwards */
static pml_json_node *parsed(test_env *t, pml_arena *arena, pml_buf *text)
{
    pml_error err = PML_ERROR_INIT;
    pml_json_node *object;
    pml_buf__init(text, t->env, 1 << 20);
    for (int i = 0; i < MANY; i++)
        (void)pml_buf__append_format(text, "%s\"n%d\":%d", i == 0 ? "{" : ",", i, i);
    for (int i = MANY; i-- > 0;)
        (void)pml_buf__append_format(text, ",\"n%d\":%d", i, i + MANY);
    (void)pml_buf__append_str(text, "}");
    must_ok(pml_json_tree__parse(&object, (pml_bytes){text->data, text->len}, arena, &err), &err);
    return object;
}

static void members_are_found_in_any_order(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_arena arena;
    pml_buf text;
    char name[32], value[32];
    pml_arena__init(&arena, t->env);
    pml_json_node *object = parsed(t, &arena, &text), *last = NULL;
    assert_int_equal(object->n, MANY);
    for (int step = 1; step < MANY; step += 331) /* one behind the other, and across */
        for (int i = 0; i < MANY; i++) {
            int k = i * step % MANY;
            (void)snprintf(name, sizeof name, "n%d", k);
            (void)snprintf(value, sizeof value, "%d", k + MANY);
            last = pml_json_tree__member(object, last, bytes_of(name), t->env);
            assert_non_null(last);
            assert_true(pml_bytes_equal(last->name, bytes_of(name)) && pml_bytes_equal(last->text, bytes_of(value)));
        }
    assert_null(pml_json_tree__member(object, last, bytes_of("n1000"), t->env));
    assert_null(pml_json_tree__member(object, NULL, bytes_of(""), t->env));
    pml_buf__clear(&text);
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* Who wrote the file cannot know which names have one hash. */
static void names_have_other_hashes_in_another_environment(void **state)
{
    (void)state;
    test_env *t[2];
    pml_arena arena[2];
    pml_buf text[2];
    pml_json_node *m[2];
    size_t same = 0;
    for (int i = 0; i < 2; i++) {
        t[i] = test_env_open(NULL);
        t[i]->env->hash_seed += (uint64_t)i;
        pml_arena__init(&arena[i], t[i]->env);
        m[i] = parsed(t[i], &arena[i], &text[i])->first;
    }
    for (; m[0] != NULL; m[0] = m[0]->next, m[1] = m[1]->next)
        same += m[0]->hash == m[1]->hash;
    assert_true(same < MANY / 100);
    for (int i = 0; i < 2; i++) {
        pml_buf__clear(&text[i]);
        pml_arena__clear(&arena[i]);
        test_env_close(t[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_in_any_order),
        cmocka_unit_test(names_have_other_hashes_in_another_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
