/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system table row_tracking. That Java shows the same is for tests/tables (rowtracking_*, evolve_data_*) and tests/interop; here files
 * that store ids themselves, rows left out in every way that a reader has, and what fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/file_format.h"
#include "meta/path.h"
#include "storage/file_io.h"
#include "support/faulty_fs.h"
#include "storage/local_fs.h"
#include "support/table_kit.h"
#include "table/row_tracking.h"

#include <paimonlive/rows.h>

enum { SHOWN = 400000 };

#define TRACKED ",\"row-tracking.enabled\":\"true\""

typedef struct world {
    test_env *t;
    pml_table *table;
    char path[400];
    char shown[SHOWN];
} world;

/* Rows of ids [first, first + n) with v = "v<id>"; row i of ids[] stores that id (0: null), and 1000 + i as its number. */
typedef struct put_file {
    int64_t first_row_id; /* -1: none */
    int64_t sequence;
    int first, n;
    const int64_t *ids;     /* NULL: the file has no such columns */
    const char *columns[5]; /* NULL: not said */
} put_file;

static const pml_field file_fields[] = {
    {.id = 0, .name = "id", .type = {.kind = PML_TYPE_INT}},
    {.id = 1, .name = "v", .type = {.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX}},
    {.id = PML_ID_ROW_ID, .name = "_ROW_ID", .type = {.kind = PML_TYPE_BIGINT, .nullable = true}},
    {.id = PML_ID_SEQUENCE, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT, .nullable = true}}};

static void write_schema(world *w, int id, const char *options)
{
    char path[500], text[1000];
    pml_error err = PML_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/schema/schema-%d", w->path, id);
    (void)snprintf(text, sizeof text,
                   "{\"version\":3,\"id\":%d,\"fields\":[{\"id\":0,\"name\":\"id\",\"type\":\"INT NOT NULL\"},{\"id\":1,\"name\":\"v\",\"type\":"
                   "\"STRING\"}],\"highestFieldId\":1,\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{\"bucket\":\"-1\"%s},"
                   "\"timeMillis\":0}",
                   id, options);
    must_ok(pml_file__publish(w->t->env, path, (const uint8_t *)text, strlen(text), 0, &err), &err);
    pml_table_release(w->table);
    w->table = NULL;
    must_ok(pml_table_open(&w->table, w->t->env, w->path, NULL, &err), &err);
}

/* A writer of ours refuses tables with row tracking: they get it when their files are there (track). */
static void world_open(world *w, test_env *t)
{
    memset(w, 0, sizeof *w);
    w->t = t;
    (void)snprintf(w->path, sizeof w->path, "%s", test_path(t, "t"));
    write_schema(w, 0, "");
}

static void track(world *w)
{
    write_schema(w, 1, TRACKED);
}

static void world_close(world *w)
{
    test_env *t = w->t;
    pml_table_release(w->table);
    test_env_close(t);
}

static void append_rows(struct ArrowArray *out, world *w, const put_file *p)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray columns[4];
    size_t n = p->ids == NULL ? 2 : 4;
    char text[24];
    for (size_t c = 0; c < n; c++) {
        pml_builder *b;
        must_ok(pml_builder__new(&b, w->t->env, &file_fields[c].type, &err), &err);
        for (int i = 0; i < p->n; i++) {
            pml_value v = {.kind = PML_VALUE_INT, .i = p->first + i};
            if (c == 1)
                v = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)text, (size_t)snprintf(text, sizeof text, "v%d", p->first + i)}};
            if (c == 2)
                v.i = p->ids[i];
            if (c == 3)
                v.i = 1000 + i;
            bool null = c >= 2 && p->ids[i] == 0;
            must_ok(null ? pml_builder__append_null(b) : pml_builder__append_value(b, &v), &err);
        }
        must_ok(pml_builder__finish(b, &columns[c], &err), &err);
        pml_builder__free(b);
    }
    must_ok(pml_batch__from_columns(out, w->t->env, columns, n, p->n, &err), &err);
}

/* A file in the place of the one that a writer of ours made: small pages and row groups, and the columns of row tracking if wanted. */
static void replace_file(world *w, pml_new_files *made, const put_file *p)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray batch;
    pml_format_writer *out;
    char path[700];
    const pml_format_write_options o = {.compression = "none", .zstd_level = 1, .block_bytes = 4096, .page_bytes = 512};
    (void)snprintf(path, sizeof path, "%s/bucket-0/%s", w->path, made->files[0].name);
    assert_int_equal(unlink(path), 0);
    must_ok(pml_format__create(&out, w->t->env, "parquet", path, file_fields, p->ids == NULL ? 2 : 4, &o, &err), &err);
    for (int done = 0; done < p->n; done += 200) { /* a row group holds whole batches */
        put_file part = *p;
        part.first += done;
        part.ids = p->ids == NULL ? NULL : p->ids + done;
        part.n = p->n - done < 200 ? p->n - done : 200;
        append_rows(&batch, w, &part);
        must_ok(pml_format_writer__write(out, &batch, &err), &err);
    }
    must_ok(pml_format_writer__finish(out, false, &made->files[0].size_bytes, &err), &err);
    pml_format_writer__free(out);
}

