/* SPDX-License-Identifier: Apache-2.0 */
#include "support/table_kit.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "columnar/value_store.h"
#include "support/rows_kit.h"

static const char column_json[] =
    "{\"name\":\"id\",\"type\":\"BIGINT NOT "
    "NULL\"},{\"name\":\"p\",\"type\":\"STRING\"},{\"name\":\"q\",\"type\":\"INT\"},"
    "{\"name\":\"d\",\"type\":\"DATE\"},{\"name\":\"b\",\"type\":\"BOOLEAN\"},{\"name\":\"t\",\"type\":\"TINYINT\"},"
    "{\"name\":\"s\",\"type\":\"SMALLINT\"},{\"name\":\"k\",\"type\":\"INT NOT "
    "NULL\"},{\"name\":\"f\",\"type\":\"FLOAT\"},"
    "{\"name\":\"g\",\"type\":\"DOUBLE\"},{\"name\":\"c\",\"type\":\"CHAR(20)\"},{\"name\":\"v\",\"type\":\"STRING\"},"
    "{\"name\":\"y\",\"type\":\"BYTES\"},{\"name\":\"n\",\"type\":\"DECIMAL(9, "
    "2)\"},{\"name\":\"m\",\"type\":\"DECIMAL(30, 5)\"},"
    "{\"name\":\"w\",\"type\":\"TIME(3)\"},{\"name\":\"x\",\"type\":\"TIMESTAMP(3)\"},{\"name\":\"z\",\"type\":"
    "\"TIMESTAMP(6)\"},"
    "{\"name\":\"l\",\"type\":\"TIMESTAMP(6) WITH LOCAL TIME ZONE\"},"
    "{\"name\":\"a\",\"type\":{\"type\":\"ARRAY\",\"element\":\"INT\"}},"
    "{\"name\":\"h\",\"type\":{\"type\":\"MAP\",\"key\":\"STRING NOT NULL\",\"value\":\"BIGINT\"}},"
    "{\"name\":\"r\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"r1\",\"type\":\"INT\"},"
    "{\"name\":\"r2\",\"type\":\"STRING\"}]}}";

char *kit_schema_json(const char *partition_keys, const char *options)
{
    size_t size = sizeof column_json + strlen(partition_keys) + strlen(options) + 140;
    char *text = malloc(size);
    assert_non_null(text);
    /* Without compression unless the test wants it: contexts for 22 columns cost more than all else. */
    const char *fast = strstr(options, "file.compression") != NULL ? "" : "\"file.compression\":\"none\"";
    (void)snprintf(text, size,
                   "{\"fields\":[%s],\"partitionKeys\":[%s],\"primaryKeys\":[],\"options\":{%s%s%s},\"comment\":\"\"}",
                   column_json, partition_keys, fast, fast[0] != '\0' && options[0] != '\0' ? "," : "", options);
    return text;
}

pml_table *kit_open(test_env *t, const char *path)
{
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table_open(&table, t->env, path, NULL, &err), &err);
    return table;
}

void table_kit_init(table_kit *k, test_env *t, pml_table *table)
{
    memset(k, 0, sizeof *k);
    k->t = t;
    k->table = table;
    k->fields = pml_table__fields(table, &k->n_fields);
}

void table_kit_create(table_kit *k, test_env *t, const char *path, const char *schema_json)
{
    pml_table *table;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_table_create(&table, t->env, path, schema_json, strlen(schema_json), 0, &err), &err);
    table_kit_init(k, t, table);
}

void table_kit_close(table_kit *k)
{
    for (size_t i = 0; i < k->n_batches; i++)
        pml_array__release(&k->batches[i]);
    pml_table_release(k->table);
    k->table = NULL;
    k->n_batches = 0;
}

void table_kit_run(const char *partition_keys, const char *options, void (*body)(table_kit *k))
{
    test_env *t = test_env_open(NULL);
    table_kit k;
    char *json = kit_schema_json(partition_keys, options);
    table_kit_create(&k, t, test_path(t, "wh/t"), json);
    free(json);
    body(&k);
    table_kit_close(&k);
    test_env_close(t);
}

