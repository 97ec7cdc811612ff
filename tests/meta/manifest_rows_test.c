/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata files in ORC and Parquet. Of data/, *-avro, *-orc and *-parquet are of tables that Java 1.4.2 made alike but for the option
   manifest.format: partitions null, blank and text, an embedded index, deletion vectors; with write columns for the others. */
#include "support/test_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/manifest.h"

static const char *const formats[] = {"avro", "orc", "parquet"};

typedef struct fixture {
    test_env *t;
    pml_arena arena;
    uint8_t *data;
    size_t len;
    pml_error err;
} fixture;

static fixture open_file(const char *name, const char *format)
{
    fixture f = {.t = test_env_open(NULL), .err = PML_ERROR_INIT};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/meta/data/%s-%s", PML_TEST_SOURCE, name, format);
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

static pml_bytes bytes_of(const fixture *f)
{
    return (pml_bytes){f->data, f->len};
}

/* ---- what a file says, but for the names and times that differ from table to table ---- */

static void put_bytes(pml_buf *b, const char *name, pml_bytes v)
{
    uint64_t sum = 0; /* bloom filters are long */
    for (size_t i = 0; i < v.len; i++)
        sum = sum * 31 + v.ptr[i];
    (void)pml_buf__append_format(b, " %s:%zu:%016llx:", name, v.len, (unsigned long long)sum);
    for (size_t i = 0; i < v.len && i < 40; i++)
        (void)pml_buf__append_format(b, "%02x", v.ptr[i]);
}

static void put_stats(pml_buf *b, const char *name, const pml_simple_stats *s)
{
    put_bytes(b, name, s->min);
    put_bytes(b, "max", s->max);
    (void)pml_buf__append_format(b, " counts(%d)", s->has_null_counts);
    for (size_t i = 0; i < s->n_null_counts; i++)
        (void)pml_buf__append_format(b, " %lld", (long long)s->null_counts[i]);
}

static void put_list(pml_buf *b, const char *name, const pml_string_list *l)
{
    (void)pml_buf__append_format(b, " %s(%d)", name, l->present);
    for (size_t i = 0; i < l->n; i++)
        (void)pml_buf__append_format(b, " %s", l->v[i]);
}

static void put_optional(pml_buf *b, const char *name, pml_optional_int64 v)
{
    (void)pml_buf__append_format(b, " %s(%d) %lld", name, v.present, (long long)v.v);
}

static void put_entry(pml_buf *b, const pml_manifest_entry *e)
{
    const pml_data_file *f = &e->file;
    (void)pml_buf__append_format(b, "%d %d %d %lld %lld %lld %lld %lld %d %d", e->kind, e->bucket, e->total_buckets,
                                 (long long)f->size_bytes, (long long)f->row_count, (long long)f->min_sequence, (long long)f->max_sequence,
                                 (long long)f->schema_id, f->level, f->file_source);
    put_bytes(b, "partition", e->partition);
    put_bytes(b, "min_key", f->min_key);
    put_bytes(b, "max_key", f->max_key);
    put_stats(b, "key_stats", &f->key_stats);
    put_stats(b, "value_stats", &f->value_stats);
    put_list(b, "extra", &f->extra_files);
    put_list(b, "stats_cols", &f->value_stats_cols);
    put_list(b, "write_cols", &f->write_cols);
    put_optional(b, "deletes", f->delete_row_count);
    put_optional(b, "first_row", f->first_row_id);
    put_bytes(b, f->has_embedded_index ? "index" : "none", f->embedded_index);
    (void)pml_buf__append_format(b, " %zu %d %s\n", strlen(f->name), f->creation_time_ms.v > 1700000000000, f->external_path == NULL ? "" : "external");
}

static void put_meta(pml_buf *b, const pml_manifest_meta *m)
{
    (void)pml_buf__append_format(b, "%zu %lld %lld %lld", strlen(m->name), (long long)m->n_added, (long long)m->n_deleted,
                                 (long long)m->schema_id);
    put_stats(b, "partition", &m->partition_stats);
    put_optional(b, "min_bucket", m->min_bucket);
    put_optional(b, "max_bucket", m->max_bucket);
    put_optional(b, "min_level", m->min_level);
    put_optional(b, "max_level", m->max_level);
    put_optional(b, "min_row_id", m->min_row_id);
    put_optional(b, "max_row_id", m->max_row_id);
    (void)pml_buf__append_str(b, "\n");
}

static void put_index(pml_buf *b, const pml_index_entry *e)
{
    (void)pml_buf__append_format(b, "%d %d %s %zu %lld %lld %d %d", e->kind, e->bucket, e->type, strlen(e->name), (long long)e->size_bytes,
                                 (long long)e->row_count, e->external_path != NULL, e->has_global_index);
    put_bytes(b, "partition", e->partition);
    for (size_t i = 0; i < e->n_ranges; i++)
        (void)pml_buf__append_format(b, " %zu %lld %lld %lld", strlen(e->ranges[i].data_file), (long long)e->ranges[i].at.offset,
                                     (long long)e->ranges[i].at.length, (long long)e->ranges[i].at.cardinality);
    (void)pml_buf__append_str(b, "\n");
}

/* Everything that the file says as a text in `b`; the number of records. */
static size_t say(pml_buf *b, fixture *f, const char *name)
{
    pml_manifest_entries entries = {0};
    pml_manifest_list list = {0};
    pml_index_entries index = {0};
    if (strstr(name, "list") != NULL)
        must_ok(pml_manifest_list__decode(&list, &f->arena, bytes_of(f), name, &f->err), &f->err);
    else if (strstr(name, "index") != NULL)
        must_ok(pml_index_manifest__decode(&index, &f->arena, bytes_of(f), name, &f->err), &f->err);
    else
        must_ok(pml_manifest__decode(&entries, &f->arena, bytes_of(f), name, NULL, NULL, &f->err), &f->err);
    memset(f->data, 0xAA, f->len); /* nothing may borrow from the file */
    for (size_t i = 0; i < entries.n; i++)
        put_entry(b, &entries.v[i]);
    for (size_t i = 0; i < list.n; i++)
        put_meta(b, &list.v[i]);
    for (size_t i = 0; i < index.n; i++)
        put_index(b, &index.v[i]);
    must_ok(pml_buf__append(b, "", 1), NULL);
    return entries.n + list.n + index.n;
}

static void must_say_the_same(const char *name, size_t records)
{
    fixture avro = open_file(name, "avro");
    pml_buf want, got;
    pml_buf__init(&want, avro.t->env, 1 << 20);
    assert_int_equal(say(&want, &avro, name), records);
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file(name, formats[i]);
        pml_buf__init(&got, f.t->env, 1 << 20);
        assert_int_equal(say(&got, &f, name), records);
        assert_string_equal((const char *)got.data, (const char *)want.data);
        pml_buf__clear(&got);
        close_file(&f);
    }
    pml_buf__clear(&want);
    close_file(&avro);
}

