/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading some pages of a file: by predicates, by parts, with page indexes that lie. What the exact predicate would keep is never
 * left out, and columns stay in step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/file_format.h"
#include "support/table_kit.h"
#include "support/test_bridge.h"

enum { ROWS = 600, ALIKE = 17, FIELDS_MAX = 32 };

typedef struct world {
    table_kit *k;
    pml_arena arena;
    size_t n;
    pml_field fields[FIELDS_MAX];
    struct ArrowArray rows; /* what the file has */
    const char *path;
    const pml_bridge *bridge;
    pml_bridge_write_options options;
    const pml_row_set *chosen; /* NULL: all rows */
    bool match;                /* leave single rows out, too */
} world;

static void write_file(const char *path, const uint8_t *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Runs of rows that are alike, so that pages differ; pages and row groups of a few rows. */
static void world_open(world *w, table_kit *k, int64_t row_group_bytes)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray some, copy, columns[FIELDS_MAX], extra;
    struct ArrowSchema schema;
    int64_t at[ROWS];
    memset(w, 0, sizeof *w);
    w->k = k;
    w->path = test_path(k->t, "data.parquet");
    pml_arena__init(&w->arena, k->t->env);
    table_kit_batch(&some, k, ROWS / ALIKE + 1);
    for (int64_t i = 0; i < ROWS; i++)
        at[i] = i / ALIKE;
    w->n = k->n_fields + 1;
    memcpy(w->fields, k->fields, k->n_fields * sizeof *w->fields);
    w->fields[w->n - 1] = (pml_field){.name = "i96", .id = 900, .type = {.kind = PML_TYPE_TIMESTAMP, .precision = 9, .nullable = true}};
    random_array(&extra, k->t, &w->fields[w->n - 1].type, ROWS);
    for (size_t i = 0; i < k->n_fields; i++)
        must_ok(pml_batch__gather(&columns[i], k->t->env, &w->fields[i].type, some.children[i], at, ROWS, &err), &err);
    must_ok(pml_batch__gather(&columns[w->n - 1], k->t->env, &w->fields[w->n - 1].type, &extra, NULL, ROWS, &err), &err);
    must_ok(pml_batch__from_columns(&w->rows, k->t->env, columns, w->n, ROWS, &err), &err);
    extra.release(&extra);
    some.release(&some);
    must_ok(pml_bridge__get(&w->bridge, k->t->env, &err), &err);
    w->options = (pml_bridge_write_options){.compression = "none", .compression_level = INT32_MIN, .dictionary = 1,
                                            .row_group_bytes = row_group_bytes, .page_bytes = 64, .write_batch_rows = 16};
    test_file f = {0};
    must_ok(pml_type__export(&schema, k->t->env, w->fields, w->n, &err), &err);
    must_ok(pml_batch__gather_rows(&copy, k->t->env, w->fields, w->n, &w->rows, NULL, ROWS, &err), &err);
    must_ok(test_parquet_write(&f, w->bridge, &schema, &copy, &w->options, &err), &err);
    schema.release(&schema);
    write_file(w->path, f.data, f.len);
    test_file_free(&f);
}

static void world_close(world *w)
{
    w->rows.release(&w->rows);
    pml_arena__clear(&w->arena);
}

/* Reads a part of the file and finds its rows that pass the predicate among those expected, in order: *next is the first row of
   w->rows that was not seen yet. Returns the rows that were read before the exact predicate, or a negative code. */
