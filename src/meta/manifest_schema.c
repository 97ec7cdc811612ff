/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/manifest_schema.h"

/* ---- what we read ---- */

#define FIELD_INT(n) {.name = (n), .kind = PML_AVRO_INT}
#define FIELD_BYTES(n) {.name = (n), .kind = PML_AVRO_BYTES}
#define FIELD_OPT_INT(n) {.name = (n), .kind = PML_AVRO_INT, .nullable = true}
#define FIELD_OPT_BYTES(n) {.name = (n), .kind = PML_AVRO_BYTES, .nullable = true}
#define FIELD_ARRAY(n, null, item) {.name = (n), .kind = PML_AVRO_ARRAY, .nullable = (null), .n_children = 1, .children = (item)}
#define FIELD_RECORD(n, count, fields) {.name = (n), .kind = PML_AVRO_RECORD, .n_children = (count), .children = (fields)}

static const pml_avro_field null_count_item = FIELD_OPT_INT("item");
static const pml_avro_field text_item = FIELD_BYTES("item");

static const pml_avro_field range_fields[PML_RANGE_FIELDS] = {
    [PML_RANGE_DATA_FILE] = FIELD_BYTES("f0"),
    [PML_RANGE_OFFSET] = FIELD_INT("f1"),
    [PML_RANGE_LENGTH] = FIELD_INT("f2"),
    [PML_RANGE_CARDINALITY] = FIELD_OPT_INT("_CARDINALITY"),
};
static const pml_avro_field range_item = {
    .name = "item", .kind = PML_AVRO_RECORD, .nullable = true, .n_children = PML_RANGE_FIELDS, .children = range_fields};

static const pml_avro_field stats_fields[PML_STATS_FIELDS] = {
    [PML_STATS_MIN_VALUES] = FIELD_BYTES("_MIN_VALUES"),
    [PML_STATS_MAX_VALUES] = FIELD_BYTES("_MAX_VALUES"),
    [PML_STATS_NULL_COUNTS] = FIELD_ARRAY("_NULL_COUNTS", true, &null_count_item),
};

static const pml_avro_field file_fields[PML_FILE_FIELDS] = {
    [PML_FILE_NAME] = FIELD_BYTES("_FILE_NAME"),
    [PML_FILE_SIZE] = FIELD_INT("_FILE_SIZE"),
    [PML_FILE_ROW_COUNT] = FIELD_INT("_ROW_COUNT"),
    [PML_FILE_MIN_KEY] = FIELD_BYTES("_MIN_KEY"),
    [PML_FILE_MAX_KEY] = FIELD_BYTES("_MAX_KEY"),
    [PML_FILE_KEY_STATS] = FIELD_RECORD("_KEY_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_FILE_VALUE_STATS] = FIELD_RECORD("_VALUE_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_FILE_MIN_SEQUENCE] = FIELD_INT("_MIN_SEQUENCE_NUMBER"),
    [PML_FILE_MAX_SEQUENCE] = FIELD_INT("_MAX_SEQUENCE_NUMBER"),
    [PML_FILE_SCHEMA_ID] = FIELD_INT("_SCHEMA_ID"),
    [PML_FILE_LEVEL] = FIELD_INT("_LEVEL"),
    [PML_FILE_EXTRA_FILES] = FIELD_ARRAY("_EXTRA_FILES", false, &text_item),
    [PML_FILE_CREATION_TIME] = FIELD_OPT_INT("_CREATION_TIME"),
    [PML_FILE_DELETE_ROW_COUNT] = FIELD_OPT_INT("_DELETE_ROW_COUNT"),
    [PML_FILE_EMBEDDED_INDEX] = FIELD_OPT_BYTES("_EMBEDDED_FILE_INDEX"),
    [PML_FILE_SOURCE] = FIELD_OPT_INT("_FILE_SOURCE"),
    [PML_FILE_VALUE_STATS_COLS] = FIELD_ARRAY("_VALUE_STATS_COLS", true, &text_item),
    [PML_FILE_EXTERNAL_PATH] = FIELD_OPT_BYTES("_EXTERNAL_PATH"),
    [PML_FILE_FIRST_ROW_ID] = FIELD_OPT_INT("_FIRST_ROW_ID"),
    [PML_FILE_WRITE_COLS] = FIELD_ARRAY("_WRITE_COLS", true, &text_item),
};

