/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as values of a type and as numbers, sizes and durations: what is parsed prints, and parses again as the same value. */
#include "columnar/java_text.h"
#include "columnar/value.h"
#include "fuzz.h"
#include "util/number.h"

FUZZ_MEMORY(4 * MIB);

static void parse_value(const pml_type *t, pml_bytes text)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    pml_value v, again;
    pml_arena arena;
    pml_buf out, java;
    pml_arena__init(&arena, env);
    pml_buf__init(&out, env, MIB);
    pml_buf__init(&java, env, MIB);
    int rc = pml_value__parse(&v, &arena, t, (const char *)text.ptr, text.len, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK) {
        must_ok(pml_value__print(&out, t, &v), NULL);
        must_ok(pml_value__parse(&again, &arena, t, out.len == 0 ? "" : (const char *)out.data, out.len, &err), &err);
        FUZZ_CHECK(pml_value__equal(&v, &again), "%.*s changed on the way", (int)out.len, out.data);
        fuzz_must_be_answer(pml_java_text__cast(&java, t, &v, &err), &err);
        fuzz_must_be_answer(pml_java_text__to_string(&java, t, &v, &err), &err);
    }
    pml_buf__clear(&out);
    pml_buf__clear(&java);
    pml_arena__clear(&arena);
}

static void parse_numbers(pml_bytes text)
{
    const char *s = (const char *)text.ptr;
    int64_t i;
    double d;
    float f;
    bool b;
    (void)pml_number__int64(&i, s, text.len);
    (void)pml_number__double(&d, s, text.len);
    (void)pml_number__float(&f, s, text.len);
    (void)pml_number__bool(&b, s, text.len);
    FUZZ_CHECK(!pml_number__size(&i, s, text.len) || i >= 0, "a size below zero");
    (void)pml_number__duration_ms(&i, s, text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    fuzz_begin();
    pml_type t = fuzz_type(&in);
    pml_bytes text = fuzz_rest(&in);
    parse_value(&t, text);
    parse_numbers(text);
    fuzz_end();
    return 0;
}
