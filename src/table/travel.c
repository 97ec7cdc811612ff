/* SPDX-License-Identifier: Apache-2.0 */
#include "table/travel.h"

#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"

enum {
    TAG_NAME_MAX = 255 - 4, /* "tag-" in front of it; longer names no file system takes */
    TAGS_NAMED = 8,         /* of those there are, in a message */
    EARLIEST_TRIES = 3      /* expiry runs beside us */
};
#define TAG_PREFIX "tag-"

pml_travel pml_travel__of_options(const pml_table_options *o)
{
    pml_travel t = {.by = (int)o->scan_by, .mode = o->between_mode, .tag_to_snapshot = o->between_tag_to_snapshot};
    switch (o->scan_by) {
    case PML_SCAN_LATEST: t.by = o->scan_mode == PML_START_COMPACTED_FULL ? PML_SCAN_COMPACTED : PML_SCAN_LATEST; break;
    case PML_SCAN_ID: t.value = o->scan_snapshot_id; break;
    case PML_SCAN_TAG: t.tag = o->scan_tag; break;
    case PML_SCAN_TIME: t.value = o->scan_timestamp_ms; break;
    case PML_SCAN_WATERMARK: t.value = o->scan_watermark; break;
    case PML_SCAN_BETWEEN: t.tag = o->scan_between; break;
    case PML_SCAN_BETWEEN_TIMES: t.tag = o->scan_between_times; break;
    case PML_SCAN_TO_AUTO_TAG: t.tag = o->scan_to_auto_tag; break;
    }
    return t;
}

/* ---- latest and id ---- */

/* Expiry goes upwards: a snapshot that lacks while an older one is there did not expire. */
static int gone(pml_table *t, int64_t id, pml_error *err)
{
    int64_t first = -1;
    (void)pml_table__earliest_snapshot(&first, t, NULL);
    if (first > 0 && first < id)
        return pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_SNAPSHOT, t->path,
                             "the file of snapshot %lld of %s is missing, although older ones are there (%lld is the first): put it back, "
                             "or choose a snapshot by its number",
                             (long long)id, t->path, (long long)first);
    return pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_SNAPSHOT, t->path,
                         "snapshot %lld of %s expired while it was planned; plan again", (long long)id, t->path);
}

static int find_latest(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, int64_t min_latest, pml_error *err)
{
    int64_t id;
    PML_RETURN_IF(pml_table__latest_since(&id, t, min_latest, err));
    if (id < 0)
        return PML_OK;
    int rc = pml_table__load_snapshot(s, arena, t, id, err);
    *found = rc == PML_OK;
    return rc == PML_E_NOT_FOUND ? gone(t, id, err) : rc;
}

int pml_travel__id(pml_snapshot *s, pml_arena *arena, pml_table *t, int64_t id, pml_error *err)
{
    int64_t first = -1, last = -1;
    int rc = pml_table__load_snapshot(s, arena, t, id, err);
    if (rc != PML_E_NOT_FOUND)
        return rc;
    (void)pml_table__earliest_snapshot(&first, t, NULL);
    (void)pml_table__latest_snapshot(&last, t, false, NULL);
    if (last < 0)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "%s has no snapshot yet, so none with id %lld", t->path, (long long)id);
    return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                         id > first && id < last ? "%s has no snapshot %lld: its file is missing, although there are %lld to %lld"
                                                 : "%s has no snapshot %lld: there are %lld to %lld",
                         t->path, (long long)id, (long long)first, (long long)last);
}

/* ---- tags ---- */

int pml_travel__check_tag(const char *name, pml_error *err)
{
    size_t n = name == NULL ? 0 : strlen(name);
    if (n > 0 && n <= TAG_NAME_MAX && strchr(name, '/') == NULL && !pml_path__is_blank(name, n))
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL,
                          "'%.300s' is no name of a tag: it has 1 to %d bytes, not only blanks and no '/'",
                          name == NULL ? "" : name, TAG_NAME_MAX);
}

typedef struct tag_names {
    pml_env *env;
    char *least[TAGS_NAMED]; /* in byte order */
    size_t n, all;
    int rc;
} tag_names;

