/* SPDX-License-Identifier: Apache-2.0 */
/* The memory store with faults. Handles are those of the real store; only functions of its tables are replaced. */
#include <string.h>

#include "columnar/batch.h"
#include "stores/memory.h"
#include "support/rt_model.h"

static const pml_rt_store_vtbl *real; /* set by the first store_open; the same for all stores */
static const pml_rt_view_vtbl *real_view;
static pml_rt_store_vtbl broken;
static pml_rt_view_vtbl broken_view;
static rt_mutant fault;
static unsigned calls;

static bool now_and_then(void)
{
    return ++calls % 5 == 0;
}

static int losing_write(void *store, pml_rt_batch *batch, pml_error *err)
{
    return now_and_then() ? PML_OK : real->write(store, batch, err);
}

/* Every stream twice. */
static int doubling_streams(void *store, pml_rt_streams *out, void *segment, pml_error *err)
{
    static struct ArrowArrayStream both[64];
    int rc = real->commit_streams(store, out, segment, err);
    pml_rt_streams again = {.struct_size = sizeof again};
    if (rc != PML_OK || !now_and_then() || real->commit_streams(store, &again, segment, err) != PML_OK)
        return rc;
    if (out->n + again.n > 64)
        return PML_E_LIMIT;
    for (size_t i = 0; i < out->n; i++)
        both[i] = out->v[i];
    for (size_t i = 0; i < again.n; i++)
        both[out->n + i] = again.v[i];
    size_t n = out->n + again.n;
    if (out->free != NULL)
        out->free(out);
    if (again.free != NULL)
        again.free(&again);
    *out = (pml_rt_streams){.struct_size = sizeof *out, .n = n, .v = both};
    return PML_OK;
}

static int lying_info(void *view, pml_rt_view_info *out, pml_error *err)
{
    int rc = real_view->info(view, out, err);
    out->floor = 0;
    return rc;
}

static int view_with_lies(void *store, void **view, const pml_rt_view_vtbl **vtbl, pml_error *err)
{
    int rc = real->acquire_view(store, view, vtbl, err);
    if (rc != PML_OK)
        return rc;
    real_view = *vtbl;
    broken_view = **vtbl;
    broken_view.info = lying_info;
    *vtbl = &broken_view;
    return PML_OK;
}

static int eager_advance(void *store, int64_t end, int64_t snapshot_id, pml_error *err)
{
    return real->advance(store, end + 4, snapshot_id, err);
}

static int store_open(void *backend, void **store, const pml_rt_store_vtbl **vtbl, const pml_rt_store_params *params, pml_error *err)
{
    int rc = pml_memory_store_plugin()->store_open(backend, store, vtbl, params, err);
    if (rc != PML_OK)
        return rc;
    real = *vtbl;
    broken = *real;
    if (fault == RT_MUTANT_LOSES_ROWS)
        broken.write = losing_write;
    if (fault == RT_MUTANT_DOUBLES_ROWS)
        broken.commit_streams = doubling_streams;
    if (fault == RT_MUTANT_LIES_ON_FLOOR)
        broken.acquire_view = view_with_lies;
    if (fault == RT_MUTANT_EAGER_ADVANCE)
        broken.advance = eager_advance;
    *vtbl = &broken;
    return PML_OK;
}

const pml_rt_plugin *rt_model_plugin(rt_mutant mutant)
{
    static pml_rt_plugin plugin;
    if (mutant == RT_MUTANT_NONE || mutant == RT_MUTANT_SKIPS_PROGRESS)
        return NULL;
    fault = mutant;
    calls = 0;
    plugin = *pml_memory_store_plugin();
    plugin.name = "broken";
    plugin.store_open = store_open;
    return &plugin;
}
