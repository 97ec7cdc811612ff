/* SPDX-License-Identifier: Apache-2.0 */
#include "table/column_chain.h"

#include <string.h>

#include "meta/path.h"
#include "table/evolution.h"

enum { FORMAT_TEXT = 16 };

/* Files of one chain: BLOBs of one column, whatever schemas they are of; vectors of one schema, format and list of columns. */
static int same_chain(bool *same, const pml_columns_read *q, const pml_data_file *a, const pml_data_file *b, pml_error *err)
{
    char format_a[FORMAT_TEXT], format_b[FORMAT_TEXT];
    PML_RETURN_IF(pml_path__format(format_a, a->name, err));
    PML_RETURN_IF(pml_path__format(format_b, b->name, err));
    *same = strcmp(format_a, format_b) == 0 && a->write_cols.n == b->write_cols.n && a->write_cols.n > 0;
    if (!*same)
        return PML_OK;
    if (strcmp(format_a, "blob") != 0) {
        *same = a->schema_id == b->schema_id;
        for (size_t i = 0; i < a->write_cols.n && *same; i++)
            *same = strcmp(a->write_cols.v[i], b->write_cols.v[i]) == 0;
        return PML_OK;
    }
    int32_t ids[2];
    const pml_data_file *files[] = {a, b};
    for (int i = 0; i < 2; i++) {
        const pml_table_schema *written;
        const char *name = files[i]->write_cols.v[0];
        PML_RETURN_IF(pml_table__schema_at(&written, q->plan->table, files[i]->schema_id, err));
        int64_t at = pml_table_schema__find(written, name, strlen(name));
        ids[i] = at < 0 ? -1 - i : written->fields[at].id;
    }
    *same = ids[0] == ids[1];
    return PML_OK;
}

/* Java's order of chains of vectors: by schema, format, columns. */
static int compare_chains(int *order, const pml_data_file *a, const pml_data_file *b, pml_error *err)
{
    char format_a[FORMAT_TEXT], format_b[FORMAT_TEXT];
    PML_RETURN_IF(pml_path__format(format_a, a->name, err));
    PML_RETURN_IF(pml_path__format(format_b, b->name, err));
    bool blob_a = strcmp(format_a, "blob") == 0, blob_b = strcmp(format_b, "blob") == 0;
    if (blob_a || blob_b) /* those come before vectors */
        *order = blob_a && blob_b ? 0 : blob_a ? -1 : 1;
    else if (a->schema_id != b->schema_id)
        *order = a->schema_id < b->schema_id ? -1 : 1;
    else
        *order = strcmp(format_a, format_b);
    for (size_t i = 0; *order == 0 && !blob_a && i < a->write_cols.n && i < b->write_cols.n; i++)
        *order = strcmp(a->write_cols.v[i], b->write_cols.v[i]);
    return PML_OK;
}

int pml_file_chain__first(size_t *file, const pml_columns_read *q, int32_t field_id, pml_error *err)
{
    bool found = false;
    for (size_t i = q->first; i < q->end; i++) {
        const pml_data_file *f = &q->split->files[i];
        pml_written w = {NULL, &f->write_cols};
        int order = -1;
        PML_RETURN_IF(pml_table__schema_at(&w.schema, q->plan->table, f->schema_id, err));
        if (!pml_plan__is_companion(f) || pml_evolution__column(&w, field_id) == NULL)
            continue;
        if (found)
            PML_RETURN_IF(compare_chains(&order, f, &q->split->files[*file], err));
        if (order < 0) /* of equal ones the first, which has the first rows */
            *file = i;
        found = true;
    }
    return PML_OK;
}

static int gap(const pml_split *split, size_t file, int64_t row, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, split->paths[file],
                         "%s and the files with the same column leave out the row of id %lld, or are of different ages within it",
                         split->paths[file], (long long)row);
}

int pml_file_chain__make(pml_file_chain *out, pml_arena *arena, const pml_split *split, const pml_columns_read *q, size_t first,
                         pml_error *err)
{
    const pml_data_file *rows = &split->files[q->first], *last = NULL;
    int64_t next = rows->first_row_id.v, end = next + rows->row_count;
    size_t *files = pml_arena__array(arena, q->end - q->first, sizeof *files);
    *out = (pml_file_chain){.files = files};
    if (files == NULL)
        return pml_error__no_memory(err);
    for (size_t i = first; i < q->end; i++) {
        const pml_data_file *f = &split->files[i];
        bool same = pml_plan__is_companion(f);
        if (same)
            PML_RETURN_IF(same_chain(&same, q, &split->files[first], f, err));
        if (!same)
            continue;
        if (last != NULL && f->first_row_id.v < next) { /* rows that a newer one has already */
            if (f->max_sequence >= last->max_sequence)
                return gap(split, i, f->first_row_id.v, err);
            continue;
        }
        if (f->first_row_id.v != next)
            return gap(split, i, next, err);
        files[out->n++] = i;
        last = f;
        next += f->row_count;
    }
    return next == end ? PML_OK : gap(split, first, next, err);
}
