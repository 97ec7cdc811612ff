/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow arrays and schemas of a caller, with lengths, offsets, null counts and pointers that lie. What the full check lets through
 * is used: printed, gathered, put together, measured. Buffers are as long as the array says and texts as long as its offsets may
 * say, since the C interface gives no sizes: those two must be believed.
 */
#include "columnar/batch.h"
#include "columnar/row_text.h"
#include "fuzz.h"

FUZZ_MEMORY(16 * MIB);

enum { ROWS_MAX = 40, OFFSET_MAX = 8, TEXT_BYTES = 512, BUFFERS = 3 };

static const char *const types[] = {"INT",          "BIGINT NOT NULL",   "STRING",         "BYTES",
                                    "BOOLEAN",      "DECIMAL(10, 2)",    "TIME",           "TIMESTAMP(9)",
                                    "ARRAY<INT>",   "ROW<a INT, b STRING NOT NULL>", "MAP<STRING, INT>", "ARRAY<ROW<x ARRAY<STRING>>>",
                                    "VECTOR<FLOAT, 3>", "MULTISET<STRING>"};
enum { TYPES = sizeof types / sizeof types[0] };

static struct {
    pml_arena arena;
    pml_field fields[TYPES];
} world;

static void world_drop(void)
{
    pml_arena__clear(&world.arena);
}

static void world_make(void)
{
    pml_error err = PML_ERROR_INIT;
    int32_t id = TYPES;
    pml_arena__init(&world.arena, fuzz_env()->env);
    for (size_t i = 0; i < TYPES; i++) {
        world.fields[i] = (pml_field){.id = (int32_t)i, .name = types[i]};
        must_ok(pml_type__parse(&world.fields[i].type, &world.arena, types[i], strlen(types[i]), &id, &err), &err);
    }
    (void)atexit(world_drop);
}

/* ---- arrays: structs lie in one arena, buffers are blocks of exactly their size, so that a read outside is seen ---- */

enum { BLOCKS_MAX = 1024 };
static void *blocks[BLOCKS_MAX];
static size_t n_blocks;

static void *block(size_t n)
{
    void *p = calloc(1, n);
    FUZZ_CHECK(p != NULL && n_blocks < BLOCKS_MAX, "no memory");
    blocks[n_blocks++] = p;
    return p;
}

static void blocks_free(void)
{
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
}

static void nothing_to_release(struct ArrowArray *a)
{
    a->release = NULL;
}

static void *room(pml_arena *arena, size_t n)
{
    void *p = pml_arena__alloc(arena, n);
    FUZZ_CHECK(p != NULL, "no memory");
    return p;
}

static void fill(uint8_t *p, size_t n, fuzz_input *in)
{
    uint64_t seed = fuzz_u8(in) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33);
}

/* Mostly offsets that rise by small steps. */
static void fill_offsets(int32_t *p, size_t n, fuzz_input *in, int32_t limit)
{
    int32_t at = fuzz_u8(in) % 4, step = fuzz_u8(in) % 4;
    for (size_t i = 0; i < n; i++, at += step)
        p[i] = at < limit ? at : limit;
    for (int lies = fuzz_u8(in) % 4; lies > 1; lies--)
        p[fuzz_u8(in) % n] = (int32_t)fuzz_u8(in) - 8;
}

static struct ArrowArray *array_of(fuzz_input *in, pml_arena *arena, const pml_type *t, int64_t rows, int depth);

