/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/columnar/data/variants.txt is made by Java 1.4.2: value and metadata of a variant, both as appendVariant writes them anew, all
 * in hex, and the JSON text of it in UTC.
 */
#include "columnar/variant_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test_env.h"

enum { LINE_MAX_BYTES = 32768, CASES = 223 };

static test_env *t;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

/* In an allocation of its own size, so that a sanitizer sees a byte too far. */
static pml_bytes bytes_of(const char *hex, size_t n)
{
    uint8_t *p = malloc(n / 2 + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n / 2; i++) {
        static const char digits[] = "0123456789abcdef";
        p[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 | (strchr(digits, hex[2 * i + 1]) - digits));
    }
    uint8_t *exact = n < 2 ? p : realloc(p, n / 2);
    assert_non_null(exact);
    return (pml_bytes){exact, n / 2};
}

typedef struct java_case {
    pml_bytes value, metadata, again_value, again_metadata;
    const char *json;
} java_case;

static void with_cases(void (*run)(const java_case *c))
{
    static char line[LINE_MAX_BYTES];
    FILE *f = fopen(PML_TEST_SOURCE "/columnar/data/variants.txt", "r");
    assert_non_null(f);
    int n = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        pml_bytes parts[4];
        char *at = line;
        for (int i = 0; i < 4; i++) {
            size_t len = strcspn(at, " ");
            parts[i] = bytes_of(at, len);
            at += len + 1;
        }
        at[strcspn(at, "\n")] = '\0';
        run(&(java_case){parts[0], parts[1], parts[2], parts[3], at});
        for (int i = 0; i < 4; i++)
            free((void *)parts[i].ptr);
        n++;
    }
    (void)fclose(f);
    assert_int_equal(n, CASES);
}

static void text_is(pml_bytes value, pml_bytes metadata, const char *json)
{
    pml_buf text;
    pml_buf__init(&text, t->env, 1 << 20);
    must_ok(pml_variant__print(&text, value, metadata, &err), &err);
    (void)pml_buf__append_byte(&text, '\0');
    assert_string_equal((char *)text.data, json);
    pml_buf__clear(&text);
}

static void prints(const java_case *c)
{
    must_ok(pml_variant__check(c->value, c->metadata, &err), &err);
    text_is(c->value, c->metadata, c->json);
}

static void variants_print_as_java_prints_them(void **state)
{
    (void)state;
    with_cases(prints);
}

static int copy(pml_variant_builder *b, pml_bytes value, pml_bytes metadata)
{
    pml_variant v;
    pml_variant_builder__reset(b);
    PML_RETURN_IF(pml_variant__open(&v, value, metadata, &err));
    PML_RETURN_IF(pml_variant_builder__copy(b, &v, 0, 0));
    return pml_variant_builder__finish(b, &err);
}

static void copies(const java_case *c)
{
    pml_variant_builder b;
    pml_variant_builder__init(&b, t->env);
    for (int i = 0; i < 2; i++) { /* the second time into memory that is there */
        must_ok(copy(&b, c->value, c->metadata), &err);
        assert_int_equal(b.value.len, c->again_value.len);
        assert_memory_equal(b.value.data, c->again_value.ptr, b.value.len);
        assert_int_equal(b.metadata.len, c->again_metadata.len);
        assert_memory_equal(b.metadata.data, c->again_metadata.ptr, b.metadata.len);
    }
    pml_variant_builder__clear(&b);
}

static void variants_are_built_byte_by_byte_as_java_builds_them(void **state)
{
    (void)state;
    with_cases(copies);
}

static void survives(const java_case *c)
{
    pml_variant_builder b;
    pml_buf text;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK && c->value.len < 100; n++) {
        pml_variant_builder__init(&b, t->env);
        pml_buf__init(&text, t->env, 1 << 20);
        test_env_fail_at(t, n);
        rc = copy(&b, c->value, c->metadata);
        if (rc == PML_OK)
            rc = pml_variant__print(&text, c->value, c->metadata, &err);
        test_env_fail_at(t, 0);
        if (rc != PML_OK)
            assert_int_equal(rc, PML_E_NOMEM);
        pml_buf__clear(&text);
        pml_variant_builder__clear(&b);
    }
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    with_cases(survives);
}

static void malformed(const char *value, const char *metadata, const char *words)
{
    pml_bytes v = bytes_of(value, strlen(value)), m = bytes_of(metadata, strlen(metadata));
    pml_buf text;
    pml_buf__init(&text, t->env, 1 << 20);
    must_fail_with(PML_E_CORRUPT, pml_variant__check(v, m, &err), &err);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    must_fail_with(PML_E_CORRUPT, pml_variant__print(&text, v, m, &err), &err);
    assert_int_equal(text.len, 0);
    pml_buf__clear(&text);
    free((void *)v.ptr);
    free((void *)m.ptr);
}

#define EMPTY "010000"
#define KEY_A "0101000161"

