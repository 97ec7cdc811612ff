/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON files: reading through jansson with limits, members fetched by type with errors that name file and member, and a
 * writer that lays text out as Java's Jackson does, so that our files and Java's differ in nothing.
 *
 * jansson allocates with malloc: it is outside the environment's allocator and the allocation-failure loops.
 */
#ifndef PML_META_JSON_H
#define PML_META_JSON_H

#include <jansson.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/bytes.h"

enum {
    /* A parsed value costs some 60 bytes: this many cost half a gigabyte, and the largest file we know (64 MiB of progress)
       has a third of it. */
    PML_JSON_VALUES_MAX = 8 * 1024 * 1024,
    PML_JSON_DEPTH_MAX = 128 /* open objects and arrays of the writer; 32 nested types need 100 */
};

/* Where JSON came from: said in every error. code is what malformed content is called: PML_E_CORRUPT for a stored file,
   PML_E_INVAL for a request. */
typedef struct pml_json_source {
    const char *file;
    uint32_t place;
    int code;
    pml_error *err;
} pml_json_source;

typedef enum pml_json_need { PML_JSON_OPTIONAL, PML_JSON_REQUIRED } pml_json_need;

/* Parses an object. Duplicate members, NUL characters, invalid UTF-8, integers beyond int64 and text behind the object are
   refused. Returns owned: json_decref. */
int pml_json__parse(json_t **out, pml_bytes text, size_t max, const pml_json_source *src);

/* Members of an object. A member that is null counts as absent. Optional and absent: *out is NULL, or `fallback`. Strings are
   copied into the arena. */
int pml_json__get_string(const char **out, pml_arena *arena, const json_t *object, const char *member,
                         pml_json_need need, const pml_json_source *src);
int pml_json__get_int64(int64_t *out, const json_t *object, const char *member, int64_t first, int64_t last,
                        const pml_json_source *src);
/* *present tells whether it was there. */
int pml_json__find_int64(int64_t *out, bool *present, const json_t *object, const char *member, int64_t first,
                         int64_t last, const pml_json_source *src);
int pml_json__get_array(const json_t **out, const json_t *object, const char *member, pml_json_need need,
                        const pml_json_source *src);
int pml_json__get_object(const json_t **out, const json_t *object, const char *member, pml_json_need need,
                         const pml_json_source *src);
/* An array of strings, in the arena. */
int pml_json__get_strings(const char ***out, size_t *n, pml_arena *arena, const json_t *object, const char *member,
                          pml_json_need need, const pml_json_source *src);
/* Sets the error of the source: "<file>: <message>". */
int pml_json__fail(const pml_json_source *src, int code, const char *format, ...) PML_PRINTF(3, 4);
/* An error that a lower layer has put into src->err gets the file and, when it was PML_E_INVAL, the code of the source. */
int pml_json__adopt(const pml_json_source *src, int rc);

/* ---- writing ---- */
typedef struct pml_json_writer {
    pml_buf *out;
    int depth;   /* open objects and arrays */
    int objects; /* open objects: the indentation */
    bool after_key;
    struct {
        bool object;
        bool filled;
    } open[PML_JSON_DEPTH_MAX];
} pml_json_writer;

void pml_json_writer__init(pml_json_writer *w, pml_buf *out);
void pml_json_writer__begin_object(pml_json_writer *w);
void pml_json_writer__end_object(pml_json_writer *w);
void pml_json_writer__begin_array(pml_json_writer *w);
void pml_json_writer__end_array(pml_json_writer *w);
void pml_json_writer__key(pml_json_writer *w, const char *key);
void pml_json_writer__string(pml_json_writer *w, const char *text);
void pml_json_writer__int64(pml_json_writer *w, int64_t v);
void pml_json_writer__bool(pml_json_writer *w, bool v);
/* key and value in one. A NULL string is left out. */
void pml_json_writer__put_string(pml_json_writer *w, const char *key, const char *text);
void pml_json_writer__put_int64(pml_json_writer *w, const char *key, int64_t v);
/* What went wrong in any of the calls above: PML_OK, PML_E_NOMEM, PML_E_LIMIT. */
int pml_json_writer__finish(pml_json_writer *w);

#endif
