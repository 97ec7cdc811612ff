/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, killing, finishing; faults. */
#include <string.h>

#include "meta/path.h"
#include "support/rt_model_state.h"

/* ---- faults ---- */

bool model_arm(rt_model *m)
{
    static const int kinds[] = {FS_OP_CREATE, FS_OP_WRITE, FS_OP_SYNC, FS_OP_PUBLISH, FS_OP_READ_AT, FS_OP_SYNC_DIRECTORY,
                                FS_OP_OPEN_READ, FS_OP_CLOSE_WRITE, FS_OP_STAT, FS_OP_LIST};
    if (!m->o->faults)
        return false;
    if (model_chance(m, 30)) {
        test_env_fail_at(m->t, 1 + model_below(m, 300));
        return true;
    }
    bool before = model_chance(m, 50);
    bool one_kind = model_chance(m, 60);
    faulty_fs_fail_kinds(&m->faulty, one_kind ? FS_OP(kinds[model_below(m, 10)]) : FS_OP_ALL);
    faulty_fs_fail_at(&m->faulty, 1 + model_below(m, one_kind ? 6 : 40), before ? FAULT_BEFORE : FAULT_AFTER, PML_E_IO,
                      before ? PML_ERRF_NO_EFFECT : 0);
    if (model_chance(m, 30))
        faulty_fs_fail_sticky(&m->faulty);
    return true;
}

void model_disarm(rt_model *m)
{
    test_env_fail_at(m->t, 0);
    faulty_fs_reset(&m->faulty);
}

bool model_is_fault(int rc)
{
    return rc == PML_E_IO || rc == PML_E_NOMEM || rc == PML_E_UNKNOWN_OUTCOME || rc == PML_E_NO_SPACE;
}

/* ---- a life ---- */

static void open_writer(rt_model *m)
{
    pml_error err = PML_ERROR_INIT;
    model_refresh_opened(m);
    (void)model_expect(m, PML_OK, pml_rt_writer_open(&m->writer, m->table, m->ctx, NULL, &err), &err, "writer_open");
}

void model_open(rt_model *m)
{
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    const pml_option_pair options[] = {{"realtime.reanchor-interval", "1 h"}, {"realtime.reaper", "inline"}, {"realtime.verify.commit", "off"}};
    pml_error err = PML_ERROR_INIT;
    o.store = rt_model_plugin(m->o->mutant);
    o.n_options = o.store != NULL ? 3 : 2;
    o.options = options;
    m->write_rows = m->rejected = m->committed_rows = 0;
    m->advanced = m->began = (model_point){.id = -1};
    m->unknown = m->unknown_old = false;
    m->unknown_snapshot = -1;
    for (int pb = 0; pb < MODEL_PBS; pb++) {
        model_clear_live(&m->live[pb]);
    }
    if (!model_expect(m, PML_OK, pml_table_open(&m->table, m->t->env, MODEL_TABLE, NULL, &err), &err, "table_open") ||
        !model_expect(m, PML_OK, pml_rt_context_open(&m->ctx, m->t->env, &o, &err), &err, "context_open") ||
        !model_expect(m, PML_OK, pml_commit_open(&m->commit, m->table, "model", &err), &err, "commit_open"))
        return;
    open_writer(m);
}

/* A tidy process gives its prepared files up before it goes. */
static void give_up_entries(rt_model *m)
{
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < m->n_entries && !m->failed; i++)
        if (m->entries[i].state == ENTRY_OPEN)
            (void)model_expect(m, PML_OK, pml_rt_progress_abort(m->commit, &m->entries[i].e, 1, &err), &err, "abort before the end");
}

static void let_go(rt_model *m)
{
    if (m->tidy && m->commit != NULL)
        give_up_entries(m);
    model_tickets_forget(m);
    model_stream_drop(m, true);
    model_plan_drop(m, true);
    pml_rt_prepared_free(m->prepared);
    pml_rt_prepared_free(m->old_prepared);
    pml_rt_writer_abort(m->writer);
    pml_commit_close(m->commit);
    pml_rt_context_close(m->ctx);
    pml_table_release(m->table);
    m->prepared = m->old_prepared = NULL;
    m->writer = NULL;
    m->commit = NULL;
    m->ctx = NULL;
    m->table = NULL;
    m->n_entries = m->n_old_entries = 0;
}

