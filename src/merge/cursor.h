/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run stands. Key prefixes, the order of keys and the kinds are made and checked for a stretch of PML_KEYS_CHUNK rows at a time,
 * column-wise, so that the merge itself only compares integers.
 */
#ifndef PML_MERGE_CURSOR_H
#define PML_MERGE_CURSOR_H

#include "merge/key_prefix.h"
#include "merge/merge.h"
#include "merge/row_order.h"
#include "merge/window.h"

/* What the keys of a run take: room for one that is never looked at, and some more, so that those of several runs do not meet in the same
   places of a cache. */
enum { PML_CURSOR_KEYS = PML_KEYS_CHUNK + 36 };

typedef struct pml_cursor {
    /* What every row needs. */
    pml_key_prefix ahead; /* of the row behind that at hand, if the stretch has it: what comes next is known before it is asked for */
    pml_key_prefix *keys; /* of rows [begin, end) */
    uint32_t row, begin, end;
    uint32_t batch;           /* in the window */
    const uint8_t *sequences; /* of the batch's first row and on; int64, at any address */
    const int8_t *kinds;
    bool distinct; /* no two keys of the stretch are equal */
    bool retracts; /* it has -U or -D */
    /* The rest. */
    bool standing; /* in a batch */
    bool aside;    /* its row waits until the open key is closed */
    uint16_t number;
    uint32_t batch_rows;
    int64_t rows_before; /* in earlier batches */
    pml_run run;
} pml_cursor;

/* What the cursors of one merge share. */
typedef struct pml_cursor_rules {
    const pml_merge_layout *layout;
    pml_prefix_form form;
    pml_row_order keys, sequence;
    pml_window window;
} pml_cursor_rules;

/* The next stretch, of this batch or the next one; it may change the form of prefixes. *ended: there is none. PML_E_CORRUPT: keys go
   backwards, something is null that must not be, an unknown kind. */
int pml_cursor__refill(pml_cursor *c, pml_cursor_rules *rules, bool *ended, pml_error *err);

/* Makes the prefixes of the stretch anew. */
void pml_cursor__reload(pml_cursor *c, const pml_cursor_rules *rules);

static inline pml_key_prefix pml_cursor__key(const pml_cursor *c)
{
    return c->keys[c->row - c->begin];
}

/* Stands at a row of the stretch. */
static inline void pml_cursor__stand(pml_cursor *c, uint32_t row)
{
    c->row = row;
    c->ahead = c->keys[row - c->begin + 1];
}

static inline int64_t pml_cursor__sequence(const pml_cursor *c, uint32_t row)
{
    return (int64_t)pml_le64(c->sequences + (size_t)row * 8);
}

#endif
