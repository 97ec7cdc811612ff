/* SPDX-License-Identifier: Apache-2.0 */
/* Copying many short texts, for those who gather. */
#ifndef PML_COLUMNAR_TEXT_COPY_H
#define PML_COLUMNAR_TEXT_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PML_TEXT_TINY = 16, PML_TEXT_SMALL = 32, PML_TEXT_SHORT = 64 };

/* The last byte of [begin, end) from which PML_TEXT_SHORT bytes can be read or written; NULL: there is none. */
static inline const uint8_t *pml_text_safe(const uint8_t *begin, const uint8_t *end)
{
    return end - begin >= PML_TEXT_SHORT ? end - PML_TEXT_SHORT : NULL;
}

/* One step of fixed length. Never the string instruction, which gcc takes for steps that it thinks are seldom. */
__attribute__((always_inline)) static inline void pml_text_step(uint8_t *dst, const uint8_t *src, size_t step)
{
    for (size_t at = 0; at < step; at += PML_TEXT_TINY)
        memcpy(dst + at, src + at, PML_TEXT_TINY);
}

/* Copies n bytes of a text. Short ones in one step of fixed length, where both sides have the room: up to what pml_text_safe says of
   them. */
static inline void pml_text_copy(uint8_t *dst, const uint8_t *dst_safe, const uint8_t *src, const uint8_t *src_safe, int64_t n)
{
    bool room = (src <= src_safe) & (dst <= dst_safe);
    if (room && n <= PML_TEXT_TINY)
        pml_text_step(dst, src, PML_TEXT_TINY);
    else if (room && n <= PML_TEXT_SMALL)
        pml_text_step(dst, src, PML_TEXT_SMALL);
    else if (room && n <= PML_TEXT_SHORT)
        pml_text_step(dst, src, PML_TEXT_SHORT);
    else
        memcpy(dst, src, (size_t)n);
}

#endif
