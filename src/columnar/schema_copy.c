/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies of Arrow schemas: a stream gives its schema away as often as it is asked. */
#include "columnar/batch.h"

#include "columnar/array_memory.h"

/* One allocation for each node: its texts lie behind the structs of its children. */
typedef struct schema_block {
    pml_env *env;
    struct ArrowSchema dictionary;
    struct ArrowSchema *children[];
} schema_block;

enum { SCHEMA_DEPTH_MAX = 2 * PML_TYPE_DEPTH_MAX + 8, SCHEMA_METADATA_PAIRS_MAX = 65536 };

static void schema_release(struct ArrowSchema *s)
{
    schema_block *b = s->private_data;
    pml_env *env = b->env;
    for (int64_t i = 0; i < s->n_children; i++)
        pml_schema__release(s->children[i]);
    if (s->dictionary != NULL)
        pml_schema__release(s->dictionary);
    s->release = NULL;
    pml_env__free(env, b);
    pml_env_release(env);
}

/* Arrow's metadata form: int32 pairs, then per pair int32 length and bytes of key and value. It carries no total length. */
static int metadata_bytes(size_t *out, const char *metadata, pml_error *err)
{
    *out = 0;
    if (metadata == NULL)
        return PML_OK;
    int32_t pairs = pml_load_i32(metadata, 0);
    size_t at = 4;
    if (pairs < 0 || pairs > SCHEMA_METADATA_PAIRS_MAX)
        return pml_error__set(err, PML_E_INVAL, "Arrow schema metadata claims %d pairs", pairs);
    for (int64_t i = 0; i < 2 * (int64_t)pairs; i++) {
        int32_t len = pml_load_i32(metadata + at, 0);
        if (len < 0)
            return pml_error__set(err, PML_E_INVAL, "Arrow schema metadata has a text of %d bytes", len);
        at += 4 + (size_t)len;
    }
    *out = at;
    return PML_OK;
}

static const char *put(char **at, const void *bytes, size_t n)
{
    char *to = *at;
    if (n > 0)
        memcpy(to, bytes, n);
    *at += n;
    return to;
}

/* The node with its children, which are still released. */
static int schema_copy_node(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, pml_error *err)
{
    const char *name = in->name == NULL ? "" : in->name;
    size_t format_len = strlen(in->format) + 1, name_len = strlen(name) + 1, metadata_len;
    PML_RETURN_IF(metadata_bytes(&metadata_len, in->metadata, err));
    if (in->n_children < 0 || in->n_children > PML_TYPE_COLUMNS_MAX)
        return pml_error__set(err, PML_E_INVAL, "an Arrow schema has %lld children", (long long)in->n_children);
    size_t n = (size_t)in->n_children, head = sizeof(schema_block) + n * (sizeof(struct ArrowSchema) + sizeof(struct ArrowSchema *));
    schema_block *b = pml_env__alloc(env, head + format_len + name_len + metadata_len);
    if (b == NULL)
        return pml_error__no_memory(err);
    memset(b, 0, head);
    pml_env_acquire(env);
    b->env = env;
    struct ArrowSchema *structs = (struct ArrowSchema *)(b->children + n);
    for (size_t i = 0; i < n; i++)
        b->children[i] = &structs[i];
    char *at = (char *)b + head;
    *out = (struct ArrowSchema){.flags = in->flags,
                                .n_children = (int64_t)n,
                                .children = n == 0 ? NULL : b->children,
                                .release = schema_release,
                                .private_data = b};
    out->format = put(&at, in->format, format_len);
    out->name = put(&at, name, name_len);
    out->metadata = in->metadata == NULL ? NULL : put(&at, in->metadata, metadata_len);
    return PML_OK;
}

static int schema_copy(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, int depth, pml_error *err)
{
    int rc = PML_OK;
    *out = (struct ArrowSchema){0};
    if (depth > SCHEMA_DEPTH_MAX || in->release == NULL || in->format == NULL)
        return pml_error__set(err, PML_E_INVAL, "an Arrow schema is nested too deeply, released or without format");
    PML_TRY(schema_copy_node(out, env, in, err));
    for (int64_t i = 0; i < in->n_children; i++)
        PML_TRY(schema_copy(out->children[i], env, in->children[i], depth + 1, err));
    if (in->dictionary != NULL) {
        out->dictionary = &((schema_block *)out->private_data)->dictionary;
        PML_TRY(schema_copy(out->dictionary, env, in->dictionary, depth + 1, err));
    }
out:
    return rc;
}

int pml_schema__copy(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, pml_error *err)
{
    int rc = schema_copy(out, env, in, 0, err);
    if (rc != PML_OK) {
        pml_schema__release(out);
        *out = (struct ArrowSchema){0};
    }
    return rc;
}

bool pml_schema__metadata_find(const char **value, size_t *len, const char *metadata, const char *key)
{
    *value = NULL;
    *len = 0;
    if (metadata == NULL)
        return false;
    int32_t pairs = pml_load_i32(metadata, 0);
    const char *at = metadata + 4;
    if (pairs > SCHEMA_METADATA_PAIRS_MAX)
        return false;
    for (int32_t i = 0; i < pairs; i++) {
        int32_t key_len = pml_load_i32(at, 0);
        if (key_len < 0)
            return false;
        const char *name = at + 4;
        int32_t value_len = pml_load_i32(name + key_len, 0);
        if (value_len < 0)
            return false;
        at = name + key_len + 4 + value_len;
        if ((size_t)key_len != strlen(key) || memcmp(name, key, (size_t)key_len) != 0)
            continue;
        *value = at - value_len;
        *len = (size_t)value_len;
        return true;
    }
    return false;
}

enum { SCHEMA_PAIR_MAX = 4096 }; /* bytes of the one pair: short texts of our own */

int pml_schema__copy_with(struct ArrowSchema *out, pml_env *env, const struct ArrowSchema *in, const char *key,
                          const char *value, pml_error *err)
{
    const int32_t numbers[3] = {1, (int32_t)strlen(key), (int32_t)strlen(value)};
    struct ArrowSchema with = *in;
    pml_buf b;
    int rc;
    *out = (struct ArrowSchema){0};
    pml_buf__init(&b, env, SCHEMA_PAIR_MAX);
    (void)pml_buf__append(&b, numbers, 8);
    (void)pml_buf__append_str(&b, key);
    (void)pml_buf__append(&b, &numbers[2], 4);
    (void)pml_buf__append_str(&b, value);
    PML_TRY(pml_buf__check(&b, err));
    with.metadata = (const char *)b.data;
    PML_TRY(pml_schema__copy(out, env, &with, err));
out:
    pml_buf__clear(&b);
    return rc;
}
