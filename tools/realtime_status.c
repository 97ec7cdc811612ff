/* SPDX-License-Identifier: Apache-2.0 */
/* pml realtime status: how the processes are that write a table live, once or every second. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "commands.h"
#include "status_file.h"

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

static void print(const pml_rt_status *all, size_t n, int32_t format)
{
    size_t length = 0;
    (void)pml_rt_status_print(NULL, 0, &length, all, n, format, NULL);
    char *text = app_alloc(length + 1);
    if (pml_rt_status_print(text, length + 1, &length, all, n, format, NULL) == PML_OK)
        app_write(text, length);
    free(text);
    app_flush();
}

/* Says so when there is nothing; how many there were. */
static size_t look(const char *path, int32_t format)
{
    size_t n;
    pml_rt_status *all = status_files_read(&n, path);
    if (n > 0 || format == PML_RT_STATUS_OPENMETRICS)
        print(all, n, format);
    free(all);
    return n;
}

static void watch(const char *path, int32_t format, int64_t seconds)
{
    struct sigaction action = {.sa_handler = stop};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    while (!stopped) {
        const struct timespec pause = {.tv_sec = seconds};
        if (look(path, format) == 0 && format == PML_RT_STATUS_TEXT)
            app_puts("no process writes live\n");
        app_flush();
        if (!stopped)
            (void)nanosleep(&pause, NULL);
    }
}

static int run_status(struct app *app, const args *a)
{
    char *path = NULL;
    int64_t seconds = 1;
    int32_t format = PML_RT_STATUS_TEXT;
    if (args_has(a, "json") && args_has(a, "openmetrics"))
        return args_wrong(a->command, "--json and --openmetrics do not go together");
    if (args_has(a, "interval") && !args_has(a, "watch"))
        return args_wrong(a->command, "--interval goes with --watch");
    if (args_has(a, "json"))
        format = PML_RT_STATUS_JSON;
    if (args_has(a, "openmetrics"))
        format = PML_RT_STATUS_OPENMETRICS;
    int code = args_int64(&seconds, a, "interval", 1, 86400);
    if (code == EXIT_OK && a->n_operands == 1)
        code = app_table_path(&path, app, a, a->operand[0]);
    if (code == EXIT_OK && path != NULL && !app_is_table(path))
        code = app_say(EXIT_NOT_FOUND, "%s is no table", path);
    if (code == EXIT_OK && args_has(a, "watch"))
        watch(path, format, seconds);
    else if (code == EXIT_OK && look(path, format) == 0)
        code = app_say(EXIT_NOT_FOUND, path == NULL ? "no process of this user writes live" : "no process of this user writes %s live", path);
    free(path);
    return code;
}

static const args_option options[] = {{"json", NULL, "an object a line, all numbers and whole histograms"},
                                      {"openmetrics", NULL, "for a scraper (OpenMetrics 1.0); no process: an empty exposition, code 4"},
                                      {"watch", NULL, "again and again until interrupted"},
                                      {"interval", "SECONDS", "with --watch: how often (default: 1)"},
                                      OPTION_WAREHOUSE,
                                      {NULL, NULL, NULL}};

const command command_realtime_status = {
    .name = "realtime status",
    .operands = "[TABLE]",
    .operands_min = 0,
    .operands_max = 1,
    .summary = "Show the processes that write a table live: rows, memory, delays.",
    .details = "Without TABLE: of all tables. Shown are processes of this user on this machine, as they were a second ago:\n"
               "`pml ingest --live`, and programs that write the JSON of pml_rt_status_print to the same folder ($PML_RUNTIME_DIR, else paimonlive\n"
               "in $XDG_RUNTIME_DIR, else paimonlive-UID in the folder for temporary files). Up to which offset a table is: pml offsets.\n"
               "What the numbers mean: docs/realtime.md, \"Metrics\". Exit code 4: nobody writes live.\n",
    .examples = "  pml realtime status flights\n"
                "  pml realtime status --json | jq .total_memory_bytes\n"
                "  pml realtime status --openmetrics >/var/lib/node_exporter/paimonlive.prom\n",
    .options = options,
    .run = run_status};
