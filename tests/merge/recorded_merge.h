/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge functions without the merge: an output that records, and cases as JSON that run against it. Functions are defined here and
 * not in tests/support, so that they are in the test itself and stand before those of the library.
 *
 * A case is {"name", "schema": the request form of a table, "rounds": [[row, ...], ...], "columns": [...] or absent, "unordered":
 * [...] or absent, and "expected": [line, ...] or "error": true}. Rows are in the canonical form with "_kind"; each round was one
 * commit of Java's, with a key at most once. Expected lines are what Java then read.
 */
#ifndef PML_TESTS_RECORDED_MERGE_H
#define PML_TESTS_RECORDED_MERGE_H

#include "support/test_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/item.h"
#include "columnar/row_text.h"
#include "merge/engine.h"
#include "merge/merge_options.h"
#include "table/rows_value.h"

enum { MERGE_ROWS_MAX = 256, MERGE_FIELDS_MAX = 64 };

struct pml_merge_output {
    const pml_merge_group *group;
    size_t n_fields;
    bool wanted[MERGE_FIELDS_MAX];
    pml_builder *columns[MERGE_FIELDS_MAX];
    int64_t rows;
    int8_t kinds[MERGE_ROWS_MAX];
    int64_t sequences[MERGE_ROWS_MAX];
    int picks, values, builts;
};

bool pml_merge_output__wanted(const pml_merge_output *o, int32_t position)
{
    return o->wanted[position];
}

int pml_merge_output__pick(pml_merge_output *o, int32_t position, pml_row_ref ref)
{
    assert_int_equal(pml_builder__length(o->columns[position]), o->rows);
    o->picks++;
    if (ref.batch == PML_REF_NULL)
        return pml_builder__append_null(o->columns[position]);
    return pml_builder__append_item(o->columns[position], pml_merge_group__column(o->group, ref, position), ref.row);
}

int pml_merge_output__pick_row(pml_merge_output *o, pml_row_ref ref)
{
    for (size_t i = 0; i < o->n_fields; i++)
        if (o->wanted[i])
            PML_RETURN_IF(pml_merge_output__pick(o, (int32_t)i, ref));
    return PML_OK;
}

int pml_merge_output__value(pml_merge_output *o, int32_t position, const pml_value *v)
{
    assert_int_equal(pml_builder__length(o->columns[position]), o->rows);
    assert_int_not_equal(v->kind, PML_VALUE_NULL);
    o->values++;
    return pml_builder__append_value(o->columns[position], v);
}

pml_builder *pml_merge_output__builder(pml_merge_output *o, int32_t position)
{
    assert_int_equal(pml_builder__length(o->columns[position]), o->rows);
    return o->columns[position];
}

int pml_merge_output__built(pml_merge_output *o, int32_t position)
{
    assert_int_equal(pml_builder__length(o->columns[position]), o->rows + 1);
    o->builts++;
    return PML_OK;
}

int pml_merge_output__end_row(pml_merge_output *o, int8_t kind, int64_t sequence)
{
    for (size_t i = 0; i < o->n_fields; i++)
        if (o->wanted[i])
            assert_int_equal(pml_builder__length(o->columns[i]), o->rows + 1);
    assert_true(o->rows < MERGE_ROWS_MAX);
    o->kinds[o->rows] = kind;
    o->sequences[o->rows++] = sequence;
    return PML_OK;
}

/* ---- cases ---- */

typedef struct merge_row {
    char *key;
    pml_merge_row row;
} merge_row;

typedef struct merge_case {
    test_env *t;
    const char *name;
    json_t *json;
    pml_table_schema *schema;
    pml_field fields[MERGE_FIELDS_MAX];
    int32_t columns[MERGE_FIELDS_MAX]; /* of the table, by position */
    int32_t keys[MERGE_FIELDS_MAX], sequence[MERGE_FIELDS_MAX];
    pml_merge_layout layout;
    size_t n_batches;
    struct ArrowArray full[MERGE_ROWS_MAX], views[MERGE_ROWS_MAX];
    const struct ArrowArray *batches[MERGE_ROWS_MAX];
    struct ArrowArray *children[MERGE_ROWS_MAX][MERGE_FIELDS_MAX];
    merge_row rows[MERGE_ROWS_MAX];
    size_t n_rows;
    pml_merge_output out;
} merge_case;

