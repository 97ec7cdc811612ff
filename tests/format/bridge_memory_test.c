/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C++ side without memory: the n-th `operator new` that the bridge's own code calls (itself, or through libstdc++) throws, for
 * every n, in each call of its table. No exception passes the border, nothing leaks, input and memory are let go once, and the
 * call says PML_E_NOMEM. What Arrow allocates for itself is Arrow's: some of its code must not throw, and would end the process.
 *
 * The operators below are those of the whole process, since the bridge is opened without deep binding here.
 */
#include "support/test_bridge.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(format, name, id, nullable) test_field(format, name, id, nullable, 0, NULL)

static const pml_bridge *b;
static void (*throw_bad_alloc)(void);
static struct {
    uintptr_t begin, end;
} bridge_code, libstdcxx_code;
static long news, fail_at; /* of the bridge, since the last arm(); 0: none fails */

/* ---- operator new and delete ---- */

static bool is_in(const void *address, uintptr_t begin, uintptr_t end)
{
    return (uintptr_t)address >= begin && (uintptr_t)address < end;
}

/* Whether the first caller outside of libstdc++ is the bridge. */
static bool bridge_asks(const void *caller)
{
    void *frames[16];
    if (!is_in(caller, libstdcxx_code.begin, libstdcxx_code.end))
        return is_in(caller, bridge_code.begin, bridge_code.end);
    const int n = backtrace(frames, 16);
    int i = 0;
    while (i < n && !is_in(frames[i], libstdcxx_code.begin, libstdcxx_code.end))
        i++; /* ours */
    while (i < n && is_in(frames[i], libstdcxx_code.begin, libstdcxx_code.end))
        i++;
    return i < n && is_in(frames[i], bridge_code.begin, bridge_code.end);
}

static bool may_not(const void *caller)
{
    return fail_at != 0 && bridge_asks(caller) && ++news == fail_at;
}

#pragma GCC visibility push(default)
void *_Znwm(size_t n);
void *_Znam(size_t n);
void *_ZnwmSt11align_val_t(size_t n, size_t align);
void *_ZnwmRKSt9nothrow_t(size_t n, const void *tag);
void *_ZnamRKSt9nothrow_t(size_t n, const void *tag);
void _ZdlPv(void *p);
void _ZdlPvm(void *p, size_t n);
void _ZdaPv(void *p);
void _ZdaPvm(void *p, size_t n);
void _ZdlPvSt11align_val_t(void *p, size_t align);
void _ZdlPvmSt11align_val_t(void *p, size_t n, size_t align);
void _ZdlPvRKSt9nothrow_t(void *p, const void *tag);
#pragma GCC visibility pop

void *_Znwm(size_t n)
{
    void *p = may_not(__builtin_return_address(0)) ? NULL : malloc(n == 0 ? 1 : n);
    if (p == NULL)
        throw_bad_alloc();
    return p;
}

void *_Znam(size_t n)
{
    void *p = may_not(__builtin_return_address(0)) ? NULL : malloc(n == 0 ? 1 : n);
    if (p == NULL)
        throw_bad_alloc();
    return p;
}

void *_ZnwmSt11align_val_t(size_t n, size_t align)
{
    void *p = may_not(__builtin_return_address(0)) ? NULL : aligned_alloc(align, (n + align - 1) / align * align);
    if (p == NULL)
        throw_bad_alloc();
    return p;
}

void *_ZnwmRKSt9nothrow_t(size_t n, const void *tag)
{
    (void)tag;
    return malloc(n == 0 ? 1 : n);
}

void *_ZnamRKSt9nothrow_t(size_t n, const void *tag)
{
    (void)tag;
    return malloc(n == 0 ? 1 : n);
}

void _ZdlPv(void *p)
{
    free(p);
}

void _ZdlPvm(void *p, size_t n)
{
    (void)n;
    free(p);
}

void _ZdaPv(void *p)
{
    free(p);
}

void _ZdaPvm(void *p, size_t n)
{
    (void)n;
    free(p);
}

void _ZdlPvSt11align_val_t(void *p, size_t align)
{
    (void)align;
    free(p);
}

void _ZdlPvmSt11align_val_t(void *p, size_t n, size_t align)
{
    (void)n, (void)align;
    free(p);
}

void _ZdlPvRKSt9nothrow_t(void *p, const void *tag)
{
    (void)tag;
    free(p);
}

/* ---- the bridge, opened without deep binding ---- */

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (strstr(info->dlpi_name, "libpaimonlive_bridge.so") != NULL)
        bridge_code.begin = info->dlpi_addr, bridge_code.end = end;
    if (strstr(info->dlpi_name, "libstdc++.so") != NULL)
        libstdcxx_code.begin = info->dlpi_addr, libstdcxx_code.end = end;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    pml_bridge_entry_fn entry;
    void *frames[2];
    void *handle = dlopen(PML_TEST_BRIDGE, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(handle, PML_BRIDGE_SYMBOL), *thrower = dlsym(handle, "_ZSt17__throw_bad_allocv");
    assert_true(symbol != NULL && thrower != NULL);
    memcpy(&entry, &symbol, sizeof entry);
    memcpy(&throw_bad_alloc, &thrower, sizeof throw_bad_alloc);
    (void)dl_iterate_phdr(find_code, NULL);
    assert_true(bridge_code.end > bridge_code.begin && libstdcxx_code.end > libstdcxx_code.begin);
    (void)backtrace(frames, 2); /* loads what it needs */
    b = entry(&err);
    assert_non_null(b);
    return 0;
}

/* ---- the steps ---- */