/* Keeps the first ones in byte order: listings come in any. */
static int note_tag(void *arg, const char *name, uint32_t kind)
{
    tag_names *t = arg;
    size_t at = 0;
    if (kind == PML_FILE_DIRECTORY || strncmp(name, TAG_PREFIX, strlen(TAG_PREFIX)) != 0)
        return 0;
    name += strlen(TAG_PREFIX);
    t->all++;
    while (at < t->n && strcmp(t->least[at], name) < 0)
        at++;
    if (at == TAGS_NAMED)
        return 0;
    char *copy = pml_env__strdup(t->env, name);
    if (copy == NULL)
        return 0; /* the message is the poorer for it */
    if (t->n == TAGS_NAMED)
        pml_env__free(t->env, t->least[--t->n]);
    memmove(&t->least[at + 1], &t->least[at], (t->n - at) * sizeof t->least[0]);
    t->least[at] = copy;
    t->n++;
    return 0;
}

static int tag_missing(pml_table *t, const char *dir, const char *name, pml_error *err)
{
    tag_names names = {.env = t->env};
    char list[256] = "";
    (void)t->env->fs.list(t->env->fs.ctx, dir, note_tag, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        size_t at = strlen(list);
        (void)snprintf(list + at, sizeof list - at, "%s%.100s", i == 0 ? "" : ", ", names.least[i]);
        pml_env__free(t->env, names.least[i]);
    }
    if (names.all == 0)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "%s has no tag '%s': it has none at all", t->path, name);
    return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path, "%s has no tag '%s': there %s %s%s",
                         t->path, name, names.all == 1 ? "is" : "are", list, names.all > names.n ? " and more" : "");
}

int pml_travel__tag(pml_snapshot *s, pml_arena *arena, pml_table *t, const char *name, pml_error *err)
{
    char *path = NULL;
    int rc;
    PML_RETURN_IF(pml_travel__check_tag(name, err));
    char *dir = pml_path__join(t->env, t->branch_root, "tag");
    if (dir != NULL)
        path = pml_env__format(t->env, "%s/" TAG_PREFIX "%s", dir, name);
    rc = path == NULL ? pml_error__no_memory(err) : pml_table__load_snapshot_file(s, arena, t, path, err);
    if (rc == PML_E_NOT_FOUND)
        rc = tag_missing(t, dir, name, err);
    pml_env__free(t->env, path);
    pml_env__free(t->env, dir);
    return rc;
}

/* ---- time and watermark ---- */

typedef struct search {
    pml_table *t;
    bool by_time;
    int64_t first, latest; /* first: the earliest snapshot that has a value */
} search;

static int load_probe(pml_optional_int64 *value, const search *f, int64_t id, pml_error *err)
{
    pml_arena arena;
    pml_snapshot s;
    pml_arena__init(&arena, f->t->env);
    int rc = pml_table__load_snapshot(&s, &arena, f->t, id, err);
    if (rc == PML_OK)
        *value = f->by_time ? (pml_optional_int64){true, s.time_ms} : s.watermark;
    pml_arena__clear(&arena);
    return rc;
}

/* Of the snapshot, or of the nearest older one that has a value: the first one has. */
static int value_at(int64_t *value, const search *f, int64_t id, pml_error *err)
{
    pml_optional_int64 v = {0};
    for (int64_t i = id; i >= f->first && !v.present; i--) {
        int rc = load_probe(&v, f, i, err);
        if (rc != PML_OK)
            return rc == PML_E_NOT_FOUND ? gone(f->t, i, err) : rc;
    }
    *value = v.v;
    return PML_OK;
}

/* The earliest snapshot that has a value, and that value; *value stays absent when none has. */
static int find_first(pml_optional_int64 *value, search *f, pml_error *err)
{
    int rc = PML_E_NOT_FOUND;
    *value = (pml_optional_int64){0};
    for (int i = 0; rc == PML_E_NOT_FOUND && i < EARLIEST_TRIES; i++) {
        PML_RETURN_IF(pml_table__earliest_snapshot(&f->first, f->t, err));
        rc = f->first < 0 ? PML_OK : load_probe(value, f, f->first, err);
    }
    while (rc == PML_OK && f->first >= 0 && !value->present && f->first < f->latest)
        rc = load_probe(value, f, ++f->first, err);
    return rc == PML_E_NOT_FOUND ? gone(f->t, f->first, err) : rc;
}

