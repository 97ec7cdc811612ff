/* SPDX-License-Identifier: Apache-2.0 */
/* Files of level 0: what is said of them, how they are committed, replaced and sent as bytes. */
#include <stdio.h>
#include <stdlib.h>

#include <paimonlive/split.h>

#include "meta/column_stats.h"
#include "support/keyed_kit.h"

enum { ROWS_MAX = 20000 };

static void world_open(table_kit *k, bool partitioned, const char *options)
{
    test_env *t = test_env_open(NULL);
    t->random_state = test_seed();
    keyed_create(k, t, test_path(t, "t"), partitioned, options);
}

static void world_close(table_kit *k)
{
    test_env *t = k->t;
    table_kit_close(k);
    test_env_close(t);
}

static pml_messages *prepared_of(table_kit *k, pml_writer *w, const keyed_row *rows, size_t n)
{
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(keyed_write(k, w, rows, n, KEYED_WITH_KINDS, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    return m;
}

static pml_writer *writer_of(table_kit *k)
{
    pml_writer *w;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    return w;
}

/* ---- what is said of a file ---- */

static int64_t key_of(pml_bytes counted)
{
    static const pml_type type = {.kind = PML_TYPE_BIGINT};
    const pml_type *const types[] = {&type};
    pml_value v;
    pml_bytes row;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_binary_row__uncount(&row, counted, 1, &err), &err);
    must_ok(pml_binary_row__read(&v, types, 1, row, &err), &err);
    assert_int_equal(v.kind, PML_VALUE_INT);
    return v.i;
}

static void statistics_must_be(table_kit *k, const pml_data_file *f, int64_t min_n, int64_t max_n, int64_t nulls_n)
{
    const pml_table_schema *s = k->table->schema;
    pml_column_stats stats[6];
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_column_stats__decode(stats, k->t->env, &f->value_stats, &f->value_stats_cols, s->fields, s->n_fields, &err), &err);
    assert_int_equal(stats[2].min.i, min_n);
    assert_int_equal(stats[2].max.i, max_n);
    assert_int_equal(stats[2].null_count, nulls_n);
    assert_int_equal(stats[0].min.i, key_of(f->min_key));
    assert_int_equal(stats[0].max.i, key_of(f->max_key));
    must_ok(pml_column_stats__decode(stats, k->t->env, &f->key_stats, &(pml_string_list){0}, &s->fields[0], 1, &err), &err);
    assert_int_equal(stats[0].min.i, key_of(f->min_key));
    assert_int_equal(stats[0].max.i, key_of(f->max_key));
    assert_int_equal(stats[0].null_count, 0);
}

/* Eight rows over five keys: what is left of them has the numbers 2, 4, 5, 6 and 7. */
static void a_file_says_its_keys_numbers_deletes_and_statistics(void **state)
{
    (void)state;
    static const keyed_row rows[] = {{9, 0, 50, 0, 0, 0},          {-4, 0, 1, 0, 0, 0}, {3, 0, 7, 0, 0, 2}, {9, 0, 60, 0, 0, 2},
                                     {-4, 0, KEYED_NULL, 0, 0, 3}, {8, 0, 9, 0, 0, 1},  {9, 0, 5, 0, 0, 2}, {11, 0, KEYED_NULL, 0, 0, 0}};
    for (int thin = 0; thin < 2; thin++) {
        table_kit k;
        world_open(&k, false, thin ? "\"bucket\":\"1\",\"data-file.thin-mode\":\"true\"" : "\"bucket\":\"1\"");
        pml_writer *w = writer_of(&k);
        pml_messages *m = prepared_of(&k, w, rows, 8);
        assert_int_equal(m->n, 1);
        assert_int_equal(m->v[0]->n, 1);
        assert_int_equal(m->v[0]->total_buckets, 1);
        const pml_data_file *f = &m->v[0]->files[0];
        assert_int_equal(f->row_count, 5);
        assert_int_equal(f->level, 0);
        assert_int_equal(f->file_source, PML_FILE_SOURCE_APPEND);
        assert_int_equal(f->schema_id, 0);
        assert_true(f->delete_row_count.present);
        assert_int_equal(f->delete_row_count.v, 2);
        assert_int_equal(f->min_sequence, 2);
        assert_int_equal(f->max_sequence, 7);
        assert_int_equal(key_of(f->min_key), -4);
        assert_int_equal(key_of(f->max_key), 11);
        statistics_must_be(&k, f, 5, 9, 2);
        pml_messages_free(m);
        pml_writer_close(w);
        world_close(&k);
    }
}

