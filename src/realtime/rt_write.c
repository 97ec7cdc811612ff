/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write call (8): check the batch outside of every lock, route it, and hand one slice per partition-bucket to its store. A
 * slice is visible when its store call returns. Slices are applied in partition-bucket order; each is all or nothing.
 */
#include <string.h>

#include "meta/partition.h"
#include "realtime/rt_buckets.h"
#include "realtime/rt_commit.h"
#include "realtime/rt_write.h"
#include "util/hash.h"

/* ---- checks, before anything changes ---- */

static int check_row_kinds(rt_write_call *k, pml_error *err)
{
    const int8_t *kinds = k->options->row_kinds;
    bool update_after = k->w->ctx->options.rt_accept_update_after;
    for (int64_t i = 0; kinds != NULL && i < k->array->length; i++)
        if (kinds[i] != 0 && !(kinds[i] == 2 && update_after))
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ROW, NULL,
                                 "row %lld has kind %d: an append table takes +I (0) only%s", (long long)i, kinds[i],
                                 kinds[i] == 2 ? "; +U needs realtime.append.accept-update-after=true" : "");
    return PML_OK;
}

static int check_offsets(rt_write_call *k, pml_error *err)
{
    if (!k->has_offsets)
        return PML_OK;
    const int64_t *o = pml_rt_write__offsets(k->array);
    int64_t n = k->array->length;
    for (int64_t i = 0; i < n; i++)
        if (o[i] < 0 || (i > 0 && o[i] <= o[i - 1]))
            return pml_error__at(err, PML_E_OFFSET_ORDER, PML_PLACE_ROW, NULL,
                                 "the offset of row %lld is %lld after %lld: offsets must be positive and strictly increase", (long long)i,
                                 (long long)o[i], (long long)(i > 0 ? o[i - 1] : -1));
    if (n > 0 && o[n - 1] == INT64_MAX)
        return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_ROW, NULL, "the offset of row %lld is %lld, the last valid one is %lld",
                             (long long)n - 1, (long long)INT64_MAX, (long long)INT64_MAX - 1);
    return PML_OK;
}

static int check_mode(rt_write_call *k, const struct ArrowSchema *schema, pml_error *err)
{
    pml_rt_context *c = k->w->ctx;
    bool external = c->options.rt_offset_external;
    k->has_offsets = schema->n_children > 0 && schema->children[0]->name != NULL &&
                     strcmp(schema->children[0]->name, PML_RT_COL_OFFSET) == 0;
    if (!external && (k->has_offsets || k->options->first_offset >= 0))
        return pml_error__set(err, PML_E_INVAL, "offsets are given, but realtime.offset-mode of %s is 'assigned'", c->table->path);
    if (external && k->has_offsets && k->options->first_offset >= 0)
        return pml_error__set(err, PML_E_INVAL, "offsets are given twice: as a column and as first_offset");
    if (external && !k->has_offsets && k->options->first_offset < 0)
        return pml_error__set(err, PML_E_INVAL,
                              "realtime.offset-mode=external wants a first column %s (int64) or first_offset in the options",
                              PML_RT_COL_OFFSET);
    size_t skip = c->layout->n_system - (k->has_offsets ? 1 : 0);
    k->fields = c->transport + skip;
    k->n_fields = c->n_transport - skip;
    return PML_OK;
}

/* Rows with keys may say in a last column what kind they are. */
static void take_kind_column(rt_write_call *k, const struct ArrowSchema *schema)
{
    int64_t last = (int64_t)k->n_fields;
    if (k->w->input != NULL && schema->n_children == last + 1 && schema->children[last]->name != NULL &&
        strcmp(schema->children[last]->name, PML_RT_COL_VALUE_KIND) == 0) {
        k->fields = k->w->input + (k->has_offsets ? 0 : 1);
        k->n_fields++;
    }
}