static int64_t read_part(world *w, const int32_t *columns, size_t n, const pml_pred *p, int32_t part, int32_t parts, const uint8_t *keep,
                         int64_t *next, pml_error *err)
{
    pml_field fields[FIELDS_MAX];
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    uint8_t kept[ROWS];
    int64_t rows = 0;
    for (size_t i = 0; i < n; i++)
        fields[i] = w->fields[columns[i]];
    const pml_format_read q = {.fields = fields, .n_fields = n, .predicate = p, .match_rows = w->match, .batch_rows = 11, .checksums = true,
                               .check_values = true, .part = part, .parts = parts, .rows = w->chosen};
    int rc = pml_format__open(&stream, w->k->t->env, "parquet", w->path, &q, err);
    while (rc == PML_OK) {
        rc = stream.get_next(&stream, &batch) != 0 ? pml_stream_error(&stream, err) : PML_OK;
        if (rc != PML_OK || batch.release == NULL)
            break;
        assert_in_range(batch.length, 1, 11);
        memset(kept, 1, sizeof kept);
        if (p != NULL)
            must_ok(pml_pred__eval(kept, p, w->k->t->env, &batch, fields, n, err), err);
        for (int64_t i = 0; i < batch.length; i++) {
            if (!kept[i])
                continue;
            while (*next < ROWS && !keep[*next])
                ++*next;
            assert_true(*next < ROWS);
            for (size_t c = 0; c < n; c++)
                assert_true(array_rows_equal(batch.children[c], i, w->rows.children[columns[c]], *next, &fields[c].type));
            ++*next;
        }
        rows += batch.length;
        batch.release(&batch);
    }
    if (stream.release != NULL)
        stream.release(&stream);
    return rc == PML_OK ? rows : rc;
}

/* All parts together give exactly the rows for which the predicate is true. */
static int64_t read_all(world *w, const int32_t *columns, size_t n, const pml_pred *p, int32_t parts)
{
    pml_error err = PML_ERROR_INIT;
    uint8_t keep[ROWS];
    int64_t next = 0, rows = 0;
    memset(keep, 1, sizeof keep);
    if (p != NULL)
        must_ok(pml_pred__eval(keep, p, w->k->t->env, &w->rows, w->fields, w->n, &err), &err);
    for (int64_t i = 0; w->chosen != NULL && i < ROWS; i++)
        keep[i] = keep[i] && pml_row_set__has(w->chosen, i);
    for (int32_t part = 0; part < (parts == 0 ? 1 : parts); part++) {
        int64_t got = read_part(w, columns, n, p, part, parts, keep, &next, &err);
        must_ok(got < 0 ? (int)got : PML_OK, &err);
        rows += got;
    }
    for (; next < ROWS; next++)
        assert_false(keep[next]);
    return rows;
}

static const int32_t every_column[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};

static void random_predicates(table_kit *k)
{
    static const int64_t group_bytes[] = {1 << 20, 6000};
    for (size_t g = 0; g < 2; g++) {
        world w;
        int64_t skipped = 0;
        world_open(&w, k, group_bytes[g]);
        assert_int_equal(w.n, 23);
        for (int32_t parts = 0; parts < 9; parts += 1 + parts / 3)
            assert_int_equal(read_all(&w, every_column, w.n, NULL, parts), ROWS);
        for (int i = 0; i < 40; i++) {
            w.match = i >= 20;
            const pml_pred *p = kit_random_predicate(k, &w.arena, i % 4);
            skipped += ROWS - read_all(&w, every_column, w.n, p, (int32_t)(test_random(k->t) % 5));
        }
        assert_true(skipped > ROWS / 2);
        world_close(&w);
    }
}

static void predicates_and_parts_give_the_rows_of_a_full_filter(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "", random_predicates);
}

/* Single rows and stretches, so that some of what is chosen is cut out of batches and some is not read at all. */
static void choose(pml_row_set *s, table_kit *k, bool most)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_row_set__init(s, k->t->env, ROWS, false, &err), &err);
    for (int i = 0; i < 3; i++) {
        int64_t first = (int64_t)(test_random(k->t) % ROWS), n = (int64_t)(test_random(k->t) % 30);
        pml_row_set__add(s, (int64_t)(test_random(k->t) % ROWS));
        pml_row_set__add_range(s, first, first + n < ROWS ? first + n : ROWS);
    }
    if (most)
        pml_row_set__invert(s);
}

