/* SPDX-License-Identifier: Apache-2.0 */
#include "support/progress_world.h"

#include <stdio.h>
#include <string.h>

#include "util/number.h"

const char *const world_keys[1] = {"dt"};
static const char *const rows[WORLD_PARTS] = {"p", "q", "Q"};
static const char *const texts[WORLD_PARTS][1] = {{"p"}, {"q"}, {"q"}};

void world_init(world *w, test_env *t)
{
    memset(w, 0, sizeof *w);
    w->env = t->env;
    w->earliest = 1;
}

void world_free_from(world *w, int n)
{
    for (int i = n; i < w->n_progress; i++)
        pml_env__free(w->env, w->progress[i].text);
    w->n_progress = n;
}

pml_pb_texts world_pb(int part)
{
    return (pml_pb_texts){1, texts[part], 0};
}

/* ---- the source ---- */

static int enter(world *w, pml_error *err)
{
    w->calls++;
    if (w->calls == w->grow_at)
        w->latest = w->grow_to;
    if (w->calls == w->expire_at)
        world_expire(w, w->expire_to);
    if (w->calls == w->fail_at)
        return pml_error__set(err, w->fail_code, "injected");
    return PML_OK;
}

static int source_latest(void *arg, int64_t *id, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    *id = w->latest == 0 ? -1 : w->latest;
    return PML_OK;
}

static int source_earliest(void *arg, int64_t *id, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    *id = w->latest == 0 ? -1 : w->earliest;
    return PML_OK;
}

static int source_load(void *arg, pml_snapshot *out, pml_arena *arena, int64_t id, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    if (id < w->earliest || id > w->latest)
        return pml_error__set(err, PML_E_NOT_FOUND, "no snapshot %lld", (long long)id);
    const world_snapshot *s = &w->snapshots[id];
    *out = (pml_snapshot){.version = 3, .id = id, .commit_kind = s->kind, .commit_user = s->user, .operation = s->operation,
                          .delta_manifest_list = "manifest-list-x"};
    out->commit_identifier = s->identifier;
    out->time_ms = s->time_ms;
    if (s->property < 0)
        return PML_OK;
    pml_option *o = pml_arena__alloc(arena, sizeof *o);
    char *value = pml_arena__alloc(arena, 40);
    if (o == NULL || value == NULL)
        return pml_error__no_memory(err);
    (void)snprintf(value, 40, "metadata/%d.offsets", s->property);
    *o = (pml_option){PML_PROGRESS_PROPERTY, value};
    out->properties = o;
    out->n_properties = 1;
    return PML_OK;
}

static pml_manifest_entry entry_of(int kind, int part)
{
    pml_manifest_entry e = {.kind = kind, .total_buckets = 1};
    e.partition = (pml_bytes){(const uint8_t *)rows[part], strlen(rows[part])};
    return e;
}

static int source_delta(void *arg, const pml_snapshot *s, pml_manifest_keep_fn visit, void *ctx, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    const world_snapshot *from = &w->snapshots[s->id];
    if (from->manifests_gone || s->id < w->earliest)
        return pml_error__set(err, PML_E_SNAPSHOT_GONE, "manifests of %lld are gone", (long long)s->id);
    for (int i = 0; i < from->n_delta; i++) {
        const pml_manifest_entry e = entry_of(from->delta[i].kind, from->delta[i].part);
        (void)visit(ctx, &e);
    }
    return PML_OK;
}

static int source_live(void *arg, pml_manifest_entries *out, pml_arena *arena, const pml_snapshot *s, pml_manifest_keep_fn keep,
                       void *ctx, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    out->n = 0;
    out->v = pml_arena__array(arena, WORLD_PARTS * WORLD_FILES, sizeof *out->v);
    if (out->v == NULL)
        return pml_error__no_memory(err);
    for (int part = 0; part < WORLD_PARTS; part++)
        for (int file = 0; file < WORLD_FILES; file++) {
            const pml_manifest_entry e = entry_of(PML_ENTRY_ADD, part);
            if ((w->snapshots[s->id].live[part] >> file & 1) != 0 && keep(ctx, &e))
                out->v[out->n++] = e;
        }
    return PML_OK;
}

static int source_texts(void *arg, pml_pb_texts *out, pml_arena *arena, pml_bytes partition, pml_error *err)
{
    (void)arg, (void)arena;
    for (int part = 0; part < WORLD_PARTS; part++)
        if (partition.len == 1 && partition.ptr[0] == (uint8_t)rows[part][0]) {
            *out = world_pb(part);
            return PML_OK;
        }
    return pml_error__set(err, PML_E_CORRUPT, "no such partition row");
}

static int number_of(const char *property)
{
    int64_t n = -1;
    size_t digits = strlen(property) - strlen("metadata/") - strlen(PML_PROGRESS_SUFFIX);
    assert_true(pml_number__int64(&n, property + strlen("metadata/"), digits));
    return (int)n;
}

static int source_read(void *arg, pml_progress *out, const char *property, pml_error *err)
{
    world *w = arg;
    PML_RETURN_IF(enter(w, err));
    const world_progress *f = &w->progress[number_of(property)];
    if (!f->exists)
        return pml_error__set(err, PML_E_NOT_FOUND, "%s is missing", property);
    return pml_progress__parse(out, (pml_bytes){(const uint8_t *)f->text, f->len}, property, err);
}

static int source_any(void *arg, bool *out, pml_error *err)
{
    world *w = arg;
    *out = false;
    PML_RETURN_IF(enter(w, err));
    for (int i = 0; i < w->n_progress; i++)
        *out = *out || w->progress[i].exists;
    return PML_OK;
}

