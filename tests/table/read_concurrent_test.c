/* SPDX-License-Identifier: Apache-2.0 */
/* Reads by several threads: the rows and the order of one thread, whatever is asked for and whatever goes wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/local_fs.h"
#include "support/faulty_fs.h"
#include "support/table_kit.h"
#include "support/test_arrow.h"

enum { THREADS = 3 };

static void stream_open(struct ArrowArrayStream *out, pml_plan *plan, uint32_t threads, int64_t batch_rows)
{
    pml_error err = PML_ERROR_INIT;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.threads = threads;
    o.batch_rows = batch_rows;
    must_ok(pml_read_open(out, plan, &o, &err), &err);
}

/* The next row of a stream, whose batches may be cut anywhere. */
typedef struct rows {
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t at;
} rows;

static bool rows_next(rows *r)
{
    pml_error err = PML_ERROR_INIT;
    r->at++;
    while (r->batch.release == NULL || r->at == r->batch.length) {
        if (r->batch.release != NULL)
            r->batch.release(&r->batch);
        r->at = 0;
        if (r->stream.get_next(&r->stream, &r->batch) != 0)
            must_ok(pml_stream_error(&r->stream, &err), &err);
        if (r->batch.release == NULL)
            return false;
    }
    return true;
}

static int64_t must_be_equal(table_kit *k, pml_plan *plan, uint32_t threads, int64_t batch_rows)
{
    rows one = {.at = -1}, many = {.at = -1};
    int64_t n = 0;
    bool more = true;
    stream_open(&one.stream, plan, 1, batch_rows);
    stream_open(&many.stream, plan, threads, batch_rows);
    while (more) {
        more = rows_next(&one);
        assert_true(rows_next(&many) == more);
        if (more)
            assert_true(batch_rows_equal(&one.batch, one.at, &many.batch, many.at, k->fields, k->n_fields));
        n += more;
    }
    one.stream.release(&one.stream);
    many.stream.release(&many.stream);
    return n;
}

static void same_order(table_kit *k)
{
    static const int64_t batch_rows[] = {3, 40, 5000};
    pml_arena arena;
    pml_plan *plan;
    pml_arena__init(&arena, k->t->env);
    for (int i = 0; i < 6; i++)
        (void)table_kit_append(k, 70);
    for (int i = 0; i < 9; i++) {
        kit_read r = {.predicate = i % 3 == 0 ? NULL : kit_random_predicate(k, &arena, 2), .limit = i % 4 == 3 ? 100 : 0};
        kit_plan(&plan, k, &r);
        int64_t n = must_be_equal(k, plan, 2 + (uint32_t)i % THREADS, batch_rows[i % 3]);
        if (r.predicate == NULL && r.limit == 0)
            assert_int_equal(n, 420);
        pml_plan_free(plan);
    }
    pml_arena__clear(&arena);
}

static void rows_come_in_the_order_of_one_thread(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "", same_order);
    table_kit_run("\"q\"", "\"bucket\":\"2\",\"bucket-key\":\"id\"", same_order);
    table_kit_run("", "\"target-file-size\":\"1 kb\",\"source.split.target-size\":\"4 kb\"", same_order);
}

enum { LARGE_BATCH = 100000, LARGE_BATCHES = 16, LARGE_FROM = 777777 };

/* A file that is read in several parts: its rows are numbers in order. */
static void large_file(table_kit *k, test_env *t)
{
    static const char schema[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],\"options\":"
                                 "{\"file.compression\":\"none\",\"parquet.enable.dictionary\":\"false\",\"parquet.enable.delta\":"
                                 "\"false\",\"read.batch-size\":\"9999\"}}";
    static int64_t ids[LARGE_BATCH];
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_writer *w;
    pml_messages *m;
    struct ArrowSchema arrow;
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    must_ok(pml_table_arrow_schema(&arrow, table, &err), &err);
    must_ok(pml_writer_open(&w, table, &err), &err);
    for (int64_t b = 0; b < LARGE_BATCHES; b++) {
        for (int64_t i = 0; i < LARGE_BATCH; i++)
            ids[i] = b * LARGE_BATCH + i;
        struct ArrowArray column = test_fixed_array(8, LARGE_BATCH, ids), batch = test_struct_array(LARGE_BATCH, 1, &column);
        must_ok(pml_writer_write(w, &batch, &arrow, &err), &err);
    }
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    arrow.release(&arrow);
    table_kit_init(k, t, table);
    (void)table_kit_commit(k, m);
}

