/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicates as trees (of any shape, also of wrong ones): what copying accepts gives one answer over a batch, over its rows one by
 * one, and never less over its statistics.
 */
#include "columnar/batch.h"
#include "columnar/predicate.h"
#include "columnar/value_store.h"
#include "fuzz.h"
#include "support/random_batch.h"

FUZZ_MEMORY(16 * MIB);

enum { COLUMNS = 23, ATOMIC = 17, ROWS = 48, DEPTH_MAX = 70, NODES_MAX = 400 };

static struct {
    pml_arena arena;
    pml_field *fields;
    struct ArrowArray batch;
    pml_stats_collector *collector;
    pml_column_stats stats[COLUMNS];
} world;

static void world_drop(void)
{
    world.batch.release(&world.batch);
    pml_stats__free(world.collector);
    pml_arena__clear(&world.arena);
}

static void world_make(void)
{
    test_env *t = fuzz_env();
    pml_error err = PML_ERROR_INIT;
    t->random_state = 7;
    pml_arena__init(&world.arena, t->env);
    world.fields = random_fields(t, &world.arena, COLUMNS, 1, true);
    random_batch(&world.batch, t, world.fields, COLUMNS, ROWS);
    must_ok(pml_stats__new(&world.collector, t->env, world.fields, COLUMNS, &err), &err);
    must_ok(pml_stats__update(world.collector, &world.batch, &err), &err);
    for (size_t i = 0; i < COLUMNS; i++)
        pml_stats__get(&world.stats[i], world.collector, i);
    (void)atexit(world_drop);
}

/* Mostly of the column's kind, from the batch or made of the input's bytes. */
static pml_value literal(fuzz_input *in, pml_arena *arena, const pml_field *f, size_t column)
{
    pml_value v = {.kind = PML_VALUE_NULL};
    uint8_t how = fuzz_u8(in);
    if (how % 8 == 0)
        return v;
    if (how % 8 < 4 && column < ATOMIC && !pml_type__is_nested(&f->type)) {
        const struct ArrowArray *a = world.batch.children[column];
        int64_t row = world.batch.offset + how / 8 % ROWS;
        if (a->buffers[0] == NULL || pml_bit_get(a->buffers[0], a->offset + row))
            pml_value__get(&v, &f->type, a, row);
        return v;
    }
    v.kind = how % 8 == 7 ? (pml_value_kind)(how / 8 % 8) : pml_value__kind_of(&f->type);
    if (v.kind == PML_VALUE_BYTES) {
        pml_bytes b = fuzz_bytes(in);
        v.bytes = (pml_bytes){pml_arena__copy(arena, b.ptr, b.len), b.len};
    } else if (v.kind == PML_VALUE_DECIMAL) {
        v.dec = (pml_int128)(((unsigned __int128)fuzz_u64(in) << 64) | fuzz_u64(in));
    } else {
        v.i = (int64_t)fuzz_u64(in);
        if (v.kind == PML_VALUE_TIMESTAMP)
            v.ts.nanos = (int32_t)fuzz_u32(in);
        if (v.kind == PML_VALUE_BOOL)
            v.i &= 1;
    }
    return v;
}

static pml_pred *tree(fuzz_input *in, pml_arena *arena, int depth, int *nodes)
{
    pml_pred *p = pml_arena__alloc(arena, sizeof *p);
    FUZZ_CHECK(p != NULL, "no memory");
    uint8_t shape = fuzz_u8(in);
    ++*nodes;
    p->op = (pml_pred_op)(shape % 18);
    if (p->op == PML_PRED_AND || p->op == PML_PRED_OR) {
        p->n_children = depth < DEPTH_MAX && *nodes < NODES_MAX ? fuzz_u8(in) % 4 : 0;
        p->children = pml_arena__array(arena, 4, sizeof *p->children);
        for (size_t i = 0; i < p->n_children; i++)
            p->children[i] = tree(in, arena, depth + 1, nodes);
        return p;
    }
    size_t column = fuzz_u8(in) % COLUMNS;
    const pml_field *f = &world.fields[column];
    p->field_id = shape >= 250 ? 999 : f->id;
    p->type = shape == 249 ? NULL : &f->type;
    p->name = f->name;
    p->n_literals = shape >= 126 ? fuzz_u8(in) % 12 : p->op == PML_PRED_IS_NULL || p->op == PML_PRED_IS_NOT_NULL ? 0 : 1;
    p->literals = pml_arena__array(arena, 12, sizeof *p->literals);
    for (size_t i = 0; i < p->n_literals; i++)
        p->literals[i] = literal(in, arena, f, column);
    return p;
}

static void row_values(pml_value *values, int32_t *ids, int64_t row)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct ArrowArray *a = world.batch.children[i];
        int64_t at = world.batch.offset + row;
        bool null = a->buffers[0] != NULL && !pml_bit_get(a->buffers[0], a->offset + at);
        ids[i] = world.fields[i].id;
        values[i] = (pml_value){.kind = null ? PML_VALUE_NULL : PML_VALUE_INT};
        if (i < ATOMIC)
            pml_value__get(&values[i], &world.fields[i].type, a, at);
    }
}

static void answers_agree(const pml_pred *p)
{
    uint8_t keep[ROWS];
    pml_error err = PML_ERROR_INIT;
    pml_value values[COLUMNS];
    int32_t ids[COLUMNS];
    bool any = false;
    int rc = pml_pred__eval(keep, p, fuzz_env()->env, &world.batch, world.fields, COLUMNS, &err);
    fuzz_must_be_answer(rc, &err);
    bool may = pml_pred__may_match(p, world.stats, COLUMNS, ROWS);
    if (rc != PML_OK)
        return; /* a column that the batch lacks */
    for (int64_t i = 0; i < ROWS; i++) {
        row_values(values, ids, i);
        FUZZ_CHECK(keep[i] == pml_pred__test_values(p, ids, values, COLUMNS), "row %lld has two answers", (long long)i);
        any = any || keep[i] != 0;
    }
    FUZZ_CHECK(may || !any, "the statistics lose rows");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_arena arena;
    pml_pred *copy, *part;
    int nodes = 0;
    if (world.fields == NULL)
        world_make();
    fuzz_begin();
    pml_arena__init(&arena, fuzz_env()->env);
    const pml_pred *p = tree(&in, &arena, 0, &nodes);
    int rc = pml_pred__copy(&copy, &arena, p);
    FUZZ_CHECK(rc == PML_OK || rc == PML_E_INVAL || rc == PML_E_LIMIT, "copying gave %d", rc);
    if (rc == PML_OK) {
        answers_agree(copy);
        const int32_t ids[] = {world.fields[1].id, world.fields[5].id};
        must_ok(pml_pred__project(&part, &arena, copy, ids, 2), NULL);
    }
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
