/* SPDX-License-Identifier: Apache-2.0 */
#include "support/rt_kit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "realtime/rt_pb.h"
#include "storage/file_io.h"
#include "storage/local_fs.h"
#include "storage/numbered.h"
#include "support/rows_kit.h"
#include "table/commit.h"

/* ---- tables ---- */

static int skip_sync(void *ctx, void *file, pml_error *err)
{
    (void)ctx, (void)file, (void)err;
    return PML_OK;
}

static int skip_sync_directory(void *ctx, const char *path, pml_error *err)
{
    (void)ctx, (void)path, (void)err;
    return PML_OK;
}

pml_file_system rt_kit_fs(void)
{
    pml_file_system fs = pml_local_file_system;
    fs.sync = skip_sync;
    fs.sync_directory = skip_sync_directory;
    return fs;
}

static void kit_commit_open(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(pml_commit_open(&k->commit, k->table, "kit", &err), &err);
}

bool rt_kit_with_keys(void)
{
    return test_setting("KEYED", 0, 0, 1) != 0;
}

static void create(rt_kit *k, const pml_file_system *fs, const char *partition_keys, const char *options, bool keyed)
{
    char json[2048];
    pml_error err = PML_ERROR_INIT;
    const char *not_null = keyed && partition_keys[0] != '\0' ? " NOT NULL" : "";
    const char *buckets = keyed && strstr(options, "\"bucket\"") == NULL ? ",\"bucket\":\"1\"" : "";
    memset(k, 0, sizeof *k);
    k->offset_step = 1;
    const pml_file_system fast = rt_kit_fs();
    k->t = test_env_open(fs == NULL ? &fast : fs);
    (void)snprintf(k->path, sizeof k->path, "%s/t", k->t->dir);
    int n = snprintf(json, sizeof json,
                     "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"p\",\"type\":\"STRING%s\"},"
                     "{\"name\":\"v\",\"type\":\"STRING%s\"}],\"partitionKeys\":[%s],\"primaryKeys\":[%s%s%s],"
                     "\"options\":{\"realtime.enabled\":\"true\"%s%s%s},\"comment\":\"\"}",
                     not_null, strstr(partition_keys, "\"v\"") != NULL ? not_null : "", partition_keys, keyed ? "\"id\"" : "",
                     not_null[0] == '\0' ? "" : ",", not_null[0] == '\0' ? "" : partition_keys, buckets, options[0] == '\0' ? "" : ",", options);
    k->no_nulls = not_null[0] != '\0';
    must_ok(pml_table_create(&k->table, k->t->env, k->path, json, (size_t)n, 0, &err), &err);
    kit_commit_open(k);
}

void rt_kit_create(rt_kit *k, const pml_file_system *fs, const char *partition_keys, const char *options)
{
    create(k, fs, partition_keys, options, rt_kit_with_keys());
}

void rt_kit_create_keyed(rt_kit *k, const pml_file_system *fs, const char *partition_keys, const char *options)
{
    create(k, fs, partition_keys, options, true);
}

void rt_kit_share(rt_kit *k, rt_kit *other, const pml_file_system *fs)
{
    pml_error err = PML_ERROR_INIT;
    memset(k, 0, sizeof *k);
    k->offset_step = 1;
    const pml_file_system fast = rt_kit_fs();
    k->t = test_env_open(fs == NULL ? &fast : fs);
    k->t->random_state = test_random(other->t); /* other uuids than the other environment draws */
    memcpy(k->path, other->path, sizeof k->path);
    must_ok(pml_table_open(&k->table, k->t->env, k->path, NULL, &err), &err);
    kit_commit_open(k);
}

void rt_kit_start(rt_kit *k, const pml_rt_plugin *store, const char *const option[2])
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_context_options o = PML_RT_CONTEXT_OPTIONS_INIT;
    pml_option_pair pair = {0};
    o.store = store;
    if (option != NULL) {
        pair = (pml_option_pair){option[0], option[1]};
        o.n_options = 1;
        o.options = &pair;
    }
    must_ok(pml_rt_context_open(&k->ctx, k->t->env, &o, &err), &err);
    must_ok(pml_rt_writer_open(&k->w, k->table, k->ctx, NULL, &err), &err);
}

