/* SPDX-License-Identifier: Apache-2.0 */
/* Groups as shredding makes them, put together again. What Java shreds is read in tests/tables and tests/interop. */
#include "format/variant_rebuild.h"
#include "format/variant_shred.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "columnar/array_memory.h"
#include "columnar/row_text.h"
#include "support/test_types.h"

static test_env *t;
static pml_arena arena;
static pml_error err;

static int given(void **state)
{
    (void)state;
    t = test_env_open(NULL);
    pml_arena__init(&arena, t->env);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    pml_arena__clear(&arena);
    test_env_close(t);
    return 0;
}

static pml_type type_of(const char *text)
{
    pml_type type;
    must_ok(pml_type__parse(&type, &arena, text, strlen(text), NULL, &err), &err);
    return type;
}

static pml_value bytes_of(const char *text, size_t n)
{
    return (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)text, n}};
}

static void put(pml_builder *b, pml_value v)
{
    must_ok(pml_builder__append_value(b, &v), NULL);
}

#define NULL_VALUE ((pml_value){.kind = PML_VALUE_NULL})
#define NO_KEYS bytes_of("\1\0\0", 3)
#define KEYS_XY bytes_of("\1\2\0\1\2xy", 7)

/* One column v of a file: what comes of it, as text; NULL: it failed, as err says. */
static char *assembled(const char *wanted, const char *stored, void (*fill)(pml_builder *b), int *rc)
{
    struct ArrowSchema file;
    struct ArrowArray column, batch;
    pml_variant_shred *shred = NULL;
    pml_builder *b;
    pml_buf out;
    const pml_field is = {.name = "v", .type = type_of(stored)}, want = {.name = "v", .type = type_of(wanted)};
    char *text = NULL;
    must_ok(pml_type__export(&file, t->env, &is, 1, &err), &err);
    must_ok(pml_builder__new(&b, t->env, &is.type, &err), &err);
    fill(b);
    int64_t rows = pml_builder__length(b);
    must_ok(pml_builder__finish(b, &column, &err), &err);
    pml_builder__free(b);
    must_ok(pml_batch__from_columns(&batch, t->env, &column, 1, rows, &err), &err);
    *rc = pml_variant_shred__new(&shred, t->env, &file, &want, 1, &err);
    if (*rc == PML_OK) {
        assert_non_null(shred);
        *rc = pml_variant_shred__batch(shred, &batch, &err);
    }
    if (*rc == PML_OK) {
        must_ok(pml_type__check_arrow(&file, &want, 1, &err), &err);
        must_ok(pml_batch__check(&batch, &want, 1, PML_CHECK_FULL, &err), &err);
        pml_buf__init(&out, t->env, 16 << 20);
        for (int64_t i = 0; i < rows; i++) {
            (void)pml_row_text__append(&out, &want.type, batch.children[0], i);
            (void)pml_buf__append_byte(&out, i + 1 < rows ? '\n' : '\0');
        }
        must_ok(pml_buf__check(&out, &err), &err);
        text = strdup((const char *)out.data);
        pml_buf__clear(&out);
    }
    pml_variant_shred__free(shred);
    pml_array__release(&batch);
    pml_schema__release(&file);
    return text;
}

static void gives(const char *wanted, const char *stored, void (*fill)(pml_builder *b), const char *text)
{
    int rc;
    char *got = assembled(wanted, stored, fill, &rc);
    must_ok(rc, &err);
    assert_string_equal(got, text);
    free(got);
}

