/* SPDX-License-Identifier: Apache-2.0 */
/* Splits and commit messages as bytes: planned here and read there, written here and committed there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/serde_message.h"
#include "meta/serde_split.h"
#include "support/rt_kit.h"
#include "table/table.h"

enum { MUTATIONS = 3000, SPLITS_MAX = 16 };

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
        must_ok(pml_plan_split_serialize(&s.v[i], plan, i, &err), &err);
        s.blobs[i] = (pml_blob){s.v[i].ptr, s.v[i].len};
    }
    return s;
}

static void clear_all(splits *s)
{
    for (size_t i = 0; i < s->n; i++)
        pml_text_clear(&s->v[i]);
}

static splits plan_and_serialize(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    must_ok(rt_kit_try_plan(&plan, k, NULL, -1, &err), &err);
    splits s = serialize_all(plan);
    pml_plan_free(plan);
    return s;
}

static pml_scan *scan_of(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    return scan;
}

/* Two partitions, three commits. */
static void create(rt_kit *k)
{
    rt_kit_create(k, NULL, "\"p\"", "");
    (void)rt_kit_append(k, 10, "*");
    (void)rt_kit_append(k, 10, "a");
    (void)rt_kit_append(k, 10, "*");
}

static void splits_read_in_another_environment_show_the_rows(void **state)
{
    (void)state;
    rt_kit k, worker;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    create(&k);
    splits s = plan_and_serialize(&k);
    assert_int_equal(s.n, 2);
    rt_kit_share(&worker, &k, NULL);
    pml_scan *scan = scan_of(&worker);
    must_ok(pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    assert_int_equal(pml_plan_snapshot_id(plan), 3);
    assert_int_equal(pml_plan_split_count(plan), 2);
    pml_split_info info = PML_SPLIT_INFO_INIT;
    must_ok(pml_plan_split_get(&info, plan, 0, &err), &err);
    assert_string_equal(info.partition, "p=a");
    assert_int_equal(info.files, 3);
    rt_kit_must_be(&worker, plan, 0, 30);
    rt_kit_must_be(&worker, plan, 0, 30);
    pml_plan_free(plan);
    /* One after the other they show each row once. */
    int64_t rows = 0, n;
    for (size_t i = 0; i < s.n; i++) {
        must_ok(pml_plan_from_splits(&plan, scan, &s.blobs[i], 1, &err), &err);
        must_ok(pml_plan_count(&n, plan, &err), &err);
        rows += n;
        pml_plan_free(plan);
    }
    assert_int_equal(rows, 30);
    pml_scan_free(scan);
    rt_kit_close(&worker);
    clear_all(&s);
    rt_kit_close(&k);
}

static void splits_serialised_again_are_the_same_bytes(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    create(&k);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    must_ok(pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    splits again = serialize_all(plan);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.v[i].len, again.v[i].len);
        assert_memory_equal(s.v[i].ptr, again.v[i].ptr, s.v[i].len);
    }
    pml_plan_free(plan);
    pml_scan_free(scan);
    clear_all(&again);
    clear_all(&s);
    rt_kit_close(&k);
}

