/* SPDX-License-Identifier: Apache-2.0 */
#include "realtime/rt_lookup.h"

#include <string.h>

#include "merge/function.h"
#include "realtime/rt_stream_check.h"

/* ---- what is kept of a snapshot ---- */

typedef struct lookup_base {
    pml_rt_context *ctx;  /* holds a reference */
    pml_effective *eff;   /* NULL: the table had no snapshot */
    int64_t snapshot_id;  /* -1 */
    long long advances;   /* of the context, when it was loaded */
    bool latest;
} lookup_base;

void pml_rt_lookup__release_base(void *p)
{
    lookup_base *b = p;
    if (b == NULL)
        return;
    pml_rt_context *c = b->ctx;
    pml_effective__release(b->eff);
    pml_env__free(c->env, b);
    pml_rt_context__release(c);
}

static int find_columns(int32_t *columns, pml_rt_context *c, const pml_memory_base *q, pml_error *err)
{
    PML_RETURN_IF(pml_rt_context__check_fields(c, q->fields, q->n_fields, err));
    for (size_t i = 0; i < q->n_fields; i++) {
        columns[i] = 0;
        while (c->transport[columns[i]].id != q->fields[i].id)
            columns[i]++;
    }
    return PML_OK;
}

int pml_rt_lookup__open_base(void **base, int32_t *columns, void *ctx, const pml_memory_base *q, pml_error *err)
{
    pml_rt_context *c = ctx;
    int rc;
    *base = NULL;
    PML_RETURN_IF(pml_rt_context__bind(c, q->table, err));
    lookup_base *b = pml_env__calloc(c->env, 1, sizeof *b);
    if (b == NULL)
        return pml_error__no_memory(err);
    pml_rt_context__acquire(c);
    b->ctx = c;
    b->latest = q->choice == PML_CHOSE_LATEST;
    b->snapshot_id = q->snapshot == NULL ? -1 : q->snapshot->id;
    b->advances = atomic_load(&c->advances);
    PML_TRY(find_columns(columns, c, q, err));
    if (q->snapshot != NULL)
        PML_TRY(q->choice == PML_CHOSE_TAG ? pml_rt_context__effective_of_tag(&b->eff, c, q->snapshot, err)
                                           : pml_rt_context__effective(&b->eff, c, q->snapshot, err));
    if (b->latest)
        pml_rt_context__note_planned(c, b->snapshot_id);
    *base = b;
    b = NULL;
out:
    pml_rt_lookup__release_base(b);
    return rc;
}

bool pml_rt_lookup__base_is_old(const void *base)
{
    const lookup_base *b = base;
    return b->latest && (b->advances != atomic_load(&b->ctx->advances) || pml_rt_context__newest_id(b->ctx) > b->snapshot_id);
}

/* ---- views ---- */

/* Of one partition-bucket, or of all that may have keys of the partition (ptr NULL: of any). */
static int find_pbs(rt_pb ***out, size_t *n, pml_rt_context *c, pml_bytes partition, int32_t bucket, pml_error *err)
{
    size_t kept = 0;
    if (partition.ptr != NULL && bucket >= 0) {
        const pml_pb_key key = {partition, bucket};
        rt_pb *pb;
        *n = 0;
        PML_RETURN_IF(pml_rt_pb__find(&pb, c, &key, err));
        *out = pb == NULL ? NULL : pml_env__alloc(c->env, sizeof(rt_pb *));
        if (pb != NULL && *out == NULL) {
            pml_rt_pb__release(pb);
            return pml_error__no_memory(err);
        }
        if (pb != NULL)
            (*out)[(*n)++] = pb;
        return PML_OK;
    }
    PML_RETURN_IF(pml_rt_pb__list(out, n, c, err));
    for (size_t i = 0; i < *n; i++)
        if (partition.ptr == NULL || pml_bytes_equal((*out)[i]->key.partition, partition))
            (*out)[kept++] = (*out)[i];
        else
            pml_rt_pb__release((*out)[i]);
    *n = kept;
    return PML_OK;
}

