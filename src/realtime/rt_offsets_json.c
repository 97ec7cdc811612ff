/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a progress file; its layout stands in rt_offsets.h. */
#include <inttypes.h>
#include <string.h>

#include "columnar/check.h"
#include "meta/json.h"
#include "realtime/rt_offsets.h"

enum { FILE_VERSION = 1 };

/* ---- reading ---- */

/* The values of the partition object in partition-key order; exactly the keys of the table. */
static int read_partition(const char **texts, const pml_progress *p, const json_t *entry, const pml_json_source *src)
{
    const json_t *partition;
    PML_RETURN_IF(pml_json__get_object(&partition, entry, "partition", PML_JSON_REQUIRED, src));
    if (json_object_size(partition) != p->n_keys)
        return pml_json__fail(src, PML_E_CORRUPT, "'partition' has %zu members, the table has %zu partition keys",
                              json_object_size(partition), p->n_keys);
    for (size_t i = 0; i < p->n_keys; i++) {
        const json_t *v = json_object_get(partition, p->keys[i]);
        if (v == NULL || !json_is_string(v))
            return pml_json__fail(src, PML_E_CORRUPT, "'partition' has no string for the partition key '%.80s'", p->keys[i]);
        texts[i] = json_string_value(v);
    }
    return PML_OK;
}

static int read_optional(pml_optional_int64 *out, const json_t *entry, const char *member, int64_t first,
                         const pml_json_source *src)
{
    return pml_json__find_int64(&out->v, &out->present, entry, member, first, INT64_MAX, src);
}

static int read_lost(bool *out, const json_t *entry, const pml_json_source *src)
{
    const json_t *v = json_object_get(entry, "lost");
    *out = v != NULL && json_is_true(v);
    if (v == NULL || json_is_boolean(v) || json_is_null(v))
        return PML_OK;
    return pml_json__fail(src, PML_E_CORRUPT, "member 'lost' must be true or false");
}

static int read_own_members(pml_progress_entry *e, pml_progress *p, const json_t *entry, const pml_json_source *src)
{
    const char *lineage;
    PML_RETURN_IF(pml_json__get_string(&lineage, &p->arena, entry, "lineage", PML_JSON_OPTIONAL, src));
    if (lineage != NULL && !pml_lineage__parse(&e->lineage, lineage))
        return pml_json__fail(src, PML_E_CORRUPT, "member 'lineage' is '%.80s', not 32 hex digits", lineage);
    PML_RETURN_IF(pml_json__get_string(&e->commit_user, &p->arena, entry, "commitUser", PML_JSON_OPTIONAL, src));
    PML_RETURN_IF(read_optional(&e->commit_identifier, entry, "commitIdentifier", INT64_MIN, src));
    PML_RETURN_IF(read_optional(&e->sequence, entry, "sequence", -1, src));
    PML_RETURN_IF(read_optional(&e->rows, entry, "rows", 0, src));
    PML_RETURN_IF(read_lost(&e->lost, entry, src));
    PML_RETURN_IF(read_optional(&e->reset, entry, "reset", 1, src));
    if (e->reset.present && e->end != 0)
        return pml_json__fail(src, PML_E_CORRUPT, "member 'reset' with offset %" PRId64 ": a reset entry has offset 0", e->end);
    return PML_OK;
}

static int read_entry(pml_progress *p, const char **texts, const json_t *entry, const pml_json_source *src)
{
    int64_t bucket, end;
    pml_progress_entry *e;
    if (!json_is_object(entry))
        return pml_json__fail(src, PML_E_CORRUPT, "it must be an object");
    PML_RETURN_IF(read_partition(texts, p, entry, src));
    PML_RETURN_IF(pml_json__get_int64(&bucket, entry, "bucket", 0, INT32_MAX, src));
    PML_RETURN_IF(pml_json__get_int64(&end, entry, "offset", 0, INT64_MAX, src));
    const pml_pb_texts pb = {p->n_keys, texts, (int32_t)bucket};
    int rc = pml_progress__add(&e, p, &pb, src->err);
    if (rc == PML_E_EXISTS) {
        char name[PML_PB_NAME_BYTES];
        pml_pb_texts__name(name, p->keys, &pb);
        return pml_json__fail(src, PML_E_CORRUPT, "a second entry for %s", name);
    }
    if (rc != PML_OK)
        return rc;
    e->end = end;
    return read_own_members(e, p, entry, src);
}

static int read_root(pml_progress *p, const json_t *root, const pml_json_source *src)
{
    int64_t version;
    const json_t *entries;
    PML_RETURN_IF(pml_json__get_int64(&version, root, "version", INT64_MIN, INT64_MAX, src));
    if (version != FILE_VERSION)
        return pml_json__fail(src, PML_E_UNSUPPORTED, "progress of version %" PRId64 "; this library knows version %d", version,
                              FILE_VERSION);
    PML_RETURN_IF(pml_json__get_array(&entries, root, "offsets", PML_JSON_REQUIRED, src));
    const char **texts = pml_arena__array(&p->arena, p->n_keys, sizeof *texts);
    if (texts == NULL)
        return pml_error__no_memory(src->err);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        int rc = read_entry(p, texts, json_array_get(entries, i), src);
        if (rc != PML_OK)
            return rc == PML_E_NOMEM ? rc : pml_error__prefix(src->err, rc, "entry %zu", i);
    }
    return PML_OK;
}