static void scan_of_the_reader_says_columns_predicate_and_limit(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_predicate *p;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    int64_t rows;
    create(&k);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    const char *columns[] = {"v"};
    must_ok(pml_scan_set_columns(scan, columns, 1, &err), &err);
    must_ok(pml_predicate_leaf(&p, k.table, "id", PML_OP_LT, &(pml_literal){"7", 1}, 1, &err), &err);
    must_ok(pml_scan_set_predicate(scan, p, &err), &err);
    must_ok(pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 7);
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(schema.n_children, 1);
    schema.release(&schema);
    stream.release(&stream);
    pml_plan_free(plan);
    must_ok(pml_scan_set_limit(scan, 3, &err), &err);
    must_ok(pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, 3);
    pml_plan_free(plan);
    pml_predicate_free(p);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

static void splits_of_two_snapshots_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    create(&k);
    splits old = plan_and_serialize(&k);
    (void)rt_kit_append(&k, 10, "a");
    splits new = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    pml_blob both[2] = {old.blobs[0], new.blobs[0]};
    must_fail_with(PML_E_INVAL, pml_plan_from_splits(&plan, scan, both, 2, &err), &err);
    must_ok(pml_scan_set_snapshot(scan, 4, &err), &err);
    must_fail_with(PML_E_INVAL, pml_plan_from_splits(&plan, scan, &old.blobs[0], 1, &err), &err);
    must_ok(pml_plan_from_splits(&plan, scan, new.blobs, new.n, &err), &err);
    rt_kit_must_be(&k, plan, 0, 40);
    pml_plan_free(plan);
    must_fail_with(PML_E_INVAL, pml_plan_from_splits(&plan, scan, new.blobs, 0, &err), &err);
    pml_scan_free(scan);
    clear_all(&old);
    clear_all(&new);
    rt_kit_close(&k);
}

