/* SPDX-License-Identifier: Apache-2.0 */
/* Files in data/ were written by Java: manifest-old-090 and manifest-list-old-090 by 0.9.0, all others by 1.4.2. */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/manifest.h"
#include "meta/manifest_schema.h"

typedef struct fixture {
    test_env *t;
    pml_arena arena;
    uint8_t *data;
    size_t len;
    pml_manifest_entries entries;
    pml_manifest_list list;
    pml_error err;
} fixture;

static fixture open_file(const char *name)
{
    fixture f = {.t = test_env_open(NULL), .err = PML_ERROR_INIT};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/meta/data/%s", PML_TEST_SOURCE, name);
    f.data = test_read_file(path, &f.len);
    pml_arena__init(&f.arena, f.t->env);
    return f;
}

static void close_file(fixture *f)
{
    free(f->data);
    pml_arena__clear(&f->arena);
    test_env_close(f->t);
}

static int decode(fixture *f)
{
    return pml_manifest__decode(&f->entries, &f->arena, (pml_bytes){f->data, f->len}, "the-manifest", NULL, NULL,
                                &f->err);
}

static int decode_list(fixture *f)
{
    return pml_manifest_list__decode(&f->list, &f->arena, (pml_bytes){f->data, f->len}, "the-list", &f->err);
}

static fixture open_manifest(const char *name)
{
    fixture f = open_file(name);
    must_ok(decode(&f), &f.err);
    return f;
}

static void must_be_list(pml_string_list l, size_t n, const char *const *v)
{
    assert_true(l.present);
    assert_int_equal(l.n, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(l.v[i], v[i]);
}

static void must_be_counts(pml_simple_stats s, size_t n, const int64_t *v)
{
    assert_true(s.has_null_counts);
    assert_int_equal(s.n_null_counts, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s.null_counts[i], v[i]);
}

/* ---- Java's files ---- */

static void manifest_of_java_with_every_codec_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *file, *data;
    } cases[] = {{"manifest-null", "data-14f554c5-1aa3-4c96-8ee5-c691d58a4b04-0.parquet"},
                 {"manifest-deflate", "data-505abf94-a829-4b95-b3f2-930f585101c9-0.parquet"},
                 {"manifest-snappy", "data-af373521-2a84-459f-aed9-859a76910671-0.parquet"},
                 {"manifest-bzip2", "data-d5a83f1c-1637-431d-a5c2-05380665fef6-0.parquet"}};
    static const char *const cols[] = {"id", "name", "amount", "day", "at", "ratio"};
    static const uint8_t key_0[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < 4; i++) {
        fixture f = open_manifest(cases[i].file);
        assert_int_equal(f.entries.n, 1);
        const pml_manifest_entry *e = &f.entries.v[0];
        assert_int_equal(e->kind, PML_ENTRY_ADD);
        assert_int_equal(e->partition.len, 12);
        assert_int_equal(e->bucket, 0);
        assert_int_equal(e->total_buckets, 1);
        assert_string_equal(e->file.name, cases[i].data);
        assert_int_equal(e->file.size_bytes, 2805);
        assert_int_equal(e->file.row_count, 10);
        assert_int_equal(e->file.min_sequence, 0);
        assert_int_equal(e->file.max_sequence, 9);
        assert_int_equal(e->file.level, 0);
        assert_int_equal(e->file.file_source, PML_FILE_SOURCE_APPEND);
        assert_true(e->file.delete_row_count.present && e->file.delete_row_count.v == 0);
        assert_true(e->file.creation_time_ms.present && e->file.creation_time_ms.v > 1700000000000);
        assert_false(e->file.first_row_id.present || e->file.has_embedded_index || e->file.write_cols.present);
        assert_null(e->file.external_path);
        must_be_list(e->file.value_stats_cols, 6, cols);
        must_be_list(e->file.extra_files, 0, NULL);
        must_be_counts(e->file.value_stats, 6, (const int64_t[]){0, 1, 1, 0, 0, 0});
        must_be_counts(e->file.key_stats, 1, (const int64_t[]){0});
        assert_int_equal(e->file.min_key.len, sizeof key_0);
        assert_memory_equal(e->file.min_key.ptr, key_0, sizeof key_0);
        close_file(&f);
    }
}

