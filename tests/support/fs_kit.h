/* SPDX-License-Identifier: Apache-2.0 */
/* What every file system must do, as one call: the conformance kit of <paimonlive/sys/file_system.h>. */
#ifndef PML_TESTS_FS_KIT_H
#define PML_TESTS_FS_KIT_H

#include <paimonlive/sys/file_system.h>

/* dir: an existing, empty directory, left with rubbish in it. Fails the running test on the first difference. */
void fs_kit_run(const pml_file_system *fs, const char *dir);

#endif
