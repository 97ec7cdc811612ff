/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random model of live tables (realtime-tests.md 25.7, tests 89 to 96): random operations on a table in simulated files, and
 * beside it a model that knows after each of them what every plan, commit, progress file and counter must say.
 *
 * An episode is one table from its creation to its end. Each step draws from its own seed, so that steps can be left out and the
 * others stay what they are: that is how a failing episode is shrunk.
 */
#ifndef PML_TESTS_RT_MODEL_H
#define PML_TESTS_RT_MODEL_H

#include <paimonlive/realtime.h>
#include <paimonlive/sys/realtime_store.h>

#include <stdbool.h>
#include <stdint.h>

typedef enum rt_mutant {
    RT_MUTANT_NONE = 0,
    RT_MUTANT_LOSES_ROWS,    /* the store forgets a batch now and then */
    RT_MUTANT_DOUBLES_ROWS,  /* the store keeps a batch twice in its commit streams */
    RT_MUTANT_LIES_ON_FLOOR, /* views say that they are complete from offset 0 */
    RT_MUTANT_EAGER_ADVANCE, /* the store lets go of more than is committed */
    RT_MUTANT_SKIPS_PROGRESS /* snapshots keep the progress of their predecessor */
} rt_mutant;

typedef struct rt_model_options {
    uint64_t seed;
    int steps;
    rt_mutant mutant;
    const bool *skip; /* of each step, NULL: none */
    bool faults;      /* failing files and memory, too */
    bool keyed;       /* a table with a primary key */
    const char *script; /* operations by letter (rt_model.c) in the place of random ones, on a small table; NULL: none */
} rt_model_options;

enum { RT_MODEL_TEXT = 600, RT_MODEL_LOG = 30 };
typedef struct rt_model_result {
    bool failed;
    int step; /* that failed, or all */
    long long operations;
    char failure[RT_MODEL_TEXT];
    char log[RT_MODEL_LOG][160]; /* the last operations, oldest first */
    int n_log;
} rt_model_result;

void rt_model_run(rt_model_result *out, const rt_model_options *options);
/* Leaves out steps while the episode still fails; skip has options->steps places. Returns how many are left. */
int rt_model_shrink(bool *skip, rt_model_result *out, const rt_model_options *options, int tries);

/* The memory store with a fault (rt_model_stores.c); NULL: the store as it is. */
const pml_rt_plugin *rt_model_plugin(rt_mutant mutant);

#endif
