/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge over files in memory, for tests: callbacks that count, charge and fail on command. */
#ifndef PML_TESTS_TEST_BRIDGE_H
#define PML_TESTS_TEST_BRIDGE_H

#include "format/bridge_load.h"
#include "support/test_arrow.h"

/* Every atomic type, and every nested one. */
struct ArrowSchema test_scalar_schema(void);
struct ArrowSchema test_nested_schema(void);

typedef struct test_file {
    uint8_t *data;
    size_t len, cap;
    int calls, fail_at; /* the fail_at-th read or write from the start fails with PML_E_NO_SPACE; 0: none */
    int closed;
    int64_t charged, charged_max;
    int64_t bytes_max; /* of pml_bridge_memory */
    int dropped;
    uint64_t thread; /* that every call must come from; 0: any */
} test_file;

void test_file_free(test_file *f);
/* Reads tests/format/data/<name>. */
test_file test_file_load(const char *name);
pml_bridge_input test_input(test_file *f);
pml_bridge_output test_output(test_file *f);
pml_bridge_memory test_memory(test_file *f);

extern const pml_bridge_read_options test_read_options;
extern const pml_bridge_write_options test_write_options;

/* Writes the array (moved) of the schema (borrowed) as one file. */
int test_parquet_write(test_file *f, const pml_bridge *b, const struct ArrowSchema *schema, struct ArrowArray *array,
                       const pml_bridge_write_options *options, pml_error *err);
/* A file of rows at random (by SEED). */
test_file test_file_of(const pml_bridge *b, struct ArrowSchema *schema, int64_t rows, const pml_bridge_write_options *options);
/* All row groups; columns NULL: all. */
int test_parquet_stream(struct ArrowArrayStream *out, const pml_bridge *b, test_file *f, const int32_t *columns,
                        size_t n_columns, const pml_bridge_read_options *options, pml_error *err);
/* Reads to the end: rows, or a negative code. */
int64_t test_drain(const pml_bridge *b, struct ArrowArrayStream *stream, pml_error *err);
/* Fails unless the stream gives the rows of the array, and releases the stream. */
void test_stream_equals(const pml_bridge *b, struct ArrowArrayStream *stream, const struct ArrowSchema *schema,
                        const struct ArrowArray *array);

#endif
