/* SPDX-License-Identifier: Apache-2.0 */
/* An open Parquet file, shared by its handle and its streams. */
#ifndef PML_FORMAT_BRIDGE_READER_H
#define PML_FORMAT_BRIDGE_READER_H

#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include <map>
#include <vector>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

/* The page index of a leaf in a row group, checked against the footer. Empty: none that can be used. */
struct Pages {
    std::vector<parquet::PageLocation> at;
    std::vector<pml_bridge_page> pages;
    std::shared_ptr<parquet::ColumnIndex> index; /* the statistics point into it; NULL: not asked for yet, or none */
    bool index_tried = false;
};

/* What column chunks are read with. */
struct ChunkSource {
    ChunkSource(std::shared_ptr<Pool> pool_in, std::shared_ptr<Input> input_in, std::shared_ptr<parquet::FileMetaData> metadata_in,
                const parquet::ReaderProperties &properties_in);
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Input> input;
    std::shared_ptr<parquet::FileMetaData> metadata;
    parquet::ReaderProperties properties;
    parquet::ReaderProperties page_properties; /* of page readers: without checksums, where PageStream verifies them */
};

struct Reader {
    /* Order matters: what is declared first goes last. */
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Input> input;
    std::unique_ptr<parquet::arrow::FileReader> file;
    std::shared_ptr<parquet::FileMetaData> metadata;
    std::shared_ptr<arrow::Schema> native;    /* types that Arrow hands out, an ARROW:schema key of the footer obeyed */
    std::shared_ptr<arrow::Schema> canonical; /* what leaves the bridge */
    std::vector<std::vector<int>> leaves;     /* of each top-level column */
    std::map<std::pair<int, int>, std::shared_ptr<parquet::Statistics>> statistics; /* handed-out pointers live here */
    std::map<std::pair<int, int>, Pages> pages;                                     /* by row group and leaf; likewise */
    parquet::ReaderProperties properties;
    parquet::ArrowReaderProperties arrow_properties;
    pml_bridge_read_options options;
};

/* Whether every INT96 value of the leaf in the row group fits into 64-bit nanoseconds; an error names the column if not. file: the
   Parquet reader to look through. */
arrow::Status int96_check(parquet::ParquetFileReader *file, int group, int leaf);
/* Arrow's batch as it leaves the bridge: validated as the options say, in the canonical types. */
arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_finished(const Reader &reader, const arrow::RecordBatch &batch,
                                                                  const std::shared_ptr<arrow::Schema> &canonical);
/* Flat text beyond 2 GiB comes in smaller batches; below a list or struct Arrow gives up with words that help nobody. */
arrow::Status status_explained(const Reader &reader, arrow::Status status);
/* Refuses row groups and columns that do not exist. */
int columns_check(const Reader &r, const int32_t *columns, size_t n_columns, pml_error *err);
/* The statistics of one leaf: physical minimum and maximum as a pml_bridge_stat wants them. */
bool stat_is_ordered(const parquet::ColumnDescriptor &column);
/* The pages of a leaf; an empty list when the file does not tell. Throws only what reading throws. */
Pages &pages_get(Reader *reader, int group, int leaf, bool with_statistics);
/* Bytes [*first, *end) of a column chunk; false when the footer gives an impossible place. */
bool chunk_place(const parquet::ColumnChunkMetaData &chunk, int64_t file_bytes, int64_t *first, int64_t *end);

/* Some bytes of the file. */
struct Run {
    int64_t offset, bytes;
};
/* The pages of a chunk that lie in the runs, one after the other (parquet_stream.cc). */
std::unique_ptr<parquet::PageReader> pages_open(const ChunkSource &source, const parquet::ColumnChunkMetaData &chunk, int leaf,
                                                std::vector<Run> runs);
/* A file whose chunks are all read like that. */
std::unique_ptr<parquet::ParquetFileReader::Contents> whole_contents(ChunkSource source);

/* A Parquet reader that shows only the pages of each column chunk that hold wanted rows (parquet_picked.cc). */
struct Pick {
    std::vector<std::pair<int64_t, int64_t>> rows; /* shown, ascending: what the wanted pages hold */
    std::vector<size_t> pages;                     /* of pages_get; empty with rows: the chunk as a whole */
};
using Picks = std::map<std::pair<int, int>, Pick>; /* by row group and leaf; absent: nothing is shown */
std::unique_ptr<parquet::ParquetFileReader> picked_reader(std::shared_ptr<Reader> reader, std::shared_ptr<const Picks> picks);

} // namespace pml_bridge_ns

struct pml_bridge_reader {
    std::shared_ptr<pml_bridge_ns::Reader> shared;
};

#endif
