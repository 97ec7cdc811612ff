/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table schema files (Java: org.apache.paimon.schema.TableSchema, SchemaSerializer, DataTypeJsonParser): parse, derive, write.
 * A schema is immutable and counted; it owns one arena.
 */
#ifndef PML_META_TABLE_SCHEMA_H
#define PML_META_TABLE_SCHEMA_H

#include "columnar/data_type.h"
#include "util/bytes.h"
#include "util/map.h"

typedef struct pml_option {
    const char *key, *value;
} pml_option;

typedef struct pml_table_schema {
    atomic_int refs;
    pml_arena arena;
    int32_t version;
    int64_t id;
    size_t n_fields;
    pml_field *fields;
    int32_t highest_field_id;
    size_t n_partition_keys;
    const char **partition_keys;
    size_t n_primary_keys;
    const char **primary_keys;
    size_t n_options;
    pml_option *options; /* as in the file plus the defaults of old versions (format-metadata.md 2) */
    const char *comment; /* NULL: none */
    int64_t time_ms;
    /* derived */
    int32_t *partition_index; /* column index of each partition key */
    size_t n_keys;            /* of the trimmed primary key: without the partition columns; 0: an append table */
    int32_t *key_index;       /* column index of each, in the order of the primary key */
    size_t n_bucket_keys;     /* option bucket-key, else trimmed primary key; empty for unaware append */
    int32_t *bucket_index;
} pml_table_schema;

enum { PML_SCHEMA_FILE_MAX = 64 * 1024 * 1024 };

/* name: file name for messages. Duplicate columns, unknown key columns, reserved names, bad types: PML_E_CORRUPT. Returns owned. */
int pml_table_schema__parse(pml_table_schema **out, pml_env *env, pml_bytes json, const char *name, pml_error *err);
/* The request form of a new table: {"fields":[{"name","type",...}],"partitionKeys","primaryKeys","options","comment"}; types may
   be text with NOT NULL; ids are given depth-first from 0; primary-key columns become NOT NULL; options primary-key and
   partition are taken out. Checked like Java's SchemaValidation for what we support. PML_E_INVAL. Returns owned. */
int pml_table_schema__parse_request(pml_table_schema **out, pml_env *env, pml_bytes json, pml_error *err);
void pml_table_schema__acquire(pml_table_schema *s);
void pml_table_schema__release(pml_table_schema *s);

/* The schema file as Java 1.4.2 writes it, byte for byte (pretty-printed in Jackson's way). */
int pml_table_schema__write(pml_buf *out, const pml_table_schema *s);

const char *pml_table_schema__option(const pml_table_schema *s, const char *key); /* NULL: not set */
/* Column index by name, -1 when absent. */
int32_t pml_table_schema__find(const pml_table_schema *s, const char *name, size_t len);
int32_t pml_table_schema__find_id(const pml_table_schema *s, int32_t field_id);

#endif
