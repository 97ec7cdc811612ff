/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repair of lost progress (7.4): somebody who knows says up to where a lost partition-bucket is committed, and a commit without files
 * writes that down. It runs under a user of its own, so that it never takes part in the identity checks of 9.5.
 */
#include <stdio.h>

#include "realtime/rt_commit.h"

enum { STATEMENTS_MAX = 1000000, KEY_BYTES_MAX = 16 * 1024 * 1024 };

#define REPAIR_USER "pml-repair-"

typedef struct repair {
    pml_table *table;
    const char *user;
    pml_arena arena;
    size_t n;
    pml_progress_statement *v;
    pml_map by_texts; /* encoded texts -> statement */
    char *written;    /* progress file of the running attempt */
} repair;

/* ---- what is stated ---- */

static int encode(pml_buf *key, pml_env *env, const pml_pb_texts *texts, pml_error *err)
{
    pml_buf__init(key, env, KEY_BYTES_MAX);
    (void)pml_pb_texts__encode(key, texts);
    return pml_buf__check(key, err);
}

static int say(pml_error *err, int code, const repair *k, const pml_pb_texts *pb, const char *what)
{
    char name[PML_PB_NAME_BYTES];
    pml_pb_texts__name(name, k->table->schema->partition_keys, pb);
    return pml_error__at(err, code, PML_PLACE_PB, name, "%s: %s", name, what);
}

