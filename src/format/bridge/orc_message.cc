/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   message        protobuf
 *   packed         in blocks, where the postscript names a compression (0 none 1 zlib 2 snappy 3 lzo 4 lz4 5 zstd)
 *   block          3 bytes LE: length * 2 + (1: stored as it is), then the bytes
 */
#include "format/bridge/orc_message.h"

#include <arrow/util/compression.h>

namespace pml_bridge_ns {

arrow::Status orc_meta_damaged()
{
    return arrow::Status::Invalid("the metadata of a stripe is damaged");
}

arrow::Result<uint64_t> orc_varint(OrcBytes *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    return orc_meta_damaged();
}

arrow::Result<bool> orc_field_next(OrcField *out, OrcBytes *in)
{
    *out = OrcField{};
    if (in->at == in->end)
        return false;
    ARROW_ASSIGN_OR_RAISE(uint64_t key, orc_varint(in));
    out->id = static_cast<uint32_t>(key >> 3);
    size_t skip = 0;
    switch (key & 7) {
    case 0: {
        ARROW_ASSIGN_OR_RAISE(out->number, orc_varint(in));
        return true;
    }
    case 1: skip = 8; break;
    case 5: skip = 4; break;
    case 2: {
        ARROW_ASSIGN_OR_RAISE(uint64_t length, orc_varint(in));
        if (length > in->size())
            return orc_meta_damaged();
        out->bytes = {in->at, in->at + length};
        skip = static_cast<size_t>(length);
        break;
    }
    default: return orc_meta_damaged();
    }
    if (skip > in->size())
        return orc_meta_damaged();
    in->at += skip;
    return true;
}

arrow::Result<uint64_t> orc_number(OrcBytes in, uint32_t id, uint64_t otherwise)
{
    uint64_t number = otherwise;
    ARROW_RETURN_NOT_OK(orc_each(in, id, [&](const OrcField &f) { return number = f.number, arrow::Status::OK(); }));
    return number;
}

arrow::Result<OrcBytes> orc_part(OrcBytes in, uint32_t id)
{
    OrcBytes part;
    ARROW_RETURN_NOT_OK(orc_each(in, id, [&](const OrcField &f) { return part = f.bytes, arrow::Status::OK(); }));
    return part;
}

arrow::Result<OrcPacking> orc_packing(OrcBytes postscript)
{
    OrcPacking packing;
    ARROW_ASSIGN_OR_RAISE(packing.compression, orc_number(postscript, 2, packing.compression));
    ARROW_ASSIGN_OR_RAISE(packing.block_bytes, orc_number(postscript, 3, packing.block_bytes));
    return packing;
}

OrcBytes orc_bytes(const std::string &text)
{
    const auto *at = reinterpret_cast<const uint8_t *>(text.data());
    return {at, at + text.size()};
}

namespace {

constexpr uint64_t block_bytes_max = uint64_t{1} << 23; /* what 3 bytes can say */

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
        return orc_meta_damaged();
    return done.bytes_written;
}

} // namespace

arrow::Result<std::string> orc_unpack(OrcBytes in, const OrcPacking &packing)
{
    std::string out;
    ARROW_ASSIGN_OR_RAISE(auto codec, codec_of(packing.compression));
    if (codec == nullptr)
        return std::string(reinterpret_cast<const char *>(in.at), in.size());
    if (packing.block_bytes == 0 || packing.block_bytes > block_bytes_max)
        return orc_meta_damaged();
    std::string block(static_cast<size_t>(packing.block_bytes), '\0');
    while (in.at < in.end) {
        if (in.size() < 3)
            return orc_meta_damaged();
        uint32_t head = in.at[0] | static_cast<uint32_t>(in.at[1]) << 8 | static_cast<uint32_t>(in.at[2]) << 16;
        size_t length = head >> 1;
        in.at += 3;
        if (length > in.size())
            return orc_meta_damaged();
        if ((head & 1) != 0) {
            out.append(reinterpret_cast<const char *>(in.at), length);
        } else {
            ARROW_ASSIGN_OR_RAISE(int64_t n, block_unpack(&block, codec.get(), in.at, length));
            out.append(block, 0, static_cast<size_t>(n));
        }
        in.at += length;
        if (static_cast<int64_t>(out.size()) > orc_message_bytes_max)
            return orc_meta_damaged();
    }
    return out;
}

} // namespace pml_bridge_ns
