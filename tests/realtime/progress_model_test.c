/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive model of durable progress (realtime-tests.md 39a): every sequence of operations up to a depth (4, or DEPTH from the
 * environment) on a table with two partition-buckets in two partitions, where the truth is known. After each operation:
 *
 *   the effective value of each partition-bucket is lost or right, and its lineage is that of the living history
 *   after commits of ours only it is never lost
 *   lost stays lost until an operation that empties or overwrites the partition
 *   no entry that was ever committed can be committed again (as a coordinator might try), unless its files are gone
 *
 * Taking out one rule must be noticed; the last test shows that.
 */
#include "support/progress_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


enum { PBS = 2, ENTRIES_MAX = 16, DEPTH_MAX = 8 };

typedef enum model_op {
    COMMIT_P,
    COMMIT_Q,
    JAVA_APPEND,
    JAVA_COMPACT,
    JAVA_OVERWRITE_P,
    JAVA_OVERWRITE_Q,
    JAVA_TRUNCATE,
    JAVA_REWRITE,
    OUR_OVERWRITE,
    OUR_OVERWRITE_TABLE,
    OUR_TRUNCATE,
    OUR_COMPACT,
    EXPIRE,
    CLEAN,
    REANCHOR,
    N_OPS
} model_op;

static const char *const op_names[N_OPS] = {
    "commit p",    "commit q",      "java append p",         "java compact p", "java overwrite p", "java overwrite q", "java truncate",
    "row rewrite", "our overwrite", "our overwrite of all",  "our truncate",   "our compaction",   "expire",           "clean",
    "re-anchor",
};

/* What was committed once: a range under a lineage, and its file. */
typedef struct sent {
    int part, file;
    int64_t begin, end;
    pml_lineage lineage;
} sent;

typedef struct truth {
    int64_t value;
    pml_lineage lineage; /* of the living history, unknown before its first commit */
} truth;

typedef struct model {
    world w;
    truth pbs[PBS];
    bool lost[PBS]; /* as found after the last operation */
    bool own_only;
    int n_entries;
    sent entries[ENTRIES_MAX];
} model;

typedef struct run {
    test_env *t;
    int depth, policy;
    uint32_t flags, without; /* rules taken out; operations left out */
    bool cleaner_keeps_newest;
    long nodes;
    model_op path[DEPTH_MAX];
    char failure[512]; /* empty: none */
} run;

static void PML_PRINTF(3, 4) report(run *r, int depth, const char *format, ...)
{
    va_list args;
    size_t at = 0;
    if (r->failure[0] != '\0')
        return;
    for (int i = 0; i < depth && at < 300; i++)
        at += (size_t)snprintf(r->failure + at, sizeof r->failure - at, "%s%s", i == 0 ? "" : ", ", op_names[r->path[i]]);
    at += (size_t)snprintf(r->failure + at, sizeof r->failure - at, ": ");
    va_start(args, format);
    (void)vsnprintf(r->failure + at, sizeof r->failure - at, format, args);
    va_end(args);
}

/* ---- truth ---- */

static void end_history(model *m, int part)
{
    m->pbs[part] = (truth){0};
}

/* ---- operations ---- */

static pml_effective *effective_of(model *m, const run *r)
{
    pml_error err = PML_ERROR_INIT;
    const pml_effective_source source = world_source(&m->w);
    const pml_effective_options o = world_options(r->policy);
    pml_effective *e;
    must_ok(pml_effective__load(&e, m->w.env, &source, &o, NULL, NULL, &err), &err);
    return e;
}

