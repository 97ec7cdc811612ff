/* SPDX-License-Identifier: Apache-2.0 */
/* What a lookup knows of the files after the deltas of newer snapshots is what it reads anew: names and order, bucket by bucket. */
#include <paimonlive/table.h>
#include <stdio.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "support/keyed_kit.h"
#include "support/rt_kit.h"
#include "table/commit.h"
#include "table/lookup_base.h"

typedef struct world {
    faulty_fs f;
    test_env *t;
    table_kit k;
    pml_scan *scan;
    int64_t next;
} world;

static void world_open(world *w)
{
    pml_error err = PML_ERROR_INIT;
    memset(w, 0, sizeof *w);
    const pml_file_system fast = rt_kit_fs();
    faulty_fs_init(&w->f, &fast);
    w->t = test_env_open(&w->f.fs);
    w->t->random_state = test_seed();
    keyed_create(&w->k, w->t, test_path(w->t, "t"), true, "\"bucket\":\"3\",\"manifest.merge-min-count\":\"10\",\"commit.durability\":\"none\"");
    must_ok(pml_scan_new(&w->scan, w->k.table, &err), &err);
}

static void world_close(world *w)
{
    pml_scan_free(w->scan);
    table_kit_close(&w->k);
    test_env_close(w->t);
    faulty_fs_destroy(&w->f);
}

static void append(world *w)
{
    keyed_row rows[4];
    for (int i = 0; i < 4; i++, w->next++)
        rows[i] = (keyed_row){.id = w->next, .p = w->next % 2, .n = KEYED_NULL, .s = 1, .v = 1};
    keyed_upsert(&w->k, rows, 1 + test_random(w->t) % 4);
}

/* A snapshot of this kind without some of the files, as a compaction would leave out those that it merged. */
typedef struct leaving_out {
    world *w;
    pml_commit_kind kind;
} leaving_out;

static int leave_out(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    const leaving_out *o = arg;
    const pml_live_files_request all = {0};
    pml_manifest_entries live;
    PML_RETURN_IF(pml_table__live_files(&live, base->arena, o->w->k.table, base->latest, &all, err));
    d->identifier = 1;
    d->n_removed = live.n < 3 ? live.n : 1 + (size_t)(test_random(o->w->t) % 3);
    d->removed = live.v + (live.n - d->n_removed) / 2;
    return PML_OK;
}

static void commit_as(world *w, pml_commit_kind kind, int (*decide)(void *, pml_commit_decision *, const pml_commit_base *, pml_error *), void *arg)
{
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    pml_commit *c;
    const pml_commit_request request = {.arg = arg, .decide = decide, .kind = kind, .delta_per_attempt = true};
    must_ok(pml_commit_open(&c, w->k.table, NULL, &err), &err);
    must_ok(pml_commit__execute(&r, c, &request, &err), &err);
    pml_commit_close(c);
}

static void commit_without(world *w, pml_commit_kind kind)
{
    leaving_out o = {w, kind};
    commit_as(w, kind, leave_out, &o);
}

/* One file goes, or comes as it was: with the name that it had, which no writer gives again. */
typedef struct one_file {
    const pml_manifest_entry *entry;
    pml_new_files files;
    const pml_new_files *list;
} one_file;

/* entry NULL: nothing goes. */
static int take_out(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    const one_file *o = arg;
    (void)base;
    (void)err;
    d->identifier = 1;
    d->n_removed = o->entry != NULL;
    d->removed = o->entry;
    return PML_OK;
}

static int put_back(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    one_file *o = arg;
    (void)base;
    (void)err;
    d->identifier = 1;
    d->n_files = 1;
    d->files = &o->list;
    return PML_OK;
}

static void commit_take_out(world *w, const pml_manifest_entry *e)
{
    one_file o = {.entry = e};
    commit_as(w, PML_COMMIT_COMPACT, take_out, &o);
}

