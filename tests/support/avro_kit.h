/* SPDX-License-Identifier: Apache-2.0 */
/* Avro data files for tests: a schema and records in, rows as text out. */
#ifndef PML_TESTS_AVRO_KIT_H
#define PML_TESTS_AVRO_KIT_H

#include "format/avro.h"
#include "format/file_format.h"
#include "support/faulty_fs.h"
#include "support/test_env.h"

#define PAIMON         "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":["
#define RECORD(fields) PAIMON fields "]}"
#define OTHER(fields)  "{\"type\":\"record\",\"name\":\"other\",\"fields\":[" fields "]}"
#define F(name, type)  "{\"name\":\"" name "\",\"type\":" type "}"
#define INT            "\"int\""
#define NULLABLE(type) "[\"null\"," type "]"
#define LOGICAL(type, logical) "{\"type\":\"" type "\",\"logicalType\":\"" logical "\"}"
#define DECIMAL(p, s)  "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":" p ",\"scale\":" s "}"
#define LIST(items)    "{\"type\":\"array\",\"items\":" items "}"
#define MAP(values)    "{\"type\":\"map\",\"values\":" values "}"
#define NESTED(name, fields) "{\"type\":\"record\",\"name\":\"" name "\",\"fields\":[" fields "]}"

/* One test: a file, and the columns that are wanted of it. */
typedef struct avro_kit {
    faulty_fs fs;
    test_env *t;
    pml_arena arena;
    pml_type want;
    pml_format_read q;
    const char *path;
    const char *format; /* "avro"; others may borrow what reads */
    pml_buf text;      /* rows of the last read, a line each */
    int batches;
    int64_t rows;
} avro_kit;

void avro_kit_open(avro_kit *k);
void avro_kit_close(avro_kit *k);
/* The columns that are read, in the words of a ROW type. */
void avro_kit_want(avro_kit *k, const char *columns);
/* The file is these bytes. */
void avro_kit_put(avro_kit *k, const void *data, size_t len);
/* The file has `repeat` records that are all the same bytes. */
void avro_kit_file(avro_kit *k, const char *codec, const char *schema, const void *record, size_t len, int repeat);
#define AVRO_FILE_OF(k, schema, record) avro_kit_file(k, "null", schema, record, sizeof(record) - 1, 1)
/* Reads the file into k->text, k->rows and k->batches. */
int avro_kit_read(avro_kit *k, pml_error *err);
void avro_kit_must_read(avro_kit *k, const char *lines);
/* The error names the file, and has the words. */
void avro_kit_must_fail(avro_kit *k, int code, const char *words);

/* A file of one record gives the line, or fails. */
#define READS(columns, schema, record, line) \
    do {                                     \
        avro_kit k_;                              \
        avro_kit_open(&k_);                       \
        avro_kit_want(&k_, columns);              \
        AVRO_FILE_OF(&k_, schema, record);        \
        avro_kit_must_read(&k_, line "\n");       \
        avro_kit_close(&k_);                      \
    } while (0)

#define FAILS(code, columns, schema, record, words) \
    do {                                            \
        avro_kit k_;                                     \
        avro_kit_open(&k_);                              \
        avro_kit_want(&k_, columns);                     \
        AVRO_FILE_OF(&k_, schema, record);               \
        avro_kit_must_fail(&k_, code, words);            \
        avro_kit_close(&k_);                             \
    } while (0)

#endif
