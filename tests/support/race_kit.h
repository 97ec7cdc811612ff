/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One live table and those who race for it (realtime-tests.md 25.5): a writer of numbered batches, some who prepare, one who commits or
 * gives up, some who advance, one who seals, and readers. Every read, also of a plan that was made long before, must show what was
 * written up to some batch between the begin of its plan and the end of it, and no reader goes back.
 *
 * The same actors run one at a time in an order that a seed decides (interleave.h), and as threads of their own.
 */
#ifndef PML_TESTS_RACE_KIT_H
#define PML_TESTS_RACE_KIT_H

#include <paimonlive/realtime.h>

#include "support/faulty_fs.h"
#include "support/interleave.h"
#include "support/rt_model.h"
#include "support/rt_rows.h"
#include "support/sim_fs.h"

enum {
    RACE_BATCHES_MAX = 64,
    RACE_ROWS_OF_RUN = 64,
    /* the store takes so many as they are */ RACE_ROWS_MAX = RACE_ROWS_OF_RUN + 4
};
#define RACE_TABLE "/t"

typedef struct race_options {
    uint64_t seed;
    const rt_variant *keyed;           /* NULL: a table without a primary key */
    const struct pml_rt_plugin *store; /* NULL: memory */
    void (*pause)(void);               /* lets others go on */
    int batches, lead;  /* lead: the writer is at most so many batches before the commits; 0: it does not wait */
    int reads;          /* plans that a reader makes */
    bool faults;        /* files fail and are slow: race_disturb is one of the actors */
    bool short_tickets; /* they live for a millisecond of a clock that race_tickets moves */
    bool late_merges;   /* batches are runs, and as many as can be are merged by the store's thread */
    bool expires;       /* the snapshot that is advanced to may be gone */
    bool stale;         /* nobody's commit can write the hint of the latest snapshot */
} race_options;

typedef struct race {
    race_options o;
    rt_shape shape;
    test_env *t;
    sim_fs *sim;
    faulty_fs fs;
    int (*stat)(void *ctx, pml_file_info *info, const char *path, pml_error *err); /* that of fs */
    pml_table *table;
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_rt_writer *w;
    int64_t first[RACE_BATCHES_MAX + 1]; /* number of the first row of each batch; of the last: the number of rows */
    atomic_int begun, written;           /* batches */
    atomic_int preparers, commits;       /* preparers: those still at it */
    atomic_llong snapshot;               /* newest one committed */
    atomic_llong identifier;
    atomic_llong earliest; /* snapshot that is there */
    atomic_ullong draws;
    _Atomic(pml_rt_prepared *) prepared; /* handed to the committer */
    atomic_bool failed;
    char wrong[600]; /* the first that went wrong */
} race;

/* preparers: actors that will run race_prepare. */
void race_open(race *r, const race_options *o, int preparers);
void race_close(race *r);
/* After the actors: everything is shown, and once it is advanced memory is empty (95). */
void race_finish(race *r);
void race_must(race *r, bool ok, const char *what, const pml_error *err);
bool race_is_over(const race *r); /* all is written, or something went wrong */
uint64_t race_random(race *r);
void race_write_one(race *r, int i); /* batch i */

extern _Thread_local bool race_sees_late; /* of this thread, while it plans in a race that is `stale` */

/* Actors; the argument is the race. */
void race_write(void *r);
void race_prepare(void *r);
void race_commit(void *r);
void race_advance(void *r);
void race_seal(void *r);
void race_read(void *r);
void race_tickets(void *r);
void race_set_hint(void *r); /* back to some older snapshot, again and again */
void race_disturb(void *r);

/* A plan of the latest snapshot with memory; a snapshot other than -1: of that one. */
int race_plan(pml_plan **out, race *r, int64_t snapshot, pml_error *err);
/* Reads a plan and returns how many batches it shows, which must be between two; -1: none, or `may_fail` and the code is in *rc. */
int race_batches_of(race *r, pml_plan *plan, int from, int to, int *rc);

/* The memory store, which notes when the ends it is told go back. */
const struct pml_rt_plugin *race_watching_store(void);
/* How often since the last call of race_watching_store. */
int race_ends_gone_back(void);
int race_ends_told(void);

/* The engines for which it does not matter which rows are in one segment, in turn. */
const rt_variant *race_engine(uint64_t seed);

#endif
