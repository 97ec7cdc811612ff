/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container reading and the loop that runs the program of a schema.
 *
 *   header   "Obj" 01 | map of string to bytes (avro.schema, avro.codec) | 16 bytes of sync marker
 *   block    long count | long size | size bytes, packed by the codec | the same 16 bytes
 *
 * Nothing here trusts a number of the file: counts are compared with the bytes that are left (each record and item takes at
 * least one byte, avro_schema.c sees to that), and plain sizes with a budget that grows with the bytes of the file, so that a
 * small file cannot ask for hours or gigabytes.
 */
#include "format/avro.h"

#include <assert.h>

#include "format/avro_codec.h"
#include "format/avro_schema.h"

enum {
    AVRO_SYNC_SIZE = 16,
    AVRO_FRAMES_MAX = PML_AVRO_DEPTH_MAX + 2,
    AVRO_SLOTS_MAX = 1024 * 1024, /* values of one record: 48 MB; tables have at most 16384 columns */
    /* Plain bytes of a file: 16 MiB and 1024 for each packed byte. Statistics of wide tables pack about 400 to 1. */
    AVRO_PLAIN_FREE = 16 * 1024 * 1024,
    AVRO_PLAIN_RATIO = 1024
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
    pml_avro_codec codec;
    size_t n_fields;
    uint8_t sync[AVRO_SYNC_SIZE];
    const uint8_t *pos, *end; /* of the file */
    const uint8_t *p, *p_end; /* of the open block, plain */
    uint64_t records_left;    /* in the open block */
    pml_buf block;
    uint64_t plain_total, packed_total;
    size_t n_slots; /* taken by the open record */
};

static int reader_corrupt(const pml_avro_reader *r, pml_error *err, const char *what)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name, "%s is damaged: %s at byte %zu from the end",
                         r->name, what, (size_t)(r->end - r->pos));
}

static inline bool varint_get(int64_t *out, const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
            return true;
        }
    }
    return false;
}

static inline bool bytes_get(pml_bytes *out, const uint8_t **p, const uint8_t *end)
{
    int64_t n;
    if (!varint_get(&n, p, end) || n < 0 || n > end - *p)
        return false;
    *out = (pml_bytes){*p, (size_t)n};
    *p += n;
    return true;
}

/* The count of a block of array or map items; a negative one is followed by the size in bytes. */
static bool items_get(uint64_t *count, int64_t *size, const uint8_t **p, const uint8_t *end)
{
    int64_t n;
    *size = -1;
    if (!varint_get(&n, p, end))
        return false;
    if (n < 0 && (!varint_get(size, p, end) || *size < 0 || *size > end - *p))
        return false;
    *count = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    return true;
}

/* ---- header ---- */

static int header_read(pml_avro_reader *r, pml_bytes *schema, pml_bytes *codec, pml_error *err)
{
    static const uint8_t magic[4] = {'O', 'b', 'j', 1};
    if (r->end - r->pos < (ptrdiff_t)sizeof magic || memcmp(r->pos, magic, sizeof magic) != 0)
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->name, "%s is not an Avro file", r->name);
    const uint8_t *p = r->pos + sizeof magic;
    const uint8_t *end = r->end - p > PML_AVRO_HEADER_MAX ? p + PML_AVRO_HEADER_MAX : r->end;
    for (;;) {
        uint64_t count;
        int64_t size;
        if (!items_get(&count, &size, &p, end) || count > (uint64_t)(end - p))
            return reader_corrupt(r, err, "the header is cut, or larger than its limit");
        if (count == 0)
            break;
        while (count-- > 0) {
            pml_bytes key, value;
            if (!bytes_get(&key, &p, end) || !bytes_get(&value, &p, end))
                return reader_corrupt(r, err, "the header is cut, or larger than its limit");
            if (key.len == 11 && memcmp(key.ptr, "avro.schema", 11) == 0)
                *schema = value;
            if (key.len == 10 && memcmp(key.ptr, "avro.codec", 10) == 0)
                *codec = value;
        }
    }
    if (schema->ptr == NULL)
        return reader_corrupt(r, err, "the header has no avro.schema");
    if (r->end - p < AVRO_SYNC_SIZE)
        return reader_corrupt(r, err, "the header is cut");
    memcpy(r->sync, p, AVRO_SYNC_SIZE);
    r->pos = p + AVRO_SYNC_SIZE;
    return PML_OK;
}

int pml_avro_reader__new(pml_avro_reader **out, pml_env *env, pml_bytes data, const char *name,
                         const pml_avro_field *fields, size_t n_fields, pml_error *err)
{
    int rc;
    pml_bytes schema = {0}, codec = {(const uint8_t *)"null", 4};
    *out = NULL;
    pml_avro_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    r->env = env;
    r->name = name;
    r->n_fields = n_fields;
    r->pos = data.ptr;
    r->end = data.ptr + data.len;
    pml_arena__init(&r->fixed, env);
    pml_arena__init(&r->record, env);
    /* deflate looks one byte past its limit */
    pml_buf__init(&r->block, env, (size_t)PML_AVRO_BLOCK_MAX + 1);
    PML_TRY(header_read(r, &schema, &codec, err));
    PML_TRY(pml_avro_program__compile(&r->program, &r->fixed, schema, name, fields, n_fields, err));
    PML_TRY(pml_avro_codec__init(&r->codec, env, codec, 0, false, name, err));
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
    pml_avro_codec__clear(&r->codec, false);
    pml_buf__clear(&r->block);
    pml_arena__clear(&r->record);
    pml_arena__clear(&r->fixed);
    pml_env__free(r->env, r);
}

