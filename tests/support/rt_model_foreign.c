/* SPDX-License-Identifier: Apache-2.0 */
/* Other actors: appends, compactions and overwrites by writers that know nothing of the progress property, as Java makes them. */
#include <stdlib.h>
#include <string.h>

#include "storage/file_io.h"
#include "support/rt_model_state.h"
#include "support/test_arrow.h"
#include "table/commit.h"
#include "table/route.h"

enum { MAX_LEVEL = 5 };

typedef struct foreign {
    rt_model *m;
    pml_arena arena;
    pml_snapshot latest; /* when m->latest >= 1 */
    pml_manifest_entry entries[64];
    size_t n;
    int64_t rows; /* added minus deleted */
    pml_new_files files[MODEL_PBS];
    size_t n_files;
} foreign;

static bool ok(rt_model *m, int rc, const pml_error *err)
{
    return model_expect(m, PML_OK, rc, err, "a foreign actor");
}

static pml_bytes partition_bytes(foreign *f, int part)
{
    struct ArrowArray a;
    struct ArrowSchema s;
    pml_bytes out = {0};
    pml_error err = PML_ERROR_INIT;
    const int64_t id = 0;
    rt_rows_make(&a, &s, &f->m->shape, 1, &id, &part, NULL);
    (void)ok(f->m, pml_route__partition_of(&out, &f->arena, f->m->table, &a, 0, 0, &err), &err);
    a.release(&a);
    s.release(&s);
    return out;
}

/* Writes rows to one new file of a partition-bucket and adds it. */
static void add_file(foreign *f, int pb, const rt_ids *ids)
{
    rt_model *m = f->m;
    int part = pb / m->n_buckets;
    int *parts = calloc(ids->n + 1, sizeof *parts);
    pml_new_files *to = &f->files[f->n_files];
    pml_rolling *r = NULL;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema s;
    pml_file_shape shape;
    assert_non_null(parts);
    for (size_t i = 0; i < ids->n; i++)
        parts[i] = part;
    rt_rows_make(&a, &s, &m->shape, (int64_t)ids->n, ids->v, parts, NULL);
    free(parts);
    s.release(&s);
    f->n_files++;
    if (ok(m, pml_new_files__init(to, m->t->env, partition_bytes(f, part), pb % m->n_buckets, m->shape.buckets), NULL) &&
        ok(m, pml_file_shape__init(&shape, &f->arena, m->table, &err), &err) &&
        ok(m, pml_rolling__new(&r, m->table, &shape, to, 0, &err), &err)) {
        if (ok(m, pml_rolling__write(r, &a, &err), &err))
            (void)ok(m, pml_rolling__finish(r, &err), &err);
    } else {
        a.release(&a);
    }
    pml_rolling__free(r);
    for (size_t i = 0; i < to->n && f->n < 64; i++)
        f->entries[f->n++] = (pml_manifest_entry){PML_ENTRY_ADD, to->partition, to->bucket, to->total_buckets, to->files[i]};
    f->rows += (int64_t)ids->n;
}

/* The columns of a file of rows with keys, all with one sequence number. */
static void keyed_batch(struct ArrowArray *out, const foreign *f, const pml_file_shape *shape, int part, int64_t number, const rt_keyed_row *rows,
                        int64_t n)
{
    struct ArrowArray columns[16];
    int64_t *numbers = calloc((size_t)n + 1, sizeof *numbers);
    int8_t *kinds = calloc((size_t)n + 1, sizeof *kinds);
    const char **texts = calloc((size_t)n + 1, sizeof *texts);
    assert_true(numbers != NULL && kinds != NULL && texts != NULL && shape->n_fields <= 16);
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = number;
        kinds[i] = rows[i].kind;
        texts[i] = rt_partition_value(part);
    }
    for (size_t i = 0; i < shape->n_fields; i++) {
        const char *name = shape->fields[i].name;
        columns[i] = (int32_t)i == shape->sequence ? test_fixed_array(8, n, numbers)
                     : (int32_t)i == shape->kind   ? test_fixed_array(1, n, kinds)
                     : strcmp(name, "d") == 0      ? test_text_array(n, texts)
                                                   : rt_keyed_column(name[strlen(name) - 1], f->m->shape.salt, n, NULL, rows);
    }
    *out = test_struct_array(n, shape->n_fields, columns);
    free(numbers);
    free(kinds);
    free(texts);
}

