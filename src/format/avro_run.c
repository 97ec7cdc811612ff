/* SPDX-License-Identifier: Apache-2.0 */
#include "format/avro_run.h"

#include <assert.h>

#include "columnar/decimal.h"
#include "format/avro_decode.h"

enum { RUN_FRAMES_MAX = PML_AVRO_DATA_DEPTH_MAX + 2, SHORT_TEXT = 16, DECIMAL_BYTES = 16 };

typedef struct avro_run {
    pml_avro_columns *columns;
    const uint8_t *p, *end;
    size_t depth;
    uint64_t left[RUN_FRAMES_MAX]; /* of each open loop: items left of the block */
} avro_run;

/* What the functions below return, beside PML_OK and the codes of a column that cannot grow. */
enum { RUN_CUT = PML_E_CORRUPT };

/* ---- values ---- */

static inline int room(avro_run *run, pml_avro_node *node)
{
    return __builtin_expect(node->n < node->cap, 1) ? PML_OK : pml_avro_node__grow(run->columns, node);
}

/* Most numbers of a file are short. */
static inline bool get_long(int64_t *v, avro_run *run)
{
    if (__builtin_expect(run->p < run->end && *run->p < 0x80, 1)) {
        uint8_t byte = *run->p++;
        *v = (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
        return true;
    }
    return pml_avro__get_long(v, &run->p, run->end);
}

static inline int append_integer(avro_run *run, pml_avro_node *node, size_t width)
{
    int64_t v;
    int shift = 64 - 8 * (int)width;
    PML_RETURN_IF(room(run, node));
    if (!get_long(&v, run) || (int64_t)((uint64_t)v << shift) >> shift != v)
        return RUN_CUT;
    memcpy(node->values + (size_t)node->n++ * width, &v, width); /* little-endian: the low bytes */
    return PML_OK;
}

static inline int append_fixed(avro_run *run, pml_avro_node *node, size_t width)
{
    PML_RETURN_IF(room(run, node));
    if (run->end - run->p < (ptrdiff_t)width)
        return RUN_CUT;
    memcpy(node->values + (size_t)node->n++ * width, run->p, width);
    run->p += width;
    return PML_OK;
}

static inline int append_boolean(avro_run *run, pml_avro_node *node)
{
    PML_RETURN_IF(room(run, node));
    if (run->p == run->end || *run->p > 1)
        return RUN_CUT;
    if (*run->p++ != 0)
        pml_bit_set(node->values, node->n);
    node->n++;
    return PML_OK;
}

static inline bool get_bytes(pml_bytes *v, avro_run *run)
{
    int64_t n;
    if (!get_long(&n, run) || n < 0 || n > run->end - run->p)
        return false;
    *v = (pml_bytes){run->p, (size_t)n};
    run->p += n;
    return true;
}

static inline int append_bytes(avro_run *run, pml_avro_node *node)
{
    pml_bytes v;
    PML_RETURN_IF(room(run, node));
    if (!get_bytes(&v, run))
        return RUN_CUT;
    if ((uint64_t)(node->bytes_cap - node->bytes) < v.len)
        PML_RETURN_IF(pml_avro_node__grow_bytes(run->columns, node, v.len));
    uint8_t *to = node->values + node->bytes;
    /* one step of fixed length where both sides have the room */
    if (v.len <= SHORT_TEXT && run->end - v.ptr >= SHORT_TEXT && node->bytes_cap - node->bytes >= SHORT_TEXT)
        memcpy(to, v.ptr, SHORT_TEXT);
    else if (v.len > 0)
        memcpy(to, v.ptr, v.len);
    node->bytes += (int64_t)v.len;
    node->offsets[++node->n] = (int32_t)node->bytes;
    return PML_OK;
}

/* Java's sums of few digits go beyond their precision, and its reader (Decimal.fromBigDecimal) makes null of what has too many. So it does
   of keys of maps, which are never null in Arrow: such a file is damaged, since all keys fit that were written. */
static int append_decimal(avro_run *run, pml_avro_node *node, bool null_allowed)
{
    pml_bytes v;
    PML_RETURN_IF(room(run, node));
    if (!get_bytes(&v, run) || v.len == 0)
        return RUN_CUT;
    uint8_t fill = (v.ptr[0] & 0x80) != 0 ? 0xFF : 0;
    bool fits = true;
    for (; v.len > DECIMAL_BYTES && fits; v.ptr++, v.len--)
        fits = v.ptr[0] == fill && (v.ptr[1] ^ fill) < 0x80; /* nothing but the sign */
    unsigned __int128 sum = fill != 0 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < v.len && fits; i++)
        sum = sum << 8 | v.ptr[i];
    if (!fits || !pml_decimal__fits((pml_int128)sum, node->type->precision))
        return null_allowed ? pml_avro_node__append_null(run->columns, node) : RUN_CUT;
    memcpy(node->values + (size_t)node->n++ * sizeof sum, &sum, sizeof sum);
    return PML_OK;
}

