/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own overwrite, truncate and drop of partitions (7.3 steps 1 and 5): the table layer removes the rows, and here the entries of
 * what goes become reset marks, so that everybody can tell "truncated" from "never committed". In tables that never had live writers
 * nothing of this is seen.
 */
#include <string.h>

#include "meta/partition.h"
#include "realtime/rt_progress_build.h"
#include "table/commit.h"

enum { KEY_BYTES_MAX = 16 * 1024 * 1024, ROW_BYTES_MAX = 16 * 1024 * 1024 };

typedef struct note {
    pml_table *table;
    const char *user;
    char *written; /* progress file of the running attempt */
} note;

/* ---- which entries ---- */

/* Texts of the given values, NULL for any value. out->partition NULL: every partition. */
static int match_of(pml_progress_match *out, pml_arena *arena, const pml_table *t, const pml_partition_match *m, pml_error *err)
{
    size_t n = t->schema->n_partition_keys, n_given = 0;
    pml_pb_texts texts;
    pml_buf row;
    int rc;
    *out = (pml_progress_match){NULL, -1};
    for (size_t i = 0; i < n; i++)
        n_given += m->given[i];
    if (n_given == 0)
        return PML_OK;
    pml_buf__init(&row, t->env, ROW_BYTES_MAX);
    (void)pml_partition__encode(&row, t->schema, m->values);
    PML_TRY(pml_buf__check(&row, err));
    const pml_pb_key key = {{row.data, row.len}, 0};
    PML_TRY(pml_pb_texts__of_key(&texts, arena, t->schema, &t->options, &key, err));
    const char **partition = pml_arena__array(arena, n, sizeof *partition);
    if (partition == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        partition[i] = m->given[i] ? texts.partition[i] : NULL;
    out->partition = partition;
out:
    pml_buf__clear(&row);
    return rc;
}

static int matches_of(pml_progress_match **out, pml_arena *arena, const pml_table *t, const pml_partition_match *m, size_t n,
                      bool *everything, pml_error *err)
{
    *everything = false;
    *out = pml_arena__array(arena, n, sizeof **out);
    if (*out == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        PML_RETURN_IF(match_of(&(*out)[i], arena, t, &m[i], err));
        *everything = *everything || (*out)[i].partition == NULL;
    }
    return PML_OK;
}

/* Of a table of which nothing is known any more every partition-bucket that had files: its truncate is a good place to know again. */
static int state_removed(pml_progress_statement **out, size_t *n, pml_arena *arena, const pml_table *t,
                         const pml_manifest_entries *removed, pml_error *err)
{
    pml_map seen;
    pml_buf bytes;
    int rc = PML_OK;
    *n = 0;
    *out = pml_arena__array(arena, removed->n, sizeof **out);
    if (*out == NULL)
        return pml_error__no_memory(err);
    pml_map__init(&seen, t->env);
    pml_buf__init(&bytes, t->env, KEY_BYTES_MAX);
    for (size_t i = 0; i < removed->n; i++) {
        const pml_pb_key key = {removed->v[i].partition, removed->v[i].bucket};
        pml_pb_texts texts;
        PML_TRY(pml_pb_texts__of_key(&texts, arena, t->schema, &t->options, &key, err));
        pml_buf__reset(&bytes);
        (void)pml_pb_texts__encode(&bytes, &texts);
        PML_TRY(pml_buf__check(&bytes, err));
        if (pml_map__has(&seen, bytes.data, bytes.len))
            continue;
        if (pml_map__put(&seen, bytes.data, bytes.len, &seen, NULL) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
        (*out)[(*n)++] = (pml_progress_statement){texts, 0};
    }
out:
    pml_buf__clear(&bytes);
    pml_map__clear(&seen, NULL);
    return rc;
}

/* ---- the note ---- */

/* Whether the base can have progress at all: for tables without live writers this is one look at a directory. Where they are allowed
   older snapshots may name a progress file although there is none any more. */
static int may_have_progress(bool *out, const note *k, const pml_commit_base *base, pml_error *err)
{
    *out = base->latest != NULL &&
           (k->table->options.realtime_enabled || pml_snapshot__property(base->latest, PML_PROGRESS_PROPERTY) != NULL);
    if (*out || base->latest == NULL)
        return PML_OK;
    return pml_progress__any_file(out, k->table->env, k->table->path, err);
}

static int note_write(void *arg, const char **value, const pml_commit_base *base, int64_t identifier,
                      const pml_partition_match *matches, size_t n, const pml_manifest_entries *removed, pml_error *err)
{
    note *k = arg;
    pml_effective *eff = NULL;
    pml_progress_match *resets;
    pml_progress_statement *stated = NULL;
    size_t n_stated = 0;
    bool any, everything;
    int rc;
    *value = NULL;
    pml_progress__unpublish(&k->written, k->table->env, false); /* of an attempt that may be visible */
    PML_TRY(may_have_progress(&any, k, base, err));
    if (!any)
        goto out;
    PML_TRY(pml_effective__load_to_repair(&eff, k->table, base->latest, err));
    PML_TRY(matches_of(&resets, base->arena, k->table, matches, n, &everything, err));
    if (eff->progress.all_lost && everything)
        PML_TRY(state_removed(&stated, &n_stated, base->arena, k->table, removed, err));
    const pml_progress_build build = {.base = eff,
                                      .snapshot_id = base->new_id,
                                      .commit_user = k->user,
                                      .commit_identifier = identifier,
                                      .n_resets = n,
                                      .resets = resets,
                                      .n_stated = n_stated,
                                      .stated = stated,
                                      .flags = eff->progress.all_lost && everything ? PML_PROGRESS_COMPLETE : 0};
    PML_TRY(pml_progress__publish(value, &k->written, base->arena, k->table, &build, err));
out:
    pml_effective__release(eff);
    return rc;
}

static void note_undo(void *arg)
{
    note *k = arg;
    pml_progress__unpublish(&k->written, k->table->env, true);
}

/* ---- the calls ---- */

static int run(pml_commit_result *out, pml_commit *c, const pml_partition_spec *specs, size_t n_specs, pml_messages *const *messages,
               size_t n, int64_t identifier, const pml_commit_options *options, pml_error *err)
{
    note k = {.table = c->table, .user = c->user};
    const pml_removal_note hook = {&k, note_write, note_undo};
    const pml_overwrite o = {specs, n_specs, &hook};
    int rc = pml_commit__batch(out, c, &o, messages, n, identifier, options, err);
    pml_progress__unpublish(&k.written, c->env, false);
    return rc;
}

static const pml_partition_spec everything = {0, NULL};

int pml_commit_overwrite(pml_commit_result *out, pml_commit *commit, const pml_partition_spec *spec, pml_messages *const *messages,
                         size_t n, int64_t identifier, const pml_commit_options *options, pml_error *err)
{
    const pml_table *t = commit->table;
    bool dynamic = spec == NULL && t->schema->n_partition_keys > 0 && t->options.dynamic_partition_overwrite;
    if (n > 0 && t->schema->n_keys > 0 && pml_table_options__skips_level0(&t->options))
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs overwrite-upgrade: reads of %s leave out level 0, where new files stay until a compaction, so it would "
                             "show none of its rows; add the rows, let another job compact, or truncate first",
                             t->path);
    const pml_partition_spec *specs = dynamic ? NULL : spec == NULL ? &everything : spec;
    return run(out, commit, specs, dynamic ? 0 : 1, messages, n, identifier, options, err);
}

static int remove_rows(pml_commit_result *out, pml_table *table, const pml_partition_spec *specs, size_t n, pml_error *err)
{
    pml_commit *c;
    PML_RETURN_IF(pml_commit_open(&c, table, NULL, err));
    int rc = run(out, c, specs, n, NULL, 0, PML_COMMIT_IDENTIFIER_BATCH, NULL, err);
    pml_commit_close(c);
    return rc;
}

int pml_table_truncate(pml_commit_result *out, pml_table *table, pml_error *err)
{
    return remove_rows(out, table, &everything, 1, err);
}

int pml_table_drop_partitions(pml_commit_result *out, pml_table *table, const pml_partition_spec *specs, size_t n, pml_error *err)
{
    if (specs == NULL || n == 0)
        return pml_error__set(err, PML_E_INVAL, "no partition to drop was named; pml_table_truncate removes all rows");
    if (table->schema->n_partition_keys == 0)
        return pml_error__set(err, PML_E_INVAL, "%s has no partitions; pml_table_truncate removes all rows", table->path);
    for (size_t i = 0; i < n; i++)
        if (specs[i].n == 0)
            return pml_error__set(err, PML_E_INVAL, "partition %zu to drop has no value; pml_table_truncate removes all rows", i);
    return remove_rows(out, table, specs, n, err);
}
