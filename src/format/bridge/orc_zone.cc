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

arrow::Status stripe_parse(Tail *out, OrcBytes message)
{
    uint64_t *const numbers[] = {nullptr, &out->offset, &out->index, &out->data, &out->footer};
    OrcField f;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, orc_field_next(&f, &message));
        if (!more)
            return arrow::Status::OK();
        if (f.id > 0 && f.id < sizeof numbers / sizeof numbers[0])
            *numbers[f.id] = f.number;
    }
}

arrow::Status tail_part(Tail *out, const OrcField &part, int32_t stripe)
{
    OrcBytes in = part.bytes;
    OrcField f;
    int32_t seen = 0;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, orc_field_next(&f, &in));
        if (!more)
            break;
        if (part.id == 1 && f.id == 2)
            out->packing.compression = f.number;
        if (part.id == 1 && f.id == 3)
            out->packing.block_bytes = f.number;
        if (part.id == 2 && f.id == 3 && seen++ == stripe)
            ARROW_RETURN_NOT_OK(stripe_parse(out, f.bytes));
    }
    return part.id == 2 && seen <= stripe ? orc_meta_damaged() : arrow::Status::OK();
}

arrow::Result<Tail> tail_parse(const std::string &text, int32_t stripe)
{
    const auto *at = reinterpret_cast<const uint8_t *>(text.data());
    OrcBytes in{at, at + text.size()};
    OrcField part;
    Tail tail;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, orc_field_next(&part, &in));
        if (!more)
            return tail;
        if (part.id == 1 || part.id == 2)
            ARROW_RETURN_NOT_OK(tail_part(&tail, part, stripe));
    }
}

} // namespace

arrow::Result<std::string> orc_stripe_zone(const OrcReader &reader, int32_t stripe)
{
    ARROW_ASSIGN_OR_RAISE(Tail tail, tail_parse(reader.file->GetSerializedFileTail(), stripe));
    ARROW_ASSIGN_OR_RAISE(int64_t size, reader.input->GetSize());
    uint64_t at = 0;
    if (tail.footer > static_cast<uint64_t>(orc_message_bytes_max) || __builtin_add_overflow(tail.offset, tail.index, &at) ||
        __builtin_add_overflow(at, tail.data, &at) || at > static_cast<uint64_t>(size) || tail.footer > static_cast<uint64_t>(size) - at)
        return orc_meta_damaged();
    ARROW_ASSIGN_OR_RAISE(auto packed, reader.input->ReadAt(static_cast<int64_t>(at), static_cast<int64_t>(tail.footer)));
    ARROW_ASSIGN_OR_RAISE(std::string footer, orc_unpack({packed->data(), packed->data() + packed->size()}, tail.packing));
    const auto *text = reinterpret_cast<const uint8_t *>(footer.data());
    OrcBytes in{text, text + footer.size()};
    std::string zone = "UTC";
    OrcField f;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, orc_field_next(&f, &in));
        if (!more)
            return zone;
        if (f.id == 3 && f.bytes.at != nullptr && f.bytes.size() > 0)
            zone.assign(reinterpret_cast<const char *>(f.bytes.at), f.bytes.size());
    }
}

} // namespace pml_bridge_ns
