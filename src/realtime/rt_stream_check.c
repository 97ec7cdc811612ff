/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_stream_check.h"

#include <paimonlive/sys/realtime_store.h>
#include <string.h>

/* The field id of a column of a stream, from its metadata (Arrow's binary form: count, then length and bytes of key and value),
   -1 when it has none. */
static int32_t field_id_of(const struct ArrowSchema *s)
{
    static const char key[] = "paimon.id";
    const char *p = s->metadata;
    int32_t n, len;
    int64_t id = -1;
    if (p == NULL)
        return -1;
    memcpy(&n, p, 4);
    p += 4;
    for (int32_t i = 0; i < n; i++) {
        memcpy(&len, p, 4);
        bool is_id = len == (int32_t)(sizeof key - 1) && memcmp(p + 4, key, sizeof key - 1) == 0;
        p += 4 + len;
        memcpy(&len, p, 4);
        if (is_id) {
            id = 0;
            for (int32_t k = 0; k < len && p[4 + k] >= '0' && p[4 + k] <= '9' && id <= INT32_MAX; k++)
                id = id * 10 + (p[4 + k] - '0');
        }
        p += 4 + len;
    }
    return id > INT32_MAX ? -1 : (int32_t)id;
}

static int match_columns(int32_t *columns, const struct ArrowSchema *schema, const pml_field *fields, size_t n, const char *pb,
                         pml_error *err)
{
    char want[48];
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb, "a stream of the store of %s is no stream of structs", pb);
    for (size_t i = 0; i < n; i++) {
        columns[i] = -1;
        for (int64_t k = (int64_t)i, left = schema->n_children; columns[i] < 0 && left > 0; k++, left--) { /* mostly it is the i-th */
            k = k < schema->n_children ? k : 0;
            if (field_id_of(schema->children[k]) == fields[i].id)
                columns[i] = (int32_t)k;
        }
        if (columns[i] < 0)
            return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb, "a stream of the store of %s lacks the column '%s'", pb,
                                 fields[i].name);
        const struct ArrowSchema *column = schema->children[columns[i]];
        /* Table columns may have been renamed since the store was opened; system columns have one name. */
        if (strcmp(fields[i].name, PML_RT_COL_OFFSET) == 0 &&
            (column->name == NULL || strcmp(column->name, PML_RT_COL_OFFSET) != 0))
            return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb,
                                 "a stream of the store of %s names the column '%s' otherwise", pb, PML_RT_COL_OFFSET);
        pml_type__arrow_format(want, &fields[i].type);
        const char *got = column->format == NULL ? "" : column->format;
        if (strcmp(got, want) != 0)
            return pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, pb,
                                 "a stream of the store of %s has column '%s' as Arrow type '%s', it must be '%s'", pb, fields[i].name,
                                 got, want);
    }
    return PML_OK;
}

int pml_rt_stream__columns(int32_t *columns, struct ArrowSchema *schema, struct ArrowArrayStream *stream, const pml_field *fields,
                           size_t n, const char *pb, pml_error *err)
{
    struct ArrowSchema got = {0};
    if (stream->get_schema(stream, &got) != 0)
        return pml_rt_stream__error(stream, pb, err);
    int rc = match_columns(columns, &got, fields, n, pb, err);
    if (rc == PML_OK && schema != NULL)
        *schema = got;
    else
        pml_schema__release(&got);
    return rc;
}

/* The schema promised these columns; a batch must have them, whole. */
static int check_columns(const struct ArrowArray *batch, const int32_t *columns, size_t n, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct ArrowArray *child = columns[i] < batch->n_children ? batch->children[columns[i]] : NULL;
        if (child == NULL || child->release == NULL || child->offset < 0 || child->length < batch->length)
            return pml_error__set(err, PML_E_PLUGIN_CONTRACT, "column %d of a store's batch of %lld rows is missing or too short",
                                  columns[i], (long long)batch->length);
    }
    return PML_OK;
}

