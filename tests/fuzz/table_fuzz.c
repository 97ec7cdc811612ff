/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole table of which one file was changed: opened, listed, planned, read, and committed to. Each answer is well formed, or an
 * error that names a file of the table. The input: which table, which file, how it is changed (fuzz_edit.c).
 *
 * The tables: some that Java wrote (tests/tables/corpus.tar.xz), one of our writer, and one written live, with progress files.
 */
#include <ftw.h>
#include <paimonlive/realtime.h>
#include <stdio.h>

#include "fuzz.h"
#include "support/random_batch.h"
#include "table/table.h"

/* One block of a manifest decompressed, and its records. */
FUZZ_MEMORY(2 * (size_t)256 * MIB);

enum { BATCHES_MAX = 64, ROWS = 20 };

static const char *const tables[] = {"/own", "/live", "/java/append_fixed_parquet", "/java/part_multi", "/java/types_nested_parquet",
                                     "/java/append_statistics", "/java/old_090_append_part", "/java/index_bloom_file",
                                     "/java/append_overwrite", "/java/pk_dedup_parquet", "/java/pk_levels",
                                     "/java/pk_dedup_compacted_parquet", "/java/pk_sequence_two_desc", "/java/first_row"};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* The input that runs. */
static struct {
    const char *table;
    char changed[256]; /* path of the changed file */
    size_t changed_len;
} now;

static struct {
    long long answers, changed_file, other_file;
} counts;

/* Which snapshot a scan shows. */
typedef struct choice {
    int64_t snapshot; /* 0: not by number */
    const char *tag;
    int64_t time_ms;
} choice;

/* ---- making the tables ---- */

static int load_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    char to[512];
    size_t len;
    (void)ftw, (void)st;
    if (flag != FTW_F)
        return 0;
    uint8_t *data = test_read_file(path, &len);
    (void)snprintf(to, sizeof to, "/java%s", path + strlen(PML_FUZZ_TABLES));
    fuzz_fs_put(fuzz_files(), to, data, len);
    free(data);
    return 0;
}

static void load_java_tables(void)
{
    for (size_t i = 2; i < TABLES; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s%s", PML_FUZZ_TABLES, tables[i] + strlen("/java"));
        FUZZ_CHECK(nftw(path, load_file, 16, FTW_PHYS) == 0, "no table in %s", path);
    }
}

