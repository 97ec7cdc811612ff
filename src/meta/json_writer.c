/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of Jackson's default pretty printer: members of objects on lines of their own, two blanks per open object;
 * elements of arrays on one line between blanks; " : " between key and value; "{ }" and "[ ]" when empty.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "meta/json.h"

void pml_json_writer__init(pml_json_writer *w, pml_buf *out)
{
    memset(w, 0, sizeof *w);
    w->out = out;
}

static void put(pml_json_writer *w, const char *text)
{
    (void)pml_buf__append_str(w->out, text); /* the buffer keeps the first error */
}

static void new_line(pml_json_writer *w)
{
    put(w, "\n");
    for (int i = 0; i < w->objects; i++)
        put(w, "  ");
}

/* What stands before a value or a key. */
static void separate(pml_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->depth == 0)
        return;
    bool first = !w->open[w->depth - 1].filled;
    w->open[w->depth - 1].filled = true;
    if (!first)
        put(w, ",");
    if (w->open[w->depth - 1].object)
        new_line(w);
    else
        put(w, " ");
}

static void begin(pml_json_writer *w, bool object)
{
    separate(w);
    put(w, object ? "{" : "[");
    assert(w->depth < PML_JSON_DEPTH_MAX); /* types end at PML_TYPE_DEPTH_MAX */
    w->open[w->depth].object = object;
    w->open[w->depth].filled = false;
    w->depth++;
    w->objects += object;
}

static void end(pml_json_writer *w, bool object)
{
    assert(w->depth > 0 && w->open[w->depth - 1].object == object && !w->after_key);
    w->depth--;
    w->objects -= object;
    if (!w->open[w->depth].filled || !object)
        put(w, " ");
    else
        new_line(w);
    put(w, object ? "}" : "]");
}

void pml_json_writer__begin_object(pml_json_writer *w)
{
    begin(w, true);
}

void pml_json_writer__end_object(pml_json_writer *w)
{
    end(w, true);
}

void pml_json_writer__begin_array(pml_json_writer *w)
{
    begin(w, false);
}

void pml_json_writer__end_array(pml_json_writer *w)
{
    end(w, false);
}

/* Escaped as by Jackson: short forms where JSON has them, upper-case hex for other control characters, all else as it is. */
static void put_quoted(pml_json_writer *w, const char *text)
{
    static const char shorts[] = "btnvfr"; /* for 8..13; 11 has none */
    put(w, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)pml_buf__append_format(w->out, "\\%c", c);
        else if (c >= 8 && c <= 13 && c != 11)
            (void)pml_buf__append_format(w->out, "\\%c", shorts[c - 8]);
        else if (c < 0x20)
            (void)pml_buf__append_format(w->out, "\\u%04X", c);
        else
            (void)pml_buf__append_byte(w->out, c);
    }
    put(w, "\"");
}

void pml_json_writer__key(pml_json_writer *w, const char *key)
{
    assert(w->depth > 0 && w->open[w->depth - 1].object && !w->after_key);
    separate(w);
    put_quoted(w, key);
    put(w, " : ");
    w->after_key = true;
}

void pml_json_writer__string(pml_json_writer *w, const char *text)
{
    separate(w);
    put_quoted(w, text);
}

void pml_json_writer__int64(pml_json_writer *w, int64_t v)
{
    separate(w);
    (void)pml_buf__append_format(w->out, "%" PRId64, v);
}

void pml_json_writer__bool(pml_json_writer *w, bool v)
{
    separate(w);
    put(w, v ? "true" : "false");
}

void pml_json_writer__put_string(pml_json_writer *w, const char *key, const char *text)
{
    if (text == NULL)
        return;
    pml_json_writer__key(w, key);
    pml_json_writer__string(w, text);
}

void pml_json_writer__put_int64(pml_json_writer *w, const char *key, int64_t v)
{
    pml_json_writer__key(w, key);
    pml_json_writer__int64(w, v);
}

int pml_json_writer__finish(pml_json_writer *w)
{
    assert(w->depth == 0);
    return pml_buf__check(w->out, NULL);
}
