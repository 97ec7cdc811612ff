/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: the files are asked for the wanted columns that they store, the key, the sequence fields, what else the merge engine needs
 * beside them, _SEQUENCE_NUMBER and _VALUE_KIND (together the layout); the merge gives the wanted ones only, and the columns of the
 * partition are put beside them afterwards.
 *
 * Predicates: a version of a key that does not match may hide an older one that does, so the files of several runs are only asked by
 * conditions on the key, which all versions of a key answer alike. In a section of one run each key is once, and every condition may
 * leave parts of a file out (format-data.md 10.3).
 *
 * Where one key is asked for, the runs of a section may be asked one after the other, the newest first (newest_first.h). Each is a section
 * of its own then, of which only that key is seen: of others an old row might come out.
 */
#include "table/read_merge.h"

#include <stdlib.h>
#include <string.h>

#include "merge/engine.h"
#include "merge/merge_options.h"
#include "merge/sections.h"
#include "meta/partition.h"
#include "table/assemble.h"
#include "table/file_run.h"
#include "table/memory_runs.h"
#include "table/newest_first.h"
#include "table/prune.h"
#include "table/read_ahead.h"

const pml_field pml_field_sequence_number = {.id = PML_ID_SEQUENCE, .name = "_SEQUENCE_NUMBER", .type = {.kind = PML_TYPE_BIGINT}};
const pml_field pml_field_value_kind = {.id = PML_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.kind = PML_TYPE_TINYINT}};

enum { STACK_LEVELS = 1024 };

typedef struct merge_reader {
    pml_env *env;
    pml_plan *plan;
    const pml_split *split;
    int64_t batch_rows;
    bool validate_full;
    pml_ahead_merge *ahead;    /* NULL: nobody reads ahead */
    const pml_pred *predicate; /* of everything */
    pml_pred *key_predicate;   /* its conjuncts over the key only */
    pml_assembly assembly;     /* the wanted columns of a merged batch; what it calls stored comes first in the layout */
    int32_t *columns;
    pml_field *fields; /* of the layout */
    pml_merge_layout layout;
    pml_table_schema schema; /* the plan's with the options of now, which hold for older snapshots too; not counted */
    pml_merge_function function;
    pml_value partition[PML_PARTITION_KEYS_MAX];
    pml_sections sections;
    size_t next_section;
    bool one_key; /* the newest run that has it decides */
    const pml_sorted_run *probes; /* of a section, newest first; NULL: it is merged */
    size_t n_probes, next_probe;
    bool found; /* in the last one that was read */
    pml_merge *merge; /* of a section; NULL: none open */
    pml_arena arena;
} merge_reader;

/* ---- sections ---- */

static int run_make(pml_run *out, merge_reader *r, const pml_section *s, const pml_sorted_run *files, pml_error *err)
{
    bool alone = s->n_runs == 1 && r->probes == NULL && r->split->memory_part < 0;
    const pml_file_run request = {.plan = r->plan,
                                  .split = r->split,
                                  .files = files,
                                  .fields = r->layout.fields,
                                  .n_fields = r->layout.n_fields,
                                  .predicate = alone ? r->predicate : r->key_predicate,
                                  .indexes = r->plan->table->options.file_index_read && (!alone || r->predicate == r->key_predicate),
                                  .batch_rows = r->batch_rows,
                                  .validate_full = r->validate_full,
                                  .found = r->probes == NULL ? NULL : &r->found};
    PML_RETURN_IF(pml_file_run__open(out, &request, err));
    int rc = r->ahead == NULL ? PML_OK : pml_ahead__take(out, r->ahead, r->layout.fields, r->layout.n_fields, err);
    if (rc != PML_OK)
        out->drop(out->ctx);
    return rc;
}

static int runs_make(pml_run *runs, size_t *n, merge_reader *r, const pml_section *s, pml_error *err)
{
    for (*n = 0; *n < s->n_runs; ++*n)
        PML_RETURN_IF(run_make(&runs[*n], r, s, &s->runs[*n], err));
    return PML_OK;
}

