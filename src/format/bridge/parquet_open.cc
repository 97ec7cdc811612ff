/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/c/bridge.h>
#include <parquet/arrow/schema.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/bridge/reader.h"

namespace pml_bridge_ns {

static void leaves_collect(std::vector<int> *out, const parquet::arrow::SchemaField &field)
{
    if (field.is_leaf())
        out->push_back(field.column_index);
    for (const auto &child : field.children)
        leaves_collect(out, child);
}

/* The numbers that callers plan with must at least agree with each other. */
static arrow::Status metadata_check(const parquet::FileMetaData &metadata)
{
    int64_t sum = 0;
    for (int i = 0; i < metadata.num_row_groups(); i++) {
        int64_t rows = metadata.RowGroup(i)->num_rows();
        if (rows < 0 || __builtin_add_overflow(sum, rows, &sum))
            return arrow::Status::Invalid("row group ", i, " has an impossible number of rows: ", rows);
    }
    if (sum != metadata.num_rows())
        return arrow::Status::Invalid("the row groups have ", sum, " rows, the footer says ", metadata.num_rows());
    return arrow::Status::OK();
}

static arrow::Status file_open(Reader *r, const parquet::ArrowReaderProperties &arrow_properties)
{
    parquet::ReaderProperties properties(r->pool.get());
    properties.set_page_checksum_verification(r->options.validate == PML_BRIDGE_VALIDATE_FULL || r->options.checksums != 0);
    /* No list in it has more items than the file has bytes; else a number in a footer of 30 bytes could ask for half a gigabyte,
       and that from the system, not from the pool. */
    ARROW_ASSIGN_OR_RAISE(int64_t size, r->input->GetSize());
    properties.set_thrift_container_size_limit(
        static_cast<int32_t>(std::clamp<int64_t>(size, 1, properties.thrift_container_size_limit())));
    auto metadata = parquet::ParquetFileReader::Open(r->input, properties)->metadata();
    auto file = std::make_unique<parquet::ParquetFileReader>();
    file->Open(whole_contents({r->pool, r->input, metadata, properties}));
    r->properties = properties;
    r->arrow_properties = arrow_properties;
    ARROW_ASSIGN_OR_RAISE(r->file, parquet::arrow::FileReader::Make(r->pool.get(), std::move(file), arrow_properties));
    r->metadata = r->file->parquet_reader()->metadata();
    return arrow::Status::OK();
}

static arrow::Status reader_open(Reader *r)
{
    parquet::ArrowReaderProperties arrow_properties(false);
    arrow_properties.set_batch_size(r->options.batch_rows);
    arrow_properties.set_pre_buffer(false);
    arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::NANO);
    arrow_properties.set_io_context(arrow::io::IOContext(r->pool.get()));
    ARROW_RETURN_NOT_OK(file_open(r, arrow_properties));
    ARROW_RETURN_NOT_OK(metadata_check(*r->metadata));
    ARROW_RETURN_NOT_OK(r->file->GetSchema(&r->native));
    /* Without the key-value metadata: an ARROW:schema key could ask for dictionaries, large offsets or extensions. */
    std::shared_ptr<arrow::Schema> plain;
    ARROW_RETURN_NOT_OK(parquet::arrow::FromParquetSchema(r->metadata->schema(), arrow_properties, nullptr, &plain));
    arrow::FieldVector fields;
    for (const auto &field : plain->fields())
        fields.push_back(field_canonical(field));
    r->canonical = arrow::schema(std::move(fields));
    const auto &top = r->file->manifest().schema_fields;
    if (static_cast<int>(top.size()) != r->canonical->num_fields() || r->native->num_fields() != r->canonical->num_fields())
        return arrow::Status::Invalid("the schema has groups without columns");
    for (const auto &field : top) {
        r->leaves.emplace_back();
        leaves_collect(&r->leaves.back(), field);
    }
    return arrow::Status::OK();
}

static int reader_make(pml_bridge_reader **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                       const pml_bridge_read_options *options, pml_error *err)
{
    std::shared_ptr<Pool> pool;
    try {
        pool = Pool::make(memory);
    } catch (...) {
        if (input->close != nullptr)
            input->close(input->ctx);
        throw;
    }
    std::shared_ptr<Input> file = Input::make(input, pool);
    try {
        auto shared = std::make_shared<Reader>();
        shared->pool = pool;
        shared->input = file;
        shared->options = *options;
        arrow::Status status = reader_open(shared.get());
        if (!status.ok())
            return file->fail(err, status);
        *out = new pml_bridge_reader{std::move(shared)};
        return PML_OK;
    } catch (...) {
        return file->fail_exception(err);
    }
}

int parquet_open(pml_bridge_reader **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                 const pml_bridge_read_options *options, pml_error *err)
{
    *out = nullptr;
    if (options == nullptr || options->batch_rows <= 0 || options->validate > PML_BRIDGE_VALIDATE_FULL) {
        if (input->close != nullptr)
            input->close(input->ctx);
        if (memory != nullptr && memory->drop != nullptr)
            memory->drop(memory->ctx);
        return error_set(err, PML_E_INVAL, "", "batch_rows must be positive and validate one of PML_BRIDGE_VALIDATE_*");
    }
    try {
        return reader_make(out, input, memory, options, err);
    } catch (...) {
        return error_from_exception(err, Doing::Read, "");
    }
}

