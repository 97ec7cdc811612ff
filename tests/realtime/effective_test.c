/* SPDX-License-Identifier: Apache-2.0 */
/* Effective progress (realtime.md 7.4) and building (7.3), case by case (realtime-tests.md 39, 40, 46a). */
#include "support/progress_world.h"

#include <string.h>

static const pml_lineage line_p = {true, {1, 2, 3}}, line_q = {true, {9}};

static pml_progress_range range_of(int part, int64_t begin, int64_t end)
{
    return (pml_progress_range){world_pb(part), begin, end, part == WORLD_P ? line_p : line_q, end - begin, {0}};
}

static int commit(world *w, int policy, int part, int64_t begin, int64_t end, pml_error *err)
{
    world_snapshot s = world_begin(w, PML_COMMIT_APPEND, "us", w->latest + 1);
    const pml_progress_range r = range_of(part, begin, end);
    pml_progress_build b = {.n_ranges = 1, .ranges = &r};
    world_add(w, &s, part);
    int rc = world_build(w, &b, &s, policy, err);
    if (rc == PML_OK)
        world_publish(w, &s);
    return rc;
}

static void must_commit(world *w, int part, int64_t begin, int64_t end)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(commit(w, PML_RT_FOREIGN_ASK, part, begin, end, &err), &err);
}

static pml_effective *must_load(world *w, int policy)
{
    pml_error err = PML_ERROR_INIT;
    const pml_effective_source source = world_source(w);
    const pml_effective_options o = world_options(policy);
    pml_effective *e;
    must_ok(pml_effective__load(&e, w->env, &source, &o, NULL, NULL, &err), &err);
    return e;
}

/* end -1: absent; -2: lost. */
static void must_be(world *w, int policy, int64_t p, int64_t q)
{
    pml_effective *e = must_load(w, policy);
    const int64_t wanted[2] = {p, q};
    for (int part = WORLD_P; part <= WORLD_Q; part++) {
        const pml_pb_texts pb = world_pb(part);
        const pml_progress_entry *entry;
        switch (pml_progress__state(&e->progress, &pb, &entry)) {
        case PML_PROGRESS_ABSENT: assert_int_equal(-1, wanted[part]); break;
        case PML_PROGRESS_LOST: assert_int_equal(-2, wanted[part]); break;
        case PML_PROGRESS_KNOWN: assert_int_equal(entry->end, wanted[part]); break;
        }
    }
    pml_effective__release(e);
}

static pml_progress_entry entry_at(world *w, int policy, int part)
{
    pml_effective *e = must_load(w, policy);
    const pml_pb_texts pb = world_pb(part);
    const pml_progress_entry *entry = pml_progress__find(&e->progress, &pb);
    assert_non_null(entry);
    pml_progress_entry copy = *entry;
    copy.commit_user = NULL;
    pml_effective__release(e);
    return copy;
}

#define WITH_WORLD                       \
    (void)state;                         \
    test_env *t = test_env_open(NULL);   \
    world w;                             \
    world_init(&w, t)
#define END_WORLD                        \
    world_free_from(&w, 0);              \
    test_env_close(t)

static void effective_without_snapshot_or_commit_is_empty(void **state)
{
    WITH_WORLD;
    must_be(&w, PML_RT_FOREIGN_ASK, -1, -1);
    world_java_append(&w, WORLD_P);
    world_java_overwrite(&w, WORLD_P);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, -1);
    END_WORLD;
}

static void effective_survives_append_compact_and_analyze(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 7);
    world_java_append(&w, WORLD_P);
    world_java_compact(&w, WORLD_P);
    world_snapshot s = world_begin(&w, PML_COMMIT_ANALYZE, "java", 1);
    world_publish(&w, &s);
    s = world_begin(&w, PML_COMMIT_APPEND, "java", 2); /* the empty one a compaction may write first */
    world_publish(&w, &s);
    must_be(&w, PML_RT_FOREIGN_ASK, 5, 7);
    pml_effective *e = must_load(&w, PML_RT_FOREIGN_ASK);
    assert_null(e->property);
    assert_string_equal(e->anchor, "metadata/1.offsets");
    pml_effective__release(e);
    must_commit(&w, WORLD_P, 5, 6);
    must_be(&w, PML_RT_FOREIGN_ASK, 6, 7);
    END_WORLD;
}

