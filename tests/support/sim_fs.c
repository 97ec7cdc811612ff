/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are entries, each with the inodes it has meant since the last sync of its directory (states[0] is the durable one,
 * the last one is what programs see; NULL is "no such name"). Entries lie in one array in the order of their creation and
 * are found by a scan over hashes: a test has hundreds of names, not millions. Inodes live until sim_fs_free.
 */
#include "support/sim_fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/thread.h"

enum { SIM_PATH_MAX = 1024, SIM_NAME_MAX = 255 };

typedef struct inode {
    struct inode *next; /* all inodes, for the end */
    bool directory;
    uint8_t *data;
    size_t len, cap, durable_len; /* files only grow: the durable content is a prefix */
    int64_t mtime_ms;
} inode;

typedef struct entry {
    char *path;
    uint64_t hash;
    inode **states;
    size_t n_states;
} entry;

typedef struct handle {
    inode *file;
    long long epoch; /* of the file system at the time of opening */
} handle;

struct sim_fs {
    pml_file_system fs;
    pml_mutex lock; /* guards all below */
    entry *entries;
    size_t n_entries, cap_entries;
    inode *inodes;
    long long operations, budget; /* budget: operations until the crash, -1: no crash planned */
    long long epoch;              /* number of crashes */
    bool down;
    int64_t now_ms;
};

static void *must_have(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- paths and entries ------------------------------------------------------------------------------------------- */

/* "a//b/./" -> "/a/b"; the root is "". False: too long, and out is "". */
static bool clean_path(char out[SIM_PATH_MAX], const char *path)
{
    size_t n = 0;
    out[0] = '\0';
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        if (len > SIM_NAME_MAX || n + len + 2 > SIM_PATH_MAX) {
            out[0] = '\0';
            return false;
        }
        if (len > 0 && !(len == 1 && path[0] == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, len);
            n += len;
        }
        path += len + (path[len] == '/');
    }
    out[n] = '\0';
    return true;
}

static uint64_t path_hash(const char *p)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *p != '\0'; p++)
        h = (h ^ (uint8_t)*p) * 0x100000001B3u;
    return h;
}

static entry *entry_find(sim_fs *s, const char *path)
{
    uint64_t hash = path_hash(path);
    for (size_t i = 0; i < s->n_entries; i++)
        if (s->entries[i].hash == hash && strcmp(s->entries[i].path, path) == 0)
            return &s->entries[i];
    return NULL;
}

static inode *entry_live(const entry *e)
{
    return e == NULL ? NULL : e->states[e->n_states - 1];
}

static inode *live_at(sim_fs *s, const char *path)
{
    return entry_live(entry_find(s, path));
}

static bool is_directory(sim_fs *s, const char *path)
{
    const inode *i = live_at(s, path);
    return path[0] == '\0' || (i != NULL && i->directory);
}

static void parent_of(char out[SIM_PATH_MAX], const char *path)
{
    size_t n = path[0] == '\0' ? 0 : (size_t)(strrchr(path, '/') - path);
    memmove(out, path, n);
    out[n] = '\0';
}

static bool is_child(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/' && strchr(path + n + 1, '/') == NULL;
}

/* A new state of the name, not yet durable. */
static void entry_push(sim_fs *s, const char *path, inode *node)
{
    entry *e = entry_find(s, path);
    if (e == NULL) {
        if (s->n_entries == s->cap_entries) {
            s->cap_entries = s->cap_entries == 0 ? 64 : s->cap_entries * 2;
            s->entries = must_have(realloc(s->entries, s->cap_entries * sizeof *s->entries));
        }
        e = &s->entries[s->n_entries++];
        *e = (entry){must_have(strdup(path)), path_hash(path), must_have(calloc(1, sizeof(inode *))), 1};
    }
    e->states = must_have(realloc(e->states, (e->n_states + 1) * sizeof(inode *)));
    e->states[e->n_states++] = node;
}

static inode *inode_new(sim_fs *s, bool directory)
{
    inode *i = must_have(calloc(1, sizeof *i));
    i->directory = directory;
    i->mtime_ms = s->now_ms++;
    i->next = s->inodes;
    s->inodes = i;
    return i;
}

/* The entry means only this from now on. Entries of names that never were are dropped by compact. */
static void entry_settle(entry *e, inode *node)
{
    e->states[0] = node;
    e->n_states = 1;
}

