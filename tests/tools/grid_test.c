/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_env.h"

#include <string.h>

#include "grid.h"

static void width_counts_columns_of_a_terminal_not_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},         {"abc", 3},      {"\xc3\xa9", 1},     {"e\xcc\x81", 1}, {"日本", 4}, {"a\xf0\x9f\x98\x80", 3},
        {"\xff\xfe", 2}, {"\xe6\x97", 2}, {"\xed\x95\x9c", 2}, {"\xc0\x80", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(width_counts_columns_of_a_terminal_not_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
