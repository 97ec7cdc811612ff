/* SPDX-License-Identifier: Apache-2.0 */
#include "support/broken_stores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stores/memory.h"

enum { INTACT = BROKEN_COUNT, KEPT_MAX = 4096 };

typedef struct store_wrap {
    int kind;
    void *store;
    const pml_rt_store_vtbl *vt;
    pthread_mutex_t m; /* kept views; rows of the newest batch */
    int64_t newest_rows;
    size_t n_kept;
    struct {
        void *view;
        const pml_rt_view_vtbl *vt;
    } kept[KEPT_MAX];
} store_wrap;

typedef struct segment_wrap {
    int refs; /* under the mutex of life */
    atomic_bool released;
    void *segment;
    store_wrap *store;
    pml_rt_range range;
} segment_wrap;

typedef struct view_wrap {
    store_wrap *store;
    void *view;
    const pml_rt_view_vtbl *vt;
    int64_t cut; /* rows that a half batch hides */
} view_wrap;

static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

static void segment_unref(segment_wrap *s)
{
    pthread_mutex_lock(&life);
    bool last = --s->refs == 0;
    pthread_mutex_unlock(&life);
    if (last)
        free(s);
}

/* ---- arrays ---- */

typedef struct own_column {
    const void *buffers[2];
    uint8_t *validity; /* behind the values */
    int64_t values[];
} own_column;

static void own_release(struct ArrowArray *a)
{
    free(a->private_data);
    a->release = NULL;
}

/* Replaces the offset column (child 0) by a copy: the original may be shared with the store. */
static int64_t *own_offsets(struct ArrowArray *array)
{
    struct ArrowArray *child = array->children[0];
    int64_t n = array->offset + array->length;
    own_column *c = calloc(1, sizeof *c + (size_t)n * 8 + (size_t)n / 8 + 1);
    if (c == NULL)
        abort();
    memcpy(c->values, (const int64_t *)child->buffers[1] + child->offset, (size_t)n * 8);
    c->buffers[1] = c->values;
    c->validity = (uint8_t *)(c->values + n);
    child->release(child);
    *child = (struct ArrowArray){
        .length = n, .n_buffers = 2, .buffers = c->buffers, .release = own_release, .private_data = c};
    return c->values + array->offset;
}

static void first_offset_is_null(struct ArrowArray *array)
{
    (void)own_offsets(array);
    struct ArrowArray *child = array->children[0];
    own_column *c = child->private_data;
    memset(c->validity, 0xff, (size_t)child->length / 8 + 1);
    c->validity[array->offset / 8] &= (uint8_t) ~(1u << (array->offset % 8));
    c->buffers[0] = c->validity;
    child->null_count = 1;
}

/* ---- streams ---- */

typedef struct stream_wrap {
    int kind;
    struct ArrowArrayStream inner, again; /* again: a second look at the same rows */
    segment_wrap *segment;                /* NULL: a query */
    struct ArrowArray held;               /* UNSORTED: the first array */
    int64_t given, limit;                 /* HALF_BATCH: rows to give at most; -1: all */
    bool extra_given;
} stream_wrap;

static bool column_lost(const stream_wrap *w)
{
    return w->kind == BROKEN_LACKS;
}

static int wrap_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    stream_wrap *w = self->private_data;
    int rc = w->inner.get_schema(&w->inner, out);
    if (rc != 0 || out->n_children < 1 || strcmp(out->children[0]->name, PML_RT_COL_OFFSET) != 0)
        return rc;
    if (w->kind ==
        BROKEN_SCHEMA) /* the texts belong to the private part of the schema: pointing elsewhere leaks nothing */
        out->children[0]->name = "_OFFSET";
    if (w->kind == BROKEN_FORMAT)
        out->children[0]->format = "i";
    if (column_lost(w)) {
        out->children[0]->release(out->children[0]);
        for (int64_t i = 1; i < out->n_children; i++)
            *out->children[i - 1] = *out->children[i];
        out->n_children--;
    }
    return 0;
}

/* One row of the second look, the first one; with another offset when it is not negative. */
static int extra_row(stream_wrap *w, struct ArrowArray *out, int64_t offset)
{
    w->extra_given = true;
    int rc = w->again.get_next(&w->again, out);
    if (rc != 0 || out->release == NULL)
        return rc;
    out->length = 1;
    if (offset >= 0)
        own_offsets(out)[0] = offset;
    return 0;
}

