/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page index (Parquet's ColumnIndex and OffsetIndex): where the pages of a column chunk lie, which rows they hold, and the range
 * of their values. It is a hint by whoever wrote the file: what contradicts the footer is not used at all. What is consistent but
 * wrong about values may hide rows, as wrong statistics of a row group may; what is wrong about rows is found while reading.
 */
#include <parquet/arrow/schema.h>

#include <cmath>
#include <cstring>

#include "format/bridge/reader.h"

namespace pml_bridge_ns {

bool chunk_place(const parquet::ColumnChunkMetaData &chunk, int64_t file_bytes, int64_t *first, int64_t *end)
{
    *first = chunk.data_page_offset();
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0 && chunk.dictionary_page_offset() < *first)
        *first = chunk.dictionary_page_offset();
    return *first >= 0 && chunk.total_compressed_size() >= 0 && !__builtin_add_overflow(*first, chunk.total_compressed_size(), end) &&
           *end <= file_bytes;
}

/* In order, inside the chunk, and from the first row to the last. */
static bool locations_fit(const std::vector<parquet::PageLocation> &at, int64_t first, int64_t end, int64_t rows)
{
    for (size_t i = 0; i < at.size(); i++) {
        int64_t next = i + 1 < at.size() ? at[i + 1].offset : end, row_end = i + 1 < at.size() ? at[i + 1].first_row_index : rows;
        if (at[i].offset < first || at[i].offset > end || at[i].compressed_page_size <= 0 ||
            at[i].compressed_page_size > next - at[i].offset || at[i].first_row_index >= row_end)
            return false;
    }
    return !at.empty() && at[0].first_row_index == 0;
}

static void pages_locate(Pages *p, Reader *r, int group, int leaf)
{
    auto row_group = r->metadata->RowGroup(group);
    auto chunk = row_group->ColumnChunk(leaf);
    auto file_index = r->file->parquet_reader()->GetPageIndexReader();
    int64_t first, end;
    if (file_index == nullptr || chunk->crypto_metadata() != nullptr ||
        !chunk_place(*chunk, r->input->GetSize().ValueOr(0), &first, &end))
        return;
    auto group_index = file_index->RowGroup(group);
    auto offsets = group_index == nullptr ? nullptr : group_index->GetOffsetIndex(leaf);
    if (offsets == nullptr || !locations_fit(offsets->page_locations(), first, end, row_group->num_rows()))
        return;
    p->at = offsets->page_locations();
    for (size_t i = 0; i < p->at.size(); i++) {
        pml_bridge_page page = {};
        page.first_row = p->at[i].first_row_index;
        page.rows = (i + 1 < p->at.size() ? p->at[i + 1].first_row_index : row_group->num_rows()) - page.first_row;
        page.stat.null_count = -1;
        p->pages.push_back(page);
    }
}

template <typename T> static bool value_take(T *out, const std::string &bytes)
{
    if (bytes.size() != sizeof *out)
        return false;
    std::memcpy(out, bytes.data(), sizeof *out);
    return true;
}

template <typename T> static void bounds_int(pml_bridge_stat *out, const std::string &min, const std::string &max)
{
    T low, high;
    if (!value_take(&low, min) || !value_take(&high, max))
        return;
    out->min_i = low;
    out->max_i = high;
    out->kind = PML_BRIDGE_STAT_INT;
}

template <typename T> static void bounds_real(pml_bridge_stat *out, const std::string &min, const std::string &max, uint32_t kind)
{
    T low, high;
    if (!value_take(&low, min) || !value_take(&high, max) || std::isnan(low) || std::isnan(high))
        return;
    out->min_d = low;
    out->max_d = high;
    out->kind = kind;
}

static void bounds_bytes(pml_bridge_stat *out, const std::string &min, const std::string &max)
{
    out->min_ptr = reinterpret_cast<const uint8_t *>(min.data());
    out->max_ptr = reinterpret_cast<const uint8_t *>(max.data());
    out->min_len = min.size();
    out->max_len = max.size();
    out->kind = PML_BRIDGE_STAT_BYTES;
}

/* Values are encoded plainly, texts without a length; they may be cut short to bounds. */
static void bounds_fill(pml_bridge_stat *out, const parquet::ColumnDescriptor &column, const std::string &min, const std::string &max)
{
    size_t width = column.type_length() < 0 ? 0 : static_cast<size_t>(column.type_length());
    switch (column.physical_type()) {
    case parquet::Type::BOOLEAN: bounds_int<uint8_t>(out, min, max); break;
    case parquet::Type::INT32: bounds_int<int32_t>(out, min, max); break;
    case parquet::Type::INT64: bounds_int<int64_t>(out, min, max); break;
    case parquet::Type::FLOAT: bounds_real<float>(out, min, max, PML_BRIDGE_STAT_FLOAT); break;
    case parquet::Type::DOUBLE: bounds_real<double>(out, min, max, PML_BRIDGE_STAT_DOUBLE); break;
    case parquet::Type::BYTE_ARRAY: bounds_bytes(out, min, max); break;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        if (min.size() == width && max.size() == width)
            bounds_bytes(out, min, max);
        break;
    default: break;
    }
}

static void pages_rate(Pages *p, Reader *r, int group, int leaf)
{
    const parquet::ColumnDescriptor *column = r->metadata->schema()->Column(leaf);
    auto group_index = r->file->parquet_reader()->GetPageIndexReader()->RowGroup(group);
    auto made = group_index->GetColumnIndex(leaf);
    const parquet::ColumnIndex *index = made.get();
    size_t n = p->pages.size();
    if (index == nullptr || index->null_pages().size() != n || index->encoded_min_values().size() != n ||
        index->encoded_max_values().size() != n || (index->has_null_counts() && index->null_counts().size() != n))
        return;
    p->index = std::move(made);
    for (size_t i = 0; i < n; i++) {
        pml_bridge_page *page = &p->pages[i];
        if (index->has_null_counts() && index->null_counts()[i] >= 0 && index->null_counts()[i] <= page->rows)
            page->stat.null_count = index->null_counts()[i];
        if (index->null_pages()[i])
            page->stat.null_count = page->rows;
        else if (stat_is_ordered(*column))
            bounds_fill(&page->stat, *column, index->encoded_min_values()[i], index->encoded_max_values()[i]);
    }
}

Pages &pages_get(Reader *r, int group, int leaf, bool with_statistics)
{
    auto found = r->pages.find({group, leaf});
    bool fresh = found == r->pages.end();
    Pages &p = fresh ? r->pages[{group, leaf}] : found->second;
    try {
        if (fresh)
            pages_locate(&p, r, group, leaf);
        if (with_statistics && !p.index_tried && !p.pages.empty()) {
            p.index_tried = true;
            pages_rate(&p, r, group, leaf);
        }
    } catch (const parquet::ParquetException &) {
        /* An index that cannot be decoded is one that is not there; a file that cannot be read is an error. */
        if (r->input->has_error())
            throw;
        if (fresh)
            p = Pages{};
    }
    return p;
}

int parquet_pages(const pml_bridge_page **out, size_t *n, pml_bridge_reader *reader, int32_t group, int32_t column,
                  int32_t with_statistics, pml_error *err)
{
    Reader *r = reader->shared.get();
    *out = nullptr;
    *n = 0;
    if (group < 0 || group >= r->metadata->num_row_groups() || column < 0 || column >= r->canonical->num_fields())
        return error_set(err, PML_E_INVAL, r->input->name(), "no column %d in row group %d of %.300s", column, group,
                         r->input->name().c_str());
    try {
        const auto &field = r->file->manifest().schema_fields[static_cast<size_t>(column)];
        const auto &leaves = r->leaves[static_cast<size_t>(column)];
        if (!field.is_leaf() || leaves.size() != 1 || r->metadata->schema()->Column(leaves[0])->max_repetition_level() > 0)
            return PML_OK;
        r->input->forget_error();
        const Pages &p = pages_get(r, group, leaves[0], with_statistics != 0);
        *out = p.pages.data();
        *n = p.pages.size();
        return PML_OK;
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
