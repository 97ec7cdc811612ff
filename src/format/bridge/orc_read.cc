/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/array.h>
#include <arrow/array/util.h>

#include <algorithm>
#include <cstring>

#include "format/bridge/orc.h"

namespace pml_bridge_ns {

static bool says(const arrow::Status &status, const char *text)
{
    return status.message().find(text) != std::string::npos;
}

static bool is_far_timestamp(const arrow::Status &status)
{
    return status.IsInvalid() && says(status, "out of range for nanosecond");
}

arrow::Status orc_explained(arrow::Status status)
{
    if (status.ok())
        return status;
    if (says(status, "std::bad_alloc"))
        return arrow::Status::OutOfMemory("ORC's code could not have what it needs");
    if (says(status, "Time zone file") || says(status, "zoneinfo"))
        return arrow::Status::NotImplemented(status.message());
    return status;
}

namespace {

struct OrcColumn {
    std::shared_ptr<arrow::Field> wanted;
    std::shared_ptr<arrow::DataType> stored; /* of the wanted type */
    int in_file = -1, in_batch = -1;         /* -1: the file has none */
};

class OrcSource final : public Source, private OrcPlace {
public:
    explicit OrcSource(std::shared_ptr<OrcReader> shared) : shared_(std::move(shared)) {}
    arrow::Status open(const pml_bridge_orc_request &request);
    std::shared_ptr<arrow::Schema> schema() override { return wanted_; }
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override;
    int fail(pml_error *err, const arrow::Status &status) override { return shared_->input->fail(err, status); }
    int fail_exception(pml_error *err) noexcept override { return shared_->input->fail_exception(err); }

private:
    arrow::Result<const OrcZone *> writer_zone() override;
    arrow::Status column_find(OrcColumn *column, bool own_schema);
    arrow::Status stripe_open();
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_native();
    arrow::Result<std::shared_ptr<arrow::Array>> column_finish(const OrcColumn &column, const arrow::RecordBatch &native);
    arrow::Status far_timestamp(const arrow::Status &status);

