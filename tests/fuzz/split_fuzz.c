/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split bytes: DataSplit, and live splits, whose checksum is made right first (else it would be all that is ever tested). What was
 * read can be written, and reads again as the same bytes.
 */
#include "fuzz.h"
#include "meta/serde_split.h"
#include "realtime/rt_serde.h"
#include "util/crc32c.h"

FUZZ_MEMORY(8 * MIB);

static void disk_split(pml_bytes bytes)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_data_split s, again;
    pml_arena arena;
    pml_buf first, second;
    pml_arena__init(&arena, env);
    pml_buf__init(&first, env, 4 * MIB);
    pml_buf__init(&second, env, 4 * MIB);
    int rc = pml_serde_split__read(&s, &arena, bytes, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK && !s.has_before_files) {
        rc = pml_serde_split__write(&first, &s, &err);
        fuzz_must_be_answer(rc, &err);
    }
    if (rc == PML_OK && first.len > 0) {
        must_ok(pml_serde_split__read(&again, &arena, (pml_bytes){first.data, first.len}, &err), &err);
        must_ok(pml_serde_split__write(&second, &again, &err), &err);
        FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "two forms of one split");
    }
    pml_buf__clear(&first);
    pml_buf__clear(&second);
    pml_arena__clear(&arena);
}

static void live_split(pml_bytes bytes)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    rt_split_form s;
    pml_arena arena;
    pml_buf out;
    uint8_t *copy = malloc(bytes.len == 0 ? 1 : bytes.len);
    FUZZ_CHECK(copy != NULL, "no memory");
    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    if (bytes.len >= 4)
        pml_put_be32(copy + bytes.len - 4, pml_crc32c(0, copy, bytes.len - 4));
    pml_arena__init(&arena, env);
    pml_buf__init(&out, env, 4 * MIB);
    (void)pml_rt_serde__is_split((pml_bytes){copy, bytes.len});
    int rc = pml_rt_serde__read_split(&s, &arena, (pml_bytes){copy, bytes.len}, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        must_ok(pml_rt_serde__write_split(&out, &s, &err), &err);
        for (size_t i = 0; i < s.n_disk; i++)
            disk_split(s.disk[i]);
    }
    pml_buf__clear(&out);
    pml_arena__clear(&arena);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_begin();
    disk_split((pml_bytes){data, len});
    live_split((pml_bytes){data, len});
    fuzz_end();
    return 0;
}