static void chosen_rows(table_kit *k)
{
    static const int64_t group_bytes[] = {1 << 20, 6000};
    for (size_t g = 0; g < 2; g++) {
        world w;
        pml_error err = PML_ERROR_INIT;
        int64_t rows = 0;
        world_open(&w, k, group_bytes[g]);
        for (int i = 0; i < 24; i++) {
            pml_row_set chosen;
            const pml_pred *p = i % 3 == 0 ? kit_random_predicate(k, &w.arena, i % 4) : NULL;
            choose(&chosen, k, i % 2 == 1);
            w.chosen = &chosen;
            w.match = i >= 12;
            rows = read_all(&w, every_column, i % 5 == 0 ? 0 : w.n, i % 5 == 0 ? NULL : p, (int32_t)(test_random(k->t) % 5));
            assert_true(rows <= pml_row_set__count(&chosen, 0, ROWS));
            pml_row_set__clear(&chosen);
        }
        pml_row_set other; /* of another file */
        must_ok(pml_row_set__init(&other, k->t->env, ROWS + 1, true, &err), &err);
        const pml_format_read q = {.fields = w.fields, .n_fields = w.n, .batch_rows = 11, .rows = &other};
        struct ArrowArrayStream stream;
        must_fail_with(PML_E_CORRUPT, pml_format__open(&stream, k->t->env, "parquet", w.path, &q, &err), &err);
        pml_row_set__clear(&other);
        world_close(&w);
    }
}

static void rows_that_were_chosen_come_and_no_others(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "", chosen_rows);
}

static void one_value(table_kit *k)
{
    world w;
    world_open(&w, k, 1 << 20);
    for (int64_t id = 0; id < ROWS / ALIKE; id += 5) {
        const pml_value v = {.kind = PML_VALUE_INT, .i = id};
        int64_t rows = read_all(&w, every_column, w.n, kit_leaf(k, &w.arena, 0, PML_PRED_EQ, &v, 1), 0);
        assert_in_range(rows, ALIKE, ALIKE + 2 * 16); /* whole pages of 16 rows */
        /* Predicate columns alone, and one that is nested. */
        const int32_t two[] = {21, 0};
        assert_int_equal(read_all(&w, two, 2, kit_leaf(k, &w.arena, 0, PML_PRED_EQ, &v, 1), 3), rows);
        w.match = true;
        assert_int_equal(read_all(&w, every_column, w.n, kit_leaf(k, &w.arena, 0, PML_PRED_EQ, &v, 1), 0), ALIKE);
        w.match = false;
    }
    world_close(&w);
}

static void a_point_reads_its_pages_only(void **state)
{
    (void)state;
    table_kit_run("", "", one_value);
}

/* Without a predicate nothing of the index may change what is read; a lie is an error at worst. */
static void lying_index(table_kit *k)
{
    static const int32_t flat[] = {0, 2, 11, 13, 8, 22};
    world w;
    size_t len;
    int refused = 0, unharmed = 0;
    world_open(&w, k, 1 << 20);
    uint8_t *data = test_read_file(w.path, &len);
    size_t footer = (size_t)data[len - 8] | (size_t)data[len - 7] << 8 | (size_t)data[len - 6] << 16;
    size_t index_end = len - 8 - footer, index_first = index_end - 6000; /* offset indexes are the last things before the footer */
    for (int i = 0; i < 120; i++) {
        pml_error err = PML_ERROR_INIT;
        uint8_t keep[ROWS];
        int64_t next = 0, rows = 0;
        size_t at = index_first + test_random(k->t) % (index_end - index_first);
        uint8_t old = data[at];
        data[at] = (uint8_t)(i % 2 == 0 ? test_random(k->t) : old ^ (1u << test_random(k->t) % 8));
        write_file(w.path, data, len);
        memset(keep, 1, sizeof keep);
        for (int32_t part = 0; rows >= 0 && part < 3; part++)
            rows = read_part(&w, flat, 6, NULL, part, 3, keep, &next, &err);
        if (rows >= 0)
            assert_int_equal(next, ROWS);
        unharmed += rows >= 0;
        refused += rows < 0;
        /* With a predicate rows may be missing, but nothing worse happens: read_part finds every row where it belongs. */
        const pml_pred *p = kit_random_predicate(k, &w.arena, 2);
        must_ok(pml_pred__eval(keep, p, k->t->env, &w.rows, w.fields, w.n, &err), &err);
        const pml_format_read q = {.fields = w.fields, .n_fields = w.n, .predicate = p, .batch_rows = 50};
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        if (pml_format__open(&stream, k->t->env, "parquet", w.path, &q, &err) == PML_OK) {
            while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL)
                batch.release(&batch);
            stream.release(&stream);
        }
        data[at] = old;
    }
    assert_true(refused > 0 && unharmed > 0);
    print_message("%d files refused, %d read rightly\n", refused, unharmed);
    free(data);
    world_close(&w);
}