/* Rows that a source would send again: those at and after the committed end, when that is of the same history. */
static void note_lost_rows(rt_model *m, int pb)
{
    const live_pb *l = &m->live[pb];
    model_mark e = model_effective(m, m->latest, pb);
    ids_clear(&m->lost_ids[pb]);
    ids_clear(&m->lost_offsets[pb]);
    if (e.state == MARK_LOST || (e.state == MARK_KNOWN && e.lineage != l->lineage))
        return;
    for (size_t i = 0; l->open && i < l->offsets.n; i++)
        if (l->offsets.v[i] >= (e.state == MARK_KNOWN ? e.end : 0)) {
            ids_add(&m->lost_ids[pb], l->ids.v[i]);
            ids_add(&m->lost_offsets[pb], l->offsets.v[i]);
        }
}

/* What a process leaves that is killed between making directories and syncing their names: of the table's, each with and without.
   Nothing of it is drawn from the episode's own numbers, whose steps stay what they were. */
void model_leave_directories(rt_model *m)
{
    const pml_file_system *fs = sim_fs_system(m->sim);
    uint64_t draw = (m->o->seed + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    pml_buf path;
    pml_buf__init(&path, m->t->env, 1024);
    (void)fs->make_directory(fs->ctx, draw & 1 ? MODEL_TABLE "/manifest" : MODEL_TABLE "/metadata", NULL);
    for (int pb = 0; pb < m->n_pbs; pb++) {
        const char *part = rt_partition_text(pb / m->n_buckets);
        draw >>= 2;
        pml_buf__reset(&path);
        (void)pml_buf__append_str(&path, MODEL_TABLE);
        if (m->shape.partitioned) {
            (void)pml_buf__append_str(&path, "/d=");
            (void)pml_path__escape(&path, part, strlen(part));
            (void)pml_buf__append_byte(&path, 0);
            if (draw & 1)
                (void)fs->make_directory(fs->ctx, (char *)path.data, NULL);
            path.len--;
        }
        (void)pml_buf__append_format(&path, "/bucket-%d", pb % m->n_buckets);
        (void)pml_buf__append_byte(&path, 0);
        if (draw & 2)
            (void)fs->make_directory(fs->ctx, (char *)path.data, NULL);
    }
    pml_buf__clear(&path);
}

void model_kill(rt_model *m, bool power_cut)
{
    pml_error err = PML_ERROR_INIT;
    int64_t id = -2;
    let_go(m);
    power_cut = power_cut && !m->tidy; /* it brings removed files back */
    if (power_cut)
        sim_fs_crash(m->sim, model_random(m));
    model_log(m, "%s", power_cut ? "power cut" : "kill");
    if (!model_expect(m, PML_OK, pml_table_open(&m->table, m->t->env, MODEL_TABLE, NULL, &err), &err, "table_open after a kill") ||
        !model_expect(m, PML_OK, pml_table_latest_snapshot(&id, m->table, &err), &err, "latest_snapshot after a kill"))
        return;
    pml_table_release(m->table);
    m->table = NULL;
    if (m->unknown_snapshot == m->latest && id != m->latest && id == (m->latest > 1 ? m->latest - 1 : -1))
        model_drop_latest(m); /* nobody was told that it exists */
    if (id != m->latest) {
        model_fail(m, "after a kill the latest snapshot is %lld instead of %lld", (long long)id, (long long)m->latest);
        return;
    }
    for (int pb = 0; pb < m->n_pbs; pb++) {
        note_lost_rows(m, pb);
        /* Writers of an unaware table number their files from 0, each for itself, as Java's do. */
        m->unordered[pb] = m->unordered[pb] || m->shape.buckets < 0;
    }
    model_open(m);
    if (m->failed)
        return;
    if (m->latest % 2 != 0) /* not always: the writer alone must have made the latest snapshot durable */
        model_check_offsets(m, m->latest);
    if (!m->failed)
        model_replay(m);
}

/* Hand-over inside one context. */
void model_reopen_writer(rt_model *m)
{
    pml_error err = PML_ERROR_INIT;
    bool covered = true;
    if (model_chance(m, 60))
        model_prepare(m);
    for (int pb = 0; pb < m->n_pbs; pb++) /* rows that writers pass over are no loss */
        for (size_t i = 0; i < m->live[pb].offsets.n; i++)
            covered = covered && (m->live[pb].offsets.v[i] < m->live[pb].prepared || !model_is_kept(m, m->live[pb].ids.v[i]));
    int rc = pml_rt_writer_close(m->writer, &err);
    m->writer = rc == PML_OK ? NULL : m->writer;
    model_log(m, "close the writer: %s", pml_error_name(rc));
    if (!model_expect(m, covered ? PML_OK : PML_E_STATE, rc, &err, "writer_close") || rc != PML_OK)
        return;
    open_writer(m);
}

/* 96: what the context counts, and that all which was written is committed, uncommitted, or of a kind that writers pass over. That what a
   merge in memory collapsed and what it kept are what was written: collapse_model_test.c. Rows that others stand for are not in memory. */
void model_check_metrics(rt_model *m)
{
    pml_rt_metrics got = PML_RT_METRICS_INIT;
    pml_error err = PML_ERROR_INIT;
    int64_t in_memory = 0, uncommitted = 0, passed_over = 0;
    if (!model_expect(m, PML_OK, pml_rt_context_metrics(&got, m->ctx, &err), &err, "metrics"))
        return;
    for (int pb = 0; pb < m->n_pbs; pb++)
        for (size_t i = 0; i < m->live[pb].offsets.n; i++) {
            bool kept = model_is_kept(m, m->live[pb].ids.v[i]);
            passed_over += !kept;
            in_memory += kept && m->live[pb].offsets.v[i] >= m->live[pb].reclaimed;
            uncommitted += kept && m->live[pb].offsets.v[i] >= m->live[pb].committed;
        }
    if (got.total_row_count < in_memory)
        model_log(m, "%lld of %lld rows in memory, others stand for the rest", (long long)got.total_row_count, (long long)in_memory);
    if (got.write_rows != m->write_rows || got.rejected_batches != m->rejected || got.uncommitted_rows != uncommitted ||
        (m->shape.collapse ? got.total_row_count > in_memory || (in_memory > 0) != (got.total_row_count > 0) : got.total_row_count != in_memory))
        model_fail(m, "metrics: written %lld rejected %lld uncommitted %lld in memory %lld; the model has %lld %lld %lld %lld",
                   (long long)got.write_rows, (long long)got.rejected_batches, (long long)got.uncommitted_rows,
                   (long long)got.total_row_count, (long long)m->write_rows, (long long)m->rejected, (long long)uncommitted,
                   (long long)in_memory);
    else if (got.write_rows != m->committed_rows + got.uncommitted_rows + passed_over)
        model_fail(m, "of %lld rows written %lld are committed, %lld uncommitted, and %lld passed over", (long long)got.write_rows,
                   (long long)m->committed_rows, (long long)got.uncommitted_rows, (long long)passed_over);
}

/* ---- the end of an episode ---- */

static bool is_clean(const rt_model *m)
{
    bool clean = !m->unknown;
    for (int pb = 0; pb < m->n_pbs; pb++) {
        const live_pb *l = &m->live[pb];
        model_mark e = model_effective(m, m->latest, pb);
        if (l->open && (l->state != LIVE_ACTIVE || e.state == MARK_LOST || (e.state == MARK_KNOWN && e.lineage != l->lineage)))
            clean = false;
        if (l->open && l->committed > (e.state == MARK_KNOWN ? e.end : 0)) /* rolled back; an earlier prepare is missing now */
            clean = false;
    }
    return clean;
}

/* Rows that a prepare would bring: it may have failed, more than once in a row. */
static bool has_unprepared(const rt_model *m)
{
    bool any = false;
    for (int pb = 0; pb < m->n_pbs; pb++)
        any = any || (m->live[pb].open && m->live[pb].prepared < m->live[pb].next);
    return any;
}

/* A thread of the context may still hold what it merged for readers. */
static bool metrics_at_rest(pml_rt_metrics *got, rt_model *m)
{
    pml_error err = PML_ERROR_INIT;
    bool ok = model_expect(m, PML_OK, pml_rt_context_metrics(got, m->ctx, &err), &err, "metrics");
    for (int i = 0; ok && got->pinned_bytes != 0 && i < TEST_PATIENCE_MS; i++) {
        test_sleep_a_millisecond();
        ok = model_expect(m, PML_OK, pml_rt_context_metrics(got, m->ctx, &err), &err, "metrics");
    }
    return ok;
}

/* 95: with everything committed, advanced and let go nothing is left in memory. Spill files are to come. */
static void finish_clean(rt_model *m)
{
    pml_rt_metrics got = PML_RT_METRICS_INIT;
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < 60 && !m->failed; i++) {
        bool open = false;
        for (size_t k = 0; k < m->n_entries; k++)
            open = open || m->entries[k].state == ENTRY_OPEN;
        if (open)
            model_commit(m);
        else if (i < 58)
            model_prepare(m);
        if (!is_clean(m))
            return;
        if (!open && m->n_entries == 0 && i > 1 && !has_unprepared(m))
            break;
    }
    if (m->latest >= 1 && !m->failed)
        model_advance(m, m->latest);
    if (m->failed || !is_clean(m) || !metrics_at_rest(&got, m))
        return;
    model_check_metrics(m);
    if (!m->failed && (got.open_views != 0 || got.total_row_count != 0 || got.uncommitted_rows != 0 || got.open_tickets != 0 ||
                       got.prepares_in_flight != 0 || got.pinned_bytes != 0 || got.sealed_memory_bytes != 0))
        model_fail(m, "at the end %lld views, %lld tickets, %lld prepares, %lld rows in memory, %lld uncommitted, %lld bytes pinned, %lld sealed",
                   (long long)got.open_views, (long long)got.open_tickets, (long long)got.prepares_in_flight, (long long)got.total_row_count,
                   (long long)got.uncommitted_rows, (long long)got.pinned_bytes, (long long)got.sealed_memory_bytes);
    if (!m->failed && model_expect(m, PML_OK, pml_rt_writer_close(m->writer, &err), &err, "writer_close at the end"))
        m->writer = NULL; /* otherwise it is open, and is aborted */
}

