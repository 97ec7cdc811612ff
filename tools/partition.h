/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions in words: KEY=VALUE, or KEY=VALUE/KEY2=VALUE2 as in directory names, where %2F and its like are the bytes they name. */
#ifndef PML_TOOLS_PARTITION_H
#define PML_TOOLS_PARTITION_H

#include "app.h"

typedef struct partition_keys {
    size_t n;
    char **names;
} partition_keys;

/* The partition keys of a table. EXIT_OK or an exit code, said already. Free with partition_keys_free in either case. */
int partition_keys_get(partition_keys *out, const pml_table *table);
void partition_keys_free(partition_keys *k);

/* "p=a%2Fb/q=c"; "" without keys. malloc'ed. */
char *partition_path(const partition_keys *k, const char *const *values);
/* {"p":"a/b","q":"c"}; malloc'ed. */
char *partition_json(const partition_keys *k, const char *const *values);
/* %2F and its like become bytes, in place. False for %00: no value has that byte. */
bool partition_unescape(char *text);

typedef struct partition_words {
    size_t n;
    char **texts; /* the pairs point into them */
    pml_option_pair *pairs;
} partition_words;

/* EXIT_OK, or EXIT_USAGE, said already. Free with partition_words_free in either case. */
int partition_words_get(partition_words *out, const command *c, size_t n, const char *const *words);
void partition_words_free(partition_words *p);

#endif
