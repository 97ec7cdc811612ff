/* SPDX-License-Identifier: Apache-2.0 */
/* Progress files (the first byte: how many partition keys the table has), and the property that names them. */
#include "fuzz.h"
#include "realtime/rt_offsets.h"

FUZZ_MEMORY(8 * MIB);

static const char *const keys[] = {"dt", "hour"};

static int progress_read(pml_progress *p, size_t n_keys, pml_bytes json, pml_error *err)
{
    int rc = pml_progress__init(p, fuzz_env()->env, n_keys, keys, err);
    return rc == PML_OK ? pml_progress__parse(p, json, "x.offsets", err) : rc;
}

static void write_and_read_again(pml_progress *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_progress again;
    pml_buf first, second;
    pml_buf__init(&first, fuzz_env()->env, PML_PROGRESS_FILE_MAX);
    pml_buf__init(&second, fuzz_env()->env, PML_PROGRESS_FILE_MAX);
    must_ok(pml_progress__write(&first, p, &err), &err);
    must_ok(progress_read(&again, p->n_keys, (pml_bytes){first.data, first.len}, &err), &err);
    must_ok(pml_progress__write(&second, &again, &err), &err);
    FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "two texts of one progress");
    for (size_t i = 0; i < p->n; i++)
        FUZZ_CHECK(pml_progress__find(&again, &p->v[i].pb) != NULL, "entry %zu is gone", i);
    pml_progress__clear(&again);
    pml_buf__clear(&first);
    pml_buf__clear(&second);
}

static void ask_paths(pml_bytes text)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    char *paths[PML_PROGRESS_PATHS] = {0};
    fuzz_input in = {text.ptr, text.len};
    char *value = fuzz_rest_text(&in);
    int rc = pml_progress__paths(paths, env, "/w/t", "/w/t/branch/branch-b", value, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        pml_progress__free_paths(env, paths);
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_error err = PML_ERROR_INIT;
    fuzz_input in = {data, len};
    pml_progress p;
    fuzz_begin();
    size_t n_keys = fuzz_u8(&in) % 3;
    pml_bytes json = fuzz_rest(&in);
    int rc = progress_read(&p, n_keys, json, &err);
    fuzz_must_name(rc, &err, "x.offsets");
    if (rc == PML_OK)
        write_and_read_again(&p);
    pml_progress__clear(&p);
    ask_paths(json);
    fuzz_end();
    return 0;
}
