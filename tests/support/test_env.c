/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/number.h"

#ifdef __SANITIZE_THREAD__
/* Arrow counts references in code that ThreadSanitizer does not see: it keeps the arrays that a reader gave last until it reads on, which
   is another thread's turn where runs are read ahead, and frees what the one that had them has let go of. */
const char *__tsan_default_suppressions(void); /* NOLINT: the name is the sanitizer's */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "race:SystemAllocator>::Free\n";
}
#endif

static bool alloc_fails(test_env *t)
{
    long long n = atomic_fetch_add(&t->count, 1) + 1;
    return n == atomic_load(&t->fail_at); /* none is the 0th */
}

static bool bytes_fail(test_env *t, size_t n)
{
    long long bytes = atomic_load(&t->bytes);
    if (t->bytes_max == 0 || (n <= (size_t)t->bytes_max && (long long)n <= t->bytes_max - bytes))
        return false;
    atomic_store(&t->bytes_exceeded, true);
    return true;
}

static void *counted_alloc(void *ctx, size_t n)
{
    test_env *t = ctx;
    if (alloc_fails(t) || bytes_fail(t, n))
        return NULL;
    void *p = malloc(n);
    (void)atomic_fetch_add(&t->live, 1);
    (void)atomic_fetch_add(&t->bytes, (long long)malloc_usable_size(p));
    return p;
}

static void *counted_realloc(void *ctx, void *p, size_t n)
{
    test_env *t = ctx;
    size_t before = malloc_usable_size(p);
    if (alloc_fails(t) || (n > before && bytes_fail(t, n - before)))
        return NULL;
    if (p == NULL)
        (void)atomic_fetch_add(&t->live, 1);
    void *q = realloc(p, n);
    (void)atomic_fetch_add(&t->bytes, (long long)malloc_usable_size(q) - (long long)before);
    return q;
}

static void counted_free(void *ctx, void *p)
{
    test_env *t = ctx;
    (void)atomic_fetch_sub(&t->live, 1);
    (void)atomic_fetch_sub(&t->bytes, (long long)malloc_usable_size(p));
    free(p);
}

static int64_t test_wall(void *ctx)
{
    return atomic_load(&((test_env *)ctx)->wall_ms);
}

static int64_t test_mono(void *ctx)
{
    return atomic_load(&((test_env *)ctx)->mono_ns);
}

static void test_sleep(void *ctx, int64_t ms)
{
    test_env *t = ctx;
    (void)atomic_fetch_add(&t->wall_ms, ms);
    (void)atomic_fetch_add(&t->mono_ns, ms * 1000000);
}

uint64_t test_random(test_env *t)
{
    uint64_t z = __atomic_add_fetch(&t->random_state, 0x9E3779B97F4A7C15u, __ATOMIC_RELAXED); /* threads of a test draw, too */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void test_sleep_a_millisecond(void)
{
    const struct timespec ms = {0, 1000000};
    (void)nanosleep(&ms, NULL);
}

static int test_random_bytes(void *ctx, void *buf, size_t n)
{
    uint8_t *p = buf;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)test_random(ctx);
    return PML_OK;
}

static void test_log(void *ctx, int level, const char *component, const char *message)
{
    (void)ctx;
    if (getenv("PML_TEST_LOG") != NULL)
        (void)fprintf(stderr, "[%d] %s: %s\n", level, component, message);
}

int64_t test_setting(const char *name, int64_t otherwise, int64_t min, int64_t max)
{
    const char *text = getenv(name);
    int64_t v = otherwise;
    if (text != NULL && (!pml_number__int64(&v, text, strlen(text)) || v < min || v > max))
        fail_msg("%s=%s is no number from %lld to %lld", name, text, (long long)min, (long long)max);
    return v;
}

uint64_t test_seed(void)
{
    static bool printed;
    const char *text = getenv("SEED");
    uint64_t seed = text == NULL ? 20261130 : strtoull(text, NULL, 10);
    if (!printed)
        print_message("SEED=%llu\n", (unsigned long long)seed);
    printed = true;
    return seed;
}

test_env *test_env_open(const pml_file_system *fs)
{
    test_env *t = calloc(1, sizeof *t);
    const char *tmp = getenv("TMPDIR");
    const char *text = getenv("SEED");
    assert_non_null(t);
    atomic_store(&t->wall_ms, 1767225600000); /* 2026-01-01T00:00:00Z */
    t->random_state = text == NULL ? 20261130 : strtoull(text, NULL, 10);
    (void)snprintf(t->dir, sizeof t->dir, "%s/pml-test-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    assert_non_null(mkdtemp(t->dir));
    const pml_allocator al = {t, counted_alloc, counted_realloc, counted_free};
    const pml_clock clock = {t, test_wall, test_mono, test_sleep};
    const pml_random random = {t, test_random_bytes};
    const pml_logger logger = {t, test_log};
    pml_env_options o = PML_ENV_OPTIONS_INIT;
    o.allocator = &al;
    o.clock = &clock;
    o.random = &random;
    o.logger = &logger;
    o.file_system = fs;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_env_new(&t->env, &o, &err), &err);
    return t;
}

void test_env_fail_at(test_env *t, long long n)
{
    atomic_store(&t->fail_at, n == 0 ? 0 : atomic_load(&t->count) + n);
}

bool test_env_fail_reached(const test_env *t)
{
    const long long at = atomic_load(&t->fail_at);
    return at != 0 && atomic_load(&t->count) >= at;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void test_env_close(test_env *t)
{
    t->fail_at = 0;
    pml_env_release(t->env);
    (void)nftw(t->dir, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
    long long live = atomic_load(&t->live);
    free(t);
    assert_int_equal(live, 0);
}

const char *test_path(test_env *t, const char *name)
{
    static char text[8][512];
    static int next;
    char *p = text[next++ % 8];
    (void)snprintf(p, sizeof text[0], "%s/%s", t->dir, name);
    return p;
}

uint8_t *test_read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("cannot open %s", path);
    (void)fseek(f, 0, SEEK_END);
    long n = ftell(f);
    (void)fseek(f, 0, SEEK_SET);
    uint8_t *p = malloc((size_t)n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, (size_t)n, f), n);
    p[n] = '\0';
    (void)fclose(f);
    *len = (size_t)n;
    return p;
}

void test_must_ok(int rc, const pml_error *err, const char *file, int line)
{
    if (rc == PML_OK)
        return;
    print_error("%s:%d: %s: %s\n", file, line, pml_error_name(rc), err == NULL ? "" : err->message);
    _fail(file, line);
}

void test_must_fail_with(int code, int rc, const pml_error *err, const char *file, int line)
{
    if (rc == code)
        return;
    print_error("%s:%d: expected %s, got %s: %s\n", file, line, pml_error_name(code), pml_error_name(rc),
                err == NULL ? "" : err->message);
    _fail(file, line);
}