static void compact(sim_fs *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_entries; i++) {
        entry *e = &s->entries[i];
        if (e->n_states == 1 && e->states[0] == NULL) {
            free(e->path);
            free(e->states);
        } else {
            s->entries[n++] = *e;
        }
    }
    s->n_entries = n;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Takes the lock when PML_OK. */
static int begin(sim_fs *s, pml_error *err)
{
    pml_mutex__lock(&s->lock);
    if (s->budget == 0 || s->down) {
        s->down = true;
        pml_mutex__unlock(&s->lock);
        return pml_error__set(err, PML_E_IO, "the simulated machine is down");
    }
    s->budget -= s->budget > 0;
    s->operations++;
    return PML_OK;
}

static int end(sim_fs *s, int rc, const char *path, pml_error *err)
{
    pml_mutex__unlock(&s->lock);
    if (rc != PML_OK) {
        (void)pml_error__at(err, rc, PML_PLACE_FILE, path, "simulated files: %s for %s", pml_error_name(rc), path);
        pml_error__add_flags(err, PML_ERRF_NO_EFFECT);
    }
    return rc;
}

static int sim_open_read(void *ctx, void **file, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX];
    int rc = PML_E_IO;
    *file = NULL;
    PML_RETURN_IF(begin(s, err));
    inode *i = clean_path(p, path) ? live_at(s, p) : NULL;
    if (i == NULL) {
        rc = is_directory(s, p) ? PML_E_IO : PML_E_NOT_FOUND;
    } else if (!i->directory) {
        handle *h = must_have(malloc(sizeof *h));
        *h = (handle){i, s->epoch};
        *file = h;
        rc = PML_OK;
    }
    return end(s, rc, path, err);
}

static int sim_size(void *ctx, int64_t *size_bytes, void *file, pml_error *err)
{
    sim_fs *s = ctx;
    const handle *h = file;
    *size_bytes = 0;
    PML_RETURN_IF(begin(s, err));
    bool alive = h->epoch == s->epoch;
    if (alive)
        *size_bytes = (int64_t)h->file->len;
    return end(s, alive ? PML_OK : PML_E_IO, "a handle", err);
}

static int sim_read_at(void *ctx, size_t *got, void *file, int64_t offset, void *buf, size_t n, pml_error *err)
{
    sim_fs *s = ctx;
    const handle *h = file;
    *got = 0;
    PML_RETURN_IF(begin(s, err));
    bool alive = h->epoch == s->epoch && offset >= 0;
    if (alive && (uint64_t)offset < h->file->len) {
        size_t rest = h->file->len - (size_t)offset;
        *got = n < rest ? n : rest;
        if (*got > 0)
            memcpy(buf, h->file->data + offset, *got);
    }
    return end(s, alive ? PML_OK : PML_E_IO, "a handle", err);
}

static void sim_close_read(void *ctx, void *file)
{
    (void)ctx;
    free(file);
}

static int sim_create(void *ctx, void **file, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX], dir[SIM_PATH_MAX];
    int rc = PML_OK;
    *file = NULL;
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(p, path))
        return end(s, PML_E_IO, path, err);
    parent_of(dir, p);
    if (p[0] == '\0' || live_at(s, p) != NULL) {
        rc = PML_E_EXISTS;
    } else if (!is_directory(s, dir)) {
        rc = PML_E_NOT_FOUND;
    } else {
        handle *h = must_have(malloc(sizeof *h));
        *h = (handle){inode_new(s, false), s->epoch};
        entry_push(s, p, h->file);
        *file = h;
    }
    return end(s, rc, path, err);
}

static int sim_write(void *ctx, void *file, const void *buf, size_t n, pml_error *err)
{
    sim_fs *s = ctx;
    const handle *h = file;
    PML_RETURN_IF(begin(s, err));
    inode *i = h->file;
    if (h->epoch != s->epoch)
        return end(s, PML_E_IO, "a handle", err);
    if (i->len + n > i->cap) {
        i->cap = (i->len + n) * 2;
        i->data = must_have(realloc(i->data, i->cap));
    }
    if (n > 0)
        memcpy(i->data + i->len, buf, n);
    i->len += n;
    i->mtime_ms = s->now_ms++;
    return end(s, PML_OK, NULL, err);
}

