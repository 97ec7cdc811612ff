/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to types (Java: DataTypeJsonParser, which takes atomic types, VECTOR<..> and the suffix forms; we add the angle
 * bracket forms of ARRAY, MULTISET, MAP and ROW, as printed by asSQLString).
 *
 *   type    = base [NOT NULL | NULL] { (ARRAY | MULTISET) [NOT NULL | NULL] }
 *   base    = atom | ARRAY<type> | MULTISET<type> | MAP<type, type> | VECTOR<type, n> | ROW<members> | ROW(members)
 *   member  = name type [COMMENT 'text' | 'text'] [DEFAULT token]
 *
 * Recursive descent; both the recursion and the height of the tree end at PML_TYPE_DEPTH_MAX, so that everybody else may
 * recurse over a type without counting.
 */
#include <string.h>
#include <strings.h>

#include "columnar/data_type.h"
#include "util/number.h"

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NAME, TOKEN_STRING, TOKEN_SIGN };

typedef struct token {
    enum token_kind kind;
    size_t at, len; /* the raw text, quotes included */
} token;

typedef struct parser {
    pml_arena *arena;
    const char *text;
    size_t len;
    token tok; /* the one not yet taken */
    int32_t *next_id;
    pml_error *err;
} parser;

static int parser_fail(parser *p, int code, const char *what)
{
    return pml_error__set(p->err, code, "type text '%.*s': %s at position %zu", (int)(p->len > 120 ? 120 : p->len),
                          p->text, what, p->tok.at);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_sign(char c)
{
    return c != '\0' && strchr("<>(),.", c) != NULL;
}

static int token_next(parser *p)
{
    size_t i = p->tok.at + p->tok.len;
    while (i < p->len && is_blank(p->text[i]))
        i++;
    size_t from = i;
    p->tok = (token){TOKEN_END, from, 0};
    if (i == p->len)
        return PML_OK;
    char c = p->text[i];
    if (is_sign(c)) {
        p->tok = (token){TOKEN_SIGN, from, 1};
        return PML_OK;
    }
    if (c != '`' && c != '\'') {
        while (i < p->len && !is_blank(p->text[i]) && !is_sign(p->text[i]) && p->text[i] != '`' && p->text[i] != '\'')
            i++;
        p->tok = (token){TOKEN_WORD, from, i - from};
        return PML_OK;
    }
    for (i++; i < p->len; i++) {
        if (p->text[i] != c)
            continue;
        if (i + 1 < p->len && p->text[i + 1] == c) {
            i++;
            continue;
        }
        p->tok = (token){c == '`' ? TOKEN_NAME : TOKEN_STRING, from, i + 1 - from};
        return PML_OK;
    }
    return parser_fail(p, PML_E_INVAL, "a quote is not closed");
}

static bool at_word(const parser *p, const char *word)
{
    return p->tok.kind == TOKEN_WORD && p->tok.len == strlen(word) &&
           strncasecmp(p->text + p->tok.at, word, p->tok.len) == 0;
}

static bool at_sign(const parser *p, char sign)
{
    return p->tok.kind == TOKEN_SIGN && p->text[p->tok.at] == sign;
}

static int take_sign(parser *p, char sign)
{
    char what[] = "expected '?'";
    what[10] = sign;
    return at_sign(p, sign) ? token_next(p) : parser_fail(p, PML_E_INVAL, what);
}

static int take_word(parser *p, const char *word)
{
    if (at_word(p, word))
        return token_next(p);
    return parser_fail(p, PML_E_INVAL, "expected a keyword (NULL, TIME, ZONE, LOCAL ...)");
}

static int take_int(parser *p, int32_t *out)
{
    int64_t v;
    if (p->tok.kind != TOKEN_WORD || !pml_number__int64(&v, p->text + p->tok.at, p->tok.len) || v < 0 || v > INT32_MAX)
        return parser_fail(p, PML_E_INVAL, "expected a whole number from 0 to 2147483647");
    *out = (int32_t)v;
    return token_next(p);
}

/* The text of a name or of a quoted thing, doubled quotes made single. */
static int take_text(parser *p, const char **out)
{
    const char *from = p->text + p->tok.at;
    size_t n = p->tok.len, w = 0;
    char quote = p->tok.kind == TOKEN_NAME ? '`' : p->tok.kind == TOKEN_STRING ? '\'' : '\0';
    char *copy = pml_arena__strndup(p->arena, from, n);
    if (copy == NULL)
        return pml_error__no_memory(p->err);
    if (quote != '\0') {
        for (size_t i = 1; i + 1 < n; i++) {
            copy[w++] = from[i];
            if (from[i] == quote)
                i++;
        }
        copy[w] = '\0';
    }
    *out = copy;
    return token_next(p);
}

static int take_nullability(parser *p, pml_type *t)
{
    t->nullable = true;
    if (at_word(p, "NULL"))
        return token_next(p);
    if (!at_word(p, "NOT"))
        return PML_OK;
    t->nullable = false;
    PML_RETURN_IF(token_next(p));
    return take_word(p, "NULL");
}

/* One optional number in parentheses. */
static int take_precision(parser *p, int32_t *out, int32_t fallback)
{
    *out = fallback;
    if (!at_sign(p, '('))
        return PML_OK;
    PML_RETURN_IF(token_next(p));
    PML_RETURN_IF(take_int(p, out));
    return take_sign(p, ')');
}

static int parse_decimal(parser *p, pml_type *t)
{
    t->precision = 10;
    if (!at_sign(p, '('))
        return PML_OK;
    PML_RETURN_IF(token_next(p));
    PML_RETURN_IF(take_int(p, &t->precision));
    if (at_sign(p, ',')) {
        PML_RETURN_IF(token_next(p));
        PML_RETURN_IF(take_int(p, &t->scale));
    }
    return take_sign(p, ')');
}

/* TIME and TIMESTAMP: [(p)] [WITHOUT TIME ZONE | WITH LOCAL TIME ZONE]. */
static int parse_time(parser *p, pml_type *t)
{
    PML_RETURN_IF(take_precision(p, &t->precision, t->kind == PML_TYPE_TIME ? 0 : 6));
    if (at_word(p, "WITH") && t->kind == PML_TYPE_TIMESTAMP) {
        t->kind = PML_TYPE_TIMESTAMP_LTZ;
        PML_RETURN_IF(token_next(p));
        PML_RETURN_IF(take_word(p, "LOCAL"));
    } else if (at_word(p, "WITHOUT")) {
        PML_RETURN_IF(token_next(p));
    } else {
        return PML_OK;
    }
    PML_RETURN_IF(take_word(p, "TIME"));
    return take_word(p, "ZONE");
}

static int parse_type(parser *p, pml_type *t, int depth, int *height);

static int new_children(parser *p, pml_type *t, size_t n)
{
    static const char *const map_names[] = {"key", "value"};
    t->children = pml_arena__array(p->arena, n, sizeof *t->children);
    if (t->children == NULL)
        return pml_error__no_memory(p->err);
    t->n_children = n;
    for (size_t i = 0; i < n; i++) {
        t->children[i].id = -1;
        t->children[i].name = n == 2 ? map_names[i] : "element";
    }
    return PML_OK;
}

static int parse_container(parser *p, pml_type *t, int depth, int *height)
{
    PML_RETURN_IF(new_children(p, t, t->kind == PML_TYPE_MAP ? 2 : 1));
    PML_RETURN_IF(take_sign(p, '<'));
    for (size_t i = 0; i < t->n_children; i++) {
        int below = 0;
        if (i > 0)
            PML_RETURN_IF(take_sign(p, ','));
        PML_RETURN_IF(parse_type(p, &t->children[i].type, depth + 1, &below));
        *height = below + 1 > *height ? below + 1 : *height;
    }
    if (t->kind == PML_TYPE_VECTOR) {
        PML_RETURN_IF(take_sign(p, ','));
        PML_RETURN_IF(take_int(p, &t->length));
    }
    return take_sign(p, '>');
}

static int parse_member(parser *p, pml_field *f, int depth, int *height)
{
    int below = 0;
    if (p->tok.kind != TOKEN_WORD && p->tok.kind != TOKEN_NAME)
        return parser_fail(p, PML_E_INVAL, "expected the name of a row member");
    *f = (pml_field){.id = -1};
    if (p->next_id != NULL)
        f->id = (*p->next_id)++;
    PML_RETURN_IF(take_text(p, &f->name));
    PML_RETURN_IF(parse_type(p, &f->type, depth + 1, &below));
    *height = below + 1 > *height ? below + 1 : *height;
    if (at_word(p, "COMMENT")) {
        PML_RETURN_IF(token_next(p));
        if (p->tok.kind != TOKEN_STRING)
            return parser_fail(p, PML_E_INVAL, "expected a quoted comment");
    }
    if (p->tok.kind == TOKEN_STRING)
        PML_RETURN_IF(take_text(p, &f->description));
    if (!at_word(p, "DEFAULT"))
        return PML_OK;
    PML_RETURN_IF(token_next(p));
    if (p->tok.kind != TOKEN_WORD && p->tok.kind != TOKEN_STRING)
        return parser_fail(p, PML_E_INVAL, "expected a default value of one word or a quoted text");
    f->default_value =
        pml_arena__strndup(p->arena, p->text + p->tok.at, p->tok.len); /* a literal: its quotes belong to it */
    return f->default_value == NULL ? pml_error__no_memory(p->err) : token_next(p);
}

static int grow_members(parser *p, pml_type *t, size_t *cap)
{
    if (t->n_children < *cap)
        return PML_OK;
    if (t->n_children >= PML_TYPE_COLUMNS_MAX)
        return parser_fail(p, PML_E_LIMIT, "a row of more than 16384 columns");
    size_t more = *cap == 0 ? 4 : *cap * 2;
    pml_field *members = pml_arena__array(p->arena, more, sizeof *members);
    if (members == NULL)
        return pml_error__no_memory(p->err);
    if (t->n_children > 0)
        memcpy(members, t->children, t->n_children * sizeof *members);
    t->children = members;
    *cap = more;
    return PML_OK;
}

static int parse_row(parser *p, pml_type *t, int depth, int *height)
{
    char close = at_sign(p, '(') ? ')' : '>';
    size_t cap = 0;
    PML_RETURN_IF(take_sign(p, close == ')' ? '(' : '<'));
    while (!at_sign(p, close)) {
        if (t->n_children > 0)
            PML_RETURN_IF(take_sign(p, ','));
        PML_RETURN_IF(grow_members(p, t, &cap));
        PML_RETURN_IF(parse_member(p, &t->children[t->n_children], depth, height));
        t->n_children++;
    }
    return take_sign(p, close);
}

static const struct type_word {
    const char *word;
    pml_type_kind kind;
    int32_t length; /* 0: none, 1: "(n)" may follow and 1 is its default, else fixed */
} type_words[] = {{"BOOLEAN", PML_TYPE_BOOLEAN, 0},
                  {"TINYINT", PML_TYPE_TINYINT, 0},
                  {"SMALLINT", PML_TYPE_SMALLINT, 0},
                  {"INT", PML_TYPE_INT, 0},
                  {"INTEGER", PML_TYPE_INT, 0},
                  {"BIGINT", PML_TYPE_BIGINT, 0},
                  {"FLOAT", PML_TYPE_FLOAT, 0},
                  {"DOUBLE", PML_TYPE_DOUBLE, 0},
                  {"CHAR", PML_TYPE_CHAR, 1},
                  {"VARCHAR", PML_TYPE_VARCHAR, 1},
                  {"STRING", PML_TYPE_VARCHAR, INT32_MAX},
                  {"BINARY", PML_TYPE_BINARY, 1},
                  {"VARBINARY", PML_TYPE_VARBINARY, 1},
                  {"BYTES", PML_TYPE_VARBINARY, INT32_MAX},
                  {"DECIMAL", PML_TYPE_DECIMAL, 0},
                  {"NUMERIC", PML_TYPE_DECIMAL, 0},
                  {"DEC", PML_TYPE_DECIMAL, 0},
                  {"DATE", PML_TYPE_DATE, 0},
                  {"TIME", PML_TYPE_TIME, 0},
                  {"TIMESTAMP", PML_TYPE_TIMESTAMP, 0},
                  {"TIMESTAMP_LTZ", PML_TYPE_TIMESTAMP_LTZ, 0},
                  {"ARRAY", PML_TYPE_ARRAY, 0},
                  {"MULTISET", PML_TYPE_MULTISET, 0},
                  {"MAP", PML_TYPE_MAP, 0},
                  {"ROW", PML_TYPE_ROW, 0},
                  {"VECTOR", PML_TYPE_VECTOR, 0},
                  {"VARIANT", PML_TYPE_VARIANT, 0},
                  {"BLOB", PML_TYPE_BLOB, 0}};

static const struct type_word *find_word(const parser *p)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++)
        if (at_word(p, type_words[i].word))
            return &type_words[i];
    return NULL;
}

