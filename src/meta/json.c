/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/json.h"

#include <stdio.h>
#include <string.h>

int pml_json__fail(const pml_json_source *src, int code, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return pml_error__at(src->err, code, src->place, src->file, "%.90s: %s", src->file, message);
}

int pml_json__adopt(const pml_json_source *src, int rc)
{
    char message[sizeof src->err->message];
    if (rc == PML_OK || rc == PML_E_NOMEM || src->err == NULL)
        return rc == PML_E_INVAL ? src->code : rc;
    memcpy(message, src->err->message, sizeof message);
    return pml_json__fail(src, rc == PML_E_INVAL ? src->code : rc, "%s", message);
}

/* Every value but the first follows one of these three characters, so their number bounds the number of values. Those inside
   strings are counted, too: the limit is far above what honest files have. */
static bool too_many_values(pml_bytes text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == ',' || text.ptr[i] == '[' || text.ptr[i] == ':';
    return n >= PML_JSON_VALUES_MAX;
}

int pml_json__parse(json_t **out, pml_bytes text, size_t max, const pml_json_source *src)
{
    json_error_t e;
    *out = NULL;
    if (text.len > max)
        return pml_json__fail(src, PML_E_LIMIT, "the file has %zu bytes, more than the limit of %zu", text.len, max);
    if (too_many_values(text))
        return pml_json__fail(src, PML_E_LIMIT, "the file has more than %d values", PML_JSON_VALUES_MAX);
    json_t *root = json_loadb(text.len == 0 ? "" : (const char *)text.ptr, text.len, JSON_REJECT_DUPLICATES, &e);
    if (root == NULL) {
        if (json_error_code(&e) == json_error_out_of_memory)
            return pml_error__no_memory(src->err);
        return pml_json__fail(src, src->code, "not valid JSON: %.120s at line %d, column %d", e.text, e.line, e.column);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return pml_json__fail(src, src->code, "the file must hold one JSON object");
    }
    *out = root;
    return PML_OK;
}

static int fail_missing(const char *member, const pml_json_source *src)
{
    return pml_json__fail(src, src->code, "member '%.80s' is missing", member);
}

static int fail_type(const char *member, const char *expected, const pml_json_source *src)
{
    return pml_json__fail(src, src->code, "member '%.80s' must be %s", member, expected);
}

static const json_t *member_of(const json_t *object, const char *member)
{
    const json_t *v = json_object_get(object, member);
    return v == NULL || json_is_null(v) ? NULL : v;
}

int pml_json__get_string(const char **out, pml_arena *arena, const json_t *object, const char *member,
                         pml_json_need need, const pml_json_source *src)
{
    const json_t *v = member_of(object, member);
    *out = NULL;
    if (v == NULL)
        return need == PML_JSON_OPTIONAL ? PML_OK : fail_missing(member, src);
    if (!json_is_string(v))
        return fail_type(member, "a string", src);
    *out = pml_arena__strndup(arena, json_string_value(v), json_string_length(v));
    return *out == NULL ? pml_error__no_memory(src->err) : PML_OK;
}

int pml_json__find_int64(int64_t *out, bool *present, const json_t *object, const char *member, int64_t first,
                         int64_t last, const pml_json_source *src)
{
    _Static_assert(sizeof(json_int_t) == sizeof(int64_t), "identifiers need all 64 bits");
    const json_t *v = member_of(object, member);
    *out = 0;
    *present = v != NULL;
    if (v == NULL)
        return PML_OK;
    if (!json_is_integer(v))
        return fail_type(member, "an integer", src);
    *out = json_integer_value(v);
    if (*out >= first && *out <= last)
        return PML_OK;
    return pml_json__fail(src, src->code, "member '%.80s' is %lld, it must be between %lld and %lld", member,
                          (long long)*out, (long long)first, (long long)last);
}

int pml_json__get_int64(int64_t *out, const json_t *object, const char *member, int64_t first, int64_t last,
                        const pml_json_source *src)
{
    bool present;
    PML_RETURN_IF(pml_json__find_int64(out, &present, object, member, first, last, src));
    return present ? PML_OK : fail_missing(member, src);
}

int pml_json__get_array(const json_t **out, const json_t *object, const char *member, pml_json_need need,
                        const pml_json_source *src)
{
    *out = member_of(object, member);
    if (*out == NULL)
        return need == PML_JSON_OPTIONAL ? PML_OK : fail_missing(member, src);
    return json_is_array(*out) ? PML_OK : fail_type(member, "an array", src);
}

int pml_json__get_object(const json_t **out, const json_t *object, const char *member, pml_json_need need,
                         const pml_json_source *src)
{
    *out = member_of(object, member);
    if (*out == NULL)
        return need == PML_JSON_OPTIONAL ? PML_OK : fail_missing(member, src);
    return json_is_object(*out) ? PML_OK : fail_type(member, "an object", src);
}

int pml_json__get_strings(const char ***out, size_t *n, pml_arena *arena, const json_t *object, const char *member,
                          pml_json_need need, const pml_json_source *src)
{
    const json_t *array;
    *out = NULL;
    *n = 0;
    PML_RETURN_IF(pml_json__get_array(&array, object, member, need, src));
    if (array == NULL)
        return PML_OK;
    size_t count = json_array_size(array);
    const char **v = pml_arena__array(arena, count, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_array_get(array, i);
        if (!json_is_string(x))
            return fail_type(member, "an array of strings", src);
        v[i] = pml_arena__strndup(arena, json_string_value(x), json_string_length(x));
        if (v[i] == NULL)
            return pml_error__no_memory(src->err);
    }
    *out = v;
    *n = count;
    return PML_OK;
}