static void a_large_file_is_read_in_parts_and_in_order(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    large_file(&k, t);
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    const pml_value from = {.kind = PML_VALUE_INT, .i = LARGE_FROM};
    for (int i = 0; i < 2; i++) {
        pml_plan *plan;
        rows r = {.at = -1};
        int64_t id = i == 0 ? 0 : LARGE_FROM;
        kit_plan(&plan, &k, &(kit_read){.predicate = i == 0 ? NULL : kit_leaf(&k, &arena, 0, PML_PRED_GE, &from, 1)});
        stream_open(&r.stream, plan, THREADS, 0);
        for (; rows_next(&r); id++) {
            pml_value v;
            assert_in_range(r.batch.length, 1, 9999); /* read.batch-size, though threads read more at once */
            pml_value__get(&v, &k.fields[0].type, r.batch.children[0], r.at);
            if (v.i != id)
                fail_msg("row %lld is %lld", (long long)id, (long long)v.i);
        }
        assert_int_equal(id, LARGE_BATCH * LARGE_BATCHES);
        r.stream.release(&r.stream);
        pml_plan_free(plan);
    }
    pml_arena__clear(&arena);
    table_kit_close(&k);
    test_env_close(t);
}

/* Opened files and rows of a read in parts. */
static long long opens_of(faulty_fs *f, pml_plan *plan, int64_t *n)
{
    long long before = f->counts[FS_OP_OPEN_READ];
    rows r = {.at = -1};
    stream_open(&r.stream, plan, THREADS, 0);
    for (*n = 0; rows_next(&r);)
        ++*n;
    r.stream.release(&r.stream);
    return f->counts[FS_OP_OPEN_READ] - before;
}

/* The vector is one that Java wrote for a smaller file. */
static void parts_of_a_file_read_its_deletion_vector_once(void **state)
{
    (void)state;
    faulty_fs f;
    faulty_fs_init(&f, &pml_local_file_system);
    test_env *t = test_env_open(&f.fs);
    pml_error err = PML_ERROR_INIT;
    pml_table *java;
    pml_scan *scan;
    pml_plan *plan, *other;
    const pml_deletion *deletion = NULL;
    table_kit k;
    int64_t rows_before, rows_after;
    large_file(&k, t);
    must_ok(pml_table_open(&java, t->env, PML_JAVA_TABLES "/dv_append", NULL, &err), &err);
    must_ok(pml_scan_new(&scan, java, &err), &err);
    must_ok(pml_scan_plan(&other, scan, &err), &err);
    for (size_t i = 0; i < other->n_splits; i++)
        for (size_t j = 0; j < other->splits[i].n_files; j++)
            deletion = other->splits[i].deletions[j] == NULL ? deletion : other->splits[i].deletions[j];
    assert_non_null(deletion);
    assert_true(deletion->at.cardinality > 0);
    kit_plan(&plan, &k, &(kit_read){0});
    assert_int_equal(plan->splits[0].n_files, 1);
    long long without = opens_of(&f, plan, &rows_before);
    assert_true(without > 1); /* parts */
    plan->splits[0].deletions[0] = deletion;
    assert_int_equal(opens_of(&f, plan, &rows_after), without + 1);
    assert_int_equal(rows_before - rows_after, deletion->at.cardinality);
    /* Given up after some rows. */
    rows r = {.at = -1};
    stream_open(&r.stream, plan, THREADS, 0);
    assert_true(rows_next(&r));
    r.batch.release(&r.batch);
    r.stream.release(&r.stream);
    pml_plan_free(plan);
    pml_plan_free(other);
    pml_scan_free(scan);
    pml_table_release(java);
    table_kit_close(&k);
    test_env_close(t);
    faulty_fs_destroy(&f);
}

