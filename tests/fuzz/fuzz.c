/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "columnar/batch.h"
#include "columnar/row_text.h"
#include "storage/durable_dirs.h"

static struct {
    test_env *t;
    fuzz_fs *files;
    long long live, arrow;
    int slots;
    size_t directories; /* known to be durable */
} fuzz;

static atomic_llong json_live, json_bytes;

void plain_assert_failed(const char *file, int line, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    abort();
}

/* jansson is outside of the environment's allocator, but its memory counts like all other. */
static void *json_alloc(size_t n)
{
    void *p = malloc(n);
    if (p == NULL)
        return NULL;
    (void)atomic_fetch_add(&json_live, 1);
    (void)atomic_fetch_add(&json_bytes, (long long)malloc_usable_size(p));
    FUZZ_CHECK((size_t)atomic_load(&json_bytes) <= fuzz_memory_max, "the JSON parser took %lld bytes", atomic_load(&json_bytes));
    return p;
}

static void json_free(void *p)
{
    if (p == NULL)
        return;
    (void)atomic_fetch_sub(&json_live, 1);
    (void)atomic_fetch_sub(&json_bytes, (long long)malloc_usable_size(p));
    free(p);
}

static void fuzz_close(void)
{
    test_env_close(fuzz.t);
    fuzz_fs_free(fuzz.files);
}

test_env *fuzz_env(void)
{
    if (fuzz.t == NULL) {
        json_set_alloc_funcs(json_alloc, json_free);
        fuzz.files = fuzz_fs_new();
        fuzz.t = test_env_open(fuzz_fs_system(fuzz.files));
        fuzz.t->bytes_max = (long long)fuzz_memory_max;
        fuzz.t->env->bridge_bytes_max = (int64_t)fuzz_memory_max;
        (void)atexit(fuzz_close);
    }
    return fuzz.t;
}

fuzz_fs *fuzz_files(void)
{
    (void)fuzz_env();
    return fuzz.files;
}

/* What the environment keeps from its first use on: the bridge, codec contexts, the list of stores. */
static int slots_filled(const pml_env *env)
{
    int n = 0;
    for (size_t i = 0; i < sizeof env->slots / sizeof env->slots[0]; i++)
        n += env->slots[i] != NULL;
    return n;
}

void fuzz_begin(void)
{
    test_env *t = fuzz_env();
    fuzz.slots = slots_filled(t->env);
    fuzz.directories = pml_durable_dirs__count(t->env);
    fuzz.live = atomic_load(&t->live);
    fuzz.arrow = atomic_load(&t->env->bridge_bytes);
}

void fuzz_end(void)
{
    test_env *t = fuzz_env();
    long long live = atomic_load(&t->live), arrow = atomic_load(&t->env->bridge_bytes);
    bool keeps = slots_filled(t->env) != fuzz.slots || pml_durable_dirs__count(t->env) != fuzz.directories;
    FUZZ_CHECK(live == fuzz.live || keeps, "%lld allocations leaked", live - fuzz.live);
    FUZZ_CHECK(arrow == fuzz.arrow, "%lld bytes of Arrow leaked", arrow - fuzz.arrow);
    FUZZ_CHECK(atomic_load(&json_live) == 0, "%lld JSON allocations leaked", atomic_load(&json_live));
    FUZZ_CHECK(!t->bytes_exceeded, "more than %zu bytes were asked for", fuzz_memory_max);
}

void fuzz_must_be_answer(int rc, const pml_error *err)
{
    FUZZ_CHECK(rc <= 0, "the code is %d", rc);
    if (rc == PML_OK)
        return;
    FUZZ_CHECK(err->code == rc, "returned is %d, the error says %d (%s)", rc, err->code, err->message);
    FUZZ_CHECK(err->message[0] != '\0', "error %d has no text", rc);
    FUZZ_CHECK(rc != PML_E_INTERNAL, "an internal error: %s", err->message);
}

