/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean-up of progress files (7.5). Candidates are listed first, then what snapshots, tags and changelogs of all branches name is
 * collected, so that a file that a commit wrote in between is no candidate and a candidate that it named is referenced. Compared by
 * file name: a branch begins with a snapshot that names a file of main.
 */
#include <string.h>

#include "realtime/rt_offsets.h"
#include "storage/file_io.h"
#include "table/table.h"

enum {
    FILES_MAX = 16 * 1024 * 1024, /* of one listing */
    BRANCHES_MAX = 1000000
};

typedef struct candidate {
    const char *path, *name; /* name: in path */
    int64_t size, mtime_ms;
    size_t branch;
} candidate;

typedef struct clean {
    pml_env *env;
    pml_table *table;
    pml_arena arena;
    int64_t now_ms; /* before the candidates were listed: reading what refers to them makes no file older */
    size_t n_roots;
    const char **roots; /* main, then the branches */
    size_t n, cap;
    candidate *v;
    pml_map referenced; /* file names */
} clean;

/* ---- listing ---- */

/* Names of a directory that begin and end so, in the arena. */
typedef struct names {
    clean *k;
    const char *prefix, *suffix;
    uint32_t kind;
    size_t n, cap;
    const char **v;
} names;

/* Doubles the array; what is left behind in the arena is at most as much again. */
static void *grow(pml_arena *arena, void *v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return v;
    size_t wider = *cap == 0 ? 16 : *cap * 2;
    void *p = pml_arena__array(arena, wider, size);
    if (p != NULL && n > 0)
        memcpy(p, v, n * size);
    if (p != NULL)
        *cap = wider;
    return p;
}

static int note_name(void *arg, const char *name, uint32_t kind)
{
    names *l = arg;
    size_t n = strlen(name), prefix = strlen(l->prefix), suffix = strlen(l->suffix);
    if (kind != l->kind || n <= prefix + suffix || strncmp(name, l->prefix, prefix) != 0 || strcmp(name + n - suffix, l->suffix) != 0)
        return PML_OK;
    if (l->n >= FILES_MAX)
        return PML_E_LIMIT;
    const char **v = grow(&l->k->arena, l->v, l->n, &l->cap, sizeof *l->v);
    if (v == NULL)
        return PML_E_NOMEM;
    l->v = v;
    l->v[l->n] = pml_arena__strdup(&l->k->arena, name);
    return l->v[l->n++] == NULL ? PML_E_NOMEM : PML_OK;
}

/* A missing directory is empty. */
static int list(names *l, const char *root, const char *dir, pml_error *err)
{
    clean *k = l->k;
    char *path = pml_path__join(k->env, root, dir);
    if (path == NULL)
        return pml_error__no_memory(err);
    int rc = k->env->fs.list(k->env->fs.ctx, path, note_name, l, err);
    if (rc == PML_E_NOT_FOUND)
        rc = PML_OK;
    else if (rc == PML_E_NOMEM)
        rc = pml_error__no_memory(err);
    else if (rc == PML_E_LIMIT)
        rc = pml_error__at(err, rc, PML_PLACE_FILE, path, "%s has more than %d files of a kind", path, FILES_MAX);
    pml_env__free(k->env, path);
    return rc;
}

static const char *in_arena(clean *k, const char *root, const char *dir, const char *name)
{
    char *path = pml_env__format(k->env, "%s/%s/%s", root, dir, name);
    const char *kept = path == NULL ? NULL : pml_arena__strdup(&k->arena, path);
    pml_env__free(k->env, path);
    return kept;
}

