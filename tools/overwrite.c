/* SPDX-License-Identifier: Apache-2.0 */
/* pml table truncate and drop-partition: rows go, the table stays. */
#include "overwrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

int partition_words_get(partition_words *out, const command *c, size_t n, const char *const *words)
{
    *out = (partition_words){0, app_alloc(n * sizeof *out->texts), app_alloc(n * sizeof *out->pairs)};
    for (size_t i = 0; i < n; i++) {
        out->texts[i] = app_strndup(words[i], strlen(words[i]));
        out->n++;
        if (!app_split_pair(out->texts[i], &out->pairs[i]))
            return args_wrong(c, "a partition is named by KEY=VALUE, not \"%s\"", words[i]);
    }
    return EXIT_OK;
}

void partition_words_free(partition_words *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->texts[i]);
    free(p->texts);
    free(p->pairs);
    *p = (partition_words){0};
}

static int say_result(int rc, const pml_commit_result *r, const pml_error *err)
{
    if (rc != PML_OK)
        return app_fail(rc, err);
    (void)fprintf(stderr, "snapshot %" PRId64 "\n", r->snapshot_id);
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
        code = say_result(pml_table_truncate(&r, table, &err), &r, &err);
    if (table != NULL)
        pml_table_release(table);
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
        code = app_confirm(a, "the rows of %s where %s%s", pml_table_path(table), a->operand[1],
                           words.n > 1 ? " and the other keys match" : "");
    if (code == EXIT_OK) {
        const pml_partition_spec spec = {words.n, words.pairs};
        code = say_result(pml_table_drop_partitions(&r, table, &spec, 1, &err), &r, &err);
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
    .details = "Keys that are not named may have any value. Null is __DEFAULT_PARTITION__ (partition.default-name).\n",
    .examples = "  pml table drop-partition events dt=2026-01-01 --yes\n"
                "  pml table drop-partition events dt=2026-01-01 region=cn\n",
    .options = options,
    .run = run_drop_partition};
