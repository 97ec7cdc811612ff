/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Avro object container files, bounded (Avro specification 1.11; codecs null, deflate, snappy, zstandard; bzip2 and xz are read).
 *
 * Reading: the writer's schema is compiled once into a flat program whose fields are matched by name to a table of wanted
 * fields; records are then decoded straight into caller's slots, without a tree per record. Fields of the file that nobody
 * wants are skipped, wanted fields that the file lacks are reported absent.
 */
#ifndef PML_FORMAT_AVRO_H
#define PML_FORMAT_AVRO_H

#include "columnar/data_type.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/bytes.h"

enum {
    PML_AVRO_HEADER_MAX = 1024 * 1024,        /* bytes of the header map: schemas are a few KB */
    PML_AVRO_BLOCK_MAX = 256 * 1024 * 1024,   /* decompressed bytes of one block */
    PML_AVRO_DEPTH_MAX = 16                   /* nesting of records, arrays and unions in a schema */
};

typedef enum pml_avro_kind {
    PML_AVRO_INT = 1, /* int and long: v.i */
    PML_AVRO_BOOLEAN,
    PML_AVRO_BYTES, /* bytes and string: v.bytes, valid until the next block is loaded */
    PML_AVRO_RECORD,
    PML_AVRO_ARRAY,
    /* of data files (avro_columns.h) only */
    PML_AVRO_COLUMN, /* a value of the atomic `type` */
    PML_AVRO_MAP     /* child[0]: its entries, a RECORD of key and value; an Avro map, or an array of such records */
} pml_avro_kind;

/* What the reader wants: a tree of names. For ARRAY, child[0] is the item (its name is ignored). `nullable` fields accept a
   union with null or a missing field. */
typedef struct pml_avro_field {
    const char *name;
    pml_avro_kind kind;
    bool nullable;
    bool optional; /* data files: Paimon's own, too, may lack it */
    size_t n_children;
    const struct pml_avro_field *children;
    const pml_type *type; /* COLUMN; of metadata files also what a number, text or bytes is in ORC and Parquet (meta/manifest_rows.h) */
    uint32_t slot;        /* data files: the number of the column; else the place among its siblings counts */
} pml_avro_field;

/* A decoded value; RECORD and ARRAY point to their parts, which live in the reader's per-record arena. */
typedef struct pml_avro_value {
    bool present; /* false: null or missing */
    int64_t i;
    pml_bytes bytes;
    size_t n;
    const struct pml_avro_value *items; /* RECORD: one per wanted child; ARRAY: n items */
} pml_avro_value;

typedef struct pml_avro_reader pml_avro_reader;

/* data is borrowed for the life of the reader; name is for messages (borrowed). */
int pml_avro_reader__new(pml_avro_reader **out, pml_env *env, pml_bytes data, const char *name, const pml_avro_field *fields,
                         size_t n_fields, pml_error *err);
/* Next record: values[n_fields]. *more = false at the end. Values are valid until the next call. */
int pml_avro_reader__next(bool *more, pml_avro_value *values, pml_avro_reader *r, pml_error *err);
void pml_avro_reader__free(pml_avro_reader *r);

/* Writing: the caller gives the schema text and encodes records with the put functions into a block buffer; the writer frames
   and compresses. */
typedef struct pml_avro_writer pml_avro_writer;
int pml_avro_writer__new(pml_avro_writer **out, pml_env *env, const char *schema_json, const char *codec, int level,
                         pml_error *err);
/* The buffer of the open record; encode fields in schema order, then end the record. */
pml_buf *pml_avro_writer__record(pml_avro_writer *w);
int pml_avro_writer__end_record(pml_avro_writer *w, pml_error *err);
int64_t pml_avro_writer__size(const pml_avro_writer *w); /* bytes framed so far plus the open block uncompressed */
/* The finished file; free with pml_env__free. */
int pml_avro_writer__finish(pml_avro_writer *w, uint8_t **file, size_t *len, pml_error *err);
void pml_avro_writer__free(pml_avro_writer *w);

int pml_avro__put_long(pml_buf *b, int64_t v);
int pml_avro__put_bytes(pml_buf *b, const void *p, size_t n);
int pml_avro__put_string(pml_buf *b, const char *s);
int pml_avro__put_branch(pml_buf *b, bool not_null); /* union [null, T]: 0 or 1 */

#endif
