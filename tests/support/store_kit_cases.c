/* SPDX-License-Identifier: Apache-2.0 */
/* What a store of append tables must do, one promise a case. The numbers are those of realtime-tests.md 25.2. */
#include <stdlib.h>

#include "support/store_kit.h"

bool kit_refuses(kit *k, pml_rt_batch *batch, const char *what)
{
    pml_error err = PML_ERROR_INIT;
    int rc = k->vt->write(k->store, batch, &err);
    bool ok = kit_ok(k, rc != PML_OK, "write took a batch with %s", what) &&
              kit_ok(k, err.code == rc && (err.flags & PML_ERRF_NO_EFFECT) != 0,
                     "write refused a batch with %s, but did not say that nothing happened", what) &&
              kit_ok(k, batch->array->release != NULL, "write refused a batch with %s and took it", what);
    return ok;
}

bool kit_refuses_all_but(kit *k, const pml_rt_batch *good)
{
    pml_rt_batch bad = *good;
    bad.range.end = bad.range.begin;
    bool ok = kit_refuses(k, &bad, "an empty range");
    bad = *good;
    bad.rows = 0;
    ok = ok && kit_refuses(k, &bad, "no rows");
    bad = *good;
    bad.rows--;
    ok = ok && kit_refuses(k, &bad, "another number of rows than its array");
    bad = *good;
    bad.range = (pml_rt_range){good->range.begin - 1, good->range.end - 1};
    ok = ok && kit_refuses(k, &bad, "offsets that were written before");
    bad = *good;
    bad.schema_id++;
    return ok && kit_refuses(k, &bad, "an unknown schema");
}

/* 15 */
static bool write_refuses_a_wrong_batch(kit *k)
{
    struct ArrowArray array;
    pml_rt_batch good, bad;
    kit_rows rows;
    if (!kit_write(k, 5, true, 3))
        return false;
    kit_make_batch(k, &array, &good, &rows, 4, true, 0);
    bool ok = kit_refuses_all_but(k, &good);
    bad = good;
    bad.range.end++;
    ok = ok && kit_refuses(k, &bad, "dense offsets that are more than its rows");
    bad = good;
    bad.flags = 0;
    ok = ok && kit_refuses(k, &bad, "a column too few");
    pml_error err = PML_ERROR_INIT;
    ok = ok && kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]); /* nothing of it happened */
    if (!ok || !kit_rc(k, k->vt->write(k->store, &good, &err), &err, "write")) {
        kit_drop_rows(&rows);
        pml_array__release(&array);
        return false;
    }
    kit_accept(k, &good, &rows);
    kit_view_release(k, 0);
    return kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]);
}

/* 16 */
static bool seal_starts_a_new_segment(kit *k)
{
    pml_error err = PML_ERROR_INIT;
    int rc = k->vt->seal(k->store, &k->segments[0], &err);
    if (!kit_rc(k, rc, &err, "seal") || !kit_ok(k, k->segments[0] == NULL, "sealing an empty store gave a segment"))
        return false;
    if (!kit_write(k, 10, true, 0) || !kit_write(k, 1, false, 2) || !kit_seal(k, 0) ||
        !kit_commit_streams(k, 0, k->segments[0]))
        return false;
    rc = k->vt->seal(k->store, &k->segments[1], &err);
    if (!kit_rc(k, rc, &err, "seal") || !kit_ok(k, k->segments[1] == NULL, "sealing twice gave two segments"))
        return false;
    int64_t sealed_end = k->next;
    return kit_write(k, 7, true, 0) && /* while the segment is being read */
           kit_drain(k, 0, 0, sealed_end, false, NULL, k->layout->n_fields) && kit_seal(k, 1) &&
           kit_segment_check(k, k->segments[1]) && kit_segment_check(k, k->segments[0]);
}

