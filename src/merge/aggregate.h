/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregators: what becomes of one column in the rows of one key (Java: FieldAggregator and its implementations, release 1.4.2).
 *
 * A merge function turns the rows of a key into steps and has each wanted column folded over them; what Java does row by row is
 * done column by column here, so that one loop serves one type. The accumulator is null at first and state does not outlive a key.
 * A value that stands in some row is picked; only what is computed is built.
 */
#ifndef PML_MERGE_AGGREGATE_H
#define PML_MERGE_AGGREGATE_H

#include "columnar/item.h"
#include "merge/function.h"
#include "merge/merge_options.h"

typedef enum pml_fold_op {
    PML_FOLD_ADD,      /* agg(accumulator, input) */
    PML_FOLD_REVERSED, /* aggReversed: the input is older than the accumulator */
    PML_FOLD_RETRACT,
    PML_FOLD_TAKE, /* the input as it is, null included; no aggregator is asked */
    PML_FOLD_CLEAR /* null */
} pml_fold_op;

typedef struct pml_fold_step {
    uint32_t row; /* of the group */
    uint8_t op;
} pml_fold_step;

typedef struct pml_fold {
    const pml_merge_group *group;
    const pml_fold_step *steps;
    size_t n;
    bool plain; /* step i adds row i, for all rows */
    pml_merge_output *out;
} pml_fold;

struct pml_aggregator_kind;

typedef struct pml_aggregator {
    const struct pml_aggregator_kind *kind; /* NULL: none here */
    const char *name;                       /* the function's */
    int mode;                               /* which of a kind */
    bool retracts;                          /* the function can take rows back */
    bool ignore_retract;                    /* and such rows are passed over */
    pml_env *env;
    const pml_type *type; /* borrowed, as column */
    const char *column;
    int32_t position;
    void *state; /* the kind's */
} pml_aggregator;

typedef struct pml_aggregator_kind {
    size_t state_size; /* zeroed before open */
    /* All may be NULL but begin, step and end. */
    int (*open)(pml_aggregator *a, const pml_merge_options *o, pml_error *err);
    void (*drop)(pml_aggregator *a);
    void (*begin)(pml_aggregator *a, const pml_fold *f); /* a key */
    int (*step)(pml_aggregator *a, pml_fold_op op, pml_row_ref in, pml_error *err);
    int (*end)(pml_aggregator *a, pml_merge_output *out, pml_error *err); /* puts the value */
    /* A shorter way for plain folds; *done false: it has none for this type. */
    int (*plain)(pml_aggregator *a, const pml_fold *f, bool *done, pml_error *err);
} pml_aggregator_kind;

/* Of a function by name; name NULL: the internal last_value that is only taken and cleared. Unknown functions and types that they
   are not for: PML_E_SCHEMA; those that are not built: PML_E_UNSUPPORTED "needs aggregator:<name>". */
int pml_aggregator__open(pml_aggregator *out, pml_env *env, const char *name, const pml_field *field, int32_t position,
                         const pml_merge_options *o, pml_error *err);
void pml_aggregator__close(pml_aggregator *a); /* zeroed is fine */
/* PML_E_INVAL: the function cannot take a row of this kind back. */
int pml_aggregator__check_retract(const pml_aggregator *a, int8_t kind, pml_error *err);
int pml_aggregator__fold(pml_aggregator *a, const pml_fold *f, pml_error *err);
/* Whether there is a function of that name in the format, built here or not. */
bool pml_aggregator__is_known(const char *name);

/* The input of a step, and its batch column. A null reference: NULL. */
static inline pml_item pml_fold__item(const pml_fold *f, const pml_aggregator *a, pml_row_ref ref)
{
    if (ref.batch == PML_REF_NULL)
        return (pml_item){NULL, 0};
    return (pml_item){pml_merge_group__column(f->group, ref, a->position), ref.row};
}

/* The text of PML_E_NOMEM and PML_E_LIMIT, which outputs and builders give without one; what else there is has its own. Returns rc.
   */
int pml_aggregator__explain(const pml_aggregator *a, int rc, pml_error *err);

extern const pml_aggregator_kind pml_aggregator_pick, pml_aggregator_number, pml_aggregator_text, pml_aggregator_bitmap, pml_aggregator_bitmap64,
    pml_aggregator_collect, pml_aggregator_map, pml_aggregator_nested;

/* The modes of the kinds. */
enum {
    PML_PICK_LAST,
    PML_PICK_LAST_NON_NULL,
    PML_PICK_FIRST,
    PML_PICK_FIRST_NON_NULL,
    PML_PICK_MAX,
    PML_PICK_MIN,
    PML_PICK_AND,
    PML_PICK_OR,
    PML_PICK_KEY
};
enum { PML_NUMBER_SUM, PML_NUMBER_PRODUCT };
enum { PML_MAP_MERGE, PML_MAP_KEYTIME };
enum { PML_NESTED_UPDATE, PML_NESTED_PARTIAL_UPDATE };

#endif