static void put(world *w, const put_file *p)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    pml_writer *writer;
    pml_messages *m;
    pml_commit *commit;
    put_file plain = *p;
    plain.ids = NULL;
    append_rows(&batch, w, &plain);
    must_ok(pml_table_arrow_schema(&schema, w->table, &err), &err);
    must_ok(pml_writer_open(&writer, w->table, &err), &err);
    must_ok(pml_writer_write(writer, &batch, &schema, &err), &err);
    must_ok(pml_writer_prepare(&m, writer, &err), &err);
    replace_file(w, m->v[0], p);
    pml_data_file *f = &m->v[0]->files[0];
    f->first_row_id = (pml_optional_int64){p->first_row_id >= 0, p->first_row_id};
    f->max_sequence = p->sequence;
    f->min_sequence = p->sequence > 0 ? p->sequence - 1 : 0; /* which nobody shows */
    f->write_cols.v = p->columns;
    while (f->write_cols.n < 5 && p->columns[f->write_cols.n] != NULL)
        f->write_cols.n++;
    f->write_cols.present = f->write_cols.n > 0;
    must_ok(pml_commit_open(&commit, w->table, NULL, &err), &err);
    must_ok(pml_commit_run(NULL, commit, (pml_messages *const *)&m, 1, 1, NULL, &err), &err);
    pml_commit_close(commit);
    pml_messages_free(m);
    pml_writer_close(writer);
    schema.release(&schema);
}

static int print_stream(world *w, struct ArrowArrayStream *stream, pml_error *err)
{
    struct ArrowSchema schema = {0};
    pml_rows_printer *printer = NULL;
    pml_text text = {0};
    int rc;
    w->shown[0] = '\0';
    if (stream->get_schema(stream, &schema) != 0)
        PML_TRY(pml_stream_error(stream, err));
    PML_TRY(pml_rows_printer_new(&printer, w->t->env, &schema, PML_ROWS_CSV, err));
    for (;;) {
        struct ArrowArray batch;
        if (stream->get_next(stream, &batch) != 0)
            PML_TRY(pml_stream_error(stream, err));
        if (batch.release == NULL)
            break;
        rc = pml_rows_print(&text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        PML_TRY(rc);
    }
    assert_true(text.len < SHOWN);
    (void)snprintf(w->shown, sizeof w->shown, "%s", text.ptr == NULL ? "" : text.ptr);
out:
    pml_text_clear(&text);
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    stream->release(stream);
    return rc;
}

static int show(world *w, const char *const *columns, size_t n, pml_error *err)
{
    struct ArrowArrayStream stream;
    pml_system_options o = PML_SYSTEM_OPTIONS_INIT;
    o.columns = columns;
    o.n_columns = n;
    PML_RETURN_IF(pml_system_table_open(&stream, w->table, "row_tracking", &o, err));
    return print_stream(w, &stream, err);
}

static void must_show(world *w, const char *want)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(show(w, NULL, 0, &err), &err);
    assert_string_equal(w->shown, want);
}

static const int64_t some_ids[] = {900, 0, 7};

static void ids_are_stored_or_counted(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = 0, .sequence = 1, .n = 2});
    put(&w, &(put_file){.first_row_id = 2, .sequence = 2, .first = 10, .n = 3, .ids = some_ids});
    put(&w, &(put_file){.first_row_id = 5, .sequence = 3, .first = 20, .n = 3, .ids = some_ids,
                        .columns = {"id", "v", "_ROW_ID", "_SEQUENCE_NUMBER"}});
    track(&w);
    must_show(&w, "0,v0,0,1\n1,v1,1,1\n10,v10,900,1000\n11,v11,3,2\n12,v12,7,1002\n20,v20,900,1000\n21,v21,6,3\n22,v22,7,1002\n");
    world_close(&w);
}

static void columns_come_in_any_order(void **state)
{
    static const char *const one[] = {"_ROW_ID"}, *const three[] = {"_SEQUENCE_NUMBER", "v", "_ROW_ID"};
    world w;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = 4, .sequence = 1, .n = 2});
    put(&w, &(put_file){.first_row_id = 6, .sequence = 2, .first = 10, .n = 3, .ids = some_ids});
    track(&w);
    must_ok(show(&w, one, 1, &err), &err);
    assert_string_equal(w.shown, "4\n5\n900\n7\n7\n");
    must_ok(show(&w, three, 3, &err), &err);
    assert_string_equal(w.shown, "1,v0,4\n1,v1,5\n1000,v10,900\n2,v11,7\n1002,v12,7\n");
    world_close(&w);
}