static void make_children(struct ArrowArray *a, fuzz_input *in, pml_arena *arena, const pml_type *t, int depth)
{
    static const pml_field count = {.name = "value", .type = {.kind = PML_TYPE_INT}};
    int64_t below = a->length + a->offset;
    const struct ArrowArray empty = {0};
    if (t->kind == PML_TYPE_ARRAY || t->kind == PML_TYPE_MAP || t->kind == PML_TYPE_MULTISET)
        below = fuzz_u8(in) % ROWS_MAX;
    if (t->kind == PML_TYPE_VECTOR)
        below *= t->length;
    bool map = t->kind == PML_TYPE_MAP || t->kind == PML_TYPE_MULTISET;
    size_t n = t->n_children + (t->kind == PML_TYPE_MULTISET ? 1 : 0);
    struct ArrowArray **children = room(arena, (n + 1) * sizeof *children);
    for (size_t i = 0; i < n; i++)
        children[i] = array_of(in, arena, i < t->n_children ? &t->children[i].type : &count.type, below, depth + 1);
    if (map) {
        struct ArrowArray *entries = room(arena, sizeof *entries);
        *entries = empty;
        entries->length = below - fuzz_u8(in) % 2;
        entries->n_buffers = 1;
        entries->buffers = room(arena, BUFFERS * sizeof(void *));
        entries->n_children = 2;
        entries->children = children;
        entries->release = nothing_to_release;
        children = room(arena, 2 * sizeof *children);
        children[0] = entries;
        n = 1;
    }
    a->children = children;
    a->n_children = (int64_t)n;
}

static void tell_lies(struct ArrowArray *a, fuzz_input *in)
{
    switch (fuzz_u8(in) % 64) {
    case 1: a->n_buffers = fuzz_u8(in) % 4; break;
    case 2: a->n_children = fuzz_u8(in) % 3 < a->n_children ? 0 : a->n_children; break;
    case 3: a->null_count = (int64_t)fuzz_u64(in); break;
    case 4: a->length = (int64_t)(fuzz_u64(in) | (UINT64_C(1) << 63)); break;
    case 5: a->length -= fuzz_u8(in) % 4; break;
    case 6: a->buffers[fuzz_u8(in) % 3] = NULL; break;
    case 7: a->buffers = NULL; break;
    case 8: a->release = NULL; break;
    case 9: a->children = NULL; break;
    case 10: a->offset = -(int64_t)(fuzz_u64(in) >> 1) - 1; break;
    case 11: a->dictionary = a; break;
    default: break;
    }
}

static struct ArrowArray *array_of(fuzz_input *in, pml_arena *arena, const pml_type *t, int64_t rows, int depth)
{
    struct ArrowArray *a = room(arena, sizeof *a);
    uint8_t shape = fuzz_u8(in);
    a->offset = shape % 8 == 1 ? fuzz_u8(in) % OFFSET_MAX : 0;
    a->length = rows;
    a->null_count = shape % 3 == 0 ? -1 : 0;
    a->buffers = room(arena, BUFFERS * sizeof(void *));
    a->release = nothing_to_release;
    size_t total = (size_t)(a->offset + rows) + 1;
    if (shape % 3 == 0) {
        a->buffers[0] = block(total / 8 + 1);
        fill((uint8_t *)(uintptr_t)a->buffers[0], total / 8 + 1, in);
    }
    bool text = t->kind >= PML_TYPE_CHAR && t->kind <= PML_TYPE_VARBINARY;
    bool list = t->kind == PML_TYPE_ARRAY || t->kind == PML_TYPE_MAP || t->kind == PML_TYPE_MULTISET;
    if (text || list) {
        int32_t *offsets = block(total * sizeof *offsets);
        fill_offsets(offsets, total, in, list ? ROWS_MAX : TEXT_BYTES - 256);
        a->buffers[1] = offsets;
    } else if (t->kind != PML_TYPE_ROW && t->kind != PML_TYPE_VECTOR) {
        uint8_t *values = block(total * 16);
        fill(values, fuzz_u8(in) % 2 == 0 ? total : total * 16, in);
        a->buffers[1] = values;
    }
    if (text) {
        char *bytes = block(TEXT_BYTES);
        memset(bytes, 'a' + shape % 8, TEXT_BYTES);
        bytes[fuzz_u8(in)] = (char)fuzz_u8(in);
        a->buffers[2] = bytes;
    }
    a->n_buffers = text ? 3 : t->kind == PML_TYPE_ROW || t->kind == PML_TYPE_VECTOR ? 1 : 2;
    if (pml_type__is_nested(t))
        make_children(a, in, arena, t, depth);
    tell_lies(a, in);
    return a;
}

/* ---- use ---- */

