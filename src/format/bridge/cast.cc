/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/c/bridge.h>

#include <cstring>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

static arrow::Result<std::shared_ptr<arrow::Array>> column_cast(const arrow::RecordBatch &batch, const arrow::Field &to,
                                                                arrow::MemoryPool *pool)
{
    int found = batch.schema()->GetFieldIndex(to.name());
    if (found < 0) {
        if (batch.schema()->GetAllFieldIndices(to.name()).size() > 1)
            return arrow::Status::Invalid("two columns are called ", to.name());
        return arrow::MakeArrayOfNull(to.type(), batch.num_rows(), pool);
    }
    auto cast = array_cast(batch.column(found), to.type(), pool);
    if (!cast.ok())
        return cast.status().WithMessage("column ", to.name(), ": ", cast.status().message());
    return cast;
}

static arrow::Status batch_cast(struct ArrowArray *out, struct ArrowArray *array, const struct ArrowSchema *from,
                                const struct ArrowSchema *to, arrow::MemoryPool *pool)
{
    ARROW_ASSIGN_OR_RAISE(auto source, schema_borrow(from));
    ARROW_ASSIGN_OR_RAISE(auto target, schema_borrow(to));
    ARROW_ASSIGN_OR_RAISE(auto batch, batch_take(array, source, pool));
    arrow::ArrayVector columns;
    for (const auto &field : target->fields()) {
        ARROW_ASSIGN_OR_RAISE(auto column, column_cast(*batch, *field, pool));
        columns.push_back(std::move(column));
    }
    return arrow::ExportRecordBatch(*arrow::RecordBatch::Make(target, batch->num_rows(), std::move(columns)), out);
}

int cast(struct ArrowArray *out, struct ArrowArray *array, const struct ArrowSchema *from, const struct ArrowSchema *to,
         const pml_bridge_memory *memory, pml_error *err)
{
    int rc;
    std::memset(out, 0, sizeof *out);
    try {
        auto pool = Pool::make(memory);
        rc = error_from_status(err, batch_cast(out, array, from, to, pool.get()), Doing::Cast, "");
    } catch (...) {
        rc = error_from_exception(err, Doing::Cast, "");
    }
    if (array->release != nullptr)
        array->release(array);
    return rc;
}

} // namespace pml_bridge_ns
