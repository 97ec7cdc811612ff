/* SPDX-License-Identifier: Apache-2.0 */
/* The readers: a query over the whole table, and the probe for freshness. Both see memory and files as one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "append.h"
#include "error.h"

enum {
    QUERIES_ON_MS = 2500, /* queries run without a pause, then freshness is measured without them */
    QUERIES_OFF_MS = 1500
};

/* Columns of the query. */
enum { QUERY_CARRIER = 0, QUERY_DELAY = 1 };

typedef struct totals {
    int64_t rows;
    int n;
    struct {
        uint64_t key; /* the bytes of the name, then zeros */
        int64_t flights, delayed, delay_minutes;
    } of[STATUS_CARRIERS];
} totals;

/* ---- the query ---- */

static bool is_null(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *valid = a->buffers[0];
    int64_t at = i + a->offset;
    return valid != NULL && (valid[at / 8] >> (at % 8) & 1) == 0;
}

static int carrier_find(totals *t, const char *name, size_t len)
{
    uint64_t key = 0; /* a name as a number: the query compares millions of them */
    if (len >= sizeof key)
        return -1;
    memcpy(&key, name, len);
    for (int i = 0; i < t->n; i++)
        if (t->of[i].key == key)
            return i;
    if (t->n == STATUS_CARRIERS)
        return -1;
    t->of[t->n].key = key;
    return t->n++;
}

static int add_rows(totals *t, const struct ArrowArray *batch, pml_error *err)
{
    const struct ArrowArray *carriers = batch->children[QUERY_CARRIER], *delays = batch->children[QUERY_DELAY];
    const int32_t *ends = carriers->buffers[1], *minutes = delays->buffers[1];
    const char *text = carriers->buffers[2];
    for (int64_t i = batch->offset; i < batch->offset + batch->length; i++) {
        int64_t at = i + carriers->offset;
        int c = carrier_find(t, text + ends[at], (size_t)(ends[at + 1] - ends[at]));
        if (c < 0)
            return error_set(err, PML_E_INTERNAL, "there are more carriers than the demo has room for");
        t->of[c].flights++;
        if (!is_null(delays, i)) {
            t->of[c].delayed++;
            t->of[c].delay_minutes += minutes[i + delays->offset];
        }
    }
    t->rows += batch->length;
    return PML_OK;
}