static void effective_after_overwrite_of_one_partition_follows_the_policy(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 7);
    world_java_overwrite(&w, WORLD_P);
    world_java_append(&w, WORLD_Q);
    must_be(&w, PML_RT_FOREIGN_ASK, -2, 7);
    must_be(&w, PML_RT_FOREIGN_INHERIT, 5, 7);
    must_be(&w, PML_RT_FOREIGN_RESET, 0, 7);
    pml_progress_entry e = entry_at(&w, PML_RT_FOREIGN_RESET, WORLD_P);
    assert_true(pml_lineage__conflicts(&e.lineage, &line_p));
    assert_true(e.reset.present && e.reset.v == 3);
    END_WORLD;
}

static void effective_after_row_level_changes_that_say_so_is_kept(void **state)
{
    static const char *const operations[] = {"DELETE", "UPDATE", "MERGE"};
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    for (size_t i = 0; i < 3; i++)
        assert_true(world_java_rewrite(&w, WORLD_P, operations[i]));
    must_be(&w, PML_RT_FOREIGN_ASK, 5, -1);
    must_be(&w, PML_RT_FOREIGN_RESET, 5, -1);
    assert_true(world_java_rewrite(&w, WORLD_P, "OVERWRITE"));
    must_be(&w, PML_RT_FOREIGN_ASK, -2, -1);
    END_WORLD;
}

static void effective_after_rewrite_without_operation_is_lost_for_touched_pbs_only(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 7);
    assert_true(world_java_rewrite(&w, WORLD_P, NULL));
    must_be(&w, PML_RT_FOREIGN_ASK, -2, 7);
    assert_int_equal(entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P).end, 5);
    END_WORLD;
}

static void effective_after_deletion_vector_commit_without_files_is_kept(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    world_snapshot s = world_begin(&w, PML_COMMIT_OVERWRITE, "java", 1);
    world_publish(&w, &s);
    must_be(&w, PML_RT_FOREIGN_ASK, 5, -1);
    END_WORLD;
}

static void effective_after_insert_overwrite_of_new_partition_loses_nothing(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_overwrite(&w, WORLD_Q);
    world_java_overwrite(&w, WORLD_Q);
    must_be(&w, PML_RT_FOREIGN_ASK, 5, -1);
    must_commit(&w, WORLD_Q, 0, 2);
    must_be(&w, PML_RT_FOREIGN_ASK, 5, 2);
    END_WORLD;
}

static void effective_after_truncate_is_a_reset_that_every_reader_derives_alike(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 7);
    world_java_truncate(&w);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 0);
    const pml_progress_entry a = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P);
    world_java_append(&w, WORLD_P);
    assert_true(world_java_rewrite(&w, WORLD_P, NULL)); /* emptied wins over unclear */
    const pml_progress_entry b = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P), q = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_Q);
    assert_false(a.lost || b.lost || a.end != 0 || b.end != 0);
    assert_false(pml_lineage__conflicts(&a.lineage, &b.lineage));
    assert_true(pml_lineage__conflicts(&a.lineage, &line_p) && pml_lineage__conflicts(&a.lineage, &q.lineage));
    END_WORLD;
}

static void effective_after_unclear_then_truncate_is_a_reset(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    assert_true(world_java_rewrite(&w, WORLD_P, NULL));
    must_be(&w, PML_RT_FOREIGN_ASK, -2, -1);
    world_java_truncate(&w);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, -1);
    assert_int_equal(entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P).reset.v, 3);
    END_WORLD;
}

