/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicates over the columns of a row type: an immutable tree in an arena, evaluated exactly over batches and conservatively
 * over statistics. Semantics are Java's (org.apache.paimon.predicate): a comparison with a null value or literal is false;
 * doubles by total order (-0.0 < 0.0, NaN equal to itself and largest). NOT is not a node: callers push it down.
 */
#ifndef PML_COLUMNAR_PREDICATE_H
#define PML_COLUMNAR_PREDICATE_H

#include "columnar/value.h"

typedef enum pml_pred_op {
    PML_PRED_TRUE = 1,
    PML_PRED_FALSE,
    PML_PRED_AND,
    PML_PRED_OR,
    PML_PRED_EQ,
    PML_PRED_NE,
    PML_PRED_LT,
    PML_PRED_LE,
    PML_PRED_GT,
    PML_PRED_GE,
    PML_PRED_IN,
    PML_PRED_NOT_IN,
    PML_PRED_IS_NULL,
    PML_PRED_IS_NOT_NULL,
    PML_PRED_STARTS_WITH,
    PML_PRED_ENDS_WITH,
    PML_PRED_CONTAINS
} pml_pred_op;

typedef struct pml_pred {
    pml_pred_op op;
    int32_t field_id;     /* leaves: by id, so that the tree survives schema changes */
    const pml_type *type; /* of a nested type only the outermost node counts, and only IS [NOT] NULL may use it */
    const char *name;     /* of the column, for messages */
    size_t n_literals;
    pml_value *literals;
    size_t n_children;
    struct pml_pred **children;
} pml_pred;

enum {
    PML_PRED_DEPTH_MAX = 64,       /* evaluation recurses; deeper ones are machine-made and can be flattened */
    PML_PRED_LITERALS_MAX = 65536, /* in the whole tree: IN lists come from queries */
    PML_PRED_NODES_MAX = 65536
};

/* Deep copy into an arena; of nested types only the outermost node is kept. Checks the tree: PML_E_LIMIT for the limits above,
   PML_E_INVAL when a node misses parts or a literal is not of the column's type, PML_E_NOMEM. */
int pml_pred__copy(pml_pred **out, pml_arena *arena, const pml_pred *p);

/* Statistics of one column of a file, row group or chunk. */
typedef struct pml_column_stats {
    int32_t field_id;
    pml_value min, max; /* null: unknown */
    int64_t null_count; /* -1: unknown */
} pml_column_stats;

/* false only if no row of the `rows` rows can match. A column without an entry in stats is unknown. A column that does not
   exist in the file and reads as null gets an entry with null min and max and null_count = rows from the caller. */
bool pml_pred__may_match(const pml_pred *p, const pml_column_stats *stats, size_t n_stats, int64_t rows);

/* Exact evaluation: sets keep[i] to 1 or 0 for each row of the batch (a struct array in the Arrow form of fields).
   PML_E_INVAL: a column is not among the fields or has another type. Timestamps compare across precisions; decimal literals
   are at the scale of the column. */
int pml_pred__eval(uint8_t *keep, const pml_pred *p, pml_env *env, const struct ArrowArray *batch,
                   const pml_field *fields, size_t n_fields, pml_error *err);

/* The conjuncts of p that only use the given field ids (for partition and bucket pruning); NULL when none. Shares nodes and
   literals with p. */
int pml_pred__project(pml_pred **out, pml_arena *arena, const pml_pred *p, const int32_t *ids, size_t n_ids);
/* Exact evaluation over one row of values (values[i] belongs to ids[i]); columns of p that are not in ids make it true. */
bool pml_pred__test_values(const pml_pred *p, const int32_t *ids, const pml_value *values, size_t n);
/* Calls fn for every distinct column id used. */
void pml_pred__columns(const pml_pred *p, void (*fn)(void *arg, int32_t field_id), void *arg);

#endif
