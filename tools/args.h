/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of one subcommand. A table says which options there are; it drives the parser and --help alike, so the two
 * cannot differ. Forms: --name value, --name=value, --flag, and -- before operands that begin with a dash.
 */
#ifndef PML_TOOLS_ARGS_H
#define PML_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the command answers the shell with; --help and the man page list them. */
enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3, EXIT_NOT_FOUND = 4, EXIT_CONFLICT = 5 };

enum { ARGS_OPERANDS_MAX = 32, ARGS_GIVEN_MAX = 256 };

typedef struct args_option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* what the help calls the value; NULL: a flag */
    const char *help;
} args_option;

struct app;
struct args;

typedef struct command {
    const char *name;     /* "scan", "table create" */
    const char *operands; /* as in the synopsis */
    size_t operands_min, operands_max;
    const char *summary;  /* one line */
    const char *details;  /* NULL or lines for --help */
    const char *examples; /* two lines or more */
    const args_option *options;
    int (*run)(struct app *app, const struct args *args);
} command;

typedef struct args {
    const command *command;
    const char *operand[ARGS_OPERANDS_MAX];
    size_t n_operands;
    struct {
        const args_option *option;
        const char *value;
    } given[ARGS_GIVEN_MAX];
    size_t n_given;
    bool help;
} args;

/* Prints to stderr and returns EXIT_USAGE on a mistake, EXIT_OK otherwise. words are borrowed. */
int args_parse(args *out, const command *command, int n_words, char **words);
void args_print_help(const command *command);

/* The last value given, NULL when none. */
const char *args_value(const args *a, const char *name);
bool args_has(const args *a, const char *name);
/* Value number i of a repeatable option, NULL past the last. */
const char *args_nth(const args *a, const char *name, size_t i);
/* A whole number between low and high; *out keeps its value when the option is absent. EXIT_OK or EXIT_USAGE. */
int args_int64(int64_t *out, const args *a, const char *name, int64_t low, int64_t high);
/* Says "pml <command>: ..." and where the help is; returns EXIT_USAGE. */
int args_wrong(const command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of n names the one most like `word`, NULL when none is near. */
const char *args_nearest(const char *word, const char *const *names, size_t n);

#endif
