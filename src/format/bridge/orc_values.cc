/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what Arrow's ORC adapter hands out to the project's form, in place where that is possible:
 *   TIME                the int that it is; CHAR: without the blanks that ORC pads it with
 *   TIMESTAMP           nanoseconds cut to the unit; before that, what ORC's code gets wrong of old ones is put right
 *   TIMESTAMP_LTZ       the same, and what the writer's time zone took away is added again where the table wants it
 */
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/key_value_metadata.h>

#include <cstring>

#include "format/bridge/orc.h"

namespace pml_bridge_ns {

using arrow::Type;

constexpr int64_t nanos_per_second = INT64_C(1000000000);

std::shared_ptr<arrow::DataType> orc_stored_type(const std::shared_ptr<arrow::DataType> &type)
{
    auto stored = [](const std::shared_ptr<arrow::Field> &field) { return field->WithType(orc_stored_type(field->type())); };
    switch (type->id()) {
    case Type::TIME32: return arrow::int32();
    case Type::TIMESTAMP:
        return arrow::timestamp(arrow::TimeUnit::NANO, static_cast<const arrow::TimestampType &>(*type).timezone());
    case Type::LIST: return arrow::list(stored(type->field(0)));
    case Type::MAP: return std::make_shared<arrow::MapType>(stored(type->field(0)));
    case Type::STRUCT: {
        arrow::FieldVector fields;
        for (const auto &field : type->fields())
            fields.push_back(stored(field));
        return arrow::struct_(std::move(fields));
    }
    default: return type;
    }
}

bool orc_type_is(const arrow::DataType &native, const arrow::DataType &stored)
{
    if (native.id() != stored.id() || native.num_fields() != stored.num_fields())
        return false;
    if (native.id() == Type::TIMESTAMP) {
        const auto &a = static_cast<const arrow::TimestampType &>(native), &b = static_cast<const arrow::TimestampType &>(stored);
        return a.unit() == b.unit() && a.timezone().empty() == b.timezone().empty();
    }
    if (native.num_fields() == 0)
        return native.id() == Type::STRUCT || native.Equals(stored);
    for (int i = 0; i < native.num_fields(); i++)
        if ((native.id() == Type::STRUCT && native.field(i)->name() != stored.field(i)->name()) ||
            !orc_type_is(*native.field(i)->type(), *stored.field(i)->type()))
            return false;
    return true;
}

namespace {

int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> writable(const std::shared_ptr<arrow::Buffer> &buffer, arrow::MemoryPool *pool)
{
    if (buffer->is_mutable())
        return buffer;
    return buffer->CopySlice(0, buffer->size(), pool);
}

/* Values of a column and which of them are not null. */
struct Longs {
    int64_t *values;
    int64_t n, offset;
    const uint8_t *bits; /* NULL: all */
    bool is_valid(int64_t i) const { return bits == nullptr || arrow::bit_util::GetBit(bits, offset + i); }
};

/*
 * ORC keeps seconds that were cut towards zero, and nanoseconds; a reader takes a second off again when the seconds are negative and
 * the nanoseconds are a millisecond or more. Java asks whether the writer's instant was negative. ORC's C++ code asks whether the
 * clock on the wall is, which differs for values between the epoch in UTC and the epoch of the writer's clock: a second too much or
 * too little. What it has decided can be seen from its answer, so it is decided here again.
 */
int64_t epoch_repaired(int64_t seconds, const OrcZone &zone)
{
    int64_t wall = seconds < -1 ? seconds + 1 : seconds; /* as stored, on the writer's clock */
    return wall < zone.java_offset(0) ? wall - 1 : wall;
}

/* And it knows other clocks than Java for the time before zones had standards. By then all had. */
constexpr int64_t standards_seconds = INT64_C(-631152000); /* 1950 */

arrow::Status wall_repair(const Longs &v, OrcPlace *place)
{
    constexpr int64_t window = INT64_C(86401) * nanos_per_second; /* no clock is a day ahead or behind */
    for (int64_t i = 0; i < v.n; i++) {
        if (v.values[i] > window || !v.is_valid(i))
            continue;
        int64_t seconds = floor_div(v.values[i], nanos_per_second), nanos = v.values[i] - seconds * nanos_per_second;
        bool is_old = seconds < standards_seconds, is_near = v.values[i] >= -window && nanos >= 1000000;
        if (!is_old && !is_near)
            continue;
        ARROW_ASSIGN_OR_RAISE(const OrcZone *zone, place->writer_zone());
        if (zone == nullptr)
            return arrow::Status::OK();
        int64_t right = seconds;
        if (is_old) {
            ARROW_ASSIGN_OR_RAISE(right, zone->wall_as_java(seconds));
        } else {
            right = epoch_repaired(seconds, *zone);
        }
        if (__builtin_add_overflow(v.values[i], (right - seconds) * nanos_per_second, &v.values[i]))
            return arrow::Status::NotImplemented("a timestamp is outside of the years 1677 to 2262");
    }
    return arrow::Status::OK();
}

/* Clocks are rarely changed, and asking the system what they show is slow. */
class ZoneClock {
public:
    explicit ZoneClock(int64_t (*ask)(int64_t)) : ask_(ask) {}
    int64_t offset(int64_t seconds)
    {
        int64_t span = floor_div(seconds, span_seconds);
        Slot &s = slots_[static_cast<uint64_t>(span) % slot_count];
        if (!s.filled || s.span != span) {
            s.filled = true;
            s.span = span;
            s.offset = ask_(span * span_seconds);
            s.constant = ask_(span * span_seconds + span_seconds - 1) == s.offset;
        }
        return s.constant ? s.offset : ask_(seconds);
    }

private:
    static constexpr int64_t span_seconds = 6 * 3600; /* no zone changed its clock there and back within this */
    static constexpr uint64_t slot_count = 64;
    struct Slot {
        int64_t span = 0, offset = 0;
        bool filled = false, constant = false;
    };
    int64_t (*ask_)(int64_t);
    Slot slots_[slot_count];
};

arrow::Status zone_shift(const Longs &v, int64_t (*ask)(int64_t))
{
    ZoneClock clock(ask);
    for (int64_t i = 0; i < v.n; i++) {
        if (!v.is_valid(i))
            continue;
        int64_t shift = clock.offset(floor_div(v.values[i], nanos_per_second)) * nanos_per_second;
        if (__builtin_add_overflow(v.values[i], shift, &v.values[i]))
            return arrow::Status::NotImplemented("a timestamp is outside of the years 1677 to 2262 in the time zone of this process");
    }
    return arrow::Status::OK();
}

template <int64_t divisor> void unit_cut(const Longs &v)
{
    for (int64_t i = 0; i < v.n; i++)
        v.values[i] = floor_div(v.values[i], divisor);
}

arrow::Status timestamps_convert(arrow::BufferVector *buffers, const arrow::ArrayData &data, const arrow::TimestampType &type,
                                 const OrcConversion &c)
{
    if (data.length == 0 || buffers->at(1) == nullptr)
        return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(buffers->at(1), writable(buffers->at(1), c.pool));
    const Longs v{reinterpret_cast<int64_t *>(buffers->at(1)->mutable_data()) + data.offset, data.length, data.offset,
                  buffers->at(0) == nullptr ? nullptr : buffers->at(0)->data()};
    if (type.timezone().empty())
        ARROW_RETURN_NOT_OK(wall_repair(v, c.place));
    else if (c.zone_offset != nullptr)
        ARROW_RETURN_NOT_OK(zone_shift(v, c.zone_offset));
    switch (type.unit()) {
    case arrow::TimeUnit::SECOND: unit_cut<nanos_per_second>(v); break;
    case arrow::TimeUnit::MILLI: unit_cut<1000000>(v); break;
    case arrow::TimeUnit::MICRO: unit_cut<1000>(v); break;
    case arrow::TimeUnit::NANO: break;
    }
    return arrow::Status::OK();
}

arrow::Status blanks_strip(arrow::BufferVector *buffers, const arrow::ArrayData &data, const OrcConversion &c)
{
    if (data.length == 0 || buffers->at(1) == nullptr || buffers->at(2) == nullptr)
        return arrow::Status::OK();
    ARROW_ASSIGN_OR_RAISE(buffers->at(1), writable(buffers->at(1), c.pool));
    ARROW_ASSIGN_OR_RAISE(buffers->at(2), writable(buffers->at(2), c.pool));
    auto *offsets = reinterpret_cast<int32_t *>(buffers->at(1)->mutable_data()) + data.offset;
    uint8_t *text = buffers->at(2)->mutable_data();
    int32_t start = offsets[0], to = offsets[0];
    for (int64_t i = 0; i < data.length; i++) {
        int32_t end = offsets[i + 1], n = end - start;
        while (n > 0 && text[start + n - 1] == ' ')
            n--;
        std::memmove(text + to, text + start, static_cast<size_t>(n));
        start = end;
        to += n;
        offsets[i + 1] = to;
    }
    return arrow::Status::OK();
}

bool is_char(const arrow::Field &field)
{
    if (!field.HasMetadata())
        return false;
    auto text = field.metadata()->Get("paimon.type");
    return text.ok() && text->compare(0, 5, "CHAR(") == 0;
}

} // namespace

/* The wanted type is of the schema's parser, which bounds its depth. */
arrow::Result<std::shared_ptr<arrow::ArrayData>> orc_convert(const arrow::ArrayData &data, const arrow::Field &wanted,
                                                             const OrcConversion &c)
{
    const auto &type = wanted.type();
    arrow::BufferVector buffers = data.buffers;
    auto children = data.child_data;
    if (type->id() == Type::TIMESTAMP)
        ARROW_RETURN_NOT_OK(timestamps_convert(&buffers, data, static_cast<const arrow::TimestampType &>(*type), c));
    if (type->id() == Type::STRING && is_char(wanted))
        ARROW_RETURN_NOT_OK(blanks_strip(&buffers, data, c));
    for (size_t i = 0; i < children.size() && static_cast<int>(i) < type->num_fields(); i++) {
        ARROW_ASSIGN_OR_RAISE(children[i], orc_convert(*children[i], *type->field(static_cast<int>(i)), c));
    }
    return arrow::ArrayData::Make(type, data.length, std::move(buffers), std::move(children), nullptr, data.null_count.load(),
                                  data.offset);
}

} // namespace pml_bridge_ns
