/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes and the one error object of the whole library, API and plugin ABI alike.
 *
 * Every call that can fail returns PML_OK or one of the negative codes below and takes a `pml_error *` as its last argument.
 * The object belongs to the caller, needs no allocation and may be NULL. It is written only on failure:
 *
 *     pml_error err = PML_ERROR_INIT;
 *     if (pml_table_open(&table, env, path, NULL, &err) != PML_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *
 * Pointers: an argument may be NULL only where its comment says so; `options` (the defaults) and `err` always may. A NULL `out`, a NULL
 * array of more than no entries, and a NULL entry are PML_E_INVAL, and nothing has happened. Results that only report may be unwanted:
 * `out` may be NULL for pml_rt_write, pml_rt_commit, pml_rt_progress_repair, pml_rt_offsets_clean, pml_commit_run, pml_commit_overwrite,
 * pml_table_truncate and pml_table_drop_partitions. Handles (the table, scan, writer, ... that a call is about) are not checked.
 *
 * Thread rule: an error object is used by one thread at a time. The numeric values never change.
 */
#ifndef PAIMONLIVE_ERROR_H
#define PAIMONLIVE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <paimonlive/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PML_OK = 0,
    PML_E_INVAL = -1,            /* wrong argument; fix the call */
    PML_E_UNSUPPORTED = -2,      /* table feature, option or format version not supported */
    PML_E_NOMEM = -3,            /* allocation failed */
    PML_E_IO = -4,               /* I/O failed; see sys_errno; retry if PML_ERRF_TRANSIENT */
    PML_E_CORRUPT = -5,          /* stored data is damaged */
    PML_E_NOT_FOUND = -6,        /* table, snapshot, tag or file named by the caller does not exist */
    PML_E_EXISTS = -7,           /* it exists already */
    PML_E_NO_SPACE = -8,         /* disk full or quota */
    PML_E_CONFLICT = -9,         /* commit conflict, gap, partial overlap, foreign writer */
    PML_E_UNKNOWN_OUTCOME = -10, /* the commit may or may not exist: call again with the same entries; delete nothing */
    PML_E_CANCELLED = -11,
    PML_E_LIMIT = -12,           /* a fixed limit (size, depth, count) was exceeded */
    PML_E_TIMEOUT = -13,
    PML_E_STATE = -14,           /* call not allowed now (closed, uncovered data, forked child) */
    PML_E_BUSY = -15,            /* second writer, lock held, too many prepares in flight */
    PML_E_SCHEMA = -16,          /* schema mismatch or forbidden change */
    PML_E_SNAPSHOT_GONE = -17,   /* files or snapshot expired under the plan: plan again */
    PML_E_INTERNAL = -18,        /* an invariant broke */
    PML_E_TICKET = -32,          /* ticket unknown, used, released or expired: plan again */
    PML_E_RECREATE = -33,        /* context poisoned: recreate context and writer, replay from the committed ends */
    PML_E_PB_FAILED = -34,       /* this partition-bucket failed; reset and replay it */
    PML_E_PB_RESET = -35,        /* progress of this partition-bucket was reset; reset and replay it */
    PML_E_PROGRESS_GAP = -36,    /* the chosen snapshot is older than what memory still holds: choose a newer one */
    PML_E_PROGRESS_LOST = -37,   /* no effective progress can be determined; repair */
    PML_E_OVERFLOW = -38,        /* offset or sequence space exhausted */
    PML_E_OFFSET_ORDER = -39,    /* external offset not increasing */
    PML_E_BUDGET = -40,          /* over the memory budget */
    PML_E_PLUGIN = -41,          /* a plugin failed (message from the plugin) */
    PML_E_PLUGIN_CONTRACT = -42  /* a plugin broke its contract */
};

#define PML_ERRF_NO_EFFECT 1u /* the call changed nothing; it may be repeated */
#define PML_ERRF_TRANSIENT 2u /* repeating later may succeed */

/* What kind of thing `file` and `message` speak of. */
enum {
    PML_PLACE_NONE = 0,
    PML_PLACE_ARGUMENT = 1,
    PML_PLACE_OPTION = 2,
    PML_PLACE_SCHEMA = 3,
    PML_PLACE_SNAPSHOT = 4,
    PML_PLACE_MANIFEST_LIST = 5,
    PML_PLACE_MANIFEST = 6,
    PML_PLACE_INDEX = 7,
    PML_PLACE_DATA_FILE = 8,
    PML_PLACE_ROW = 9,
    PML_PLACE_PB = 10, /* partition-bucket */
    PML_PLACE_PROGRESS = 11,
    PML_PLACE_STORE = 12,
    PML_PLACE_FILE = 13
};

typedef struct pml_error {
    size_t struct_size;
    int code;
    int sys_errno;
    uint32_t flags;    /* PML_ERRF_* */
    uint32_t place;    /* PML_PLACE_* */
    char file[256];    /* NUL-terminated, may be empty; of a longer name the tail */
    char message[512]; /* NUL-terminated; says what, where, and what to do next */
} pml_error;

#define PML_ERROR_INIT {sizeof(pml_error), 0, 0, 0, 0, {0}, {0}}

/* Name of a code, e.g. "PML_E_CONFLICT"; "PML_E_?" for an unknown one. Never NULL; static storage. */
PML_API const char *pml_error_name(int code);

#ifdef __cplusplus
}
#endif

#endif
