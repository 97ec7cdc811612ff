/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kit that disturb the host: failing allocations, and structs of an older and of a newer host. */
#include <stdlib.h>

#include "support/store_kit.h"

enum { FAULTS_MAX = 2000 };

static bool is_clean_failure(kit *k, int rc, const pml_error *err, const char *call)
{
    return kit_ok(k, rc == PML_E_NOMEM && err->code == rc, "%s without memory gave %s", call, pml_error_name(rc));
}

/* n-th allocation from now on fails, once; 0: none. */
static bool write_with_fault(kit *k, long long n, int64_t n_rows, bool *done)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray array;
    pml_rt_batch batch;
    kit_rows rows;
    kit_make_batch(k, &array, &batch, &rows, n_rows, n % 2 == 0, 0);
    test_env_fail_at(k->t, n);
    int rc = k->vt->write(k->store, &batch, &err);
    test_env_fail_at(k->t, 0);
    *done = rc == PML_OK;
    bool ok = true;
    if (*done)
        kit_accept(k, &batch, &rows);
    else
        ok = is_clean_failure(k, rc, &err, "write") &&
             kit_ok(k, (err.flags & PML_ERRF_NO_EFFECT) != 0,
                    "write failed without memory, but did not say that nothing happened");
    if (!*done)
        kit_drop_rows(&rows);
    pml_array__release(&array); /* untouched, or taken: either way only once */
    return ok;
}

static bool faulty_writes(kit *k)
{
    bool done = false, ok = true;
    for (long long n = 1; n < FAULTS_MAX && ok && !done; n++)
        ok = write_with_fault(k, n, 3, &done) && kit_view_acquire(k, 0) && kit_view_check(k, &k->views[0]),
        kit_view_release(k, 0);
    return ok && kit_ok(k, done, "write never succeeds");
}

static bool faulty_seal(kit *k, int slot)
{
    int rc = PML_E_NOMEM;
    for (long long n = 1; n < FAULTS_MAX && rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k->t, n);
        rc = k->vt->seal(k->store, &k->segments[slot], &err);
        test_env_fail_at(k->t, 0);
        if (rc != PML_OK &&
            (!is_clean_failure(k, rc, &err, "seal") || !kit_view_acquire(k, 1) || !kit_view_check(k, &k->views[1])))
            return false;
        kit_view_release(k, 1);
    }
    kit_note_seal(k);
    return kit_ok(k, k->segments[slot] != NULL, "seal never succeeds");
}

static bool faulty_view(kit *k, int slot)
{
    int rc = PML_E_NOMEM;
    for (long long n = 1; n < FAULTS_MAX && rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        kit_view *v = &k->views[slot];
        test_env_fail_at(k->t, n);
        rc = k->vt->acquire_view(k->store, &v->view, &v->vt, &err);
        test_env_fail_at(k->t, 0);
        if (rc != PML_OK && !is_clean_failure(k, rc, &err, "acquire_view"))
            return false;
    }
    if (!kit_ok(k, k->views[slot].view != NULL, "acquire_view never succeeds"))
        return false;
    kit_view_release(k, slot);
    return kit_view_acquire(k, slot);
}

/* Opens and drains streams of a view (segment NULL) or segment; true when every call succeeded. *clean: no wrong answer. */
static bool read_with_fault(kit *k, long long n, const kit_view *view, void *segment, bool *clean)
{
    struct ArrowSchema schema = {0};
    pml_error err = PML_ERROR_INIT;
    pml_rt_streams s = {.struct_size = sizeof s};
    pml_rt_query q = {.struct_size = sizeof q, .read_schema = &schema, .batch_rows = 2, .limit = -1};
    must_ok(pml_type__export(&schema, k->t->env, k->layout->fields, k->layout->n_fields, &err), &err);
    test_env_fail_at(k->t, n);
    int rc = segment != NULL ? k->vt->commit_streams(k->store, &s, segment, &err)
                             : view->vt->query_streams(view->view, &s, &q, &err);
    *clean = rc == PML_OK || is_clean_failure(k, rc, &err, "opening streams");
    for (size_t i = 0; i < s.n && rc == PML_OK; i++) {
        struct ArrowSchema got = {0};
        rc = s.v[i].get_schema(&s.v[i], &got);
        pml_schema__release(&got);
        bool more = rc == 0;
        while (more) {
            struct ArrowArray a = {0};
            rc = s.v[i].get_next(&s.v[i], &a);
            more = rc == 0 && a.release != NULL;
            *clean = *clean && kit_ok(k, rc == 0 || a.release == NULL, "a failing get_next gave an array");
            pml_array__release(&a);
        }
    }
    test_env_fail_at(k->t, 0);
    k->streams[0] = s;
    kit_streams_release(k, 0);
    pml_schema__release(&schema);
    return rc == PML_OK;
}