/* The same for rows with keys, in the order of keys. */
static void add_keyed_file(foreign *f, int pb, int32_t level, int64_t number, const rt_keyed_row *rows, size_t n)
{
    rt_model *m = f->m;
    int part = pb / m->n_buckets;
    pml_new_files *to = &f->files[f->n_files++];
    pml_rolling *r = NULL;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a = {0};
    pml_file_shape shape;
    if (ok(m, pml_new_files__init(to, m->t->env, partition_bytes(f, part), pb % m->n_buckets, m->shape.buckets), NULL) &&
        ok(m, pml_file_shape__init(&shape, &f->arena, m->table, &err), &err) && ok(m, pml_rolling__new(&r, m->table, &shape, to, 0, &err), &err)) {
        keyed_batch(&a, f, &shape, part, number, rows, (int64_t)n);
        if (ok(m, pml_rolling__write(r, &a, &err), &err))
            (void)ok(m, pml_rolling__finish(r, &err), &err);
    }
    pml_rolling__free(r);
    for (size_t i = 0; i < to->n && f->n < 64; i++) {
        to->files[i].level = level;
        f->entries[f->n++] = (pml_manifest_entry){PML_ENTRY_ADD, to->partition, to->bucket, to->total_buckets, to->files[i]};
    }
    f->rows += (int64_t)n;
}

/* A full compaction of rows with keys, or the first files of a bucket. Their numbers are 0: all that is written later is newer. */
static void add_keyed(foreign *f, int pb, const rt_ids *ids, bool compact)
{
    rt_reference r;
    model_reference(f->m, &r, ids);
    if (compact)
        rt_reference_compact(&r);
    if (r.n > 0)
        add_keyed_file(f, pb, compact ? MAX_LEVEL : 0, 0, r.rows, r.n);
    rt_reference_clear(&r);
}

typedef struct wanted {
    foreign *f;
    pml_bytes partition;
    int32_t bucket; /* -1: all */
} wanted;

static bool is_wanted(void *arg, const pml_manifest_entry *e)
{
    const wanted *w = arg;
    return e->partition.len == w->partition.len && memcmp(e->partition.ptr, w->partition.ptr, e->partition.len) == 0 &&
           (w->bucket < 0 || e->bucket == w->bucket);
}

/* The live files of a partition, or of one of its buckets; none if they are too many for this small actor. */
static void find_files(pml_manifest_entries *live, foreign *f, int part, int32_t bucket)
{
    rt_model *m = f->m;
    wanted w = {f, partition_bytes(f, part), bucket};
    const pml_live_files_request request = {NULL, is_wanted, &w};
    pml_error err = PML_ERROR_INIT;
    *live = (pml_manifest_entries){0};
    if (m->latest < 1 || !ok(m, pml_table__live_files(live, &f->arena, m->table, &f->latest, &request, &err), &err) || live->n + f->n > 60)
        live->n = 0;
}

static void delete_them(foreign *f, const pml_manifest_entry *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        f->entries[f->n] = files[i];
        f->entries[f->n++].kind = PML_ENTRY_DELETE;
        f->rows -= files[i].file.row_count;
    }
}

/* Deletes the live files of a partition, or of one of its buckets. Returns how many. */
static size_t delete_files(foreign *f, int part, int32_t bucket)
{
    pml_manifest_entries live;
    find_files(&live, f, part, bucket);
    delete_them(f, live.v, live.n);
    return live.n;
}

