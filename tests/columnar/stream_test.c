/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "support/random_batch.h"

typedef struct source {
    pml_env *env;
    int left, fail, drops;
} source;

static int source_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    source *s = owner;
    const pml_type type = {.kind = PML_TYPE_INT, .nullable = true};
    const pml_value null = {.kind = PML_VALUE_NULL};
    if (s->fail != PML_OK)
        return pml_error__set(err, s->fail, "block %d was damaged", 7);
    assert_true(s->left >= 0); /* not called again after the end */
    if (s->left-- == 0)
        return PML_OK;
    return pml_batch__constant(out, s->env, &type, &null, s->left, err);
}

static void source_drop(void *owner)
{
    ((source *)owner)->drops++;
}

static char metadata[] = "\x01\0\0\0\x09\0\0\0paimon.id\x02\0\0\0"
                         "42";
static struct ArrowSchema child_schema = {.format = "tsu:UTC", .name = "at", .flags = ARROW_FLAG_NULLABLE};
static struct ArrowSchema *schema_children[1] = {&child_schema};

static void foreign_release(struct ArrowSchema *s)
{
    s->release = NULL;
}

static struct ArrowSchema some_schema(void)
{
    child_schema.metadata = metadata;
    child_schema.release = foreign_release;
    return (struct ArrowSchema){
        .format = "+s", .n_children = 1, .children = schema_children, .release = foreign_release};
}

static void stream_gives_batches_then_the_end_and_drops_once(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    source src = {.env = t->env, .left = 3};
    struct ArrowSchema schema = some_schema(), a, b;
    struct ArrowArrayStream stream;
    struct ArrowArray kept, array;
    must_ok(pml_stream__new(&stream, t->env, &schema, source_next, source_drop, &src, NULL), NULL);
    assert_null(schema.release);
    assert_int_equal(stream.get_schema(&stream, &a), 0);
    assert_int_equal(stream.get_schema(&stream, &b), 0);
    assert_int_equal(stream.get_next(&stream, &kept), 0);
    assert_int_equal(kept.length, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stream.get_next(&stream, &array), 0);
        pml_array__release(&array);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stream.get_next(&stream, &array), 0);
        assert_null(array.release);
    }
    assert_null(stream.get_last_error(&stream));
    pml_schema__release(&b);
    stream.release(&stream);
    assert_null(stream.release);
    assert_int_equal(src.drops, 1);
    assert_string_equal(a.children[0]->format, "tsu:UTC");
    assert_string_equal(a.children[0]->name, "at");
    assert_int_equal(a.children[0]->flags, ARROW_FLAG_NULLABLE);
    assert_memory_equal(a.children[0]->metadata, metadata, sizeof metadata - 1);
    pml_schema__release(&a);
    pml_array__release(&kept);
    test_env_close(t);
}

static void stream_that_fails_tells_errno_text_and_code(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const int codes[4][2] = {{PML_E_CORRUPT, EIO}, {PML_E_NOMEM, ENOMEM}, {PML_E_UNSUPPORTED, EINVAL}, {PML_E_IO, EIO}};
    for (int i = 0; i < 4; i++) {
        source src = {.env = t->env, .fail = codes[i][0]};
        struct ArrowSchema schema = some_schema();
        struct ArrowArrayStream stream, foreign = {0};
        struct ArrowArray array;
        pml_error err = PML_ERROR_INIT;
        must_ok(pml_stream__new(&stream, t->env, &schema, source_next, source_drop, &src, NULL), NULL);
        assert_int_equal(stream.get_next(&stream, &array), codes[i][1]);
        assert_null(array.release);
        assert_string_equal(stream.get_last_error(&stream), "block 7 was damaged");
        assert_true(pml_stream__last_error(&stream, &err));
        assert_int_equal(err.code, codes[i][0]);
        assert_false(pml_stream__last_error(&foreign, &err));
        stream.release(&stream);
        assert_int_equal(src.drops, 1);
    }
    test_env_close(t);
}

static void stream_released_after_the_environment_still_works(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    source src = {.env = t->env, .left = 1};
    struct ArrowSchema schema = some_schema();
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    must_ok(pml_stream__new(&stream, t->env, &schema, source_next, NULL, &src, NULL), NULL);
    pml_env_release(t->env);
    t->env = NULL; /* the stream is the last owner now, later the array */
    assert_int_equal(stream.get_next(&stream, &array), 0);
    stream.release(&stream);
    pml_array__release(&array);
    test_env_close(t);
}

static void stream_from_array_gives_it_once_or_releases_it(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const pml_type type = {.kind = PML_TYPE_INT, .nullable = true};
    const pml_value null = {.kind = PML_VALUE_NULL};
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        struct ArrowSchema schema = some_schema();
        struct ArrowArrayStream stream;
        struct ArrowArray array;
        must_ok(pml_batch__constant(&array, t->env, &type, &null, 3, NULL), NULL);
        test_env_fail_at(t, n);
        rc = pml_stream__from_array(&stream, t->env, &schema, &array, NULL);
        test_env_fail_at(t, 0);
        if (rc != PML_OK) {
            must_fail_with(PML_E_NOMEM, rc, NULL);
            assert_non_null(schema.release);
            pml_array__release(&array);
            continue;
        }
        struct ArrowArray got, end;
        assert_int_equal(stream.get_next(&stream, &got), 0);
        assert_int_equal(got.length, 3);
        assert_int_equal(stream.get_next(&stream, &end), 0);
        assert_null(end.release);
        stream.release(&stream);
        pml_array__release(&got);
    }
    test_env_close(t);
}

static void schema_copy_without_memory_or_with_wrong_metadata_fails(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    struct ArrowSchema schema = some_schema(), out;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(t, n);
        rc = pml_schema__copy(&out, t->env, &schema, NULL);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && out.release == NULL));
    }
    pml_schema__release(&out);
    child_schema.metadata = "\xFF\xFF\xFF\xFF";
    must_fail_with(PML_E_INVAL, pml_schema__copy(&out, t->env, &schema, NULL), NULL);
    child_schema.metadata = "\x01\0\0\0\xFE\xFF\xFF\xFF";
    must_fail_with(PML_E_INVAL, pml_schema__copy(&out, t->env, &schema, NULL), NULL);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_gives_batches_then_the_end_and_drops_once),
        cmocka_unit_test(stream_that_fails_tells_errno_text_and_code),
        cmocka_unit_test(stream_released_after_the_environment_still_works),
        cmocka_unit_test(stream_from_array_gives_it_once_or_releases_it),
        cmocka_unit_test(schema_copy_without_memory_or_with_wrong_metadata_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
