/* SPDX-License-Identifier: Apache-2.0 */
#include "table/commit.h"

#include <stdio.h>
#include <string.h>

#include "meta/statistics.h"
#include "storage/file_io.h"

enum {
    OUTCOME_LOOKS = 5,     /* how often an unknown outcome is looked at, */
    OUTCOME_WAIT_MS = 200, /* and the pause between */
    BACKOFF_SHIFT_MAX = 20
};

typedef enum publish_outcome {
    OURS,
    LOST_RACE,     /* the name was taken: nobody has seen what we wrote */
    REPLACED,      /* somebody else's now, ours perhaps for a moment */
    ABSENT,        /* not there, but a request that was given up may still be under way */
    CERTAINLY_NOT, /* nothing was published */
    STILL_UNKNOWN
} publish_outcome;

/* ---- looking back ---- */

int pml_commit__find_user(bool *found, pml_snapshot *s, pml_arena *arena, pml_table *t, int64_t latest,
                          const char *user, pml_error *err)
{
    pml_arena scratch; /* the walk may be long, what it passes is not kept */
    int rc = PML_OK;
    *found = false;
    pml_arena__init(&scratch, t->env);
    for (int64_t id = latest; id >= 1 && !*found; id--) {
        pml_arena__reset(&scratch);
        PML_TRY(pml_table__load_snapshot(s, &scratch, t, id, err));
        if (strcmp(s->commit_user, user) != 0)
            continue;
        PML_TRY(pml_table__load_snapshot(s, arena, t, id, err));
        *found = true;
    }
out:
    pml_arena__clear(&scratch);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc; /* the rest has expired */
}

/* Did an earlier attempt of this call become a snapshot after all? Looks at what is newer than that attempt's base. */
static int find_ours(int64_t *id, pml_commit_files *f, int64_t after, int64_t latest, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    int rc = PML_OK;
    *id = -1;
    pml_arena__init(&arena, f->env);
    for (int64_t i = latest; rc == PML_OK && *id < 0 && i > after; i--) {
        pml_arena__reset(&arena);
        rc = pml_table__load_snapshot(&s, &arena, f->table, i, err);
        if (rc == PML_E_NOT_FOUND) {
            rc = PML_OK; /* expired meanwhile */
            break;
        }
        if (rc == PML_OK && pml_commit_files__is_ours(f, &s))
            *id = i;
    }
    pml_arena__clear(&arena);
    return rc;
}

/* ---- the snapshot ---- */

static int fill_snapshot(pml_snapshot *s, pml_arena *arena, pml_commit *c, const pml_commit_request *r,
                         const pml_commit_decision *d, const pml_commit_base *base, const pml_commit_files *f,
                         pml_error *err)
{
    const pml_snapshot *latest = base->latest;
    int64_t now = pml_env__wall_ms(c->env), schema_id;
    PML_RETURN_IF(pml_table__latest_schema_id(&schema_id, c->env, c->table->branch_root, err));
    if (c->table->schema_given && schema_id < c->table->schema->id)
        schema_id = c->table->schema->id; /* pml_table_open_schema: the schemas may be kept elsewhere */
    if (schema_id < 0)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SCHEMA, c->table->path,
                             "%s has been dropped: it holds no schema any more", c->table->path);
    *s = (pml_snapshot){.version = PML_SNAPSHOT_VERSION,
                        .id = base->new_id,
                        .schema_id = schema_id,
                        .base_manifest_list = f->base_list,
                        .base_manifest_list_size = {true, f->base_list_size},
                        .delta_manifest_list = f->delta_list,
                        .delta_manifest_list_size = {true, f->delta_list_size},
                        .commit_user = c->user,
                        .commit_identifier = d->identifier,
                        .commit_kind = r->kind,
                        .time_ms = now,
                        .delta_record_count = f->delta_rows,
                        .total_record_count = f->delta_rows,
                        .n_properties = d->n_properties,
                        .properties = (pml_option *)d->properties,
                        .index_manifest = f->index_manifest,
                        .next_row_id = {true, 0}};
    if (r->watermark != NULL)
        s->watermark = (pml_optional_int64){true, *r->watermark};
    if (latest == NULL)
        return PML_OK;
    /* Searches by time assume that times never fall from one snapshot to the next. */
    if (latest->time_ms > now)
        s->time_ms = latest->time_ms;
    if (__builtin_add_overflow(latest->total_record_count, f->delta_rows, &s->total_record_count))
        return pml_error__set(err, PML_E_OVERFLOW, "the row count of %s would pass 2^63", c->table->path);
    if (s->index_manifest == NULL)
        s->index_manifest = latest->index_manifest;
    if (latest->next_row_id.present)
        s->next_row_id = latest->next_row_id;
    if (latest->watermark.present && (!s->watermark.present || latest->watermark.v > s->watermark.v))
        s->watermark = latest->watermark;
    return pml_statistics__inherit(&s->statistics, arena, c->env, c->table->path, latest->statistics, schema_id);
}

