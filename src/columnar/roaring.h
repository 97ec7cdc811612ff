/* SPDX-License-Identifier: Apache-2.0 */
/* Bitmaps as columns hold them: of 32-bit values in Roaring's portable format, of 64-bit values in that of Java's Roaring64Bitmap. */
#ifndef PML_COLUMNAR_ROARING_H
#define PML_COLUMNAR_ROARING_H

#include "util/buf.h"
#include "util/bytes.h"

/* Appends the union of two bitmaps, byte for byte as Java's RoaringBitmap gives it after a.or(b) and runOptimize(). Bytes behind a
   bitmap are passed over, as Java does. PML_E_CORRUPT says what is wrong with which. */
int pml_roaring__union(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err);
/* The same as Java's Roaring64Bitmap gives it. Which of two is the first is seen in the bytes, not in the values. */
int pml_roaring64__union(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err);

#endif
