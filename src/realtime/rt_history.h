/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the table's history still the one that the context saw (7.6 items 4 and 5)? An id alone proves nothing: after a rollback the same
 * ids are given again. So the context keeps the newest snapshot that it saw with a print of who made it and when. When that snapshot is
 * another one now, or the ids went below it, the table was rolled back, and each partition-bucket must prove that it was not touched.
 */
#ifndef PML_REALTIME_RT_HISTORY_H
#define PML_REALTIME_RT_HISTORY_H

#include "realtime/rt_effective.h"

/* 128 bits of XXH3. All zero: nobody. */
typedef struct rt_print {
    uint64_t low, high;
} rt_print;

bool pml_rt_print__equal(rt_print a, rt_print b);
rt_print pml_rt_print__of_user(const char *user); /* NULL: nobody */

/* A snapshot by its id, user, identifier, time, and the name of its delta manifest list, which is given only once. */
typedef struct rt_point {
    int64_t id; /* -1: none */
    rt_print print;
} rt_point;

#define RT_NO_POINT ((rt_point){.id = -1})

rt_point pml_rt_point__of(const pml_snapshot *s);
bool pml_rt_point__equal(const rt_point *a, const rt_point *b);
/* *rewritten: the id belongs to another snapshot now. One that is not there says nothing: it may have expired. */
int pml_rt_point__check(bool *rewritten, const rt_point *p, pml_table *t, pml_error *err);

/* Another implementation wrote progress without lineages. Whether on the way from the last snapshot that was advanced to (after) to
   this one an OVERWRITE lost or lowered what was seen: then the values of now are those of another life, whatever they are.
   seen[i] is the end of pbs[i], -1: not to be looked at; it becomes -1 when it was overwritten. Stops at what cannot be read. */
struct pml_rt_context;
int pml_rt_history__overwritten(int64_t *seen, const pml_pb_texts *const *pbs, size_t n, struct pml_rt_context *c, int64_t newest,
                                int64_t after, pml_error *err);

#endif