static void commit_put_back(world *w, const pml_manifest_entry *e)
{
    pml_data_file file = e->file;
    one_file o = {.list = &o.files};
    assert_int_equal(pml_new_files__init(&o.files, w->t->env, e->partition, e->bucket, e->total_buckets), PML_OK);
    o.files.files = &file;
    o.files.n = 1;
    o.files.rows = file.row_count;
    commit_as(w, PML_COMMIT_APPEND, put_back, &o);
    o.files.files = NULL;
    o.files.n = 0;
    pml_new_files__clear(&o.files);
}

/* The latest snapshots are taken back, and others come under their ids. */
static void roll_back(world *w, int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    int64_t latest;
    char path[400];
    must_ok(pml_table__latest_snapshot(&latest, w->k.table, true, &err), &err);
    for (int64_t id = latest; id > latest - n; id--) {
        (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", w->k.table->path, (long long)id);
        must_ok(pml_file__remove(w->t->env, path, &err), &err);
    }
    (void)snprintf(path, sizeof path, "%s/snapshot/LATEST", w->k.table->path);
    (void)pml_file__remove(w->t->env, path, NULL);
    for (int64_t i = 0; i < n; i++)
        append(w);
}

static pml_lookup_base *load(world *w, const pml_lookup_base *known)
{
    pml_lookup_base *b;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_lookup_base__load(&b, w->scan, known, &err), &err);
    return b;
}

static void must_be_equal(const pml_lookup_base *a, const pml_lookup_base *b)
{
    const pml_lookup_bucket *x = a->first, *y = b->first;
    assert_int_equal(a->plan->snapshot_id, b->plan->snapshot_id);
    for (; x != NULL && y != NULL; x = x->after, y = y->after) {
        assert_true(pml_bytes_equal(x->partition, y->partition));
        assert_int_equal(x->bucket, y->bucket);
        assert_int_equal(x->max_sequence, y->max_sequence);
        assert_int_equal(x->n, y->n);
        for (size_t i = 0; i < x->n; i++) {
            assert_string_equal(x->entries[i]->file.name, y->entries[i]->file.name);
            assert_int_equal(x->entries[i]->file.row_count, y->entries[i]->file.row_count);
            assert_true(pml_bytes_equal(x->entries[i]->file.min_key, y->entries[i]->file.min_key));
        }
    }
    assert_ptr_equal(x, y);
}

static void deltas_give_what_the_whole_list_gives(void **state)
{
    (void)state;
    world w;
    size_t followed = 0;
    world_open(&w);
    append(&w);
    pml_lookup_base *known = load(&w, NULL);
    for (int step = 0; step < 60; step++) {
        uint64_t dice = test_random(w.t) % 20;
        for (uint64_t n = test_random(w.t) % 3; n > 0; n--)
            append(&w);
        if (dice < 4)
            commit_without(&w, PML_COMMIT_COMPACT);
        else if (dice == 4)
            commit_without(&w, PML_COMMIT_OVERWRITE);
        else if (dice == 5)
            roll_back(&w, 1 + (int64_t)(test_random(w.t) % 2));
        pml_lookup_base *next = load(&w, known), *anew = load(&w, NULL);
        must_be_equal(next, anew);
        followed += next->list.files->depth > 0;
        pml_lookup_base__release(anew);
        pml_lookup_base__release(known);
        known = next;
    }
    assert_true(followed > 30);
    pml_lookup_base__release(known);
    world_close(&w);
}

