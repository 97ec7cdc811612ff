/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which time zone the writer of a stripe was: its stripe footer says so, and Arrow's adapter shows none of that. It is needed for
 * old TIMESTAMP values only (orc_values.cc).
 *
 *   file tail      protobuf message, as the adapter gives it: 1 postscript, 2 footer
 *   postscript     2 compression, 3 compression block size
 *   footer         3 stripe information, repeated: 1 offset, 2 index length, 3 data length, 4 footer length
 *   stripe footer  at offset + index length + data length, packed; 3 writer time zone
 */
#include <arrow/buffer.h>

#include "format/bridge/orc.h"
#include "format/bridge/orc_message.h"

namespace pml_bridge_ns {

namespace {

struct Tail {
    OrcPacking packing;
    uint64_t offset = 0, index = 0, data = 0, footer = 0; /* of the stripe */
};

arrow::Status stripe_parse(Tail *out, OrcBytes stripe)
{
    ARROW_ASSIGN_OR_RAISE(out->offset, orc_number(stripe, 1, 0));
    ARROW_ASSIGN_OR_RAISE(out->index, orc_number(stripe, 2, 0));
    ARROW_ASSIGN_OR_RAISE(out->data, orc_number(stripe, 3, 0));
    ARROW_ASSIGN_OR_RAISE(out->footer, orc_number(stripe, 4, 0));
    return arrow::Status::OK();
}

arrow::Result<Tail> tail_parse(OrcBytes tail, int32_t stripe)
{
    Tail out;
    int32_t seen = 0;
    ARROW_ASSIGN_OR_RAISE(OrcBytes postscript, orc_part(tail, 1));
    ARROW_ASSIGN_OR_RAISE(OrcBytes footer, orc_part(tail, 2));
    ARROW_ASSIGN_OR_RAISE(out.packing, orc_packing(postscript));
    ARROW_RETURN_NOT_OK(orc_each(footer, 3, [&](const OrcField &f) {
        return seen++ == stripe ? stripe_parse(&out, f.bytes) : arrow::Status::OK();
    }));
    if (seen <= stripe)
        return orc_meta_damaged();
    return out;
}

} // namespace

arrow::Result<std::string> orc_stripe_zone(const OrcReader &reader, int32_t stripe)
{
    const std::string text = reader.file->GetSerializedFileTail();
    ARROW_ASSIGN_OR_RAISE(Tail tail, tail_parse(orc_bytes(text), stripe));
    ARROW_ASSIGN_OR_RAISE(int64_t size, reader.input->GetSize());
    uint64_t at = 0;
    if (tail.footer > static_cast<uint64_t>(orc_message_bytes_max) || __builtin_add_overflow(tail.offset, tail.index, &at) ||
        __builtin_add_overflow(at, tail.data, &at) || at > static_cast<uint64_t>(size) || tail.footer > static_cast<uint64_t>(size) - at)
        return orc_meta_damaged();
    ARROW_ASSIGN_OR_RAISE(auto packed, reader.input->ReadAt(static_cast<int64_t>(at), static_cast<int64_t>(tail.footer)));
    ARROW_ASSIGN_OR_RAISE(std::string footer, orc_unpack({packed->data(), packed->data() + packed->size()}, tail.packing));
    ARROW_ASSIGN_OR_RAISE(OrcBytes zone, orc_part(orc_bytes(footer), 3));
    return zone.size() == 0 ? "UTC" : std::string(reinterpret_cast<const char *>(zone.at), zone.size());
}

} // namespace pml_bridge_ns