void rt_kit_stop(rt_kit *k)
{
    pml_rt_writer_abort(k->w);
    pml_rt_context_close(k->ctx);
    k->w = NULL;
    k->ctx = NULL;
}

void rt_kit_close(rt_kit *k)
{
    rt_kit_stop(k);
    pml_commit_close(k->commit);
    pml_table_release(k->table);
    test_env_close(k->t);
}

/* ---- writing ---- */

struct ArrowSchema rt_kit_schema(const rt_kit *k)
{
    struct ArrowSchema f[4];
    size_t n = 0;
    if (k->external)
        f[n++] = test_field("l", "_REALTIME_OFFSET", -1, false, 0, NULL);
    f[n++] = test_field("l", "id", -1, false, 0, NULL);
    f[n++] = test_field("u", "p", -1, true, 0, NULL);
    f[n++] = test_field("u", "v", -1, true, 0, NULL);
    return test_struct(n, f);
}

struct ArrowArray rt_kit_batch(rt_kit *k, int64_t n, const char *p)
{
    struct ArrowArray c[4];
    size_t at = 0;
    int64_t *numbers = calloc((size_t)n + 1, sizeof *numbers);
    const char **texts = calloc((size_t)n + 1, sizeof *texts);
    char(*v)[24] = calloc((size_t)n + 1, sizeof *v);
    assert_true(numbers != NULL && texts != NULL && v != NULL);
    if (k->external) {
        for (int64_t i = 0; i < n; i++)
            numbers[i] = k->next_offset + i * k->offset_step;
        c[at++] = test_fixed_array(8, n, numbers);
    }
    for (int64_t i = 0; i < n; i++)
        numbers[i] = k->next_id + i;
    c[at++] = test_fixed_array(8, n, numbers);
    if (k->no_nulls && p == NULL)
        p = "";
    for (int64_t i = 0; i < n; i++)
        texts[i] = p == NULL || p[0] != '*' ? p : i % 2 == 0 ? "a" : "b"; /* "*": in turn */
    c[at++] = test_text_array(n, texts);
    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(v[i], sizeof v[i], "v%lld", (long long)numbers[i]);
        texts[i] = v[i];
    }
    c[at++] = test_text_array(n, texts);
    free(numbers);
    free(texts);
    free(v);
    return test_struct_array(n, at, c);
}

int rt_kit_try_write(rt_kit *k, int64_t n, const char *p, const pml_rt_write_options *o, pml_rt_write_result *r, pml_error *err)
{
    struct ArrowSchema schema = rt_kit_schema(k);
    struct ArrowArray array = rt_kit_batch(k, n, p);
    int rc = pml_rt_write(r, k->w, &array, &schema, o, err);
    schema.release(&schema);
    if (rc == PML_OK) {
        assert_null(array.release);
        k->next_id += n;
        k->next_offset += n * k->offset_step;
    } else if (array.release != NULL) {
        array.release(&array);
    }
    return rc;
}

void rt_kit_write(rt_kit *k, int64_t n, const char *p)
{
    pml_error err = PML_ERROR_INIT;
    must_ok(rt_kit_try_write(k, n, p, NULL, NULL, &err), &err);
}

pml_rt_prepared *rt_kit_prepare(rt_kit *k, int64_t identifier)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_prepared *p;
    must_ok(pml_rt_prepare(&p, k->w, identifier, NULL, &err), &err);
    return p;
}

int rt_kit_try_commit(rt_kit *k, pml_rt_commit_result *r, const pml_rt_prepared *p, pml_error *err)
{
    size_t n;
    const pml_rt_entry *const *e = pml_rt_prepared_get(&n, p);
    *r = (pml_rt_commit_result)PML_RT_COMMIT_RESULT_INIT;
    return pml_rt_commit(r, k->commit, e, n, 1, NULL, err);
}

int64_t rt_kit_commit(rt_kit *k, const pml_rt_prepared *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_commit_result r;
    must_ok(rt_kit_try_commit(k, &r, p, &err), &err);
    return r.snapshot_id;
}

int64_t rt_kit_cycle(rt_kit *k, int64_t identifier)
{
    pml_rt_prepared *p = rt_kit_prepare(k, identifier);
    int64_t id = rt_kit_commit(k, p);
    pml_rt_prepared_free(p);
    return id;
}

