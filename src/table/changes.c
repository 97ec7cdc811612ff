/* SPDX-License-Identifier: Apache-2.0 */
#include "table/changes.h"

#include <string.h>

#include "table/auto_tag.h"
#include "util/number.h"

/* ---- texts ---- */

/* "a,b" as Java splits it: empty pieces at the end do not count. No blanks are taken off. */
static int split_pair(const char **a, const char **b, pml_arena *arena, const pml_table *t, const char *key, const char *text, pml_error *err)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ',')
        n--;
    const char *comma = memchr(text, ',', n);
    if (comma == NULL || memchr(comma + 1, ',', n - (size_t)(comma + 1 - text)) != NULL)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                             "option %s of %s is '%.200s': it takes two values, the start (exclusive) and the end: 5,10", key, t->path, text);
    *a = pml_arena__strndup(arena, text, (size_t)(comma - text));
    *b = pml_arena__strndup(arena, comma + 1, n - (size_t)(comma + 1 - text));
    return *a == NULL || *b == NULL ? pml_error__no_memory(err) : PML_OK;
}

/* Java's numbers may begin with a plus. */
static bool number_of(int64_t *out, const char *text)
{
    text += text[0] == '+' && text[1] != '-';
    return pml_number__int64(out, text, strlen(text));
}

/* ---- modes ---- */

static bool wants_changelog(const pml_table *t, const pml_travel *travel)
{
    return travel->mode == PML_BETWEEN_CHANGELOG ||
           (travel->mode == PML_BETWEEN_AUTO && t->options.changelog_producer != PML_CHANGELOG_NONE);
}

/* A difference between tables with other numbers of buckets is none (Java: checkRescaleBucketForIncrementalDiffQuery). */
static int check_buckets(pml_table *t, const pml_snapshot *a, const pml_snapshot *b, pml_error *err)
{
    const pml_table_schema *schemas[2];
    const char *buckets[2];
    if (a->schema_id == b->schema_id)
        return PML_OK;
    for (size_t i = 0; i < 2; i++) {
        PML_RETURN_IF(pml_table__schema_at(&schemas[i], t, i == 0 ? a->schema_id : b->schema_id, err));
        buckets[i] = pml_table_schema__option(schemas[i], "bucket");
        buckets[i] = buckets[i] == NULL ? "-1" : buckets[i];
    }
    if (strcmp(buckets[0], buckets[1]) == 0)
        return PML_OK;
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_SNAPSHOT, t->path,
                         "needs incremental-between: snapshots %lld and %lld of %s have other numbers of buckets (%.20s and %.20s), and what "
                         "differs between them cannot be told",
                         (long long)a->id, (long long)b->id, t->path, buckets[0], buckets[1]);
}

static int set_diff(pml_range *r, pml_table *t, pml_error *err)
{
    r->kind = PML_RANGE_DIFF;
    return check_buckets(t, &r->start, &r->end, err);
}

/* ---- by ids ---- */

static int set_ids(pml_range *r, pml_table *t, int64_t after, int64_t upto, bool changelog, pml_error *err)
{
    int64_t first, last;
    PML_RETURN_IF(pml_table__earliest_snapshot(&first, t, err));
    PML_RETURN_IF(pml_table__latest_snapshot(&last, t, false, err));
    if (after < first - 1 || upto > last)
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "%s cannot say what changed behind snapshot %lld up to %lld: it has the snapshots %lld to %lld", t->path,
                             (long long)after, (long long)upto, (long long)first, (long long)last);
    *r = (pml_range){.kind = PML_RANGE_CHANGES, .changelog = changelog, .after = after, .upto = upto};
    return PML_OK;
}

static int find_ids(pml_range *r, pml_arena *arena, pml_table *t, const pml_travel *travel, int64_t after, int64_t upto, pml_error *err)
{
    int64_t first;
    if (upto < after)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_SNAPSHOT, t->path, "the end, snapshot %lld, lies before the start, %lld (of %s)",
                             (long long)upto, (long long)after, t->path);
    PML_RETURN_IF(pml_table__earliest_snapshot(&first, t, err));
    if (first < 0 || after == upto)
        return PML_OK;
    if (travel->mode != PML_BETWEEN_DIFF)
        return set_ids(r, t, after, upto, wants_changelog(t, travel), err);
    PML_RETURN_IF(pml_travel__id(&r->start, arena, t, after, err));
    PML_RETURN_IF(pml_travel__id(&r->end, arena, t, upto, err));
    return set_diff(r, t, err);
}

/* ---- by tags ---- */

static int order_tags(pml_range *r, pml_table *t, const char *after, const char *upto, pml_error *err)
{
    if (r->end.id < r->start.id)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_SNAPSHOT, t->path,
                             "the end, tag '%.100s' of snapshot %lld, lies before the start, tag '%.100s' of %lld (of %s)", upto,
                             (long long)r->end.id, after, (long long)r->start.id, t->path);
    return r->end.id == r->start.id ? PML_OK : set_diff(r, t, err);
}

static int find_tags(pml_range *r, pml_arena *arena, pml_table *t, const char *after, const char *upto, pml_error *err)
{
    PML_RETURN_IF(pml_travel__tag(&r->start, arena, t, after, err));
    PML_RETURN_IF(pml_travel__tag(&r->end, arena, t, upto, err));
    return order_tags(r, t, after, upto, err);
}

