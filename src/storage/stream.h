/* SPDX-License-Identifier: Apache-2.0 */
/* Data files: written from front to back through a buffer, read at any place. */
#ifndef PML_STORAGE_STREAM_H
#define PML_STORAGE_STREAM_H

#include "util/bytes.h"
#include "util/env.h"

/* A file being written. The first error sticks: append may be called without looking, finish tells. One thread. */
typedef struct pml_output pml_output;

/* A new file (PML_E_EXISTS when taken); its directory is made when it is missing. Returns owned; ends with finish or
   abandon. Holds env. */
int pml_output__create(pml_output **out, pml_env *env, const char *path, pml_error *err);
/* PML_OK, or the code of the first error. */
int pml_output__append(pml_output *o, const void *p, size_t n);
/* Bytes appended so far, whether or not they have left the buffer. */
int64_t pml_output__size(const pml_output *o);
/* Moves o: writes the rest, syncs as the PML_WRITE_* flags say, closes. On any error, sticky ones included, the file is
   removed. */
int pml_output__finish(pml_output *o, uint32_t flags, pml_error *err);
/* Moves o (may be NULL): closes and removes the file. */
void pml_output__abandon(pml_output *o);

/* A file being read. read_at may be called by several threads at once. */
typedef struct pml_input pml_input;

/* Returns owned; free with pml_input__close. Holds env. */
int pml_input__open(pml_input **out, pml_env *env, const char *path, pml_error *err);
/* A file whose content is in memory already, which is borrowed until the close; path is its name in messages. */
int pml_input__of_bytes(pml_input **out, pml_env *env, const char *path, pml_bytes content, pml_error *err);
/* When it was opened. */
int64_t pml_input__size(const pml_input *in);
const char *pml_input__path(const pml_input *in);
/* Exactly n bytes. A range that is not inside the file is PML_E_CORRUPT: whoever named it was told so by a file. */
int pml_input__read_at(pml_input *in, int64_t offset, void *buf, size_t n, pml_error *err);
void pml_input__close(pml_input *in);

#endif
