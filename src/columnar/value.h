/* SPDX-License-Identifier: Apache-2.0 */
/* One scalar value of an atomic type: literals, statistics, partition values. Bytes are borrowed. */
#ifndef PML_COLUMNAR_VALUE_H
#define PML_COLUMNAR_VALUE_H

#include <paimonlive/arrow_c.h>

#include "columnar/data_type.h"
#include "util/bytes.h"

typedef __int128 pml_int128;

typedef enum pml_value_kind {
    PML_VALUE_NULL = 0,
    PML_VALUE_BOOL,      /* i is 0 or 1 */
    PML_VALUE_INT,       /* TINYINT SMALLINT INT BIGINT, DATE (days), TIME (milliseconds of the day) */
    PML_VALUE_FLOAT,     /* f, kept apart from DOUBLE so that text and bits are exact */
    PML_VALUE_DOUBLE,    /* d */
    PML_VALUE_BYTES,     /* CHAR VARCHAR BINARY VARBINARY */
    PML_VALUE_DECIMAL,   /* dec: unscaled, at the scale of its type */
    PML_VALUE_TIMESTAMP  /* both kinds: ts.ms (floor) and ts.nanos of the millisecond, 0..999999 */
} pml_value_kind;

typedef struct pml_value {
    pml_value_kind kind;
    union {
        int64_t i;
        float f;
        double d;
        pml_bytes bytes;
        pml_int128 dec;
        struct {
            int64_t ms;
            int32_t nanos;
        } ts;
    };
} pml_value;

/* Java's total order inside one kind: false < true, unsigned bytes, -0.0 < 0.0, NaN largest and equal to itself. Both must be
   of one kind and not null. -1, 0, 1. */
int pml_value__compare(const pml_value *a, const pml_value *b);
bool pml_value__equal(const pml_value *a, const pml_value *b); /* null equals null here */
int pml_value__copy(pml_value *out, pml_arena *arena, const pml_value *v);

/* The value of row `row` (0-based inside the array, array->offset is added here) of an array in the Arrow form of `t`, which
   must be atomic. Bytes are borrowed from the array. */
void pml_value__get(pml_value *out, const pml_type *t, const struct ArrowArray *array, int64_t row);

/* Text in the canonical row form without quotes ("2024-01-02T03:04:05.000", "-0.30", "true", hex for binaries), and back. The
   text form is that of the project's row files: docs/rows.md. Parse borrows nothing: bytes go to the arena. */
int pml_value__print(pml_buf *out, const pml_type *t, const pml_value *v);
int pml_value__parse(pml_value *out, pml_arena *arena, const pml_type *t, const char *text, size_t len, pml_error *err);

#endif
