/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column chunks as Arrow's page reader reads them: the head of a page, then its bytes, then the next head.
 *
 * Arrow reads a chunk as a whole, and so holds all of a row group of which it decodes one batch: too much for a merge of many files; or
 * through a window, out of which each page is copied. Here a page is read into a buffer as it is asked for, with a little more: the head
 * of the next one. The same buffer serves page after page, since they are unpacked out of it.
 *
 * Arrow looks at a head before it reads past it, and reads the page behind it in one piece. That is where checksums are verified.
 */
#include <arrow/buffer.h>
#include <parquet/column_reader.h>

#include <cstring>

#include "format/bridge/page_checksum.h"
#include "format/bridge/reader.h"

namespace pml_bridge_ns {

namespace {

/* A head without statistics has some 30 bytes. Small pages are read several at a time. */
constexpr int64_t head_bytes = 512, read_bytes_min = INT64_C(16) << 10;

class PageStream final : public arrow::io::InputStream {
public:
    PageStream(std::shared_ptr<Input> input, std::vector<Run> runs, std::shared_ptr<Pool> pool, bool checksums)
        : input_(std::move(input)), runs_(std::move(runs)), pool_(std::move(pool)), checksums_(checksums)
    {
        set_mode(arrow::io::FileMode::READ);
        for (const Run &run : runs_)
            left_ += run.bytes;
    }
    arrow::Status Close() override { return arrow::Status::OK(); }
    bool closed() const override { return false; }
    arrow::Result<int64_t> Tell() const override { return position_; }
    /* Fewer bytes than asked for, while it is not asked for more than that: what is asked for here is a guess. */
    arrow::Result<std::string_view> Peek(int64_t n) override
    {
        peeked_ = true;
        n = std::min(n, end_ - at_ + left_);
        if (end_ - at_ < std::min(n, head_bytes) || n > read_bytes_min)
            ARROW_RETURN_NOT_OK(fill(n > read_bytes_min ? n : std::min(n, head_bytes)));
        return std::string_view(reinterpret_cast<const char *>(data()), static_cast<size_t>(std::min(n, end_ - at_)));
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t n) override
    {
        n = std::min(n, end_ - at_ + left_);
        if (n <= 0)
            return std::make_shared<arrow::Buffer>(nullptr, 0);
        ARROW_RETURN_NOT_OK(fill(n));
        if (checksums_)
            ARROW_RETURN_NOT_OK(peeked_ ? head_meet(n) : page_check(n));
        peeked_ = false;
        auto slice = arrow::SliceBuffer(buffer_, at_, n);
        skip(n);
        return slice;
    }
    arrow::Result<int64_t> Read(int64_t n, void *out) override
    {
        ARROW_ASSIGN_OR_RAISE(auto buffer, Read(n));
        if (buffer->size() > 0)
            std::memcpy(out, buffer->data(), static_cast<size_t>(buffer->size()));
        return buffer->size();
    }
private:
    const uint8_t *data() const { return buffer_ == nullptr ? nullptr : buffer_->data() + at_; }
    void skip(int64_t n)
    {
        at_ += n;
        position_ += n;
    }
    arrow::Status head_meet(int64_t n)
    {
        if (page_head_parse(&head_, data(), static_cast<size_t>(n)))
            return arrow::Status::OK();
        return arrow::Status::Invalid("the head of a page at ", position_, " of its column chunk is none");
    }
    arrow::Status page_check(int64_t n)
    {
        bool checked = head_.has_crc && (head_.type == parquet::PageType::DATA_PAGE || head_.type == parquet::PageType::DATA_PAGE_V2 ||
                                         head_.type == parquet::PageType::DICTIONARY_PAGE);
        if (!checked || n != head_.bytes || static_cast<int32_t>(crc32(data(), static_cast<size_t>(n))) == head_.crc)
            return arrow::Status::OK();
        return arrow::Status::Invalid("could not verify page integrity, CRC checksum verification failed for the page at ", position_,
                                      " of its column chunk");
    }
    /* So many bytes stand in the buffer, which the runs have. */
    arrow::Status fill(int64_t n)
    {
        int64_t has = end_ - at_;
        if (has >= n)
            return arrow::Status::OK();
        int64_t more = std::min(left_, std::max(n + head_bytes, read_bytes_min) - has);
        ARROW_RETURN_NOT_OK(make_room(has, more));
        while (more > 0) {
            Run &run = runs_[next_];
            int64_t part = std::min(more, run.bytes);
            ARROW_ASSIGN_OR_RAISE(int64_t got, input_->ReadAt(run.offset, part, buffer_->mutable_data() + end_));
            if (got != part)
                return arrow::Status::Invalid("the file ends within a page at ", run.offset);
            run.offset += part;
            run.bytes -= part;
            next_ += run.bytes == 0 ? 1 : 0;
            left_ -= part;
            end_ += part;
            more -= part;
        }
        return arrow::Status::OK();
    }
    /* The unread bytes go to the front of a buffer that nobody else has. */
    arrow::Status make_room(int64_t has, int64_t more)
    {
        if (buffer_ != nullptr && buffer_.use_count() == 1 && buffer_->size() >= has + more) {
            std::memmove(buffer_->mutable_data(), data(), static_cast<size_t>(has));
        } else {
            ARROW_ASSIGN_OR_RAISE(auto fresh, arrow::AllocateBuffer(has + more + (has + more) / 8, pool_.get()));
            if (has > 0)
                std::memcpy(fresh->mutable_data(), data(), static_cast<size_t>(has));
            buffer_ = std::move(fresh);
        }
        at_ = 0;
        end_ = has;
        return arrow::Status::OK();
    }