static int commit_next(stream_wrap *w, struct ArrowArray *out)
{
    bool first = w->given == 0;
    if (w->kind == BROKEN_TIED && atomic_load(&w->segment->released))
        return 5; /* EIO */
    int rc = w->inner.get_next(&w->inner, out);
    if (rc != 0)
        return rc;
    if (w->kind == BROKEN_UNSORTED && first && out->release != NULL) {
        w->held = *out;
        w->given += out->length;
        return w->inner.get_next(&w->inner, out);
    }
    if (out->release == NULL && w->held.release != NULL) {
        *out = w->held;
        w->held.release = NULL;
        return 0;
    }
    if (out->release == NULL && !w->extra_given && (w->kind == BROKEN_DOUBLES || w->kind == BROKEN_BOTH))
        return extra_row(w, out, -1);
    if (out->release == NULL && !w->extra_given && w->kind == BROKEN_INVENTS)
        return extra_row(w, out, w->segment->range.end);
    if (first && out->release != NULL && out->length > 1 && (w->kind == BROKEN_LOSES || w->kind == BROKEN_BOTH))
        out->length--;
    if (first && out->release != NULL && w->kind == BROKEN_OUTSIDE)
        own_offsets(out)[out->length - 1] = w->segment->range.end + 5;
    return 0;
}

static int wrap_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    stream_wrap *w = self->private_data;
    *out = (struct ArrowArray){0};
    if (w->limit >= 0 && w->given >= w->limit)
        return 0;
    int rc = w->segment != NULL ? commit_next(w, out) : w->inner.get_next(&w->inner, out);
    if (rc != 0 || out->release == NULL)
        return rc;
    if (w->limit >= 0 && out->length > w->limit - w->given)
        out->length = w->limit - w->given;
    if (w->given == 0 && w->kind == BROKEN_NULL && out->n_children > 0 && out->length > 0)
        first_offset_is_null(out);
    if (column_lost(w) && out->n_children > 0) {
        out->children[0]->release(out->children[0]);
        for (int64_t i = 1; i < out->n_children; i++)
            *out->children[i - 1] = *out->children[i];
        out->n_children--;
    }
    w->given += out->length;
    return 0;
}

static const char *wrap_get_last_error(struct ArrowArrayStream *self)
{
    stream_wrap *w = self->private_data;
    const char *text = w->inner.get_last_error(&w->inner);
    return text == NULL ? "the segment is gone" : text;
}

static void wrap_release(struct ArrowArrayStream *self)
{
    stream_wrap *w = self->private_data;
    w->inner.release(&w->inner);
    if (w->again.release != NULL)
        w->again.release(&w->again);
    if (w->held.release != NULL)
        w->held.release(&w->held);
    if (w->segment != NULL)
        segment_unref(w->segment);
    free(w);
    self->release = NULL;
}

/* The memory store gives one stream; it is moved into a wrapper, in place. */
static void wrap_streams(pml_rt_streams *s, int kind, segment_wrap *segment, struct ArrowArrayStream *again,
                         int64_t limit)
{
    stream_wrap *w = calloc(1, sizeof *w);
    if (w == NULL || s->n != 1)
        abort();
    w->kind = kind;
    w->inner = s->v[0];
    w->segment = segment;
    w->limit = limit;
    if (again != NULL)
        w->again = *again;
    if (segment != NULL) {
        pthread_mutex_lock(&life);
        segment->refs++;
        pthread_mutex_unlock(&life);
    }
    s->v[0] = (struct ArrowArrayStream){.get_schema = wrap_get_schema,
                                        .get_next = wrap_get_next,
                                        .get_last_error = wrap_get_last_error,
                                        .release = wrap_release,
                                        .private_data = w};
}

/* ---- views ---- */

static int view_info(void *p, pml_rt_view_info *out, pml_error *err)
{
    view_wrap *v = p;
    int rc = v->vt->info(v->view, out, err);
    if (rc == PML_OK) {
        out->end -= v->cut;
        out->rows -= v->cut;
    }
    return rc;
}

