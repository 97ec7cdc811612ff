/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_host.h"

#include <stdlib.h>

#include "columnar/array_memory.h"
#include "support/random_batch.h"
#include "support/test_env.h"

enum { SCHEMA = 5 };

typedef struct host_fixture {
    test_env *t;
    pml_arena arena;
    pml_field *columns;
    size_t n;
    pml_rt_host_ctx *ctx;
    const pml_rt_host *host;
    const pml_rt_layout *layout;
} host_fixture;

static void host_open(host_fixture *f, size_t n, bool all_kinds)
{
    pml_error err = PML_ERROR_INIT;
    f->t = test_env_open(NULL);
    f->t->random_state = test_seed();
    pml_arena__init(&f->arena, f->t->env);
    f->columns = random_fields(f->t, &f->arena, f->n = n, all_kinds ? 2 : 0, all_kinds);
    must_ok(pml_rt_host__new(&f->ctx, f->t->env, &err), &err);
    must_ok(pml_rt_host__add_schema(f->ctx, PML_RT_MODE_APPEND, SCHEMA, f->columns, n, &err), &err);
    f->host = pml_rt_host__services(f->ctx);
    f->layout = pml_rt_host__layout(f->ctx, SCHEMA);
}

static void host_close(host_fixture *f)
{
    pml_rt_host__release(f->ctx);
    pml_arena__clear(&f->arena);
    test_env_close(f->t);
}

static void count_drop(void *owner)
{
    ++*(int *)owner;
}

static void host_alloc_aligns_and_counts(void **state)
{
    (void)state;
    host_fixture f;
    host_open(&f, 1, false);
    int64_t before = pml_rt_host__bytes(f.ctx);
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = f.host->alloc(f.host->ctx, 100, align);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, 1, 100);
        assert_int_equal(pml_rt_host__bytes(f.ctx), before + 100);
        f.host->free(f.host->ctx, p, 100, align);
    }
    assert_null(f.host->alloc(f.host->ctx, 1, 8192));
    assert_null(f.host->alloc(f.host->ctx, 1, 24));
    assert_null(f.host->alloc(f.host->ctx, SIZE_MAX, 64));
    f.host->free(f.host->ctx, NULL, 0, 16);
    assert_int_equal(f.host->charge(f.host->ctx, 1000), PML_OK);
    assert_int_equal(pml_rt_host__bytes(f.ctx), before + 1000);
    assert_int_equal(f.host->charge(f.host->ctx, -1000), PML_OK);
    assert_int_equal(pml_rt_host__bytes(f.ctx), before);
    atomic_store(&f.t->mono_ns, 5999999);
    assert_int_equal(f.host->mono_ms(f.host->ctx), 5);
    f.host->log(f.host->ctx, PML_LOG_INFO, "test", "100 %s");
    host_close(&f);
}

static void host_columns_match_by_field_id(void **state)
{
    (void)state;
    host_fixture f;
    uint32_t cols[8];
    size_t n;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 4, false);
    must_ok(f.host->columns(f.host->ctx, NULL, 0, &n, SCHEMA, NULL, &err), &err);
    assert_int_equal(n, 5);
    must_ok(f.host->columns(f.host->ctx, cols, 8, &n, SCHEMA, NULL, &err), &err);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(cols[i], i);
    /* reordered, renamed, one that the rows do not have */
    pml_field wanted[4] = {f.columns[3], f.layout->fields[0], f.columns[1], f.columns[0]};
    wanted[0].name = "renamed";
    wanted[2].id = 99;
    struct ArrowSchema schema;
    must_ok(pml_type__export(&schema, f.t->env, wanted, 4, &err), &err);
    const pml_rt_query q = {.struct_size = sizeof q, .read_schema = &schema};
    must_ok(f.host->columns(f.host->ctx, cols, 2, &n, SCHEMA, &q, &err), &err);
    assert_int_equal(n, 3);
    must_ok(f.host->columns(f.host->ctx, cols, 8, &n, SCHEMA, &q, &err), &err);
    assert_int_equal(n, 3);
    assert_int_equal(cols[0], 4);
    assert_int_equal(cols[1], 0);
    assert_int_equal(cols[2], 1);
    must_fail_with(PML_E_SCHEMA, f.host->columns(f.host->ctx, cols, 8, &n, SCHEMA + 1, &q, &err), &err);
    pml_schema__release(&schema);
    must_fail_with(PML_E_INVAL, f.host->columns(f.host->ctx, cols, 8, &n, SCHEMA, &q, &err), &err);
    host_close(&f);
}