static void manifest_of_java_with_the_default_codec_is_read(void **state)
{
    (void)state;
    fixture f = open_manifest("manifest-zstd");
    assert_int_equal(f.entries.n, 1);
    assert_string_equal(f.entries.v[0].file.name, "data-61ee0eb1-a880-4925-b80a-5829f8b918b8-0.parquet");
    assert_int_equal(f.entries.v[0].file.min_sequence, 10);
    assert_int_equal(f.entries.v[0].file.max_sequence, 19);
    must_be_counts(f.entries.v[0].file.value_stats, 6, (const int64_t[]){0, 3, 1, 0, 2, 0});
    close_file(&f);
}

static void manifest_of_an_old_release_reads_newer_fields_as_absent(void **state)
{
    (void)state;
    fixture f = open_manifest("manifest-old-090");
    assert_int_equal(f.entries.n, 1);
    const pml_data_file *d = &f.entries.v[0].file;
    assert_int_equal(f.entries.v[0].total_buckets, -1);
    assert_string_equal(d->name, "data-366c35c0-081e-4dfd-967e-e9cf4320909d-0.parquet");
    assert_int_equal(d->size_bytes, 1482);
    assert_int_equal(d->file_source, PML_FILE_SOURCE_APPEND);
    assert_false(d->value_stats_cols.present || d->first_row_id.present || d->write_cols.present);
    assert_null(d->external_path);
    must_be_counts(d->value_stats, 6, (const int64_t[]){0, 2, 3, 0, 0, -1});
    close_file(&f);
}

static void manifest_of_a_compaction_keeps_order_kinds_and_levels(void **state)
{
    (void)state;
    fixture f = open_manifest("manifest-compacted");
    assert_int_equal(f.entries.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f.entries.v[i].kind, i < 3 ? PML_ENTRY_DELETE : PML_ENTRY_ADD);
        assert_int_equal(f.entries.v[i].file.level, i < 3 ? 0 : 5);
        assert_int_equal(f.entries.v[i].file.file_source, i < 3 ? PML_FILE_SOURCE_APPEND : PML_FILE_SOURCE_COMPACT);
    }
    assert_string_equal(f.entries.v[0].file.name, "data-d2002e36-8e30-4ad8-83e4-15d2dbff0938-0.parquet");
    assert_int_equal(f.entries.v[0].file.delete_row_count.v, 1);
    assert_int_equal(f.entries.v[3].file.min_sequence, 3);
    assert_int_equal(f.entries.v[3].file.max_sequence, 4);
    close_file(&f);
}

static void manifest_of_java_with_optional_fields_is_read(void **state)
{
    (void)state;
    fixture f = open_manifest("manifest-extra-files");
    must_be_list(f.entries.v[0].file.extra_files, 1,
                 (const char *const[]){"data-1402d19d-59b5-4277-a84b-4b41fc544319-0.parquet.index"});
    close_file(&f);
    f = open_manifest("manifest-write-cols");
    assert_int_equal(f.entries.n, 2);
    must_be_list(f.entries.v[0].file.write_cols, 2, (const char *const[]){"id", "name"});
    must_be_list(f.entries.v[1].file.write_cols, 1, (const char *const[]){"pic"});
    must_be_list(f.entries.v[1].file.value_stats_cols, 0, NULL);
    assert_false(f.entries.v[0].file.value_stats_cols.present);
    assert_true(f.entries.v[0].file.first_row_id.present && f.entries.v[0].file.first_row_id.v == 0);
    close_file(&f);
}

