/* SPDX-License-Identifier: Apache-2.0 */
/* Two bitmaps, the first behind its length in two bytes. A union that comes out is in order: the union of it with itself, with one
   of the two, and the other way round, has the same values. */
#include "columnar/roaring.h"
#include "fuzz.h"

FUZZ_MEMORY(8 * MIB);

static int unite(pml_buf *out, pml_bytes a, pml_bytes b)
{
    pml_error err = PML_ERROR_INIT;
    pml_buf__init(out, fuzz_env()->env, 4 * MIB);
    int rc = pml_roaring__union(out, a, b, &err);
    fuzz_must_be_answer(rc, &err);
    return rc;
}

static void must_be_same(pml_bytes a, pml_bytes b)
{
    pml_buf out;
    FUZZ_CHECK(unite(&out, a, b) == PML_OK, "a union cannot be read");
    FUZZ_CHECK(pml_bytes_equal((pml_bytes){out.data, out.len}, a), "a union with itself is another");
    pml_buf__clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_buf out, back;
    fuzz_begin();
    size_t first = len < 2 ? 0 : pml_le16(data) % (len - 1);
    pml_bytes a = {len < 2 ? NULL : data + 2, first},
              b = {len < 2 ? NULL : data + 2 + first, len < 2 ? 0 : len - 2 - first};
    int rc = unite(&out, a, b);
    if (rc == PML_OK) {
        pml_bytes both = {out.data, out.len};
        must_be_same(both, both);
        FUZZ_CHECK(unite(&back, b, a) == PML_OK && back.len == out.len && memcmp(back.data, out.data, out.len) == 0,
                   "the other way round the union is another");
        pml_buf__clear(&back);
        FUZZ_CHECK(unite(&back, both, a) == PML_OK, "a part cannot be added once more");
        pml_buf__clear(&back);
    }
    pml_buf__clear(&out);
    fuzz_end();
    return 0;
}
