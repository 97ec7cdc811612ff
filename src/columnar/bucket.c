/* SPDX-License-Identifier: Apache-2.0 */
#include "columnar/bucket.h"

#include "columnar/binary_layout.h"

int32_t pml_bucket__mod(int64_t value, int32_t n)
{
    int64_t rest = value % n;
    return (int32_t)(rest < 0 ? rest + n : rest);
}

static int assign_mod(int32_t *buckets, int32_t n_buckets, const pml_type *t, const struct ArrowArray *array,
                      int64_t from, int64_t rows, pml_error *err)
{
    if (t->kind != PML_TYPE_INT && t->kind != PML_TYPE_BIGINT)
        return pml_error__set(err, PML_E_INVAL,
                              "bucket-function.type 'mod' needs one bucket key of type INT or BIGINT");
    for (int64_t i = 0; i < rows; i++) {
        pml_value v;
        pml_value__get(&v, t, array, from + i);
        /* Java reads the slot without a null test, and the slot of null is zero. */
        buckets[i] = pml_bucket__mod(v.kind == PML_VALUE_NULL ? 0 : v.i, n_buckets);
    }
    return PML_OK;
}

/* One atomic key, by far the most frequent case: no row is built. */
static void hash_one(int32_t *hashes, const pml_type *t, const struct ArrowArray *array, int64_t from, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        pml_value v;
        pml_value__get(&v, t, array, from + i);
        hashes[i] = pml_binary_row__hash_one(t, &v);
    }
}

int pml_bucket__hashes(int32_t *hashes, pml_env *env, const pml_type *const *types, const struct ArrowArray *batch,
                       const int32_t *columns, size_t n_keys, pml_error *err)
{
    int rc = PML_OK;
    pml_buf row;
    if (n_keys == 1 && !pml_binary__is_structure(types[0])) {
        hash_one(hashes, types[0], batch->children[columns[0]], batch->offset, batch->length);
        return PML_OK;
    }
    pml_buf__init(&row, env, 2 * (size_t)PML_BINARY_ROW_MAX);
    for (int64_t i = 0; i < batch->length; i++) {
        pml_buf__reset(&row);
        PML_TRY(pml_binary_row__write_from_arrow(&row, types, batch, columns, n_keys, i, err));
        hashes[i] = pml_binary_row__hash((pml_bytes){row.data, row.len});
    }
out:
    pml_buf__clear(&row);
    return rc;
}

int pml_bucket__assign(int32_t *buckets, pml_env *env, pml_bucket_function function, int32_t n_buckets,
                       const pml_type *const *types, const struct ArrowArray *batch, const int32_t *columns,
                       size_t n_keys, pml_error *err)
{
    if (n_buckets < 1)
        return pml_error__set(err, PML_E_INVAL, "a bucket number of %d was given; it must be positive", n_buckets);
    if (function == PML_BUCKET_BY_MOD && n_keys != 1)
        return pml_error__set(err, PML_E_INVAL, "bucket-function.type 'mod' needs one bucket key, not %zu", n_keys);
    if (function == PML_BUCKET_BY_MOD)
        return assign_mod(buckets, n_buckets, types[0], batch->children[columns[0]], batch->offset, batch->length, err);
    PML_RETURN_IF(pml_bucket__hashes(buckets, env, types, batch, columns, n_keys, err));
    for (int64_t i = 0; i < batch->length; i++)
        buckets[i] = pml_bucket__default(buckets[i], n_buckets);
    return PML_OK;
}
