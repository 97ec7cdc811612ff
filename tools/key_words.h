/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys in words: {"dt":"2024-01-01","id":7} (values in the canonical row form; further members are not looked at, so that whole rows are
 * keys, too), or dt=2024-01-01,id=7. A comma ends a value only where a column of the key and '=' follow.
 */
#ifndef PML_TOOLS_KEY_WORDS_H
#define PML_TOOLS_KEY_WORDS_H

#include "app.h"

typedef struct key_words {
    struct ArrowSchema schema; /* of keys; owned */
    size_t n, cap;             /* values: key after key */
    pml_literal *values;       /* texts are owned */
    int64_t *lines;            /* of standard input, of each key; 0: it is a word of the command line */
    size_t lines_cap;
    int64_t line;              /* of the keys to come */
} key_words;

/* The columns of the lookup's keys. PML_OK, or the library's error. Free with key_words_free in either case. */
int key_words_init(key_words *k, pml_lookup *lookup, pml_error *err);
/* One key more. EXIT_OK, EXIT_USAGE or, of standard input, EXIT_ERROR, said already. */
int key_words_add(key_words *k, const char *word, size_t len);
/* How many keys there are, and the text of one as JSON (malloc'ed) for messages. */
size_t key_words_count(const key_words *k);
char *key_words_text(const key_words *k, size_t key);
void key_words_reset(key_words *k); /* no keys */
void key_words_free(key_words *k);

#endif
