/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps:
 *   1. of the conjuncts of the predicate, one EQ or IN per bucket key: its values (nulls never match)
 *   2. every combination of these values, as the columns of a batch: at most COMBINATIONS_MAX, else no choice is made
 *   3. per number of buckets that entries name: the buckets of these rows, with the function that writers use
 * FLOAT and DOUBLE keys make no choice: their values are compared as numbers but placed by their bits, and a NaN has many.
 */
#include "table/prune_bucket.h"

#include "columnar/batch.h"
#include "columnar/bucket.h"

enum { KEYS_MAX = 16, COMBINATIONS_MAX = 1000 /* as Java */ };

struct pml_bucket_choice {
    pml_env *env;
    pml_bucket_function function;
    size_t n_keys;
    const pml_type *types[KEYS_MAX];
    int32_t columns[KEYS_MAX];
    struct ArrowArray rows; /* the combinations */
    int32_t total;          /* number of buckets that `buckets` belongs to; 0: none yet */
    int32_t *buckets;       /* one per row */
};

/* The conjunct that names the values of one column, NULL: none. The tree is at most PML_PRED_DEPTH_MAX deep. */
static const pml_pred *values_of(const pml_pred *p, int32_t field_id)
{
    if ((p->op == PML_PRED_EQ || p->op == PML_PRED_IN) && p->field_id == field_id)
        return p;
    for (size_t i = 0; p->op == PML_PRED_AND && i < p->n_children; i++) {
        const pml_pred *found = values_of(p->children[i], field_id);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static bool is_placed_by_value(const pml_type *t)
{
    return !pml_type__is_nested(t) && !pml_type__is_float(t);
}

static size_t count_values(const pml_pred *leaf)
{
    size_t n = 0;
    for (size_t i = 0; i < leaf->n_literals; i++)
        n += leaf->literals[i].kind != PML_VALUE_NULL;
    return n;
}

/* Column of a key: each of its values `repeat` times, and that as often as rows are wanted. */
static int column_make(struct ArrowArray *out, pml_env *env, const pml_type *type, const pml_pred *leaf, size_t repeat, size_t rows,
                       pml_error *err)
{
    pml_builder *b = NULL;
    int rc;
    PML_TRY(pml_builder__new(&b, env, type, err));
    for (size_t done = 0; rc == PML_OK && done < rows;)
        for (size_t i = 0; rc == PML_OK && i < leaf->n_literals; i++)
            for (size_t k = 0; rc == PML_OK && leaf->literals[i].kind != PML_VALUE_NULL && k < repeat; k++, done++)
                rc = pml_builder__append_value(b, &leaf->literals[i]);
    if (rc == PML_OK)
        rc = pml_builder__finish(b, out, err);
out:
    pml_builder__free(b);
    return rc;
}

/* PML_E_INVAL of a builder: a literal that no row can have, say 300 for a TINYINT; the exact predicate deals with it. */
static int rows_make(pml_bucket_choice *c, const pml_pred *const *leaves, size_t rows, pml_error *err)
{
    struct ArrowArray columns[KEYS_MAX] = {{0}};
    size_t repeat = 1;
    int rc = PML_OK;
    for (size_t i = 0; rc == PML_OK && i < c->n_keys; i++) {
        rc = column_make(&columns[i], c->env, c->types[i], leaves[i], repeat, rows, err);
        repeat *= count_values(leaves[i]);
        c->columns[i] = (int32_t)i;
    }
    if (rc == PML_OK)
        rc = pml_batch__from_columns(&c->rows, c->env, columns, c->n_keys, (int64_t)rows, err);
    for (size_t i = 0; rc != PML_OK && i < c->n_keys; i++)
        pml_array__release(&columns[i]);
    return rc;
}

int pml_bucket_choice__new(pml_bucket_choice **out, pml_env *env, const pml_table_schema *s, const pml_table_options *o,
                           const pml_pred *predicate, pml_error *err)
{
    const pml_pred *leaves[KEYS_MAX];
    size_t rows = 1;
    *out = NULL;
    if (s->n_bucket_keys == 0 || s->n_bucket_keys > KEYS_MAX)
        return PML_OK;
    for (size_t i = 0; i < s->n_bucket_keys; i++) {
        const pml_field *f = &s->fields[s->bucket_index[i]];
        leaves[i] = is_placed_by_value(&f->type) ? values_of(predicate, f->id) : NULL;
        if (leaves[i] == NULL)
            return PML_OK;
        rows *= count_values(leaves[i]);
        if (rows == 0 || rows > COMBINATIONS_MAX)
            return PML_OK;
    }
    pml_bucket_choice *c = pml_env__calloc(env, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    c->env = env;
    c->function = o->bucket_function == PML_BUCKET_FUNCTION_MOD ? PML_BUCKET_BY_MOD : PML_BUCKET_BY_HASH;
    c->n_keys = s->n_bucket_keys;
    for (size_t i = 0; i < c->n_keys; i++)
        c->types[i] = &s->fields[s->bucket_index[i]].type;
    int rc = rows_make(c, leaves, rows, err);
    if (rc == PML_OK)
        *out = c;
    else
        pml_bucket_choice__free(c);
    return rc == PML_E_NOMEM ? pml_error__no_memory(err) : PML_OK;
}

void pml_bucket_choice__free(pml_bucket_choice *c)
{
    if (c == NULL)
        return;
    pml_array__release(&c->rows);
    pml_env__free(c->env, c->buckets);
    pml_env__free(c->env, c);
}

int pml_bucket_choice__test(bool *matches, pml_bucket_choice *c, int32_t bucket, int32_t total_buckets, pml_error *err)
{
    *matches = true;
    if (total_buckets < 1)
        return PML_OK;
    if (c->buckets == NULL)
        c->buckets = pml_env__calloc(c->env, (size_t)c->rows.length, sizeof *c->buckets);
    if (c->buckets == NULL)
        return pml_error__no_memory(err);
    if (c->total != total_buckets)
        PML_RETURN_IF(pml_bucket__assign(c->buckets, c->env, c->function, total_buckets, c->types, &c->rows, c->columns, c->n_keys, err));
    c->total = total_buckets;
    *matches = false;
    for (int64_t i = 0; i < c->rows.length && !*matches; i++)
        *matches = c->buckets[i] == bucket;
    return PML_OK;
}