/* Pages of lists do not tell how many rows they hold, so nothing of what the index says of them may be believed. The rows are asked for
   as ranges: parts are not cut where there are lists. */
static void lying_lists(table_kit *k)
{
    world w;
    size_t len;
    int32_t columns[] = {0, 0};
    int refused = 0, unharmed = 0;
    world_open(&w, k, 1 << 20);
    for (size_t i = 0; i < w.n; i++)
        columns[1] = strcmp(w.fields[i].name, "a") == 0 ? (int32_t)i : columns[1];
    test_file f = {.data = test_read_file(w.path, &len)};
    f.len = f.cap = len;
    size_t footer = (size_t)f.data[len - 8] | (size_t)f.data[len - 7] << 8 | (size_t)f.data[len - 6] << 16;
    size_t index_end = len - 8 - footer;
    for (size_t at = index_end - 3200; at < index_end - 1000; at++) { /* there is the index of the lists */
        const pml_bridge_rows range = {.group = 0, .first = 300, .end = 340};
        pml_error err = PML_ERROR_INIT;
        pml_bridge_reader *reader;
        struct ArrowArrayStream stream;
        struct ArrowArray batch = {0};
        f.data[at] ^= 2;
        const pml_bridge_input input = test_input(&f);
        int rc = w.bridge->parquet_open(&reader, &input, NULL, &test_read_options, &err);
        assert_int_equal(rc, PML_OK);
        rc = w.bridge->parquet_stream_rows(&stream, reader, &range, 1, columns, 2, &err);
        int64_t row = range.first;
        while (rc == PML_OK && (rc = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL) {
            for (int64_t i = 0; i < batch.length; i++, row++)
                for (size_t c = 0; c < 2; c++)
                    assert_true(array_rows_equal(batch.children[c], i, w.rows.children[columns[c]], row, &w.fields[columns[c]].type));
            batch.release(&batch);
        }
        assert_true(rc != PML_OK || row == range.end);
        refused += rc != PML_OK;
        unharmed += rc == PML_OK;
        if (stream.release != NULL)
            stream.release(&stream);
        w.bridge->parquet_close(reader);
        f.data[at] ^= 2;
    }
    assert_true(unharmed > 0);
    print_message("%d files refused, %d read rightly\n", refused, unharmed);
    test_file_free(&f);
    world_close(&w);
}

static void an_index_that_lies_of_lists_moves_no_row(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "", lying_lists);
}

static void an_index_that_lies_moves_no_row_and_crashes_nothing(void **state)
{
    (void)state;
    (void)test_seed();
    table_kit_run("", "", lying_index);
}

static void bad_arguments(table_kit *k)
{
    static const pml_bridge_rows bad[][2] = {{{.group = 0, .first = 5, .end = 5}, {0}},
                                             {{.group = 0, .first = -1, .end = 5}, {0}},
                                             {{.group = 0, .first = 0, .end = ROWS + 1}, {0}},
                                             {{.group = 1, .first = 0, .end = 1}, {0}},
                                             {{.group = -1, .first = 0, .end = 1}, {0}},
                                             {{.group = 0, .first = 4, .end = 9}, {.group = 0, .first = 8, .end = 10}}};
    world w;
    pml_error err = PML_ERROR_INIT;
    pml_bridge_reader *reader;
    struct ArrowArrayStream stream;
    const pml_bridge_page *pages;
    size_t len, n;
    const int32_t column = 0, twice[] = {0, 0};
    world_open(&w, k, 1 << 20);
    test_file f = {.data = test_read_file(w.path, &len)};
    f.len = f.cap = len;
    const pml_bridge_input input = test_input(&f);
    must_ok(w.bridge->parquet_open(&reader, &input, NULL, &test_read_options, &err), &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        must_fail_with(PML_E_INVAL, w.bridge->parquet_stream_rows(&stream, reader, bad[i], bad[i][1].end > 0 ? 2 : 1, &column, 1, &err), &err);
    const pml_bridge_rows good = {.group = 0, .first = 1, .end = 2};
    must_fail_with(PML_E_INVAL, w.bridge->parquet_stream_rows(&stream, reader, &good, 1, twice, 2, &err), &err);
    must_fail_with(PML_E_INVAL, w.bridge->parquet_pages(&pages, &n, reader, 1, 0, 1, &err), &err);
    must_fail_with(PML_E_INVAL, w.bridge->parquet_pages(&pages, &n, reader, 0, 99, 1, &err), &err);
    must_ok(w.bridge->parquet_pages(&pages, &n, reader, 0, 0, 1, &err), &err);
    assert_true(n > 10 && pages[0].first_row == 0 && pages[0].stat.kind == PML_BRIDGE_STAT_INT && pages[0].stat.null_count == 0);
    must_ok(w.bridge->parquet_pages(&pages, &n, reader, 0, 21, 1, &err), &err); /* a ROW */
    assert_int_equal(n, 0);
    w.bridge->parquet_close(reader);
    test_file_free(&f);
    world_close(&w);
}

static void ranges_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    table_kit_run("", "", bad_arguments);
}

