/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lookup_kit.h"

#include <stdlib.h>
#include <string.h>

#include <paimonlive/rows.h>

pml_lookup *lookup_kit_open(pml_table *t, pml_rt_context *ctx, const char *const *columns, size_t n_columns)
{
    pml_scan *scan;
    pml_lookup *l;
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_scan_new(&scan, t, &err), &err);
    must_ok(pml_scan_set_realtime(scan, ctx, &err), &err);
    if (columns != NULL)
        must_ok(pml_scan_set_columns(scan, columns, n_columns, &err), &err);
    must_ok(pml_lookup_open(&l, scan, NULL, &err), &err);
    pml_scan_free(scan);
    return l;
}

bool lookup_kit_is_found(const struct ArrowArray *rows, int64_t i)
{
    const uint8_t *bits = rows->buffers[0];
    return bits == NULL || (bits[i / 8] >> (i % 8) & 1) != 0;
}

int lookup_kit_ask(struct ArrowArray *out, pml_lookup *l, const char *const *keys, size_t n_texts, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray in = {0};
    pml_literal *values = calloc(n_texts + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n_texts; i++)
        values[i] = (pml_literal){keys[i], strlen(keys[i])};
    memset(out, 0, sizeof *out);
    int rc = pml_lookup_key_schema(&schema, l, err);
    if (rc == PML_OK)
        rc = pml_lookup_keys(&in, l, values, n_texts, err);
    if (rc == PML_OK)
        rc = pml_lookup_get(out, l, &in, &schema, err);
    int64_t missing = 0;
    for (int64_t i = 0; rc == PML_OK && i < out->length; i++)
        missing += !lookup_kit_is_found(out, i);
    assert_true(rc != PML_OK || missing == out->null_count);
    if (schema.release != NULL)
        schema.release(&schema);
    if (in.release != NULL)
        in.release(&in);
    free(values);
    return rc;
}

static int print(char **lines, pml_env *env, const struct ArrowSchema *schema, const struct ArrowArray *rows, pml_error *err)
{
    pml_rows_printer *p;
    pml_text text = {0};
    int rc = pml_rows_printer_new(&p, env, schema, PML_ROWS_JSON, err);
    for (int64_t i = 0; rc == PML_OK && i < rows->length; i++) {
        if (!lookup_kit_is_found(rows, i))
            continue;
        text.len = 0;
        rc = pml_rows_print(&text, p, rows, i, 1, err);
        if (rc == PML_OK)
            lines[i] = strndup(text.ptr, text.len - 1);
    }
    pml_text_clear(&text);
    pml_rows_printer_free(p);
    return rc;
}

int lookup_kit_try(char ***out, pml_lookup *l, pml_env *env, const char *const *keys, size_t n_texts, size_t n, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray rows;
    char **lines = calloc(n + 1, sizeof *lines);
    assert_non_null(lines);
    int rc = lookup_kit_ask(&rows, l, keys, n_texts, err);
    if (rc == PML_OK)
        rc = pml_lookup_schema(&schema, l, err);
    if (rc == PML_OK) {
        assert_int_equal(rows.length, n);
        rc = print(lines, env, &schema, &rows, err);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (rows.release != NULL)
        rows.release(&rows);
    if (rc != PML_OK) {
        lookup_kit_free(lines, n);
        lines = NULL;
    }
    *out = lines;
    return rc;
}

char **lookup_kit_get(pml_lookup *l, pml_env *env, const char *const *keys, size_t n_texts, size_t n)
{
    char **lines;
    pml_error err = PML_ERROR_INIT;
    must_ok(lookup_kit_try(&lines, l, env, keys, n_texts, n, &err), &err);
    return lines;
}

void lookup_kit_free(char **lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
}