static void metadata_in_orc_and_parquet_says_what_it_says_in_avro(void **state)
{
    (void)state;
    must_say_the_same("manifest", 3);
    must_say_the_same("manifest-write-cols", 1);
    must_say_the_same("manifest-list", 2);
    must_say_the_same("index-manifest", 2);
}

static void list_without_records_is_empty(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file("manifest-list-empty", formats[i]);
        pml_manifest_list list = {0};
        must_ok(pml_manifest_list__decode(&list, &f.arena, bytes_of(&f), "l", &f.err), &f.err);
        assert_int_equal(list.n, 0);
        close_file(&f);
    }
}

static bool keep_none(void *arg, const pml_manifest_entry *e)
{
    ++*(int *)arg;
    assert_non_null(e->file.name);
    return false;
}

static void entries_that_nobody_keeps_are_not_kept(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file("manifest", formats[i]);
        pml_manifest_entries entries = {0};
        int asked = 0;
        must_ok(pml_manifest__decode(&entries, &f.arena, bytes_of(&f), "m", keep_none, &asked, &f.err), &f.err);
        assert_int_equal(asked, 3);
        assert_int_equal(entries.n, 0);
        close_file(&f);
    }
}

/* ---- what is no such file ---- */

static void file_with_other_columns_is_corrupt(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file("manifest-list", formats[i]);
        pml_manifest_entries entries = {0};
        pml_index_entries index = {0};
        must_fail_with(PML_E_CORRUPT, pml_manifest__decode(&entries, &f.arena, bytes_of(&f), "the-manifest", NULL, NULL, &f.err), &f.err);
        assert_non_null(strstr(f.err.message, "the-manifest is damaged"));
        assert_int_equal(f.err.place, PML_PLACE_MANIFEST);
        must_fail_with(PML_E_CORRUPT, pml_index_manifest__decode(&index, &f.arena, bytes_of(&f), "the-index", &f.err), &f.err);
        close_file(&f);
    }
}

