/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time commit (9.5): files and progress of the entries in one snapshot, on the one commit loop of the table layer. The hook
 * looks at each attempt's base: which entries are in it already, which follow it, and what the new progress is.
 */
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_buckets.h"
#include "realtime/rt_commit.h"
#include "realtime/rt_context.h"

typedef enum entry_class { ENTRY_COVERED, ENTRY_PENDING } entry_class;

typedef struct rt_commit {
    pml_commit *commit;
    pml_rt_context *ctx;
    size_t n;
    pml_rt_entry **entries; /* sorted by partition-bucket, then begin */
    entry_class *classes;
    const pml_new_files **files;
    rt_point base;       /* of this attempt */
    char *progress_path; /* the file this attempt wrote; NULL: none */
    bool covered_all;
} rt_commit;

static int compare_entries(const void *pa, const void *pb)
{
    const pml_rt_entry *a = *(pml_rt_entry *const *)pa, *b = *(pml_rt_entry *const *)pb;
    int c = pml_pb_key__compare(&a->pb->key, &b->pb->key);
    return c != 0 ? c : (a->cover.begin > b->cover.begin) - (a->cover.begin < b->cover.begin);
}

static bool same_pb(const rt_commit *k, size_t i)
{
    return i > 0 && k->entries[i]->pb == k->entries[i - 1]->pb;
}

static int collect(rt_commit *k, const pml_rt_entry *const *entries, size_t n, pml_error *err)
{
    pml_env *env = k->commit->env;
    PML_RETURN_IF(pml_error__need_pointers((const void *const *)entries, n, "entries", err));
    if (n == 0)
        return pml_error__set(err, PML_E_INVAL, "a real-time commit without entries: nothing was prepared");
    k->entries = pml_env__calloc(env, n, sizeof *k->entries);
    k->classes = pml_env__calloc(env, n, sizeof *k->classes);
    k->files = pml_env__calloc(env, n, sizeof *k->files);
    if (k->entries == NULL || k->classes == NULL || k->files == NULL)
        return pml_error__no_memory(err);
    k->ctx = entries[0]->ctx;
    PML_RETURN_IF(pml_rt_context__check_process(k->ctx, err));
    for (size_t i = 0; i < n; i++) {
        k->entries[i] = (pml_rt_entry *)entries[i];
        if (entries[i]->ctx != k->ctx || strcmp(k->ctx->table->branch_root, k->commit->table->branch_root) != 0)
            return pml_error__set(err, PML_E_INVAL, "the entries of one commit must come from one context of the commit's table");
        if (atomic_load(&k->entries[i]->resolved) == 2)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_PB, entries[i]->pb->name, "the entry of %s was aborted",
                                 entries[i]->pb->name);
    }
    k->n = n;
    qsort(k->entries, n, sizeof *k->entries, compare_entries);
    for (size_t i = 1; i < n; i++)
        if (same_pb(k, i) && k->entries[i]->cover.begin != k->entries[i - 1]->cover.end)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_PB, k->entries[i]->pb->name,
                                 "the entries of %s do not meet: [%lld, %lld) is followed by [%lld, %lld)", k->entries[i]->pb->name,
                                 (long long)k->entries[i - 1]->cover.begin, (long long)k->entries[i - 1]->cover.end,
                                 (long long)k->entries[i]->cover.begin, (long long)k->entries[i]->cover.end);
    return PML_OK;
}

/* ---- classification (9.5 b, c, d) ---- */

/* Who else commits live rows has written to the bucket over offsets of ours: then only a new context helps, and writes must not go on as if
   rows in memory were seen. Not of entries that may be there under another user of ours. With keys his rows are looked for first, by
   which the error says more. */
static int meet_second_writer(rt_commit *k, const pml_rt_entry *e, const pml_commit_base *base, pml_error *err)
{
    if (atomic_load(&e->resolved) != 0 || atomic_load(&e->unknown) != 0)
        return PML_OK;
    if (k->ctx->layout->mode != PML_RT_MODE_APPEND && e->first_sequence >= 0) {
        PML_RETURN_IF(pml_rt_sequences__look(k->ctx, base->latest, err));
        PML_RETURN_IF(pml_rt_sequences__check(e->pb, base->latest, e->first_sequence, err));
    }
    (void)pml_rt_context__poison(k->ctx, NULL, "a second writer committed offsets of %s", e->pb->name);
    return PML_OK;
}

