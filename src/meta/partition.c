/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/partition.h"

static int partition_types(const pml_type **types, const pml_table_schema *s, pml_error *err)
{
    if (s->n_partition_keys > PML_PARTITION_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "the table has %zu partition keys, at most %d are supported", s->n_partition_keys,
                              PML_PARTITION_KEYS_MAX);
    for (size_t i = 0; i < s->n_partition_keys; i++)
        types[i] = &s->fields[s->partition_index[i]].type;
    return PML_OK;
}

int pml_partition__decode(pml_value *values, const pml_table_schema *s, pml_bytes partition, pml_error *err)
{
    const pml_type *types[PML_PARTITION_KEYS_MAX];
    pml_bytes row;
    PML_RETURN_IF(partition_types(types, s, err));
    PML_RETURN_IF(pml_binary_row__uncount(&row, partition, s->n_partition_keys, err));
    return pml_binary_row__read(values, types, s->n_partition_keys, row, err);
}

int pml_partition__encode(pml_buf *out, const pml_table_schema *s, const pml_value *values)
{
    const pml_type *types[PML_PARTITION_KEYS_MAX];
    PML_RETURN_IF(partition_types(types, s, NULL));
    return pml_binary_row__write_counted(out, types, values, s->n_partition_keys);
}

int pml_partition__bucket_key(pml_buf *out, pml_bytes partition, int32_t bucket)
{
    (void)pml_buf__append(out, partition.ptr, partition.len);
    return pml_buf__append_be32(out, (uint32_t)bucket);
}