static inline int8_t merge_kind(const char *text)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    for (int8_t i = 0; text != NULL && i < 4; i++)
        if (strcmp(text, kinds[i]) == 0)
            return i;
    return PML_ROW_INSERT;
}

static inline bool merge_wants(const merge_case *c, const char *column)
{
    const json_t *columns = json_object_get(c->json, "columns");
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (strcmp(json_string_value(json_array_get(columns, i)), column) == 0)
            return true;
    return columns == NULL;
}

static inline void merge_case_layout(merge_case *c, const bool *read)
{
    const pml_merge_options o = {c->schema, NULL, 0};
    pml_merge_layout *l = &c->layout;
    *l = (pml_merge_layout){.fields = c->fields, .keys = c->keys, .sequence = c->sequence};
    for (size_t i = 0; i < c->schema->n_fields; i++) {
        if (!read[i])
            continue;
        for (size_t k = 0; k < c->schema->n_primary_keys; k++)
            if (strcmp(c->schema->primary_keys[k], c->schema->fields[i].name) == 0)
                c->keys[l->n_keys++] = (int32_t)l->n_fields;
        const char *sequence = pml_merge_options__get(&o, "sequence.field");
        if (sequence != NULL && strcmp(sequence, c->schema->fields[i].name) == 0)
            c->sequence[l->n_sequence++] = (int32_t)l->n_fields;
        c->out.wanted[l->n_fields] = merge_wants(c, c->schema->fields[i].name);
        c->columns[l->n_fields] = (int32_t)i;
        c->fields[l->n_fields++] = c->schema->fields[i];
    }
    l->sequence_number = (int32_t)l->n_fields;
    c->fields[l->n_fields++] =
        (pml_field){.id = PML_ID_SEQUENCE, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}};
    l->row_kind = (int32_t)l->n_fields;
    c->fields[l->n_fields++] =
        (pml_field){.id = PML_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}};
    c->out.n_fields = l->n_fields - 2;
}

/* One round as a batch; the view has the layout's columns, without the two system columns, which functions do not look at. */
static inline void merge_case_round(merge_case *c, json_t *round, size_t at)
{
    pml_error err;
    pml_builder *b;
    pml_arena arena;
    pml_arena__init(&arena, c->t->env);
    const pml_type type = pml_layout__row(c->schema->fields, c->schema->n_fields);
    must_ok(pml_builder__new(&b, c->t->env, &type, &err), &err);
    for (size_t i = 0; i < json_array_size(round); i++)
        must_ok(pml_rows_value__append_row(b, &arena, c->schema->fields, c->schema->n_fields, json_array_get(round, i),
                                           true, &err),
                &err);
    must_ok(pml_builder__finish(b, &c->full[at], &err), &err);
    pml_builder__free(b);
    pml_arena__clear(&arena);
    for (size_t i = 0; i < c->out.n_fields; i++)
        c->children[at][i] = c->full[at].children[c->columns[i]];
    c->views[at] = (struct ArrowArray){
        .length = c->full[at].length, .n_children = (int64_t)c->out.n_fields, .children = c->children[at]};
    c->batches[at] = &c->views[at];
    for (size_t i = 0; i < json_array_size(round); i++) {
        pml_buf key;
        size_t len;
        pml_buf__init(&key, c->t->env, 1 << 20);
        for (size_t k = 0; k < c->layout.n_keys; k++)
            pml_row_text__append(&key, &c->fields[c->keys[k]].type, c->children[at][c->keys[k]], (int64_t)i);
        merge_row *row = &c->rows[c->n_rows++];
        row->key = (char *)pml_buf__take(&key, &len);
        row->row = (pml_merge_row){.ref = {(uint32_t)at, (uint32_t)i}, .sequence = (int64_t)at};
        row->row.kind = merge_kind(json_string_value(json_object_get(json_array_get(round, i), "_kind")));
    }
}

