/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_progress_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES_MAX = 16 * 1024 * 1024 }; /* encoded texts of one partition-bucket */

void pml_progress_result__clear(pml_progress_result *r)
{
    pml_progress__clear(&r->next);
    *r = (pml_progress_result){0};
}

static int fail(pml_error *err, int code, const pml_progress_build *b, const pml_pb_texts *pb, const char *format, ...)
    PML_PRINTF(5, 6);

static int fail(pml_error *err, int code, const pml_progress_build *b, const pml_pb_texts *pb, const char *format, ...)
{
    char name[PML_PB_NAME_BYTES], message[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    pml_pb_texts__name(name, b->keys, pb);
    return pml_error__at(err, code, PML_PLACE_PB, name, "%s: %s", name, message);
}

/* ---- step 1: resets ---- */

static bool matches(const pml_progress_match *m, const pml_pb_texts *pb)
{
    bool yes = m->bucket < 0 || m->bucket == pb->bucket;
    for (size_t i = 0; yes && m->partition != NULL && i < pb->n; i++)
        yes = m->partition[i] == NULL || strcmp(m->partition[i], pb->partition[i]) == 0;
    return yes;
}

static bool is_reset(const pml_progress_build *b, const pml_pb_texts *pb)
{
    bool yes = false;
    for (size_t i = 0; i < b->n_resets && !yes; i++)
        yes = matches(&b->resets[i], pb);
    return yes;
}

/* It must not vanish: nobody could tell "never committed", where memory is alive, from "truncated", where it is dead. */
static int add_mark(pml_progress *next, pml_env *env, const pml_progress_build *b, const pml_progress_entry *from, pml_error *err)
{
    pml_progress_entry mark = {.pb = from->pb, .reset = {true, b->snapshot_id}};
    if ((b->flags & PML_PROGRESS_FORGET_RESET) != 0)
        return PML_OK;
    PML_RETURN_IF(pml_lineage__draw(&mark.lineage, env, err));
    return pml_progress__add_copy(next, &mark, err);
}

/* No snapshot is left in which the entry was seen before its reset. Re-anchoring adds no entry, so it drops none: a file without
   entries is not written, and then nothing would anchor the rest. A lost one stays (I22). */
static bool is_old_mark(const pml_progress_build *b, const pml_progress_entry *e)
{
    return (b->flags & PML_PROGRESS_REANCHOR) == 0 && e->reset.present && e->end == 0 && !e->lost && b->earliest_id > 0 &&
           e->reset.v < b->earliest_id;
}

/* Steps 1, 3 and 6: what becomes of the entries that are there. */
static int carry_entries(pml_progress *next, pml_env *env, const pml_progress_build *b, const bool *ranged, pml_error *err)
{
    const pml_progress *p = &b->base->progress;
    for (size_t i = 0; i < p->n; i++) {
        const pml_progress_entry *e = &p->v[i];
        if (is_reset(b, &e->pb)) {
            PML_RETURN_IF(add_mark(next, env, b, e, err));
        } else if (ranged[i] || !is_old_mark(b, e)) {
            PML_RETURN_IF(pml_progress__add_copy(next, e, err));
            if (!ranged[i] && (b->flags & PML_PROGRESS_FORGET_LOST) != 0)
                next->v[next->n - 1].lost = false;
        }
    }
    return PML_OK;
}

/* ---- step 2: ranges ---- */

static int check_range(const pml_progress_build *b, const pml_progress_range *r, const pml_progress_entry *e, pml_error *err)
{
    char ours[PML_LINEAGE_TEXT], theirs[PML_LINEAGE_TEXT];
    const int64_t end = e == NULL ? 0 : e->end;
    if (r->begin < 0 || r->begin >= r->end)
        return fail(err, PML_E_INVAL, b, &r->pb, "[%" PRId64 ", %" PRId64 ") is no range of offsets", r->begin, r->end);
    if ((b->base != NULL && b->base->progress.all_lost) || (e != NULL && e->lost))
        return fail(err, PML_E_PROGRESS_LOST, b, &r->pb,
                    "its progress is lost (last known end %" PRId64 "): another writer overwrote rows or the snapshot that "
                    "recorded it has expired; state it anew (pml offsets repair), or set realtime.foreign-overwrite", end);
    if (e != NULL && pml_lineage__conflicts(&e->lineage, &r->lineage) && (b->flags & PML_PROGRESS_FORGET_LINEAGE) == 0) {
        pml_lineage__print(ours, &r->lineage);
        pml_lineage__print(theirs, &e->lineage);
        return fail(err, PML_E_CONFLICT, b, &r->pb,
                    "it was reset since [%" PRId64 ", %" PRId64 ") was prepared (lineage %s, now %s); recreate the context", r->begin,
                    r->end, ours, theirs);
    }
    if (r->begin != end)
        return fail(err, PML_E_CONFLICT, b, &r->pb,
                    "the range begins at %" PRId64 ", but the committed end is %" PRId64 ": %s", r->begin, end,
                    r->begin > end ? "an earlier prepare is missing" : "part of it is committed already");
    return PML_OK;
}

/* The number of rows of a lineage is known only if it was counted from the start. */
static void add_rows(pml_progress_entry *e, int64_t rows, bool fresh)
{
    e->rows.present = (fresh || e->rows.present) && !__builtin_add_overflow(fresh ? 0 : e->rows.v, rows, &e->rows.v);
}

static int move_entry(pml_progress_entry *e, pml_progress *next, const pml_progress_build *b, const pml_progress_range *r,
                      pml_error *err)
{
    add_rows(e, r->rows, r->begin == 0);
    if (r->lineage.known)
        e->lineage = r->lineage;
    if (r->sequence.present && (!e->sequence.present || e->sequence.v < r->sequence.v))
        e->sequence = r->sequence;
    e->end = r->end;
    e->reset = (pml_optional_int64){0};
    e->commit_identifier = (pml_optional_int64){true, b->commit_identifier};
    e->commit_user = pml_arena__strdup(&next->arena, b->commit_user);
    return e->commit_user == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* Which entries of the base have a range, and that no partition-bucket has two. */
static int match_ranges(bool *ranged, pml_env *env, const pml_progress_build *b, pml_error *err)
{
    pml_map seen;
    pml_buf key;
    int rc = PML_OK;
    pml_map__init(&seen, env);
    pml_buf__init(&key, env, KEY_BYTES_MAX);
    for (size_t i = 0; i < b->n_ranges; i++) {
        const pml_progress_range *r = &b->ranges[i];
        const pml_progress_entry *e = b->base == NULL ? NULL : pml_progress__find(&b->base->progress, &r->pb);
        if (e != NULL)
            ranged[e - b->base->progress.v] = true;
        pml_buf__reset(&key);
        (void)pml_pb_texts__encode(&key, &r->pb);
        PML_TRY(pml_buf__check(&key, err));
        rc = pml_map__has(&seen, key.data, key.len)
                 ? fail(err, PML_E_INVAL, b, &r->pb, "two ranges of one partition-bucket in one commit")
                 : pml_map__put(&seen, key.data, key.len, &seen, NULL);
        if (rc == PML_E_NOMEM)
            (void)pml_error__no_memory(err);
        PML_TRY(rc);
    }
out:
    pml_buf__clear(&key);
    pml_map__clear(&seen, NULL);
    return rc;
}

static int apply_ranges(pml_progress *next, const pml_progress_build *b, pml_error *err)
{
    for (size_t i = 0; i < b->n_ranges; i++) {
        const pml_progress_range *r = &b->ranges[i];
        pml_progress_entry *e = pml_progress__find(next, &r->pb);
        PML_RETURN_IF(check_range(b, r, e, err));
        if (e == NULL)
            PML_RETURN_IF(pml_progress__add(&e, next, &r->pb, err));
        PML_RETURN_IF(move_entry(e, next, b, r, err));
    }
    return PML_OK;
}

/* ---- statements ---- */

static int apply_statement(pml_progress *next, pml_env *env, const pml_progress_build *b, const pml_progress_statement *s, pml_error *err)
{
    pml_progress_entry *e = pml_progress__find(next, &s->pb);
    if (s->end < 0)
        return fail(err, PML_E_INVAL, b, &s->pb, "%" PRId64 " is no end of offsets", s->end);
    if (e != NULL && e->end == s->end) {
        e->lost = false;
        return PML_OK;
    }
    if (e == NULL)
        PML_RETURN_IF(pml_progress__add(&e, next, &s->pb, err));
    const pml_optional_int64 none = {0}, mark = {s->end == 0, s->end == 0 ? b->snapshot_id : 0};
    e->end = s->end;
    e->lost = false;
    e->commit_user = NULL;
    e->commit_identifier = e->rows = none;
    e->reset = mark;
    return pml_lineage__draw(&e->lineage, env, err);
}

/* ---- the whole ---- */

static bool resets_anything(const pml_progress_build *b)
{
    bool yes = false;
    for (size_t i = 0; b->base != NULL && i < b->base->progress.n && !yes; i++)
        yes = is_reset(b, &b->base->progress.v[i].pb);
    return yes;
}

/* Steps 4 and re-anchoring: the same file again, if one says exactly this. True: decided. */
static bool unchanged(pml_progress_result *out, const pml_progress_build *b)
{
    bool reanchor = (b->flags & PML_PROGRESS_REANCHOR) != 0;
    if (b->n_ranges > 0 || b->n_stated > 0 || (b->flags & PML_PROGRESS_COMPLETE) != 0 || resets_anything(b))
        return false;
    out->carried = b->base == NULL ? NULL : reanchor ? b->base->anchor : b->base->property;
    out->action = out->carried == NULL ? PML_PROGRESS_NONE : PML_PROGRESS_CARRY;
    return out->carried != NULL || !reanchor;
}

int pml_progress__build(pml_progress_result *out, pml_env *env, const pml_progress_build *b, pml_error *err)
{
    bool *ranged = NULL; /* entry i of the base has a range */
    int rc;
    *out = (pml_progress_result){0};
    if (unchanged(out, b))
        return PML_OK;
    PML_TRY(pml_progress__init(&out->next, env, b->n_keys, b->keys, err));
    ranged = pml_env__calloc(env, b->base == NULL ? 1 : b->base->progress.n + 1, sizeof *ranged);
    if (ranged == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(match_ranges(ranged, env, b, err));
    if (b->base != NULL)
        PML_TRY(carry_entries(&out->next, env, b, ranged, err));
    PML_TRY(apply_ranges(&out->next, b, err));
    for (size_t i = 0; i < b->n_stated; i++)
        PML_TRY(apply_statement(&out->next, env, b, &b->stated[i], err));
    /* Also when all offsets are 0: an overwrite without the property would look like somebody else's. */
    out->action = out->next.n > 0 || (b->flags & PML_PROGRESS_COMPLETE) != 0 ? PML_PROGRESS_WRITE : PML_PROGRESS_NONE;
out:
    pml_env__free(env, ranged);
    if (rc != PML_OK || out->action != PML_PROGRESS_WRITE)
        pml_progress_result__clear(out);
    return rc;
}