static int view_query(void *p, pml_rt_streams *out, const pml_rt_query *query, pml_error *err)
{
    view_wrap *v = p;
    void *view = v->view;
    const pml_rt_view_vtbl *vt = v->vt;
    pml_rt_view_info info = {.struct_size = sizeof info};
    int rc = v->vt->info(v->view, &info, err);
    bool fresh = v->store->kind == BROKEN_CHANGES_VIEW;
    if (rc == PML_OK && fresh && v->store->vt->acquire_view(v->store->store, &view, &vt, NULL) != PML_OK) {
        view = v->view; /* the store is closed */
        vt = v->vt;
    }
    if (rc == PML_OK)
        rc = vt->query_streams(view, out, query, err);
    if (view != v->view)
        vt->release(view);
    if (rc == PML_OK)
        wrap_streams(out, v->store->kind, NULL, NULL, v->cut > 0 ? info.rows - v->cut : -1);
    return rc;
}

static void view_release(void *p)
{
    view_wrap *v = p;
    v->vt->release(v->view);
    free(v);
}

static const pml_rt_view_vtbl wrap_view_vtbl = {
    .struct_size = sizeof wrap_view_vtbl, .info = view_info, .query_streams = view_query, .release = view_release};

/* ---- store ---- */

static int store_write(void *p, pml_rt_batch *batch, pml_error *err)
{
    store_wrap *s = p;
    int64_t rows = batch->rows;
    int rc = s->vt->write(s->store, batch, err);
    if (rc != PML_OK)
        return rc;
    pthread_mutex_lock(&s->m);
    s->newest_rows = rows;
    if (s->kind == BROKEN_KEEPS && s->n_kept < KEPT_MAX &&
        s->vt->acquire_view(s->store, &s->kept[s->n_kept].view, &s->kept[s->n_kept].vt, NULL) == PML_OK)
        s->n_kept++;
    pthread_mutex_unlock(&s->m);
    return PML_OK;
}

static int store_seal(void *p, void **segment, pml_error *err)
{
    store_wrap *s = p;
    void *inner = NULL;
    pml_rt_segment_info info = {.struct_size = sizeof info};
    *segment = NULL;
    int rc = s->vt->seal(s->store, &inner, err);
    if (rc != PML_OK || inner == NULL)
        return rc;
    segment_wrap *w = calloc(1, sizeof *w);
    if (w == NULL || s->vt->segment_info(inner, &info, err) != PML_OK)
        abort();
    w->refs = 1;
    w->segment = inner;
    w->store = s;
    w->range = info.range;
    *segment = w;
    return PML_OK;
}

static int store_segment_info(void *segment, pml_rt_segment_info *out, pml_error *err)
{
    segment_wrap *w = segment;
    return w->store->vt->segment_info(w->segment, out, err);
}

static int store_commit_streams(void *p, pml_rt_streams *out, void *segment, pml_error *err)
{
    store_wrap *s = p;
    segment_wrap *w = segment;
    pml_rt_streams again = {.struct_size = sizeof again};
    int rc = s->vt->commit_streams(s->store, out, w->segment, err);
    if (rc != PML_OK)
        return rc;
    bool twice = s->kind == BROKEN_DOUBLES || s->kind == BROKEN_BOTH || s->kind == BROKEN_INVENTS;
    struct ArrowArrayStream second = {0};
    if (twice && s->vt->commit_streams(s->store, &again, w->segment, NULL) == PML_OK) {
        second = again.v[0];
        again.free(&again);
    }
    wrap_streams(out, s->kind, w, second.release == NULL ? NULL : &second, -1);
    ((stream_wrap *)out->v[0].private_data)->extra_given = second.release == NULL;
    return PML_OK;
}

static void store_segment_release(void *segment)
{
    segment_wrap *w = segment;
    atomic_store(&w->released, true);
    w->store->vt->segment_release(w->segment);
    segment_unref(w);
}

static int store_acquire_view(void *p, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    store_wrap *s = p;
    view_wrap *v = calloc(1, sizeof *v);
    *view = NULL;
    *vtbl = NULL;
    if (v == NULL)
        abort();
    v->store = s;
    int rc = s->vt->acquire_view(s->store, &v->view, &v->vt, err);
    if (rc != PML_OK) {
        free(v);
        return rc;
    }
    pthread_mutex_lock(&s->m);
    v->cut = s->kind == BROKEN_HALF_BATCH ? s->newest_rows / 2 : 0;
    pthread_mutex_unlock(&s->m);
    *view = v;
    *vtbl = &wrap_view_vtbl;
    return PML_OK;
}

