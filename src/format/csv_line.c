/* SPDX-License-Identifier: Apache-2.0 */
#include "format/csv_line.h"

#include <string.h>

enum { NO_BYTE = -1 };

static int first_byte(char *out, const char *text, const char *option, pml_error *err)
{
    *out = text[0];
    if (text[0] == '\0')
        return pml_error__set(err, PML_E_INVAL, "option %s is empty", option);
    if ((unsigned char)text[0] >= 0x80)
        return pml_error__set(err, PML_E_UNSUPPORTED, "needs csv-character: option %s is '%.20s'; only characters of ASCII are supported",
                              option, text);
    return PML_OK;
}

static void order_fields(pml_csv_line *c)
{
    for (size_t i = 0; i < c->n_fields; i++) {
        size_t at = i;
        for (; at > 0 && c->places[c->order[at - 1]] > c->places[i]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = i;
    }
}

int pml_csv_line__init(pml_csv_line *c, pml_arena *arena, const pml_text_options *o, const pml_text_rule *rules, const int32_t *places,
                       size_t n_fields, pml_error *err)
{
    *c = (pml_csv_line){.mode = o->mode, .rules = rules, .places = places, .n_fields = n_fields};
    c->null_literal = (pml_bytes){(const uint8_t *)o->null_literal, strlen(o->null_literal)};
    pml_buf__init(&c->buffer, arena->env, INT32_MAX);
    PML_RETURN_IF(first_byte(&c->separator, o->field_delimiter, "csv.field-delimiter", err));
    PML_RETURN_IF(first_byte(&c->quote, o->quote, "csv.quote-character", err));
    PML_RETURN_IF(first_byte(&c->escape, o->escape, "csv.escape-character", err));
    if (c->separator == c->quote || c->separator == c->escape || c->quote == c->escape)
        return pml_error__set(err, PML_E_INVAL,
                              "two of the options csv.field-delimiter, csv.quote-character and csv.escape-character are the same");
    for (size_t i = 0; i < n_fields; i++)
        if ((size_t)places[i] >= c->n_columns)
            c->n_columns = (size_t)places[i] + 1;
    c->pieces = pml_arena__array(arena, c->n_columns, sizeof *c->pieces);
    c->values = pml_arena__array(arena, n_fields, sizeof *c->values);
    c->order = pml_arena__array(arena, n_fields, sizeof *c->order);
    if (c->pieces == NULL || c->values == NULL || c->order == NULL)
        return pml_error__no_memory(err);
    order_fields(c);
    return PML_OK;
}

void pml_csv_line__clear(pml_csv_line *c)
{
    if (c->buffer.env != NULL)
        pml_buf__clear(&c->buffer);
}

static bool is_blank(const uint8_t *p, size_t len)
{
    size_t n;
    for (size_t i = 0; i < len; i += n)
        if (!pml_text__is_blank(p + i, &n))
            return false;
    return true;
}

/* A quote that neither opens nor closes a field, as in a,bc"d"ef,g, is a part of the text; not so among the first three characters of
   the line, nor beside a separator. Blanks before it are dropped instead. The length of the buffer behind it. *filled: from there on the
   buffer is known not to be blank, and does not become so. */
static size_t stray_quote(const pml_csv_line *c, size_t from, size_t n, size_t *filled)
{
    if (n != from && *filled != from && is_blank(c->buffer.data + from, n - from))
        return from;
    *filled = from;
    c->buffer.data[n] = (uint8_t)c->quote;
    return n + 1;
}

/* Cuts the line into pieces, up to the last wanted column; the buffer has room for the line. A field whose quotes do not end is none. */
static void cut(pml_csv_line *c, const uint8_t *p, size_t len)
{
    size_t column = 0, from = 0, units = 0, n = 0, filled = SIZE_MAX; /* units: characters of Java before p[i] */
    bool in_quotes = false, in_field = false;
    uint8_t *to = c->buffer.data;
    memset(c->pieces, 0, c->n_columns * sizeof *c->pieces);
    for (size_t i = 0; i < len && column < c->n_columns; i++) {
        char byte = (char)p[i];
        size_t width = (p[i] & 0xC0) == 0x80 ? 0 : p[i] >= 0xF0 ? 2 : 1;
        if (byte != c->separator && byte != c->quote && byte != c->escape) {
            to[n++] = p[i];
            in_field = true;
            units += width;
            continue;
        }
        int next = i + 1 < len ? p[i + 1] : NO_BYTE;
        if (byte == c->escape) {
            if ((in_quotes || in_field) && (next == c->quote || next == c->escape)) {
                to[n++] = p[++i];
                width++;
            }
        } else if (byte == c->quote) {
            if ((in_quotes || in_field) && next == c->quote) {
                to[n++] = p[++i];
                width++;
            } else {
                if (units > 2 && p[i - 1] != (uint8_t)c->separator && next != NO_BYTE && next != c->separator)
                    n = stray_quote(c, from, n, &filled);
                in_quotes = !in_quotes;
            }
            in_field = !in_field;
        } else if (in_quotes) {
            to[n++] = p[i];
            in_field = true;
        } else {
            c->pieces[column++] = (pml_csv_piece){from, n - from, true};
            from = n;
            in_field = false;
        }
        units += width;
    }
    if (column < c->n_columns && !in_quotes)
        c->pieces[column] = (pml_csv_piece){from, n - from, true};
}

static int parse_piece(pml_value *out, const pml_csv_line *c, size_t field, pml_arena *arena, pml_error *err)
{
    const pml_csv_piece *piece = &c->pieces[c->places[field]];
    const pml_bytes text = {piece->len == 0 ? (const uint8_t *)"" : c->buffer.data + piece->at, piece->len};
    *out = (pml_value){.kind = PML_VALUE_NULL};
    if (!piece->present || pml_bytes_equal(text, c->null_literal))
        return PML_OK;
    return pml_text_value__parse(out, &c->rules[field], text, arena, err);
}

int pml_csv_line__parse(pml_csv_line *c, bool *keep, size_t *wrong, pml_bytes line, pml_arena *arena, pml_error *err)
{
    *keep = true;
    memset(c->values, 0, c->n_fields * sizeof *c->values);
    if (c->n_fields == 0 || is_blank(line.ptr, line.len))
        return PML_OK;
    pml_buf__reset(&c->buffer);
    if (pml_buf__reserve(&c->buffer, line.len) == NULL)
        return pml_buf__check(&c->buffer, err);
    cut(c, line.ptr, line.len);
    for (size_t k = 0; k < c->n_fields; k++) {
        size_t i = c->order[k];
        int rc = parse_piece(&c->values[i], c, i, arena, err);
        if (rc == PML_OK)
            continue;
        c->values[i] = (pml_value){.kind = PML_VALUE_NULL};
        *wrong = i;
        if (rc != PML_E_INVAL || c->mode == PML_CSV_FAIL_FAST)
            return rc;
        *keep = c->mode == PML_CSV_PERMISSIVE;
        break;
    }
    return PML_OK;
}
