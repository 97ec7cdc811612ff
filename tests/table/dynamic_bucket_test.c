/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with dynamic buckets: a key stays in its bucket, whoever writes it, and two writers never give one key two buckets. */
#include <stdio.h>
#include <stdlib.h>

#include <paimonlive/split.h>

#include "storage/file_io.h"
#include "support/keyed_kit.h"
#include "table/writer.h"

typedef struct world {
    test_env *t;
    table_kit k;
    keyed_model model;
} world;

static void world_open(world *w, bool partitioned, const char *options)
{
    char all[400];
    w->t = test_env_open(NULL);
    w->t->random_state = test_seed();
    (void)snprintf(all, sizeof all, "\"bucket\":\"-1\"%s%s", options[0] == '\0' ? "" : ",", options);
    keyed_create(&w->k, w->t, test_path(w->t, "t"), partitioned, all);
    w->model = keyed_model_new(KEYED_LAST, partitioned);
}

static void world_close(world *w)
{
    keyed_must_hold(&w->k, &w->model);
    keyed_model_free(&w->model);
    table_kit_close(&w->k);
    test_env_close(w->t);
}

static pml_writer *writer_of(world *w)
{
    pml_writer *writer;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&writer, w->k.table, &err), &err);
    return writer;
}

/* Keys first to first + n, of partition p; v says whose they are. */
static size_t keys(keyed_row *rows, int64_t p, int64_t first, size_t n, int64_t v)
{
    for (size_t i = 0; i < n; i++)
        rows[i] = (keyed_row){.id = first + (int64_t)i, .p = p, .n = KEYED_NULL, .s = 1, .v = v};
    return n;
}

static void put(world *w, pml_writer *writer, const keyed_row *rows, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(keyed_write(&w->k, writer, rows, n, KEYED_ALL_INSERTS, &err), &err);
}

static pml_messages *prepared(pml_writer *writer)
{
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    return m;
}

static void commit(world *w, pml_messages *m, const keyed_row *rows, size_t n)
{
    (void)table_kit_commit(&w->k, m);
    keyed_model_apply(&w->model, rows, n);
}

/* One writer, one commit. */
static void upsert(world *w, const keyed_row *rows, size_t n)
{
    keyed_upsert(&w->k, rows, n);
    keyed_model_apply(&w->model, rows, n);
}

static int try_commit(world *w, pml_messages *const *m, size_t n, pml_error *err)
{
    pml_commit *c = NULL;
    int rc = pml_commit_open(&c, w->k.table, NULL, err);
    if (rc == PML_OK)
        rc = pml_commit_run(NULL, c, m, n, 1, NULL, err);
    pml_commit_close(c);
    return rc;
}

static void must_conflict(world *w, pml_messages *m)
{
    pml_error err = PML_ERROR_INIT;
    pml_commit *c;
    must_fail_with(PML_E_CONFLICT, try_commit(w, &m, 1, &err), &err);
    assert_non_null(strstr(err.message, "new writer"));
    must_ok(pml_commit_open(&c, w->k.table, NULL, NULL), NULL);
    must_ok(pml_commit_abort(c, &m, 1, &err), &err); /* a certain answer */
    pml_commit_close(c);
    pml_messages_free(m);
    keyed_must_hold(&w->k, &w->model);
}

/* The index entries of the latest snapshot, in the arena. */
static pml_index_entries index_of(world *w, pml_arena *arena)
{
    pml_index_entries out = {0};
    pml_snapshot s;
    int64_t id;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table__latest_snapshot(&id, w->k.table, false, &err), &err);
    must_ok(pml_table__load_snapshot(&s, arena, w->k.table, id, &err), &err);
    if (s.index_manifest != NULL)
        must_ok(pml_table__load_index_manifest(&out, arena, w->k.table, s.index_manifest, &err), &err);
    return out;
}