int pml_rt_stream__check_batch(const int64_t **offsets, const struct ArrowArray *batch, const int32_t *columns, size_t n,
                               bool with_offsets, pml_error *err)
{
    *offsets = NULL;
    if (batch->offset != 0 || batch->length < 0 || (batch->n_buffers > 0 && batch->buffers[0] != NULL && batch->null_count != 0))
        return pml_error__set(err, PML_E_PLUGIN_CONTRACT, "a batch of a store is no plain struct array without nulls");
    PML_RETURN_IF(check_columns(batch, columns, n, err));
    if (!with_offsets)
        return PML_OK;
    const struct ArrowArray *a = batch->children[columns[0]];
    if (a->n_buffers != 2 || (batch->length > 0 && a->buffers[1] == NULL))
        return pml_error__set(err, PML_E_PLUGIN_CONTRACT, "the offset column of a store's batch is no int64 array");
    const uint8_t *validity = a->buffers[0];
    for (int64_t i = 0; validity != NULL && a->null_count != 0 && i < batch->length; i++)
        if (!pml_bit_get(validity, a->offset + i))
            return pml_error__set(err, PML_E_PLUGIN_CONTRACT, "the offset column of a store's batch has a null");
    *offsets = batch->length == 0 ? NULL : (const int64_t *)a->buffers[1] + a->offset;
    return PML_OK;
}

int pml_rt_stream__take(struct ArrowArray *out, pml_env *env, struct ArrowArray *batch, const int32_t *columns, size_t n, int64_t from,
                        int64_t to, pml_error *err)
{
    struct ArrowArray *taken = pml_env__calloc(env, n, sizeof *taken);
    int rc = taken == NULL ? pml_error__no_memory(err) : PML_OK;
    for (size_t i = 0; taken != NULL && i < n; i++) {
        struct ArrowArray *child = batch->children[columns[i]];
        taken[i] = *child;
        child->release = NULL;
        if (from == 0 && taken[i].length == to)
            continue;
        taken[i].offset += from; /* a struct may also be shorter than its children */
        taken[i].length = to - from;
        taken[i].null_count = taken[i].null_count == 0 ? 0 : -1;
    }
    if (rc == PML_OK)
        rc = pml_batch__from_columns(out, env, taken, n, to - from, err);
    for (size_t i = 0; rc != PML_OK && taken != NULL && i < n; i++)
        pml_array__release(&taken[i]);
    pml_env__free(env, taken);
    batch->release(batch);
    return rc;
}

int pml_rt_stream__error(struct ArrowArrayStream *stream, const char *pb, pml_error *err)
{
    pml_error own = PML_ERROR_INIT;
    if (pml_stream__last_error(stream, &own) && own.code != PML_OK) {
        if (err != NULL)
            *err = own;
        return own.code;
    }
    const char *text = stream->get_last_error(stream);
    return pml_error__at(err, PML_E_PLUGIN, PML_PLACE_PB, pb, "a stream of the store of %s failed: %s", pb,
                         text == NULL ? "no reason given" : text);
}

int pml_rt_stream__plugin_code(int code, pml_error *err, const char *call, const char *pb)
{
    bool allowed = (code <= PML_E_INVAL && code >= PML_E_CORRUPT) || code == PML_E_NO_SPACE || code == PML_E_CANCELLED ||
                   code == PML_E_LIMIT || code == PML_E_TIMEOUT || code == PML_E_STATE || code == PML_E_BUSY ||
                   code == PML_E_SCHEMA || code == PML_E_INTERNAL || code == PML_E_PROGRESS_GAP || code == PML_E_OFFSET_ORDER ||
                   code == PML_E_BUDGET || code == PML_E_PLUGIN || code == PML_E_PLUGIN_CONTRACT;
    if (allowed && err != NULL && err->code == code)
        return code;
    uint32_t flags = err != NULL && err->code == code ? err->flags : 0;
    int to = allowed ? code : PML_E_PLUGIN;
    (void)pml_error__at(err, to, PML_PLACE_PB, pb, "the call '%s' of the store of %s failed with %d", call, pb, code);
    pml_error__add_flags(err, flags);
    return to;
}