static void manifest_list_of_java_is_read(void **state)
{
    (void)state;
    fixture f = open_file("manifest-list-partitioned");
    must_ok(decode_list(&f), &f.err);
    assert_int_equal(f.list.n, 1);
    const pml_manifest_meta *m = &f.list.v[0];
    assert_string_equal(m->name, "manifest-5e3f81a3-e169-469d-b42c-7c30d43092da-0");
    assert_int_equal(m->size_bytes, 2187);
    assert_int_equal(m->n_added, 3);
    assert_int_equal(m->n_deleted, 0);
    assert_int_equal(m->schema_id, 0);
    assert_int_equal(m->partition_stats.min.len, 20);
    assert_int_equal(m->partition_stats.min.ptr[12], 'a');
    assert_int_equal(m->partition_stats.max.ptr[12], 'c');
    must_be_counts(m->partition_stats, 1, (const int64_t[]){0});
    assert_true(m->min_bucket.present && m->max_bucket.present && m->min_level.present && m->max_level.present);
    assert_false(m->min_row_id.present || m->max_row_id.present);
    close_file(&f);
    f = open_file("manifest-list-empty");
    must_ok(decode_list(&f), &f.err);
    assert_int_equal(f.list.n, 0);
    close_file(&f);
}

static void manifest_list_of_an_old_release_knows_no_ranges(void **state)
{
    (void)state;
    fixture f = open_file("manifest-list-old-090-0");
    must_ok(decode_list(&f), &f.err);
    assert_int_equal(f.list.n, 1);
    assert_string_equal(f.list.v[0].name, "manifest-d0c2859e-9112-4ddd-aa16-ad588f8b3549-0");
    assert_int_equal(f.list.v[0].size_bytes, 1823);
    assert_false(f.list.v[0].min_bucket.present || f.list.v[0].max_level.present);
    close_file(&f);
}

static void manifest_lists_append_to_one_result(void **state)
{
    (void)state;
    fixture f = open_file("manifest-list-old-090-0");
    must_ok(decode_list(&f), &f.err);
    free(f.data);
    f.data = test_read_file(PML_TEST_SOURCE "/meta/data/manifest-list-old-090-1", &f.len);
    must_ok(decode_list(&f), &f.err);
    assert_int_equal(f.list.n, 2);
    assert_string_equal(f.list.v[0].name, "manifest-d0c2859e-9112-4ddd-aa16-ad588f8b3549-0");
    assert_string_equal(f.list.v[1].name, "manifest-556e32be-7859-4256-ab0e-f38fee3b94c2-0");
    close_file(&f);
}

static void index_manifest_of_java_is_read(void **state)
{
    (void)state;
    fixture f = open_file("index-manifest-dv");
    pml_index_entries out = {0};
    must_ok(pml_index_manifest__decode(&out, &f.arena, (pml_bytes){f.data, f.len}, "the-index-manifest", &f.err),
            &f.err);
    assert_int_equal(out.n, 1);
    assert_string_equal(out.v[0].type, "DELETION_VECTORS");
    assert_string_equal(out.v[0].name, "index-daa85395-c83c-4e27-a84d-ae66320116ed-0");
    assert_int_equal(out.v[0].size_bytes, 75);
    assert_int_equal(out.v[0].row_count, 2);
    assert_int_equal(out.v[0].partition.len, 12);
    assert_false(out.v[0].has_global_index);
    close_file(&f);
}

static void manifest_with_an_unknown_codec_is_refused_by_name(void **state)
{
    (void)state;
    fixture f = open_file("manifest-bzip2");
    uint8_t *codec = memmem(f.data, f.len, "bzip2", 5);
    assert_non_null(codec);
    memcpy(codec, "lzma2", 5);
    must_fail_with(PML_E_UNSUPPORTED, decode(&f), &f.err);
    assert_non_null(strstr(f.err.message, "needs avro-codec:lzma2"));
    assert_non_null(strstr(f.err.message, "the-manifest"));
    assert_int_equal(f.err.place, PML_PLACE_MANIFEST);
    close_file(&f);
}

/* ---- writing ---- */

