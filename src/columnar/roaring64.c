/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Union of 64-bit bitmaps as Java's Roaring64Bitmap serialises them (HighLowContainer, Containers):
 *
 *   u8 0: empty, and nothing more; 1 | u64 keys | tree (roaring64_tree.h) | u32 1: arrays of containers
 *   u8 -2 | u32 places, then for each: u8 0: none; 1 | u8 kind: 0 runs, 1 bits, 2 values | u32 cardinality | data
 *   u64 containers | u32 0: last array | u32 last place in use
 *
 * A new container goes behind the last place; when there is none, the places become half as many more. So bytes tell how a bitmap came to
 * be, and who wants Java's must do as Java does: the values of b are put into a, in the order of their keys.
 */
#include "columnar/roaring.h"
#include "columnar/roaring64_tree.h"
#include "columnar/roaring_container.h"

enum { PLACES_MAX = 1 << 28, NOT_TRIMMED = 0xfe };

typedef struct place {
    const pml_roaring_container *own, *other; /* what lies there, and what is put into it; NULL: nothing */
} place;

typedef struct bitmap {
    const char *what;
    pml_bytes in;
    size_t at;
    pml_arena *arena;
    pml_error *err;
    pml_roaring64_node *root; /* NULL: empty */
    int64_t n_keys;
    place *places;
    uint32_t n_places;
    int64_t last; /* place in use; -1: there are no arrays */
} bitmap;

static int broken(const bitmap *b, const char *why)
{
    return why == NULL ? PML_OK
                       : pml_error__set(b->err, PML_E_CORRUPT, "a 64-bit bitmap (%s, %zu bytes) is damaged: %s", b->what, b->in.len, why);
}

static const uint8_t *take(bitmap *b, size_t n)
{
    const uint8_t *p = b->in.ptr + b->at;
    if (b->in.len - b->at < n)
        return NULL;
    b->at += n;
    return p;
}

static int read_container(bitmap *b, place *to)
{
    const uint8_t *p = take(b, 5);
    if (p == NULL || p[0] > PML_ROARING_ARRAY)
        return broken(b, "a container is cut off, or of no kind");
    pml_roaring_container *c = pml_arena__array(b->arena, 1, sizeof *c);
    if (c == NULL)
        return pml_error__no_memory(b->err);
    *c = (pml_roaring_container){.kind = (pml_roaring_kind)p[0], .cardinality = pml_le32(p + 1)};
    if (c->cardinality == 0 || c->cardinality > PML_ROARING_VALUES ||
        (c->kind != PML_ROARING_RUNS && (c->cardinality > PML_ROARING_ARRAY_MAX) != (c->kind == PML_ROARING_BITS)))
        return broken(b, "a container has a cardinality that its kind does not have");
    to->own = c;
    return broken(b, pml_roaring_container__take(c, b->in, &b->at));
}

static int read_places(bitmap *b)
{
    const uint8_t *p = take(b, 9);
    int64_t n = 0;
    if (p == NULL || pml_le32(p) != 1)
        return broken(b, "it has not one array of containers");
    uint32_t places = pml_le32(p + 5);
    if (places == 0 || places > PLACES_MAX || places > b->in.len - b->at)
        return broken(b, "it has no containers, or more than bytes");
    b->places = pml_arena__array(b->arena, places, sizeof *b->places);
    if (b->places == NULL)
        return pml_error__no_memory(b->err);
    b->n_places = places;
    for (uint32_t i = 0; i < places; i++) {
        p = take(b, 1);
        if (p == NULL || *p > 1)
            return broken(b, "a container is neither there nor not");
        if (*p == 1)
            PML_RETURN_IF(read_container(b, &b->places[i]));
        n += *p;
    }
    p = take(b, 16);
    if (p == NULL || pml_le64(p) != (uint64_t)n || pml_le32(p + 8) != 0 || pml_le32(p + 12) >= places || n != b->n_keys)
        return broken(b, "its numbers of containers, places and keys do not agree");
    b->last = pml_le32(p + 12);
    return PML_OK;
}

/* Every key has a container of its own: `other` of a place says that a key was there, and is taken back after. */
static int claim(void *arg, const uint8_t *key, uint64_t at)
{
    bitmap *b = arg;
    (void)key;
    if (at >= b->n_places || b->places[at].own == NULL || b->places[at].other != NULL)
        return broken(b, "a key has no container, or that of another one");
    b->places[at].other = b->places[at].own;
    return PML_OK;
}

static int bitmap_read(bitmap *b)
{
    const uint8_t *p = take(b, 1);
    int rc = PML_OK;
    b->last = -1;
    if (p == NULL || *p > 1)
        return broken(b, "it is neither empty nor not");
    if (*p == 0)
        return PML_OK;
    p = take(b, 8);
    if (p == NULL)
        return broken(b, "it is cut off");
    const char *why = pml_roaring64_tree__read(&b->root, &b->n_keys, b->arena, b->in, &b->at, &rc);
    if (rc != PML_OK)
        return pml_error__no_memory(b->err);
    PML_RETURN_IF(broken(b, why));
    if (pml_le64(p) != (uint64_t)b->n_keys)
        return broken(b, "it has another number of keys than it says");
    PML_RETURN_IF(read_places(b));
    PML_RETURN_IF(pml_roaring64_tree__each(b->root, claim, b));
    for (uint32_t i = 0; i < b->n_places; i++)
        b->places[i].other = NULL;
    return PML_OK;
}

