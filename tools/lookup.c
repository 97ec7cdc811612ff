/* SPDX-License-Identifier: Apache-2.0 */
/* pml lookup: the rows of keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "input_lines.h"
#include "key_words.h"
#include "output.h"
#include "scan.h"

enum { KEYS_AT_ONCE = 1024 };

typedef struct looker {
    struct app *app;
    pml_lookup *lookup;
    key_words keys;
    struct ArrowSchema schema; /* of rows */
    output_format format;
    output_rows *out; /* NULL: nothing was looked up yet */
    bool aligned; /* JSON: a line for each key */
    int64_t missing;
} looker;

static bool is_found(const struct ArrowArray *rows, int64_t i)
{
    const uint8_t *bits = rows->null_count == 0 ? NULL : rows->buffers[0];
    return bits == NULL || (bits[i / 8] >> (i % 8) & 1) != 0;
}

static int print_rows(looker *l, const struct ArrowArray *rows, pml_error *err)
{
    int rc = PML_OK;
    for (int64_t i = 0, end; rc == PML_OK && i < rows->length; i = end) {
        end = i + 1;
        if (is_found(rows, i)) {
            while (end < rows->length && is_found(rows, end))
                end++;
            rc = output_rows_put(l->out, rows, i, end - i, err);
            continue;
        }
        l->missing++;
        if (l->aligned) {
            app_puts("null\n");
            continue;
        }
        char *text = key_words_text(&l->keys, (size_t)i);
        (void)app_say(0, "there is no row with the key %s", text);
        free(text);
    }
    return rc;
}

static int answer(looker *l, const struct ArrowArray *keys, pml_error *err)
{
    struct ArrowArray rows = {0};
    int rc = pml_lookup_get(&rows, l->lookup, keys, &l->keys.schema, err);
    if (rc == PML_OK && l->out == NULL)
        rc = output_rows_new(&l->out, l->app, &l->schema, l->format, err);
    if (rc == PML_OK)
        rc = print_rows(l, &rows, err);
    if (rows.release != NULL)
        rows.release(&rows);
    return rc;
}

static int convert(struct ArrowArray *out, looker *l, size_t first, size_t n, pml_error *err)
{
    size_t width = (size_t)l->keys.schema.n_children;
    if (out->release != NULL)
        out->release(out);
    return pml_lookup_keys(out, l->lookup, l->keys.values + first * width, n * width, err);
}

/* One of the keys has a value that is none of its column: says which, with those before it answered. */
static int fail_at_wrong(looker *l, struct ArrowArray *keys)
{
    pml_error err = PML_ERROR_INIT;
    char text[sizeof err.message];
    size_t wrong = 0, last = key_words_count(&l->keys) - 1;
    int rc;
    while ((rc = convert(keys, l, wrong, 1, &err)) == PML_OK && wrong < last)
        wrong++;
    int64_t line = l->keys.lines[wrong];
    if (line == 0 || rc != PML_E_INVAL)
        return app_fail(rc, &err);
    if (wrong > 0) {
        pml_error other = PML_ERROR_INIT;
        int before = convert(keys, l, 0, wrong, &other);
        if (before == PML_OK)
            before = answer(l, keys, &other);
        if (before != PML_OK)
            return app_fail(before, &other);
    }
    (void)snprintf(text, sizeof text, "%s", err.message);
    (void)snprintf(err.message, sizeof err.message, "standard input, line %lld: %.400s", (long long)line, text);
    err.place = PML_PLACE_ROW; /* wrong input, not a wrong command line */
    return app_fail(rc, &err);
}

/* Those that were given so far. EXIT_OK or an exit code, said already. */
static int look(looker *l)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray keys = {0};
    int code = EXIT_OK, rc = convert(&keys, l, 0, key_words_count(&l->keys), &err);
    if (rc == PML_E_INVAL) {
        code = fail_at_wrong(l, &keys);
    } else {
        if (rc == PML_OK)
            rc = answer(l, &keys, &err);
        code = rc == PML_OK ? EXIT_OK : app_fail(rc, &err);
    }
    if (keys.release != NULL)
        keys.release(&keys);
    key_words_reset(&l->keys);
    return code;
}

static int add(looker *l, const char *word, size_t len)
{
    int code = key_words_add(&l->keys, word, len);
    return code != EXIT_OK || key_words_count(&l->keys) < KEYS_AT_ONCE ? code : look(l);
}

/* Shows all answers: who asks may wait for them with his next line. */
static int show(looker *l)
{
    int code = l->keys.n == 0 ? EXIT_OK : look(l);
    if (code == EXIT_OK && l->out != NULL)
        output_rows_flush(l->out);
    return code;
}

