/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of LZ4 (its block format), unpacked. */
#ifndef PML_FORMAT_LZ4_H
#define PML_FORMAT_LZ4_H

#include "util/bytes.h"

/* Unpacks into *n bytes at `to`; *n becomes what they are. False: not such a block, or a larger one. */
bool pml_lz4__unpack(uint8_t *to, size_t *n, pml_bytes packed);

#endif