static int find_roots(clean *k, pml_error *err)
{
    names l = {.k = k, .prefix = "branch-", .suffix = "", .kind = PML_FILE_DIRECTORY};
    PML_RETURN_IF(list(&l, k->table->path, "branch", err));
    if (l.n > BRANCHES_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%s has more than %d branches", k->table->path, BRANCHES_MAX);
    k->roots = pml_arena__array(&k->arena, l.n + 1, sizeof *k->roots);
    if (k->roots == NULL)
        return pml_error__no_memory(err);
    k->roots[k->n_roots++] = k->table->path;
    for (size_t i = 0; i < l.n; i++) {
        k->roots[k->n_roots] = in_arena(k, k->table->path, "branch", l.v[i]);
        if (k->roots[k->n_roots++] == NULL)
            return pml_error__no_memory(err);
    }
    return PML_OK;
}

static int find_candidates(clean *k, size_t branch, pml_error *err)
{
    names l = {.k = k, .prefix = "", .suffix = PML_PROGRESS_SUFFIX, .kind = PML_FILE_REGULAR};
    PML_RETURN_IF(list(&l, k->roots[branch], "metadata", err));
    for (size_t i = 0; i < l.n; i++) {
        pml_file_info info = {.struct_size = sizeof info};
        candidate *v = grow(&k->arena, k->v, k->n, &k->cap, sizeof *k->v);
        const char *path = in_arena(k, k->roots[branch], "metadata", l.v[i]);
        if (v == NULL || path == NULL)
            return pml_error__no_memory(err);
        k->v = v;
        int rc = k->env->fs.stat(k->env->fs.ctx, &info, path, err);
        if (rc == PML_E_NOT_FOUND) /* somebody else cleans, too */
            continue;
        if (rc != PML_OK)
            return rc;
        k->v[k->n++] = (candidate){path, strrchr(path, '/') + 1, info.size_bytes, info.mtime_ms, branch};
    }
    return PML_OK;
}

/* ---- references ---- */

static int note_reference(clean *k, pml_arena *scratch, const char *path, pml_error *err)
{
    pml_snapshot s;
    pml_arena__reset(scratch);
    int rc = pml_table__load_snapshot_file(&s, scratch, k->table, path, err);
    if (rc == PML_E_NOT_FOUND) /* expired or deleted meanwhile */
        return PML_OK;
    if (rc != PML_OK)
        return rc;
    const char *value = pml_snapshot__property(&s, PML_PROGRESS_PROPERTY);
    if (value == NULL)
        return PML_OK;
    const char *name = strrchr(value, '/');
    name = name == NULL ? value : name + 1;
    return pml_map__put(&k->referenced, name, strlen(name), k, NULL) == PML_OK ? PML_OK : pml_error__no_memory(err);
}

static int note_references(clean *k, const char *root, pml_error *err)
{
    static const struct {
        const char *dir, *prefix;
        bool numbered;
    } places[] = {{"snapshot", "snapshot-", true}, {"changelog", "changelog-", true}, {"tag", "tag-", false}};
    pml_arena scratch;
    int rc = PML_OK;
    pml_arena__init(&scratch, k->env);
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        names l = {.k = k, .prefix = places[p].prefix, .suffix = "", .kind = PML_FILE_REGULAR};
        PML_TRY(list(&l, root, places[p].dir, err));
        for (size_t i = 0; i < l.n; i++) {
            const char *rest = l.v[i] + strlen(places[p].prefix);
            if (places[p].numbered && rest[strspn(rest, "0123456789")] != '\0')
                continue; /* a temporary name */
            const char *path = in_arena(k, root, places[p].dir, l.v[i]);
            if (path == NULL) {
                rc = pml_error__no_memory(err);
                goto out;
            }
            PML_TRY(note_reference(k, &scratch, path, err));
        }
    }
out:
    pml_arena__clear(&scratch);
    return rc;
}

/* All roots that there are now; those of the candidates are k->roots again afterwards. */
static int note_all(clean *k, pml_error *err)
{
    const char **roots = k->roots;
    size_t n_roots = k->n_roots;
    k->n_roots = 0;
    int rc = find_roots(k, err);
    for (size_t i = 0; rc == PML_OK && i < k->n_roots; i++)
        rc = note_references(k, k->roots[i], err);
    k->roots = roots;
    k->n_roots = n_roots;
    return rc;
}

/* ---- what goes ---- */

