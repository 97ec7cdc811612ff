/* SPDX-License-Identifier: Apache-2.0 */
/* What every subcommand shares: the environment, errors to exit codes, opening TABLE, writing to standard output. */
#ifndef PML_TOOLS_APP_H
#define PML_TOOLS_APP_H

#include <paimonlive/paimonlive.h>

#include "args.h"

struct app {
    pml_env *env;
};

/* Options that most commands repeat. */
#define OPTION_WAREHOUSE                                                                            \
    {                                                                                               \
        "warehouse", "DIR", "directory of named tables (default: $PML_WAREHOUSE, else ./warehouse)" \
    }
#define OPTION_FORMAT                                                          \
    {                                                                          \
        "format", "FORMAT", "table (default), json (one object a line) or csv" \
    }

#define OPTION_YES                 \
    {                              \
        "yes", NULL, "do not ask" \
    }

/* Prints the error and gives the exit code for it: rc is what the library returned. */
int app_fail(int rc, const pml_error *err);
/* Prints "pml: ..." and returns code. */
int app_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Asks on a terminal whether what the format says is to be removed; --yes answers. EXIT_OK: yes. Elsewhere --yes is needed. */
int app_confirm(const args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* malloc that ends the program when there is no memory: the command holds no state worth saving. */
void *app_alloc(size_t n);
void *app_realloc(void *p, size_t n);
char *app_strndup(const char *s, size_t n);

/* ---- TABLE ---- */
/* The directory that TABLE means: itself when it holds a '/' or is a directory with schema/ in it, else the named table of
   the warehouse. malloc'ed; EXIT_OK or an exit code. */
int app_table_path(char **path, struct app *app, const args *a, const char *table);
bool app_is_table(const char *path); /* a directory with schema/ in it */
const char *app_warehouse(const args *a);
/* Opens TABLE, with --option k=v as dynamic options where the command has them, and --branch. */
int app_table_open(pml_table **out, struct app *app, const args *a, const char *table);
/* Splits "k=v"; false when there is no '='. Writes a NUL into text. */
bool app_split_pair(char *text, pml_option_pair *pair);

/* A list "a,b,c"; blanks around names are ignored. malloc'ed: app_list_free. */
size_t app_split_list(char ***names, const char *text);
void app_list_free(char **names, size_t n);

/* ---- standard output ---- */
/* Ends the program quietly when the reader of a pipe went away, with EXIT_ERROR on any other failure. */
void app_write(const void *p, size_t n);
void app_puts(const char *s);
void app_flush(void);

#endif
