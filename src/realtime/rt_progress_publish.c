/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of one attempt of a commit: built, written, and taken back. */
#include "realtime/rt_commit.h"
#include "storage/file_io.h"

int pml_progress__publish(const char **property, char **written, pml_arena *arena, pml_table *t, const pml_progress_build *build,
                          pml_error *err)
{
    pml_progress_build b = *build;
    pml_progress_result result = {0};
    int rc;
    *property = NULL;
    *written = NULL;
    b.n_keys = t->schema->n_partition_keys;
    b.keys = t->schema->partition_keys;
    b.earliest_id = -1;
    PML_RETURN_IF(pml_table__earliest_snapshot(&b.earliest_id, t, err));
    PML_TRY(pml_progress__build(&result, t->env, &b, err));
    if (result.action == PML_PROGRESS_CARRY)
        *property = pml_arena__strdup(arena, result.carried);
    if (result.action == PML_PROGRESS_WRITE) {
        PML_TRY(pml_progress__write_file(written, &result.next, t->env, t->branch_root, err));
        *property = pml_arena__strdup(arena, *written);
    }
    if (*property == NULL && result.action != PML_PROGRESS_NONE)
        rc = pml_error__no_memory(err);
out:
    if (rc != PML_OK)
        pml_progress__unpublish(written, t->env, true);
    pml_progress_result__clear(&result);
    return rc;
}

void pml_progress__unpublish(char **written, pml_env *env, bool delete_file)
{
    if (*written != NULL && delete_file)
        (void)pml_file__remove(env, *written, NULL);
    pml_env__free(env, *written);
    *written = NULL;
}

int pml_rt_commit__progress(pml_commit_decision *d, char **written, pml_table *t, const pml_progress_build *build, pml_arena *arena,
                            pml_error *err)
{
    const char *value;
    PML_RETURN_IF(pml_progress__publish(&value, written, arena, t, build, err));
    if (value == NULL)
        return PML_OK;
    pml_option *p = pml_arena__alloc(arena, sizeof *p);
    if (p == NULL) {
        pml_progress__unpublish(written, t->env, true);
        return pml_error__no_memory(err);
    }
    *p = (pml_option){PML_PROGRESS_PROPERTY, value};
    d->properties = p;
    d->n_properties = 1;
    return PML_OK;
}