/* 17, 18, 28a */
static bool streams_give_every_row_once(kit *k)
{
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 5; i++)
            if (!kit_write(k, 1 + (int64_t)(test_random(k->t) % 40), test_random(k->t) % 2 == 0,
                           (int64_t)(test_random(k->t) % 3)))
                return false;
        if (s < 3 &&
            (!kit_seal(k, s) || !kit_segment_check(k, k->segments[s]) || !kit_segment_check(k, k->segments[s])))
            return false;
    }
    if (!kit_view_acquire(k, 0) || !kit_view_check(k, &k->views[0]) || !kit_view_check(k, &k->views[0]))
        return false;
    for (int64_t batch_rows = 1; batch_rows < 50; batch_rows += 12)
        if (!kit_query(k, 0, &k->views[0], NULL, k->layout->n_fields, batch_rows) ||
            !kit_drain(k, 0, 0, k->next, false, NULL, k->layout->n_fields))
            return false;
    return true;
}

/* 17 */
static bool a_batch_of_a_million_rows_comes_back(kit *k)
{
    return kit_write(k, 3, false, 0) && kit_write(k, 1 << 20, true, 0) && kit_write(k, 1, true, 5) && kit_seal(k, 0) &&
           kit_segment_check(k, k->segments[0]);
}

/* 19 */
static bool a_view_never_changes(kit *k)
{
    pml_error err = PML_ERROR_INIT;
    bool ok = kit_write(k, 6, true, 0) && kit_seal(k, 0) && kit_write(k, 3, false, 0) && kit_view_acquire(k, 0) &&
              kit_write(k, 20, true, 0) && kit_view_check(k, &k->views[0]);
    for (int i = 0; i < 30 && ok; i++) /* beyond any room that a list may have had */
        ok = kit_write(k, 1 + i % 3, i % 2 == 0, 0);
    ok = ok && kit_view_check(k, &k->views[0]) && kit_seal(k, 1) && kit_view_check(k, &k->views[0]) &&
         kit_advance(k, 6) && kit_view_check(k, &k->views[0]) && kit_advance(k, k->next) &&
         kit_view_check(k, &k->views[0]);
    if (!ok)
        return false;
    k->closed = true;
    return kit_rc(k, k->vt->close(k->store, 1, &err), &err, "close") && kit_view_check(k, &k->views[0]);
}

/* 20 */
static bool a_segment_of_another_store_does_no_harm(kit *k)
{
    pml_error err = PML_ERROR_INIT;
    void *other = NULL;
    const pml_rt_store_vtbl *vt = NULL;
    if (!kit_write(k, 4, true, 0) || !kit_seal(k, 0) || !kit_store_open(k, &other, &vt, 0))
        return false;
    k->streams[0] = (pml_rt_streams){.struct_size = sizeof(pml_rt_streams)};
    int rc = vt->commit_streams(other, &k->streams[0], k->segments[0], &err);
    bool ok = rc != PML_OK || kit_drain(k, 0, 0, 4, false, NULL, k->layout->n_fields);
    ok = kit_rc(k, vt->close(other, 0, &err), &err, "close") && ok;
    vt->release(other);
    return ok && kit_segment_check(k, k->segments[0]);
}

enum { LET_VIEW, LET_SEGMENT, LET_STREAM, LET_STORE, LET_COUNT };

static bool let_go(kit *k, int what)
{
    pml_error err = PML_ERROR_INIT;
    switch (what) {
    case LET_VIEW: kit_view_release(k, 0); return true;
    case LET_SEGMENT: kit_segment_release(k, 0); return true;
    case LET_STREAM:
        kit_streams_release(k, 0);
        kit_streams_release(k, 1);
        return true;
    default: k->closed = true; return kit_rc(k, k->vt->close(k->store, 1, &err), &err, "close");
    }
}

static bool first_array(kit *k, int slot, struct ArrowArray *out)
{
    *out = (struct ArrowArray){0};
    if (!kit_ok(k, k->streams[slot].n > 0, "no stream came for rows that were written"))
        return false;
    struct ArrowArrayStream *s = &k->streams[slot].v[0];
    int rc = s->get_next(s, out);
    const char *text = rc == 0 ? NULL : s->get_last_error(s);
    return kit_ok(k, rc == 0, "get_next: %s", text == NULL ? "no message" : text);
}

