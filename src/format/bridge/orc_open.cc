/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/util/key_value_metadata.h>

#include "format/bridge/orc.h"

namespace pml_bridge_ns {

/* The numbers that callers plan with must at least agree with each other and with the file. */
static arrow::Status stripes_check(OrcReader *r)
{
    int64_t n = r->file->NumberOfStripes(), sum = 0, end = 0;
    ARROW_ASSIGN_OR_RAISE(int64_t size, r->input->GetSize());
    if (n < 0 || n > INT32_MAX)
        return arrow::Status::Invalid("it says that it has ", n, " stripes");
    r->rows = r->file->NumberOfRows();
    for (int64_t i = 0; i < n; i++) {
        const auto stripe = r->file->GetStripeInformation(i);
        if (stripe.offset < 0 || stripe.length < 0 || __builtin_add_overflow(stripe.offset, stripe.length, &end) || end > size)
            return arrow::Status::Invalid("stripe ", i, " lies outside of the file");
        if (stripe.num_rows < 0 || stripe.first_row_id != sum || __builtin_add_overflow(sum, stripe.num_rows, &sum))
            return arrow::Status::Invalid("stripe ", i, " has an impossible number of rows: ", stripe.num_rows);
        r->stripes.push_back(stripe);
    }
    if (sum != r->rows)
        return arrow::Status::Invalid("the stripes have ", sum, " rows, the footer says ", r->rows);
    return arrow::Status::OK();
}

static arrow::Status reader_open(OrcReader *r)
{
    r->pool->begin_call();
    ARROW_ASSIGN_OR_RAISE(r->file, arrow::adapters::orc::ORCFileReader::Open(r->input, r->pool.get()));
    ARROW_RETURN_NOT_OK(stripes_check(r));
    ARROW_ASSIGN_OR_RAISE(auto schema, r->file->ReadSchema());
    arrow::FieldVector fields;
    for (const auto &field : schema->fields()) {
        fields.push_back(field_canonical(field));
        r->has_ids = r->has_ids || (field->HasMetadata() && field->metadata()->Contains("paimon.id"));
    }
    r->native = arrow::schema(std::move(fields));
    return arrow::Status::OK();
}

static int reader_make(pml_bridge_orc **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                       const pml_bridge_read_options *options, pml_error *err)
{
    std::shared_ptr<Pool> pool;
    try {
        pool = Pool::make(memory);
    } catch (...) {
        if (input->close != nullptr)
            input->close(input->ctx);
        throw;
    }
    std::shared_ptr<Input> file = Input::make(input, pool);
    try {
        auto shared = std::make_shared<OrcReader>();
        shared->pool = pool;
        shared->input = file;
        shared->options = *options;
        arrow::Status status = orc_explained(reader_open(shared.get()));
        if (!status.ok())
            return file->fail(err, status);
        *out = new pml_bridge_orc{std::move(shared)};
        return PML_OK;
    } catch (...) {
        return file->fail_exception(err);
    }
}

int orc_open(pml_bridge_orc **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
             const pml_bridge_read_options *options, pml_error *err)
{
    *out = nullptr;
    if (options == nullptr || options->batch_rows <= 0 || options->validate > PML_BRIDGE_VALIDATE_FULL) {
        if (input->close != nullptr)
            input->close(input->ctx);
        if (memory != nullptr && memory->drop != nullptr)
            memory->drop(memory->ctx);
        return error_set(err, PML_E_INVAL, "", "batch_rows must be positive and validate one of PML_BRIDGE_VALIDATE_*");
    }
    try {
        return reader_make(out, input, memory, options, err);
    } catch (...) {
        return error_from_exception(err, Doing::Read, "");
    }
}

void orc_close(pml_bridge_orc *reader)
{
    delete reader;
}

int64_t orc_rows(const pml_bridge_orc *reader)
{
    return reader->shared->rows;
}

int32_t orc_stripes(const pml_bridge_orc *reader)
{
    return static_cast<int32_t>(reader->shared->stripes.size());
}

} // namespace pml_bridge_ns
