/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Parquet file of which only some pages are seen. Arrow's reader has no notion of it, so the pages are taken out below it: it asks
 * for the pages of a column chunk, and gets the dictionary and the picked ones as if nothing else were there. All columns of a read
 * then have different rows; parquet_rows.cc knows which, and puts them in step.
 */
#include <parquet/column_reader.h>

#include "format/bridge/reader.h"

namespace pml_bridge_ns {

namespace {

ChunkSource source_of(const Reader &r)
{
    return {r.pool, r.input, r.metadata, r.properties};
}

/* What lies before the first page (a dictionary), then the picked pages; neighbours in one run. */
std::vector<Run> runs_of(const Pages &pages, const Pick &pick, int64_t chunk_first)
{
    std::vector<Run> runs;
    if (pages.at[0].offset > chunk_first)
        runs.push_back({chunk_first, pages.at[0].offset - chunk_first});
    for (size_t page : pick.pages) {
        const auto &at = pages.at[page];
        if (!runs.empty() && runs.back().offset + runs.back().bytes == at.offset)
            runs.back().bytes += at.compressed_page_size;
        else
            runs.push_back({at.offset, at.compressed_page_size});
    }
    return runs;
}

class PickedGroup final : public parquet::RowGroupReader::Contents {
public:
    PickedGroup(std::shared_ptr<Reader> reader, std::shared_ptr<const Picks> picks, std::shared_ptr<parquet::RowGroupReader> whole,
                int group)
        : reader_(std::move(reader)), picks_(std::move(picks)), whole_(std::move(whole)), group_(group)
    {
    }
    const parquet::RowGroupMetaData *metadata() const override { return whole_->metadata(); }
    const parquet::ReaderProperties *properties() const override { return &reader_->properties; }
    std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override
    {
        auto found = picks_->find({group_, leaf});
        if (found != picks_->end() && found->second.pages.empty() && !found->second.rows.empty())
            return whole_->GetColumnPageReader(leaf);
        return found == picks_->end() ? open(leaf, {}) : pages_picked(leaf, found->second);
    }

private:
    std::unique_ptr<parquet::PageReader> open(int leaf, std::vector<Run> runs)
    {
        return pages_open(source_of(*reader_), *metadata()->ColumnChunk(leaf), leaf, std::move(runs));
    }
    std::unique_ptr<parquet::PageReader> pages_picked(int leaf, const Pick &pick)
    {
        int64_t first, end;
        const Pages &pages = pages_get(reader_.get(), group_, leaf, false);
        if (!chunk_place(*metadata()->ColumnChunk(leaf), reader_->input->GetSize().ValueOr(0), &first, &end))
            throw parquet::ParquetException("a column chunk lies outside of the file");
        auto opened = open(leaf, runs_of(pages, pick, first));
        opened->set_data_page_filter(RowsCheck{&pages, &pick, 0}); /* no lists: a value is a row */
        return opened;
    }
    /* Columns are put in step by what the index says of their pages: a page with other rows would shift all that follow. */
    struct RowsCheck {
        const Pages *pages;
        const Pick *pick;
        size_t next;
        bool operator()(const parquet::DataPageStats &page)
        {
            if (next >= pick->pages.size() || pages->pages[pick->pages[next]].rows != page.num_values)
                throw parquet::ParquetException("a page has ", page.num_values, " rows, the page index says otherwise");
            next++;
            return false;
        }
    };

    std::shared_ptr<Reader> reader_;
    std::shared_ptr<const Picks> picks_;
    std::shared_ptr<parquet::RowGroupReader> whole_;
    int group_;
};

class PickedFile final : public parquet::ParquetFileReader::Contents {
public:
    PickedFile(std::shared_ptr<Reader> reader, std::shared_ptr<const Picks> picks)
        : reader_(std::move(reader)), picks_(std::move(picks)),
          whole_(whole_contents(source_of(*reader_)))
    {
    }
    void Close() override { whole_->Close(); }
    std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int group) override
    {
        return std::make_shared<parquet::RowGroupReader>(
            std::make_unique<PickedGroup>(reader_, picks_, whole_->GetRowGroup(group), group));
    }
    std::shared_ptr<parquet::FileMetaData> metadata() const override { return reader_->metadata; }
    std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return whole_->GetPageIndexReader(); }
    parquet::BloomFilterReader &GetBloomFilterReader() override { return whole_->GetBloomFilterReader(); }

private:
    std::shared_ptr<Reader> reader_;
    std::shared_ptr<const Picks> picks_;
    std::unique_ptr<parquet::ParquetFileReader::Contents> whole_;
};

} // namespace

std::unique_ptr<parquet::ParquetFileReader> picked_reader(std::shared_ptr<Reader> reader, std::shared_ptr<const Picks> picks)
{
    auto file = std::make_unique<parquet::ParquetFileReader>();
    file->Open(std::make_unique<PickedFile>(std::move(reader), std::move(picks)));
    return file;
}

} // namespace pml_bridge_ns
