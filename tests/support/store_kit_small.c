/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kit for many small writes, and for queries with a predicate: what a store may copy, join and leave out. */
#include <stdlib.h>

#include "support/random_batch.h"
#include "support/random_pred.h"
#include "support/store_kit.h"

enum { HELD = 30, PRUNE_ROUNDS = 30, PRUNE_QUERIES = 4 };

/* 28b: one-row writes between large batches; a view is taken at every length and looked at when much has happened since. */
bool kit_case_open_chunk(kit *k)
{
    bool ok = true;
    for (int round = 0; round < 5 && ok; round++) {
        for (int i = 0; i < HELD && ok; i++)
            ok = kit_write(k, 1, true, 0) && kit_view_acquire(k, i);
        for (int i = 0; i < 150 && ok; i++) /* through the room of a chunk, and into another one */
            ok = kit_write(k, 1 + i % 2, true, round == 1 ? 1 : 0);
        ok = ok && kit_write(k, 200, round % 2 == 0, 0) && kit_write(k, 1, true, 0);
        for (int i = 0; i < HELD && ok; i++) {
            ok = kit_view_check(k, &k->views[i]);
            kit_view_release(k, i);
        }
        ok = ok && (round != 3 || kit_seal(k, 0));
    }
    for (int i = 0; i < 300 && ok; i++) /* dense and explicit in turn: joins have to make offsets */
        ok = kit_write(k, 1, i % 5 != 0, i % 3);
    ok = ok && kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]) && kit_seal(k, 1);
    return ok && kit_segment_check(k, k->segments[0]) && kit_segment_check(k, k->segments[1]) &&
           kit_view_check(k, &k->views[0]);
}

/* 28b: every type; nested rows outgrow what a chunk has room for. */
bool kit_case_every_type(kit *k)
{
    bool ok = true;
    for (int i = 0; i < 120 && ok; i++)
        ok = kit_write(k, 1 + (int64_t)(test_random(k->t) % 3), test_random(k->t) % 8 != 0, 0) &&
             (i % 40 != 7 || kit_view_acquire(k, i / 40));
    for (int i = 0; i < 3 && ok; i++)
        ok = kit_view_check(k, &k->views[i]);
    return ok && kit_seal(k, 0) && kit_segment_check(k, k->segments[0]);
}

/* 28: to the end of the file. Marks the offsets that a query with the predicate gives. */
static bool drain_offsets(kit *k, const pml_pred *predicate, uint8_t *seen, int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema schema;
    pml_rt_streams *s = &k->streams[0];
    pml_rt_query q = {.struct_size = sizeof q, .read_schema = &schema, .predicate = predicate, .limit = -1};
    must_ok(pml_type__export(&schema, k->t->env, k->layout->fields, 1, &err), &err);
    *s = (pml_rt_streams){.struct_size = sizeof *s};
    int rc = k->views[0].vt->query_streams(k->views[0].view, s, &q, &err);
    pml_schema__release(&schema);
    bool ok = kit_rc(k, rc, &err, "query_streams");
    for (size_t i = 0; i < s->n && ok; i++)
        for (bool more = true; more && ok;) {
            struct ArrowArray a = {0};
            ok = kit_ok(k, s->v[i].get_next(&s->v[i], &a) == 0, "get_next failed");
            more = a.release != NULL;
            if (more && (a.n_children != 1 || a.children[0]->n_buffers != 2 || a.children[0]->length < a.offset + a.length))
                ok = kit_ok(k, false, "an array is not the offset column that was asked for");
            for (int64_t r = 0; more && ok && r < a.length; r++) {
                int64_t o = ((const int64_t *)a.children[0]->buffers[1])[a.children[0]->offset + a.offset + r];
                ok = kit_ok(k, o >= 0 && o < n && seen[o]++ == 0, "offset %lld came twice, or is foreign", (long long)o);
            }
            pml_array__release(&a);
        }
    kit_streams_release(k, 0);
    return ok;
}

static bool no_row_is_lost(kit *k, const pml_pred *predicate, const uint8_t *seen)
{
    bool ok = true;
    for (size_t b = 0; b < k->n_batches && ok; b++) {
        const kit_rows *rows = &k->batches[b];
        uint8_t *keep = calloc((size_t)rows->rows, 1);
        assert_non_null(keep);
        must_ok(pml_pred__eval(keep, predicate, k->t->env, &rows->columns, k->columns, k->n_columns, NULL), NULL);
        for (int64_t r = 0; r < rows->rows && ok; r++)
            ok = kit_ok(k, !keep[r] || seen[rows->offsets[r]], "pruning lost the row with offset %lld, which matches",
                        (long long)rows->offsets[r]);
        free(keep);
    }
    return ok;
}

static bool prune_once(kit *k)
{
    bool ok = kit_view_acquire(k, 0);
    for (int i = 0; i < PRUNE_QUERIES && ok; i++) {
        pml_arena arena;
        pml_arena__init(&arena, k->t->env);
        uint8_t *seen = calloc((size_t)k->next + 1, 1);
        assert_non_null(seen);
        const pml_pred *p = random_pred(k->t, &arena, k->columns, k->n_columns, i);
        ok = drain_offsets(k, p, seen, k->next) && no_row_is_lost(k, p, seen);
        free(seen);
        pml_arena__clear(&arena);
    }
    kit_view_release(k, 0);
    return ok;
}

bool kit_case_pruning(kit *k)
{
    bool ok = true;
    for (int round = 0; round < PRUNE_ROUNDS && ok; round++)
        ok = kit_write(k, round % 3 == 0 ? 64 + (int64_t)(test_random(k->t) % 30) : 1 + round % 4, round % 4 != 0, 0) &&
             (round % 11 != 10 || kit_seal(k, round)) && prune_once(k);
    return ok;
}