static bool one_release_order(kit *k, const int order[LET_COUNT])
{
    struct ArrowArray a[2] = {{0}}, b[2] = {{0}};
    kit other;
    /* The fixture of this case is only the plugin's: each order needs a store that it may close. */
    bool ok = store_kit_open(&other, k->plugin, k->kind) && kit_write(&other, 3, true, 0) &&
              kit_write(&other, 2, false, 1) && kit_seal(&other, 0) && kit_view_acquire(&other, 0) &&
              kit_query(&other, 0, &other.views[0], NULL, other.layout->n_fields, 2) &&
              kit_commit_streams(&other, 1, other.segments[0]) && first_array(&other, 0, &a[0]) &&
              first_array(&other, 1, &b[0]);
    bool open = ok;
    for (int i = 0; i < LET_COUNT && ok; i++) {
        ok = let_go(&other, order[i]);
        open = open && order[i] != LET_STREAM;
        if (ok && open && a[1].release == NULL) /* the streams go on whatever else is gone */
            ok = first_array(&other, 0, &a[1]) && first_array(&other, 1, &b[1]);
    }
    ok = ok && kit_array_check(&other, &a[0], 0) && kit_array_check(&other, &b[0], 0);
    if (ok && a[1].release != NULL)
        (void)kit_array_check(&other, &a[1], k->keyed ? 0 : other.batches[0].offsets[a[0].length]);
    pml_array__release(&b[0]);
    pml_array__release(&a[1]);
    pml_array__release(&b[1]);
    pml_array__release(&a[0]);
    kit_close(&other);
    (void)kit_ok(k, !other.failed, "order %d%d%d%d: %s", order[0], order[1], order[2], order[3], other.why);
    return !other.failed;
}

/* 21: 0 view, 1 segment, 2 stream, 3 store */
static bool everything_may_go_in_any_order(kit *k)
{
    for (int code = 0; code < 256; code++) {
        const int order[LET_COUNT] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
        int seen = 0;
        for (int i = 0; i < LET_COUNT; i++)
            seen |= 1 << order[i];
        if (seen == 15 && !one_release_order(k, order))
            return false;
    }
    return true;
}

/* 21: the last array of a stream is released after store, backend and context. */
static bool an_array_outlives_everything(kit *k)
{
    struct ArrowArray a = {0};
    kit other;
    bool ok = store_kit_open(&other, k->plugin, k->kind) && kit_write(&other, 3, true, 0) && kit_view_acquire(&other, 0) &&
              kit_query(&other, 0, &other.views[0], NULL, other.layout->n_fields, 0) && first_array(&other, 0, &a);
    test_env *t = other.t;
    pml_env_acquire(t->env);
    if (ok) { /* all but the array, as kit_close does it */
        let_go(&other, LET_STREAM);
        let_go(&other, LET_VIEW);
        ok = let_go(&other, LET_STORE);
        other.vt->release(other.store);
        other.plugin->close(other.backend);
        other.store = other.backend = NULL;
        ok = ok && kit_array_check(&other, &a, 0);
    }
    pml_array__release(&a);
    pml_env_release(t->env);
    kit_close(&other);
    return kit_ok(k, ok && !other.failed, "%s", other.why);
}

