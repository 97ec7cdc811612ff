/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams (Java: DataTableStreamScan with its starting and follow-up scanners; format-metadata.md 14.5):
 *
 *   1. the start: a consumer that has been somewhere, else what the options say. It gives the first plan, or only the next snapshot
 *   2. one snapshot after the other: its file, or the changelog that outlived it. What changes no rows is passed over
 */
#include <string.h>

#include "storage/file_io.h"
#include "storage/numbered.h"
#include "table/consumer.h"
#include "table/scan.h"
#include "table/system.h"

struct pml_stream_scan {
    pml_env *env;
    pml_table *table;
    pml_scan *scan; /* of our own: columns and predicate */
    int start;      /* PML_STREAM_*, never OPTIONS */
    int64_t value;
    char *consumer; /* NULL: none */
    bool ignores_progress;
    bool begun;      /* somebody asked before */
    bool began_empty; /* and then the table had no snapshot */
    bool ends; /* the whole table came, and it was beyond the bound already */
    bool ended;
    int64_t next; /* -1: the start was not found yet */
};

void pml_stream_scan_free(pml_stream_scan *s)
{
    if (s == NULL)
        return;
    pml_env *env = s->env;
    pml_scan_free(s->scan);
    pml_env__free(env, s->consumer);
    pml_table_release(s->table);
    pml_env__free(env, s);
    pml_env_release(env);
}

/* ---- making one ---- */

static int refuse_start(const pml_table *t, const char *what, pml_error *err)
{
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                         "a stream of %s cannot start %s: scan.mode latest-full, latest, compacted-full, from-snapshot and from-snapshot-full with "
                         "scan.snapshot-id, and from-timestamp with scan.timestamp-millis can be",
                         t->path, what);
}

/* What the table's options say. */
static int start_of_options(pml_stream_scan *s, pml_error *err)
{
    const pml_table_options *o = &s->table->options;
    s->start = PML_STREAM_LATEST_FULL;
    switch (o->scan_by) {
    case PML_SCAN_LATEST:
        if (o->scan_mode == PML_START_LATEST)
            s->start = PML_STREAM_LATEST;
        if (o->scan_mode == PML_START_COMPACTED_FULL)
            s->start = PML_STREAM_COMPACTED_FULL;
        return PML_OK;
    case PML_SCAN_ID:
        s->start = o->scan_mode == PML_START_FROM_SNAPSHOT_FULL ? PML_STREAM_SNAPSHOT_FULL : PML_STREAM_SNAPSHOT;
        s->value = o->scan_snapshot_id;
        return PML_OK;
    case PML_SCAN_TIME:
        s->start = PML_STREAM_TIMESTAMP;
        s->value = o->scan_timestamp_ms;
        return PML_OK;
    case PML_SCAN_TAG: return refuse_start(s->table, "at a tag", err);
    case PML_SCAN_WATERMARK: return refuse_start(s->table, "at a watermark", err);
    case PML_SCAN_BETWEEN:
    case PML_SCAN_BETWEEN_TIMES:
    case PML_SCAN_TO_AUTO_TAG: break;
    }
    return refuse_start(s->table, "between snapshots", err);
}

