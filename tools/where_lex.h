/* SPDX-License-Identifier: Apache-2.0 */
/* Words and signs of the --where text. */
#ifndef PML_TOOLS_WHERE_LEX_H
#define PML_TOOLS_WHERE_LEX_H

#include "where.h"

typedef enum where_token {
    TOKEN_END = 0,
    TOKEN_NAME,   /* text: the name, or the keyword as written when `bare` */
    TOKEN_STRING, /* text: without quotes and doubled quotes */
    TOKEN_NUMBER, /* text: in the form that columns read (no '+', a digit before the point) */
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_BAD /* the error is filled */
} where_token;

typedef struct where_lexer {
    const char *text;
    size_t at;    /* behind the current token */
    size_t begin; /* of the current token */
    where_token token;
    bool bare;   /* a name without quotes: may be a keyword */
    char *value; /* owned by the lexer until the next token */
    size_t value_len;
    where_error *error;
} where_lexer;

void where_lexer_init(where_lexer *x, const char *text, where_error *error);
void where_lexer_clear(where_lexer *x);
void where_lexer_next(where_lexer *x);
bool where_lexer_is_keyword(const where_lexer *x, const char *keyword);
/* Fills the error at the current token unless there is one. Returns false. */
bool where_lexer_fail(where_lexer *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
