/* SPDX-License-Identifier: Apache-2.0 */
#include "format/selection.h"

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

/* Which rows of the next n are wanted; *n_wanted of them. */
static int wanted_rows(pml_selection *s, int64_t *wanted, int64_t *n_wanted, int64_t n, pml_error *err)
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
            *n_wanted += pml_row_set__has(s->rows, at);
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

int pml_selection__cut(pml_selection *s, struct ArrowArray *batch, const pml_field *fields, size_t n_fields, pml_error *err)
{
    struct ArrowArray cut = {0};
    int64_t n_wanted, n = batch->length;
    int rc;
    if (s->rows == NULL)
        return PML_OK;
    int64_t *wanted = pml_env__calloc(s->env, (size_t)n + 1, sizeof *wanted);
    if (wanted == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(wanted_rows(s, wanted, &n_wanted, n, err));
    if (n_wanted == n)
        goto out;
    if (n_wanted > 0)
        PML_TRY(pml_batch__gather_rows(&cut, s->env, fields, n_fields, batch, wanted, n_wanted, err));
    batch->release(batch);
    *batch = cut;
out:
    pml_env__free(s->env, wanted);
    if (rc != PML_OK)
        pml_array__release(batch);
    return rc;
}