/* Those of the files, and of the memory behind them. */
static int section_runs(pml_run **runs, size_t *n, merge_reader *r, const pml_section *s, pml_error *err)
{
    const pml_memory_runs request = {.plan = r->plan,
                                     .split = r->split,
                                     .layout = &r->layout,
                                     .schema = &r->schema,
                                     .separable = r->function.kind != PML_MERGE_COLUMNS,
                                     .predicate = r->key_predicate,
                                     .batch_rows = r->batch_rows};
    pml_run *memory = NULL;
    size_t n_memory = 0;
    int rc = PML_OK;
    *n = 0;
    *runs = NULL;
    if (r->split->memory_part >= 0)
        PML_RETURN_IF(pml_memory_runs__open(&memory, &n_memory, &request, err));
    *runs = pml_env__calloc(r->env, s->n_runs + n_memory, sizeof **runs);
    rc = *runs == NULL ? pml_error__no_memory(err) : runs_make(*runs, n, r, s, err);
    for (size_t i = 0; i < n_memory && rc == PML_OK; i++)
        (*runs)[(*n)++] = memory[i];
    for (size_t i = 0; rc != PML_OK && i < n_memory; i++)
        memory[i].drop(memory[i].ctx);
    pml_env__free(r->env, memory);
    return rc;
}

static int section_open(merge_reader *r, const pml_section *s, pml_error *err)
{
    const pml_merge_request request = {.layout = &r->layout,
                                       .function = &r->function,
                                       .columns = r->columns,
                                       .n_columns = r->assembly.n_stored,
                                       .keep_retracts = r->plan->keep_retracts,
                                       .one_of_run = r->split->memory_part < 0, /* runs in memory have several rows of a key */
                                       .lookup = pml_table_options__is_lookup(&r->plan->table->options),
                                       .batch_rows = r->batch_rows};
    size_t n = 0;
    pml_run *runs;
    int rc = section_runs(&runs, &n, r, s, err);
    if (rc == PML_OK && r->split->memory_part >= 0)
        rc = pml_memory_runs__fold(r->plan, &r->layout, request.lookup, r->batch_rows, runs, &n, err);
    if (rc == PML_OK)
        rc = pml_merge__open(&r->merge, r->env, &request, runs, n, err);
    else
        for (size_t i = 0; i < n; i++)
            runs[i].drop(runs[i].ctx);
    if (r->ahead != NULL)
        pml_ahead__opened(r->ahead);
    pml_env__free(r->env, runs);
    return rc;
}

/* The next section, or run of one; r->merge stays NULL at the end. */
static int open_next(merge_reader *r, pml_error *err)
{
    pml_sorted_run *newest = NULL;
    if (r->next_probe < r->n_probes && !r->found)
        return section_open(r, &(pml_section){.n_runs = 1, .runs = &r->probes[r->next_probe++]}, err);
    r->probes = NULL;
    r->n_probes = r->next_probe = 0;
    r->found = false;
    if (r->next_section == r->sections.n)
        return PML_OK;
    const pml_section *s = &r->sections.v[r->next_section++];
    if (r->one_key && s->n_runs > 1)
        PML_RETURN_IF(pml_newest__runs(&newest, &r->arena, s, r->split->files, err));
    if (newest == NULL)
        return section_open(r, s, err);
    r->probes = newest;
    r->n_probes = s->n_runs;
    return open_next(r, err);
}

static int reader_next(void *owner, struct ArrowArray *out, pml_error *err)
{
    merge_reader *r = owner;
    for (;;) {
        struct ArrowArray batch = {0};
        if (r->merge == NULL)
            PML_RETURN_IF(open_next(r, err));
        if (r->merge == NULL)
            return PML_OK;
        PML_RETURN_IF(pml_merge__next(r->merge, &batch, err));
        if (batch.release != NULL)
            return pml_assembly__batch(out, &r->assembly, &batch, err);
        pml_merge__free(r->merge);
        r->merge = NULL;
    }
}

static void reader_drop(void *owner)
{
    merge_reader *r = owner;
    pml_env *env = r->env;
    pml_merge__free(r->merge);
    if (r->function.drop != NULL)
        r->function.drop(r->function.self);
    pml_arena__clear(&r->arena);
    pml_plan_free(r->plan);
    pml_env__free(env, r);
    pml_env_release(env);
}

/* ---- setting up ---- */

/* Position of a field in the layout, where it is put if it is not there yet. */
static int32_t layout_add(merge_reader *r, const pml_field *f)
{
    size_t i = 0;
    while (i < r->layout.n_fields && r->fields[i].id != f->id)
        i++;
    if (i == r->layout.n_fields)
        r->fields[r->layout.n_fields++] = *f;
    return (int32_t)i;
}

int pml_merge_read__sequence(int32_t **columns, size_t *n, pml_arena *arena, const pml_table *t, const pml_table_schema *s, pml_error *err)
{
    const pml_merge_options options = {s, t->overrides, t->n_overrides};
    *n = 0;
    *columns = pml_arena__array(arena, s->n_fields, sizeof **columns);
    return *columns == NULL ? pml_error__no_memory(err) : pml_merge_options__sequence_columns(*columns, n, &options, t->path, err);
}