/* A covered entry must have been committed by this user: coverage alone does not say by whom. */
static int check_covered(rt_commit *k, const pml_rt_entry *e, const pml_progress_entry *p, const pml_commit_base *base, pml_error *err)
{
    const char *user = p->commit_user;
    int64_t identifier = p->commit_identifier.v;
    if (user == NULL || !p->commit_identifier.present) { /* another implementation wrote the file */
        pml_snapshot s;
        bool found = false;
        if (base->latest != NULL)
            PML_RETURN_IF(pml_commit__find_user(&found, &s, base->arena, k->commit->table, base->latest->id, k->commit->user, err));
        user = found ? k->commit->user : NULL;
        identifier = found ? s.commit_identifier : -1;
    }
    if (user != NULL && strcmp(user, k->commit->user) == 0 && identifier >= e->identifier)
        return PML_OK;
    PML_RETURN_IF(meet_second_writer(k, e, base, err));
    return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, e->pb->name,
                         "the offsets [%lld, %lld) of %s were committed by another writer (user %s, identifier %lld)",
                         (long long)e->cover.begin, (long long)e->cover.end, e->pb->name, user == NULL ? "unknown" : user,
                         (long long)identifier);
}

/* c: the committed end so far, which pending entries of the same partition-bucket move on. */
static int classify(rt_commit *k, size_t i, int64_t *c, const pml_effective *eff, const pml_commit_base *base, pml_error *err)
{
    const pml_rt_entry *e = k->entries[i];
    const pml_progress_entry *p = NULL;
    pml_progress_state state = pml_progress__state(&eff->progress, &e->pb->texts, &p);
    if (state == PML_PROGRESS_LOST)
        return pml_error__at(err, PML_E_PROGRESS_LOST, PML_PLACE_PB, e->pb->name,
                             "the committed progress of %s is lost: another writer overwrote its partition, or the snapshot that recorded "
                             "it expired; state it anew (pml offsets repair)",
                             e->pb->name);
    if (state == PML_PROGRESS_KNOWN && pml_lineage__conflicts(&p->lineage, &e->pb->lineage))
        return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, e->pb->name,
                             "the progress of %s has another history than these rows: another writer committed it first, or it was reset "
                             "since they were prepared; committing them would double rows or bring removed ones back",
                             e->pb->name);
    int64_t committed = state == PML_PROGRESS_KNOWN ? p->end : 0;
    if (!same_pb(k, i))
        *c = committed;
    if (e->cover.end <= committed) {
        k->classes[i] = ENTRY_COVERED;
        return check_covered(k, e, p, base, err);
    }
    k->classes[i] = ENTRY_PENDING;
    if (e->cover.begin < *c)
        PML_RETURN_IF(meet_second_writer(k, e, base, err));
    if (e->cover.begin != *c)
        return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, e->pb->name,
                             "%s is committed up to offset %lld, the entry holds [%lld, %lld): %s", e->pb->name, (long long)*c,
                             (long long)e->cover.begin, (long long)e->cover.end,
                             e->cover.begin > *c ? "an earlier prepare is missing" : "a part of it was committed by somebody else");
    *c = e->cover.end;
    return PML_OK;
}

static int classify_all(rt_commit *k, const pml_effective *eff, const pml_commit_base *base, size_t *n_pending, pml_error *err)
{
    int64_t c = 0;
    *n_pending = 0;
    for (size_t i = 0; i < k->n; i++) {
        PML_RETURN_IF(classify(k, i, &c, eff, base, err));
        *n_pending += k->classes[i] == ENTRY_PENDING;
    }
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; *n_pending > 0 && *n_pending < k->n && j < k->n; j++)
            if (k->classes[i] == ENTRY_COVERED && k->classes[j] == ENTRY_PENDING &&
                k->entries[i]->identifier == k->entries[j]->identifier)
                return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, k->entries[i]->pb->name,
                                     "of the prepare %lld, %s is committed and %s is not: a prepare is committed whole",
                                     (long long)k->entries[i]->identifier, k->entries[i]->pb->name, k->entries[j]->pb->name);
    return PML_OK;
}

