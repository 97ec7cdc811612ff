/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what Java's Paimon would write. Arrow's switch for INT96 covers all timestamps of a file, but the column writers obey
 * the Parquet schema: so the schema is made twice, once with each setting, and the leaf nodes are picked one by one.
 */
#include <arrow/array.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_writer.h>
#include <parquet/schema.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "format/bridge/border.h"
#include "format/bridge/lowered.h"

namespace pml_bridge_ns {

namespace {

/* Incoming batches are cut so that a row group ends close to its size, and long values come in small slices: the size of a page
   is looked at no more than once per slice or write batch. Otherwise slices are long, which costs the least. */
constexpr int64_t slice_rows_min = 1024, slice_rows_check = 8192, slice_rows_max = 65536;
constexpr int64_t slice_bytes = INT64_C(16) << 20;
constexpr int64_t row_group_rows_max = INT64_C(1) << 40;

/* Passes everything on and remembers the open row group, which parquet::arrow::FileWriter does not show. */
class WatchedContents final : public parquet::ParquetFileWriter::Contents {
public:
    WatchedContents(std::unique_ptr<parquet::ParquetFileWriter> inner, std::shared_ptr<parquet::schema::GroupNode> root)
        : Contents(std::move(root), nullptr), inner_(std::move(inner))
    {
    }
    void Close() override
    {
        current_ = nullptr;
        inner_->Close();
        file_metadata_ = inner_->metadata();
    }
    parquet::RowGroupWriter *AppendRowGroup() override
    {
        current_ = nullptr;
        return current_ = inner_->AppendRowGroup();
    }
    parquet::RowGroupWriter *AppendBufferedRowGroup() override
    {
        current_ = nullptr;
        return current_ = inner_->AppendBufferedRowGroup();
    }
    int64_t num_rows() const override { return inner_->num_rows(); }
    int num_columns() const override { return inner_->num_columns(); }
    int num_row_groups() const override { return inner_->num_row_groups(); }
    const std::shared_ptr<parquet::WriterProperties> &properties() const override { return inner_->properties(); }
    void AddKeyValueMetadata(const std::shared_ptr<const arrow::KeyValueMetadata> &metadata) override
    {
        inner_->AddKeyValueMetadata(metadata);
    }
    int64_t buffered_bytes() const
    {
        if (current_ == nullptr)
            return 0;
        auto s = current_->estimated_buffered_stats();
        return current_->total_compressed_bytes() + current_->total_compressed_bytes_written() + s.def_level_bytes +
               s.rep_level_bytes + s.value_bytes + s.dict_bytes;
    }

private:
    std::unique_ptr<parquet::ParquetFileWriter> inner_;
    parquet::RowGroupWriter *current_ = nullptr;
};

} // namespace

struct Writer {
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Output> output;
    std::shared_ptr<arrow::Schema> schema;  /* of the batches that come in */
    std::shared_ptr<arrow::Schema> lowered; /* of those that Arrow's writer gets */
    WatchedContents *contents = nullptr;    /* owned by file */
    std::unique_ptr<parquet::arrow::FileWriter> file;
    int64_t row_group_bytes = 0, group_rows = 0; /* rows of the open row group */
    bool finished = false;
    pml_error error = PML_ERROR_INIT; /* the first failure; the file is lost then */

