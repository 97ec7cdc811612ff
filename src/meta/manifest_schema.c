/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/manifest_schema.h"

/* ---- what we read ---- */

/* The types are those of files in ORC and Parquet; Avro's schema says its own. */
static const pml_type tinyint = {.kind = PML_TYPE_TINYINT}, int_ = {.kind = PML_TYPE_INT}, bigint = {.kind = PML_TYPE_BIGINT},
                      timestamp = {.kind = PML_TYPE_TIMESTAMP, .precision = 3}, bytes = {.kind = PML_TYPE_VARBINARY, .length = INT32_MAX},
                      text = {.kind = PML_TYPE_VARCHAR, .length = INT32_MAX};

#define FIELD(n, k, t) {.name = (n), .kind = PML_AVRO_##k, .type = &(t)}
#define FIELD_OPT(n, k, t) {.name = (n), .kind = PML_AVRO_##k, .type = &(t), .nullable = true}
#define FIELD_ARRAY(n, null, item) {.name = (n), .kind = PML_AVRO_ARRAY, .nullable = (null), .n_children = 1, .children = (item)}
#define FIELD_RECORD(n, count, fields) {.name = (n), .kind = PML_AVRO_RECORD, .n_children = (count), .children = (fields)}

static const pml_avro_field null_count_item = FIELD_OPT("item", INT, bigint);
static const pml_avro_field text_item = FIELD("item", BYTES, text);

static const pml_avro_field range_fields[PML_RANGE_FIELDS] = {
    [PML_RANGE_DATA_FILE] = FIELD("f0", BYTES, text),
    [PML_RANGE_OFFSET] = FIELD("f1", INT, int_),
    [PML_RANGE_LENGTH] = FIELD("f2", INT, int_),
    [PML_RANGE_CARDINALITY] = FIELD_OPT("_CARDINALITY", INT, bigint),
};
static const pml_avro_field range_item = {
    .name = "item", .kind = PML_AVRO_RECORD, .nullable = true, .n_children = PML_RANGE_FIELDS, .children = range_fields};

/* Whether there is a global index is all we need, but a ROW has a column. */
static const pml_avro_field global_field = FIELD_OPT("_ROW_RANGE_START", INT, bigint);

static const pml_avro_field stats_fields[PML_STATS_FIELDS] = {
    [PML_STATS_MIN_VALUES] = FIELD("_MIN_VALUES", BYTES, bytes),
    [PML_STATS_MAX_VALUES] = FIELD("_MAX_VALUES", BYTES, bytes),
    [PML_STATS_NULL_COUNTS] = FIELD_ARRAY("_NULL_COUNTS", true, &null_count_item),
};

static const pml_avro_field file_fields[PML_FILE_FIELDS] = {
    [PML_FILE_NAME] = FIELD("_FILE_NAME", BYTES, text),
    [PML_FILE_SIZE] = FIELD("_FILE_SIZE", INT, bigint),
    [PML_FILE_ROW_COUNT] = FIELD("_ROW_COUNT", INT, bigint),
    [PML_FILE_MIN_KEY] = FIELD("_MIN_KEY", BYTES, bytes),
    [PML_FILE_MAX_KEY] = FIELD("_MAX_KEY", BYTES, bytes),
    [PML_FILE_KEY_STATS] = FIELD_RECORD("_KEY_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_FILE_VALUE_STATS] = FIELD_RECORD("_VALUE_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_FILE_MIN_SEQUENCE] = FIELD("_MIN_SEQUENCE_NUMBER", INT, bigint),
    [PML_FILE_MAX_SEQUENCE] = FIELD("_MAX_SEQUENCE_NUMBER", INT, bigint),
    [PML_FILE_SCHEMA_ID] = FIELD("_SCHEMA_ID", INT, bigint),
    [PML_FILE_LEVEL] = FIELD("_LEVEL", INT, int_),
    [PML_FILE_EXTRA_FILES] = FIELD_ARRAY("_EXTRA_FILES", false, &text_item),
    [PML_FILE_CREATION_TIME] = FIELD_OPT("_CREATION_TIME", INT, timestamp),
    [PML_FILE_DELETE_ROW_COUNT] = FIELD_OPT("_DELETE_ROW_COUNT", INT, bigint),
    [PML_FILE_EMBEDDED_INDEX] = FIELD_OPT("_EMBEDDED_FILE_INDEX", BYTES, bytes),
    [PML_FILE_SOURCE] = FIELD_OPT("_FILE_SOURCE", INT, tinyint),
    [PML_FILE_VALUE_STATS_COLS] = FIELD_ARRAY("_VALUE_STATS_COLS", true, &text_item),
    [PML_FILE_EXTERNAL_PATH] = FIELD_OPT("_EXTERNAL_PATH", BYTES, text),
    [PML_FILE_FIRST_ROW_ID] = FIELD_OPT("_FIRST_ROW_ID", INT, bigint),
    [PML_FILE_WRITE_COLS] = FIELD_ARRAY("_WRITE_COLS", true, &text_item),
};