static int check_batch(rt_write_call *k, const struct ArrowSchema *schema, pml_error *err)
{
    /* basic and full differ in what the caller claims of rows (claimed_slice). Values that make files which nobody reads come in on his word
       only. */
    bool trusted = k->w->ctx->options.rt_validate_input == PML_CHECK_TRUSTED;
    PML_RETURN_IF(check_mode(k, schema, err));
    take_kind_column(k, schema);
    PML_RETURN_IF(pml_type__check_arrow(schema, k->fields, k->n_fields, err));
    PML_RETURN_IF(pml_batch__check(k->array, k->fields, k->n_fields, trusted ? PML_CHECK_TRUSTED : PML_CHECK_FULL, err));
    if (k->w->input == NULL)
        PML_RETURN_IF(check_row_kinds(k, err));
    return check_offsets(k, err);
}

/* ---- where rows go ---- */

/* The slice that the caller names. The partition row is taken from the first row, whose texts must be those of the claim. */
static int claimed_slice(pml_route *route, rt_write_call *k, pml_error *err)
{
    pml_table *t = k->w->table;
    const pml_rt_pb *pb = k->options->pb;
    pml_pb_texts claimed, real;
    pml_route whole = {0};
    const char *texts[PML_PARTITION_KEYS_MAX];
    int32_t buckets = t->options.bucket > 0 ? t->options.bucket : 1;
    int rc;
    pml_arena__init(&route->arena, t->env);
    if (k->w->ctx->assigner != NULL)
        PML_TRY(pml_error__set(err, PML_E_INVAL, "bucket %d is named, and the buckets of %s are dynamic: their keys choose them", pb->bucket, t->path));
    PML_TRY(pml_pb_texts__of_public(&claimed, texts, t->schema->n_partition_keys, t->options.partition_default_name, pb, err));
    if (pb->bucket < 0 || pb->bucket >= buckets) {
        rc = pml_error__set(err, PML_E_INVAL, "bucket %d is named, %s has the buckets 0 to %d", pb->bucket, t->path, buckets - 1);
        goto out;
    }
    route->slices = pml_arena__alloc(&route->arena, sizeof *route->slices);
    if (route->slices == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    pml_route_slice *s = route->slices;
    PML_TRY(pml_route__partition_of(&s->partition, &route->arena, t, k->array, 0, k->has_offsets ? 1 : 0, err));
    s->bucket = pb->bucket;
    s->n = k->array->length;
    route->n = 1;
    const pml_pb_key key = {s->partition, s->bucket};
    PML_TRY(pml_pb_texts__of_key(&real, &route->arena, t->schema, &t->options, &key, err));
    if (!pml_pb_texts__equal(&claimed, &real)) {
        rc = pml_error__set(err, PML_E_INVAL, "the first row is not in the partition that the caller names");
        goto out;
    }
    if (k->w->ctx->options.rt_validate_input == PML_CHECK_FULL) {
        PML_TRY(pml_route__batch(&whole, t, k->array, k->has_offsets ? 1 : 0, err));
        if (whole.n != 1 || pml_route__compare(whole.slices[0].partition, whole.slices[0].bucket, s->partition, s->bucket) != 0)
            rc = pml_error__set(err, PML_E_INVAL, "some rows are not in the partition and bucket that the caller names");
    }
out:
    pml_route__clear(&whole);
    return rc;
}

int pml_rt_write__route(pml_route *route, rt_write_call *k, pml_error *err)
{
    if (k->options->pb != NULL)
        return claimed_slice(route, k, err);
    PML_RETURN_IF(pml_rt_buckets__route(route, k, err));
    if (k->options->first_offset >= 0 && route->n > 1)
        return pml_error__set(err, PML_E_INVAL,
                              "first_offset numbers the rows of one partition-bucket, this batch has rows of %zu: give the offsets as a "
                              "column",
                              route->n);
    return PML_OK;
}

static int pb_of(rt_pb **out, pml_rt_writer *w, const pml_route_slice *s, pml_error *err)
{
    const pml_pb_key key = {s->partition, s->bucket};
    int64_t first;
    PML_RETURN_IF(pml_rt_pb__find(out, w->ctx, &key, err));
    if (*out != NULL)
        return PML_OK;
    pml_effective *progress = NULL;
    pml_mutex__lock(&w->create_mu);
    /* As it is now: what others did since the writer opened must not end the history of rows that are yet to come. */
    int rc = pml_rt_context__latest_progress(&progress, w->ctx, err);
    if (rc == PML_OK)
        rc = pml_restore__first_sequence(&first, &w->restore, w->table, s->partition, s->bucket, err);
    if (rc == PML_OK)
        rc = pml_rt_pb__get(out, w->ctx, &key, progress, first, err);
    pml_mutex__unlock(&w->create_mu);
    pml_effective__release(progress);
    return rc;
}

int pml_rt_write__pbs(rt_pb **pbs, rt_write_call *k, const pml_route *route, pml_error *err)
{
    for (size_t i = 0; i < route->n; i++)
        PML_RETURN_IF(pb_of(&pbs[i], k->w, &route->slices[i], err));
    return PML_OK;
}

/* ---- one slice ---- */

int pml_rt_write__range(pml_rt_range *out, const rt_write_call *k, const rt_pb *pb, int64_t n, int64_t first, int64_t last,
                        pml_error *err)
{
    if (!k->has_offsets) {
        first = k->options->first_offset >= 0 ? k->options->first_offset : pb->next_offset;
        if (n > INT64_MAX - first)
            return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_PB, pb->name, "%lld rows after offset %lld pass the last offset of %s",
                                 (long long)n, (long long)first, pb->name);
        last = first + n - 1;
    }
    if (last == INT64_MAX)
        return pml_error__at(err, PML_E_OVERFLOW, PML_PLACE_PB, pb->name, "offset %lld of %s is not valid: the last one is %lld",
                             (long long)last, pb->name, (long long)INT64_MAX - 1);
    if (first < pb->next_offset)
        return pml_error__at(err, PML_E_OFFSET_ORDER, PML_PLACE_PB, pb->name,
                             "the batch begins at offset %lld, %s has all offsets below %lld already", (long long)first, pb->name,
                             (long long)pb->next_offset);
    *out = (pml_rt_range){first, last + 1};
    return PML_OK;
}

