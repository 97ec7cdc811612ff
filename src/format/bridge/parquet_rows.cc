/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of rows of a Parquet file.
 *
 *   1. Per leaf, the pages that hold a wanted row are picked: more rows than wanted, others for each column. A column of several
 *      leaves is shown whole, since its leaves must agree; so is one of lists, whose pages do not tell how many rows they hold, so
 *      that a wrong index would go unnoticed; and one without a page index.
 *   2. Each column is read by a cursor of its own, which drops the rows between where it is and the next wanted one: at most a page
 *      before each range.
 */
#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>

#include <cstring>

#include "format/bridge/reader.h"

namespace pml_bridge_ns {

namespace {

/* Rows decoded in vain in one go: they are held in memory for a moment. */
constexpr int64_t drop_rows_max = 16384;

struct Shown {
    int group;
    int64_t first, end;
};

class Cursor {
public:
    Cursor(std::unique_ptr<parquet::arrow::ColumnReader> column, std::vector<Shown> shown)
        : column_(std::move(column)), shown_(std::move(shown))
    {
    }
    /* Moves to a row that is shown, not before the current one. */
    arrow::Status move_to(const Reader &reader, int group, int64_t row)
    {
        int64_t drop = 0;
        for (; next_ < shown_.size() && (shown_[next_].group != group || shown_[next_].end <= row); next_++)
            drop += shown_[next_].end - shown_[next_].first;
        if (next_ == shown_.size() || shown_[next_].first > row)
            return arrow::Status::UnknownError("row ", row, " of row group ", group, " is not among the picked pages");
        drop += row - shown_[next_].first;
        shown_[next_].first = row;
        while (drop > 0) {
            int64_t n = std::min(drop, drop_rows_max);
            ARROW_RETURN_NOT_OK(read(reader, n, nullptr));
            drop -= n;
        }
        return arrow::Status::OK();
    }
    arrow::Status take(const Reader &reader, int64_t n, std::shared_ptr<arrow::Array> *out)
    {
        ARROW_RETURN_NOT_OK(read(reader, n, out));
        shown_[next_].first += n;
        return arrow::Status::OK();
    }

private:
    arrow::Status read(const Reader &reader, int64_t n, std::shared_ptr<arrow::Array> *out)
    {
        std::shared_ptr<arrow::ChunkedArray> chunks;
        ARROW_RETURN_NOT_OK(status_explained(reader, column_->NextBatch(n, &chunks)));
        int64_t got = chunks == nullptr ? 0 : chunks->length();
        if (got != n)
            return arrow::Status::Invalid("a column has ", got, " rows where the page index and the footer say ", n);
        if (out == nullptr)
            return arrow::Status::OK();
        if (chunks->num_chunks() == 1) {
            *out = chunks->chunk(0);
            return arrow::Status::OK();
        }
        ARROW_ASSIGN_OR_RAISE(*out, arrow::Concatenate(chunks->chunks(), reader.pool.get()));
        return arrow::Status::OK();
    }

    std::unique_ptr<parquet::arrow::ColumnReader> column_;
    std::vector<Shown> shown_;
    size_t next_ = 0;
};

class RowsSource final : public Source {
public:
    explicit RowsSource(std::shared_ptr<Reader> shared) : shared_(std::move(shared)) {}
    arrow::Status open(const pml_bridge_rows *ranges, size_t n_ranges, const int32_t *columns, size_t n_columns);
    std::shared_ptr<arrow::Schema> schema() override { return canonical_; }
    arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() override;
    int fail(pml_error *err, const arrow::Status &status) override { return shared_->input->fail(err, status); }
    int fail_exception(pml_error *err) noexcept override { return shared_->input->fail_exception(err); }

private:
    std::vector<Shown> pick_column(Picks *picks, int32_t column);
    arrow::Status int96_check_group(int group);

