/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps:
 *   1. decode the smallest and the largest key of every file, once
 *   2. sort the files by (smallest, largest); a file that begins behind everything before it begins a section
 *   3. inside a section a heap of runs, on top the one that ends first: the next file goes behind it if it begins later (a run of least
 *      waste, and the number of runs is the largest number of files over one key), else it begins a run
 * Cost: O(n log n) comparisons of keys.
 */
#include "merge/sections.h"

#include <stdlib.h>
#include <string.h>

typedef struct range {
    const pml_value *min, *max;
    size_t n_keys, file;
    const pml_data_file *meta;
    size_t run;
} range;

/* ---- keys ---- */

/* -0.0 and 0.0 are one key. */
static bool both_zero(const pml_value *a, const pml_value *b)
{
    return (a->kind == PML_VALUE_FLOAT && a->f == 0 && b->f == 0) || (a->kind == PML_VALUE_DOUBLE && a->d == 0 && b->d == 0);
}

static int keys_compare(const pml_value *a, const pml_value *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int c = pml_value__compare(&a[i], &b[i]);
        if (c != 0 && !both_zero(&a[i], &b[i]))
            return c;
    }
    return 0;
}

static int key_decode(pml_value *out, const pml_sections_request *q, pml_bytes counted, const char *which, const pml_data_file *f,
                      pml_error *err)
{
    pml_bytes row;
    pml_error wrong = PML_ERROR_INIT;
    int rc = pml_binary_row__uncount(&row, counted, q->n_keys, &wrong);
    if (rc == PML_OK)
        rc = pml_binary_row__read(out, q->types, q->n_keys, row, &wrong);
    if (rc != PML_OK)
        return pml_error__at(err, rc, PML_PLACE_DATA_FILE, f->name, "the %s key of %s is damaged: %s", which, f->name, wrong.message);
    for (size_t i = 0; i < q->n_keys; i++)
        if (out[i].kind == PML_VALUE_NULL)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name, "the %s key of %s is null in part %zu of %zu", which,
                                 f->name, i + 1, q->n_keys);
    return PML_OK;
}

static int ranges_decode(range **out, pml_arena *arena, const pml_sections_request *q, pml_error *err)
{
    range *v = pml_arena__array(arena, q->n_files, sizeof *v);
    pml_value *keys = q->n_keys > SIZE_MAX / (2 * sizeof *keys) ? NULL : pml_arena__array(arena, q->n_files, q->n_keys * 2 * sizeof *keys);
    if (v == NULL || keys == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < q->n_files; i++) {
        const pml_data_file *f = q->files[i];
        pml_value *min = keys + i * q->n_keys * 2, *max = min + q->n_keys;
        PML_RETURN_IF(key_decode(min, q, f->min_key, "smallest", f, err));
        PML_RETURN_IF(key_decode(max, q, f->max_key, "largest", f, err));
        if (keys_compare(min, max, q->n_keys) > 0)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, f->name, "the smallest key of %s is larger than its largest",
                                 f->name);
        v[i] = (range){.min = min, .max = max, .n_keys = q->n_keys, .file = i, .meta = f};
    }
    *out = v;
    return PML_OK;
}

static int compare_ranges(const void *pa, const void *pb)
{
    const range *a = pa, *b = pb;
    int c = keys_compare(a->min, b->min, a->n_keys);
    c = c != 0 ? c : keys_compare(a->max, b->max, a->n_keys);
    return c != 0 ? c : a->file < b->file ? -1 : 1; /* qsort is not stable */
}

static int compare_levels(const void *pa, const void *pb)
{
    const range *a = pa, *b = pb;
    if (a->meta->level != b->meta->level)
        return a->meta->level < b->meta->level ? -1 : 1;
    return compare_ranges(pa, pb);
}

/* ---- runs ---- */

/* A heap of runs; each entry is the last file of its run. The one that ends first is at 0. */
static bool ends_before(const range *a, const range *b)
{
    int c = keys_compare(a->max, b->max, a->n_keys);
    return c != 0 ? c < 0 : a->run < b->run;
}

static void heap_up(const range **heap, size_t i)
{
    for (; i > 0 && ends_before(heap[i], heap[(i - 1) / 2]); i = (i - 1) / 2) {
        const range *up = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = up;
    }
}

static void heap_down(const range **heap, size_t n)
{
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child < n && child <= 2 * i + 2; child++)
            if (ends_before(heap[child], heap[least]))
                least = child;
        if (least == i)
            return;
        const range *down = heap[i];
        heap[i] = heap[least];
        heap[least] = down;
        i = least;
    }
}

/* Numbers the runs of ranges in key order from *n_runs on. */
static void runs_number(range *v, size_t n, const range **heap, size_t *n_runs)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++) {
        if (open > 0 && keys_compare(v[i].min, heap[0]->max, v[i].n_keys) > 0) {
            v[i].run = heap[0]->run;
            heap[0] = &v[i];
            heap_down(heap, open);
        } else {
            v[i].run = (*n_runs)++;
            heap[open] = &v[i];
            heap_up(heap, open++);
        }
    }
}

/* ---- the order of Java's queue ---- */

/* java.util.PriorityQueue over runs that end where their last file does. Only the steps that decide where equal ones lie are its own. */
static bool ends_later(const range *a, const range *b)
{
    return keys_compare(a->max, b->max, a->n_keys) > 0;
}

