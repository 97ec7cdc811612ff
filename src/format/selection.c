/* SPDX-License-Identifier: Apache-2.0 */
#include "format/selection.h"

#include "columnar/array_memory.h"
#include "util/error.h"

int pml_selection__check(const pml_row_set *rows, int64_t n_rows, const char *path, pml_error *err)
{
    if (rows == NULL || rows->n_rows == n_rows)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path, "%s has %lld rows, what is known of its rows is of %lld", path,
                         (long long)n_rows, (long long)rows->n_rows);
}

int64_t pml_selection__count(const pml_selection *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->n_ranges; i++)
        n += s->rows == NULL ? s->ranges[i].end - s->ranges[i].first : pml_row_set__count(s->rows, s->ranges[i].first, s->ranges[i].end);
    return n;
}

static bool is_wanted(const pml_selection *s, int64_t position)
{
    return s->rows == NULL || pml_row_set__has(s->rows, position);
}

/* Which rows of the next n are wanted, and where they lie in the file (positions NULL: not asked for); *n_wanted of them. */
static int wanted_rows(pml_selection *s, int64_t *wanted, int64_t *positions, int64_t *n_wanted, int64_t n, pml_error *err)
{
    int64_t row = 0;
    *n_wanted = 0;
    while (row < n) {
        if (s->i == s->n_ranges)
            return pml_error__set(err, PML_E_INTERNAL, "a file gave %lld rows more than were to be read", (long long)(n - row));
        int64_t first = s->ranges[s->i].first + s->done, end = s->ranges[s->i].end;
        if (end - first > n - row)
            end = first + n - row;
        for (int64_t at = first; at < end; at++) {
            wanted[*n_wanted] = row + (at - first);
            if (positions != NULL)
                positions[*n_wanted] = at;
            *n_wanted += is_wanted(s, at);
        }
        row += end - first;
        s->done += end - first;
        if (end == s->ranges[s->i].end) {
            s->i++;
            s->done = 0;
        }
    }
    return PML_OK;
}

/* Numbers as an array, which then owns them; with no array they stay the caller's. */
static int array_of(struct ArrowArray *out, pml_env *env, int64_t *numbers, int64_t n, pml_error *err)
{
    PML_RETURN_IF(pml_array__init(out, env, NULL, 2, 0, err));
    out->length = n;
    pml_array__adopt(out, 1, numbers);
    return PML_OK;
}

/* The batch (moved) with one more column, which is moved, too. */
static int add_column(struct ArrowArray *batch, pml_env *env, struct ArrowArray *column, pml_error *err)
{
    struct ArrowArray out = {0};
    size_t n = (size_t)batch->n_children;
    struct ArrowArray *columns = pml_env__calloc(env, n + 1, sizeof *columns);
    int rc = columns == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        columns[i] = *batch->children[i];
        batch->children[i]->release = NULL;
    }
    if (rc == PML_OK) {
        columns[n] = *column;
        column->release = NULL;
        rc = pml_batch__from_columns(&out, env, columns, n + 1, batch->length, err);
    }
    for (size_t i = 0; rc != PML_OK && columns != NULL && i <= n; i++)
        pml_array__release(&columns[i]);
    pml_env__free(env, columns);
    pml_array__release(column);
    batch->release(batch);
    *batch = out;
    return rc;
}

int pml_selection__cut(pml_selection *s, struct ArrowArray *batch, const pml_field *fields, size_t n_fields, pml_error *err)
{
    struct ArrowArray cut = {0}, column = {0};
    int64_t n_wanted, n = batch->length;
    int64_t *positions = NULL;
    int rc;
    if (s->rows == NULL && !s->positions)
        return PML_OK;
    int64_t *wanted = pml_env__calloc(s->env, (size_t)n + 1, sizeof *wanted);
    if (s->positions)
        positions = pml_env__calloc(s->env, (size_t)n + 1, sizeof *positions);
    if (wanted == NULL || (s->positions && positions == NULL)) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(wanted_rows(s, wanted, positions, &n_wanted, n, err));
    if (n_wanted < n) {
        if (n_wanted > 0)
            PML_TRY(pml_batch__gather_rows(&cut, s->env, fields, n_fields, batch, wanted, n_wanted, err));
        batch->release(batch);
        *batch = cut;
    }
    if (!s->positions || n_wanted == 0)
        goto out;
    PML_TRY(array_of(&column, s->env, positions, n_wanted, err));
    positions = NULL;
    PML_TRY(add_column(batch, s->env, &column, err));
out:
    pml_env__free(s->env, wanted);
    pml_env__free(s->env, positions);
    if (rc != PML_OK)
        pml_array__release(batch);
    return rc;
}

int pml_selection__positions(struct ArrowArray *out, pml_selection *s, int64_t n, pml_error *err)
{
    int64_t found = 0;
    int64_t *positions = pml_env__calloc(s->env, (size_t)n + 1, sizeof *positions);
    if (positions == NULL)
        return pml_error__no_memory(err);
    while (found < n && s->i < s->n_ranges) {
        int64_t at = s->ranges[s->i].first + s->done;
        if (at == s->ranges[s->i].end) {
            s->i++;
            s->done = 0;
            continue;
        }
        positions[found] = at;
        found += is_wanted(s, at);
        s->done++;
    }
    int rc = found < n ? pml_error__set(err, PML_E_INTERNAL, "a file has %lld rows less than were to be read", (long long)(n - found))
                       : array_of(out, s->env, positions, n, err);
    if (rc != PML_OK)
        pml_env__free(s->env, positions);
    return rc;
}