/* 22 */
static bool streams_keep_the_manners_of_arrow(kit *k)
{
    if (!kit_view_acquire(k, 0) || !kit_query(k, 0, &k->views[0], NULL, k->layout->n_fields, 0) ||
        !kit_drain(k, 0, 0, 0, false, NULL, k->layout->n_fields)) /* an empty view */
        return false;
    if (!kit_write(k, 3, true, 0) || !kit_seal(k, 0) || !kit_write(k, 3, true, 0) || !kit_view_acquire(k, 1))
        return false;
    for (int reads = 0; reads < 3; reads++) { /* released unread, half read, and after get_schema only */
        struct ArrowArray a = {0};
        struct ArrowSchema s = {0};
        if (!kit_query(k, 0, &k->views[1], NULL, k->layout->n_fields, 2) || !kit_commit_streams(k, 1, k->segments[0]))
            return false;
        if (reads == 1 && !first_array(k, 0, &a))
            return false;
        pml_array__release(&a);
        if (reads == 2 && !kit_ok(k, k->streams[1].v[0].get_schema(&k->streams[1].v[0], &s) == 0, "get_schema failed"))
            return false;
        pml_schema__release(&s);
        kit_streams_release(k, 0);
        kit_streams_release(k, 1);
    }
    return kit_view_check(k, &k->views[1]);
}

/* 25 */
static bool advance_lets_whole_segments_go(kit *k)
{
    pml_rt_usage before, after;
    for (int i = 0; i < 6; i++)
        if (!kit_write(k, 10, true, 0) || !kit_seal(k, i))
            return false;
    if (!kit_write(k, 4, true, 0) || !kit_usage(k, &before) || !kit_advance(k, 25) || !kit_usage(k, &after))
        return false;
    bool ok =
        kit_ok(k, before.sealed_rows == 60 && before.building_rows == 4,
               "usage counts %lld sealed and %lld building rows", (long long)before.sealed_rows,
               (long long)before.building_rows) &&
        kit_ok(k, after.sealed_rows >= 35, "advance(25) left %lld of 60 sealed rows", (long long)after.sealed_rows);
    ok = ok && kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]) && kit_advance(k, 25) && kit_advance(k, 10) &&
         kit_view_acquire(k, 1) && kit_view_check(k, &k->views[1]) && kit_advance(k, 60) &&
         kit_view_check(k, &k->views[0]) && kit_view_acquire(k, 2) && kit_view_check(k, &k->views[2]) &&
         kit_segment_check(k, k->segments[5]);
    /* beyond the last row, as after a foreign commit */
    ok = ok && kit_seal(k, 6) && kit_advance(k, 100) && kit_view_acquire(k, 3) && kit_view_check(k, &k->views[3]);
    if (ok)
        k->next = 100;
    return ok && kit_write(k, 5, true, 0) && kit_view_acquire(k, 4) && kit_view_check(k, &k->views[4]);
}

static bool usage_is_nothing(kit *k)
{
    pml_rt_usage u;
    return kit_usage(k, &u) && kit_ok(k,
                                      u.building_bytes == 0 && u.sealed_bytes == 0 && u.pinned_only_bytes == 0 &&
                                          u.building_rows == 0 && u.sealed_rows == 0,
                                      "after the last release usage is %llu building, %llu sealed, %llu pinned bytes",
                                      (unsigned long long)u.building_bytes, (unsigned long long)u.sealed_bytes,
                                      (unsigned long long)u.pinned_only_bytes);
}

/* 26 */
static bool usage_falls_to_nothing(kit *k)
{
    pml_rt_usage u, pinned;
    if (!usage_is_nothing(k) || !kit_write(k, 50, true, 0) || !kit_seal(k, 0) || !kit_write(k, 50, false, 0) ||
        !kit_usage(k, &u) || !kit_view_acquire(k, 0))
        return false;
    uint64_t all = u.building_bytes + u.sealed_bytes;
    if (!kit_ok(k, u.building_bytes > 0 && u.sealed_bytes > 0 && u.pinned_only_bytes == 0,
                "usage does not count what was written"))
        return false;
    if (!kit_seal(k, 1) || !kit_advance(k, k->next) || !kit_usage(k, &pinned))
        return false;
    if (!kit_ok(k, pinned.building_bytes + pinned.sealed_bytes + pinned.pinned_only_bytes >= all,
                "usage fell below what a view pins"))
        return false;
    if (!kit_view_check(k, &k->views[0]))
        return false;
    kit_segment_release(k, 0);
    kit_segment_release(k, 1);
    if (!kit_view_check(k, &k->views[0]))
        return false;
    kit_view_release(k, 0);
    return kit_settle(k) && usage_is_nothing(k);
}

