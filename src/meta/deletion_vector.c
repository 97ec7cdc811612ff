/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/deletion_vector.h"

#include <zlib.h>

#include "storage/stream.h"
#include "util/error.h"

enum {
    LENGTH_BYTES = 4,
    MAGIC_BYTES = 4,
    CHECKSUM_BYTES = 4,
    COUNT_BYTES = 8,
    KEY_BYTES = 4,
    MAGIC_32_BE = 1581511376,
    MAGIC_64_LE = 1681511377
};

static int bad(const char *path, const pml_deletion_range *range, const char *why, pml_error *err)
{
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_INDEX, path, "%s is damaged: the deletion vector at %lld %s", path,
                         (long long)range->offset, why);
}

/* n bitmaps, each of the values with one high half. */
static int add_bitmaps_64(pml_row_set *set, pml_bytes in, int64_t *cardinality, pml_error *err)
{
    int64_t n = in.len < COUNT_BYTES ? -1 : (int64_t)pml_le64(in.ptr), previous = -1;
    if (n < 0 || n > INT32_MAX)
        return pml_error__set(err, PML_E_CORRUPT, "it has a damaged head");
    in = (pml_bytes){in.ptr + COUNT_BYTES, in.len - COUNT_BYTES};
    for (int64_t i = 0; i < n; i++) {
        size_t used;
        int64_t some;
        if (in.len < KEY_BYTES)
            return pml_error__set(err, PML_E_CORRUPT, "it is too short for its bitmaps");
        uint32_t key = pml_le32(in.ptr);
        if ((int64_t)key <= previous || key > INT32_MAX)
            return pml_error__set(err, PML_E_CORRUPT, "its bitmaps do not ascend");
        previous = key;
        in = (pml_bytes){in.ptr + KEY_BYTES, in.len - KEY_BYTES};
        PML_RETURN_IF(pml_row_set__add_roaring(set, (uint64_t)key << 32, in, &used, &some, err));
        in = (pml_bytes){in.ptr + used, in.len - used};
        *cardinality += some;
    }
    return in.len == 0 ? PML_OK : pml_error__set(err, PML_E_CORRUPT, "it has bytes behind its bitmaps");
}

static int add_bitmap_32(pml_row_set *set, pml_bytes in, int64_t *cardinality, pml_error *err)
{
    size_t used;
    PML_RETURN_IF(pml_row_set__add_roaring(set, 0, in, &used, cardinality, err));
    return used == in.len ? PML_OK : pml_error__set(err, PML_E_CORRUPT, "it has bytes behind its bitmap");
}

int pml_deletion_vector__decode(pml_row_set *deleted, pml_env *env, pml_bytes record, const char *path, const pml_deletion_range *range,
                                int64_t n_rows, pml_error *err)
{
    int64_t cardinality = 0;
    pml_error why = PML_ERROR_INIT;
    int rc;
    *deleted = (pml_row_set){0};
    if (record.len < LENGTH_BYTES + MAGIC_BYTES + CHECKSUM_BYTES)
        return bad(path, range, "is too short", err);
    const uint8_t *p = record.ptr + LENGTH_BYTES;
    size_t len = record.len - LENGTH_BYTES - CHECKSUM_BYTES;
    if (pml_be32(record.ptr) != len)
        return bad(path, range, "has another length than its manifest says", err);
    if (crc32(0, p, (uInt)len) != pml_be32(p + len))
        return bad(path, range, "does not have its checksum", err);
    bool wide = pml_le32(p) == MAGIC_64_LE;
    if (!wide && pml_be32(p) != MAGIC_32_BE)
        return bad(path, range, "is of an unknown kind", err);
    const pml_bytes body = {p + MAGIC_BYTES, len - MAGIC_BYTES};
    PML_RETURN_IF(pml_row_set__init(deleted, env, n_rows, false, err));
    rc = wide ? add_bitmaps_64(deleted, body, &cardinality, &why) : add_bitmap_32(deleted, body, &cardinality, &why);
    if (rc != PML_OK)
        rc = bad(path, range, why.message, err);
    else if (range->cardinality >= 0 && range->cardinality != cardinality)
        rc = bad(path, range, "deletes another number of rows than its manifest says", err);
    if (rc != PML_OK)
        pml_row_set__clear(deleted);
    return rc;
}

/* What the manifest calls the length leaves the length word and the checksum out, or not; the word itself decides. */
int pml_deletion_vector__read(pml_row_set *deleted, pml_env *env, const char *path, const pml_deletion_range *range, int64_t n_rows,
                              pml_error *err)
{
    pml_input *in = NULL;
    uint8_t head[LENGTH_BYTES], *record = NULL;
    int rc;
    *deleted = (pml_row_set){0};
    PML_RETURN_IF(pml_input__open(&in, env, path, err));
    PML_TRY(pml_input__read_at(in, range->offset, head, sizeof head, err));
    int64_t len = (int64_t)pml_be32(head);
    if (len > PML_DELETION_VECTOR_MAX || (range->length != len && range->length != len + LENGTH_BYTES + CHECKSUM_BYTES)) {
        rc = bad(path, range, "has another length than its manifest says", err);
        goto out;
    }
    size_t all = LENGTH_BYTES + (size_t)len + CHECKSUM_BYTES;
    if (range->offset > pml_input__size(in) - (int64_t)all) {
        rc = bad(path, range, "goes beyond the end of the file", err);
        goto out;
    }
    record = pml_env__alloc(env, all);
    if (record == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_input__read_at(in, range->offset, record, all, err));
    rc = pml_deletion_vector__decode(deleted, env, (pml_bytes){record, all}, path, range, n_rows, err);
out:
    pml_env__free(env, record);
    pml_input__close(in);
    return rc;
}
