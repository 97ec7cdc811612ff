/* SPDX-License-Identifier: Apache-2.0 */
#include "where_lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app.h"

void where_lexer_init(where_lexer *x, const char *text, where_error *error)
{
    memset(x, 0, sizeof *x);
    memset(error, 0, sizeof *error);
    x->text = text;
    x->error = error;
}

void where_lexer_clear(where_lexer *x)
{
    free(x->value);
    x->value = NULL;
}

bool where_lexer_fail(where_lexer *x, const char *format, ...)
{
    va_list list;
    if (x->error->message[0] == '\0') {
        x->error->position = x->begin;
        va_start(list, format);
        (void)vsnprintf(x->error->message, sizeof x->error->message, format, list);
        va_end(list);
    }
    x->token = TOKEN_BAD;
    return false;
}

bool where_lexer_is_keyword(const where_lexer *x, const char *keyword)
{
    return x->token == TOKEN_NAME && x->bare && strcasecmp(x->value, keyword) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static void set_value(where_lexer *x, const char *text, size_t len)
{
    x->value = app_strndup(text, len);
    x->value_len = len;
}

/* From the quote at x->at to its pair; a doubled quote stands for one. */
static void lex_quoted(where_lexer *x, where_token token)
{
    const char *text = x->text;
    char quote = text[x->at++];
    char *value = app_alloc(strlen(text + x->at) + 1);
    size_t n = 0;
    while (text[x->at] != '\0') {
        if (text[x->at] == quote) {
            x->at++;
            if (text[x->at] != quote) {
                value[n] = '\0';
                x->value = value;
                x->value_len = n;
                x->token = token;
                if (token == TOKEN_NAME && n == 0)
                    (void)where_lexer_fail(x, "a column name is empty");
                return;
            }
        }
        value[n++] = text[x->at++];
    }
    free(value);
    (void)where_lexer_fail(x, "the quote %c is not closed", quote);
}

static void lex_number(where_lexer *x)
{
    const char *text = x->text;
    char sign = text[x->at];
    if (sign == '+' || sign == '-')
        x->at++;
    size_t begin = x->at, digits = 0;
    for (; is_digit(text[x->at]); x->at++)
        digits++;
    if (text[x->at] == '.')
        for (x->at++; is_digit(text[x->at]); x->at++)
            digits++;
    if (digits > 0 && (text[x->at] == 'e' || text[x->at] == 'E')) {
        x->at++;
        if (text[x->at] == '+' || text[x->at] == '-')
            x->at++;
        digits = 0;
        for (; is_digit(text[x->at]); x->at++)
            digits++;
    }
    if (digits == 0 || is_name_start(text[x->at])) {
        (void)where_lexer_fail(x, "not a number");
        return;
    }
    size_t len = x->at - begin, n = 0;
    x->value = app_alloc(len + 3);
    if (sign == '-')
        x->value[n++] = '-';
    if (text[begin] == '.')
        x->value[n++] = '0';
    if (len > 1 && text[x->at - 1] == '.')
        len--;
    memcpy(x->value + n, text + begin, len);
    x->value_len = n + len;
    x->value[x->value_len] = '\0';
    x->token = TOKEN_NUMBER;
}

static bool lex_sign(where_lexer *x)
{
    static const struct {
        const char *text;
        where_token token;
    } signs[] = {/* longer ones first */
                 {"<>", TOKEN_NE},  {"!=", TOKEN_NE},   {"<=", TOKEN_LE},  {">=", TOKEN_GE},
                 {"==", TOKEN_EQ},  {"=", TOKEN_EQ},    {"<", TOKEN_LT},   {">", TOKEN_GT},
                 {"(", TOKEN_OPEN}, {")", TOKEN_CLOSE}, {",", TOKEN_COMMA}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i].text);
        if (strncmp(x->text + x->at, signs[i].text, n) == 0) {
            x->token = signs[i].token;
            x->at += n;
            return true;
        }
    }
    return false;
}

void where_lexer_next(where_lexer *x)
{
    const char *text = x->text;
    where_lexer_clear(x);
    if (x->error->message[0] != '\0') {
        x->token = TOKEN_BAD;
        return;
    }
    x->at += strspn(text + x->at, " \t\r\n");
    x->begin = x->at;
    x->bare = false;
    char c = text[x->at];
    if (c == '\0') {
        x->token = TOKEN_END;
    } else if (c == '\'') {
        lex_quoted(x, TOKEN_STRING);
    } else if (c == '`' || c == '"') {
        lex_quoted(x, TOKEN_NAME);
    } else if (is_digit(c) ||
               ((c == '-' || c == '+' || c == '.') && (is_digit(text[x->at + 1]) || text[x->at + 1] == '.'))) {
        lex_number(x);
    } else if (is_name_start(c)) {
        while (is_name_start(text[x->at]) || is_digit(text[x->at]) || text[x->at] == '$')
            x->at++;
        set_value(x, text + x->begin, x->at - x->begin);
        x->bare = true;
        x->token = TOKEN_NAME;
    } else if (!lex_sign(x)) {
        (void)where_lexer_fail(x, "this sign has no meaning here");
    }
}
