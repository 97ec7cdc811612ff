/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_sequences.h"

#include <string.h>

#include "meta/partition.h"
#include "realtime/rt_context.h"
#include "util/number.h"

enum { OVERTAKEN_MAX = 100 /* each time somebody else got on */ };

/* ---- bounds ---- */

static void bounds_init(rt_sequence_bounds *b, pml_env *env)
{
    pml_arena__init(&b->arena, env);
    pml_map__init(&b->last, env);
}

static void bounds_clear(rt_sequence_bounds *b)
{
    pml_map__clear(&b->last, NULL);
    pml_arena__clear(&b->arena);
}

static int bounds_raise(rt_sequence_bounds *b, const void *key, size_t len, int64_t last)
{
    int64_t *at = pml_map__get(&b->last, key, len);
    if (at == NULL) {
        at = pml_arena__alloc(&b->arena, sizeof *at);
        if (at == NULL || pml_map__put(&b->last, key, len, at, NULL) != PML_OK)
            return PML_E_NOMEM;
        *at = -1;
    }
    if (last > *at)
        *at = last;
    return PML_OK;
}

static int key_of(pml_buf *key, const rt_pb *pb)
{
    pml_buf__reset(key);
    return pml_partition__bucket_key(key, pb->key.partition, pb->key.bucket);
}

void pml_rt_sequences__init(rt_sequences *q, pml_env *env)
{
    pml_mutex__init(&q->mu, "ctx.sequences", 0);
    q->upto = RT_NO_POINT;
    bounds_init(&q->bounds, env);
}

void pml_rt_sequences__clear(rt_sequences *q)
{
    bounds_clear(&q->bounds);
    pml_mutex__destroy(&q->mu);
}

int pml_rt_sequences__bound(int64_t *out, const rt_pb *pb, pml_error *err)
{
    rt_sequences *q = &pb->ctx->sequences;
    pml_buf key;
    *out = -1;
    pml_buf__init(&key, pb->ctx->env, SIZE_MAX / 2);
    int rc = key_of(&key, pb);
    if (rc == PML_OK) {
        pml_mutex__lock(&q->mu);
        const int64_t *last = pml_map__get(&q->bounds.last, key.data, key.len);
        *out = last == NULL ? -1 : *last;
        pml_mutex__unlock(&q->mu);
    }
    pml_buf__clear(&key);
    return rc == PML_OK ? PML_OK : pml_error__no_memory(err);
}

/* ---- reading snapshots ---- */

typedef struct gathering {
    rt_sequence_bounds *bounds;
    pml_buf key;
    int rc; /* the callback cannot return it */
} gathering;

static bool gather(void *arg, const pml_manifest_entry *e)
{
    gathering *g = arg;
    if (e->kind != PML_ENTRY_ADD || g->rc != PML_OK)
        return false;
    pml_buf__reset(&g->key);
    g->rc = pml_partition__bucket_key(&g->key, e->partition, e->bucket);
    if (g->rc == PML_OK)
        g->rc = bounds_raise(g->bounds, g->key.data, g->key.len, e->file.max_sequence);
    return false;
}

static int gather_list(rt_sequence_bounds *b, pml_table *t, const char *list, pml_error *err)
{
    gathering g = {.bounds = b};
    const pml_live_files_request request = {NULL, gather, &g};
    pml_manifest_entries none = {0};
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    pml_buf__init(&g.key, t->env, SIZE_MAX / 2);
    int rc = pml_table__list_entries(&none, &arena, t, list, &request, err);
    if (rc == PML_OK && g.rc != PML_OK)
        rc = pml_error__no_memory(err);
    pml_buf__clear(&g.key);
    pml_arena__clear(&arena);
    return rc;
}

/* What one of the snapshots that were not looked at has added. */
typedef struct unseen {
    rt_sequence_bounds *bounds;
    pml_table *table;
} unseen;