/* Every type, any window, dense and with its offset column: the same values over the same buffers. */
static void host_share_gives_windows_of_any_type(void **state)
{
    (void)state;
    host_fixture f;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 23, true);
    for (int round = 0; round < 60; round++) {
        struct ArrowArray in, out;
        int drops = 0;
        bool dense = round % 2 == 0;
        size_t n;
        const pml_field *fields = dense ? pml_rt_layout__dense_fields(f.layout, &n) : f.layout->fields;
        n = dense ? n : f.layout->n_fields;
        random_batch(&in, f.t, fields, n, 30);
        uint32_t cols[24];
        size_t n_cols = test_random(f.t) % 24;
        bool offset_asked = false;
        for (size_t i = 0; i < n_cols; i++) {
            cols[i] = (uint32_t)(test_random(f.t) % f.layout->n_fields);
            if (cols[i] == 0 && offset_asked)
                cols[i] = 1;
            offset_asked = offset_asked || cols[i] == 0;
        }
        int64_t row = (int64_t)(test_random(f.t) % 31), rows = (int64_t)(test_random(f.t) % (uint64_t)(31 - row));
        must_ok(f.host->share(f.host->ctx, &out, SCHEMA, &in, row, rows, n_cols, cols, 1000, count_drop, &drops, &err),
                &err);
        assert_int_equal(out.length, rows);
        assert_int_equal(out.n_children, n_cols);
        for (int64_t r = 0; r < rows; r++)
            for (size_t c = 0; c < n_cols; c++) {
                const struct ArrowArray *child = out.children[c];
                if (dense && cols[c] == 0)
                    assert_int_equal(((const int64_t *)child->buffers[1])[child->offset + r], 1000 + r);
                else
                    assert_true(array_rows_equal(child, r, in.children[cols[c] - (dense ? 1 : 0)], in.offset + row + r,
                                                 &f.layout->fields[cols[c]].type));
            }
        assert_int_equal(drops, 0);
        pml_array__release(&out);
        assert_int_equal(drops, 1);
        pml_array__release(&in);
    }
    host_close(&f);
}

static void host_share_drops_when_the_last_part_goes(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArray in, out, child;
    int drops = 0;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 2, false);
    random_batch(&in, f.t, f.columns, 2, 4);
    const uint32_t cols[] = {2, 1};
    must_ok(f.host->share(f.host->ctx, &out, SCHEMA, &in, 0, 4, 2, cols, 0, count_drop, &drops, &err), &err);
    child = *out.children[0]; /* a consumer moves a child out */
    out.children[0]->release = NULL;
    pml_array__release(&out);
    assert_int_equal(drops, 0);
    pml_array__release(&child);
    assert_int_equal(drops, 1);
    const uint32_t offset_only[] = {0};
    must_ok(f.host->share(f.host->ctx, &out, SCHEMA, &in, 0, 4, 1, offset_only, 0, count_drop, &drops, &err), &err);
    assert_int_equal(drops, 1);
    pml_rt_host__release(f.ctx); /* the array keeps the services */
    pml_array__release(&out);
    assert_int_equal(drops, 2);
    pml_array__release(&in);
    f.ctx = NULL;
    host_close(&f);
}

static void host_share_refuses_what_does_not_fit_and_drops_nothing(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArray in, out;
    int drops = 0;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 2, false);
    random_batch(&in, f.t, f.columns, 2, 4);
    const uint32_t cols[] = {0, 1}, bad[] = {3}, twice[] = {0, 0};
    const struct {
        int64_t row, rows, first;
        size_t n;
        const uint32_t *cols;
    } wrong[] = {{-1, 1, 0, 2, cols},        {0, 5, 0, 2, cols},  {4, 1, 0, 2, cols},
                 {INT64_MAX, 1, 0, 2, cols}, {0, -1, 0, 2, cols}, {0, 2, INT64_MAX, 2, cols},
                 {0, 2, -1, 2, cols},        {0, 1, 0, 1, bad},   {0, 1, 0, 2, twice}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        must_fail_with(PML_E_INVAL,
                       f.host->share(f.host->ctx, &out, SCHEMA, &in, wrong[i].row, wrong[i].rows, wrong[i].n,
                                     wrong[i].cols, wrong[i].first, count_drop, &drops, &err),
                       &err);
        assert_null(out.release);
    }
    in.n_children = 1;
    must_fail_with(PML_E_INVAL,
                   f.host->share(f.host->ctx, &out, SCHEMA, &in, 0, 1, 2, cols, 0, count_drop, &drops, &err), &err);
    in.n_children = 2;
    must_fail_with(PML_E_SCHEMA, f.host->share(f.host->ctx, &out, 77, &in, 0, 1, 2, cols, 0, count_drop, &drops, &err),
                   &err);
    for (long long n = 1; drops == 0; n++) {
        test_env_fail_at(f.t, n);
        int rc = f.host->share(f.host->ctx, &out, SCHEMA, &in, 1, 2, 2, cols, 7, count_drop, &drops, &err);
        test_env_fail_at(f.t, 0);
        assert_int_equal(drops, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && out.release == NULL));
        pml_array__release(&out); /* of the last round */
    }
    pml_array__release(&in);
    host_close(&f);
}

typedef struct source {
    int left, calls, drops, fail_at;
    host_fixture *f;
} source;

static int source_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    source *s = owner;
    (void)err;
    s->calls++;
    if (s->fail_at == s->calls)
        return PML_E_IO;
    if (s->left-- > 0)
        random_batch(out, s->f->t, s->f->layout->fields, 1, 3);
    return PML_OK;
}

