/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a container, one after the other, decoded by the program of its schema. */
#include "format/avro.h"

#include <assert.h>

#include "format/avro_container.h"
#include "format/avro_decode.h"

enum {
    AVRO_FRAMES_MAX = PML_AVRO_DEPTH_MAX + 2,
    AVRO_SLOTS_MAX = 1024 * 1024 /* values of one record: 48 MB; tables have at most 16384 columns */
};

/* An open record or array loop. */
typedef struct avro_frame {
    pml_avro_value *base;  /* of the surrounding level */
    pml_avro_value *items; /* ARRAY: all slots */
    size_t n, cap, done;   /* ARRAY: items announced so far, room for them, and decoded */
    uint64_t left;         /* SKIP_ITEMS: items left of the block */
} avro_frame;

struct pml_avro_reader {
    pml_env *env;
    const char *name;
    pml_arena fixed, record; /* for the life of the reader; for one record */
    pml_avro_program program;
    size_t n_fields;
    pml_avro_container file;
    size_t n_slots; /* taken by the open record */
};

int pml_avro_reader__new(pml_avro_reader **out, pml_env *env, pml_bytes data, const char *name,
                         const pml_avro_field *fields, size_t n_fields, pml_error *err)
{
    int rc;
    pml_bytes schema = {0};
    *out = NULL;
    pml_avro_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    r->env = env;
    r->name = name;
    r->n_fields = n_fields;
    pml_arena__init(&r->fixed, env);
    pml_arena__init(&r->record, env);
    PML_TRY(pml_avro_container__open(&r->file, env, data, NULL, name, PML_AVRO_HEADER_MAX, &schema, err));
    PML_TRY(pml_avro_program__compile(&r->program, &r->fixed, schema, name, fields, n_fields, err));
    *out = r;
    r = NULL;
out:
    pml_avro_reader__free(r);
    return rc;
}

void pml_avro_reader__free(pml_avro_reader *r)
{
    if (r == NULL)
        return;
    pml_avro_container__close(&r->file);
    pml_arena__clear(&r->record);
    pml_arena__clear(&r->fixed);
    pml_env__free(r->env, r);
}

/* ---- the program ---- */

typedef struct avro_run {
    const uint8_t *p, *end;
    pml_avro_value *base;
    size_t depth;
    avro_frame frames[AVRO_FRAMES_MAX];
} avro_run;

static int run_truncated(const pml_avro_reader *r, const pml_avro_op *op, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name,
                         "%s is damaged: the value of field %s is cut or out of range", r->name,
                         op->name == NULL ? "(skipped)" : op->name);
}

static inline bool run_scalar(const pml_avro_op *op, avro_run *run)
{
    pml_avro_value *v = &run->base[op->slot];
    switch (op->code) {
    case PML_AVRO_OP_INT:
        if (!pml_avro__get_long(&v->i, &run->p, run->end) || v->i != (int32_t)v->i)
            return false;
        v->present = true;
        return true;
    case PML_AVRO_OP_LONG: v->present = true; return pml_avro__get_long(&v->i, &run->p, run->end);
    case PML_AVRO_OP_BOOLEAN:
        if (run->p == run->end || *run->p > 1)
            return false;
        v->present = true;
        v->i = *run->p++;
        return true;
    case PML_AVRO_OP_BYTES: v->present = true; return pml_avro__get_bytes(&v->bytes, &run->p, run->end);
    case PML_AVRO_OP_SKIP_VARINT:
    case PML_AVRO_OP_SKIP_BYTES:
    case PML_AVRO_OP_SKIP_FIXED: return pml_avro__skip(op, &run->p, run->end);
    default: return false;
    }
}

static int slots_take(pml_avro_reader *r, const pml_avro_op *op, uint64_t n, pml_error *err)
{
    if (n > AVRO_SLOTS_MAX - r->n_slots)
        return pml_error__at(err, PML_E_LIMIT, PML_PLACE_FILE, r->name,
                             "a record of %s has more than %d values, counted at field %s", r->name, AVRO_SLOTS_MAX,
                             op->name);
    r->n_slots += (size_t)n;
    return PML_OK;
}

/* Reads the head of the next block of items and makes room for them; the array is complete when none were added. */
static int array_block(pml_avro_reader *r, const pml_avro_op *head, avro_run *run, avro_frame *f, pml_error *err)
{
    uint64_t count;
    int64_t size;
    if (!pml_avro__get_items(&count, &size, &run->p, run->end) || count > (uint64_t)(run->end - run->p) / head->n)
        return run_truncated(r, head, err);
    PML_RETURN_IF(slots_take(r, head, count, err));
    if (f->n + (size_t)count > f->cap) {
        /* Doubling, so that an array of many small blocks costs no more than one of a single block. */
        size_t cap = f->n + (size_t)count > f->cap * 2 ? f->n + (size_t)count : f->cap * 2;
        pml_avro_value *items = pml_arena__array(&r->record, cap, sizeof *items);
        if (items == NULL)
            return pml_error__no_memory(err);
        if (f->n > 0)
            memcpy(items, f->items, f->n * sizeof *items);
        f->items = items;
        f->cap = cap;
    }
    f->n += (size_t)count;
    return PML_OK;
}