    ~Writer()
    {
        if (output != nullptr)
            output->discard();
    }
};

namespace {

parquet::schema::NodePtr node_pick(const parquet::schema::NodePtr &plain, const parquet::schema::NodePtr &int96)
{
    if (plain->is_primitive()) {
        const auto &logical = plain->logical_type();
        if (logical == nullptr || !logical->is_timestamp())
            return plain;
        auto unit = static_cast<const parquet::TimestampLogicalType &>(*logical).time_unit();
        return unit == parquet::LogicalType::TimeUnit::NANOS ? int96 : plain;
    }
    const auto &a = static_cast<const parquet::schema::GroupNode &>(*plain);
    const auto &b = static_cast<const parquet::schema::GroupNode &>(*int96);
    parquet::schema::NodeVector fields;
    for (int i = 0; i < a.field_count(); i++)
        fields.push_back(node_pick(a.field(i), b.field(i)));
    auto logical = a.logical_type() == nullptr || a.logical_type()->is_none() ? nullptr : a.logical_type();
    return parquet::schema::GroupNode::Make(a.name(), a.repetition(), fields, logical, a.field_id());
}

arrow::Result<std::shared_ptr<parquet::schema::GroupNode>> root_make(const arrow::Schema &schema,
                                                                     const parquet::WriterProperties &properties)
{
    parquet::ArrowWriterProperties::Builder builder;
    auto plain = builder.set_time_adjusted_to_utc(true)->build();
    auto int96 = builder.enable_deprecated_int96_timestamps()->build();
    parquet::schema::NodeVector fields;
    for (const auto &field : schema.fields()) {
        parquet::schema::NodePtr a, b;
        ARROW_RETURN_NOT_OK(parquet::arrow::FieldToNode(field, properties, *plain, &a));
        ARROW_RETURN_NOT_OK(parquet::arrow::FieldToNode(field, properties, *int96, &b));
        fields.push_back(node_pick(a, b));
    }
    auto root = parquet::schema::GroupNode::Make("paimon_schema", parquet::Repetition::REQUIRED, fields);
    return std::static_pointer_cast<parquet::schema::GroupNode>(root);
}

struct CodecName {
    const char *name;
    arrow::Compression::type type;
};

/* lz4 is Hadoop's framing, as Java writes it under this name. */
constexpr CodecName codec_names[] = {
    {"none", arrow::Compression::UNCOMPRESSED}, {"snappy", arrow::Compression::SNAPPY},
    {"gzip", arrow::Compression::GZIP},         {"lz4", arrow::Compression::LZ4_HADOOP},
    {"lz4_raw", arrow::Compression::LZ4},       {"zstd", arrow::Compression::ZSTD},
    {"brotli", arrow::Compression::BROTLI},
};

arrow::Status codec_set(parquet::WriterProperties::Builder *builder, const pml_bridge_write_options &options)
{
    const char *name = options.compression == nullptr ? "none" : options.compression;
    for (const CodecName &codec : codec_names) {
        if (std::strcmp(codec.name, name) != 0)
            continue;
        builder->compression(codec.type);
        int level = options.compression_level;
        if (level == INT32_MIN || !arrow::util::Codec::SupportsCompressionLevel(codec.type))
            return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(int low, arrow::util::Codec::MinimumCompressionLevel(codec.type));
        ARROW_ASSIGN_OR_RAISE(int high, arrow::util::Codec::MaximumCompressionLevel(codec.type));
        if (level < low || level > high)
            return arrow::Status::Invalid("level ", level, " of compression ", name, " is not between ", low, " and ", high);
        builder->compression_level(level);
        return arrow::Status::OK();
    }
    return arrow::Status::NotImplemented("compression '", name,
                                         "' is not one of none, snappy, gzip, lz4, lz4_raw, zstd, brotli");
}

/*
 * What takes the place of plain values. Java 1.4.2 reads this encoding of whole numbers, but no BYTE_STREAM_SPLIT, and it takes
 * DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY only to give back other texts, without an error. Nested columns stay plain: Java
 * has another reader for them, and what would be gained has not been measured.
 */
void delta_set(parquet::WriterProperties::Builder *builder, const parquet::ColumnDescriptor &column)
{
    auto type = column.physical_type();
    if (column.path()->ToDotVector().size() == 1 && (type == parquet::Type::INT32 || type == parquet::Type::INT64))
        builder->encoding(column.path(), parquet::Encoding::DELTA_BINARY_PACKED);
}

/*
 * Arrow's smallest and largest values leave NaN out, and do not say that there is one. To Java a NaN is larger than all numbers: it
 * writes no statistics of a chunk that has one, and where it finds some it skips rows that its own filter would find.
 */
void statistics_set(parquet::WriterProperties::Builder *builder, const parquet::ColumnDescriptor &column)
{
    auto type = column.physical_type();
    if (type == parquet::Type::FLOAT || type == parquet::Type::DOUBLE)
        builder->disable_statistics(column.path());
}

/*
 * Java never writes dictionaries of fixed-length columns, which are decimals of more than 18 digits, and cannot search them: its
 * filter looks for the shortest form of the number among the padded ones, finds nothing and skips the row group.
 */
void columns_set(parquet::WriterProperties::Builder *builder, const pml_bridge_write_options &options,
                   const parquet::schema::NodePtr &root)
{
    if (options.dictionary == 0)
        builder->disable_dictionary();
    else
        builder->enable_dictionary();
    if (root == nullptr)
        return;
    parquet::SchemaDescriptor columns;
    columns.Init(root);
    const auto &top = static_cast<const parquet::schema::GroupNode &>(*root);
    for (int i = 0; i < columns.num_columns(); i++) {
        const parquet::ColumnDescriptor &column = *columns.Column(i);
        int field = top.FieldIndex(*columns.GetColumnRoot(i));
        statistics_set(builder, column);
        bool plain = options.dictionary == 0 || column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY ||
                     (options.plain != nullptr && field >= 0 && options.plain[field] != 0);
        if (!plain)
            continue;
        builder->disable_dictionary(column.path());
        if (options.delta != 0)
            delta_set(builder, column);
    }
}

/* root: NULL as long as the schema is not made, which takes properties itself. */
arrow::Result<std::shared_ptr<parquet::WriterProperties>> properties_make(Writer *w, const pml_bridge_write_options &options,
                                                                          const parquet::schema::NodePtr &root)
{
    parquet::WriterProperties::Builder builder;
    builder.memory_pool(w->pool.get());
    builder.created_by("paimon-live");
    /* Lower versions would turn the nanoseconds to microseconds that node_pick must see. Nothing of 2.6 reaches the file. */
    builder.version(parquet::ParquetVersion::PARQUET_2_6);
    builder.data_page_version(parquet::ParquetDataPageVersion::V1);
    builder.enable_store_decimal_as_integer();
    builder.enable_page_checksum(); /* as Java: a flipped bit in an uncompressed page would else be a wrong value */
    builder.max_row_group_length(row_group_rows_max);
    builder.set_size_statistics_level(parquet::SizeStatisticsLevel::None);
    columns_set(&builder, options, root);
    if (options.page_bytes > 0)
        builder.data_pagesize(options.page_bytes);
    if (options.write_batch_rows > 0)
        builder.write_batch_size(options.write_batch_rows);
    ARROW_RETURN_NOT_OK(codec_set(&builder, options));
    return builder.build();
}

arrow::Status writer_open(Writer *w, const struct ArrowSchema *schema, const pml_bridge_write_options &options)
{
    ARROW_ASSIGN_OR_RAISE(w->schema, schema_borrow(schema));
    w->lowered = schema_lowered(w->schema);
    w->row_group_bytes = options.row_group_bytes > 0 ? options.row_group_bytes : INT64_C(128) << 20;
    ARROW_ASSIGN_OR_RAISE(auto properties, properties_make(w, options, nullptr));
    ARROW_ASSIGN_OR_RAISE(auto root, root_make(*w->lowered, *properties));
    ARROW_ASSIGN_OR_RAISE(properties, properties_make(w, options, root));
    auto inner = parquet::ParquetFileWriter::Open(w->output, root, properties);
    auto contents = std::make_unique<WatchedContents>(std::move(inner), root);
    auto outer = std::make_unique<parquet::ParquetFileWriter>();
    w->contents = contents.get();
    outer->Open(std::move(contents));
    parquet::ArrowWriterProperties::Builder builder;
    auto arrow_properties = builder.set_time_adjusted_to_utc(true)->set_use_threads(false)->build();
    return parquet::arrow::FileWriter::Make(w->pool.get(), std::move(outer), w->lowered, std::move(arrow_properties), &w->file);
}

int writer_fail(Writer *w, pml_error *err, const arrow::Status &status)
{
    if (w->output->error() != nullptr)
        w->error = *w->output->error();
    else
        (void)error_from_status(&w->error, status, Doing::Write, w->output->name());
    if (err != nullptr)
        *err = w->error;
    return w->error.code;
}

int writer_fail_exception(Writer *w, pml_error *err) noexcept
{
    if (w->output->error() != nullptr)
        w->error = *w->output->error();
    else
        (void)error_from_exception(&w->error, Doing::Write, w->output->name());
    if (err != nullptr)
        *err = w->error;
    return w->error.code;
}

/* How many rows more the open row group takes, judged by those that it has: an estimate between check and max. */
int64_t group_rows_left(const Writer &w)
{
    if (w.group_rows == 0)
        return slice_rows_check;
    int64_t bytes = w.contents->buffered_bytes();
    int64_t left = (w.row_group_bytes - bytes) / (bytes / w.group_rows + 1);
    return std::clamp(left, slice_rows_check, slice_rows_max);
}

/* A full row group ends when there are rows for the next one: one without rows at the end of a file is refused by some readers. */
arrow::Status group_end_if_full(Writer *w)
{
    if (w->group_rows == 0 || w->contents->buffered_bytes() < w->row_group_bytes)
        return arrow::Status::OK();
    w->group_rows = 0;
    return w->file->NewBufferedRowGroup();
}

arrow::Status writer_write(Writer *w, struct ArrowArray *array)
{
    ARROW_ASSIGN_OR_RAISE(auto batch, batch_take(array, w->schema, w->pool.get()));
    ARROW_ASSIGN_OR_RAISE(batch, batch_lowered(batch, w->lowered, w->pool.get()));
    ARROW_ASSIGN_OR_RAISE(int64_t bytes, arrow::util::ReferencedBufferSize(*batch));
    int64_t short_rows = slice_bytes / (bytes / std::max<int64_t>(batch->num_rows(), 1) + 1);
    for (int64_t row = 0, rows; row < batch->num_rows(); row += rows) {
        ARROW_RETURN_NOT_OK(group_end_if_full(w));
        rows = std::max(std::min(short_rows, group_rows_left(*w)), slice_rows_min);
        rows = std::min(rows, batch->num_rows() - row);
        ARROW_RETURN_NOT_OK(w->file->WriteRecordBatch(*batch->Slice(row, rows)));
        w->group_rows += rows;
    }
    return arrow::Status::OK();
}

/* A writer that failed or is finished takes nothing more. */
int writer_usable(const Writer &w, pml_error *err)
{
    if (w.error.code != PML_OK) {
        if (err != nullptr)
            *err = w.error;
        return w.error.code;
    }
    return w.finished ? error_set(err, PML_E_STATE, w.output->name(), "%.300s is finished already", w.output->name().c_str())
                      : PML_OK;
}

} // namespace

} // namespace pml_bridge_ns

