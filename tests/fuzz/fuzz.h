/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target stands on. A target is one file <noun>_fuzz.c with
 *
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
 *
 * and begins with FUZZ_MEMORY(bytes): the most that any input may make the library ask for, from the limits that the parsed
 * format has. The same file is linked with libFuzzer (make fuzz TARGET=<noun> SECONDS=n) and with replay.c, which runs the corpus
 * and mutants of it in `make check`. What is checked for each input, beside what a target checks itself: nothing leaks (the
 * library's allocator, jansson's and Arrow's), the limit holds, and an error has a code and a text.
 */
#ifndef PML_TESTS_FUZZ_FUZZ_H
#define PML_TESTS_FUZZ_FUZZ_H

#include <stdlib.h>

#include "fuzz_fs.h"
#include "support/test_env.h"

#include <paimonlive/arrow_c.h>

#include "columnar/batch.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
extern const size_t fuzz_memory_max;
#define FUZZ_MEMORY(bytes) const size_t fuzz_memory_max = (bytes)

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Ends the process with a message when not so. */
#define FUZZ_CHECK(condition, ...)                                \
    do {                                                          \
        if (!(condition))                                         \
            plain_assert_failed(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* The environment of the target, over a file system in memory whose "/" is empty at first. One for the life of the process. */
test_env *fuzz_env(void);
/* Around every input. What is allocated between them must be freed between them. */
void fuzz_begin(void);
void fuzz_end(void);

/* rc is PML_OK, or a negative code that err has too, with a text. */
void fuzz_must_be_answer(int rc, const pml_error *err);
/* The same, and the error says the name. */
void fuzz_must_name(int rc, const pml_error *err, const char *name);

/* What the command's own functions print goes nowhere between the two calls. */
void fuzz_quiet(bool on);

/* ---- an input is eaten from the front; past its end everything is zero ---- */
typedef struct fuzz_input {
    const uint8_t *p;
    size_t left;
} fuzz_input;

uint8_t fuzz_u8(fuzz_input *in);
uint32_t fuzz_u32(fuzz_input *in);
uint64_t fuzz_u64(fuzz_input *in);
/* At most max bytes behind a one-byte length. */
pml_bytes fuzz_bytes(fuzz_input *in);
/* The rest. */
pml_bytes fuzz_rest(fuzz_input *in);
/* The rest as text with a NUL behind it; free(). */
char *fuzz_rest_text(fuzz_input *in);

/* The files of the environment. */
fuzz_fs *fuzz_files(void);

/* A copy of data changed as the input says (fuzz_edit.c). free(). */
uint8_t *fuzz_edit(size_t *len, fuzz_input *in, const uint8_t *data, size_t data_len);

/* An atomic type: kind, length, precision and scale from the input. */
pml_type fuzz_type(fuzz_input *in);

/* ---- arrays that come out ---- */
/* Reads the stream to its end or through batches_max batches and releases it: every array must pass the library's own check for the
   fields of the schema, and is printed. Returns the code of the stream. */
int fuzz_drain(struct ArrowArrayStream *stream, pml_check_level level, int64_t batches_max, int64_t *rows, pml_error *err);

#endif
