/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file_index.h"

#include <string.h>

#include "format/file_index_read.h"
#include "util/error.h"

static const int64_t INDEX_MAGIC = INT64_C(1493475289347502);
enum { INDEX_VERSION = 1, NO_ROW = -1 };

typedef struct evaluator {
    pml_env *env;
    pml_bytes index;
    const char *path;
    int64_t n_rows;
    int32_t n_columns;
    pml_bytes columns; /* their part of the head */
    pml_error *err;
} evaluator;

int pml_index__corrupt(const pml_index_question *q, const char *why)
{
    return pml_error__at(q->err, PML_E_CORRUPT, PML_PLACE_INDEX, q->path, "the file index of %s is damaged: %s", q->path, why);
}

void pml_index_answer__clear(pml_index_answer *a)
{
    pml_row_set__clear(&a->rows);
    a->kind = PML_INDEX_REMAIN;
}

void pml_index_answer__of_rows(pml_index_answer *out, pml_row_set *rows)
{
    bool any = pml_row_set__any(rows, 0, rows->n_rows);
    *out = (pml_index_answer){any ? PML_INDEX_ROWS : PML_INDEX_SKIP, any ? *rows : (pml_row_set){0}};
    if (!any)
        pml_row_set__clear(rows);
    *rows = (pml_row_set){0};
}

int pml_index__add_roaring(pml_row_set *rows, const pml_index_question *q, pml_bytes bytes)
{
    size_t used;
    pml_error why = PML_ERROR_INIT;
    if (pml_row_set__add_roaring(rows, 0, bytes, &used, NULL, &why) != PML_OK)
        return pml_index__corrupt(q, why.message);
    return used == bytes.len ? PML_OK : pml_index__corrupt(q, "bytes follow a bitmap");
}

/* ---- combining ---- */

/* Both: b moves into a. */
static void answer_and(pml_index_answer *a, pml_index_answer *b)
{
    if (a->kind == PML_INDEX_ROWS && b->kind == PML_INDEX_ROWS) {
        pml_row_set__and(&a->rows, &b->rows);
        pml_row_set__clear(&b->rows);
        pml_row_set both = a->rows;
        pml_index_answer__of_rows(a, &both);
        return;
    }
    if (a->kind == PML_INDEX_SKIP || b->kind == PML_INDEX_REMAIN) {
        pml_index_answer__clear(b);
        return;
    }
    pml_index_answer__clear(a);
    *a = *b;
}

/* Either: b moves into a. */
static void answer_or(pml_index_answer *a, pml_index_answer *b)
{
    if (a->kind == PML_INDEX_ROWS && b->kind == PML_INDEX_ROWS) {
        pml_row_set__or(&a->rows, &b->rows);
        pml_index_answer__clear(b);
        return;
    }
    if (a->kind == PML_INDEX_REMAIN || b->kind == PML_INDEX_SKIP) {
        pml_index_answer__clear(b);
        return;
    }
    pml_index_answer__clear(a);
    *a = *b;
}

/* ---- leaves ---- */

static bool is_text(pml_bytes b, const char *text)
{
    return b.len == strlen(text) && memcmp(b.ptr, text, b.len) == 0;
}

static pml_bytes read_utf(pml_index_cursor *c)
{
    pml_bytes n = pml_index_cursor__take(c, 2);
    return pml_index_cursor__take(c, n.ptr == NULL ? 0 : n.ptr[0] << 8 | n.ptr[1]);
}

static int (*reader_of(pml_bytes type))(pml_index_answer *, const pml_index_question *)
{
    if (is_text(type, "bloom-filter"))
        return pml_index__bloom;
    if (is_text(type, "bitmap"))
        return pml_index__bitmap;
    if (is_text(type, "bsi"))
        return pml_index__bsi;
    return is_text(type, "range-bitmap") ? pml_index__range : NULL;
}

