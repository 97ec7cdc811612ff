/* SPDX-License-Identifier: Apache-2.0 */
#include "format/blob.h"

#include <string.h>
#include <zlib.h>

#include "columnar/array_memory.h"
#include "format/read_common.h"
#include "format/selection.h"
#include "storage/stream.h"

#define BATCH_BYTES ((int64_t)64 << 20)

enum {
    MAGIC = 1481511375,
    MAGIC_BYTES = 4,
    TRAILER_BYTES = 12,
    RECORD_BYTES = MAGIC_BYTES + TRAILER_BYTES,
    FOOTER_BYTES = 5,
    VERSION = 1,
    NULL_LENGTH = -1,
    VARINT_BYTES_MAX = 10
};

typedef struct blob_reader {
    pml_env *env;
    pml_arena arena;
    const char *path;
    const pml_field *fields; /* copies in the arena */
    size_t n_fields;
    pml_input *in;
    int64_t *lengths; /* of each row, of all that lies in the file */
    int64_t n_rows, row, offset; /* the next one */
    int64_t batch_rows, value_max;
    bool checksums;
    const pml_row_set *rows; /* borrowed; NULL: all */
    pml_row_range range;     /* of this part */
    pml_selection selection;
} blob_reader;

static void reader_drop(void *owner)
{
    blob_reader *r = owner;
    pml_env *env = r->env;
    pml_input__close(r->in);
    pml_env__free(env, r->lengths);
    pml_arena__clear(&r->arena);
    pml_env__free(env, r);
    pml_env_release(env);
}

static int damaged(const blob_reader *r, const char *what, int64_t row, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, r->path, "%s is damaged: %s (row %lld)", r->path, what, (long long)row);
}

/* ---- the index ---- */

static bool get_varint(int64_t *v, const uint8_t **p, const uint8_t *end)
{
    uint64_t bits = 0;
    for (int i = 0; i < VARINT_BYTES_MAX && *p < end; i++) {
        uint8_t byte = *(*p)++;
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            return false;
        bits |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *v = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return true;
        }
    }
    return false;
}

/* Every row has a byte of the index at least. */
static int64_t count_rows(pml_bytes index)
{
    int64_t n = 0;
    for (size_t i = 0; i < index.len; i++)
        n += index.ptr[i] < 0x80;
    return n;
}

static int read_index(blob_reader *r, pml_bytes index, int64_t body, pml_error *err)
{
    const uint8_t *p = index.ptr, *end = index.len == 0 ? p : p + index.len;
    int64_t length = 0, delta, left = body;
    r->n_rows = count_rows(index);
    r->lengths = pml_env__calloc(r->env, (size_t)r->n_rows + 1, sizeof *r->lengths);
    if (r->lengths == NULL)
        return pml_error__no_memory(err);
    for (int64_t i = 0; i < r->n_rows; i++) {
        if (!get_varint(&delta, &p, end) || __builtin_add_overflow(length, delta, &length))
            return damaged(r, "a number of its index is cut or too large", i, err);
        if (length != NULL_LENGTH && (length < RECORD_BYTES || length > left))
            return damaged(r, "its index gives a value more bytes than there are, or fewer than one has", i, err);
        left -= length == NULL_LENGTH ? 0 : length;
        r->lengths[i] = length;
    }
    return p == end && left == 0 ? PML_OK : damaged(r, "its values and its index have other lengths", r->n_rows, err);
}

static int load_index(blob_reader *r, pml_error *err)
{
    uint8_t footer[FOOTER_BYTES];
    int64_t size = pml_input__size(r->in);
    if (size < FOOTER_BYTES)
        return damaged(r, "it is shorter than a footer", 0, err);
    PML_RETURN_IF(pml_input__read_at(r->in, size - FOOTER_BYTES, footer, FOOTER_BYTES, err));
    if (footer[4] != VERSION)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_DATA_FILE, r->path,
                             "needs blob-version:%d: %s is a blob file of that version, this one reads version 1", footer[4], r->path);
    int64_t len = (int32_t)pml_le32(footer), body = size - FOOTER_BYTES - len;
    if (len < 0 || body < 0)
        return damaged(r, "its index is longer than the file", 0, err);
    uint8_t *index = pml_env__alloc(r->env, (size_t)len);
    if (index == NULL)
        return pml_error__no_memory(err);
    int rc = len == 0 ? PML_OK : pml_input__read_at(r->in, body, index, (size_t)len, err);
    if (rc == PML_OK)
        rc = read_index(r, (pml_bytes){index, (size_t)len}, body, err);
    pml_env__free(r->env, index);
    return rc;
}

/* ---- values ---- */

/* What is not wanted is not read: it is left out as a null. */
static bool is_read(const blob_reader *r, int64_t row)
{
    return r->lengths[row] != NULL_LENGTH && r->n_fields > 0 && (r->rows == NULL || pml_row_set__has(r->rows, row));
}

/* How many rows the next batch has, and the bytes of their values. */
static int batch_size(int64_t *n, int64_t *bytes, const blob_reader *r, pml_error *err)
{
    *bytes = 0;
    for (*n = 0; *n < r->batch_rows && r->row + *n < r->range.end && *bytes < BATCH_BYTES; ++*n) {
        int64_t row = r->row + *n, value = is_read(r, row) ? r->lengths[row] - RECORD_BYTES : 0;
        if (value > r->value_max - *bytes && *n > 0)
            return PML_OK;
        if (value > r->value_max)
            return pml_error__at(err, PML_E_LIMIT, PML_PLACE_DATA_FILE, r->path,
                                 "row %lld of %s is a BLOB of %lld bytes, more than the %lld that a value may have", (long long)row, r->path,
                                 (long long)value, (long long)r->value_max);
        *bytes += value;
    }
    return PML_OK;
}

