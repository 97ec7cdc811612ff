/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics files of ANALYZE: one that cannot be read is not carried on, and nothing else happens. */
#include "fuzz.h"
#include "meta/statistics.h"

FUZZ_MEMORY(4 * MIB);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    const char *out;
    pml_arena arena;
    fuzz_begin();
    fuzz_fs_rewind(fuzz_files());
    fuzz_fs_put(fuzz_files(), "/t/statistics/stat-1", data, len);
    pml_arena__init(&arena, env);
    must_ok(pml_statistics__inherit(&out, &arena, env, "/t", "stat-1", 0), NULL);
    FUZZ_CHECK(out == NULL || strcmp(out, "stat-1") == 0, "another file");
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