    std::shared_ptr<Input> input_;
    std::vector<Run> runs_;
    std::shared_ptr<Pool> pool_;
    std::shared_ptr<arrow::Buffer> buffer_; /* its bytes [at_, end_) are still to be read */
    int64_t at_ = 0, end_ = 0, left_ = 0;   /* left_: of the runs, not in the buffer yet */
    size_t next_ = 0;
    int64_t position_ = 0;
    bool checksums_, peeked_ = false; /* peeked_: what is read next was looked at, and so is a head */
    PageHead head_;
};

class WholeGroup final : public parquet::RowGroupReader::Contents {
public:
    WholeGroup(ChunkSource source, std::shared_ptr<parquet::RowGroupReader> arrow_own)
        : source_(std::move(source)), arrow_own_(std::move(arrow_own))
    {
    }
    const parquet::RowGroupMetaData *metadata() const override { return arrow_own_->metadata(); }
    const parquet::ReaderProperties *properties() const override { return &source_.properties; }
    /* What needs more than the footer says, or contradicts it, is left to Arrow and its words. */
    std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override
    {
        int64_t first, end;
        auto chunk = metadata()->ColumnChunk(leaf);
        bool padded = source_.metadata->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION());
        if (padded || chunk->crypto_metadata() != nullptr ||
            !chunk_place(*chunk, source_.input->GetSize().ValueOr(0), &first, &end))
            return arrow_own_->GetColumnPageReader(leaf);
        return pages_open(source_, *chunk, leaf, {{first, end - first}});
    }

private:
    ChunkSource source_;
    std::shared_ptr<parquet::RowGroupReader> arrow_own_;
};

class WholeFile final : public parquet::ParquetFileReader::Contents {
public:
    explicit WholeFile(ChunkSource source)
        : source_(std::move(source)),
          arrow_own_(parquet::ParquetFileReader::Contents::Open(source_.input, source_.properties, source_.metadata))
    {
    }
    void Close() override { arrow_own_->Close(); }
    std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int group) override
    {
        return std::make_shared<parquet::RowGroupReader>(std::make_unique<WholeGroup>(source_, arrow_own_->GetRowGroup(group)));
    }
    std::shared_ptr<parquet::FileMetaData> metadata() const override { return source_.metadata; }
    std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return arrow_own_->GetPageIndexReader(); }
    parquet::BloomFilterReader &GetBloomFilterReader() override { return arrow_own_->GetBloomFilterReader(); }

private:
    ChunkSource source_;
    std::unique_ptr<parquet::ParquetFileReader::Contents> arrow_own_;
};

} // namespace

std::unique_ptr<parquet::PageReader> pages_open(const ChunkSource &source, const parquet::ColumnChunkMetaData &chunk, int leaf,
                                                std::vector<Run> runs)
{
    bool always_compressed =
        source.metadata->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
    bool checksums = source.properties.page_checksum_verification() && !source.page_properties.page_checksum_verification();
    return parquet::PageReader::Open(std::make_shared<PageStream>(source.input, std::move(runs), source.pool, checksums), chunk.num_values(),
                                     chunk.compression(), source.page_properties, *source.metadata->schema()->Column(leaf),
                                     always_compressed);
}

ChunkSource::ChunkSource(std::shared_ptr<Pool> pool_in, std::shared_ptr<Input> input_in, std::shared_ptr<parquet::FileMetaData> metadata_in,
                         const parquet::ReaderProperties &properties_in)
    : pool(std::move(pool_in)), input(std::move(input_in)), metadata(std::move(metadata_in)), properties(properties_in),
      page_properties(properties_in)
{
    if (crc32_is_fast())
        page_properties.set_page_checksum_verification(false);
}

std::unique_ptr<parquet::ParquetFileReader::Contents> whole_contents(ChunkSource source)
{
    return std::make_unique<WholeFile>(std::move(source));
}

} // namespace pml_bridge_ns
