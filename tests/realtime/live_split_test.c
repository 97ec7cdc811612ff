/* SPDX-License-Identifier: Apache-2.0 */
/* Live splits as bytes (realtime.md 17.1): what they carry, and what is refused. data/protocol/live_split.hex is the golden form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_context.h"
#include "realtime/rt_serde.h"
#include "support/rt_kit.h"
#include "util/crc32c.h"

enum { MUTATIONS = 20000, SPLITS_MAX = 16 };

typedef struct splits {
    size_t n;
    pml_text v[SPLITS_MAX];
    pml_blob blobs[SPLITS_MAX];
} splits;

static splits serialize_all(const pml_plan *plan)
{
    splits s = {.n = pml_plan_split_count(plan)};
    pml_error err = PML_ERROR_INIT;
    assert_in_range(s.n, 1, SPLITS_MAX);
    for (size_t i = 0; i < s.n; i++) {
        must_ok(pml_rt_split_serialize(&s.v[i], plan, i, &err), &err);
        s.blobs[i] = (pml_blob){s.v[i].ptr, s.v[i].len};
    }
    return s;
}

static splits plan_and_serialize(rt_kit *k)
{
    pml_plan *plan = rt_kit_plan(k);
    splits s = serialize_all(plan);
    pml_plan_free(plan);
    return s;
}

static void clear_all(splits *s)
{
    for (size_t i = 0; i < s->n; i++)
        pml_text_clear(&s->v[i]);
}

static pml_scan *scan_of(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    must_ok(pml_scan_set_realtime(scan, k->ctx, &err), &err);
    return scan;
}

static bool is_live(const pml_text *t)
{
    return t->len > 4 && memcmp(t->ptr, "PRTS", 4) == 0;
}

static void start(rt_kit *k, const char *partition_keys, const char *options)
{
    rt_kit_create(k, NULL, partition_keys, options);
    rt_kit_start(k, NULL, NULL);
}

/* ---- round trips ---- */

static void split_without_a_snapshot_is_memory_only(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    start(&k, "", "");
    rt_kit_write(&k, 7, NULL);
    splits s = plan_and_serialize(&k);
    assert_int_equal(s.n, 1);
    assert_true(is_live(&s.v[0]));
    pml_scan *scan = scan_of(&k);
    must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, 1, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(plan), -1);
    rt_kit_must_be(&k, plan, 0, 7);
    pml_plan_free(plan);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

/* Rows in memory are merged behind a ticket, too, whatever the bytes say of the files. */
static void key_written_again_and_again_is_one_row_behind_a_ticket(void **state)
{
    (void)state;
    for (int committed = 0; committed < 2; committed++) {
        rt_kit k;
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        rt_kit_create_keyed(&k, NULL, "", "");
        rt_kit_start(&k, NULL, NULL);
        for (int i = 0; i < 3; i++) {
            k.next_id = 0;
            rt_kit_write(&k, 7, NULL);
            if (i == 0 && committed == 1)
                (void)rt_kit_cycle(&k, 1);
        }
        splits s = plan_and_serialize(&k);
        assert_int_equal(s.n, 1);
        pml_scan *scan = scan_of(&k);
        must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, 1, &err), &err);
        rt_kit_must_be(&k, plan, 0, 7);
        pml_plan_free(plan);
        pml_scan_free(scan);
        clear_all(&s);
        rt_kit_close(&k);
    }
}

/* 43: only the last split of a partition-bucket with memory is live; all others are Java's bytes */
static void splits_of_a_union_plan_show_it_again(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan, *disk;
    size_t live = 0;
    start(&k, "\"p\"", "\"source.split.target-size\":\"1 b\",\"source.split.open-file-cost\":\"1 b\"");
    (void)rt_kit_append(&k, 10, "c");
    for (int i = 0; i < 3; i++) {
        rt_kit_write(&k, 10, "*");
        (void)rt_kit_cycle(&k, i);
    }
    rt_kit_write(&k, 6, "a");
    splits s = plan_and_serialize(&k);
    assert_int_equal(s.n, rt_kit_with_keys() ? 5 : 7); /* three files of a (with keys one split of them and memory) and of b, one of c */
    pml_scan *scan = scan_of(&k);
    pml_scan *disk_scan;
    must_ok(pml_scan_new(&disk_scan, k.table, &err), &err);
    for (size_t i = 0; i < s.n; i++) {
        live += is_live(&s.v[i]);
        int rc = pml_plan_from_splits(&disk, disk_scan, &s.blobs[i], 1, &err);
        assert_int_equal(rc, is_live(&s.v[i]) ? PML_E_INVAL : PML_OK);
        pml_plan_free(disk);
    }
    assert_int_equal(live, 1);
    must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, s.n, &err), &err);
    assert_int_equal(pml_plan_split_count(plan), s.n);
    rt_kit_must_be(&k, plan, 0, 46);
    /* What was opened can be sent on. */
    splits again = serialize_all(plan);
    pml_plan_free(plan);
    must_ok(pml_rt_split_deserialize(&plan, scan, again.blobs, again.n, &err), &err);
    rt_kit_must_be(&k, plan, 0, 46);
    pml_plan_free(plan);
    pml_scan_free(disk_scan);
    pml_scan_free(scan);
    clear_all(&again);
    clear_all(&s);
    rt_kit_close(&k);
}