static void fails(int code, const char *stored, void (*fill)(pml_builder *b), const char *words)
{
    int rc;
    assert_null(assembled("VARIANT", stored, fill, &rc));
    must_fail_with(code, rc, &err);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static pml_value scalar; /* what fill_scalar puts */

static void fill_scalar(pml_builder *b)
{
    put(pml_builder__child(b, 0), NO_KEYS);
    put(pml_builder__child(b, 1), NULL_VALUE);
    put(pml_builder__child(b, 2), scalar);
    must_ok(pml_builder__close_item(b), NULL);
    must_ok(pml_builder__append_null(b), NULL);
    put(pml_builder__child(b, 0), NO_KEYS);
    put(pml_builder__child(b, 1), bytes_of("\5y", 2)); /* of another type than typed_value */
    put(pml_builder__child(b, 2), NULL_VALUE);
    must_ok(pml_builder__close_item(b), NULL);
}

static void gives_scalar(const char *type, pml_value v, const char *text)
{
    char stored[128], lines[128];
    scalar = v;
    (void)snprintf(stored, sizeof stored, "ROW<metadata BYTES, value BYTES, typed_value %s>", type);
    (void)snprintf(lines, sizeof lines, "\"%s\"\nnull\n\"\\\"y\\\"\"", text);
    gives("VARIANT", stored, fill_scalar, lines);
}

static void scalars_of_every_type_come_back(void **state)
{
    (void)state;
    gives_scalar("BOOLEAN", (pml_value){.kind = PML_VALUE_BOOL, .i = 1}, "true");
    gives_scalar("TINYINT", test_int(-7), "-7");
    gives_scalar("SMALLINT", test_int(300), "300");
    gives_scalar("INT", test_int(-70000), "-70000");
    gives_scalar("BIGINT", test_int(INT64_MIN), "-9223372036854775808");
    gives_scalar("FLOAT", (pml_value){.kind = PML_VALUE_FLOAT, .f = 1.5f}, "1.5");
    gives_scalar("DOUBLE", (pml_value){.kind = PML_VALUE_DOUBLE, .d = -0.25}, "-0.25");
    gives_scalar("STRING", test_bytes("a"), "\\\"a\\\"");
    gives_scalar("BYTES", test_bytes("abc"), "\\\"YWJj\\\"");
    gives_scalar("DATE", test_int(1), "\\\"1970-01-02\\\"");
    gives_scalar("DECIMAL(5, 2)", test_decimal(150), "1.5");
    gives_scalar("DECIMAL(18, 2)", test_decimal(-123456789012), "-1234567890.12");
    gives_scalar("DECIMAL(38, 10)", test_decimal(10000000000), "1");
    gives_scalar("TIMESTAMP(3)", test_timestamp(-1, 0), "\\\"1969-12-31 23:59:59.999\\\"");
    gives_scalar("TIMESTAMP(6)", test_timestamp(1000, 7000), "\\\"1970-01-01 00:00:01.000007\\\"");
    gives_scalar("TIMESTAMP(6) WITH LOCAL TIME ZONE", test_timestamp(60000, 0), "\\\"1970-01-01 00:01:00+00:00\\\"");
    scalar = test_int(5);
    fails(PML_E_UNSUPPORTED, "ROW<metadata BYTES, value BYTES, typed_value TIME(3)>", fill_scalar, "needs variant-typed-value:ttm");
}

#define OBJECT "ROW<metadata BYTES, value BYTES, typed_value ROW<b ROW<value BYTES, typed_value INT>, x ROW<value BYTES>>>"

/* A row of OBJECT: the value beside it, typed_value.b.value, .b.typed_value, typed_value.x.value. */
static void put_object(pml_builder *b, pml_value rest, pml_value b_value, pml_value b_typed, pml_value x_value)
{
    pml_builder *typed = pml_builder__child(b, 2), *member = pml_builder__child(typed, 0);
    put(pml_builder__child(b, 0), KEYS_XY);
    put(pml_builder__child(b, 1), rest);
    put(pml_builder__child(member, 0), b_value);
    put(pml_builder__child(member, 1), b_typed);
    must_ok(pml_builder__close_item(member), NULL);
    member = pml_builder__child(typed, 1);
    put(pml_builder__child(member, 0), x_value);
    must_ok(pml_builder__close_item(member), NULL);
    must_ok(pml_builder__close_item(typed), NULL);
    must_ok(pml_builder__close_item(b), NULL);
}

/* {"y":7} and {"x":7} with the keys of KEYS_XY */
#define ONLY_Y bytes_of("\2\1\1\0\2\x0c\7", 7)
#define ONLY_X bytes_of("\2\1\0\0\2\x0c\7", 7)

static void fill_objects(pml_builder *b)
{
    put_object(b, NULL_VALUE, NULL_VALUE, test_int(1), NULL_VALUE);
    put_object(b, ONLY_Y, bytes_of("\0", 1), NULL_VALUE, bytes_of("\5z", 2));
    put_object(b, NULL_VALUE, NULL_VALUE, NULL_VALUE, NULL_VALUE);
}

static void fill_double_x(pml_builder *b)
{
    put_object(b, ONLY_X, NULL_VALUE, test_int(1), NULL_VALUE);
}

static void fill_scalar_beside(pml_builder *b)
{
    put_object(b, bytes_of("\0", 1), NULL_VALUE, test_int(1), NULL_VALUE);
}

static void fill_malformed(pml_builder *b)
{
    put_object(b, NULL_VALUE, NULL_VALUE, NULL_VALUE, bytes_of("\x18", 1));
}

static void fill_null_member(pml_builder *b)
{
    pml_builder *typed = pml_builder__child(b, 2);
    put(pml_builder__child(b, 0), KEYS_XY);
    put(pml_builder__child(b, 1), NULL_VALUE);
    must_ok(pml_builder__append_null(pml_builder__child(typed, 0)), NULL);
    must_ok(pml_builder__append_null(pml_builder__child(typed, 1)), NULL);
    must_ok(pml_builder__close_item(typed), NULL);
    must_ok(pml_builder__close_item(b), NULL);
}

static void fill_nothing(pml_builder *b)
{
    put(pml_builder__child(b, 0), NO_KEYS);
    put(pml_builder__child(b, 1), NULL_VALUE);
    must_ok(pml_builder__append_null(pml_builder__child(b, 2)), NULL);
    must_ok(pml_builder__close_item(b), NULL);
}

static void fill_no_metadata(pml_builder *b)
{
    put(pml_builder__child(b, 0), NULL_VALUE);
    put(pml_builder__child(b, 1), bytes_of("\0", 1));
    must_ok(pml_builder__append_null(pml_builder__child(b, 2)), NULL);
    must_ok(pml_builder__close_item(b), NULL);
}

static void objects_take_members_from_both_sides(void **state)
{
    (void)state;
    gives("VARIANT", OBJECT, fill_objects, "\"{\\\"b\\\":1}\"\n\"{\\\"b\\\":null,\\\"x\\\":\\\"z\\\",\\\"y\\\":7}\"\n\"{}\"");
    fails(PML_E_CORRUPT, OBJECT, fill_double_x, "stands in value");
    fails(PML_E_CORRUPT, OBJECT, fill_scalar_beside, "beside an object");
    fails(PML_E_CORRUPT, OBJECT, fill_malformed, "cut off");
    fails(PML_E_CORRUPT, OBJECT, fill_null_member, "typed_value is null");
    fails(PML_E_CORRUPT, OBJECT, fill_nothing, "a value is missing");
    fails(PML_E_CORRUPT, OBJECT, fill_no_metadata, "metadata is missing");
    fails(PML_E_CORRUPT, "ROW<metadata BYTES, value BYTES, typed_value ROW<b ROW<x INT>>>", fill_nothing, "does not belong");
    fails(PML_E_CORRUPT, "ROW<metadata BYTES, value BYTES, typed_value ROW<b INT>>", fill_nothing, "without value");
}

/* Two rows of ARRAY<VARIANT>: of two lists of INTs with a text, and nothing. */
static void fill_lists(pml_builder *b)
{
    pml_builder *group = pml_builder__child(b, 0), *list = pml_builder__child(group, 2), *element = pml_builder__child(list, 0);
    for (int i = 0; i < 2; i++) {
        put(pml_builder__child(element, 0), NULL_VALUE);
        put(pml_builder__child(element, 1), test_int(i));
        must_ok(pml_builder__close_item(element), NULL);
        put(pml_builder__child(element, 0), bytes_of("\5y", 2));
        put(pml_builder__child(element, 1), NULL_VALUE);
        must_ok(pml_builder__close_item(element), NULL);
        must_ok(pml_builder__close_item(list), NULL);
        put(pml_builder__child(group, 0), NO_KEYS);
        put(pml_builder__child(group, 1), NULL_VALUE);
        must_ok(pml_builder__close_item(group), NULL);
    }
    must_ok(pml_builder__close_item(b), NULL);
    must_ok(pml_builder__close_item(b), NULL);
}

static void fill_null_element(pml_builder *b)
{
    pml_builder *list = pml_builder__child(b, 2);
    must_ok(pml_builder__append_null(pml_builder__child(list, 0)), NULL);
    must_ok(pml_builder__close_item(list), NULL);
    put(pml_builder__child(b, 0), NO_KEYS);
    put(pml_builder__child(b, 1), NULL_VALUE);
    must_ok(pml_builder__close_item(b), NULL);
}

#define LIST "ROW<metadata BYTES, value BYTES, typed_value ARRAY<ROW<value BYTES, typed_value INT>>>"

static void lists_come_back_inside_of_other_types(void **state)
{
    (void)state;
    gives("ARRAY<VARIANT>", "ARRAY<" LIST ">", fill_lists, "[\"[0,\\\"y\\\"]\",\"[1,\\\"y\\\"]\"]\n[]");
    fails(PML_E_CORRUPT, LIST, fill_null_element, "an element is missing");
}

static void what_is_not_shredded_is_left_alone(void **state)
{
    (void)state;
    struct ArrowSchema file;
    pml_variant_shred *shred;
    const pml_field is = {.name = "v", .type = type_of("VARIANT")}, other = {.name = "w", .type = type_of("ROW<typed_value INT>")};
    must_ok(pml_type__export(&file, t->env, &is, 1, &err), &err);
    must_ok(pml_variant_shred__new(&shred, t->env, &file, &is, 1, &err), &err);
    assert_null(shred);
    must_ok(pml_variant_shred__new(&shred, t->env, &file, &other, 1, &err), &err);
    assert_null(shred);
    pml_schema__release(&file);
}

/* ---- very many members ---- */

enum { TYPED = 8000, RESTS = 150000, LONG_KEY = 1024 * 1024 };

/* {"r000000":null, ...} and its metadata. */
static void put_rest(pml_buf *value, pml_buf *metadata, uint32_t n)
{
    enum { KEY = 7, HEAD = 5 };
    size_t len = HEAD + 9 * (size_t)n + 4, keys_len = HEAD + (n + 1) * (size_t)4;
    char key[16];
    pml_buf__init(value, t->env, 16 << 20);
    pml_buf__init(metadata, t->env, 16 << 20);
    uint8_t *v = pml_buf__reserve(value, len), *m = pml_buf__reserve(metadata, keys_len + n * (size_t)KEY + 1);
    assert_true(v != NULL && m != NULL);
    memset(v, 0, len); /* the values are nulls */
    v[0] = 0x7e;       /* everything in four bytes */
    m[0] = 0xc1;
    pml_put_le32(v + 1, n);
    pml_put_le32(m + 1, n);
    for (uint32_t i = 0; i <= n; i++) {
        pml_put_le32(v + HEAD + 4 * (size_t)i, i); /* where its number belongs; the one too many is the first offset's */
        pml_put_le32(m + HEAD + 4 * (size_t)i, i * KEY);
        (void)snprintf(key, sizeof key, "r%06u", i);
        if (i < n)
            memcpy(m + keys_len + i * (size_t)KEY, key, KEY);
    }
    for (uint32_t i = 0; i <= n; i++)
        pml_put_le32(v + HEAD + 4 * ((size_t)n + i), i);
    value->len = len;
    metadata->len = keys_len + n * (size_t)KEY;
}

static void fill_many(pml_builder *b)
{
    pml_buf value, metadata;
    pml_builder *typed = pml_builder__child(b, 2);
    put_rest(&value, &metadata, RESTS);
    put(pml_builder__child(b, 0), bytes_of((const char *)metadata.data, metadata.len));
    put(pml_builder__child(b, 1), bytes_of((const char *)value.data, value.len));
    for (size_t i = 0; i < TYPED; i++) {
        put(pml_builder__child(pml_builder__child(typed, i), 0), test_int(1));
        must_ok(pml_builder__close_item(pml_builder__child(typed, i)), NULL);
    }
    must_ok(pml_builder__close_item(typed), NULL);
    must_ok(pml_builder__close_item(b), NULL);
    pml_buf__clear(&value);
    pml_buf__clear(&metadata);
}

static void very_many_members_do_not_take_for_ever(void **state)
{
    (void)state;
    enum { SECONDS = 15 }; /* each member of one side against each of the other takes minutes */
    size_t members = 0;
    int rc;
    size_t cap = 128 + TYPED * 48, at = 0;
    char *type = malloc(cap);
    assert_non_null(type);
    at += (size_t)snprintf(type + at, cap - at, "ROW<metadata BYTES, value BYTES, typed_value ROW<");
    for (int i = 0; i < TYPED; i++)
        at += (size_t)snprintf(type + at, cap - at, "%st%06d ROW<typed_value INT>", i == 0 ? "" : ", ", (i * 7 + 3) % TYPED);
    (void)snprintf(type + at, cap - at, ">>");
    clock_t begin = clock();
    char *text = assembled("VARIANT", type, fill_many, &rc);
    must_ok(rc, &err);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < SECONDS);
    for (const char *p = text; *p != '\0'; p++)
        members += *p == ':';
    assert_int_equal(members, TYPED + RESTS);
    free(text);
    free(type);
}

