/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: struct arrays in the Arrow form of a row type. Building, checking, sharing, gathering. Everything made here owns
 * its memory through the environment (which it holds a reference of) and may be released in any thread.
 */
#ifndef PML_COLUMNAR_BATCH_H
#define PML_COLUMNAR_BATCH_H

#include "columnar/predicate.h"

/* ---- builder: row-wise input (JSON lines, partition constants) to one array of any type ---- */
typedef struct pml_builder pml_builder;
/* Borrows type. */
int pml_builder__new(pml_builder **out, pml_env *env, const pml_type *type, pml_error *err);
void pml_builder__free(pml_builder *b);
int64_t pml_builder__length(const pml_builder *b);
int pml_builder__append_null(pml_builder *b);
/* Atomic types; PML_E_INVAL when kind or range do not fit the type, PML_E_LIMIT past 2^31-1 bytes of text. After any other
   failure of an append or close the builder can only be freed. */
int pml_builder__append_value(pml_builder *b, const pml_value *v);
/* Any type: a copy of row `row` (beyond the array's offset) of an array in the Arrow form of the builder's type. */
int pml_builder__append_item(pml_builder *b, const struct ArrowArray *array, int64_t row);
/* Nested: append to the children first (array: child 0 any number of elements; map and multiset: child 0 and 1 in step; row:
   one each; vector: child 0 exactly its length; variant: value, metadata), then close the item. A null needs nothing in the
   children. PML_E_INVAL: the children are out of step. */
pml_builder *pml_builder__child(pml_builder *b, size_t i);
int pml_builder__close_item(pml_builder *b);
/* Moves the rows out; the builder is empty again. */
int pml_builder__finish(pml_builder *b, struct ArrowArray *out, pml_error *err);

/* ---- whole arrays ---- */
/* A struct array over n child arrays of `length` rows, which are moved in (untouched on failure). */
int pml_batch__from_columns(struct ArrowArray *out, pml_env *env, struct ArrowArray *children, size_t n, int64_t length,
                            pml_error *err);
/* An array of `length` times the same value (null allowed). */
int pml_batch__constant(struct ArrowArray *out, pml_env *env, const pml_type *type, const pml_value *v, int64_t length,
                        pml_error *err);
/* Copies row `rows[i]` of `array` for i in [0, n), any type, nested too: tight loops per column. rows NULL: the first n rows. */
int pml_batch__gather(struct ArrowArray *out, pml_env *env, const pml_type *type, const struct ArrowArray *array,
                      const int64_t *rows, int64_t n, pml_error *err);
/* The same for a struct array of fields. */
int pml_batch__gather_rows(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                           const struct ArrowArray *batch, const int64_t *rows, int64_t n, pml_error *err);

/* Cuts a struct array of fields to the rows for which the predicate is true; it stays as it is on failure. */
int pml_batch__filter(struct ArrowArray *batch, pml_env *env, const pml_pred *predicate, const pml_field *fields, size_t n_fields,
                      pml_error *err);

typedef struct pml_row_list {
    const int64_t *rows;
    int64_t n;
} pml_row_list;
/* The same for n_lists lists of rows, out[i] for lists[i], column by column: a column is in the caches for all lists but the first.
   On failure all are released. */
int pml_batch__deal(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                    const struct ArrowArray *batch, const pml_row_list *lists, size_t n_lists, pml_error *err);

/* A row of one of several arrays. */
typedef struct pml_row_ref {
    uint32_t batch, row; /* row: beyond the array's own offset */
} pml_row_ref;
#define PML_REF_NULL UINT32_MAX /* as batch: a null */
/* Neighbouring rows of one array, or nulls. */
typedef struct pml_row_stretch {
    pml_row_ref first;
    int64_t n;
} pml_row_stretch;
/* References, looked through once for all the columns that are gathered by them. */
typedef struct pml_ref_list {
    pml_env *env;
    const pml_row_ref *refs; /* borrowed */
    int64_t n;
    bool nulls;                 /* some are */
    pml_row_stretch *stretches; /* NULL: too short to be worth it */
    int64_t n_stretches;
} pml_ref_list;
int pml_ref_list__init(pml_ref_list *l, pml_env *env, const pml_row_ref *refs, int64_t n, pml_error *err);
void pml_ref_list__clear(pml_ref_list *l);
/* Copies the rows that the list names of arrays[ref.batch], any type, nested too. Entries of arrays that no reference names may be
   NULL. PML_E_LIMIT: more text or elements than 32-bit offsets reach; PML_E_INVAL: offsets go backwards. */
int pml_batch__gather_refs(struct ArrowArray *out, const pml_type *type, const struct ArrowArray *const *arrays, size_t n_arrays,
                           const pml_ref_list *list, pml_error *err);

/* The rows of n struct arrays of fields one after the other, copied into one array; offsets of the inputs are honoured.
   PML_E_LIMIT: more text or elements than 32-bit offsets reach. */