const pml_avro_field pml_manifest__fields[PML_ENTRY_FIELDS] = {
    [PML_ENTRY_F_VERSION] = FIELD("_VERSION", INT, int_),
    [PML_ENTRY_F_KIND] = FIELD("_KIND", INT, tinyint),
    [PML_ENTRY_F_PARTITION] = FIELD("_PARTITION", BYTES, bytes),
    [PML_ENTRY_F_BUCKET] = FIELD("_BUCKET", INT, int_),
    [PML_ENTRY_F_TOTAL_BUCKETS] = FIELD("_TOTAL_BUCKETS", INT, int_),
    [PML_ENTRY_F_FILE] = FIELD_RECORD("_FILE", PML_FILE_FIELDS, file_fields),
};

const pml_avro_field pml_manifest_list__fields[PML_META_FIELDS] = {
    [PML_META_VERSION] = FIELD("_VERSION", INT, int_),
    [PML_META_NAME] = FIELD("_FILE_NAME", BYTES, text),
    [PML_META_SIZE] = FIELD("_FILE_SIZE", INT, bigint),
    [PML_META_N_ADDED] = FIELD("_NUM_ADDED_FILES", INT, bigint),
    [PML_META_N_DELETED] = FIELD("_NUM_DELETED_FILES", INT, bigint),
    [PML_META_PARTITION_STATS] = FIELD_RECORD("_PARTITION_STATS", PML_STATS_FIELDS, stats_fields),
    [PML_META_SCHEMA_ID] = FIELD("_SCHEMA_ID", INT, bigint),
    [PML_META_MIN_BUCKET] = FIELD_OPT("_MIN_BUCKET", INT, int_),
    [PML_META_MAX_BUCKET] = FIELD_OPT("_MAX_BUCKET", INT, int_),
    [PML_META_MIN_LEVEL] = FIELD_OPT("_MIN_LEVEL", INT, int_),
    [PML_META_MAX_LEVEL] = FIELD_OPT("_MAX_LEVEL", INT, int_),
    [PML_META_MIN_ROW_ID] = FIELD_OPT("_MIN_ROW_ID", INT, bigint),
    [PML_META_MAX_ROW_ID] = FIELD_OPT("_MAX_ROW_ID", INT, bigint),
};

const pml_avro_field pml_index_manifest__fields[PML_INDEX_FIELDS] = {
    [PML_INDEX_VERSION] = FIELD("_VERSION", INT, int_),
    [PML_INDEX_KIND] = FIELD("_KIND", INT, tinyint),
    [PML_INDEX_PARTITION] = FIELD("_PARTITION", BYTES, bytes),
    [PML_INDEX_BUCKET] = FIELD("_BUCKET", INT, int_),
    [PML_INDEX_TYPE] = FIELD("_INDEX_TYPE", BYTES, text),
    [PML_INDEX_NAME] = FIELD("_FILE_NAME", BYTES, text),
    [PML_INDEX_SIZE] = FIELD("_FILE_SIZE", INT, bigint),
    [PML_INDEX_ROW_COUNT] = FIELD("_ROW_COUNT", INT, bigint),
    [PML_INDEX_RANGES] = FIELD_ARRAY("_DELETIONS_VECTORS_RANGES", true, &range_item),
    [PML_INDEX_EXTERNAL_PATH] = FIELD_OPT("_EXTERNAL_PATH", BYTES, text),
    [PML_INDEX_GLOBAL] = {.name = "_GLOBAL_INDEX", .kind = PML_AVRO_RECORD, .nullable = true, .n_children = 1, .children = &global_field},
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

const char pml_index_manifest__schema[] = JSON_TOP(
    JSON_FIELD("_VERSION", "int") ","
    JSON_FIELD("_KIND", "int") ","
    JSON_FIELD("_PARTITION", "bytes") ","
    JSON_FIELD("_BUCKET", "int") ","
    JSON_FIELD("_INDEX_TYPE", "string") ","
    JSON_FIELD("_FILE_NAME", "string") ","
    JSON_FIELD("_FILE_SIZE", "long") ","
    JSON_FIELD("_ROW_COUNT", "long") ","
    JSON_OPTIONAL("_DELETIONS_VECTORS_RANGES",
                  JSON_ARRAY("[\"null\"," JSON_RECORD("record__DELETIONS_VECTORS_RANGES",
                                                      JSON_FIELD("f0", "string") "," JSON_FIELD("f1", "int") "," JSON_FIELD("f2", "int") ","
                                                          JSON_OPTIONAL("_CARDINALITY", "\"long\"")) "]")) ","
    JSON_OPTIONAL("_EXTERNAL_PATH", "\"string\"") ","
    JSON_OPTIONAL("_GLOBAL_INDEX",
                  JSON_RECORD("record__GLOBAL_INDEX",
                              JSON_FIELD("_ROW_RANGE_START", "long") "," JSON_FIELD("_ROW_RANGE_END", "long") ","
                                  JSON_FIELD("_INDEX_FIELD_ID", "int") "," JSON_OPTIONAL("_EXTRA_FIELD_IDS", JSON_ARRAY("\"int\"")) ","
                                  JSON_OPTIONAL("_INDEX_META", "\"bytes\""))));
