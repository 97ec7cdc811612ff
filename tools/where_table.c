/* SPDX-License-Identifier: Apache-2.0 */
/* The tree and a table: literals in canonical form, predicates, and the report of mistakes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app.h"
#include "arrow_text.h"
#include "where.h"

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The number behind the first `before` in a type text, e.g. 2 behind ',' in DECIMAL(10, 2). */
static size_t type_number(const char *type, char before, size_t absent)
{
    const char *p = strchr(type, before);
    size_t v = 0, digits = 0;
    if (p == NULL)
        return absent;
    for (p++; *p == ' ' || (*p >= '0' && *p <= '9' && digits < 3); p++)
        if (*p != ' ') {
            v = v * 10 + (size_t)(*p - '0');
            digits++;
        }
    return digits == 0 || v > 38 ? absent : v; /* no precision or scale is larger */
}

/* Appends zeros to, or takes them off, the fraction at the end of text until it has `places` digits. Digits other than zero
   stay: the library then says that the value does not fit. text has room for places + 2 more bytes. */
static void set_places(char *text, size_t places)
{
    size_t len = strlen(text);
    char *point = strchr(text, '.');
    size_t have = point == NULL ? 0 : strlen(point + 1);
    while (have > places && text[len - 1] == '0') {
        text[--len] = '\0';
        have--;
    }
    if (point != NULL && have == 0)
        text[--len] = '\0';
    if (have == 0 && places > 0)
        text[len++] = '.';
    for (; have < places; have++)
        text[len++] = '0';
    text[len] = '\0';
}

static void canonical_timestamp(char *text, const char *type)
{
    size_t len = strlen(text);
    bool utc = strstr(type, "LOCAL") != NULL || starts(type, "TIMESTAMP_LTZ");
    if (len > 0 && text[len - 1] == 'Z')
        text[--len] = '\0';
    if (len > 10 && text[10] == ' ')
        text[10] = 'T';
    if (len == 10)
        memcpy(text + len, "T00:00:00", sizeof "T00:00:00");
    else if (len == 16)
        memcpy(text + len, ":00", sizeof ":00");
    set_places(text, type_number(type, '(', 6));
    if (utc)
        memcpy(text + strlen(text), "Z", 2);
}

static const struct {
    const char *name;
    const char *range;
} integers[] = {{"TINYINT", "-128..127"},
                {"SMALLINT", "-32768..32767"},
                {"INT", "-2147483648..2147483647"},
                {"BIGINT", "-9223372036854775808..9223372036854775807"}};

/* The name of an integer type without what is behind it, and its range; NULL for other types. */
static const char *integer_name(const char *type, const char **range)
{
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        size_t n = strlen(integers[i].name);
        if (strncmp(type, integers[i].name, n) == 0 && (type[n] == '\0' || type[n] == ' ')) {
            *range = integers[i].range;
            return integers[i].name;
        }
    }
    return NULL;
}

/* 1.0 and 1e3 become 1 and 1000; what is no whole number stays as it is. text has room for INTEGER_DIGITS more. */
enum { INTEGER_DIGITS = 40 /* more than any integer column holds */ };

static void canonical_integer(char *text)
{
    char digits[2 * INTEGER_DIGITS];
    size_t n = 0, whole = 0;
    long exponent = 0;
    const char *p = text + (text[0] == '-');
    bool point = false, minus = false;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.')
            point = true;
        else if (n == INTEGER_DIGITS)
            return;
        else
            digits[n++] = *p;
        whole = point ? whole : n;
    }
    if (*p == 'e' || *p == 'E') {
        minus = *++p == '-';
        p += *p == '-' || *p == '+';
        if (*p == '\0')
            return;
        for (; *p >= '0' && *p <= '9' && exponent < 1000; p++)
            exponent = exponent * 10 + (*p - '0');
    }
    long want = (long)whole + (minus ? -exponent : exponent); /* digits before the point */
    if (*p != '\0' || n == 0 || (n == whole && exponent == 0) || want > INTEGER_DIGITS)
        return;
    for (; (long)n > want && n > 0; n--)
        if (digits[n - 1] != '0')
            return;
    while ((long)n < want)
        digits[n++] = '0';
    if (n == 0)
        digits[n++] = '0';
    char *to = text + (text[0] == '-');
    size_t zeros = 0;
    while (zeros + 1 < n && digits[zeros] == '0')
        zeros++;
    memcpy(to, digits + zeros, n - zeros);
    to[n - zeros] = '\0';
}

char *where_canonical(const char *type, const char *text, size_t len)
{
    enum { ROOM = 64 };
    const char *range;
    char *out = app_alloc(len + ROOM);
    memcpy(out, text, len);
    out[len] = '\0';
    if (strlen(out) != len)
        return out; /* a NUL inside: only strings can hold it */
    if (starts(type, "TIMESTAMP") && strchr(out, '-') != NULL) {
        canonical_timestamp(out, type);
    } else if (starts(type, "DECIMAL") && strpbrk(out, "eE") == NULL) {
        set_places(out, type_number(type, ',', 0));
    } else if (starts(type, "TIME") && !starts(type, "TIMESTAMP") && strchr(out, ':') != NULL) {
        set_places(out, 3);
    } else if (integer_name(type, &range) != NULL) {
        canonical_integer(out);
    } else if (starts(type, "BOOLEAN")) {
        for (char *p = out; *p != '\0'; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p + ('a' - 'A'));
    }
    return out;
}

