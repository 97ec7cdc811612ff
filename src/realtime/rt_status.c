/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of a context as text: one table of the fields drives what is printed for people, as JSON and as OpenMetrics, and what is
 * parsed back, so that the four cannot differ.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meta/json.h"
#include "realtime/rt_context.h"

enum { STATUS_JSON_MAX = 64 * 1024 };

typedef enum unit { UNIT_NONE, UNIT_BYTES, UNIT_NS, UNIT_US, UNIT_MS } unit;
typedef enum kind { GAUGE, COUNTER, HISTOGRAM } kind;

typedef struct field {
    const char *name; /* of the struct and of JSON */
    size_t at;
    kind kind;
    unit unit;
    const char *family; /* OpenMetrics, behind the prefix; with its unit, without _total */
    const char *help;
} field;

#define AT(member) #member, offsetof(pml_rt_metrics, member)

static const field fields[] = {
    {AT(building_memory_bytes), GAUGE, UNIT_BYTES, "building_memory_bytes", "rows that no prepare has taken"},
    {AT(sealed_memory_bytes), GAUGE, UNIT_BYTES, "sealed_memory_bytes", "rows prepared or being prepared"},
    {AT(total_memory_bytes), GAUGE, UNIT_BYTES, "total_memory_bytes", "rows held in memory"},
    {AT(building_row_count), GAUGE, UNIT_NONE, "building_rows", "rows that no prepare has taken"},
    {AT(sealed_row_count), GAUGE, UNIT_NONE, "sealed_rows", "rows prepared or being prepared"},
    {AT(total_row_count), GAUGE, UNIT_NONE, "memory_rows", "rows held in memory"},
    {AT(run_count), GAUGE, UNIT_NONE, "runs", "chunks or sorted runs that the stores hold"},
    {AT(uncommitted_rows), GAUGE, UNIT_NONE, "uncommitted_rows", "rows that no commit covers"},
    {AT(uncommitted_age_ms), GAUGE, UNIT_MS, "uncommitted_age_seconds", "since the oldest row that no commit covers was written"},
    {AT(pb_active), GAUGE, UNIT_NONE, "partition_buckets_active", "partition-buckets that take rows"},
    {AT(pb_failed), GAUGE, UNIT_NONE, "partition_buckets_failed", "partition-buckets that failed"},
    {AT(pb_reset), GAUGE, UNIT_NONE, "partition_buckets_reset", "partition-buckets that wait for a reset"},
    {AT(pb_lost), GAUGE, UNIT_NONE, "partition_buckets_lost", "partition-buckets whose progress is lost"},
    {AT(open_views), GAUGE, UNIT_NONE, "open_views", "plans, streams and tickets that pin memory"},
    {AT(oldest_view_ms), GAUGE, UNIT_MS, "oldest_view_seconds", "age of the oldest of them"},
    {AT(pinned_bytes), GAUGE, UNIT_BYTES, "pinned_bytes", "memory that only open views hold"},
    {AT(open_tickets), GAUGE, UNIT_NONE, "open_tickets", "tickets of serialised live splits"},
    {AT(prepares_in_flight), GAUGE, UNIT_NONE, "prepares_in_flight", "prepares neither committed nor aborted"},
    {AT(write_rows), COUNTER, UNIT_NONE, "write_rows", "rows taken"},
    {AT(write_batches), COUNTER, UNIT_NONE, "write_batches", "batches taken"},
    {AT(rejected_batches), COUNTER, UNIT_NONE, "rejected_batches", "batches refused"},
    {AT(seals), COUNTER, UNIT_NONE, "seals", "segments sealed"},
    {AT(prepares), COUNTER, UNIT_NONE, "prepares", "prepares"},
    {AT(prepare_failures), COUNTER, UNIT_NONE, "prepare_failures", "prepares that failed"},
    {AT(commits), COUNTER, UNIT_NONE, "commits", "commits"},
    {AT(commit_retries), COUNTER, UNIT_NONE, "commit_retries", "attempts of commits after a conflict"},
    {AT(commit_idempotent_hits), COUNTER, UNIT_NONE, "commit_idempotent_hits", "commits that were in the table already"},
    {AT(reanchors), COUNTER, UNIT_NONE, "reanchors", "empty commits that carried the progress on"},
    {AT(advances), COUNTER, UNIT_NONE, "advances", "advances"},
    {AT(reclaimed_rows), COUNTER, UNIT_NONE, "reclaimed_rows", "rows let go from memory"},
    {AT(plans), COUNTER, UNIT_NONE, "plans", "plans"},
    {AT(plan_retries), COUNTER, UNIT_NONE, "plan_retries", "attempts of plans after a change"},
    {AT(dropped_views), COUNTER, UNIT_NONE, "dropped_views", "views left out because their partition was reset"},
    {AT(pruned_runs), COUNTER, UNIT_NONE, "pruned_runs", "chunks left out of queries by their statistics"},
    {AT(fanin_exceeded), COUNTER, UNIT_NONE, "fanin_exceeded", "merges of more runs than realtime.read.max-fanin, in steps"},
    {AT(tickets_expired), COUNTER, UNIT_NONE, "tickets_expired", "tickets that nobody came for"},
    {AT(write_ns_sum), COUNTER, UNIT_NS, "write_calls_seconds", "time in write calls"},
    {AT(write_ns_max), GAUGE, UNIT_NS, "write_longest_seconds", "the longest write call"},
    {AT(prepare_ns_sum), COUNTER, UNIT_NS, "prepare_calls_seconds", "time in prepares"},
    {AT(prepare_ns_max), GAUGE, UNIT_NS, "prepare_longest_seconds", "the longest prepare"},
    {AT(plan_ns_sum), COUNTER, UNIT_NS, "plan_calls_seconds", "time in plans"},
    {AT(plan_ns_max), GAUGE, UNIT_NS, "plan_longest_seconds", "the longest plan"},
    {AT(write_micros), HISTOGRAM, UNIT_US, "write_seconds", "write calls"},
    {AT(seal_micros), HISTOGRAM, UNIT_US, "seal_seconds", "seals"},
    {AT(prepare_millis), HISTOGRAM, UNIT_MS, "prepare_seconds", "prepares"},
    {AT(plan_micros), HISTOGRAM, UNIT_US, "plan_seconds", "plans"},
    {AT(visible_to_committed_millis), HISTOGRAM, UNIT_MS, "visible_to_committed_seconds",
     "from the write of the first row of a segment to its commit"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static int64_t number_of(const pml_rt_status *s, const field *f)
{
    int64_t v;
    memcpy(&v, (const char *)&s->metrics + f->at, sizeof v);
    return v;
}

static const pml_rt_histogram *histogram_of(const pml_rt_status *s, const field *f)
{
    return (const pml_rt_histogram *)(const void *)((const char *)&s->metrics + f->at);
}

/* ---- text into a buffer of the caller's ---- */

typedef struct sheet {
    char *p;
    size_t cap, len; /* len goes on beyond cap: what the whole takes */
} sheet;

static void put(sheet *t, const char *format, ...) PML_PRINTF(2, 3);
static void put(sheet *t, const char *format, ...)
{
    va_list args;
    size_t left = t->len < t->cap ? t->cap - t->len : 0;
    va_start(args, format);
    int n = vsnprintf(left > 0 ? t->p + t->len : NULL, left, format, args);
    va_end(args);
    t->len += n > 0 ? (size_t)n : 0;
}

/* As both JSON and OpenMetrics escape it; other control characters, which OpenMetrics knows no escape for, become blanks there. */
static void put_quoted(sheet *t, const char *text, bool json)
{
    put(t, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            put(t, "\\%c", *p);
        else if (*p == '\n')
            put(t, "\\n");
        else if (*p < 0x20 && json)
            put(t, "\\u%04x", *p);
        else
            put(t, "%c", *p < 0x20 ? ' ' : *p);
    }
    put(t, "\"");
}

/* ---- for people ---- */

static const char *const unit_names[] = {"", " bytes", " ns", " us", " ms"};

static void print_text(sheet *t, const pml_rt_status *s)
{
    put(t, "%s", s->table[0] == '\0' ? "(no table yet)" : s->table);
    if (s->process != 0)
        put(t, ", process %" PRId64, s->process);
    put(t, "\n");
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        const pml_rt_histogram *h = histogram_of(s, f);
        if (f->kind == HISTOGRAM && h->count == 0)
            put(t, "  %-28s none\n", f->name);
        else if (f->kind == HISTOGRAM)
            put(t, "  %-28s %" PRId64 ", p50 %" PRId64 ", p99 %" PRId64 ", max %" PRId64 "%s\n", f->name, h->count,
                pml_rt_histogram_percentile(h, 50), pml_rt_histogram_percentile(h, 99), h->max, unit_names[f->unit]);
        else
            put(t, "  %-28s %" PRId64 "%s\n", f->name, number_of(s, f), f->unit == UNIT_MS || f->unit == UNIT_NS ? unit_names[f->unit] : "");
    }
}

/* ---- JSON ---- */

static void print_json(sheet *t, const pml_rt_status *s)
{
    put(t, "{\"table\":");
    put_quoted(t, s->table, true);
    put(t, ",\"process\":%" PRId64 ",\"written_ms\":%" PRId64, s->process, s->written_ms);
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        put(t, ",\"%s\":", f->name);
        if (f->kind != HISTOGRAM) {
            put(t, "%" PRId64, number_of(s, f));
            continue;
        }
        const pml_rt_histogram *h = histogram_of(s, f);
        put(t, "{\"sum\":%" PRId64 ",\"max\":%" PRId64 ",\"buckets\":[", h->sum, h->max);
        for (size_t b = 0; b < PML_RT_HISTOGRAM_BUCKETS; b++)
            put(t, "%s%" PRId64, b == 0 ? "" : ",", h->bucket[b]);
        put(t, "]}");
    }
    put(t, "}\n");
}