static inline merge_case *merge_case_open(test_env *t, json_t *json)
{
    pml_error err;
    merge_case *c = calloc(1, sizeof *c);
    bool read[MERGE_FIELDS_MAX] = {false};
    c->t = t;
    c->json = json;
    c->name = json_string_value(json_object_get(json, "name"));
    char *schema = json_dumps(json_object_get(json, "schema"), 0);
    must_ok(pml_table_schema__parse_request(&c->schema, t->env, test_text(schema), &err), &err);
    free(schema);
    for (size_t i = 0; i < c->schema->n_fields; i++)
        read[i] = merge_wants(c, c->schema->fields[i].name);
    if (pml_merge_engine__needs(read, t->env, c->schema, NULL, 0, &err) != PML_OK)
        memset(read, 1, sizeof read); /* the engine says the same */
    merge_case_layout(c, read);
    json_t *rounds = json_object_get(json, "rounds");
    c->n_batches = json_array_size(rounds);
    for (size_t i = 0; i < c->n_batches; i++)
        merge_case_round(c, json_array_get(rounds, i), i);
    return c;
}

static inline void merge_case_close(merge_case *c)
{
    for (size_t i = 0; i < c->n_rows; i++)
        pml_env__free(c->t->env, c->rows[i].key);
    for (size_t i = 0; i < c->n_batches; i++)
        pml_array__release(&c->full[i]);
    pml_table_schema__release(c->schema);
    free(c);
}

static const merge_case *merge_sorted; /* qsort has no context */

static inline int merge_row_order(const void *x, const void *y)
{
    const merge_row *a = x, *b = y;
    const merge_case *c = merge_sorted;
    int order = strcmp(a->key, b->key);
    for (size_t i = 0; i < c->layout.n_sequence && order == 0; i++) {
        int32_t at = c->sequence[i];
        order = pml_item__compare(&c->fields[at].type, (pml_item){c->children[a->row.ref.batch][at], a->row.ref.row},
                                  (pml_item){c->children[b->row.ref.batch][at], b->row.ref.row});
    }
    return order != 0 ? order : a->row.sequence < b->row.sequence ? -1 : a->row.sequence > b->row.sequence;
}

/* Decides all keys; the result stands in c->out. */
static inline int merge_case_decide(merge_case *c, pml_error *err)
{
    int rc = PML_OK;
    pml_merge_function f = {.drop = NULL};
    pml_merge_row group[MERGE_ROWS_MAX];
    for (size_t i = 0; i < c->out.n_fields; i++)
        PML_TRY(pml_builder__new(&c->out.columns[i], c->t->env, &c->fields[i].type, err));
    PML_TRY(pml_merge_engine__new(&f, c->t->env, &c->layout, c->schema, NULL, 0, err));
    merge_sorted = c;
    qsort(c->rows, c->n_rows, sizeof c->rows[0], merge_row_order);
    for (size_t i = 0, end; i < c->n_rows && rc == PML_OK; i = end) {
        for (end = i; end < c->n_rows && strcmp(c->rows[end].key, c->rows[i].key) == 0; end++)
            group[end - i] = c->rows[end].row;
        const pml_merge_group g = {.rows = group, .n = end - i, .batches = c->batches, .layout = &c->layout};
        c->out.group = &g;
        if (g.n > 1)
            PML_TRY(f.decide(f.self, &g, &c->out, err));
        else if (pml_merge_output__pick_row(&c->out, group[0].ref) != PML_OK)
            PML_TRY(pml_error__no_memory(err));
        else
            PML_TRY(pml_merge_output__end_row(&c->out, group[0].kind, group[0].sequence));
    }
out:
    if (f.drop != NULL)
        f.drop(f.self);
    return rc;
}

