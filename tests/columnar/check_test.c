/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/array_memory.h"
#include "support/random_batch.h"

enum { COLUMNS = 26, ROWS = 40 };

static const pml_check_level levels[3] = {PML_CHECK_TRUSTED, PML_CHECK_BASIC, PML_CHECK_FULL};

/* Refused at `from` and above, accepted below; the message names the column and, unless row < 0, the row. */
static void refused_from(pml_check_level from, const struct ArrowArray *batch, const pml_field *fields, size_t n,
                         const char *column, int64_t row)
{
    for (int i = 0; i < 3; i++) {
        pml_error err = PML_ERROR_INIT;
        char text[128];
        int rc = pml_batch__check(batch, fields, n, levels[i], &err);
        if (levels[i] < from) {
            must_ok(rc, &err);
            continue;
        }
        must_fail_with(PML_E_INVAL, rc, &err);
        if (row >= 0)
            (void)snprintf(text, sizeof text, "column %s is invalid at row %d:", column, (int)row);
        else
            (void)snprintf(text, sizeof text, "column %s is invalid:", column);
        if (strstr(err.message, text) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", text, err.message);
    }
}

static void check_accepts_random_batches_at_every_level(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    for (int round = 0; round < 60; round++) {
        pml_arena arena;
        struct ArrowArray batch;
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, COLUMNS, 4, true);
        random_batch(&batch, t, fields, COLUMNS, round == 0 ? 0 : ROWS);
        for (int i = 0; i < 3; i++)
            must_ok(pml_batch__check(&batch, fields, COLUMNS, levels[i], &err), &err);
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    test_env_close(t);
}

static void noop_release(struct ArrowArray *a)
{
    a->release = NULL;
}

/* A batch of one column over the given array; everything lives in static memory. */
static struct ArrowArray batch_of(struct ArrowArray *column)
{
    static const void *none[1];
    static struct ArrowArray *children[1];
    children[0] = column;
    column->release = noop_release;
    return (struct ArrowArray){.length = column->length,
                               .n_buffers = 1,
                               .n_children = 1,
                               .buffers = none,
                               .children = children,
                               .release = noop_release};
}

static void check_names_the_row_of_wrong_values(void **state)
{
    (void)state;
    uint8_t validity = 0x3D; /* row 1 is null */
    int32_t offsets[5] = {0, 1, 3, 4, 5}, times[4] = {0, -1, 86400000, 5};
    pml_int128 decimals[4] = {1, 99999, -99999, 100};
    const void *text[3] = {NULL, offsets, "a\xC3\xA9\xFFz"}, *time[2] = {&validity, times},
               *decimal[2] = {&validity, decimals};
    pml_field f = {.name = "c", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}};
    struct ArrowArray a = {.length = 4, .n_buffers = 3, .buffers = text}, batch = batch_of(&a);
    refused_from(PML_CHECK_FULL, &batch, &f, 1, "c", 2);
    f.type.kind = PML_TYPE_VARBINARY;
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_FULL, NULL), NULL);
    a = (struct ArrowArray){.length = 4, .null_count = -1, .n_buffers = 2, .buffers = time, .release = noop_release};
    f.type = (pml_type){.kind = PML_TYPE_TIME, .nullable = true};
    refused_from(PML_CHECK_FULL, &batch, &f, 1, "c", 2);
    f.type.nullable = false;
    refused_from(PML_CHECK_BASIC, &batch, &f, 1, "c", 1);
    a.null_count = 1;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "c", -1);
    a.buffers = decimal;
    f.type = (pml_type){.kind = PML_TYPE_DECIMAL, .precision = 4, .nullable = true};
    refused_from(PML_CHECK_FULL, &batch, &f, 1, "c", 2);
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_STORED, NULL), NULL); /* a sum of Java's */
    decimals[2] = (pml_int128)1 << 63;
    f.type.precision = 18;
    must_fail_with(PML_E_INVAL, pml_batch__check(&batch, &f, 1, PML_CHECK_STORED, NULL), NULL);
    f.type.precision = 19;
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_STORED, NULL), NULL);
    f.type.precision = 8;
    must_fail_with(PML_E_INVAL, pml_batch__check(&batch, &f, 1, PML_CHECK_STORED, NULL), NULL);
}

