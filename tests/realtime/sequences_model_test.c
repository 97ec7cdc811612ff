/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 25.7 "One PB, read" and "Commit queue": every sequence of a few operations on a live table, held against the model (rt_model.h) after
 * each of them and at the end, with tables that have a primary key and without. Operations that would do nothing are left out.
 *
 * DEPTH=n (4), TEST=pattern, SCRIPT=letters and NUMBER=n for one sequence: w write, s seal, p prepare, c commit, x abort, a advance, l plan,
 * r read a plan that was made before, k kill, f a compaction by others, t a truncate, o close and open the writer.
 */
#include <stdlib.h>
#include <string.h>

#include "support/rt_model.h"
#include "support/test_env.h"

enum { DEPTH_MAX = 8 };

/* What makes an operation do something. */
typedef struct small_state {
    bool rows, building, prepared, committed, plan, disk;
} small_state;

typedef struct search {
    const char *letters;
    bool keyed;
    int depth;
    char path[DEPTH_MAX + 1];
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
        s->rows = s->building = false;
        return true;
    case 'c':
    case 'x':
        if (!s->prepared)
            return false;
        s->prepared = false;
        s->committed = s->committed || letter == 'c';
        s->disk = s->disk || letter == 'c';
        s->rows = s->rows || letter == 'x';
        return true;
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
        if (!step(&next, *l))
            continue;
        longer = true;
        q->path[length] = *l;
        go_on(q, next, length + 1);
    }
    q->path[length] = '\0';
    if (!longer)
        run_one(q, q->path, q->number++);
}

static void all_sequences(const char *letters, bool keyed, int depth)
{
    search q = {.letters = letters, .keyed = keyed, .depth = (int)test_setting("DEPTH", depth, 1, DEPTH_MAX)};
    if (getenv("SCRIPT") != NULL) {
        run_one(&q, getenv("SCRIPT"), (uint64_t)test_setting("NUMBER", 0, 0, INT64_MAX));
        return;
    }
    q.number = test_seed();
    const uint64_t first = q.number;
    go_on(&q, (small_state){0}, 0);
    print_message("%llu sequences of %d operations, %lld operations\n", (unsigned long long)(q.number - first), q.depth, q.operations);
}

static void every_sequence_without_keys(void **state)
{
    (void)state;
    all_sequences("wspcxalr", false, 4);
}

static void every_sequence_with_keys(void **state)
{
    (void)state;
    all_sequences("wspcxalr", true, 4);
}

static void every_sequence_with_others_without_keys(void **state)
{
    (void)state;
    all_sequences("wpcalkfto", false, 4);
}

static void every_sequence_with_others_with_keys(void **state)
{
    (void)state;
    all_sequences("wpcalkfto", true, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_without_keys),
        cmocka_unit_test(every_sequence_with_keys),
        cmocka_unit_test(every_sequence_with_others_without_keys),
        cmocka_unit_test(every_sequence_with_others_with_keys),
    };
    if (getenv("TEST") != NULL)
        cmocka_set_test_filter(getenv("TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