void fuzz_must_name(int rc, const pml_error *err, const char *name)
{
    fuzz_must_be_answer(rc, err);
    FUZZ_CHECK(rc == PML_OK || rc == PML_E_NOMEM || strstr(err->message, name) != NULL || strstr(err->file, name) != NULL,
               "the error does not name %s: %s", name, err->message);
}

void fuzz_quiet(bool on)
{
    static int kept = -1, nowhere = -1;
    if (kept < 0) {
        kept = dup(STDERR_FILENO);
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    }
    (void)fflush(stderr);
    (void)dup2(on ? nowhere : kept, STDERR_FILENO);
}

/* ---- input ---- */

uint64_t fuzz_u64(fuzz_input *in)
{
    uint64_t v = 0;
    size_t n = in->left < 8 ? in->left : 8;
    memcpy(&v, in->p, n);
    in->p += n, in->left -= n;
    return v;
}

uint32_t fuzz_u32(fuzz_input *in)
{
    uint32_t v = 0;
    size_t n = in->left < 4 ? in->left : 4;
    memcpy(&v, in->p, n);
    in->p += n, in->left -= n;
    return v;
}

uint8_t fuzz_u8(fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->p++;
}

pml_bytes fuzz_bytes(fuzz_input *in)
{
    size_t n = fuzz_u8(in);
    n = n < in->left ? n : in->left;
    pml_bytes b = {in->p, n};
    in->p += n, in->left -= n;
    return b;
}

pml_bytes fuzz_rest(fuzz_input *in)
{
    pml_bytes b = {in->p, in->left};
    in->p += in->left, in->left = 0;
    return b;
}

char *fuzz_rest_text(fuzz_input *in)
{
    char *text = malloc(in->left + 1);
    FUZZ_CHECK(text != NULL, "no memory");
    memcpy(text, in->p, in->left);
    text[in->left] = '\0';
    in->p += in->left, in->left = 0;
    return text;
}

/* ---- arrays ---- */

/* Printing touches every value of the first rows. */
static void print_rows(pml_env *env, const pml_field *fields, size_t n, const struct ArrowArray *batch)
{
    enum { ROWS_PRINTED = 64 };
    pml_buf text;
    pml_buf__init(&text, env, 16 * MIB);
    for (size_t i = 0; i < n; i++)
        for (int64_t row = 0; row < batch->length && row < ROWS_PRINTED; row++)
            (void)pml_row_text__append(&text, &fields[i].type, batch->children[i], batch->offset + row);
    pml_buf__clear(&text);
}

static void check_array(const struct ArrowArray *batch, const pml_field *fields, size_t n, pml_check_level level)
{
    pml_error err = PML_ERROR_INIT;
    int rc = pml_batch__check(batch, fields, n, level, &err);
    FUZZ_CHECK(rc == PML_OK, "an invalid array came out: %s", err.message);
    print_rows(fuzz_env()->env, fields, n, batch);
}

int fuzz_drain(struct ArrowArrayStream *stream, pml_check_level level, int64_t batches_max, int64_t *rows, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch;
    pml_arena arena;
    pml_field *fields = NULL;
    size_t n = 0;
    int rc = PML_OK;
    *rows = 0;
    pml_arena__init(&arena, fuzz_env()->env);
    FUZZ_CHECK(stream->get_schema(stream, &schema) == 0, "a stream without a schema");
    must_ok(pml_row_text__fields(&fields, &n, &arena, &schema, err), err);
    for (int64_t i = 0; rc == PML_OK && i < batches_max; i++) {
        memset(&batch, 0, sizeof batch);
        if (stream->get_next(stream, &batch) != 0) {
            FUZZ_CHECK(pml_stream__last_error(stream, err), "a failed stream without an error");
            rc = err->code;
            FUZZ_CHECK(rc < 0, "a failed stream has code %d", rc);
        } else if (batch.release == NULL) {
            break;
        } else {
            check_array(&batch, fields, n, level);
            *rows += batch.length;
            batch.release(&batch);
        }
    }
    pml_schema__release(&schema);
    pml_arena__clear(&arena);
    stream->release(stream);
    return rc;
}
