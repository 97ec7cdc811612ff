/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, for people and between the demo's processes. */
#ifndef DEMO_ARGUMENTS_H
#define DEMO_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct arguments {
    const char *csv, *warehouse;
    const char *only; /* name of a part; NULL: all */
    int64_t rate, commit_every_ms;
    int64_t upsert_rate, upsert_commit_every_ms;
    int64_t batch_rows;
    int64_t live, verify; /* what this process is: the live process of that number, the verifier; -1, 0: the parent */
    bool help;
} arguments;

/* False: it is wrong. */
bool arguments_parse(arguments *a, int n, char **words);
void arguments_help(void);
int arguments_usage(void);

enum { ARGUMENTS_WORDS = 32, ARGUMENTS_DIGITS = 24 };
/* The words for another process of this program. They need a as long as they are used. */
typedef struct arguments_words {
    const char *words[ARGUMENTS_WORDS];
    char digits[ARGUMENTS_WORDS][ARGUMENTS_DIGITS];
} arguments_words;
void arguments_print(arguments_words *out, const arguments *a, const char *program);

#endif
