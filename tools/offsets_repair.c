/* SPDX-License-Identifier: Apache-2.0 */
/* pml offsets repair and clean. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_text.h"
#include "commands.h"
#include "output.h"
#include "partition.h"

/* ---- statements ---- */

typedef struct statements {
    size_t n, n_keys;
    pml_rt_pb *pbs;
    pml_rt_statement *v;
    const char **values; /* n * n_keys, they point into texts */
    char **texts;
} statements;

static void statements_init(statements *s, size_t n, size_t n_keys)
{
    *s = (statements){.n_keys = n_keys};
    s->pbs = app_alloc(n * sizeof *s->pbs);
    s->v = app_alloc(n * sizeof *s->v);
    s->values = app_alloc(n * n_keys * sizeof *s->values);
    s->texts = app_alloc(n * sizeof *s->texts);
}

static void statements_free(statements *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->texts[i]);
    free(s->pbs);
    free(s->v);
    free(s->values);
    free(s->texts);
    *s = (statements){0};
}

static bool parse_number(int64_t *out, const char *text, int64_t high)
{
    bool good = text[0] != '\0';
    *out = 0;
    for (const char *p = text; good && *p != '\0'; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(*out, 10, out) && !__builtin_add_overflow(*out, *p - '0', out);
    return good && *out <= high;
}

static int key_number(const partition_keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->names[i], name) == 0)
            return (int)i;
    return -1;
}

/* "k=v/k2=v2/bucket-B=END". */
static bool parse_statement(statements *s, const partition_keys *keys, const char *word)
{
    char *text = app_strndup(word, strlen(word)), *end = strrchr(text, '='), *part = text;
    const char **values = s->values + s->n * s->n_keys;
    int64_t bucket = 0, tiered = 0;
    s->texts[s->n] = text;
    for (size_t i = 0; i < s->n_keys; i++)
        values[i] = NULL;
    size_t i = s->n++;
    if (end == NULL)
        return false;
    *end++ = '\0';
    for (char *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        pml_option_pair pair;
        *slash = '\0';
        if (!app_split_pair(part, &pair))
            return false;
        char *value = strchr(part, '\0') + 1;
        if (!partition_unescape(part) || !partition_unescape(value))
            return false;
        int k = key_number(keys, part);
        if (k < 0 || values[k] != NULL)
            return false;
        values[k] = value;
    }
    for (size_t k = 0; k < s->n_keys; k++)
        if (values[k] == NULL)
            return false;
    if (strncmp(part, "bucket-", 7) != 0 || !parse_number(&bucket, part + 7, INT32_MAX) || !parse_number(&tiered, end, INT64_MAX))
        return false;
    s->pbs[i] = (pml_rt_pb)PML_RT_PB_INIT;
    s->pbs[i].n_partition = s->n_keys;
    s->pbs[i].partition = values;
    s->pbs[i].bucket = (int32_t)bucket;
    s->v[i] = (pml_rt_statement){&s->pbs[i], tiered};
    return true;
}

static int parse_words(statements *s, const args *a, const partition_keys *keys)
{
    for (size_t i = 1; i < a->n_operands; i++)
        if (!parse_statement(s, keys, a->operand[i]))
            return args_wrong(a->command,
                              "\"%s\" is not KEY=VALUE/.../bucket-B=OFFSET with every partition key of the table, and no %%00",
                              a->operand[i]);
    return EXIT_OK;
}

/* ---- files of what is stated ---- */

/* As `pml files` shows the partition; malloc'ed. */
static char *statement_path(const pml_table *table, const partition_keys *keys, const pml_rt_statement *s)
{
    const char *none = pml_table_option(table, "partition.default-name");
    const char **values = app_alloc(keys->n * sizeof *values);
    for (size_t i = 0; i < keys->n; i++) {
        const char *v = s->pb->partition[i];
        bool blank = strspn(v, " \t") == strlen(v);
        values[i] = !blank ? v : none != NULL ? none : "__DEFAULT_PARTITION__";
    }
    char *path = partition_path(keys, values);
    free(values);
    return path;
}

