/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_source.h"

#include <string.h>

#include "format/file_format.h"
#include "meta/partition.h"
#include "table/evolution.h"
#include "table/file_rows.h"
#include "table/row_tracking.h"
#include "table/text_file.h"

typedef struct file_reader {
    pml_env *env;
    pml_plan *plan;
    const char *path;
    const pml_data_file *file;
    bool validate_full;
    struct ArrowArrayStream stored; /* release NULL: not open */
    pml_assembly assembly;
    const pml_pred *predicate; /* over the stored fields */
    const pml_table_schema *written; /* with which the file was written */
    int64_t rows;                    /* given so far */
    pml_value partition[PML_PARTITION_KEYS_MAX];
    pml_shared_rows *shared;
    const pml_file_rows *chosen; /* of it */
    pml_arena arena;
} file_reader;

static void reader_drop(void *owner)
{
    file_reader *r = owner;
    pml_env *env = r->env;
    if (r->stored.release != NULL)
        r->stored.release(&r->stored);
    pml_shared_rows__release(r->shared);
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

/* The file may lack a column that its own schema has as NOT NULL, or hold nulls in it. */
static int check_batch(const file_reader *r, const struct ArrowArray *stored, pml_error *err)
{
    pml_error wrong = PML_ERROR_INIT;
    /* Values were looked at where they came from, if at all; columns made up there were not. */
    pml_check_level level = r->validate_full ? PML_CHECK_TRUSTED : PML_CHECK_BASIC;
    if (pml_batch__check(stored, r->assembly.stored_fields, r->assembly.n_stored, level, &wrong) == PML_OK)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path, "%s is damaged, or its writer broke the rules: %s", r->path,
                         wrong.message);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    file_reader *r = owner;
    struct ArrowArray batch = {0};
    if (r->stored.release == NULL) /* no row of the file is wanted */
        return PML_OK;
    int code = r->stored.get_next(&r->stored, &batch);
    if (code != 0)
        return pml_source__error(&r->stored, code, err);
    if (batch.release == NULL)
        return PML_OK;
    int rc = check_batch(r, &batch, err);
    if (rc == PML_OK)
        rc = pml_row_tracking__fill(&r->assembly, r->file, r->path, &batch, err);
    if (rc != PML_OK) {
        batch.release(&batch);
        return rc;
    }
    int64_t rows = batch.length;
    pml_error why = PML_ERROR_INIT;
    rc = pml_assembly__batch(out, &r->assembly, &batch, &why);
    if (rc == PML_E_INVAL)
        return pml_error__at(err, PML_E_SCHEMA, PML_PLACE_DATA_FILE, r->path, "%s was written with another schema: %s (counted behind %lld rows)",
                             r->path, why.message, (long long)r->rows);
    if (rc != PML_OK && err != NULL)
        *err = why;
    r->rows += rows;
    return rc;
}

/* The partition's row may hold a null where the table has none. */
static int check_partition(const file_reader *r, pml_error *err)
{
    const pml_table_schema *s = r->plan->schema;
    for (size_t i = 0; i < r->assembly.n; i++) {
        const pml_field *f = &r->assembly.fields[i];
        if (!f->type.nullable && r->assembly.columns[i].stored < 0 && r->assembly.columns[i].constant.kind == PML_VALUE_NULL &&
            pml_assembly__partition_key(s, f->id) >= 0)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path,
                                 "%s is damaged, or its writer broke the rules: partition column %s is NOT NULL but null", r->path, f->name);
    }
    return PML_OK;
}

/* How the wanted columns and the predicate look to the file. */
static int map_columns(file_reader *r, const pml_file_source *q, pml_error *err)
{
    const pml_data_file *file = &q->split->files[q->file];
    const pml_table_schema *schema = q->plan->schema;
    pml_written w = {NULL, &file->write_cols};
    PML_RETURN_IF(pml_table__schema_at(&w.schema, q->plan->table, file->schema_id, err));
    r->written = w.schema;
    PML_RETURN_IF(pml_partition__decode(r->partition, schema, q->split->partition, err));
    int rc = pml_evolution__assembly(&r->assembly, &r->arena, schema, &w, q->fields, q->n_fields, r->partition, err);
    if (rc == PML_E_UNSUPPORTED)
        return pml_error__prefix(err, rc, "%s", r->path);
    PML_RETURN_IF(rc);
    if (r->assembly.n_tracked > 0)
        PML_RETURN_IF(pml_row_tracking__check(file, r->path, err));
    PML_RETURN_IF(pml_evolution__predicate(&r->predicate, &r->arena, q->predicate, schema, &w, false, err));
    return check_partition(r, err);
}

/* An index file goes with the snapshots that name it, like a data file. */
static int gone(const file_reader *r, int rc, const char *path, pml_error *err)
{
    if (rc == PML_E_NOT_FOUND)
        rc = pml_error__at(err, PML_E_SNAPSHOT_GONE, PML_PLACE_DATA_FILE, path,
                           "%s is gone: its snapshot expired after the plan was made; plan again", path);
    if (rc == PML_E_SNAPSHOT_GONE)
        rc = pml_table__gone_or_damaged(r->plan->table, r->plan->snapshot_id, err);
    return rc;
}

static int open_stored(file_reader *r, const pml_file_source *q, pml_error *err)
{
    char format[16];
    const pml_data_file *file = &q->split->files[q->file];
    const char *missing;
    r->shared = q->rows != NULL ? pml_shared_rows__acquire(q->rows) : pml_shared_rows__new(r->env);
    if (r->shared == NULL)
        return pml_error__no_memory(err);
    int rc = pml_shared_rows__find(&r->chosen, &missing, &r->arena, r->shared, q, r->predicate, err);
    if (rc != PML_OK)
        return gone(r, rc, missing, err);
    if (r->chosen->none)
        return PML_OK;
    const pml_written written = {r->written, &file->write_cols};
    pml_format_read request = {.fields = r->assembly.stored_fields,
                               .n_fields = r->assembly.n_stored - (r->assembly.n_tracked > 0),
                               .n_optional = r->assembly.n_tracked,
                               .positions = r->assembly.n_tracked > 0,
                               .predicate = r->predicate,
                               .match_rows = true,
                               .batch_rows = q->batch_rows,
                               .rows = r->chosen->rows.words == NULL ? NULL : &r->chosen->rows,
                               .checksums = q->validate_full,
                               .check_values = q->validate_full,
                               .part = q->part,
                               .parts = q->parts,
                               .own_schema = true,
                               .orc_ltz_exact = !q->plan->table->options.orc_ltz_legacy,
                               .untrusted = q->plan->table->options.read_untrusted,
                               .expect_rows = file->row_count,
                               .expect_bytes = file->size_bytes};
    PML_RETURN_IF(pml_path__format(format, file->name, err));
    PML_RETURN_IF(pml_text_file__prepare(&request, &r->arena, q->plan->table, format, &written, r->assembly.stored_fields,
                                         r->assembly.n_stored, err));
    return gone(r, pml_format__open(&r->stored, r->env, format, r->path, &request, err), r->path, err);
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
    r->file = &q->split->files[q->file];
    r->validate_full = q->validate_full;
    pml_arena__init(&r->arena, env);
    PML_TRY(map_columns(r, q, err));
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