/* A value to `to`, where TRAILER_BYTES behind it, and MAGIC_BYTES before it, may be written for a while. */
static int read_value(const blob_reader *r, uint8_t *to, int64_t row, int64_t offset, pml_error *err)
{
    uint8_t before[MAGIC_BYTES];
    size_t length = (size_t)r->lengths[row];
    uint8_t *record = to - MAGIC_BYTES;
    memcpy(before, record, MAGIC_BYTES);
    PML_RETURN_IF(pml_input__read_at(r->in, offset, record, length, err));
    if (pml_le32(record) != MAGIC)
        return damaged(r, "a value does not begin as values do", row, err);
    if (pml_le64(record + length - TRAILER_BYTES) != length)
        return damaged(r, "a value has another length than the index says", row, err);
    if (r->checksums && crc32_z(0, record, length - 4) != pml_le32(record + length - 4))
        return damaged(r, "the checksum of a value is wrong", row, err);
    memcpy(record, before, MAGIC_BYTES);
    return PML_OK;
}

static int fill(struct ArrowArray *out, blob_reader *r, int64_t n, int64_t bytes, pml_error *err)
{
    int32_t *offsets = pml_array__alloc(out, 1, ((size_t)n + 1) * sizeof *offsets);
    uint8_t *data = pml_array__alloc(out, 2, (size_t)bytes + RECORD_BYTES);
    uint8_t *validity = pml_array__calloc(out, 0, pml_bits__bytes(n));
    if (offsets == NULL || data == NULL || validity == NULL)
        return pml_error__no_memory(err);
    memset(data, 0, MAGIC_BYTES);
    offsets[0] = MAGIC_BYTES; /* the room before the first value */
    for (int64_t i = 0; i < n; i++, r->row++) {
        bool read = is_read(r, r->row);
        offsets[i + 1] = offsets[i];
        if (read) {
            PML_RETURN_IF(read_value(r, data + offsets[i], r->row, r->offset, err));
            offsets[i + 1] += (int32_t)(r->lengths[r->row] - RECORD_BYTES);
            pml_bit_set(validity, i);
        }
        out->null_count += !read;
        r->offset += r->lengths[r->row] == NULL_LENGTH ? 0 : r->lengths[r->row];
    }
    out->length = n;
    return PML_OK;
}

/* The wanted rows of the next batch of the file, which may be none (release NULL). */
static int next_of_file(blob_reader *r, struct ArrowArray *out, pml_error *err)
{
    struct ArrowArray column = {0};
    int64_t n, bytes;
    int rc;
    PML_RETURN_IF(batch_size(&n, &bytes, r, err));
    if (r->n_fields > 0) {
        PML_TRY(pml_array__init(&column, r->env, NULL, pml_layout__buffers(PML_LAYOUT_TEXT), 0, err));
        PML_TRY(fill(&column, r, n, bytes, err));
    } else {
        r->row += n;
    }
    PML_TRY(pml_batch__from_columns(out, r->env, &column, r->n_fields, n, err));
    rc = pml_selection__cut(&r->selection, out, r->fields, r->n_fields, err);
out:
    pml_array__release(&column);
    return rc;
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    blob_reader *r = owner;
    while (r->row < r->range.end && out->release == NULL)
        PML_RETURN_IF(next_of_file(r, out, err));
    return PML_OK;
}

/* ---- opening ---- */

static int open_file(blob_reader *r, const pml_format_read *q, pml_error *err)
{
    PML_RETURN_IF(pml_input__open(&r->in, r->env, r->path, err));
    PML_RETURN_IF(pml_format__check_identity(r->path, q, pml_input__size(r->in), -1, err));
    PML_RETURN_IF(load_index(r, err));
    PML_RETURN_IF(pml_selection__check(q->rows, r->n_rows, r->path, err));
    int64_t parts = q->parts > 1 ? q->parts : 1, part = q->parts > 1 ? q->part : 0;
    r->range = (pml_row_range){r->n_rows / parts * part, part + 1 == parts ? r->n_rows : r->n_rows / parts * (part + 1)};
    for (; r->row < r->range.first; r->row++)
        r->offset += r->lengths[r->row] == NULL_LENGTH ? 0 : r->lengths[r->row];
    r->selection = (pml_selection){.env = r->env, .rows = q->rows, .ranges = &r->range, .n_ranges = 1};
    return pml_format__check_identity(r->path, q, pml_input__size(r->in), r->n_rows, err);
}

int pml_blob__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    if (q->n_fields > 1 || (q->n_fields == 1 && q->fields[0].type.kind != PML_TYPE_BLOB))
        return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_DATA_FILE, path,
                             "%s is a blob file, which has one column of type BLOB and no '%.80s'", path, q->fields[q->n_fields - 1].name);
    blob_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    r->batch_rows = q->batch_rows > 0 ? q->batch_rows : PML_BLOB_BATCH_ROWS;
    r->value_max = INT32_MAX - RECORD_BYTES;
    if (env->bridge_bytes_max > 0 && env->bridge_bytes_max < r->value_max)
        r->value_max = env->bridge_bytes_max;
    r->checksums = q->checksums;
    r->rows = q->rows;
    r->n_fields = q->n_fields;
    pml_arena__init(&r->arena, env);
    PML_TRY(pml_format__keep(&r->path, &r->fields, &r->arena, path, q, err));
    PML_TRY(open_file(r, q, err));
    PML_TRY(pml_type__export(&schema, env, r->fields, r->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
