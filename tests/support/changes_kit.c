/* SPDX-License-Identifier: Apache-2.0 */
#include "support/changes_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/table_kit.h"

enum { PAIRS_MAX = 8, LINES_MAX = 4096 };

static const char *java_path(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", PML_JAVA_TABLES, name);
    return path;
}

int changes_try_open(pml_table **out, test_env *t, const char *path, const char *const *options, pml_error *err)
{
    pml_table_open_options o = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_option_pair pairs[PAIRS_MAX];
    size_t n = 0;
    for (; options != NULL && options[2 * n] != NULL; n++)
        pairs[n] = (pml_option_pair){options[2 * n], options[2 * n + 1]};
    o.options = pairs;
    o.n_options = n;
    return pml_table_open(out, t->env, path, &o, err);
}

pml_table *changes_open(test_env *t, const char *name, const char *const *options)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *table;
    must_ok(changes_try_open(&table, t, java_path(name), options, &err), &err);
    return table;
}

const char *changes_copy(test_env *t, const char *name)
{
    const char *to = test_path(t, name);
    kit_copy_tree(to, java_path(name));
    return to;
}

int changes_read(pml_text *text, int64_t *rows, pml_plan *plan, uint32_t threads, pml_error *err)
{
    pml_read_options o = PML_READ_OPTIONS_INIT;
    o.flags = PML_READ_ROW_KIND;
    o.threads = threads;
    return rows_read(text, rows, plan, &o, PML_ROWS_JSON, err);
}

static int line_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void changes_sort(pml_text *text)
{
    static char *lines[LINES_MAX];
    size_t n = 0, at = 0;
    char *copy = malloc(text->len + 1);
    assert_non_null(copy);
    if (text->len > 0)
        memcpy(copy, text->ptr, text->len);
    copy[text->len] = '\0';
    for (char *p = copy; *p != '\0'; p++) {
        assert_true(n < LINES_MAX);
        lines[n++] = p;
        p += strcspn(p, "\n");
        *p = '\0';
    }
    qsort(lines, n, sizeof *lines, line_compare);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(lines[i]);
        memcpy(text->ptr + at, lines[i], len);
        at += len;
        text->ptr[at++] = '\n';
    }
    assert_int_equal(at, text->len);
    free(copy);
}

void changes_must_be(const pml_text *text, const char *expected)
{
    size_t len;
    uint8_t *want = test_read_file(java_path(expected), &len);
    if (len != text->len || memcmp(want, text->ptr, len) != 0)
        fail_msg("%s: Java has\n%.*s\nwe have\n%.*s", expected, (int)len, (const char *)want, (int)text->len, text->len > 0 ? text->ptr : "");
    free(want);
}
