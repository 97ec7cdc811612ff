/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which data files of a bucket must be merged with each other (Java: IntervalPartition). A section is a set of files whose key ranges
 * hang together; sections are disjoint in key space and come in key order. Inside of one, runs: files whose ranges do not touch, one
 * behind the other. Reading merges the runs of a section; planning never divides one.
 */
#ifndef PML_MERGE_SECTIONS_H
#define PML_MERGE_SECTIONS_H

#include "meta/data_file.h"

typedef struct pml_sorted_run {
    size_t n;
    const size_t *files; /* positions in the files asked about, in key order */
} pml_sorted_run;

typedef struct pml_section {
    size_t n_files;
    size_t n_runs;
    const pml_sorted_run *runs; /* oldest first, as far as levels and sequence numbers tell; or as asked for */
} pml_section;

typedef struct pml_sections {
    size_t n;
    const pml_section *v;
} pml_sections;

typedef struct pml_sections_request {
    const pml_type *const *types; /* of the trimmed primary key */
    size_t n_keys;
    const pml_data_file *const *files;
    size_t n_files;
    /* A run has files of one level only, which lookup-style merging goes by (merge.h); else runs are as few as can be. */
    bool by_level;
    /* Runs in the order in which Java's queue happens to hold them: for readers that read one after the other. Not with by_level. */
    bool as_queued;
} pml_sections_request;

/* Everything goes to the arena. A file whose keys are damaged, null, not as many as the primary key has, or the wrong way round:
   PML_E_CORRUPT naming it. */
int pml_sections__make(pml_sections *out, pml_arena *arena, const pml_sections_request *request, pml_error *err);

#endif
