/* SPDX-License-Identifier: Apache-2.0 */
#include "table/row_tracking.h"

#include <string.h>

#include "columnar/array_memory.h"
#include "format/file_format.h"

const pml_field pml_row_tracking_fields[PML_TRACKING_COLUMNS] = {
    {.id = PML_ID_ROW_ID, .name = "_ROW_ID", .type = {.kind = PML_TYPE_BIGINT}},
    {.id = PML_ID_SEQUENCE, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}}};

int pml_row_tracking__extend(const pml_table_schema **out, pml_arena *arena, const pml_table_schema *schema, const pml_field *extra,
                             size_t n, pml_error *err)
{
    pml_table_schema *s = pml_arena__copy(arena, schema, sizeof *s);
    pml_field *fields = pml_arena__array(arena, schema->n_fields + n, sizeof *fields);
    if (s == NULL || fields == NULL)
        return pml_error__no_memory(err);
    memcpy(fields, schema->fields, schema->n_fields * sizeof *fields);
    memcpy(fields + schema->n_fields, extra, n * sizeof *fields);
    s->fields = fields;
    s->n_fields += n;
    *out = s;
    return PML_OK;
}

bool pml_row_tracking__is(const pml_table_schema *s)
{
    return s->n_fields >= PML_TRACKING_COLUMNS && s->fields[s->n_fields - PML_TRACKING_COLUMNS].id == PML_ID_ROW_ID;
}

bool pml_row_tracking__has(const pml_table_schema *s, int32_t field_id)
{
    return pml_row_tracking__is(s) && (field_id == PML_ID_ROW_ID || field_id == PML_ID_SEQUENCE);
}

int pml_row_tracking__store(pml_assembly *a, pml_arena *arena, pml_error *err)
{
    pml_field *stored = pml_arena__array(arena, a->n + 1, sizeof *stored);
    if (stored == NULL)
        return pml_error__no_memory(err);
    if (a->n_stored > 0)
        memcpy(stored, a->stored_fields, a->n_stored * sizeof *stored);
    for (size_t i = 0; i < a->n; i++) {
        if (a->fields[i].id != PML_ID_ROW_ID && a->fields[i].id != PML_ID_SEQUENCE)
            continue;
        a->columns[i].stored = (int32_t)a->n_stored;
        stored[a->n_stored] = a->fields[i];
        stored[a->n_stored++].type.nullable = true;
        a->n_tracked++;
    }
    if (a->n_tracked > 0)
        stored[a->n_stored++] = pml_format_position;
    a->stored_fields = stored;
    return PML_OK;
}

int pml_row_tracking__check(const pml_data_file *f, const char *path, pml_error *err)
{
    int64_t end;
    if (!f->first_row_id.present || !__builtin_add_overflow(f->first_row_id.v, f->row_count, &end))
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path, "%s has %lld rows from id %lld on: the ids pass 2^63", path,
                         (long long)f->row_count, (long long)f->first_row_id.v);
}

static int no_ids(const char *path, pml_error *err)
{
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                         "needs system-table:row_tracking: %s has no first row id and does not store _ROW_ID, so its rows have no ids (a "
                         "compaction of Java 1.4.2 leaves such files): ask for other columns",
                         path);
}

/* The column with its nulls filled, in owned memory. */
static int fill_column(int64_t **out, const pml_assembly *a, const pml_field *field, const pml_data_file *f, const char *path,
                       const struct ArrowArray *column, const struct ArrowArray *positions, pml_error *err)
{
    int64_t *values = pml_env__alloc(a->env, ((size_t)column->length + 1) * sizeof *values);
    bool is_id = field->id == PML_ID_ROW_ID;
    *out = values;
    if (values == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < column->length; i++) {
        pml_value stored, at;
        pml_value__get(&stored, &field->type, column, i);
        pml_value__get(&at, &pml_format_position.type, positions, i);
        if (stored.kind != PML_VALUE_NULL)
            values[i] = stored.i;
        else if (!is_id)
            values[i] = f->max_sequence;
        else if (f->first_row_id.present)
            values[i] = f->first_row_id.v + at.i; /* pml_row_tracking__check */
        else
            return no_ids(path, err);
    }
    return PML_OK;
}

int pml_row_tracking__fill(const pml_assembly *a, const pml_data_file *f, const char *path, struct ArrowArray *batch, pml_error *err)
{
    const struct ArrowArray *positions = a->n_tracked == 0 ? NULL : batch->children[a->n_stored - 1];
    for (size_t i = a->n_stored - 1 - a->n_tracked; a->n_tracked > 0 && i < a->n_stored - 1; i++) {
        struct ArrowArray filled;
        int64_t *values;
        int rc = fill_column(&values, a, &a->stored_fields[i], f, path, batch->children[i], positions, err);
        if (rc == PML_OK)
            rc = pml_array__init(&filled, a->env, NULL, 2, 0, err);
        if (rc != PML_OK) {
            pml_env__free(a->env, values);
            return rc;
        }
        filled.length = batch->length;
        pml_array__adopt(&filled, 1, values);
        batch->children[i]->release(batch->children[i]);
        *batch->children[i] = filled;
    }
    return PML_OK;
}