/* Rows with keys that are not committed yet come after all of their bucket that are (realtime-pk.md 6.4). */
static int check_sequences(rt_commit *k, const pml_commit_base *base, pml_error *err)
{
    k->base = base->latest == NULL ? (rt_point){0} : pml_rt_point__of(base->latest);
    if (k->ctx->layout->mode == PML_RT_MODE_APPEND)
        return PML_OK;
    PML_RETURN_IF(pml_rt_sequences__look(k->ctx, base->latest, err));
    for (size_t i = 0; i < k->n; i++)
        if (k->classes[i] == ENTRY_PENDING && k->entries[i]->first_sequence >= 0)
            PML_RETURN_IF(pml_rt_sequences__check(k->entries[i]->pb, base->latest, k->entries[i]->first_sequence, err));
    return PML_OK;
}

/* ---- the new snapshot ---- */

/* The highest identifier of the pending entries and of the user's newest commit: a late retry must not lower it (9.5 e). */
static int choose_identifier(int64_t *out, rt_commit *k, const pml_commit_base *base, pml_error *err)
{
    pml_snapshot s;
    bool found = false;
    *out = INT64_MIN;
    for (size_t i = 0; i < k->n; i++)
        if (k->classes[i] == ENTRY_PENDING && k->entries[i]->identifier > *out)
            *out = k->entries[i]->identifier;
    if (base->latest != NULL)
        PML_RETURN_IF(pml_commit__find_user(&found, &s, base->arena, k->commit->table, base->latest->id, k->commit->user, err));
    if (found && s.commit_identifier > *out)
        *out = s.commit_identifier;
    return PML_OK;
}

static int pending_ranges(pml_progress_range **out, size_t *n, rt_commit *k, pml_arena *arena)
{
    pml_progress_range *v = pml_arena__array(arena, k->n, sizeof *v);
    *out = v;
    *n = 0;
    for (size_t i = 0; v != NULL && i < k->n; i++) {
        const pml_rt_entry *e = k->entries[i];
        if (k->classes[i] != ENTRY_PENDING)
            continue;
        if (*n > 0 && same_pb(k, i) && k->classes[i - 1] == ENTRY_PENDING) {
            v[*n - 1].end = e->cover.end;
            v[*n - 1].rows += e->rows;
        } else {
            v[(*n)++] = (pml_progress_range){.pb = e->pb->texts, .begin = e->cover.begin, .end = e->cover.end, .lineage = e->pb->lineage,
                                             .rows = e->rows};
        }
        if (e->last_sequence >= 0)
            v[*n - 1].sequence = (pml_optional_int64){true, e->last_sequence};
    }
    return v == NULL ? PML_E_NOMEM : PML_OK;
}

static int new_progress(rt_commit *k, pml_commit_decision *d, const pml_effective *eff, const pml_commit_base *base, pml_error *err)
{
    pml_progress_range *ranges;
    size_t n_ranges;
    if (pending_ranges(&ranges, &n_ranges, k, base->arena) != PML_OK)
        return pml_error__no_memory(err);
    const pml_progress_build build = {.base = base->latest == NULL ? NULL : eff,
                                      .snapshot_id = base->new_id,
                                      .commit_user = k->commit->user,
                                      .commit_identifier = d->identifier,
                                      .n_ranges = n_ranges,
                                      .ranges = ranges};
    return pml_rt_commit__progress(d, &k->progress_path, k->commit->table, &build, base->arena, err);
}

/* The attempt certainly failed: its progress file is nobody's. */
static void rt_undo(void *arg)
{
    rt_commit *k = arg;
    pml_progress__unpublish(&k->progress_path, k->commit->env, true);
}

static void rt_published(void *arg, const pml_snapshot *s)
{
    const rt_commit *k = arg;
    pml_rt_context__note_durable(k->ctx, s);
    if (k->ctx->layout->mode != PML_RT_MODE_APPEND)
        pml_rt_sequences__published(k->ctx, &k->base, s);
}

