/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of the demo as its parent process runs it: the live process is this program again, killed half way and started once more;
 * a third process compares the table with what it must be.
 */
#ifndef DEMO_PART_H
#define DEMO_PART_H

#include "arguments.h"
#include "expected.h"
#include "live.h"
#include "view.h"

enum { PART_STATUS_FD = 3 };

typedef struct part {
    const char *name, *heading, *what; /* what: it streams */
    const live_job *job;
    const view_form *form;
    bool (*expect)(expected *e, const char *warehouse, const char *csv);
    void (*summary)(status *s);
} part;

/* What the parent does. */
bool part_run(const part *p, const arguments *a, const char *program, status *s, int status_fd);

#endif