static int gather_delta(bool *whole, void *arg, const pml_snapshot *s, pml_error *err)
{
    const unseen *u = arg;
    (void)whole; /* what snapshots of every kind add is in their deltas */
    return gather_list(u->bounds, u->table, s->delta_manifest_list, err);
}

/* Whether what was looked at is in the history that s ends. A snapshot that expired proves nothing. */
static int follows(bool *yes, const rt_point *upto, pml_table *t, pml_error *err)
{
    pml_arena arena;
    pml_snapshot then;
    *yes = upto->id == 0;
    if (upto->id < 1)
        return PML_OK;
    pml_arena__init(&arena, t->env);
    int rc = pml_table__load_snapshot(&then, &arena, t, upto->id, err);
    if (rc == PML_OK) {
        const rt_point now = pml_rt_point__of(&then);
        *yes = pml_rt_point__equal(&now, upto);
    }
    pml_arena__clear(&arena);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc;
}

/* The new bounds, if nobody was faster. */
static int adopt(bool *again, rt_sequences *q, const rt_point *seen, const rt_point *now, rt_sequence_bounds *fresh, bool by_deltas)
{
    const pml_map_entry *e;
    int rc = PML_OK;
    pml_mutex__lock(&q->mu);
    *again = !pml_rt_point__equal(&q->upto, seen);
    if (!*again && !by_deltas) {
        const rt_sequence_bounds old = q->bounds;
        q->bounds = *fresh;
        *fresh = old;
    }
    for (size_t i = 0; !*again && by_deltas && rc == PML_OK && (e = pml_map__next(&fresh->last, &i)) != NULL;)
        rc = bounds_raise(&q->bounds, e->key, e->key_len, *(const int64_t *)e->value);
    if (!*again && rc == PML_OK)
        q->upto = *now;
    pml_mutex__unlock(&q->mu);
    return rc;
}

static int look(bool *again, pml_rt_context *c, const pml_snapshot *s, pml_error *err)
{
    rt_sequences *q = &c->sequences;
    rt_sequence_bounds fresh;
    const rt_point now = pml_rt_point__of(s);
    unseen u = {&fresh, c->table};
    bool known, by_deltas = false;
    int rc = PML_OK;
    *again = false;
    pml_mutex__lock(&q->mu);
    const rt_point seen = q->upto;
    pml_mutex__unlock(&q->mu);
    if (pml_rt_point__equal(&now, &seen))
        return PML_OK;
    PML_RETURN_IF(follows(&known, &seen, c->table, err));
    if (known && s->id < seen.id)
        return PML_OK; /* the bounds hold for it, too */
    bounds_init(&fresh, c->env);
    if (known)
        PML_TRY(pml_table__walk_deltas(&by_deltas, c->table, seen.id, s, gather_delta, &u, err));
    if (!by_deltas) {
        bounds_clear(&fresh); /* deltas of another history, perhaps */
        bounds_init(&fresh, c->env);
        PML_TRY(gather_list(&fresh, c->table, s->base_manifest_list, err));
        PML_TRY(gather_list(&fresh, c->table, s->delta_manifest_list, err));
    }
    if (adopt(again, q, &seen, &now, &fresh, by_deltas) != PML_OK)
        rc = pml_error__no_memory(err);
out:
    bounds_clear(&fresh);
    return rc;
}

int pml_rt_sequences__look(pml_rt_context *c, const pml_snapshot *s, pml_error *err)
{
    rt_sequences *q = &c->sequences;
    bool again = s != NULL;
    if (s == NULL) {
        pml_mutex__lock(&q->mu);
        q->upto.id = q->upto.id < 0 ? 0 : q->upto.id;
        pml_mutex__unlock(&q->mu);
    }
    for (int i = 0; again && i < OVERTAKEN_MAX; i++)
        PML_RETURN_IF(look(&again, c, s, err));
    return again ? pml_error__set(err, PML_E_BUSY, "others looked at newer snapshots first %d times; call again", OVERTAKEN_MAX) : PML_OK;
}

