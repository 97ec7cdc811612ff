/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted are 16 bytes for each row: the first 64 bits of its key prefix and its number. Long batches by radix, the last byte first, over
 * the 24 bits from the first in which rows differ on: enough to tell the rows of most batches apart. What ties is sorted again, many rows
 * by all bits in the same way, few by comparing, and what has all bits in common by comparing whole keys.
 */
#include "merge/sort_run.h"

#include "columnar/batch.h"

enum { INSERTION_MAX = 32, RADIX_BYTES = 8, FIRST_BYTES = 3 };

typedef struct sort_entry {
    uint64_t head; /* of the prefix */
    uint32_t row;
} sort_entry;

typedef struct sort_job {
    const pml_sorter *sorter;
    const struct ArrowArray *batch;
    pml_prefix_form form;
    pml_key_prefix *prefixes;
    sort_entry *entries, *spare;
    size_t n;
} sort_job;

int pml_sorter__init(pml_sorter *out, pml_arena *arena, const pml_merge_layout *layout, pml_error *err)
{
    *out = (pml_sorter){.layout = layout};
    PML_RETURN_IF(pml_prefix_form__init(&out->form, arena, layout, err));
    PML_RETURN_IF(pml_row_order__init(&out->keys, arena, layout->fields, layout->keys, layout->n_keys, false, err));
    return pml_row_order__init(&out->sequence, arena, layout->fields, layout->sequence, layout->n_sequence, layout->sequence_descending,
                               err);
}

static void load_prefixes(sort_job *j)
{
    pml_prefix_form__meet_all(&j->form, j->batch);
    for (int64_t at = 0, n = (int64_t)j->n; at < n; at += PML_KEYS_CHUNK)
        (void)pml_prefix_form__load(j->prefixes + at, &j->form, j->batch, at, n - at < PML_KEYS_CHUNK ? n - at : PML_KEYS_CHUNK, 0);
    for (size_t i = 0; i < j->n; i++)
        j->entries[i] = (sort_entry){(uint64_t)(j->prefixes[i] >> 64), (uint32_t)i};
}

/* Of rows whose heads are alike: below 0, 0, above 0. */
static int compare_rows(const sort_job *j, uint32_t a, uint32_t b)
{
    pml_key_prefix pa = j->prefixes[a], pb = j->prefixes[b];
    int c = (pa > pb) - (pa < pb);
    if (c == 0 && pml_prefix__unsettled(&j->form, pa))
        c = pml_row_order__compare(&j->sorter->keys, j->batch, a, j->batch, b);
    return c != 0 ? c : pml_row_order__compare(&j->sorter->sequence, j->batch, a, j->batch, b);
}

static int compare_entries(const sort_job *j, const sort_entry *a, const sort_entry *b)
{
    return a->head != b->head ? (a->head > b->head) - (a->head < b->head) : compare_rows(j, a->row, b->row);
}

static void insertion_sort(const sort_job *j, sort_entry *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        sort_entry e = v[i];
        size_t k = i;
        for (; k > 0 && compare_entries(j, &v[k - 1], &e) > 0; k--)
            v[k] = v[k - 1];
        v[k] = e;
    }
}

static void merge_halves(const sort_job *j, sort_entry *to, const sort_entry *from, size_t half, size_t n)
{
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++)
        to[i] = b == n || (a < half && compare_entries(j, &from[a], &from[b]) <= 0) ? from[a++] : from[b++];
}