/* *seen: whether a live file lies there. */
static int find_file(bool *seen, pml_table *table, const char *path, int32_t bucket, pml_error *err)
{
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    *seen = false;
    int rc = pml_table_files(&stream, table, -1, err);
    if (rc == PML_OK && stream.get_schema(&stream, &schema) != 0)
        rc = pml_stream_error(&stream, err);
    int64_t p = rc == PML_OK ? arrow_find(&schema, "partition") : -1, b = rc == PML_OK ? arrow_find(&schema, "bucket") : -1;
    while (rc == PML_OK && p >= 0 && b >= 0 && !*seen && (rc = output_next(&stream, &array, err)) == PML_OK && array.release != NULL) {
        const int32_t *buckets = array.children[b]->buffers[1];
        for (int64_t row = array.offset; row < array.offset + array.length && !*seen; row++)
            *seen = buckets[array.children[b]->offset + row] == bucket && arrow_string_equals(array.children[p], row, path);
        array.release(&array);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    return rc;
}

/* When nothing is known of any end, a name with a typing mistake would become one: what has rows has files. */
static int check_files(const args *a, pml_table *table, const partition_keys *keys, const statements *s)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *offsets = NULL;
    int code = EXIT_OK, rc = pml_rt_offsets_load(&offsets, table, -1, &err);
    bool all_lost = rc == PML_OK && pml_rt_offsets_all_lost(offsets);
    pml_rt_offsets_free(offsets);
    rc = PML_OK; /* the repair itself says what is wrong */
    for (size_t i = 0; all_lost && !args_has(a, "without-files") && i < s->n && rc == PML_OK && code == EXIT_OK; i++) {
        bool seen = true;
        char *path = statement_path(table, keys, &s->v[i]);
        if (s->v[i].end > 0)
            rc = find_file(&seen, table, path, s->pbs[i].bucket, &err);
        if (rc == PML_OK && !seen)
            code = args_wrong(a->command,
                              "%s%sbucket-%d has no files, so no rows: is its name right? --without-files states its end all the same",
                              path, keys->n > 0 ? "/" : "", (int)s->pbs[i].bucket);
        free(path);
    }
    return rc == PML_OK ? code : app_fail(rc, &err);
}

/* ---- repair ---- */

static int repair(pml_table *table, const pml_rt_statement *v, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    int rc = pml_rt_progress_repair(&r, table, v, n, &err);
    if (rc != PML_OK)
        return app_fail(rc, &err);
    if (r.already_committed)
        (void)fprintf(stderr, "nothing to repair\n");
    else
        (void)fprintf(stderr, "snapshot %" PRId64 "\n", r.snapshot_id);
    return EXIT_OK;
}

/* Every lost entry keeps the end that was known before. */
static int repair_last_known(pml_table *table)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *offsets = NULL;
    int code = EXIT_OK, rc = pml_rt_offsets_load(&offsets, table, -1, &err);
    if (rc == PML_OK && pml_rt_offsets_all_lost(offsets))
        code = app_say(EXIT_ERROR, "no end is known of any partition-bucket of %s: state each that has files", pml_table_path(table));
    size_t n = rc == PML_OK && code == EXIT_OK ? pml_rt_offsets_count(offsets) : 0, lost = 0;
    pml_rt_statement *v = app_alloc(n * sizeof *v);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        pml_rt_offset_info info = PML_RT_OFFSET_INFO_INIT;
        rc = pml_rt_offsets_get(&info, offsets, i, &err);
        if (rc == PML_OK && info.lost)
            v[lost++] = (pml_rt_statement){info.pb, info.tiered};
    }
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    else if (code == EXIT_OK)
        code = repair(table, v, lost);
    free(v);
    pml_rt_offsets_free(offsets);
    return code;
}

static int repair_words(const args *a, pml_table *table)
{
    partition_keys keys;
    statements s = {0};
    int code = partition_keys_get(&keys, table);
    if (code == EXIT_OK) {
        statements_init(&s, a->n_operands, keys.n);
        code = parse_words(&s, a, &keys);
    }
    if (code == EXIT_OK)
        code = check_files(a, table, &keys, &s);
    if (code == EXIT_OK)
        code = repair(table, s.v, s.n);
    statements_free(&s);
    partition_keys_free(&keys);
    return code;
}