/* Files that Java 1.4.2's compactions leave behind: neither a first id nor stored ones. */
static void rows_without_ids_are_refused(void **state)
{
    static const char *const others[] = {"v", "_SEQUENCE_NUMBER"}, *const id[] = {"_ROW_ID"};
    world w;
    pml_error err = PML_ERROR_INIT;
    (void)state;
    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = -1, .sequence = 5, .n = 2});
    track(&w);
    must_fail_with(PML_E_UNSUPPORTED, show(&w, NULL, 0, &err), &err);
    assert_non_null(strstr(err.message, "needs system-table:row_tracking"));
    must_ok(show(&w, others, 2, &err), &err);
    assert_string_equal(w.shown, "v0,5\nv1,5\n");
    world_close(&w);

    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = INT64_MAX - 1, .sequence = 5, .n = 2});
    track(&w);
    must_fail_with(PML_E_CORRUPT, show(&w, NULL, 0, &err), &err);
    assert_non_null(strstr(err.message, "pass 2^63"));
    world_close(&w);

    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = INT64_MAX - 2, .sequence = 5, .n = 2});
    track(&w);
    must_ok(show(&w, id, 1, &err), &err);
    assert_string_equal(w.shown, "9223372036854775805\n9223372036854775806\n");
    world_close(&w);

    world_open(&w, test_env_open(NULL));
    must_fail_with(PML_E_NOT_FOUND, show(&w, NULL, 0, &err), &err);
    world_close(&w);
}

static int read_threads(world *w, const pml_pred *predicate, uint32_t threads, int64_t batch_rows, pml_error *err)
{
    struct ArrowArrayStream stream;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    pml_scan *scan;
    pml_plan *plan = NULL;
    o.threads = threads;
    o.batch_rows = batch_rows;
    PML_RETURN_IF(pml_scan_new(&scan, w->table, err));
    const pml_predicate p = {.tree = (pml_pred *)predicate};
    scan->extra = pml_row_tracking_fields;
    scan->n_extra = PML_TRACKING_COLUMNS;
    int rc = predicate == NULL ? PML_OK : pml_scan_set_predicate(scan, &p, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    pml_scan_free(scan);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, &o, err);
    pml_plan_free(plan);
    return rc == PML_OK ? print_stream(w, &stream, err) : rc;
}

