/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ORC files in. Columns, types and units are the bridge's work; here are the checks around it, the stripes of a part and the zone of
 * legacy instants. Stripes are left out whose statistics exclude the predicate, and those without a wanted row.
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

/* ---- stripes ---- */

/* Whether the numbers of the file are values of the type: the least text with blanks is no bound of CHAR, which has lost them. */
static bool stat_value(pml_value *v, const pml_type *t, uint32_t kind, int64_t i, const uint8_t *ptr, size_t len)
{
    bool number = (t->kind >= PML_TYPE_TINYINT && t->kind <= PML_TYPE_BIGINT) || t->kind == PML_TYPE_DATE;
    if (kind == PML_BRIDGE_STAT_INT && number)
        *v = (pml_value){.kind = PML_VALUE_INT, .i = i};
    else if (kind == PML_BRIDGE_STAT_BYTES && t->kind == PML_TYPE_VARCHAR)
        *v = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {ptr, len}};
    else
        return false;
    return true;
}

typedef struct asking {
    orc_reader *r;
    int32_t stripe;
    pml_column_stats *stats;
    size_t n;
    int rc;
    pml_error *err;
} asking;

/* A column of the predicate, once or several times. */
static void ask(void *arg, int32_t field_id)
{
    asking *a = arg;
    const pml_field *f = NULL;
    pml_bridge_stat s;
    for (size_t i = 0; i < a->r->n_fields; i++)
        f = a->r->fields[i].id == field_id ? &a->r->fields[i] : f;
    for (size_t i = 0; i < a->n && f != NULL; i++)
        f = a->stats[i].field_id == field_id ? NULL : f;
    if (f == NULL || a->n == a->r->n_fields || a->rc != PML_OK)
        return;
    a->rc = a->r->bridge->orc_stripe_stat(&s, a->r->file, a->stripe, f->name, a->err);
    pml_column_stats *to = &a->stats[a->n];
    *to = (pml_column_stats){.field_id = field_id, .null_count = s.null_count};
    if (a->rc == PML_OK && stat_value(&to->min, &f->type, s.kind, s.min_i, s.min_ptr, s.min_len) &&
        stat_value(&to->max, &f->type, s.kind, s.max_i, s.max_ptr, s.max_len))
        a->n++;
}

static int may_match(bool *out, orc_reader *r, const pml_format_read *q, int32_t stripe, int64_t first, pml_column_stats *stats,
                     pml_error *err)
{
    const int64_t rows = r->bridge->orc_stripe_rows(r->file, stripe);
    asking a = {.r = r, .stripe = stripe, .stats = stats, .err = err};
    *out = q->rows == NULL || pml_row_set__any(q->rows, first, first + rows);
    if (!*out || q->predicate == NULL)
        return PML_OK;
    pml_pred__columns(q->predicate, ask, &a);
    *out = a.rc != PML_OK || pml_pred__may_match(q->predicate, stats, a.n, rows);
    return a.rc;
}

/* Sets left_out and the ranges that the others are. */
static int choose_stripes(uint8_t **left_out, orc_reader *r, const pml_format_read *q, pml_bridge_orc_request *request, pml_error *err)
{
    const size_t n = (size_t)r->bridge->orc_stripes(r->file);
    int64_t first = 0;
    uint8_t *out = *left_out = pml_arena__array(&r->arena, n, sizeof *out);
    pml_row_range *ranges = pml_arena__array(&r->arena, n, sizeof *ranges);
    pml_column_stats *stats = pml_arena__array(&r->arena, r->n_fields, sizeof *stats);
    if (out == NULL || ranges == NULL || stats == NULL)
        return pml_error__no_memory(err);
    r->selection.ranges = ranges;
    for (int32_t i = 0; i < request->end_stripe; i++) {
        int64_t end = first + r->bridge->orc_stripe_rows(r->file, i);
        bool may = false;
        if (i >= request->first_stripe && first < end)
            PML_RETURN_IF(may_match(&may, r, q, i, first, stats, err));
        out[i] = !may;
        if (may)
            ranges[r->selection.n_ranges++] = (pml_row_range){first, end};
        first = end;
    }
    return PML_OK;
}

static int open_stream(orc_reader *r, const pml_format_read *q, const struct ArrowSchema *schema, pml_error *err)
{
    int64_t stripes = r->bridge->orc_stripes(r->file), parts = q->parts > 1 ? q->parts : 1, part = parts > 1 ? q->part : 0;
    pml_bridge_orc_request request = {.first_stripe = (int32_t)(stripes * part / parts),
                                            .end_stripe = (int32_t)(stripes * (part + 1) / parts),
                                            .schema = schema,
                                            .own_schema = q->own_schema,
                                            .n_optional = (uint32_t)q->n_optional,
                                            .zone_offset = q->orc_ltz_exact ? NULL : pml_zone__offset};
    uint8_t *left_out;
    PML_RETURN_IF(choose_stripes(&left_out, r, q, &request, err));
    request.left_out = left_out;
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
    r->selection = (pml_selection){.env = r->env, .rows = q->rows, .positions = q->positions};
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
