/* SPDX-License-Identifier: Apache-2.0 */
#include "report_batch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { COLUMNS = FLIGHT_COLUMNS + 1, BUFFERS_MAX = 3, ALIGNMENT = 64 };

/* The batch and its buffers in one piece of memory. Columns that a writer moves out keep it. */
typedef struct batch {
    atomic_int refs;
    struct ArrowArray columns[COLUMNS];
    struct ArrowArray *children[COLUMNS];
    const void *buffers[COLUMNS][BUFFERS_MAX];
    const void *no_buffer[1];
    char *memory; /* of all buffers, filled one after the other */
    size_t used;
} batch;

static void batch_unref(batch *b)
{
    if (atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    free(b->memory);
    free(b);
}

static void column_release(struct ArrowArray *a)
{
    batch_unref(a->private_data);
    a->release = NULL;
}

static void batch_release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release != NULL) /* else somebody moved it out */
            a->children[i]->release(a->children[i]);
    batch_unref(a->private_data);
    a->release = NULL;
}

static void *take(batch *b, size_t bytes)
{
    void *at = b->memory + b->used;
    b->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

/* ---- columns ---- */

static bool copy_number(void *out, const void *member, flight_type type)
{
    if (type == TYPE_INT) {
        int32_t v;
        memcpy(&v, member, sizeof v);
        memcpy(out, member, sizeof v);
        return v != FLIGHT_NO_INT;
    }
    int64_t v;
    memcpy(&v, member, sizeof v);
    memcpy(out, member, sizeof v);
    return v != FLIGHT_NO_TIME;
}

static void fill_column(batch *b, int at, const flight_column *c, const flight *rows, int64_t n)
{
    struct ArrowArray *a = &b->columns[at];
    bool text = c->type == TYPE_TEXT;
    size_t width = c->type == TYPE_INT || text ? sizeof(int32_t) : sizeof(int64_t);
    uint8_t *valid = take(b, (size_t)n / 8 + 1);
    char *values = take(b, width * (size_t)(n + 1)), *letters = text ? take(b, sizeof rows->carrier * (size_t)n) : NULL;
    int32_t end = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *member = (const char *)&rows[i] + c->at;
        bool known = text ? member[0] != '\0' : copy_number(values + width * (size_t)i, member, c->type);
        if (text) {
            size_t len = strlen(member);
            memcpy(letters + end, member, len);
            end += (int32_t)len;
            memcpy(values + width * (size_t)(i + 1), &end, sizeof end);
        }
        valid[i / 8] |= (uint8_t)(known << (i % 8));
        a->null_count += !known;
    }
    a->n_buffers = text ? 3 : 2;
    a->buffers[0] = a->null_count == 0 ? NULL : valid;
    a->buffers[1] = values;
    if (text)
        a->buffers[2] = letters;
}

/* Bytes of all buffers at most. */
static size_t memory_size(int64_t n)
{
    size_t of_column = (size_t)n / 8 + 1 + 8 * (size_t)(n + 1) + sizeof(((flight *)0)->carrier) * (size_t)n;
    return COLUMNS * (of_column + (size_t)BUFFERS_MAX * ALIGNMENT);
}

int report_batch_new(struct ArrowArray *out, const flight *rows, const int64_t *offsets, int64_t n, pml_error *err)
{
    batch *b = calloc(1, sizeof *b);
    if (b != NULL)
        b->memory = calloc(1, memory_size(n));
    if (b == NULL || b->memory == NULL) {
        free(b);
        return error_no_memory(err);
    }
    for (int i = 0; i < COLUMNS; i++) {
        b->columns[i] = (struct ArrowArray){
            .length = n, .n_buffers = 2, .buffers = b->buffers[i], .release = column_release, .private_data = b};
        b->children[i] = &b->columns[i];
        if (i > 0)
            fill_column(b, i, &flight_columns[i - 1], rows, n);
    }
    int64_t *numbers = take(b, sizeof *numbers * (size_t)n);
    memcpy(numbers, offsets, sizeof *numbers * (size_t)n);
    b->buffers[0][1] = numbers;
    atomic_init(&b->refs, COLUMNS + 1);
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .buffers = b->no_buffer,
                               .n_children = COLUMNS,
                               .children = b->children,
                               .release = batch_release,
                               .private_data = b};
    return PML_OK;
}