typedef struct world {
    struct ArrowSchema schema;
    struct ArrowArray array; /* of it, for one run */
    test_file f;             /* what is read; fresh counters */
    test_file written;
} world;

typedef int (*step_fn)(world *w, pml_error *err);

static int step_write(world *w, pml_error *err)
{
    int rc = test_parquet_write(&w->written, b, &w->schema, &w->array, &test_write_options, err);
    test_file_free(&w->written);
    assert_int_equal(w->written.dropped, 1);
    memset(&w->written, 0, sizeof w->written);
    return rc;
}

static int drain(struct ArrowArrayStream *stream, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int64_t rows;
    if (stream->get_schema(stream, &schema) != 0)
        rows = b->stream_error(stream, err);
    else
        rows = test_drain(b, stream, err);
    if (schema.release != NULL)
        schema.release(&schema);
    stream->release(stream);
    return rows < 0 ? (int)rows : PML_OK;
}

static int step_read(world *w, pml_error *err)
{
    struct ArrowArrayStream stream;
    int rc = test_parquet_stream(&stream, b, &w->f, NULL, 0, &test_read_options, err);
    if (rc == PML_OK)
        rc = drain(&stream, err);
    assert_true(w->f.closed == 1 && w->f.dropped == 1 && w->f.charged == 0);
    return rc;
}

static int step_statistics(world *w, pml_error *err)
{
    pml_bridge_input input = test_input(&w->f);
    pml_bridge_memory memory = test_memory(&w->f);
    pml_bridge_reader *r = NULL;
    pml_bridge_stat stat;
    int rc = b->parquet_open(&r, &input, &memory, &test_read_options, err);
    assert_true((rc == PML_OK) == (r != NULL));
    for (int32_t i = 0; rc == PML_OK && i < w->schema.n_children; i++)
        rc = b->parquet_stat(&stat, r, 0, i, err);
    b->parquet_close(r);
    assert_true(w->f.closed == 1 && w->f.dropped == 1 && w->f.charged == 0);
    return rc;
}

static int step_csv(world *w, pml_error *err)
{
    static const char text[] = "1,a\n2,b\n3,\n4,dddddddddddddddddddddddddddddddddddddddd\n";
    struct ArrowSchema fields[] = {FIELD("i", "x", 0, true), FIELD("u", "s", 1, true)};
    struct ArrowSchema schema = test_struct(2, fields);
    struct ArrowArrayStream stream;
    pml_bridge_csv_options o = {.delimiter = ',', .quote = '"', .block_bytes = 1000};
    test_file f = {.data = (uint8_t *)(uintptr_t)text, .len = sizeof text - 1};
    pml_bridge_input input = test_input(&f);
    pml_bridge_memory memory = test_memory(&f);
    (void)w;
    int rc = b->csv_open(&stream, &input, &memory, &schema, &o, err);
    if (rc == PML_OK)
        rc = drain(&stream, err);
    schema.release(&schema);
    assert_true(f.closed == 1 && f.dropped == 1 && f.charged == 0);
    return rc;
}

/* Columns in another order, a wider one, a zone, one that is missing. */
static int step_cast(world *w, pml_error *err)
{
    struct ArrowSchema from_fields[] = {FIELD("i", "x", 0, true), FIELD("u", "s", 1, true),
                                        FIELD("tsu:", "t", 2, true)};
    struct ArrowSchema to_fields[] = {FIELD("u", "s", 1, true), FIELD("l", "x", 0, true),
                                      FIELD("tsu:UTC", "t", 2, true), FIELD("u", "none", 3, true)};
    struct ArrowSchema from = test_struct(3, from_fields), to = test_struct(4, to_fields);
    test_env seed = {.random_state = 7};
    struct ArrowArray array = test_random_array(&seed, &from, 10), out = {0};
    test_file f = {0};
    pml_bridge_memory memory = test_memory(&f);
    (void)w;
    int rc = b->cast(&out, &array, &from, &to, &memory, err);
    assert_null(array.release);
    assert_true((rc == PML_OK) == (out.release != NULL));
    if (out.release != NULL)
        out.release(&out);
    from.release(&from);
    to.release(&to);
    assert_true(f.dropped == 1 && f.charged == 0);
    return rc;
}

static void survive(world *w, step_fn step, int least)
{
    test_env seed = {.random_state = test_seed()};
    int failures = 0;
    for (long n = 1;; n++) {
        pml_error err = PML_ERROR_INIT;
        seed.random_state = 3;
        w->array = (struct ArrowArray){0};
        if (step == step_write)
            w->array = test_random_array(&seed, &w->schema, 100);
        w->f.closed = w->f.dropped = w->f.calls = 0;
        news = 0;
        fail_at = n;
        int rc = step(w, &err);
        fail_at = 0;
        if (news < n) {
            must_ok(rc, &err);
            break;
        }
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
        failures += rc != PML_OK;
    }
    assert_true(failures >= least);
}

static void every_call_survives_a_bridge_without_memory(void **state)
{
    (void)state;
    static const step_fn steps[] = {step_csv, step_cast, step_write, step_read, step_statistics};
    struct ArrowSchema (*const schemas[])(void) = {test_scalar_schema, test_nested_schema};
    for (size_t s = 0; s < 2; s++) {
        world w = {.schema = schemas[s]()};
        w.f = test_file_of(b, &w.schema, 100, &test_write_options);
        for (size_t i = s == 0 ? 0 : 2; i < sizeof steps / sizeof steps[0]; i++)
            survive(&w, steps[i], 5);
        test_file_free(&w.f);
        w.schema.release(&w.schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_survives_a_bridge_without_memory)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