static void check_of_texts_knows_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {{"plain ascii text", true},
                 {"\xC3\xA9", true},
                 {"\xED\x9F\xBF", true},
                 {"\xF4\x8F\xBF\xBF", true},
                 {"12345678\xC2\x80", true},
                 {"\xC0\x80", false},
                 {"\xC1\xBF", false},
                 {"\xE0\x9F\xBF", false},
                 {"\xED\xA0\x80", false},
                 {"\xF0\x8F\xBF\xBF", false},
                 {"\xF4\x90\x80\x80", false},
                 {"\xF5\x80\x80\x80", false},
                 {"\x80", false},
                 {"\xE2\x82", false},
                 {"1234567\xFF", false},
                 {"\xF0\x9F\x98\x80 fine", true},
                 {"\xE2\x28\xA1", false}};
    const pml_field f = {.name = "c", .type = {.kind = PML_TYPE_CHAR, .nullable = true, .length = 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t offsets[2] = {0, (int32_t)strlen(cases[i].text)};
        const void *buffers[3] = {NULL, offsets, cases[i].text};
        struct ArrowArray a = {.length = 1, .n_buffers = 3, .buffers = buffers}, batch = batch_of(&a);
        assert_int_equal(pml_batch__check(&batch, &f, 1, PML_CHECK_FULL, NULL) == PML_OK, cases[i].valid);
    }
}

static void check_of_offsets_refuses_wild_ones(void **state)
{
    (void)state;
    static const struct {
        int32_t offsets[4];
        pml_check_level from;
        int64_t row;
    } cases[] = {{{0, 3, 2, 4}, PML_CHECK_BASIC, 1},
                 {{-1, 0, 1, 2}, PML_CHECK_TRUSTED, 0},
                 {{3, 3, 3, 2}, PML_CHECK_TRUSTED, 0},
                 {{0, INT32_MAX, 1, 1}, PML_CHECK_BASIC, 1}};
    const pml_field f = {.name = "c", .type = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const void *buffers[3] = {NULL, cases[i].offsets, "abcd"};
        struct ArrowArray a = {.length = 3, .n_buffers = 3, .buffers = buffers}, batch = batch_of(&a);
        refused_from(cases[i].from, &batch, &f, 1, "c", cases[i].row);
    }
}

static void check_of_nested_nulls_only_counts_live_rows(void **state)
{
    (void)state;
    /* ARRAY<ROW<x INT NOT NULL>>: rows {0, 1}, null over {2}, {3, 4}; x is null in elements 2 and 4. */
    int32_t offsets[4] = {0, 2, 3, 5}, ints[6] = {0};
    uint8_t list_bits = 0x05, struct_bits = 0xFF, int_bits = 0x1B & ~0x10;
    const void *list[2] = {&list_bits, offsets}, *row[1] = {&struct_bits}, *x[2] = {&int_bits, ints};
    struct ArrowArray xs = {.length = 5, .null_count = -1, .n_buffers = 2, .buffers = x, .release = noop_release};
    struct ArrowArray *row_children[1] = {&xs};
    struct ArrowArray rows = {.length = 5,
                              .null_count = -1,
                              .n_buffers = 1,
                              .n_children = 1,
                              .buffers = row,
                              .children = row_children,
                              .release = noop_release};
    struct ArrowArray *list_children[1] = {&rows};
    struct ArrowArray a = {
        .length = 3, .null_count = -1, .n_buffers = 2, .n_children = 1, .buffers = list, .children = list_children};
    struct ArrowArray batch = batch_of(&a);
    pml_field member = {.name = "x", .type = {.kind = PML_TYPE_INT}};
    pml_field element = {.name = "element",
                         .type = {.kind = PML_TYPE_ROW, .nullable = true, .n_children = 1, .children = &member}};
    const pml_field f = {.name = "c",
                         .type = {.kind = PML_TYPE_ARRAY, .nullable = true, .n_children = 1, .children = &element}};
    refused_from(PML_CHECK_BASIC, &batch, &f, 1, "c.element.x", 2);
    struct_bits = 0xEF; /* now the row around element 4 is null, too */
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_FULL, NULL), NULL);
    list_bits = 0x07;
    refused_from(PML_CHECK_BASIC, &batch, &f, 1, "c.element.x", 1);
}