static int append_scaled(avro_run *run, pml_avro_node *node, const pml_avro_op *op)
{
    int64_t v, n = op->n, scaled;
    PML_RETURN_IF(room(run, node));
    if (!get_long(&v, run))
        return RUN_CUT;
    if (op->code == PML_AVRO_OP_DIVIDED)
        scaled = v / n - (v % n < 0);
    else if (__builtin_mul_overflow(v, n, &scaled))
        return RUN_CUT;
    memcpy(node->values + (size_t)node->n++ * sizeof scaled, &scaled, sizeof scaled);
    return PML_OK;
}

static inline int append_value(avro_run *run, pml_avro_node *node, const pml_avro_op *op)
{
    switch (op->code) {
    case PML_AVRO_OP_INT8: return append_integer(run, node, 1);
    case PML_AVRO_OP_INT16: return append_integer(run, node, 2);
    case PML_AVRO_OP_INT: return append_integer(run, node, 4);
    case PML_AVRO_OP_LONG: return append_integer(run, node, 8);
    case PML_AVRO_OP_FLOAT: return append_fixed(run, node, 4);
    case PML_AVRO_OP_DOUBLE: return append_fixed(run, node, 8);
    case PML_AVRO_OP_BOOLEAN: return append_boolean(run, node);
    case PML_AVRO_OP_BYTES: return append_bytes(run, node);
    case PML_AVRO_OP_DECIMAL: return append_decimal(run, node, op->null_allowed);
    case PML_AVRO_OP_TIMES:
    case PML_AVRO_OP_DIVIDED: return append_scaled(run, node, op);
    default: return pml_avro__skip(op, &run->p, run->end) ? PML_OK : RUN_CUT;
    }
}

/* ---- structure ---- */

static void loop_push(avro_run *run)
{
    assert(run->depth < RUN_FRAMES_MAX); /* the compiler bounds the nesting */
    run->left[run->depth++] = 0;
}

static int list_close(avro_run *run, pml_avro_node *node)
{
    const pml_avro_node *child = &run->columns->nodes[node->children[0]];
    PML_RETURN_IF(room(run, node));
    if (node->layout != PML_LAYOUT_FIXED_LIST)
        node->offsets[node->n + 1] = (int32_t)child->n; /* columns do not grow past 32 bits */
    else if (child->n != (node->n + 1) * node->type->length)
        return RUN_CUT; /* a vector of another length */
    node->n++;
    return PML_OK;
}

/* One turn of the loop of a wanted array or map: enters the next item, or closes the list. */
static int list_turn(bool *enter, avro_run *run, const pml_avro_op *head)
{
    uint64_t *left = &run->left[run->depth - 1];
    if (*left == 0) {
        int64_t size; /* of no use: the items are read */
        if (!pml_avro__get_items(left, &size, &run->p, run->end) || *left > (uint64_t)(run->end - run->p) / head->n)
            return RUN_CUT;
    }
    *enter = *left > 0;
    if (*enter) {
        --*left;
        return PML_OK;
    }
    run->depth--;
    return list_close(run, &run->columns->nodes[head->slot]);
}