/* The bound is of one call: what the caller keeps of earlier batches is the caller's. */
static void kept_batches(table_kit *k)
{
    enum { LONG = 200000, BATCH = 1000 };
    static const pml_field field = {.name = "n", .id = 1, .type = {.kind = PML_TYPE_BIGINT}};
    static int64_t at[LONG]; /* the same row always */
    world w = {.k = k, .path = test_path(k->t, "kept.parquet")};
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray one, column, batch, kept[LONG / BATCH];
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    test_file f = {0};
    size_t n = 0;
    must_ok(pml_bridge__get(&w.bridge, k->t->env, &err), &err);
    random_array(&one, k->t, &field.type, 1);
    must_ok(pml_batch__gather(&column, k->t->env, &field.type, &one, at, LONG, &err), &err);
    must_ok(pml_batch__from_columns(&batch, k->t->env, &column, 1, LONG, &err), &err);
    must_ok(pml_type__export(&schema, k->t->env, &field, 1, &err), &err);
    const pml_bridge_write_options options = {.compression = "none", .compression_level = INT32_MIN, .dictionary = 1,
                                              .row_group_bytes = 1 << 20, .page_bytes = 64, .write_batch_rows = 64};
    must_ok(test_parquet_write(&f, w.bridge, &schema, &batch, &options, &err), &err);
    write_file(w.path, f.data, f.len);
    schema.release(&schema);
    one.release(&one);
    test_file_free(&f);
    k->t->env->bridge_bytes_max = 256 * 1024;
    const pml_format_read q = {.fields = &field, .n_fields = 1, .batch_rows = BATCH};
    for (int32_t parts = 1; parts <= 2; parts++) {
        pml_format_read part = q;
        part.parts = parts; /* all rows, or their second half: 1600 or 800 KB */
        part.part = parts - 1;
        must_ok(pml_format__open(&stream, k->t->env, "parquet", w.path, &part, &err), &err);
        for (n = 0;; n++) {
            struct ArrowArray next;
            if (stream.get_next(&stream, &next) != 0)
                must_ok(pml_stream_error(&stream, &err), &err);
            if (next.release == NULL)
                break;
            kept[n] = next;
        }
        assert_true(n >= (size_t)(LONG / BATCH / parts));
        stream.release(&stream);
        for (size_t i = 0; i < n; i++)
            kept[i].release(&kept[i]);
    }
    k->t->env->bridge_bytes_max = 0;
}

static void batches_that_are_kept_count_for_no_later_call(void **state)
{
    (void)state;
    table_kit_run("", "", kept_batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicates_and_parts_give_the_rows_of_a_full_filter),
        cmocka_unit_test(rows_that_were_chosen_come_and_no_others),
        cmocka_unit_test(a_point_reads_its_pages_only),
        cmocka_unit_test(an_index_that_lies_moves_no_row_and_crashes_nothing),
        cmocka_unit_test(an_index_that_lies_of_lists_moves_no_row),
        cmocka_unit_test(ranges_that_do_not_exist_are_refused),
        cmocka_unit_test(batches_that_are_kept_count_for_no_later_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
