/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rt_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columnar/array_memory.h"
#include "support/test_arrow.h"

static const char *const values[RT_PARTITIONS] = {"a", "b/c=1", NULL};

const char *rt_partition_value(int p)
{
    return values[p];
}

const char *rt_partition_text(int p)
{
    return values[p] == NULL ? "__DEFAULT_PARTITION__" : values[p];
}

static const char *json_type(const rt_shape *shape, char c)
{
    if (shape->keyed != NULL && strchr("dgsac", c) != NULL)
        return c == 'd' ? "STRING NOT NULL" : c == 'c' ? "BIGINT" : "INT";
    return c == 'i' ? "BIGINT NOT NULL" : c == 'x' ? "INT" : "STRING";
}

int rt_table_create(pml_table **out, pml_env *env, const char *path, const rt_shape *shape, pml_error *err)
{
    const rt_variant *v = shape->keyed;
    char json[2048], fields[512] = "", buckets[64] = "", keyed[1024] = "";
    size_t at = 0;
    for (const char *c = shape->columns; *c != '\0'; c++)
        at += (size_t)snprintf(fields + at, sizeof fields - at, "%s{\"name\":\"%c\",\"type\":\"%s\"}", at == 0 ? "" : ",", *c,
                               json_type(shape, *c));
    if (v != NULL)
        (void)snprintf(keyed, sizeof keyed, "%s%s%s", v->options, v->options[0] == '\0' ? "" : ",",
                       shape->collapse ? "\"realtime.memory.collapse\":\"auto\",\"realtime.memory.merge-runs\":\"2\"," : "");
    if (shape->buckets < 0 && v != NULL)
        (void)snprintf(buckets, sizeof buckets, "\"bucket\":\"-1\",\"dynamic-bucket.target-row-num\":\"4\",");
    if (shape->buckets > 0)
        (void)snprintf(buckets, sizeof buckets, "\"bucket\":\"%d\",\"bucket-key\":\"i\",", shape->buckets);
    (void)snprintf(json, sizeof json,
                   "{\"fields\":[%s],\"partitionKeys\":[%s],\"primaryKeys\":[%s],\"comment\":\"\",\"options\":{%s%s"
                   "\"realtime.enabled\":\"true\",\"realtime.offset-mode\":\"%s\",\"realtime.auto-advance\":\"%s\"}}",
                   fields, shape->partitioned ? "\"d\"" : "", v == NULL ? "" : shape->partitioned ? "\"d\",\"i\"" : "\"i\"", keyed, buckets,
                   shape->external ? "external" : "assigned",
                   shape->auto_advance ? "true" : "false");
    return pml_table_create(out, env, path, json, strlen(json), 0, err);
}

/* ---- making ---- */

static void text_of(char out[32], int64_t id)
{
    (void)snprintf(out, 32, "v%lld", (long long)id);
}

static int32_t number_of(int64_t id)
{
    return (int32_t)(id * 31 % 1000003);
}

static bool text_is_null(int64_t id)
{
    return id % 7 == 0;
}

static struct ArrowArray text_column(int64_t n, const int64_t *ids, const int *parts, bool partition)
{
    char (*texts)[32] = calloc((size_t)n + 1, sizeof *texts);
    const char **v = calloc((size_t)n + 1, sizeof *v);
    assert_true(texts != NULL && v != NULL);
    for (int64_t i = 0; i < n; i++) {
        text_of(texts[i], ids[i]);
        v[i] = partition ? values[parts == NULL ? 0 : parts[i]] : text_is_null(ids[i]) ? NULL : texts[i];
    }
    struct ArrowArray a = test_text_array(n, v);
    free(v);
    free(texts);
    return a;
}

static struct ArrowArray number_column(int64_t n, const int64_t *ids)
{
    int32_t *v = calloc((size_t)n + 1, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++)
        v[i] = number_of(ids[i]);
    struct ArrowArray a = test_fixed_array(4, n, v);
    free(v);
    return a;
}

