/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of numbered files, `<prefix><number>`, each published once and never changed, and two files that hint at the
 * first and last of them: LATEST and EARLIEST hold a number in ASCII without newline. A hint may be missing, stale, half
 * written or wrong: it only saves a listing when it can be checked.
 */
#ifndef PML_STORAGE_NUMBERED_H
#define PML_STORAGE_NUMBERED_H

#include "util/env.h"

enum { PML_NUMBERED_NO_HINT = 1 }; /* always list the directory */

enum { PML_NUMBERED_COUNT_MAX = 16 * 1024 * 1024 }; /* ids of one listing: 128 MiB */

/* The numbers, ascending, in owned memory (pml_env__free; NULL when there are none). Names that are not exactly what the
   number would be printed as ("007", "-5", "7.tmp") and directories are ignored. A missing directory is empty.
   PML_E_LIMIT past PML_NUMBERED_COUNT_MAX. */
int pml_file__list_ids(int64_t **ids, size_t *n, pml_env *env, const char *dir, const char *prefix, pml_error *err);

/* The largest and the smallest number, -1 when there is none. */
int pml_numbered__latest(int64_t *id, pml_env *env, const char *dir, const char *prefix, uint32_t flags, pml_error *err);
int pml_numbered__earliest(int64_t *id, pml_env *env, const char *dir, const char *prefix, uint32_t flags, pml_error *err);

/* name is "LATEST" or "EARLIEST". Three tries, about a second apart. The numbered files themselves are never in danger:
   a caller may ignore the failure. */
int pml_numbered__write_hint(pml_env *env, const char *dir, const char *name, int64_t id, pml_error *err);

#endif
