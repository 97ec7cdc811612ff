/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C border of the only C++ in the tree: Apache Arrow's Parquet, ORC and CSV code, in a shared object of its own that is
 * opened by path with local binding on first use. Nothing but this header crosses. No C++ exception passes the border.
 *
 * All functions return PML_OK or a negative code and fill err. Files are reached through callbacks, memory is accounted
 * through `charge`. A reader, writer or stream is used by one thread at a time; Arrow's own threads are off.
 */
#ifndef PML_FORMAT_BRIDGE_H
#define PML_FORMAT_BRIDGE_H

#include <paimonlive/arrow_c.h>
#include <paimonlive/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PML_BRIDGE_ABI 5u
#define PML_BRIDGE_SYMBOL "pml_bridge_entry"

/* Random access input. read_at returns exactly n bytes or fails. close is called once when the bridge lets go. */
typedef struct pml_bridge_input {
    void *ctx;
    const char *name; /* for messages; copied */
    int64_t size_bytes;
    int (*read_at)(void *ctx, int64_t offset, void *buf, int64_t n, pml_error *err);
    void (*close)(void *ctx);
} pml_bridge_input;

/* Sequential output. The bridge never closes or syncs it. */
typedef struct pml_bridge_output {
    void *ctx;
    const char *name;
    int (*write)(void *ctx, const void *buf, int64_t n, pml_error *err);
} pml_bridge_output;

/* charge is called with every change of Arrow's memory and must not fail. May be NULL. Exported arrays charge (back) until
   they are released, which may be long after the reader and the stream are gone: drop, when not NULL, is called once when
   nothing is left that could charge. A call that fails before it could take the memory over has called it, too.

   bytes_max bounds what a file can make a reader ask for, whatever its footer and pages claim: a call that would hold more than
   that beyond what was held when it began fails with PML_E_LIMIT. 0: no bound. It is not for writers: the limit of what they are
   given is the caller's, and Arrow's dictionary encoder cannot stand a refusal. */
typedef struct pml_bridge_memory {
    void *ctx;
    void (*charge)(void *ctx, int64_t delta_bytes);
    void (*drop)(void *ctx);
    int64_t bytes_max;
} pml_bridge_memory;

typedef struct pml_bridge_reader pml_bridge_reader;
typedef struct pml_bridge_writer pml_bridge_writer;

/* How deep arrays that come out of a foreign file are checked before they leave the bridge. */
enum { PML_BRIDGE_VALIDATE_NONE = 0, PML_BRIDGE_VALIDATE_BASIC = 1, PML_BRIDGE_VALIDATE_FULL = 2 };

typedef struct pml_bridge_read_options {
    int64_t batch_rows;
    uint32_t validate;  /* PML_BRIDGE_VALIDATE_* */
    uint32_t checksums; /* 1: those of pages are verified at a lower level than FULL, too */
} pml_bridge_read_options;

/* Statistics of one leaf column in one row group, as the footer has them. Physical values: */
enum {
    PML_BRIDGE_STAT_NONE = 0,
    PML_BRIDGE_STAT_INT = 1,    /* BOOLEAN, INT32, INT64: i */
    PML_BRIDGE_STAT_FLOAT = 2,  /* d */
    PML_BRIDGE_STAT_DOUBLE = 3, /* d */
    PML_BRIDGE_STAT_BYTES = 4   /* BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY: ptr, len, valid while the reader lives */
};

typedef struct pml_bridge_stat {
    uint32_t kind; /* of min and max; NONE: unknown */
    uint32_t reserved;
    int64_t null_count; /* -1: unknown */
    int64_t min_i, max_i;
    double min_d, max_d;
    const uint8_t *min_ptr, *max_ptr;
    size_t min_len, max_len;
} pml_bridge_stat;

/* One page of a leaf column, by the page index of the file: rows [first_row, first_row + rows) of its row group. */
typedef struct pml_bridge_page {
    int64_t first_row, rows;
    pml_bridge_stat stat; /* null_count counts this page's rows */
} pml_bridge_page;

/* Rows [first, end) of a row group. */
typedef struct pml_bridge_rows {
    int32_t group, reserved;
    int64_t first, end;
} pml_bridge_rows;

