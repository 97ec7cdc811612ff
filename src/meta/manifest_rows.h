/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of metadata files in ORC and Parquet (option manifest.format), as the same values that the Avro reader gives: columns by
 * name, batch by batch. The option says what Java writes and reads; here each file says itself what it is, so that a table whose
 * option was changed is read, too (Java 1.4.2 fails there).
 */
#ifndef PML_META_MANIFEST_ROWS_H
#define PML_META_MANIFEST_ROWS_H

#include "format/avro.h"

typedef struct pml_manifest_rows pml_manifest_rows;

/* "orc", "parquet", or NULL: Avro, or none of them, which its reader says. */
const char *pml_manifest_rows__format(pml_bytes file);

/* file is borrowed for the life of the rows, name is for messages. Fields need their `type`. */
int pml_manifest_rows__open(pml_manifest_rows **out, pml_env *env, pml_bytes file, const char *name, const pml_avro_field *fields,
                            size_t n_fields, pml_error *err);
/* The next record, valid until the next call; *more = false at the end. */
int pml_manifest_rows__next(bool *more, pml_avro_value *values, pml_manifest_rows *r, pml_error *err);
void pml_manifest_rows__free(pml_manifest_rows *r);

#endif
