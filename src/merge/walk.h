/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a merge that its files share. */
#ifndef PML_MERGE_WALK_H
#define PML_MERGE_WALK_H

#include "merge/loser_tree.h"
#include "merge/output.h"

/* The rows of one key, for functions that need them all. */
typedef struct pml_group_rows {
    pml_merge_row *rows, *sorted; /* sorted: room to sort in */
    size_t n, cap;
    size_t out; /* PML_MERGE_ALL: how many of them are in the output; fewer than n while that is full */
} pml_group_rows;

struct pml_merge {
    pml_env *env;
    const pml_merge_function *function;
    bool lookup, one_of_run;
    uint64_t window_bytes;
    pml_arena arena; /* cursors, tree, orders */
    size_t n_runs;
    pml_cursor *cursors;
    pml_cursor_rules rules;
    pml_loser_tree tree;
    pml_key_prefix *least; /* room to set it up in: twice as many as there are leaves */
    pml_group_rows group;
    pml_merge_output output;
    bool ended, failed;
};

/* Sets the tree up from where the cursors stand, after the form of prefixes was changed or at the start. */
void pml_merge__play(pml_merge *m);
/* Takes keys until the output is full, the window has too much, or the runs have ended (m->ended). Stops between keys. */
int pml_merge__walk(pml_merge *m, pml_error *err);

int pml_group__add(pml_merge *m, const pml_cursor *c, pml_error *err);
/* The last n rows of the output, which are of the open key, go back into the empty group. Their levels are lost. */
int pml_group__take_back(pml_merge *m, size_t n, pml_error *err);
/* Puts the result of the rows of one key out, and is empty then, unless the output cannot take all of PML_MERGE_ALL. */
int pml_group__close(pml_merge *m, pml_error *err);
/* Goes on with that; whether there is nothing left to put out. */
bool pml_group__put(pml_merge *m);
int pml_merge__refuse_retract(const pml_merge *m, pml_error *err);

/* Whether a row with the same user sequence is at least as new: by sequence number, then add after retract. */
static inline bool pml_row__at_least(int64_t sequence, bool retract, int64_t than, bool than_retract)
{
    return sequence > than || (sequence == than && retract <= than_retract);
}

#endif
