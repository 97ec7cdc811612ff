/* SPDX-License-Identifier: Apache-2.0 */
/* pml table truncate and drop-partition: rows go, the table stays. */
#include "overwrite.h"

#include <inttypes.h>
#include <stdio.h>

#include "arrow_text.h"
#include "commands.h"
#include "output.h"
#include "partition.h"

/* ---- what went ---- */

typedef struct totals {
    int64_t rows, files;
} totals;

/* False when the snapshot cannot be read; 0: the one before the first. */
static bool totals_get(totals *out, pml_table *table, int64_t snapshot_id)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    int64_t column = -1;
    *out = (totals){0};
    if (snapshot_id < 1)
        return snapshot_id == 0;
    int rc = pml_table_files(&stream, table, snapshot_id, &err);
    if (rc == PML_OK && stream.get_schema(&stream, &schema) == 0)
        column = arrow_find(&schema, "record_count");
    while (column >= 0 && (rc = output_next(&stream, &array, &err)) == PML_OK && array.release != NULL) {
        for (int64_t row = 0; row < array.length; row++)
            out->rows += arrow_int64(array.children[column], array.offset + row);
        out->files += array.length;
        array.release(&array);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (stream.release != NULL)
        stream.release(&stream);
    return rc == PML_OK && column >= 0;
}

void overwrite_removed_get(overwrite_removed *out, pml_table *table, int64_t snapshot_id, int64_t added_rows, int64_t added_files)
{
    totals before, after;
    *out = (overwrite_removed){0};
    if (!totals_get(&before, table, snapshot_id - 1) || !totals_get(&after, table, snapshot_id))
        return;
    out->rows = before.rows + added_rows - after.rows;
    out->files = before.files + added_files - after.files;
    out->known = out->rows >= 0 && out->files >= 0;
}

/* none: what it means that no file went. */
static int say_result(int rc, pml_table *table, const pml_commit_result *r, const char *none, const pml_error *err)
{
    overwrite_removed gone;
    if (rc != PML_OK)
        return app_fail(rc, err);
    if (r->snapshot_id < 0) {
        (void)fprintf(stderr, "%s: no rows were removed, no snapshot was made\n", none);
        return EXIT_OK;
    }
    overwrite_removed_get(&gone, table, r->snapshot_id, 0, 0);
    if (!gone.known)
        (void)fprintf(stderr, "snapshot %" PRId64 "; how many rows went cannot be told\n", r->snapshot_id);
    else if (gone.files == 0)
        (void)fprintf(stderr, "snapshot %" PRId64 "; %s: no rows were removed\n", r->snapshot_id, none);
    else
        (void)fprintf(stderr, "snapshot %" PRId64 "; removed %" PRId64 " row%s in %" PRId64 " file%s\n", r->snapshot_id, gone.rows,
                      gone.rows == 1 ? "" : "s", gone.files, gone.files == 1 ? "" : "s");
    return EXIT_OK;
}

static int run_truncate(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_table *table = NULL;
    int code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = app_confirm(a, "all rows of %s", pml_table_path(table));
    if (code == EXIT_OK)
        code = say_result(pml_table_truncate(&r, table, &err), table, &r, "the table was empty", &err);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static int check_partitioned(const args *a, const pml_table *table)
{
    partition_keys keys;
    int code = partition_keys_get(&keys, table);
    if (code == EXIT_OK && keys.n == 0)
        code = args_wrong(a->command, "%s has no partitions: `pml table truncate` removes all its rows", pml_table_path(table));
    partition_keys_free(&keys);
    return code;
}

static int run_drop_partition(struct app *app, const args *a)
{
    pml_error err = PML_ERROR_INIT;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    pml_table *table = NULL;
    partition_words words;
    int code = partition_words_get(&words, a->command, a->n_operands - 1, a->operand + 1);
    if (code == EXIT_OK)
        code = app_table_open(&table, app, a, a->operand[0]);
    if (code == EXIT_OK)
        code = check_partitioned(a, table);
    if (code == EXIT_OK)
        code = app_confirm(a, "the rows of %s where %s%s", pml_table_path(table), a->operand[1],
                           words.n > 1 ? " and the other keys match" : "");
    if (code == EXIT_OK) {
        const pml_partition_spec spec = {words.n, words.pairs};
        code = say_result(pml_table_drop_partitions(&r, table, &spec, 1, &err), table, &r, "no partition matches", &err);
    }
    partition_words_free(&words);
    if (table != NULL)
        pml_table_release(table);
    return code;
}

static const args_option options[] = {
    OPTION_YES, {"branch", "NAME", "a branch of the table"}, OPTION_WAREHOUSE, {NULL, NULL, NULL}};

const command command_table_truncate = {
    .name = "table truncate",
    .operands = "TABLE",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Remove all rows of a table in one snapshot.",
    .details = "Older snapshots keep them. Real-time progress begins anew: `pml offsets` shows reset.\n",
    .examples = "  pml table truncate flights\n"
                "  pml table truncate staging.events --warehouse /data/warehouse --yes\n",
    .options = options,
    .run = run_truncate};

const command command_table_drop_partition = {
    .name = "table drop-partition",
    .operands = "TABLE KEY=VALUE...",
    .operands_min = 2,
    .operands_max = ARGS_OPERANDS_MAX,
    .summary = "Remove the rows of the partitions with these values in one snapshot.",
    .details = "Keys that are not named may have any value. Null is __DEFAULT_PARTITION__ (partition.default-name).\n"
               "%2F and its like in VALUE are the bytes they name, as in directory names: a '%' is written %25.\n",
    .examples = "  pml table drop-partition events dt=2026-01-01 --yes\n"
                "  pml table drop-partition events dt=2026-01-01 region=cn\n",
    .options = options,
    .run = run_drop_partition};
