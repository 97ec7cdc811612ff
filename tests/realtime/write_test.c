/* SPDX-License-Identifier: Apache-2.0 */
/* The write call (realtime.md 6, 8): offsets, claims, row kinds, limits, failures. Numbers: realtime-tests.md. */
#include <stdio.h>
#include <string.h>

#include "support/failing_store.h"
#include "support/rt_kit.h"

static const char *const external[] = {"realtime.offset-mode", "external"};

static void start_external(rt_kit *k, const char *partition_keys, const char *options)
{
    rt_kit_create(k, NULL, partition_keys, options);
    rt_kit_start(k, NULL, external);
}

static pml_rt_write_options at(int64_t first_offset)
{
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    o.first_offset = first_offset;
    return o;
}

static void assigned_offsets_are_dense_and_told(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        must_ok(rt_kit_try_write(&k, 4, "a", NULL, &r, &err), &err);
        assert_int_equal(r.n_pbs, 1);
        assert_int_equal(r.rows, 4);
        assert_int_equal(r.bucket[0], 0);
        assert_int_equal(r.first_offset[0], 4 * i);
        assert_int_equal(r.end_offset[0], 4 * i + 4);
    }
    const pml_rt_write_options o = at(12);
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", &o, &r, &err), &err);
    k.external = true;
    k.next_offset = 12;
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", NULL, &r, &err), &err);
    assert_int_equal(r.n_pbs, 0);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    rt_kit_must_show(&k, 0, 12);
    rt_kit_close(&k);
}

static void result_counts_more_partition_buckets_than_it_lists(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    int64_t listed = 0;
    rt_kit_create(&k, NULL, "", "\"bucket\":\"80\",\"bucket-key\":\"id\"");
    rt_kit_start(&k, NULL, NULL);
    must_ok(rt_kit_try_write(&k, 4000, "a", NULL, &r, &err), &err);
    assert_int_equal(r.n_pbs, 80);
    assert_int_equal(r.rows, 4000);
    for (int i = 0; i < PML_RT_WRITE_RESULT_PBS; i++) {
        assert_int_equal(r.bucket[i], i); /* in order */
        listed += r.end_offset[i] - r.first_offset[i];
    }
    assert_true(listed < 4000);
    rt_kit_must_show(&k, 0, 4000);
    rt_kit_close(&k);
}

/* 48 */
static void external_offsets_may_have_gaps_and_cover_them(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    pml_rt_entry_info info = PML_RT_ENTRY_INFO_INIT;
    size_t n;
    start_external(&k, "", "");
    k.external = true;
    k.offset_step = 10;
    k.next_offset = 100; /* the first one need not be 0 */
    must_ok(rt_kit_try_write(&k, 5, "a", NULL, &r, &err), &err);
    assert_int_equal(r.first_offset[0], 100);
    assert_int_equal(r.end_offset[0], 141);
    k.next_offset = 1000;
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 10);
    pml_rt_prepared *p = rt_kit_prepare(&k, 1);
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    must_ok(pml_rt_entry_get(&info, e[0], &err), &err);
    assert_int_equal(info.begin, 0);
    assert_int_equal(info.end, 1041);
    assert_int_equal(info.rows, 10);
    (void)rt_kit_commit(&k, p);
    pml_rt_prepared_free(p);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), 1041);
    rt_kit_must_show(&k, 0, 10);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, external); /* restart at a gap */
    k.next_offset = 1040;
    must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 1, "a", NULL, &r, &err), &err);
    k.next_offset = 5000;
    rt_kit_write(&k, 5, "a");
    rt_kit_must_show(&k, 0, 15);
    (void)rt_kit_cycle(&k, 2);
    rt_kit_must_store(&k, 0, 15);
    rt_kit_close(&k);
}

static void external_offsets_are_split_over_partitions(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    start_external(&k, "\"p\"", "");
    k.external = true;
    must_ok(rt_kit_try_write(&k, 10, "*", NULL, &r, &err), &err);
    assert_int_equal(r.n_pbs, 2);
    assert_int_equal(r.end_offset[0] + r.end_offset[1], 9 + 10);
    rt_kit_must_show(&k, 0, 10);
    (void)rt_kit_cycle(&k, 1);
    assert_int_equal(rt_kit_end(&k, -1, "a", 0), 9);
    assert_int_equal(rt_kit_end(&k, -1, "b", 0), 10);
    rt_kit_must_store(&k, 0, 10);
    rt_kit_close(&k);
}

