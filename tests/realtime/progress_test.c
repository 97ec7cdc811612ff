/* SPDX-License-Identifier: Apache-2.0 */
/* The progress file: bytes, malformed input, places, partition values (realtime-tests.md 51, 52, 53). */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/partition.h"
#include "realtime/rt_offsets.h"

static const char *const two_keys[] = {"region", "dt"};

static void map_of(pml_progress *p, test_env *t, size_t n_keys, const char *const *keys)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_progress__init(p, t->env, n_keys, keys, &err), &err);
}

static pml_progress_entry *entry_of(pml_progress *p, const char *const *texts, int32_t bucket, int64_t end)
{
    pml_error err = PML_ERROR_INIT;
    pml_progress_entry *e;
    const pml_pb_texts pb = {p->n_keys, texts, bucket};
    must_ok(pml_progress__add(&e, p, &pb, &err), &err);
    e->end = end;
    return e;
}

static void must_write(pml_progress *p, const char *expected)
{
    pml_error err = PML_ERROR_INIT;
    pml_buf out;
    pml_buf__init(&out, p->arena.env, PML_PROGRESS_FILE_MAX);
    must_ok(pml_progress__write(&out, p, &err), &err);
    (void)pml_buf__append_byte(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    pml_buf__clear(&out);
}

static int parse(pml_progress *p, test_env *t, size_t n_keys, const char *const *keys, const char *text, pml_error *err)
{
    map_of(p, t, n_keys, keys);
    return pml_progress__parse(p, (pml_bytes){(const uint8_t *)text, strlen(text)}, "x.offsets", err);
}

/* ---- bytes ---- */

static const char empty_file[] = "{\n"
                                 "    \"version\": 1,\n"
                                 "    \"offsets\": []\n"
                                 "}";

static const char plain_file[] = "{\n"
                                 "    \"version\": 1,\n"
                                 "    \"offsets\": [\n"
                                 "        {\n"
                                 "            \"partition\": {},\n"
                                 "            \"bucket\": 0,\n"
                                 "            \"offset\": 7\n"
                                 "        },\n"
                                 "        {\n"
                                 "            \"partition\": {},\n"
                                 "            \"bucket\": 10,\n"
                                 "            \"offset\": 9223372036854775807\n"
                                 "        }\n"
                                 "    ]\n"
                                 "}";

static const char full_file[] = "{\n"
                                "    \"version\": 1,\n"
                                "    \"offsets\": [\n"
                                "        {\n"
                                "            \"partition\": {\n"
                                "                \"dt\": \"2026-01-01\",\n"
                                "                \"region\": \"cn\"\n"
                                "            },\n"
                                "            \"bucket\": 0,\n"
                                "            \"offset\": 12,\n"
                                "            \"lineage\": \"000102030405060708090a0b0c0d0eff\",\n"
                                "            \"commitUser\": \"u\\\"1\\\\\\n\\u0001\",\n"
                                "            \"commitIdentifier\": -3,\n"
                                "            \"sequence\": 41,\n"
                                "            \"rows\": 11\n"
                                "        },\n"
                                "        {\n"
                                "            \"partition\": {\n"
                                "                \"dt\": \"2026-01-01\",\n"
                                "                \"region\": \"de\"\n"
                                "            },\n"
                                "            \"bucket\": 3,\n"
                                "            \"offset\": 5,\n"
                                "            \"lost\": true\n"
                                "        },\n"
                                "        {\n"
                                "            \"partition\": {\n"
                                "                \"dt\": \"a/b\",\n"
                                "                \"region\": \"\xc3\xa4=\"\n"
                                "            },\n"
                                "            \"bucket\": 2,\n"
                                "            \"offset\": 0,\n"
                                "            \"reset\": 9\n"
                                "        }\n"
                                "    ]\n"
                                "}";

static void fill_full(pml_progress *p)
{
    pml_progress_entry *e = entry_of(p, (const char *[]){"\xc3\xa4=", "a/b"}, 2, 0);
    e->reset = (pml_optional_int64){true, 9};
    e = entry_of(p, (const char *[]){"de", "2026-01-01"}, 3, 5);
    e->lost = true;
    e = entry_of(p, (const char *[]){"cn", "2026-01-01"}, 0, 12);
    assert_true(pml_lineage__parse(&e->lineage, "000102030405060708090A0B0C0D0EFF"));
    e->commit_user = "u\"1\\\n\x01";
    e->commit_identifier = (pml_optional_int64){true, -3};
    e->sequence = (pml_optional_int64){true, 41};
    e->rows = (pml_optional_int64){true, 11};
}

static void progress_file_has_canonical_bytes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_progress p;
    map_of(&p, t, 2, two_keys);
    must_write(&p, empty_file);
    fill_full(&p);
    must_write(&p, full_file);
    pml_progress__clear(&p);
    map_of(&p, t, 0, NULL);
    (void)entry_of(&p, NULL, 10, INT64_MAX);
    (void)entry_of(&p, NULL, 0, 7);
    must_write(&p, plain_file);
    pml_progress__clear(&p);
    test_env_close(t);
}

