/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flights.h"
#include "view.h"

enum { ROWS_MAX = 100 * 1000 * 1000, LINE_MAX_BYTES = 4096 };

/* What the file says: one hash a line, so that rows are compared wherever they come. */
typedef struct source_rows {
    uint64_t *hashes;
    bool *seen;
    int64_t n;
} source_rows;

typedef struct findings {
    int64_t rows, distinct, different, foreign; /* different: other values; foreign: no such row number */
    uint64_t checksum;                          /* sum of the hashes of the table's rows */
} findings;

/* FNV-1a, then mixed, so that sums of hashes do not cancel out. */
static uint64_t hash_text(const char *text, size_t len)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 1099511628211u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 31);
}

/* The file writes null as NA, we print it as nothing. Returns the new length. */
static size_t blank_nulls(char *line, size_t len)
{
    size_t to = 0;
    for (size_t at = 0; at < len;) {
        size_t n = strcspn(line + at, ",\n");
        bool null = n == 2 && memcmp(line + at, "NA", 2) == 0;
        memmove(line + to, line + at, n);
        to += null ? 0 : n;
        at += n;
        if (at < len)
            line[to++] = line[at++];
    }
    return to;
}

static FILE *file_open(const char *csv)
{
    FILE *f = fopen(csv, "r");
    if (f == NULL)
        (void)fprintf(stderr, "demo: %s cannot be opened: %m\n", csv);
    return f;
}

int64_t verify_file_rows(const char *csv)
{
    char block[65536];
    int64_t lines = 0;
    FILE *f = file_open(csv);
    if (f == NULL)
        return -1;
    for (size_t n = fread(block, 1, sizeof block, f); n > 0; n = fread(block, 1, sizeof block, f))
        for (size_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    (void)fclose(f);
    return lines - 1;
}

static bool source_load(source_rows *s, const char *csv)
{
    char line[LINE_MAX_BYTES];
    int64_t rows = verify_file_rows(csv);
    FILE *f = rows < 0 || rows > ROWS_MAX ? NULL : file_open(csv);
    if (f == NULL)
        return false;
    s->hashes = calloc((size_t)rows + 1, sizeof *s->hashes);
    s->seen = calloc((size_t)rows + 1, sizeof *s->seen);
    bool ok = s->hashes != NULL && s->seen != NULL && fgets(line, sizeof line, f) != NULL; /* the header */
    while (ok && s->n < rows && fgets(line, sizeof line, f) != NULL)
        s->hashes[s->n++] = hash_text(line, blank_nulls(line, strcspn(line, "\n")));
    (void)fclose(f);
    return ok && s->n == rows;
}

/* One printed row: the line of the file, a comma, the row number. */
static void check_row(findings *f, source_rows *s, const char *text, size_t len)
{
    int64_t number = 0;
    size_t comma = len;
    while (comma > 0 && text[comma - 1] != ',')
        comma--;
    for (size_t i = comma; i < len && number <= ROWS_MAX; i++)
        number = text[i] < '0' || text[i] > '9' ? INT64_MAX / 16 : number * 10 + (text[i] - '0');
    f->rows++;
    if (comma == 0 || comma == len || number >= s->n) {
        f->foreign++;
        return;
    }
    uint64_t hash = hash_text(text, comma - 1);
    f->checksum += hash;
    f->different += hash != s->hashes[number];
    f->distinct += !s->seen[number];
    s->seen[number] = true;
}

static int check_stream(findings *f, source_rows *s, struct ArrowArrayStream *stream, pml_env *env, pml_error *err)
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
            check_row(f, s, text.ptr + at, len);
            at += len + 1;
        }
        pml_text_clear(&text);
    }
    pml_rows_printer_free(printer);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static int check_table(findings *f, source_rows *s, const char *warehouse, pml_error *err)
{
    pml_env *env = NULL;
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream = {0};
    int rc = pml_env_new(&env, NULL, err);
    if (rc == PML_OK)
        rc = flights_open(&table, env, warehouse, err);
    if (rc == PML_OK)
        rc = pml_scan_new(&scan, table, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(&plan, scan, err);
    if (rc == PML_OK)
        rc = pml_read_open(&stream, plan, NULL, err);
    if (rc == PML_OK)
        rc = check_stream(f, s, &stream, env, err);
    if (stream.release != NULL)
        stream.release(&stream);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_table_release(table);
    pml_env_release(env);
    return rc;
}

int verify_run(const char *warehouse, const char *csv)
{
    source_rows s = {0};
    findings f = {0};
    pml_error err = PML_ERROR_INIT;
    uint64_t want = 0;
    int rc = PML_E_IO;
    if (!source_load(&s, csv))
        (void)fprintf(stderr, "demo: %s could not be read\n", csv);
    else if ((rc = check_table(&f, &s, warehouse, &err)) != PML_OK)
        (void)fprintf(stderr, "demo: reading the table: %s (%s)\n", err.message, pml_error_name(rc));
    for (int64_t i = 0; i < s.n; i++)
        want += s.hashes[i];
    bool ok =
        rc == PML_OK && f.rows == s.n && f.distinct == s.n && f.different == 0 && f.foreign == 0 && f.checksum == want;
    if (rc == PML_OK) {
        char rows[VIEW_NUMBER], distinct[VIEW_NUMBER], of_file[VIEW_NUMBER];
        (void)printf("A fresh process read the committed table: %s rows, %s distinct row numbers; the file has %s.\n"
                     "Checksum of all columns: table %016" PRIx64 ", file %016" PRIx64 ".\n",
                     view_number(rows, f.rows), view_number(distinct, f.distinct), view_number(of_file, s.n),
                     f.checksum, want);
        if (!ok)
            (void)printf("MISMATCH: %" PRId64 " rows missing, %" PRId64 " doubled, %" PRId64
                         " with other values, %" PRId64 " foreign\n",
                         s.n - f.distinct, f.rows - f.distinct - f.foreign, f.different, f.foreign);
    }
    free(s.hashes);
    free(s.seen);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
