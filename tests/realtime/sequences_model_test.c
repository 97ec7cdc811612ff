/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 25.7 "One PB, read" and "Commit queue" as far as there is one: every sequence of a few operations on a live table, held against the
 * model (rt_model.h) after each of them and at the end, with tables that have a primary key and without. Operations that would do nothing
 * are left out. "One PB, read" also goes on from a table with a commit and uncommitted rows.
 *
 * DEPTH=n (of what comes behind the beginning), TEST=pattern, SCRIPT=letters and NUMBER=n for one sequence: w write, s seal, p prepare, c commit, b commit of one bucket of
 * several, x abort, a advance, l plan, v plan of the snapshot before the latest, m plan amid a commit and an advance, h plan with an old
 * hint, r read a plan that was made before, k kill, f a compaction by others, t a truncate, 2 a second writer that commits, o close and
 * open the writer.
 */
#include <stdlib.h>
#include <string.h>

#include "support/rt_model.h"
#include "support/test_env.h"

enum { DEPTH_MAX = 8, PREFIX_MAX = 8 };

/* What makes an operation do something. */
typedef struct small_state {
    bool rows, building, prepared, committed, plan, disk;
    bool part;    /* one of several buckets is committed */
    bool foreign; /* others have ended the history, or committed to it */
    int snapshots;
} small_state;

typedef struct search {
    const char *letters;
    bool keyed;
    int depth;
    char path[PREFIX_MAX + DEPTH_MAX + 1];
    uint64_t number; /* of sequences so far; also their seed */
    long long operations;
} search;

static bool step(small_state *s, char letter)
{
    switch (letter) {
    case 'w': s->rows = s->building = true; return true;
    case 's': {
        const bool was = s->building;
        s->building = false;
        return was;
    }
    case 'p':
        if (s->prepared || !s->rows)
            return false;
        s->prepared = true;
        s->rows = s->building = s->part = false;
        return true;
    case 'c':
    case 'm':
    case 'x':
        if (!s->prepared || (letter == 'm' && s->foreign))
            return false;
        s->prepared = false;
        s->committed = s->committed || letter == 'c';
        s->disk = s->disk || letter != 'x';
        s->snapshots += letter != 'x';
        s->rows = s->rows || letter == 'x';
        return true;
    case 'b':
        if (!s->prepared || s->part)
            return false;
        s->part = s->committed = s->disk = true;
        s->snapshots++;
        return true;
    case '2':
        if (s->foreign)
            return false;
        s->foreign = s->disk = true;
        s->snapshots++;
        s->rows = s->building = s->rows || s->prepared; /* a new life begins */
        s->prepared = s->committed = s->plan = false;
        return true;
    case 'v': return s->disk;
    case 'h': return s->snapshots >= 2;
    case 't':
        s->foreign = s->foreign || s->disk;
        s->snapshots += s->disk;
        return s->disk;
    case 'a': {
        const bool was = s->committed;
        s->committed = false;
        return was;
    }
    case 'l': s->plan = true; return true;
    case 'r': return s->plan;
    case 'k':
        if (!s->rows && !s->prepared && !s->disk && !s->plan)
            return false;
        s->rows = s->building = s->rows || s->prepared; /* sent again */
        s->prepared = s->committed = s->plan = false;
        return true;
    default: return s->disk || letter == 'o';
    }
}

static void run_one(search *q, const char *script, uint64_t number)
{
    const rt_model_options o = {.seed = number, .steps = (int)strlen(script), .keyed = q->keyed, .script = script};
    rt_model_result r;
    rt_model_run(&r, &o);
    q->operations += r.operations;
    if (!r.failed)
        return;
    print_error("%s\n", r.failure);
    for (int i = 0; i < r.n_log; i++)
        print_error("  %s\n", r.log[i]);
    fail_msg("SCRIPT=%s NUMBER=%llu repeats it", script, (unsigned long long)number);
}

/* All sequences that begin with the path; a sequence that is the beginning of another is run by it. */
static void go_on(search *q, small_state s, int length)
{
    bool longer = false;
    for (const char *l = q->letters; *l != '\0' && length < q->depth; l++) {
        small_state next = s;
        if ((length > 0 && *l == q->path[length - 1] && strchr("alrvh", *l) != NULL) || !step(&next, *l))
            continue; /* those twice on end are as good as once */
        longer = true;
        q->path[length] = *l;
        go_on(q, next, length + 1);
    }
    q->path[length] = '\0';
    if (!longer)
        run_one(q, q->path, q->number++);
}

/* prefix: what they all begin with. */
static void all_sequences(const char *prefix, const char *letters, bool keyed, int depth)
{
    const int begin = (int)strlen(prefix);
    search q = {.letters = letters, .keyed = keyed, .depth = begin + (int)test_setting("DEPTH", depth, 1, DEPTH_MAX)};
    small_state s = {0};
    if (getenv("SCRIPT") != NULL) {
        run_one(&q, getenv("SCRIPT"), (uint64_t)test_setting("NUMBER", 0, 0, INT64_MAX));
        return;
    }
    q.number = test_seed();
    const uint64_t first = q.number;
    for (int i = 0; i < begin; i++) {
        q.path[i] = prefix[i];
        assert_true(step(&s, prefix[i]));
    }
    go_on(&q, s, begin);
    print_message("%llu sequences of %d operations, %lld operations\n", (unsigned long long)(q.number - first), q.depth,
                  q.operations);
}

static void every_sequence_without_keys(void **state)
{
    (void)state;
    all_sequences("", "wspcxalr", false, 4);
}

static void every_sequence_with_keys(void **state)
{
    (void)state;
    all_sequences("", "wspcxalr", true, 4);
}

static void every_sequence_of_lives_without_keys(void **state)
{
    (void)state;
    all_sequences("", "wpcakfo", false, 4);
}

static void every_sequence_of_lives_with_keys(void **state)
{
    (void)state;
    all_sequences("", "wpcakfo", true, 4);
}

static void every_sequence_of_one_bucket_without_keys(void **state)
{
    (void)state;
    all_sequences("", "wspcalvhmbt", false, 4);
}

static void every_sequence_of_one_bucket_with_keys(void **state)
{
    (void)state;
    all_sequences("", "wspcalvhmbt", true, 4);
}

static void every_sequence_after_a_commit_without_keys(void **state)
{
    (void)state;
    all_sequences("wpcw", "wpcavhmbt", false, 3);
}

static void every_sequence_with_a_second_writer(void **state)
{
    (void)state;
    all_sequences("wpcw", "pcavh2", false, 3);
}

static void every_sequence_after_a_commit_with_keys(void **state)
{
    (void)state;
    all_sequences("wpcw", "wpcavhmbt", true, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_without_keys),
        cmocka_unit_test(every_sequence_with_keys),
        cmocka_unit_test(every_sequence_of_lives_without_keys),
        cmocka_unit_test(every_sequence_of_lives_with_keys),
        cmocka_unit_test(every_sequence_of_one_bucket_without_keys),
        cmocka_unit_test(every_sequence_of_one_bucket_with_keys),
        cmocka_unit_test(every_sequence_after_a_commit_without_keys),
        cmocka_unit_test(every_sequence_after_a_commit_with_keys),
        cmocka_unit_test(every_sequence_with_a_second_writer),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
