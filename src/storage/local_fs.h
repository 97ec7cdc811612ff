/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this machine through POSIX calls. Stateless: ctx is NULL and a handle is only a descriptor. */
#ifndef PML_STORAGE_LOCAL_FS_H
#define PML_STORAGE_LOCAL_FS_H

#include <paimonlive/sys/file_system.h>

extern const pml_file_system pml_local_file_system;

/* The way publish takes where hard links are not supported; apart only so that tests reach it everywhere. */
int pml_local_fs__publish_by_rename(const char *from, const char *to, pml_error *err);

#endif
