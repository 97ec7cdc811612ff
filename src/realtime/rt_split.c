/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live splits as bytes, and plans of them (realtime.md 4.5, 17.1). Opening resolves all tickets, builds the whole plan, and
 * consumes the tickets last, all or none: whatever fails before, the same bytes can be tried again.
 */
#include <string.h>

#include "meta/serde_split.h"
#include "realtime/rt_plan.h"
#include "realtime/rt_serde.h"
#include "table/scan.h"

/* ---- writing ---- */

/* The disk part, when the split has files. */
static int write_disk(pml_buf *disk, const pml_plan *plan, size_t i, pml_error *err)
{
    pml_buf__init(disk, plan->env, PML_SPLIT_BYTES_MAX);
    return plan->splits[i].n_files == 0 ? PML_OK : pml_plan__write_split(disk, plan, i, err);
}

static int write_live(pml_text *out, const pml_plan *plan, size_t i, const char *ticket, const uint8_t context[RT_UUID_BYTES],
                      pml_error *err)
{
    const rt_pins *pins = plan->pins;
    const rt_part *part = &pins->parts[plan->splits[i].memory_part];
    const rt_pb *pb = part->pb;
    pml_buf disk, bytes;
    int rc;
    pml_buf__init(&bytes, plan->env, RT_SPLIT_BYTES_MAX);
    PML_TRY(write_disk(&disk, plan, i, err));
    const pml_bytes disk_bytes = {disk.data, disk.len};
    rt_split_form s = {.snapshot_id = plan->snapshot_id,
                       .schema_id = plan->schema->id,
                       .n_partition = plan->schema->n_partition_keys,
                       .keys = plan->schema->partition_keys,
                       .values = pb->texts.partition,
                       .bucket = pb->key.bucket,
                       .total_buckets = pb->total_buckets,
                       .mode = PML_RT_MODE_APPEND,
                       .committed = part->committed,
                       .floor = part->info.floor,
                       .end = part->info.end,
                       .rows = part->visible,
                       .lineage = pb->lineage,
                       .ticket = ticket,
                       .n_parts = 1,
                       .store = pins->ctx->plugin->name,
                       .n_disk = disk.len > 0 ? 1 : 0,
                       .disk = &disk_bytes};
    memcpy(s.context, context, sizeof s.context);
    PML_TRY(pml_rt_serde__write_split(&bytes, &s, err));
    PML_TRY(pml_text__of_buf(out, &bytes, err));
out:
    pml_buf__clear(&bytes);
    pml_buf__clear(&disk);
    return rc;
}

int pml_rt_split_serialize(pml_text *out, const pml_plan *plan, size_t i, pml_error *err)
{
    char ticket[RT_TICKET_TEXT];
    uint8_t context[RT_UUID_BYTES];
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = (pml_text){0};
    if (i >= plan->n_splits || plan->splits[i].memory_part < 0)
        return pml_plan_split_serialize(out, plan, i, err);
    const rt_pins *pins = plan->pins;
    PML_RETURN_IF(pml_rt_context__check(pins->ctx, err));
    PML_RETURN_IF(pml_rt_ticket__draw(ticket, context, pins->ctx, &pins->parts[plan->splits[i].memory_part], err));
    int rc = write_live(out, plan, i, ticket, context, err);
    if (rc != PML_OK)
        (void)pml_rt_ticket__release(pins->ctx, ticket, NULL);
    return rc;
}

/* ---- reading ---- */

typedef struct opener {
    pml_rt_context *ctx;
    pml_arena arena;
    size_t n_parts, cap_parts;
    pml_plan_part *parts;
    size_t n_live;
    rt_split_form *forms; /* of live splits, in order */
    rt_ticket **tickets;  /* one each; references */
    rt_pins *pins;
} opener;

static void opener_clear(opener *o)
{
    for (size_t i = 0; i < o->n_live; i++)
        pml_rt_ticket__unref(o->ctx, o->tickets[i]);
    pml_rt_pins__release(o->pins);
    pml_arena__clear(&o->arena);
}

