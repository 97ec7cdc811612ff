/* SPDX-License-Identifier: Apache-2.0 */
/* A file index asked in every way for columns of every kind of key: an answer, or that it is damaged. The first two bytes are the number
   of rows of the data file. */
#include "format/file_index.h"
#include "fuzz.h"

FUZZ_MEMORY(16 * MIB);

enum { ROWS_BYTES = 2, COLUMNS = 6 };

static const pml_type types[COLUMNS] = {{.kind = PML_TYPE_VARCHAR, .nullable = true, .length = INT32_MAX},
                                        {.kind = PML_TYPE_INT, .nullable = true},
                                        {.kind = PML_TYPE_BIGINT, .nullable = true},
                                        {.kind = PML_TYPE_DATE, .nullable = true},
                                        {.kind = PML_TYPE_DECIMAL, .nullable = true, .precision = 10, .scale = 2},
                                        {.kind = PML_TYPE_TIMESTAMP, .nullable = true, .precision = 3}};
static const char *const names[COLUMNS] = {"s", "i", "l", "d", "dec", "ts"};

static pml_value literal(int column)
{
    if (column == 0)
        return (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)"v5", 2}};
    if (column == 4)
        return (pml_value){.kind = PML_VALUE_DECIMAL, .dec = -250};
    if (column == 5)
        return (pml_value){.kind = PML_VALUE_TIMESTAMP, .ts = {1000000, 0}};
    return (pml_value){.kind = PML_VALUE_INT, .i = 7};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    if (len < ROWS_BYTES)
        return 0;
    fuzz_begin();
    const int64_t rows = pml_le16(data);
    for (int c = 0; c < COLUMNS; c++) {
        for (pml_pred_op op = PML_PRED_EQ; op <= PML_PRED_IS_NOT_NULL; op++) {
            pml_value v = literal(c);
            const pml_pred p = {.op = op, .type = &types[c], .name = names[c], .n_literals = op < PML_PRED_IS_NULL ? 1 : 0, .literals = &v};
            pml_index_answer a;
            int rc = pml_file_index__ask(&a, env, (pml_bytes){data + ROWS_BYTES, len - ROWS_BYTES}, "data", &p, rows, &err);
            FUZZ_CHECK(rc == PML_OK || rc == PML_E_CORRUPT, "another failure");
            FUZZ_CHECK(a.kind != PML_INDEX_ROWS || (a.rows.n_rows == rows && pml_row_set__any(&a.rows, 0, rows)), "no rows of this file");
            pml_index_answer__clear(&a);
        }
    }
    fuzz_end();
    return 0;
}
