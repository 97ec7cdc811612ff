/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/extension_type.h>
#include <arrow/util/key_value_metadata.h>

#include <mutex>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

using arrow::Type;

static const char *const field_id_key = "PARQUET:field_id";

static std::shared_ptr<arrow::Field> field_renamed(const std::shared_ptr<arrow::Field> &field, const std::string &name)
{
    std::shared_ptr<const arrow::KeyValueMetadata> metadata;
    if (field->HasMetadata()) {
        auto id = field->metadata()->Get(field_id_key);
        if (id.ok())
            metadata = arrow::key_value_metadata({field_id_key}, {*id});
    }
    return arrow::field(name, type_canonical(field->type()), field->nullable(), metadata);
}

std::shared_ptr<arrow::Field> field_canonical(const std::shared_ptr<arrow::Field> &field)
{
    return field_renamed(field, field->name());
}

static std::shared_ptr<arrow::DataType> map_canonical(const arrow::MapType &type)
{
    auto entries = arrow::struct_({field_renamed(type.key_field(), "key")->WithNullable(false),
                                   field_renamed(type.item_field(), "value")});
    return std::make_shared<arrow::MapType>(arrow::field("key_value", entries, false));
}

std::shared_ptr<arrow::DataType> type_canonical(const std::shared_ptr<arrow::DataType> &type)
{
    switch (type->id()) {
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return arrow::utf8();
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW: return arrow::binary();
    case Type::DICTIONARY: return type_canonical(static_cast<const arrow::DictionaryType &>(*type).value_type());
    case Type::EXTENSION: return type_canonical(static_cast<const arrow::ExtensionType &>(*type).storage_type());
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW: return arrow::list(field_renamed(type->field(0), "element"));
    case Type::FIXED_SIZE_LIST:
        return arrow::fixed_size_list(field_renamed(type->field(0), "element"),
                                      static_cast<const arrow::FixedSizeListType &>(*type).list_size());
    case Type::MAP: return map_canonical(static_cast<const arrow::MapType &>(*type));
    case Type::STRUCT: {
        arrow::FieldVector fields;
        for (const auto &field : type->fields())
            fields.push_back(field_canonical(field));
        return arrow::struct_(std::move(fields));
    }
    case Type::TIMESTAMP: {
        const auto &t = static_cast<const arrow::TimestampType &>(*type);
        return t.timezone().empty() ? type : arrow::timestamp(t.unit(), "UTC");
    }
    default: return type;
    }
}

bool type_same_layout(const arrow::DataType &a, const arrow::DataType &b)
{
    if (a.id() != b.id() || a.num_fields() != b.num_fields())
        return false;
    if (a.id() == Type::TIMESTAMP)
        return static_cast<const arrow::TimestampType &>(a).unit() == static_cast<const arrow::TimestampType &>(b).unit();
    if (a.id() == Type::FIXED_SIZE_LIST && static_cast<const arrow::FixedSizeListType &>(a).list_size() !=
                                               static_cast<const arrow::FixedSizeListType &>(b).list_size())
        return false;
    if (a.num_fields() == 0)
        return a.id() == Type::STRUCT || a.Equals(b);
    for (int i = 0; i < a.num_fields(); i++)
        if (!type_same_layout(*a.field(i)->type(), *b.field(i)->type()))
            return false;
    return true;
}

bool type_any(const arrow::DataType &type, bool (*want)(const arrow::DataType &))
{
    if (want(type))
        return true;
    for (const auto &field : type.fields())
        if (type_any(*field->type(), want))
            return true;
    return false;
}