static void publish(foreign *f, pml_commit_kind kind, const char *operation, bool keep_property)
{
    rt_model *m = f->m;
    pml_env *env = m->t->env;
    pml_commit_files files;
    pml_manifest_meta meta;
    const pml_commit_decision d = {0};
    pml_error err = PML_ERROR_INIT;
    pml_buf text;
    const pml_snapshot *latest = m->latest < 1 ? NULL : &f->latest;
    int64_t id = m->latest < 1 ? 1 : m->latest + 1;
    char *path = pml_path__snapshot(env, MODEL_TABLE, id);
    pml_buf__init(&text, env, PML_SNAPSHOT_FILE_MAX);
    if (ok(m, pml_commit_files__init(&files, m->table, false, &err), &err) &&
        ok(m, pml_commit_files__write_manifest(&meta, &files.arena, &files, f->entries, f->n, &err), &err)) {
        files.delta = &meta;
        files.n_delta = 1;
        files.delta_rows = f->rows;
        files.delta_written = true;
        (void)ok(m, pml_commit_files__write(&files, latest, &d, &err), &err);
    }
    pml_snapshot s = {.version = PML_SNAPSHOT_VERSION, .id = id, .base_manifest_list = files.base_list,
                      .base_manifest_list_size = {true, files.base_list_size}, .delta_manifest_list = files.delta_list,
                      .delta_manifest_list_size = {true, files.delta_list_size}, .commit_user = "somebody",
                      .commit_identifier = INT64_MAX, .commit_kind = kind, .time_ms = pml_env__wall_ms(env),
                      .watermark = latest == NULL ? (pml_optional_int64){0} : latest->watermark,
                      .total_record_count = f->rows + (latest == NULL ? 0 : latest->total_record_count),
                      .delta_record_count = f->rows, .operation = operation};
    if (latest != NULL && latest->time_ms > s.time_ms) /* times never fall, whose clock ever */
        s.time_ms = latest->time_ms;
    if (keep_property && latest != NULL) {
        s.n_properties = latest->n_properties;
        s.properties = latest->properties;
    }
    (void)pml_snapshot__write(&text, &s);
    if (!m->failed && ok(m, pml_buf__check(&text, &err), &err))
        (void)ok(m, pml_file__publish(env, path, text.data, text.len, 0, &err), &err);
    pml_buf__clear(&text);
    pml_commit_files__clear(&files);
    pml_env__free(env, path);
}

/* The same in the model; called after the files are made, before the snapshot's disk changes. */
static model_snapshot *pushed(foreign *f, bool keep_property)
{
    rt_model *m = f->m;
    int64_t before = m->latest;
    model_snapshot *s = m->failed ? NULL : model_push_snapshot(m);
    if (s != NULL && keep_property && before >= 1 && m->snapshots[before].has_property) {
        s->has_property = true;
        memcpy(s->marks, m->snapshots[before].marks, sizeof s->marks);
    }
    return s;
}

static void new_rows(rt_model *m, rt_ids *ids, int pb)
{
    int64_t n = 1 + model_below(m, 3);
    while (n > 0) {
        int64_t id = model_new_row_of(m, pb);
        n -= model_is_kept(m, id);
        if (model_is_kept(m, id))
            ids_add(ids, id);
    }
    if (m->shape.keyed != NULL)
        ids_add(ids, MODEL_BORDER);
    m->unordered[pb] = true;
}

static void append(foreign *f)
{
    rt_model *m = f->m;
    rt_ids ids = {0};
    int pb = (int)model_below(m, m->n_pbs);
    bool keep = model_chance(m, 30);
    if (m->shape.keyed == NULL) { /* with keys nobody else may write: a commit without rows */
        new_rows(m, &ids, pb);
        add_file(f, pb, &ids);
    }
    publish(f, PML_COMMIT_APPEND, NULL, keep);
    model_snapshot *s = pushed(f, keep);
    for (size_t i = 0; s != NULL && i < ids.n; i++)
        ids_add(&s->disk[pb], ids.v[i]);
    ids_clear(&ids);
}

/* The oldest first: that of the highest level; of level 0 by their numbers. */
static int by_age(const void *pa, const void *pb)
{
    const pml_data_file *a = &((const pml_manifest_entry *)pa)->file, *b = &((const pml_manifest_entry *)pb)->file;
    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    return (a->max_sequence > b->max_sequence) - (a->max_sequence < b->max_sequence);
}

/* Whether a level may hold a part of what deeper ones hold, without looking there. */
static bool may_compact_partly(const rt_variant *v)
{
    return v != NULL && !v->hides_level_0 && strstr(v->options, "lookup") == NULL;
}

/* As a Java writer does it while others write: the newest files of level 0 may have come since it looked, the oldest levels stay when
   what lies above them is small, and the result goes to the level above these. */
