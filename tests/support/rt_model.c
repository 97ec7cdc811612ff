/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rt_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/path.h"
#include "storage/file_io.h"
#include "support/rt_model_state.h"

/* ---- small things ---- */

uint64_t model_random(rt_model *m)
{
    uint64_t z = (m->rng += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t model_below(rt_model *m, int64_t n)
{
    return (int64_t)(model_random(m) % (uint64_t)n);
}

bool model_chance(rt_model *m, int percent)
{
    return model_below(m, 100) < percent;
}

void model_fail(rt_model *m, const char *format, ...)
{
    va_list args;
    if (m->failed)
        return; /* the first failure counts */
    m->failed = true;
    va_start(args, format);
    (void)vsnprintf(m->out->failure, sizeof m->out->failure, format, args);
    va_end(args);
}

void model_log(rt_model *m, const char *format, ...)
{
    rt_model_result *out = m->out;
    char text[140];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (out->n_log == RT_MODEL_LOG)
        memmove(out->log[0], out->log[1], sizeof out->log - sizeof out->log[0]);
    else
        out->n_log++;
    (void)snprintf(out->log[out->n_log - 1], sizeof out->log[0], "step %d: %s", out->step, text);
    out->operations++;
    if (getenv("PML_TEST_LOG") != NULL)
        (void)fprintf(stderr, "%s\n", out->log[out->n_log - 1]);
}

bool model_expect(rt_model *m, int code, int rc, const pml_error *err, const char *what)
{
    if (rc != code)
        model_fail(m, "%s: %s instead of %s: %s", what, pml_error_name(rc), pml_error_name(code), err == NULL ? "" : err->message);
    return rc == code;
}

void ids_add(rt_ids *ids, int64_t v)
{
    if (ids->n == ids->cap) {
        ids->cap = ids->cap == 0 ? 16 : ids->cap * 2;
        ids->v = realloc(ids->v, ids->cap * sizeof *ids->v);
        assert_non_null(ids->v);
    }
    ids->v[ids->n++] = v;
}

void ids_copy(rt_ids *to, const rt_ids *from)
{
    to->n = 0;
    for (size_t i = 0; i < from->n; i++)
        ids_add(to, from->v[i]);
}

void ids_clear(rt_ids *ids)
{
    free(ids->v);
    *ids = (rt_ids){0};
}

int64_t model_new_row(rt_model *m, int pb)
{
    if ((size_t)m->next_id + 2 >= m->cap_rows) {
        m->cap_rows = m->cap_rows == 0 ? 1024 : m->cap_rows * 2;
        m->row_pb = realloc(m->row_pb, m->cap_rows * sizeof *m->row_pb);
        assert_non_null(m->row_pb);
    }
    m->row_pb[m->next_id] = pb;
    return m->next_id++;
}

int64_t model_new_row_of(rt_model *m, int pb)
{
    int64_t id = model_new_row(m, pb);
    while (m->shape.keyed != NULL && m->key_buckets[rt_keyed_key(m->shape.salt, id)] != pb % m->n_buckets)
        id = model_new_row(m, pb);
    return id;
}

bool model_is_kept(const rt_model *m, int64_t id)
{
    const rt_variant *v = m->shape.keyed;
    return v == NULL || !rt_keyed_is_dropped(v, rt_keyed_kind(v, m->shape.salt, id));
}

void model_copy_rows(const rt_model *m, rt_ids *to, const live_pb *l, int64_t begin, int64_t end)
{
    size_t b = 0;
    bool open = false;
    for (size_t i = 0; i < l->offsets.n; i++) {
        int64_t offset = l->offsets.v[i];
        if (offset < begin || offset >= end)
            continue;
        for (; b < l->borders.n && l->borders.v[b] <= offset; b++)
            if (m->shape.keyed != NULL && open) {
                ids_add(to, MODEL_BORDER);
                open = false;
            }
        ids_add(to, l->ids.v[i]);
        open = true;
    }
    if (m->shape.keyed != NULL && open)
        ids_add(to, MODEL_BORDER);
}

void model_reference(const rt_model *m, rt_reference *r, const rt_ids *rows)
{
    size_t n;
    rt_reference_init(r, m->shape.keyed, m->shape.salt);
    for (size_t i = 0; i < rows->n; i++)
        if (rows->v[i] == MODEL_BORDER)
            rt_reference_close(r);
        else if (rows->v[i] == MODEL_COMPACTED)
            rt_reference_compact(r);
        else if (rows->v[i] <= MODEL_PARTLY)
            (void)rt_reference_compact_some(&n, r, (size_t)(MODEL_PARTLY - rows->v[i]) / MODEL_RUNS_MAX,
                                            (size_t)(MODEL_PARTLY - rows->v[i]) % MODEL_RUNS_MAX);
        else
            rt_reference_add(r, rows->v[i]);
}

/* ---- operations of their own ---- */

/* Removes the oldest snapshots, never the one that the latest progress comes from. */
static void expire(rt_model *m)
{
    int64_t anchor = m->latest < 1 ? 0 : model_anchor(m, m->latest), to;
    if (m->tidy || m->latest < 1 || anchor <= m->earliest)
        return;
    to = m->earliest + model_below(m, anchor - m->earliest + 1);
    bool marks = false;
    for (int pb = 0; pb < m->n_pbs; pb++)
        marks = marks || model_effective(m, m->latest, pb).reset > 0;
    for (int64_t i = m->earliest; i < to && !m->failed; i++) {
        model_remove_snapshot_file(m, i);
        m->snapshots[i].exists = false;
    }
    m->earliest = to;
    sim_fs_sync_all(m->sim);
    model_log(m, "expire up to %lld", (long long)to);
    if (marks && !m->failed)
        model_kill(m, false); /* old reset marks may go now, and memory of before must not outlive them */
}

typedef struct operation {
    int weight;
    void (*run)(rt_model *m);
} operation;

static void op_write(rt_model *m) { model_write(m, false); }
static void op_huge(rt_model *m) { model_write(m, true); }
static void op_step(rt_model *m) { model_stream_step(m, model_chance(m, 30)); }
static void op_drop(rt_model *m)
{
    model_log(m, "drop a plan and a stream");
    model_plan_drop(m, false);
    if (model_chance(m, 30))
        model_stream_drop(m, false);
}
static void op_foreign(rt_model *m)
{
    static const foreign_kind kinds[] = {FOREIGN_APPEND, FOREIGN_COMPACT, FOREIGN_COMPACT, FOREIGN_BATCH, FOREIGN_APPEND,
                                         FOREIGN_DELETE_ROWS, FOREIGN_TRUNCATE, FOREIGN_COMPACT, FOREIGN_APPEND, FOREIGN_BATCH,
                                         FOREIGN_OUR_REMOVAL};
    const int64_t before = m->latest;
    const foreign_kind kind = model_chance(m, 4) ? FOREIGN_OVERWRITE : kinds[model_below(m, 11)];
    model_foreign(m, kind);
    if (m->shape.keyed != NULL && kind == FOREIGN_BATCH && m->latest != before) /* the numbers of rows go on behind theirs */
        model_advance(m, m->latest);
}
static void op_advance(rt_model *m)
{
    int64_t id = m->latest;
    if (model_chance(m, 30))
        id = model_below(m, (m->latest < 1 ? 1 : m->latest) + 3) - 1;
    model_advance(m, id);
}
static void op_kill(rt_model *m) { model_kill(m, model_chance(m, 50)); }
static void op_clock(rt_model *m)
{
    (void)atomic_fetch_add(&m->t->wall_ms, model_below(m, 7200000) - 3600000);
    (void)atomic_fetch_add(&m->t->mono_ns, model_below(m, 1000000000));
    model_log(m, "clock jump");
}
static void op_offsets(rt_model *m)
{
    if (m->latest < 1)
        return;
    int64_t id = m->earliest + model_below(m, m->latest - m->earliest + 1);
    if (model_anchor(m, id) >= m->earliest || model_anchor(m, m->latest) == 0)
        model_check_offsets(m, id);
    model_log(m, "progress of %lld", (long long)id);
}
static void op_read(rt_model *m)
{
    model_log(m, "read everything");
    model_read_all(m, model_chance(m, 20));
    if (!m->failed)
        model_check_metrics(m);
}

/* What follows it: plans, a commit that must be refused if it touches the same partition-bucket, and a new life. */
static void op_other(rt_model *m)
{
    int64_t before = m->latest;
    if (m->tidy) /* entries that meet it can be neither committed nor aborted */
        return;
    model_other_writer(m);
    if (m->failed || m->latest == before)
        return;
    model_check_offsets(m, m->latest);
    if (!m->failed && model_chance(m, 50))
        model_read_all(m, model_chance(m, 20));
    if (!m->failed)
        model_commit(m);
    if (!m->failed)
        model_kill(m, model_chance(m, 30));
}

static const operation operations[] = {
    {260, op_write},     {4, op_huge},          {25, model_write_invalid}, {30, model_seal},      {40, model_prepare},
    {55, model_commit},  {15, model_commit_again}, {10, model_abort},      {30, op_advance},      {70, model_plan_new},
    {30, model_plan_count}, {40, model_stream_open}, {80, op_step},        {20, op_drop},         {30, op_read},
    {14, op_foreign},    {8, expire},           {8, model_set_hint},       {9, model_roll_back},        {8, op_kill},
    {6, model_reopen_writer}, {10, op_clock},   {20, op_offsets},
    {5, op_other},       {8, model_tag},        {10, model_reanchor},   {60, model_ticket}};

static void op_read_plan(rt_model *m)
{
    for (int i = 0; i < 2; i++) {
        model_stream_open(m);
        model_stream_step(m, true);
    }
}
static void op_compact(rt_model *m) { model_foreign(m, FOREIGN_COMPACT); }
static void op_truncate(rt_model *m) { model_foreign(m, model_chance(m, 50) ? FOREIGN_TRUNCATE : FOREIGN_OUR_REMOVAL); }

static void scripted(rt_model *m, char letter)
{
    static const struct {
        char letter;
        void (*run)(rt_model *m);
    } ops[] = {{'w', op_write},      {'s', model_seal},   {'p', model_prepare},  {'c', model_commit}, {'x', model_abort},   {'a', op_advance},
               {'l', model_plan_new}, {'r', op_read_plan}, {'e', op_read},        {'k', op_kill},      {'f', op_compact},    {'t', op_truncate},
               {'o', model_reopen_writer}, {'v', model_plan_old},  {'m', model_plan_amid},
               {'h', model_old_hint},   {'b', model_commit_one},   {'2', op_other}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].letter == letter) {
            ops[i].run(m);
            return;
        }
    model_fail(m, "no operation has the letter '%c'", letter);
}

static void step(rt_model *m)
{
    int total = 0;
    (void)atomic_fetch_add(&m->t->wall_ms, 1 + model_below(m, 40));
    if (m->o->script != NULL) {
        scripted(m, m->o->script[m->out->step]);
        return;
    }
    const int compactions = m->shape.keyed != NULL ? 30 : 0; /* whole ones and parts: levels matter where rows are merged */
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        total += operations[i].weight;
    int64_t at = model_below(m, total + compactions);
    if (at >= total) {
        op_compact(m);
        return;
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        at -= operations[i].weight;
        if (at < 0) {
            operations[i].run(m);
            return;
        }
    }
}

/* ---- an episode ---- */

/* Of a store that shows new names late. */
static int late_stat(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    rt_model *m = (rt_model *)(void *)((char *)ctx - offsetof(rt_model, faulty));
    char name[64];
    (void)snprintf(name, sizeof name, MODEL_TABLE "/snapshot/snapshot-%lld", (long long)m->hidden);
    if (m->hidden > 0 && strcmp(path, name) == 0)
        return pml_error__set(err, PML_E_NOT_FOUND, "%s is not there yet", path);
    return m->stat(ctx, info, path, err);
}

static void set_up(rt_model *m)
{
    static const rt_shape shapes[] = {{.columns = "iv", .buckets = -1, .auto_advance = true},
                                      {.columns = "divx", .partitioned = true, .buckets = 2, .auto_advance = true},
                                      {.columns = "xidv", .partitioned = true, .buckets = 3, .external = true, .auto_advance = true},
                                      {.columns = "iv", .buckets = 3, .external = true},
                                      {.columns = "div", .partitioned = true, .buckets = -1, .external = true, .auto_advance = true},
                                      {.columns = "vix", .buckets = 2},
                                      {.columns = "dxi", .partitioned = true, .buckets = -1},
                                      {.columns = "iv", .buckets = -1, .external = true, .auto_advance = true}},
                          keyed[] = {{.columns = "igsabc", .buckets = 1, .auto_advance = true},
                                     {.columns = "digsabc", .partitioned = true, .buckets = 2, .auto_advance = true},
                                     {.columns = "gaisbc", .buckets = 2},
                                     {.columns = "igsabcd", .partitioned = true, .buckets = 1, .external = true},
                                     {.columns = "igsabc", .buckets = 3, .external = true, .auto_advance = true}};
    pml_error err = PML_ERROR_INIT;
    m->rng = m->o->seed;
    m->tidy = model_chance(m, 50) && !m->o->faults && m->o->mutant == RT_MUTANT_NONE;
    if (m->o->script != NULL && strchr(m->o->script, '2') != NULL) /* files stay behind */
        m->tidy = false;
    if (m->o->keyed)
        m->shape = keyed[model_below(m, sizeof keyed / sizeof keyed[0])];
    else
        m->shape = shapes[model_below(m, sizeof shapes / sizeof shapes[0])];
    if (m->o->script != NULL)
        m->shape = (m->o->keyed ? keyed : shapes)[m->o->seed % 2 == 0 ? 0 : m->o->keyed ? 2 : 5];
    m->n_buckets = m->shape.buckets > 0 ? m->shape.buckets : 1;
    if (m->o->keyed) {
        m->shape.keyed = &rt_variants[m->o->script != NULL ? (int64_t)(m->o->seed / 2 % rt_n_variants) : model_below(m, (int64_t)rt_n_variants)];
        m->shape.salt = m->o->seed;
        m->shape.collapse = m->shape.keyed->engine == RT_LAST && m->o->mutant == RT_MUTANT_NONE && m->o->script == NULL && m->o->seed % 2 == 0;
    }
    m->n_parts = !m->shape.partitioned ? 1 : m->o->keyed ? RT_NULL_PARTITION : RT_PARTITIONS; /* a key has no null */
    m->n_pbs = m->n_parts * m->n_buckets;
    m->latest = -1;
    m->earliest = -1;
    m->snapshots = calloc(MODEL_SNAPSHOTS, sizeof *m->snapshots);
    assert_non_null(m->snapshots);
    m->sim = sim_fs_new();
    faulty_fs_init(&m->faulty, sim_fs_system(m->sim));
    m->stat = m->faulty.fs.stat;
    m->faulty.fs.stat = late_stat;
    m->t = test_env_open(&m->faulty.fs);
    m->t->random_state = m->o->seed * 77 + 1;
    if (m->o->keyed)
        model_key_buckets(m);
    (void)model_expect(m, PML_OK, rt_table_create(&m->table, m->t->env, MODEL_TABLE, &m->shape, &err), &err, "create");
    pml_table_release(m->table);
    m->table = NULL;
    sim_fs_sync_all(m->sim);
    if (!m->failed)
        model_leave_directories(m);
    if (!m->failed)
        model_open(m);
}

static void tear_down(rt_model *m)
{
    test_env_close(m->t);
    faulty_fs_destroy(&m->faulty);
    sim_fs_free(m->sim);
    for (int i = 0; i < MODEL_SNAPSHOTS; i++)
        for (int pb = 0; pb < MODEL_PBS; pb++)
            ids_clear(&m->snapshots[i].disk[pb]);
    for (int pb = 0; pb < MODEL_PBS; pb++) {
        model_clear_live(&m->live[pb]);
        ids_clear(&m->lost_ids[pb]);
        ids_clear(&m->lost_offsets[pb]);
    }
    free(m->snapshots);
    free(m->row_pb);
}

void rt_model_run(rt_model_result *out, const rt_model_options *options)
{
    rt_model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->o = options;
    m->out = out;
    *out = (rt_model_result){0};
    set_up(m);
    for (out->step = 0; out->step < options->steps && !m->failed && !m->ended && m->latest + 8 < MODEL_SNAPSHOTS; out->step++) {
        if (options->skip != NULL && options->skip[out->step])
            continue;
        m->rng = options->seed * 1000003 + (uint64_t)out->step * 7919;
        step(m);
        if (m->ended && !m->failed) { /* the model cannot tell what was applied: a new life knows it from the disk */
            m->ended = false;
            for (int pb = 0; pb < MODEL_PBS; pb++)
                m->live[pb].open = false;
            model_kill(m, false);
        }
        if (m->failed)
            break;
    }
    model_finish(m);
    pml_thread__assert_below(1); /* 95: no lock is held after the last call */
    out->failed = m->failed;
    tear_down(m);
    free(m);
}

int rt_model_shrink(bool *skip, rt_model_result *out, const rt_model_options *options, int tries)
{
    rt_model_options o = *options;
    int left = 0, last = out->step + 1 < options->steps ? out->step + 1 : options->steps;
    o.skip = skip;
    o.steps = last;
    for (int size = last / 2; size >= 1 && tries > 0; size /= 2)
        for (int at = 0; at < last && tries > 0; at += size) {
            bool was[512] = {false};
            int n = 0;
            for (int i = at; i < at + size && i < last && n < 512; i++, n++) {
                was[n] = skip[i];
                skip[i] = true;
            }
            rt_model_result r;
            rt_model_run(&r, &o);
            tries--;
            if (r.failed)
                *out = r;
            for (int i = 0; i < n && !r.failed; i++)
                skip[at + i] = was[i];
        }
    for (int i = 0; i < last; i++)
        left += !skip[i];
    return left;
}