static void use_batch(const struct ArrowArray *batch, const pml_field *fields, size_t n)
{
    pml_env *env = fuzz_env()->env;
    pml_error err = PML_ERROR_INIT;
    struct ArrowArray out;
    pml_stats_collector *stats;
    pml_buf text;
    const struct ArrowArray *const twice[] = {batch, batch};
    pml_buf__init(&text, env, 8 * MIB);
    for (size_t i = 0; i < n; i++)
        for (int64_t row = 0; row < batch->length; row++)
            must_ok(pml_row_text__append(&text, &fields[i].type, batch->children[i], batch->offset + row), NULL);
    pml_buf__clear(&text);
    must_ok(pml_batch__gather_rows(&out, env, fields, n, batch, NULL, batch->length, &err), &err);
    must_ok(pml_batch__check(&out, fields, n, PML_CHECK_FULL, &err), &err);
    out.release(&out);
    must_ok(pml_batch__concat(&out, env, fields, n, twice, 2, &err), &err);
    must_ok(pml_batch__check(&out, fields, n, PML_CHECK_FULL, &err), &err);
    out.release(&out);
    must_ok(pml_stats__new(&stats, env, fields, n, &err), &err);
    must_ok(pml_stats__update(stats, batch, &err), &err);
    pml_stats__free(stats);
    (void)pml_batch__bytes(batch, fields, n);
}

/* A schema of one child whose format and type come from the input. */
static void use_schema(fuzz_input *in, pml_arena *arena)
{
    pml_error err = PML_ERROR_INIT;
    pml_field *fields;
    size_t n;
    struct ArrowSchema schema, copy = {0};
    must_ok(pml_type__export(&schema, fuzz_env()->env, &world.fields[fuzz_u8(in) % TYPES], 1, &err), &err);
    struct ArrowSchema *child = schema.children[0];
    const char *format = child->format, *name = child->name;
    pml_bytes b = fuzz_bytes(in);
    child->format = pml_arena__strndup(arena, (const char *)b.ptr, b.len);
    b = fuzz_bytes(in);
    child->name = pml_arena__strndup(arena, (const char *)b.ptr, b.len);
    const char *metadata = child->metadata;
    if (fuzz_u8(in) % 2 == 0)
        child->metadata = NULL; /* else the format alone tells the type */
    fuzz_must_be_answer(pml_row_text__fields(&fields, &n, arena, &schema, &err), &err);
    fuzz_must_be_answer(pml_type__check_arrow(&schema, world.fields, TYPES, &err), &err);
    int rc = pml_schema__copy(&copy, fuzz_env()->env, &schema, &err);
    fuzz_must_be_answer(rc, &err);
    if (rc == PML_OK)
        copy.release(&copy);
    child->format = format;
    child->name = name;
    child->metadata = metadata;
    schema.release(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input in = {data, len};
    pml_error err = PML_ERROR_INIT;
    pml_arena arena;
    pml_field fields[4];
    if (world.arena.env == NULL)
        world_make();
    fuzz_begin();
    pml_arena__init(&arena, fuzz_env()->env);
    size_t n = 1 + fuzz_u8(&in) % 4;
    for (size_t i = 0; i < n; i++)
        fields[i] = world.fields[fuzz_u8(&in) % TYPES];
    int64_t rows = fuzz_u8(&in) % ROWS_MAX;
    struct ArrowArray **children = room(&arena, (n + 1) * sizeof *children);
    for (size_t i = 0; i < n; i++)
        children[i] = array_of(&in, &arena, &fields[i].type, rows, 0);
    const void *no_buffer = NULL;
    struct ArrowArray batch = {.length = rows, .n_buffers = 1, .buffers = &no_buffer, .n_children = (int64_t)n, .children = children,
                               .release = nothing_to_release};
    for (pml_check_level level = PML_CHECK_TRUSTED; level <= PML_CHECK_FULL; level++) {
        int rc = pml_batch__check(&batch, fields, n, level, &err);
        fuzz_must_be_answer(rc, &err);
        if (rc == PML_OK && level == PML_CHECK_FULL)
            use_batch(&batch, fields, n);
    }
    use_schema(&in, &arena);
    blocks_free();
    pml_arena__clear(&arena);
    fuzz_end();
    return 0;
}
