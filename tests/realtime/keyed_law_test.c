/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law of live tables with a primary key (realtime-tests 25.4): what a read shows does not change while rows go from memory to files
 * to a snapshot, and it is what a batch writer with the same rows in the same groups leaves behind. Random writes, seals, prepares and
 * commits over engines and their options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <paimonlive/rows.h>

#include "support/lookup_kit.h"
#include "support/rt_kit.h"

enum { COLUMNS = 6, KEYS = 12, WRITES_MAX = 64, ROWS_MAX = 30, TEXT_MAX = 16 };

typedef struct variant {
    const char *name, *options;
    const char *kinds; /* digits: those that writes draw from */
    bool naive;        /* the last row of a key wins */
} variant;

static const variant variants[] = {
    {"deduplicate", "", "0023", true},
    {"sequence.field", "\"sequence.field\":\"s\"", "0023", false},
    {"two sequence fields, descending", "\"sequence.field\":\"s,a\",\"sequence.field.sort-order\":\"descending\"", "0023", false},
    {"ignore-delete", "\"ignore-delete\":\"true\"", "01233", false},
    {"ignore-update-before", "\"ignore-update-before\":\"true\"", "0123", true},
    {"first-row", "\"merge-engine\":\"first-row\",\"ignore-delete\":\"true\"", "003", false},
    {"partial-update", "\"merge-engine\":\"partial-update\",\"ignore-delete\":\"true\"", "0023", false},
    {"sequence groups", "\"merge-engine\":\"partial-update\",\"fields.g.sequence-group\":\"a,b\",\"fields.s.sequence-group\":\"c\","
                        "\"fields.c.aggregate-function\":\"sum\"", "0023", false},
    {"remove-record-on-delete", "\"merge-engine\":\"partial-update\",\"partial-update.remove-record-on-delete\":\"true\"", "0023", false},
    {"aggregation", "\"merge-engine\":\"aggregation\",\"fields.a.aggregate-function\":\"sum\",\"fields.b.aggregate-function\":\"listagg\","
                    "\"fields.c.aggregate-function\":\"max\",\"aggregation.remove-record-on-delete\":\"true\"", "0023", false},
    {"lookup", "\"merge-engine\":\"aggregation\",\"changelog-producer\":\"lookup\",\"fields.default-aggregate-function\":\"last_value\","
               "\"sequence.field\":\"s\",\"aggregation.remove-record-on-delete\":\"true\"", "0023", false},
    {"deletion vectors", "\"deletion-vectors.enabled\":\"true\"", "0023", true},
};

/* One written batch. */
typedef struct written {
    int64_t n, id[ROWS_MAX], number[4][ROWS_MAX];
    bool null[5][ROWS_MAX];
    char text[ROWS_MAX][TEXT_MAX];
    int8_t kinds[ROWS_MAX];
    int64_t segment;
} written;

typedef struct world {
    const variant *v;
    rt_kit k; /* its table is ours */
    char path[600];
    size_t n;
    written w[WRITES_MAX];
    int64_t segment;
    pml_rt_prepared *prepared;
    int64_t identifier;
    pml_lookup *lookup, *narrow; /* of all columns, of one */
} world;