static int give_to_store(rt_pb *pb, pml_rt_batch *b, pml_error *err)
{
    pml_error own, *at = err == NULL ? &own : err; /* the caller may not want the error, but its flags decide */
    if (err == NULL)
        own = (pml_error)PML_ERROR_INIT; /* a store is code of others: it sees nothing of our stack */
    else
        pml_error__clear(err);
    pml_rt__assert_store_call();
    int rc = pb->vt->write(pb->store, b, at);
    return rc == PML_OK ? PML_OK : pml_rt_pb__store_failed(pb, rc, at, "write");
}

int pml_rt_write__hand_over(rt_write_call *k, rt_pb *pb, const rt_slice_offsets *o, pml_rt_batch *b, pml_error *err)
{
    int rc = pml_rt_note__reserve(&pb->building, k->w->env);
    if (rc != PML_OK)
        return rc == PML_E_LIMIT ? pml_error__at(err, rc, PML_PLACE_PB, pb->name, "%s has too many gaps between offsets: prepare", pb->name)
                                 : pml_error__no_memory(err);
    if (o->rows > 0)
        PML_RETURN_IF(give_to_store(pb, b, err));
    if (o->dense)
        pml_rt_note__add_dense(&pb->building, o->range);
    else
        pml_rt_note__add_explicit(&pb->building, o->rows, o->hash);
    pb->next_offset = o->range.end;
    pb->building_bytes += o->bytes;
    if (atomic_load_explicit(&pb->building_since_ns, memory_order_relaxed) < 0)
        atomic_store_explicit(&pb->building_since_ns, k->start_ns, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&pb->ctx->uncommitted_rows, o->rows, memory_order_relaxed);
    return PML_OK;
}

