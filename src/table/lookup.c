/* SPDX-License-Identifier: Apache-2.0 */
/* The object that callers have: what is looked up, and the snapshot that it is at. */
#include <string.h>

#include "table/lookup_call.h"
#include "table/lookup_object.h"

enum { KEYS_MAX = INT32_MAX - 1 };

struct pml_lookup {
    pml_env *env;
    pml_scan *scan; /* a copy of the caller's; only read */
    uint32_t validate;
    bool latest; /* it may go to newer snapshots */
    pml_mutex mu; /* guards what follows */
    pml_lookup_base *base; /* holds a reference; never NULL once it is open */
    int64_t loads, base_load; /* how many loads began, and which of them gave the base */
};

/* ---- life ---- */

static int copy_scan(pml_scan **out, const pml_scan *scan, pml_error *err)
{
    PML_RETURN_IF(pml_scan_new(out, scan->table, err));
    pml_scan *s = *out;
    if (!scan->all_columns)
        PML_RETURN_IF(pml_scan_set_columns(s, (const char *const *)scan->columns, scan->n_columns, err));
    if (scan->tag != NULL && scan->travel.by == PML_SCAN_TAG)
        PML_RETURN_IF(pml_scan_set_tag(s, scan->tag, err));
    else
        s->travel = scan->travel; /* a tag of the options is borrowed from the table */
    pml_scan__set_memory(s, scan->memory, scan->memory_ctx);
    return PML_OK;
}

static int check(const pml_scan *scan, const pml_lookup_options *o, pml_error *err)
{
    const pml_table *t = scan->table;
    if (o->struct_size != sizeof *o || o->validate > PML_VALIDATE_FULL || o->flags != 0)
        return pml_error__set(err, PML_E_INVAL, "lookup options: struct_size %zu of %zu, validate %u, flags 0x%x", o->struct_size, sizeof *o,
                              o->validate, o->flags);
    if (t->schema->n_keys == 0)
        return pml_error__at(err, PML_E_INVAL, PML_PLACE_SCHEMA, t->path, "%s has no primary key to look rows up by: scan it with a condition",
                             t->path);
    if (scan->predicate != NULL || scan->limit >= 0 || pml_travel__is_range(&scan->travel))
        return pml_error__set(err, PML_E_INVAL, "a lookup in %s takes columns, snapshot and context of a scan, and this one has a %s", t->path,
                              scan->predicate != NULL ? "predicate" : scan->limit >= 0 ? "limit" : "range of changes");
    if (t->other != NULL)
        return pml_error__at(err, PML_E_UNSUPPORTED, PML_PLACE_OPTION, t->path,
                             "needs scan.fallback-branch: a lookup in %s, which shows partitions of branch %s: look in each branch by itself",
                             t->path, t->other->branch);
    return PML_OK;
}

int pml_lookup_open(pml_lookup **out, const pml_scan *scan, const pml_lookup_options *options, pml_error *err)
{
    const pml_lookup_options defaults = PML_LOOKUP_OPTIONS_INIT;
    const pml_lookup_options *o = options == NULL ? &defaults : options;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_error__need(scan, "scan", err));
    PML_RETURN_IF(check(scan, o, err));
    pml_lookup *l = pml_env__calloc(scan->table->env, 1, sizeof *l);
    if (l == NULL)
        return pml_error__no_memory(err);
    l->env = scan->table->env;
    pml_env_acquire(l->env);
    pml_mutex__init(&l->mu, "lookup", 0);
    l->validate = o->validate;
    PML_TRY(copy_scan(&l->scan, scan, err));
    l->latest = l->scan->travel.by == PML_SCAN_LATEST;
    PML_TRY(pml_lookup_base__load(&l->base, l->scan, NULL, err));
    *out = l;
    l = NULL;
out:
    pml_lookup_close(l);
    return rc;
}

void pml_lookup_close(pml_lookup *l)
{
    if (l == NULL)
        return;
    pml_env *env = l->env;
    pml_lookup_base__release(l->base);
    pml_scan_free(l->scan);
    pml_mutex__destroy(&l->mu);
    pml_env__free(env, l);
    pml_env_release(env);
}

/* ---- which snapshot ---- */

pml_lookup_base *pml_lookup__base(pml_lookup *l)
{
    pml_mutex__lock(&l->mu);
    pml_lookup_base *base = l->base;
    pml_lookup_base__acquire(base);
    pml_mutex__unlock(&l->mu);
    return base;
}

/* Reads without the lock. Of several that do so at once the one that began last stays: what it gives is not older than the others. *out,
   a reference, is the one that this call loaded. */
static int load(pml_lookup_base **out, pml_lookup *l, pml_error *err)
{
    pml_lookup_base *unused, *known = pml_lookup__base(l);
    pml_mutex__lock(&l->mu);
    int64_t number = ++l->loads;
    pml_mutex__unlock(&l->mu);
    int rc = pml_lookup_base__load(out, l->scan, known, err);
    pml_lookup_base__release(known);
    PML_RETURN_IF(rc);
    unused = *out;
    pml_lookup_base__acquire(*out);
    pml_mutex__lock(&l->mu);
    if (number > l->base_load) {
        unused = l->base;
        l->base = *out;
        l->base_load = number;
    }
    pml_mutex__unlock(&l->mu);
    pml_lookup_base__release(unused);
    return PML_OK;
}

