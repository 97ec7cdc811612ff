/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the error object, and the return-if-error pair every function uses. */
#ifndef PML_UTIL_ERROR_H
#define PML_UTIL_ERROR_H

#include <paimonlive/error.h>
#include <stdarg.h>

#if defined(__GNUC__)
#define PML_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define PML_PRINTF(f, a)
#endif

/* Both return `code`, so that `return pml_error__set(...)` reads well. err may be NULL. Bytes that are not printable are
   shown as they are; callers pass names and values, never whole files. */
int pml_error__set(pml_error *err, int code, const char *format, ...) PML_PRINTF(3, 4);
/* The same, and says which file or thing it is about. */
int pml_error__at(pml_error *err, int code, uint32_t place, const char *file, const char *format, ...) PML_PRINTF(5, 6);
/* From errno: PML_E_NOT_FOUND, PML_E_EXISTS, PML_E_NO_SPACE, PML_E_NOMEM or PML_E_IO; keeps sys_errno. */
int pml_error__from_errno(pml_error *err, int sys_errno, const char *file, const char *doing);
/* PML_E_NOMEM with its one message. */
int pml_error__no_memory(pml_error *err);
/* PML_E_INVAL when a required argument, an array of n, or one of n pointers is NULL (error.h: the rule for pointers). */
int pml_error__need(const void *p, const char *name, pml_error *err);
int pml_error__need_array(const void *v, size_t n, const char *name, pml_error *err);
int pml_error__need_pointers(const void *const *v, size_t n, const char *name, pml_error *err);
/* Puts "prefix: " before the message: context that only the caller knows. Returns code. */
int pml_error__prefix(pml_error *err, int code, const char *format, ...) PML_PRINTF(3, 4);
void pml_error__add_flags(pml_error *err, uint32_t flags);
void pml_error__clear(pml_error *err);

/* The static analyser sees one file at a time; what these give is all that it has to know of them. */
#if defined(__clang_analyzer__) && !defined(PML_UTIL_ERROR_C)
#define pml_error__set(err, code, ...)              (pml_error__set(err, code, __VA_ARGS__), (code))
#define pml_error__at(err, code, place, file, ...)  (pml_error__at(err, code, place, file, __VA_ARGS__), (code))
#define pml_error__prefix(err, code, ...)           (pml_error__prefix(err, code, __VA_ARGS__), (code))
#define pml_error__from_errno(err, number, file, doing) (pml_error__from_errno(err, number, file, doing), PML_E_IO)
#define pml_error__no_memory(err)                   (pml_error__no_memory(err), PML_E_NOMEM)
#endif

/* The two macros that hide control flow: the style page allows this pair and no other. Both need a local `int rc`; PML_TRY
   needs the label `out`. */
#define PML_TRY(expr)        \
    do {                     \
        rc = (expr);         \
        if (rc != PML_OK)    \
            goto out;        \
    } while (0)

#define PML_RETURN_IF(expr)   \
    do {                      \
        int rc_ = (expr);     \
        if (rc_ != PML_OK)    \
            return rc_;       \
    } while (0)

#endif
