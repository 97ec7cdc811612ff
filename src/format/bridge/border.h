/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the bridge: what every file here needs to keep Arrow's ways on this side of the border. Errors become pml_error,
 * exceptions stop here, memory is charged, files are the caller's callbacks.
 */
#ifndef PML_FORMAT_BRIDGE_BORDER_H
#define PML_FORMAT_BRIDGE_BORDER_H

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type.h>
#include <arrow/util/future.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "format/bridge/bridge.h"

namespace pml_bridge_ns {

/* ---- errors (error.cc) ---- */
int error_set(pml_error *err, int code, const std::string &file, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* What Arrow's IOError and Invalid mean depends on what we were doing: all real I/O goes through callbacks, so while reading
   they are damage and while writing or casting they are the caller's values. */
enum class Doing { Read, Write, Cast };
int error_from_status(pml_error *err, const arrow::Status &status, Doing doing, const std::string &file);
/* To be called inside of a catch block. */
int error_from_exception(pml_error *err, Doing doing, const std::string &file) noexcept;

/* ---- memory (memory.cc) ---- */
/*
 * Charges every change to the caller and lives as long as its last allocation: arrays that were exported hold buffers that
 * know only a raw pointer to their pool. Refuses single allocations that no honest file needs, and what is above the ceiling of
 * the call that runs.
 */
class Pool final : public arrow::MemoryPool {
public:
    /* Calls memory->drop itself when it throws. memory may be NULL. */
    static std::shared_ptr<Pool> make(const pml_bridge_memory *memory);
    static std::shared_ptr<Pool> make_for_writer(const pml_bridge_memory *memory); /* with blocks of its own (blocks.cc) */
    /* Before each call that reads: from here it may take bytes_max more. What the caller keeps of earlier batches is his. */
    void begin_call();
    arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t **out) override;
    arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **ptr) override;
    void Free(uint8_t *buffer, int64_t size, int64_t alignment) override;
    int64_t bytes_allocated() const override { return bytes_.load(); }
    int64_t total_bytes_allocated() const override { return total_.load(); }
    int64_t num_allocations() const override { return count_.load(); }
    int64_t max_memory() const override { return -1; }
    std::string backend_name() const override { return base_->backend_name(); }

private:
    Pool(const pml_bridge_memory *memory, std::unique_ptr<arrow::MemoryPool> own);
    static std::shared_ptr<Pool> make_over(const pml_bridge_memory *memory, bool blocks);
    ~Pool() override;
    void charge(int64_t delta);
    arrow::Status refused(int64_t size) const;
    void unhold();

    std::unique_ptr<arrow::MemoryPool> own_; /* NULL: base_ is Arrow's */
    arrow::MemoryPool *base_;
    pml_bridge_memory memory_;
    std::atomic<int64_t> holds_{1}; /* one for the shared_ptr, one for each allocation */
    std::atomic<int64_t> bytes_{0}, total_{0}, count_{0};
    std::atomic<int64_t> ceiling_; /* of bytes_ */
};

/* ---- files (file.cc) ---- */
/* The first error of a callback is kept: Arrow would hand back only its text. */
class Input final : public arrow::io::RandomAccessFile {
public:
    /* Calls input->close itself when it throws. */
    static std::shared_ptr<Input> make(const pml_bridge_input *input, std::shared_ptr<Pool> pool);
    ~Input() override;
    arrow::Status Close() override { return arrow::Status::OK(); } /* the callback is called by the destructor */
    bool closed() const override { return false; }
    arrow::Result<int64_t> Tell() const override { return position_; }
    arrow::Status Seek(int64_t position) override;
    arrow::Result<int64_t> GetSize() override { return input_.size_bytes; }
    arrow::Result<int64_t> Read(int64_t n, void *out) override;
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t n) override;
    arrow::Result<int64_t> ReadAt(int64_t position, int64_t n, void *out) override;
    arrow::Result<int64_t> ReadAt(int64_t position, int64_t n, bool allow_short_read, void *out) override;
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t n) override;
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t n, bool allow_short_read) override;

    const std::string &name() const { return name_; }
    void forget_error() { error_.code = PML_OK; }
    bool has_error() const { return error_.code != PML_OK; }
    /* Our own callback's error if there was one, else what Arrow says. */
    int fail(pml_error *err, const arrow::Status &status) const;
    int fail_exception(pml_error *err) const noexcept;

private:
    Input(const pml_bridge_input *input, std::shared_ptr<Pool> pool);
    pml_bridge_input input_;
    std::shared_ptr<Pool> pool_;
    std::string name_;
    int64_t position_ = 0;
    pml_error error_ = PML_ERROR_INIT;
};

class Output final : public arrow::io::OutputStream {
public:
    explicit Output(const pml_bridge_output *output);
    arrow::Status Close() override { return arrow::Status::OK(); }
    bool closed() const override { return false; }
    arrow::Result<int64_t> Tell() const override { return position_; }
    arrow::Status Write(const void *data, int64_t n) override;
    using arrow::io::OutputStream::Write;

