/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/array.h>
#include <arrow/table.h>
#include <parquet/column_reader.h>

#include <cstring>
#include <set>

#include "format/bridge/reader.h"

namespace pml_bridge_ns {

namespace {

constexpr int64_t nanos_per_day = INT64_C(86400000000000);
constexpr int64_t julian_epoch = 2440588;

bool int96_fits(const parquet::Int96 &value)
{
    int64_t nanos;
    int64_t total;
    std::memcpy(&nanos, &value, sizeof nanos); /* may be negative: Java rounds the day toward zero */
    __int128 days = static_cast<__int128>(value.value[2]) - julian_epoch;
    __int128 exact = days * nanos_per_day + nanos;
    total = static_cast<int64_t>(exact);
    return total == exact;
}

} // namespace

/*
 * Arrow turns INT96 into nanoseconds with wrapping arithmetic and says nothing, so these columns are decoded a second time and
 * looked at in their raw form. Only files with such columns pay, and only when the columns are asked for.
 */
arrow::Status int96_check(parquet::ParquetFileReader *file, int group, int leaf)
{
    constexpr int64_t step = 4096;
    auto column = file->RowGroup(group)->Column(leaf);
    auto *typed = static_cast<parquet::Int96Reader *>(column.get());
    std::vector<parquet::Int96> values(step);
    std::vector<int16_t> definition(step), repetition(step);
    while (typed->HasNext()) {
        int64_t n_values = 0;
        int64_t n_levels = typed->ReadBatch(step, definition.data(), repetition.data(), values.data(), &n_values);
        for (int64_t i = 0; i < n_values; i++)
            if (!int96_fits(values[static_cast<size_t>(i)]))
                return arrow::Status::Invalid("column ", typed->descr()->path()->ToDotString(),
                                              " has an INT96 timestamp (julian day ", values[static_cast<size_t>(i)].value[2],
                                              ") outside of the years 1677 to 2262, which 64-bit nanoseconds cannot hold");
        if (n_levels <= 0)
            break;
    }
    return arrow::Status::OK();
}

arrow::Status status_explained(const Reader &reader, arrow::Status status)
{
    if (!status.IsNotImplemented() || status.message().find("chunked array") == std::string::npos)
        return status;
    return arrow::Status::CapacityError("a nested column has more than 2 GiB of text in a batch of ", reader.options.batch_rows,
                                        " rows: read fewer rows at a time");
}

static arrow::Status validate(const Reader &reader, const arrow::RecordBatch &batch)
{
    if (reader.options.validate == PML_BRIDGE_VALIDATE_FULL)
        return batch.ValidateFull();
    return reader.options.validate == PML_BRIDGE_VALIDATE_BASIC ? batch.Validate() : arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_finished(const Reader &reader, const arrow::RecordBatch &batch,
                                                                  const std::shared_ptr<arrow::Schema> &canonical)
{
    if (batch.num_columns() != canonical->num_fields())
        return arrow::Status::Invalid("a batch has ", batch.num_columns(), " columns");
    ARROW_RETURN_NOT_OK(validate(reader, batch));
    arrow::ArrayVector columns = batch.columns();
    for (size_t i = 0; i < columns.size(); i++) {
        const auto &field = canonical->field(static_cast<int>(i));
        if (columns[i]->length() != batch.num_rows())
            return arrow::Status::Invalid("column ", field->name(), " has ", columns[i]->length(), " rows in a batch of ",
                                          batch.num_rows());
        if (!type_same_layout(*columns[i]->type(), *field->type())) {
            /* A cast believes indices and offsets, and an ARROW:schema key of the footer decides what is cast. */
            ARROW_RETURN_NOT_OK(columns[i]->ValidateFull());
            ARROW_ASSIGN_OR_RAISE(columns[i], array_cast(columns[i], field->type(), reader.pool.get()));
        }
    }
    return arrow::RecordBatch::Make(canonical, batch.num_rows(), std::move(columns));
}

int columns_check(const Reader &r, const int32_t *columns, size_t n_columns, pml_error *err)
{
    std::set<int32_t> seen;
    for (size_t i = 0; i < n_columns; i++)
        if (columns[i] < 0 || columns[i] >= r.canonical->num_fields() || !seen.insert(columns[i]).second)
            return error_set(err, PML_E_INVAL, r.input->name(), "column %d of %.300s does not exist or was asked for twice",
                             columns[i], r.input->name().c_str());
    return PML_OK;
}

namespace {

class ParquetSource final : public Source {
public:
    explicit ParquetSource(std::shared_ptr<Reader> shared) : shared_(std::move(shared)) {}
    arrow::Status open(const int32_t *groups, size_t n_groups, const int32_t *columns, size_t n_columns);
    std::shared_ptr<arrow::Schema> schema() override { return canonical_; }
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override;
    int fail(pml_error *err, const arrow::Status &status) override { return shared_->input->fail(err, status); }
    int fail_exception(pml_error *err) noexcept override { return shared_->input->fail_exception(err); }

private:
    arrow::Status int96_check_until(int64_t row);
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_native();

    std::shared_ptr<Reader> shared_;
    std::unique_ptr<arrow::RecordBatchReader> batches_;
    std::shared_ptr<arrow::Schema> native_, canonical_;
    std::vector<int> groups_, int96_;
    size_t checked_ = 0;       /* groups whose INT96 columns were looked at */
    int64_t checked_rows_ = 0; /* rows of them */
    int64_t rows_ = 0, rows_all_ = 0;
};

arrow::Status ParquetSource::open(const int32_t *groups, size_t n_groups, const int32_t *columns, size_t n_columns)
{
    std::vector<int> leaves;
    arrow::FieldVector native, canonical;
    for (size_t i = 0; i < n_groups; i++) {
        groups_.push_back(groups[i]);
        rows_all_ += shared_->metadata->RowGroup(groups[i])->num_rows();
    }
    for (size_t i = 0; i < n_columns; i++) {
        for (int leaf : shared_->leaves[static_cast<size_t>(columns[i])]) {
            leaves.push_back(leaf);
            if (shared_->metadata->schema()->Column(leaf)->physical_type() == parquet::Type::INT96)
                int96_.push_back(leaf);
        }
        native.push_back(shared_->native->field(columns[i]));
        canonical.push_back(shared_->canonical->field(columns[i]));
    }
    native_ = arrow::schema(std::move(native));
    canonical_ = arrow::schema(std::move(canonical));
    if (n_groups > 0 && n_columns > 0) {
        ARROW_ASSIGN_OR_RAISE(batches_, shared_->file->GetRecordBatchReader(groups_, leaves));
    }
    return arrow::Status::OK();
}

/* Batches cross row groups: everything that the next batch may touch is checked before it is decoded. */
arrow::Status ParquetSource::int96_check_until(int64_t row)
{
    while (!int96_.empty() && checked_ < groups_.size() && checked_rows_ < row) {
        int group = groups_[checked_++];
        for (int leaf : int96_)
            ARROW_RETURN_NOT_OK(int96_check(shared_->file->parquet_reader(), group, leaf));
        checked_rows_ += shared_->metadata->RowGroup(group)->num_rows();
    }
    return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetSource::next_native()
{
    std::shared_ptr<arrow::RecordBatch> batch;
    int64_t left = rows_all_ - rows_;
    int64_t want = std::min(shared_->options.batch_rows, left);
    if (batches_ == nullptr) {
        /* No columns: the footer's word is all there is. */
        if (want > 0)
            batch = arrow::RecordBatch::Make(native_, want, arrow::ArrayVector{});
        return batch;
    }
    shared_->input->forget_error(); /* that of another stream, if any */
    ARROW_RETURN_NOT_OK(int96_check_until(rows_ + want));
    ARROW_RETURN_NOT_OK(status_explained(*shared_, batches_->ReadNext(&batch)));
    if (batch == nullptr && left > 0)
        return arrow::Status::Invalid("the columns end after ", rows_, " of ", rows_all_, " rows");
    if (batch != nullptr && batch->num_rows() > left)
        return arrow::Status::Invalid("the columns have more than the ", rows_all_, " rows that the footer says");
    return batch;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetSource::next()
{
    shared_->pool->begin_call();
    ARROW_ASSIGN_OR_RAISE(auto batch, next_native());
    if (batch == nullptr)
        return batch;
    rows_ += batch->num_rows();
    return batch_finished(*shared_, *batch, canonical_);
}

int stream_arguments_check(const Reader &r, const int32_t *groups, size_t n_groups, const int32_t *columns, size_t n_columns,
                           pml_error *err)
{
    for (size_t i = 0; i < n_groups; i++)
        if (groups[i] < 0 || groups[i] >= r.metadata->num_row_groups())
            return error_set(err, PML_E_INVAL, r.input->name(), "no row group %d in %.300s", groups[i],
                             r.input->name().c_str());
    return columns_check(r, columns, n_columns, err);
}

} // namespace

int parquet_stream(struct ArrowArrayStream *out, pml_bridge_reader *reader, const int32_t *groups, size_t n_groups,
                   const int32_t *columns, size_t n_columns, pml_error *err)
{
    Reader *r = reader->shared.get();
    std::memset(out, 0, sizeof *out);
    try {
        int rc = stream_arguments_check(*r, groups, n_groups, columns, n_columns, err);
        if (rc != PML_OK)
            return rc;
        r->input->forget_error();
        r->pool->begin_call();
        auto source = std::make_unique<ParquetSource>(reader->shared);
        arrow::Status status = source->open(groups, n_groups, columns, n_columns);
        if (!status.ok())
            return r->input->fail(err, status);
        stream_make(out, std::move(source));
        return PML_OK;
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