void pml_rt_sequences__published(pml_rt_context *c, const rt_point *base, const pml_snapshot *s)
{
    rt_sequences *q = &c->sequences;
    pml_mutex__lock(&q->mu);
    if (pml_rt_point__equal(base, &q->upto))
        q->upto = pml_rt_point__of(s);
    pml_mutex__unlock(&q->mu);
}

/* ---- the live files of one PB ---- */

static bool keep_of_pb(void *arg, const pml_manifest_entry *e)
{
    const rt_pb *pb = arg;
    return e->bucket == pb->key.bucket && e->partition.len == pb->key.partition.len &&
           memcmp(e->partition.ptr, pb->key.partition.ptr, e->partition.len) == 0;
}

/* M in this snapshot; -1: no files. */
static int highest_of_live(int64_t *out, rt_pb *pb, const pml_snapshot *s, pml_error *err)
{
    const pml_live_files_request request = {NULL, keep_of_pb, pb};
    pml_manifest_entries live = {0};
    pml_arena arena;
    *out = -1;
    pml_arena__init(&arena, pb->ctx->env);
    int rc = pml_table__live_files(&live, &arena, pb->ctx->table, s, &request, err);
    for (size_t i = 0; rc == PML_OK && i < live.n; i++)
        if (live.v[i].file.max_sequence > *out)
            *out = live.v[i].file.max_sequence;
    pml_arena__clear(&arena);
    return rc;
}

/* Files are gone: from now on the bound is what is left, unless newer snapshots have been looked at. */
static void lower(rt_pb *pb, const pml_snapshot *s, int64_t highest)
{
    rt_sequences *q = &pb->ctx->sequences;
    const rt_point now = pml_rt_point__of(s);
    pml_buf key;
    pml_buf__init(&key, pb->ctx->env, SIZE_MAX / 2);
    int rc = key_of(&key, pb);
    pml_mutex__lock(&q->mu);
    int64_t *at = rc == PML_OK && pml_rt_point__equal(&now, &q->upto) ? pml_map__get(&q->bounds.last, key.data, key.len) : NULL;
    if (at != NULL)
        *at = highest;
    pml_mutex__unlock(&q->mu);
    pml_buf__clear(&key);
}

/* ---- what follows from it ---- */

/* The bound says that another writer has numbers from lowest on; the live files decide. */
static int decide_by_files(rt_pb *pb, const pml_snapshot *s, int64_t lowest, pml_error *err)
{
    int64_t highest;
    if (s == NULL)
        return PML_OK;
    PML_RETURN_IF(highest_of_live(&highest, pb, s, err));
    if (highest < lowest) {
        lower(pb, s, highest);
        return PML_OK;
    }
    (void)pml_rt_context__poison(pb->ctx, NULL, "a second writer wrote %s", pb->name);
    return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, pb->name,
                         "a second writer wrote %s: in snapshot %lld its sequence numbers reach %lld, and those of the rows in memory begin "
                         "at %lld, so that nobody can tell which row of a key is newer. Make the context and the writer anew and replay "
                         "from the committed end, with one writer of a bucket at a time",
                         pb->name, (long long)s->id, (long long)highest, (long long)lowest);
}

int pml_rt_sequences__check(rt_pb *pb, const pml_snapshot *s, int64_t lowest, pml_error *err)
{
    int64_t highest;
    PML_RETURN_IF(pml_rt_sequences__bound(&highest, pb, err));
    return highest < lowest ? PML_OK : decide_by_files(pb, s, lowest, err);
}

/* The lowest number among rows at or above the committed end, -1: there are none. Both locks are held. */
static int64_t lowest_locked(const rt_pb *pb, int64_t committed)
{
    for (size_t i = 0; i < pb->n_queue; i++) {
        const rt_segment *s = &pb->queue[i];
        if (s->first_sequence >= 0 && s->state != RT_SEGMENT_COMMITTED && s->cover.end > committed)
            return s->first_sequence;
    }
    return (int64_t)atomic_load(&pb->building_sequence);
}