int pml_rt_lookup__pin_some(void **pins, void *ctx, pml_bytes partition, int32_t bucket, pml_error *err)
{
    pml_rt_context *c = ctx;
    rt_pb **pbs = NULL;
    rt_pins *p = NULL;
    size_t n = 0;
    int rc;
    *pins = NULL;
    PML_RETURN_IF(pml_rt_context__check(c, err));
    PML_RETURN_IF(find_pbs(&pbs, &n, c, partition, bucket, err));
    if (n == 0) {
        pml_env__free(c->env, pbs);
        return PML_OK;
    }
    PML_TRY(pml_rt_pins__new(&p, c, n, err));
    for (size_t i = 0; i < n; i++)
        PML_TRY(pml_rt_pins__pin(p, pbs[i], err));
    *pins = p;
    p = NULL;
out:
    pml_rt_pins__release(p);
    pml_rt_pb__release_list(c->env, pbs, n);
    return rc;
}

int pml_rt_lookup__check(void *pins, bool *again, const void *base, pml_error *err)
{
    const lookup_base *b = base;
    return pml_rt_pins__resolve(pins, again, b->eff, b->snapshot_id, b->latest, false, err);
}

/* ---- rows ---- */

void pml_rt_found__free(rt_found *f, pml_env *env)
{
    if (f == NULL)
        return;
    pml_env__free(env, f->hits);
    pml_env__free(env, f);
}

/* One search. */
typedef struct search {
    pml_rt_context *ctx;
    const rt_part *part;
    rt_found *to;
    const pml_memory_find *request;
    pml_memory_found *found;
    bool newest_decides;
} search;

static int64_t value64(const struct ArrowArray *rows, int32_t column, int64_t row)
{
    const struct ArrowArray *c = rows->children[column];
    return ((const int64_t *)c->buffers[1])[c->offset + row];
}

static int8_t kind_of(const pml_rt_layout *l, const struct ArrowArray *rows, int64_t row)
{
    const struct ArrowArray *c = rows->children[l->merge.row_kind];
    return ((const int8_t *)c->buffers[1])[c->offset + row];
}

static bool is_visible(const search *s, const struct ArrowArray *rows, int64_t row)
{
    const rt_part *part = s->part;
    if (part->info.first >= part->committed)
        return true;
    int64_t offset = value64(rows, (int32_t)s->ctx->layout->offset_column, row);
    return offset >= part->committed && offset < part->info.end;
}