/* Slices of larger arrays, of the struct and of its columns; 17 in small. */
static void sliced_batches_keep_their_rows(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
        rt_kit_create(&k, NULL, "\"p\"", "");
        rt_kit_start(&k, NULL, way == 2 ? external : NULL);
        k.external = way == 2;
        struct ArrowSchema schema = rt_kit_schema(&k);
        struct ArrowArray batch = rt_kit_batch(&k, 20, way == 0 ? "a" : "*");
        batch.offset = 3;
        batch.length = 10;
        for (int64_t i = 0; i < batch.n_children; i++) {
            batch.children[i]->offset = 2;
            batch.children[i]->length = 14;
            batch.children[i]->null_count = -1;
        }
        must_ok(pml_rt_write(&r, k.w, &batch, &schema, NULL, &err), &err);
        schema.release(&schema);
        assert_int_equal(r.rows, 10);
        if (way == 2) /* rows 5 to 14, p is b for the odd ones */
            assert_int_equal(r.first_offset[0] + r.first_offset[1], 5 + 6);
        rt_kit_must_show(&k, 5, 15);
        (void)rt_kit_cycle(&k, 1);
        rt_kit_must_store(&k, 5, 15);
        rt_kit_close(&k);
    }
}

/* 47 in small: a view that is partly on disk, with gaps at the border */
static void partly_committed_view_is_counted_and_cut_at_the_border(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair pairs[] = {{"realtime.offset-mode", "external"}, {"realtime.auto-advance", "false"}};
    rt_kit_create(&k, NULL, "", "");
    o.n_options = 2;
    o.options = pairs;
    must_ok(pml_rt_context_open(&k.ctx, k.t->env, &o, &err), &err);
    must_ok(pml_rt_writer_open(&k.w, k.table, k.ctx, NULL, &err), &err);
    k.external = true;
    k.offset_step = 7;
    for (int i = 0; i < 4; i++) {
        rt_kit_write(&k, 9, "a");
        if (i == 1)
            (void)rt_kit_cycle(&k, 1);
        rt_kit_must_show(&k, 0, 9 * (i + 1));
    }
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 36);
    rt_kit_close(&k);
}

/* 48 */
static void external_offsets_that_go_back_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    start_external(&k, "", "");
    k.external = true;
    rt_kit_write(&k, 5, "a");
    for (int64_t bad = 0; bad < 5; bad++) {
        k.next_offset = bad;
        must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 3, "a", NULL, &r, &err), &err);
        assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    }
    k.next_offset = 5;
    k.offset_step = 0; /* the same one twice */
    must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 3, "a", NULL, &r, &err), &err);
    k.offset_step = -1;
    must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 3, "a", NULL, &r, &err), &err);
    k.offset_step = 1;
    k.next_offset = -2;
    must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 3, "a", NULL, &r, &err), &err);
    k.next_offset = 5; /* I2: nothing was consumed */
    must_ok(rt_kit_try_write(&k, 3, "a", NULL, &r, &err), &err);
    assert_int_equal(r.first_offset[0], 5);
    rt_kit_must_show(&k, 0, 8);
    assert_int_equal(rt_kit_metrics(&k).rejected_batches, 8);
    rt_kit_close(&k);
}

/* 48 */
static void external_mode_without_offsets_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    const pml_rt_write_options o = at(3);
    start_external(&k, "", "");
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 3, "a", NULL, NULL, &err), &err);
    k.external = true;
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 3, "a", &o, NULL, &err), &err); /* twice */
    struct ArrowSchema f[] = {test_field("i", "_REALTIME_OFFSET", -1, false, 0, NULL), test_field("l", "id", -1, false, 0, NULL),
                              test_field("u", "p", -1, true, 0, NULL), test_field("u", "v", -1, true, 0, NULL)};
    struct ArrowSchema schema = test_struct(4, f);
    struct ArrowArray batch = rt_kit_batch(&k, 2, "a");
    must_fail_with(PML_E_SCHEMA, pml_rt_write(NULL, k.w, &batch, &schema, NULL, &err), &err);
    assert_non_null(batch.release);
    batch.release(&batch);
    schema.release(&schema);
    rt_kit_must_show(&k, 0, 0);
    rt_kit_close(&k);
}

