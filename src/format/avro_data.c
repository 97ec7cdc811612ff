/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Avro data files in: columns by name, batches in the canonical Arrow form. The file's schema is compiled once against the wanted
 * fields (avro_schema.c), its blocks are unpacked one after the other (avro_container.c), and their records decoded straight into the
 * buffers of the columns (avro_run.c, avro_columns.c). Avro files have no statistics: a predicate leaves nothing out.
 */
#include "format/avro_data.h"

#include <string.h>

#include "format/avro_run.h"
#include "format/read_common.h"
#include "format/selection.h"

typedef struct data_reader {
    pml_env *env;
    pml_arena arena;
    const char *path;
    const pml_field *fields; /* copies in the arena */
    size_t n_fields;
    pml_input *in;
    pml_avro_container file;
    pml_avro_program program;
    pml_avro_columns columns;
    bool decodes; /* some wanted column is in the file; else only the number of rows counts */
    bool check_values;
    int64_t rows_left, batch_rows;
    pml_row_range range; /* of this part, for the selection */
    pml_selection selection;
} data_reader;

static void reader_drop(void *owner)
{
    data_reader *r = owner;
    pml_env *env = r->env;
    pml_avro_columns__clear(&r->columns);
    pml_avro_container__close(&r->file);
    pml_input__close(r->in);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* The code below does not know whose file it reads. */
static int is_data_file(int rc, pml_error *err)
{
    if (rc != PML_OK && err != NULL && err->place == PML_PLACE_FILE)
        err->place = PML_PLACE_DATA_FILE;
    return rc;
}

/* Up to n rows into the columns; *done of them, fewer when they are large. */
static int decode(int64_t *done, data_reader *r, int64_t n, pml_error *err)
{
    *done = 0;
    while (*done < n && !r->columns.full) {
        uint64_t k;
        if (r->file.records_left == 0)
            PML_RETURN_IF(pml_avro_container__next(&r->file, r->program.record_size_min, err));
        if (r->file.records_left == 0)
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_FILE, r->path, "%s changed while it was read: it has fewer rows than before",
                                 r->path);
        PML_RETURN_IF(pml_avro_run__records(&k, &r->program, &r->columns, &r->file, (uint64_t)(n - *done), err));
        *done += (int64_t)k;
    }
    return PML_OK;
}

/* The wanted rows of the next batch of the file, which may be none (release NULL). */
static int next_of_file(data_reader *r, struct ArrowArray *out, pml_error *err)
{
    int64_t n = r->rows_left < r->batch_rows ? r->rows_left : r->batch_rows;
    if (r->decodes)
        PML_RETURN_IF(is_data_file(decode(&n, r, n, err), err));
    r->rows_left -= n;
    PML_RETURN_IF(pml_avro_columns__finish(out, &r->columns, n, err));
    if (r->check_values)
        PML_RETURN_IF(pml_format__check_values(r->path, out, r->fields, r->n_fields, err));
    return pml_selection__cut(&r->selection, out, r->fields, r->n_fields, err);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    data_reader *r = owner;
    while (r->rows_left > 0 && out->release == NULL)
        PML_RETURN_IF(next_of_file(r, out, err));
    return PML_OK;
}

static int open_file(data_reader *r, const pml_format_read *q, pml_error *err)
{
    pml_bytes schema;
    int64_t total;
    PML_RETURN_IF(pml_format__open_input(&r->in, r->env, r->path, q, err));
    PML_RETURN_IF(pml_format__check_identity(r->path, q, pml_input__size(r->in), -1, err));
    PML_RETURN_IF(pml_avro_container__open(&r->file, r->env, (pml_bytes){0}, r->in, r->path, PML_AVRO_DATA_HEADER_MAX, &schema, err));
    PML_RETURN_IF(pml_avro_program__compile_columns(&r->program, &r->arena, schema, r->path, r->columns.fields, r->n_fields,
                                                    r->columns.found, q->own_schema, err));
    pml_avro_columns__compiled(&r->columns);
    for (size_t i = 0; i < r->columns.n_nodes; i++)
        r->decodes |= r->columns.found[i];
    PML_RETURN_IF(pml_avro_container__choose(&r->file, &total, &r->range.first, &r->rows_left, r->program.record_size_min, q->part, q->parts,
                                             err));
    PML_RETURN_IF(pml_selection__check(q->rows, total, r->path, err));
    r->range.end = r->range.first + r->rows_left;
    r->selection = (pml_selection){.env = r->env, .rows = q->rows, .ranges = &r->range, .n_ranges = 1, .positions = q->positions};
    return pml_format__check_identity(r->path, q, pml_input__size(r->in), total, err);
}

int pml_avro_data__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    data_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    r->batch_rows = q->batch_rows > 0 ? q->batch_rows : PML_AVRO_BATCH_ROWS;
    r->check_values = q->check_values;
    r->n_fields = q->n_fields;
    pml_arena__init(&r->arena, env);
    PML_TRY(pml_format__keep(&r->path, &r->fields, &r->arena, path, q, err));
    PML_TRY(pml_avro_columns__init(&r->columns, &r->arena, r->fields, r->n_fields, r->batch_rows, err));
    for (size_t i = r->n_fields - q->n_optional; i < r->n_fields; i++)
        r->columns.fields[i].optional = true;
    if (!pml_avro_container__part_is_empty(q->part, q->parts))
        PML_TRY(is_data_file(open_file(r, q, err), err));
    PML_TRY(pml_format__export(&schema, env, q, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