/* "Q" and "q" are two partition rows with one text, hence one directory and one entry. */
static void effective_takes_rows_of_equal_text_for_one_partition(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_Q, 0, 7);
    world_java_append(&w, WORLD_Q2);
    world_snapshot s = world_begin(&w, PML_COMMIT_OVERWRITE, "java", 1);
    world_delete_all(&w, &s, WORLD_Q);
    world_publish(&w, &s);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, -2); /* files of Q are left */
    world_java_truncate(&w);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, 0);
    END_WORLD;
}

static void effective_derived_lineage_has_the_documented_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    const pml_snapshot s = {.id = 3, .commit_user = "java", .commit_identifier = 4, .time_ms = 1767225600000};
    const pml_lineage unknown = {0};
    pml_lineage a, b;
    char text[PML_LINEAGE_TEXT];
    must_ok(pml_lineage__derive(&a, t->env, &line_p, &s, &err), &err);
    must_ok(pml_lineage__derive(&b, t->env, &unknown, &s, &err), &err);
    pml_lineage__print(text, &a);
    assert_string_equal(text, "7912bedf7d1d68b7c02c2fcc4d2ada59");
    pml_lineage__print(text, &b);
    assert_string_equal(text, "a648463db5989046116b12db03919030");
    test_env_close(t);
}

/* ---- expiry ---- */

static void effective_with_expired_anchor_is_lost_while_a_progress_file_exists(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_append(&w, WORLD_P);
    world_java_append(&w, WORLD_P);
    world_expire(&w, 2);
    must_be(&w, PML_RT_FOREIGN_ASK, -2, -2);
    world_clean(&w, true);
    must_be(&w, PML_RT_FOREIGN_ASK, -2, -2);
    must_fail_with(PML_E_PROGRESS_LOST, commit(&w, PML_RT_FOREIGN_ASK, WORLD_Q, 0, 1, &err), &err);
    world_clean(&w, false);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, -1);
    END_WORLD;
}

static void effective_of_a_table_that_never_had_progress_and_expired_is_empty(void **state)
{
    WITH_WORLD;
    world_java_append(&w, WORLD_P);
    world_java_append(&w, WORLD_P);
    world_expire(&w, 2);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, -1);
    END_WORLD;
}

static void effective_with_missing_manifests_of_an_overwrite_is_lost(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_overwrite(&w, WORLD_P);
    w.snapshots[2].manifests_gone = true;
    must_be(&w, PML_RT_FOREIGN_ASK, -2, -2);
    must_be(&w, PML_RT_FOREIGN_INHERIT, 5, -1);
    END_WORLD;
}

