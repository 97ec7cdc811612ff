/* SPDX-License-Identifier: Apache-2.0 */
/* Blob files: all values, checked and not; some rows; only their number; in parts, which together have the rows of the whole. */
#include "format/file_format.h"
#include "fuzz.h"

FUZZ_MEMORY(256 * MIB);

enum { BATCHES_MAX = 1000 };

static const char path[] = "/t/bucket-0/data-1.blob";
static const pml_field field = {.name = "b", .type = {.kind = PML_TYPE_BLOB, .nullable = true}};

/* Rows, or a negative code. */
static int64_t read_file(pml_format_read q)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    q.fields = &field;
    q.batch_rows = 16;
    int rc = pml_format__open(&stream, fuzz_env()->env, "blob", path, &q, &err);
    fuzz_must_name(rc, &err, path);
    if (rc != PML_OK)
        return rc;
    rc = fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, &err);
    fuzz_must_be_answer(rc, &err);
    return rc == PML_OK ? rows : rc;
}

static int64_t read_some(int64_t n)
{
    pml_error err = PML_ERROR_INIT;
    pml_row_set set;
    must_ok(pml_row_set__init(&set, fuzz_env()->env, n, false, &err), &err);
    for (int64_t i = 0; i < n; i += 2)
        pml_row_set__add(&set, i);
    int64_t rows = read_file((pml_format_read){.n_fields = 1, .rows = &set});
    pml_row_set__clear(&set);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_begin();
    fuzz_fs_put(fuzz_files(), path, data, len);
    int64_t counted = read_file((pml_format_read){.n_fields = 0}), whole = read_file((pml_format_read){.n_fields = 1}), sum = 0;
    int64_t checked = read_file((pml_format_read){.n_fields = 1, .checksums = true, .check_values = true});
    FUZZ_CHECK(whole < 0 || counted == whole || whole >= 16 * BATCHES_MAX, "%lld rows, %lld counted", (long long)whole, (long long)counted);
    FUZZ_CHECK(checked < 0 || checked == whole, "checked it has %lld rows, else %lld", (long long)checked, (long long)whole);
    for (int32_t part = 0; whole >= 0 && whole < BATCHES_MAX && part < 3; part++)
        sum += read_file((pml_format_read){.n_fields = 1, .part = part, .parts = 3});
    FUZZ_CHECK(whole < 0 || whole >= BATCHES_MAX || whole == sum, "%lld rows, %lld in parts", (long long)whole, (long long)sum);
    if (whole > 0 && whole < BATCHES_MAX)
        FUZZ_CHECK(read_some(whole) == (whole + 1) / 2, "not every second row came");
    fuzz_end();
    return 0;
}
