/* SPDX-License-Identifier: Apache-2.0 */
/* Commit messages. The first byte is the version, which is not in the bytes. */
#include "fuzz.h"
#include "meta/serde_message.h"

FUZZ_MEMORY(8 * MIB);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    fuzz_input in = {data, len};
    pml_commit_message m, again;
    pml_arena arena;
    pml_buf first, second;
    fuzz_begin();
    pml_arena__init(&arena, env);
    pml_buf__init(&first, env, 4 * MIB);
    pml_buf__init(&second, env, 4 * MIB);
    int32_t version = fuzz_u8(&in) % 16;
    int rc = pml_serde_message__read(&m, &arena, version, fuzz_rest(&in), &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        rc = pml_serde_message__write(&first, &m, &err);
        fuzz_must_be_answer(rc, &err);
    }
    if (rc == PML_OK) {
        must_ok(pml_serde_message__read(&again, &arena, PML_MESSAGE_VERSION_WRITTEN, (pml_bytes){first.data, first.len}, &err), &err);
        must_ok(pml_serde_message__write(&second, &again, &err), &err);
        FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "two forms of one message");
    }
    pml_buf__clear(&first);
    pml_buf__clear(&second);
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