static int add_part(opener *o, const pml_plan_part *part, pml_error *err)
{
    if (o->n_parts == o->cap_parts) {
        size_t wider = o->cap_parts == 0 ? 16 : o->cap_parts * 2;
        pml_plan_part *v = pml_arena__array(&o->arena, wider, sizeof *v);
        if (v == NULL)
            return pml_error__no_memory(err);
        if (o->n_parts > 0)
            memcpy(v, o->parts, o->n_parts * sizeof *v);
        o->parts = v;
        o->cap_parts = wider;
    }
    o->parts[o->n_parts++] = *part;
    return PML_OK;
}

/* The bytes and the ticket must tell the same: bytes of a split with the ticket of another would show other rows. */
static int check_ticket(const rt_split_form *f, const rt_ticket *k, const pml_rt_context *c, pml_error *err)
{
    const rt_view *v = k->view;
    const pml_pb_texts texts = {f->n_partition, f->values, f->bucket};
    bool same = f->mode == PML_RT_MODE_APPEND && f->part == 0 && f->n_parts == 1 && f->key_first.len == 0 && f->key_end.len == 0 &&
                memcmp(f->context, c->tickets.uuid, RT_UUID_BYTES) == 0 && f->n_partition == c->table->schema->n_partition_keys &&
                pml_pb_texts__equal(&texts, &v->pb->texts) && f->committed == k->committed && f->rows == k->visible &&
                f->floor == v->info.floor && f->end == v->info.end &&
                memcmp(f->lineage.bytes, v->pb->lineage.bytes, PML_LINEAGE_BYTES) == 0;
    if (same)
        return PML_OK;
    return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_PB, v->pb->name,
                         "a live split of bucket %d, offsets %lld to %lld, has the ticket of %s, offsets %lld to %lld", f->bucket,
                         (long long)f->committed, (long long)f->end, v->pb->name, (long long)k->committed, (long long)v->info.end);
}

/* A split without memory rows and ticket is its disk splits. */
static int add_disk(opener *o, const rt_split_form *f, size_t n, pml_error *err)
{
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(add_part(o, &(pml_plan_part){.bytes = f->disk[i], .memory_part = -1}, err));
    return PML_OK;
}

static int add_live(opener *o, pml_bytes bytes, pml_error *err)
{
    rt_split_form *f = &o->forms[o->n_live];
    rt_ticket *k;
    PML_RETURN_IF(pml_rt_serde__read_split(f, &o->arena, bytes, err));
    if (f->ticket[0] == '\0' && f->rows == 0)
        return add_disk(o, f, f->n_disk, err);
    PML_RETURN_IF(pml_rt_ticket__resolve(&k, o->ctx, f->ticket, err));
    o->tickets[o->n_live++] = k;
    PML_RETURN_IF(check_ticket(f, k, o->ctx, err));
    rt_part *pin = pml_rt_pins__add(o->pins, k->view);
    pin->committed = k->committed;
    pin->visible = k->visible;
    pml_plan_part part = {.partition = k->view->pb->key.partition,
                          .bucket = k->view->pb->key.bucket,
                          .total_buckets = k->view->pb->total_buckets,
                          .memory_part = (int64_t)o->pins->n - 1,
                          .memory_rows = k->visible};
    if (f->n_disk > 0) { /* the last one carries the memory */
        PML_RETURN_IF(add_disk(o, f, f->n_disk - 1, err));
        part.bytes = f->disk[f->n_disk - 1];
    }
    return add_part(o, &part, err);
}