static const char fields[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"g\",\"type\":\"INT\"},{\"name\":\"s\",\"type\":\"INT\"},"
    "{\"name\":\"a\",\"type\":\"INT\"},{\"name\":\"b\",\"type\":\"STRING\"},{\"name\":\"c\",\"type\":\"BIGINT\"}],\"partitionKeys\":[],"
    "\"primaryKeys\":[\"id\"],\"comment\":\"\",\"options\":{\"realtime.enabled\":\"true\",\"realtime.primary-key.preview\":\"true\",\"bucket\":\"%d\"%s%s}}";

static pml_table *make_table(world *w, const char *name, int buckets)
{
    char json[2048];
    pml_table *t;
    pml_error err = PML_ERROR_INIT;
    int n = snprintf(json, sizeof json, fields, buckets, w->v->options[0] == '\0' ? "" : ",", w->v->options);
    must_ok(pml_table_create(&t, w->k.t->env, test_path(w->k.t, name), json, (size_t)n, 0, &err), &err);
    return t;
}

/* ---- rows ---- */

static void draw(written *out, world *w)
{
    test_env *t = w->k.t;
    size_t kinds = strlen(w->v->kinds);
    static const int64_t sizes[] = {1, 1, 2, 5, ROWS_MAX};
    *out = (written){.n = sizes[test_random(t) % 5], .segment = w->segment};
    for (int64_t i = 0; i < out->n; i++) {
        out->id[i] = (int64_t)(test_random(t) % KEYS);
        for (int c = 0; c < 4; c++)
            out->number[c][i] = (int64_t)(test_random(t) % 7);
        for (int c = 0; c < 5; c++)
            out->null[c][i] = test_random(t) % 4 == 0;
        (void)snprintf(out->text[i], TEXT_MAX, "t%d", (int)(test_random(t) % 100));
        out->kinds[i] = (int8_t)(w->v->kinds[test_random(t) % kinds] - '0');
    }
}

static struct ArrowArray with_nulls(struct ArrowArray a, const bool *null)
{
    uint8_t *bits = calloc((size_t)a.length / 8 + 1, 1);
    assert_non_null(bits);
    for (int64_t i = 0; i < a.length; i++) {
        a.null_count += null[i];
        if (!null[i])
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1 << (i % 8));
    }
    a.buffers[0] = bits; /* freed with the others */
    return a;
}

static struct ArrowArray batch_of(const written *w)
{
    struct ArrowArray c[COLUMNS];
    int32_t narrow[3][ROWS_MAX];
    const char *texts[ROWS_MAX];
    for (int64_t i = 0; i < w->n; i++) {
        for (int k = 0; k < 3; k++)
            narrow[k][i] = (int32_t)w->number[k][i];
        texts[i] = w->null[3][i] ? NULL : w->text[i];
    }
    c[0] = test_fixed_array(8, w->n, w->id);
    for (int k = 0; k < 3; k++)
        c[1 + k] = with_nulls(test_fixed_array(4, w->n, narrow[k]), w->null[k]);
    c[4] = test_text_array(w->n, texts);
    c[5] = with_nulls(test_fixed_array(8, w->n, w->number[3]), w->null[4]);
    return test_struct_array(w->n, COLUMNS, c);
}

static struct ArrowSchema schema_of(bool with_kind)
{
    struct ArrowSchema f[COLUMNS + 1] = {
        test_field("l", "id", -1, false, 0, NULL), test_field("i", "g", -1, true, 0, NULL), test_field("i", "s", -1, true, 0, NULL),
        test_field("i", "a", -1, true, 0, NULL),   test_field("u", "b", -1, true, 0, NULL), test_field("l", "c", -1, true, 0, NULL)};
    if (with_kind)
        f[COLUMNS] = test_field("c", "_VALUE_KIND", -1, false, 0, NULL);
    return test_struct(COLUMNS + (with_kind ? 1 : 0), f);
}

