/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an input of rows, in order: a file of the environment's file system or standard input, inflated when it is gzip. */
#ifndef PML_TABLE_ROWS_SOURCE_H
#define PML_TABLE_ROWS_SOURCE_H

#include <paimonlive/rows.h>

#include "util/env.h"

typedef struct pml_rows_source {
    pml_env *env;
    const char *path;   /* borrowed; "-": standard input */
    void *file;         /* NULL for standard input */
    int64_t size_bytes; /* of what is stored, -1: unknown */
    int64_t done_bytes; /* stored bytes consumed */
    void *inflate;      /* NULL: not compressed */
    void (*progress)(void *ctx, int64_t bytes_done, int64_t bytes_total);
    void *progress_ctx;
} pml_rows_source;

/* PML_E_NOT_FOUND when the file is absent. A name that ends in .gz is inflated. */
int pml_rows_source__open(pml_rows_source *s, pml_env *env, const char *path, const pml_rows_options *options,
                          pml_error *err);
/* Up to n bytes; *got is 0 only at the end. While standard input has none it calls the progress about every second. */
int pml_rows_source__read(pml_rows_source *s, size_t *got, void *buf, size_t n, pml_error *err);
/* Waits for up to ms milliseconds until a read would not wait: false: it still would. Files never make wait. */
bool pml_rows_source__ready(const pml_rows_source *s, int ms);
void pml_rows_source__close(pml_rows_source *s);
/* Whether the bytes can be read at any place, without copying them away first. */
static inline bool pml_rows_source__is_plain_file(const pml_rows_source *s)
{
    return s->file != NULL && s->inflate == NULL;
}

#endif
