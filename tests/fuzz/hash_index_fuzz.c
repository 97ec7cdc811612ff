/* SPDX-License-Identifier: Apache-2.0 */
/* HASH index files of two buckets of one partition: which bucket their keys are in, or that they are damaged. The first three bytes say
   how many hashes the first file has, and how many more than there are the manifest says of the first and the second. */
#include "fuzz.h"
#include "table/key_buckets.h"

FUZZ_MEMORY(16 * MIB); /* a hash takes six bytes a place, at most three quarters of the places, and twice while the map grows */

enum { HASH_BYTES = 4 };

static void check(const pml_key_buckets *m, pml_bytes first, pml_bytes second)
{
    for (size_t i = 0; i + HASH_BYTES <= first.len; i += HASH_BYTES)
        FUZZ_CHECK(pml_key_buckets__get(m, (int32_t)pml_be32(first.ptr + i)) == 3, "a hash of the first file");
    for (size_t i = 0; i + HASH_BYTES <= second.len; i += HASH_BYTES)
        FUZZ_CHECK(pml_key_buckets__get(m, (int32_t)pml_be32(second.ptr + i)) == 0, "a hash of the second file");
}

/* What is written anew reads as the same. */
static void write_again(const pml_key_buckets *m)
{
    pml_env *env = fuzz_env()->env;
    pml_buf files[2], *of_bucket[4] = {&files[0], NULL, NULL, &files[1]};
    pml_key_buckets again;
    pml_error err = PML_ERROR_INIT;
    for (int i = 0; i < 2; i++)
        pml_buf__init(&files[i], env, SIZE_MAX / 2);
    pml_key_buckets__files(of_bucket, m);
    bool written = files[0].rc == PML_OK && files[1].rc == PML_OK;
    if (written && pml_key_buckets__init(&again, env, &err) == PML_OK) {
        pml_bytes zero = {files[0].data, files[0].len}, three = {files[1].data, files[1].len};
        int rc = pml_key_buckets__load(&again, zero, (int64_t)(zero.len / HASH_BYTES), 0, "zero", &err);
        if (rc == PML_OK)
            rc = pml_key_buckets__load(&again, three, (int64_t)(three.len / HASH_BYTES), 3, "three", &err);
        FUZZ_CHECK(rc == PML_E_NOMEM || (rc == PML_OK && again.n == m->n), "another number of hashes");
        if (rc == PML_OK)
            check(&again, three, zero);
        pml_key_buckets__clear(&again);
    }
    for (int i = 0; i < 2; i++)
        pml_buf__clear(&files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_key_buckets m;
    pml_error err = PML_ERROR_INIT;
    if (len > MIB)
        return 0;
    fuzz_begin();
    size_t n = fuzz_u8(&in);
    int64_t more[2] = {fuzz_u8(&in), fuzz_u8(&in)};
    pml_bytes second = fuzz_rest(&in), first = second;
    first.len = n * HASH_BYTES < second.len ? n * HASH_BYTES : second.len;
    second.ptr += first.len;
    second.len -= first.len;
    if (pml_key_buckets__init(&m, fuzz_env()->env, &err) == PML_OK) {
        int rc = pml_key_buckets__load(&m, first, (int64_t)(first.len / HASH_BYTES) + more[0], 3, "first", &err);
        FUZZ_CHECK(rc == PML_OK || rc == PML_E_CORRUPT, "another failure");
        if (rc == PML_OK)
            rc = pml_key_buckets__load(&m, second, (int64_t)(second.len / HASH_BYTES) + more[1], 0, "second", &err);
        fuzz_must_be_answer(rc, &err);
        if (rc == PML_OK) {
            check(&m, first, second);
            write_again(&m);
        }
        pml_key_buckets__clear(&m);
    }
    fuzz_end();
    return 0;
}
