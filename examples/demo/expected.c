/* SPDX-License-Identifier: Apache-2.0 */
#include "expected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "timetable.h"

enum { LINE_MAX_BYTES = 4096 };

/* FNV-1a, then mixed, so that sums of hashes do not cancel out. */
uint64_t expected_hash(const char *text, size_t len)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 1099511628211u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 31);
}

static bool make_room(expected *e, int64_t rows)
{
    *e = (expected){.hashes = calloc((size_t)rows + 1, sizeof *e->hashes),
                    .seen = calloc((size_t)rows + 1, sizeof *e->seen)};
    return e->hashes != NULL && e->seen != NULL;
}

void expected_free(expected *e)
{
    free(e->hashes);
    free(e->seen);
    *e = (expected){0};
}

/* ---- the lines of the file ---- */

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

int64_t expected_file_rows(const char *csv)
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

bool expected_flights(expected *e, const char *warehouse, const char *csv)
{
    char line[LINE_MAX_BYTES];
    int64_t rows = expected_file_rows(csv);
    FILE *f = rows < 0 ? NULL : file_open(csv);
    (void)warehouse;
    *e = (expected){0};
    if (f == NULL)
        return false;
    bool ok = make_room(e, rows) && fgets(line, sizeof line, f) != NULL; /* the header */
    while (ok && e->n < rows && fgets(line, sizeof line, f) != NULL)
        e->hashes[e->n++] = expected_hash(line, blank_nulls(line, strcspn(line, "\n")));
    (void)fclose(f);
    if (!ok || e->n != rows)
        (void)fprintf(stderr, "demo: %s could not be read\n", csv);
    return ok && e->n == rows;
}

/* ---- the model ---- */

static int load_model(expected *e, pml_env *env, const char *warehouse, const char *csv, pml_error *err)
{
    timetable t;
    char text[FLIGHT_TEXT_MAX];
    int rc = timetable_load(&t, env, warehouse, csv, err);
    if (rc == PML_OK && !make_room(e, t.file.n))
        rc = error_no_memory(err);
    for (int64_t i = 0; rc == PML_OK && i < t.file.n; i++) {
        flight f = timetable_model(&t, i, timetable_kinds(&t, i));
        size_t len = flight_print(text, &f);
        while (len > 0 && text[len - 1] != ',') /* the row number, its last column */
            len--;
        e->hashes[e->n++] = expected_hash(text, len == 0 ? 0 : len - 1);
    }
    timetable_free(&t);
    return rc;
}

bool expected_flight_status(expected *e, const char *warehouse, const char *csv)
{
    pml_error err = PML_ERROR_INIT;
    pml_env *env = NULL;
    *e = (expected){0};
    int rc = pml_env_new(&env, NULL, &err);
    if (rc == PML_OK)
        rc = load_model(e, env, warehouse, csv, &err);
    pml_env_release(env);
    if (rc != PML_OK)
        (void)fprintf(stderr, "demo: reading %s: %s (%s)\n", csv, err.message, pml_error_name(rc));
    return rc == PML_OK;
}