static void split_of_a_partly_committed_view_shows_each_row_once(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    static const char *const manual[] = {"realtime.auto-advance", "false"};
    rt_kit_create(&k, NULL, "", "");
    rt_kit_start(&k, NULL, manual);
    rt_kit_write(&k, 10, NULL);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, NULL);
    splits s = plan_and_serialize(&k);
    (void)rt_kit_cycle(&k, 2); /* after the plan: the split shows the old snapshot and the old view */
    rt_kit_write(&k, 5, NULL);
    pml_scan *scan = scan_of(&k);
    must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, s.n, &err), &err);
    pml_split_info info = PML_SPLIT_INFO_INIT;
    must_ok(pml_plan_split_get(&info, plan, 0, &err), &err);
    assert_int_equal(info.rows_on_disk, 10);
    assert_int_equal(info.rows_in_memory, 5);
    rt_kit_must_be(&k, plan, 0, 15);
    pml_plan_free(plan);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

static void scan_of_the_reader_says_columns_and_predicate(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_predicate *p;
    int64_t rows;
    start(&k, "", "");
    rt_kit_write(&k, 10, NULL);
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 10, NULL);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    const char *columns[] = {"v"};
    must_ok(pml_scan_set_columns(scan, columns, 1, &err), &err);
    must_ok(pml_predicate_leaf(&p, k.table, "id", PML_OP_GE, &(pml_literal){"8", 1}, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, s.n, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 12);
    pml_plan_free(plan);
    pml_predicate_free(p);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

/* ---- refusals ---- */

static void live_split_without_a_context_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan = NULL, *made;
    pml_text text;
    pml_scan *scan;
    start(&k, "", "");
    rt_kit_write(&k, 3, NULL);
    plan = rt_kit_plan(&k);
    must_fail_with(PML_E_INVAL, pml_plan_split_serialize(&text, plan, 0, &err), &err);
    assert_non_null(strstr(err.message, "pml_rt_split_serialize"));
    must_fail_with(PML_E_INVAL, pml_rt_split_serialize(&text, plan, 1, &err), &err);
    splits s = serialize_all(plan);
    must_ok(pml_scan_new(&scan, k.table, &err), &err);
    must_fail_with(PML_E_INVAL, pml_rt_split_deserialize(&made, scan, s.blobs, 1, &err), &err);
    assert_non_null(strstr(err.message, "pml_scan_set_realtime"));
    must_fail_with(PML_E_INVAL, pml_plan_from_splits(&made, scan, s.blobs, 1, &err), &err);
    assert_non_null(strstr(err.message, "pml_rt_split_deserialize"));
    pml_scan_free(scan);
    pml_plan_free(plan);
    clear_all(&s);
    rt_kit_close(&k);
}

/* The checksum of changed bytes, so that what follows is looked at. */
static void seal(uint8_t *b, size_t n)
{
    pml_put_be32(b + n - 4, pml_crc32c(0, b, n - 4));
}

static int open_bytes(pml_plan **out, pml_scan *scan, const uint8_t *b, size_t n, pml_error *err)
{
    return pml_rt_split_deserialize(out, scan, &(pml_blob){b, n}, 1, err);
}

