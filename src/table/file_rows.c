/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_rows.h"

#include <string.h>

#include "format/file_index.h"
#include "storage/file_io.h"

static int undeleted(pml_row_set *rows, const char **gone, pml_env *env, const pml_deletion *d, int64_t n_rows, pml_error *err)
{
    if (d == NULL)
        return PML_OK;
    *gone = d->path;
    PML_RETURN_IF(pml_deletion_vector__read(rows, env, d->path, &d->at, n_rows, err));
    pml_row_set__invert(rows);
    return PML_OK;
}

/* The name of the index file among the extra files; NULL: there is none. */
static const char *index_name(const pml_data_file *f)
{
    static const char suffix[] = ".index";
    for (size_t i = 0; i < f->extra_files.n; i++) {
        size_t n = strlen(f->extra_files.v[i]);
        if (n > sizeof suffix - 1 && strcmp(f->extra_files.v[i] + n - (sizeof suffix - 1), suffix) == 0)
            return f->extra_files.v[i];
    }
    return NULL;
}

/* Beside its data file, wherever that is. */
static int index_path(const char **out, pml_arena *arena, const char *data_path, const char *name, pml_error *err)
{
    const char *slash = strrchr(data_path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - data_path) + 1, n = strlen(name) + 1;
    char *path = pml_arena__alloc(arena, folder + n);
    *out = path;
    if (path == NULL)
        return pml_error__no_memory(err);
    memcpy(path, data_path, folder);
    memcpy(path + folder, name, n);
    return PML_OK;
}

/* Java's indexes hold texts as they were written, its ORC files CHAR without the blanks at the end: what is read is not what is indexed. */
static bool asks_for_chars(const pml_pred *p)
{
    bool any = p->type != NULL && p->type->kind == PML_TYPE_CHAR;
    for (size_t i = 0; i < p->n_children && !any; i++) /* as deep as predicates are, PML_PRED_DEPTH_MAX */
        any = asks_for_chars(p->children[i]);
    return any;
}

static bool is_orc(const pml_data_file *f)
{
    char format[16];
    return pml_path__format(format, f->name, NULL) == PML_OK && strcmp(format, "orc") == 0;
}

static int ask_index(pml_index_answer *out, const char **gone, pml_arena *arena, const pml_file_source *q, const pml_pred *predicate,
                     pml_error *err)
{
    const pml_data_file *f = &q->split->files[q->file];
    const char *data_path = q->split->paths[q->file], *name = index_name(f), *path;
    uint8_t *data;
    size_t len;
    if (is_orc(f) && asks_for_chars(predicate))
        return PML_OK;
    if (f->has_embedded_index)
        return pml_file_index__ask(out, arena->env, f->embedded_index, data_path, predicate, f->row_count, err);
    if (name == NULL)
        return PML_OK;
    PML_RETURN_IF(index_path(&path, arena, data_path, name, err));
    *gone = path;
    PML_RETURN_IF(pml_file__read_all(&data, &len, arena->env, path, PML_FILE_INDEX_MAX, err));
    int rc = pml_file_index__ask(out, arena->env, (pml_bytes){data, len}, path, predicate, f->row_count, err);
    pml_env__free(arena->env, data);
    return rc;
}

static void combine(pml_file_rows *out, pml_index_answer *indexed)
{
    if (indexed->kind == PML_INDEX_SKIP)
        out->none = true;
    if (indexed->kind != PML_INDEX_ROWS)
        return;
    if (out->rows.words == NULL) {
        out->rows = indexed->rows;
        *indexed = (pml_index_answer){0};
    } else {
        pml_row_set__and(&out->rows, &indexed->rows);
    }
}

int pml_file_rows__find(pml_file_rows *out, const char **gone, pml_arena *arena, const pml_file_source *q, const pml_pred *predicate,
                        pml_error *err)
{
    pml_index_answer indexed = {0};
    const pml_data_file *f = &q->split->files[q->file];
    int rc = PML_OK;
    *out = (pml_file_rows){0};
    *gone = NULL;
    if (q->indexes && predicate != NULL)
        PML_TRY(ask_index(&indexed, gone, arena, q, predicate, err));
    if (indexed.kind != PML_INDEX_SKIP)
        PML_TRY(undeleted(&out->rows, gone, arena->env, q->split->deletions[q->file], f->row_count, err));
    combine(out, &indexed);
    if (out->rows.words != NULL && !pml_row_set__any(&out->rows, 0, out->rows.n_rows))
        out->none = true;
out:
    pml_index_answer__clear(&indexed);
    return rc;
}
