/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/abi.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pml_store__read_struct(void *out, size_t out_size, const void *in)
{
    size_t given;
    memcpy(&given, in, sizeof given);
    memset(out, 0, out_size);
    memcpy(out, in, given < out_size ? given : out_size);
    memcpy(out, &out_size, sizeof out_size);
}

void pml_store__write_struct(void *out, const void *in, size_t in_size)
{
    size_t room;
    memcpy(&room, out, sizeof room);
    if (room > in_size)
        room = in_size;
    if (room > sizeof room)
        memcpy((char *)out + sizeof room, (const char *)in + sizeof room, room - sizeof room);
}

int pml_store__fail(pml_error *err, int code, uint32_t flags, const char *format, ...)
{
    pml_error e = PML_ERROR_INIT;
    va_list args;
    if (err == NULL)
        return code;
    e.code = code;
    e.flags = flags;
    e.place = PML_PLACE_STORE;
    va_start(args, format);
    (void)vsnprintf(e.message, sizeof e.message, format, args);
    va_end(args);
    pml_store__write_struct(err, &e, sizeof e);
    return code;
}