static void split_with_the_ticket_of_another_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    start(&k, "\"p\"", "");
    rt_kit_write(&k, 6, "*");
    splits s = plan_and_serialize(&k);
    assert_int_equal(s.n, 2);
    pml_scan *scan = scan_of(&k);
    uint8_t *a = (uint8_t *)memmem(s.v[0].ptr, s.v[0].len, "rt1-", 4), *b = (uint8_t *)memmem(s.v[1].ptr, s.v[1].len, "rt1-", 4);
    uint8_t own[RT_TICKET_TEXT];
    memcpy(own, a, RT_TICKET_TEXT - 1);
    memcpy(a, b, RT_TICKET_TEXT - 1);
    seal((uint8_t *)s.v[0].ptr, s.v[0].len);
    must_fail_with(PML_E_CORRUPT, pml_rt_split_deserialize(&plan, scan, s.blobs, 1, &err), &err);
    assert_non_null(strstr(err.message, "has the ticket of"));
    assert_null(strstr(err.message, "rt1-"));
    memcpy(a, own, RT_TICKET_TEXT - 1);
    seal((uint8_t *)s.v[0].ptr, s.v[0].len);
    must_ok(pml_rt_split_deserialize(&plan, scan, s.blobs, 2, &err), &err);
    rt_kit_must_be(&k, plan, 0, 6);
    pml_plan_free(plan);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

static void version_and_flags_of_later_times_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    start(&k, "", "");
    rt_kit_write(&k, 6, NULL);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    uint8_t *b = (uint8_t *)s.v[0].ptr;
    size_t n = s.v[0].len;
    b[5] = 2;
    must_fail_with(PML_E_CORRUPT, open_bytes(&plan, scan, b, n, &err), &err);
    seal(b, n);
    must_fail_with(PML_E_UNSUPPORTED, open_bytes(&plan, scan, b, n, &err), &err);
    b[5] = 1;
    b[6] = 1;
    seal(b, n);
    must_fail_with(PML_E_UNSUPPORTED, open_bytes(&plan, scan, b, n, &err), &err);
    b[6] = 0;
    b[7] = 1; /* may be ignored */
    seal(b, n);
    must_ok(open_bytes(&plan, scan, b, n, &err), &err);
    rt_kit_must_be(&k, plan, 0, 6);
    pml_plan_free(plan);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

static void split_of_another_schema_is_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    start(&k, "", "");
    rt_kit_write(&k, 6, NULL);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    uint8_t *b = (uint8_t *)s.v[0].ptr;
    pml_put_be64(b + 8 + 16 + 8, 4); /* the schema id */
    seal(b, s.v[0].len);
    must_fail_with(PML_E_SCHEMA, open_bytes(&plan, scan, b, s.v[0].len, &err), &err);
    assert_int_equal(pml_rt_tickets__count(k.ctx), 1);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

