/* SPDX-License-Identifier: Apache-2.0 */
#include <parquet/exception.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

int error_set(pml_error *err, int code, const std::string &file, const char *format, ...)
{
    if (err == nullptr)
        return code;
    std::memset(err, 0, sizeof *err);
    err->struct_size = sizeof *err;
    err->code = code;
    err->place = file.empty() ? PML_PLACE_NONE : PML_PLACE_DATA_FILE;
    /* Of a long path the tail says more than the head. */
    size_t skip = file.size() < sizeof err->file ? 0 : file.size() - (sizeof err->file - 1);
    std::memcpy(err->file, file.data() + skip, file.size() - skip);
    va_list args;
    va_start(args, format);
    (void)std::vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    for (char *p = err->message; *p != '\0'; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return code;
}

static int code_of(arrow::StatusCode code, Doing doing)
{
    switch (code) {
    case arrow::StatusCode::OutOfMemory: return PML_E_NOMEM;
    case arrow::StatusCode::NotImplemented: return PML_E_UNSUPPORTED;
    case arrow::StatusCode::CapacityError: return PML_E_LIMIT;
    case arrow::StatusCode::Cancelled: return PML_E_CANCELLED;
    case arrow::StatusCode::Invalid:
    case arrow::StatusCode::TypeError:
    case arrow::StatusCode::KeyError:
    case arrow::StatusCode::IndexError:
    case arrow::StatusCode::SerializationError:
    case arrow::StatusCode::IOError: return doing == Doing::Read ? PML_E_CORRUPT : PML_E_INVAL;
    default: return doing == Doing::Read ? PML_E_CORRUPT : PML_E_INTERNAL;
    }
}

static int error_text(pml_error *err, int code, Doing doing, const std::string &file, const char *text)
{
    if (code == PML_E_NOMEM)
        return error_set(err, code, file, "out of memory: %.400s", text);
    if (file.empty())
        return error_set(err, code, file, "cannot convert the batch: %.400s", text);
    return error_set(err, code, file, "cannot %s %.160s: %.320s", doing == Doing::Write ? "write" : "read", file.c_str(), text);
}

int error_from_status(pml_error *err, const arrow::Status &status, Doing doing, const std::string &file)
{
    if (status.ok())
        return PML_OK;
    return error_text(err, code_of(status.code(), doing), doing, file, status.message().c_str());
}

int error_from_exception(pml_error *err, Doing doing, const std::string &file) noexcept
{
    int other = doing == Doing::Read ? PML_E_CORRUPT : PML_E_INTERNAL;
    try {
        throw;
    } catch (const std::bad_alloc &) {
        return error_set(err, PML_E_NOMEM, file, "out of memory");
    } catch (const parquet::ParquetStatusException &e) {
        return error_text(err, code_of(e.status().code(), doing), doing, file, e.status().message().c_str());
    } catch (const parquet::ParquetException &e) {
        return error_text(err, doing == Doing::Read ? PML_E_CORRUPT : PML_E_INVAL, doing, file, e.what());
    } catch (const std::exception &e) {
        return error_text(err, other, doing, file, e.what());
    } catch (...) {
        return error_text(err, other, doing, file, "unknown exception");
    }
}

} // namespace pml_bridge_ns
