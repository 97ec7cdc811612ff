/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted merge by itself, over runs in memory: merge_bench CASE RUNS ROWS prints one line of JSON. Rows have eight columns (key,
 * sequence number, kind, INT, DOUBLE, DECIMAL(10,2), two texts), about 90 bytes. memcpy of the same bytes is measured beside it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "columnar/array_memory.h"
#include "merge/function.h"
#include "util/hash.h"
#include "util/number.h"

enum { COLUMNS = 8, BATCH_ROWS = 8192, OUTPUT_ROWS = 8192, REPEATS = 3, TEXT_MAX = 64, COPY_BYTES = 1 << 27 };

typedef enum key_choice { KEYS_HALF, KEYS_APART, KEYS_ROUND } key_choice;

typedef struct merge_case {
    const char *name;
    key_choice keys;
    pml_type_kind key_type;
    pml_merge_kind function;
    bool lookup;
    bool sequence_field; /* the INT column */
    const char *about;
} merge_case;

static const merge_case cases[] = {
    {"half", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_LAST, false, false, "each run a random half of 2 * ROWS keys"},
    {"apart", KEYS_APART, PML_TYPE_BIGINT, PML_MERGE_LAST, false, false, "runs whose keys lie behind each other"},
    {"round", KEYS_ROUND, PML_TYPE_BIGINT, PML_MERGE_LAST, false, false, "runs that take turns, no key twice"},
    {"half-text", KEYS_HALF, PML_TYPE_VARCHAR, PML_MERGE_LAST, false, false, "half, keys of 12 bytes of text"},
    {"half-long-text", KEYS_HALF, PML_TYPE_VARBINARY, PML_MERGE_LAST, false, false,
     "half, keys of 40 bytes, the first 20 the same"},
    {"half-first", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_FIRST, false, false, "half, the oldest row"},
    {"half-lookup", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_LAST, true, false, "half, the lookup rule"},
    {"half-sequence", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_LAST, false, true, "half, ordered by a column"},
    {"half-columns", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_COLUMNS, false, false, "half, each column picked by itself"},
    {"half-all", KEYS_HALF, PML_TYPE_BIGINT, PML_MERGE_ALL, false, false, "half, every row"},
};

static pml_type_kind key_type;

typedef struct memory_run {
    struct ArrowArray *batches;
    size_t n, next;
} memory_run;

static uint64_t random_state = 20261130;

static uint64_t random_next(void)
{
    return pml_hash__mix64(random_state += 0x9e3779b97f4a7c15u);
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void need(int rc, const pml_error *err)
{
    if (rc == PML_OK)
        return;
    (void)fprintf(stderr, "merge_bench: %s\n", err->message);
    exit(EXIT_FAILURE);
}

/* A run lends its batches: the merge's copies keep nothing alive and free nothing. */
static void batch_lent(struct ArrowArray *a)
{
    a->release = NULL;
}

static int run_next(void *ctx, struct ArrowArray *out, pml_error *err)
{
    memory_run *r = ctx;
    (void)err;
    *out = (struct ArrowArray){0};
    if (r->next < r->n) {
        *out = r->batches[r->next++];
        out->release = batch_lent;
    }
    return PML_OK;
}

static void run_drop(void *ctx)
{
    (void)ctx;
}

static void append_text(pml_builder *b, const char *format, uint64_t n)
{
    char text[TEXT_MAX];
    int len = snprintf(text, sizeof text, format, (unsigned long long)n);
    const pml_value v = {.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)text, (size_t)len}};
    (void)pml_builder__append_value(b, &v);
}

static void append_key(pml_builder *b, int64_t key)
{
    if (key_type == PML_TYPE_BIGINT)
        (void)pml_builder__append_value(b, &(pml_value){.kind = PML_VALUE_INT, .i = key});
    else
        append_text(b, key_type == PML_TYPE_VARCHAR ? "k%011llu" : "customer-of-the-shop%020llu", (uint64_t)key);
}

