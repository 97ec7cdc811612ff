/* SPDX-License-Identifier: Apache-2.0 */
#include "table/file_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "format/file_index.h"
#include "format/file_format.h"
#include "storage/file_io.h"
#include "util/thread.h"

/* A set of more rows is made only when the file, too, says that it has them: 1 MiB of bits. */
enum { ROWS_BELIEVED_MAX = 8 * 1024 * 1024 };

struct pml_shared_rows {
    atomic_int refs;
    pml_env *env;
    pml_mutex mu;
    bool found; /* with rows, guarded by mu */
    pml_file_rows rows;
};

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

static int ask_index(pml_index_answer *out, const char **gone, pml_arena *arena, const pml_file_source *q, const pml_pred *predicate,
                     pml_error *err)
{
    const pml_data_file *f = &q->split->files[q->file];
    const char *data_path = q->split->paths[q->file], *path;
    uint8_t *data;
    size_t len;
    if (pml_path__is_orc(f->name) && asks_for_chars(predicate))
        return PML_OK;
    if (f->has_embedded_index)
        return pml_file_index__ask(out, arena->env, f->embedded_index, data_path, predicate, f->row_count, err);
    PML_RETURN_IF(index_path(&path, arena, data_path, index_name(f), err));
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

/* Opens the file for no columns, which compares its number of rows with that of the manifest. */
static int ask_count(const char **gone, const pml_file_source *q, pml_error *err)
{
    struct ArrowArrayStream stream;
    char format[16];
    const pml_data_file *f = &q->split->files[q->file];
    const pml_format_read request = {.batch_rows = q->batch_rows,
                                     .untrusted = q->plan->table->options.read_untrusted,
                                     .expect_rows = f->row_count,
                                     .expect_bytes = f->size_bytes};
    if (f->row_count <= ROWS_BELIEVED_MAX)
        return PML_OK;
    *gone = q->split->paths[q->file];
    PML_RETURN_IF(pml_path__format(format, f->name, err));
    PML_RETURN_IF(pml_format__open(&stream, q->plan->env, format, *gone, &request, err));
    stream.release(&stream);
    return PML_OK;
}

static int find(pml_file_rows *out, const char **gone, pml_arena *arena, const pml_file_source *q, const pml_pred *predicate,
                pml_error *err)
{
    pml_index_answer indexed = {0};
    const pml_data_file *f = &q->split->files[q->file];
    const pml_deletion *deletion = q->split->deletions[q->file];
    bool ask = q->indexes && predicate != NULL && (f->has_embedded_index || index_name(f) != NULL);
    int rc = PML_OK;
    *out = (pml_file_rows){0};
    *gone = NULL;
    if (ask || deletion != NULL)
        PML_TRY(ask_count(gone, q, err));
    if (ask)
        PML_TRY(ask_index(&indexed, gone, arena, q, predicate, err));
    if (indexed.kind != PML_INDEX_SKIP)
        PML_TRY(undeleted(&out->rows, gone, arena->env, deletion, f->row_count, err));
    combine(out, &indexed);
    if (out->rows.words != NULL && !pml_row_set__any(&out->rows, 0, out->rows.n_rows))
        out->none = true;
out:
    pml_index_answer__clear(&indexed);
    return rc;
}

/* ---- shared by the parts of a file ---- */

pml_shared_rows *pml_shared_rows__new(pml_env *env)
{
    pml_shared_rows *s = pml_env__calloc(env, 1, sizeof *s);
    if (s == NULL)
        return NULL;
    pml_env_acquire(env);
    s->env = env;
    atomic_init(&s->refs, 1);
    pml_mutex__init(&s->mu, "file rows", 0);
    return s;
}

pml_shared_rows *pml_shared_rows__acquire(pml_shared_rows *s)
{
    if (s != NULL)
        (void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void pml_shared_rows__release(pml_shared_rows *s)
{
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    pml_env *env = s->env;
    pml_row_set__clear(&s->rows.rows);
    pml_mutex__destroy(&s->mu);
    pml_env__free(env, s);
    pml_env_release(env);
}

int pml_shared_rows__find(const pml_file_rows **out, const char **gone, pml_arena *arena, pml_shared_rows *s, const pml_file_source *q,
                          const pml_pred *predicate, pml_error *err)
{
    int rc = PML_OK;
    *out = &s->rows;
    pml_mutex__lock(&s->mu); /* over the reading: the other parts need what is read */
    if (!s->found) {
        rc = find(&s->rows, gone, arena, q, predicate, err);
        s->found = rc == PML_OK;
    }
    pml_mutex__unlock(&s->mu);
    return rc;
}