static void malformed_variants_are_refused_with_a_reason(void **state)
{
    (void)state;
    malformed("", EMPTY, "behind its end");
    malformed("00", "", "not of version 1");
    malformed("00", "020000", "not of version 1");
    malformed("18", EMPTY, "is cut off");                   /* INT8 without its bytes */
    malformed("0d61", EMPTY, "is cut off");                 /* a text of three */
    malformed("40ffffff7f61", EMPTY, "is cut off");         /* a long text */
    malformed("40ff", EMPTY, "length is cut off");
    malformed("44", EMPTY, "no type of a value");           /* 17 */
    malformed("4c", EMPTY, "no type of a value");           /* 19 */
    malformed("03", EMPTY, "number of members");
    malformed("13ffffff", EMPTY, "number of members");      /* an array of many, cut */
    malformed("13ffffff7f00", EMPTY, "more members than bytes");
    malformed("03010501", EMPTY, "behind its end");
    malformed("0302000001" "00", EMPTY, "lie over each other");
    malformed("03010000", EMPTY, "behind its end");
    malformed("020100000100", EMPTY, "no key");             /* without keys */
    malformed("020101000100", KEY_A, "no key");
    malformed("020100000100", "0101000261", "outside of its metadata");
    malformed("020100000100", "0101020161", "outside of its metadata");
    malformed("020100000100", "01010001ff", "not valid UTF-8");
    malformed("05ff", EMPTY, "not valid UTF-8");
    malformed("20" "0a" "01000000", EMPTY, "more digits");  /* a scale of ten of nine digits */
    malformed("20" "00" "ffffff7f", EMPTY, "more digits");
}

/* Arrays of one element in each other. */
static void depth_is_limited(void **state)
{
    (void)state;
    enum { HEAD = 8 }; /* 03, 1, two offsets of three bytes */
    for (int depth = PML_VARIANT_DEPTH_MAX; depth <= PML_VARIANT_DEPTH_MAX + 1; depth++) {
        size_t n = (size_t)depth * HEAD + 1;
        uint8_t *p = calloc(n, 1);
        assert_non_null(p);
        for (int i = 0; i < depth; i++) {
            uint32_t data = (uint32_t)(n - (size_t)(i + 1) * HEAD);
            uint8_t head[HEAD] = {0x0b, 1, 0, 0, 0, (uint8_t)data, (uint8_t)(data >> 8), (uint8_t)(data >> 16)};
            memcpy(p + i * HEAD, head, HEAD);
        }
        int rc = pml_variant__check((pml_bytes){p, n}, (pml_bytes){(const uint8_t *)"\1\0\0", 3}, &err);
        if (depth == PML_VARIANT_DEPTH_MAX)
            must_ok(rc, &err);
        else
            must_fail_with(PML_E_CORRUPT, rc, &err);
        free(p);
    }
}

static void a_key_twice_in_an_object_is_found_when_it_is_built(void **state)
{
    (void)state;
    pml_variant_builder b;
    pml_variant_builder__init(&b, t->env);
    const uint8_t value[] = {0x02, 2, 0, 0, 0, 1, 2, 0, 0}, metadata[] = {0x01, 1, 0, 1, 'a'};
    must_ok(pml_variant__check((pml_bytes){value, sizeof value}, (pml_bytes){metadata, sizeof metadata}, &err), &err);
    must_fail_with(PML_E_CORRUPT, copy(&b, (pml_bytes){value, sizeof value}, (pml_bytes){metadata, sizeof metadata}), &err);
    assert_non_null(strstr(err.message, "key 'a' twice"));
    pml_variant_builder__clear(&b);
}

/* An array of objects that all have one long key: small, and without end to go through. */
static void keys_of_many_members_are_limited(void **state)
{
    (void)state;
    enum { KEY = 1024 * 1024, OBJECT = 6, MANY = PML_VARIANT_KEYS_MAX / KEY, HEAD = 5 };
    static const uint8_t object[OBJECT] = {0x02, 1, 0, 0, 1, 0x00};
    for (uint32_t n = MANY; n <= MANY + 1; n++) {
        size_t head = HEAD + (n + 1) * 4, len = head + n * OBJECT;
        uint8_t *value = calloc(len, 1), *metadata = calloc(HEAD + 8 + KEY, 1);
        assert_true(value != NULL && metadata != NULL);
        value[0] = 0x1f; /* numbers of four bytes */
        pml_put_le32(value + 1, n);
        for (uint32_t i = 0; i <= n; i++)
            pml_put_le32(value + HEAD + i * 4, i * OBJECT);
        for (uint32_t i = 0; i < n; i++)
            memcpy(value + head + i * OBJECT, object, OBJECT);
        metadata[0] = 0xc1;
        metadata[1] = 1;
        pml_put_le32(metadata + HEAD + 4, KEY);
        memset(metadata + HEAD + 8, 'k', KEY);
        int rc = pml_variant__check((pml_bytes){value, len}, (pml_bytes){metadata, HEAD + 8 + KEY}, &err);
        if (n == MANY)
            must_ok(rc, &err);
        else
            must_fail_with(PML_E_LIMIT, rc, &err);
        free(value);
        free(metadata);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(variants_print_as_java_prints_them, given, closed),
        cmocka_unit_test_setup_teardown(variants_are_built_byte_by_byte_as_java_builds_them, given, closed),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, given, closed),
        cmocka_unit_test_setup_teardown(malformed_variants_are_refused_with_a_reason, given, closed),
        cmocka_unit_test_setup_teardown(depth_is_limited, given, closed),
        cmocka_unit_test_setup_teardown(a_key_twice_in_an_object_is_found_when_it_is_built, given, closed),
        cmocka_unit_test_setup_teardown(keys_of_many_members_are_limited, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
