/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/key_prefix.h"

#include <assert.h>

enum { TEXT_BITS_MIN = 16, PREFIX_ALWAYS = 255, PREFIX_NEVER = -1 };

/* Bits that settle a column, 0: as many as there are. */
static int column_bits(const pml_type *t)
{
    pml_key_kind kind = pml_key__kind(t);
    if (kind == PML_KEY_INT128)
        return t->precision <= 18 ? 64 : 128;
    if (kind == PML_KEY_TEXT)
        return 0;
    return t->kind == PML_TYPE_BOOLEAN ? 8 : (int)pml_layout__width(t) * 8;
}

int pml_prefix_form__init(pml_prefix_form *out, pml_arena *arena, const pml_merge_layout *layout, pml_error *err)
{
    int room = PML_PREFIX_BITS;
    *out = (pml_prefix_form){.columns = pml_arena__array(arena, layout->n_keys, sizeof *out->columns), .settled_max = PREFIX_ALWAYS};
    if (out->columns == NULL && layout->n_keys > 0)
        return pml_error__no_memory(err);
    for (size_t i = 0; i < layout->n_keys; i++) {
        const pml_field *f = &layout->fields[layout->keys[i]];
        if (pml_key__kind(&f->type) == PML_KEY_NONE || f->type.kind == PML_TYPE_BLOB)
            return pml_error__set(err, PML_E_UNSUPPORTED, "needs key-of-type: the %s column %s cannot be a key",
                                  pml_type__word(f->type.kind), f->name);
        int bits = column_bits(&f->type), given = bits == 0 || bits > room ? room : bits;
        bool text = bits == 0;
        if (out->settled_max != PREFIX_ALWAYS || given == 0 || (text && given < TEXT_BITS_MIN)) {
            out->settled_max = PREFIX_NEVER;
            continue; /* the others are checked, too */
        }
        room -= given;
        out->columns[out->n++] = (pml_prefix_column){&f->type, layout->keys[i], given, room + PML_PREFIX_RUN_BITS};
        if (text)
            out->settled_max = given / 8 - 1;
        else if (given < bits)
            out->settled_max = PREFIX_NEVER;
    }
    return PML_OK;
}

/* The first column also sets the run. */
#define PUT(value) out[i] = (first ? run : out[i]) | (pml_key_prefix)(value) << c->shift

static void load_integers(pml_key_prefix *out, const pml_prefix_column *c, const struct ArrowArray *a, int64_t row,
                          int64_t n, bool first, uint16_t run)
{
    int64_t keys[PML_KEYS_CHUNK];
    int bits = column_bits(c->type), cut = bits - c->bits;
    assert(bits > 0 && bits <= 64);
    uint64_t sign = (uint64_t)1 << (bits - 1), mask = UINT64_MAX >> (64 - bits);
    pml_keys__load(keys, c->type, a, row, n);
    if (pml_type__is_float(c->type))
        for (int64_t i = 0; i < n; i++)
            keys[i] += keys[i] == -1; /* -0.0 is the same key as 0.0 */
    for (int64_t i = 0; i < n; i++)
        PUT((((uint64_t)keys[i] + sign) & mask) >> cut);
}

static void load_decimals(pml_key_prefix *out, const pml_prefix_column *c, const struct ArrowArray *a, int64_t row,
                          int64_t n, bool first, uint16_t run)
{
    pml_int128 keys[PML_KEYS_CHUNK];
    int bits = column_bits(c->type), cut = bits - c->bits;
    pml_keys__load_decimals(keys, a, row, n);
    for (int64_t i = 0; i < n; i++) {
        pml_int128 v = keys[i];
        if (bits == 64) /* what the precision cannot hold is damage, but must not become a small number */
            v = v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : v;
        pml_key_prefix turned =
            bits == 64 ? (uint64_t)v + ((uint64_t)1 << 63) : (pml_key_prefix)v + ((pml_key_prefix)1 << 127);
        PUT(turned >> cut);
    }
}

