/* SPDX-License-Identifier: Apache-2.0 */
/* What scan, count and dump ask of a table. */
#ifndef PML_TOOLS_SCAN_H
#define PML_TOOLS_SCAN_H

#include "app.h"
#include "moment.h"

struct where_node;

typedef struct scan_request {
    const char *columns; /* "a,b"; NULL: all */
    bool no_columns;     /* row counts only */
    struct where_node *where;
    char *where_text; /* of --where, for messages, owned; NULL: where came from --filter */
    moment moment;
    int64_t limit; /* -1: all */
} scan_request;

/* The predicate of request->where on the table, or on its system table (NULL: none). Returns owned; EXIT_OK, or an exit code, said. */
int scan_where(pml_predicate **out, pml_table *table, const char *system, const scan_request *request);
/* A scan of the table with all of it set. EXIT_OK, or an exit code, said already. */
int scan_new(pml_scan **out, pml_table *table, const scan_request *request);

#endif
