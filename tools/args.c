/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

int args_wrong(const command *c, const char *format, ...)
{
    va_list list;
    (void)fprintf(stderr, "pml %s: ", c->name);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fprintf(stderr, "\nTry: pml %s --help\n", c->name);
    return EXIT_USAGE;
}

/* Levenshtein distance of two short words, by rows. */
static size_t word_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], n = strlen(b);
    if (n > WORD_MAX || strlen(a) > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t insert = row[j] + 1, drop = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < insert ? change : insert;
            if (drop < row[j])
                row[j] = drop;
        }
    }
    return row[n];
}

const char *args_nearest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 2 + 1; /* farther than half a word is no typing mistake */
    for (size_t i = 0; i < n; i++) {
        size_t d = word_distance(word, names[i]);
        if (strncmp(names[i], word, strlen(word)) == 0 && strlen(word) > 1)
            d = 0;
        if (d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}

static const args_option *option_find(const command *c, const char *name, size_t len)
{
    for (const args_option *o = c->options; o->name != NULL; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static int option_unknown(const command *c, const char *word, size_t len)
{
    const char *names[WORD_MAX], *near;
    char text[WORD_MAX + 1];
    size_t n = 0;
    for (const args_option *o = c->options; o->name != NULL && n < WORD_MAX; o++)
        names[n++] = o->name;
    (void)snprintf(text, sizeof text, "%.*s", len > WORD_MAX ? WORD_MAX : (int)len, word);
    near = args_nearest(text, names, n);
    if (near != NULL)
        return args_wrong(c, "unknown option --%s: did you mean --%s?", text, near);
    return args_wrong(c, "unknown option --%s", text);
}

static int parse_option(args *out, const command *c, int *at, int n_words, char **words)
{
    const char *word = words[*at] + 2, *equals = strchr(word, '=');
    size_t len = equals == NULL ? strlen(word) : (size_t)(equals - word);
    if (strcmp(word, "help") == 0) {
        out->help = true;
        return EXIT_OK;
    }
    const args_option *o = option_find(c, word, len);
    if (o == NULL)
        return option_unknown(c, word, len);
    if (out->n_given == ARGS_GIVEN_MAX)
        return args_wrong(c, "more than %d options", ARGS_GIVEN_MAX);
    const char *value = equals == NULL ? NULL : equals + 1;
    if (o->value == NULL && value != NULL)
        return args_wrong(c, "--%s takes no value", o->name);
    if (o->value != NULL && value == NULL) {
        if (*at + 1 >= n_words)
            return args_wrong(c, "--%s needs a value: --%s %s", o->name, o->name, o->value);
        value = words[++*at];
    }
    out->given[out->n_given].option = o;
    out->given[out->n_given].value = value;
    out->n_given++;
    return EXIT_OK;
}

int args_parse(args *out, const command *c, int n_words, char **words)
{
    bool options_ended = false;
    memset(out, 0, sizeof *out);
    out->command = c;
    for (int i = 0; i < n_words; i++) {
        const char *w = words[i];
        if (!options_ended && strcmp(w, "--") == 0) {
            options_ended = true;
        } else if (!options_ended && w[0] == '-' && w[1] == '-') {
            int rc = parse_option(out, c, &i, n_words, words);
            if (rc != EXIT_OK)
                return rc;
        } else if (!options_ended && strcmp(w, "-h") == 0) {
            out->help = true;
        } else if (!options_ended && w[0] == '-' && w[1] != '\0') {
            return args_wrong(c, "unknown option %s: options have two dashes", w);
        } else if (out->n_operands == c->operands_max) {
            return args_wrong(c, "one operand too many: %s", w);
        } else {
            out->operand[out->n_operands++] = w;
        }
    }
    if (!out->help && out->n_operands < c->operands_min)
        return args_wrong(c, "an operand is missing: pml %s %s", c->name, c->operands);
    return EXIT_OK;
}

void args_print_help(const command *c)
{
    bool has_options = c->options->name != NULL;
    (void)printf("%s\n\nUsage: pml %s%s%s%s\n", c->summary, c->name, c->operands[0] == '\0' ? "" : " ", c->operands,
                 has_options ? " [OPTION]..." : "");
    if (c->details != NULL)
        (void)printf("\n%s", c->details);
    (void)printf("\nOptions:\n");
    for (const args_option *o = c->options; o->name != NULL; o++) {
        char left[WORD_MAX];
        (void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->value == NULL ? "" : " ",
                       o->value == NULL ? "" : o->value);
        (void)printf("  %-24s %s\n", left, o->help);
    }
    (void)printf("  %-24s %s\n\nExamples:\n%s", "--help", "this text", c->examples);
}

const char *args_nth(const args *a, const char *name, size_t i)
{
    for (size_t k = 0; k < a->n_given; k++)
        if (strcmp(a->given[k].option->name, name) == 0 && i-- == 0)
            return a->given[k].value;
    return NULL;
}

const char *args_value(const args *a, const char *name)
{
    const char *value = NULL;
    for (size_t k = 0; k < a->n_given; k++)
        if (strcmp(a->given[k].option->name, name) == 0)
            value = a->given[k].value;
    return value;
}

bool args_has(const args *a, const char *name)
{
    for (size_t k = 0; k < a->n_given; k++)
        if (strcmp(a->given[k].option->name, name) == 0)
            return true;
    return false;
}

int args_int64(int64_t *out, const args *a, const char *name, int64_t low, int64_t high)
{
    const char *text = args_value(a, name);
    if (text == NULL)
        return EXIT_OK;
    bool minus = text[0] == '-', good = text[minus] != '\0';
    int64_t v = 0;
    for (const char *p = text + minus; good && *p != '\0'; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(v, 10, &v) && !__builtin_sub_overflow(v, *p - '0', &v);
    /* Built up negative, because there is one more of those. */
    if (good && !minus)
        good = !__builtin_sub_overflow(0, v, &v);
    if (!good || v < low || v > high) {
        bool digits = text[minus] != '\0' && strspn(text + minus, "0123456789") == strlen(text + minus);
        bool too_high = digits && !minus && (!good || v > high);
        if (high == INT64_MAX && low != INT64_MIN && !too_high)
            return args_wrong(a->command, "--%s must be a whole number, at least %lld, not \"%s\"", name,
                              (long long)low, text);
        return args_wrong(a->command, "--%s must be a whole number from %lld to %lld, not \"%s\"", name, (long long)low,
                          (long long)high, text);
    }
    *out = v;
    return EXIT_OK;
}
