/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_text.h"

#include <string.h>

const char *arrow_type_text(const struct ArrowSchema *column)
{
    static const char key[] = "paimon.type";
    static char text[256];
    const char *p = column->metadata;
    int32_t pairs = 0, n;
    text[0] = '\0';
    if (p == NULL)
        return text;
    memcpy(&pairs, p, 4);
    p += 4;
    for (int32_t i = 0; i < pairs; i++) {
        memcpy(&n, p, 4);
        bool same = (size_t)n == sizeof key - 1 && memcmp(p + 4, key, sizeof key - 1) == 0;
        p += 4 + n;
        memcpy(&n, p, 4);
        if (same && (size_t)n < sizeof text) {
            memcpy(text, p + 4, (size_t)n);
            text[n] = '\0';
            return text;
        }
        p += 4 + n;
    }
    return text;
}

bool arrow_is_number(const struct ArrowSchema *column)
{
    const char *f = column->format;
    return strncmp(f, "d:", 2) == 0 || (f[0] != '\0' && f[1] == '\0' && strchr("csilfg", f[0]) != NULL);
}

int64_t arrow_find(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

bool arrow_is_null(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *bits = column->buffers[0];
    int64_t i = column->offset + row;
    return bits != NULL && ((bits[i >> 3] >> (i & 7)) & 1) == 0;
}

int64_t arrow_int64(const struct ArrowArray *column, int64_t row)
{
    return ((const int64_t *)column->buffers[1])[column->offset + row];
}

bool arrow_string_equals(const struct ArrowArray *column, int64_t row, const char *text)
{
    const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset + row;
    size_t n = (size_t)(offsets[1] - offsets[0]);
    return n == strlen(text) && (n == 0 || memcmp((const char *)column->buffers[2] + offsets[0], text, n) == 0);
}
