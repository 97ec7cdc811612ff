/* SPDX-License-Identifier: Apache-2.0 */
/* tests/columnar/data/bucket_hash.jsonl was made by Java 1.4.2: binary row, hash and bucket of seven for every key type. */
#include "columnar/bucket.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test_types.h"

enum { MAX_KEYS = 8 };

typedef struct golden {
    size_t n;
    pml_type types[MAX_KEYS];
    const pml_type *pointers[MAX_KEYS];
    pml_value values[MAX_KEYS];
} golden;

/* JSON reals lose the text, but %.17g gives back the same double, and from it the same float. */
static const char *text_of(const json_t *v, char text[64])
{
    if (json_is_string(v))
        return json_string_value(v);
    if (json_is_boolean(v))
        return json_is_true(v) ? "true" : "false";
    if (json_is_integer(v))
        (void)snprintf(text, 64, "%lld", (long long)json_integer_value(v));
    else
        (void)snprintf(text, 64, "%.17g", json_real_value(v));
    return text;
}

static void load(golden *g, pml_arena *arena, json_t *line)
{
    json_t *types = json_object_get(line, "types"), *row = json_object_get(line, "row"), *v;
    const char *key;
    g->n = 0;
    json_object_foreach(row, key, v)
    {
        char text[64];
        pml_error err = PML_ERROR_INIT;
        size_t i = g->n++;
        g->types[i] = test_type(json_string_value(json_array_get(types, i)));
        g->pointers[i] = &g->types[i];
        g->values[i] = (pml_value){.kind = PML_VALUE_NULL};
        const char *s = text_of(v, text);
        if (!json_is_null(v))
            must_ok(pml_value__parse(&g->values[i], arena, &g->types[i], s, strlen(s), &err), &err);
    }
    assert_int_equal(g->n, json_array_size(types));
}

static int32_t assigned(test_env *t, golden *g)
{
    struct ArrowArray *columns[MAX_KEYS];
    int32_t indexes[MAX_KEYS], bucket = -1;
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < g->n; i++) {
        columns[i] = test_column(g->pointers[i], &g->values[i], 1, (int64_t)i);
        indexes[i] = (int32_t)i;
    }
    must_ok(pml_bucket__assign(&bucket, t->env, PML_BUCKET_BY_HASH, 7, g->pointers,
                               test_batch(columns, (int64_t)g->n, 1), indexes, g->n, &err),
            &err);
    return bucket;
}

static void check_line(test_env *t, pml_buf *out, json_t *line)
{
    golden g;
    pml_arena arena;
    pml_value back[MAX_KEYS];
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&arena, t->env);
    load(&g, &arena, line);
    pml_buf__reset(out);
    must_ok(pml_binary_row__write(out, g.pointers, g.values, g.n), NULL);
    test_bytes_are(out->data, out->len, json_string_value(json_object_get(line, "binaryRow")));
    int32_t hash = pml_binary_row__hash((pml_bytes){out->data, out->len});
    assert_int_equal(hash, json_integer_value(json_object_get(line, "hash")));
    assert_int_equal(pml_bucket__default(hash, 7), json_integer_value(json_object_get(line, "bucketOf7")));
    assert_int_equal(assigned(t, &g), pml_bucket__default(hash, 7));
    must_ok(pml_binary_row__read(back, g.pointers, g.n, (pml_bytes){out->data, out->len}, &err), &err);
    for (size_t i = 0; i < g.n; i++)
        assert_true(pml_value__equal(&back[i], &g.values[i]));
    pml_arena__clear(&arena);
    test_types_clear();
}

static void rows_of_every_key_type_hash_as_in_java(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    size_t len, lines = 0;
    char *file = (char *)test_read_file(PML_TEST_SOURCE "/columnar/data/bucket_hash.jsonl", &len);
    pml_buf out;
    pml_buf__init(&out, t->env, PML_BINARY_ROW_MAX);
    for (char *p = file, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        json_t *line = json_loadb(p, (size_t)(end - p), 0, NULL);
        assert_non_null(line);
        check_line(t, &out, line);
        json_decref(line);
        lines++;
    }
    assert_int_equal(lines, 318);
    pml_buf__clear(&out);
    free(file);
    test_env_close(t);
}

