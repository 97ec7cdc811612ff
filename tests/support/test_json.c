/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test_json.h"

#include <stdio.h>
#include <string.h>

pml_bytes test_data(const char *path)
{
    char full[1024];
    size_t n;
    (void)snprintf(full, sizeof full, "%s/%s", PML_TEST_SOURCE, path);
    uint8_t *p = test_read_file(full, &n);
    return (pml_bytes){p, n};
}

pml_bytes test_text(const char *text)
{
    return (pml_bytes){(const uint8_t *)text, strlen(text)};
}

void test_must_hold(const pml_buf *b, pml_bytes expected, const char *what)
{
    if (pml_bytes_equal((pml_bytes){b->data, b->len}, expected))
        return;
    fail_msg("%s differs:\n%.*s\nexpected:\n%.*s", what, (int)b->len, (const char *)b->data, (int)expected.len,
             (const char *)expected.ptr);
}