static int sim_sync(void *ctx, void *file, pml_error *err)
{
    sim_fs *s = ctx;
    const handle *h = file;
    PML_RETURN_IF(begin(s, err));
    bool alive = h->epoch == s->epoch;
    if (alive)
        h->file->durable_len = h->file->len;
    return end(s, alive ? PML_OK : PML_E_IO, "a handle", err);
}

static int sim_close_write(void *ctx, void *file, pml_error *err)
{
    sim_fs *s = ctx;
    handle *h = file;
    long long epoch = h->epoch;
    free(h);
    PML_RETURN_IF(begin(s, err));
    return end(s, epoch == s->epoch ? PML_OK : PML_E_IO, "a handle", err);
}

/* publish and replace differ only in whether a taken name is in the way. */
static int sim_move(sim_fs *s, const char *from, const char *to, bool link, pml_error *err)
{
    char f[SIM_PATH_MAX], t[SIM_PATH_MAX], dir[SIM_PATH_MAX];
    int rc = PML_OK;
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(f, from) || !clean_path(t, to))
        return end(s, PML_E_IO, to, err);
    parent_of(dir, t);
    inode *i = live_at(s, f), *old = live_at(s, t);
    if (i == NULL || !is_directory(s, dir))
        rc = PML_E_NOT_FOUND;
    else if (link && old != NULL)
        rc = PML_E_EXISTS;
    else if (i->directory || (old != NULL && old->directory))
        rc = PML_E_IO;
    else if (i != old)
        entry_push(s, t, i);
    if (rc == PML_OK && !link && strcmp(f, t) != 0)
        entry_push(s, f, NULL);
    return end(s, rc, to, err);
}

static int sim_publish(void *ctx, const char *from, const char *to, pml_error *err)
{
    return sim_move(ctx, from, to, true, err);
}

static int sim_replace(void *ctx, const char *from, const char *to, pml_error *err)
{
    return sim_move(ctx, from, to, false, err);
}

static bool has_children(sim_fs *s, const char *dir)
{
    for (size_t i = 0; i < s->n_entries; i++)
        if (entry_live(&s->entries[i]) != NULL && is_child(dir, s->entries[i].path))
            return true;
    return false;
}

static int sim_remove(sim_fs *s, const char *path, bool directory, pml_error *err)
{
    char p[SIM_PATH_MAX];
    int rc = PML_OK;
    PML_RETURN_IF(begin(s, err));
    const inode *i = clean_path(p, path) ? live_at(s, p) : NULL;
    if (i == NULL)
        rc = PML_E_NOT_FOUND;
    else if (!directory && i->directory)
        rc = PML_E_IO;
    else if (directory && !i->directory)
        rc = PML_E_NOT_FOUND; /* as ENOTDIR */
    else if (directory && has_children(s, p))
        rc = PML_E_EXISTS;
    else
        entry_push(s, p, NULL);
    return end(s, rc, path, err);
}

static int sim_remove_file(void *ctx, const char *path, pml_error *err)
{
    return sim_remove(ctx, path, false, err);
}

static int sim_remove_directory(void *ctx, const char *path, pml_error *err)
{
    return sim_remove(ctx, path, true, err);
}

static int sim_make_directory(void *ctx, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX], dir[SIM_PATH_MAX];
    int rc = PML_OK;
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(p, path))
        return end(s, PML_E_IO, path, err);
    parent_of(dir, p);
    if (p[0] == '\0' || live_at(s, p) != NULL)
        rc = PML_E_EXISTS;
    else if (!is_directory(s, dir))
        rc = PML_E_NOT_FOUND;
    else
        entry_push(s, p, inode_new(s, true));
    return end(s, rc, path, err);
}

static int sim_sync_directory(void *ctx, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX];
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(p, path) || !is_directory(s, p))
        return end(s, PML_E_NOT_FOUND, path, err);
    for (size_t i = 0; i < s->n_entries; i++)
        if (is_child(p, s->entries[i].path))
            entry_settle(&s->entries[i], entry_live(&s->entries[i]));
    compact(s);
    return end(s, PML_OK, path, err);
}