/* ---- a union ---- */

/* A place behind the last one. */
static int add_place(bitmap *b, uint64_t *at)
{
    uint32_t need = (uint32_t)(b->last + 2), wider = b->n_places + b->n_places / 2;
    if (need > PLACES_MAX)
        return pml_error__set(b->err, PML_E_LIMIT, "a 64-bit bitmap has more than %d containers", PLACES_MAX);
    if (need > b->n_places) {
        wider = wider < need ? need : wider;
        place *places = pml_arena__array(b->arena, wider, sizeof *places);
        if (places == NULL)
            return pml_error__no_memory(b->err);
        if (b->n_places > 0)
            memcpy(places, b->places, b->n_places * sizeof *places);
        b->places = places;
        b->n_places = wider;
    }
    *at = (uint64_t)++b->last;
    return PML_OK;
}

typedef struct joining {
    bitmap *into, *from;
} joining;

static int join_key(void *arg, const uint8_t *key, uint64_t from)
{
    joining *j = arg;
    uint64_t at;
    const pml_roaring_container *c = j->from->places[from].own;
    if (pml_roaring64_tree__find(&at, j->into->root, key)) {
        j->into->places[at].other = c;
        return PML_OK;
    }
    PML_RETURN_IF(add_place(j->into, &at));
    if (j->into->places[at].own != NULL)
        return broken(j->into, "a container lies behind its last place");
    j->into->places[at].own = c;
    j->into->n_keys++;
    return pml_roaring64_tree__insert(&j->into->root, j->into->arena, key, at) == PML_OK ? PML_OK : pml_error__no_memory(j->into->err);
}

/* ---- writing ---- */

static void put(pml_buf *out, uint64_t v, size_t width)
{
    uint8_t bytes[8];
    pml_put_le64(bytes, v);
    (void)pml_buf__append(out, bytes, width);
}

/* Roaring64Bitmap.runOptimize makes runs, but leaves those that there are. */
static int write_place(pml_buf *out, const bitmap *b, const place *p)
{
    uint64_t words[PML_ROARING_WORDS] = {0};
    uint32_t cardinality, runs;
    bool joined = p->other != NULL, was_runs = p->own->kind == PML_ROARING_RUNS || (joined && p->other->kind == PML_ROARING_RUNS),
         was_bits = p->own->kind == PML_ROARING_BITS || (joined && p->other->kind == PML_ROARING_BITS);
    PML_RETURN_IF(broken(b, pml_roaring_container__lay(words, p->own)));
    if (joined)
        PML_RETURN_IF(broken(b, pml_roaring_container__lay(words, p->other)));
    pml_roaring__count(words, &cardinality, &runs);
    pml_roaring_kind kind = !joined && was_runs ? PML_ROARING_RUNS : pml_roaring__optimized(cardinality, runs, was_runs && !was_bits);
    put(out, 1, 1);
    put(out, kind, 1);
    put(out, cardinality, 4);
    if (!joined && was_runs) { /* also where two of them could be one */
        put(out, p->own->data.len / 4, 2);
        return pml_buf__append(out, p->own->data.ptr, p->own->data.len);
    }
    return pml_roaring__write(out, words, runs, kind);
}

static int bitmap_write(pml_buf *out, const bitmap *b)
{
    put(out, b->root != NULL, 1);
    if (b->root == NULL)
        return pml_buf__check(out, b->err);
    put(out, (uint64_t)b->n_keys, 8);
    (void)pml_roaring64_tree__write(out, b->root);
    put(out, 1, 4);
    put(out, NOT_TRIMMED, 1);
    put(out, b->n_places, 4);
    for (uint32_t i = 0; i < b->n_places && out->rc == PML_OK; i++) {
        if (b->places[i].own == NULL) {
            put(out, 0, 1);
            continue;
        }
        int rc = write_place(out, b, &b->places[i]);
        if (rc == PML_E_CORRUPT)
            return rc;
    }
    put(out, (uint64_t)b->n_keys, 8);
    put(out, 0, 4);
    put(out, (uint64_t)b->last, 4);
    return pml_buf__check(out, b->err);
}

int pml_roaring64__union(pml_buf *out, pml_bytes a, pml_bytes b, pml_error *err)
{
    pml_arena arena;
    int rc;
    pml_arena__init(&arena, out->env);
    bitmap into = {.what = "the first", .in = a, .arena = &arena, .err = err}, from = {.what = "the second", .in = b, .arena = &arena, .err = err};
    PML_TRY(bitmap_read(&into));
    PML_TRY(bitmap_read(&from));
    joining j = {&into, &from};
    PML_TRY(pml_roaring64_tree__each(from.root, join_key, &j));
    rc = bitmap_write(out, &into);
out:
    pml_arena__clear(&arena);
    return rc;
}