static int parse_base(parser *p, pml_type *t, int depth, int *height)
{
    const struct type_word *w = find_word(p);
    if (w == NULL && (at_word(p, "GEOMETRY") || at_word(p, "GEOGRAPHY")))
        return pml_error__set(p->err, PML_E_UNSUPPORTED, "needs type:%s, which this version does not read",
                              at_word(p, "GEOMETRY") ? "geometry" : "geography");
    if (w == NULL)
        return parser_fail(p, PML_E_INVAL, p->tok.kind == TOKEN_END ? "a type is missing" : "not a known type");
    *t = (pml_type){.kind = w->kind, .length = w->length};
    PML_RETURN_IF(token_next(p));
    switch (t->kind) {
    case PML_TYPE_DOUBLE: return at_word(p, "PRECISION") ? token_next(p) : PML_OK;
    case PML_TYPE_CHAR:
    case PML_TYPE_VARCHAR:
    case PML_TYPE_BINARY:
    case PML_TYPE_VARBINARY: return w->length == 1 ? take_precision(p, &t->length, 1) : PML_OK;
    case PML_TYPE_DECIMAL: return parse_decimal(p, t);
    case PML_TYPE_TIME:
    case PML_TYPE_TIMESTAMP: return parse_time(p, t);
    case PML_TYPE_TIMESTAMP_LTZ: return take_precision(p, &t->precision, 6);
    case PML_TYPE_ARRAY:
    case PML_TYPE_MULTISET:
    case PML_TYPE_MAP:
    case PML_TYPE_VECTOR: return parse_container(p, t, depth, height);
    case PML_TYPE_ROW: return parse_row(p, t, depth, height);
    case PML_TYPE_BOOLEAN:
    case PML_TYPE_TINYINT:
    case PML_TYPE_SMALLINT:
    case PML_TYPE_INT:
    case PML_TYPE_BIGINT:
    case PML_TYPE_FLOAT:
    case PML_TYPE_DATE:
    case PML_TYPE_VARIANT:
    case PML_TYPE_BLOB: return PML_OK;
    }
    return PML_OK;
}

