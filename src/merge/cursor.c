/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/cursor.h"

#include <stdio.h>

#define NOT_SORTED "the keys are not sorted: one goes backwards"

static int cursor_corrupt(const pml_cursor *c, int64_t row, const char *what, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, c->run.name, "run %s: %s in row %lld", c->run.name,
                         what, (long long)(c->rows_before + row));
}

/* Rows of a column that has no nulls, though it may have a bitmap. */
static int check_no_nulls(const pml_cursor *c, const pml_cursor_rules *rules, const struct ArrowArray *batch,
                          int32_t position, pml_error *err)
{
    char what[160];
    const struct ArrowArray *a = batch->children[position];
    const uint8_t *bits = pml_array__validity(a);
    if (bits == NULL || pml_bits__count(bits, a->offset, batch->length) == batch->length)
        return PML_OK;
    int64_t row = 0;
    while (pml_bit_get(bits, a->offset + row))
        row++;
    (void)snprintf(what, sizeof what, "column %.100s is null", rules->layout->fields[position].name);
    return cursor_corrupt(c, row, what, err);
}

static int check_batch(const pml_cursor *c, const pml_cursor_rules *rules, const struct ArrowArray *batch,
                       pml_error *err)
{
    const pml_merge_layout *l = rules->layout;
    int rc = PML_OK;
    for (size_t i = 0; i < l->n_keys; i++)
        PML_TRY(check_no_nulls(c, rules, batch, l->keys[i], err));
    PML_TRY(check_no_nulls(c, rules, batch, l->sequence_number, err));
    PML_TRY(check_no_nulls(c, rules, batch, l->row_kind, err));
out:
    return rc;
}

/* The next batch that has rows; it becomes that of the cursor. The one before is left, but stays in the window. */
static int cursor_next_batch(pml_cursor *c, pml_cursor_rules *rules, bool *ended, pml_error *err)
{
    const pml_merge_layout *l = rules->layout;
    struct ArrowArray in = {0};
    for (*ended = false; !*ended && in.length == 0;) {
        pml_array__release(&in);
        in = (struct ArrowArray){0};
        PML_RETURN_IF(c->run.next(c->run.ctx, &in, err));
        *ended = in.release == NULL;
    }
    if (c->standing) {
        pml_window__leave(&rules->window, c->batch);
        c->rows_before += c->batch_rows;
        c->standing = false;
    }
    if (*ended)
        return PML_OK;
    if (in.n_children != (int64_t)l->n_fields || in.length < 0 || in.length >= PML_REF_NULL) {
        (void)pml_error__set(err, PML_E_INVAL,
                             "run %s gave a batch of %lld columns and %lld rows where %zu columns are expected",
                             c->run.name, (long long)in.n_children, (long long)in.length, l->n_fields);
        pml_array__release(&in);
        return PML_E_INVAL;
    }
    c->batch_rows = (uint32_t)in.length;
    PML_RETURN_IF(pml_window__add(&rules->window, &in, &c->batch, err));
    c->standing = true;
    const struct ArrowArray *view = rules->window.batches[c->batch];
    const struct ArrowArray *sequence = view->children[l->sequence_number], *kind = view->children[l->row_kind];
    c->sequences = (const uint8_t *)sequence->buffers[1] + sequence->offset * 8;
    c->kinds = (const int8_t *)kind->buffers[1] + kind->offset;
    c->end = 0;
    PML_RETURN_IF(check_batch(c, rules, view, err));
    pml_prefix_form__meet(&rules->form, view);
    return PML_OK;
}

static int check_kinds(pml_cursor *c, pml_error *err)
{
    char what[48];
    const uint8_t *kinds = (const uint8_t *)c->kinds + c->begin;
    uint8_t all = 0;
    bool retracts = false;
    uint32_t n = c->end - c->begin, i = 0;
    for (uint32_t k = 0; k < n; k++) {
        all |= kinds[k];
        retracts |= kinds[k] & 1;
    }
    c->retracts = retracts;
    if (all <= PML_ROW_DELETE)
        return PML_OK;
    while (kinds[i] <= PML_ROW_DELETE)
        i++;
    (void)snprintf(what, sizeof what, "_VALUE_KIND is %d", c->kinds[c->begin + i]);
    return cursor_corrupt(c, (int64_t)c->begin + i, what, err);
}

