/* SPDX-License-Identifier: Apache-2.0 */
/* Two 64-bit bitmaps, the first behind its length in two bytes. A union that comes out is in order: united with itself and with one of the
   two it stays as long as it is. */
#include "columnar/roaring.h"
#include "fuzz.h"

FUZZ_MEMORY(64 * MIB);

static int unite(pml_buf *out, pml_bytes a, pml_bytes b)
{
    pml_error err = PML_ERROR_INIT;
    pml_buf__init(out, fuzz_env()->env, 16 * MIB);
    int rc = pml_roaring64__union(out, a, b, &err);
    fuzz_must_be_answer(rc, &err);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_buf out, back;
    fuzz_begin();
    size_t first = len < 2 ? 0 : pml_le16(data) % (len - 1);
    pml_bytes a = {len < 2 ? NULL : data + 2, first}, b = {len < 2 ? NULL : data + 2 + first, len < 2 ? 0 : len - 2 - first};
    if (unite(&out, a, b) == PML_OK) {
        pml_bytes both = {out.data, out.len};
        FUZZ_CHECK(unite(&back, both, b) == PML_OK, "a part cannot be added once more");
        FUZZ_CHECK(back.len <= out.len, "a part that is there makes it longer");
        pml_buf__clear(&back);
        FUZZ_CHECK(unite(&back, both, both) == PML_OK && back.len <= out.len, "a union with itself is longer");
        pml_buf__clear(&back);
    }
    pml_buf__clear(&out);
    fuzz_end();
    return 0;
}