/* A list of 513 objects that all have one key of a megabyte. */
static void fill_long_keys(pml_builder *b)
{
    pml_builder *list = pml_builder__child(b, 2), *element = pml_builder__child(list, 0);
    uint8_t *metadata = calloc(13 + LONG_KEY, 1);
    assert_non_null(metadata);
    metadata[0] = 0xc1;
    metadata[1] = 1;
    pml_put_le32(metadata + 9, LONG_KEY);
    memset(metadata + 13, 'k', LONG_KEY);
    for (int i = 0; i <= PML_VARIANT_KEYS_MAX / LONG_KEY; i++) {
        put(pml_builder__child(element, 0), bytes_of("\2\1\0\0\1\0", 6));
        put(pml_builder__child(element, 1), NULL_VALUE);
        must_ok(pml_builder__close_item(element), NULL);
    }
    must_ok(pml_builder__close_item(list), NULL);
    put(pml_builder__child(b, 0), bytes_of((const char *)metadata, 13 + LONG_KEY));
    put(pml_builder__child(b, 1), NULL_VALUE);
    must_ok(pml_builder__close_item(b), NULL);
    free(metadata);
}

static void keys_of_all_parts_of_a_variant_are_limited_together(void **state)
{
    (void)state;
    fails(PML_E_LIMIT, LIST, fill_long_keys, "the keys of all members");
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    struct ArrowSchema file;
    struct ArrowArray column, batch;
    pml_builder *b;
    const pml_field is = {.name = "v", .type = type_of(OBJECT)}, want = {.name = "v", .type = type_of("VARIANT")};
    bool done = false;
    for (long long n = 1; !done; n++) {
        pml_variant_shred *shred = NULL;
        must_ok(pml_type__export(&file, t->env, &is, 1, &err), &err);
        must_ok(pml_builder__new(&b, t->env, &is.type, &err), &err);
        fill_objects(b);
        must_ok(pml_builder__finish(b, &column, &err), &err);
        pml_builder__free(b);
        must_ok(pml_batch__from_columns(&batch, t->env, &column, 1, 3, &err), &err);
        test_env_fail_at(t, n);
        int rc = pml_variant_shred__new(&shred, t->env, &file, &want, 1, &err);
        if (rc == PML_OK)
            rc = pml_variant_shred__batch(shred, &batch, &err);
        done = !test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        pml_variant_shred__free(shred);
        pml_array__release(&batch);
        pml_schema__release(&file);
    }
}

