/* SPDX-License-Identifier: Apache-2.0 */
/* Data files of other writers. data/java_*.parquet: Paimon 1.4 line, parquet-mr. data/arrow_schema.parquet: pyarrow 26, whose
   ARROW:schema key asks for large, dictionary, view and duration types. */
#include "support/test_bridge.h"

#include <string.h>

static test_env *t;
static const pml_bridge *b;

static int setup(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    t = test_env_open(NULL);
    must_ok(pml_bridge__get(&b, t->env, &err), &err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_env_close(t);
    return 0;
}

/* The only batch of a file. */
static struct ArrowArray must_read(const char *name, struct ArrowSchema *schema)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    static test_file f; /* static: the array charges it until it is released */
    f = test_file_load(name);
    must_ok(test_parquet_stream(&stream, b, &f, NULL, 0, &test_read_options, &err), &err);
    assert_int_equal(stream.get_schema(&stream, schema), 0);
    if (stream.get_next(&stream, &array) != 0)
        must_ok(b->stream_error(&stream, &err), &err);
    assert_int_equal(test_drain(b, &stream, &err), 0);
    stream.release(&stream);
    test_file_free(&f);
    return array;
}

static int64_t child(const struct ArrowSchema *schema, const char *name)
{
    int64_t i = 0;
    while (i < schema->n_children && strcmp(schema->children[i]->name, name) != 0)
        i++;
    assert_true(i < schema->n_children);
    return i;
}

static const void *column(const struct ArrowSchema *schema, const struct ArrowArray *array, const char *name,
                          const char *format)
{
    int64_t i = child(schema, name);
    assert_string_equal(schema->children[i]->format, format);
    assert_int_equal(array->children[i]->offset, 0);
    return array->children[i]->buffers[1];
}

static void java_scalars_read_with_their_types(void **state)
{
    (void)state;
    static const char *const formats[] = {"i",      "b",      "c",       "s",       "i",       "l",       "f",   "g",
                                          "d:5,2",  "d:18,6", "d:19,0",  "d:38,10", "u",       "u",       "u",   "z",
                                          "z",      "z",      "tdD",     "ttm",     "ttm",     "tsm:",    "tsm:", "tsu:",
                                          "tsn:",   "tsm:UTC", "tsm:UTC", "tsu:UTC", "tsn:"};
    struct ArrowSchema schema;
    struct ArrowArray array = must_read("java_scalar.parquet", &schema);
    assert_int_equal(schema.n_children, sizeof formats / sizeof formats[0]);
    for (int64_t i = 0; i < schema.n_children; i++) {
        assert_string_equal(schema.children[i]->format, formats[i]);
        assert_int_equal(test_field_id(schema.children[i]), i);
    }
    array.release(&array);
    schema.release(&schema);
}

static void java_nested_reads_with_canonical_names(void **state)
{
    (void)state;
    struct ArrowSchema schema;
    struct ArrowArray array = must_read("java_nested.parquet", &schema);
    const struct ArrowSchema *matrix = schema.children[child(&schema, "n_matrix")];
    const struct ArrowSchema *map = schema.children[child(&schema, "n_maprow")];
    const struct ArrowSchema *multiset = schema.children[child(&schema, "n_multiset")];
    assert_string_equal(matrix->format, "+l");
    assert_string_equal(matrix->children[0]->name, "element");
    assert_string_equal(matrix->children[0]->children[0]->format, "l");
    assert_string_equal(map->format, "+m");
    assert_string_equal(map->children[0]->name, "key_value");
    assert_string_equal(map->children[0]->children[0]->name, "key");
    assert_string_equal(map->children[0]->children[1]->name, "value");
    assert_string_equal(map->children[0]->children[1]->format, "+s");
    assert_string_equal(multiset->children[0]->children[1]->format, "i");
    array.release(&array);
    schema.release(&schema);
}