static void progress_file_read_and_written_is_the_same(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    must_ok(parse(&p, t, 2, two_keys, full_file, &err), &err);
    assert_int_equal(p.n, 3);
    must_write(&p, full_file);
    pml_progress__clear(&p);
    must_ok(parse(&p, t, 0, NULL, plain_file, &err), &err);
    must_write(&p, plain_file);
    pml_progress__clear(&p);
    must_ok(parse(&p, t, 0, NULL, empty_file, &err), &err);
    must_write(&p, empty_file);
    pml_progress__clear(&p);
    test_env_close(t);
}

static void progress_entry_is_found_by_its_texts(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    char longer[600];
    pml_progress p;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    must_ok(parse(&p, t, 2, two_keys, full_file, &err), &err);
    (void)entry_of(&p, (const char *[]){longer, ""}, 1, 77);
    const pml_pb_texts here = {2, (const char *[]){"cn", "2026-01-01"}, 0};
    const pml_pb_texts swapped = {2, (const char *[]){"2026-01-01", "cn"}, 0};
    const pml_pb_texts other_bucket = {2, (const char *[]){"cn", "2026-01-01"}, 1};
    const pml_pb_texts run_together = {2, (const char *[]){"cn2026-01-01", ""}, 0};
    const pml_pb_texts long_one = {2, (const char *[]){longer, ""}, 1};
    assert_int_equal(pml_progress__find(&p, &here)->end, 12);
    assert_null(pml_progress__find(&p, &swapped));
    assert_null(pml_progress__find(&p, &other_bucket));
    assert_null(pml_progress__find(&p, &run_together));
    assert_int_equal(pml_progress__find(&p, &long_one)->end, 77);
    pml_progress__clear(&p);
    test_env_close(t);
}

static void progress_file_with_unknown_members_is_read(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    const char *text = "{\"later\":{\"a\":[1,2]},\"version\":1,\"offsets\":[{\"bucket\":3,\"x\":null,\"offset\":4,"
                       "\"position\":\"AA==\",\"lineage\":null,\"partition\":{}}]}";
    must_ok(parse(&p, t, 0, NULL, text, &err), &err);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.v[0].end, 4);
    assert_false(p.v[0].lineage.known || p.v[0].lost || p.v[0].rows.present);
    pml_progress__clear(&p);
    test_env_close(t);
}

/* ---- malformed ---- */

#define ONE(entry) "{\"version\":1,\"offsets\":[{\"partition\":{\"dt\":\"a\"},\"bucket\":0,\"offset\":0}," entry "]}"
#define B "{\"partition\":{\"dt\":\"b\"},"

