/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_effective_walk.h"

#include <string.h>
#include <xxhash.h>

enum { TEXTS_BYTES_MAX = 16 * 1024 * 1024 }; /* encoded texts of one partition */

/* What happened to a partition on the way to the anchor. Emptied wins over unclear: whatever stood there is gone. */
typedef struct fate {
    bool emptied, unclear;
    pml_snapshot by; /* the emptying snapshot: id, user, identifier, time only */
} fate;

typedef struct walk {
    pml_effective *e;
    const pml_effective_source *source;
    const pml_effective_options *o;
    pml_arena arena; /* of the fates */
    pml_map fates;   /* encoded partition texts -> fate */
} walk;

/* ---- what one OVERWRITE did ---- */

/* A partition that the snapshot touched. Rows with equal texts share directory and progress, so they share this. */
typedef struct part {
    int64_t added, deleted;
    bool live; /* files are left in the snapshot */
} part;

typedef struct look {
    walk *w;
    const pml_snapshot *s;
    pml_arena *arena;    /* of this step */
    pml_map rows, parts; /* partition row bytes, encoded texts -> part */
    int rc;              /* callbacks cannot return it */
    pml_error *err;
} look;

static int encode_partition(pml_buf *key, pml_env *env, const pml_pb_texts *texts, pml_error *err)
{
    pml_buf__init(key, env, TEXTS_BYTES_MAX);
    (void)pml_pb_texts__encode_partition(key, texts);
    return pml_buf__check(key, err);
}

static int part_make(part **out, look *l, pml_bytes row)
{
    pml_pb_texts texts;
    pml_buf key;
    int rc;
    PML_RETURN_IF(l->w->source->partition_texts(l->w->source->arg, &texts, l->arena, row, l->err));
    PML_TRY(encode_partition(&key, l->arena->env, &texts, l->err));
    *out = pml_map__get(&l->parts, key.data, key.len);
    if (*out == NULL) {
        *out = pml_arena__alloc(l->arena, sizeof **out);
        if (*out == NULL || pml_map__put(&l->parts, key.data, key.len, *out, NULL) != PML_OK)
            rc = pml_error__no_memory(l->err);
    }
    if (rc == PML_OK && pml_map__put(&l->rows, row.ptr, row.len, *out, NULL) != PML_OK)
        rc = pml_error__no_memory(l->err);
out:
    pml_buf__clear(&key);
    return rc;
}

/* NULL after a failure, which l->rc keeps. */
static part *part_of(look *l, pml_bytes row)
{
    part *p = l->rc != PML_OK ? NULL : pml_map__get(&l->rows, row.ptr, row.len);
    if (p == NULL && l->rc == PML_OK)
        l->rc = part_make(&p, l, row);
    return l->rc == PML_OK ? p : NULL;
}

static bool count_entry(void *ctx, const pml_manifest_entry *entry)
{
    part *p = part_of(ctx, entry->partition);
    if (p != NULL && entry->kind == PML_ENTRY_ADD)
        p->added++;
    else if (p != NULL)
        p->deleted++;
    return false;
}

static bool only_lost_files(const part *p)
{
    return p->deleted > 0 && p->added == 0;
}

static bool keep_of_candidates(void *ctx, const pml_manifest_entry *entry)
{
    const part *p = part_of(ctx, entry->partition);
    return p != NULL && only_lost_files(p);
}

/* Live files before the snapshot are those of its base list, so "all were deleted" is "none is left". */
static int find_live(look *l)
{
    const pml_map_entry *m;
    pml_manifest_entries files = {0};
    bool any = false;
    for (size_t i = 0; (m = pml_map__next(&l->parts, &i)) != NULL;)
        any = any || only_lost_files(m->value);
    if (!any)
        return PML_OK;
    PML_RETURN_IF(l->w->source->live_files(l->w->source->arg, &files, l->arena, l->s, keep_of_candidates, l, l->err));
    for (size_t i = 0; i < files.n && l->rc == PML_OK; i++) {
        part *p = part_of(l, files.v[i].partition);
        if (p != NULL)
            p->live = true;
    }
    return l->rc;
}

static int fate_of(fate **out, walk *w, const void *key, size_t len, pml_error *err)
{
    *out = pml_map__get(&w->fates, key, len);
    if (*out != NULL)
        return PML_OK;
    *out = pml_arena__alloc(&w->arena, sizeof **out);
    if (*out == NULL || pml_map__put(&w->fates, key, len, *out, NULL) != PML_OK)
        return pml_error__no_memory(err);
    return PML_OK;
}

