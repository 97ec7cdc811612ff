/* SPDX-License-Identifier: Apache-2.0 */
#include "table/prune.h"

#include <string.h>

#include "meta/column_stats.h"
#include "meta/partition.h"
#include "meta/path.h"
#include "table/evolution.h"
#include "table/prune_bucket.h"

static char verdict_yes, verdict_no;

static int partition_part(pml_prune *pr, pml_error *err)
{
    const pml_table_schema *s = pr->schema;
    pr->partition_fields = pml_arena__array(&pr->arena, s->n_partition_keys, sizeof *pr->partition_fields);
    if (pr->partition_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_partition_keys; i++) {
        pr->partition_fields[i] = s->fields[s->partition_index[i]];
        pr->partition_ids[i] = pr->partition_fields[i].id;
    }
    if (pml_pred__project(&pr->partition_pred, &pr->arena, pr->predicate, pr->partition_ids, s->n_partition_keys) != PML_OK)
        return pml_error__no_memory(err);
    return PML_OK;
}

size_t pml_prune__key_ids(int32_t *ids, const pml_table_schema *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_keys; i++) {
        const pml_field *f = &s->fields[s->key_index[i]];
        if (!pml_type__is_float(&f->type))
            ids[n++] = f->id;
    }
    return n;
}

static int key_part(pml_prune *pr, pml_error *err)
{
    const pml_table_schema *s = pr->schema;
    int32_t *ids = pml_arena__array(&pr->arena, s->n_keys, sizeof *ids);
    pr->key_fields = pml_arena__array(&pr->arena, s->n_keys, sizeof *pr->key_fields);
    if (ids == NULL || pr->key_fields == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < s->n_keys; i++)
        pr->key_fields[i] = s->fields[s->key_index[i]];
    size_t n = pml_prune__key_ids(ids, s);
    return pml_pred__project(&pr->key_pred, &pr->arena, pr->predicate, ids, n) == PML_OK ? PML_OK : pml_error__no_memory(err);
}

int pml_prune__init(pml_prune *pr, pml_env *env, const pml_table_schema *schema, const pml_table_options *options,
                    const pml_pred *predicate, pml_error *err)
{
    *pr = (pml_prune){.env = env, .schema = schema, .predicate = predicate};
    pml_map__init(&pr->verdicts, env);
    pml_arena__init(&pr->arena, env);
    _Static_assert(sizeof pr->partition_ids / sizeof pr->partition_ids[0] == PML_PARTITION_KEYS_MAX, "one id per key");
    if (schema->n_partition_keys > PML_PARTITION_KEYS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "the table has %zu partition keys, at most %d are supported",
                              schema->n_partition_keys, PML_PARTITION_KEYS_MAX);
    if (predicate != NULL && schema->n_partition_keys > 0)
        PML_RETURN_IF(partition_part(pr, err));
    if (predicate != NULL && schema->n_keys > 0)
        PML_RETURN_IF(key_part(pr, err));
    /* The buckets that compaction gives to the rows of bucket -2 are those of a fixed number, which each entry names. */
    if (predicate != NULL && (options->bucket > 0 || options->bucket == -2))
        PML_RETURN_IF(pml_bucket_choice__new(&pr->buckets, env, schema, options, predicate, err));
    return PML_OK;
}

void pml_prune__clear(pml_prune *pr)
{
    pml_bucket_choice__free(pr->buckets);
    pml_map__clear(&pr->verdicts, NULL);
    pml_arena__clear(&pr->arena);
}

int pml_prune__partition(bool *matches, pml_prune *pr, pml_bytes partition, pml_error *err)
{
    pml_value values[PML_PARTITION_KEYS_MAX];
    *matches = true;
    if (pr->partition_pred == NULL)
        return PML_OK;
    const char *known = pml_map__get(&pr->verdicts, partition.ptr, partition.len);
    if (known == NULL) {
        PML_RETURN_IF(pml_partition__decode(values, pr->schema, partition, err));
        known = pml_pred__test_values(pr->partition_pred, pr->partition_ids, values, pr->schema->n_partition_keys) ? &verdict_yes
                                                                                                                  : &verdict_no;
        if (pml_map__put(&pr->verdicts, partition.ptr, partition.len, (void *)known, NULL) != PML_OK)
            return pml_error__no_memory(err);
    }
    *matches = known == &verdict_yes;
    return PML_OK;
}

/* ---- what ORC files say otherwise ---- */

/* Rows of an ORC file have lost the trailing blanks of CHAR values by which they were dealt to buckets. */
static bool is_dealt_by_blanks(const pml_prune *pr, const pml_data_file *f)
{
    for (size_t i = 0; i < pr->schema->n_bucket_keys; i++)
        if (pr->schema->fields[pr->schema->bucket_index[i]].type.kind == PML_TYPE_CHAR)
            return pml_path__is_orc(f->name);
    return false;
}

/* Bounds that Java takes from ORC's footers: of CHAR those of padded texts, which are greater than what is read; of numbers with NaN
   either nothing but NaN or no sign of it. */