static int write_locked(rt_slice_offsets *o, rt_write_call *k, rt_pb *pb, struct ArrowArray *rows, pml_error *err)
{
    int64_t n = rows->length;
    const int64_t *v = k->has_offsets ? pml_rt_write__offsets(rows) : NULL;
    PML_RETURN_IF(pml_rt_pb__check_state(pb, err));
    PML_RETURN_IF(pml_rt_write__range(&o->range, k, pb, n, v == NULL ? 0 : v[0], v == NULL ? 0 : v[n - 1], err));
    pml_rt_batch b = {.struct_size = sizeof b,
                      .flags = o->dense ? PML_RT_BATCH_DENSE : 0,
                      .array = rows,
                      .schema_id = k->w->table->schema->id,
                      .range = o->range,
                      .rows = n,
                      .first_sequence = -1,
                      .last_sequence = -1,
                      .bytes = o->bytes};
    return pml_rt_write__hand_over(k, pb, o, &b, err);
}

void pml_rt_write__applied(rt_write_call *k, const rt_pb *pb, pml_rt_range range, int64_t n)
{
    pml_rt_write_result *out = k->out;
    k->n_applied++;
    if (out != NULL) {
        if (out->n_pbs < PML_RT_WRITE_RESULT_PBS) {
            out->bucket[out->n_pbs] = pb->key.bucket;
            out->first_offset[out->n_pbs] = range.begin;
            out->end_offset[out->n_pbs] = range.end;
        }
        out->n_pbs++;
        out->rows += n;
    }
    (void)atomic_fetch_add_explicit(&pb->ctx->write_rows, n, memory_order_relaxed);
}

static int write_slice(rt_write_call *k, rt_pb *pb, struct ArrowArray *rows, pml_error *err)
{
    rt_slice_offsets o = {
        .rows = rows->length, .bytes = pml_batch__bytes(rows, k->fields, k->n_fields), .dense = !k->has_offsets};
    int64_t n = rows->length;
    if (k->has_offsets) {
        const int64_t *v = pml_rt_write__offsets(rows);
        for (int64_t i = 0; i < n; i++)
            o.hash += pml_hash__mix64((uint64_t)v[i]);
    }
    pml_mutex__lock(&pb->write_mu);
    int rc = write_locked(&o, k, pb, rows, err);
    pml_mutex__unlock(&pb->write_mu);
    if (rc == PML_OK)
        pml_rt_write__applied(k, pb, o.range, n);
    return rc;
}

static int apply_slice(rt_write_call *k, rt_pb *pb, const pml_route_slice *s, pml_error *err)
{
    struct ArrowArray rows = {0};
    if (s->rows == NULL)
        return write_slice(k, pb, k->array, err);
    PML_RETURN_IF(pml_batch__gather_rows(&rows, k->w->env, k->fields, k->n_fields, k->array, s->rows, s->n, err));
    int rc = write_slice(k, pb, &rows, err);
    pml_array__release(&rows);
    return rc;
}

/* All rows of an unpartitioned table with one bucket go to one place: nothing to look at, nothing to allocate. */
static bool has_one_pb(const pml_table *t)
{
    const pml_table_options *o = &t->options;
    return t->schema->n_partition_keys == 0 && !pml_table_options__is_dynamic(o, t->schema) &&
           (o->bucket < 1 || (o->bucket == 1 && o->bucket_function == PML_BUCKET_FUNCTION_DEFAULT));
}

static bool names_bucket_0(const pml_rt_pb *pb)
{
    return pb == NULL || (pb->struct_size == sizeof *pb && pb->n_partition == 0 && pb->bucket == 0 && pb->reserved == 0);
}