static void java_int96_before_1970_reads_right(void **state)
{
    (void)state;
    struct ArrowSchema schema;
    struct ArrowArray array = must_read("java_scalar.parquet", &schema);
    const int32_t *id = column(&schema, &array, "id", "i");
    const int64_t *ts9 = column(&schema, &array, "c_ts9", "tsn:");
    const uint8_t *valid = array.children[child(&schema, "c_ts9")]->buffers[0];
    int64_t sum = 0;
    int negative = 0, nulls = 0;
    for (int64_t i = 0; i < array.length; i++) {
        bool null = (valid[i / 8] >> (i % 8) & 1) == 0;
        assert_int_equal(id[i], 4 + i);
        nulls += null;
        negative += !null && ts9[i] < 0;
        sum = (int64_t)((uint64_t)sum + (null ? 0 : (uint64_t)ts9[i]));
    }
    assert_int_equal(array.length, 40);
    assert_int_equal(nulls, 9);
    assert_int_equal(negative, 9);
    assert_int_equal(sum, -452404900446630773);
    array.release(&array);
    schema.release(&schema);
}

static void compressed_file_reads(const char *name)
{
    struct ArrowSchema schema;
    struct ArrowArray array = must_read(name, &schema);
    const int32_t *id = column(&schema, &array, "id", "i");
    const int32_t *text_end = column(&schema, &array, "name", "u");
    const int32_t *tags_end = column(&schema, &array, "tags", "+l");
    int64_t sum = 0;
    assert_int_equal(array.length, 200);
    for (int64_t i = 0; i < array.length; i++)
        sum += id[i];
    assert_int_equal(sum, 19900);
    assert_int_equal(text_end[200], 1629);
    assert_int_equal(tags_end[200], 390);
    array.release(&array);
    schema.release(&schema);
}

static void java_compressions_read(void **state)
{
    (void)state;
    compressed_file_reads("java_lz4.parquet");
    compressed_file_reads("java_lz4_raw.parquet");
    compressed_file_reads("java_gzip.parquet");
}

static void java_statistics_are_found(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    pml_bridge_stat s;
    pml_bridge_reader *r = NULL;
    test_file f = test_file_load("java_scalar.parquet");
    pml_bridge_input input = test_input(&f);
    must_ok(b->parquet_open(&r, &input, NULL, &test_read_options, &err), &err);
    must_ok(b->parquet_stat(&s, r, 0, 0, &err), &err);
    assert_true(s.kind == PML_BRIDGE_STAT_INT && s.min_i == 4 && s.max_i == 43 && s.null_count == 0);
    must_ok(b->parquet_stat(&s, r, 0, 14, &err), &err);
    assert_int_equal(s.kind, PML_BRIDGE_STAT_BYTES);
    must_ok(b->parquet_stat(&s, r, 0, 24, &err), &err);
    assert_int_equal(s.kind, PML_BRIDGE_STAT_NONE);
    b->parquet_close(r);
    test_file_free(&f);
}

static void arrow_schema_key_changes_nothing(void **state)
{
    (void)state;
    static const char *const formats[] = {"u", "u", "z", "tsn:UTC", "+l", "l", "C"};
    struct ArrowSchema schema;
    struct ArrowArray array = must_read("arrow_schema.parquet", &schema);
    assert_int_equal(schema.n_children, 7);
    for (int64_t i = 0; i < 7; i++)
        assert_string_equal(schema.children[i]->format, formats[i]);
    assert_string_equal(schema.children[4]->children[0]->name, "element");
    assert_string_equal(schema.children[4]->children[0]->format, "u");
    assert_null(schema.metadata);
    const int32_t *text_end = array.children[0]->buffers[1];
    const int32_t *dictionary_end = array.children[1]->buffers[1];
    const int32_t *items_end = array.children[4]->buffers[1];
    assert_true(text_end[1] == 1 && text_end[3] == 4);
    assert_memory_equal((const char *)array.children[1]->buffers[2] + dictionary_end[0], "xyx", 3);
    assert_true(items_end[1] == 1 && items_end[2] == 1 && items_end[3] == 3);
    assert_int_equal(((const int64_t *)array.children[5]->buffers[1])[2], 3);
    array.release(&array);
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(java_scalars_read_with_their_types), cmocka_unit_test(java_nested_reads_with_canonical_names),
        cmocka_unit_test(java_int96_before_1970_reads_right), cmocka_unit_test(java_compressions_read),
        cmocka_unit_test(java_statistics_are_found),          cmocka_unit_test(arrow_schema_key_changes_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