static void effective_walks_no_further_than_allowed(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    pml_effective *e;
    const pml_effective_source source = world_source(&w);
    pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    must_commit(&w, WORLD_P, 0, 5);
    for (int i = 0; i < 4; i++)
        world_java_append(&w, WORLD_P);
    for (o.max_walk = 3; o.max_walk <= 4; o.max_walk++) {
        must_ok(pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
        assert_int_equal(e->progress.all_lost, o.max_walk < 4);
        pml_effective__release(e);
    }
    END_WORLD;
}

/* While the walk is under way somebody commits, and the anchor expires. */
static void effective_beside_expiry_starts_again_at_the_newest(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    const pml_effective_source source = world_source(&w);
    const pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    pml_effective *e;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_append(&w, WORLD_P);
    world_java_append(&w, WORLD_P);
    must_commit(&w, WORLD_P, 5, 6);
    w.calls = 0;
    const world before = w;
    /* Calls: earliest, latest (or not), snapshots 3, 2, 1. */
    for (long at = 4; at <= 5; at++) {
        w = before;
        w.latest = 3;
        w.expire_at = w.grow_at = at;
        w.expire_to = 3;
        w.grow_to = 4;
        must_ok(pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
        assert_int_equal(e->snapshot_id, 4);
        assert_int_equal(e->progress.v[0].end, 6);
        pml_effective__release(e);
    }
    w = before;
    w.latest = 3;
    w.expire_at = w.grow_at = 3;
    const pml_snapshot old = {.id = 3, .commit_user = "java", .commit_identifier = 3, .time_ms = w.snapshots[3].time_ms,
                              .delta_manifest_list = "manifest-list-x"};
    w.expire_to = 3;
    w.grow_to = 4;
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_effective__load(&e, w.env, &source, &o, &old, NULL, &err), &err);
    assert_null(e);
    END_WORLD;
}

static void effective_of_an_older_snapshot_whose_anchor_expired_long_ago_is_lost(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    const pml_effective_source source = world_source(&w);
    const pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    pml_effective *e;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_append(&w, WORLD_P);
    must_commit(&w, WORLD_P, 5, 6);
    world_expire(&w, 2);
    const pml_snapshot old = {.id = 2, .commit_user = "java", .commit_identifier = 2, .time_ms = w.snapshots[2].time_ms,
                              .delta_manifest_list = "manifest-list-x"};
    must_ok(pml_effective__load(&e, w.env, &source, &o, &old, NULL, &err), &err);
    assert_true(e->progress.all_lost && e->snapshot_id == 2);
    pml_effective__release(e);
    pml_snapshot other = old;
    other.commit_user = "else";
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_effective__load(&e, w.env, &source, &o, &other, NULL, &err), &err);
    other = old; /* the same user did the same again after a rollback, at the same time */
    other.delta_manifest_list = "manifest-list-y";
    must_fail_with(PML_E_SNAPSHOT_GONE, pml_effective__load(&e, w.env, &source, &o, &other, NULL, &err), &err);
    END_WORLD;
}

/* A read error at any call is that error, never a wrong answer. */
static void effective_with_a_read_error_anywhere_fails_with_it(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 5);
    world_java_append(&w, WORLD_P);
    world_java_truncate(&w);
    assert_false(world_java_rewrite(&w, WORLD_P, NULL));
    world_java_overwrite(&w, WORLD_Q);
    w.calls = 0;
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 0);
    const long calls = w.calls;
    assert_true(calls > 8);
    const pml_effective_source source = world_source(&w);
    const pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    w.fail_code = PML_E_IO;
    for (w.fail_at = 1; w.fail_at <= calls; w.fail_at++) {
        pml_error err = PML_ERROR_INIT;
        pml_effective *e;
        w.calls = 0;
        must_fail_with(PML_E_IO, pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
        assert_null(e);
    }
    END_WORLD;
}