/* Pages, row groups and rows that cannot match are left out; parts of a file go to several threads. */
static void rows_left_out_are_counted(void **state)
{
    enum { ROWS = 6000 };
    static const pml_type id_type = {.kind = PML_TYPE_INT}, long_type = {.kind = PML_TYPE_BIGINT};
    static char want[SHOWN];
    static int64_t ids[ROWS];
    static world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    for (int i = 0; i < ROWS; i++)
        ids[i] = i % 7 == 0 ? 0 : 100000 + i;
    put(&w, &(put_file){.first_row_id = 10, .sequence = 1, .n = ROWS});
    put(&w, &(put_file){.first_row_id = 10 + ROWS, .sequence = 2, .first = ROWS, .n = ROWS, .ids = ids});
    track(&w);
    static const struct {
        const char *column;
        pml_pred_op op;
        int64_t v;
    } cases[] = {{NULL, PML_PRED_TRUE, 0},      {"id", PML_PRED_GE, 5990},         {"id", PML_PRED_EQ, 4321},
                 {"id", PML_PRED_EQ, 9000},     {"_ROW_ID", PML_PRED_LT, 20},      {"_ROW_ID", PML_PRED_GE, 105990},
                 {"_ROW_ID", PML_PRED_EQ, 6010}, {"_SEQUENCE_NUMBER", PML_PRED_GT, 1}, {"id", PML_PRED_LT, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        pml_value literal = {.kind = PML_VALUE_INT, .i = cases[c].v};
        size_t n = 0;
        const bool by_id = cases[c].column != NULL && strcmp(cases[c].column, "id") == 0;
        pml_pred p = {.op = cases[c].op, .name = cases[c].column, .type = by_id ? &id_type : &long_type, .n_literals = 1, .literals = &literal};
        p.field_id = by_id ? 0 : cases[c].column != NULL && cases[c].column[1] == 'R' ? PML_ID_ROW_ID : PML_ID_SEQUENCE;
        want[0] = '\0';
        for (int i = 0; i < 2 * ROWS; i++) {
            bool stored = i >= ROWS && ids[i - ROWS] != 0;
            int64_t row_id = stored ? ids[i - ROWS] : 10 + i, number = stored ? 1000 + (i - ROWS) % 200 : i < ROWS ? 1 : 2;
            int64_t v = by_id ? i : p.field_id == PML_ID_ROW_ID ? row_id : number;
            bool keep = p.op == PML_PRED_TRUE || (p.op == PML_PRED_GE && v >= literal.i) || (p.op == PML_PRED_EQ && v == literal.i) ||
                        (p.op == PML_PRED_LT && v < literal.i) || (p.op == PML_PRED_GT && v > literal.i);
            if (keep)
                n += (size_t)snprintf(want + n, SHOWN - n, "%d,v%d,%lld,%lld\n", i, i, (long long)row_id, (long long)number);
        }
        for (uint32_t threads = 0; threads < 4; threads++) {
            pml_error err = PML_ERROR_INIT;
            must_ok(read_threads(&w, p.op == PML_PRED_TRUE ? NULL : &p, threads, threads == 0 ? 333 : 0, &err), &err);
            if (strcmp(w.shown, want) != 0)
                fail_msg("case %zu with %u threads: %.200s instead of %.200s", c, threads, w.shown, want);
        }
    }
    world_close(&w);
}

/* The newest file of the same rows says what number they have; ids are the same in all. */
static void data_evolution_shows_the_newest_number(void **state)
{
    world w;
    (void)state;
    world_open(&w, test_env_open(NULL));
    put(&w, &(put_file){.first_row_id = 0, .sequence = 1, .n = 2});
    put(&w, &(put_file){.first_row_id = 0, .sequence = 4, .first = 50, .n = 2, .columns = {"v"}});
    put(&w, &(put_file){.first_row_id = 2, .sequence = 3, .first = 7, .n = 1});
    write_schema(&w, 1, TRACKED ",\"data-evolution.enabled\":\"true\"");
    must_show(&w, "0,v50,0,4\n1,v51,1,4\n7,v7,2,3\n");
    world_close(&w);
}

static void failures_are_told(void **state)
{
    faulty_fs f;
    (void)state;
    faulty_fs_init(&f, &pml_local_file_system);
    for (int files = 0; files < 2; files++) {
        world w;
        bool reached = true;
        test_env *t = test_env_open(files ? &f.fs : NULL);
        faulty_fs_reset(&f);
        world_open(&w, t);
        put(&w, &(put_file){.first_row_id = 0, .sequence = 1, .n = 2});
        put(&w, &(put_file){.first_row_id = 2, .sequence = 2, .first = 10, .n = 3, .ids = some_ids});
        track(&w);
        for (long long n = 1; reached; n++) {
            pml_error err = PML_ERROR_INIT;
            if (files)
                faulty_fs_fail_at(&f, n, FAULT_BEFORE, PML_E_IO, PML_ERRF_NO_EFFECT);
            else
                test_env_fail_at(t, n);
            int rc = show(&w, NULL, 0, &err);
            reached = files ? faulty_fs_failures(&f) > 0 : test_env_fail_reached(t);
            test_env_fail_at(t, 0);
            faulty_fs_reset(&f);
            if (rc != PML_OK)
                must_fail_with(files ? PML_E_IO : PML_E_NOMEM, rc, &err);
        }
        world_close(&w);
    }
    faulty_fs_destroy(&f);
}

static void only_extended_schemas_have_the_columns(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_field *one = malloc(sizeof *one); /* nothing before it may be looked at */
    assert_non_null(one);
    *one = (pml_field){.id = 0, .name = "id", .type = {.kind = PML_TYPE_INT}};
    const pml_table_schema schema = {.fields = one, .n_fields = 1};
    const pml_table_schema *extended;
    pml_arena__init(&arena, t->env);
    assert_false(pml_row_tracking__is(&schema));
    assert_false(pml_row_tracking__has(&schema, PML_ID_ROW_ID));
    assert_false(pml_row_tracking__has(&schema, PML_ID_SEQUENCE));
    must_ok(pml_row_tracking__extend(&extended, &arena, &schema, pml_row_tracking_fields, PML_TRACKING_COLUMNS, &err), &err);
    assert_int_equal(extended->n_fields, 3);
    assert_true(pml_row_tracking__is(extended));
    assert_true(pml_row_tracking__has(extended, PML_ID_ROW_ID));
    assert_true(pml_row_tracking__has(extended, PML_ID_SEQUENCE));
    assert_false(pml_row_tracking__has(extended, 0));
    pml_arena__clear(&arena);
    free(one);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_are_stored_or_counted),
                                       cmocka_unit_test(columns_come_in_any_order),
                                       cmocka_unit_test(rows_without_ids_are_refused),
                                       cmocka_unit_test(rows_left_out_are_counted),
                                       cmocka_unit_test(data_evolution_shows_the_newest_number),
                                       cmocka_unit_test(only_extended_schemas_have_the_columns),
                                       cmocka_unit_test(failures_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
