/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which time zone the writer of a stripe was: its stripe footer says so, and Arrow's adapter shows none of that. It is needed for
 * old TIMESTAMP values only (orc_values.cc).
 *
 *   file tail      protobuf message, as the adapter gives it: 1 postscript, 2 footer
 *   postscript     2 compression (0 none 1 zlib 2 snappy 3 lzo 4 lz4 5 zstd), 3 compression block size
 *   footer         3 stripe information, repeated: 1 offset, 2 index length, 3 data length, 4 footer length
 *   stripe footer  at offset + index length + data length, compressed in blocks; 3 writer time zone
 *   block          3 bytes LE: length * 2 + (1: stored as it is), then the bytes
 */
#include <arrow/buffer.h>
#include <arrow/util/compression.h>

#include "format/bridge/orc.h"

namespace pml_bridge_ns {

namespace {

constexpr int64_t footer_bytes_max = int64_t{16} << 20; /* of a stripe: streams of some ten thousand columns */
constexpr uint64_t block_bytes_max = uint64_t{1} << 23; /* what 3 bytes can say */

struct Bytes {
    const uint8_t *at = nullptr, *end = nullptr;
    size_t size() const { return static_cast<size_t>(end - at); }
};

/* One field of a message: a number, or bytes inside of the message. */
struct PbField {
    uint32_t id = 0;
    uint64_t number = 0;
    Bytes bytes;
};

arrow::Status pb_damaged()
{
    return arrow::Status::Invalid("the metadata of a stripe is damaged");
}

arrow::Result<uint64_t> pb_varint(Bytes *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    return pb_damaged();
}

/* False at the end of the message. */
arrow::Result<bool> pb_next(PbField *out, Bytes *in)
{
    *out = PbField{};
    if (in->at == in->end)
        return false;
    ARROW_ASSIGN_OR_RAISE(uint64_t key, pb_varint(in));
    out->id = static_cast<uint32_t>(key >> 3);
    size_t skip = 0;
    switch (key & 7) {
    case 0: {
        ARROW_ASSIGN_OR_RAISE(out->number, pb_varint(in));
        return true;
    }
    case 1: skip = 8; break;
    case 5: skip = 4; break;
    case 2: {
        ARROW_ASSIGN_OR_RAISE(uint64_t length, pb_varint(in));
        if (length > in->size())
            return pb_damaged();
        out->bytes = {in->at, in->at + length};
        skip = static_cast<size_t>(length);
        break;
    }
    default: return pb_damaged();
    }
    if (skip > in->size())
        return pb_damaged();
    in->at += skip;
    return true;
}

struct Tail {
    uint64_t compression = 0, block_bytes = 262144;
    uint64_t offset = 0, index = 0, data = 0, footer = 0; /* of the stripe */
};

arrow::Status stripe_parse(Tail *out, Bytes message)
{
    uint64_t *const numbers[] = {nullptr, &out->offset, &out->index, &out->data, &out->footer};
    PbField f;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, pb_next(&f, &message));
        if (!more)
            return arrow::Status::OK();
        if (f.id > 0 && f.id < sizeof numbers / sizeof numbers[0])
            *numbers[f.id] = f.number;
    }
}

arrow::Status tail_part(Tail *out, const PbField &part, int32_t stripe)
{
    Bytes in = part.bytes;
    PbField f;
    int32_t seen = 0;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, pb_next(&f, &in));
        if (!more)
            break;
        if (part.id == 1 && f.id == 2)
            out->compression = f.number;
        if (part.id == 1 && f.id == 3)
            out->block_bytes = f.number;
        if (part.id == 2 && f.id == 3 && seen++ == stripe)
            ARROW_RETURN_NOT_OK(stripe_parse(out, f.bytes));
    }
    return part.id == 2 && seen <= stripe ? pb_damaged() : arrow::Status::OK();
}

arrow::Result<Tail> tail_parse(const std::string &text, int32_t stripe)
{
    const auto *at = reinterpret_cast<const uint8_t *>(text.data());
    Bytes in{at, at + text.size()};
    PbField part;
    Tail tail;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, pb_next(&part, &in));
        if (!more)
            return tail;
        if (part.id == 1 || part.id == 2)
            ARROW_RETURN_NOT_OK(tail_part(&tail, part, stripe));
    }
}

