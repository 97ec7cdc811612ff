/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of partition-buckets: finding, making, counting. */
#include <stdlib.h>
#include <string.h>

#include "realtime/rt_context.h"
#include "realtime/rt_registry.h"
#include "realtime/rt_stream_check.h"

/* ---- life of an entry ---- */

void pml_rt_pb__acquire(rt_pb *pb)
{
    (void)atomic_fetch_add_explicit(&pb->refs, 1, memory_order_relaxed);
}

void pml_rt_pb__release(rt_pb *pb)
{
    if (pb == NULL || atomic_fetch_sub_explicit(&pb->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = pb->ctx->env;
    pml_rt__assert_store_call();
    for (size_t i = 0; i < pb->n_queue; i++) {
        if (pb->queue[i].handle != NULL)
            pb->vt->segment_release(pb->queue[i].handle);
        pml_rt_note__clear(&pb->queue[i].note, env);
    }
    pml_env__free(env, pb->queue);
    pml_rt_note__clear(&pb->building, env);
    if (pb->store != NULL) {
        (void)pb->vt->close(pb->store, 0, NULL);
        pb->vt->release(pb->store);
    }
    pml_mutex__destroy(&pb->prepare_mu);
    pml_mutex__destroy(&pb->write_mu);
    pml_mutex__destroy(&pb->advance_mu);
    pml_arena__clear(&pb->arena);
    pml_env__free(env, pb);
}

static rt_pb *pb_new(pml_rt_context *c, const pml_pb_key *key)
{
    rt_pb *pb = pml_env__calloc(c->env, 1, sizeof *pb);
    if (pb == NULL)
        return NULL;
    atomic_init(&pb->refs, 1);
    pb->ctx = c;
    pb->adopted_end = pb->committed_id = -1;
    atomic_init(&pb->building_since_ns, -1);
    atomic_init(&pb->building_sequence, -1);
    atomic_init(&pb->sealed_since_ns, -1);
    pb->total_buckets = c->table->options.bucket > 0 ? c->table->options.bucket : -1;
    pml_arena__init(&pb->arena, c->env);
    pml_mutex__init(&pb->prepare_mu, "pb.prepare_mu", RT_RANK_PREPARE);
    pml_mutex__init(&pb->write_mu, "pb.write_mu", RT_RANK_WRITE);
    pml_mutex__init(&pb->advance_mu, "pb.advance_mu", RT_RANK_ADVANCE);
    pb->key.bucket = key->bucket;
    pb->key.partition.ptr = pml_arena__copy(&pb->arena, key->partition.ptr, key->partition.len);
    pb->key.partition.len = key->partition.len;
    if (pb->key.partition.ptr == NULL) {
        pml_rt_pb__release(pb);
        return NULL;
    }
    return pb;
}

/* ---- opening a store ---- */

static int backend_get(pml_rt_context *c, pml_error *err)
{
    /* Only the one writer opens stores, so there is no second opener to race with. */
    if (c->backend != NULL)
        return PML_OK;
    void *backend = NULL;
    int rc = c->plugin->open(&backend, pml_rt_host__services(c->host), 0, NULL, err);
    if (rc != PML_OK)
        return pml_rt_stream__plugin_code(rc, err, "open", c->plugin->name);
    c->backend = backend;
    return PML_OK;
}

static pml_rt_str str_of(const char *s)
{
    return (pml_rt_str){s, strlen(s)};
}

static int options_of(pml_rt_kv **out, pml_arena *arena, const pml_rt_context *c)
{
    *out = pml_arena__array(arena, c->n_all_options, sizeof **out);
    for (size_t i = 0; *out != NULL && i < c->n_all_options; i++)
        (*out)[i] = (pml_rt_kv){str_of(c->all_options[i].key), str_of(c->all_options[i].value)};
    return *out == NULL ? PML_E_NOMEM : PML_OK;
}

bool pml_rt_context__may_collapse(const pml_rt_context *c)
{
    const pml_table_options *o = &c->table->options;
    /* What ignore-delete passes over never reaches a store (rt_write_keyed.c), so it cannot stand for rows that count. */
    return c->options.rt_collapse == PML_RT_COLLAPSE_AUTO && c->function.kind == PML_MERGE_LAST &&
           o->changelog_producer != PML_CHANGELOG_INPUT;
}

static int store_open(rt_pb *pb, int64_t committed_end, pml_error *err)
{
    pml_rt_context *c = pb->ctx;
    const pml_table_schema *s = c->table->schema;
    struct ArrowSchema schema = {0};
    pml_arena scratch;
    pml_rt_kv *options, *partition;
    uint32_t *keys;
    bool keyed = s->n_keys > 0;
    int rc;
    pml_arena__init(&scratch, c->env);
    PML_TRY(pml_type__export(&schema, c->env, c->transport, c->n_transport, err));
    partition = pml_arena__array(&scratch, s->n_partition_keys, sizeof *partition);
    keys = pml_arena__array(&scratch, s->n_keys, sizeof *keys);
    for (size_t i = 0; keys != NULL && i < s->n_keys; i++)
        keys[i] = (uint32_t)(s->key_index[i] + PML_RT_KEYED_SYSTEM);
    if (partition == NULL || keys == NULL || options_of(&options, &scratch, c) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < s->n_partition_keys; i++)
        partition[i] = (pml_rt_kv){str_of(s->partition_keys[i]), str_of(pb->texts.partition[i])};
    pml_rt_store_params p = {
        .struct_size = sizeof p,
        .mode = c->layout->mode,
        .host = pml_rt_host__services(c->host),
        .schema = &schema,
        .schema_id = s->id,
        .table_path = str_of(c->table->path),
        .branch = str_of(c->table->options.branch),
        .n_partition = s->n_partition_keys,
        .partition = partition,
        .bucket = pb->key.bucket,
        .total_buckets = pb->total_buckets,
        .n_options = c->n_all_options,
        .options = options,
        .committed_end = committed_end,
        .stats_mode = (uint32_t)c->options.rt_stats_mode,
        .flags = keyed ? (pml_rt_context__may_collapse(c) ? 1u : 0) : c->options.rt_offset_external ? 0 : 2u,
        .n_key_columns = (uint32_t)s->n_keys,
        .key_columns = keys,
    };
    memcpy(p.lineage, pb->lineage.bytes, sizeof p.lineage);
    pml_rt__assert_store_call();
    rc = c->plugin->store_open(c->backend, &pb->store, &pb->vt, &p, err);
    if (rc != PML_OK) {
        pb->store = NULL;
        rc = pml_rt_stream__plugin_code(rc, err, "store_open", pb->name);
        goto out;
    }
    rc = pml_rt_plugin__check_store(c->plugin, pb->store, pb->vt, err);
    if (rc != PML_OK)
        pb->store = NULL; /* there may be no function to close it */
out:
    pml_schema__release(&schema);
    pml_arena__clear(&scratch);
    return rc;
}

/* The committed end and lineage that the progress says; a PB that was never committed starts a lineage of its own. */
static int start_of(int64_t *end, rt_pb *pb, const pml_effective *progress, pml_error *err)
{
    const pml_progress_entry *e = NULL;
    *end = 0;
    switch (pml_progress__state(&progress->progress, &pb->texts, &e)) {
    case PML_PROGRESS_LOST:
        return pml_error__at(err, PML_E_PROGRESS_LOST, PML_PLACE_PB, pb->name,
                             "the committed progress of %s is lost: another writer overwrote the partition, or the snapshot that "
                             "recorded it expired. State it anew, or set realtime.foreign-overwrite",
                             pb->name);
    case PML_PROGRESS_KNOWN:
        *end = e->end;
        pb->lineage = e->lineage;
        pb->committed_id = e->reset.present ? -1 : progress->snapshot_id;
        pb->seen_user = pml_rt_print__of_user(e->commit_user);
        break;
    case PML_PROGRESS_ABSENT: break;
    }
    pb->adopted_end = *end;
    return pb->lineage.known ? PML_OK : pml_lineage__draw(&pb->lineage, pb->ctx->env, err);
}

static int pb_open(rt_pb **out, pml_rt_context *c, const pml_pb_key *key, const pml_effective *progress, int64_t first_sequence,
                   pml_error *err)
{
    int64_t end;
    int rc;
    *out = NULL;
    rt_pb *pb = pb_new(c, key);
    if (pb == NULL)
        return pml_error__no_memory(err);
    PML_TRY(pml_pb_texts__of_key(&pb->texts, &pb->arena, c->table->schema, &c->table->options, &pb->key, err));
    pml_pb_texts__name(pb->name, c->table->schema->partition_keys, &pb->texts);
    PML_TRY(start_of(&end, pb, progress, err));
    PML_TRY(backend_get(c, err));
    PML_TRY(store_open(pb, end, err));
    pb->base_end = pb->next_offset = pb->cover_begin = pb->reclaimed_end = end;
    if (c->layout->mode != PML_RT_MODE_APPEND)
        PML_TRY(pml_rt_sequences__restore(&first_sequence, pb, progress, err));
    pb->next_sequence = first_sequence;
    *out = pb;
    pb = NULL;
out:
    pml_rt_pb__release(pb);
    return rc;
}

/* ---- registry ---- */

static rt_pb *find_encoded(pml_rt_context *c, const pml_buf *key)
{
    pml_rwlock__read(&c->registry);
    rt_pb *pb = pml_map__get(&c->pbs, key->data, key->len);
    if (pb != NULL)
        pml_rt_pb__acquire(pb);
    pml_rwlock__unlock(&c->registry);
    return pb;
}

/* A null, an empty and a blank partition value are three partitions with one path and one text, so one progress entry: only one of
   them can be written live at a time, or their offsets would be mixed up. */
static int register_locked(pml_rt_context *c, rt_pb *made, const pml_buf *key, pml_error *err)
{
    pml_buf texts;
    int rc = PML_OK;
    if (c->pbs.live >= RT_PBS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "a context holds at most %d partition-buckets", RT_PBS_MAX);
    pml_buf__init(&texts, c->env, PML_BINARY_ROW_MAX);
    if (pml_pb_texts__encode(&texts, &made->texts) != PML_OK)
        rc = pml_error__no_memory(err);
    else if (pml_map__has(&c->pbs_by_texts, texts.data, texts.len))
        rc = pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_PB, made->name,
                           "needs distinct partition texts: %s stands for null, '' and blank values alike, and this context writes "
                           "another of them already",
                           made->name);
    else if (pml_map__put(&c->pbs_by_texts, texts.data, texts.len, made, NULL) != PML_OK)
        rc = pml_error__no_memory(err);
    if (rc == PML_OK && pml_map__put(&c->pbs, key->data, key->len, made, NULL) != PML_OK) {
        (void)pml_map__remove(&c->pbs_by_texts, texts.data, texts.len);
        rc = pml_error__no_memory(err);
    }
    pml_buf__clear(&texts);
    return rc;
}

int pml_rt_pb__find(rt_pb **out, pml_rt_context *c, const pml_pb_key *key, pml_error *err)
{
    pml_buf encoded;
    pml_buf__init(&encoded, c->env, PML_BINARY_ROW_MAX);
    int rc = pml_pb_key__encode(&encoded, key);
    *out = rc == PML_OK ? find_encoded(c, &encoded) : NULL;
    pml_buf__clear(&encoded);
    return rc == PML_OK ? rc : pml_error__no_memory(err);
}

/* Before anybody sees the PB: an advance that read older progress begins anew, a plan looks for newer snapshots. While the table was
   rolled back from what the context saw, that point stays, so that the next advance notices. */
static int note_opened(pml_rt_context *c, const pml_effective *progress, pml_error *err)
{
    rt_point now, newest;
    bool rewritten;
    if (progress->snapshot_id < 0)
        return PML_OK;
    now = pml_rt_point__of(&progress->snapshot);
    pml_mutex__lock(&c->progress_mu);
    newest = c->advanced.id > c->opened.id ? c->advanced : c->opened;
    pml_mutex__unlock(&c->progress_mu);
    if (now.id <= newest.id)
        return PML_OK;
    PML_RETURN_IF(pml_rt_point__check(&rewritten, &newest, c->table, err));
    pml_mutex__lock(&c->progress_mu);
    if (!rewritten && now.id > c->opened.id && now.id > c->advanced.id)
        c->opened = now;
    pml_mutex__unlock(&c->progress_mu);
    return PML_OK;
}

int pml_rt_pb__get(rt_pb **out, pml_rt_context *c, const pml_pb_key *key, const pml_effective *progress, int64_t first_sequence,
                   pml_error *err)
{
    pml_buf encoded;
    rt_pb *made = NULL;
    int rc = PML_OK;
    *out = NULL;
    pml_buf__init(&encoded, c->env, PML_BINARY_ROW_MAX);
    if (pml_pb_key__encode(&encoded, key) != PML_OK) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    *out = find_encoded(c, &encoded);
    if (*out != NULL)
        goto out;
    /* Without a lock: opening a store may take its time. The caller's create lock keeps a second opener away. */
    PML_TRY(pb_open(&made, c, key, progress, first_sequence, err));
    PML_TRY(note_opened(c, progress, err));
    pml_rwlock__write(&c->registry);
    rc = register_locked(c, made, &encoded, err);
    pml_rwlock__unlock(&c->registry);
    if (rc != PML_OK)
        goto out;
    pml_rt_pb__acquire(made); /* one for the registry, one for the caller */
    *out = made;
    made = NULL;
out:
    pml_rt_pb__release(made);
    pml_buf__clear(&encoded);
    return rc;
}

static int compare_pbs(const void *pa, const void *pb)
{
    return pml_pb_key__compare(&(*(rt_pb *const *)pa)->key, &(*(rt_pb *const *)pb)->key);
}

int pml_rt_pb__list(rt_pb ***out, size_t *n, pml_rt_context *c, pml_error *err)
{
    const pml_map_entry *e;
    *n = 0;
    pml_rwlock__read(&c->registry);
    *out = pml_env__calloc(c->env, c->pbs.live, sizeof **out);
    for (size_t i = 0; *out != NULL && (e = pml_map__next(&c->pbs, &i)) != NULL;) {
        pml_rt_pb__acquire(e->value);
        (*out)[(*n)++] = e->value;
    }
    pml_rwlock__unlock(&c->registry);
    if (*out == NULL)
        return pml_error__no_memory(err);
    if (*n > 1)
        qsort(*out, *n, sizeof **out, compare_pbs);
    return PML_OK;
}

void pml_rt_pb__release_list(pml_env *env, rt_pb **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pml_rt_pb__release(v[i]);
    pml_env__free(env, v);
}

/* ---- states ---- */

int pml_rt_pb__check_state(const rt_pb *pb, pml_error *err)
{
    switch ((rt_pb_state)atomic_load(&((rt_pb *)pb)->state)) {
    case RT_PB_ACTIVE: return PML_OK;
    case RT_PB_FAILED:
        return pml_error__at(err, PML_E_RECREATE, PML_PLACE_PB, pb->name, "%s failed: make the context and the writer anew", pb->name);
    case RT_PB_RESET_REQUIRED:
        return pml_error__at(err, PML_E_RECREATE, PML_PLACE_PB, pb->name,
                             "the committed progress of %s was reset by an overwrite or a rollback, or another live writer "
                             "committed to it: make the context and the writer anew and replay from the committed end",
                             pb->name);
    case RT_PB_LOST:
        return pml_error__at(err, PML_E_PROGRESS_LOST, PML_PLACE_PB, pb->name,
                             "the committed progress of %s is lost: another writer overwrote its partition. State it anew "
                             "(pml_rt_progress_repair, pml offsets repair), or set realtime.foreign-overwrite",
                             pb->name);
    }
    return PML_OK;
}

void pml_rt_pb__refuse(rt_pb *pb, rt_pb_state to, const char *why)
{
    int active = RT_PB_ACTIVE, lost = RT_PB_LOST;
    if (atomic_compare_exchange_strong(&pb->state, &active, (int)to) ||
        (to == RT_PB_RESET_REQUIRED && atomic_compare_exchange_strong(&pb->state, &lost, (int)to)))
        pml_env__log(pb->ctx->env, PML_LOG_WARN, "realtime", "%s: %s; make the context anew and replay from the committed end", pb->name,
                     why);
}

void pml_rt_pb__saw_committed_locked(rt_pb *pb, int64_t snapshot_id)
{
    if (pb->committed_id < 0 || snapshot_id < pb->committed_id)
        pb->committed_id = snapshot_id;
}

int pml_rt_pb__store_failed(rt_pb *pb, int code, pml_error *err, const char *what)
{
    pml_error own = PML_ERROR_INIT;
    if (err != NULL && err->code == code)
        own = *err;
    int to = pml_rt_stream__plugin_code(code, &own, what, pb->name);
    if (err != NULL)
        *err = own;
    if ((own.flags & PML_ERRF_NO_EFFECT) != 0)
        return to;
    atomic_store(&pb->state, RT_PB_FAILED);
    (void)pml_rt_context__poison(pb->ctx, NULL, "the store of %s failed in '%s': %.150s", pb->name, what, own.message);
    return to;
}