/* A writer that opens the table, takes value and lineage from it, and commits one more row. */
static bool commit(model *m, run *r, int part)
{
    pml_error err = PML_ERROR_INIT;
    pml_effective *e = effective_of(m, r);
    const pml_pb_texts pb = world_pb(part);
    const pml_progress_entry *known;
    const pml_progress_state state = pml_progress__state(&e->progress, &pb, &known);
    pml_progress_range range = {.pb = pb, .rows = 1};
    if (state == PML_PROGRESS_KNOWN) {
        range.begin = known->end;
        range.lineage = known->lineage;
    }
    pml_effective__release(e);
    if (!range.lineage.known)
        range.lineage = (pml_lineage){true, {0xA0, (uint8_t)part, (uint8_t)m->w.n_files}};
    range.end = range.begin + 1;
    world_snapshot s = world_begin(&m->w, PML_COMMIT_APPEND, "us", m->w.latest + 1);
    pml_progress_build b = {.n_ranges = 1, .ranges = &range, .flags = r->flags};
    const int file = m->w.n_files;
    int rc = world_build(&m->w, &b, &s, r->policy, &err);
    if (state == PML_PROGRESS_LOST) {
        must_fail_with(PML_E_PROGRESS_LOST, rc, &err);
        return false;
    }
    must_ok(rc, &err);
    world_add(&m->w, &s, part);
    world_publish(&m->w, &s);
    m->pbs[part] = (truth){m->pbs[part].value + 1, range.lineage};
    m->entries[m->n_entries++] = (sent){part, file, range.begin, range.end, range.lineage};
    return true;
}

/* Our overwrite, truncate, compaction, re-anchoring: s is complete but for its property. */
static void publish_ours(model *m, const run *r, world_snapshot *s, const pml_progress_match *reset, uint32_t flags)
{
    pml_error err = PML_ERROR_INIT;
    pml_progress_build b = {.n_resets = reset == NULL ? 0 : 1, .resets = reset, .flags = r->flags | flags};
    must_ok(world_build(&m->w, &b, s, r->policy, &err), &err);
    world_publish(&m->w, s);
}

static void our_overwrite(model *m, const run *r, bool all, bool add)
{
    static const char *const p_only[] = {"p"};
    const pml_progress_match reset = {all ? NULL : p_only, -1};
    world_snapshot s = world_begin(&m->w, PML_COMMIT_OVERWRITE, "us", m->w.latest + 1);
    world_delete_all(&m->w, &s, WORLD_P);
    end_history(m, WORLD_P);
    if (all) {
        world_delete_all(&m->w, &s, WORLD_Q);
        end_history(m, WORLD_Q);
    }
    if (add)
        world_add(&m->w, &s, WORLD_P);
    publish_ours(m, r, &s, &reset, 0);
}

static bool our_compact(model *m, const run *r)
{
    world_snapshot s = world_begin(&m->w, PML_COMMIT_COMPACT, "us", m->w.latest + 1);
    world_delete_all(&m->w, &s, WORLD_P);
    if (s.n_delta == 0)
        return false;
    world_add(&m->w, &s, WORLD_P);
    publish_ours(m, r, &s, NULL, 0);
    return true;
}

static bool reanchor(model *m, const run *r)
{
    pml_effective *e = effective_of(m, r);
    bool due = e->snapshot_id > 0 && e->property == NULL && e->progress.n > 0;
    pml_effective__release(e);
    if (!due)
        return false;
    world_snapshot s = world_begin(&m->w, PML_COMMIT_APPEND, "pml-reanchor-us", INT64_MAX);
    publish_ours(m, r, &s, NULL, PML_PROGRESS_REANCHOR);
    return true;
}

static bool java_overwrite(model *m, int part)
{
    world_java_overwrite(&m->w, part);
    end_history(m, part);
    return true;
}

static bool java_truncate(model *m)
{
    world_java_truncate(&m->w);
    end_history(m, WORLD_P);
    end_history(m, WORLD_Q);
    return true;
}

static bool clean(model *m, const run *r)
{
    world_progress before[WORLD_PROGRESS];
    memcpy(before, m->w.progress, sizeof before);
    world_clean(&m->w, r->cleaner_keeps_newest);
    return memcmp(before, m->w.progress, sizeof before) != 0;
}

/* False: it changed nothing, so that what follows it was seen already. */
static bool apply(model *m, run *r, model_op op)
{
    const int64_t latest = m->w.latest, earliest = m->w.earliest;
    switch (op) {
    case COMMIT_P: return commit(m, r, WORLD_P);
    case COMMIT_Q: return commit(m, r, WORLD_Q);
    case JAVA_APPEND: world_java_append(&m->w, WORLD_P); break;
    case JAVA_COMPACT: world_java_compact(&m->w, WORLD_P); break;
    case JAVA_OVERWRITE_P: return java_overwrite(m, WORLD_P);
    case JAVA_OVERWRITE_Q: return java_overwrite(m, WORLD_Q);
    case JAVA_TRUNCATE: return java_truncate(m);
    case JAVA_REWRITE: return world_java_rewrite(&m->w, WORLD_P, NULL);
    case OUR_OVERWRITE: our_overwrite(m, r, false, true); break;
    case OUR_OVERWRITE_TABLE: our_overwrite(m, r, true, true); break;
    case OUR_TRUNCATE: our_overwrite(m, r, true, false); break;
    case OUR_COMPACT: return our_compact(m, r);
    case EXPIRE: world_expire(&m->w, latest); break;
    case CLEAN: return clean(m, r);
    case REANCHOR: return reanchor(m, r);
    case N_OPS: break;
    }
    return m->w.latest != latest || m->w.earliest != earliest;
}