static int sim_stat(void *ctx, pml_file_info *info, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX];
    *info = (pml_file_info){.struct_size = sizeof *info};
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(p, path))
        return end(s, PML_E_IO, path, err);
    const inode *i = live_at(s, p);
    if (i == NULL && p[0] != '\0')
        return end(s, PML_E_NOT_FOUND, path, err);
    info->kind = is_directory(s, p) ? PML_FILE_DIRECTORY : PML_FILE_REGULAR;
    info->size_bytes = i == NULL ? 0 : (int64_t)i->len;
    info->mtime_ms = i == NULL ? 0 : i->mtime_ms;
    return end(s, PML_OK, path, err);
}

typedef struct listed {
    char name[SIM_NAME_MAX + 1];
    uint32_t kind;
} listed;

/* The names are copied first: the callback runs without the lock. */
static int sim_list(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err)
{
    sim_fs *s = ctx;
    char p[SIM_PATH_MAX];
    size_t n = 0;
    int rc = PML_OK;
    PML_RETURN_IF(begin(s, err));
    if (!clean_path(p, path) || !is_directory(s, p))
        return end(s, PML_E_NOT_FOUND, path, err);
    listed *names = must_have(malloc((s->n_entries + 1) * sizeof *names));
    for (size_t i = 0; i < s->n_entries; i++) {
        const inode *node = entry_live(&s->entries[i]);
        if (node == NULL || !is_child(p, s->entries[i].path))
            continue;
        (void)snprintf(names[n].name, sizeof names[n].name, "%s", s->entries[i].path + strlen(p) + 1);
        names[n++].kind = node->directory ? PML_FILE_DIRECTORY : PML_FILE_REGULAR;
    }
    pml_mutex__unlock(&s->lock);
    for (size_t i = 0; i < n && rc == PML_OK; i++)
        rc = fn(arg, names[i].name, names[i].kind);
    free(names);
    return rc;
}

/* ---- the power cut ----------------------------------------------------------------------------------------------- */

/* The durable prefix stays. Of the rest a random part stays, and a random part of that is zeros. */
static void inode_crash(inode *i, uint64_t seed, uint64_t *random)
{
    size_t tail = i->len - i->durable_len;
    if (i->directory || tail == 0 || seed == SIM_FS_KEEP_ALL) {
        i->durable_len = i->len;
        return;
    }
    uint64_t kind = seed == SIM_FS_LOSE_ALL ? 0 : next_random(random) % 4;
    size_t keep = kind == 0 ? 0 : kind == 1 ? tail : (size_t)(next_random(random) % (tail + 1));
    if (kind == 3 && keep > 0) {
        size_t from = (size_t)(next_random(random) % keep), n = 1 + (size_t)(next_random(random) % (keep - from));
        memset(i->data + i->durable_len + from, 0, n);
    }
    i->len = i->durable_len + keep;
    i->durable_len = i->len;
}

static bool reachable(sim_fs *s, const char *path)
{
    char p[SIM_PATH_MAX];
    (void)snprintf(p, sizeof p, "%s", path);
    do {
        parent_of(p, p);
        if (!is_directory(s, p))
            return false;
    } while (p[0] != '\0');
    return true;
}

static void crash_locked(sim_fs *s, uint64_t seed)
{
    uint64_t random = seed;
    bool *lost = must_have(calloc(s->n_entries + 1, sizeof *lost));
    for (size_t i = 0; i < s->n_entries; i++) {
        entry *e = &s->entries[i];
        size_t choice = seed == SIM_FS_LOSE_ALL   ? 0
                        : seed == SIM_FS_KEEP_ALL ? e->n_states - 1
                                                  : (size_t)(next_random(&random) % e->n_states);
        entry_settle(e, e->states[choice]);
    }
    for (size_t i = 0; i < s->n_entries; i++)
        lost[i] = !reachable(s, s->entries[i].path);
    for (size_t i = 0; i < s->n_entries; i++)
        if (lost[i])
            entry_settle(&s->entries[i], NULL);
    free(lost);
    compact(s);
    for (inode *i = s->inodes; i != NULL; i = i->next)
        inode_crash(i, seed, &random);
    s->epoch++;
    s->down = false;
    s->budget = -1;
}

void sim_fs_crash(sim_fs *s, uint64_t seed)
{
    pml_mutex__lock(&s->lock);
    crash_locked(s, seed);
    pml_mutex__unlock(&s->lock);
}

void sim_fs_restart(sim_fs *s, uint64_t seed)
{
    sim_fs_crash(s, seed);
}

