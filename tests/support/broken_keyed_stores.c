/* SPDX-License-Identifier: Apache-2.0 */
#include "support/broken_keyed_stores.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores/memory.h"

enum { KIND, SEQUENCE, OFFSET, ID, KEPT_MAX = 4096 };

static const pml_rt_store_vtbl *real; /* set by the first store_open; the same for all stores */
static const pml_rt_view_vtbl *real_view;
static pml_rt_store_vtbl broken;
static pml_rt_view_vtbl broken_view;
static keyed_fault fault;
static unsigned calls;
static void *open_store;
static size_t n_kept;
static void *kept[KEPT_MAX];

/* ---- writing ---- */

static void *values(const struct ArrowArray *batch, int column, size_t width)
{
    const struct ArrowArray *c = batch->children[column];
    return (uint8_t *)(uintptr_t)c->buffers[1] + (size_t)(c->offset + batch->offset) * width;
}

static int broken_write(void *store, pml_rt_batch *batch, pml_error *err)
{
    const int64_t rows = batch->rows < batch->array->length ? batch->rows : batch->array->length;
    if (fault == KEYED_LOSES && ++calls % 3 == 0 && rows > 0) {
        batch->array->release(batch->array);
        return PML_OK;
    }
    for (int64_t i = 0; i < rows && batch->array->n_children > ID; i++) {
        if (fault == KEYED_RENUMBERS)
            ((int64_t *)values(batch->array, SEQUENCE, 8))[i]++;
        if (fault == KEYED_KINDS && ((int8_t *)values(batch->array, KIND, 1))[i] == 3)
            ((int8_t *)values(batch->array, KIND, 1))[i] = 0;
    }
    int rc = real->write(store, batch, err);
    const pml_rt_view_vtbl *vt;
    if (rc == PML_OK && fault == KEYED_KEEPS && n_kept < KEPT_MAX && real->acquire_view(store, &kept[n_kept], &vt, NULL) == PML_OK) {
        real_view = vt;
        n_kept++;
    }
    return rc;
}

static int eager_advance(void *store, int64_t end, int64_t snapshot_id, pml_error *err)
{
    return real->advance(store, end + 12, snapshot_id, err);
}

static void release_kept(void *store)
{
    while (n_kept > 0)
        real_view->release(kept[--n_kept]);
    real->release(store);
}

/* ---- streams ---- */

/* One stream of the store, or several end to end. */
typedef struct stream_wrap {
    struct ArrowArrayStream *inner;
    size_t n, at;
    struct ArrowArrayStream again; /* COLLAPSES: a second look, for what comes behind the row that is left out */
    int64_t left_out;              /* of the first array; 0: none */
    bool first_given;
    int64_t group; /* -1: as the store says */
} stream_wrap;

static int wrap_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    stream_wrap *w = self->private_data;
    int rc = w->inner[0].get_schema(&w->inner[0], out);
    if (rc != 0 || w->group < 0 || out->metadata == NULL)
        return rc;
    /* one pair: its number is the end of the text, and as long as that */
    int32_t n[2], len;
    memcpy(n, out->metadata, sizeof n);
    char *value = (char *)(uintptr_t)out->metadata + 8 + n[1];
    memcpy(&len, value, 4);
    for (int32_t i = 0; i < len; i++)
        value[4 + i] = (char)(i + 1 < len ? '0' : '0' + w->group % 10);
    return 0;
}

static int64_t find_versions(const struct ArrowArray *a)
{
    const int64_t *ids = values(a, ID, 8);
    for (int64_t i = 0; i + 1 < a->length; i++)
        if (ids[i] == ids[i + 1])
            return i + 1;
    return 0;
}

static int wrap_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    stream_wrap *w = self->private_data;
    *out = (struct ArrowArray){0};
    if (w->left_out > 0) { /* the same array, behind the row */
        int rc = w->again.get_next(&w->again, out);
        if (rc != 0)
            return rc;
        out->offset += w->left_out;
        out->length -= w->left_out;
        w->left_out = 0;
        return 0;
    }
    for (; w->at < w->n; w->at++) {
        int rc = w->inner[w->at].get_next(&w->inner[w->at], out);
        if (rc != 0)
            return rc;
        if (out->release == NULL)
            continue;
        if (!w->first_given && w->again.release != NULL && out->n_children > ID) {
            w->left_out = find_versions(out);
            if (w->left_out > 0)
                out->length = w->left_out - 1;
        }
        w->first_given = true;
        return 0;
    }
    return 0;
}

static const char *wrap_last_error(struct ArrowArrayStream *self)
{
    stream_wrap *w = self->private_data;
    struct ArrowArrayStream *s = &w->inner[w->at < w->n ? w->at : 0];
    return s->get_last_error(s);
}

static void wrap_release(struct ArrowArrayStream *self)
{
    stream_wrap *w = self->private_data;
    for (size_t i = 0; i < w->n; i++)
        w->inner[i].release(&w->inner[i]);
    if (w->again.release != NULL)
        w->again.release(&w->again);
    free(w->inner);
    free(w);
    self->release = NULL;
}

