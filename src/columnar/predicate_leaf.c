/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves over one column. Every comparison of fixed-width values becomes a range test on column keys (column_keys.h):
 *
 *   = [v, v] · <> not [v, v] · < [min, v - 1] · <= [min, v] · > [v + 1, max] · >= [v, max]
 *
 * computed with 128 bits and clamped to the range of the keys, so that a timestamp literal between two units or beyond the
 * range of a column needs no case of its own. IN is a search in sorted keys. Null rows are cleared at the end.
 */
#include "columnar/column_keys.h"
#include "columnar/predicate_node.h"
#include "columnar/value_store.h"

#include <stdlib.h>

enum { IN_LINEAR_MAX = 8 }; /* up to here comparing with every literal is faster than searching */

typedef struct key_range {
    pml_int128 lo, hi; /* inclusive; lo > hi: empty */
    uint8_t negate;
} key_range;

typedef struct leaf {
    const pml_pred *p;
    pml_env *env;
    const pml_type *t; /* of the column */
    const struct ArrowArray *a;
    int64_t row, n;
    pml_error *err;
} leaf;

static key_range range_of(const leaf *l)
{
    const pml_int128 max = (pml_int128)(~(unsigned __int128)0 >> 1), min = -max - 1;
    pml_int128 v;
    bool exact;
    key_range r = {.lo = min, .hi = max};
    pml_key__of_value(&v, &exact, l->t, &l->p->literals[0]);
    switch (l->p->op) {
    case PML_PRED_LT:
        if (exact && v == min)
            r.lo = 1, r.hi = 0;
        else
            r.hi = exact ? v - 1 : v;
        break;
    case PML_PRED_LE: r.hi = v; break;
    case PML_PRED_GT:
        if (v == max)
            r.lo = 1, r.hi = 0;
        else
            r.lo = v + 1;
        break;
    case PML_PRED_GE: r.lo = exact ? v : v + 1; break;
    default: /* EQ and NE */
        r.lo = exact ? v : 1;
        r.hi = exact ? v : 0;
        r.negate = l->p->op == PML_PRED_NE;
        break;
    }
    return r;
}

static void eval_range64(uint8_t *keep, const leaf *l, key_range r)
{
    int64_t keys[PML_KEYS_CHUNK];
    pml_int128 lo = r.lo < INT64_MIN ? INT64_MIN : r.lo, hi = r.hi > INT64_MAX ? INT64_MAX : r.hi;
    if (lo > hi) {
        memset(keep, r.negate, (size_t)l->n);
        return;
    }
    uint64_t low = (uint64_t)lo, span = (uint64_t)hi - low;
    for (int64_t at = 0; at < l->n; at += PML_KEYS_CHUNK) {
        int64_t m = l->n - at < PML_KEYS_CHUNK ? l->n - at : PML_KEYS_CHUNK;
        pml_keys__load(keys, l->t, l->a, l->row + at, m);
        for (int64_t i = 0; i < m; i++)
            keep[at + i] = (uint8_t)(((uint64_t)keys[i] - low <= span) ^ r.negate);
    }
}

static void eval_range128(uint8_t *keep, const leaf *l, key_range r)
{
    pml_int128 keys[PML_KEYS_CHUNK];
    for (int64_t at = 0; at < l->n; at += PML_KEYS_CHUNK) {
        int64_t m = l->n - at < PML_KEYS_CHUNK ? l->n - at : PML_KEYS_CHUNK;
        pml_keys__load_decimals(keys, l->a, l->row + at, m);
        for (int64_t i = 0; i < m; i++)
            keep[at + i] = (uint8_t)((keys[i] >= r.lo && keys[i] <= r.hi) ^ r.negate);
    }
}