/* The plain records of both are equal, and so are the headers: all but the two sync markers behind header and block. */
static void must_equal_but_for_sync(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, size_t header)
{
    assert_int_equal(a_len, b_len);
    assert_memory_equal(a, b, header);
    assert_memory_equal(a + header + 16, b + header + 16, a_len - header - 32);
}

static size_t header_size(const uint8_t *data, size_t len, const char *schema)
{
    const uint8_t *p = memmem(data, len, schema, strlen(schema));
    assert_non_null(p);
    return (size_t)(p - data) + strlen(schema) + 1 + strlen("avro.codec") + 1 + strlen("null") + 1;
}

static void manifest_written_without_packing_has_the_bytes_of_java(void **state)
{
    (void)state;
    fixture f = open_manifest("manifest-null");
    uint8_t *ours;
    size_t len;
    must_ok(pml_manifest__encode(&ours, &len, f.t->env, f.entries.v, f.entries.n, "null", 0, &f.err), &f.err);
    must_equal_but_for_sync(ours, len, f.data, f.len, header_size(f.data, f.len, pml_manifest__schema));
    pml_env__free(f.t->env, ours);
    close_file(&f);
}

static void manifest_list_written_without_packing_has_the_bytes_of_java(void **state)
{
    (void)state;
    fixture f = open_file("manifest-list-null");
    must_ok(decode_list(&f), &f.err);
    assert_int_equal(f.list.n, 1);
    uint8_t *ours;
    size_t len;
    must_ok(pml_manifest_list__encode(&ours, &len, f.t->env, f.list.v, f.list.n, "null", 0, &f.err), &f.err);
    must_equal_but_for_sync(ours, len, f.data, f.len, header_size(f.data, f.len, pml_manifest_list__schema));
    pml_env__free(f.t->env, ours);
    close_file(&f);
}

static void empty_manifest_list_is_a_file(void **state)
{
    (void)state;
    fixture f = open_file("manifest-list-empty");
    uint8_t *ours;
    size_t len;
    must_ok(pml_manifest_list__encode(&ours, &len, f.t->env, NULL, 0, "null", 0, &f.err), &f.err);
    assert_int_equal(len, f.len);
    assert_memory_equal(ours, f.data, len - 16);
    pml_env__free(f.t->env, ours);
    close_file(&f);
}