int pml_progress__parse(pml_progress *p, pml_bytes json, const char *name, pml_error *err)
{
    json_t *root;
    const pml_json_source src = {name, PML_PLACE_PROGRESS, PML_E_CORRUPT, err};
    PML_RETURN_IF(pml_json__parse(&root, json, PML_PROGRESS_FILE_MAX, &src));
    int rc = read_root(p, root, &src);
    json_decref(root);
    return rc;
}

/* ---- writing ---- */

/* Escapes as other implementations do: short forms where JSON has them, upper-case hex for other control characters, all else
   as it is. */
static int put_quoted(pml_buf *out, const char *text, pml_error *err)
{
    static const char shorts[] = "btnvfr"; /* for 8 to 13; 11 has none */
    if (!pml_check__utf8((const uint8_t *)text, strlen(text)))
        return pml_error__set(err, PML_E_UNSUPPORTED, "'%.80s' is not valid UTF-8 and cannot stand in a progress file", text);
    (void)pml_buf__append_byte(out, '"');
    for (; *text != '\0'; text++) {
        uint8_t c = (uint8_t)*text;
        if (c == '"' || c == '\\')
            (void)pml_buf__append_format(out, "\\%c", c);
        else if (c >= 8 && c <= 13 && c != 11)
            (void)pml_buf__append_format(out, "\\%c", shorts[c - 8]);
        else if (c < 0x20)
            (void)pml_buf__append_format(out, "\\u%04X", c);
        else
            (void)pml_buf__append_byte(out, c);
    }
    (void)pml_buf__append_byte(out, '"');
    return PML_OK;
}

/* A member of an entry behind its first one. */
static void put_member(pml_buf *out, const char *member)
{
    (void)pml_buf__append_format(out, ",\n            \"%s\": ", member);
}

static void put_int(pml_buf *out, const char *member, int64_t v)
{
    put_member(out, member);
    (void)pml_buf__append_format(out, "%" PRId64, v);
}

static void put_optional(pml_buf *out, const char *member, const pml_optional_int64 *v)
{
    if (v->present)
        put_int(out, member, v->v);
}

static int put_partition(pml_buf *out, const pml_progress *p, const size_t *key_order, const pml_progress_entry *e, pml_error *err)
{
    (void)pml_buf__append_str(out, "            \"partition\": {");
    for (size_t i = 0; i < p->n_keys; i++) {
        size_t k = key_order[i];
        (void)pml_buf__append_str(out, i == 0 ? "\n                " : ",\n                ");
        PML_RETURN_IF(put_quoted(out, p->keys[k], err));
        (void)pml_buf__append_str(out, ": ");
        PML_RETURN_IF(put_quoted(out, e->pb.partition[k], err));
    }
    (void)pml_buf__append_str(out, p->n_keys == 0 ? "}" : "\n            }");
    return PML_OK;
}

static int put_entry(pml_buf *out, const pml_progress *p, const size_t *key_order, const pml_progress_entry *e, pml_error *err)
{
    PML_RETURN_IF(put_partition(out, p, key_order, e, err));
    put_int(out, "bucket", e->pb.bucket);
    put_int(out, "offset", e->end);
    if (e->lineage.known) {
        char text[PML_LINEAGE_TEXT];
        pml_lineage__print(text, &e->lineage);
        put_member(out, "lineage");
        (void)pml_buf__append_format(out, "\"%s\"", text);
    }
    if (e->commit_user != NULL) {
        put_member(out, "commitUser");
        PML_RETURN_IF(put_quoted(out, e->commit_user, err));
    }
    put_optional(out, "commitIdentifier", &e->commit_identifier);
    put_optional(out, "sequence", &e->sequence);
    put_optional(out, "rows", &e->rows);
    if (e->lost) {
        put_member(out, "lost");
        (void)pml_buf__append_str(out, "true");
    }
    put_optional(out, "reset", &e->reset);
    return PML_OK;
}

int pml_progress__write(pml_buf *out, pml_progress *p, pml_error *err)
{
    size_t *order, *keys = pml_arena__array(&p->arena, p->n_keys, sizeof *keys);
    if (keys == NULL)
        return pml_error__no_memory(err);
    PML_RETURN_IF(pml_progress__sorted(&order, p, err));
    pml_progress__key_order(keys, p);
    (void)pml_buf__append_str(out, "{\n    \"version\": 1,\n    \"offsets\": [");
    for (size_t i = 0; i < p->n && out->rc == PML_OK; i++) {
        (void)pml_buf__append_str(out, i == 0 ? "\n        {\n" : ",\n        {\n");
        PML_RETURN_IF(put_entry(out, p, keys, &p->v[order[i]], err));
        (void)pml_buf__append_str(out, "\n        }");
    }
    (void)pml_buf__append_str(out, p->n == 0 ? "]\n}" : "\n    ]\n}");
    if (out->rc == PML_E_LIMIT)
        return pml_error__set(err, PML_E_LIMIT, "progress of %zu partition-buckets needs more than %zu bytes", p->n, out->max);
    return pml_buf__check(out, err);
}