static void append_row(pml_builder *row, int64_t key, int64_t sequence)
{
    uint64_t r = random_next();
    pml_value v[COLUMNS] = {{.kind = PML_VALUE_INT, .i = key},
                            {.kind = PML_VALUE_INT, .i = sequence},
                            {.kind = PML_VALUE_INT},
                            {.kind = PML_VALUE_INT, .i = (int32_t)r},
                            {.kind = PML_VALUE_DOUBLE, .d = (double)r},
                            {.kind = PML_VALUE_DECIMAL, .dec = (int64_t)(r % 1000000)}};
    append_key(pml_builder__child(row, 0), key);
    for (size_t i = 1; i < 6; i++)
        (void)pml_builder__append_value(pml_builder__child(row, i), &v[i]);
    append_text(pml_builder__child(row, 6), "name-%llu", r % 100000);
    append_text(pml_builder__child(row, 7), (r & 1) != 0 ? "a longer remark %llu" : "%llu", r);
    (void)pml_builder__close_item(row);
}

static void run_make(memory_run *run, pml_env *env, const pml_type *type, const merge_case *c, int64_t number,
                     int64_t runs, int64_t rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_builder *b = NULL;
    run->batches = calloc((size_t)(2 * rows / BATCH_ROWS + 2), sizeof *run->batches);
    need(run->batches == NULL ? PML_E_NOMEM : pml_builder__new(&b, env, type, &err), &err);
    int64_t keys = c->keys == KEYS_HALF ? 2 * rows : rows;
    for (int64_t i = 0; i < keys; i++) {
        if (c->keys == KEYS_HALF && (random_next() & 1) != 0)
            continue;
        int64_t key = c->keys == KEYS_APART ? number * rows + i : c->keys == KEYS_ROUND ? i * runs + number : i;
        append_row(b, key, number * rows * 2 + i);
        if (pml_builder__length(b) == BATCH_ROWS)
            need(pml_builder__finish(b, &run->batches[run->n++], &err), &err);
    }
    if (pml_builder__length(b) > 0)
        need(pml_builder__finish(b, &run->batches[run->n++], &err), &err);
    pml_builder__free(b);
}

static int pick_columns(void *self, const pml_merge_group *g, pml_merge_output *out, pml_error *err)
{
    int rc = PML_OK;
    const pml_merge_row *newest = &g->rows[g->n - 1];
    (void)self;
    (void)err;
    for (int32_t i = 0; i < COLUMNS; i++)
        PML_TRY(pml_merge_output__pick(out, i, g->rows[(size_t)i % g->n].ref));
    PML_TRY(pml_merge_output__end_row(out, newest->kind, newest->sequence));
out:
    return rc;
}

