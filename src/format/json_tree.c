/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json_tree.h"

#include <string.h>
#include <xxhash.h>

#include "util/error.h"

typedef struct parser {
    const uint8_t *p, *begin, *end;
    pml_arena *arena;
    pml_error *err;
    int depth;
    size_t n_values;
} parser;

static int wrong(const parser *j, const char *what)
{
    return pml_error__set(j->err, PML_E_INVAL, "%s at byte %zu", what, (size_t)(j->p - j->begin) + 1);
}

static void skip_blanks(parser *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
        j->p++;
}

static bool at(const parser *j, uint8_t c)
{
    return j->p < j->end && *j->p == c;
}

static bool at_digit(const parser *j)
{
    return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* ---- texts ---- */

static bool hex4(uint32_t *out, parser *j)
{
    *out = 0;
    if (j->end - j->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        uint8_t c = *j->p++;
        int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (v < 0)
            return false;
        *out = *out << 4 | (uint32_t)v;
    }
    return true;
}

static uint8_t *put_code(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Behind \u; writes at most as many bytes as were read. */
static bool take_unicode(uint8_t **to, parser *j)
{
    uint32_t c, low;
    if (!hex4(&c, j))
        return false;
    if (c >= 0xD800 && c < 0xDC00 && j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u') {
        const uint8_t *back = j->p;
        j->p += 2;
        if (!hex4(&low, j))
            return false;
        if (low >= 0xDC00 && low < 0xE000)
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        else
            j->p = back;
    }
    *to = put_code(*to, c >= 0xD800 && c < 0xE000 ? '?' : c);
    return true;
}

/* j->p is behind the opening quote. */
static int take_string(pml_bytes *out, parser *j)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const uint8_t *from = j->p;
    while (j->p < j->end && *j->p != '"' && *j->p != '\\' && *j->p >= 0x20)
        j->p++;
    if (at(j, '"')) {
        *out = (pml_bytes){from, (size_t)(j->p++ - from)};
        return PML_OK;
    }
    const uint8_t *close = j->p; /* with escapes: room for everything up to the quote that ends it */
    while (close < j->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= j->end)
        return wrong(j, "a text does not end");
    uint8_t *to = pml_arena__alloc(j->arena, (size_t)(close - from) + 1), *begin = to;
    if (to == NULL)
        return pml_error__no_memory(j->err);
    memcpy(to, from, (size_t)(j->p - from));
    to += j->p - from;
    while (!at(j, '"')) {
        if (j->p == j->end || *j->p < 0x20)
            return wrong(j, "a text with a control character, or one that does not end,");
        if (*j->p != '\\') {
            *to++ = *j->p++;
            continue;
        }
        const char *letter = ++j->p < j->end && *j->p != '\0' ? strchr(letters, *j->p) : NULL;
        if (letter != NULL) {
            *to++ = (uint8_t)meant[letter - letters];
            j->p++;
        } else if (!at(j, 'u') || (j->p++, !take_unicode(&to, j))) {
            return wrong(j, "an escape that JSON does not know");
        }
    }
    j->p++;
    *out = (pml_bytes){begin, (size_t)(to - begin)};
    return PML_OK;
}

/* ---- numbers and words ---- */

static int take_number(pml_json_node *node, parser *j)
{
    const uint8_t *from = j->p;
    node->kind = PML_JSON_INTEGER;
    j->p += at(j, '-');
    if (!at_digit(j))
        return wrong(j, "no number");
    bool zero = *j->p++ == '0';
    if (zero && at_digit(j))
        return wrong(j, "a number that begins with 0");
    while (at_digit(j))
        j->p++;
    if (at(j, '.')) {
        node->kind = PML_JSON_REAL;
        j->p++;
        if (!at_digit(j))
            return wrong(j, "no number");
        while (at_digit(j))
            j->p++;
    }
    if (at(j, 'e') || at(j, 'E')) {
        node->kind = PML_JSON_REAL;
        j->p++;
        j->p += at(j, '+') || at(j, '-');
        if (!at_digit(j))
            return wrong(j, "no number");
        while (at_digit(j))
            j->p++;
    }
    node->text = (pml_bytes){from, (size_t)(j->p - from)};
    return PML_OK;
}

static bool is_word_part(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c >= 0x80;
}

static int take_word(pml_json_node *node, parser *j)
{
    static const struct {
        const char *word;
        pml_json_kind kind;
    } words[] = {{"null", PML_JSON_NULL}, {"true", PML_JSON_TRUE}, {"false", PML_JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(j->end - j->p) < n || memcmp(j->p, words[i].word, n) != 0 || (j->p + n < j->end && is_word_part(j->p[n])))
            continue;
        node->kind = words[i].kind;
        node->text = (pml_bytes){j->p, n};
        j->p += n;
        return PML_OK;
    }
    return wrong(j, "no JSON value");
}

/* ---- arrays and objects ---- */

static uint32_t hash_of(pml_bytes name, const pml_env *env)
{
    return (uint32_t)XXH3_64bits_withSeed(name.ptr, name.len, env->hash_seed);
}

static bool is_named(const pml_json_node *node, uint32_t hash, pml_bytes name)
{
    return node->hash == hash && pml_bytes_equal(node->name, name);
}

/* The slot of the member of a name, or the empty one where it would go. */
static size_t slot_of(const pml_json_node *object, uint32_t hash, pml_bytes name)
{
    size_t slot = hash & (object->table_cap - 1);
    while (object->table[slot] != NULL && !is_named(object->table[slot], hash, name))
        slot = (slot + 1) & (object->table_cap - 1);
    return slot;
}

pml_json_node *pml_json_tree__member(const pml_json_node *object, const pml_json_node *last, pml_bytes name, const pml_env *env)
{
    uint32_t hash = hash_of(name, env);
    pml_json_node *m = last == NULL || last->next == NULL ? object->first : last->next;
    if (object->table != NULL && !is_named(m, hash, name))
        return object->table[slot_of(object, hash, name)];
    for (size_t i = 0; i < object->n; i++) {
        if (is_named(m, hash, name))
            return m;
        m = m->next == NULL ? object->first : m->next;
    }
    return NULL;
}

/* The value of a member takes the place of an earlier one with its name. */
static void replace(pml_json_node *old, pml_json_node *fresh)
{
    pml_json_node *next = old->next;
    *old = *fresh;
    old->next = next;
}

enum { FEW = 32 }; /* members among which looking is quicker than a table */

static int make_table(pml_json_node *object, parser *j)
{
    object->table_cap = 2 * FEW;
    while (object->table_cap < 2 * object->n)
        object->table_cap *= 2;
    object->table = pml_arena__array(j->arena, object->table_cap, sizeof *object->table);
    return object->table == NULL ? pml_error__no_memory(j->err) : PML_OK;
}

/* Takes repeated names out of an object. */
static int unite(pml_json_node *object, parser *j)
{
    pml_json_node **link = &object->first;
    if (object->n > FEW)
        PML_RETURN_IF(make_table(object, j));
    for (pml_json_node *m = object->first; m != NULL; m = m->next) {
        pml_json_node *old = object->first;
        size_t slot = object->table == NULL ? 0 : slot_of(object, m->hash, m->name);
        if (object->table != NULL)
            old = object->table[slot];
        else
            while (old != m && !is_named(old, m->hash, m->name))
                old = old->next;
        if (old == NULL || old == m) {
            if (object->table != NULL)
                object->table[slot] = m;
            link = &m->next;
            continue;
        }
        *link = m->next;
        object->n--;
        replace(old, m);
    }
    return PML_OK;
}

static int take_value(pml_json_node **out, parser *j);

static int take_children(pml_json_node *node, parser *j, bool object)
{
    uint8_t close = object ? '}' : ']';
    pml_json_node **link = &node->first;
    node->kind = object ? PML_JSON_OBJECT : PML_JSON_ARRAY;
    j->p++;
    skip_blanks(j);
    if (at(j, close)) {
        j->p++;
        return PML_OK;
    }
    for (;;) {
        pml_bytes name = {NULL, 0};
        skip_blanks(j);
        if (object) {
            if (!at(j, '"'))
                return wrong(j, "no name of a member");
            j->p++;
            PML_RETURN_IF(take_string(&name, j));
            skip_blanks(j);
            if (!at(j, ':'))
                return wrong(j, "no colon");
            j->p++;
        }
        PML_RETURN_IF(take_value(link, j));
        (*link)->name = name;
        (*link)->hash = object ? hash_of(name, j->arena->env) : 0;
        link = &(*link)->next;
        node->n++;
        skip_blanks(j);
        if (at(j, close))
            break;
        if (!at(j, ','))
            return wrong(j, "neither a comma nor an end");
        j->p++;
    }
    j->p++;
    return object ? unite(node, j) : PML_OK;
}

static int take_value(pml_json_node **out, parser *j)
{
    int rc;
    if (j->n_values++ == PML_JSON_LINE_VALUES_MAX)
        return pml_error__set(j->err, PML_E_LIMIT, "it has more than %d values", PML_JSON_LINE_VALUES_MAX);
    pml_json_node *node = pml_arena__array(j->arena, 1, sizeof *node);
    if (node == NULL)
        return pml_error__no_memory(j->err);
    *out = node;
    skip_blanks(j);
    if (j->p == j->end)
        return wrong(j, "the end where a value should be");
    if (*j->p == '"') {
        node->kind = PML_JSON_STRING;
        j->p++;
        return take_string(&node->text, j);
    }
    if (*j->p == '{' || *j->p == '[') {
        if (j->depth == PML_JSON_DEPTH_MAX)
            return pml_error__set(j->err, PML_E_LIMIT, "JSON values nest deeper than %d", PML_JSON_DEPTH_MAX);
        j->depth++;
        rc = take_children(node, j, *j->p == '{');
        j->depth--;
        return rc;
    }
    return *j->p == '-' || at_digit(j) ? take_number(node, j) : take_word(node, j);
}

int pml_json_tree__parse(pml_json_node **out, pml_bytes text, pml_arena *arena, pml_error *err)
{
    parser j = {text.ptr, text.ptr, text.ptr + text.len, arena, err, 0, 0};
    *out = NULL;
    skip_blanks(&j);
    return j.p == j.end ? PML_OK : take_value(out, &j);
}
