/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that compile a schema share: the state of it, and names. Internal to format/avro_schema.c and avro_names.c. */
#ifndef PML_FORMAT_AVRO_COMPILER_H
#define PML_FORMAT_AVRO_COMPILER_H

#include <jansson.h>

#include "format/avro_schema.h"
#include "util/map.h"

typedef struct avro_named {
    const char *space; /* namespace the type was declared in, "" for none; not NUL-terminated */
    size_t space_len;
    const char *name;
    size_t name_len;
    const json_t *type;
} avro_named;

typedef struct avro_limits {
    size_t ops, names;
    uint32_t steps; /* types compiled: records without fields multiply without emitting anything */
    int depth;
} avro_limits;

typedef struct avro_compiler {
    pml_env *env;
    const char *file;
    pml_error *err;
    const avro_limits *limits;
    bool *found; /* NULL: a manifest; else by slot, the columns that the file has */
    bool own;    /* Paimon wrote the file, with just the wanted columns */
    pml_avro_op *ops;
    size_t n_ops, cap_ops;
    avro_named *names;
    size_t n_names;
    uint32_t steps;
} avro_compiler;

/* What a type is compiled for. */
typedef struct avro_place {
    const pml_avro_field *want; /* NULL: skip it */
    uint32_t slot;
    int depth;
    const char *space; /* enclosing namespace */
    size_t space_len;
} avro_place;

/* PML_E_CORRUPT: the schema is not valid. name NULL: of nothing in particular. */
int pml_avro_compiler__corrupt(avro_compiler *c, const char *what, const char *name);

/* ---- named types ---- */

/* Splits a name into namespace and rest: the part before the last dot, else the namespace given. */
void pml_avro_names__split(avro_named *out, const char *name, const char *space, size_t space_len);
bool pml_avro_names__equal(const avro_named *a, const avro_named *b);
const avro_named *pml_avro_names__find(const avro_compiler *c, const avro_named *key);
/* Declares the named type and changes the place's namespace to its own. A type compiled again through a reference is the same
   JSON object and stays declared once. */
int pml_avro_names__declare(avro_compiler *c, const json_t *type, avro_place *at);

/* ---- wanted fields ---- */

/* From this many wanted fields on they are found through a map, unless they come in the file's order. */
enum { MAP_FROM = 64 };

/* The fields that a record is asked for. */
typedef struct avro_wanted {
    const pml_avro_field *fields;
    size_t n, next; /* next: behind the last one found, where the next one is looked for first */
    bool seen[MAP_FROM];
    pml_map by_name; /* empty unless there are many */
} avro_wanted;

int pml_avro_wanted__init(avro_wanted *w, const avro_compiler *c, const pml_avro_field *fields, size_t n);
void pml_avro_wanted__clear(avro_wanted *w);
/* NULL: nobody wants it. */
const pml_avro_field *pml_avro_wanted__find(avro_wanted *w, const char *name);
/* Where it is noted that the file has the field. */
bool *pml_avro_wanted__seen(const avro_compiler *c, avro_wanted *w, const pml_avro_field *field);

#endif
