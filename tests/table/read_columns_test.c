/* SPDX-License-Identifier: Apache-2.0 */
/* Two files with columns of the same rows that come in batches of other lengths: of an ORC file each stripe ends one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"
#include "support/test_bridge.h"
#include "table/read_columns.h"

enum { ROWS = 2500 };

static pml_plan *plan_orc(pml_table **table, test_env *t)
{
    pml_error err = PML_ERROR_INIT;
    pml_scan *scan;
    pml_plan *plan;
    must_ok(pml_table_open(table, t->env, PML_JAVA_TABLES "/append_orc_stripes", NULL, &err), &err);
    must_ok(pml_scan_new(&scan, *table, &err), &err);
    must_ok(pml_scan_plan(&plan, scan, &err), &err);
    pml_scan_free(scan);
    assert_int_equal(plan->n_splits, 1);
    assert_int_equal(plan->splits[0].n_files, 1);
    assert_int_equal(plan->splits[0].files[0].row_count, ROWS);
    return plan;
}

/* A Parquet file of column id alone, counted down, as the newest file of the split; the ORC file gives the other columns. */
static void add_ids(pml_plan *plan, test_env *t, int64_t rows)
{
    static const char *const id[] = {"id"};
    static const char *const rest[] = {"name", "amount", "day", "at", "ratio", "tags"};
    pml_error err = PML_ERROR_INIT;
    pml_split *s = &plan->splits[0];
    const pml_bridge *bridge;
    struct ArrowSchema schema;
    test_file f = {0};
    int32_t *ids = calloc((size_t)rows, sizeof *ids);
    assert_non_null(ids);
    for (int64_t i = 0; i < rows; i++)
        ids[i] = (int32_t)(rows - i);
    struct ArrowArray column = test_fixed_array(4, rows, ids), batch = test_struct_array(rows, 1, &column);
    free(ids);
    must_ok(pml_bridge__get(&bridge, t->env, &err), &err);
    must_ok(pml_type__export(&schema, t->env, plan->schema->fields, 1, &err), &err);
    must_ok(test_parquet_write(&f, bridge, &schema, &batch, &test_write_options, &err), &err);
    schema.release(&schema);
    char *path = pml_env__strdup(t->env, test_path(t, "data-ids-0.parquet"));
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f.data, 1, f.len, out), f.len);
    assert_int_equal(fclose(out), 0);
    pml_data_file *files = pml_arena__array(&plan->arena, 2, sizeof *files);
    const char **paths = pml_arena__array(&plan->arena, 2, sizeof *paths);
    const pml_deletion **deletions = pml_arena__array(&plan->arena, 2, sizeof *deletions);
    files[0] = files[1] = s->files[0];
    files[0].name = "data-ids-0.parquet";
    files[0].size_bytes = (int64_t)f.len;
    files[0].row_count = rows;
    files[0].write_cols = (pml_string_list){true, 1, id};
    files[1].write_cols = (pml_string_list){true, sizeof rest / sizeof rest[0], rest};
    files[0].first_row_id = files[1].first_row_id = (pml_optional_int64){true, 0};
    paths[0] = path;
    paths[1] = s->paths[0];
    s->files = files;
    s->paths = paths;
    s->deletions = deletions;
    s->n_files = 2;
    test_file_free(&f);
}

static pml_value value_of(const pml_type *type, const struct ArrowArray *batch, int column, int64_t row)
{
    pml_value v;
    pml_value__get(&v, type, batch->children[column], batch->offset + row);
    return v;
}

/* Names by row, as the ORC file has them. */
static void read_names(char (*names)[64], pml_plan *plan)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t n = 0;
    must_ok(pml_read_open(&stream, plan, NULL, &err), &err);
    for (struct ArrowArray batch;; batch.release(&batch)) {
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        if (batch.release == NULL)
            break;
        for (int64_t i = 0; i < batch.length; i++, n++) {
            pml_value v = value_of(&plan->out_fields[1].type, &batch, 1, i);
            (void)snprintf(names[n], sizeof names[n], "%.*s", v.kind == PML_VALUE_NULL ? 4 : (int)v.bytes.len,
                           v.kind == PML_VALUE_NULL ? "null" : (const char *)v.bytes.ptr);
        }
    }
    assert_int_equal(n, ROWS);
    stream.release(&stream);
}