static double merge_once(pml_env *env, const merge_case *c, const pml_merge_layout *layout, memory_run *runs, size_t n,
                         int64_t *rows)
{
    static const int32_t columns[COLUMNS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const pml_merge_function function = {.kind = c->function, .decide = pick_columns};
    const pml_merge_request request = {.layout = layout,
                                       .function = &function,
                                       .columns = columns,
                                       .n_columns = COLUMNS,
                                       .lookup = c->lookup,
                                       .batch_rows = OUTPUT_ROWS};
    pml_error err = PML_ERROR_INIT;
    pml_run *inputs = calloc(n, sizeof *inputs);
    pml_merge *m = NULL;
    struct ArrowArray out;
    if (inputs == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < n; i++) {
        runs[i].next = 0;
        inputs[i] = (pml_run){run_next, run_drop, &runs[i], "memory", i == 0 ? 5 : 0};
    }
    *rows = 0;
    double begin = cpu_seconds();
    need(pml_merge__open(&m, env, &request, inputs, n, &err), &err);
    for (;;) {
        need(pml_merge__next(m, &out, &err), &err);
        if (out.release == NULL)
            break;
        *rows += out.length;
        pml_array__release(&out);
    }
    pml_merge__free(m);
    double lap = cpu_seconds() - begin;
    free(inputs);
    return lap;
}

/* Seconds for as many bytes, out of and into memory that no cache holds. */
static double copy_once(uint64_t bytes)
{
    uint8_t *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    if (from == NULL || to == NULL)
        exit(EXIT_FAILURE);
    memset(from, 1, COPY_BYTES);
    memset(to, 2, COPY_BYTES);
    double begin = cpu_seconds();
    memcpy(to, from, COPY_BYTES);
    double lap = cpu_seconds() - begin;
    bytes += to[COPY_BYTES / 2] - 1;
    free(from);
    free(to);
    return lap * (double)bytes / COPY_BYTES;
}

static int usage(void)
{
    (void)fprintf(stderr, "Usage: merge_bench CASE RUNS ROWS\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        (void)fprintf(stderr, "  %-15s %s\n", cases[i].name, cases[i].about);
    return 2;
}

int main(int argc, char **argv)
{
    const merge_case *c = NULL;
    for (size_t i = 0; argc == 4 && i < sizeof cases / sizeof cases[0]; i++)
        c = strcmp(cases[i].name, argv[1]) == 0 ? &cases[i] : c;
    int64_t n = 0, rows = 0, input = 0, output = 0;
    if (c == NULL || !pml_number__int64(&n, argv[2], strlen(argv[2])) ||
        !pml_number__int64(&rows, argv[3], strlen(argv[3])) || n < 1 || n > 1000 || rows < 1)
        return usage();
    key_type = c->key_type;
    const pml_field fields[COLUMNS] = {
        {.id = 0, .name = "k", .type = {.kind = key_type, .length = INT32_MAX}},
        {.id = 1, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}},
        {.id = 2, .name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}},
        {.id = 3, .name = "i", .type = {.kind = PML_TYPE_INT, .nullable = true}},
        {.id = 4, .name = "d", .type = {.kind = PML_TYPE_DOUBLE, .nullable = true}},
        {.id = 5, .name = "m", .type = {.kind = PML_TYPE_DECIMAL, .nullable = true, .precision = 10, .scale = 2}},
        {.id = 6, .name = "s", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}},
        {.id = 7, .name = "t", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}},
    };
    static const int32_t key = 0, sequence = 3;
    const pml_merge_layout layout = {.fields = fields,
                                     .n_fields = COLUMNS,
                                     .keys = &key,
                                     .n_keys = 1,
                                     .sequence = &sequence,
                                     .n_sequence = c->sequence_field,
                                     .sequence_number = 1,
                                     .row_kind = 2};
    pml_error err = PML_ERROR_INIT;
    pml_env *env = NULL;
    /* Else glibc may give the memory of every output batch back to the kernel, which costs more than the merge. */
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    need(pml_env_new(&env, NULL, &err), &err);
    const pml_type type = pml_layout__row(fields, COLUMNS);
    memory_run *runs = calloc((size_t)n, sizeof *runs);
    if (runs == NULL)
        return EXIT_FAILURE;
    uint64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        run_make(&runs[i], env, &type, c, i, n, rows);
        for (size_t k = 0; k < runs[i].n; k++) {
            input += runs[i].batches[k].length;
            bytes += pml_batch__bytes(&runs[i].batches[k], fields, COLUMNS);
        }
    }
    double best = 1e9, copy = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double lap = merge_once(env, c, &layout, runs, (size_t)n, &output), copied = copy_once(bytes);
        best = lap < best ? lap : best;
        copy = copied < copy ? copied : copy;
    }
    (void)printf(
        "{\"case\":\"%s\",\"rows\":%lld,\"rows_out\":%lld,\"bytes\":%llu,\"ns_per_row\":%.2f,\"of_memcpy\":%.2f}\n",
        c->name, (long long)input, (long long)output, (unsigned long long)bytes, best / (double)input * 1e9,
        best / copy);
    for (int64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < runs[i].n; k++)
            pml_array__release(&runs[i].batches[k]);
        free(runs[i].batches);
    }
    free(runs);
    pml_env_release(env);
    return EXIT_SUCCESS;
}
