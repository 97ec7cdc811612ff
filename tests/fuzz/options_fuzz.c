/* SPDX-License-Identifier: Apache-2.0 */
/* Options as lines "key=value": each by itself against the table of options, all together over a table. */
#include "fuzz.h"
#include "meta/options.h"
#include "meta/options_table.h"

FUZZ_MEMORY(8 * MIB);

enum { OPTIONS_MAX = 64 };

static size_t split_lines(pml_option *v, char *text)
{
    size_t n = 0;
    for (char *line = text, *end; line != NULL && n < OPTIONS_MAX; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        char *eq = strchr(line, '=');
        if (eq == NULL)
            continue;
        *eq = '\0';
        v[n++] = (pml_option){line, eq + 1};
    }
    return n;
}

static void check_each(const pml_option *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pml_error err = PML_ERROR_INIT;
        const pml_option_rule *rule = pml_option_rule__find(v[i].key);
        if (rule != NULL)
            fuzz_must_be_answer(pml_option__check_value(rule, v[i].key, v[i].value, "t", &err), &err);
    }
}

static void check_together(const pml_option *v, size_t n)
{
    static const char json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"name\",\"type\":\"STRING\"}],"
                               "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{\"bucket\":\"2\",\"bucket-key\":\"id\"}}";
    pml_error err = PML_ERROR_INIT;
    pml_table_schema *s;
    must_ok(pml_table_schema__parse_request(&s, fuzz_env()->env, (pml_bytes){(const uint8_t *)json, sizeof json - 1}, &err), &err);
    for (int write = 0; write < 2; write++) {
        pml_table_options o;
        fuzz_must_be_answer(pml_table_options__check_supported(s, v, n, write != 0, "t", &err), &err);
        int rc = pml_table_options__parse(&o, s, v, n, write != 0, "t", &err);
        fuzz_must_be_answer(rc, &err);
        FUZZ_CHECK(rc != PML_OK || (o.read_batch_rows > 0 && o.target_file_size > 0), "an option without a sense was taken");
    }
    pml_table_schema__release(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_option v[OPTIONS_MAX];
    char *text = fuzz_rest_text(&in);
    fuzz_begin();
    size_t n = split_lines(v, text);
    check_each(v, n);
    check_together(v, n);
    fuzz_end();
    free(text);
    return 0;
}
