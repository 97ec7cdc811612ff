/* SPDX-License-Identifier: Apache-2.0 */
/* The umbrella header. */
#ifndef PAIMONLIVE_PAIMONLIVE_H
#define PAIMONLIVE_PAIMONLIVE_H

#include <paimonlive/env.h>
#include <paimonlive/error.h>
#include <paimonlive/lookup.h>
#include <paimonlive/realtime.h>
#include <paimonlive/rows.h>
#include <paimonlive/scan.h>
#include <paimonlive/split.h>
#include <paimonlive/table.h>
#include <paimonlive/write.h>

#endif
