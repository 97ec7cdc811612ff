/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of ORC files that Arrow's adapter keeps to itself: protobuf fields one by one, and the compressed blocks that hold them. */
#ifndef PML_FORMAT_BRIDGE_ORC_MESSAGE_H
#define PML_FORMAT_BRIDGE_ORC_MESSAGE_H

#include <arrow/result.h>

#include <string>

namespace pml_bridge_ns {

struct OrcBytes {
    const uint8_t *at = nullptr, *end = nullptr;
    size_t size() const { return static_cast<size_t>(end - at); }
};

/* One field of a message: a number, or bytes inside of the message. */
struct OrcField {
    uint32_t id = 0;
    uint64_t number = 0;
    OrcBytes bytes;
};

/* As the postscript has it. */
struct OrcPacking {
    uint64_t compression = 0, block_bytes = 262144;
};

constexpr int64_t orc_message_bytes_max = int64_t{16} << 20; /* of a stripe's footer: streams of some ten thousand columns */

arrow::Status orc_meta_damaged();
arrow::Result<uint64_t> orc_varint(OrcBytes *in);
/* False at the end of the message. */
arrow::Result<bool> orc_field_next(OrcField *out, OrcBytes *in);
/* Each field of the message. */
template <typename Take> arrow::Status orc_each(OrcBytes in, Take take)
{
    OrcField f;
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(bool more, orc_field_next(&f, &in));
        if (!more)
            return arrow::Status::OK();
        ARROW_RETURN_NOT_OK(take(f));
    }
}
/* Each field `id`. */
template <typename Take> arrow::Status orc_each(OrcBytes in, uint32_t id, Take take)
{
    return orc_each(in, [&](const OrcField &f) { return f.id == id ? take(f) : arrow::Status::OK(); });
}
/* The last number `id`. */
arrow::Result<uint64_t> orc_number(OrcBytes in, uint32_t id, uint64_t otherwise);
/* The last bytes `id`; empty: there are none. */
arrow::Result<OrcBytes> orc_part(OrcBytes in, uint32_t id);
arrow::Result<OrcPacking> orc_packing(OrcBytes postscript);
OrcBytes orc_bytes(const std::string &text);
/* What the blocks hold, at most orc_message_bytes_max and a block. */
arrow::Result<std::string> orc_unpack(OrcBytes in, const OrcPacking &packing);

} // namespace pml_bridge_ns

#endif
