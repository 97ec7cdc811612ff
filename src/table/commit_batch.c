/* SPDX-License-Identifier: Apache-2.0 */
/* Batch commits, also those that overwrite: idempotence by user and identifier, and the check of recovered messages. */
#include <string.h>

#include "storage/file_io.h"
#include "table/commit.h"
#include "table/writer.h"

int pml_commit_open(pml_commit **out, pml_table *t, const char *user, pml_error *err)
{
    char uuid[37];
    PML_RETURN_IF(pml_error__need(out, "out", err));
    *out = NULL;
    if (user != NULL && user[0] == '\0')
        return pml_error__set(err, PML_E_INVAL, "the commit user is empty");
    PML_RETURN_IF(pml_writer__check_table(t, err));
    PML_RETURN_IF(pml_env__uuid(t->env, uuid, err));
    pml_commit *c = pml_env__calloc(t->env, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(err);
    pml_table_acquire(t);
    c->env = t->env;
    c->table = t;
    c->user = pml_env__strdup(t->env, user == NULL ? uuid : user);
    if (c->user == NULL) {
        pml_commit_close(c);
        return pml_error__no_memory(err);
    }
    *out = c;
    return PML_OK;
}

void pml_commit_close(pml_commit *c)
{
    if (c == NULL)
        return;
    pml_env *env = c->env;
    pml_table *t = c->table;
    pml_env__free(env, c->user);
    pml_env__free(env, c);
    pml_table_release(t);
}

const char *pml_commit_user(const pml_commit *c)
{
    return c->user;
}

typedef struct batch_commit {
    pml_commit *commit;
    int64_t identifier;
    const pml_commit_options *options;
    const pml_overwrite *overwrite; /* NULL: rows are only added */
    size_t n;
    pml_new_files **files;
} batch_commit;

static int must_exist(pml_env *env, const char *path, pml_error *err)
{
    bool there;
    PML_RETURN_IF(pml_file__exists(&there, env, path, err));
    if (there)
        return PML_OK;
    return pml_error__at(err, PML_E_NOT_FOUND, PML_PLACE_DATA_FILE, path, "%s is gone: these messages cannot be committed any more", path);
}

static int files_exist(batch_commit *b, pml_error *err)
{
    for (size_t i = 0; i < b->n; i++) {
        for (size_t j = 0; j < b->files[i]->n; j++)
            PML_RETURN_IF(must_exist(b->commit->env, b->files[i]->paths[j], err));
        if (b->files[i]->index != NULL)
            PML_RETURN_IF(must_exist(b->commit->env, b->files[i]->index_path, err));
    }
    return PML_OK;
}

static int refuse_known(batch_commit *b, const pml_commit_base *base, const char *name, pml_error *err)
{
    PML_RETURN_IF(pml_commit__confirm(b->commit, base->latest->id, err));
    return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_DATA_FILE, name, "%s is part of %s already: these messages were committed before", name,
                         b->commit->table->path);
}

/* The data files of a message may be compacted away while its index file is still the bucket's. */
static int refuse_known_indexes(batch_commit *b, const pml_commit_base *base, pml_error *err)
{
    pml_index_entries live = {0};
    bool any = false;
    for (size_t i = 0; i < b->n; i++)
        any = any || b->files[i]->index != NULL;
    if (!any || base->latest->index_manifest == NULL)
        return PML_OK;
    PML_RETURN_IF(pml_table__load_index_manifest(&live, base->arena, b->commit->table, base->latest->index_manifest, err));
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; b->files[i]->index != NULL && k < live.n; k++)
            if (strcmp(live.v[k].name, b->files[i]->index->name) == 0)
                return refuse_known(b, base, live.v[k].name, err);
    return PML_OK;
}

/* A file that the table holds already would be added twice: a replayed commit whose snapshot of this user has expired. */
static int refuse_known_files(batch_commit *b, const pml_commit_base *base, pml_error *err)
{
    pml_manifest_entries live;
    pml_map known;
    int rc;
    pml_map__init(&known, b->commit->env);
    PML_TRY(pml_table__live_files(&live, base->arena, b->commit->table, base->latest, NULL, err));
    for (size_t i = 0; i < live.n; i++)
        if (pml_map__put(&known, live.v[i].file.name, strlen(live.v[i].file.name), &known, NULL) != PML_OK) {
            rc = pml_error__no_memory(err);
            goto out;
        }
    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < b->files[i]->n; j++)
            if (pml_map__has(&known, b->files[i]->files[j].name, strlen(b->files[i]->files[j].name)))
                PML_TRY(refuse_known(b, base, b->files[i]->files[j].name, err));
    PML_TRY(refuse_known_indexes(b, base, err));
out:
    pml_map__clear(&known, NULL);
    return rc;
}

/* What this process committed stays committed, also where the rows have been removed since: the files will be deleted with the
   snapshots that held them. Where an earlier outcome is unknown, the table tells. */
