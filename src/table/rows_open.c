/* SPDX-License-Identifier: Apache-2.0 */
/* Which maker reads an input. */
#include <string.h>
#include <strings.h>

#include "columnar/batch.h"
#include "merge/merge_options.h"
#include "merge/row_order.h"
#include "table/rows_input.h"
#include "table/table.h"

enum { ROWS_BATCH_DEFAULT = 8192, ROWS_BATCH_MAX = 1024 * 1024 };

static bool name_ends(const char *name, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && strncasecmp(name + len - n, end, n) == 0;
}

int pml_rows_input__check_columns(const pml_rows_input *in, const char *const *names, size_t n, pml_error *err)
{
    const char *file = strcmp(in->path, "-") == 0 ? "standard input" : in->path;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < in->n_fields && strcmp(in->fields[k].name, names[i]) != 0)
            k++;
        if (k == in->n_fields)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, file,
                                 "%s has a column \"%.100s\" that the table %s lacks", file, names[i],
                                 pml_table_path(in->table));
        for (size_t before = 0; before < i; before++) /* all of those are columns of the table: not many */
            if (strcmp(names[before], names[i]) == 0)
                return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, file, "%s has two columns \"%.100s\"", file,
                                     names[i]);
    }
    for (size_t k = 0; k < in->n_fields; k++) {
        size_t i = 0;
        while (i < n && strcmp(in->fields[k].name, names[i]) != 0)
            i++;
        if (i == n && !in->fields[k].type.nullable)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, file, "%s lacks the column \"%s\", which is NOT NULL",
                                 file, in->fields[k].name);
    }
    return PML_OK;
}

int pml_rows_input__wrong_row(int rc, const char *file, pml_error *err)
{
    if (rc != PML_E_INVAL || err == NULL)
        return rc;
    err->place = PML_PLACE_ROW;
    return strstr(err->message, file) != NULL ? rc : pml_error__prefix(err, rc, "%s", file);
}

static int find_sequence(pml_rows_kinds *k, const pml_table *t, pml_error *err)
{
    const pml_merge_options options = {t->schema, t->overrides, t->n_overrides};
    int32_t *columns = pml_arena__array(&k->function.arena, t->schema->n_fields, sizeof *columns);
    k->sequence = columns;
    return columns == NULL ? pml_error__no_memory(err) : pml_merge_options__sequence_columns(columns, &k->n_sequence, &options, t->path, err);
}

int pml_rows_kinds__init(pml_rows_kinds *out, const pml_table *t, bool realtime, pml_error *err)
{
    memset(out, 0, sizeof *out);
    if (t->schema->n_keys == 0)
        return PML_OK;
    int rc = pml_write_function__init(&out->function, t->env, t->schema, t->overrides, t->n_overrides, NULL);
    if (rc != PML_OK)
        return rc == PML_E_NOMEM ? pml_error__no_memory(err) : PML_OK;
    rc = pml_row_kinds__init(&out->rule, t, &out->function.function, NULL);
    out->realtime = realtime;
    if (rc == PML_OK && realtime)
        rc = find_sequence(out, t, NULL);
    out->on = rc == PML_OK;
    if (!out->on)
        pml_write_function__clear(&out->function);
    return rc == PML_E_NOMEM ? pml_error__no_memory(err) : PML_OK;
}

void pml_rows_kinds__clear(pml_rows_kinds *k)
{
    if (k->on)
        pml_write_function__clear(&k->function);
    k->on = false;
}

int pml_rows_kinds__check(int64_t *wrong, const pml_rows_kinds *k, const struct ArrowArray *batch, const int8_t *given, pml_error *err)
{
    *wrong = -1;
    if (!k->on)
        return PML_OK;
    const pml_table_schema *s = k->rule.table->schema;
    PML_RETURN_IF(pml_row_kinds__check(wrong, &k->rule, batch, given, err));
    if (!k->realtime)
        return PML_OK;
    PML_RETURN_IF(pml_row_order__check_values(wrong, s->fields, batch->children, batch->length, s->key_index, s->n_keys, true, err));
    return pml_row_order__check_values(wrong, s->fields, batch->children, batch->length, k->sequence, k->n_sequence, false, err);
}