/* Rows of each bucket's index: "3 3 1" where three buckets have so many keys; -: there is no such bucket. */
static void index_must_be(world *w, const char *expected)
{
    int64_t rows[64];
    char text[400] = "";
    size_t at = 0, n = 0;
    pml_arena arena;
    pml_arena__init(&arena, w->t->env);
    memset(rows, 0xff, sizeof rows);
    pml_index_entries e = index_of(w, &arena);
    for (size_t i = 0; i < e.n; i++) {
        assert_in_range(e.v[i].bucket, 0, 63);
        assert_int_equal(e.v[i].size_bytes, 4 * e.v[i].row_count);
        assert_string_equal(e.v[i].type, "HASH");
        assert_int_equal(rows[e.v[i].bucket], -1);
        rows[e.v[i].bucket] = e.v[i].row_count;
        n = (size_t)e.v[i].bucket + 1 > n ? (size_t)e.v[i].bucket + 1 : n;
    }
    for (size_t i = 0; i < n; i++)
        at += rows[i] < 0 ? (size_t)snprintf(text + at, sizeof text - at, "- ") : (size_t)snprintf(text + at, sizeof text - at, "%d ", (int)rows[i]);
    if (at > 0)
        text[at - 1] = '\0';
    assert_string_equal(text, expected);
    pml_arena__clear(&arena);
}

/* ---- the rules ---- */

static void buckets_fill_one_after_the_other(void **state)
{
    (void)state;
    world w;
    keyed_row rows[20];
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
    upsert(&w, rows, keys(rows, 1, 0, 4, 1));
    index_must_be(&w, "3 1");
    upsert(&w, rows, keys(rows, 1, 2, 6, 2)); /* two that are there, four new ones */
    index_must_be(&w, "3 3 2");
    upsert(&w, rows, keys(rows, 1, 0, 8, 3)); /* no new one */
    index_must_be(&w, "3 3 2");
    world_close(&w);
}

static void keys_beyond_the_last_bucket_are_shared_out(void **state)
{
    (void)state;
    world w;
    keyed_row rows[40];
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"2\",\"dynamic-bucket.max-buckets\":\"3\"");
    upsert(&w, rows, keys(rows, 1, 0, 40, 1));
    pml_arena arena;
    pml_arena__init(&arena, w.t->env);
    pml_index_entries e = index_of(&w, &arena);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.v[0].row_count + e.v[1].row_count + e.v[2].row_count, 40);
    for (size_t i = 0; i < 3; i++)
        assert_in_range(e.v[i].row_count, 5, 30);
    pml_arena__clear(&arena);
    upsert(&w, rows, keys(rows, 1, 0, 40, 2));
    world_close(&w);
}

static void random_life_agrees_with_the_model(void **state)
{
    (void)state;
    static const char *const options[] = {"\"dynamic-bucket.target-row-num\":\"7\"", "\"dynamic-bucket.target-row-num\":\"2\"",
                                          "\"dynamic-bucket.target-row-num\":\"5\",\"dynamic-bucket.max-buckets\":\"4\"",
                                          "\"index-file-in-data-file-dir\":\"true\",\"dynamic-bucket.target-row-num\":\"20\",\"write-buffer-size\":\"2 kb\""};
    keyed_row *rows = calloc(100, sizeof *rows);
    for (size_t i = 0; i < 2 * sizeof options / sizeof options[0]; i++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        world_open(&w, i % 2 == 1, options[i / 2]);
        w.t->random_state += i;
        pml_writer *writer = writer_of(&w);
        for (int c = 0; c < 4; c++) {
            for (int batch = 0; batch < 3; batch++) {
                size_t n = 1 + (size_t)(test_random(w.t) % 100);
                keyed_random(rows, n, w.t, 80, 20);
                must_ok(keyed_write(&w.k, writer, rows, n, KEYED_WITH_KINDS, &err), &err);
                keyed_model_apply(&w.model, rows, n);
            }
            (void)table_kit_commit(&w.k, prepared(writer));
            keyed_must_hold(&w.k, &w.model);
            if (test_random(w.t) % 2 == 0) { /* another goes on where this one ended */
                pml_writer_close(writer);
                writer = writer_of(&w);
            }
        }
        pml_writer_close(writer);
        world_close(&w);
    }
    free(rows);
}

/* ---- two writers ---- */