static void dense_external_offsets_need_one_partition_bucket(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    pml_rt_write_options o = at(50);
    pml_rt_pb pb = PML_RT_PB_INIT;
    const char *value = "a";
    start_external(&k, "\"p\"", "");
    must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 4, "*", &o, &r, &err), &err);
    must_ok(rt_kit_try_write(&k, 4, "a", &o, &r, &err), &err);
    assert_int_equal(r.first_offset[0], 50);
    pb.n_partition = 1;
    pb.partition = &value;
    o = at(60); /* a gap between dense batches */
    o.pb = &pb;
    must_ok(rt_kit_try_write(&k, 4, "a", &o, &r, &err), &err);
    assert_int_equal(r.end_offset[0], 64);
    must_fail_with(PML_E_OFFSET_ORDER, rt_kit_try_write(&k, 4, "a", &o, &r, &err), &err);
    rt_kit_must_show(&k, 0, 8);
    (void)rt_kit_cycle(&k, 1);
    assert_int_equal(rt_kit_end(&k, -1, "a", 0), 64);
    rt_kit_must_store(&k, 0, 8);
    rt_kit_close(&k);
}

/* 98 */
static void offsets_end_below_the_largest_number(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    pml_rt_write_options o = at(INT64_MAX - 3);
    start_external(&k, "", "");
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 4, "a", &o, &r, &err), &err);
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 5, "a", &o, &r, &err), &err);
    must_ok(rt_kit_try_write(&k, 2, "a", &o, &r, &err), &err);
    assert_int_equal(r.end_offset[0], INT64_MAX - 1);
    k.external = true;
    k.next_offset = INT64_MAX - 1;
    rt_kit_write(&k, 1, "a"); /* the last valid offset */
    k.next_offset = INT64_MAX;
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 1, "a", NULL, &r, &err), &err);
    k.external = false;
    o = at(INT64_MAX);
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 1, "a", &o, &r, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    rt_kit_must_show(&k, 0, 3);
    (void)rt_kit_cycle(&k, 1);
    assert_int_equal(rt_kit_end(&k, -1, NULL, 0), INT64_MAX);
    rt_kit_stop(&k);
    rt_kit_start(&k, NULL, NULL); /* assigned: exhausted as well */
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 1, "a", NULL, &r, &err), &err);
    rt_kit_must_show(&k, 0, 3);
    rt_kit_close(&k);
}

/* 98: nothing half-applied */
static void largest_number_in_a_later_partition_refuses_the_whole_batch(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    start_external(&k, "\"p\"", "");
    k.external = true;
    k.next_offset = INT64_MAX - 1;
    must_fail_with(PML_E_OVERFLOW, rt_kit_try_write(&k, 2, "*", NULL, &r, &err), &err); /* a gets MAX-1, b gets MAX */
    assert_int_equal(r.n_pbs, 0);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    rt_kit_must_show(&k, 0, 0);
    rt_kit_close(&k);
}

static void claimed_partition_bucket_is_checked(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
        pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
        pml_rt_pb pb = PML_RT_PB_INIT;
        const char *value = "a";
        rt_kit_create(&k, NULL, "\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"v\"");
        rt_kit_start(&k, NULL, full != 0 ? (const char *const[]){"realtime.validate-input", "full"} : NULL);
        o.pb = &pb;
        must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", &o, &r, &err), &err); /* no partition named */
        pb.n_partition = 1;
        pb.partition = &value;
        pb.bucket = 2;
        must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", &o, &r, &err), &err);
        pb.bucket = -1;
        must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "a", &o, &r, &err), &err);
        pb.bucket = 0;
        must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 1, "b", &o, &r, &err), &err); /* another partition */
        int ok = 0;
        for (int32_t b = 0; b < 2; b++) { /* one row is in one bucket */
            pb.bucket = b;
            int rc = rt_kit_try_write(&k, 1, "a", &o, &r, &err);
            ok += rc == PML_OK;
            assert_true(rc == PML_OK || rc == PML_E_INVAL);
        }
        assert_int_equal(ok, full != 0 ? 1 : 2);
        if (full != 0) /* forty texts are not all in one bucket */
            must_fail_with(PML_E_INVAL, rt_kit_try_write(&k, 40, "a", &o, &r, &err), &err);
        rt_kit_must_show(&k, 0, ok);
        rt_kit_close(&k);
    }
}

