/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a part after both of its lives. */
#ifndef DEMO_SUMMARY_H
#define DEMO_SUMMARY_H

#include "status.h"

void summary_append(status *s);
void summary_upsert(status *s);

#endif
