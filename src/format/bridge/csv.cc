/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/array.h>
#include <arrow/csv/api.h>
#include <arrow/util/thread_pool.h>
#include <arrow/util/value_parsing.h>

#include <climits>
#include <cstring>
#include <deque>
#include <mutex>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

namespace {

/*
 * Arrow's streaming CSV reader reads ahead on its I/O pool even with threads off. Given this executor it queues its tasks
 * instead, and whoever waits for a batch runs them: callbacks run in the caller's thread, as everywhere in the bridge.
 */
class QueueExecutor final : public arrow::internal::Executor {
public:
    int GetCapacity() override { return 1; }
    bool OwnsThisThread() override { return true; }

    template <typename T> arrow::Result<T> wait(arrow::Future<T> future)
    {
        while (!future.is_finished()) {
            if (tasks_.empty())
                return arrow::Status::UnknownError("the CSV reader waits for nothing");
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            std::move(task)();
        }
        return future.result();
    }

    /* The tasks own parts of the reader and must go before it and the pool do. */
    void clear() { tasks_.clear(); }

protected:
    arrow::Status SpawnReal(arrow::internal::TaskHints, arrow::internal::FnOnce<void()> task, arrow::StopToken,
                            StopCallback &&) override
    {
        try { /* Arrow's futures do not expect exceptions: they would never finish, and keep all that they know */
            tasks_.push_back(std::move(task));
        } catch (const std::bad_alloc &) {
            return arrow::Status::OutOfMemory("the queue of the CSV reader");
        }
        return arrow::Status::OK();
    }

private:
    std::deque<arrow::internal::FnOnce<void()>> tasks_;
};

/*
 * Arrow accepts a text for a zoned column only with an offset, and tries its parsers in turn until one agrees with the column
 * on that. This one comes second and always claims an offset: a text without one is taken as UTC in zoned columns, while
 * columns without a zone never get here with success.
 */
class UtcParser final : public arrow::TimestampParser {
public:
    bool operator()(const char *s, size_t length, arrow::TimeUnit::type unit, int64_t *out, bool *offset_present) const override
    {
        bool present = false;
        bool ok = (*iso_)(s, length, unit, out, &present);
        if (offset_present != nullptr)
            *offset_present = true;
        return ok && !present;
    }
    const char *kind() const override { return "utc"; }

private:
    std::shared_ptr<arrow::TimestampParser> iso_ = arrow::TimestampParser::MakeISO8601();
};

class CsvSource final : public Source {
public:
    CsvSource(std::shared_ptr<Pool> pool, std::shared_ptr<Input> input, std::shared_ptr<arrow::Schema> schema)
        : pool_(std::move(pool)), input_(std::move(input)), schema_(std::move(schema))
    {
    }
    ~CsvSource() override
    {
        reader_.reset();
        executor_.clear();
    }
    arrow::Status open(const pml_bridge_csv_options &options);
    std::shared_ptr<arrow::Schema> schema() override { return schema_; }
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override;
    int fail(pml_error *err, const arrow::Status &status) override { return input_->fail(err, status); }
    int fail_exception(pml_error *err) noexcept override { return input_->fail_exception(err); }

private:
    std::shared_ptr<Pool> pool_;
    std::shared_ptr<Input> input_;
    std::shared_ptr<arrow::Schema> schema_;
    QueueExecutor executor_;
    std::shared_ptr<arrow::csv::StreamingReader> reader_; /* NULL: the file is empty */
};

arrow::Status columns_set(arrow::csv::ConvertOptions *convert, arrow::csv::ReadOptions *read, const arrow::Schema &schema,
                          bool header)
{
    for (const auto &field : schema.fields()) {
        if (field->type()->num_fields() > 0)
            return arrow::Status::NotImplemented("column ", field->name(), " of type ", field->type()->ToString(),
                                                 " cannot be read from CSV");
        if (!convert->column_types.emplace(field->name(), field->type()).second)
            return arrow::Status::Invalid("two columns are called ", field->name());
        convert->include_columns.push_back(field->name());
    }
    convert->include_missing_columns = header;
    if (!header)
        read->column_names = convert->include_columns;
    return arrow::Status::OK();
}

arrow::Status CsvSource::open(const pml_bridge_csv_options &options)
{
    auto convert = arrow::csv::ConvertOptions::Defaults();
    auto parse = arrow::csv::ParseOptions::Defaults();
    auto read = arrow::csv::ReadOptions::Defaults();
    ARROW_RETURN_NOT_OK(columns_set(&convert, &read, *schema_, options.header != 0));
    convert.null_values = {options.null_text == nullptr ? "" : options.null_text};
    convert.strings_can_be_null = true;
    convert.quoted_strings_can_be_null = false;
    convert.timestamp_parsers = {arrow::TimestampParser::MakeISO8601(), std::make_shared<UtcParser>()};
    parse.delimiter = options.delimiter;
    parse.quoting = options.quote != 0;
    if (parse.quoting)
        parse.quote_char = options.quote;
    parse.double_quote = true;
    parse.newlines_in_values = parse.quoting;
    read.use_threads = false;
    if (options.block_bytes > 0)
        read.block_size = static_cast<int32_t>(std::min<int64_t>(options.block_bytes, INT32_MAX / 2));
    ARROW_ASSIGN_OR_RAISE(int64_t size, input_->GetSize());
    /* Arrow calls an empty file an error; without a header it is just no rows. */
    if (size == 0)
        return options.header != 0 ? arrow::Status::Invalid("the file is empty and has no header line") : arrow::Status::OK();
    arrow::io::IOContext context(pool_.get(), &executor_);
    auto future = arrow::csv::StreamingReader::MakeAsync(context, input_, &executor_, read, parse, convert);
    ARROW_ASSIGN_OR_RAISE(reader_, executor_.wait(std::move(future)));
    return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> CsvSource::next()
{
    if (reader_ == nullptr)
        return std::shared_ptr<arrow::RecordBatch>();
    pool_->begin_call();
    ARROW_ASSIGN_OR_RAISE(auto batch, executor_.wait(reader_->ReadNextAsync()));
    if (batch == nullptr)
        return batch;
    for (int i = 0; i < schema_->num_fields(); i++)
        if (!batch->column(i)->type()->Equals(*schema_->field(i)->type()))
            return arrow::Status::TypeError("column ", schema_->field(i)->name(), " came out as ",
                                            batch->column(i)->type()->ToString());
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), batch->columns());
}

int csv_make(struct ArrowArrayStream *out, const pml_bridge_input *input, const pml_bridge_memory *memory,
             const struct ArrowSchema *schema, const pml_bridge_csv_options *options, pml_error *err)
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
        auto type = schema_borrow(schema);
        if (!type.ok())
            return error_from_status(err, type.status(), Doing::Cast, "");
        auto source = std::make_unique<CsvSource>(pool, file, *type);
        arrow::Status status = source->open(*options);
        if (!status.ok())
            return file->fail(err, status);
        stream_make(out, std::move(source));
        return PML_OK;
    } catch (...) {
        return file->fail_exception(err);
    }
}

} // namespace

int csv_open(struct ArrowArrayStream *out, const pml_bridge_input *input, const pml_bridge_memory *memory,
             const struct ArrowSchema *schema, const pml_bridge_csv_options *options, pml_error *err)
{
    std::memset(out, 0, sizeof *out);
    try {
        return csv_make(out, input, memory, schema, options, err);
    } catch (...) {
        return error_from_exception(err, Doing::Read, "");
    }
}

} // namespace pml_bridge_ns
