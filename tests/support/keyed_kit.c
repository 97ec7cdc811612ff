/* SPDX-License-Identifier: Apache-2.0 */
#include "support/keyed_kit.h"

#include <stdio.h>
#include <stdlib.h>

#include "columnar/array_memory.h"
#include "support/rows_kit.h"
#include "table/read_merge.h"
#include "util/number.h"

static const char *const kind_texts[] = {"+I", "-U", "+U", "-D"};

void keyed_create(table_kit *k, test_env *t, const char *path, bool partitioned, const char *options)
{
    char json[1500];
    (void)snprintf(json, sizeof json,
                   "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"INT NOT NULL\"},"
                   "{\"name\":\"n\",\"type\":\"INT\"},{\"name\":\"s\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"},"
                   "{\"name\":\"k\",\"type\":\"STRING\"}],\"partitionKeys\":[%s],\"primaryKeys\":[%s\"id\"],\"comment\":\"\","
                   "\"options\":{\"file.compression\":\"none\"%s%s}}",
                   partitioned ? "\"p\"" : "", partitioned ? "\"p\"," : "", options[0] == '\0' ? "" : ",", options);
    table_kit_create(k, t, path, json);
}

/* ---- batches ---- */

static void append_number(pml_builder *b, int64_t v)
{
    const pml_value value = {.kind = v == KEYED_NULL ? PML_VALUE_NULL : PML_VALUE_INT, .i = v};
    must_ok(pml_builder__append_value(b, &value), NULL);
}

static void append_text(pml_builder *b, const char *text)
{
    must_ok(pml_builder__append_value(b, &(pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)text, strlen(text)}}), NULL);
}

static void append_row(pml_builder *b, const keyed_row *r, int with_kinds)
{
    const int64_t numbers[] = {r->id, r->p, r->n, r->s};
    char text[32];
    for (size_t i = 0; i < 4; i++)
        append_number(pml_builder__child(b, i), numbers[i]);
    (void)snprintf(text, sizeof text, "v%lld", (long long)r->v);
    if (r->v == KEYED_NULL)
        append_number(pml_builder__child(b, 4), KEYED_NULL);
    else
        append_text(pml_builder__child(b, 4), text);
    append_text(pml_builder__child(b, 5), kind_texts[r->kind & 3]);
    if (with_kinds)
        append_number(pml_builder__child(b, 6), r->kind);
    must_ok(pml_builder__close_item(b), NULL);
}

/* The table's columns, and one more. */
static void columns_of(pml_field out[7], const table_kit *k)
{
    assert_int_equal(k->n_fields, 6);
    memcpy(out, k->fields, 6 * sizeof *out);
    out[6] = pml_field_value_kind;
}

void keyed_batch(struct ArrowArray *out, table_kit *k, const keyed_row *rows, size_t n, int with_kinds)
{
    pml_field fields[7];
    pml_builder *b;
    columns_of(fields, k);
    const pml_type row = pml_layout__row(fields, with_kinds ? 7 : 6);
    must_ok(pml_builder__new(&b, k->t->env, &row, NULL), NULL);
    for (size_t i = 0; i < n; i++)
        append_row(b, &rows[i], with_kinds);
    must_ok(pml_builder__finish(b, out, NULL), NULL);
    pml_builder__free(b);
}

void keyed_schema(struct ArrowSchema *out, table_kit *k, int with_kinds)
{
    pml_field fields[7];
    columns_of(fields, k);
    must_ok(pml_type__export(out, k->t->env, fields, with_kinds ? 7 : 6, NULL), NULL);
}

int keyed_write(table_kit *k, pml_writer *w, const keyed_row *rows, size_t n, int with_kinds, pml_error *err)
{
    struct ArrowArray batch, same;
    struct ArrowSchema schema;
    pml_field fields[7];
    long long fail_at = k->t->fail_at, count = atomic_load(&k->t->count);
    k->t->fail_at = 0; /* not while the input is made */
    columns_of(fields, k);
    keyed_batch(&batch, k, rows, n, with_kinds);
    keyed_batch(&same, k, rows, n, with_kinds);
    keyed_schema(&schema, k, with_kinds);
    atomic_store(&k->t->count, count);
    k->t->fail_at = fail_at;
    int rc = pml_writer_write(w, &batch, &schema, err);
    assert_true((rc == PML_OK) == (batch.release == NULL));
    if (rc != PML_OK) {
        assert_int_equal(batch.length, n);
        assert_int_equal(batch.n_children, with_kinds ? 7 : 6);
        for (size_t i = 0; i < n; i++)
            assert_true(batch_rows_equal(&batch, (int64_t)i, &same, (int64_t)i, fields, (size_t)batch.n_children));
    }
    pml_array__release(&batch);
    pml_array__release(&same);
    pml_schema__release(&schema);
    return rc;
}

void keyed_upsert(table_kit *k, const keyed_row *rows, size_t n)
{
    pml_writer *w;
    pml_messages *m;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(keyed_write(k, w, rows, n, KEYED_WITH_KINDS, &err), &err);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    pml_writer_close(w);
    (void)table_kit_commit(k, m);
}

static int64_t number_or_null(test_env *t, uint64_t n)
{
    return test_random(t) % 4 == 0 ? KEYED_NULL : (int64_t)(test_random(t) % n);
}

