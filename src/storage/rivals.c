/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java writes the temporary file ".<name>.<uuid>.tmp", tests whether <name> exists, then renames over it: with a process that
 * stops between the two steps, a name that was free at the test is replaced at any later time. Reading back what was published
 * is therefore safe only once no such temporary file is left: one that appears later is tested after our name was there.
 */
#include <string.h>

#include "storage/file_io.h"

enum {
    RIVAL_LOOKS = 60, /* with the pauses below about two seconds; then a process that died left the file */
    RIVAL_PAUSE_MAX_MS = 40
};

typedef struct rival_search {
    const char *name;
    size_t len;
    bool found;
} rival_search;

static bool ends_with(const char *s, size_t n, const char *end)
{
    size_t len = strlen(end);
    return n >= len && memcmp(s + n - len, end, len) == 0;
}

static int rival_look(void *arg, const char *entry, uint32_t kind)
{
    rival_search *s = arg;
    size_t n = strlen(entry);
    if (kind != PML_FILE_DIRECTORY && entry[0] == '.' && n > s->len + 2 && memcmp(entry + 1, s->name, s->len) == 0 &&
        entry[s->len + 1] == '.' && ends_with(entry, n, ".tmp") && !ends_with(entry, n, PML_FILE_OWN_TEMPORARY))
        s->found = true;
    return s->found; /* one is enough: it stops the listing */
}

void pml_file__await_rivals(pml_env *env, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *dir = pml_file__parent(env, path);
    rival_search s = {.name = name, .len = strlen(name), .found = dir != NULL};
    int64_t pause_ms = 1;
    for (int i = 0; s.found && i < RIVAL_LOOKS; i++) {
        if (i > 0) {
            pml_env__sleep_ms(env, pause_ms);
            pause_ms = pause_ms * 2 < RIVAL_PAUSE_MAX_MS ? pause_ms * 2 : RIVAL_PAUSE_MAX_MS;
        }
        pml_error ignored = PML_ERROR_INIT;
        s.found = false;
        (void)env->fs.list(env->fs.ctx, dir, rival_look, &s, &ignored);
    }
    pml_env__free(env, dir);
}