/* What is at this id now? absent: PML_E_NOT_FOUND. */
static int look(bool *ours, pml_commit_files *f, int64_t id, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    pml_arena__init(&arena, f->env);
    int rc = pml_table__load_snapshot(&s, &arena, f->table, id, err);
    *ours = rc == PML_OK && pml_commit_files__is_ours(f, &s);
    pml_arena__clear(&arena);
    return rc;
}

/* Ours is there, but its name was not synced: it is made durable, or stays unknown. */
static publish_outcome settle(pml_commit_files *f, pml_error *err)
{
    return pml_table__sync_snapshots(f->table, err) == PML_OK ? OURS : STILL_UNKNOWN;
}

/* published: the file system said so, and only reading back failed. Then absence means that it has come and gone. */
static publish_outcome resolve_unknown(pml_commit_files *f, int64_t id, bool published)
{
    for (int i = 0; i < OUTCOME_LOOKS; i++) {
        bool ours;
        if (i > 0)
            pml_env__sleep_ms(f->env, OUTCOME_WAIT_MS);
        int rc = look(&ours, f, id, NULL);
        if (rc == PML_OK)
            return ours ? settle(f, NULL) : REPLACED;
        if (rc == PML_E_NOT_FOUND && i + 1 == OUTCOME_LOOKS && !published)
            return ABSENT;
    }
    return STILL_UNKNOWN;
}

/* *own tells why when the outcome is none of OURS, LOST_RACE, REPLACED. */
static publish_outcome publish_bytes(pml_commit_files *f, const char *path, const pml_buf *text, int64_t id,
                                     pml_error *own)
{
    static const uint32_t flags[] = {[PML_DURABILITY_FILE_SYSTEM] = PML_WRITE_SYNC_ALL, [PML_DURABILITY_NONE] = PML_WRITE_NO_SYNC};
    bool ours;
    int rc = pml_file__publish(f->env, path, text->data, text->len, flags[f->table->options.commit_durability], own);
    if (rc == PML_OK) {
        /* A Java writer on the same local disk tests for the name and then renames over it: read back what stays there. */
        pml_file__await_rivals(f->env, path);
        rc = look(&ours, f, id, own);
        return rc != PML_OK ? resolve_unknown(f, id, true) : ours ? OURS : REPLACED;
    }
    if (rc == PML_E_EXISTS) { /* a file system that asks its server twice may say so of our own link */
        rc = look(&ours, f, id, NULL);
        if (rc == PML_OK)
            return ours ? settle(f, own) : LOST_RACE;
        return rc == PML_E_NOT_FOUND ? LOST_RACE : resolve_unknown(f, id, true);
    }
    return rc == PML_E_UNKNOWN_OUTCOME || (own->flags & PML_ERRF_NO_EFFECT) == 0 ? resolve_unknown(f, id, false)
                                                                                 : CERTAINLY_NOT;
}

static int unknown_outcome(const pml_commit_files *f, int64_t id, const char *why, pml_error *err)
{
    char reason[200];
    (void)snprintf(reason, sizeof reason, "%.199s", why);
    return pml_error__at(
        err, PML_E_UNKNOWN_OUTCOME, PML_PLACE_SNAPSHOT, f->table->path,
        "it is not known whether snapshot %lld of %s was published (%s): commit the same again with the check "
        "for what is committed, delete nothing",
        (long long)id, f->table->path, reason);
}