static int note_fate(look *l, const pml_map_entry *m)
{
    const part *p = m->value;
    walk *w = l->w;
    fate *f;
    if (p->deleted == 0)
        return PML_OK;
    PML_RETURN_IF(fate_of(&f, w, m->key, m->key_len, l->err));
    if (f->emptied)
        return PML_OK;
    if ((p->added > 0 || p->live) && w->o->policy != PML_RT_FOREIGN_RESET) {
        f->unclear = true;
        return PML_OK;
    }
    f->emptied = true;
    f->by = (pml_snapshot){.id = l->s->id, .commit_identifier = l->s->commit_identifier, .time_ms = l->s->time_ms};
    f->by.commit_user = pml_arena__strdup(&w->arena, l->s->commit_user);
    return f->by.commit_user == NULL ? pml_error__no_memory(l->err) : PML_OK;
}

/* Whether the snapshot may have ended the history of partitions without saying so. */
static bool needs_look(const walk *w, const pml_snapshot *s)
{
    static const char *const row_level[] = {"DELETE", "UPDATE", "MERGE"};
    bool look_at_it = s->commit_kind == PML_COMMIT_OVERWRITE && w->o->policy != PML_RT_FOREIGN_INHERIT;
    for (size_t i = 0; look_at_it && s->operation != NULL && i < sizeof row_level / sizeof row_level[0]; i++)
        look_at_it = strcmp(s->operation, row_level[i]) != 0;
    return look_at_it;
}

static int look_at(walk *w, const pml_snapshot *s, pml_arena *arena, pml_error *err)
{
    const pml_map_entry *m;
    look l = {.w = w, .s = s, .arena = arena, .err = err};
    int rc;
    pml_map__init(&l.rows, arena->env);
    pml_map__init(&l.parts, arena->env);
    PML_TRY(w->source->visit_delta(w->source->arg, s, count_entry, &l, err));
    PML_TRY(l.rc);
    PML_TRY(find_live(&l));
    PML_TRY(l.rc);
    for (size_t i = 0; rc == PML_OK && (m = pml_map__next(&l.parts, &i)) != NULL;)
        rc = note_fate(&l, m);
out:
    pml_map__clear(&l.rows, NULL);
    pml_map__clear(&l.parts, NULL);
    return rc;
}

/* ---- the anchor ---- */

int pml_lineage__derive(pml_lineage *out, pml_env *env, const pml_lineage *old, const pml_snapshot *s, pml_error *err)
{
    XXH128_canonical_t canonical;
    uint8_t number[8];
    pml_buf bytes;
    const size_t user = strlen(s->commit_user);
    pml_buf__init(&bytes, env, PML_SNAPSHOT_FILE_MAX + 64);
    *out = (pml_lineage){0};
    (void)pml_buf__append_byte(&bytes, old->known);
    (void)pml_buf__append(&bytes, old->bytes, old->known ? PML_LINEAGE_BYTES : 0);
    pml_put_le64(number, (uint64_t)s->id);
    (void)pml_buf__append(&bytes, number, 8);
    pml_put_le32(number, (uint32_t)user);
    (void)pml_buf__append(&bytes, number, 4);
    (void)pml_buf__append(&bytes, s->commit_user, user);
    pml_put_le64(number, (uint64_t)s->commit_identifier);
    (void)pml_buf__append(&bytes, number, 8);
    pml_put_le64(number, (uint64_t)s->time_ms);
    (void)pml_buf__append(&bytes, number, 8);
    int rc = pml_buf__check(&bytes, err);
    if (rc == PML_OK) {
        XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data, bytes.len));
        memcpy(out->bytes, canonical.digest, PML_LINEAGE_BYTES);
        out->known = true;
    }
    pml_buf__clear(&bytes);
    return rc;
}

static int apply_fate(bool *changed, pml_progress_entry *e, const walk *w, pml_error *err)
{
    pml_buf key;
    int rc;
    PML_TRY(encode_partition(&key, w->arena.env, &e->pb, err));
    const fate *f = pml_map__get(&w->fates, key.data, key.len);
    if (f == NULL)
        goto out;
    *changed = true;
    if (f->emptied) {
        pml_progress_entry mark = {.pb = e->pb, .reset = {true, f->by.id}};
        PML_TRY(pml_lineage__derive(&mark.lineage, w->arena.env, &e->lineage, &f->by, err));
        *e = mark;
    } else {
        e->lost = true;
    }
out:
    pml_buf__clear(&key);
    return rc;
}