/* ---- blocks ---- */

static int block_open(pml_avro_reader *r, pml_bytes packed, pml_error *err)
{
    if (r->codec.kind == PML_AVRO_CODEC_NULL) {
        r->p = packed.ptr;
        r->p_end = packed.ptr + packed.len;
        return PML_OK;
    }
    r->packed_total += packed.len;
    uint64_t budget = AVRO_PLAIN_FREE + AVRO_PLAIN_RATIO * r->packed_total - r->plain_total;
    size_t max = budget < PML_AVRO_BLOCK_MAX ? (size_t)budget : PML_AVRO_BLOCK_MAX;
    PML_RETURN_IF(pml_avro_codec__decompress(&r->codec, &r->block, packed, max, r->name, err));
    r->plain_total += r->block.len;
    r->p = r->block.data;
    r->p_end = r->block.data + r->block.len;
    return PML_OK;
}

/* Opens the next block that has records; at the end of the file records_left stays 0. */
static int block_next(pml_avro_reader *r, pml_error *err)
{
    while (r->records_left == 0 && r->pos < r->end) {
        int64_t count, size;
        const uint8_t *p = r->pos;
        if (!varint_get(&count, &p, r->end) || !varint_get(&size, &p, r->end) || count < 0 || size < 0)
            return reader_corrupt(r, err, "a block has no valid count and size");
        if (r->end - p < AVRO_SYNC_SIZE || size > r->end - p - AVRO_SYNC_SIZE)
            return reader_corrupt(r, err, "a block is cut");
        if (memcmp(p + size, r->sync, AVRO_SYNC_SIZE) != 0)
            return reader_corrupt(r, err, "the sync marker behind a block is wrong");
        PML_RETURN_IF(block_open(r, (pml_bytes){p, (size_t)size}, err));
        r->pos = p + size + AVRO_SYNC_SIZE;
        if ((uint64_t)count > (uint64_t)(r->p_end - r->p) / r->program.record_size_min)
            return reader_corrupt(r, err, "a block has fewer bytes than its records need");
        if (count == 0 && r->p != r->p_end)
            return reader_corrupt(r, err, "a block has bytes behind its records");
        r->records_left = (uint64_t)count;
    }
    return PML_OK;
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
    int64_t n;
    pml_bytes bytes;
    pml_avro_value *v = &run->base[op->slot];
    switch (op->code) {
    case PML_AVRO_OP_INT:
        if (!varint_get(&v->i, &run->p, run->end) || v->i != (int32_t)v->i)
            return false;
        v->present = true;
        return true;
    case PML_AVRO_OP_LONG: v->present = true; return varint_get(&v->i, &run->p, run->end);
    case PML_AVRO_OP_BOOLEAN:
        if (run->p == run->end || *run->p > 1)
            return false;
        v->present = true;
        v->i = *run->p++;
        return true;
    case PML_AVRO_OP_BYTES: v->present = true; return bytes_get(&v->bytes, &run->p, run->end);
    case PML_AVRO_OP_SKIP_VARINT: return varint_get(&n, &run->p, run->end);
    case PML_AVRO_OP_SKIP_BYTES: return bytes_get(&bytes, &run->p, run->end);
    case PML_AVRO_OP_SKIP_FIXED:
        if (run->end - run->p < (ptrdiff_t)op->n)
            return false;
        run->p += op->n;
        return true;
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
    if (!items_get(&count, &size, &run->p, run->end) || count > (uint64_t)(run->end - run->p) / head->n)
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

/* One turn of the loop over items that nobody wants; blocks that state their size are jumped over. */
static int skip_turn(const pml_avro_reader *r, const pml_avro_op *head, avro_run *run, bool *enter, pml_error *err)
{
    avro_frame *f = &run->frames[run->depth - 1];
    *enter = true;
    while (f->left == 0) {
        uint64_t count;
        int64_t size;
        if (!items_get(&count, &size, &run->p, run->end))
            return run_truncated(r, head, err);
        if (count == 0) {
            *enter = false;
            run->depth--;
            return PML_OK;
        }
        if (size >= 0) {
            run->p += size;
            continue;
        }
        if (count > (uint64_t)(run->end - run->p) / head->n)
            return run_truncated(r, head, err);
        f->left = count;
    }
    f->left--;
    return PML_OK;
}

static int union_branch(const pml_avro_reader *r, const pml_avro_op *op, avro_run *run, bool *is_null, pml_error *err)
{
    int64_t branch;
    if (!varint_get(&branch, &run->p, run->end) || branch < 0 || branch >= (int64_t)op->n)
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
    if (r->records_left == 0)
        PML_RETURN_IF(block_next(r, err));
    if (r->records_left == 0)
        return PML_OK;
    avro_run run;
    run.p = r->p;
    run.end = r->p_end;
    run.base = values;
    run.depth = 0;
    PML_RETURN_IF(run_program(r, &run, err));
    r->p = run.p;
    r->records_left--;
    if (r->records_left == 0 && r->p != r->p_end)
        return reader_corrupt(r, err, "a block has bytes behind its records");
    *more = true;
    return PML_OK;
}