typedef struct leaf_literals {
    char **texts;
    pml_literal *v;
    const char *type; /* of the column, "" when there is none */
} leaf_literals;

/* The columns of a table, or of one of its system tables. */
typedef struct where_columns {
    pml_table *table;
    const char *system; /* NULL: the table itself */
    struct ArrowSchema schema;
} where_columns;

static int leaf_new(pml_predicate **out, const where_columns *c, const char *column, pml_predicate_op op, const pml_literal *v, size_t n,
                    pml_error *err)
{
    return c->system == NULL ? pml_predicate_leaf(out, c->table, column, op, v, n, err)
                             : pml_system_predicate_leaf(out, c->table, c->system, column, op, v, n, err);
}

static leaf_literals literals_new(const struct ArrowSchema *schema, const where_node *node)
{
    leaf_literals l = {app_alloc(node->n_literals * sizeof *l.texts), app_alloc(node->n_literals * sizeof *l.v), ""};
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, node->column) == 0)
            l.type = arrow_type_text(schema->children[i]);
    for (size_t i = 0; i < node->n_literals; i++) {
        const pml_literal *from = &node->literals[i];
        l.texts[i] = from->text == NULL ? NULL : where_canonical(l.type, from->text, from->len);
        l.v[i].text = l.texts[i];
        /* Only strings keep a NUL, and where_canonical leaves those as they are. */
        l.v[i].len = l.texts[i] == NULL                            ? 0
                     : memchr(from->text, '\0', from->len) != NULL ? from->len
                                                                   : strlen(l.texts[i]);
    }
    return l;
}

static void literals_free(leaf_literals *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(l->texts[i]);
    free(l->texts);
    free(l->v);
}

/* Says which literal of the leaf is wrong, and why. */
static void literal_wrong(where_error *e, const where_columns *c, const where_node *node, const leaf_literals *l,
                          const pml_error *err)
{
    const char *range, *type = integer_name(l->type, &range);
    size_t i = 0;
    pml_predicate *one = NULL;
    while (i + 1 < node->n_literals &&
           leaf_new(&one, c, node->column, PML_OP_EQ, &l->v[i], 1, NULL) == PML_OK) {
        pml_predicate_free(one);
        i++;
    }
    const char *text = i < node->n_literals ? l->texts[i] : NULL;
    e->position = i < node->n_literals ? node->positions[i] : 0;
    if (type == NULL || text == NULL || text[0] == '\0' || text[strspn(text, "-.0123456789eE")] != '\0')
        (void)snprintf(e->message, sizeof e->message, "column \"%.60s\": %.180s", node->column, err->message);
    else if (text[text[0] == '-' ? 1 + strspn(text + 1, "0123456789") : strspn(text, "0123456789")] == '\0')
        (void)snprintf(e->message, sizeof e->message, "%.40s lies outside of the %s column \"%.60s\", which holds %s",
                       text, type, node->column, range);
    else
        (void)snprintf(e->message, sizeof e->message, "%.40s is no value of the %s column \"%.60s\"", text, type,
                       node->column);
}

static int predicate_leaf(pml_predicate **out, const where_columns *c, const where_node *node, where_error *e, pml_error *err)
{
    leaf_literals l = literals_new(&c->schema, node);
    int rc = leaf_new(out, c, node->column, node->op, l.v, node->n_literals, err);
    if (rc == PML_E_INVAL)
        literal_wrong(e, c, node, &l, err);
    literals_free(&l, node->n_literals);
    return rc;
}

static int predicate_tree(pml_predicate **out, const where_columns *c, const where_node *node, where_error *e, pml_error *err)
{
    int rc = PML_OK;
    size_t n = 0;
    *out = NULL;
    if (node->kind == WHERE_LEAF)
        return predicate_leaf(out, c, node, e, err);
    pml_predicate **children = app_alloc(node->n_children * sizeof *children);
    while (rc == PML_OK && n < node->n_children) {
        rc = predicate_tree(&children[n], c, node->children[n], e, err);
        n += rc == PML_OK;
    }
    if (rc == PML_OK && node->kind == WHERE_AND)
        rc = pml_predicate_and(out, pml_table_env(c->table), children, n, err);
    else if (rc == PML_OK)
        rc = pml_predicate_or(out, pml_table_env(c->table), children, n, err);
    else
        while (n > 0)
            pml_predicate_free(children[--n]);
    free(children);
    return rc;
}

int where_predicate(pml_predicate **out, pml_table *table, const char *system, const where_node *node, where_error *e, pml_error *err)
{
    where_columns c = {.table = table, .system = system};
    *out = NULL;
    e->message[0] = '\0';
    int rc = system == NULL ? pml_table_arrow_schema(&c.schema, table, err) : pml_system_table_schema(&c.schema, table, system, err);
    if (rc != PML_OK)
        return rc;
    rc = predicate_tree(out, &c, node, e, err);
    c.schema.release(&c.schema);
    return rc;
}

void where_report(const char *text, const where_error *e)
{
    /* Line ends and tabs would move the caret away from its place. */
    (void)fprintf(stderr, "pml: --where: %s\n  ", e->message);
    for (const char *p = text; *p != '\0'; p++)
        (void)fputc((unsigned char)*p < 0x20 ? ' ' : *p, stderr);
    (void)fputs("\n  ", stderr);
    for (size_t i = 0; i < e->position; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) /* one blank a character, not a byte */
            (void)fputc(' ', stderr);
    (void)fputs("^\n", stderr);
}