static void compact_partly(foreign *f, int pb, bool keep)
{
    rt_model *m = f->m;
    pml_manifest_entries live;
    rt_reference r;
    size_t deep = 0, new = 0;
    int64_t number = 0;
    find_files(&live, f, pb / m->n_buckets, pb % m->n_buckets);
    if (live.n == 0)
        return;
    qsort(live.v, live.n, sizeof *live.v, by_age);
    model_reference(m, &r, &m->snapshots[m->latest].disk[pb]);
    rt_reference_close(&r);
    if (live.n != rt_reference_runs(&r))
        model_fail(m, "pb %d has %zu files instead of %zu", pb, live.n, rt_reference_runs(&r));
    while (deep < live.n && live.v[deep].file.level >= 2)
        deep++;
    while (new < live.n && live.v[live.n - 1 - new].file.level == 0)
        new++;
    const size_t skip = (size_t)model_below(m, (int64_t)deep + 1), left = new == 0 ? 0 : (size_t)model_below(m, (int64_t)new), n = live.n - skip - left;
    if (!m->failed && skip + left < live.n && (n > 1 || live.v[skip].file.level == 0)) {
        for (size_t i = skip; i < skip + n; i++)
            number = live.v[i].file.max_sequence > number ? live.v[i].file.max_sequence : number;
        const int32_t level = skip == 0 ? MAX_LEVEL : live.v[skip - 1].file.level - 1;
        delete_them(f, live.v + skip, n);
        size_t n_rows;
        const rt_keyed_row *rows = rt_reference_compact_some(&n_rows, &r, skip, n);
        if (n_rows > 0)
            add_keyed_file(f, pb, level, number, rows, n_rows);
        publish(f, PML_COMMIT_COMPACT, NULL, keep);
        model_snapshot *s = pushed(f, keep);
        if (s != NULL)
            ids_add(&s->disk[pb], MODEL_PARTLY - ((int64_t)skip * MODEL_RUNS_MAX + (int64_t)n));
        model_log(m, "a part: %zu of %zu files, %zu older ones stay, to level %d", n, live.n, skip, level);
    }
    rt_reference_clear(&r);
}

static void compact(foreign *f)
{
    rt_model *m = f->m;
    int pb = (int)model_below(m, m->n_pbs);
    bool keep = model_chance(m, 50);
    if (may_compact_partly(m->shape.keyed) && m->latest >= 1 && model_chance(m, 60)) {
        compact_partly(f, pb, keep);
        return;
    }
    if (m->latest < 1 || m->snapshots[m->latest].disk[pb].n == 0 || delete_files(f, pb / m->n_buckets, pb % m->n_buckets) == 0)
        return;
    if (m->shape.keyed != NULL)
        add_keyed(f, pb, &m->snapshots[m->latest].disk[pb], true);
    else
        add_file(f, pb, &m->snapshots[m->latest].disk[pb]);
    publish(f, PML_COMMIT_COMPACT, NULL, keep);
    model_snapshot *s = pushed(f, keep);
    if (s != NULL && m->shape.keyed != NULL)
        ids_add(&s->disk[pb], MODEL_COMPACTED);
}

/* Rows in memory that no snapshot has: with keys nobody else may write to their bucket then (realtime-pk.md 6.4). */
static bool has_uncommitted(const rt_model *m, int pb)
{
    const live_pb *l = &m->live[pb];
    const model_mark mark = model_effective(m, m->latest, pb);
    return l->open && l->next > (mark.state == MARK_KNOWN ? mark.end : 0);
}

/* Truncate of a partition, or INSERT OVERWRITE of it with a few new rows. */
static void overwrite(foreign *f, bool with_rows)
{
    rt_model *m = f->m;
    int part = (int)model_below(m, m->n_parts), pb = part * m->n_buckets + (int)model_below(m, m->n_buckets);
    rt_ids ids = {0};
    for (int b = 0; b < m->n_buckets && m->shape.keyed != NULL && with_rows; b++)
        if (has_uncommitted(m, part * m->n_buckets + b))
            return;
    if (m->latest < 1 || delete_files(f, part, -1) == 0)
        return;
    if (with_rows) {
        new_rows(m, &ids, pb);
        if (m->shape.keyed != NULL)
            add_keyed(f, pb, &ids, false);
        else
            add_file(f, pb, &ids);
    }
    publish(f, PML_COMMIT_OVERWRITE, NULL, false);
    model_snapshot *s = pushed(f, false);
    for (int b = 0; s != NULL && b < m->n_buckets; b++) {
        s->disk[part * m->n_buckets + b].n = 0;
        m->unordered[part * m->n_buckets + b] = true;
    }
    for (size_t i = 0; s != NULL && i < ids.n; i++)
        ids_add(&s->disk[pb], ids.v[i]);
    if (s != NULL)
        s->fate[part] = with_rows ? FATE_UNCLEAR : FATE_EMPTIED;
    ids_clear(&ids);
}

