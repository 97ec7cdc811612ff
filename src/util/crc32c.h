/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as in iSCSI and ext4: "123456789" gives 0xe3069283. */
#ifndef PML_UTIL_CRC32C_H
#define PML_UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0 at first, then the result of the bytes before. */
uint32_t pml_crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
