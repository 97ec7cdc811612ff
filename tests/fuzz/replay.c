/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: every file of the corpus as it is, then `mutants` changed copies of each, the same ones for
 * the same seed.
 *
 *     fuzz_<noun> [--mutants=N] [--seed=N] [--keep=FILE] PATH...
 *
 * PATH is a file or a folder of the corpus. When an input breaks something, the input itself is left in FILE (default
 * fuzz-failed.bin in the current folder): give that path to run it again.
 */
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"
#include "util/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
/* Of the sanitizers, where there are any. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

enum { FILES_MAX = 4096, INPUT_SECONDS_MAX = 20 };

static struct {
    char *paths[FILES_MAX];
    mutate_piece pieces[FILES_MAX];
    size_t n;
    const char *keep;
    const uint8_t *input; /* the one that runs */
    size_t input_len;
    long long runs;
} replay = {.keep = "fuzz-failed.bin"};

static void keep_input(void)
{
    FILE *f = replay.input == NULL ? NULL : fopen(replay.keep, "wb");
    if (f == NULL)
        return;
    (void)fwrite(replay.input, 1, replay.input_len, f);
    (void)fclose(f);
    (void)fprintf(stderr, "run %lld failed; its input of %zu bytes is in %s\n", replay.runs, replay.input_len, replay.keep);
    replay.input = NULL;
}

static void at_signal(int number)
{
    if (number == SIGALRM)
        (void)fprintf(stderr, "an input took more than %d seconds\n", INPUT_SECONDS_MAX);
    keep_input();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void run(const uint8_t *data, size_t len)
{
    uint8_t *exact = malloc(len == 0 ? 1 : len); /* a read past the end is seen */
    if (exact == NULL)
        abort();
    if (len > 0)
        memcpy(exact, data, len);
    replay.input = exact;
    replay.input_len = len;
    replay.runs++;
    (void)alarm(INPUT_SECONDS_MAX);
    (void)LLVMFuzzerTestOneInput(exact, len);
    replay.input = NULL;
    free(exact);
}

static int add_path(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (flag == FTW_F && replay.n < FILES_MAX)
        replay.paths[replay.n++] = strdup(path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void load(size_t i)
{
    FILE *f = fopen(replay.paths[i], "rb");
    if (f == NULL) {
        (void)fprintf(stderr, "cannot open %s\n", replay.paths[i]);
        exit(2);
    }
    (void)fseek(f, 0, SEEK_END);
    long n = ftell(f);
    (void)fseek(f, 0, SEEK_SET);
    uint8_t *p = malloc(n <= 0 ? 1 : (size_t)n);
    if (p == NULL || n < 0 || fread(p, 1, (size_t)n, f) != (size_t)n)
        exit(2);
    (void)fclose(f);
    replay.pieces[i] = (mutate_piece){p, (size_t)n};
}

static int64_t number_after(const char *word, const char *prefix)
{
    int64_t v = 0;
    if (!pml_number__int64(&v, word + strlen(prefix), strlen(word) - strlen(prefix)) || v < 0) {
        (void)fprintf(stderr, "%s: %s wants a number\n", word, prefix);
        exit(2);
    }
    return v;
}

static void replay_file(size_t i, int64_t mutants, uint64_t seed)
{
    run(replay.pieces[i].data, replay.pieces[i].len);
    for (int64_t k = 0; k < mutants; k++) {
        mutate_random random = {seed * 0x9E3779B97F4A7C15u + (uint64_t)i * 1000003 + (uint64_t)k};
        size_t len = 0;
        uint8_t *mutant = mutate(&len, &random, replay.pieces, replay.n, i);
        run(mutant, len);
        free(mutant);
    }
}

int main(int argc, char **argv)
{
    const char *env_seed = getenv("SEED");
    int64_t mutants = 0, seed = 20261130;
    if (env_seed != NULL)
        seed = number_after(env_seed, "");
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--mutants=", 10) == 0)
            mutants = number_after(argv[i], "--mutants=");
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = number_after(argv[i], "--seed=");
        else if (strncmp(argv[i], "--keep=", 7) == 0)
            replay.keep = argv[i] + 7;
        else if (nftw(argv[i], add_path, 16, FTW_PHYS) != 0)
            (void)fprintf(stderr, "cannot look into %s\n", argv[i]);
    }
    if (replay.n == 0) {
        (void)fprintf(stderr, "no input: usage: %s [--mutants=N] [--seed=N] [--keep=FILE] PATH...\n", argv[0]);
        return 2;
    }
    qsort(replay.paths, replay.n, sizeof replay.paths[0], by_name);
    for (size_t i = 0; i < replay.n; i++)
        load(i);
    (void)printf("SEED=%lld\n", (long long)seed);
    (void)fflush(stdout);
    (void)signal(SIGABRT, at_signal);
    (void)signal(SIGALRM, at_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(keep_input);
    for (size_t i = 0; i < replay.n; i++)
        replay_file(i, mutants, (uint64_t)seed);
    (void)alarm(0);
    (void)printf("%lld inputs: %zu of the corpus and %lld mutants\n", replay.runs, replay.n, replay.runs - (long long)replay.n);
    for (size_t i = 0; i < replay.n; i++) {
        free((void *)(uintptr_t)replay.pieces[i].data);
        free(replay.paths[i]);
    }
    return 0;
}
