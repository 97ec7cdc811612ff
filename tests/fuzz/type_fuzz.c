/* SPDX-License-Identifier: Apache-2.0 */
/* Type texts, and the list of columns of `pml table create`: what is parsed prints, and parses again as the same type. */
#include "columnar/data_type.h"
#include "fuzz.h"
#include "schema_text.h"

FUZZ_MEMORY(8 * MIB);

static void parse_type(const char *text, size_t len)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_type t, again;
    pml_arena arena;
    pml_buf out;
    int32_t next_id = 0;
    struct ArrowSchema schema;
    pml_arena__init(&arena, env);
    pml_buf__init(&out, env, 4 * MIB);
    int rc = pml_type__parse(&t, &arena, text, len, &next_id, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        must_ok(pml_type__print(&out, &t), NULL);
        next_id = 0;
        must_ok(pml_type__parse(&again, &arena, (const char *)out.data, out.len, &next_id, &err), &err);
        /* As in Java an empty description is not printed. */
        FUZZ_CHECK(pml_type__equal(&t, &again, false) || memmem(text, len, "''", 2) != NULL, "the type changed on the way: %.*s", (int)out.len, out.data);
        const pml_field field = {.id = 0, .name = "c", .type = t};
        rc = pml_type__export(&schema, env, &field, 1, &err);
        fuzz_must_be_answer(rc, &err);
        if (rc == PML_OK)
            schema.release(&schema);
    }
    pml_buf__clear(&out);
    pml_arena__clear(&arena);
}

static void parse_columns(const char *text)
{
    fuzz_quiet(true);
    json_t *fields = schema_columns_parse(text);
    fuzz_quiet(false);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *type = json_object_get(json_array_get(fields, i), "type");
        FUZZ_CHECK(json_is_string(type), "a column without a type");
        free(schema_type_text(type));
    }
    json_decref(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    char *text = fuzz_rest_text(&in);
    fuzz_begin();
    parse_type(text, len);
    parse_columns(text);
    fuzz_end();
    free(text);
    return 0;
}