/* The random walk that finds what nobody thought of; every view and segment is checked when it is made and when it goes. */
static bool a_random_life_agrees_with_the_model(kit *k)
{
    for (int step = 0; step < 300; step++) {
        int slot = (int)(test_random(k->t) % 8);
        int64_t random = (int64_t)(test_random(k->t) % 1000);
        bool ok = true;
        switch (test_random(k->t) % 8) {
        case 0:
        case 1:
        case 2: ok = kit_write(k, 1 + random % 9, random % 2 == 0, random % 3); break;
        case 3:
            if (k->segments[slot] != NULL)
                ok = kit_segment_check(k, k->segments[slot]);
            kit_segment_release(k, slot);
            ok = ok && kit_write(k, 1, true, 0) && kit_seal(k, slot);
            break;
        case 4:
            if (k->views[slot].view != NULL)
                ok = kit_view_check(k, &k->views[slot]);
            kit_view_release(k, slot);
            ok = ok && kit_view_acquire(k, slot) && kit_view_check(k, &k->views[slot]);
            break;
        case 5: ok = k->next == 0 || kit_advance(k, k->next - random % (k->next < 40 ? k->next : 40)); break;
        default:
            if (k->views[slot].view != NULL)
                ok = kit_view_check(k, &k->views[slot]);
            break;
        }
        if (!ok)
            return false;
    }
    return true;
}

/* A view shows whole batches, all that were written before it. */
static bool a_view_has_whole_batches(kit *k)
{
    for (int i = 0; i < 12; i++) {
        kit_view_release(k, 0);
        if (!kit_write(k, 2 + i, i % 3 != 0, 0) || !kit_view_acquire(k, 0) || !kit_view_check(k, &k->views[0]))
            return false;
        if (i % 4 == 3 && !kit_seal(k, i))
            return false;
    }
    return true;
}

/* Projection: any columns in any order, the offset column or not. */
static bool a_query_gives_the_columns_asked_for(kit *k)
{
    static const uint32_t asked[][4] = {{0, 1, 2, 3}, {3, 0}, {2}, {0}, {1, 3, 2}};
    static const size_t n_asked[] = {4, 2, 1, 1, 3};
    if (!kit_write(k, 5, true, 0) || !kit_seal(k, 0) || !kit_write(k, 6, false, 1) || !kit_write(k, 9, true, 0) ||
        !kit_view_acquire(k, 0))
        return false;
    for (size_t i = 0; i < sizeof n_asked / sizeof n_asked[0]; i++)
        if (!kit_query(k, 0, &k->views[0], asked[i], n_asked[i], 4) ||
            !kit_drain(k, 0, 0, k->next, false, asked[i], n_asked[i]))
            return false;
    return kit_query(k, 0, &k->views[0], NULL, 0, 4) && kit_ok(k, k->streams[0].n > 0, "no stream came") &&
           kit_drain(k, 0, 0, k->next, false, NULL, 0); /* rows without columns: what a count reads */
}