/* A table that was opened at a snapshot has its columns, as Java's copies have. */
static int schema_of_options(pml_stream_scan *s, pml_error *err)
{
    const pml_travel travel = pml_travel__of_options(&s->table->options);
    pml_snapshot snapshot;
    pml_arena arena;
    bool found = false;
    if (travel.by != PML_SCAN_ID && travel.by != PML_SCAN_TIME)
        return PML_OK;
    pml_arena__init(&arena, s->env);
    int rc = pml_travel__find(&snapshot, &found, &arena, s->table, &travel, -1, err);
    if (rc == PML_OK && found)
        rc = pml_table__schema_at(&s->scan->schema, s->table, snapshot.schema_id, err);
    pml_arena__clear(&arena);
    if (rc != PML_E_NOT_FOUND && rc != PML_E_SNAPSHOT_GONE)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

static int copy_scan(pml_stream_scan *s, const pml_scan *scan, pml_error *err)
{
    const pml_predicate whole = {.env = s->env, .tree = scan->predicate};
    PML_RETURN_IF(pml_scan_new(&s->scan, s->table, err));
    if (!scan->all_columns)
        PML_RETURN_IF(pml_scan_set_columns(s->scan, (const char *const *)scan->columns, scan->n_columns, err));
    if (scan->predicate != NULL)
        PML_RETURN_IF(pml_scan_set_predicate(s->scan, &whole, err));
    s->scan->keep_retracts = scan->keep_retracts;
    return pml_scan_set_snapshot(s->scan, -1, err);
}

static int check_options(const pml_table *t, const pml_scan *scan, const pml_stream_options *o, pml_error *err)
{
    if (o->struct_size != sizeof *o)
        return pml_error__set(err, PML_E_INVAL, "pml_stream_options.struct_size is %zu, this library knows %zu", o->struct_size, sizeof *o);
    if (o->start < PML_STREAM_OPTIONS || o->start > PML_STREAM_COMPACTED_FULL || (o->flags & ~(uint32_t)PML_STREAM_IGNORE_PROGRESS) != 0)
        return pml_error__set(err, PML_E_INVAL, "stream options: start %d, flags 0x%x", o->start, o->flags);
    if ((o->start == PML_STREAM_SNAPSHOT || o->start == PML_STREAM_SNAPSHOT_FULL) && o->value < 1)
        return pml_error__set(err, PML_E_INVAL, "%lld is no snapshot id", (long long)o->value);
    if (scan->memory != NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs streaming: a stream of %s shows what was committed, and the scan has rows in memory", t->path);
    if (t->options.stream_overwrite && (t->options.changelog_producer == PML_CHANGELOG_FULL_COMPACTION ||
                                        t->options.changelog_producer == PML_CHANGELOG_LOOKUP))
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                             "option streaming-read-overwrite of %s is true: with changelog-producer full-compaction or lookup its changes "
                             "would come twice",
                             t->path);
    return PML_OK;
}

int pml_stream_scan_new(pml_stream_scan **out, const pml_scan *scan, const pml_stream_options *options, pml_error *err)
{
    const pml_stream_options defaults = PML_STREAM_OPTIONS_INIT;
    const pml_stream_options *o = options == NULL ? &defaults : options;
    pml_table *t = scan->table;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(check_options(t, scan, o, err));
    const char *consumer = o->consumer != NULL ? o->consumer : t->options.consumer_id;
    if (consumer != NULL)
        PML_RETURN_IF(pml_consumer__check_name(consumer, err));
    pml_stream_scan *s = pml_env__calloc(t->env, 1, sizeof *s);
    if (s == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(t->env);
    s->env = t->env;
    pml_table_acquire(t);
    s->table = t;
    s->next = -1;
    s->start = o->start;
    s->value = o->value;
    s->ignores_progress = (o->flags & PML_STREAM_IGNORE_PROGRESS) != 0 || t->options.consumer_ignore_progress;
    if (consumer != NULL && (s->consumer = pml_env__strdup(s->env, consumer)) == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(copy_scan(s, scan, err));
    if (o->start == PML_STREAM_OPTIONS) {
        PML_TRY(start_of_options(s, err));
        PML_TRY(schema_of_options(s, err));
    }
    *out = s;
    s = NULL;
    rc = PML_OK;
out:
    pml_stream_scan_free(s);
    return rc;
}

/* ---- snapshots, and changelogs that outlived them ---- */

static int load_changelog(pml_snapshot *out, pml_arena *arena, pml_table *t, int64_t id, pml_error *err)
{
    char *path = pml_env__format(t->env, "%s/changelog/changelog-%lld", t->branch_root, (long long)id);
    int rc = path == NULL ? pml_error__no_memory(err) : pml_table__load_snapshot_file(out, arena, t, path, err);
    if (rc == PML_OK && out->id != id)
        rc = pml_error__at(err, PML_E_CORRUPT, PML_PLACE_SNAPSHOT, path, "%s says it is snapshot %lld", path, (long long)out->id);
    pml_env__free(t->env, path);
    return rc;
}

static int load_either(pml_snapshot *out, pml_arena *arena, pml_table *t, int64_t id, pml_error *err)
{
    int rc = pml_table__load_snapshot(out, arena, t, id, err);
    if (rc == PML_E_NOT_FOUND && pml_table_options__keeps_changelogs(&t->options))
        rc = load_changelog(out, arena, t, id, err);
    return rc;
}

/* The first that can be read: -1 when there is none. */
static int earliest(int64_t *id, pml_table *t, pml_error *err)
{
    *id = -1;
    if (pml_table_options__keeps_changelogs(&t->options)) {
        char *dir = pml_path__join(t->env, t->branch_root, "changelog");
        int rc = dir == NULL ? pml_error__no_memory(err) : pml_numbered__earliest(id, t->env, dir, "changelog-", 0, err);
        pml_env__free(t->env, dir);
        PML_RETURN_IF(rc);
    }
    return *id < 0 ? pml_table__earliest_snapshot(id, t, err) : PML_OK;
}

/* Of one snapshot only its time is wanted. */
static int time_at(int64_t *ms, pml_table *t, int64_t id, pml_error *err)
{
    pml_arena arena;
    pml_snapshot one;
    pml_arena__init(&arena, t->env);
    int rc = load_either(&one, &arena, t, id, err);
    if (rc == PML_OK)
        *ms = one.time_ms;
    pml_arena__clear(&arena);
    return rc;
}

/* The first snapshot that is not older than that (Java: TimeTravelUtil.earlierThanTimeMills, and one on). -1: there is none at all. */
static int first_since(int64_t *id, pml_table *t, int64_t ms, pml_error *err)
{
    int64_t low, high, time;
    *id = -1;
    PML_RETURN_IF(pml_table__latest_snapshot(&high, t, false, err));
    PML_RETURN_IF(earliest(&low, t, err));
    if (high < 0 || low < 0)
        return PML_OK;
    PML_RETURN_IF(time_at(&time, t, low, err));
    if (time >= ms) {
        *id = low;
        return PML_OK;
    }
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        PML_RETURN_IF(time_at(&time, t, middle, err));
        if (time < ms)
            low = middle;
        else
            high = middle - 1;
    }
    *id = low + 1;
    return PML_OK;
}

/* ---- the start ---- */

static bool is_bound(const pml_table_options *o, const pml_snapshot *s)
{
    return o->has_bounded_watermark && s->watermark.present && s->watermark.v > o->bounded_watermark;
}

/* Whether a snapshot that was read, or is the last one that is not, is beyond the bound already. */
static int note_bound(pml_stream_scan *s, int64_t id, pml_error *err)
{
    pml_arena arena;
    pml_snapshot one;
    if (!s->table->options.has_bounded_watermark || id < 1)
        return PML_OK;
    pml_arena__init(&arena, s->env);
    int rc = pml_table__load_snapshot(&one, &arena, s->table, id, err);
    s->ends = rc == PML_OK && is_bound(&s->table->options, &one);
    pml_arena__clear(&arena);
    if (rc != PML_E_NOT_FOUND)
        return rc;
    pml_error__clear(err);
    return PML_OK;
}

/* The whole of one snapshot. Level 0 comes later, as changes, where a compaction makes the changelog. */
static int first_plan(pml_plan **out, pml_stream_scan *s, const pml_travel *travel, pml_error *err)
{
    pml_plan *p = NULL;
    if (s->table->schema->n_keys > 0 && s->table->options.changelog_producer == PML_CHANGELOG_FULL_COMPACTION)
        PML_RETURN_IF(pml_system__top_level(&s->scan->only_level, s->table, err));
    s->scan->streams = true;
    s->scan->travel = *travel;
    int rc = pml_scan_plan(&p, s->scan, err);
    s->scan->streams = false;
    s->scan->only_level = -1;
    s->scan->travel = (pml_travel){.by = PML_SCAN_LATEST};
    if (rc == PML_OK && p->snapshot_id > 0)
        rc = note_bound(s, p->snapshot_id, err);
    if (rc == PML_OK && p->snapshot_id > 0) {
        s->next = p->snapshot_id + 1;
        *out = p;
        p = NULL;
    }
    pml_plan_free(p);
    return rc;
}

static int start_at(pml_stream_scan *s, int64_t next, pml_error *err)
{
    if (next < 0)
        return PML_OK;
    PML_RETURN_IF(note_bound(s, next - 1, err));
    s->next = next;
    return PML_OK;
}

/* Changes from a snapshot on, or from the first that is left. */
static int start_from(pml_stream_scan *s, int64_t id, pml_error *err)
{
    int64_t first;
    PML_RETURN_IF(earliest(&first, s->table, err));
    return start_at(s, first < 0 ? -1 : id > first ? id : first, err);
}

static int start_by_mode(pml_plan **out, pml_stream_scan *s, pml_error *err)
{
    int64_t id;
    switch (s->start) {
    case PML_STREAM_LATEST:
        PML_RETURN_IF(pml_table__latest_snapshot(&id, s->table, false, err));
        return start_at(s, id < 0 ? -1 : s->began_empty ? 1 : id + 1, err);
    case PML_STREAM_SNAPSHOT: return start_from(s, s->value, err);
    case PML_STREAM_TIMESTAMP:
        PML_RETURN_IF(first_since(&id, s->table, s->value, err));
        return start_at(s, id, err);
    case PML_STREAM_SNAPSHOT_FULL:
        PML_RETURN_IF(pml_table__earliest_snapshot(&id, s->table, err));
        if (id < 0)
            return PML_OK;
        return first_plan(out, s, &(pml_travel){.by = PML_SCAN_ID, .value = s->value > id ? s->value : id}, err);
    case PML_STREAM_COMPACTED_FULL: return first_plan(out, s, &(pml_travel){.by = PML_SCAN_COMPACTED}, err);
    default: return first_plan(out, s, &(pml_travel){.by = PML_SCAN_LATEST}, err);
    }
}

/* Where the consumer is. Java goes on at the first snapshot that is left, without a word about those that the consumer has not seen. */
static int start_of_consumer(pml_stream_scan *s, int64_t progress, pml_error *err)
{
    int64_t first;
    PML_RETURN_IF(earliest(&first, s->table, err));
    if (progress < first)
        return pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_SNAPSHOT, s->table->path,
                             "consumer %.80s of %s has seen what lies before snapshot %lld, but %lld is the first that is left: what lies between is "
                             "lost to it. Start it anew (PML_STREAM_IGNORE_PROGRESS, consumer.ignore-progress, pml changelog --anew)",
                             s->consumer, s->table->path, (long long)progress, (long long)first);
    return start_at(s, first < 0 ? -1 : progress, err);
}

/* The first plan, or where the changes begin; neither where the table has no snapshot yet. */
static int begin(pml_plan **out, pml_stream_scan *s, pml_error *err)
{
    int64_t latest, progress = -1;
    if (!s->begun) {
        PML_RETURN_IF(pml_table__latest_snapshot(&latest, s->table, false, err));
        s->began_empty = latest < 0;
        s->begun = true;
    }
    if (s->consumer != NULL && !s->ignores_progress)
        PML_RETURN_IF(pml_consumer__load(&progress, s->table, s->consumer, err));
    return progress >= 0 ? start_of_consumer(s, progress, err) : start_by_mode(out, s, err);
}

/* ---- one snapshot after the other ---- */

/* It was published since we looked; or lies in a gap, where nothing will ever be. */
static int check_there(const pml_stream_scan *s, int64_t first, int64_t last, pml_error *err)
{
    int64_t ms;
    int rc = time_at(&ms, s->table, s->next, err);
    if (rc != PML_E_NOT_FOUND)
        return rc;
    return pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_SNAPSHOT, s->table->path,
                         "the file of snapshot %lld of %s, whose changes come next, is missing, although there are %lld to %lld: put it back, or "
                         "go on behind it (pml_stream_scan_restore)",
                         (long long)s->next, s->table->path, (long long)first, (long long)last);
}

