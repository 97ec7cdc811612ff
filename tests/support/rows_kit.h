/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as text into tables and out of plans. */
#ifndef PML_TESTS_ROWS_KIT_H
#define PML_TESTS_ROWS_KIT_H

#include <paimonlive/realtime.h>
#include <paimonlive/rows.h>

#include "support/test_env.h"
#include "table/scan.h"
#include "table/writer.h"

/* One commit of JSON rows. change may be NULL; else it sees the messages before they are committed. */
void rows_commit(test_env *t, pml_table *table, const char *rows, void (*change)(pml_messages *m, void *arg), void *arg);
/* A plan of the newest snapshot; ctx NULL: without live rows; condition NULL: none. Fails the test where it cannot be made. */
pml_plan *rows_plan(pml_table *table, pml_rt_context *ctx, const pml_predicate *condition);
/* Reads the plan, which is freed. */
struct ArrowArrayStream rows_open(pml_plan *plan);
/* The next batch, {0} before the first; the one before is released. False: there are no more, and the stream is released, too. Fails the
   test where reading fails. */
bool rows_next(struct ArrowArrayStream *stream, struct ArrowArray *batch);
/* Every row, in the order of reading, is appended to text (NULL: only counted; so may n be). options NULL: the defaults. */
int rows_read(pml_text *text, int64_t *n, pml_plan *plan, const pml_read_options *options, int format, pml_error *err);
/* The same into shown, which has to be large enough. */
int rows_show(char *shown, size_t size, pml_plan *plan, const pml_read_options *options, int format, pml_error *err);
/* Of a stream, which is released. */
int rows_show_stream(char *shown, size_t size, pml_env *env, struct ArrowArrayStream *stream, int format, pml_error *err);

#endif