#define DEFINE_KEY_SET(bits, ctype)                                                                                   \
    static int compare_keys##bits(const void *a, const void *b)                                                       \
    {                                                                                                                 \
        ctype x, y;                                                                                                   \
        memcpy(&x, a, sizeof x);                                                                                      \
        memcpy(&y, b, sizeof y);                                                                                      \
        return x < y ? -1 : x > y;                                                                                    \
    }                                                                                                                 \
    static void search_keys##bits(uint8_t *keep, const ctype *keys, int64_t n, const ctype *set, size_t n_set,        \
                                  uint8_t negate)                                                                     \
    {                                                                                                                 \
        if (n_set <= IN_LINEAR_MAX) {                                                                                 \
            memset(keep, negate, (size_t)n);                                                                          \
            for (size_t k = 0; k < n_set; k++)                                                                        \
                for (int64_t i = 0; i < n; i++)                                                                       \
                    keep[i] =                                                                                         \
                        negate ? (uint8_t)(keep[i] & (keys[i] != set[k])) : (uint8_t)(keep[i] | (keys[i] == set[k])); \
            return;                                                                                                   \
        }                                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            size_t lo = 0;                                                                                            \
            for (size_t len = n_set; len > 1; len -= len / 2)                                                         \
                lo += set[lo + len / 2] <= keys[i] ? len / 2 : 0;                                                     \
            keep[i] = (uint8_t)((set[lo] == keys[i]) ^ negate);                                                       \
        }                                                                                                             \
    }

DEFINE_KEY_SET(64, int64_t)
DEFINE_KEY_SET(128, pml_int128)

/* IN and NOT IN of keys; set is as wide as the keys. Literals that no key can equal are left out. */
static int eval_set(uint8_t *keep, const leaf *l, bool wide)
{
    const pml_pred *p = l->p;
    size_t width = wide ? sizeof(pml_int128) : sizeof(int64_t), n_set = 0;
    uint8_t negate = p->op == PML_PRED_NOT_IN;
    pml_int128 key, wide_keys[PML_KEYS_CHUNK];
    int64_t keys[PML_KEYS_CHUNK];
    bool exact;
    uint8_t *set = pml_env__alloc(l->env, p->n_literals * width);
    if (set == NULL)
        return pml_error__no_memory(l->err);
    for (size_t i = 0; i < p->n_literals; i++) {
        if (p->literals[i].kind == PML_VALUE_NULL)
            continue;
        pml_key__of_value(&key, &exact, l->t, &p->literals[i]);
        int64_t narrow = (int64_t)key;
        if (!exact || (!wide && narrow != key))
            continue;
        memcpy(set + n_set++ * width, wide ? (const void *)&key : &narrow, width);
    }
    if (n_set > 0)
        qsort(set, n_set, width, wide ? compare_keys128 : compare_keys64);
    for (int64_t at = 0; at < l->n; at += PML_KEYS_CHUNK) {
        int64_t m = l->n - at < PML_KEYS_CHUNK ? l->n - at : PML_KEYS_CHUNK;
        if (wide) {
            pml_keys__load_decimals(wide_keys, l->a, l->row + at, m);
            search_keys128(keep + at, wide_keys, m, (const pml_int128 *)(const void *)set, n_set, negate);
        } else {
            pml_keys__load(keys, l->t, l->a, l->row + at, m);
            search_keys64(keep + at, keys, m, (const int64_t *)(const void *)set, n_set, negate);
        }
    }
    pml_env__free(l->env, set);
    return PML_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return pml_bytes_compare(*(const pml_bytes *)a, *(const pml_bytes *)b);
}

static bool text_in_set(pml_bytes v, const pml_bytes *set, size_t n_set)
{
    size_t lo = 0;
    if (n_set <= IN_LINEAR_MAX) {
        for (size_t k = 0; k < n_set; k++)
            if (pml_bytes_equal(v, set[k]))
                return true;
        return false;
    }
    for (size_t len = n_set; len > 1; len -= len / 2)
        lo += pml_bytes_compare(set[lo + len / 2], v) <= 0 ? len / 2 : 0;
    return pml_bytes_equal(set[lo], v);
}

static int eval_text_set(uint8_t *keep, const leaf *l)
{
    uint8_t negate = l->p->op == PML_PRED_NOT_IN;
    size_t n_set = 0;
    pml_bytes *set = pml_env__alloc(l->env, l->p->n_literals * sizeof *set);
    if (set == NULL)
        return pml_error__no_memory(l->err);
    for (size_t i = 0; i < l->p->n_literals; i++)
        if (l->p->literals[i].kind != PML_VALUE_NULL)
            set[n_set++] = l->p->literals[i].bytes;
    if (n_set > 0)
        qsort(set, n_set, sizeof *set, compare_texts);
    for (int64_t i = 0; i < l->n; i++) {
        pml_bytes v = pml_text_at(l->a, l->row + i);
        keep[i] = (uint8_t)(text_in_set(v, set, n_set) ^ negate);
    }
    pml_env__free(l->env, set);
    return PML_OK;
}