/* What names a file no more may be back after a power cut, and then misses it: that it is gone is made durable first. */
static int settle_references(const clean *k, pml_error *err)
{
    static const char *const dirs[] = {"snapshot", "changelog", "tag"};
    int rc = PML_OK;
    if (k->table->options.commit_durability == PML_DURABILITY_NONE)
        return PML_OK;
    for (size_t i = 0; rc == PML_OK && i < k->n_roots; i++)
        for (size_t d = 0; rc == PML_OK && d < sizeof dirs / sizeof dirs[0]; d++) {
            bool there;
            char *path = pml_path__join(k->env, k->roots[i], dirs[d]);
            rc = path == NULL ? pml_error__no_memory(err) : pml_file__exists(&there, k->env, path, err);
            if (rc == PML_OK && there)
                rc = pml_file__sync_directory(k->env, path, err);
            pml_env__free(k->env, path);
        }
    return rc;
}

/* First error of removing; the others are tried. */
static int remove_orphans(pml_rt_clean_result *out, clean *k, const pml_rt_clean_options *o, pml_error *err)
{
    int rc = PML_OK;
    bool dry = (o->flags & PML_RT_CLEAN_DRY_RUN) != 0, settled = dry;
    int64_t *newest_ms = pml_env__calloc(k->env, k->n_roots, sizeof *newest_ms);
    if (newest_ms == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < k->n_roots; i++)
        newest_ms[i] = INT64_MIN;
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].mtime_ms > newest_ms[k->v[i].branch])
            newest_ms[k->v[i].branch] = k->v[i].mtime_ms;
    for (size_t i = 0; i < k->n; i++) {
        const candidate *c = &k->v[i];
        int64_t age;
        if (pml_map__has(&k->referenced, c->name, strlen(c->name))) {
            out->referenced++;
        } else if (c->mtime_ms >= newest_ms[c->branch]) {
            out->newest++;
        } else if (__builtin_sub_overflow(k->now_ms, c->mtime_ms, &age) || age <= o->older_than_ms) {
            out->young++;
        } else {
            if (!settled)
                PML_TRY(settle_references(k, err));
            settled = true;
            int removed = dry ? PML_OK : pml_file__remove(k->env, c->path, rc == PML_OK ? err : NULL);
            rc = rc == PML_OK ? removed : rc;
            if (removed != PML_OK)
                continue;
            out->orphans++;
            out->orphan_bytes += c->size;
            if (o->orphan != NULL)
                o->orphan(o->ctx, c->path, c->size, c->mtime_ms);
        }
    }
out:
    pml_env__free(k->env, newest_ms);
    return rc;
}

int pml_rt_offsets_clean(pml_rt_clean_result *out, pml_table *table, const pml_rt_clean_options *options, pml_error *err)
{
    const pml_rt_clean_options defaults = PML_RT_CLEAN_OPTIONS_INIT, *o = options == NULL ? &defaults : options;
    pml_rt_clean_result unused = PML_RT_CLEAN_RESULT_INIT;
    clean k = {.env = table->env, .table = table, .now_ms = pml_env__wall_ms(table->env)};
    int rc;
    out = out == NULL ? &unused : out;
    if (o->struct_size != sizeof *o || out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL, "struct_size of clean options or result is not what this library knows");
    if ((o->flags & ~(uint32_t)PML_RT_CLEAN_DRY_RUN) != 0 || o->reserved != 0 || o->older_than_ms < 0)
        return pml_error__set(err, PML_E_INVAL, "clean: flags %u, older than %lld ms: unknown flags, or a negative time", o->flags,
                              (long long)o->older_than_ms);
    *out = (pml_rt_clean_result)PML_RT_CLEAN_RESULT_INIT;
    pml_arena__init(&k.arena, k.env);
    pml_map__init(&k.referenced, k.env);
    PML_TRY(find_roots(&k, err));
    for (size_t i = 0; i < k.n_roots; i++)
        PML_TRY(find_candidates(&k, i, err));
    /* Twice: what only a tag named may move to a place that was looked at already, as when a branch is made of the tag, or the table
       goes back to it, and the tag is deleted then. */
    for (int i = 0; i < 2 && k.n > 0; i++)
        PML_TRY(note_all(&k, err));
    PML_TRY(remove_orphans(out, &k, o, err));
out:
    pml_map__clear(&k.referenced, NULL);
    pml_arena__clear(&k.arena);
    return rc;
}