static void effective_with_a_missing_progress_file_is_an_error(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    pml_effective *e;
    const pml_effective_source source = world_source(&w);
    pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    must_commit(&w, WORLD_P, 0, 5);
    w.progress[0].exists = false;
    must_fail_with(PML_E_IO, pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
    assert_non_null(strstr(err.message, "metadata/0.offsets"));
    /* Unless the caller is about to end the loss; but what cannot be read is not missing. */
    o.missing_is_lost = true;
    w.calls = 0;
    w.fail_at = 0;
    must_ok(pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
    assert_true(e->progress.all_lost);
    assert_int_equal(e->progress.n, 0);
    pml_effective__release(e);
    const long calls = w.calls;
    w.fail_code = PML_E_IO;
    for (w.fail_at = 1; w.fail_at <= calls; w.fail_at++) {
        w.calls = 0;
        must_fail_with(PML_E_IO, pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err), &err);
        assert_null(e);
    }
    END_WORLD;
}

static void effective_without_memory_fails_cleanly(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_truncate(&w);
    must_commit(&w, WORLD_Q, 0, 5);
    world_java_overwrite(&w, WORLD_Q);
    const pml_effective_source source = world_source(&w);
    const pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    int rc = PML_E_NOMEM, n = 0;
    while (rc != PML_OK && n < 1000) {
        pml_error err = PML_ERROR_INIT;
        pml_effective *e;
        test_env_fail_at(t, ++n);
        rc = pml_effective__load(&e, w.env, &source, &o, NULL, NULL, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(t));
        test_env_fail_at(t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        pml_effective__release(e);
    }
    assert_true(n > 10 && rc == PML_OK);
    END_WORLD;
}

static void effective_is_cached_by_identity_not_by_id(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    const pml_effective_source source = world_source(&w);
    const pml_effective_options o = world_options(PML_RT_FOREIGN_ASK);
    pml_effective_cache cache;
    pml_effective *a, *b, *c;
    pml_effective_cache__init(&cache);
    must_commit(&w, WORLD_P, 0, 5);
    world_java_append(&w, WORLD_P);
    must_ok(pml_effective__load(&a, w.env, &source, &o, NULL, &cache, &err), &err);
    must_ok(pml_effective__load(&b, w.env, &source, &o, NULL, &cache, &err), &err);
    assert_ptr_equal(a, b);
    w.snapshots[2].time_ms++; /* rolled back and grown again */
    must_ok(pml_effective__load(&c, w.env, &source, &o, NULL, &cache, &err), &err);
    assert_ptr_not_equal(a, c);
    for (int i = 0; i < PML_EFFECTIVE_CACHE + 2; i++) {
        pml_effective *d;
        world_java_append(&w, WORLD_P);
        must_ok(pml_effective__load(&d, w.env, &source, &o, NULL, &cache, &err), &err);
        pml_effective__release(d);
    }
    pml_effective_cache__clear(&cache);
    pml_effective__release(a);
    pml_effective__release(b);
    pml_effective__release(c);
    END_WORLD;
}

/* ---- building ---- */

static void build_refuses_gap_overlap_and_other_lineage(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_CONFLICT, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 1, 5, &err), &err);
    must_commit(&w, WORLD_P, 0, 5);
    must_fail_with(PML_E_CONFLICT, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 6, 7, &err), &err);
    assert_non_null(strstr(err.message, "dt=p/bucket-0"));
    must_fail_with(PML_E_CONFLICT, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 4, 7, &err), &err);
    must_fail_with(PML_E_INVAL, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 5, 5, &err), &err);
    world_java_truncate(&w);
    must_fail_with(PML_E_CONFLICT, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 0, 5, &err), &err);
    assert_non_null(strstr(err.message, "was reset"));
    assert_int_equal(w.n_progress, 1);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, -1);
    END_WORLD;
}

static void build_keeps_lost_pbs_lost_and_serves_the_others(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    must_commit(&w, WORLD_P, 0, 5);
    assert_true(world_java_rewrite(&w, WORLD_P, NULL));
    must_commit(&w, WORLD_Q, 0, 7);
    must_be(&w, PML_RT_FOREIGN_ASK, -2, 7);
    must_be(&w, PML_RT_FOREIGN_INHERIT, -2, 7); /* it was written down */
    must_fail_with(PML_E_PROGRESS_LOST, commit(&w, PML_RT_FOREIGN_ASK, WORLD_P, 5, 6, &err), &err);
    assert_int_equal(entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P).end, 5);
    END_WORLD;
}

static void build_records_who_committed_what(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_P, 5, 8);
    const pml_progress_entry e = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P);
    assert_int_equal(e.end, 8);
    assert_int_equal(e.rows.v, 8);
    assert_int_equal(e.commit_identifier.v, 2);
    assert_memory_equal(e.lineage.bytes, line_p.bytes, PML_LINEAGE_BYTES);
    assert_false(e.reset.present);
    END_WORLD;
}

