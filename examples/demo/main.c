/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo: flights stream into a table and are queried before any commit has them; half way the process is killed, recovers
 * and loses nothing. This process is the parent: it starts the live process (itself, --live), shows what it does, kills it,
 * starts it again, and lets a third process (--verify) compare the table with the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "verify.h"
#include "view.h"

enum {
    STATUS_FD = 3,
    STALL_MS = 60 * 1000, /* a live process that writes nothing for so long hangs */
    DRAW_MS = 100
};

typedef struct arguments {
    live_options live;
    const char *verify;  /* not NULL: what to be instead of the parent */
    int64_t live_number; /* -1: the parent */
} arguments;

static const char *self_path; /* argv[0] */

static int usage(const char *wrong)
{
    (void)fprintf(stderr,
                  "demo: %s\nUsage: pml-demo --csv FILE --warehouse DIR [--rate ROWS_A_SECOND] [--batch-rows N] "
                  "[--commit-every MS]\n",
                  wrong);
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

static bool parse_arguments(arguments *a, int n, char **words)
{
    *a = (arguments){.live = {.rate = 14000, .batch_rows = 1000, .commit_every_ms = 3000}, .live_number = -1};
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } known[] = {{"--csv", &a->live.csv, NULL},
                 {"--warehouse", &a->live.warehouse, NULL},
                 {"--verify", &a->verify, NULL},
                 {"--rate", NULL, &a->live.rate},
                 {"--batch-rows", NULL, &a->live.batch_rows},
                 {"--commit-every", NULL, &a->live.commit_every_ms},
                 {"--live", NULL, &a->live_number}};
    for (int i = 1; i < n; i += 2) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && strcmp(known[k].name, words[i]) != 0)
            k++;
        if (k == sizeof known / sizeof known[0] || i + 1 == n)
            return false;
        if (known[k].text != NULL)
            *known[k].text = words[i + 1];
        else if (!parse_number(known[k].number, words[i + 1]))
            return false;
    }
    return a->live.csv != NULL && a->live.warehouse != NULL && a->live.batch_rows > 0 && a->live.commit_every_ms > 0 &&
           a->live_number < STATUS_LIVES;
}

/* ---- the live process and the verifier ---- */

static int live_main(const arguments *a)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing outlives a parent that is interrupted */
    status *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, STATUS_FD, 0);
    if (s == MAP_FAILED)
        return usage("--live is for the demo itself");
    return live_run(&a->live, &s->lives[a->live_number]);
}

/* ---- the parent ---- */

static pid_t start_process(const arguments *a, const char *role, int64_t number, int status_fd)
{
    char text[4][24];
    (void)snprintf(text[0], sizeof text[0], "%" PRId64, a->live.rate);
    (void)snprintf(text[1], sizeof text[1], "%" PRId64, a->live.batch_rows);
    (void)snprintf(text[2], sizeof text[2], "%" PRId64, a->live.commit_every_ms);
    (void)snprintf(text[3], sizeof text[3], "%" PRId64, number);
    const char *const words[] = {self_path, "--csv", a->live.csv,    "--warehouse", a->live.warehouse,
                                 "--rate",  text[0], "--batch-rows", text[1],       "--commit-every",
                                 text[2],   role,    text[3],        NULL};
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (status_fd >= 0 && (status_fd == STATUS_FD ? fcntl(status_fd, F_SETFD, 0) : dup2(status_fd, STATUS_FD)) < 0)
        _exit(127);
    (void)execv("/proc/self/exe", (char *const *)words);
    (void)fprintf(stderr, "demo: %s cannot be started: %m\n", self_path);
    _exit(127);
}

