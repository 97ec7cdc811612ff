/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `make bench` that is ours: pml-bench CASE DIR ROWS [OPTION=VALUE...] measures one case in a fresh process and prints
 * one line of JSON. The options are those of the table; cases that read take a table that is there. bench/run compares the figures
 * with the bars.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const bench_case *const tables[] = {write_cases, prepare_cases, live_cases, keys_cases, read_cases, plan_cases, lookup_cases};
enum { TABLES = sizeof tables / sizeof tables[0], WORDS_MIN = 4 };

static const bench_case *case_find(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const bench_case *c = tables[i]; c->name != NULL; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

static int usage(void)
{
    (void)fprintf(stderr, "Usage: pml-bench CASE DIR ROWS [OPTION=VALUE...]\n");
    for (size_t i = 0; i < TABLES; i++)
        for (const bench_case *c = tables[i]; c->name != NULL; c++)
            (void)fprintf(stderr, "  %-18s %s\n", c->name, c->about);
    return 2;
}

/* Cuts the words in two. */
static bool options_parse(bench *b, int n, char **words)
{
    for (int i = 0; i < n; i++) {
        char *equals = strchr(words[i], '=');
        if (equals == NULL || equals == words[i] || b->n_options == BENCH_OPTIONS_MAX)
            return false;
        *equals = '\0';
        b->options[b->n_options++] = (pml_option_pair){words[i], equals + 1};
    }
    return true;
}

int main(int n, char **words)
{
    pml_error err = PML_ERROR_INIT;
    bench b = {0};
    const bench_case *c = n >= WORDS_MIN ? case_find(words[1]) : NULL;
    if (c == NULL || !options_parse(&b, n - WORDS_MIN, words + WORDS_MIN))
        return usage();
    b.dir = words[2];
    for (const char *p = words[3]; *p >= '0' && *p <= '9' && b.rows < 1000000000; p++)
        b.rows = b.rows * 10 + (*p - '0');
    int rc = pml_env_new(&b.env, NULL, &err);
    if (rc == PML_OK)
        rc = c->run(&b, &err);
    if (b.figures)
        (void)printf("}\n");
    if (rc != PML_OK)
        (void)fprintf(stderr, "pml-bench: %s: %s (%s)\n", words[1], err.message, pml_error_name(rc));
    bench_close(&b);
    return rc == PML_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