static bool faulty_read(kit *k, const kit_view *view, void *segment)
{
    bool clean = true, done = false;
    for (long long n = 1; n < FAULTS_MAX && clean && !done; n++)
        done = read_with_fault(k, n, view, segment, &clean);
    return clean && kit_ok(k, done, "reading never succeeds");
}

static bool faulty_advance(kit *k)
{
    int rc = PML_E_NOMEM;
    for (long long n = 1; n < FAULTS_MAX && rc != PML_OK; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k->t, n);
        rc = k->vt->advance(k->store, k->next, 1, &err);
        test_env_fail_at(k->t, 0);
        if (rc == PML_OK)
            k->advanced = k->next;
        else if (!is_clean_failure(k, rc, &err, "advance"))
            return false;
    }
    return kit_ok(k, rc == PML_OK, "advance never succeeds") && kit_view_acquire(k, 2) &&
           kit_view_check(k, &k->views[2]);
}

/* 24 */
bool kit_case_allocation_failures(kit *k)
{
    for (int round = 0; round < 10; round++) /* past the first room of every list */
        if (!faulty_writes(k) || !faulty_seal(k, 3 + round))
            return false;
    for (int i = 0; i < 10; i++)
        if (!faulty_writes(k))
            return false;
    bool ok = faulty_view(k, 1) && faulty_read(k, &k->views[1], NULL) && faulty_read(k, NULL, k->segments[3]) &&
              kit_view_check(k, &k->views[1]) && faulty_advance(k) && kit_view_check(k, &k->views[1]);
    void *store = NULL;
    const pml_rt_store_vtbl *vt = NULL;
    static const uint32_t key = PML_RT_KEYED_SYSTEM;
    const pml_rt_store_params p = {.struct_size = sizeof p,
                                   .mode = k->layout->mode,
                                   .host = &k->services,
                                   .schema = &k->transport,
                                   .schema_id = k->layout->schema_id,
                                   .n_key_columns = k->keyed ? 1 : 0,
                                   .key_columns = k->keyed ? &key : NULL};
    for (long long n = 1; n < FAULTS_MAX && ok && store == NULL; n++) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(k->t, n);
        int rc = k->plugin->store_open(k->backend, &store, &vt, &p, &err);
        test_env_fail_at(k->t, 0);
        ok = rc == PML_OK || is_clean_failure(k, rc, &err, "store_open");
    }
    if (store != NULL)
        vt->release(store);
    return ok && kit_ok(k, store != NULL, "store_open never succeeds");
}

enum { TAIL = 64 };

/* 27: old hosts, new hosts, and views and streams of other sizes, to the end of the file */
static bool tail_untouched(kit *k, const uint8_t *tail, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!kit_ok(k, tail[i] == 0xA5, "%s wrote behind the struct_size of the host", what))
            return false;
    return true;
}

/* The outputs of a host that knows `cut` bytes less, or TAIL bytes more, than this header. */
static bool outputs_fit(kit *k, size_t cut)
{
    pml_error err = PML_ERROR_INIT;
    union {
        size_t struct_size;
        pml_rt_usage usage;
        pml_rt_view_info info;
        pml_rt_segment_info segment;
        uint8_t bytes[sizeof(pml_rt_segment_info) + sizeof(pml_rt_usage) + TAIL];
    } u;
    memset(&u, 0xA5, sizeof u);
    u.struct_size = sizeof u.usage - cut;
    bool ok = kit_rc(k, k->vt->usage(k->store, &u.usage, &err), &err, "usage") &&
              kit_ok(k, u.struct_size == sizeof u.usage - cut, "usage changed struct_size") &&
              tail_untouched(k, u.bytes + sizeof u.usage - cut, cut + TAIL, "usage");
    memset(&u, 0xA5, sizeof u);
    u.struct_size = sizeof u.info - cut;
    ok = ok && kit_rc(k, k->views[0].vt->info(k->views[0].view, &u.info, &err), &err, "info") &&
         tail_untouched(k, u.bytes + sizeof u.info - cut, cut + TAIL, "info");
    memset(&u, 0xA5, sizeof u);
    u.struct_size = sizeof u.segment - cut;
    return ok && kit_rc(k, k->vt->segment_info(k->segments[0], &u.segment, &err), &err, "segment_info") &&
           tail_untouched(k, u.bytes + sizeof u.segment - cut, cut + TAIL, "segment_info");
}