void parquet_close(pml_bridge_reader *reader)
{
    delete reader;
}

int parquet_schema(struct ArrowSchema *out, pml_bridge_reader *reader, pml_error *err)
{
    out->release = nullptr;
    try {
        return reader->shared->input->fail(err, arrow::ExportSchema(*reader->shared->canonical, out));
    } catch (...) {
        return reader->shared->input->fail_exception(err);
    }
}

int64_t parquet_rows(const pml_bridge_reader *reader)
{
    return reader->shared->metadata->num_rows();
}

int32_t parquet_row_groups(const pml_bridge_reader *reader)
{
    return reader->shared->metadata->num_row_groups();
}

int64_t parquet_row_group_rows(const pml_bridge_reader *reader, int32_t group)
{
    if (group < 0 || group >= parquet_row_groups(reader))
        return -1;
    try {
        return reader->shared->metadata->RowGroup(group)->num_rows();
    } catch (...) {
        return -1;
    }
}

/* ---- statistics ---- */

template <typename T> static void stat_int(pml_bridge_stat *out, const parquet::Statistics &statistics)
{
    const auto &typed = static_cast<const parquet::TypedStatistics<T> &>(statistics);
    out->min_i = typed.min();
    out->max_i = typed.max();
    out->kind = PML_BRIDGE_STAT_INT;
}

template <typename T> static void stat_real(pml_bridge_stat *out, const parquet::Statistics &statistics, uint32_t kind)
{
    const auto &typed = static_cast<const parquet::TypedStatistics<T> &>(statistics);
    out->min_d = typed.min();
    out->max_d = typed.max();
    if (!std::isnan(out->min_d) && !std::isnan(out->max_d))
        out->kind = kind;
    else
        out->min_d = out->max_d = 0;
}

static void stat_fill(pml_bridge_stat *out, const parquet::Statistics &statistics, const parquet::ColumnDescriptor &column)
{
    switch (column.physical_type()) {
    case parquet::Type::BOOLEAN: stat_int<parquet::BooleanType>(out, statistics); break;
    case parquet::Type::INT32: stat_int<parquet::Int32Type>(out, statistics); break;
    case parquet::Type::INT64: stat_int<parquet::Int64Type>(out, statistics); break;
    case parquet::Type::FLOAT: stat_real<parquet::FloatType>(out, statistics, PML_BRIDGE_STAT_FLOAT); break;
    case parquet::Type::DOUBLE: stat_real<parquet::DoubleType>(out, statistics, PML_BRIDGE_STAT_DOUBLE); break;
    case parquet::Type::BYTE_ARRAY: {
        const auto &typed = static_cast<const parquet::ByteArrayStatistics &>(statistics);
        out->min_ptr = typed.min().ptr;
        out->min_len = typed.min().len;
        out->max_ptr = typed.max().ptr;
        out->max_len = typed.max().len;
        out->kind = PML_BRIDGE_STAT_BYTES;
        break;
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
        const auto &typed = static_cast<const parquet::FLBAStatistics &>(statistics);
        out->min_ptr = typed.min().ptr;
        out->max_ptr = typed.max().ptr;
        out->min_len = out->max_len = static_cast<size_t>(column.type_length());
        out->kind = PML_BRIDGE_STAT_BYTES;
        break;
    }
    default: break;
    }
}

/* Unsigned and unknown orders: the bounds would be wrong for a reader that compares signed values. */
bool stat_is_ordered(const parquet::ColumnDescriptor &column)
{
    return column.physical_type() == parquet::Type::BYTE_ARRAY || column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY ||
           column.sort_order() == parquet::SortOrder::SIGNED || column.physical_type() == parquet::Type::BOOLEAN;
}

static arrow::Status stat_get(pml_bridge_stat *out, Reader *r, int32_t group, int32_t column)
{
    const auto &field = r->file->manifest().schema_fields[static_cast<size_t>(column)];
    if (!field.is_leaf() || r->leaves[static_cast<size_t>(column)].size() != 1)
        return arrow::Status::OK();
    const parquet::ColumnDescriptor *descr = r->metadata->schema()->Column(field.column_index);
    if (descr->max_repetition_level() > 0)
        return arrow::Status::OK();
    auto &statistics = r->statistics[{group, column}];
    if (statistics == nullptr)
        statistics = r->metadata->RowGroup(group)->ColumnChunk(field.column_index)->statistics();
    if (statistics == nullptr)
        return arrow::Status::OK();
    if (statistics->HasNullCount())
        out->null_count = statistics->null_count();
    if (statistics->HasMinMax() && stat_is_ordered(*descr))
        stat_fill(out, *statistics, *descr);
    return arrow::Status::OK();
}

int parquet_stat(pml_bridge_stat *out, pml_bridge_reader *reader, int32_t group, int32_t column, pml_error *err)
{
    Reader *r = reader->shared.get();
    std::memset(out, 0, sizeof *out);
    out->null_count = -1;
    if (group < 0 || group >= r->metadata->num_row_groups() || column < 0 || column >= r->canonical->num_fields())
        return error_set(err, PML_E_INVAL, r->input->name(), "no column %d in row group %d of %.300s", column, group,
                         r->input->name().c_str());
    try {
        return r->input->fail(err, stat_get(out, r, group, column));
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