static void splits_of_a_partitioned_table_do_not_fit_another_table(void **state)
{
    (void)state;
    rt_kit k, other;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    create(&k);
    splits s = plan_and_serialize(&k);
    rt_kit_create(&other, NULL, "", "");
    pml_scan *scan = scan_of(&other);
    must_fail_with(PML_E_CORRUPT, pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    pml_scan_free(scan);
    rt_kit_close(&other);
    clear_all(&s);
    rt_kit_close(&k);
}

static void drain(pml_plan *plan)
{
    struct ArrowArrayStream stream;
    struct ArrowArray a = {0};
    pml_error err = PML_ERROR_INIT;
    if (pml_read_open(&stream, plan, NULL, &err) != PML_OK)
        return;
    while (stream.get_next(&stream, &a) == 0 && a.release != NULL)
        a.release(&a);
    stream.release(&stream);
}

/* 97 */
static void mutated_splits_are_refused_or_read_without_harm(void **state)
{
    (void)state;
    rt_kit k;
    size_t read = 0;
    create(&k);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    k.t->random_state = test_seed();
    for (int i = 0; i < MUTATIONS; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan;
        const pml_text *from = &s.v[test_random(k.t) % s.n];
        uint8_t *b = malloc(from->len);
        assert_non_null(b);
        memcpy(b, from->ptr, from->len);
        for (size_t c = 1 + test_random(k.t) % 3; c > 0; c--) {
            uint64_t x = test_random(k.t);
            b[x % from->len] = (uint8_t)(x >> 56);
        }
        if (pml_plan_from_splits(&plan, scan, &(pml_blob){b, from->len}, 1, &err) == PML_OK) {
            drain(plan);
            pml_plan_free(plan);
            read++;
        } else {
            assert_string_not_equal(err.message, "");
        }
        free(b);
    }
    assert_true(read > 0);
    pml_scan_free(scan);
    clear_all(&s);
    rt_kit_close(&k);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    create(&k);
    must_ok(rt_kit_try_plan(&plan, &k, NULL, -1, &err), &err);
    pml_scan *scan = scan_of(&k);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_text text;
        pml_plan *made = NULL;
        test_env_fail_at(k.t, n);
        rc = pml_plan_split_serialize(&text, plan, 0, &err);
        if (rc == PML_OK)
            rc = pml_plan_from_splits(&made, scan, &(pml_blob){text.ptr, text.len}, 1, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(k.t));
        test_env_fail_at(k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_text_clear(&text);
        pml_plan_free(made);
    }
    pml_scan_free(scan);
    pml_plan_free(plan);
    rt_kit_close(&k);
}

/* ---- messages ---- */

static pml_messages *write_messages(rt_kit *k, int64_t rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_writer *w;
    pml_messages *m;
    struct ArrowArray array = rt_kit_batch(k, rows, "*");
    struct ArrowSchema schema = rt_kit_schema(k);
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(pml_writer_write(w, &array, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    schema.release(&schema);
    pml_writer_close(w);
    return m;
}

static splits serialize_messages(const pml_messages *m)
{
    splits s = {.n = pml_messages_count(m)};
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < s.n; i++) {
        must_ok(pml_messages_serialize(&s.v[i], m, i, &err), &err);
        s.blobs[i] = (pml_blob){s.v[i].ptr, s.v[i].len};
    }
    return s;
}

static void messages_written_there_are_committed_here_once(void **state)
{
    (void)state;
    rt_kit k, worker;
    pml_error err = PML_ERROR_INIT;
    pml_messages *m;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_commit_options o = PML_COMMIT_OPTIONS_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_share(&worker, &k, NULL);
    m = write_messages(&worker, 20);
    splits s = serialize_messages(m);
    pml_messages_free(m);
    assert_int_equal(s.n, 2);
    must_ok(pml_messages_deserialize(&m, k.table, PML_MESSAGE_VERSION, s.blobs, s.n, &err), &err);
    assert_int_equal(pml_messages_count(m), 2);
    assert_int_equal(pml_messages_rows(m), 20);
    assert_int_equal(pml_messages_files(m), 2);
    o.flags = PML_COMMIT_CHECK;
    must_ok(pml_commit_run(&r, k.commit, &m, 1, 7, &o, &err), &err);
    assert_int_equal(r.snapshot_id, 1);
    pml_messages_free(m);
    rt_kit_must_store(&k, 0, 20);
    /* The same bytes again, as after a crash. */
    must_ok(pml_messages_deserialize(&m, k.table, PML_MESSAGE_VERSION, s.blobs, s.n, &err), &err);
    must_ok(pml_commit_run(&r, k.commit, &m, 1, 7, &o, &err), &err);
    assert_true(r.already_committed);
    pml_messages_free(m);
    rt_kit_must_store(&k, 0, 20);
    clear_all(&s);
    rt_kit_close(&worker);
    rt_kit_close(&k);
}

/* Whoever got the bytes may have committed them: the table is asked before files are deleted. Also without memory for that. */
static void messages_that_others_committed_from_bytes_are_not_aborted(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_messages *copy;
    rt_kit_create(&k, NULL, "\"p\"", "");
    pml_messages *m = write_messages(&k, 4);
    splits s = serialize_messages(m);
    must_ok(pml_messages_deserialize(&copy, k.table, PML_MESSAGE_VERSION, s.blobs, s.n, &err), &err);
    must_ok(pml_commit_run(NULL, k.commit, &copy, 1, 7, NULL, &err), &err);
    pml_messages_free(copy);
    for (long long at = 1;; at++) {
        test_env_fail_at(k.t, at);
        int rc = pml_commit_abort(k.commit, &m, 1, &err);
        test_env_fail_at(k.t, 0);
        if (rc == PML_E_CONFLICT)
            break;
        must_fail_with(PML_E_NOMEM, rc, &err);
    }
    must_ok(pml_messages_deserialize(&copy, k.table, PML_MESSAGE_VERSION, s.blobs, s.n, &err), &err);
    must_fail_with(PML_E_CONFLICT, pml_commit_abort(k.commit, &copy, 1, &err), &err);
    rt_kit_must_store(&k, 0, 4);
    pml_messages_free(copy);
    pml_messages_free(m);
    clear_all(&s);
    rt_kit_close(&k);
}

static void messages_for_another_number_of_buckets_are_a_conflict(void **state)
{
    (void)state;
    rt_kit k, other;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_create(&other, NULL, "\"p\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"");
    pml_messages *m = write_messages(&k, 4), *out;
    splits s = serialize_messages(m);
    must_fail_with(PML_E_CONFLICT, pml_messages_deserialize(&out, other.table, PML_MESSAGE_VERSION, s.blobs, s.n, &err), &err);
    must_fail_with(PML_E_UNSUPPORTED, pml_messages_deserialize(&out, k.table, 12, s.blobs, s.n, &err), &err);
    must_fail_with(PML_E_INVAL, pml_messages_serialize(&s.v[SPLITS_MAX - 1], m, 2, &err), &err);
    must_ok(pml_commit_abort(k.commit, &m, 1, &err), &err);
    pml_messages_free(m);
    clear_all(&s);
    rt_kit_close(&other);
    rt_kit_close(&k);
}

/* Whatever is accepted can be committed, and the table stays readable. */
static void mutated_messages_are_refused_or_leave_a_readable_table(void **state)
{
    (void)state;
    rt_kit k;
    size_t accepted = 0;
    rt_kit_create(&k, NULL, "\"p\"", "");
    pml_messages *m = write_messages(&k, 4), *out;
    splits s = serialize_messages(m);
    pml_messages_free(m);
    k.t->random_state = test_seed();
    for (int i = 0; i < MUTATIONS; i++) {
        pml_error err = PML_ERROR_INIT;
        const pml_text *from = &s.v[test_random(k.t) % s.n];
        uint8_t *b = malloc(from->len);
        assert_non_null(b);
        memcpy(b, from->ptr, from->len);
        uint64_t x = test_random(k.t);
        b[x % from->len] = (uint8_t)(x >> 56);
        int rc = pml_messages_deserialize(&out, k.table, PML_MESSAGE_VERSION, &(pml_blob){b, from->len}, 1, &err);
        if (rc == PML_OK && accepted++ % 50 == 0) {
            pml_commit_result r = PML_COMMIT_RESULT_INIT;
            pml_plan *plan;
            int64_t rows;
            must_ok(pml_commit_run(&r, k.commit, &out, 1, i, NULL, &err), &err);
            must_ok(rt_kit_try_plan(&plan, &k, NULL, -1, &err), &err);
            must_ok(pml_plan_count(&rows, plan, &err), &err);
            pml_plan_free(plan);
        }
        if (rc == PML_OK)
            pml_messages_free(out);
        free(b);
    }
    assert_true(accepted > 0);
    clear_all(&s);
    rt_kit_close(&k);
}

static void failing_allocations_of_messages_leave_nothing_behind(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    rt_kit_create(&k, NULL, "\"p\"", "");
    pml_messages *m = write_messages(&k, 4);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_text text;
        pml_messages *made = NULL;
        test_env_fail_at(k.t, n);
        rc = pml_messages_serialize(&text, m, 0, &err);
        if (rc == PML_OK)
            rc = pml_messages_deserialize(&made, k.table, PML_MESSAGE_VERSION, &(pml_blob){text.ptr, text.len}, 1, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(k.t));
        test_env_fail_at(k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_text_clear(&text);
        pml_messages_free(made);
    }
    pml_messages_free(m);
    rt_kit_close(&k);
}

/* The row count is a number of the bytes: sums of it must not run over. */
static void splits_that_claim_too_many_rows_are_refused(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan;
    pml_messages *m, *out;
    pml_arena arena;
    pml_data_split d;
    pml_commit_message message;
    pml_buf buf;
    rt_kit_create(&k, NULL, "", "");
    (void)rt_kit_append(&k, 4, NULL);
    splits s = plan_and_serialize(&k);
    pml_scan *scan = scan_of(&k);
    pml_arena__init(&arena, k.t->env);
    pml_buf__init(&buf, k.t->env, SIZE_MAX / 2);
    must_ok(pml_serde_split__read(&d, &arena, (pml_bytes){(const uint8_t *)s.v[0].ptr, s.v[0].len}, &err), &err);
    ((pml_data_file *)d.files)[0].row_count = INT64_MAX;
    must_ok(pml_serde_split__write(&buf, &d, &err), &err);
    pml_blob twice[2] = {{buf.data, buf.len}, {s.v[0].ptr, s.v[0].len}};
    must_fail_with(PML_E_CORRUPT, pml_plan_from_splits(&plan, scan, twice, 2, &err), &err);
    pml_buf__reset(&buf);
    m = write_messages(&k, 4);
    splits w = serialize_messages(m);
    must_ok(pml_serde_message__read(&message, &arena, 11, (pml_bytes){(const uint8_t *)w.v[0].ptr, w.v[0].len}, &err), &err);
    message.files[0].row_count = INT64_MAX;
    must_ok(pml_serde_message__write(&buf, &message, &err), &err);
    must_fail_with(PML_E_CORRUPT, pml_messages_deserialize(&out, k.table, 11, &(pml_blob){buf.data, buf.len}, 1, &err), &err);
    pml_messages_free(m);
    pml_buf__clear(&buf);
    pml_arena__clear(&arena);
    pml_scan_free(scan);
    clear_all(&w);
    clear_all(&s);
    rt_kit_close(&k);
}

/* ---- tables from a schema ---- */

static void table_opened_from_its_schema_reads_and_writes(void **state)
{
    (void)state;
    rt_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_text json;
    pml_table *t;
    char away[600];
    create(&k);
    splits s = plan_and_serialize(&k);
    must_ok(pml_table_schema_json(&json, k.table, &err), &err);
    /* Without any schema file, as of a table whose schemas are kept elsewhere. */
    (void)snprintf(away, sizeof away, "%s/schema", k.path);
    char moved[700];
    (void)snprintf(moved, sizeof moved, "%s-away", away);
    assert_int_equal(rename(away, moved), 0);
    must_fail_with(PML_E_NOT_FOUND, pml_table_open(&t, k.t->env, k.path, NULL, &err), &err);
    const pml_option_pair option = {"read.batch-size", "3"};
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.n_options = 1;
    o.options = &option;
    must_ok(pml_table_open_schema(&t, k.t->env, k.path, json.ptr, json.len, &o, &err), &err);
    assert_string_equal(pml_table_option(t, "read.batch-size"), "3");
    assert_int_equal(pml_table_schema_id(t), 0);
    pml_table_release(k.table);
    k.table = t;
    rt_kit_must_store(&k, 0, 30);
    pml_scan *scan = scan_of(&k);
    pml_plan *plan;
    must_ok(pml_plan_from_splits(&plan, scan, s.blobs, s.n, &err), &err);
    rt_kit_must_be(&k, plan, 0, 30);
    pml_plan_free(plan);
    pml_scan_free(scan);
    (void)rt_kit_append(&k, 5, "a");
    rt_kit_must_store(&k, 0, 35);
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(k.t, n);
        rc = pml_table_open_schema(&t, k.t->env, k.path, json.ptr, json.len, &o, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(k.t));
        test_env_fail_at(k.t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        pml_table_release(t);
    }
    must_fail_with(PML_E_CORRUPT, pml_table_open_schema(&t, k.t->env, k.path, "{}", 2, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_table_open_schema(&t, k.t->env, "", json.ptr, json.len, NULL, &err), &err);
    pml_text_clear(&json);
    clear_all(&s);
    rt_kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_read_in_another_environment_show_the_rows),
        cmocka_unit_test(splits_serialised_again_are_the_same_bytes),
        cmocka_unit_test(scan_of_the_reader_says_columns_predicate_and_limit),
        cmocka_unit_test(splits_of_two_snapshots_are_refused),
        cmocka_unit_test(splits_of_a_partitioned_table_do_not_fit_another_table),
        cmocka_unit_test(mutated_splits_are_refused_or_read_without_harm),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(messages_written_there_are_committed_here_once),
        cmocka_unit_test(messages_that_others_committed_from_bytes_are_not_aborted),
        cmocka_unit_test(messages_for_another_number_of_buckets_are_a_conflict),
        cmocka_unit_test(mutated_messages_are_refused_or_leave_a_readable_table),
        cmocka_unit_test(failing_allocations_of_messages_leave_nothing_behind),
        cmocka_unit_test(splits_that_claim_too_many_rows_are_refused),
        cmocka_unit_test(table_opened_from_its_schema_reads_and_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