static void check_of_maps_refuses_null_keys(void **state)
{
    (void)state;
    int32_t offsets[3] = {0, 1, 3}, ints[3] = {0};
    uint8_t key_bits = 0x03, entry_bits = 0x07;
    const void *map[2] = {NULL, offsets}, *entry[1] = {&entry_bits}, *key[2] = {&key_bits, ints},
               *value[2] = {NULL, ints};
    struct ArrowArray keys = {.length = 3, .null_count = -1, .n_buffers = 2, .buffers = key, .release = noop_release};
    struct ArrowArray values = {.length = 3, .n_buffers = 2, .buffers = value, .release = noop_release};
    struct ArrowArray *entry_children[2] = {&keys, &values};
    struct ArrowArray entries = {.length = 3,
                                 .null_count = -1,
                                 .n_buffers = 1,
                                 .n_children = 2,
                                 .buffers = entry,
                                 .children = entry_children,
                                 .release = noop_release};
    struct ArrowArray *map_children[1] = {&entries};
    struct ArrowArray a = {.length = 2, .n_buffers = 2, .n_children = 1, .buffers = map, .children = map_children};
    struct ArrowArray batch = batch_of(&a);
    pml_field kv[2] = {{.name = "key", .type = {.kind = PML_TYPE_INT, .nullable = true}},
                       {.name = "value", .type = {.kind = PML_TYPE_INT, .nullable = true}}};
    const pml_field f = {.name = "m", .type = {.kind = PML_TYPE_MAP, .n_children = 2, .children = kv}};
    refused_from(PML_CHECK_BASIC, &batch, &f, 1, "m.key", 1);
    key_bits = 0x07;
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_FULL, NULL), NULL);
    entry_bits = 0x06;
    refused_from(PML_CHECK_BASIC, &batch, &f, 1, "m", 0);
    entry_bits = 0x07;
    offsets[2] = 4;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "m", 0);
    offsets[2] = 3;
    values.length = 2;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "m.value", -1);
}

/* Any node of the tree. */
static struct ArrowArray *random_node(test_env *t, struct ArrowArray *a)
{
    while (a->n_children > 0 && test_random(t) % 4 != 0)
        a = a->children[test_random(t) % (uint64_t)a->n_children];
    return a;
}

/* Lies that a check can see: counts that are too large for real buffers are beyond the C interface. */
static void spoil(test_env *t, struct ArrowArray *a)
{
    static const int64_t wild[] = {-1, -2, INT64_MIN, INT64_MAX, INT64_MAX - 1, (int64_t)1 << 60, 0, 1, 3};
    int64_t w = wild[test_random(t) % 9];
    int32_t *offsets;
    switch (test_random(t) % 9) {
    case 0: a->length = w < 4 && w > 0 && a->length > w ? w : w > 4 ? INT64_MAX - (w & 1) : w; break;
    case 1: a->offset = w > 0 && w < 4 ? 0 : w; break;
    case 2: a->null_count = w; break;
    case 3: a->n_children = w; break;
    case 4: a->n_buffers = w; break;
    case 5: a->children = NULL; break;
    case 6: a->buffers[test_random(t) % (uint64_t)(a->n_buffers > 0 ? a->n_buffers : 1)] = NULL; break;
    case 7: a->dictionary = test_random(t) % 2 ? a : NULL; break;
    default:
        offsets = (int32_t *)(uintptr_t)(a->n_buffers > 1 && a->length > 0 ? a->buffers[1] : NULL);
        if (a->n_buffers == 3 && offsets != NULL) /* never above the last one, the data buffer ends there */
            offsets[a->offset + (int64_t)(test_random(t) % (uint64_t)a->length)] = (int32_t)(test_random(t) % 3) - 1;
        break;
    }
}

