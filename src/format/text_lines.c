/* SPDX-License-Identifier: Apache-2.0 */
#include "format/text_lines.h"

#include <string.h>

enum {
    READ_BYTES = 256 * 1024,
    LOOK_BYTES = 1024 /* for both ends at a time: the other one may be far away, from line to line again */
};

int pml_text_lines__open(pml_text_lines *l, pml_env *env, pml_input *in, const char *delimiter, pml_error *err)
{
    bool usual = strcmp(delimiter, "\n") == 0 || strcmp(delimiter, "\r") == 0 || strcmp(delimiter, "\r\n") == 0;
    *l = (pml_text_lines){.path = pml_input__path(in), .delimiter = delimiter, .delimiter_len = usual ? 0 : strlen(delimiter)};
    pml_buf__init(&l->text, env, (size_t)PML_TEXT_LINE_MAX + 2 * (size_t)READ_BYTES);
    if (!usual && l->delimiter_len == 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_DATA_FILE, l->path, "%s cannot be read: the line delimiter is empty", l->path);
    return pml_text_source__open(&l->source, env, in, err);
}

void pml_text_lines__close(pml_text_lines *l)
{
    pml_text_source__close(l->source);
    if (l->text.env != NULL)
        pml_buf__clear(&l->text);
}

/* More bytes behind those that are there, or the end. */
static int read_more(pml_text_lines *l, pml_error *err)
{
    size_t got;
    if (l->at > 0 && l->text.len > l->at)
        memmove(l->text.data, l->text.data + l->at, l->text.len - l->at);
    l->text.len -= l->at;
    l->at = 0;
    if (l->text.len > PML_TEXT_LINE_MAX)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_DATA_FILE, l->path, "line %lld of %s has more than %d bytes",
                             (long long)l->number + 1, l->path, PML_TEXT_LINE_MAX);
    uint8_t *to = pml_buf__reserve(&l->text, READ_BYTES);
    if (to == NULL)
        return pml_buf__check(&l->text, err);
    PML_RETURN_IF(pml_text_source__read(l->source, to, READ_BYTES, &got, err));
    l->text.len += got;
    l->ended = got == 0;
    return PML_OK;
}

static int skip_mark(pml_text_lines *l, pml_error *err)
{
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    l->begun = true;
    while (!l->ended && l->text.len < sizeof mark)
        PML_RETURN_IF(read_more(l, err));
    if (l->delimiter_len == 0 && l->text.len >= sizeof mark && memcmp(l->text.data, mark, sizeof mark) == 0)
        l->at = sizeof mark;
    return PML_OK;
}

static bool find_usual_end(pml_text_lines *l, size_t *before, size_t *ends)
{
    const uint8_t *p = l->text.data + l->at, *cr = NULL, *end = NULL;
    size_t n = l->text.len - l->at;
    for (size_t look; end == NULL && l->scanned < n; l->scanned = end == NULL ? l->scanned + look : (size_t)(end - p)) {
        look = n - l->scanned < LOOK_BYTES ? n - l->scanned : LOOK_BYTES;
        const uint8_t *lf = memchr(p + l->scanned, '\n', look);
        cr = memchr(p + l->scanned, '\r', lf == NULL ? look : (size_t)(lf - p) - l->scanned);
        end = cr != NULL ? cr : lf;
    }
    if (end == NULL || (cr != NULL && cr + 1 == p + n && !l->ended)) /* a \n may follow */
        return false;
    *before = l->scanned;
    *ends = cr != NULL && cr + 1 < p + n && cr[1] == '\n' ? 2 : 1;
    return true;
}

/* Looks for a delimiter as Java does: behind a part of one that was none the search goes on, even where that part holds the beginning
   of another. */
static bool find_own_end(pml_text_lines *l, size_t *before, size_t *ends)
{
    const uint8_t *p = l->text.data + l->at;
    size_t n = l->text.len - l->at;
    while (l->scanned < n && l->matched < l->delimiter_len) {
        uint8_t c = p[l->scanned++];
        if (c == (uint8_t)l->delimiter[l->matched])
            l->matched++;
        else
            l->matched = c == (uint8_t)l->delimiter[0];
    }
    *before = l->scanned - l->matched;
    *ends = l->matched;
    return l->matched == l->delimiter_len;
}

int pml_text_lines__next(pml_bytes *line, pml_text_lines *l, pml_error *err)
{
    size_t before = 0, ends = 0;
    *line = (pml_bytes){NULL, 0};
    if (!l->begun)
        PML_RETURN_IF(skip_mark(l, err));
    l->scanned = l->matched = 0;
    while (l->at == l->text.len || !(l->delimiter_len == 0 ? find_usual_end : find_own_end)(l, &before, &ends)) {
        if (l->ended) {
            before = l->text.len - l->at;
            ends = 0;
            break;
        }
        PML_RETURN_IF(read_more(l, err));
    }
    if (before + ends == 0) /* the end of the file */
        return PML_OK;
    *line = (pml_bytes){l->text.data + l->at, before};
    l->at += before + ends;
    l->number++;
    return PML_OK;
}
