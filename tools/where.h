/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small SQL of --where. Parsing knows no table: text -> tree; then the tree becomes a predicate of a table.
 *
 *   condition  = term { OR term } ;  term = factor { AND factor }
 *   factor     = NOT factor | ( condition ) | TRUE | FALSE | test
 *   test       = column compare literal | literal compare column | column IS [NOT] NULL
 *              | column [NOT] IN ( literal {, literal} ) | column [NOT] BETWEEN literal AND literal | column [NOT] LIKE 'pattern'
 *   compare    = = <> != < <= > >= ;  column = name, `name` or "name"
 *   literal    = number, 'text', TRUE, FALSE, NULL, DATE 'text', TIMESTAMP 'text'
 *
 * The tree has no NOT: it is moved to the leaves while parsing (De Morgan). As in SQL, a comparison with null is never true,
 * negated or not: NOT (a = 1) is a <> 1 and leaves out rows where a is null.
 */
#ifndef PML_TOOLS_WHERE_H
#define PML_TOOLS_WHERE_H

#include <paimonlive/scan.h>
#include <stdbool.h>

typedef enum where_kind { WHERE_AND = 1, WHERE_OR, WHERE_LEAF } where_kind;

typedef struct where_node {
    where_kind kind; /* AND of nothing is true, OR of nothing is false */
    size_t n_children;
    struct where_node **children;
    /* leaves */
    pml_predicate_op op;
    char *column;
    size_t n_literals;
    pml_literal *literals; /* text is owned */
    size_t *positions;     /* of the literals in the text of --where */
} where_node;

typedef struct where_error {
    size_t position; /* byte in the text */
    char message[256];
} where_error;

/* NULL and *e filled on a mistake. Free with where_free. */
where_node *where_parse(const char *text, where_error *e);
void where_free(where_node *node);
/* The predicate of the table, or of its system table of that name (NULL: none). Literals are brought to the canonical form of their column first ('2024-01-02 03:04:05' for a
   timestamp). e is filled, too, when a literal is wrong; else its message is empty. Returns owned. */
int where_predicate(pml_predicate **out, pml_table *table, const char *system, const where_node *node, where_error *e, pml_error *err);
/* Text of a literal in the canonical form of a column type ("TIMESTAMP(6) NOT NULL"); malloc'ed. */
char *where_canonical(const char *type, const char *text, size_t len);
/* Prints the mistake with the text and a caret below the place. */
void where_report(const char *text, const where_error *e);

/* ---- for the parser's own files ---- */
where_node *where_new(where_kind kind);
void where_add_child(where_node *parent, where_node *child);
where_node *where_new_leaf(const char *column, pml_predicate_op op);
void where_add_literal(where_node *leaf, const char *text, size_t len, size_t position); /* text NULL: null */

#endif
