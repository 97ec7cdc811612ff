/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a context as text: what is printed as JSON comes back, buffers of any size, and what is no status. Numbers: 14b. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rt_kit.h"

static pml_rt_status status_of_writes(void)
{
    pml_rt_status s = PML_RT_STATUS_INIT;
    pml_error err = PML_ERROR_INIT;
    rt_kit k;
    rt_kit_create(&k, NULL, "\"p\"", "");
    rt_kit_start(&k, NULL, NULL);
    rt_kit_write(&k, 4, "a");
    (void)rt_kit_cycle(&k, 1);
    rt_kit_write(&k, 5, "a");
    must_ok(pml_rt_status_get(&s, k.ctx, &err), &err);
    assert_string_equal(s.table, pml_table_path(k.table));
    rt_kit_close(&k);
    return s;
}

static char *printed(const pml_rt_status *s, size_t n, int32_t format, size_t *length)
{
    pml_error err = PML_ERROR_INIT;
    assert_int_equal(pml_rt_status_print(NULL, 0, length, s, n, format, &err), PML_E_LIMIT);
    char *text = malloc(*length + 1);
    assert_non_null(text);
    must_ok(pml_rt_status_print(text, *length + 1, length, s, n, format, &err), &err);
    assert_int_equal(strlen(text), *length);
    return text;
}

static void json_comes_back(void **state)
{
    (void)state;
    pml_rt_status s = status_of_writes(), back = PML_RT_STATUS_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t length;
    (void)snprintf(s.table, sizeof s.table, "%s", "/a \"b\"\\c\n\x01 \xc3\xa4");
    assert_int_equal(s.metrics.total_row_count, 5);
    assert_int_equal(s.metrics.write_micros.count, 2);
    s.metrics.write_ns_sum = INT64_MAX;
    s.metrics.pinned_bytes = -1; /* nobody checks the numbers */
    char *text = printed(&s, 1, PML_RT_STATUS_JSON, &length);
    must_ok(pml_rt_status_parse(&back, text, length, &err), &err);
    assert_memory_equal(&s.metrics, &back.metrics, sizeof s.metrics); /* every member is in the table of fields */
    assert_string_equal(s.table, back.table);
    assert_int_equal(s.process, back.process);
    assert_int_equal(s.written_ms, back.written_ms);
    free(text);
}

static void every_member_is_printed(void **state)
{
    (void)state;
    pml_rt_status s = PML_RT_STATUS_INIT, back = PML_RT_STATUS_INIT;
    pml_error err = PML_ERROR_INIT;
    size_t length, n = (sizeof s.metrics - sizeof(size_t)) / sizeof(int64_t);
    int64_t *numbers = (int64_t *)(void *)((char *)&s.metrics + sizeof(size_t));
    for (size_t i = 0; i < n; i++)
        numbers[i] = 1000 + (int64_t)i;
    pml_rt_histogram *histograms[] = {&s.metrics.write_micros, &s.metrics.seal_micros, &s.metrics.prepare_millis, &s.metrics.plan_micros,
                                      &s.metrics.visible_to_committed_millis};
    for (size_t i = 0; i < sizeof histograms / sizeof *histograms; i++) {
        histograms[i]->count = 0;
        for (size_t b = 0; b < PML_RT_HISTOGRAM_BUCKETS; b++)
            histograms[i]->count += histograms[i]->bucket[b];
    }
    char *text = printed(&s, 1, PML_RT_STATUS_JSON, &length);
    must_ok(pml_rt_status_parse(&back, text, length, &err), &err);
    assert_memory_equal(&s.metrics, &back.metrics, sizeof s.metrics);
    free(text);
}

