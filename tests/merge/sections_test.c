/* SPDX-License-Identifier: Apache-2.0 */
/* Sections and runs against a naive version; what hostile keys become. */
#include <string.h>

#include "merge/sections.h"
#include "support/test_env.h"

enum { FILES_MAX = 60 };

typedef struct world {
    test_env *t;
    pml_arena arena;
    pml_type types[2];
    const pml_type *type_list[2];
    pml_data_file files[FILES_MAX];
    const pml_data_file *list[FILES_MAX];
    int64_t low[FILES_MAX], high[FILES_MAX];
    size_t n;
} world;

static void world_open(world *w)
{
    memset(w, 0, sizeof *w);
    w->t = test_env_open(NULL);
    pml_arena__init(&w->arena, w->t->env);
    w->types[0] = (pml_type){.kind = PML_TYPE_INT};
    w->types[1] = (pml_type){.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};
    w->type_list[0] = &w->types[0];
    w->type_list[1] = &w->types[1];
}

static void world_close(world *w)
{
    pml_arena__clear(&w->arena);
    test_env_close(w->t);
}

/* The key of a number: its tens, then a letter for the rest. */
static pml_bytes key_of(world *w, int64_t v)
{
    pml_buf b;
    uint8_t letter = (uint8_t)('a' + v % 10);
    const pml_value values[2] = {{.kind = PML_VALUE_INT, .i = v / 10 - 3}, {.kind = PML_VALUE_BYTES, .bytes = {&letter, 1}}};
    pml_buf__init(&b, w->t->env, 1024);
    assert_int_equal(pml_binary_row__write_counted(&b, w->type_list, values, 2), PML_OK);
    const pml_bytes out = {pml_arena__copy(&w->arena, b.data, b.len), b.len};
    pml_buf__clear(&b);
    return out;
}

static void file_add(world *w, int64_t low, int64_t high, int32_t level)
{
    size_t i = w->n++;
    w->low[i] = low;
    w->high[i] = high;
    w->files[i] = (pml_data_file){.name = "data-f.parquet", .min_key = key_of(w, low), .max_key = key_of(w, high), .level = level};
    w->files[i].max_sequence = (int64_t)i;
    w->list[i] = &w->files[i];
}

static int make(pml_sections *out, world *w, bool by_level, pml_error *err)
{
    const pml_sections_request q = {.types = w->type_list, .n_keys = 2, .files = w->list, .n_files = w->n, .by_level = by_level};
    return pml_sections__make(out, &w->arena, &q, err);
}

/* How many ranges of the files marked lie over v. */
static size_t depth(const world *w, const bool *in, int64_t v)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += in[i] && w->low[i] <= v && v <= w->high[i];
    return n;
}

static size_t depth_max(const world *w, const bool *in, int32_t level)
{
    size_t most = 0;
    bool only[FILES_MAX];
    for (size_t i = 0; i < w->n; i++)
        only[i] = in[i] && (level < 0 || w->files[i].level == level);
    for (size_t i = 0; i < w->n; i++) { /* the depth can only rise where a range begins */
        size_t d = only[i] ? depth(w, only, w->low[i]) : 0;
        most = d > most ? d : most;
    }
    return most;
}

static size_t runs_wanted(const world *w, const bool *in, bool by_level)
{
    size_t n = 0;
    if (!by_level)
        return depth_max(w, in, -1);
    for (int32_t level = 0; level < 8; level++)
        n += depth_max(w, in, level);
    return n;
}

static void check_section(const world *w, const pml_section *s, bool *seen, bool *in, bool by_level)
{
    size_t n = 0;
    const pml_data_file *older = NULL;
    for (size_t r = 0; r < s->n_runs; r++) {
        const pml_sorted_run *run = &s->runs[r];
        const pml_data_file *first = &w->files[run->files[0]];
        assert_true(run->n > 0);
        assert_true(older == NULL || first->level < older->level ||
                    (first->level == older->level && first->max_sequence > older->max_sequence));
        older = first;
        for (size_t i = 0; i < run->n; i++) {
            size_t f = run->files[i];
            assert_false(seen[f]);
            seen[f] = in[f] = true;
            n++;
            assert_true(i == 0 || w->high[run->files[i - 1]] < w->low[f]);
            assert_true(!by_level || w->files[f].level == first->level);
        }
    }
    assert_int_equal(n, s->n_files);
    assert_int_equal(s->n_runs, runs_wanted(w, in, by_level));
}

static void check(const world *w, const pml_sections *s, bool by_level)
{
    bool seen[FILES_MAX] = {false};
    int64_t bound = INT64_MIN;
    size_t n = 0, wanted = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool in[FILES_MAX] = {false};
        int64_t low = INT64_MAX, high = INT64_MIN;
        check_section(w, &s->v[i], seen, in, by_level);
        for (size_t f = 0; f < w->n; f++)
            if (in[f]) {
                low = w->low[f] < low ? w->low[f] : low;
                high = w->high[f] > high ? w->high[f] : high;
            }
        assert_true(low > bound); /* in key order, and nothing touches the section before it */
        bound = high;
        n += s->v[i].n_files;
    }
    assert_int_equal(n, w->n);
    /* As many as there are: a section begins where no file has both a key below and one not below. */
    for (size_t f = 0; f < w->n; f++) {
        bool begins = true;
        for (size_t g = 0; g < w->n && begins; g++)
            begins = (w->low[g] > w->low[f] || w->high[g] < w->low[f] || w->low[g] == w->low[f]) && !(w->low[g] == w->low[f] && g < f);
        wanted += begins;
    }
    assert_int_equal(s->n, wanted);
}