/* An entry with every field set, and one with every optional field absent. */
static void make_entries(pml_manifest_entry e[2])
{
    static const int64_t counts[] = {0, -1, 7};
    static const char *const texts[] = {"a", "", "\xE6\x97\xA5"};
    static const uint8_t row[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const pml_bytes r = {row, sizeof row};
    const pml_simple_stats stats = {r, {row, 8}, true, 3, counts};
    e[0] = (pml_manifest_entry){PML_ENTRY_DELETE,
                                r,
                                3,
                                -2,
                                {.name = "data-1.parquet",
                                 .size_bytes = INT64_MAX,
                                 .row_count = 12,
                                 .min_key = r,
                                 .max_key = {row, 4},
                                 .key_stats = stats,
                                 .value_stats = stats,
                                 .min_sequence = -5,
                                 .max_sequence = INT64_MAX,
                                 .schema_id = 4,
                                 .level = 2,
                                 .extra_files = {true, 1, texts},
                                 .creation_time_ms = {true, INT64_MIN},
                                 .delete_row_count = {true, 3},
                                 .has_embedded_index = true,
                                 .embedded_index = {row, 3},
                                 .file_source = PML_FILE_SOURCE_COMPACT,
                                 .value_stats_cols = {true, 3, texts},
                                 .external_path = "s3://b/c/data-1.parquet",
                                 .first_row_id = {true, 0},
                                 .write_cols = {true, 0, NULL}}};
    e[1] = (pml_manifest_entry){
        PML_ENTRY_ADD, r, 0, -1, {.name = "x", .extra_files = {.present = true}, .file_source = -1}};
}

static void identity_of(pml_buf *out, const pml_manifest_entry *e)
{
    pml_buf__reset(out);
    must_ok(pml_manifest_entry__identity(out, e), NULL);
}

static void must_be_entries(const pml_manifest_entries *got, const pml_manifest_entry want[2], pml_env *env)
{
    pml_buf a, b;
    pml_buf__init(&a, env, 4096);
    pml_buf__init(&b, env, 4096);
    assert_int_equal(got->n, 2);
    for (size_t i = 0; i < 2; i++) {
        const pml_data_file *g = &got->v[i].file, *w = &want[i].file;
        identity_of(&a, &got->v[i]);
        identity_of(&b, &want[i]);
        assert_true(pml_bytes_equal((pml_bytes){a.data, a.len}, (pml_bytes){b.data, b.len}));
        assert_int_equal(got->v[i].kind, want[i].kind);
        assert_int_equal(got->v[i].total_buckets, want[i].total_buckets);
        assert_int_equal(g->size_bytes, w->size_bytes);
        assert_int_equal(g->min_sequence, w->min_sequence);
        assert_int_equal(g->max_sequence, w->max_sequence);
        assert_int_equal(g->creation_time_ms.present, w->creation_time_ms.present);
        assert_int_equal(g->creation_time_ms.v, w->creation_time_ms.v);
        assert_int_equal(g->first_row_id.present, w->first_row_id.present);
        assert_int_equal(g->file_source, w->file_source);
        assert_int_equal(g->value_stats.has_null_counts, w->value_stats.has_null_counts);
        assert_int_equal(g->value_stats_cols.present, w->value_stats_cols.present);
        assert_int_equal(g->write_cols.present, w->write_cols.present);
    }
    must_be_counts(got->v[0].file.value_stats, 3, want[0].file.value_stats.null_counts);
    must_be_list(got->v[0].file.value_stats_cols, 3, want[0].file.value_stats_cols.v);
    assert_string_equal(got->v[0].file.external_path, want[0].file.external_path);
    pml_buf__clear(&a);
    pml_buf__clear(&b);
}

static void manifest_is_read_back_as_written_with_every_codec(void **state)
{
    (void)state;
    static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};
    pml_manifest_entry e[2];
    make_entries(e);
    for (size_t c = 0; c < 4; c++) {
        fixture f = open_file("manifest-null");
        uint8_t *file;
        size_t len;
        must_ok(pml_manifest__encode(&file, &len, f.t->env, e, 2, codecs[c], 1, &f.err), &f.err);
        must_ok(pml_manifest__decode(&f.entries, &f.arena, (pml_bytes){file, len}, "ours", NULL, NULL, &f.err), &f.err);
        memset(file, 0xAA, len); /* nothing kept may borrow from the file */
        pml_env__free(f.t->env, file);
        must_be_entries(&f.entries, e, f.t->env);
        close_file(&f);
    }
}

static bool keep_level_5(void *arg, const pml_manifest_entry *e)
{
    ++*(int *)arg;
    return e->file.level == 5;
}

static void manifest_entry_that_the_caller_does_not_keep_is_left_out(void **state)
{
    (void)state;
    fixture f = open_file("manifest-compacted");
    int seen = 0;
    must_ok(pml_manifest__decode(&f.entries, &f.arena, (pml_bytes){f.data, f.len}, "m", keep_level_5, &seen, &f.err),
            &f.err);
    assert_int_equal(seen, 4);
    assert_int_equal(f.entries.n, 1);
    assert_string_equal(f.entries.v[0].file.name, "data-c66f8996-17b0-435e-ac59-d28173cec1c4-0.parquet");
    close_file(&f);
}

