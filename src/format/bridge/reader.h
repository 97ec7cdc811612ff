/* SPDX-License-Identifier: Apache-2.0 */
/* An open Parquet file, shared by its handle and its streams. */
#ifndef PML_FORMAT_BRIDGE_READER_H
#define PML_FORMAT_BRIDGE_READER_H

#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <map>
#include <vector>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

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
    pml_bridge_read_options options;
};

/* Whether every INT96 value of the leaf in the row group fits into 64-bit nanoseconds; an error names the column if not. */
arrow::Status int96_check(Reader *reader, int group, int leaf);

} // namespace pml_bridge_ns

struct pml_bridge_reader {
    std::shared_ptr<pml_bridge_ns::Reader> shared;
};

#endif