int pml_batch__concat(struct ArrowArray *out, pml_env *env, const pml_field *fields, size_t n_fields,
                      const struct ArrowArray *const *inputs, size_t n, pml_error *err);

/* A counted owner of an array, so that several views may share its buffers without copying. */
typedef struct pml_shared pml_shared;
/* Moves array in. On failure array is untouched. */
int pml_shared__new(pml_shared **out, pml_env *env, struct ArrowArray *array, pml_error *err);
/* Over an array that belongs to somebody else, who keeps it unchanged until drop(owner), which runs once, in any thread, when
   the last reference goes. On failure drop does not run. */
int pml_shared__borrow(pml_shared **out, pml_env *env, const struct ArrowArray *array, void (*drop)(void *owner), void *owner,
                       pml_error *err);
void pml_shared__acquire(pml_shared *s);
void pml_shared__release(pml_shared *s);
const struct ArrowArray *pml_shared__array(const pml_shared *s);
/* The opposite of new: moves the array out and ends s, which nobody else may hold. */
void pml_shared__dissolve(struct ArrowArray *out, pml_shared *s);
/* A struct array of the rows [row, row + rows) of the chosen children over the same buffers. columns[i] = -1: an extra column
   of `rows` rows taken from `extra` (moved in, consecutive; untouched on failure). columns NULL: the first n_columns. */
int pml_shared__slice(struct ArrowArray *out, pml_shared *s, int64_t row, int64_t rows, const int32_t *columns,
                      size_t n_columns, struct ArrowArray *extra, pml_error *err);
/* Takes the first *skip rows off a struct array, which is released when none is left; *skip is what is still to skip. */
int pml_batch__drop_front(struct ArrowArray *batch, pml_env *env, int64_t *skip, pml_error *err);

/* Bytes of the visible rows of a batch in its buffers, for accounting. Costs O(columns). */
uint64_t pml_batch__bytes(const struct ArrowArray *batch, const pml_field *fields, size_t n);

/* ---- checking foreign arrays (realtime.md 8 step 1) ---- */
typedef enum pml_check_level { PML_CHECK_TRUSTED = 0, PML_CHECK_BASIC = 1, PML_CHECK_FULL = 2, PML_CHECK_STORED = 3 } pml_check_level;
/* Structure (children, buffers, lengths) always; basic: monotone offsets, no null in NOT NULL columns; full: UTF-8 and value
   ranges (DECIMAL precision, TIME); stored: full, but a DECIMAL of up to 18 digits may be any number of 64 bits, since Java's sums go
   beyond their precision and are stored so. PML_E_INVAL names column and row. */
int pml_batch__check(const struct ArrowArray *batch, const pml_field *fields, size_t n, pml_check_level level,
                     pml_error *err);

/* ---- column statistics, as they go into manifests ---- */
typedef struct pml_stats_collector pml_stats_collector;
/* Borrows fields. After a failed update the collector can only be freed. */
int pml_stats__new(pml_stats_collector **out, pml_env *env, const pml_field *fields, size_t n, pml_error *err);
void pml_stats__free(pml_stats_collector *s);
int pml_stats__update(pml_stats_collector *s, const struct ArrowArray *batch, pml_error *err);
/* Untruncated min, max and null count of column i; values borrow from the collector. Nested: unknown (null_count -1 for
   Parquet's rule is the caller's business: here the top-level null count is exact), as BLOB. Columns with NaN: no min, no
   max. */
void pml_stats__get(pml_column_stats *out, const pml_stats_collector *s, size_t i);

/* ---- streams ---- */
/* A stream over a callback. next leaves out->release NULL at the end. The schema is moved in. drop (NULL allowed) runs
   once, at release. On failure nothing was moved and drop does not run. */
int pml_stream__new(struct ArrowArrayStream *out, pml_env *env, struct ArrowSchema *schema,
                    int (*next)(void *owner, struct ArrowArray *out, pml_error *err), void (*drop)(void *owner),
                    void *owner, pml_error *err);
/* One array as a stream. Schema and array are moved in (untouched on failure). */
int pml_stream__from_array(struct ArrowArrayStream *out, pml_env *env, struct ArrowSchema *schema,
                           struct ArrowArray *array, pml_error *err);
/* A deep copy. */
int pml_schema__copy(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, pml_error *err);
/* The value of a key in the metadata of an Arrow schema (NULL allowed); not NUL-terminated. false: absent, or damaged. */
bool pml_schema__metadata_find(const char **value, size_t *len, const char *metadata, const char *key);
/* A deep copy whose outermost node has this one pair as its metadata. */
int pml_schema__copy_with(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, const char *key,
                          const char *value, pml_error *err);
/* The error of the last failed call on a stream made by pml_stream__new, for our own callers; false for foreign streams. */
bool pml_stream__last_error(struct ArrowArrayStream *stream, pml_error *err);

static inline void pml_array__release(struct ArrowArray *a)
{
    if (a->release != NULL)
        a->release(a);
}

static inline void pml_schema__release(struct ArrowSchema *s)
{
    if (s->release != NULL)
        s->release(s);
}

#endif