/* ---- checks ---- */

static bool is_ours(model_op op)
{
    return op == COMMIT_P || op == COMMIT_Q || (op >= OUR_OVERWRITE && op <= OUR_COMPACT) || op == CLEAN || op == REANCHOR;
}

/* Whether the operation may end the lost state of the partition-bucket. */
static bool may_clear(const run *r, model_op op, int part)
{
    if (op == JAVA_TRUNCATE || op == OUR_OVERWRITE_TABLE || op == OUR_TRUNCATE || (op == OUR_OVERWRITE && part == WORLD_P))
        return true;
    return r->policy == PML_RT_FOREIGN_RESET && op == (part == WORLD_P ? JAVA_OVERWRITE_P : JAVA_OVERWRITE_Q);
}

static bool is_dead(const model *m, int part, const pml_lineage *l)
{
    bool dead = false;
    for (int i = 0; i < m->n_entries; i++) {
        const sent *e = &m->entries[i];
        bool living = m->pbs[part].value > 0 && !pml_lineage__conflicts(&e->lineage, &m->pbs[part].lineage);
        dead = dead || (e->part == part && !living && l->known && !pml_lineage__conflicts(&e->lineage, l));
    }
    return dead;
}

static void check_value(model *m, run *r, int depth, const pml_effective *e, int part)
{
    const pml_pb_texts pb = world_pb(part);
    const pml_progress_entry *entry;
    const truth *true_one = &m->pbs[part];
    const model_op op = r->path[depth - 1];
    const char *name = part == WORLD_P ? "p" : "q";
    const pml_progress_state state = pml_progress__state(&e->progress, &pb, &entry);
    const bool was_lost = m->lost[part];
    m->lost[part] = state == PML_PROGRESS_LOST;
    if (was_lost && !m->lost[part] && !may_clear(r, op, part))
        report(r, depth, "%s is no longer lost", name);
    if (state == PML_PROGRESS_LOST) {
        if (m->own_only)
            report(r, depth, "%s is lost although only we committed", name);
        return;
    }
    const int64_t value = state == PML_PROGRESS_KNOWN ? entry->end : 0;
    if (value != true_one->value)
        report(r, depth, "%s is %lld instead of %lld", name, (long long)value, (long long)true_one->value);
    else if (value > 0 && (!entry->lineage.known || pml_lineage__conflicts(&entry->lineage, &true_one->lineage)))
        report(r, depth, "%s has another lineage", name);
    else if (state == PML_PROGRESS_KNOWN && is_dead(m, part, &entry->lineage))
        report(r, depth, "%s has the lineage of a dead history", name);
}

/* What a commit checks first: the files of an entry must exist. Expiry removes those that no retained snapshot has. */
static bool file_exists(const world *w, const sent *e)
{
    bool exists = false;
    for (int64_t id = w->earliest; id <= w->latest; id++)
        exists = exists || (w->snapshots[id].live[e->part] >> e->file & 1) != 0;
    return exists;
}

static void check_resend(model *m, run *r, int depth, const pml_effective *e, const sent *old)
{
    const pml_progress_range range = {world_pb(old->part), old->begin, old->end, old->lineage, 1, {0}};
    const pml_progress_build b = {.base = e,
                                  .n_keys = 1,
                                  .keys = world_keys,
                                  .snapshot_id = m->w.latest + 1,
                                  .earliest_id = m->w.earliest,
                                  .commit_user = "us",
                                  .n_ranges = 1,
                                  .ranges = &range,
                                  .flags = r->flags};
    pml_progress_result result;
    if (!file_exists(&m->w, old))
        return;
    if (pml_progress__build(&result, m->w.env, &b, NULL) == PML_OK)
        report(r, depth, "entry [%lld, %lld) of %s can be committed again", (long long)old->begin, (long long)old->end,
               old->part == WORLD_P ? "p" : "q");
    pml_progress_result__clear(&result);
}