/* Waits; the exit code, or 128 and the signal. */
static int process_end(pid_t pid)
{
    int how = 0;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

typedef enum end { END_DONE, END_KILLED, END_FAILED } end;

/* Shows the life until its process ends, or, when kill_half_way, kills it with half of the rows in and some only in memory. */
static end watch(view *v, const life *l, pid_t pid, bool kill_half_way)
{
    int64_t last_rows = -1, last_change = live_now_ns();
    for (;;) {
        int how = 0;
        if (waitpid(pid, &how, WNOHANG) == pid) {
            view_end(v, l);
            return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? END_DONE : END_FAILED;
        }
        int64_t rows = atomic_load(&l->recovered_rows) + atomic_load(&l->written);
        bool half = rows * 2 >= v->total && atomic_load(&l->commits) > 0 && rows > atomic_load(&l->committed);
        if (rows != last_rows)
            last_change = live_now_ns();
        last_rows = rows;
        bool hangs = live_now_ns() - last_change > STALL_MS * 1000000LL;
        if (hangs || (kill_half_way && half)) {
            (void)kill(pid, SIGKILL);
            (void)process_end(pid);
            view_end(v, l);
            if (hangs)
                (void)fprintf(stderr, "demo: the live process hangs\n");
            return hangs ? END_FAILED : END_KILLED;
        }
        view_draw(v, l);
        live_sleep_ms(DRAW_MS);
    }
}

static void print_freshness(const char *what, latency *l)
{
    char number[VIEW_NUMBER];
    (void)printf("  %-34s p50 %.2f ms, p99 %.2f ms (%s rows probed)\n", what, latency_percentile(l, 0.5),
                 latency_percentile(l, 0.99), view_number(number, latency_count(l)));
}

static void print_report(status *s)
{
    life *a = &s->lives[0], *b = &s->lives[1];
    char number[4][VIEW_NUMBER];
    int64_t prepare_a = atomic_load(&a->prepare_ns_max), prepare_b = atomic_load(&b->prepare_ns_max);
    int64_t write_a = atomic_load(&a->write_ns_max), write_b = atomic_load(&b->write_ns_max);
    latency_merge(&b->quiet, &a->quiet);
    latency_merge(&b->busy, &a->busy);
    (void)printf("\nBoth runs together\n");
    (void)printf("  %-34s %s in %s prepares, the longest of %.0f ms\n", "rows accepted during prepares",
                 view_number(number[0], atomic_load(&a->rows_during_prepares) + atomic_load(&b->rows_during_prepares)),
                 view_number(number[1], atomic_load(&a->prepares) + atomic_load(&b->prepares)),
                 (double)(prepare_a > prepare_b ? prepare_a : prepare_b) / 1e6);
    (void)printf("  %-34s %.2f ms\n", "longest write call", (double)(write_a > write_b ? write_a : write_b) / 1e6);
    (void)printf("  %-34s %s, each with all rows written before it and none twice\n", "queries over memory and files",
                 view_number(number[0], atomic_load(&a->queries) + atomic_load(&b->queries)));
    print_freshness("freshness with queries running", &b->busy);
    print_freshness("freshness without queries", &b->quiet);
    (void)printf("  (freshness: from the start of the write call to the row in the reader's hands)\n\n");
}

static bool run_first_life(const arguments *a, status *s, view *v, int fd)
{
    life *l = &s->lives[0];
    char number[4][VIEW_NUMBER];
    (void)printf("The live process streams %s rows into the table and queries them before they are committed.\n",
                 view_number(number[0], v->total));
    end how = watch(v, l, start_process(a, "--live", 0, fd), true);
    if (how == END_DONE)
        (void)fprintf(stderr,
                      "demo: the live process ended before it could be killed: give it more rows or a lower --rate\n");
    if (how != END_KILLED)
        return false;
    int64_t written = atomic_load(&l->written), committed = atomic_load(&l->committed);
    (void)printf(
        "\nKilled with SIGKILL. %s rows were visible, %s of them committed; %s were in memory only and are gone.\n",
        view_number(number[0], written), view_number(number[1], committed),
        view_number(number[2], written - committed));
    return true;
}

static bool run_second_life(const arguments *a, status *s, view *v, int fd)
{
    life *l = &s->lives[1];
    char number[4][VIEW_NUMBER];
    (void)printf("It starts again, and reads the file from its first row.\n");
    if (watch(v, l, start_process(a, "--live", 1, fd), false) != END_DONE) {
        (void)fprintf(stderr, "demo: the live process failed\n");
        return false;
    }
    (void)printf("\nRecovered: the snapshot had the committed ends of %s partition-buckets; %s rows of the file were "
                 "left out as\n"
                 "committed, %s were written.\n",
                 view_number(number[0], atomic_load(&l->partition_buckets)),
                 view_number(number[1], atomic_load(&l->skipped)), view_number(number[2], atomic_load(&l->written)));
    return true;
}

static int create_table(const arguments *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env = NULL;
    int rc = pml_env_new(&env, NULL, &err);
    if (rc == PML_OK)
        rc = flights_create(env, a->live.warehouse, &err);
    pml_env_release(env);
    if (rc != PML_OK)
        (void)fprintf(stderr, "demo: making the table: %s (%s)\n", err.message, pml_error_name(rc));
    return rc;
}

static int parent_main(const arguments *a)
{
    view v;
    int64_t total = verify_file_rows(a->live.csv);
    if (total < 0 || create_table(a) != PML_OK)
        return EXIT_FAILURE;
    int fd = memfd_create("demo-status", MFD_CLOEXEC);
    status *s = fd < 0 || ftruncate(fd, sizeof *s) != 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) {
        (void)fprintf(stderr, "demo: memory for the status: %m\n");
        return EXIT_FAILURE;
    }
    view_start(&v, total);
    bool ok = run_first_life(a, s, &v, fd) && run_second_life(a, s, &v, fd);
    if (ok)
        print_report(s);
    ok = ok && process_end(start_process(a, "--verify", 0, -1)) == EXIT_SUCCESS;
    (void)printf(ok ? "PASS\n" : "FAIL\n");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int n, char **words)
{
    arguments a;
    self_path = words[0];
    if (!parse_arguments(&a, n, words))
        return usage("a wrong command line");
    if (a.live_number >= 0)
        return live_main(&a);
    return a.verify != NULL ? verify_run(a.live.warehouse, a.live.csv) : parent_main(&a);
}
