/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DataFileMeta as a binary row, the form it has in splits and commit messages (Java: DataFileMetaSerializer and its older
 * generations). The only place that knows this layout.
 *
 *   i32 size (big-endian), then a BinaryRow of the fields 0 .. n-1 of format-metadata.md 6, n by generation:
 *
 *     generation     n    last field
 *     08            15    _EMBEDDED_FILE_INDEX
 *     09            16    _FILE_SOURCE
 *     10            17    _VALUE_STATS_COLS
 *     12            18    _EXTERNAL_PATH
 *     first row id  20    _FIRST_ROW_ID; field 19 is always null
 *     write cols    20    _WRITE_COLS: what we write, Java 1.4.2's current one
 *
 *   Keys are counted row bytes. Statistics are nested rows of (bytes min, bytes max, array<bigint> null counts). Times are
 *   TIMESTAMP(3), _FILE_SOURCE is a TINYINT.
 */
#ifndef PML_META_SERDE_FILE_H
#define PML_META_SERDE_FILE_H

#include "meta/data_file.h"
#include "meta/java_bytes.h"

typedef enum pml_file_generation {
    PML_FILE_GENERATION_08 = 15, /* the number of fields */
    PML_FILE_GENERATION_09 = 16,
    PML_FILE_GENERATION_10 = 17,
    PML_FILE_GENERATION_12 = 18,
    PML_FILE_GENERATION_20 = 20
} pml_file_generation;

/* Appends size and row, generation "write cols". PML_E_LIMIT above 16 MiB. */
int pml_serde_file__write(pml_buf *out, const pml_data_file *f);
/* i32 count and files. */
int pml_serde_file__write_list(pml_buf *out, const pml_data_file *v, size_t n);
/* What the file points at lives in the reader's arena. Names are checked as in manifests. Returns the reader's rc. */
int pml_serde_file__read(pml_data_file *out, pml_java_reader *r, pml_file_generation generation);
int pml_serde_file__read_list(pml_data_file **out, size_t *n, pml_java_reader *r, pml_file_generation generation);

#endif