/* The id of the snapshot that carries the highest identifier of the entries, else the latest one. */
static int covered_by(int64_t *id, rt_commit *k, const pml_commit_base *base, pml_error *err)
{
    int64_t identifier = INT64_MIN;
    for (size_t i = 0; i < k->n; i++)
        if (k->entries[i]->identifier > identifier)
            identifier = k->entries[i]->identifier;
    *id = base->latest == NULL ? -1 : base->latest->id;
    for (int64_t i = *id; i >= 1; i--) {
        pml_snapshot s;
        int rc = pml_table__load_snapshot(&s, base->arena, k->commit->table, i, err);
        if (rc == PML_E_NOT_FOUND)
            return PML_OK;
        if (rc != PML_OK)
            return rc;
        if (strcmp(s.commit_user, k->commit->user) == 0 && s.commit_identifier <= identifier) {
            if (s.commit_identifier == identifier)
                *id = i;
            return PML_OK;
        }
    }
    return PML_OK;
}

static int rt_decide(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    rt_commit *k = arg;
    pml_effective *eff = NULL;
    size_t n_pending = 0;
    int rc;
    pml_progress__unpublish(&k->progress_path, k->commit->env, false); /* of an attempt that may be visible */
    PML_TRY(pml_rt_context__effective(&eff, k->ctx, base->latest, err));
    if (base->latest == NULL && eff->snapshot_id >= 0) { /* the first snapshot came meanwhile: begin anew on it */
        rc = pml_error__set(err, PML_E_SNAPSHOT_GONE, "the first snapshot of %s was made meanwhile", k->commit->table->path);
        goto out;
    }
    PML_TRY(classify_all(k, eff, base, &n_pending, err));
    if (n_pending == 0) {
        k->covered_all = d->nothing = true;
        rc = covered_by(&d->result_id, k, base, err);
        goto out;
    }
    PML_TRY(check_sequences(k, base, err));
    for (size_t i = 0; i < k->n; i++)
        if (k->classes[i] == ENTRY_PENDING)
            k->files[d->n_files++] = &k->entries[i]->files;
    d->files = k->files;
    PML_TRY(choose_identifier(&d->identifier, k, base, err));
    PML_TRY(new_progress(k, d, eff, base, err));
out:
    pml_effective__release(eff);
    if (rc != PML_OK)
        rt_undo(k);
    return rc;
}

/* ---- the calls ---- */

static void rt_commit_clear(rt_commit *k)
{
    pml_env *env = k->commit->env;
    pml_progress__unpublish(&k->progress_path, env, false);
    pml_env__free(env, k->entries);
    pml_env__free(env, k->classes);
    pml_env__free(env, k->files);
}

static void finish(rt_commit *k, pml_rt_commit_result *out, const pml_commit_result *r)
{
    pml_rt_context *c = k->ctx;
    out->snapshot_id = r->snapshot_id;
    out->attempts = r->attempts;
    out->already_committed = k->covered_all;
    out->latest_id = r->snapshot_id;
    int64_t latest;
    if (pml_table__latest_snapshot(&latest, k->commit->table, false, NULL) == PML_OK && latest > out->latest_id)
        out->latest_id = latest;
    (void)atomic_fetch_add(&c->commits, 1);
    (void)atomic_fetch_add(&c->commit_retries, r->attempts > 1 ? r->attempts - 1 : 0);
    (void)atomic_fetch_add(&c->commit_idempotent_hits, k->covered_all ? 1 : 0);
    for (size_t i = 0; i < k->n; i++) {
        atomic_store(&k->entries[i]->unknown, 0);
        pml_mutex__lock(&c->progress_mu);
        pml_rt_pb__saw_committed_locked(k->entries[i]->pb, r->snapshot_id);
        k->entries[i]->pb->own_user = pml_rt_print__of_user(k->commit->user);
        pml_mutex__unlock(&c->progress_mu);
        pml_rt_entry__resolve(k->entries[i], true);
    }
    if (!k->covered_all)
        pml_rt_reanchor__postpone(c);
    /* Of a closed context the memory goes with its last plan. */
    if (c->options.rt_auto_advance && !atomic_load(&c->closed)) {
        pml_error own = PML_ERROR_INIT;
        if (pml_rt_advance(c, r->snapshot_id, &own) != PML_OK)
            pml_env__log(c->env, PML_LOG_WARN, "realtime",
                         "snapshot %lld is committed, but memory could not be let go (call pml_rt_advance again): %s",
                         (long long)r->snapshot_id, own.message);
    }
}