int64_t rt_kit_append(rt_kit *k, int64_t n, const char *p)
{
    pml_error err = PML_ERROR_INIT;
    pml_writer *w;
    pml_messages *m;
    pml_commit *c;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    struct ArrowArray array;
    struct ArrowSchema schema;
    bool external = k->external;
    k->external = false;
    array = rt_kit_batch(k, n, p);
    schema = rt_kit_schema(k);
    k->external = external;
    must_ok(pml_writer_open(&w, k->table, &err), &err);
    must_ok(pml_writer_write(w, &array, &schema, &err), &err);
    schema.release(&schema);
    must_ok(pml_writer_prepare(&m, w, &err), &err);
    must_ok(pml_commit_open(&c, k->table, NULL, &err), &err);
    must_ok(pml_commit_run(&r, c, &m, 1, 1, NULL, &err), &err);
    pml_commit_close(c);
    pml_messages_free(m);
    pml_writer_close(w);
    k->next_id += n;
    return r.snapshot_id;
}

/* ---- reading ---- */

int rt_kit_try_plan(pml_plan **out, rt_kit *k, pml_rt_context *ctx, int64_t snapshot, pml_error *err)
{
    pml_scan *scan;
    *out = NULL;
    int rc = pml_scan_new(&scan, k->table, err);
    if (rc == PML_OK)
        rc = pml_scan_set_snapshot(scan, snapshot, err);
    if (rc == PML_OK && ctx != NULL)
        rc = pml_scan_set_realtime(scan, ctx, err);
    if (rc == PML_OK)
        rc = pml_scan_plan(out, scan, err);
    pml_scan_free(scan);
    return rc;
}

pml_plan *rt_kit_plan(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    must_ok(rt_kit_try_plan(&p, k, k->ctx, -1, &err), &err);
    return p;
}

static void see(rt_kit *k, const struct ArrowArray *a, int64_t i)
{
    const struct ArrowArray *ids = a->children[0], *v = a->children[2];
    int64_t id = ((const int64_t *)ids->buffers[1])[ids->offset + i];
    const int32_t *o = (const int32_t *)v->buffers[1] + v->offset + i;
    char text[24];
    int len = snprintf(text, sizeof text, "v%lld", (long long)id);
    assert_in_range(id, 0, RT_KIT_ROWS_MAX - 1);
    assert_int_equal(o[1] - o[0], len);
    assert_memory_equal((const char *)v->buffers[2] + o[0], text, (size_t)len);
    if (k->seen[id]++ != 0)
        fail_msg("id %lld came twice", (long long)id);
}

int64_t rt_kit_read(rt_kit *k, struct ArrowArrayStream *s)
{
    int64_t n = 0;
    memset(k->seen, 0, sizeof k->seen);
    struct ArrowArray a = {0};
    while (rows_next(s, &a)) {
        for (int64_t i = 0; i < a.length; i++)
            see(k, &a, i);
        n += a.length;
    }
    return n;
}

void rt_kit_must_stream(rt_kit *k, struct ArrowArrayStream *s, int64_t from, int64_t to)
{
    int64_t n = rt_kit_read(k, s);
    for (int64_t i = from; i < to; i++)
        if (k->seen[i] == 0)
            fail_msg("id %lld of [%lld, %lld) is missing, %lld rows came", (long long)i, (long long)from, (long long)to, (long long)n);
    assert_int_equal(n, to - from);
}

void rt_kit_must_be(rt_kit *k, pml_plan *plan, int64_t from, int64_t to)
{
    pml_error err = PML_ERROR_INIT;
    struct ArrowArrayStream s;
    int64_t rows;
    must_ok(pml_plan_count(&rows, plan, &err), &err);
    assert_int_equal(rows, to - from);
    must_ok(pml_read_open(&s, plan, NULL, &err), &err);
    rt_kit_must_stream(k, &s, from, to);
}

static void must_show(rt_kit *k, pml_rt_context *ctx, int64_t from, int64_t to)
{
    pml_error err = PML_ERROR_INIT;
    pml_plan *p;
    must_ok(rt_kit_try_plan(&p, k, ctx, -1, &err), &err);
    rt_kit_must_be(k, p, from, to);
    pml_plan_free(p);
}

void rt_kit_must_show(rt_kit *k, int64_t from, int64_t to)
{
    must_show(k, k->ctx, from, to);
}

void rt_kit_must_store(rt_kit *k, int64_t from, int64_t to)
{
    must_show(k, NULL, from, to);
}