typedef struct pml_bridge_write_options {
    const char *compression; /* none snappy gzip lz4 lz4_raw zstd brotli */
    int32_t compression_level; /* INT32_MIN: the codec's default */
    int32_t dictionary;        /* 0 or 1 */
    int64_t row_group_bytes;
    int64_t page_bytes;
    int64_t write_batch_rows;
    const uint8_t *plain; /* one per top-level column, 1: no dictionary for it; NULL: as `dictionary` says */
    /* 1: top-level columns of whole numbers (all that Parquet keeps as INT32 or INT64) are DELTA_BINARY_PACKED when they have no
       dictionary. */
    int32_t delta;
    int32_t reserved;
} pml_bridge_write_options;

typedef struct pml_bridge_orc pml_bridge_orc;

typedef struct pml_bridge_orc_request {
    int32_t first_stripe, end_stripe;
    const uint8_t *left_out; /* for each stripe of the file, 1: its rows do not come; copied. NULL: none */
    /* The wanted columns in the project's form, borrowed. Metadata "paimon.type" of a text that begins with CHAR( strips blanks. */
    const struct ArrowSchema *schema;
    /* 1: a file whose columns carry field ids must have each column once and with the type that such a column has in ORC files. */
    uint32_t own_schema;
    uint32_t n_optional; /* the last columns, which a file may lack even so */
    /* Seconds that a clock in the zone of instants of TIMESTAMP WITH LOCAL TIME ZONE is ahead of UTC; added to each. NULL: none. */
    int64_t (*zone_offset)(int64_t utc_seconds);
} pml_bridge_orc_request;

typedef struct pml_bridge_csv_options {
    char delimiter, quote; /* quote 0: none */
    uint8_t header;        /* 1: the first line names the columns, which are matched by name to the schema */
    uint8_t reserved;
    const char *null_text; /* the text that means null when unquoted; NULL: empty */
    int64_t block_bytes;
} pml_bridge_csv_options;

