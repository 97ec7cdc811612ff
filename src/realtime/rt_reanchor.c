/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Re-anchoring (7.4). Commits by writers that do not know the progress property drop it; readers then walk back to the anchor, the
 * newest snapshot that has it. Should that one expire, all progress is lost. Every commit of live rows writes the property anew, so
 * the danger is a live writer that has nothing to commit while others commit and expire.
 *
 * There is no thread. Each call of a context that has a writer looks at the clock; when realtime.reanchor-interval has passed since the
 * property was last known to be in the latest snapshot, or since the last look, that call makes an empty commit which only carries the
 * property. It does so after its own work, or before a plan, and its failure is nobody's: the next look comes sooner then.
 *
 * The commit has a user of its own, "pml-reanchor-<uuid>", and the identifier of batch commits, so it never takes part in the checks
 * of who committed what (9.5).
 */
#include "realtime/rt_commit.h"
#include "realtime/rt_context.h"

enum { SOONER_AFTER_FAILURE = 10 /* that part of the interval */ };

typedef struct reanchor {
    pml_rt_context *ctx;
    pml_commit *commit;
    char *file; /* that this attempt wrote; NULL: none */
} reanchor;

/* The attempt certainly failed: its progress file is nobody's. */
static void undo(void *arg)
{
    reanchor *r = arg;
    pml_progress__unpublish(&r->file, r->ctx->env, true);
}

static int decide(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    reanchor *r = arg;
    pml_effective *eff = NULL;
    int rc;
    pml_progress__unpublish(&r->file, r->ctx->env, false); /* of an attempt that may be visible */
    d->nothing = true;
    d->result_id = -1;
    if (base->latest == NULL)
        return PML_OK;
    PML_TRY(pml_rt_context__effective(&eff, r->ctx, base->latest, err));
    /* Said already, nothing to say, or nothing known any more: that must stay as it is until somebody states it. */
    if (eff->property != NULL || eff->progress.n == 0 || eff->progress.all_lost)
        goto out;
    const pml_progress_build build = {.base = eff,
                                      .snapshot_id = base->new_id,
                                      .commit_user = r->commit->user,
                                      .commit_identifier = PML_COMMIT_IDENTIFIER_BATCH,
                                      .flags = PML_PROGRESS_REANCHOR};
    PML_TRY(pml_rt_commit__progress(d, &r->file, r->ctx->table, &build, base->arena, err));
    d->nothing = false;
    d->identifier = PML_COMMIT_IDENTIFIER_BATCH;
out:
    pml_effective__release(eff);
    if (rc != PML_OK)
        undo(r);
    return rc;
}

/* *id: the snapshot it made, -1: none was needed. */
static int run(int64_t *id, pml_rt_context *c, pml_error *err)
{
    reanchor r = {.ctx = c};
    pml_commit_result result = PML_COMMIT_RESULT_INIT;
    char uuid[37];
    char *user = NULL;
    int rc;
    *id = -1;
    PML_TRY(pml_env__uuid(c->env, uuid, err));
    user = pml_env__format(c->env, "pml-reanchor-%s", uuid);
    if (user == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_commit_open(&r.commit, c->table, user, err));
    const pml_commit_request request = {.arg = &r, .decide = decide, .undo = undo, .kind = PML_COMMIT_APPEND};
    PML_TRY(pml_commit__execute(&result, r.commit, &request, err));
    *id = result.snapshot_id;
out:
    pml_progress__unpublish(&r.file, c->env, false);
    pml_commit_close(r.commit);
    pml_env__free(c->env, user);
    return rc;
}

static int64_t interval_ns(const pml_rt_context *c)
{
    int64_t ns;
    return __builtin_mul_overflow(c->options.rt_reanchor_interval_ms, (int64_t)1000000, &ns) ? INT64_MAX : ns;
}

/* The next look, this long from now; INT64_MAX: never. */
static int64_t after(int64_t now_ns, int64_t wait_ns)
{
    int64_t at;
    return wait_ns <= 0 || __builtin_add_overflow(now_ns, wait_ns, &at) ? INT64_MAX : at;
}

void pml_rt_reanchor__postpone(pml_rt_context *c)
{
    if (atomic_load(&c->writer) != NULL)
        atomic_store(&c->reanchor_at_ns, after(pml_env__mono_ns(c->env), interval_ns(c)));
}

void pml_rt_reanchor__stop(pml_rt_context *c)
{
    atomic_store(&c->reanchor_at_ns, INT64_MAX);
}

void pml_rt_reanchor__tick(pml_rt_context *c, int64_t now_ns)
{
    long long at = atomic_load_explicit(&c->reanchor_at_ns, memory_order_relaxed);
    pml_error err;
    int64_t id;
    pml_error__clear(&err);
    /* One caller of many looks. */
    if (now_ns < at || !atomic_compare_exchange_strong(&c->reanchor_at_ns, &at, after(now_ns, interval_ns(c))))
        return;
    /* Who only reads never commits. */
    if (pml_rt_context__check(c, &err) != PML_OK || atomic_load(&c->writer) == NULL)
        return;
    if (run(&id, c, &err) == PML_OK) {
        (void)atomic_fetch_add(&c->reanchors, id >= 0 ? 1 : 0);
        return;
    }
    pml_env__log(c->env, PML_LOG_WARN, "realtime",
                 "%s: the progress could not be written into a snapshot of its own, and is lost if older snapshots expire: %s",
                 c->table->path, err.message);
    int64_t sooner = after(now_ns, interval_ns(c) / SOONER_AFTER_FAILURE), seen = after(now_ns, interval_ns(c));
    long long expected = seen; /* unless a commit or a closed writer has set another time meanwhile */
    (void)atomic_compare_exchange_strong(&c->reanchor_at_ns, &expected, sooner);
}