/* Somebody's expiry takes the last snapshot that recorded progress: everything is lost, nothing is taken for new. */
static void lose_everything(rt_model *m)
{
    pml_rt_offsets *offsets = NULL;
    pml_error err = PML_ERROR_INIT;
    int64_t anchor = m->latest < 1 ? 0 : model_anchor(m, m->latest);
    for (int i = 0; i < 5 && anchor >= 1 && anchor == m->latest && !m->failed; i++) {
        model_foreign(m, FOREIGN_APPEND);
        anchor = model_anchor(m, m->latest);
    }
    if (m->failed || anchor < 1 || anchor == m->latest)
        return;
    for (int64_t i = m->earliest; i < m->latest && !m->failed; i++)
        model_remove_snapshot_file(m, i);
    m->earliest = m->latest;
    model_log(m, "expire the anchor");
    let_go(m);
    if (!m->failed)
        model_open(m);
    if (m->failed || !model_expect(m, PML_OK, pml_rt_offsets_load(&offsets, m->table, -1, &err), &err, "offsets_load"))
        return;
    if (pml_rt_offsets_all_lost(offsets) != 1 || pml_rt_offsets_count(offsets) != 0)
        model_fail(m, "the anchor is gone, and %zu partition-buckets are recorded", pml_rt_offsets_count(offsets));
    pml_rt_offsets_free(offsets);
    m->all_lost = true;
    for (int pb = 0; pb < m->n_pbs; pb++)
        m->opened[pb].state = MARK_LOST;
    if (!m->failed)
        model_write(m, false);
    if (!m->failed)
        model_read_all(m, false);
}

void model_finish(rt_model *m)
{
    for (int i = 0; i < MODEL_STREAMS * 4 && !m->failed; i++)
        model_stream_step(m, true);
    if (!m->failed) {
        model_stream_drop(m, true);
        model_plan_drop(m, true);
        model_tickets_release(m);
    }
    for (int pb = 0; pb < MODEL_PBS; pb++)
        m->lost_ids[pb].n = 0;
    if (!m->failed && !is_clean(m))
        model_kill(m, false);
    if (!m->failed && !m->ended)
        finish_clean(m);
    if (!m->failed) {
        model_check_offsets(m, m->latest);
        model_read_all(m, true);
    }
    if (m->tidy && !m->failed) {
        give_up_entries(m);
        m->n_entries = 0;
        model_check_litter(m);
    } else if (!m->failed && model_chance(m, 30)) {
        lose_everything(m);
    }
    let_go(m);
}
