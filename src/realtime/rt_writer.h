/* SPDX-License-Identifier: Apache-2.0 */
/* The real-time writer from inside. */
#ifndef PML_REALTIME_RT_WRITER_H
#define PML_REALTIME_RT_WRITER_H

#include "realtime/rt_context.h"
#include "table/restore.h"

struct pml_rt_writer {
    pml_env *env;
    pml_rt_context *ctx; /* holds a reference */
    pml_table *table;    /* the context's */
    pml_restore restore;
    pml_mutex create_mu; /* one opener of stores at a time; taken before every other lock */
    pml_mutex flush_mu;  /* one prepare at a time; taken before every other lock */
    _Atomic(rt_pb *) only; /* of a table that has one partition-bucket; holds a reference. NULL: not met yet, or it has many */
    pml_field *input;    /* of a table with a primary key: _REALTIME_OFFSET, its columns, _VALUE_KIND; else NULL */
    bool registered;     /* in the environment's list of tables with a writer */
};

/* One writer per table branch in an environment: takes the place, PML_E_BUSY when it is taken. */
int pml_rt_writer__claim_table(pml_env *env, const char *branch_root, pml_error *err);
void pml_rt_writer__yield_table(pml_env *env, const char *branch_root);

#endif
