/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durable progress (realtime.md 7.1, 7.2): per partition-bucket the exclusive end of the offsets that are in the table's files,
 * as a map in memory and as the file <branch root>/metadata/<uuid>.offsets that the snapshot property realtime.offsets names.
 *
 * The file is UTF-8 JSON with four blanks per level, laid out as other implementations write it:
 *
 *     {
 *         "version": 1,
 *         "offsets": [
 *             {
 *                 "partition": {
 *                     "dt": "2026-01-01"
 *                 },
 *                 "bucket": 0,
 *                 "offset": 12
 *             }
 *         ]
 *     }
 *
 * Entries are sorted by partition (keys and values in byte order), then bucket; no newline at the end; an empty object is {},
 * an empty array []. Our own members, all optional, follow the three in the order lineage, commitUser, commitIdentifier,
 * sequence, rows, lost, reset. Members that we do not know are ignored and not kept.
 *
 * A lineage is the random name of one unbroken history of offsets (7.6). A reset does not remove an entry: it leaves a mark
 * with offset 0, a new lineage and the snapshot of the reset. A lost entry keeps its last known values. So the absence of an
 * entry means "never committed" and nothing else (I22).
 */
#ifndef PML_REALTIME_RT_OFFSETS_H
#define PML_REALTIME_RT_OFFSETS_H

#include "meta/data_file.h"
#include "realtime/rt_pb.h"

#define PML_PROGRESS_PROPERTY "realtime.offsets"
#define PML_PROGRESS_SUFFIX ".offsets"

enum {
    PML_PROGRESS_FILE_MAX = 64 * 1024 * 1024, /* the JSON parser holds the whole file: 150,000 entries with all members */
    PML_PROGRESS_ENTRIES_MAX = 1024 * 1024,   /* the shortest entry has more than 64 bytes */
    PML_LINEAGE_BYTES = 16,
    PML_LINEAGE_TEXT = 33 /* hex and NUL */
};

/* Unknown (another implementation wrote the entry) equals anything. */
typedef struct pml_lineage {
    bool known;
    uint8_t bytes[PML_LINEAGE_BYTES];
} pml_lineage;

/* Both known and different: they are two histories (I21). */
bool pml_lineage__conflicts(const pml_lineage *a, const pml_lineage *b);
int pml_lineage__draw(pml_lineage *out, pml_env *env, pml_error *err);
void pml_lineage__print(char out[PML_LINEAGE_TEXT], const pml_lineage *l); /* "" when unknown */
bool pml_lineage__parse(pml_lineage *out, const char *text);

typedef struct pml_progress_entry {
    pml_pb_texts pb;
    int64_t end; /* exclusive */
    bool lost;   /* end is the last known value, not the true one */
    pml_lineage lineage;
    const char *commit_user; /* the commit that last moved this entry; NULL: unknown */
    pml_optional_int64 commit_identifier, sequence, rows;
    pml_optional_int64 reset; /* snapshot of the reset; end is 0 then */
} pml_progress_entry;

/* One map; everything lives in its arena. Not changed any more once others see it. */
typedef struct pml_progress {
    pml_arena arena;
    size_t n_keys;
    const char *const *keys; /* partition keys of the table */
    size_t n, cap;
    pml_progress_entry *v;
    pml_map index; /* encoded texts -> entry number + 1 */
    bool all_lost; /* nothing is known of any partition-bucket: treat each as lost */
} pml_progress;

/* keys are copied. After a failure pml_progress__clear is still due. */
int pml_progress__init(pml_progress *p, pml_env *env, size_t n_keys, const char *const *keys, pml_error *err);
void pml_progress__clear(pml_progress *p);
/* NULL when absent. Valid until the next add. */
pml_progress_entry *pml_progress__find(const pml_progress *p, const pml_pb_texts *pb);
/* A new entry without values. PML_E_EXISTS when there is one, PML_E_LIMIT. Texts are copied. */
int pml_progress__add(pml_progress_entry **out, pml_progress *p, const pml_pb_texts *pb, pml_error *err);
/* A new entry with the values of another map's. */
int pml_progress__add_copy(pml_progress *p, const pml_progress_entry *from, pml_error *err);
/* Entry numbers in the order of the file, in the arena; p is not otherwise changed. */
int pml_progress__sorted(size_t **order, pml_progress *p, pml_error *err);

/* Numbers of the partition keys in byte order of their names: order[n_keys]. */
void pml_progress__key_order(size_t *order, const pml_progress *p);

/* ---- the file's text (rt_offsets_json.c) ---- */
/* p is an initialised, empty map. PML_E_CORRUPT (with file and entry number), PML_E_UNSUPPORTED (version), PML_E_LIMIT. */
int pml_progress__parse(pml_progress *p, pml_bytes json, const char *name, pml_error *err);
/* The buffer's limit should be PML_PROGRESS_FILE_MAX: PML_E_LIMIT past it. */
int pml_progress__write(pml_buf *out, pml_progress *p, pml_error *err);

/* ---- files (rt_offsets_file.c) ---- */
/* Where the file that a property names may be, best first; NULL-terminated, owned: pml_progress__free_paths. table_root is the
   root of all branches. PML_E_CORRUPT for a value that cannot be a progress file. */
enum { PML_PROGRESS_PATHS = 4 };
int pml_progress__paths(char *paths[PML_PROGRESS_PATHS], pml_env *env, const char *table_root, const char *branch_root,
                        const char *value, pml_error *err);
void pml_progress__free_paths(pml_env *env, char *paths[PML_PROGRESS_PATHS]);
/* Reads the file of a property into an initialised, empty map. PML_E_NOT_FOUND when it is in none of the places. */
int pml_progress__read_file(pml_progress *p, pml_env *env, const char *table_root, const char *branch_root, const char *value,
                            pml_error *err);
/* Writes a new durable file and returns what the property says (owned). */
int pml_progress__write_file(char **value, pml_progress *p, pml_env *env, const char *branch_root, uint32_t flags, pml_error *err);
/* Whether any branch has a progress file: the sign that there was progress once. */
int pml_progress__any_file(bool *out, pml_env *env, const char *table_root, pml_error *err);

#endif
