/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file_checks.h"

static int check_number(int64_t got, int64_t expected, const char *what, const char *path, pml_error *err)
{
    if (expected <= 0 || got == expected)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                         "%s has %lld %s, its manifest says %lld: it is not the file that was written", path, (long long)got, what,
                         (long long)expected);
}

int pml_file__check_bytes(int64_t bytes, const char *path, const pml_format_read *q, pml_error *err)
{
    return check_number(bytes, q->expect_bytes, "bytes", path, err);
}

int pml_file__check_rows(int64_t rows, const char *path, const pml_format_read *q, pml_error *err)
{
    return check_number(rows, q->expect_rows, "rows", path, err);
}

int pml_file__check_batch(const struct ArrowArray *batch, const char *path, const pml_field *fields, size_t n_fields, pml_error *err)
{
    pml_error why = PML_ERROR_INIT;
    if (pml_batch__check(batch, fields, n_fields, PML_CHECK_FULL, &why) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                         "%s is damaged, or its writer broke the rules: %s (counted from the start of a batch; read.validate = basic "
                         "takes the values as they are)",
                         path, why.message);
}

const pml_field *pml_file__copy_fields(pml_arena *arena, const pml_format_read *q)
{
    pml_field *fields = pml_arena__array(arena, q->n_fields, sizeof *fields);
    for (size_t i = 0; fields != NULL && i < q->n_fields; i++) {
        fields[i] = q->fields[i];
        fields[i].name = pml_arena__strdup(arena, q->fields[i].name);
        if (fields[i].name == NULL || pml_type__copy(&fields[i].type, arena, &q->fields[i].type) != PML_OK)
            return NULL;
    }
    return fields;
}