static void identity_differs_with_each_of_its_parts_and_with_nothing_else(void **state)
{
    (void)state;
    fixture f = open_file("manifest-null");
    pml_manifest_entry e[2], v[9];
    pml_buf base, other;
    pml_buf__init(&base, f.t->env, 4096);
    pml_buf__init(&other, f.t->env, 4096);
    make_entries(e);
    for (size_t i = 0; i < 9; i++)
        v[i] = e[0];
    v[0].partition.len--;
    v[1].bucket++;
    v[2].file.level++;
    v[3].file.name = "data-2.parquet";
    v[4].file.extra_files.n = 0;
    v[5].file.has_embedded_index = false;
    v[6].file.external_path = NULL;
    v[7].kind = PML_ENTRY_ADD;
    v[8].file.row_count++;
    identity_of(&base, &e[0]);
    for (size_t i = 0; i < 9; i++) {
        identity_of(&other, &v[i]);
        bool same = pml_bytes_equal((pml_bytes){base.data, base.len}, (pml_bytes){other.data, other.len});
        assert_int_equal(same, i >= 7);
    }
    pml_buf__clear(&base);
    pml_buf__clear(&other);
    close_file(&f);
}

/* ---- damage ---- */

static void manifest_of_another_version_is_refused(void **state)
{
    (void)state;
    for (int v = 1; v <= 3; v += 2) {
        fixture f = open_file("manifest-null");
        /* behind header, sync marker, a count of one byte and a size of two: the version of the first record */
        size_t at = header_size(f.data, f.len, pml_manifest__schema) + 16 + 3;
        assert_int_equal(f.data[at], 4);
        f.data[at] = (uint8_t)(v * 2);
        must_fail_with(PML_E_UNSUPPORTED, decode(&f), &f.err);
        assert_non_null(strstr(f.err.message, v == 1 ? "too old" : "version 3"));
        assert_non_null(strstr(f.err.message, "the-manifest"));
        close_file(&f);
    }
}

static void manifest_must_fail(const char *message, void (*break_entry)(pml_manifest_entry *e))
{
    fixture f = open_file("manifest-null");
    pml_manifest_entry e[2];
    uint8_t *file;
    size_t len;
    make_entries(e);
    break_entry(&e[0]);
    must_ok(pml_manifest__encode(&file, &len, f.t->env, e, 1, "null", 0, &f.err), &f.err);
    must_fail_with(PML_E_CORRUPT,
                   pml_manifest__decode(&f.entries, &f.arena, (pml_bytes){file, len}, "bad", NULL, NULL, &f.err),
                   &f.err);
    assert_non_null(strstr(f.err.message, message));
    assert_int_equal(f.entries.n, 0);
    pml_env__free(f.t->env, file);
    close_file(&f);
}

static void break_name_empty(pml_manifest_entry *e)
{
    e->file.name = "";
}
static void break_name_slash(pml_manifest_entry *e)
{
    e->file.name = "a/b";
}
static void break_name_up(pml_manifest_entry *e)
{
    e->file.name = "..";
}
static void break_extra(pml_manifest_entry *e)
{
    static const char *const names[] = {"../x"};
    e->file.extra_files.v = names;
}
static void break_path(pml_manifest_entry *e)
{
    e->file.external_path = "";
}
static void break_bucket(pml_manifest_entry *e)
{
    e->bucket = -3;
}
static void break_total(pml_manifest_entry *e)
{
    e->total_buckets = -3;
}
static void break_deletes(pml_manifest_entry *e)
{
    e->file.delete_row_count.v = -1;
}
static void break_source(pml_manifest_entry *e)
{
    e->file.file_source = 2;
}
static void break_row_id(pml_manifest_entry *e)
{
    e->file.first_row_id.v = -1;
}

static void manifest_with_values_that_cannot_be_is_corrupt(void **state)
{
    (void)state;
    manifest_must_fail("plain file name", break_name_empty);
    manifest_must_fail("plain file name", break_name_slash);
    manifest_must_fail("plain file name", break_name_up);
    manifest_must_fail("_EXTRA_FILES", break_extra);
    manifest_must_fail("_EXTERNAL_PATH", break_path);
    manifest_must_fail("_BUCKET", break_bucket);
    manifest_must_fail("_TOTAL_BUCKETS", break_total);
    manifest_must_fail("_DELETE_ROW_COUNT", break_deletes);
    manifest_must_fail("_FILE_SOURCE", break_source);
    manifest_must_fail("_FIRST_ROW_ID", break_row_id);
}