static void delete_rows(foreign *f)
{
    rt_model *m = f->m;
    static const char *const operations[] = {"DELETE", "UPDATE", "MERGE"};
    int pb = (int)model_below(m, m->n_pbs);
    rt_ids left = {0};
    if (m->latest < 1 || delete_files(f, pb / m->n_buckets, pb % m->n_buckets) == 0)
        return;
    const rt_ids *all = &m->snapshots[m->latest].disk[pb];
    for (size_t i = 0; i < all->n; i++)
        if (model_chance(m, 70))
            ids_add(&left, all->v[i]);
    if (left.n > 0)
        add_file(f, pb, &left);
    publish(f, PML_COMMIT_OVERWRITE, operations[model_below(m, 3)], false);
    model_snapshot *s = pushed(f, false);
    if (s != NULL)
        ids_copy(&s->disk[pb], &left);
    ids_clear(&left);
}

/* The library's own batch writer and commit, which carry the property on. */
static void batch(foreign *f)
{
    rt_model *m = f->m;
    int64_t ids[4], n = 1 + model_below(m, 4);
    int parts[4];
    int32_t buckets[4];
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema schema;
    pml_writer *w = NULL;
    pml_messages *messages = NULL;
    pml_commit *c = NULL;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    for (int64_t i = 0; i < n; i++) {
        do
            ids[i] = model_new_row(m, 0);
        while (m->shape.keyed != NULL && rt_keyed_kind(m->shape.keyed, m->shape.salt, ids[i]) != 0); /* all are inserts */
        parts[i] = (int)model_below(m, m->n_parts);
    }
    rt_rows_make(&a, &schema, &m->shape, n, ids, parts, NULL);
    model_buckets(m, buckets, &a, 0);
    if (ok(m, pml_writer_open(&w, m->table, &err), &err) && ok(m, pml_writer_write(w, &a, &schema, &err), &err) &&
        ok(m, pml_writer_prepare(&messages, w, &err), &err) && ok(m, pml_commit_open(&c, m->table, "batch", &err), &err) &&
        ok(m, pml_commit_run(&r, c, &messages, 1, PML_COMMIT_IDENTIFIER_BATCH, NULL, &err), &err)) {
        model_snapshot *s = pushed(f, true);
        for (int64_t i = 0; s != NULL && i < n; i++) {
            int pb = parts[i] * m->n_buckets + buckets[i];
            m->row_pb[ids[i]] = pb;
            m->unordered[pb] = true;
            ids_add(&s->disk[pb], ids[i]);
        }
        for (int pb = 0; s != NULL && m->shape.keyed != NULL && pb < m->n_pbs; pb++)
            if (s->disk[pb].n > 0 && s->disk[pb].v[s->disk[pb].n - 1] >= 0)
                ids_add(&s->disk[pb], MODEL_BORDER);
    }
    if (a.release != NULL)
        a.release(&a);
    schema.release(&schema);
    pml_messages_free(messages);
    pml_writer_close(w);
    pml_commit_close(c);
}

/* The library's own truncate, or drop of one partition: entries of what goes become reset marks. */
static void remove_rows(foreign *f)
{
    rt_model *m = f->m;
    int part = m->shape.partitioned && model_chance(m, 70) ? (int)model_below(m, m->n_parts) : -1;
    model_mark marks[MODEL_PBS];
    bool any = false;
    pml_error err = PML_ERROR_INIT;
    pml_commit_result r = PML_COMMIT_RESULT_INIT;
    const pml_option_pair value = {"d", part < 0 ? NULL : rt_partition_value(part)};
    const pml_partition_spec spec = {1, &value};
    const int64_t anchor = m->latest < 1 ? 0 : model_anchor(m, m->latest);
    if (anchor > 0 && anchor < m->earliest)
        return; /* the progress expired: lost or not, depending on what is cached */
    for (int i = 0; i < m->n_pbs; i++) {
        marks[i] = model_effective(m, m->latest, i);
        if (marks[i].state == MARK_ABSENT)
            continue;
        if (part < 0 || i / m->n_buckets == part) {
            any = true;
            marks[i] = (model_mark){MARK_KNOWN, 0, ++m->nonce, false, m->latest + 1};
        } else if (marks[i].reset > 0 && marks[i].state == MARK_KNOWN && marks[i].reset < m->earliest) {
            marks[i] = (model_mark){0};
        }
    }
    int rc = part < 0 ? pml_table_truncate(&r, m->table, &err) : pml_table_drop_partitions(&r, m->table, &spec, 1, &err);
    model_snapshot *s = ok(m, rc, &err) ? pushed(f, true) : NULL;
    if (s != NULL && any) {
        s->has_property = true;
        memcpy(s->marks, marks, sizeof s->marks);
    }
    for (int i = 0; s != NULL && i < m->n_pbs; i++)
        if (part < 0 || i / m->n_buckets == part) {
            s->disk[i].n = 0;
            m->unordered[i] = true;
        }
}