static void row_kinds_other_than_insert_are_refused(void **state)
{
    (void)state;
    for (int accept = 0; accept < 2; accept++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
        int8_t kinds[3] = {0, 0, 0};
        rt_kit_create(&k, NULL, "", "");
        rt_kit_start(&k, NULL, (const char *const[]){"realtime.append.accept-update-after", accept != 0 ? "true" : "false"});
        o.row_kinds = kinds;
        must_ok(rt_kit_try_write(&k, 3, "a", &o, NULL, &err), &err);
        for (int8_t kind = -1; kind <= 4; kind++) {
            kinds[1] = kind;
            int rc = rt_kit_try_write(&k, 3, "a", &o, NULL, &err);
            assert_int_equal(rc, kind == 0 || (kind == 2 && accept != 0) ? PML_OK : PML_E_INVAL);
        }
        rt_kit_must_show(&k, 0, accept != 0 ? 9 : 6);
        rt_kit_close(&k);
    }
}

/* 50 */
static void empty_batch_is_taken_and_creates_nothing(void **state)
{
    (void)state;
    rt_kit k;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 0, "a");
    assert_int_equal(rt_kit_metrics(&k).pb_active, 0);
    rt_kit_must_show(&k, 0, 0);
    rt_kit_close(&k);
}

static void batch_of_another_schema_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, NULL);
    struct ArrowSchema f[] = {test_field("l", "id", -1, false, 0, NULL), test_field("u", "p", -1, true, 0, NULL),
                              test_field("u", "w", -1, true, 0, NULL)};
    struct ArrowSchema schema = test_struct(3, f);
    struct ArrowArray batch = rt_kit_batch(&k, 2, "a");
    must_fail_with(PML_E_SCHEMA, pml_rt_write(NULL, k.w, &batch, &schema, NULL, &err), &err);
    assert_non_null(batch.release);
    batch.release(&batch);
    schema.release(&schema);
    rt_kit_close(&k);
}

/* ---- stores that fail: 23.3, 14d ---- */

static void start_failing(rt_kit *k, const char *partition_keys)
{
    failing_store = (failing_script){0};
    rt_kit_create(k, NULL, partition_keys, "");
    rt_kit_start(k, &failing_store_plugin, NULL);
}

/* 14d */
static void codes_that_a_store_may_return_come_through(void **state)
{
    (void)state;
    static const int allowed[] = {PML_E_INVAL, PML_E_UNSUPPORTED, PML_E_NOMEM, PML_E_IO, PML_E_CORRUPT, PML_E_NO_SPACE,
                                  PML_E_CANCELLED, PML_E_LIMIT, PML_E_TIMEOUT, PML_E_STATE, PML_E_BUSY, PML_E_SCHEMA,
                                  PML_E_INTERNAL, PML_E_PROGRESS_GAP, PML_E_OFFSET_ORDER, PML_E_BUDGET};
    static const int others[] = {PML_E_NOT_FOUND, PML_E_EXISTS, PML_E_CONFLICT, PML_E_UNKNOWN_OUTCOME, PML_E_SNAPSHOT_GONE,
                                 PML_E_TICKET, PML_E_RECREATE, PML_E_PB_FAILED, PML_E_PB_RESET, PML_E_PROGRESS_LOST,
                                 PML_E_OVERFLOW, 5, -99};
    rt_kit k;
    start_failing(&k, "");
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0] + sizeof others / sizeof others[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        bool is_allowed = i < sizeof allowed / sizeof allowed[0];
        int code = is_allowed ? allowed[i] : others[i - sizeof allowed / sizeof allowed[0]];
        failing_store = (failing_script){.call = FAIL_WRITE, .code = code, .flags = PML_ERRF_NO_EFFECT, .times = 1};
        must_fail_with(is_allowed ? code : PML_E_PLUGIN, rt_kit_try_write(&k, 3, "a", NULL, NULL, &err), &err);
        assert_int_equal(err.code, is_allowed ? code : PML_E_PLUGIN);
        assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
        failing_store.times = 1;
        must_fail_with(is_allowed ? code : PML_E_PLUGIN, rt_kit_try_write(&k, 3, "a", NULL, NULL, NULL), NULL);
    }
    rt_kit_write(&k, 3, "a");
    rt_kit_must_show(&k, 0, 3);
    rt_kit_close(&k);
}