static void mod_is_java_s_floor_mod(void **state)
{
    (void)state;
    assert_int_equal(pml_bucket__mod(-7, 5), 3);
    assert_int_equal(pml_bucket__mod(7, 5), 2);
    assert_int_equal(pml_bucket__mod(-5, 5), 0);
    assert_int_equal(pml_bucket__mod(INT64_MIN, INT32_MAX), 2147483645);
    assert_int_equal(pml_bucket__mod(INT64_MAX, 1), 0);
}

static void batch_by_mod_counts_null_as_zero(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_type type = test_type("INT"), text = test_type("STRING");
    const pml_type *types[2] = {&type, &type}, *texts[1] = {&text};
    const pml_value values[4] = {test_int(99), test_int(-7), {.kind = PML_VALUE_NULL}, test_int(12)};
    const int32_t columns[2] = {0, 0};
    int32_t buckets[3];
    struct ArrowArray *column = test_column(&type, values, 4, 3), *batch = test_batch(&column, 1, 3);
    batch->offset = 1; /* rows 1 to 3 of the column */
    must_ok(pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_MOD, 5, types, batch, columns, 1, NULL), NULL);
    assert_int_equal(buckets[0], 3);
    assert_int_equal(buckets[1], 0);
    assert_int_equal(buckets[2], 2);
    must_ok(pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_HASH, 5, types, batch, columns, 1, NULL), NULL);
    assert_int_equal(buckets[0], 2); /* golden: INT -7 and INT null */
    assert_int_equal(buckets[1], 4);
    must_fail_with(PML_E_INVAL,
                   pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_MOD, 0, types, batch, columns, 1, NULL), NULL);
    must_fail_with(PML_E_INVAL,
                   pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_MOD, 5, types, batch, columns, 2, NULL), NULL);
    must_fail_with(PML_E_INVAL,
                   pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_MOD, 5, texts, batch, columns, 1, NULL), NULL);
    test_types_clear();
    test_env_close(t);
}

static void batch_of_two_keys_allocates_once_and_survives_no_memory(void **state)
{
    (void)state;
    enum { ROWS = 500 };
    test_env *t = test_env_open(NULL);
    pml_type a = test_type("STRING"), b = test_type("BIGINT");
    const pml_type *types[2] = {&a, &b};
    pml_value texts[ROWS], numbers[ROWS];
    int32_t buckets[ROWS];
    const int32_t columns[2] = {0, 1}, text_only[1] = {0};
    for (int i = 0; i < ROWS; i++) {
        texts[i] = test_bytes(i % 2 == 0 ? "short" : "longer than seven");
        numbers[i] = test_int(i);
    }
    struct ArrowArray *arrays[2] = {test_column(&a, texts, ROWS, 0), test_column(&b, numbers, ROWS, 5)};
    struct ArrowArray *batch = test_batch(arrays, 2, ROWS);
    long long before = atomic_load(&t->count);
    must_ok(pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_HASH, 16, types, batch, columns, 2, NULL), NULL);
    assert_true(atomic_load(&t->count) - before <= 1);
    before = atomic_load(&t->count);
    must_ok(pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_HASH, 16, types, batch, text_only, 1, NULL), NULL);
    assert_int_equal(atomic_load(&t->count), before);
    test_env_fail_at(t, 1);
    must_fail_with(PML_E_NOMEM,
                   pml_bucket__assign(buckets, t->env, PML_BUCKET_BY_HASH, 16, types, batch, columns, 2, NULL), NULL);
    test_types_clear();
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_key_type_hash_as_in_java),
        cmocka_unit_test(mod_is_java_s_floor_mod),
        cmocka_unit_test(batch_by_mod_counts_null_as_zero),
        cmocka_unit_test(batch_of_two_keys_allocates_once_and_survives_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