static int store_advance(void *p, int64_t committed_end, int64_t snapshot_id, pml_error *err)
{
    store_wrap *s = p;
    return s->vt->advance(s->store, committed_end, snapshot_id, err);
}

static int store_usage(void *p, pml_rt_usage *out, pml_error *err)
{
    store_wrap *s = p;
    return s->vt->usage(s->store, out, err);
}

static int store_close(void *p, uint32_t flags, pml_error *err)
{
    store_wrap *s = p;
    return s->vt->close(s->store, flags, err);
}

static void store_release(void *p)
{
    store_wrap *s = p;
    for (size_t i = 0; i < s->n_kept; i++)
        s->kept[i].vt->release(s->kept[i].view);
    s->vt->release(s->store);
    pthread_mutex_destroy(&s->m);
    free(s);
}

static const pml_rt_store_vtbl wrap_store_vtbl = {.struct_size = sizeof wrap_store_vtbl,
                                                  .write = store_write,
                                                  .seal = store_seal,
                                                  .segment_info = store_segment_info,
                                                  .commit_streams = store_commit_streams,
                                                  .segment_release = store_segment_release,
                                                  .acquire_view = store_acquire_view,
                                                  .advance = store_advance,
                                                  .usage = store_usage,
                                                  .close = store_close,
                                                  .release = store_release};

/* ---- plugins: the backend is the number of the mistake ---- */

static int kinds[BROKEN_COUNT + 1];

static int wrap_store_open(void *backend, void **store, const pml_rt_store_vtbl **vtbl,
                           const pml_rt_store_params *params, pml_error *err)
{
    store_wrap *s = calloc(1, sizeof *s);
    *store = NULL;
    *vtbl = NULL;
    if (s == NULL)
        abort();
    s->kind = (int)((int *)backend - kinds);
    int rc = pml_memory_store_plugin()->store_open(backend, &s->store, &s->vt, params, err);
    if (rc != PML_OK) {
        free(s);
        return rc;
    }
    pthread_mutex_init(&s->m, NULL);
    *store = s;
    *vtbl = &wrap_store_vtbl;
    return PML_OK;
}

static void wrap_close(void *backend)
{
    (void)backend;
}

#define FOR_EACH_KIND(X)                                                                                            \
    X(BROKEN_LOSES, "loses")                                                                                        \
    X(BROKEN_DOUBLES, "doubles")                                                                                    \
    X(BROKEN_BOTH, "both") X(BROKEN_INVENTS, "invents") X(BROKEN_OUTSIDE, "outside") X(BROKEN_UNSORTED, "unsorted") \
        X(BROKEN_TIED, "tied") X(BROKEN_SCHEMA, "schema") X(BROKEN_FORMAT, "format") X(BROKEN_NULL, "null")         \
            X(BROKEN_LACKS, "lacks") X(BROKEN_CHANGES_VIEW, "changes-view") X(BROKEN_HALF_BATCH, "half-batch")      \
                X(BROKEN_KEEPS, "keeps") X(INTACT, "not")

#define DEFINE_OPEN(kind, text)                                                                         \
    static int open_##kind(void **backend, const pml_rt_host *host, size_t n, const pml_rt_kv *options, \
                           pml_error *err)                                                              \
    {                                                                                                   \
        (void)host, (void)n, (void)options, (void)err;                                                  \
        *backend = &kinds[kind];                                                                        \
        return PML_OK;                                                                                  \
    }
FOR_EACH_KIND(DEFINE_OPEN)

#define PLUGIN(kind, text)                          \
    [kind] = {.struct_size = sizeof(pml_rt_plugin), \
              .magic = PML_RT_PLUGIN_MAGIC,         \
              .abi_major = PML_RT_ABI_MAJOR,        \
              .abi_minor = PML_RT_ABI_MINOR,        \
              .name = "broken-" text,               \
              .version = "0",                       \
              .caps = PML_RT_CAP_MODE_APPEND,       \
              .open = open_##kind,                  \
              .store_open = wrap_store_open,        \
              .close = wrap_close},
static const pml_rt_plugin plugins[] = {FOR_EACH_KIND(PLUGIN)};

const pml_rt_plugin *broken_store_plugin(broken_kind kind)
{
    return &plugins[kind];
}

const char *broken_store_name(broken_kind kind)
{
    return plugins[kind].name;
}

const pml_rt_plugin *wrapped_store_plugin(void)
{
    return &plugins[INTACT];
}