static void check(model *m, run *r, int depth)
{
    pml_effective *e = effective_of(m, r);
    r->nodes++;
    m->own_only = m->own_only && is_ours(r->path[depth - 1]);
    for (int part = 0; part < PBS; part++)
        check_value(m, r, depth, e, part);
    for (int i = 0; i < m->n_entries; i++)
        check_resend(m, r, depth, e, &m->entries[i]);
    pml_effective__release(e);
}

/* ---- all sequences ---- */

/* Depth-first over copies of the model, one for each depth. */
static void walk(run *r, model *models, int depth)
{
    for (int op = 0; op < N_OPS && r->failure[0] == '\0'; op++) {
        model *m = &models[depth + 1];
        if ((r->without >> op & 1) != 0)
            continue;
        *m = models[depth];
        r->path[depth] = (model_op)op;
        if (apply(m, r, (model_op)op)) {
            check(m, r, depth + 1);
            if (depth + 1 < r->depth && r->failure[0] == '\0')
                walk(r, models, depth + 1);
        }
        world_free_from(&m->w, models[depth].w.n_progress);
    }
}

static void run_all(run *r, test_env *t)
{
    model *models = calloc((size_t)r->depth + 1, sizeof *models);
    assert_non_null(models);
    r->t = t;
    world_init(&models[0].w, t);
    models[0].own_only = true;
    walk(r, models, 0);
    free(models);
}

static void must_hold(int policy, int depth, uint32_t without)
{
    test_env *t = test_env_open(NULL);
    run r = {.depth = depth, .policy = policy, .without = without, .cleaner_keeps_newest = true};
    run_all(&r, t);
    print_message("depth %d, %ld states\n", depth, r.nodes);
    if (r.failure[0] != '\0')
        fail_msg("%s", r.failure);
    test_env_close(t);
}

static void progress_of_every_sequence_is_lost_or_right(void **state)
{
    (void)state;
    must_hold(PML_RT_FOREIGN_ASK, (int)test_setting("DEPTH", 4, 1, DEPTH_MAX), 0);
}

/* The operator says that nobody overwrites, only row-level changes come. */
static void progress_under_inherit_is_right_when_nobody_overwrites(void **state)
{
    (void)state;
    must_hold(PML_RT_FOREIGN_INHERIT, (int)test_setting("DEPTH", 4, 1, DEPTH_MAX) - 1,
              1u << JAVA_OVERWRITE_P | 1u << JAVA_OVERWRITE_Q | 1u << JAVA_TRUNCATE);
}

/* The operator says that an OVERWRITE is never a row-level change. */
static void progress_under_reset_is_right_without_row_level_changes(void **state)
{
    (void)state;
    must_hold(PML_RT_FOREIGN_RESET, (int)test_setting("DEPTH", 4, 1, DEPTH_MAX) - 1, 1u << JAVA_REWRITE);
}

static void must_notice(const char *rule, uint32_t flags, bool cleaner_keeps_newest)
{
    test_env *t = test_env_open(NULL);
    run r = {.depth = 4, .policy = PML_RT_FOREIGN_ASK, .flags = flags, .cleaner_keeps_newest = cleaner_keeps_newest};
    run_all(&r, t);
    if (r.failure[0] == '\0')
        fail_msg("without the rule '%s' %ld states went unnoticed", rule, r.nodes);
    print_message("without %s: %s\n", rule, r.failure);
    test_env_close(t);
}

static void model_notices_each_rule_that_is_taken_out(void **state)
{
    (void)state;
    must_notice("sticky lost", PML_PROGRESS_FORGET_LOST, true);
    must_notice("reset mark", PML_PROGRESS_FORGET_RESET, true);
    must_notice("lineage at commit", PML_PROGRESS_FORGET_LINEAGE, true);
    must_notice("cleaner keeps the newest file", 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_of_every_sequence_is_lost_or_right),
        cmocka_unit_test(progress_under_inherit_is_right_when_nobody_overwrites),
        cmocka_unit_test(progress_under_reset_is_right_without_row_level_changes),
        cmocka_unit_test(model_notices_each_rule_that_is_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