/* A progress file that is gone together with its snapshot went by expiry; alone, or from under a tag, somebody took it away. */
static int judge_missing(pml_effective_outcome *outcome, walk *w, const pml_snapshot *s, pml_arena *arena, pml_error *err)
{
    pml_snapshot again;
    pml_error unused = PML_ERROR_INIT;
    int rc = w->source->load_snapshot(w->source->arg, &again, arena, s->id, &unused);
    const bool by_tag = w->e->tagged && s->id == w->e->snapshot_id;
    *outcome = PML_EFFECTIVE_GONE;
    if (rc == PML_E_NOT_FOUND && !by_tag)
        return PML_OK;
    if (rc == PML_OK && w->o->missing_is_lost) {
        *outcome = PML_EFFECTIVE_DONE;
        w->e->progress.all_lost = true;
        return PML_OK;
    }
    const char *value = pml_snapshot__property(s, PML_PROGRESS_PROPERTY);
    return pml_error__at(err, PML_E_IO, PML_PLACE_PROGRESS, value,
                         "snapshot %lld names the progress file %.200s, which is missing; bring it back%s", (long long)s->id, value,
                         w->e->tagged ? "" : ", or state the end of every partition-bucket that has files (pml_rt_progress_repair, "
                                             "pml offsets repair), or truncate the table");
}

static int adopt(pml_effective_outcome *outcome, walk *w, const pml_snapshot *s, pml_arena *arena, pml_error *err)
{
    const char *value = pml_snapshot__property(s, PML_PROGRESS_PROPERTY);
    pml_progress *p = &w->e->progress;
    bool changed = false;
    int rc = w->source->read_progress(w->source->arg, p, value, err);
    if (rc == PML_E_NOT_FOUND)
        return judge_missing(outcome, w, s, arena, err);
    for (size_t i = 0; rc == PML_OK && i < p->n && w->fates.live > 0; i++)
        rc = apply_fate(&changed, &p->v[i], w, err);
    if (rc != PML_OK || changed)
        return rc;
    w->e->anchor = pml_arena__strdup(&w->e->arena, value);
    return w->e->anchor == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* ---- the walk ---- */

/* One snapshot. *end: the walk is over and *outcome says how. */
static int step(bool *end, pml_effective_outcome *outcome, walk *w, const pml_snapshot *s, pml_arena *arena, pml_error *err)
{
    *end = true;
    *outcome = PML_EFFECTIVE_DONE;
    if (pml_snapshot__property(s, PML_PROGRESS_PROPERTY) != NULL)
        return adopt(outcome, w, s, arena, err);
    if (needs_look(w, s)) {
        int rc = look_at(w, s, arena, err);
        if (rc == PML_E_SNAPSHOT_GONE || rc == PML_E_NOT_FOUND) {
            *outcome = PML_EFFECTIVE_GONE;
            return PML_OK;
        }
        if (rc != PML_OK)
            return rc;
    }
    *end = s->id <= 1; /* nothing was ever committed */
    return PML_OK;
}

/* Two arenas in turn: a step needs its own snapshot only, and a hostile one may be large. */
static int run(pml_effective_outcome *outcome, walk *w, pml_error *err)
{
    pml_arena arenas[2];
    pml_snapshot s = w->e->snapshot;
    bool end = false;
    int rc = PML_OK;
    pml_arena__init(&arenas[0], w->e->env);
    pml_arena__init(&arenas[1], w->e->env);
    for (int64_t n = 0; !end; n++) {
        pml_arena *here = &arenas[n % 2], *next = &arenas[(n + 1) % 2];
        PML_TRY(step(&end, outcome, w, &s, here, err));
        if (end)
            break;
        pml_arena__clear(next);
        rc = w->source->load_snapshot(w->source->arg, &s, next, s.id - 1, err);
        if (rc == PML_E_NOT_FOUND) {
            *outcome = PML_EFFECTIVE_GONE;
            rc = PML_OK;
            break;
        }
        PML_TRY(rc);
        w->e->progress.all_lost = end = n + 1 > w->o->max_walk;
    }
out:
    pml_arena__clear(&arenas[0]);
    pml_arena__clear(&arenas[1]);
    return rc;
}

int pml_effective__walk(pml_effective_outcome *outcome, pml_effective *e, const pml_effective_source *source,
                        const pml_effective_options *o, pml_error *err)
{
    walk w = {.e = e, .source = source, .o = o};
    *outcome = PML_EFFECTIVE_DONE;
    e->property = pml_snapshot__property(&e->snapshot, PML_PROGRESS_PROPERTY);
    pml_arena__init(&w.arena, e->env);
    pml_map__init(&w.fates, e->env);
    int rc = run(outcome, &w, err);
    pml_map__clear(&w.fates, NULL);
    pml_arena__clear(&w.arena);
    return rc;
}