static void random_files_fall_into_the_sections_and_runs_of_a_naive_version(void **state)
{
    (void)state;
    (void)test_seed();
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    for (int round = 0; round < 400; round++) {
        size_t n = test_random(w.t) % (FILES_MAX + 1);
        int64_t space = 1 + (int64_t)(test_random(w.t) % 300), width = 1 + (int64_t)(test_random(w.t) % 30);
        w.n = 0;
        pml_arena__clear(&w.arena);
        pml_arena__init(&w.arena, w.t->env);
        while (w.n < n) {
            int64_t low = (int64_t)(test_random(w.t) % (uint64_t)space);
            file_add(&w, low, low + (int64_t)(test_random(w.t) % (uint64_t)width), (int32_t)(test_random(w.t) % 3));
        }
        for (int by_level = 0; by_level < 2; by_level++) {
            pml_sections s;
            must_ok(make(&s, &w, by_level, &err), &err);
            check(&w, &s, by_level);
        }
    }
    world_close(&w);
}

static void bounds_that_touch_keep_files_in_one_section_and_apart_in_runs(void **state)
{
    (void)state;
    world w;
    pml_sections s;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    file_add(&w, 20, 30, 0);
    file_add(&w, 10, 20, 0);
    file_add(&w, 31, 31, 0); /* the next key after 30 */
    must_ok(make(&s, &w, false, &err), &err);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.v[0].n_files, 2);
    assert_int_equal(s.v[0].n_runs, 2);
    assert_int_equal(s.v[1].runs[0].files[0], 2);
    world_close(&w);
}

static void no_files_make_no_sections(void **state)
{
    (void)state;
    world w;
    pml_sections s;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    must_ok(make(&s, &w, false, &err), &err);
    assert_int_equal(s.n, 0);
    world_close(&w);
}

static void must_refuse(world *w, const char *part)
{
    pml_sections s;
    pml_error err = PML_ERROR_INIT;
    must_fail_with(PML_E_CORRUPT, make(&s, w, false, &err), &err);
    assert_non_null(strstr(err.message, "data-f.parquet"));
    assert_non_null(strstr(err.message, part));
}

static void damaged_keys_are_corrupt_and_name_the_file(void **state)
{
    (void)state;
    world w;
    pml_buf b;
    world_open(&w);
    file_add(&w, 1, 2, 0);
    file_add(&w, 30, 3, 0);
    must_refuse(&w, "the smallest key of");
    w.files[1].max_key = w.files[1].min_key;
    pml_buf__init(&b, w.t->env, 1024);
    const pml_value with_null[2] = {{.kind = PML_VALUE_INT, .i = 1}, {.kind = PML_VALUE_NULL}};
    assert_int_equal(pml_binary_row__write_counted(&b, w.type_list, with_null, 2), PML_OK);
    w.files[1].min_key = (pml_bytes){b.data, b.len};
    must_refuse(&w, "null in part 2 of 2");
    w.files[1].min_key = key_of(&w, 4);
    w.files[1].max_key.len -= 8;
    must_refuse(&w, "the largest key of");
    w.files[1].max_key = (pml_bytes){(const uint8_t *)"\0\0\0\0\0\0\0\0\0\0\0\0", 12}; /* no fields, as files of append tables have */
    must_refuse(&w, "the largest key of");
    w.files[1].max_key = (pml_bytes){NULL, 0};
    must_refuse(&w, "the largest key of");
    pml_buf__clear(&b);
    world_close(&w);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    world_open(&w);
    for (int i = 0; i < 40; i++)
        file_add(&w, i * 3, i * 3 + i % 7, i % 2);
    pml_arena keys = w.arena;
    for (long long n = 1;; n++) {
        pml_sections s;
        pml_arena__init(&w.arena, w.t->env);
        test_env_fail_at(w.t, n);
        int rc = make(&s, &w, false, &err);
        bool reached = test_env_fail_reached(w.t);
        test_env_fail_at(w.t, 0);
        pml_arena__clear(&w.arena);
        if (!reached)
            break;
        assert_int_equal(rc, PML_E_NOMEM);
    }
    w.arena = keys;
    world_close(&w);
}

/* By hand, step by step as java.util.PriorityQueue: [1] . [2 1] . [2 1 3] . poll 2, behind it comes 4: [24 1 3]. */
static void runs_may_come_as_they_lie_in_javas_queue(void **state)
{
    (void)state;
    static const size_t wanted[] = {1, 3, 0, 2};
    world w;
    pml_sections out;
    pml_error err = PML_ERROR_INIT;
    size_t at = 0;
    world_open(&w);
    file_add(&w, 1, 10, 0);
    file_add(&w, 2, 3, 0);
    file_add(&w, 2, 9, 0);
    file_add(&w, 4, 5, 0);
    const pml_sections_request q = {.types = w.type_list, .n_keys = 2, .files = w.list, .n_files = w.n, .as_queued = true};
    must_ok(pml_sections__make(&out, &w.arena, &q, &err), &err);
    assert_int_equal(out.n, 1);
    for (size_t r = 0; r < out.v[0].n_runs; r++)
        for (size_t i = 0; i < out.v[0].runs[r].n; i++)
            assert_int_equal(out.v[0].runs[r].files[i], wanted[at++]);
    assert_int_equal(at, 4);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_files_fall_into_the_sections_and_runs_of_a_naive_version),
        cmocka_unit_test(bounds_that_touch_keep_files_in_one_section_and_apart_in_runs),
        cmocka_unit_test(runs_may_come_as_they_lie_in_javas_queue),
        cmocka_unit_test(no_files_make_no_sections),
        cmocka_unit_test(damaged_keys_are_corrupt_and_name_the_file),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
