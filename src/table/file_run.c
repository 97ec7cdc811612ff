/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_run.h"

#include <string.h>

#include "table/file_source.h"

enum { RUN_BATCH_ROWS_MAX = 8192 }; /* all runs of a section hold a batch at once, so a large one is put together of smaller ones */

typedef struct file_run {
    pml_file_run q;
    size_t next;
    struct ArrowArrayStream source; /* release NULL: none open */
    int64_t rows_at_once;           /* of the open one */
    int64_t given, skip;            /* rows of it */
} file_run;

/* What is done once for each batch and column costs more than the values of a thousand rows. Rows that a merge reads are seen by nobody
   else, so they come in larger batches than the caller's where they are narrow (compressed). */
enum { RUN_ROWS = 4096, NARROW_ROW_BYTES = 512 };

static int64_t asked_rows(const file_run *run)
{
    return run->q.batch_rows < RUN_BATCH_ROWS_MAX ? run->q.batch_rows : RUN_BATCH_ROWS_MAX;
}

/* With a predicate how many rows are left out may depend on it: then there would be no going on where a read has failed. */
static int64_t rows_at_once(const file_run *run, const pml_data_file *f)
{
    int64_t wanted = asked_rows(run);
    return wanted < RUN_ROWS && run->q.predicate == NULL && f->size_bytes / NARROW_ROW_BYTES <= f->row_count ? RUN_ROWS : wanted;
}

static int run_open(file_run *run, size_t i, pml_error *err)
{
    const pml_file_run *q = &run->q;
    const pml_file_source request = {.plan = q->plan,
                                     .split = q->split,
                                     .file = q->files->files[i],
                                     .fields = q->fields,
                                     .n_fields = q->n_fields,
                                     .predicate = q->predicate,
                                     .indexes = q->indexes,
                                     .batch_rows = run->rows_at_once,
                                     .validate_full = q->validate_full};
    return pml_file_source__open(&run->source, &request, err);
}

static int run_open_next(file_run *run, pml_error *err)
{
    size_t i = run->next++;
    run->given = run->skip = 0;
    run->rows_at_once = rows_at_once(run, &run->q.split->files[run->q.files->files[i]]);
    return run_open(run, i, err);
}

/* The rows were not so narrow: the rest of the file in the caller's batches. */
static int run_open_again(file_run *run, pml_error *err)
{
    run->source.release(&run->source);
    run->skip = run->given;
    run->rows_at_once = asked_rows(run);
    return run_open(run, run->next - 1, err);
}

static int source_next(file_run *run, struct ArrowArray *out, pml_error *err)
{
    int code = run->source.get_next(&run->source, out);
    int rc = code == 0 ? PML_OK : pml_source__error(&run->source, code, err);
    if (rc != PML_E_LIMIT || run->rows_at_once == asked_rows(run))
        return rc;
    pml_error__clear(err);
    PML_RETURN_IF(run_open_again(run, err));
    code = run->source.get_next(&run->source, out);
    return code == 0 ? PML_OK : pml_source__error(&run->source, code, err);
}

/* Where the caller wants to know of rows that fulfil the predicate, others do not come; release NULL when none is left. */
static int keep_found(file_run *run, struct ArrowArray *batch, pml_error *err)
{
    const pml_file_run *q = &run->q;
    pml_env *env = q->plan->env;
    if (q->found == NULL)
        return PML_OK;
    struct ArrowArray whole = *batch;
    size_t length = (size_t)whole.length;
    uint8_t *keep = pml_env__alloc(env, length);
    int64_t *rows = pml_env__calloc(env, length, sizeof *rows), n = 0;
    int rc = keep == NULL || rows == NULL ? pml_error__no_memory(err)
                                          : pml_pred__eval(keep, q->predicate, env, &whole, q->fields, q->n_fields, err);
    for (size_t i = 0; rc == PML_OK && i < length; i++)
        if (keep[i] != 0)
            rows[n++] = (int64_t)i;
    batch->release = NULL;
    if (rc == PML_OK && n > 0)
        rc = pml_batch__gather_rows(batch, env, q->fields, q->n_fields, &whole, rows, n, err);
    *q->found = *q->found || n > 0;
    whole.release(&whole);
    pml_env__free(env, keep);
    pml_env__free(env, rows);
    return rc;
}

static int run_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    file_run *run = ctx;
    memset(out, 0, sizeof *out);
    for (;;) {
        if (run->source.release == NULL) {
            if (run->next == run->q.files->n)
                return PML_OK;
            PML_RETURN_IF(run_open_next(run, err));
        }
        PML_RETURN_IF(source_next(run, out, err));
        if (out->release == NULL) {
            run->source.release(&run->source);
            continue;
        }
        int rc = pml_batch__drop_front(out, run->q.plan->env, &run->skip, err);
        if (rc == PML_OK && out->release != NULL && out->length > 0) {
            run->given += out->length;
            rc = keep_found(run, out, err);
            if (rc == PML_OK && out->release != NULL)
                return PML_OK;
        }
        pml_array__release(out);
        PML_RETURN_IF(rc);
    }
}

static void run_drop(void *ctx)
{
    file_run *run = ctx;
    if (run->source.release != NULL)
        run->source.release(&run->source);
    pml_env__free(run->q.plan->env, run);
}

int pml_file_run__open(pml_run *out, const pml_file_run *q, pml_error *err)
{
    size_t first = q->files->files[0];
    file_run *run = pml_env__calloc(q->plan->env, 1, sizeof *run);
    if (run == NULL)
        return pml_error__no_memory(err);
    run->q = *q;
    *out = (pml_run){.next = run_next, .drop = run_drop, .ctx = run, .name = q->split->paths[first], .level = q->split->files[first].level};
    return PML_OK;
}