static int skip_turn(bool *enter, avro_run *run, const pml_avro_op *head)
{
    if (!pml_avro__skip_turn(enter, &run->left[run->depth - 1], head, &run->p, run->end))
        return RUN_CUT;
    if (!*enter)
        run->depth--;
    return PML_OK;
}

/* Wanted or not: only a wanted null is added. */
static inline int union_branch(bool *is_null, avro_run *run, const pml_avro_op *op)
{
    int64_t branch;
    if (!get_long(&branch, run) || branch < 0 || branch >= (int64_t)op->n)
        return RUN_CUT;
    *is_null = branch == op->null_branch;
    if (!*is_null || op->name == NULL)
        return PML_OK;
    return op->null_allowed ? pml_avro_node__append_null(run->columns, &run->columns->nodes[op->slot]) : RUN_CUT;
}

static int failed(int rc, const pml_avro_op *op, const pml_avro_container *file, pml_error *err)
{
    const char *field = op->name == NULL ? "(skipped)" : op->name;
    if (rc == PML_E_NOMEM)
        return pml_error__no_memory(err);
    if (rc == PML_E_LIMIT)
        return pml_error__at(err, rc, PML_PLACE_FILE, file->name, "a row of %s is larger than this version reads, at field %s",
                             file->name, field);
    return pml_error__at(err, rc, PML_PLACE_FILE, file->name, "%s is damaged: a value of field %s is cut or out of range", file->name,
                         field);
}

/* From op *pc on to the end of the record. */
static inline int run_record(avro_run *run, const pml_avro_op *ops, size_t *at)
{
    size_t pc = 0;
    for (;; *at = pc) {
        const pml_avro_op *op = &ops[pc];
        bool flag;
        switch (op->code) {
        case PML_AVRO_OP_END: return PML_OK;
        case PML_AVRO_OP_UNION:
            PML_RETURN_IF(union_branch(&flag, run, op));
            pc = flag ? op->target : pc + 1;
            break;
        case PML_AVRO_OP_RECORD:
            PML_RETURN_IF(room(run, &run->columns->nodes[op->slot]));
            run->columns->nodes[op->slot].n++;
            pc++;
            break;
        case PML_AVRO_OP_RECORD_END: pc++; break;
        case PML_AVRO_OP_ARRAY:
            loop_push(run);
            PML_RETURN_IF(list_turn(&flag, run, op));
            pc = flag ? pc + 1 : op->target;
            break;
        case PML_AVRO_OP_ARRAY_NEXT:
            PML_RETURN_IF(list_turn(&flag, run, &ops[op->target - 1]));
            pc = flag ? op->target : pc + 1;
            break;
        case PML_AVRO_OP_SKIP_ITEMS:
            loop_push(run);
            PML_RETURN_IF(skip_turn(&flag, run, op));
            pc = flag ? pc + 1 : op->target;
            break;
        case PML_AVRO_OP_SKIP_NEXT:
            PML_RETURN_IF(skip_turn(&flag, run, &ops[op->target - 1]));
            pc = flag ? op->target : pc + 1;
            break;
        default:
            PML_RETURN_IF(append_value(run, &run->columns->nodes[op->slot], op));
            pc++;
            break;
        }
    }
}

int pml_avro_run__records(uint64_t *done, const pml_avro_program *program, pml_avro_columns *columns, pml_avro_container *file,
                          uint64_t max, pml_error *err)
{
    avro_run run;
    run.columns = columns;
    run.p = file->p;
    run.end = file->p_end;
    run.depth = 0;
    uint64_t n = max < file->records_left ? max : file->records_left, i = 0;
    while (i < n && !columns->full) {
        size_t at = 0;
        int rc = run_record(&run, program->ops, &at);
        if (rc != PML_OK)
            return failed(rc, &program->ops[at], file, err);
        i++;
    }
    *done = i;
    file->p = run.p;
    return pml_avro_container__end_records(file, i, err);
}