/* The next snapshot is not there: not yet, or not any more. */
static int check_range(const pml_stream_scan *s, pml_error *err)
{
    int64_t first, last;
    PML_RETURN_IF(earliest(&first, s->table, err));
    PML_RETURN_IF(pml_table__latest_snapshot(&last, s->table, true, err));
    if (first > s->next)
        return pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_SNAPSHOT, s->table->path,
                             "snapshot %lld of %s, whose changes come next, has expired: %lld is the first that is left. Go on there "
                             "(pml_stream_scan_restore) without what lies between, or start anew; a consumer (consumer-id) keeps what it has not seen, and "
                             "so do larger snapshot.time-retained and changelog.time-retained",
                             (long long)s->next, s->table->path, (long long)first);
    if (first > 0 && s->next <= last)
        return check_there(s, first, last, err);
    if (last < 0 ? s->next > 1 : s->next > last + 1)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, s->table->path,
                             "snapshot %lld of %s comes next, but the latest is %lld: the table was made anew, or rolled back. Start anew",
                             (long long)s->next, s->table->path, (long long)last);
    return PML_OK;
}

/* What of the snapshot a stream reads: *skip, if nothing. */
static void choose(pml_plan_shape *shape, bool *changelog, bool *skip, const pml_table *t, const pml_snapshot *s)
{
    const pml_table_options *o = &t->options;
    bool keyed = t->schema->n_keys > 0, overwrites = s->commit_kind == PML_COMMIT_OVERWRITE;
    *shape = PML_PLAN_STREAM;
    *changelog = false;
    *skip = false;
    if (overwrites && (keyed ? o->stream_overwrite : o->stream_append_overwrite)) {
        if (keyed)
            *shape = PML_PLAN_REPLACED;
        return;
    }
    if (o->changelog_producer == PML_CHANGELOG_NONE) {
        *skip = s->commit_kind != PML_COMMIT_APPEND;
        return;
    }
    *changelog = true;
    *skip = s->changelog_manifest_list == NULL;
}

