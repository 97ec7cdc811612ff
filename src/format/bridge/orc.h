/* SPDX-License-Identifier: Apache-2.0 */
/* An open ORC file, shared by its handle and its streams. */
#ifndef PML_FORMAT_BRIDGE_ORC_H
#define PML_FORMAT_BRIDGE_ORC_H

#include <arrow/adapters/orc/adapter.h>

#include <string>
#include <vector>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

/* What the file says of its stripes (orc_stats.cc). */
struct OrcStatistics;
struct OrcStatisticsDrop {
    void operator()(OrcStatistics *statistics) const;
};

struct OrcReader {
    /* Order matters: what is declared first goes last. */
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Input> input;
    std::unique_ptr<arrow::adapters::orc::ORCFileReader> file;
    std::shared_ptr<arrow::Schema> native; /* what Arrow hands out, as type_canonical has it */
    bool has_ids = false;                  /* columns carry paimon.id: a writer of tables made the file */
    std::vector<arrow::adapters::orc::StripeInformation> stripes;
    int64_t rows = 0;
    std::unique_ptr<OrcStatistics, OrcStatisticsDrop> statistics; /* NULL: nobody has asked yet */
    pml_bridge_read_options options;
};

/* Words of Arrow and ORC that need other codes than Arrow gives them (orc_read.cc). */
arrow::Status orc_explained(arrow::Status status);

/* ---- what ORC has instead of the project's types (orc_values.cc) ---- */
/* The form in which a column of this type lies in ORC files, as Arrow reads it: TIME is an int, timestamps count nanoseconds. */
std::shared_ptr<arrow::DataType> orc_stored_type(const std::shared_ptr<arrow::DataType> &type);
/* Whether a column read as `native` may be taken for `stored`: members by name, no cast. */
bool orc_type_is(const arrow::DataType &native, const arrow::DataType &stored);

/* ---- the clock of a writer (orc_clock.cc) ---- */
class OrcZone {
public:
    arrow::Status load(const std::string &zone);
    int64_t java_offset(int64_t instant) const; /* seconds that it is ahead of UTC */
    /* What Java reads where ORC's C++ code reads `wall`, seconds on this clock. */
    arrow::Result<int64_t> wall_as_java(int64_t wall) const;

private:
    struct Type {
        int64_t offset;
        bool is_dst;
    };
    struct Change {
        int64_t at;
        Type type;
    };
    static Type type_of(const uint8_t *p);
    void choose_standards();
    int64_t offset_after(int64_t instant, int64_t before_all) const;

    std::vector<Change> changes_;
    Type first_{0, false};
    int64_t ancient_ = 0, today_ = 0; /* ORC's before the first change; Java's before 1900 */
};

/* The place of values while they are converted. */
class OrcPlace {
public:
    virtual ~OrcPlace() = default;
    /* The clock of the stripe's writer, NULL: UTC. Asked for rarely: it costs I/O. */
    virtual arrow::Result<const OrcZone *> writer_zone() = 0;
};

struct OrcConversion {
    arrow::MemoryPool *pool;
    int64_t (*zone_offset)(int64_t utc_seconds); /* NULL: none */
    OrcPlace *place;
};

/* A column of orc_stored_type(wanted.type()) in the wanted type. The buffers of `data` must be nobody else's: they may be changed. */
arrow::Result<std::shared_ptr<arrow::ArrayData>> orc_convert(const arrow::ArrayData &data, const arrow::Field &wanted,
                                                             const OrcConversion &conversion);

/* ---- the time zone of a stripe (orc_zone.cc) ---- */
/* As Java names it; UTC when the stripe names none. */
arrow::Result<std::string> orc_stripe_zone(const OrcReader &reader, int32_t stripe);

} // namespace pml_bridge_ns

struct pml_bridge_orc {
    std::shared_ptr<pml_bridge_ns::OrcReader> shared;
};

#endif