static inline void merge_case_forget(merge_case *c)
{
    for (size_t i = 0; i < c->out.n_fields; i++) {
        pml_builder__free(c->out.columns[i]);
        c->out.columns[i] = NULL;
    }
    c->out.rows = 0;
}

static inline int merge_line_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A negative zero, which jansson would read as the integer 0, becomes a text. */
static inline char *merge_keep_zeros(const char *line)
{
    char *out = calloc(strlen(line) + 1, 3);
    size_t n = 0;
    for (const char *p = line; *p != '\0'; p++) {
        bool zero =
            p[0] == '-' && p[1] == '0' && strchr(",]}", p[2]) != NULL && p > line && strchr(":,[", p[-1]) != NULL;
        n += (size_t)snprintf(out + n, 5, zero ? "\"-0\"" : "%c", *p);
        p += zero ? 1 : 0;
    }
    return out;
}

/* A line with its keys in order and arrays of the case's unordered columns sorted. */
static inline char *merge_normal(const merge_case *c, const char *line)
{
    char *kept = merge_keep_zeros(line);
    json_t *row = json_loads(kept, JSON_DECODE_ANY, NULL), *unordered = json_object_get(c->json, "unordered");
    free(kept);
    for (size_t i = 0; i < json_array_size(unordered); i++) {
        const char *name = json_string_value(json_array_get(unordered, i));
        json_t *array = json_object_get(row, name), *sorted = json_array();
        size_t n = json_array_size(array);
        char **texts = calloc(n + 1, sizeof *texts);
        if (!json_is_array(array)) {
            json_decref(sorted);
            free(texts);
            continue;
        }
        for (size_t k = 0; k < n; k++)
            texts[k] = json_dumps(json_array_get(array, k), JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT);
        qsort(texts, n, sizeof *texts, merge_line_order);
        for (size_t k = 0; k < n; k++) {
            json_array_append_new(sorted, json_string(texts[k]));
            free(texts[k]);
        }
        free(texts);
        json_object_set_new(row, name, sorted);
    }
    char *text = json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS); /* columns come in the order of the read */
    json_decref(row);
    return text;
}