/* Raises the counter where no row is uncommitted. Returns the lowest number of those that are; -1: there were none. */
static int64_t raise_counter(rt_pb *pb, int64_t committed, int64_t highest)
{
    pml_mutex__lock(&pb->prepare_mu);
    pml_mutex__lock(&pb->write_mu);
    const int64_t lowest = lowest_locked(pb, committed);
    if (lowest < 0 && highest >= pb->next_sequence)
        pb->next_sequence = highest == INT64_MAX ? INT64_MAX : highest + 1;
    pml_mutex__unlock(&pb->write_mu);
    pml_mutex__unlock(&pb->prepare_mu);
    return lowest;
}

int pml_rt_sequences__adopt(rt_pb *pb, const pml_snapshot *s, int64_t committed, int64_t highest, pml_error *err)
{
    const int64_t lowest = raise_counter(pb, committed, highest);
    return lowest < 0 || highest < lowest ? PML_OK : decide_by_files(pb, s, lowest, err);
}

/* false: it could not be seen. */
static bool look_at_latest(pml_rt_context *c)
{
    rt_sequences *q = &c->sequences;
    int64_t id;
    pml_arena arena;
    pml_snapshot s;
    if (pml_table__latest_snapshot(&id, c->table, false, NULL) != PML_OK)
        return false;
    pml_mutex__lock(&q->mu);
    const bool seen = id == q->upto.id; /* perhaps by a call that raised no counter, or only that of another bucket */
    pml_mutex__unlock(&q->mu);
    if (seen)
        return true;
    pml_arena__init(&arena, c->env);
    int rc = pml_table__load_snapshot(&s, &arena, c->table, id, NULL);
    if (rc == PML_OK)
        rc = pml_rt_sequences__look(c, &s, NULL);
    pml_arena__clear(&arena);
    return rc == PML_OK;
}

void pml_rt_sequences__catch_up(rt_pb *pb, bool *looked)
{
    int64_t highest;
    /* Most calls end here. Who seals at the same time comes before or after. */
    if (atomic_load_explicit(&pb->building_sequence, memory_order_acquire) >= 0 || raise_counter(pb, -1, -1) >= 0)
        return;
    *looked = *looked || look_at_latest(pb->ctx);
    if (pml_rt_sequences__bound(&highest, pb, NULL) == PML_OK)
        (void)raise_counter(pb, -1, highest);
}

/* What other writers are told to begin above, by those who do not want to list files. */
static int property_of(int64_t *last, const pml_snapshot *s, pml_error *err)
{
    const char *text = pml_snapshot__property(s, RT_SEQUENCE_PROPERTY);
    *last = -1;
    if (text == NULL || pml_number__int64(last, text, strlen(text)))
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SNAPSHOT, NULL, "snapshot %lld has the property %s with '%.100s', which is no number",
                         (long long)s->id, RT_SEQUENCE_PROPERTY, text);
}

int pml_rt_sequences__restore(int64_t *first, const rt_pb *pb, const pml_effective *progress, pml_error *err)
{
    const pml_progress_entry *e = NULL;
    int64_t last = *first - 1, seen;
    const pml_snapshot *s = progress->snapshot_id < 0 ? NULL : &progress->snapshot;
    PML_RETURN_IF(pml_rt_sequences__look(pb->ctx, s, err));
    PML_RETURN_IF(pml_rt_sequences__bound(&seen, pb, err));
    last = seen > last ? seen : last;
    if (s != NULL)
        PML_RETURN_IF(property_of(&seen, s, err));
    last = s != NULL && seen > last ? seen : last;
    (void)pml_progress__state(&progress->progress, &pb->texts, &e);
    if (e != NULL && e->sequence.present && e->sequence.v > last)
        last = e->sequence.v;
    if (last == INT64_MAX)
        return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_PB, pb->name, "the sequence numbers of %s are used up", pb->name);
    *first = last + 1;
    return PML_OK;
}