static int add_hit(search *s, int64_t group, const struct ArrowArray *rows, int64_t first, int64_t n, pml_error *err)
{
    rt_found *f = s->to;
    if (f->n == f->cap) {
        size_t wider = f->cap == 0 ? 8 : f->cap * 2;
        rt_hit *v = pml_env__realloc(s->ctx->env, f->hits, wider * sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        f->hits = v;
        f->cap = wider;
    }
    f->hits[f->n++] = (rt_hit){s->ctx->layout, group, rows, first, n};
    return PML_OK;
}

/* The newest rows come first, and in a run without sequence fields the last one is the newest. */
static bool decides(pml_memory_found *out, const search *s, const struct ArrowArray *rows, int64_t row)
{
    const pml_rt_layout *l = s->ctx->layout;
    int8_t kind = kind_of(l, rows, row);
    if (value64(rows, l->merge.sequence_number, row) <= s->request->disk_sequence) /* another writer's rows are newer, as far as one can tell */
        return false;
    *out = (pml_memory_found){pml_row_kind__is_retract(kind) ? PML_MEMORY_GONE : PML_MEMORY_ROW, rows, row};
    return true;
}

/* What stores get wrong here would be wrong rows: a few comparisons for each key. */
static int check_rows(const search *s, size_t key, const struct ArrowArray *rows, int64_t first, int64_t n, pml_error *err)
{
    const pml_rt_layout *l = s->ctx->layout;
    bool ok = key < s->request->n && rows != NULL && rows->release != NULL && rows->offset == 0 && rows->n_children == (int64_t)l->n_fields &&
              first >= 0 && n > 0 && n <= rows->length && first <= rows->length - n;
    for (size_t i = 0; ok && i < l->sorter.keys.n; i++) {
        const pml_order_column *c = &l->sorter.keys.columns[i];
        const struct ArrowArray *have = rows->children[c->position], *want = s->request->keys->children[i];
        ok = c->compare(c->type, have, first, want, s->request->rows[key]) == 0 &&
             (n == 1 || c->compare(c->type, have, first + n - 1, want, s->request->rows[key]) == 0);
    }
    return ok ? PML_OK
              : pml_error__at(err, PML_E_PLUGIN_CONTRACT, PML_PLACE_PB, s->part->pb->name,
                              "a lookup in the store of %s gave rows that are not those of the key", s->part->pb->name);
}

/* Called by the store; 1: it need not look for more rows of this key. A retract counts: those that ignore-delete passes over reach no store
   (rt_write_keyed.c). */
static int on_rows(void *sink, size_t key, int64_t segment, const struct ArrowArray *rows, int64_t first, int64_t n, pml_error *err)
{
    search *s = sink;
    PML_RETURN_IF(check_rows(s, key, rows, first, n, err));
    pml_memory_found *found = &s->found[key];
    for (int64_t row = first + n - 1; row >= first; row--) {
        if (!is_visible(s, rows, row))
            continue;
        if (s->newest_decides && decides(found, s, rows, row))
            return 1;
        found->answer = PML_MEMORY_SOME;
        PML_RETURN_IF(add_hit(s, segment, rows, row, 1, err));
    }
    return PML_OK;
}

/* FLOAT and DOUBLE keys are other keys for conditions than for the order of runs: a scan decides. */
static bool can_search(const rt_part *part)
{
    const pml_rt_context *c = part->pb->ctx;
    const pml_rt_layout *l = c->layout;
    for (size_t i = 0; i < l->merge.n_keys; i++)
        if (pml_type__is_float(&l->fields[l->merge.keys[i]].type))
            return false;
    return part->vt->struct_size >= offsetof(pml_rt_view_vtbl, lookup) + sizeof part->vt->lookup && part->vt->lookup != NULL;
}

static int find_in(rt_part *part, pml_memory_found *found, const pml_memory_find *q, pml_error *err)
{
    pml_rt_context *c = part->pb->ctx;
    if (q->any_partition || !can_search(part)) {
        for (size_t i = 0; i < q->n; i++)
            found[i].answer = PML_MEMORY_SOME;
        return PML_OK;
    }
    part->found = pml_env__calloc(c->env, 1, sizeof *part->found);
    if (part->found == NULL)
        return pml_error__no_memory(err);
    search s = {.ctx = c,
                .part = part,
                .to = part->found,
                .request = q,
                .found = found,
                .newest_decides = c->function.kind == PML_MERGE_LAST && c->layout->merge.n_sequence == 0};
    pml_rt__assert_store_call();
    int rc = part->vt->lookup(part->view, q->keys, q->rows, q->n, on_rows, &s, err);
    return rc == PML_OK ? rc : pml_rt_stream__plugin_code(rc, err, "view.lookup", part->pb->name);
}

int pml_rt_lookup__find(pml_memory_found *found, void *pins, const pml_memory_find *q, pml_error *err)
{
    rt_pins *p = pins;
    for (size_t i = 0; i < q->n; i++)
        found[i] = (pml_memory_found){.answer = PML_MEMORY_NONE};
    for (size_t i = 0; i < p->n; i++)
        PML_RETURN_IF(find_in(&p->parts[i], found, q, err));
    return PML_OK;
}