void keyed_random(keyed_row *rows, size_t n, test_env *t, int64_t n_ids, int deletes)
{
    for (size_t i = 0; i < n; i++) {
        bool deleted = (int)(test_random(t) % 100) < deletes;
        int8_t kind = (int8_t)(test_random(t) % 2);
        rows[i] = (keyed_row){.id = (int64_t)(test_random(t) % (uint64_t)n_ids) - n_ids / 3,
                              .p = (int64_t)(test_random(t) % 2),
                              .n = number_or_null(t, 100),
                              .s = number_or_null(t, 5),
                              .v = number_or_null(t, 100000),
                              .kind = (int8_t)(deleted ? 2 * kind + 1 : 2 * kind)};
    }
}

/* ---- the model ---- */

keyed_model keyed_model_new(keyed_rule rule, bool partitioned)
{
    keyed_model m = {rule, partitioned, 0, calloc(KEYED_ROWS_MAX, sizeof *m.rows)};
    assert_non_null(m.rows);
    return m;
}

void keyed_model_free(keyed_model *m)
{
    free(m->rows);
    m->rows = NULL;
}

static bool replaces(const keyed_model *m, const keyed_row *new, const keyed_row *old)
{
    if (m->rule == KEYED_FIRST)
        return false;
    if (m->rule == KEYED_LAST || new->s == old->s)
        return true;
    if (m->rule == KEYED_SEQUENCE || new->s == KEYED_NULL || old->s == KEYED_NULL)
        return new->s > old->s; /* null is the smallest number */
    return new->s < old->s;
}

void keyed_model_apply(keyed_model *m, const keyed_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < m->n && (m->rows[at].id != rows[i].id || (m->partitioned && m->rows[at].p != rows[i].p)))
            at++;
        assert_true(at < KEYED_ROWS_MAX);
        if (at == m->n || replaces(m, &rows[i], &m->rows[at]))
            m->rows[at] = rows[i];
        m->n += at == m->n;
    }
}

/* ---- reading ---- */

static int64_t number_at(const struct ArrowArray *a, const pml_type *type, int64_t row)
{
    pml_value v;
    int64_t n;
    if (pml_array__is_null(a, row))
        return KEYED_NULL;
    pml_value__get(&v, type, a, row);
    if (v.kind != PML_VALUE_BYTES)
        return v.i;
    assert_true(v.bytes.len > 1 && v.bytes.ptr[0] == 'v');
    assert_true(pml_number__int64(&n, (const char *)v.bytes.ptr + 1, v.bytes.len - 1));
    return n;
}

static int by_key(const void *pa, const void *pb)
{
    const keyed_row *a = pa, *b = pb;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

size_t keyed_read(keyed_row **out, table_kit *k)
{
    pml_plan *plan;
    struct ArrowArray batch = {0};
    pml_error err = PML_ERROR_INIT;
    int64_t counted;
    size_t n = 0;
    keyed_row *rows = NULL;
    kit_plan(&plan, k, &(kit_read){0});
    must_ok(pml_plan_count(&counted, plan, &err), &err);
    assert_in_range(counted, 0, KEYED_ROWS_MAX);
    rows = calloc((size_t)counted + 1, sizeof *rows);
    assert_non_null(rows);
    struct ArrowArrayStream stream = rows_open(plan);
    while (rows_next(&stream, &batch)) {
        for (int64_t i = 0; i < batch.length; i++) {
            int64_t v[5];
            assert_true(n < (size_t)counted);
            for (size_t c = 0; c < 5; c++)
                v[c] = number_at(batch.children[c], &k->fields[c].type, i);
            rows[n++] = (keyed_row){.id = v[0], .p = v[1], .n = v[2], .s = v[3], .v = v[4]};
        }
    }
    assert_int_equal(n, counted);
    qsort(rows, n, sizeof *rows, by_key);
    *out = rows;
    return n;
}

void keyed_must_hold(table_kit *k, const keyed_model *m)
{
    keyed_row *found, *wanted = calloc(m->n + 1, sizeof *wanted);
    size_t n = keyed_read(&found, k), n_wanted = 0;
    assert_non_null(wanted);
    for (size_t i = 0; i < m->n; i++)
        if (!pml_row_kind__is_retract(m->rows[i].kind)) {
            wanted[n_wanted] = m->rows[i];
            wanted[n_wanted++].kind = 0;
        }
    qsort(wanted, n_wanted, sizeof *wanted, by_key);
    for (size_t i = 0; i < n && i < n_wanted; i++) {
        const keyed_row *a = &found[i], *b = &wanted[i];
        if (a->id != b->id || a->p != b->p || a->n != b->n || a->s != b->s || a->v != b->v)
            fail_msg("row %zu: %lld/%lld n %lld s %lld v %lld, wanted %lld/%lld n %lld s %lld v %lld", i, (long long)a->p,
                     (long long)a->id, (long long)a->n, (long long)a->s, (long long)a->v, (long long)b->p, (long long)b->id,
                     (long long)b->n, (long long)b->s, (long long)b->v);
    }
    assert_int_equal(n, n_wanted);
    free(found);
    free(wanted);
}
