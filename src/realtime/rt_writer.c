/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and aborting a real-time writer (4.2). */
#include "realtime/rt_writer.h"

#include <string.h>

#include "realtime/rt_buckets.h"
#include "realtime/rt_commit.h"
#include "table/writer.h"

/* ---- one writer per table branch ---- */

typedef struct writer_list {
    pml_mutex mu;
    pml_map tables; /* branch root -> itself, guarded by mu */
} writer_list;

static int list_make(pml_env *env, void **out, pml_error *err)
{
    writer_list *l = pml_env__calloc(env, 1, sizeof *l);
    if (l == NULL)
        return pml_error__no_memory(err);
    pml_mutex__init(&l->mu, "env.writers", 0);
    pml_map__init(&l->tables, env);
    *out = l;
    return PML_OK;
}

static void list_free(pml_env *env, void *slot)
{
    writer_list *l = slot;
    pml_map__clear(&l->tables, NULL);
    pml_mutex__destroy(&l->mu);
    pml_env__free(env, l);
}

int pml_rt_writer__claim_table(pml_env *env, const char *branch_root, pml_error *err)
{
    void *slot;
    PML_RETURN_IF(pml_env__slot(env, PML_ENV_SLOT_REALTIME, &slot, list_make, list_free, err));
    writer_list *l = slot;
    int rc = PML_OK;
    pml_mutex__lock(&l->mu);
    if (pml_map__has(&l->tables, branch_root, strlen(branch_root)))
        rc = pml_error__set(err, PML_E_BUSY, "%s has a real-time writer already; close it first", branch_root);
    else if (pml_map__put(&l->tables, branch_root, strlen(branch_root), l, NULL) != PML_OK)
        rc = pml_error__no_memory(err);
    pml_mutex__unlock(&l->mu);
    return rc;
}

void pml_rt_writer__yield_table(pml_env *env, const char *branch_root)
{
    void *slot;
    if (pml_env__slot(env, PML_ENV_SLOT_REALTIME, &slot, list_make, list_free, NULL) != PML_OK)
        return;
    writer_list *l = slot;
    pml_mutex__lock(&l->mu);
    (void)pml_map__remove(&l->tables, branch_root, strlen(branch_root));
    pml_mutex__unlock(&l->mu);
}

/* ---- open ---- */

static void writer_free(pml_rt_writer *w)
{
    pml_env *env = w->env;
    pml_rt_context *c = w->ctx;
    if (w->registered) {
        pml_rt_writer *self = w;
        pml_rt_reanchor__stop(c);
        (void)atomic_compare_exchange_strong(&c->writer, &self, NULL);
        pml_rt_writer__yield_table(env, w->table->branch_root);
    }
    pml_restore__clear(&w->restore);
    pml_rt_pb__release(atomic_load(&w->only));
    pml_mutex__destroy(&w->create_mu);
    pml_mutex__destroy(&w->flush_mu);
    pml_env__free(env, w->input);
    pml_env__free(env, w);
    pml_rt_context__release(c);
}

/* Options that only make sense for a writer that compacts are named once, so that nobody waits for them to act (9.4). */
static void warn_ignored(pml_table *t)
{
    static const char *const ignored[] = {"write-buffer-size",  "write-buffer-spillable", "num-sorted-run.stop-trigger",
                                          "num-sorted-run.compaction-trigger", "commit.force-compact",
                                          "full-compaction.delta-commits", "compaction.min.file-num"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (pml_table_option(t, ignored[i]) != NULL)
            pml_env__log(t->env, PML_LOG_INFO, "realtime",
                         "%s: option %s has no effect on a real-time writer, which never compacts; compact with another job", t->path,
                         ignored[i]);
}

static int check_schema(pml_rt_context *c, pml_table *t, pml_error *err)
{
    if (c->table->schema->id != t->schema->id)
        return pml_error__set(err, PML_E_SCHEMA,
                              "the context serves %s at schema %lld, the table was opened at schema %lld: prepare, commit, and open a "
                              "new context",
                              t->path, (long long)c->table->schema->id, (long long)t->schema->id);
    return PML_OK;
}

/* The columns of the batches of a table with a primary key. */
static int keyed_input(pml_rt_writer *w, pml_error *err)
{
    const pml_rt_context *c = w->ctx;
    size_t system = PML_RT_KEYED_SYSTEM - 1;
    if (w->table->schema->n_keys == 0)
        return PML_OK;
    w->input = pml_env__calloc(w->env, c->n_transport - system + 1, sizeof *w->input);
    if (w->input == NULL)
        return pml_error__no_memory(err);
    memcpy(w->input, c->transport + system, (c->n_transport - system) * sizeof *w->input);
    w->input[c->n_transport - system] = c->transport[0];
    return PML_OK;
}

int pml_rt_writer_open(pml_rt_writer **out, pml_table *t, pml_rt_context *c, const pml_rt_writer_options *options, pml_error *err)
{
    pml_rt_writer *none = NULL;
    pml_effective *progress = NULL;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (options != NULL && options->struct_size != sizeof *options)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_writer_options.struct_size is %zu, this library knows %zu",
                              options->struct_size, sizeof *options);
    PML_RETURN_IF(pml_writer__check_table(t, err));
    PML_RETURN_IF(pml_rt_context__bind(c, t, err));
    PML_RETURN_IF(check_schema(c, t, err));
    pml_rt_writer *w = pml_env__calloc(c->env, 1, sizeof *w);
    if (w == NULL)
        return pml_error__no_memory(err);
    w->env = c->env;
    w->ctx = c;
    w->table = c->table;
    pml_rt_context__acquire(c);
    pml_mutex__init(&w->create_mu, "writer.create_mu", 0);
    pml_mutex__init(&w->flush_mu, "writer.flush_mu", 0);
    PML_TRY(pml_rt_writer__claim_table(c->env, c->table->branch_root, err));
    if (!atomic_compare_exchange_strong(&c->writer, &none, w)) {
        pml_rt_writer__yield_table(c->env, c->table->branch_root);
        rc = pml_error__set(err, PML_E_BUSY, "the context has a writer already; close it first");
        goto out;
    }
    w->registered = true;
    if (atomic_load(&c->dropped_rows)) {
        rc = pml_error__set(err, PML_E_RECREATE, "a writer of this context was aborted with rows that no snapshot has: make the "
                                                 "context anew and replay from the committed ends");
        goto out;
    }
    PML_TRY(keyed_input(w, err));
    PML_TRY(pml_rt_context__latest_progress(&progress, c, err)); /* what cannot be read is said now, not at the first row */
    PML_TRY(pml_rt_buckets__open(c, err));
    PML_TRY(pml_restore__load(&w->restore, c->table, err));
    warn_ignored(t);
    pml_rt_reanchor__postpone(c);
    *out = w;
    w = NULL;
out:
    pml_effective__release(progress);
    if (w != NULL)
        writer_free(w);
    return rc;
}

