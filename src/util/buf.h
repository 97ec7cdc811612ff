/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a maximum fixed at creation, so that no input can make it grow without bound. An error is
 * sticky: after a failed append all later ones fail too, and the caller checks once at the end with pml_buf__check.
 * Memory comes zero-filled nowhere; `data` may be NULL while `len` is 0.
 */
#ifndef PML_UTIL_BUF_H
#define PML_UTIL_BUF_H

#include "util/env.h"

typedef struct pml_buf {
    pml_env *env;
    uint8_t *data;
    size_t len, cap, max;
    int rc; /* first error, sticky */
} pml_buf;

void pml_buf__init(pml_buf *b, pml_env *env, size_t max);
void pml_buf__clear(pml_buf *b); /* frees; may be used again */
void pml_buf__reset(pml_buf *b); /* empties, keeps the memory and forgets the error */
/* PML_OK, PML_E_NOMEM or PML_E_LIMIT; PML_E_CORRUPT when whoever fills it said so. */
int pml_buf__check(const pml_buf *b, pml_error *err);
/* Room for n more bytes; NULL on error. The bytes are not yet part of the buffer: add to len. */
uint8_t *pml_buf__reserve(pml_buf *b, size_t n);
int pml_buf__append(pml_buf *b, const void *p, size_t n);
int pml_buf__append_zeros(pml_buf *b, size_t n);
int pml_buf__append_byte(pml_buf *b, uint8_t byte);
int pml_buf__append_str(pml_buf *b, const char *s);
int pml_buf__append_format(pml_buf *b, const char *format, ...) PML_PRINTF(2, 3);
int pml_buf__append_be32(pml_buf *b, uint32_t v);
int pml_buf__append_be64(pml_buf *b, uint64_t v);
/* Takes the memory out (free with pml_env__free), with a NUL behind it that is not counted. NULL on error or no memory. */
uint8_t *pml_buf__take(pml_buf *b, size_t *len);

#endif