/* The changes of a snapshot; *out NULL: none. */
static int plan_changes(pml_plan **out, const pml_stream_scan *s, const pml_snapshot *one, pml_error *err)
{
    pml_plan_shape shape;
    bool changelog, skip;
    pml_plan *p = NULL;
    choose(&shape, &changelog, &skip, s->table, one);
    if (skip)
        return PML_OK;
    int rc = pml_plan__of_snapshot(&p, s->scan, one, shape, changelog, err);
    if (rc == PML_E_SNAPSHOT_GONE)
        rc = pml_table__gone_or_damaged(s->table, one->id, err);
    if (rc == PML_OK && p->n_splits > 0)
        *out = p;
    else
        pml_plan_free(p);
    return rc;
}

/* Goes one snapshot on. *wait: there is none yet. */
static int step(pml_plan **out, pml_stream_scan *s, bool *wait, pml_error *err)
{
    const pml_table_options *o = &s->table->options;
    pml_arena arena;
    pml_snapshot one;
    pml_arena__init(&arena, s->env);
    int rc = load_either(&one, &arena, s->table, s->next, err);
    *wait = false;
    if (rc == PML_E_NOT_FOUND) {
        pml_error__clear(err);
        rc = check_range(s, err);
        *wait = true;
    } else if (rc == PML_OK && is_bound(o, &one)) {
        s->ended = true;
    } else if (rc == PML_OK && o->stream_delay_ms >= 0 && one.time_ms > pml_env__wall_ms(s->env) - o->stream_delay_ms) {
        *wait = true;
    } else if (rc == PML_OK) {
        rc = plan_changes(out, s, &one, err);
        s->next += rc == PML_OK;
    }
    pml_arena__clear(&arena);
    return rc;
}