/* One turn of the loop of a wanted array: moves the base to the next item, or closes the array. */
static int array_turn(pml_avro_reader *r, const pml_avro_op *head, avro_run *run, bool *enter, pml_error *err)
{
    assert(run->depth > 0); /* the program enters each array before it turns in it */
    avro_frame *f = &run->frames[run->depth - 1];
    if (f->done == f->n)
        PML_RETURN_IF(array_block(r, head, run, f, err));
    *enter = f->done < f->n;
    if (*enter) {
        run->base = &f->items[f->done++];
        return PML_OK;
    }
    run->base = f->base;
    run->depth--;
    run->base[head->slot] = (pml_avro_value){.present = true, .n = f->n, .items = f->items};
    return PML_OK;
}

static int skip_turn(const pml_avro_reader *r, const pml_avro_op *head, avro_run *run, bool *enter, pml_error *err)
{
    if (!pml_avro__skip_turn(enter, &run->frames[run->depth - 1].left, head, &run->p, run->end))
        return run_truncated(r, head, err);
    if (!*enter)
        run->depth--;
    return PML_OK;
}

static int union_branch(const pml_avro_reader *r, const pml_avro_op *op, avro_run *run, bool *is_null, pml_error *err)
{
    int64_t branch;
    if (!pml_avro__get_long(&branch, &run->p, run->end) || branch < 0 || branch >= (int64_t)op->n)
        return run_truncated(r, op, err);
    *is_null = branch == op->null_branch;
    if (*is_null && !op->null_allowed)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name,
                             "field %s of %s is null, which it must not be", op->name, r->name);
    return PML_OK;
}

static void run_push(avro_run *run)
{
    assert(run->depth < AVRO_FRAMES_MAX); /* the compiler bounds the nesting */
    run->frames[run->depth++] = (avro_frame){.base = run->base};
}

static int run_record_begin(pml_avro_reader *r, const pml_avro_op *op, avro_run *run, pml_error *err)
{
    PML_RETURN_IF(slots_take(r, op, op->n, err));
    pml_avro_value *slots = pml_arena__array(&r->record, op->n, sizeof *slots);
    if (slots == NULL)
        return pml_error__no_memory(err);
    run->base[op->slot] = (pml_avro_value){.present = true, .n = op->n, .items = slots};
    run_push(run);
    run->base = slots;
    return PML_OK;
}

static int run_program(pml_avro_reader *r, avro_run *run, pml_error *err)
{
    const pml_avro_op *ops = r->program.ops;
    size_t pc = 0;
    bool flag = false;
    while (ops[pc].code != PML_AVRO_OP_END) {
        const pml_avro_op *op = &ops[pc];
        switch (op->code) {
        case PML_AVRO_OP_UNION:
            PML_RETURN_IF(union_branch(r, op, run, &flag, err));
            pc = flag ? op->target : pc + 1;
            break;
        case PML_AVRO_OP_RECORD:
            PML_RETURN_IF(run_record_begin(r, op, run, err));
            pc++;
            break;
        case PML_AVRO_OP_RECORD_END:
            assert(run->depth > 0);
            run->base = run->frames[--run->depth].base;
            pc++;
            break;
        case PML_AVRO_OP_ARRAY:
            run_push(run);
            PML_RETURN_IF(array_turn(r, op, run, &flag, err));
            pc = flag ? pc + 1 : op->target;
            break;
        case PML_AVRO_OP_ARRAY_NEXT:
            PML_RETURN_IF(array_turn(r, &ops[op->target - 1], run, &flag, err));
            pc = flag ? op->target : pc + 1;
            break;
        case PML_AVRO_OP_SKIP_ITEMS:
            run_push(run);
            PML_RETURN_IF(skip_turn(r, op, run, &flag, err));
            pc = flag ? pc + 1 : op->target;
            break;
        case PML_AVRO_OP_SKIP_NEXT:
            PML_RETURN_IF(skip_turn(r, &ops[op->target - 1], run, &flag, err));
            pc = flag ? op->target : pc + 1;
            break;
        default:
            if (!run_scalar(op, run))
                return run_truncated(r, op, err);
            pc++;
            break;
        }
    }
    return PML_OK;
}

int pml_avro_reader__next(bool *more, pml_avro_value *values, pml_avro_reader *r, pml_error *err)
{
    *more = false;
    memset(values, 0, r->n_fields * sizeof *values);
    pml_arena__reset(&r->record);
    r->n_slots = 0;
    if (r->file.records_left == 0)
        PML_RETURN_IF(pml_avro_container__next(&r->file, r->program.record_size_min, err));
    if (r->file.records_left == 0)
        return PML_OK;
    avro_run run;
    run.p = r->file.p;
    run.end = r->file.p_end;
    run.base = values;
    run.depth = 0;
    PML_RETURN_IF(run_program(r, &run, err));
    r->file.p = run.p;
    PML_RETURN_IF(pml_avro_container__end_records(&r->file, 1, err));
    *more = true;
    return PML_OK;
}
