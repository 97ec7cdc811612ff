/* SPDX-License-Identifier: Apache-2.0 */
#include "part.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STALL_MS = 60 * 1000, /* a live process that writes nothing for so long hangs */
    DRAW_MS = 100
};

/* ---- processes ---- */

static pid_t start_process(const arguments *a, const char *program, int status_fd)
{
    arguments_words w;
    arguments_print(&w, a, program);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (status_fd >= 0 &&
        (status_fd == PART_STATUS_FD ? fcntl(status_fd, F_SETFD, 0) : dup2(status_fd, PART_STATUS_FD)) < 0)
        _exit(127);
    (void)execv("/proc/self/exe", (char *const *)w.words);
    (void)fprintf(stderr, "demo: %s cannot be started: %m\n", program);
    _exit(127);
}

static pid_t start_life(const part *p, const arguments *a, const char *program, int number, int status_fd)
{
    arguments of_life = *a;
    of_life.only = p->name;
    of_life.live = number;
    return start_process(&of_life, program, status_fd);
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

/* With half of the rows in and some only in memory. */
static bool is_half_way(const life *l)
{
    int64_t rows = life_rows(l), total = atomic_load(&l->total);
    return total > 0 && rows * 2 >= total && atomic_load(&l->commits) > 0 && rows > atomic_load(&l->committed);
}

/* Shows the life until its process ends, or, when kill_half_way, kills it then. */
static end watch(view *v, const life *l, pid_t pid, bool kill_half_way)
{
    int64_t last_rows = -1, last_change = live_now_ns();
    for (;;) {
        int how = 0;
        if (waitpid(pid, &how, WNOHANG) == pid) {
            view_end(v, l);
            return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? END_DONE : END_FAILED;
        }
        if (life_rows(l) != last_rows)
            last_change = live_now_ns();
        last_rows = life_rows(l);
        bool hangs = live_now_ns() - last_change > STALL_MS * 1000000LL;
        if (hangs || (kill_half_way && is_half_way(l))) {
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

/* ---- the two lives ---- */

static bool run_first_life(const part *p, const arguments *a, const char *program, status *s, view *v, int fd)
{
    life *l = &s->lives[0];
    char number[3][VIEW_NUMBER];
    end how = watch(v, l, start_life(p, a, program, 0, fd), true);
    if (how == END_DONE)
        (void)fprintf(stderr,
                      "demo: the live process ended before it could be killed: give it more rows or a lower rate\n");
    if (how != END_KILLED)
        return false;
    int64_t written = atomic_load(&l->written), committed = atomic_load(&l->committed);
    (void)printf(
        "\nKilled with SIGKILL. %s %s were visible, %s of them committed; %s were in memory only and are gone.\n",
        view_number(number[0], written), p->what, view_number(number[1], committed),
        view_number(number[2], written - committed));
    return true;
}

static bool run_second_life(const part *p, const arguments *a, const char *program, status *s, view *v, int fd)
{
    life *l = &s->lives[1];
    char number[3][VIEW_NUMBER];
    (void)printf("It starts again, and reads the file from its first row.\n");
    if (watch(v, l, start_life(p, a, program, 1, fd), false) != END_DONE) {
        (void)fprintf(stderr, "demo: the live process failed\n");
        return false;
    }
    (void)printf("\nRecovered: the snapshot had the committed ends of %s partition-buckets; %s %s were left out as\n"
                 "committed, %s were written.\n",
                 view_number(number[0], atomic_load(&l->partition_buckets)),
                 view_number(number[1], atomic_load(&l->skipped)), p->what,
                 view_number(number[2], atomic_load(&l->written)));
    return true;
}

bool part_run(const part *p, const arguments *a, const char *program, status *s, int status_fd)
{
    view v;
    arguments verifier = *a;
    verifier.only = p->name;
    verifier.verify = 1;
    (void)printf("\n%s\n", p->heading);
    view_start(&v, p->form);
    if (!run_first_life(p, a, program, s, &v, status_fd) || !run_second_life(p, a, program, s, &v, status_fd))
        return false;
    p->summary(s);
    return process_end(start_process(&verifier, program, -1)) == EXIT_SUCCESS;
}
