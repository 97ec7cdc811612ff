/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file-system plugin. Unstable: fields may still be added or change until version 1.0.
 *
 * The operations are the small steps from which the library composes its own protocols (write a file durably; publish a
 * snapshot exclusively), so that a test can fail or "crash" at every single step. A file system is a static table of
 * functions plus a `ctx`. All functions may be called from any thread; one file handle is used by one thread at a time,
 * except read_at, which may run concurrently on one handle.
 *
 * Paths are UTF-8, absolute or relative to the process, with `/` between parts. Functions return PML_OK or a negative code
 * (PML_E_IO, PML_E_NOT_FOUND, PML_E_EXISTS, PML_E_NO_SPACE, PML_E_NOMEM, ...) and fill `err` (which may be NULL).
 * Outputs are zeroed on failure. PML_ERRF_NO_EFFECT in the error means: certainly nothing happened.
 */
#ifndef PAIMONLIVE_SYS_FILE_SYSTEM_H
#define PAIMONLIVE_SYS_FILE_SYSTEM_H

#include <paimonlive/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PML_FILE_REGULAR = 1, PML_FILE_DIRECTORY = 2, PML_FILE_OTHER = 3 };

typedef struct pml_file_info {
    size_t struct_size;
    uint32_t kind; /* PML_FILE_* */
    uint32_t reserved;
    int64_t size_bytes;
    int64_t mtime_ms; /* epoch milliseconds */
} pml_file_info;

/* Called once for each entry of a directory except "." and ".."; `name` is borrowed for the call. Non-zero stops the
   listing and becomes the result of list. */
typedef int (*pml_list_fn)(void *arg, const char *name, uint32_t kind);

typedef struct pml_file_system {
    size_t struct_size;
    void *ctx;

    /* Reading. open_read fails with PML_E_NOT_FOUND when the file is absent. */
    int (*open_read)(void *ctx, void **file, const char *path, pml_error *err);
    int (*size)(void *ctx, int64_t *size_bytes, void *file, pml_error *err);
    /* Reads up to n bytes; *got < n only at the end of the file. */
    int (*read_at)(void *ctx, size_t *got, void *file, int64_t offset, void *buf, size_t n, pml_error *err);
    void (*close_read)(void *ctx, void *file);

    /* Writing. create makes a new file and fails with PML_E_EXISTS when the name is taken; the directory must exist.
       sync makes the bytes written so far durable. close_write ends the handle; without a sync before it the content may be
       lost by a crash. After a failed write or sync the file must be abandoned: close_write, then remove. */
    int (*create)(void *ctx, void **file, const char *path, pml_error *err);
    int (*write)(void *ctx, void *file, const void *buf, size_t n, pml_error *err);
    int (*sync)(void *ctx, void *file, pml_error *err);
    int (*close_write)(void *ctx, void *file, pml_error *err);

    /* Gives the file `from` the name `to` iff `to` does not exist, atomically: PML_E_EXISTS when it does. `from` is gone
       afterwards or may remain (a hard link): the caller removes it. An error other than PML_E_EXISTS without
       PML_ERRF_NO_EFFECT means that `to` may or may not exist now. */
    int (*publish)(void *ctx, const char *from, const char *to, pml_error *err);
    /* Atomically replaces `to` by `from`. */
    int (*replace)(void *ctx, const char *from, const char *to, pml_error *err);
    /* PML_E_NOT_FOUND when absent. */
    int (*remove_file)(void *ctx, const char *path, pml_error *err);
    /* Removes an empty directory; PML_E_EXISTS when something is in it, PML_E_NOT_FOUND when absent. */
    int (*remove_directory)(void *ctx, const char *path, pml_error *err);
    /* Makes a directory; PML_E_EXISTS when something of this name exists, PML_E_NOT_FOUND when the parent is missing. */
    int (*make_directory)(void *ctx, const char *path, pml_error *err);
    /* Makes names created, published, replaced or removed in this directory durable. */
    int (*sync_directory)(void *ctx, const char *path, pml_error *err);

    int (*stat)(void *ctx, pml_file_info *info, const char *path, pml_error *err);
    /* PML_E_NOT_FOUND when the directory is absent. The order of entries is not defined. */
    int (*list)(void *ctx, const char *path, pml_list_fn fn, void *arg, pml_error *err);

    /* May be NULL. Called when the last owner lets go of the file system. */
    void (*release)(void *ctx);
    /* May be NULL: then nobody can ask for it. Makes everything durable that was written, named or removed so far on the file system
       that holds `path`, by whomever. */
    int (*sync_all)(void *ctx, const char *path, pml_error *err);
} pml_file_system;

#ifdef __cplusplus
}
#endif

#endif