static void file_cut_in_the_middle_is_corrupt(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file("manifest", formats[i]);
        pml_manifest_entries entries = {0};
        f.len /= 2;
        must_fail_with(PML_E_CORRUPT, pml_manifest__decode(&entries, &f.arena, bytes_of(&f), "m", NULL, NULL, &f.err), &f.err);
        assert_int_equal(f.err.place, PML_PLACE_MANIFEST);
        close_file(&f);
    }
}

static void parquet_files_with_changed_bytes_give_an_answer_or_an_error(void **state)
{
    (void)state;
    static const char *const names[] = {"manifest", "manifest-list", "index-manifest"};
    for (size_t k = 0; k < 3; k++) {
        fixture f = open_file(names[k], "parquet");
        f.t->random_state = test_seed() + k;
        for (int i = 0; i < 300; i++) {
            pml_manifest_entries entries = {0};
            pml_manifest_list list = {0};
            pml_index_entries index = {0};
            uint8_t *exact = malloc(f.len);
            assert_non_null(exact);
            memcpy(exact, f.data, f.len);
            for (uint64_t n = test_random(f.t) % 4 + 1; n > 0; n--)
                exact[test_random(f.t) % f.len] ^= (uint8_t)(1u << test_random(f.t) % 8);
            const pml_bytes file = {exact, f.len};
            int rc = k == 0   ? pml_manifest__decode(&entries, &f.arena, file, "m", NULL, NULL, &f.err)
                     : k == 1 ? pml_manifest_list__decode(&list, &f.arena, file, "m", &f.err)
                              : pml_index_manifest__decode(&index, &f.arena, file, "m", &f.err);
            assert_true(rc == PML_OK || rc == PML_E_CORRUPT || rc == PML_E_UNSUPPORTED || rc == PML_E_LIMIT);
            assert_true(rc == PML_OK || strstr(f.err.message, "m") != NULL);
            pml_arena__clear(&f.arena);
            free(exact);
        }
        close_file(&f);
    }
}

static void decoding_survives_failing_memory(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        fixture f = open_file("manifest", formats[i]);
        pml_manifest_entries entries = {0};
        bool reached = true;
        for (long long n = 1; reached; n++) {
            pml_arena__clear(&f.arena);
            entries = (pml_manifest_entries){0};
            test_env_fail_at(f.t, n);
            int rc = pml_manifest__decode(&entries, &f.arena, bytes_of(&f), "m", NULL, NULL, &f.err);
            reached = test_env_fail_reached(f.t);
            assert_true(rc == PML_E_NOMEM ? entries.n == 0 : rc == PML_OK && entries.n == 3);
        }
        test_env_fail_at(f.t, 0);
        assert_int_equal(entries.n, 3);
        close_file(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_in_orc_and_parquet_says_what_it_says_in_avro),
        cmocka_unit_test(list_without_records_is_empty),
        cmocka_unit_test(entries_that_nobody_keeps_are_not_kept),
        cmocka_unit_test(file_with_other_columns_is_corrupt),
        cmocka_unit_test(file_cut_in_the_middle_is_corrupt),
        cmocka_unit_test(parquet_files_with_changed_bytes_give_an_answer_or_an_error),
        cmocka_unit_test(decoding_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