    std::shared_ptr<OrcReader> shared_;
    std::shared_ptr<arrow::Schema> wanted_, none_ = arrow::schema({});
    std::vector<OrcColumn> columns_;
    std::vector<int> in_file_; /* columns that are read, ascending */
    int64_t (*zone_offset_)(int64_t) = nullptr;
    int32_t stripe_ = 0, end_ = 0;
    std::vector<uint8_t> left_out_; /* of each stripe; empty: none */
    std::shared_ptr<arrow::RecordBatchReader> batches_;
    int64_t rows_ = 0;        /* of the stripe, given out */
    int32_t zone_stripe_ = -1; /* that zone_ belongs to */
    std::string zone_name_ = "UTC";
    std::unique_ptr<OrcZone> zone_; /* NULL: UTC */
};

arrow::Status OrcSource::column_find(OrcColumn *column, bool own_schema)
{
    const std::string &name = column->wanted->name();
    auto found = shared_->native->GetAllFieldIndices(name);
    if (found.size() > 1)
        return arrow::Status::Invalid("it has two columns '", name, "'");
    if (found.empty())
        return own_schema ? arrow::Status::Invalid("it has no column '", name, "' (the schema that its metadata names says otherwise)")
                          : arrow::Status::OK();
    column->in_file = found[0];
    const auto &native = shared_->native->field(found[0])->type();
    if (own_schema && !orc_type_is(*native, *column->stored))
        return arrow::Status::Invalid("column '", name, "' has type ", native->ToString(), ", expected ", column->stored->ToString(),
                                      " (the schema that its metadata names says otherwise)");
    in_file_.push_back(found[0]);
    return arrow::Status::OK();
}

arrow::Status OrcSource::open(const pml_bridge_orc_request &request)
{
    ARROW_ASSIGN_OR_RAISE(wanted_, schema_borrow(request.schema));
    zone_offset_ = request.zone_offset;
    stripe_ = request.first_stripe;
    end_ = request.end_stripe;
    if (request.left_out != nullptr)
        left_out_.assign(request.left_out, request.left_out + shared_->stripes.size());
    const size_t needed = static_cast<size_t>(wanted_->num_fields()) - request.n_optional;
    for (const auto &field : wanted_->fields()) {
        bool optional = columns_.size() >= needed && shared_->native->GetFieldIndex(field->name()) < 0;
        columns_.push_back({field, orc_stored_type(field->type())});
        ARROW_RETURN_NOT_OK(column_find(&columns_.back(), request.own_schema != 0 && shared_->has_ids && !optional));
    }
    std::sort(in_file_.begin(), in_file_.end());
    for (auto &column : columns_)
        if (column.in_file >= 0)
            column.in_batch = static_cast<int>(std::lower_bound(in_file_.begin(), in_file_.end(), column.in_file) - in_file_.begin());
    return arrow::Status::OK();
}

arrow::Result<const OrcZone *> OrcSource::writer_zone()
{
    if (zone_stripe_ != stripe_) {
        ARROW_ASSIGN_OR_RAISE(std::string name, orc_stripe_zone(*shared_, stripe_));
        if (name != zone_name_) {
            zone_ = name == "UTC" || name == "GMT" ? nullptr : std::make_unique<OrcZone>();
            if (zone_ != nullptr)
                ARROW_RETURN_NOT_OK(zone_->load(name));
            zone_name_ = name;
        }
        zone_stripe_ = stripe_;
    }
    return zone_.get();
}

/* Arrow names neither column nor file: the columns are read one by one until one fails in the same way. */
arrow::Status OrcSource::far_timestamp(const arrow::Status &status)
{
    for (int column : in_file_) {
        ARROW_RETURN_NOT_OK(shared_->file->Seek(shared_->stripes[static_cast<size_t>(stripe_)].first_row_id));
        ARROW_ASSIGN_OR_RAISE(auto reader, shared_->file->NextStripeReader(shared_->options.batch_rows, {column}));
        std::shared_ptr<arrow::RecordBatch> batch;
        arrow::Status one;
        do
            one = reader->ReadNext(&batch);
        while (one.ok() && batch != nullptr);
        if (is_far_timestamp(one))
            return arrow::Status::NotImplemented("column '", shared_->native->field(column)->name(),
                                                 "' has a timestamp outside of the years 1677 to 2262, which this version does not "
                                                 "read from ORC files: ", one.message());
    }
    return arrow::Status::NotImplemented(status.message());
}

arrow::Status OrcSource::stripe_open()
{
    ARROW_RETURN_NOT_OK(shared_->file->Seek(shared_->stripes[static_cast<size_t>(stripe_)].first_row_id));
    ARROW_ASSIGN_OR_RAISE(batches_, shared_->file->NextStripeReader(shared_->options.batch_rows, in_file_));
    return batches_ == nullptr ? arrow::Status::Invalid("stripe ", stripe_, " cannot be found") : arrow::Status::OK();
}

/* The next rows of the stripe, with the columns in the order of the file; stripes without rows have been left out. */
arrow::Result<std::shared_ptr<arrow::RecordBatch>> OrcSource::next_native()
{
    std::shared_ptr<arrow::RecordBatch> batch;
    int64_t left = shared_->stripes[static_cast<size_t>(stripe_)].num_rows - rows_;
    if (in_file_.empty()) /* the footer's word is all there is */
        return arrow::RecordBatch::Make(none_, std::min(left, shared_->options.batch_rows), arrow::ArrayVector{});
    shared_->input->forget_error();
    if (batches_ == nullptr)
        ARROW_RETURN_NOT_OK(stripe_open());
    arrow::Status status = batches_->ReadNext(&batch);
    if (is_far_timestamp(status))
        return far_timestamp(status);
    ARROW_RETURN_NOT_OK(status);
    if (batch == nullptr || batch->num_rows() == 0)
        return arrow::Status::Invalid("stripe ", stripe_, " ends ", left, " rows before its end");
    if (batch->num_rows() > left)
        return arrow::Status::Invalid("stripe ", stripe_, " has more rows than the footer says");
    if (batch->num_columns() != static_cast<int>(in_file_.size()))
        return arrow::Status::Invalid("a batch has ", batch->num_columns(), " columns");
    if (shared_->options.validate != PML_BRIDGE_VALIDATE_NONE)
        ARROW_RETURN_NOT_OK(shared_->options.validate == PML_BRIDGE_VALIDATE_FULL ? batch->ValidateFull() : batch->Validate());
    return batch;
}

arrow::Result<std::shared_ptr<arrow::Array>> OrcSource::column_finish(const OrcColumn &column, const arrow::RecordBatch &native)
{
    arrow::MemoryPool *pool = shared_->pool.get();
    if (column.in_batch < 0)
        return arrow::MakeArrayOfNull(column.wanted->type(), native.num_rows(), pool);
    auto array = native.column(column.in_batch);
    if (!orc_type_is(*array->type(), *column.stored)) {
        ARROW_ASSIGN_OR_RAISE(array, array_cast(array, column.stored, pool));
    }
    OrcConversion conversion{pool, zone_offset_, this};
    ARROW_ASSIGN_OR_RAISE(auto data, orc_convert(*array->data(), *column.wanted, conversion));
    return arrow::MakeArray(data);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> OrcSource::next()
{
    shared_->pool->begin_call();
    while (stripe_ < end_ && (rows_ == shared_->stripes[static_cast<size_t>(stripe_)].num_rows ||
                              (!left_out_.empty() && left_out_[static_cast<size_t>(stripe_)] != 0))) {
        stripe_++;
        rows_ = 0;
        batches_ = nullptr;
    }
    if (stripe_ >= end_)
        return std::shared_ptr<arrow::RecordBatch>();
    auto native = next_native();
    if (!native.ok())
        return orc_explained(native.status());
    arrow::ArrayVector arrays;
    for (const auto &column : columns_) {
        auto array = column_finish(column, **native);
        if (!array.ok())
            return array.status().WithMessage("column '", column.wanted->name(), "': ", array.status().message());
        arrays.push_back(std::move(*array));
    }
    rows_ += (*native)->num_rows();
    return arrow::RecordBatch::Make(wanted_, (*native)->num_rows(), std::move(arrays));
}

} // namespace

int orc_stream(struct ArrowArrayStream *out, pml_bridge_orc *reader, const pml_bridge_orc_request *request, pml_error *err)
{
    OrcReader *r = reader->shared.get();
    std::memset(out, 0, sizeof *out);
    try {
        if (request->first_stripe < 0 || request->first_stripe > request->end_stripe || request->end_stripe > orc_stripes(reader))
            return error_set(err, PML_E_INVAL, r->input->name(), "no stripes %d to %d in %.300s", request->first_stripe,
                             request->end_stripe, r->input->name().c_str());
        r->input->forget_error();
        r->pool->begin_call();
        auto source = std::make_unique<OrcSource>(reader->shared);
        arrow::Status status = source->open(*request);
        if (!status.ok())
            return r->input->fail(err, status);
        stream_make(out, std::move(source));
        return PML_OK;
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