int pml_stream_scan_next(pml_plan **out, pml_stream_scan *s, pml_error *err)
{
    bool wait = false;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (s->next < 0)
        PML_RETURN_IF(begin(out, s, err));
    if (*out == NULL && s->ends)
        s->ended = true;
    while (*out == NULL && s->next >= 0 && !wait && !s->ended)
        PML_RETURN_IF(step(out, s, &wait, err));
    return PML_OK;
}

int pml_stream_scan_ended(const pml_stream_scan *s)
{
    return s->ended;
}

int64_t pml_stream_scan_checkpoint(const pml_stream_scan *s)
{
    return s->next;
}

int pml_stream_scan_restore(pml_stream_scan *s, int64_t next, pml_error *err)
{
    if (next < 1 && next != -1)
        return pml_error__set(err, PML_E_INVAL, "%lld is no snapshot that could come next", (long long)next);
    s->next = next;
    s->ends = s->ended = false;
    return PML_OK;
}

int pml_stream_scan_notify(pml_stream_scan *s, int64_t next, pml_error *err)
{
    if (next < 1 && next != -1)
        return pml_error__set(err, PML_E_INVAL, "%lld is no snapshot that could come next", (long long)next);
    return next < 0 || s->consumer == NULL ? PML_OK : pml_consumer__store(s->table, s->consumer, next, err);
}