static int read_all(opener *o, const pml_blob *splits, size_t n, pml_error *err)
{
    o->forms = pml_arena__array(&o->arena, n, sizeof *o->forms);
    o->tickets = pml_arena__array(&o->arena, n, sizeof *o->tickets);
    if (o->forms == NULL || o->tickets == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_rt_pins__new(&o->pins, o->ctx, n, err));
    for (size_t i = 0; i < n; i++) {
        pml_bytes bytes = {splits[i].ptr, splits[i].len};
        if (bytes.ptr == NULL || bytes.len == 0)
            return pml_error__set(err, PML_E_INVAL, "split %zu of %zu is empty", i, n);
        if (pml_rt_serde__is_split(bytes))
            PML_RETURN_IF(add_live(o, bytes, err));
        else
            PML_RETURN_IF(add_part(o, &(pml_plan_part){.bytes = bytes, .memory_part = -1}, err));
    }
    for (size_t i = 1; i < o->n_live; i++)
        if (o->forms[i].snapshot_id != o->forms[0].snapshot_id)
            return pml_error__set(err, PML_E_INVAL, "a split is of snapshot %lld, another of %lld: a plan has one snapshot",
                                  (long long)o->forms[i].snapshot_id, (long long)o->forms[0].snapshot_id);
    return PML_OK;
}

/* What only the finished plan can be asked: its schema, and whose files the disk parts are. */
static int check_plan(const pml_plan *p, const opener *o, pml_error *err)
{
    for (size_t i = 0; i < o->n_live; i++)
        if (o->forms[i].schema_id != p->schema->id)
            return pml_error__set(err, PML_E_SCHEMA, "a live split was planned at schema %lld, %s is open at schema %lld: open it anew",
                                  (long long)o->forms[i].schema_id, p->table->path, (long long)p->schema->id);
    for (size_t i = 0; i < p->n_splits; i++) {
        const pml_split *s = &p->splits[i];
        if (s->memory_part < 0)
            continue;
        const rt_pb *pb = o->pins->parts[s->memory_part].pb;
        if (s->bucket != pb->key.bucket || !pml_bytes_equal(s->partition, pb->key.partition))
            return pml_error__at(err, PML_E_CORRUPT, PML_PLACE_PB, pb->name, "a live split of %s has files of another partition-bucket",
                                 pb->name);
    }
    return PML_OK;
}

int pml_rt_split_deserialize(pml_plan **out, const pml_scan *scan, const pml_blob *splits, size_t n, pml_error *err)
{
    opener o = {.ctx = pml_rt_scan__context(scan)};
    pml_plan *p = NULL;
    int rc;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    PML_RETURN_IF(pml_error__need_array(splits, n, "splits", err));
    if (o.ctx == NULL)
        return pml_error__set(err, PML_E_INVAL, "live splits need a real-time context on the scan: call pml_scan_set_realtime");
    PML_RETURN_IF(pml_rt_context__check(o.ctx, err));
    pml_arena__init(&o.arena, o.ctx->env);
    PML_TRY(read_all(&o, splits, n, err));
    PML_TRY(pml_plan__from_parts(&p, scan, o.n_live > 0 ? o.forms[0].snapshot_id : PML_PLAN_SNAPSHOT_OF_PARTS, o.parts, o.n_parts, err));
    p->pins = o.pins;
    pml_rt_pins__acquire(o.pins);
    PML_TRY(check_plan(p, &o, err));
    PML_TRY(pml_rt_tickets__consume(o.ctx, o.tickets, o.n_live, err));
    *out = p;
    p = NULL;
out:
    pml_plan_free(p);
    opener_clear(&o);
    return rc;
}

int pml_rt_split_release_ticket(pml_rt_context *context, const pml_blob *split, pml_error *err)
{
    rt_split_form f;
    pml_arena arena;
    PML_RETURN_IF(pml_error__need(split, "split", err));
    pml_bytes bytes = {split->ptr, split->len};
    PML_RETURN_IF(pml_rt_context__check(context, err));
    if (!pml_rt_serde__is_split(bytes)) /* ordinary splits hold nothing */
        return PML_OK;
    pml_arena__init(&arena, context->env);
    int rc = pml_rt_serde__read_split(&f, &arena, bytes, err);
    if (rc == PML_OK && f.ticket[0] != '\0')
        rc = pml_rt_ticket__release(context, f.ticket, err);
    pml_arena__clear(&arena);
    return rc;
}