static int add_statement(repair *k, const pml_rt_statement *s, pml_error *err)
{
    const char *texts[PML_PB_KEYS_MAX];
    pml_progress_statement *to = &k->v[k->n];
    pml_buf key;
    int rc;
    size_t n = k->table->schema->n_partition_keys;
    if (n > PML_PB_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%s has more than %d partition keys", k->table->path, PML_PB_KEYS_MAX);
    PML_RETURN_IF(pml_pb_texts__of_public(&to->pb, texts, n, k->table->options.partition_default_name, s->pb, err));
    to->pb.partition = pml_arena__copy(&k->arena, texts, n * sizeof *texts);
    if (n > 0 && to->pb.partition == NULL)
        return pml_error__no_memory(err);
    to->end = s->end;
    if (s->end < 0)
        return say(err, PML_E_INVAL, k, &to->pb, "a committed end is 0 or more");
    PML_TRY(encode(&key, k->table->env, &to->pb, err));
    if (pml_map__has(&k->by_texts, key.data, key.len))
        rc = say(err, PML_E_INVAL, k, &to->pb, "its end is stated twice");
    else if (pml_map__put(&k->by_texts, key.data, key.len, to, NULL) != PML_OK)
        rc = pml_error__no_memory(err);
    k->n += rc == PML_OK;
out:
    pml_buf__clear(&key);
    return rc;
}

static int add_statements(repair *k, const pml_rt_statement *statements, size_t n, pml_error *err)
{
    if (n > STATEMENTS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu statements at once; the limit is %d", n, STATEMENTS_MAX);
    PML_RETURN_IF(pml_error__need_array(statements, n, "statements", err));
    k->v = pml_arena__array(&k->arena, n, sizeof *k->v);
    if (k->v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(add_statement(k, &statements[i], err));
    return PML_OK;
}

/* ---- what is there ---- */

/* Every partition-bucket with live files must be stated: one that is left out would count as never committed. */
static int require_all(const repair *k, const pml_commit_base *base, pml_error *err)
{
    pml_manifest_entries live;
    pml_buf key;
    int rc = PML_OK;
    PML_RETURN_IF(pml_table__live_files(&live, base->arena, k->table, base->latest, NULL, err));
    for (size_t i = 0; rc == PML_OK && i < live.n; i++) {
        const pml_pb_key pb = {live.v[i].partition, live.v[i].bucket};
        pml_pb_texts texts;
        bool same = i > 0 && live.v[i - 1].bucket == pb.bucket && pml_bytes_compare(live.v[i - 1].partition, pb.partition) == 0;
        if (same)
            continue;
        PML_RETURN_IF(pml_pb_texts__of_key(&texts, base->arena, k->table->schema, &k->table->options, &pb, err));
        rc = encode(&key, k->table->env, &texts, err);
        if (rc == PML_OK && !pml_map__has(&k->by_texts, key.data, key.len))
            rc = say(err, PML_E_INVAL, k, &texts,
                     "it has files, and its end is not stated. Nothing is known of this table's progress any more: the repair must "
                     "state every partition-bucket that has files (0: replay it from the start)");
        pml_buf__clear(&key);
    }
    return rc;
}

/* Only what is lost may be stated; the last known end of anything else is the end. *nothing: all is as stated already. */
static int check_statements(bool *nothing, const repair *k, const pml_effective *eff, pml_error *err)
{
    *nothing = !eff->progress.all_lost;
    for (size_t i = 0; i < k->n && !eff->progress.all_lost; i++) {
        const pml_progress_entry *e = NULL;
        pml_progress_state state = pml_progress__state(&eff->progress, &k->v[i].pb, &e);
        int64_t end = state == PML_PROGRESS_ABSENT ? 0 : e->end;
        if (state != PML_PROGRESS_LOST && end != k->v[i].end) {
            char what[120];
            (void)snprintf(what, sizeof what, "its progress is not lost: the committed end is %lld", (long long)end);
            return say(err, PML_E_INVAL, k, &k->v[i].pb, what);
        }
        *nothing = *nothing && state != PML_PROGRESS_LOST;
    }
    return PML_OK;
}

/* ---- the commit ---- */

static int repair_decide(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    repair *k = arg;
    pml_effective *eff = NULL;
    int rc;
    pml_progress__unpublish(&k->written, k->table->env, false); /* of an attempt that may be visible */
    if (base->latest == NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_SNAPSHOT, k->table->path, "%s has no snapshot: nothing is lost", k->table->path);
    PML_TRY(pml_effective__load_to_repair(&eff, k->table, base->latest, err));
    PML_TRY(check_statements(&d->nothing, k, eff, err));
    d->result_id = base->latest->id;
    d->identifier = PML_COMMIT_IDENTIFIER_BATCH;
    if (d->nothing)
        goto out;
    if (eff->progress.all_lost)
        PML_TRY(require_all(k, base, err));
    const pml_progress_build build = {.base = eff,
                                      .snapshot_id = base->new_id,
                                      .commit_user = k->user,
                                      .commit_identifier = d->identifier,
                                      .n_stated = k->n,
                                      .stated = k->v,
                                      .flags = eff->progress.all_lost ? PML_PROGRESS_COMPLETE : 0};
    PML_TRY(pml_rt_commit__progress(d, &k->written, k->table, &build, base->arena, err));
out:
    if (rc != PML_OK)
        pml_progress__unpublish(&k->written, k->table->env, true);
    pml_effective__release(eff);
    return rc;
}

static void repair_undo(void *arg)
{
    repair *k = arg;
    pml_progress__unpublish(&k->written, k->table->env, true);
}

static int commit(pml_rt_commit_result *out, repair *k, pml_error *err)
{
    char uuid[37], user[sizeof REPAIR_USER + sizeof uuid];
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    const pml_commit_request request = {.arg = k, .decide = repair_decide, .undo = repair_undo, .kind = PML_COMMIT_APPEND};
    PML_RETURN_IF(pml_env__uuid(k->table->env, uuid, err));
    (void)snprintf(user, sizeof user, REPAIR_USER "%s", uuid);
    PML_RETURN_IF(pml_commit_open(&c, k->table, user, err));
    k->user = user;
    int rc = pml_commit__execute(&r, c, &request, err);
    if (rc == PML_OK) {
        out->snapshot_id = out->latest_id = r.snapshot_id;
        out->attempts = r.attempts;
        out->already_committed = r.already_committed;
    }
    pml_progress__unpublish(&k->written, k->table->env, false);
    pml_commit_close(c);
    return rc;
}

int pml_rt_progress_repair(pml_rt_commit_result *out, pml_table *table, const pml_rt_statement *statements, size_t n, pml_error *err)
{
    repair k = {.table = table};
    pml_rt_commit_result unwanted = PML_RT_COMMIT_RESULT_INIT;
    int rc;
    if (out == NULL)
        out = &unwanted;
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_commit_result.struct_size is %zu, this library knows %zu", out->struct_size,
                              sizeof *out);
    *out = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    out->snapshot_id = out->latest_id = -1;
    pml_arena__init(&k.arena, table->env);
    pml_map__init(&k.by_texts, table->env);
    PML_TRY(add_statements(&k, statements, n, err));
    PML_TRY(commit(out, &k, err));
out:
    pml_map__clear(&k.by_texts, NULL);
    pml_arena__clear(&k.arena);
    return rc;
}
