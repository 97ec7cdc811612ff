/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of numbered files: the texts of LATEST and EARLIEST, then names, one a line. */
#include "fuzz.h"
#include "storage/numbered.h"

FUZZ_MEMORY(1 * MIB);

enum { NAMES_MAX = 64, PATH_BYTES = 320 };

static void put(const char *name, pml_bytes content)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "/d/%.255s", name);
    fuzz_fs_put(fuzz_files(), path, content.ptr, content.len);
}

static void put_names(char *text)
{
    int n = 0;
    for (char *line = text, *end; line != NULL && n < NAMES_MAX; line = end, n++) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (line[0] != '\0' && strchr(line, '/') == NULL)
            put(line, (pml_bytes){(const uint8_t *)"x", 1});
    }
}

static bool has(const int64_t *ids, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void ask(void)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    int64_t *ids, latest, earliest;
    size_t n;
    must_ok(pml_file__list_ids(&ids, &n, env, "/d", "snapshot-", &err), &err);
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(ids[i] >= 0 && (i == 0 || ids[i] > ids[i - 1]), "the numbers are not in order");
    must_ok(pml_numbered__latest(&latest, env, "/d", "snapshot-", PML_NUMBERED_NO_HINT, &err), &err);
    FUZZ_CHECK(latest == (n == 0 ? -1 : ids[n - 1]), "the largest number is not the latest");
    must_ok(pml_numbered__earliest(&earliest, env, "/d", "snapshot-", PML_NUMBERED_NO_HINT, &err), &err);
    FUZZ_CHECK(earliest == (n == 0 ? -1 : ids[0]), "the smallest number is not the earliest");
    /* With hints, whatever they say: a number of a file, and with files there is one. */
    must_ok(pml_numbered__latest(&latest, env, "/d", "snapshot-", 0, &err), &err);
    FUZZ_CHECK(n == 0 ? latest == -1 : has(ids, n, latest), "the latest is %lld", (long long)latest);
    must_ok(pml_numbered__earliest(&earliest, env, "/d", "snapshot-", 0, &err), &err);
    FUZZ_CHECK(n == 0 ? earliest == -1 : has(ids, n, earliest), "the earliest is %lld", (long long)earliest);
    pml_env__free(env, ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    fuzz_begin();
    fuzz_fs_rewind(fuzz_files());
    put("LATEST", fuzz_bytes(&in));
    put("EARLIEST", fuzz_bytes(&in));
    char *text = fuzz_rest_text(&in);
    put_names(text);
    ask();
    free(text);
    fuzz_end();
    return 0;
}