/* An allocator that refuses to hand out more than a budget at a time: what hostile files may cost. */
typedef struct budget {
    size_t live, max;
} budget;

static void *budget_realloc(void *ctx, void *p, size_t n)
{
    budget *b = ctx;
    size_t *head = p == NULL ? NULL : (size_t *)p - 2;
    size_t old = head == NULL ? 0 : *head;
    if (b->live - old + n > b->max)
        return NULL;
    head = realloc(head, n + 16);
    assert_non_null(head);
    *head = n;
    b->live += n - old;
    return head + 2;
}

static void *budget_alloc(void *ctx, size_t n)
{
    return budget_realloc(ctx, NULL, n);
}

static void budget_free(void *ctx, void *p)
{
    size_t *head = (size_t *)p - 2;
    ((budget *)ctx)->live -= *head;
    free(head);
}

static void must_survive(pml_env *env, const uint8_t *data, size_t len)
{
    pml_arena arena;
    pml_manifest_entries entries = {0};
    pml_manifest_list list = {0};
    pml_index_entries index = {0};
    const pml_bytes bytes = {data, len};
    pml_error err = PML_ERROR_INIT;
    pml_arena__init(&arena, env);
    int rc[3] = {pml_manifest__decode(&entries, &arena, bytes, "m", NULL, NULL, &err),
                 pml_manifest_list__decode(&list, &arena, bytes, "l", &err),
                 pml_index_manifest__decode(&index, &arena, bytes, "i", &err)};
    for (size_t i = 0; i < 3; i++)
        assert_true(rc[i] == PML_OK || rc[i] == PML_E_CORRUPT || rc[i] == PML_E_UNSUPPORTED || rc[i] == PML_E_LIMIT);
    pml_arena__clear(&arena);
}

static size_t mutate(test_env *t, uint8_t *out, const uint8_t *data, size_t len)
{
    memcpy(out, data, len);
    size_t changes = 1 + test_random(t) % 4;
    for (size_t i = 0; i < changes; i++) {
        /* Half of the changes go to the last 400 bytes, where the records are; the schema is the larger part. */
        size_t at = test_random(t) % 2 == 0 ? test_random(t) % len : len - 1 - test_random(t) % (len < 400 ? len : 400);
        switch (test_random(t) % 4) {
        case 0: out[at] ^= (uint8_t)(1u << test_random(t) % 8); break;
        case 1: out[at] = (uint8_t)test_random(t); break;
        case 2: out[at] = 0xFF; break;
        default: /* a byte goes missing */
            memmove(out + at, out + at + 1, len - at - 1);
            len = len > 1 ? len - 1 : 1;
            break;
        }
    }
    return len;
}

static pml_env *budget_env(budget *b)
{
    pml_env *env;
    const pml_allocator al = {b, budget_alloc, budget_realloc, budget_free};
    pml_env_options o = PML_ENV_OPTIONS_INIT;
    o.allocator = &al;
    must_ok(pml_env_new(&env, &o, NULL), NULL);
    return env;
}

static const char *const files[] = {"manifest-null",      "manifest-deflate",   "manifest-snappy",
                                    "manifest-zstd",      "manifest-compacted", "manifest-old-090",
                                    "manifest-list-null", "index-manifest-dv",  "manifest-bzip2"};

static void manifest_mutated_20000_times_never_crashes_and_stays_small(void **state)
{
    (void)state;
    budget b = {0, 24 << 20};
    pml_env *env = budget_env(&b);
    fixture first = open_file("manifest-zstd"); /* what an environment keeps for later readers is there before we count */
    must_survive(env, first.data, first.len);
    close_file(&first);
    size_t live = b.live;
    for (size_t i = 0; i < 9; i++) {
        fixture f = open_file(files[i]);
        f.t->random_state = test_seed() + i;
        for (int k = 0; k < 2500; k++) {
            /* Exactly as large as needed, so that a byte read behind it is seen. */
            uint8_t *copy = malloc(f.len);
            assert_non_null(copy);
            size_t len = mutate(f.t, copy, f.data, f.len);
            uint8_t *exact = malloc(len);
            memcpy(exact, copy, len);
            free(copy);
            must_survive(env, exact, len);
            free(exact);
        }
        close_file(&f);
    }
    assert_int_equal(b.live, live);
    pml_env_release(env);
}