/* ---- writing ---- */

static bool is_partition_key(const pml_table *table, size_t column)
{
    for (size_t i = 0; i < table->schema->n_partition_keys; i++)
        if (table->schema->partition_index[i] == (int32_t)column)
            return true;
    return false;
}

static void append(pml_builder *b, const pml_value *v)
{
    must_ok(pml_builder__append_value(b, v), NULL);
}

/* Few values, null and texts that share a directory with null among them. */
static void partition_value(pml_value *v, test_env *t, const pml_type *type)
{
    static const char *const texts[] = {"a", "b/c=d", "", " "};
    uint64_t r = test_random(t) % 5;
    *v = (pml_value){.kind = PML_VALUE_NULL};
    if (r == 4)
        return;
    if (pml_value__kind_of(type) == PML_VALUE_BYTES)
        *v = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)texts[r], strlen(texts[r])}};
    else
        *v = (pml_value){.kind = PML_VALUE_INT, .i = (int64_t)r * 100 - 50};
}

static void column(struct ArrowArray *out, table_kit *k, size_t i, int64_t rows, int64_t first_id)
{
    pml_builder *b;
    const pml_type *type = &k->fields[i].type;
    if (i != 0 && !is_partition_key(k->table, i)) {
        random_array(out, k->t, type, rows);
        return;
    }
    must_ok(pml_builder__new(&b, k->t->env, type, NULL), NULL);
    for (int64_t row = 0; row < rows; row++) {
        pml_value v = {.kind = PML_VALUE_INT, .i = first_id + row};
        if (i != 0)
            partition_value(&v, k->t, type);
        append(b, &v);
    }
    must_ok(pml_builder__finish(b, out, NULL), NULL);
    pml_builder__free(b);
}

void table_kit_batch(struct ArrowArray *out, table_kit *k, int64_t rows)
{
    struct ArrowArray *columns = calloc(k->n_fields, sizeof *columns);
    assert_non_null(columns);
    assert_true(k->n_batches < KIT_BATCHES_MAX);
    for (size_t i = 0; i < k->n_fields; i++)
        column(&columns[i], k, i, rows, k->next_id);
    must_ok(pml_batch__from_columns(out, k->t->env, columns, k->n_fields, rows, NULL), NULL);
    free(columns);
    must_ok(pml_batch__gather_rows(&k->batches[k->n_batches], k->t->env, k->fields, k->n_fields, out, NULL, rows, NULL),
            NULL);
    k->first_id[k->n_batches++] = k->next_id;
    k->next_id += rows;
}

int table_kit_write(table_kit *k, pml_writer *w, struct ArrowArray *batch, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc = pml_table_arrow_schema(&schema, k->table, err);
    if (rc == PML_OK)
        rc = pml_writer_write(w, batch, &schema, err);
    pml_schema__release(&schema);
    if (rc != PML_OK && getenv("KIT_LOG") != NULL)
        print_message("%s\n", err->message);
    assert_true((rc == PML_OK) == (batch->release == NULL)); /* taken, or still the caller's */
    pml_array__release(batch);
    return rc;
}

int table_kit_try_prepare(pml_messages **out, table_kit *k, struct ArrowArray *batch, pml_error *err)
{
    pml_writer *w = NULL;
    *out = NULL;
    int rc = pml_writer_open(&w, k->table, err);
    if (rc == PML_OK)
        rc = table_kit_write(k, w, batch, err);
    else
        pml_array__release(batch);
    if (rc == PML_OK)
        rc = pml_writer_prepare(out, w, err);
    pml_writer_close(w);
    return rc;
}

pml_messages *table_kit_prepare(table_kit *k, int64_t rows)
{
    struct ArrowArray batch;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    table_kit_batch(&batch, k, rows);
    must_ok(table_kit_try_prepare(&m, k, &batch, &err), &err);
    return m;
}

