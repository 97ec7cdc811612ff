/* SPDX-License-Identifier: Apache-2.0 */
#include "support/failing_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stores/memory.h"
#include "util/error.h"

typedef struct wrapped {
    void *store;
    const pml_rt_store_vtbl *vt;
} wrapped;

failing_script failing_store;

static int fails(failing_call call, pml_error *err)
{
    failing_script *f = &failing_store;
    if (f->call != call || f->skip-- > 0 || f->times-- <= 0)
        return PML_OK;
    if (f->code == PML_OK)
        return PML_OK;
    (void)pml_error__set(err, f->code, "the store failed on command");
    pml_error__add_flags(err, f->flags);
    return f->code;
}

static bool is_empty(const pml_error *err)
{
    static const pml_error empty = PML_ERROR_INIT;
    return memcmp(err->file, empty.file, sizeof empty.file) == 0 && memcmp(err->message, empty.message, sizeof empty.message) == 0;
}

static int w_write(void *store, pml_rt_batch *batch, pml_error *err)
{
    wrapped *w = store;
    failing_store.dirty += !is_empty(err);
    PML_RETURN_IF(fails(FAIL_WRITE, err));
    PML_RETURN_IF(w->vt->write(w->store, batch, err));
    return fails(FAIL_WRITE_TAKEN, err);
}

static int w_seal(void *store, void **segment, pml_error *err)
{
    wrapped *w = store;
    *segment = NULL;
    PML_RETURN_IF(fails(FAIL_SEAL, err));
    return w->vt->seal(w->store, segment, err);
}

static int w_segment_info(void *segment, pml_rt_segment_info *out, pml_error *err)
{
    (void)segment, (void)out;
    return pml_error__set(err, PML_E_UNSUPPORTED, "not in this test");
}

static int w_commit_streams(void *store, pml_rt_streams *out, void *segment, pml_error *err)
{
    wrapped *w = store;
    PML_RETURN_IF(fails(FAIL_COMMIT_STREAMS, err));
    return w->vt->commit_streams(w->store, out, segment, err);
}

static const pml_rt_store_vtbl *memory_vtbl;

static void w_segment_release(void *segment)
{
    memory_vtbl->segment_release(segment);
}

atomic_int failing_store_views_released;
atomic_ulong failing_store_releaser;

static pml_rt_view_vtbl view_vtbl; /* the memory store's, with another release */
static void (*view_release)(void *view);

static void w_view_release(void *view)
{
    atomic_store(&failing_store_releaser, (unsigned long)pthread_self());
    view_release(view);
    (void)atomic_fetch_add(&failing_store_views_released, 1);
}

static int w_acquire_view(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    wrapped *w = store;
    *view = NULL;
    PML_RETURN_IF(fails(FAIL_ACQUIRE_VIEW, err));
    PML_RETURN_IF(w->vt->acquire_view(w->store, view, vtbl, err));
    if (view_release == NULL) {
        view_vtbl = **vtbl;
        view_release = view_vtbl.release;
        view_vtbl.release = w_view_release;
    }
    *vtbl = &view_vtbl;
    return PML_OK;
}

static int w_advance(void *store, int64_t end, int64_t snapshot_id, pml_error *err)
{
    wrapped *w = store;
    failing_store.advances++;
    PML_RETURN_IF(fails(FAIL_ADVANCE, err));
    return w->vt->advance(w->store, end, snapshot_id, err);
}

static int w_usage(void *store, pml_rt_usage *out, pml_error *err)
{
    wrapped *w = store;
    PML_RETURN_IF(fails(FAIL_USAGE, err));
    return w->vt->usage(w->store, out, err);
}

static int w_close(void *store, uint32_t flags, pml_error *err)
{
    wrapped *w = store;
    return w->vt->close(w->store, flags, err);
}

static void w_release(void *store)
{
    wrapped *w = store;
    w->vt->release(w->store);
    free(w);
}

static const pml_rt_store_vtbl vtbl = {.struct_size = sizeof vtbl,
                                       .write = w_write,
                                       .seal = w_seal,
                                       .segment_info = w_segment_info,
                                       .commit_streams = w_commit_streams,
                                       .segment_release = w_segment_release,
                                       .acquire_view = w_acquire_view,
                                       .advance = w_advance,
                                       .usage = w_usage,
                                       .close = w_close,
                                       .release = w_release};

static int p_open(void **backend, const pml_rt_host *host, size_t n, const pml_rt_kv *options, pml_error *err)
{
    return pml_memory_store_plugin()->open(backend, host, n, options, err);
}

static int p_store_open(void *backend, void **store, const pml_rt_store_vtbl **vt, const pml_rt_store_params *params, pml_error *err)
{
    *store = NULL;
    PML_RETURN_IF(fails(FAIL_STORE_OPEN, err));
    wrapped *w = calloc(1, sizeof *w);
    int rc = w == NULL ? PML_E_NOMEM : pml_memory_store_plugin()->store_open(backend, &w->store, &w->vt, params, err);
    if (rc != PML_OK) {
        free(w);
        return rc;
    }
    memory_vtbl = w->vt;
    *store = w;
    *vt = &vtbl;
    return PML_OK;
}

static void p_close(void *backend)
{
    pml_memory_store_plugin()->close(backend);
}

const pml_rt_plugin failing_store_plugin = {.struct_size = sizeof(pml_rt_plugin),
                                            .magic = PML_RT_PLUGIN_MAGIC,
                                            .abi_major = PML_RT_ABI_MAJOR,
                                            .abi_minor = PML_RT_ABI_MINOR,
                                            .name = "failing",
                                            .version = "1",
                                            .caps = PML_RT_CAP_MODE_APPEND | PML_RT_CAP_MODE_KEY,
                                            .open = p_open,
                                            .store_open = p_store_open,
                                            .close = p_close};
