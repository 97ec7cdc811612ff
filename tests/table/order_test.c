/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence numbers of fixed buckets, and the order in which the rows of one bucket come back. */
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"
#include "table/restore.h"

static const char schema[] =
    "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"q\",\"type\":\"INT\"}],"
    "\"partitionKeys\":[\"q\"],\"primaryKeys\":[],\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\",\"target-file-"
    "size\":"
    "\"1 b\",\"file.compression\":\"none\",\"source.split.target-size\":\"1 b\"}}";

typedef struct last_of {
    pml_bytes partition;
    int32_t bucket;
    int64_t next;
} last_of;

static void check_sequences(table_kit *k)
{
    pml_plan *plan;
    last_of last[64] = {{{0}, 0, 0}};
    size_t n = 0;
    kit_plan(&plan, k, &(kit_read){0});
    for (size_t i = 0; i < plan->n_splits; i++) {
        const pml_split *s = &plan->splits[i];
        size_t at = 0;
        while (at < n && !(pml_bytes_equal(last[at].partition, s->partition) && last[at].bucket == s->bucket))
            at++;
        if (at == n)
            last[n++] = (last_of){s->partition, s->bucket, 0};
        for (size_t j = 0; j < s->n_files; j++) {
            assert_int_equal(s->files[j].min_sequence, last[at].next);
            assert_int_equal(s->files[j].max_sequence, last[at].next + s->files[j].row_count - 1);
            last[at].next += s->files[j].row_count;
        }
    }
    assert_true(n > 2);
    pml_plan_free(plan);
}

/* Ids were given in write order, so inside one split they must rise, and from split to split of one bucket, too. */
static void check_order(table_kit *k)
{
    pml_plan *plan;
    kit_plan(&plan, k, &(kit_read){0});
    pml_bytes partition = {NULL, 0};
    int32_t bucket = -1;
    int64_t last = -1;
    for (size_t i = 0; i < plan->n_splits; i++) {
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        pml_read_options o = PML_READ_OPTIONS_INIT;
        o.split = (int64_t)i;
        if (bucket != plan->splits[i].bucket || !pml_bytes_equal(partition, plan->splits[i].partition))
            last = -1;
        bucket = plan->splits[i].bucket;
        partition = plan->splits[i].partition;
        must_ok(pml_read_open(&stream, plan, &o, NULL), NULL);
        for (; stream.get_next(&stream, &batch) == 0 && batch.release != NULL; batch.release(&batch))
            for (int64_t row = 0; row < batch.length; row++) {
                const struct ArrowArray *ids = batch.children[0];
                int64_t id = ((const int64_t *)ids->buffers[1])[ids->offset + row];
                assert_true(id > last);
                last = id;
            }
        stream.release(&stream);
    }
    pml_plan_free(plan);
}

static void fixed_buckets_number_rows_across_writers_prepares_and_commits(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_error err = PML_ERROR_INIT;
    table_kit_create(&k, t, test_path(t, "t"), schema);
    for (int i = 0; i < 4; i++) {
        pml_writer *w;
        must_ok(pml_writer_open(&w, k.table, &err), &err);
        for (int j = 0; j < 3; j++) {
            struct ArrowArray batch;
            pml_messages *m;
            table_kit_batch(&batch, &k, 40);
            must_ok(table_kit_write(&k, w, &batch, &err), &err);
            must_ok(pml_writer_prepare(&m, w, &err), &err);
            (void)table_kit_commit(&k, m);
        }
        pml_writer_close(w);
    }
    check_sequences(&k);
    check_order(&k);
    table_kit_must_read(&k, &(kit_read){0});
    table_kit_close(&k);
    test_env_close(t);
}

static void unaware_buckets_start_each_writer_at_zero(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_plan *plan;
    char *json = kit_schema_json("", "");
    table_kit_create(&k, t, test_path(t, "t"), json);
    free(json);
    for (int i = 0; i < 3; i++)
        (void)table_kit_append(&k, 10);
    kit_plan(&plan, &k, &(kit_read){0});
    assert_int_equal(plan->n_splits, 1);
    for (size_t i = 0; i < plan->splits[0].n_files; i++) {
        assert_int_equal(plan->splits[0].files[i].min_sequence, 0);
        assert_int_equal(plan->splits[0].files[i].max_sequence, 9);
        assert_int_equal(plan->splits[0].total_buckets, -1);
    }
    pml_plan_free(plan);
    check_order(&k); /* the order of the commits */
    table_kit_close(&k);
    test_env_close(t);
}

static void partition_written_with_other_buckets_is_refused_for_writing(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    table_kit k;
    pml_error err = PML_ERROR_INIT;
    pml_table *rescaled;
    struct ArrowArray batch;
    pml_messages *m;
    table_kit_create(&k, t, test_path(t, "t"), schema);
    (void)table_kit_append(&k, 50);
    kit_replace_in_file(test_path(t, "t/schema/schema-0"), "\"bucket\" : \"2\"", "\"bucket\" : \"4\"");
    must_ok(pml_table_open(&rescaled, t->env, test_path(t, "t"), NULL, &err), &err);
    assert_string_equal(pml_table_option(rescaled, "bucket"), "4");
    pml_table_release(k.table);
    k.table = rescaled;
    k.fields = pml_table__fields(k.table, &k.n_fields);
    table_kit_must_read(&k, &(kit_read){0});
    table_kit_batch(&batch, &k, 50);
    k.absent[1] = true;
    must_fail_with(PML_E_UNSUPPORTED, table_kit_try_prepare(&m, &k, &batch, &err), &err);
    assert_non_null(strstr(err.message, "needs bucket:rescaled"));
    table_kit_close(&k);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_buckets_number_rows_across_writers_prepares_and_commits),
        cmocka_unit_test(unaware_buckets_start_each_writer_at_zero),
        cmocka_unit_test(partition_written_with_other_buckets_is_refused_for_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