static int run_repair(struct app *app, const args *a)
{
    pml_table *table = NULL;
    bool last_known = args_has(a, "last-known");
    if (last_known == (a->n_operands > 1))
        return args_wrong(a->command, "either state ends, or say --last-known");
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = last_known ? repair_last_known(table) : repair_words(a, table);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static const args_option repair_options[] = {
    {"last-known", NULL, "every lost entry keeps the end that was known before it was lost"},
    {"without-files", NULL, "also partition-buckets without files, when all progress is lost"},
    {"branch", "NAME", "a branch of the table"},
    OPTION_WAREHOUSE,
    {NULL, NULL, NULL}};

const command command_offsets_repair = {
    .name = "offsets repair",
    .operands = "TABLE [STATEMENT]...",
    .operands_min = 1,
    .operands_max = ARGS_OPERANDS_MAX,
    .summary = "Say up to which offset lost partition-buckets are in the table, in a snapshot of its own.",
    .details =
        "STATEMENT is KEY=VALUE/.../bucket-B=OFFSET, with every partition key; '/', '=' and '%' in values are written %2F,\n"
        "%3D and %25: the form in which `pml offsets` shows a partition. OFFSET is exclusive. Look at the rows first: too\n"
        "low an offset writes rows twice, too high a one leaves rows out. --last-known is right after another writer deleted single\n"
        "rows. When nothing is known any more (the snapshot that recorded it has expired, or its progress file was taken away),\n"
        "state every partition-bucket that has files.\n",
    .examples = "  pml offsets repair events --last-known\n"
                "  pml offsets repair events dt=2026-01-01/bucket-0=1200 dt=2026-01-02/bucket-0=0\n",
    .options = repair_options,
    .run = run_repair};

/* ---- clean ---- */

typedef struct unit {
    const char *name;
    int64_t ms;
} unit;

/* "90 s", "2h": the units of table options. */
static int duration_get(int64_t *ms, const args *a, const char *name)
{
    static const unit units[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    const char *text = args_value(a, name);
    char number[24];
    if (text == NULL)
        return EXIT_OK;
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits + strspn(text + digits, " ");
    for (size_t i = 0; digits > 0 && digits < sizeof number && i < sizeof units / sizeof *units; i++) {
        (void)snprintf(number, sizeof number, "%.*s", (int)digits, text);
        if (strcmp(rest, units[i].name) == 0 && parse_number(ms, number, INT64_MAX / units[i].ms)) {
            *ms *= units[i].ms;
            return EXIT_OK;
        }
    }
    return args_wrong(a->command, "--%s is a number and ms, s, min, h or d, not \"%s\"", name, text);
}

static void print_orphan(void *ctx, const char *path, int64_t size_bytes, int64_t mtime_ms)
{
    (void)size_bytes, (void)mtime_ms;
    output_cell(ctx, path);
    output_cell_int(ctx, size_bytes);
}

static int run_clean(struct app *app, const args *a)
{
    static const output_column columns[] = {{"file", false}, {"size_in_bytes", true}};
    pml_error err = PML_ERROR_INIT;
    pml_rt_clean_options o = PML_RT_CLEAN_OPTIONS_INIT;
    pml_rt_clean_result r = PML_RT_CLEAN_RESULT_INIT;
    pml_table *table = NULL;
    output_format format;
    bool dry = args_has(a, "dry-run");
    int code = output_format_get(&format, a);
    if (code == EXIT_OK)
        code = duration_get(&o.older_than_ms, a, "older-than");
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code != EXIT_OK)
        return code;
    o.flags = dry ? PML_RT_CLEAN_DRY_RUN : 0;
    o.orphan = print_orphan;
    o.ctx = output_new(format, columns, 2);
    int rc = pml_rt_offsets_clean(&r, table, &o, &err);
    output_end(o.ctx);
    if (rc != PML_OK)
        code = app_fail(rc, &err);
    (void)fprintf(stderr, "%" PRId64 " file%s %s, %" PRId64 " bytes; kept: %" PRId64 " named, %" PRId64 " young, %" PRId64 " newest\n",
                  r.orphans, r.orphans == 1 ? "" : "s", dry ? "to be removed" : "removed", r.orphan_bytes, r.referenced, r.young,
                  r.newest);
    pml_table_release(table);
    return code;
}

static const args_option clean_options[] = {
    {"older-than", "DURATION", "only files older than that, as 12 h or 7 d (default: 1 d)"},
    {"dry-run", NULL, "only say what would be removed"},
    OPTION_FORMAT,
    OPTION_WAREHOUSE,
    {NULL, NULL, NULL}};

const command command_offsets_clean = {
    .name = "offsets clean",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Remove progress files that no snapshot, tag or changelog of any branch names any more.",
    .details = "The newest file of a branch always stays. --older-than protects commits under way: choose it longer than any\n"
               "of them takes.\n",
    .examples = "  pml offsets clean events --dry-run\n"
                "  pml offsets clean events --older-than 7d\n",
    .options = clean_options,
    .run = run_clean};