/* The newest snapshot that was planned, advanced to or committed. */
static int64_t newest_known(pml_rt_context *c)
{
    const int64_t seen = pml_rt_context__newest_id(c);
    pml_mutex__lock(&c->progress_mu);
    const int64_t durable = c->durable.id;
    pml_mutex__unlock(&c->progress_mu);
    return durable > seen ? durable : seen;
}

int pml_rt_commit(pml_rt_commit_result *out, pml_commit *commit, const pml_rt_entry *const *entries, size_t n, int64_t identifier,
                  const int64_t *watermark, pml_error *err)
{
    rt_commit k = {.commit = commit};
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_rt_commit_result unwanted = PML_RT_COMMIT_RESULT_INIT;
    int rc;
    if (out == NULL)
        out = &unwanted;
    (void)identifier; /* entries of this process carry the identifier of their prepare */
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_commit_result.struct_size is %zu, this library knows %zu", out->struct_size,
                              sizeof *out);
    *out = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    out->snapshot_id = out->latest_id = -1;
    PML_TRY(collect(&k, entries, n, err));
    const pml_commit_request request = {.arg = &k, .decide = rt_decide, .undo = rt_undo, .published = rt_published,
                                        .watermark = watermark, .newest = newest_known(k.ctx), .kind = PML_COMMIT_APPEND};
    rc = pml_commit__execute(&r, commit, &request, err);
    for (size_t i = 0; rc == PML_E_UNKNOWN_OUTCOME && i < n; i++)
        atomic_store(&k.entries[i]->unknown, 1);
    if (rc == PML_OK)
        finish(&k, out, &r);
out:
    rt_commit_clear(&k);
    return rc;
}

/* A covered entry is part of a snapshot: its files must stay. */
static int check_abortable(rt_commit *k, pml_error *err)
{
    pml_effective *eff = NULL;
    int rc;
    /* Even when a later snapshot removed the rows again: the older ones name these files. */
    for (size_t i = 0; i < k->n; i++)
        if (atomic_load(&k->entries[i]->resolved) != 0)
            return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, k->entries[i]->pb->name,
                                 "the entry of %s was committed: it cannot be aborted", k->entries[i]->pb->name);
    for (size_t i = 0; i < k->n; i++)
        if (atomic_load(&k->entries[i]->unknown) != 0)
            return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, k->entries[i]->pb->name,
                                 "a commit of the entry of %s has an unknown outcome: commit it again, do not abort it",
                                 k->entries[i]->pb->name);
    PML_TRY(pml_rt_context__effective(&eff, k->ctx, NULL, err));
    for (size_t i = 0; i < k->n; i++) {
        const pml_rt_entry *e = k->entries[i];
        const pml_progress_entry *p = NULL;
        if (pml_progress__state(&eff->progress, &e->pb->texts, &p) == PML_PROGRESS_KNOWN &&
            !pml_lineage__conflicts(&p->lineage, &e->pb->lineage) && e->cover.begin < p->end) {
            rc = pml_error__at(err, PML_E_CONFLICT, PML_PLACE_PB, e->pb->name,
                               "the offsets [%lld, %lld) of %s are committed: they cannot be aborted", (long long)e->cover.begin,
                               (long long)e->cover.end, e->pb->name);
            break;
        }
    }
out:
    pml_effective__release(eff);
    return rc;
}

int pml_rt_progress_abort(pml_commit *commit, const pml_rt_entry *const *entries, size_t n, pml_error *err)
{
    rt_commit k = {.commit = commit};
    int rc;
    PML_TRY(collect(&k, entries, n, err));
    PML_TRY(check_abortable(&k, err));
    for (size_t i = 0; i < n; i++) {
        pml_rt_buckets__revert(k.ctx, &k.entries[i]->files);
        pml_new_files__delete(&k.entries[i]->files);
        pml_rt_entry__resolve(k.entries[i], false);
    }
out:
    rt_commit_clear(&k);
    return rc;
}