/* Rows until the end or an error; *short_ones: batches that are neither full nor the last. */
static int64_t read_in_step(int *rc, int *short_ones, pml_plan *plan, int64_t batch_rows, char (*names)[64], pml_error *err)
{
    const pml_columns_read q = {.plan = plan, .split = &plan->splits[0], .end = 2, .fields = plan->out_fields, .n_fields = 2, .batch_rows = batch_rows};
    struct ArrowArrayStream stream;
    int64_t n = 0, last = batch_rows;
    *short_ones = 0;
    *rc = pml_columns_read__open(&stream, &q, err);
    if (*rc != PML_OK)
        return 0;
    for (struct ArrowArray batch;; batch.release(&batch)) {
        *rc = stream.get_next(&stream, &batch) == 0 ? PML_OK : pml_stream_error(&stream, err);
        if (*rc != PML_OK || batch.release == NULL)
            break;
        *short_ones += last < batch_rows;
        last = batch.length;
        for (int64_t i = 0; i < batch.length; i++, n++) {
            pml_value v = value_of(&q.fields[1].type, &batch, 1, i);
            assert_int_equal(value_of(&q.fields[0].type, &batch, 0, i).i, plan->splits[0].files[0].row_count - n);
            if (v.kind == PML_VALUE_NULL ? strcmp(names[n], "null") != 0 : strncmp(names[n], (const char *)v.bytes.ptr, v.bytes.len) != 0)
                fail_msg("row %lld has the name %.*s instead of %s", (long long)n, (int)v.bytes.len, (const char *)v.bytes.ptr, names[n]);
        }
    }
    stream.release(&stream);
    return n;
}

static void files_whose_batches_end_elsewhere_are_read_in_step(void **state)
{
    (void)state;
    static const int64_t batch_rows[] = {1, 7, 99, 1024, 4096};
    static char names[ROWS][64];
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    pml_plan *plan = plan_orc(&table, t);
    int rc, short_ones, all_short_ones = 0;
    read_names(names, plan);
    add_ids(plan, t, ROWS);
    for (size_t i = 0; i < sizeof batch_rows / sizeof batch_rows[0]; i++) {
        int64_t n = read_in_step(&rc, &short_ones, plan, batch_rows[i], names, &err);
        must_ok(rc, &err);
        assert_int_equal(n, ROWS);
        all_short_ones += short_ones;
    }
    assert_true(all_short_ones > 0);
    for (long long n = 1;; n += 1 + n / 10) {
        pml_error why = PML_ERROR_INIT;
        test_env_fail_at(t, n);
        (void)read_in_step(&rc, &short_ones, plan, 99, names, &why);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
        if (!reached)
            break;
    }
    pml_plan_free(plan);
    pml_table_release(table);
    test_env_close(t);
}

static void the_file_that_ends_first_is_named(void **state)
{
    (void)state;
    static char names[ROWS][64];
    for (int more = -1; more <= 1; more += 2) {
        test_env *t = test_env_open(NULL);
        pml_error err = PML_ERROR_INIT;
        pml_table *table;
        pml_plan *plan = plan_orc(&table, t);
        int rc, short_ones;
        read_names(names, plan);
        add_ids(plan, t, ROWS + more);
        assert_true(read_in_step(&rc, &short_ones, plan, 99, names, &err) <= ROWS);
        must_fail_with(PML_E_CORRUPT, rc, &err);
        assert_non_null(strstr(err.message, "has fewer rows than"));
        assert_non_null(strstr(err.file, more < 0 ? ".parquet" : ".orc"));
        pml_plan_free(plan);
        pml_table_release(table);
        test_env_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_whose_batches_end_elsewhere_are_read_in_step),
        cmocka_unit_test(the_file_that_ends_first_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
