/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static int no_memory(pml_error *err)
{
    if (err != NULL)
        *err = (pml_error){.struct_size = sizeof *err, .code = PML_E_NOMEM, .message = "out of memory"};
    return PML_E_NOMEM;
}

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
        return no_memory(err);
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
    pml_routes *routes = NULL;
    for (int i = 0; i < FLIGHTS_COLUMNS; i++)
        children[i] = &h->columns[1 + i];
    const struct ArrowArray rows = {.length = h->rows,
                                    .n_buffers = 1,
                                    .buffers = no_buffer,
                                    .n_children = FLIGHTS_COLUMNS,
                                    .children = children,
                                    .release = borrowed_release};
    h->keep = calloc((size_t)h->rows + 1, sizeof *h->keep);
    if (h->keep == NULL)
        return no_memory(err);
    int rc = pml_table_route(&routes, s->table, &rows, &s->schema, err);
    for (size_t i = 0; rc == PML_OK && i < pml_routes_count(routes); i++) {
        pml_route_info r = PML_ROUTE_INFO_INIT;
        pml_rt_pb pb = PML_RT_PB_INIT;
        rc = pml_routes_get(&r, routes, i, err);
        if (rc != PML_OK)
            break;
        pb.n_partition = r.n_partition;
        pb.partition = r.partition;
        pb.bucket = r.bucket;
        int64_t committed_end = pml_rt_offsets_find(s->offsets, &pb); /* -1: nothing is committed there */
        for (int64_t k = 0; k < r.n_rows; k++)
            h->keep[r.rows[k]] = h->numbers[r.rows[k]] >= committed_end;
    }
    pml_routes_free(routes);
    return rc;
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
        return no_memory(err);
    if (s->next_row < s->replay_end)
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

static void schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
}

static void field_release(struct ArrowSchema *field)
{
    field->release = NULL;
}

/* The table's columns behind the offset: what pml_rt_write wants of a table with external offsets. */
static int write_schema_make(source *s, pml_error *err)
{
    struct ArrowSchema of_table;
    int rc = pml_table_arrow_schema(&of_table, s->table, err);
    if (rc != PML_OK)
        return rc;
    s->write_schema = (struct ArrowSchema){
        .format = "+s", .children = calloc(WRITE_COLUMNS, sizeof(struct ArrowSchema *)), .release = schema_release};
    for (int i = 0; s->write_schema.children != NULL && i < WRITE_COLUMNS; i++) {
        struct ArrowSchema *field = calloc(1, sizeof *field);
        if (field == NULL)
            break;
        if (i == 0) {
            *field = (struct ArrowSchema){.format = "l", .name = "_REALTIME_OFFSET", .release = field_release};
        } else {
            *field = *of_table.children[i - 1];
            of_table.children[i - 1]->release = NULL;
        }
        s->write_schema.children[s->write_schema.n_children++] = field;
    }
    of_table.release(&of_table);
    return s->write_schema.n_children == WRITE_COLUMNS ? PML_OK : no_memory(err);
}

/* Loads the committed ends of all partition-buckets. */
static int progress_load(source *s, pml_error *err)
{
    int64_t snapshot;
    int rc = pml_table_latest_snapshot(&snapshot, s->table, err);
    if (rc != PML_OK || snapshot < 0)
        return rc;
    rc = pml_rt_offsets_load(&s->offsets, s->table, snapshot, err);
    if (rc != PML_OK)
        return rc;
    if (pml_rt_offsets_all_lost(s->offsets)) {
        *err = (pml_error){.struct_size = sizeof *err,
                           .code = PML_E_PROGRESS_LOST,
                           .message =
                               "the snapshot that recorded the offsets has expired: a replay would write rows twice"};
        return PML_E_PROGRESS_LOST;
    }
    for (size_t i = 0; rc == PML_OK && i < pml_rt_offsets_count(s->offsets); i++) {
        pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
        rc = pml_rt_offsets_get(&info, s->offsets, i, err);
        if (rc == PML_OK && info.tiered > s->replay_end)
            s->replay_end = info.tiered;
    }
    return rc;
}

int source_open(source *s, pml_table *table, const char *csv, int64_t batch_rows, pml_error *err)
{
    pml_rows_options options = PML_ROWS_OPTIONS_INIT;
    options.format = PML_ROWS_CSV;
    options.csv_null = "NA";
    *s = (source){.table = table, .batch_rows = batch_rows};
    int rc = pml_table_arrow_schema(&s->schema, table, err);
    if (rc == PML_OK)
        rc = write_schema_make(s, err);
    if (rc == PML_OK)
        rc = progress_load(s, err);
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
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    if (s->write_schema.release != NULL)
        s->write_schema.release(&s->write_schema);
    pml_rt_offsets_free(s->offsets);
    *s = (source){0};
}
