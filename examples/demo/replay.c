/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include "error.h"

static int load_ends(replay *r, int64_t snapshot, pml_error *err)
{
    int rc = pml_rt_offsets_load(&r->offsets, r->table, snapshot, err);
    if (rc != PML_OK)
        return rc;
    if (pml_rt_offsets_all_lost(r->offsets))
        return error_set(err, PML_E_PROGRESS_LOST,
                         "the snapshot that recorded the offsets has expired: a replay would write rows twice");
    for (size_t i = 0; rc == PML_OK && i < pml_rt_offsets_count(r->offsets); i++) {
        pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
        rc = pml_rt_offsets_get(&info, r->offsets, i, err);
        if (rc == PML_OK && info.tiered > r->end)
            r->end = info.tiered;
    }
    return rc;
}

int replay_load(replay *r, pml_table *table, pml_error *err)
{
    int64_t snapshot;
    *r = (replay){.table = table};
    int rc = pml_table_arrow_schema(&r->schema, table, err);
    if (rc == PML_OK)
        rc = pml_table_latest_snapshot(&snapshot, table, err);
    return rc != PML_OK || snapshot < 0 ? rc : load_ends(r, snapshot, err);
}

void replay_free(replay *r)
{
    if (r->schema.release != NULL)
        r->schema.release(&r->schema);
    pml_rt_offsets_free(r->offsets);
    *r = (replay){0};
}

int64_t replay_count(const replay *r)
{
    return r->offsets == NULL ? 0 : (int64_t)pml_rt_offsets_count(r->offsets);
}

int replay_mark(bool *keep, const replay *r, const struct ArrowArray *rows, const int64_t *offsets, pml_error *err)
{
    pml_routes *routes = NULL;
    int rc = pml_table_route(&routes, r->table, rows, &r->schema, err);
    for (size_t i = 0; rc == PML_OK && i < pml_routes_count(routes); i++) {
        pml_route_info route = PML_ROUTE_INFO_INIT;
        pml_rt_pb pb = PML_RT_PB_INIT;
        rc = pml_routes_get(&route, routes, i, err);
        if (rc != PML_OK)
            break;
        pb.n_partition = route.n_partition;
        pb.partition = route.partition;
        pb.bucket = route.bucket;
        int64_t committed_end = pml_rt_offsets_find(r->offsets, &pb); /* -1: nothing is committed there */
        for (int64_t k = 0; k < route.n_rows; k++)
            keep[route.rows[k]] = offsets[route.rows[k]] >= committed_end;
    }
    pml_routes_free(routes);
    return rc;
}
