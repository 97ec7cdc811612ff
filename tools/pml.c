/* SPDX-License-Identifier: Apache-2.0 */
/* The command: finds the subcommand and runs it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "commands.h"

static const command *const commands[] = {
    &command_table_create,   &command_table_describe,       &command_table_list, &command_table_drop,
    &command_table_truncate, &command_table_drop_partition, &command_load,       &command_ingest,
    &command_scan,           &command_lookup,               &command_count,      &command_dump,
    &command_changelog,      &command_snapshots,            &command_files,      &command_offsets_repair,
    &command_offsets_clean,  &command_offsets,              &command_realtime_status, &command_schema};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_overview(void)
{
    app_puts(
        "pml makes, reads and writes Apache Paimon tables. It shows what is committed; uncommitted rows are seen in the process\n"
        "that writes them, by programs that use the library.\n\n"
        "Usage: pml COMMAND [OPERAND]... [OPTION]...\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char line[160];
        (void)snprintf(line, sizeof line, "  %-20s %s\n", commands[i]->name, commands[i]->summary);
        app_puts(line);
    }
    app_puts(
        "\nEvery command explains itself: pml COMMAND --help. The manual: man pml. Version: pml --version.\n\n"
        "Examples:\n"
        "  pml table create flights --columns \"id BIGINT NOT NULL, origin STRING, delay INT\"\n"
        "  pml ingest flights flights.csv && pml scan flights --where \"delay > 60\" --limit 5\n"
        "  pml table create users --columns \"id BIGINT NOT NULL, name STRING\" --primary-key id\n"
        "  pml ingest users users.jsonl && pml lookup users id=7\n\n"
        "TABLE is a directory (with a '/') or a name in the warehouse: --warehouse, $PML_WAREHOUSE or ./warehouse.\n"
        "Data goes to standard output, everything else to standard error.\n\n"
        "Exit codes: 0 done; 1 error (input/output, damaged data, a wrong row); 2 wrong command line; 3 the table "
        "needs a\n"
        "feature that this version lacks; 4 not found; 5 conflict, or the outcome of a commit is not known.\n");
    app_flush();
}

static int command_unknown(const char *word)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    const char *near = args_nearest(word, names, COMMAND_COUNT);
    if (near != NULL)
        return app_say(EXIT_USAGE, "unknown command \"%s\": did you mean pml %s?", word, near);
    return app_say(EXIT_USAGE, "unknown command \"%s\": pml --help lists them", word);
}

/* The command that the words begin with, and how many words its name takes. */
static const command *command_find(int n, char **words, int *taken)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = commands[i]->name, *blank = strchr(name, ' ');
        size_t first = blank == NULL ? strlen(name) : (size_t)(blank - name);
        if (strlen(words[0]) != first || memcmp(words[0], name, first) != 0)
            continue;
        *taken = blank == NULL ? 1 : 2;
        if (blank == NULL || (n > 1 && strcmp(words[1], blank + 1) == 0))
            return commands[i];
    }
    return NULL;
}

static int run(const command *c, int n, char **words)
{
    pml_error err = PML_ERROR_INIT;
    args a;
    struct app app = {0};
    int code = args_parse(&a, c, n, words);
    if (code != EXIT_OK)
        return code;
    if (a.help) {
        args_print_help(c);
        app_flush();
        return EXIT_OK;
    }
    int rc = pml_env_new(&app.env, NULL, &err);
    if (rc != PML_OK)
        return app_fail(rc, &err);
    code = c->run(&app, &a);
    pml_env_release(app.env);
    app_flush();
    return code;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    int taken = 0, n = argc - 1;
    char **words = argv + 1;
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen as EPIPE where we write */
    if (n == 0) {
        (void)fputs("pml: a command is missing: pml --help lists them\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(words[0], "--version") == 0) {
        app_puts("pml ");
        app_puts(pml_version());
        app_puts("\n");
        app_flush();
        return EXIT_OK;
    }
    if (is_help(words[0]) && n == 1) {
        print_overview();
        return EXIT_OK;
    }
    bool help = is_help(words[0]);
    const command *c = command_find(n - help, words + help, &taken);
    if (c != NULL && help) {
        args_print_help(c);
        app_flush();
        return EXIT_OK;
    }
    if (c != NULL)
        return run(c, n - taken, words + taken);
    if (strcmp(words[help], "table") == 0)
        return app_say(n > 1 && is_help(words[1]) ? EXIT_OK : EXIT_USAGE,
                       "table has the commands create, describe, list, drop, truncate and drop-partition: pml table create --help");
    if (strcmp(words[help], "realtime") == 0)
        return app_say(n > 1 && is_help(words[1]) ? EXIT_OK : EXIT_USAGE, "realtime has the command status: pml realtime status --help");
    return command_unknown(words[help]);
}
