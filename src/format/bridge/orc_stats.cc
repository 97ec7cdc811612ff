/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of stripes, which Arrow's adapter does not show. They only save work, so what cannot be read of them is unknown, and of
 * the rest only what means the same in every writer is used: whole numbers, dates and texts.
 *
 *   file tail      1 postscript, 2 footer, 4 length of the postscript
 *   postscript     1 footer length, 2 compression, 3 compression block size, 5 metadata length, 6 writer version (0: texts may be wrong)
 *   footer         4 types, repeated, the first the row: 1 kind, 2 numbers of its children, 3 their names
 *   metadata       before the footer, packed; 1 for each stripe: 1 for each type: 1 values that are not null, 2 whole numbers,
 *                  4 texts, 7 dates; of each 1 least, 2 greatest. A text longer than Java keeps has neither.
 */
#include <arrow/buffer.h>

#include <cstring>

#include "format/bridge/orc.h"
#include "format/bridge/orc_message.h"

namespace pml_bridge_ns {

struct OrcStatistics {
    struct Column {
        std::string name;
        uint64_t type = 0; /* its number */
        uint64_t kind = 0;
    };
    std::vector<Column> columns;
    std::string text;              /* the metadata */
    std::vector<OrcBytes> stripes; /* in it */
};

void OrcStatisticsDrop::operator()(OrcStatistics *statistics) const
{
    delete statistics;
}

namespace {

enum : uint64_t { kind_byte = 1, kind_long = 4, kind_string = 7, kind_struct = 12, kind_date = 15, kind_varchar = 16 };

struct Type {
    uint64_t kind = 0;
    std::vector<uint64_t> children;
    std::vector<std::string> names;
};

arrow::Result<Type> type_parse(OrcBytes in)
{
    Type type;
    ARROW_RETURN_NOT_OK(orc_each(in, [&](OrcField f) -> arrow::Status {
        if (f.id == 1)
            type.kind = f.number;
        if (f.id == 2 && f.bytes.at == nullptr)
            type.children.push_back(f.number);
        while (f.id == 2 && f.bytes.at != f.bytes.end) { /* or all in one */
            ARROW_ASSIGN_OR_RAISE(uint64_t child, orc_varint(&f.bytes));
            type.children.push_back(child);
        }
        if (f.id == 3)
            type.names.emplace_back(reinterpret_cast<const char *>(f.bytes.at), f.bytes.size());
        return arrow::Status::OK();
    }));
    return type;
}

arrow::Status columns_parse(OrcStatistics *out, OrcBytes footer)
{
    std::vector<uint64_t> kinds;
    Type row;
    ARROW_RETURN_NOT_OK(orc_each(footer, 4, [&](const OrcField &f) -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(Type type, type_parse(f.bytes));
        kinds.push_back(type.kind);
        if (kinds.size() == 1)
            row = std::move(type);
        return arrow::Status::OK();
    }));
    if (row.kind != kind_struct || row.children.size() != row.names.size())
        return orc_meta_damaged();
    for (size_t i = 0; i < row.children.size(); i++) {
        if (row.children[i] >= kinds.size())
            return orc_meta_damaged();
        out->columns.push_back({row.names[i], row.children[i], kinds[static_cast<size_t>(row.children[i])]});
    }
    return arrow::Status::OK();
}

arrow::Status stripes_parse(OrcStatistics *out, const OrcReader &reader, OrcBytes postscript, uint64_t postscript_bytes)
{
    ARROW_ASSIGN_OR_RAISE(OrcPacking packing, orc_packing(postscript));
    ARROW_ASSIGN_OR_RAISE(int64_t file, reader.input->GetSize());
    ARROW_ASSIGN_OR_RAISE(uint64_t footer_bytes, orc_number(postscript, 1, 0));
    ARROW_ASSIGN_OR_RAISE(uint64_t bytes, orc_number(postscript, 5, 0));
    ARROW_ASSIGN_OR_RAISE(uint64_t version, orc_number(postscript, 6, 0));
    uint64_t behind = 1, size = static_cast<uint64_t>(file); /* one byte says how long the postscript is */
    if (version == 0 || bytes == 0 || bytes > static_cast<uint64_t>(orc_message_bytes_max))
        return arrow::Status::OK();
    if (__builtin_add_overflow(behind, postscript_bytes, &behind) || __builtin_add_overflow(behind, footer_bytes, &behind) ||
        __builtin_add_overflow(behind, bytes, &behind) || behind > size)
        return orc_meta_damaged();
    ARROW_ASSIGN_OR_RAISE(auto packed, reader.input->ReadAt(static_cast<int64_t>(size - behind), static_cast<int64_t>(bytes)));
    auto text = orc_unpack({packed->data(), packed->data() + packed->size()}, packing);
    if (!text.ok())
        return text.status().IsOutOfMemory() ? text.status() : orc_meta_damaged(); /* not IOError, which codecs say of damage */
    out->text = std::move(*text);
    return orc_each(orc_bytes(out->text), 1, [&](const OrcField &f) {
        if (out->stripes.size() == reader.stripes.size()) /* two bytes can say that there is one more */
            return orc_meta_damaged();
        out->stripes.push_back(f.bytes);
        return arrow::Status::OK();
    });
}

arrow::Status statistics_load(OrcStatistics *out, const OrcReader &reader)
{
    const std::string tail = reader.file->GetSerializedFileTail();
    ARROW_ASSIGN_OR_RAISE(OrcBytes postscript, orc_part(orc_bytes(tail), 1));
    ARROW_ASSIGN_OR_RAISE(OrcBytes footer, orc_part(orc_bytes(tail), 2));
    ARROW_ASSIGN_OR_RAISE(uint64_t postscript_bytes, orc_number(orc_bytes(tail), 4, 0));
    ARROW_RETURN_NOT_OK(columns_parse(out, footer));
    return stripes_parse(out, reader, postscript, postscript_bytes);
}

struct Bounds {
    bool has_least = false, has_most = false;
    OrcField least, most;
};

arrow::Result<Bounds> bounds_parse(OrcBytes in)
{
    Bounds b;
    ARROW_RETURN_NOT_OK(orc_each(in, [&](const OrcField &f) {
        if (f.id == 1) {
            b.least = f;
            b.has_least = true;
        } else if (f.id == 2) {
            b.most = f;
            b.has_most = true;
        }
        return arrow::Status::OK();
    }));
    return b;
}

int64_t signed_of(uint64_t zigzag)
{
    return static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
}

void stat_numbers(pml_bridge_stat *out, const Bounds &b)
{
    out->kind = PML_BRIDGE_STAT_INT;
    out->min_i = signed_of(b.least.number);
    out->max_i = signed_of(b.most.number);
}

void stat_texts(pml_bridge_stat *out, const Bounds &b)
{
    out->kind = PML_BRIDGE_STAT_BYTES;
    out->min_ptr = b.least.bytes.at;
    out->min_len = b.least.bytes.size();
    out->max_ptr = b.most.bytes.at;
    out->max_len = b.most.bytes.size();
}

arrow::Status stat_parse(pml_bridge_stat *out, OrcBytes in, uint64_t kind, int64_t rows)
{
    const uint32_t id = kind >= kind_byte && kind <= kind_long            ? 2
                        : kind == kind_string || kind == kind_varchar     ? 4
                        : kind == kind_date                               ? 7
                                                                          : 0;
    return orc_each(in, [&](const OrcField &f) -> arrow::Status {
        if (f.id == 1 && f.number <= static_cast<uint64_t>(rows))
            out->null_count = rows - static_cast<int64_t>(f.number);
        if (id == 0 || f.id != id)
            return arrow::Status::OK();
        ARROW_ASSIGN_OR_RAISE(Bounds b, bounds_parse(f.bytes));
        if (b.has_least && b.has_most)
            id == 4 ? stat_texts(out, b) : stat_numbers(out, b);
        return arrow::Status::OK();
    });
}

arrow::Status stat_find(pml_bridge_stat *out, const OrcReader &reader, int32_t stripe, const char *name)
{
    const OrcStatistics::Column *column = nullptr;
    const OrcStatistics &s = *reader.statistics;
    uint64_t at = 0;
    for (const auto &c : s.columns) {
        if (c.name != name)
            continue;
        if (column != nullptr)
            return arrow::Status::OK(); /* two of a name: reading says so */
        column = &c;
    }
    if (column == nullptr || s.stripes.size() != reader.stripes.size())
        return arrow::Status::OK();
    const auto i = static_cast<size_t>(stripe);
    return orc_each(s.stripes[i], 1, [&](const OrcField &f) {
        return at++ == column->type ? stat_parse(out, f.bytes, column->kind, reader.stripes[i].num_rows) : arrow::Status::OK();
    });
}

/* Only what the file system or memory denies is an error. */
arrow::Status or_unknown(const arrow::Status &status)
{
    return status.IsIOError() || status.IsOutOfMemory() ? status : arrow::Status::OK();
}

} // namespace

int64_t orc_stripe_rows(const pml_bridge_orc *reader, int32_t stripe)
{
    return reader->shared->stripes[static_cast<size_t>(stripe)].num_rows;
}

int orc_stripe_stat(pml_bridge_stat *out, pml_bridge_orc *reader, int32_t stripe, const char *column, pml_error *err)
{
    OrcReader *r = reader->shared.get();
    std::memset(out, 0, sizeof *out);
    out->null_count = -1;
    try {
        r->input->forget_error();
        r->pool->begin_call();
        if (r->statistics == nullptr) {
            std::unique_ptr<OrcStatistics, OrcStatisticsDrop> made(new OrcStatistics);
            arrow::Status status = statistics_load(made.get(), *r);
            if (!status.ok())
                *made = OrcStatistics();
            if (!or_unknown(status).ok())
                return r->input->fail(err, status);
            r->statistics = std::move(made);
        }
        pml_bridge_stat found = *out;
        if (stat_find(&found, *r, stripe, column).ok())
            *out = found;
        return PML_OK;
    } catch (...) {
        return r->input->fail_exception(err);
    }
}

} // namespace pml_bridge_ns
