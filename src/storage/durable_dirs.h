/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which directories survive a power cut. A process that was killed between making a directory and syncing the name leaves one that everybody
 * finds and that a power cut takes away, with all that was put below it since. So whoever makes a file durable first makes sure of the names of
 * all directories above it: one sync for each that this environment has not made sure of before, and none later.
 *
 * What is known stays true as long as nobody removes the directory; remove_tree forgets everything. Of relative paths it is the names up to
 * the working directory, which stays where it is.
 */
#ifndef PML_STORAGE_DURABLE_DIRS_H
#define PML_STORAGE_DURABLE_DIRS_H

#include "util/env.h"

/* Syncs the names of the directory and of those above it that are not known. One that may not be opened was not made by the likes of us:
   above it nothing is synced. */
int pml_durable_dirs__ensure(pml_env *env, const char *dir, pml_error *err);
/* The directory's own name has just been synced: it is known if the one above it is. Forgetting it costs a sync, so there is no error. */
void pml_durable_dirs__made(pml_env *env, const char *dir);
/* Nothing above the directory that holds the one which holds `table` is of our making: there the way up ends. */
void pml_durable_dirs__table(pml_env *env, const char *table);
void pml_durable_dirs__forget(pml_env *env);
/* How many are known. */
size_t pml_durable_dirs__count(pml_env *env);

#endif
