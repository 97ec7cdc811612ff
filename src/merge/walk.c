/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop over the rows of all runs in key order.
 *
 * 1. The tree gives the run of the least key. Among equal keys it is the one that was given first, so the rows of a key come run by run.
 * 2. LAST and FIRST without the lookup rule fold: they keep the one row that wins so far, and need no memory for the others.
 *    ALL gives its rows out as they come, as long as they come in order.
 *    Everything else collects the rows of the key and decides when it is complete (group.c).
 * 3. When one run has won a few times in a row it may be alone here: the rows below the least key of all others whose keys are distinct
 *    have no rivals, and go to the output together, unseen by any function.
 *
 * The loop exists once, and is compiled for each way of folding and for keys that prefixes settle: no function pointer, and no question
 * that has the same answer for all rows.
 */
#include "merge/walk.h"

enum { STREAK_MIN = 4, STRETCH_MIN = 8 };

typedef enum walk_mode { WALK_LAST, WALK_FIRST, WALK_ALL, WALK_GROUP } walk_mode;

/* What LAST and FIRST know of a key. ALL: the newest of its rows, which all are in the output already. */
typedef struct fold {
    pml_row_ref best;
    const uint8_t *sequence; /* its number, which most keys' rows are never asked for */
    uint32_t rows;
    bool retract;  /* the best is */
    bool retracts; /* any is */
} fold;

static inline bool is_retract(const pml_cursor *c)
{
    return c->retracts && pml_row_kind__is_retract(c->kinds[c->row]);
}

static inline fold fold_start(const pml_cursor *c)
{
    bool retract = is_retract(c);
    return (fold){{c->batch, c->row}, c->sequences + (size_t)c->row * 8, 1, retract, retract};
}

/* One more row, which is newer than the others where nothing else says so. */
static inline void fold_add(fold *f, const pml_merge *m, const pml_cursor *c, walk_mode mode)
{
    const uint8_t *sequence = c->sequences + (size_t)c->row * 8;
    bool retract = is_retract(c), first = mode == WALK_FIRST;
    bool newer = pml_row__at_least((int64_t)pml_le64(sequence), retract, (int64_t)pml_le64(f->sequence), f->retract);
    if (m->rules.sequence.n > 0) {
        const struct ArrowArray *const *batches = m->rules.window.batches;
        int order =
            pml_row_order__compare(&m->rules.sequence, batches[f->best.batch], f->best.row, batches[c->batch], c->row);
        newer = order < 0 || (order == 0 && newer);
    }
    bool better = newer != first;
    if (first || m->function->ignore_delete) /* a retract is no better than anything but an older or newer retract */
        better = retract == f->retract ? better : f->retract;
    f->best = better ? (pml_row_ref){c->batch, c->row} : f->best;
    f->sequence = better ? sequence : f->sequence;
    f->retract = better ? retract : f->retract;
    f->retracts |= retract;
    f->rows++;
}

/* Rows of a key mostly come in order, and go out as they come; else, or when the output is full, they wait for each other. */
static inline int all_add(fold *f, pml_merge *m, const pml_cursor *c, bool open, pml_error *err)
{
    pml_merge_output *o = &m->output;
    fold one = fold_start(c);
    if (open && (m->group.n > 0 || o->n >= o->max || !pml_row__at_least((int64_t)pml_le64(one.sequence), one.retract,
                                                                                  (int64_t)pml_le64(f->sequence), f->retract))) {
        if (m->group.n == 0)
            PML_RETURN_IF(pml_group__take_back(m, f->rows, err));
        return pml_group__add(m, c, err);
    }
    one.rows = open ? f->rows + 1 : 1;
    o->rows[o->n++] = one.best;
    *f = one;
    return PML_OK;
}

static inline int fold_close(const fold *f, pml_merge *m, walk_mode mode, pml_error *err)
{
    if (mode == WALK_ALL)
        return m->group.n == 0 ? PML_OK : pml_group__close(m, err);
    pml_merge_output *o = &m->output;
    bool skip = m->function->ignore_delete || mode == WALK_FIRST, keep = true;
    if (f->retracts) {
        bool alone = f->rows == 1 && !m->function->always;
        if (mode == WALK_FIRST && !alone && !m->function->ignore_delete)
            return pml_merge__refuse_retract(m, err);
        keep = !f->retract || (o->keep_retracts && (alone || !skip));
    }
    o->rows[o->n] = f->best;
    o->n += keep;
    return PML_OK;
}

static inline bool same_key(const pml_merge *m, const fold *f, pml_key_prefix key, pml_key_prefix other, walk_mode mode,
                            bool settled)
{
    if (!pml_prefix__same(key, other))
        return false;
    if (settled || !pml_prefix__unsettled(&m->rules.form, key))
        return true;
    const pml_cursor *c = &m->cursors[pml_prefix__run(other)];
    const struct ArrowArray *const *batches = m->rules.window.batches;
    pml_row_ref of = mode == WALK_GROUP ? m->group.rows[0].ref : f->best;
    return pml_row_order__compare(&m->rules.keys, batches[of.batch], of.row, batches[c->batch], c->row) == 0;
}

/* The least key goes; the tree learns of the next one of its run. */
__attribute__((always_inline)) static inline int advance(pml_merge *m, pml_cursor *c, uint16_t run, bool settled, pml_error *err)
{
    pml_key_prefix key = c->ahead;
    if (c->row + 1 < c->end) {
        pml_cursor__stand(c, c->row + 1);
        /* Ten runs are more streams than the processor follows by itself. */
        __builtin_prefetch(c->sequences + ((size_t)c->row + 8) * 8);
        __builtin_prefetch(c->keys + (c->row - c->begin) + 4);
    } else {
        bool ended;
        PML_RETURN_IF(pml_cursor__refill(c, &m->rules, &ended, err));
        if (!settled && m->rules.form.changed)
            return PML_OK; /* the tree has to be set up again */
        key = ended ? PML_PREFIX_END : pml_cursor__key(c);
    }
    pml_loser_tree__replace(&m->tree, run, key, settled);
    return PML_OK;
}