static pml_table *create(const char *path, const char *options)
{
    static const char json[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"BOOLEAN\"},"
        "{\"name\":\"s\",\"type\":\"STRING\"},{\"name\":\"d\",\"type\":\"DECIMAL(20,3)\"},{\"name\":\"at\",\"type\":\"TIMESTAMP(6)\"},"
        "{\"name\":\"r\",\"type\":\"ROW<a INT, b ARRAY<STRING>>\"},{\"name\":\"m\",\"type\":\"MAP<STRING NOT NULL, INT>\"}],"
        "\"partitionKeys\":[\"p\"],\"primaryKeys\":[],\"options\":{%s}}";
    char text[2048];
    pml_error err = PML_ERROR_INIT;
    pml_table *t;
    int n = snprintf(text, sizeof text, json, options);
    must_ok(pml_table_create(&t, fuzz_env()->env, path, text, (size_t)n, 0, &err), &err);
    return t;
}

/* A writer with random rows for the table as it is open now; on any error nothing is left. */
static int batch_commit(pml_table *t, int64_t identifier, pml_error *err)
{
    size_t n_fields;
    const pml_field *fields = pml_table__fields(t, &n_fields);
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    pml_writer *w = NULL;
    pml_messages *m = NULL;
    pml_commit *c = NULL;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    int rc;
    PML_TRY(pml_writer_open(&w, t, err));
    PML_TRY(pml_table_arrow_schema(&schema, t, err));
    random_batch(&batch, fuzz_env(), fields, n_fields, ROWS);
    rc = pml_writer_write(w, &batch, &schema, err);
    if (rc == PML_E_INVAL)
        rc = PML_OK; /* a null as the key of a map: random rows know no such rules */
    if (rc != PML_OK)
        goto out;
    PML_TRY(pml_writer_prepare(&m, w, err));
    PML_TRY(pml_commit_open(&c, t, "fuzz", err));
    PML_TRY(pml_commit_run(&r, c, &m, 1, identifier, NULL, err));
out:
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(w);
    if (batch.release != NULL)
        batch.release(&batch);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static int scan_all(pml_table *t, pml_rt_context *live, choice c, pml_error *err);

/* Rows go in live, are read with what is on disk, and are committed. */
static int live_commit(pml_table *t, int64_t identifier, pml_error *err)
{
    size_t n_fields, n;
    const pml_field *fields = pml_table__fields(t, &n_fields);
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    pml_rt_context *ctx = NULL;
    pml_rt_writer *w = NULL;
    pml_rt_prepared *p = NULL;
    pml_commit *c = NULL;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    int rc;
    PML_TRY(pml_rt_context_open(&ctx, fuzz_env()->env, NULL, err));
    PML_TRY(pml_rt_writer_open(&w, t, ctx, NULL, err));
    PML_TRY(pml_table_arrow_schema(&schema, t, err));
    random_batch(&batch, fuzz_env(), fields, n_fields, ROWS);
    rc = pml_rt_write(NULL, w, &batch, &schema, NULL, err);
    if (rc != PML_OK && rc != PML_E_INVAL)
        goto out;
    PML_TRY(scan_all(t, ctx, (choice){0}, err));
    PML_TRY(pml_rt_prepare(&p, w, identifier, NULL, err));
    PML_TRY(pml_commit_open(&c, t, "fuzz", err));
    const pml_rt_entry *const *entries = pml_rt_prepared_get(&n, p);
    PML_TRY(pml_rt_commit(&r, c, entries, n, identifier, NULL, err));
    PML_TRY(scan_all(t, ctx, (choice){0}, err));
out:
    pml_rt_prepared_free(p);
    pml_commit_close(c);
    pml_rt_writer_abort(w);
    pml_rt_context_close(ctx);
    if (batch.release != NULL)
        batch.release(&batch);
    if (schema.release != NULL)
        schema.release(&schema);
    return rc;
}

static void counts_print(void)
{
    (void)printf("answers %lld, errors that name the changed file %lld, that name another file %lld\n", counts.answers,
                 counts.changed_file, counts.other_file);
}

static void make_tables(void)
{
    pml_error err = PML_ERROR_INIT;
    fuzz_env()->random_state = 1;
    load_java_tables();
    pml_table *own = create("/own", "\"bucket\":\"2\",\"bucket-key\":\"id\",\"parquet.enable.dictionary\":\"true\"");
    pml_table *live = create("/live", "\"realtime.enabled\":\"true\"");
    for (int64_t i = 1; i <= 3; i++) {
        must_ok(batch_commit(own, i, &err), &err);
        must_ok(i == 2 ? batch_commit(live, i, &err) : live_commit(live, i, &err), &err);
    }
    /* A tag is a copy of its snapshot. */
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        const uint8_t *snapshot;
        size_t len;
        (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-2", tables[i]);
        FUZZ_CHECK(fuzz_fs_get(fuzz_files(), path, &snapshot, &len), "no %s", path);
        (void)snprintf(path, sizeof path, "%s/tag/tag-two", tables[i]);
        fuzz_fs_put(fuzz_files(), path, snapshot, len);
    }
    pml_table_release(own);
    pml_table_release(live);
    fuzz_fs_mark(fuzz_files());
    (void)atexit(counts_print);
}

/* ---- using one ---- */

static bool mentions(const pml_error *err, const char *text)
{
    return strstr(err->message, text) != NULL || strstr(err->file, text) != NULL;
}

static void judge(int rc, const pml_error *err, const char *doing)
{
    fuzz_must_be_answer(rc, err);
    if (rc == PML_OK) {
        counts.answers++;
        return;
    }
    if (mentions(err, strrchr(now.changed, '/') + 1)) {
        counts.changed_file++;
        return;
    }
    /* A name that the changed file gives, the table whose schema it is, or the file that no longer fits. */
    FUZZ_CHECK(mentions(err, now.table), "%s after %s was changed: the error names no file: %s: %s", doing, now.changed,
               pml_error_name(rc), err->message);
    counts.other_file++;
}

static int scan_all(pml_table *t, pml_rt_context *live, choice c, pml_error *err)
{
    pml_scan *scan = NULL;
    pml_plan *plan = NULL;
    struct ArrowArrayStream stream;
    int64_t counted, rows;
    int rc;
    PML_TRY(pml_scan_new(&scan, t, err));
    if (live != NULL)
        PML_TRY(pml_scan_set_realtime(scan, live, err));
    if (c.snapshot > 0)
        PML_TRY(pml_scan_set_snapshot(scan, c.snapshot, err));
    if (c.tag != NULL)
        PML_TRY(pml_scan_set_tag(scan, c.tag, err));
    if (c.time_ms != 0)
        pml_scan_set_timestamp(scan, c.time_ms);
    PML_TRY(pml_scan_plan(&plan, scan, err));
    PML_TRY(pml_plan_count(&counted, plan, err));
    PML_TRY(pml_read_open(&stream, plan, NULL, err));
    PML_TRY(fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, err));
    FUZZ_CHECK(rows <= counted, "%lld rows were counted, %lld read", (long long)counted, (long long)rows);
out:
    pml_plan_free(plan);
    pml_scan_free(scan);
    return rc;
}

static int list_all(pml_table *t, pml_error *err)
{
    struct ArrowArrayStream stream;
    int64_t rows;
    PML_RETURN_IF(pml_table_snapshots(&stream, t, err));
    PML_RETURN_IF(fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, err));
    PML_RETURN_IF(pml_table_files(&stream, t, -1, err));
    return fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, err);
}