static const struct {
    int code;
    const char *text, *says;
} malformed[] = {
    {PML_E_CORRUPT, "", ""},
    {PML_E_CORRUPT, "{", ""},
    {PML_E_CORRUPT, "[]", "object"},
    {PML_E_CORRUPT, "1", ""},
    {PML_E_CORRUPT, "{\"offsets\":[]}", "version"},
    {PML_E_CORRUPT, "{\"version\":\"1\",\"offsets\":[]}", "version"},
    {PML_E_CORRUPT, "{\"version\":1.0,\"offsets\":[]}", "version"},
    {PML_E_UNSUPPORTED, "{\"version\":2,\"offsets\":[]}", "version 2"},
    {PML_E_UNSUPPORTED, "{\"version\":0}", "version 0"},
    {PML_E_CORRUPT, "{\"version\":1}", "offsets"},
    {PML_E_CORRUPT, "{\"version\":1,\"offsets\":{}}", "offsets"},
    {PML_E_CORRUPT, "{\"version\":1,\"offsets\":[]} x", ""},
    {PML_E_CORRUPT, "{\"version\":1,\"offsets\":[]}{}", ""},
    {PML_E_CORRUPT, "{\"version\":1,\"version\":1,\"offsets\":[]}", ""},
    {PML_E_CORRUPT, ONE("3"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"partition\":\"dt=b\",\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":2},\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":null},\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"partition\":{},\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"day\":\"b\"},\"bucket\":0,\"offset\":1}"), "'dt'"},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":\"b\",\"h\":\"1\"},\"bucket\":0,\"offset\":1}"), "entry 1"},
    {PML_E_CORRUPT, ONE(B "\"offset\":1}"), "bucket"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":\"0\",\"offset\":1}"), "bucket"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":-1,\"offset\":1}"), "bucket"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":2147483648,\"offset\":1}"), "bucket"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0}"), "offset"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":\"1\"}"), "offset"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":-1}"), "offset"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":9223372036854775808}"), ""},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":\"a\"},\"bucket\":0,\"offset\":1}"), "dt=a/bucket-0"},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":\"a\\u0000\"},\"bucket\":0,\"offset\":1}"), ""},
    {PML_E_CORRUPT, ONE("{\"partition\":{\"dt\":\"\xff\"},\"bucket\":0,\"offset\":1}"), ""},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"lineage\":\"12\"}"), "lineage"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"lineage\":7}"), "lineage"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"lost\":1}"), "lost"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"commitUser\":1}"), "commitUser"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"commitIdentifier\":\"1\"}"), "commitIdentifier"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"rows\":-1}"), "rows"},
    {PML_E_CORRUPT, ONE(B "\"bucket\":0,\"offset\":1,\"reset\":4}"), "reset"},
};

static void progress_file_malformed_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const dt[] = {"dt"};
    test_env *t = test_env_open(NULL);
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        pml_progress p;
        int rc = parse(&p, t, 1, dt, malformed[i].text, &err);
        pml_progress__clear(&p);
        if (rc != malformed[i].code || strstr(err.message, malformed[i].says) == NULL ||
            strstr(err.message, "x.offsets") == NULL)
            fail_msg("case %zu: %s gave %s: %s", i, malformed[i].text, pml_error_name(rc), err.message);
    }
    test_env_close(t);
}

static void progress_file_cut_or_changed_never_crashes(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    char text[sizeof full_file];
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    for (size_t n = 0; n + 1 < sizeof full_file; n++) {
        map_of(&p, t, 2, two_keys);
        must_fail_with(PML_E_CORRUPT, pml_progress__parse(&p, (pml_bytes){(const uint8_t *)full_file, n}, "x", &err), &err);
        pml_progress__clear(&p);
    }
    t->random_state = test_seed();
    for (int i = 0; i < 3000; i++) {
        memcpy(text, full_file, sizeof text);
        text[test_random(t) % (sizeof text - 1)] = (char)test_random(t);
        map_of(&p, t, 2, two_keys);
        (void)pml_progress__parse(&p, (pml_bytes){(const uint8_t *)text, sizeof text - 1}, "x", NULL);
        pml_progress__clear(&p);
    }
    test_env_close(t);
}

