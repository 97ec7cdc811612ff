/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_shape.h"

#include <stdio.h>

#include "merge/merge.h"
#include "meta/column_stats.h"
#include "table/read_merge.h"

enum { SYSTEM_STATS_LENGTH = 128 }; /* truncate(128), for keys too (Java: FileStatsExtractors of system columns) */

/* _KEY_<name>, never null. */
static int key_field(pml_field *out, pml_arena *arena, const pml_field *f, pml_error *err)
{
    static const char prefix[] = "_KEY_";
    size_t n = strlen(f->name) + sizeof prefix;
    char *name = pml_arena__alloc(arena, n);
    if (name == NULL)
        return pml_error__no_memory(err);
    (void)snprintf(name, n, "%s%s", prefix, f->name);
    *out = *f;
    out->name = name;
    out->id = PML_ID_KEY_BASE + f->id;
    return PML_OK;
}

static int keyed_fields(pml_file_shape *s, pml_arena *arena, bool thin, pml_error *err)
{
    const pml_table_schema *schema = s->schema;
    size_t n = 0, n_keys = thin ? 0 : schema->n_keys;
    pml_field *fields = pml_arena__array(arena, n_keys + 2 + schema->n_fields, sizeof *fields);
    if (fields == NULL)
        return pml_error__no_memory(err);
    for (; n < n_keys; n++)
        PML_RETURN_IF(key_field(&fields[n], arena, &schema->fields[schema->key_index[n]], err));
    s->n_key_columns = n_keys;
    s->sequence = (int32_t)n;
    fields[n++] = pml_field_sequence_number;
    s->kind = (int32_t)n;
    fields[n++] = pml_field_value_kind;
    s->first_value = n;
    memcpy(fields + n, schema->fields, schema->n_fields * sizeof *fields);
    s->fields = fields;
    s->n_fields = n + schema->n_fields;
    return PML_OK;
}

int pml_file_shape__init(pml_file_shape *out, pml_arena *arena, const pml_table *t, pml_error *err)
{
    const pml_table_schema *schema = t->schema;
    *out = (pml_file_shape){.schema = schema, .fields = schema->fields, .n_fields = schema->n_fields, .keyed = schema->n_keys > 0};
    out->modes = pml_arena__array(arena, schema->n_fields, sizeof *out->modes);
    out->key_types = pml_arena__array(arena, schema->n_keys, sizeof *out->key_types);
    out->key_positions = pml_arena__array(arena, schema->n_keys, sizeof *out->key_positions);
    if (out->modes == NULL || out->key_types == NULL || out->key_positions == NULL)
        return pml_error__no_memory(err);
    if (out->keyed)
        PML_RETURN_IF(keyed_fields(out, arena, t->options.thin_mode, err));
    for (size_t i = 0; i < schema->n_fields; i++)
        PML_RETURN_IF(pml_table_options__stats_mode(&out->modes[i], schema, &t->options, i, err));
    for (size_t i = 0; i < schema->n_keys; i++) {
        int32_t column = schema->key_index[i];
        out->key_types[i] = &schema->fields[column].type;
        out->key_positions[i] = (int32_t)out->first_value + column;
        if (t->options.thin_mode)
            out->modes[column] = (pml_stats_mode){PML_STATS_TRUNCATE, SYSTEM_STATS_LENGTH};
    }
    return PML_OK;
}

/* ---- of one file ---- */

int pml_file_notes__init(pml_file_notes *out, pml_env *env, const pml_file_shape *shape, pml_error *err)
{
    *out = (pml_file_notes){.env = env, .shape = shape, .min_sequence = INT64_MAX, .max_sequence = INT64_MIN};
    pml_buf__init(&out->first_key, env, PML_BINARY_ROW_MAX);
    pml_buf__init(&out->last_key, env, PML_BINARY_ROW_MAX);
    return pml_stats__new(&out->stats, env, shape->schema->fields, shape->schema->n_fields, err);
}

void pml_file_notes__clear(pml_file_notes *n)
{
    if (n->env == NULL)
        return;
    pml_stats__free(n->stats);
    pml_buf__clear(&n->first_key);
    pml_buf__clear(&n->last_key);
    *n = (pml_file_notes){0};
}

static int write_key(pml_buf *out, const pml_file_shape *s, const struct ArrowArray *batch, int64_t row, pml_error *err)
{
    pml_buf__reset(out);
    if (pml_buf__append_be32(out, (uint32_t)s->schema->n_keys) != PML_OK)
        return pml_error__no_memory(err);
    return pml_binary_row__write_from_arrow(out, s->key_types, batch, s->key_positions, s->schema->n_keys, row, err);
}