const kit_case kit_cases[] = {
    {"write_refuses_a_wrong_batch", KIT_SMALL, write_refuses_a_wrong_batch, false},
    {"seal_starts_a_new_segment", KIT_SMALL, seal_starts_a_new_segment, false},
    {"streams_give_every_row_once", KIT_ALL, streams_give_every_row_once, false},
    {"a_batch_of_a_million_rows_comes_back", KIT_NARROW, a_batch_of_a_million_rows_comes_back, true},
    {"a_view_never_changes", KIT_SMALL, a_view_never_changes, false},
    {"a_segment_of_another_store_does_no_harm", KIT_SMALL, a_segment_of_another_store_does_no_harm, false},
    {"everything_may_go_in_any_order", KIT_SMALL, everything_may_go_in_any_order, false},
    {"an_array_outlives_everything", KIT_SMALL, an_array_outlives_everything, false},
    {"streams_keep_the_manners_of_arrow", KIT_SMALL, streams_keep_the_manners_of_arrow, false},
    {"failing_allocations_change_nothing", KIT_SMALL, kit_case_allocation_failures, false},
    {"advance_lets_whole_segments_go", KIT_SMALL, advance_lets_whole_segments_go, false},
    {"usage_falls_to_nothing", KIT_SMALL, usage_falls_to_nothing, false},
    {"structs_of_other_versions_are_understood", KIT_SMALL, kit_case_struct_sizes, false},
    {"a_view_has_whole_batches", KIT_SMALL, a_view_has_whole_batches, false},
    {"a_query_gives_the_columns_asked_for", KIT_SMALL, a_query_gives_the_columns_asked_for, false},
    {"a_random_life_agrees_with_the_model", KIT_SMALL, a_random_life_agrees_with_the_model, false},
    {"small_writes_stay_behind_the_views", KIT_SMALL, kit_case_open_chunk, false},
    {"small_writes_of_every_type_come_back", KIT_ALL, kit_case_every_type, false},
    {"pruning_loses_no_row", KIT_ALL, kit_case_pruning, false},
    /* tables with a primary key */
    {"keyed_write_refuses_a_wrong_batch", KIT_KEYED, kit_case_keyed_refuses, false},
    {"keyed_seal_starts_a_new_segment", KIT_KEYED, seal_starts_a_new_segment, false},
    {"keyed_streams_are_sorted_runs", KIT_KEYED, streams_give_every_row_once, false},
    {"keyed_streams_are_sorted_by_sequence_fields", KIT_ORDERED, streams_give_every_row_once, false},
    {"keyed_streams_keep_every_version", KIT_KEYED, kit_case_keyed_versions, false},
    {"keyed_a_view_never_changes", KIT_ORDERED, a_view_never_changes, false},
    {"keyed_a_view_has_whole_batches", KIT_KEYED, a_view_has_whole_batches, false},
    {"keyed_a_segment_of_another_store_does_no_harm", KIT_KEYED, a_segment_of_another_store_does_no_harm, false},
    {"keyed_everything_may_go_in_any_order", KIT_KEYED, everything_may_go_in_any_order, false},
    {"keyed_an_array_outlives_everything", KIT_KEYED, an_array_outlives_everything, false},
    {"keyed_streams_keep_the_manners_of_arrow", KIT_KEYED, streams_keep_the_manners_of_arrow, false},
    {"keyed_failing_allocations_change_nothing", KIT_KEYED, kit_case_allocation_failures, false},
    {"keyed_advance_lets_whole_segments_go", KIT_KEYED, advance_lets_whole_segments_go, false},
    {"keyed_usage_falls_to_nothing", KIT_KEYED, usage_falls_to_nothing, false},
    {"keyed_a_query_gives_the_columns_asked_for", KIT_ORDERED, kit_case_keyed_columns, false},
    {"keyed_a_random_life_agrees_with_the_model", KIT_ORDERED, a_random_life_agrees_with_the_model, false},
    {"collapsed_seal_starts_a_new_segment", KIT_COLLAPSED, seal_starts_a_new_segment, false},
    {"collapsed_streams_keep_what_counts", KIT_COLLAPSED, kit_case_keyed_versions, false},
    {"collapsed_a_view_never_changes", KIT_COLLAPSED, a_view_never_changes, false},
    {"collapsed_everything_may_go_in_any_order", KIT_COLLAPSED, everything_may_go_in_any_order, false},
    {"collapsed_failing_allocations_change_nothing", KIT_COLLAPSED, kit_case_allocation_failures, false},
    {"collapsed_usage_falls_to_nothing", KIT_COLLAPSED, usage_falls_to_nothing, false},
    {"collapsed_a_random_life_agrees_with_the_model", KIT_COLLAPSED, a_random_life_agrees_with_the_model, false},
};
const size_t n_kit_cases = sizeof kit_cases / sizeof kit_cases[0];