/* The result as sorted normal lines, joined by line ends; retracts are left out. */
static inline char *merge_case_lines(merge_case *c)
{
    pml_error err;
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    struct ArrowArray columns[MERGE_FIELDS_MAX] = {{0}};
    char **lines = calloc((size_t)c->out.rows + 1, sizeof *lines);
    size_t n = 0, total = 1;
    for (size_t i = 0; i < c->out.n_fields; i++)
        if (c->out.wanted[i])
            must_ok(pml_builder__finish(c->out.columns[i], &columns[i], &err), &err);
    for (int64_t r = 0; r < c->out.rows; r++) {
        pml_buf b;
        size_t len;
        if (pml_row_kind__is_retract(c->out.kinds[r]))
            continue;
        pml_buf__init(&b, c->t->env, 1 << 28);
        pml_buf__append_format(&b, "{\"_kind\":\"%s\"", kinds[c->out.kinds[r]]);
        for (size_t i = 0; i < c->out.n_fields; i++) {
            if (!c->out.wanted[i])
                continue;
            pml_buf__append_format(&b, ",\"%s\":", c->fields[i].name);
            pml_row_text__append(&b, &c->fields[i].type, &columns[i], r);
        }
        pml_buf__append_str(&b, "}");
        char *line = (char *)pml_buf__take(&b, &len);
        lines[n] = merge_normal(c, line);
        total += strlen(lines[n++]) + 1;
        pml_env__free(c->t->env, line);
    }
    qsort(lines, n, sizeof *lines, merge_line_order);
    char *all = calloc(1, total);
    for (size_t i = 0, at = 0; i < n; i++) {
        at += (size_t)snprintf(all + at, total - at, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    for (size_t i = 0; i < c->out.n_fields; i++)
        pml_array__release(&columns[i]);
    return all;
}

static inline char *merge_case_expected(const merge_case *c)
{
    json_t *expected = json_object_get(c->json, "expected");
    size_t n = json_array_size(expected), total = 1;
    char **lines = calloc(n + 1, sizeof *lines);
    for (size_t i = 0; i < n; i++) {
        lines[i] = merge_normal(c, json_string_value(json_array_get(expected, i)));
        total += strlen(lines[i]) + 1;
    }
    qsort(lines, n, sizeof *lines, merge_line_order);
    char *all = calloc(1, total);
    for (size_t i = 0, at = 0; i < n; i++) {
        at += (size_t)snprintf(all + at, total - at, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    return all;
}

/* Runs a case; false, with the difference printed, when the result is another. */
static inline bool merge_case_passes(test_env *t, json_t *json)
{
    pml_error err = {0};
    merge_case *c = merge_case_open(t, json);
    int rc = merge_case_decide(c, &err);
    bool must_fail = json_is_true(json_object_get(json, "error")), passes = must_fail == (rc != PML_OK);
    if (!passes)
        (void)fprintf(stderr, "%s: %s\n", c->name, rc == PML_OK ? "Java fails, we do not" : err.message);
    if (rc == PML_OK && !must_fail) {
        char *lines = merge_case_lines(c), *expected = merge_case_expected(c);
        passes = strcmp(lines, expected) == 0;
        if (!passes)
            (void)fprintf(stderr, "%s gives\n%swhere Java gives\n%s", c->name, lines, expected);
        free(lines);
        free(expected);
    }
    merge_case_forget(c);
    merge_case_close(c);
    return passes;
}

/* The n-th allocation fails, for every n: no memory is all that may be said, and nothing stays behind. */
static inline void merge_case_survives(test_env *t, json_t *json)
{
    merge_case *c = merge_case_open(t, json);
    bool must_fail = json_is_true(json_object_get(json, "error"));
    for (long long i = 1;; i++) {
        pml_error err = {0};
        test_env_fail_at(t, i);
        int rc = merge_case_decide(c, &err);
        bool reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        merge_case_forget(c);
        if (reached && rc != PML_E_NOMEM)
            fail_msg("%s: allocation %lld failed, and the result was %d: %s", c->name, i, rc, err.message);
        if (!reached) {
            assert_int_equal(rc != PML_OK, must_fail);
            break;
        }
        assert_true(strlen(err.message) > 0);
    }
    merge_case_close(c);
}

/* All cases of a file, with every stride-th through the loop of failing allocations. */
static inline void merge_cases_run(test_env *t, const char *path, size_t stride)
{
    pml_bytes file = test_data(path);
    json_error_t wrong;
    json_t *cases = json_loadb((const char *)file.ptr, file.len, JSON_ALLOW_NUL, &wrong);
    size_t failed = 0;
    if (cases == NULL)
        fail_msg("%s, line %d: %s", path, wrong.line, wrong.text);
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        failed += merge_case_passes(t, json_array_get(cases, i)) ? 0 : 1;
        if (i % stride == 0)
            merge_case_survives(t, json_array_get(cases, i));
    }
    if (failed > 0)
        fail_msg("%zu of %zu cases of %s differ", failed, json_array_size(cases), path);
    json_decref(cases);
    free((void *)(uintptr_t)file.ptr);
}

/* For cmocka_unit_test_setup_teardown: *state is a fresh environment. */
static inline int merge_test_open(void **state)
{
    *state = test_env_open(NULL);
    return 0;
}

static inline int merge_test_close(void **state)
{
    test_env_close(*state);
    return 0;
}

/* A file of more cases (CASES=path, relative to the tests), as tests/merge/make-cases makes them; none is fine. */
static inline void merge_cases_given_by_hand(void **state)
{
    const char *path = getenv("CASES");
    if (path != NULL)
        merge_cases_run(*state, path, 1000);
}

#endif