/* A query of the given size; what lies behind it is garbage that must not be read, or read and ignored. */
static bool query_of_size(kit *k, size_t size)
{
    struct {
        pml_rt_query q;
        uint8_t tail[TAIL];
    } x;
    struct ArrowSchema schema = {0};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_type__export(&schema, k->t->env, k->layout->fields, k->layout->n_fields, &err), &err);
    memset(&x, 0xA5, sizeof x);
    const pml_rt_query q = {.struct_size = size, .read_schema = &schema, .limit = -1};
    memcpy(&x, &q, size < sizeof q ? size : sizeof q);
    k->streams[0] = (pml_rt_streams){.struct_size = sizeof(pml_rt_streams)};
    int rc = k->views[0].vt->query_streams(k->views[0].view, &k->streams[0], &x.q, &err);
    pml_schema__release(&schema);
    return kit_rc(k, rc, &err, "query_streams") &&
           kit_drain(k, 0, k->views[0].info.floor, k->views[0].info.end, true, NULL, k->layout->n_fields);
}

static bool batch_of_size(kit *k, size_t size)
{
    struct {
        pml_rt_batch b;
        uint8_t tail[TAIL];
    } x;
    struct ArrowArray array;
    pml_rt_batch batch;
    kit_rows rows;
    pml_error err = PML_ERROR_INIT;
    kit_make_batch(k, &array, &batch, &rows, 3, true, 0);
    batch.struct_size = size;
    memset(&x, 0xA5, sizeof x);
    memcpy(&x, &batch, size < sizeof batch ? size : sizeof batch);
    int rc = k->vt->write(k->store, &x.b, &err);
    if (rc == PML_OK)
        kit_accept(k, &batch, &rows);
    else
        kit_drop_rows(&rows);
    pml_array__release(&array);
    return kit_rc(k, rc, &err, "write");
}

/* A host that ends with `stream`, as phase P1a, and one that has more services than this header. */
static bool host_of_size(kit *k, size_t size)
{
    struct {
        pml_rt_host h;
        uint8_t tail[TAIL];
    } x;
    void *backend = NULL, *store = NULL;
    const pml_rt_store_vtbl *vt = NULL;
    pml_error err = PML_ERROR_INIT;
    memset(&x, 0xA5, sizeof x);
    memcpy(&x, pml_rt_host__services(k->host), size < sizeof x.h ? size : sizeof x.h);
    x.h.struct_size = size;
    pml_rt_store_params p = {.struct_size = sizeof p,
                             .mode = PML_RT_MODE_APPEND,
                             .host = &x.h,
                             .schema = &k->transport,
                             .schema_id = k->layout->schema_id,
                             .committed_end = k->next};
    int rc = k->plugin->open(&backend, &x.h, 0, NULL, &err);
    if (!kit_rc(k, rc, &err, "open with a host of another size"))
        return false;
    rc = k->plugin->store_open(backend, &store, &vt, &p, &err);
    if (!kit_rc(k, rc, &err, "store_open with a host of another size")) {
        k->plugin->close(backend);
        return false;
    }
    void *kept = k->store;
    const pml_rt_store_vtbl *kept_vt = k->vt;
    int64_t first = k->next;
    k->store = store;
    k->vt = vt;
    k->advanced = k->next;
    bool ok = kit_write(k, 4, true, 0) && kit_seal(k, 20) && kit_commit_streams(k, 0, k->segments[20]) &&
              kit_drain(k, 0, first, k->next, false, NULL, k->layout->n_fields);
    kit_segment_release(k, 20);
    k->store = kept;
    k->vt = kept_vt;
    ok = kit_rc(k, vt->close(store, 0, &err), &err, "close") && ok;
    vt->release(store);
    k->plugin->close(backend);
    return ok;
}

bool kit_case_struct_sizes(kit *k)
{
    return kit_write(k, 5, true, 0) && kit_seal(k, 0) && kit_view_acquire(k, 0) && outputs_fit(k, 0) &&
           outputs_fit(k, 8) && query_of_size(k, sizeof(pml_rt_query) + TAIL) &&
           query_of_size(k, offsetof(pml_rt_query, batch_rows)) && batch_of_size(k, sizeof(pml_rt_batch) + TAIL) &&
           batch_of_size(k, offsetof(pml_rt_batch, bytes)) && host_of_size(k, offsetof(pml_rt_host, concat)) &&
           host_of_size(k, sizeof(pml_rt_host) + TAIL);
}