static void copy_node(struct ArrowArray *out, const struct ArrowArray *a)
{
    *out = *a;
    out->release = noop_release;
    if (a->n_buffers > 0) {
        out->buffers = calloc((size_t)a->n_buffers, sizeof *out->buffers);
        memcpy(out->buffers, a->buffers, (size_t)a->n_buffers * sizeof *out->buffers);
    }
    if (a->n_children > 0)
        out->children = calloc((size_t)a->n_children, sizeof *out->children);
    for (int64_t i = 0; i < a->n_children; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        copy_node(out->children[i], a->children[i]);
    }
}

/* By the shape of the original, because the copy lies. */
static void free_node(struct ArrowArray *copy, const struct ArrowArray *a, struct ArrowArray **children,
                      const void **buffers)
{
    free(buffers);
    for (int64_t i = 0; i < a->n_children; i++) {
        struct ArrowArray *c = children[i];
        (void)copy;
        free_node(c, a->children[i], c->children, c->buffers);
        free(c);
    }
    free(children);
}

static void check_of_spoilt_batches_never_lets_gather_crash(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    int refused = 0, accepted = 0;
    for (int round = 0; round < 1500; round++) {
        pml_arena arena;
        struct ArrowArray batch, bad, out;
        pml_error err = PML_ERROR_INIT;
        pml_arena__init(&arena, t->env);
        pml_field *fields = random_fields(t, &arena, 8, 3, false);
        random_batch(&batch, t, fields, 8, 12);
        copy_node(&bad, &batch);
        struct ArrowArray *node = random_node(t, &bad);
        struct ArrowArray before = *node;
        spoil(t, node);
        (void)pml_batch__check(&bad, fields, 8, PML_CHECK_TRUSTED, &err);
        int rc = pml_batch__check(&bad, fields, 8, PML_CHECK_FULL, &err);
        if (rc == PML_OK) {
            pml_stats_collector *s;
            must_ok(pml_batch__gather_rows(&out, t->env, fields, 8, &bad, NULL, bad.length, &err), &err);
            pml_array__release(&out);
            (void)pml_batch__bytes(&bad, fields, 8);
            must_ok(pml_stats__new(&s, t->env, fields, 8, &err), &err);
            must_ok(pml_stats__update(s, &bad, &err), &err);
            pml_stats__free(s);
        }
        refused += rc != PML_OK;
        accepted += rc == PML_OK;
        node->children = before.children;
        free_node(&bad, &batch, bad.children, bad.buffers);
        pml_array__release(&batch);
        pml_arena__clear(&arena);
    }
    assert_true(refused > 200 && accepted > 200);
    test_env_close(t);
}

static void check_of_missing_parts_says_so(void **state)
{
    (void)state;
    const pml_field f = {.name = "c", .type = {.kind = PML_TYPE_INT, .nullable = true}};
    const int32_t ints[2] = {1, 2};
    const void *buffers[2] = {NULL, ints};
    struct ArrowArray a = {.length = 2, .n_buffers = 2, .buffers = buffers}, batch = batch_of(&a);
    must_fail_with(PML_E_INVAL, pml_batch__check(NULL, &f, 1, PML_CHECK_BASIC, NULL), NULL);
    must_fail_with(PML_E_INVAL, pml_batch__check(&batch, &f, 0, PML_CHECK_BASIC, NULL), NULL);
    must_ok(pml_batch__check(&batch, &f, 1, PML_CHECK_FULL, NULL), NULL);
    buffers[1] = (const uint8_t *)ints + 1;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "c", -1);
    buffers[1] = NULL;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "c", -1);
    buffers[1] = ints;
    a.release = NULL;
    refused_from(PML_CHECK_TRUSTED, &batch, &f, 1, "c", -1);
    batch.release = NULL;
    must_fail_with(PML_E_INVAL, pml_batch__check(&batch, &f, 1, PML_CHECK_BASIC, NULL), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_accepts_random_batches_at_every_level),
        cmocka_unit_test(check_names_the_row_of_wrong_values),
        cmocka_unit_test(check_of_texts_knows_utf8),
        cmocka_unit_test(check_of_offsets_refuses_wild_ones),
        cmocka_unit_test(check_of_nested_nulls_only_counts_live_rows),
        cmocka_unit_test(check_of_maps_refuses_null_keys),
        cmocka_unit_test(check_of_spoilt_batches_never_lets_gather_crash),
        cmocka_unit_test(check_of_missing_parts_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
