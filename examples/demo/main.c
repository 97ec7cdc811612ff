/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo: flights stream into a table and are queried before any commit has them; half way the process is killed, recovers
 * and loses nothing. Then the same flights by their primary key, as partial updates.
 *
 *   main, arguments                this program, and which of its processes this one is
 *   part, view*, summary           the parent: runs a part, shows it, sums it up
 *   live, live_commit, status      the live process, and what it tells its parent
 *   append*, source                part "flights": rows out of the file; queries and a probe beside them
 *   upsert, report_*, timetable    part "upserts": the reports on each flight, and lookups
 *   flight, flight_file            what is known of a flight; the file in memory
 *   replay                         what a source that starts again leaves out
 *   verify, expected               the third process: does the table hold what it must?
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "append.h"
#include "part.h"
#include "summary.h"
#include "upsert.h"
#include "verify.h"

static const part parts[] = {
    {.name = "flights",
     .heading = "Rows, queried before they are committed\n"
                "The live process streams flights into a table and queries them while they come in.",
     .what = "rows of the file",
     .job = &job_append,
     .form = &view_form_append,
     .expect = expected_flights,
     .summary = summary_append},
    {.name = "upserts",
     .heading =
         "Every flight by its key, as a life of upserts\n"
         "Reports come in, in any order: scheduled, estimated, departed, arrived. Each sets its own columns. Of the\n"
         "departure, and of the arrival, the newest report counts, not the last to come in (partial updates with\n"
         "sequence groups).",
     .what = "reports",
     .job = &job_upsert,
     .form = &view_form_upsert,
     .expect = expected_flight_status,
     .summary = summary_upsert},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static const part *find_part(const char *name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (name != NULL && strcmp(parts[i].name, name) == 0)
            return &parts[i];
    return NULL;
}

static int live_main(const part *p, const arguments *a)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing outlives a parent that is interrupted */
    status *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, PART_STATUS_FD, 0);
    if (s == MAP_FAILED || a->live >= STATUS_LIVES)
        return arguments_usage(); /* not started by the demo */
    bool upserts = p->job == &job_upsert;
    const live_options options = {.warehouse = a->warehouse,
                                  .csv = a->csv,
                                  .rate = upserts ? a->upsert_rate : a->rate,
                                  .batch_rows = a->batch_rows,
                                  .commit_every_ms = upserts ? a->upsert_commit_every_ms : a->commit_every_ms};
    return live_run(p->job, &options, &s->lives[a->live]);
}

/* ---- the parent ---- */

/* All of them: the file is read in the columns of flights, whatever is shown. */
static int create_tables(const arguments *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env = NULL;
    int rc = pml_env_new(&env, NULL, &err);
    for (size_t i = 0; rc == PML_OK && i < PARTS; i++)
        rc = table_create(parts[i].job->table, env, a->warehouse, &err);
    pml_env_release(env);
    if (rc != PML_OK)
        (void)fprintf(stderr, "demo: making the tables: %s (%s)\n", err.message, pml_error_name(rc));
    return rc;
}

static int parent_main(const arguments *a, const char *program)
{
    int64_t rows = expected_file_rows(a->csv);
    if (rows < 0 || create_tables(a) != PML_OK)
        return EXIT_FAILURE;
    int fd = memfd_create("demo-status", MFD_CLOEXEC);
    status *s = fd < 0 || ftruncate(fd, sizeof *s) != 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) {
        (void)fprintf(stderr, "demo: memory for the status: %m\n");
        return EXIT_FAILURE;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < PARTS; i++) {
        if (a->only != NULL && find_part(a->only) != &parts[i])
            continue;
        memset(s, 0, sizeof *s); /* no process is left that looks at it */
        for (int k = 0; k < STATUS_LIVES; k++)
            atomic_store(&s->lives[k].total, rows);
        ok = part_run(&parts[i], a, program, s, fd);
    }
    (void)printf(ok ? "PASS\n" : "FAIL\n");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int n, char **words)
{
    arguments a;
    if (!arguments_parse(&a, n, words))
        return arguments_usage();
    if (a.help) {
        arguments_help();
        return EXIT_SUCCESS;
    }
    const part *p = find_part(a.only);
    if (p == NULL && (a.only != NULL || a.live >= 0 || a.verify > 0))
        return arguments_usage();
    if (a.live >= 0)
        return live_main(p, &a);
    return a.verify > 0 ? verify_run(p->job->table, p->expect, a.warehouse, a.csv) : parent_main(&a, words[0]);
}
