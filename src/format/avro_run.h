/* SPDX-License-Identifier: Apache-2.0 */
/* Records into columns: the loop that runs the program of a data file. Internal to format/avro_*. */
#ifndef PML_FORMAT_AVRO_RUN_H
#define PML_FORMAT_AVRO_RUN_H

#include "format/avro_columns.h"
#include "format/avro_container.h"
#include "format/avro_schema.h"

/* Decodes up to max records of the open block, fewer when the columns are full; *done of them. */
int pml_avro_run__records(uint64_t *done, const pml_avro_program *program, pml_avro_columns *columns, pml_avro_container *file,
                          uint64_t max, pml_error *err);

#endif