static void of_two_writers_that_add_keys_the_second_is_refused(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4], other[4];
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
    upsert(&w, rows, keys(rows, 1, 0, 2, 1));
    pml_writer *a = writer_of(&w), *b = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 2, 2, 2));
    put(&w, b, other, keys(other, 1, 3, 2, 3)); /* key 3: in bucket 1 for a, in bucket 0 for b */
    pml_messages *late = prepared(b);
    commit(&w, prepared(a), rows, 2);
    must_conflict(&w, late);
    put(&w, b, other, keys(other, 1, 3, 2, 4)); /* and it cannot go on */
    must_conflict(&w, prepared(b));
    pml_writer_close(a);
    pml_writer_close(b);
    upsert(&w, other, keys(other, 1, 3, 2, 5));
    index_must_be(&w, "3 2");
    world_close(&w);
}

/* Each of the two index files would lack the keys of the other. */
static void keys_of_two_writers_in_one_commit_are_a_conflict(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4], other[4];
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
    for (int known = 0; known < 2; known++) { /* with and without an index file before */
        pml_writer *a = writer_of(&w), *b = writer_of(&w);
        put(&w, a, rows, keys(rows, 1, 10 * known, 2, 2));
        put(&w, b, other, keys(other, 1, 10 * known + 5, 2, 3));
        pml_messages *both[] = {prepared(a), prepared(b)};
        must_fail_with(PML_E_CONFLICT, try_commit(&w, both, 2, &err), &err);
        assert_non_null(strstr(err.message, "new writer"));
        commit(&w, both[0], rows, 2);
        must_conflict(&w, both[1]);
        pml_writer_close(a);
        pml_writer_close(b);
        upsert(&w, other, keys(other, 1, 10 * known + 5, 2, 4));
    }
    keyed_must_hold(&w.k, &w.model);
    world_close(&w);
}

/* Bucket 0 is not touched by the other, which filled another bucket since this one looked. */
static void keys_added_to_another_bucket_are_a_conflict_too(void **state)
{
    (void)state;
    world w;
    keyed_row rows[6], other[4];
    world_open(&w, true, "\"dynamic-bucket.target-row-num\":\"2\"");
    upsert(&w, rows, keys(rows, 0, 0, 2, 1));
    pml_writer *a = writer_of(&w);
    put(&w, a, other, keys(other, 0, 0, 2, 3));
    put(&w, a, other + 2, keys(other + 2, 1, 0, 2, 3)); /* a partition of its own */
    upsert(&w, rows, keys(rows, 1, 5, 1, 1));
    pml_messages *m = prepared(a);
    must_conflict(&w, m);
    pml_writer_close(a);
    a = writer_of(&w);
    put(&w, a, other, keys(other, 0, 0, 2, 3));
    upsert(&w, rows, keys(rows, 1, 6, 1, 1)); /* keys of another partition are none of its business */
    commit(&w, prepared(a), other, 2);
    pml_writer_close(a);
    world_close(&w);
}

static void updates_of_two_writers_do_not_conflict(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4], other[4];
    world_open(&w, false, "");
    upsert(&w, rows, keys(rows, 1, 0, 4, 1));
    pml_writer *a = writer_of(&w), *b = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 0, 2, 2));
    put(&w, b, other, keys(other, 1, 2, 2, 3));
    pml_messages *late = prepared(b);
    commit(&w, prepared(a), rows, 2);
    commit(&w, late, other, 2);
    pml_writer_close(a);
    pml_writer_close(b);
    index_must_be(&w, "4");
    world_close(&w);
}

/* Keys that are known from before are in no bucket after an overwrite by another. */
static void updates_of_keys_that_were_removed_are_refused(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4];
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "");
    upsert(&w, rows, keys(rows, 1, 0, 4, 1));
    pml_writer *a = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 0, 2, 2));
    pml_messages *m = prepared(a);
    must_ok(pml_table_truncate(NULL, w.k.table, &err), &err);
    w.model.n = 0;
    index_must_be(&w, "");
    must_conflict(&w, m);
    pml_writer_close(a);
    upsert(&w, rows, keys(rows, 1, 7, 2, 2));
    index_must_be(&w, "2");
    world_close(&w);
}

