/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a writer's time zone, as Java has it and as ORC's C++ code has it. They differ before the first change of the clock
 * that the zone file lists: Java goes by local mean time back to 1900, ORC by the first standard time that follows; and before 1900
 * Java takes the standard time of today, ORC what the file says.
 *
 * Zone file (RFC 8536): "TZif", version, 15 bytes; six counts of 32 bits BE: UT flags, standard flags, leap seconds, times, types,
 * characters; the times, a byte each for their types, 6 bytes a type (offset BE, is daylight saving, name). From version 2 on all of
 * that comes twice, the second time with times of 64 bits.
 */
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "format/bridge/orc.h"

namespace pml_bridge_ns {

namespace {

constexpr size_t file_bytes_max = size_t{1} << 20;
constexpr size_t header_bytes = 44;
constexpr int64_t year_1900 = INT64_C(-2208988800);

std::string zone_path(const std::string &zone)
{
    const char *dir = std::getenv("TZDIR"), *conda = std::getenv("CONDA_PREFIX"); /* where ORC looks */
    std::string path = dir != nullptr ? dir : conda != nullptr ? std::string(conda) + "/share/zoneinfo" : "/usr/share/zoneinfo";
    return path + "/" + zone;
}

uint64_t big_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

struct Block {
    size_t times, types, end, n_times, n_types; /* places and counts */
};

/* The block at `start` whose times have `width` bytes; false when the file is too short. */
bool block_find(Block *out, const std::string &file, size_t start, size_t width)
{
    if (file.size() < header_bytes || start > file.size() - header_bytes || file.compare(start, 4, "TZif") != 0)
        return false;
    uint64_t counts[6];
    for (size_t i = 0; i < 6; i++) {
        counts[i] = big_endian(reinterpret_cast<const uint8_t *>(file.data()) + start + 20 + 4 * i, 4);
        if (counts[i] > file_bytes_max)
            return false;
    }
    out->n_times = counts[3];
    out->n_types = counts[4];
    out->times = start + header_bytes;
    out->types = out->times + (width + 1) * counts[3];
    out->end = out->types + 6 * counts[4] + counts[5] + (width + 4) * counts[2] + counts[1] + counts[0];
    return out->end <= file.size() && counts[4] > 0;
}

arrow::Status zone_damaged(const std::string &zone)
{
    return arrow::Status::NotImplemented("timestamps depend on the time zone of their writer, and the Time zone file of '", zone,
                                         "' cannot be used");
}

} // namespace

arrow::Status OrcZone::load(const std::string &zone)
{
    Block b;
    if (zone.empty() || zone[0] == '/' || zone.find("..") != std::string::npos)
        return zone_damaged(zone);
    std::ifstream in(zone_path(zone), std::ios::binary);
    std::string file(file_bytes_max, '\0');
    in.read(file.data(), static_cast<std::streamsize>(file.size()));
    file.resize(static_cast<size_t>(in.gcount()));
    if (!block_find(&b, file, 0, 4))
        return zone_damaged(zone);
    size_t width = file[4] != '\0' ? 8 : 4;
    if (width == 8 && !block_find(&b, file, b.end, 8))
        return zone_damaged(zone);
    const auto *bytes = reinterpret_cast<const uint8_t *>(file.data());
    for (size_t i = 0; i < b.n_times; i++) {
        uint64_t raw = big_endian(bytes + b.times + width * i, width);
        size_t type = bytes[b.times + width * b.n_times + i];
        if (type >= b.n_types)
            return zone_damaged(zone);
        int64_t at = width == 8 ? static_cast<int64_t>(raw) : static_cast<int32_t>(static_cast<uint32_t>(raw));
        changes_.push_back({at, type_of(bytes + b.types + 6 * type)});
    }
    first_ = type_of(bytes + b.types);
    choose_standards();
    return arrow::Status::OK();
}

OrcZone::Type OrcZone::type_of(const uint8_t *p)
{
    return {static_cast<int32_t>(static_cast<uint32_t>(big_endian(p, 4))), p[4] != 0};
}

void OrcZone::choose_standards()
{
    ancient_ = today_ = first_.offset;
    for (auto c = changes_.rbegin(); c != changes_.rend(); ++c)
        if (!c->type.is_dst)
            ancient_ = c->type.offset; /* the first one stays */
    for (const auto &c : changes_)
        if (!c.type.is_dst)
            today_ = c.type.offset;
    size_t n = changes_.size(); /* Where winter is what is special (Dublin), Java calls that the standard. */
    for (size_t i = n < 2 ? 0 : n - 2; i < n; i++)
        if (changes_[i].type.is_dst && changes_[i].type.offset < today_)
            today_ = changes_[i].type.offset;
}

int64_t OrcZone::offset_after(int64_t instant, int64_t before_all) const
{
    int64_t offset = before_all;
    for (const auto &c : changes_) {
        if (c.at > instant)
            break;
        offset = c.type.offset;
    }
    return offset;
}

int64_t OrcZone::java_offset(int64_t instant) const
{
    return instant < year_1900 ? today_ : offset_after(instant, first_.offset);
}

arrow::Result<int64_t> OrcZone::wall_as_java(int64_t wall) const
{
    int64_t offset = ancient_;
    for (int tries = 0; tries < 3; tries++) {
        int64_t found = offset_after(wall - offset, ancient_);
        if (found == offset)
            return wall - offset + java_offset(wall - offset);
        offset = found;
    }
    return arrow::Status::NotImplemented("a timestamp lies where its writer's clock was changed, and cannot be told");
}

} // namespace pml_bridge_ns