static struct ArrowArrayStream wrap(const struct ArrowArrayStream *v, size_t n, const struct ArrowArrayStream *again, int64_t group)
{
    stream_wrap *w = calloc(1, sizeof *w);
    struct ArrowArrayStream *inner = calloc(n, sizeof *inner);
    if (w == NULL || inner == NULL)
        abort();
    memcpy(inner, v, n * sizeof *inner);
    *w = (stream_wrap){.inner = inner, .n = n, .group = group};
    if (again != NULL)
        w->again = *again;
    return (struct ArrowArrayStream){.get_schema = wrap_schema, .get_next = wrap_next, .get_last_error = wrap_last_error,
                                     .release = wrap_release, .private_data = w};
}

static void own_free(pml_rt_streams *s)
{
    free(s->v);
}

/* out: its streams and those of `more` (n 0: none) behind them, in memory of ours. */
static void take_over(pml_rt_streams *out, pml_rt_streams *more)
{
    struct ArrowArrayStream *v = calloc(out->n + more->n + 1, sizeof *v);
    if (v == NULL)
        abort();
    for (size_t i = 0; i < out->n; i++)
        v[i] = out->v[i];
    for (size_t i = 0; i < more->n; i++)
        v[out->n + i] = more->v[i];
    size_t n = out->n + more->n;
    if (out->free != NULL && out->v != NULL)
        out->free(out);
    if (more->free != NULL && more->v != NULL)
        more->free(more);
    *out = (pml_rt_streams){.struct_size = sizeof *out, .n = n, .v = v, .free = own_free};
}

static int broken_commit_streams(void *store, pml_rt_streams *out, void *segment, pml_error *err)
{
    pml_rt_streams again = {.struct_size = sizeof again}, none = {0};
    int rc = real->commit_streams(store, out, segment, err);
    bool twice = fault == KEYED_DOUBLES || fault == KEYED_COLLAPSES;
    if (rc != PML_OK || out->n == 0 || (twice && real->commit_streams(store, &again, segment, NULL) != PML_OK))
        return rc;
    if (fault == KEYED_DOUBLES) {
        take_over(out, &again);
        return PML_OK;
    }
    take_over(out, &none);
    if (fault == KEYED_CHAINS) {
        out->v[0] = wrap(out->v, out->n, NULL, -1);
        out->n = 1;
    }
    for (size_t i = 0; i < again.n; i++) {
        out->v[i] = wrap(&out->v[i], 1, &again.v[i], -1);
        again.v[i].release = NULL;
    }
    if (again.free != NULL && again.v != NULL)
        again.free(&again);
    return PML_OK;
}

/* ---- views ---- */

static int broken_query(void *view, pml_rt_streams *out, const pml_rt_query *query, pml_error *err)
{
    void *fresh = NULL;
    const pml_rt_view_vtbl *vt;
    pml_rt_streams none = {0};
    if (fault == KEYED_CHANGES_VIEW && real->acquire_view(open_store, &fresh, &vt, NULL) != PML_OK)
        fresh = NULL; /* it is closed */
    int rc = real_view->query_streams(fresh != NULL ? fresh : view, out, query, err);
    if (fresh != NULL)
        real_view->release(fresh);
    if (rc != PML_OK || out->n == 0 || (fault != KEYED_ONE_SEGMENT && fault != KEYED_BACKWARDS))
        return rc;
    take_over(out, &none);
    for (size_t i = 0; i < out->n; i++)
        out->v[i] = wrap(&out->v[i], 1, NULL, fault == KEYED_ONE_SEGMENT ? 7 : (int64_t)(9 - i % 10));
    return PML_OK;
}

static int broken_info(void *view, pml_rt_view_info *out, pml_error *err)
{
    int rc = real_view->info(view, out, err);
    if (rc == PML_OK && fault == KEYED_LIES_ON_FLOOR)
        out->floor = 0;
    if (rc == PML_OK && fault == KEYED_LIES_ON_END && out->end > out->floor)
        out->end--;
    return rc;
}

static int broken_acquire_view(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    int rc = real->acquire_view(store, view, vtbl, err);
    if (rc != PML_OK)
        return rc;
    real_view = *vtbl;
    broken_view = **vtbl;
    broken_view.info = broken_info;
    broken_view.query_streams = broken_query;
    *vtbl = &broken_view;
    return PML_OK;
}

/* ---- plugin ---- */

static int store_open(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params, pml_error *err)
{
    int rc = pml_memory_store_plugin()->store_open(backend, store, vtbl, params, err);
    if (rc != PML_OK)
        return rc;
    real = *vtbl;
    open_store = *store;
    broken = *real;
    broken.write = broken_write;
    broken.commit_streams = broken_commit_streams;
    broken.acquire_view = broken_acquire_view;
    broken.release = release_kept;
    if (fault == KEYED_EAGER)
        broken.advance = eager_advance;
    *vtbl = &broken;
    return PML_OK;
}

const pml_rt_plugin *broken_keyed_plugin(keyed_fault f)
{
    static pml_rt_plugin plugin;
    static char name[32];
    fault = f;
    calls = 0;
    (void)snprintf(name, sizeof name, "broken-keyed-%d", (int)f);
    plugin = *pml_memory_store_plugin();
    plugin.name = name;
    plugin.caps = PML_RT_CAP_MODE_KEY;
    plugin.store_open = store_open;
    return &plugin;
}
