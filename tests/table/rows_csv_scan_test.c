/* SPDX-License-Identifier: Apache-2.0 */
/* The look at CSV bytes: wherever the blocks end, the answer is the same. */
#include "support/test_env.h"

#include <stdlib.h>
#include <string.h>

#include "table/rows_csv_scan.h"
#include "util/error.h"

enum { ROW_MAX = 60 };

/* In blocks of `block` bytes, each a copy of its own so that the sanitizers see reads behind it. */
static int scan(const char *text, size_t len, size_t block, char quote, pml_error *err)
{
    static const pml_field text_column = {.name = "s", .type = {.kind = PML_TYPE_VARCHAR}},
                           real_column = {.name = "f", .type = {.kind = PML_TYPE_FLOAT}};
    static const pml_field *const columns[] = {&text_column, &real_column};
    pml_csv_scan s = {.file = "a.csv", .delimiter = ',', .quote = quote, .columns = columns, .n_columns = 2};
    int rc = PML_OK;
    s.row_max_bytes = ROW_MAX;
    for (size_t at = 0; at < len && rc == PML_OK; at += block) {
        size_t n = len - at < block ? len - at : block;
        uint8_t *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, text + at, n);
        rc = pml_csv_scan__feed(&s, copy, n, err);
        free(copy);
    }
    return rc == PML_OK ? pml_csv_scan__end(&s, err) : rc;
}

static void the_answer_does_not_depend_on_the_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        char quote;
        const char *said; /* NULL: nothing */
    } cases[] = {
        {"s,f\na,1\n", '"', NULL},
        {"", '"', NULL},
        {"\"a\"\"b\",1\r\n\"x\r\ny\",-1e38\rz,inf\r\n,-Infinity", '"', NULL},
        {"a\"b,1\n5\",2\n", '"', NULL},
        {"\"a,1\n\"b,2\n\"c,3\n", '\0', NULL},
        {"a,1\n\"b,2\n", '"', "ends inside of the quoted field that begins in line 2"},
        {"a,1\r\nb,2\r\rc,\"3\r\n", '"', "begins in line 4"},
        {"'a,1\n", '\'', "begins in line 1"},
        {"a,1\nb,1e39\nc,3\n", '"', "line 2: column \"f\": 1e39 is outside of the range of FLOAT"},
        {"a,\" -1E99 \"", '"', "line 1: column \"f\": -1E99 is outside"},
        {"1e99,1,1e99\n", '"', NULL},
        {"a,1111111111222222222233333333334444444444\n", '"', "outside of the range of FLOAT"},
        {"\"1234567890\n1234567890\n1234567890\n1234567890\n1234567890123\"\n", '"', NULL},
        {"\"1234567890\n1234567890\n1234567890\n1234567890\n12345678901234\"\n", '"', "at most 60 bytes"},
        {"1234567890123456789012345678901234567890123456789012345678901", '"', "at most 60 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t block = 1; block <= strlen(cases[i].text) + 1; block++) {
            pml_error err = PML_ERROR_INIT;
            int rc = scan(cases[i].text, strlen(cases[i].text), block, cases[i].quote, &err);
            bool good =
                cases[i].said == NULL ? rc == PML_OK : rc != PML_OK && strstr(err.message, cases[i].said) != NULL;
            if (!good)
                fail_msg("case %zu in blocks of %zu: %d \"%s\"", i, block, rc, err.message);
        }
}

static void numbers_of_any_length_are_looked_at_without_harm(void **state)
{
    (void)state;
    char text[2000];
    pml_error err = PML_ERROR_INIT;
    memset(text, '0', sizeof text);
    text[0] = ',';
    text[1] = '1';
    assert_int_equal(scan(text, 40, 7, '"', &err), PML_OK);
    must_fail_with(PML_E_LIMIT, scan(text, sizeof text, 100, '"', &err), &err);
    must_fail_with(PML_E_LIMIT, scan(text, sizeof text, 1, '"', &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_does_not_depend_on_the_blocks),
        cmocka_unit_test(numbers_of_any_length_are_looked_at_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