void rt_rows_make(struct ArrowArray *array, struct ArrowSchema *schema, const rt_shape *shape, int64_t n, const int64_t *ids,
                  const int *parts, const int64_t *offsets)
{
    struct ArrowArray columns[10];
    struct ArrowSchema fields[10];
    static const char letters[] = "i\0v\0x\0d\0g\0s\0a\0b\0c";
    size_t k = 0;
    if (offsets != NULL) {
        fields[k] = test_field("l", "_REALTIME_OFFSET", -1, false, 0, NULL);
        columns[k++] = test_fixed_array(8, n, offsets);
    }
    for (const char *c = shape->columns; *c != '\0'; c++, k++) {
        const char *format = *c == 'i' || *c == 'c' ? "l" : strchr("xgsa", *c) != NULL ? "i" : "u";
        fields[k] = test_field(format, (const char *)memchr(letters, *c, sizeof letters), -1, *c != 'i', 0, NULL);
        columns[k] = *c == 'd'              ? text_column(n, ids, parts, true)
                     : shape->keyed != NULL ? rt_keyed_column(*c, shape->salt, n, ids, NULL)
                     : *c == 'i'            ? test_fixed_array(8, n, ids)
                     : *c == 'x'            ? number_column(n, ids)
                                            : text_column(n, ids, parts, false);
    }
    *array = test_struct_array(n, k, columns);
    *schema = test_struct(k, fields);
}

/* ---- reading ---- */

/* The text of a row in out; NULL: null. */
static const char *text_at(char out[64], const struct ArrowArray *a, int64_t row)
{
    const int32_t *o = a->buffers[1];
    const char *p = a->buffers[2];
    int64_t i = row + a->offset;
    if (pml_array__is_null(a, row))
        return NULL;
    size_t len = (size_t)(o[i + 1] - o[i]);
    len = len < 63 ? len : 63;
    if (len > 0)
        memcpy(out, p + o[i], len);
    out[len] = '\0';
    return out;
}

static int partition_at(const struct ArrowArray *a, int64_t row)
{
    char text[64];
    const char *t = text_at(text, a, row);
    for (int p = 0; p < RT_PARTITIONS; p++)
        if (t == NULL ? values[p] == NULL : values[p] != NULL && strcmp(t, values[p]) == 0)
            return p;
    return RT_PARTITIONS; /* no partition of ours */
}

static void check_value(char wrong[160], char column, const struct ArrowArray *a, int64_t row, int64_t id)
{
    char want[32], text[64];
    const char *got;
    if (column == 'v') {
        text_of(want, id);
        got = text_at(text, a, row);
        if (text_is_null(id) ? got != NULL : got == NULL || strcmp(got, want) != 0)
            (void)snprintf(wrong, 160, "row %lld has v = %s", (long long)id, got == NULL ? "null" : got);
    } else if (column == 'x') {
        int32_t v = ((const int32_t *)a->buffers[1])[row + a->offset];
        if (pml_array__is_null(a, row) || v != number_of(id))
            (void)snprintf(wrong, 160, "row %lld has x = %d", (long long)id, v);
    }
}

int rt_rows_next(struct ArrowArrayStream *stream, const char *columns, int64_t **ids, int **parts, int64_t *n, char wrong[160],
                 pml_error *err)
{
    struct ArrowArray a = {0};
    *n = -1;
    *ids = NULL;
    *parts = NULL;
    wrong[0] = '\0';
    if (stream->get_next(stream, &a) != 0)
        return pml_stream_error(stream, err);
    if (a.release == NULL)
        return PML_OK;
    *n = a.length;
    *ids = calloc((size_t)a.length + 1, sizeof **ids);
    *parts = calloc((size_t)a.length + 1, sizeof **parts);
    assert_true(*ids != NULL && *parts != NULL);
    const struct ArrowArray *id = a.children[strchr(columns, 'i') - columns];
    const char *d = strchr(columns, 'd');
    for (int64_t r = 0; r < a.length; r++) {
        int64_t row = r + a.offset;
        (*ids)[r] = ((const int64_t *)id->buffers[1])[row + id->offset];
        (*parts)[r] = d == NULL ? -1 : partition_at(a.children[d - columns], row);
        for (const char *c = columns; *c != '\0'; c++)
            check_value(wrong, *c, a.children[c - columns], row, (*ids)[r]);
    }
    a.release(&a);
    return PML_OK;
}