/* ---- messages ---- */

static void several_prepares_may_be_in_one_commit(void **state)
{
    (void)state;
    world w;
    keyed_row rows[6];
    pml_messages *m[3];
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"4\"");
    pml_writer *a = writer_of(&w);
    for (int i = 0; i < 3; i++) {
        put(&w, a, rows, keys(rows, 1, 3 * i, 6, i));
        keyed_model_apply(&w.model, rows, 6);
        m[i] = prepared(a);
    }
    pml_messages *wrong[] = {m[1], m[0], m[2]};
    must_fail_with(PML_E_CONFLICT, try_commit(&w, wrong, 3, &err), &err);
    must_ok(try_commit(&w, m, 3, &err), &err);
    index_must_be(&w, "4 4 4");
    for (int i = 0; i < 3; i++)
        pml_messages_free(m[i]);
    pml_writer_close(a);
    world_close(&w);
}

static int count_file(void *arg, const char *name, uint32_t kind)
{
    (void)name;
    *(int *)arg += kind == PML_FILE_REGULAR;
    return PML_OK;
}

static void prepares_that_were_aborted_leave_a_writer_that_must_begin_anew(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4];
    pml_error err = PML_ERROR_INIT;
    pml_commit *c;
    int files = 0;
    world_open(&w, false, "");
    upsert(&w, rows, keys(rows, 1, 0, 4, 1));
    pml_writer *a = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 4, 2, 2));
    pml_messages *m = prepared(a);
    must_ok(pml_commit_open(&c, w.k.table, NULL, NULL), NULL);
    must_ok(pml_commit_abort(c, &m, 1, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    put(&w, a, rows, keys(rows, 1, 4, 2, 3));
    must_conflict(&w, prepared(a));
    pml_writer_close(a);
    char path[300];
    (void)snprintf(path, sizeof path, "%s/index", w.k.table->path);
    must_ok(w.t->env->fs.list(w.t->env->fs.ctx, path, count_file, &files, &err), &err);
    assert_int_equal(files, 1);
    world_close(&w);
}

/* The messages as bytes and back; else without what they say of the table's index files, as Java writes them. */
static pml_messages *copy_of(world *w, pml_messages *m, bool names_before)
{
    pml_text text[8];
    pml_blob blobs[8];
    pml_messages *out;
    pml_error err = PML_ERROR_INIT;
    size_t n = pml_messages_count(m);
    assert_in_range(n, 1, 8);
    for (size_t i = 0; i < n; i++) {
        if (!names_before) {
            m->v[i]->index_before = NULL;
            m->v[i]->has_keys = PML_KEYS_UNTOLD;
        }
        must_ok(pml_messages_serialize(&text[i], m, i, &err), &err);
        blobs[i] = (pml_blob){(const uint8_t *)text[i].ptr, text[i].len};
    }
    must_ok(pml_messages_deserialize(&out, w->k.table, PML_MESSAGE_VERSION, blobs, n, &err), &err);
    for (size_t i = 0; i < n; i++)
        pml_text_clear(&text[i]);
    return out;
}

static pml_messages *as_bytes(world *w, pml_messages *m, bool names_before)
{
    pml_messages *out = copy_of(w, m, names_before);
    pml_messages_free(m);
    return out;
}

static void messages_as_bytes_keep_their_keys(void **state)
{
    (void)state;
    for (int names = 0; names < 2; names++) {
        world w;
        keyed_row rows[6], other[4];
        world_open(&w, true, "\"dynamic-bucket.target-row-num\":\"3\"");
        pml_writer *a = writer_of(&w);
        put(&w, a, rows, keys(rows, 0, 0, 6, 1));
        commit(&w, as_bytes(&w, prepared(a), names), rows, 6);
        put(&w, a, rows, keys(rows, 0, 3, 5, 2));
        commit(&w, as_bytes(&w, prepared(a), names), rows, 5);
        pml_writer *b = writer_of(&w);
        put(&w, a, rows, keys(rows, 0, 8, 1, 3));
        put(&w, b, other, keys(other, 0, 9, 1, 3));
        pml_messages *late = as_bytes(&w, prepared(b), names);
        commit(&w, as_bytes(&w, prepared(a), names), rows, 1);
        must_conflict(&w, late);
        put(&w, a, rows, keys(rows, 0, 0, 3, 4)); /* no new key */
        commit(&w, as_bytes(&w, prepared(a), names), rows, 3);
        put(&w, a, rows, keys(rows, 0, 0, 3, 5));
        late = as_bytes(&w, prepared(a), names);
        must_ok(pml_table_truncate(NULL, w.k.table, NULL), NULL);
        w.model.n = 0;
        must_conflict(&w, late);
        pml_writer_close(a);
        pml_writer_close(b);
        world_close(&w);
    }
}

/* Another writer puts one new key into a bucket of its own. */
static void add_elsewhere(world *w, int64_t id, int64_t v)
{
    table_kit other = w->k;
    keyed_row rows[1];
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair one = {"dynamic-bucket.target-row-num", "1"};
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    o.options = &one;
    o.n_options = 1;
    must_ok(pml_table_open(&other.table, w->t->env, w->k.table->path, &o, &err), &err);
    (void)keys(rows, 1, id, 1, v);
    keyed_upsert(&other, rows, 1);
    keyed_model_apply(&w->model, rows, 1);
    pml_table_release(other.table);
}

/* What was prepared first never comes, or comes late: rows of keys that no index file has would be written to another bucket later. */
static void messages_as_bytes_need_the_keys_they_rely_on(void **state)
{
    (void)state;
    for (int names = 0; names < 2; names++) {
        world w;
        keyed_row rows[6];
        world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
        upsert(&w, rows, keys(rows, 1, 0, 2, 1));
        pml_writer *a = writer_of(&w);
        put(&w, a, rows, keys(rows, 1, 2, 1, 2)); /* a new key of bucket 0 */
        pml_messages *lost = as_bytes(&w, prepared(a), names);
        put(&w, a, rows, keys(rows, 1, 2, 1, 3)); /* no new one any more */
        pml_messages *update = as_bytes(&w, prepared(a), names);
        put(&w, a, rows, keys(rows, 1, 5, 1, 3)); /* a new bucket, whose keys nobody else has */
        commit(&w, as_bytes(&w, prepared(a), names), rows, 1);
        if (names)
            must_conflict(&w, update);
        else
            pml_messages_free(update); /* Java's do not say */
        add_elsewhere(&w, 2, 4);
        for (long long n = 1, failed = 1; failed; n += 3) {
            pml_error err = PML_ERROR_INIT;
            test_env_fail_at(w.t, n);
            int rc = try_commit(&w, &lost, 1, &err);
            failed = test_env_fail_reached(w.t);
            test_env_fail_at(w.t, 0);
            assert_true(rc == PML_E_CONFLICT || (failed && rc == PML_E_NOMEM));
        }
        must_conflict(&w, lost);
        pml_writer_close(a);
        index_must_be(&w, "2 1 1");
        world_close(&w);
    }
}

/* The keys are there, whatever came first. */
static void messages_as_bytes_come_in_any_order_that_has_their_keys(void **state)
{
    (void)state;
    world w;
    keyed_row rows[4][6];
    pml_messages *m[4];
    pml_error err = PML_ERROR_INIT;
    world_open(&w, true, "\"dynamic-bucket.target-row-num\":\"4\"");
    pml_writer *a = writer_of(&w);
    static const int64_t first[] = {0, 1, 3, 0};
    for (int i = 0; i < 4; i++) {
        put(&w, a, rows[i], keys(rows[i], 1, first[i], i == 1 ? 2 : 5, i));
        m[i] = as_bytes(&w, prepared(a), true);
    }
    must_ok(try_commit(&w, m, 1, &err), &err);
    pml_messages *rest[] = {m[2], m[1], m[3]}; /* by files, and the last by what it says */
    must_ok(try_commit(&w, rest, 3, &err), &err);
    keyed_model_apply(&w.model, rows[0], 5);
    keyed_model_apply(&w.model, rows[1], 2);
    keyed_model_apply(&w.model, rows[2], 5);
    keyed_model_apply(&w.model, rows[3], 5);
    for (int i = 0; i < 4; i++)
        pml_messages_free(m[i]);
    index_must_be(&w, "4 4");
    pml_writer_close(a);
    world_close(&w);
}

/* ---- overwrites ---- */

static void overwrite(world *w, pml_writer *writer, const keyed_row *rows, size_t n)
{
    pml_commit *c;
    pml_error err = PML_ERROR_INIT;
    pml_messages *m = prepared(writer);
    must_ok(pml_commit_open(&c, w->k.table, NULL, &err), &err);
    must_ok(pml_commit_overwrite(NULL, c, NULL, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    keyed_model_apply(&w->model, rows, n);
    keyed_must_hold(&w->k, &w->model);
}

static void overwritten_partitions_keep_the_keys_of_their_new_rows(void **state)
{
    (void)state;
    world w;
    keyed_row rows[8];
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
    upsert(&w, rows, keys(rows, 1, 0, 8, 1));
    index_must_be(&w, "3 3 2");
    pml_writer *a = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 1, 2, 2)); /* of bucket 0, no new key; buckets 1 and 2 lose all */
    w.model.n = 0;
    overwrite(&w, a, rows, 2);
    index_must_be(&w, "3");
    pml_writer_close(a);
    upsert(&w, rows, keys(rows, 1, 0, 8, 3));
    index_must_be(&w, "3 3 2");
    a = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 7, 3, 4)); /* 7 and 8 are or become those of bucket 2, 9 that of a new one */
    w.model.n = 0;
    overwrite(&w, a, rows, 3);
    index_must_be(&w, "- - 3 1");
    pml_writer_close(a);
    upsert(&w, rows, keys(rows, 1, 0, 8, 5)); /* first what has room, then the lowest free number */
    index_must_be(&w, "3 1 3 3");
    world_close(&w);
}

