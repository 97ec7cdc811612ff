/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with a primary key whose rows follow from their numbers, one for each merge engine and option of weight; and a plain reading of
 * what those engines make of rows: all rows of a key in a list, one sort, one loop. Nothing of src/merge is used.
 */
#ifndef PML_TESTS_RT_KEYED_H
#define PML_TESTS_RT_KEYED_H

#include <paimonlive/arrow_c.h>
#include <paimonlive/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns as letters: i BIGINT the key, d STRING the partition, and g, s, a INT, b STRING, c BIGINT. */
enum { RT_KEYED_KEYS = 12, RT_KEYED_VALUES = 5 };

typedef enum rt_engine { RT_LAST, RT_FIRST, RT_PARTIAL, RT_AGGREGATE } rt_engine;

typedef struct rt_variant {
    const char *name, *options; /* JSON members of the table's options */
    const char *kinds;          /* digits: those that writes draw from */
    rt_engine engine;
    const char *sequence; /* letters of the sequence fields, or "" */
    bool descending, ignore_delete, ignore_before, remove_on_delete;
    const char *groups;      /* of g, s, a, b, c: the letter of the version column of its group, '-': none; NULL: no groups */
    const char *functions;   /* of the same: s sum, l listagg, m max, v last value, n last that is not null, '-': none */
    bool hides_level_0; /* from reads without a context */
} rt_variant;

extern const rt_variant rt_variants[];
extern const size_t rt_n_variants;

typedef struct rt_keyed_row {
    int64_t key, numbers[RT_KEYED_VALUES];
    bool nulls[RT_KEYED_VALUES];
    const char *text; /* of b; borrowed of the reference */
    int8_t kind;
    int32_t level;
    size_t at;  /* age */
    size_t run; /* rows of one run have the same number, those of its neighbours another */
} rt_keyed_row;

int64_t rt_keyed_key(uint64_t salt, int64_t id);
int8_t rt_keyed_kind(const rt_variant *v, uint64_t salt, int64_t id);
/* Whether writers pass over the row. */
bool rt_keyed_is_dropped(const rt_variant *v, int8_t kind);
/* The column of rows by their ids, or of rows as they are (then ids is NULL). */
struct ArrowArray rt_keyed_column(char letter, uint64_t salt, int64_t n, const int64_t *ids, const rt_keyed_row *rows);

/* ---- what must be shown ---- */
typedef struct rt_reference {
    const rt_variant *v;
    uint64_t salt;
    rt_keyed_row *rows;
    size_t n, cap, open; /* open: first row of the segment at hand */
    size_t next_at, next_run;
    char **texts;
    size_t n_texts, cap_texts;
} rt_reference;

void rt_reference_init(rt_reference *r, const rt_variant *v, uint64_t salt);
void rt_reference_clear(rt_reference *r);
void rt_reference_add(rt_reference *r, int64_t id);
/* What was added since the last call was a segment: it becomes one run of a row per key. */
void rt_reference_close(rt_reference *r);
/* All runs become one of the highest level, without deletes. */
void rt_reference_compact(rt_reference *r);
size_t rt_reference_runs(const rt_reference *r);
/* The oldest `skip` runs stay, and one is made of the n behind them; deletes go where nothing is older. The rows of that one, borrowed. */
const rt_keyed_row *rt_reference_compact_some(size_t *n_rows, rt_reference *r, size_t skip, size_t n);
void rt_reference_drop_level_0(rt_reference *r);
/* The rows that a read shows: one of each key, no deletes. */
void rt_reference_answer(rt_reference *r);

/* ---- rows as lines ---- */
typedef struct rt_lines {
    char **v;
    size_t n, cap;
} rt_lines;

void rt_lines_add(rt_lines *lines, char *line); /* moved: malloc'ed */
void rt_lines_copy(rt_lines *to, const rt_lines *from);
void rt_lines_clear(rt_lines *lines);
/* The wanted lines and no others; limit >= 0: that many of them. False: and why. */
bool rt_lines_equal(rt_lines *got, rt_lines *want, int64_t limit, char *wrong, size_t size);
/* Of a row of the reference, in these columns; partition: of d. */
char *rt_keyed_line(const rt_keyed_row *row, const char *columns, const char *partition);
/* Of a row of a batch. */
char *rt_keyed_line_of(const struct ArrowArray *batch, int64_t row, const char *columns);

#endif