static int halve(int64_t *best, const search *f, int64_t wanted, pml_error *err)
{
    int64_t low = f->first, high = f->latest, value = 0;
    *best = -1;
    while (low <= high) {
        int64_t middle = low + (high - low) / 2;
        PML_RETURN_IF(value_at(&value, f, middle, err));
        if (value == wanted) {
            *best = middle;
            break;
        }
        if (f->by_time ? value < wanted : value > wanted)
            *best = middle;
        if (value > wanted)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return PML_OK;
}

static int find_value(pml_snapshot *s, pml_arena *arena, pml_table *t, bool by_time, int64_t wanted, int64_t min_latest,
                      pml_error *err)
{
    search f = {.t = t, .by_time = by_time, .first = -1};
    pml_optional_int64 first;
    int64_t best = -1, last = 0;
    PML_RETURN_IF(pml_table__latest_since(&f.latest, t, min_latest, err));
    PML_RETURN_IF(find_first(&first, &f, err));
    if (!first.present)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             f.first < 0 ? "%s has no snapshot yet, so none by %s %lld"
                                         : "no snapshot of %s has a watermark, so none by %s %lld",
                             t->path, by_time ? "time" : "watermark", (long long)wanted);
    if (by_time && first.v > wanted)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "%s has no snapshot at or before the time %lld ms: the earliest, %lld, is of %lld ms",
                             t->path, (long long)wanted, (long long)f.first, (long long)first.v);
    if (f.latest < f.first)
        f.latest = f.first; /* an old hint, and everything up to it has expired */
    if (!by_time && first.v >= wanted)
        best = f.first;
    else
        PML_RETURN_IF(halve(&best, &f, wanted, err));
    if (best < 0) {
        (void)value_at(&last, &f, f.latest, NULL);
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "%s has no snapshot with a watermark of at least %lld: that of the latest, %lld, is %lld",
                             t->path, (long long)wanted, (long long)f.latest, (long long)last);
    }
    int rc = pml_table__load_snapshot(s, arena, t, best, err);
    return rc == PML_E_NOT_FOUND ? gone(t, best, err) : rc;
}

/* ---- the newest compacted one ---- */

/* Java: CompactedStartingScanner, and FullCompactedStartingScanner where compactions are full ones every so many commits. */
static bool is_compacted(const pml_table_options *o, const pml_snapshot *s)
{
    int64_t every = o->full_compaction_delta_commits > 0 ? o->full_compaction_delta_commits : 1;
    bool full = o->changelog_producer == PML_CHANGELOG_FULL_COMPACTION || o->full_compaction_delta_commits > 0;
    return s->commit_kind == PML_COMMIT_COMPACT && (!full || s->commit_identifier == INT64_MAX || s->commit_identifier % every == 0);
}

static int find_compacted(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, int64_t min_latest, pml_error *err)
{
    int64_t latest, first;
    PML_RETURN_IF(pml_table__latest_since(&latest, t, min_latest, err));
    PML_RETURN_IF(pml_table__earliest_snapshot(&first, t, err));
    for (int64_t id = latest; id >= first && id > 0 && first > 0; id--) {
        pml_arena probe;
        pml_snapshot one;
        pml_arena__init(&probe, t->env);
        int rc = pml_table__load_snapshot(&one, &probe, t, id, err);
        bool is = rc == PML_OK && is_compacted(&t->options, &one);
        pml_arena__clear(&probe);
        if (rc != PML_OK && rc != PML_E_NOT_FOUND)
            return rc;
        if (!is)
            continue;
        rc = pml_table__load_snapshot(s, arena, t, id, err);
        *found = rc == PML_OK;
        return rc == PML_E_NOT_FOUND ? gone(t, id, err) : rc;
    }
    return find_latest(s, found, arena, t, min_latest, err);
}

/* ---- the whole ---- */

int pml_travel__find(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, const pml_travel *travel,
                     int64_t min_latest, pml_error *err)
{
    int rc = PML_E_INTERNAL;
    *found = false;
    switch (travel->by) {
    case PML_SCAN_LATEST: return find_latest(s, found, arena, t, min_latest, err);
    case PML_SCAN_COMPACTED: return find_compacted(s, found, arena, t, min_latest, err);
    case PML_SCAN_ID: rc = pml_travel__id(s, arena, t, travel->value, err); break;
    case PML_SCAN_TAG: rc = pml_travel__tag(s, arena, t, travel->tag, err); break;
    case PML_SCAN_TIME:
    case PML_SCAN_WATERMARK:
        rc = find_value(s, arena, t, travel->by == PML_SCAN_TIME, travel->value, min_latest, err);
        break;
    default: /* a range, for those who show one snapshot */
        rc = pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                           "needs incremental-between: the options of %s ask for what changed between snapshots, and this shows a single one",
                           t->path);
    }
    *found = rc == PML_OK;
    return rc;
}