static int ask_one(pml_index_answer *out, pml_index_question *q, pml_bytes type, pml_bytes all, int32_t start, int32_t length)
{
    int (*read)(pml_index_answer *, const pml_index_question *) = reader_of(type);
    if (read == NULL || start == NO_ROW)
        return PML_OK;
    if (start < 0 || length < 0 || (size_t)start > all.len || (size_t)length > all.len - (size_t)start)
        return pml_index__corrupt(q, "an index lies outside of it");
    q->body = (pml_bytes){all.ptr + start, (size_t)length};
    return read(out, q);
}

static bool has_null(const pml_pred *leaf)
{
    for (size_t i = 0; i < leaf->n_literals; i++)
        if (leaf->literals[i].kind == PML_VALUE_NULL)
            return true;
    return false;
}

/* Modified UTF-8 differs from UTF-8 for NUL and beyond the basic plane: such a column is not found, and nothing is left out. */
static int eval_leaf(pml_index_answer *out, const evaluator *e, const pml_pred *leaf)
{
    pml_index_question q = {e->env, leaf, {0}, e->n_rows, e->path, e->err};
    pml_index_cursor c = pml_index_cursor__of(e->columns);
    int rc = PML_OK;
    if (leaf->name == NULL || has_null(leaf))
        return PML_OK;
    for (int32_t i = 0; rc == PML_OK && i < e->n_columns && !c.bad; i++) {
        pml_bytes name = read_utf(&c);
        int32_t n = pml_index_cursor__i32(&c);
        bool mine = !c.bad && is_text(name, leaf->name);
        for (int32_t k = 0; rc == PML_OK && k < n && !c.bad; k++) {
            pml_bytes type = read_utf(&c);
            int32_t start = pml_index_cursor__i32(&c), length = pml_index_cursor__i32(&c);
            pml_index_answer one = {0};
            if (!mine || c.bad)
                continue;
            rc = ask_one(&one, &q, type, e->index, start, length);
            if (rc == PML_OK)
                answer_and(out, &one);
        }
    }
    if (rc == PML_OK && c.bad)
        rc = pml_index__corrupt(&q, "its head is cut");
    if (rc != PML_OK)
        pml_index_answer__clear(out);
    return rc;
}

static int eval(pml_index_answer *out, const evaluator *e, const pml_pred *p)
{
    *out = (pml_index_answer){0};
    if (p->op == PML_PRED_FALSE)
        out->kind = PML_INDEX_SKIP;
    if (p->op == PML_PRED_TRUE || p->op == PML_PRED_FALSE)
        return PML_OK;
    if (p->op != PML_PRED_AND && p->op != PML_PRED_OR)
        return eval_leaf(out, e, p);
    for (size_t i = 0; i < p->n_children; i++) { /* as deep as predicates are, PML_PRED_DEPTH_MAX */
        pml_index_answer one;
        int rc = eval(&one, e, p->children[i]);
        if (rc != PML_OK) {
            pml_index_answer__clear(out);
            return rc;
        }
        if (i == 0)
            *out = one;
        else if (p->op == PML_PRED_AND)
            answer_and(out, &one);
        else
            answer_or(out, &one);
    }
    return PML_OK;
}

int pml_file_index__ask(pml_index_answer *out, pml_env *env, pml_bytes index, const char *path, const pml_pred *predicate, int64_t n_rows,
                        pml_error *err)
{
    evaluator e = {.env = env, .index = index, .path = path, .n_rows = n_rows, .err = err};
    const pml_index_question q = {.path = path, .err = err};
    pml_index_cursor c = pml_index_cursor__of(index);
    *out = (pml_index_answer){0};
    int64_t magic = pml_index_cursor__i64(&c);
    int32_t version = pml_index_cursor__i32(&c), head = pml_index_cursor__i32(&c);
    e.n_columns = pml_index_cursor__i32(&c);
    if (c.bad || magic != INDEX_MAGIC)
        return pml_index__corrupt(&q, "it is none");
    if (version != INDEX_VERSION) /* of a later release: it only speeds up */
        return PML_OK;
    if (head < c.p - index.ptr || (size_t)head > index.len || e.n_columns < 0)
        return pml_index__corrupt(&q, "its head has an impossible length");
    e.columns = (pml_bytes){c.p, (size_t)(index.ptr + head - c.p)};
    return eval(out, &e, predicate);
}