static void progress_larger_than_the_limit_is_refused(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    pml_buf out;
    const size_t n = PML_PROGRESS_FILE_MAX + 1;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, ' ', n);
    map_of(&p, t, 2, two_keys);
    must_fail_with(PML_E_LIMIT, pml_progress__parse(&p, (pml_bytes){(const uint8_t *)text, n}, "x.offsets", &err), &err);
    free(text);
    fill_full(&p);
    pml_buf__init(&out, t->env, sizeof full_file - 2);
    must_fail_with(PML_E_LIMIT, pml_progress__write(&out, &p, &err), &err);
    assert_non_null(strstr(err.message, "3 partition-buckets"));
    pml_buf__clear(&out);
    pml_progress__clear(&p);
    test_env_close(t);
}

static void progress_with_text_that_is_not_utf8_is_not_written(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    pml_buf out;
    map_of(&p, t, 2, two_keys);
    (void)entry_of(&p, (const char *[]){"a", "\xc3"}, 2, 0);
    pml_buf__init(&out, t->env, PML_PROGRESS_FILE_MAX);
    must_fail_with(PML_E_UNSUPPORTED, pml_progress__write(&out, &p, &err), &err);
    pml_buf__clear(&out);
    pml_progress__clear(&p);
    test_env_close(t);
}

/* ---- places ---- */

static void must_have_paths(test_env *t, const char *branch_root, const char *value, const char *const expected[4])
{
    pml_error err = PML_ERROR_INIT;
    char *paths[PML_PROGRESS_PATHS];
    must_ok(pml_progress__paths(paths, t->env, "/w/t", branch_root, value, &err), &err);
    for (size_t i = 0; i < PML_PROGRESS_PATHS; i++) {
        assert_int_equal(paths[i] == NULL, expected[i] == NULL);
        if (expected[i] != NULL)
            assert_string_equal(paths[i], expected[i]);
    }
    pml_progress__free_paths(t->env, paths);
}

static void progress_path_full_relative_and_moved_is_found(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    const char *b = "/w/t/branch/branch-b", *here = "/w/t/metadata/a.offsets";
    must_have_paths(t, "/w/t", here, (const char *[4]){here, here});
    must_have_paths(t, "/w/t", "/old/t/metadata/a.offsets", (const char *[4]){"/old/t/metadata/a.offsets", here});
    must_have_paths(t, "/w/t", "file:/w/t/metadata/a.offsets", (const char *[4]){"file:/w/t/metadata/a.offsets", here});
    must_have_paths(t, "/w/t", "s3://b/a.offsets", (const char *[4]){"s3://b/a.offsets", here});
    must_have_paths(t, "/w/t", "metadata/a.offsets", (const char *[4]){here, here});
    must_have_paths(t, "../t", "../t/metadata/a.offsets",
                    (const char *[4]){"../t/metadata/a.offsets", "../t/metadata/a.offsets", here});
    must_have_paths(t, "t", "t/metadata/a.offsets", (const char *[4]){"t/metadata/a.offsets", "t/metadata/a.offsets", here});
    must_have_paths(t, b, "/old/metadata/a..b.offsets",
                    (const char *[4]){"/old/metadata/a..b.offsets", "/w/t/branch/branch-b/metadata/a..b.offsets",
                                      "/w/t/metadata/a..b.offsets"});
    test_env_close(t);
}

static void progress_path_that_climbs_or_has_another_suffix_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         "..",                "../a.offsets",     "/w/t/../x/a.offsets", "/w/t/metadata/../../a.offsets",
        ".offsets", "metadata/a.json",   "metadata/.offsets", "/etc/passwd",        "metadata/../a.offsets",
        "a.offsets/", "a.offsets/..",
    };
    test_env *t = test_env_open(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pml_error err = PML_ERROR_INIT;
        char *paths[PML_PROGRESS_PATHS];
        int rc = pml_progress__paths(paths, t->env, "/w/t", "/w/t", bad[i], &err);
        if (rc != PML_E_CORRUPT || strstr(err.message, "realtime.offsets") == NULL)
            fail_msg("'%s' gave %s: %s", bad[i], pml_error_name(rc), err.message);
    }
    test_env_close(t);
}