    const std::string &name() const { return name_; }
    int64_t position() const { return position_; }
    /* Arrow's destructors write what was left undone; from now on that goes nowhere. */
    void discard() { discard_ = true; }
    const pml_error *error() const { return error_.code != PML_OK ? &error_ : nullptr; }

private:
    pml_bridge_output output_;
    std::string name_;
    int64_t position_ = 0;
    bool discard_ = false;
    pml_error error_ = PML_ERROR_INIT;
};

/* ---- streams (stream.cc) ---- */
class Source {
public:
    virtual ~Source() = default;
    virtual std::shared_ptr<arrow::Schema> schema() = 0;
    /* NULL at the end. */
    virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() = 0;
    virtual int fail(pml_error *err, const arrow::Status &status) = 0;
    virtual int fail_exception(pml_error *err) noexcept = 0;
};

void stream_make(struct ArrowArrayStream *out, std::unique_ptr<Source> source);
int stream_error(struct ArrowArrayStream *stream, pml_error *err);

/* ---- types (types.cc) ---- */
/* The project's Arrow form of a type: 32-bit offsets, no dictionaries, views or extensions, "element", "key_value". */
std::shared_ptr<arrow::DataType> type_canonical(const std::shared_ptr<arrow::DataType> &type);
std::shared_ptr<arrow::Field> field_canonical(const std::shared_ptr<arrow::Field> &field);
/* Whether arrays of one can leave as the other without a change of their buffers. */
bool type_same_layout(const arrow::DataType &a, const arrow::DataType &b);
/* Whether the tree has a type for which want is true. */
bool type_any(const arrow::DataType &type, bool (*want)(const arrow::DataType &));
/* ImportSchema takes its argument; this one borrows. */
arrow::Result<std::shared_ptr<arrow::Schema>> schema_borrow(const struct ArrowSchema *schema);
/* Moves array on any return. A struct array with nulls of its own is refused. */
arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_take(struct ArrowArray *array,
                                                              const std::shared_ptr<arrow::Schema> &schema,
                                                              arrow::MemoryPool *pool);
/* Arrow's compute functions are registered on first use. */
arrow::Status compute_initialize();
/* Safe cast of one column by them. */
arrow::Result<std::shared_ptr<arrow::Array>> array_cast(const std::shared_ptr<arrow::Array> &array,
                                                        const std::shared_ptr<arrow::DataType> &to, arrow::MemoryPool *pool);

/* ---- the calls of the table ---- */
int parquet_open(pml_bridge_reader **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
                 const pml_bridge_read_options *options, pml_error *err);
void parquet_close(pml_bridge_reader *reader);
int parquet_schema(struct ArrowSchema *out, pml_bridge_reader *reader, pml_error *err);
int64_t parquet_rows(const pml_bridge_reader *reader);
int32_t parquet_row_groups(const pml_bridge_reader *reader);
int64_t parquet_row_group_rows(const pml_bridge_reader *reader, int32_t group);
int parquet_stat(pml_bridge_stat *out, pml_bridge_reader *reader, int32_t group, int32_t column, pml_error *err);
int parquet_stream(struct ArrowArrayStream *out, pml_bridge_reader *reader, const int32_t *groups, size_t n_groups,
                   const int32_t *columns, size_t n_columns, pml_error *err);
int parquet_pages(const pml_bridge_page **out, size_t *n, pml_bridge_reader *reader, int32_t group, int32_t column,
                  int32_t with_statistics, pml_error *err);
int parquet_stream_rows(struct ArrowArrayStream *out, pml_bridge_reader *reader, const pml_bridge_rows *ranges, size_t n_ranges,
                        const int32_t *columns, size_t n_columns, pml_error *err);
int parquet_create(pml_bridge_writer **out, const pml_bridge_output *output, const pml_bridge_memory *memory,
                   const struct ArrowSchema *schema, const pml_bridge_write_options *options, pml_error *err);
int parquet_write(pml_bridge_writer *writer, struct ArrowArray *array, pml_error *err);
int64_t parquet_size(const pml_bridge_writer *writer);
int parquet_finish(pml_bridge_writer *writer, pml_error *err);
void parquet_free(pml_bridge_writer *writer);
int orc_open(pml_bridge_orc **out, const pml_bridge_input *input, const pml_bridge_memory *memory,
             const pml_bridge_read_options *options, pml_error *err);
void orc_close(pml_bridge_orc *reader);
int64_t orc_rows(const pml_bridge_orc *reader);
int32_t orc_stripes(const pml_bridge_orc *reader);
int64_t orc_stripe_rows(const pml_bridge_orc *reader, int32_t stripe);
int orc_stripe_stat(pml_bridge_stat *out, pml_bridge_orc *reader, int32_t stripe, const char *column, pml_error *err);
int orc_stream(struct ArrowArrayStream *out, pml_bridge_orc *reader, const pml_bridge_orc_request *request, pml_error *err);
int csv_open(struct ArrowArrayStream *out, const pml_bridge_input *input, const pml_bridge_memory *memory,
             const struct ArrowSchema *schema, const pml_bridge_csv_options *options, pml_error *err);
int cast(struct ArrowArray *out, struct ArrowArray *array, const struct ArrowSchema *from, const struct ArrowSchema *to,
         const pml_bridge_memory *memory, pml_error *err);

} // namespace pml_bridge_ns

#endif
