/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of CSV, JSON and text files must be told, since these files say nothing of themselves. */
#ifndef PML_TABLE_TEXT_FILE_H
#define PML_TABLE_TEXT_FILE_H

#include "format/file_format.h"
#include "table/evolution.h"
#include "table/table.h"

/* Refuses, by name and when planning, files that cannot be read as they were meant. */
int pml_text_file__refuse(const pml_table_schema *s, const char *format, const char *name, pml_error *err);
/* Completes a request for a file of this format; nothing for other formats. fields are the wanted ones and become nullable where Java's
   reader gives nulls: a line that does not have what the schema demands is no error there, unless it is what rows are merged by. */
int pml_text_file__prepare(pml_format_read *request, pml_arena *arena, const pml_table *t, const char *format, const pml_written *w,
                           pml_field *fields, size_t n, pml_error *err);

#endif
