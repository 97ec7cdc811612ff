/* SPDX-License-Identifier: Apache-2.0 */
#include "table/newest_first.h"

#include <stdlib.h>

typedef struct dated_run {
    int64_t min, max; /* sequence numbers */
    pml_sorted_run run;
} dated_run;

static bool fixes(const pml_pred *p, int32_t field_id)
{
    if (p->op != PML_PRED_AND)
        return p->op == PML_PRED_EQ && p->field_id == field_id;
    for (size_t i = 0; i < p->n_children; i++)
        if (fixes(p->children[i], field_id))
            return true;
    return false;
}

bool pml_newest__one_key(const pml_pred *p, const pml_table_schema *schema)
{
    for (size_t i = 0; p != NULL && i < schema->n_keys; i++) {
        const pml_field *f = &schema->fields[schema->key_index[i]];
        /* Of a CHAR in ORC one run may hold several rows, see one_of_run in merge/merge.h. */
        if (f->type.kind == PML_TYPE_CHAR || !fixes(p, f->id))
            return false;
    }
    return p != NULL;
}

static dated_run run_date(const pml_sorted_run *run, const pml_data_file *files)
{
    dated_run d = {INT64_MAX, INT64_MIN, *run};
    for (size_t i = 0; i < run->n; i++) {
        const pml_data_file *f = &files[run->files[i]];
        d.min = f->min_sequence < d.min ? f->min_sequence : d.min;
        d.max = f->max_sequence > d.max ? f->max_sequence : d.max;
    }
    return d;
}

static int compare_newer(const void *x, const void *y)
{
    const dated_run *a = x, *b = y;
    return a->max > b->max ? -1 : a->max < b->max;
}

int pml_newest__runs(pml_sorted_run **out, pml_arena *arena, const pml_section *s, const pml_data_file *files, pml_error *err)
{
    dated_run *dated = pml_arena__array(arena, s->n_runs, sizeof *dated);
    pml_sorted_run *runs = pml_arena__array(arena, s->n_runs, sizeof *runs);
    *out = NULL;
    if (dated == NULL || runs == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_runs; i++)
        dated[i] = run_date(&s->runs[i], files);
    qsort(dated, s->n_runs, sizeof *dated, compare_newer);
    for (size_t i = 0; i < s->n_runs; i++) {
        if (dated[i].min > dated[i].max || (i > 0 && dated[i].max >= dated[i - 1].min))
            return PML_OK;
        runs[i] = dated[i].run;
    }
    *out = runs;
    return PML_OK;
}
