/* SPDX-License-Identifier: Apache-2.0 */
/* Changed copies of inputs: bits, bytes, numbers in text and in binary, ranges taken out, doubled, cut off or from others. */
#ifndef PML_TESTS_FUZZ_MUTATE_H
#define PML_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct mutate_random {
    uint64_t state;
} mutate_random;

typedef struct mutate_piece {
    const uint8_t *data;
    size_t len;
} mutate_piece;

/* One to four changes of piece `which`; the others are what ranges come from. free(). */
uint8_t *mutate(size_t *len, mutate_random *random, const mutate_piece *pieces, size_t n, size_t which);
uint64_t mutate_next(mutate_random *random); /* splitmix64 */

#endif
