/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column statistics of a data file: between the rows of a manifest (pml_simple_stats) and one struct per column
 * (format-metadata.md 7; Java: SimpleStatsConverter, SimpleStatsEvolution, SimpleColStatsCollector).
 */
#ifndef PML_META_COLUMN_STATS_H
#define PML_META_COLUMN_STATS_H

#include "meta/data_file.h"
#include "meta/options.h"

/* Fills out[n], one per field and in the order of `fields`, which are the columns of the file by its own schema (restricted to
   its write columns, if it has them). cols: the file's value-stats columns; not present means all fields in order. A field that
   the statistics do not cover is unknown; an entry of cols that is not among the fields is passed over. Values borrow from s.
   PML_E_CORRUPT when rows or counts do not fit the columns. */
int pml_column_stats__decode(pml_column_stats *out, pml_env *env, const pml_simple_stats *s,
                             const pml_string_list *cols, const pml_field *fields, size_t n, pml_error *err);

/* The reverse, for a Parquet file that we wrote: stats[i] and modes[i] belong to fields[i]; a value of stats may be unknown.
   Applies the mode and what Java 1.4.2 never stores: anything of nested columns, min and max of binary columns and of timestamps
   finer than microseconds. dense: leaves unknown columns out and names the others in *cols (null when none is left out); else all
   columns are stored and *cols is null. Everything goes to the arena. */
int pml_column_stats__encode(pml_simple_stats *out, pml_string_list *cols, pml_arena *arena, const pml_field *fields,
                             size_t n, const pml_stats_mode *modes, const pml_column_stats *stats, bool dense,
                             pml_error *err);

#endif
