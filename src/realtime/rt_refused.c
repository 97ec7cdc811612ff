/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with a primary key whose rows cannot be kept in memory beside their files. What no writer takes at all: meta/features.c. */
#include <string.h>

#include "realtime/rt_context.h"

/* -0.0 is 0.0 for comparisons and another key for statistics, hashes and conditions; NaN equals every value, which is no order (11.2).
   Whoever allows such keys gets neither value written (rt_write_keyed.c). */
static int check_keys(const pml_table *t, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    for (size_t i = 0; i < s->n_keys; i++) {
        const pml_field *f = &s->fields[s->key_index[i]];
        if (pml_type__is_float(&f->type))
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, t->path,
                                 "needs key-of-type: the %s column '%s' of %s is not written in real time as a key, unless "
                                 "realtime.allow-float-key=true says that NaN and -0.0 never are keys",
                                 pml_type__word(f->type.kind), f->name,
                                 t->path);
    }
    return PML_OK;
}

/* A key stays in its partition for ever, so that its rows in memory and in files meet there. */
static int check_partitions(const pml_table *t, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    for (size_t i = 0; i < s->n_partition_keys; i++) {
        bool in_key = false;
        for (size_t k = 0; k < s->n_primary_keys && !in_key; k++)
            in_key = strcmp(s->primary_keys[k], s->partition_keys[i]) == 0;
        if (!in_key)
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_SCHEMA, t->path,
                                 "needs cross-partition: the primary key of %s lacks the partition column '%s', so that keys may move between "
                                 "partitions",
                                 t->path, s->partition_keys[i]);
    }
    return PML_OK;
}

int pml_rt_context__check_keyed(const pml_table *t, const pml_table_options *options, pml_error *err)
{
    PML_RETURN_IF(check_partitions(t, err));
    return options->rt_allow_float_key ? PML_OK : check_keys(t, err);
}