static void buffers_of_every_size_hold_the_beginning(void **state)
{
    (void)state;
    pml_rt_status s = status_of_writes();
    pml_error err = PML_ERROR_INIT;
    for (int32_t format = PML_RT_STATUS_TEXT; format <= PML_RT_STATUS_OPENMETRICS; format++) {
        size_t length, again;
        char *text = printed(&s, 1, format, &length);
        for (size_t capacity = 0; capacity <= length; capacity += capacity < 200 ? 1 : 97) {
            char *small = malloc(capacity + (capacity == 0)); /* exactly: the sanitizer sees a byte too many */
            assert_non_null(small);
            assert_int_equal(pml_rt_status_print(small, capacity, &again, &s, 1, format, &err), PML_E_LIMIT);
            assert_int_equal(again, length);
            if (capacity > 0)
                assert_memory_equal(small, text, strlen(small));
            assert_true(capacity == 0 || strlen(small) == capacity - 1);
            free(small);
        }
        free(text);
    }
}

static void no_statuses_are_no_text(void **state)
{
    (void)state;
    pml_error err = PML_ERROR_INIT;
    char text[8] = "before";
    size_t length;
    must_ok(pml_rt_status_print(text, sizeof text, &length, NULL, 0, PML_RT_STATUS_JSON, &err), &err);
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    assert_int_equal(pml_rt_status_print(text, sizeof text, &length, NULL, 0, 4, &err), PML_E_INVAL);
}

/* One family has the samples of all contexts together, as the format asks. */
static void families_are_not_torn(void **state)
{
    (void)state;
    pml_rt_status two[2] = {status_of_writes(), status_of_writes()};
    size_t length;
    (void)snprintf(two[1].table, sizeof two[1].table, "%s", "x\"y");
    char *text = printed(two, 2, PML_RT_STATUS_OPENMETRICS, &length);
    const char *type = strstr(text, "# TYPE paimonlive_write_rows counter\n");
    assert_non_null(type);
    assert_null(strstr(type + 1, "# TYPE paimonlive_write_rows "));
    const char *first = strstr(type, "paimonlive_write_rows_total{"), *second = strstr(first + 1, "paimonlive_write_rows_total{table=\"x\\\"y\"");
    const char *next = strstr(type + 1, "# TYPE");
    assert_true(first != NULL && second != NULL && second < next);
    assert_string_equal(text + length - 6, "# EOF\n");
    free(text);
}

static void what_is_no_status_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "[]", "{}", "{\"table\":1}", "{\"table\":\"a\"}", "{\"table\":\"a\",\"process\":-1,\"written_ms\":0}",
                                        "{\"table\":\"a\",\"process\":1,\"written_ms\":1,\"plans\":\"x\"}",
                                        "{\"table\":\"a\",\"process\":1,\"written_ms\":1,\"write_micros\":{\"sum\":1,\"max\":1,\"buckets\":[1]}}",
                                        "{\"table\":\"a\",\"process\":1,\"written_ms\":1} x"};
    pml_rt_status s = PML_RT_STATUS_INIT;
    pml_error err = PML_ERROR_INIT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pml_rt_status_parse(&s, wrong[i], strlen(wrong[i]), &err), PML_E_INVAL);
    static const char fine[] = "{\"table\":\"a\",\"process\":1,\"written_ms\":1,\"later\":[{}]}";
    must_ok(pml_rt_status_parse(&s, fine, strlen(fine), &err), &err);
    assert_int_equal(s.metrics.plans, 0);
    char long_path[2000];
    (void)snprintf(long_path, sizeof long_path, "{\"table\":\"%01200d\",\"process\":1,\"written_ms\":1}", 7);
    assert_int_equal(pml_rt_status_parse(&s, long_path, strlen(long_path), &err), PML_E_INVAL);
    s.struct_size = 8;
    assert_int_equal(pml_rt_status_parse(&s, fine, strlen(fine), &err), PML_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_comes_back),         cmocka_unit_test(every_member_is_printed),
        cmocka_unit_test(buffers_of_every_size_hold_the_beginning), cmocka_unit_test(no_statuses_are_no_text),
        cmocka_unit_test(families_are_not_torn),   cmocka_unit_test(what_is_no_status_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
