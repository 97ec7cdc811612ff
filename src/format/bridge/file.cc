/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/buffer.h>

#include <cstring>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

Input::Input(const pml_bridge_input *input, std::shared_ptr<Pool> pool)
    : input_(*input), pool_(std::move(pool)), name_(input->name == nullptr ? "" : input->name)
{
    set_mode(arrow::io::FileMode::READ);
}

Input::~Input()
{
    if (input_.close != nullptr)
        input_.close(input_.ctx);
}

std::shared_ptr<Input> Input::make(const pml_bridge_input *input, std::shared_ptr<Pool> pool)
{
    Input *made = nullptr;
    try {
        made = new Input(input, std::move(pool));
    } catch (...) {
        if (input->close != nullptr)
            input->close(input->ctx);
        throw;
    }
    return std::shared_ptr<Input>(made);
}

arrow::Status Input::Seek(int64_t position)
{
    if (position < 0)
        return arrow::Status::Invalid("negative position");
    position_ = position;
    return arrow::Status::OK();
}

arrow::Result<int64_t> Input::ReadAt(int64_t position, int64_t n, void *out)
{
    if (position < 0 || n < 0)
        return arrow::Status::Invalid("negative position or length");
    if (position >= input_.size_bytes)
        return 0;
    n = std::min(n, input_.size_bytes - position);
    if (n == 0)
        return 0;
    pml_error err = PML_ERROR_INIT;
    int rc = input_.read_at(input_.ctx, position, out, n, &err);
    if (rc == PML_OK)
        return n;
    if (error_.code == PML_OK) {
        if (err.code == PML_OK)
            (void)error_set(&err, rc, name_, "reading %.300s failed", name_.c_str());
        error_ = err;
    }
    return arrow::Status::IOError("the read callback failed");
}

arrow::Result<int64_t> Input::ReadAt(int64_t position, int64_t n, bool allow_short_read, void *out)
{
    ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position, n, out));
    if (got != n && !allow_short_read)
        return arrow::Status::Invalid("the file ends within a range of ", n, " bytes at ", position);
    return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> Input::ReadAt(int64_t position, int64_t n)
{
    if (position < 0 || n < 0)
        return arrow::Status::Invalid("negative position or length");
    /* Clamped before the allocation: n may come from a damaged footer. */
    n = position >= input_.size_bytes ? 0 : std::min(n, input_.size_bytes - position);
    try { /* some callers cannot stand exceptions: the futures of the CSV reader */
        ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(n, pool_.get()));
        ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position, n, buffer->mutable_data()));
        if (got != n)
            return arrow::Status::Invalid("short read");
        return std::shared_ptr<arrow::Buffer>(std::move(buffer));
    } catch (const std::bad_alloc &) {
        return arrow::Status::OutOfMemory("a buffer of ", n, " bytes");
    }
}

arrow::Result<std::shared_ptr<arrow::Buffer>> Input::ReadAt(int64_t position, int64_t n, bool allow_short_read)
{
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position, n));
    if (buffer->size() != n && !allow_short_read)
        return arrow::Status::Invalid("the file ends within a range of ", n, " bytes at ", position);
    return buffer;
}

arrow::Result<int64_t> Input::Read(int64_t n, void *out)
{
    ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position_, n, out));
    position_ += got;
    return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> Input::Read(int64_t n)
{
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, n));
    position_ += buffer->size();
    return buffer;
}

int Input::fail(pml_error *err, const arrow::Status &status) const
{
    if (error_.code == PML_OK)
        return error_from_status(err, status, Doing::Read, name_);
    if (err != nullptr)
        *err = error_;
    return error_.code;
}

int Input::fail_exception(pml_error *err) const noexcept
{
    if (error_.code == PML_OK)
        return error_from_exception(err, Doing::Read, name_);
    if (err != nullptr)
        *err = error_;
    return error_.code;
}

Output::Output(const pml_bridge_output *output) : output_(*output), name_(output->name == nullptr ? "" : output->name)
{
    set_mode(arrow::io::FileMode::WRITE);
}

arrow::Status Output::Write(const void *data, int64_t n)
{
    if (discard_)
        return arrow::Status::OK();
    /* After a failed write the file is abandoned: no later byte may follow a hole. */
    if (error_.code != PML_OK)
        return arrow::Status::IOError("an earlier write failed");
    if (n == 0)
        return arrow::Status::OK();
    pml_error err = PML_ERROR_INIT;
    int rc = output_.write(output_.ctx, data, n, &err);
    if (rc == PML_OK) {
        position_ += n;
        return arrow::Status::OK();
    }
    if (err.code == PML_OK)
        (void)error_set(&err, rc, name_, "writing %.300s failed", name_.c_str());
    error_ = err;
    return arrow::Status::IOError("the write callback failed");
}

} // namespace pml_bridge_ns
