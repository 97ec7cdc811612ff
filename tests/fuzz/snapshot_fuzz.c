/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot files: what is read can be written, and reads again as the same text. */
#include "fuzz.h"
#include "meta/snapshot.h"

FUZZ_MEMORY(4 * MIB); /* some 60 bytes a value, and texts twice */

static int snapshot_text(pml_buf *out, pml_arena *arena, pml_bytes json, pml_error *err)
{
    pml_snapshot s;
    PML_RETURN_IF(pml_snapshot__parse(&s, arena, json, "snapshot-7", err));
    (void)pml_snapshot__property(&s, "realtime.offsets");
    FUZZ_CHECK(s.base_manifest_list != NULL && s.delta_manifest_list != NULL && s.commit_user != NULL, "a snapshot lacks a name");
    FUZZ_CHECK(pml_commit_kind__name(s.commit_kind) != NULL, "a snapshot has no kind");
    return pml_snapshot__write(out, &s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_buf first, second;
    fuzz_begin();
    pml_arena__init(&arena, env);
    pml_buf__init(&first, env, PML_SNAPSHOT_FILE_MAX);
    pml_buf__init(&second, env, PML_SNAPSHOT_FILE_MAX);
    int rc = snapshot_text(&first, &arena, (pml_bytes){data, len}, &err);
    fuzz_must_name(rc, &err, "snapshot-7");
    if (rc == PML_OK) {
        must_ok(snapshot_text(&second, &arena, (pml_bytes){first.data, first.len}, &err), &err);
        FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "two texts of one snapshot");
    }
    pml_buf__clear(&first);
    pml_buf__clear(&second);
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
