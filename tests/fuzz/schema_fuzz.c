/* SPDX-License-Identifier: Apache-2.0 */
/* Schema files and requests for new tables, and the options inside: what is read can be written, and reads again as the same. */
#include "fuzz.h"
#include "meta/options.h"

FUZZ_MEMORY(8 * MIB);

static void ask_options(const pml_table_schema *s)
{
    for (int write = 0; write < 2; write++) {
        pml_table_options o;
        pml_error err = PML_ERROR_INIT;
        int rc = pml_table_options__check_supported(s, NULL, 0, write != 0, "the-table", &err);
        fuzz_must_be_answer(rc, &err);
        rc = pml_table_options__parse(&o, s, NULL, 0, write != 0, "the-table", &err);
        fuzz_must_be_answer(rc, &err);
        for (size_t i = 0; rc == PML_OK && i < s->n_fields; i++) {
            pml_stats_mode mode;
            fuzz_must_be_answer(pml_table_options__stats_mode(&mode, s, &o, i, &err), &err);
        }
    }
}

static void must_be_sound(const pml_table_schema *s)
{
    for (size_t i = 0; i < s->n_partition_keys; i++)
        FUZZ_CHECK(s->partition_index[i] >= 0 && (size_t)s->partition_index[i] < s->n_fields, "partition key without a column");
    for (size_t i = 0; i < s->n_bucket_keys; i++)
        FUZZ_CHECK(s->bucket_index[i] >= 0 && (size_t)s->bucket_index[i] < s->n_fields, "bucket key without a column");
    for (size_t i = 0; i < s->n_fields; i++)
        FUZZ_CHECK(s->fields[i].name != NULL, "a column without a name");
}

static void write_and_read_again(const pml_table_schema *s)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_table_schema *again;
    pml_buf first, second;
    pml_buf__init(&first, env, PML_SCHEMA_FILE_MAX);
    pml_buf__init(&second, env, PML_SCHEMA_FILE_MAX);
    must_ok(pml_table_schema__write(&first, s), NULL);
    must_ok(pml_table_schema__parse(&again, env, (pml_bytes){first.data, first.len}, "schema-0", &err), &err);
    must_ok(pml_table_schema__write(&second, again), NULL);
    FUZZ_CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "two texts of one schema:\n%.*s\n%.*s",
               (int)first.len, first.data, (int)second.len, second.data);
    pml_table_schema__release(again);
    pml_buf__clear(&first);
    pml_buf__clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_table_schema *s;
    fuzz_begin();
    int rc = pml_table_schema__parse(&s, env, (pml_bytes){data, len}, "schema-0", &err);
    fuzz_must_name(rc, &err, "schema-0");
    if (rc == PML_OK) {
        must_be_sound(s);
        ask_options(s);
        write_and_read_again(s);
        pml_table_schema__release(s);
    }
    rc = pml_table_schema__parse_request(&s, env, (pml_bytes){data, len}, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        must_be_sound(s);
        write_and_read_again(s);
        pml_table_schema__release(s);
    }
    fuzz_end();
    return 0;
}