static int add_sequence_fields(merge_reader *r, pml_error *err)
{
    const pml_table *t = r->plan->table;
    int32_t *columns;
    PML_RETURN_IF(pml_merge_read__sequence(&columns, &r->layout.n_sequence, &r->arena, t, &r->schema, err));
    for (size_t i = 0; i < r->layout.n_sequence; i++)
        columns[i] = layout_add(r, &r->schema.fields[columns[i]]);
    r->layout.sequence = columns;
    r->layout.sequence_descending = t->options.sequence_order == PML_SEQUENCE_DESCENDING;
    return PML_OK;
}

/* Columns that the merge engine wants to see beside the wanted ones. Those of the partition are the same in all rows; a merge only needs
   them where rows are ordered by them. */
static int add_engine_columns(merge_reader *r, pml_error *err)
{
    const pml_table *t = r->plan->table;
    const pml_table_schema *s = &r->schema;
    bool *columns = pml_arena__array(&r->arena, s->n_fields, sizeof *columns);
    if (columns == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->layout.n_fields; i++) {
        int32_t column = pml_table_schema__find_id(s, r->fields[i].id);
        if (column >= 0)
            columns[column] = true;
    }
    PML_RETURN_IF(pml_merge_engine__needs(columns, r->env, s, t->overrides, t->n_overrides, err));
    for (size_t i = 0; i < s->n_fields; i++)
        if (columns[i] && pml_assembly__partition_key(s, s->fields[i].id) < 0)
            (void)layout_add(r, &s->fields[i]);
    return PML_OK;
}

static int make_layout(merge_reader *r, pml_error *err)
{
    const pml_table_schema *s = r->plan->schema;
    int32_t *keys = pml_arena__array(&r->arena, s->n_keys, sizeof *keys);
    r->columns = pml_arena__array(&r->arena, r->assembly.n_stored, sizeof *r->columns);
    r->fields = pml_arena__array(&r->arena, s->n_fields + 2, sizeof *r->fields);
    if (keys == NULL || r->columns == NULL || r->fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->assembly.n_stored; i++)
        r->columns[i] = layout_add(r, &r->assembly.stored_fields[i]);
    for (size_t i = 0; i < s->n_keys; i++)
        keys[i] = layout_add(r, &s->fields[s->key_index[i]]);
    r->layout.fields = r->fields;
    r->layout.keys = keys;
    r->layout.n_keys = s->n_keys;
    PML_RETURN_IF(add_sequence_fields(r, err));
    PML_RETURN_IF(add_engine_columns(r, err));
    r->layout.sequence_number = layout_add(r, &pml_field_sequence_number);
    r->layout.row_kind = layout_add(r, &pml_field_value_kind);
    return PML_OK;
}

static int make_function(merge_reader *r, pml_error *err)
{
    const pml_table *t = r->plan->table;
    int rc = pml_merge_engine__new(&r->function, r->env, &r->layout, &r->schema, t->overrides, t->n_overrides, err);
    return rc == PML_OK || rc == PML_E_UNSUPPORTED ? rc : pml_error__prefix(err, rc, "%s", t->path); /* a need stands in front */
}

/* A run of a section, and the run of the whole split that it goes to. */
typedef struct stacked_run {
    size_t stack, order;
    const pml_sorted_run *run;
} stacked_run;

