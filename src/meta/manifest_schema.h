/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Avro schemas of metadata files: as text, byte for byte what Java 1.4.2 writes, and as the tables of fields we read.
 * The enums number the fields of those tables; files of older releases lack the later, nullable ones.
 */
#ifndef PML_META_MANIFEST_SCHEMA_H
#define PML_META_MANIFEST_SCHEMA_H

#include "format/avro.h"

enum { PML_STATS_MIN_VALUES, PML_STATS_MAX_VALUES, PML_STATS_NULL_COUNTS, PML_STATS_FIELDS };

enum {
    PML_FILE_NAME,
    PML_FILE_SIZE,
    PML_FILE_ROW_COUNT,
    PML_FILE_MIN_KEY,
    PML_FILE_MAX_KEY,
    PML_FILE_KEY_STATS,
    PML_FILE_VALUE_STATS,
    PML_FILE_MIN_SEQUENCE,
    PML_FILE_MAX_SEQUENCE,
    PML_FILE_SCHEMA_ID,
    PML_FILE_LEVEL,
    PML_FILE_EXTRA_FILES,
    PML_FILE_CREATION_TIME,
    PML_FILE_DELETE_ROW_COUNT,
    PML_FILE_EMBEDDED_INDEX,
    PML_FILE_SOURCE,
    PML_FILE_VALUE_STATS_COLS,
    PML_FILE_EXTERNAL_PATH,
    PML_FILE_FIRST_ROW_ID,
    PML_FILE_WRITE_COLS,
    PML_FILE_FIELDS
};

enum {
    PML_ENTRY_F_VERSION,
    PML_ENTRY_F_KIND,
    PML_ENTRY_F_PARTITION,
    PML_ENTRY_F_BUCKET,
    PML_ENTRY_F_TOTAL_BUCKETS,
    PML_ENTRY_F_FILE,
    PML_ENTRY_FIELDS
};

enum {
    PML_META_VERSION,
    PML_META_NAME,
    PML_META_SIZE,
    PML_META_N_ADDED,
    PML_META_N_DELETED,
    PML_META_PARTITION_STATS,
    PML_META_SCHEMA_ID,
    PML_META_MIN_BUCKET,
    PML_META_MAX_BUCKET,
    PML_META_MIN_LEVEL,
    PML_META_MAX_LEVEL,
    PML_META_MIN_ROW_ID,
    PML_META_MAX_ROW_ID,
    PML_META_FIELDS
};

enum {
    PML_INDEX_VERSION,
    PML_INDEX_KIND,
    PML_INDEX_PARTITION,
    PML_INDEX_BUCKET,
    PML_INDEX_TYPE,
    PML_INDEX_NAME,
    PML_INDEX_SIZE,
    PML_INDEX_ROW_COUNT,
    PML_INDEX_RANGES,
    PML_INDEX_EXTERNAL_PATH,
    PML_INDEX_GLOBAL,
    PML_INDEX_FIELDS
};

enum {
    PML_RANGE_DATA_FILE,
    PML_RANGE_OFFSET,
    PML_RANGE_LENGTH,
    PML_RANGE_CARDINALITY,
    PML_RANGE_FIELDS
};

extern const pml_avro_field pml_manifest_list__fields[PML_META_FIELDS];
extern const pml_avro_field pml_manifest__fields[PML_ENTRY_FIELDS];
extern const pml_avro_field pml_index_manifest__fields[PML_INDEX_FIELDS];

extern const char pml_manifest_list__schema[];
extern const char pml_manifest__schema[];
extern const char pml_index_manifest__schema[];

#endif
