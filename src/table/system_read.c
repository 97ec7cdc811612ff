/* SPDX-License-Identifier: Apache-2.0 */
/* System tables that are another read of the table: ro and row_tracking. */
#include <string.h>

#include "table/row_tracking.h"
#include "table/system.h"
#include "util/number.h"

enum { LEVELS_MAX = 1000000 };

static int get_number(int64_t *out, const pml_table *t, const char *key, pml_error *err)
{
    const char *text = pml_table_option(t, key);
    if (text == NULL || (pml_number__int64(out, text, strlen(text)) && *out > 0 && *out <= LEVELS_MAX))
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                         "option %s of %s is '%.200s', not a number of 1 to %d", key, t->path, text, LEVELS_MAX);
}

/* Java: CoreOptions.numLevels; the highest level is the last one. */
int pml_system__top_level(int32_t *level, const pml_table *t, pml_error *err)
{
    int64_t trigger = 5, levels = 0;
    PML_RETURN_IF(get_number(&trigger, t, "num-sorted-run.compaction-trigger", err));
    PML_RETURN_IF(get_number(&levels, t, "num-levels", err));
    *level = (int32_t)(levels > 0 ? levels - 1 : trigger);
    return PML_OK;
}

/* Reads what the scan and the options choose, and ends the scan. */
static int open_scan(struct ArrowArrayStream *out, pml_scan *scan, const pml_system_options *o, pml_error *err)
{
    pml_read_options read = PML_READ_OPTIONS_INIT;
    pml_plan *plan = NULL;
    int rc;
    read.flags = o->flags;
    if (o->columns != NULL)
        PML_TRY(pml_scan_set_columns(scan, o->columns, o->n_columns, err));
    if (o->predicate != NULL)
        PML_TRY(pml_scan_set_predicate(scan, o->predicate, err));
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(pml_read_open(out, plan, &read, err));
out:
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

int pml_system__open_ro(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *o, pml_error *err)
{
    pml_scan *scan;
    int32_t level = -1;
    if (t->schema->n_keys > 0)
        PML_RETURN_IF(pml_system__top_level(&level, t, err));
    PML_RETURN_IF(pml_scan_new(&scan, t, err));
    scan->only_level = level;
    return open_scan(out, scan, o, err);
}

int pml_system__open_row_tracking(struct ArrowArrayStream *out, pml_table *t, const pml_system_options *o, pml_error *err)
{
    pml_system_columns columns;
    pml_scan *scan = NULL;
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    int rc = pml_system__columns(&columns, &arena, t, "row_tracking", err); /* says whether the table has any */
    pml_arena__clear(&arena);
    PML_RETURN_IF(rc);
    PML_RETURN_IF(pml_scan_new(&scan, t, err));
    scan->extra = pml_row_tracking_fields;
    scan->n_extra = PML_TRACKING_COLUMNS;
    return open_scan(out, scan, o, err);
}