static void files_of_one_flush_hold_keys_one_behind_the_other(void **state)
{
    (void)state;
    table_kit k;
    keyed_row *rows = calloc(ROWS_MAX, sizeof *rows);
    assert_non_null(rows);
    world_open(&k, false, "\"bucket\":\"1\",\"target-file-row-num\":\"4000\"");
    for (int64_t i = 0; i < ROWS_MAX; i++)
        rows[i] = (keyed_row){.id = (i * 7919) % ROWS_MAX, .n = 1, .s = 2, .v = i};
    pml_writer *w = writer_of(&k);
    pml_messages *m = prepared_of(&k, w, rows, ROWS_MAX);
    const pml_new_files *f = m->v[0];
    int64_t n = 0;
    assert_true(f->n > 1);
    for (size_t i = 0; i < f->n; i++) {
        n += f->files[i].row_count;
        assert_true(i == 0 || key_of(f->files[i].min_key) > key_of(f->files[i - 1].max_key));
        assert_true(f->files[i].min_sequence >= 0 && f->files[i].max_sequence < ROWS_MAX);
    }
    assert_int_equal(n, ROWS_MAX);
    pml_messages_free(m);
    pml_writer_close(w);
    free(rows);
    world_close(&k);
}

static void numbers_go_on_after_a_flush_a_prepare_and_in_a_new_writer(void **state)
{
    (void)state;
    table_kit k;
    keyed_row rows[10];
    world_open(&k, false, "\"bucket\":\"1\",\"write-buffer-size\":\"1 b\"");
    for (int64_t i = 0; i < 10; i++)
        rows[i] = (keyed_row){.id = i, .n = 1, .s = 1, .v = i};
    pml_writer *w = writer_of(&k);
    pml_error err = PML_ERROR_INIT;
    for (int prepare = 0; prepare < 4; prepare++) {
        must_ok(keyed_write(&k, w, rows, 10, KEYED_WITH_KINDS, &err), &err);
        pml_messages *m = prepared_of(&k, w, rows, 10);
        const pml_new_files *f = m->v[0];
        assert_int_equal(f->n, 2);
        for (int64_t i = 0; i < 2; i++) {
            assert_int_equal(f->files[i].min_sequence, prepare * 20 + i * 10);
            assert_int_equal(f->files[i].max_sequence, prepare * 20 + i * 10 + 9);
        }
        (void)table_kit_commit(&k, m);
        if (prepare > 1) {
            pml_writer_close(w);
            w = writer_of(&k);
        }
    }
    pml_writer_close(w);
    world_close(&k);
}

