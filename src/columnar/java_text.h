/* SPDX-License-Identifier: Apache-2.0 */
/* Values as the text that Java makes of them: partition directories, casts to STRING. Null is the caller's business. */
#ifndef PML_COLUMNAR_JAVA_TEXT_H
#define PML_COLUMNAR_JAVA_TEXT_H

#include "columnar/value.h"

/* The cast to STRING (Java: CastExecutors to VARCHAR): "2022-01-08", "2023-11-14 22:13:20.000", "01:00:00.123", "1.0E10".
   PML_E_UNSUPPORTED for LTZ timestamps (their text follows the zone of the process), binaries and nested types. */
int pml_java_text__cast(pml_buf *out, const pml_type *t, const pml_value *v, pml_error *err);
/* toString of the internal value, which partition directories have with partition.legacy-name=true: DATE as days, TIME as
   milliseconds, "2023-11-14T22:13:20". PML_E_UNSUPPORTED for binaries (Java prints an object address) and nested types. */
int pml_java_text__to_string(pml_buf *out, const pml_type *t, const pml_value *v, pml_error *err);

/* String.compareTo of two texts: by UTF-16 units, where pml_bytes_compare goes by characters. */
int pml_java_text__compare(pml_bytes x, pml_bytes y);
/* Bytes as the text that Java makes of them (new String(bytes, UTF_8)): what is no UTF-8 becomes U+FFFD. Never fails but for memory. */
int pml_java_text__decode(pml_buf *out, pml_bytes bytes);
/* The character at p, which is well-formed UTF-8, and its bytes. */
uint32_t pml_java_text__character(const uint8_t *p, size_t *n);
/* Character.digit(char, 10) of it: digits of every script. -1: none. */
int pml_java_text__digit(const uint8_t *p, size_t *n);

#endif
