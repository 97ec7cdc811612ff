/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bridge/lowered.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/bitmap_ops.h>

namespace pml_bridge_ns {

using arrow::Type;
using ArrayPtr = std::shared_ptr<arrow::Array>;

static bool is_vector(const arrow::DataType &type)
{
    return type.id() == Type::FIXED_SIZE_LIST;
}

static std::shared_ptr<arrow::Field> field_lowered(const std::shared_ptr<arrow::Field> &field);

static std::shared_ptr<arrow::DataType> type_lowered(const std::shared_ptr<arrow::DataType> &type)
{
    if (!type_any(*type, is_vector))
        return type;
    if (type->id() == Type::FIXED_SIZE_LIST || type->id() == Type::LIST)
        return arrow::list(field_lowered(type->field(0)));
    if (type->id() == Type::MAP)
        return std::make_shared<arrow::MapType>(field_lowered(type->field(0)));
    arrow::FieldVector fields;
    for (const auto &field : type->fields())
        fields.push_back(field_lowered(field));
    return arrow::struct_(std::move(fields));
}

static std::shared_ptr<arrow::Field> field_lowered(const std::shared_ptr<arrow::Field> &field)
{
    return field->WithType(type_lowered(field->type()));
}

std::shared_ptr<arrow::Schema> schema_lowered(const std::shared_ptr<arrow::Schema> &schema)
{
    arrow::FieldVector fields;
    for (const auto &field : schema->fields())
        fields.push_back(field_lowered(field));
    return arrow::schema(std::move(fields));
}

static arrow::Result<ArrayPtr> array_lowered(const ArrayPtr &array, const std::shared_ptr<arrow::DataType> &to,
                                             arrow::MemoryPool *pool);

/* A null item keeps no elements: Arrow's writer refuses null lists that are not empty. */
static arrow::Result<ArrayPtr> vector_lowered(const arrow::FixedSizeListArray &array,
                                              const std::shared_ptr<arrow::DataType> &to, arrow::MemoryPool *pool)
{
    int32_t size = array.list_type()->list_size();
    ARROW_ASSIGN_OR_RAISE(auto flat, array.Flatten(pool));
    ARROW_ASSIGN_OR_RAISE(auto values, array_lowered(flat, to->field(0)->type(), pool));
    ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((array.length() + 1) * 4, pool));
    auto *offset = reinterpret_cast<int32_t *>(offsets->mutable_data());
    int64_t end = 0;
    for (int64_t i = 0; i < array.length(); i++) {
        offset[i] = static_cast<int32_t>(end);
        end += array.IsValid(i) ? size : 0;
        if (end > INT32_MAX)
            return arrow::Status::CapacityError("a VECTOR column has more than 2^31-1 elements in one batch");
    }
    offset[array.length()] = static_cast<int32_t>(end);
    std::shared_ptr<arrow::Buffer> valid;
    if (array.null_count() > 0) {
        ARROW_ASSIGN_OR_RAISE(
            valid, arrow::internal::CopyBitmap(pool, array.null_bitmap_data(), array.offset(), array.length()));
    }
    auto data = arrow::ArrayData::Make(to, array.length(), {valid, std::move(offsets)}, {values->data()}, array.null_count());
    return arrow::MakeArray(data);
}

static arrow::Result<ArrayPtr> array_lowered(const ArrayPtr &array, const std::shared_ptr<arrow::DataType> &to,
                                             arrow::MemoryPool *pool)
{
    if (!type_any(*array->type(), is_vector))
        return array;
    if (is_vector(*array->type()))
        return vector_lowered(static_cast<const arrow::FixedSizeListArray &>(*array), to, pool);
    /* Other containers keep their buffers; only what is below changes. */
    const arrow::ArrayData &data = *array->data();
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    for (size_t i = 0; i < data.child_data.size(); i++) {
        ARROW_ASSIGN_OR_RAISE(auto child, array_lowered(arrow::MakeArray(data.child_data[i]),
                                                        to->field(static_cast<int>(i))->type(), pool));
        children.push_back(child->data());
    }
    /* Not a copy that is changed: Arrow's copy constructor must not throw, and ends the process without memory. */
    return arrow::MakeArray(
        arrow::ArrayData::Make(to, data.length, data.buffers, std::move(children), data.null_count.load(), data.offset));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_lowered(const std::shared_ptr<arrow::RecordBatch> &batch,
                                                                 const std::shared_ptr<arrow::Schema> &lowered,
                                                                 arrow::MemoryPool *pool)
{
    arrow::ArrayVector columns = batch->columns();
    for (size_t i = 0; i < columns.size(); i++) {
        ARROW_ASSIGN_OR_RAISE(columns[i], array_lowered(columns[i], lowered->field(static_cast<int>(i))->type(), pool));
    }
    return arrow::RecordBatch::Make(lowered, batch->num_rows(), std::move(columns));
}

} // namespace pml_bridge_ns