pml_rt_metrics rt_kit_metrics(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_metrics m = PML_RT_METRICS_INIT;
    must_ok(pml_rt_context_metrics(&m, k->ctx, &err), &err);
    return m;
}

int64_t rt_kit_end(rt_kit *k, int64_t snapshot, const char *partition, int32_t bucket)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    pml_rt_pb pb = PML_RT_PB_INIT;
    pb.n_partition = partition == NULL ? 0 : 1;
    pb.partition = &partition;
    pb.bucket = bucket;
    must_ok(pml_rt_offsets_load(&o, k->table, snapshot, &err), &err);
    int64_t end = pml_rt_offsets_find(o, &pb);
    pml_rt_offsets_free(o);
    return end;
}

int64_t rt_kit_latest(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    int64_t id;
    must_ok(pml_table__latest_snapshot(&id, k->table, true, &err), &err);
    return id;
}

static int64_t count_files(const char *dir, const char *part)
{
    int64_t n = 0;
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char path[1024];
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%.700s/%.256s", dir, e->d_name);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            n += count_files(path, part);
        else if (strstr(e->d_name, part) != NULL)
            n++;
    }
    if (d != NULL)
        (void)closedir(d);
    return n;
}

int64_t rt_kit_files(const rt_kit *k, const char *part)
{
    return count_files(k->path, part);
}

/* ---- snapshots by others ---- */

static void write_list(rt_kit *k, const char *name, const pml_manifest_meta *v, size_t n)
{
    pml_error err = PML_ERROR_INIT;
    uint8_t *bytes;
    size_t len;
    must_ok(pml_manifest_list__encode(&bytes, &len, k->t->env, v, n, "null", 0, &err), &err);
    char *path = pml_path__manifest(k->t->env, k->table->path, name);
    must_ok(pml_file__write_new(k->t->env, path, bytes, len, 0, &err), &err);
    pml_env__free(k->t->env, path);
    pml_env__free(k->t->env, bytes);
}

/* Marks the live files of the partition as deleted; returns how many. */
static size_t choose_files(rt_kit *k, pml_manifest_entries *live, pml_arena *arena, const pml_snapshot *s, const char *partition)
{
    pml_error err = PML_ERROR_INIT;
    size_t n = 0;
    must_ok(pml_table__live_files(live, arena, k->table, s, NULL, &err), &err);
    for (size_t i = 0; i < live->n; i++) {
        const pml_pb_key key = {live->v[i].partition, live->v[i].bucket};
        pml_pb_texts texts;
        must_ok(pml_pb_texts__of_key(&texts, arena, k->table->schema, &k->table->options, &key, &err), &err);
        if (partition != NULL && strcmp(texts.partition[0], partition) != 0)
            continue;
        if (k->foreign_removes > 0 && n == k->foreign_removes)
            continue;
        live->v[n] = live->v[i];
        live->v[n++].kind = PML_ENTRY_DELETE;
    }
    return n;
}

/* Writes k->foreign_progress as a file; its path, in the arena, is what the property says. */
static void name_progress(rt_kit *k, pml_snapshot *s, pml_arena *arena)
{
    pml_error err = PML_ERROR_INIT;
    char path[600];
    pml_option *property = pml_arena__alloc(arena, sizeof *property);
    assert_non_null(property);
    (void)snprintf(path, sizeof path, "%s/metadata/00000000-0000-4000-8000-%012lld.offsets", k->path, (long long)s->id);
    must_ok(pml_file__write_new(k->t->env, path, k->foreign_progress, strlen(k->foreign_progress), 0, &err), &err);
    *property = (pml_option){"realtime.offsets", pml_arena__strdup(arena, path)};
    s->properties = property;
    s->n_properties = 1;
}