static void progress_file_of_a_moved_table_is_read(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    char *value;
    bool any;
    const char *before = test_path(t, "before"), *after = test_path(t, "after");
    must_ok(pml_progress__any_file(&any, t->env, before, &err), &err);
    assert_false(any);
    map_of(&p, t, 2, two_keys);
    fill_full(&p);
    must_ok(pml_progress__write_file(&value, &p, t->env, before, 0, &err), &err);
    pml_progress__clear(&p);
    assert_int_equal(strncmp(value, before, strlen(before)), 0);
    assert_int_equal(strlen(value), strlen(before) + strlen("/metadata/.offsets") + 36);
    must_ok(pml_progress__any_file(&any, t->env, before, &err), &err);
    assert_true(any);
    assert_int_equal(rename(before, after), 0);
    map_of(&p, t, 2, two_keys);
    must_fail_with(PML_E_NOT_FOUND, pml_progress__read_file(&p, t->env, before, before, value, &err), &err);
    must_ok(pml_progress__read_file(&p, t->env, after, after, value, &err), &err);
    must_write(&p, full_file);
    pml_progress__clear(&p);
    pml_env__free(t->env, value);
    test_env_close(t);
}

static void progress_file_of_any_branch_is_noticed(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_progress p;
    char *value;
    bool any;
    const char *root = test_path(t, "t");
    map_of(&p, t, 0, NULL);
    must_ok(pml_progress__write_file(&value, &p, t->env, test_path(t, "t/branch/branch-b"), 0, &err), &err);
    must_ok(pml_progress__any_file(&any, t->env, root, &err), &err);
    assert_true(any);
    assert_int_equal(remove(value), 0);
    must_ok(pml_progress__any_file(&any, t->env, root, &err), &err);
    assert_false(any);
    assert_int_equal(mkdir(test_path(t, "t/branch/branch-b/metadata/d.offsets"), 0700), 0);
    must_ok(pml_progress__any_file(&any, t->env, root, &err), &err);
    assert_false(any);
    pml_progress__clear(&p);
    pml_env__free(t->env, value);
    test_env_close(t);
}

/* ---- partition values ---- */

static const char table_json[] = "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT\"},{\"name\":\"s\",\"type\":\"STRING\"},"
                                 "{\"name\":\"d\",\"type\":\"DATE\"}],\"partitionKeys\":[\"s\",\"d\"],\"primaryKeys\":[],"
                                 "\"options\":{\"bucket\":\"1\",\"bucket-key\":\"id\"}}";

typedef struct partition_case {
    const char *text; /* NULL: null */
    int32_t day;      /* INT32_MIN: null */
    const char *path, *s, *d;
} partition_case;