int pml_lookup_refresh(pml_lookup *l, pml_error *err)
{
    pml_lookup_base *base;
    if (!l->latest)
        return PML_OK;
    PML_RETURN_IF(load(&base, l, err));
    pml_lookup_base__release(base);
    return PML_OK;
}

int64_t pml_lookup_snapshot_id(pml_lookup *l)
{
    pml_lookup_base *base = pml_lookup__base(l);
    int64_t id = base->plan->snapshot_id;
    pml_lookup_base__release(base);
    return id;
}

/* ---- what it takes and gives ---- */

int pml_lookup_key_schema(struct ArrowSchema *out, pml_lookup *l, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    pml_lookup_base *base = pml_lookup__base(l);
    int rc = pml_type__export(out, l->env, base->key_fields, base->n_keys, err);
    pml_lookup_base__release(base);
    return rc;
}

int pml_lookup_schema(struct ArrowSchema *out, pml_lookup *l, pml_error *err)
{
    PML_RETURN_IF(pml_error__need(out, "out", err));
    pml_lookup_base *base = pml_lookup__base(l);
    int rc = pml_type__export(out, l->env, base->plan->out_fields, base->n_wanted, err);
    pml_lookup_base__release(base);
    return rc;
}

/* The base of an answer is chosen after the views of memory were taken (I8): memory has let go of nothing then that it lacks. */
static int base_after_views(pml_lookup_base **out, pml_lookup *l, bool renew, pml_error *err)
{
    const pml_memory_source *memory = l->scan->memory;
    *out = pml_lookup__base(l);
    if (!renew && (memory == NULL || !memory->base_is_old((*out)->memory)))
        return PML_OK;
    pml_lookup_base__release(*out);
    *out = NULL;
    return load(out, l, err);
}

static int get_once(struct ArrowArray *out, bool *again, pml_lookup *l, const struct ArrowArray *keys, bool renew, pml_error *err)
{
    pml_lookup_call c;
    pml_lookup_base *routing = pml_lookup__base(l), *base = NULL;
    int rc = pml_lookup_call__init(&c, l->scan, routing, keys, err);
    c.validate = l->validate;
    if (rc == PML_OK)
        rc = pml_lookup_call__pin(&c, err);
    if (rc == PML_OK)
        rc = base_after_views(&base, l, renew, err);
    if (rc == PML_OK)
        rc = pml_lookup_call__answer(out, again, &c, base, err);
    pml_lookup_call__clear(&c);
    pml_lookup_base__release(base);
    pml_lookup_base__release(routing);
    return rc;
}

/* keys has no offset of its own. */
static int get(struct ArrowArray *out, pml_lookup *l, const struct ArrowArray *keys, pml_error *err)
{
    const pml_memory_source *memory = l->scan->memory;
    int tries = memory == NULL ? 1 : memory->retries(l->scan->memory_ctx);
    for (bool renew = false;; tries--, renew = true) {
        bool again = false;
        int rc = get_once(out, &again, l, keys, renew, err);
        if (rc == PML_OK || tries <= 0 || !l->latest || (rc != PML_E_SNAPSHOT_GONE && !again))
            return rc;
    }
}

static int check_keys(pml_lookup *l, const struct ArrowArray *keys, const struct ArrowSchema *schema, pml_error *err)
{
    pml_lookup_base *base = pml_lookup__base(l);
    int rc = pml_type__check_arrow(schema, base->key_fields, base->n_keys, err);
    if (rc == PML_OK)
        rc = pml_batch__check(keys, base->key_fields, base->n_keys, PML_CHECK_FULL, err);
    if (rc == PML_OK && keys->length > KEYS_MAX)
        rc = pml_error__set(err, PML_E_LIMIT, "%lld keys are looked up at once, at most %d are possible", (long long)keys->length, KEYS_MAX);
    pml_lookup_base__release(base);
    return rc;
}

int pml_lookup_get(struct ArrowArray *out, pml_lookup *l, const struct ArrowArray *keys, const struct ArrowSchema *schema, pml_error *err)
{
    struct ArrowArray copy = {0};
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (struct ArrowArray){0};
    PML_RETURN_IF(pml_error__need(keys, "keys", err));
    PML_RETURN_IF(pml_error__need(schema, "schema", err));
    PML_RETURN_IF(check_keys(l, keys, schema, err));
    if (keys->offset == 0)
        return get(out, l, keys, err);
    pml_lookup_base *base = pml_lookup__base(l);
    int rc = pml_batch__concat(&copy, l->env, base->key_fields, base->n_keys, &keys, 1, err);
    pml_lookup_base__release(base);
    if (rc == PML_OK)
        rc = get(out, l, &copy, err);
    pml_array__release(&copy);
    return rc;
}