/* 97: half of the mutants have a right checksum */
static void mutated_live_splits_are_refused_or_read_without_harm(void **state)
{
    (void)state;
    rt_kit k;
    size_t opened = 0;
    start(&k, "\"p\"", "");
    rt_kit_write(&k, 6, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 6, "a");
    pml_scan *scan = scan_of(&k);
    splits s = plan_and_serialize(&k);
    const pml_text *from = &s.v[0];
    k.t->random_state = test_seed();
    for (int i = 0; i < MUTATIONS; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        uint8_t *b = malloc(from->len);
        size_t len = test_random(k.t) % 16 == 0 ? test_random(k.t) % (from->len + 1) : from->len;
        assert_non_null(b);
        memcpy(b, from->ptr, from->len);
        for (size_t c = test_random(k.t) % 64 == 0 ? 0 : 1 + test_random(k.t) % 3; len > 0 && c > 0; c--) {
            uint64_t x = test_random(k.t);
            b[x % len] = (uint8_t)(x >> 56);
        }
        if (len > 4 && i % 2 == 0)
            seal(b, len);
        if (len > 0 && open_bytes(&plan, scan, b, len, &err) == PML_OK) {
            struct ArrowArrayStream stream;
            struct ArrowArray a = {0};
            must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
            while (stream.get_next(&stream, &a) == 0 && a.release != NULL)
                a.release(&a);
            stream.release(&stream);
            pml_plan_free(plan);
            clear_all(&s); /* its ticket is used up */
            s = plan_and_serialize(&k);
            opened++;
        } else if (len > 0) {
            assert_string_not_equal(err.message, "");
        }
        free(b);
    }
    assert_true(opened > 0);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

/* ---- the form ---- */

static void crc32c_of_known_texts_is_right(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0};
    assert_int_equal(pml_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(pml_crc32c(pml_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    assert_int_equal(pml_crc32c(0, zeros, sizeof zeros), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(pml_crc32c(0, "", 0), 0);
}

/* 97a: the form of version 1 never changes */
static void form_of_version_1_is_the_golden_one(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_buf buf;
    pml_arena arena;
    static const char *const keys[] = {"dt", "region"}, *const values[] = {"2026-01-01", "z\xc3\xbcrich"};
    const pml_bytes disk[2] = {{(const uint8_t *)"one", 3}, {(const uint8_t *)"two!", 4}};
    rt_split_form f = {.snapshot_id = 42, .schema_id = 3, .n_partition = 2, .keys = keys, .values = values, .bucket = 5,
                       .total_buckets = 8, .mode = PML_RT_MODE_APPEND, .committed = 1000, .floor = 900, .end = 1234, .rows = 234,
                       .lineage = {.known = true},
                       .ticket = "rt1-000102030405060708090a0b0c0d0e0f-f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", .part = 0, .n_parts = 1,
                       .store = "memory", .n_disk = 2, .disk = disk};
    rt_split_form back;
    for (int i = 0; i < 16; i++) {
        f.context[i] = (uint8_t)i;
        f.lineage.bytes[i] = (uint8_t)(0xa0 + i);
    }
    pml_arena__init(&arena, t->env);
    pml_buf__init(&buf, t->env, SIZE_MAX / 2);
    must_ok(pml_rt_serde__write_split(&buf, &f, &err), &err);
    size_t len;
    uint8_t *hex = test_read_file(PML_TEST_SOURCE "/meta/data/protocol/live_split.hex", &len);
    char *made = calloc(buf.len + 1, 2);
    assert_non_null(made);
    for (size_t i = 0; i < buf.len; i++)
        (void)snprintf(made + 2 * i, 3, "%02x", buf.data[i]);
    if (len != 2 * buf.len + 1 || memcmp(made, hex, 2 * buf.len) != 0)
        fail_msg("the form is now %s", made);
    must_ok(pml_rt_serde__read_split(&back, &arena, (pml_bytes){buf.data, buf.len}, &err), &err);
    assert_string_equal(back.values[1], values[1]);
    assert_string_equal(back.ticket, f.ticket);
    assert_int_equal(back.n_disk, 2);
    assert_memory_equal(back.disk[1].ptr, "two!", 4);
    assert_int_equal(back.end, 1234);
    free(made);
    free(hex);
    pml_buf__clear(&buf);
    pml_arena__clear(&arena);
    test_env_close(t);
}

/* 97a: the file of docs/protocol.md, read and written again */
static void progress_file_of_the_protocol_page_comes_back_the_same(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    pml_buf text;
    size_t len;
    static const char *const keys[] = {"dt", "region"};
    uint8_t *file = test_read_file(PML_TEST_SOURCE "/meta/data/protocol/progress.offsets", &len);
    pml_buf__init(&text, t->env, PML_PROGRESS_FILE_MAX);
    must_ok(pml_progress__init(&p, t->env, 2, keys, &err), &err);
    must_ok(pml_progress__parse(&p, (pml_bytes){file, len}, "progress.offsets", &err), &err);
    assert_int_equal(p.n, 4);
    must_ok(pml_progress__write(&text, &p, &err), &err);
    assert_int_equal(text.len, len);
    assert_memory_equal(text.data, file, len);
    free(file);
    pml_buf__clear(&text);
    pml_progress__clear(&p);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_without_a_snapshot_is_memory_only),
        cmocka_unit_test(key_written_again_and_again_is_one_row_behind_a_ticket),
        cmocka_unit_test(splits_of_a_union_plan_show_it_again),
        cmocka_unit_test(split_of_a_partly_committed_view_shows_each_row_once),
        cmocka_unit_test(scan_of_the_reader_says_columns_and_predicate),
        cmocka_unit_test(live_split_without_a_context_is_refused),
        cmocka_unit_test(split_with_the_ticket_of_another_is_refused),
        cmocka_unit_test(version_and_flags_of_later_times_are_refused),
        cmocka_unit_test(split_of_another_schema_is_refused),
        cmocka_unit_test(mutated_live_splits_are_refused_or_read_without_harm),
        cmocka_unit_test(crc32c_of_known_texts_is_right),
        cmocka_unit_test(form_of_version_1_is_the_golden_one),
        cmocka_unit_test(progress_file_of_the_protocol_page_comes_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