static void queue_add(const range **queue, size_t *n, const range *x)
{
    size_t k = (*n)++;
    while (k > 0 && ends_later(queue[(k - 1) / 2], x)) {
        queue[k] = queue[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    queue[k] = x;
}

static const range *queue_poll(const range **queue, size_t *n)
{
    const range *first = queue[0], *x = queue[--*n];
    size_t k = 0;
    while (k < *n / 2) {
        size_t child = 2 * k + 1;
        if (child + 1 < *n && ends_later(queue[child], queue[child + 1]))
            child++;
        if (!ends_later(x, queue[child]))
            break;
        queue[k] = queue[child];
        k = child;
    }
    queue[k] = x;
    return first;
}

/* Numbers the runs as they lie in the queue at the end. renumber: room for n. */
static void runs_number_queued(range *v, size_t n, const range **queue, size_t *renumber, size_t *n_runs)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++) {
        const range *top = i == 0 ? NULL : queue_poll(queue, &open);
        if (top != NULL && keys_compare(v[i].min, top->max, v[i].n_keys) > 0) {
            v[i].run = top->run;
            top = NULL;
        } else {
            v[i].run = (*n_runs)++;
        }
        queue_add(queue, &open, &v[i]);
        if (top != NULL)
            queue_add(queue, &open, top);
    }
    for (size_t i = 0; i < open; i++)
        renumber[queue[i]->run] = i;
    for (size_t i = 0; i < n; i++)
        v[i].run = renumber[v[i].run];
}

typedef struct aged_run {
    pml_sorted_run run;
    const pml_data_file *first;
    size_t index;
} aged_run;

/* Lower levels are newer, and of the files of level 0 those with larger sequence numbers. */
static int compare_ages(const void *pa, const void *pb)
{
    const aged_run *a = pa, *b = pb;
    if (a->first->level != b->first->level)
        return a->first->level > b->first->level ? -1 : 1;
    if (a->first->max_sequence != b->first->max_sequence)
        return a->first->max_sequence < b->first->max_sequence ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* The files of numbered ranges, run by run; inside of one they stay in order. */
static int runs_collect(pml_section *out, pml_arena *arena, const range *v, size_t n, size_t n_runs, bool as_numbered, pml_error *err)
{
    aged_run *aged = pml_arena__array(arena, n_runs, sizeof *aged);
    pml_sorted_run *runs = pml_arena__array(arena, n_runs, sizeof *runs);
    size_t *files = pml_arena__array(arena, n, sizeof *files);
    size_t *ends = pml_arena__array(arena, n_runs + 1, sizeof *ends);
    if (aged == NULL || runs == NULL || files == NULL || ends == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        ends[v[i].run + 1]++;
    for (size_t r = 0; r < n_runs; r++) {
        aged[r] = (aged_run){.run = {.files = files + ends[r]}, .index = r};
        ends[r + 1] += ends[r];
    }
    for (size_t i = 0; i < n; i++) {
        aged_run *a = &aged[v[i].run];
        if (a->run.n == 0)
            a->first = v[i].meta;
        files[ends[v[i].run] + a->run.n++] = v[i].file;
    }
    if (!as_numbered)
        qsort(aged, n_runs, sizeof *aged, compare_ages);
    for (size_t r = 0; r < n_runs; r++)
        runs[r] = aged[r].run;
    *out = (pml_section){.n_files = n, .n_runs = n_runs, .runs = runs};
    return PML_OK;
}

static int section_make(pml_section *out, pml_arena *arena, range *v, size_t n, const range **heap, const pml_sections_request *q,
                        pml_error *err)
{
    size_t n_runs = 0;
    bool by_level = q->by_level;
    if (q->as_queued) {
        size_t *renumber = pml_arena__array(arena, n, sizeof *renumber);
        if (renumber == NULL)
            return pml_error__no_memory(err);
        runs_number_queued(v, n, heap, renumber, &n_runs);
        return runs_collect(out, arena, v, n, n_runs, true, err);
    }
    if (by_level)
        qsort(v, n, sizeof *v, compare_levels);
    for (size_t from = 0, end; from < n; from = end) {
        for (end = from + 1; end < n && (!by_level || v[end].meta->level == v[from].meta->level);)
            end++;
        runs_number(v + from, end - from, heap, &n_runs);
    }
    return runs_collect(out, arena, v, n, n_runs, false, err);
}

/* ---- sections ---- */

/* Where the section that begins at `from` ends. */
static size_t section_end(const range *v, size_t from, size_t n)
{
    const pml_value *bound = v[from].max;
    size_t i = from + 1;
    for (; i < n && keys_compare(v[i].min, bound, v[i].n_keys) <= 0; i++)
        if (keys_compare(v[i].max, bound, v[i].n_keys) > 0)
            bound = v[i].max;
    return i;
}

int pml_sections__make(pml_sections *out, pml_arena *arena, const pml_sections_request *q, pml_error *err)
{
    range *v = NULL;
    *out = (pml_sections){0};
    if (q->n_files == 0)
        return PML_OK;
    PML_RETURN_IF(ranges_decode(&v, arena, q, err));
    qsort(v, q->n_files, sizeof *v, compare_ranges);
    size_t n = 0;
    for (size_t i = 0; i < q->n_files; i = section_end(v, i, q->n_files))
        n++;
    pml_section *sections = pml_arena__array(arena, n, sizeof *sections);
    const range **heap = pml_arena__array(arena, q->n_files, sizeof *heap);
    if (sections == NULL || heap == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0, at = 0; i < q->n_files; at++) {
        size_t end = section_end(v, i, q->n_files);
        PML_RETURN_IF(section_make(&sections[at], arena, v + i, end - i, heap, q, err));
        i = end;
    }
    *out = (pml_sections){n, sections};
    return PML_OK;
}
