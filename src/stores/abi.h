/* SPDX-License-Identifier: Apache-2.0 */
/* What every store needs at the border to the host: structs of other versions, and errors. */
#ifndef PML_STORES_ABI_H
#define PML_STORES_ABI_H

#include <paimonlive/sys/realtime_store.h>

#if defined(__GNUC__)
#define PML_STORE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define PML_STORE_PRINTF(f, a)
#endif

/* Both structs begin with size_t struct_size. `in` is what the host gave: fields it does not have become zero, fields that we
   do not know are left out. */
void pml_store__read_struct(void *out, size_t out_size, const void *in);
/* `out` is the host's: no byte beyond its struct_size is written, and struct_size stays. */
void pml_store__write_struct(void *out, const void *in, size_t in_size);

/* Returns code. flags: PML_ERRF_*. */
int pml_store__fail(pml_error *err, int code, uint32_t flags, const char *format, ...) PML_STORE_PRINTF(4, 5);

/* With PML_ERRF_NO_EFFECT. */
static inline int pml_store__no_memory(pml_error *err)
{
    (void)pml_store__fail(err, PML_E_NOMEM, PML_ERRF_NO_EFFECT, "the memory store got no memory");
    return PML_E_NOMEM; /* which is what the static analyser has to know */
}

#endif