/* The data files of a committed message are gone, its index file is still that of the bucket. */
static void an_index_file_in_use_outlives_the_abort_of_a_copy(void **state)
{
    (void)state;
    world w;
    keyed_row rows[8];
    pml_commit *c;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"3\"");
    pml_writer *a = writer_of(&w);
    put(&w, a, rows, keys(rows, 1, 0, 2, 1));
    pml_messages *m = prepared(a), *copy = copy_of(&w, m, true);
    commit(&w, m, rows, 2);
    put(&w, a, rows, keys(rows, 1, 0, 2, 2));
    w.model.n = 0;
    overwrite(&w, a, rows, 2);
    pml_writer_close(a);
    must_ok(pml_commit_open(&c, w.k.table, NULL, &err), &err);
    must_fail_with(PML_E_CONFLICT, pml_commit_abort(c, &copy, 1, &err), &err);
    pml_commit_close(c);
    pml_messages_free(copy);
    upsert(&w, rows, keys(rows, 1, 0, 4, 3)); /* reads it */
    index_must_be(&w, "3 1");
    keyed_must_hold(&w.k, &w.model);
    world_close(&w);
}

static void dropped_partitions_lose_their_index_only(void **state)
{
    (void)state;
    world w;
    keyed_row rows[8];
    pml_error err = PML_ERROR_INIT;
    const pml_option_pair value = {"p", "1"};
    const pml_partition_spec spec = {1, &value};
    world_open(&w, true, "");
    keys(rows, 1, 0, 4, 1);
    keys(rows + 4, 0, 0, 4, 1);
    upsert(&w, rows, 8);
    must_ok(pml_table_drop_partitions(NULL, w.k.table, &spec, 1, &err), &err);
    w.model.n = 0;
    keyed_model_apply(&w.model, rows + 4, 4);
    index_must_be(&w, "4");
    world_close(&w);
}

