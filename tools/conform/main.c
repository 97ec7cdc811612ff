/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pml-store-conform: the contract of real-time stores (docs/store.md) as a test that runs on any plugin.
 *
 * Each case runs in a process of its own, which loads the plugin anew: a plugin that crashes, hangs or spoils memory fails one
 * case and not the run. The cases are those of the tests of this tree (tests/support/store_kit.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "realtime/rt_registry.h"
#include "support/store_kit.h"

enum {
    EXIT_PASSED = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_SKIPPED = 3, /* of a case */
    CASE_SECONDS_MAX =
        300 /* the slowest case takes a few seconds on a slow machine, with sanitizers less than a minute */
};

static const char usage[] =
    "usage: pml-store-conform PLUGIN.so [--case NAME]\n"
    "       pml-store-conform --list\n"
    "\n"
    "Checks that a real-time store in a shared object keeps the contract of <paimonlive/sys/realtime_store.h>.\n"
    "\n"
    "  --case NAME   run this case only\n"
    "  --list        print the names of all cases\n"
    "\n"
    "Exit code: 0 all passed, 1 a case failed, 2 wrong arguments, or no plugin that can be loaded.\n"
    "SEED=N in the environment chooses other random rows.\n";

/* ---- in the process of a case ---- */

static int why_fd = -1; /* where the reason of a failure goes */

static void tell(const char *why)
{
    const size_t n = strlen(why);
    if (write(why_fd, why, n) != (ssize_t)n) /* fits into a pipe at once; the exit code says that the case failed */
        (void)fprintf(stderr, "%s\n", why);
}

void plain_assert_failed(const char *file, int line, const char *format, ...)
{
    char text[KIT_WHY_SIZE], place[2 * KIT_WHY_SIZE];
    const char *base = strrchr(file, '/');
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)snprintf(place, sizeof place, "%s (%s:%d)", text, base == NULL ? file : base + 1, line);
    if (strncmp(text, "live is ", 8) == 0) /* the count of test_env_close */
        (void)snprintf(place, sizeof place, "memory of the host or an array was not released: %s", text);
    tell(place);
    _exit(EXIT_FAILED);
}

static int run_case(const char *path, const kit_case *c)
{
    pml_error err = PML_ERROR_INIT;
    const pml_rt_plugin *plugin;
    char why[KIT_WHY_SIZE];
    (void)alarm(CASE_SECONDS_MAX);
    if (pml_rt_plugin__open(&plugin, path, &err) != PML_OK) {
        tell(err.message);
        return EXIT_FAILED;
    }
    if (!store_kit_case_applies(plugin, c))
        return EXIT_SKIPPED;
    if (store_kit_run_case(why, plugin, c))
        return EXIT_PASSED;
    tell(why);
    return EXIT_FAILED;
}

/* ---- in the first process ---- */

/* Reads all that comes, cut to the room. */
static void read_why(char *why, size_t room, int fd)
{
    size_t n = 0;
    for (ssize_t got = 1; got != 0 && n + 1 < room;) {
        got = read(fd, why + n, room - 1 - n);
        if (got > 0)
            n += (size_t)got;
        else if (got < 0 && errno != EINTR)
            got = 0;
    }
    why[n] = '\0';
}

static void say_how_it_ended(char *why, size_t room, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(why, room, "not done after %d seconds", CASE_SECONDS_MAX);
    else if (WIFSIGNALED(status))
        (void)snprintf(why, room, "the process was ended by signal %d", WTERMSIG(status));
    else
        (void)snprintf(why, room, "the process ended with code %d", WEXITSTATUS(status));
}

/* Prints the line of the case; which code it ended with. */
static int try_case(const char *path, const kit_case *c)
{
    char why[2 * KIT_WHY_SIZE] = "";
    int fds[2], status = 0;
    (void)fflush(NULL);
    if (pipe(fds) != 0) {
        (void)printf("FAILED %s: no pipe\n", c->name);
        return EXIT_FAILED;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        why_fd = fds[1];
        exit(run_case(path, c)); /* not _exit: what a sanitizer looks for, it looks for at exit */
    }
    (void)close(fds[1]);
    read_why(why, sizeof why, fds[0]);
    (void)close(fds[0]);
    if (pid < 0) {
        (void)printf("FAILED %s: no process\n", c->name);
        return EXIT_FAILED;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PASSED) {
        (void)printf("ok     %s\n", c->name);
        return EXIT_PASSED;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
        return EXIT_SKIPPED;
    if (why[0] == '\0')
        say_how_it_ended(why, sizeof why, status);
    (void)printf("FAILED %s: %s\n", c->name, why);
    return EXIT_FAILED;
}

/* Whether there is anything to test: in a process of its own, too, so that no code of the plugin runs in this one. */
static int must_load(const char *path)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        pml_error err = PML_ERROR_INIT;
        const pml_rt_plugin *plugin;
        int rc = pml_rt_plugin__open(&plugin, path, &err);
        if (rc != PML_OK)
            (void)fprintf(stderr, "pml-store-conform: %s: %s\n", pml_error_name(rc), err.message);
        else
            (void)printf("store %s, version %s\n", plugin->name, plugin->version == NULL ? "unknown" : plugin->version);
        (void)fflush(NULL);
        _exit(rc == PML_OK ? EXIT_PASSED : EXIT_USAGE);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)fprintf(stderr, "pml-store-conform: loading %s ended the process\n", path);
    return EXIT_USAGE;
}

static int run_all(const char *path, const char *only)
{
    int passed = 0, failed = 0, skipped = 0, code = must_load(path);
    if (code != EXIT_PASSED)
        return code;
    (void)test_seed(); /* says once which rows are used */
    for (size_t i = 0; i < n_kit_cases; i++) {
        if (only != NULL && strcmp(kit_cases[i].name, only) != 0)
            continue;
        const int ended = try_case(path, &kit_cases[i]);
        passed += ended == EXIT_PASSED;
        failed += ended == EXIT_FAILED;
        skipped += ended == EXIT_SKIPPED;
    }
    if (passed + failed + skipped == 0) {
        (void)fprintf(stderr, "pml-store-conform: there is no case '%s', see --list\n", only);
        return EXIT_USAGE;
    }
    (void)printf("%d passed, %d failed", passed, failed);
    if (skipped > 0)
        (void)printf(", %d of tables that the store does not serve", skipped);
    (void)printf("\n");
    return failed == 0 ? EXIT_PASSED : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    const char *path = NULL, *only = NULL;
    bool list = false, wrong = false;
    for (int i = 1; i < argc && !wrong; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return fputs(usage, stdout) < 0;
        if (strcmp(argv[i], "--list") == 0)
            list = true;
        else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (argv[i][0] != '-' && path == NULL)
            path = argv[i];
        else
            wrong = true;
    }
    if (wrong || (path == NULL && !list)) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < n_kit_cases && list; i++)
        (void)puts(kit_cases[i].name);
    return list ? EXIT_PASSED : run_all(path, only);
}