/* Rows of 1 MB: the second batch is a run by itself, and a file gets fewer of them at once. */
static void wide_rows_are_merged_as_others(void **state)
{
    (void)state;
    enum { WIDE = 1 << 20, N = 70 };
    table_kit k;
    keyed_row rows[N], *found;
    struct ArrowArray batch, wide, text;
    struct ArrowSchema schema;
    pml_messages *m;
    pml_shared *shared;
    pml_error err = PML_ERROR_INIT;
    static const int32_t columns[] = {0, 1, 2, 3, -1, 5};
    static const size_t n_rows[] = {10, N, 3};
    uint8_t *letters = calloc(WIDE, 1);
    assert_non_null(letters);
    memset(letters, '0', WIDE);
    letters[0] = 'v';
    world_open(&k, false, "\"bucket\":\"1\",\"metadata.stats-mode\":\"none\"");
    pml_writer *w = writer_of(&k);
    keyed_schema(&schema, &k, KEYED_ALL_INSERTS);
    for (int i = 0; i < 3; i++) {
        letters[WIDE - 1] = (uint8_t)('1' + i);
        for (int64_t row = 0; row < N; row++)
            rows[row] = (keyed_row){.id = (row * 29 + i) % N, .n = 1, .s = 1, .v = 0};
        keyed_batch(&batch, &k, rows, n_rows[i], KEYED_ALL_INSERTS);
        const pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {letters, WIDE}};
        must_ok(pml_batch__constant(&text, k.t->env, &k.fields[4].type, &v, batch.length, &err), &err);
        must_ok(pml_shared__new(&shared, k.t->env, &batch, &err), &err);
        must_ok(pml_shared__slice(&wide, shared, 0, (int64_t)n_rows[i], columns, 6, &text, &err), &err);
        pml_shared__release(shared);
        must_ok(pml_writer_write(w, &wide, &schema, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    assert_int_equal(pml_messages_rows(m), N);
    (void)table_kit_commit(&k, m);
    pml_writer_close(w);
    assert_int_equal(keyed_read(&found, &k), N);
    for (int64_t id = 0; id < N; id++) {
        assert_int_equal(found[id].id, id);
        assert_int_equal(found[id].v, id == 2 || id == 31 || id == 60 ? 3 : 2);
    }
    free(found);
    free(letters);
    pml_schema__release(&schema);
    world_close(&k);
}

/* ---- replacing and removing ---- */

static void rows_are_replaced_and_removed_by_partition_and_in_whole(void **state)
{
    (void)state;
    enum { N = 120 };
    table_kit k;
    keyed_row rows[N];
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair one = {"p", "1"}, zero = {"p", "0"};
    const pml_partition_spec only_one = {1, &one}, only_zero = {1, &zero};
    world_open(&k, true, "\"bucket\":\"2\"");
    keyed_random(rows, N, k.t, 50, 20);
    keyed_upsert(&k, rows, N);
    keyed_upsert(&k, rows, N);

    keyed_model m = keyed_model_new(KEYED_LAST, true);
    keyed_model_apply(&m, rows, N);
    keyed_must_hold(&k, &m);
    /* Partition 1 has these rows instead of its own. */
    keyed_row new[30];
    keyed_random(new, 30, k.t, 50, 20);
    size_t kept = 0;
    for (size_t i = 0; i < m.n; i++)
        if (m.rows[i].p == 0)
            m.rows[kept++] = m.rows[i];
    m.n = kept;
    for (size_t i = 0; i < 30; i++)
        new[i].p = 1;
    keyed_model_apply(&m, new, 30);
    pml_writer *w = writer_of(&k);
    pml_messages *made = prepared_of(&k, w, new, 30);
    must_ok(pml_commit_open(&c, k.table, NULL, &err), &err);
    must_fail_with(PML_E_INVAL, pml_commit_overwrite(&r, c, &only_zero, &made, 1, 1, NULL, &err), &err);
    must_ok(pml_commit_overwrite(&r, c, &only_one, &made, 1, 2, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(made);
    pml_writer_close(w);
    keyed_must_hold(&k, &m);

    must_ok(pml_table_drop_partitions(&r, k.table, &only_zero, 1, &err), &err);
    kept = 0;
    for (size_t i = 0; i < m.n; i++)
        if (m.rows[i].p == 1)
            m.rows[kept++] = m.rows[i];
    m.n = kept;
    keyed_must_hold(&k, &m);
    must_ok(pml_table_truncate(&r, k.table, &err), &err);
    m.n = 0;
    keyed_must_hold(&k, &m);
    keyed_upsert(&k, rows, N);
    keyed_model_apply(&m, rows, N);
    keyed_must_hold(&k, &m);
    keyed_model_free(&m);
    world_close(&k);
}

/* ---- messages as bytes ---- */

static void messages_travel_as_bytes(void **state)
{
    (void)state;
    enum { N = 80, MESSAGES_MAX = 8 };
    table_kit k;
    keyed_row rows[N];
    pml_text texts[MESSAGES_MAX];
    pml_blob blobs[MESSAGES_MAX];
    pml_messages *in;
    pml_error err = PML_ERROR_INIT;
    world_open(&k, true, "\"bucket\":\"2\",\"write-buffer-size\":\"2 kb\"");
    keyed_random(rows, N, k.t, 30, 20);
    pml_writer *w = writer_of(&k);
    pml_messages *m = prepared_of(&k, w, rows, N);
    size_t n = pml_messages_count(m);
    assert_in_range(n, 1, MESSAGES_MAX);
    for (size_t i = 0; i < n; i++) {
        must_ok(pml_messages_serialize(&texts[i], m, i, &err), &err);
        blobs[i] = (pml_blob){texts[i].ptr, texts[i].len};
    }
    must_ok(pml_messages_deserialize(&in, k.table, PML_MESSAGE_VERSION, blobs, n, &err), &err);
    assert_int_equal(pml_messages_rows(in), pml_messages_rows(m));
    assert_int_equal(pml_messages_files(in), pml_messages_files(m));
    (void)table_kit_commit(&k, in);
    keyed_model model = keyed_model_new(KEYED_LAST, true);
    keyed_model_apply(&model, rows, N);
    keyed_must_hold(&k, &model);
    keyed_model_free(&model);
    for (size_t i = 0; i < n; i++)
        pml_text_clear(&texts[i]);
    pml_messages_free(m);
    pml_writer_close(w);
    world_close(&k);
}

/* A file of a message as somebody else might describe it. */
static void message_must_be_refused(table_kit *k, const pml_messages *m, const pml_data_file *f, int code, const char *words)
{
    pml_text text;
    pml_messages *in;
    pml_error err = PML_ERROR_INIT;
    pml_data_file was = m->v[0]->files[0];
    m->v[0]->files[0] = *f;
    must_ok(pml_messages_serialize(&text, m, 0, &err), &err);
    m->v[0]->files[0] = was;
    const pml_blob blob = {text.ptr, text.len};
    must_fail_with(code, pml_messages_deserialize(&in, k->table, PML_MESSAGE_VERSION, &blob, 1, &err), &err);
    if (strstr(err.message, words) == NULL || strstr(err.message, f->name) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    pml_text_clear(&text);
}

static void messages_that_lie_about_keys_are_refused(void **state)
{
    (void)state;
    static const keyed_row rows[] = {{1, 0, 1, 1, 1, 0}, {2, 0, 1, 1, 1, 0}};
    static const uint8_t no_key[12] = {0};
    table_kit k;
    world_open(&k, false, "\"bucket\":\"1\"");
    pml_writer *w = writer_of(&k);
    pml_messages *m = prepared_of(&k, w, rows, 2);
    const pml_data_file good = m->v[0]->files[0];
    pml_data_file f = good;
    f.min_key = (pml_bytes){no_key, sizeof no_key};
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "smallest key");
    f = good;
    f.max_key = (pml_bytes){no_key, sizeof no_key};
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "largest key");
    f = good;
    f.min_key = good.max_key;
    f.max_key = good.min_key;
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "larger than");
    f = good;
    f.key_stats.min = (pml_bytes){no_key, sizeof no_key};
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "");
    f = good;
    f.max_sequence = -1;
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "sequence numbers");
    f = good;
    f.max_sequence = INT64_MAX;
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "sequence numbers");
    f = good;
    f.delete_row_count.v = 3;
    message_must_be_refused(&k, m, &f, PML_E_CORRUPT, "3 of its 2 rows");
    f = good;
    f.level = 1;
    message_must_be_refused(&k, m, &f, PML_E_UNSUPPORTED, "needs compaction");
    pml_messages_free(m);
    pml_writer_close(w);
    world_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_its_keys_numbers_deletes_and_statistics),
        cmocka_unit_test(files_of_one_flush_hold_keys_one_behind_the_other),
        cmocka_unit_test(numbers_go_on_after_a_flush_a_prepare_and_in_a_new_writer),
        cmocka_unit_test(wide_rows_are_merged_as_others),
        cmocka_unit_test(rows_are_replaced_and_removed_by_partition_and_in_whole),
        cmocka_unit_test(messages_travel_as_bytes),
        cmocka_unit_test(messages_that_lie_about_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