/* A snapshot costs its own manifests, however many there are. */
static void a_new_snapshot_is_read_alone(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    for (int i = 0; i < 9; i++)
        append(&w);
    pml_lookup_base *known = load(&w, NULL);
    append(&w);
    faulty_fs_reset(&w.f);
    pml_lookup_base *next = load(&w, known);
    const long long by_delta = faulty_fs_count(&w.f, FS_OP(FS_OP_OPEN_READ));
    faulty_fs_reset(&w.f);
    pml_lookup_base *anew = load(&w, NULL);
    const long long whole = faulty_fs_count(&w.f, FS_OP(FS_OP_OPEN_READ));
    must_be_equal(next, anew);
    assert_in_range(by_delta, 1, 5); /* hint, both snapshots, list, manifest */
    assert_true(whole > 10);
    commit_take_out(&w, known->first->entries[0]);
    for (long long n = 1, failed = 1; failed; n++) {
        pml_lookup_base *b = NULL;
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(w.t, n);
        int rc = pml_lookup_base__load(&b, w.scan, known, &err);
        failed = test_env_fail_reached(w.t);
        test_env_fail_at(w.t, 0);
        assert_true(rc == PML_E_NOMEM || rc == PML_OK);
        pml_lookup_base__release(b);
    }
    pml_lookup_base__release(known);
    pml_lookup_base__release(next);
    pml_lookup_base__release(anew);
    world_close(&w);
}

/* One file comes and goes again and again. What scans show of it then hangs on the manifests that were merged, and a lookup shows the same,
   however often it looked on the way. */
static void a_file_that_comes_again_is_as_scans_see_it(void **state)
{
    (void)state;
    size_t followed = 0;
    for (int first = 0; first < 3; first++) /* when the lookup begins: before the file goes, or when it is away, or when it is there again */
        for (int every = 1; every <= 3; every++) {
            world w;
            pml_lookup_base *known = NULL;
            world_open(&w);
            append(&w);
            pml_lookup_base *begin = load(&w, NULL);
            for (int i = 0; i <= 12; i++) {
                if (i == first)
                    known = load(&w, NULL);
                if (i >= first && i % every == 0) {
                    pml_lookup_base *next = load(&w, known), *anew = load(&w, NULL);
                    must_be_equal(next, anew);
                    followed += next->list.files->depth > 0;
                    pml_lookup_base__release(anew);
                    pml_lookup_base__release(known);
                    known = next;
                }
                (i % 2 == 0 ? commit_take_out : commit_put_back)(&w, begin->first->entries[0]);
            }
            pml_lookup_base__release(known);
            pml_lookup_base__release(begin);
            world_close(&w);
        }
    assert_true(followed > 3); /* it goes once for those who saw it come only once */
}

/* Looks that find nothing new, and empty snapshots, leave no memory behind. */
static void looks_without_news_take_no_memory(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    for (int i = 0; i < 3; i++)
        append(&w);
    pml_lookup_base *known = load(&w, NULL);
    long long bytes = 0;
    for (int i = 0; i < 40; i++) {
        if (i == 20)
            append(&w);
        if (i > 20 && i % 2 == 0)
            commit_take_out(&w, NULL);
        pml_lookup_base *next = load(&w, known);
        assert_int_equal(next->list.files->depth, i >= 20);
        pml_lookup_base__release(known);
        known = next;
        if (i % 20 == 0)
            bytes = w.t->bytes;
        assert_true(w.t->bytes <= bytes);
    }
    pml_lookup_base__release(known);
    world_close(&w);
}

/* Its own snapshot has expired: nothing says that the history is the same. */
static void a_list_whose_snapshot_is_gone_is_read_anew(void **state)
{
    (void)state;
    world w;
    pml_error err = PML_ERROR_INIT;
    char path[400];
    world_open(&w);
    append(&w);
    pml_lookup_base *known = load(&w, NULL);
    append(&w);
    (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-1", w.k.table->path);
    must_ok(pml_file__remove(w.t->env, path, &err), &err);
    pml_lookup_base *next = load(&w, known), *anew = load(&w, NULL);
    must_be_equal(next, anew);
    assert_int_equal(next->list.files->depth, 0);
    pml_lookup_base__release(known);
    pml_lookup_base__release(next);
    pml_lookup_base__release(anew);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_give_what_the_whole_list_gives),
        cmocka_unit_test(a_new_snapshot_is_read_alone),
        cmocka_unit_test(a_file_that_comes_again_is_as_scans_see_it),
        cmocka_unit_test(looks_without_news_take_no_memory),
        cmocka_unit_test(a_list_whose_snapshot_is_gone_is_read_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