int64_t rt_kit_foreign(rt_kit *k, pml_commit_kind kind, bool remove, const char *partition)
{
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_snapshot s;
    pml_commit_files f;
    pml_manifest_list base = {0};
    pml_manifest_entries live = {0};
    pml_manifest_meta *delta;
    char names[2][64];
    pml_buf text;
    size_t n = 0;
    int64_t rows = 0, id = rt_kit_latest(k);
    pml_arena__init(&arena, k->t->env);
    must_ok(pml_table__load_snapshot(&s, &arena, k->table, id, &err), &err);
    must_ok(pml_table__load_manifest_list(&base, &arena, k->table, s.base_manifest_list, &err), &err);
    must_ok(pml_table__load_manifest_list(&base, &arena, k->table, s.delta_manifest_list, &err), &err);
    must_ok(pml_commit_files__init(&f, k->table, false, &err), &err);
    delta = pml_arena__alloc(&arena, sizeof *delta);
    assert_non_null(delta);
    if (remove)
        n = choose_files(k, &live, &arena, &s, partition);
    for (size_t i = 0; i < n; i++)
        rows -= live.v[i].file.row_count;
    if (n > 0)
        must_ok(pml_commit_files__write_manifest(delta, &arena, &f, live.v, n, &err), &err);
    for (int i = 0; i < 2; i++)
        (void)snprintf(names[i], sizeof names[i], "manifest-list-%s-%d", f.uuid, i);
    write_list(k, names[0], base.v, base.n);
    write_list(k, names[1], delta, n > 0 ? 1 : 0);
    s.id = id + 1;
    s.base_manifest_list = names[0];
    s.delta_manifest_list = names[1];
    s.base_manifest_list_size = s.delta_manifest_list_size = (pml_optional_int64){0};
    s.commit_user = "somebody";
    s.commit_identifier = INT64_MAX;
    s.commit_kind = kind;
    s.operation = k->foreign_operation;
    s.time_ms = pml_env__wall_ms(k->t->env) > s.time_ms ? pml_env__wall_ms(k->t->env) : s.time_ms + 1;
    s.delta_record_count = rows;
    s.total_record_count += rows;
    s.n_properties = 0;
    if (k->foreign_progress != NULL)
        name_progress(k, &s, &arena);
    pml_buf__init(&text, k->t->env, PML_SNAPSHOT_FILE_MAX);
    must_ok(pml_snapshot__write(&text, &s), &err);
    char *path = pml_path__snapshot(k->t->env, k->table->branch_root, s.id);
    must_ok(pml_file__publish(k->t->env, path, text.data, text.len, 0, &err), &err);
    pml_env__free(k->t->env, path);
    pml_buf__clear(&text);
    pml_commit_files__clear(&f);
    pml_arena__clear(&arena);
    rt_kit_write_hint(k, id + 1);
    return id + 1;
}

int64_t rt_kit_truncate(rt_kit *k)
{
    pml_error err = PML_ERROR_INIT;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    must_ok(pml_table_truncate(&r, k->table, &err), &err);
    return r.snapshot_id;
}

int64_t rt_kit_drop(rt_kit *k, const char *value)
{
    pml_error err = PML_ERROR_INIT;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    const pml_option_pair pair = {"p", k->no_nulls && value == NULL ? "" : value};
    const pml_partition_spec spec = {1, &pair};
    must_ok(pml_table_drop_partitions(&r, k->table, &spec, 1, &err), &err);
    return r.snapshot_id;
}

bool rt_kit_entry(pml_rt_offset_info *out, rt_kit *k, const char *partition, int32_t bucket)
{
    pml_error err = PML_ERROR_INIT;
    pml_rt_offsets *o;
    bool found = false;
    must_ok(pml_rt_offsets_load(&o, k->table, -1, &err), &err);
    for (size_t i = 0; !found && i < pml_rt_offsets_count(o); i++) {
        *out = (pml_rt_offset_info)PML_RT_OFFSET_INFO_INIT;
        must_ok(pml_rt_offsets_get(out, o, i, &err), &err);
        found = out->pb->bucket == bucket && (partition == NULL || strcmp(out->pb->partition[0], partition) == 0);
    }
    out->pb = NULL; /* it was the offsets' */
    pml_rt_offsets_free(o);
    return found;
}

void rt_kit_write_hint(rt_kit *k, int64_t id)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/snapshot/LATEST", k->path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    (void)fprintf(f, "%lld", (long long)id);
    (void)fclose(f);
}

void rt_kit_roll_back(rt_kit *k, int64_t id)
{
    char path[600];
    for (int64_t i = rt_kit_latest(k); i > id; i--) {
        (void)snprintf(path, sizeof path, "%s/snapshot/snapshot-%lld", k->path, (long long)i);
        assert_int_equal(unlink(path), 0);
    }
    rt_kit_write_hint(k, id);
}
