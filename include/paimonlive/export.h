/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the public symbols; everything else is hidden. */
#ifndef PAIMONLIVE_EXPORT_H
#define PAIMONLIVE_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define PML_API __attribute__((visibility("default")))
#else
#define PML_API
#endif

#endif