/* ---- close ---- */

/* Rows of the PB that no prepare covers. */
static int64_t uncovered_rows(rt_pb *pb)
{
    int64_t rows = 0;
    pml_mutex__lock(&pb->prepare_mu);
    for (size_t i = 0; i < pb->n_queue; i++)
        if (pb->queue[i].state == RT_SEGMENT_SEALED)
            rows += pb->queue[i].note.rows;
    pml_mutex__lock(&pb->write_mu);
    rows += pb->building.rows;
    pml_mutex__unlock(&pb->write_mu);
    pml_mutex__unlock(&pb->prepare_mu);
    return rows;
}

int pml_rt_writer_close(pml_rt_writer *w, pml_error *err)
{
    rt_pb **pbs;
    size_t n;
    int64_t rows = 0;
    char first[PML_PB_NAME_BYTES] = "";
    size_t n_uncovered = 0;
    if (w == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_rt_context__check_process(w->ctx, err));
    PML_RETURN_IF(pml_rt_pb__list(&pbs, &n, w->ctx, err));
    for (size_t i = 0; i < n; i++) {
        int64_t r = uncovered_rows(pbs[i]);
        if (r > 0 && n_uncovered++ == 0)
            memcpy(first, pbs[i]->name, sizeof first);
        rows += r;
    }
    pml_rt_pb__release_list(w->env, pbs, n);
    if (rows > 0 && !atomic_load(&w->ctx->poisoned))
        return pml_error__at(err, PML_E_STATE, PML_PLACE_PB, first,
                             "%lld rows of %zu partition-buckets (%s first) are not covered by a prepare: prepare and commit, or abort "
                             "the writer",
                             (long long)rows, n_uncovered, first);
    writer_free(w);
    return PML_OK;
}

/* Plans leave the memory of such a PB out; entries of its prepares may still be committed. */
static void drop_uncovered(pml_rt_context *c, rt_pb *pb)
{
    int active = RT_PB_ACTIVE;
    int64_t rows = uncovered_rows(pb);
    if (rows == 0)
        return;
    atomic_store(&c->dropped_rows, true);
    (void)atomic_compare_exchange_strong(&pb->state, &active, RT_PB_RESET_REQUIRED);
    (void)atomic_fetch_sub(&c->uncommitted_rows, rows);
}

void pml_rt_writer_abort(pml_rt_writer *w)
{
    rt_pb **pbs;
    size_t n;
    if (w == NULL)
        return;
    if (pml_rt_pb__list(&pbs, &n, w->ctx, NULL) == PML_OK) {
        for (size_t i = 0; i < n; i++)
            drop_uncovered(w->ctx, pbs[i]);
        pml_rt_pb__release_list(w->env, pbs, n);
    } else {
        atomic_store(&w->ctx->dropped_rows, true); /* nobody knows: no writer may go on from here */
    }
    writer_free(w);
}

int pml_rt_seal(pml_rt_writer *w, pml_error *err)
{
    rt_pb **pbs;
    size_t n;
    int rc = PML_OK;
    PML_RETURN_IF(pml_rt_context__check(w->ctx, err));
    PML_RETURN_IF(pml_rt_pb__list(&pbs, &n, w->ctx, err));
    for (size_t i = 0; rc == PML_OK && i < n; i++)
        rc = pml_rt_pb__seal(pbs[i], err);
    pml_rt_pb__release_list(w->env, pbs, n);
    return rc;
}