static int note_keys(pml_file_notes *n, const struct ArrowArray *batch, pml_error *err)
{
    const pml_file_shape *s = n->shape;
    const struct ArrowArray *sequence = batch->children[s->sequence], *kind = batch->children[s->kind];
    const int64_t *sequences = (const int64_t *)sequence->buffers[1] + sequence->offset;
    const int8_t *kinds = (const int8_t *)kind->buffers[1] + kind->offset;
    for (int64_t i = 0; i < batch->length; i++) {
        n->min_sequence = sequences[i] < n->min_sequence ? sequences[i] : n->min_sequence;
        n->max_sequence = sequences[i] > n->max_sequence ? sequences[i] : n->max_sequence;
        n->deletes += pml_row_kind__is_retract(kinds[i]);
    }
    if (n->rows == 0)
        PML_RETURN_IF(write_key(&n->first_key, s, batch, 0, err));
    return write_key(&n->last_key, s, batch, batch->length - 1, err);
}

int pml_file_notes__update(pml_file_notes *n, const struct ArrowArray *batch, pml_error *err)
{
    struct ArrowArray values = *batch; /* the table's columns of it; owns nothing */
    values.children += n->shape->first_value;
    values.n_children -= (int64_t)n->shape->first_value;
    PML_RETURN_IF(pml_stats__update(n->stats, &values, err));
    if (n->shape->keyed)
        PML_RETURN_IF(note_keys(n, batch, err));
    n->rows += batch->length;
    return PML_OK;
}

/* Key statistics are those of the table's key columns, all of them, as nullable columns. */
static int describe_keys(pml_data_file *f, pml_arena *arena, const pml_file_notes *n, const pml_column_stats *stats, pml_error *err)
{
    const pml_table_schema *schema = n->shape->schema;
    pml_field *fields = pml_arena__array(arena, schema->n_keys, sizeof *fields);
    pml_stats_mode *modes = pml_arena__array(arena, schema->n_keys, sizeof *modes);
    pml_column_stats *keys = pml_arena__array(arena, schema->n_keys, sizeof *keys);
    pml_string_list all;
    if (fields == NULL || modes == NULL || keys == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < schema->n_keys; i++) {
        fields[i] = schema->fields[schema->key_index[i]];
        keys[i] = stats[schema->key_index[i]];
        modes[i] = (pml_stats_mode){PML_STATS_TRUNCATE, SYSTEM_STATS_LENGTH};
    }
    f->min_key.ptr = pml_arena__copy(arena, n->first_key.data, n->first_key.len);
    f->max_key.ptr = pml_arena__copy(arena, n->last_key.data, n->last_key.len);
    f->min_key.len = n->first_key.len;
    f->max_key.len = n->last_key.len;
    if (f->min_key.ptr == NULL || f->max_key.ptr == NULL)
        return pml_error__no_memory(err);
    f->min_sequence = n->min_sequence;
    f->max_sequence = n->max_sequence;
    return pml_column_stats__encode(&f->key_stats, &all, arena, fields, schema->n_keys, modes, keys, false, err);
}

int pml_file_notes__describe(pml_data_file *out, pml_arena *arena, const pml_file_notes *n, bool stats_dense, pml_error *err)
{
    static const uint8_t no_fields[12];
    const pml_bytes empty_row = {no_fields, sizeof no_fields};
    const pml_table_schema *schema = n->shape->schema;
    pml_column_stats *stats = pml_env__calloc(n->env, schema->n_fields, sizeof *stats);
    int rc = PML_OK;
    if (stats == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < schema->n_fields; i++)
        pml_stats__get(&stats[i], n->stats, i);
    out->row_count = n->rows;
    out->delete_row_count = (pml_optional_int64){true, n->deletes};
    out->min_key = out->max_key = empty_row;
    out->key_stats = (pml_simple_stats){.min = empty_row, .max = empty_row, .has_null_counts = true};
    if (n->shape->keyed)
        PML_TRY(describe_keys(out, arena, n, stats, err));
    PML_TRY(pml_column_stats__encode(&out->value_stats, &out->value_stats_cols, arena, schema->fields, schema->n_fields, n->shape->modes,
                                     stats, stats_dense, err));
out:
    pml_env__free(n->env, stats);
    return rc;
}
