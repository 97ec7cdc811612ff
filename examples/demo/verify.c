/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

typedef struct findings {
    int64_t rows, distinct, different, foreign; /* different: other values; foreign: no such row number */
    uint64_t checksum;                          /* sum of the hashes of the table's rows */
} findings;

/* One printed row: its columns as expected, a comma, the row number. */
static void check_row(findings *f, expected *e, const char *text, size_t len)
{
    int64_t number = 0;
    size_t comma = len;
    while (comma > 0 && text[comma - 1] != ',')
        comma--;
    for (size_t i = comma; i < len && number <= e->n; i++)
        number = text[i] < '0' || text[i] > '9' ? INT64_MAX / 16 : number * 10 + (text[i] - '0');
    f->rows++;
    if (comma == 0 || comma == len || number >= e->n) {
        f->foreign++;
        return;
    }
    uint64_t hash = expected_hash(text, comma - 1);
    f->checksum += hash;
    f->different += hash != e->hashes[number];
    f->distinct += !e->seen[number];
    e->seen[number] = true;
}

static int check_stream(findings *f, expected *e, struct ArrowArrayStream *stream, pml_env *env, pml_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    pml_rows_printer *printer = NULL;
    int rc = stream->get_schema(stream, &schema) != 0 ? pml_stream_error(stream, err) : PML_OK;
    if (rc == PML_OK)
        rc = pml_rows_printer_new(&printer, env, &schema, PML_ROWS_CSV, err);
    while (rc == PML_OK) {
        pml_text text = {0};
        if (stream->get_next(stream, &batch) != 0)
            rc = pml_stream_error(stream, err);
        if (rc != PML_OK || batch.release == NULL)
            break;
        rc = pml_rows_print(&text, printer, &batch, 0, batch.length, err);
        batch.release(&batch);
        for (size_t at = 0; rc == PML_OK && at < text.len;) {
            size_t len = strcspn(text.ptr + at, "\n");
            check_row(f, e, text.ptr + at, len);
            at += len + 1;
        }
        pml_text_clear(&text);
    }
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static int check_table(findings *f, expected *e, const demo_table *t, const char *warehouse, pml_error *err)
{
    pml_env *env = NULL;
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    int rc = pml_env_new(&env, NULL, err);
    if (rc == PML_OK)
        rc = table_open(&table, t, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_scan_new(&scan, table, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    if (rc == PML_OK)
        rc = check_stream(f, e, &stream, env, err);
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    pml_env_release(env);
    return rc;
}

static void print_findings(const findings *f, const expected *e, uint64_t want, bool ok)
{
    char number[3][VIEW_NUMBER];
    (void)printf("A fresh process read the committed table: %s rows, %s distinct row numbers; the file has %s.\n"
                 "Checksum of all columns: table %016" PRIx64 ", expected %016" PRIx64 ".\n",
                 view_number(number[0], f->rows), view_number(number[1], f->distinct), view_number(number[2], e->n),
                 f->checksum, want);
    if (!ok)
        (void)printf("MISMATCH: %" PRId64 " rows missing, %" PRId64 " doubled, %" PRId64 " with other values, %" PRId64
                     " foreign\n",
                     e->n - f->distinct, f->rows - f->distinct - f->foreign, f->different, f->foreign);
}

int verify_run(const demo_table *table, bool (*expect)(expected *, const char *, const char *), const char *warehouse,
               const char *csv)
{
    expected e;
    findings f = {0};
    pml_error err = PML_ERROR_INIT;
    uint64_t want = 0;
    bool ok = expect(&e, warehouse, csv);
    int rc = ok ? check_table(&f, &e, table, warehouse, &err) : PML_OK;
    if (rc != PML_OK)
        (void)fprintf(stderr, "demo: reading the table: %s (%s)\n", err.message, pml_error_name(rc));
    for (int64_t i = 0; i < e.n; i++)
        want += e.hashes[i];
    if (ok && rc == PML_OK) {
        ok = f.rows == e.n && f.distinct == e.n && f.different == 0 && f.foreign == 0 && f.checksum == want;
        print_findings(&f, &e, want, ok);
    }
    expected_free(&e);
    return ok && rc == PML_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
