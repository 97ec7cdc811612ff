/* SPDX-License-Identifier: Apache-2.0 */
#include <arrow/c/bridge.h>

#include <cerrno>
#include <cstring>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

namespace {

struct StreamState {
    std::unique_ptr<Source> source;
    pml_error error = PML_ERROR_INIT;
    bool done = false;
};

StreamState *state_of(struct ArrowArrayStream *stream)
{
    return static_cast<StreamState *>(stream->private_data);
}

int errno_of(int code)
{
    switch (code) {
    case PML_OK: return 0;
    case PML_E_NOMEM: return ENOMEM;
    case PML_E_UNSUPPORTED: return ENOSYS;
    case PML_E_INVAL:
    case PML_E_CORRUPT: return EINVAL;
    case PML_E_CANCELLED: return ECANCELED;
    default: return EIO;
    }
}

int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    StreamState *s = state_of(stream);
    out->release = nullptr;
    try {
        arrow::Status status = arrow::ExportSchema(*s->source->schema(), out);
        return status.ok() ? 0 : errno_of(s->source->fail(&s->error, status));
    } catch (...) {
        return errno_of(s->source->fail_exception(&s->error));
    }
}

/* Batches without rows are left out: an empty array would look like news to nobody. */
arrow::Status stream_step(StreamState *s, struct ArrowArray *out)
{
    for (;;) {
        ARROW_ASSIGN_OR_RAISE(auto batch, s->source->next());
        if (batch == nullptr) {
            s->done = true;
            return arrow::Status::OK();
        }
        if (batch->num_rows() > 0)
            return arrow::ExportRecordBatch(*batch, out);
    }
}

int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    StreamState *s = state_of(stream);
    std::memset(out, 0, sizeof *out);
    /* After a failure Arrow's readers are in no defined state: the error stays. */
    if (s->error.code != PML_OK)
        return errno_of(s->error.code);
    if (s->done)
        return 0;
    try {
        arrow::Status status = stream_step(s, out);
        if (status.ok())
            return 0;
        (void)s->source->fail(&s->error, status);
    } catch (...) {
        (void)s->source->fail_exception(&s->error);
    }
    out->release = nullptr;
    return errno_of(s->error.code);
}

const char *stream_last_error(struct ArrowArrayStream *stream)
{
    StreamState *s = state_of(stream);
    return s->error.code == PML_OK ? nullptr : s->error.message;
}

void stream_release(struct ArrowArrayStream *stream)
{
    StreamState *s = state_of(stream);
    stream->release = nullptr;
    stream->private_data = nullptr;
    delete s;
}

} // namespace

void stream_make(struct ArrowArrayStream *out, std::unique_ptr<Source> source)
{
    auto *s = new StreamState;
    s->source = std::move(source);
    out->get_schema = stream_get_schema;
    out->get_next = stream_get_next;
    out->get_last_error = stream_last_error;
    out->release = stream_release;
    out->private_data = s;
}

int stream_error(struct ArrowArrayStream *stream, pml_error *err)
{
    if (stream->release != stream_release)
        return PML_OK;
    const StreamState *s = state_of(stream);
    if (s->error.code != PML_OK && err != nullptr)
        *err = s->error;
    return s->error.code;
}

} // namespace pml_bridge_ns
