/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(pml_error *err, int code, const char *format, ...)
{
    va_list args;
    if (err == NULL)
        return code;
    *err = (pml_error){.struct_size = sizeof *err, .code = code};
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

int error_no_memory(pml_error *err)
{
    return error_set(err, PML_E_NOMEM, "out of memory");
}
