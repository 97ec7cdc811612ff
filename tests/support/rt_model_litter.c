/* SPDX-License-Identifier: Apache-2.0 */
/* Without faults, expiry and rollback every file of the table is named by a snapshot: lost races and aborts leave nothing behind. */
#include <stdlib.h>
#include <string.h>

#include "meta/path.h"
#include "realtime/rt_offsets.h"
#include "support/rt_model_state.h"

enum { DIRECTORIES_MAX = 64 };

typedef struct litter {
    rt_model *m;
    pml_arena arena;
    pml_map named;
    char *dirs[DIRECTORIES_MAX];
    size_t n_dirs;
    const char *listed;
    long long files;
} litter;

static void name(litter *l, const char *file)
{
    const char *base = file == NULL ? NULL : strrchr(file, '/');
    base = base == NULL ? file : base + 1;
    if (base != NULL)
        assert_int_equal(pml_map__put(&l->named, base, strlen(base), l, NULL), PML_OK);
}

static bool name_entry(void *arg, const pml_manifest_entry *e)
{
    name(arg, e->file.name);
    return false;
}

static void name_snapshot(litter *l, int64_t id)
{
    rt_model *m = l->m;
    pml_snapshot s;
    pml_manifest_list list = {0};
    pml_manifest_entries none = {0};
    pml_error err = PML_ERROR_INIT;
    if (!model_expect(m, PML_OK, pml_table__load_snapshot(&s, &l->arena, m->table, id, &err), &err, "load_snapshot"))
        return;
    name(l, s.base_manifest_list);
    name(l, s.delta_manifest_list);
    name(l, pml_snapshot__property(&s, PML_PROGRESS_PROPERTY));
    (void)model_expect(m, PML_OK, pml_table__load_manifest_list(&list, &l->arena, m->table, s.base_manifest_list, &err), &err, "list");
    (void)model_expect(m, PML_OK, pml_table__load_manifest_list(&list, &l->arena, m->table, s.delta_manifest_list, &err), &err, "list");
    for (size_t i = 0; i < list.n && !m->failed; i++) {
        name(l, list.v[i].name);
        (void)model_expect(m, PML_OK, pml_table__load_manifest(&none, &l->arena, m->table, list.v[i].name, name_entry, l, &err), &err,
                           "manifest");
    }
}

static int visit(void *arg, const char *file, uint32_t kind)
{
    litter *l = arg;
    bool own = strcmp(l->listed, MODEL_TABLE) == 0 && (strcmp(file, "snapshot") == 0 || strcmp(file, "schema") == 0 || strcmp(file, "tag") == 0);
    if (kind == PML_FILE_DIRECTORY && !own && l->n_dirs < DIRECTORIES_MAX) {
        char *path = pml_arena__alloc(&l->arena, strlen(l->listed) + strlen(file) + 2);
        assert_non_null(path);
        memcpy(path, l->listed, strlen(l->listed));
        path[strlen(l->listed)] = '/';
        memcpy(path + strlen(l->listed) + 1, file, strlen(file));
        l->dirs[l->n_dirs++] = path;
    } else if (kind != PML_FILE_DIRECTORY) {
        l->files++;
        if (!pml_map__has(&l->named, file, strlen(file)))
            model_fail(l->m, "no snapshot names %s/%s", l->listed, file);
    }
    return PML_OK;
}

void model_check_litter(rt_model *m)
{
    litter l = {.m = m};
    char root[] = MODEL_TABLE;
    const pml_file_system *fs = &m->t->env->fs;
    pml_arena__init(&l.arena, m->t->env);
    pml_map__init(&l.named, m->t->env);
    for (int64_t id = 1; id <= m->latest && !m->failed; id++)
        name_snapshot(&l, id);
    l.dirs[l.n_dirs++] = root;
    for (size_t i = 0; i < l.n_dirs && !m->failed; i++) {
        pml_error err = PML_ERROR_INIT;
        l.listed = l.dirs[i];
        (void)model_expect(m, PML_OK, fs->list(fs->ctx, l.listed, visit, &l, &err), &err, "list");
    }
    model_log(m, "%lld files, all named", l.files);
    pml_map__clear(&l.named, NULL);
    pml_arena__clear(&l.arena);
}
