/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/config.h>
#include <arrow/util/config.h>

#include <cstring>

#include "format/bridge/border.h"

namespace {

pml_bridge table_make()
{
    using namespace pml_bridge_ns;
    pml_bridge t{};
    t.struct_size = sizeof t;
    t.abi = PML_BRIDGE_ABI;
    t.arrow_version_built = ARROW_VERSION_STRING;
    t.arrow_version_loaded = arrow::GetBuildInfo().version_string.c_str();
    t.parquet_open = parquet_open;
    t.parquet_close = parquet_close;
    t.parquet_schema = parquet_schema;
    t.parquet_rows = parquet_rows;
    t.parquet_row_groups = parquet_row_groups;
    t.parquet_row_group_rows = parquet_row_group_rows;
    t.parquet_stat = parquet_stat;
    t.parquet_stream = parquet_stream;
    t.parquet_pages = parquet_pages;
    t.parquet_stream_rows = parquet_stream_rows;
    t.parquet_create = parquet_create;
    t.parquet_write = parquet_write;
    t.parquet_size = parquet_size;
    t.parquet_finish = parquet_finish;
    t.parquet_free = parquet_free;
    t.orc_open = orc_open;
    t.orc_close = orc_close;
    t.orc_rows = orc_rows;
    t.orc_stripes = orc_stripes;
    t.orc_stripe_rows = orc_stripe_rows;
    t.orc_stripe_stat = orc_stripe_stat;
    t.orc_stream = orc_stream;
    t.csv_open = csv_open;
    t.cast = cast;
    t.stream_error = stream_error;
    return t;
}

} // namespace

/* A host may have loaded another libarrow under the same soname; its classes need not have our layout. */
extern "C" __attribute__((visibility("default"))) const pml_bridge *pml_bridge_entry(pml_error *err)
{
    try {
        static const pml_bridge table = table_make();
        if (std::strcmp(table.arrow_version_built, table.arrow_version_loaded) == 0)
            return &table;
        (void)pml_bridge_ns::error_set(err, PML_E_UNSUPPORTED, "",
                                       "the bridge was built with Apache Arrow %s but this process has %s loaded: install the "
                                       "version it was built with, or do not load another one first",
                                       table.arrow_version_built, table.arrow_version_loaded);
    } catch (...) {
        (void)pml_bridge_ns::error_from_exception(err, pml_bridge_ns::Doing::Cast, "");
    }
    return nullptr;
}
