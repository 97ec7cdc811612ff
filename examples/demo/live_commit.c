/* SPDX-License-Identifier: Apache-2.0 */
/* Prepare and commit: rows move from memory to files to a snapshot, while writes and queries go on. */
#include "live.h"

static int commit_entries(live *l, const pml_rt_entry *const *entries, size_t n, pml_error *err)
{
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    life *s = l->life;
    int64_t rows = 0;
    int rc = pml_rt_commit(&result, l->commit, entries, n, l->identifier, NULL, err);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        pml_rt_entry_info info = PML_RT_ENTRY_INFO_INIT;
        rc = pml_rt_entry_get(&info, entries[i], err);
        rows += info.rows;
    }
    if (rc != PML_OK)
        return rc;
    (void)atomic_fetch_add(&s->committed, rows);
    (void)atomic_fetch_add(&s->commits, 1);
    atomic_store(&s->snapshot_id, result.snapshot_id);
    return PML_OK;
}

int live_commit(live *l, pml_error *err)
{
    pml_rt_prepared *prepared = NULL;
    life *s = l->life;
    size_t n = 0;
    int64_t before = atomic_load(&s->written), start = live_now_ns();
    int rc = pml_rt_prepare(&prepared, l->writer, ++l->identifier, NULL, err);
    int64_t took = live_now_ns() - start;
    if (rc != PML_OK)
        return rc;
    (void)atomic_fetch_add(&s->rows_during_prepares, atomic_load(&s->written) - before);
    (void)atomic_fetch_add(&s->prepares, 1);
    if (took > atomic_load(&s->prepare_ns_max))
        atomic_store(&s->prepare_ns_max, took);
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, prepared);
    if (n > 0)
        rc = commit_entries(l, entries, n, err);
    pml_rt_prepared_free(prepared);
    return rc;
}

void *live_commit_thread(void *arg)
{
    live *l = arg;
    pml_error err = PML_ERROR_INIT;
    int64_t next = live_now_ns() + l->options->commit_every_ms * 1000000;
    while (!atomic_load(&l->stop)) {
        if (live_now_ns() < next) {
            live_sleep_ms(20);
            continue;
        }
        next += l->options->commit_every_ms * 1000000;
        int rc = live_commit(l, &err);
        if (rc != PML_OK)
            live_fail(l, "committing", rc, &err);
    }
    return NULL;
}