/* ---- answers ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All rows as lines in order; malloc'ed. */
static char *answer(pml_table *t, pml_rt_context *ctx)
{
    pml_scan *scan;
    pml_plan *plan;
    struct ArrowArrayStream s;
    struct ArrowSchema schema;
    pml_rows_printer *p;
    pml_text text = {0};
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, t, &err), &err);
    must_ok(pml_scan_set_realtime(scan, ctx, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    pml_plan_free(plan);
    assert_int_equal(s.get_schema(&s, &schema), 0);
    must_ok(pml_rows_printer_new(&p, pml_table_env(t), &schema, PML_ROWS_JSON, &err), &err);
    for (;;) {
        struct ArrowArray batch;
        if (s.get_next(&s, &batch) != 0)
            fail_msg("%s", s.get_last_error(&s));
        if (batch.release == NULL)
            break;
        must_ok(pml_rows_print(&text, p, &batch, 0, batch.length, &err), &err);
        batch.release(&batch);
    }
    pml_rows_printer_free(p);
    schema.release(&schema);
    s.release(&s);
    char *lines[KEYS + 1], *out = calloc(1, text.len + 2), *copy = calloc(1, text.len + 1), *at = copy, *to = out;
    size_t n = 0;
    assert_true(out != NULL && copy != NULL);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    for (char *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        if (n == KEYS) /* each key once */
            fail_msg("more rows than keys:\n%.*s", (int)text.len, text.ptr);
        *end = '\0';
        lines[n++] = at;
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(lines[i]);
        memcpy(to, lines[i], len);
        to[len] = '\n';
        to += len + 1;
    }
    free(copy);
    pml_text_clear(&text);
    return out;
}

/* A look at n keys, at random, perhaps some of them twice, and a few that were never written. */
static void must_look_up(world *w, pml_lookup *l, const char *shown, size_t n, const char *when)
{
    enum { ASKED_MAX = 2 * KEYS };
    char texts[ASKED_MAX][8];
    const char *keys[ASKED_MAX];
    assert_true(n <= ASKED_MAX);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%d", (int)(test_random(w->k.t) % (KEYS + 2)) - 1);
        keys[i] = texts[i];
    }
    char **got = lookup_kit_get(l, w->k.t->env, keys, n, n);
    for (size_t i = 0; i < n; i++) {
        char begins[48];
        (void)snprintf(begins, sizeof begins, "{\"_kind\":\"+I\",\"id\":%s,", keys[i]);
        const char *want = strstr(shown, begins);
        bool same = (want != NULL) == (got[i] != NULL);
        if (same && want != NULL && l == w->narrow) {
            const char *b = strstr(want, "\"b\":");
            same = b != NULL && strncmp(got[i] + strlen("{\"_kind\":\"+I\","), b, strcspn(b, ",}")) == 0;
        } else if (same && want != NULL) {
            same = strlen(got[i]) == strcspn(want, "\n") && strncmp(got[i], want, strlen(got[i])) == 0;
        }
        if (!same)
            fail_msg("%s: %s, a lookup of key %s gives\n%s\nwhere a scan gives\n%s", w->v->name, when, keys[i], got[i] == NULL ? "nothing" : got[i],
                     shown);
    }
    lookup_kit_free(got, n);
}

static void must_look_up_all(world *w, const char *shown, const char *when)
{
    must_look_up(w, w->lookup, shown, 1, when);
    must_look_up(w, w->lookup, shown, 2 * KEYS, when);
    must_look_up(w, w->narrow, shown, 1 + test_random(w->k.t) % 3, when);
}

static void must_show(world *w, const char *wanted, const char *when)
{
    must_look_up_all(w, wanted, when);
    char *got = answer(w->k.table, w->k.ctx);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s: %s changed the answer from\n%sto\n%s", w->v->name, when, wanted, got);
    free(got);
}

/* Which keys are there, where the last row decides. */
static void must_have_keys(world *w, const char *shown)
{
    int last[KEYS];
    for (int i = 0; i < KEYS; i++)
        last[i] = 3;
    for (size_t i = 0; i < w->n; i++)
        for (int64_t r = 0; r < w->w[i].n; r++)
            if (w->w[i].kinds[r] != 1 || strcmp(w->v->name, "ignore-update-before") != 0)
                last[w->w[i].id[r]] = w->w[i].kinds[r];
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "\"id\":%d,", i);
        if ((strstr(shown, key) != NULL) != (last[i] == 0 || last[i] == 2))
            fail_msg("%s: key %d, whose last row is of kind %d, is wrong in\n%s", w->v->name, i, last[i], shown);
    }
}

/* ---- what happens ---- */

static void write_one(world *w)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_write_options o = PML_RT_WRITE_OPTIONS_INIT;
    written *one = &w->w[w->n];
    draw(one, w);
    struct ArrowArray batch = batch_of(one);
    struct ArrowSchema schema = schema_of(false);
    o.row_kinds = one->kinds;
    must_ok(pml_rt_write(NULL, w->k.w, &batch, &schema, &o, &err), &err);
    schema.release(&schema);
    w->n++;
}

static void settle(world *w)
{
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    size_t n;
    pml_error err = PML_ERROR_INIT;
    if (w->prepared == NULL)
        return;
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, w->prepared);
    if (n > 0)
        must_ok(pml_rt_commit(&r, w->k.commit, entries, n, w->identifier, NULL, &err), &err);
    pml_rt_prepared_free(w->prepared);
    w->prepared = NULL;
}

static void prepare(world *w)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_rt_prepare(&w->prepared, w->k.w, ++w->identifier, NULL, &err), &err);
    w->segment++;
}