static int parse_histogram(pml_rt_histogram *h, const json_t *o, const pml_json_source *src)
{
    const json_t *buckets;
    PML_RETURN_IF(pml_json__get_int64(&h->sum, o, "sum", INT64_MIN, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_int64(&h->max, o, "max", INT64_MIN, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_array(&buckets, o, "buckets", PML_JSON_REQUIRED, src));
    if (json_array_size(buckets) != PML_RT_HISTOGRAM_BUCKETS)
        return pml_json__fail(src, PML_E_INVAL, "a histogram has %d counts, not %zu", PML_RT_HISTOGRAM_BUCKETS, json_array_size(buckets));
    for (size_t i = 0; i < PML_RT_HISTOGRAM_BUCKETS; i++) {
        const json_t *v = json_array_get(buckets, i);
        int64_t n = json_is_integer(v) ? json_integer_value(v) : -1;
        if (n < 0 || n > INT64_MAX - h->count)
            return pml_json__fail(src, PML_E_INVAL, "count %zu of a histogram is no count", i);
        h->bucket[i] = n;
        h->count += n;
    }
    return PML_OK;
}

static int parse_field(pml_rt_status *out, const field *f, const json_t *root, const pml_json_source *src)
{
    if (f->kind == HISTOGRAM) {
        pml_rt_histogram h = PML_RT_HISTOGRAM_INIT;
        const json_t *o;
        PML_RETURN_IF(pml_json__get_object(&o, root, f->name, PML_JSON_OPTIONAL, src));
        if (o != NULL)
            PML_RETURN_IF(parse_histogram(&h, o, src));
        memcpy((char *)&out->metrics + f->at, &h, sizeof h);
        return PML_OK;
    }
    int64_t v = 0;
    bool present;
    PML_RETURN_IF(pml_json__find_int64(&v, &present, root, f->name, INT64_MIN, INT64_MAX, src));
    v = present ? v : 0;
    memcpy((char *)&out->metrics + f->at, &v, sizeof v);
    return PML_OK;
}

static int parse_root(pml_rt_status *out, const json_t *root, const pml_json_source *src)
{
    const json_t *table = json_object_get(root, "table");
    if (!json_is_string(table) || json_string_length(table) >= sizeof out->table)
        return pml_json__fail(src, PML_E_INVAL, "the member table is no path below %zu bytes", sizeof out->table);
    memcpy(out->table, json_string_value(table), json_string_length(table) + 1);
    PML_RETURN_IF(pml_json__get_int64(&out->process, root, "process", 0, INT64_MAX, src));
    PML_RETURN_IF(pml_json__get_int64(&out->written_ms, root, "written_ms", 0, INT64_MAX, src));
    for (size_t i = 0; i < FIELDS; i++)
        PML_RETURN_IF(parse_field(out, &fields[i], root, src));
    return PML_OK;
}

static int check_size(const pml_rt_status *s, pml_error *err)
{
    if (s->struct_size == sizeof *s)
        return PML_OK;
    return pml_error__set(err, PML_E_INVAL, "pml_rt_status.struct_size is %zu, this library knows %zu", s->struct_size, sizeof *s);
}

int pml_rt_status_parse(pml_rt_status *out, const char *json, size_t length, pml_error *err)
{
    static const pml_rt_status empty = PML_RT_STATUS_INIT;
    const pml_json_source src = {"a status", PML_PLACE_NONE, PML_E_INVAL, err};
    json_t *root;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    PML_RETURN_IF(check_size(out, err));
    PML_RETURN_IF(pml_error__need(json, "json", err));
    *out = empty;
    PML_RETURN_IF(pml_json__parse(&root, (pml_bytes){(const uint8_t *)json, length}, STATUS_JSON_MAX, &src));
    int rc = parse_root(out, root, &src);
    json_decref(root);
    return rc;
}

/* ---- OpenMetrics ---- */

static void put_labels(sheet *t, const pml_rt_status *s, const char *more)
{
    put(t, "{table=");
    put_quoted(t, s->table, false);
    if (s->process != 0)
        put(t, ",process=\"%" PRId64 "\"", s->process);
    put(t, "%s}", more);
}

/* In the base unit, exactly. */
static void put_value(sheet *t, int64_t v, unit u)
{
    static const int64_t divisors[] = {[UNIT_NS] = 1000000000, [UNIT_US] = 1000000, [UNIT_MS] = 1000};
    static const int digits[] = {[UNIT_NS] = 9, [UNIT_US] = 6, [UNIT_MS] = 3};
    if (u == UNIT_NONE || u == UNIT_BYTES)
        put(t, "%" PRId64, v);
    else
        put(t, "%" PRId64 ".%0*" PRId64, v / divisors[u], digits[u], v % divisors[u]);
}

static void put_sample(sheet *t, const pml_rt_status *s, const field *f, const char *suffix, int64_t v, unit u)
{
    put(t, "paimonlive_%s%s", f->family, suffix);
    put_labels(t, s, "");
    put(t, " ");
    put_value(t, v, u);
    put(t, "\n");
}

static void put_histogram(sheet *t, const pml_rt_status *s, const field *f)
{
    const pml_rt_histogram *h = histogram_of(s, f);
    int64_t seen = 0;
    for (size_t b = 0; b < PML_RT_HISTOGRAM_BUCKETS; b++) {
        bool last = b + 1 == PML_RT_HISTOGRAM_BUCKETS;
        char edge[64];
        sheet e = {edge, sizeof edge, 0};
        put(&e, ",le=\"");
        if (last)
            put(&e, "+Inf");
        else
            put_value(&e, b == 0 ? 0 : (INT64_C(1) << b) - 1, f->unit);
        put(&e, "\"");
        seen += h->bucket[b];
        put(t, "paimonlive_%s_bucket", f->family);
        put_labels(t, s, edge);
        put(t, " %" PRId64 "\n", seen);
    }
    put_sample(t, s, f, "_count", h->count, UNIT_NONE);
    put_sample(t, s, f, "_sum", h->sum, f->unit);
}

/* A family has its samples together. */
static void print_openmetrics(sheet *t, const pml_rt_status *statuses, size_t n)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    for (size_t i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        put(t, "# TYPE paimonlive_%s %s\n", f->family, types[f->kind]);
        if (f->unit != UNIT_NONE)
            put(t, "# UNIT paimonlive_%s %s\n", f->family, f->unit == UNIT_BYTES ? "bytes" : "seconds");
        put(t, "# HELP paimonlive_%s %s\n", f->family, f->help);
        for (size_t k = 0; k < n; k++) {
            if (f->kind == HISTOGRAM)
                put_histogram(t, &statuses[k], f);
            else
                put_sample(t, &statuses[k], f, f->kind == COUNTER ? "_total" : "", number_of(&statuses[k], f), f->unit);
        }
    }
    put(t, "# EOF\n");
}

/* ---- the calls ---- */

int pml_rt_status_print(char *buffer, size_t capacity, size_t *length, const pml_rt_status *statuses, size_t n, int32_t format, pml_error *err)
{
    sheet t = {buffer, capacity, 0};
    PML_RETURN_IF(pml_error__need(length, "length", err));
    *length = 0;
    if ((buffer == NULL && capacity > 0) || (statuses == NULL && n > 0))
        return pml_error__set(err, PML_E_INVAL, "buffer or statuses is NULL");
    for (size_t i = 0; i < n; i++)
        PML_RETURN_IF(check_size(&statuses[i], err));
    switch (format) {
    case PML_RT_STATUS_TEXT:
        for (size_t i = 0; i < n; i++)
            print_text(&t, &statuses[i]);
        break;
    case PML_RT_STATUS_JSON:
        for (size_t i = 0; i < n; i++)
            print_json(&t, &statuses[i]);
        break;
    case PML_RT_STATUS_OPENMETRICS: print_openmetrics(&t, statuses, n); break;
    default: return pml_error__set(err, PML_E_INVAL, "format is %d, not one of PML_RT_STATUS_TEXT, _JSON and _OPENMETRICS", (int)format);
    }
    *length = t.len;
    if (capacity > 0 && t.len == 0)
        buffer[0] = '\0';
    if (t.len < capacity)
        return PML_OK;
    return pml_error__set(err, PML_E_LIMIT, "the text has %zu bytes and an end, the buffer %zu", t.len, capacity);
}

int pml_rt_status_get(pml_rt_status *out, pml_rt_context *c, pml_error *err)
{
    static const pml_rt_status empty = PML_RT_STATUS_INIT;
    PML_RETURN_IF(pml_error__need(out, "out", err));
    PML_RETURN_IF(check_size(out, err));
    *out = empty;
    PML_RETURN_IF(pml_rt_context_metrics(&out->metrics, c, err));
    out->process = (int64_t)getpid();
    out->written_ms = pml_env__wall_ms(c->env);
    pml_rwlock__read(&c->registry);
    if (c->table != NULL)
        (void)snprintf(out->table, sizeof out->table, "%s", pml_table_path(c->table));
    pml_rwlock__unlock(&c->registry);
    return PML_OK;
}
