/* SPDX-License-Identifier: Apache-2.0 */
/* --snapshot, --tag, --timestamp, --watermark: which snapshot a command reads. */
#ifndef PML_TOOLS_MOMENT_H
#define PML_TOOLS_MOMENT_H

#include "app.h"

#define OPTION_MOMENT                                                                            \
    {"snapshot", "N", "the table as of snapshot N (default: the latest)"},                       \
        {"tag", "NAME", "as of a tag"},                                                          \
        {"timestamp", "TIME", "as of a time: milliseconds since 1970, or 2024-01-31T12:00:00 in UTC"}, \
    {                                                                                            \
        "watermark", "N", "the oldest snapshot whose watermark is N or larger"                   \
    }

typedef struct moment {
    int64_t snapshot, timestamp, watermark; /* snapshot -1: not given */
    const char *tag;                        /* NULL: not given */
    bool has_timestamp, has_watermark;
} moment;

#define MOMENT_LATEST {.snapshot = -1}

/* At most one of them may be given. EXIT_OK or EXIT_USAGE, said already. */
int moment_get(moment *out, const args *a);
int moment_set(pml_scan *scan, const moment *m, pml_error *err);

#endif