const pml_avro_field pml_manifest__fields[PML_ENTRY_FIELDS] = {
    [PML_ENTRY_F_VERSION] = FIELD_INT("_VERSION"),
    [PML_ENTRY_F_KIND] = FIELD_INT("_KIND"),
    [PML_ENTRY_F_PARTITION] = FIELD_BYTES("_PARTITION"),
    [PML_ENTRY_F_BUCKET] = FIELD_INT("_BUCKET"),
    [PML_ENTRY_F_TOTAL_BUCKETS] = FIELD_INT("_TOTAL_BUCKETS"),
    [PML_ENTRY_F_FILE] = FIELD_RECORD("_FILE", PML_FILE_FIELDS, file_fields),
};

const pml_avro_field pml_manifest_list__fields[PML_META_FIELDS] = {
    [PML_META_VERSION] = FIELD_INT("_VERSION"),
    [PML_META_NAME] = FIELD_BYTES("_FILE_NAME"),
    [PML_META_SIZE] = FIELD_INT("_FILE_SIZE"),
    [PML_META_N_ADDED] = FIELD_INT("_NUM_ADDED_FILES"),
    [PML_META_N_DELETED] = FIELD_INT("_NUM_DELETED_FILES"),
    [PML_META_PARTITION_STATS] = FIELD_RECORD("_PARTITION_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_META_SCHEMA_ID] = FIELD_INT("_SCHEMA_ID"),
    [PML_META_MIN_BUCKET] = FIELD_OPT_INT("_MIN_BUCKET"),
    [PML_META_MAX_BUCKET] = FIELD_OPT_INT("_MAX_BUCKET"),
    [PML_META_MIN_LEVEL] = FIELD_OPT_INT("_MIN_LEVEL"),
    [PML_META_MAX_LEVEL] = FIELD_OPT_INT("_MAX_LEVEL"),
    [PML_META_MIN_ROW_ID] = FIELD_OPT_INT("_MIN_ROW_ID"),
    [PML_META_MAX_ROW_ID] = FIELD_OPT_INT("_MAX_ROW_ID"),
};

const pml_avro_field pml_index_manifest__fields[PML_INDEX_FIELDS] = {
    [PML_INDEX_VERSION] = FIELD_INT("_VERSION"),
    [PML_INDEX_KIND] = FIELD_INT("_KIND"),
    [PML_INDEX_PARTITION] = FIELD_BYTES("_PARTITION"),
    [PML_INDEX_BUCKET] = FIELD_INT("_BUCKET"),
    [PML_INDEX_TYPE] = FIELD_BYTES("_INDEX_TYPE"),
    [PML_INDEX_NAME] = FIELD_BYTES("_FILE_NAME"),
    [PML_INDEX_SIZE] = FIELD_INT("_FILE_SIZE"),
    [PML_INDEX_ROW_COUNT] = FIELD_INT("_ROW_COUNT"),
    [PML_INDEX_RANGES] = FIELD_ARRAY("_DELETIONS_VECTORS_RANGES", true, &range_item),
    [PML_INDEX_EXTERNAL_PATH] = FIELD_OPT_BYTES("_EXTERNAL_PATH"),
    /* Whether it is there is all we need: its fields are skipped. */
    [PML_INDEX_GLOBAL] = {.name = "_GLOBAL_INDEX", .kind = PML_AVRO_RECORD, .nullable = true},
};

/* ---- what we write ---- */

#define JSON_FIELD(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\"}"
#define JSON_FIELD_OF(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define JSON_OPTIONAL(name, type) "{\"name\":\"" name "\",\"type\":[\"null\"," type "],\"default\":null}"
#define JSON_ARRAY(items) "{\"type\":\"array\",\"items\":" items "}"
#define JSON_RECORD(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"
#define JSON_TOP(fields) \
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":[" fields "]}"
#define JSON_STATS(name)                                                                \
    JSON_RECORD(name, JSON_FIELD("_MIN_VALUES", "bytes") "," JSON_FIELD("_MAX_VALUES", "bytes") "," JSON_OPTIONAL( \
                          "_NULL_COUNTS", JSON_ARRAY("[\"null\",\"long\"]")))

const char pml_manifest_list__schema[] = JSON_TOP(
    JSON_FIELD("_VERSION", "int") ","
    JSON_FIELD("_FILE_NAME", "string") ","
    JSON_FIELD("_FILE_SIZE", "long") ","
    JSON_FIELD("_NUM_ADDED_FILES", "long") ","
    JSON_FIELD("_NUM_DELETED_FILES", "long") ","
    JSON_FIELD_OF("_PARTITION_STATS", JSON_STATS("record__PARTITION_STATS")) ","
    JSON_FIELD("_SCHEMA_ID", "long") ","
    JSON_OPTIONAL("_MIN_BUCKET", "\"int\"") ","
    JSON_OPTIONAL("_MAX_BUCKET", "\"int\"") ","
    JSON_OPTIONAL("_MIN_LEVEL", "\"int\"") ","
    JSON_OPTIONAL("_MAX_LEVEL", "\"int\"") ","
    JSON_OPTIONAL("_MIN_ROW_ID", "\"long\"") ","
    JSON_OPTIONAL("_MAX_ROW_ID", "\"long\""));

#define JSON_FILE_FIELDS                                                                        \
    JSON_FIELD("_FILE_NAME", "string") ","                                                      \
    JSON_FIELD("_FILE_SIZE", "long") ","                                                        \
    JSON_FIELD("_ROW_COUNT", "long") ","                                                        \
    JSON_FIELD("_MIN_KEY", "bytes") ","                                                         \
    JSON_FIELD("_MAX_KEY", "bytes") ","                                                         \
    JSON_FIELD_OF("_KEY_STATS", JSON_STATS("record__FILE__KEY_STATS")) ","                      \
    JSON_FIELD_OF("_VALUE_STATS", JSON_STATS("record__FILE__VALUE_STATS")) ","                  \
    JSON_FIELD("_MIN_SEQUENCE_NUMBER", "long") ","                                              \
    JSON_FIELD("_MAX_SEQUENCE_NUMBER", "long") ","                                              \
    JSON_FIELD("_SCHEMA_ID", "long") ","                                                        \
    JSON_FIELD("_LEVEL", "int") ","                                                             \
    JSON_FIELD_OF("_EXTRA_FILES", JSON_ARRAY("\"string\"")) ","                                 \
    JSON_OPTIONAL("_CREATION_TIME", "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}") "," \
    JSON_OPTIONAL("_DELETE_ROW_COUNT", "\"long\"") ","                                          \
    JSON_OPTIONAL("_EMBEDDED_FILE_INDEX", "\"bytes\"") ","                                      \
    JSON_OPTIONAL("_FILE_SOURCE", "\"int\"") ","                                                \
    JSON_OPTIONAL("_VALUE_STATS_COLS", JSON_ARRAY("\"string\"")) ","                            \
    JSON_OPTIONAL("_EXTERNAL_PATH", "\"string\"") ","                                           \
    JSON_OPTIONAL("_FIRST_ROW_ID", "\"long\"") ","                                              \
    JSON_OPTIONAL("_WRITE_COLS", JSON_ARRAY("\"string\""))

const char pml_manifest__schema[] = JSON_TOP(
    JSON_FIELD("_VERSION", "int") ","
    JSON_FIELD("_KIND", "int") ","
    JSON_FIELD("_PARTITION", "bytes") ","
    JSON_FIELD("_BUCKET", "int") ","
    JSON_FIELD("_TOTAL_BUCKETS", "int") ","
    JSON_FIELD_OF("_FILE", JSON_RECORD("record__FILE", JSON_FILE_FIELDS)));
