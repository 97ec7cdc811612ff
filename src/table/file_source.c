/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_source.h"

#include <string.h>

#include "format/file_format.h"
#include "meta/partition.h"
#include "table/assemble.h"

typedef struct file_reader {
    pml_env *env;
    pml_plan *plan;
    const char *path;
    bool validate_full;
    struct ArrowArrayStream stored; /* release NULL: not open */
    pml_assembly assembly;
    pml_value partition[PML_PARTITION_KEYS_MAX];
    pml_arena arena;
} file_reader;

static void reader_drop(void *owner)
{
    file_reader *r = owner;
    pml_env *env = r->env;
    if (r->stored.release != NULL)
        r->stored.release(&r->stored);
    pml_arena__clear(&r->arena);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

int pml_source__error(struct ArrowArrayStream *source, int code, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    if (pml_stream__last_error(source, &own)) {
        if (err != NULL)
            *err = own;
        return own.code;
    }
    const char *text = source->get_last_error(source);
    return pml_error__set(err, PML_E_IO, "a data file could not be read (%d): %s", code, text == NULL ? "no reason given" : text);
}

/* A file may lack a NOT NULL column, or hold nulls where its schema has none; what leaves here says that there are none. */
static int check_batch(const file_reader *r, const struct ArrowArray *whole, pml_error *err)
{
    pml_error wrong = PML_ERROR_INIT;
    /* Stored values were looked at where they came from, if at all; partition values and columns made up were not. */
    pml_check_level level = r->validate_full ? PML_CHECK_TRUSTED : PML_CHECK_BASIC;
    if (pml_batch__check(whole, r->assembly.fields, r->assembly.n, level, &wrong) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path, "%s is damaged, or its writer broke the rules: %s", r->path,
                         wrong.message);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    file_reader *r = owner;
    struct ArrowArray batch = {0};
    int code = r->stored.get_next(&r->stored, &batch);
    if (code != 0)
        return pml_source__error(&r->stored, code, err);
    if (batch.release == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_assembly__batch(out, &r->assembly, &batch, err));
    return check_batch(r, out, err); /* on failure the stream releases the batch */
}

static int open_stored(file_reader *r, const pml_file_source *q, pml_error *err)
{
    char format[16];
    const pml_data_file *file = &q->split->files[q->file];
    const pml_format_read request = {.fields = r->assembly.stored_fields,
                                     .n_fields = r->assembly.n_stored,
                                     .predicate = q->predicate,
                                     .batch_rows = q->batch_rows,
                                     .checksums = q->validate_full,
                                     .check_values = q->validate_full,
                                     .part = q->part,
                                     .parts = q->parts,
                                     .own_schema = true,
                                     .expect_rows = file->row_count,
                                     .expect_bytes = file->size_bytes};
    PML_RETURN_IF(pml_path__format(format, file->name, err));
    int rc = pml_format__open(&r->stored, r->env, format, r->path, &request, err);
    if (rc == PML_E_NOT_FOUND)
        rc = pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_DATA_FILE, r->path,
                           "%s is gone: its snapshot expired after the plan was made; plan again", r->path);
    if (rc == PML_E_SNAPSHOT_GONE)
        rc = pml_table__gone_or_damaged(r->plan->table, r->plan->snapshot_id, err);
    return rc;
}

int pml_file_source__open(struct ArrowArrayStream *out, const pml_file_source *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    pml_env *env = q->plan->env;
    file_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    pml_plan__acquire(q->plan);
    r->plan = q->plan;
    r->path = q->split->paths[q->file];
    r->validate_full = q->validate_full;
    pml_arena__init(&r->arena, env);
    PML_TRY(pml_partition__decode(r->partition, q->plan->schema, q->split->partition, err));
    PML_TRY(pml_assembly__init(&r->assembly, &r->arena, q->plan->schema, q->fields, q->n_fields, r->partition, err));
    PML_TRY(open_stored(r, q, err));
    PML_TRY(pml_type__export(&schema, env, q->fields, q->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