/* How many rows of the run from where it stands have no rivals and fit the output; 0: fewer than STRETCH_MIN, which is the usual answer
   where runs take turns at random, and has to be cheap. */
static uint32_t stretch_rows(const pml_merge *m, const pml_cursor *c, uint16_t run)
{
    /* The last row of the cursor's stretch may have an equal one in the next. */
    uint32_t most = c->end - c->row - 1, low = STRETCH_MIN;
    if (!c->distinct || m->function->always || most < STRETCH_MIN)
        return 0;
    if (most > m->output.max - m->output.n)
        most = (uint32_t)(m->output.max - m->output.n);
    const pml_key_prefix *keys = c->keys + (c->row - c->begin);
    pml_key_prefix below = pml_loser_tree__second(&m->tree, run) >> PML_PREFIX_RUN_BITS << PML_PREFIX_RUN_BITS;
    if (most < STRETCH_MIN || keys[STRETCH_MIN - 1] >= below)
        return 0;
    if (keys[most - 1] < below)
        return most;
    while (low < most) {
        uint32_t mid = low + (most - low) / 2;
        if (keys[mid] < below)
            low = mid + 1;
        else
            most = mid;
    }
    return low;
}

static bool take_stretch(pml_merge *m, uint16_t run, bool settled)
{
    pml_cursor *c = &m->cursors[run];
    uint32_t n = stretch_rows(m, c, run);
    if (n == 0)
        return false;
    (void)pml_merge_output__pick_rows(&m->output, (pml_row_ref){c->batch, c->row}, n, c->kinds, c->sequences,
                                      c->retracts);
    pml_cursor__stand(c, c->row + n);
    pml_loser_tree__replace(&m->tree, run, pml_cursor__key(c), settled);
    return true;
}

/* The prefix of the open key, which this is a row of, in the new form. */
static pml_key_prefix play_again(pml_merge *m, pml_row_ref row)
{
    pml_key_prefix key = 0;
    pml_merge__play(m);
    (void)pml_prefix_form__load(&key, &m->rules.form, m->rules.window.batches[row.batch], row.row, 1, 0);
    return key;
}

/* The round has ended: the runs that had another row of its key come back. */
static bool release_aside(pml_merge *m)
{
    for (size_t i = 0; i < m->n_runs; i++)
        m->cursors[i].aside = false;
    pml_merge__play(m);
    return false;
}

__attribute__((always_inline)) static inline int walk(pml_merge *m, walk_mode mode, bool settled, pml_error *err)
{
    pml_merge_output *o = &m->output;
    pml_key_prefix key = 0;
    bool open = false;
    fold f = {0};
    bool aside = false; /* runs wait for the next round, see one_of_run */
    uint16_t last = PML_RUN_NONE;
    uint32_t streak = 0;
    for (;;) {
        pml_key_prefix head = m->tree.node[0];
        uint16_t run = pml_prefix__run(head);
        bool ended = run == PML_RUN_NONE;
        if (!open || ended || !same_key(m, &f, key, head, mode, settled)) {
            if (open)
                PML_RETURN_IF(mode == WALK_GROUP ? pml_group__close(m, err) : fold_close(&f, m, mode, err));
            open = false;
            if (aside) {
                aside = release_aside(m);
                continue;
            }
            if (ended || o->n >= o->max || m->rules.window.left_bytes > m->window_bytes) {
                m->ended = ended;
                return PML_OK;
            }
            if (streak >= STREAK_MIN && take_stretch(m, run, settled))
                continue;
        } else if (m->one_of_run && run == last) { /* rows of a key come run by run */
            aside = m->cursors[run].aside = true;
            pml_loser_tree__replace(&m->tree, run, PML_PREFIX_END, settled);
            continue;
        }
        pml_cursor *c = &m->cursors[run];
        if (mode == WALK_GROUP)
            PML_RETURN_IF(pml_group__add(m, c, err));
        else if (mode == WALK_ALL)
            PML_RETURN_IF(all_add(&f, m, c, open, err));
        else if (open)
            fold_add(&f, m, c, mode);
        else
            f = fold_start(c);
        open = true;
        key = head;
        streak = run == last ? streak + 1 : 0;
        last = run;
        PML_RETURN_IF(advance(m, c, run, settled, err));
        if (!settled && m->rules.form.changed)
            key = play_again(m, mode == WALK_GROUP ? m->group.rows[0].ref : f.best);
    }
}

int pml_merge__walk(pml_merge *m, pml_error *err)
{
    bool settled = m->rules.form.settled_max == UINT8_MAX;
    pml_merge_kind kind = m->function->kind;
    if (kind == PML_MERGE_ALL && !m->lookup && m->rules.sequence.n == 0 && m->output.keep_retracts)
        return settled ? walk(m, WALK_ALL, true, err) : walk(m, WALK_ALL, false, err);
    if (m->lookup || kind == PML_MERGE_COLUMNS || kind == PML_MERGE_ALL)
        return settled ? walk(m, WALK_GROUP, true, err) : walk(m, WALK_GROUP, false, err);
    if (kind == PML_MERGE_FIRST)
        return settled ? walk(m, WALK_FIRST, true, err) : walk(m, WALK_FIRST, false, err);
    return settled ? walk(m, WALK_LAST, true, err) : walk(m, WALK_LAST, false, err);
}
