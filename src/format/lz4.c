/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is a list of sequences: a byte of two half-bytes, the length of literals and that of a match less 4 (15: bytes follow that are
 * added, until one is not 255), the literals, and the match's distance backwards (u16 LE). The last sequence ends with its literals.
 */
#include "format/lz4.h"

enum { MATCH_MIN = 4, LONG_LENGTH = 15 };

static bool take_length(size_t *length, const uint8_t **p, const uint8_t *end)
{
    uint8_t more = 255;
    if (*length < LONG_LENGTH)
        return true;
    while (more == 255) {
        if (*p == end)
            return false;
        more = *(*p)++;
        *length += more;
    }
    return true;
}

bool pml_lz4__unpack(uint8_t *to, size_t *n, pml_bytes packed)
{
    const uint8_t *p = packed.ptr, *end = p + packed.len;
    size_t at = 0, room = *n;
    while (p < end) {
        uint8_t token = *p++;
        size_t literals = token >> 4, match = token & 15;
        if (!take_length(&literals, &p, end) || literals > (size_t)(end - p) || literals > room - at)
            return false;
        memcpy(to + at, p, literals);
        p += literals;
        at += literals;
        if (p == end)
            break;
        if (end - p < 2)
            return false;
        size_t distance = pml_le16(p);
        p += 2;
        if (!take_length(&match, &p, end) || distance == 0 || distance > at || match + MATCH_MIN > room - at)
            return false;
        for (match += MATCH_MIN; match > 0; match--, at++) /* it may overlap what it makes */
            to[at] = to[at - distance];
    }
    *n = at;
    return packed.len > 0;
}
