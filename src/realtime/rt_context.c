/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_context.h"

#include <stdio.h>
#include <string.h>

#include "merge/merge_options.h"
#include "meta/options_table.h"
#include "realtime/rt_registry.h"
#include "stores/memory.h"

/* ---- life ---- */

/* What a table says and nobody knows is kept, as Java does. What is said in a call is misspelt then, or of a later phase and would be missed.
   A store has names of its own. */
static int check_override(const char *key, pml_error *err)
{
    static const char ours[] = "realtime.", of_store[] = "realtime.store.";
    if (strncmp(key, ours, sizeof ours - 1) != 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, key, "'%s' is no option of a real-time context: only realtime.* are", key);
    const pml_option_rule *rule = pml_option_rule__find(key);
    if ((rule == NULL || rule->treatment == PML_OPTION_IGNORED) && strncmp(key, of_store, sizeof of_store - 1) != 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, key, "there is no option '%s': docs/core-options.md lists those there are", key);
    return PML_OK;
}

static int copy_overrides(pml_rt_context *c, const pml_rt_context_options *o, pml_error *err)
{
    if (o == NULL || o->n_options == 0)
        return PML_OK;
    PML_RETURN_IF(pml_table__check_pairs(o->options, o->n_options, "options", err));
    c->overrides = pml_arena__array(&c->arena, o->n_options, sizeof *c->overrides);
    if (c->overrides == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < o->n_options; i++) {
        PML_RETURN_IF(check_override(o->options[i].key, err));
        pml_option_pair *to = &c->overrides[c->n_overrides++];
        to->key = pml_arena__strdup(&c->arena, o->options[i].key);
        to->value = pml_arena__strdup(&c->arena, o->options[i].value);
        if (to->key == NULL || to->value == NULL)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

int pml_rt_context_open(pml_rt_context **out, pml_env *env, const pml_rt_context_options *options, pml_error *err)
{
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (options != NULL && options->struct_size != sizeof *options)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_context_options.struct_size is %zu, this library knows %zu",
                              options->struct_size, sizeof *options);
    if (options != NULL && options->store != NULL)
        PML_RETURN_IF(pml_rt_plugin__check(options->store, err));
    pml_rt_context *c = pml_env__calloc(env, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    atomic_init(&c->refs, 1);
    atomic_init(&c->owners, 1);
    c->env = env;
    c->forks = pml_process__forks();
    c->plugin = options == NULL ? NULL : options->store;
    c->advanced = c->opened = c->durable = RT_NO_POINT;
    c->planned_id = -1;
    atomic_init(&c->reanchor_at_ns, INT64_MAX);
    pml_arena__init(&c->arena, env);
    pml_map__init(&c->pbs, env);
    pml_map__init(&c->pbs_by_texts, env);
    pml_rwlock__init(&c->registry, "ctx.registry", RT_RANK_REGISTRY);
    pml_mutex__init(&c->flight_mu, "ctx.flight_mu", 0);
    pml_mutex__init(&c->progress_mu, "ctx.progress_mu", RT_RANK_PROGRESS);
    pml_effective_cache__init(&c->effective_cache);
    pml_rt_sequences__init(&c->sequences, env);
    pml_rt_tickets__init(&c->tickets, env);
    pml_rt_counts__init(&c->counts);
    PML_TRY(copy_overrides(c, options, err));
    PML_TRY(pml_rt_host__new(&c->host, env, err));
    *out = c;
    c = NULL;
out:
    if (c != NULL)
        pml_rt_context_close(c);
    return rc;
}

void pml_rt_context_acquire(pml_rt_context *c)
{
    (void)atomic_fetch_add_explicit(&c->owners, 1, memory_order_relaxed);
    pml_rt_context__acquire(c);
}

void pml_rt_context__acquire(pml_rt_context *c)
{
    (void)atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void context_free(pml_rt_context *c)
{
    pml_env *env = c->env;
    const pml_map_entry *e;
    pml_rt_tickets__end(c);
    pml_rt_tickets__clear(&c->tickets);
    pml_rt_counts__clear(&c->counts);
    for (size_t i = 0; (e = pml_map__next(&c->pbs, &i)) != NULL;)
        pml_rt_pb__release(e->value);
    pml_map__clear(&c->pbs, NULL);
    pml_map__clear(&c->pbs_by_texts, NULL);
    if (c->backend != NULL)
        c->plugin->close(c->backend);
    pml_rt_host__release(c->host);
    pml_effective_cache__clear(&c->effective_cache);
    pml_rt_sequences__clear(&c->sequences);
    pml_rwlock__destroy(&c->registry);
    pml_mutex__destroy(&c->progress_mu);
    pml_mutex__destroy(&c->flight_mu);
    pml_bucket_assigner__free(c->assigner);
    if (c->function.drop != NULL)
        c->function.drop(c->function.self);
    pml_table_release(c->table);
    pml_arena__clear(&c->arena);
    pml_env__free(env, c);
    pml_env_release(env);
}

void pml_rt_context__release(pml_rt_context *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        context_free(c);
}

void pml_rt_context_close(pml_rt_context *c)
{
    if (c == NULL)
        return;
    /* Other owners may go on reading; nobody may start something new once all handles of callers are closed. With one caller,
       the usual case, that is now. */
    if (atomic_fetch_sub_explicit(&c->owners, 1, memory_order_acq_rel) == 1) {
        atomic_store(&c->closed, true);
        pml_rt_context__drop_flight(c);
        pml_rt_tickets__end(c);
        if (c->host != NULL)
            pml_rt_host__end(c->host);
    }
    pml_rt_context__release(c);
}

/* ---- checks ---- */

int pml_rt_context__check_process(const pml_rt_context *c, pml_error *err)
{
    if (c->forks != pml_process__forks())
        return pml_error__set(err, PML_E_STATE, "a real-time context cannot be used in a forked child: open a new one there");
    return PML_OK;
}

int pml_rt_context__check(pml_rt_context *c, pml_error *err)
{
    PML_RETURN_IF(pml_rt_context__check_process(c, err));
    if (atomic_load(&c->poisoned))
        return pml_error__set(err, PML_E_RECREATE,
                              "the real-time context must be made anew, with its writer, and the source replayed from the committed "
                              "ends: %.256s",
                              c->poison_reason);
    if (atomic_load(&c->closed))
        return pml_error__set(err, PML_E_STATE, "the real-time context is closed");
    return PML_OK;
}

int pml_rt_context__poison(pml_rt_context *c, pml_error *err, const char *format, ...)
{
    bool no = false;
    char reason[sizeof c->poison_reason];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    /* The first reason stays; `poisoning` makes sure that nobody reads half of it. */
    if (atomic_compare_exchange_strong(&c->poisoning, &no, true)) {
        memcpy(c->poison_reason, reason, sizeof reason);
        atomic_store(&c->poisoned, true);
    }
    pml_env__log(c->env, PML_LOG_ERROR, "realtime", "%s", reason);
    return pml_error__set(err, PML_E_RECREATE, "the real-time context must be made anew: %.300s", reason);
}

void pml_rt_context__metric_time(atomic_llong *sum, atomic_llong *max, int64_t ns)
{
    (void)atomic_fetch_add_explicit(sum, ns, memory_order_relaxed);
    long long seen = atomic_load_explicit(max, memory_order_relaxed);
    while (ns > seen && !atomic_compare_exchange_weak_explicit(max, &seen, ns, memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* ---- binding to a table ---- */

static int bind_options(pml_rt_context *c, pml_table *t, pml_error *err)
{
    if (t->other != NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs scan.fallback-branch: %s shows partitions of branch %s; whether it lacks a partition whose rows are in "
                             "memory only is not defined: give an empty scan.fallback-branch (or scan.primary-branch) when it is opened",
                             t->path, t->other->branch);
    size_t n = t->schema->n_options + t->n_overrides + c->n_overrides, at = 0;
    pml_option *all = pml_arena__array(&c->arena, n, sizeof *all);
    pml_option *over = pml_arena__array(&c->arena, t->n_overrides + c->n_overrides, sizeof *over);
    if (all == NULL || over == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < t->schema->n_options; i++)
        all[at++] = t->schema->options[i];
    for (size_t i = 0; i < t->n_overrides; i++)
        all[at++] = over[i] = t->overrides[i];
    for (size_t i = 0; i < c->n_overrides; i++)
        all[at++] = over[t->n_overrides + i] = (pml_option){c->overrides[i].key, c->overrides[i].value};
    c->all_options = all;
    c->n_all_options = n;
    PML_RETURN_IF(pml_table_options__parse(&c->options, t->schema, over, t->n_overrides + c->n_overrides, false, t->path, err));
    for (size_t i = 0; i < n; i++) { /* what stores read by themselves, and cannot refuse */
        const pml_option_rule *rule = pml_option_rule__find(all[i].key);
        if (rule != NULL && strncmp(rule->key, "realtime.", strlen("realtime.")) == 0)
            PML_RETURN_IF(pml_option__check_value(rule, all[i].key, all[i].value, t->path, err));
    }
    if (t->schema->n_primary_keys > 0)
        PML_RETURN_IF(pml_rt_context__check_keyed(t, &c->options, err));
    if (!c->options.realtime_enabled)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, "realtime.enabled",
                             "needs realtime.enabled=true: %s does not allow real-time reads and writes (pml table create --live sets it)",
                             t->path);
    return PML_OK;
}

/* Statistics of mode "keys": the primary key, of an append table the bucket key. */
static int set_key_columns(pml_rt_context *c, const pml_table_schema *s, pml_error *err)
{
    const int32_t *columns = s->n_keys > 0 ? s->key_index : s->bucket_index;
    size_t n = s->n_keys > 0 ? s->n_keys : s->n_bucket_keys;
    int32_t *ids = pml_arena__array(&c->arena, n, sizeof *ids);
    if (ids == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        ids[i] = s->fields[columns[i]].id;
    return pml_rt_host__set_key_columns(c->host, s->id, ids, n, err);
}

static int set_stream_fields(pml_rt_context *c, pml_error *err)
{
    pml_field *f = pml_arena__array(&c->arena, c->n_transport, sizeof *f);
    if (f == NULL)
        return pml_error__no_memory(err);
    memcpy(f, c->transport, c->n_transport * sizeof *f);
    memmove(f + 1, f, c->layout->offset_column * sizeof *f);
    f[0] = c->transport[c->layout->offset_column];
    c->stream_fields = f;
    c->n_stream_fields = c->n_transport;
    return PML_OK;
}

/* How rows with keys are ordered and merged. */
static int bind_keyed(pml_rt_context *c, pml_table *t, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    const pml_merge_options options = {s, t->overrides, t->n_overrides};
    size_t n;
    int32_t *sequence = pml_arena__array(&c->arena, s->n_fields, sizeof *sequence);
    if (sequence == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_merge_options__sequence_columns(sequence, &n, &options, t->path, err));
    PML_RETURN_IF(pml_rt_host__set_order(c->host, s->id, s->key_index, s->n_keys, sequence, n,
                                         t->options.sequence_order == PML_SEQUENCE_DESCENDING, err));
    if (c->function.drop != NULL) /* of an earlier try */
        c->function.drop(c->function.self);
    c->function = (pml_merge_function){0};
    PML_RETURN_IF(pml_keyed_rows__init(&c->rows, &c->arena, t, &c->shape, err));
    PML_RETURN_IF(pml_keyed_rows__function(&c->function, &c->rows, err));
    return pml_row_kinds__init(&c->kinds, t, &c->function, err);
}

static bool has_option(const pml_rt_context *c, const char *key)
{
    for (size_t i = 0; i < c->n_all_options; i++)
        if (strcmp(c->all_options[i].key, key) == 0)
            return true;
    return false;
}

/* The path of a shared object to load comes from the options that the program gave when it opened the context or the table. One
   that is stored with the table would let whoever can write its schema run code here: *stored says that there is such a one. */
static const char *plugin_path(const pml_rt_context *c, const pml_table *t, bool *stored)
{
    static const char key[] = "realtime.store.plugin-path";
    const char *path = NULL;
    *stored = false;
    for (size_t i = 0; i < t->schema->n_options; i++)
        *stored = *stored || strcmp(t->schema->options[i].key, key) == 0;
    for (size_t i = 0; i < t->n_overrides; i++)
        path = strcmp(t->overrides[i].key, key) == 0 ? t->overrides[i].value : path;
    for (size_t i = 0; i < c->n_overrides; i++)
        path = strcmp(c->overrides[i].key, key) == 0 ? c->overrides[i].value : path;
    return path;
}

static int choose_store(const pml_rt_plugin **out, pml_rt_context *c, pml_table *t, pml_error *err)
{
    pml_error inner = PML_ERROR_INIT;
    bool stored;
    const char *path = plugin_path(c, t, &stored);
    int rc = pml_rt_plugin__find_or_load(out, c->env, c->options.rt_store, path, &inner);
    if (rc == PML_E_UNSUPPORTED && path == NULL && stored)
        return pml_error__at(err, rc, PML_PLACE_OPTION, "realtime.store.plugin-path",
                             "needs realtime.store.plugin-path when the table or the context is opened: the path that %.200s stores "
                             "is not followed, since a table must not name code to run",
                             t->path);
    return rc == PML_OK ? rc : pml_error__at(err, rc, inner.place, inner.file, "%s", inner.message);
}

static int bind_locked(pml_rt_context *c, pml_table *t, pml_error *err)
{
    const pml_rt_plugin *plugin = c->plugin;
    bool keyed = t->schema->n_keys > 0;
    PML_RETURN_IF(bind_options(c, t, err));
    PML_RETURN_IF(pml_rt_host__add_schema(c->host, keyed ? PML_RT_MODE_PRIMARY_KEY : PML_RT_MODE_APPEND, t->schema->id, t->schema->fields, t->schema->n_fields, err));
    PML_RETURN_IF(set_key_columns(c, t->schema, err));
    PML_RETURN_IF(pml_file_shape__init(&c->shape, &c->arena, t, err));
    if (keyed)
        PML_RETURN_IF(bind_keyed(c, t, err));
    c->layout = pml_rt_host__layout(c->host, t->schema->id);
    c->transport = c->layout->fields;
    c->n_transport = c->layout->n_fields;
    PML_RETURN_IF(set_stream_fields(c, err));
    if (plugin != NULL && plugin != pml_memory_store_plugin() && !has_option(c, "realtime.verify.order"))
        c->options.rt_verify_order = true; /* the default for stores of others; the option realtime.store does not know of this one */
    if (plugin == NULL)
        PML_RETURN_IF(choose_store(&plugin, c, t, err));
    if ((plugin->caps & (keyed ? PML_RT_CAP_MODE_KEY : PML_RT_CAP_MODE_APPEND)) == 0)
        return pml_error__set(err, PML_E_UNSUPPORTED, "the store '%s' does not serve %s", plugin->name,
                              keyed ? "tables with a primary key" : "append tables");
    c->plugin = plugin;
    pml_table_acquire(t);
    c->table = t;
    return PML_OK;
}

int pml_rt_context__bind(pml_rt_context *c, pml_table *t, pml_error *err)
{
    PML_RETURN_IF(pml_rt_context__check(c, err));
    pml_rwlock__write(&c->registry);
    int rc = PML_OK;
    if (c->table == NULL)
        rc = bind_locked(c, t, err);
    else if (strcmp(c->table->branch_root, t->branch_root) != 0)
        rc = pml_error__set(err, PML_E_INVAL, "this real-time context serves %s, not %s: open one context for each table",
                            c->table->branch_root, t->branch_root);
    pml_rwlock__unlock(&c->registry);
    return rc;
}

bool pml_rt_context__is_bound(pml_rt_context *c)
{
    pml_rwlock__read(&c->registry);
    bool bound = c->table != NULL;
    pml_rwlock__unlock(&c->registry);
    return bound;
}

typedef int (*effective_load)(pml_effective **out, pml_env *env, const pml_effective_source *source, const pml_effective_options *o,
                              const pml_snapshot *snapshot, pml_effective_cache *cache, pml_error *err);

static int effective(pml_effective **out, pml_rt_context *c, effective_load load, const pml_snapshot *snapshot, pml_error *err)
{
    pml_effective_source source = pml_effective_source__of_table(c->table);
    pml_effective_options options = pml_effective_options__of_table(c->table);
    options.policy = (int)c->options.rt_foreign_overwrite;
    options.max_walk = c->options.rt_progress_max_walk;
    return load(out, c->env, &source, &options, snapshot, &c->effective_cache, err);
}

int pml_rt_context__effective(pml_effective **out, pml_rt_context *c, const pml_snapshot *snapshot, pml_error *err)
{
    return effective(out, c, pml_effective__load, snapshot, err);
}

int pml_rt_context__effective_of_tag(pml_effective **out, pml_rt_context *c, const pml_snapshot *snapshot, pml_error *err)
{
    return effective(out, c, pml_effective__load_tag, snapshot, err);
}

int64_t pml_rt_context__newest_id(pml_rt_context *c)
{
    pml_mutex__lock(&c->progress_mu);
    int64_t id = c->advanced.id > c->planned_id ? c->advanced.id : c->planned_id;
    id = c->opened.id > id ? c->opened.id : id;
    pml_mutex__unlock(&c->progress_mu);
    return id;
}

void pml_rt_context__note_planned(pml_rt_context *c, int64_t snapshot_id)
{
    pml_mutex__lock(&c->progress_mu);
    if (snapshot_id > c->planned_id)
        c->planned_id = snapshot_id;
    pml_mutex__unlock(&c->progress_mu);
}

int pml_rt_context__latest_progress(pml_effective **out, pml_rt_context *c, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    int64_t id;
    int rc;
    *out = NULL;
    pml_arena__init(&arena, c->env);
    PML_TRY(pml_table__latest_since(&id, c->table, pml_rt_context__newest_id(c), err));
    rc = id < 0 ? PML_E_NOT_FOUND : pml_table__load_snapshot(&s, &arena, c->table, id, err);
    if (rc == PML_OK)
        rc = pml_rt_context__effective(out, c, &s, err);
    if (rc == PML_E_NOT_FOUND || rc == PML_E_SNAPSHOT_GONE) /* none, or it expired: that call knows how to begin anew */
        rc = pml_rt_context__effective(out, c, NULL, err);
    if (rc == PML_OK && (*out)->snapshot_id >= 0)
        rc = pml_rt_context__make_durable(c, &(*out)->snapshot, err);
out:
    if (rc != PML_OK) {
        pml_effective__release(*out);
        *out = NULL;
    }
    pml_arena__clear(&arena);
    return rc;
}

/* ---- metrics ---- */

int pml_rt_context_metrics(pml_rt_metrics *out, pml_rt_context *c, pml_error *err)
{
    rt_pb **pbs;
    size_t n;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    if (out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "pml_rt_metrics.struct_size is %zu, this library knows %zu", out->struct_size,
                              sizeof *out);
    PML_RETURN_IF(pml_rt_context__check_process(c, err));
    PML_RETURN_IF(pml_rt_pb__list(&pbs, &n, c, err));
    *out = (pml_rt_metrics)PML_RT_METRICS_INIT;
    for (size_t i = 0; i < n; i++) {
        pml_rt_usage u = {.struct_size = sizeof u};
        if (pbs[i]->vt->usage(pbs[i]->store, &u, NULL) != PML_OK)
            continue; /* one failing store does not hide the others */
        out->building_memory_bytes += (int64_t)u.building_bytes;
        out->sealed_memory_bytes += (int64_t)u.sealed_bytes;
        out->building_row_count += u.building_rows;
        out->sealed_row_count += u.sealed_rows;
        out->pinned_bytes += (int64_t)u.pinned_only_bytes;
        out->run_count += u.runs;
    }
    pml_rt_metrics__fill(out, c, pbs, n);
    pml_rt_pb__release_list(c->env, pbs, n);
    out->total_memory_bytes = out->building_memory_bytes + out->sealed_memory_bytes;
    out->total_row_count = out->building_row_count + out->sealed_row_count;
    const struct {
        int64_t *to;
        atomic_llong *from;
    } counters[] = {
        {&out->open_views, &c->open_views},           {&out->write_rows, &c->write_rows},
        {&out->write_batches, &c->write_batches},     {&out->rejected_batches, &c->rejected_batches},
        {&out->seals, &c->seals},                     {&out->prepares, &c->prepares},
        {&out->prepare_failures, &c->prepare_failures}, {&out->commits, &c->commits},
        {&out->commit_retries, &c->commit_retries},   {&out->commit_idempotent_hits, &c->commit_idempotent_hits},
        {&out->advances, &c->advances},               {&out->reclaimed_rows, &c->reclaimed_rows},
        {&out->plans, &c->plans},                     {&out->plan_retries, &c->plan_retries},
        {&out->dropped_views, &c->dropped_views},     {&out->write_ns_sum, &c->write_ns_sum},
        {&out->write_ns_max, &c->write_ns_max},       {&out->prepare_ns_sum, &c->prepare_ns_sum},
        {&out->prepare_ns_max, &c->prepare_ns_max},   {&out->plan_ns_sum, &c->plan_ns_sum},
        {&out->plan_ns_max, &c->plan_ns_max},         {&out->uncommitted_rows, &c->uncommitted_rows},
        {&out->reanchors, &c->reanchors}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        *counters[i].to = (int64_t)atomic_load_explicit(counters[i].from, memory_order_relaxed);
    return PML_OK;
}