/* Paths as Java makes them; texts are what the paths escape. */
static const partition_case partition_cases[] = {
    {"a/b", 20454, "s=a%2Fb/d=2026-01-01/", "a/b", "2026-01-01"},
    {"", 0, "s=__DEFAULT_PARTITION__/d=1970-01-01/", "__DEFAULT_PARTITION__", "1970-01-01"},
    {"  ", -1, "s=__DEFAULT_PARTITION__/d=1969-12-31/", "__DEFAULT_PARTITION__", "1969-12-31"},
    {NULL, INT32_MIN, "s=__DEFAULT_PARTITION__/d=__DEFAULT_PARTITION__/", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"},
    {"k=v", 1, "s=k%3Dv/d=1970-01-02/", "k=v", "1970-01-02"},
    {"\xe4\xb8\xad\xe6\x96\x87 \"q\"", 1, "s=\xe4\xb8\xad\xe6\x96\x87 %22q%22/d=1970-01-02/", "\xe4\xb8\xad\xe6\x96\x87 \"q\"",
     "1970-01-02"},
};

static void must_survive_the_file(test_env *t, const pml_table_schema *s, const pml_pb_texts *pb)
{
    pml_error err = PML_ERROR_INIT;
    pml_progress p, again;
    pml_buf text;
    pml_buf__init(&text, t->env, 1 << 20);
    map_of(&p, t, 2, s->partition_keys);
    (void)entry_of(&p, pb->partition, pb->bucket, 9);
    must_ok(pml_progress__write(&text, &p, &err), &err);
    map_of(&again, t, 2, s->partition_keys);
    must_ok(pml_progress__parse(&again, (pml_bytes){text.data, text.len}, "x", &err), &err);
    assert_int_equal(pml_progress__find(&again, pb)->end, 9);
    pml_progress__clear(&p);
    pml_progress__clear(&again);
    pml_buf__clear(&text);
}

static void must_have_texts(test_env *t, const pml_table_schema *s, const pml_table_options *o, const partition_case *c)
{
    pml_error err = PML_ERROR_INIT;
    pml_value values[2] = {{.kind = PML_VALUE_NULL}, {.kind = PML_VALUE_NULL}};
    pml_buf row;
    pml_arena arena;
    pml_pb_texts pb;
    char *path;
    if (c->text != NULL)
        values[0] = (pml_value){.kind = PML_VALUE_BYTES, .bytes = {(const uint8_t *)c->text, strlen(c->text)}};
    if (c->day != INT32_MIN)
        values[1] = (pml_value){.kind = PML_VALUE_INT, .i = c->day};
    pml_buf__init(&row, t->env, 1 << 20);
    pml_arena__init(&arena, t->env);
    must_ok(pml_partition__encode(&row, s, values), NULL);
    const pml_pb_key key = {{row.data, row.len}, 3};
    must_ok(pml_pb_texts__of_key(&pb, &arena, s, o, &key, &err), &err);
    assert_string_equal(pb.partition[0], c->s);
    assert_string_equal(pb.partition[1], c->d);
    must_ok(pml_path__partition(&path, t->env, s, o, key.partition, &err), &err);
    assert_string_equal(path, c->path);
    must_survive_the_file(t, s, &pb);
    pml_env__free(t->env, path);
    pml_arena__clear(&arena);
    pml_buf__clear(&row);
}

static void partition_values_agree_with_paths_and_survive_the_file(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    pml_error err = PML_ERROR_INIT;
    pml_table_schema *s;
    pml_table_options o;
    must_ok(pml_table_schema__parse_request(&s, t->env, (pml_bytes){(const uint8_t *)table_json, sizeof table_json - 1}, &err),
            &err);
    const partition_case legacy = {"a/b", 20454, "s=a%2Fb/d=20454/", "a/b", "20454"};
    must_ok(pml_table_options__parse(&o, s, NULL, 0, false, "t", &err), &err);
    must_have_texts(t, s, &o, &legacy);
    const pml_option named = {"partition.legacy-name", "false"};
    must_ok(pml_table_options__parse(&o, s, &named, 1, false, "t", &err), &err);
    for (size_t i = 0; i < sizeof partition_cases / sizeof partition_cases[0]; i++)
        must_have_texts(t, s, &o, &partition_cases[i]);
    pml_table_schema__release(s);
    test_env_close(t);
}

/* ---- names ---- */

static void pb_is_named_checked_and_ordered(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    char name[PML_PB_NAME_BYTES], longer[400];
    const char *texts[2];
    pml_pb_texts out;
    pml_error err = PML_ERROR_INIT;
    pml_rt_pb pb = PML_RT_PB_INIT;
    pb.n_partition = 2;
    pb.partition = (const char *[]){NULL, " \t"};
    pb.bucket = 3;
    must_ok(pml_pb_texts__of_public(&out, texts, 2, "DEF", &pb, &err), &err);
    pml_pb_texts__name(name, two_keys, &out);
    assert_string_equal(name, "region=DEF/dt=DEF/bucket-3");
    pml_pb_texts__name(name, NULL, &(pml_pb_texts){0, NULL, 7});
    assert_string_equal(name, "bucket-7");
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    pml_pb_texts__name(name, two_keys, &(pml_pb_texts){2, (const char *[]){longer, longer}, 7});
    assert_int_equal(strlen(name), PML_PB_NAME_BYTES - 1);
    must_fail_with(PML_E_INVAL, pml_pb_texts__of_public(&out, texts, 1, "DEF", &pb, &err), &err);
    pb.bucket = -1;
    must_fail_with(PML_E_INVAL, pml_pb_texts__of_public(&out, texts, 2, "DEF", &pb, &err), &err);
    pb.bucket = 0;
    pb.struct_size--;
    must_fail_with(PML_E_INVAL, pml_pb_texts__of_public(&out, texts, 2, "DEF", &pb, &err), &err);
    const pml_pb_key a = {{(const uint8_t *)"ab", 2}, 1}, b = {{(const uint8_t *)"ab", 2}, 2}, c = {{(const uint8_t *)"b", 1}, 0};
    assert_int_equal(pml_pb_key__compare(&a, &b), -1);
    assert_int_equal(pml_pb_key__compare(&c, &b), 1);
    assert_int_equal(pml_pb_key__compare(&a, &a), 0);
    test_env_close(t);
}

/* ---- memory ---- */

static int write_and_read(test_env *t, pml_error *err)
{
    pml_progress p, again = {0};
    char *value = NULL;
    const pml_pb_texts pb = {2, (const char *[]){"cn", "2026-01-01"}, 0};
    pml_progress_entry *e;
    int rc;
    PML_TRY(pml_progress__init(&p, t->env, 2, two_keys, err));
    PML_TRY(pml_progress__add(&e, &p, &pb, err));
    e->commit_user = "u";
    PML_TRY(pml_progress__write_file(&value, &p, t->env, test_path(t, "t"), 0, err));
    PML_TRY(pml_progress__init(&again, t->env, 2, two_keys, err));
    PML_TRY(pml_progress__read_file(&again, t->env, test_path(t, "t"), test_path(t, "t"), value, err));
out:
    pml_env__free(t->env, value);
    pml_progress__clear(&p);
    pml_progress__clear(&again);
    return rc;
}

static void progress_without_memory_fails_cleanly(void **state)
{
    (void)state;
    test_env *t = test_env_open(NULL);
    int rc = PML_E_NOMEM;
    int n = 0;
    for (bool reached = true; reached && n < 1000;) {
        pml_error err = PML_ERROR_INIT;
        test_env_fail_at(t, ++n);
        rc = write_and_read(t, &err);
        reached = test_env_fail_reached(t);
        test_env_fail_at(t, 0);
        if (rc != PML_OK)
            must_fail_with(PML_E_NOMEM, rc, &err);
    }
    assert_true(n > 10 && rc == PML_OK);
    test_env_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_file_has_canonical_bytes),
        cmocka_unit_test(progress_file_read_and_written_is_the_same),
        cmocka_unit_test(progress_entry_is_found_by_its_texts),
        cmocka_unit_test(progress_file_with_unknown_members_is_read),
        cmocka_unit_test(progress_file_malformed_is_refused_with_its_place),
        cmocka_unit_test(progress_file_cut_or_changed_never_crashes),
        cmocka_unit_test(progress_larger_than_the_limit_is_refused),
        cmocka_unit_test(progress_with_text_that_is_not_utf8_is_not_written),
        cmocka_unit_test(progress_path_full_relative_and_moved_is_found),
        cmocka_unit_test(progress_path_that_climbs_or_has_another_suffix_is_refused),
        cmocka_unit_test(progress_file_of_a_moved_table_is_read),
        cmocka_unit_test(progress_file_of_any_branch_is_noticed),
        cmocka_unit_test(partition_values_agree_with_paths_and_survive_the_file),
        cmocka_unit_test(pb_is_named_checked_and_ordered),
        cmocka_unit_test(progress_without_memory_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