void model_foreign(rt_model *m, foreign_kind kind)
{
    foreign f = {.m = m};
    pml_error err = PML_ERROR_INIT;
    static const char *const names[] = {"append", "compaction", "truncate", "overwrite", "row-level delete", "batch append", "removal by us"};
    if (m->shape.keyed != NULL && kind == FOREIGN_DELETE_ROWS) /* as rows of kind -D */
        return;
    for (int pb = 0; pb < m->n_pbs && m->shape.keyed != NULL && kind == FOREIGN_BATCH; pb++)
        if (has_uncommitted(m, pb) || m->unknown)
            return;
    pml_arena__init(&f.arena, m->t->env);
    model_log(m, "foreign %s on snapshot %lld", names[kind], (long long)m->latest);
    if (m->latest < 1 || ok(m, pml_table__load_snapshot(&f.latest, &f.arena, m->table, m->latest, &err), &err))
        switch (kind) {
        case FOREIGN_APPEND: append(&f); break;
        case FOREIGN_COMPACT: compact(&f); break;
        case FOREIGN_TRUNCATE: overwrite(&f, false); break;
        case FOREIGN_OVERWRITE: overwrite(&f, true); break;
        case FOREIGN_DELETE_ROWS: delete_rows(&f); break;
        case FOREIGN_BATCH: batch(&f); break;
        case FOREIGN_OUR_REMOVAL: remove_rows(&f); break;
        case FOREIGN_KINDS: break;
        }
    for (size_t i = 0; i < f.n_files; i++)
        pml_new_files__clear(&f.files[i]);
    pml_arena__clear(&f.arena);
}

/* The mutant that commits rows without their progress: the latest snapshot gets the properties of the one before. */
void model_skip_progress(rt_model *m)
{
    pml_arena arena;
    pml_snapshot s, before = {0};
    pml_buf text;
    pml_env *env = m->t->env;
    pml_error err = PML_ERROR_INIT;
    char *path = pml_path__snapshot(env, MODEL_TABLE, m->latest);
    pml_arena__init(&arena, env);
    pml_buf__init(&text, env, PML_SNAPSHOT_FILE_MAX);
    if (ok(m, pml_table__load_snapshot(&s, &arena, m->table, m->latest, &err), &err) &&
        (m->latest == 1 || ok(m, pml_table__load_snapshot(&before, &arena, m->table, m->latest - 1, &err), &err))) {
        s.n_properties = before.n_properties;
        s.properties = before.properties;
        (void)pml_snapshot__write(&text, &s);
        (void)ok(m, pml_file__replace(env, path, text.data, text.len, &err), &err);
    }
    pml_buf__clear(&text);
    pml_arena__clear(&arena);
    pml_env__free(env, path);
}

/* ---- another process ---- */

static int64_t still_wall(void *ctx)
{
    return atomic_load(&((test_env *)ctx)->wall_ms);
}

static int64_t still_mono(void *ctx)
{
    return atomic_load(&((test_env *)ctx)->mono_ns);
}

static void no_sleep(void *ctx, int64_t ms)
{
    (void)ctx, (void)ms;
}

static void no_log(void *ctx, int level, const char *component, const char *message)
{
    (void)ctx, (void)level, (void)component, (void)message;
}

typedef struct other {
    pml_env *env;
    pml_table *table;
    pml_rt_context *ctx;
    pml_rt_writer *writer;
    pml_commit *commit;
    pml_rt_prepared *prepared;
} other;

