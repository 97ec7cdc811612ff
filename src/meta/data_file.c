/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/data_file.h"

/* ---- identity ---- */

/* Length in front of every part, so that two different files can never give the same bytes. */
static void identity_bytes(pml_buf *out, bool present, const void *p, size_t n)
{
    (void)pml_buf__append_be64(out, present ? (uint64_t)n : UINT64_MAX);
    if (present)
        (void)pml_buf__append(out, p, n);
}

static void identity_text(pml_buf *out, const char *s)
{
    identity_bytes(out, s != NULL, s, s == NULL ? 0 : strlen(s));
}

int pml_manifest_entry__identity(pml_buf *out, const pml_manifest_entry *e)
{
    const pml_data_file *f = &e->file;
    identity_bytes(out, true, e->partition.ptr, e->partition.len);
    (void)pml_buf__append_be32(out, (uint32_t)e->bucket);
    (void)pml_buf__append_be32(out, (uint32_t)f->level);
    identity_text(out, f->name);
    (void)pml_buf__append_be64(out, f->extra_files.n);
    for (size_t i = 0; i < f->extra_files.n; i++)
        identity_text(out, f->extra_files.v[i]);
    identity_bytes(out, f->has_embedded_index, f->embedded_index.ptr, f->embedded_index.len);
    identity_text(out, f->external_path);
    return out->rc;
}

/* ---- copies ---- */

static bool copy_bytes(pml_bytes *out, pml_arena *arena, pml_bytes b)
{
    *out = (pml_bytes){0};
    if (b.len == 0)
        return true;
    out->ptr = pml_arena__copy(arena, b.ptr, b.len);
    out->len = b.len;
    return out->ptr != NULL;
}

static bool copy_text(const char **out, pml_arena *arena, const char *s)
{
    *out = s == NULL ? NULL : pml_arena__strdup(arena, s);
    return s == NULL || *out != NULL;
}

static bool copy_stats(pml_simple_stats *out, pml_arena *arena, const pml_simple_stats *s)
{
    *out = *s;
    if (s->n_null_counts > 0) {
        out->null_counts = pml_arena__copy(arena, s->null_counts, s->n_null_counts * sizeof *s->null_counts);
        if (out->null_counts == NULL)
            return false;
    }
    return copy_bytes(&out->min, arena, s->min) && copy_bytes(&out->max, arena, s->max);
}

static bool copy_list(pml_string_list *out, pml_arena *arena, const pml_string_list *l)
{
    *out = (pml_string_list){.present = l->present};
    if (l->n == 0)
        return true;
    const char **v = pml_arena__array(arena, l->n, sizeof *v);
    if (v == NULL)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!copy_text(&v[i], arena, l->v[i]))
            return false;
    out->v = v;
    out->n = l->n;
    return true;
}

const char *pml_data_file__source(const pml_data_file *f)
{
    return f->file_source == PML_FILE_SOURCE_APPEND ? "APPEND" : f->file_source == PML_FILE_SOURCE_COMPACT ? "COMPACT" : NULL;
}

int pml_data_file__copy(pml_data_file *out, pml_arena *arena, const pml_data_file *f)
{
    pml_data_file copy = *f;
    bool ok =
        copy_text(&copy.name, arena, f->name) && copy_bytes(&copy.min_key, arena, f->min_key) &&
        copy_bytes(&copy.max_key, arena, f->max_key) && copy_stats(&copy.key_stats, arena, &f->key_stats) &&
        copy_stats(&copy.value_stats, arena, &f->value_stats) && copy_list(&copy.extra_files, arena, &f->extra_files) &&
        copy_bytes(&copy.embedded_index, arena, f->embedded_index) &&
        copy_list(&copy.value_stats_cols, arena, &f->value_stats_cols) &&
        copy_text(&copy.external_path, arena, f->external_path) && copy_list(&copy.write_cols, arena, &f->write_cols);
    *out = ok ? copy : (pml_data_file){0};
    return ok ? PML_OK : PML_E_NOMEM;
}

int pml_manifest_entry__copy(pml_manifest_entry *out, pml_arena *arena, const pml_manifest_entry *e)
{
    pml_manifest_entry copy = *e;
    *out = (pml_manifest_entry){0};
    if (!copy_bytes(&copy.partition, arena, e->partition))
        return PML_E_NOMEM;
    PML_RETURN_IF(pml_data_file__copy(&copy.file, arena, &e->file));
    *out = copy;
    return PML_OK;
}
