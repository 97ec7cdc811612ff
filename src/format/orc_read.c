/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ORC files in. Columns, types and units are the bridge's work; here are the checks around it, the stripes of a part and the zone of
 * legacy instants. The predicate leaves nothing out: Arrow shows no statistics of stripes.
 */
#include "format/orc.h"

#include <string.h>

#include "format/bridge_load.h"
#include "format/read_common.h"
#include "format/selection.h"
#include "util/zone.h"

enum { ORC_BATCH_ROWS = 1024 };

typedef struct orc_reader {
    pml_env *env;
    const pml_bridge *bridge;
    pml_bridge_orc *file;
    struct ArrowArrayStream stream;
    bool check_values;
    pml_arena arena;
    const char *path;
    const pml_field *fields; /* copies in the arena */
    size_t n_fields;
    pml_row_range range; /* the whole file */
    pml_selection selection;
} orc_reader;

static void reader_drop(void *owner)
{
    orc_reader *r = owner;
    pml_env *env = r->env;
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    if (r->file != NULL)
        r->bridge->orc_close(r->file);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    orc_reader *r = owner;
    while (out->release == NULL) {
        if (r->stream.get_next(&r->stream, out) != 0)
            return r->bridge->stream_error(&r->stream, err);
        if (out->release == NULL)
            return PML_OK;
        if (r->check_values)
            PML_RETURN_IF(pml_format__check_values(r->path, out, r->fields, r->n_fields, err));
        PML_RETURN_IF(pml_selection__cut(&r->selection, out, r->fields, r->n_fields, err));
    }
    return PML_OK;
}

static int open_stream(orc_reader *r, const pml_format_read *q, const struct ArrowSchema *schema, pml_error *err)
{
    int64_t stripes = r->bridge->orc_stripes(r->file), parts = q->parts > 1 ? q->parts : 1, part = parts > 1 ? q->part : 0;
    if (q->rows != NULL || q->positions) { /* which rows a stripe holds is not known before it is read: all are in the first part */
        stripes = part == 0 ? stripes : 0;
        part = 0;
        parts = 1;
    }
    const pml_bridge_orc_request request = {.first_stripe = (int32_t)(stripes * part / parts),
                                            .end_stripe = (int32_t)(stripes * (part + 1) / parts),
                                            .schema = schema,
                                            .own_schema = q->own_schema,
                                            .n_optional = (uint32_t)q->n_optional,
                                            .zone_offset = q->orc_ltz_exact ? NULL : pml_zone__offset};
    return r->bridge->orc_stream(&r->stream, r->file, &request, err);
}

static int open_file(orc_reader *r, const char *path, const pml_format_read *q, pml_error *err)
{
    pml_input *in = NULL;
    PML_RETURN_IF(pml_bridge__get(&r->bridge, r->env, err));
    PML_RETURN_IF(pml_format__open_input(&in, r->env, path, q, err));
    int rc = pml_format__check_identity(path, q, pml_input__size(in), -1, err);
    if (rc != PML_OK) {
        pml_input__close(in);
        return rc;
    }
    const pml_bridge_input input = pml_bridge__input(in, path);
    const pml_bridge_read_options options = {q->batch_rows > 0 ? q->batch_rows : ORC_BATCH_ROWS, PML_BRIDGE_VALIDATE_BASIC, 0};
    const pml_bridge_memory memory = pml_bridge__read_memory(r->env);
    PML_RETURN_IF(r->bridge->orc_open(&r->file, &input, &memory, &options, err)); /* owns the input on any return */
    int64_t rows = r->bridge->orc_rows(r->file);
    PML_RETURN_IF(pml_selection__check(q->rows, rows, path, err));
    r->range = (pml_row_range){0, rows};
    r->selection =
        (pml_selection){.env = r->env, .rows = q->rows, .ranges = &r->range, .n_ranges = 1, .positions = q->positions};
    return pml_format__check_identity(path, q, input.size_bytes, rows, err);
}

/* Java has no form for them in ORC files. Depth is bounded by the parser of types. */
static bool has_form(const pml_type *t)
{
    bool all = t->kind != PML_TYPE_VARIANT && t->kind != PML_TYPE_VECTOR;
    for (size_t i = 0; i < t->n_children && all; i++)
        all = has_form(&t->children[i].type);
    return all;
}

static int refuse_types(const char *path, const pml_format_read *q, pml_error *err)
{
    for (size_t i = 0; i < q->n_fields; i++)
        if (!has_form(&q->fields[i].type))
            return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, path,
                                 "needs type-in-orc: column '%.80s' of %s has a VARIANT or VECTOR, which have no form in ORC files",
                                 q->fields[i].name, path);
    return PML_OK;
}

int pml_orc__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    PML_RETURN_IF(refuse_types(path, q, err));
    orc_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    r->check_values = q->check_values;
    pml_arena__init(&r->arena, env);
    r->n_fields = q->n_fields;
    PML_TRY(pml_format__keep(&r->path, &r->fields, &r->arena, path, q, err));
    PML_TRY(open_file(r, path, q, err));
    PML_TRY(pml_type__export(&schema, env, q->fields, q->n_fields, err));
    PML_TRY(open_stream(r, q, &schema, err));
    pml_schema__release(&schema);
    PML_TRY(pml_format__export(&schema, env, q, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
