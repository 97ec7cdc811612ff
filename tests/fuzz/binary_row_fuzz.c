/* SPDX-License-Identifier: Apache-2.0 */
/* Binary rows and arrays of any atomic types (number of fields, types, bytes): what is read can be written, and reads as the same. */
#include "columnar/binary_row.h"
#include "fuzz.h"

FUZZ_MEMORY(4 * MIB);

enum { FIELDS_MAX = 20, ELEMENTS_MAX = 1 << 16 };

static void read_row(const pml_type *const *types, size_t n, pml_bytes bytes)
{
    pml_error err = PML_ERROR_INIT;
    pml_value values[FIELDS_MAX], again[FIELDS_MAX];
    pml_buf out;
    pml_bytes row;
    pml_buf__init(&out, fuzz_env()->env, PML_BINARY_ROW_MAX);
    fuzz_must_be_answer(pml_binary_row__uncount(&row, bytes, n, &err), &err);
    int rc = pml_binary_row__read(values, types, n, bytes, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        must_ok(pml_binary_row__write(&out, types, values, n), NULL);
        must_ok(pml_binary_row__read(again, types, n, (pml_bytes){out.data, out.len}, &err), &err);
        for (size_t i = 0; i < n; i++)
            FUZZ_CHECK(pml_value__equal(&values[i], &again[i]), "field %zu changed on the way", i);
        (void)pml_bucket__default(pml_binary_row__hash((pml_bytes){out.data, out.len}), 7);
        for (size_t i = 0; i < n; i++)
            (void)pml_binary_row__hash_one(types[i], &values[i]);
    }
    pml_buf__clear(&out);
}

static void read_array(const pml_type *element, pml_bytes bytes)
{
    pml_error err = PML_ERROR_INIT;
    size_t n;
    int rc = pml_binary_array__count(&n, element, bytes, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc != PML_OK || n > ELEMENTS_MAX)
        return;
    pml_value *values = calloc(n + 1, sizeof *values);
    FUZZ_CHECK(values != NULL, "no memory");
    fuzz_must_be_answer(pml_binary_array__read(values, element, n, bytes, &err), &err);
    int64_t *longs = calloc(n + 1, sizeof *longs);
    FUZZ_CHECK(longs != NULL, "no memory");
    if (element->kind == PML_TYPE_BIGINT)
        fuzz_must_be_answer(pml_binary_array__read_longs(longs, n, bytes, &err), &err);
    free(longs);
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_type types[FIELDS_MAX];
    const pml_type *pointers[FIELDS_MAX];
    fuzz_begin();
    size_t n = 1 + fuzz_u8(&in) % FIELDS_MAX;
    for (size_t i = 0; i < n; i++) {
        types[i] = fuzz_type(&in);
        pointers[i] = &types[i];
    }
    pml_bytes bytes = fuzz_rest(&in);
    read_row(pointers, n, bytes);
    read_array(&types[0], bytes);
    fuzz_end();
    return 0;
}