static int refuse_committed(batch_commit *b, const pml_commit_base *base, pml_error *err)
{
    bool look = b->overwrite != NULL || (b->options->flags & PML_COMMIT_CHECK) != 0;
    for (size_t i = 0; i < b->n; i++) {
        const pml_new_files *f = b->files[i];
        if (f->fate == PML_FILES_COMMITTED && f->n > 0)
            return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_DATA_FILE, f->paths[0],
                                 "%s went into %s already: these messages were committed before", f->paths[0], b->commit->table->path);
        look = look || f->fate == PML_FILES_UNKNOWN;
    }
    return look && b->n > 0 && base->latest != NULL ? refuse_known_files(b, base, err) : PML_OK;
}

static const char progress_key[] = "realtime.offsets";

/* The caller's properties, and the real-time progress (NULL: none). */
static int set_properties(pml_commit_decision *d, const pml_commit_options *o, const char *progress, const pml_commit_base *base,
                          pml_error *err)
{
    const char *const key = progress_key;
    pml_option *v = pml_arena__array(base->arena, o->n_properties + 1, sizeof *v);
    if (v == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < o->n_properties; i++) {
        if (strcmp(o->properties[i].key, key) == 0)
            return pml_error__set(err, PML_E_INVAL, "the property %s belongs to real-time commits", key);
        v[d->n_properties++] = (pml_option){o->properties[i].key, o->properties[i].value};
    }
    if (progress != NULL)
        v[d->n_properties++] = (pml_option){key, progress};
    d->properties = v;
    return PML_OK;
}

/* A commit without files makes a snapshot only where somebody asked for it, or where rows go. */
static bool has_nothing_to_do(const batch_commit *b)
{
    if (b->n > 0)
        return false;
    if (b->overwrite != NULL)
        return b->overwrite->specs == NULL; /* Java: no new files replace nothing */
    return (b->options->flags & PML_COMMIT_EMPTY) == 0 && !b->commit->table->options.commit_force_create;
}

/* The delta and the progress. A commit that brings no real-time rows and removes none carries the progress of the snapshot before on
   (realtime.md 7.3), or every reader would have to walk back for it. */
static int fill_decision(pml_commit_decision *d, const batch_commit *b, const pml_commit_base *base, pml_error *err)
{
    const char *progress = base->latest == NULL ? NULL : pml_snapshot__property(base->latest, progress_key);
    d->n_files = b->n;
    d->files = (const pml_new_files *const *)b->files;
    if (b->overwrite == NULL)
        return set_properties(d, b->options, progress, base, err);
    PML_RETURN_IF(pml_overwrite__decide(d, &progress, b->overwrite, b->commit->table, base, err));
    int rc = set_properties(d, b->options, progress, base, err);
    if (rc != PML_OK)
        b->overwrite->note->undo(b->overwrite->note->arg);
    return rc;
}

static int batch_decide(void *arg, pml_commit_decision *d, const pml_commit_base *base, pml_error *err)
{
    batch_commit *b = arg;
    const pml_commit_options *o = b->options;
    pml_snapshot s;
    bool found = false, check = (o->flags & PML_COMMIT_CHECK) != 0;
    d->identifier = b->identifier;
    if (check && base->latest != NULL) {
        PML_RETURN_IF(
            pml_commit__find_user(&found, &s, base->arena, b->commit->table, base->latest->id, b->commit->user, err));
        if (found && s.commit_identifier >= b->identifier) {
            d->nothing = true;
            d->result_id = s.id;
            return PML_OK;
        }
    }
    PML_RETURN_IF(refuse_committed(b, base, err));
    if (check)
        PML_RETURN_IF(files_exist(b, err));
    if (has_nothing_to_do(b)) {
        d->nothing = true;
        d->result_id = -1;
        return PML_OK;
    }
    return fill_decision(d, b, base, err);
}

static void batch_undo(void *arg)
{
    const batch_commit *b = arg;
    b->overwrite->note->undo(b->overwrite->note->arg);
}

/* The same messages twice in one call would add every file twice. */
static int refuse_repeated(pml_env *env, pml_messages *const *messages, size_t n, pml_error *err)
{
    pml_map seen;
    int rc = PML_OK;
    pml_map__init(&seen, env);
    for (size_t i = 0; rc == PML_OK && i < n; i++) {
        if (pml_map__has(&seen, &messages[i], sizeof messages[i]))
            rc = pml_error__set(err, PML_E_INVAL, "messages %zu of the commit are given twice", i);
        else if (pml_map__put(&seen, &messages[i], sizeof messages[i], &seen, NULL) != PML_OK)
            rc = pml_error__no_memory(err);
    }
    pml_map__clear(&seen, NULL);
    return rc;
}