/* Leaves bytes where the next calls have their frames. */
static __attribute__((noinline)) void use_the_stack(void)
{
    volatile char bytes[32768];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 'x';
}

/* What its message says after the NUL is the store's to read, too: nothing of the stack. */
static void store_is_given_an_empty_error(void **state)
{
    (void)state;
    rt_kit k;
    start_failing(&k, "");
    failing_store = (failing_script){0};
    for (int i = 0; i < 3; i++) {
        use_the_stack();
        must_ok(rt_kit_try_write(&k, 3, "a", NULL, NULL, NULL), NULL);
    }
    assert_int_equal(failing_store.dirty, 0);
    rt_kit_close(&k);
}

static void store_failing_without_effect_can_be_asked_again(void **state)
{
    (void)state;
    static const int codes[] = {PML_E_IO, PML_E_NOMEM, PML_E_NO_SPACE, PML_E_BUDGET, PML_E_LIMIT, PML_E_TIMEOUT, PML_E_BUSY};
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    start_failing(&k, "");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        failing_store = (failing_script){.call = FAIL_WRITE, .code = codes[i], .flags = PML_ERRF_NO_EFFECT, .times = 1};
        must_fail_with(codes[i], rt_kit_try_write(&k, 3, "a", NULL, NULL, &err), &err);
        assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
        rt_kit_write(&k, 3, "a");
    }
    rt_kit_must_show(&k, 0, k.next_id);
    failing_store = (failing_script){.call = FAIL_SEAL, .code = PML_E_IO, .flags = PML_ERRF_NO_EFFECT, .times = 1};
    must_fail_with(PML_E_IO, pml_rt_seal(k.w, &err), &err);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_must_store(&k, 0, k.next_id);
    rt_kit_close(&k);
}

/* The rows may be in the store or not: nothing may go on, and nobody may believe that nothing happened. */
static void store_failing_in_doubt_poisons_the_context(void **state)
{
    (void)state;
    static const failing_call calls[] = {FAIL_WRITE, FAIL_WRITE_TAKEN, FAIL_SEAL};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_plan *p, *before;
        pml_rt_writer *w;
        start_failing(&k, "");
        rt_kit_write(&k, 3, "a");
        before = rt_kit_plan(&k);
        failing_store = (failing_script){.call = calls[i], .code = PML_E_IO, .times = 1};
        int rc = calls[i] == FAIL_SEAL ? pml_rt_seal(k.w, &err) : rt_kit_try_write(&k, 3, "a", NULL, NULL, &err);
        must_fail_with(PML_E_IO, rc, &err);
        assert_int_equal(err.flags & PML_ERRF_NO_EFFECT, 0);
        must_fail_with(PML_E_RECREATE, rt_kit_try_write(&k, 3, "a", NULL, NULL, &err), &err);
        must_fail_with(PML_E_RECREATE, rt_kit_try_plan(&p, &k, k.ctx, -1, &err), &err);
        must_fail_with(PML_E_RECREATE, pml_rt_seal(k.w, &err), &err);
        must_ok(pml_rt_writer_close(k.w, &err), &err);
        must_fail_with(PML_E_RECREATE, pml_rt_writer_open(&w, k.table, k.ctx, NULL, &err), &err);
        k.w = NULL;
        rt_kit_must_be(&k, before, 0, 3); /* views are immutable */
        pml_plan_free(before);
        rt_kit_close(&k);
    }
}