static int has_tag(bool *has, pml_snapshot *s, pml_arena *arena, pml_table *t, const char *name, pml_error *err)
{
    *has = false;
    if (pml_travel__check_tag(name, NULL) != PML_OK)
        return PML_OK;
    int rc = pml_travel__tag(s, arena, t, name, err);
    *has = rc == PML_OK;
    if (rc == PML_E_NOT_FOUND)
        pml_error__clear(err);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc;
}

static int find_between(pml_range *r, pml_arena *arena, pml_table *t, const pml_travel *travel, pml_error *err)
{
    const char *a, *b;
    bool has_a, has_b;
    int64_t after, upto;
    PML_RETURN_IF(split_pair(&a, &b, arena, t, "incremental-between", travel->tag, err));
    PML_RETURN_IF(has_tag(&has_a, &r->start, arena, t, a, err));
    PML_RETURN_IF(has_tag(&has_b, &r->end, arena, t, b, err));
    if (has_a && has_b && !travel->tag_to_snapshot)
        return order_tags(r, t, a, b, err);
    if (has_a && has_b && travel->mode == PML_BETWEEN_DIFF)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path,
                             "option incremental-between-scan-mode of %s is 'diff', which is what two tags mean without "
                             "incremental-between-tag-to-snapshot",
                             t->path);
    if (has_a && has_b)
        return set_ids(r, t, r->start.id, r->end.id, wants_changelog(t, travel), err);
    if (!number_of(&after, a) || !number_of(&upto, b))
        return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_SNAPSHOT, t->path,
                             "option incremental-between of %s is '%.200s': these are neither two of its tags nor two ids of snapshots",
                             t->path, travel->tag);
    return find_ids(r, arena, t, travel, after, upto, err);
}

/* ---- by times ---- */

/* *found = false: all snapshots are newer. */
static int not_newer(pml_snapshot *s, bool *found, pml_arena *arena, pml_table *t, int64_t time_ms, pml_error *err)
{
    const pml_travel travel = {.by = PML_SCAN_TIME, .value = time_ms};
    int rc = pml_travel__find(s, found, arena, t, &travel, -1, err);
    if (rc == PML_E_NOT_FOUND)
        pml_error__clear(err);
    return rc == PML_E_NOT_FOUND ? PML_OK : rc;
}

static int find_between_times(pml_range *r, pml_arena *arena, pml_table *t, const pml_travel *travel, pml_error *err)
{
    const char *a, *b;
    int64_t from, to, first, last;
    pml_snapshot earliest, latest;
    bool has_start, has_end;
    PML_RETURN_IF(split_pair(&a, &b, arena, t, "incremental-between-timestamp", travel->tag, err));
    if (!number_of(&from, a) || !number_of(&to, b))
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs incremental-between-timestamp: option incremental-between-timestamp of %s is '%.200s', and this version "
                             "takes milliseconds since 1970 only",
                             t->path, travel->tag);
    PML_RETURN_IF(pml_table__earliest_snapshot(&first, t, err));
    PML_RETURN_IF(pml_table__latest_snapshot(&last, t, false, err));
    if (first < 0 || last < 0)
        return PML_OK;
    PML_RETURN_IF(pml_travel__id(&earliest, arena, t, first, err));
    PML_RETURN_IF(pml_travel__id(&latest, arena, t, last, err));
    if (to < from)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_OPTION, t->path, "the end, time %lld, lies before the start, %lld (of %s)",
                             (long long)to, (long long)from, t->path);
    if (from == to || from > latest.time_ms || to < earliest.time_ms)
        return PML_OK;
    PML_RETURN_IF(not_newer(&r->start, &has_start, arena, t, from, err));
    PML_RETURN_IF(not_newer(&r->end, &has_end, arena, t, to, err));
    if (!has_end)
        r->end = latest;
    if (travel->mode == PML_BETWEEN_DIFF) {
        if (!has_start)
            r->start = earliest;
        return set_diff(r, t, err);
    }
    *r = (pml_range){.kind = PML_RANGE_CHANGES,
                     .changelog = wants_changelog(t, travel),
                     .after = has_start ? r->start.id : earliest.id - 1,
                     .upto = r->end.id};
    return PML_OK;
}

/* ---- by an auto-tag ---- */

static int find_to_auto_tag(pml_range *r, pml_arena *arena, pml_table *t, const char *name, pml_error *err)
{
    const char *before;
    bool has_end;
    PML_RETURN_IF(pml_auto_tag__before(&before, arena, t, name, err));
    PML_RETURN_IF(has_tag(&has_end, &r->end, arena, t, name, err));
    if (!has_end || before == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_travel__tag(&r->start, arena, t, before, err));
    return set_diff(r, t, err);
}

int pml_range__find(pml_range *out, pml_arena *arena, pml_table *t, const pml_travel *travel, pml_error *err)
{
    *out = (pml_range){.kind = PML_RANGE_EMPTY};
    switch (travel->by) {
    case PML_SCAN_BETWEEN: return find_between(out, arena, t, travel, err);
    case PML_SCAN_BETWEEN_TIMES: return find_between_times(out, arena, t, travel, err);
    case PML_SCAN_TO_AUTO_TAG: return find_to_auto_tag(out, arena, t, travel->tag, err);
    case PML_SCAN_BETWEEN_IDS: return find_ids(out, arena, t, travel, travel->value, travel->end, err);
    case PML_SCAN_BETWEEN_TAGS: return find_tags(out, arena, t, travel->tag, travel->end_tag, err);
    default: return pml_error__set(err, PML_E_INTERNAL, "%d is no way to read what changed", travel->by);
    }
}
