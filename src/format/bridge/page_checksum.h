/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksums of pages, verified where the pages are read: Arrow's own loop over tables takes a twentieth of decoding a file.
 */
#ifndef PML_FORMAT_BRIDGE_PAGE_CHECKSUM_H
#define PML_FORMAT_BRIDGE_PAGE_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace pml_bridge_ns {

/* Whether this processor has what it takes; else checksums are left to Arrow. */
bool crc32_is_fast();
/* Of zlib and Parquet. Only where it is fast. */
uint32_t crc32(const uint8_t *p, size_t n);

/* What a page's head says. */
struct PageHead {
    int32_t type = -1, bytes = -1; /* bytes: as they lie in the file */
    bool has_crc = false;
    int32_t crc = 0;
};
/* A PageHeader of Parquet's Thrift definition, in the compact protocol. False: it is none. */
bool page_head_parse(PageHead *out, const uint8_t *p, size_t n);

} // namespace pml_bridge_ns

#endif
