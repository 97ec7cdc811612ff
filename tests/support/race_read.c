/* SPDX-License-Identifier: Apache-2.0 */
/* Those who read in a race, by plans and by tickets, and what they must find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/race_kit.h"
#include "support/test_env.h"

/* ---- reading ---- */

/* What is to be seen after so many batches. */
static void lines_after(rt_lines *out, const race *r, int batches)
{
    rt_reference ref;
    if (r->shape.keyed == NULL) {
        for (int64_t i = 0; i < r->first[batches]; i++) {
            char text[24];
            (void)snprintf(text, sizeof text, "i%lld ", (long long)i);
            rt_lines_add(out, strdup(text));
        }
        return;
    }
    rt_reference_init(&ref, r->shape.keyed, r->shape.salt);
    for (int64_t i = 0; i < r->first[batches]; i++)
        rt_reference_add(&ref, i);
    rt_reference_answer(&ref);
    for (size_t i = 0; i < ref.n; i++)
        rt_lines_add(out, rt_keyed_line(&ref.rows[i], r->shape.columns, NULL));
    rt_reference_clear(&ref);
}

static int read_lines(rt_lines *out, race *r, pml_plan *plan, pml_error *err)
{
    struct ArrowArrayStream s;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.batch_rows = 3;
    int rc = pml_read_open(&s, plan, &o, err);
    while (rc == PML_OK) {
        struct ArrowArray batch = {0};
        if (s.get_next(&s, &batch) != 0)
            rc = pml_stream_error(&s, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        for (int64_t i = 0; i < batch.length; i++)
            rt_lines_add(out, rt_keyed_line_of(&batch, i, r->shape.keyed == NULL ? "i" : r->shape.columns));
        batch.release(&batch);
    }
    if (s.release != NULL)
        s.release(&s);
    return rc;
}

int race_batches_of(race *r, pml_plan *plan, int from, int to, int *rc)
{
    char wrong[300] = "";
    rt_lines got = {0};
    pml_error err = PML_ERROR_INIT;
    int found = -1, code = read_lines(&got, r, plan, &err);
    if (rc != NULL)
        *rc = code;
    else
        race_must(r, code == PML_OK, "read", &err);
    for (int i = from; code == PML_OK && found < 0 && i <= to; i++) {
        rt_lines want = {0};
        lines_after(&want, r, i);
        if (rt_lines_equal(&got, &want, -1, wrong, sizeof wrong))
            found = i;
        rt_lines_clear(&want);
    }
    if (code == PML_OK && found < 0) {
        (void)snprintf(err.message, sizeof err.message, "a read of %zu rows is that of none of %d to %d batches: %s",
                       got.n, from, to, wrong);
        race_must(r, false, "rows", &err);
    }
    rt_lines_clear(&got);
    return found;
}

int race_plan(pml_plan **out, race *r, int64_t snapshot, pml_error *err)
{
    pml_scan *scan;
    *out = NULL;
    int rc = pml_scan_new(&scan, r->table, err);
    if (rc == PML_OK && r->shape.keyed == NULL)
        rc = pml_scan_set_columns(scan, (const char *const[]){"i"}, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_set_snapshot(scan, snapshot, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, r->ctx, err);
    race_sees_late = r->o.stale;
    if (rc == PML_OK)
        rc = pml_scan_plan(out, scan, err);
    race_sees_late = false;
    pml_scan_free(scan);
    return rc;
}

void race_read(void *p)
{
    race *r = p;
    int last = 0, old_batches = 0;
    pml_plan *old = NULL;
    bool over = false;
    for (int i = 0; i < r->o.reads && !over && !atomic_load(&r->failed); i++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan = NULL;
        over = race_is_over(r);
        int from = atomic_load(&r->written);
        race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "plan", &err);
        int to = atomic_load(&r->begun);
        from = from > last ? from : last;
        if (plan != NULL)
            last = race_batches_of(r, plan, from, to, NULL);
        if (old != NULL && !atomic_load(&r->failed)) /* what a plan shows stays */
            (void)race_batches_of(r, old, old_batches, old_batches, NULL);
        pml_plan_free(old);
        old = plan;
        old_batches = last;
        r->o.pause();
    }
    pml_plan_free(old);
}

/* ---- tickets ---- */

enum { SPLITS_MAX = 8 };

/* Draws tickets for all splits of a plan, loses time, and opens them again or lets them go. */
static void by_tickets(race *r, pml_scan *scan, pml_plan *plan, int batches)
{
    pml_text texts[SPLITS_MAX] = {{0}};
    pml_blob blobs[SPLITS_MAX];
    pml_error err = PML_ERROR_INIT;
    pml_plan *again = NULL;
    size_t n = pml_plan_split_count(plan);
    int rc = n <= SPLITS_MAX ? PML_OK : PML_E_LIMIT;
    for (size_t i = 0; i < n && rc == PML_OK; i++) {
        rc = pml_rt_split_serialize(&texts[i], plan, i, &err);
        blobs[i] = (pml_blob){texts[i].ptr, texts[i].len};
    }
    race_must(r, rc == PML_OK, "serialize", &err);
    r->o.pause();
    (void)atomic_fetch_add(&r->t->mono_ns, (long long)(race_random(r) % 700000));
    uint64_t what = race_random(r) % 4; /* 3: forgotten */
    for (size_t i = 0; i < n && rc == PML_OK && what == 2; i++)
        race_must(r, pml_rt_split_release_ticket(r->ctx, &blobs[i], &err) == PML_OK, "release_ticket", &err);
    if (rc == PML_OK && what < 3 && n > 0) {
        rc = pml_rt_split_deserialize(&again, scan, blobs, n, &err);
        race_must(r, rc == PML_OK || (rc == PML_E_TICKET && (what == 2 || r->o.short_tickets)), "deserialize", &err);
    }
    if (again != NULL)
        (void)race_batches_of(r, again, batches, batches, NULL);
    pml_plan_free(again);
    for (size_t i = 0; i < SPLITS_MAX; i++)
        pml_text_clear(&texts[i]);
}

void race_tickets(void *p)
{
    race *r = p;
    bool over = false;
    for (int i = 0; i < r->o.reads && !over && !atomic_load(&r->failed); i++) {
        pml_error err = PML_ERROR_INIT;
        pml_plan *plan = NULL;
        pml_scan *scan = NULL;
        over = race_is_over(r);
        int from = atomic_load(&r->written), rc = race_plan(&plan, r, -1, &err);
        int to = atomic_load(&r->begun);
        if (rc == PML_OK)
            rc = pml_scan_new(&scan, r->table, &err);
        if (rc == PML_OK && r->shape.keyed == NULL)
            rc = pml_scan_set_columns(scan, (const char *const[]){"i"}, 1, &err);
        if (rc == PML_OK)
            rc = pml_scan_set_realtime(scan, r->ctx, &err);
        race_must(r, rc == PML_OK, "plan for tickets", &err);
        int batches = rc == PML_OK ? race_batches_of(r, plan, from, to, NULL) : -1;
        if (batches >= 0)
            by_tickets(r, scan, plan, batches);
        pml_scan_free(scan);
        pml_plan_free(plan);
        r->o.pause();
    }
}

/* ---- the end ---- */

/* 95: everything is committed: nothing is left in memory once it is advanced. */
void race_finish(race *r)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *plan = NULL;
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    if (atomic_load(&r->failed))
        return;
    race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "the last plan", &err);
    if (plan != NULL)
        (void)race_batches_of(r, plan, r->o.batches, r->o.batches, NULL);
    pml_plan_free(plan);
    if (atomic_load(&r->failed))
        return;
    race_must(r, pml_rt_advance(r->ctx, atomic_load(&r->snapshot), &err) == PML_OK, "the last advance", &err);
    (void)atomic_fetch_add(&r->t->mono_ns, 600ll * 1000000000); /* tickets that were forgotten */
    race_must(r, race_plan(&plan, r, -1, &err) == PML_OK, "a plan without memory", &err);
    if (plan != NULL)
        (void)race_batches_of(r, plan, r->o.batches, r->o.batches, NULL);
    pml_plan_free(plan);
    race_must(r, pml_rt_context_metrics(&m, r->ctx, &err) == PML_OK, "metrics", &err);
    for (int i = 0; m.open_views != 0 && i < TEST_PATIENCE_MS; i++) {
        test_sleep_a_millisecond();
        race_must(r, pml_rt_context_metrics(&m, r->ctx, &err) == PML_OK, "metrics", &err);
    }
    (void)snprintf(err.message, sizeof err.message,
                   "%lld rows in memory, %lld uncommitted, %lld views, %lld tickets, %lld prepares in flight",
                   (long long)m.total_row_count, (long long)m.uncommitted_rows, (long long)m.open_views,
                   (long long)m.open_tickets, (long long)m.prepares_in_flight);
    race_must(r,
              m.total_row_count == 0 && m.uncommitted_rows == 0 && m.open_views == 0 && m.open_tickets == 0 &&
                  m.prepares_in_flight == 0,
              "at the end", &err);
}
