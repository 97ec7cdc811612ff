/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one writer (blocks.cc). */
#ifndef PML_FORMAT_BRIDGE_BLOCKS_H
#define PML_FORMAT_BRIDGE_BLOCKS_H

#include <arrow/memory_pool.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace pml_bridge_ns {

class BlockPool final : public arrow::MemoryPool {
public:
    BlockPool() = default;
    ~BlockPool() override;
    arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t **out) override;
    arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **ptr) override;
    void Free(uint8_t *buffer, int64_t size, int64_t alignment) override;
    /* The pool around this one counts. */
    int64_t bytes_allocated() const override { return 0; }
    int64_t total_bytes_allocated() const override { return 0; }
    int64_t num_allocations() const override { return 0; }
    std::string backend_name() const override { return small_->backend_name(); }

private:
    struct Block;
    static bool is_block(int64_t size, int64_t alignment);
    static Block *block_of(uint8_t *data);
    arrow::Status take(int64_t size, uint8_t **out);
    void give(uint8_t *data);

    arrow::MemoryPool *small_ = arrow::default_memory_pool();
    std::mutex mu_;
    std::vector<Block *> free_; /* the last one is the warmest */
    size_t free_bytes_ = 0;
};

} // namespace pml_bridge_ns

#endif