/* v is the text of the row, w the literal. */
#define TEXT_LOOP(test)                              \
    for (int64_t i = 0; i < l->n; i++) {             \
        pml_bytes v = pml_text_at(l->a, l->row + i); \
        keep[i] = (uint8_t)(test);                   \
    }                                                \
    break

static int eval_text(uint8_t *keep, const leaf *l)
{
    const pml_bytes w = l->p->literals[0].bytes;
    switch (l->p->op) {
    case PML_PRED_EQ: TEXT_LOOP(pml_bytes_equal(v, w));
    case PML_PRED_NE: TEXT_LOOP(!pml_bytes_equal(v, w));
    case PML_PRED_LT: TEXT_LOOP(pml_bytes_compare(v, w) < 0);
    case PML_PRED_LE: TEXT_LOOP(pml_bytes_compare(v, w) <= 0);
    case PML_PRED_GT: TEXT_LOOP(pml_bytes_compare(v, w) > 0);
    case PML_PRED_GE: TEXT_LOOP(pml_bytes_compare(v, w) >= 0);
    case PML_PRED_STARTS_WITH: TEXT_LOOP(w.len == 0 || (v.len >= w.len && memcmp(v.ptr, w.ptr, w.len) == 0));
    case PML_PRED_ENDS_WITH:
        TEXT_LOOP(w.len == 0 || (v.len >= w.len && memcmp(v.ptr + (v.len - w.len), w.ptr, w.len) == 0));
    default: /* CONTAINS; node_valid lets nothing else through */
        TEXT_LOOP(w.len == 0 || (v.len >= w.len && memmem(v.ptr, v.len, w.ptr, w.len) != NULL));
    }
    return PML_OK;
}

static int eval_values(uint8_t *keep, const leaf *l)
{
    bool set = l->p->op == PML_PRED_IN || l->p->op == PML_PRED_NOT_IN;
    if (l->p->op != PML_PRED_IN && pml_pred__has_null_literal(l->p)) {
        memset(keep, 0, (size_t)l->n);
        return PML_OK;
    }
    switch (pml_key__kind(l->t)) {
    case PML_KEY_INT64:
        if (set)
            return eval_set(keep, l, false);
        eval_range64(keep, l, range_of(l));
        break;
    case PML_KEY_INT128:
        if (set)
            return eval_set(keep, l, true);
        eval_range128(keep, l, range_of(l));
        break;
    case PML_KEY_TEXT: return set ? eval_text_set(keep, l) : eval_text(keep, l);
    case PML_KEY_NONE: memset(keep, 0, (size_t)l->n); break;
    }
    return PML_OK;
}

int pml_pred__eval_leaf(uint8_t *keep, const pml_pred *p, pml_env *env, const pml_type *t, const struct ArrowArray *a,
                        int64_t row, int64_t n, pml_error *err)
{
    const uint8_t *bits = pml_array__validity(a);
    const leaf l = {p, env, t, a, row, n, err};
    if (p->op == PML_PRED_IS_NULL || p->op == PML_PRED_IS_NOT_NULL) {
        uint8_t flip = p->op == PML_PRED_IS_NULL;
        pml_keys__load_valid(keep, a, row, n);
        for (int64_t i = 0; i < n; i++)
            keep[i] ^= flip;
        return PML_OK;
    }
    if (pml_value__kind_of(t) != pml_value__kind_of(p->type) ||
        (t->kind == PML_TYPE_DECIMAL && t->scale != p->type->scale))
        return pml_error__set(err, PML_E_INVAL, "the predicate on column %s was made for another type of the column",
                              p->name == NULL ? "?" : p->name);
    PML_RETURN_IF(eval_values(keep, &l));
    uint8_t valid[PML_KEYS_CHUNK];
    for (int64_t at = 0; bits != NULL && at < n; at += PML_KEYS_CHUNK) {
        int64_t m = n - at < PML_KEYS_CHUNK ? n - at : PML_KEYS_CHUNK;
        pml_keys__load_valid(valid, a, row + at, m);
        for (int64_t i = 0; i < m; i++)
            keep[at + i] &= valid[i];
    }
    return PML_OK;
}
