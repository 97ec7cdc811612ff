/* SPDX-License-Identifier: Apache-2.0 */
#include "table/text_file.h"

#include <string.h>

/* Keys, and what rows are merged by. */
static bool is_merged_by(const pml_table_schema *s, int32_t field_id)
{
    bool found = field_id == PML_ID_SEQUENCE || field_id == PML_ID_VALUE_KIND;
    for (size_t i = 0; i < s->n_keys && !found; i++)
        found = s->fields[s->key_index[i]].id == field_id;
    return found;
}

/* Keys of maps stay: no reader makes null ones. Depth is bounded by the parser of types. */
static void relax(pml_type *t)
{
    t->nullable = true;
    for (size_t i = 0; i < t->n_children; i++)
        if (t->kind != PML_TYPE_MAP || i > 0)
            relax(&t->children[i].type);
}

static int relax_fields(pml_field *fields, size_t n, pml_arena *arena, const pml_table_schema *s, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (is_merged_by(s, fields[i].id))
            continue;
        pml_type copy;
        if (pml_type__copy(&copy, arena, &fields[i].type) != PML_OK)
            return pml_error__no_memory(err);
        relax(&copy);
        fields[i].type = copy;
    }
    return PML_OK;
}

/* The columns of a file in its order: what was written of the schema. */
static int file_columns(pml_format_read *request, pml_arena *arena, const pml_written *w, pml_error *err)
{
    const pml_table_schema *s = w->schema;
    size_t n = w->columns->present ? w->columns->n : s->n_fields;
    const char **names = pml_arena__array(arena, n, sizeof *names);
    if (names == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        names[i] = w->columns->present ? w->columns->v[i] : s->fields[i].name;
    request->file_columns = names;
    request->n_file_columns = n;
    return PML_OK;
}

int pml_text_file__refuse(const pml_table_schema *s, const char *format, const char *name, pml_error *err)
{
    if (strcmp(format, "csv") != 0 || s->n_keys == 0)
        return PML_OK;
    return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, name,
                         "needs csv-primary-key: %s is CSV and its table has a primary key; Java 1.4.2 itself reads other columns of such files "
                         "for the wanted ones wherever it merges nothing",
                         name);
}

int pml_text_file__prepare(pml_format_read *request, pml_arena *arena, const pml_table *t, const char *format, const pml_written *w,
                           pml_field *fields, size_t n, pml_error *err)
{
    const pml_table_options *o = &t->options;
    request->text = strcmp(format, "csv") == 0 ? &o->csv : strcmp(format, "json") == 0 ? &o->json : strcmp(format, "text") == 0 ? &o->text : NULL;
    if (request->text == NULL)
        return PML_OK;
    PML_RETURN_IF(relax_fields(fields, n, arena, w->schema, err));
    return request->text == &o->csv ? file_columns(request, arena, w, err) : PML_OK;
}