    std::shared_ptr<Reader> shared_;
    std::unique_ptr<parquet::arrow::FileReader> file_;
    std::vector<Cursor> cursors_;
    std::shared_ptr<arrow::Schema> native_, canonical_;
    std::vector<pml_bridge_rows> ranges_;
    std::vector<int> int96_;
    size_t next_ = 0;       /* range */
    int checked_group_ = -1; /* the last one whose INT96 columns were looked at */
};

/* The pages of one chunk that hold a row of the ranges [from, to), which are of its group. */
Pick pick_pages(const Pages &pages, const pml_bridge_rows *from, const pml_bridge_rows *to)
{
    Pick pick;
    for (size_t i = 0; i < pages.pages.size(); i++) {
        int64_t first = pages.pages[i].first_row, end = first + pages.pages[i].rows;
        while (from < to && from->end <= first)
            from++;
        if (from == to)
            break;
        if (from->first >= end)
            continue;
        pick.pages.push_back(i);
        if (!pick.rows.empty() && pick.rows.back().second == first)
            pick.rows.back().second = end;
        else
            pick.rows.emplace_back(first, end);
    }
    return pick;
}

std::vector<Shown> RowsSource::pick_column(Picks *picks, int32_t column)
{
    const auto &leaves = shared_->leaves[static_cast<size_t>(column)];
    std::vector<Shown> shown;
    for (size_t i = 0; i < ranges_.size();) {
        size_t end = i;
        int group = ranges_[i].group;
        while (end < ranges_.size() && ranges_[end].group == group)
            end++;
        Pick pick;
        if (leaves.size() == 1 && shared_->metadata->schema()->Column(leaves[0])->max_repetition_level() == 0)
            pick = pick_pages(pages_get(shared_.get(), group, leaves[0], false), ranges_.data() + i, ranges_.data() + end);
        if (pick.rows.empty()) /* no index */
            pick.rows.emplace_back(0, shared_->metadata->RowGroup(group)->num_rows());
        for (const auto &rows : pick.rows)
            shown.push_back({group, rows.first, rows.second});
        for (int leaf : leaves)
            (*picks)[{group, leaf}] = pick;
        i = end;
    }
    return shown;
}

arrow::Status RowsSource::open(const pml_bridge_rows *ranges, size_t n_ranges, const int32_t *columns, size_t n_columns)
{
    auto picks = std::make_shared<Picks>();
    std::vector<std::vector<Shown>> shown;
    arrow::FieldVector native, canonical;
    ranges_.assign(ranges, ranges + n_ranges);
    for (size_t i = 0; i < n_columns; i++) {
        shown.push_back(pick_column(picks.get(), columns[i]));
        for (int leaf : shared_->leaves[static_cast<size_t>(columns[i])])
            if (shared_->metadata->schema()->Column(leaf)->physical_type() == parquet::Type::INT96)
                int96_.push_back(leaf);
        native.push_back(shared_->native->field(columns[i]));
        canonical.push_back(shared_->canonical->field(columns[i]));
    }
    native_ = arrow::schema(std::move(native));
    canonical_ = arrow::schema(std::move(canonical));
    ARROW_ASSIGN_OR_RAISE(file_, parquet::arrow::FileReader::Make(shared_->pool.get(), picked_reader(shared_, picks),
                                                                  shared_->arrow_properties));
    for (size_t i = 0; i < n_columns; i++) {
        std::unique_ptr<parquet::arrow::ColumnReader> column;
        ARROW_RETURN_NOT_OK(file_->GetColumn(columns[i], &column));
        cursors_.emplace_back(std::move(column), std::move(shown[i]));
    }
    return arrow::Status::OK();
}

arrow::Status RowsSource::int96_check_group(int group)
{
    if (group == checked_group_)
        return arrow::Status::OK();
    checked_group_ = group;
    for (int leaf : int96_)
        ARROW_RETURN_NOT_OK(int96_check(file_->parquet_reader(), group, leaf));
    return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RowsSource::next()
{
    if (next_ == ranges_.size())
        return std::shared_ptr<arrow::RecordBatch>();
    pml_bridge_rows *range = &ranges_[next_];
    int64_t n = std::min(shared_->options.batch_rows, range->end - range->first);
    arrow::ArrayVector arrays(cursors_.size());
    shared_->pool->begin_call();
    shared_->input->forget_error(); /* that of another stream, if any */
    ARROW_RETURN_NOT_OK(int96_check_group(range->group));
    for (size_t i = 0; i < cursors_.size(); i++) {
        ARROW_RETURN_NOT_OK(cursors_[i].move_to(*shared_, range->group, range->first));
        ARROW_RETURN_NOT_OK(cursors_[i].take(*shared_, n, &arrays[i]));
    }
    range->first += n;
    next_ += range->first == range->end ? 1 : 0;
    return batch_finished(*shared_, *arrow::RecordBatch::Make(native_, n, std::move(arrays)), canonical_);
}

int ranges_check(const Reader &r, const pml_bridge_rows *ranges, size_t n, pml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool ordered = i == 0 || ranges[i].group > ranges[i - 1].group ||
                       (ranges[i].group == ranges[i - 1].group && ranges[i].first >= ranges[i - 1].end);
        bool known = ranges[i].group >= 0 && ranges[i].group < r.metadata->num_row_groups();
        if (!ordered || !known || ranges[i].first < 0 || ranges[i].first >= ranges[i].end ||
            ranges[i].end > r.metadata->RowGroup(ranges[i].group)->num_rows())
            return error_set(err, PML_E_INVAL, r.input->name(), "no rows [%lld, %lld) in row group %d of %.300s after the range before",
                             static_cast<long long>(ranges[i].first), static_cast<long long>(ranges[i].end), ranges[i].group,
                             r.input->name().c_str());
    }
    return PML_OK;
}

} // namespace

int parquet_stream_rows(struct ArrowArrayStream *out, pml_bridge_reader *reader, const pml_bridge_rows *ranges, size_t n_ranges,
                        const int32_t *columns, size_t n_columns, pml_error *err)
{
    Reader *r = reader->shared.get();
    std::memset(out, 0, sizeof *out);
    try {
        int rc = ranges_check(*r, ranges, n_ranges, err);
        if (rc == PML_OK)
            rc = columns_check(*r, columns, n_columns, err);
        if (rc != PML_OK)
            return rc;
        r->input->forget_error();
        r->pool->begin_call();
        auto source = std::make_unique<RowsSource>(reader->shared);
        arrow::Status status = source->open(ranges, n_ranges, columns, n_columns);
        if (!status.ok())
            return r->input->fail(err, status);
        stream_make(out, std::move(source));
        return PML_OK;
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
