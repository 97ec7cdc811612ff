/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer's schema compiled into a flat program that decodes one record (avro_reader.c runs it). Nesting of the schema is
 * resolved here, once per file; running the program needs no recursion and no look-up of names.
 */
#ifndef PML_FORMAT_AVRO_SCHEMA_H
#define PML_FORMAT_AVRO_SCHEMA_H

#include "format/avro.h"

typedef enum pml_avro_opcode {
    PML_AVRO_OP_END = 0,     /* the record is complete */
    PML_AVRO_OP_SKIP_VARINT, /* int, long, enum */
    PML_AVRO_OP_SKIP_BYTES,  /* bytes, string */
    PML_AVRO_OP_SKIP_FIXED,  /* `n` bytes: boolean, float, double, fixed */
    PML_AVRO_OP_INT,         /* a varint that must fit 32 bits */
    PML_AVRO_OP_LONG,
    PML_AVRO_OP_BOOLEAN,
    PML_AVRO_OP_BYTES,
    PML_AVRO_OP_UNION,  /* reads the branch; the null branch jumps to `target`, the other one goes on */
    PML_AVRO_OP_RECORD, /* opens `n` fresh slots */
    PML_AVRO_OP_RECORD_END,
    PML_AVRO_OP_ARRAY,      /* loop: the item's code follows, ARRAY_NEXT at `target` - 1 ends it */
    PML_AVRO_OP_ARRAY_NEXT, /* back to `target` while items are left */
    PML_AVRO_OP_SKIP_ITEMS, /* the same loop for an array or map that nobody wants */
    PML_AVRO_OP_SKIP_NEXT,
    /* data files only */
    PML_AVRO_OP_INT8, /* varints that must fit */
    PML_AVRO_OP_INT16,
    PML_AVRO_OP_FLOAT,
    PML_AVRO_OP_DOUBLE,
    PML_AVRO_OP_DECIMAL, /* two's complement, big-endian */
    PML_AVRO_OP_TIMES,   /* a long, times `n` */
    PML_AVRO_OP_DIVIDED  /* a long by `n`, rounded down */
} pml_avro_opcode;

typedef struct pml_avro_op {
    uint8_t code;       /* pml_avro_opcode */
    int8_t null_branch; /* UNION: 0 or 1; -1: a union of one branch without null */
    bool null_allowed;  /* UNION; DECIMAL: of too many digits */
    uint32_t slot;      /* where the value goes, relative to the open record or item */
    uint32_t n;         /* SKIP_FIXED, RECORD, TIMES, DIVIDED; UNION: branches; ARRAY, SKIP_ITEMS: least bytes of an item */
    uint32_t target;    /* UNION, loops */
    const char *name;   /* of the field, for messages; NULL where skipped */
} pml_avro_op;

typedef struct pml_avro_program {
    size_t n;
    pml_avro_op *ops;
    size_t record_size_min; /* least bytes of one record, at least 1 */
} pml_avro_program;

enum {
    PML_AVRO_OPS_MAX = 16384,    /* a manifest needs 40; named types used again and again multiply */
    PML_AVRO_NAMES_MAX = 1024,   /* named types of one schema */
    PML_AVRO_FIXED_MAX = 1 << 20, /* bytes of a fixed type */
    /* Data files may have PML_TYPE_COLUMNS_MAX columns, nested PML_TYPE_DEPTH_MAX deep: a map is an array of records in a union. */
    PML_AVRO_DATA_OPS_MAX = 262144,
    PML_AVRO_DATA_NAMES_MAX = 4096,
    PML_AVRO_DATA_DEPTH_MAX = 3 * PML_TYPE_DEPTH_MAX + 8,
    PML_AVRO_DATA_HEADER_MAX = 16 * 1024 * 1024
};

/* The program lives in the arena; its names borrow from `fields`. file is for messages. */
int pml_avro_program__compile(pml_avro_program *out, pml_arena *arena, pml_bytes schema_json, const char *file,
                              const pml_avro_field *fields, size_t n_fields, pml_error *err);

/* The same for the columns of a data file: slots are those of the fields, every null is allowed, the top may be a union. found[slot]
   (all false before) tells which columns the file has. own: files that Paimon wrote must have all of them, each with its own type
   (PML_E_CORRUPT). */
int pml_avro_program__compile_columns(pml_avro_program *out, pml_arena *arena, pml_bytes schema_json, const char *file,
                                      const pml_avro_field *fields, size_t n_fields, bool *found, bool own, pml_error *err);

#endif
