/* SPDX-License-Identifier: Apache-2.0 */
#define PML_UTIL_ERROR_C /* the functions themselves, also for the static analyser */
#include "util/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *pml_error_name(int code)
{
    switch (code) {
    case PML_OK: return "PML_OK";
    case PML_E_INVAL: return "PML_E_INVAL";
    case PML_E_UNSUPPORTED: return "PML_E_UNSUPPORTED";
    case PML_E_NOMEM: return "PML_E_NOMEM";
    case PML_E_IO: return "PML_E_IO";
    case PML_E_CORRUPT: return "PML_E_CORRUPT";
    case PML_E_NOT_FOUND: return "PML_E_NOT_FOUND";
    case PML_E_EXISTS: return "PML_E_EXISTS";
    case PML_E_NO_SPACE: return "PML_E_NO_SPACE";
    case PML_E_CONFLICT: return "PML_E_CONFLICT";
    case PML_E_UNKNOWN_OUTCOME: return "PML_E_UNKNOWN_OUTCOME";
    case PML_E_CANCELLED: return "PML_E_CANCELLED";
    case PML_E_LIMIT: return "PML_E_LIMIT";
    case PML_E_TIMEOUT: return "PML_E_TIMEOUT";
    case PML_E_STATE: return "PML_E_STATE";
    case PML_E_BUSY: return "PML_E_BUSY";
    case PML_E_SCHEMA: return "PML_E_SCHEMA";
    case PML_E_SNAPSHOT_GONE: return "PML_E_SNAPSHOT_GONE";
    case PML_E_INTERNAL: return "PML_E_INTERNAL";
    case PML_E_TICKET: return "PML_E_TICKET";
    case PML_E_RECREATE: return "PML_E_RECREATE";
    case PML_E_PB_FAILED: return "PML_E_PB_FAILED";
    case PML_E_PB_RESET: return "PML_E_PB_RESET";
    case PML_E_PROGRESS_GAP: return "PML_E_PROGRESS_GAP";
    case PML_E_PROGRESS_LOST: return "PML_E_PROGRESS_LOST";
    case PML_E_OVERFLOW: return "PML_E_OVERFLOW";
    case PML_E_OFFSET_ORDER: return "PML_E_OFFSET_ORDER";
    case PML_E_BUDGET: return "PML_E_BUDGET";
    case PML_E_PLUGIN: return "PML_E_PLUGIN";
    case PML_E_PLUGIN_CONTRACT: return "PML_E_PLUGIN_CONTRACT";
    default: return "PML_E_?";
    }
}

static void error_fill(pml_error *err, int code, uint32_t place, const char *file, const char *format, va_list args)
{
    err->struct_size = sizeof *err;
    err->code = code;
    err->sys_errno = 0;
    err->flags = 0;
    err->place = place;
    err->file[0] = '\0';
    if (file != NULL) {
        size_t n = strlen(file);
        /* Of a long path the tail says more than the head. */
        const char *tail = n < sizeof err->file ? file : file + (n - (sizeof err->file - 1));
        memcpy(err->file, tail, strlen(tail) + 1);
    }
    (void)vsnprintf(err->message, sizeof err->message, format, args);
}

int pml_error__set(pml_error *err, int code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        error_fill(err, code, PML_PLACE_NONE, NULL, format, args);
        va_end(args);
    }
    return code;
}

int pml_error__at(pml_error *err, int code, uint32_t place, const char *file, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        error_fill(err, code, place, file, format, args);
        va_end(args);
    }
    return code;
}

static int error_code_of(int sys_errno)
{
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR: return PML_E_NOT_FOUND;
    case EEXIST: return PML_E_EXISTS;
    case ENOSPC:
    case EDQUOT: return PML_E_NO_SPACE;
    case ENOMEM: return PML_E_NOMEM;
    default: return PML_E_IO;
    }
}

int pml_error__from_errno(pml_error *err, int sys_errno, const char *file, const char *doing)
{
    int code = error_code_of(sys_errno);
    if (err != NULL) {
        char reason[128];
        /* The GNU form may return a static string and leave the buffer alone. */
        const char *text = strerror_r(sys_errno, reason, sizeof reason);
        (void)pml_error__at(err, code, PML_PLACE_FILE, file, "cannot %s %s: %s", doing, file, text);
        err->sys_errno = sys_errno;
    }
    return code;
}

int pml_error__no_memory(pml_error *err)
{
    return pml_error__set(err, PML_E_NOMEM, "out of memory");
}

int pml_error__need(const void *p, const char *name, pml_error *err)
{
    return p != NULL ? PML_OK : pml_error__at(err, PML_E_INVAL, PML_PLACE_ARGUMENT, name, "the argument %s is NULL", name);
}

int pml_error__need_array(const void *v, size_t n, const char *name, pml_error *err)
{
    if (v != NULL || n == 0)
        return PML_OK;
    return pml_error__at(err, PML_E_INVAL, PML_PLACE_ARGUMENT, name, "the argument %s is NULL, but it should have %zu entries", name, n);
}

int pml_error__need_pointers(const void *const *v, size_t n, const char *name, pml_error *err)
{
    PML_RETURN_IF(pml_error__need_array(v, n, name, err));
    for (size_t i = 0; i < n; i++)
        if (v[i] == NULL)
            return pml_error__at(err, PML_E_INVAL, PML_PLACE_ARGUMENT, name, "entry %zu of %zu of the argument %s is NULL", i, n, name);
    return PML_OK;
}

int pml_error__prefix(pml_error *err, int code, const char *format, ...)
{
    if (err != NULL && err->code == code) {
        char old[sizeof err->message];
        char head[sizeof err->message];
        va_list args;
        memcpy(old, err->message, sizeof old);
        va_start(args, format);
        (void)vsnprintf(head, sizeof head, format, args);
        va_end(args);
        int n = snprintf(err->message, sizeof err->message, "%.200s: %.300s", head, old);
        (void)n;
    }
    return code;
}

void pml_error__add_flags(pml_error *err, uint32_t flags)
{
    if (err != NULL)
        err->flags |= flags;
}

void pml_error__clear(pml_error *err)
{
    if (err != NULL) {
        err->struct_size = sizeof *err;
        err->code = err->sys_errno = 0;
        err->flags = err->place = 0;
        err->file[0] = err->message[0] = '\0'; /* what lies behind has no meaning, and is much for a write of one row */
    }
}