/* Of a ROW that is null a member that never is has no nulls of its own: neither has what lies in it and is not optional. */
static void variants_of_a_null_row_are_not_missed(void **state)
{
    (void)state;
    struct ArrowSchema file;
    struct ArrowArray column, batch;
    pml_variant_shred *shred = NULL;
    pml_builder *b;
    const pml_field is = {.name = "r", .type = type_of("ROW<w ROW<v ROW<metadata BYTES, value BYTES, typed_value INT>>>")},
                    want = {.name = "r", .type = type_of("ROW<w ROW<v VARIANT>>")};
    must_ok(pml_type__export(&file, t->env, &is, 1, &err), &err);
    must_ok(pml_builder__new(&b, t->env, &is.type, &err), &err);
    pml_builder *w = pml_builder__child(b, 0), *v = pml_builder__child(w, 0);
    must_ok(pml_builder__append_null(b), NULL);
    put(pml_builder__child(v, 0), NO_KEYS);
    put(pml_builder__child(v, 1), NULL_VALUE);
    put(pml_builder__child(v, 2), test_int(7));
    must_ok(pml_builder__close_item(v), NULL);
    must_ok(pml_builder__close_item(w), NULL);
    must_ok(pml_builder__close_item(b), NULL);
    must_ok(pml_builder__finish(b, &column, &err), &err);
    pml_builder__free(b);
    must_ok(pml_batch__from_columns(&batch, t->env, &column, 1, 2, &err), &err);
    struct ArrowArray *rows = batch.children[0]->children[0], *group = rows->children[0];
    struct ArrowArray *never_null[] = {rows, group, group->children[0]}; /* as Arrow reads w, v and metadata that are NOT NULL */
    for (size_t i = 0; i < 3; i++) {
        *(uint8_t *)(uintptr_t)never_null[i]->buffers[0] = 0xff;
        never_null[i]->null_count = 0;
    }
    must_ok(pml_variant_shred__new(&shred, t->env, &file, &want, 1, &err), &err);
    must_ok(pml_variant_shred__batch(shred, &batch, &err), &err);
    must_ok(pml_batch__check(&batch, &want, 1, PML_CHECK_FULL, &err), &err);
    const struct ArrowArray *made = batch.children[0]->children[0]->children[0];
    assert_true(pml_array__is_null(batch.children[0], 0) && pml_array__is_null(made, 0) && !pml_array__is_null(made, 1));
    pml_variant_shred__free(shred);
    pml_array__release(&batch);
    pml_schema__release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_of_every_type_come_back, given, closed),
        cmocka_unit_test_setup_teardown(objects_take_members_from_both_sides, given, closed),
        cmocka_unit_test_setup_teardown(lists_come_back_inside_of_other_types, given, closed),
        cmocka_unit_test_setup_teardown(what_is_not_shredded_is_left_alone, given, closed),
        cmocka_unit_test_setup_teardown(very_many_members_do_not_take_for_ever, given, closed),
        cmocka_unit_test_setup_teardown(keys_of_all_parts_of_a_variant_are_limited_together, given, closed),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, given, closed),
        cmocka_unit_test_setup_teardown(variants_of_a_null_row_are_not_missed, given, closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