/* One of them: all would take most of the time of a run. */
static void list_system_table(pml_table *t)
{
    static const char *const names[] = {"snapshots", "schemas",  "files",      "manifests",     "partitions", "buckets",
                                        "tags",      "branches", "consumers",  "statistics",    "audit_log",  "ro",
                                        "options",   "aggregation_fields", "table_indexes"};
    const char *name = names[now.changed_len % (sizeof names / sizeof names[0])];
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream stream;
    int64_t rows;
    int rc = pml_system_table_open(&stream, t, name, NULL, &err);
    if (rc == PML_OK)
        rc = fuzz_drain(&stream, PML_CHECK_FULL, BATCHES_MAX, &rows, &err);
    judge(rc, &err, name);
}

static int load_offsets(pml_table *t, pml_error *err)
{
    pml_rt_offsets *offsets;
    int rc = pml_rt_offsets_load(&offsets, t, -1, err);
    if (rc == PML_OK)
        pml_rt_offsets_free(offsets);
    return rc;
}

static void use_table(void)
{
    pml_error err = PML_ERROR_INIT;
    pml_table *t;
    int rc = pml_table_open(&t, fuzz_env()->env, now.table, NULL, &err);
    judge(rc, &err, "open");
    if (rc != PML_OK)
        return;
    judge(list_all(t, &err), &err, "list");
    list_system_table(t);
    judge(scan_all(t, NULL, (choice){0}, &err), &err, "scan");
    judge(scan_all(t, NULL, (choice){.snapshot = 1}, &err), &err, "scan of snapshot 1");
    judge(scan_all(t, NULL, (choice){.time_ms = INT64_MAX}, &err), &err, "scan of a time");
    if (strncmp(now.table, "/java", 5) != 0)
        judge(scan_all(t, NULL, (choice){.tag = "two"}, &err), &err, "scan of a tag");
    judge(load_offsets(t, &err), &err, "offsets");
    bool live = strcmp(now.table, "/live") == 0;
    rc = live ? live_commit(t, 9, &err) : batch_commit(t, 9, &err);
    judge(rc, &err, live ? "live commit" : "commit");
    pml_table_release(t);
}

static size_t files_of(const char *table)
{
    size_t n = 0;
    while (fuzz_fs_nth(fuzz_files(), table, n) != NULL)
        n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool made;
    fuzz_input in = {data, len};
    const uint8_t *content;
    size_t content_len, changed_len;
    if (!made)
        make_tables();
    made = true;
    fuzz_begin();
    fuzz_fs_rewind(fuzz_files());
    fuzz_env()->random_state = 2;
    now.table = tables[fuzz_u8(&in) % TABLES];
    const char *path = fuzz_fs_nth(fuzz_files(), now.table, fuzz_u8(&in) % files_of(now.table));
    (void)snprintf(now.changed, sizeof now.changed, "%s", path);
    FUZZ_CHECK(fuzz_fs_get(fuzz_files(), now.changed, &content, &content_len), "no file");
    uint8_t *changed = fuzz_edit(&changed_len, &in, content, content_len);
    now.changed_len = changed_len;
    fuzz_fs_put(fuzz_files(), now.changed, changed, changed_len);
    free(changed);
    use_table();
    fuzz_fs_rewind(fuzz_files());
    fuzz_end();
    return 0;
}
