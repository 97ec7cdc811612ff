/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blob files in (Java: BlobFileFormat, BlobFileMeta): the values of one BLOB column, one behind the other.
 *
 *   each value   magic, int32 LE 1481511375 | the bytes | int64 LE length of all this | int32 LE CRC-32 of all before
 *   then         index | int32 LE length of the index | version, one byte, 1
 *
 * The index has the length of each value as it lies in the file, -1 for a null, which has no bytes: the first one, then differences, as
 * zigzag varints.
 */
#ifndef PML_FORMAT_BLOB_H
#define PML_FORMAT_BLOB_H

#include "format/file_format.h"

enum { PML_BLOB_BATCH_ROWS = 4096 };

/* At most one field, a BLOB: the file knows no names. Values are read as they are asked for; a batch ends at 64 MiB of them. */
int pml_blob__open(struct ArrowArrayStream *out, pml_env *env, const char *path, const pml_format_read *request, pml_error *err);

#endif
