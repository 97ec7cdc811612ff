/* SPDX-License-Identifier: Apache-2.0 */
#include "app.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exit_code(int rc, const pml_error *err)
{
    switch (rc) {
    case PML_E_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case PML_E_NOT_FOUND:
    case PML_E_SNAPSHOT_GONE: return EXIT_NOT_FOUND;
    case PML_E_CONFLICT:
    case PML_E_UNKNOWN_OUTCOME:
    case PML_E_BUSY: return EXIT_CONFLICT;
    case PML_E_INVAL: /* a wrong row is wrong input, not a wrong command line */
        return err->place == PML_PLACE_ROW ? EXIT_ERROR : EXIT_USAGE;
    default: return EXIT_ERROR;
    }
}

int app_fail(int rc, const pml_error *err)
{
    (void)fprintf(stderr, "pml: %s\n", err->message[0] == '\0' ? pml_error_name(rc) : err->message);
    if (err->file[0] != '\0' && strstr(err->message, err->file) == NULL)
        (void)fprintf(stderr, "     in %s\n", err->file);
    return exit_code(rc, err);
}

int app_say(int code, const char *format, ...)
{
    va_list list;
    (void)fputs("pml: ", stderr);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
    return code;
}

int app_confirm(const args *a, const char *format, ...)
{
    char what[512], answer[16];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (args_has(a, "yes"))
        return EXIT_OK;
    if (!isatty(STDIN_FILENO))
        return args_wrong(a->command, "%s would be removed: repeat with --yes", what);
    (void)fprintf(stderr, "Remove %s? [y/N] ", what);
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
        return EXIT_OK;
    return app_say(EXIT_ERROR, "nothing was removed");
}

void *app_alloc(size_t n)
{
    return app_realloc(NULL, n);
}

void *app_realloc(void *p, size_t n)
{
    void *q = realloc(p, n == 0 ? 1 : n);
    if (q == NULL)
        exit(app_say(EXIT_ERROR, "no memory"));
    return q;
}

char *app_strndup(const char *s, size_t n)
{
    char *p = app_alloc(n + 1);
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

/* ---- TABLE ---- */

const char *app_warehouse(const args *a)
{
    const char *dir = args_value(a, "warehouse");
    if (dir == NULL)
        dir = getenv("PML_WAREHOUSE");
    return dir == NULL || dir[0] == '\0' ? "./warehouse" : dir;
}

bool app_is_table(const char *name)
{
    struct stat st;
    size_t n = strlen(name) + sizeof "/schema";
    char *path = app_alloc(n);
    (void)snprintf(path, n, "%s/schema", name);
    bool is = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    free(path);
    return is;
}

int app_table_path(char **path, struct app *app, const args *a, const char *table)
{
    pml_error err = PML_ERROR_INIT;
    pml_catalog *catalog = NULL;
    pml_text text = {0};
    *path = NULL;
    if (strncmp(table, "file:", 5) == 0) { /* file:/x, file:///x, file://localhost/x: the path is what counts */
        table += 5;
        if (strncmp(table, "//", 2) == 0) {
            const char *host = table + 2;
            table = strchr(host, '/');
            size_t n = table == NULL ? 0 : (size_t)(table - host);
            if (table == NULL || (n > 0 && (n != 9 || strncmp(host, "localhost", 9) != 0)))
                return app_say(EXIT_USAGE, "file://%s is no path on this machine: write file:///path", host);
        }
        *path = app_strndup(table, strlen(table));
        return table[0] != '\0' ? EXIT_OK : app_say(EXIT_USAGE, "file: is no path: write file:///path");
    }
    if (strchr(table, '/') != NULL || app_is_table(table)) {
        *path = app_strndup(table, strlen(table));
        return EXIT_OK;
    }
    int rc = pml_catalog_open(&catalog, app->env, app_warehouse(a), &err);
    if (rc == PML_OK)
        rc = pml_catalog_table_path(&text, catalog, table, &err);
    if (rc == PML_OK)
        *path = app_strndup(text.ptr, text.len);
    pml_text_clear(&text);
    if (catalog != NULL)
        pml_catalog_release(catalog);
    return rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
}

bool app_split_pair(char *text, pml_option_pair *pair)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return false;
    *equals = '\0';
    pair->key = text;
    pair->value = equals + 1;
    return true;
}

int app_table_open(pml_table **out, struct app *app, const args *a, const char *table)
{
    pml_table_open_options options = PML_TABLE_OPEN_OPTIONS_INIT;
    pml_option_pair pairs[ARGS_GIVEN_MAX];
    char *texts[ARGS_GIVEN_MAX], *path = NULL;
    const char *text;
    size_t n = 0;
    int code = EXIT_OK;
    *out = NULL;
    while (code == EXIT_OK && n < ARGS_GIVEN_MAX && (text = args_nth(a, "option", n)) != NULL) {
        texts[n] = app_strndup(text, strlen(text));
        if (!app_split_pair(texts[n], &pairs[n]))
            code = args_wrong(a->command, "--option wants KEY=VALUE, not \"%s\"", text);
        n++;
    }
    if (code == EXIT_OK)
        code = app_table_path(&path, app, a, table);
    if (code == EXIT_OK) {
        pml_error err = PML_ERROR_INIT;
        options.n_options = n;
        options.options = pairs;
        options.branch = args_value(a, "branch");
        int rc = pml_table_open(out, app->env, path, &options, &err);
        if (rc != PML_OK)
            code = app_fail(rc, &err);
    }
    free(path);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    return code;
}

size_t app_split_list(char ***names, const char *text)
{
    size_t n = 0, cap = 0;
    *names = NULL;
    for (const char *p = text;; p++) {
        const char *end = p + strcspn(p, ","), *stop = end;
        p += strspn(p, " \t");
        while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        if (n == cap) {
            cap = cap == 0 ? 8 : cap * 2;
            *names = app_realloc(*names, cap * sizeof **names);
        }
        if (stop > p)
            (*names)[n++] = app_strndup(p, (size_t)(stop - p));
        if (*end == '\0')
            return n;
        p = end;
    }
}

void app_list_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* ---- standard output ---- */

static _Noreturn void output_lost(void)
{
    int e = errno;
    if (e == EPIPE)
        _exit(EXIT_OK); /* the reader has seen enough; nothing may be said */
    _exit(app_say(EXIT_ERROR, "writing to standard output failed: %s",
                  e == ENOSPC ? "no space left"
                  : e == EIO  ? "input/output error"
                              : "the file took no more bytes"));
}

void app_write(const void *p, size_t n)
{
    if (n > 0 && fwrite(p, 1, n, stdout) != n)
        output_lost();
}

void app_puts(const char *s)
{
    app_write(s, strlen(s));
}

void app_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        output_lost();
}