struct pml_bridge_writer {
    pml_bridge_ns::Writer w;
};

namespace pml_bridge_ns {

int parquet_create(pml_bridge_writer **out, const pml_bridge_output *output, const pml_bridge_memory *memory,
                   const struct ArrowSchema *schema, const pml_bridge_write_options *options, pml_error *err)
{
    *out = nullptr;
    std::unique_ptr<pml_bridge_writer> made;
    try {
        auto pool = Pool::make_for_writer(memory);
        auto file = std::make_shared<Output>(output);
        made.reset(new pml_bridge_writer{});
        made->w.pool = std::move(pool);
        made->w.output = std::move(file);
    } catch (...) {
        return error_from_exception(err, Doing::Write, "");
    }
    try {
        arrow::Status status = writer_open(&made->w, schema, *options);
        if (!status.ok())
            return writer_fail(&made->w, err, status);
    } catch (...) {
        return writer_fail_exception(&made->w, err);
    }
    *out = made.release();
    return PML_OK;
}

int parquet_write(pml_bridge_writer *writer, struct ArrowArray *array, pml_error *err)
{
    Writer *w = &writer->w;
    int rc = writer_usable(*w, err);
    if (rc != PML_OK) {
        if (array->release != nullptr)
            array->release(array);
        return rc;
    }
    try {
        arrow::Status status = writer_write(w, array);
        return status.ok() ? PML_OK : writer_fail(w, err, status);
    } catch (...) {
        return writer_fail_exception(w, err);
    }
}

int64_t parquet_size(const pml_bridge_writer *writer)
{
    const Writer &w = writer->w;
    int64_t buffered = 0;
    if (!w.finished && w.error.code == PML_OK) {
        try {
            buffered = w.contents->buffered_bytes();
        } catch (...) {
            buffered = 0;
        }
    }
    return w.output->position() + buffered;
}

int parquet_finish(pml_bridge_writer *writer, pml_error *err)
{
    Writer *w = &writer->w;
    int rc = writer_usable(*w, err);
    if (rc != PML_OK)
        return rc;
    try {
        arrow::Status status = w->file->Close();
        if (!status.ok())
            return writer_fail(w, err, status);
        w->finished = true;
        return PML_OK;
    } catch (...) {
        return writer_fail_exception(w, err);
    }
}

void parquet_free(pml_bridge_writer *writer)
{
    delete writer;
}

} // namespace pml_bridge_ns