typedef struct pml_bridge {
    size_t struct_size;
    uint32_t abi;
    const char *arrow_version_built, *arrow_version_loaded;

    /* Parquet, reading. On success input is owned by the reader; on failure it has been closed as well. */
    int (*parquet_open)(pml_bridge_reader **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                        const pml_bridge_read_options *options, pml_error *err);
    void (*parquet_close)(pml_bridge_reader *reader); /* streams made from it stay valid */
    /* Arrow schema of the file's top-level columns. Field metadata carries PARQUET:field_id. INT96 is timestamp[ns]. */
    int (*parquet_schema)(struct ArrowSchema *out, pml_bridge_reader *reader, pml_error *err);
    int64_t (*parquet_rows)(const pml_bridge_reader *reader);
    int32_t (*parquet_row_groups)(const pml_bridge_reader *reader);
    int64_t (*parquet_row_group_rows)(const pml_bridge_reader *reader, int32_t group);
    /* Footer statistics of top-level column `column`, which must be a leaf: else kind NONE and null_count -1. */
    int (*parquet_stat)(pml_bridge_stat *out, pml_bridge_reader *reader, int32_t group, int32_t column, pml_error *err);
    /* Batches of at most batch_rows rows of the chosen row groups and top-level columns (each at most once), in the given
       order. Batches have fewer rows where text would exceed 2 GiB; nested text that does is PML_E_LIMIT. Arrays own
       themselves. A value that Arrow's type cannot hold (INT96 outside of 64-bit nanoseconds) is an error, never wrong. */
    int (*parquet_stream)(struct ArrowArrayStream *out, pml_bridge_reader *reader, const int32_t *groups, size_t n_groups,
                          const int32_t *columns, size_t n_columns, pml_error *err);

    /* Pages of top-level column `column` in a row group. *n = 0: unknown, since the column is nested or the file has no page index
       for it, or one that contradicts the footer. Statistics only when asked for. Borrowed from the reader. */
    int (*parquet_pages)(const pml_bridge_page **out, size_t *n, pml_bridge_reader *reader, int32_t group, int32_t column,
                         int32_t with_statistics, pml_error *err);
    /* As parquet_stream for the rows of the ranges only, which ascend (by row group, then row), are not empty and do not overlap. No
       batch crosses a range. Pages without a wanted row are not read where the file has a page index. */
    int (*parquet_stream_rows)(struct ArrowArrayStream *out, pml_bridge_reader *reader, const pml_bridge_rows *ranges,
                               size_t n_ranges, const int32_t *columns, size_t n_columns, pml_error *err);

    /* Parquet, writing. schema is borrowed; field ids from its PARQUET:field_id metadata. Physical types as Java writes them
       (docs: DECIMAL p <= 18 as INT32/INT64, TIMESTAMP p > 6 as INT96, TIME as TIME_MILLIS utc, no ARROW:schema key). */
    int (*parquet_create)(pml_bridge_writer **out, const pml_bridge_output *output, const pml_bridge_memory *memory,
                          const struct ArrowSchema *schema, const pml_bridge_write_options *options, pml_error *err);
    /* array (a struct) is moved on any return. */
    int (*parquet_write)(pml_bridge_writer *writer, struct ArrowArray *array, pml_error *err);
    /* Bytes written so far plus an estimate of what is buffered: for rolling. */
    int64_t (*parquet_size)(const pml_bridge_writer *writer);
    int (*parquet_finish)(pml_bridge_writer *writer, pml_error *err); /* writes the footer */
    void (*parquet_free)(pml_bridge_writer *writer);                  /* after finish, or to give up */

    /* ORC, reading. Ownership as with Parquet; `checksums` has no meaning. ORC's code takes memory that is neither charged nor bounded,
       and ends the process on some damaged files: what is read must be trusted. */
    int (*orc_open)(pml_bridge_orc **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                    const pml_bridge_read_options *options, pml_error *err);
    void (*orc_close)(pml_bridge_orc *reader);
    int64_t (*orc_rows)(const pml_bridge_orc *reader);
    int32_t (*orc_stripes)(const pml_bridge_orc *reader);
    int64_t (*orc_stripe_rows)(const pml_bridge_orc *reader, int32_t stripe);
    /* Of the top-level column of this name in a stripe: whole numbers, dates (INT) and texts (BYTES) as the file has them, not cast. What the
       file does not say is unknown: kind NONE, null_count -1. */
    int (*orc_stripe_stat)(pml_bridge_stat *out, pml_bridge_orc *reader, int32_t stripe, const char *column, pml_error *err);
    /* Batches of at most batch_rows rows of the stripes in exactly the wanted schema: columns by name, missing ones null, others cast
       without loss (but timestamps are cut to their unit). One stream of a reader at a time. */
    int (*orc_stream)(struct ArrowArrayStream *out, pml_bridge_orc *reader, const pml_bridge_orc_request *request, pml_error *err);

    /* CSV. Columns and types from schema (borrowed), an Arrow struct; output in exactly that schema. */
    int (*csv_open)(struct ArrowArrayStream *out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                    const struct ArrowSchema *schema, const pml_bridge_csv_options *options, pml_error *err);
    /* Converts a batch of one Arrow schema to another by column name (casts that lose nothing; missing columns become null;
       a timestamp's zone is a label, at any depth; a list whose items all have n elements becomes a vector): for Parquet
       files of other makers. A value that does not fit is PML_E_INVAL. array is moved on any return. */
    int (*cast)(struct ArrowArray *out, struct ArrowArray *array, const struct ArrowSchema *from, const struct ArrowSchema *to,
                const pml_bridge_memory *memory, pml_error *err);

    /* The error of the last failed call on a stream of the bridge (get_schema and get_next return an errno value, as Arrow
       wants). Returns its code; PML_OK and an untouched err when there is none or the stream is not the bridge's. */
    int (*stream_error)(struct ArrowArrayStream *stream, pml_error *err);
} pml_bridge;

/* The one exported symbol. Static storage; NULL when Arrow's version at run time is not the one it was built with and
   `err` says so. */
typedef const pml_bridge *(*pml_bridge_entry_fn)(pml_error *err);

#ifdef __cplusplus
}
#endif

#endif