static int publish(publish_outcome *out, pml_commit_files *f, const pml_snapshot *s, pml_error *err)
{
    pml_buf text;
    pml_error own = PML_ERROR_INIT;
    char *path = pml_path__snapshot(f->env, f->table->branch_root, s->id);
    pml_buf__init(&text, f->env, PML_SNAPSHOT_FILE_MAX);
    (void)pml_snapshot__write(&text, s);
    *out = CERTAINLY_NOT;
    int rc = path == NULL ? pml_error__no_memory(err) : pml_buf__check(&text, err);
    if (rc == PML_OK) {
        *out = publish_bytes(f, path, &text, s->id, &own);
        if (*out == STILL_UNKNOWN) {
            rc = unknown_outcome(f, s->id, own.message, err);
        } else if (*out == CERTAINLY_NOT) {
            rc = own.code == PML_OK ? PML_E_IO : own.code;
            if (err != NULL)
                *err = own;
        }
    }
    pml_buf__clear(&text);
    pml_env__free(f->env, path);
    return rc;
}

/* ---- the loop ---- */

static void write_latest_hint(pml_commit *c, int64_t id)
{
    char *dir = pml_path__join(c->env, c->table->branch_root, "snapshot");
    if (dir != NULL)
        (void)pml_numbered__write_hint(c->env, dir, "LATEST", id, NULL); /* a hint: readers probe for newer ones */
    pml_env__free(c->env, dir);
}

int pml_commit__confirm(pml_commit *c, int64_t id, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    if (pml_table__sync_snapshots(c->table, &own) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_UNKNOWN_OUTCOME, PML_PLACE_SNAPSHOT, c->table->path,
                         "snapshot %lld holds the rows already, but could not be made durable (%.200s): commit the same again, "
                         "delete nothing",
                         (long long)id, own.message);
}

/* One attempt. *retry: the race was lost. */
static int attempt(pml_commit_result *out, bool *retry, pml_commit *c, const pml_commit_request *r, pml_commit_files *f,
                   const pml_commit_base *base, pml_error *err)
{
    pml_commit_decision d = {0};
    pml_snapshot s;
    publish_outcome outcome = CERTAINLY_NOT;
    int rc;
    *retry = false;
    PML_RETURN_IF(r->decide(r->arg, &d, base, err));
    if (d.nothing) {
        pml_commit_files__undo(f, true); /* of earlier attempts */
        out->snapshot_id = d.result_id;
        out->already_committed = d.result_id >= 0;
        return d.result_id < 0 ? PML_OK : pml_commit__confirm(c, d.result_id, err);
    }
    PML_TRY(pml_commit_files__write(f, base->latest, &d, err));
    PML_TRY(fill_snapshot(&s, base->arena, c, r, &d, base, f, err));
    rc = publish(&outcome, f, &s, err);
out:
    switch (outcome) {
    case OURS:
        out->snapshot_id = c->newest = base->new_id;
        write_latest_hint(c, base->new_id);
        if (r->published != NULL)
            r->published(r->arg, &s);
        return PML_OK;
    case STILL_UNKNOWN: pml_commit_files__keep(f); return rc;
    case ABSENT:
    case REPLACED:
        pml_commit_files__keep(f);
        f->open_id = outcome == ABSENT ? base->new_id : f->open_id;
        *retry = true;
        return PML_OK;
    case LOST_RACE:
    case CERTAINLY_NOT: break;
    }
    pml_commit_files__undo(f, outcome != LOST_RACE);
    if (r->undo != NULL)
        r->undo(r->arg);
    *retry = outcome == LOST_RACE;
    return rc;
}

/* w = min(min_wait * 2^n, max_wait) plus a random fifth at most. */
static int back_off(pml_commit *c, int64_t n, pml_error *err)
{
    const pml_table_options *o = &c->table->options;
    uint32_t r;
    PML_RETURN_IF(pml_env__random(c->env, &r, sizeof r, err));
    int64_t wait = o->commit_max_wait_ms;
    if (n < BACKOFF_SHIFT_MAX && o->commit_min_wait_ms << n < wait)
        wait = o->commit_min_wait_ms << n;
    pml_env__sleep_ms(c->env, wait + (int64_t)((double)wait * 0.2 * ((double)r / 4294967296.0)));
    return PML_OK;
}

static int give_up(pml_commit *c, int64_t attempts, int64_t elapsed_ms, pml_error *err)
{
    const pml_table_options *o = &c->table->options;
    bool late = o->commit_timeout_ms >= 0 && elapsed_ms > o->commit_timeout_ms;
    if (!late && attempts <= o->commit_max_retries)
        return PML_OK;
    return pml_error__set(
        err, late ? PML_E_TIMEOUT : PML_E_CONFLICT,
        "%s: %lld attempts in %lld ms lost the race against other commits; raise commit.max-retries or "
        "commit.timeout, or commit again",
        c->table->path, (long long)attempts, (long long)elapsed_ms);
}

