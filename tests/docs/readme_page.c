/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the code of README.md.
 *
 *     readme_page TABLE
 */
#include "page.h"

int main(int argc, char **argv)
{
    source_t source = {0, 10};
    pml_env *env;
    pml_table *table;
    pml_scan *scan;
    pml_plan *plan;
    pml_commit *commit;
    pml_rt_commit_result result = PML_RT_COMMIT_RESULT_INIT;
    struct ArrowArray array;
    struct ArrowSchema schema;
    int64_t rows;
    if (argc != 2)
        return 2;
    must(pml_env_new(&env, NULL, &err));
    page_table_create(&table, env, argv[1]);
    must(pml_table_arrow_schema(&schema, table, &err));
    must(pml_scan_new(&scan, table, &err));
    must(pml_commit_open(&commit, table, "readme", &err));
    expect(source_next(&source, &array), true);
#include "live.inc"
    must(err.code);
    expect(result.snapshot_id, 1);
    must(pml_scan_plan(&plan, scan, &err));
    must(pml_plan_count(&rows, plan, &err));
    expect(rows, 10);
    pml_plan_free(plan);
    pml_scan_free(scan);
    pml_rt_prepared_free(p);
    must(pml_rt_writer_close(w, &err));
    pml_rt_context_close(ctx);
    pml_commit_close(commit);
    schema.release(&schema);
    pml_table_release(table);
    pml_env_release(env);
    puts("README.md: every block was run");
    return 0;
}
