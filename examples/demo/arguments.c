/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct option {
    const char *name;
    size_t at;
    bool text;
} option;

static const option options[] = {
    {"--csv", offsetof(arguments, csv), true},
    {"--warehouse", offsetof(arguments, warehouse), true},
    {"--only", offsetof(arguments, only), true},
    {"--rate", offsetof(arguments, rate), false},
    {"--commit-every", offsetof(arguments, commit_every_ms), false},
    {"--upsert-rate", offsetof(arguments, upsert_rate), false},
    {"--upsert-commit-every", offsetof(arguments, upsert_commit_every_ms), false},
    {"--batch-rows", offsetof(arguments, batch_rows), false},
    {"--live", offsetof(arguments, live), false},     /* between processes */
    {"--verify", offsetof(arguments, verify), false}, /* likewise */
};
enum { OPTIONS = sizeof options / sizeof options[0] };

void arguments_help(void)
{
    (void)printf("Usage: pml-demo --csv FILE --warehouse DIR [OPTION]...\n"
                 "\n"
                 "Two parts, each with a live process that is killed half way, starts again and loses nothing:\n"
                 "  flights   rows stream into a table and are queried before they are committed; in the end each is "
                 "there once\n"
                 "  upserts   the life of every flight by its primary key, as reports (scheduled, estimated, departed, "
                 "arrived)\n"
                 "            that come in any order: partial updates with sequence groups; a lookup by key shows each "
                 "at once,\n"
                 "            and in the end every flight is what a model of the demo's own says\n"
                 "\n"
                 "  --only PART               flights or upserts\n"
                 "  --rate N                  flights a second, 0: as fast as it goes (14000)\n"
                 "  --commit-every MS         (3000)\n"
                 "  --upsert-rate N           reports a second, 0: as fast as it goes (100000)\n"
                 "  --upsert-commit-every MS  (1000)\n"
                 "  --batch-rows N            rows of a write call at most (1000)\n");
}

int arguments_usage(void)
{
    (void)fprintf(stderr, "demo: a wrong command line; --help says what there is\n");
    return 2;
}

static bool parse_number(int64_t *out, const char *text)
{
    *out = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || *out > 1000000000)
            return false;
        *out = *out * 10 + (*p - '0');
    }
    return *text != '\0';
}

static bool parse_option(arguments *a, const char *name, const char *value)
{
    size_t k = 0;
    while (k < OPTIONS && strcmp(options[k].name, name) != 0)
        k++;
    if (k == OPTIONS || value == NULL)
        return false;
    char *member = (char *)a + options[k].at;
    int64_t number = 0;
    if (options[k].text)
        memcpy(member, &value, sizeof value);
    else if (!parse_number(&number, value))
        return false;
    else
        memcpy(member, &number, sizeof number);
    return true;
}

bool arguments_parse(arguments *a, int n, char **words)
{
    *a = (arguments){.rate = 14000,
                     .commit_every_ms = 3000,
                     .upsert_rate = 100000,
                     .upsert_commit_every_ms = 1000,
                     .batch_rows = 1000,
                     .live = -1};
    for (int i = 1; i < n; i += 2) {
        if (strcmp(words[i], "--help") == 0) {
            a->help = true;
            return true;
        }
        if (!parse_option(a, words[i], i + 1 < n ? words[i + 1] : NULL))
            return false;
    }
    return a->csv != NULL && a->warehouse != NULL && a->batch_rows > 0 && a->commit_every_ms > 0 &&
           a->upsert_commit_every_ms > 0;
}

void arguments_print(arguments_words *out, const arguments *a, const char *program)
{
    size_t n = 0;
    out->words[n++] = program;
    for (size_t k = 0; k < OPTIONS; k++) {
        const char *member = (const char *)a + options[k].at, *text = NULL;
        int64_t number = 0;
        if (options[k].text) {
            memcpy(&text, member, sizeof text);
        } else {
            memcpy(&number, member, sizeof number);
            (void)snprintf(out->digits[k], sizeof out->digits[k], "%" PRId64, number);
            text = number < 0 ? NULL : out->digits[k];
        }
        if (text == NULL)
            continue;
        out->words[n++] = options[k].name;
        out->words[n++] = text;
    }
    out->words[n] = NULL;
}