void pml_rt_write__keep_only(pml_rt_writer *w, rt_pb *pb)
{
    rt_pb *none = NULL;
    if (!has_one_pb(w->table))
        return;
    pml_rt_pb__acquire(pb);
    if (!atomic_compare_exchange_strong(&w->only, &none, pb))
        pml_rt_pb__release(pb);
}

static int write_routed(rt_write_call *k, pml_error *err)
{
    pml_route route = {0};
    rt_pb *few[RT_WRITE_FEW_PBS] = {NULL}, **pbs = few;
    int rc;
    PML_TRY(pml_rt_write__route(&route, k, err));
    if (route.n > RT_WRITE_FEW_PBS)
        pbs = pml_env__calloc(k->w->env, route.n, sizeof *pbs);
    if (pbs == NULL) {
        rc = pml_error__no_memory(err);
        goto out;
    }
    PML_TRY(pml_rt_write__pbs(pbs, k, &route, err));
    pml_rt_write__keep_only(k->w, pbs[0]);
    for (size_t i = 0; i < route.n; i++)
        PML_TRY(apply_slice(k, pbs[i], &route.slices[i], err));
out:
    for (size_t i = 0; pbs != NULL && i < route.n; i++)
        pml_rt_pb__release(pbs[i]);
    if (pbs != few)
        pml_env__free(k->w->env, pbs);
    pml_route__clear(&route);
    return rc;
}

static int write_batch(rt_write_call *k, const struct ArrowSchema *schema, pml_error *err)
{
    PML_RETURN_IF(check_batch(k, schema, err));
    if (k->array->length == 0)
        return PML_OK;
    rt_pb *only = names_bucket_0(k->options->pb) ? atomic_load_explicit(&k->w->only, memory_order_acquire) : NULL;
    if (k->w->input != NULL)
        return pml_rt_write__keyed(k, only, err);
    return only != NULL ? write_slice(k, only, k->array, err) : write_routed(k, err);
}

/* Nothing changed only when no slice was applied and no store is in doubt. What a store says of its own slice is not enough. */
static void say_effect(const rt_write_call *k, pml_error *err)
{
    if (err == NULL)
        return;
    err->flags &= ~(uint32_t)PML_ERRF_NO_EFFECT;
    if (k->n_applied == 0 && !atomic_load(&k->w->ctx->poisoned))
        err->flags |= PML_ERRF_NO_EFFECT;
}

int pml_rt_write(pml_rt_write_result *out, pml_rt_writer *w, struct ArrowArray *array, const struct ArrowSchema *schema,
                 const pml_rt_write_options *options, pml_error *err)
{
    const pml_rt_write_options defaults = PML_RT_WRITE_OPTIONS_INIT;
    rt_write_call k = {.w = w, .array = array, .options = options == NULL ? &defaults : options, .out = out};
    pml_rt_context *c = w->ctx;
    if (k.options->struct_size != sizeof defaults || (out != NULL && out->struct_size != sizeof *out))
        return pml_error__set(err, PML_E_INVAL, "struct_size of write options or result is not what this library knows");
    if (out != NULL)
        *out = (pml_rt_write_result)PML_RT_WRITE_RESULT_INIT;
    PML_RETURN_IF(pml_rt_context__check(c, err));
    k.start_ns = pml_env__mono_ns(w->env);
    int rc = write_batch(&k, schema, err);
    const int64_t end = pml_env__mono_ns(w->env), ns = end - k.start_ns;
    pml_rt_context__metric_time(&c->write_ns_sum, &c->write_ns_max, ns);
    pml_rt_histogram__add(&c->counts.write_micros, ns / 1000);
    (void)atomic_fetch_add_explicit(rc == PML_OK ? &c->write_batches : &c->rejected_batches, 1, memory_order_relaxed);
    if (rc == PML_OK)
        pml_array__release(array); /* whatever the stores did not take, they have copied */
    else
        say_effect(&k, err);
    pml_rt_reanchor__tick(c, end);
    return rc;
}