void sim_fs_crash_at(sim_fs *s, long long n)
{
    pml_mutex__lock(&s->lock);
    s->budget = n;
    pml_mutex__unlock(&s->lock);
}

bool sim_fs_is_down(sim_fs *s)
{
    pml_mutex__lock(&s->lock);
    bool down = s->down;
    pml_mutex__unlock(&s->lock);
    return down;
}

long long sim_fs_operations(sim_fs *s)
{
    pml_mutex__lock(&s->lock);
    long long n = s->operations;
    pml_mutex__unlock(&s->lock);
    return n;
}

static void settle_all(sim_fs *s)
{
    for (size_t i = 0; i < s->n_entries; i++)
        entry_settle(&s->entries[i], entry_live(&s->entries[i]));
    compact(s);
    for (inode *i = s->inodes; i != NULL; i = i->next)
        i->durable_len = i->len;
}

static int sim_sync_all(void *ctx, const char *path, pml_error *err)
{
    sim_fs *s = ctx;
    PML_RETURN_IF(begin(s, err));
    settle_all(s);
    return end(s, PML_OK, path, err);
}

void sim_fs_sync_all(sim_fs *s)
{
    pml_mutex__lock(&s->lock);
    settle_all(s);
    pml_mutex__unlock(&s->lock);
}

sim_fs *sim_fs_new(void)
{
    sim_fs *s = must_have(calloc(1, sizeof *s));
    pml_mutex__init(&s->lock, "sim_fs", 0);
    s->budget = -1;
    s->now_ms = 1767225600000;
    s->fs = (pml_file_system){
        .struct_size = sizeof s->fs,
        .ctx = s,
        .open_read = sim_open_read,
        .size = sim_size,
        .read_at = sim_read_at,
        .close_read = sim_close_read,
        .create = sim_create,
        .write = sim_write,
        .sync = sim_sync,
        .close_write = sim_close_write,
        .publish = sim_publish,
        .replace = sim_replace,
        .remove_file = sim_remove_file,
        .remove_directory = sim_remove_directory,
        .make_directory = sim_make_directory,
        .sync_directory = sim_sync_directory,
        .stat = sim_stat,
        .list = sim_list,
        .sync_all = sim_sync_all,
    };
    return s;
}

/* What node of one file system is in its copy: both have their inodes in the same order. */
static inode *same_in(const sim_fs *to, const sim_fs *from, const inode *node)
{
    inode *copy = to->inodes;
    for (const inode *i = from->inodes; i != NULL && i != node; i = i->next)
        copy = copy->next;
    return node == NULL ? NULL : copy;
}

static inode *inode_copy(const inode *node)
{
    inode *copy = must_have(malloc(sizeof *copy));
    *copy = *node;
    copy->cap = node->len;
    copy->data = must_have(malloc(node->len == 0 ? 1 : node->len));
    if (node->len > 0)
        memcpy(copy->data, node->data, node->len);
    return copy;
}

sim_fs *sim_fs_copy(sim_fs *s)
{
    sim_fs *to = sim_fs_new();
    pml_mutex__lock(&s->lock);
    to->now_ms = s->now_ms;
    inode **last = &to->inodes;
    for (const inode *i = s->inodes; i != NULL; i = i->next) {
        *last = inode_copy(i);
        last = &(*last)->next;
    }
    *last = NULL;
    to->n_entries = s->n_entries;
    to->cap_entries = s->n_entries + 1;
    to->entries = must_have(calloc(to->cap_entries, sizeof *to->entries));
    for (size_t i = 0; i < s->n_entries; i++) {
        const entry *e = &s->entries[i];
        to->entries[i] = (entry){must_have(strdup(e->path)), e->hash, must_have(malloc(e->n_states * sizeof(inode *))), e->n_states};
        for (size_t k = 0; k < e->n_states; k++)
            to->entries[i].states[k] = same_in(to, s, e->states[k]);
    }
    pml_mutex__unlock(&s->lock);
    return to;
}

void sim_fs_free(sim_fs *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n_entries; i++) {
        free(s->entries[i].path);
        free(s->entries[i].states);
    }
    free(s->entries);
    for (inode *i = s->inodes, *next; i != NULL; i = next) {
        next = i->next;
        free(i->data);
        free(i);
    }
    pml_mutex__destroy(&s->lock);
    free(s);
}

const pml_file_system *sim_fs_system(sim_fs *s)
{
    return &s->fs;
}