static bool other_open(rt_model *m, other *o)
{
    const pml_clock clock = {m->t, still_wall, still_mono, no_sleep};
    const pml_logger logger = {NULL, no_log};
    pml_env_options options = PML_ENV_OPTIONS_INIT;
    pml_error err = PML_ERROR_INIT;
    options.file_system = &m->faulty.fs;
    options.clock = &clock;
    options.logger = &logger;
    return ok(m, pml_env_new(&o->env, &options, &err), &err) && ok(m, pml_table_open(&o->table, o->env, MODEL_TABLE, NULL, &err), &err) &&
           ok(m, pml_rt_context_open(&o->ctx, o->env, NULL, &err), &err) &&
           ok(m, pml_rt_writer_open(&o->writer, o->table, o->ctx, NULL, &err), &err) &&
           ok(m, pml_commit_open(&o->commit, o->table, "other", &err), &err);
}

static void other_close(other *o)
{
    pml_rt_prepared_free(o->prepared);
    pml_rt_writer_abort(o->writer);
    pml_commit_close(o->commit);
    pml_rt_context_close(o->ctx);
    pml_table_release(o->table);
    pml_env_release(o->env);
}

static bool other_write(rt_model *m, other *o, int pb, int64_t n, const int64_t *ids, int64_t first)
{
    const char *text = rt_partition_text(pb / m->n_buckets);
    int parts[8];
    pml_rt_pb key = PML_RT_PB_INIT;
    pml_rt_write_options options = PML_RT_WRITE_OPTIONS_INIT;
    pml_rt_commit_result r = PML_RT_COMMIT_RESULT_INIT;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray a;
    struct ArrowSchema s;
    size_t entries = 0;
    for (int64_t i = 0; i < n; i++)
        parts[i] = pb / m->n_buckets;
    key.n_partition = m->shape.partitioned ? 1 : 0;
    key.partition = &text;
    key.bucket = pb % m->n_buckets;
    options.pb = &key;
    options.first_offset = m->shape.external ? first : -1;
    rt_rows_make(&a, &s, &m->shape, n, ids, parts, NULL);
    bool fine = ok(m, pml_rt_write(NULL, o->writer, &a, &s, &options, &err), &err) &&
                ok(m, pml_rt_prepare(&o->prepared, o->writer, 1000 + m->latest, NULL, &err), &err);
    if (fine) {
        const pml_rt_entry *const *e = pml_rt_prepared_get(&entries, o->prepared);
        fine = ok(m, pml_rt_commit(&r, o->commit, e, entries, 1000 + m->latest, NULL, &err), &err);
    }
    if (a.release != NULL)
        a.release(&a);
    s.release(&s);
    return fine;
}

void model_other_writer(rt_model *m)
{
    other o = {0};
    int pb = (int)model_below(m, m->n_pbs);
    int64_t ids[4], n = 1 + model_below(m, 4);
    model_mark marks[MODEL_PBS];
    for (int i = 0; i < m->n_pbs; i++) {
        marks[i] = model_effective(m, m->latest, i);
        if (marks[i].reset > 0 && marks[i].state == MARK_KNOWN && marks[i].reset < m->earliest && i != pb)
            marks[i] = (model_mark){0};
    }
    int64_t first = marks[pb].state == MARK_KNOWN ? marks[pb].end : 0;
    if (m->shape.keyed != NULL || marks[pb].state == MARK_LOST || m->unknown || (m->latest >= 1 && model_anchor(m, m->latest) < m->earliest))
        return;
    for (int64_t i = 0; i < n; i++)
        ids[i] = model_new_row(m, pb);
    m->unordered[pb] = true;
    if (other_open(m, &o) && other_write(m, &o, pb, n, ids, first)) {
        model_snapshot *s = model_push_snapshot(m);
        if (s != NULL) {
            s->has_property = true;
            memcpy(s->marks, marks, sizeof s->marks);
            s->marks[pb] = (model_mark){MARK_KNOWN, first + n, marks[pb].state == MARK_KNOWN ? marks[pb].lineage : ++m->nonce, BY_OTHER, 0};
            for (int64_t i = 0; i < n; i++)
                ids_add(&s->disk[pb], ids[i]);
        }
    }
    other_close(&o);
    model_log(m, "another live writer commits [%lld, %lld) of pb %d", (long long)first, (long long)(first + n), pb);
}