static void source_drop(void *owner)
{
    ((source *)owner)->drops++;
}

static void host_stream_has_ids_and_the_segment_number(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray a;
    const char *text;
    size_t len;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 2, false);
    source src = {.left = 1, .f = &f};
    const uint32_t cols[] = {2, 0};
    must_ok(f.host->stream(f.host->ctx, &stream, SCHEMA, 2, cols, 41, source_next, source_drop, &src, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[0]->name, f.columns[1].name);
    assert_true(pml_schema__metadata_find(&text, &len, schema.metadata, PML_RT_META_SEGMENT));
    assert_memory_equal(text, "41", len);
    assert_int_equal(len, 2);
    assert_true(pml_schema__metadata_find(&text, &len, schema.children[1]->metadata, "PARQUET:field_id"));
    assert_memory_equal(text, "2147473645", len);
    assert_false(pml_schema__metadata_find(&text, &len, schema.metadata, "paimon.rt"));
    assert_false(pml_schema__metadata_find(&text, &len, NULL, "paimon.rt"));
    pml_schema__release(&schema);
    pml_rt_host__release(f.ctx); /* the stream keeps the services */
    assert_int_equal(stream.get_next(&stream, &a), 0);
    pml_array__release(&a);
    assert_int_equal(stream.get_next(&stream, &a), 0);
    assert_null(a.release);
    assert_int_equal(src.drops, 0);
    stream.release(&stream);
    assert_int_equal(src.drops, 1);
    f.ctx = NULL;
    host_close(&f);
}

static void host_stream_that_failed_stays_failed(void **state)
{
    (void)state;
    host_fixture f;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray a;
    const char *text;
    size_t len;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 1, false);
    source src = {.left = 3, .fail_at = 2, .f = &f};
    const uint32_t cols[] = {0};
    must_ok(f.host->stream(f.host->ctx, &stream, SCHEMA, 1, cols, -1, source_next, source_drop, &src, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_false(pml_schema__metadata_find(&text, &len, schema.metadata, PML_RT_META_SEGMENT));
    pml_schema__release(&schema);
    assert_int_equal(stream.get_next(&stream, &a), 0);
    pml_array__release(&a);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(stream.get_next(&stream, &a), 0);
        assert_null(a.release);
        assert_non_null(stream.get_last_error(&stream));
        assert_true(pml_stream__last_error(&stream, &err));
        assert_int_equal(err.code, PML_E_IO);
    }
    assert_int_equal(src.calls, 2);
    stream.release(&stream);
    src.drops = 0;
    for (long long n = 1; stream.release == NULL; n++) {
        test_env_fail_at(f.t, n);
        int rc = f.host->stream(f.host->ctx, &stream, SCHEMA, 1, cols, 3, source_next, source_drop, &src, &err);
        test_env_fail_at(f.t, 0);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && stream.release == NULL));
    }
    assert_int_equal(src.drops, 0);
    stream.release(&stream);
    assert_int_equal(src.drops, 1);
    host_close(&f);
}

static void host_schemas_are_added_once_and_refuse_system_names(void **state)
{
    (void)state;
    host_fixture f;
    pml_error err = PML_ERROR_INIT;
    host_open(&f, 2, false);
    must_ok(pml_rt_host__add_schema(f.ctx, PML_RT_MODE_APPEND, SCHEMA, f.columns, 1, &err), &err);
    assert_ptr_equal(pml_rt_host__layout(f.ctx, SCHEMA), f.layout);
    assert_null(pml_rt_host__layout(f.ctx, SCHEMA + 1));
    pml_field bad = f.columns[0];
    bad.name = "_LEVEL";
    must_fail_with(PML_E_SCHEMA, pml_rt_host__add_schema(f.ctx, PML_RT_MODE_APPEND, SCHEMA + 1, &bad, 1, &err), &err);
    for (long long n = 1; pml_rt_host__layout(f.ctx, SCHEMA + 1) == NULL; n++) {
        test_env_fail_at(f.t, n);
        (void)pml_rt_host__add_schema(f.ctx, PML_RT_MODE_APPEND, SCHEMA + 1, f.columns, 2, &err);
        test_env_fail_at(f.t, 0);
    }
    assert_ptr_equal(pml_rt_host__layout(f.ctx, SCHEMA), f.layout);
    host_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_alloc_aligns_and_counts),
        cmocka_unit_test(host_columns_match_by_field_id),
        cmocka_unit_test(host_share_gives_windows_of_any_type),
        cmocka_unit_test(host_share_drops_when_the_last_part_goes),
        cmocka_unit_test(host_share_refuses_what_does_not_fit_and_drops_nothing),
        cmocka_unit_test(host_stream_has_ids_and_the_segment_number),
        cmocka_unit_test(host_stream_that_failed_stays_failed),
        cmocka_unit_test(host_schemas_are_added_once_and_refuse_system_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
