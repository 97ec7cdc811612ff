/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole-file protocols over the file system of an environment, composed from its small steps. This header brings the two
 * others of the layer: numbered.h (directories of numbered files and their hints) and stream.h (data files).
 *
 * `durable` below means: content and name survive a power cut. Directories that these functions make on the way are
 * durable, too.
 */
#ifndef PML_STORAGE_FILE_IO_H
#define PML_STORAGE_FILE_IO_H

#include "storage/numbered.h"
#include "storage/stream.h"
#include "util/env.h"

enum {
    PML_WRITE_NO_SYNC = 1,          /* nothing is synced: fast, and lost by a power cut */
    PML_WRITE_NO_DIRECTORY_SYNC = 2, /* content is synced, the name is not: the caller syncs the directory later */
    PML_WRITE_SYNC_ALL = 4           /* of publish: first the whole file system is synced, with what was written to it unsynced */
};

/* The whole file in owned memory (pml_env__free), with a NUL behind it that is not counted. A file larger than max is
   refused before anything is read: PML_E_LIMIT. PML_E_NOT_FOUND when absent. */
int pml_file__read_all(uint8_t **data, size_t *len, pml_env *env, const char *path, size_t max, pml_error *err);

int pml_file__exists(bool *out, pml_env *env, const char *path, pml_error *err);

/* The directory and all its parents; those that exist are fine, also when others make them at the same time. */
int pml_file__make_directories(pml_env *env, const char *path, pml_error *err);

/* A new, durable file; its directory is made when it is missing. PML_E_EXISTS (nothing was changed) when the name is
   taken. The name is visible before the content is complete: for names that nobody looks for yet. On failure the file is
   removed again. */
int pml_file__write_new(pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags, pml_error *err);

/* Gives the name to a complete and durable file, or not at all; of several that try at once exactly one succeeds.
     PML_OK                                 published by this call
     PML_E_EXISTS                           the name is taken, certainly not by this call
     any other code with PML_ERRF_NO_EFFECT certainly not published
     PML_E_UNKNOWN_OUTCOME                  the name may exist now or may vanish by a power cut: look, delete nothing
   A temporary file ".<name>.<uuid>.pml.tmp" may be left in the directory by a crash or an unknown outcome. */
int pml_file__publish(pml_env *env, const char *path, const void *bytes, size_t n, uint32_t flags, pml_error *err);
#define PML_FILE_OWN_TEMPORARY ".pml.tmp" /* how our temporary names end: they are published without replacing */

/* After a publish: waits until no other writer, which may replace the name, can still be about to (rivals.c). What is read back
   afterwards stays. Gives up after about two seconds; without a listing it returns at once. */
void pml_file__await_rivals(pml_env *env, const char *path);

/* Puts the content in place of the file, whether it exists or not. Readers see old or new. Not durable: for hints. */
int pml_file__replace(pml_env *env, const char *path, const void *bytes, size_t n, pml_error *err);

/* Absent is fine. */
int pml_file__remove(pml_env *env, const char *path, pml_error *err);

/* A directory with everything in it (tree.c). Absent is fine. Stops at the first error; what is left can be removed again. */
int pml_file__remove_tree(pml_env *env, const char *path, pml_error *err);

/* Makes the names in this directory durable: once, after several files written with PML_WRITE_NO_DIRECTORY_SYNC. */
int pml_file__sync_directory(pml_env *env, const char *path, pml_error *err);

/* The path as other processes can use it: absolute and without "..". A path of the local file system that is not so yet must exist.
   Owned. */
int pml_file__absolute(char **out, pml_env *env, const char *path, pml_error *err);

/* The directory part: "/" of "/a", "." of "a". Owned; NULL: no memory. */
char *pml_file__parent(pml_env *env, const char *path);

/* Creates the file; when its directory is missing makes that and tries once more. For the other files of this layer. */
int pml_file__create(void **file, pml_env *env, const char *path, pml_error *err);
/* After a failure: ends the handle (may be NULL) and removes the file, errors ignored. */
void pml_file__discard(pml_env *env, void *file, const char *path);
/* Syncs and closes as the flags say; the handle has ended in every case. */
int pml_file__end(pml_env *env, void *file, const char *path, uint32_t flags, pml_error *err);

#endif
