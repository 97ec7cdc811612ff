/* SPDX-License-Identifier: Apache-2.0 */
/* A small file system in memory: what a fuzz target reads and writes, put back to a marked state for each input. */
#ifndef PML_TESTS_FUZZ_FUZZ_FS_H
#define PML_TESTS_FUZZ_FUZZ_FS_H

#include <paimonlive/sys/file_system.h>

#include <stdbool.h>

typedef struct fuzz_fs fuzz_fs;

fuzz_fs *fuzz_fs_new(void);
void fuzz_fs_free(fuzz_fs *f); /* no file may be open */
const pml_file_system *fuzz_fs_system(fuzz_fs *f);
/* Puts a file there, with its directories; what was there is replaced. */
void fuzz_fs_put(fuzz_fs *f, const char *path, const void *data, size_t len);
/* False: no such file. data is borrowed until the next change. */
bool fuzz_fs_get(fuzz_fs *f, const char *path, const uint8_t **data, size_t *len);
/* The i-th regular file below a directory, by name; NULL past the last. */
const char *fuzz_fs_nth(fuzz_fs *f, const char *directory, size_t i);
/* rewind brings back what was there at the mark. */
void fuzz_fs_mark(fuzz_fs *f);
void fuzz_fs_rewind(fuzz_fs *f);

#endif