/* Another implementation wrote the file: no lineage, no rows. */
static void build_takes_an_unknown_lineage_for_any_and_writes_ours(void **state)
{
    WITH_WORLD;
    static const char text[] = "{\"version\":1,\"offsets\":[{\"partition\":{\"dt\":\"p\"},\"bucket\":0,\"offset\":4}]}";
    world_snapshot s = world_begin(&w, PML_COMMIT_APPEND, "other", 1);
    w.progress[w.n_progress++] = (world_progress){pml_env__strdup(t->env, text), sizeof text - 1, true};
    s.property = 0;
    world_add(&w, &s, WORLD_P);
    world_publish(&w, &s);
    must_be(&w, PML_RT_FOREIGN_ASK, 4, -1);
    must_commit(&w, WORLD_P, 4, 6);
    const pml_progress_entry e = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P);
    assert_memory_equal(e.lineage.bytes, line_p.bytes, PML_LINEAGE_BYTES);
    assert_false(e.rows.present);
    END_WORLD;
}

static void must_reset(world *w, const pml_progress_match *m, bool truncate)
{
    pml_error err = PML_ERROR_INIT;
    world_snapshot s = world_begin(w, PML_COMMIT_OVERWRITE, "us", w->latest + 1);
    pml_progress_build b = {.n_resets = 1, .resets = m};
    world_delete_all(w, &s, WORLD_P);
    if (truncate)
        world_delete_all(w, &s, WORLD_Q);
    must_ok(world_build(w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    world_publish(w, &s);
}

static void build_of_an_overwrite_leaves_reset_marks(void **state)
{
    WITH_WORLD;
    const char *const p_only[] = {"p"}, *const any[] = {NULL}, *const other[] = {"x"};
    must_commit(&w, WORLD_P, 0, 5);
    must_commit(&w, WORLD_Q, 0, 7);
    must_reset(&w, &(pml_progress_match){p_only, -1}, false);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 7);
    const pml_progress_entry first = entry_at(&w, PML_RT_FOREIGN_ASK, WORLD_P);
    assert_true(first.reset.v == 3 && first.lineage.known && pml_lineage__conflicts(&first.lineage, &line_p));
    must_reset(&w, &(pml_progress_match){other, -1}, false);
    assert_int_equal(w.snapshots[4].property, w.snapshots[3].property); /* nothing to reset: the same file */
    must_reset(&w, &(pml_progress_match){any, 1}, false);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 7);
    must_reset(&w, &(pml_progress_match){NULL, -1}, true);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 0);
    assert_true(w.snapshots[6].property >= 0);
    END_WORLD;
}

static void build_of_an_overwrite_frees_lost_pbs(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    assert_true(world_java_rewrite(&w, WORLD_P, NULL));
    must_reset(&w, &(pml_progress_match){NULL, -1}, true);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, -1);
    END_WORLD;
}

static void build_drops_marks_older_than_every_snapshot(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    must_reset(&w, &(pml_progress_match){NULL, -1}, true);
    must_commit(&w, WORLD_Q, 0, 1);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 1);
    world_expire(&w, 3);
    must_commit(&w, WORLD_Q, 1, 2);
    must_be(&w, PML_RT_FOREIGN_ASK, -1, 2);
    END_WORLD;
}

static void build_without_ranges_carries_the_property_or_writes_none(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    pml_progress_build b = {0};
    world_snapshot s = world_begin(&w, PML_COMMIT_APPEND, "us", 1);
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    assert_int_equal(s.property, -1);
    must_commit(&w, WORLD_P, 0, 5);
    s = world_begin(&w, PML_COMMIT_COMPACT, "us", 2);
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    assert_int_equal(s.property, 0);
    world_java_append(&w, WORLD_P);
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    assert_int_equal(s.property, -1);
    b.flags = PML_PROGRESS_REANCHOR;
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    assert_int_equal(s.property, 0);
    world_java_truncate(&w);
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    assert_int_equal(s.property, 1); /* a new file: something was emptied on the way */
    END_WORLD;
}