static int by_stack(const void *x, const void *y)
{
    const stacked_run *a = x, *b = y;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Sections lie behind each other in the order of keys, and so their runs may be one behind the other. With lookup rules a run has one
   level only (merge.h): the highest level is the oldest, and each run of level 0 is one of its own. Returns how many there are. */
static size_t stack_runs(stacked_run *out, const merge_reader *r, bool by_level)
{
    size_t n = 0;
    for (size_t i = 0; i < r->sections.n; i++) {
        const pml_section *s = &r->sections.v[i];
        size_t newest = STACK_LEVELS + 1;
        for (size_t k = 0; k < s->n_runs; k++, n++) {
            int32_t level = r->split->files[s->runs[k].files[0]].level;
            size_t stack = !by_level ? k : level <= 0 ? newest++ : level < STACK_LEVELS ? (size_t)(STACK_LEVELS - level) : 0;
            out[n] = (stacked_run){stack, n, &s->runs[k]};
        }
    }
    qsort(out, n, sizeof *out, by_stack);
    return n;
}

/* Rows in memory lie anywhere among the keys, so the sections become one. */
static int stack_sections(merge_reader *r, pml_error *err)
{
    bool by_level = pml_table_options__is_lookup(&r->plan->table->options);
    size_t n_runs = 0, n_files = 0, n_stacked = 0;
    for (size_t i = 0; i < r->sections.n; i++)
        n_stacked += r->sections.v[i].n_runs;
    stacked_run *stacked = pml_arena__array(&r->arena, n_stacked, sizeof *stacked);
    pml_sorted_run *runs = pml_arena__array(&r->arena, n_stacked, sizeof *runs);
    pml_section *one = pml_arena__array(&r->arena, 1, sizeof *one);
    size_t *files = pml_arena__array(&r->arena, r->split->n_files, sizeof *files);
    if (stacked == NULL || runs == NULL || one == NULL || files == NULL)
        return pml_error__no_memory(err);
    n_stacked = stack_runs(stacked, r, by_level);
    for (size_t i = 0; i < n_stacked; i++) {
        if (i == 0 || stacked[i].stack != stacked[i - 1].stack)
            runs[n_runs++] = (pml_sorted_run){0, files + n_files};
        for (size_t f = 0; f < stacked[i].run->n; f++)
            files[n_files++] = stacked[i].run->files[f];
        runs[n_runs - 1].n += stacked[i].run->n;
    }
    *one = (pml_section){.n_files = n_files, .n_runs = n_runs, .runs = runs};
    r->sections = (pml_sections){1, one};
    return PML_OK;
}

static int make_sections(merge_reader *r, pml_error *err)
{
    const pml_data_file **files = pml_arena__array(&r->arena, r->split->n_files, sizeof *files);
    if (files == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < r->split->n_files; i++)
        files[i] = &r->split->files[i];
    PML_RETURN_IF(pml_plan__sections(&r->sections, &r->arena, r->plan, files, r->split->n_files, err));
    return r->split->memory_part < 0 ? PML_OK : stack_sections(r, err);
}

static int make_key_predicate(merge_reader *r, pml_error *err)
{
    const pml_table_schema *s = r->plan->schema;
    int32_t *ids = pml_arena__array(&r->arena, s->n_keys, sizeof *ids);
    if (r->predicate == NULL)
        return PML_OK;
    if (ids == NULL)
        return pml_error__no_memory(err);
    size_t n = pml_prune__key_ids(ids, s);
    if (pml_pred__project(&r->key_predicate, &r->arena, r->predicate, ids, n) != PML_OK)
        return pml_error__no_memory(err);
    r->one_key = r->split->memory_part < 0 && r->function.kind == PML_MERGE_LAST && !r->function.ignore_delete && !r->plan->keep_retracts && r->layout.n_sequence == 0 &&
                 !pml_table_options__is_lookup(&r->plan->table->options) && pml_newest__one_key(r->key_predicate, s);
    return PML_OK;
}

int pml_merge_read__open(struct ArrowArrayStream *out, const pml_merge_read *q, pml_error *err)
{
    struct ArrowSchema schema = {0};
    int rc;
    memset(out, 0, sizeof *out);
    pml_env *env = q->plan->env;
    merge_reader *r = pml_env__calloc(env, 1, sizeof *r);
    if (r == NULL)
        return pml_error__no_memory(err);
    pml_env_acquire(env);
    r->env = env;
    pml_plan__acquire(q->plan);
    r->plan = q->plan;
    r->schema = *q->plan->schema;
    r->schema.options = q->plan->table->schema->options;
    r->schema.n_options = q->plan->table->schema->n_options;
    while (r->schema.n_fields > 0 && r->schema.fields[r->schema.n_fields - 1].id >= PML_ID_KEY_BASE) /* the merge has them anyhow */
        r->schema.n_fields--;
    r->split = q->split;
    r->batch_rows = q->batch_rows;
    r->validate_full = q->validate_full;
    r->ahead = q->ahead;
    r->predicate = q->predicate;
    pml_arena__init(&r->arena, env);
    PML_TRY(pml_partition__decode(r->partition, q->plan->schema, q->split->partition, err));
    PML_TRY(pml_assembly__init(&r->assembly, &r->arena, q->plan->schema, q->fields, q->n_fields, r->partition, err));
    PML_TRY(make_layout(r, err));
    PML_TRY(make_function(r, err));
    PML_TRY(make_key_predicate(r, err));
    PML_TRY(make_sections(r, err));
    PML_TRY(pml_type__export(&schema, env, q->fields, q->n_fields, err));
    PML_TRY(pml_stream__new(out, env, &schema, reader_next, reader_drop, r, err));
    r = NULL;
out:
    pml_schema__release(&schema);
    if (r != NULL)
        reader_drop(r);
    return rc;
}
