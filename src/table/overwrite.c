/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows an overwrite removes (format-metadata.md 11.6; Java: FileStoreCommitImpl.overwritePartition, readOverwriteChanges): the
 * live files of the base whose partition matches, all of them or those of the partitions that the new files lie in.
 */
#include <stdio.h>
#include <string.h>

#include "meta/partition.h"
#include "table/commit.h"
#include "util/number.h"

enum { SPECS_MAX = 100000, TEXT_MAX = 1024 * 1024 };

/* ---- specs ---- */

static int find_key(size_t *k, const pml_table *t, const char *name, pml_error *err)
{
    const pml_table_schema *s = t->schema;
    for (*k = 0; *k < s->n_partition_keys; ++*k)
        if (name != NULL && strcmp(s->partition_keys[*k], name) == 0)
            return PML_OK;
    return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_ARGUMENT, t->path, "%.80s is no partition key of %s",
                         name == NULL ? "(null)" : name, t->path);
}

/* DATE and TIME also as the whole number that stands in partition directories. */
static bool parse_directory_form(pml_value *out, const pml_type *type, const char *text)
{
    int64_t low = INT32_MIN, high = INT32_MAX;
    if (type->kind == PML_TYPE_TIME) {
        low = 0;
        high = INT64_C(86399999);
    } else if (type->kind != PML_TYPE_DATE) {
        return false;
    }
    *out = (pml_value){.kind = PML_VALUE_INT};
    return pml_number__int64(&out->i, text, strlen(text)) && out->i >= low && out->i <= high;
}

static int parse_value(pml_value *out, pml_arena *arena, const pml_table *t, size_t k, const char *text, pml_error *err)
{
    const pml_field *f = &t->schema->fields[t->schema->partition_index[k]];
    pml_error own = PML_ERROR_INIT;
    *out = (pml_value){0};
    if (text == NULL || strcmp(text, t->options.partition_default_name) == 0)
        return PML_OK;
    if (strnlen(text, TEXT_MAX) == TEXT_MAX)
        return pml_error__set(err, PML_E_LIMIT, "the value of partition key %s is longer than %d bytes", f->name, TEXT_MAX);
    int rc = pml_value__parse(out, arena, &f->type, text, strlen(text), &own);
    if (rc == PML_OK || parse_directory_form(out, &f->type, text))
        return PML_OK;
    return pml_error__at(err, rc, PML_PLACE_ARGUMENT, f->name, "partition key %s: %.300s", f->name, own.message);
}

static int parse_spec(pml_partition_match *out, pml_arena *arena, const pml_table *t, const pml_partition_spec *spec, pml_error *err)
{
    size_t n = t->schema->n_partition_keys;
    bool *given = pml_arena__array(arena, n, sizeof *given);
    pml_value *values = pml_arena__array(arena, n, sizeof *values);
    if (given == NULL || values == NULL)
        return pml_error__no_memory(err);
    if (spec->n > 0 && spec->values == NULL)
        return pml_error__set(err, PML_E_INVAL, "a partition spec of %zu values has none", spec->n);
    for (size_t i = 0; i < spec->n; i++) {
        size_t k;
        PML_RETURN_IF(find_key(&k, t, spec->values[i].key, err));
        if (given[k])
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ARGUMENT, t->schema->partition_keys[k],
                                 "the partition key %s is given twice", t->schema->partition_keys[k]);
        given[k] = true;
        PML_RETURN_IF(parse_value(&values[k], arena, t, k, spec->values[i].value, err));
    }
    *out = (pml_partition_match){given, values};
    return PML_OK;
}

static int parse_specs(pml_partition_match **out, size_t *n, pml_arena *arena, const pml_overwrite *o, const pml_table *t, pml_error *err)
{
    *n = o->n_specs;
    if (o->n_specs > SPECS_MAX)
        return pml_error__set(err, PML_E_LIMIT, "%zu partition specs at once; the limit is %d", o->n_specs, SPECS_MAX);
    *out = pml_arena__array(arena, o->n_specs, sizeof **out);
    if (*out == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < o->n_specs; i++)
        PML_RETURN_IF(parse_spec(&(*out)[i], arena, t, &o->specs[i], err));
    return PML_OK;
}

int pml_overwrite__check(const pml_overwrite *o, pml_table *t, pml_error *err)
{
    pml_partition_match *unused;
    size_t n;
    pml_arena arena;
    pml_arena__init(&arena, t->env);
    int rc = parse_specs(&unused, &n, &arena, o, t, err);
    pml_arena__clear(&arena);
    return rc;
}

