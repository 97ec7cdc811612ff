/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "error.h"

enum { WRITE_COLUMNS = FLIGHTS_COLUMNS + 1 };

/* Rows of the file as columns of the write schema. Counted: batches that are given out share its buffers. */
typedef struct held {
    atomic_int refs;
    int64_t rows;
    struct ArrowArray columns[WRITE_COLUMNS];
    int64_t *numbers; /* of the rows: serves both _REALTIME_OFFSET and row_number */
    const void *number_buffers[2];
    bool *keep; /* rows to give out; NULL: all */
} held;

static void held_release(held *h)
{
    if (h == NULL || atomic_fetch_sub(&h->refs, 1) > 1)
        return;
    for (int i = 0; i < WRITE_COLUMNS; i++)
        if (h->columns[i].release != NULL)
            h->columns[i].release(&h->columns[i]);
    free(h->numbers);
    free(h->keep);
    free(h);
}

/* ---- what goes to the writer: some rows of a held batch, nothing copied ---- */

typedef struct slice {
    const void *buffers[1];
    struct ArrowArray *children[WRITE_COLUMNS];
    struct ArrowArray columns[WRITE_COLUMNS];
} slice;

static void column_release(struct ArrowArray *a)
{
    held_release(a->private_data);
    a->release = NULL;
}

static void slice_release(struct ArrowArray *a)
{
    for (int i = 0; i < WRITE_COLUMNS; i++)
        if (a->children[i]->release != NULL) /* else somebody moved it out */
            a->children[i]->release(a->children[i]);
    free(a->private_data);
    a->release = NULL;
}

static int slice_make(struct ArrowArray *out, held *h, int64_t row, int64_t rows, pml_error *err)
{
    slice *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_no_memory(err);
    for (int i = 0; i < WRITE_COLUMNS; i++) {
        s->columns[i] = h->columns[i];
        s->columns[i].release = column_release;
        s->columns[i].private_data = h;
        s->children[i] = &s->columns[i];
    }
    (void)atomic_fetch_add(&h->refs, WRITE_COLUMNS);
    *out = (struct ArrowArray){.length = rows,
                               .offset = row,
                               .n_buffers = 1,
                               .buffers = s->buffers,
                               .n_children = WRITE_COLUMNS,
                               .children = s->children,
                               .release = slice_release,
                               .private_data = s};
    return PML_OK;
}

/* ---- reading ---- */

/* For arrays whose buffers belong to the held batch. */
static void borrowed_release(struct ArrowArray *a)
{
    a->release = NULL;
}

/* Moves the columns of a batch of the file and adds the row numbers. */
static held *held_new(struct ArrowArray *batch, int64_t first_row)
{
    held *h = calloc(1, sizeof *h);
    int64_t *numbers = malloc(sizeof *numbers * (size_t)(batch->length + 1));
    if (h == NULL || numbers == NULL) {
        free(h);
        free(numbers);
        return NULL;
    }
    for (int64_t i = 0; i < batch->length; i++)
        numbers[i] = first_row + i;
    *h = (held){.rows = batch->length, .numbers = numbers, .number_buffers = {NULL, numbers}};
    atomic_init(&h->refs, 1);
    for (int i = 0; i < FLIGHTS_ROW_NUMBER; i++) {
        h->columns[1 + i] = *batch->children[i];
        batch->children[i]->release = NULL;
    }
    h->columns[0] = (struct ArrowArray){
        .length = h->rows, .n_buffers = 2, .buffers = h->number_buffers, .release = borrowed_release};
    h->columns[1 + FLIGHTS_ROW_NUMBER] = h->columns[0];
    return h;
}

/* Which of the rows are not in the table yet. */
static int mark_uncommitted(source *s, held *h, pml_error *err)
{
    struct ArrowArray *children[FLIGHTS_COLUMNS];
    const void *no_buffer[1] = {NULL};
    for (int i = 0; i < FLIGHTS_COLUMNS; i++)
        children[i] = &h->columns[1 + i];
    const struct ArrowArray rows = {.length = h->rows,
                                    .n_buffers = 1,
                                    .buffers = no_buffer,
                                    .n_children = FLIGHTS_COLUMNS,
                                    .children = children,
                                    .release = borrowed_release};
    h->keep = calloc((size_t)h->rows + 1, sizeof *h->keep);
    return h->keep == NULL ? error_no_memory(err) : replay_mark(h->keep, &s->replay, &rows, h->numbers, err);
}

static int load_rows(source *s, pml_error *err)
{
    struct ArrowArray batch = {0};
    int rc = PML_OK;
    held_release(s->held);
    s->held = NULL;
    s->at = 0;
    if (s->stream.get_next(&s->stream, &batch) != 0)
        return pml_stream_error(&s->stream, err);
    if (batch.release == NULL)
        return PML_OK;
    s->held = held_new(&batch, s->next_row);
    batch.release(&batch);
    if (s->held == NULL)
        return error_no_memory(err);
    if (s->next_row < s->replay.end)
        rc = mark_uncommitted(s, s->held, err);
    s->next_row += s->held->rows;
    return rc;
}

static bool kept(const held *h, int64_t row)
{
    return h->keep == NULL || h->keep[row];
}

int source_next(struct ArrowArray *out, int64_t *last_row, source *s, pml_error *err)
{
    *out = (struct ArrowArray){0};
    for (;;) {
        held *h = s->held;
        while (h != NULL && s->at < h->rows && !kept(h, s->at)) {
            s->at++;
            s->skipped++;
        }
        if (h != NULL && s->at < h->rows)
            break;
        int rc = load_rows(s, err);
        if (rc != PML_OK || s->held == NULL)
            return rc;
    }
    int64_t begin = s->at, end = begin;
    while (end < s->held->rows && end - begin < s->batch_rows && kept(s->held, end))
        end++;
    s->at = end;
    *last_row = s->held->numbers[end - 1];
    return slice_make(out, s->held, begin, end - begin, err);
}

/* ---- open and close ---- */

int source_open(source *s, pml_table *table, const char *csv, int64_t batch_rows, pml_error *err)
{
    pml_rows_options options = PML_ROWS_OPTIONS_INIT;
    options.format = PML_ROWS_CSV;
    options.csv_null = "NA";
    *s = (source){.batch_rows = batch_rows};
    int rc = table_write_schema(&s->write_schema, table, err);
    if (rc == PML_OK)
        rc = replay_load(&s->replay, table, err);
    if (rc == PML_OK)
        rc = pml_rows_open(&s->stream, table, csv, &options, err);
    if (rc != PML_OK)
        source_close(s);
    return rc;
}

void source_close(source *s)
{
    held_release(s->held);
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    if (s->write_schema.release != NULL)
        s->write_schema.release(&s->write_schema);
    replay_free(&s->replay);
    *s = (source){0};
}