/* ---- files that lie ---- */

static void must_refuse_to_write(world *w, int code, const char *words)
{
    keyed_row rows[1];
    pml_error err = PML_ERROR_INIT;
    pml_writer *writer = writer_of(w);
    (void)keys(rows, 1, 100, 1, 1);
    must_fail_with(code, keyed_write(&w->k, writer, rows, 1, KEYED_ALL_INSERTS, &err), &err);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    pml_writer_close(writer);
}

static void index_files_that_are_damaged_or_gone_are_named(void **state)
{
    (void)state;
    world w;
    keyed_row rows[8];
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    uint8_t *data[2];
    size_t len[2];
    char path[2][400];
    world_open(&w, false, "\"dynamic-bucket.target-row-num\":\"4\"");
    upsert(&w, rows, keys(rows, 1, 0, 8, 1));
    pml_arena__init(&arena, w.t->env);
    pml_index_entries e = index_of(&w, &arena);
    assert_int_equal(e.n, 2);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/index/%s", w.k.table->path, e.v[i].name);
        must_ok(pml_file__read_all(&data[i], &len[i], w.t->env, path[i], 100, &err), &err);
        assert_int_equal(len[i], 16);
    }
    must_ok(pml_file__replace(w.t->env, path[1], data[1], 15, &err), &err);
    must_refuse_to_write(&w, PML_E_CORRUPT, e.v[1].name);
    must_ok(pml_file__replace(w.t->env, path[1], data[1], 12, &err), &err);
    must_refuse_to_write(&w, PML_E_CORRUPT, "4 hashes");
    must_ok(pml_file__replace(w.t->env, path[1], data[0], 16, &err), &err);
    must_refuse_to_write(&w, PML_E_CORRUPT, "too");
    must_ok(pml_file__remove(w.t->env, path[1], &err), &err);
    must_refuse_to_write(&w, PML_E_SNAPSHOT_GONE, e.v[1].name);
    must_ok(pml_file__replace(w.t->env, path[1], data[1], 16, &err), &err);
    upsert(&w, rows, keys(rows, 1, 4, 8, 2));
    for (size_t i = 0; i < 2; i++)
        pml_env__free(w.t->env, data[i]);
    pml_arena__clear(&arena);
    world_close(&w);
}