/* Where a pair of neighbours that go backwards or are equal has its second row; n: there is none. Eight at a time, by what their
   prefixes say. */
static uint32_t find_not_ascending(const pml_key_prefix *keys, uint32_t i, uint32_t n)
{
    for (; i + 8 <= n; i += 8) {
        bool odd = false;
        for (uint32_t k = i; k < i + 8; k++)
            odd |= keys[k] <= keys[k - 1];
        if (odd)
            break;
    }
    while (i < n && keys[i] > keys[i - 1])
        i++;
    return i;
}

static int check_order(pml_cursor *c, const pml_cursor_rules *rules, pml_error *err)
{
    const pml_key_prefix *keys = c->keys;
    const struct ArrowArray *batch = rules->window.batches[c->batch];
    uint32_t n = c->end - c->begin;
    c->distinct = true;
    for (uint32_t i = 1; (i = find_not_ascending(keys, i, n)) < n; i++) {
        int order = keys[i] < keys[i - 1] ? 1 : 0;
        if (order == 0 && pml_prefix__unsettled(&rules->form, keys[i]))
            order =
                pml_row_order__compare(&rules->keys, batch, (int64_t)c->begin + i - 1, batch, (int64_t)c->begin + i);
        if (order > 0)
            return cursor_corrupt(c, (int64_t)c->begin + i, NOT_SORTED, err);
        c->distinct = c->distinct && order < 0;
    }
    return PML_OK;
}

/* The last row of the stretch before against the first one of this. */
static int check_seam(const pml_cursor *c, const pml_cursor_rules *rules, pml_key_prefix last,
                      const struct ArrowArray *last_batch, uint32_t last_row, pml_error *err)
{
    bool backwards = c->keys[0] < last;
    if (c->keys[0] == last && pml_prefix__unsettled(&rules->form, last))
        backwards =
            pml_row_order__compare(&rules->keys, last_batch, last_row, rules->window.batches[c->batch], c->begin) > 0;
    return backwards ? cursor_corrupt(c, c->begin, NOT_SORTED, err) : PML_OK;
}

int pml_cursor__refill(pml_cursor *c, pml_cursor_rules *rules, bool *ended, pml_error *err)
{
    bool seam = c->standing;
    uint32_t last_row = c->end - 1;
    pml_key_prefix last = seam ? c->keys[last_row - c->begin] : 0;
    const struct ArrowArray *last_batch = seam ? rules->window.batches[c->batch] : NULL;
    *ended = false;
    if (!c->standing || c->end == c->batch_rows)
        PML_RETURN_IF(cursor_next_batch(c, rules, ended, err));
    if (*ended)
        return PML_OK;
    if (seam && rules->form.changed)
        (void)pml_prefix_form__load(&last, &rules->form, last_batch, last_row, 1, c->number);
    uint32_t left = c->batch_rows - c->end, n = left < PML_KEYS_CHUNK ? left : PML_KEYS_CHUNK;
    c->begin = c->end;
    c->end += n;
    int64_t good = pml_prefix_form__load(c->keys, &rules->form, rules->window.batches[c->batch], c->begin, n, c->number);
    if (good < n)
        return cursor_corrupt(c, c->begin + good, NOT_SORTED, err);
    pml_cursor__stand(c, c->begin);
    PML_RETURN_IF(check_kinds(c, err));
    if (seam)
        PML_RETURN_IF(check_seam(c, rules, last, last_batch, last_row, err));
    return check_order(c, rules, err);
}

void pml_cursor__reload(pml_cursor *c, const pml_cursor_rules *rules)
{
    if (!c->standing)
        return;
    (void)pml_prefix_form__load(c->keys, &rules->form, rules->window.batches[c->batch], c->begin, c->end - c->begin, c->number);
    pml_cursor__stand(c, c->row);
}
