/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence groups: `fields.<g1>[,<g2>...].sequence-group = c1,c2,...`. The g are the version of the group, the c are protected by
   it. */
#ifndef PML_MERGE_SEQUENCE_GROUP_H
#define PML_MERGE_SEQUENCE_GROUP_H

#include "merge/merge_options.h"

typedef struct pml_sequence_group {
    const char *option; /* its key, for messages */
    int32_t *versions;  /* columns of the schema, in the order of the option */
    size_t n_versions;
} pml_sequence_group;

typedef struct pml_sequence_groups {
    pml_arena arena;
    pml_sequence_group *groups;
    size_t n;
    /* By column of the schema. */
    int32_t *group_of; /* -1: none */
    bool *is_version;
    bool *removes; /* option partial-update.remove-record-on-sequence-group */
} pml_sequence_groups;

/* PML_E_SCHEMA names the option. */
int pml_sequence_groups__parse(pml_sequence_groups *out, pml_env *env, const pml_merge_options *o, pml_error *err);
void pml_sequence_groups__clear(pml_sequence_groups *g);

#endif