int pml_rows_input__check_batch(const char *file, const pml_field *fields, size_t n, const pml_rows_kinds *kinds,
                                const struct ArrowArray *batch, int64_t row, pml_error *err)
{
    int64_t wrong;
    for (size_t i = 0; i < n; i++) {
        const struct ArrowArray *a = batch->children[i];
        if (fields[i].type.nullable || a->n_buffers == 0 || a->buffers[0] == NULL || a->null_count == 0)
            continue;
        for (int64_t k = 0; k < a->length; k++)
            if (!pml_bit_get(a->buffers[0], a->offset + k))
                return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, file,
                                     "%s, row %lld: column \"%s\" is NOT NULL, the row has null", file,
                                     (long long)(row + k + 1), fields[i].name);
    }
    PML_RETURN_IF(pml_rows_input__wrong_row(pml_batch__check(batch, fields, n, PML_CHECK_FULL, err), file, err));
    int rc = pml_rows_kinds__check(&wrong, kinds, batch, NULL, err);
    return rc == PML_OK ? rc : pml_error__prefix(err, rc, "%s, row %lld", file, (long long)(row + wrong + 1));
}

static int format_from_name(int32_t *format, const char *path, pml_error *err)
{
    size_t len = strlen(path);
    *format = PML_ROWS_AUTO;
    if (strcmp(path, "-") == 0) {
        *format = PML_ROWS_JSON;
        return PML_OK;
    }
    if (name_ends(path, len, ".gz"))
        len -= 3;
    if (name_ends(path, len, ".jsonl") || name_ends(path, len, ".json") || name_ends(path, len, ".ndjson"))
        *format = PML_ROWS_JSON;
    else if (name_ends(path, len, ".csv"))
        *format = PML_ROWS_CSV;
    else if (name_ends(path, strlen(path), ".parquet"))
        *format = PML_ROWS_PARQUET;
    if (*format == PML_ROWS_AUTO)
        return pml_error__at(
            err, PML_E_INVAL, PML_PLACE_ARGUMENT, path,
            "the name of %s does not say its format (.jsonl, .json, .ndjson, .csv, .parquet): name the format", path);
    return PML_OK;
}

int pml_rows_open(struct ArrowArrayStream *out, pml_table *table, const char *path, const pml_rows_options *options,
                  pml_error *err)
{
    static const pml_rows_options defaults = PML_ROWS_OPTIONS_INIT;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    memset(out, 0, sizeof *out);
    if (options == NULL)
        options = &defaults;
    if (options->struct_size != sizeof *options)
        return pml_error__set(err, PML_E_INVAL, "pml_rows_options has the size %zu, this library knows %zu",
                              options->struct_size, sizeof *options);
    if (options->batch_rows < 0 || options->batch_rows > ROWS_BATCH_MAX)
        return pml_error__set(err, PML_E_INVAL, "batch_rows must be 1 to %d, not %lld", ROWS_BATCH_MAX,
                              (long long)options->batch_rows);
    pml_rows_input in = {.env = pml_table_env(table), .table = table, .path = path, .options = options};
    in.batch_rows = options->batch_rows == 0 ? ROWS_BATCH_DEFAULT : options->batch_rows;
    in.fields = pml_table__fields(table, &in.n_fields);
    int32_t format = options->format;
    if (format == PML_ROWS_AUTO)
        PML_RETURN_IF(format_from_name(&format, path, err));
    switch (format) {
    case PML_ROWS_JSON: return pml_rows_json__open(out, &in, err);
    case PML_ROWS_CSV: return pml_rows_csv__open(out, &in, err);
    case PML_ROWS_PARQUET: return pml_rows_parquet__open(out, &in, err);
    default: return pml_error__set(err, PML_E_INVAL, "rows cannot be read as format %d", format);
    }
}