arrow::Result<std::shared_ptr<arrow::Schema>> schema_borrow(const struct ArrowSchema *schema)
{
    struct ArrowSchema shallow = *schema;
    shallow.release = [](struct ArrowSchema *s) { s->release = nullptr; };
    return arrow::ImportSchema(&shallow);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_take(struct ArrowArray *array,
                                                              const std::shared_ptr<arrow::Schema> &schema,
                                                              arrow::MemoryPool *pool)
{
    auto imported = arrow::ImportArray(array, arrow::struct_(schema->fields()));
    if (array->release != nullptr)
        array->release(array);
    ARROW_RETURN_NOT_OK(imported.status());
    if ((*imported)->null_count() != 0)
        return arrow::Status::Invalid("the batch itself has null rows");
    ARROW_ASSIGN_OR_RAISE(auto batch, arrow::RecordBatch::FromStructArray(*imported, pool));
    return arrow::RecordBatch::Make(schema, batch->num_rows(), batch->columns());
}

static bool is_timestamp(const arrow::DataType &type)
{
    return type.id() == Type::TIMESTAMP;
}

static std::shared_ptr<arrow::DataType> type_rezoned(const std::shared_ptr<arrow::DataType> &from, const arrow::DataType &to);

/* Members of structs correspond by name, children of lists and maps by place. */
static std::shared_ptr<arrow::Field> field_rezoned(const arrow::DataType &from, int i, const arrow::DataType &to)
{
    const auto &field = from.field(i);
    int j = to.id() == Type::STRUCT ? static_cast<const arrow::StructType &>(to).GetFieldIndex(field->name()) : i;
    return j < 0 || j >= to.num_fields() ? field : field->WithType(type_rezoned(field->type(), *to.field(j)->type()));
}

static std::shared_ptr<arrow::DataType> type_rezoned(const std::shared_ptr<arrow::DataType> &from, const arrow::DataType &to)
{
    if (is_timestamp(*from) && is_timestamp(to))
        return arrow::timestamp(static_cast<const arrow::TimestampType &>(*from).unit(),
                                static_cast<const arrow::TimestampType &>(to).timezone());
    if (from->id() == Type::STRUCT && to.id() == Type::STRUCT) {
        arrow::FieldVector fields;
        for (int i = 0; i < from->num_fields(); i++)
            fields.push_back(field_rezoned(*from, i, to));
        return arrow::struct_(std::move(fields));
    }
    if (from->id() == Type::LIST && to.num_fields() == 1)
        return arrow::list(field_rezoned(*from, 0, to));
    if (from->id() == Type::FIXED_SIZE_LIST && to.num_fields() == 1)
        return arrow::fixed_size_list(field_rezoned(*from, 0, to),
                                      static_cast<const arrow::FixedSizeListType &>(*from).list_size());
    if (from->id() == Type::MAP && to.id() == Type::MAP)
        return std::make_shared<arrow::MapType>(field_rezoned(*from, 0, to));
    return from;
}

static std::shared_ptr<arrow::ArrayData> data_retyped(const arrow::ArrayData &data, const std::shared_ptr<arrow::DataType> &type)
{
    auto children = data.child_data;
    for (size_t i = 0; i < children.size() && static_cast<int>(i) < type->num_fields(); i++)
        children[i] = data_retyped(*children[i], type->field(static_cast<int>(i))->type());
    /* Not a copy that is changed: Arrow's copy constructor must not throw, and ends the process without memory. */
    return arrow::ArrayData::Make(type, data.length, data.buffers, std::move(children), data.dictionary, data.null_count.load(),
                                  data.offset);
}

/* A zone is a label only: instants do not change with it, but Arrow's casts between naive and zoned think otherwise. */
static std::shared_ptr<arrow::Array> array_rezoned(const std::shared_ptr<arrow::Array> &array, const arrow::DataType &to)
{
    if (!type_any(*array->type(), is_timestamp))
        return array;
    return arrow::MakeArray(data_retyped(*array->data(), type_rezoned(array->type(), to)));
}

arrow::Status compute_initialize()
{
    static std::once_flag once;
    static arrow::Status initialized;
    std::call_once(once, [] { initialized = arrow::compute::Initialize(); });
    return initialized;
}

arrow::Result<std::shared_ptr<arrow::Array>> array_cast(const std::shared_ptr<arrow::Array> &array,
                                                        const std::shared_ptr<arrow::DataType> &to, arrow::MemoryPool *pool)
{
    std::shared_ptr<arrow::Array> from = array_rezoned(array, *to);
    if (from->type()->Equals(*to, true))
        return from;
    ARROW_RETURN_NOT_OK(compute_initialize());
    arrow::compute::ExecContext context(pool);
    context.set_use_threads(false);
    auto options = arrow::compute::CastOptions::Safe();
    ARROW_ASSIGN_OR_RAISE(auto cast, arrow::compute::Cast(arrow::Datum(from), to, options, &context));
    if (cast.is_array())
        return cast.make_array();
    if (cast.is_chunked_array() && cast.chunked_array()->num_chunks() == 1)
        return cast.chunked_array()->chunk(0);
    return arrow::Status::CapacityError("a column of one batch does not fit into one array");
}

} // namespace pml_bridge_ns
