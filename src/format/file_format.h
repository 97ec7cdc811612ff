/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data files by format: one way in, one way out, batches in the canonical Arrow form of the wanted fields. Which code serves a
 * format is decided here by its name; today that is Parquet, and for reading ORC, Avro, CSV, JSON, text and blob files. PML_E_UNSUPPORTED "needs
 * format:<f>" for others.
 */
#ifndef PML_FORMAT_FILE_FORMAT_H
#define PML_FORMAT_FILE_FORMAT_H

#include "columnar/row_set.h"
#include "columnar/batch.h"
#include "format/text_options.h"
#include "util/bytes.h"

typedef struct pml_format_read {
    const pml_field *fields; /* wanted, in this order; matched to the file by name, missing ones read as null */
    size_t n_fields;
    const pml_pred *predicate; /* skips parts of the file by their statistics; never exact. NULL: none */
    bool match_rows; /* leave out single rows that it does not keep, too, where that pays */
    int64_t batch_rows;
    /* Rows of the file, counted as they lie in it, that are wanted; others do not come. NULL: all. One for each row of the file, and kept
       by the caller until the stream is released. */
    const pml_row_set *rows;
    /* Verify the checksums of pages; refuse values that a column's type cannot have (PML_VALIDATE_FULL is both). */
    bool checksums, check_values;
    /* Part `part` of `parts` of the rows, cut where the format allows it; all parts together are the file, in order. parts 0 or 1:
       the whole file. */
    int32_t part, parts;
    /* The file was written with exactly these fields, as files of a table are: PML_E_CORRUPT naming file and column when it lacks one,
       has it twice or with another type. Files without field ids are of other makers (a Java table may have taken them over) and are
       cast as ever; every writer of tables puts an id on each column. */
    bool own_schema;
    size_t n_optional; /* the last fields, which a file may lack even so */
    /* One more column behind the fields, pml_format_position: where the row lies in the file, counted from 0. */
    bool positions;
    /* ORC: TIMESTAMP WITH LOCAL TIME ZONE holds exact instants (orc.timestamp-ltz.legacy.type = false), not those that the zone of the
       writer's process has shifted. */
    bool orc_ltz_exact;
    /* Formats whose reader cannot stand hostile bytes are refused: ORC. */
    bool untrusted;
    /* csv, json, text: the options of the table, and for csv the columns of the file in order. The stream borrows nothing of them but the
       texts of the options. */
    const pml_text_options *text;
    const char *const *file_columns;
    size_t n_file_columns;
    /* What the file holds, when it is in memory already: borrowed until the stream is released. The path is then only a name. */
    pml_bytes content;
    /* What the metadata says of the file; PML_E_CORRUPT when it is another. 0: unknown. */
    int64_t expect_rows, expect_bytes;
} pml_format_read;

extern const pml_field pml_format_position; /* BIGINT NOT NULL */

/* PML_E_UNSUPPORTED, by name, when files of this format are not read; untrusted as in pml_format_read. */
int pml_format__check_readable(const char *format, const char *path, bool untrusted, pml_error *err);

/* Opens `path` and streams its rows. n_fields may be 0: batches then only carry lengths. The stream owns the file; on
   an error it is a released one. */
int pml_format__open(struct ArrowArrayStream *out, pml_env *env, const char *format, const char *path,
                     const pml_format_read *request, pml_error *err);

/* A dictionary that grows past this is given up: the rest of the column is written plainly. */
enum { PML_FORMAT_DICTIONARY_BYTES = 1024 * 1024 };

typedef struct pml_format_write_options {
    const char *compression;
    int32_t zstd_level;
    bool dictionary, delta; /* delta: whole numbers without a dictionary are delta encoded */
    const uint8_t *plain; /* one per field, 1: no dictionary for it; NULL: for none */
    int64_t block_bytes, page_bytes;
} pml_format_write_options;

typedef struct pml_format_writer pml_format_writer;
/* Makes a new file. Its directory is made when missing. */
int pml_format__create(pml_format_writer **out, pml_env *env, const char *format, const char *path, const pml_field *fields,
                       size_t n_fields, const pml_format_write_options *options, pml_error *err);
/* The array is moved on any return. */
int pml_format_writer__write(pml_format_writer *w, struct ArrowArray *array, pml_error *err);
int64_t pml_format_writer__size(const pml_format_writer *w); /* written and buffered, roughly: for rolling */
/* Ends the file; sync makes it durable. The writer must still be freed. */
int pml_format_writer__finish(pml_format_writer *w, bool sync, int64_t *size_bytes, pml_error *err);
/* Before a successful finish this removes the file. */
void pml_format_writer__free(pml_format_writer *w);

#endif
