/* SPDX-License-Identifier: Apache-2.0 */
/* KEY=VALUE words that name partitions. */
#ifndef PML_TOOLS_OVERWRITE_H
#define PML_TOOLS_OVERWRITE_H

#include "app.h"

typedef struct partition_words {
    size_t n;
    char **texts; /* the pairs point into them */
    pml_option_pair *pairs;
} partition_words;

/* EXIT_OK, or EXIT_USAGE, said already. Free with partition_words_free in either case. */
int partition_words_get(partition_words *out, const command *c, size_t n, const char *const *words);
void partition_words_free(partition_words *p);

#endif