/* n rows: id, and a text of so many bytes, of which no two are alike. */
static void append_texts(table_kit *k, int64_t first, int64_t n, size_t bytes)
{
    int64_t *ids = calloc((size_t)n, sizeof *ids);
    const char **texts = calloc((size_t)n, sizeof *texts);
    char *chars = malloc((size_t)n * (bytes + 1));
    assert_true(ids != NULL && texts != NULL && chars != NULL);
    for (int64_t i = 0; i < n; i++) {
        char *text = chars + (size_t)i * (bytes + 1);
        ids[i] = first + i;
        (void)snprintf(text, bytes, "%07lld", (long long)i);
        memset(text + 7, 'a', bytes - 7);
        text[bytes] = '\0';
        texts[i] = text;
    }
    pml_error err = PML_ERROR_INIT;
    pml_writer *w;
    pml_messages *m;
    struct ArrowSchema arrow;
    struct ArrowArray columns[] = {test_fixed_array(8, n, ids), test_text_array(n, texts)}, batch = test_struct_array(n, 2, columns);
    must_ok(pml_table_arrow_schema(&arrow, k->table, &err), &err);
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(pml_writer_write(w, &batch, &arrow, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    (void)table_kit_commit(k, m);
    arrow.release(&arrow);
    free(ids);
    free(texts);
    free(chars);
}

/* Thousands of short rows tell the threads to read many at once; then so many would be more than one call may take. */
static void rows_that_grow_wide_are_read_in_smaller_batches(void **state)
{
    (void)state;
    enum { SHORT = 20000, WIDE = 20000, WIDE_BYTES = 2000, BATCH = 64 };
    static const char schema[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
                                 "\"options\":{\"parquet.enable.dictionary\":\"false\"}}";
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch = {0};
    table_kit k;
    must_ok(pml_table_create(&table, t->env, test_path(t, "t"), schema, sizeof schema - 1, 0, &err), &err);
    table_kit_init(&k, t, table);
    for (int i = 0; i < THREADS + 1; i++)
        append_texts(&k, i * SHORT, SHORT, 8);
    append_texts(&k, (THREADS + 1) * SHORT, WIDE, WIDE_BYTES);
    kit_plan(&plan, &k, &(kit_read){0});
    t->env->bridge_bytes_max = WIDE * WIDE_BYTES / 2;
    assert_int_equal(must_be_equal(&k, plan, THREADS, BATCH), (THREADS + 1) * SHORT + WIDE);
    stream_open(&stream, plan, 1, SHORT); /* the limit is one: the caller's own batches are not made smaller */
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL)
        batch.release(&batch);
    must_fail_with(PML_E_LIMIT, pml_stream_error(&stream, &err), &err);
    stream.release(&stream);
    pml_plan_free(plan);
    table_kit_close(&k);
    test_env_close(t);
}

static void given_up(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    for (int i = 0; i < 10; i++)
        (void)table_kit_append(k, 30);
    kit_plan(&plan, k, &(kit_read){0});
    for (int taken = 0; taken < 6; taken++) {
        stream_open(&stream, plan, THREADS, 5);
        for (int i = 0; i < taken * taken; i++) {
            assert_int_equal(stream.get_next(&stream, &batch), 0);
            assert_non_null(batch.release);
            batch.release(&batch);
        }
        stream.release(&stream); /* stops the threads in the middle of their pieces; queues are not empty */
    }
    /* Batches outlive stream, plan and threads. */
    stream_open(&stream, plan, THREADS, 5);
    pml_plan_free(plan);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    stream.release(&stream);
    batch.release(&batch);
}

static void release_in_the_middle_stops_the_threads(void **state)
{
    (void)state;
    table_kit_run("", "", given_up);
}

static void forked(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int status = -1;
    for (int i = 0; i < 10; i++)
        (void)table_kit_append(k, 30);
    kit_plan(&plan, k, &(kit_read){0});
    stream_open(&stream, plan, THREADS, 5);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        bool refused = stream.get_next(&stream, &batch) != 0;
        stream.release(&stream);
        pml_plan_free(plan);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    stream.release(&stream);
    pml_plan_free(plan);
}

static void a_forked_child_lets_go_of_a_stream_whose_threads_it_lacks(void **state)
{
    (void)state;
    table_kit_run("", "", forked);
}

static void lost_file(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    pml_error err = PML_ERROR_INIT;
    int64_t before = 0, n = 0;
    for (int i = 0; i < 8; i++)
        (void)table_kit_append(k, 30);
    kit_plan(&plan, k, &(kit_read){0});
    assert_int_equal(pml_plan_split_count(plan), 1);
    assert_int_equal(remove(plan->splits[0].paths[3]), 0);
    assert_int_equal(remove(plan->splits[0].paths[5]), 0);
    for (int i = 0; i < 3; i++)
        before += plan->splits[0].files[i].row_count;
    stream_open(&stream, plan, THREADS, 7);
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        n += batch.length;
        batch.release(&batch);
    }
    assert_int_equal(n, before); /* everything before the first lost file, then its error */
    assert_true(pml_stream_error(&stream, &err) != PML_OK);
    assert_non_null(strstr(err.message, strrchr(plan->splits[0].paths[3], '/') + 1));
    assert_int_not_equal(stream.get_next(&stream, &batch), 0);
    stream.release(&stream);
    pml_plan_free(plan);
}

static void the_first_error_in_order_comes_out_after_the_rows_before_it(void **state)
{
    (void)state;
    table_kit_run("", "", lost_file);
}

static void no_memory(table_kit *k)
{
    pml_plan *plan;
    int rc = PML_E_NOMEM, failed = 0;
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(k, 5);
    kit_plan(&plan, k, &(kit_read){0});
    for (long long n = 1; rc == PML_E_NOMEM; n += 1 + n / 40) {
        struct ArrowArrayStream stream = {0};
        struct ArrowArray batch;
        pml_error err = PML_ERROR_INIT;
        pml_read_options o = PML_READ_OPTIONS_INIT;
        o.threads = 2;
        assert_true(n < 100000);
        test_env_fail_at(k->t, n);
        rc = pml_read_open(&stream, plan, &o, &err);
        while (rc == PML_OK) {
            rc = stream.get_next(&stream, &batch) != 0 ? pml_stream_error(&stream, &err) : PML_OK;
            if (rc != PML_OK || batch.release == NULL)
                break;
            batch.release(&batch);
        }
        if (stream.release != NULL)
            stream.release(&stream);
        test_env_fail_at(k->t, 0);
        failed += rc == PML_E_NOMEM;
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    assert_true(failed > 10);
    pml_plan_free(plan);
}

static void read_without_memory_fails_cleanly(void **state)
{
    (void)state;
    table_kit_run("", "", no_memory);
}

static void too_many(table_kit *k)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    pml_error err = PML_ERROR_INIT;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    kit_plan(&plan, k, &(kit_read){0}); /* an empty table has no piece */
    assert_int_equal(must_be_equal(k, plan, PML_READ_THREADS_MAX, 0), 0);
    o.threads = PML_READ_THREADS_MAX + 1;
    must_fail_with(PML_E_INVAL, pml_read_open(&stream, plan, &o, &err), &err);
    assert_non_null(strstr(err.message, "threads 65"));
    pml_plan_free(plan);
}

static void an_empty_plan_ends_and_too_many_threads_are_refused(void **state)
{
    (void)state;
    table_kit_run("", "", too_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_the_order_of_one_thread),
        cmocka_unit_test(a_large_file_is_read_in_parts_and_in_order),
        cmocka_unit_test(parts_of_a_file_read_its_deletion_vector_once),
        cmocka_unit_test(a_forked_child_lets_go_of_a_stream_whose_threads_it_lacks),
        cmocka_unit_test(rows_that_grow_wide_are_read_in_smaller_batches),
        cmocka_unit_test(release_in_the_middle_stops_the_threads),
        cmocka_unit_test(the_first_error_in_order_comes_out_after_the_rows_before_it),
        cmocka_unit_test(read_without_memory_fails_cleanly),
        cmocka_unit_test(an_empty_plan_ends_and_too_many_threads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
