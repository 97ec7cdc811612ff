/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer makes buffers of a megabyte for every page and lets them grow by doubling, and it keeps a row group of pages, whose
 * buffers grow the same way up to its whole size. With a general allocator most of the time of the kernel went into handing out
 * zeroed pages for that and taking them back. Here large buffers are mappings of more address space than they need at first: they
 * grow in place, or by moving pages instead of bytes, and those that are given back are used again while they are in the caches.
 * Untouched pages of a mapping cost nothing.
 */
#include "format/bridge/blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace pml_bridge_ns {

namespace {

constexpr int64_t block_size_min = 128 << 10; /* smaller buffers are the business of a general allocator */
constexpr size_t mapping_bytes_min = 2 << 20; /* a page of a column, whatever it has grown from */
constexpr size_t free_bytes_max = 32 << 20;   /* kept for later; there may be many writers */
constexpr int64_t header_bytes = 64;          /* what Arrow wants buffers to be aligned to */

size_t mapping_bytes(int64_t size)
{
    return std::max(mapping_bytes_min, std::bit_ceil(static_cast<size_t>(size + header_bytes)));
}

} // namespace

struct BlockPool::Block {
    size_t bytes; /* of the mapping, this header included */
    uint8_t *data() { return reinterpret_cast<uint8_t *>(this) + header_bytes; }
};

BlockPool::~BlockPool()
{
    for (Block *b : free_)
        (void)munmap(b, b->bytes);
}

bool BlockPool::is_block(int64_t size, int64_t alignment)
{
    return size >= block_size_min && alignment <= header_bytes;
}

BlockPool::Block *BlockPool::block_of(uint8_t *data)
{
    return reinterpret_cast<Block *>(data - header_bytes);
}

arrow::Status BlockPool::take(int64_t size, uint8_t **out)
{
    size_t bytes = mapping_bytes(size);
    {
        std::lock_guard lock(mu_);
        auto it = std::find_if(free_.rbegin(), free_.rend(), [&](const Block *b) { return b->bytes >= bytes; });
        if (it != free_.rend()) {
            Block *b = *it;
            free_.erase(std::next(it).base());
            free_bytes_ -= b->bytes;
            *out = b->data();
            return arrow::Status::OK();
        }
    }
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return arrow::Status::OutOfMemory("no memory for ", size, " bytes");
    *out = (new (p) Block{bytes})->data();
    return arrow::Status::OK();
}

void BlockPool::give(uint8_t *data)
{
    Block *b = block_of(data);
    {
        std::lock_guard lock(mu_);
        if (b->bytes <= free_bytes_max - free_bytes_) {
            try {
                free_.push_back(b);
                free_bytes_ += b->bytes;
                return;
            } catch (const std::bad_alloc &) {
                /* then it goes back to the system */
            }
        }
    }
    (void)munmap(b, b->bytes);
}

arrow::Status BlockPool::Allocate(int64_t size, int64_t alignment, uint8_t **out)
{
    return is_block(size, alignment) ? take(size, out) : small_->Allocate(size, alignment, out);
}

arrow::Status BlockPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **ptr)
{
    bool was = is_block(old_size, alignment), is = is_block(new_size, alignment);
    if (!was && !is)
        return small_->Reallocate(old_size, new_size, alignment, ptr);
    if (was && is) {
        Block *b = block_of(*ptr);
        size_t bytes = mapping_bytes(new_size);
        if (bytes <= b->bytes)
            return arrow::Status::OK();
        void *p = mremap(b, b->bytes, bytes, MREMAP_MAYMOVE);
        if (p == MAP_FAILED)
            return arrow::Status::OutOfMemory("no memory for ", new_size, " bytes");
        b = static_cast<Block *>(p);
        b->bytes = bytes;
        *ptr = b->data();
        return arrow::Status::OK();
    }
    uint8_t *moved;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
    Free(*ptr, old_size, alignment);
    *ptr = moved;
    return arrow::Status::OK();
}

void BlockPool::Free(uint8_t *buffer, int64_t size, int64_t alignment)
{
    if (is_block(size, alignment))
        give(buffer);
    else
        small_->Free(buffer, size, alignment);
}

} // namespace pml_bridge_ns
