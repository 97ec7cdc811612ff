/* SPDX-License-Identifier: Apache-2.0 */
#include <paimonlive/sys/file_system.h>
extern const pml_file_system pml_local_file_system;
const pml_file_system pml_local_file_system = {.struct_size = sizeof(pml_file_system)};
