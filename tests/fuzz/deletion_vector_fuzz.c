/* SPDX-License-Identifier: Apache-2.0 */
/* A record of an index file: what it says of rows, or that it is damaged. The first two bytes say how many rows the data file has; the
   checksum is made right, else hardly any input would pass it. */
#include <zlib.h>

#include "fuzz.h"
#include "meta/deletion_vector.h"

FUZZ_MEMORY(4 * MIB);

enum { ROWS_BYTES = 2, FRAME_BYTES = 8, LENGTH_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_row_set deleted;
    pml_error err = PML_ERROR_INIT;
    if (len < ROWS_BYTES || len > MIB)
        return 0;
    fuzz_begin();
    size_t n = len - ROWS_BYTES;
    int64_t rows = pml_le16(data) * INT64_C(16);
    uint8_t *record = pml_env__alloc(env, n + FRAME_BYTES);
    if (record != NULL) {
        pml_put_be32(record, (uint32_t)n);
        memcpy(record + LENGTH_BYTES, data + ROWS_BYTES, n);
        pml_put_be32(record + LENGTH_BYTES + n, (uint32_t)crc32(0, record + LENGTH_BYTES, (uInt)n));
        const pml_deletion_range range = {.length = (int64_t)n, .cardinality = -1};
        int rc = pml_deletion_vector__decode(&deleted, env, (pml_bytes){record, n + FRAME_BYTES}, "index", &range, rows, &err);
        FUZZ_CHECK(rc == PML_OK || rc == PML_E_CORRUPT, "another failure");
        FUZZ_CHECK(rc != PML_OK || (deleted.n_rows == rows && pml_row_set__count(&deleted, 0, rows) <= rows), "rows beyond the file");
        if (rc == PML_OK)
            pml_row_set__clear(&deleted);
    }
    pml_env__free(env, record);
    fuzz_end();
    return 0;
}
