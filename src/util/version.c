/* SPDX-License-Identifier: Apache-2.0 */
#include <paimonlive/env.h>

const char *pml_version(void)
{
    return PML_VERSION;
}
