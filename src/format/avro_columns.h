/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that grow value by value while the records of an Avro data file are decoded: a node per type of the wanted fields, in the
 * order in which a walk meets them (a parent, then its children), each with the buffers of its Arrow array. Internal to format/avro_*.
 */
#ifndef PML_FORMAT_AVRO_COLUMNS_H
#define PML_FORMAT_AVRO_COLUMNS_H

#include "columnar/array_memory.h"
#include "format/avro.h"

typedef struct pml_avro_node {
    int64_t n, cap; /* items, and room for them */
    uint8_t *values; /* BITS, FIXED; TEXT: the bytes */
    int32_t *offsets; /* TEXT, LIST, MAP: n + 1 of them, [0] is 0 */
    uint8_t *valid;   /* ones behind the last null; NULL: no null so far */
    int64_t bytes, bytes_cap, null_count;
    pml_layout layout;
    size_t width;       /* bytes of an item, of what counts for the limit */
    const pml_type *type;
    size_t n_children;  /* MAP: 1, its entries, a STRUCT of two */
    uint32_t *children; /* numbers of nodes */
} pml_avro_node;

typedef struct pml_avro_columns {
    pml_env *env;
    pml_avro_node *nodes;
    bool *found; /* by node: whether the file has it; what it lacks is null */
    size_t n_nodes;
    pml_avro_field *fields; /* what to compile the schema for */
    size_t n_fields;
    uint32_t *roots; /* the node of each field */
    int64_t batch_rows;
    uint64_t charged, bytes_max; /* bytes of the buffers of the open batch, and how many they may become */
    bool full;        /* they are so many that the batch should end */
} pml_avro_columns;

/* Everything but the buffers lives in the arena; names and types are borrowed. PML_E_UNSUPPORTED: Avro has no such type. */
int pml_avro_columns__init(pml_avro_columns *c, pml_arena *arena, const pml_field *fields, size_t n, int64_t batch_rows, pml_error *err);
/* When the schema was compiled: what each missing column costs a row of its parent counts for the limit. */
void pml_avro_columns__compiled(pml_avro_columns *c);
void pml_avro_columns__clear(pml_avro_columns *c);

/* Room for one item more, for a text of so many bytes more. PML_E_NOMEM, or PML_E_LIMIT: a row is too large. No message. */
int pml_avro_node__grow(pml_avro_columns *c, pml_avro_node *node);
int pml_avro_node__grow_bytes(pml_avro_columns *c, pml_avro_node *node, size_t n);
/* A null; below it, what the children need. No message. */
int pml_avro_node__append_null(pml_avro_columns *c, pml_avro_node *node);

/* Moves `rows` rows out as a struct array; the columns are empty again. */
int pml_avro_columns__finish(struct ArrowArray *out, pml_avro_columns *c, int64_t rows, pml_error *err);

#endif