/* Stable, n log n whatever the comparison says; the result is in v, spare is as long. */
static void merge_sort(const sort_job *j, sort_entry *v, sort_entry *spare, size_t n)
{
    sort_entry *from = v, *to = spare;
    for (size_t at = 0; at < n; at += INSERTION_MAX)
        insertion_sort(j, v + at, n - at < INSERTION_MAX ? n - at : INSERTION_MAX);
    for (size_t width = INSERTION_MAX; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t left = n - at, whole = left < 2 * width ? left : 2 * width;
            merge_halves(j, to + at, from + at, whole < width ? whole : width, whole);
        }
        sort_entry *t = from;
        from = to;
        to = t;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

static void radix_pass(sort_entry *to, const sort_entry *from, size_t n, const uint32_t counts[256], int shift)
{
    uint32_t at[256], sum = 0;
    for (int i = 0; i < 256; i++) {
        at[i] = sum;
        sum += counts[i];
    }
    for (size_t i = 0; i < n; i++)
        to[at[(uint8_t)(from[i].head >> shift)]++] = from[i];
}

/* By bytes of the heads from bit `shift` on only; the result is in v, spare is as long. */
static void radix_sort(sort_entry *v, sort_entry *spare, size_t n, int shift, int bytes)
{
    uint32_t counts[RADIX_BYTES][256];
    sort_entry *from = v, *to = spare;
    memset(counts, 0, (size_t)bytes * sizeof counts[0]);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < bytes; k++)
            counts[k][(uint8_t)(v[i].head >> (shift + 8 * k))]++;
    for (int k = 0; k < bytes; k++) {
        if (counts[k][(uint8_t)(from[0].head >> (shift + 8 * k))] == n)
            continue;
        radix_pass(to, from, n, counts[k], shift + 8 * k);
        sort_entry *t = from;
        from = to;
        to = t;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

/* Rows whose heads are alike from bit `shift` on lie next to each other. */
static void settle_ties(const sort_job *j, sort_entry *v, size_t n, int shift)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].head >> shift == v[i].head >> shift; end++)
            continue;
        if (end - i < 2)
            continue;
        bool many = shift > 0 && end - i > 2 * INSERTION_MAX;
        if (many) {
            radix_sort(v + i, j->spare, end - i, 0, RADIX_BYTES);
            settle_ties(j, v + i, end - i, 0); /* once deeper at most */
        } else {
            merge_sort(j, v + i, j->spare, end - i);
        }
    }
}

static void sort_entries(const sort_job *j)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < j->n; i++)
        differ |= j->entries[i].head ^ j->entries[0].head;
    int first = differ == 0 ? 0 : 64 - __builtin_clzll(differ), shift = first > 8 * FIRST_BYTES ? first - 8 * FIRST_BYTES : 0;
    radix_sort(j->entries, j->spare, j->n, shift, FIRST_BYTES);
    settle_ties(j, j->entries, j->n, shift);
}

static bool in_order(const sort_job *j)
{
    for (size_t i = 1; i < j->n; i++)
        if (compare_entries(j, &j->entries[i - 1], &j->entries[i]) > 0)
            return false;
    return true;
}

int pml_sorter__order(int64_t **rows, pml_env *env, const pml_sorter *s, const struct ArrowArray *batch, pml_error *err)
{
    size_t n = (size_t)batch->length;
    sort_job j = {.sorter = s, .batch = batch, .form = s->form, .n = n};
    int rc = PML_OK;
    *rows = NULL;
    if (batch->length < 2)
        return PML_OK;
    if (batch->length > INT32_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%lld rows to sort at once, at most %d", (long long)batch->length, INT32_MAX);
    sort_entry *entries = pml_env__alloc(env, 2 * n * sizeof *entries);
    j.prefixes = pml_env__alloc(env, n * sizeof *j.prefixes);
    if (entries == NULL || j.prefixes == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    j.entries = entries;
    j.spare = entries + n;
    load_prefixes(&j);
    if (in_order(&j))
        goto out;
    if (n <= 2 * INSERTION_MAX) {
        merge_sort(&j, j.entries, j.spare, n);
    } else {
        sort_entries(&j);
    }
    *rows = pml_env__alloc(env, n * sizeof **rows);
    for (size_t i = 0; *rows != NULL && i < n; i++)
        (*rows)[i] = j.entries[i].row;
    rc = *rows == NULL ? pml_error__no_memory(err) : PML_OK;
out:
    pml_env__free(env, entries);
    pml_env__free(env, j.prefixes);
    return rc;
}

int pml_sorter__sort(struct ArrowArray *out, pml_env *env, const pml_sorter *s, struct ArrowArray *batch, pml_error *err)
{
    int64_t *rows;
    PML_RETURN_IF(pml_sorter__order(&rows, env, s, batch, err));
    if (rows == NULL) {
        *out = *batch;
        batch->release = NULL;
        return PML_OK;
    }
    int rc = pml_batch__gather_rows(out, env, s->layout->fields, s->layout->n_fields, batch, rows, batch->length, err);
    pml_env__free(env, rows);
    if (rc == PML_OK)
        pml_array__release(batch);
    return rc;
}
