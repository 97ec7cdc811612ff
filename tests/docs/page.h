/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of the pages takes for granted: an error object, `must`, rows from somewhere. */
#ifndef PML_TESTS_DOCS_PAGE_H
#define PML_TESTS_DOCS_PAGE_H

#include <paimonlive/paimonlive.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pml_error err = PML_ERROR_INIT;

#define must(rc) page_must((rc), __FILE__, __LINE__)
static inline void page_must(int rc, const char *file, int line)
{
    if (rc == PML_OK)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, pml_error_name(rc), err.message);
    exit(1);
}

#define expect(got, wanted) page_expect((got), (wanted), #got, __FILE__, __LINE__)
static inline void page_expect(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, (long long)got, (long long)wanted);
    exit(1);
}

/* A table of one BIGINT column, `id`, in which rows may be live. */
static inline void page_table_create(pml_table **out, pml_env *env, const char *path)
{
    static const char text[] =
        "{\"fields\":[{\"name\":\"id\",\"type\":\"BIGINT NOT NULL\"}],\"options\":{\"realtime.enabled\":\"true\"}}";
    must(pml_table_create(out, env, path, text, strlen(text), 0, &err));
}

/* ---- rows: the numbers from `next` to `end`, some at a time ---- */
typedef struct source {
    int64_t next, end;
} source_t;

typedef struct page_rows {
    int64_t ids[16];
    const void *id_buffers[2], *row_buffers[1];
    struct ArrowArray id, *children[1];
} page_rows;

static inline void page_child_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static inline void page_rows_release(struct ArrowArray *array)
{
    if (array->children[0]->release != NULL)
        array->children[0]->release(array->children[0]);
    free(array->private_data);
    array->release = NULL;
}

/* False at the end. */
static inline bool source_next(source_t *s, struct ArrowArray *out)
{
    page_rows *rows = calloc(1, sizeof *rows);
    int64_t n = 0;
    memset(out, 0, sizeof *out);
    while (rows != NULL && n < 16 && s->next < s->end)
        rows->ids[n++] = s->next++;
    if (n == 0) {
        free(rows);
        return false;
    }
    rows->id_buffers[1] = rows->ids;
    rows->id =
        (struct ArrowArray){.length = n, .n_buffers = 2, .buffers = rows->id_buffers, .release = page_child_release};
    rows->children[0] = &rows->id;
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .n_children = 1,
                               .buffers = rows->row_buffers,
                               .children = rows->children,
                               .release = page_rows_release,
                               .private_data = rows};
    return true;
}

static inline void source_seek(source_t *s, int64_t next)
{
    s->next = next;
}

#endif