/* The first 16 bytes of a text as a number, zeros behind its end. Up to `end` bytes may be read. */
static pml_key_prefix text_head(pml_bytes v, const uint8_t *end)
{
    uint8_t head[16] = {0};
    const uint8_t *p = head;
    if (v.len >= sizeof head || (v.len > 0 && end - v.ptr >= (int64_t)sizeof head))
        p = v.ptr;
    else if (v.len > 0)
        memcpy(head, v.ptr, v.len);
    pml_key_prefix n = (pml_key_prefix)pml_be64(p) << 64 | pml_be64(p + 8);
    return v.len >= sizeof head ? n : v.len == 0 ? 0 : n & ~(~(pml_key_prefix)0 >> (8 * v.len));
}

static void common_cut(pml_prefix_form *form, pml_bytes key)
{
    size_t n = 0;
    while (n < form->n_common && n < key.len && form->common[n] == key.ptr[n])
        n++;
    form->changed = form->changed || n < form->n_common;
    form->n_common = n;
}

void pml_prefix_form__meet(pml_prefix_form *form, const struct ArrowArray *batch)
{
    if (form->n == 0 || pml_key__kind(form->columns[0].type) != PML_KEY_TEXT)
        return;
    const struct ArrowArray *a = batch->children[form->columns[0].position];
    if (!form->met) {
        pml_bytes first = pml_text_at(a, 0);
        /* Short ones fit as they are. */
        form->n_common = first.len <= (size_t)form->columns[0].bits / 8 - 1 ? 0 : first.len;
        if (form->n_common > sizeof form->common)
            form->n_common = sizeof form->common;
        if (form->n_common > 0)
            memcpy(form->common, first.ptr, form->n_common);
    }
    if (form->n_common > 0) {
        common_cut(form, pml_text_at(a, 0));
        common_cut(form, pml_text_at(a, batch->length - 1));
    }
    if (!form->met)
        form->changed = false; /* there were none before */
    form->met = true;
}

void pml_prefix_form__meet_all(pml_prefix_form *form, const struct ArrowArray *batch)
{
    pml_prefix_form__meet(form, batch);
    if (!form->met)
        return; /* the first column is no text */
    for (int64_t i = 1; form->n_common > 0 && i < batch->length; i++)
        common_cut(form, pml_text_at(batch->children[form->columns[0].position], i));
}

static int64_t load_texts(pml_key_prefix *out, const pml_prefix_form *form, const pml_prefix_column *c, const struct ArrowArray *a,
                          int64_t row, int64_t n, uint16_t run)
{
    bool first = c == form->columns;
    size_t room = (size_t)c->bits / 8 - 1, skip = first ? form->n_common : 0;
    const uint8_t *end = a->buffers[2];
    end = end == NULL ? NULL : end + pml_load_i32(a->buffers[1], a->offset + a->length);
    for (int64_t i = 0; i < n; i++) {
        pml_bytes v = pml_text_at(a, row + i);
        if (skip > 0) {
            if (v.len < skip || memcmp(v.ptr, form->common, skip) != 0)
                return i;
            v.ptr += skip;
            v.len -= skip;
        }
        pml_key_prefix head = text_head(v, end) >> (128 - 8 * room);
        PUT(head << 8 | (v.len <= room ? v.len : room + 1));
    }
    return n;
}

int64_t pml_prefix_form__load(pml_key_prefix *out, const pml_prefix_form *form, const struct ArrowArray *batch, int64_t row,
                              int64_t n, uint16_t run)
{
    int64_t good = n;
    for (size_t k = 0; k < form->n && good == n; k++) {
        const pml_prefix_column *c = &form->columns[k];
        const struct ArrowArray *a = batch->children[c->position];
        pml_key_kind kind = pml_key__kind(c->type);
        if (kind == PML_KEY_TEXT)
            good = load_texts(out, form, c, a, row, n, run);
        else if (kind == PML_KEY_INT128)
            load_decimals(out, c, a, row, n, k == 0, run);
        else
            load_integers(out, c, a, row, n, k == 0, run);
    }
    for (int64_t i = 0; form->n == 0 && i < n; i++)
        out[i] = run;
    return good;
}