/* The partitions of the new files, each once. */
static int match_new_files(pml_partition_match **out, size_t *n, pml_arena *arena, const pml_commit_decision *d, const pml_table *t,
                           pml_error *err)
{
    size_t n_keys = t->schema->n_partition_keys;
    pml_map seen;
    int rc = PML_OK;
    bool *given = pml_arena__array(arena, n_keys, sizeof *given);
    *n = 0;
    *out = pml_arena__array(arena, d->n_files, sizeof **out);
    if (given == NULL || *out == NULL)
        return pml_error__no_memory(err);
    memset(given, 1, n_keys * sizeof *given);
    pml_map__init(&seen, t->env);
    for (size_t i = 0; i < d->n_files; i++) {
        const pml_bytes row = d->files[i]->partition;
        if (pml_map__has(&seen, row.ptr, row.len))
            continue;
        pml_value *values = pml_arena__array(arena, n_keys, sizeof *values);
        if (values == NULL || pml_map__put(&seen, row.ptr, row.len, &seen, NULL) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
        PML_TRY(pml_partition__decode(values, t->schema, row, err));
        (*out)[(*n)++] = (pml_partition_match){given, values};
    }
out:
    pml_map__clear(&seen, NULL);
    return rc;
}

/* ---- what matches ---- */

typedef struct matcher {
    const pml_table *t;
    size_t n;
    const pml_partition_match *v;
    pml_map rows; /* partition row -> yes or no */
    int rc;       /* callbacks cannot return it */
    pml_error *err;
} matcher;

static bool equals(const pml_partition_match *m, const pml_value *row, size_t n_keys)
{
    bool yes = true;
    for (size_t k = 0; yes && k < n_keys; k++)
        yes = !m->given[k] || pml_value__equal(&m->values[k], &row[k]);
    return yes;
}

static bool matches(matcher *m, pml_bytes row)
{
    static char yes, no;
    pml_value values[PML_PARTITION_KEYS_MAX];
    const void *known = m->rc == PML_OK ? pml_map__get(&m->rows, row.ptr, row.len) : &no;
    if (known != NULL)
        return known == &yes;
    m->rc = pml_partition__decode(values, m->t->schema, row, m->err);
    bool found = false;
    for (size_t i = 0; m->rc == PML_OK && !found && i < m->n; i++)
        found = equals(&m->v[i], values, m->t->schema->n_partition_keys);
    if (m->rc == PML_OK && pml_map__put(&m->rows, row.ptr, row.len, found ? &yes : &no, NULL) != PML_OK)
        m->rc = pml_error__no_memory(m->err);
    return m->rc == PML_OK && found;
}

/* Java: "bucket = -2 can only be overwritten in postpone bucket tables". */
static bool keep_matching(void *arg, const pml_manifest_entry *e)
{
    return e->bucket >= 0 && matches(arg, e->partition);
}

static int refuse_outside(matcher *m, const pml_commit_decision *d, pml_error *err)
{
    for (size_t i = 0; i < d->n_files; i++) {
        bool inside = matches(m, d->files[i]->partition);
        PML_RETURN_IF(m->rc);
        if (!inside && d->files[i]->n > 0)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_DATA_FILE, d->files[i]->paths[0],
                                 "the file %s lies outside of the partitions that are overwritten", d->files[i]->paths[0]);
    }
    return PML_OK;
}

/* Index files of removed rows go, too: deletion vectors, and the keys of dynamic buckets. */
static int find_removed_index(pml_commit_decision *d, matcher *m, pml_table *t, const pml_commit_base *base, pml_error *err)
{
    pml_index_entries index = {0};
    if (base->latest->index_manifest == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_index_manifest(&index, base->arena, t, base->latest->index_manifest, err));
    size_t n = 0;
    for (size_t i = 0; i < index.n; i++) {
        bool inside = matches(m, index.v[i].partition);
        PML_RETURN_IF(m->rc);
        if (inside)
            index.v[n++] = index.v[i];
    }
    d->n_removed_index = n;
    d->removed_index = index.v;
    return PML_OK;
}

static int find_removed(pml_manifest_entries *live, pml_commit_decision *d, matcher *m, pml_table *t, const pml_commit_base *base,
                        pml_error *err)
{
    const pml_live_files_request request = {.keep = keep_matching, .arg = m};
    *live = (pml_manifest_entries){0};
    if (base->latest == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_table__live_files(live, base->arena, t, base->latest, &request, err));
    PML_RETURN_IF(m->rc);
    return find_removed_index(d, m, t, base, err);
}

int pml_overwrite__decide(pml_commit_decision *d, const char **progress, const pml_overwrite *o, pml_table *t,
                          const pml_commit_base *base, pml_error *err)
{
    pml_partition_match *v;
    matcher m = {.t = t, .err = err};
    pml_manifest_entries live;
    int rc;
    *progress = NULL;
    pml_map__init(&m.rows, t->env);
    PML_TRY(o->specs == NULL ? match_new_files(&v, &m.n, base->arena, d, t, err) : parse_specs(&v, &m.n, base->arena, o, t, err));
    m.v = v;
    PML_TRY(refuse_outside(&m, d, err));
    PML_TRY(find_removed(&live, d, &m, t, base, err));
    d->n_removed = live.n;
    d->removed = live.v;
    PML_TRY(o->note->write(o->note->arg, progress, base, d->identifier, m.v, m.n, &live, err));
out:
    pml_map__clear(&m.rows, NULL);
    return rc;
}