static void manifest_cut_at_any_byte_never_crashes(void **state)
{
    (void)state;
    budget b = {0, 24 << 20};
    pml_env *env = budget_env(&b);
    for (size_t i = 0; i < 9; i++) {
        fixture f = open_file(files[i]);
        for (size_t len = 0; len < f.len; len++) {
            uint8_t *exact = malloc(len + 1);
            memcpy(exact + 1, f.data, len);
            must_survive(env, exact + 1, len);
            free(exact);
        }
        close_file(&f);
    }
    pml_env_release(env);
}

static void manifest_calls_survive_failing_memory(void **state)
{
    (void)state;
    pml_manifest_entry e[2];
    make_entries(e);
    fixture f = open_file("manifest-list-partitioned");
    uint8_t *file = NULL;
    size_t len;
    int rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        test_env_fail_at(f.t, n);
        rc = pml_manifest__encode(&file, &len, f.t->env, e, 2, "zstandard", 1, &f.err);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && file == NULL));
    }
    rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_arena__clear(&f.arena);
        f.entries = (pml_manifest_entries){0};
        test_env_fail_at(f.t, n);
        rc = pml_manifest__decode(&f.entries, &f.arena, (pml_bytes){file, len}, "ours", NULL, NULL, &f.err);
        assert_true(rc == PML_OK || (rc == PML_E_NOMEM && f.entries.n == 0));
    }
    test_env_fail_at(f.t, 0);
    must_be_entries(&f.entries, e, f.t->env);
    pml_env__free(f.t->env, file);
    rc = PML_E_NOMEM;
    for (long long n = 1; rc != PML_OK; n++) {
        pml_arena__clear(&f.arena);
        f.list = (pml_manifest_list){0};
        test_env_fail_at(f.t, n);
        rc = decode_list(&f);
        assert_true(rc == PML_OK || rc == PML_E_NOMEM);
    }
    test_env_fail_at(f.t, 0);
    assert_int_equal(f.list.n, 1);
    close_file(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_of_java_with_every_codec_is_read),
        cmocka_unit_test(manifest_of_java_with_the_default_codec_is_read),
        cmocka_unit_test(manifest_of_an_old_release_reads_newer_fields_as_absent),
        cmocka_unit_test(manifest_of_a_compaction_keeps_order_kinds_and_levels),
        cmocka_unit_test(manifest_of_java_with_optional_fields_is_read),
        cmocka_unit_test(manifest_list_of_java_is_read),
        cmocka_unit_test(manifest_list_of_an_old_release_knows_no_ranges),
        cmocka_unit_test(manifest_lists_append_to_one_result),
        cmocka_unit_test(index_manifest_of_java_is_read),
        cmocka_unit_test(manifest_with_an_unknown_codec_is_refused_by_name),
        cmocka_unit_test(manifest_written_without_packing_has_the_bytes_of_java),
        cmocka_unit_test(manifest_list_written_without_packing_has_the_bytes_of_java),
        cmocka_unit_test(empty_manifest_list_is_a_file),
        cmocka_unit_test(manifest_is_read_back_as_written_with_every_codec),
        cmocka_unit_test(manifest_entry_that_the_caller_does_not_keep_is_left_out),
        cmocka_unit_test(identity_differs_with_each_of_its_parts_and_with_nothing_else),
        cmocka_unit_test(manifest_of_another_version_is_refused),
        cmocka_unit_test(manifest_with_values_that_cannot_be_is_corrupt),
        cmocka_unit_test(manifest_mutated_20000_times_never_crashes_and_stays_small),
        cmocka_unit_test(manifest_cut_at_any_byte_never_crashes),
        cmocka_unit_test(manifest_calls_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
