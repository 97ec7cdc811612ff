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

char *where_canonical(const char *type, const char *text, size_t len)
{
    enum { ROOM = 64 };
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
    } else if (starts(type, "BOOLEAN")) {
        for (char *p = out; *p != '\0'; p++)
            if (*p >= 'A' && *p <= 'Z')
                *p = (char)(*p + ('a' - 'A'));
    }
    return out;
}

static int predicate_leaf(pml_predicate **out, const pml_table *table, const struct ArrowSchema *schema,
                          const where_node *node, pml_error *err)
{
    const char *type = "";
    char **texts = app_alloc(node->n_literals * sizeof *texts);
    pml_literal *literals = app_alloc(node->n_literals * sizeof *literals);
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, node->column) == 0)
            type = arrow_type_text(schema->children[i]);
    for (size_t i = 0; i < node->n_literals; i++) {
        const pml_literal *l = &node->literals[i];
        texts[i] = l->text == NULL ? NULL : where_canonical(type, l->text, l->len);
        literals[i].text = texts[i];
        /* Only strings keep a NUL, and where_canonical leaves those as they are. */
        literals[i].len = texts[i] == NULL ? 0 : memchr(l->text, '\0', l->len) != NULL ? l->len : strlen(texts[i]);
    }
    int rc = pml_predicate_leaf(out, table, node->column, node->op, literals, node->n_literals, err);
    for (size_t i = 0; i < node->n_literals; i++)
        free(texts[i]);
    free(texts);
    free(literals);
    return rc;
}

static int predicate_tree(pml_predicate **out, const pml_table *table, const struct ArrowSchema *schema,
                          const where_node *node, pml_error *err)
{
    int rc = PML_OK;
    size_t n = 0;
    *out = NULL;
    if (node->kind == WHERE_LEAF)
        return predicate_leaf(out, table, schema, node, err);
    pml_predicate **children = app_alloc(node->n_children * sizeof *children);
    while (rc == PML_OK && n < node->n_children) {
        rc = predicate_tree(&children[n], table, schema, node->children[n], err);
        n += rc == PML_OK;
    }
    if (rc == PML_OK && node->kind == WHERE_AND)
        rc = pml_predicate_and(out, pml_table_env(table), children, n, err);
    else if (rc == PML_OK)
        rc = pml_predicate_or(out, pml_table_env(table), children, n, err);
    else
        while (n > 0)
            pml_predicate_free(children[--n]);
    free(children);
    return rc;
}

int where_predicate(pml_predicate **out, const pml_table *table, const where_node *node, pml_error *err)
{
    struct ArrowSchema schema;
    *out = NULL;
    int rc = pml_table_arrow_schema(&schema, table, err);
    if (rc != PML_OK)
        return rc;
    rc = predicate_tree(out, table, &schema, node, err);
    schema.release(&schema);
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
