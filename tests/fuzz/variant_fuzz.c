/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a variant behind its length in two bytes, then its metadata. What is well-formed has a text and can be built anew; what
   was built is built again as the same bytes. */
#include "columnar/variant_build.h"
#include "fuzz.h"

FUZZ_MEMORY(64 * MIB);

static int build(pml_variant_builder *b, pml_bytes value, pml_bytes metadata)
{
    pml_error err = PML_ERROR_INIT;
    pml_variant v;
    pml_variant_builder__init(b, fuzz_env()->env);
    int rc = pml_variant__open(&v, value, metadata, &err);
    if (rc == PML_OK)
        rc = pml_variant_builder__copy(b, &v, 0, 0);
    if (rc == PML_OK)
        rc = pml_variant_builder__finish(b, &err);
    fuzz_must_be_answer(rc, &err);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_error err = PML_ERROR_INIT;
    pml_variant_builder first, second;
    pml_buf text;
    fuzz_begin();
    size_t n = len < 2 ? 0 : pml_le16(data) % (len - 1);
    pml_bytes value = {len < 2 ? NULL : data + 2, n}, metadata = {len < 2 ? NULL : data + 2 + n, len < 2 ? 0 : len - 2 - n};
    pml_buf__init(&text, fuzz_env()->env, 16 * MIB);
    int well = pml_variant__check(value, metadata, &err);
    fuzz_must_be_answer(well, &err);
    int rc = pml_variant__print(&text, value, metadata, &err);
    fuzz_must_be_answer(rc, &err);
    FUZZ_CHECK(well == PML_OK ? rc == PML_OK || rc == PML_E_LIMIT : rc == well, "a text of a malformed variant, or none of another");
    if (build(&first, value, metadata) == PML_OK && well == PML_OK) {
        pml_bytes built = {first.value.data, first.value.len}, keys = {first.metadata.data, first.metadata.len};
        FUZZ_CHECK(pml_variant__check(built, keys, &err) == PML_OK, "what was built is malformed");
        FUZZ_CHECK(build(&second, built, keys) == PML_OK, "what was built cannot be built again");
        /* Keys are numbered as they come, which is in order only the second time. */
        FUZZ_CHECK(second.value.len == first.value.len && second.metadata.len == first.metadata.len, "built again it is of another size");
        pml_variant_builder__clear(&second);
    }
    pml_variant_builder__clear(&first);
    pml_buf__clear(&text);
    fuzz_end();
    return 0;
}
