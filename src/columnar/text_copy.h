/* SPDX-License-Identifier: Apache-2.0 */
/* Copying many short texts, for those who gather. */
#ifndef PML_COLUMNAR_TEXT_COPY_H
#define PML_COLUMNAR_TEXT_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PML_TEXT_TINY = 16, PML_TEXT_SMALL = 32, PML_TEXT_SHORT = 64 };

/* Copies n bytes of a text; *dst moves on. Short ones in one step of fixed length, where both sides have the room. */
static inline void pml_text_copy(uint8_t **dst, const uint8_t *dst_end, const uint8_t *src, const uint8_t *src_end,
                                 int64_t n)
{
    bool room = src_end - src >= PML_TEXT_SHORT && dst_end - *dst >= PML_TEXT_SHORT;
    if (room && n <= PML_TEXT_TINY)
        memcpy(*dst, src, PML_TEXT_TINY);
    else if (room && n <= PML_TEXT_SMALL)
        memcpy(*dst, src, PML_TEXT_SMALL);
    else if (room && n <= PML_TEXT_SHORT)
        memcpy(*dst, src, PML_TEXT_SHORT);
    else
        memcpy(*dst, src, (size_t)n);
    *dst += n;
}

#endif