int64_t table_kit_commit(table_kit *k, pml_messages *m)
{
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_commit_open(&c, k->table, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    return r.snapshot_id;
}

int64_t table_kit_append(table_kit *k, int64_t rows)
{
    return table_kit_commit(k, table_kit_prepare(k, rows));
}

/* ---- reading ---- */

void kit_plan(pml_plan **out, table_kit *k, const kit_read *r)
{
    pml_scan *scan;
    pml_error err = PML_ERROR_INIT;
    const char *names[64];
    must_ok(pml_scan_new(&scan, k->table, &err), &err);
    for (size_t i = 0; i < r->n_columns; i++)
        names[i] = k->fields[r->columns[i]].name;
    if (r->n_columns > 0)
        must_ok(pml_scan_set_columns(scan, names, r->n_columns, &err), &err);
    if (r->predicate != NULL) {
        const pml_predicate p = {.tree = (pml_pred *)r->predicate};
        must_ok(pml_scan_set_predicate(scan, &p, &err), &err);
    }
    must_ok(pml_scan_set_limit(scan, r->limit == 0 ? -1 : r->limit, &err), &err);
    if (r->snapshot > 0)
        must_ok(pml_scan_set_snapshot(scan, r->snapshot, &err), &err);
    must_ok(pml_scan_plan(out, scan, &err), &err);
    pml_scan_free(scan);
}

int64_t kit_plan_files(const pml_plan *plan)
{
    int64_t n = 0;
    for (size_t i = 0; i < pml_plan_split_count(plan); i++) {
        pml_split_info info = PML_SPLIT_INFO_INIT;
        must_ok(pml_plan_split_get(&info, plan, i, NULL), NULL);
        n += info.files;
    }
    return n;
}

/* seen[id] = 1 for the rows that must come. Returns how many. */
static int64_t wanted_rows(table_kit *k, uint8_t *wanted, const pml_pred *p, size_t batches)
{
    int64_t n = 0;
    for (size_t b = 0; b < k->n_batches && (batches == 0 || b < batches); b++) {
        uint8_t *keep = wanted + k->first_id[b];
        int64_t length = k->batches[b].length;
        if (k->absent[b])
            continue;
        memset(keep, 1, (size_t)length);
        if (p != NULL)
            must_ok(pml_pred__eval(keep, p, k->t->env, &k->batches[b], k->fields, k->n_fields, NULL), NULL);
        for (int64_t i = 0; i < length; i++)
            n += keep[i];
    }
    return n;
}

int64_t kit_expected_rows(table_kit *k, const pml_pred *p, size_t batches)
{
    uint8_t *wanted = calloc((size_t)k->next_id + 1, 1);
    assert_non_null(wanted);
    int64_t n = wanted_rows(k, wanted, p, batches);
    free(wanted);
    return n;
}

static size_t batch_of(const table_kit *k, int64_t id)
{
    size_t low = 0, high = k->n_batches;
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (k->first_id[mid] <= id)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static int64_t id_of(const struct ArrowArray *column_array, int64_t row)
{
    return ((const int64_t *)column_array->buffers[1])[column_array->offset + row];
}

static void compare_row(table_kit *k, const struct ArrowArray *got, int64_t row, const kit_read *r,
                        const uint8_t *wanted, uint8_t *seen)
{
    size_t id_at = 0, n = r->n_columns == 0 ? k->n_fields : r->n_columns;
    for (size_t i = 0; i < r->n_columns; i++)
        id_at = r->columns[i] == 0 ? i : id_at;
    int64_t id = id_of(got->children[id_at], row);
    assert_in_range((uint64_t)id, 0, (uint64_t)k->next_id - 1);
    assert_true(wanted[id]);
    assert_false(seen[id]);
    seen[id] = 1;
    size_t b = batch_of(k, id);
    for (size_t i = 0; i < n; i++) {
        size_t from = r->n_columns == 0 ? i : (size_t)r->columns[i];
        if (!array_rows_equal(got->children[i], row, k->batches[b].children[from], id - k->first_id[b],
                              &k->fields[from].type))
            fail_msg("row %lld differs in column %s", (long long)id, k->fields[from].name);
    }
}

void table_kit_must_stream(table_kit *k, struct ArrowArrayStream *stream, const kit_read *r)
{
    uint8_t *wanted = calloc((size_t)k->next_id + 1, 1), *seen = calloc((size_t)k->next_id + 1, 1);
    struct ArrowArray batch = {0};
    int64_t got = 0;
    assert_non_null(wanted);
    assert_non_null(seen);
    int64_t want = wanted_rows(k, wanted, r->predicate, r->batches);
    while (rows_next(stream, &batch)) {
        assert_true(batch.length > 0);
        assert_true(r->batch_rows == 0 || batch.length <= r->batch_rows);
        assert_int_equal(batch.n_children, r->n_columns == 0 ? k->n_fields : r->n_columns);
        for (int64_t row = 0; row < batch.length; row++)
            compare_row(k, &batch, row, r, wanted, seen);
        got += batch.length;
    }
    assert_int_equal(got, r->limit > 0 && r->limit < want ? r->limit : want);
    free(wanted);
    free(seen);
}

void table_kit_must_read(table_kit *k, const kit_read *r)
{
    pml_plan *plan;
    struct ArrowArrayStream stream;
    pml_read_options o = PML_READ_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    int64_t count, want = kit_expected_rows(k, r->predicate, r->batches);
    o.batch_rows = r->batch_rows;
    kit_plan(&plan, k, r);
    must_ok(pml_plan_count(&count, plan, &err), &err);
    assert_int_equal(count, r->limit > 0 && r->limit < want ? r->limit : want);
    must_ok(pml_read_open(&stream, plan, &o, &err), &err);
    pml_plan_free(plan); /* the stream goes on without it */
    table_kit_must_stream(k, &stream, r);
}

bool table_kit_has_batch(table_kit *k, size_t b)
{
    const int32_t id[] = {0};
    const kit_read r = {.n_columns = 1, .columns = id};
    pml_plan *plan;
    struct ArrowArray batch = {0};
    int64_t found = 0;
    kit_plan(&plan, k, &r);
    struct ArrowArrayStream stream = rows_open(plan);
    while (rows_next(&stream, &batch))
        for (int64_t row = 0; row < batch.length; row++)
            found += batch_of(k, id_of(batch.children[0], row)) == b;
    assert_true(found == 0 || found == k->batches[b].length);
    return found > 0;
}

/* ---- predicates ---- */

pml_pred *kit_leaf(table_kit *k, pml_arena *arena, int32_t column_index, pml_pred_op op, const pml_value *literals,
                   size_t n)
{
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    assert_non_null(p);
    const pml_field *f = &k->fields[column_index];
    *p = (pml_pred){.op = op, .field_id = f->id, .type = &f->type, .name = f->name, .n_literals = n};
    p->literals = pml_arena__copy(arena, literals, n * sizeof *literals);
    assert_non_null(p->literals);
    return p;
}

static pml_value literal_of(table_kit *k, pml_arena *arena, int32_t column_index)
{
    pml_value v;
    if (column_index == 0)
        return (pml_value){.kind = PML_VALUE_INT,
                           .i = k->next_id == 0 ? 0 : (int64_t)(test_random(k->t) % (uint64_t)k->next_id)};
    if (test_random(k->t) % 20 == 0)
        return (pml_value){.kind = PML_VALUE_NULL};
    if (!is_partition_key(k->table, (size_t)column_index))
        return random_value(k->t, arena, &k->fields[column_index].type);
    partition_value(&v, k->t, &k->fields[column_index].type);
    return v;
}

static pml_pred *random_leaf(table_kit *k, pml_arena *arena)
{
    pml_value literals[4];
    int32_t i = (int32_t)(test_random(k->t) % k->n_fields);
    bool nested = pml_type__is_nested(&k->fields[i].type);
    bool text = !nested && pml_value__kind_of(&k->fields[i].type) == PML_VALUE_BYTES;
    int op = PML_PRED_EQ + (int)(test_random(k->t) % (text ? 13u : 10u));
    if (nested)
        op = test_random(k->t) % 2 == 0 ? PML_PRED_IS_NULL : PML_PRED_IS_NOT_NULL;
    size_t n = op == PML_PRED_IS_NULL || op == PML_PRED_IS_NOT_NULL ? 0
               : op == PML_PRED_IN || op == PML_PRED_NOT_IN         ? test_random(k->t) % 5
                                                                    : 1;
    for (size_t j = 0; j < n; j++)
        literals[j] = literal_of(k, arena, i);
    return kit_leaf(k, arena, i, (pml_pred_op)op, literals, n);
}

pml_pred *kit_random_predicate(table_kit *k, pml_arena *arena, int depth)
{
    if (depth == 0 || test_random(k->t) % 3 == 0)
        return random_leaf(k, arena);
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    assert_non_null(p);
    p->op = test_random(k->t) % 2 == 0 ? PML_PRED_AND : PML_PRED_OR;
    p->n_children = 1 + test_random(k->t) % 3;
    p->children = pml_arena__array(arena, p->n_children, sizeof *p->children);
    assert_non_null(p->children);
    for (size_t i = 0; i < p->n_children; i++)
        p->children[i] = kit_random_predicate(k, arena, depth - 1);
    return p;
}

/* ---- files ---- */

void kit_write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void kit_replace_in_file(const char *path, const char *from, const char *to)
{
    size_t len;
    uint8_t *data = test_read_file(path, &len);
    char *text = calloc(len + 400, 1), *at;
    assert_non_null(text);
    memcpy(text, data, len);
    at = strstr(text, from);
    assert_non_null(at);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    kit_write_text(path, text);
    free(text);
    free(data);
}

/* ---- orphans ---- */

size_t kit_files_in(const char *root, const char *dir)
{
    char path[400];
    size_t n = 0;
    struct dirent *e;
    (void)snprintf(path, sizeof path, "%s/%s", root, dir);
    DIR *d = opendir(path);
    if (d == NULL)
        return 0;
    while ((e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n;
}

size_t kit_orphan_manifests(pml_table *table)
{
    pml_arena arena;
    pml_map named;
    int64_t last;
    pml_arena__init(&arena, table->env);
    pml_map__init(&named, table->env);
    must_ok(pml_table__latest_snapshot(&last, table, true, NULL), NULL);
    for (int64_t id = 1; id <= last; id++) {
        pml_snapshot s;
        must_ok(pml_table__load_snapshot(&s, &arena, table, id, NULL), NULL);
        const char *lists[] = {s.base_manifest_list, s.delta_manifest_list};
        for (int i = 0; i < 2; i++) {
            pml_manifest_list l = {0};
            must_ok(pml_table__load_manifest_list(&l, &arena, table, lists[i], NULL), NULL);
            must_ok(pml_map__put(&named, lists[i], strlen(lists[i]), &named, NULL), NULL);
            for (size_t j = 0; j < l.n; j++)
                must_ok(pml_map__put(&named, l.v[j].name, strlen(l.v[j].name), &named, NULL), NULL);
        }
    }
    size_t n = kit_files_in(table->path, "manifest") - named.live;
    pml_map__clear(&named, NULL);
    pml_arena__clear(&arena);
    return n;
}

static const char *copy_from, *copy_to;

static int copy_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    char to[512];
    size_t len;
    (void)st, (void)ftw;
    (void)snprintf(to, sizeof to, "%s%s", copy_to, path + strlen(copy_from));
    if (flag == FTW_D)
        return mkdir(to, 0755);
    uint8_t *data = test_read_file(path, &len);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    free(data);
    return 0;
}

void kit_copy_tree(const char *to, const char *from)
{
    copy_from = from;
    copy_to = to;
    assert_int_equal(nftw(from, copy_one, 16, FTW_PHYS), 0);
}