pml_effective_source world_source(world *w)
{
    return (pml_effective_source){w,           source_latest, source_earliest, source_load, source_delta,
                                  source_live, source_texts,  source_read,     source_any};
}

pml_effective_options world_options(int policy)
{
    return (pml_effective_options){1, world_keys, policy, 1000, false};
}

/* ---- snapshots ---- */

world_snapshot world_begin(const world *w, pml_commit_kind kind, const char *user, int64_t identifier)
{
    world_snapshot s = {.kind = kind, .user = user, .identifier = identifier, .property = -1};
    s.time_ms = 1000000 + 7 * w->latest;
    if (w->latest > 0)
        memcpy(s.live, w->snapshots[w->latest].live, sizeof s.live);
    return s;
}

static void note(world_snapshot *s, int kind, int part, int file)
{
    assert_true(s->n_delta < WORLD_DELTA && file < WORLD_FILES);
    s->delta[s->n_delta++] = (world_entry){kind, part, file};
    s->live[part] = kind == PML_ENTRY_ADD ? s->live[part] | 1u << file : s->live[part] & ~(1u << file);
}

void world_add(world *w, world_snapshot *s, int part)
{
    note(s, PML_ENTRY_ADD, part, w->n_files++);
}

bool world_delete_one(const world *w, world_snapshot *s, int part)
{
    int file = 0;
    (void)w;
    while (file < WORLD_FILES && (s->live[part] >> file & 1) == 0)
        file++;
    if (file < WORLD_FILES)
        note(s, PML_ENTRY_DELETE, part, file);
    return file < WORLD_FILES;
}

void world_delete_all(const world *w, world_snapshot *s, int part)
{
    while (world_delete_one(w, s, part))
        continue;
}

void world_publish(world *w, const world_snapshot *s)
{
    assert_true(w->latest + 1 < WORLD_SNAPSHOTS);
    w->snapshots[++w->latest] = *s;
}

void world_java_append(world *w, int part)
{
    world_snapshot s = world_begin(w, PML_COMMIT_APPEND, "java", w->latest + 1);
    world_add(w, &s, part);
    world_publish(w, &s);
}

void world_java_compact(world *w, int part)
{
    world_snapshot s = world_begin(w, PML_COMMIT_COMPACT, "java", w->latest + 1);
    world_delete_all(w, &s, part);
    if (s.n_delta == 0)
        return;
    world_add(w, &s, part);
    world_publish(w, &s);
}

void world_java_overwrite(world *w, int part)
{
    world_snapshot s = world_begin(w, PML_COMMIT_OVERWRITE, "java", w->latest + 1);
    world_delete_all(w, &s, part);
    world_add(w, &s, part);
    world_publish(w, &s);
}

void world_java_truncate(world *w)
{
    world_snapshot s = world_begin(w, PML_COMMIT_OVERWRITE, "java", w->latest + 1);
    for (int part = 0; part < WORLD_PARTS; part++)
        world_delete_all(w, &s, part);
    world_publish(w, &s);
}

bool world_java_rewrite(world *w, int part, const char *operation)
{
    world_snapshot s = world_begin(w, PML_COMMIT_OVERWRITE, "java", w->latest + 1);
    s.operation = operation;
    if (!world_delete_one(w, &s, part))
        return false;
    world_add(w, &s, part);
    world_publish(w, &s);
    return true;
}

/* ---- our commits ---- */

static int store_file(int *number, world *w, pml_progress *p, pml_error *err)
{
    pml_buf out;
    assert_true(w->n_progress < WORLD_PROGRESS);
    world_progress *f = &w->progress[w->n_progress];
    pml_buf__init(&out, w->env, PML_PROGRESS_FILE_MAX);
    int rc = pml_progress__write(&out, p, err);
    if (rc == PML_OK) {
        f->text = (char *)pml_buf__take(&out, &f->len);
        rc = f->text == NULL ? pml_error__no_memory(err) : PML_OK;
    }
    if (rc == PML_OK) {
        f->exists = true;
        *number = w->n_progress++;
    }
    pml_buf__clear(&out);
    return rc;
}

int world_build(world *w, pml_progress_build *b, world_snapshot *s, int policy, pml_error *err)
{
    const pml_effective_source source = world_source(w);
    const pml_effective_options o = world_options(policy);
    pml_effective *base = NULL;
    pml_progress_result r = {0};
    int rc;
    PML_TRY(pml_effective__load(&base, w->env, &source, &o, NULL, NULL, err));
    b->base = base->snapshot_id < 0 ? NULL : base;
    b->n_keys = 1;
    b->keys = world_keys;
    b->snapshot_id = w->latest + 1;
    b->earliest_id = w->earliest;
    b->commit_user = s->user;
    b->commit_identifier = s->identifier;
    PML_TRY(pml_progress__build(&r, w->env, b, err));
    s->property = r.action == PML_PROGRESS_CARRY ? number_of(r.carried) : -1;
    if (r.action == PML_PROGRESS_WRITE)
        rc = store_file(&s->property, w, &r.next, err);
out:
    pml_progress_result__clear(&r);
    pml_effective__release(base);
    b->base = NULL;
    return rc;
}

void world_expire(world *w, int64_t earliest)
{
    if (earliest > w->earliest && earliest <= w->latest)
        w->earliest = earliest;
}

void world_clean(world *w, bool keep_newest)
{
    bool kept = !keep_newest;
    for (int i = w->n_progress - 1; i >= 0; i--) {
        bool used = false;
        for (int64_t id = w->earliest; id <= w->latest; id++)
            used = used || w->snapshots[id].property == i;
        if (!w->progress[i].exists)
            continue;
        w->progress[i].exists = used || !kept;
        kept = true;
    }
}
