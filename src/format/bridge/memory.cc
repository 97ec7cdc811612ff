/* SPDX-License-Identifier: Apache-2.0 */
#include <limits>

#include "format/bridge/border.h"

namespace pml_bridge_ns {

/* A batch has at most 2 GiB of text and Arrow grows by doubling; a damaged length asks for more than twice that. */
constexpr int64_t allocation_bytes_max = int64_t{8} << 30;

Pool::Pool(const pml_bridge_memory *memory) : base_(arrow::default_memory_pool()), memory_{nullptr, nullptr, nullptr, 0}
{
    if (memory != nullptr)
        memory_ = *memory;
    begin_call();
}

Pool::~Pool()
{
    if (memory_.drop != nullptr)
        memory_.drop(memory_.ctx);
}

std::shared_ptr<Pool> Pool::make(const pml_bridge_memory *memory)
{
    Pool *pool = nullptr;
    try {
        pool = new Pool(memory);
    } catch (...) {
        if (memory != nullptr && memory->drop != nullptr)
            memory->drop(memory->ctx);
        throw;
    }
    /* The deleter runs as well when the control block cannot be had. */
    return std::shared_ptr<Pool>(pool, [](Pool *p) { p->unhold(); });
}

void Pool::begin_call()
{
    int64_t ceiling;
    if (memory_.bytes_max <= 0 || __builtin_add_overflow(bytes_.load(), memory_.bytes_max, &ceiling))
        ceiling = std::numeric_limits<int64_t>::max();
    ceiling_.store(ceiling);
}

/* Of an allocation that grows the pool by size bytes. */
arrow::Status Pool::refused(int64_t size) const
{
    int64_t after;
    if (!__builtin_add_overflow(bytes_.load(std::memory_order_relaxed), size, &after) && after <= ceiling_.load())
        return arrow::Status::OK();
    return arrow::Status::CapacityError("more than ", memory_.bytes_max, " bytes are needed at once: read fewer rows at a time "
                                        "(read.batch-size), unless the file is damaged");
}

void Pool::charge(int64_t delta)
{
    bytes_.fetch_add(delta, std::memory_order_relaxed);
    if (memory_.charge != nullptr && delta != 0)
        memory_.charge(memory_.ctx, delta);
}

void Pool::unhold()
{
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
}

arrow::Status Pool::Allocate(int64_t size, int64_t alignment, uint8_t **out)
{
    if (size > allocation_bytes_max)
        return arrow::Status::OutOfMemory("an allocation of ", size, " bytes was refused");
    ARROW_RETURN_NOT_OK(refused(size));
    ARROW_RETURN_NOT_OK(base_->Allocate(size, alignment, out));
    holds_.fetch_add(1, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    total_.fetch_add(size, std::memory_order_relaxed);
    charge(size);
    return arrow::Status::OK();
}

arrow::Status Pool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **ptr)
{
    if (new_size > allocation_bytes_max)
        return arrow::Status::OutOfMemory("an allocation of ", new_size, " bytes was refused");
    if (new_size > old_size)
        ARROW_RETURN_NOT_OK(refused(new_size - old_size));
    ARROW_RETURN_NOT_OK(base_->Reallocate(old_size, new_size, alignment, ptr));
    count_.fetch_add(1, std::memory_order_relaxed);
    if (new_size > old_size)
        total_.fetch_add(new_size - old_size, std::memory_order_relaxed);
    charge(new_size - old_size);
    return arrow::Status::OK();
}

void Pool::Free(uint8_t *buffer, int64_t size, int64_t alignment)
{
    base_->Free(buffer, size, alignment);
    charge(-size);
    unhold();
}

} // namespace pml_bridge_ns