static void drop_orc_bounds(pml_column_stats *stats, size_t n, const pml_table_schema *s)
{
    for (size_t i = 0; i < n; i++) {
        int32_t column = pml_table_schema__find_id(s, stats[i].field_id);
        const pml_type *t = column < 0 ? NULL : &s->fields[column].type;
        if (t != NULL && (t->kind == PML_TYPE_CHAR || pml_type__is_float(t)))
            stats[i].min = stats[i].max = (pml_value){0};
    }
}

int pml_prune__bucket(bool *matches, pml_prune *pr, int32_t bucket, int32_t total_buckets, pml_error *err)
{
    *matches = true;
    return pr->buckets == NULL ? PML_OK : pml_bucket_choice__test(matches, pr->buckets, bucket, total_buckets, err);
}

/* The statistics are a hint: what cannot be read of them leaves nothing out. */
bool pml_prune__keep_manifest(void *arg, const pml_manifest_meta *m)
{
    pml_prune *pr = arg;
    pml_column_stats stats[PML_PARTITION_KEYS_MAX];
    size_t n = pr->schema->n_partition_keys;
    int64_t entries;
    if (pr->partition_pred == NULL || pr->rc != PML_OK || m->n_added < 0 || m->n_deleted < 0 ||
        __builtin_add_overflow(m->n_added, m->n_deleted, &entries))
        return true;
    int rc = pml_column_stats__decode(stats, pr->env, &m->partition_stats, &(pml_string_list){0}, pr->partition_fields, n, &pr->err);
    if (rc == PML_E_NOMEM)
        pr->rc = rc;
    return rc != PML_OK || pml_pred__may_match(pr->partition_pred, stats, n, entries);
}

bool pml_prune__keep_entry(void *arg, const pml_manifest_entry *e)
{
    pml_prune *pr = arg;
    bool matches = true;
    if (pr->rc == PML_OK)
        pr->rc = pml_prune__partition(&matches, pr, e->partition, &pr->err);
    /* A DELETE must outlive every look that its ADD outlives, and its number of buckets is only what its writer believed. Under another
       schema the bucket key may have had another type, and another hash. */
    if (pr->rc == PML_OK && matches && e->kind == PML_ENTRY_ADD && e->file.schema_id == pr->schema->id &&
        !is_dealt_by_blanks(pr, &e->file))
        pr->rc = pml_prune__bucket(&matches, pr, e->bucket, e->total_buckets, &pr->err);
    return matches;
}

/* Whether statistics of n fields leave a match possible. */
static int test_stats(bool *matches, const pml_prune *pr, const pml_pred *predicate, const pml_simple_stats *of,
                      const pml_string_list *cols, const pml_field *fields, size_t n, const pml_data_file *f, pml_error *err)
{
    pml_column_stats *stats = pml_env__calloc(pr->env, n, sizeof *stats);
    int rc = stats == NULL ? pml_error__no_memory(err) : pml_column_stats__decode(stats, pr->env, of, cols, fields, n, err);
    if (rc == PML_OK && pml_path__is_orc(f->name))
        drop_orc_bounds(stats, n, pr->schema);
    if (rc == PML_OK)
        *matches = pml_pred__may_match(predicate, stats, n, f->row_count);
    pml_env__free(pr->env, stats);
    return rc;
}

int pml_prune__keys(bool *matches, pml_prune *pr, const pml_data_file *f, pml_error *err)
{
    *matches = true;
    if (pr->key_pred == NULL)
        return PML_OK;
    int rc = test_stats(matches, pr, pr->key_pred, &f->key_stats, &(pml_string_list){0}, pr->key_fields, pr->schema->n_keys, f, err);
    return rc == PML_OK ? PML_OK : pml_error__prefix(err, rc, "statistics of %s", f->name);
}

/* A file of another schema: the predicate and the statistics meet at the columns that it has. */
static int test_evolved(bool *matches, pml_prune *pr, const pml_written *w, const pml_data_file *f, pml_error *err)
{
    const pml_pred *left = NULL;
    pml_column_stats *stats;
    size_t n;
    int rc;
    pml_arena arena;
    pml_arena__init(&arena, pr->env);
    PML_TRY(pml_evolution__predicate(&left, &arena, pr->predicate, pr->schema, w, true, err));
    if (left == NULL)
        goto out;
    PML_TRY(pml_evolution__statistics(&stats, &n, &arena, left, w, f, err));
    if (pml_path__is_orc(f->name))
        drop_orc_bounds(stats, n, w->schema);
    *matches = pml_pred__may_match(left, stats, n, f->row_count);
out:
    pml_arena__clear(&arena);
    return rc;
}

static int test_same(bool *matches, pml_prune *pr, const pml_data_file *f, pml_error *err)
{
    return test_stats(matches, pr, pr->predicate, &f->value_stats, &f->value_stats_cols, pr->schema->fields, pr->schema->n_fields, f,
                      err);
}

int pml_prune__file(bool *matches, pml_prune *pr, const pml_table_schema *written, const pml_data_file *f, pml_error *err)
{
    const pml_written w = {written, &f->write_cols};
    *matches = true;
    if (pr->predicate == NULL)
        return PML_OK;
    int rc = written == pr->schema && !f->write_cols.present ? test_same(matches, pr, f, err) : test_evolved(matches, pr, &w, f, err);
    return rc == PML_OK ? PML_OK : pml_error__prefix(err, rc, "statistics of %s", f->name);
}