static int collect_files(batch_commit *b, pml_messages *const *messages, size_t n, pml_error *err)
{
    size_t total = 0;
    PML_RETURN_IF(pml_error__need_pointers((const void *const *)messages, n, "messages", err));
    PML_RETURN_IF(refuse_repeated(b->commit->env, messages, n, err));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(messages[i]->table->path, b->commit->table->path) != 0)
            return pml_error__set(err, PML_E_INVAL, "messages of %s cannot be committed to %s",
                                  messages[i]->table->path, b->commit->table->path);
        total += messages[i]->n;
    }
    b->files = pml_env__calloc(b->commit->env, total, sizeof *b->files);
    if (b->files == NULL)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < messages[i]->n; j++)
            b->files[b->n++] = messages[i]->v[j];
    return PML_OK;
}

/* already_committed may mean other files under the same identifier: those of an unknown outcome are ours. */
static void note_fate(batch_commit *b, int rc, const pml_commit_result *r)
{
    for (size_t i = 0; i < b->n; i++) {
        pml_new_files *f = b->files[i];
        if (rc == PML_E_UNKNOWN_OUTCOME)
            f->fate = PML_FILES_UNKNOWN;
        else if (rc == PML_OK && r->snapshot_id >= 0 && (r->already_committed == 0 || f->fate == PML_FILES_UNKNOWN))
            f->fate = PML_FILES_COMMITTED;
    }
}

int pml_commit__batch(pml_commit_result *out, pml_commit *c, const pml_overwrite *o, pml_messages *const *messages, size_t n,
                      int64_t identifier, const pml_commit_options *options, pml_error *err)
{
    const pml_commit_options defaults = PML_COMMIT_OPTIONS_INIT;
    batch_commit b = {
        .commit = c, .identifier = identifier, .options = options == NULL ? &defaults : options, .overwrite = o};
    pml_commit_result unwanted = PML_COMMIT_RESULT_INIT;
    int rc;
    if (out == NULL)
        out = &unwanted;
    if (b.options->struct_size != sizeof defaults || out->struct_size != sizeof *out)
        return pml_error__set(err, PML_E_INVAL,
                              "struct_size of commit options or result is not what this library knows");
    const pml_commit_request request = {.arg = &b,
                                        .decide = batch_decide,
                                        .undo = o == NULL ? NULL : batch_undo,
                                        .watermark = b.options->watermark,
                                        .kind = o == NULL ? PML_COMMIT_APPEND : PML_COMMIT_OVERWRITE,
                                        .delta_per_attempt = o != NULL};
    PML_RETURN_IF(pml_table__check_pairs(b.options->properties, b.options->n_properties, "properties", err));
    if (o != NULL)
        PML_TRY(pml_overwrite__check(o, c->table, err));
    PML_TRY(collect_files(&b, messages, n, err));
    rc = pml_commit__execute(out, c, &request, err);
    note_fate(&b, rc, out);
out:
    pml_env__free(c->env, b.files);
    return rc;
}

int pml_commit_run(pml_commit_result *out, pml_commit *c, pml_messages *const *messages, size_t n, int64_t identifier,
                   const pml_commit_options *options, pml_error *err)
{
    return pml_commit__batch(out, c, NULL, messages, n, identifier, options, err);
}

/* Messages that exist as bytes may have been committed by another process. */
static int refuse_live(pml_commit *c, pml_messages *const *messages, size_t n, pml_error *err)
{
    batch_commit b = {.commit = c};
    pml_arena arena;
    pml_snapshot latest;
    int64_t id;
    int rc;
    pml_arena__init(&arena, c->env);
    PML_TRY(collect_files(&b, messages, n, err));
    PML_TRY(pml_table__latest_snapshot(&id, c->table, false, err));
    if (id >= 0) {
        const pml_commit_base base = {&latest, id + 1, &arena};
        PML_TRY(pml_table__load_snapshot(&latest, &arena, c->table, id, err));
        PML_TRY(refuse_known_files(&b, &base, err));
    }
out:
    pml_env__free(c->env, b.files);
    pml_arena__clear(&arena);
    return rc;
}

static int refuse_abort(const pml_new_files *f, pml_error *err)
{
    if (f->fate == PML_FILES_NEW || f->n == 0)
        return PML_OK;
    return pml_error__at(err, PML_E_CONFLICT, PML_PLACE_DATA_FILE, f->paths[0],
                         f->fate == PML_FILES_COMMITTED
                             ? "%s went into the table: committed messages cannot be aborted"
                             : "it is not known whether %s went into the table: commit the messages again with PML_COMMIT_CHECK",
                         f->paths[0]);
}

int pml_commit_abort(pml_commit *c, pml_messages *const *messages, size_t n, pml_error *err)
{
    bool copied = false;
    PML_RETURN_IF(pml_error__need_pointers((const void *const *)messages, n, "messages", err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < messages[i]->n; j++) {
            PML_RETURN_IF(refuse_abort(messages[i]->v[j], err));
            copied = copied || (messages[i]->v[j]->copied && messages[i]->v[j]->n > 0);
        }
    if (copied)
        PML_RETURN_IF(refuse_live(c, messages, n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < messages[i]->n; j++)
            pml_new_files__delete(messages[i]->v[j]);
    return PML_OK;
}
