/* SPDX-License-Identifier: Apache-2.0 */
/* Bitmaps of 32-bit values in Roaring's portable format (RoaringFormatSpec), as columns of bitmaps hold them. */
#ifndef PML_COLUMNAR_ROARING_H
#define PML_COLUMNAR_ROARING_H

#include "util/buf.h"
#include "util/bytes.h"

/* Appends the union of two bitmaps, byte for byte as Java's RoaringBitmap gives it after a.or(b) and runOptimize(). Bytes behind a
   bitmap are passed over, as Java does. PML_E_CORRUPT says what is wrong with which. */
int pml_roaring__union(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err);

#endif