static void a_table_without_room_for_a_bucket_is_refused(void **state)
{
    (void)state;
    world w;
    pml_writer *writer;
    pml_error err = PML_ERROR_INIT;
    world_open(&w, false, "\"dynamic-bucket.max-buckets\":\"0\"");
    must_fail_with(PML_E_INVAL, pml_writer_open(&writer, w.k.table, &err), &err);
    assert_non_null(strstr(err.message, "dynamic-bucket.max-buckets"));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_fill_one_after_the_other),
        cmocka_unit_test(keys_beyond_the_last_bucket_are_shared_out),
        cmocka_unit_test(random_life_agrees_with_the_model),
        cmocka_unit_test(of_two_writers_that_add_keys_the_second_is_refused),
        cmocka_unit_test(keys_of_two_writers_in_one_commit_are_a_conflict),
        cmocka_unit_test(keys_added_to_another_bucket_are_a_conflict_too),
        cmocka_unit_test(updates_of_two_writers_do_not_conflict),
        cmocka_unit_test(updates_of_keys_that_were_removed_are_refused),
        cmocka_unit_test(several_prepares_may_be_in_one_commit),
        cmocka_unit_test(prepares_that_were_aborted_leave_a_writer_that_must_begin_anew),
        cmocka_unit_test(messages_as_bytes_keep_their_keys),
        cmocka_unit_test(messages_as_bytes_need_the_keys_they_rely_on),
        cmocka_unit_test(messages_as_bytes_come_in_any_order_that_has_their_keys),
        cmocka_unit_test(overwritten_partitions_keep_the_keys_of_their_new_rows),
        cmocka_unit_test(an_index_file_in_use_outlives_the_abort_of_a_copy),
        cmocka_unit_test(dropped_partitions_lose_their_index_only),
        cmocka_unit_test(index_files_that_are_damaged_or_gone_are_named),
        cmocka_unit_test(a_table_without_room_for_a_bucket_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