/* The same rows by a batch writer, a commit for each segment. */
static void must_be_batch_written(world *w, const char *wanted, int buckets)
{
    pml_table *t = make_table(w, "mirror", buckets);
    pml_commit *commit;
    pml_rt_context *ctx;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_commit_open(&commit, t, "mirror", &err), &err);
    for (size_t i = 0, end; i < w->n; i = end) {
        pml_writer *writer;
        pml_messages *m;
        pml_commit_result r = PML_COMMIT_RESULT_INIT;
        must_ok(pml_writer_open(&writer, t, &err), &err);
        for (end = i; end < w->n && w->w[end].segment == w->w[i].segment; end++) {
            struct ArrowArray batch = batch_of(&w->w[end]), c[COLUMNS + 1];
            struct ArrowSchema schema = schema_of(true);
            for (int k = 0; k < COLUMNS; k++) {
                c[k] = *batch.children[k];
                batch.children[k]->release = NULL;
            }
            batch.release(&batch);
            c[COLUMNS] = test_fixed_array(1, w->w[end].n, w->w[end].kinds);
            batch = test_struct_array(w->w[end].n, COLUMNS + 1, c);
            must_ok(pml_writer_write(writer, &batch, &schema, &err), &err);
            schema.release(&schema);
        }
        must_ok(pml_writer_prepare(&m, writer, &err), &err);
        pml_writer_close(writer);
        must_ok(pml_commit_run(&r, commit, &m, 1, (int64_t)i + 1, NULL, &err), &err);
        pml_messages_free(m);
    }
    must_ok(pml_rt_context_open(&ctx, w->k.t->env, NULL, &err), &err);
    char *got = answer(t, ctx);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s: a batch writer leaves\n%swhere the live writer leaves\n%s", w->v->name, got, wanted);
    free(got);
    pml_rt_context_close(ctx);
    pml_commit_close(commit);
    pml_table_release(t);
}

static void episode(const variant *v, uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    pml_error err = PML_ERROR_INIT;
    const pml_file_system fast = rt_kit_fs();
    assert_non_null(w);
    w->v = v;
    w->k.t = test_env_open(&fast);
    w->k.t->random_state = seed;
    int buckets = 1 + (int)(test_random(w->k.t) % 2);
    w->k.table = make_table(w, "t", buckets);
    must_ok(pml_commit_open(&w->k.commit, w->k.table, "law", &err), &err);
    must_ok(pml_rt_context_open(&w->k.ctx, w->k.t->env, NULL, &err), &err);
    must_ok(pml_rt_writer_open(&w->k.w, w->k.table, w->k.ctx, NULL, &err), &err);
    w->lookup = lookup_kit_open(w->k.table, w->k.ctx, NULL, 0);
    w->narrow = lookup_kit_open(w->k.table, w->k.ctx, (const char *const[]){"b"}, 1);
    for (int step = 0; step < 40 && w->n < WRITES_MAX; step++) {
        uint64_t dice = test_random(w->k.t) % 10;
        if (dice < 6) {
            write_one(w);
            continue;
        }
        char *before = answer(w->k.table, w->k.ctx);
        must_look_up_all(w, before, "after writes");
        if (v->naive)
            must_have_keys(w, before);
        if (dice == 6) {
            must_ok(pml_rt_seal(w->k.w, &err), &err);
            w->segment++;
        } else if (w->prepared == NULL) {
            prepare(w);
        } else {
            settle(w);
        }
        must_show(w, before, dice == 6 ? "a seal" : w->prepared != NULL ? "a prepare" : "a commit");
        free(before);
    }
    settle(w);
    char *last = answer(w->k.table, w->k.ctx);
    prepare(w);
    settle(w);
    must_show(w, last, "the last commit");
    must_be_batch_written(w, last, buckets);
    free(last);
    pml_lookup_close(w->lookup);
    pml_lookup_close(w->narrow);
    must_ok(pml_rt_writer_close(w->k.w, &err), &err);
    pml_rt_context_close(w->k.ctx);
    pml_commit_close(w->k.commit);
    pml_table_release(w->k.table);
    test_env_close(w->k.t);
    free(w);
}

static void answers_stay_while_rows_move(void **state)
{
    (void)state;
    int64_t rounds = test_setting("ROUNDS", 6, 1, 1000000);
    uint64_t seed = test_seed();
    for (int64_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
            if (test_setting("VERBOSE", 0, 0, 1) != 0)
                printf("%s, round %lld\n", variants[i].name, (long long)round);
            episode(&variants[i], seed + (uint64_t)round * 1000 + i);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_stay_while_rows_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