arrow::Result<std::unique_ptr<arrow::util::Codec>> codec_of(uint64_t compression)
{
    arrow::util::GZipCodecOptions bare;
    bare.gzip_format = arrow::util::GZipFormat::DEFLATE;
    switch (compression) {
    case 0: return std::unique_ptr<arrow::util::Codec>();
    case 1: return arrow::util::Codec::Create(arrow::Compression::GZIP, bare);
    case 2: return arrow::util::Codec::Create(arrow::Compression::SNAPPY);
    case 4: return arrow::util::Codec::Create(arrow::Compression::LZ4);
    case 5: return arrow::util::Codec::Create(arrow::Compression::ZSTD);
    default:
        return arrow::Status::NotImplemented("its compression hides the time zone of the writer, on which old timestamps depend");
    }
}

/* Arrow's one-shot call for zstd wants the exact size of what comes out. */
arrow::Result<int64_t> block_unpack(std::string *out, arrow::util::Codec *codec, const uint8_t *in, size_t length)
{
    auto *to = reinterpret_cast<uint8_t *>(out->data());
    auto n = static_cast<int64_t>(length), room = static_cast<int64_t>(out->size());
    if (codec->compression_type() != arrow::Compression::ZSTD)
        return codec->Decompress(n, in, room, to);
    ARROW_ASSIGN_OR_RAISE(auto stream, codec->MakeDecompressor());
    ARROW_ASSIGN_OR_RAISE(auto done, stream->Decompress(n, in, room, to));
    if (done.bytes_read != n || !stream->IsFinished())
        return pb_damaged();
    return done.bytes_written;
}

arrow::Result<std::string> blocks_unpack(Bytes in, const Tail &tail)
{
    std::string out;
    ARROW_ASSIGN_OR_RAISE(auto codec, codec_of(tail.compression));
    if (codec == nullptr)
        return std::string(reinterpret_cast<const char *>(in.at), in.size());
    if (tail.block_bytes == 0 || tail.block_bytes > block_bytes_max)
        return pb_damaged();
    std::string block(static_cast<size_t>(tail.block_bytes), '\0');
    while (in.at < in.end) {
        if (in.size() < 3)
            return pb_damaged();
        uint32_t head = in.at[0] | static_cast<uint32_t>(in.at[1]) << 8 | static_cast<uint32_t>(in.at[2]) << 16;
        size_t length = head >> 1;
        in.at += 3;
        if (length > in.size())
            return pb_damaged();
        if ((head & 1) != 0) {
            out.append(reinterpret_cast<const char *>(in.at), length);
        } else {
            ARROW_ASSIGN_OR_RAISE(int64_t n, block_unpack(&block, codec.get(), in.at, length));
            out.append(block, 0, static_cast<size_t>(n));
        }
        in.at += length;
        if (static_cast<int64_t>(out.size()) > footer_bytes_max)
            return pb_damaged();
    }
    return out;
}

} // namespace

arrow::Result<std::string> orc_stripe_zone(const OrcReader &reader, int32_t stripe)
{
    ARROW_ASSIGN_OR_RAISE(Tail tail, tail_parse(reader.file->GetSerializedFileTail(), stripe));
    ARROW_ASSIGN_OR_RAISE(int64_t size, reader.input->GetSize());
    uint64_t at = 0;
    if (tail.footer > static_cast<uint64_t>(footer_bytes_max) || __builtin_add_overflow(tail.offset, tail.index, &at) ||
        __builtin_add_overflow(at, tail.data, &at) || at > static_cast<uint64_t>(size) || tail.footer > static_cast<uint64_t>(size) - at)
        return pb_damaged();
    ARROW_ASSIGN_OR_RAISE(auto packed, reader.input->ReadAt(static_cast<int64_t>(at), static_cast<int64_t>(tail.footer)));
    ARROW_ASSIGN_OR_RAISE(std::string footer, blocks_unpack({packed->data(), packed->data() + packed->size()}, tail));
    const auto *text = reinterpret_cast<const uint8_t *>(footer.data());
    Bytes in{text, text + footer.size()};
    std::string zone = "UTC";
    PbField f;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, pb_next(&f, &in));
        if (!more)
            return zone;
        if (f.id == 3 && f.bytes.at != nullptr && f.bytes.size() > 0)
            zone.assign(reinterpret_cast<const char *>(f.bytes.at), f.bytes.size());
    }
}

} // namespace pml_bridge_ns