/* Lines of standard input; empty ones are passed over. As many at once as can be read without waiting. */
static int add_lines(looker *l)
{
    input_lines in = {0};
    const char *line;
    size_t len;
    int code = EXIT_OK;
    while (code == EXIT_OK && !input_lines_ended(&in)) {
        if (input_lines_take(&in, &line, &len)) {
            l->keys.line = in.number;
            if (len > 0)
                code = add(l, line, len);
            continue;
        }
        if (!input_lines_ready())
            code = show(l);
        if (code == EXIT_OK)
            code = input_lines_read(&in);
    }
    if (code != EXIT_OK && l->keys.n > 0) /* those before the wrong one */
        (void)look(l);
    l->keys.line = 0;
    input_lines_free(&in);
    return code;
}

static int look_up(looker *l, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    int code = EXIT_OK;
    int rc = key_words_init(&l->keys, l->lookup, &err);
    if (rc == PML_OK)
        rc = pml_lookup_schema(&l->schema, l->lookup, &err);
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    for (size_t i = 1; code == EXIT_OK && i < a->n_operands; i++)
        code = strcmp(a->operand[i], "-") == 0 ? add_lines(l) : add(l, a->operand[i], strlen(a->operand[i]));
    if (code == EXIT_OK && (l->keys.n > 0 || l->out == NULL))
        code = look(l);
    output_rows_end(l->out);
    key_words_free(&l->keys);
    if (l->schema.release != NULL)
        l->schema.release(&l->schema);
    return code == EXIT_OK && l->missing > 0 ? EXIT_NOT_FOUND : code;
}

static int run_lookup(struct app *app, const args *a)
{
    scan_request request = {.limit = -1, .columns = args_value(a, "columns")};
    pml_table *table = NULL;
    pml_scan *scan = NULL;
    looker l = {.app = app, .aligned = args_has(a, "aligned")};
    pml_error err = PML_ERROR_INIT;
    int code = output_format_get(&l.format, a);
    if (code == EXIT_OK)
        code = moment_get(&request.moment, a);
    if (code == EXIT_OK && args_has(a, "json"))
        l.format = OUTPUT_JSON;
    if (code == EXIT_OK && l.aligned && l.format != OUTPUT_JSON)
        code = args_wrong(a->command, "--aligned goes with --json");
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = scan_new(&scan, table, &request);
    if (code == EXIT_OK) {
        int rc = pml_lookup_open(&l.lookup, scan, NULL, &err);
        code = rc == PML_OK ? look_up(&l, a) : app_fail(rc, &err);
    }
    pml_lookup_close(l.lookup);
    pml_scan_free(scan);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static const args_option lookup_options[] = {{"columns", "a,b", "columns, in this order (default: all)"},
                                             {"json", NULL, "one JSON object a line: --format json"},
                                             OPTION_FORMAT,
                                             {"aligned", NULL, "with --json: a line for each key, null where there is no row"},
                                             OPTION_MOMENT,
                                             {"branch", "NAME", "a branch of the table"},
                                             {"option", "KEY=VALUE", "a table option for this command; may be repeated"},
                                             OPTION_WAREHOUSE,
                                             {NULL, NULL, NULL}};

const command command_lookup = {
    .name = "lookup",
    .operands = "TABLE KEY...",
    .operands_min = 2,
    .operands_max = ARGS_OPERANDS_MAX,
    .summary = "Print the rows that have these keys, of a table with a primary key.",
    .details = "KEY names every column of the primary key, partition columns too where they are part of it: id=7, or dt=2024-01-31,id=7\n"
               "(a comma ends a value only in front of another column of the key), or JSON: {\"dt\":\"2024-01-31\",\"id\":7}. Further members\n"
               "of the JSON are not looked at, so whole rows are keys, too. - reads keys from standard input, one a line, any number of\n"
               "them, and gives the answers so far before it waits for more.\n"
               "Rows come in the order of the keys, all of one snapshot: that which was the newest when the command began, or the one\n"
               "asked for; what is not committed is seen only by the process that wrote it. A key without a row is said on standard\n"
               "error, and the exit code is 4 then.\n"
               "Only the files in which the keys can be are read: on a large table that is far quicker than scan --where.\n",
    .examples = "  pml lookup users id=7 id=9 --columns id,name\n"
                "  pml lookup orders '{\"day\":\"2024-01-31\",\"id\":7}' --json\n"
                "  pml dump orders --snapshot 3 --columns day,id | pml lookup orders - --json --aligned\n",
    .options = lookup_options,
    .run = run_lookup};
