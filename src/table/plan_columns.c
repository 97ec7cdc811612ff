/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data evolution (format-data.md 16; Java: DataEvolutionSplitRead.mergeRangesAndSort): files with the same row ids hold columns of the
 * same rows. They stand side by side in a split, the newest first, and no split has some of them only. Behind them stand their
 * companions, .blob and .vector files with one column, or some, of a part of these rows: by first row id, the newest first.
 */
#include <stdlib.h>
#include <string.h>

#include "table/prune.h"
#include "table/scan.h"

/* ---- files of the same rows ---- */

bool pml_plan__is_companion(const pml_data_file *f)
{
    size_t n = strlen(f->name);
    return (n >= 5 && strcmp(f->name + n - 5, ".blob") == 0) || strstr(f->name, ".vector.") != NULL;
}

/* Of a file that begins rows, and one behind it. */
static bool same_rows(const pml_data_file *a, const pml_data_file *b)
{
    return b->first_row_id.v < a->first_row_id.v + a->row_count;
}

size_t pml_plan__rows_end(const pml_data_file *const *files, size_t n, size_t first)
{
    size_t end = first + 1;
    while (end < n && same_rows(files[first], files[end]))
        end++;
    return end;
}

size_t pml_split__rows_end(const pml_split *s, size_t first)
{
    size_t end = first + 1;
    while (s->by_columns && end < s->n_files && same_rows(&s->files[first], &s->files[end]))
        end++;
    return end;
}

/* ---- what a file must be ---- */

static bool is_column_of(const pml_table_schema *written, const char *name)
{
    return strcmp(name, "_ROW_ID") == 0 || strcmp(name, "_SEQUENCE_NUMBER") == 0 || pml_table_schema__find(written, name, strlen(name)) >= 0;
}

int pml_plan__refuse_columns_file(pml_plan *p, const pml_data_file *f, pml_error *err)
{
    const pml_table_schema *written;
    int64_t end;
    if (p->schema->n_keys > 0)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, f->name,
                             "needs data-evolution: %s has a primary key, with which its files cannot hold some of the columns only",
                             p->table->path);
    if (!f->first_row_id.present)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name,
                             "%s of %s has no first row id, which every file of a table with data evolution has", f->name, p->table->path);
    if (__builtin_add_overflow(f->first_row_id.v, f->row_count, &end))
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name, "%s of %s has %lld rows from id %lld on: the ids pass 2^63",
                             f->name, p->table->path, (long long)f->row_count, (long long)f->first_row_id.v);
    PML_RETURN_IF(pml_table__schema_at(&written, p->table, f->schema_id, err));
    for (size_t i = 0; i < f->write_cols.n; i++)
        if (!is_column_of(written, f->write_cols.v[i]))
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name,
                                 "%s of %s is said to hold the column '%.80s', which its schema %lld does not have", f->name, p->table->path,
                                 f->write_cols.v[i], (long long)f->schema_id);
    return PML_OK;
}

/* ---- order ---- */

typedef struct ordered {
    const pml_data_file *file;
    size_t index; /* what is of the same age stays as it was: qsort is not stable */
} ordered;

static int compare_rows(const void *pa, const void *pb)
{
    const ordered *a = pa, *b = pb;
    if (a->file->first_row_id.v != b->file->first_row_id.v)
        return a->file->first_row_id.v < b->file->first_row_id.v ? -1 : 1;
    bool companion_a = pml_plan__is_companion(a->file), companion_b = pml_plan__is_companion(b->file);
    if (companion_a != companion_b)
        return companion_a ? 1 : -1;
    if (a->file->max_sequence != b->file->max_sequence)
        return a->file->max_sequence > b->file->max_sequence ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* Files next to each other have the same rows, or none in common; what a companion has lies within the rows that began before it. */
static int check_rows(const pml_plan *p, const pml_data_file *first, const pml_data_file *f, pml_error *err)
{
    int64_t end = f->first_row_id.v + f->row_count;
    if (pml_plan__is_companion(f)) {
        if (first != NULL && same_rows(first, f) && end <= first->first_row_id.v + first->row_count)
            return PML_OK;
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name,
                             "%s of %s has a column of %lld rows from id %lld on, but no file has the other columns of just these rows", f->name,
                             p->table->path, (long long)f->row_count, (long long)f->first_row_id.v);
    }
    if (first == NULL || !same_rows(first, f) || (first->first_row_id.v == f->first_row_id.v && first->row_count == f->row_count))
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name,
                         "%s (%lld rows from id %lld on) and %s (%lld rows from id %lld on) of %s have some of their rows in common; files "
                         "with columns of the same rows have the same ones",
                         first->name, (long long)first->row_count, (long long)first->first_row_id.v, f->name, (long long)f->row_count,
                         (long long)f->first_row_id.v, p->table->path);
}

int pml_plan__order_columns(const pml_data_file **files, size_t *n, const pml_plan *p, pml_error *err)
{
    size_t kept = 0;
    int rc = PML_OK;
    const pml_data_file *first = NULL; /* of the rows that the next file may have, too */
    ordered *v = pml_env__calloc(p->env, *n, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < *n; i++)
        if (files[i]->row_count > 0) { /* a file without rows has the row id of another one */
            v[kept] = (ordered){files[i], i};
            kept++;
        }
    if (kept > 1)
        qsort(v, kept, sizeof *v, compare_rows);
    for (size_t i = 0; i < kept; i++) {
        PML_TRY(check_rows(p, first, v[i].file, err));
        if (first == NULL || !same_rows(first, v[i].file))
            first = v[i].file;
    }
    for (size_t i = 0; i < kept; i++)
        files[i] = v[i].file;
    *n = kept;
out:
    pml_env__free(p->env, v);
    return rc;
}

/* Rows with columns in several files are never left out: the statistics of one file say nothing about what another one replaces. */
int pml_plan__prune_columns(const pml_data_file **files, size_t *n, pml_plan *p, pml_prune *prune, pml_error *err)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < *n; i = end) {
        bool matches = true;
        const pml_table_schema *written;
        end = pml_plan__rows_end(files, *n, i);
        if (end == i + 1 && !files[i]->write_cols.present) {
            PML_RETURN_IF(pml_table__schema_at(&written, p->table, files[i]->schema_id, err));
            PML_RETURN_IF(pml_prune__file(&matches, prune, written, files[i], err));
        }
        for (size_t j = i; matches && j < end; j++)
            files[kept++] = files[j];
    }
    *n = kept;
    return PML_OK;
}