static int read_plan(totals *t, pml_plan *plan, pml_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch = {0};
    int rc = pml_read_open(&stream, plan, NULL, err);
    if (rc != PML_OK)
        return rc;
    while (rc == PML_OK) {
        if (stream.get_next(&stream, &batch) != 0)
            rc = pml_stream_error(&stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        rc = add_rows(t, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return rc;
}

static void publish(life *s, const totals *t)
{
    for (int i = 0; i < t->n; i++) {
        carrier *c = &s->carriers[i];
        if (i >= atomic_load(&s->n_carriers))
            memcpy(c->name, &t->of[i].key, sizeof c->name);
        atomic_store(&c->flights, t->of[i].flights);
        atomic_store(&c->delayed, t->of[i].delayed);
        atomic_store(&c->delay_minutes, t->of[i].delay_minutes);
    }
    atomic_store(&s->n_carriers, t->n);
    atomic_store(&s->visible, t->rows);
    (void)atomic_fetch_add(&s->queries, 1);
}

/* Names keep their places, so that whoever looks at the published numbers finds each carrier where it was. */
static void totals_restart(totals *t)
{
    t->rows = 0;
    for (int i = 0; i < t->n; i++)
        t->of[i].flights = t->of[i].delayed = t->of[i].delay_minutes = 0;
}

/* Every row whose write call returned before the plan must be there, once; one whose call began after it must not. */
static int query(totals *t, live *l, pml_error *err)
{
    static const char *const columns[] = {"carrier", "arr_delay"};
    life *s = l->life;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    totals_restart(t);
    int rc = pml_scan_new(&scan, l->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_columns(scan, columns, 2, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, l->context, err);
    int64_t least = atomic_load(&s->recovered_rows) + atomic_load(&s->written);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    int64_t most = atomic_load(&s->recovered_rows) + atomic_load(&s->submitted);
    if (rc == PML_OK)
        rc = read_plan(t, plan, err);
    if (rc == PML_OK && (t->rows < least || t->rows > most))
        rc = error_set(err, PML_E_INTERNAL,
                       "a query saw %" PRId64 " rows; between %" PRId64 " and %" PRId64 " were written when it began",
                       t->rows, least, most);
    if (rc == PML_OK)
        publish(s, t);
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

void *append_query_thread(void *arg)
{
    live *l = arg;
    totals t = {0};
    pml_error err = PML_ERROR_INIT;
    int rc = PML_OK;
    while (rc == PML_OK && !atomic_load(&l->stop)) {
        atomic_store(&l->queries_on, true);
        for (int64_t end = live_now_ns() + QUERIES_ON_MS * 1000000LL;
             rc == PML_OK && live_now_ns() < end && !atomic_load(&l->stop);)
            rc = query(&t, l, &err);
        atomic_store(&l->queries_on, false);
        for (int64_t end = live_now_ns() + QUERIES_OFF_MS * 1000000LL; live_now_ns() < end && !atomic_load(&l->stop);)
            live_sleep_ms(20);
    }
    if (rc == PML_OK)
        rc = query(&t, l, &err); /* of all rows, most of them not committed a moment ago */
    if (rc != PML_OK)
        live_fail(l, "a query", rc, &err);
    return NULL;
}

/* ---- the probe ---- */

/* Reads the row by its number; sets *got when it came. */
static int probe_read(bool *got, live *l, int64_t row, pml_error *err)
{
    static const char *const columns[] = {"row_number", "carrier", "dest"};
    char text[24];
    pml_predicate *predicate = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    struct ArrowArray batch = {0};
    int n = snprintf(text, sizeof text, "%" PRId64, row);
    const pml_literal literal = {text, (size_t)n};
    *got = false;
    int rc = pml_predicate_leaf(&predicate, l->table, "row_number", PML_OP_EQ, &literal, 1, err);
    if (rc == PML_OK)
        rc = pml_scan_new(&scan, l->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_columns(scan, columns, 3, err);
    if (rc == PML_OK)
        rc = pml_scan_set_predicate(scan, predicate, err);
    if (rc == PML_OK)
        rc = pml_scan_set_realtime(scan, l->context, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    if (rc == PML_OK && stream.get_next(&stream, &batch) != 0)
        rc = pml_stream_error(&stream, err);
    if (batch.release != NULL) {
        const struct ArrowArray *numbers = batch.children[0];
        *got = batch.length == 1 && ((const int64_t *)numbers->buffers[1])[batch.offset + numbers->offset] == row;
        batch.release(&batch);
    }
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_predicate_free(predicate);
    return rc;
}

/* Waits for a write call that begins from now on. Returns false when the process stops. */
static bool probe_wait(live *l, int64_t *start_ns, int64_t *row, int64_t *rows)
{
    probe *p = &l->probe;
    (void)pthread_mutex_lock(&p->mu);
    p->row = -1;
    atomic_store(&p->waiting, true);
    while (p->row < 0 && !atomic_load(&l->stop))
        (void)pthread_cond_wait(&p->changed, &p->mu);
    atomic_store(&p->waiting, false);
    *start_ns = p->start_ns;
    *row = p->row;
    *rows = p->rows;
    (void)pthread_mutex_unlock(&p->mu);
    return *row >= 0;
}

void *append_probe_thread(void *arg)
{
    live *l = arg;
    pml_error err = PML_ERROR_INIT;
    int64_t start_ns, row, rows;
    int rc = PML_OK;
    while (rc == PML_OK && probe_wait(l, &start_ns, &row, &rows)) {
        bool got, on = atomic_load(&l->queries_on);
        rc = probe_read(&got, l, row, &err);
        int64_t took = live_now_ns() - start_ns;
        if (rc == PML_OK && !got)
            rc = error_set(&err, PML_E_INTERNAL, "a row was not visible, once, after its write call had returned");
        if (rc == PML_OK && rows > atomic_load(&l->life->visible))
            atomic_store(&l->life->visible, rows);
        if (rc == PML_OK && on == atomic_load(&l->queries_on))
            latency_add(on ? &l->life->busy : &l->life->quiet, took);
    }
    if (rc != PML_OK)
        live_fail(l, "the probe", rc, &err);
    return NULL;
}