static int check_type(parser *p, const pml_type *t, int depth, int height)
{
    if (depth + height > PML_TYPE_DEPTH_MAX)
        return parser_fail(p, PML_E_LIMIT, "types are nested deeper than 32");
    int rc = pml_type__validate(t, p->arena->env, p->err);
    return rc == PML_OK
               ? PML_OK
               : pml_error__prefix(p->err, rc, "type text '%.*s'", (int)(p->len > 120 ? 120 : p->len), p->text);
}

/* depth: containers around this type; *height: containers on the longest way down, this type not counted. */
static int parse_type(parser *p, pml_type *t, int depth, int *height)
{
    if (depth > PML_TYPE_DEPTH_MAX)
        return parser_fail(p, PML_E_LIMIT, "types are nested deeper than 32");
    PML_RETURN_IF(parse_base(p, t, depth, height));
    PML_RETURN_IF(take_nullability(p, t));
    PML_RETURN_IF(check_type(p, t, depth, *height));
    while (at_word(p, "ARRAY") || at_word(p, "MULTISET")) {
        pml_type around = {.kind = at_word(p, "ARRAY") ? PML_TYPE_ARRAY : PML_TYPE_MULTISET};
        PML_RETURN_IF(new_children(p, &around, 1));
        around.children[0].type = *t;
        *t = around;
        *height += 1;
        PML_RETURN_IF(token_next(p));
        PML_RETURN_IF(take_nullability(p, t));
        PML_RETURN_IF(check_type(p, t, depth, *height));
    }
    return PML_OK;
}

int pml_type__parse(pml_type *out, pml_arena *arena, const char *text, size_t len, int32_t *next_id, pml_error *err)
{
    parser p = {.arena = arena, .text = text, .len = len, .next_id = next_id, .err = err};
    pml_type t = {0};
    int height = 0;
    *out = (pml_type){0};
    if (len > 0 && memchr(text, '\0', len) != NULL) /* names and defaults become C strings */
        return pml_error__set(err, PML_E_INVAL, "a type text has a NUL character");
    PML_RETURN_IF(token_next(&p));
    PML_RETURN_IF(parse_type(&p, &t, 0, &height));
    if (p.tok.kind != TOKEN_END)
        return parser_fail(&p, PML_E_INVAL, "something follows the type");
    *out = t;
    return PML_OK;
}