static void batch_applied_in_part_says_what_was_applied(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_result r = PML_RT_WRITE_RESULT_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayStream s;
    start_failing(&k, "\"p\"");
    failing_store = (failing_script){.call = FAIL_WRITE, .code = PML_E_BUDGET, .flags = PML_ERRF_NO_EFFECT, .skip = 1, .times = 1};
    schema = rt_kit_schema(&k);
    batch = rt_kit_batch(&k, 6, "*");
    must_fail_with(PML_E_BUDGET, pml_rt_write(&r, k.w, &batch, &schema, NULL, &err), &err);
    assert_int_equal(r.n_pbs, 1);
    assert_int_equal(r.rows, 3);
    assert_int_equal(err.flags & PML_ERRF_NO_EFFECT, 0); /* repeating it would write three rows twice */
    batch.release(&batch);
    schema.release(&schema);
    pml_plan *p = rt_kit_plan(&k);
    must_ok(pml_read_open(&s, p, NULL, &err), &err);
    assert_int_equal(rt_kit_read(&k, &s), 3);
    assert_true(k.seen[0] && k.seen[2] && k.seen[4]);
    pml_plan_free(p);
    rt_kit_close(&k);
}

static void store_failing_to_open_or_to_stream_changes_nothing(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_rt_prepared *p;
    start_failing(&k, "");
    failing_store = (failing_script){.call = FAIL_STORE_OPEN, .code = PML_E_IO, .times = 1};
    must_fail_with(PML_E_IO, rt_kit_try_write(&k, 3, "a", NULL, NULL, &err), &err);
    assert_true((err.flags & PML_ERRF_NO_EFFECT) != 0);
    rt_kit_write(&k, 3, "a");
    failing_store = (failing_script){.call = FAIL_ACQUIRE_VIEW, .code = PML_E_NOMEM, .times = 1};
    must_fail_with(PML_E_NOMEM, rt_kit_try_plan(&plan, &k, k.ctx, -1, &err), &err);
    failing_store = (failing_script){.call = FAIL_COMMIT_STREAMS, .code = PML_E_IO, .times = 1};
    must_fail_with(PML_E_IO, pml_rt_prepare(&p, k.w, 1, NULL, &err), &err);
    failing_store = (failing_script){.call = FAIL_USAGE, .code = PML_E_IO, .times = 1};
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 0); /* one failing store does not fail the call */
    assert_int_equal(rt_kit_metrics(&k).total_row_count, 3);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_must_show(&k, 0, 3);
    assert_int_equal(rt_kit_metrics(&k).prepare_failures, 1);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assigned_offsets_are_dense_and_told),
        cmocka_unit_test(result_counts_more_partition_buckets_than_it_lists),
        cmocka_unit_test(external_offsets_may_have_gaps_and_cover_them),
        cmocka_unit_test(external_offsets_are_split_over_partitions),
        cmocka_unit_test(sliced_batches_keep_their_rows),
        cmocka_unit_test(partly_committed_view_is_counted_and_cut_at_the_border),
        cmocka_unit_test(external_offsets_that_go_back_are_refused),
        cmocka_unit_test(external_mode_without_offsets_is_refused),
        cmocka_unit_test(dense_external_offsets_need_one_partition_bucket),
        cmocka_unit_test(offsets_end_below_the_largest_number),
        cmocka_unit_test(largest_number_in_a_later_partition_refuses_the_whole_batch),
        cmocka_unit_test(empty_batch_is_taken_and_creates_nothing),
        cmocka_unit_test(batch_of_another_schema_is_refused),
        cmocka_unit_test(codes_that_a_store_may_return_come_through),
        cmocka_unit_test(store_is_given_an_empty_error),
        cmocka_unit_test(store_failing_without_effect_can_be_asked_again),
        cmocka_unit_test(store_failing_in_doubt_poisons_the_context),
        cmocka_unit_test(batch_applied_in_part_says_what_was_applied),
        cmocka_unit_test(store_failing_to_open_or_to_stream_changes_nothing),
    };
    const struct CMUnitTest without_keys[] = {
        cmocka_unit_test(claimed_partition_bucket_is_checked), /* the bucket key would have to be one of the key */
        cmocka_unit_test(row_kinds_other_than_insert_are_refused), /* others are taken: keyed_law_test.c */
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + (rt_kit_with_keys() ? 0 : cmocka_run_group_tests(without_keys, NULL, NULL));
}