static void build_refuses_two_ranges_of_one_pb(void **state)
{
    WITH_WORLD;
    pml_error err = PML_ERROR_INIT;
    const pml_progress_range r[] = {range_of(WORLD_P, 0, 1), range_of(WORLD_Q, 0, 1), range_of(WORLD_P, 1, 2)};
    pml_progress_build b = {.n_ranges = 3, .ranges = r};
    world_snapshot s = world_begin(&w, PML_COMMIT_APPEND, "us", 1);
    must_fail_with(PML_E_INVAL, world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    b.n_ranges = 2;
    must_ok(world_build(&w, &b, &s, PML_RT_FOREIGN_ASK, &err), &err);
    END_WORLD;
}

static void build_without_memory_fails_cleanly(void **state)
{
    WITH_WORLD;
    must_commit(&w, WORLD_P, 0, 5);
    world_java_truncate(&w);
    const int files = w.n_files;
    int rc = PML_E_NOMEM, n = 0;
    while (rc != PML_OK && n < 1000) {
        pml_error err = PML_ERROR_INIT;
        w.n_files = files;
        test_env_fail_at(t, ++n);
        rc = commit(&w, PML_RT_FOREIGN_ASK, WORLD_Q, 0, 5, &err);
        assert_true(rc != PML_OK || !test_env_fail_reached(t));
        test_env_fail_at(t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
    }
    assert_true(n > 10 && rc == PML_OK);
    must_be(&w, PML_RT_FOREIGN_ASK, 0, 5);
    END_WORLD;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effective_without_snapshot_or_commit_is_empty),
        cmocka_unit_test(effective_survives_append_compact_and_analyze),
        cmocka_unit_test(effective_after_overwrite_of_one_partition_follows_the_policy),
        cmocka_unit_test(effective_after_row_level_changes_that_say_so_is_kept),
        cmocka_unit_test(effective_after_rewrite_without_operation_is_lost_for_touched_pbs_only),
        cmocka_unit_test(effective_after_deletion_vector_commit_without_files_is_kept),
        cmocka_unit_test(effective_after_insert_overwrite_of_new_partition_loses_nothing),
        cmocka_unit_test(effective_after_truncate_is_a_reset_that_every_reader_derives_alike),
        cmocka_unit_test(effective_after_unclear_then_truncate_is_a_reset),
        cmocka_unit_test(effective_takes_rows_of_equal_text_for_one_partition),
        cmocka_unit_test(effective_derived_lineage_has_the_documented_bytes),
        cmocka_unit_test(effective_with_expired_anchor_is_lost_while_a_progress_file_exists),
        cmocka_unit_test(effective_of_a_table_that_never_had_progress_and_expired_is_empty),
        cmocka_unit_test(effective_with_missing_manifests_of_an_overwrite_is_lost),
        cmocka_unit_test(effective_walks_no_further_than_allowed),
        cmocka_unit_test(effective_beside_expiry_starts_again_at_the_newest),
        cmocka_unit_test(effective_of_an_older_snapshot_whose_anchor_expired_long_ago_is_lost),
        cmocka_unit_test(effective_with_a_read_error_anywhere_fails_with_it),
        cmocka_unit_test(effective_with_a_missing_progress_file_is_an_error),
        cmocka_unit_test(effective_without_memory_fails_cleanly),
        cmocka_unit_test(effective_is_cached_by_identity_not_by_id),
        cmocka_unit_test(build_refuses_gap_overlap_and_other_lineage),
        cmocka_unit_test(build_keeps_lost_pbs_lost_and_serves_the_others),
        cmocka_unit_test(build_records_who_committed_what),
        cmocka_unit_test(build_takes_an_unknown_lineage_for_any_and_writes_ours),
        cmocka_unit_test(build_of_an_overwrite_leaves_reset_marks),
        cmocka_unit_test(build_of_an_overwrite_frees_lost_pbs),
        cmocka_unit_test(build_drops_marks_older_than_every_snapshot),
        cmocka_unit_test(build_without_ranges_carries_the_property_or_writes_none),
        cmocka_unit_test(build_refuses_two_ranges_of_one_pb),
        cmocka_unit_test(build_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