/* After a rollback the listing says so, once. */
static int latest_base(int64_t *id, pml_commit *c, const pml_commit_request *r, pml_error *err)
{
    PML_RETURN_IF(pml_table__latest_since(id, c->table, c->newest > r->newest ? c->newest : r->newest, err));
    c->newest = *id < c->newest ? *id : c->newest;
    return PML_OK;
}

/* One round: looks for an earlier attempt of this call, chooses the base, makes an attempt. */
static int round_once(pml_commit_result *out, bool *retry, int64_t *base_id, pml_commit *c, const pml_commit_request *r,
                      pml_commit_files *f, int64_t first_base, pml_error *err)
{
    pml_arena arena;
    pml_snapshot latest;
    pml_commit_base base = {NULL, 1, &arena};
    int64_t ours = -1;
    int rc;
    *retry = false;
    pml_arena__init(&arena, c->env);
    PML_TRY(latest_base(base_id, c, r, err));
    if (out->attempts > 0)
        PML_TRY(find_ours(&ours, f, first_base, *base_id, err));
    if (ours >= 0) { /* it came late, and nobody has synced its name */
        out->snapshot_id = ours;
        rc = pml_commit__confirm(c, ours, err);
        goto out;
    }
    if (*base_id >= f->open_id)
        f->open_id = -1; /* that id is somebody else's now */
    if (*base_id == INT64_MAX) {
        rc = pml_error__set(err, PML_E_OVERFLOW, "%s has a snapshot %lld: there is no next one", c->table->path,
                            (long long)*base_id);
        goto out;
    }
    if (*base_id >= 0) {
        rc = pml_table__load_snapshot(&latest, &arena, c->table, *base_id, err);
        if (rc == PML_E_NOT_FOUND)
            rc = PML_E_SNAPSHOT_GONE;
        if (rc != PML_OK)
            goto out;
        base.latest = &latest;
        base.new_id = *base_id + 1;
    }
    out->attempts++;
    PML_TRY(attempt(out, retry, c, r, f, &base, err));
out:
    pml_arena__clear(&arena);
    return rc;
}

/* A base that expired under us counts as a lost race: somebody is committing. While it still is the latest, its files are really
   missing, and trying again would only say so later. */
static bool has_moved_on(pml_commit *c, int64_t base_id)
{
    int64_t id;
    return pml_table__latest_snapshot(&id, c->table, true, NULL) == PML_OK && id != base_id;
}

static int attempts(pml_commit_result *out, pml_commit *c, const pml_commit_request *r, pml_commit_files *f,
                    pml_error *err)
{
    int64_t start = pml_env__mono_ns(c->env), first_base = -1, base_id = -1;
    for (int64_t n = 0;; n++) {
        bool retry;
        int rc = round_once(out, &retry, &base_id, c, r, f, first_base, err);
        first_base = n == 0 ? base_id : first_base;
        if (rc == PML_OK && !retry)
            return PML_OK;
        if (rc == PML_OK || (rc == PML_E_SNAPSHOT_GONE && has_moved_on(c, base_id)))
            rc = give_up(c, n + 1, (pml_env__mono_ns(c->env) - start) / 1000000, err);
        if (rc == PML_OK)
            rc = back_off(c, n, err);
        if (rc == PML_OK)
            continue;
        if (rc == PML_E_UNKNOWN_OUTCOME)
            return rc;
        pml_commit_files__undo(f, true);
        return f->open_id < 0 ? rc : unknown_outcome(f, f->open_id, err == NULL ? "" : err->message, err);
    }
}

int pml_commit__execute(pml_commit_result *out, pml_commit *c, const pml_commit_request *request, pml_error *err)
{
    pml_commit_files files;
    *out = (pml_commit_result)PML_COMMIT_RESULT_INIT;
    out->snapshot_id = -1;
    int rc = pml_commit_files__init(&files, c->table, request->delta_per_attempt, err);
    if (rc == PML_OK)
        rc = attempts(out, c, request, &files, err);
    pml_commit_files__clear(&files);
    return rc;
}
